"""`jelly.scan` and `jelly.polars.scan_jelly` with the real libraries, against the whole table."""

from __future__ import annotations

import pickle
import random

import pytest
from support import measure

import jelly
from jelly import IRI, BlankNode, Literal, Quad

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    dice = random.Random(3)
    objects = [IRI("a:p1"), Literal("a:p1"), Literal('q"\\'), Literal("é"), BlankNode("x"), Literal("x", language="en")]
    rows = [
        Quad(IRI(f"a:s{dice.randrange(20)}"), IRI(f"a:p{dice.randrange(5)}"), dice.choice(objects),
             dice.choice([None, IRI("a:g")]))
        for _ in range(3000)
    ]  # fmt: skip
    name = tmp_path_factory.mktemp("scan") / "x.jelly"
    jelly.write(name, rows)
    return str(name)


@pytest.fixture
def pushed(monkeypatch):
    """The conditions that were decided on numbers of terms."""
    from jelly._dataset import arrow_dataset as dataset

    seen: list[tuple[str, tuple[str, ...]]] = []
    where = dataset.where

    def noted(name, values):
        seen.append((name, tuple(values)))
        return where(name, values)

    monkeypatch.setattr(dataset, "where", noted)
    return seen


def filters():
    predicate, object_ = pc.field("predicate"), pc.field("object")
    return [
        (predicate == "a:p1", True), (predicate == "none", True), (object_ == "a:p1", True), (object_ == "_:x", True),
        ((predicate == "a:p1") & (object_ == "a:p1"), True), ((predicate == "a:p1") & (predicate == "a:p2"), True),
        (predicate.isin(["a:p1", "a:p3"]), True), (object_ == 'q"\\', True), (predicate != "a:p1", None),
        ((predicate == "a:p1") & pc.field("graph").is_null(), True), ((predicate == "a:p1") & (object_ > "b"), True),
        ((predicate == "a:p1") | (object_ == "a:p1"), False), (~(predicate == "a:p1"), False),
        ((predicate == "a:p1") & (pc.field("lang") == "en"), True), (pc.field("graph").is_null(), None),
        (pc.field("graph") == "a:g", True), (pc.field("graph").is_valid(), None),
        (object_ == ") and (predicate == ", True), (object_ == "é", None),
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(19))
def test_filters_give_the_rows_of_the_whole_table(number, path, pushed):
    filter, is_pushed = filters()[number]
    whole = jelly.read_arrow(path).read_all()
    data = jelly.scan(path)
    expected = whole.filter(filter)
    assert data.to_table(filter=filter).equals(expected)
    if is_pushed is not None:
        assert bool(pushed) == is_pushed
    assert data.to_table(["lang", "subject"], filter).equals(expected.select(["lang", "subject"]))
    assert data.count_rows(filter) == len(expected)
    assert data.head(7, ["object"], filter).equals(expected.select(["object"]).slice(0, 7))
    assert data.scanner(columns=["object"], filter=filter).to_table().equals(expected.select(["object"]))


def test_a_scan_is_a_stream_and_a_dataset(path):
    data = jelly.scan([path, path], layout="ntriples", blank_nodes="keep")
    assert data.schema.names == ["s", "p", "o", "g"]
    assert pa.table(data).num_rows == data.count_rows() == 6000
    assert data.to_table([]).num_columns == 0
    assert data.head(0).num_rows == 0
    assert pickle.loads(pickle.dumps(data)).count_rows(pc.field("p") == "<a:p1>") == data.count_rows(
        pc.field("p") == "<a:p1>"
    )
    for name in ("take", "join", "sort_by", "get_fragments", "replace_schema"):
        assert not hasattr(data, name)
    with pytest.raises(AttributeError, match="to_table"):
        _ = data.partition_expression


@pytest.mark.parametrize(
    ("query", "is_pushed"),
    [
        ("select * from data order by all", False),
        ("select count(*) from data", False),
        ("select object, graph from data where predicate = 'a:p1' order by all", True),
        ("select subject, count(*) from data where predicate in ('a:p1', 'a:p2') group by 1 order by 1", True),
        ("select count(*) from data where predicate = 'a:p1' and object = 'a:p1' and graph is null", True),
        ("select count(*) from data where subject > 'a:s15' or object like '%x'", False),
    ],
)
def test_duckdb_reads_a_scan_by_its_name(query, is_pushed, path, pushed):
    duckdb = pytest.importorskip("duckdb")
    data = jelly.read_arrow(path).read_all()
    expected = duckdb.sql(query).fetchall()
    data = jelly.scan(path)
    assert duckdb.sql(query).fetchall() == expected
    if is_pushed and not (" in (" in query and duckdb.__version__.startswith("1.4.")):  # which says OR
        assert pushed
    assert len(data.schema.names) == 7


def test_polars_pushes_down(path, pushed):
    pl = pytest.importorskip("polars")
    from jelly.polars import scan_jelly

    whole = pl.DataFrame(pl.from_arrow(jelly.read_arrow(path).read_all()))
    predicate, object_ = pl.col("predicate"), pl.col("object")
    for filter, is_pushed in [
        (predicate == "a:p1", True), (pl.lit("a:p1") == predicate, True), (predicate.is_in(["a:p1", "a:p4"]), True),
        ((predicate == "a:p1") & (object_ == "a:p1") & (pl.col("subject") > "a:s15"), True),
        ((predicate == "a:p1") | (object_ == "a:p1"), False), (predicate != "a:p1", False),
        (predicate.str.ends_with("1"), False), (pl.col("graph").is_null(), False), (object_ == 'q"\\', True),
        (predicate == object_, False), (object_.str.len_bytes() == 1, False),
    ]:  # fmt: skip
        pushed.clear()
        lazy = scan_jelly(path).filter(filter)
        assert lazy.collect().equals(whole.filter(filter)), filter
        assert bool(pushed) == is_pushed, filter
        assert lazy.select("lang").collect().equals(whole.filter(filter).select("lang"))
        assert lazy.head(5).select("object", "graph").collect().equals(whole.filter(filter).head(5)["object", "graph"])
    assert scan_jelly(path).collect().equals(whole)
    assert scan_jelly(path).select(pl.len()).collect().item() == 3000
    assert scan_jelly([path, path], blank_nodes="keep").head(4000).collect().height == 4000


def test_a_limit_reads_no_more_than_it_needs():
    pytest.importorskip("polars")
    from jelly.polars import scan_jelly

    def chunks():
        yield b"<a:s> <a:p> <a:o> .\n" * 100_000
        raise AssertionError("read too far")

    assert scan_jelly(chunks(), format="nt").head(3).collect().height == 3
    assert jelly.scan(chunks(), format="nt").head(3).num_rows == 3


@pytest.mark.parametrize("dictionary", [False, True])
def test_read_arrow_with_a_pattern(dictionary, path, tmp_path):
    indexed = tmp_path / "y.jelly"
    jelly.write(indexed, jelly.read(path), seekable=True)
    pattern = jelly.Pattern(p=["a:p1", "a:p2"], o=jelly.LanguageRange("*"))
    columns = ["row", "subject", "predicate", "object", "lang", "graph"]
    whole = jelly.read_arrow(path, columns=columns).read_all()
    expected = whole.filter(pc.field("predicate").isin(["a:p1", "a:p2"]) & pc.field("lang").is_valid())
    assert 0 < len(expected) < len(whole)
    for settings in ({}, {"threads": 2}, {"batch_rows": 7}, {"start": 500, "stop": 1500}):
        found = jelly.read_arrow(indexed, columns=columns, dictionary=dictionary, filter=pattern, **settings).read_all()
        rows = expected.to_pylist()[:]
        if "start" in settings:
            rows = [row for row in rows if 500 <= row["row"] < 1500]
        assert found.to_pylist() == rows


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_give_the_same_table(path, tmp_path, threads):
    indexed = tmp_path / "indexed.jelly"
    jelly.convert(path, indexed, seekable=True, options={"stream_name": "x"})
    data = jelly.scan([path, indexed, path], threads=threads)
    assert data.to_table().equals(jelly.scan([path, indexed, path]).to_table())
    assert data.head(5).num_rows == 5
    assert pickle.loads(pickle.dumps(data))._threads == threads
    given = jelly.scan([path, indexed, path])
    batches = given.batches(threads)
    assert batches._dataset._threads == threads
    assert [statement for batch in batches for statement in batch] == [*given]


def test_pandas_takes_what_is_asked_for(path):
    pytest.importorskip("pandas")
    whole = jelly.read_arrow(path).read_all()
    wanted = {"columns": ["object", "lang"], "filter": jelly.Pattern(p="a:p1")}
    expected = whole.filter(pc.field("predicate") == "a:p1").select(["object", "lang"])
    frame = jelly.read_arrow(path, **wanted).read_pandas()
    assert frame.equals(expected.to_pandas())
    few = jelly.read_arrow(path, dictionary=True, **wanted).read_all().unify_dictionaries().to_pandas()
    assert str(few.dtypes["object"]) == "category"
    assert few.astype("object").where(few.notna(), None).values.tolist() == (
        frame.astype("object").where(frame.notna(), None).values.tolist()
    )
    condition = (pc.field("predicate") == "a:p1") & (pc.field("object") > "a")
    assert jelly.scan(path).to_table(filter=condition).to_pandas().equals(whole.filter(condition).to_pandas())


def test_pyarrow_is_imported_when_it_is_needed() -> None:
    code = """
import pickle, sys
import jelly
data = jelly.scan(b'<a:s> <a:p> <a:o> .\\n<a:s> <a:q> <a:o> .', format="nt")
chosen = data.filter(p="a:q")
assert (data.count(), chosen.count(), len(list(data[1:]))) == (2, 1, 1)
assert "pyarrow" not in sys.modules and not hasattr(data, "take")
assert data.schema.names[0] == "subject" and "pyarrow" in sys.modules
assert pickle.loads(pickle.dumps(data)).to_table().num_rows == 2
import duckdb
assert duckdb.sql("select object from data where predicate = 'a:p'").fetchall() == [("a:o",)]
assert duckdb.sql("select predicate from chosen").fetchall() == [("a:q",)]
"""
    done = measure.run("-c", code)
    assert done.returncode == 0, done.stderr
