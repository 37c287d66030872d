"""Rooms encode, pack and encoder: what is written is read again, with tables of any size."""

from __future__ import annotations

import gc
import io
import pickle
import threading
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.statements import bnodes, generalized, iris, literals, quads, rdf, star

import jelly
from jelly import (
    IRI,
    BlankNode,
    Encoder,
    JellyOptionsError,
    Literal,
    LogicalType,
    PhysicalType,
    Quad,
    QuotedTriple,
    StreamOptions,
    Triple,
)
from jelly._core.base.batch import Batch
from jelly._core.terms.batch_builder import BatchBuilder, _make_batch
from jelly._core.terms.materialize import Materializer


def batch_of(statements: list, arity: int = 3) -> Batch:
    collector = BatchBuilder(arity)
    for statement in statements:
        collector.add(statement)
    return collector.batch


def encoded(
    statements: list, size: int = 10**6, arity: int = 3, options: StreamOptions | None = None, **settings: object
) -> bytes:
    """Statements as Jelly, in Batches of some size."""
    encoder = Encoder(options or StreamOptions(rdf_star=True, generalized_statements=True), **settings)
    parts = [encoder.encode(batch_of(statements[i : i + size], arity)) for i in range(0, len(statements), size)]
    return b"".join([*parts, encoder.close()])


def tables(names: int, prefixes: int, datatypes: int = 8, **changes: object) -> StreamOptions:
    return StreamOptions(
        max_name_table_size=names,
        max_prefix_table_size=prefixes,
        max_datatype_table_size=datatypes,
        rdf_star=True,
        generalized_statements=True,
        **changes,
    )


# Names for the 3 * 2**4 terms of a statement that the strategies make at most, and few prefixes.
sizes = st.builds(
    tables, st.sampled_from([64, 100, 4000]), st.sampled_from([0, 1, 2, 3, 8]), st.sampled_from([48, 200])
)
batches = st.sampled_from([1, 2, 7, 10**6])
frame_rows = st.sampled_from([0, 1, 2, 3, 256])


@given(st.lists(st.one_of(rdf, star, generalized), max_size=30), sizes, batches, frame_rows)
def test_triples_come_back(statements: list, options: StreamOptions, size: int, rows: int) -> None:
    data = encoded(statements, size, options=options, frame_rows=rows)
    assert jelly.loads(data) == statements


@given(
    st.lists(st.one_of(quads(rdf), quads(star), quads(generalized, st.one_of(iris, bnodes, literals))), max_size=30),
    sizes,
    batches,
    frame_rows,
    st.sampled_from([PhysicalType.QUADS, PhysicalType.GRAPHS]),
)
def test_quads_come_back(
    statements: list, options: StreamOptions, size: int, rows: int, physical: PhysicalType
) -> None:
    data = encoded(statements, size, 4, options.replace(physical_type=physical), frame_rows=rows)
    assert jelly.loads(data) == statements


@given(st.lists(quads(rdf), max_size=60), st.sampled_from([0, 1, 2, 8]), st.integers(0, 40))
def test_smallest_tables(statements: list, prefixes: int, size: int) -> None:
    # Four IRIs a statement and a datatype: eight names are always enough, whatever the prefixes.
    options = tables(8, prefixes, 1, physical_type=PhysicalType.QUADS)
    assert jelly.loads(encoded(statements, size + 1, 4, options)) == statements


@pytest.mark.parametrize("prefixes", [0, 1, 2, 3, 4, 8])
@pytest.mark.parametrize("n_graphs", [1, 3])
def test_four_prefixes_in_each_statement(prefixes: int, n_graphs: int) -> None:
    # An entry that the statement being written uses must not make way for another of it.
    statements = [
        Quad(
            IRI(f"http://s{i % 5}/{i}"),
            IRI(f"http://p{i % 3}/{i % 7}"),
            IRI(f"http://o{i % 11}/{i % 2}"),
            IRI(f"http://g{i % n_graphs}/x"),
        )
        for i in range(500)
    ]
    for physical in (PhysicalType.QUADS, PhysicalType.GRAPHS):
        data = encoded(statements, 100, 4, tables(8, prefixes, physical_type=physical))
        assert jelly.loads(data) == statements


def test_star_statements_with_more_iris_than_names() -> None:
    def deep(n: int) -> Triple:
        term: object = IRI("http://e/0")
        for i in range(n):
            term = QuotedTriple(term, IRI(f"http://p{i}/x{i}"), Literal("l"))
        return Triple(term, IRI("http://e/0"), Literal("l"))

    for n in range(1, 8):
        for prefixes in (0, 1, 2, 8):
            assert jelly.loads(encoded([deep(n)] * 3, 1, options=tables(8, prefixes))) == [deep(n)] * 3
    with pytest.raises(JellyOptionsError, match="more names than the name table holds"):
        encoded([deep(8)], options=tables(8, 8))


def test_a_shared_quoted_triple_is_never_repeated_inside() -> None:
    inner = QuotedTriple(IRI("a:s"), IRI("a:p"), IRI("a:o"))
    statements = [
        Triple(inner, IRI("a:p"), inner),
        Triple(inner, IRI("a:p"), inner),
        Triple(IRI("a:s"), IRI("a:p"), inner),
    ]
    for size in (1, 3):
        assert jelly.loads(encoded(statements, size)) == statements


def test_long_texts() -> None:
    statements = [
        Triple(IRI("http://e/" + "n" * n), IRI("p" * n + "#x"), Literal("l" * n, datatype="d" * n + "#d"))
        for n in (1, 127, 128, 129, 16383, 16384, 70_000, 1 << 20, 5, 1)
    ]
    assert jelly.loads(encoded(statements, 3)) == statements
    quoted = [Triple(QuotedTriple(*statement), IRI("a:p"), QuotedTriple(*statement)) for statement in statements]
    assert jelly.loads(encoded(quoted, 3)) == quoted


def test_text_that_looks_like_repetition() -> None:
    statements = [Triple(BlankNode(x), IRI("a:p"), Literal(y)) for x in "ab" for y in ("", "\0", "a", "a\0", "")]
    assert jelly.loads(encoded(statements, 1)) == statements


# ---- frames


def frames_of(data: bytes) -> list[int]:
    return [len(frame) for frame in jelly.scan(data).frames()]


ROWS = [Triple(BlankNode("s"), BlankNode("p"), Literal(str(i))) for i in range(10)]


def test_frames_end_by_rows_and_bytes() -> None:
    assert frames_of(encoded(ROWS, frame_rows=0)) == [10]
    assert frames_of(encoded(ROWS, frame_rows=1)) == [1] * 10
    assert frames_of(encoded(ROWS, frame_rows=4)) == [3, 4, 3]  # the options row counts
    assert frames_of(encoded(ROWS, frame_bytes=1)) == [1] * 10
    long = [Triple(BlankNode("s"), BlankNode("p"), Literal(str(i) * 100)) for i in range(10)]
    assert frames_of(encoded(long, frame_bytes=300)) == [2] * 5
    assert frames_of(encoded(long, frame_bytes=90)) == [1] * 10
    assert frames_of(encoded([])) == [0]


def test_grouped_frames_end_where_those_of_the_batch_do() -> None:
    options = StreamOptions(logical_type=LogicalType.GRAPHS, generalized_statements=True)
    collector = BatchBuilder(3)
    sizes = [0, 2, 0, 0, 3, 0]
    for size in sizes:
        for statement in ROWS[:size]:
            collector.add(statement)
        collector.end_frame({"n": b"%d" % size} if size else None)
    encoder = Encoder(options, frame_rows=1, frame_bytes=1)
    data = encoder.encode(collector.batch) + encoder.close()
    found = list(jelly.scan(data).frames())
    assert [len(frame) for frame in found] == sizes
    assert [frame.metadata for frame in found] == [{}, {"n": b"2"}, {}, {}, {"n": b"3"}, {}]
    # The same Batches in a flat stream: frames of its own.
    assert frames_of(encoded(ROWS[:5])) == [5]


@given(
    st.lists(st.lists(quads(generalized), max_size=6), min_size=1, max_size=6),
    st.sampled_from([PhysicalType.QUADS, PhysicalType.GRAPHS]),
    st.sampled_from([(8, 0), (8, 1), (8, 2), (128, 16)]),
    st.integers(1, 5),
)
def test_an_independent_frame_is_what_an_encoder_of_its_own_writes(
    groups: list, physical: PhysicalType, sizes: tuple[int, int], together: int
) -> None:
    options = tables(*sizes, physical_type=physical, version=2)

    def collected(some: list) -> Batch:
        collector = BatchBuilder(4)
        for group in some:
            if group:
                collector.namespace(f"n{len(group)}", "a:b")
            for statement in group:
                collector.add(statement)
            collector.end_frame({"n": b"%d" % len(group)} if len(group) % 2 else None)
        return collector.batch

    encoder = Encoder(options, frame_rows=0, frame_bytes=0, independent=True)
    try:
        expected = [Encoder(options, frame_rows=0).encode_frames(collected([group]), True) for group in groups]
    except JellyOptionsError:
        with pytest.raises(JellyOptionsError):  # a quoted triple with more names than the table has
            encoder.encode(collected(groups), True)
        return
    parts = [groups[i : i + together] for i in range(0, len(groups), together)]
    made = [encoder.encode_frames(collected(part), True) for part in parts]
    assert [frame for part in made for frame in part] == [frame for part in expected for frame in part]
    assert encoder.close() == b""


def test_independent_frames_are_joined_streams() -> None:
    encoder = Encoder(StreamOptions(generalized_statements=True), frame_rows=3, independent=True)
    data = encoder.encode(batch_of(ROWS)) + encoder.close()
    assert len(frames_of(data)) > 1
    assert list(jelly.read(data, joined=True)) == ROWS
    assert frames_of(encoded([], independent=True)) == [0]
    for settings in ({"delimited": False}, {"keyframe_rows": 1}):
        with pytest.raises(ValueError, match="independent"):
            Encoder(StreamOptions(), independent=True, **settings)


def test_bare() -> None:
    data = encoded(ROWS, 3, delimited=False)
    assert frames_of(data) == [10]
    reader = jelly.Reader(data)
    assert list(reader) == ROWS
    assert reader.delimited is False


def test_the_first_batch_settles_what_is_open() -> None:
    encoder = Encoder(StreamOptions())
    assert encoder.options.physical_type == PhysicalType.UNSPECIFIED
    encoder.encode(batch_of([Quad(*ROWS[0][::2], ROWS[0].o, IRI("a:g"))][:0], 4))
    assert encoder.options.physical_type == PhysicalType.QUADS
    assert encoder.options.version == 1
    collector = BatchBuilder(3)
    collector.namespace("e", "http://e/")
    encoder = Encoder(StreamOptions())
    encoder.encode(collector.batch)
    assert (encoder.options.physical_type, encoder.options.version) == (PhysicalType.TRIPLES, 2)


def test_triples_of_a_batch_of_quads() -> None:
    triples = [Triple(IRI("a:s"), IRI("a:p"), Literal(str(i))) for i in range(3)]
    data = encoded(triples, arity=4, options=StreamOptions(physical_type=PhysicalType.TRIPLES))
    assert jelly.loads(data) == triples
    quads_ = jelly.loads(encoded(triples, arity=3, options=StreamOptions(physical_type=PhysicalType.QUADS)))
    assert quads_ == [Quad(*triple) for triple in triples]
    # A stream of graphs of a Batch of triples: all in the default graph.
    assert jelly.loads(encoded(triples, options=StreamOptions(physical_type=PhysicalType.GRAPHS))) == quads_


# ---- states of an Encoder


def test_a_failed_encoder_stays_failed() -> None:
    encoder = Encoder(StreamOptions())
    bad = batch_of([Triple(IRI("a:s"), BlankNode("p"), IRI("a:o"))])
    errors = []
    for call in (lambda: encoder.encode(bad), lambda: encoder.encode(batch_of([])), encoder.close):
        with pytest.raises(JellyOptionsError, match="a blank node as predicate") as caught:
            call()
        errors.append(caught.value)
    assert len(set(map(id, errors))) == 1


def test_the_row_of_an_error_counts_all_batches() -> None:
    encoder = Encoder(StreamOptions())
    good = [Triple(IRI("a:s"), IRI("a:p"), IRI("a:o"))] * 3
    encoder.encode(batch_of(good))
    with pytest.raises(JellyOptionsError) as caught:
        encoder.encode(batch_of([*good, Triple(IRI("a:s"), BlankNode("p"), IRI("a:o"))]))
    assert caught.value.row == 6


def test_settings() -> None:
    for wrong in ({"frame_rows": -1}, {"frame_bytes": -1}, {"keyframe_rows": -1}):
        with pytest.raises(ValueError, match="negative"):
            Encoder(StreamOptions(), **wrong)
    with pytest.raises(TypeError):
        Encoder(StreamOptions()).encode(None)
    with pytest.raises(TypeError):
        pickle.dumps(Encoder(StreamOptions()))
    encoder = Encoder(StreamOptions(logical_type=LogicalType.FLAT_QUADS))
    encoder.encode(_make_batch(3))
    assert encoder.options.physical_type == PhysicalType.QUADS


def test_a_busy_encoder_refuses() -> None:
    n = 2_000_000
    (batch,) = jelly.scan(
        encoded([Triple(BlankNode("s"), IRI("a:p"), Literal(str(i))) for i in range(2)]),
    ).batches()
    many = _make_batch(3, [(1, -1, b"a:p"), (1, -1, b"a:q")], [(0, 0, i & 1) for i in range(n)])
    for _ in range(10):
        encoder = Encoder(StreamOptions())
        thread = threading.Thread(target=encoder.encode, args=(many,))
        refused = 0
        thread.start()
        while thread.is_alive():
            try:
                encoder.encode(batch)
            except RuntimeError:
                refused += 1
            except JellyOptionsError:
                pytest.fail("it went in")
        thread.join()
        if refused:
            return
    pytest.fail("never refused")


def test_batches_of_a_decoder_go_into_an_encoder() -> None:
    statements = [
        Triple(IRI(f"http://e/{i % 50}"), IRI(f"http://p/{i % 3}"), Literal(str(i % 20), language="en"))
        for i in range(1000)
    ]
    data = encoded(statements, 100)
    encoder = Encoder(StreamOptions())
    out = io.BytesIO()
    for batch in jelly.scan(data, batch_rows=37).batches():
        batch.check()
        out.write(encoder.encode(batch))
    out.write(encoder.close())
    assert jelly.loads(out.getvalue()) == statements
    assert encoder.statements == 1000


def test_terms_are_shared_within_a_batch() -> None:
    statements = [Triple(IRI("a:s"), IRI("a:p"), Literal("x"))] * 3
    (batch,) = jelly.scan(encoded(statements)).batches()
    terms = Materializer(batch)
    first, *others = terms.statements()
    for other in others:
        assert other.s is first.s
        assert other.p is first.p
    assert terms.term(int(batch.s[0])) is first.s


def test_a_failed_encoder_in_a_circle_is_freed() -> None:
    def fail() -> None:
        circle = Encoder(StreamOptions())
        statements = [Triple(IRI(f"a:{i}"), IRI(f"b:{i}"), Literal("x", datatype=f"d:{i}")) for i in range(20)]
        circle.encode(batch_of(statements))
        with pytest.raises(JellyOptionsError) as caught:
            circle.encode(batch_of([Triple(IRI("a:s"), BlankNode("p"), IRI("a:o"))]))
        held.append(weakref.ref(caught.value))
        circle = [circle, caught]  # noqa: F841

    held: list[weakref.ref] = []
    for _ in range(50):
        fail()
    gc.collect()
    assert not any(ref() for ref in held)


def test_small_messages_do_not_know_of_each_other() -> None:
    def message(n: int, graph: bool) -> list[jelly.Triple | jelly.Quad]:
        terms = [
            (
                jelly.IRI(f"http://example.org/{n % 5}/{i}"),
                jelly.IRI(f"a:p{i}"),
                jelly.Literal("x" * 99 * i, language="en"),
            )
            for i in range(n)
        ]
        return [jelly.Quad(*each, jelly.IRI("a:g")) if graph else jelly.Triple(*each) for each in terms]

    messages = [message(n, graph) for n in (3, 0, 1, 26, 60, 26, 65, 300, 2) for graph in (False, True)]
    for delimited in (True, False):
        first = [jelly.dumps(iter(each), {"version": 1}, delimited=delimited) for each in messages]
        for _ in range(3):
            assert [jelly.dumps(each, delimited=delimited) for each in messages] == first
            with pytest.raises(jelly.JellyError):
                jelly.dumps([*messages[6], (1, 2, 3)], delimited=delimited)
            star = jelly.Triple(jelly.QuotedTriple(*messages[0][0]), *messages[0][0][1:])
            assert jelly.loads(jelly.dumps([star], delimited=delimited)) == [star]


def test_a_short_list_of_long_texts_is_written_in_parts() -> None:
    statements = [jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal(str(n) * (7 << 20))) for n in range(6)]
    assert jelly.dumps(statements) == jelly.dumps(iter(statements))
    assert jelly.loads(jelly.dumps(statements)) == statements
    assert jelly.loads(jelly.dumps(each for each in statements[:2])) == statements[:2]
