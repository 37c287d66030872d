"""Parts of N-Triples and N-Quads: text that is not compressed, cut at line ends.

A part has the lines that begin at or after its first byte and before its last. Both are any bytes of the file, so that
a plan needs no look into it. Every line begins in one part, whichever the cuts are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

from jelly._bytes.source import CHUNK
from jelly._formats.sniff import HEAD, compression_of

__all__ = ["Lines", "after_line_end", "can_be_cut", "cut_evenly"]

# Minimum bytes of a part, and of a read.
_LEAST_PART = 1 << 12
_LEAST_READ = 1 << 16


def cut_evenly(size: int, split_bytes: int) -> list[int]:
    """The bytes at which parts of equal size begin, of at most ``split_bytes``, or 4 KiB where those are fewer.

    >>> cut_evenly(10_000, 5000), cut_evenly(10_000, 1)
    ([0, 5000], [0, 3333, 6666])
    """
    n = -(-size // max(split_bytes, _LEAST_PART))
    return [i * size // n for i in range(n)]


def can_be_cut(file: BinaryIO) -> bool:
    """Whether a file is text from which any part can be read: not compressed, whatever it is called, and seekable."""
    try:
        file.seek(-1, os.SEEK_END)
        file.read(1)  # a web server may not serve parts
        file.seek(0)
        head = file.read(HEAD)
    except (OSError, ValueError):
        return False
    return compression_of(head) is None


class Lines:
    """The bytes of the lines that begin at byte ``first`` or later, and before byte ``last`` (None: the end).

    CR and LF end a line each: between the two there is an empty line.

    >>> import io
    >>> text = io.BytesIO(b"one\\ntwo\\nthree")
    >>> [b"".join(Lines(text, first, last)) for first, last in ((0, 4), (4, 5), (5, 8), (8, None))]
    [b'one\\n', b'two\\n', b'', b'three']
    """

    def __init__(self, file: BinaryIO, first: int, last: int | None) -> None:
        self._file = file
        self._first = first
        self._last = last
        self.start = first  # the byte of the first line that begins here, once it is found

    def __iter__(self) -> Iterator[bytes]:
        first, last = self._first, self._last
        at = max(first - 1, 0)
        self._file.seek(at)
        is_found = first == 0
        while data := self._file.read(CHUNK if last is None else max(min(CHUNK, last - at), _LEAST_READ)):
            begin = 0
            if not is_found:
                begin = after_line_end(data, 0)
                is_found = begin > 0
                if not is_found:
                    at += len(data)
                    continue
                self.start = at + begin
                if last is not None and self.start >= last:
                    return
            if last is not None and at + len(data) >= last:
                end = after_line_end(data, max(last - 1 - at, 0))
                if end:
                    yield data[begin:end]
                    return
            yield data[begin:] if begin else data
            at += len(data)


def after_line_end(data: bytes, at: int) -> int:
    """The place after the first line end at or after ``at``; 0 if there is none."""
    lf = data.find(b"\n", at)
    cr = data.find(b"\r", at, len(data) if lf < 0 else lf)
    return (cr if cr >= 0 else lf) + 1
