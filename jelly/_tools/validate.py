"""Lists the problems of a Jelly stream, and compares it with another file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from jelly._bytes.names import name_of
from jelly._bytes.source import MAX_EXPANSION, Source
from jelly._core.base.batch import Batch
from jelly._core.base.constants import NOUNS, Kind, Slot
from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.frame_scan import KINDS, RowCounter
from jelly._core.ntriples.statement_table import StatementTable
from jelly._core.terms.materialize import Materializer
from jelly._dataset.check import problems_beside
from jelly._dataset.read import is_several, read
from jelly._dataset.sources import expand
from jelly._formats.registry import JELLY, READING, SEEKING, Content, Format, find, format_of
from jelly._formats.sniff import explain
from jelly._options.options import ROW_VERSION, StreamOptions
from jelly._options.settings import LIMITS, checked, fitted, refuse_unknown
from jelly._streams.inputs import ACCEPT
from jelly._streams.reader import Reader
from jelly._streams.reader import options as read_options
from jelly._tools.blank_nodes import differences
from jelly._tools.compare import BlankNodeBijection, as_quad
from jelly._tools.inspect import UNKNOWN_ROW, restart_problem
from jelly.errors import JellyArgumentError, JellyError

__all__ = ["Problem", "validate"]

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


@checked(READING)
def validate(
    src: Any,
    *,
    format: str | None = None,
    against: Any = None,
    against_format: str | None = None,
    ordered: bool = True,
    options: Any = None,
    frame: int | None = None,
    delimited: bool | None = None,
    limit: int = 1000,
    progress: Callable[[int, int | None, int], object] | None = None,
    joined: bool = False,
    **limits: Any,
) -> list[Problem]:
    """Check a stream and list its problems.

    Problems of a Jelly stream are: whatever the `Decoder` refuses (the rest of the stream is then not checked), quoted
    triples or generalized statements that the options do not announce, a pair of logical and physical type outside the
    recommended table, namespace declarations in version 1, a graph without an end, rows of unknown kinds, and signs
    that the file was joined with ``cat``. With a local file also its index, the table of its compressed frames, its
    filters and its sidecar are problems where they do not fit its statements. Problems of other formats are syntax
    errors, in N-Triples and N-Quads every line that has one, and quoted triples as graphs.

    Parameters
    ----------
    src : Any
        The input, as for `read`: also a list, a glob pattern, a directory, table files, URLs. Several are checked one
        after the other.
    format : str, optional
        Format of the input. By default the suffix of the file decides; a file with an unknown suffix is Jelly.
    against : Any, optional
        Another RDF source that must contain the same statements, up to the labels of blank nodes.
    against_format : str, optional
        Format of ``against``. By default the suffix decides.
    ordered : bool, default True
        Whether ``against`` must have the statements in the same order.
    options : StreamOptions or Any, optional
        Expected stream options, or a Jelly stream with the expected options. Jelly only.
    frame : int, optional
        Compare only this frame of ``src`` with ``against``.
    delimited : bool, optional
        Whether each frame has its length before it. By default the first bytes tell. Jelly only.
    limit : int, default 1000
        Stop after this many problems.
    progress : callable, optional
        See `convert`.
    joined : bool, default False
        Accept several Jelly streams joined with ``cat``.
    **limits : Any
        Further keywords of `Reader`, for ``src`` and ``against``. ``unknown_rows="skip"`` accepts rows of unknown
        kinds.

    Returns
    -------
    list of Problem
        The problems in the order of the stream; empty if there are none.

    Examples
    --------
    >>> import jelly
    >>> s, p, o = jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o")
    >>> jelly.validate(jelly.dumps([(s, p, o)]), against=b'<a:s> <a:p> "o" .', against_format="nt")
    []
    >>> [str(problem) for problem in jelly.validate(jelly.dumps([(s, p, o)])[:20])]  # doctest: +ELLIPSIS
    ['frame 0, byte 20: the stream ends inside a frame: ... more bytes were expected; the rest ... was not checked']
    """
    several = expand(src) if is_several(src) else [src]
    if len(several) > 1:
        return _validate_several(
            several, limit,
            format=format, against=against, against_format=against_format, ordered=ordered, options=options,
            frame=frame, delimited=delimited, progress=progress, joined=joined, **limits,
        )  # fmt: skip
    [src] = several
    with closing(Source(src, limits.get("max_expansion", MAX_EXPANSION), ACCEPT[Content.STATEMENTS])) as source:
        return _validate_one(
            source, src, limit,
            format=format, against=against, against_format=against_format, ordered=ordered, options=options,
            frame=frame, delimited=delimited, progress=progress, joined=joined, **limits,
        )  # fmt: skip


def _validate_one(
    source: Source,
    src: Any,
    limit: int,
    *,
    format: str | None,
    against: Any,
    against_format: str | None,
    ordered: bool,
    options: Any,
    frame: int | None,
    delimited: bool | None,
    progress: Callable[[int, int | None, int], object] | None,
    joined: bool,
    **limits: Any,
) -> list[Problem]:
    """`validate` for one source."""
    known = format_to_check(format or source.media_type, source.name)
    if known is not JELLY and (options is not None or delimited is not None or joined):
        raise JellyArgumentError(f"options=, delimited= and joined= are of Jelly, this is {known.title}")
    wanted = options if options is None or isinstance(options, StreamOptions) else read_options(options)
    check = Check(limit, wanted)
    other: frozenset[str] = frozenset()
    if against is not None:
        other = format_of(against, against_format).reading
        theirs: dict[str, Any] = {"format": against_format, **{name: limits[name] for name in limits.keys() & other}}
        if ordered:
            check.compare = _InOrder(map(as_quad, read(against, **theirs)), frame, check)
        else:
            check.compare = _AnyOrder(Reader(against, **theirs).batches(), frame, check)
    refuse_unknown(limits, known.reading | other, known.title)
    limits = {name: limits[name] for name in limits.keys() & known.reading}
    if known is not JELLY:
        return _validate_text(source, known, check, progress, limits)
    check.skips_unknown = limits.get("unknown_rows") == "skip"
    own = {name: limits[name] for name in limits.keys() & SEEKING} | {"unknown_rows": "skip"}
    # Rows of unknown kinds are reported, and the rows after them are checked.
    limits = fitted(limits, JELLY.reading, source.size) | {"unknown_rows": "skip"}
    limits.pop("max_expansion", None)  # the source has it
    decoder = Decoder(delimited=delimited, joined=joined, **limits)
    decoder.quiet = True
    most = limits.get("max_frame_bytes", LIMITS["max_frame_bytes"])
    counter = RowCounter(delimited=delimited, max_frame_bytes=most, places=True)
    try:
        for chunk in source.chunks():
            check.take(counter, decoder.feed(chunk), chunk)
            if progress is not None:
                progress(source.bytes_read, source.size, decoder.statements)
            if check.is_full:
                break
        else:
            check.take(counter, decoder.close(), None)
            check.finish(counter)
            check.add_beside(src, joined, own)
    except JellyError as error:
        if check.failed:
            raise
        explain(error, source.head, JELLY.name)
        message = f"{error.reason}; the rest of the file was not checked"
        check.add(message, error.frame, error.row, error.offset)
    if decoder.restarts:
        number, row, offset, times = decoder.restarts
        check.add(restart_problem(times), number, row, offset)
    return check.sorted()


def _validate_several(sources: list[Any], limit: int, **settings: Any) -> list[Problem]:
    """`validate` for sources, one after the other."""
    if settings["against"] is not None and len(sources) > 1:
        raise JellyArgumentError("against= goes with one source, not with several")
    found: list[Problem] = []
    for number, source in enumerate(sources):
        if len(found) < limit:
            name = name_of(source) or f"source {number}"
            problems = validate(source, limit=limit - len(found), **settings)
            found += [replace(problem, source=name) for problem in problems]
    return found[:limit]


def format_to_check(format: str | None, name: str) -> Format:
    """The format; Jelly if the suffix of the file is unknown."""
    try:
        return find(format, name, tables=True)
    except JellyError:
        if format is not None:
            raise
        return JELLY


def _validate_text(
    source: Source,
    format: Format,
    check: Check,
    progress: Callable[[int, int | None, int], object] | None,
    limits: dict[str, Any],
) -> list[Problem]:
    """`validate` for formats other than Jelly."""
    by_line = format.name in ("nt", "nq")
    with Reader(source, format=format.name, on_error="skip" if by_line else "raise", **limits) as reader:
        try:
            for batch in reader.source.watched(reader.batches(), progress):
                check.graphs(batch)
                check.compare_with(batch)
            check.compare_end()
        except JellyError as error:
            if check.failed:
                raise
            check.add(f"{error.reason}; the rest of the file was not checked", offset=error.offset, line=error.line)
        for line, message in reader.skipped:
            check.add(message, line=line)
        if reader.n_skipped > len(reader.skipped):
            check.add(f"{reader.n_skipped - len(reader.skipped)} more lines have errors")
    return check.sorted()


def _in_order(problem: Problem) -> float:
    # Problems without a place come last.
    place = problem.offset if problem.line is None else problem.line
    return inf if place is None else place


class Check:
    """The problems found so far, and the positions of the statements of the current chunk."""

    def __init__(self, limit: int, wanted: StreamOptions | None) -> None:
        self.problems: list[Problem] = []
        self.compare: _InOrder | _AnyOrder | None = None
        self.failed = False  # the error is not an error of the stream
        self.skips_unknown = False  # rows of unknown kinds are not a problem
        self._limit = limit
        self._wanted = wanted
        self._rows = np.empty((0, 3), np.int64)
        self._first: int | None = None
        self._options: StreamOptions | None = None
        self._namespaces = 0

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
        if batch.g is None or not len(batch.quoted):
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
            if self._first is None:
                self._first = batch.first_row
            if self._options is None:
                self._check_options(batch.options)
            self._check_flags(batch)
            self.compare_with(batch)
            if self.is_full:
                return

    def finish(self, counter: RowCounter) -> None:
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


class _InOrder:
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


class _AnyOrder:
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
