"""A description counted by Spark is that of `jelly.describe`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import jelly
import jelly.spark

TEXT = r"""
_:a <http://e/p> "x\"@en" .
<http://e/s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C> .
<http://e/s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/D> <http://e/g> .
<http://e/s> <http://e/p> <http://e/s> <http://e/g> .
<http://e/s> <http://e/p> <http://e/s> _:g .
<http://e/s> <http://e/p> "a"@en <http://e/g> .
<http://e/s> <http://e/p> "a"@ar--rtl .
<http://e/s> <http://e/q> "1"^^<http://www.w3.org/2001/XMLSchema#int> .
<http://e/s> <http://e/q> <<( <http://e/s> <http://e/p> "z" )>> .
_:a <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> _:c .
<http://e/t> <http://e/p> <http://e/s> .
<http://e/t> <http://e/p> <http://e/f#s> .
<http://e/t> <http://e/p> <urn:f:s> <http://e/g> .
<http://e/t> <http://e/p> <http://e/a\u2028b/s> .
"""


@pytest.fixture
def statements(spark: Any, tmp_path: Path) -> Any:
    jelly.spark.register(spark)
    (tmp_path / "x.nq").write_text(TEXT)
    return spark.read.format("jelly").options(layout="ntriples", blankNodes="keep").load(str(tmp_path))


def test_all_figures(statements: Any) -> None:
    found = jelly.spark.describe(statements, title="x.nq", linksets=True)
    wanted = jelly.describe(TEXT.encode(), format="nq", linksets=True)
    assert wanted.graph.linksets
    assert found.graph == wanted.graph
    assert found.graphs == wanted.graphs
    assert (found.title, found.iri[:9], len(found.to_turtle()) > 1000) == ("x.nq", "urn:uuid:", True)


def test_names_in_double_quotes(spark: Any, statements: Any) -> None:
    """As in standard SQL, where a text is in single quotes."""
    wanted = jelly.spark.describe(statements, linksets=True)
    spark.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
    try:
        assert jelly.spark.describe(statements, linksets=True).graph == wanted.graph
    finally:
        spark.conf.unset("spark.sql.ansi.doubleQuotedIdentifiers")


def test_other_columns_and_too_many_partitions(spark: Any, statements: Any) -> None:
    with pytest.raises(jelly.JellyOptionsError, match='expected the columns of layout="ntriples", found subject, x'):
        jelly.spark.describe(spark.createDataFrame([], "subject string, x string"))
    with pytest.raises(jelly.JellyLimitError, match="raise max_partitions"):
        jelly.spark.describe(statements, max_partitions=2)
