"""The client for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from threading import Event
from typing import TYPE_CHECKING, Any

from jelly._core.base.batch import Batch
from jelly._options.options import PatchOptions, StreamOptions
from jelly._options.settings import checked
from jelly._streams.frames import FRAME_ROWS, FrameEncoder, statements_of
from jelly._streams.reader import Frame, Statement
from jelly.grpc._calls import (
    FAILURES,
    Attempts,
    BaseClient,
    BaseFeed,
    Item,
    Sending,
    is_unavailable,
    pause,
    service_error,
)
from jelly.grpc._context import grpc
from jelly.grpc._protocol import Kind, TopicInfo, pack_subscribe, unpack_info, unpack_infos
from jelly.patch import Patch

if TYPE_CHECKING:
    from typing_extensions import Self


class AsyncFeed(BaseFeed[Item]):
    """A subscription: an asynchronous iterator of `Frame`, or of `jelly.patch.Patch`.

    `raw`, `batches` and `statements` give the same stream in other forms. It can be consumed only once, in one of these
    ways. `AsyncClient.subscribe` returns one.

    Parameters
    ----------
    client, kind, request, given, attempts : Any
        Internal.

    Examples
    --------
    >>> import asyncio, jelly
    >>> from jelly.grpc import AsyncClient, Broker, Server
    >>> async def main():
    ...     async with Server(Broker()) as server, AsyncClient(server.address) as client:
    ...         await client.publish(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"), topic="news")
    ...         feed = client.subscribe("news", follow=False)
    ...         return [str(statement) async for statement in feed.statements()]
    >>> asyncio.run(main())
    ['<a:s> <a:p> <a:o> .']
    """

    async def raw(self) -> AsyncIterator[bytes]:
        """Iterate over the frames without lengths. After a lost connection the first frame repeats the options."""
        try:
            while not self._closed.is_set():
                call = self._begin()
                try:
                    self._began(await call.initial_metadata())
                    async for frame in call:
                        self._took()
                        yield frame
                    return
                except FAILURES as error:
                    if self._closed.is_set():
                        return
                    seconds = self._wait(error)
                await pause(seconds, self._closed)
        finally:
            self.close()

    async def batches(self) -> AsyncIterator[Batch]:
        """Iterate over the frames as Batches."""
        async for frame in self.raw():
            yield self._decoder.decode(frame)

    async def statements(self) -> AsyncIterator[Statement]:
        """Iterate over the statements of all frames."""
        async for batch in self.batches():
            for statement in statements_of(batch):
                yield statement

    async def __aiter__(self) -> AsyncIterator[Item]:
        async for batch in self.batches():
            yield self._item(batch)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()


class AsyncClient(BaseClient[AsyncFeed[Frame], AsyncFeed[Patch]]):
    """A client for asyncio.

    A method that fails raises JellyServiceError, or JellyTimeoutError after its deadline.

    Parameters
    ----------
    address : str
        ``host:port`` or ``unix:path``.
    tls : Tls, optional
        Keys and certificates of a secure channel. By default the channel is not secure.
    token : str, optional
        Bearer token to send with each call. Without ``tls`` only to this machine, or with ``insecure``.
    compression : {"gzip"}, optional
        Compress what is sent.
    retries : int, default 5
        Attempts in a row after a lost connection, each after a longer wait.
    keepalive : float, default 30.0
        Seconds between keepalive pings.
    max_message_bytes : int, default 256 MiB
        Maximum bytes of a frame.
    insecure : bool, default False
        Send the token without TLS to another machine too.

    Examples
    --------
    >>> import asyncio, jelly
    >>> from jelly.grpc import AsyncClient, Broker, Server
    >>> async def main():
    ...     async with Server(Broker()) as server, AsyncClient(server.address) as client:
    ...         await client.publish(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"), topic="news")
    ...         return [len(frame) async for frame in client.subscribe("news", follow=False)]
    >>> asyncio.run(main())
    [1]
    """

    _grpc = grpc.aio
    _feed = AsyncFeed

    @checked()
    async def publish(
        self,
        items: AsyncIterable[Any] | Iterable[Any],
        *,
        topic: str | None = None,
        kind: Kind = "statements",
        options: StreamOptions | PatchOptions | Mapping[str, Any] | None = None,
        frame_rows: int = FRAME_ROWS,
        timeout: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> int:
        """Publish a stream and wait until the server has acknowledged all of it. Return the number of frames.

        Parameters
        ----------
        items : iterable of bytes, Batch, Frame, Message or statements; or of Patch, Operation, Batch or bytes
            Frames, Batches, `Frame` objects, messages or statements, or patches, see `FrameEncoder`. An error that it
            raises cancels the call.
        topic : str, optional
            Name of the topic, sent as call metadata ``jelly-topic`` and as the stream name. Patches need it.
        kind : {"statements", "patches"}, default "statements"
            Content of the stream. A patch is stored when all of it has arrived, or not at all.

            Unstable: patches over gRPC are our own, see ``proto/broker.proto``.
        options : StreamOptions, PatchOptions or mapping, optional
            Options of the stream, or some of their fields, see `FrameEncoder`.
        frame_rows : int, default 256
            Statements per frame, if ``items`` are statements.
        timeout : float, optional
            Seconds for the whole call. By default unlimited.
        metadata : mapping of str to str, optional
            Further call metadata.

        Notes
        -----
        Only connecting is retried. A frame that has been sent once is never sent again.
        """
        encoder = FrameEncoder(options, patch=kind == "patches", frame_rows=frame_rows, name=topic or "")
        sending = Sending(items, encoder)
        attempts = Attempts(self._retries, timeout)
        pairs = self._metadata(metadata, topic=topic)
        while True:
            try:
                await self._probe(b"", timeout=attempts.left)
                break
            except grpc.RpcError as error:
                if not is_unavailable(error):  # any answer shows that there is a server
                    break
                seconds = attempts.wait(error)
            await pause(seconds, Event())
        try:
            await self._publish[kind](aiter(sending), timeout=attempts.left, metadata=pairs)
        except FAILURES as error:
            raise sending.failed or service_error(error) from None
        return sending.sent

    @checked()
    async def topics(self, name: str = "", *, timeout: float | None = None) -> list[TopicInfo]:
        """Ask a broker for its topics. This is an extension, see ``proto/broker.proto``.

        Parameters
        ----------
        name : str, default ""
            Name of a topic. By default all topics.
        timeout : float, optional
            Seconds for the call. By default unlimited.
        """
        return unpack_infos(await self._ask(self._list, name, timeout))

    @checked()
    async def delete_topic(self, name: str, *, timeout: float | None = None) -> TopicInfo:
        """Have a broker delete a topic with all its messages. Its subscriptions end with NOT_FOUND.

        Parameters
        ----------
        name : str
            Name of the topic.
        timeout : float, optional
            Seconds for the call. By default unlimited.
        """
        return unpack_info(await self._ask(self._delete, name, timeout))

    async def _ask(self, method: Any, name: str, timeout: float | None) -> Any:
        try:
            return await method(pack_subscribe(name), timeout=timeout, metadata=self._metadata(None))
        except grpc.RpcError as error:
            raise service_error(error) from None

    async def close(self) -> None:
        """Close the channel and end its calls."""
        self._is_closed = True
        await self._channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()
