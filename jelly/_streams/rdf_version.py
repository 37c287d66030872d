"""Versions of RDF that a Reader keeps to, and the ways from RDF-star to RDF 1.2 and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jelly._core.base.batch import Batch, restate
from jelly._core.rules.capabilities import Capabilities
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.model import IRI, BlankNode, QuotedTriple
from jelly._options.options import StreamOptions
from jelly.errors import JellyArgumentError, JellyLimitError, JellyUnsupportedError

Batches = Iterable[Batch]
Rule = Callable[[list[Any]], list[list[Any]]]

_STRICT: dict[str, Any] = {"iris": "plain", "tags": "bcp47", "tagged": True}
_HOLDS = {
    "1.1": Capabilities("RDF 1.1", quoted="none", directions=False, **_STRICT),
    "1.2-basic": Capabilities("RDF 1.2 Basic", quoted="none", **_STRICT),
    "1.2": Capabilities("RDF 1.2", quoted="object", **_STRICT),
}
_TRIPLE_TERMS = Capabilities("RDF 1.2", generalized=False, quoted="object")
_REIFIES = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies")
# Quoted triples that star="quoted" keeps, for later uses of their nodes.
MAX_RESTORED = 1 << 20
# The label of a node that stands for a quoted triple: of the triple's content, so that the way back can check it.
_LABEL = re.compile("qt[0-9a-f]{32}")


def changes(rdf: str | None, star: str | None) -> Callable[[Batches], Iterator[Batch]] | None:
    """The change that a Reader makes to its Batches, or None."""
    if rdf is not None and rdf not in _HOLDS:
        raise JellyArgumentError(f"rdf is {rdf!r}: expected one of {', '.join(_HOLDS)}")
    if star not in (None, "reifies", "triple-terms", "quoted"):
        raise JellyArgumentError(f"star is {star!r}: expected one of reifies, triple-terms, quoted")
    if rdf is None and star is None:
        return None

    def change(batches: Batches) -> Iterator[Batch]:
        nodes = _Restored() if star == "quoted" else None
        for batch in batches:
            options = batch.options
            if star == "reifies" and len(batch.quoted):
                batch = _rebuilt(batch, _Reified().rows)
            elif nodes is not None and (nodes.triples or len(batch.quoted)):
                batch = _rebuilt(batch, nodes.rows)
            elif star == "triple-terms":
                batch = _TRIPLE_TERMS.fit(batch)
            if rdf is not None:
                _check_announced(rdf, options)
                batch = _HOLDS[rdf].fit(batch)
            if star is not None and options is not None:
                # What becomes of quoted triples was said, so no encoder asks again.
                batch = restate(batch, options.replace(version=0))
            yield batch

    return change


def _check_announced(rdf: str, options: StreamOptions | None) -> None:
    """Refuse a stream of Jelly-RDF 1.2 that announces more than it may have. Its decoder checks what it announces."""
    announced = "" if options is None else options.rdf_version
    versions = list(_HOLDS)
    if announced in versions and versions.index(announced) > versions.index(rdf):
        raise JellyUnsupportedError(f"the stream announces RDF {announced}, which is more than rdf={rdf!r} allows")


def _rebuilt(batch: Batch, rule: Rule) -> Batch:
    """A Batch with other statements; its frames, metadata and namespaces stay."""
    builder = BatchBuilder(batch.arity, max(len(batch), 1))
    statements = Materializer(batch).statements(0, len(batch))
    names = iter([*batch.namespaces, None])
    name = next(names)
    metadata = batch.metadata or {}
    row = 0
    for frame, end in enumerate([*batch.frames.tolist(), len(batch)]):
        while True:
            while name is not None and name[1] <= frame and (name[0] <= row or row >= end):
                builder.namespace(*name[2:])
                name = next(names)
            if row >= end:
                break
            for terms in rule(list(statements[row])):
                builder.add(tuple(terms))
            row += 1
        if frame < len(batch.frames):
            builder.end_frame(metadata.get(frame))
    return builder.batch


def _label(triple: QuotedTriple) -> str:
    import hashlib  # for star= only

    return "qt" + hashlib.sha256(str(triple).encode()).hexdigest()[:32]


class _Reified:
    """Quoted triples of a Batch become nodes, each with a statement that says what it reifies in each graph."""

    def __init__(self) -> None:
        self.reified: set[tuple[Any, ...]] = set()

    def rows(self, terms: list[Any]) -> list[list[Any]]:
        rows: list[list[Any]] = []
        if isinstance(terms[1], QuotedTriple) or (len(terms) == 4 and isinstance(terms[3], QuotedTriple)):
            raise JellyUnsupportedError("star='reifies' is for quoted triples as subjects and objects, not elsewhere")
        # A statement that says what a node reifies is RDF 1.2 already.
        is_new = terms[1] == _REIFIES and not isinstance(terms[0], QuotedTriple)
        terms[0] = self.node(terms[0], terms[3:], rows)
        terms[2] = (self.inner if is_new else self.node)(terms[2], terms[3:], rows)
        return [*rows, terms]

    def inner(self, term: Any, graph: list[Any], rows: list[list[Any]]) -> Any:
        if not isinstance(term, QuotedTriple):
            return term
        if isinstance(term.p, QuotedTriple):
            raise JellyUnsupportedError("star='reifies' is for quoted triples as subjects and objects, not elsewhere")
        return QuotedTriple(self.node(term.s, graph, rows), term.p, self.node(term.o, graph, rows))

    def node(self, term: Any, graph: list[Any], rows: list[list[Any]]) -> Any:
        if not isinstance(term, QuotedTriple):
            return term
        node = BlankNode(_label(term))
        key = (node, *graph)
        if key not in self.reified:
            self.reified.add(key)
            rows.append([node, _REIFIES, self.inner(term, graph, rows), *graph])
        return node


class _Restored:
    """Nodes that `_Reified` made become quoted triples again. Others, whose labels do not fit, stay."""

    def __init__(self) -> None:
        self.triples: dict[str, QuotedTriple] = {}

    def rows(self, terms: list[Any]) -> list[list[Any]]:
        s, p, term = terms[:3]
        o = self.term(term)
        if isinstance(s, BlankNode) and p == _REIFIES and isinstance(term, QuotedTriple):
            label = str(s)[2:]
            if _LABEL.fullmatch(label) and label == _label(o):
                if len(self.triples) >= MAX_RESTORED:
                    raise JellyLimitError(f"star='quoted' is for {MAX_RESTORED:,} quoted triples at the most")
                self.triples[label] = o
                return []
        return [[self.term(s), p, o, *terms[3:]]]

    def term(self, term: Any) -> Any:
        if isinstance(term, BlankNode):
            return self.triples.get(str(term)[2:], term)
        if isinstance(term, QuotedTriple):
            return QuotedTriple(self.term(term.s), term.p, self.term(term.o))
        return term
