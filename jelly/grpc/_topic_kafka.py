"""Topics in Kafka: a message is a record of `jelly.kafka`, its number the offset. The broker keeps nothing of them.

What a broker knows of a topic it asks Kafka for in each call. So any number of brokers may serve the same topics.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from functools import cached_property
from queue import SimpleQueue
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from jelly._bytes.workers import Workers
from jelly._core.base.batch import Batch
from jelly._core.jelly.encoder import Encoder
from jelly._streams.frames import FrameEncoder
from jelly._streams.outputs import output_options
from jelly.errors import JellyArgumentError, JellyError, JellyOptionsError, JellyServiceError
from jelly.grpc._protocol import check_whole
from jelly.grpc._topic import Deleted, Missed, Part, Reading, Topic, served
from jelly.kafka._confluent import (
    AdminClient,
    Consumer,
    KafkaError,
    KafkaException,
    NewTopic,
    Producer,
    TopicPartition,
)
from jelly.kafka._deserializer import JellyDeserializer, whole_frame
from jelly.kafka._serializer import SIZES, JellySerializer

log = logging.getLogger("jelly.kafka")

# Seconds for an answer, and for that of a look whether Kafka is there at all.
WAIT, LOOK = 10.0, 3.0
# Records that are read at once, at most.
MANY = 256
_ALL: dict[str, Any] = {"log_level": 2, "reconnect.backoff.max.ms": 1000}
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
    "_UNKNOWN_TOPIC": "NOT_FOUND",
    "_UNKNOWN_PARTITION": "NOT_FOUND",
    "UNKNOWN_TOPIC_OR_PART": "NOT_FOUND",
    "_AUTO_OFFSET_RESET": "OUT_OF_RANGE",
    "OFFSET_OUT_OF_RANGE": "OUT_OF_RANGE",
    "MSG_SIZE_TOO_LARGE": "INVALID_ARGUMENT",
    "_QUEUE_FULL": "RESOURCE_EXHAUSTED",
    "TOPIC_AUTHORIZATION_FAILED": "PERMISSION_DENIED",
    "CLUSTER_AUTHORIZATION_FAILED": "PERMISSION_DENIED",
    "TOPIC_ALREADY_EXISTS": "ALREADY_EXISTS",
    # While a topic is new, or gets another leader.
    "LEADER_NOT_AVAILABLE": "ABORTED",
    "NOT_LEADER_FOR_PARTITION": "ABORTED",
}
_AWAY = (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._MSG_TIMED_OUT)
# Those that end a subscription; it waits for what else may come to pass.
_FINAL = ("OUT_OF_RANGE", "PERMISSION_DENIED")
# Calls that may wait for Kafka at the same time, and bytes of a publication that may wait for it.
CALLS, WINDOW = 256, 1 << 20
# Seconds without a message, after which a subscription looks whether its topic is still there.
SILENCE = 10.0
_NAME = re.compile(r"(?!__|\.{1,2}$)[A-Za-z0-9._-]{1,249}")


class KafkaStore:
    """The topics of a cluster, see `Topics`. Any thread may use it.

    The address is ``kafka://HOST:PORT,HOST:PORT?NAME=VALUE``, with settings of librdkafka (confluent-kafka). A topic of
    Kafka has one partition, to which is appended, and which is read by number.

    Errors are a JellyServiceError with the name of a status of gRPC: ``UNAVAILABLE`` if Kafka does not answer in time.
    """

    def __init__(self, address: str) -> None:
        self.watchers: defaultdict[str, set[Callable[[], None]]] = defaultdict(set)
        self.workers = Workers(CALLS, beside=True)
        parts = urlsplit(address)
        if not parts.netloc or parts.path.strip("/"):
            raise JellyArgumentError(f"store is {address!r}: expected kafka://HOST:PORT")
        self.servers = parts.netloc
        self._settings = _ALL | dict(parse_qsl(parts.query)) | {"bootstrap.servers": parts.netloc}
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
        return JellyServiceError(f"Kafka at {self.servers}: {text}", _CODES.get(error.name(), "UNAVAILABLE"))

    @contextlib.contextmanager
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
        until = time.monotonic() + WAIT
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
                    first, end = self._looker.get_watermark_offsets(TopicPartition(name, 0), WAIT)
                    return first, end
            except JellyServiceError as error:
                if error.code == "NOT_FOUND":
                    return None
                if error.code != "ABORTED" or time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def get(self, name: str, create: bool) -> KafkaTopic | None:
        """The topic as it is now, or None. Kafka decides how many copies of a new one there are."""
        if not _NAME.fullmatch(name):
            if create:
                raise JellyOptionsError(
                    f"{name[:250]!r} cannot be the name of a topic in Kafka: expected up to 249 letters a-z and A-Z, "
                    "digits, '.', '_' and '-', without '__' at the beginning"
                )
            return None
        bounds = self.bounds(name)
        if bounds is None and create:
            try:
                with self._asking():
                    self._admin.create_topics([NewTopic(name, 1, -1)], request_timeout=WAIT)[name].result()
            except JellyServiceError as error:
                if error.code != "ALREADY_EXISTS":
                    raise
            bounds = 0, 0
        return None if bounds is None else KafkaTopic(self, name, *bounds)

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

    def records(self, name: str, number: int) -> Generator[tuple[list[Any], int | None], None, None]:
        """The records of a topic from a number on that have a value, and the number after all of them once it is known.

        They come as soon as there are some; none after a second. Until the first ones Kafka must answer within WAIT
        seconds. Errors after which librdkafka tries again are told in the log once, and raised if they go on for as
        long.
        """
        begun = time.monotonic()
        # Since when there are errors after which librdkafka tries again, and the time of the last one.
        ill = seen = -math.inf
        end: int | None = None
        with contextlib.closing(Consumer(_READING | self._settings)) as consumer:
            consumer.assign([TopicPartition(name, 0, number)])
            while True:
                first = consumer.poll(1.0)
                now = time.monotonic()
                if first is None and now > begun + WAIT:
                    raise self.failure(KafkaError(KafkaError._TIMED_OUT))
                found: list[Any] = []
                for record in () if first is None else (first, *consumer.consume(MANY, 0)):
                    error = record.error()
                    if error is None or error.code() == KafkaError._PARTITION_EOF:
                        begun, seen = math.inf, -math.inf
                        if error is not None:
                            end = record.offset()
                        elif record.value() is not None:
                            found.append(record)
                        continue
                    failure = self.failure(error)
                    if failure.code not in _FINAL:
                        if now > seen + WAIT:
                            ill = now
                            log.warning("%s: trying again", failure.reason)
                        seen = now
                    if failure.code in _FINAL or now > ill + WAIT:
                        if found:
                            yield found, end
                        raise failure
                yield found, end

    def first(self, name: str, number: int) -> list[Any]:
        """The first records from a number on that have a value, if there are any."""
        with contextlib.closing(self.records(name, number)) as taken:
            return next(found for found, end in taken if found or end is not None)

    def close(self) -> None:
        """Send what waits, for some seconds, and end."""
        self.workers.drop()
        self._producer.flush(LOOK)
        self._closed.set()
        self._poller.join()
        self._looker.close()


class KafkaTopic(Topic):
    """A topic as it is when a call begins, and what the call appends to it."""

    options: Any

    def __init__(self, store: KafkaStore, name: str, first: int, end: int) -> None:
        super().__init__(name)
        self.store = store
        self.end = end
        self.parts = [Part(first)]
        self._watchers = store.watchers[name]
        self._number = -1  # of the first message
        self._waiting = 0  # bytes, without those of the answers that were taken
        self._answers: SimpleQueue[Any] = SimpleQueue()  # bytes, and an error or a number
        if first < end and (records := store.first(name, first)):
            self.take_options(self.batch_of(records[0]))

    def reading(self, call: Any) -> Reading:
        return KafkaReading(self, call)

    # ---- records

    def batch_of(self, record: Any) -> Batch:
        """The statements or the patch of a record. A JellyError says which one cannot be read."""
        try:
            return _BATCHES.deserialize(self.name, record.headers(), record.value())  # type: ignore[no-any-return]
        except JellyError as error:
            error.source, error.message = f"topic {self.name}", record.offset()
            raise

    def take_options(self, batch: Batch) -> None:
        """Take over the options of the first record.

        A record that no broker wrote announces only what itself needs.
        """
        options: Any = batch.options or output_options(None, batch.arity, {})
        self.take(options)
        if getattr(options, "stream_name", "") != self.name:
            self.options = self.options.replace(generalized_statements=True, rdf_star=True, **SIZES[True])

    # ---- writing

    @cached_property
    def _records(self) -> Encoder:
        return Encoder(self.options, frame_rows=0, frame_bytes=0, independent=True)

    def is_ready(self, batch: Batch) -> bool:
        return super().is_ready(batch) and self._waiting < WINDOW

    def _append(self, batch: Batch, statements: int, now: float) -> None:
        [value] = self._records.encode_frames(batch, True)
        self._settle(WINDOW)
        size = len(value)
        self._waiting += size
        headers = _SERIALIZER.headers(batch)
        self.store.append(self.name, value, headers, lambda *answer: self._answers.put((size, *answer)))

    def _settle(self, bound: int) -> None:
        """Take the answers of Kafka that are there, and wait until fewer bytes than ``bound`` are without one."""
        while self._waiting >= bound or not self._answers.empty():
            size, error, number = self._answers.get()
            self._waiting -= size
            if error is not None:
                raise error
            if self._number < 0:
                self._number = number

    def acknowledge(self, lost: int) -> None:
        self._settle(1)
        if self._number > self.end == self.first:  # another publication was the first one meanwhile
            found = self.store.get(self.name, False)
            if found is not None and found.options is not None:
                found.accept(self.options)


class KafkaReading(Reading):
    """The position of a subscriber, with a consumer and a thread of its own.

    Subscribers count messages, so the numbers of those that follow each other must, too. Where there are gaps, of
    transactions or after compaction, the call ends with UNAVAILABLE, and the client goes on after the gap.
    """

    topic: KafkaTopic

    def __init__(self, topic: KafkaTopic, call: Any) -> None:
        super().__init__(topic, call)
        self._thread = Workers(1, beside=True)
        self._taken = self._messages()
        self._encoder: FrameEncoder | None = None

    def close(self) -> None:
        super().close()
        self._thread.submit(self._close)

    def _close(self) -> None:
        self._taken.close()
        self._thread.drop()

    async def begin(self) -> None:
        self._frames = await self._more()

    async def _more(self) -> list[bytes]:
        try:
            return await asyncio.wrap_future(self._thread.submit(next, self._taken))
        except JellyServiceError as error:
            if error.code != "OUT_OF_RANGE":
                raise
            raise Missed(f"topic {self.topic.name!r} does not keep {self.number} any more") from None

    def _messages(self) -> Generator[list[bytes], None, None]:
        """The next messages, encoded for the subscriber; none after a second, or at the end."""
        topic, looked = self.topic, time.monotonic()
        topic.check(self.number)
        with contextlib.closing(topic.store.records(topic.name, self.number)) as taken:
            for records, end in taken:
                if not self.has_begun:
                    if not records and end is None:
                        continue
                    self.number = records[0].offset() if records else end or self.number
                    self.has_begun = True
                if not records and time.monotonic() > looked + SILENCE:
                    looked = time.monotonic()
                    # Kafka says nothing of a deleted topic to who waits for its next record.
                    with contextlib.suppress(JellyServiceError):
                        bounds = topic.store.bounds(topic.name)
                        if bounds is None or bounds[1] < self.number:
                            raise Deleted(f"topic {topic.name!r} was deleted")
                frames: list[bytes] = []
                try:
                    for number, record in enumerate(records, self.number):
                        frames.append(self._frame(record, number))
                except JellyError:
                    if frames:
                        yield frames
                    raise
                yield frames
                while end is not None and not self._call.follow:
                    self.number = end
                    yield []

    def _frame(self, record: Any, number: int) -> bytes:
        """The frame of a record for the subscriber, whose next message has a number."""
        topic = self.topic
        if record.offset() != number:
            raise JellyServiceError(f"topic {topic.name!r} goes on with {record.offset()}", "UNAVAILABLE")
        batch = topic.batch_of(record)
        if topic.options is None:
            topic.take_options(batch)
        if batch.options is not None:
            topic.accept(batch.options)
        if self._encoder is None:
            self._encoder = FrameEncoder(served(topic, self._call), skip_namespaces=True)
        if batch.op is not None:
            check_whole(batch)
        elif len(batch.frames) != 1:
            return self._encoder.encode(whole_frame([batch]))
        return self._encoder.encode(batch)


_BATCHES, _SERIALIZER = JellyDeserializer("batch"), JellySerializer()
