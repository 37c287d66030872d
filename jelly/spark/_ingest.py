"""``jelly spark ingest``: files of statements to Parquet or seekable Jelly, decoded and written by executors.

No statement passes through the JVM: a task reads its part of the sources and writes its own files, and only a report
goes to the driver. `jelly.spark._commit.journal` describes how the files get their names.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal

from jelly._core.base.batch import Batch
from jelly._formats.native import default_options
from jelly._formats.table_files import GROUP_ROWS, write_table_file
from jelly._io.remote import is_url
from jelly._io.widening import ALL_FIELDS
from jelly._io.writer import Writer
from jelly._layouts import Layout, find_layout
from jelly._options import StreamOptions
from jelly._tools.blank_node_scope import BlankNodes, Mode
from jelly.arrow import dataset, pa, schema
from jelly.errors import JellyError, JellyFormatError, JellyOptionsError, JellyUnsupportedError
from jelly.spark._commit.journal import TEMPORARY, Manifest, reports, task_parts, write_whole
from jelly.spark._partitions import (
    BATCH_ROWS,
    SPLIT_BYTES,
    Part,
    absolute,
    exists,
    find_files,
    find_sources,
    local_path,
    read_batches,
    read_part,
    split,
)
from jelly.spark._parts.directories import Directories
from jelly.spark._session import described, plain_error, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Ingestion", "IngestProblem", "ingest"]

# Seconds between two checks of the reports of the tasks.
_TICK = 0.2
# Maximum files of partitions that a task keeps open.
_OPEN_FILES = 256
_MAX_PARTITIONS = 1 << 16
# Maximum rows and bytes that a task sorts at once.
_RUN_ROWS = 1 << 20
_RUN_BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class IngestProblem:
    """A problem of a source: the message, the file, and the place as far as known (see `JellyError`)."""

    reason: str
    file: str | None
    frame: int | None = None
    row: int | None = None
    offset: int | None = None
    line: int | None = None

    @classmethod
    def of(cls, error: JellyError) -> IngestProblem:
        return cls(error.reason, error.source, error.frame, error.row, error.offset, error.line)

    def error(self) -> JellyFormatError:
        """The exception for the problem."""
        return JellyFormatError(
            self.reason, frame=self.frame, row=self.row, offset=self.offset, line=self.line, source=self.file
        )


@dataclass(slots=True)
class Ingestion:
    """The result of an ingest.

    ``sources`` are the files that were read completely or in part, ``done_before`` files that were done already,
    ``files`` the written files, ``bytes_read`` and ``bytes_written`` their sizes. ``seconds`` is the time of the
    run without the start of Spark. ``errors`` are the skipped problems with ``on_error="skip"``, also those that an
    earlier run skipped in these sources.

    ``unknown`` are the files that ``skip_unknown`` left out. ``vanished`` are files that are gone, but whose statements
    are in the table; ``pruned`` are such files whose statements this run has removed.
    """

    out: str
    sources: int = 0
    done_before: int = 0
    tasks: int = 0
    statements: int = 0
    bytes_read: int = 0
    files: int = 0
    bytes_written: int = 0
    seconds: float = 0.0
    errors: list[IngestProblem] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    pruned: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers, with ``statements_per_second``."""
        return asdict(self) | {"statements_per_second": self.statements / self.seconds if self.seconds else 0.0}


@dataclass(frozen=True, slots=True)
class _Work:
    """Settings of the tasks."""

    folder: str  # of the job, under _temporary
    to: str
    layout: Layout
    column: str | None  # column of the partitions
    sort: tuple[str, ...]  # columns
    skip: bool
    format: str | None
    storage: dict[str, Any]
    blank_nodes: BlankNodes


def ingest(
    src: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    spark: SparkSession | str = "local[*]",
    conf: Mapping[str, str] | None = None,
    to: Literal["parquet", "jelly"] = "parquet",
    layout: Layout = "flat",
    partition_by: Literal["predicate", "graph"] | None = None,
    sort: Sequence[Literal["subject", "predicate", "object", "graph"]] = (),
    on_error: Literal["fail", "skip"] = "fail",
    skip_unknown: bool = False,
    allow_empty: bool = False,
    prune: bool = False,
    split_bytes: int = SPLIT_BYTES,
    pattern: str | None = None,
    format: str | None = None,
    storage: Mapping[str, Any] | None = None,
    blank_nodes: Mode = "scope",
    skolem_base: str | None = None,
    partitions: bool = True,
    progress: Callable[[int, int, int], object] | None = None,
) -> Ingestion:
    """Convert files to Parquet (zstd) or seekable Jelly in the directory ``out``. Return what was done.

    ``src``, ``pattern``, ``format`` and ``storage`` are those of the data source. ``out`` is a directory that all
    executors see. A run continues where the last run ended, for any reason: finished sources are skipped,
    sources with another size or time of change are done again. With ``on_error="fail"`` the first broken source ends
    the job, and finished tasks are kept for the next run; with ``"skip"`` broken input is skipped and reported, by each
    run with these sources. A run with ``"fail"`` fails on what an earlier run has skipped.

    Readers see the table as it was before until everything is done; then all new files appear, and ``_SUCCESS`` is
    written last. It is missing as long as the table is not whole.

    No files to read are an error without ``allow_empty``; so are files with the suffix of no format, before Spark
    starts: ``skip_unknown`` leaves them out. Sources that are gone stay in the table. They are reported, and removed
    with ``prune``, or if another source of the same task has changed.

    ``spark`` is a session or the master to start one on, with the settings ``conf``; none is started if nothing is
    to do. ``partition_by`` makes directories as in Hive, ``predicate=.../``. ``sort`` names what the rows of a task are
    sorted by, in runs of up to a million rows. ``progress`` is called with the bytes of
    the sources done, bytes in all, statements. ``blank_nodes`` and ``skolem_base`` are the options ``blankNodes`` and
    ``skolemBase`` of the data source, and ``partitions`` is its option of this name; all runs into a directory must use
    the same.

    >>> def table(sources):
    ...     return ingest(sources, "table", spark="local[2]").statements
    """
    if to not in ("parquet", "jelly"):
        raise ValueError(f'to is {to!r}: expected "parquet" or "jelly"')
    if on_error not in ("fail", "skip"):
        raise ValueError(f'on_error is {on_error!r}: expected "fail" or "skip"')
    if partition_by is not None and to != "parquet":
        raise JellyOptionsError("partitions are for Parquet only: a Jelly file holds all columns")
    if sort and to != "parquet":
        raise JellyOptionsError("only Parquet can be sorted: the statements of a Jelly file have their order")
    began = time.perf_counter()
    target = os.path.abspath(os.fspath(out))
    if is_url(os.fspath(out)):
        raise JellyUnsupportedError("an ingest writes into a directory that all executors see, not to a URL")
    column = _partition_column(partition_by, layout)
    columns = _sort_columns(sort, layout)
    files, left_out = find_sources(
        absolute(src),
        pattern=pattern,
        format=format,
        storage=storage,
        skip_unknown=skip_unknown,
        skip_errors=on_error == "skip",
        allow_empty=allow_empty,
    )
    places = Directories(tuple(map(local_path, absolute(src))), partitions)
    plan = split(files, split_bytes, format=format, storage=storage, directories=places)
    labels = BlankNodes(blank_nodes, skolem_base)
    settings: dict[str, Any] = {
        "to": to, "layout": layout, "partition_by": partition_by, "sort": list(sort), "blank_nodes": blank_nodes
    }  # fmt: skip
    settings |= {} if skolem_base is None else {"skolem_base": skolem_base}
    settings |= {} if partitions else {"partitions": False}
    report = Ingestion(target, unknown=[file.path for file in left_out])
    with Manifest(target, settings) as manifest:
        manifest.recover()
        paths = {file.path for file in files}
        gone = {path for path in (manifest.sources | manifest.owed) - paths if not exists(path, storage)}
        stale = {*manifest.changed(plan), *(gone if prune else ())}
        if on_error == "fail" and (kept := manifest.errors(paths - stale)):
            told = IngestProblem(**kept[0]).error()
            told.reason += " (skipped by an earlier run)"
            raise told
        manifest.drop(stale)
        report.errors = [IngestProblem(**error) for error in manifest.errors(paths)]
        report.vanished, report.pruned = sorted(gone & manifest.sources), sorted(gone - manifest.sources)
        if others := manifest.owed - paths - gone:
            # They shared a task with a source that has changed, perhaps in a run with other paths.
            files += find_files(sorted(others), storage=storage)
            plan = split(files, split_bytes, format=format, storage=storage, directories=places)
        weights = _weights(plan)
        left = manifest.missing(plan)
        sources = {part.file.path for task in left for part in task}
        report.sources, report.done_before, report.tasks = len(sources), len(files) - len(sources), len(left)
        job = uuid.uuid4().hex
        work = _Work(os.path.join(target, TEMPORARY, job), to, layout, column, columns, on_error == "skip",
                     format, dict(storage or {}), labels)  # fmt: skip
        if left:
            os.makedirs(work.folder)
            total = sum(weights[part] for task in left for part in task)

            def commit(done: dict[str, Any]) -> None:
                manifest.commit(done)
                report.statements += done["statements"]
                report.files += len(done["files"])
                report.bytes_written += sum(size for _, size in done["files"])
                report.bytes_read += sum(weights[part] for part in tasks[done["task"]])
                report.errors += [IngestProblem(**error) for error in done["errors"]]
                if progress is not None:
                    progress(report.bytes_read, total, report.statements)

            tasks = {_task_name(task): task for task in left}
            try:
                waiting = time.perf_counter()
                with session(spark, conf) as running:
                    began += time.perf_counter() - waiting
                    _run(running, job, work, left, commit)
                    report.seconds = time.perf_counter() - began
            finally:
                shutil.rmtree(os.path.join(target, TEMPORARY), ignore_errors=True)
        manifest.publish()
    report.seconds = report.seconds or time.perf_counter() - began
    return report


def _partition_column(partition_by: str | None, layout: Layout) -> str | None:
    if partition_by is None:
        return None
    if partition_by not in ("predicate", "graph"):
        raise ValueError(f'partition_by is {partition_by!r}: expected "predicate" or "graph"')
    return find_layout(layout).column(partition_by)


def _sort_columns(sort: Sequence[str], layout: Layout) -> tuple[str, ...]:
    parts = ("subject", "predicate", "object", "graph")
    if wrong := [name for name in sort if name not in parts]:
        raise JellyOptionsError(f"cannot sort by {wrong[0]!r}: expected some of {', '.join(parts)}")
    return tuple(find_layout(layout).column(name) for name in sort)


def _weights(plan: list[list[Part]]) -> dict[Part, int]:
    """The bytes of each part. Parts of a file have about the same size."""
    parts = [part for task in plan for part in task]
    number: dict[str, int] = {}
    for part in parts:
        number[part.file.path] = number.get(part.file.path, 0) + 1
    return {part: part.file.size // number[part.file.path] for part in parts}


def _task_name(task: list[Part]) -> str:
    return hashlib.blake2b(repr(task_parts(task)).encode(), digest_size=8).hexdigest()


# ---- the driver

def _run(
    spark: SparkSession, job: str, work: _Work, tasks: list[list[Part]], commit: Callable[[dict[str, Any]], None]
) -> None:
    """Run the tasks and commit each as soon as it has ended, so that a later failure loses no work."""
    from pyspark import InheritableThread

    context = spark.sparkContext
    results: list[dict[str, Any]] = []
    failed: list[BaseException] = []
    seen: set[str] = set()

    def collect() -> None:
        try:
            context.setJobGroup(job, "jelly spark ingest", True)
            with described(spark, "jelly spark ingest", {part.file for task in tasks for part in task}):
                results.extend(context.parallelize(tasks, len(tasks)).map(partial(_run_task, work)).collect())
        except BaseException as error:  # noqa: B902 - raised by the driver's own thread
            failed.append(error)

    def settle(done: dict[str, Any]) -> None:
        if "error" in done:
            raise IngestProblem(**done["error"]).error()
        if done["task"] not in seen:
            seen.add(done["task"])
            commit(done)

    thread: Thread = InheritableThread(target=collect, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_TICK)
            for done in reports(work.folder):
                settle(done)
    except BaseException:
        context.cancelJobGroup(job)
        thread.join(10)
        raise
    for done in results:
        settle(done)
    if failed:
        raise plain_error(failed[0])


# ---- the executors

def _run_task(work: _Work, task: list[Part]) -> dict[str, Any]:
    """Read and write the parts of a task. Its report is also a file, for the driver of a later run."""
    from pyspark import TaskContext

    context = TaskContext.get()
    name = _task_name(task)
    attempt = f"{name}-{context.taskAttemptId() if context else os.getpid()}"
    folder = os.path.join(work.folder, attempt)
    os.makedirs(folder)
    job = os.path.basename(work.folder)
    done: dict[str, Any] = {
        "task": name,
        "attempt": f"{job}/{attempt}",
        "parts": task_parts(task),
        "on_error": "skip" if work.skip else "fail",
    }
    errors: list[JellyError] | None = [] if work.skip else None
    try:
        if work.to == "jelly":
            done["statements"] = _write_jelly(work, task, folder, name, errors)
        elif work.column is None:
            done["statements"] = _write_parquet(work, task, folder, name, errors)
        else:
            done["statements"] = _write_partitions(work, task, folder, name, errors)
    except (JellyFormatError, JellyOptionsError, JellyUnsupportedError) as error:
        # Another attempt would fail too, so the error is returned and Spark does not try again.
        shutil.rmtree(folder)
        done["error"] = asdict(IngestProblem.of(error))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    done["files"] = [
        [os.path.relpath(os.path.join(place, file), folder), os.path.getsize(os.path.join(place, file))]
        for place, _, files in os.walk(folder)
        for file in files
    ]
    done["errors"] = [asdict(IngestProblem.of(error)) for error in errors or ()]
    write_whole(folder + ".json", json.dumps(done))
    return done


def _record_batches(work: _Work, task: list[Part], errors: list[JellyError] | None) -> Iterator[pa.RecordBatch]:
    read = chain.from_iterable(
        read_part(
            part,
            layout=work.layout,
            format=work.format,
            storage=work.storage,
            errors=errors,
            blank_nodes=work.blank_nodes,
        )
        for part in task
    )
    return _sorted(read, work.sort) if work.sort else read


def _sorted(batches: Iterator[pa.RecordBatch], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows in sorted runs, which bound the memory."""
    run: list[pa.RecordBatch] = []
    for batch in chain(batches, [None]):
        if batch is not None:
            run.append(batch)
        if run and (batch is None or sum(map(len, run)) >= _RUN_ROWS or sum(b.nbytes for b in run) >= _RUN_BYTES):
            table = pa.Table.from_batches(run).sort_by([(name, "ascending") for name in columns])
            yield from table.to_batches(max_chunksize=BATCH_ROWS)
            run = []


def _write_parquet(
    work: _Work, task: list[Part], folder: str, name: str, errors: list[JellyError] | None
) -> int:
    path = os.path.join(folder, f"part-{name}.parquet")
    batches = _record_batches(work, task, errors)
    rows = write_table_file(path, pa.RecordBatchReader.from_batches(schema(work.layout), batches))
    if not rows:
        os.unlink(path)
    return rows


def _write_partitions(
    work: _Work, task: list[Part], folder: str, name: str, errors: list[JellyError] | None
) -> int:
    ds = dataset()
    rows = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal rows
        for batch in _record_batches(work, task, errors):
            rows += len(batch)
            yield batch

    made = schema(work.layout)
    keys = pa.schema([made.field(work.column)])
    ds.write_dataset(
        pa.RecordBatchReader.from_batches(made, counted()),
        folder,
        format="parquet",
        file_options=ds.ParquetFileFormat().make_write_options(compression="zstd"),
        partitioning=ds.partitioning(keys, flavor="hive"),
        basename_template=f"part-{name}-{{i}}.parquet",
        existing_data_behavior="overwrite_or_ignore",
        use_threads=False,
        max_partitions=_MAX_PARTITIONS,
        max_open_files=_OPEN_FILES,
        max_rows_per_group=GROUP_ROWS,
    )
    return rows


def _write_jelly(work: _Work, task: list[Part], folder: str, name: str, errors: list[JellyError] | None) -> int:
    """Triples, quads and generalized statements go into separate files, because a stream has one kind."""
    writers: dict[tuple[int, bool], Writer] = {}
    with contextlib.ExitStack() as stack:
        for part in task:
            for batch in read_batches(
                part, format=work.format, storage=work.storage, errors=errors, blank_nodes=work.blank_nodes
            ):
                options = _options(batch)
                key = batch.arity, options.generalized_statements
                if key not in writers:
                    kind = ("", "-quads")[key[0] == 4] + "-generalized" * key[1]
                    path = os.path.join(folder, f"part-{name}{kind}.jelly")
                    writers[key] = stack.enter_context(Writer(path, options, seekable=True))
                    writers[key].allow(ALL_FIELDS - {"physical_type"})
                try:
                    writers[key].add_batch(batch, keep_frames=False)
                except JellyError as error:
                    error.source = part.file.path
                    raise
        return sum(writer.statements for writer in writers.values())


def _options(batch: Batch) -> StreamOptions:
    given = default_options(batch.arity)
    if batch.options is not None and batch.options.generalized_statements:
        return given.replace(generalized_statements=True)
    return given
