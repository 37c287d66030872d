"""The algebra of SPARQL as SQL: a variable is a column of numbers of terms, NULL where it is unbound."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from jelly.rdflib._query.paths import Paths
from jelly.rdflib._query.syntax import CompValue, Untranslated, is_constant, rdflib, text_of, variables_of

__all__ = ["GRAPH", "PLACE", "Algebra", "Table"]

# Columns that are no variables: the graph of GRAPH ?g, and the place in an order.
GRAPH, PLACE = "g", "n"
_COUNT = "coalesce({}, 0)"
_MOST = 1 << 62  # rows that DuckDB can count


class Table(NamedTuple):
    """A query of SQL, its columns, those that are never NULL, and those that are counts, not numbers of terms."""

    sql: str
    columns: frozenset[str]
    bound: frozenset[str]
    counts: frozenset[str] = frozenset()

    @property
    def variables(self) -> frozenset[str]:
        """The columns that are variables."""
        return self.columns - {GRAPH, PLACE}

    @property
    def cells(self) -> dict[str, str]:
        """What stands for the columns where the table is called a."""
        return {column: f"a.{column}" for column in self.columns}


_UNIT = Table("SELECT 0 AS z", frozenset(), frozenset())


def _select(columns: Iterable[str], rest: str) -> str:
    return f"SELECT {', '.join(columns) or '0 AS z'} {rest}"


def _struct(cells: dict[str, str]) -> str:
    """A value of SQL of several columns."""
    return "{" + (", ".join(f"'{name}': {cell}" for name, cell in cells.items()) or "'z': NULL::INTEGER") + "}"


class Algebra:
    """Translates the algebra of one query.

    The relations ``triples`` and ``named`` have the statements of the default graph and of all named graphs.
    """

    def __init__(self, functions: Any) -> None:
        self._functions = functions
        self._columns: dict[str, str] = {}
        # The graph that patterns are matched in: its number, or GRAPH for each of the named graphs.
        self._graph: Any = None
        self._missing: set[str] = set()  # columns that expressions have and their tables lack
        self._first: dict[int, int] = {}  # how many rows are asked for of parts that are ordered, by their ids

    def column(self, variable: Any) -> str:
        """The column of a variable or of a blank node of a pattern."""
        return self._columns.setdefault(variable.n3(), f"v{len(self._columns)}")

    def table(self, part: Any, has_counts: bool = False) -> Table:
        """The table of a part of the algebra, with counts where they may be. Untranslated if there is none."""
        make = getattr(self, f"_{part.name}", None)
        if make is None:
            raise Untranslated(f"{part.name} in the query")
        made: Table = make(part)
        if has_counts or not made.counts:
            return made
        terms = (f"{self._functions.integer()}({column}) AS {column}" for column in made.counts)
        return Table(_select([*(made.columns - made.counts), *terms], f"FROM ({made.sql})"), made.columns, made.bound)

    # ---- patterns

    @property
    def _source(self) -> str:
        if self._graph is None:
            return "triples"
        return "named" if self._graph == GRAPH else f"(FROM named WHERE g = {self._graph})"

    def _unit(self) -> Table:
        """The table of one row without variables, for each graph."""
        if self._graph == GRAPH:
            return Table("SELECT DISTINCT g FROM named", frozenset({GRAPH}), frozenset({GRAPH}))
        return _UNIT

    def _BGP(self, part: Any) -> Table:
        if not part.triples:
            return self._unit()
        plain = [triple for triple in dict.fromkeys(part.triples) if not isinstance(triple[1], rdflib.paths.Path)]
        paths = [triple for triple in part.triples if isinstance(triple[1], rdflib.paths.Path)]
        ends = {term for s, _, o in plain for term in (s, o) if not is_constant(term)}
        sources = [(self._source, tuple(zip("spo", triple, strict=True))) for triple in plain]
        begun = self._matches(sources) if plain else None
        made = Paths(self._source, self._graph == GRAPH, self._functions.number)

        def seeds(term: Any) -> str | None:
            if is_constant(term):
                return f"(SELECT {self._functions.number(term)} AS s)"
            if term not in ends or begun is None:
                return None
            return f"(SELECT DISTINCT {self.column(term)} AS s FROM ({begun.sql}))"

        for s, path, o in paths:
            sources.append((made.of(path, seeds(s), seeds(o)), (("s", s), ("o", o))))
        return self._matches(sources)

    def _matches(self, sources: Iterable[tuple[str, Iterable[tuple[str, Any]]]]) -> Table:
        """The rows that relations have in common, whose columns are terms of a pattern."""
        found: dict[str, str] = {}
        conditions, relations = [], []
        for at, (source, places) in enumerate(sources):
            relations.append(f"{source} t{at}")
            cells = [(f"t{at}.{place}", term) for place, term in places]
            if self._graph == GRAPH:
                cells.append((f"t{at}.g", None))
            for cell, term in cells:
                if term is not None and is_constant(term):
                    conditions.append(f"{cell} = {self._functions.number(term)}")
                    continue
                column = GRAPH if term is None else self.column(term)
                if found.setdefault(column, cell) != cell:
                    conditions.append(f"{cell} = {found[column]}")
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        chosen = (f"{cell} AS {column}" for column, cell in found.items())
        columns = frozenset(found)
        return Table(_select(chosen, f"FROM {', '.join(relations)}{where}"), columns, columns)

    def _Graph(self, part: Any) -> Table:
        before = self._graph
        if before == GRAPH:
            raise Untranslated("GRAPH within GRAPH")
        is_named = isinstance(part.term, rdflib.Variable)
        self._graph = GRAPH if is_named else self._functions.number(part.term)
        made = self.table(part.p)
        self._graph = before
        if not is_named:
            known = f"SELECT 1 FROM named WHERE g = {self._functions.number(part.term)}"
            return made._replace(sql=f"FROM ({made.sql}) WHERE EXISTS ({known})")
        column = self.column(part.term)
        others = made.columns - {GRAPH, column}
        where = ""
        if column in made.columns:
            where = f" WHERE g = {column}" if column in made.bound else f" WHERE coalesce({column}, g) = g"
        sql = _select([*others, f"g AS {column}"], f"FROM ({made.sql}){where}")
        return Table(sql, others | {column}, (made.bound - {GRAPH}) | {column})

    def _ToMultiSet(self, part: Any) -> Table:
        if isinstance(part.p, list):  # VALUES without rows
            return Table("SELECT 0 AS z WHERE false", frozenset(), frozenset())
        if part.p.name != "values":
            made = self.table(part.p)
            return made._replace(columns=made.columns - {PLACE}, bound=made.bound - {PLACE})
        rows = part.p.res
        names = [*dict.fromkeys(name for row in rows for name in row)]
        if not names:
            raise Untranslated("VALUES without variables")
        columns = [self.column(name) for name in names]
        ids = [
            [self._functions.number(row[name]) if type(row.get(name, "")) is not str else None for name in names]
            for row in rows
        ]
        bound = frozenset(column for at, column in enumerate(columns) if all(row[at] is not None for row in ids))
        cells = ", ".join(f"({', '.join('NULL' if id is None else str(id) for id in row)})" for row in ids)
        typed = ", ".join(f"CAST({column} AS INTEGER) AS {column}" for column in columns)
        table = Table(f"SELECT {typed} FROM (VALUES {cells}) _({', '.join(columns)})", frozenset(columns), bound)
        return self._joined(self._unit(), table) if self._graph == GRAPH else table

    # ---- joins

    def _compatible(self, a: Table, b: Table, shared: Iterable[str]) -> list[str]:
        """The conditions that rows of two tables, called a and b, agree in columns."""
        made = []
        for column in sorted(shared):
            same = f"a.{column} = b.{column}"
            nulls = [f"{name}.{column} IS NULL" for name, table in (("a", a), ("b", b)) if column not in table.bound]
            made.append(f"({' OR '.join([same, *nulls])})" if nulls else same)
        return made

    def _cells(self, a: Table, b: Table) -> dict[str, str]:
        """The columns of rows of two tables that agree."""
        made = {}
        for column in sorted(a.columns | b.columns):
            cells = [f"{name}.{column}" for name, table in (("a", a), ("b", b)) if column in table.columns]
            made[column] = cells[0] if len(cells) == 1 or column in a.bound else f"coalesce({', '.join(cells)})"
        return made

    def _joined(self, a: Table, b: Table) -> Table:
        if _UNIT in (a, b):
            return b if a == _UNIT else a
        conditions = " AND ".join(self._compatible(a, b, a.columns & b.columns)) or "true"
        chosen = (f"{cell} AS {column}" for column, cell in self._cells(a, b).items())
        sql = _select(chosen, f"FROM ({a.sql}) a JOIN ({b.sql}) b ON {conditions}")
        return Table(sql, a.columns | b.columns, a.bound | b.bound)

    def _Join(self, part: Any) -> Table:
        return self._joined(self.table(part.p1), self.table(part.p2))

    def _LeftJoin(self, part: Any) -> Table:
        a, b = self.table(part.p1), self.table(part.p2)
        conditions = self._compatible(a, b, a.columns & b.columns)
        cells = self._cells(a, b)
        if not _is_true(part.expr):
            conditions.append(self._condition(part.expr, cells))
        chosen = (f"{cell} AS {column}" for column, cell in cells.items())
        on = " AND ".join(conditions) or "true"
        return Table(_select(chosen, f"FROM ({a.sql}) a LEFT JOIN ({b.sql}) b ON {on}"), a.columns | b.columns, a.bound)

    def _Union(self, part: Any) -> Table:
        a, b = self.table(part.p1), self.table(part.p2)
        columns = sorted(a.columns | b.columns)

        def padded(table: Table) -> str:
            cells = [c if c in table.columns else f"NULL::INTEGER AS {c}" for c in columns]
            return _select(cells, f"FROM ({table.sql})")

        return Table(f"{padded(a)} UNION ALL {padded(b)}", frozenset(columns), a.bound & b.bound)

    def _Minus(self, part: Any) -> Table:
        a, b = self.table(part.p1), self.table(part.p2)
        shared = a.variables & b.variables
        if not shared:
            return a
        conditions = self._compatible(a, b, a.columns & b.columns)
        if not shared & a.bound & b.bound:
            both = (f"(a.{column} IS NOT NULL AND b.{column} IS NOT NULL)" for column in shared)
            conditions.append(f"({' OR '.join(both)})")
        return self._where(a, [f"NOT EXISTS (SELECT 1 FROM ({b.sql}) b WHERE {' AND '.join(conditions)})"])

    def _where(self, a: Table, conditions: Iterable[str]) -> Table:
        return a._replace(sql=f"FROM ({a.sql}) a WHERE {' AND '.join(conditions)}")

    # ---- expressions

    def _condition(self, expression: Any, cells: dict[str, str]) -> str:
        """The condition of an expression; ``cells`` says what stands for columns."""
        if isinstance(expression, CompValue):
            if expression.name in ("ConditionalAndExpression", "ConditionalOrExpression"):
                between = " AND " if expression.name == "ConditionalAndExpression" else " OR "
                parts = [self._condition(each, cells) for each in (expression.expr, *expression.other)]
                return f"({between.join(parts)})"
            if expression.name == "UnaryNot":
                return f"(NOT {self._condition(expression.expr, cells)})"
            if expression.name == "Builtin_BOUND":
                return f"({self._cell(expression.arg, cells)} IS NOT NULL)"
            if expression.name == "RelationalExpression" and expression.op in ("=", "!="):
                sides = expression.expr, expression.other
                # What is an IRI equals nothing else.
                if any(isinstance(side, rdflib.URIRef) for side in sides) and not any(
                    isinstance(side, CompValue) for side in sides
                ):
                    a, b = (self._cell(side, cells) for side in sides)
                    return f"({a} {'=' if expression.op == '=' else '<>'} {b})"
        return self._call(self._functions.condition, expression, cells)

    def _cell(self, term: Any, cells: dict[str, str]) -> str:
        if is_constant(term):
            return str(self._functions.number(term))
        column = self.column(term)
        if column not in cells:
            self._missing.add(column)
        return cells.get(column, "NULL::INTEGER")

    def _call(self, function: Any, expression: Any, cells: dict[str, str]) -> str:
        """A call of the function of an expression."""
        text = text_of(expression, self.column)
        columns = self._columns_of(expression, cells)
        made: str = function(text, columns)
        return f"{made}({', '.join(cells[column] for column in columns)})" if columns else made

    def _columns_of(self, expression: Any, cells: dict[str, str]) -> list[str]:
        """The columns of an expression that there are."""
        columns = dict.fromkeys(map(self.column, variables_of(expression)))
        self._missing.update(columns.keys() - cells.keys())
        return [column for column in columns if column in cells]

    def _value(self, expression: Any, cells: dict[str, str]) -> str:
        """The number of a term, or of the value of an expression."""
        if isinstance(expression, CompValue):
            return self._call(self._functions.value, expression, cells)
        return self._cell(expression, cells)

    def _Filter(self, part: Any) -> Table:
        a = self.table(part.p)
        conditions = []
        for each in _conjuncts(part.expr):
            if isinstance(each, CompValue) and each.name in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
                conditions.append(self._exists(a, each))
            else:
                conditions.append(self._condition(each, a.cells))
        return self._where(a, conditions)

    def _exists(self, a: Table, part: Any) -> str:
        before, self._missing = self._missing, set()
        b = self.table(part.graph)
        if self._missing & a.columns:
            raise Untranslated("EXISTS with a condition on a variable from outside")
        self._missing |= before
        conditions = " AND ".join(self._compatible(a, b, a.columns & b.columns)) or "true"
        negated = "NOT " if part.name == "Builtin_NOTEXISTS" else ""
        return f"{negated}EXISTS (SELECT 1 FROM ({b.sql}) b WHERE {conditions})"

    def _Extend(self, part: Any) -> Table:
        a = self.table(part.p, isinstance(part.expr, rdflib.Variable))
        column = self.column(part.var)
        cells = a.cells
        cells.pop(column, None)
        value = self._value(part.expr, cells)
        name = value.removeprefix("a.")
        sql = _select([*cells.values(), f"{value} AS {column}"], f"FROM ({a.sql}) a")
        bound, counts = (
            of | {column} if is_in else of - {column}
            for of, is_in in ((a.bound, is_constant(part.expr) or name in a.bound), (a.counts, name in a.counts))
        )
        return Table(sql, a.columns | {column}, bound, counts)

    # ---- groups

    def _AggregateJoin(self, part: Any) -> Table:
        a = self.table(part.p.p)
        keys = [self.column(variable) for variable in part.p.expr or ()]
        is_each = self._graph == GRAPH
        known = [*dict.fromkeys(key for key in keys if key in a.columns), *[GRAPH] * is_each]
        made = {self.column(each.res): self._aggregate(each, a, known) for each in part.A}
        # Without keys there is one group, also of no solutions.
        group = f" GROUP BY {', '.join(known)}" if known else " HAVING count(*) > 0" if keys else ""
        found = _select(
            [*known, *(f"{over} AS {column}" for column, (over, _) in made.items())], f"FROM ({a.sql}) a{group}"
        )
        if is_each and not keys:
            found = f"FROM (SELECT DISTINCT g FROM named) LEFT JOIN ({found}) USING (g)"
        unknown = [f"NULL::INTEGER AS {key}" for key in dict.fromkeys(keys) if key not in known]
        chosen = [*known, *unknown, *(f"{value.format(column)} AS {column}" for column, (_, value) in made.items())]
        columns = frozenset([*keys, *known, *made])
        counts = frozenset(column for column, (_, value) in made.items() if value == _COUNT)
        return Table(_select(chosen, f"FROM ({found})"), columns, a.bound & {*known}, counts)

    def _aggregate(self, part: Any, a: Table, keys: list[str]) -> tuple[str, str]:
        """The aggregate of SQL for one of SPARQL, and what makes its value of that."""
        kind = part.name.removeprefix("Aggregate_").upper()
        cells = a.cells
        over, distinct = part.vars, "DISTINCT " if part.distinct else ""
        if kind == "COUNT" and over == "*":
            counted = _struct({c: cells[c] for c in sorted(a.variables)}) if distinct else "*"
            return f"count({distinct}{counted})", _COUNT
        if kind in ("COUNT", "SAMPLE"):
            value = self._value(over, cells)
            if kind == "SAMPLE":
                return value if value.removeprefix("a.") in keys else f"any_value({value})", "{}"
            return f"count({distinct}{value})", _COUNT
        text, rest = text_of(over, self.column), ""
        if kind == "GROUPCONCAT":
            # pyoxigraph keeps languages, where SPARQL 1.1 (18.5.1.7) joins strings.
            kind, text = "GROUP_CONCAT", f"STR({text})"
            if part.separator is not None:
                rest = f"; SEPARATOR={text_of(part.separator, self.column)}"
        columns = self._columns_of(over, cells)
        function = self._functions.aggregate(kind, distinct + text, rest, columns)
        return f"list({distinct}{_struct({column: cells[column] for column in columns})})", f"{function}({{}})"

    # ---- solutions

    def _Project(self, part: Any) -> Table:
        a = self.table(part.p, True)
        columns = [self.column(variable) for variable in part.PV]
        chosen = [c if c in a.columns else f"NULL::INTEGER AS {c}" for c in dict.fromkeys(columns)]
        kept = sorted(a.columns & {GRAPH, PLACE})
        made = frozenset([*columns, *kept])
        return Table(_select([*chosen, *kept], f"FROM ({a.sql})"), made, a.bound & made, a.counts & made)

    def _Distinct(self, part: Any) -> Table:
        a = self.table(part.p)
        columns = sorted(a.columns - {PLACE})
        if PLACE not in a.columns:
            return a._replace(sql=_select(columns, f"FROM ({a.sql})").replace("SELECT ", "SELECT DISTINCT ", 1))
        group = f" GROUP BY {', '.join(columns)}" if columns else ""
        return a._replace(sql=_select([*columns, f"min({PLACE}) AS {PLACE}"], f"FROM ({a.sql}){group}"))

    _Reduced = _Distinct

    def _OrderBy(self, part: Any) -> Table:
        a = self.table(part.p, all(isinstance(each.expr, rdflib.Variable) for each in part.expr))
        keys = []
        for each in part.expr:
            value = self._value(each.expr, a.cells)
            if value.removeprefix("a.") not in a.counts:
                value = f"{self._functions.order()}({value})"
            keys.append(f"{value} {'DESC NULLS LAST' if each.order == 'DESC' else 'ASC NULLS FIRST'}")
        order = f"ORDER BY {', '.join(keys)}"
        place = f"row_number() OVER ({order}) AS {PLACE}"
        if self._first.get(id(part), _MOST) < _MOST:
            a = a._replace(sql=f"FROM ({a.sql}) a {order} LIMIT {self._first[id(part)]}")
        sql = _select([*sorted(a.columns - {PLACE}), place], f"FROM ({a.sql}) a")
        return a._replace(sql=sql, columns=a.columns | {PLACE})

    def _Slice(self, part: Any) -> Table:
        length, start = (min(int(n), _MOST) for n in (_MOST if part.length is None else part.length, part.start or 0))
        self._first[id(part.p.p if part.p.name == "Project" else part.p)] = length + start
        a = self.table(part.p, True)
        if self._graph == GRAPH:
            raise Untranslated("LIMIT within GRAPH ?g")
        order = f" ORDER BY {PLACE}" if PLACE in a.columns else ""
        return a._replace(sql=f"FROM ({a.sql}){order} LIMIT {length} OFFSET {start}")


def _is_true(expression: Any) -> bool:
    return isinstance(expression, CompValue) and expression.name == "TrueFilter"


def _conjuncts(expression: Any) -> list[Any]:
    if isinstance(expression, CompValue) and expression.name == "ConditionalAndExpression":
        return [part for each in (expression.expr, *expression.other) for part in _conjuncts(each)]
    return [expression]
