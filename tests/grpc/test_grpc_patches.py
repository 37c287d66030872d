"""Topics of patches: whole patches only, whatever the publisher sends, wherever the subscriber starts."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import threading

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import end, messages, numbers, options, serve_command, spawn, until
from support import patchcraft as pc
from support.chance import examples
from support.craft import metadata

import jelly
import jelly.grpc as jg
import jelly.grpc._topic
import jelly.grpc._topic_files
from jelly import IRI, Literal
from jelly._core.base.protobuf import _put_varint as put_varint
from jelly.grpc._protocol import PUBLISH, PUBLISH_PATCH, SUBSCRIBE, SUBSCRIBE_PATCH, TOPIC, pack_subscribe
from jelly.patch import Abort, Add, AddNamespace, Commit, Delete, Header, Patch, PatchOptions, Start

FRAME, FLAT, PUNCTUATED = jelly.patch.PatchStreamType


def patch(i: int, size: int = 4) -> Patch:
    """A patch with all kinds of rows; terms repeat over patches, so that the lookup tables matter."""
    rows = [Header("id", IRI(f"http://example.org/patch/{i}")), Start(), AddNamespace("e", "http://example.org/")]
    for j in range(size):
        subject, graph = IRI(f"http://example.org/s{(i + j) % 9}"), IRI(f"http://example.org/g{i % 3}")
        rows.append((Add, Delete)[j % 2]((subject, IRI(f"http://example.org/p{j}"), Literal(f"{i}.{j}"), graph)))
    return Patch() if i % 7 == 6 else Patch([*rows, Abort() if i % 5 == 4 else Commit()])


def patches(count: int, start: int = 0) -> list[Patch]:
    return [patch(i) for i in range(start, start + count)]


def frames(given: list[Patch], kind: jelly.patch.PatchStreamType, rows: int = 3, **changes: int) -> list[bytes]:
    """The frames of a stream; those of other types than FRAME end in the middle of patches and transactions."""
    data = jelly.patch.dumps(given, PatchOptions(stream_type=kind, **changes), frame_rows=rows)
    return [frame for _, frame in jelly.grpc._topic_files.split_frames([data], jelly.grpc._topic_files.DELIMITED)]


@pytest.fixture
def small_segments(monkeypatch):
    monkeypatch.setattr(jelly.grpc._topic, "SEGMENT_MESSAGES", 5)


@pytest.mark.parametrize("stored", [False, True])
def test_each_start_gives_whole_patches(stored, small_segments, serve, tmp_path):
    """Any start, in the middle of a segment too, with the tables of the stream or smaller ones."""
    given = patches(23)
    topics = jg.Topics(tmp_path if stored else None)
    server = serve(topics)
    small = PatchOptions(stream_type=FRAME, max_name_table_size=8, max_prefix_table_size=2, max_datatype_table_size=2)
    with topics, jg.Client(server.address) as client:
        assert client.publish(given, topic="t", kind="patches") == 23
        for start in range(24):
            for asked in (None, small):
                feed = client.subscribe("t", start=start, follow=False, options=asked, kind="patches")
                assert list(feed) == given[start:]
        with pytest.raises(jelly.JellyServiceError, match="OUT_OF_RANGE"):
            list(client.subscribe("t", start=24, kind="patches"))
        server.close()
    if stored:
        assert [path.name for path in tmp_path.iterdir() if path.suffix] == ["t.jellyp"]
        assert jelly.patch.loads((tmp_path / "t.jellyp").read_bytes()) == given


@examples(25)
@given(st.sampled_from([FRAME, PUNCTUATED]), st.integers(1, 9), st.integers(0, 12), st.integers(1, 4))
def test_every_stream_type_becomes_whole_patches(kind, rows, count, segment):
    given = patches(count)
    sent = frames(given, kind, rows)
    decoder = jg.FrameDecoder(patch=True)
    topic = jelly.grpc._topic.Topic("t", PatchOptions())
    topic.offer(PatchOptions())
    jelly.grpc._topic.SEGMENT_MESSAGES, before = segment, jelly.grpc._topic.SEGMENT_MESSAGES
    try:
        batches = [decoder.decode(frame) for frame in sent]
        whole = jelly.grpc._protocol.WholePatches(decoder.options)
        for batch in batches:
            for one in whole.add(batch):
                topic.append(one)
        for one in whole.close():
            topic.append(one)
    finally:
        jelly.grpc._topic.SEGMENT_MESSAGES = before
    # A stream of type FRAME has a frame at least, which is an empty patch.
    expected = given or [Patch()] * (kind == FRAME)
    number = 0
    while number < topic.end:
        start, found = topic.read(number)
        alone = jg.FrameDecoder(patch=True)
        for frame in found:
            assert jelly.grpc._protocol.patch_of(alone.decode(frame), alone.options) == expected[number]
            number += 1
        assert start + len(found) == number
    assert number == len(expected)


def test_stream_types_over_the_wire(serve):
    """Also FLAT: the end of the call ends its patch. Two publishers at once do not mix their patches."""
    server = serve()
    with jg.Client(server.address) as client:
        for kind in (FRAME, PUNCTUATED):
            client.publish(frames(patches(6), kind), topic=kind.name, kind="patches")
            assert list(client.subscribe(kind.name, follow=False, kind="patches")) == patches(6)
        client.publish(frames([patch(0, 300)], FLAT), topic="FLAT", kind="patches")
        client.publish(frames([patch(1)], FLAT), topic="FLAT", kind="patches")
        assert list(client.subscribe("FLAT", follow=False, kind="patches")) == [patch(0, 300), patch(1)]

        halves = frames([patch(1, 30)], PUNCTUATED)
        assert len(halves) > 5
        go, gone = threading.Event(), threading.Event()

        def slowly():
            yield from halves[:3]
            go.set()
            assert gone.wait(240)
            yield from halves[3:]

        thread = threading.Thread(target=lambda: client.publish(slowly(), topic="two", kind="patches"))
        thread.start()
        assert go.wait(240)
        client.publish(patches(4), topic="two", kind="patches")
        assert list(client.subscribe("two", follow=False, kind="patches")) == patches(4)
        gone.set()
        thread.join(240)
        assert list(client.subscribe("two", follow=False, kind="patches")) == [*patches(4), patch(1, 30)]


def test_half_a_patch_is_never_stored(serve):
    """Whatever breaks off: the client, its items, a transaction that does not end, a frame that is malformed."""
    server = serve(max_message_bytes=1 << 16)
    open_transaction = pc.options(pc.PUNCTUATED) + pc.start() + pc.add()
    refused = {
        "open at the end": ([open_transaction], "INVALID_ARGUMENT", "inside a transaction"),
        "over frames": ([pc.options(pc.FRAME) + pc.start(), pc.add() + pc.commit()], "INVALID_ARGUMENT", "transaction"),
        "nested": ([open_transaction, pc.start()], "INVALID_ARGUMENT", "inside another"),
        "commit": ([pc.options(pc.PUNCTUATED) + pc.commit()], "INVALID_ARGUMENT", "outside a transaction"),
        "malformed": ([open_transaction + pc.commit() + b"\x0a\xff"], "INVALID_ARGUMENT", "malformed"),
        "too large": ([open_transaction, *[pc.add() * 1000] * 20], "INVALID_ARGUMENT", "a patch of more than 65536"),
        "statements": (jg.FrameEncoder().encode_many(messages("quads", 1)), "INVALID_ARGUMENT", "statement type"),
        "no options": ([pc.add()], "INVALID_ARGUMENT", "options"),
        "no frame": ([], "INVALID_ARGUMENT", "no frame"),
    }
    with jg.Client(server.address) as client:
        for what, (sent, code, detail) in refused.items():
            with pytest.raises(jelly.JellyServiceError, match=detail) as caught:
                client.publish(sent, topic="t", kind="patches")
            assert caught.value.code == code, what

        def failing():
            yield from frames(patches(2), PUNCTUATED)
            yield from frames([patch(2, 50)], PUNCTUATED)[1:4]
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            client.publish(failing(), topic="t", kind="patches")
        with grpc.insecure_channel(server.address) as channel, pytest.raises(grpc.RpcError, match="no topic"):
            channel.stream_unary(PUBLISH_PATCH)(iter([pc.options(pc.FRAME)]), timeout=240)
        client.publish(patches(3), topic="t", kind="patches")
        found = list(client.subscribe("t", follow=False, kind="patches"))
        assert found[-3:] == patches(3)
        assert found[:-3] == patches(2)[: len(found) - 3]  # of the call that was cancelled, whole patches at most


@pytest.mark.parametrize("gzip", [False, True])
def test_a_patch_of_many_frames_is_no_larger_than_a_message(gzip, serve):
    """Whether its frames are compressed or not."""
    server = serve(max_message_bytes=1 << 16)
    rows = [Add((IRI("a:s"), IRI("a:p"), Literal(f"{i}" + "x" * 5000))) for i in range(20)]
    with jg.Client(server.address, compression="gzip" if gzip else None) as client:
        with pytest.raises(jelly.JellyServiceError, match="a patch of more than 65536 bytes"):
            client.publish(frames([Patch(rows)], FLAT, 1), topic="t", kind="patches")
        assert client.topics("t")[0].end == 0
        client.publish(frames([Patch(rows[:10])], FLAT, 1), topic="t", kind="patches")
        assert client.topics("t")[0].end == 1


def test_tables_are_no_larger_than_readers_take(serve, tmp_path):
    """A server that accepts larger ones serves them to all clients, and starts again."""
    sizes = {"max_name_table_size": 100_000, "max_prefix_table_size": 5000, "max_datatype_table_size": 1000}
    with jg.Topics(tmp_path) as topics:
        server = serve(topics, max_names=1 << 17, max_prefixes=1 << 17, max_datatypes=1 << 17)
        with jg.Client(server.address) as client:
            client.publish(messages("quads", 30), topic="s", options=options("quads", **sizes))
            assert numbers(client.subscribe("s", follow=False)) == [*range(30)]
            for kind in (FRAME, FLAT, PUNCTUATED):
                given = frames([patch(0)], kind, **sizes)
                client.publish(given, topic="p", kind="patches")
            assert list(client.subscribe("p", follow=False, kind="patches")) == [patch(0)] * 3
        server.close()
    with jg.Topics(tmp_path) as topics:
        assert [topics.get(name).end for name in ("s", "p")] == [30, 3]


def test_statements_and_patches_do_not_mix(serve, tmp_path):
    with jg.Topics(tmp_path) as topics:
        server = serve(topics)
        with jg.Client(server.address) as client:
            client.publish(messages("quads", 2), topic="s", options=options("quads"))
            client.publish(patches(2), topic="p", kind="patches")
            holds = "INVALID_ARGUMENT: topic '%s' holds %s: use %s and "
            patches_there = holds % ("p", "patches", "PublishPatch")
            statements_there = holds % ("s", "statements", "PublishRdf")
            with pytest.raises(jelly.JellyServiceError, match=patches_there):
                client.publish(messages("quads", 2), topic="p", options=options("quads"))
            with pytest.raises(jelly.JellyServiceError, match=statements_there):
                client.publish(patches(2), topic="s", kind="patches")
            with pytest.raises(jelly.JellyServiceError, match=patches_there):
                list(client.subscribe("p"))
            with pytest.raises(jelly.JellyServiceError, match=statements_there):
                list(client.subscribe("s", kind="patches"))
            with pytest.raises(jelly.JellyServiceError, match="INVALID_ARGUMENT: this is Jelly-Patch, not Jelly-RDF"):
                client.publish(frames(patches(1), FRAME), topic="s")
            # Options without patches bind nobody; nor does a file that holds nothing.
            client.publish(jg.FrameEncoder(options("quads")).encode_many([]), topic="n")
            client.publish(patches(1), topic="n", kind="patches")
            assert list(client.subscribe("n", follow=False, kind="patches")) == patches(1)
            # Who asks before the first publication learns it with the first message.
            client.publish(jg.FrameEncoder(options("quads")).encode_many([]), topic="m")
            feed = client.subscribe("m")
            failed: list[Exception] = []

            def listen():
                try:
                    list(feed)
                except jelly.JellyServiceError as error:
                    failed.append(error)

            thread = threading.Thread(target=listen)
            thread.start()
            until(lambda: server.handler.subscribers == 1)
            client.publish(patches(1), topic="m", kind="patches")
            thread.join(240)
            assert "topic 'm' holds patches" in str(failed)
        server.close()
    with jg.Topics(tmp_path) as topics:
        assert topics.names() == ["m", "n", "p", "s"]


def test_requested_options_of_patches(serve):
    server = serve()
    triples = PatchOptions(statement_type=1)
    one = Patch([Add((IRI("a:s"), IRI("a:p"), IRI("a:o")))])
    with jg.Client(server.address) as client:
        client.publish([one], topic="t", options=triples, kind="patches")
        client.publish(patches(1), topic="q", kind="patches")
        with pytest.raises(jelly.JellyServiceError, match="INVALID_ARGUMENT: statement type QUADS was offered"):
            client.publish(patches(1), topic="t", kind="patches")
        client.publish([one], topic="q", options=triples, kind="patches")  # triples are quads in the default graph
        assert len(list(client.subscribe("q", follow=False, kind="patches"))) == 2
        for asked, reason in (
            (PatchOptions(), "stream type PUNCTUATED was asked for"),
            (PatchOptions(stream_type=FRAME, statement_type=1), "statement type TRIPLES was asked for, this is QUADS"),
        ):
            with pytest.raises(jelly.JellyServiceError, match=f"INVALID_ARGUMENT: {reason}"):
                list(client.subscribe("q", options=asked, kind="patches"))
        feed = client.subscribe("t", follow=False, options=PatchOptions(stream_type=FRAME), kind="patches")
        assert list(feed) == [one]
        assert feed.options.statement_type == 2
        with grpc.insecure_channel(server.address) as channel:
            for request, code in ((b"\x0a\x01t\x12\x02\x08\x07", "INVALID_ARGUMENT"), (b"\xff", "INVALID_ARGUMENT"),
                                  (pack_subscribe("t") + b"\x12\x00", None), (b"", "NOT_FOUND")):  # fmt: skip
                call = channel.unary_stream(SUBSCRIBE_PATCH)(request, metadata=[("jelly-follow", "0")], timeout=240)
                if code is None:
                    assert len(list(call)) == 1
                else:
                    with pytest.raises(grpc.RpcError) as caught:
                        list(call)
                    assert caught.value.code().name == code
        rest = PatchOptions(stream_type=FRAME, max_name_table_size=64)
        assert list(client.subscribe("q", follow=False, options=rest, kind="patches"))[0] == patch(0)


def test_metadata_of_patches(serve):
    """The metadata of a frame that is a patch go along."""
    server = serve()
    with jg.Client(server.address) as client:
        body = pc.options(pc.FRAME) + pc.start() + pc.add() + pc.commit() + metadata("k", b"v")
        client.publish([body], topic="t", kind="patches")
        (batch,) = client.subscribe("t", follow=False, kind="patches").batches()
        assert batch.metadata == {0: {"k": b"v"}}


def test_asyncio(serve, tmp_path):
    """A subscription goes on after a restart of the broker, with the next patch."""
    topics = jg.Topics(tmp_path)
    server = serve(topics)
    address = server.address

    async def several():
        for one in patches(2, 3):
            yield one

    async def main():
        nonlocal server, topics
        async with jg.AsyncClient(address, retries=8) as client:
            assert await client.publish(patch(0), topic="t", kind="patches") == 1
            assert await client.publish(patches(2, 1), topic="t", kind="patches") == 2
            async with client.subscribe("t", kind="patches") as feed:
                found = aiter_of(feed)
                assert [await found.__anext__() for _ in range(3)] == patches(3)
                server.close()
                topics.close()
                topics = jg.Topics(tmp_path)
                server = serve(topics, address=address)
                assert await client.publish(several(), topic="t", kind="patches") == 2
                assert [await found.__anext__() for _ in range(2)] == patches(2, 3)
            with pytest.raises(TypeError, match="expected a Patch"):
                await client.publish([1], topic="t", kind="patches")

    asyncio.run(main())
    server.close()
    topics.close()


def aiter_of(feed):
    return feed.__aiter__()


def test_own_handlers_of_patches(serve):
    class Own(jg.Handler):
        kinds = ("patches",)

        def on_subscribe(self, call):
            return patches(3)

        async def on_publish(self, call):
            self.got = [len(batch) async for batch in call]

    class Both(jg.Handler):
        kinds = ("statements", "patches")

        async def on_subscribe(self, call):
            for item in patches(3) if call.kind == "patches" else messages("quads", 3):
                yield item

    class Flat(jg.Handler):
        kinds = ("patches",)

        def on_subscribe(self, call):
            return frames(patches(1), FLAT)

    with jg.Server(Own()) as server, jg.Client(server.address) as client:
        small = PatchOptions(stream_type=FRAME, max_name_table_size=8)
        for asked in (None, small):
            assert list(client.subscribe("t", options=asked, kind="patches")) == patches(3)
        client.publish(patches(2), topic="t", kind="patches")
        assert server.handler.got == [len(one) + 1 for one in patches(2)]
        with pytest.raises(jelly.JellyServiceError, match="UNIMPLEMENTED: this server has no statements"):
            list(client.subscribe("t"))
    with jg.Client(serve(handler=jg.Handler()).address) as client:
        with pytest.raises(jelly.JellyServiceError, match="UNIMPLEMENTED: this server has no patches"):
            list(client.subscribe("t", kind="patches"))
        with pytest.raises(jelly.JellyServiceError, match="UNIMPLEMENTED: this server has no patches"):
            client.publish(patches(1), topic="t", kind="patches")
    with jg.Client(serve(handler=Both()).address) as client:
        assert numbers(client.subscribe("t")) == [0, 1, 2]
        assert list(client.subscribe("t", kind="patches")) == patches(3)
        with pytest.raises(jelly.JellyServiceError, match="UNIMPLEMENTED: nothing can be published"):
            client.publish(patches(1), topic="t", kind="patches")
    with (
        jg.Server(Flat()) as server,
        jg.Client(server.address) as client,
        pytest.raises(jelly.JellyOptionsError, match="a stream of type FLAT: expected FRAME"),
    ):
        list(client.subscribe("t", kind="patches"))


def test_a_broker_that_is_killed_keeps_whole_patches(tmp_path):
    """kill -9 while a patch arrives: after the restart there are whole patches, of which the acknowledged ones all."""
    process, address = serve_command("--store", str(tmp_path))
    with jg.Client(address, retries=0) as client:
        client.publish(patches(10), topic="t", kind="patches")
        halves = frames([patch(0, 60)], PUNCTUATED)

        def killing():
            yield from frames(patches(3, 10), PUNCTUATED)
            yield from halves[1:4]
            os.kill(process.pid, signal.SIGKILL)
            yield from halves[4:]

        with pytest.raises(jelly.JellyServiceError):
            client.publish(killing(), topic="t", kind="patches")
    assert end(process) == -signal.SIGKILL
    process, address = serve_command("--store", str(tmp_path))
    try:
        with jg.Client(address) as client:
            found = list(client.subscribe("t", follow=False, kind="patches"))
            assert 10 <= len(found) <= 13
            assert found == patches(len(found))
            client.publish([patch(20)], topic="t", kind="patches")
            assert list(client.subscribe("t", start=len(found), follow=False, kind="patches")) == [patch(20)]
    finally:
        process.send_signal(signal.SIGTERM)
        assert end(process) == 0
    # A file that is torn in the middle of a patch, and one that holds half a patch.
    path = tmp_path / "t.jellyp"
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    assert jelly.grpc._topic_files.FileTopic("t", path).end == len(found)
    half = pc.options(pc.FRAME) + pc.start()
    path.write_bytes(put_varint(len(half)) + half)
    with pytest.raises(jelly.JellyError, match="t.jellyp"):
        jg.Topics(tmp_path)


@pytest.mark.parametrize("form", ["jellyp", "rdfp"])
def test_the_commands(form, tmp_path):
    testing = pytest.importorskip("click.testing", reason="the command needs click")
    from jelly.cli.commands import cli

    file = tmp_path / f"changes.{form}"
    given = [patch(i) for i in range(4)]
    with jelly.patch.PatchWriter(str(file)) as writer:
        for one in given:
            writer.write(one)
    expected = given if form == "jellyp" else [Patch([row for one in given for row in one])]
    process, address = serve_command("--topic", f"loaded={file}")

    def command(*arguments: str, code: int = 0) -> str:
        done = testing.CliRunner().invoke(cli, arguments)
        assert done.exit_code == code, done.output
        return done.output

    try:
        err = command("publish", str(file), address, "t")
        counts = f"{'4 patches' if form == 'jellyp' else '1 patch'}, {sum(map(len, given))} operations"
        assert f"{counts} acknowledged" in err
        got = tmp_path / "got.jellyp"
        err = command("subscribe", address, "t", "-o", str(got))
        assert counts in err
        assert jelly.patch.loads(got.read_bytes()) == expected
        with jg.Client(address) as client:
            assert list(client.subscribe("loaded", follow=False, kind="patches")) == expected
        printing = spawn("-m", "jelly", "subscribe", address, "t", "--to", "rdfp", "-n", "1")
        out, err = printing.communicate(timeout=240)
        assert printing.returncode == 0, err
        (first,) = jelly.patch.loads(out.encode(), format="rdfp")
        assert first == expected[0]
        err = command("subscribe", address, "t", code=1)
        assert "topic 't' holds patches" in err
        assert "--to rdfp" in err
    finally:
        process.send_signal(signal.SIGTERM)
        assert end(process) == 0


def test_the_classes_of_protoc(tmp_path, serve):
    """Generated classes of proto/broker.proto understand what is sent, and the broker what they send."""
    from grpc_tools import protoc

    proto = tmp_path / "out"
    proto.mkdir()
    root = pc.__file__.partition("tests")[0] + "proto"
    names = ("rdf.proto", "patch.proto", "broker.proto")
    assert protoc.main(["protoc", f"-I{root}", f"--python_out={proto}", f"--grpc_python_out={proto}", *names]) == 0
    server = serve()
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import grpc, broker_pb2, broker_pb2_grpc, patch_pb2\n"
        "with grpc.insecure_channel(sys.argv[2]) as channel:\n"
        "    stub = broker_pb2_grpc.PatchStreamServiceStub(channel)\n"
        "    request = broker_pb2.PatchSubscribe(topic='t', requested_options={'max_name_table_size': 50})\n"
        "    got = list(stub.SubscribePatch(request, timeout=240, metadata=[('jelly-follow', '0')]))\n"
        "    stub.PublishPatch(iter(got), timeout=240, metadata=[('jelly-topic', 'again')])\n"
        "    topics = broker_pb2_grpc.TopicServiceStub(channel)\n"
        "    told = topics.ListTopics(broker_pb2.TopicRequest(), timeout=240).topics\n"
        "    print(*[(one.name, one.patches, one.end, one.patch_options.stream_type) for one in told])\n"
        "    print(topics.DeleteTopic(broker_pb2.TopicRequest(name='t'), timeout=240).end)\n"
        "    print(len(got), got[0].rows[0].options.max_name_table_size, got[0].rows[-1].WhichOneof('row'))\n"
    )
    with jg.Client(server.address) as client:
        client.publish(patches(4), topic="t", kind="patches")
        process = spawn("-c", code, str(proto), server.address)
        out, err = process.communicate(timeout=240)
        told = "('again', True, 4, 1) ('t', True, 4, 1)"
        assert out.splitlines() == [told, "4", "4 50 transaction_commit"], err
        assert list(client.subscribe("again", follow=False, kind="patches")) == patches(4)


def test_the_service_of_the_specification_never_carries_patches(serve):
    """004-006. A client that knows only RdfStreamService cannot get bytes that it would take for statements."""
    server = serve()
    with jg.Client(server.address) as client, grpc.insecure_channel(server.address) as channel:
        client.publish(patches(1), topic="t", kind="patches")
        with pytest.raises(grpc.RpcError, match="holds patches"):
            list(channel.unary_stream(SUBSCRIBE)(pack_subscribe("t"), timeout=240))
        with pytest.raises(grpc.RpcError, match="not Jelly-RDF"):
            channel.stream_unary(PUBLISH)(iter(frames(patches(1), FRAME)), metadata=[(TOPIC, "u")], timeout=240)
        # One by one, as the text has it, each can be decoded with those before it.
        got = io.BytesIO()
        for frame in client.subscribe("t", follow=False, kind="patches").raw():
            got.write(put_varint(len(frame)) + frame)
        assert jelly.patch.loads(got.getvalue()) == patches(1)
