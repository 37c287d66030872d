"""Queries as RDFLib parses them, and the text of their expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.util import find_spec, module_from_spec
from itertools import product, repeat
from threading import Lock
from types import SimpleNamespace
from typing import Any

import rdflib
import rdflib.paths
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import Prologue

from jelly._core.terms.model import BlankNode, Literal, QuotedTriple, to_term
from jelly._formats.syntaxes import ox
from jelly._options.namespaces import is_absolute
from jelly.errors import JellyLimitError, JellySyntaxError, JellyUnsupportedError

__all__ = ["CompValue", "ox", "rdflib"]

# What the parsers, which go deep for each bracket and each part, can take; pyoxigraph orders patterns in n**4 steps.
_MAX_DEPTH = 64
_MAX_PATTERNS = 80
_MAX_WORDS = 1000
_MAX_DATA = 10_000
_TEXTS = re.compile(
    # A text that does not end goes on to the end: to try again after each quote would take quadratic time.
    # No IRI begins with a quote, but a text may stand after "less than".
    r"""#[^\r\n]*|<(?!')[^<>"{}|^`\\\x00-\x20]*>|\"{3}(?:[^"\\]|\\.|"(?!""))*(?:\"{3})?|'{3}(?:[^'\\]|\\.|'(?!''))*(?:'{3})?"""
    r"""|"(?:[^"\\\r\n]|\\.)*"?|'(?:[^'\\\r\n]|\\.)*'?|\\.""",
    re.S,
)
_DATA = re.compile(r"\bVALUES\s*(?:(?:[?$]\w+|\([^(){}]*\))\s*)?\{[^{}]*\}|\bIN\s*\([^()]*\)", re.I)
_WORD = re.compile(r"<<|>>|[?$@^]?\w[\w:]*(?:[.-]+[\w:]+)*|[^\s\w]")
_BEGINS, _ENDS = frozenset(("(", "[", "{", "<<")), frozenset((")", "]", "}", ">>"))
_LIST = re.compile(r"\([^(){}=<>+*/|&!,]*\)")
# Of a text without IRIs and comments.
_PROLOGUE = r"\s*(?:(?:prefix\s+\S+|base)\s+)*"
_UPDATE = re.compile(rf"{_PROLOGUE}(insert|delete|with|load|clear|drop|create|copy|move|add)\b", re.I)
# pyoxigraph takes these groups for those of SELECT *.
_GROUPED = re.compile(rf"{_PROLOGUE}(?:ask|construct|describe)\b.*\b(?:group\s+by|having)\b[^{{}}]*", re.I | re.S)
_SERVICE = re.compile("service", re.I)
_IS_SERVICE = re.compile(r"(?<![\w?$:@-])service(?:silent)?\b", re.I)
# RDFLib makes rdf:nil of an empty list, keeps the backslashes in names, loses the plus of a number, and takes an empty
# template for none.
_UNSURE = re.compile(r"\(\s*\)|\\|\+(\d*\.|\d+e)\d|\bCONSTRUCT[\sx]*\{[\sx]*\}", re.I)
# Functions without arguments, which are no empty lists.
_CALLS = re.compile(r"(?<![\w?$:@.%-])(?:NOW|RAND|BNODE|(?:STR)?UUID)\s*\(\s*\)", re.I)
# It takes up to eight digits after this, and what a backslash before it stands before for an escape.
_ESCAPES = re.compile(r"\\u[\dA-Fa-f]{8}|\\\\[uU]")
# Functions that tell how a term is written, and terms in the syntax of N-Triples that pyoxigraph may write otherwise.
_VALUES = re.compile('"\\^\\^<http://www.w3.org/2001/XMLSchema#')
WRITTEN = {"STR": _VALUES, "DATATYPE": _VALUES, "LANG": re.compile('"@[\\w-]*[A-Z]')}
# In a text that replaces others, and what begins a group of a regular expression.
_REPLACED = re.compile(r"\\(?P<escaped>[\\$])|\$(?P<number>[0-9]+)")
_GROUPS = re.compile(r"(?<!\\)(?:\\\\)*\((?!\?)")
# Operands whose values are not known, and the characters of two that are added in both orders.
_UNKNOWN, _SHORT = re.compile(r"[?(<]|[A-Z]+\("), 200
# What has another value each time, or is no function of terms.
_ALONE = frozenset({"RAND", "NOW", "UUID", "STRUUID", "BNODE", "EXISTS", "NOTEXISTS"})
_BETWEEN = {"ConditionalOrExpression": "||", "ConditionalAndExpression": "&&"}
_SIGNS = {"UnaryNot": "!", "UnaryMinus": "-", "UnaryPlus": "+"}
_QUERIES, _LONG = 64, 1 << 14  # that were parsed last are kept; characters of those that are not
_lock = Lock()  # pyparsing learns from the first texts how it can call functions


class Untranslated(Exception):
    """What DuckDB is not asked for: pyoxigraph answers the query."""


class _Literal(rdflib.Literal):
    """Makes literals of RDFLib that keep their lexical forms and have no values. Those with a language tag are of this
    class: to RDFLib ``"a"@EN`` equals ``"a"@en``."""

    def __new__(cls, text: Any, lang: Any = None, datatype: Any = None) -> Any:
        made = rdflib.Literal.__new__(cls if lang else rdflib.Literal, text, lang)
        if datatype is not None:
            made.__setstate__((None, {"language": None, "datatype": datatype}))
        return made

    def __eq__(self, other: object) -> bool:
        return bool(super().__eq__(other)) and self.language == getattr(other, "language", None)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = rdflib.Literal.__hash__


def _own(name: str, **names: Any) -> Any:
    """A module of RDFLib of our own, in which some names mean something else."""
    spec: Any = find_spec(f"rdflib.plugins.sparql.{name}")
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    vars(made).update(names)
    return made


_parser = _own(
    "parser",
    rdflib=SimpleNamespace(**vars(rdflib) | {"Literal": _Literal}),
    neg=lambda number: _Literal(f"-{number}", None, number.datatype),
)


class _Prologue(Prologue):
    """Prefixes without those that RDFLib has in each graph, which take more time than all else."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._base = ""

    @property
    def base(self) -> str:
        return self._base

    @base.setter
    def base(self, iri: str) -> None:
        self._base = str(self.absolutize(rdflib.URIRef(iri)))

    def absolutize(self, iri: Any) -> Any:
        """An IRI as pyoxigraph resolves it: RDFLib leaves those that have a colon as they are."""
        if not isinstance(iri, rdflib.URIRef):
            return super().absolutize(iri)
        if not self._base or is_absolute(iri):
            return iri
        [found] = ox.parse(f"<{iri}> <x:x> <x:x> .".encode(), ox.RdfFormat.TURTLE, base_iri=self._base)
        return rdflib.URIRef(found.subject.value)

    def bind(self, prefix: str | None, uri: Any) -> None:
        self._names[prefix or ""] = uri

    def resolvePName(self, prefix: str | None, localname: str | None) -> rdflib.URIRef:
        return rdflib.URIRef(self._names[prefix or ""] + (localname or ""))


def _and(first: Any, *others: Any) -> Any:
    """The condition of a group. RDFLib drops a literal that is false, as it does what is no condition."""
    alone = not others and not isinstance(first, rdflib.Literal)
    return first if alone else CompValue("ConditionalAndExpression", expr=first, other=[*others])


def _sample(part: Any, v: Any = None) -> Any:
    """An aggregate. RDFLib would also take some value of each variable elsewhere: those are names of groups and of
    expressions, and unbound if they are no such names."""
    return part if getattr(part, "name", "").startswith("Aggregate_") else None


_algebra = _own("algebra", Literal=_Literal, Prologue=_Prologue, and_=_and, _sample=_sample)


def _ignore_nothing(part: Any) -> None:
    """Let a parser not look for a comment before each of its parts, which takes more time than all else."""
    if part.ignoreExprs:
        part.ignoreExprs.clear()
        for each in part.recurse():
            _ignore_nothing(each)


_ignore_nothing(_parser.Query)


def _signed(found: Any) -> Any:
    """A number after a sign, which RDFLib has as an expression, is a literal."""
    sign, number = getattr(found[0], "name", None), getattr(found[0], "expr", None)
    if sign in ("UnaryMinus", "UnaryPlus") and isinstance(number, rdflib.Literal) and number[0] in ".0123456789":
        return _Literal(f"{_SIGNS[sign]}{number}", None, number.datatype)
    return None


_parser.UnaryExpression.add_parse_action(_signed)


def parsed(sparql: str) -> Any:
    """The algebra of a query as RDFLib translates it, which nobody may change; None if only pyoxigraph can read it.

    JellySyntaxError if it is no query, JellyUnsupportedError if it has SERVICE, JellyLimitError if it is too large.
    """
    return (_kept if len(sparql) < _LONG else _parsed)(sparql)


def _parsed(sparql: str) -> Any:
    text = _TEXTS.sub(lambda found: found[0] if found[0].startswith("\\") else " x ", sparql)
    _refuse_large(text)
    _refuse_service(sparql, text)
    variables, broken = _variables(sparql)
    is_unsure = _UNSURE.search(_CALLS.sub("x", text)) or _ESCAPES.search(sparql)
    algebra = None if is_unsure else _translated(sparql, variables)
    if broken is not None:
        if algebra is None:
            raise broken
        algebra.broken = broken
    return algebra


def _translated(sparql: str, variables: list[Any] | None) -> Any:
    """The algebra of a query with these variables, or of one that only pyoxigraph refuses; None if there is none."""
    bare = _TEXTS.sub(lambda found: " " if found[0].startswith("#") else found[0], sparql)
    try:
        with _lock:
            read = _parser.parseQuery(bare)
            parts = [*walk(read.as_list())]
            # RDFLib has no variables of the last VALUES for * in a part of a query.
            is_lost = any(part.name == "SubSelect" and part.valuesClause and not part.projection for part in parts)
            is_all = read[1].name == "SelectQuery" and not read[1].projection
            if is_lost or (variables is None and (is_all or any(map(_is_ungrouped, parts)))):
                return None
            query = _algebra.translateQuery(read)
    except Exception:  # RDFLib raises many
        return None
    algebra = query.algebra
    algebra.base = query.prologue.base or None
    # RDFLib has the variables of SELECT * in no order, and for it and for a template lacks those of the last VALUES.
    if algebra.name == "ConstructQuery" and algebra.template:
        variables = [term for triple in algebra.template for term in triple if isinstance(term, rdflib.Variable)]
    if variables is not None and (algebra.name == "SelectQuery" or algebra.template):
        algebra.PV = next(part for part in walk(algebra.p) if part.name == "Project").PV = variables
    return algebra


_kept = lru_cache(_QUERIES)(_parsed)


def _refuse_large(text: str) -> None:
    """Refuse a query, without the texts and IRIs in it, that the parsers cannot read in bounded time and memory."""
    rest = _DATA.sub(" ", text)
    words = _WORD.findall(rest)
    depth = deepest = signs = 0
    for word in words:
        signs = signs + 1 if word in "!+-" else 0
        depth += (word in _BEGINS) - (word in _ENDS)
        deepest = max(deepest, depth + signs)
    patterns = sum(map(words.count, ".;,[")) + 2 * sum(len(each.split()) for each in _LIST.findall(rest))
    for what, n, most in (
        ("levels", deepest, _MAX_DEPTH), ("patterns", patterns, _MAX_PATTERNS), ("words", len(words), _MAX_WORDS),
        ("words with those of VALUES", len(_WORD.findall(text)), _MAX_DATA),
    ):  # fmt: skip
        if n > most:
            raise JellyLimitError(f"the query has more than {most} {what}: ask it in parts")


def _refuse_service(sparql: str, text: str) -> None:
    """Refuse SERVICE, of which a query without texts and IRIs may have the letters elsewhere, too.

    pyoxigraph, which would ask the other server, knows the word also where a name or a number touches it, as in
    ``SERVICE:a {}``. So the query must be one with other letters in its place: then they are parts of names and texts.
    """
    if _SERVICE.search(sparql) is None:
        return
    known = sparql.lower()
    others = ("".join(letters) for letters in product("qxz", repeat=len("service")))
    try:
        _variables(_SERVICE.sub(next(word for word in others if word not in known), sparql))
    except (JellySyntaxError, StopIteration) as error:
        if _IS_SERVICE.search(text) or isinstance(error, StopIteration):
            raise JellyUnsupportedError("SERVICE asks another server: run that part of the query there") from None
        raise
    except JellyUnsupportedError:  # such as a function that nobody knows
        return


def _is_ungrouped(part: Any) -> bool:
    """Whether an expression of SELECT has a variable that is no name of a group, of an aggregate or of an expression
    before it."""
    if not part.projection or not (part.groupby or any("Aggregate_" in each.name for each in walk(part.projection))):
        return False
    conditions = part.groupby.condition if part.groupby else ()
    known = {each if isinstance(each, rdflib.Variable) else each.var for each in conditions}
    for each in part.projection:
        found: set[Any] = set()

        def note(inner: Any, found: set[Any] = found) -> Any:
            if isinstance(inner, rdflib.Variable):
                found.add(inner)
            return _sample(inner)

        _algebra.traverse([each.var, each.expr], visitPre=note)
        if not found <= known:
            return True
        known.add(each.evar)
    return False


def _variables(sparql: str) -> tuple[list[Any] | None, Any]:
    """The variables of the solutions of a query; JellySyntaxError if it is none.

    None and that error where pyoxigraph refuses the name of an aggregate in an expression that follows it, or groups of
    ASK, CONSTRUCT and DESCRIBE.
    """
    try:
        # On its own: errors of parsers keep the variables of who calls them, and solutions must end in this thread.
        found = ox.Store().query(sparql)
    except SyntaxError as error:
        text = _TEXTS.sub(" ", sparql)
        if update := _UPDATE.match(text):
            what = f"this is an update ({update[1].upper()}), not a query, and files are read only"
            raise JellySyntaxError(f"{what}: change them by patches (jelly.patch)") from None
        # What could stand there instead is a page long.
        broken = JellySyntaxError(f"this is no SPARQL query: {str(error):.120}")
        if "an expression with a variable that is unbound" in str(error) or _GROUPED.fullmatch(text):
            return None, broken
        raise broken from None
    except (RuntimeError, UnicodeError) as error:
        raise JellyUnsupportedError(f"the query cannot be answered: {error}") from None
    return [rdflib.Variable(variable.value) for variable in getattr(found, "variables", ())], None


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


def solutions(query: str, **settings: Any) -> list[Any]:
    """The solutions of a query without data. They are a list, as pyoxigraph's own must end in this thread."""
    found: Any = ox.Store().query(query, **settings)
    return list(found)


def is_constant(term: Any) -> bool:
    """Whether a term of a pattern is an IRI or literal."""
    return isinstance(term, (rdflib.URIRef, rdflib.Literal))


def written(function: str, term: Any) -> Any:
    """What one of the functions WRITTEN has for a term; None after an error.

    For pyoxigraph numbers and dates are values, of which it has no zeros and no derived types, and tags have no
    capitals.
    """
    if term is None or isinstance(term, BlankNode | QuotedTriple):
        return None
    if function == "STR":
        return Literal(term.value)
    if not isinstance(term, Literal):
        return None
    return term.datatype if function == "DATATYPE" else Literal(term.language or "")


def _of_regex(replacement: Any, pattern: Any, flags: Any) -> Any:
    """A replacement of XPath for pyoxigraph, which takes letters after a number for the name of a group, and has other
    escapes."""
    if isinstance(flags, rdflib.Literal) and "q" in flags:  # nothing stands for anything else
        return _Literal(replacement.replace("$", "$$"), replacement.language, replacement.datatype)
    groups = len(_GROUPS.findall(pattern)) if isinstance(pattern, rdflib.Literal) else 9

    def part(found: re.Match[str]) -> str:
        if found["escaped"]:
            return found["escaped"].replace("$", "$$")
        number = found["number"]
        # As many digits as there are groups.
        n = next((n for n in range(len(number), 1, -1) if int(number[:n]) <= groups), 1)
        return f"${{{number[:n]}}}{number[n:]}"

    return _Literal(_REPLACED.sub(part, replacement), replacement.language, replacement.datatype)


def _sum(first: str, second: str) -> str:
    """The text of a sum. pyoxigraph orders its operands, and has a sum of a date and a duration in one order only."""
    if len(first) + len(second) > _SHORT or not (_UNKNOWN.match(first) and _UNKNOWN.match(second)):
        return f"{first} + {second}"
    # It does not order those of a difference: b - b - b is minus b, of the same type.
    first = f"({first})"
    either = [f"{a} - ({b} - {b} - {b})" for a, b in ((first, second), (second, first))]
    return f"COALESCE({', '.join([f'{first} + {second}', *either])})"


def text_of(expression: Any, name: Callable[[rdflib.Variable], str]) -> str:
    """The text of an expression, with other names of variables. Untranslated if it has EXISTS or changes.

    In those functions of variables that are WRITTEN a line ends before the variable, as it does nowhere else.
    """

    def text(part: Any) -> str:
        return text_of(part, name)

    if isinstance(expression, list):
        return f"({', '.join(map(text, expression))})"
    if isinstance(expression, rdflib.Variable):
        return f"?{name(expression)}"
    if not isinstance(expression, CompValue):
        return str(to_term(expression))
    kind = expression.name
    if "other" in expression:
        operators, others = expression.op or repeat(_BETWEEN[kind]), expression.other
        if kind == "RelationalExpression":
            operators, others = [operators], [others]
        made = text(expression.expr)
        for operator, other in zip(operators, map(text, others), strict=False):
            made = _sum(made, other) if operator == "+" else f"{made} {operator} {other}"
        return f"({made})"
    if kind in _SIGNS:
        return f"({_SIGNS[kind]} {text(expression.expr)})"
    function = text(expression.iri) if kind == "Function" else kind.removeprefix("Builtin_").upper()
    if function == kind.upper() or function in _ALONE:
        raise Untranslated(f"{function} within an expression")
    if function == "REPLACE" and isinstance(expression.replacement, rdflib.Literal):
        expression = CompValue(kind, **expression)
        expression["replacement"] = _of_regex(expression.replacement, expression.pattern, expression.flags or "")
    if function in WRITTEN and isinstance(expression.arg, rdflib.Variable):
        return f"{function}\n(?{name(expression.arg)})"
    if function in WRITTEN and is_constant(expression.arg):
        found = written(function, to_term(expression.arg))
        return "(1/0)" if found is None else str(found)
    arguments: list[Any] = []
    for key, value in expression.items():
        if key not in ("_vars", "iri", "distinct"):
            arguments += value if isinstance(value, list) else [value]
    return function + text(arguments)
