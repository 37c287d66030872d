"""Our server with clients made by protoc, our clients with a server made by protoc."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest
from serving import KINDS, messages, options, plain

import jelly.grpc as jg
from jelly._streams.frames import frame_of
from jelly.grpc._protocol import pack_subscribe, unpack_subscribe

WHAT = [(kind, gzip) for kind in KINDS for gzip in (False, True)]


def fields(options):
    """The fields of the message of protobuf, which is that of streams in rows."""
    of_columns = ("rdf_version", "numbering")
    return {name: value for name, value in dataclasses.asdict(options).items() if value and name not in of_columns}


def decoded(digits):
    decoder = jg.FrameDecoder()
    return [frame_of(decoder.decode(bytes.fromhex(one)), i) for i, one in enumerate(digits)]


@pytest.mark.parametrize(("kind", "gzip"), WHAT)
def test_stub_client_and_our_broker(kind, gzip, peer, serve):
    server = serve(compression="gzip" if gzip else None)
    given = messages(kind, 30)
    frames = [frame.hex() for frame in jg.FrameEncoder(options(kind, stream_name="by name")).encode_many(given)]
    assert peer("publish", address=server.address, frames=frames, gzip=gzip) == ""
    assert peer("publish", address=server.address, frames=frames, topic="by metadata", gzip=gzip) == ""
    for topic in ("by name", "by metadata"):
        got = decoded(peer("subscribe", address=server.address, topic=topic, gzip=gzip))
        assert plain(got) == plain(given)
    small = options(kind, max_name_table_size=8, max_prefix_table_size=2, max_datatype_table_size=6)
    got = peer("subscribe", address=server.address, topic="by name", options=fields(small), gzip=gzip)
    assert plain(decoded(got)) == plain(given)
    decoder = jg.FrameDecoder(max_names=8, max_prefixes=2, max_datatypes=6)
    assert sum(len(decoder.decode(bytes.fromhex(frame))) for frame in got) == sum(map(len, given))
    assert decoder.options == small.replace(stream_name="by name")


@pytest.mark.parametrize(("kind", "gzip"), WHAT)
def test_our_clients_and_a_stub_server(kind, gzip, peer):
    given = messages(kind, 30)
    own = options(kind, stream_name="t")
    frames = [*jg.FrameEncoder(own).encode_many(given)]
    address = peer("serve", frames=[frame.hex() for frame in frames], gzip=gzip)
    with jg.Client(address, compression="gzip" if gzip else None) as client:
        assert plain(client.subscribe("a", options=own)) == plain(given)
        assert [*client.subscribe("b").raw()] == frames
        assert sum(len(batch) for batch in client.subscribe("c").batches()) == sum(map(len, given))
        assert [*map(str, client.subscribe("d").statements())] == [str(s) for frame in given for s in frame]
        assert client.publish(given, topic="t", options=options(kind)) == len(given)

    async def also() -> None:
        async with jg.AsyncClient(address, compression="gzip" if gzip else None) as client:
            assert plain([frame async for frame in client.subscribe("e")]) == plain(given)
            assert await client.publish(frames) == len(frames)

    asyncio.run(also())
    seen = peer("stop")
    assert [unpack_subscribe(bytes.fromhex(one)) for one in seen["asked"]] == [
        ("a", own), ("b", None), ("c", None), ("d", None), ("e", None)
    ]  # fmt: skip
    assert [bytes.fromhex(one) for one in seen["got"]] == frames + frames


@pytest.mark.parametrize("size", [8, 128, 4000, 1 << 20])
def test_the_subscription_is_what_protoc_makes_of_it(size, peer):
    asked = options(
        "quads", max_name_table_size=size, rdf_star=True, generalized_statements=True, stream_name="n\u00e4"
    )
    digits = peer("subscription", topic="t\u00f6pic", options=fields(asked))
    assert unpack_subscribe(bytes.fromhex(digits)) == ("t\u00f6pic", asked)
    assert pack_subscribe("t\u00f6pic", asked).hex() == digits


def test_other_handlers_keep_to_what_was_asked_for(peer):
    """A handler that knows nothing of options: the server makes the stream fit, or refuses."""

    class Streaming(jg.Handler):
        def on_subscribe(self, call):
            return messages("dataset messages", 20)

        async def on_publish(self, call):
            self.got = [frame async for frame in call.frames()]

    given = messages("dataset messages", 20)
    with jg.Server(Streaming()) as server:
        ask = {"address": server.address, "topic": "t"}
        assert plain(decoded(peer("subscribe", **ask))) == plain(given)
        small = options("dataset messages", max_name_table_size=8, rdf_star=True)
        digits = peer("subscribe", **ask, options=fields(small))
        decoder = jg.FrameDecoder(max_names=8)
        assert sum(len(decoder.decode(bytes.fromhex(one))) for one in digits) == sum(map(len, given))
        assert plain(decoded(digits)) == plain(given)
        refused = peer("subscribe", **ask, options=fields(options("graphs")))
        assert refused["code"] == "INVALID_ARGUMENT"
        assert "GRAPHS was asked for, this is QUADS" in refused["details"]
        assert peer("publish", address=server.address, frames=digits) == ""
        assert plain(server.handler.got) == plain(given)


def test_reflection_and_health(serve):
    import grpc
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from grpc_health.v1 import health_pb2, health_pb2_grpc
    from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

    name = "eu.ostrzyciel.jelly.core.proto.v1.RdfStreamService"
    with jg.Server(jg.Handler()) as other:
        for address in (serve().address, other.address):
            with grpc.insecure_channel(address) as channel:
                health = health_pb2_grpc.HealthStub(channel)
                assert health.Check(health_pb2.HealthCheckRequest(), timeout=10).status == 1
                requests = [
                    reflection_pb2.ServerReflectionRequest(list_services=""),
                    reflection_pb2.ServerReflectionRequest(file_containing_symbol=name),
                    reflection_pb2.ServerReflectionRequest(file_containing_symbol="jelly.v1.TopicService"),
                ]
                stub = reflection_pb2_grpc.ServerReflectionStub(channel)
                services, files, extension = stub.ServerReflectionInfo(iter(requests), timeout=10)
                names = {service.name for service in services.list_services_response.service}
                assert {name, "jelly.v1.PatchStreamService", "jelly.v1.TopicService"} <= names
                found = extension.file_descriptor_response.file_descriptor_proto
                assert "broker.proto" in [FileDescriptorProto.FromString(one).name for one in found]
                file = FileDescriptorProto.FromString(files.file_descriptor_response.file_descriptor_proto[0])
                assert [method.name for method in file.service[0].method] == ["SubscribeRdf", "PublishRdf"]
