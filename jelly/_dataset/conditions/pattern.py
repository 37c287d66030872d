"""Patterns of statements and conditions, decided on the term ids of a Batch before any object or text is made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np

from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.constants import RDF
from jelly._core.base.kinds import Kind, kinds_of
from jelly._core.terms.model import IRI, BlankNode, DefaultGraph, Literal, QuotedTriple, to_term
from jelly._dataset.conditions.terms import HashedTerms, Ids, Terms, sought
from jelly._formats.filters import MAX_SOUGHT, Query, Sought
from jelly._options.foreign_terms import Foreign
from jelly._options.settings import checked
from jelly._streams.reader import Reader
from jelly.errors import JellyArgumentError, JellyError

_TERMS = (IRI, BlankNode, Literal, QuotedTriple, DefaultGraph)
_BARE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]*")
_RANGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*|\*")
# From so many terms on, the terms of a Batch are hashed once, instead of searched for each.
_MANY = 8


@dataclass(unsafe_hash=True, repr=False, init=False)
class _Matcher:
    """Base of what matches terms by a text."""

    __slots__ = ("text",)

    text: str

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise JellyArgumentError(f"{type(self).__name__} takes a str, not {type(text).__name__}")
        self.text = text

    def __repr__(self) -> str:
        return f"jelly.{type(self).__name__}({self.text!r})"

    def _ids(self, terms: Terms) -> Ids:
        raise NotImplementedError

    def _sought(self) -> Sought | None:
        """The entries of filters that it may have."""
        return None


class IRIPrefix(_Matcher):
    """Matches all IRIs that begin with a text, in a pattern of `find`.

    Parameters
    ----------
    text : str
        What they begin with.

    Examples
    --------
    >>> import jelly
    >>> jelly.find(b"<a:s> <a:p> <b:o> .", o=jelly.IRIPrefix("b:"), format="nt").count()
    1
    """

    __slots__ = ()

    def _ids(self, terms: Terms) -> Ids:
        return terms.with_prefix((Kind.IRI,), self.text.encode())

    def _sought(self) -> Sought:
        return Sought(self.text.encode(), None)


class Datatype(_Matcher):
    """Matches all literals with a datatype, in a pattern of `find`.

    Parameters
    ----------
    text : str or IRI
        The datatype, also as a term of RDFLib or pyoxigraph. ``xsd:string`` is that of literals without another,
        ``rdf:langString`` that of all with a language.

    Examples
    --------
    >>> import jelly
    >>> jelly.find(b'<a:s> <a:p> "5"^^<a:number> .', o=jelly.Datatype("a:number"), format="nt").count()
    1
    """

    __slots__ = ()

    def __init__(self, text: str | IRI) -> None:
        text = to_term(text)
        super().__init__(text.value if isinstance(text, IRI) else text)

    def _ids(self, terms: Terms) -> Ids:
        return terms.with_datatype(self.text)


class LanguageRange(_Matcher):
    """Matches literals by their language, in a pattern of `find`: basic filtering of RFC 4647.

    Parameters
    ----------
    text : str
        A language tag, which also matches longer ones (``en`` matches ``en-GB``), in any case; ``*`` is any language.

    Examples
    --------
    >>> import jelly
    >>> data = b'<a:s> <a:p> "colour"@en-GB .\\n<a:s> <a:p> "Farbe"@de .'
    >>> [statement.o.value for statement in jelly.find(data, o=jelly.LanguageRange("en"), format="nt")]
    ['colour']
    """

    __slots__ = ()

    @checked()
    def __init__(self, text: str) -> None:
        super().__init__(text)
        if not _RANGE.fullmatch(text):
            raise JellyArgumentError(f"{text!r} is not a language range: expected a tag such as en or de-AT, or *")

    def _ids(self, terms: Terms) -> Ids:
        return terms.with_language(self.text)


class OfKinds(_Matcher):
    """Matches terms of some kinds, with a text or with any."""

    __slots__ = ("kinds",)

    def __init__(self, kinds: tuple[int, ...], text: str | None = None) -> None:
        self.kinds = kinds
        self.text: Any = text

    def _ids(self, terms: Terms) -> Ids:
        return terms.of_kinds(self.kinds) if self.text is None else terms.with_text(self.kinds, self.text.encode())

    def _sought(self) -> Sought | None:
        return None if self.text is None else sought(IRI(self.text))  # the kind is none of its business


class _OtherTriple(Protocol):
    """A triple term of pyoxigraph."""

    @property
    def subject(self) -> Any: ...


_One: TypeAlias = (
    str | IRI | BlankNode | Literal | QuotedTriple | DefaultGraph | Foreign | _OtherTriple
    | IRIPrefix | Datatype | LanguageRange
)  # fmt: skip
# What a place may be: None is anything.
Wanted: TypeAlias = _One | Iterable[_One] | None
# The terms that a place may have, and what else matches; None if it may be anything.
_Terms: TypeAlias = tuple[Any, ...] | None


def parse_term(text: str) -> Any:
    """A term by its text: N-Triples, a bare IRI, or ``default`` for the default graph.

    >>> parse_term("a:b"), parse_term('"x"@en'), parse_term("default")
    (IRI('a:b'), Literal('x', language='en'), DefaultGraph())
    """
    if text == "default":
        return DefaultGraph()
    if text.startswith(("<", '"', "_:")):
        try:
            found = list(Reader(f"<a:a> <a:a> {text} .".encode(), format="nt"))
        except JellyError as error:
            raise JellyArgumentError(f"{text!r} is not a term in N-Triples syntax: {error.reason}") from None
        if len(found) == 1:
            return found[0].o
        raise JellyArgumentError(f"{text!r} is not one term in N-Triples syntax")
    if _BARE.fullmatch(text):
        return IRI(text)
    raise JellyArgumentError(
        f'{text!r} is not a term: expected an IRI, or N-Triples syntax such as <a:b>, _:b, "text", "text"@en'
    )


class Rows:
    """Base of what chooses rows of a Batch."""

    def _mask(self, batch: Batch) -> Ids | None:
        """Of each row whether it is chosen; None if all are."""
        raise NotImplementedError

    @checked()
    def rows(self, batch: Batch) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The rows of a Batch that match, in order.

        Parameters
        ----------
        batch : Batch
            Some statements.

        Returns
        -------
        numpy.ndarray
            Numbers of rows, int64.
        """
        mask = self._mask(batch)
        return np.arange(len(batch)) if mask is None else np.flatnonzero(mask).astype(np.int64, copy=False)

    @checked()
    def count(self, batch: Batch) -> int:
        """The number of rows of a Batch that match.

        Parameters
        ----------
        batch : Batch
            Some statements.

        Returns
        -------
        int
            How many match.
        """
        mask = self._mask(batch)
        return len(batch) if mask is None else int(np.count_nonzero(mask))


class Pattern(Rows):
    """A pattern of statements: each named term must match.

    Parameters
    ----------
    s, p, o, g : term, str, IRIPrefix, Datatype, LanguageRange, or an iterable of these, optional
        What the subject, predicate, object and graph must be: one of several things. A str is a bare IRI or a term in
        N-Triples syntax, ``"default"`` (or `DefaultGraph`) the default graph, in which all triples are. It is taken as
        it is: ``"rdf:type"`` is the IRI of these eight characters, although ``jelly find`` knows prefixes. Terms of
        RDFLib and pyoxigraph are terms, too. None is anything.

    Raises
    ------
    JellyArgumentError
        If a text is no term, or something else cannot be a term.

    Examples
    --------
    >>> import jelly
    >>> pattern = jelly.Pattern(p=["a:knows", "a:name"])
    >>> [batch] = jelly.scan(b'<a:s> <a:name> "Ann" .\\n<a:s> <a:age> "9" .', format="nt").batches()
    >>> pattern.rows(batch).tolist(), len(pattern.select(batch))
    ([0], 1)
    """

    @checked()
    def __init__(self, s: Wanted = None, p: Wanted = None, o: Wanted = None, g: Wanted = None) -> None:
        self.s: _Terms = _several(s)
        self.p: _Terms = _several(p)
        self.o: _Terms = _several(o)
        self.g: _Terms = _several(g, is_graph=True)

    def __repr__(self) -> str:
        given = [f"{slot}={list(wanted)!r}" for slot in "spog" if (wanted := getattr(self, slot)) is not None]
        return f"jelly.Pattern({', '.join(given)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Pattern, (self.s, self.p, self.o, self.g)

    @property
    def is_empty(self) -> bool:
        """Whether all statements match."""
        return not self._slots

    @cached_property
    def _slots(self) -> list[tuple[str, Place]]:
        # The predicate first: it is found fastest.
        return [(slot, Place(wanted)) for slot in "psog" if (wanted := getattr(self, slot)) is not None]

    def query(self, labels: bool = True) -> Query | None:
        """The entries of filters that rows of the pattern have.

        Parameters
        ----------
        labels : bool, default True
            Whether blank nodes are looked for by the labels that the file has.

        Returns
        -------
        Query or None
            What is looked for; None if filters know nothing of it.
        """
        found = {slot: wanted.sought for slot, wanted in self._slots if labels or not wanted.has_labels}
        return {slot: one for slot, one in found.items() if one is not None} or None

    def _mask(self, batch: Batch) -> Ids | None:
        """Of each row whether it matches; None if all do."""
        terms = Terms(batch)
        mask: Ids | None = None
        for slot, wanted in self._slots:
            same = wanted.mask(batch, slot, terms)
            mask = same if mask is None else mask & same
            if not mask.any():
                break
        return mask

    @checked()
    def select(self, batch: Batch) -> Batch:
        """The statements of a Batch that match, without frames, namespaces and metadata.

        Parameters
        ----------
        batch : Batch
            Some statements.

        Returns
        -------
        Batch
            Those that match; the same Batch if the pattern is empty.
        """
        return batch if self.is_empty else select(batch, self.rows(batch))


class Place:
    """The terms that one place of a statement may have."""

    def __init__(self, wanted: tuple[Any, ...]) -> None:
        self.default = any(isinstance(one, DefaultGraph) for one in wanted)
        self._matchers = [one for one in wanted if isinstance(one, _Matcher)]
        self._terms = [one for one in wanted if not isinstance(one, _Matcher | DefaultGraph)]
        # Whether labels of blank nodes count.
        self.has_labels = any(
            isinstance(one, BlankNode | QuotedTriple) or (isinstance(one, OfKinds) and Kind.BNODE in one.kinds)
            for one in wanted
        )

    @cached_property
    def _hashed(self) -> HashedTerms | None:
        """The terms by their hashes, where each is not searched for by itself."""
        return HashedTerms(self._terms) if len(self._terms) > _MANY else None

    @cached_property
    def sought(self) -> tuple[bool, list[Sought]] | None:
        """Its entries in filters; None if it has a datatype or a language range, or very many terms."""
        matched = [found for one in self._matchers if (found := one._sought()) is not None]
        if len(self._terms) > MAX_SOUGHT or len(matched) < len(self._matchers):
            return None
        return self.default, matched + [sought(term) for term in self._terms]

    def mask(self, batch: Batch, slot: str, terms: Terms) -> Ids:
        """Of each row whether its term in this place matches."""
        ids = getattr(batch, slot)
        if ids is None:  # triples are in the default graph
            return np.full(len(batch), self.default)
        found = self._ids(batch, terms)
        if len(found) < 2 and not self.default:
            same: Ids = ids == found[0] if len(found) else np.zeros(len(batch), bool)
            return same
        # The default graph has id -1, the last index here.
        is_wanted = np.zeros(batch.n_terms + 1, bool)
        is_wanted[found] = True
        is_wanted[-1] = self.default
        matches: Ids = is_wanted[ids]
        return matches

    def _ids(self, batch: Batch, terms: Terms) -> Ids:
        """The ids of the terms of a Batch that match."""
        found = [matcher._ids(terms) for matcher in self._matchers]
        if self._hashed is not None:
            found.append(self._hashed.find(batch))
        else:
            found += [terms.equal(term) for term in self._terms]
        return np.concatenate(found) if found else np.zeros(0, np.int64)


def _several(wanted: Wanted, is_graph: bool = False) -> _Terms:
    if wanted is None:
        return None
    # A quoted triple is iterable, and yet one term; terms of RDFLib are texts.
    term: Any = to_term(wanted, is_graph)
    one = isinstance(term, (str, _Matcher, *_TERMS)) or not isinstance(term, Iterable)
    ours = [to_term(each, is_graph) for each in ([term] if one else term)]
    made = tuple(parse_term(each) if isinstance(each, str) else each for each in ours)
    for each in made:
        if not isinstance(each, (_Matcher, *_TERMS)):
            raise JellyArgumentError(f"a pattern has terms, not {type(each).__name__}")
    return made


_KINDS: dict[str, Any] = {
    "iri": OfKinds((Kind.IRI,)),
    "blank": OfKinds((Kind.BNODE,)),
    "literal": OfKinds(kinds_of("literal")),
    "quoted": OfKinds(kinds_of("triple")),
    "default": DefaultGraph(),  # which has no term
}
_PROPERTIES: dict[str, Callable[[str], Any]] = {
    "kind": _KINDS.get, "language": LanguageRange, "datatype": Datatype, "prefix": IRIPrefix
}
_SHORT = {"xsd:": "http://www.w3.org/2001/XMLSchema#", "rdf:": RDF}


class Condition:
    """A condition on one place of a statement: ``o.kind=iri|blank``, ``o.language!=en``.

    >>> import jelly
    >>> [batch] = jelly.scan(b'<a:s> <a:p> "x" .\\n<a:s> <a:p> <a:o> .', format="nt").batches()
    >>> Condition("o.kind = literal").mask(batch).tolist(), Condition("o.kind != literal").mask(batch).tolist()
    ([True, False], [False, True])
    """

    def __init__(self, text: str) -> None:
        place, equals, values = text.partition("=")
        self.negated: bool = place.endswith("!")
        self.slot, _, self.property = place.removesuffix("!").strip().partition(".")
        self.values: list[str] = [value.strip() for value in values.split("|")]
        if not equals or self.slot not in tuple("spog") or self.property not in _PROPERTIES or not all(self.values):
            raise JellyArgumentError(
                f"{text!r} is not a condition: expected one of s, p, o and g, a dot, one of {', '.join(_PROPERTIES)}, "
                "= or !=, and values with | between them, such as o.kind=iri|blank or o.language!=en"
            )
        if self.property == "datatype":
            self.values = [_datatype(value) for value in self.values]
        for value in self.values:
            if self.property == "kind" and value not in _KINDS:
                raise JellyArgumentError(f"{value!r} is not a kind of term: expected one of {', '.join(_KINDS)}")
        self._place = Place(tuple(map(_PROPERTIES[self.property], self.values)))

    def mask(self, batch: Batch) -> Ids:
        """Of each row whether it meets the condition."""
        found = self._place.mask(batch, self.slot, Terms(batch))
        return ~found if self.negated else found


def _datatype(value: str) -> str:
    """The IRI of a datatype, written as such, in angle brackets, or with the prefix xsd: or rdf:."""
    if value.startswith("<") and value.endswith(">"):
        return value[1:-1]
    base = _SHORT.get(value[:4])
    return value if base is None else base + value[4:]


class Selection(Rows):
    """The rows that match a pattern and meet conditions, or with ``invert`` all others.

    >>> import jelly
    >>> [batch] = jelly.scan(b'<a:s> <a:p> "x" .\\n<a:s> <a:p> <a:o> .', format="nt").batches()
    >>> Selection(Pattern(p="a:p"), "o.kind = literal").rows(batch).tolist()
    [0]
    """

    def __init__(self, pattern: Pattern, where: str | Iterable[str] = (), invert: bool = False) -> None:
        self._pattern = pattern
        self._conditions = [Condition(text) for text in ([where] if isinstance(where, str) else where)]
        self._invert = invert

    def query(self, labels: bool = True) -> Query | None:
        """The query for the filters of a file, see `Pattern`: without conditions, which it does not know."""
        return None if self._invert else self._pattern.query(labels)

    def _mask(self, batch: Batch) -> Ids | None:
        """Of each row whether it is one of these; None if all are."""
        mask = self._pattern._mask(batch)
        if self._conditions or self._invert:
            mask = np.ones(len(batch), bool) if mask is None else mask
            for condition in self._conditions:
                mask = mask & condition.mask(batch)
        return ~mask if mask is not None and self._invert else mask

    def __call__(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        for batch in batches:
            mask = self._mask(batch)
            found = batch if mask is None else select(batch, mask)
            del batch  # before the next one takes memory
            if len(found):
                yield found
