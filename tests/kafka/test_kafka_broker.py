"""Producers and consumers of three clients with a real broker, and of one with the broker that librdkafka pretends."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jelly
from jelly import IRI, Literal, Quad, Triple
from jelly.kafka import JellyDeserializer, JellySerializationError, JellySerializer
from jelly.patch import Add, Patch

confluent = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:confluent_kafka", "ignore::ResourceWarning")

Topic = Callable[[], str]
WAIT = 240

S, P, G = IRI("http://example.org/s"), IRI("http://example.org/p"), IRI("http://example.org/g")
VALUES: list[Any] = [
    [Triple(S, P, Literal(str(i))) for i in range(3)],
    [Quad(S, P, Literal("x", language="en"), G)],
    [],
    Patch([Add(Quad(S, P, Literal("1"), G))]),
    None,
]
RDF, PATCH = b"application/x-jelly-rdf", b"application/x-jelly-rdf-patch"
TYPES = [RDF, RDF, RDF, PATCH, None]


def produce(address: str, topic: str, values: list[Any], **settings: Any) -> None:
    """With confluent-kafka, all in one partition."""
    producer = confluent.SerializingProducer(
        {"bootstrap.servers": address, "value.serializer": JellySerializer(), **settings}
    )
    for value in values:
        producer.produce(topic, key="key", value=value, partition=0, headers=[])
    assert producer.flush(WAIT) == 0


def consume(address: str, topic: str, count: int, **settings: Any) -> list[Any]:
    """Messages of confluent-kafka."""
    consumer = confluent.DeserializingConsumer({
        "bootstrap.servers": address,
        "group.id": "g",
        "enable.auto.commit": False,
        "value.deserializer": JellyDeserializer(),
        **settings,
    })  # fmt: skip
    consumer.assign([confluent.TopicPartition(topic, 0, 0)])
    try:
        return take(consumer, count)
    finally:
        consumer.close()


def take(consumer: Any, count: int) -> list[Any]:
    end = time.monotonic() + WAIT
    found: list[Any] = []
    while len(found) < count:
        assert time.monotonic() < end, f"{len(found)} of {count} values came"
        if (message := consumer.poll(0.2)) is not None:
            found.append(message)
    return found


def check(found: list[Any]) -> None:
    assert [message.value() for message in found] == VALUES
    assert [dict(message.headers() or []).get("content-type") for message in found] == TYPES


# ---- without a broker


def test_the_broker_that_librdkafka_pretends() -> None:
    settings = {"test.mock.num.brokers": 1}
    producer = confluent.SerializingProducer(settings | {"value.serializer": JellySerializer()})
    [broker] = producer.list_topics(timeout=WAIT).brokers.values()
    address = f"{broker.host}:{broker.port}"
    produce(address, "mock", VALUES)
    check(consume(address, "mock", len(VALUES)))


def test_errors_are_those_of_the_client() -> None:
    from confluent_kafka.error import ValueDeserializationError, ValueSerializationError
    from confluent_kafka.serialization import SerializationError

    assert issubclass(JellySerializationError, SerializationError)
    assert issubclass(JellySerializationError, jelly.JellyError)
    producer = confluent.SerializingProducer({"test.mock.num.brokers": 1, "value.serializer": JellySerializer()})
    with pytest.raises(ValueSerializationError) as caught:
        producer.produce("mock", value=3)
    assert isinstance(caught.value.exception, JellySerializationError)
    [broker] = producer.list_topics(timeout=WAIT).brokers.values()
    address = f"{broker.host}:{broker.port}"
    raw = confluent.Producer({"bootstrap.servers": address})
    raw.produce("mock", b"hello", partition=0)
    assert raw.flush(WAIT) == 0
    with pytest.raises(ValueDeserializationError, match="ends inside a frame") as read:
        consume(address, "mock", 1)
    assert read.value.kafka_message.value() == b"hello"
    assert isinstance(read.value.exception, JellySerializationError)


# ---- with one


def test_confluent_kafka(broker: str, topic: Topic) -> None:
    name = topic()
    produce(broker, name, VALUES)
    check(consume(broker, name, len(VALUES)))
    # A consumer may start anywhere.
    consumer = confluent.Consumer({"bootstrap.servers": broker, "group.id": "g"})
    for start, expected in enumerate(VALUES):
        consumer.assign([confluent.TopicPartition(name, 0, start)])
        [first] = take(consumer, 1)
        assert JellyDeserializer()(first.value()) == expected
    consumer.close()


def test_other_formats_in_one_topic(broker: str, topic: Topic) -> None:
    name = topic()
    raw = confluent.Producer({"bootstrap.servers": broker})
    line = b"<http://example.org/s> <http://example.org/p> <http://example.org/o> <http://example.org/g> .\n"
    raw.produce(name, line, partition=0, headers={"content-type": "application/n-quads"})
    raw.produce(name, jelly.dumps(VALUES[0]), partition=0)
    assert raw.flush(WAIT) == 0
    produce(broker, name, VALUES[:1])
    assert [len(message.value()) for message in consume(broker, name, 3)] == [1, 3, 3]


def test_transactions(broker: str, topic: Topic) -> None:
    name = topic()
    producer = confluent.Producer({"bootstrap.servers": broker, "transactional.id": name})
    producer.init_transactions(WAIT)
    serializer = JellySerializer()
    for value, kept in ((VALUES[0], True), (VALUES[1], False), (VALUES[3], True)):
        producer.begin_transaction()
        producer.produce(name, serializer(value), partition=0)
        # A transaction that is aborted before its first value was sent is an error of some versions of librdkafka.
        assert producer.flush(WAIT) == 0
        producer.commit_transaction(WAIT) if kept else producer.abort_transaction(WAIT)
    found = consume(broker, name, 2, **{"isolation.level": "read_committed"})
    assert [message.value() for message in found] == [VALUES[0], VALUES[3]]


def test_kafka_python(broker: str, topic: Topic) -> None:
    kafka = pytest.importorskip("kafka", reason="kafka-python is not installed")
    name = topic()
    # Both are made while it is loaded: then it gives them the headers.
    producer = kafka.KafkaProducer(bootstrap_servers=broker, value_serializer=JellySerializer())
    for value in VALUES:
        producer.send(name, value=value, key=b"key", partition=0)
    producer.flush(WAIT)
    producer.close()
    check(consume(broker, name, len(VALUES)))
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=broker, value_deserializer=JellyDeserializer("batch"), consumer_timeout_ms=1000 * WAIT
    )
    partition = kafka.TopicPartition(name, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    found = [next(consumer) for _ in VALUES]
    consumer.close()
    assert [None if record.value is None else len(record.value) for record in found] == [3, 1, 0, 2, None]


def test_aiokafka(broker: str, topic: Topic) -> None:
    aiokafka = pytest.importorskip("aiokafka", reason="aiokafka is not installed")
    name = topic()
    serializer = JellySerializer()

    async def run() -> list[Any]:
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=broker, value_serializer=serializer)
        await producer.start()
        try:
            for value in VALUES:
                await producer.send_and_wait(name, value, b"key", partition=0, headers=serializer.headers(value))
        finally:
            await producer.stop()
        consumer = aiokafka.AIOKafkaConsumer(
            name, bootstrap_servers=broker, auto_offset_reset="earliest", value_deserializer=JellyDeserializer()
        )
        await consumer.start()
        try:
            return [(await consumer.getone()).value for _ in VALUES]
        finally:
            await consumer.stop()

    assert asyncio.run(asyncio.wait_for(run(), WAIT)) == VALUES
    check(consume(broker, name, len(VALUES)))


# ---- a consumer that is killed

NUMBERS = 600


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_a_consumer_that_is_killed_loses_nothing(broker: str, topic: Topic, tmp_path: Path) -> None:
    name = topic()
    produce(broker, name, [[Triple(S, P, Literal(str(i)))] for i in range(NUMBERS)])
    notes = tmp_path / "notes"
    program = Path(__file__).with_name("following.py")
    # The last one is killed at the end, where nothing more comes.
    for kill in (130, 130, NUMBERS - 200):
        done = subprocess.run([sys.executable, str(program), broker, name, str(notes), str(kill)], timeout=WAIT)
        assert done.returncode == -9
    found = [tuple(map(int, line.split())) for line in notes.read_text().splitlines()]
    assert all(number == offset for number, offset in found)
    # Each value came; those since the last commit, which is made every 50 values, came again.
    assert [number for number, _ in found] == [*range(130), *range(100, 230), *range(200, NUMBERS)]
