"""Topics in Kafka: a message is a record of `jelly.kafka`, its number the offset. The broker keeps nothing of them.

What a broker knows of a topic it asks Kafka for in each call. So any number of brokers may serve the same topics.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

from jelly._bytes.workers import Workers
from jelly._core.base.batch import Batch
from jelly._core.jelly.encoder import Encoder
from jelly._formats.registry import JELLY, JELLY_PATCH
from jelly._options.options import PatchOptions
from jelly._streams.frames import FrameEncoder
from jelly._streams.output_options import output_options
from jelly.errors import JellyError, JellyOptionsError, JellyServiceError
from jelly.grpc._framing import check_whole
from jelly.grpc._topic import Deleted, Missed, Part, Reading, Topic, served
from jelly.kafka._cluster import Cluster, Records
from jelly.kafka._deserializer import JellyDeserializer, whole_frame

# Calls that may wait for Kafka at the same time, and bytes of a publication that may wait for it.
CALLS, WINDOW = 256, 1 << 20
# Seconds without a message, after which a subscription looks whether its topic is still there.
LOOK = 10.0
_NAME = re.compile(r"(?!__|\.{1,2}$)[A-Za-z0-9._-]{1,249}")


class KafkaStore(Cluster):
    """The topics in a Kafka cluster, see `Topics`."""

    def __init__(self, address: str) -> None:
        self.watchers: defaultdict[str, set[Callable[[], None]]] = defaultdict(set)
        self.workers = Workers(CALLS, beside=True)
        super().__init__(address)

    def get(self, name: str, create: bool) -> KafkaTopic | None:
        """The topic as it is now, or None."""
        if not _NAME.fullmatch(name):
            if create:
                raise JellyOptionsError(
                    f"{name[:250]!r} cannot be the name of a topic in Kafka: expected up to 249 letters a-z and A-Z, "
                    "digits, '.', '_' and '-', without '__' at the beginning"
                )
            return None
        bounds = self.bounds(name)
        if bounds is None and create:
            self.create(name)
            bounds = 0, 0
        return None if bounds is None else KafkaTopic(self, name, *bounds)

    def close(self) -> None:
        self.workers.drop()
        super().close()


class KafkaTopic(Topic):
    """A topic as it is when a call begins, and what the call appends to it."""

    def __init__(self, store: KafkaStore, name: str, first: int, end: int) -> None:
        super().__init__(name)
        self.store = store
        self.end = end
        self.parts = [Part(first)]
        self._watchers = store.watchers[name]
        self._number = -1  # of the first message
        self._changed = threading.Condition()
        self._waiting = 0  # bytes
        self._failed: JellyServiceError | None = None
        self._record: Encoder | None = None
        if first < end and (record := store.first(name, first)) is not None:
            self.take_options(self.batch_of(record))

    def reading(self, call: Any) -> Reading:
        return KafkaReading(self, call)

    # ---- records

    def batch_of(self, record: Any) -> Batch:
        """The statements or the patch of a record. A JellyError says which one cannot be read."""
        try:
            batch: Batch = _BATCHES.deserialize(self.name, record.headers(), record.value())
        except JellyError as error:
            error.source, error.message = f"topic {self.name}", record.offset()
            raise
        return batch

    def take_options(self, batch: Batch) -> None:
        """Take over the options of the first record.

        A record that no broker wrote announces only what itself needs.
        """
        options: Any = batch.options or output_options(None, batch.arity, {})
        self.take(options)
        if self.options is not None and getattr(options, "stream_name", "") != self.name:
            self.options = self.options.replace(generalized_statements=True, rdf_star=True, **_TABLES)

    # ---- writing

    def is_ready(self, batch: Batch) -> bool:
        return super().is_ready(batch) and self._waiting < WINDOW

    def _append(self, batch: Batch, statements: int, now: float) -> None:
        if self._record is None:
            assert self.options is not None
            self._record = Encoder(self.options, frame_rows=0, frame_bytes=0, independent=True)
        [value] = self._record.encode_frames(batch, True)
        with self._changed:
            self._changed.wait_for(lambda: self._waiting < WINDOW or self._failed)
            if self._failed is not None:
                raise self._failed
            self._waiting += len(value)
        format = JELLY_PATCH if isinstance(self.options, PatchOptions) else JELLY
        headers = [("content-type", format.media_type)]
        self.store.append(self.name, value, headers, partial(self._done, len(value)))

    def _done(self, size: int, error: JellyServiceError | None, number: int | None) -> None:
        with self._changed:
            self._waiting -= size
            self._failed = self._failed or error
            if self._number < 0 and number is not None:
                self._number = number
            self._changed.notify_all()

    def acknowledge(self, lost: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting or self._failed)
            if self._failed is not None:
                raise self._failed
        if self._number > self.end == self.first:  # another publication was the first one meanwhile
            found = self.store.get(self.name, False)
            if found is not None and found.options is not None and self.options is not None:
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
        self._records: Records | None = None
        self._next = self.number  # not taken yet
        self._looked = time.monotonic()
        self._failed: JellyError | None = None
        self._encoder: FrameEncoder | None = None

    def close(self) -> None:
        super().close()
        self._thread.submit(self._close)

    def _close(self) -> None:
        if self._records is not None:
            self._records.close()
        self._thread.drop()

    async def begin(self) -> None:
        self._frames = await self._more()

    async def _more(self) -> list[bytes]:
        return await asyncio.wrap_future(self._thread.submit(self._take))

    def _take(self) -> list[bytes]:
        """The next messages, encoded for the subscriber; none after a second, or at the end."""
        if self._failed is not None:
            raise self._failed
        if self._records is None:
            self.topic.check(self.number)
            self._records = self.topic.store.records(self.topic.name, self.number)
        elif self._records.end is not None and not self._call.follow:
            self.number = self._records.end
            return []
        records = self._records.take()
        while not self.has_begun and not records and self._records.end is None:
            records = self._records.take()
        if not records and time.monotonic() > self._looked + LOOK:
            self._look()
        frames: list[bytes] = []
        for record in records:
            try:
                frames.append(self._frame(record))
            except JellyError as error:
                if not frames:
                    raise
                self._failed = error
                break
            self._next += 1
        if not self.has_begun:
            self.number = self._next = self._records.end or self.number
            self.has_begun = True
        return frames

    def _look(self) -> None:
        """Look whether the topic is still there, of which Kafka says nothing to who waits for its next record."""
        self._looked = time.monotonic()
        with contextlib.suppress(JellyServiceError):
            bounds = self.topic.store.bounds(self.topic.name)
            if bounds is None or bounds[1] < self._next:
                raise Deleted(f"topic {self.topic.name!r} was deleted")

    def _frame(self, record: Any) -> bytes:
        """The frame of a record for the subscriber."""
        topic = self.topic
        if isinstance(record, JellyServiceError):
            if record.code == "OUT_OF_RANGE":
                raise Missed(f"topic {topic.name!r} does not keep {self._next} any more")
            raise record
        if not self.has_begun:
            self.number = self._next = record.offset()
            self.has_begun = True
        if record.offset() != self._next:
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


_BATCHES = JellyDeserializer("batch")
_TABLES = {"max_name_table_size": 4000, "max_prefix_table_size": 150, "max_datatype_table_size": 32}
