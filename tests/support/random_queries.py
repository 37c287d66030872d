"""Random data with nasty terms, and random queries of it."""

from __future__ import annotations

import random

from support.queries import XSD

_NODES = [f"<http://e/{name}>" for name in "abcdef"] + ["_:x", "_:y"]
_KNOWN = [f'"1"^^<{XSD}integer>', '"a"', '"a"@en', f'"2.5"^^<{XSD}decimal>']
_LITERALS = [
    *_KNOWN, f'"2"^^<{XSD}integer>', f'"10"^^<{XSD}integer>', f'"-3"^^<{XSD}integer>', f'"1"^^<{XSD}decimal>',
    f'"1"^^<{XSD}double>', f'"NaN"^^<{XSD}double>', f'"INF"^^<{XSD}double>', '"b"', '"a"@de', '"a b\\"\\\\\\n"', '""',
    f'"true"^^<{XSD}boolean>', f'"abc"^^<{XSD}integer>', '"x"^^<http://e/dt>', '"\U0001f600"',
    f'"2020-01-02T03:04:05Z"^^<{XSD}dateTime>', f'"2021-01-02"^^<{XSD}date>', f'"12345678901234567890"^^<{XSD}integer>',
]  # fmt: skip
_GRAPHS = ["", " <http://e/g1>", " <http://e/g2>", " <http://e/a>"]


def statements(chance: random.Random, graphs: bool) -> str:
    """N-Quads of some statements. Each graph has the constants of queries: see `Queries.path`."""
    used = _GRAPHS if graphs else [""]
    lines = {
        f"<http://e/{subject}> <http://e/known> {known}{graph} .\n"
        for graph in used for subject in "abc" for known in _KNOWN
    }  # fmt: skip
    for _ in range(chance.randint(0, 25)):
        object = chance.choice(_NODES if chance.random() < 0.55 else _LITERALS)
        lines.add(f"{chance.choice(_NODES)} <http://e/{chance.choice('pqra')}> {object}{chance.choice(used)} .\n")
    return "".join(sorted(lines))


class Queries:
    """Makes queries by chance."""

    def __init__(self, chance: random.Random, graphs: bool) -> None:
        self._chance, self._graphs = chance, graphs
        self._n = 0
        self._in_graph = False

    def _fresh(self) -> str:
        self._n += 1
        return f"?n{self._n}"

    def _variable(self) -> str:
        return f"?{self._chance.choice('xyzw')}"

    def _term(self, *constants: str) -> str:
        named = f"<http://e/{self._chance.choice('abc')}>"
        return self._chance.choice([*[self._variable() for _ in range(3)], named, *constants])

    def _path(self, depth: int) -> str:
        # A path without steps leads from a constant to itself, though pyoxigraph wants it to be in the data.
        plain = f"<http://e/{self._chance.choice('pqr')}>"
        if not depth:
            return plain
        a, b = self._path(depth - 1), self._path(depth - 1)
        repeated = f"({a}){self._chance.choice('*+?')}"
        negated = "!(<http://e/p>|<http://e/q>)"
        return self._chance.choice([plain, f"({a}/{b})", f"({a}|{b})", f"^({a})", repeated, repeated, negated])

    def _triple(self) -> str:
        chance = self._chance.random()
        predicate = self._path(0) if chance < 0.6 else self._variable() if chance < 0.7 else self._path(2)
        object = self._term("1", '"a"', '"a"@en', "2.5")
        return f"{self._term()} {predicate} {object} ."

    def _expression(self, depth: int = 2) -> str:
        choose = self._chance.choice
        plain = choose([self._variable()] * 5 + ["1", "2", "2.5", "1e0", '"a"', '"a"@en', "<http://e/a>", "true"])
        if not depth:
            return plain
        a, b, c = (self._expression(depth - 1) for _ in range(3))
        names = ["isIRI", "isBLANK", "isLITERAL", "isNUMERIC", "STR", "LANG", "DATATYPE", "STRLEN", "UCASE", "ABS"]
        return choose([
            plain, f"({a} {choose(['=', '!=', '<', '>', '<=', '>='])} {b})", f"({a} {choose(['&&', '||'])} {b})",
            f"(!{a})", f"({a} {choose('+-*/')} {b})", f"BOUND({self._variable()})", f"{choose(names)}({a})",
            f'REGEX(STR({self._variable()}), "{choose(["a", "^h", "b$"])}")',
            f"({a} {choose(['IN', 'NOT IN'])} ({b}, {c}))", f"COALESCE({a}, {b})", f"IF({a}, {b}, {c})",
            f"sameTerm({a}, {b})", f'CONCAT(STR({a}), "x")',
            f"<{XSD}{choose(['integer', 'string', 'double', 'boolean'])}>({a})",
        ])  # fmt: skip

    def _group(self, depth: int) -> str:
        return "{ " + " ".join(self._part(depth) for _ in range(self._chance.randint(1, 3))) + " }"

    def _part(self, depth: int) -> str:
        choose = self._chance.choice
        triples = " ".join(self._triple() for _ in range(self._chance.randint(1, 3)))
        kind = self._chance.randint(0, 13)
        if kind <= 4 or not depth:
            return triples
        if kind == 12 and self._graphs:
            before, self._in_graph = self._in_graph, True
            inner = self._group(depth - 1)
            self._in_graph = before
            return f"GRAPH {choose(['?g', '<http://e/g1>', '?x'])} {inner}"
        inner = self._group(depth - 1)
        cells = ["UNDEF", "<http://e/a>", "<http://e/b>", "1", '"a"']
        rows = " ".join(f"({choose(cells)} {choose(cells)})" for _ in range(self._chance.randint(0, 3)))
        return {
            5: f"OPTIONAL {inner}", 6: f"{inner} UNION {self._group(depth - 1)}", 7: f"MINUS {inner}",
            8: f"FILTER({self._expression()})", 9: f"FILTER {choose(['', 'NOT '])}EXISTS {inner}",
            10: f"BIND({self._expression()} AS {self._fresh()})", 11: f"VALUES (?x ?y) {{ {rows} }}",
        }.get(kind) or f"{{ {self.select(depth - 1)} }}"  # fmt: skip

    def select(self, depth: int = 2, is_whole: bool = False) -> str:
        """A query, or a part of one."""
        chance, where = self._chance.random(), self._group(depth)
        if chance < 0.25 and not self._in_graph:  # there pyoxigraph makes one group of all graphs
            each = self._variable()
            aggregate = self._chance.choice([
                "COUNT(*)", "COUNT(DISTINCT *)",
                *(f"{name}({each})" for name in ("COUNT", "SUM", "AVG", "MIN", "MAX")),
                f"COUNT(DISTINCT {each})", f"SUM({self._expression(1)})",
            ])  # fmt: skip
            key = self._variable()
            if self._chance.random() < 0.3:
                return f"SELECT ({aggregate} AS {self._fresh()}) WHERE {where}"
            having = f" HAVING({aggregate} > 1)" if self._chance.random() < 0.3 else ""
            return f"SELECT {key} ({aggregate} AS {self._fresh()}) WHERE {where} GROUP BY {key}{having}"
        chosen = "DISTINCT ?x ?y" if chance < 0.5 else "?x ?z" if chance < 0.7 or not is_whole else "*"
        return f"SELECT {chosen} WHERE {where}"
