"""The broker under load and while processes die: replay, fan-out, slow subscribers, kill -9."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path

import pytest
from serving import end, messages, numbers, options, plain, serve_command, spawn, until

import jelly
import jelly.grpc as jg
import jelly.grpc._topic
from jelly import IRI, Frame, Literal, Triple

OPTIONS = options("quads")
KILLS = 50 if os.environ.get("JELLY_LONG") else 3


def big(i, size=20_000):
    return Frame(i, [Triple(IRI("a:s"), IRI("a:p"), Literal(f"{i} " + "x" * size))], {"number": b"%d" % i})


def resident(pid):
    """Bytes of a process in memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


def test_replay_and_what_comes(serve):
    server = serve()
    with jg.Client(server.address) as client:
        client.publish(messages("quads", 4), topic="t", options=OPTIONS)
        found: dict[str, list[int]] = {"earliest": [], "latest": [], "2": [], "none": []}
        starts = {"earliest": "earliest", "latest": "latest", "2": 2, "none": None}
        feeds = {name: client.subscribe("t", start=start) for name, start in starts.items()}
        threads = [
            threading.Thread(target=lambda n=name: found[n].extend(int(f.metadata["number"]) for f in feeds[n]))
            for name in feeds
        ]
        for thread in threads:
            thread.start()
        until(lambda: server.handler.subscribers == 4)
        until(lambda: feeds["latest"].number == 4)
        client.publish(messages("quads", 3, start=4), topic="t", options=OPTIONS)
        until(lambda: all(feed.number == 7 for feed in feeds.values()))
        for feed in feeds.values():
            feed.close()
        for thread in threads:
            thread.join(240)
        assert found == {"earliest": [*range(7)], "none": [*range(7)], "latest": [4, 5, 6], "2": [2, 3, 4, 5, 6]}
        until(lambda: server.handler.subscribers == 0)
        assert server.handler.topics.get("t").watchers == 0
        with pytest.raises(jelly.JellyServiceError, match="OUT_OF_RANGE: .*messages up to 6, 8 was asked for"):
            list(client.subscribe("t", start=8))
        with pytest.raises(jelly.JellyServiceError, match="NOT_FOUND: there is no topic 'u'"):
            list(client.subscribe("u"))
        for start in ("soon", "-1", "1" * 30):
            with pytest.raises(jelly.JellyServiceError, match="INVALID_ARGUMENT: jelly-start"):
                list(client.subscribe("t", start=start))


def test_the_earliest_message_is_dropped_meanwhile(serve, monkeypatch):
    """Between the question which is the oldest and reading it: the subscriber gets the one that is the oldest then."""
    monkeypatch.setattr(jelly.grpc._topic, "SEGMENT_MESSAGES", 4)
    topics = jg.Topics(keep=8)
    server = serve(topics)
    with jg.Client(server.address) as client:
        client.publish(messages("quads", 8), topic="t", options=OPTIONS)
        topic, read = topics.get("t"), jelly.grpc._topic.Topic.read

        def late(self, number):
            monkeypatch.setattr(jelly.grpc._topic.Topic, "read", read)
            topic.fill(messages("quads", 40, start=8), OPTIONS)
            return read(self, number)

        for start in (None, "earliest"):
            monkeypatch.setattr(jelly.grpc._topic.Topic, "read", late)
            before = topic.first
            feed = client.subscribe("t", start=start)
            frames = iter(feed)
            next(frames)
            assert topic.first > before
            assert feed.number == topic.first + 1
            feed.close()
        monkeypatch.setattr(jelly.grpc._topic.Topic, "read", late)
        with pytest.raises(jelly.JellyServiceError, match="OUT_OF_RANGE"):
            list(client.subscribe("t", start=topic.first))


def test_a_hundred_subscribers(serve):
    server = serve(max_message_bytes=1 << 20)
    given = messages("quads", 60)

    async def main() -> None:
        async with jg.AsyncClient(server.address) as publisher:
            clients = [jg.AsyncClient(server.address) for _ in range(10)]
            await publisher.publish(given[:20], topic="t", options=OPTIONS)
            small = options("quads", max_name_table_size=16)

            async def listen(i: int) -> list[Frame]:
                found = []
                async for frame in clients[i % 10].subscribe("t", options=small if i % 4 == 0 else None):
                    found.append(frame)
                    if len(found) == 60:
                        break
                return found

            tasks = [asyncio.create_task(listen(i)) for i in range(100)]
            for start in range(20, 60, 5):
                await publisher.publish(given[start : start + 5], topic="t", options=OPTIONS)
                await asyncio.sleep(0.005)
            for found in await asyncio.wait_for(asyncio.gather(*tasks), 40):
                assert plain(found) == plain(given)
            for client in clients:
                await client.close()

    asyncio.run(main())
    until(lambda: server.handler.subscribers == 0)


def test_limits_of_subscribers_and_topics(serve):
    broker = jg.Broker(jg.Topics(max_topics=1), max_subscribers=2)
    server = serve(handler=broker)
    with jg.Client(server.address) as client:
        client.publish(messages("quads", 2), topic="t", options=OPTIONS)
        with pytest.raises(jelly.JellyServiceError, match="RESOURCE_EXHAUSTED: there are 1 topics"):
            client.publish(messages("quads", 2), topic="u", options=OPTIONS)
        feeds = [client.subscribe("t") for _ in range(2)]
        held = [iter(feed) for feed in feeds]  # dropped, they would end
        for frames in held:
            next(frames)
        with pytest.raises(jelly.JellyServiceError, match="RESOURCE_EXHAUSTED: .* 2 subscribers"):
            list(client.subscribe("t"))
        for feed in feeds:
            feed.close()
        until(lambda: broker.subscribers == 0)
        assert len(list(client.subscribe("t", follow=False))) == 2
    closed = serve(handler=jg.Broker(create=False))
    with (
        jg.Client(closed.address) as client,
        pytest.raises(jelly.JellyServiceError, match="NOT_FOUND: there is no topic 't'"),
    ):
        client.publish(messages("quads", 2), topic="t", options=OPTIONS)


def test_big_frames_leave_the_event_loop_alone(serve, monkeypatch):
    """They are decoded and encoded in other threads; the small ones are not, which costs less."""
    seen = set()

    def note(kind, name):
        method = getattr(kind, name)

        def noted(self, *arguments):
            seen.add((name, threading.current_thread() is server._thread, len(bytes(arguments[0])) > 1000))
            return method(self, *arguments)

        monkeypatch.setattr(kind, name, noted)

    server = serve()
    note(jg.Publication, "_decode")
    note(jelly.grpc._topic.Reading, "_recode")
    with jg.Client(server.address) as client:
        client.publish([big(0, 5), big(1, 300_000)], topic="t", options=options("graph messages"))
        small = options("graph messages", max_name_table_size=8)
        assert numbers(client.subscribe("t", follow=False, options=small)) == [0, 1]
    assert seen == {(name, not large, large) for name in ("_decode", "_recode") for large in (False, True)}


def test_a_subscriber_is_killed(serve):
    server = serve()
    with jg.Client(server.address) as client:
        client.publish([big(i) for i in range(50)], topic="t", options=options("graph messages"))
        code = (
            "import sys, time, jelly.grpc\nfeed = jelly.grpc.Client(sys.argv[1]).subscribe('t')\n"
            "frames = feed.raw()\nnext(frames)\nprint('one', flush=True)\ntime.sleep(60)"
        )
        process = spawn("-c", code, server.address)
        assert process.stdout.readline() == "one\n"
        with client.subscribe("t") as feed:
            frames = iter(feed)
            assert numbers(next(frames) for _ in range(50)) == [*range(50)]
            assert server.handler.subscribers == 2
            process.kill()
            end(process)
            until(lambda: server.handler.subscribers == 1)
            client.publish([big(i) for i in range(50, 60)], topic="t", options=options("graph messages"))
            assert numbers(next(frames) for _ in range(10)) == [*range(50, 60)]
        until(lambda: server.handler.subscribers == 0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of another process from /proc")
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.bounded
def test_memory_with_a_subscriber_that_never_reads(stored, tmp_path):
    """60 MB go through; the broker keeps 100 messages of 20 kB, or everything on disk."""
    process, address = serve_command(*(["--store", str(tmp_path)] if stored else ["--keep", "100"]))
    try:
        with jg.Client(address) as client:
            graphs = options("graph messages")
            client.publish([big(i) for i in range(200)], topic="t", options=graphs)
            feed = client.subscribe("t")
            frames = iter(feed)
            first = next(frames)
            before = resident(process.pid)
            client.publish((big(i) for i in range(200, 3200)), topic="t", options=graphs)
            assert resident(process.pid) - before < 30 << 20
            if stored:
                assert numbers([first, *(next(frames) for _ in range(3199))]) == [*range(3200)]
                feed.close()
            else:
                with pytest.raises(jelly.JellyServiceError, match="RESOURCE_EXHAUSTED: the subscriber was too slow"):
                    list(frames)
            assert len(list(client.subscribe("t", start=3190, follow=False))) == 10
    finally:
        process.send_signal(signal.SIGTERM)
        assert end(process) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of another process from /proc")
@pytest.mark.parametrize("kept", [["--keep", "300"], ["--store", "{}", "--keep-bytes", "100M"]])
@pytest.mark.bounded
def test_memory_with_a_slow_subscriber_and_a_fast_publisher(kept, tmp_path):
    """The subscriber takes a twentieth of what is published meanwhile: memory stays as it is."""
    process, address = serve_command(*(argument.format(tmp_path) for argument in kept))
    try:
        with jg.Client(address) as client, jg.Client(address) as other:
            sizes, taken = [], []
            graphs = options("graph messages")
            for lot in range(24):
                client.publish([big(100 * lot + i) for i in range(100)], topic="t", options=graphs)
                if lot == 0:
                    frames = iter(other.subscribe("t"))
                if lot < 3 or "--store" in kept:  # in memory it falls behind what is kept
                    taken += numbers(next(frames) for _ in range(5))
                sizes.append(resident(process.pid))
            assert taken == [*range(len(taken))]
            # The first 10 MB fill what is kept, and the windows of the connections.
            assert max(sizes[8:]) - sizes[7] < 6 << 20
    finally:
        process.send_signal(signal.SIGTERM)
        assert end(process) == 0


@pytest.mark.timeout(900 if KILLS < 50 else 1800)
def test_kill_9_while_publishing(tmp_path):
    """After each restart every acknowledged message is there once and in order; of the others a beginning at most."""
    acknowledged, sent, restarts = [], 0, 0
    while restarts < KILLS:
        # With a limit each restart begins another file.
        limit = ["--keep-age", "1d"] if restarts % 2 else []
        process, address = serve_command("--store", str(tmp_path), *limit)
        with jg.Client(address, retries=0) as client:
            if restarts:
                there = numbers(client.subscribe("t", follow=False))
                known = set(acknowledged)
                assert [n for n in there if n in known] == acknowledged
                assert there == sorted(set(there))
                assert len(there) - len(acknowledged) <= 40 * restarts
            # From another thread, in the middle of something.
            killer = threading.Timer(0.25 + 0.1 * (restarts % 5), lambda p=process: os.kill(p.pid, signal.SIGKILL))
            killer.start()
            with pytest.raises(jelly.JellyServiceError) as died:  # noqa: PT012 - whichever of them it is
                while True:
                    lot = messages("dataset messages", 40 if sent % 3 == 0 else 1, start=sent)
                    sent += len(lot)
                    client.publish(lot, topic="t", options=options("dataset messages"), timeout=240)
                    acknowledged += [int(frame.metadata["number"]) for frame in lot]
            assert died.value.code in ("UNAVAILABLE", "CANCELLED", "UNKNOWN")
            killer.join()
        assert end(process) == -signal.SIGKILL
        restarts += 1
    assert len(acknowledged) > 20
    assert len(list(tmp_path.glob("*.jelly"))) > (KILLS > 3)
    with jg.Topics(tmp_path) as topics:
        assert len(acknowledged) <= topics.get("t").end <= sent
