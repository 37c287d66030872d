"""What can be read: one source of each kind and several of them, with each function that reads."""

from __future__ import annotations

import gzip
import io
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import jelly

pa = pytest.importorskip("pyarrow")
fsspec = pytest.importorskip("fsspec")

A = b'_:x <a:p> "A" .\n'
B = b'_:x <a:p> "B"@en <a:g> .\n'
KINDS = ("parquet", "arrow", "arrows", "csv")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with a file of each kind, all but the first with the same quad."""
    (tmp_path / "a.nt").write_bytes(A)
    (tmp_path / "b.nq.gz").write_bytes(gzip.compress(B))
    for suffix in ("jelly", *KINDS):
        jelly.convert(B, tmp_path / f"c.{suffix}", format="nq")
    (tmp_path / "readme.txt").write_text("no RDF")
    return tmp_path


def values(src: Any, **settings: Any) -> set[tuple[str, ...]]:
    """What each function that reads finds, which must agree; of each statement the literal and the graph."""
    found = [(statement.o.value, *map(str, statement[3:])) for statement in jelly.read(src(), **settings)]
    n = len(found)
    assert sum(map(len, jelly.scan(src(), **settings).batches())) == n
    assert sum(map(len, jelly.scan(src(), **settings).frames())) == n
    assert jelly.read_arrow(src(), **settings).read_all()["object"].to_pylist() == [row[0] for row in found]
    assert jelly.find(src(), p="a:p", **settings).count() == n
    assert jelly.scan(src(), **settings).count_rows() == n
    assert len(jelly.scan(src(), **settings).to_ids()) == n
    return set(found)


IN_A, IN_B = ("A",), ("B", "<a:g>")


def test_one_of_each_kind(folder):
    for path in folder.iterdir():
        if path.suffix == ".txt":
            continue
        expected = {IN_A if path.stem == "a" else IN_B}
        assert values(lambda path=path: path) == expected
        assert values(lambda path=path: str(path)) == expected
        assert values(lambda path=path: fsspec.open(path)) == expected
        assert values(lambda path=path: f"file://{path}") == expected
        opened: list[Any] = []
        assert values(lambda path=path, opened=opened: opened.append(path.open("rb")) or opened[-1]) == expected
        for file in opened:
            file.close()
        data, format = path.read_bytes(), path.name.split(".")[1]
        for made in (
            lambda data: data, io.BytesIO, lambda data: [data[:7], data[7:]],
            lambda data: data if data[:2] == b"\x1f\x8b" else gzip.compress(data),
            lambda data: iter([data[:7], data[7:40], data[40:]]),
        ):  # fmt: skip
            assert values(partial(made, data), format=format) == expected
        with jelly.Reader(path) as reader:
            assert len(list(reader)) == reader.statements == 1


def test_several(folder):
    both = {IN_A, IN_B}
    assert values(lambda: folder) == both
    assert values(lambda: f"{folder}/*.n*") == both
    assert values(lambda: [folder / "a.nt", f"{folder}/c.*"]) == both
    assert values(lambda: [[A], [b'_:x <a:p> "B" .']], format="nt") == {IN_A, ("B",)}
    table = jelly.read_arrow(B, format="nq").read_all()
    assert values(lambda: table) == {IN_B}
    assert values(lambda: [table, folder / "a.nt"]) == both
    assert len(list(jelly.read(folder))) == 7
    assert values(lambda: fsspec.open_files(f"{folder}/*.n*")) == both
    assert [frame.index for frame in jelly.scan(folder).frames()] == list(range(7))


def test_urls_of_fsspec(folder):
    memory = fsspec.filesystem("memory")
    for path in folder.iterdir():
        memory.pipe(f"/kinds/{path.name}", path.read_bytes())
    try:
        assert values(lambda: "memory://kinds/a.nt") == {IN_A}
        assert values(lambda: "memory://kinds/c.parquet") == {IN_B}
        assert values(lambda: "memory://kinds/*.n*") == {IN_A, IN_B}
        assert len(list(jelly.read("memory://kinds"))) == 7  # and nothing of readme.txt
        assert values(lambda: fsspec.open("memory://kinds/b.nq.gz")) == {IN_B}
        assert jelly.inspect("memory://kinds/c.jelly").statements == 1
        assert jelly.read_options("memory://kinds/c.jelly").physical_type.name == "QUADS"
        with pytest.raises(FileNotFoundError):
            list(jelly.read("memory://kinds/none.nt"))
        with pytest.raises(FileNotFoundError):
            jelly.Reader("memory://kinds/none.nt")
        memory.pipe("/other/readme.txt", b"no RDF")
        with pytest.raises(FileNotFoundError, match=re.escape("memory://other has no file of statements")):
            jelly.find("memory://other")
    finally:
        memory.rm("/kinds", recursive=True)
        memory.rm("/other", recursive=True)


def test_blank_nodes_of_several_sources_are_apart(folder):
    two = [folder / "a.nt", folder / "b.nq.gz"]

    def labels(**settings: Any) -> list[str]:
        return [str(statement.s) for statement in jelly.read(two, **settings)]

    assert len(set(labels())) == 2
    assert labels() == labels() == [str(row.s) for row in jelly.find(two)]
    assert labels(blank_nodes="keep") == ["_:x", "_:x"]
    assert all(
        text.startswith("<https://example.org/.well-known/genid/")
        for text in labels(blank_nodes="skolemize", skolem_base="https://example.org")
    )
    assert [str(row.s) for row in jelly.read(two[0])] == ["_:x"]
    assert [str(row.s) for row in jelly.read(two[0], blank_nodes="scope")] == labels()[:1]


@pytest.mark.parametrize("function", [jelly.read, jelly.find, jelly.scan])
def test_nothing_to_read_is_an_error(tmp_path, function):
    with pytest.raises(jelly.JellyArgumentError, match="list of sources is empty"):
        function([])
    with pytest.raises(FileNotFoundError, match=r"no file of statements: expected files with .* \.jelly, "):
        function(tmp_path)
    with pytest.raises(FileNotFoundError, match="no file matches"):
        function(f"{tmp_path}/*.nt")
    with pytest.raises(FileNotFoundError):
        list(function([tmp_path / "none.nt"]))


def test_a_scan_of_an_array_of_bytes():
    numpy = pytest.importorskip("numpy")
    data = numpy.frombuffer(b"<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:x> .\n", numpy.uint8)
    scan = jelly.scan(data, format="nt")
    assert len(list(scan)) == len(list(scan)) == jelly.count(data, format="nt") == 2


def test_what_is_no_source(tmp_path):
    with pytest.raises(jelly.JellyArgumentError, match=r"a chunk is a str: expected bytes; .* a list"):
        list(jelly.read(iter(["a.nt"])))
    with pytest.raises(jelly.JellyArgumentError, match="None"):
        jelly.read([None])
    with pytest.raises(jelly.JellyError, match=r"unknown suffix '\.txt'"):
        list(jelly.read([tmp_path / "x.txt", tmp_path / "y.txt"]))


def test_a_filter_of_pyarrow_is_told_where_it_goes():
    from pyarrow import compute

    with pytest.raises(jelly.JellyArgumentError, match=r"expected a jelly\.Pattern; jelly\.scan takes expressions"):
        jelly.read_arrow(A, format="nt", filter=compute.field("predicate") == "a:p")


def test_a_misspelt_column_names_the_known_ones():
    scan = jelly.scan(A, format="nt")
    for call in (scan.to_table, scan.scanner, lambda columns: scan.head(1, columns=columns),
                 lambda columns: list(scan.to_batches(columns))):  # fmt: skip
        with pytest.raises(ValueError, match="'sbject': expected some of subject, predicate"):
            call(columns=["sbject"])


def test_tables_that_are_broken_name_their_file(folder):
    for kind in KINDS:
        path = folder / f"bad.{kind}"
        path.write_bytes(b"nonsense\n,,")
        with pytest.raises(jelly.JellyError, match=f"bad.{kind}"):
            list(jelly.read(path))
    with pytest.raises(jelly.JellyUnsupportedError, match="cannot be skipped"):
        jelly.read(folder / "c.csv", on_error="skip")


# ---- conversion, statistics, checks


def test_convert_takes_every_kind_and_several(folder, tmp_path):
    for path in folder.iterdir():
        if path.suffix == ".txt":
            continue
        for suffix in ("jelly", "nq", *KINDS):
            out = tmp_path / "out" / f"x.{suffix}"
            out.parent.mkdir(exist_ok=True)
            assert jelly.convert(path, out).statements == 1
            assert [row.o.value for row in jelly.read(out)] == ["A" if path.stem == "a" else "B"]
    several = [folder / "a.nt", folder / "b.nq.gz", folder / "c.csv"]
    for suffix in ("jelly", "nq", "thrift", *KINDS):
        out = tmp_path / "out" / "all"
        done = jelly.convert(several, out, to=suffix)
        assert (done.statements, done.bytes_read > 0 or suffix == "parquet") == (3, True)
        assert [row.o.value for row in jelly.read(out, format=suffix)] == ["A", "B", "B"]
        buffer = io.BytesIO()
        jelly.convert(several, buffer, to=suffix, blank_nodes="keep")
        assert {str(row.s) for row in jelly.read(buffer.getvalue(), format=suffix)} == {"_:x"}
    mixed = [folder / "a.nt", [b"nonsense\n"]]
    done = jelly.convert(mixed, out, to="parquet", format="nt", on_error="skip")
    assert (done.statements, done.n_skipped) == (1, 1)


def test_convert_to_tables(folder, tmp_path):
    text = io.BytesIO()
    jelly.convert(B, text, format="nq", to="csv", layout="ntriples")
    assert text.getvalue() == b'"s","p","o","g"\n"_:x","<a:p>","""B""@en","<a:g>"\n'
    made = jelly.convert([folder / "a.nt", folder / "c.jelly"], tmp_path / "ids", layout="ids")
    assert made.statements == 2
    assert sorted(path.name for path in (tmp_path / "ids").iterdir()) == ["terms.parquet", "triples.parquet"]
    options = {"rdf_star": True}
    for settings in ({"seekable": True}, {"options": options}, {"prefixes": {"a": "a:"}}, {"frame_rows": 1}):
        with pytest.raises(jelly.JellyArgumentError, match="does not go with tables"):
            jelly.convert(A, tmp_path / "x.csv", format="nt", **settings)
    assert not (tmp_path / "x.csv").exists()


def test_stats_and_validate_of_several(folder):
    from jelly.stats import stats

    found = stats(folder)
    assert (found.statements, found.subjects) == (7, 7)
    assert stats(folder, blank_nodes="keep").subjects == 1
    assert stats(folder / "c.parquet").languages.top == {"en": 1}
    assert jelly.validate(folder) == []
    (folder / "d.nt").write_bytes(b"nonsense\n" * 3)
    problems = jelly.validate(folder)
    assert [(problem.line, problem.source) for problem in problems] == [(n, str(folder / "d.nt")) for n in (1, 2, 3)]
    assert len(jelly.validate([folder / "d.nt", folder / "d.nt"], limit=4)) == 4
    assert jelly.validate(f"file://{folder}/d.nt", limit=2)[0].source is None
    with pytest.raises(jelly.JellyArgumentError, match="one source"):
        jelly.validate(folder, against=A, against_format="nt")
    assert jelly.validate(folder / "c.csv", against=folder / "b.nq.gz") == []
    (folder / "e.csv").write_text("s,x\n1,2\n")
    [problem] = jelly.validate(folder / "e.csv")
    assert "the columns are not those" in problem.message


def test_other_libraries_read_several(folder):
    pytest.importorskip("rdflib")
    pytest.importorskip("pyoxigraph")
    import pyoxigraph

    import jelly.oxigraph
    import jelly.rdflib

    assert sorted(str(row[2]) for row in jelly.rdflib.read(folder)) == ["A", *"BBBBBB"]
    assert len({row[0] for row in jelly.rdflib.read(folder)}) == 7
    assert {str(row[0]) for row in jelly.rdflib.read(folder, blank_nodes="keep")} == {"x"}
    assert [len(graph) for graph in jelly.rdflib.read_graphs(folder / "c.parquet")] == [1]
    assert len({row.subject for row in jelly.oxigraph.read([folder / "a.nt", folder / "c.csv"])}) == 2
    store = pyoxigraph.Store()
    assert (jelly.oxigraph.load(store, folder), len(store)) == (7, 7)
    found = jelly.canonicalize([folder / "a.nt", folder / "c.csv"])
    assert (found.statements, len(found.labels)) == (2, 2)
    assert jelly.canonicalize(folder / "c.parquet").digest == jelly.canonicalize(folder / "c.jelly").digest
