"""In Spark: the data sources, the sinks and ingest write to S3. The recipes of docs/object-stores.md run."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cluster import TESTS
from store_jobs import delta_table

import jelly
import jelly.spark
from jelly.spark._ingest import compact_table, ingest
from jelly.spark._parts.files import find_files, open_file
from jelly.spark._store import SUCCESS, store_of

LIMIT = 120
RDF_TYPE = jelly.IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
THREE = ("concat('<a:', id, '>') as s", "'<a:p>' as p", "concat('\"', id, '\"') as o")


@pytest.fixture(scope="module", autouse=True)
def source(spark: Any) -> None:
    jelly.spark.register(spark)


@pytest.fixture
def out(tmp_path: Path) -> str:
    return f"s3://bucket/{tmp_path.name}"


def statements(out: str, storage: dict[str, Any]) -> Counter[str]:
    """The objects that a reader of this package sees."""
    found: Counter[str] = Counter()
    for file in find_files(out, storage=storage):
        with open_file(storage, file.path) as opened:
            found.update(str(statement.o) for statement in jelly.read(opened))
    return found


def numbers(*n: int) -> Counter[str]:
    return Counter(f'"{number}"' for upto in n for number in range(upto))


def test_batch_jobs(spark: Any, s3: dict[str, Any], out: str) -> None:
    def write(rows: int, mode: str = "append", **options: str) -> Counter[str]:
        frame = spark.range(rows, numPartitions=2).selectExpr(*THREE)
        frame.write.format("jelly").mode(mode).options(storage=json.dumps(s3), **options).save(out)
        return statements(out, s3)

    assert write(10, ifExists="error") == numbers(10)
    assert write(20, compression="zstd") == numbers(10, 20)
    assert write(5, ifExists="ignore") == numbers(10, 20)
    with pytest.raises(Exception, match=rf"PATH_ALREADY_EXISTS.*{out}"):
        write(5, ifExists="error")
    frame = spark.read.format("jelly").option("storage", json.dumps(s3)).load(out)
    assert frame.count() == 30
    # What is read can be overwritten in one go.
    frame.union(frame).write.format("jelly").mode("overwrite").option("storage", json.dumps(s3)).save(out)
    assert statements(out, s3) == numbers(10, 20, 10, 20)
    store = store_of(out, s3)
    assert {name for name in store.files() if name.startswith("_")} == {SUCCESS}
    # Of a job that fails nothing is seen.
    before = set(store.files())
    bad = spark.range(4, numPartitions=2).selectExpr(*THREE[:2], "if(id = 3, raise_error('stop'), '_:x') as o")
    with pytest.raises(Exception, match="stop"):
        bad.write.format("jelly").mode("overwrite").option("storage", json.dumps(s3)).save(out)
    assert statements(out, s3) == numbers(10, 20, 10, 20)
    # A task that was killed with it may have left what it was writing.
    assert all(name.startswith("_temporary/") for name in set(store.files()) - before)
    with pytest.raises(Exception, match=r"s3://nobucket/x: The specified bucket does not exist") as caught:
        bad.write.format("jelly").mode("append").option("storage", json.dumps(s3)).save("s3://nobucket/x")
    assert s3["secret"] not in str(caught.value)


def test_patches(spark: Any, s3: dict[str, Any], out: str) -> None:
    frame = spark.range(6, numPartitions=1).selectExpr("'add' as op", *THREE)
    frame.write.format("jelly-patch").mode("append").option("storage", json.dumps(s3)).save(out)
    read = spark.read.format("jelly-patch").options(layout="ntriples", storage=json.dumps(s3)).load(out)
    assert sorted(row.o for row in read.collect()) == [f'"{i}"' for i in range(6)]


def test_a_stream_that_is_started_again(spark: Any, s3: dict[str, Any], out: str, tmp_path: Path) -> None:
    def add(number: int) -> None:
        with open_file_to_write(f"{out}/in/{number}.nt") as file:
            file.write(f'<a:s> <a:p> "{number}" .\n'.encode())

    def open_file_to_write(url: str) -> Any:
        import fsspec

        return fsspec.open(url, "wb", **s3)

    def stream() -> None:
        frame = spark.readStream.format("jelly").options(
            layout="ntriples", storage=json.dumps(s3), maxFilesPerTrigger=1
        ).load(f"{out}/in/*.nt")  # a pattern, whose new files are found
        query = (
            frame.select("s", "p", "o").writeStream.format("jelly").trigger(availableNow=True)
            .options(checkpointLocation=str(tmp_path / "state"), storage=json.dumps(s3)).start(f"{out}/out")
        )  # fmt: skip
        assert query.awaitTermination(LIMIT)

    add(0)
    add(1)
    stream()
    assert statements(f"{out}/out", s3) == numbers(2)
    # As if the driver had died between the sink's commit and Spark's.
    for path in (tmp_path / "state" / "commits").glob("*1*"):
        path.unlink()
    add(2)
    stream()
    assert statements(f"{out}/out", s3) == numbers(3)
    store = store_of(f"{out}/out", s3)
    assert [name for name in sorted(store.files()) if name.endswith(SUCCESS)] == [
        f"batch={number}/{SUCCESS}" for number in range(3)
    ]
    assert not any(name.startswith("_") for name in store.files())


@pytest.mark.parametrize("to", ["parquet", "delta"])
def test_ingest(spark: Any, s3: dict[str, Any], out: str, tmp_path: Path, to: Any) -> None:
    (tmp_path / "src").mkdir()
    for number in range(3):
        lines = [f'<a:{number}> <a:p{i % 2}> "{i}" .\n' for i in range(50)]
        (tmp_path / "src" / f"{number}.nt").write_text("".join(lines))
    settings: dict[str, Any] = {"to": to, "partition_by": "predicate", "sort": ["object"]}
    done = ingest(tmp_path / "src", out, spark=spark, split_bytes=1, storage=s3, **settings)
    assert (done.tasks, done.statements, done.files) == (3, 150, 6)
    text = b"".join((store_of(out, s3).read(name) or b"") for name in store_of(out, s3).files())
    assert s3["secret"].encode() not in text
    assert s3["key"].encode() not in text
    # Parquet readers that know nothing of this package.
    import pyarrow.dataset as dataset
    import s3fs

    table = dataset.dataset(out.removeprefix("s3://"), filesystem=s3fs.S3FileSystem(**s3), partitioning="hive")
    assert table.count_rows() == 150
    assert table.count_rows(filter=dataset.field("predicate") == "a:p1") == 75
    if to == "delta":
        assert compact_table(out, spark=spark, storage=s3).compacted_to == 2
        assert delta_table(store_of(out, s3)).to_pyarrow_table().num_rows == 150


def test_tables_of_a_layout(spark: Any, s3: dict[str, Any], out: str, tmp_path: Path) -> None:
    """Executors fetch what they read again; the tables are those of a local directory."""
    import s3fs
    from pyarrow import parquet

    rows = [
        jelly.Triple(jelly.IRI(f"a:{i}"), jelly.IRI(f"a:p{i % 3}"), jelly.Literal(str(i % 7))) for i in range(60)
    ]  # fmt: skip
    rows += [jelly.Triple(jelly.IRI(f"a:{i}"), RDF_TYPE, jelly.IRI("a:Thing")) for i in range(60)]
    src = tmp_path / "src"
    src.mkdir()
    jelly.write(src / "0.nt", rows[::2])
    jelly.write(src / "1.nt", rows[1::2])
    more = tmp_path / "more"
    more.mkdir()
    jelly.write(more / "2.nt", [jelly.Triple(jelly.IRI("a:new"), jelly.IRI("a:p0"), jelly.Literal("x"))])
    fs = s3fs.S3FileSystem(**s3)
    layouts: list[Any] = ["ids", "vertical", "wide"]
    for layout in layouts:
        places = tmp_path / layout, f"{out}/{layout}"
        for place, storage in zip(places, (None, s3), strict=True):
            ingest([src, more], place, spark=spark, layout=layout, buckets=2, split_bytes=1, storage=storage)
        local = {path.relative_to(places[0]).as_posix().rpartition("/")[0] for path in places[0].rglob("*.parquet")}
        names = [name.removeprefix(f"{places[1]}/".removeprefix("s3://")) for name in fs.find(places[1])]
        assert {name.rpartition("/")[0] for name in names if name.endswith(".parquet")} == local, layout
        assert "_SUCCESS" in names
        assert not [name for name in names if name.startswith("_temporary")]
        for folder in local:
            there = parquet.ParquetDataset(f"{places[1]}/{folder}".removeprefix("s3://"), filesystem=fs).read()
            here = parquet.ParquetDataset(f"{places[0]}/{folder}").read()
            assert sorted(map(str, there.to_pylist())) == sorted(map(str, here.to_pylist())), (layout, folder)


def test_the_recipes(spark: Any, s3: dict[str, Any], tmp_path: Path) -> None:
    page = (TESTS.parent / "docs" / "object-stores.md").read_text()
    recipes = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    assert len(recipes) >= 3
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.nt").write_text('<a:s> <a:p> "o" .\n')
    names: dict[str, Any] = {"spark": spark}
    for text in recipes:
        for there, here in {
            "s3://bucket": f"s3://bucket/{tmp_path.name}", '"data"': repr(str(tmp_path / "data")),
            'storage = {"anon": False}': f"storage = {s3!r}", '"state"': repr(str(tmp_path / "state")),
        }.items():  # fmt: skip
            text = text.replace(there, here)
        exec(compile(text, "docs/object-stores.md", "exec"), names)
    assert names["frame"].count() == 1
