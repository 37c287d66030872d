"""What streams announce: rdf_star, generalized_statements, physical type, version and the size of tables."""

from __future__ import annotations

import io
import random
import warnings

import pytest

import jelly
import jelly.patch as patches
from jelly import IRI, DefaultGraph, JellyOptionsError, Literal, Quad, QuotedTriple, StreamOptions, Triple
from jelly.errors import LateError
from jelly.patch import Add, PatchOptions

S, P, O, G = IRI("a:s"), IRI("a:p"), IRI("a:o"), IRI("a:g")  # noqa: E741
PLAIN = Triple(S, P, O)
STAR = Triple(QuotedTriple(S, P, O), P, O)
GENERAL = Triple(Literal("s"), P, O)
MANY = 20_000


class Pipe(io.RawIOBase):
    """What is written to it cannot be taken back."""

    def __init__(self):
        self.data = b""

    def writable(self):
        return True

    def write(self, data):
        self.data += bytes(data)
        return len(data)


def filler(n=MANY):
    draw = random.Random(1)
    return [Triple(IRI(f"a:s{i // 3}"), P, Literal(str(draw.randrange(1000)))) for i in range(n)]


def flags(data):
    options = jelly.read_options(data)
    return options.rdf_star, options.generalized_statements, options.physical_type.name, options.version


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (PLAIN, (False, False, "TRIPLES", 1)),
        (STAR, (True, False, "TRIPLES", 1)),
        (GENERAL, (False, True, "TRIPLES", 1)),
        (Quad(S, P, O, DefaultGraph()), (False, False, "QUADS", 1)),
        (Quad(S, P, O, Literal("g")), (False, True, "QUADS", 1)),
    ],
)
def test_what_is_announced_is_there(statement, expected, tmp_path):
    """001-089, 001-090, 000-123: dumps, Writer, write and convert announce what the first statements hold."""
    assert flags(jelly.dumps([statement])) == expected
    jelly.write(tmp_path / "a.jelly", [statement])
    assert flags(tmp_path / "a.jelly") == expected
    text = io.BytesIO()
    if not expected[1]:
        jelly.write(text, [statement], format="nq")
        jelly.convert(text.getvalue(), tmp_path / "b.jelly", format="nq")
        assert flags(tmp_path / "b.jelly")[0] == expected[0]


def test_rdflib_and_turtle_announce_no_star_and_no_prefixes(tmp_path):
    """001-089: RDFLib has no quoted triples; Turtle without prefixes gives a stream of version 1."""
    rdflib = pytest.importorskip("rdflib")
    graph = rdflib.Graph()
    graph.add((rdflib.URIRef("a:s"), rdflib.URIRef("a:p"), rdflib.Literal("o")))
    out = io.BytesIO()
    graph.serialize(out, format="jelly")
    assert not jelly.read_options(out.getvalue()).rdf_star
    pytest.importorskip("pyoxigraph")
    jelly.convert(b"<a:s> <a:p> <a:o> .", tmp_path / "x.jelly", format="ttl")
    assert jelly.read_options(tmp_path / "x.jelly").version == 1


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("seekable", [False, True])
@pytest.mark.parametrize(
    ("late", "expected"),
    [
        (STAR, (True, False, "TRIPLES", 1)),
        (GENERAL, (False, True, "TRIPLES", 1)),
        (Quad(S, P, O, G), (False, False, "QUADS", 1)),
    ],
)
def test_late_statements_write_a_file_again(tmp_path, late, expected, seekable, suffix):
    """001-089, 001-187: a file is written again with wider options; nothing is lost, not even frames and metadata."""
    path = tmp_path / f"x.jelly{suffix}"
    given = filler()
    with jelly.Writer(path, seekable=seekable, keyframe_rows=5000) as writer:
        writer.extend(given[:100])
        writer.end_frame({"k": b"v"})
        writer.extend(given[100:])
        writer.add(late)
        writer.extend(given[:3])
    assert flags(path) == expected
    found = list(jelly.read(path))
    assert [tuple(s)[:3] for s in found] == [tuple(s)[:3] for s in [*given, late, *given[:3]]]
    assert len(found) == writer.statements
    frames = list(jelly.scan(path).frames())
    assert (len(frames[0]), frames[0].metadata) == (100, {"k": b"v"})
    assert max(map(len, frames)) <= 256
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    if seekable and not suffix:
        with jelly.open(path) as file:
            assert len(file) == len(found)
            assert list(file[MANY - 1 : MANY + 2]) == found[MANY - 1 : MANY + 2]


def test_frames_of_groups_stay_whole(tmp_path):
    """001-089: a frame that is open when a file is written again stays one frame."""
    path = tmp_path / "x.jelly"
    given = filler()
    with jelly.Writer(path, {"logical_type": 3}) as writer:
        writer.extend(given[:5])
        writer.end_frame()
        writer.extend(given)
        writer.add(STAR)
        writer.end_frame({"n": b"2"})
    frames = list(jelly.scan(path).frames())
    assert [len(frame) for frame in frames] == [5, MANY + 1]
    assert frames[1].metadata == {"n": b"2"}
    assert jelly.read_options(path).rdf_star


def test_a_late_namespace(tmp_path):
    """001-187: a namespace may be declared anywhere; the version is 2 only if there is one."""
    path = tmp_path / "x.jelly"
    with jelly.Writer(path) as writer:
        writer.extend(filler())
        writer.flush()
        writer.namespace("ex", "http://e/")
        writer.add(PLAIN)
    assert jelly.read_options(path).version == 2
    assert [frame.namespaces for frame in jelly.scan(path).frames() if frame.namespaces] == [[("ex", "http://e/")]]
    writer = jelly.Writer(Pipe())
    writer.extend(filler())
    writer.namespace("ex", "http://e/")
    with pytest.raises(LateError, match=r"give options=\{'version': 2\}, or a path"):
        writer.close()


@pytest.mark.parametrize(
    ("late", "field"), [(STAR, "rdf_star"), (GENERAL, "generalized_statements"), (Quad(S, P, O, G), "physical_type")]
)
def test_a_pipe_names_the_option(late, field):
    """001-089: what went to a file object cannot be written again: the error names the option, which then works."""
    with pytest.raises(jelly.LateError, match=f"give options={{'{field}': ") as caught:
        jelly.write(Pipe(), [*filler(), late])
    assert repr(caught.type) == "<class 'jelly.LateError'>"
    out = Pipe()
    assert jelly.write(out, [*filler(), late], caught.value.fields) == MANY + 1
    assert len(jelly.loads(out.data)) == MANY + 1


@pytest.mark.parametrize("late", [STAR, GENERAL, Quad(S, P, O, G)])
def test_what_is_in_memory_is_written_again(late):
    """A BytesIO is a file that nobody has seen, until it is flushed or somebody takes something out of it."""
    out = io.BytesIO(b"before")
    out.seek(6)
    assert jelly.write(out, [*filler(), late]) == MANY + 1
    assert out.getvalue()[:6] == b"before"
    assert len(jelly.loads(out.getvalue()[6:])) == MANY + 1
    for take in (lambda out, writer: writer.flush(), lambda out, writer: out.seek(0), lambda out, _: out.truncate(9)):
        writer = jelly.Writer(out := io.BytesIO())
        writer.extend(filler())
        take(out, writer)
        with pytest.raises(LateError):
            writer.extend([late] * MANY)
        writer.abort()


def test_dumps_takes_what_comes_late():
    """001-089: dumps writes again in memory."""
    data = jelly.dumps([*filler(), STAR, Quad(S, P, O, G)])
    assert flags(data) == (True, False, "QUADS", 1)
    assert len(jelly.loads(data)) == MANY + 2


@pytest.mark.parametrize("statement", [STAR, GENERAL])
def test_explicit_options_are_obeyed(statement):
    """001-089: options that were given are not changed."""
    with pytest.raises(JellyOptionsError, match="stream options"):
        jelly.dumps([statement], StreamOptions(1))
    with pytest.raises(JellyOptionsError, match="stream options"):
        jelly.write(io.BytesIO(), [statement], {"rdf_star": False, "generalized_statements": False})
    assert flags(jelly.dumps([PLAIN], StreamOptions(1, rdf_star=True)))[0]


def nested(depth, number=0):
    if depth == 0:
        return IRI(f"a:{number}")
    left, right = (nested(depth - 1, 2 * number + i) for i in range(2))
    return QuotedTriple(left, IRI(f"a:p{depth}-{number}"), right)


@pytest.mark.parametrize("logical", ["flat_quads", "datasets", "named_graphs"])
@pytest.mark.parametrize("statements", [[], [PLAIN], [Quad(S, P, O, G)]])
@pytest.mark.parametrize("kind", [dict, StreamOptions])
def test_a_logical_type_of_quads_is_enough(kind, statements, logical):
    """The first statement decides the physical type, but none that does not go with the logical type."""
    options, out = kind(logical_type=logical), io.BytesIO()
    jelly.write(out, statements, options)
    for data in jelly.dumps(statements, options), out.getvalue():
        assert jelly.read_options(data).physical_type.name == "QUADS"
        assert [tuple(found)[:3] for found in jelly.loads(data)] == [tuple(each)[:3] for each in statements]


def test_more_names_than_the_table_has(tmp_path):
    """001-188: the name table grows for a statement that needs more, unless its size was given."""
    statement = Triple(nested(12), P, O)
    data = jelly.dumps([PLAIN, statement])
    assert jelly.read_options(data, max_names=1 << 20).max_name_table_size == 8193
    assert jelly.loads(data, max_names=1 << 20) == [PLAIN, statement]
    jelly.write(tmp_path / "x.jelly", [*filler(), statement])
    assert list(jelly.read(tmp_path / "x.jelly", max_names=1 << 20))[-1] == statement
    with pytest.raises(JellyOptionsError, match=r"more names than the name table holds \(8\)"):
        jelly.dumps([Triple(nested(2), P, O)], StreamOptions(1, rdf_star=True, max_name_table_size=8))


def test_a_stream_is_written_again_with_its_own_options(tmp_path):
    """001-188: convert makes the table of a source larger where a statement needs it."""
    source = jelly.dumps([Triple(nested(2), P, O)], {"max_name_table_size": 16})
    jelly.convert(source, tmp_path / "x.jelly", options={"rdf_star": True})
    tight = jelly.read_options(source).replace(max_name_table_size=8)
    with jelly.Writer(tmp_path / "y.jelly", tight) as writer:
        writer.allow(frozenset({"max_name_table_size"}))
        writer.extend(jelly.loads(source))
    assert jelly.read_options(tmp_path / "y.jelly").max_name_table_size == 9
    assert list(jelly.read(tmp_path / "y.jelly")) == jelly.loads(source)


@pytest.mark.parametrize("statement", [STAR, GENERAL])
def test_readers_tell_or_refuse_what_is_not_announced(statement):
    """000-093, 004-067: one warning by default, an error with strict, and problems in validate."""
    wide = jelly.dumps([PLAIN, *[statement] * 3], {"rdf_star": True, "generalized_statements": True})
    data = wide.replace(b"\x18\x01\x20\x01", b"\x18\x00\x20\x00", 1)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert len(jelly.loads(data)) == 4
    assert [warning.category for warning in found] == [jelly.errors.OptionsWarning]
    with pytest.raises(jelly.JellyFormatError, match="is false in the stream options") as caught:
        list(jelly.read(data, strict=True))
    assert caught.value.row == len(list(jelly.read(jelly.dumps([PLAIN])))) + 3 or caught.value.row is not None
    assert len(jelly.validate(data)) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(jelly.read(wide, strict=True))) == 4


# ---- patches


def test_patches_announce_what_they_hold(tmp_path):
    """004-066: PatchOptions announce nothing by default, and a PatchWriter announces what there is."""
    assert PatchOptions().rdf_star is False
    for statement, expected in ((PLAIN, (False, False)), (STAR, (True, False)), (GENERAL, (False, True))):
        for late in (0, MANY):
            path = tmp_path / "x.jellyp"
            with patches.PatchWriter(path) as writer:
                writer.extend(Add(s) for s in filler(late))
                writer.add(Add(statement))
            with patches.PatchReader(path) as reader:
                (patch,) = reader
                assert (reader.options.rdf_star, reader.options.generalized_statements) == expected
            assert len(patch) == late + 1
    with pytest.raises(JellyOptionsError, match="rdf_star"):
        patches.dumps([Add(STAR)], PatchOptions())
    assert len(patches.loads(patches.dumps([*(Add(s) for s in filler()), Add(STAR)]))[0]) == MANY + 1
    with pytest.raises(LateError, match="'rdf_star': True"), patches.PatchWriter(Pipe()) as writer:
        writer.extend([*(Add(s) for s in filler()), Add(STAR)])


def test_a_late_statement_inside_a_transaction(tmp_path):
    """004-066: a patch that is written again goes on where it was."""
    path = tmp_path / "x.jellyp"
    rows = [patches.Start(), *(Add(s) for s in filler()), Add(STAR), patches.Commit()]
    with patches.PatchWriter(path) as writer:
        writer.extend(rows)
    (patch,) = patches.read_patches(path)
    assert [str(row) for row in patch] == [str(row) for row in rows]
