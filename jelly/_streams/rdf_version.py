"""Versions of RDF that a Reader keeps to, and the ways from RDF-star to RDF 1.2 and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from jelly._core.base.batch import Batch, restate
from jelly._core.rules.capabilities import Capabilities
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.model import IRI, BlankNode, QuotedTriple
from jelly._options.options import StreamOptions
from jelly.errors import JellyLimitError, JellyUnsupportedError

Batches = Iterable[Batch]
Rule = Callable[[Any], list[tuple[Any, ...]]]

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
# How the label of a node begins that stands for a quoted triple. The rest is of the triple's content, so that the way
# back can check it.
_LABEL = "qt"


def changes(rdf: str | None, star: str | None) -> Callable[[Batches], Iterator[Batch]] | None:
    """The change that a Reader makes to its Batches, or None."""
    if rdf is None and star is None:
        return None

    def change(batches: Batches) -> Iterator[Batch]:
        triples: dict[str, QuotedTriple] = {}  # by the labels of the nodes that stand for them
        for batch in batches:
            options = batch.options
            if star == "reifies" and len(batch.quoted):
                batch = _rebuilt(batch, partial(_reified, set()))
            elif star == "quoted" and (triples or len(batch.quoted)):
                batch = _rebuilt(batch, partial(_restored, triples))
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
    statements = Materializer(batch).statements()
    # Declarations and ends of frames, each with the row that comes next, and its frame.
    declared: list[tuple[int, int, Any]] = [(row, frame, name) for row, frame, *name in batch.namespaces]
    ends = enumerate([*batch.frames.tolist(), len(batch)])
    at = 0
    for row, frame, name in sorted([*declared, *((end, frame, None) for frame, end in ends)], key=_place):
        for statement in statements[at:row]:
            for terms in rule(statement):
                builder.add(terms)
        at = row
        if name is not None:
            builder.namespace(*name)
        elif frame < len(batch.frames):
            builder.end_frame(batch.metadata.get(frame))
    return builder.batch


def _place(event: tuple[int, int, Any]) -> tuple[int, bool]:
    """Where a declaration, or the end of a frame, stands among others."""
    _, frame, name = event
    return frame, name is None


def _label(triple: QuotedTriple) -> str:
    import hashlib  # for star= only

    return _LABEL + hashlib.sha256(str(triple).encode()).hexdigest()[:32]


def _refuse_quoted(*terms: Any) -> None:
    if any(isinstance(term, QuotedTriple) for term in terms):
        raise JellyUnsupportedError("star='reifies' is for quoted triples as subjects and objects, not elsewhere")


def _reified(known: set[tuple[Any, ...]], statement: Any) -> list[tuple[Any, ...]]:
    """Quoted triples become nodes, each with a statement that says what it reifies in each graph. ``known`` are the
    nodes that have one."""
    if QuotedTriple not in map(type, statement):
        return [statement]
    s, p, o, *graph = statement
    rows: list[tuple[Any, ...]] = []

    def inner(term: Any) -> Any:
        if not isinstance(term, QuotedTriple):
            return term
        _refuse_quoted(term.p)
        return QuotedTriple(node(term.s), term.p, node(term.o))

    def node(term: Any) -> Any:
        if not isinstance(term, QuotedTriple):
            return term
        made = BlankNode(_label(term))
        if (made, *graph) not in known:
            known.add((made, *graph))
            rows.append((made, _REIFIES, inner(term), *graph))
        return made

    _refuse_quoted(p, *graph)
    # A statement that says what a node reifies is RDF 1.2 already.
    is_new = p == _REIFIES and not isinstance(s, QuotedTriple)
    made = node(s), p, inner(o) if is_new else node(o), *graph
    return [*rows, made]


def _restored(triples: dict[str, QuotedTriple], statement: Any) -> list[tuple[Any, ...]]:
    """Nodes that `_reified` made become quoted triples again. Others, whose labels do not fit, stay."""

    def restored(term: Any) -> Any:
        if isinstance(term, BlankNode):
            return triples.get(term.value, term)
        if isinstance(term, QuotedTriple):
            return QuotedTriple(restored(term.s), term.p, restored(term.o))
        return term

    s, p, term, *graph = statement
    o = restored(term)
    if isinstance(s, BlankNode) and p == _REIFIES and isinstance(term, QuotedTriple):
        label = s.value
        if label.startswith(_LABEL) and label == _label(o):
            if len(triples) >= MAX_RESTORED:
                raise JellyLimitError(f"star='quoted' is for {MAX_RESTORED:,} quoted triples at the most")
            triples[label] = o
            return []
    return [(restored(s), p, o, *graph)]
