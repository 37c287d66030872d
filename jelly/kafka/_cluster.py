"""A Kafka cluster as a place for records: topics of one partition, to which is appended, and which is read by number.

It is what brokers of `jelly.grpc` need of Kafka, through librdkafka (confluent-kafka).
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
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
_ALL = {"log_level": 2, "reconnect.backoff.max.ms": 1000}
_WRITING = {"message.timeout.ms": 30_000, "message.max.bytes": 64 << 20, "linger.ms": 1}
# All that a reader holds is about 1 MiB, or one record.
_READING = {
    "group.id": "jelly",  # needed, but no group is joined
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "queued.max.messages.kbytes": 1024,
}
_CODES = {
    getattr(KafkaError, name): code
    for code, names in {
        "NOT_FOUND": "_UNKNOWN_TOPIC _UNKNOWN_PARTITION UNKNOWN_TOPIC_OR_PART",
        "OUT_OF_RANGE": "_AUTO_OFFSET_RESET OFFSET_OUT_OF_RANGE",
        "INVALID_ARGUMENT": "MSG_SIZE_TOO_LARGE",
        "RESOURCE_EXHAUSTED": "_QUEUE_FULL",
        "PERMISSION_DENIED": "TOPIC_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED",
        "ALREADY_EXISTS": "TOPIC_ALREADY_EXISTS",
        # While a topic is new, or gets another leader.
        "ABORTED": "LEADER_NOT_AVAILABLE NOT_LEADER_FOR_PARTITION",
    }.items()
    for name in names.split()
}
_AWAY = (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._MSG_TIMED_OUT)
# Those that end a subscription; it waits for what else may come to pass.
_FINAL = ("OUT_OF_RANGE", "PERMISSION_DENIED")


class Cluster:
    """A cluster at ``kafka://HOST:PORT,HOST:PORT?NAME=VALUE``, with settings of librdkafka. Any thread may use it.

    Errors are a JellyServiceError with the name of a status of gRPC: ``UNAVAILABLE`` if Kafka does not answer in time.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        if not parts.netloc or parts.path.strip("/"):
            raise JellyArgumentError(f"store is {address!r}: expected kafka://HOST:PORT")
        self.servers: str = parts.netloc
        self._settings: dict[str, Any] = {**_ALL, **dict(parse_qsl(parts.query)), "bootstrap.servers": parts.netloc}
        self._why = ""  # of the last error of a connection
        self._is_known = False
        self._closed = threading.Event()
        self._looking = threading.Lock()
        try:
            self._looker = Consumer(_READING | self._settings)
            self._admin = AdminClient(self._settings)
            self._producer = Producer(
                _WRITING | self._settings | {"enable.idempotence": True, "acks": "all", "error_cb": self._note}
            )
        except KafkaException as error:
            raise JellyOptionsError(f"{address}: {error.args[0].str()}") from None
        self._poller = threading.Thread(target=self._poll, name="jelly-kafka", daemon=True)
        self._poller.start()
        if failure := self.check():
            self.close()
            raise JellyServiceError(failure, "UNAVAILABLE")
        self._is_known = True

    def _note(self, error: KafkaError) -> None:
        why = error.str().partition(" (after ")[0]
        if why != self._why and error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._why = why
            if self._is_known:
                log.warning("Kafka: %s", why)

    def _poll(self) -> None:
        while not self._closed.is_set():
            self._producer.poll(0.2)

    def failure(self, error: KafkaError) -> JellyServiceError:
        """The exception for an error of Kafka."""
        text = error.str()
        if error.code() in _AWAY:
            text = f"no answer: {self._why or text}"
        return JellyServiceError(f"Kafka at {self.servers}: {text}", _CODES.get(error.code(), "UNAVAILABLE"))

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Context manager of a request: an error of Kafka becomes a JellyServiceError.

        One handle of confluent-kafka answers one request after the other; none waits for its turn for long.
        """
        if not self._looking.acquire(timeout=WAIT):
            raise self.failure(KafkaError(KafkaError._TIMED_OUT))
        try:
            yield
        except KafkaException as error:
            raise self.failure(error.args[0]) from error
        finally:
            self._looking.release()

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
        with self._asking():
            topics = self._looker.list_topics(timeout=WAIT).topics
        return sorted(name for name, topic in topics.items() if len(topic.partitions) == 1 and name[:2] != "__")

    def bounds(self, name: str) -> tuple[int, int] | None:
        """The numbers of the oldest record of a topic and of the next one, or None if there is no such topic."""
        end = time.monotonic() + WAIT
        while True:
            try:
                with self._asking():
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
            except JellyServiceError as error:
                if error.code == "NOT_FOUND":
                    return None
                if error.code != "ABORTED" or time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def create(self, name: str) -> None:
        """Create a topic, unless it is there; Kafka decides how many copies it has."""
        try:
            with self._asking():
                self._admin.create_topics([NewTopic(name, 1, -1)], request_timeout=WAIT)[name].result()
        except JellyServiceError as error:
            if error.code != "ALREADY_EXISTS":
                raise

    def delete(self, name: str) -> None:
        """Delete a topic."""
        with self._asking():
            self._admin.delete_topics([name], request_timeout=WAIT)[name].result()

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
        with closing(self.records(name, number)) as records:
            while records.end is None:
                for record in records.take():
                    if isinstance(record, JellyServiceError):
                        raise record
                    return record
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
        self._begun = time.monotonic()
        # Since when there are errors after which librdkafka tries again, and the time of the last one.
        self._ill = self._seen = -math.inf
        consumer.assign([TopicPartition(name, 0, number)])

    def take(self) -> list[Any]:
        """The next records that have a value, as soon as there are some, or an error; none after a second.

        Until the first ones Kafka must answer within WAIT seconds. Errors after which librdkafka tries again are told
        in the log once, and become one here if they go on for as long.
        """
        found: list[Any] = []
        first = self._consumer.poll(1.0)
        now = time.monotonic()
        if first is None:
            if now > self._begun + WAIT:
                found.append(self._cluster.failure(KafkaError(KafkaError._TIMED_OUT)))
            return found
        for record in (first, *self._consumer.consume(MANY, 0)):
            error = record.error()
            if error is None or error.code() == KafkaError._PARTITION_EOF:
                self._begun, self._seen = math.inf, -math.inf
                if error is not None:
                    self.end = record.offset()
                elif record.value() is not None:
                    found.append(record)
            elif (failed := self._cluster.failure(error)).code in _FINAL:
                found.append(failed)
            else:
                if now > self._seen + WAIT:
                    self._ill = now
                    log.warning("%s: trying again", failed.reason)
                self._seen = now
                if now > self._ill + WAIT:
                    found.append(failed)
        return found

    def close(self) -> None:
        """Forget them."""
        self._consumer.close()
