"""Tables in pieces, which any number of threads may turn into Batches: the Batches are always the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from jelly._bytes.workers import Workers, in_order
from jelly._core.arrow.importer import ArrowImporter
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import number_rows
from jelly.errors import JellyError

__all__ = ["batches_of", "pieces_of"]

# Rows of a piece, which become one Batch where nobody says how large those are.
PIECE_ROWS = 1 << 16


def pieces_of(tables: Iterable[Any], rows: int = PIECE_ROWS) -> Iterator[list[Any]]:
    """Record batches in pieces of so many rows, however they come. The data is not copied."""
    held: list[Any] = []
    room = rows
    for table in tables:
        at = 0
        while len(table) - at >= room:
            yield [*held, table.slice(at, room)]
            at += room
            held, room = [], rows
        if at < len(table):
            held.append(table.slice(at))
            room -= len(table) - at
        del table  # before the next one takes memory
    if held:
        yield held


@dataclass(slots=True)
class Intake:
    """An importer, and the number of rows that it was given."""

    importer: ArrowImporter
    rows: int = 0


@dataclass(slots=True)
class Imported:
    """What a piece holds: its Batches, and the error behind them with the rows of its importer before the piece."""

    batches: list[Batch] = field(default_factory=list)
    error: JellyError | None = None
    before: int = 0


def batches_of(
    tables: Iterable[Any],
    make: Callable[[], ArrowImporter],
    load: Callable[[ArrowImporter, Any], None],
    workers: Workers,
    batch_rows: int | None = None,
) -> Iterator[Batch]:
    """The Batches of record batches. ``load`` gives an importer, which ``make`` makes, the columns of one of them."""
    idle: list[Intake] = []

    def work(piece: list[Any]) -> Imported:
        try:
            intake = idle.pop()
        except IndexError:
            intake = Intake(make())
        found = Imported(before=intake.rows)
        try:
            for table in piece:
                load(intake.importer, table)
                intake.rows += len(table)
                while (batch := intake.importer.pull()) is not None:
                    found.batches.append(batch)
            if (batch := intake.importer.pull(True)) is not None:
                found.batches.append(batch)
            idle.append(intake)
        except JellyError as error:
            found.error = error
        return found

    rows = loaded = 0
    size = max(1, PIECE_ROWS // batch_rows) * batch_rows if batch_rows else PIECE_ROWS
    for piece, found in in_order(workers, pieces_of(tables, size), work):
        while found.batches:
            batch = number_rows(found.batches.pop(0), rows)
            rows += len(batch)
            yield batch
            del batch  # before the next one takes memory
        if found.error is not None:
            if found.error.row is not None:
                found.error.row += loaded - found.before
            raise found.error
        loaded += sum(map(len, piece))
