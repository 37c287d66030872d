"""RDF in Spark: the data sources "jelly", "jelly-patch" and "jelly-results" (Spark 4.1, extra ``spark``).

Reading::

    import jelly.spark

    jelly.spark.register(spark)  # an installed wheel needs this only for pushdown
    df = spark.read.format("jelly").load("data/*.jelly")
    df.where("predicate = 'http://xmlns.com/foaf/0.1/name'").groupBy("lang").count().show()

The columns are those of `jelly.read_arrow`: ``subject, predicate, object, object_kind, datatype, lang, graph``, or with
``option("layout", "ntriples")`` ``s, p, o, g`` in N-Triples syntax. A path is a file, a directory (read recursively;
names that begin with ``_`` or ``.`` are skipped), a pattern, a list of those, or a URL of any file system of fsspec.
Relative paths are below the directory of the driver, also for writing and streams; all nodes must see the same files.
The suffix of a file gives its format and compression: Jelly, N-Triples, N-Quads, RDF Thrift, RDF Protobuf and, with the
extra ``oxigraph`` on all nodes, Turtle, TriG, RDF/XML, JSON-LD and N3. IRIs must not be relative to the file.

Many tasks read a Jelly file with an index (``seekable=True``, or ``jelly index``), also one compressed with zstd or
gzip, and N-Triples and N-Quads that are not compressed; one task reads any other file; small files share a task. Spark
does not tell Python data sources which columns and how many rows a query needs. Therefore name the columns, with
``.schema("subject string, object string")`` or the option: this is much faster.

Blank nodes of different files are different nodes, whatever their labels: ``_:b0`` becomes ``_:jf8a41b0c2d3e4f506_b0``,
with a prefix for the file. It depends on the absolute path or URL of the file alone. So it is the same in all queries,
tasks and streams, with ``follow`` as well, for one file as for many, and whichever files come later; it is another one
if the file is moved, and the same one if the file is replaced. Labels with such a prefix stay as they are, so that what
was read and written can be read again, and joined with its source. The part files that one job has written are one
source, as are those of a sink or of an ingest. ``blankNodes`` chooses otherwise: ``keep`` leaves the labels as they
are in the files, so that ``_:b0`` of two files is one node; ``skolemize`` makes IRIs,
``https://example.org/.well-known/genid/jf8a41b0c2d3e4f506_b0``, which mean the same everywhere. Filters compare the
labels or IRIs that the table shows. In Turtle, TriG, RDF/XML, JSON-LD and N3 a node without a label, such as ``[]``,
gets the label ``anon0``, ``anon1`` and so on by its position in the file, the same each time the file is read.

All options and their defaults are on the page "Options of Spark" of the documentation, which is made from the table
`jelly.spark._options.OPTIONS`; the limits of `jelly.ReadOptions` are options too, such as ``maxLineBytes``.

Directories such as ``graph=http%3A%2F%2Fexample.org%2Fg`` give their graph to statements that have none. Statements
that say another graph, ``predicate`` or ``subject`` than their directory are an error.

An option that does not exist is an error. In SQL a view reads files; a table (``CREATE TABLE``) does not, because Spark
does not pass its path on, unless each query does (``SELECT ... FROM name WITH (path = '...')``)::

    CREATE TEMPORARY VIEW people USING jelly OPTIONS (path 'data', columns 'subject,object')

Writing::

    df.write.format("jelly").mode("overwrite").option("compression", "zstd").save("out")

The columns are those of a layout, in any order; with ``graph`` or ``g`` the files hold quads, else triples. Each task
writes a part file, which is seekable. The files appear when the whole job is complete, followed
by ``_SUCCESS``; if the job fails, no file is left. All nodes must share the directory. A URL of any file system of
fsspec is written to as well, such as ``s3://bucket/out``, with the option ``storage``; ``docs/object-stores.md`` says
what each guarantees.

Spark refuses ``mode("error")``, its default, and ``mode("ignore")`` for data sources of Python: use ``append`` with the
option ``ifExists``.

Streaming in both directions (Spark 4.2), with the options above::

    stream = spark.readStream.format("jelly").option("maxFilesPerTrigger", 100).load("incoming")
    stream.writeStream.format("jelly").option("checkpointLocation", "state").start("out")

Each file is read once, oldest first, and must be complete when it appears: write it under another name and rename it.
With ``follow`` the path is one local Jelly file that grows. It is read frame by frame; incomplete frames wait for the
next batch, and the query fails if the file is truncated or replaced. The sink creates a directory ``batch=<number>``
for each batch at once, so that readers see complete batches; after a crash no batch is lost or written twice.
Each query needs a directory of its own.

Patches (``.jellyp``, ``.rdfp``, ``.trp``), as tables and as streams of the files of a directory::

    changes = spark.read.format("jelly-patch").load("log")

The columns are those of `jelly.read_arrow` with the position of each row: ``op`` (add or delete), ``patch``
(number of the patch in its file), ``row`` (number of the row in its file, because rows have no order in Spark),
``file`` (path), then the columns of a layout. Aborted transactions, headers and namespaces are left out. One task reads
a file. The options above apply, except those of directories, ``frames``, ``fileColumn``, ``blankNodes``, ``pushdown``
and ``follow``: a patch names blank nodes by their labels, so they are kept, and statements that patches are made from
or applied to must be read with ``blankNodes`` ``keep``. In modes other than ``FAILFAST`` the
rows before an error are kept, but not those of an incomplete transaction. ``bench/spark/patches.py`` applies a log of
patches to a table of statements in files.

Changes can be written as patches. The columns are those of `jelly.write_arrow`: ``op``, optionally ``patch``
(integers), and those of a layout::

    changes.repartitionByRange(4, "patch").sortWithinPartitions("patch", "row").drop("row", "file") \\
        .write.format("jelly-patch").mode("append").save("log")

Each task writes a ``.jellyp`` file in the order of its rows: one patch, or with a column ``patch`` one patch per
number, in ascending order. Part files are numbered like their tasks, so that after ``repartitionByRange`` the patches
are in order across files. Everything else is as above, including the sink of a stream.

`merge` applies patches to a table of Delta or Iceberg, exactly once, and `changes` makes patches of the change feed of
such a table::

    jelly.spark.merge(changes, "catalog.db.statements", transaction=("daily", 20260131))

    feed = spark.read.option("readChangeFeed", "true").option("startingVersion", 5).table("statements")
    jelly.spark.changes(feed).write.format("jelly-patch").mode("append").save("log")

``docs/lakehouse.md`` has the recipes, for streams too, and says which version of Spark has Delta, Iceberg and Kafka.

SPARQL results (``.srt``, ``.srp``, ``.srj``, ``.srx``, ``.tsv``), with a column for each variable::

    people = spark.read.format("jelly-results").load("answers/*.srt")

The columns are those of `jelly.results.Results.to_arrow`: strings, null where a variable is unbound. The first file
names them (in modes other than ``FAILFAST`` the first that is not broken), unless ``.schema(...)`` or ``columns`` does;
a variable that a file does not have is null in its rows. One task reads a file. The options for reading above apply,
except those of directories, ``frames``, ``fileColumn`` and ``pushdown``. Results are not written.

For messages in columns, such as values of Kafka, see `from_jelly`, `to_jelly`, `from_ntriples` and `jelly_headers`;
labels of blank nodes are kept. ``docs/kafka.md`` has a query with Kafka at both ends.
`ingest`, or ``jelly spark ingest``, converts many files to Parquet without moving statements through the JVM: to one
table, or to tables of numbers for terms, of predicates or of classes, see ``docs/tables.md``. `graphframe` and
`graph_tables` make vertices and edges of them. `to_ids`, `vertical` and `wide` make such tables of a DataFrame. `stats`
counts. ``docs/spark.md`` tells
how files become tasks, and what makes queries fast.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from jelly._options.settings import checked
from jelly.errors import JellyArgumentError, MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from jelly._options.keywords import SourceOptions
    from jelly.spark._frames import describe, graph_tables, graphframe, to_ids, vertical, wide
    from jelly.spark._ingest import compact_table, ingest
    from jelly.spark._jobs import stats
    from jelly.spark._lakehouse import changes, merge
    from jelly.spark._tables import term_id
    from jelly.spark._udf import from_jelly, from_ntriples, jelly_headers, to_jelly

__all__ = [
    "SourceOptions",
    "changes",
    "compact_table",
    "describe",
    "from_jelly",
    "from_ntriples",
    "graph_tables",
    "graphframe",
    "ingest",
    "jelly_headers",
    "merge",
    "register",
    "stats",
    "term_id",
    "to_ids",
    "to_jelly",
    "vertical",
    "wide",
]

# What is imported when it is first used: workers do not need pyspark.sql, nor the data source an ingest.
_MODULES = {
    name: module
    for module, names in {
        "_frames": "describe graph_tables graphframe to_ids vertical wide",
        "_ingest": "compact_table ingest",
        "_jobs": "stats",
        "_lakehouse": "changes merge",
        "_options": "SourceOptions",
        "_tables": "term_id",
        "_udf": "from_jelly from_ntriples jelly_headers to_jelly",
    }.items()
    for name in names.split()
}


@contextmanager
def _all_of_spark() -> Iterator[None]:
    """For imports: an error that misses pyarrow names the extra that brings all that is missing."""
    try:
        yield
    except MissingExtraError as error:
        extra = "[spark]" if find_spec("pyspark") else "[spark-local]"
        raise MissingExtraError(error.reason.replace("[arrow]", extra)) from error.__cause__


@checked()
def register(
    spark: SparkSession, *, pushdown: bool = False, check: bool = True, functions: bool = False
) -> None:
    """Make the data sources "jelly", "jelly-patch" and "jelly-results" known to a session.

    Parameters
    ----------
    spark : SparkSession
        The session.
    pushdown : bool, default False
        Evaluate filters on term ids, and set ``spark.sql.python.filterPushdown.enabled`` for it. On Spark 5 also read
        no more rows than ``LIMIT`` and ``head`` need: ``spark.sql.python.limitPushdown.enabled``.
    check : bool, default True
        Run a task that imports this package, once for a session, unless the workers are local and run this Python. It
        waits for an executor.
    functions : bool, default False
        Also make the functions for SQL: ``from_jelly``, ``to_jelly``, ``from_ntriples`` and ``term_id`` for columns,
        ``is_iri``, ``is_blank``, ``is_literal``, ``lexical``, ``datatype`` and ``lang`` for terms in N-Triples syntax,
        and the table ``read_jelly('path')`` of the statements of files, which one task reads.

    Raises
    ------
    MissingExtraError
        If pyspark is not installed, or the workers cannot import this package.

    Examples
    --------
    >>> def columns(spark, path):
    ...     register(spark)
    ...     return spark.read.format("jelly").load(path).columns
    """
    with _all_of_spark():
        from jelly.spark._jobs import check_workers
        from jelly.spark._source import JellyDataSource, PatchDataSource, PushdownDataSource, ResultDataSource

    if not hasattr(spark, "dataSource"):
        raise JellyArgumentError(f"spark is {spark!r:.80}: expected a SparkSession")
    if check:
        check_workers(spark)
    if pushdown:
        for kind in ("filter", "limit"):
            spark.conf.set(f"spark.sql.python.{kind}Pushdown.enabled", "true")
    spark.dataSource.register(PushdownDataSource if pushdown else JellyDataSource)
    spark.dataSource.register(PatchDataSource)
    spark.dataSource.register(ResultDataSource)
    if functions:
        from jelly.spark._udf import register_functions

        register_functions(spark)


if not TYPE_CHECKING:  # or type checkers would take every name for one of the module

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            with _all_of_spark():
                return getattr(import_module(f"jelly.spark.{_MODULES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
