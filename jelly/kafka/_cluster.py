"""A Kafka cluster as a place for records: topics of one partition, to which is appended, and which is read by number.

It is what brokers of `jelly.grpc` need of Kafka, through librdkafka (confluent-kafka).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from jelly.errors import JellyArgumentError, JellyOptionsError, JellyServiceError, need

with need("kafka", "a store in Kafka needs confluent-kafka"):
    from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

log = logging.getLogger("jelly.kafka")

# Seconds for an answer, and for that of a look whether Kafka is there at all.
WAIT, LOOK = 10.0, 3.0
# Records that are read at once, at most.
MANY = 256
_WRITING = {
    "message.timeout.ms": 30_000,
    "message.max.bytes": 64 << 20,
    "linger.ms": 1,
}
# All that a reader holds is about 1 MiB, or one record.
_READING = {
    "group.id": "jelly",  # needed, but no group is joined
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "queued.max.messages.kbytes": 1024,
    "fetch.message.max.bytes": 1 << 20,
    "fetch.wait.max.ms": 500,
}
_CODES = {
    KafkaError._UNKNOWN_TOPIC: "NOT_FOUND",
    KafkaError._UNKNOWN_PARTITION: "NOT_FOUND",
    KafkaError.UNKNOWN_TOPIC_OR_PART: "NOT_FOUND",
    KafkaError._AUTO_OFFSET_RESET: "OUT_OF_RANGE",
    KafkaError.OFFSET_OUT_OF_RANGE: "OUT_OF_RANGE",
    KafkaError.MSG_SIZE_TOO_LARGE: "INVALID_ARGUMENT",
    KafkaError._QUEUE_FULL: "RESOURCE_EXHAUSTED",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "PERMISSION_DENIED",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "PERMISSION_DENIED",
}


_SOON = (KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION)


class Cluster:
    """A cluster at ``kafka://HOST:PORT,HOST:PORT?NAME=VALUE``, with settings of librdkafka. Any thread may use it.

    Errors are a JellyServiceError with the name of a status of gRPC: ``UNAVAILABLE`` if Kafka does not answer in time.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        if not parts.netloc or parts.path.strip("/"):
            raise JellyArgumentError(f"store is {address!r}: expected kafka://HOST:PORT")
        self.servers: str = parts.netloc
        self._settings: dict[str, Any] = {"log_level": 2, **dict(parse_qsl(parts.query))}
        self._settings["bootstrap.servers"] = parts.netloc
        self._why = ""  # of the last error of a connection
        self._closed = threading.Event()
        self._looking = threading.Lock()
        try:
            self._looker = Consumer(_READING | self._settings | {"fetch.wait.max.ms": 1})
            self._admin = AdminClient(self._settings)
            self._producer = Producer(
                _WRITING | self._settings | {"enable.idempotence": True, "acks": "all", "error_cb": self._note}
            )
        except KafkaException as error:
            raise JellyOptionsError(f"{address}: {error.args[0].str()}") from None
        self._poller = threading.Thread(target=self._poll, name="jelly-kafka", daemon=True)
        self._poller.start()

    def _note(self, error: KafkaError) -> None:
        if (why := error.str()) != self._why and error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._why = why
            log.warning("%s", why)

    def _poll(self) -> None:
        while not self._closed.is_set():
            self._producer.poll(0.2)

    def failure(self, error: KafkaError) -> JellyServiceError:
        """The exception for an error of Kafka."""
        code = _CODES.get(error.code(), "UNAVAILABLE")
        why = f" ({self._why})" if self._why and code == "UNAVAILABLE" else ""
        return JellyServiceError(f"Kafka at {self.servers}: {error.str()}{why}", code)

    # ---- topics

    def check(self) -> str:
        """Why Kafka does not answer, or ``""``."""
        try:
            self._producer.list_topics("", LOOK)
        except KafkaException as error:
            return self.failure(error.args[0]).reason
        self._why = ""
        return ""

    def names(self) -> list[str]:
        """The names of all topics that have one partition."""
        try:
            topics = self._looker.list_topics(timeout=WAIT).topics
        except KafkaException as error:
            raise self.failure(error.args[0]) from None
        return sorted(name for name, topic in topics.items() if len(topic.partitions) == 1 and name[:2] != "__")

    def bounds(self, name: str) -> tuple[int, int] | None:
        """The numbers of the oldest record of a topic and of the next one, or None if there is no such topic."""
        end = time.monotonic() + WAIT
        while True:
            try:
                topic = self._looker.list_topics(name, WAIT).topics[name]
                if topic.error is not None:
                    raise KafkaException(topic.error)
                if len(topic.partitions) != 1:
                    raise JellyOptionsError(
                        f"the topic {name!r} of Kafka has {len(topic.partitions)} partitions: "
                        "expected one, as its messages have one order"
                    )
                found: tuple[int, int] = self._looker.get_watermark_offsets(TopicPartition(name, 0), WAIT)
                return found
            except KafkaException as error:
                failed = self.failure(error.args[0])
                if failed.code == "NOT_FOUND":
                    return None
                # While a topic is new, or gets another leader.
                if error.args[0].code() not in _SOON or time.monotonic() > end:
                    raise failed from None
                time.sleep(0.05)

    def create(self, name: str) -> None:
        """Create a topic, unless it is there; Kafka decides how many copies it has."""
        try:
            self._admin.create_topics([NewTopic(name, 1, -1)], request_timeout=WAIT)[name].result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise self.failure(error.args[0]) from None
        end = time.monotonic() + WAIT
        while self.bounds(name) is None and time.monotonic() < end:
            time.sleep(0.01)

    def delete(self, name: str) -> None:
        """Delete a topic."""
        try:
            self._admin.delete_topics([name], request_timeout=WAIT)[name].result()
        except KafkaException as error:
            raise self.failure(error.args[0]) from None

    # ---- records

    def append(
        self, name: str, value: bytes, headers: Any, done: Callable[[JellyServiceError | None, int | None], None]
    ) -> None:
        """Append a record. ``done`` gets an error, or its number once all copies have it, in another thread."""

        def delivered(error: KafkaError | None, message: Any) -> None:
            done(None if error is None else self.failure(error), message and message.offset())

        try:
            self._producer.produce(name, value, partition=0, headers=headers, on_delivery=delivered)
        except BufferError:
            delivered(KafkaError(KafkaError._QUEUE_FULL), None)
        except KafkaException as error:
            delivered(error.args[0], None)

    def records(self, name: str, number: int) -> Records:
        """The records of a topic from a number on."""
        return Records(self, Consumer(_READING | self._settings), name, number)

    def first(self, name: str, number: int) -> Any:
        """The first record from a number on that has a value, or None."""
        with self._looking:
            records = Records(self, self._looker, name, number)
            try:
                while records.end is None:
                    for record in records.take():
                        return record
            finally:
                self._looker.unassign()
        return None

    def close(self) -> None:
        """Send what waits, for some seconds, and end."""
        self._producer.flush(LOOK)
        self._closed.set()
        self._poller.join()
        self._looker.close()


class Records:
    """The records of a topic from a number on, for one thread at a time.

    Attributes
    ----------
    end : int or None
        The number after all records, when they were taken; None before.
    """

    def __init__(self, cluster: Cluster, consumer: Any, name: str, number: int) -> None:
        self.end: int | None = None
        self._cluster = cluster
        self._consumer = consumer
        self._failed: JellyServiceError | None = None
        self._begun = time.monotonic()
        consumer.assign([TopicPartition(name, 0, number)])

    def take(self) -> list[Any]:
        """The next records that have a value, as soon as there are some; none after a second.

        Until the first ones Kafka must answer in time.
        """
        if self._failed is not None:
            raise self._failed
        found = []
        if (first := self._consumer.poll(1.0)) is not None:
            for record in (first, *self._consumer.consume(MANY, 0)):
                error = record.error()
                if error is None:
                    self._begun = 0.0
                    if record.value() is not None:
                        found.append(record)
                elif error.code() == KafkaError._PARTITION_EOF:
                    self._begun, self.end = 0.0, record.offset()
                elif error.code() in _CODES:
                    self._failed = self._cluster.failure(error)
        elif self._begun and time.monotonic() > self._begun + WAIT:
            self._failed = self._cluster.failure(KafkaError(KafkaError._TIMED_OUT))
        return found

    def close(self) -> None:
        """Forget them."""
        self._consumer.close()
