"""Parts of N-Triples and N-Quads: text that is cut at line ends, as it is or compressed in frames.

A part of text has the lines that begin at or after its first byte and before its last. Both are any bytes of the file,
so that a plan needs no look into it. Every line begins in one part, whichever the cuts are.

A part of a compressed file has the frames of zstd, members of gzip or streams of bz2 that begin at or after its first
byte and before its last, both bytes of the compressed file. Of the text in them it has the lines after a line end that
is in them, and the first part the very first line. So each part leaves out what comes up to its first line end, and
reads on, in frames of the next parts, up to the first line end there. Every line is in one part, whichever the cuts
are, and a part is read without those before it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import chain
from typing import BinaryIO

from jelly._bytes.compression import suffix_of, unpacked, unpacking
from jelly._bytes.cut import find_frame
from jelly._bytes.raw_bytes import part_of
from jelly._bytes.source import CHUNK, MAX_EXPANSION, check_expansion
from jelly._core.base.batch import Batch
from jelly._formats.index import reader_at
from jelly._formats.registry import FORMATS, Format
from jelly._formats.sniff import HEAD, compression_of, explain
from jelly._streams.drain import drain
from jelly.errors import JellyError, JellyFormatError, JellySyntaxError, JellyTruncatedError

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
        self._size = file.seek(0, os.SEEK_END)
        self._first = first
        self._last = self._size if last is None else last
        self.start = first  # the byte of the first line that begins here, once it is found
        self.head: bytes = b""  # of the text
        self.error: JellyError | None = None  # of compressed data: its offset is that of a compressed byte

    def __iter__(self) -> Iterator[bytes]:
        at, end = self._ends()
        is_found = self._first == 0
        for data in self._text(at, end) if at < end else ():
            if not is_found:
                begin = _after_line_end(data)
                at += begin or len(data)
                if not begin:
                    continue
                is_found, self.start = True, at
                data = data[begin:]
            if data:
                self.head = self.head or data[:HEAD]
                yield data
        if end == self._size or not is_found:
            return
        for data in self._text(end, self._size, _LEAST_READ):
            after = _after_line_end(data)
            yield data[:after] if after else data
            if after:
                return

    def _ends(self) -> tuple[int, int]:
        """Between which bytes a line must end for the next to be one of these. The first line needs none."""
        return max(self._first - 1, 0), self._size if self._last >= self._size else self._last - 1

    def _text(self, start: int, end: int, most: int = CHUNK) -> Iterator[bytes]:
        """What stands between two bytes of the file, at most so much of it at a time."""
        self._file.seek(start)
        while data := self._file.read(min(most, end - start)):
            yield data
            start += len(data)


def _after_line_end(data: bytes) -> int:
    """The place after the first line end; 0 if there is none."""
    return data.replace(b"\r", b"\n").find(b"\n") + 1


class PackedLines(Lines):
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
        super().__init__(file, first, last)
        self._kind = kind
        self._max_expansion = max_expansion
        self._read_at = reader_at(file)

    def _ends(self) -> tuple[int, int]:
        find = partial(find_frame, self._read_at, self._size, self._kind)
        start = find(self._first, self._last)
        end = None if start is None else find(self._last, self._size)
        return self._size if start is None else start, self._size if end is None else end

    def _text(self, start: int, end: int, most: int = CHUNK) -> Iterator[bytes]:
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
                while data := file.read1(most):
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


def read_lines(
    file: BinaryIO,
    format: Format,
    first: int,
    last: int | None,
    *,
    source: str,
    batch_rows: int,
    errors: list[JellyError] | None,
    max_expansion: int = MAX_EXPANSION,
    **limits: int,
) -> Iterator[Batch]:
    """The statements of a part of a file, which is called ``source``. ``limits`` are those of the format.

    ``errors`` gets the errors of lines, which are left out then; else the first one is raised. They name the byte in
    the text, or in a compressed file that is broken; of a part of a compressed file neither is known. The line is told
    only where the part begins the file, because the lines before it were not counted.
    """
    file.seek(0)
    kind = suffix_of(file.read(HEAD))
    lines = PackedLines(file, kind, first, last, max_expansion) if kind else Lines(file, first, last)
    reader = format.open_reader(
        delimited=None, strict=False, on_error="raise" if errors is None else "skip", batch_rows=batch_rows, **limits
    )
    begins = first == 0
    # Not the first line for the reader: there is no byte order mark in the middle of a file.
    before = [] if begins else [b"\n"]

    def place(offset: int | None) -> int | None:
        """The byte in the text; None where nobody knows it, in the middle of a compressed file."""
        if begins or offset is None:
            return offset
        return None if kind else lines.start - 1 + offset

    try:
        yield from drain(reader, chain(before, lines))
    except JellyError as error:
        if error is not lines.error:
            error.offset = place(error.offset)
        if begins:
            explain(error, lines.head, format.name, FORMATS, "format")
        else:
            error.line = None
        error.source = source
        raise
    finally:
        for (line, why), offset in zip(reader.skipped, reader.skipped_at, strict=True):
            assert errors is not None
            errors.append(JellySyntaxError(why, line=line if begins else None, offset=place(offset), source=source))
        if errors is not None and (more := reader.n_skipped - len(reader.skipped)):
            errors.append(JellySyntaxError(f"{more} more lines were left out", source=source))
