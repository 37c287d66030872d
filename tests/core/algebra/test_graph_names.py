"""Statements of the default graph in a named graph: nothing else changes."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.statements import generalized, quads

import jelly
from jelly import IRI, BlankNode, DefaultGraph, JellyArgumentError, Quad
from jelly._core.algebra.graph_names import name_default_graph
from jelly._core.base.batch import Batch
from jelly._core.base.kinds import Kind
from jelly._core.terms.batch_builder import BatchBuilder


def batch_of(statements: list[Any], arity: int) -> Batch:
    builder = BatchBuilder(arity)
    for statement in statements:
        builder.add(statement)
    return builder.batch


@given(st.lists(quads(generalized), max_size=12), st.booleans())
def test_statements_without_a_graph_get_one(statements: list[Quad], blank: bool) -> None:
    name = BlankNode("a new one") if blank else IRI("https://example.org/a-new-one")
    kind = Kind.BNODE if blank else Kind.IRI
    batch = batch_of(statements, 4)
    made = name_default_graph(batch, kind, name.value.encode())
    made.check()
    assert list(made) == [Quad(*row[:3], name if isinstance(row.g, DefaultGraph) else row.g) for row in statements]
    assert list(batch) == statements
    triples = batch_of([row[:3] for row in statements], 3)
    made = name_default_graph(triples, kind, name.value.encode())
    made.check()
    assert list(made) == [Quad(*row[:3], name) for row in statements]


def test_frames_and_places_stay() -> None:
    out = io.BytesIO()
    with jelly.Writer(out, format="jelly", frame_rows=8) as writer:
        for i in range(30):
            writer.add(jelly.Triple(IRI(f"a:{i}"), IRI("a:p"), IRI("a:o")))
    batches = list(jelly.scan(out.getvalue(), format="jelly", batch_rows=4).batches())
    assert len(batches) > 1
    for batch in batches:
        made = name_default_graph(batch, Kind.IRI, b"a:g")
        assert (made.frames.tolist(), made.first_row, made.first_frame) == (
            batch.frames.tolist(), batch.first_row, batch.first_frame
        )  # fmt: skip
        assert (made.arity, made.options) == (4, batch.options)


def test_what_is_no_name_is_refused() -> None:
    batch = batch_of([], 3)
    with pytest.raises(JellyArgumentError, match="an IRI or a blank node"):
        name_default_graph(batch, Kind.LITERAL, b"x")
