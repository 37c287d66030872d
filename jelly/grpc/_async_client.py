"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from typing import Any

from jelly._core.base.batch import Batch
from jelly._options.options import PatchOptions, StreamOptions
from jelly._options.settings import checked
from jelly._streams.reader import Frame, Statement
from jelly.grpc._calls import F, _Attempts, _BaseClient, _BaseFeed, _error
from jelly.grpc._context import grpc
from jelly.grpc._framing import FRAME_ROWS, FrameWriter, frame_of, readable, statements_of
from jelly.grpc._patches import PatchWriter, patch_of
from jelly.grpc._protocol import (
    pack_subscribe,
)
from jelly.grpc._topic_info import TopicInfo, unpack_info, unpack_infos
from jelly.patch import Patch

__all__ = ["AsyncClient", "AsyncFeed", "AsyncPatchFeed"]


class _AsyncFeed(_BaseFeed):
    """The forms of a subscription to statements or patches, for asyncio."""

    async def raw(self) -> AsyncIterator[bytes]:
        """Iterate over the frames as bytes. After a lost connection the first frame repeats the options.

        Yields
        ------
        bytes
            The next frame, without its length.
        """
        progress = self._progress
        try:
            while not self._closed.is_set():
                self._call = self._method(progress.request, **progress.arguments())
                try:
                    progress.began(await self._call.initial_metadata())
                    async for frame in self._call:
                        progress.took()
                        yield frame
                    return
                except asyncio.CancelledError:
                    if self._closed.is_set():
                        return
                    raise
                except grpc.RpcError as error:
                    if self._closed.is_set():
                        return
                    wait = progress.wait(error)
                await asyncio.sleep(wait)
        finally:
            self.close()

    async def batches(self) -> AsyncIterator[Batch]:
        """Iterate over the frames as Batches.

        Yields
        ------
        Batch
            The Batch of the next frame.
        """
        async for frame in self.raw():
            yield self._progress.decoder.decode(frame)

    async def __aenter__(self: F) -> F:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()


class AsyncFeed(_AsyncFeed):
    """A subscription for asyncio: an asynchronous iterator of `Frame`. Otherwise it is like `Feed`.

    Parameters
    ----------
    client, method, progress : Any
        Internal.
    """

    async def statements(self) -> AsyncIterator[Statement]:
        """Iterate over the statements of all frames.

        Yields
        ------
        Triple or Quad
            The next statement.
        """
        async for batch in self.batches():
            for statement in statements_of(batch):
                yield statement

    async def __aiter__(self) -> AsyncIterator[Frame]:
        index = 0
        async for batch in self.batches():
            yield frame_of(batch, index)
            index += 1


class AsyncPatchFeed(_AsyncFeed):
    """A subscription to patches for asyncio: an asynchronous iterator of `jelly.patch.Patch`, like `PatchFeed`.

    Unstable: this is our own, since the specification has no service for patches.

    Parameters
    ----------
    client, method, progress : Any
        Internal.
    """

    async def __aiter__(self) -> AsyncIterator[Patch]:
        async for batch in self.batches():
            yield patch_of(batch, self.options)


class AsyncClient(_BaseClient[AsyncFeed, AsyncPatchFeed]):
    """A client for asyncio. Its methods and errors are those of `Client`.

    Parameters
    ----------
    address : str
        ``host:port`` or ``unix:path``.
    tls : Tls, optional
        Keys and certificates of a secure channel. By default the channel is not secure.
    token : str, optional
        Bearer token to send with each call.
    gzip : bool, default False
        Compress what is sent.
    retries : int, default 5
        Attempts in a row after a lost connection, each after a longer wait.
    keepalive : float, default 30.0
        Seconds between keepalive pings.
    max_message_bytes : int, default 256 MiB
        Maximum bytes of a frame.
    insecure : bool, default False
        Send the token without TLS to another machine too.
    """

    _grpc = grpc.aio
    _feed = AsyncFeed
    _patch_feed = AsyncPatchFeed

    @checked()
    async def publish(
        self,
        items: AsyncIterable[Any] | Iterable[Any],
        *,
        topic: str | None = None,
        options: StreamOptions | None = None,
        frame_rows: int = FRAME_ROWS,
        timeout: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> int:
        """Publish a stream and wait until the server has acknowledged all of it, see `Client.publish`.

        Parameters
        ----------
        items : iterable or asynchronous iterable of bytes, Batch, Frame or statements
            Frames, Batches, `Frame` objects or statements.
        topic : str, optional
            Name of the topic.
        options : StreamOptions, optional
            Options of the stream.
        frame_rows : int, default 256
            Statements per frame, if ``items`` are statements.
        timeout : float, optional
            Seconds for the whole call.
        metadata : mapping of str to str, optional
            Further call metadata.

        Returns
        -------
        int
            Number of frames published.
        """
        writer = FrameWriter(options, frame_rows=frame_rows, name=topic or "")
        return await self._send(self._publish, writer, readable(items, options), topic, timeout, metadata)

    @checked()
    async def publish_patches(
        self,
        patches: AsyncIterable[Any] | Iterable[Any] | Patch,
        *,
        topic: str,
        options: PatchOptions | Mapping[str, Any] | None = None,
        timeout: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> int:
        """Publish patches and wait until the server has acknowledged all of them, see `Client.publish_patches`.

        Unstable: this is our own, since the specification has no service for patches.

        Parameters
        ----------
        patches : Patch, or iterable or asynchronous iterable of Patch, Batch or bytes
            The patches.
        topic : str
            Name of the topic.
        options : PatchOptions or mapping, optional
            Options of the stream, or some of their fields.
        timeout : float, optional
            Seconds for the whole call.
        metadata : mapping of str to str, optional
            Further call metadata.

        Returns
        -------
        int
            Number of frames published.
        """
        items = [patches] if isinstance(patches, Patch) else patches
        return await self._send(self._publish_patch, PatchWriter(options), items, topic, timeout, metadata)

    async def _send(
        self, method: Any, writer: FrameWriter | PatchWriter, items: AsyncIterable[Any] | Iterable[Any],
        topic: str | None, timeout: float | None, metadata: Mapping[str, str] | None,
    ) -> int:  # fmt: skip
        attempts = _Attempts(self._settings.retries, timeout)
        while True:
            try:
                await self._probe(b"", timeout=attempts.left)
            except grpc.RpcError as error:
                wait = attempts.connect(error)
                if wait is None:
                    break
                await asyncio.sleep(wait)
            else:
                break
        call = method(timeout=attempts.left, metadata=self._settings.metadata(metadata, topic=topic))
        sent = 0
        try:
            try:
                async for item in _each(items):
                    for frame in writer.add(item):
                        await call.write(frame)
                        sent += 1
                for frame in writer.close():
                    await call.write(frame)
                    sent += 1
                await call.done_writing()
            except asyncio.InvalidStateError:
                pass  # the server has ended the call; its status says why
            await call
        except grpc.RpcError as error:
            raise _error(error) from None
        except BaseException:
            call.cancel()
            raise
        return sent

    @checked()
    async def topics(self, name: str = "", *, timeout: float | None = None) -> list[TopicInfo]:
        """Ask a broker for its topics. This is an extension, see ``proto/broker.proto``.

        Parameters
        ----------
        name : str, default ""
            Name of a topic. By default all topics.
        timeout : float, optional
            Seconds for the call. By default unlimited.

        Returns
        -------
        list of TopicInfo
            The topics.
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

        Returns
        -------
        TopicInfo
            What was deleted.
        """
        return unpack_info(await self._ask(self._delete, name, timeout))

    async def _ask(self, method: Any, name: str, timeout: float | None) -> Any:
        try:
            return await method(pack_subscribe(name), timeout=timeout, metadata=self._settings.metadata(None))
        except grpc.RpcError as error:
            raise _error(error) from None

    async def close(self) -> None:
        """Close the channel and end its calls."""
        await self._channel.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


async def _each(items: AsyncIterable[Any] | Iterable[Any]) -> AsyncIterator[Any]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
