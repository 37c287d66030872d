"""The broker: it stores published streams and sends them to subscribers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator
from typing import Any

from jelly._core.base.batch import Batch
from jelly._options.options import PatchOptions, StreamOptions
from jelly._options.settings import checked
from jelly._streams.frames import FrameDecoder, FrameEncoder
from jelly.errors import JellyLimitError
from jelly.grpc._context import BIG, Call, Publication, Refusal, Subscription
from jelly.grpc._framing import WholePatches
from jelly.grpc._protocol import FIRST, Kind, check_content, serve_options
from jelly.grpc._server import Handler
from jelly.grpc._topic import Topic, TopicInfo, info_of
from jelly.grpc._topic_log import Missed
from jelly.grpc._topics import Topics


class Broker(Handler):
    """A handler for a `Server` that stores published streams and sends them to all subscribers.

    A topic is created by its first publication, whose stream options it keeps; later publications must fit them. A
    publication is acknowledged when the store has all of it. If a publication fails, the messages that arrived before
    stay. A topic holds statements or patches, as its first publication decides. A message of patches is a whole patch,
    and the end of a publication ends its last patch; of a patch whose end does not arrive nothing is stored.
    Each subscriber reads from the topic at its own pace, without a queue. A subscriber that falls behind a topic
    without a store ends with RESOURCE_EXHAUSTED.

    Parameters
    ----------
    topics : Topics, optional
        The topics. By default topics in memory.
    create : bool, default True
        Whether a publication may create a topic.
    max_subscribers : int, default 1000
        Maximum number of subscribers of a topic.

    Examples
    --------
    >>> import asyncio, jelly, jelly.grpc
    >>> async def main():
    ...     async with jelly.grpc.Server(Broker()) as server, jelly.grpc.AsyncClient(server.address) as client:
    ...         await client.publish(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"), topic="news")
    ...         return [len(frame) async for frame in client.subscribe("news", follow=False)]
    >>> asyncio.run(main())
    [1]
    """

    kinds: tuple[Kind, ...] = ("statements", "patches")

    @checked()
    def __init__(self, topics: Topics | None = None, *, create: bool = True, max_subscribers: int = 1000) -> None:
        self.topics: Topics = topics or Topics()
        self.create = create
        self.max_subscribers = max_subscribers
        self.published: int = 0  # messages
        self.delivered: int = 0
        self.subscribers: int = 0
        self.refused: int = 0  # publications and subscriptions that ended with an error

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        """Context manager of a call: an error is counted."""
        try:
            yield
        except Exception:
            self.refused += 1
            raise

    async def on_publish(self, call: Publication) -> None:
        """Append a stream to its topic; a patch when all of it has arrived."""
        with self._counted():
            topic: Topic | None = None
            whole: WholePatches | None = None
            started = False
            async for batch in call:
                if call.options is None:
                    continue  # empty frames may come before the options
                if topic is None:
                    topic = self._topic(call)
                    whole = WholePatches(call.options) if call.kind == "patches" else None
                    if whole is None:
                        topic.offer(call.options)
                        is_empty = not (len(batch) or batch.namespaces or batch.metadata)
                        if is_empty and not call.options.is_grouped:
                            continue  # only the options
                for message in [batch] if whole is None else whole.add(batch):
                    if not started:  # another publication may have created the topic meanwhile
                        topic.offer(call.options)
                        started = True
                    await self._append(topic, message)
            if topic is not None and whole is not None:
                for message in whole.close():
                    topic.offer(call.options)
                    await self._append(topic, message)
            await self._end(call, topic)

    async def on_list_topics(self, call: Call) -> list[TopicInfo]:
        """List all topics by name."""
        return self.infos()

    def collect(self) -> Iterator[Any]:
        """Collect metrics for Prometheus (extra ``metrics``): ``prometheus_client.REGISTRY.register(broker)``."""
        from jelly.grpc._metrics import families

        return families(self)

    def infos(self) -> list[TopicInfo]:
        """The metadata of all topics by name."""
        return [info_of(topic) for name in self.topics.names() if (topic := self.topics.get(name)) is not None]

    async def on_delete_topic(self, call: Call, topic: str) -> TopicInfo:
        """Delete the ``topic``.

        If clients have names, only the one that created it may do so, or who ``authorize`` allows it: see ``call``.
        """
        found = self.topics.get(topic)
        if found is None:
            raise Refusal("NOT_FOUND", f"there is no topic {topic!r}")
        if call.identity is not None and not call.is_authorized and call.identity != found.owner:
            raise Refusal("PERMISSION_DENIED", f"{call.identity} may not delete {topic!r}, which somebody else created")
        info = info_of(found)
        await asyncio.to_thread(self.topics.delete, topic)
        return info

    async def _append(self, topic: Topic, batch: Batch) -> None:
        if batch.nbytes < BIG:
            topic.append(batch)
        else:
            await asyncio.to_thread(topic.append, batch)
        self.published += 1

    async def _end(self, call: Publication, topic: Topic | None) -> None:
        """Make sure of what was published, or refuse a stream of nothing."""
        if topic is not None:
            await asyncio.to_thread(self.topics.acknowledge, topic, call.lost)
        elif call.messages == 0:
            raise Refusal("INVALID_ARGUMENT", "the stream has no frame")
        else:
            raise Refusal("INVALID_ARGUMENT", "the stream has no options")

    def _topic(self, call: Publication) -> Topic:
        if not call.topic:
            name = "" if call.kind == "patches" else "a stream name in the options, or "
            raise Refusal("INVALID_ARGUMENT", f"no topic: expected {name}the metadata jelly-topic")
        try:
            topic = self.topics.get(call.topic, create=self.create, owner=call.identity or "")
        except JellyLimitError as error:
            raise Refusal("RESOURCE_EXHAUSTED", error.reason) from None
        if topic is None:
            raise Refusal("NOT_FOUND", f"there is no topic {call.topic!r}")
        call.lost = topic.log.lost
        return topic

    async def on_subscribe(self, call: Subscription) -> AsyncGenerator[bytes, None]:
        """Send the frames of a topic, from the message that the subscriber asks for; of patches each is a whole one."""
        with self._counted():
            topic = self.topics.get(call.topic)
            if topic is None:
                raise Refusal("NOT_FOUND", f"there is no topic {call.topic!r}")
            if topic.watchers >= self.max_subscribers:
                raise Refusal("RESOURCE_EXHAUSTED", f"topic {call.topic!r} has {topic.watchers} subscribers, the most")
            if topic.options is not None:
                _served(topic, call)
            number = topic.end if call.start == "latest" else call.start
            reading = _Reading(topic, call, number if isinstance(number, int) else topic.first)
            until = None if call.follow else topic.end
            news = asyncio.Event()
            loop = asyncio.get_running_loop()

            def wake() -> None:
                with contextlib.suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(news.set)

            topic.watch(wake)
            self.subscribers += 1
            try:
                frames: list[bytes] | None = await _first(call, reading)
                await call.send_metadata({FIRST: str(reading.number)})
                while until is None or reading.number < until:
                    if frames is None:
                        news.clear()
                        frames = reading.take() if reading.is_quick else await asyncio.to_thread(reading.take)
                    for frame in frames:
                        if reading.is_plain:
                            yield frame
                        elif len(frame) < BIG:
                            yield reading.recode(frame)
                        else:
                            yield await asyncio.to_thread(reading.recode, frame)
                        reading.number += 1
                        self.delivered += 1
                        if reading.number == until:
                            break
                    if not frames and until is None:
                        await news.wait()
                    frames = None
            except Missed as error:
                if not reading.has_begun:
                    raise
                raise Refusal("RESOURCE_EXHAUSTED", f"the subscriber was too slow: {error.reason}") from None
            finally:
                self.subscribers -= 1
                topic.unwatch(wake)


async def _first(call: Subscription, reading: _Reading) -> list[bytes]:
    """The first messages; the oldest may be dropped before they are read."""
    while True:
        try:
            return await asyncio.to_thread(reading.take)
        except Missed:
            if isinstance(call.start, int):
                raise
            reading.number = reading.topic.first


def _served(topic: Topic, call: Subscription) -> StreamOptions | PatchOptions:
    """The options for a subscriber; one of statements that asks for version 1 gets no namespaces."""
    own, requested = topic.options, call.options
    check_content(f"topic {topic.name!r}", isinstance(own, PatchOptions), call.kind == "patches")
    if isinstance(own, StreamOptions) and requested is not None and requested.version == 1:
        own = own.replace(version=1)
    options: StreamOptions | PatchOptions = serve_options(own, requested)
    return options


class _Reading:
    """The position of a subscriber in a topic; ``number`` is the next message."""

    def __init__(self, topic: Topic, call: Subscription, number: int) -> None:
        self.topic = topic
        self.number = number
        self.has_begun = False
        # Whether the subscriber has read unchanged frames since a keyframe, so that the next frame needs no change.
        self.is_plain = False
        self._call = call
        self._coder: tuple[FrameDecoder, FrameEncoder] | None = None

    @property
    def is_quick(self) -> bool:
        """Whether `take` neither reads a file nor decodes much."""
        return self.has_begun and self.topic.log.is_quick(self.number)

    def take(self) -> list[bytes]:
        """The messages up to the end of a segment; empty if the next one was not published yet.

        For a start in the middle of a segment, or smaller tables, they must be encoded again.
        """
        start, frames = self.topic.log.read(self.number)
        own = self.topic.options
        if not frames or own is None:
            return []
        options = _served(self.topic, self._call)
        skip = self.number - start
        if options == own and skip == 0:
            self.is_plain = True
            self._coder = None
        if not self.is_plain and self._coder is None:
            self._coder = FrameDecoder(patch=self._call.kind == "patches"), FrameEncoder(options, skip_namespaces=True)
            for frame in frames[:skip]:
                self._coder[0].decode(frame)
        self.has_begun = True
        return frames[skip:]

    def recode(self, frame: bytes) -> bytes:
        """A frame encoded again for a subscriber that cannot use it unchanged."""
        assert self._coder is not None
        decoder, encoder = self._coder
        return encoder.encode(decoder.decode(frame))
