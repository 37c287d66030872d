"""Terms as numbers, and the values of expressions of them, which pyoxigraph computes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from threading import RLock
from typing import Any, TypeAlias

import numpy as np

from jelly._core.algebra.graph_ids import GraphDictionary
from jelly._core.algebra.reshape import as_statements
from jelly._core.base.batch import Batch
from jelly._core.ntriples.text import TextWriter
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.model import IRI, BlankNode, Literal, QuotedTriple, to_term
from jelly._core.terms.statements import Triple
from jelly._formats.arrow_tables import pa
from jelly._formats.syntaxes import library_of
from jelly.rdflib._query.syntax import ox, solutions

__all__ = ["Numbers", "Row"]

Row: TypeAlias = tuple[int | None, ...]
# Values that are kept of each expression, and rows that are computed at a time.
_KEPT, _TOGETHER = 1 << 20, 1 << 14
_ANCHOR = "x:x"  # stands where a term needs a statement
_NUMBERS = re.compile(
    r"http://www\.w3\.org/2001/XMLSchema#((?:unsigned|nonNegative|nonPositive|positive|negative)?"
    r"(?:int|integer|long|short|byte|Integer|Int|Long|Short|Byte)|decimal|double|float)"
)
_INTEGER = ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer")


class Numbers:
    """The numbers of terms: those of statements, those of queries, and those that expressions make.

    Functions of SQL get and give numbers, and threads of DuckDB call them.
    """

    def __init__(self) -> None:
        self.base: str | None = None  # of IRIs in expressions
        self.dictionary = GraphDictionary()
        self._lock = RLock()
        self._library = library_of()
        self._lines = TextWriter(quads=False, keep_labels=True)
        [self._anchor] = self.of([IRI(_ANCHOR)])

    def of(self, terms: Iterable[Any]) -> list[int]:
        """The numbers of terms of any library."""
        builder = BatchBuilder(3)
        anchor = IRI(_ANCHOR)
        for term in terms:
            builder.add(Triple(anchor, anchor, to_term(term)))
        with self._lock:
            return [int(found) for found in self.dictionary.numbers(builder.batch, add=True)]

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

    def function(
        self, compute: Callable[[list[Any]], list[Any]], type: Any, is_aggregate: bool = False
    ) -> Callable[..., Any]:
        """A function of Arrow columns, of one that computes values of rows. Those of an aggregate are not kept."""
        known: dict[Row, Any] = {}
        # For a column of numbers of terms, from -1 on: 0 is not known, 1 is None, and then come the values.
        table = np.zeros(0, np.int32)

        def of_terms(column: Any) -> Any:
            nonlocal table
            places = column.combine_chunks().fill_null(-1).to_numpy() + 1
            with self._lock:
                if (most := int(places.max(initial=0))) >= len(table):
                    table = np.append(table, np.zeros(max(most, self.dictionary.n_nodes) + 1 - len(table), np.int32))
                new = np.unique(places[table[places] == 0])
                for at in range(0, len(new), _TOGETHER):
                    some = new[at : at + _TOGETHER]
                    values = compute([(place - 1 if place else None,) for place in some.tolist()])
                    table[some] = [1 if value is None else value + 2 for value in values]
                found = table[places]
            return pa.array((found - 2).astype(type.to_pandas_dtype()), type, found == 1)

        def call(*columns: Any) -> Any:
            same = None
            if len(columns) == 1 and not is_aggregate:
                if columns[0].type == pa.int32() and not pa.types.is_struct(type):
                    return of_terms(*columns)
                coded = columns[0].combine_chunks().dictionary_encode("encode")
                columns, same = (coded.dictionary,), coded.indices
            rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
            with self._lock:
                if is_aggregate:
                    return pa.array(compute(rows), type)
                if len(known) > _KEPT:
                    known.clear()
                new = list({row: None for row in rows if row not in known})
                for at in range(0, len(new), _TOGETHER):
                    some = new[at : at + _TOGETHER]
                    known.update(zip(some, compute(some), strict=True))
                made = pa.array([known[row] for row in rows], type)
                return made if same is None else made.take(same)

        return call

    def values(self, expression: str, names: Sequence[str], rows: list[Row]) -> list[Any]:
        """The value of an expression for rows of numbers, as a term of pyoxigraph; None after an error."""
        found = self._solve(f"BIND({expression} AS ?r)", names, rows, "?i ?r")
        made: list[Any] = [None] * len(rows)
        for at, value in found:
            made[int(at.value)] = value
        return made

    def conditions(self, expression: str, names: Sequence[str], rows: list[Row]) -> list[bool | None]:
        """Whether a condition holds for rows of numbers; None after an error."""
        found = self.values(f"IF({expression}, 1, 0)", names, rows)
        return [None if value is None else value.value == "1" for value in found]

    def numbered(self, values: list[Any]) -> list[int | None]:
        """The numbers of terms of pyoxigraph, of which some may be None."""
        numbers = iter(self.of(value for value in values if value is not None))
        return [None if value is None else next(numbers) for value in values]

    def aggregates(self, aggregate: str, names: Sequence[str], groups: list[Any]) -> list[Any]:
        """The value of an aggregate for groups: each a list of rows of numbers."""
        rows = [(at, *row) for at, group in enumerate(groups) for row in group or ()]
        made: list[Any] = [None] * len(groups)
        if any(not group for group in groups):
            [(value,)] = solutions(f"SELECT ({aggregate} AS ?r) {{ VALUES ({_listed(names)}) {{}} }}")
            made = [value if not group else None for group in groups]
        found = self._solve("", names, [row[1:] for row in rows], f"?g ({aggregate} AS ?r)", [row[0] for row in rows])
        for group, value in found:
            if group is not None:
                made[int(group.value)] = value
        return made

    def _solve(
        self, pattern: str, names: Sequence[str], rows: list[Row], select: str, groups: Sequence[int] | None = None
    ) -> Any:
        """The solutions of a query of rows of terms, each with its number ?i, or that of its group ?g."""
        if not rows:
            return []
        numbers = np.array([[-1 if id is None else id for id in row] for row in rows], np.int32)
        numbers = numbers.reshape(len(rows), len(names))
        key = "?i" if groups is None else "?g"
        ids = range(len(rows)) if groups is None else groups
        group = "" if groups is None else " GROUP BY ?g"
        columns = [self._texts(column) for column in numbers.T]
        if not any(text.startswith(("_:", "<<")) for column in columns for text in column):
            values = "".join([f"({' '.join(cells)})" for cells in zip(map(str, ids), *columns, strict=True)])
            try:
                return solutions(
                    f"SELECT {select} {{ VALUES ({key} {_listed(names)}) {{ {values} }} {pattern} }}{group}",
                    base_iri=self.base,
                )
            except SyntaxError:
                pass  # terms that are none by RFC 3987
        # Blank nodes, triple terms and wrong IRIs cannot be written in a query.
        batch = self.batch(tuple(names), numbers)
        maker = Materializer(batch, self._library)
        cells = batch.cells
        functions = {}
        binds = ""
        for column, name in enumerate(names):
            found = [None if id < 0 else maker.term(id) for id in cells[:, column].tolist()]
            functions[ox.NamedNode(f"x:{name}")] = lambda at, found=found: found[int(at.value)]
            binds += f" BIND(<x:{name}>(?at) AS ?{name})"
        values = "".join(f"({at} {id})" for at, id in enumerate(ids))
        return solutions(
            f"SELECT {select} {{ VALUES (?at {key}) {{ {values} }} {binds} {pattern} }}{group}",
            base_iri=self.base, custom_functions=functions,
        )  # fmt: skip

    def order(self, rows: list[Row]) -> list[Any]:
        """The keys by which terms are ordered: unbound, blank nodes, IRIs, numbers, other literals."""
        numbers = np.array([[-1 if id is None else id] for (id,) in rows], np.int32)
        return [None if term is None else _key(term) for (term,) in self.batch(("term",), numbers)]

    def integer(self, numbers: list[int | None]) -> list[int | None]:
        """The numbers of integers."""
        return self.numbered(
            [None if number is None else ox.Literal(str(number), datatype=_INTEGER) for number in numbers]
        )


def _listed(names: Iterable[str]) -> str:
    return " ".join(f"?{name}" for name in names)


def _key(term: Any) -> dict[str, Any]:
    rank, number, text = 3, 0.0, str(term.value) if not isinstance(term, QuotedTriple) else str(term)
    if isinstance(term, BlankNode):
        rank = 0
    elif isinstance(term, IRI):
        rank = 1
    elif isinstance(term, Literal) and _NUMBERS.fullmatch(term.datatype.value):
        with suppress(ArithmeticError):
            rank, number, text = 2, float(Decimal(term.value.replace("INF", "Infinity"))), ""
    return {"rank": rank, "number": number, "text": text}
