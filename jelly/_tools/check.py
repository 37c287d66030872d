"""Checks the Batches of a stream, and compares them with the Batches of another."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from math import inf
from typing import Any

import numpy as np

from jelly._core.base.batch import Batch
from jelly._core.base.constants import Op, Slot
from jelly._core.base.kinds import Kind, kinds_of, with_article
from jelly._core.jelly.row_counter import RowCounter
from jelly._core.ntriples.statement_table import StatementTable
from jelly._core.terms.materialize import Materializer
from jelly._dataset.steps.step import rows_of
from jelly._options.options import ROW_VERSION, PatchOptions, PatchStreamType, StreamOptions
from jelly._tools.blank_nodes import differences
from jelly._tools.compare import BlankNodeBijection, as_quad
from jelly._tools.inspect import UNKNOWN_ROW
from jelly.errors import PLACES, where

SLOTS = tuple(slot.name.lower() for slot in Slot)
DELETE, HEADER, PUNCTUATION = map(int, (Op.DELETE, Op.HEADER, Op.PUNCTUATION))
# Kinds of rows that are neither a statement nor a part of a patch.
_NO_ROWS = ("options", "graph_start", "graph_end", "namespace", "other")


_NODES, _TRIPLES = kinds_of("node"), kinds_of("triple")
# Whether a kind of terms is a triple, and for each slot whether RDF 1.1 and RDF-star do not allow it there.
_IS_TRIPLE = np.isin(np.arange(256), _TRIPLES)
_IS_GENERALIZED = [
    np.isin(np.arange(256), kinds, invert=True) for kinds in (_NODES + _TRIPLES, (Kind.IRI,), kinds_of("term"), _NODES)
]
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

    Examples
    --------
    >>> import jelly
    >>> [problem] = jelly.validate(b"<a:s> <a:p> .", format="nt")
    >>> problem.line, problem.frame
    (1, None)
    """

    message: str
    frame: int | None = None
    row: int | None = None
    offset: int | None = None
    line: int | None = None
    source: str | None = None

    def __str__(self) -> str:
        place = where(self, *PLACES)
        return f"{place}: {self.message}" if place else self.message


def _in_order(problem: Problem) -> float:
    # Problems without a place come last.
    place = problem.offset if problem.line is None else problem.line
    return inf if place is None else place


class Check:
    """The problems of a stream found so far, and the positions of its rows in the current chunk."""

    def __init__(self, limit: int, wanted: StreamOptions | None = None, *, skips_unknown: bool = False) -> None:
        self.problems: list[Problem] = []
        self.compare: InOrder | AnyOrder | None = None
        self.failed = False  # the error is not an error of the stream
        self.rows = 0  # statements, or operations of patches
        self._limit = limit
        self._wanted = wanted
        self._skips_unknown = skips_unknown  # rows of unknown kinds are not a problem
        self._options: StreamOptions | PatchOptions | None = None
        self._last_op = PUNCTUATION
        # Where the first options are, the namespaces that were not checked yet, and the rows of a Batch. Of each of its
        # statements the number of the row.
        self._headers: list[list[int]] = []
        self._declared: deque[list[int]] = deque()
        self._rows = np.empty((0, 3), np.int64)
        self._numbers = np.empty(0, np.int64)

    @property
    def is_full(self) -> bool:
        return len(self.problems) >= self._limit

    def add(self, message: str, *place: Any, **named: Any) -> None:
        """Add a `Problem`, whose place is given by position or by name."""
        if not self.is_full:
            self.problems.append(Problem(message, *place, **named))

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
        for row in np.flatnonzero((batch.g >= 0) & _IS_TRIPLE[batch.kind[batch.g]]).tolist():
            self.add(f"statement {batch.first_row + row}: a quoted triple as graph, which no version of RDF allows")

    def compare_with(self, batch: Batch | None) -> None:
        """Compare a Batch, or with None the end of the stream."""
        if self.compare is not None:
            self.failed = True  # errors from here on belong to the other file
            if batch is None:
                self.compare.finish()
            else:
                self.compare.take(batch)
            self.failed = False

    def take(self, decoder: RowCounter, chunk: Any) -> None:
        """Check the Batches of a chunk (None: the end)."""
        try:
            self._take_batches(decoder, decoder.close() if chunk is None else decoder.feed(chunk))
        finally:
            self._find_rows(decoder)  # those after the last Batch

    def _find_rows(self, decoder: RowCounter) -> None:
        """Take the positions of the rows that were read since the last time."""
        places, kinds = decoder.take_places(), decoder.kinds

        def of(*names: str) -> Any:
            return places[np.isin(places[:, 0], [kinds[name] for name in names]), 1:]

        self._rows = of(*(kinds.keys() - _NO_ROWS))
        self._headers = self._headers or of("options").tolist()
        if getattr(decoder.options, "version", 0) == 1 and "namespace" in kinds:
            self._declared += of("namespace").tolist()
        for place in () if self._skips_unknown else of("other").tolist():
            self.add(UNKNOWN_ROW, *place)

    def _take_batches(self, decoder: RowCounter, batches: Iterator[Batch]) -> None:
        for batch in batches:
            self._find_rows(decoder)
            is_row = np.ones(len(batch), bool)
            if (op := batch.op) is not None and len(op):
                self._last_op = int(op[-1])
                self.rows -= int(np.count_nonzero(op == PUNCTUATION))  # the ends of patches are no operations
                if getattr(batch.options, "stream_type", None) == PatchStreamType.FRAME:
                    is_row = op != PUNCTUATION  # the end of a patch that is a frame has no row
            self._numbers = np.cumsum(is_row) - 1
            self.rows += len(batch)
            if self._options is None:
                self._check_options(batch.options)
            options = batch.options or self._options
            # In columns there is nothing that the Decoder lets pass.
            if options is not None and options.version <= ROW_VERSION:
                for _, _, name, _ in batch.namespaces if op is None and options.version == 1 else ():
                    message = f"namespace declaration {name!r} in a stream of version 1: version 2 brought them"
                    self.add(message, *(self._declared.popleft() if self._declared else ()))
                self._check_terms(batch, options)
            self.compare_with(batch)
            if self.is_full:
                return

    def finish(self, decoder: RowCounter) -> None:
        """Check the end of the stream."""
        if decoder.rows.get("graph_start", 0) > decoder.rows.get("graph_end", 0):
            self.add("the stream ends inside a graph: a graph end row is missing", decoder.frames - 1)
        if getattr(decoder.options, "stream_type", None) == PatchStreamType.PUNCTUATED and self._last_op != PUNCTUATION:
            self.add("no punctuation row ends the last patch")
        self.compare_with(None)

    def place(self, row: int) -> tuple[int, int, int] | tuple[()]:
        """Frame, row and offset of a row of the current Batch."""
        number = int(self._numbers[row]) if row < len(self._numbers) else len(self._rows)  # a text has no rows
        return tuple(self._rows[number].tolist()) if number < len(self._rows) else ()

    def _check_options(self, options: StreamOptions | PatchOptions | None) -> None:
        self._options = options
        if not isinstance(options, StreamOptions):
            return
        place = self._headers[0] if self._headers else ()
        if not options.types_agree:
            self.add(
                f"logical type {options.logical_type.name} does not go with physical type {options.physical_type.name}",
                *place,
            )
        for option in () if self._wanted is None else fields(StreamOptions):
            here, there = getattr(options, option.name), getattr(self._wanted, option.name)
            if here != there:
                self.add(f"stream option {option.name} is {_shown(here)}, expected {_shown(there)}", *place)

    def _check_terms(self, batch: Batch, options: StreamOptions | PatchOptions) -> None:
        """Report rows with a term that the options do not announce."""
        kinds = np.append(batch.kind, 0)  # rows without a term have the id -1: there may be no term at all
        columns = [batch.s, batch.p, batch.o] + ([] if batch.g is None else [batch.g])
        # By flag, for each slot which terms need it there.
        needs: dict[str, list[Any]] = {}
        if len(batch.quoted) and not options.rdf_star:
            needs["rdf_star"] = [_IS_TRIPLE[kinds]] * 4
        if not options.generalized_statements:
            generalized = np.append(generalized_terms(batch), False)
            needs["generalized_statements"] = [wrong[kinds] | generalized for wrong in _IS_GENERALIZED]
        for flag, terms in needs.items():
            masks = []
            for slot, ids in enumerate(columns):
                used = ids >= 0
                if batch.op is not None and slot < 3:
                    used &= (batch.op <= DELETE) | ((batch.op == HEADER) & (slot == 2) & (flag == "rdf_star"))
                masks.append(terms[slot][ids] & used)
            for row in np.flatnonzero(np.logical_or.reduce(masks)).tolist():
                slot = next(i for i, mask in enumerate(masks) if mask[row])
                is_header = batch.op is not None and batch.op[row] == HEADER
                noun = with_article(batch.kind[columns[slot][row]])
                where = "value of a header" if is_header else SLOTS[slot]
                self.add(f"{where} is {noun}, but {flag} is false", *self.place(row))
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
    is_compound = np.isin(kinds, kinds_of("compound"))
    bad = np.zeros(len(quoted), bool)
    for slot in range(3):
        bad |= _IS_GENERALIZED[slot][kinds[quoted[:, slot]]]
    while True:
        wrong[is_compound] = bad[batch.aux[is_compound]]
        after = bad | wrong[quoted].any(axis=1)
        if (after == bad).all():
            return wrong
        bad = after


def _text(statement: Iterable[Any]) -> str:
    return _shortened(" ".join(map(str, statement)).strip())


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:197]}..."


@dataclass
class _Comparison:
    """Compares ``frames`` of a stream with ``theirs``; ``check`` gets the differences."""

    theirs: Iterator[Any]
    frames: slice
    check: Check
    different: int = 0

    def is_shown(self) -> bool:
        """Count one more statement that differs; whether it is to be shown."""
        self.different += 1
        return self.different <= _SHOWN

    def finish(self) -> None:
        if self.different > _SHOWN:
            self.check.add(f"{self.different - _SHOWN} more statements differ")


@dataclass
class InOrder(_Comparison):
    """Compares position by position."""

    extra: int = 0
    renaming: BlankNodeBijection = field(default_factory=BlankNodeBijection)

    def take(self, batch: Batch) -> None:
        first, last = rows_of(batch, self.frames)
        for row, statement in enumerate(Materializer(batch).statements(first, last), first):
            ours = as_quad(statement)
            theirs = next(self.theirs, None)
            if theirs is None:
                self.extra += last - row
                return
            if not self.renaming.same(ours, theirs) and self.is_shown():
                message = f"statement differs: {_text(ours)} here, {_text(theirs)} expected"
                self.check.add(message, *self.check.place(row))

    def finish(self) -> None:
        super().finish()
        if self.extra:
            self.check.add(f"{self.extra} more statements than expected")
        elif missing := sum(1 for _ in self.theirs):
            self.check.add(f"{missing} statements are missing at the end")


@dataclass
class AnyOrder(_Comparison):
    """Compares as multisets. Memory: each different term once, and 16 bytes for each statement of both."""

    table: StatementTable = field(default_factory=StatementTable)

    def take(self, batch: Batch) -> None:
        self.table.add(batch, 0, *rows_of(batch, self.frames))

    def finish(self) -> None:
        for batch in self.theirs:
            self.table.add(batch, 1)
        for side, statement in differences(self.table):
            if not self.is_shown():
                continue
            if statement is None:
                self.check.add("the blank nodes do not stand in the same way as expected")
            else:
                what = "not expected" if side == "left" else "is missing"
                self.check.add(f"statement {what}: {_shortened(statement)}")
        super().finish()
