"""Room frames: where frames begin and end, however the bytes come."""

from __future__ import annotations

import contextlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.craft import frame, options, triple, varint

import jelly
from jelly import JellyError, JellyFormatError, JellyLimitError, JellyTruncatedError
from jelly._core.jelly.frame_reader import split_frames
from jelly._core.terms.materialize import StatementIterator

UNKNOWN, BARE, DELIMITED = -1, 0, 1

BODIES = [
    [b""],
    [b"", b""],
    [b"", b"", b""],
    [b"x"],
    [b"", b"x"],
    [b"\x0a\x08abcdefgh"],
    [b"\x12" * 127, b"\x12" * 128, b"", b"y"],
    [b"z" * 20000, b"a", b"z" * 300],
]


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]


def delimited(bodies: list[bytes]) -> bytes:
    return b"".join(varint(len(body)) + body for body in bodies)


def expected(bodies: list[bytes]) -> list[tuple[int, bytes]]:
    found, at = [], 0
    for body in bodies:
        at += len(varint(len(body)))
        found.append((at, body))
        at += len(body)
    return found


@pytest.mark.parametrize("bodies", BODIES, ids=lambda bodies: "-".join(str(len(b)) for b in bodies))
def test_delimited_in_any_chunks(bodies: list[bytes]) -> None:
    data = delimited(bodies)
    for framing in (UNKNOWN, DELIMITED):
        for size in (1, 2, 3, 7, len(data)):
            assert split_frames(pieces(data, size), framing) == expected(bodies)
        for cut in range(1, min(len(data), 600)):
            assert split_frames([data[:cut], data[cut:]], framing) == expected(bodies)


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=8), st.lists(st.integers(0, 2500)))
def test_delimited_in_random_chunks(bodies: list[bytes], cuts: list[int]) -> None:
    data = delimited(bodies)
    edges = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    chunks = [data[a:b] for a, b in pairwise(edges)]
    assert split_frames(chunks, DELIMITED) == expected(bodies)


def test_bare_in_any_chunks() -> None:
    body = options() + triple() * 50
    for framing in (UNKNOWN, BARE):
        for size in (1, 2, 3, 7, len(body)):
            assert split_frames(pieces(body, size), framing) == [(0, body)]
        for cut in range(1, len(body)):
            assert split_frames([body[:cut], body[cut:]], framing) == [(0, body)]


@pytest.mark.parametrize("name", range(0, 140))
def test_framing_is_told_from_the_first_bytes(name: int) -> None:
    # Sizes around 10, where the length of a frame looks like the tag of a row, and around 128.
    body = options(name=b"n" * name) if name else options()
    assert split_frames([body]) == [(0, body)]
    assert split_frames([frame(body)]) == [(len(varint(len(body))), body)]
    assert split_frames([frame(), frame(body)]) == [(1, b""), (1 + len(varint(len(body))), body)]


def test_a_frame_of_ten_bytes() -> None:
    body = b"\x0a\x08\x0a\x06" + b"\x10\x01\x48\x08\x78\x01"
    assert len(body) == 10
    assert split_frames([frame(body)]) == [(1, body)]
    assert split_frames([body]) == [(0, body)]


def test_nothing() -> None:
    for framing in (UNKNOWN, BARE, DELIMITED):
        assert split_frames([], framing) == []
        assert split_frames([b"", b""], framing) == []


def test_one_or_two_bytes_are_delimited() -> None:
    assert split_frames([b"\0"]) == [(1, b"")]
    assert split_frames([b"\0\0"]) == [(1, b""), (2, b"")]
    assert split_frames([b"\0", b"\0"]) == [(1, b""), (2, b"")]
    assert split_frames([b"\x01a"]) == [(1, b"a")]
    # Two bytes are kept to tell the framing, and the first of them is a whole frame.
    assert split_frames([b"\0\x02", b"ab\x01", b"c"]) == [(1, b""), (2, b"ab"), (5, b"c")]
    assert split_frames([b"\0\0", b"\0\0"]) == [(i, b"") for i in range(1, 5)]


def failure(chunks: list[bytes], *settings: int) -> JellyError:
    with pytest.raises(JellyError) as caught:
        split_frames(chunks, *settings)
    return caught.value


def test_cut_off() -> None:
    data = delimited([b"abc", b"d" * 200])
    for size in (1, 2, 3, 7, len(data)):
        for cut in range(1, len(data)):
            if cut == 4:
                continue
            error = failure(pieces(data[:cut], size), DELIMITED)
            assert type(error) is JellyTruncatedError
            assert error.offset == cut
            assert error.frame == (1 if cut > 4 else 0)
    assert "198 more bytes were expected" in str(failure([data[:8]], DELIMITED))


def test_limit_and_malformed_lengths_name_the_frame_however_fed() -> None:
    data = b"\x01x" + varint(1000) + b"y" * 30
    for size in (1, 2, 3, 7, len(data)):
        error = failure(pieces(data, size), DELIMITED, 999)
        assert type(error) is JellyLimitError
        assert (error.frame, error.offset) == (1, 2)
        assert "1000 bytes is above the limit of 999" in str(error)
        error = failure(pieces(b"\x01x" + b"\xff" * 12, size), DELIMITED)
        assert type(error) is JellyFormatError
        assert (error.frame, error.offset) == (1, 2)
    for size in (1, 7, 100):
        error = failure(pieces(options() + triple() * 9, size), BARE, 60)
        assert type(error) is JellyLimitError
        assert error.offset == 0


def test_a_frame_at_the_limit() -> None:
    assert len(split_frames(pieces(varint(1000) + b"y" * 1000, 7), DELIMITED, 1000)) == 1


# ---- one bare frame in, one out: the doors for gRPC, Kafka and UDFs


def test_frames_by_themselves_are_those_of_the_stream():
    batches = [next(jelly.scan(b"<a:s> <a:p> <a:o%d> .\n" % n * 5, format="nt").batches()) for n in range(3)]
    options = jelly.StreamOptions(physical_type=1)
    whole, single = (jelly.Encoder(options, frame_rows=2) for _ in range(2))
    stream = b"".join(map(whole.encode, batches)) + whole.close()
    frames = [frame for batch in batches for frame in single.encode_frames(batch)] + single.close_frames()
    assert [frame for _, frame in split_frames([stream], 1)] == frames
    decoder = jelly.Decoder()
    found = [decoder.decode_frame(frame) for frame in frames]
    assert len(found) > 5
    assert [batch.frames.tolist() for batch in found] == [[len(batch)] for batch in found]
    assert (decoder.statements, decoder.frames, decoder.delimited) == (15, len(frames), False)
    assert decoder.options == single.options
    assert [str(s) for batch in found for s in StatementIterator([batch])] == list(map(str, jelly.read(stream)))


def test_frames_of_nothing():
    decoder = jelly.Decoder()
    for _ in range(3):
        batch = decoder.decode_frame(b"")
        assert (len(batch), batch.frames.tolist()) == (0, [0])
    (frame,) = jelly.Encoder(jelly.StreamOptions(physical_type=1)).close_frames()
    assert (len(decoder.decode_frame(frame)), decoder.options.physical_type) == (0, 1)
    assert len(decoder.decode_frame(b"")) == 0


def test_a_frame_that_is_cut_off_anywhere():
    frame = jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o", language="en"))], delimited=False)
    assert len(jelly.Decoder().decode_frame(frame)) == 1
    for end in range(len(frame)):
        decoder = jelly.Decoder()
        with contextlib.suppress(JellyError):
            assert len(decoder.decode_frame(frame[:end])) == 0  # whole rows
            continue
        messages = []
        for _ in range(2):  # a failed decoder stays failed
            with pytest.raises(JellyError) as caught:
                decoder.decode_frame(frame)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]


def test_limits_of_a_frame():
    frame = jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o" * 1000))], delimited=False)
    with pytest.raises(jelly.JellyLimitError, match="max_frame_bytes"):
        jelly.Decoder(max_frame_bytes=1000).decode_frame(frame)
    # The limits of a Batch are not for frames.
    assert len(jelly.Decoder(batch_rows=1, batch_bytes=1).decode_frame(jelly.dumps(
        [(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o" * n)) for n in range(9)], delimited=False
    ))) == 9  # fmt: skip


def test_frames_do_not_mix_with_chunks():
    decoder = jelly.Decoder()
    list(decoder.feed(jelly.dumps([])))
    with pytest.raises(ValueError, match="was fed in no other way"):
        decoder.decode_frame(b"")
    data = jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"))], delimited=False)
    decoder = jelly.Decoder()
    assert len(decoder.decode_frame(data)) == 1
    for give in (decoder.push, decoder.feed):
        with pytest.raises(ValueError, match="takes whole frames: use decode_frame"):
            give(data)
    assert len(decoder.decode_frame(b"")) == 0


def test_empty_chunks_are_no_end():
    for chunks in ([b"\x03ab", b"", b"c"], [b"", b"\x03abc", b""], [b"", b"", b"\x03", b"", b"abc"]):
        assert split_frames(chunks, DELIMITED) == [(1, b"abc")]
