"""Terms as numbers, and the values of expressions of them, which pyoxigraph computes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import pairwise
from operator import mul
from struct import pack, unpack
from threading import RLock
from typing import Any, TypeAlias

import numpy as np

from jelly._core.algebra.graph_ids import GraphDictionary
from jelly._core.algebra.reshape import as_statements
from jelly._core.base.batch import Batch
from jelly._core.ntriples.text import TextWriter
from jelly._core.terms.model import IRI, BlankNode, Literal, QuotedTriple, to_term
from jelly._dataset.conditions.terms import batch_of
from jelly._formats.arrow_tables import pa
from jelly.errors import JellyLimitError
from jelly.rdflib._query.syntax import WRITTEN, ox, solutions, written

Row: TypeAlias = tuple[int | None, ...]
# Values that are kept of each expression, about the bytes of one, and rows that are computed at a time.
_KEPT, _VALUE, _TOGETHER = 1 << 20, 256, 1 << 14
# About the bytes that pyoxigraph takes for a row of an aggregate.
_ROW = 1500
_BITS = (1 << 64) - 1
_ANCHOR = "x:x"  # stands where a term needs a statement
_TYPES = re.compile(
    r"http://www\.w3\.org/2001/XMLSchema#(?:(?P<number>(?:unsigned|nonNegative|nonPositive|positive|negative)?"
    r"(?:int|integer|long|short|byte|Integer|Int|Long|Short|Byte)|decimal|double|float)"
    r"|(?P<time>dateTime(?:Stamp)?|date)|(?P<span>duration|(?:dayTime|yearMonth)Duration)|boolean)"
)
_TIME = re.compile(
    r"(-?\d{4,})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?)?(?:Z|([+-]\d\d):(\d\d))?", re.ASCII
)
_SPAN = re.compile(
    r"(-?)P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d*)?)S)?)?", re.ASCII
)
# Seconds of a year, a month and so on, the first ones on average.
_SECONDS = (31_556_952, 2_629_746, 86_400, 3600, 60, 1)
_BOOLEANS = {"false": 0, "0": 0, "true": 1, "1": 1}


class Numbers:
    """The numbers of terms: those of statements, those of queries, and those that expressions make.

    Functions of SQL get and give numbers, and threads of DuckDB call them.
    """

    def __init__(self) -> None:
        self.base: str | None = None  # of IRIs in expressions
        self.room = 0  # bytes for the values of an expression
        self.dictionary = GraphDictionary()
        self._lock = RLock()
        self._lines = TextWriter(quads=False, keep_labels=True)
        [self._anchor] = self.of([IRI(_ANCHOR)])

    def of(self, terms: Iterable[Any]) -> list[int]:
        """The numbers of terms of any library."""
        batch = batch_of(map(to_term, terms))
        with self._lock:
            return [*map(int, self.dictionary.numbers(batch, add=True))]

    def batch(self, variables: tuple[str, ...], rows: Any) -> Batch:
        """Results of numbers: -1 is unbound."""
        with self._lock:
            return self.dictionary.results(variables, rows)

    def _texts(self, numbers: Any) -> list[str]:
        """The terms of numbers in the syntax of N-Triples; UNDEF for -1."""
        rows = np.full((len(numbers), 3), self._anchor, np.int32)
        rows[:, 2] = np.where(numbers < 0, self._anchor, numbers)
        lines = self._lines.encode(as_statements(self.batch(("s", "p", "o"), rows))).decode().split("\n")
        around = len(f"<{_ANCHOR}> <{_ANCHOR}> ")
        return [line[around:-2] if id >= 0 else "UNDEF" for id, line in zip(numbers, lines, strict=False)]

    # ---- expressions

    def size(self, functions: int) -> int:
        """Bytes of the terms, and of the tables of some functions of them."""
        return self.dictionary.nbytes + 8 * functions * self.dictionary.n_nodes

    def function(self, compute: Callable[[list[Any]], list[Any]], type: Any) -> Callable[..., Any]:
        """A function of Arrow columns, of one that computes values of rows."""
        known: dict[Row, Any] = {}
        is_text = type == pa.string()
        # For a column of small numbers, from -1 on, the values; 0 is not known. Of numbers 1 is None, then come they.
        table = np.zeros(0, object if is_text else np.int32)
        texts = 0  # bytes of those in the table

        def of_numbers(places: Any) -> Any:
            nonlocal table, texts
            if (most := int(places.max(initial=0))) >= len(table):
                more = max(most + 1, min(self.dictionary.n_nodes + 1, 2 * most)) - len(table)
                table = np.append(table, np.zeros(more, table.dtype))
            new = np.unique(places[table[places] == 0])
            if texts > self.room:
                table[:], texts, new = 0, 0, np.unique(places)
            for at in range(0, len(new), _TOGETHER):
                some = new[at : at + _TOGETHER]
                values = compute([(place - 1 if place else None,) for place in some.tolist()])
                table[some] = values if is_text else [1 if value is None else value + 2 for value in values]
                texts += sum(_VALUE // 4 + len(value or "") for value in values) if is_text else 0
            found = table[places]
            if is_text:
                return pa.array(found, type)
            # Not type.to_pandas_dtype(), which imports pandas before pyarrow 18.
            return pa.array((found - 2).astype(bool if type == pa.bool_() else np.int32), type, found == 1)

        def call(*columns: Any) -> Any:
            if len(columns) == 1:
                places = columns[0].combine_chunks().fill_null(-1).to_numpy() + 1
                if columns[0].type == pa.int32() or places.max(initial=0) < _KEPT:
                    with self._lock:
                        return of_numbers(places)
            rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
            with self._lock:
                if len(known) > min(_KEPT, self.room // _VALUE):
                    known.clear()
                new = list({row: None for row in rows if row not in known})
                for at in range(0, len(new), _TOGETHER):
                    some = new[at : at + _TOGETHER]
                    known.update(zip(some, compute(some), strict=True))
                return pa.array([known[row] for row in rows], type)

        return call

    def aggregate(self, *of: Any) -> Callable[[Any], Any]:
        """The function of an Arrow column of lists of rows, of an aggregate as `aggregates` takes it."""

        def call(lists: Any) -> Any:
            lists = lists.combine_chunks()
            rows = lists.flatten()
            cells = np.stack([column.fill_null(-1).to_numpy() for column in rows.flatten()], axis=1)
            sizes = lists.value_lengths().fill_null(0).to_numpy()
            with self._lock:
                return pa.array(self.aggregates(sizes, cells, *of), pa.int32())

        return call

    def values(
        self, expression: str, names: Sequence[str], rows: list[Row], rest: str = "", missing: Any = None
    ) -> list[Any]:
        """The value of an expression for rows of numbers, as a term of pyoxigraph; None after an error, ``missing``
        where the ``rest`` of the pattern drops the row."""
        made: list[Any] = [missing] * len(rows)
        pattern = f"BIND({expression} AS ?r) {rest}"
        for at, value in self._solve(pattern, names, _cells(rows, names), "?i ?r") if rows else ():
            made[int(at.value)] = value
        return made

    def conditions(self, expression: str, names: Sequence[str], rows: list[Row]) -> list[bool | None]:
        """Whether a condition holds for rows of numbers; None after an error."""
        found = self.values(f"IF({expression}, 1, 0)", names, rows, "FILTER(!BOUND(?r) || ?r = 1)", False)
        return [value and True for value in found]

    def numbered(self, values: list[Any]) -> list[int | None]:
        """The numbers of terms of pyoxigraph, of which some may be None."""
        numbers = iter(self.of(value for value in values if value is not None))
        return [None if value is None else next(numbers) for value in values]

    def aggregates(
        self, sizes: Any, cells: Any, kind: str, text: str, rest: str, names: Sequence[str]
    ) -> list[int | None]:
        """The numbers of an aggregate for groups of rows of numbers (``cells``), of which ``sizes`` are given: of the
        ``text`` of an expression, which ``rest`` follows.

        Large groups are aggregated in parts, and then what came of these.
        """
        full = np.flatnonzero(sizes)
        starts = (np.cumsum(sizes) - sizes)[full]
        cuts = np.arange(0, len(cells), _TOGETHER)
        if text.startswith("DISTINCT "):
            cuts = starts[np.unique(starts // _TOGETHER, return_index=True)[1]]
            if (most := int(sizes.max(initial=0))) > max(32 * self.room // _ROW, _TOGETHER):
                asked = text.replace("\n", "")
                raise JellyLimitError(f"{kind}({asked}) of {most} rows in one group")
        first = np.union1d(starts, cuts)
        lengths = np.diff(first, append=len(cells))
        of = full[np.searchsorted(starts, first, "right") - 1]
        is_parted = len(of) > len(full)
        name = "SUM" if is_parted and kind == "AVG" else kind
        made: list[Any] = [None] * len(of)
        for begin, end in pairwise([*cuts.tolist(), len(cells)]):
            a, b = np.searchsorted(first, (begin, end))
            parts = np.repeat(np.arange(a, b), lengths[a:b]).tolist()
            for part, value in self._solve("", names, cells[begin:end], f"?g ({name}({text}{rest}) AS ?r)", parts):
                made[int(part.value)] = value
        numbers = self.numbered(made)
        if is_parted:
            column = np.array([[-1 if number is None else number] for number in numbers])
            found = self.aggregates(np.bincount(of, minlength=len(sizes)), column, name, "?x", rest, ["x"])
            if name != kind:
                rows: list[Row] = list(zip(found, self.integers([(size,) for size in sizes.tolist()]), strict=True))
                means = self.numbered(self.values("?x / ?y", ["x", "y"], rows))
                found = [mean if size else sum for mean, size, sum in zip(means, sizes, found, strict=True)]
            return found
        found = [None] * len(sizes)
        if len(of) < len(sizes):
            [(value,)] = self._solve("", names, cells[:0], f"({kind}({text}{rest}) AS ?r)")
            found = self.numbered([value]) * len(sizes)
        for group, number in zip(of.tolist(), numbers, strict=True):
            found[group] = number
        return found

    def _solve(
        self, pattern: str, names: Sequence[str], numbers: Any, select: str, groups: Sequence[int] | None = None
    ) -> Any:
        """The solutions of a query of rows of terms, each with its number ?i, or that of its group ?g."""
        key, group = ("?i", "") if groups is None else ("?g", " GROUP BY ?g")
        ids = range(len(numbers)) if groups is None else groups
        columns = dict(zip(names, map(self._texts, numbers.T), strict=True))
        for name, column in zip(names, numbers.T, strict=True):
            for function, other in WRITTEN.items():
                call, variable = f"{function}\n(?{name})", f"{function}{name}"
                if call in pattern + select and other.search("\n".join(columns[name])):
                    terms = (written(function, term) for (term,) in self.batch(("term",), column[:, None]))
                    columns[variable] = ["UNDEF" if term is None else str(term) for term in terms]
                    pattern, select = (text.replace(call, f"?{variable}") for text in (pattern, select))
        listed = " ".join(f"?{name}" for name in columns)
        has_nodes = any(text.startswith("_:") for texts in columns.values() for text in texts)
        # A base, which functions IRI and URI may need, would make other IRIs of relative ones.
        if not has_nodes and (self.base is None or "RI(" not in pattern + select):
            values = "".join([f"({' '.join(cells)})" for cells in zip(map(str, ids), *columns.values(), strict=True)])
            with suppress(SyntaxError):  # of IRIs that are none by RFC 3987
                return solutions(f"SELECT {select} {{ VALUES ({key} {listed}) {{ {values} }} {pattern} }}{group}")
        # What cannot be written in a query functions give.
        functions = {}
        binds = ""
        for name, texts in columns.items():
            lines = "".join([f"<x:x> <x:x> {text} .\n" for text in texts if text != "UNDEF"]).encode()
            made = ox.parse(lines, ox.RdfFormat.N_TRIPLES, lenient=True)
            found = [None if text == "UNDEF" else next(made).object for text in texts]
            functions[ox.NamedNode(f"x:{name}")] = lambda at, found=found: found[int(at.value)]
            binds += f" BIND(<x:{name}>(?at) AS ?{name})"
        values = "".join(f"({at} {id})" for at, id in enumerate(ids))
        return solutions(
            f"SELECT {select} {{ VALUES (?at {key}) {{ {values} }} {binds} {pattern} }}{group}",
            base_iri=self.base, custom_functions=functions,
        )  # fmt: skip

    def order(self, rows: list[Row]) -> list[Any]:
        """The texts by which terms are ordered: unbound, blank nodes, IRIs, numbers, dates and booleans, other
        literals, triple terms by their parts."""
        batch = self.batch(("term",), _cells(rows, ["term"]))
        return [None if term is None else _key(term) for (term,) in batch]

    def integers(self, rows: list[Any]) -> list[int]:
        """The numbers of integers."""
        return self.of(Literal(number) for (number,) in rows)


def _cells(rows: list[Row], names: Sequence[str]) -> Any:
    """Rows of numbers as an array, -1 for None."""
    return np.array([-1 if id is None else id for row in rows for id in row], np.int32).reshape(len(rows), len(names))


def _key(term: Any) -> str:
    if isinstance(term, QuotedTriple):
        return "5" + "\1".join(map(_key, (term.s, term.p, term.o)))
    rank, text = 4, str(term.value)
    if isinstance(term, BlankNode):
        rank = 0
    elif isinstance(term, IRI):
        rank = 1
    elif isinstance(term, Literal) and (type := _TYPES.fullmatch(term.datatype.value)):
        with suppress(ArithmeticError, ValueError, KeyError):
            if type["number"]:
                number = Decimal(text.replace("INF", "Infinity"))
                near = float(number)
                # Integers of 64 bits are more exact than a double.
                rest = 0.0 if type["number"] in ("double", "float") or abs(near) < 1 << 53 else number - Decimal(near)
                rank, text = 2, _bits(near) + _bits(float(rest))
            elif type["time"]:
                rank, text = 3, type["time"][:4] + _moment(text)
            elif not type["span"]:
                rank, text = 3, str(_BOOLEANS[text])
            elif found := _SPAN.fullmatch(text):
                parts = map(float, found.groups("0")[1:])
                rank, text = 3, "span" + _bits(float(f"{found[1]}1") * sum(map(mul, parts, _SECONDS)))
    return f"{rank}{text}"


def _bits(number: float) -> str:
    """The bits of a number, which are in its order but that negative ones go backwards."""
    [bits] = unpack(">Q", pack(">d", number + 0.0))
    return f"{bits ^ (_BITS if bits >> 63 else 1 << 63):016x}"


def _moment(text: str) -> str:
    """An xsd:date or xsd:dateTime as a text in its order, that of UTC where it has no time zone.

    ValueError if it is none, or too far away.
    """
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError
    year, month, day, hours, minutes, seconds = (int(part or 0) for part in found.groups()[:6])
    fraction, zone, zone_minutes = found.group(7, 8, 9)
    if zone:
        minutes -= 60 * int(zone) + int(zone[0] + zone_minutes)
    # Of years that begin in March, in the calendar of Gregory.
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day
    whole = 60 * (1440 * days + 60 * hours + minutes) + seconds + (1 << 62)
    if not 0 <= whole < 1 << 63:
        raise ValueError
    return f"{whole:019}{(fraction or '').rstrip('0')}"
