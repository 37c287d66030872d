"""Functions for SQL: they tell of terms what the columns of the flat layout do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import jelly
import jelly.spark

XSD, RDF = "http://www.w3.org/2001/XMLSchema#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TEXT = r'''
<a:s> <a:p> <a:o> .
_:b <a:p> _:c .
<a:s> <a:p> "a\n\"b\" .\\" .
<a:s> <a:p> "7"^^<http://www.w3.org/2001/XMLSchema#int> .
<a:s> <a:p> "é"@en-GB .
<a:s> <a:p> "y"@ar--rtl .
<a:s> <a:p> <<( <a:s> <a:p> "z"@en )>> .
'''


@pytest.fixture
def terms(spark: Any, tmp_path: Path) -> Path:
    jelly.spark.register(spark, functions=True)
    path = tmp_path / "terms.nt"
    path.write_text(TEXT)
    read = spark.read.format("jelly").option("blankNodes", "keep").option("layout", "ntriples")
    read.load(str(path)).createOrReplaceTempView("terms")
    return path


def test_functions_of_terms(spark: Any, terms: Path) -> None:
    rows = spark.sql(
        "select o, is_iri(o) i, is_blank(o) b, is_literal(o) l, lexical(o) x, lang(o) y, datatype(o) d, "
        "term_id(o) n from terms"
    ).collect()
    assert [(row.i, row.b, row.l, row.x, row.y, row.d) for row in rows] == [
        (True, False, False, None, None, None),
        (False, True, False, None, None, None),
        (False, False, True, 'a\n"b" .\\', None, XSD + "string"),
        (False, False, True, "7", None, XSD + "int"),
        (False, False, True, "é", "en-GB", RDF + "langString"),
        (False, False, True, "y", "ar--rtl", RDF + "dirLangString"),
        (False, False, False, None, None, None),
    ]
    assert [row.n for row in rows] == [jelly.spark.term_id(row.o) for row in rows]


def test_functions_of_null_and_of_what_is_no_term(spark: Any, terms: Path) -> None:
    names = ("is_iri", "is_blank", "is_literal", "lexical", "lang", "datatype", "term_id")
    columns = ", ".join(f"{name}(t)" for name in names)
    [row] = spark.sql(f"select {columns} from values (cast(null as string)) as v(t)").collect()
    assert tuple(row) == (None,) * len(names)
    for bad in ("""'"open'""", """'<a:o> . <a:s> <a:p> <a:o>'""", r"'<a:o> .\n<a:s> <a:p> <a:o>'", "''"):
        with pytest.raises(Exception, match=r"jelly\.Jelly\w*Error"):
            spark.sql(f"select term_id(t) from values ({bad}) as v(t)").collect()


def test_messages(spark: Any, terms: Path) -> None:
    value = jelly.dumps([jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"))])
    spark.createDataFrame([(value,)], "value binary").createOrReplaceTempView("messages")
    [row] = spark.sql(
        "select from_jelly(to_jelly(from_jelly(value))) m, from_ntriples('<a:s> <a:p> <a:o> .') n from messages"
    ).collect()
    assert row.m == row.n
    assert [statement.object for statement in row.m] == ["a:o"]


def test_columns_of_large_types(spark: Any, terms: Path) -> None:
    """A setting of Spark for more than 2 GB of text in a batch."""
    from pyspark.sql import functions as F

    there_and_back = "from_jelly(to_jelly(from_ntriples('<a:s> <a:p> ' || o || ' .')))"
    query = f"select is_iri(o), lexical(o), lang(o), datatype(o), term_id(o), {there_and_back} m from terms"
    wanted = spark.sql(query).collect()
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        assert spark.sql(query).collect() == wanted
        values = spark.sql("select o, to_jelly(from_ntriples('<a:s> <a:p> <a:o> .')) v from terms")
        labelled = values.select(F.size(jelly.spark.from_jelly("v", label="o"))).collect()
        assert [row[0] for row in labelled] == [1] * 7
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")


def test_a_table_of_files(spark: Any, terms: Path) -> None:
    found = spark.sql(f"select * from read_jelly('{terms}')").drop("graph").where("object_kind = 'literal'")
    assert found.count() == 4
    assert spark.sql(f"select * from read_jelly('{terms.parent}/*.nt')").count() == 7
    with pytest.raises(Exception, match="PATH_NOT_FOUND"):
        spark.sql(f"select * from read_jelly('{terms.parent}/nowhere')").collect()
    (terms.parent / "empty").mkdir()
    with pytest.raises(Exception, match="there are no files to read"):
        spark.sql(f"select * from read_jelly('{terms.parent}/empty')").collect()


def test_errors_of_messages_name_a_label(spark: Any) -> None:
    rows = spark.createDataFrame([("k1", 7, b"\x99broken")], "key string, offset long, value binary")
    label = "struct(key, offset)"
    from pyspark.sql.functions import expr

    for headers in (None, expr("cast(null as array<struct<key: string, value: binary>>)")):
        made = rows.select(jelly.spark.from_jelly("value", label=expr(label), headers=headers))
        with pytest.raises(Exception, match=r"value 0 of from_jelly in partition \d+ \(\{k1, 7\}\)"):
            made.collect()
    with pytest.raises(Exception, match=r"in partition \d+ \(k1\)"):
        rows.select(jelly.spark.from_jelly("value", label="key")).collect()


def test_errors_are_short(spark: Any, tmp_path: Path) -> None:
    """The trace of Spark has one frame of this package, where the reason was found."""
    jelly.spark.register(spark)
    with pytest.raises(Exception, match="no such file") as caught:
        spark.read.format("jelly").load(f"{tmp_path}/nowhere").collect()
    # Spark Connect adds the trace of its server.
    lines = str(caught.value).partition("\n\nJVM stacktrace:")[0].splitlines()
    assert len(lines) <= 6
    assert "nowhere" in lines[-2]
