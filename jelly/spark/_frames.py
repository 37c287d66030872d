"""Functions on DataFrames of statements: tables of ids, predicates and classes, vertices and edges, descriptions.

Spark shuffles the rows; tasks turn record batches into columns.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any

from jelly._core.base.batch import Batch
from jelly._core.base.constants import RDF, XSD_STRING_IRI
from jelly._dataset.tables.profile import LARGE
from jelly._dataset.tables.wide import TYPE
from jelly._formats.arrow_input import InputTable, check_columns
from jelly._formats.arrow_tables import STRING, from_batches, pa
from jelly._options.layouts import LAYOUTS
from jelly._options.limits import default
from jelly._options.settings import checked
from jelly._tools.describe import Description, described
from jelly._tools.partitions import refuse_more
from jelly.errors import JellyError, JellyOptionsError, MissingExtraError, need
from jelly.spark._jobs import found_by, mapped
from jelly.spark._parts import BATCH_ROWS, Rows
from jelly.spark._tables import (
    JOINS,
    TERMS,
    TRIPLES,
    Join,
    Plan,
    Run,
    check_seed,
    first_of_each,
    runs,
    vertical_columns,
)

with need("spark-local", "Spark needs pyspark 4.1"):
    from pyspark.sql import DataFrame, functions

# Functions of Spark that are missing in the types of PySpark.
F: Any = functions

_PARTS = {name for layout in LAYOUTS.values() for name in layout.parts}


def _statements(df: DataFrame) -> DataFrame:
    """The columns of the layout flat, of statements in any layout."""
    layout = LAYOUTS[check_columns([name for name in df.columns if name in _PARTS])]
    flat = LAYOUTS["flat"].columns
    if layout.name == "ntriples" or layout.optional.keys() & df.columns:
        found = df.select(*(name for name in layout.parts if name in df.columns))
        return mapped(found, _flat, _ddl(dict.fromkeys(flat, STRING)))
    return df.selectExpr(*(name if name in df.columns else f"cast(null as string) as {name}" for name in flat))


def _flat(rows: Rows) -> Rows:
    yield from from_batches(_batches(rows))


def _batches(rows: Iterable[pa.RecordBatch]) -> Iterator[Batch]:
    for batch in rows:
        yield from InputTable(batch).batches(quads=True)


def _ddl(columns: dict[str, str]) -> str:
    return ", ".join(f"`{name}` {type}" for name, type in columns.items())


def _pieces(table: pa.Table) -> Rows:
    """The rows of a table, with the types that Spark has."""
    fields = [field.with_type(_small(field.type)) for field in table.schema]
    yield from table.cast(pa.schema(fields)).to_batches(max_chunksize=BATCH_ROWS)


def _small(type: pa.DataType) -> pa.DataType:
    if pa.types.is_list(type):
        return pa.list_(_small(type.value_type))
    return pa.string() if pa.types.is_large_string(type) else type


# ---- numbers for terms

@checked()
def to_ids(df: DataFrame, *, seed: int = 0) -> tuple[DataFrame, DataFrame]:
    """Make the tables ``triples`` and ``terms`` of statements, as the layout "ids" of `ingest` has them.

    Parameters
    ----------
    df : DataFrame
        Statements in the layout "flat" or "ntriples". Both tables are made of it: cache it if that is dear.
    seed : int, default 0
        A number that the ids depend on.

    Returns
    -------
    tuple of DataFrame
        ``subject, predicate, object, graph`` as numbers, a row for each statement, and ``id, kind, value, datatype,
        lang``, a row for each term. An id is that of `term_id`. A query that reads the terms fails if two of them have
        one id; another ``seed`` then helps.

    Raises
    ------
    JellyOptionsError
        If the columns are not those of a table of statements.

    Examples
    --------
    >>> def nodes(spark):
    ...     triples, terms = to_ids(spark.read.format("jelly").load("data"))
    ...     return triples.join(terms, triples.subject == terms.id).select("value").distinct()
    """
    check_seed(seed)
    rows = _statements(df)
    triples, terms = (
        _ddl({field.name: "bigint" if field.type == pa.int64() else STRING for field in schema})
        for schema in (TRIPLES, TERMS)
    )
    found = mapped(rows, partial(_of_runs, Run.terms, seed), terms).repartition("id").sortWithinPartitions("id")
    return mapped(rows, partial(_of_runs, Run.triples, seed), triples), mapped(found, _once, terms)


def _of_runs(make: Callable[[Run], pa.Table], seed: int, rows: Rows) -> Rows:
    for run in runs(_batches(rows), seed):
        yield from _pieces(make(run))


def _once(rows: Rows) -> Rows:
    """Each term once, of terms in the order of their ids."""
    last = TERMS.empty_table()
    for batch in rows:
        found = first_of_each(pa.concat_tables([last, pa.Table.from_batches([batch]).cast(TERMS)]))
        n = max(len(found) - 1, 0)
        yield from found.slice(0, n).to_batches()
        last = found.slice(n)
    yield from last.to_batches()


# ---- tables of predicates and classes

@checked()
def vertical(df: DataFrame) -> dict[str, DataFrame]:
    """Make a table for each predicate, as the layout "vertical" of `ingest` has them.

    Parameters
    ----------
    df : DataFrame
        Statements in the layout "flat" or "ntriples". They are read once to find the types, and again for each table:
        cache them if that is dear.

    Returns
    -------
    dict of DataFrame
        By predicate ``subject`` and ``object``, which has a type if all objects are literals of one datatype and their
        values fit. Else it is a string, with ``object_kind``, ``datatype`` and ``lang`` where the objects differ in
        them. With ``graph`` if some statements are in a named graph.

    Raises
    ------
    JellyOptionsError
        If the columns are not those of a table of statements.

    Examples
    --------
    >>> def oldest(spark):
    ...     ages = vertical(spark.read.format("jelly").load("data"))["http://xmlns.com/foaf/0.1/age"]
    ...     return ages.orderBy("object", ascending=False).first()
    """
    rows = _statements(df)
    plan = _planned(rows, JOINS["vertical"])
    make = partial(_tables, JOINS["vertical"], plan)
    return {
        predicate: mapped(rows.where(F.col("predicate") == predicate), make, _ddl(vertical_columns(profile)))
        for predicate, (_, profile) in plan.tables.items()
    }


@checked()
def wide(df: DataFrame, cls: str) -> DataFrame:
    """Make a table with a row for each subject of a class and a column for each predicate.

    It is the table that the layout "wide" of `ingest` has for the class.

    Parameters
    ----------
    df : DataFrame
        Statements in the layout "flat" or "ntriples". They are read, joined with the subjects of the class and
        shuffled twice: by the call, to find the columns, and by each query of the table. Cache them, and the table if
        it is used again. A task holds a partition of the subjects in memory.
    cls : str
        The IRI of the class.

    Returns
    -------
    DataFrame
        ``subject``, and the columns of the predicates that most subjects have, at most 1,000. Their names are the ends
        of the IRIs, their types those of `vertical`, or arrays of these where a subject has several objects. Kinds,
        datatypes and languages of strings are lost, and graphs do not count.

    Raises
    ------
    JellyOptionsError
        If the columns are not those of a table of statements, or no subject is of the class.

    Examples
    --------
    >>> def adults(spark):
    ...     people = wide(spark.read.format("jelly").load("data"), "http://xmlns.com/foaf/0.1/Person")
    ...     return people.where("age >= 18").select("name", "age")
    """
    rows = _statements(df)
    typed = rows.where(f"predicate = '{TYPE}' and object_kind = 'iri'")
    subjects = typed.where(F.col("object") == cls).select("subject").distinct()
    rows = rows.join(subjects, "subject", "left_semi").repartition("subject")
    plan = _planned(rows, JOINS["wide"])
    if cls not in plan.tables:
        raise JellyOptionsError(f"no subject is of the class {cls}")
    plan.tables = {cls: plan.tables[cls]}
    columns = {"subject": STRING} | dict(plan.tables[cls][1].values())
    return mapped(rows, partial(_tables, JOINS["wide"], plan), _ddl(columns))


def _planned(rows: DataFrame, join: Join) -> Plan:
    """The plan of what tasks find in the rows of each partition."""
    return join.plan(found_by(rows, lambda batches: join.analyse(_table(batches))))


def _tables(join: Join, plan: Plan, rows: Rows) -> Rows:
    for _, table in join.tables(_table(rows), plan):
        yield from _pieces(table)


def _table(batches: Rows) -> pa.Table:
    return pa.Table.from_batches([batch.cast(LARGE) for batch in batches], LARGE)


# ---- vertices and edges

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
    layout = next((layout for layout in LAYOUTS.values() if set(layout.required) <= types.keys()), None)
    if layout is None:
        raise JellyOptionsError(
            f"the columns are {', '.join(types)}: expected those of the layout flat or ntriples, or of triples of ids"
        )
    if layout.optional.keys() & types:
        df = _statements(df)
        types = dict(df.dtypes)
    subject, predicate, object = layout.required[:3]
    kind = "object_kind" if layout.name == "flat" else _kind(object)
    statements = df.selectExpr(
        f"{_node(_kind(subject), subject)} as `from`",
        f"{predicate} as relationship",
        f"{_node(kind, object, types)} as `to`",
    ).selectExpr(f"{_id('from')} as src", f"{_id('to')} as dst", "relationship", "`from`", "`to`")
    edges = statements if literals else statements.where("`to`.kind <> 'literal'")
    nodes = statements.selectExpr("src as id", "`from` as node").union(edges.select("dst", "to"))
    found = nodes.groupBy("id").agg(F.min("node").alias("node"), F.max("node").alias("other"))
    # In the id itself, so that no query leaves the test out.
    error = "raise_error(concat('two vertices have one id: ', to_json(node), to_json(other)))"
    checked = f"cast(if(node <=> other, id, {error}) as bigint) as id"
    vertices = found.selectExpr(checked, *(f"node.{name}" for name in _shown(literals)))
    return vertices, edges.select("src", "dst", "relationship")


def _shown(literals: bool) -> tuple[str, ...]:
    return _TERM if literals else _TERM[:2]


def _kind(name: str, triple: str = "triple") -> str:
    """The kind of a term, by what its value begins with."""
    return (
        f"case when startswith({name}, '_:') then 'bnode' when startswith({name}, '<<') then '{triple}' "
        f"when startswith({name}, '\"') then 'literal' else 'iri' end"
    )


def _node(kind: str, value: str, known: Collection[str] = ()) -> str:
    """The parts of a term, null where no column is known."""
    rest = (f"'{name}', {name if name in known else 'cast(null as string)'}" for name in _TERM[2:])
    return f"named_struct('kind', {kind}, 'value', {value}, {', '.join(rest)})"


def _id(node: str) -> str:
    # Nulls do not count in a hash: so none of its parts is null.
    parts = (f"coalesce(`{node}`.{name}, '')" for name in _TERM)
    return f"xxhash64({', '.join(parts)})"


def _of_ids(df: DataFrame, terms: DataFrame | None, literals: bool) -> tuple[DataFrame, DataFrame]:
    if terms is None:
        raise JellyOptionsError("triples of ids need the table of their terms: graph_tables(triples, terms)")
    nodes = terms if literals else terms.where("kind <> 'literal'")
    edges = df if literals else df.join(nodes.selectExpr("id as object"), "object", "left_semi")
    used = df.selectExpr("subject as id").union(edges.select("object")).distinct()
    vertices = nodes.join(used, "id", "left_semi").select("id", *_shown(literals))
    predicates = terms.join(df.selectExpr("predicate as id").distinct(), "id", "left_semi").selectExpr(
        "id as predicate", "value as relationship"
    )
    named = edges.join(F.broadcast(predicates), "predicate")
    return vertices, named.selectExpr("subject as src", "object as dst", "relationship")


# ---- descriptions

# The scope of the union of all graphs, and the class of all statements: no term is written so.
_ALL = ""
_TYPE = f"<{RDF}type>"
_PARTITION = ("scope", "class", "p")
# The namespace of an IRI, as `jelly.describe` has it; "" is found in any other term.
_SPACE = "(?s)^<(?!<)(.*[/#]|[^/#]*:)"


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
    rows = statements.selectExpr(f"'{_ALL}' as scope", "s", "p", "o")
    if "g" in statements.columns:
        rows = rows.union(statements.where("g is not null").selectExpr("g as scope", "s", "p", "o"))
    rows = rows.distinct().persist()
    try:
        return _description(rows, iri, title, linksets, limit)
    finally:
        rows.unpersist()


def _description(rows: DataFrame, iri: str | None, title: str, linksets: bool, limit: int) -> Description:
    ends = (f"regexp_extract({end}, '{_SPACE}', 1) as {end}" for end in "so")
    spaces = rows.where(f"p <> '{_TYPE}'").selectExpr("scope", "p", *ends)
    typed = rows.where(f"p = '{_TYPE}' and o like '<%' and o not like '<<%'").selectExpr("scope", "s", "o as class")
    # Each statement, and again for each class of its subject.
    rows = rows.withColumn("class", F.lit(_ALL)).unionByName(rows.join(typed, ["scope", "s"]))
    targets = typed.selectExpr("scope", "s as o", "class as target")

    def collected(counts: DataFrame) -> list[Any]:
        found = counts.limit(limit + 1).collect()
        refuse_more(len(found), limit)
        return sorted(found)

    def partition(scope: str, of: str, p: str) -> tuple[str, str | None, str]:
        return scope, _name(of) if of else None, _name(p)

    figures = rows.groupBy(*_PARTITION).agg(F.count("*"), F.countDistinct("s"), F.countDistinct("o"))
    tag, datatype = (F.regexp_extract("o", pattern, 1) for pattern in ('"@([^"]*)$', r'"\^\^<([^"]*)>$'))
    literals = rows.where(F.col("o").startswith('"')).groupBy(*_PARTITION, tag.alias("tag"), datatype.alias("datatype"))
    linked = rows.join(targets, ["scope", "o"]).groupBy(*_PARTITION, "target")
    nodes = [
        rows.selectExpr("scope", term, f"{_kind(term, 'other')} as kind").distinct().groupBy("scope", "kind").count()
        for term in "so"
    ]
    links = spaces.where("s != o and s != '' and o != ''").groupBy(*spaces.columns).count()
    graphs = described(
        _ALL,
        figures=((*partition(*row[:3]), *row[3:]) for row in collected(figures)),
        literals=(
            (*partition(scope, of, p), language, datatype or XSD_STRING_IRI, n)
            for scope, of, p, language, datatype, n in collected(literals.count())
        ),
        targets=((*partition(*key), _name(target), n) for *key, target, n in collected(linked.count())),
        nodes=((scope, i, kind, n) for i, found in enumerate(nodes) for scope, kind, n in collected(found)),
        linksets=((scope, _name(p), s, o, n) for scope, p, s, o, n in collected(links)) if linksets else (),
    )
    graph = graphs.pop(_ALL)
    graphs = {_name(scope): made for scope, made in graphs.items()}
    return Description(
        iri or uuid.uuid5(uuid.NAMESPACE_OID, repr((graph, graphs))).urn, title, [], graph, graphs, {}
    )


def _name(term: str) -> str:
    """The text of an IRI, any other term in N-Triples syntax, as `jelly.describe` has them."""
    return term[1:-1] if term.startswith("<") and not term.startswith("<<") else term
