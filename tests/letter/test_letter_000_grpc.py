"""The gRPC service to the letter: bytes by hand over a channel that knows nothing of the package."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from support import wirefields as wire
from support.craft import IRI, LITERAL, QUADS, TRIPLES, field, iri, literal, metadata, name, options, quad, triple

grpc = pytest.importorskip("grpc")

import jelly  # noqa: E402
import jelly.grpc as jg  # noqa: E402
from jelly import StreamOptions  # noqa: E402

SERVICE = "/eu.ostrzyciel.jelly.core.proto.v1.RdfStreamService/"
PLAIN = [jelly.Triple(*(jelly.IRI(f"http://e/{i}{x}") for x in "spo")) for i in range(40)]
STAR = [jelly.Triple(jelly.QuotedTriple(*PLAIN[0]), jelly.IRI("a:p"), jelly.IRI("a:o"))]
GENERALIZED = [jelly.Triple(jelly.Literal("s"), jelly.IRI("a:p"), jelly.IRI("a:o"))]
# The options of the streams that are served, by topic.
SERVED: dict[str, tuple[list[jelly.Triple], StreamOptions]] = {
    "plain": (PLAIN, StreamOptions(TRIPLES, jelly.LogicalType.FLAT_TRIPLES)),
    "star": (STAR, StreamOptions(TRIPLES, rdf_star=True)),
    "generalized": (GENERALIZED, StreamOptions(TRIPLES, generalized_statements=True)),
    "new": (PLAIN, StreamOptions(TRIPLES, version=2)),
}


class Recording(jg.Handler):
    """Does what the topic says, and keeps what it was given."""

    calls: list[Any] = []

    def on_subscribe(self, call: Any) -> Any:
        self.calls.append((call.topic, call.options))
        if call.topic == "bug":
            raise ZeroDivisionError("a secret")
        if call.topic == "refused":
            raise jg.Refusal("RESOURCE_EXHAUSTED", "not today")
        statements, own = SERVED.get(call.topic, SERVED["plain"])
        return jg.FrameEncoder(own).encode_many(statements)

    async def on_publish(self, call: Any) -> None:
        self.calls.append([str(statement) async for statement in call.statements()])


class Raw:
    """The two methods, bytes in and bytes out; an error is the name of its code."""

    def __init__(self, address: str, handler: Any) -> None:
        self.channel = grpc.insecure_channel(address)
        self.handler = handler

    def call(self, made: Any, *args: Any) -> Any:
        try:
            return made(*args, timeout=240)
        except grpc.RpcError as error:
            return error.code().name

    def subscribe(self, request: bytes) -> Any:
        method = self.channel.unary_stream(SERVICE + "SubscribeRdf")
        return self.call(lambda *args, **settings: list(method(*args, **settings)), request)

    def publish(self, *frames: bytes) -> Any:
        return self.call(self.channel.stream_unary(SERVICE + "PublishRdf"), iter(frames))


@pytest.fixture(scope="module")
def raw() -> Iterator[Raw]:
    handler = Recording()
    with jg.Server(handler) as server:
        raw = Raw(server.address, handler)
        yield raw
        raw.channel.close()


def asked(physical: int = TRIPLES, topic: str = "plain", **changes: Any) -> bytes:
    """An RdfStreamSubscribe; the flags are true where nothing else is said."""
    row = options(physical, **({"version": 2, "names": 4000, "prefixes": 150, "datatypes": 32} | changes))
    ((_, body),) = wire.fields(row)
    ((_, message),) = wire.fields(body)  # type: ignore[arg-type]
    return field(1, topic) + field(2, message)  # type: ignore[arg-type]


def read(frames: list[bytes]) -> list[str]:
    """The statements of bare frames."""
    decoder = jelly.Decoder()
    batches = [decoder.decode_frame(one) for one in frames]
    return [str(statement) for batch in batches for statement in batch.statements()]


def test_the_acknowledgement_is_an_empty_message(raw: Raw) -> None:
    """000-001: sent when the stream was received to its end."""
    assert raw.publish(options() + triple(), triple()) == b""
    assert raw.handler.calls[-1] == ["_:s _:p _:o ."] * 2


@pytest.mark.parametrize("topic", ["t", "t\u00f6pic", "", "a/b c"])
def test_the_topic(topic: str, raw: Raw) -> None:
    """000-002, 000-005: without options the server chooses."""
    assert read(raw.subscribe(field(1, topic))) == list(map(str, PLAIN))
    assert raw.handler.calls[-1] == (topic, None)


def test_requested_options_are_delivered(raw: Raw) -> None:
    """000-004."""
    assert len(raw.subscribe(asked(names=100, prefixes=9, datatypes=8, version=1, star=True, logical=1))) > 0
    assert raw.handler.calls[-1] == (
        "plain",
        StreamOptions(1, 1, "", True, True, 100, 9, 8, 1),
    )


@pytest.mark.parametrize("sizes", [(8, 0, 0), (16, 3, 1), (4000, 150, 32)])
def test_the_tables_are_those_asked_for(sizes: tuple[int, int, int], raw: Raw) -> None:
    """000-006."""
    names, prefixes, datatypes = sizes
    frames = raw.subscribe(asked(names=names, prefixes=prefixes, datatypes=datatypes))
    assert read(frames) == list(map(str, PLAIN))
    ((_, first), *_) = wire.fields(frames[0])
    ((_, header),) = wire.fields(first)  # type: ignore[arg-type]
    found = dict(wire.fields(header))  # type: ignore[arg-type]
    assert [found.get(number, 0) for number in (9, 10, 11)] == [names, prefixes, datatypes]


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(field(1, b"\xff"), id="000-003"),
        pytest.param(asked(logical=3), id="000-008"),
        pytest.param(asked(QUADS), id="000-009"),
        pytest.param(asked(topic="star", star=False), id="000-010"),
        pytest.param(asked(topic="generalized", generalized=False), id="000-011"),
        pytest.param(asked(topic="new", version=1), id="000-012"),
        pytest.param(field(2, b"\x0a\xff"), id="000-013"),
        pytest.param(asked(version=99), id="000-014"),
    ],
)
def test_what_cannot_be_served(request_: bytes, raw: Raw) -> None:
    assert raw.subscribe(request_) == "INVALID_ARGUMENT"


@pytest.mark.parametrize("topic", SERVED)
def test_what_can_be_served(topic: str, raw: Raw) -> None:
    """The other side of what cannot: 000-010, 000-011, 000-012."""
    assert read(raw.subscribe(asked(topic=topic))) == list(map(str, SERVED[topic][0]))


def test_one_request_and_a_stream_of_frames(raw: Raw) -> None:
    """000-017, 000-018: bare frames, by the names of the service and its methods."""
    with jg.Server(Recording()) as server:
        channel = grpc.insecure_channel(server.address)
        SERVED["long"] = (PLAIN * 100, SERVED["plain"][1])
        frames = list(channel.unary_stream(SERVICE + "SubscribeRdf")(field(1, "long"), timeout=240))
        assert len(frames) > 1
        assert all({number for number, _ in wire.fields(one)} == {1} for one in frames)
        assert read(frames) == list(map(str, PLAIN * 100))
        channel.close()


def test_what_is_published_goes_on_over_frames(raw: Raw) -> None:
    """000-019: tables and repeated terms."""
    rows = [options() + name("a") + name("b") + triple(o=(IRI, iri())), b"", triple(None, None, (IRI, b""))]
    assert raw.publish(*rows) == b""
    assert raw.handler.calls[-1] == ["_:s _:p <a> .", "_:s _:p <b> ."]


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param([b"\xff\xff\xff"], id="000-020"),
        pytest.param([triple()], id="000-021"),
        pytest.param([options() + triple(), triple(), triple(o=(IRI, iri(9)))], id="000-022"),
    ],
)
def test_what_cannot_be_processed(frames: list[bytes], raw: Raw) -> None:
    assert raw.publish(*frames) == "INVALID_ARGUMENT"


def test_how_calls_end(raw: Raw, caplog: pytest.LogCaptureFixture) -> None:
    """000-023, 000-024, 000-025, 000-026."""
    with caplog.at_level(logging.CRITICAL + 1, "jelly.grpc"):
        assert raw.subscribe(field(1, "bug")) == "INTERNAL"
    assert raw.subscribe(field(1, "refused")) == "RESOURCE_EXHAUSTED"
    assert raw.call(raw.channel.unary_unary(SERVICE + "Nothing"), b"") == "UNIMPLEMENTED"
    with jg.Server(jg.Handler()) as server:
        bare = Raw(server.address, None)
        assert bare.subscribe(b"") == "UNIMPLEMENTED"
        assert bare.publish(options()) == "UNIMPLEMENTED"
        bare.channel.close()


def with_broker(work: Any) -> None:
    """Run ``work(subscribe, publish)`` with a broker; an error is the name of its code."""

    async def main() -> None:
        async with (
            jg.Server(jg.Broker(), "127.0.0.1:0") as server,
            grpc.aio.insecure_channel(server.address) as channel,
        ):

            async def subscribe(topic: str, *more: Any, count: int | None = None) -> Any:
                pairs = more if count is not None else (*more, ("jelly-follow", "0"))
                call = channel.unary_stream(SERVICE + "SubscribeRdf")(field(1, topic), metadata=pairs, timeout=240)
                found = []
                try:
                    async for one in call:
                        found.append(one)
                        if len(found) == count:
                            call.cancel()
                            break
                except grpc.aio.AioRpcError as error:
                    return error.code().name
                return found

            async def publish(*frames: bytes, topic: str | None = None) -> Any:
                pairs = [("jelly-topic", topic)] if topic is not None else []

                async def given() -> AsyncIterator[bytes]:
                    for one in frames:
                        yield one

                try:
                    return await channel.stream_unary(SERVICE + "PublishRdf")(given(), metadata=pairs, timeout=240)
                except grpc.aio.AioRpcError as error:
                    return error.code().name

            await work(subscribe, publish)

    asyncio.run(main())


def test_topics() -> None:
    """000-027 to 000-032: of the stream name, of the call metadata, none, unknown, of nothing, of another type."""

    async def work(subscribe: Any, publish: Any) -> None:
        assert await publish(options(name=b"by name") + triple()) == b""
        assert read(await subscribe("by name")) == ["_:s _:p _:o ."]
        assert await publish(options(name=b"by name") + triple(), topic="by metadata") == b""
        assert read(await subscribe("by metadata")) == ["_:s _:p _:o ."]
        assert len(read(await subscribe("by name"))) == 1
        assert await publish(options() + triple()) == "INVALID_ARGUMENT"
        assert await subscribe("unknown") == "NOT_FOUND"
        assert await publish() == "INVALID_ARGUMENT"
        # A topic is made by its first message: options alone bind nobody.
        assert await publish(topic="nothing") == "INVALID_ARGUMENT"
        assert await publish(options(QUADS), topic="nothing") == b""
        assert await publish(options(TRIPLES) + triple(), topic="nothing") == b""
        assert len(await subscribe("nothing")) == 1
        assert await publish(options(QUADS, name=b"by name") + quad()) == "INVALID_ARGUMENT"
        assert len(read(await subscribe("by name"))) == 1

    with_broker(work)


def test_what_comes_later_comes_in_order() -> None:
    """000-033."""

    async def work(subscribe: Any, publish: Any) -> None:
        def frames(start: int) -> list[bytes]:
            rows = [triple(o=(LITERAL, literal(str(i)))) for i in range(start, start + 3)]
            return [options(name=b"t") + rows[0], *rows[1:]]

        assert await publish(*frames(0)) == b""
        later = asyncio.create_task(subscribe("t", count=9))
        for start in (3, 6):
            await asyncio.sleep(0.1)
            assert await publish(*frames(start)) == b""
        assert read(await later) == [f'_:s _:p "{i}" .' for i in range(9)]

    with_broker(work)


def test_a_broker_keeps_frames() -> None:
    """000-034: of a grouped stream, with those of nothing and their metadata."""

    async def work(subscribe: Any, publish: Any) -> None:
        frames = [options(logical=3, name=b"t") + triple() + metadata("k", b"v"), metadata("k", b"w"), triple() * 2]
        assert await publish(*frames) == b""
        decoder = jelly.Decoder()
        found = [decoder.decode_frame(one) for one in await subscribe("t")]
        assert [len(batch) for batch in found] == [1, 0, 2]
        assert [batch.metadata for batch in found] == [{0: {"k": b"v"}}, {0: {"k": b"w"}}, {}]

    with_broker(work)


def test_our_client(raw: Raw) -> None:
    """000-035, 000-036, 000-037."""
    with jg.Server(Recording()) as server, jg.Client(server.address) as client:
        assert list(client.subscribe("plain").statements()) == PLAIN
        assert client.publish(PLAIN, topic="t") > 0
        assert Recording.calls[-1] == list(map(str, PLAIN))
        with pytest.raises(jelly.JellyServiceError, match="RESOURCE_EXHAUSTED: not today"):
            list(client.subscribe("refused"))
        with pytest.raises(jelly.JellyServiceError, match="INVALID_ARGUMENT"):
            client.publish([triple()])
