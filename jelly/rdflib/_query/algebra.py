"""The algebra of SPARQL as SQL: a variable is a column of numbers of terms, NULL where it is unbound."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from jelly.rdflib._query.paths import Paths
from jelly.rdflib._query.syntax import CompValue, Untranslated, is_constant, rdflib, text_of

# Columns that are no variables: the graph of GRAPH ?g, and the place in an order.
GRAPH, PLACE = "g", "n"
_NAMED = "named"  # the relation of all named graphs
_NULL = "NULL::INTEGER"
_MOST = 1 << 62  # rows that DuckDB can count
_EXISTS = {"Builtin_EXISTS": "", "Builtin_NOTEXISTS": "NOT "}
_LOGICAL = {"Builtin_sameTerm", "UnaryNot", "ConditionalAndExpression", "ConditionalOrExpression"}
_BETWEEN = {"ConditionalAndExpression": " AND ", "ConditionalOrExpression": " OR "}


class Table(NamedTuple):
    """A query of SQL, its columns, those that are never NULL, and those that are counts, not numbers of terms."""

    sql: str
    columns: AbstractSet[str] = frozenset()
    bound: AbstractSet[str] = frozenset()
    counts: AbstractSet[str] = frozenset()

    @property
    def variables(self) -> AbstractSet[str]:
        """The columns that are variables."""
        return self.columns - {GRAPH, PLACE}

    def cells(self, name: str = "a") -> dict[str, str]:
        """What stands for the columns where the table has this name."""
        return {column: f"{name}.{column}" for column in sorted(self.columns)}

    def select(self, cells: dict[str, str], rest: str = "") -> Table:
        """The table of some cells of the rows of this one, which is called a."""
        names = {column: cell.removeprefix("a.") for column, cell in cells.items()}
        bound, counts = ({c for c, name in names.items() if name in known} for known in (self.bound, self.counts))
        return Table(_select(cells, f"FROM ({self.sql}) a {rest}"), cells.keys(), bound, counts)

    def where(self, condition: str) -> Table:
        """The rows of this table, which is called a, for which a condition holds."""
        return self._replace(sql=f"FROM ({self.sql}) a WHERE {condition}")


_UNIT = Table("SELECT 0 AS z")


def _select(cells: dict[str, str], rest: str) -> str:
    chosen = ", ".join(f"{cell} AS {column}" for column, cell in cells.items())
    return f"SELECT {chosen or '0 AS z'} {rest}"


def _all(conditions: Iterable[str]) -> str:
    return " AND ".join(conditions) or "true"


def _grouped(keys: Collection[str]) -> str:
    """One row for each group of rows with the same keys. DuckDB has a group of no rows where there are no keys."""
    return f"GROUP BY {', '.join(keys)}" if keys else "HAVING count(*) > 0"


def _agree(a: Table, b: Table) -> list[str]:
    """The conditions that rows of two tables, called a and b, agree in the columns that both have."""
    made = []
    for column in sorted(a.columns & b.columns):
        nulls = [f"{name}.{column} IS NULL" for name, table in (("a", a), ("b", b)) if column not in table.bound]
        made.append(f"({' OR '.join([f'a.{column} = b.{column}', *nulls])})")
    return made


def _together(a: Table, b: Table) -> dict[str, str]:
    """The cells of rows of two tables, called a and b, that agree."""
    either = {column: f"coalesce(a.{column}, b.{column})" for column in sorted((a.columns & b.columns) - a.bound)}
    return b.cells("b") | a.cells() | either


def _struct(cells: dict[str, str], columns: Iterable[str]) -> str:
    """A value of SQL of some columns."""
    return "{" + (", ".join(f"'{column}': {cells[column]}" for column in columns) or f"'z': {_NULL}") + "}"


class Algebra:
    """Translates the algebra of one query.

    The relations ``triples`` and ``named`` have the statements of the default graph and of all named graphs, ``graphs``
    has these graphs.
    """

    def __init__(self, functions: Any) -> None:
        self._functions = functions
        self._columns: dict[str, str] = {}
        # The relation that patterns are matched in: in that of all named graphs tables have the column GRAPH.
        self._source = "triples"
        # Columns that expressions, or parts that are no joins, have and their tables lack: within EXISTS they have the
        # values from outside (SPARQL 1.1, section 18.6).
        self._missing: set[str] = set()
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
        terms = {column: f"{self._functions.integer()}(a.{column})" for column in made.counts}
        return made.select(made.cells() | terms)

    # ---- patterns

    @property
    def _graph(self) -> list[str]:
        """The column of the graph, if tables have it."""
        return [GRAPH] if self._source == _NAMED else []

    def _unit(self) -> Table:
        """The table of one row without variables, for each graph."""
        return Table("FROM graphs", {GRAPH}, {GRAPH}) if self._graph else _UNIT

    def _BGP(self, part: Any) -> Table:
        if not part.triples:
            return self._unit()
        plain = [triple for triple in dict.fromkeys(part.triples) if not isinstance(triple[1], rdflib.paths.Path)]
        sources = [(self._source, dict(zip("spo", triple, strict=True))) for triple in plain]
        begun = self._matches(sources)
        made = Paths(self._source, bool(self._graph), self._functions.number)

        def seeds(term: Any) -> str | None:
            if is_constant(term):
                return f"(SELECT {self._functions.number(term)} AS s)"
            column = self.column(term)
            return f"(SELECT DISTINCT {column} AS s FROM ({begun.sql}))" if column in begun.columns else None

        for s, path, o in part.triples:
            if isinstance(path, rdflib.paths.Path):
                sources.append((made.of(path, seeds(s), seeds(o)), {"s": s, "o": o}))
        return self._matches(sources)

    def _matches(self, sources: Collection[tuple[str, dict[str, Any]]]) -> Table:
        """The rows that relations have in common, whose columns are terms of a pattern."""
        found: dict[str, str] = {}
        conditions = []
        for at, (_, terms) in enumerate(sources):
            for place, term in (*terms.items(), *((name, None) for name in self._graph)):
                cell = f"t{at}.{place}"
                if is_constant(term):
                    known = str(self._functions.number(term))
                else:
                    known = found.setdefault(place if term is None else self.column(term), cell)
                if known != cell:
                    conditions.append(f"{cell} = {known}")
        relations = ", ".join(f"{source} t{at}" for at, (source, _) in enumerate(sources))
        return Table(_select(found, f"FROM {relations} WHERE {_all(conditions)}"), found.keys(), found.keys())

    def _Graph(self, part: Any) -> Table:
        before = self._source
        if isinstance(part.term, rdflib.Variable):
            self._source = _NAMED
            made, column = self.table(part.p), self.column(part.term)
            if column in made.columns:
                made = made.where(f"coalesce({column}, g) = g")
            cells = made.cells()
            cells[column] = cells.pop(GRAPH)
            made = made.select(cells)
        else:
            is_graph = f"WHERE g = {self._functions.number(part.term)}"
            self._source = f"(FROM named {is_graph})"
            made = self.table(part.p).where(f"EXISTS (FROM graphs {is_graph})")
        self._source = before
        # In another GRAPH ?g its solutions are those of each graph.
        return self._joined(self._unit(), made) if self._graph else made

    def _ToMultiSet(self, part: Any) -> Table:
        if isinstance(part.p, list):  # VALUES without rows
            return self._unit().where("false")
        if part.p.name != "values":
            made = self.table(part.p)
            return made._replace(columns=made.columns - {PLACE})
        columns = [self.column(name) for name in part.p.res[0]]
        rows = [[self._value(term, {}) if is_constant(term) else _NULL for term in row.values()] for row in part.p.res]
        bound = {column for column, cells in zip(columns, zip(*rows, strict=True), strict=True) if _NULL not in cells}
        values = ", ".join(f"({', '.join(row)})" for row in rows)
        table = Table(f"FROM (VALUES {values}) _({', '.join(columns)})", {*columns}, bound)
        return self._joined(self._unit(), table)

    # ---- joins

    def _joined(self, a: Table, b: Table) -> Table:
        if a == _UNIT:
            return b
        cells = _together(a, b)
        sql = _select(cells, f"FROM ({a.sql}) a JOIN ({b.sql}) b ON {_all(_agree(a, b))}")
        return Table(sql, cells.keys(), a.bound | b.bound)

    def _Join(self, part: Any) -> Table:
        return self._joined(self.table(part.p1), self.table(part.p2))

    def _LeftJoin(self, part: Any) -> Table:
        a, b = self.table(part.p1), self.table(part.p2)
        conditions, cells = _agree(a, b), _together(a, b)
        if getattr(part.expr, "name", "") != "TrueFilter":
            conditions.append(self._condition(part.expr, cells))
        sql = _select(cells, f"FROM ({a.sql}) a LEFT JOIN ({b.sql}) b ON {_all(conditions)}")
        self._missing |= b.variables - a.bound
        return Table(sql, cells.keys(), a.bound)

    def _Union(self, part: Any) -> Table:
        a, b = self.table(part.p1), self.table(part.p2)
        sql = f"FROM ({a.sql}) UNION ALL BY NAME FROM ({b.sql})"
        return Table(sql, a.columns | b.columns, a.bound & b.bound)

    def _Minus(self, part: Any) -> Table:
        a, b = self.table(part.p1), self.table(part.p2)
        shared = a.variables & b.variables
        self._missing |= b.variables - a.bound
        if not shared:
            return a
        conditions = _agree(a, b)
        if not shared & a.bound & b.bound:
            conditions.append(f"({' OR '.join(f'a.{column} = b.{column}' for column in sorted(shared))})")
        return a.where(f"NOT EXISTS (SELECT 1 FROM ({b.sql}) b WHERE {_all(conditions)})")

    # ---- expressions

    def _condition(self, expression: Any, cells: dict[str, str], a: Table | None = None) -> str:
        """The condition of an expression; ``cells`` says what stands for columns. That of a FILTER of the table ``a``
        may ask for other patterns, too."""
        kind = getattr(expression, "name", None)
        if kind in _EXISTS and a is not None:
            return _EXISTS[kind] + self._exists(expression, a)
        if kind in _BETWEEN:
            whole = a if kind == "ConditionalAndExpression" else None
            parts = [self._condition(each, cells, whole) for each in (expression.expr, *expression.other)]
            return f"({_BETWEEN[kind].join(parts)})"
        if kind == "Builtin_sameTerm":
            return f"({self._value(expression.arg1, cells)} = {self._value(expression.arg2, cells)})"
        if kind == "UnaryNot":
            return f"(NOT {self._condition(expression.expr, cells)})"
        if kind == "Builtin_BOUND":
            return f"({self._value(expression.arg, cells)} IS NOT NULL)"
        if kind == "RelationalExpression" and expression.op in ("=", "!="):
            sides = expression.expr, expression.other
            # What is an IRI equals nothing else.
            if any(isinstance(side, rdflib.URIRef) for side in sides) and not any(
                isinstance(side, CompValue) for side in sides
            ):
                return f"({f' {expression.op} '.join(self._value(side, cells) for side in sides)})"
        return self._call(self._functions.condition, expression, cells)

    def _value(self, expression: Any, cells: dict[str, str]) -> str:
        """The number of a term, or of the value of an expression."""
        if is_constant(expression):
            return str(self._functions.number(expression))
        # What gives one of its terms gives it as it is written.
        kind = getattr(expression, "name", None)
        if kind == "Builtin_COALESCE":
            each = expression.arg if isinstance(expression.arg, list) else [expression.arg]
            return f"coalesce({', '.join(self._value(part, cells) for part in each)}, {_NULL})"
        if kind == "Builtin_IF" or kind in _LOGICAL:
            test, *parts = expression, rdflib.Literal(True), rdflib.Literal(False)
            if kind == "Builtin_IF":
                test, *parts = expression.arg1, expression.arg2, expression.arg3
            yes, no = (self._value(part, cells) for part in parts)
            return f"CASE {self._condition(test, cells)} WHEN true THEN {yes} WHEN false THEN {no} END"
        if isinstance(expression, CompValue):
            return self._call(self._functions.value, expression, cells)
        _, columns = self._text(expression, cells)
        return cells[columns[0]] if columns else _NULL

    def _call(self, function: Any, expression: Any, cells: dict[str, str]) -> str:
        """A call of the function of an expression."""
        text, columns = self._text(expression, cells)
        made: str = function(text, columns)
        return f"{made}({', '.join(cells[column] for column in columns)})" if columns else made

    def _text(self, expression: Any, cells: dict[str, str]) -> tuple[str, list[str]]:
        """The text of an expression, and those of its columns that there are."""
        columns: list[str] = []

        def name(variable: Any) -> str:
            columns.append(self.column(variable))
            return columns[-1]

        text = text_of(expression, name)
        self._missing.update({*columns} - cells.keys())
        return text, [column for column in dict.fromkeys(columns) if column in cells]

    def _Filter(self, part: Any) -> Table:
        a = self.table(part.p)
        return a.where(self._condition(part.expr, a.cells(), a))

    def _exists(self, part: Any, a: Table) -> str:
        before, self._missing = self._missing, set()
        b = self.table(part.graph)
        if self._missing & a.columns:
            raise Untranslated("EXISTS with a condition on a variable from outside")
        self._missing |= before | (b.variables - a.bound)
        return f"EXISTS (SELECT 1 FROM ({b.sql}) b WHERE {_all(_agree(a, b))})"

    def _Extend(self, part: Any) -> Table:
        a = self.table(part.p, isinstance(part.expr, rdflib.Variable))
        column, cells = self.column(part.var), a.cells()
        cells.pop(column, None)
        made = a.select(cells | {column: self._value(part.expr, cells)})
        return made._replace(bound=made.bound | {column}) if is_constant(part.expr) else made

    # ---- groups

    def _AggregateJoin(self, part: Any) -> Table:
        if not all(isinstance(key, rdflib.Variable) for key in part.p.expr or ()):
            raise Untranslated("GROUP BY of an expression that has no name")
        a = self.table(part.p.p)
        keys = [self.column(variable) for variable in part.p.expr or ()]
        known = {column: cell for column, cell in a.cells().items() if column in (*keys, *self._graph)}
        made = {self.column(each.res): self._aggregate(each, a, known.values()) for each in part.A}
        counts = {column for column, value in made.items() if value.startswith("count(")}
        if self._graph and not keys:
            # Each graph is a group, also without solutions.
            one = _select(made, f"FROM ({a.sql}) a WHERE a.g = b.g")
            sql = f"FROM graphs b, LATERAL ({one})"
            return Table(sql, known.keys() | made.keys(), known.keys(), counts)
        # Without keys there is one group, also of no solutions.
        found = a.select(dict.fromkeys(keys, _NULL) | known | made, _grouped(known.values()) if keys else "")
        return found._replace(counts=counts)

    def _aggregate(self, part: Any, a: Table, keys: Collection[str]) -> str:
        """The aggregate of SQL for one of SPARQL."""
        kind = part.name.removeprefix("Aggregate_").upper()
        cells = a.cells()
        over, distinct, rest = part.vars, "DISTINCT " if part.distinct else "", ""
        if kind == "COUNT" and over == "*":
            # Blank nodes of patterns are no part of a solution.
            named = {column for name, column in self._columns.items() if name.startswith("?")}
            return f"count({distinct}{_struct(cells, sorted(a.variables & named)) if distinct else '*'})"
        if kind == "COUNT":
            return f"count({distinct}{self._value(over, cells)})"
        if kind == "SAMPLE":
            value = self._value(over, cells)
            return value if value in keys else f"any_value({value})"
        if kind in ("MIN", "MAX") and isinstance(over, rdflib.Variable):
            # The term as it is written, by the order of ORDER BY; none where the variable is not always bound.
            value = self._value(over, cells)
            found = f"arg_{kind.lower()}({value}, {self._functions.order()}({value}))"
            return f"CASE count({value}) WHEN count(*) THEN {found} END"
        joins = kind == "GROUPCONCAT"
        # pyoxigraph keeps languages, where SPARQL 1.1 (18.5.1.7) joins strings.
        text, columns = self._text(CompValue("Builtin_STR", arg=over) if joins else over, cells)
        if joins:
            kind = "GROUP_CONCAT"
            if part.separator is not None:
                rest = f"; SEPARATOR={text_of(part.separator, self.column)}"
        # Terms that differ may be written alike.
        text = text if joins and isinstance(over, rdflib.Variable) else distinct + text
        function = self._functions.aggregate(kind, text, rest, columns)
        return f"{function}(list({distinct}{_struct(cells, columns)}))"

    # ---- solutions

    def _Project(self, part: Any) -> Table:
        before, self._missing = self._missing, set()
        a = self.table(part.p, True)
        columns = [*map(self.column, part.PV), *sorted(a.columns & {GRAPH, PLACE})]
        # A variable that is not among them is none from outside.
        self._missing = before | self._missing.intersection(columns)
        return a.select({column: a.cells().get(column, _NULL) for column in columns})

    def _Distinct(self, part: Any) -> Table:
        a = self.table(part.p)
        cells = a.cells()
        if PLACE in cells:
            cells[PLACE] = f"min(a.{PLACE})"
        return a.select(cells, _grouped(sorted(a.columns - {PLACE})))

    _Reduced = _Distinct

    def _OrderBy(self, part: Any) -> Table:
        a = self.table(part.p, all(isinstance(each.expr, rdflib.Variable) for each in part.expr))
        keys = []
        for each in part.expr:
            value = self._value(each.expr, a.cells())
            if value.removeprefix("a.") not in a.counts:
                value = f"{self._functions.order()}({value})"
            keys.append(f"{value} {'DESC NULLS LAST' if each.order == 'DESC' else 'ASC NULLS FIRST'}")
        order = f"ORDER BY {', '.join(keys)}"
        if self._first.get(id(part), _MOST) < _MOST:
            a = a._replace(sql=f"FROM ({a.sql}) a {order} LIMIT {self._first[id(part)]}")
        return a.select(a.cells() | {PLACE: f"row_number() OVER ({order})"})

    def _Slice(self, part: Any) -> Table:
        length, start = (min(int(n), _MOST) for n in (_MOST if part.length is None else part.length, part.start or 0))
        if not self._graph:
            self._first[id(part.p.p if part.p.name == "Project" else part.p)] = length + start
        a = self.table(part.p, True)
        order = f" ORDER BY {PLACE}" if PLACE in a.columns else ""
        if self._graph:  # each graph has solutions of its own
            place = f"row_number() OVER (PARTITION BY {GRAPH}{order})"
            return a._replace(sql=f"FROM ({a.sql}) QUALIFY {place} BETWEEN {start + 1} AND {start + length}")
        return a._replace(sql=f"FROM ({a.sql}){order} LIMIT {length} OFFSET {start}")
