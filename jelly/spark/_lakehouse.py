"""Patches applied to tables of Delta and Iceberg, and changes of such tables as patches."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

from jelly._options.layouts import TableLayout, guess_layout
from jelly._options.settings import checked
from jelly.errors import JellyError, JellyOptionsError, need

with need("spark-local", "Spark needs pyspark 4.1"):
    from pyspark.errors import AnalysisException
    from pyspark.sql import DataFrame, functions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

# Functions of Spark that are missing in the types of PySpark.
F: Any = functions


@dataclass(frozen=True, slots=True)
class Merged:
    """What `merge` did. It is true if the patches were ``applied``.

    Delta tells how many statements were ``added`` and ``deleted``; Iceberg does not, so they are None.

    >>> bool(Merged(True, 3, 1)), bool(Merged(False, 0, 0))
    (True, False)
    """

    applied: bool
    added: int | None
    deleted: int | None

    def __bool__(self) -> bool:
        return self.applied


_NOTHING = Merged(False, 0, 0)


# In the summary of a snapshot of Iceberg, before the name of the transaction.
_ICEBERG = "jelly.merge."
# What the settings that record a transaction begin with: of Delta, of Iceberg.
_TRANSACTION = ("spark.databricks.delta.write.txn", f"spark.sql.iceberg.snapshot-property.{_ICEBERG}")
# What `jelly._dataset.blank_node_scope.scope_of` makes of labels, and of labels in IRIs.
_SCOPED = "^_:jf[0-9a-f]{16}_"
_SKOLEMIZED = "/[.]well-known/genid/jf[0-9a-f]{16}_"

# What a change in a change feed does: of Delta, of Iceberg.
_OPERATION = """
    case when lower(_change_type) in ('insert', 'update_postimage', 'update_after') then 'add'
         when lower(_change_type) in ('delete', 'update_preimage', 'update_before') then 'delete'
         else raise_error(concat('unknown _change_type ', lower(_change_type))) end as op"""
# The column with the number of a commit: of Delta, of Iceberg.
_VERSIONS = ("_commit_version", "_change_ordinal")


@overload
def merge(
    patches: DataFrame,
    table: str,
    *,
    order: Sequence[str] = ...,
    create: Literal["delta", "iceberg"] | None = ...,
    check_blank_nodes: bool = ...,
    checkpoint: str,
    trigger: Mapping[str, Any] | None = ...,
) -> StreamingQuery: ...
@overload
def merge(
    patches: DataFrame,
    table: str,
    *,
    order: Sequence[str] = ...,
    transaction: tuple[str, int] | None = ...,
    create: Literal["delta", "iceberg"] | None = ...,
    check_blank_nodes: bool = ...,
    checkpoint: None = ...,
) -> Merged: ...
@checked()
def merge(
    patches: DataFrame,
    table: str,
    *,
    order: Sequence[str] = ("file", "row"),
    transaction: tuple[str, int] | None = None,
    create: Literal["delta", "iceberg"] | None = None,
    check_blank_nodes: bool = True,
    checkpoint: str | None = None,
    trigger: Mapping[str, Any] | None = None,
) -> Merged | StreamingQuery:
    """Apply a log of patches to a table of statements in Delta or Iceberg, exactly once.

    Of each statement the last operation holds: if it is an addition, the statement is in the table afterwards, else it
    is not. All patches are applied in one commit.

    Parameters
    ----------
    patches : DataFrame
        Changes as ``jelly-patch`` reads them: ``op`` (add or delete), the columns of a layout, and those of ``order``.
        It may be a stream.
    table : str
        The name of the table as in SQL, such as ``catalog.db.statements`` or ``delta.`/data/statements```.
    order : sequence of str, default ("file", "row")
        The columns that put the changes in order, the first counts most. By default the files are applied in the order
        of their paths.
    transaction : (str, int), optional
        Name of the log and number of this part of it, for patches that are no stream. The number is recorded in the
        commit. If the table has this or a higher number of the name, nothing is changed.
    create : {"delta", "iceberg"}, optional
        Make the table in this format, with the columns of the layout, if it does not exist.
    check_blank_nodes : bool, default True
        Raise an error if the patches have blank nodes with labels as in files, but the table has those of
        ``blankNodes`` ``scope`` or ``skolemize``, which no patch would find. This reads the subjects of the table.
    checkpoint : str, optional
        For a stream: the directory where Spark keeps its state.
    trigger : mapping, optional
        For a stream: the arguments of ``DataStreamWriter.trigger``, such as ``{"availableNow": True}``.

    Returns
    -------
    Merged or StreamingQuery
        Whether the patches were ``applied``: not if the transaction had been applied before or there is no change, and
        how many statements were ``added`` and ``deleted``, which Iceberg does not tell. Of a stream the query, which
        has started.

    Raises
    ------
    JellyOptionsError
        If columns are missing, a change does not fit the table, or the blank nodes do not fit.
    JellyError
        If the table does not exist, is neither of Delta nor of Iceberg, or another transaction is being applied in the
        session.

    Notes
    -----
    A statement is compared by all columns, and null equals null. Thus the same patches may be applied again, and
    nothing changes, as long as no other patches came between. ``transaction`` holds then, too; each batch of a stream
    has one by itself: the id of the query, which the checkpoint keeps, and the number of the batch. Delta keeps it in
    its log (``txnAppId``). Iceberg keeps it in the summary of the snapshot, so until the snapshot expires.

    While a transaction is applied, the session has settings for it: nothing else may be written in the same session,
    and a second transaction in it is an error. Under Spark Connect the batches of a stream are applied in the session
    that started it: give each stream one of its own. The server needs this package in its Python.

    Examples
    --------
    >>> def daily(spark, day):
    ...     patches = spark.read.format("jelly-patch").load(f"log/{day:%Y-%m-%d}")
    ...     return merge(patches, "statements", transaction=("daily", day.toordinal()), create="delta")
    """
    settings: dict[str, Any] = {"order": order, "create": create, "check_blank_nodes": check_blank_nodes}
    if not patches.isStreaming:
        if checkpoint is not None or trigger is not None:
            raise JellyOptionsError("checkpoint and trigger are for a stream of patches, these are no stream")
        return _merge(patches, table, transaction=transaction, **settings)
    if checkpoint is None or transaction is not None:
        raise JellyOptionsError(
            "a stream of patches needs a checkpoint, and no transaction: each batch is a transaction by itself"
        )

    def apply(batch: DataFrame, number: int) -> None:  # Spark Connect pickles it
        _merge(batch, table, transaction=(_query(batch.sparkSession, checkpoint), number), **settings)

    writer = patches.writeStream.foreachBatch(apply).option("checkpointLocation", checkpoint)
    return writer.trigger(**trigger).start() if trigger else writer.start()


@checked()
def changes(feed: DataFrame) -> DataFrame:
    """The changes of a table as patches, one for each commit, in order.

    Parameters
    ----------
    feed : DataFrame
        The change feed of a Delta table (``option("readChangeFeed", "true")``), or a changelog view of an Iceberg
        table. The table has the columns of a layout, and each statement once. Of a stream pass each batch of
        ``foreachBatch``.

    Returns
    -------
    DataFrame
        ``op`` (add or delete), ``patch`` (number of the commit) and the columns of the layout, in order: a row before
        an update is a deletion, and a patch deletes before it adds. It can be written as ``jelly-patch``.

    Raises
    ------
    JellyOptionsError
        If it is a stream or has not the columns of a change feed.

    Examples
    --------
    >>> def publish(batch, number):  # overwritten if Spark repeats the batch
    ...     changes(batch).write.format("jelly-patch").mode("overwrite").save(f"log/{number:012}")
    >>> def follow(spark):
    ...     feed = spark.readStream.option("readChangeFeed", "true").table("statements")
    ...     return feed.writeStream.foreachBatch(publish).option("checkpointLocation", "state").start()
    """
    if feed.isStreaming:
        raise JellyOptionsError("the rows of a stream have no order: call changes() in foreachBatch, for each batch")
    version = next((name for name in _VERSIONS if name in feed.columns), None)
    if version is None or "_change_type" not in feed.columns:
        raise JellyOptionsError(
            f"no change feed: expected the columns _change_type and {' or '.join(_VERSIONS)}, found "
            f"{', '.join(feed.columns)}. "
            'Read the table with option("readChangeFeed", "true")'
        )
    layout = guess_layout(feed.columns)
    _need(layout.required, feed, "the change feed")
    columns = [name for name in layout.parts if name in feed.columns]
    found = feed.selectExpr(_OPERATION, f"cast({version} as bigint) as patch", *columns)
    return found.repartitionByRange("patch").sortWithinPartitions("patch", F.desc("op"))


def _merge(
    patches: DataFrame,
    table: str,
    *,
    order: Sequence[str],
    transaction: tuple[str, int] | None,
    create: str | None,
    check_blank_nodes: bool,
) -> Merged:
    spark = patches.sparkSession
    layout = guess_layout(patches.columns)
    _need(("op", *order, *layout.required), patches, "the patches")
    if create is not None:
        _create(spark, table, create, layout)
    try:
        statements = spark.table(table)
        format = _format(spark, table)
    except AnalysisException as error:
        reason = str(error).partition("\n")[0]
        raise JellyError(f'cannot open the table {table}, which create="delta" would make: {reason}') from error
    _need(layout.required, statements, f"the table {table}")
    if format == "iceberg":
        spark.sql(f"refresh table {table}")  # what other sessions wrote, which Iceberg keeps from this one for a while
        if transaction is not None and _iceberg_number(spark, table, transaction[0]) >= transaction[1]:
            return _NOTHING
    net = _net(patches, layout, statements, order).persist()
    try:
        term = layout.column("subject")
        fit = net.selectExpr(
            f"max({term}) as high", f"min({term}) as low", "max(jelly_problem) as problem",
            f"max({_file_label(layout)}) as label",
        ).first()  # fmt: skip
        assert fit is not None
        if fit["problem"] is not None:
            raise JellyOptionsError(f"a change does not fit the table {table}: {fit['problem']}")
        if fit["high"] is None:
            return _NOTHING
        if check_blank_nodes and fit["label"] is not None:
            _check_blank_nodes(statements, layout, table, fit["label"])
        with _recorded(spark, format, transaction):
            columns = [name for name in layout.parts if name in statements.columns]
            told = spark.sql(_statement(table, columns, layout, fit["low"], fit["high"]), net=net)
            if format != "delta":
                return Merged(True, None, None)
            # Delta answers with a row of numbers, or with none where it has the transaction.
            rows = told.collect()
            return Merged(True, rows[0]["num_inserted_rows"], rows[0]["num_deleted_rows"]) if rows else _NOTHING
    finally:
        net.unpersist()


def _query(spark: SparkSession, checkpoint: str) -> str:
    """The id of the query that has a checkpoint. In the batch of a query under Spark Connect nothing else has it."""
    path = re.sub(r"([*?{}\[\]\\])", r"\\\1", f"{checkpoint.rstrip('/')}/metadata")
    row = spark.read.text(path, wholetext=True).first()
    assert row is not None
    return str(json.loads(row[0])["id"])


def _need(names: Sequence[str], df: DataFrame, what: str) -> None:
    missing = [name for name in names if name not in df.columns]
    if missing:
        found = ", ".join(df.columns)
        raise JellyOptionsError(f"{what} must have the columns {', '.join(missing)}, found only {found}")


def _create(spark: SparkSession, table: str, format: str, layout: TableLayout) -> None:
    if format not in ("delta", "iceberg"):
        raise JellyOptionsError(f'create is {format!r}: expected "delta" or "iceberg"')
    columns = ", ".join(f"`{name}` string" for name in layout.columns)
    spark.sql(f"create table if not exists {table} ({columns}) using {format}")


def _format(spark: SparkSession, table: str) -> str:
    """The format of a table, delta or iceberg; JellyError for any other."""
    rows = spark.sql(f"describe table extended {table}").where("lower(col_name) = 'provider'").collect()
    format = str(rows[0]["data_type"]).lower() if rows else "a view"
    if format not in ("delta", "iceberg"):
        raise JellyError(f"{table} is {format}: patches can be merged into tables of Delta and Iceberg")
    return format


def _net(patches: DataFrame, layout: TableLayout, statements: DataFrame, order: Sequence[str]) -> DataFrame:
    """Each changed statement once, with ``jelly_add`` (bool) and ``jelly_problem``, the reason why it does not fit."""
    known = [name for name in layout.parts if name in patches.columns]
    absent = [name for name in known if name not in statements.columns]
    lacking = [name for name in layout.parts if name in statements.columns and name not in known]
    problems = [
        "lower(op) is null or lower(op) not in ('add', 'insert', 'a', 'delete', 'd') then "
        "concat('operation ', coalesce(op, 'null'), ', expected add or delete')",
        *(f"{name} is not null then concat('the table has no column {name} for ', {name})" for name in absent),
    ]
    rows = patches.select(
        *known, *(F.expr(f"cast(null as string) as {name}") for name in lacking),
        F.expr("lower(op) in ('add', 'insert', 'a') as added"),
        F.expr(f"case {' '.join(f'when {each}' for each in problems)} end as problem"),
        F.struct(*order).alias("place"),
    )  # fmt: skip
    return rows.groupBy(*known, *lacking).agg(
        F.max_by("added", "place").alias("jelly_add"), F.max("problem").alias("jelly_problem")
    )


def _file_label(layout: TableLayout) -> str:
    """The label of a blank node as in a file; null for statements without one."""
    subject, object = (layout.column(part) for part in ("subject", "object"))
    # A literal may have such a text, too, but not in N-Triples.
    is_node = "true" if layout.syntax == "ntriples" else f"{layout.column('object_kind')} <> 'literal'"
    return (
        f"coalesce(if(startswith({subject}, '_:') and {subject} not rlike '{_SCOPED}', {subject}, null), "
        f"if({is_node} and startswith({object}, '_:') and {object} not rlike '{_SCOPED}', {object}, null))"
    )


def _check_blank_nodes(statements: DataFrame, layout: TableLayout, table: str, label: str) -> None:
    subject = layout.column("subject")
    found = statements.where(f"{subject} rlike '{_SCOPED}|{_SKOLEMIZED}'").select(subject).first()
    if found is not None:
        raise JellyOptionsError(
            f"the patches name blank nodes as files do, such as {label}, but {table} has nodes of other names, such as "
            f"{found[0]}: statements that patches are applied to must be read with blankNodes keep. "
            "If the nodes fit all the same: check_blank_nodes=False"
        )


def _statement(table: str, columns: Sequence[str], layout: TableLayout, low: str, high: str) -> str:
    """MERGE INTO, with ``{net}`` for the changes, whose subjects are from ``low`` to ``high``."""
    on = []
    for name in columns:
        t, n = f"t.`{name}`", f"n.`{name}`"
        # This is t <=> n, of which Spark would make two keys of the join, which cost a third of the time.
        on.append(f"{t} = {n}" if name in layout.required else f"coalesce({t} = {n}, {t} is null and {n} is null)")
    # Both formats leave out files by the bounds of a column. Delta knows no parameters here, so escapes are avoided.
    if not set("'\\{}") & set(low + high):
        on.append(f"t.`{layout.column('subject')}` between '{low}' and '{high}'")
    names, values = (", ".join(f"{of}`{name}`" for name in columns) for of in ("", "n."))
    return (
        f"merge into {table} as t using {{net}} as n on {' and '.join(on)} "
        f"when matched and not n.jelly_add then delete "
        f"when not matched and n.jelly_add then insert ({names}) values ({values})"
    )


def _iceberg_number(spark: SparkSession, table: str, name: str) -> int:
    """The highest number of the transactions of this name that are in the table; -1 if there is none."""
    number = F.col("summary")[_ICEBERG + name].cast("long").alias("number")
    snapshots = spark.table(f"{table}.snapshots").select("snapshot_id", number)
    present = spark.table(f"{table}.history").where("is_current_ancestor").select("snapshot_id")
    row = snapshots.join(present, "snapshot_id").agg(F.max("number")).first()
    return -1 if row is None or row[0] is None else int(row[0])


@contextmanager
def _recorded(spark: SparkSession, format: str, transaction: tuple[str, int] | None) -> Iterator[None]:
    """With the settings that let a commit record its transaction."""
    if transaction is None:
        yield
        return
    name, number = transaction
    if format == "delta":
        settings = {f"{_TRANSACTION[0]}AppId": name, f"{_TRANSACTION[0]}Version": str(number)}
    else:
        settings = {f"{_TRANSACTION[1]}{name}": str(number)}
    # Else the commit would have the number of another, which would never be applied then.
    if taken := sorted(key for key in spark.conf.getAll if key.startswith(_TRANSACTION)):
        raise JellyError(
            f"another transaction is being applied in this session, or was killed in it: {taken[0]} is set. Use a "
            "session for each (under Spark Connect for each stream, too), or unset it if nothing is running"
        )
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in settings:
            spark.conf.unset(key)
