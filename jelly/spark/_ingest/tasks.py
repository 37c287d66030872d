"""The tasks of an ingest on the executors: they read parts of the sources and write files; and the report."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from jelly._core.base.batch import Batch
from jelly._dataset.blank_node_scope import BlankNodes
from jelly._formats.arrow_tables import compute, pa, parquet, schema
from jelly._formats.table_files import GROUP_ROWS, write_table_file
from jelly._options.layouts import Layout
from jelly._streams.output_options import is_columns
from jelly._streams.widening import ALL_FIELDS
from jelly._streams.writer import Writer
from jelly.errors import JellyError, JellyFormatError, JellyOptionsError, JellyUnsupportedError
from jelly.spark._commit.store import Store
from jelly.spark._ingest.compact import Sorted
from jelly.spark._ingest.journal import report_name, task_parts
from jelly.spark._partitions import Part
from jelly.spark._reading import BATCH_ROWS, read_batches, read_part
from jelly.spark._tables.buckets import Step, Tables

__all__ = ["IngestProblem", "Ingestion", "Work", "run_task", "task_name"]

# Maximum files of partitions that a task keeps open.
_OPEN_FILES = 256
_MAX_PARTITIONS = 1 << 16
# Maximum rows and bytes that a task sorts at once.
_RUN_ROWS = 1 << 20
_RUN_BYTES = 1 << 28
# Characters of a value in the log of Delta: readers skip files by them.
_PREFIX = 64


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

    ``compacted`` are the files that were merged, ``compacted_to`` those that were made of them.

    ``terms`` are the terms of the layout "ids" that this run has written, ``tables`` those that it has built of
    "vertical" and "wide", ``misfits`` what does not fit into wide tables: the run that builds the tables reports it.

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
    compacted: int = 0
    compacted_to: int = 0
    seconds: float = 0.0
    terms: int = 0
    tables: int = 0
    misfits: list[str] = field(default_factory=list)
    errors: list[IngestProblem] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    pruned: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers, with ``statements_per_second``."""
        return asdict(self) | {"statements_per_second": self.statements / self.seconds if self.seconds else 0.0}


@dataclass(frozen=True, slots=True)
class Work:
    """Settings of the tasks."""

    store: Store
    job: str
    to: str
    layout: Layout
    tables: Tables | None  # of a layout that is built
    column: str | None  # column of the partitions
    sort: tuple[str, ...]  # columns
    skip: bool
    format: str | None
    storage: dict[str, Any]
    blank_nodes: BlankNodes
    limits: dict[str, int]


def task_name(task: list[Part] | Step | Sorted) -> str:
    if not isinstance(task, list):
        return task.name
    return hashlib.blake2b(repr(task_parts(task)).encode(), digest_size=8).hexdigest()


def run_task(work: Work, task: list[Part] | Step | Sorted) -> dict[str, Any]:
    """Read and write the parts of a task, or do a step. Its report is also a file, for the driver of a later run."""
    from pyspark import TaskContext

    context = TaskContext.get()
    name = task_name(task)
    attempt = f"{name}-{context.taskAttemptId() if context else os.getpid()}"
    done: dict[str, Any] = {
        "task": name,
        "job": work.job,
        "attempt": attempt,
        "parts": task_parts(task) if isinstance(task, list) else [],
        "on_error": "skip" if work.skip else "fail",
    }
    errors: list[JellyError] | None = [] if work.skip else None
    try:
        with work.store.task(work.job, attempt) as draft:
            # A name of its own in each run, so that no file of the table is ever replaced.
            unique = f"{name}-{work.job[:8]}"
            if isinstance(task, Sorted):
                done |= task.write(draft.folder, unique)
            elif isinstance(task, Step):
                done |= task.write(draft.folder, work.store)
            elif work.tables is not None:
                done["statements"] = work.tables.write(_batches(work, task, errors), draft.folder, unique)
            elif work.to == "jelly":
                done["statements"] = _write_jelly(work, task, draft.folder, unique, errors)
            elif work.column is None:
                done["statements"] = _write_parquet(work, task, draft.folder, unique, errors)
            else:
                done["statements"] = _write_partitions(work, task, draft.folder, unique, errors)
            if work.to == "delta":
                done["stats"] = _statistics(draft.folder)
            staged = draft.stage()
    except (JellyFormatError, JellyOptionsError, JellyUnsupportedError) as error:
        # Another attempt would fail too, so the error is returned and Spark does not try again.
        done["error"] = asdict(IngestProblem.of(error))
        staged = []
    done["files"] = [[file.name, file.size] for file in staged]
    done["staged"] = staged
    done["errors"] = [asdict(IngestProblem.of(error)) for error in errors or ()]
    work.store.write_json(report_name(work.job, attempt), done)
    return done


def _statistics(folder: str) -> dict[str, dict[str, Any]]:
    """What Delta tells of each file of a folder: its rows, and the nulls, least and greatest value of each column."""
    found = {}
    for path in Path(folder).rglob("*.parquet"):
        about = parquet.read_metadata(path)
        told: dict[str, Any] = {"numRecords": about.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
        for number, column in enumerate(about.schema.names):
            groups = [about.row_group(group).column(number).statistics for group in range(about.num_row_groups)]
            told["nullCount"][column] = sum(group.null_count for group in groups)
            ranges = [(group.min, group.max) for group in groups if group.num_values]
            if any(None in one for one in ranges):  # Parquet tells of no long values
                values = compute.min_max(parquet.read_table(path, columns=[column], partitioning=None)[column]).as_py()
                ranges = [(values["min"], values["max"])]
            if ranges:
                told["minValues"][column] = min(least for least, _ in ranges)[:_PREFIX]
                told["maxValues"][column] = _not_below(max(greatest for _, greatest in ranges))
        found[path.relative_to(folder).as_posix()] = told
    return found


def _not_below(text: str) -> str:
    """A text that is not longer than a prefix, if there is one, and not less than another.

    >>> _not_below("a" * 63 + "bc") == "a" * 63 + "c"
    True
    """
    for at in reversed(range(_PREFIX if len(text) > _PREFIX else 0)):
        code = ord(text[at]) + 1
        if code <= sys.maxunicode:
            return text[:at] + chr(0xE000 if code == 0xD800 else code)
    return text


def _batches(work: Work, task: list[Part], errors: list[JellyError] | None) -> Iterator[Batch]:
    for part in task:
        try:
            yield from read_batches(
                part,
                format=work.format,
                storage=work.storage,
                errors=errors,
                blank_nodes=work.blank_nodes,
                limits=work.limits,
            )
        except JellyError as error:
            error.source = error.source or part.file.path
            raise


def _record_batches(work: Work, task: list[Part], errors: list[JellyError] | None) -> Iterator[pa.RecordBatch]:
    read = chain.from_iterable(
        read_part(
            part,
            layout=work.layout,
            format=work.format,
            storage=work.storage,
            errors=errors,
            blank_nodes=work.blank_nodes,
            limits=work.limits,
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
    work: Work, task: list[Part], folder: str, name: str, errors: list[JellyError] | None
) -> int:
    path = os.path.join(folder, f"part-{name}.parquet")
    batches = _record_batches(work, task, errors)
    rows = write_table_file(path, pa.RecordBatchReader.from_batches(schema(work.layout), batches))
    if not rows:
        os.unlink(path)
    return rows


def _write_partitions(
    work: Work, task: list[Part], folder: str, name: str, errors: list[JellyError] | None
) -> int:
    from jelly._formats.arrow_tables import dataset  # takes some time to import

    rows = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal rows
        for batch in _record_batches(work, task, errors):
            rows += len(batch)
            yield batch

    made = schema(work.layout)
    keys = pa.schema([made.field(work.column)])
    dataset.write_dataset(
        pa.RecordBatchReader.from_batches(made, counted()),
        folder,
        format="parquet",
        file_options=dataset.ParquetFileFormat().make_write_options(compression="zstd"),
        partitioning=dataset.partitioning(keys, flavor="hive"),
        basename_template=f"part-{name}-{{i}}.parquet",
        existing_data_behavior="overwrite_or_ignore",
        use_threads=False,
        max_partitions=_MAX_PARTITIONS,
        max_open_files=_OPEN_FILES,
        max_rows_per_group=GROUP_ROWS,
    )
    return rows


def _write_jelly(work: Work, task: list[Part], folder: str, name: str, errors: list[JellyError] | None) -> int:
    """Triples, quads, generalized statements and Jelly-RDF 1.2 go into separate files, because a stream has one
    kind."""
    writers: dict[str, Writer] = {}
    with contextlib.ExitStack() as stack:
        for part in task:
            for batch in read_batches(
                part,
                format=work.format,
                storage=work.storage,
                errors=errors,
                blank_nodes=work.blank_nodes,
                limits=work.limits,
            ):
                is_generalized = batch.options is not None and batch.options.generalized_statements
                kind = "-quads" * (batch.arity == 4) + "-generalized" * is_generalized
                kind += "-1.2" * is_columns(batch.options)
                if kind not in writers:
                    path = os.path.join(folder, f"part-{name}{kind}.jelly")
                    options = {"generalized_statements": True} if is_generalized else None
                    writers[kind] = stack.enter_context(Writer(path, options, seekable=True))
                    writers[kind].allow(ALL_FIELDS - {"physical_type"})
                try:
                    writers[kind].add_batch(batch, keep_frames=False)
                except JellyError as error:
                    error.source = part.file.path
                    raise
        return sum(writer.statements for writer in writers.values())
