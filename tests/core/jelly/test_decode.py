"""Rooms decode and decoder: the same statements however the bytes come, and what a Decoder refuses."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from support.craft import (
    BNODE,
    DEFAULT_GRAPH,
    GRAPH_LITERAL,
    GRAPHS,
    IRI,
    LITERAL,
    QUADS,
    QUOTED,
    datatype,
    field,
    frame,
    graph_end,
    graph_start,
    iri,
    literal,
    metadata,
    name,
    namespace,
    options,
    prefix,
    quad,
    quoted,
    row,
    terms,
    triple,
    varint,
)

import jelly
from jelly import Decoder, JellyFormatError, JellyLimitError, JellyTruncatedError
from jelly._core.terms.materialize import Materializer
from jelly.errors import JoinedWarning, OptionsWarning

EVERYTHING = (
    frame()
    + frame(
        options(QUADS, 2, version=2, name=b"all"),
        prefix("http://e/"),
        name("a"),
        name("b"),
        datatype("a:d"),
        namespace("e", iri(1, 1)),
        quad((IRI, iri(1, 1)), (IRI, iri(2)), (LITERAL, literal("l")), (DEFAULT_GRAPH, b"")),
        quad(None, None, (LITERAL, literal("l", "en")), None),
        quad(None, None, (LITERAL, literal("1", None, 1)), (BNODE, b"g")),
        metadata("k", b"v"),
    )
    + frame()
    + frame(
        quad((QUOTED, quoted(3)), None, (BNODE, "b\u00e4".encode()), (GRAPH_LITERAL, literal("graph"))),
        quad(None, None, None, None),
        prefix("http://f/", 1),
        quad((IRI, iri(1)), None, None, (IRI, iri(2))),
        metadata("k", b"w"),
        metadata("", b""),
    )
    + frame(options(QUADS, 2, version=2, name=b"all"), quad(None, None, (IRI, iri(1)), None))
)


def described(batches: Iterator[jelly.Batch]) -> tuple[list[str], list[int], dict, list]:
    """Statements, ends of frames, metadata and namespaces of a stream, whatever its Batches are."""
    statements: list[str] = []
    frames: list[int] = []
    notes: dict[tuple[int, str], bytes] = {}
    spaces: list[tuple[int, int, str, str]] = []
    for batch in batches:
        batch.check()
        assert batch.first_row == len(statements)
        assert batch.first_frame == len(frames)
        notes |= {(len(frames) + i, key): value for i, found in batch.metadata.items() for key, value in found.items()}
        spaces += [(len(statements) + row, len(frames) + i, *pair) for row, i, *pair in batch.namespaces]
        frames += [len(statements) + end for end in batch.frames.tolist()]
        statements += map(str, Materializer(batch).statements())
    return statements, frames, notes, spaces


def chunked(chunks: list[bytes], flush: bool = True, **settings: object) -> Iterator[jelly.Batch]:
    decoder = Decoder(**settings)
    for chunk in chunks:
        decoder.push(chunk)
        while (batch := decoder.pull(flush)) is not None:
            yield batch
    yield from decoder.close()


WHOLE = described(chunked([EVERYTHING]))


def test_everything() -> None:
    statements, frames, notes, spaces = WHOLE
    inner = "<< << << _:s _:p _:o >> _:p _:o >> _:p _:o >>"
    assert statements == [
        '<http://e/a> <http://e/b> "l" .',
        '<http://e/a> <http://e/b> "l"@en .',
        '<http://e/a> <http://e/b> "1"^^<a:d> _:g .',
        f'{inner} <http://e/b> _:b\u00e4 "graph" .',
        f'{inner} <http://e/b> _:b\u00e4 "graph" .',
        "<http://f/a> <http://e/b> _:b\u00e4 <http://f/b> .",
        "<http://f/a> <http://e/b> <http://f/a> <http://f/b> .",
    ]
    assert frames == [0, 3, 3, 6, 7]
    assert notes == {(1, "k"): b"v", (3, "k"): b"w", (3, ""): b""}
    assert spaces == [(0, 1, "e", "http://e/a")]


@pytest.mark.parametrize("flush", [True, False])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
def test_chunks_of_any_size(size: int, flush: bool) -> None:
    chunks = [EVERYTHING[i : i + size] for i in range(0, len(EVERYTHING), size)]
    assert described(chunked(chunks, flush)) == WHOLE


def test_split_at_every_byte() -> None:
    for cut in range(len(EVERYTHING) + 1):
        assert described(chunked([EVERYTHING[:cut], EVERYTHING[cut:]])) == WHOLE


@pytest.mark.parametrize("size", [1, 3, 10**6])
@pytest.mark.parametrize(
    "settings", [{"batch_rows": n} for n in range(1, 9)] + [{"batch_bytes": n} for n in (1, 5, 30, 60)]
)
def test_batches_of_any_size(settings: dict, size: int) -> None:
    chunks = [EVERYTHING[i : i + size] for i in range(0, len(EVERYTHING), size)]
    assert described(chunked(chunks, **settings)) == WHOLE
    for batch in chunked(chunks, **settings):
        assert len(batch) <= settings.get("batch_rows", 10**6)


def test_bare() -> None:
    body = b"".join([options(), name("a"), triple(o=(IRI, b"")), triple(o=None), metadata("k", b"v")])
    expected = described(chunked([frame(body)]))
    for settings in ({}, {"delimited": False}):
        assert described(chunked([body], **settings)) == expected
        for cut in range(len(body)):
            assert described(chunked([body[:cut], body[cut:]], **settings)) == expected


def test_graphs() -> None:
    data = frame(
        options(GRAPHS), graph_start((DEFAULT_GRAPH, b"")), triple(), graph_end(), graph_start(), triple(o=None)
    )
    data += frame(triple(o=(BNODE, b"x")), graph_end(), graph_start((BNODE, b"empty")), graph_end())
    data += frame(graph_start((GRAPH_LITERAL, literal("l"))), triple(s=None))
    for rows in range(1, 5):
        statements, frames, _, _ = described(chunked([data], batch_rows=rows))
        assert statements == [
            "_:s _:p _:o .",
            "_:s _:p _:o _:g .",
            "_:s _:p _:x _:g .",
            '_:s _:p _:o "l" .',
        ]
        assert frames == [2, 3, 4]


def test_unknown_fields_are_ignored_everywhere() -> None:
    extra = (
        field(100, b"x") + field(101, 2**63 - 1) + varint(102 << 3 | 1) + b"12345678" + varint(103 << 3 | 5) + b"1234"
    )
    extra += varint(104 << 3) + b"\xff" * 9 + b"\x01"
    body = terms((IRI, iri(1, 1) + extra), (BNODE, b"p"), (LITERAL, literal("l", None, 1) + extra)) + extra
    known = [(2, 1), (3, 1), (4, 1), (9, 16), (10, 8), (11, 8), (15, 2)]
    rows = [
        row(1, *(field(*pair) for pair in known), extra),
        row(9, field(2, "n"), extra),
        row(10, extra, field(2, "p")),
        row(11, field(2, "d"), extra),
        row(6, field(1, "x"), extra, field(2, iri(1, 1) + extra)),
        row(2, body),
        field(1, field(2, body) + extra),
        extra,
        field(15, field(1, "k") + extra + field(2, b"v")),
    ]
    statements, _, notes, spaces = described(chunked([frame(*rows)]))
    assert statements == ['<pn> _:p "l"^^<d> .'] * 2
    assert notes == {(0, "k"): b"v"}
    assert spaces == [(0, 0, "x", "pn")]


def test_wrong_wire_types_are_unknown_fields() -> None:
    # As protobuf has it: a known number with another type is a field that nobody knows.
    varint_row = field(1, 5)  # a field of the frame, not a row
    fixed_term = varint(1 << 3 | 5) + b"abcd"
    data = frame(
        options(), varint_row, row(2, fixed_term, terms((BNODE, b"s"), (BNODE, b"p"), (BNODE, b"o")), fixed_term)
    )
    assert described(chunked([data]))[0] == ["_:s _:p _:o ."]
    with pytest.raises(JellyFormatError, match="subject is left out"):
        jelly.loads(frame(options(), row(2, varint(1 << 3 | 5) + b"abcd")))


def test_strings_set_twice_count_once() -> None:
    data = frame(
        options(),
        row(9, field(2, "a"), field(2, "b")),
        triple(o=(LITERAL, field(1, "x") + field(1, "y"))),
        triple(o=(IRI, iri(1))),
    )
    assert described(chunked([data]))[0] == ['_:s _:p "y" .', "_:s _:p <b> ."]


def test_an_empty_language_is_refused() -> None:
    # The field is there, so the literal is one with a language (a oneof of protobuf), and no tag is empty (RFC 5646).
    with pytest.raises(JellyFormatError, match="empty language tag") as error:
        jelly.loads(frame(options(), triple(o=(LITERAL, literal("x", "")))))
    assert (error.value.frame, error.value.row) == (0, 1)


@pytest.mark.parametrize("unknown", [field(1, b""), field(1, field(100, b"x")), row(7, b"x"), field(1, field(2, 5))])
@pytest.mark.parametrize("patch", [False, True])
def test_rows_of_no_known_kind(unknown: bytes, patch: bool) -> None:
    known = [field(*pair) for pair in ((1, 2), (2, 3), (3, 1), (9, 16), (15, 1))] if patch else []
    head = row(1, *known) if patch else options()
    if patch and unknown == row(7, b"x"):
        unknown = row(9, b"x")
    data = frame(head, triple() if not patch else row(2, terms(*((BNODE, b"x"),) * 4)), unknown)
    with pytest.raises(JellyFormatError, match="kind of the row is not set or unknown") as error:
        list(jelly.Decoder(patch=patch).feed(data)) and list(jelly.Decoder(patch=patch).feed(data))
    assert (error.value.frame, error.value.row) == (0, 2)
    (batch,) = jelly.Decoder(patch=patch, unknown_rows="skip").feed(data)
    assert len(batch) == 1
    with pytest.raises(ValueError, match="unknown_rows"):
        jelly.Decoder(unknown_rows="ignore")


@pytest.mark.parametrize("physical", [QUADS, GRAPHS])
def test_what_is_in_an_empty_message(physical: int) -> None:
    def stream(inside: bytes) -> bytes:
        if physical == QUADS:
            return frame(options(QUADS), quad(g=(DEFAULT_GRAPH, inside)))
        return frame(options(GRAPHS), graph_start((DEFAULT_GRAPH, inside)), triple(), row(5, inside))

    # Unknown fields are skipped, as in any message; what is no field is an error.
    assert [str(s) for s in jelly.loads(stream(field(9, b"x") + field(3, 5)))] == ["_:s _:p _:o ."]
    with pytest.raises(JellyFormatError, match="malformed"):
        jelly.loads(stream(b"\x0a\x05"))


def test_many_languages() -> None:
    rows = [triple(o=(LITERAL, literal("x", f"l-{i % 300}"))) for i in range(900)]
    (batch,) = chunked([frame(options(), *rows)])
    batch.check()
    assert [s.o.language for s in Materializer(batch).statements()] == [f"l-{i % 300}" for i in range(900)]


def test_nesting() -> None:
    (found,) = jelly.loads(frame(options(), triple((QUOTED, quoted(64)))))
    assert str(found.s).count("<<") == 64
    for depth in (65, 66, 200, 5000):
        with pytest.raises(JellyLimitError, match="deeper than 64"):
            jelly.loads(frame(options(), triple((QUOTED, quoted(depth)))))


# ---- states of a Decoder


def bad_stream() -> bytes:
    return frame(options(), *[triple()] * 5) + frame(triple(), triple(s=(BNODE, b"\xff")), triple())


def test_statements_before_an_error_come_first_and_it_stays() -> None:
    decoder = Decoder(batch_rows=4)
    decoder.push(bad_stream())
    assert [len(decoder.pull()), len(decoder.pull())] == [4, 2]
    errors = []
    for call in (decoder.pull, decoder.pull, lambda: decoder.push(b""), decoder.close, lambda: decoder.feed(b"x")):
        with pytest.raises(JellyFormatError) as caught:
            call()
        errors.append(caught.value)
    assert len({id(error) for error in errors}) == 1
    assert (errors[0].frame, errors[0].row) == (1, 1)
    assert decoder.statements == 6
    assert decoder.frames == 1


def test_an_error_lets_go_of_the_input() -> None:
    data = bytearray(bad_stream())
    decoder = Decoder()
    decoder.push(data)
    with pytest.raises(BufferError):
        data.append(1)
    assert len(decoder.pull()) == 6
    data.append(1)
    with pytest.raises(JellyFormatError):
        decoder.pull()


def test_a_batch_outlives_its_decoder_and_input() -> None:
    data = bytearray(EVERYTHING)
    decoder = Decoder()
    (batch,) = decoder.feed(data)
    list(decoder.close())
    del decoder
    gc.collect()
    data[:] = b"\0" * len(data)
    assert described([batch]) == WHOLE


def test_push_needs_the_last_chunk_used_up() -> None:
    decoder = Decoder(batch_rows=1)
    data = frame(options(), triple(), triple())
    decoder.push(data)
    assert len(decoder.pull()) == 1
    with pytest.raises(RuntimeError, match="not used up"):
        decoder.push(data)
    while decoder.pull() is not None:
        pass
    decoder.push(frame(triple()))
    assert decoder.delimited is True


def test_what_push_takes() -> None:
    for data in (EVERYTHING, bytearray(EVERYTHING), memoryview(EVERYTHING)):
        assert described(chunked([data])) == WHOLE
    for wrong in ("text", None, 5, [1, 2]):
        with pytest.raises(TypeError):
            Decoder().push(wrong)
    decoder = Decoder()
    with pytest.raises(jelly.JellyArgumentError):
        decoder.push(memoryview(EVERYTHING)[::2])
    assert described(decoder.feed(EVERYTHING)) == WHOLE


def test_a_closed_decoder_takes_no_more() -> None:
    decoder = Decoder()
    list(decoder.feed(frame(options())))
    assert list(decoder.close()) == []
    with pytest.raises(ValueError, match="closed"):
        decoder.push(b"")
    assert list(decoder.close()) == []


def test_settings() -> None:
    for wrong in (
        {"batch_rows": 0},
        {"batch_bytes": 0},
        {"batch_rows": -1},
        {"max_names": 1 << 24},
        {"max_prefixes": 1 << 40},
    ):
        with pytest.raises(ValueError, match="at "):
            Decoder(**wrong)
    with pytest.raises(TypeError):
        Decoder(rows=1)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(Decoder())
    assert len(jelly.loads(frame(options(names=1 << 20), triple()), max_names=1 << 20)) == 1


def test_limits_of_tables_are_exact() -> None:
    for limit, size in (("max_names", "names"), ("max_prefixes", "prefixes"), ("max_datatypes", "datatypes")):
        data = frame(options(**{size: 20}), triple())
        assert len(jelly.loads(data, **{limit: 20})) == 1
        with pytest.raises(JellyLimitError, match=limit):
            jelly.loads(data, **{limit: 19})


def test_cut_anywhere_gives_what_was_whole() -> None:
    whole = WHOLE[0]
    for cut in range(1, len(EVERYTHING)):
        found: list[jelly.Batch] = []
        error = None
        try:
            found.extend(chunked([EVERYTHING[:cut]]))
        except JellyFormatError as caught:
            error = caught
        # Without an error it ends where a frame does; before the options it is no stream yet.
        assert error is None or error.offset == cut
        assert error is None or isinstance(error, JellyTruncatedError) == (cut > 1)
        assert described(found)[0] == whole[: sum(map(len, found))]


def test_a_busy_decoder_refuses() -> None:
    # One call that stays in the core for some time.
    n = 2_000_000
    data = frame(options(), triple(), triple(None, None, None) * n)
    for _ in range(10):
        decoder = Decoder(batch_rows=n + 1)
        decoder.push(data)
        found: list[jelly.Batch] = []
        thread = threading.Thread(target=lambda decoder=decoder, found=found: found.append(decoder.pull()))
        refused = []
        thread.start()
        while thread.is_alive():
            for call in (decoder.pull, lambda decoder=decoder: decoder.push(b"")):
                try:
                    call()
                except RuntimeError as error:
                    refused.append(str(error))
        thread.join()
        if "this Decoder is in use by another thread" in refused:
            break
    else:
        pytest.fail("never refused")
    assert set(refused) <= {
        "this Decoder is in use by another thread",
        "the chunk before is not used up: take all Batches of feed() first, or pull until None",
    }


def test_many_decoders_in_threads() -> None:
    results = []

    def work() -> None:
        for _ in range(20):
            results.append(described(chunked([EVERYTHING], batch_rows=2)) == WHOLE)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 80


def test_one_iterator_for_many_threads() -> None:
    rows = [name(str(i), 1 + i % 16) + triple(o=(IRI, iri(1 + i % 16))) for i in range(20_000)]
    statements = jelly.read(frame(options(), *rows), batch_rows=50)
    found: list[str] = []

    def work() -> None:
        while True:
            try:
                found.append(next(statements).o.value)
            except StopIteration:
                return
            except RuntimeError as error:
                if "this StatementIterator is in use by another thread" not in str(error):
                    raise

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found, key=int) == [str(i) for i in range(20_000)]


class Watched(bytearray):
    pass


def test_nothing_holds_the_input_after_the_end() -> None:
    data = Watched(EVERYTHING)
    watch = weakref.ref(data)
    statements = list(jelly.read(data))
    del data
    gc.collect()
    assert watch() is None
    assert len(statements) == 7


# ---- memory that hostile input cannot take


def test_a_batch_ends_by_terms() -> None:
    many = terms((QUOTED, quoted(60)), (QUOTED, quoted(60)), (QUOTED, quoted(60)))
    data = frame(options(), *[triple((QUOTED, many), (QUOTED, many), (QUOTED, many))] * 300)
    batches = list(chunked([data], batch_rows=100))
    assert sum(map(len, batches)) == 300
    assert max(batch.n_terms for batch in batches) < 16 * 100 + 3000


def test_a_batch_ends_by_metadata() -> None:
    data = frame(options(), *[metadata("key", b"x" * 1000)] * 40_000, *[field(15, b"")] * 100_000)
    batches = list(chunked([data]))
    assert len(batches) >= 4
    frames = frame(options()) + frame(metadata("key", b"x" * 100_000)) * 400
    batches = list(chunked([frames]))
    assert 2 <= len(batches) <= 4
    assert sum(len(batch.metadata) for batch in batches) == 400
    assert sum(len(batch.frames) for batch in batches) == 401


def test_a_batch_ends_by_namespaces() -> None:
    data = frame(options(version=2), name("n"), *[namespace("", iri(1))] * 100_000)
    batches = list(chunked([data], batch_rows=1000))
    assert sum(len(batch.namespaces) for batch in batches) == 100_000
    assert max(len(batch.namespaces) for batch in batches) <= 16_000


def test_repeating_a_long_term_does_not_fill_a_batch() -> None:
    # Each Batch begins with a copy of it. If that alone would fill the Batch, there would be one for each statement.
    body = literal(b"x" * (1 << 20))
    data = frame(options(), triple(o=(LITERAL, body)), *[triple((BNODE, b"t"), o=None)] * 5000)
    batches = list(chunked([data], batch_rows=1000, batch_bytes=1 << 16))
    assert len(batches) <= 8
    assert sum(map(len, batches)) == 5001


def test_prefix_bomb() -> None:
    # 2 MB of input that mean 20 GB of IRIs: Batches end early, and each is small.
    names = [name(b"%d" % i) for i in range(1, 4001)]
    rows = [triple(o=(IRI, iri(1 + i % 4000))) for i in range(20_000)]
    data = frame(options(names=4001), prefix(b"x" * (1 << 20)), *names, triple((IRI, iri(1, 1))), *rows)
    total = largest = 0
    for batch in chunked([data]):
        total += len(batch)
        largest = max(largest, batch.nbytes)
        if total > 500:
            break
    assert largest < 20 << 20


def test_a_failed_decoder_in_a_circle_is_freed() -> None:
    # Its error's traceback holds the frame that holds it. The collector once took the tables away before their entries.
    def fail() -> None:
        circle = Decoder()
        rows = [name(b"n" * 100) for _ in range(16)]
        circle.push(bytearray(frame(options(), *rows, triple()) + frame(triple((BNODE, b"\xff")))))
        circle.pull()
        with pytest.raises(JellyFormatError) as caught:
            circle.pull()
        held.append(weakref.ref(caught.value))
        circle = [circle, caught]  # noqa: F841

    held: list[weakref.ref] = []
    for _ in range(50):
        fail()
    gc.collect()
    assert not any(ref() for ref in held)


def test_small_messages_do_not_know_of_each_other() -> None:
    a, b = jelly.IRI("http://example.org/a#b"), jelly.BlankNode("b")
    quads = [jelly.Quad(a, a, jelly.Literal(str(n), language="en"), jelly.IRI(f"a:{n}")) for n in range(30)]
    triples = [jelly.Triple(b, jelly.IRI(f"http://example.org/{n}"), jelly.Literal("x" * 300 * n)) for n in range(3)]
    star = [jelly.Triple(jelly.QuotedTriple(b, a, b), a, b)]
    messages: list[list[Any]] = [quads, [], triples, triples[:1], star, quads[:1], quads]
    settings: list[Any] = [
        {},
        {"version": 1},
        {"version": 3},
        jelly.StreamOptions.small(rdf_star=True, stream_name="name"),
    ]
    cut = jelly.dumps(quads)[:-9]
    odd = jelly.StreamOptions(physical_type=1, logical_type=1)
    data = jelly.dumps(triples, odd)
    # Of logical type FLAT_QUADS, which does not go with triples.
    odd_types = data.replace(b"\x70\x01", b"\x70\x02", 1)
    assert odd_types != data
    # Names without values, and a row before the options.
    wrong = [cut, b"\x04\x0a\x02\x4a\x00", b"\x0a\x02\x4a\x00", b""]
    for given in settings:
        for delimited in (True, False):
            for message in messages:
                if message is star and given == {"version": 3}:
                    continue
                assert jelly.loads(jelly.dumps(message, given, delimited=delimited)) == message
                with pytest.warns(OptionsWarning, match="FLAT_QUADS does not go"):
                    assert jelly.loads(odd_types) == triples
                for each in wrong:
                    with pytest.raises(jelly.JellyError) as first:
                        jelly.loads(each)
                    with pytest.raises(jelly.JellyError) as other:
                        jelly.loads(each, max_names=4095)
                    assert str(first.value) == str(other.value)
    with pytest.warns(JoinedWarning):
        jelly.loads(2 * jelly.dumps(quads))
    assert jelly.loads(jelly.dumps(quads)) == quads
