"""RDF-STaX, the size of frames, and the errors of quads among triples."""

from __future__ import annotations

import io

import pytest

import jelly
from jelly import IRI, JellyOptionsError, Literal, LogicalType, Quad, StreamOptions, Triple

S, P, O, G = IRI("a:s"), IRI("a:p"), IRI("a:o"), IRI("a:g")  # noqa: E741
LONG = [Triple(S, P, Literal(str(i) + "x" * 2000)) for i in range(1500)]


def sizes(data):
    """The lengths of the frames of a delimited stream."""
    found = []
    at = 0
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        found.append(size)
        at += size
    return found


def test_iris_of_logical_types():
    """000-110: each logical type has its IRI of RDF-STaX, in both directions."""
    names = {
        1: "flatTripleStream", 2: "flatQuadStream", 3: "graphStream", 4: "datasetStream", 13: "subjectGraphStream",
        14: "namedGraphStream", 114: "timestampedNamedGraphStream",
    }  # fmt: skip
    for kind in LogicalType:
        if kind:
            assert kind.iri == f"https://w3id.org/stax/ontology#{names[kind]}"
            assert LogicalType.from_iri(kind.iri) is kind
    assert LogicalType.UNSPECIFIED.iri == ""
    with pytest.raises(JellyOptionsError, match="no logical type has the IRI a:b"):
        LogicalType.from_iri("a:b")
    with pytest.raises(JellyOptionsError):
        LogicalType.from_iri("")


def test_iris_on_the_command_line(tmp_path):
    """000-110: --logical takes the IRI."""
    from click.testing import CliRunner

    from jelly.cli.commands import cli

    source, target = tmp_path / "x.nt", tmp_path / "x.jelly"
    source.write_bytes(b"<a:s> <a:p> <a:o> .\n")
    done = CliRunner().invoke(cli, ["convert", str(source), str(target), "--logical", LogicalType.GRAPHS.iri])
    assert done.exit_code == 0, done.output
    assert jelly.read_options(target).logical_type == LogicalType.GRAPHS
    done = CliRunner().invoke(cli, ["convert", str(source), str(target), "--logical", "http://a/b"])
    assert (done.exit_code, "no logical type has the IRI" in done.output) == (2, True)


def test_frames_stay_below_one_megabyte(tmp_path):
    """001-016: dumps, Writer and convert keep frames below 1 MB unless they are asked for others."""
    jelly.write(tmp_path / "x.jelly", LONG, frame_rows=0)
    jelly.convert(tmp_path / "x.jelly", tmp_path / "y.jelly", frame_rows=0, frame_bytes=0)
    for data in (jelly.dumps(LONG), (tmp_path / "x.jelly").read_bytes()):
        assert max(sizes(data)) <= 1_000_000
        assert len(sizes(data)) == 4
        assert jelly.loads(data) == LONG
    assert len(sizes((tmp_path / "y.jelly").read_bytes())) == 1
    assert jelly.loads(jelly.dumps(LONG, delimited=False), delimited=False) == LONG


@pytest.mark.parametrize("seekable", [False, True])
def test_a_frame_is_never_longer_than_asked(seekable):
    """001-016: only a statement that is longer by itself has a longer frame."""
    mixed = [Triple(IRI(f"a:{i}"), P, Literal("y" * (i * 37 % 500))) for i in range(500)]
    out = io.BytesIO()
    jelly.write(out, mixed, frame_rows=0, frame_bytes=700, seekable=seekable, keyframe_rows=50)
    found = sizes(out.getvalue())
    assert (max(found[:-1]) <= 700) or seekable
    assert jelly.loads(out.getvalue()) == mixed
    huge = [*mixed[:5], Triple(S, P, Literal("z" * 5000)), *mixed[:5]]
    data = io.BytesIO()
    jelly.write(data, huge, frame_rows=0, frame_bytes=700)
    assert sum(size > 700 for size in sizes(data.getvalue())) == 1
    assert jelly.loads(data.getvalue()) == huge


@pytest.mark.parametrize("options", [StreamOptions(1), {"physical_type": 1}])
def test_a_quad_among_triples(options, tmp_path):
    """CARD-028: it is a JellyError; where the type was left open the stream becomes one of quads."""
    quad = Quad(S, P, O, G)
    for write in (lambda: jelly.dumps([quad], options), lambda: jelly.write(tmp_path / "x.jelly", [quad], options)):
        with pytest.raises(jelly.JellyError, match="graph"):
            write()
    assert jelly.loads(jelly.dumps([Triple(S, P, O), quad]))[1] == quad
