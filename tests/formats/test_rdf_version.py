"""Reading a version of RDF only, and RDF-star to RDF 1.2 and back."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import steps

import jelly
from jelly import IRI, BlankNode, Literal, Quad, QuotedTriple, Triple

S, P, OBJ, G = (IRI(f"http://e/{name}") for name in "spog")
REIFIES = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies")
TERM = b"<http://e/s> <http://e/p> <<( <http://e/s> <http://e/p> <http://e/o> )>> .\n"
DIRECTED = b'<http://e/s> <http://e/p> "a"@en-GB--ltr .\n'
PLAIN = b'<http://e/s> <http://e/p> "a"@en .\n'


def read(data: bytes, **settings: Any) -> list[Any]:
    return list(jelly.read(data, format="nt", **settings))


@pytest.mark.parametrize(
    ("rdf", "holds"), [("1.1", {PLAIN}), ("1.2-basic", {PLAIN, DIRECTED}), ("1.2", {PLAIN, DIRECTED, TERM})]
)
def test_versions_of_text_and_jelly(rdf: Any, holds: set[bytes]) -> None:
    for line in (PLAIN, DIRECTED, TERM):
        lenient = read(line)
        packed = jelly.dumps(lenient)
        if line in holds:
            assert read(line, rdf=rdf) == lenient == list(jelly.read(packed, rdf=rdf))
            continue
        with pytest.raises(jelly.JellySyntaxError):
            read(line, rdf=rdf)
        with pytest.raises(jelly.JellyUnsupportedError, match="RDF 1"):
            list(jelly.read(packed, rdf=rdf))


@pytest.mark.parametrize("slot", [0, 1, 2])
def test_triple_terms_are_objects_with_parentheses(slot: int) -> None:
    line = [b"<http://e/s>", b"<http://e/p>", b"<http://e/o>"]
    line[slot] = b"<<( <http://e/s> <http://e/p> <http://e/o> )>>"
    text = b" ".join(line) + b" ."
    if slot == 2:
        assert read(text, rdf="1.2") == [Triple(S, P, QuotedTriple(S, P, OBJ))]
        text = text.replace(b"<<(", b"<<").replace(b")>>", b">>")
    with pytest.raises(jelly.JellySyntaxError, match="is not RDF 1.2"):
        read(text, rdf="1.2")


@pytest.mark.parametrize("announced", ["1.1", "1.2-basic"])
def test_announced_versions_hold_for_what_follows(announced: str) -> None:
    line = b'VERSION "%s"\n' % announced.encode()
    assert len(read(TERM + line + PLAIN + b'VERSION "1.2"\n' + TERM, rdf="1.2")) == 3
    with pytest.raises(jelly.JellySyntaxError) as caught:
        read(TERM + line + TERM, rdf="1.2")
    assert caught.value.line == 3
    assert len(read(line + TERM)) == 1  # as ever, without rdf


def test_the_last_literal_is_checked_again_after_version() -> None:
    with pytest.raises(jelly.JellySyntaxError):
        read(DIRECTED + b'VERSION "1.1"\n' + DIRECTED, rdf="1.2")


@pytest.mark.parametrize(("rdf", "line"), [("1.2-basic", b"1.2"), ("1.2", b"2.0"), ("1.1", b"1.1")])
def test_later_and_unknown_versions_are_refused(rdf: Any, line: bytes) -> None:
    with pytest.raises(jelly.JellySyntaxError):
        read(b'VERSION "%s"\n' % line, rdf=rdf)


def test_wrong_keywords() -> None:
    with pytest.raises(ValueError, match=r"1\.2-basic"):
        read(PLAIN, rdf="1.3")
    with pytest.raises(ValueError, match="strict"):
        read(PLAIN, rdf="1.2", strict=True)
    with pytest.raises(ValueError, match="triple-terms"):
        read(PLAIN, star="no")


def test_star_reifies_and_back() -> None:
    quoted = QuotedTriple(S, P, QuotedTriple(BlankNode("b"), P, Literal("x", language="en--ltr")))
    given = [Quad(quoted, P, OBJ, G), Quad(S, P, quoted, G), Quad(quoted, P, S), Quad(S, P, OBJ, G)]
    data = jelly.dumps(given)
    made = list(jelly.read(data, star="reifies", rdf="1.2"))
    assert len([statement for statement in made if statement.p == REIFIES]) == 4
    assert not any(isinstance(statement.s, QuotedTriple) for statement in made)
    assert list(jelly.read(jelly.dumps(made), star="quoted")) == given
    with pytest.raises(jelly.JellyUnsupportedError, match="as subject"):
        list(jelly.read(data, star="triple-terms"))


def test_what_is_rdf_1_2_already_stays() -> None:
    given = [Triple(BlankNode("r"), REIFIES, QuotedTriple(S, P, OBJ)), Triple(BlankNode("qt" + "0" * 32), REIFIES, OBJ)]
    for star in ("reifies", "triple-terms", "quoted"):
        assert list(jelly.read(jelly.dumps(given), star=star)) == given


def test_convert_keeps_frames_and_metadata() -> None:
    quoted = QuotedTriple(S, P, OBJ)
    source = io.BytesIO()
    options = jelly.StreamOptions(physical_type=1, logical_type=3, rdf_star=True, version=2)
    with jelly.Writer(source, options) as writer:
        writer.namespace("e", "http://e/")
        writer.extend([Triple(quoted, P, OBJ)])
        writer.end_frame({"k": b"1"})
        writer.end_frame()
        writer.extend([Triple(S, P, OBJ)])
    middle, back = io.BytesIO(), io.BytesIO()
    jelly.convert(source.getvalue(), middle, star="reifies")
    jelly.convert(middle.getvalue(), back, star="quoted")
    shapes = [
        [(frame.statements, frame.metadata, frame.namespaces) for frame in jelly.scan(data.getvalue()).frames()]
        for data in (source, middle, back)
    ]
    assert shapes[0] == shapes[2]
    assert [len(frame[0]) for frame in shapes[1]] == [2, 0, 1]


def test_the_error_names_both_ways() -> None:
    with pytest.raises(jelly.JellyUnsupportedError, match=r"star='reifies'.*star='triple-terms'"):
        jelly.convert(jelly.dumps([Triple(QuotedTriple(S, P, OBJ), P, OBJ)]), io.BytesIO(), to="ttl")


NODES = st.sampled_from([S, OBJ, BlankNode("a"), BlankNode("qt1")])
TERMS = st.recursive(NODES, lambda inner: st.builds(QuotedTriple, inner, st.just(P), inner), max_leaves=5)


@given(st.lists(st.builds(Triple, TERMS, st.sampled_from([P, REIFIES]), TERMS), max_size=8), st.integers(1, 4))
def test_any_annotation_comes_back(statements: list[Triple], rows: int) -> None:
    data = jelly.dumps(statements)
    # A quoted triple that reifies would be the node of itself: it is told as a node, too.
    made = list(jelly.read(data, star="reifies", batch_rows=rows))
    assert not any(isinstance(statement.s, QuotedTriple) for statement in made)
    assert list(jelly.read(jelly.dumps(made), star="quoted", batch_rows=rows)) == statements


def test_rows_and_columns_do_not_exchange_quoted_triples_unasked(tmp_path: Any) -> None:
    """Also with several sources; the same kind of Jelly keeps what it has."""
    path, columns = tmp_path / "rows.jelly", tmp_path / "columns.jelly"
    jelly.write(path, [Triple(S, P, QuotedTriple(S, P, OBJ))])
    for source in (path, [path, path]):
        with pytest.raises(jelly.JellyOptionsError, match=r'star="reifies".*star="triple-terms"'):
            jelly.convert(source, columns, options={"version": 3})
        assert not columns.exists()
        assert jelly.convert(source, io.BytesIO(), to="jelly").statements >= 1
    assert jelly.convert(path, columns, options={"version": 3}, star="reifies").statements == 2
    assert jelly.convert(path, columns, options={"version": 3}, star="triple-terms").statements == 1
    assert jelly.convert(columns, io.BytesIO(), options={"version": 3}, to="jelly").statements == 1
    with pytest.raises(jelly.JellyOptionsError, match=r'star="quoted".*star="triple-terms"'):
        jelly.convert(columns, tmp_path / "back.jelly", options={"version": 2})
    assert jelly.convert(columns, tmp_path / "back.jelly", star="triple-terms").statements == 1
    assert list(jelly.read(tmp_path / "back.jelly")) == list(jelly.read(path))


def test_sources_of_all_kinds_keep_to_a_version(tmp_path: Any) -> None:
    """Lists, tables in memory, and files whose index other calls use."""
    path, text = tmp_path / "x.jelly", tmp_path / "x.nt"
    jelly.write(path, [Triple(S, P, OBJ), Triple(S, P, QuotedTriple(S, P, OBJ))], seekable=True)
    text.write_bytes(PLAIN)
    for source in ([text, path], [path], jelly.read_arrow(path)):
        with pytest.raises(jelly.JellyUnsupportedError, match=r"RDF 1\.2 Basic"):
            list(jelly.read(source, rdf="1.2-basic"))
    with pytest.raises(jelly.JellyUnsupportedError, match=r"RDF 1\.2 Basic"):
        jelly.convert([path, path], tmp_path / "y.parquet", rdf="1.2-basic", threads=2)
    assert len(list(jelly.read([path], rdf="1.2"))) == 2


def test_restored_triples_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jelly._streams.rdf_version.MAX_RESTORED", 1)
    made = [Triple(QuotedTriple(S, P, Literal(str(i))), P, OBJ) for i in range(2)]
    data = jelly.dumps(list(jelly.read(jelly.dumps(made), star="reifies")))
    with pytest.raises(jelly.JellyLimitError, match="quoted triples at the most"):
        list(jelly.read(data, star="quoted"))


def test_command(tmp_path: Any) -> None:
    from click.testing import CliRunner

    from jelly.cli.commands import cli

    path, out = tmp_path / "rows.jelly", tmp_path / "out.jelly"
    jelly.write(path, [Triple(S, P, QuotedTriple(S, P, OBJ))])
    done = CliRunner().invoke(cli, ["convert", "-q", "--jelly", "1.2", str(path), str(out)])
    assert done.exit_code
    assert "--star reifies" in done.stderr
    done = CliRunner().invoke(cli, ["convert", "-q", "--star", "reifies", "--jelly", "1.2", str(path), str(out)])
    assert done.exit_code == 0
    assert len(list(jelly.read(out))) == 2
    done = CliRunner().invoke(cli, ["convert", "-q", "--rdf", "1.1", str(out), "-", "--to", "nt"])
    assert done.exit_code
    assert "more than --rdf 1.1 allows" in done.stderr


@pytest.mark.parametrize("threads", [1, 2])
def test_announced_versions_hold_for_all_threads(threads: int, tmp_path: Any) -> None:
    """A text of several pieces, whose first line announces that the last one is wrong."""
    path, out = tmp_path / "x.nt", tmp_path / "x.jelly"
    path.write_bytes(b'VERSION "1.1"\n' + PLAIN * 100_000 + TERM)
    with pytest.raises(jelly.JellySyntaxError) as caught:
        jelly.convert(path, out, rdf="1.2", threads=threads)
    assert caught.value.line == 100_002
    assert not out.exists()


def test_verbs_ask_too(tmp_path: Any) -> None:
    rows, columns, out = (tmp_path / f"{name}.jelly" for name in ("rows", "columns", "out"))
    made = [Triple(S, P, QuotedTriple(S, P, OBJ))]
    jelly.write(rows, made, seekable=True)
    jelly.write(columns, made, {"version": 3}, seekable=True)
    options: dict[str, Any] = {"version": 3}
    for verb in (steps.concat, steps.sort, steps.unique, steps.merge):
        wrong: Any = ([rows], options), ([columns], {"version": 2}), ([rows, columns], options), ([rows, columns], None)
        # Of what both have, unique writes that of the first.
        for sources, written in wrong[: 3 if verb is steps.unique else 4]:
            with pytest.raises(jelly.JellyOptionsError, match='star="triple-terms"'):
                verb(sources, out, options=written)
        assert not out.exists()
        assert verb([rows], io.BytesIO(), to="jelly") == 1
        assert verb([columns], io.BytesIO(), to="jelly", options=options) == 1
        assert verb([columns], out) == 1
        assert jelly.read_options(out).version == 3
        out.unlink()
        with pytest.raises(jelly.JellyUnsupportedError, match=r"RDF 1\.1"):
            verb([rows], out, rdf="1.1")
    with pytest.raises(jelly.JellyOptionsError, match='star="triple-terms"'):
        jelly.append(columns, rows)
    assert list(jelly.read(rows)) == made
    assert jelly.append(columns, rows, star="triple-terms") == 1
    assert list(jelly.read(rows)) == made * 2
    assert steps.concat([rows, columns], out, options=options, star="triple-terms") == 3
    assert list(jelly.read(out)) == made * 3


def test_tables_keep_to_a_version(tmp_path: Any) -> None:
    pytest.importorskip("pyarrow")
    table, out = tmp_path / "x.parquet", tmp_path / "y.parquet"
    jelly.convert(TERM, table, format="nt")
    assert jelly.convert(table, out, rdf="1.2").statements == 1
    with pytest.raises(jelly.JellyUnsupportedError, match=r"RDF 1\.1"):
        jelly.convert(table, out, rdf="1.1")
    with pytest.raises(jelly.JellyUnsupportedError, match=r"RDF 1\.1"):
        jelly.convert(table, tmp_path / "ids", layout="ids", rdf="1.1")
    assert jelly.convert(table, tmp_path / "ids", layout="ids", rdf="1.2").statements == 1


def test_ids_keep_to_a_version(tmp_path: Any) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    from click.testing import CliRunner

    from jelly.cli.commands import cli

    path = tmp_path / "rows.jelly"
    jelly.write(path, [Triple(S, P, QuotedTriple(S, P, OBJ))], seekable=True)
    assert len(jelly.scan(path, threads=2).to_ids()) == 1
    for threads in (1, 2):
        ids = jelly.scan([path, path], star="reifies", threads=threads).to_ids()
        assert (len(ids), len(ids.relations)) == (4, 2)
        with pytest.raises(jelly.JellyUnsupportedError, match=r"RDF 1\.1"):
            jelly.scan(path, rdf="1.1", threads=threads).to_ids()
    command = ["convert", "-q", "--layout", "ids", str(path), str(tmp_path / "graph")]
    assert CliRunner().invoke(cli, [*command, "--rdf", "1.1"]).exit_code == 1
    assert CliRunner().invoke(cli, [*command, "--star", "reifies"]).exit_code == 0
    assert pq.read_metadata(tmp_path / "graph" / "triples.parquet").num_rows == 2


def test_asyncio_keeps_to_a_version() -> None:
    async def count(**settings: Any) -> int:
        return len([statement async for statement in jelly.scan(TERM, format="nt", **settings)])

    assert asyncio.run(count(rdf="1.2")) == 1
    with pytest.raises(jelly.JellyError, match=r"RDF 1\.1"):
        asyncio.run(count(rdf="1.1"))


@pytest.mark.parametrize("announced", ["1.1", "1.2-basic", "1.2"])
@pytest.mark.parametrize("rdf", ["1.1", "1.2-basic", "1.2"])
def test_streams_of_columns_announce_no_more_than_is_allowed(announced: str, rdf: Any) -> None:
    data = jelly.dumps([Triple(S, P, OBJ)], options={"version": 3, "rdf_version": announced})
    if announced in ("1.1", rdf) or rdf == "1.2":
        assert list(jelly.read(data, rdf=rdf)) == [Triple(S, P, OBJ)]
    else:
        with pytest.raises(jelly.JellyUnsupportedError, match=f"announces RDF {announced}"):
            list(jelly.read(data, rdf=rdf))
