"""Queries as RDFLib parses them, and the text of their expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import Any

import rdflib
import rdflib.paths
from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.plugins.sparql.parserutils import CompValue

from jelly._formats.syntaxes import ox
from jelly.errors import JellySyntaxError, JellyUnsupportedError

__all__ = [
    "CompValue",
    "Untranslated",
    "arguments",
    "constant",
    "is_constant",
    "ox",
    "parsed",
    "rdflib",
    "solutions",
    "text_of",
    "variables_of",
    "walk",
]

_SERVICE = re.compile(r"\bservice\b", re.I)
_UNSURE = re.compile(r"\(\s*\)|\\[^tbnrf\"'\\uU]")
# What has another value each time.
_CHANGING = frozenset({"RAND", "NOW", "UUID", "STRUUID", "BNODE"})
_LISTS = frozenset({"ConditionalOrExpression", "ConditionalAndExpression"})
_SIGNS = {"UnaryNot": "!", "UnaryMinus": "-", "UnaryPlus": "+"}
_lock = Lock()


class Untranslated(Exception):
    """What DuckDB is not asked for: pyoxigraph answers the query."""


def parsed(sparql: str) -> Any:
    """The algebra of a query as RDFLib translates it; None if only pyoxigraph can read it.

    JellySyntaxError if it is no query, JellyUnsupportedError if it has SERVICE.
    """
    try:
        with _lock:
            before, rdflib.NORMALIZE_LITERALS = rdflib.NORMALIZE_LITERALS, False
            try:
                query = translateQuery(parseQuery(sparql))
                algebra: Any = query.algebra
                algebra.base = query.prologue.base or None
            finally:
                rdflib.NORMALIZE_LITERALS = before
        # RDFLib makes rdf:nil of an empty list, and keeps the backslashes in names.
        if _UNSURE.search(sparql):
            algebra = None
    except Exception:  # RDFLib raises many; pyoxigraph says what is wrong
        algebra = None
    calls = (
        bool(_SERVICE.search(sparql))
        if algebra is None
        else any(part.name == "ServiceGraphPattern" for part in walk(algebra))
    )
    if calls:
        raise JellyUnsupportedError("SERVICE asks another server: run that part of the query there")
    variables = _variables(sparql)
    if algebra is not None and algebra.name == "SelectQuery":
        algebra.PV = variables  # RDFLib has those of SELECT * in no order
    return algebra


def _variables(sparql: str) -> list[Any]:
    """The variables of the solutions of a query; JellySyntaxError if it is none."""
    try:
        # On its own: errors of parsers keep the variables of who calls them, and solutions must end in this thread.
        found = ox.Store().query(sparql)
    except SyntaxError as error:
        # What could stand there instead is a page long.
        raise JellySyntaxError(f"this is no SPARQL query: {str(error):.120}") from None
    except RuntimeError as error:
        raise JellyUnsupportedError(f"the query cannot be answered: {error}") from None
    return [rdflib.Variable(variable.value) for variable in getattr(found, "variables", ())]


def walk(part: Any) -> Iterator[Any]:
    """All parts of an algebra, also those of expressions."""
    if isinstance(part, CompValue):
        yield part
        for key in part:
            # RDFLib puts what EXISTS asks for beside the items.
            yield from walk(getattr(part, key))
    elif isinstance(part, (list, tuple, set)):
        for each in part:
            yield from walk(each)


def arguments(expression: Any) -> list[Any]:
    """The arguments of a function."""
    found: list[Any] = []
    for key, value in expression.items():
        if key not in ("_vars", "iri", "distinct"):
            found += value if isinstance(value, list) else [value]
    return found


def variables_of(expression: Any) -> Iterator[rdflib.Variable]:
    """The variables of an expression, each as often as it is there."""
    if isinstance(expression, rdflib.Variable):
        yield expression
    elif isinstance(expression, CompValue):
        for each in arguments(expression):
            yield from variables_of(each)


def solutions(query: str, **settings: Any) -> list[Any]:
    """The solutions of a query without data. They are a list, as pyoxigraph's own must end in this thread."""
    found: Any = ox.Store().query(query, **settings)
    return list(found)


def is_constant(term: Any) -> bool:
    """Whether a term of a pattern is an IRI or literal."""
    return isinstance(term, (rdflib.URIRef, rdflib.Literal))


def constant(term: Any) -> str:
    """The text of an IRI or literal."""
    if isinstance(term, rdflib.URIRef):
        return f"<{term}>"
    return str(
        ox.Literal(
            str(term), language=term.language, datatype=None if term.datatype is None else ox.NamedNode(term.datatype)
        )
    )


def text_of(expression: Any, name: Callable[[rdflib.Variable], str]) -> str:
    """The text of an expression, with other names of variables. Untranslated if it has EXISTS or changes."""

    def texts(parts: Iterable[Any]) -> list[str]:
        return [text_of(part, name) for part in parts]

    if isinstance(expression, rdflib.Variable):
        return f"?{name(expression)}"
    if not isinstance(expression, CompValue):
        return constant(expression)
    kind = expression.name
    if kind in _LISTS:
        between = " || " if kind == "ConditionalOrExpression" else " && "
        return f"({between.join(texts([expression.expr, *expression.other]))})"
    if kind == "RelationalExpression":
        left, operator = text_of(expression.expr, name), expression.op
        if "IN" in operator:
            return f"({left} {operator} ({', '.join(texts(expression.other))}))"
        return f"({left} {operator} {text_of(expression.other, name)})"
    if kind in ("AdditiveExpression", "MultiplicativeExpression"):
        made = text_of(expression.expr, name)
        for operator, other in zip(expression.op, texts(expression.other), strict=True):
            made = f"({made} {operator} {other})"
        return made
    if kind in _SIGNS:
        return f"({_SIGNS[kind]} {text_of(expression.expr, name)})"
    function = f"<{expression.iri}>" if kind == "Function" else kind.removeprefix("Builtin_").upper()
    if function == kind.upper() or function in _CHANGING or "EXISTS" in function:
        raise Untranslated(f"{function} within an expression")
    return f"{function}({', '.join(texts(arguments(expression)))})"
