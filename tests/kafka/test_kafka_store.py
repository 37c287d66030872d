"""Brokers of jelly.grpc that keep their topics in a real Kafka: what one takes, another one gives, and Kafka itself."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import KINDS, Running, messages, numbers, options, plain, quiet_address, until

import jelly
import jelly.grpc as jg
from jelly import IRI, Literal, Quad, Triple
from jelly.kafka import JellyDeserializer, JellySerializer
from jelly.patch import Add, Commit, Patch, Start

confluent = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")

from confluent_kafka import admin  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

Topic = Callable[[], str]
WAIT = 240
S, P, G = IRI("http://example.org/s"), IRI("http://example.org/p"), IRI("http://example.org/g")
TRIPLES = options("triples")


class Pair:
    """Two brokers of one Kafka, and a client of each."""

    def __init__(self, address: str, settings: str = "") -> None:
        self.topics = [jg.Topics(f"kafka://{address}{settings}") for _ in range(2)]
        self.servers = [Running(jg.Broker(topics)) for topics in self.topics]
        self.one, self.two = (jg.Client(server.address) for server in self.servers)

    def close(self) -> None:
        for part in (self.one, self.two, *self.servers, *self.topics):
            part.close()


@pytest.fixture(scope="module")
def pair(broker: str) -> Iterator[Pair]:
    made = Pair(broker)
    yield made
    made.close()


def produce(address: str, topic: str, values: list[Any], **settings: Any) -> None:
    """Records as any producer writes them: pairs of a value, or what `JellySerializer` takes, and the content type."""
    producer = confluent.Producer({"bootstrap.servers": address, **settings})
    serializer = JellySerializer()
    for value, kind in values:
        data = value if isinstance(value, bytes) else serializer(value)
        producer.produce(topic, data, key="key", partition=0, headers=[] if kind is None else [("content-type", kind)])
    assert producer.flush(WAIT) == 0


def create(address: str, topic: str, partitions: int = 1, **config: str) -> None:
    made = admin.NewTopic(topic, partitions, 1, config=config)  # type: ignore[attr-defined]
    client = admin.AdminClient({"bootstrap.servers": address})
    client.create_topics([made])[topic].result(WAIT)


def told(feed: Any) -> list[str]:
    """The statements of a subscription, as text."""
    return [str(statement) for frame in feed for statement in frame.statements]


# ---- two brokers


@pytest.mark.parametrize("kind", KINDS)
def test_what_one_broker_takes_another_one_gives(kind: str, pair: Pair, topic: Topic) -> None:
    name, given = topic(), messages(kind, 30)
    own = options(kind, max_name_table_size=64)
    assert pair.one.publish(given[:20], topic=name, options=own) == 20
    assert pair.two.publish(given[20:], topic=name, options=own) == 10
    for start in (0, 7, 29, 30):
        assert plain(pair.two.subscribe(name, start=start, follow=False)) == plain(given[start:])
    feed = pair.one.subscribe(name, follow=False, options=own.replace(max_name_table_size=8))
    assert plain(feed) == plain(given)
    assert feed.options.max_name_table_size == 8
    assert feed.options.stream_name == name
    [info] = pair.two.topics(name)
    assert (info.first, info.end, info.patches, info.options) == (0, 30, False, own.replace(stream_name=name))
    for wrong in (31, 1000):
        with pytest.raises(jelly.JellyServiceError, match=f"OUT_OF_RANGE: .* up to 29, {wrong} was asked for"):
            next(iter(pair.one.subscribe(name, start=wrong)))


def test_who_follows_gets_what_comes(pair: Pair, topic: Topic) -> None:
    name = topic()
    pair.one.publish(messages("triples", 3), topic=name, options=TRIPLES)
    got: list[list[int]] = [[], []]
    with pair.one.subscribe(name) as first, pair.two.subscribe(name, start="latest") as second:

        def follow(feed: Any, into: list[int]) -> None:
            for frame in feed:
                into += numbers([frame])

        threads = [threading.Thread(target=follow, args=pair) for pair in zip((first, second), got, strict=True)]
        for thread in threads:
            thread.start()
        until(lambda: len(got[0]) == 3 and second.number == 3)
        assert [info.subscribers for info in pair.two.topics(name)] == [1]
        for i in range(3, 40):
            (pair.one, pair.two)[i % 2].publish(messages("triples", 1, start=i), topic=name, options=TRIPLES)
        until(lambda: got == [[*range(40)], [*range(3, 40)]])
    for thread in threads:
        thread.join()
    until(lambda: not any(topics.get(name).watchers for topics in pair.topics))


def test_patches(pair: Pair, topic: Topic, broker: str) -> None:
    name = topic()
    patches = [Patch([Start(), Add(Quad(S, P, Literal(str(i)), G)), Commit()]) for i in range(5)]
    pair.one.publish(patches, topic=name, kind="patches")
    produce(broker, name, [(Patch([Add(Triple(S, P, Literal("last")))]), None)])
    got = list(pair.two.subscribe(name, follow=False, kind="patches"))
    assert [[str(operation) for operation in patch] for patch in got[:5]] == [[*map(str, patch)] for patch in patches]
    assert len(got) == 6
    assert [info.patches for info in pair.two.topics(name)] == [True]
    with pytest.raises(jelly.JellyServiceError, match="INVALID_ARGUMENT: .* holds patches"):
        list(pair.two.subscribe(name))
    with pytest.raises(jelly.JellyServiceError, match="INVALID_ARGUMENT: .* holds patches"):
        pair.two.publish(messages("triples", 1), topic=name, options=TRIPLES)


def test_topics_are_those_of_kafka(pair: Pair, topic: Topic, broker: str) -> None:
    name = topic()
    with pytest.raises(jelly.JellyServiceError, match=f"NOT_FOUND: there is no topic '{name}'"):
        list(pair.one.subscribe(name))
    create(broker, name)
    assert list(pair.one.subscribe(name, follow=False)) == []
    assert [(info.end, info.options) for info in pair.two.topics(name)] == [(0, None)]
    with pair.two.subscribe(name) as feed:
        frames = iter(feed)
        pair.one.publish(messages("triples", 2), topic=name, options=TRIPLES)
        assert numbers([next(frames), next(frames)]) == [0, 1]
        assert pair.one.delete_topic(name).end == 2
        with pytest.raises(jelly.JellyServiceError, match="NOT_FOUND"):
            next(frames)
    assert name not in {info.name for info in pair.two.topics()}
    several = topic()
    create(broker, several, partitions=3)
    for use in (lambda: list(pair.one.subscribe(several)),
                lambda: pair.one.publish(messages("triples", 1), topic=several, options=TRIPLES)):  # fmt: skip
        with pytest.raises(jelly.JellyServiceError, match=f"'{several}' of Kafka has 3 partitions: expected one"):
            use()
    for wrong in ("a b", "..", "__x", "x" * 250):
        with pytest.raises(jelly.JellyServiceError, match="INVALID_ARGUMENT: .* cannot be the name of a topic"):
            pair.one.publish(messages("triples", 1), topic=wrong, options=TRIPLES)
        with pytest.raises(jelly.JellyServiceError, match="NOT_FOUND"):
            list(pair.one.subscribe(wrong))


def test_a_publication_that_does_not_fit(pair: Pair, topic: Topic) -> None:
    name = topic()
    pair.one.publish(messages("triples", 2), topic=name, options=TRIPLES)
    with pytest.raises(jelly.JellyServiceError, match="physical type QUADS was offered, the topic is of TRIPLES"):
        pair.two.publish(messages("quads", 2), topic=name, options=options("quads"))
    assert numbers(pair.two.subscribe(name, follow=False)) == [0, 1]


def test_who_is_not_the_first_is_told(pair: Pair, topic: Topic, broker: str) -> None:
    """Two brokers take the first publication of a topic at once, and they do not fit together."""
    name = topic()
    create(broker, name)
    late = pair.topics[0].get(name)
    assert late is not None
    pair.two.publish(messages("triples", 1), topic=name, options=TRIPLES)
    late.fill(messages("quads", 1), options("quads"))
    with pytest.raises(jelly.JellyOptionsError, match="physical type QUADS was offered, the topic is of TRIPLES"):
        late.acknowledge(0)
    fitting = pair.topics[0].get(name)
    assert fitting is not None
    fitting.fill(messages("triples", 1), TRIPLES)
    fitting.acknowledge(0)


# ---- records of others


def test_consumers_of_jelly_kafka(pair: Pair, topic: Topic, broker: str) -> None:
    name, given = topic(), messages("dataset messages", 12)
    pair.one.publish(given, topic=name, options=options("dataset messages"))
    consumer = confluent.Consumer({"bootstrap.servers": broker, "group.id": "g"})
    reader = JellyDeserializer("frame")
    for start in (0, 5):  # a consumer may start anywhere
        consumer.assign([confluent.TopicPartition(name, 0, start)])
        found = consumer.consume(12 - start, WAIT)
        assert plain([reader(record.value()) for record in found]) == plain(given[start:])
        assert {dict(record.headers())["content-type"] for record in found} == {b"application/x-jelly-rdf"}
    consumer.close()


def test_producers_of_jelly_kafka(pair: Pair, topic: Topic, broker: str) -> None:
    name = topic()
    flat = [Triple(S, P, Literal(str(i))) for i in range(300)]
    quoted = [Triple(jelly.QuotedTriple(S, P, S), P, Literal("quoted"))]
    text = b"".join(b"<http://example.org/s> <http://example.org/p> <http://example.org/o%d> .\n" % i for i in range(2))
    jelly.write(several := io.BytesIO(), flat, frame_rows=100)
    produce(broker, name, [
        (flat[:3], None), (flat, "application/x-jelly-rdf"), (quoted, None), ([], None),
        (text, "application/n-triples"), (JellySerializer(compression="gzip")(flat[:2]), None),
        (several.getvalue(), None),
    ])  # fmt: skip
    feed = pair.two.subscribe(name, follow=False)
    found = list(feed)
    assert [len(frame) for frame in found] == [3, 300, 1, 0, 2, 2, 300]
    assert told(found[:3]) == [*map(str, flat[:3]), *map(str, flat), *map(str, quoted)]
    assert feed.options.stream_name == name
    # Brokers write to the same topic.
    assert pair.one.publish(flat[:2], topic=name, frame_rows=1) == 2
    assert told(pair.two.subscribe(name, start=7, follow=False)) == [*map(str, flat[:2])]


def test_records_of_jelly_rdf_1_2(pair: Pair, topic: Topic, broker: str) -> None:
    name, given = topic(), [Triple(S, P, Literal(str(i))) for i in range(3)]
    value = JellySerializer({"version": 3})(given)
    produce(broker, name, [(value, None), (given, None)])
    pair.one.publish(given, topic=name)
    assert told(pair.two.subscribe(name, follow=False)) == 3 * [*map(str, given)]


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (b"hello", None, r"ends inside a frame.*topic topic-\d+: message 1"),
        (b"{}", "application/json", r"the content type is 'application/json'.*topic topic-\d+: message 1"),
        ([Quad(S, P, S, G)], None, "physical type QUADS was offered, the topic is of TRIPLES"),
        (Patch([Add(Triple(S, P, S))]), None, "holds statements"),
        (b"<a:s> <a:p> <a:o> <a:g> .", "application/n-quads", "a quad in graph <a:g> cannot go into"),
    ],
)
def test_a_record_that_is_no_message(
    value: Any, kind: Any, message: str, pair: Pair, topic: Topic, broker: str
) -> None:
    """What comes before it is sent; who goes on after it gets the rest."""
    name = topic()
    good: tuple[Any, Any] = ([Triple(S, P, S)], None)
    produce(broker, name, [good, (value, kind), good])
    frames = iter(pair.one.subscribe(name, follow=False))
    assert len(next(frames)) == 1
    with pytest.raises(jelly.JellyServiceError, match="INVALID_ARGUMENT: .*" + message):
        next(frames)
    assert len(list(pair.one.subscribe(name, start=2, follow=False))) == 1


def test_a_topic_of_something_else(pair: Pair, topic: Topic, broker: str) -> None:
    name = topic()
    produce(broker, name, [(b"hello", None)])
    with pytest.raises(jelly.JellyServiceError, match=r"INVALID_ARGUMENT: .*message 0"):
        list(pair.one.subscribe(name))
    with pytest.raises(jelly.JellyServiceError, match=r"INVALID_ARGUMENT: .*message 0"):
        pair.one.publish(messages("triples", 1), topic=name, options=TRIPLES)
    assert name not in {info.name for info in pair.one.topics()}


def test_gaps(pair: Pair, topic: Topic, broker: str) -> None:
    """Transactions and tombstones leave gaps between the offsets: each message comes once, from wherever one starts."""
    name = topic()
    producer = confluent.Producer({"bootstrap.servers": broker, "transactional.id": name})
    producer.init_transactions(WAIT)
    serializer = JellySerializer()
    for i in range(6):
        producer.begin_transaction()
        for j in range(3):
            producer.produce(name, serializer([Triple(S, P, Literal(f"{i}-{j}"))]), partition=0)
        assert producer.flush(WAIT) == 0
        producer.abort_transaction(WAIT) if i == 2 else producer.commit_transaction(WAIT)
    produce(broker, name, [(None, None), ([Triple(S, P, Literal("last"))], None), (None, None)])
    expected = [f"{i}-{j}" for i in range(6) if i != 2 for j in range(3)] + ["last"]
    feed = pair.one.subscribe(name, follow=False)
    assert [statement.o.value for statement in feed.statements()] == expected
    [info] = pair.one.topics(name)
    seen = []
    for start in range(0, info.end + 1, 5):
        rest = pair.two.subscribe(name, start=start, follow=False)
        seen.append([statement.o.value for statement in rest.statements()])
        assert expected[len(expected) - len(seen[-1]) :] == seen[-1]
    assert [len(rest) for rest in seen] == sorted(map(len, seen), reverse=True)


# ---- limits and errors


def test_a_message_that_kafka_does_not_take(pair: Pair, topic: Topic, broker: str) -> None:
    name = topic()
    create(broker, name, **{"max.message.bytes": "20000"})
    large = [Triple(S, P, Literal("x" * 30_000))]
    pair.one.publish(messages("triples", 1), topic=name, options=TRIPLES)
    with pytest.raises(jelly.JellyServiceError, match="INVALID_ARGUMENT: Kafka at .*: Broker: Message size too large"):
        pair.one.publish(large, topic=name)
    pair.one.publish(messages("triples", 1, start=1), topic=name, options=TRIPLES)
    assert numbers(pair.two.subscribe(name, follow=False)) == [0, 1]


def test_large_messages_and_a_slow_subscriber(pair: Pair, topic: Topic, broker: str) -> None:
    """What waits for a subscriber stays in Kafka, what waits for Kafka makes the publisher wait."""
    name = topic()
    create(broker, name, **{"max.message.bytes": str(8 << 20)})
    sizes = [100_000] * 80 + [3_000_000] * 2 + [10] * 50
    given = [jelly.Frame(i, [Triple(S, P, Literal("x" * size))]) for i, size in enumerate(sizes)]
    assert pair.one.publish(given, topic=name, options=options("graph messages")) == len(sizes)
    process = Path("/proc/self/statm")
    with pair.two.subscribe(name) as feed:
        frames = iter(feed)
        next(frames)
        before = int(process.read_text().split()[1]) if process.exists() else 0
        time.sleep(1.0)
        after = int(process.read_text().split()[1]) if process.exists() else 0
        assert (after - before) * 4096 < 12 << 20
        assert [len(next(frames).statements[0].o.value) for _ in sizes[1:]] == sizes[1:]


def test_many_calls_of_a_large_topic(pair: Pair, topic: Topic) -> None:
    """What a call reads of the topic to know its options keeps no other call waiting."""
    name = topic()
    given = [jelly.Frame(i, [Triple(S, P, Literal("x" * 300))]) for i in range(8000)]
    pair.one.publish(given, topic=name, options=options("graph messages"))
    begun = time.monotonic()
    threads = [
        threading.Thread(target=lambda: [list(pair.two.subscribe(name, start=8000, follow=False)) for _ in range(20)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - begun < 60


def test_settings_of_kafka(broker: str) -> None:
    for setting in ({"keep": 5}, {"keep_bytes": 5}, {"keep_age": 5.0}, {"per_topic": {"t": {"keep_age": 5.0}}},
                    {"sync": "never"}, {"sync_interval": 5.0}, {"max_topics": 5}, {"topics_per_owner": 5}):  # fmt: skip
        with pytest.raises(jelly.JellyOptionsError, match="are settings of Kafka: give none of them"):
            jg.Topics(f"kafka://{broker}", **setting)
    for address in ("kafka://", f"kafka://{broker}/topic"):
        with pytest.raises(jelly.JellyArgumentError, match="expected kafka://HOST:PORT"):
            jg.Topics(address)
    with pytest.raises(jelly.JellyOptionsError, match='No such configuration property: "bright"'):
        jg.Topics(f"kafka://{broker}?bright=yes")
    with pytest.raises(jelly.JellyServiceError, match="Connection refused"):
        jg.Topics(f"kafka://{quiet_address()}")
