"""Quoted triples that share their parts end soon and in little memory, in each function: with a result or an error."""

from __future__ import annotations

import copy
import io
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chance import LONG
from support.measure import SANITIZED, run
from support.sharing import SHAPES, apart, braided, built, doubled, options
from support.statements import anything, quoted

import jelly
from jelly import IRI, JellyLimitError, Literal, QuotedTriple, Triple
from jelly._core.algebra.dictionary import term_ranks
from jelly._core.jena.writer import BinaryWriter
from jelly._core.ntriples.text import TextWriter

S, P = IRI("a:s"), IRI("a:p")
MB = 1 << 20
# One of each kind: in each position, of labels, and the one that no function refuses.
QUICK = ("subjects", "predicates", "graphs", "of blank nodes", "small enough")
LIMIT = "a quoted triple would take more than 4194304 bytes written out"


@pytest.mark.parametrize("shape", SHAPES)
def test_every_function_ends(shape: str) -> None:
    pytest.importorskip("pyoxigraph")  # of all functions, some need it
    if SANITIZED and shape not in ("subjects", "small enough"):
        pytest.skip("two shapes with the sanitizers, which take ten times as long")
    if not LONG and shape not in QUICK:
        pytest.skip("all shapes take a minute and a half: JELLY_LONG=1")
    done = run("-m", "support.sharing", shape)
    assert done.returncode == 0, (done.stdout[-300:], done.stderr[-2000:])
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) > 200
    slow = [row for row in rows if (row[1] > 5 or row[2] > 300 * MB) and not SANITIZED]
    assert slow == []
    if shape == "small enough":
        assert not [row for row in rows if "written out" in row[3]]
    else:
        assert [row for row in rows if "written out" in row[3]]


WRITERS = {
    "jelly": options(generalized_statements=True),
    "nt": lambda batch: TextWriter(quads=False).encode(batch),
    "thrift": lambda batch: BinaryWriter("thrift").encode(batch),
    "protobuf": lambda batch: BinaryWriter("protobuf").encode(batch),
    "str": lambda batch: str(batch.statements()[0].s),
    "repr": lambda batch: repr(batch.statements()),
    "term": lambda batch: batch.term(int(batch.s[0])),
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_too_long_is_refused_and_the_limit_named(name: str) -> None:
    deepest = 0
    for depth in range(10, 30):
        try:
            WRITERS[name](built([(doubled(S, depth), P, S)]))
        except JellyLimitError as error:
            assert error.reason.startswith(LIMIT)  # noqa: PT017
            break
        deepest = depth
    assert 17 <= deepest <= 20
    # A long text that stands in it once is no such repetition.
    long = QuotedTriple(S, P, Literal("x" * (5 << 20)))
    assert len(WRITERS[name](built([(long, P, S)]))) > 5 << 20


@pytest.mark.parametrize("name", ["jelly", "nt", "thrift", "protobuf"])
def test_what_is_written_is_read_again(name: str) -> None:
    rows = [(doubled(S, 9), P, doubled(P, 9)), (braided(S, 8), P, braided(S, 8)), (doubled(S, 9), P, doubled(S, 9))]
    for make in (built, apart):
        batch = make(rows)
        data = WRITERS[name](batch)
        assert list(jelly.read(data, format=name))[: len(rows)] == rows


@given(quoted, quoted)
def test_order_and_equality_are_those_of_trees(x: QuotedTriple, y: QuotedTriple) -> None:
    def tree(term: object) -> tuple[object, ...]:
        if not isinstance(term, QuotedTriple):
            return type(term).__name__, term
        return "triple", tree(term.s), tree(term.p), tree(term.o)

    for depth in (0, 3, 6):
        one, other, again = doubled(x, depth), doubled(y, depth), doubled(pickle.loads(pickle.dumps(x)), depth)
        assert (one == other) == (tree(x) == tree(y))
        assert one == again
        assert hash(one) == hash(again)
        assert copy.deepcopy(one) == one
        assert (one < other) == (x < y)
        assert (one <= other) == (x <= y)
        batch = built([(one, P, other), (again, P, S)])
        ranks, _ = term_ranks(batch, batch.kind < 7)
        assert (ranks[batch.s[0]] < ranks[batch.o[0]]) == (x < y)
        assert ranks[batch.s[0]] == ranks[batch.s[1]]


@given(st.lists(st.builds(Triple, anything, anything, anything), max_size=8))
def test_ranks_are_the_order_of_terms(statements: list[Triple]) -> None:
    batch = apart([tuple(row) for row in statements if not any(_text(term) for term in row)] or [(S, P, S)])
    ranks, _ = term_ranks(batch, batch.kind < 7)
    terms = batch.terms()
    for i, x in enumerate(terms):
        for j, y in enumerate(terms):
            assert (ranks[i] < ranks[j]) == (x < y)


def _text(term: object) -> bool:
    """Whether a literal has a language or datatype, which `apart` leaves out."""
    if isinstance(term, QuotedTriple):
        return any(map(_text, term))
    return isinstance(term, Literal) and str(term.datatype) != "<http://www.w3.org/2001/XMLSchema#string>"


def test_many_rows_of_one_term_are_written_once() -> None:
    term = doubled(S, 12)
    one, many = (jelly.dumps([(S, P, term)] * n, options={"rdf_star": True}) for n in (1, 1000))
    assert len(many) - len(one) < 5000
    out = io.BytesIO()
    jelly.write(out, [(S, P, term)] * 3, format="nt")
    assert list(jelly.read(out.getvalue(), format="nt")) == [(S, P, term)] * 3
