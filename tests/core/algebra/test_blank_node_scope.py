"""Blank nodes behind the scope of their source, or as IRIs: no two become one, and nothing else changes."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.statements import generalized, quads

import jelly
from jelly import IRI, BlankNode, JellyArgumentError, Literal, Quad, QuotedTriple, Triple
from jelly._core.algebra.blank_node_scope import scope_blank_nodes
from jelly._core.base.batch import Batch
from jelly._core.terms.batch_builder import BatchBuilder, ResultBatchBuilder
from jelly.patch import Add, AddNamespace, Delete, Header, Patch

ONE, TWO = b"jf0000000000000abc_", b"jf1111111111111111_"
GENID = b"https://example.org/.well-known/genid/"


def batch_of(statements: list[Any], arity: int = 4) -> Batch:
    builder = BatchBuilder(arity)
    for statement in statements:
        builder.add(statement)
    return builder.batch


def scoped(label: str, scope: bytes = ONE) -> str:
    """The label that a label should get, said in another way."""
    has = re.match("(jf[0-9a-f]{16}_)", label)
    return label if has and has[1] != scope.decode() else scope.decode() + label


def changed(term: Any, change: Any) -> Any:
    if isinstance(term, QuotedTriple):
        return QuotedTriple(*(changed(part, change) for part in (term.s, term.p, term.o)))
    return change(term.value) if isinstance(term, BlankNode) else term


def as_iri(label: str) -> IRI:
    kept = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    escaped = (chr(byte) if chr(byte) in kept else f"%{byte:02X}" for byte in scoped(label).encode())
    return IRI(GENID.decode() + "".join(escaped))


@given(st.lists(quads(generalized), max_size=12))
@example([Quad(BlankNode("x"), IRI("a:p"), QuotedTriple(BlankNode("x"), IRI("a:p"), BlankNode("")), BlankNode("g"))])
def test_labels_change_and_nothing_else(statements: list[Quad]) -> None:
    batch = batch_of(statements)
    made = scope_blank_nodes(batch, ONE)
    made.check()
    assert list(made) == [Quad(*(changed(x, lambda n: BlankNode(scoped(n))) for x in row)) for row in statements]
    iris = scope_blank_nodes(batch, ONE, GENID)
    iris.check()
    assert list(iris) == [Quad(*(changed(x, as_iri) for x in row)) for row in statements]
    assert list(batch) == statements


LABELS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4) | st.sampled_from([
    "b0", "%20", " ", "\u00e4", "..", ONE.decode(), TWO.decode(), (ONE + ONE).decode(), (ONE + TWO).decode(),
    (TWO + ONE).decode(), ONE.decode() + "b0", (ONE + ONE).decode() + "b0", TWO.decode() + "b0", ONE.decode()[:-1],
    "jf0000000000000ABC_b0", "jf0000000000000abc-b0",
])  # fmt: skip


@given(st.sets(LABELS), st.sampled_from([None, GENID]))
def test_no_two_nodes_become_one(labels: set[str], genid: bytes | None) -> None:
    batch = batch_of([Triple(BlankNode(label), IRI("a:p"), IRI("a:o")) for label in labels], 3)
    made = [str(row.s) for row in scope_blank_nodes(batch, ONE, genid)]
    assert len(set(made)) == len(labels)
    again = scope_blank_nodes(scope_blank_nodes(batch, ONE), TWO, genid)
    assert len({str(row.s) for row in again}) == len(labels)
    if genid is not None:
        assert all(re.fullmatch(r"<https://example\.org/\.well-known/genid/([\w.~-]|%[0-9A-F]{2})+>", x) for x in made)


def test_two_sources_and_a_second_round() -> None:
    batch = batch_of([Triple(BlankNode("b0"), IRI("a:p"), BlankNode("b1"))], 3)
    one, two = scope_blank_nodes(batch, ONE), scope_blank_nodes(batch, TWO)
    assert not {term for row in one for term in (row.s, row.o)} & {term for row in two for term in (row.s, row.o)}
    # What was written with labels of its source and is read as another source has the same nodes.
    assert list(scope_blank_nodes(one, TWO)) == list(one)
    assert list(scope_blank_nodes(one, TWO, GENID)) == list(scope_blank_nodes(batch, ONE, GENID))


def test_what_a_batch_has_stays() -> None:
    text = b'_:x <a:p> "x"@en .\n' * 3
    out = io.BytesIO()
    jelly.write(out, jelly.read(text, format="nt"), format="jelly", frame_rows=2)
    batches = list(jelly.scan(out.getvalue(), format="jelly", batch_rows=1).batches())
    assert len(batches) > 1
    for batch in batches:
        made = scope_blank_nodes(batch, ONE)
        assert (made.first_row, made.first_frame, made.options) == (batch.first_row, batch.first_frame, batch.options)
        assert made.frames.tolist() == batch.frames.tolist()
        assert np.array_equal(made.s, batch.s)
    plain = batch_of([Triple(IRI("a:s"), IRI("a:p"), Literal("_:x"))], 3)
    assert scope_blank_nodes(plain, ONE) is plain
    empty = batch_of([], 3)
    assert scope_blank_nodes(empty, ONE) is empty


def test_results_and_patches() -> None:
    builder = ResultBatchBuilder(("x", "y"))
    builder.extend(iter([(BlankNode("b"), None), (None, Literal("b"))]), 1 << 20)
    made = scope_blank_nodes(builder.batch, ONE)
    made.check()
    assert made.variables == ("x", "y")
    assert list(made) == [(BlankNode(scoped("b")), None), (None, Literal("b"))]
    rows = [Quad(BlankNode("b"), IRI("a:p"), IRI("a:o"), None), Quad(BlankNode("c"), IRI("a:p"), IRI("a:o"), None)]
    [batch] = Patch([Header("id", BlankNode("h")), AddNamespace("a", "a:"), Add(rows[0]), Delete(rows[1])]).batches()
    made = scope_blank_nodes(batch, ONE)
    made.check()
    assert made.op.tolist() == batch.op.tolist()
    labels = [f"_:{scoped(label)}" for label in "hbc"]
    assert [term for term in map(made.term, range(made.n_terms)) if term.startswith("_:")] == labels


@pytest.mark.parametrize("scope", [b"", b"x", ONE[:-1], ONE + b"_", ONE.upper(), b"xx" + ONE[2:], ONE[:-1] + b"-"])
def test_a_wrong_scope_is_refused(scope: bytes) -> None:
    with pytest.raises(JellyArgumentError, match="expected jf, 16 hexadecimal digits and _"):
        scope_blank_nodes(batch_of([], 3), scope)
