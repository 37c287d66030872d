"""Clients: connections that are lost, deadlines, cancellation, errors of both sides; and servers with own handlers."""

from __future__ import annotations

import asyncio
import contextlib
import io
import threading
import time
from types import SimpleNamespace

import grpc
import pytest
from serving import messages, numbers, options, plain, quiet_address, until
from support import blocking

import jelly
import jelly.grpc as jg
from jelly._core.terms.materialize import Materializer
from jelly.grpc import _server
from jelly.grpc._calls import Attempts

OPTIONS = options("quads")


def test_a_subscription_goes_on_after_a_restart(serve, tmp_path):
    topics = jg.Topics(tmp_path)
    server = serve(topics)
    found: list[list[int]] = [[], []]
    with jg.Client(server.address, retries=8) as client:
        client.publish(messages("quads", 3), topic="t", options=OPTIONS)
        feeds = [client.subscribe("t", start=start) for start in ("earliest", "latest")]
        threads = [
            threading.Thread(target=lambda i=i: found[i].extend(int(f.metadata["number"]) for f in feeds[i]))
            for i in range(2)
        ]
        for thread in threads:
            thread.start()
        until(lambda: len(found[0]) == 3)
        until(lambda: feeds[1].number == 3)  # has got none, and misses none
        address = server.address
        for start in (3, 5):
            server.close()
            topics.close()
            topics = jg.Topics(tmp_path)
            topics.get("t").fill(messages("quads", 1, start=start), OPTIONS)
            server = serve(topics, address=address)
            client.publish(messages("quads", 1, start=start + 1), topic="t", options=OPTIONS)
            until(lambda n=start + 2: len(found[0]) == n and len(found[1]) == n - 3)
        for feed in feeds:
            feed.close()
        for thread in threads:
            thread.join(240)
    assert found == [[*range(7)], [*range(3, 7)]]
    server.close()
    topics.close()


def test_an_async_subscription_goes_on_after_a_restart(serve, tmp_path):
    topics = jg.Topics(tmp_path)
    server = serve(topics)
    address = server.address

    async def main():
        nonlocal server, topics
        async with jg.AsyncClient(address, retries=8) as client, client.subscribe("t") as feed:
            frames = aiter_of(feed)
            await client.publish(messages("quads", 2), topic="t", options=OPTIONS)
            assert numbers([await frames.__anext__() for _ in range(2)]) == [0, 1]
            server.close()
            topics.close()
            topics = jg.Topics(tmp_path)
            server = serve(topics, address=address)
            await client.publish(messages("quads", 2, start=2), topic="t", options=OPTIONS)
            assert numbers([await frames.__anext__() for _ in range(2)]) == [2, 3]

    async def started():
        async with jg.AsyncClient(address) as client:
            await client.publish(messages("quads", 0), topic="t", options=OPTIONS)

    asyncio.run(started())
    asyncio.run(main())
    server.close()
    topics.close()


def aiter_of(feed):
    return feed.__aiter__()


@pytest.mark.bounded
def test_a_server_that_is_not_there_yet(serve, monkeypatch):
    address = quiet_address()
    with jg.Client(address, retries=2) as client:
        start = time.monotonic()
        for work in (lambda: client.publish([b""]), lambda: list(client.subscribe("t"))):
            with pytest.raises(jelly.JellyServiceError, match="UNAVAILABLE"):
                work()
        assert time.monotonic() - start > 0.4
        # There is no time for another try.
        with monkeypatch.context() as own:
            own.setattr("jelly.grpc._calls.FIRST_WAIT", 400)
            own.setattr("jelly.grpc._calls.LONGEST_WAIT", 400)
            with pytest.raises(ConnectionError):
                client.publish([b""], timeout=240)
    with jg.Client(address, retries=8) as client:
        later = threading.Timer(0.3, lambda: serve(address=address))
        later.start()
        assert client.publish(messages("quads", 2), topic="t", options=OPTIONS) == 2
        later.join()

    async def nobody():
        async with jg.AsyncClient("127.0.0.1:1", retries=1) as client:
            with pytest.raises(jelly.JellyServiceError, match="UNAVAILABLE"):
                await client.publish([b""])
            with pytest.raises(jelly.JellyServiceError, match="UNAVAILABLE"):
                await client.subscribe("t").raw().__anext__()

    asyncio.run(nobody())


class Away(grpc.RpcError):
    """The error of a lost connection."""

    def code(self):
        return grpc.StatusCode.UNAVAILABLE

    def details(self):
        return "lost"


def test_a_quiet_topic_and_connections_that_are_lost_now_and_then(monkeypatch):
    """Only attempts in a row count: a call that was answered, and lasted, begins a new row, also without a message."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("jelly.grpc._calls.time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr("jelly.grpc._calls.FIRST_WAIT", 0.001)

    class Call:
        def __init__(self, seconds, *frames):
            self.seconds, self.frames = seconds, frames

        def initial_metadata(self):
            return [("jelly-first", "7")]

        def __iter__(self):
            yield from self.frames
            clock.now += self.seconds
            if not self.frames:
                raise Away

        def cancel(self):
            """Nothing to end."""

    def feed(*calls):
        next_call = iter(calls).__next__
        client = SimpleNamespace(_metadata=lambda *_, **__: [], _subscribe={"statements": lambda *_, **__: next_call()})
        return jg.Feed(client, "statements", b"", (None, None, None), Attempts(2, None))

    assert list(feed(*[Call(60)] * 9, Call(0, b"frame")).raw()) == [b"frame"]
    with pytest.raises(jelly.JellyServiceError, match="UNAVAILABLE: lost"):
        list(feed(*[Call(0)] * 3, Call(0, b"frame")).raw())


def test_a_server_that_is_away_for_hours():
    """Attempts go on, at most 6 seconds apart, however many have failed."""
    attempts = Attempts(10_000, None)
    waits = [attempts.wait(Away()) for _ in range(3000)]
    assert attempts.failed == 3000
    assert waits[0] < 0.2
    assert all(4 <= wait <= 6 for wait in waits[6:])


@pytest.mark.bounded
def test_deadlines(serve):
    server = serve()
    with jg.Client(server.address) as client:
        client.publish(messages("quads", 2), topic="t", options=OPTIONS)
        found = []
        start = time.monotonic()
        with pytest.raises(jelly.JellyTimeoutError, match="DEADLINE_EXCEEDED"):
            found.extend(frame for frame in client.subscribe("t", timeout=0.3))
        assert time.monotonic() - start > 0.2

        def slowly():
            yield from messages("quads", 1)
            time.sleep(0.6)
            yield from messages("quads", 1)

        with pytest.raises(TimeoutError):
            client.publish(slowly(), topic="t", options=OPTIONS, timeout=0.3)

        async def main():
            async with jg.AsyncClient(server.address) as asynchronous:
                with pytest.raises(jelly.JellyTimeoutError):
                    async for _ in asynchronous.subscribe("t", timeout=0.3):
                        pass

        asyncio.run(main())
    until(lambda: server.handler.subscribers == 0)


def test_cancellation(serve):
    server = serve()
    with jg.Client(server.address) as client:
        client.publish(messages("quads", 2), topic="t", options=OPTIONS)
        feed = client.subscribe("t")
        found = []
        thread = threading.Thread(target=lambda: found.extend(feed))
        thread.start()
        until(lambda: len(found) == 2)
        feed.close()
        thread.join(240)
        assert not thread.is_alive()

        async def main():
            async with jg.AsyncClient(server.address) as asynchronous:
                feed = asynchronous.subscribe("t")
                got = []

                async def listen(feed):
                    async for frame in feed:
                        got.append(frame)

                task = asyncio.create_task(listen(feed))
                while len(got) < 2:
                    await asyncio.sleep(0.01)
                feed.close()
                await asyncio.wait_for(task, 10)  # ends, and raises nothing
                task = asyncio.create_task(listen(asynchronous.subscribe("t")))
                while len(got) < 4:
                    await asyncio.sleep(0.01)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task

        asyncio.run(main())
        until(lambda: server.handler.subscribers == 0)


def test_what_the_items_raise(serve):
    """It comes out of publish, and the call ends: what came before is there, no more."""
    server = serve()

    def failing():
        yield from messages("quads", 3)
        raise ZeroDivisionError("of the items")

    async def failing_later():
        for item in messages("quads", 3):
            yield item
        raise ZeroDivisionError("of the items")

    async def main():
        async with jg.AsyncClient(server.address) as client:
            with pytest.raises(ZeroDivisionError):
                await client.publish(failing_later(), topic="u", options=OPTIONS)
            begun = asyncio.Event()

            async def endless():
                for item in messages("quads", 3):
                    yield item
                begun.set()
                await asyncio.sleep(3600)

            task = asyncio.create_task(client.publish(endless(), topic="v", options=OPTIONS))
            await asyncio.wait_for(begun.wait(), 240)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with jg.Client(server.address) as client:
        with pytest.raises(ZeroDivisionError, match="of the items"):
            client.publish(failing(), topic="t", options=OPTIONS)
        with pytest.raises(jelly.JellyOptionsError, match="one of groups"):
            client.publish(
                jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"), topic="t", options=options("graph messages")
            )
        asyncio.run(main())
        assert client.publish(messages("quads", 2, start=3), topic="t", options=OPTIONS) == 2
        got = numbers(client.subscribe("t", follow=False))
        assert got[-2:] == [3, 4]
        assert got[:-2] == [*range(len(got) - 2)]


class Own(jg.Handler):
    """Does what the topic says."""

    def __init__(self, raw):
        self.ended = threading.Event()
        self.frame = messages("quads", 1)[0]
        if raw:
            self.frame = jg.FrameEncoder(OPTIONS).encode(self.frame)

    async def on_subscribe(self, call):
        self.ended = threading.Event()
        try:
            yield self.frame
            if call.topic == "refuse":
                raise jg.Refusal("FAILED_PRECONDITION", "not today")
            if call.topic == "fail":
                raise ZeroDivisionError("a secret")
            while call.topic == "wait":
                await asyncio.sleep(0.01)
        finally:  # also where the client goes away before the server asks for more
            self.ended.set()


@pytest.mark.parametrize("raw", [False, True])
def test_own_handlers(raw, caplog):
    with jg.Server(Own(raw)) as server, jg.Client(server.address) as client:
        assert numbers(client.subscribe("good")) == [0]
        with pytest.raises(jelly.JellyServiceError, match="FAILED_PRECONDITION: not today"):
            list(client.subscribe("refuse"))
        assert "ZeroDivisionError" not in caplog.text
        with pytest.raises(jelly.JellyServiceError, match="INTERNAL: the server failed") as caught:
            list(client.subscribe("fail"))
        assert "secret" not in str(caught.value)
        assert "a secret" in caplog.text  # the log tells
        with pytest.raises(jelly.JellyServiceError, match="UNIMPLEMENTED: nothing can be published"):
            client.publish(messages("quads", 1), topic="t", options=OPTIONS)
        feed = client.subscribe("wait")
        frames = iter(feed)
        next(frames)
        feed.close()
        assert server.handler.ended.wait(240)
    with pytest.raises(ValueError, match="not the name of a status code"):
        jg.Refusal("OOPS", "x")


def test_waiting_subscribers_block_nobody():
    """Subscriptions that wait leave room for publications and health checks, also in a server that runs in a thread."""
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    with jg.Server(jg.Broker()) as server, jg.Client(server.address) as client:
        feeds = [client.subscribe("t") for _ in range(40)]
        found: list[list[int]] = [[] for _ in feeds]
        client.publish(messages("quads", 1), topic="t", options=OPTIONS)
        threads = [
            threading.Thread(target=lambda i=i: found[i].extend(int(f.metadata["number"]) for f in feeds[i]))
            for i in range(len(feeds))
        ]
        for thread in threads:
            thread.start()
        until(lambda: server.handler.subscribers == len(feeds))
        client.publish(messages("quads", 1, start=1), topic="t", options=OPTIONS, timeout=60)
        with grpc.insecure_channel(server.address) as channel:
            health = health_pb2_grpc.HealthStub(channel)
            assert health.Check(health_pb2.HealthCheckRequest(), timeout=60).status == 1
        until(lambda: all(len(one) == 2 for one in found))
        for feed in feeds:
            feed.close()
        for thread in threads:
            thread.join(240)
    assert found == [[0, 1]] * len(feeds)


def test_a_server_starts_and_stops_in_each_way():
    server = jg.Server(jg.Handler())
    server.stop()  # which does nothing yet
    for _ in range(2):
        with server:
            waiting = threading.Thread(target=server.wait)
            waiting.start()
            assert jg.Client(server.address)._probe(b"", timeout=60) is not None
            server.stop(0.1)
            waiting.join(240)
            assert not waiting.is_alive()

    async def main():
        serving = asyncio.create_task(server.serve_forever())
        await asyncio.sleep(0.2)
        async with jg.AsyncClient(server.address, retries=0) as client:
            with pytest.raises(jelly.JellyServiceError, match="UNIMPLEMENTED"):
                await client.topics()
        server.stop(0.1)
        await asyncio.wait_for(serving, 240)

    asyncio.run(main())


@pytest.mark.bounded
@pytest.mark.parametrize("how", ["once", "always", "blocks"])
@pytest.mark.parametrize("grace", [0, 0.1])
def test_a_server_does_not_wait_for_a_handler_that_does_not_end(how, grace, monkeypatch):
    monkeypatch.setattr(_server, "END", 1.0)
    begun, over = threading.Event(), threading.Event()

    class Stubborn(jg.Handler):
        async def on_publish(self, call):
            begun.set()
            if how == "blocks":
                over.wait(240)
            for _ in range(2 if how == "once" else 1000):
                with contextlib.suppress(asyncio.CancelledError):
                    while not over.is_set():
                        await asyncio.sleep(0.01)

    server = jg.Server(Stubborn())
    server.start()
    with jg.Client(server.address) as client:
        publishing = threading.Thread(target=refused, args=(client,))
        publishing.start()
        assert begun.wait(240)
        began = time.monotonic()
        server.stop(grace)
        assert time.monotonic() - began < 60
        over.set()
        server.wait()
        publishing.join(240)


def refused(client):
    with contextlib.suppress(jelly.JellyServiceError):
        client.publish(messages("quads", 1), topic="t", timeout=240)


def test_the_blocking_client_is_made_from_the_other():
    """``cd tests; python -m support.blocking`` writes it."""
    assert blocking.TARGET.read_text("utf-8") == blocking.blocking()


def test_metadata_that_cannot_be_sent(serve):
    """Such as a token with the end of its line: the server is not asked, and the error does not show it."""
    server = serve()
    for token, metadata in (
        ("s3cret\n", None), ("s\u00e9cret", None), (None, {"Name": "x"}), (None, {"a name": "x"}), (None, {"": "x"}),
        (None, {"name": "\u00e9"}), (None, {"name-bin": "x"}),
    ):  # fmt: skip
        with jg.Client(server.address, token=token) as client:
            with pytest.raises(jelly.JellyArgumentError, match="the metadata '.*' cannot be sent") as caught:
                client.publish(messages("quads", 1), topic="t", options=OPTIONS, metadata=metadata)
            assert "cret" not in str(caught.value)
            with pytest.raises(jelly.JellyArgumentError, match="the metadata '.*' cannot be sent"):
                list(client.subscribe("t", metadata=metadata))


def test_metadata_goes_along(serve):
    class Telling(jg.Handler):
        def on_subscribe(self, call):
            return [jelly.Frame(0, [], {key: value.encode() for key, value in call.metadata.items()})]

    with jg.Server(Telling()) as server, jg.Client(server.address) as client:
        (frame,) = client.subscribe("t", metadata={"own": "value"}, start="latest")
        assert frame.metadata["own"] == b"value"
        assert frame.metadata["jelly-start"] == b"latest"


def test_the_first_frame_decides(serve):
    """As for `jelly.Writer`, all of it: a named graph may come after a triple."""
    triple = jelly.Triple(*[jelly.IRI("a:s")] * 3)
    quad = jelly.Quad(*triple, jelly.IRI("a:g"))
    both = [jelly.Quad(*triple, jelly.DefaultGraph()), quad]
    server = serve()
    with jg.Client(server.address) as client:
        for name, items in {"statements": [triple, quad], "frames": [jelly.Frame(0, [triple, quad])]}.items():
            client.publish(items, topic=name)
            assert list(client.subscribe(name, follow=False).statements()) == both
        client.publish([triple, triple], topic="triples")
        assert list(client.subscribe("triples", follow=False).statements()) == [triple, triple]
        for topic, options, items in (  # a topic each: a frame may be stored before the call is cancelled
            ("physical", {"physical_type": 1}, [triple, quad]), ("logical", {"logical_type": 1}, [triple, quad]),
            ("later frame", None, [jelly.Frame(0, [triple]), jelly.Frame(1, [quad])]),
            ("later statement", None, [triple] * 256 + [quad]),
        ):  # fmt: skip
            with pytest.raises(jelly.JellyOptionsError, match="cannot go into a stream of triples"):
                client.publish(items, topic=topic, options=options)


def test_items_of_all_kinds(serve):
    server = serve()
    text = b"".join(b'<a:s%d> <a:p> "%d" <a:g> .\n' % (i // 3, i) for i in range(600))
    statements = list(jelly.read(text, format="nq"))
    with jg.Client(server.address) as client:
        ways = {
            "statements": iter(statements),
            "batches": jelly.scan(text, format="nq").batches(),
            "jelly batches": jelly.scan(jelly.dumps(statements)).batches(),
            "frames": [jelly.Frame(0, statements[:300]), jelly.Frame(1, statements[300:])],
            "bytes": jg.FrameEncoder().encode_many(statements),
        }
        for topic, items in ways.items():
            client.publish(items, topic=topic)
            assert list(client.subscribe(topic, follow=False).statements()) == statements
        assert plain(client.subscribe("frames", follow=False))[1][0] == [str(s) for s in statements[300:]]


def test_messages_are_frames(serve):
    """With metadata, notes and namespaces. Two messages have as many statements as a statement has terms."""
    log = io.BytesIO()
    rows = list(jelly.read(b"".join(b'<a:s> <a:p> "%d" <a:g> .\n' % i for i in range(9)), format="nq"))
    with jelly.messages.MessageWriter(log) as writer:
        for n in (3, 0, 4, 2):
            writer.write(rows[:n], metadata={"n": b"%d" % n}, note=f"note {n}", namespaces=[("a", "a:")])
    read = list(jelly.messages.read_messages(log.getvalue()))
    server = serve()
    with jg.Client(server.address) as client:
        assert client.publish(iter(read), topic="log") == 4
        found = list(client.subscribe("log", follow=False))
        assert [frame.statements for frame in found] == [message.statements for message in read]
        assert [frame.metadata for frame in found] == [message.metadata for message in read]
        assert [dict(frame.namespaces) for frame in found] == [dict(message.namespaces) for message in read]
        assert jelly.loads(jg.FrameEncoder().encode(read[2]), delimited=False) == rows[:4]


def test_a_closed_client_says_so_as_other_closed_objects_do():
    async def asynchronous(address):
        client = jg.AsyncClient(address)
        await client.close()
        for call in (client.topics(), client.delete_topic("x"), client.publish([], topic="x")):
            with pytest.raises(ValueError, match="the AsyncClient is closed"):
                await call
        with pytest.raises(ValueError, match="the AsyncClient is closed"):
            async for _ in client.subscribe("x"):
                pass

    with jg.Server(jg.Broker()) as server:
        client = jg.Client(server.address)
        client.close()
        for call in (
            client.topics, lambda: client.delete_topic("x"), lambda: client.publish([], topic="x"),
            lambda: list(client.subscribe("x")),
        ):  # fmt: skip
            with pytest.raises(ValueError, match="the Client is closed"):
                call()
        asyncio.run(asynchronous(server.address))


@pytest.mark.parametrize("given", [None, {"version": 2}, jelly.StreamOptions(), jelly.StreamOptions.small()])
def test_single_statements_are_collected_to_frames(given):
    a, b, text = jelly.IRI("a:a"), jelly.BlankNode("b"), jelly.Literal("c", language="en")
    rows = [jelly.Triple(a, jelly.IRI(f"a:p{n // 2}"), text if n % 3 else b) for n in range(8)]
    rows += [jelly.Quad(*row, jelly.DefaultGraph()) for row in rows]
    single = list(jg.FrameEncoder(given, frame_rows=3).encode_many(rows))
    decoder = jg.FrameDecoder()
    batches = [decoder.decode(frame) for frame in single]
    assert [len(batch) for batch in batches] == [3, 3, 3, 3, 3, 1]
    assert [row for batch in batches for row in Materializer(batch).statements()] == 2 * rows[:8]
    with pytest.raises(jelly.JellyArgumentError, match="cannot be mixed"):
        list(jg.FrameEncoder().encode_many([*rows[:2], single[0]]))
