"""Descriptions of data sets in VoID and DCAT, counted by Spark."""

from __future__ import annotations

import uuid
from collections import defaultdict
from typing import Any

from jelly._core.base.constants import DIR_LANG_STRING_IRI, LANG_STRING_IRI, RDF, XSD_STRING_IRI
from jelly._options.limits import default
from jelly._options.settings import checked
from jelly._tools.describe import ClassPartition, Description, Linksets, PropertyPartition, of_partitions
from jelly._tools.partitions import refuse_more
from jelly.errors import JellyOptionsError, need

with need("spark-local", "Spark needs pyspark 4.1"):
    from pyspark.sql import Column, DataFrame, functions

# Functions of Spark that are missing in the types of PySpark.
F: Any = functions

__all__ = ["describe"]

# The scope of the union of all graphs, and the class of all statements: no term is written so.
_ALL = ""
_TYPE = f"<{RDF}type>"
_PARTITION = ("scope", "class", "p")


@checked({"max_partitions"})
def describe(
    statements: DataFrame,
    *,
    iri: str | None = None,
    title: str = "data set",
    linksets: bool = False,
    max_partitions: int | None = None,
) -> Description:
    """Describe a data set: what `jelly.describe` tells of files, counted by executors.

    Parameters
    ----------
    statements : DataFrame
        Statements with the columns of the layout "ntriples": ``s``, ``p``, ``o`` and perhaps ``g``.
    iri : str, optional
        IRI of the data set. By default a UUID that depends on the figures.
    title : str, default "data set"
        Its title.
    linksets : bool, default False
        See `jelly.describe`.
    max_partitions : int, optional
        See `jelly.describe`. They are collected by the driver.

    Raises
    ------
    JellyOptionsError
        If the columns are others.
    JellyLimitError
        There are more partitions.

    Examples
    --------
    >>> def classes(spark):
    ...     statements = spark.read.format("jelly").option("layout", "ntriples").load("data")
    ...     return describe(statements).graph.classes
    """
    if not {"s", "p", "o"} <= set(statements.columns):
        raise JellyOptionsError(f'expected the columns of layout="ntriples", found {", ".join(statements.columns)}')
    limit = default("max_partitions") if max_partitions is None else max_partitions
    parts = [F.col(name) for name in ("s", "p", "o")]
    rows = statements.select(F.lit(_ALL).alias("scope"), *parts)
    if "g" in statements.columns:
        rows = rows.union(statements.where("g is not null").select(F.col("g").alias("scope"), *parts))
    rows = rows.distinct().persist()
    try:
        return _description(rows, iri, title, linksets, limit)
    finally:
        rows.unpersist()


def _description(rows: DataFrame, iri: str | None, title: str, linksets: bool, limit: int) -> Description:
    spaces = rows.where(F.col("p") != _TYPE).select("scope", "p", *(_space(F.col(end)).alias(end) for end in "so"))
    typed = rows.where((F.col("p") == _TYPE) & _is_iri(F.col("o"))).select("scope", "s", F.col("o").alias("class"))
    # Each statement, and again for each class of its subject.
    rows = rows.withColumn("class", F.lit(_ALL)).unionByName(rows.join(typed, ["scope", "s"]))
    targets = typed.select("scope", F.col("s").alias("o"), F.col("class").alias("target"))

    def collected(counts: DataFrame) -> list[Any]:
        found = counts.limit(limit + 1).collect()
        refuse_more(len(found), limit)
        return sorted(found)

    classes: dict[str, dict[str, ClassPartition]] = defaultdict(dict)
    properties: dict[str, dict[str, PropertyPartition]] = defaultdict(dict)
    kinds: dict[str, tuple[dict[str, int], dict[str, int]]] = {_ALL: ({}, {})}
    partitions: dict[tuple[str, ...], PropertyPartition] = {}
    for scope, name, n in collected(typed.groupBy("scope", "class").agg(F.countDistinct("s"))):
        classes[scope][_name(name)] = ClassPartition(n)
    figures = rows.groupBy(*_PARTITION).agg(F.count("*"), F.countDistinct("s"), F.countDistinct("o"))
    for scope, of, p, *counts in collected(figures):
        here = classes[scope][_name(of)].properties if of else properties[scope]
        here[_name(p)] = partitions[scope, of, p] = PropertyPartition(*counts)
    tag, datatype = (F.regexp_extract("o", pattern, 1) for pattern in ('"@([^"]*)$', r'"\^\^<([^"]*)>$'))
    literals = rows.where(F.col("o").startswith('"')).groupBy(*_PARTITION, tag.alias("tag"), datatype.alias("datatype"))
    for scope, of, p, language, kind, n in collected(literals.count()):
        partition = partitions[scope, of, p]
        if language:
            partition.languages[language] = n
            kind = DIR_LANG_STRING_IRI if "--" in language else LANG_STRING_IRI
        kind = kind or XSD_STRING_IRI
        partition.datatypes[kind] = partition.datatypes.get(kind, 0) + n
    for scope, of, p, target, n in collected(rows.join(targets, ["scope", "o"]).groupBy(*_PARTITION, "target").count()):
        partitions[scope, of, p].classes[_name(target)] = n
    for i, term in enumerate("so"):
        nodes = rows.select("scope", term).distinct().groupBy("scope", _kind(F.col(term)).alias("kind")).count()
        for scope, kind, n in collected(nodes):
            kinds.setdefault(scope, ({}, {}))[i][kind] = n
    links: dict[str, Linksets] = defaultdict(dict)
    if linksets:
        found = spaces.where('s != o and s != "" and o != ""').groupBy(*spaces.columns).count()
        for scope, p, s, o, n in collected(found):
            links[scope].setdefault(_name(p), {}).setdefault(s, {})[o] = n
    graph, *others = (
        of_partitions(classes[scope], properties[scope], *kinds[scope], links[scope]) for scope in sorted(kinds)
    )
    graphs = dict(zip(map(_name, sorted(kinds)[1:]), others, strict=True))
    return Description(
        iri or uuid.uuid5(uuid.NAMESPACE_OID, repr((graph, graphs))).urn, title, [], graph, graphs, {}
    )


def _is_iri(term: Column) -> Column:
    return term.startswith("<") & ~term.startswith("<<")


def _space(term: Column) -> Column:
    """The namespace of an IRI, as `jelly.describe` has it; "" for any other term."""
    found: Column = F.regexp_extract(term, "(?s)^<(?!<)(.*[/#]|[^/#]*:)", 1)
    return found


def _kind(term: Column) -> Column:
    kind: Column = (
        F.when(_is_iri(term), "iri").when(term.startswith("_:"), "bnode").when(term.startswith('"'), "literal")
        .otherwise("other")
    )  # fmt: skip
    return kind


def _name(term: str) -> str:
    """The text of an IRI, any other term in N-Triples syntax, as `jelly.describe` has them."""
    return term[1:-1] if term.startswith("<") and not term.startswith("<<") else term
