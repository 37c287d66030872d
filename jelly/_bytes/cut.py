"""Compressed files that are cut where a frame of zstd, a member of gzip or a stream of bz2 seems to begin.

That is a guess: the bytes that begin one may also stand inside of one. But it is the same guess for everybody, wherever
the search begins, and a part counts only if it was decompressed to its last byte and ended there.

- Threads of one reader (`Slices`) cut bz2 only: 90 % of the CPU time of a conversion from bz2 to Jelly decompresses.
  A file of 100 MB of N-Triples (20 MB of bz2, in streams of 900 kB as pbzip2 makes them) took 3.1 s with one thread and
  1.76 s with two on two cores: 1.8 times as fast (medians of three runs in turn). Of gzip (ISA-L) and zstd it is 20 and
  12 %: there a thread that reads ahead is enough.
- Spark cuts N-Triples and N-Quads of all three into tasks (`find_frame`), which share all of the work. One task uses
  two cores already, one for Python and one for the JVM: on two cores, 600 MB of N-Triples in members of 4 MB became
  Parquet 1.0 to 1.3 times as fast in tasks from gzip, and 1.4 times from zstd. One task would leave more cores idle.
"""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing

from jelly._bytes.compression import CHUNK, suffix_of, unpacked
from jelly._bytes.raw_bytes import part_of
from jelly._bytes.workers import Workers, in_order
from jelly.errors import JellyFormatError

# The first bytes of a frame. gzip: no reserved flags, known kinds of compression and systems.
_BEGINS = {
    ".gz": re.compile(rb"\x1f\x8b\x08[\x00-\x1f][\x00-\xff]{4}[\x00\x02\x04][\x00-\x0d\xff]"),
    ".zst": re.compile(rb"\x28\xb5\x2f\xfd"),
    ".bz2": re.compile(rb"BZh[1-9]1AY&SY"),
}
# The most bytes that one of them matches.
_LONGEST = 10

# Least and maximum compressed bytes of a slice, and maximum decompressed bytes. Beyond them one thread reads on.
_LEAST = 1 << 18
_MOST = 1 << 23
_MOST_PLAIN = 1 << 24

# Bytes that are searched at a time, and bytes of a frame that must make sense.
_WINDOW = 1 << 20
_TRIAL = 1 << 16
# Places that may look like a frame at first sight and are none: in useful data there is hardly one in a gigabyte.
_TRIES = 100
# A file is cut if its second frame begins within so many bytes.
_PROBE = 1 << 22

ReadAt = Callable[[int, int], bytes]


def _unpack(data: bytes) -> list[bytes] | None:
    """The content of a slice of bz2; None if it is not one of whole streams, is broken, or holds too much."""
    found: list[bytes] = []
    held = 0
    try:
        file = unpacked(".bz2", io.BytesIO(data))
        while text := file.read1(CHUNK):
            held += len(text)
            if held > _MOST_PLAIN:
                return None
            found.append(text)
    except Exception:  # whoever reads these bytes again raises it where it belongs
        return None
    return found


class Slices:
    """Decompresses a file of bz2 in the threads of ``workers``; ``read`` gives its compressed bytes.

    Iteration gives texts, each with the number of compressed bytes that hold it. It ends early where the file cannot be
    cut: `rest` gives the compressed bytes that come then, to be decompressed in turn.

    >>> import bz2
    >>> data = bz2.compress(b"a") + bz2.compress(b"b")
    >>> with Workers(2) as workers:
    ...     [(texts, size == len(data)) for texts, size in Slices(io.BytesIO(data).read, workers)]
    [([b'a', b'b'], True)]
    """

    def __init__(self, read: Callable[[int], bytes], workers: Workers) -> None:
        self._read = read
        self._workers = workers
        self._waiting: deque[bytes] = deque()  # slices that were not given
        self._held = bytearray()  # what is not cut yet
        self._broken: Exception | None = None
        self.is_whole: bool = False  # whether all was given

    def __iter__(self) -> Generator[tuple[list[bytes], int], None, None]:
        is_part = False  # whether the slice before did not pass: it may go on in this one
        for data, texts in in_order(self._workers, self._cut(), _unpack):
            if is_part:
                data = self._waiting[0] = self._waiting.popleft() + data
                texts = _unpack(data)
            if texts is not None:
                self._waiting.popleft()
                yield texts, len(data)
            elif is_part:
                return
            is_part = texts is None
        self.is_whole = not self._waiting and not self._held and self._broken is None

    def rest(self) -> Iterator[bytes]:
        """The compressed bytes after those whose texts were given."""
        yield from (*self._waiting, bytes(self._held))
        if self._broken is not None:
            raise self._broken
        while data := self._read(CHUNK):
            yield data

    def _cut(self) -> Iterator[bytes]:
        """Slices of the bytes read. What is left in `_held` is not to be cut."""
        held = self._held
        while len(held) <= _MOST:
            try:
                data = self._read(CHUNK)
            except Exception as error:  # raised after what was read before
                self._broken = error
                return
            at = max(len(held) - _LONGEST, _LEAST)
            held += data
            while held:
                found = _BEGINS[".bz2"].search(held, at)
                end = found.start() if found else 0 if data else len(held)
                del found  # a match does not let its bytes shrink
                if not end:
                    break
                self._waiting.append(bytes(held[:end]))
                del held[:end]
                yield self._waiting[-1]
                at = _LEAST
            if not data:
                return


def find_frame(read_at: ReadAt, size: int, kind: str, first: int, last: int) -> int | None:
    """The offset of the first frame that begins at or after ``first`` and before ``last``; None if there is none.

    >>> import bz2
    >>> data = bz2.compress(b"a") + bz2.compress(b"b")
    >>> read_at = lambda offset, size: data[offset : offset + size]
    >>> find_frame(read_at, len(data), ".bz2", 1, len(data)), find_frame(read_at, len(data), ".bz2", 38, len(data))
    (37, None)
    """
    if first == 0:
        return 0
    tries = 0
    for at in range(first, last, _WINDOW):
        data = read_at(at, min(_WINDOW + _LONGEST - 1, size - at))
        place = 0
        while found := _BEGINS[kind].search(data, place):
            place = found.start() + 1
            start = at + found.start()
            if start >= min(last, at + _WINDOW):
                break
            if _is_frame(read_at, size, kind, start):
                return start
            tries += 1
            if tries > _TRIES:
                raise JellyFormatError(
                    "the compressed data cannot be read in parts: too much in it only looks like the begin of a frame;"
                    " raise split_bytes to read the file at once",
                    offset=start,
                )
    return None


def has_frames(read_at: ReadAt, size: int) -> bool:
    """Whether a file seems to have frames that can be read each for itself. Only its first 4 MiB are read."""
    kind = suffix_of(read_at(0, min(size, _LONGEST)))
    try:
        return kind in _BEGINS and find_frame(read_at, size, kind, 1, min(size, _PROBE)) is not None
    except JellyFormatError:
        return False


def _is_frame(read_at: ReadAt, size: int, kind: str, start: int) -> bool:
    """Whether the bytes at the begin of a frame can be decompressed."""
    try:
        with closing(unpacked(kind, part_of(read_at, start, min(start + _TRIAL, size)))) as file:
            file.read1(_TRIAL)
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        return isinstance(error, EOFError)
    return True
