"""What comes over the network, and what is compressed: bodies of gRPC, values of Kafka, gzip, zstd, bz2 and xz."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import zlib
from collections.abc import Iterable
from typing import Any

import jelly
import jelly.patch
from fuzz.harness import attempt, cut, harness, told
from fuzz.readers.jelly_streams import bodies, patches, streams
from fuzz.readers.rows import LINES
from fuzz.structures import Delimited, Message
from jelly import JellyError
from jelly._bytes.source import Source
from jelly._streams.frames import FrameDecoder
from jelly.grpc import _protocol as protocol
from jelly.grpc._protocol import Fitting

Pieces = Iterable[bytes]


# ---- compression


def packed() -> Pieces:
    import zstandard

    text = LINES[0] * 3
    for pack in (gzip.compress, bz2.compress, lzma.compress, zstandard.compress):
        yield pack(text)
        yield pack(text[:40]) + pack(text[40:])
    yield zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compress(text)
    yield b"\x50\x2a\x4d\x18\x04\0\0\0skip" + zstandard.compress(text)
    yield lzma.compress(text) + b"\0" * 4 + lzma.compress(b"x")
    yield zlib.compress(text)


@harness("compressed", corpus=packed, lines=True)
def compressed(data: bytes, chance: random.Random) -> None:
    """Any chunking of the input and of the output is the whole; nothing expands beyond its limit."""
    most = chance.choice((1, 100, 4096))
    found = []
    for source in (data, cut(data, chance)):
        made, error = bytearray(), None
        try:
            for piece in Source(source, most).chunks(chance.choice((1 << 20, 4096, 64))):
                made += piece
                assert len(made) <= (9 << 20) + most * len(data)
        except JellyError as failed:
            error = told(failed)[0]
        found.append((made, error))
    (first, broken), (second, broken_too) = found
    # ISA-L takes broken data for data that is cut off, or not, as the chunks are.
    assert (broken is None) == (broken_too is None), found
    assert first == second if broken is None else first.startswith(second) or second.startswith(first)


# ---- gRPC


def requests() -> Pieces:
    yield protocol.pack_subscribe("news", jelly.StreamOptions(physical_type=2, stream_name="x", version=2))
    yield protocol.pack_subscribe("news", jelly.patch.PatchOptions())
    yield gzip.compress(protocol.pack_subscribe("topic"))
    yield b""


@harness("grpc_request", corpus=requests, structure=Message(), lines=True)
def grpc_request(data: bytes, chance: random.Random) -> None:
    """Requests are read or refused; what was read is written and read as the same."""
    body = attempt(lambda: protocol.inflate(data, 4096))
    if not isinstance(body, bytes):
        return
    assert len(body) <= 4096
    patch = chance.random() < 0.5
    found = attempt(lambda: protocol.unpack_subscribe(body, patch))
    if isinstance(found, tuple) and len(found) == 2:
        topic, options = found
        again = attempt(lambda: protocol.unpack_subscribe(protocol.pack_subscribe(topic, options), patch))
        assert len(again) != 2 or again[0] == topic
        if options is not None:
            Fitting(options)
    attempt(lambda: protocol.unpack_options(body))
    attempt(lambda: protocol.unpack_options(body, patch=True))
    attempt(lambda: protocol.unpack_infos(body))
    info = attempt(lambda: protocol.unpack_info(body))
    if not isinstance(info, tuple):
        assert protocol.unpack_info(protocol.pack_info(info)) == info


@harness("grpc_frames", corpus=lambda: [*streams(), *patches()], structure=Delimited())
def grpc_frames(data: bytes, chance: random.Random) -> None:
    """The frames of a call, and those that a subscriber gets with options of its own."""
    patch = chance.random() < 0.3
    wanted: Any = jelly.patch.PatchOptions(max_name_table_size=16) if patch else jelly.StreamOptions.small(
        physical_type=chance.choice((1, 2)), rdf_star=True, generalized_statements=True, version=2)  # fmt: skip
    decoder, fitting, other = FrameDecoder(patch=patch), Fitting(wanted), FrameDecoder(patch=patch)
    for body in bodies(data):
        batch = attempt(lambda: decoder.decode(body))  # noqa: B023
        frame = attempt(lambda: fitting.fit(body))  # noqa: B023
        if isinstance(batch, tuple):
            # Frames that already fit are passed on unread.
            assert isinstance(frame, tuple) or frame == body, "frames are made of what cannot be read"
            return
        batch.check()
        if isinstance(frame, tuple):
            return
        made = other.decode(frame)
        made.check()
        assert len(made) == len(batch), f"{len(made)} statements are sent for {len(batch)}"


# ---- Kafka


@harness(
    "kafka",
    corpus=lambda: [*(body for data in (*streams(), *patches()) for body in bodies(data)), *packed()],
    structure=Message(),
)
def kafka(data: bytes, chance: random.Random) -> None:
    """Values are read or refused, whatever they become."""
    from jelly.kafka import JellyDeserializer

    result = chance.choice(("statements", "batch", "frame", "message", "arrow"))
    format = chance.choice((None, None, None, "nt", "nq", "ttl", "rdfp", "thrift", "trp"))
    reader = JellyDeserializer(result, format=format, max_value_bytes=1 << 16)
    attempt(lambda: reader(data))
