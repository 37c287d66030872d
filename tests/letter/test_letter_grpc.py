"""The gRPC protocol to the letter: what a server answers to streams and requests that it cannot serve as they are."""

import gzip

import grpc
import pytest

import jelly
import jelly.grpc
from jelly import IRI, Literal, QuotedTriple, StreamOptions, Triple
from jelly._core.base.protobuf import _put_varint as put_varint
from jelly._streams.frames import statements_of
from jelly.grpc._protocol import PUBLISH, SUBSCRIBE, TOPIC, pack_subscribe, unpack_subscribe

LIMIT = 1 << 20
PLAIN = Triple(IRI("a:s"), IRI("a:p"), Literal("5", datatype="a:d"))
STAR = Triple(QuotedTriple(IRI("a:s"), IRI("a:p"), IRI("a:o")), IRI("a:p"), IRI("a:o"))
OWN = StreamOptions(physical_type=1, logical_type=1, rdf_star=True, generalized_statements=True, version=1)


class Lists(jelly.grpc.Handler):
    """Serves the statements of the topics "plain" and "star"; reads what is published."""

    def on_subscribe(self, call):
        rows = [PLAIN, PLAIN] if call.topic.startswith("plain") else [PLAIN, STAR]
        name = call.topic if call.topic.endswith("named") else ""
        return jelly.grpc.FrameEncoder(OWN.replace(stream_name=name), frame_rows=1).encode_many(rows)

    async def on_publish(self, call):
        async for _ in call:
            pass


@pytest.fixture(scope="module")
def server():
    with jelly.grpc.Server(Lists(), max_message_bytes=LIMIT) as server:
        yield server


def status(server, method, message, **channel):
    """How a call ends, and what came before."""
    got = []
    with grpc.insecure_channel(server.address, **channel) as way:
        try:
            if method == PUBLISH:
                way.stream_unary(PUBLISH)(iter(message), metadata=[(TOPIC, "x")], timeout=240)
            else:
                got.extend(way.unary_stream(SUBSCRIBE)(message, timeout=240))
        except grpc.RpcError as error:
            return error.code().name, got
    return "OK", got


def served(server, topic, options):
    """The options and statements that a client gets which asks for ``options`` (its message of bytes)."""
    request = b"\x0a" + put_varint(len(topic)) + topic.encode() + b"\x12" + put_varint(len(options)) + options
    code, frames = status(server, SUBSCRIBE, request)
    decoder = jelly.grpc.FrameDecoder()
    rows = [s for frame in frames for s in statements_of(decoder.decode(frame))]
    return code, decoder.options, rows


@pytest.mark.parametrize("size", [LIMIT + 1, 2 * LIMIT + 1, 100 * LIMIT])
@pytest.mark.parametrize("compression", [None, grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_frames_too_large_are_invalid_arguments(server, size, compression):
    """000-121: whatever its size, also when it is compressed."""
    assert status(server, PUBLISH, [bytes(size)], compression=compression)[0] == "INVALID_ARGUMENT"
    assert status(server, SUBSCRIBE, bytes(size), compression=compression)[0] == "INVALID_ARGUMENT"


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_compressed_messages_are_read(server, compression):
    """000-121: the server unpacks what gRPC does not unpack any more."""
    frames = list(jelly.grpc.FrameEncoder().encode_many([(IRI("a:s"), IRI("a:p"), Literal("x" * 5000))]))
    assert status(server, PUBLISH, frames, compression=compression)[0] == "OK"
    code, got = status(server, SUBSCRIBE, pack_subscribe("plain" + 500 * " "), compression=compression)
    assert (code, len(got)) == ("OK", 2)


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:40] + b"\xff" * 9 + data[49:]])
def test_damaged_compression_is_an_invalid_argument(server, damage):
    """000-121: a stream that looks compressed and is not."""
    packed = damage(gzip.compress(bytes(range(256)) * 20))
    assert status(server, PUBLISH, [packed])[0] == "INVALID_ARGUMENT"


def test_a_transport_limit_is_optional():
    """000-121: max_received_bytes (256 MiB by default) keeps longer messages out of memory, with gRPC's own status."""
    with jelly.grpc.Server(Lists(), max_message_bytes=LIMIT, max_received_bytes=2 * LIMIT) as server:
        assert status(server, PUBLISH, [bytes(3 * LIMIT)])[0] == "RESOURCE_EXHAUSTED"
        assert status(server, PUBLISH, [bytes(LIMIT + 1)])[0] == "INVALID_ARGUMENT"


def test_empty_requested_options(server):
    """000-016: an empty RdfStreamOptions leaves all open."""
    code, options, rows = served(server, "plain", b"")
    assert (code, rows) == ("OK", [PLAIN, PLAIN])
    assert options == OWN.replace(rdf_star=False, generalized_statements=False)


def test_requested_physical_type_and_version_alone(server):
    """000-015: sizes of 0, the default of protobuf, are open."""
    code, options, rows = served(server, "plain", bytes.fromhex("10017801"))
    assert (code, rows, options.max_name_table_size) == ("OK", [PLAIN, PLAIN], 4000)


@pytest.mark.parametrize(
    ("asked", "sizes"), [("4864", (100, 0, 0)), ("48645809", (100, 0, 9)), ("5005", (4000, 5, 32))]
)
def test_requested_sizes_alone(server, asked, sizes):
    """000-124: any physical type, tables as small as asked for."""
    topic = "plain" if sizes[2] else "star"
    code, options, _ = served(server, topic, bytes.fromhex(asked))
    assert code == ("OK" if sizes[2] else "INVALID_ARGUMENT")  # there is a datatype, which then has no table
    if options is not None:
        assert (options.max_name_table_size, options.max_prefix_table_size, options.max_datatype_table_size) == sizes


@pytest.mark.parametrize("asked", ["1002", "1009", "780110017063", "4803"])
def test_requested_options_that_no_stream_can_match(server, asked):
    """000-007: QUADS of triples, a physical type and a logical type that do not exist, a name table of 3."""
    assert served(server, "plain", bytes.fromhex(asked))[0] == "INVALID_ARGUMENT"


def test_plain_triples_for_who_asks_for_no_rdf_star(server):
    """000-123: a stream that may have quoted triples, and has none, is sent as one that has none."""
    asked = bytes.fromhex("10017801")
    code, options, rows = served(server, "plain", asked)
    assert (code, options.rdf_star, rows) == ("OK", False, [PLAIN, PLAIN])
    code, options, rows = served(server, "star", asked)
    assert (code, options.rdf_star, rows) == ("INVALID_ARGUMENT", False, [PLAIN])


def test_a_requested_name_is_matched(server):
    """000-007: a stream without a name gets the requested one; another name cannot be had."""
    assert served(server, "plain", b"\x0a\x04mine")[1].stream_name == "mine"
    assert served(server, "plain named", b"\x0a\x0bplain named")[1].stream_name == "plain named"
    assert served(server, "plain named", b"\x0a\x04mine")[0] == "INVALID_ARGUMENT"


def test_the_client_leaves_the_physical_type_open(server):
    """000-124: Client.subscribe with StreamOptions that have no physical type."""
    with jelly.grpc.Client(server.address) as client:
        feed = client.subscribe("plain", options=StreamOptions.small())
        assert list(feed.statements()) == [PLAIN, PLAIN]
        assert feed.options.max_name_table_size == 128


def test_a_topic_of_a_broker_is_fitted_too():
    """000-016, 000-123, 000-124: the broker serves the same requests."""
    import asyncio

    async def main():
        async with (
            jelly.grpc.Server(jelly.grpc.Broker()) as server,
            jelly.grpc.AsyncClient(server.address) as client,
        ):
            await client.publish([PLAIN], topic="t", options=OWN.replace(stream_name="t"))
            found = []
            for asked in (StreamOptions(), StreamOptions.small(), StreamOptions(stream_name="t")):
                feed = client.subscribe("t", options=asked, follow=False)
                found.append([statement async for statement in feed.statements()])
            with pytest.raises(jelly.JellyServiceError, match="INVALID_ARGUMENT: stream name 'u' was asked for"):
                async for _ in client.subscribe("t", options=StreamOptions(stream_name="u"), follow=False).raw():
                    pass
            return found

    assert asyncio.run(main()) == [[PLAIN]] * 3


def test_a_request_in_pieces():
    """000-125: protobuf merges the pieces of a message."""
    topic, options = unpack_subscribe(bytes.fromhex("1202100212024864 0a0174 12021001".replace(" ", "")))
    assert (topic, options.physical_type, options.max_name_table_size) == ("t", 1, 100)


def test_unknown_fields_of_a_request():
    """000-126: of 32 and 64 bits, numbers and messages."""
    assert unpack_subscribe(bytes.fromhex("250102030429010203040506070832017838050a0174")) == ("t", None)
