"""The tables of ids: written and merged without Spark, and read back."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.statements import anything, writable

import jelly
from jelly._core.base.batch import Batch
from jelly._core.terms.batch_builder import BatchBuilder
from jelly.spark import _tables as terms_room
from jelly.spark import term_id
from jelly.spark._ingest import buckets as room
from jelly.spark._ingest.buckets import bucket_of, merge_terms, write_ids
from jelly.spark._tables import hash_terms

IRI, Literal = jelly.IRI, jelly.Literal


def batch_of(statements: list[Any]) -> Batch:
    builder = BatchBuilder(4)
    for statement in statements:
        builder.add(statement)
    return builder.batch


def terms_of(table: pa.Table) -> dict[int, Any]:
    """The terms by id, read as the objects of a table of the flat layout."""
    n = len(table)
    flat = {
        "subject": ["x:s"] * n, "predicate": ["x:p"] * n, "object": table["value"], "object_kind": table["kind"],
        "datatype": table["datatype"], "lang": table["lang"],
    }  # fmt: skip
    out = io.BytesIO()
    jelly.write_arrow(out, pa.table(flat), options={"generalized_statements": True, "rdf_star": True})
    objects = [statement.o for statement in jelly.loads(out.getvalue())] if n else []
    return dict(zip(table["id"].to_pylist(), objects, strict=True))


def write(folder: Path, name: str, batches: list[Batch], buckets: int, **settings: Any) -> int:
    return write_ids(batches, str(folder), name, buckets=buckets, seed=0, **settings)


def merge(folder: Path, buckets: int) -> int:
    """Merge the terms of all tasks."""
    scratch = sorted(map(str, (folder / "_scratch").glob("*")))
    return sum(merge_terms(bucket, buckets, scratch, str(folder)) for bucket in range(buckets))


def read(folder: Path, table: str) -> pa.Table:
    files = [parquet.ParquetFile(path).read() for path in sorted((folder / table).rglob("*.parquet"))]
    return pa.concat_tables(files or [getattr(terms_room, table.upper()).empty_table()])


def statements(folder: Path) -> Counter[Any]:
    found = read(folder, "terms")
    assert len(set(found["id"].to_pylist())) == len(found)
    terms = terms_of(found)
    rows = read(folder, "triples").to_pylist()
    return Counter(tuple(None if id is None else terms[id] for id in row.values()) for row in rows)


def key(term: Any) -> Any:
    return type(term).__name__, str(term)


terms = anything.filter(writable)
some = st.tuples(terms, terms, terms, st.none() | terms)


@given(tasks=st.lists(st.lists(st.lists(some, max_size=4), max_size=3), max_size=3), buckets=st.sampled_from([1, 4]))
def test_what_is_read_back_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, tasks: list[Any], buckets: int
) -> None:
    folder = tmp_path_factory.mktemp("ids")
    expected: Counter[Any] = Counter()
    for number, task in enumerate(tasks):
        batches = [batch_of([jelly.Quad(*row) for row in rows]) for rows in task]
        assert write(folder, str(number), batches, buckets) == sum(map(len, task))
        expected.update(tuple(map(key, row)) for rows in task for row in rows)
    distinct = merge(folder, buckets)
    found = statements(folder)
    assert Counter({tuple(map(key, row)): n for row, n in found.items()}) == expected
    assert distinct == len(read(folder, "terms")) == len({term for row in expected for term in row} - {key(None)})


def people(first: int, last: int) -> list[Any]:
    return [
        jelly.Triple(IRI(f"a:{i}"), IRI(f"a:p{i % 3}"), Literal(f"name {i % 50}", language="en" if i % 2 else None))
        for i in range(first, last)
    ]


def test_buckets_are_ranges_of_ids(tmp_path: Path) -> None:
    write(tmp_path, "x", [batch_of(people(0, 500))], 8)
    assert merge(tmp_path, 8) == len(read(tmp_path, "terms"))
    for table, column in (("triples", "subject"), ("terms", "id")):
        folders = list((tmp_path / table).iterdir())
        assert len(folders) == 8
        for folder in folders:
            ids = np.array(parquet.ParquetFile(next(folder.iterdir())).read()[column])
            assert set(bucket_of(ids, 8).tolist()) == {int(folder.name.partition("=")[2])}
            assert ids.tolist() == sorted(ids.tolist())
    assert all(bool(0 <= id < 1 << 63) for id in read(tmp_path, "terms")["id"].to_pylist())


def test_rows_of_a_bucket_can_be_sorted_otherwise(tmp_path: Path) -> None:
    write(tmp_path, "x", [batch_of(people(0, 300))], 4, sort=["predicate", "object"])
    for path in (tmp_path / "triples").rglob("*.parquet"):
        table = parquet.ParquetFile(path).read()
        order = list(zip(table["predicate"].to_pylist(), table["object"].to_pylist(), strict=True))
        assert order == sorted(order)
    assert sum(statements_of(tmp_path).values()) == 300


def statements_of(folder: Path) -> Counter[Any]:
    merge(folder, 4)
    return statements(folder)


def test_a_task_of_several_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms_room, "_RUN_ROWS", 100)
    monkeypatch.setattr(room, "_MERGE_ROWS", 7)
    batches = [batch_of(people(i, i + 30)) for i in range(0, 300, 30)]
    assert write(tmp_path, "x", batches, 4) == 300
    assert len(list((tmp_path / "_scratch").iterdir())) == 3
    merge(tmp_path, 4)
    assert statements(tmp_path) == Counter((*statement, None) for statement in people(0, 300))


def test_the_id_of_a_term_can_be_computed(tmp_path: Path) -> None:
    rows = [(IRI("a:s"), IRI("a:p"), term, None) for term in (
        IRI("a:ö"), jelly.BlankNode("b"), Literal("x"), Literal("x", language="en"), Literal("1", datatype="a:int"),
        jelly.QuotedTriple(IRI("a:s"), IRI("a:p"), Literal('"\n')),
    )]  # fmt: skip
    write(tmp_path, "x", [batch_of([jelly.Quad(*row) for row in rows])], 1)
    merge(tmp_path, 1)
    found = {key(term): id for id, term in terms_of(read(tmp_path, "terms")).items()}
    for *_, term, _ in rows:
        text = str(jelly.Triple(IRI("a:s"), IRI("a:p"), term))
        assert found[key(term)] == term_id(text.removeprefix("<a:s> <a:p> ").strip().removesuffix(" ."))
    assert term_id("<a:s>", seed=1) != term_id("<a:s>") == found[key(IRI("a:s"))]
    for wrong in ("a:s", "<a:s> <a:g>", "<a:s> .\n<a:s> <a:p> <a:o>", ""):
        with pytest.raises(jelly.JellySyntaxError):
            term_id(wrong)


def few(batch: Batch, seed: int = 0) -> Any:
    """Ids of 5 bits, where the others are 63."""
    ids, checks = hash_terms(batch, seed)
    return ids >> 58 << 58, checks


def test_two_terms_with_one_id_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms_room, "hash_terms", few)
    with pytest.raises(jelly.JellyUnsupportedError, match=r"two terms have the id \d+: \('iri', 'a:.*another seed"):
        write(tmp_path / "task", "x", [batch_of(people(0, 40))], 4)

    def alone(i: int) -> Batch:
        return batch_of([jelly.Triple(IRI(f"a:{i}"), IRI(f"a:{i}"), IRI(f"a:{i}"))])

    # Two tasks, of which each has one of the terms.
    ids = [int(few(alone(i))[0][0]) for i in range(40)]
    one, other = next((i, j) for i in range(40) for j in range(i) if ids[i] == ids[j])
    folder = tmp_path / "tasks"
    write(folder, "x", [alone(one)], 4)
    write(folder, "y", [alone(other)], 4)
    with pytest.raises(jelly.JellyUnsupportedError, match="two terms have the id"):
        merge(folder, 4)
    # The same term once more is none.
    write(tmp_path / "same", "x", [alone(one)], 4)
    write(tmp_path / "same", "y", [alone(one)], 4)
    assert merge(tmp_path / "same", 4) == 1


@pytest.mark.parametrize("differ", [
    (Literal("x"), Literal("x", language="en")), (Literal("x", language="en"), Literal("x", language="EN")),
    (Literal("x", datatype="a:d"), Literal("x")), (IRI("x:x"), Literal("x:x")),
])  # fmt: skip
def test_terms_that_differ_in_one_respect_are_no_one_term(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, differ: tuple[Any, Any]
) -> None:
    def one(batch: Batch, seed: int) -> Any:
        ids, checks = hash_terms(batch)
        return ids * 0 + 7, checks

    monkeypatch.setattr(terms_room, "hash_terms", one)
    for name, term in zip("xy", differ, strict=True):
        builder = BatchBuilder(3)
        builder.add(jelly.Triple(term, term, term))
        write(tmp_path, name, [builder.batch], 1)
    with pytest.raises(jelly.JellyUnsupportedError, match="two terms have the id 7"):
        merge(tmp_path, 1)
