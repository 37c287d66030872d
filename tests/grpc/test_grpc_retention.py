"""What a topic keeps, on the disk and in memory: limits, numbers that stay, files, fsync, deletion."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from random import Random
from types import SimpleNamespace

import pytest
from serving import make_topic, messages, numbers, options, plain, until

import jelly
import jelly.grpc as jg
import jelly.grpc._topic
import jelly.grpc._topic_files
from jelly._streams.frames import frame_of
from jelly.grpc._topic import Missed

OPTIONS = options("quads")


@pytest.fixture(autouse=True)
def small_segments(monkeypatch):
    monkeypatch.setattr(jelly.grpc._topic, "SEGMENT_MESSAGES", 7)


@pytest.fixture
def clock(monkeypatch):
    """The time for topics, which a test sets."""
    clock = SimpleNamespace(now=1_000_000.0)
    monkeypatch.setattr(jelly.grpc._topic, "time", SimpleNamespace(time=lambda: clock.now))
    return clock


def make(path, **limits):
    return make_topic("t", path, **limits)


def fill(topic, start, stop):
    topic.fill(messages("quads", stop - start, start=start), OPTIONS)


def read(topic, number=None):
    """All messages from a number on, as a subscriber gets them."""
    number = topic.first if number is None else number
    decoder, found = jg.FrameDecoder(), []
    while number < topic.end:
        start, frames = topic.read(number)
        batches = [decoder.decode(frame) for frame in frames]
        found += [frame_of(batch, 0) for batch in batches[number - start :]]
        number = start + len(frames)
    return numbers(found)


@pytest.mark.parametrize("stored", [False, True])
def test_bytes_that_are_kept(stored, tmp_path):
    """Old files go as a whole, at a keyframe; what is left keeps its numbers, also after a restart."""
    path = tmp_path / "t.jelly" if stored else None
    topic = make(path, keep_bytes=20_000)
    largest = 0
    for start in range(0, 400, 50):
        fill(topic, start, start + 50)
        largest = max(largest, topic.size)
        assert read(topic) == [*range(topic.first, topic.end)]
    assert topic.end == 400
    assert 12_000 < topic.size <= largest < 25_000
    assert topic.first > 200
    for gone in (0, topic.first - 1):
        with pytest.raises(Missed, match=f"keeps messages from {topic.first} on, {gone} is gone"):
            topic.read(gone)
    if not stored:
        return
    files = sorted(tmp_path.glob("*.jelly"))
    assert len(files) > 3
    assert sum(file.stat().st_size for file in files) == topic.size
    assert files[0].name == f"t@{topic.first:020}.jelly"
    for file in files:  # each is whole by itself
        first = int(file.stem.partition("@")[2])
        frames = list(jelly.scan(file).frames())
        assert numbers(frames) == [*range(first, first + len(frames))]
    topic.close()
    again = make(path, keep_bytes=20_000)
    assert (again.first, again.end) == (topic.first, 400)
    assert (again.size, again.statements) == (topic.size, topic.statements)
    assert again.statements == sum(len(frame) for file in files for frame in jelly.scan(file).frames())
    fill(again, 400, 410)
    assert read(again) == [*range(again.first, 410)]
    again.close()
    # Without limits nothing more goes.
    unlimited = make(path)
    first = unlimited.first
    fill(unlimited, 410, 500)
    assert read(unlimited, 405) == [*range(405, 500)]
    assert unlimited.first == first
    unlimited.close()


@pytest.mark.parametrize("stored", [False, True])
def test_an_age_that_is_kept(stored, tmp_path, clock):
    topic = make(tmp_path / "t.jelly" if stored else None, keep_age=800)
    for i in range(20):
        clock.now += 100
        fill(topic, 10 * i, 10 * i + 10)
    kept = (topic.end - topic.first) // 10
    assert 8 <= kept <= 10
    assert read(topic) == [*range(topic.first, 200)]
    clock.now += 400
    topic.trim()
    assert 4 <= (topic.end - topic.first) // 10 <= 6
    clock.now += 5000
    topic.trim()  # nobody publishes: all of it goes, the numbers stay
    assert (topic.first, topic.end, topic.size, topic.statements) == (200, 200, 0, 0)
    assert topic.read(200) == (200, [])
    fill(topic, 200, 205)
    assert read(topic, 200) == [*range(200, 205)]
    with pytest.raises(Missed, match="keeps messages from 200 on, 199 is gone"):
        topic.read(199)
    topic.close()


@pytest.mark.parametrize("stored", [False, True])
def test_few_messages_go_by_age_and_large_ones_by_size(stored, tmp_path, clock, monkeypatch):
    """Where a segment would take longer, or be larger, than the limit allows, a new one begins."""
    monkeypatch.setattr(jelly.grpc._topic, "SEGMENT_MESSAGES", 1000)
    topic = make(tmp_path / "t.jelly" if stored else None, keep_age=800)
    for i in range(100):
        clock.now += 50
        fill(topic, i, i + 1)
        assert topic.end - topic.first <= 20
    assert topic.end - topic.first >= 16
    topic.close()
    path = tmp_path / "large.jelly" if stored else None
    large = make_topic("large", path, keep_bytes=100_000)
    for i in range(60):
        text = [jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal(f"{i} " + "x" * 5000))]
        large.fill([jelly.Frame(i, text, {"number": b"%d" % i})], options("graph messages"))
        assert large.size <= 106_000
    assert large.size > 80_000
    assert read(large) == [*range(large.first, 60)]
    large.close()


def test_an_empty_topic_goes_on_with_its_numbers(tmp_path, clock):
    """After a restart, too; then anything may be published, as to a new topic."""
    store = tmp_path / "store"
    with jg.Topics(store, keep_age=3600) as topics:
        topic = topics.get("t", create=True)
        fill(topic, 0, 10)
        clock.now += 10_000
        topic.trim()
        assert topic.end == 10
    assert [file.name for file in store.glob("*.jelly")] == [f"t@{10:020}.jelly"]
    with jg.Topics(store, keep_age=3600) as topics:
        topic = topics.get("t")
        assert (topic.first, topic.end, topic.options) == (10, 10, None)
        batch = jg.FrameDecoder(patch=True).decode(next(jg.FrameEncoder(patch=True).encode_many([jelly.patch.Patch()])))
        topic.offer(jelly.patch.PatchOptions())
        topic.append(batch)
        assert (topic.first, topic.end) == (10, 11)
    with jg.Topics(store) as topics:
        assert (topics.get("t").first, topics.get("t").end) == (10, 11)
        assert isinstance(topics.get("t").options, jelly.patch.PatchOptions)


def test_limits_of_some_topics(tmp_path):
    limits = {"big": {"keep_bytes": None}, "small": {"keep_bytes": 5000, "keep_age": 60.0}}
    with jg.Topics(tmp_path, keep_bytes=20_000, per_topic=limits) as topics:
        for name in ("big", "small", "other"):
            fill(topics.get(name, create=True), 0, 200)
        sizes = {name: topics.get(name).size for name in topics.names()}
    assert sizes["small"] < 7000 < sizes["other"] < 25_000 < sizes["big"]
    with jg.Topics(tmp_path, per_topic=limits) as topics:
        assert topics.get("big").end == topics.get("small").end == 200
        assert topics.get("small").keep_age == 60.0
    with pytest.raises(jelly.JellyOptionsError, match="topic 'x' has no limit keep_size: expected keep, keep_bytes"):
        jg.Topics(per_topic={"x": {"keep_size": 1}})
    for wrong in (
        {"keep": -1}, {"keep_bytes": -1}, {"keep_age": -1.0}, {"sync_interval": -1.0},
        {"per_topic": {"x": {"keep_age": "7d"}}},
    ):  # fmt: skip
        with pytest.raises(jelly.JellyOptionsError, match="expected a number that is not negative"):
            jg.Topics(tmp_path, **wrong)


def test_an_interval_of_nothing(tmp_path):
    """Messages are written to the disk often, and not without a pause."""
    with jg.Topics(tmp_path, sync="interval", sync_interval=0.0) as topics:
        rounds: list[bool] = []
        topics.get("t", create=True).sync = lambda: rounds.append(True)
        until(lambda: rounds)
        begun = len(rounds)
        time.sleep(0.3)
    assert len(rounds) - begun <= 31


def test_what_is_gone_over_the_wire(serve, tmp_path):
    """Who asks for it is told; `earliest` is the oldest that is kept; a subscriber goes on over the files."""
    topics = jg.Topics(tmp_path, keep_bytes=20_000)
    server = serve(topics)
    with jg.Client(server.address) as client, client.subscribe("t") as feed:
        client.publish(messages("quads", 40), topic="t", options=OPTIONS)
        frames = iter(feed)
        found = numbers(next(frames) for _ in range(40))
        for start in range(40, 400, 40):
            client.publish(messages("quads", 40, start=start), topic="t", options=OPTIONS)
            found += numbers(next(frames) for _ in range(40))
        assert found == [*range(400)]
        first = topics.get("t").first
        assert first > 200
        with pytest.raises(jelly.JellyServiceError, match=f"OUT_OF_RANGE: .* from {first} on, 3 is gone"):
            list(client.subscribe("t", start=3))
        for start in (None, "earliest", first, first + 5):
            wanted = first + 5 if start == first + 5 else first
            assert numbers(client.subscribe("t", start=start, follow=False)) == [*range(wanted, 400)]
    server.close()
    topics.close()


@pytest.mark.parametrize("stored", [False, True])
def test_a_clock_that_was_ahead(stored, tmp_path, clock):
    """Messages of a wrong time in the future age from the time on at which the clock is right again."""
    topic = make(tmp_path / "t.jelly" if stored else None, keep_age=800)
    clock.now += 50_000_000
    fill(topic, 0, 10)
    clock.now -= 50_000_000
    for i in range(10, 60):
        clock.now += 50
        fill(topic, i, i + 1)
        topic.trim()
    assert 16 <= topic.end - topic.first <= 20
    assert read(topic) == [*range(topic.first, 60)]
    topic.close()
    if stored:  # the file has the time at which it was written
        path = max(tmp_path.glob("*.jelly"))
        os.utime(path, (clock.now + 50_000_000,) * 2)
        topic = make(path, keep_age=800)
        topic.trim()
        assert topic.end > topic.first
        clock.now += 801
        topic.trim()
        assert topic.first == topic.end
        topic.close()


def test_the_longest_name_has_room_for_numbers(tmp_path):
    """Later files have a number in their names."""
    rows = [jelly.patch.Add((jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("x" * 300)))]
    with jg.Topics(tmp_path, keep_bytes=4000) as topics:
        for length in (255, 235, 230, 229, 228, 227):
            with contextlib.suppress(jelly.JellyOptionsError):
                topic = topics.get("x" * length, create=True)
                break
        topic.fill([jelly.patch.Patch(rows)] * 100, jelly.patch.PatchOptions())
        assert (length, topic.end) == (227, 100)
        assert {len(path.name) for path in tmp_path.glob("x*")} == {255}
    with jg.Topics(tmp_path) as topics:
        assert topics.names() == ["x" * 227]


def test_a_file_that_is_deleted_while_it_is_read(tmp_path, monkeypatch):
    """The message is gone, also for who finds no file before the topic has forgotten it."""
    topic = make(tmp_path / "t.jelly", keep_bytes=4000)
    fill(topic, 0, 60)
    load, drop, gone = topic._load, topic._drop, threading.Event()

    def dropped(part):
        done = drop(part)
        if not gone.is_set():
            gone.set()
            time.sleep(0.3)
        return done

    def loaded(*part):
        if not gone.is_set():
            topic.keep_bytes = 1
            trimming.start()
            assert gone.wait(240)
        return load(*part)

    trimming = threading.Thread(target=topic.trim)
    monkeypatch.setattr(topic, "_drop", dropped)
    monkeypatch.setattr(topic, "_load", loaded)
    first = topic.first
    with pytest.raises(Missed, match=f"{first} is gone"):
        topic.read(first)
    trimming.join(240)
    topic.close()


def test_a_keeper_in_the_background(tmp_path):
    """Age counts without a publication, too."""
    with jg.Topics(tmp_path, keep_age=0.2) as topics:
        topic = topics.get("t", create=True)
        fill(topic, 0, 10)
        until(lambda: topic.first == 10)
        assert [file.name for file in tmp_path.glob("*.jelly")] == [f"t@{10:020}.jelly"]


def test_the_end_of_a_file_is_lost_and_the_next_one_is_not(tmp_path, caplog):
    """As after a crash of the machine without fsync: what is after the gap is kept, with its numbers."""
    path = tmp_path / "t.jelly"
    topic = make(path, keep_bytes=40_000)
    fill(topic, 0, 200)
    topic.close()
    files = sorted(tmp_path.glob("*.jelly"))
    assert len(files) > 3
    second, third = files[1], files[2]
    second.write_bytes(second.read_bytes()[:-20])
    again = make(path, keep_bytes=40_000)
    assert again.first == int(third.stem.partition("@")[2])
    assert read(again) == [*range(again.first, 200)]
    assert "are lost" in caplog.text
    assert [one.stem for one in sorted(tmp_path.glob("*.lost"))] == [one.stem for one in files[:2]]
    # The same messages twice are no log.
    copy = tmp_path / f"t@{again.first + 1:020}.jelly"
    copy.write_bytes(third.read_bytes())
    with pytest.raises(jelly.JellyFormatError, match="are in another file, too"):
        make(path)


@pytest.mark.parametrize("policy", ["always", "interval", "never"])
def test_when_it_is_on_the_disk(policy, serve, tmp_path, monkeypatch):
    """What was acknowledged was written to the disk before, within the interval, or when the broker ends."""
    synced = []
    fsync = os.fsync

    def note(descriptor):
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}") if os.path.exists("/proc/self/fd") else "t.jelly")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)

    def files():
        return [path for path in synced if path.endswith(".jelly")]

    topics = jg.Topics(tmp_path, sync=policy, sync_interval=0.05 if policy == "interval" else 3600)
    server = serve(topics)
    with jg.Client(server.address) as client:
        for i in range(3):
            client.publish(messages("quads", 5, start=5 * i), topic="t", options=OPTIONS)
            if policy == "always":
                assert len(files()) == i + 1
    if policy == "interval":
        until(lambda: files() and topics.get("t").parts[-1].synced == topics.get("t").size)
    if policy == "never":
        assert files() == []
    server.close()
    topics.close()
    assert len(files()) >= 1
    with pytest.raises(jelly.JellyArgumentError, match="sync is 'maybe'"):
        jg.Topics(sync="maybe")


def test_a_disk_that_fails(serve, tmp_path, monkeypatch):
    """What could not be written for certain is not acknowledged, and nothing more is written to that file."""
    topics = jg.Topics(tmp_path)
    server = serve(topics)
    with jg.Client(server.address) as client:
        client.publish(messages("quads", 5), topic="t", options=OPTIONS)

        def fail(descriptor):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        with monkeypatch.context() as broken:
            broken.setattr(os, "fsync", fail)
            with pytest.raises(jelly.JellyServiceError, match="INTERNAL"):
                client.publish(messages("quads", 5, start=5), topic="t", options=OPTIONS)
            assert topics.check() == os.strerror(errno.EIO)

        def beginning():
            yield from messages("quads", 4, start=10)
            until(lambda: topics.get("t").end == 14)
            with monkeypatch.context() as broken:
                broken.setattr(os, "fsync", fail)
                with pytest.raises(jelly.JellyServiceError, match="INTERNAL"):
                    client.publish(messages("quads", 1, start=14), topic="t", options=OPTIONS)
            # This one begins another file, whose fsync succeeds; what was in the first may be lost all the same.
            yield from messages("quads", 1, start=15)

        with pytest.raises(jelly.JellyServiceError, match="INTERNAL"):
            client.publish(beginning(), topic="t", options=OPTIONS)
        client.publish(messages("quads", 2, start=16), topic="t", options=OPTIONS)
        assert topics.check() == ""
        assert numbers(client.subscribe("t", follow=False)) == [*range(18)]
    assert len(list(tmp_path.glob("t@*.jelly"))) == 2
    server.close()
    topics.close()
    with jg.Topics(tmp_path) as again:
        assert read(again.get("t")) == [*range(18)]


def test_no_room_for_another_file(tmp_path, monkeypatch):
    """The message is refused, and the next one begins the file."""
    topic = make(tmp_path / "t.jelly", keep_bytes=10_000)
    fill(topic, 0, 5)

    def full(*arguments, **settings):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    stored = 5
    with monkeypatch.context() as none_left:
        none_left.setattr(jelly.grpc._topic_files, "open", full, raising=False)
        with pytest.raises(OSError, match="No space left"):  # noqa: PT012
            for stored in range(5, 50):
                fill(topic, stored, stored + 1)
        assert topic.failure
        assert read(topic) == [*range(stored)]
    assert 5 < stored < 40
    fill(topic, stored, 60)
    assert not topic.failure
    assert read(topic) == [*range(topic.first, 60)]
    topic.close()


def test_random_lives_of_a_topic(tmp_path, clock, monkeypatch):
    """Publications, time, restarts and crashes that tear the last file: what is there is what a model says."""
    monkeypatch.setattr(jelly.grpc._topic, "SEGMENT_MESSAGES", 4)
    for seed in range(200 if os.environ.get("JELLY_LONG") else 6):
        random = Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        limits = {"keep_bytes": random.choice([None, 6000]), "keep_age": random.choice([None, 100])}
        topic = make(folder / "t.jelly", **limits)
        sent: list[int] = []  # the number in each message, by its number in the topic
        for _ in range(60):
            event = random.random()
            if event < 0.6:
                for _ in range(random.randrange(1, 9)):
                    fill(topic, len(sent) + 1000, len(sent) + 1001)
                    sent.append(len(sent) + 1000)
            elif event < 0.75:
                clock.now += random.choice([5, 40, 300])
                topic.trim()
            elif event < 0.85:
                topic.close()
                topic = make(folder / "t.jelly", **limits)
            elif sent and topic.end > topic.first:
                topic.close()
                last = max(folder.glob("t*.jelly"), key=lambda path: path.name.partition("@")[2])
                data = last.read_bytes()
                last.write_bytes(data[: max(len(data) - random.randrange(1, 300), 0)])
                topic = make(folder / "t.jelly", **limits)
                del sent[topic.end :]
            assert topic.end == len(sent)
            assert read(topic) == sent[topic.first :]
            assert topic.size == sum(path.stat().st_size for path in folder.glob("t*.jelly"))
            number = random.randrange(topic.first, topic.end + 1)
            assert read(topic, number) == sent[number:]
        topic.close()


@pytest.mark.parametrize("stored", [False, True])
def test_a_topic_is_deleted(stored, serve, tmp_path):
    """Subscriptions and publications in progress end; the name is free."""
    topics = jg.Topics(tmp_path if stored else None, keep_bytes=10_000)
    server = serve(topics)
    go, ready = threading.Event(), threading.Event()
    failed: list[str] = []

    def slowly():
        yield from messages("quads", 1)
        ready.set()
        assert go.wait(240)
        yield from messages("quads", 1)

    def publish():
        try:
            client.publish(slowly(), topic="t", options=OPTIONS)
        except jelly.JellyServiceError as error:
            failed.append(error.code)

    def listen():
        try:
            list(client.subscribe("t"))
        except jelly.JellyServiceError as error:
            failed.append(str(error))

    with jg.Client(server.address) as client:
        client.publish(messages("quads", 100), topic="t", options=OPTIONS)
        client.publish(messages("quads", 2), topic="u", options=OPTIONS)
        threads = [threading.Thread(target=listen), threading.Thread(target=publish)]
        for thread in threads:
            thread.start()
        until(lambda: server.handler.subscribers == 1)
        assert ready.wait(240)
        until(lambda: topics.get("t").end == 101)
        (shown,) = client.topics("t")
        info = client.delete_topic("t")
        assert (info.name, info.end, info.subscribers) == ("t", 101, 1)
        assert info == shown
        go.set()
        for thread in threads:
            thread.join(240)
        assert sorted(failed) == ["NOT_FOUND", "NOT_FOUND: topic 't' was deleted"]
        assert [one.name for one in client.topics()] == ["u"]
        assert list(tmp_path.glob("t*.jelly")) == []
        for call in (client.delete_topic, client.topics, lambda name: list(client.subscribe(name))):
            with pytest.raises(jelly.JellyServiceError, match="NOT_FOUND: there is no topic 't'"):
                call("t")
        client.publish(messages("triples", 2), topic="t", options=options("triples"))
        assert plain(client.subscribe("t", follow=False)) == plain(messages("triples", 2))
    server.close()
    topics.close()
