"""N-Triples and N-Quads in pieces, which any number of threads may parse: the Batches are always the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from jelly._bytes.workers import Workers, in_order
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import number_rows
from jelly._core.ntriples.text import TextReader
from jelly._streams.drain import drain
from jelly.errors import JellyError

if TYPE_CHECKING:
    from io import FileIO

    from jelly._bytes.source import Source

# Bytes of a piece, before what follows its last line end goes to the next one.
PIECE = 1 << 22
# Bytes that are searched for a line end at a time.
STEP = 1 << 14
# Skipped lines of which a reader keeps more than their number.
MAX_SKIPPED = 1000


@dataclass(slots=True)
class Piece:
    """Some bytes of a text. They end with a line end, unless they are the last or a part of a long line.

    ``read`` gives their parts. The thread that parses them reads the parts of a file.
    """

    read: Callable[[], Iterable[Any]]
    number: int = 0
    is_last: bool = False


@dataclass(slots=True)
class Parsed:
    """The content of a piece: its Batches, the error after them, and the counts of its reader before it."""

    reader: TextReader
    batches: list[Batch]
    lines: int
    offset: int
    n_skipped: int
    error: JellyError | None = None


def pieces_of(chunks: Iterable[Any], size: int = PIECE) -> Iterator[Piece]:
    """Cut a text at line ends, at the same places however the chunks are cut. The bytes are not copied.

    >>> [b"".join(piece.read()) for piece in pieces_of([b"ab\\nc", b"d\\nefghij", b"k\\nl"], 5)]
    [b'ab\\n', b'cd\\n', b'efghi', b'jk\\nl']
    """
    held: list[Any] = []
    room = size
    number = 0
    try:
        for chunk in chunks:
            view = memoryview(chunk)
            while view:
                part, view = view[:room], view[room:]
                held.append(part)
                room -= len(part)
                if room:
                    continue
                last, at = _after_line(held) or (len(held) - 1, len(part))
                yield Piece([*held[:last], held[last][:at]].__iter__, number)
                number += 1
                held = [rest for rest in (held[last][at:], *held[last + 1 :]) if rest]
                room = size - sum(map(len, held))
    except Exception:
        if held:
            yield Piece(held.__iter__, number)
        raise
    yield Piece(held.__iter__, number, is_last=True)


def pieces_of_file(source: Source, file: FileIO, size: int = PIECE) -> Iterator[Piece]:
    """Cut a file at the places at which `pieces_of` cuts its chunks. Only what is near these places is read here."""
    start = number = 0
    while start + size <= (end := os.fstat(file.fileno()).st_size):  # which may grow meanwhile
        cut = _line_end(file, start, start + size) or start + size
        yield Piece(partial(_read_range, file, start, cut), number)
        source.bytes_read = start = cut
        number += 1
    yield Piece(partial(_read_range, file, start, None), number, is_last=True)
    source.bytes_read = max(start, end)


def _line_end(file: FileIO, start: int, end: int) -> int:
    """The position after the last LF of a part of a file, 0 if there is none."""
    while end > start:
        before = max(start, end - STEP)
        if (at := os.pread(file.fileno(), end - before, before).rfind(b"\n")) >= 0:
            return before + at + 1
        end = before
    return 0


def _read_range(file: FileIO, start: int, end: int | None) -> Iterator[bytes]:
    """The bytes of a part of a file, or of all after a position. ValueError if it is closed."""
    while end is None or start < end:
        data = os.pread(file.fileno(), PIECE if end is None else end - start, start)
        if not data:
            return  # the file has become shorter
        start += len(data)
        yield data


def _after_line(parts: list[Any]) -> tuple[int, int] | None:
    """The part, and the position in it after the last LF."""
    for number in range(len(parts) - 1, -1, -1):
        end = len(parts[number])
        while end > 0:
            start = max(0, end - STEP)
            if (at := bytes(parts[number][start:end]).rfind(b"\n")) >= 0:
                return number, start + at + 1
            end = start
    return None


class PieceReader:
    """Reads N-Triples or N-Quads in the threads of ``workers``.

    ``make`` makes a `TextReader`. Its counts and errors are those of one such reader.
    """

    def __init__(self, make: Callable[[], TextReader], workers: Workers) -> None:
        self._make = make
        self._workers = workers
        self._idle: list[TextReader] = []
        self._in_turn = False  # a line goes on after its piece: threads are of no use
        self.statements = 0
        self.n_skipped = 0
        self.skipped: list[tuple[int, str]] = []
        self._lines = 0
        self._offset = 0

    def batches(self, source: Any) -> Iterator[Batch]:
        """The Batches. All Batches before an error are yielded before it is raised."""
        reader: TextReader | None = None
        plain = source.plain_file() if self._workers.threads > 1 else None
        pieces = pieces_of(source.chunks()) if plain is None else pieces_of_file(source, plain)
        for piece, found in in_order(self._workers, pieces, self._parse):
            if reader is not None or found is None:
                found = self._read(reader or self._fresh(piece.number), piece)
            # The line goes on in the next piece, which only this reader can read.
            self._in_turn = found.reader.held_bytes > 0
            reader = found.reader if self._in_turn else None
            yield from self._numbered(found)
            if not self._in_turn and not found.reader.n_skipped:
                self._idle.append(found.reader)

    def _parse(self, piece: Piece) -> Parsed | None:
        if self._in_turn:
            return None
        try:
            reader = self._idle.pop()
        except IndexError:
            reader = self._fresh(piece.number)
        return self._read(reader, piece)

    def _fresh(self, number: int) -> TextReader:
        """A reader for the piece of a number."""
        reader = self._make()
        if number:
            # Only the very first line may have a byte order mark.
            reader.push(b"\n")
            reader.pull()
        return reader

    @staticmethod
    def _read(reader: TextReader, piece: Piece) -> Parsed:
        found = Parsed(reader, [], reader.line, reader.bytes_read, reader.n_skipped)
        try:
            for batch in drain(reader, piece.read(), finish=piece.is_last):
                found.batches.append(batch)
        except JellyError as error:
            found.error = error
        return found

    def _numbered(self, found: Parsed) -> Iterator[Batch]:
        """The Batches of a piece, and what else it has, with the numbers of the whole text."""
        reader = found.reader
        while found.batches:
            batch = number_rows(found.batches.pop(0), self.statements)
            self.statements += len(batch)
            yield batch
            del batch  # before the next one takes memory
        lines, offset = self._lines - found.lines, self._offset - found.offset
        skipped = reader.skipped[min(found.n_skipped, MAX_SKIPPED) :]
        self.skipped += [(line + lines, why) for line, why in skipped[: MAX_SKIPPED - len(self.skipped)]]
        self.n_skipped += reader.n_skipped - found.n_skipped
        self._lines += reader.line - found.lines
        self._offset += reader.bytes_read - found.offset
        if (error := found.error) is not None:
            error.line = None if error.line is None else error.line + lines
            error.offset = None if error.offset is None else error.offset + offset
            raise error
