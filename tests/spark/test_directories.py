"""Directories such as graph=http%3A%2F%2Fexample.org%2Fg say what their files hold, and which need not be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as dataset
import pytest
from readings import read_part, split

import jelly
import jelly.spark
from jelly._dataset.blank_node_scope import BlankNodes
from jelly.spark._parts import BATCH_ROWS
from jelly.spark._parts.files import NONE, Directories, find_files

G, H = "http://example.org/g?x=1&y=%41#é", "http://example.org/h"
G_NAME, H_NAME = "graph=http%3A%2F%2Fexample.org%2Fg%3Fx%3D1%26y%3D%2541%23%C3%A9", "graph=http%3A%2F%2Fexample.org%2Fh"
DEFAULT = "graph=__HIVE_DEFAULT_PARTITION__"


def put(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + " .\n" for line in lines))
    return path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Triples and quads in directories of graphs and days."""
    put(tmp_path / "day=1" / G_NAME / "a.nt", "<a:1> <a:p> <a:o>", "<a:2> <a:q> <a:o>")
    put(tmp_path / "day=2" / H_NAME / "b.nq", "<a:3> <a:p> <a:o>", f"<a:4> <a:p> <a:o> <{H}>")
    put(tmp_path / "day=2" / DEFAULT / "c.nt", "<a:5> <a:p> <a:o>")
    put(tmp_path / "d.nq", f"<a:6> <a:p> <a:o> <{G}>")
    return tmp_path


def read(places: Directories, *paths: Path, layout: Any = "flat", **settings: Any) -> list[tuple[Any, ...]]:
    subject, graph = ("subject", "graph") if layout == "flat" else ("s", "g")
    return [
        (row[subject], row[graph])
        for path in paths
        for [part] in split(find_files(path), directories=places)
        for batch in read_part(part, layout=layout, **settings)
        for row in batch.to_pylist()
    ]


def test_statements_get_the_graph_of_their_directory(tree: Path) -> None:
    places = Directories((str(tree),))
    paths = [Path(file.path) for file in find_files(tree)]
    assert [path.name for path in paths] == ["d.nq", "a.nt", "c.nt", "b.nq"]
    assert read(places, *paths) == [("a:6", G), ("a:1", G), ("a:2", G), ("a:5", None), ("a:3", H), ("a:4", H)]
    assert read(places, paths[1], layout="ntriples") == [("<a:1>", f"<{G}>"), ("<a:2>", f"<{G}>")]
    assert read(NONE, paths[1]) == [("a:1", None), ("a:2", None)]


@pytest.mark.parametrize(
    ("base", "counts"),
    [
        ("", True), ("day=1", True), ("day=*", True), ("*/graph=*/a.nt", True), ("day=1/" + G_NAME, False),
        ("day={1,2}", True), ("{day=1,day=2}/graph=*/a.nt", True), ("day=1/" + G_NAME + "/{a,b}.nt", False),
        ("day=1/" + G_NAME + "/a.nt", False), ("day=1/" + G_NAME + "/*", False), ("other", False),
    ],
)  # fmt: skip
def test_directories_count_below_the_path_that_is_read(tree: Path, base: str, counts: bool) -> None:
    places = Directories((str(tree / base),))
    assert ("graph" in places.values(str(tree / "day=1" / G_NAME / "a.nt"))) == counts


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ("s3://bucket/t", "s3://bucket/t/day=1/x.nt"), ("s3a://bucket/t/", "s3://bucket/t/day=1/x.nt"),
        ("memory://t", "memory:///t/day=1/x.nt"), ("./t", "./t/day=1/x.nt"), ("t", "t/day=1/x.nt"),
        ("http://h:1/t/", "http://h:1/t/day%3D1/x.nt"), ("simplecache::s3://bucket/t", "s3://bucket/t/day=1/x.nt"),
        ("s3://bucket/*/day=*/*.nt", "s3://bucket/t/day=1/x.nt"), ("C:\\t", "C:\\t/day=1\\x.nt"),
    ],
)  # fmt: skip
def test_urls_and_paths(base: str, path: str) -> None:
    assert Directories(("elsewhere", base)).values(path) == {"day": "1"}
    assert Directories(("elsewhere",)).values(path) == {}


def test_the_names_are_those_that_others_write(tmp_path: Path) -> None:
    """pyarrow writes directories as Hive does."""
    values = [G, H, "http://x/ä/ö=1", "_:b", None]
    table = pa.table({"graph": values, "x": range(len(values))})
    partitioning = dataset.partitioning(pa.schema([table.schema.field("graph")]), flavor="hive")
    dataset.write_dataset(table, tmp_path, format="parquet", partitioning=partitioning)
    places = Directories((str(tmp_path),))
    found = [places.values(file.path)["graph"] for file in find_files(tmp_path)]
    assert sorted(map(str, found)) == sorted(map(str, values))


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        (H_NAME, [f"<a:s> <a:p> <a:o> <{G}>"], rf"the graph of 1 statements .*, <{H}>: the first has <http://example.org/g"),
        (DEFAULT, ["<a:1> <a:p> <a:o>", "<a:2> <a:p> <a:o> <a:g>"], "the graph of 1 .*, the default graph: .* <a:g>"),
        ("predicate=a%3Ap", ["<a:s> <a:q> <a:o>"], "the predicate of 1 .*, <a:p>: the first has <a:q>"),
        ("s=%3Ca%3As%3E", ["<a:s> <a:q> <a:o>", "<a:t> <a:q> <a:o>", "_:s <a:q> <a:o>"], "subject of 2 .* <a:t>"),
        ("graph=people", ["<a:s> <a:p> <a:o>"], r"the directory graph=people names no term.*\"partitions\", \"false\""),
        ("g=http%3A%2F%2Fx", ["<a:s> <a:p> <a:o>"], "g=http://x names no term"),
        ("graph=a%3Ag/g=%3Ca%3Ah%3E", ["<a:s> <a:p> <a:o>"], "g=<a:h> names no term"),
    ],
)  # fmt: skip
def test_statements_that_differ_from_their_directory_are_an_error(
    tmp_path: Path, name: str, lines: list[str], message: str
) -> None:
    path = put(tmp_path / name / "x.nq", *lines)
    with pytest.raises(jelly.JellyError, match=message) as caught:
        read(Directories((str(tmp_path),)), path)
    assert caught.value.source == str(path)
    assert len(read(Directories((str(tmp_path),), terms=False), path)) == len(lines)


def test_such_statements_are_left_out_where_errors_are_noted(tmp_path: Path) -> None:
    path = put(tmp_path / H_NAME / "x.nq", "<a:1> <a:p> <a:o>", "<a:2> <a:p> <a:o> <a:g>", f"<a:3> <a:p> <a:o> <{H}>")
    errors: list[jelly.JellyError] = []
    assert read(Directories((str(tmp_path),)), path, errors=errors) == [("a:1", H), ("a:3", H)]
    assert [(error.row, error.source) for error in errors] == [(1, str(path))]
    jelly.convert(path, path.with_suffix(".jelly"), frame_rows=1)
    for name, frames in (("x.nq", (0, 0)), ("x.jelly", (0, 2))):
        found = load(tmp_path, columns="row,frame,subject,_corrupt_record", mode="PERMISSIVE", pathGlobFilter=name)
        assert found[:2] == [(0, frames[0], "a:1", None), (2, frames[1], "a:3", None)]
        assert [row[:3] for row in found[2:]] == [(None,) * 3]


def test_blank_nodes_are_those_of_the_table(tmp_path: Path) -> None:
    path = put(tmp_path / "graph=_%3Ajf00000000000000aa_g" / "x.nt", "_:s <a:p> <a:o>")
    [(subject, graph)] = read(Directories((str(tmp_path),)), path, blank_nodes=BlankNodes())
    assert subject.startswith("_:jf")
    assert graph == "_:jf00000000000000aa_g"


@pytest.mark.parametrize(
    ("wanted", "layout", "names"),
    [
        ({}, "flat", "abcd"), ({"graph": {H}}, "flat", "bd"), ({"graph": {H, G}}, "flat", "abd"),
        ({"graph": {H}, "day": {"1"}}, "flat", ""), ({"g": {f"<{H}>"}}, "ntriples", "bd"),
        ({"g": {H}}, "ntriples", "d"), ({"day": {"2"}}, "flat", "bc"), ({"subject": {"a:1"}}, "flat", "abcd"),
        ({"graph": {None}}, "flat", "cd"),
    ],
)  # fmt: skip
def test_files_that_cannot_have_rows_are_left_out(tree: Path, wanted: Any, layout: Any, names: str) -> None:
    places = Directories((str(tree),), columns=("day",))
    allowed = [file.name[0] for file in find_files(tree) if places.allows(file.path, layout, wanted)]
    assert "".join(sorted(allowed)) == names


# ---- the data source

def load(path: Path, schema: str | None = None, **options: str) -> list[tuple[Any, ...]]:
    """The rows that Spark gets, without a JVM."""
    pytest.importorskip("pyspark")
    from pyspark.sql.types import StringType, StructType

    from jelly.spark._source import JellyDataSource

    source = JellyDataSource({"path": str(path), **options})
    names = StructType()
    for name in schema.split(", ") if schema else ():
        names.add(name, StringType())
    reader = source.reader(names if schema else source.schema())
    batches = (batch for task in reader.partitions() for batch in reader.read(task))
    return sorted((tuple(row.values()) for batch in batches for row in batch.to_pylist()), key=str)


ROWS = [("a:1", G, "1"), ("a:2", G, "1"), ("a:3", H, "2"), ("a:4", H, "2"), ("a:5", None, "2"), ("a:6", G, None)]


def test_directories_can_be_columns(tree: Path) -> None:
    assert load(tree, columns="subject, graph", partitionColumns="day") == ROWS
    assert load(tree, "day, subject", partitionColumns="day")[0] == ("1", "a:1")
    assert load(tree / "day=2", columns="day", partitionColumns="day") == [(None,)] * 3
    assert load(tree / "day=2", columns="day", partitionColumns="day", basePath=str(tree)) == [("2",)] * 3
    (tree / "day=1" / "broken.nt").write_text("?\n")
    day = load(tree, columns="day", partitionColumns="day", mode="PERMISSIVE")
    assert [row for row in day if row[1]] == [("1", day[0][1])]


def test_an_option_chooses_directories(tree: Path) -> None:
    chosen = json.dumps({"day": ["2", "3"], "graph": H})
    assert load(tree, columns="subject", partitionFilter=chosen) == [("a:3",), ("a:4",)]
    assert load(tree, columns="subject", partitionFilter='{"day": "9"}') == []
    with pytest.raises(FileNotFoundError, match="PATH_NOT_FOUND"):
        load(tree / "none", partitionFilter='{"day": "9"}')


def test_filters_choose_files(tree: Path) -> None:
    pytest.importorskip("pyspark")
    from pyspark.sql.datasource import EqualTo, In

    from jelly.spark._source import PushdownDataSource

    source = PushdownDataSource({"path": str(tree), "partitionColumns": "day"})

    def planned(*filters: Any) -> list[str]:
        made = source.reader(source.schema())
        assert list(made.pushFilters(list(filters))) == list(filters)
        assert not filters or made.pushLimit(1) is False
        return sorted(part.file.name for task in made.partitions() for part in task.value)

    assert planned() == ["a.nt", "b.nq", "c.nt", "d.nq"]
    assert planned(EqualTo(("graph",), H)) == ["b.nq", "d.nq"]
    assert planned(In(("graph",), (H, G)), EqualTo(("day",), "1")) == ["a.nt"]
    assert planned(EqualTo(("graph",), H), EqualTo(("graph",), G)) == ["d.nq"]


def test_directories_in_spark(spark: Any, tree: Path) -> None:
    """The rows are those that Spark finds in the directories that it writes itself."""
    parquet = str(tree / "_parquet")
    made = spark.createDataFrame(ROWS, "subject string, graph string, day string").coalesce(1)
    made.write.partitionBy("day", "graph").parquet(parquet)
    places = Directories((parquet,))
    told = {(places.values(str(path)).get("graph"), places.values(str(path)).get("day"))
            for path in Path(parquet).rglob("*.parquet")}  # fmt: skip
    assert told == {row[1:] for row in ROWS}
    try:
        jelly.spark.register(spark, pushdown=True)
        # A broken file that no row can come from is not opened.
        (tree / "day=2" / H_NAME / "broken.nt").write_text("what is this?\n")
        df = spark.read.format("jelly").options(columns="subject, graph", partitionColumns="day").load(str(tree))
        assert df.columns == ["subject", "graph", "day"]
        assert sorted(map(tuple, df.where(f"graph = '{G}'").collect()), key=str) == [ROWS[0], ROWS[1], ROWS[5]]
        assert df.where(f"day = '1' and graph in ('{H}', 'x')").collect() == []
    finally:
        for kind in ("filter", "limit"):
            spark.conf.set(f"spark.sql.python.{kind}Pushdown.enabled", "false")
        jelly.spark.register(spark)


def test_a_limit_reads_little(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    from jelly.spark._source import JellyDataSource, PushdownDataSource

    path = put(tmp_path / "x.nt", *(f"<a:{i}> <a:p> <a:o>" for i in range(100_000)))
    with path.open("a") as file:
        file.write("broken, but far away\n")
    source = PushdownDataSource({"path": str(path)})
    made = source.reader(source.schema())
    assert made.pushLimit(20_000) is True
    [task] = made.partitions()
    assert [len(batch) for batch in made.read(task)] == [BATCH_ROWS, BATCH_ROWS, 20_000 - 2 * BATCH_ROWS]
    assert made.pushLimit(3) is True
    assert [len(batch) for batch in made.read(task)] == [3]
    # Where filters are off, Spark may refuse this too.
    plain = JellyDataSource({"path": str(path)})
    assert not hasattr(plain.reader(plain.schema()), "pushLimit")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partitionColumns": "graph"}, "partitionColumns is 'graph': expected a name that no other column has"),
        ({"partitionColumns": "day,day"}, "expected a name that no other"),
        ({"partitionFilter": "[1]"}, "partitionFilter must be a JSON object of strings"),
        ({"partitionFilter": '{"day": 1}'}, "partitionFilter must be a JSON object of strings"),
        ({"partitions": "some"}, "partitions is 'some'"),
        ({"blankNodes": "skolemize"}, "set skolemBase to one, such as"),
        ({"skolemBase": "x"}, "skolemBase is 'x'"),
        ({"columns": "day"}, "unknown columns 'day'"),
    ],
)
def test_bad_options_are_refused(tmp_path: Path, options: dict[str, str], message: str) -> None:
    pytest.importorskip("pyspark")
    from jelly.spark._source import JellyDataSource

    with pytest.raises(jelly.JellyOptionsError, match=message):
        JellyDataSource({"path": str(tmp_path), **options}).schema()


def test_other_data_sources_have_no_such_directories(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    from jelly.spark._source import PatchDataSource

    with pytest.raises(jelly.JellyOptionsError, match="jelly-patch has no option basePath"):
        PatchDataSource({"path": str(tmp_path), "basePath": "x"}).schema()


def test_errors_name_the_options_of_spark(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    from jelly.spark._source import JellyDataSource

    options = jelly.StreamOptions(generalized_statements=True)
    generalized = [jelly.Triple(jelly.Literal("x"), jelly.IRI("a:p"), jelly.Literal("y"))]  # type: ignore[arg-type]
    jelly.write(tmp_path / "a.jelly", generalized, options)
    put(tmp_path / "b.nt", "@prefix ex: <a:b>")
    put(tmp_path / "c.x", "<a:s> <a:p> <a:o>")

    def told(name: str, **given: str) -> str:
        source = JellyDataSource({"path": str(tmp_path / name), **given})
        made = source.reader(source.schema())
        with pytest.raises(jelly.JellyError) as caught:
            list(made.read(made.partitions()[0]))
        return str(caught.value)

    assert 'use option("layout", "ntriples")' in told("a.jelly")
    assert 'it looks like Turtle: read it with option("format", "ttl")' in told("b.nt")
    source = JellyDataSource({"path": str(tmp_path / "b.nt"), "mode": "PERMISSIVE"})
    made = source.reader(source.schema())
    [batch] = made.read(made.partitions()[0])
    assert "expected a term" in batch.column("_corrupt_record")[0].as_py()
