"""Runs the SQL of queries in DuckDB, over the statements that they can touch."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from inspect import Parameter, Signature
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary, ref

import numpy as np

from jelly._core.base.batch import Batch
from jelly._dataset.dataset import Dataset
from jelly._dataset.seekable.file import JellyFile
from jelly._formats.arrow_tables import pa
from jelly._formats.index import refuse_closed
from jelly.errors import JellyError, JellyLimitError, JellyUnsupportedError, need
from jelly.rdflib._query.algebra import PLACE, Algebra, Table
from jelly.rdflib._query.syntax import rdflib
from jelly.rdflib._query.touched import Touched
from jelly.rdflib._query.values import Numbers

with need("query", "SPARQL queries need duckdb"):
    import duckdb

__all__ = ["Engine"]

_STATEMENTS = pa.schema([pa.field(name, pa.int32()) for name in "spog"])
_ORDER = pa.struct([("rank", pa.int8()), ("number", pa.float64()), ("text", pa.string())])
# Rows of a Batch of results.
_ROWS = 1 << 16
# Bytes without which DuckDB cannot even clean up.
_LEAST = 1 << 22
# Connections for the next queries, as DuckDB takes 40 ms for a new one, by process; each with its folder.
_idle: dict[int, list[tuple[Any, str]]] = {}
_MOST_IDLE = 4
# Engines that hold statements of open files, by process, until the files are closed; and about the bytes of a term and
# of a statement in one.
_kept: WeakKeyDictionary[JellyFile, tuple[int, list[Engine]]] = WeakKeyDictionary()
_TERM, _STATEMENT = 128, 32


def _kept_for(file: JellyFile) -> list[Engine]:
    """The engines that hold statements of a file; whoever removes one from this list may use it."""
    pid, engines = _kept.get(file, (0, []))
    if pid != os.getpid():
        engines = []
        _kept[file] = os.getpid(), engines
        file._stack.callback(_kept.pop, file, None)
    return engines


class Engine:
    """A connection to DuckDB with the statements of a `Dataset`, and the functions of one query."""

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
        # The settings and the views that the connection has, and whether a result is not read to its end.
        self._settings, self._views, self._is_reading = "", ("", ""), False
        self._file: Any = None
        self._asked: Touched | None = None

    @classmethod
    def of(cls, dataset: Dataset, asked: Touched) -> Engine:
        """An engine for what a query asks of a dataset; of an open file one that holds it, if there is one."""
        sources = dataset._sources
        file = sources.each[0]
        is_plain = sources.labels.mode == "keep" and not (dataset._steps or any(sources.settings.values()))
        if len(sources.each) > 1 or not isinstance(file, JellyFile) or not is_plain:
            return cls()
        refuse_closed(file._file)
        engines = _kept_for(file)
        for engine in list(engines):
            if engine._asked is not None and asked.is_within(engine._asked):
                with suppress(ValueError):  # another thread has it now
                    engines.remove(engine)
                    return engine
        made = cls()
        made._file, made._asked = ref(file), asked
        return made

    def begin(self, memory: int, threads: int, base: str | None) -> None:
        """Begin with a query."""
        self._memory = memory
        most = max(1, min(threads, os.cpu_count() or 1))
        settings = f"SET memory_limit='{max(memory, _LEAST) // 1024}KiB'; SET threads={most}"
        if settings != self._settings:
            self._run(settings)
            self._settings = settings
        self._numbers.base = base
        self._functions: dict[tuple[Any, ...], str] = {}
        self._defined: list[str] = []

    def close(self) -> None:
        """End the work, and remove its files."""
        try:
            for name in self._defined:
                self._connection.remove_function(name)
            if self._is_reading:
                self._drop_views()
        except duckdb.Error:  # not all was read of a result
            self._connection.close()
            return
        file = None if self._file is None or self._rows < 0 else self._file()
        if file is None:
            self._drop()
            return
        engines = _kept_for(file)
        engines.append(self)
        while sum(engine._size for engine in list(engines)) > self._memory:
            with suppress(IndexError):
                engines.pop(0)._drop()

    @property
    def _size(self) -> int:
        return self._numbers.dictionary.n_nodes * _TERM + self._rows * _STATEMENT

    def _drop(self) -> None:
        """Let go of the statements; the connection is for the next query if it is as a new one."""
        self._drop_views()
        self._connection.execute("DROP TABLE IF EXISTS quads")
        idle = _idle.setdefault(os.getpid(), [])
        if len(idle) < _MOST_IDLE and not os.path.exists(self._folder):
            idle.append((self._connection, self._folder))
        else:
            self._connection.close()

    def _drop_views(self) -> None:
        self._views = "", ""
        self._connection.execute("DROP VIEW IF EXISTS triples; DROP VIEW IF EXISTS named")

    # ---- functions

    def _define(self, name: str, compute: Any, types: list[str], type: Any) -> None:
        is_aggregate = types[0].endswith("[]")
        of = {pa.int32(): "INTEGER", pa.bool_(): "BOOLEAN", _ORDER: "STRUCT(rank TINYINT, number DOUBLE, text VARCHAR)"}
        function: Any = self._numbers.function(compute, type, is_aggregate)
        # DuckDB counts parameters.
        names = [Parameter(f"a{at}", Parameter.POSITIONAL_ONLY) for at in range(len(types))]
        function.__signature__ = Signature(names)
        with _refusal():
            self._connection.create_function(name, function, types, of[type], type="arrow", null_handling="special")
        self._defined.append(name)

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
        return self._made(text, columns, lambda *rows: numbers.numbered(numbers.values(*rows)), pa.int32())

    def _made(self, text: str, columns: Sequence[str], compute: Any, type: Any) -> str:
        if not columns:
            found = compute(text, (), [()])[0]
            of = "BOOLEAN" if type == pa.bool_() else "INTEGER"
            return f"CAST({'NULL' if found is None else found} AS {of})"
        return self._function((text, type), lambda rows: compute(text, columns, rows), ["INTEGER"] * len(columns), type)

    def aggregate(self, text: str, columns: Sequence[str]) -> str:
        """The function of an aggregate: of lists of rows of columns."""
        numbers, names = self._numbers, columns or ["z"]

        def compute(groups: list[Any]) -> list[Any]:
            rows = [
                None if group is None else [tuple(row[name] for name in names) for row in group] for (group,) in groups
            ]
            return numbers.numbered(numbers.aggregates(text, names, rows))

        row = ", ".join(f"{name} INTEGER" for name in names)
        return self._function((text, "aggregate"), compute, [f"STRUCT({row})[]"], pa.int32())

    def _function(self, key: tuple[Any, ...], compute: Any, types: list[str], type: Any) -> str:
        if key not in self._functions:
            self._functions[key] = f"f{len(self._functions)}"
            self._define(self._functions[key], compute, types, type)
        return self._functions[key]

    # ---- statements

    def load(self, some: Dataset, clauses: Sequence[Any]) -> None:
        """Take the statements, each once, and make the relations of the graphs that a query asks."""
        if self._rows < 0:
            self._take(some.batches())
        default, named = (
            [self.number(clause[name]) for clause in clauses if name in clause] for name in ("default", "named")
        )
        views = "SELECT s, p, o FROM quads WHERE g = -1", "FROM quads WHERE g <> -1"
        if clauses:
            chosen, others = (", ".join(map(str, each)) or "NULL" for each in (default, named))
            views = f"SELECT DISTINCT s, p, o FROM quads WHERE g IN ({chosen})", f"FROM quads WHERE g IN ({others})"
        if views != self._views:
            self._run(f"CREATE OR REPLACE VIEW triples AS {views[0]}; CREATE OR REPLACE VIEW named AS {views[1]}")
            self._views = views

    def _take(self, batches: Iterator[Batch]) -> None:
        errors: list[BaseException] = []

        def rows() -> Iterator[pa.RecordBatch]:
            try:
                for batch in batches:
                    columns = self._numbers.dictionary.add(batch, apart=False)
                    graphs = np.full(len(columns[0]), -1, np.int32) if columns[3] is None else columns[3]
                    yield pa.RecordBatch.from_arrays([*map(pa.array, (*columns[:3], graphs))], schema=_STATEMENTS)
            except BaseException as error:
                errors.append(error)
                raise

        self._connection.register("statements", pa.RecordBatchReader.from_batches(_STATEMENTS, rows()))
        try:
            self._run("CREATE TABLE quads AS SELECT DISTINCT s, p, o, g FROM statements")
        except JellyError:
            if errors:
                raise errors[0] from None
            raise
        finally:
            with _refusal():
                self._connection.unregister("statements")
        self._rows = self._run("SELECT count(*) FROM quads").fetchone()[0]

    def _run(self, sql: str) -> Any:
        with _refusal():
            return self._connection.execute(sql)

    # ---- solutions

    def rows(self, sql: str) -> Iterator[Any]:
        """The rows of a query of numbers: arrays with a column for each of its columns."""
        counted: Any = lambda rows: self._numbers.integer([row[0] for row in rows])  # noqa: E731
        # Only what is called: DuckDB takes about a millisecond for a function.
        for name, compute, of, type in (
            ("count_of", counted, "BIGINT", pa.int32()), ("order_of", self._numbers.order, "INTEGER", _ORDER),
        ):  # fmt: skip
            if f"{name}(" in sql and name not in self._defined:
                self._define(name, compute, [of], type)
        self._is_reading = True
        with _refusal():
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

        self._define("fresh_of", fresh, ["BIGINT", "INTEGER"], pa.int32())

        def cell(term: Any) -> str:
            if isinstance(term, rdflib.BNode):
                return f"fresh_of(row, {labels.setdefault(term, len(labels))})"
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


@contextmanager
def _refusal() -> Iterator[None]:
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise JellyLimitError(f"the query needs more memory than memory= allows: {_line(error)}") from None
    except duckdb.Error as error:
        raise JellyUnsupportedError(f"DuckDB cannot answer the query: {_line(error)}") from None


def _line(error: Exception) -> str:
    return str(error).splitlines()[0]
