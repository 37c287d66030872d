"""Reading a version of RDF only, and RDF-star to RDF 1.2 and back."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import jelly
from jelly import IRI, BlankNode, Literal, Quad, QuotedTriple, Triple
from jelly._formats import rdf_version
from jelly.cli.commands import cli

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
    with pytest.raises(jelly.JellyArgumentError, match=r"1\.2-basic"):
        read(PLAIN, rdf="1.3")
    with pytest.raises(jelly.JellyArgumentError, match="strict"):
        read(PLAIN, rdf="1.2", strict=True)
    with pytest.raises(jelly.JellyArgumentError, match="triple-terms"):
        read(PLAIN, star="no")
    with pytest.raises(jelly.JellyArgumentError, match="rdf"):
        list(jelly.find(PLAIN, format="nt", rdf="1.1"))  # not there, so not ignored


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


def test_the_way_back_remembers_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [Triple(QuotedTriple(S, P, Literal(str(number))), P, OBJ) for number in range(3)]
    made = jelly.dumps(jelly.read(jelly.dumps(given), star="reifies"))
    monkeypatch.setattr(rdf_version, "MAX_RESTORED", 3)
    assert list(jelly.read(made, star="quoted")) == given
    monkeypatch.setattr(rdf_version, "MAX_RESTORED", 2)
    with pytest.raises(jelly.JellyLimitError, match="more than 2"):
        list(jelly.read(made, star="quoted"))


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
        [(frame.statements, frame.metadata, frame.namespaces) for frame in jelly.read_frames(data.getvalue())]
        for data in (source, middle, back)
    ]
    assert shapes[0] == shapes[2]
    assert [len(frame[0]) for frame in shapes[1]] == [2, 0, 1]


def test_the_error_names_both_ways() -> None:
    with pytest.raises(jelly.JellyUnsupportedError, match=r"star='reifies'.*star='triple-terms'"):
        jelly.convert(jelly.dumps([Triple(QuotedTriple(S, P, OBJ), P, OBJ)]), io.BytesIO(), to_format="ttl")


NODES = st.sampled_from([S, OBJ, BlankNode("a"), BlankNode("qt1")])
TERMS = st.recursive(NODES, lambda inner: st.builds(QuotedTriple, inner, st.just(P), inner), max_leaves=5)


@given(st.lists(st.builds(Triple, TERMS, st.sampled_from([P, REIFIES]), TERMS), max_size=8), st.integers(1, 4))
def test_any_annotation_comes_back(statements: list[Triple], rows: int) -> None:
    data = jelly.dumps(statements)
    # A quoted triple that reifies would be the node of itself: it is told as a node, too.
    made = list(jelly.read(data, star="reifies", batch_rows=rows))
    assert not any(isinstance(statement.s, QuotedTriple) for statement in made)
    assert list(jelly.read(jelly.dumps(made), star="quoted", batch_rows=rows)) == statements


@pytest.fixture
def several(tmp_path: Path) -> list[Any]:
    """A text, a Jelly file with an index, and a table of pyarrow in memory, each with a triple term."""
    pytest.importorskip("pyarrow")
    text, packed = tmp_path / "a.nt", tmp_path / "b.jelly"
    text.write_bytes(TERM)
    jelly.convert(text, packed, seekable=True)
    return [text, packed, jelly.read_arrow(text).read_all()]


def test_each_of_several_sources_keeps_to_the_version(several: list[Any]) -> None:
    for source in several:
        for src in (source, [source]):
            assert len(list(jelly.read(src, rdf="1.2"))) == 1
            for reading in (jelly.read, jelly.read_batches, jelly.read_frames):
                if src is source or reading is not jelly.read_frames:
                    with pytest.raises(jelly.JellyError, match="RDF 1"):
                        list(reading(src, rdf="1.1"))
    made = list(jelly.read(several, star="reifies", blank_nodes="keep"))
    assert len([statement for statement in made if statement.p == REIFIES]) == 3
    assert len(made) == 6


def test_threads_and_tables_keep_to_the_version(several: list[Any], tmp_path: Path) -> None:
    table = tmp_path / "c.parquet"
    assert jelly.convert(several, table, rdf="1.2", threads=2).statements == 3
    for src in (several[1], several, table):
        with pytest.raises(jelly.JellyError, match="RDF 1"):
            jelly.convert(src, tmp_path / "d.parquet", rdf="1.1", threads=2)
    with pytest.raises(jelly.JellyError, match="RDF 1"):
        jelly.convert(table, tmp_path / "d.parquet", rdf="1.1")
    with pytest.raises(jelly.JellyArgumentError, match="rdf"):
        jelly.convert(several[0], tmp_path / "ids", layout="ids", rdf="1.1")


def test_reading_in_a_loop_keeps_to_the_version(several: list[Any]) -> None:
    async def count(src: Any, **settings: Any) -> int:
        return len([statement async for statement in jelly.aread(src, **settings)])

    assert asyncio.run(count(several, rdf="1.2")) == 3
    with pytest.raises(jelly.JellyError, match="RDF 1"):
        asyncio.run(count(several, rdf="1.1"))


STAR = Triple(S, P, QuotedTriple(S, P, OBJ))
COLUMNS = {"version": 3}


def jelly_file(path: Path, options: dict[str, Any] | None = None) -> Path:
    """A Jelly file with a triple as an object."""
    jelly.convert(TERM, path, from_format="nt", options=options, seekable=True)
    return path


def test_quoted_triples_become_triple_terms_on_request_only(tmp_path: Path) -> None:
    rows, columns = jelly_file(tmp_path / "rows.jelly"), tmp_path / "columns.jelly"
    for src in (rows, [rows, rows], str(tmp_path / "row*.jelly")):
        for threads in (1, 2):
            with pytest.raises(jelly.JellyUnsupportedError, match=r"star='reifies'.*star='triple-terms'"):
                jelly.convert(src, columns, options=COLUMNS, threads=threads)
    assert not columns.exists()
    jelly.convert(rows, columns, options=COLUMNS, star="triple-terms")
    assert list(jelly.read(columns)) == [STAR]
    jelly.convert(rows, columns, options=COLUMNS, star="reifies")
    assert [statement.p for statement in jelly.read(columns)] == [REIFIES, P]
    back = tmp_path / "back.jelly"
    jelly.convert(columns, back, star="quoted")
    assert list(jelly.read(back)) == [STAR]
    assert jelly.options(back).version < 3


def test_triple_terms_become_quoted_triples_on_request_only(tmp_path: Path) -> None:
    columns, rows = jelly_file(tmp_path / "columns.jelly", COLUMNS), tmp_path / "rows.jelly"
    for src in (columns, [columns, columns]):
        with pytest.raises(jelly.JellyUnsupportedError, match=r"star='triple-terms'.*star='quoted'"):
            jelly.convert(src, rows)
    jelly.convert(columns, rows, star="triple-terms")
    assert list(jelly.read(rows)) == [STAR]


def test_what_does_not_cross_needs_no_request(tmp_path: Path) -> None:
    rows, columns = jelly_file(tmp_path / "rows.jelly"), jelly_file(tmp_path / "columns.jelly", COLUMNS)
    for source, options in ((rows, None), (columns, COLUMNS)):
        jelly.convert(source, tmp_path / "out.jelly", options=options)
        assert list(jelly.read(tmp_path / "out.jelly")) == [STAR]
        jelly.convert(source, tmp_path / "out.nt", writing={"quoted": "rdf-star"})
        assert b"<< " in (tmp_path / "out.nt").read_bytes()
        jelly.convert(source, tmp_path / "out.nt")
        assert (tmp_path / "out.nt").read_bytes() == TERM
    plain = jelly.dumps([Triple(S, P, OBJ)], options={"rdf_star": True})
    jelly.convert(plain, tmp_path / "out.jelly", options=COLUMNS)
    assert list(jelly.read(tmp_path / "out.jelly")) == [Triple(S, P, OBJ)]


def test_verbs_ask_too(tmp_path: Path) -> None:
    rows, columns = jelly_file(tmp_path / "rows.jelly"), jelly_file(tmp_path / "columns.jelly", COLUMNS)
    out = tmp_path / "out.jelly"
    for verb in (jelly.concat, jelly.sort, jelly.unique):
        for sources, options in (([rows], COLUMNS), ([columns], None), ([rows, columns], COLUMNS)):
            with pytest.raises(jelly.JellyUnsupportedError, match="star='triple-terms'"):
                verb(sources, out, options=options)
        assert verb([rows], out) == 1
        assert verb([columns], out, options=COLUMNS) == 1
    with pytest.raises(jelly.JellyUnsupportedError, match="star='triple-terms'"):
        jelly.append(columns, rows)
    assert list(jelly.read(rows)) == [STAR]
    assert jelly.append(columns, rows, star="triple-terms") == 1
    assert list(jelly.read(rows)) == [STAR, STAR]
    assert jelly.concat([rows, columns], out, options=COLUMNS, star="triple-terms") == 3
    assert [statement.o for statement in jelly.read(out)] == [STAR.o] * 3
    for verb in (jelly.sort, jelly.unique, jelly.merge):
        with pytest.raises(jelly.JellyUnsupportedError, match=r"RDF 1\.1"):
            verb([rows], out, rdf="1.1")


def test_commands(tmp_path: Path) -> None:
    rows, out = str(jelly_file(tmp_path / "rows.jelly")), str(tmp_path / "out.jelly")

    def run(*args: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli, ["convert", "-q", *args])
        return done.exit_code, done.output

    code, told = run("--jelly", "1.2", rows, out)
    assert code == 1
    assert "jelly convert --star reifies annotates" in told
    assert "jelly convert --star triple-terms takes" in told
    code, told = run("--jelly", "1.2", "--star", "reifies", "--rdf", "1.2", rows, out)
    assert (code, len(list(jelly.read(out)))) == (0, 2), told
    for rdf in ("1.1", "1.2-basic"):
        for target in (out, str(tmp_path / "out.csv")):
            code, told = run("--rdf", rdf, rows, target)
            assert code == 1
            assert "cannot hold quoted triples" in told


@pytest.mark.parametrize("announced", ["1.1", "1.2-basic", "1.2"])
@pytest.mark.parametrize("rdf", ["1.1", "1.2-basic", "1.2"])
def test_streams_of_columns_announce_no_more_than_is_allowed(announced: str, rdf: Any) -> None:
    data = jelly.dumps([Triple(S, P, OBJ)], options={"version": 3, "rdf_version": announced})
    if announced in ("1.1", rdf) or rdf == "1.2":
        assert list(jelly.read(data, rdf=rdf)) == [Triple(S, P, OBJ)]
    else:
        with pytest.raises(jelly.JellyUnsupportedError, match=f"announces RDF {announced}"):
            list(jelly.read(data, rdf=rdf))


def test_streams_of_columns_keep_to_what_they_announce() -> None:
    for announced, statement in (("1.1", Triple(S, P, Literal("x", language="en--ltr"))), ("1.2-basic", STAR)):
        with pytest.raises(jelly.JellyError, match=r"1\.[12]"):
            jelly.dumps([statement], options={"version": 3, "rdf_version": announced})
