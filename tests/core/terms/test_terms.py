"""Room terms: objects out of Batches, and Batches out of objects."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

import jelly
from jelly import IRI, BlankNode, JellyFormatError, JellyLimitError, Literal, Quad, QuotedTriple, Triple
from jelly._core.terms.batch_builder import BatchBuilder, _make_batch
from jelly._core.terms.materialize import Materializer, StatementIterator

SOME = [
    Quad(IRI("a:s"), IRI("a:p"), Literal("o"), IRI("a:g")),
    Quad(BlankNode("b"), IRI("a:p"), Literal("chat", language="fr")),
    Quad(
        QuotedTriple(IRI("a:s"), IRI("a:p"), Literal("1", datatype="a:d")), IRI("a:p"), BlankNode("b"), BlankNode("g")
    ),
]


def test_what_the_collector_makes() -> None:
    collector = BatchBuilder(4)
    for statement in SOME * 2:
        collector.add(statement)
    collector.namespace("x", "a:x")
    collector.end_frame({"k": b"v"})
    collector.batch.check()
    assert Materializer(collector.batch).statements() == SOME * 2
    collector.clear()
    assert len(collector) == 0
    collector.batch.check()
    collector.add(SOME[0])
    assert Materializer(collector.batch).statements() == SOME[:1]


@pytest.mark.parametrize("wrong", [None, 1, (), (IRI("a:s"),), (IRI("a:s"),) * 5])
def test_collector_refuses_what_is_no_statement(wrong: object) -> None:
    with pytest.raises((TypeError, ValueError), match="statement"):
        BatchBuilder(3).add(wrong)


@pytest.mark.parametrize("wrong", [None, "a:s", 1, jelly.DefaultGraph(), Triple(*SOME[0][:3]), IRI])
def test_collector_refuses_what_is_no_term(wrong: object) -> None:
    for slot in range(3):
        terms = [IRI("a:x")] * 3
        terms[slot] = wrong
        with pytest.raises(TypeError, match="RDF term"):
            BatchBuilder(3).add(tuple(terms))
    with pytest.raises(ValueError, match="3 or 4"):
        BatchBuilder(5)


def test_collector_refuses_lone_surrogates() -> None:
    with pytest.raises(JellyFormatError, match=r"the literal '\\ud800' holds U\+D800"):
        BatchBuilder(3).add((IRI("a:s"), IRI("a:p"), Literal("\ud800")))


def test_collector_refuses_named_graphs_among_triples() -> None:
    with pytest.raises(ValueError, match="cannot go into a stream of triples"):
        BatchBuilder(3).add(SOME[0])
    collector = BatchBuilder(3)
    collector.add(SOME[1])  # the default graph is fine
    assert len(collector.batch) == 1


def test_much_text_fills_a_batch() -> None:
    # Else a few thousand long literals would be in memory at once before anything is written.
    collector = BatchBuilder(3)
    statements = [Triple(IRI("a:s"), IRI("a:p"), Literal(str(i) * (1 << 20))) for i in range(10, 30)]
    assert collector.add(statements[0]) == 1
    iterator = iter(statements[1:])
    assert collector.extend(iterator, 8192)
    assert len(collector.batch) < 10
    assert collector.add(statements[0]) > 8192


def test_collected_text_limit() -> None:
    collector = BatchBuilder(3)
    many = ((IRI("a:s"), IRI("a:p"), Literal("x" * (1 << 20) + str(i))) for i in range(2000))
    with pytest.raises(JellyLimitError, match="text of one batch"):
        list(map(collector.add, many))


# ---- Batch to objects


def test_terms_are_made_once() -> None:
    (batch,) = jelly.scan(jelly.dumps(SOME)).batches()
    terms = Materializer(batch)
    for i in range(batch.n_terms):
        assert terms.term(i) is terms.term(i)
    assert terms.statements() == SOME
    assert terms.statements(1, 2) == SOME[1:2]
    assert terms.statements(3) == []
    assert terms.statements(0, 0) == []


def test_terms_outlive_their_batch() -> None:
    (batch,) = jelly.scan(jelly.dumps(SOME)).batches()
    terms = Materializer(batch)
    statements = terms.statements()
    del batch, terms
    assert statements == SOME


def test_a_batch_that_nests_too_deep() -> None:
    terms = [(1, -1, b"a:x"), *((6, i, b"") for i in range(100))]
    batch = _make_batch(3, terms, [(100, 0, 0)], [(i, 0, 0) for i in range(100)])
    with pytest.raises(JellyLimitError, match="deeper than 64"):
        Materializer(batch).statements()
    assert str(Materializer(batch).term(64)).count("<<") == 64


def test_statements_one_by_one() -> None:
    def batches() -> Iterator[jelly.Batch]:
        yield _make_batch(3)
        yield _make_batch(3, [(1, -1, b"a:x")], [(0, 0, 0)] * 2)
        yield _make_batch(3)
        yield _make_batch(4, [(1, -1, b"a:y")], [(0, 0, 0, -1)])
        yield _make_batch(4)

    x, y = IRI("a:x"), IRI("a:y")
    iterator = StatementIterator(batches())
    assert iter(iterator) is iterator
    assert list(iterator) == [Triple(x, x, x), Triple(x, x, x), Quad(y, y, y)]
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(iterator)


def test_an_error_comes_after_what_was_before_it() -> None:
    def batches() -> Iterator[jelly.Batch]:
        yield _make_batch(3, [(1, -1, b"a:x")], [(0, 0, 0)])
        raise OSError("gone")

    iterator = StatementIterator(batches())
    next(iterator)
    with pytest.raises(OSError, match="gone"):
        next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)
    with pytest.raises(TypeError):
        next(StatementIterator([1]))


def test_close_gives_the_source_back() -> None:
    closed = []

    def batches() -> Iterator[jelly.Batch]:
        try:
            yield _make_batch(3, [(1, -1, b"a:x")], [(0, 0, 0)] * 2)
        finally:
            closed.append(True)

    iterator = StatementIterator(batches())
    next(iterator)
    iterator.close()
    assert closed == [True]
    with pytest.raises(StopIteration):
        next(iterator)


def test_a_statement_that_somebody_has_is_not_filled_again() -> None:
    triples = [Triple(IRI(f"a:{n}"), IRI("a:p"), Literal(str(n))) for n in range(9)]
    quads = [Quad(IRI(f"a:{n}"), IRI("a:p"), Literal("x" * n), None if n % 3 else IRI(f"a:g{n}")) for n in range(9)]
    data = jelly.dumps(triples) + jelly.dumps(quads) + jelly.dumps(triples)
    expected = [*triples, *quads, *triples]
    for step in range(1, 5):
        read = jelly.read(data, joined=True)
        kept = [statement for n, statement in enumerate(read) if n % step == 0]
        assert kept == expected[::step]
        assert len({id(statement) for statement in kept}) == len(kept)
    assert [tuple(statement) for statement in jelly.read(data, joined=True)] == [tuple(each) for each in expected]


@pytest.mark.parametrize("format", ["jelly", "nt", "thrift"])
def test_statements_that_are_kept_share_terms_of_larger_batches(format: str) -> None:
    out = io.BytesIO()
    jelly.write(out, (Triple(IRI(f"a:{i}"), IRI("a:p"), Literal("o")) for i in range(20_000)), format=format)
    data = out.getvalue()

    def predicates(statements: list[Triple]) -> int:
        return len({id(statement.p) for statement in statements})

    kept = list(jelly.read(data, format=format))
    assert [int(s.value[2:]) for s, _, _ in kept] == list(range(20_000))
    # 4,096 rows, and all others; RDF Thrift has no larger Batches.
    assert predicates(kept) == (5 if format == "thrift" else 2)
    assert predicates(list(jelly.read(data, format=format, batch_rows=1000))) == 20
    # Terms alone are kept.
    assert len({id(p) for p in [p for _, p, _ in jelly.read(data, format=format)]}) == 5


def test_a_term_that_somebody_has_is_not_filled_again() -> None:
    """Terms that nobody has when their Batch goes are those of the next Batches."""
    terms = [
        [IRI(f"a:{n}"), BlankNode(f"b{n}"), Literal(f"{n}"), Literal(f"{n}", language="en", direction="ltr"),
         Literal(f"{n}", language="de"), Literal(f"{n}", datatype=IRI(f"a:t{n}"))]
        for n in range(500)
    ]  # fmt: skip
    statements = [Triple(IRI("a:s"), IRI("a:p"), term) for each in terms for term in each]
    data = jelly.dumps(statements)
    for step in (1, 2, 3, 7):
        for _ in range(3):
            kept = [s.o for n, s in enumerate(jelly.read(data, batch_rows=64)) if n % step == 0]
            assert kept == [statement.o for statement in statements[::step]]
            assert len({id(term) for term in kept}) == len(kept)
            for term, statement in zip(kept, statements[::step], strict=True):
                assert repr(term) == repr(statement.o)
            del kept[::2]


def test_fields_are_read_where_they_are() -> None:
    term = Literal("a", language="en", direction="ltr")
    quad = Quad(IRI("a:s"), IRI("a:p"), term, IRI("a:g"))
    assert (quad.subject, quad.predicate, quad.object, quad.graph) == (quad.s, quad.p, quad.o, quad.g) == tuple(quad)
    assert (term.value, term.language, term.direction) == ("a", "en", "ltr")
    assert Literal("a").language is None
    for thing, name in ((quad, "s"), (quad, "graph"), (term, "value"), (quad.s, "value"), (term, "lex")):
        with pytest.raises(AttributeError):
            setattr(thing, name, None)
        with pytest.raises(AttributeError):
            delattr(thing, name)
