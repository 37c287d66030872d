"""The layout "typed": columns of values beside the lexical forms, against values that Python makes."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chance import examples
from support.typed_values import COLUMNS, FORMS, XSD, value

import jelly

pa = pytest.importorskip("pyarrow")
from jelly._options.layouts import VALUES  # noqa: E402


def statements(pairs):
    return [
        jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal(text, datatype=XSD + datatype))
        for text, datatype in pairs
    ]


def check(pairs, **settings):
    table = jelly.scan(jelly.dumps(statements(pairs))).to_arrow(typed=True, **settings).read_all()
    assert table["object"].to_pylist() == [text for text, _ in pairs]
    for row, (text, datatype) in zip(table.to_pylist(), pairs, strict=True):
        wanted = value(text, datatype)
        column = COLUMNS.get(datatype)
        if column == "timestamp" and wanted is not None and wanted.tzinfo is None:
            column = "timestamp_ntz"
        got = {name: row[name] for name in VALUES if row[name] is not None}
        if wanted is None:
            assert got == {}, (text, datatype)
        else:
            assert repr(got) == repr({column: got[column]})
            assert got[column] == wanted or wanted != wanted, (text, datatype)


def test_each_form_as_each_datatype():
    pairs = [(text, datatype) for text in FORMS for datatype in (*COLUMNS, "string", "gYear", "duration")]
    check(pairs)
    check(pairs, dictionary=True)


@given(st.lists(st.tuples(st.sampled_from(FORMS) | st.text(max_size=6), st.sampled_from([*COLUMNS, "string", "time"]))))
@examples(60)
def test_values_are_those_of_python(pairs):
    check(pairs)


def test_many_forms_that_only_the_cast_refuses_take_little_time():
    data = jelly.dumps(statements([("2023-02-29", "date"), ("2024-02-29", "date")] * 50_000))
    table = jelly.scan(data).to_arrow(columns=["date"], typed=True).read_all()
    assert table["date"].null_count == 50_000


def test_only_the_columns_asked_for_in_their_order():
    data = jelly.dumps(statements([("1", "integer")]))
    made = jelly.read_arrow(data, layout="typed", columns=["bigint", "subject", "frame"]).read_all()
    assert made.to_pylist() == [{"bigint": 1, "subject": "a:s", "frame": 0}]
    with pytest.raises(jelly.JellyArgumentError, match="unknown columns 'bigint'"):
        jelly.read_arrow(data, columns=["bigint"])


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows", "csv"])
def test_files_with_values_are_read_again(tmp_path, suffix):
    given_statements = statements([("007", "integer"), ("2024-02-29", "date"), ("x", "string")])
    path = str(tmp_path / f"typed.{suffix}")
    jelly.scan(jelly.dumps(given_statements)).write(path, layout="typed")
    assert list(jelly.read(path)) == given_statements
    plain = str(tmp_path / f"plain.{suffix}")
    jelly.write(plain, given_statements)
    jelly.convert(plain, path, layout="typed")  # of a table, too
    assert set(VALUES) < set(jelly.scan(path).to_arrow(typed=True).read_all().column_names)
    assert list(jelly.read(path)) == given_statements
    assert jelly.write_arrow(io.BytesIO(), jelly.read_arrow(path, layout="typed")) == 3


def test_duckdb_and_polars_ask_for_values():
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    data = jelly.dumps(statements([("1", "integer"), ("5", "integer"), ("x", "integer"), ("7", "string")]))
    ages = jelly.scan(data, layout="typed")  # noqa: F841 - DuckDB finds it by its name
    assert duckdb.sql("select sum(bigint), count(*) from ages where bigint > 1").fetchall() == [(5, 1)]
    from jelly.polars import scan_jelly

    frame = scan_jelly(data, layout="typed").filter(polars.col("bigint") < 5).collect()
    assert frame["object"].to_list() == ["1"]


def test_patches_have_them_too():
    data = b'A <a:s> <a:p> "1"^^<http://www.w3.org/2001/XMLSchema#int> .\n'
    made = jelly.read_arrow(data, format="rdfp", content="patches", layout="typed").read_all()
    assert made.select(["op", "bigint"]).to_pylist() == [{"op": "add", "bigint": 1}]
