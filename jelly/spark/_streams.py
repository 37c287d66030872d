"""Structured Streaming: a directory with new files, a file that grows, and a sink of Jelly files. It needs Spark 4.2.

Offsets say what a query has read. Spark keeps them in the checkpoint. `Seen` is that of a directory. It stays small for
any number of files: it has the names of the files of its batch, so that the batch is the same if it runs again, and for
all files read so far a hash of eight bytes. If there are too many hashes, files are forgotten that do not exist any
more or are older than ``max_age``. Older files are not read (as in the file source of Spark).

`Place` is that of a growing file: a boundary between two frames with the data to start a Decoder there, as JSON: byte
offset, number of the next statement and frame, the saved state, and a checksum of the bytes before it, which shows
whether the file is still the same. Bytes after the last complete frame are read later.

How batches become visible is in `jelly.spark._output`.
"""

from __future__ import annotations

import base64
import hashlib
import math
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, BinaryIO
from uuid import uuid4

from jelly._bytes.compression import COMPRESSIONS, suffix_of
from jelly._bytes.names import is_url
from jelly._bytes.source import CHUNK
from jelly._core.base.batch import Batch
from jelly._core.jelly.decoder import Decoder
from jelly._dataset.seekable.keyframes import read_segment
from jelly._formats.arrow_tables import from_batches
from jelly._formats.index import Index, Keyframe, checksum_ends, chunks_of, first_options
from jelly._formats.registry import JELLY, having
from jelly.errors import JellyError, JellyFormatError, JellyLimitError, JellyOptionsError, MissingExtraError
from jelly.spark._options import Options, option
from jelly.spark._output import Output, abort_batch, commit_batch, job_of, part_of
from jelly.spark._parts import BATCH_ROWS, SPLIT_BYTES
from jelly.spark._parts.files import File, in_directories
from jelly.spark._settings import Message, Settings, Task, in_options, to_arrow
from jelly.spark._store import Json

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

# Hashes of eight bytes; all of them are 700 KB of base64.
MAX_SEEN = 1 << 16
_HASH = 8
# A place is part of a streaming offset. Spark writes one for every batch and keeps a hundred.
MAX_STATE = 1 << 20
# Minimum bytes of a read, also with a small limit.
MIN_CHUNK = 1 << 12


def _hash(file: File) -> bytes:
    return hashlib.blake2b(file.path.encode("utf-8", "surrogateescape"), digest_size=_HASH).digest()


@dataclass(frozen=True, slots=True)
class Seen:
    """A streaming offset: the number of the ``batch``, its ``files``, the hashes of all files read so far.

    ``newest`` is the latest time of change of all files so far, in seconds since the epoch.
    """

    batch: int = 0
    files: tuple[File, ...] = ()
    hashes: frozenset[bytes] = frozenset()
    newest: float = 0.0

    def json(self) -> Json:
        return {
            "batch": self.batch,
            "files": [[file.path, file.size, file.mtime] for file in self.files],
            "seen": base64.b64encode(b"".join(sorted(self.hashes))).decode(),
            "newest": self.newest,
        }

    @classmethod
    def from_json(cls, offset: Json) -> Seen:
        """Raise JellyError if it is not an offset of this data source."""
        try:
            data = base64.b64decode(offset["seen"])
            hashes = frozenset(data[at : at + _HASH] for at in range(0, len(data), _HASH))
            files = tuple(File(*file) for file in offset["files"])
            return cls(offset["batch"], files, hashes, offset["newest"])
        except (KeyError, TypeError, ValueError):
            raise JellyError(
                "the checkpoint is not one of a query over a directory of Jelly files: use another checkpoint"
            ) from None

    def add(self, listed: Sequence[File], most: int | None, max_age: float = math.inf) -> Seen:
        """The offset after the next batch: the ``most`` oldest unread files of those ``listed`` now.

        Without unread files it is the same offset. JellyLimitError if there are too many files to remember.
        """
        newest = max([self.newest, *(file.mtime for file in listed)])
        current = [file for file in listed if file.mtime >= newest - max_age]
        new = [file for file in current if _hash(file) not in self.hashes]
        new.sort(key=lambda file: (file.mtime, file.path))
        new = new[:most]
        if not new:
            return self
        hashes = self.hashes | {_hash(file) for file in new}
        if len(hashes) > MAX_SEEN:
            hashes &= {_hash(file) for file in current}
        if len(hashes) > MAX_SEEN:
            raise JellyLimitError(
                f"more than {MAX_SEEN} files of the directory were read: move them away, or set maxFileAge"
            )
        return Seen(self.batch + 1, tuple(new), hashes, newest)

    def since(self, start: Seen, listed: Iterable[File]) -> tuple[File, ...]:
        """The files of the batch from ``start`` to this offset. JellyError if one was removed or changed since."""
        if self.batch == start.batch:
            return ()
        if self.batch != start.batch + 1:
            raise JellyError(f"a batch from offset {start.batch} to {self.batch}: the checkpoint is damaged")
        sizes = {file.path: file.size for file in listed}
        for file in self.files:
            size = sizes.get(file.path)
            if size is None:
                raise JellyError("the file is gone, and a batch of the query needs it", source=file.path)
            if size != file.size:
                raise JellyError(
                    f"the file had {file.size} bytes when it was found and has {size} now: files must be complete when "
                    "they appear, so write them under another name and rename them",
                    source=file.path,
                )
        return self.files


@dataclass(frozen=True, slots=True)
class Place:
    """A boundary between two frames of a file: `scan` finds them, `read_between` reads from one to the next."""

    offset: int = 0
    statement: int = 0
    frame: int = 0
    checksum: int = 0
    state: str = ""

    def json(self) -> Json:
        return asdict(self)

    def check(self, file: BinaryIO) -> None:
        """JellyError if the file is not the one in which this place was found."""
        size = os.fstat(file.fileno()).st_size
        if size < self.offset:
            why = f"the file has {size} bytes, and {self.offset} of it were read: it was cut or replaced"
        elif self.offset and checksum_ends(file, self.offset) != self.checksum:
            why = f"the {self.offset} bytes that were read have changed: the file was replaced"
        else:
            return
        raise JellyError(f"{why}. A file that is followed may only grow; start the query anew with another checkpoint")

    def unpacked(self) -> bytes:
        """The state of the decoder."""
        try:
            return zlib.decompress(base64.b64decode(self.state))
        except (ValueError, zlib.error):
            raise JellyFormatError("the saved state in the streaming offset is damaged") from None


@contextmanager
def _opened(path: str, place: Place) -> Iterator[BinaryIO]:
    """Open the file in which a place was found. Errors within this name the file."""
    with open(path, "rb") as file:
        try:
            place.check(file)
            yield file
        except JellyError as error:
            error.source = error.source or path
            raise


def scan(
    path: str, start: Place, *, step: int, most: float = math.inf, until: float = math.inf, **limits: Any
) -> list[Place]:
    """The places up to the last complete frame: ``start``, one about every ``step`` bytes, the last.

    It ends at the first frame that ends ``most`` bytes after ``start`` or later, and reads nothing that comes after
    ``until``. ``limits`` are those of the `Decoder`. JellyError where the file was cut or replaced, is compressed or
    broken.
    """
    places = [start]
    if not start.offset and not os.path.exists(path):
        return places
    with _opened(path, start) as file:
        known: dict[str, Any] = {}
        if start.offset:
            known = {
                "delimited": True, "options": first_options(file), "state": start.unpacked(), "offset": start.offset,
                "first_row": start.statement, "first_frame": start.frame,
            }  # fmt: skip
        elif suffix_of(file.read(max(map(len, COMPRESSIONS.values())))):
            raise JellyError("the file is compressed: only a plain one can be followed")
        decoder = Decoder(**known, **limits)
        last = int(min(until, file.seek(0, os.SEEK_END)))
        file.seek(start.offset)
        chunk = int(min(CHUNK, step, max(most, MIN_CHUNK)))
        while decoder.offset < start.offset + most and (data := file.read(max(min(chunk, last - file.tell()), 0))):
            for _ in decoder.feed(data):
                pass
            if decoder.delimited is False:
                raise JellyError("the file is one bare frame: only a delimited stream can be followed")
            if decoder.options is not None and decoder.offset - places[-1].offset >= step:
                places.append(_place(file, decoder))
        if decoder.options is not None and decoder.offset > places[-1].offset:
            places.append(_place(file, decoder))
    return places


def read_between(path: str, start: Place, end: Place, **limits: Any) -> Iterator[Batch]:
    """The Batches between two places. JellyError if the file was truncated or replaced."""
    with _opened(path, end) as file:
        first, last = (Keyframe(place.offset, place.statement, place.frame) for place in (start, end))
        index = Index(first_options(file), (first,), end.statement, end.frame, end.offset, lambda _: start.unpacked())
        yield from read_segment(chunks_of(file), index, (first, last), **limits)


def _place(file: BinaryIO, decoder: Decoder) -> Place:
    state = base64.b64encode(zlib.compress(decoder.save(), 6)).decode()
    if len(state) > MAX_STATE:
        raise JellyLimitError(
            f"the decoder's state takes {len(state)} bytes, and a streaming offset may have {MAX_STATE}: follow a "
            "stream with smaller lookup tables, or read a directory of files",
            offset=decoder.offset,
        )
    at = file.tell()
    checksum = checksum_ends(file, decoder.offset)
    file.seek(at)
    return Place(decoder.offset, decoder.statements, decoder.frames, checksum, state)


# ---- readers and the sink

# Properties of tasks with the query and the batch.
_QUERY = "sql.streaming.queryId"
_BATCH = "streaming.sql.batchId"


class DirectoryStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream of existing and future files; each must be complete when it appears."""

    def __init__(self, settings: Settings, schema: StructType, options: Options) -> None:
        self._settings = settings
        self._schema = schema
        self._most = option(options, "maxFilesPerTrigger")
        self._max_age = option(options, "maxFileAge")
        self._pinned: frozenset[File] | None = None

    def initialOffset(self) -> Json:
        return Seen().json()

    def getDefaultReadLimit(self) -> ReadMaxFiles:
        return ReadMaxFiles(self._most)

    def prepareForTriggerAvailableNow(self) -> None:
        self._pinned = frozenset(self._settings.found(is_stream=True))

    def latestOffset(self, start: Json, limit: Any) -> Json:
        files = self._settings.found(is_stream=True)
        if self._pinned is not None:
            files = [file for file in files if file in self._pinned]
        most = None if isinstance(limit, ReadAllAvailable) else self._most
        seen = Seen.from_json(start)
        after = seen.add(files, most, self._max_age)
        return start if after is seen else after.json()

    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        settings = self._settings
        files = settings.known(Seen.from_json(end).since(Seen.from_json(start), settings.found(is_stream=True)))
        return [Task(task) for task in settings.tasks(files)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return self._settings.read(partition.value or (), to_arrow(self._schema))


class FollowStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream of the frames of one local Jelly file that grows."""

    def __init__(self, settings: Settings, schema: StructType, options: Options) -> None:
        if len(settings.paths) != 1 or is_url(path := settings.paths[0]) or os.path.isdir(path):
            raise JellyOptionsError(
                f"cannot follow {', '.join(settings.paths)}: expected the path of one local Jelly file"
            )
        if settings.mode != "FAILFAST":
            raise JellyOptionsError(f"mode is {settings.mode}: a file that is followed can only be read with FAILFAST")
        self._path = path
        self._settings = settings
        self._limits = having(settings.reading.limits, JELLY.reading - {"max_expansion"})
        self._schema = schema
        self._most = option(options, "maxBytesPerTrigger")
        self._pinned = math.inf
        # The places of the last planned batch, and the state of the file when it had nothing more to read.
        self._places: list[Place] = []
        self._idle: tuple[Any, ...] = ()

    def initialOffset(self) -> Json:
        return Place().json()

    def getDefaultReadLimit(self) -> ReadMaxBytes:
        return ReadMaxBytes(self._most)

    def prepareForTriggerAvailableNow(self) -> None:
        self._pinned = os.stat(self._path).st_size if os.path.exists(self._path) else 0

    def latestOffset(self, start: Json, limit: Any) -> Json:
        place = _place_of(start)
        now = (place.offset, *_look(self._path))
        # Spark asks a hundred times a second.
        if now == self._idle:
            return start
        most = math.inf if isinstance(limit, ReadAllAvailable) else self._most
        step = self._settings.split_bytes or SPLIT_BYTES
        with in_options():
            self._places = scan(self._path, place, most=most, step=step, until=self._pinned, **self._limits)
        if len(self._places) == 1:
            self._idle = now
            return start
        return self._places[-1].json()

    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        first, last = _place_of(start), _place_of(end)
        if first == last:
            return []
        places = self._places
        # A batch of the checkpoint that runs again is one task.
        if not places or (places[0], places[-1]) != (first, last):
            places = [first, last]
        return [InputPartition(pair) for pair in pairwise(places)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        settings = self._settings
        schema = to_arrow(self._schema)
        read = read_between(self._path, *partition.value, batch_rows=BATCH_ROWS, **self._limits)
        batches = settings.reading.blank_nodes.batches(self._path, read)
        batches = in_directories(settings.directories.said(self._path), self._path, batches, None)
        with in_options():
            for batch in from_batches(batches, layout=settings.layout, columns=settings.columns, batch_rows=BATCH_ROWS):
                yield settings.fit(batch, schema, self._path)


def _place_of(offset: Json) -> Place:
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


class StreamWriter(DataSourceStreamArrowWriter):
    """The sink: ``output`` says where and how to write, its job is chosen here."""

    def __init__(self, output: Output, overwrite: bool) -> None:
        if overwrite:
            raise JellyOptionsError('the output mode is "complete": batches can only be appended, expected "append"')
        self._output = output

    def write(self, iterator: Iterator[Any]) -> Message:
        context = TaskContext.get()
        assert context is not None  # Spark says so for tasks
        query, batch = (context.getLocalProperty(name) or "" for name in (_QUERY, _BATCH))
        # Attempts of a killed driver may have left files, or may even be running.
        output = replace(self._output, job=job_of(query, batch), path=part_of(batch))
        output.store.begin(output.job)
        return Message(output.write(context.partitionId(), uuid4().hex, iterator), query)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        told = [message for message in messages if isinstance(message, Message)]
        query = told[0].query if told else ""
        commit_batch(self._output.store, batchId, query, [message.written for message in told if message.written])

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        abort_batch(self._output.store, batchId)
