"""RDF in Spark: the data sources "jelly" and "jelly-patch", for reading and writing. They need Spark 4.1 and the extra
``spark``.

Reading::

    import jelly.spark

    jelly.spark.register(spark)
    df = spark.read.format("jelly").load("data/*.jelly")
    df.where("predicate = 'http://xmlns.com/foaf/0.1/name'").groupBy("lang").count().show()

Columns are those of `jelly.read_arrow`: ``subject, predicate, object, object_kind, datatype, lang, graph``, or with
``option("layout", "ntriples")`` ``s, p, o, g`` in N-Triples syntax. A path is a file, a directory (at any depth; names
that begin with ``_`` or ``.`` are left out), a pattern, a list of those, or a URL of any file system of fsspec. Files
are of any format that `jelly` knows by its suffix, compressed or not: Jelly, N-Triples, N-Quads, RDF Thrift,
RDF Protobuf and, with the extra ``oxigraph`` on all nodes, Turtle, TriG, RDF/XML, JSON-LD and N3, whose IRIs must not
be relative to the place of the file.

A Jelly file with an index (``seekable=True``, or ``jelly index``) is read by many tasks, others by one each; small
files share a task. Spark tells data sources of Python neither which columns nor how many rows a query needs: name the
columns, by ``.schema("subject string, object string")`` or the option, and it is so much faster.

Labels of blank nodes are kept. In Turtle, TriG, RDF/XML, JSON-LD and N3 a node without one, such as ``[]``, is
``anon0``, ``anon1`` and so on by its place in the file, each time that the file is read: on any node of the cluster,
and again where Spark reads it twice in one query. Labels do not tell their file: in two files the same label may stand
for two nodes.

=================== =================================================================================================
option              meaning
=================== =================================================================================================
``layout``          ``flat`` (default) or ``ntriples``
``columns``         names of columns, with commas: no others are built. Or give ``.schema(...)``
``frames``          ``true``: columns ``frame`` (number in the file) and ``metadata`` (map of string to binary) too
``mode``            what a broken file does: ``FAILFAST`` (default) fails the job with its name; ``DROPMALFORMED``
                    leaves out what is broken: of N-Triples and N-Quads the line, of Jelly what comes up to the next
                    keyframe, of others the rest of the file; ``PERMISSIVE`` tells of it in a row of nulls but for
                    ``_corrupt_record``, which says why, and which file, frame and byte or line
``format``          that of all files: ``jelly``, ``nt``, ``nq``, ``thrift``,
                    ``protobuf``, ``ttl``, ``trig``, ``rdf``, ``jsonld``, ``n3``; by default their suffixes decide
``splitBytes``      bytes for a task, default 33554432; compressed files count eightfold
``pathGlobFilter``  a pattern for the names of files
``storage``         JSON that goes to the file system of fsspec: ``{"anon": true}``
``pushdown``        ``true``: filters ``=`` and ``in`` on subject, predicate, object or graph are decided on term
                    ids. It needs the setting ``spark.sql.python.filterPushdown.enabled``:
                    ``register(spark, pushdown=True)`` does both
=================== =================================================================================================

Writing::

    df.write.format("jelly").mode("overwrite").option("compression", "zstd").save("out")

The columns are those of a layout, in any order; with ``graph`` or ``g`` the files hold quads, else triples. Each task
writes a part file, seekable where it is not compressed. They appear when the whole job is done, then ``_SUCCESS``; a
job that fails leaves nothing. The directory must be one that all nodes share.

=================== =================================================================================================
``mode(...)``       ``append`` or ``overwrite``. Spark refuses ``error``, its default, and ``ignore`` for data sources
                    of Python: use ``append`` with ``ifExists``
``ifExists``        where the directory is not empty: ``append`` (default), ``error``, or ``ignore``: write nothing
``compression``     ``none`` (default), ``gzip``, ``zstd``
=================== =================================================================================================

Streaming (Spark 4.2), both ways; the options above hold here too::

    stream = spark.readStream.format("jelly").option("maxFilesPerTrigger", 100).load("incoming")
    stream.writeStream.format("jelly").option("checkpointLocation", "state").start("out")

Each file is read once, the oldest first, and must be complete when it appears: write it under another name and rename
it. With ``follow`` the path is one local Jelly file that grows, which is read frame by frame; what is not complete yet
is left for later, and a file that was cut or replaced fails the query. The sink makes a directory ``batch=<number>`` of
each batch with one rename, so that readers see whole batches; after a crash none is lost or written twice. Each query
needs a directory of its own.

====================== ==============================================================================================
option                 meaning
====================== ==============================================================================================
``maxFilesPerTrigger`` files in a batch, default 1000
``maxFileAge``         as ``7d`` (s, m, h, d): files so much older than the newest are neither read nor kept in mind;
                       for directories where more than 65536 files stay
``follow``             ``true``: the path is a file that grows
``maxBytesPerTrigger`` bytes of such a file in a batch, default 268435456; each ``splitBytes`` of them are a task
``compression``        of the sink, as above
====================== ==============================================================================================

Patches (``.jellyp``, ``.rdfp``, ``.trp``), as tables and as streams of the files of a directory::

    changes = spark.read.format("jelly-patch").load("log")

Columns are those of `jelly.patch.read_arrow`, with the place of each row: ``op`` (add or delete), ``patch`` (number of
the patch in its file), ``row`` (number of the row in its file: rows have no order in Spark), ``file`` (its path), then
those of a layout. What was aborted is left out, and so are headers and namespaces. A file is read by one task. The
options above hold but for ``frames``, ``pushdown`` and ``follow``. Of a broken file, in other modes than ``FAILFAST``,
what comes before the error is kept, of a transaction that it cuts nothing. ``bench/spark_patches.py`` applies a log of
patches to a table of statements.

Changes as patches: the columns are those of `jelly.patch.write_arrow`, ``op``, perhaps ``patch`` (whole numbers), and
those of a layout::

    changes.repartitionByRange(4, "patch").sortWithinPartitions("patch", "row").drop("row", "file") \\
        .write.format("jelly-patch").mode("append").save("log")

Each task writes a ``.jellyp`` file in the order of its rows: one patch, or with ``patch`` one for each number, and the
numbers must not fall. Part files are numbered as their tasks are, so after ``repartitionByRange`` the patches are in
order from file to file too. The rest is as above, the sink of a stream included. Of the change data feed of another
table, batch by batch::

    def publish(feed, number):
        op = F.when(F.col("_change_type").isin("insert", "update_postimage"), "add").otherwise("delete")
        changes = feed.select(op.alias("op"), F.col("_commit_version").alias("patch"), "s", "p", "o").coalesce(1)
        changes.sortWithinPartitions("patch", F.desc("op")).write.format("jelly-patch").mode("overwrite") \\
            .save(f"log/{number:012}")

    feed.writeStream.foreachBatch(publish).option("checkpointLocation", "state").start()

Messages in columns: `from_jelly`, `to_jelly` and `from_ntriples`, see `jelly.spark._udf`. Many files to Parquet without
moving statements through the JVM: `jelly.spark._ingest`. Counting them: `jelly.spark._stats`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from jelly.spark._udf import from_jelly, from_ntriples, to_jelly

__all__ = ["from_jelly", "from_ntriples", "register", "to_jelly"]


def register(spark: SparkSession, *, pushdown: bool = False) -> None:
    """Make the data sources "jelly" and "jelly-patch" known to a session.

    Parameters
    ----------
    spark : SparkSession
        The session.
    pushdown : bool, default False
        Evaluate filters on term ids, and set ``spark.sql.python.filterPushdown.enabled`` for it.

    Raises
    ------
    MissingExtraError
        If pyspark is not installed.

    Examples
    --------
    >>> def columns(spark, path):
    ...     register(spark)
    ...     return spark.read.format("jelly").load(path).columns
    """
    from jelly.spark._patches import PatchDataSource
    from jelly.spark._source import JellyDataSource, PushdownDataSource

    if pushdown:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(PushdownDataSource if pushdown else JellyDataSource)
    spark.dataSource.register(PatchDataSource)


def __getattr__(name: str) -> Any:
    # These import pyspark.sql, which workers do without.
    if name in ("from_jelly", "from_ntriples", "to_jelly"):
        from jelly.spark import _udf as udf

        return getattr(udf, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
