"""The tasks of an ingest on the executors: they read parts of the sources and write files; and the journal of them.

The journal says which sources are in a table. It is ``_ingest/<number>.json``, written once for each run.

Tasks stage their files and tell of them in a report below ``_temporary``. Readers see nothing of this until all tasks
are done; then the driver publishes. A run that fails or is killed leaves the reports, and the next one, of the same
settings, takes the tasks that it needs from them.

`DirectoryTasks` are those of a directory of files, which is only added to. The journal is created under the next
number, which one run can do; then `jelly.spark._store.swap` gives the files their names. After a crash in this the
next run completes it first of all.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import uuid4

from jelly._formats.arrow_tables import compute, pa, parquet, schema
from jelly._formats.table_files import GROUP_ROWS, write_table_file
from jelly._options.layouts import Layout, find_layout
from jelly._streams.outputs import ALL_FIELDS, is_columns
from jelly._streams.writer import Writer
from jelly.errors import JellyError, JellyFormatError, JellyOptionsError, JellyUnsupportedError
from jelly.spark._ingest.buckets import SCRATCH, Step, Tables, tables_in_runs
from jelly.spark._parts import BATCH_ROWS, Errors, Part, Reading, Rows, noted
from jelly.spark._store import INGEST, SUCCESS, TEMPORARY, Json, Staged, Store, finish, swap

# Maximum files of partitions that a task keeps open.
_OPEN_FILES = 256
_MAX_PARTITIONS = 1 << 16
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
        places = asdict(self)
        return JellyFormatError(places.pop("reason"), source=places.pop("file"), **places)


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
    to: str
    layout: Layout
    partition_by: str | None
    sort_by: Sequence[str]
    reading: Reading = Reading()  # noqa: RUF009 - it is frozen
    tables: Tables | None = None  # of a layout that is built
    job: str = ""

    @property
    def column(self) -> str | None:
        """The column of the partitions."""
        return self.partition_by and find_layout(self.layout).column(self.partition_by)

    @property
    def sort(self) -> list[str]:
        """The columns that rows are sorted by."""
        return [find_layout(self.layout).column(part) for part in self.sort_by]


def task_name(task: list[Part] | Step) -> str:
    if not isinstance(task, list):
        return task.name
    return hashlib.blake2b(repr(task_parts(task)).encode(), digest_size=8).hexdigest()


def run_task(work: Work, task: list[Part] | Step) -> Json:
    """Read and write the parts of a task, or do a step. Its report is also a file, for the driver of a later run."""
    from pyspark import TaskContext

    context = TaskContext.get()
    name = task_name(task)
    attempt = f"{name}-{context.taskAttemptId() if context else os.getpid()}"
    errors: Errors = [] if work.reading.skip_errors else None
    done: Json = {"task": name, "job": work.job, "parts": [], "on_error": "raise" if errors is None else "skip"}
    staged: list[Staged] = []
    try:
        with work.store.task(work.job, attempt) as folder:
            # A name of its own in each run, so that no file of the table is ever replaced.
            unique = f"{name}-{work.job[:8]}"
            if isinstance(task, list):
                done["parts"] = task_parts(task)
                done["statements"] = _write(work, task, folder, unique, errors)
            else:
                done |= task.write(folder, unique, work.store)
            if work.to == "delta":
                done["stats"] = _statistics(folder)
            staged = work.store.stage(work.job, attempt, folder)
    except (JellyFormatError, JellyOptionsError, JellyUnsupportedError) as error:
        # Another attempt would fail too, so the error is returned and Spark does not try again.
        done["error"] = asdict(IngestProblem.of(error))
    done["files"] = [[file.name, file.size] for file in staged]
    done["staged"] = staged
    done["errors"] = [asdict(IngestProblem.of(error)) for error in errors or ()]
    work.store.write_json(f"{TEMPORARY}/{work.job}/{_REPORTS}/{attempt}.json", done)
    return done


def _statistics(folder: str) -> dict[str, Json]:
    """What Delta tells of each file of a folder: its rows, and the nulls, least and greatest value of each column."""
    found = {}
    for path in Path(folder).rglob("*.parquet"):
        about = parquet.read_metadata(path)
        told: Json = {"numRecords": about.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
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


def _write(work: Work, task: list[Part], folder: str, name: str, errors: Errors) -> int:
    """Write the statements of some parts to files with ``name`` in their names. Return their number."""
    if work.to == "jelly":
        return _write_jelly(work, task, folder, name, errors)
    if work.tables is not None:
        batches = chain.from_iterable(work.reading.batches(part, errors=errors) for part in task)
        return work.tables.write(batches, folder, name)
    reader = pa.RecordBatchReader.from_batches(schema(work.layout), _record_batches(work, task, errors))
    if work.column is not None:
        return _write_partitions(reader, work.column, folder, name)
    path = os.path.join(folder, f"part-{name}.parquet")
    rows = write_table_file(path, reader)
    if not rows:
        os.unlink(path)
    return rows


def _record_batches(work: Work, task: list[Part], errors: Errors) -> Rows:
    """The rows of a task, sorted in runs, which bound the memory."""
    read = chain.from_iterable(work.reading.read(part, layout=work.layout, errors=errors) for part in task)
    if not work.sort:
        yield from read
        return
    for run in tables_in_runs(read):
        table = pa.Table.from_batches(run).sort_by([(name, "ascending") for name in work.sort])
        yield from table.to_batches(max_chunksize=BATCH_ROWS)


def _write_partitions(reader: pa.RecordBatchReader, column: str, folder: str, name: str) -> int:
    from jelly._formats.arrow_tables import dataset  # takes some time to import

    rows: list[int] = []
    dataset.write_dataset(
        reader,
        folder,
        format="parquet",
        file_options=dataset.ParquetFileFormat().make_write_options(compression="zstd"),
        partitioning=dataset.partitioning(pa.schema([reader.schema.field(column)]), flavor="hive"),
        basename_template=f"part-{name}-{{i}}.parquet",
        existing_data_behavior="overwrite_or_ignore",
        use_threads=False,
        max_partitions=_MAX_PARTITIONS,
        max_open_files=_OPEN_FILES,
        max_rows_per_group=GROUP_ROWS,
        file_visitor=lambda file: rows.append(file.metadata.num_rows),
    )
    return sum(rows)


def _write_jelly(work: Work, task: list[Part], folder: str, name: str, errors: Errors) -> int:
    """Triples, quads, generalized statements and Jelly-RDF 1.2 go into separate files, because a stream has one
    kind."""
    writers: dict[str, Writer] = {}
    with contextlib.ExitStack() as stack:
        for part in task:
            for batch in work.reading.batches(part, errors=errors):
                is_generalized = batch.options is not None and batch.options.generalized_statements
                kind = "-quads" * (batch.arity == 4) + "-generalized" * is_generalized
                kind += "-1.2" * is_columns(batch.options)
                if kind not in writers:
                    path = os.path.join(folder, f"part-{name}{kind}.jelly")
                    options = {"generalized_statements": True} if is_generalized else None
                    writers[kind] = stack.enter_context(Writer(path, options, seekable=True))
                    writers[kind].allow(ALL_FIELDS - {"physical_type"})
                with noted(part.file.path, None):
                    writers[kind].add_batch(batch, keep_frames=False)
        return sum(writer.statements for writer in writers.values())


# ---- the journal

FOLDER = "_ingest"
_REPORTS = "_reports"

# Size and time of change of the file, first and last keyframe of the part; of text, its first and last byte.
Key = tuple[int, float, int, int | None]


class Tasks:
    """The tasks of a table: those that readers see the files of, and those that are ready to be published.

    A task is its report: ``parts`` of sources, ``files``, ``staged`` files, ``statements``, ``errors``.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.settings: Json = {}
        self.tasks: dict[str, Json] = {}
        # What publishing has to do: the staged tasks, and the files of former tasks.
        self._ready: set[str] = set()
        self._former: set[str] = set()
        self._dropped: set[str] = set()  # the sources of the latter
        self._job = ""
        # The journal that counts, and its number; 0 if there is none. It tells what its run has left: jobs that can
        # commit no more, and journals that do not count.
        self._number = 0
        self._state: Json = {"tasks": [], "over": [], "old": []}

    @property
    def is_new(self) -> bool:
        """Whether no run has published."""
        return not self._number

    def _load(self, number: int, settings: Json | None) -> None:
        """Read a journal. JellyError if it is of other settings, unless they are None."""
        name = journal_name(number)
        try:
            self._state = self.store.read_json(name)
            self.tasks = {report["task"]: report for report in self._state["tasks"]}
            known: Json = self._state["settings"]
        except (ValueError, KeyError, TypeError):
            raise JellyError(
                "the journal is gone or damaged: use another directory", source=f"{self.store.url}/{name}"
            ) from None
        self._number = number
        self.settings = known
        if settings not in (None, known):
            differ = [f"{name} {known.get(name)!r}, not {settings.get(name)!r}" for name in known | settings
                      if known.get(name) != settings.get(name)]  # fmt: skip
            raise JellyError(f"the directory was made with {', '.join(differ)}", source=self.store.url)

    # ---- sources

    @property
    def sources(self) -> set[str]:
        """The files whose statements are in the table."""
        return {part[0] for report in self.tasks.values() for part in report["parts"]}

    @property
    def owed(self) -> set[str]:
        """The files whose statements were taken out of the table, and not put into it again."""
        return self._dropped - self.sources

    def errors(self, paths: Collection[str]) -> list[Json]:
        """The errors that were skipped in some files whose statements are in the table."""
        return [error for task in self.tasks.values() for error in task["errors"] if error["file"] in paths]

    def drop(self, paths: Collection[str]) -> None:
        """Take the statements of some files, and of all files of the same tasks, out of the table."""
        raise NotImplementedError

    def changed(self, tasks: list[list[Part]]) -> list[str]:
        """The files of a plan of which the table has another state."""
        planned = _by_file(part for task in tasks for part in task_parts(task))

        def is_same(known: set[Key], keys: set[Key]) -> bool:
            # If an index has come or gone, a file is cut elsewhere. Its parts count if they make up the whole file.
            same_file = {key[:2] for key in known} <= {key[:2] for key in keys}
            return same_file and (known <= keys or _whole(known))

        return [path for path, known in self._done().items() if not is_same(known, planned.get(path, known))]

    def missing(self, tasks: list[list[Part]]) -> list[list[Part]]:
        """The parts of a plan that are not in the table, and were not read by a run that was killed."""
        planned = {tuple(part) for task in tasks for part in task_parts(task)}
        found = list(self._found(planned))
        lost = set(self.store.missing([file for report in found for file in staged_files(report)])) if found else set()
        for report in found:
            if lost.isdisjoint(staged_files(report)):
                self.commit(report)
        known = self._done()
        left = [[part for part in task if not _known(_line(part), known)] for task in tasks]
        return [task for task in left if task]

    def _found(self, planned: set[tuple[Any, ...]]) -> Iterator[Json]:
        """The reports of tasks of runs that are gone, of parts of a plan that are not in the table."""
        done = self._done()
        for report in new_reports(self.store, None, set()):
            parts = {tuple(part) for part in report["parts"]}
            # One without parts is of a later step, which counts only with all others.
            fits = report["job"].endswith(self._digest) and not report["errors"] and set() < parts <= planned
            if "error" not in report and fits and not any(_known(part, done) for part in report["parts"]):
                yield report
                _by_file(parts, done)

    def _done(self) -> dict[str, set[Key]]:
        return _by_file(part for report in self.tasks.values() for part in report["parts"])

    # ---- a run

    @property
    def _digest(self) -> str:
        return hashlib.blake2b(json.dumps(self.settings).encode(), digest_size=8).hexdigest()

    @property
    def staged(self) -> list[Staged]:
        """The files of the tasks that are to be published."""
        return [file for name in sorted(self._ready) for file in staged_files(self.tasks[name])]

    def begin(self) -> str:
        """Let tasks write. Return the name of their job, which says with which settings they do."""
        self._job = f"{uuid4().hex}-{self._digest}"
        self.store.begin(self._job)
        return self._job

    def recover(self) -> None:
        """Remove what the last commit has left."""
        for job in self.store.jobs().keys() & set(self._state["over"]):
            self.store.sweep(job)
        self.store.delete(self._state["old"])

    def sweep(self) -> None:
        """Remove what a job has left that has done nothing. Anything else stays for the next run."""
        if not self._ready:
            self.store.sweep(self._job)

    def commit(self, report: Json) -> None:
        """Note a task, to be published."""
        self.tasks[report["task"]] = report
        self._ready.add(report["task"])

    def publish(self) -> None:
        """Show readers the files of all tasks, and no other files. If there is nothing to change, nothing is done."""
        if not self.is_new and not self._ready and not self._former:
            return
        over = list(self.store.jobs())  # after this commit none of them can commit
        kept = [{key: told for key, told in report.items() if key not in ("staged", "stats")}
                for report in self.tasks.values()]  # fmt: skip
        state = {
            "settings": self.settings, "over": over, "old": list(self.store.files(FOLDER)), "tasks": kept,
        }  # fmt: skip
        self._number, self._state = self._publish(state), state
        self.tasks = {report["task"]: report for report in kept}
        self._ready.clear()
        self._former.clear()
        self._dropped.clear()
        self.recover()

    def _publish(self, state: Json) -> int:
        """Write the journal and show readers the staged files; its number."""
        raise NotImplementedError

    def _overtaken(self) -> JellyError:
        return JellyError("others have changed the table meanwhile: run this again", source=self.store.url)


class DirectoryTasks(Tasks):
    """The tasks of a directory of files.

    JellyError if it holds other files, or was made with other settings.
    """

    def __init__(self, store: Store, settings: Json) -> None:
        super().__init__(store)
        self.settings = settings
        if number := self._newest():
            self._load(number, settings)
        elif any(not name.startswith((f"{TEMPORARY}/", f"{FOLDER}/")) for name in store.files()):
            raise JellyError("the directory is not empty and has no journal of an ingest", source=store.url)

    def _newest(self) -> int:
        """The number of the last journal."""
        found = (re.fullmatch(r"_ingest/(\d+)[.]json", name) for name in self.store.files(FOLDER))
        return max((int(match[1]) for match in found if match), default=0)

    def recover(self) -> None:
        if self._number:
            self._show(self._state)
        super().recover()

    def _publish(self, state: Json) -> int:
        number = self._number + 1
        name = journal_name(number)
        state["staged"] = [file for file in self.staged if not _is_scratch(file.name)]
        if not self.store.create(name, json.dumps(state).encode()):
            raise self._overtaken()
        if self._newest() > number:  # it was there before, and others have removed it
            self.store.delete([name])
            raise self._overtaken()
        return number

    def _show(self, state: Json) -> None:
        """Give the files of a journal their names, unless they have them."""
        staged = [Staged(*file) for file in state["staged"]]
        names = self.store.files()
        are_left = any(file.place in names for file in staged)
        if are_left:
            swap(self.store, INGEST, staged)
        if are_left or SUCCESS not in names:
            finish(self.store, INGEST)


def journal_name(number: int) -> str:
    """The name of a journal."""
    return f"{FOLDER}/{number}.json"


def file_names(report: Json) -> set[str]:
    """The files of a task that become part of the table."""
    return {name for name, _ in report["files"] if not _is_scratch(name)}


def _is_scratch(name: str) -> bool:
    return name.startswith(f"{SCRATCH}/")


def staged_files(report: Json) -> list[Staged]:
    """The files that a task has staged."""
    return [Staged(*file) for file in report["staged"]]


def _known(part: list[Any], done: dict[str, set[Key]]) -> bool:
    known = done.get(part[0], set())
    return tuple(part[1:]) in known or _whole(known)


def _by_file(parts: Iterable[Sequence[Any]], known: dict[str, set[Key]] | None = None) -> dict[str, set[Key]]:
    """The parts of each file, besides those that are ``known``."""
    found = {} if known is None else known
    for path, *key in parts:
        found.setdefault(path, set()).add(tuple(key))
    return found


def _whole(done: set[Key]) -> bool:
    """Whether parts make up a whole file."""
    ends = {first: last for _, _, first, last in done}
    at: int | None = 0
    while at is not None:
        if at not in ends:
            return False
        at = ends.pop(at)
    return True


def new_reports(store: Store, job: str | None, seen: set[str]) -> Iterator[Json]:
    """The reports of ended tasks of a job, or of all jobs, that are not among those ``seen``, where they are noted."""
    for name in sorted(store.files(TEMPORARY if job is None else f"{TEMPORARY}/{job}/{_REPORTS}")):
        if f"/{_REPORTS}/" in name and name.endswith(".json") and name not in seen:
            report = store.read_json(name)
            if report is not None:
                seen.add(name)
                yield report


def task_parts(task: list[Part]) -> list[list[Any]]:
    """A task as a line of the journal."""
    return [_line(part) for part in task]


def _line(part: Part) -> list[Any]:
    return [part.file.path, part.file.size, part.file.mtime, part.first, part.last]
