"""Runs the SQL of queries in DuckDB, over the statements that they can touch."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from inspect import Parameter, Signature
from itertools import count
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary, ref

import numpy as np

from jelly._core.algebra.graph_ids import Repeats
from jelly._core.base.batch import Batch
from jelly._dataset.conditions.pattern import Selection
from jelly._dataset.dataset import Dataset
from jelly._dataset.seekable.file import JellyFile
from jelly._formats.arrow_tables import pa
from jelly._formats.index import refuse_closed
from jelly.errors import QUERIES, JellyLimitError, JellyUnsupportedError, need
from jelly.rdflib._query.algebra import PLACE, Algebra, Table
from jelly.rdflib._query.syntax import rdflib
from jelly.rdflib._query.touched import Touched
from jelly.rdflib._query.values import Numbers

with need(*QUERIES):
    import duckdb

_NUMBER = pa.int32()
_STATEMENTS = pa.schema([*((name, _NUMBER) for name in "spog"), ("repeats", pa.bool_())])
_COLUMNS = "(s INTEGER, p INTEGER, o INTEGER, g INTEGER)"
_TYPES = {_NUMBER: "INTEGER", pa.bool_(): "BOOLEAN", pa.string(): "VARCHAR"}
# Rows of a Batch of results, and of statements that DuckDB gets at a time.
_ROWS, _TOGETHER = 1 << 16, 1 << 18
# Bytes without which DuckDB cannot even clean up.
LEAST = 1 << 22
# Connections for the next queries, as DuckDB takes 40 ms for a new one, by process; each with its folder.
_idle: dict[int, list[tuple[Any, str]]] = {}
_MOST_IDLE = 4
# Engines that hold statements of open files, by process, until the files are closed; and about the bytes of a statement
# in one.
_kept: WeakKeyDictionary[JellyFile, tuple[int, list[Engine]]] = WeakKeyDictionary()
_STATEMENT = 32
# Functions of expressions that stay with the statements, and with them the values.
_FUNCTIONS = 8
# Numbers of the blank nodes of templates, as two queries may have the same engine and the same place in memory.
_nodes = count()


def _kept_for(file: JellyFile) -> list[Engine]:
    """The engines that hold statements of a file; whoever removes one from this list may use it."""
    pid, engines = _kept.get(file, (0, []))
    if pid != os.getpid():
        engines = []
        _kept[file] = os.getpid(), engines
        file._stack.callback(_kept.pop, file, None)
    return engines


def _shrunk(engines: list[Engine], most: int) -> int:
    """The bytes of engines, after the oldest of them went until they take no more than ``most``."""
    while (held := sum(engine._size for engine in list(engines))) > most and engines:
        with suppress(IndexError):  # another thread has it now
            engines.pop(0)._drop()
    return held


@contextmanager
def _refusal() -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        told = str(error).splitlines()[0]
        _, is_limit, what = told.partition("JellyLimitError: ")  # of a function
        # DuckDB before 1.5 says of a commit without memory that it could not pin a block.
        if is_limit or isinstance(error, duckdb.OutOfMemoryException) or "failed to pin block" in told:
            raise JellyLimitError(f"the query needs more memory than it is allowed: {what or told}") from None
        raise JellyUnsupportedError(f"DuckDB cannot answer the query: {told}") from None


class Engine:
    """A connection to DuckDB with the statements of a `Dataset`, and the functions of queries."""

    def __init__(self) -> None:
        try:
            self._connection, self._folder = _idle[os.getpid()].pop()
        except LookupError:
            # DuckDB makes this folder where it needs it, and removes it.
            self._folder = os.path.join(tempfile.gettempdir(), f"jelly-{uuid4().hex}")
            self._connection = duckdb.connect(config={"temp_directory": self._folder})
        self._numbers = Numbers()
        self._known: dict[Any, int] = {}
        self._rows = -1  # that it holds
        self._file: Any = lambda: None
        self._is_reading = False
        self._set: dict[str, str] = {}
        self._functions: dict[tuple[Any, ...], str] = {}
        self._clauses: Any = None  # of the relations of the graphs
        self._asked: Any = None

    @classmethod
    def of(cls, dataset: Dataset, asked: Touched, memory: int) -> Engine:
        """An engine for what a query asks of a dataset; of an open file one that holds it, if there is one."""
        sources = dataset._sources
        file = sources.each[0]
        is_plain = sources.labels.mode == "keep" and not (dataset._steps or any(sources.settings.values()))
        if len(sources.each) > 1 or not isinstance(file, JellyFile) or not is_plain:
            return cls()
        refuse_closed(file._file)
        engines = _kept_for(file)
        for engine in list(engines):
            if asked.is_within(engine._asked) and engine._size <= max(memory, LEAST):
                with suppress(ValueError):  # another thread has it now
                    engines.remove(engine)
                    return engine
        made = cls()
        made._file, made._asked = ref(file), asked
        return made

    @_refusal()
    def begin(self, memory: int, threads: int, base: str | None) -> None:
        """Begin with a query."""
        self._memory = memory
        self._setting("threads", f"{max(1, min(threads, os.cpu_count() or 1))}")
        if self._numbers.base != base or len(self._functions) > _FUNCTIONS:
            self._forget()
        self._numbers.base = base

    def _limit(self, held: int = 0) -> None:
        """Let DuckDB have the memory that is left beside terms, values and what else is ``held``. What earlier queries
        read of the file goes before that is less than half."""
        file = self._file()
        memory = max(self._memory, LEAST)
        held += self._numbers.size(len(self._functions))
        held += 0 if file is None else _shrunk(_kept_for(file), memory // 2 - held)
        if held > memory:
            raise JellyLimitError(
                "the query needs more memory than it is allowed: "
                f"terms of the statements that it can touch take {held} of {memory} bytes"
            )
        self._numbers.room = (memory - held) // 8 // max(_FUNCTIONS, len(self._functions))
        left = max(memory - held - self._numbers.room * len(self._functions), LEAST)
        self._setting("memory_limit", f"'{left // 1024}KiB'")

    def _setting(self, name: str, value: str) -> None:
        if self._set.get(name) != value:
            self._run(f"SET {name}={value}")
            self._set[name] = value

    def close(self) -> None:
        """End the work, and remove its files."""
        if self._is_reading:  # not all was read of a result, or there was an error
            self._connection.close()
            return
        file = self._file()
        if file is None or self._rows < 0:
            self._drop()
            return
        engines = _kept_for(file)
        engines.append(self)
        _shrunk(engines, self._memory)

    @property
    def _size(self) -> int:
        return self._numbers.size(len(self._functions)) + self._rows * _STATEMENT

    def _forget(self) -> None:
        """Let go of the functions, and the values that they know."""
        for name in self._functions.values():
            self._connection.remove_function(name)
        self._functions.clear()

    def _drop(self) -> None:
        """Let go of the statements; the connection is for the next query if it is as a new one."""
        self._forget()
        for name in ("VIEW graphs", "VIEW triples", "VIEW named", "TABLE quads", "TABLE parts"):
            self._run("DROP " + name.replace(" ", " IF EXISTS "))
        idle = _idle.setdefault(os.getpid(), [])
        if len(idle) < _MOST_IDLE and not os.path.exists(self._folder):
            idle.append((self._connection, self._folder))
        else:
            self._connection.close()

    # ---- functions

    @_refusal()
    def _function(self, key: tuple[Any, ...], function: Any, types: list[str], type: Any) -> str:
        """The name of a function of Arrow columns, which ``function`` makes if there is none of this key."""
        if key not in self._functions:
            name = f"f{len(self._functions)}"
            made = function()
            # DuckDB counts parameters.
            made.__signature__ = Signature([Parameter(f"a{at}", Parameter.POSITIONAL_ONLY) for at in range(len(types))])
            self._connection.create_function(name, made, types, _TYPES[type], type="arrow", null_handling="special")
            self._functions[key] = name
        return self._functions[key]

    def _of_rows(self, key: tuple[Any, ...], compute: Any, types: list[str], type: Any = _NUMBER) -> str:
        return self._function(key, lambda: self._numbers.function(compute, type), types, type)

    def integer(self) -> str:
        """The function that makes terms of counts."""
        return self._of_rows(("integer",), self._numbers.integers, ["BIGINT"])

    def order(self) -> str:
        """The function of what terms are ordered by."""
        return self._of_rows(("order",), self._numbers.order, ["INTEGER"], pa.string())

    def number(self, term: Any) -> int:
        """The number of an IRI or literal of RDFLib."""
        if term not in self._known:
            self._known[term] = self._numbers.of([term])[0]
        return self._known[term]

    def condition(self, text: str, columns: Sequence[str]) -> str:
        """The function, or the value where there are no columns, of a condition."""
        return self._made(text, columns, self._numbers.conditions, pa.bool_())

    def value(self, text: str, columns: Sequence[str]) -> str:
        """The function, or the value where there are no columns, of an expression."""
        numbers = self._numbers
        return self._made(text, columns, lambda *rows: numbers.numbered(numbers.values(*rows)), _NUMBER)

    def _made(self, text: str, columns: Sequence[str], compute: Any, type: Any) -> str:
        if not columns:
            found = compute(text, (), [()])[0]
            return f"CAST({'NULL' if found is None else found} AS {_TYPES[type]})"
        types = ["INTEGER"] * len(columns)
        return self._of_rows((text, type, *columns), lambda rows: compute(text, columns, rows), types, type)

    def aggregate(self, kind: str, text: str, rest: str, columns: Sequence[str]) -> str:
        """The function of an aggregate: of lists of rows of columns."""
        of = kind, text, rest, tuple(columns or "z")
        row = ", ".join(f"{name} INTEGER" for name in of[-1])
        return self._function(of, lambda: self._numbers.aggregate(*of), [f"STRUCT({row})[]"], _NUMBER)

    # ---- statements

    @_refusal()
    def load(self, some: Dataset, clauses: Sequence[Any]) -> None:
        """Take the statements, each once, and make the relations of the graphs that a query asks."""
        self._limit()
        if self._rows < 0:
            self._take(some)
            self._limit()
        if clauses == self._clauses:
            return
        default, named = (
            ", ".join(str(self.number(clause[name])) for clause in clauses if name in clause) or "NULL"
            for name in ("default", "named")
        )
        triples = (
            f"SELECT DISTINCT s, p, o FROM quads WHERE g IN ({default})"
            if clauses
            else "SELECT s, p, o FROM quads WHERE g = -1"
        )
        self._clauses = None  # until all are made
        self._run(f"CREATE OR REPLACE VIEW triples AS {triples}")
        graphs = f"IN ({named})" if clauses else "<> -1"
        self._run(f"CREATE OR REPLACE VIEW named AS FROM quads WHERE g {graphs}")
        # FROM NAMED makes a graph of each IRI (SPARQL 1.1, section 13.2.2), also of one without statements.
        listed = f"(SELECT unnest([{named}]) AS g) WHERE g IS NOT NULL" if clauses else "named"
        self._run(f"CREATE OR REPLACE VIEW graphs AS SELECT DISTINCT g FROM {listed}")
        self._clauses = clauses

    def _take(self, some: Dataset) -> None:
        # No Batch is made of the rows that a filter at the end chooses.
        last = some._steps[-1] if some._steps else None
        chosen = last if isinstance(last, Selection) else None
        before = some if chosen is None else some._then(*some._steps[:-1])
        self._run(f"CREATE TABLE quads {_COLUMNS}")
        dictionary, repeats, has_repeats = self._numbers.dictionary, Repeats(), False
        waiting: list[Any] = []
        rows = held = 0
        for batch in before._batches(some._sources, chosen):
            wanted = None if chosen is None else chosen.rows(batch)
            columns = dictionary.add(batch, rows=wanted, apart=False)
            del batch  # before the next one takes memory
            graphs = np.full(len(columns[0]), -1, np.int32) if columns[3] is None else columns[3]
            numbers = *columns[:3], graphs
            again = repeats.add(*numbers)
            has_repeats |= bool(again.any())
            waiting.append(pa.RecordBatch.from_arrays([*map(pa.array, (*numbers, again))], schema=_STATEMENTS))
            rows += len(graphs)
            if rows >= _TOGETHER or dictionary.nbytes > held + self._memory // 16:
                self._put(waiting, repeats.nbytes, has_repeats)
                waiting, rows, held = [], 0, dictionary.nbytes
        self._put(waiting, repeats.nbytes, has_repeats)
        if has_repeats:
            same = " AND ".join(f"quads.{name} = parts.{name}" for name in "spog")
            self._run(f"INSERT INTO quads SELECT DISTINCT * FROM parts WHERE NOT EXISTS (FROM quads WHERE {same})")
            self._run("DROP TABLE parts")
        self._rows = self._run("SELECT count(*) FROM quads").fetchone()[0]

    def _put(self, waiting: list[Any], held: int, has_repeats: bool) -> None:
        """Give DuckDB some statements, and those apart that may have been there before."""
        self._limit(held)
        self._connection.register("statements", pa.Table.from_batches(waiting, _STATEMENTS))
        try:
            self._run("INSERT INTO quads SELECT s, p, o, g FROM statements WHERE NOT repeats")
            if has_repeats:
                self._run(f"CREATE TABLE IF NOT EXISTS parts {_COLUMNS}")
                self._run("INSERT INTO parts SELECT s, p, o, g FROM statements WHERE repeats")
        finally:
            self._connection.unregister("statements")

    def _run(self, sql: str) -> Any:
        return self._connection.execute(sql)

    # ---- solutions

    def rows(self, sql: str) -> Iterator[Any]:
        """The rows of a query of numbers: arrays with a column for each of its columns."""
        with _refusal():
            self._is_reading = True
            found = self._connection.sql(sql)
            reader = found.to_arrow_reader if hasattr(found, "to_arrow_reader") else found.fetch_record_batch
            for batch in reader(_ROWS):
                yield np.stack([column.fill_null(-1).to_numpy() for column in batch.columns], axis=1)
            self._is_reading = False

    def results(self, algebra: Algebra, table: Table, names: Sequence[Any]) -> Iterator[Batch]:
        """The solutions of a table: Batches of results."""
        columns = [algebra.column(name) for name in names]
        order = f" ORDER BY {PLACE}" if PLACE in table.columns else ""
        chosen = ", ".join(columns) or "CAST(-1 AS INTEGER)"
        variables = tuple(map(str, names))
        for rows in self.rows(f"SELECT {chosen} FROM ({table.sql}){order}"):
            yield self._numbers.batch(variables, rows[:, : len(variables)])

    def statements(self, algebra: Algebra, table: Table, template: Sequence[Any]) -> Iterator[Batch]:
        """What a template makes of the solutions of a table: Batches of results of three columns."""
        prefix = f"c{id(self):x}"
        labels: dict[Any, int] = {}

        def fresh(rows: list[Any]) -> list[Any]:
            return self._numbers.of(rdflib.BNode(f"{prefix}r{row}n{label}") for row, label in rows)

        made = self._of_rows(("fresh",), fresh, ["BIGINT", "INTEGER"])

        def cell(term: Any) -> str:
            if isinstance(term, rdflib.BNode):
                return f"{made}(row, {labels.setdefault(term, next(_nodes))})"
            if isinstance(term, rdflib.Variable):
                column = algebra.column(term)
                return column if column in table.columns else "NULL::INTEGER"
            return str(self.number(term))

        parts = [
            f"SELECT {', '.join(f'{cell(term)} AS {name}' for name, term in zip('spo', triple, strict=True))} FROM rows"
            for triple in template
        ]
        if not parts:
            return
        node = self.condition("(isIRI(?s) || isBLANK(?s))", ["s"])
        iri = self.condition("isIRI(?p)", ["p"])
        sql = (
            f"WITH rows AS MATERIALIZED (SELECT *, row_number() OVER () AS row FROM ({table.sql})) "
            f"SELECT DISTINCT s, p, o FROM ({' UNION ALL '.join(parts)}) "
            f"WHERE s IS NOT NULL AND p IS NOT NULL AND o IS NOT NULL AND {node}(s) AND {iri}(p)"
        )
        for rows in self.rows(sql):
            yield self._numbers.batch(("s", "p", "o"), rows)
