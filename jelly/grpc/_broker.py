"""The broker: it stores published streams and sends them to subscribers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Iterable, Iterator
from typing import Any

from jelly._core.base.batch import Batch
from jelly._options.settings import checked
from jelly.errors import JellyError, JellyLimitError
from jelly.grpc._context import Call, Publication, Refusal, Subscription
from jelly.grpc._protocol import FIRST, Kind, TopicInfo, WholePatches
from jelly.grpc._server import Handler
from jelly.grpc._topic import Missed, Topic, served
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
            async for batch in call:
                if call.options is None:
                    continue  # empty frames may come before the options
                if topic is None:
                    topic = await self.topics.run(self._topic, call)
                    if call.kind == "patches":
                        whole = WholePatches(call.options)
                    elif not (len(batch) or batch.namespaces or batch.metadata or call.options.is_grouped):
                        topic.offer(call.options)  # which is all that this frame has
                        continue
                await self._append(call, topic, [batch] if whole is None else whole.add(batch))
            if topic is None:
                raise Refusal("INVALID_ARGUMENT", f"the stream has no {'options' if call.messages else 'frame'}")
            if whole is not None:
                await self._append(call, topic, whole.close())
            await self.topics.run(self.topics.acknowledge, topic, call.lost)

    async def _append(self, call: Publication, topic: Topic, messages: Iterable[Batch]) -> None:
        for message in messages:
            if not call.is_offered:  # another publication may have created the topic meanwhile
                topic.offer(call.options)
                call.is_offered = True
            if topic.is_ready(message):
                topic.append(message)
            else:
                await self.topics.run(topic.append, message)
            self.published += 1

    async def on_list_topics(self, call: Call) -> list[TopicInfo]:
        """List all topics by name."""
        return await self.topics.run(self.infos)

    def collect(self) -> Iterator[Any]:
        """Collect metrics for Prometheus (extra ``metrics``): ``prometheus_client.REGISTRY.register(broker)``."""
        from jelly.grpc._metrics import families

        return families(self)

    def infos(self) -> list[TopicInfo]:
        """The metadata of all topics by name."""
        found = []
        for name in self.topics.names():
            with contextlib.suppress(JellyError):  # a topic of Kafka that is none of a broker
                if (topic := self.topics.get(name)) is not None:
                    found.append(topic.info)
        return found

    async def on_delete_topic(self, call: Call, topic: str) -> TopicInfo:
        """Delete the ``topic``.

        If clients have names, only the one that created it may do so, or who ``authorize`` allows it: see ``call``.
        """
        found = await self.topics.run(self._found, topic)
        if call.identity is not None and not call.is_authorized and call.identity != found.owner:
            raise Refusal("PERMISSION_DENIED", f"{call.identity} may not delete {topic!r}, which somebody else created")
        info = found.info
        await self.topics.run(self.topics.delete, topic)
        return info

    def _topic(self, call: Publication) -> Topic:
        if not call.topic:
            name = "" if call.kind == "patches" else "a stream name in the options, or "
            raise Refusal("INVALID_ARGUMENT", f"no topic: expected {name}the metadata jelly-topic")
        try:
            topic = self._found(call.topic, create=self.create, owner=call.identity or "")
        except JellyLimitError as error:
            raise Refusal("RESOURCE_EXHAUSTED", error.reason) from None
        call.lost = topic.lost
        return topic

    async def on_subscribe(self, call: Subscription) -> AsyncGenerator[bytes, None]:
        """Send the frames of a topic, from the message that the subscriber asks for; of patches each is a whole one."""
        with self._counted():
            topic = await self.topics.run(self._found, call.topic)
            if topic.watchers >= self.max_subscribers:
                raise Refusal("RESOURCE_EXHAUSTED", f"topic {call.topic!r} has {topic.watchers} subscribers, the most")
            if topic.options is not None:
                served(topic, call)
            until = None if call.follow else topic.end
            reading = topic.reading(call)
            self.subscribers += 1
            try:
                await reading.begin()
                await call.send_metadata({FIRST: str(reading.number)})
                async for frame in reading.frames(until):
                    yield frame
                    self.delivered += 1
            except Missed as error:
                if not reading.has_begun:
                    raise
                raise Refusal("RESOURCE_EXHAUSTED", f"the subscriber was too slow: {error.reason}") from None
            finally:
                self.subscribers -= 1
                reading.close()

    def _found(self, name: str, **settings: Any) -> Topic:
        topic = self.topics.get(name, **settings)
        if topic is None:
            raise Refusal("NOT_FOUND", f"there is no topic {name!r}")
        return topic
