"""Statements become results of three or four columns, and such results statements, by the formats of both sides."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import jelly
from jelly.results import read_results, write_results

TRIPLES = b'<a:s> <a:p> <a:o> .\n<a:s> <a:p> "x"@en--ltr .\n_:b <a:p> <<( <a:s> <a:p> "y" )>> .\n'
QUADS = b'<a:s> <a:p> <a:o> <a:g> .\n_:b <a:p> "1"^^<a:t> .\n'


@pytest.mark.parametrize("format", ["jellys", "json", "xml", "tsv", "thrift", "protobuf"])
@pytest.mark.parametrize(("text", "name", "width"), [(TRIPLES, "nt", 3), (QUADS, "nq", 4)])
def test_there_and_back(format: str, text: bytes, name: str, width: int) -> None:
    if format == "tsv":
        pytest.importorskip("pyoxigraph")
    rows = io.BytesIO()
    assert jelly.convert(text, rows, format=name, to=format, content="results").statements == text.count(b"\n")
    found = read_results(rows.getvalue(), format=format)
    assert found.variables == ("s", "p", "o", "g")[:width]
    assert [len(row) for row in found] == [width] * text.count(b"\n")
    back = io.BytesIO()
    jelly.convert(rows.getvalue(), back, format=format, to=name, content="results")
    assert sorted(back.getvalue().splitlines()) == sorted(text.splitlines())


def test_formats_decide(tmp_path: Path) -> None:
    source, rows, log = tmp_path / "a.nq", tmp_path / "a.jellys", tmp_path / "b.jelly"
    source.write_bytes(QUADS)
    assert jelly.convert(source, rows).statements == 2
    assert jelly.convert(rows, log).statements == 2
    assert set(jelly.read(log)) == set(jelly.read(source))


def test_what_is_no_statement() -> None:
    for variables, row, message in (
        ("ab", [None, None], "expected 3, or 4"),
        ("abc", [None, jelly.IRI("a:p"), jelly.IRI("a:o")], "no subject, predicate or object"),
        ("abcde", [None] * 5, "results of 5 variables"),
    ):
        out, made = io.BytesIO(), io.BytesIO()
        write_results(out, variables, [row], format="jellys")
        with pytest.raises(jelly.JellyError, match=message):
            jelly.convert(out.getvalue(), made, format="jellys", to="nt", content="results")


def test_quads_after_triples(tmp_path: Path) -> None:
    """The first statements decide how many columns there are."""
    with jelly.Writer(tmp_path / "mixed.rt") as writer:
        for text, name in ((TRIPLES * 20_000, "nt"), (QUADS, "nq")):
            for batch in jelly.scan(text, format=name).batches():
                writer.add_batch(batch)
    with pytest.raises(jelly.JellyOptionsError, match="quads cannot be rows of 3 variables"):
        jelly.convert(tmp_path / "mixed.rt", tmp_path / "x.jellys")
    assert not (tmp_path / "x.jellys").exists()
