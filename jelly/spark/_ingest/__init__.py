"""``jelly spark ingest``: files of statements to Parquet, Delta or seekable Jelly, decoded and written by executors.

No statement passes through the JVM: a task reads its part of the sources and writes its own files, and only a report
goes to the driver. Here is what the driver does.

- `tasks`: what the executors do, their reports, the journal. `buckets`: tables of ids, predicates and classes; a sorted
  table.
- `delta`: commits to a table of Delta, and compaction of it.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property, partial
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import unquote

from jelly._formats.arrow_tables import schema
from jelly._options.layouts import BUILT, BuiltLayout, Layout
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError, JellyError, JellyOptionsError
from jelly.spark._ingest.buckets import BUCKETS, SCRATCH, Step, Tables, sorted_step
from jelly.spark._ingest.tasks import (
    FOLDER,
    DirectoryTasks,
    Ingestion,
    IngestProblem,
    Tasks,
    Work,
    new_reports,
    run_task,
    task_name,
)
from jelly.spark._jobs import cores, described, on_executors, plain_error, session
from jelly.spark._parts import Part, Reading
from jelly.spark._parts.files import OF_MANY, Directories, File, Paths, absolute, exists, find_files
from jelly.spark._store import Json, Store, UrlStore, store_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from typing_extensions import Unpack

    from jelly._options.keywords import SourceOptions
    from jelly.spark._ingest.delta import DeltaTasks

_TASKS_OF_CORE = 2
# Cores where their number is not known.
_CORES = 8
# Seconds between two checks of the reports of the tasks, and where each check is a request.
_TICK = 0.2
_REMOTE_TICK = 2.0
# Bytes of the files that a compaction makes.
TARGET_BYTES = 1 << 27

Progress = Callable[[int, int, int], object]


def _untold(*now: int) -> None:
    """The progress where nobody wants to know it."""


@checked(OF_MANY)
def ingest(
    src: Paths,
    dst: str | os.PathLike[str],
    *,
    spark: SparkSession | str | None = None,
    conf: Mapping[str, str] | None = None,
    to: Literal["parquet", "jelly", "delta"] = "parquet",
    layout: Layout | BuiltLayout = "flat",
    partition_by: Literal["predicate", "graph"] | None = None,
    sort: Sequence[Literal["subject", "predicate", "object", "graph"]] = (),
    prune: bool = False,
    buckets: int = BUCKETS,
    seed: int = 0,
    compact: bool = False,
    target_file_bytes: int = TARGET_BYTES,
    table: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[SourceOptions],
) -> Ingestion:
    """Convert files to tables in Parquet (zstd) or Delta, or to seekable Jelly. Executors read and write them.

    A run continues where the last run ended, for any reason: finished sources are skipped. A table of Delta is changed
    by one commit, which every reader sees or does not see. Sources with another size or time of change are done again.

    A directory of files is only added to; that sources in it have changed is an error. The new files appear when
    everything is done, and ``_SUCCESS`` is written last. Readers of this package see all of them or none; others may
    see some in the moment in which the driver gives them their names: ``_SUCCESS`` is missing then.

    Parameters
    ----------
    src : str, path or iterable of those
        Files, directories, patterns or URLs, as for the data source "jelly".
    dst : str or path
        The directory for the table, which all executors must see, or a URL of any file system of fsspec, to which
        ``storage`` goes too. For the layouts "ids", "vertical" and "wide" it is a new one, and executors fetch what
        they read again from there. One ingest at a time: see Notes.
    spark : SparkSession or str, optional
        A session, or the master to start one on. By default the session that this process has, or else one on
        ``local[*]``. None is started if nothing is to do, and only what was started is stopped at the end.
    conf : mapping, optional
        Settings of Spark for a session that is started.
    to : {"parquet", "jelly", "delta"}, default "parquet"
        The format. ``"delta"`` makes a table of Delta of Parquet files, in the layouts "flat" and "ntriples" (extra
        ``delta``).
    layout : {"flat", "ntriples", "ids", "vertical", "wide"}, default "flat"
        ``"flat"`` and ``"ntriples"`` make one table, with the columns of `jelly.read_arrow`. ``"ids"`` makes the tables
        ``terms`` and ``triples``, with numbers for terms. ``"vertical"`` makes a table for each predicate, ``"wide"``
        one for each class. See Notes.
    partition_by : {"predicate", "graph"}, optional
        Make directories as Hive does, ``predicate=.../``. Only for Parquet of one table.
    sort : sequence of str, default ()
        Sort the rows of a task by some of subject, predicate, object, graph, in runs of up to a million rows. In the
        layout "ids" each bucket is sorted, by default by subject.
    prune : bool, default False
        Remove the statements of sources that are gone, which a directory of files cannot. Otherwise they stay until
        another source of the same task has changed, and are reported.
    buckets : int, default 16
        Partitions by the hash of a term, for the layouts "ids", "vertical" and "wide": a power of 2. All runs must use
        the same. A worker holds a bucket of "vertical" and "wide" in memory.
    seed : int, default 0
        A number that the ids of the layout "ids" depend on. All runs must use the same.
    compact : bool, default False
        Make few files out of many afterwards, see `compact_table`. Only for ``to="delta"``.
    target_file_bytes : int, default 134217728
        Bytes of the files that this makes.
    table : str, optional
        Make the table of Delta known in the catalogue of Spark under a name, such as ``catalog.db.statements``, unless
        it is. Only for ``to="delta"``. The session needs the jar of Delta.
    progress : callable, optional
        Called with the bytes of the sources done, bytes in all, statements; and the same for a compaction.
    **options : Unpack[SourceOptions]
        Shared keywords: see `SourceOptions`. Tasks are at least two for each core. Without ``on_error="skip"`` the
        first broken source ends the job, also one that an earlier run has skipped, and finished tasks are kept for the
        next run. All runs must use the same ``partitions``.

    Raises
    ------
    FileNotFoundError
        If there are no files to read.
    JellyError
        If a source is broken, or the directory holds other files or was made with other settings, or cannot take
        sources that are new or have changed; or if the name is that of another table.
    JellyOptionsError
        If options contradict each other.

    Notes
    -----
    An id is 63 bits of a hash of the term, the same in every directory with the same ``seed``, see `term_id`. Two terms
    with one id are an error, never one term; another ``seed`` then helps. Among 100 million terms the chance is 1 to
    2,000.

    Of two ingests at a time into one table the first to commit wins, and the other is an error. In stores that can only
    look before they write (SFTP, say, and others without conditional writes) both may win: do not let two run.

    The tables of the layouts "ids", "vertical" and "wide" are made once, of all sources: new ones are an error, too.
    Vertical and wide tables are built from a table ``statements``, which stays beside them.

    Examples
    --------
    >>> def table(sources):
    ...     return ingest(sources, "table", spark="local[2]", layout="ids").statements
    """
    _check(to, layout, partition_by, sort, table)
    if compact:
        _check_compaction(to, target_file_bytes)
    began = time.perf_counter()
    store = _store(dst, options.get("storage"))
    tables = Tables(layout, buckets, seed, tuple(sort)) if layout in BUILT else None
    flat: Layout = "flat" if tables else cast("Layout", layout)
    reading = Reading.of(options)
    labels, partitions = reading.blank_nodes, options.get("partitions", True)
    work = Work(store, to, flat, partition_by, tuple(sort), reading, tables)
    paths, files, left_out = reading.sources(src, options.get("allow_empty", False))
    # Larger tasks make fewer files; with some for each core none waits long for the last one.
    cut = partial(
        reading.split, split_bytes=options.get("split_bytes"), directories=Directories(tuple(paths), partitions),
        tasks=_TASKS_OF_CORE * (cores(spark) or _CORES),
    )  # fmt: skip
    settings: Json = {
        "to": to, "layout": layout, "partition_by": partition_by, "sort": list(sort), "blank_nodes": labels.mode
    }  # fmt: skip
    settings |= {} if labels.base is None else {"skolem_base": labels.base}
    settings |= tables.settings() if tables else {}
    settings |= {} if partitions else {"partitions": False}
    report = Ingestion(store.url, unknown=left_out)
    with _Session(spark, conf) as running:
        journal: Any = _delta(store, settings, schema(flat), work.column) if to == "delta" else (
            DirectoryTasks(store, settings)
        )  # fmt: skip
        journal.recover()
        left, weights = _due(journal, files, cut, report, work, prune)
        _do(running, journal, work, left, weights, report, progress or _untold)
        journal.publish()
        if compact:
            _compact(running, journal, work, target_file_bytes, report, progress or _untold)
        if table is not None:
            _register(running.spark, table, store.url)
        report.seconds = time.perf_counter() - began - running.seconds
    return report


def _register(spark: SparkSession, table: str, url: str) -> None:
    """Make a table of Delta known by a name. JellyError if another table has it."""
    quoted = url.replace("\\", "\\\\").replace("'", "\\'")
    spark.sql(f"create table if not exists {table} using delta location '{quoted}'")
    row = spark.sql(f"describe detail {table}").select("location").first()
    assert row is not None
    if not unquote(row[0]).endswith(url.lstrip("/")):
        raise JellyError(f"{table} is the name of another table, of {row[0]}", source=url)


def _delta(store: Store, settings: Json | None, *made: Any) -> DeltaTasks:
    from jelly.spark._ingest.delta import DeltaTasks

    return DeltaTasks(store, settings, *made)


def _check(to: str, layout: str, partition_by: str | None, sort: Sequence[str], table: str | None) -> None:
    """Check that the options do not contradict each other."""
    if table is not None and to != "delta":
        raise JellyOptionsError('only a table of Delta gets a name in the catalogue: to="delta"')
    if partition_by is not None and to == "jelly":
        raise JellyOptionsError("partitions are for Parquet only: a Jelly file holds all columns")
    if sort and to == "jelly":
        raise JellyOptionsError("only Parquet can be sorted: the statements of a Jelly file have their order")
    if layout in BUILT and (to != "parquet" or partition_by is not None):
        raise JellyOptionsError(f'layout "{layout}" makes tables in Parquet, with partitions of its own')


def _due(
    journal: Tasks,
    files: list[File],
    cut: Callable[[list[File]], list[list[Part]]],
    report: Ingestion,
    work: Work,
    prune: bool,
) -> tuple[list[list[Part]], dict[Part, int]]:
    """The tasks that no earlier run has done, the longest first, and the bytes of each part.

    Sources that have changed are dropped, and with ``prune`` those that are gone, which only a table of Delta can. The
    report notes what is known.
    """
    plan = cut(files)
    paths = {file.path for file in files}
    gone = {path for path in journal.sources - paths if not exists(path, work.reading.storage)}
    stale = {*journal.changed(plan), *(gone if prune else ())}
    if stale and work.to != "delta":
        raise _kept(journal, stale)
    if not work.reading.skip_errors and (kept := journal.errors(paths - stale)):
        told = IngestProblem(**kept[0]).error()
        told.reason += " (skipped by an earlier run)"
        raise told
    if stale:
        journal.drop(stale)
    report.errors = [IngestProblem(**error) for error in journal.errors(paths)]
    report.vanished, report.pruned = sorted(gone & journal.sources), sorted(gone - journal.sources)
    if others := journal.owed - paths - gone:
        # They shared a task with a source that has changed, perhaps in a run with other paths.
        files = files + find_files(sorted(others), storage=work.reading.storage)
        plan = cut(files)
    left = journal.missing(plan)
    sources = {part.file.path for task in left for part in task}
    if sources and work.tables and not journal.is_new:
        raise _kept(journal, sources, work.tables.layout)
    weights = _weights(plan)
    # The longest tasks first, so that none is left to run alone.
    left.sort(key=lambda task: sum(weights[part] * work.reading.cost(part.file) for part in task), reverse=True)
    report.sources, report.done_before, report.tasks = len(sources), len(files) - len(sources), len(left)
    return left, weights


def _kept(journal: Tasks, paths: Collection[str], layout: str = "") -> JellyError:
    """The error for sources that a directory of files cannot take any more."""
    why = (
        f'sources are new ({len(paths):,}), such as {min(paths)}, but the tables of layout "{layout}" are made once, '
        "of all sources" if layout else
        f"sources have changed or are gone ({len(paths):,}), such as {min(paths)}, but a directory of files is only "
        "added to: its readers would see rows twice, or miss some, while files are exchanged"
    )  # fmt: skip
    return JellyError(
        f"{why}; ingest into another one, or into a table of Delta: to='delta', as a command --to delta",
        source=journal.store.url,
    )


def _do(
    running: _Session,
    journal: Tasks,
    work: Work,
    left: list[list[Part]],
    weights: Mapping[Part, int],
    report: Ingestion,
    progress: Progress,
) -> None:
    """Do the tasks, and the steps of tables that are built. The journal and the report note each."""
    tables = work.tables if journal.is_new else None
    if not left and not tables:
        return
    sizes = {task_name(task): sum(weights[part] for part in task) for task in left}
    total = sum(sizes.values())

    def commit(done: Json) -> None:
        journal.commit(done)
        written = [size for name, size in done["files"] if not name.startswith(SCRATCH)]
        report.files += len(written)
        report.bytes_written += sum(written)
        report.terms += done.get("terms", 0)
        if done["task"] in sizes:
            report.statements += done["statements"]
            report.bytes_read += sizes[done["task"]]
            report.errors += [IngestProblem(**error) for error in done["errors"]]
            progress(report.bytes_read, total, report.statements)

    work = replace(work, job=journal.begin())
    progress(0, total, 0)
    try:
        if left:
            _run(running.spark, work, left, commit)
        if tables:
            if steps := tables.steps(work.store, journal.staged, partial(_compute, running)):
                _run(running.spark, work, steps, commit)
            report.tables, report.misfits = tables.tables, tables.misfits
    finally:
        journal.sweep()


@checked()
def compact_table(
    dst: str | os.PathLike[str],
    *,
    spark: SparkSession | str | None = None,
    conf: Mapping[str, str] | None = None,
    target_file_bytes: int = TARGET_BYTES,
    storage: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Ingestion:
    """Make few files out of many in a table of Delta, without new sources: ``compacted`` became ``compacted_to``.

    If the table is sorted, all rows of a partition are, or of a table without partitions, and no files of it overlap.
    This is one commit, and former files stay until the table is vacuumed. Sources whose files were compacted are read
    again together when one of them changes.

    Parameters
    ----------
    dst : str or path
        The directory or URL of the table, made by `ingest` with ``to="delta"``.
    spark : SparkSession or str, optional
        A session, or the master to start one on. By default the session that this process has, or else one on
        ``local[*]``. None is started if nothing is to do, and only what was started is stopped at the end.
    conf : mapping, optional
        Settings of Spark for a session that is started.
    target_file_bytes : int, default 134217728
        Bytes of the files to make, about. Larger files stay as they are, unless the table is sorted.
    storage : mapping, optional
        Options of fsspec for a URL.
    progress : callable, optional
        Called with the bytes of the files done, bytes in all, statements, if the table is sorted.

    Raises
    ------
    JellyError
        If there is no such table, or others have changed it meanwhile.
    JellyOptionsError
        If there is a directory of files, which cannot be compacted.

    Examples
    --------
    >>> def compacted(table):
    ...     return compact_table(table, spark="local[2]").compacted
    """
    began = time.perf_counter()
    store = _store(dst, storage)
    report = Ingestion(store.url)
    is_directory = store.files(FOLDER) and not store.files("_delta_log")
    _check_compaction("parquet" if is_directory else "delta", target_file_bytes)
    with _Session(spark, conf) as running:
        journal = _delta(store, None)
        settings = journal.settings
        journal.recover()
        work = Work(store, "delta", *(settings[name] for name in ("layout", "partition_by", "sort")))
        _compact(running, journal, work, target_file_bytes, report, progress or _untold)
        report.seconds = time.perf_counter() - began - running.seconds
    return report


def _store(dst: str | os.PathLike[str], storage: Mapping[str, Any] | None) -> Store:
    [path] = absolute(dst)
    return store_of(path, storage)


def _check_compaction(to: str, target_file_bytes: int) -> None:
    if to != "delta":
        raise JellyOptionsError(
            "only a table of Delta can be compacted: readers of a directory of files would see rows twice, or miss "
            "some, while files are exchanged; ingest into one: to='delta', as a command --to delta"
        )
    if target_file_bytes < 1:
        raise JellyArgumentError("target_file_bytes must be at least 1")


def _weights(plan: list[list[Part]]) -> dict[Part, int]:
    """The bytes of each part. Parts of a file have about the same size."""
    parts = [part for task in plan for part in task]
    number = Counter(part.file.path for part in parts)
    return {part: part.file.size // number[part.file.path] for part in parts}


# ---- jobs

class _Session(ExitStack):
    """The session of Spark, which is started when it is needed. ``seconds`` is how long that took."""

    def __init__(self, spark: SparkSession | str | None, conf: Mapping[str, str] | None) -> None:
        super().__init__()
        self._session = session(spark, conf)
        self.seconds = 0.0

    @cached_property
    def spark(self) -> SparkSession:
        began = time.perf_counter()
        started = self.enter_context(self._session)
        self.seconds = time.perf_counter() - began
        return started


def _compact(
    running: _Session,
    journal: DeltaTasks,
    work: Work,
    target: int,
    report: Ingestion,
    progress: Progress,
) -> None:
    """Compact a table of Delta. The driver joins small files; executors sort the whole table."""
    from jelly.spark._ingest.delta import by_spark

    if not work.sort:
        report.compacted, report.compacted_to = journal.compact(target)
        return
    files, order = journal.files, ",".join(work.sort)
    if not files or journal.order == order:
        return
    work = replace(work, job=journal.begin())
    made = schema(work.layout)
    if work.column is not None:  # its values are in the names of directories
        made = made.remove(made.get_field_index(work.column))
    keys = [name for name in work.sort if name in made.names]
    size = sum(size for _, size in files)
    ranges = -(-size // target)
    tasks = [sorted_step(number, made) for number in range(ranges)]
    done: list[Json] = []

    def commit(task: Json) -> None:
        done.append(task)
        progress(size * len(done) // len(tasks), size, sum(task["statements"] for task in done))

    progress(0, size, 0)
    try:
        _run(running.spark, work, tasks, commit, partial(by_spark, store=work.store, files=files, ranges=ranges,
                                                                   schema=made, sort=keys))  # fmt: skip
        journal.replace([name for name, _ in files], done, order)
    finally:
        journal.sweep()
    report.compacted, report.compacted_to = len(files), sum(len(task["files"]) for task in done)


def _compute(running: _Session, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """The results of a function for some items, computed by executors."""
    if not items:
        return []
    try:
        with described(running.spark, "jelly spark ingest", ()):
            return on_executors(running.spark, function, items)
    except Exception as error:
        raise plain_error(error) from None


def _run(
    spark: SparkSession,
    work: Work,
    tasks: Sequence[list[Part] | Step],
    commit: Callable[[Json], None],
    start: Callable[..., list[Any]] | None = None,
) -> None:
    """Run the tasks and commit each as soon as it has ended, so that a later failure loses no work.

    ``start`` runs them otherwise than one by one.
    """
    from pyspark import InheritableThread

    results: list[Json] = []
    failed: list[BaseException] = []
    left = set(map(task_name, tasks))
    files = {part.file for task in tasks if isinstance(task, list) for part in task}
    told: set[str] = set()
    tick = _REMOTE_TICK if isinstance(work.store, UrlStore) else _TICK

    def collect() -> None:
        try:
            spark.addTag(work.job)
            with described(spark, "jelly spark ingest", files):
                run = partial(run_task, work)
                results.extend(on_executors(spark, run, tasks) if start is None else start(run, spark=spark))
        except BaseException as error:  # noqa: B902 - raised by the driver's own thread
            failed.append(error)

    def settle(done: Json) -> None:
        if "error" in done:
            raise IngestProblem(**done["error"]).error()
        if done["task"] in left:
            left.remove(done["task"])
            commit(done)

    thread: Thread = InheritableThread(target=collect, daemon=True, session=spark)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(tick)
            for done in new_reports(work.store, work.job, told):
                settle(done)
    except BaseException:
        spark.interruptTag(work.job)
        thread.join(10)
        raise
    for done in results:
        settle(done)
    if failed:
        raise plain_error(failed[0])
