"""The broker: topics that anybody publishes to and subscribes to, at any time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

from jelly.grpc.calls import Publication, Refusal, Subscription
from jelly.grpc.frames import FrameDecoder, FrameEncoder
from jelly.grpc.protocol import FIRST, serve_options
from jelly.grpc.server import AsyncHandler
from jelly.grpc.topics import Missed, Topic, Topics
from jelly.options import StreamOptions

__all__ = ["Broker"]


class Broker(AsyncHandler):
    """A handler for an `AsyncServer`: what is published to a topic is kept in ``topics`` and goes to all subscribers.

    A subscriber takes messages from the topic at its own pace, so none is ever queued for it: back-pressure is that of
    its own call. One that falls behind what a topic without a store keeps ends with RESOURCE_EXHAUSTED.
    Publishing makes the topic, unless ``create=False``; the first stream's options become those of the topic, later
    ones must fit in (see `accept_options`). A publication is acknowledged when the store has all of it.

    >>> import asyncio, jelly, jelly.grpc
    >>> async def main():
    ...     async with jelly.grpc.AsyncServer(Broker()) as server, jelly.grpc.AsyncClient(server.address) as client:
    ...         await client.publish(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"), topic="news")
    ...         return [len(frame) async for frame in client.subscribe("news", follow=False)]
    >>> asyncio.run(main())
    [1]
    """

    def __init__(self, topics: Topics | None = None, *, create: bool = True) -> None:
        self.topics = topics or Topics()
        self.create = create
        self.published = 0  # messages
        self.delivered = 0
        self.subscribers = 0

    async def on_publish(self, call: Publication) -> None:
        """Append a stream to its topic."""
        topic: Topic | None = None
        loop = asyncio.get_running_loop()
        async for batch in call:
            if topic is None:
                if call.options is None:
                    continue  # empty frames may come before the options
                topic = self._topic(call)
                topic.offer(call.options)
                if len(batch) == 0 and not batch.namespaces and not batch.metadata and not call.options.is_grouped:
                    continue  # only the options
            topic.append(batch)
            self.published += 1
        if topic is not None:
            await loop.run_in_executor(None, topic.sync)
        elif call.messages == 0:
            raise Refusal("INVALID_ARGUMENT", "the stream has no frame")
        else:
            raise Refusal("INVALID_ARGUMENT", "the stream has no options")

    def _topic(self, call: Publication) -> Topic:
        if not call.topic:
            raise Refusal(
                "INVALID_ARGUMENT", "no topic: expected a stream name in the options, or the metadata jelly-topic"
            )
        topic = self.topics.get(call.topic, create=self.create)
        if topic is None:
            raise Refusal("NOT_FOUND", f"there is no topic {call.topic!r}")
        return topic

    async def on_subscribe(self, call: Subscription) -> AsyncIterator[bytes]:
        """The messages of a topic, from where the subscriber wants them."""
        topic = self.topics.get(call.topic)
        if topic is None:
            raise Refusal("NOT_FOUND", f"there is no topic {call.topic!r}")
        if topic.options is not None:
            serve_options(topic.options, call.options)
        number = topic.end if call.start == "latest" else call.start
        reading = _Reading(topic, call.options, number if isinstance(number, int) else topic.first)
        until = None if call.follow else topic.end
        news = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(news.set)

        await call.send_metadata({FIRST: str(reading.number)})
        topic.watch(wake)
        self.subscribers += 1
        try:
            while until is None or reading.number < until:
                news.clear()
                for frame in reading.take():
                    yield frame
                    self.delivered += 1
                if until is None and reading.is_at_end:
                    await news.wait()
        except Missed as error:
            if reading.taken == 0:
                raise
            raise Refusal("RESOURCE_EXHAUSTED", f"the subscriber was too slow: {error.reason}") from None
        finally:
            self.subscribers -= 1
            topic.unwatch(wake)


class _Reading:
    """One subscriber's way through a topic; ``number`` is the next message."""

    def __init__(self, topic: Topic, requested: StreamOptions | None, number: int) -> None:
        self.topic = topic
        self.number = number
        self.taken = 0
        self._requested = requested
        self._coder: tuple[FrameDecoder, FrameEncoder] | None = None
        # The subscriber has read the topic's own frames since a keyframe, so that the next one needs no change.
        self._in_step = False

    @property
    def is_at_end(self) -> bool:
        """Whether there are no more messages now."""
        return self.number >= self.topic.end

    def take(self) -> Iterator[bytes]:
        """The messages up to the end of a segment; where possible as the bytes they are.

        Who starts in the middle of a segment, or wants smaller tables, gets frames that are encoded anew.
        """
        start, frames = self.topic.read(self.number)
        if not frames or self.topic.options is None:
            return
        options = serve_options(self.topic.options, self._requested)
        same = options == self.topic.options
        if same and (self._in_step or start == self.number):
            self._in_step = True
            self._coder = None
        skip = self.number - start
        if not self._in_step and self._coder is None:
            self._coder = FrameDecoder(), FrameEncoder(options)
            for frame in frames[:skip]:
                self._coder[0].decode(frame)
        for frame in frames[skip:]:
            yield from [frame] if self._coder is None else self._coder[1].encode(self._coder[0].decode(frame))
            self.number += 1
            self.taken += 1
