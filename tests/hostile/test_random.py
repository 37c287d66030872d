"""Random bytes, and streams that are nearly right: statements or a JellyError, the same however they come."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from support.craft import (
    GRAPHS,
    QUADS,
    TRIPLES,
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
from jelly import Decoder, JellyError
from jelly._core.terms.materialize import Materializer


def outcome(chunks: list[bytes], **settings: object) -> tuple[list[str], int, tuple | None]:
    """Statements, number of frames and the error of a stream."""
    decoder = Decoder(**settings)
    found: list[str] = []
    failure = None
    try:
        for chunk in chunks:
            decoder.push(chunk)
            while (batch := decoder.pull(True)) is not None:
                batch.check()
                found += map(str, Materializer(batch).statements())
        decoder.finish()
        while (batch := decoder.pull(True)) is not None:
            batch.check()
            found += map(str, Materializer(batch).statements())
    except JellyError as error:
        failure = (type(error), error.frame, error.row, error.offset)
    assert failure is None or 0 <= failure[3] <= sum(map(len, chunks))
    return found, decoder.frames, failure


def same_however_fed(data: bytes, sizes: list[int]) -> None:
    whole = outcome([data])
    for size in sizes:
        assert outcome([data[i : i + size] for i in range(0, len(data), size)]) == whole
    assert outcome([data], batch_rows=1) == whole


@given(st.binary(max_size=200), st.sampled_from([1, 2, 3, 7]))
def test_random_bytes(data: bytes, size: int) -> None:
    same_however_fed(data, [size])


@given(st.binary(max_size=100), st.sampled_from([TRIPLES, QUADS, GRAPHS]), st.integers(1, 7))
def test_random_bytes_behind_the_options(data: bytes, physical: int, size: int) -> None:
    same_however_fed(frame(options(physical)) + frame(data), [size])
    same_however_fed(frame(options(physical), field(1, data)), [size])


ids = st.integers(0, 9)
text = st.one_of(st.sampled_from([b"", b"a", b"p:", b"\xc3\xa4", b"\xff"]), st.binary(max_size=3))
literals = st.builds(literal, text, st.one_of(st.none(), text), st.one_of(st.none(), ids))
term = st.one_of(
    st.none(),
    st.tuples(st.integers(0, 3), st.one_of(st.builds(iri, ids, ids), text, literals, st.integers(1, 3).map(quoted))),
)
rows = st.one_of(
    st.builds(options, st.integers(0, 4), st.integers(0, 4)),
    st.just(options()),
    st.builds(name, text, ids),
    st.builds(prefix, text, ids),
    st.builds(datatype, text, ids),
    st.builds(triple, term, term, term),
    st.builds(quad, term, term, term, term),
    st.builds(lambda *parts: row(2, terms(*parts)), term, term, term, term),
    st.builds(graph_start, term),
    st.just(graph_end()),
    st.builds(namespace, text, st.one_of(st.none(), st.builds(iri, ids, ids))),
    st.builds(metadata, text, text),
    st.builds(lambda n, body: field(n, body), st.integers(1, 20), st.one_of(text, st.integers(0, 2**63))),
    st.binary(max_size=4),
)


@given(
    st.sampled_from([TRIPLES, QUADS, GRAPHS]),
    st.lists(st.lists(rows, max_size=12), max_size=4),
    st.sampled_from([1, 2, 3, 7, 50]),
)
def test_nearly_right_streams(physical: int, frames: list[list[bytes]], size: int) -> None:
    good = [name(b"n%d" % i) for i in range(9)] + [prefix(b"p%d:" % i) for i in range(8)] + [datatype(b"d:")] * 8
    data = frame(options(physical), *good) + b"".join(frame(*rows) for rows in frames)
    same_however_fed(data, [size])


@given(st.lists(st.lists(rows, max_size=6), max_size=3), st.data())
def test_wrong_lengths(frames: list[list[bytes]], data: st.DataObject) -> None:
    stream = bytearray(frame(options(), name(b"n"), prefix(b"p")) + b"".join(frame(*rows) for rows in frames))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(stream) - 1))
        kind = data.draw(st.sampled_from(["set", "insert", "delete"]))
        if kind == "delete":
            del stream[at]
        elif kind == "insert":
            stream[at:at] = data.draw(
                st.one_of(st.binary(min_size=1, max_size=2), st.integers(0, 2**64 - 1).map(varint))
            )
        else:
            stream[at] = data.draw(st.integers(0, 255))
        if not stream:
            return
    same_however_fed(bytes(stream), [3])


@example(b"<!--", b"")
@given(st.binary(max_size=60), st.sampled_from([b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh9", b"\xfd7zXZ\0", b""]))
def test_random_bytes_as_a_file(data: bytes, magic: bytes) -> None:
    for format in ("jelly", "nt", "nq"):
        failure = None
        try:
            for statement in jelly.read(magic + data, format=format):
                str(statement)
        except jelly.MissingExtraError:
            continue
        except JellyError as error:
            failure = error
        # A file that is something else as a whole has no place.
        if failure is not None and not failure.reason.startswith("it looks like "):
            assert failure.offset is not None or failure.line is not None


@given(st.binary(max_size=200))
def test_random_state(state: bytes) -> None:
    known = jelly.StreamOptions(physical_type=1, version=1, max_name_table_size=16)
    try:
        decoder = Decoder(options=known, state=state, delimited=True)
        for batch in decoder.feed(frame(triple(None, None, None), triple((0, b""), None, None))):
            batch.check()
            Materializer(batch).statements()
    except JellyError:
        pass
