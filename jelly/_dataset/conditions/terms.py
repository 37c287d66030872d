"""Finds terms in a Batch: which of its term ids are this term, begin with that text, have that datatype."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from jelly._core.algebra.content import slot_keys, term_hash
from jelly._core.base.batch import Batch
from jelly._core.base.constants import DIR_LANG_STRING_IRI, LANG_STRING_IRI, XSD_STRING_IRI
from jelly._core.base.kinds import Kind
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._core.terms.model import IRI, BlankNode, QuotedTriple
from jelly._formats.filters import Sought

Ids = np.ndarray[Any, np.dtype[Any]]

_TAGS: dict[str | None, tuple[int, ...]] = {None: (Kind.TEXT,), "ltr": (Kind.TEXT_LTR,), "rtl": (Kind.TEXT_RTL,)}
# Texts compared at a time, in bytes.
_COMPARED = 1 << 24
# Nobody can write terms that have the hash of another one without this key.
_SEED = os.urandom(16)
# Terms that are in a Batch at a time.
_BUILT = 1024


class Terms:
    """The terms of a Batch, to be searched. Equal terms may have several ids; all are found.

    >>> import jelly
    >>> [batch] = jelly.scan(b'<a:s> <a:p> "x" .\\n<a:s> <a:p> "x"@en .', format="nt").batches()
    >>> terms = Terms(batch)
    >>> [batch.term(id) for id in terms.equal(jelly.Literal("x", language="en"))]
    ['"x"@en']
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._text, self._start = batch.text, batch.start
        self._kind, self._aux = batch.kind, batch.aux

    @cached_property
    def _length(self) -> Ids:
        return np.diff(self._start)

    def of_kinds(self, kinds: Sequence[int]) -> Ids:
        """The ids of the terms of some kinds."""
        return np.flatnonzero(np.isin(self._kind, kinds))

    def with_text(self, kinds: Sequence[int], text: bytes) -> Ids:
        """The ids of the terms of some kinds with a text."""
        return self._compared(np.flatnonzero(self._length == len(text)), kinds, text)

    def with_prefix(self, kinds: Sequence[int], text: bytes) -> Ids:
        """The ids of the terms of some kinds whose text begins with this one."""
        return self._compared(np.flatnonzero(self._length >= len(text)), kinds, text)

    def _compared(self, ids: Ids, kinds: Sequence[int], text: bytes) -> Ids:
        """Those of some ids that are of some kinds and whose text begins with ``text``, which is no longer than it."""
        ids = ids[np.isin(self._kind[ids], kinds)]
        n = len(text)
        # The ends of IRIs differ most: after some bytes few candidates are left.
        for place in range(n - 1, max(n - 9, -1), -1):
            ids = ids[self._text[self._start[ids] + place] == text[place]]
        if n <= 8 or not len(ids):
            return ids
        windows = np.lib.stride_tricks.sliding_window_view(self._text, n)
        wanted = np.frombuffer(text, np.uint8)
        step = max(_COMPARED // n, 1)
        parts = [ids[i : i + step] for i in range(0, len(ids), step)]
        return np.concatenate([part[(windows[self._start[part]] == wanted).all(axis=1)] for part in parts])

    def equal(self, term: Any) -> Ids:
        """The ids of a term."""
        if isinstance(term, QuotedTriple):
            ids = np.flatnonzero(self._kind == Kind.TRIPLE)
            quoted = self._batch.quoted[self._aux[ids]]
            same = [np.isin(quoted[:, place], self.equal(part)) for place, part in enumerate((term.s, term.p, term.o))]
            return ids[same[0] & same[1] & same[2]]
        text = term.value.encode()
        if isinstance(term, IRI):
            return self.with_text((Kind.IRI,), text)
        if isinstance(term, BlankNode):
            return self.with_text((Kind.BNODE,), text)
        if term.language is not None:
            tags = self.with_text(_TAGS[term.direction], term.language.encode())
            return self._referring(self.with_text((Kind.LANG,), text), tags)
        if term.datatype.value == XSD_STRING_IRI:
            return self.with_text((Kind.LITERAL,), text)
        types = self.with_text((Kind.IRI,), term.datatype.value.encode())
        return self._referring(self.with_text((Kind.TYPED,), text), types)

    def _referring(self, ids: Ids, to: Ids) -> Ids:
        """Those of some ids whose language tag or datatype is one of ``to``."""
        return ids[np.isin(self._aux[ids], to)]

    def with_datatype(self, iri: str) -> Ids:
        """The ids of the literals with a datatype."""
        if iri == XSD_STRING_IRI:
            return np.flatnonzero(self._kind == Kind.LITERAL)
        if iri in (LANG_STRING_IRI, DIR_LANG_STRING_IRI):
            kinds = (Kind.TEXT,) if iri == LANG_STRING_IRI else (Kind.TEXT_LTR, Kind.TEXT_RTL)
            return self._referring(np.flatnonzero(self._kind == Kind.LANG), np.flatnonzero(np.isin(self._kind, kinds)))
        return self._referring(np.flatnonzero(self._kind == Kind.TYPED), self.with_text((Kind.IRI,), iri.encode()))

    def with_language(self, language: str) -> Ids:
        """The ids of the literals whose language tag a basic language range of RFC 4647 matches, ``*`` any tag."""
        literals = np.flatnonzero(self._kind == Kind.LANG)
        if language == "*":
            return literals
        wanted = language.lower().encode()
        found = []
        for tag in np.unique(self._aux[literals]).tolist():
            text = self._text[self._start[tag] : self._start[tag + 1]].tobytes().lower()
            if text == wanted or text.startswith(wanted + b"-"):
                found.append(tag)
        return self._referring(literals, np.array(found, np.int64))


def batch_of(terms: Iterable[Any]) -> Batch:
    """A Batch with a statement for each of some terms, which stands in all of its places."""
    builder = BatchBuilder(3)
    for term in terms:
        builder.add((term, term, term))
    return builder.batch


class HashedTerms:
    """Many terms to look for at once, by their hashes.

    >>> import jelly
    >>> [batch] = jelly.scan(b'<a:s> <a:p> "x" .', format="nt").batches()
    >>> [batch.term(id) for id in HashedTerms([jelly.IRI("a:p"), jelly.Literal("y")]).find(batch)]
    ['<a:p>']
    """

    def __init__(self, terms: Sequence[Any]) -> None:
        pieces = (batch_of(terms[at : at + _BUILT]) for at in range(0, len(terms), _BUILT))
        self._hashes: Ids = np.concatenate([term_hash(batch, _SEED)[batch.o] for batch in pieces])
        self._hashes = self._hashes[np.argsort(self._hashes[:, 0])]
        # Nearly all other terms are left out by these bits of their hashes.
        self._bits = np.uint64((1 << max(16, len(self._hashes).bit_length() + 5)) - 1)
        self._may_be = np.zeros(int(self._bits) + 1, bool)
        self._may_be[self._hashes[:, 0] & self._bits] = True

    def find(self, batch: Batch) -> Ids:
        """The ids of these terms in a Batch."""
        hashes = term_hash(batch, _SEED)
        ids = np.flatnonzero(self._may_be[hashes[:, 0] & self._bits])
        at = np.searchsorted(self._hashes[:, 0], hashes[ids, 0])
        near = self._hashes[np.minimum(at, len(self._hashes) - 1)]
        found: Ids = ids[(near == hashes[ids]).all(axis=1)]
        return found


def sought(term: Any) -> Sought:
    """The entry of a term in filters."""
    batch = batch_of([term])
    id = int(batch.o[0])
    text = batch.text[batch.start[id] : batch.start[id + 1]].tobytes()
    return Sought(text, int(slot_keys(batch, batch.o)[0][0]))
