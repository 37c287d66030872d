"""Temporary files for Batches and hashes of rows that do not fit into memory. They are gone with the process.

The files have no name in the directory of temporary files (``TMPDIR``), so a process that is killed leaves none.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np

from jelly._core.algebra.row_index import RowIndex
from jelly._core.base.batch import Batch, restate
from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.encoder import Encoder
from jelly._formats.native import default_options
from jelly._options.options import ROW_VERSION
from jelly._streams.drain import drain

CHUNK = 1 << 20
MAX_FRAME_BYTES = (1 << 31) - 1

# Hashes in files: three numbers a row, the hash and the number of the row; parts by the first bits of the hash. A part
# of which the index does not fit into memory is read several times, with other rows each time.
ENTRY, PARTS, PART_SHIFT = 3, 64, np.uint64(58)
INDEX_BYTES, MAX_PASSES, MIN_INDEX = 32, 64, 1 << 16
MOVED_ROWS = 1 << 14


@contextmanager
def _folder_named() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = tempfile.gettempdir()  # the file has no name, and its disk may be full
        raise


class Spool:
    """Batches in their order: in memory up to a bound, what comes then in a temporary file, as Jelly."""

    def __init__(self, bound: int, stack: ExitStack) -> None:
        self._stack = stack
        self._bound = bound
        self._batches: list[Batch] = []
        self.nbytes = 0  # of what is in memory
        self._file: Any = None
        # Whatever any Batch may have, as the first one does not tell.
        options = default_options(4).replace(rdf_star=True, generalized_statements=True, version=ROW_VERSION)
        self._encoder: Any = Encoder(options, frame_rows=4096)
        self._encoder.takes_any = True
        self.rows = 0

    def add(self, batch: Batch) -> None:
        self.rows += len(batch)
        self._batches.append(batch)
        self.nbytes += batch.nbytes
        if self._file is not None or self.nbytes > self._bound:
            self.spill()

    def _write(self, data: bytes) -> None:
        with _folder_named():
            self._file.write(data)

    def spill(self) -> None:
        """Move what is in memory into the file."""
        if self._file is None:
            self._file = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - closed by the stack
        for batch in self._batches:
            self._write(self._encoder.encode(batch, False))
        self._batches, self.nbytes = [], 0

    def end(self) -> None:
        """Nothing more is added."""
        if self._encoder is not None:
            if self._file is not None:
                self._write(self._encoder.close())
                self._file.flush()
            self._encoder = None  # its tables and buffers take some MB

    def batches(self, chunk: int = CHUNK, **settings: Any) -> Iterator[Batch]:
        """All Batches. Nothing can be added after this. ``settings`` are keywords of the `Decoder`."""
        self.end()
        yield from self._batches
        if self._file is not None:
            self._file.seek(0)
            decoder = Decoder(delimited=True, max_frame_bytes=MAX_FRAME_BYTES, **settings)
            # The options are those of this file, not of the source of the Batches.
            for batch in drain(decoder, iter(partial(self._file.read, chunk), b"")):
                yield restate(batch, None)

    def close(self) -> None:
        """Give memory and disk back."""
        self._batches = []
        if self._file is not None:
            self._file.close()


class PartFile:
    """Entries that begin with a hash, in a temporary file from which they are read part by part; ``width`` numbers
    each."""

    def __init__(self, bound: int, stack: ExitStack, width: int) -> None:
        self._file = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - closed by the stack
        self._bound = bound
        self._width = width
        self._waiting: list[Any] = []
        self._size = 0
        self._blocks: list[tuple[int, Any]] = []  # where each begins, and where its parts do

    def add(self, entries: Any) -> None:
        self._waiting.append(entries)
        self._size += entries.nbytes
        if self._size > self._bound:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            entries = np.concatenate(self._waiting)
            parts = entries[:, 1] >> PART_SHIFT
            order = np.argsort(parts, kind="stable")
            bounds = np.searchsorted(parts[order], np.arange(PARTS + 1, dtype=np.uint64))
            self._blocks.append((self._file.tell(), bounds * entries.itemsize * self._width))
            with _folder_named():
                self._file.write(entries[order].data)
            self._waiting, self._size = [], 0

    def part_size(self, part: int) -> int:
        """Bytes of a part."""
        return int(sum(bounds[part + 1] - bounds[part] for _, bounds in self._blocks))

    def entries(self, part: int, number: int, passes: int) -> Iterator[Any]:
        """The entries of a part, in their order, in one of several passes over it."""
        for at, bounds in self._blocks:
            size = int(bounds[part + 1] - bounds[part])
            if not size:
                continue
            self._file.seek(at + int(bounds[part]))
            data = self._file.read(size)
            entries = np.frombuffer(data, np.uint64).reshape(-1, self._width)
            if passes > 1:
                entries = entries[(entries[:, 0] >> np.uint64(32)) % np.uint64(passes) == number]
            yield entries

    @property
    def is_spilled(self) -> bool:
        return bool(self._blocks)

    def parts(self, bound: int) -> Iterator[list[Any]]:
        """All entries in lists of arrays, those with one hash in one list of approximately ``bound`` bytes."""
        if not self._blocks:
            yield from [self._waiting] if self._waiting else ()
            return
        self.flush()
        for part in range(PARTS):
            passes = min(MAX_PASSES, 1 + self.part_size(part) // max(bound, MIN_INDEX))
            for number in range(passes):
                found = [*self.entries(part, number, passes)]
                if any(map(len, found)):
                    yield found


class HashFile(PartFile):
    """Hashes of rows, numbered as they come, in a temporary file from which they are read part by part."""

    def __init__(self, bound: int, stack: ExitStack) -> None:
        super().__init__(bound, stack, ENTRY)
        self.rows = 0

    def add(self, hashes: Any) -> None:
        entries = np.empty((len(hashes), ENTRY), np.uint64)
        entries[:, :2] = hashes
        entries[:, 2] = np.arange(self.rows, self.rows + len(hashes))
        self.rows += len(hashes)
        super().add(entries)

    def read(self, part: int, number: int, passes: int) -> Iterator[tuple[Any, Any]]:
        """Hashes and numbers of the rows of a part, in their order, in one of several passes over it."""
        for entries in self.entries(part, number, passes):
            yield np.ascontiguousarray(entries[:, :2]), entries[:, 2].astype(np.int64)

    def move(self, index: RowIndex, start: int, stop: int) -> None:
        """Add hashes of an index."""
        for at in range(start, stop, MOVED_ROWS):
            self.add(index.hashes(at, min(at + MOVED_ROWS, stop)))


def marks(n: int, bound: int, stack: ExitStack) -> Any:
    """An array of bool that takes no memory of this process where it is large."""
    if n <= bound:
        return np.zeros(n, np.bool_)
    file: Any = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - closed by the stack
    if hasattr(os, "posix_fallocate"):
        with _folder_named():  # or the first write where there is no room would kill the process
            os.posix_fallocate(file.fileno(), 0, n)
    return np.memmap(file, np.bool_, "w+", shape=n)


def compare(old: HashFile, new: HashFile, bound: int, gone: Any, fresh: Any) -> None:
    """Mark in ``fresh`` the rows of ``new`` that ``old`` has not got, each once, and take the marks in ``gone`` from
    the rows of ``old`` that ``new`` has, and from rows that are there already. ``bound`` is the memory, in bytes."""
    for file in (old, new):
        file.flush()
    for part in range(PARTS):
        size = (old.part_size(part) + new.part_size(part)) // (8 * ENTRY) * INDEX_BYTES
        passes = min(MAX_PASSES, 1 + size // max(bound, MIN_INDEX))
        for number in range(passes):
            index = RowIndex()
            firsts = [np.empty(0, np.int64)]  # the rows of the old one by their numbers in the index
            for hashes, rows in old.read(part, number, passes):
                _, is_first = index.add(hashes)
                firsts.append(rows[is_first])
                gone[rows[~is_first]] = False
            first = np.concatenate(firsts)
            for hashes, rows in new.read(part, number, passes):
                numbers, is_first = index.add(hashes)
                gone[first[numbers[numbers < len(first)]]] = False
                fresh[rows[is_first]] = True
