"""Parts of compressed N-Triples and N-Quads: frames of zstd, members of gzip, streams of bz2.

A part has the frames that begin at or after its first byte and before its last, both bytes of the compressed file. Of
the text in them it has the lines after a line end that is in them, and the first part the very first line. So each
part leaves out what comes up to its first line end, and reads on, in frames of the next parts, up to the first line end
there. Every line is in one part, whichever the cuts are, and a part is read without those before it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from typing import BinaryIO

from jelly._bytes.compression import unpacked, unpacking
from jelly._bytes.cut import find_frame
from jelly._bytes.raw_bytes import part_of
from jelly._bytes.source import CHUNK, MAX_EXPANSION, check_expansion
from jelly._formats.index import reader_at
from jelly._formats.sniff import HEAD
from jelly.errors import JellyError, JellyFormatError, JellyTruncatedError
from jelly.spark._parts.lines import after_line_end

__all__ = ["PackedLines"]


class PackedLines:
    """The text of the lines of the frames that begin at ``first`` or later, and before ``last`` (None: the end).

    >>> import bz2, io
    >>> packed = [bz2.compress(text) for text in (b"one\\ntw", b"o\\nth", b"ree\\n", b"four")]
    >>> file, size = io.BytesIO(b"".join(packed)), len(packed[0])
    >>> [b"".join(PackedLines(file, ".bz2", *part)) for part in ((0, size), (size, size + 1), (size + 1, None))]
    [b'one\\ntwo\\n', b'three\\n', b'four']
    """

    def __init__(
        self, file: BinaryIO, kind: str, first: int, last: int | None, max_expansion: int = MAX_EXPANSION
    ) -> None:
        self._kind = kind
        self._max_expansion = max_expansion
        self._first = first
        self._last = last
        self._size = file.seek(0, os.SEEK_END)
        self._read_at = reader_at(file)
        self.head: bytes = b""  # of the text
        self.error: JellyError | None = None  # of the compressed data: its offset is that of a compressed byte

    def __iter__(self) -> Iterator[bytes]:
        size = self._size
        last = size if self._last is None else self._last
        start = self._frame(self._first, last)
        if start is None:
            return
        end = None if last >= size else self._frame(last, size)
        is_found = self._first == 0
        for data in self._text(start, size if end is None else end):
            if not is_found:
                begin = after_line_end(data, 0)
                if not begin:
                    continue
                is_found = True
                data = data[begin:]
            if data:
                self.head = self.head or data[:HEAD]
                yield data
        if end is None or not is_found:
            return
        for data in self._text(end, size):
            behind = after_line_end(data, 0)
            yield data[:behind] if behind else data
            if behind:
                return

    def _frame(self, first: int, last: int) -> int | None:
        return find_frame(self._read_at, self._size, self._kind, first, last)

    def _text(self, start: int, end: int) -> Iterator[bytes]:
        """The contents of frames, which must end at ``end``."""
        at = start

        def read_at(offset: int, size: int) -> bytes:
            nonlocal at
            data = self._read_at(offset, size)
            at = offset + len(data)
            return data

        held = 0
        try:
            with (
                unpacking(lambda: at),
                closing(unpacked(self._kind, part_of(read_at, start, end))) as file,
            ):
                while data := file.read1(CHUNK):
                    held += len(data)
                    check_expansion(held, at - start, self._max_expansion)
                    yield bytes(data)
        except JellyTruncatedError as error:
            self.error = error
            if end == self._size:
                raise
            self.error = JellyFormatError(
                "the compressed data is broken, or cannot be read in parts because something in it only looks like the"
                " begin of a frame; raise split_bytes to read the file at once",
                offset=end,
            )
            raise self.error from None
        except JellyError as error:
            self.error = error
            raise
