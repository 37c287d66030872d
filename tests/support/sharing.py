"""Quoted triples that share their parts, so that a few hundred terms are more than any memory holds written out."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import jelly
from jelly import IRI, Batch, BlankNode, JellyError, Literal, QuotedTriple
from jelly._core.arrow.exporter import ArrowExporter
from jelly._core.terms.batch_builder import BatchBuilder, _make_batch
from jelly._options.layouts import LAYOUTS
from support.batch_functions import FUNCTIONS, OTHERS
from support.measure import forget_peak, peak

S, P, G = IRI("a:s"), IRI("a:p"), IRI("a:g")
DEPTH = 60  # room for the triples around


def doubled(leaf: Any, depth: int = DEPTH) -> QuotedTriple:
    """Each level has the one below twice."""
    for _ in range(depth):
        leaf = QuotedTriple(leaf, P, leaf)
    return leaf


def tripled(leaf: Any, depth: int = DEPTH) -> QuotedTriple:
    for _ in range(depth):
        leaf = QuotedTriple(leaf, leaf, leaf)
    return leaf


def braided(leaf: Any, depth: int = DEPTH) -> QuotedTriple:
    """Two of each level, of which each has the two below."""
    one, other = QuotedTriple(leaf, P, leaf), QuotedTriple(leaf, S, leaf)
    for _ in range(depth - 1):
        one, other = QuotedTriple(one, P, other), QuotedTriple(other, P, one)
    return QuotedTriple(one, P, other)


LONG = Literal("x" * 60_000)
SHAPES: dict[str, Callable[[], list[tuple[Any, ...]]]] = {
    "subjects": lambda: [(doubled(S), P, S)] * 3,
    "objects": lambda: [(S, P, doubled(S))] * 3,
    "predicates": lambda: [(S, tripled(S), S)],
    "graphs": lambda: [(S, P, S, doubled(S))],
    "tripled": lambda: [(tripled(S), P, tripled(S))],
    "of blank nodes": lambda: [(doubled(BlankNode("b")), P, S), (S, P, braided(BlankNode("a b")))],
    "of a long literal": lambda: [(S, P, doubled(LONG))],
    "built twice": lambda: [(doubled(S), P, doubled(S)), (doubled(S), P, doubled(S))],
    "all but the last leaf": lambda: [(doubled(S), P, doubled(P)), (doubled(Literal("1")), P, doubled(Literal("2")))],
    "braided": lambda: [(braided(S), P, braided(P)), (braided(P), P, braided(S))],
    "many": lambda: [(S, P, QuotedTriple(doubled(S), P, Literal(str(i)))) for i in range(100)],
    "small enough": lambda: [(S, P, doubled(S, 12)), (doubled(S, 12), P, doubled(P, 12))],
}  # fmt: skip


def built(rows: list[tuple[Any, ...]]) -> Batch:
    """One id for equal terms, as the builder gives them."""
    builder = BatchBuilder(len(rows[0]))
    for row in rows:
        builder.add(row)
    return builder.batch


def apart(rows: list[tuple[Any, ...]]) -> Batch:
    """Quoted triples that are equal have ids of their own in each term of each row."""
    terms: list[Any] = []
    quoted: list[Any] = []

    def put(term: Any, known: dict[int, int]) -> int:
        if id(term) not in known:
            if isinstance(term, QuotedTriple):
                inner = tuple(put(part, known) for part in term)
                terms.append((6, len(quoted), b""))
                quoted.append(inner)
            else:
                terms.append(({IRI: 1, BlankNode: 2, Literal: 3}[type(term)], -1, term.value.encode()))
            known[id(term)] = len(terms) - 1
        return known[id(term)]

    made = [tuple(put(term, {}) for term in row) for row in rows]
    return _make_batch(len(rows[0]), terms, made, quoted)


def columns(layout: str, *, codes: bool) -> Callable[[Batch], Any]:
    def call(batch: Batch) -> None:
        made = ArrowExporter(layout)
        made.start(batch)
        for part in ("subject", "predicate", "object", "graph"):
            name = LAYOUTS[layout].column(part)
            (made.codes if codes else made.strings)(name, 0, len(batch))

    return call


def options(**settings: Any) -> Callable[[Batch], Any]:
    def call(batch: Batch) -> bytes:
        chosen = jelly.StreamOptions(rdf_star=True, **settings)
        encoder = jelly.Encoder(chosen)
        # The second time: against what is carried from the first.
        return encoder.encode(batch) + encoder.encode(batch) + encoder.close()

    return call


def built_again(batch: Batch) -> Batch:
    return built([tuple(statement) for statement in batch.statements()])


CALLS: dict[str, Callable[[Batch], Any]] = {
    **FUNCTIONS, **OTHERS,
    "rows of Jelly": options(generalized_statements=True),
    "rows of Jelly, quads": options(generalized_statements=True, physical_type=2),
    "rows of Jelly, graphs": options(generalized_statements=True, physical_type=3),
    "columns of Jelly": options(version=3),
    **{
        f"columns of Arrow, {layout}, {codes}": columns(layout, codes=codes)
        for layout in ("flat", "ntriples") for codes in (False, True)
    },
    "dumps": lambda batch: jelly.dumps(batch.statements()),
    "builder": built_again,
}  # fmt: skip
del CALLS["Batch.term"]  # which calls text_of_term, and texts of 4 MB take time


def main(shape: str) -> None:
    rows = SHAPES[shape]()
    for how, make in {"built": built, "apart": apart}.items():
        for name, call in CALLS.items():
            batch = make(rows)  # one of the functions changes it
            forget_peak()
            before, start, error = peak(), time.process_time(), ""
            try:
                call(batch)
            except (JellyError, IndexError, TypeError) as caught:
                error = f"{type(caught).__name__}: {caught}"[:200]
            row = [f"{how}: {name}", time.process_time() - start, peak() - before, error]
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
