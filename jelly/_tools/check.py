"""Checks the Batches of a stream, and compares them with those of another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from jelly._core.base.batch import Batch
from jelly._core.base.constants import NOUNS, Kind, Slot
from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.frame_scan import KINDS, RowCounter
from jelly._core.ntriples.statement_table import StatementTable
from jelly._core.terms.materialize import Materializer
from jelly._dataset.check import problems_beside
from jelly._options.options import ROW_VERSION, StreamOptions
from jelly._tools.blank_nodes import differences
from jelly._tools.compare import BlankNodeBijection, as_quad
from jelly._tools.inspect import UNKNOWN_ROW
from jelly.errors import JellyError

__all__ = ["ALLOWED", "SLOTS", "AnyOrder", "Check", "InOrder", "Problem", "generalized_terms", "noun_of"]

SLOTS = tuple(slot.name.lower() for slot in Slot)


def _marked(*kinds: Kind) -> npt.NDArray[np.bool_]:
    """For each kind of term, whether it is one of these."""
    return np.isin(np.arange(max(Kind) + 1), kinds)


def noun_of(kind: int) -> str:
    """What a term of a kind is called, with its article."""
    noun = NOUNS[kind]
    return f"{'an' if noun == 'IRI' else 'a'} {noun}"


# Kinds of terms that RDF 1.1 and RDF-star allow, by slot.
ALLOWED = (
    _marked(Kind.IRI, Kind.BNODE, Kind.TRIPLE),
    _marked(Kind.IRI),
    _marked(Kind.IRI, Kind.BNODE, Kind.LITERAL, Kind.LANG, Kind.TYPED, Kind.TRIPLE),
    _marked(Kind.IRI, Kind.BNODE),
)
# Maximum number of differing statements to show; after a missing statement all others differ.
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem in a stream.

    Attributes
    ----------
    message : str
        What is wrong.
    frame : int or None
        Number of the frame, from 0.
    row : int or None
        Number of the row in the frame, from 0.
    offset : int or None
        Byte in the decompressed stream, from 0.
    line : int or None
        Line of a text, from 1.
    source : str or None
        With several sources the path or URL of this one, or its number.
    """

    message: str
    frame: int | None = None
    row: int | None = None
    offset: int | None = None
    line: int | None = None
    source: str | None = None

    def __str__(self) -> str:
        place = [
            f"{name} {value}"
            for name, value in (
                ("frame", self.frame), ("row", self.row), ("byte", self.offset), ("line", self.line)
            )
            if value is not None
        ]
        return f"{', '.join(place)}: {self.message}" if place else self.message


def _in_order(problem: Problem) -> float:
    # Problems without a place come last.
    place = problem.offset if problem.line is None else problem.line
    return inf if place is None else place


class Check:
    """The problems found so far, and the positions of the statements of the current chunk."""

    def __init__(self, limit: int, wanted: StreamOptions | None) -> None:
        self.problems: list[Problem] = []
        self.compare: InOrder | AnyOrder | None = None
        self.failed = False  # the error is not an error of the stream
        self.skips_unknown = False  # rows of unknown kinds are not a problem
        self._limit = limit
        self._wanted = wanted
        self._rows = np.empty((0, 3), np.int64)
        self._first: int | None = None
        self._options: StreamOptions | None = None
        self._namespaces = 0
        self.rows = 0  # statements, or operations of patches

    @property
    def is_full(self) -> bool:
        return len(self.problems) >= self._limit

    def add(
        self,
        message: str,
        frame: int | None = None,
        row: int | None = None,
        offset: int | None = None,
        line: int | None = None,
    ) -> None:
        if not self.is_full:
            self.problems.append(Problem(message, frame, row, offset, line))

    def sorted(self) -> list[Problem]:
        """The problems in the order of the stream."""
        problems = sorted(self.problems, key=_in_order)
        if self.is_full:
            problems.append(Problem(f"stopped after {self._limit} problems"))
        return problems

    def graphs(self, batch: Batch) -> None:
        """Report statements whose graph is a quoted triple: no version of RDF has these, and Jelly cannot hold them."""
        if batch.variables is not None or batch.g is None or not len(batch.quoted):
            return
        for row in np.flatnonzero((batch.g >= 0) & (batch.kind[batch.g] == Kind.TRIPLE)).tolist():
            self.add(f"statement {batch.first_row + row}: a quoted triple as graph, which no version of RDF allows")

    def add_beside(self, src: Any, joined: bool, limits: Mapping[str, Any], patch: bool = False) -> None:
        """Check what lies beside the stream in a file: its index or sidecar, the table of its frames, its filters."""
        if isinstance(src, str | os.PathLike) and os.path.isfile(src):
            for message, offset in problems_beside(os.fspath(src), patch, joined, limits):
                self.add(message, offset=offset)

    def compare_with(self, batch: Batch) -> None:
        if self.compare is not None:
            self.failed = True  # errors from here on belong to the other file
            self.compare.take(batch)
            self.failed = False

    def compare_end(self) -> None:
        if self.compare is not None:
            self.failed = True
            self.compare.finish()
            self.failed = False

    @staticmethod
    def _places(counter: RowCounter, chunk: Any) -> Any:
        """Where the rows of a chunk are, see `RowCounter.take_places`."""
        try:
            if chunk is None:
                counter.close()
            else:
                counter.feed(chunk)
        except JellyError:
            pass  # the message of the Decoder is better
        return counter.take_places()

    def take(self, counter: RowCounter, batches: Iterator[Batch], chunk: Any) -> None:
        """Check the Batches of a chunk (None: the end)."""
        places = self._places(counter, chunk)
        kinds = places[:, 0]
        self._rows = places[(kinds == KINDS.index("triple")) | (kinds == KINDS.index("quad")), 1:]
        self._declared = places[kinds == KINDS.index("namespace"), 1:]
        self._headers = places[kinds == KINDS.index("options"), 1:]
        for place in places[kinds == KINDS.index("other"), 1:].tolist():
            if not self.skips_unknown:
                self.add(UNKNOWN_ROW, *place)
        self._first = None
        self._namespaces = 0
        for batch in batches:
            self.rows += len(batch)
            if self._first is None:
                self._first = batch.first_row
            if self._options is None:
                self._check_options(batch.options)
            self._check_flags(batch)
            self.compare_with(batch)
            if self.is_full:
                return

    def finish(self, counter: RowCounter, decoder: Decoder) -> None:
        """Check the end of the stream."""
        rows = counter.rows
        if rows["graph_start"] > rows["graph_end"]:
            self.add("the stream ends inside a graph: a graph end row is missing", counter.frames - 1)
        self.compare_end()

    def place(self, statement: int) -> tuple[int, int, int] | tuple[()]:
        """Frame, row and offset of a statement of the current chunk."""
        row = statement - (self._first or 0)
        return tuple(self._rows[row].tolist()) if row < len(self._rows) else ()

    def _check_options(self, options: StreamOptions | None) -> None:
        self._options = options
        if options is None:
            return
        place = self._headers[0].tolist() if len(self._headers) else ()
        if not options.types_agree:
            self.add(
                f"logical type {options.logical_type.name} does not go with physical type {options.physical_type.name}",
                *place,
            )
        if self._wanted is None:
            return
        for option in fields(StreamOptions):
            here, there = getattr(options, option.name), getattr(self._wanted, option.name)
            if here != there:
                self.add(f"stream option {option.name} is {_shown(here)}, expected {_shown(there)}", *place)

    def _check_flags(self, batch: Batch) -> None:
        options = batch.options or self._options
        if options is None or options.version > ROW_VERSION:
            return  # in columns there is nothing that the Decoder lets pass
        if options.version == 1:
            for _, _, name, _ in batch.namespaces:
                place = self._declared[self._namespaces].tolist() if self._namespaces < len(self._declared) else ()
                self._namespaces += 1
                self.add(f"namespace declaration {name!r} in a stream of version 1: version 2 brought them", *place)
        columns = [batch.s, batch.p, batch.o] + ([] if batch.g is None else [batch.g])
        kinds = batch.kind
        if not options.rdf_star and (kinds == Kind.TRIPLE).any():
            self._report(batch, columns, lambda slot, ids: kinds[ids] == Kind.TRIPLE, "rdf_star")
        if not options.generalized_statements:
            wrong = generalized_terms(batch)

            def is_generalized(slot: int, ids: Any) -> Any:
                return ~ALLOWED[slot][kinds[ids]] | wrong[ids]

            self._report(batch, columns, is_generalized, "generalized_statements")

    def _report(self, batch: Batch, columns: list[Any], test: Callable[[int, Any], Any], flag: str) -> None:
        """Add a problem for each statement with a term for which `test` is true."""
        masks = []
        for slot, ids in enumerate(columns):
            mask = test(slot, ids)
            masks.append(mask & (ids >= 0) if slot == 3 else mask)
        for row in np.flatnonzero(np.logical_or.reduce(masks)).tolist():
            slot = next(i for i, mask in enumerate(masks) if mask[row])
            noun = noun_of(batch.kind[columns[slot][row]])
            self.add(f"{SLOTS[slot]} is {noun}, but {flag} is false", *self.place(batch.first_row + row))
            if self.is_full:
                return


def _shown(value: Any) -> str:
    return str(getattr(value, "name", None) or repr(value))


def generalized_terms(batch: Batch) -> Any:
    """For each term, whether it is a quoted triple that only generalized RDF allows, at any depth."""
    kinds, quoted = batch.kind, batch.quoted
    wrong = np.zeros(len(kinds), bool)
    if not len(quoted):
        return wrong
    is_quoted = kinds == Kind.TRIPLE
    bad = np.zeros(len(quoted), bool)
    for slot in range(3):
        bad |= ~ALLOWED[slot][kinds[quoted[:, slot]]]
    while True:
        wrong[is_quoted] = bad[batch.aux[is_quoted]]
        after = bad | wrong[quoted].any(axis=1)
        if (after == bad).all():
            return wrong
        bad = after


def _rows_of(batch: Batch, frame: int | None) -> tuple[int, int]:
    """The first row of a frame in this Batch, and the row after its last."""
    if frame is None:
        return 0, len(batch)
    ends = [0, *batch.frames.tolist(), len(batch)]
    i = frame - batch.first_frame
    return (ends[i], ends[i + 1]) if 0 <= i < len(ends) - 1 else (0, 0)


def _text(statement: Iterable[Any]) -> str:
    return _shortened(" ".join(str(term) for term in statement).strip())


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:197]}..."


class InOrder:
    """Compares position by position."""

    def __init__(self, theirs: Iterator[tuple[Any, ...]], frame: int | None, check: Check) -> None:
        self._theirs, self._frame, self._check = theirs, frame, check
        self._renaming = BlankNodeBijection()
        self._extra = 0
        self._different = 0

    def take(self, batch: Batch) -> None:
        first, last = _rows_of(batch, self._frame)
        for row, statement in enumerate(Materializer(batch).statements(first, last), first):
            ours = as_quad(statement)
            theirs = next(self._theirs, None)
            if theirs is None:
                self._extra += last - row
                return
            if not self._renaming.same(ours, theirs):
                self._different += 1
                if self._different <= _SHOWN:
                    place = self._check.place(batch.first_row + row)
                    self._check.add(f"statement differs: {_text(ours)} here, {_text(theirs)} expected", *place)

    def finish(self) -> None:
        if self._different > _SHOWN:
            self._check.add(f"{self._different - _SHOWN} more statements differ")
        if self._extra:
            self._check.add(f"{self._extra} more statements than expected")
        elif missing := sum(1 for _ in self._theirs):
            self._check.add(f"{missing} statements are missing at the end")


class AnyOrder:
    """Compares as multisets. Memory: each different term once, and 16 bytes for each statement of both."""

    def __init__(self, theirs: Iterator[Batch], frame: int | None, check: Check) -> None:
        self._theirs, self._frame, self._check = theirs, frame, check
        self._table = StatementTable()

    def take(self, batch: Batch) -> None:
        self._table.add(batch, 0, *_rows_of(batch, self._frame))

    def finish(self) -> None:
        for batch in self._theirs:
            self._table.add(batch, 1)
        found = 0
        for side, statement in differences(self._table):
            found += 1
            if found > _SHOWN:
                continue
            if statement is None:
                self._check.add("the blank nodes do not stand in the same way as expected")
            elif side == "left":
                self._check.add(f"statement not expected: {_shortened(statement)}")
            else:
                self._check.add(f"statement is missing: {_shortened(statement)}")
        if found > _SHOWN:
            self._check.add(f"{found - _SHOWN} more statements differ")
