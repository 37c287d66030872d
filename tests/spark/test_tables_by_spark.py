"""Tables of ids, predicates and classes, made of DataFrames: the same as those that an ingest makes of the files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from test_built_tables import EX, FOAF, PEOPLE

import jelly
import jelly.spark
from jelly.spark import _tables as room
from jelly.spark import graph_tables, ingest, term_id, to_ids, vertical, wide

GRAPH = f'<{EX}ann> <{FOAF}knows> <{EX}bob> <{EX}graph> .\n<{EX}dan> <{EX}p> "é"@en .\n'


@pytest.fixture(scope="module")
def src(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("src")
    (folder / "people.ttl").write_text(PEOPLE)
    (folder / "graph.nq").write_text(GRAPH)
    return folder


@pytest.fixture(params=["flat", "ntriples"])
def df(spark: Any, src: Path, request: pytest.FixtureRequest) -> Any:
    jelly.spark.register(spark)
    return spark.read.format("jelly").option("layout", request.param).load(str(src))


def rows(df: Any, *without: str) -> Counter[str]:
    """The rows as texts, whatever the order of their columns."""
    return Counter(str(sorted(row.asDict().items())) for row in df.drop(*without).collect())


def test_ids(spark: Any, df: Any, src: Path, tmp_path: Path) -> None:
    triples, terms = to_ids(df)
    ingest(src, tmp_path / "out", spark=spark, layout="ids", buckets=2, seed=0)
    for made, name in ((triples, "triples"), (terms, "terms")):
        there = spark.read.parquet(str(tmp_path / "out" / name)).drop("bucket")
        assert made.dtypes == there.dtypes
        assert rows(made) == rows(there)
    assert triples.where(triples.predicate == term_id(f"<{FOAF}knows>")).count() == 4
    other, _ = to_ids(df, seed=1)
    assert rows(other) != rows(triples)
    with pytest.raises(jelly.JellyArgumentError, match=r"seed is -1: expected 0 to 2\^63 - 1"):
        to_ids(df, seed=-1)


def test_tables_of_predicates(spark: Any, df: Any, src: Path, tmp_path: Path) -> None:
    ingest(src, tmp_path / "out", spark=spark, layout="vertical", buckets=2)
    tables = {row.predicate: row.table for row in spark.read.parquet(str(tmp_path / "out" / "catalogue")).collect()}
    made = vertical(df)
    assert made.keys() == tables.keys()
    for predicate, name in tables.items():
        there = spark.read.parquet(str(tmp_path / "out" / "tables" / name))
        assert made[predicate].dtypes == there.dtypes
        assert rows(made[predicate]) == rows(there)


def test_the_table_of_a_class(spark: Any, df: Any, src: Path, tmp_path: Path) -> None:
    ingest(src, tmp_path / "out", spark=spark, layout="wide", buckets=2)
    for cls, name in ((f"{FOAF}Person", "Person"), (f"{EX}Author", "Author")):
        there = spark.read.parquet(str(tmp_path / "out" / "tables" / name))
        made = wide(df, cls)
        assert dict(made.dtypes) == dict(there.dtypes)
        assert rows(made) == rows(there)
    with pytest.raises(jelly.JellyOptionsError, match="no subject is of the class http://x"):
        wide(df, "http://x")


def test_other_columns(spark: Any) -> None:
    frame = spark.createDataFrame([(1,)], "x int")
    for function in (to_ids, vertical, lambda df: wide(df, "a:C")):
        with pytest.raises(jelly.JellyOptionsError, match="the columns are not those of layout"):
            function(frame)
    # Those that no layout has are left out.
    frame = spark.createDataFrame([("<a:s>", "<a:p>", '"1"', 7)], "s string, p string, o string, day int")
    assert vertical(frame)["a:p"].collect() == [("a:s", "1")]


def test_directions_in_a_column_of_their_own(spark: Any) -> None:
    text = b"".join(b'<a:s> <a:p> "x"@ar%s .\n' % direction for direction in (b"--rtl", b"--ltr", b""))

    def frame(direction: bool) -> Any:
        table = jelly.read_arrow(text, format="nt", direction=direction).read_all()
        return spark.createDataFrame([tuple(row.values()) for row in table.to_pylist()],
                                     ", ".join(f"{name} string" for name in table.schema.names))  # fmt: skip

    assert "direction" in frame(direction=True).columns
    for make in (to_ids, lambda df: vertical(df).values(), lambda df: graph_tables(df, literals=True)):
        apart, together = ([rows(table) for table in make(frame(direction=direction))] for direction in (True, False))
        assert apart == together
    assert to_ids(frame(direction=True))[1].where("kind = 'literal'").count() == 3


def test_two_terms_with_one_id(monkeypatch: pytest.MonkeyPatch) -> None:
    from jelly._formats.arrow_tables import pa
    from jelly.spark._frames import _once

    def batch(*values: str) -> Any:
        columns = {"id": [7] * len(values), "kind": ["iri"] * len(values), "value": values}
        table = pa.table({name: columns.get(name, [None] * len(values)) for name in room.TERMS.names})
        return table.cast(room.TERMS).to_batches()[0]

    assert sum(map(len, _once(iter([batch("a:x"), batch("a:x", "a:x")])))) == 1
    with pytest.raises(jelly.JellyUnsupportedError, match="two terms have the id 7"):
        list(_once(iter([batch("a:x"), batch("a:y")])))
