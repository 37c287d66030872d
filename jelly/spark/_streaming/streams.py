"""Structured Streaming: a directory with new files, a file that grows, and a sink of Jelly files.

Offsets say what a query has read. Spark keeps them in the checkpoint; see `jelly.spark._streaming.offsets`.
How batches become visible is in `jelly.spark._commit.job`.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from jelly._bytes.names import is_url
from jelly._formats.arrow_tables import from_batches
from jelly._formats.registry import JELLY, having
from jelly.errors import JellyError, JellyOptionsError, MissingExtraError
from jelly.spark._commit.job import Output, Written, abort_batch, commit_batch, job_of, part_of
from jelly.spark._options import option
from jelly.spark._partitions import SPLIT_BYTES
from jelly.spark._parts.directories import in_directories
from jelly.spark._parts.files import File, find_files
from jelly.spark._reading import BATCH_ROWS
from jelly.spark._settings import Settings, Task, in_options, to_arrow
from jelly.spark._streaming.offsets import Place, Seen, read_between, scan

try:
    import pyspark
    from pyspark import TaskContext
    from pyspark.sql.datasource import (
        DataSourceStreamArrowWriter,
        DataSourceStreamReader,
        InputPartition,
        WriterCommitMessage,
    )
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxFiles,
        SupportsTriggerAvailableNow,
    )
    from pyspark.sql.types import StructType
except ImportError:
    raise MissingExtraError(
        f"streaming needs Spark 4.2 or later, this is {pyspark.__version__}: python -m pip install 'pyspark>=4.2'; "
        "on Spark 4.1 read the new files with spark.read in batches"
    ) from None

__all__ = ["DirectoryStream", "FollowStream", "StreamWriter", "stream_reader"]

# Properties of tasks with the query and the batch.
_QUERY = "sql.streaming.queryId"
_BATCH = "streaming.sql.batchId"


def stream_reader(settings: Settings, schema: StructType, options: Mapping[str, str]) -> DataSourceStreamReader:
    """The reader for some options."""
    if option(options, "follow"):
        return FollowStream(settings, schema, options)
    return DirectoryStream(settings, schema, options)


class DirectoryStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream of existing and future files; each must be complete when it appears."""

    def __init__(self, settings: Settings, schema: StructType, options: Mapping[str, str]) -> None:
        self._settings = settings
        self._schema = schema
        self._most = option(options, "maxFilesPerTrigger")
        self._max_age = option(options, "maxFileAge")
        self._pinned: frozenset[File] | None = None

    def _find(self) -> list[File]:
        """The existing files; a pattern may find none yet."""
        settings = self._settings
        found: dict[str, File] = {}
        for path in settings.paths:
            try:
                files = find_files(path, pattern=settings.pattern, storage=settings.storage)
            except FileNotFoundError:
                if not glob.has_magic(path):
                    raise
                continue
            found |= {file.path: file for file in files}
        return list(found.values())

    def initialOffset(self) -> dict[str, Any]:
        return Seen().json()

    def getDefaultReadLimit(self) -> ReadMaxFiles:
        return ReadMaxFiles(self._most)

    def prepareForTriggerAvailableNow(self) -> None:
        self._pinned = frozenset(self._find())

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        files = self._find()
        if self._pinned is not None:
            files = [file for file in files if file in self._pinned]
        most = None if isinstance(limit, ReadAllAvailable) else self._most
        seen = Seen.from_json(start)
        after = seen.add(files, most, self._max_age)
        return start if after is seen else after.json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        settings = self._settings
        files = settings.known(Seen.from_json(end).since(Seen.from_json(start), self._find()))
        return [Task(task) for task in settings.tasks(files)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return self._settings.read(partition.value or (), to_arrow(self._schema))


@dataclass
class OffsetRange(InputPartition):
    """The part of a growing file that a task reads."""

    start: Place
    end: Place


class FollowStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream of the frames of one local Jelly file that grows."""

    def __init__(self, settings: Settings, schema: StructType, options: Mapping[str, str]) -> None:
        if len(settings.paths) != 1 or is_url(path := settings.paths[0]) or os.path.isdir(path):
            raise JellyOptionsError(
                f"cannot follow {', '.join(settings.paths)}: expected the path of one local Jelly file"
            )
        if settings.mode != "FAILFAST":
            raise JellyOptionsError(f"mode is {settings.mode}: a file that is followed can only be read with FAILFAST")
        self._path = path
        self._settings = settings
        self._limits = having(settings.limits, JELLY.reading - {"max_expansion"})
        self._schema = schema
        self._most = option(options, "maxBytesPerTrigger")
        self._pinned: int | None = None
        # The places of the last planned batch, and the state of the file when it had nothing more to read.
        self._places: list[Place] = []
        self._idle: tuple[Any, ...] = ()

    def initialOffset(self) -> dict[str, Any]:
        return Place().json()

    def getDefaultReadLimit(self) -> ReadMaxBytes:
        return ReadMaxBytes(self._most)

    def prepareForTriggerAvailableNow(self) -> None:
        self._pinned = os.stat(self._path).st_size if os.path.exists(self._path) else 0

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        place = _place(start)
        now = (place.offset, *_look(self._path))
        # Spark asks a hundred times a second.
        if now == self._idle:
            return start
        most = None if isinstance(limit, ReadAllAvailable) else self._most
        step = self._settings.split_bytes or SPLIT_BYTES
        with in_options():
            self._places = scan(self._path, place, most=most, step=step, until=self._pinned, **self._limits)
        if len(self._places) == 1:
            self._idle = now
            return start
        return self._places[-1].json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        first, last = _place(start), _place(end)
        if first == last:
            return []
        places = self._places
        # A batch of the checkpoint that runs again is one task.
        if not places or (places[0], places[-1]) != (first, last):
            places = [first, last]
        return [OffsetRange(*pair) for pair in zip(places, places[1:], strict=False)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if not isinstance(partition, OffsetRange):
            return
        settings = self._settings
        schema = to_arrow(self._schema)
        read = read_between(self._path, partition.start, partition.end, batch_rows=BATCH_ROWS, **self._limits)
        batches = settings.blank_nodes.batches(self._path, read)
        batches = in_directories(settings.directories.said(self._path), self._path, batches, None)
        with in_options():
            for batch in from_batches(batches, layout=settings.layout, columns=settings.columns, batch_rows=BATCH_ROWS):
                yield settings.fit(batch, schema, self._path)


def _place(offset: dict[str, Any]) -> Place:
    try:
        return Place(**offset)
    except TypeError:
        raise JellyError(
            "the checkpoint is not one of a query that follows a Jelly file: use another checkpoint"
        ) from None


def _look(path: str) -> tuple[Any, ...]:
    try:
        stat = os.stat(path)
    except FileNotFoundError:
        return ()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


@dataclass
class Message(WriterCommitMessage):
    """The message of a task of a query to the driver."""

    query: str
    written: Written


class StreamWriter(DataSourceStreamArrowWriter):
    """The sink: ``output`` says where and how to write, its job is chosen here."""

    def __init__(self, output: Output, overwrite: bool) -> None:
        if overwrite:
            raise JellyOptionsError('the output mode is "complete": batches can only be appended, expected "append"')
        self._output = output

    def write(self, iterator: Iterator[Any]) -> Message:
        context = TaskContext.get()
        query = batch = ""
        part = 0
        if context is not None:
            query, batch = (context.getLocalProperty(name) or "" for name in (_QUERY, _BATCH))
            part = context.partitionId()
        # Attempts of a killed driver may have left files, or may even be running.
        output = replace(self._output, job=job_of(query, batch), path=part_of(batch))
        output.store.begin(output.job)
        return Message(query, output.write(part, uuid4().hex, iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        told = [message for message in messages if isinstance(message, Message)]
        query = told[0].query if told else ""
        commit_batch(self._output.store, batchId, query, [message.written for message in told])

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        abort_batch(self._output.store, batchId)
