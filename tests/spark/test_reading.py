"""The data source "jelly": reading. What Spark gives is what the library gives."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from readings import read_part
from sessions import REMOTE, tasks_of
from support import column_writer
from support.shared import shared
from support.statements import generalized, quads, star
from test_plan import Handler, numbers

import jelly
import jelly.spark
from jelly._dataset.conditions.where import where
from jelly._dataset.seekable.sidecar import make_sidecar
from jelly.arrow import from_batches
from jelly.spark._parts import Part
from jelly.spark._parts.files import find_files

FLAT = "subject, predicate, object, object_kind, datatype, lang, graph"


@pytest.fixture(scope="module")
def reader(spark: Any) -> Any:
    """A fresh reader at each call, with some options."""
    jelly.spark.register(spark)

    def make(**options: Any) -> Any:
        found = spark.read.format("jelly")
        for name, value in options.items():
            found = found.option(name, value)
        return found

    return make


def rows(df: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in df.collect()]


def expected(*paths: Path, **settings: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for path in paths for row in jelly.read_arrow(path, **settings).read_all().to_pylist()]


def through_spark(df: Any, folder: Path) -> pa.Table:
    """All rows in order, by way of Parquet: that takes neither time nor memory."""
    df.write.mode("overwrite").parquet(str(folder))
    return pa.concat_tables([parquet.read_table(path) for path in sorted(folder.glob("part-*"))])


@pytest.mark.parametrize("layout", ["flat", "ntriples"])
def test_every_file_is_read_as_by_the_library(reader: Any, tmp_path: Path, layout: Any) -> None:
    """In the layout that all files fit; in the other one of three of them, or all with JELLY_LONG=1."""
    good, tables, fitting = [], [], ("jelly", "nt", "nq")
    part = 1 if layout == "ntriples" or os.environ.get("JELLY_LONG") else 3
    files = [file for file in find_files(shared("data")) if any(f".{suffix}" in file.name[-9:] for suffix in fitting)]
    for file in files[::part]:
        if file.name.endswith(("_b64", ".txt")):
            continue
        try:
            tables.append(jelly.read_arrow(file.path, layout=layout).read_all())
        except jelly.JellyUnsupportedError:
            assert layout == "flat"  # a literal that is no object
            continue
        good.append(file.path)
    assert len(good) > 60 / part
    df = reader(layout=layout, splitBytes=1 << 22, blankNodes="keep").load(good)
    assert tasks_of(df) > 4 / part
    table = through_spark(df, tmp_path / "out")
    wanted = pa.concat_tables(tables)
    assert table.num_rows == wanted.num_rows > 1_000_000 / part
    assert table.cast(wanted.schema).equals(wanted)


def test_jelly_1_2_is_read_by_many_tasks(reader: Any, tmp_path: Path) -> None:
    path = tmp_path / "columns.jelly"
    iris = [("iri", f"http://e.example/{n % 50}") for n in range(20_000)]
    path.write_bytes(column_writer.write([(x, iris[0], x) for x in iris], quads=False, rows=500))
    make_sidecar(path, distance=1000, chunk=1 << 12)
    df = reader(splitBytes=path.stat().st_size // 3).load(str(path))
    assert tasks_of(df) in (3, 4)
    assert rows(df) == expected(path)


@pytest.mark.every_spark
def test_one_file_is_read_by_many_tasks(reader: Any, tmp_path: Path) -> None:
    path = tmp_path / "n.jelly"
    for suffix in ("", ".zst"):
        jelly.write(f"{path}{suffix}", numbers(30_000, graph=True), seekable=True, keyframe_rows=2000)
        size = path.stat().st_size
        df = reader(splitBytes=size // 3, columns="object, graph").load(f"{path}{suffix}")
        assert df.columns == ["object", "graph"]
        assert tasks_of(df) in (3, 4)
        assert rows(df) == expected(path, columns=["object", "graph"])
    jelly.write(path, numbers(30_000), seekable=False)
    df = reader(splitBytes=size // 4).schema("object string").load(str(path))
    assert tasks_of(df) == 1
    make_sidecar(path, distance=1000, chunk=1 << 14)
    assert REMOTE or tasks_of(df) == 1  # planned already, which Spark Connect does each time
    df = reader(splitBytes=size // 4).schema("object string").load(str(path))
    assert tasks_of(df) > 1
    assert rows(df) == expected(path, columns=["object"])


@pytest.mark.every_spark
def test_formats_compressions_and_places(reader: Any, tmp_path: Path) -> None:
    text = b'<a:s> <a:p> "1"@en <a:g> .\n'
    (tmp_path / "day=1" / "_temporary").mkdir(parents=True)
    (tmp_path / "day=1" / "a.nq").write_bytes(text)
    (tmp_path / "day=1" / "_temporary" / "x.nq").write_bytes(b"no")
    (tmp_path / "b.nt.gz").write_bytes(gzip.compress(b"<a:s> <a:p> _:b .\n"))
    (tmp_path / "c.dat").write_bytes(text)
    jelly.convert(tmp_path / "day=1" / "a.nq", tmp_path / "d.jelly.zst")
    row = ("a:s", "a:p", "1", "literal", None, "en", "a:g")
    blank = ("a:s", "a:p", "_:b", "bnode", None, None, None)
    assert rows(reader(pathGlobFilter="*.[njz]*", blankNodes="keep").load(str(tmp_path))) == [blank, row, row]
    assert rows(reader(blankNodes="keep").load(f"file://{tmp_path}/*.gz")) == [blank]
    assert rows(reader(format="nq").load(str(tmp_path / "c.dat"))) == [row]
    paths = [str(tmp_path / "d.jelly.zst"), str(tmp_path / "day=*")]
    assert rows(reader().load(paths)) == [row, row]


def test_frames_and_their_metadata(reader: Any, tmp_path: Path) -> None:
    path = tmp_path / "f.jelly"
    with jelly.Writer(path, jelly.StreamOptions(logical_type=jelly.LogicalType.GRAPHS, physical_type=1)) as writer:
        for i in range(3):
            writer.extend(numbers(i + 1))
            writer.end_frame({"n": b"%d" % i} if i else None)
    df = reader(frames="true", columns="object").load(str(path))
    assert dict(df.dtypes) == {"object": "string", "frame": "bigint", "metadata": "map<string,binary>"}
    found = [(*row[:2], {key: bytes(value) for key, value in row.metadata.items()}) for row in df.collect()]
    table = expected(path, columns=["object", "frame", "metadata"])
    assert found == [(*row[:2], dict(row[2])) for row in table]
    assert found[-1] == ("2", 2, {"n": b"2"})
    assert reader(frames="true", columns="frame,object").load(str(path)).columns == ["frame", "object", "metadata"]


def test_the_schema_of_the_user_chooses_columns_and_layout(reader: Any, tmp_path: Path) -> None:
    path = tmp_path / "n.jelly"
    jelly.write(path, numbers(3))
    assert rows(reader().schema("o string, frame bigint").load(str(path)))[1] == ('"1"', 0)
    assert reader().load(str(path)).schema.simpleString() == f"struct<{FLAT.replace(', ', ':string,')}:string>"
    for schema, message in (
        ("subject string, o string", "unknown columns 'o'"),
        ("object bigint", "column 'object' is bigint: expected string"),
        ("frame string", "column 'frame' is string: expected bigint"),
    ):
        with pytest.raises(Exception, match=message):
            reader().schema(schema).load(str(path)).collect()


def test_a_column_that_is_not_null(tmp_path: Path) -> None:
    """Spark believes the schema: it leaves out `graph is null`, and fails on a null without a reason."""
    from pyspark.sql.types import StructType

    from jelly.spark._source import JellyDataSource

    (tmp_path / "x.nq").write_text("<a:s> <a:p> <a:o> <a:g> .\n<a:s> <a:p> <a:o> .\n?\n")

    def read(name: str, **options: str) -> int:
        reader = JellyDataSource({"path": str(tmp_path), "mode": "DROPMALFORMED"} | options).reader(
            StructType().add(name, "string", nullable=False).add("_corrupt_record", "string")
        )
        return sum(len(batch) for task in reader.partitions() for batch in reader.read(task))

    assert read("subject") == 2
    for name, options in (("graph", {}), ("day", {"partitionColumns": "day"}), ("subject", {"mode": "PERMISSIVE"})):
        with pytest.raises(jelly.JellyOptionsError, match=rf"column '{name}' is not null in the schema.*x\.nq"):
            read(name, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layout": "wide"}, "layout is 'wide': expected one of flat, ntriples"),
        ({"mode": "lazy"}, "mode is 'lazy': expected one of FAILFAST"),
        ({"columns": "subject,sub"}, "unknown columns 'sub'"),
        ({"format": "doc"}, "unknown format 'doc'"),
        ({"splitBytes": "many"}, "option splitBytes is 'many': expected a whole number, at least 1"),
        ({"storage": "[1]"}, "a JSON object"),
        ({"frames": "perhaps"}, "frames is 'perhaps'"),
        ({"colums": "subject"}, "unknown option 'colums': did you mean columns"),
        ({"nested": "true"}, "unknown option 'nested': expected one of path, .*columns"),
    ],
)
def test_bad_options_are_refused(reader: Any, tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        reader(**options).load(str(tmp_path)).collect()


def test_missing_and_empty_places_are_named(reader: Any, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.jelly", tmp_path / "*.nt"):
        with pytest.raises(Exception, match=f"PATH_NOT_FOUND.*{path.name[:4].replace('*', '.')}"):
            reader().load(str(path)).collect()
    with pytest.raises(Exception, match="no path is given"):
        reader().load().collect()


def test_files_that_are_no_rdf_fail_before_the_tasks(reader: Any, tmp_path: Path) -> None:
    jelly.write(tmp_path / "n.jelly", numbers(3))
    for name in ("README.md", "x.csv"):
        (tmp_path / name).write_text("a list of things")
    message = r'\(2\): .*README.md, .*x.csv; option\("skipUnknown", "true"\) leaves them out'
    with pytest.raises(Exception, match=message) as caught:
        reader().load(str(tmp_path)).collect()
    assert "Job aborted" not in str(caught.value)  # no task ran
    assert reader(skipUnknown="true").load(str(tmp_path)).count() == 3


def test_a_table_of_sql_says_what_to_write(spark: Any, reader: Any, tmp_path: Path) -> None:
    jelly.write(tmp_path / "n.jelly", numbers(3))
    spark.sql(f"CREATE TABLE people USING jelly OPTIONS (path '{tmp_path}') TBLPROPERTIES (other 'x')")
    try:
        with pytest.raises(Exception, match=r"CREATE TEMPORARY VIEW name USING `jelly` OPTIONS \(path"):
            spark.sql("SELECT * FROM people").collect()
        assert len(spark.sql(f"SELECT * FROM people WITH (path = '{tmp_path}')").collect()) == 3
    finally:
        spark.sql("DROP TABLE people")
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW people USING `jelly` OPTIONS (path '{tmp_path}')")
    assert spark.table("people").count() == 3


# ---- what is broken

@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Good files with bad ones among them."""
    good = tmp_path / "a.jelly"
    jelly.write(good, numbers(3000), frame_rows=100)
    data = good.read_bytes()
    (tmp_path / "b.jelly").write_bytes(data[: len(data) // 2])
    (tmp_path / "c.nt").write_bytes(b'<a:s> <a:p> "x" .\n<a:s> oops .\n<a:s> <a:p> "y" .\n')
    (tmp_path / "d.jelly").write_bytes(b"Dear reader, this is no RDF.")
    return tmp_path


def test_failfast_names_the_file(reader: Any, broken: Path) -> None:
    for name in ("b.jelly", "c.nt", "d.jelly"):
        with pytest.raises(Exception, match=rf"Jelly\w+Error(.|\n)*{name}"):
            reader().load(str(broken / name)).collect()


def test_dropmalformed_leaves_out_what_is_broken(reader: Any, broken: Path) -> None:
    found = [row.object for row in reader(mode="dropmalformed", columns="object").load(str(broken)).collect()]
    rest = found[3000:-2]
    assert found[:3000] == [str(i) for i in range(3000)]
    assert 1000 < len(rest) < 2000
    assert rest == [str(i) for i in range(len(rest))]
    assert found[-2:] == ["x", "y"]


def test_permissive_tells_of_what_is_broken(reader: Any, broken: Path) -> None:
    df = reader(mode="PERMISSIVE", columns="object,frame").load(str(broken))
    assert df.columns == ["object", "frame", "_corrupt_record"]
    table = [tuple(row) for row in df.collect()]
    bad = [row for row in table if row[2] is not None]
    assert [row[:2] for row in bad] == [(None, None)] * 3
    for (_, _, text), place in zip(
        bad, (r"\(.*b\.jelly: frame \d+, byte \d+\)", r"\(.*c\.nt: line 2\)", r"\(.*d\.jelly: "), strict=True
    ):

        assert re.search(place, text), text
    assert len(table) - 3 == reader(mode="DROPMALFORMED").load(str(broken)).count()
    only = reader(mode="PERMISSIVE").schema("_corrupt_record string").load(str(broken))
    assert only.where("_corrupt_record is not null").count() == 3
    with pytest.raises(Exception, match="_corrupt_record string: the schema has none"):
        reader(mode="PERMISSIVE").schema("object string").load(str(broken)).collect()


# ---- filters

@given(st.one_of(st.lists(generalized, min_size=1, max_size=30), st.lists(quads(star), min_size=1)), st.data())
def test_where_keeps_what_meets_the_condition(statements: list[Any], data: Any) -> None:
    options = jelly.StreamOptions(
        physical_type=len(statements[0]) - 2, rdf_star=True, generalized_statements=True
    )
    batches = list(jelly.Decoder().feed(jelly.dumps(statements, options)))
    layout = data.draw(st.sampled_from(["flat", "ntriples"]))
    try:
        whole = from_batches(batches, layout=layout).read_all().to_pylist()
    except jelly.JellyError:
        assume(False)  # a literal as subject, a label that N-Triples cannot write
    column = data.draw(st.sampled_from([name for name in whole[0] if len(name) == 1 or name in FLAT[:27] + "graph"]))
    values = data.draw(st.lists(st.sampled_from([row[column] for row in whole]), min_size=1, max_size=3))
    condition = where(column, values)
    assume(condition is not None)
    found = from_batches(batches, layout=layout, keep=condition.rows).read_all().to_pylist()
    assert found == [row for row in whole if row[column] in values]


@pytest.mark.every_spark
def test_filters_are_pushed_down(spark: Any, tmp_path: Path) -> None:
    people = b"".join(
        b'<a:%d> <a:name> "n%d" <a:g%d> .\n<a:%d> <a:knows> <a:%d> <a:g0> .\n<a:%d> <a:likes> _:x .\n'
        % (i, i, i % 3, i, i * 7 % 100, i)
        for i in range(100)
    )
    path = tmp_path / "p.nq"
    path.write_bytes(people + b"wrong\n")
    part = Part(*find_files(path))
    condition = where("predicate", ["a:knows"])
    [batch] = read_part(part, columns=["subject", "object", "frame"], keep=condition, errors=[])
    assert batch.num_rows == 100
    assert batch.column(1).to_pylist() == [f"a:{i * 7 % 100}" for i in range(100)]
    conditions = (
        "predicate = 'a:knows'",
        "predicate in ('a:name', 'a:likes') and object in ('n7', '_:x', 'a:7')",
        "graph = 'a:g1' and predicate = 'a:name'",
        "subject = 'a:5' and object <> 'n5'",
        "_corrupt_record is not null",
        "object = '<< a:s a:p a:o >>' or lang = 'en'",
    )
    settings = {"mode": "PERMISSIVE", "path": str(path), "blankNodes": "keep"}
    jelly.spark.register(spark)
    plain = spark.read.format("jelly").options(**settings).load()
    wanted = [Counter(rows(plain.where(condition))) for condition in conditions]
    try:
        jelly.spark.register(spark, pushdown=True)
        pushed = spark.read.format("jelly").options(**settings).load()
        assert [Counter(rows(pushed.where(condition))) for condition in conditions] == wanted
        assert [sum(counter.values()) for counter in wanted] == [100, 101, 33, 2, 1, 0]
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
        jelly.spark.register(spark)


# ---- places and costs

def test_a_web_server(reader: Any, tmp_path: Path) -> None:
    handler = type("Fresh", (Handler,), {"asked": []})
    jelly.write(tmp_path / "n.jelly", numbers(60_000), seekable=True, keyframe_rows=5000)
    size = (tmp_path / "n.jelly").stat().st_size
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(tmp_path))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/n.jelly"
            storage = json.dumps({"block_size": 1 << 14})
            df = reader(splitBytes=size // 2, storage=storage, columns="object").load(url)
            assert tasks_of(df) in (2, 3)
            assert rows(df) == expected(tmp_path / "n.jelly", columns=["object"])
        finally:
            server.shutdown()
            thread.join()
    assert len(handler.asked) > 2


def test_workers_load_it_quickly() -> None:
    code = """
import time
begin = time.process_time()
import pyspark.sql.datasource, pyspark.sql.types, pyspark.worker, pyarrow
start = time.process_time()
import jelly.spark, jelly.spark._source
print((time.process_time() - start) / (start - begin))
"""
    root = str(Path(__file__).resolve().parent.parent.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path + [root])}
    command = [sys.executable, "-W", "ignore", "-c", code]
    runs = [subprocess.run(command, env=environment, capture_output=True, check=True) for _ in range(3)]
    # Of what the imports of Spark and pyarrow take, which is about as much. On a busy machine both take longer.
    assert min(float(run.stdout) for run in runs) < 1.8


def test_memory_stays_flat(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "n.jelly"
    jelly.write(path, numbers(1_000_000), seekable=True)
    code = """
import resource, sys
from jelly.spark._parts import Part, Reading
from jelly.spark._parts.files import find_files
[file] = find_files(sys.argv[1])
def peak(parts):
    for part in parts:
        for batch in Reading().read(part):
            pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
first = peak([Part(file, 0, 2)])
print(first, peak([Part(file)] * 3))
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=True, text=True)
    first, last = map(int, done.stdout.split())
    assert last < first + 30_000


