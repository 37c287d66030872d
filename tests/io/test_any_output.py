"""`jelly.write` takes tables and writes them, and writes to URLs; `jelly.open`, `index` and `count` of any file."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

import jelly

pa = pytest.importorskip("pyarrow")
fsspec = pytest.importorskip("fsspec")

S, P = jelly.IRI("http://e/s"), jelly.IRI("http://e/p")
STATEMENTS = [jelly.Triple(S, P, jelly.Literal(str(i))) for i in range(100)]
FLAT = {"subject": ["a:s"], "predicate": ["a:p"], "object": ["o"], "object_kind": ["literal"]}


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "csv.gz"])
@pytest.mark.parametrize("layout", ["flat", "ntriples"])
def test_statements_as_a_table(tmp_path: Path, suffix: str, layout: str) -> None:
    path = tmp_path / f"x.{suffix}"
    assert jelly.write(path, iter(STATEMENTS), layout=layout) == 100
    assert list(jelly.read(path)) == STATEMENTS
    out = io.BytesIO()
    quads = [*STATEMENTS, jelly.Quad(S, P, S, jelly.IRI("a:g"))]
    assert jelly.write(out, quads, format=suffix.partition(".")[0]) == 101


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
def test_a_table_in_another_layout(tmp_path: Path, suffix: str) -> None:
    """Columns are copied only where these are the ones that are asked for."""
    parquet = pytest.importorskip("pyarrow.parquet")
    flat, lines, typed = (tmp_path / f"{name}.parquet" for name in ("flat", "lines", "typed"))
    jelly.write(flat, STATEMENTS)
    assert jelly.convert(flat, lines, layout="ntriples").statements == 100
    assert jelly.scan(lines, layout="typed").write(typed).statements == 100
    assert parquet.read_schema(lines).names == ["s", "p", "o", "g"]
    assert "bigint" in parquet.read_schema(typed).names
    path = tmp_path / f"again.{suffix}"
    for source in (flat, lines, typed):
        for layout in ("flat", "ntriples", "typed"):
            jelly.convert(source, path, layout=layout)
            assert list(jelly.read(path)) == STATEMENTS


def test_tables_as_statements(tmp_path: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = [jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))]
    for table in (pa.table(FLAT), pandas.DataFrame(FLAT), polars.DataFrame(FLAT), pa.table(FLAT).to_reader()):
        assert jelly.write(tmp_path / "x.jelly", table) == 1
        assert list(jelly.read(tmp_path / "x.jelly")) == expected
    jelly.write(tmp_path / "x.csv", expected)
    frame = pandas.read_csv(tmp_path / "x.csv")
    assert frame.graph.dtype == float  # all null
    for write in (jelly.write, jelly.write_arrow):
        assert write(tmp_path / "x.nt", frame) == 1
        assert list(jelly.read(tmp_path / "x.nt")) == expected


def test_what_is_no_statement(tmp_path: Path) -> None:
    for wrong in ("people.nt", 5, None):
        with pytest.raises(jelly.JellyArgumentError, match="statements is .*expected an iterable .* or a table"):
            jelly.write(tmp_path / "x.jelly", wrong)
    with pytest.raises(jelly.JellyArgumentError, match="expected a statement .* got str: 'abc'"):
        jelly.write(tmp_path / "x.jelly", ["abc"])
    three = {name: FLAT[name] for name in ("subject", "predicate", "object")}
    with pytest.raises(jelly.JellyOptionsError, match=r"object_kind is iri, .*; layout=\"ntriples\" has s, p, o, g"):
        jelly.write(tmp_path / "x.jelly", pa.table(three))
    with pytest.raises(jelly.JellyArgumentError, match="seekable= does not go with tables"):
        jelly.write(tmp_path / "x.parquet", STATEMENTS, seekable=True)
    with pytest.raises(jelly.JellyArgumentError):
        jelly.write(tmp_path / "x.parquet", [*STATEMENTS, 5])
    assert os.listdir(tmp_path) == []


def test_an_index_by_default(tmp_path: Path) -> None:
    """As by the command: in files, and where a part can be read."""
    for name, has in (("a.jelly", True), ("a.jelly.zst", True), ("a.jelly.gz", False), ("a.nt", None)):
        jelly.write(tmp_path / name, STATEMENTS)
        assert jelly.convert(tmp_path / name, tmp_path / f"b{name}").statements == 100
        for path in (tmp_path / name, tmp_path / f"b{name}"):
            if has:
                with jelly.JellyFile(path) as file:
                    assert file[50] == STATEMENTS[50]
            else:
                with pytest.raises(jelly.JellyError):
                    jelly.JellyFile(path)
    jelly.write(tmp_path / "one.jelly", STATEMENTS, delimited=False)
    with pytest.raises(jelly.JellyError, match="one bare frame"):
        jelly.open(tmp_path / "one.jelly")


def test_index_and_open(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    jelly.write(path, STATEMENTS, seekable=False)
    with jelly.open(path) as file:
        assert file[50:52] == STATEMENTS[50:52]
    assert os.listdir(tmp_path) == ["x.jelly"]
    jelly.index(path, terms=True)
    with jelly.JellyFile(path) as file:
        assert file[99] == STATEMENTS[99]
        assert file.filters is not None


def test_count(tmp_path: Path) -> None:
    for name in ("x.jelly", "x.nt.gz", "x.csv"):
        jelly.write(tmp_path / name, STATEMENTS)
    assert jelly.count(tmp_path) == jelly.count([tmp_path / "x.jelly", *[str(tmp_path / "x.[nc]*")]]) == 300
    with jelly.open(tmp_path / "x.jelly") as file:
        assert jelly.count(file) == jelly.count(pa.table(FLAT)) * 100 == 100
    assert jelly.count(b"TX .\nA <a:s> <a:p> <a:o> .\nTC .\n", format="rdfp") == 1
    assert jelly.count([b"<a:s> <a:p> ", b"<a:o> ."], format="nt") == 1


def test_urls_of_fsspec() -> None:
    for suffix in ("jelly", "jelly.zst", "nt.gz", "parquet"):
        url = f"memory://any/x.{suffix}"
        assert jelly.write(url, STATEMENTS) == 100
        assert jelly.convert(url, f"memory://any/y.{suffix}").statements == 100
        assert list(jelly.read(f"memory://any/y.{suffix}")) == STATEMENTS
        assert jelly.write(fsspec.open(f"memory://any/z.{suffix}", "wb"), STATEMENTS) == 100
        assert list(jelly.read(f"memory://any/z.{suffix}")) == STATEMENTS
    assert jelly.convert("memory://any/x.parquet", "memory://any/y.csv").statements == 100
    # Options that become wider are written anew.
    quads = [*STATEMENTS * 200, jelly.Quad(S, P, S, jelly.IRI("a:g"))]
    assert jelly.write("memory://any/late.jelly", quads) == jelly.count("memory://any/late.jelly") == 20001
    before = fsspec.filesystem("memory").find("/any")
    with pytest.raises(jelly.JellyArgumentError):
        jelly.write("memory://any/broken.nt", [*STATEMENTS, 5])
    assert fsspec.filesystem("memory").find("/any") == before
    with pytest.raises(jelly.JellyArgumentError, match="web servers are only read from"):
        jelly.write("http://127.0.0.1/x.jelly", STATEMENTS)
