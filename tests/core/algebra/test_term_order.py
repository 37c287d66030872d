"""The places of terms in their order, against `sorted` of the terms themselves."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chance import examples
from support.measure import within
from support.oracle import statement as as_jelly
from support.strategies import streams

import jelly
from jelly import ANY, IRI, BlankNode, DefaultGraph, Literal, QuotedTriple, Triple, Variable
from jelly._core.algebra.dictionary import term_ranks
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._core.terms.batch_builder import BatchBuilder, ResultBatchBuilder
from jelly._dataset.steps.order import sorted_rows
from jelly.errors import JellyArgumentError

S, P = IRI("a:s"), IRI("a:p")
TERMS: list[Any] = [
    BlankNode("b"), BlankNode(""), BlankNode("ba"), IRI("b"), IRI(""), IRI("ba"), IRI("é"), IRI("\U0001f600"),
    IRI("\uffff"),
    Literal(""), Literal("\0"), Literal("\0\0"), Literal("b"), Literal("b\0"), Literal("b", language="en"),
    Literal("b", language="EN"), Literal("b", language="ar"), Literal("b", language="ar", direction="ltr"),
    Literal("b", language="ar", direction="rtl"), Literal("b", datatype=IRI("a:a")), Literal("b", datatype=IRI("z:z")),
    Literal("b" * 7), Literal("b" * 8), Literal("b" * 7 + "\0"), Literal("b" * 14), Literal("b" * 15),
    *(IRI("http://example.org/a/long/path/" + "x" * n) for n in range(20)),
    QuotedTriple(S, P, S), QuotedTriple(S, P, Literal("b")), QuotedTriple(S, P, QuotedTriple(S, P, S)),
    QuotedTriple(BlankNode("b"), P, S), Variable("a"), Variable("b"), ANY,
]  # fmt: skip


def batch_of(statements: Any, arity: int = 3) -> Batch:
    builder = BatchBuilder(arity)
    for statement in statements:
        builder.add(statement)
    return builder.batch


def in_order(batch: Batch) -> list[Any]:
    """The objects of a Batch in the order that the core gives them."""
    wanted = np.zeros(batch.n_terms, bool)
    wanted[batch.o] = True
    ranks, n = term_ranks(batch, wanted)
    assert ranks.dtype == np.int32
    places = ranks[batch.o]
    assert set(places.tolist()) == set(range(1, n + 1))
    assert not ranks[~wanted].any()
    objects = [statement.o for statement in batch]
    # Equal places are equal terms.
    assert len(set(objects)) == n
    return [objects[row] for row in np.argsort(places, kind="stable")]


def test_all_kinds_are_in_order() -> None:
    terms = [*TERMS, *TERMS]
    random.Random(1).shuffle(terms)
    assert in_order(batch_of(Triple(S, P, term) for term in terms)) == sorted(terms)


@pytest.mark.parametrize("n", [0, 1, 2, 11, 12, 13, 100, 5000])
def test_any_number_of_terms(n: int) -> None:
    dice = random.Random(n)
    heads = ["", "http://example.org/", "http://example.org/a/b/c/" * 5]
    terms = [
        dice.choice([IRI, Literal, BlankNode])(dice.choice(heads) + "".join(dice.choices("ab\0", k=dice.randrange(9))))
        for _ in range(n)
    ]
    half = n // 2
    parts = [batch_of(Triple(S, P, term) for term in some) for some in (terms[:half], terms[half:])]
    assert in_order(join_batches(parts)) == sorted(terms)


@examples(60)
@given(streams(max_size=30), st.sampled_from(["spog", "g", "o", "ps", "gop", "sopg"]))
def test_rows_are_in_the_order_of_their_terms(made: Any, by: str) -> None:
    options, rows = made
    statements = [as_jelly(row) for row in rows]
    if not statements:
        return
    batch = batch_of(statements, len(statements[0]))

    def key(statement: Any) -> tuple[Any, ...]:
        return tuple(getattr(statement, slot, DefaultGraph()) for slot in by)

    ordered = [statements[row] for row in sorted_rows(batch, by)]
    assert ordered == sorted(statements, key=key)
    firsts = list({key(statement): statement for statement in reversed(ordered)}.values())[::-1]
    assert [statements[row] for row in sorted_rows(batch, by, unique=True)] == firsts


@pytest.mark.bounded
def test_texts_that_are_alike_take_no_more_than_others() -> None:
    # Equal long texts, and texts that differ at their ends.
    long = "x" * 100_000
    terms = [Literal(long, language=f"x{i % 7}") for i in range(100)] + [Literal(long + str(i)) for i in range(100)]
    dice = random.Random(2)
    dice.shuffle(terms)
    parts = [batch_of([Triple(S, P, term)]) for term in terms]
    assert within(10, lambda: in_order(join_batches(parts))) == sorted(terms)
    same = batch_of(Triple(S, P, QuotedTriple(S, P, IRI(str(i % 3)))) for i in range(50_000))
    many_same = join_batches([same, same])
    ranks = within(10, lambda: term_ranks(many_same, many_same.kind == 6)[0])
    assert len(set(ranks[many_same.o].tolist())) == 3


def test_results_have_an_order_too() -> None:
    builder = ResultBatchBuilder(("x",))
    builder.extend(iter([(IRI("b"),), (Literal("a"),), (None,), (IRI("a"),)]), 10)
    batch = builder.batch
    ranks, n = term_ranks(batch, np.ones(batch.n_terms, bool))
    column = batch.column("x")
    assert (ranks[column[[3, 0, 1]]].tolist(), n) == ([1, 2, 3], 3)


def test_marks_that_do_not_fit_are_refused() -> None:
    batch = next(jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").batches())
    for wrong in ([], [True] * 5, [[True] * 3]):
        with pytest.raises(JellyArgumentError, match="do not fit 3 terms"):
            term_ranks(batch, wrong)
