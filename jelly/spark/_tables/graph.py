"""Vertices and edges with numbers, as GraphFrames takes them, made from tables of statements."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jelly._options.settings import checked
from jelly.errors import JellyError, JellyOptionsError, MissingExtraError

__all__ = ["graph_tables", "graphframe"]

_TERM = ("kind", "value", "datatype", "lang")


@checked()
def graphframe(df: DataFrame, terms: DataFrame | None = None, *, literals: bool = False) -> Any:
    """Make a GraphFrame of a table of statements.

    Parameters
    ----------
    df : DataFrame
        Statements, see `graph_tables`.
    terms : DataFrame, optional
        The table ``terms``, if ``df`` is ``triples`` of the layout "ids".
    literals : bool, default False
        Make vertices of literals, too.

    Raises
    ------
    MissingExtraError
        If graphframes is not installed.
    JellyError
        If Spark runs without the jar of GraphFrames.
    JellyOptionsError
        If the columns are not those of a table of statements.

    Examples
    --------
    >>> def rank(spark):
    ...     graph = graphframe(spark.read.format("jelly").load("data"))
    ...     return graph.pageRank(resetProbability=0.15, maxIter=20).vertices.orderBy("pagerank", ascending=False)
    """
    try:
        from graphframes import GraphFrame
    except ImportError as error:
        raise MissingExtraError(
            f"a GraphFrame needs graphframes ({error}): python -m pip install 'jelly-rdf[graph]'; "
            "graph_tables gives its vertices and edges without it"
        ) from None
    vertices, edges = graph_tables(df, terms, literals=literals)
    try:
        return GraphFrame(vertices, edges)
    except Exception as error:
        if "ClassNotFoundException: org.graphframes" not in str(error):
            raise
        raise JellyError(
            "Spark runs without the jar of GraphFrames: start the session with spark.jars.packages set to "
            "io.graphframes:graphframes-spark4_2.13 and the version of the Python package graphframes-py"
        ) from None


@checked()
def graph_tables(
    df: DataFrame, terms: DataFrame | None = None, *, literals: bool = False
) -> tuple[DataFrame, DataFrame]:
    """Make tables of the vertices and edges of the graph that statements are.

    Parameters
    ----------
    df : DataFrame
        Statements: columns of the layouts "flat" or "ntriples", or the table ``triples`` of the layout "ids". Select
        the statements of a named graph before.
    terms : DataFrame, optional
        The table ``terms``, if ``df`` is ``triples``.
    literals : bool, default False
        Make vertices of literals, too. By default statements with literals are no edges; their subjects are vertices.

    Returns
    -------
    tuple of DataFrame
        Vertices: ``id`` (a number of 64 bits), ``kind`` (iri, bnode, triple or literal), ``value`` (as in the table),
        and with ``literals`` ``datatype`` and ``lang``, which the layout "ntriples" has in ``value``. Edges: ``src``,
        ``dst``, ``relationship`` (the predicate), one for each statement. The ids are those of ``terms``, else a hash
        of 64 bits for this graph. A query that uses the ids of vertices fails if two of them have the same id.

    Raises
    ------
    JellyOptionsError
        If the columns are not those of a table of statements, or ``terms`` is missing.

    Examples
    --------
    >>> def degrees(spark):
    ...     vertices, edges = graph_tables(spark.read.parquet("ids/triples"), spark.read.parquet("ids/terms"))
    ...     return edges.groupBy("src").count().join(vertices, edges.src == vertices.id).select("value", "count")
    """
    types = dict(df.dtypes)
    if types.get("subject") == types.get("object") == "bigint":
        return _of_ids(df, terms, literals)
    if {"subject", "predicate", "object", "object_kind"} <= types.keys():
        names, kind = ("subject", "predicate", "object"), F.col("object_kind")
    elif {"s", "p", "o"} <= types.keys():
        names, kind = ("s", "p", "o"), _kind("o")
    else:
        raise JellyOptionsError(
            f"the columns are {', '.join(types)}: expected those of the layout flat or ntriples, or of triples of ids"
        )
    subject, predicate, object = names
    extra = {name: F.col(name) if name in types else F.lit(None).cast("string") for name in _TERM[2:]}
    statements = df.select(
        _node(_kind(subject), F.col(subject)).alias("from"),
        F.col(predicate).alias("relationship"),
        _node(kind, F.col(object), **extra).alias("to"),
    ).select(_id("from").alias("src"), _id("to").alias("dst"), "relationship", "from", "to")
    edges = statements if literals else statements.where("to.kind <> 'literal'")
    nodes = statements.select(F.col("src").alias("id"), F.col("from").alias("node")).union(edges.select("dst", "to"))
    found = nodes.groupBy("id").agg(F.min("node").alias("node"), F.max("node").alias("other"))
    # In the id itself, so that no query leaves the test out.
    checked = F.when(F.col("node").eqNullSafe(F.col("other")), F.col("id")).otherwise(
        F.raise_error(F.concat(F.lit("two vertices have one id: "), F.to_json("node"), F.to_json("other")))
    )
    vertices = found.select(checked.cast("bigint").alias("id"), *(f"node.{name}" for name in _shown(literals)))
    return vertices, edges.select("src", "dst", "relationship")


def _shown(literals: bool) -> tuple[str, ...]:
    return _TERM if literals else _TERM[:2]


def _kind(name: str) -> Column:
    """The kind of a term, by what its value begins with."""
    value = F.col(name)
    return (
        F.when(value.startswith("_:"), "bnode")
        .when(value.startswith("<<"), "triple")
        .when(value.startswith('"'), "literal")
        .otherwise("iri")
    )


def _node(kind: Column, value: Column, **extra: Column) -> Column:
    none = F.lit(None).cast("string")
    rest = [extra.get(name, none).alias(name) for name in _TERM[2:]]
    return F.struct(kind.alias("kind"), value.alias("value"), *rest)


def _id(node: str) -> Column:
    # Nulls do not count in a hash: so none of its parts is null.
    return F.xxhash64(*(F.coalesce(F.col(f"{node}.{name}"), F.lit("")) for name in _TERM))


def _of_ids(df: DataFrame, terms: DataFrame | None, literals: bool) -> tuple[DataFrame, DataFrame]:
    if terms is None:
        raise JellyOptionsError("triples of ids need the table of their terms: graph_tables(triples, terms)")
    nodes = terms if literals else terms.where("kind <> 'literal'")
    edges = df if literals else df.join(nodes.select(F.col("id").alias("object")), "object", "left_semi")
    used = df.select(F.col("subject").alias("id")).union(edges.select("object")).distinct()
    vertices = nodes.join(used, "id", "left_semi").select("id", *_shown(literals))
    predicates = terms.join(df.select(F.col("predicate").alias("id")).distinct(), "id", "left_semi").select(
        F.col("id").alias("predicate"), F.col("value").alias("relationship")
    )
    named = edges.join(F.broadcast(predicates), "predicate")
    return vertices, named.select(F.col("subject").alias("src"), F.col("object").alias("dst"), "relationship")
