"""Clients of RdfStreamService and of the services of proto/broker.proto: a blocking one, and one for asyncio."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, TypeVar

from jelly._core.base.batch import Batch
from jelly._options.options import PatchOptions, StreamOptions
from jelly._options.settings import checked
from jelly._streams.reader import Frame, Statement
from jelly.errors import JellyArgumentError, JellyOptionsError, JellyServiceError, JellyTimeoutError
from jelly.grpc._context import Tls, grpc, is_loopback, metadata_of
from jelly.grpc._framing import FRAME_ROWS, FrameDecoder, FrameWriter, encode_frames, frame_of, readable, statements_of
from jelly.grpc._patches import PatchWriter, encode_patches, patch_of
from jelly.grpc._protocol import (
    DELETE_TOPIC,
    FIRST,
    FOLLOW,
    LIST_TOPICS,
    PUBLISH,
    PUBLISH_PATCH,
    START,
    SUBSCRIBE,
    SUBSCRIBE_PATCH,
    TOPIC,
    TOPIC_BYTES,
    pack_subscribe,
)
from jelly.grpc._topic_info import TopicInfo, unpack_info, unpack_infos
from jelly.patch import Patch

__all__ = ["AsyncClient", "AsyncFeed", "AsyncPatchFeed", "Client", "Feed", "PatchFeed"]

MAX_MESSAGE = 1 << 28
# Seconds before the first new attempt, and the longest wait. Each wait is twice the last, plus or minus 20 %.
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
# Any answer shows that there is a server, even that the method is unknown.
PROBE = "/grpc.health.v1.Health/Check"


@dataclass(frozen=True)
class _Settings:
    """Settings of both clients."""

    address: str
    tls: Tls | None
    token: str | None
    gzip: bool
    retries: int
    keepalive: float
    max_message_bytes: int

    def channel(self, module: Any) -> Any:
        options = [
            ("grpc.max_receive_message_length", self.max_message_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.keepalive_time_ms", int(self.keepalive * 1000)),
            ("grpc.keepalive_timeout_ms", 10_000),
            ("grpc.http2.max_pings_without_data", 0),
            # Clients of one process that have the same settings would share a connection.
            ("grpc.use_local_subchannel_pool", 1),
            # gRPC must not wait longer than `_Attempts` before it connects again.
            ("grpc.initial_reconnect_backoff_ms", int(FIRST_WAIT * 1000)),
            ("grpc.max_reconnect_backoff_ms", int(LONGEST_WAIT * 1000)),
        ]
        compression = grpc.Compression.Gzip if self.gzip else None
        if self.tls is None:
            return module.insecure_channel(self.address, options, compression)
        return module.secure_channel(self.address, self.tls.of_client(), options, compression)

    def metadata(self, given: Mapping[str, str] | None, **ours: object) -> list[tuple[str, str | bytes]]:
        pairs: list[tuple[str, str | bytes]] = list((given or {}).items())
        topic = ours.get("topic")
        if isinstance(topic, str) and not (topic.isascii() and topic.isprintable()):
            pairs.append((TOPIC_BYTES, topic.encode()))
            del ours["topic"]
        if self.token is not None:
            pairs.append(("authorization", f"Bearer {self.token}"))
        names = {"topic": TOPIC, "start": START, "follow": FOLLOW}
        return pairs + [(names[name], str(value)) for name, value in ours.items() if value is not None]


def _error(error: Any) -> JellyServiceError:
    """The exception for a failed call."""
    code = error.code()
    kind = JellyTimeoutError if code == grpc.StatusCode.DEADLINE_EXCEEDED else JellyServiceError
    return kind(f"{code.name}: {error.details()}", code.name)


class _Attempts:
    """Decides when to try again, up to a deadline."""

    def __init__(self, retries: int, timeout: float | None) -> None:
        self.retries = retries
        self.deadline: float | None = None if timeout is None else time.monotonic() + timeout
        self.failed: int = 0  # in a row

    @property
    def left(self) -> float | None:
        """Seconds until the deadline."""
        return None if self.deadline is None else max(self.deadline - time.monotonic(), 0.0)

    def wait(self, error: Any) -> float:
        """Seconds until the next attempt. Raises the error if there must be no other attempt."""
        if error.code() != grpc.StatusCode.UNAVAILABLE or self.failed >= self.retries:
            raise _error(error) from None
        self.failed += 1
        wait: float = min(FIRST_WAIT * 2 ** (self.failed - 1), LONGEST_WAIT) * random.uniform(0.8, 1.2)
        if self.deadline is not None and time.monotonic() + wait > self.deadline:
            raise _error(error) from None
        return wait

    def connect(self, error: Any) -> float | None:
        """After a failed probe: None if it shows that there is a server, else the seconds until the next attempt."""
        return self.wait(error) if error.code() == grpc.StatusCode.UNAVAILABLE else None


class _Progress:
    """The progress of a subscription over all attempts."""

    def __init__(
        self, settings: _Settings, topic: str, options: StreamOptions | PatchOptions | None, start: int | str | None,
        follow: bool, timeout: float | None, metadata: Mapping[str, str] | None, patch: bool = False,
    ) -> None:  # fmt: skip
        self.settings = settings
        self.patch = patch
        self.request: bytes = pack_subscribe(topic, options)
        self.start = start
        self.follow = follow
        self.attempts: _Attempts = _Attempts(settings.retries, timeout)
        self.given = metadata
        self.number: int | None = None  # of the next message, if the server sends numbers
        self.received: int = 0
        self.decoder: FrameDecoder = FrameDecoder(patch=patch)

    def arguments(self) -> dict[str, Any]:
        """The arguments of the next attempt."""
        start = self.start if self.number is None else self.number
        metadata = self.settings.metadata(self.given, start=start, follow=None if self.follow else 0)
        self.decoder = FrameDecoder(patch=self.patch)
        return {"metadata": metadata, "timeout": self.attempts.left}

    def began(self, metadata: Any) -> None:
        """Take the initial metadata of the server."""
        first = metadata_of(metadata).get(FIRST, "")
        if first.isdigit():
            self.number = int(first)

    def took(self) -> None:
        self.received += 1
        self.attempts.failed = 0
        if self.number is not None:
            self.number += 1

    def wait(self, error: Any) -> float:
        """Seconds until the next attempt. Raises the error if there must be no other attempt."""
        if self.received > 0 and self.number is None:  # the position is unknown
            raise _error(error) from None
        return self.attempts.wait(error)


class _BaseFeed:
    """A subscription and its progress."""

    def __init__(self, client: Any, method: Any, progress: _Progress) -> None:
        self._client = client  # keeps the client alive, as it closes when it is freed
        self._method = method
        self._progress = progress
        self._call: Any = None
        self._closed = threading.Event()

    @property
    def number(self) -> int | None:
        """The number of the next message, or None if the server does not send numbers."""
        return self._progress.number

    @property
    def options(self) -> Any:
        """The stream options, or None before the first frame has been decoded; of patches PatchOptions."""
        return self._progress.decoder.options

    def close(self) -> None:
        """Cancel the subscription. The iteration then ends. Any thread may close a `Feed`."""
        # Python may forget the iteration, which ends with this, in the middle of setting the event.
        if not self._closed.is_set():
            self._closed.set()
        if self._call is not None:
            self._call.cancel()


F = TypeVar("F", bound=_BaseFeed)
P = TypeVar("P", bound=_BaseFeed)


class _SyncFeed(_BaseFeed):
    """The forms of a blocking subscription to statements or patches."""

    def raw(self) -> Iterator[bytes]:
        """Iterate over the frames as bytes. After a lost connection the first frame repeats the options.

        Returns
        -------
        Iterator[bytes]
            The frames, without their lengths.
        """
        progress = self._progress
        try:
            while not self._closed.is_set():
                self._call = self._method(progress.request, **progress.arguments())
                try:
                    if self._closed.is_set():  # by a thread that did not have this call yet
                        return
                    progress.began(self._call.initial_metadata())
                    for frame in self._call:
                        progress.took()
                        yield frame
                    return
                except grpc.RpcError as error:
                    if self._closed.is_set():
                        return
                    wait = progress.wait(error)
                self._closed.wait(wait)
        finally:
            self.close()

    def batches(self) -> Iterator[Batch]:
        """Iterate over the frames as Batches.

        Returns
        -------
        Iterator[Batch]
            One Batch for each frame.
        """
        for frame in self.raw():
            yield self._progress.decoder.decode(frame)

    def __enter__(self: F) -> F:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Feed(_SyncFeed):
    """A subscription: an iterator of `Frame`.

    `raw`, `batches` and `statements` give the same stream in other forms. A Feed can be consumed only once, in one of
    these ways. `Client.subscribe` returns one.

    Parameters
    ----------
    client, method, progress : Any
        Internal.
    """

    def statements(self) -> Iterator[Statement]:
        """Iterate over the statements of all frames.

        Returns
        -------
        Iterator of Triple or Quad
            The statements.
        """
        for batch in self.batches():
            yield from statements_of(batch)

    def __iter__(self) -> Iterator[Frame]:
        for index, batch in enumerate(self.batches()):
            yield frame_of(batch, index)


class PatchFeed(_SyncFeed):
    """A subscription to patches: an iterator of `jelly.patch.Patch`.

    Unstable: this is our own, since the specification has no service for patches.

    `raw` and `batches` give the same stream in other forms. A PatchFeed can be consumed only once, in one of these
    ways. `Client.subscribe_patches` returns one.

    Parameters
    ----------
    client, method, progress : Any
        Internal.
    """

    def __iter__(self) -> Iterator[Patch]:
        for batch in self.batches():
            yield patch_of(batch, self.options)


class _BaseClient(Generic[F, P]):
    """A channel, its methods and its subscriptions."""

    _grpc: Any  # the module that makes channels
    _feed: type[F]
    _patch_feed: type[P]

    @checked()
    def __init__(
        self,
        address: str,
        *,
        tls: Tls | None = None,
        token: str | None = None,
        gzip: bool = False,
        retries: int = 5,
        keepalive: float = 30.0,
        max_message_bytes: int = MAX_MESSAGE,
        insecure: bool = False,
    ) -> None:
        if not (0 < max_message_bytes < 1 << 31 and 0 < keepalive < 1 << 20 and retries >= 0):
            raise JellyArgumentError(
                f"max_message_bytes is {max_message_bytes}, keepalive {keepalive}, retries {retries}: "
                "expected 1 to 2^31 - 1, up to 2^20 seconds, and at least 0"
            )
        if token is not None and tls is None and not insecure and not is_loopback(address):
            raise JellyOptionsError(
                f"anyone between here and {address} could read the token: pass tls=, or insecure=True"
            )
        self._settings = _Settings(address, tls, token, gzip, retries, keepalive, max_message_bytes)
        self._channel = self._settings.channel(self._grpc)
        self._subscribe = self._channel.unary_stream(SUBSCRIBE)
        self._publish = self._channel.stream_unary(PUBLISH)
        self._subscribe_patch = self._channel.unary_stream(SUBSCRIBE_PATCH)
        self._publish_patch = self._channel.stream_unary(PUBLISH_PATCH)
        self._list = self._channel.unary_unary(LIST_TOPICS)
        self._delete = self._channel.unary_unary(DELETE_TOPIC)
        self._probe = self._channel.unary_unary(PROBE)

    @checked()
    def subscribe(
        self,
        topic: str,
        *,
        options: StreamOptions | None = None,
        start: int | str | None = None,
        follow: bool = True,
        timeout: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> F:
        """Subscribe to a topic.

        Parameters
        ----------
        topic : str
            Name of the topic.
        options : StreamOptions, optional
            Largest stream options that the caller can read. The server answers with a stream that fits, or refuses.
        start : int or {"earliest", "latest"}, optional
            First message: its number, the oldest that is kept (default), or the next that is published. Only with a
            `Broker`.
        follow : bool, default True
            Continue with messages that are published later. Only with a `Broker`.
        timeout : float, optional
            Seconds for the whole subscription. By default unlimited.
        metadata : mapping of str to str, optional
            Further call metadata.

        Returns
        -------
        Feed or AsyncFeed
            The subscription. After a lost connection it continues where it was, if the server sends numbers of
            messages.
        """
        progress = _Progress(self._settings, topic, options, start, follow, timeout, metadata)
        return self._feed(self, self._subscribe, progress)

    @checked()
    def subscribe_patches(
        self,
        topic: str,
        *,
        options: PatchOptions | None = None,
        start: int | str | None = None,
        follow: bool = True,
        timeout: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> P:
        """Subscribe to a topic of patches. This is an extension of the Jelly service, see ``proto/broker.proto``.

        Unstable: this is our own, since the specification has no service for patches.

        Parameters
        ----------
        topic : str
            Name of the topic.
        options : PatchOptions, optional
            Largest stream options that the caller can read, of stream type FRAME.
        start : int or {"earliest", "latest"}, optional
            First patch: its number, the oldest that is kept (default), or the next that is published.
        follow : bool, default True
            Continue with patches that are published later.
        timeout : float, optional
            Seconds for the whole subscription. By default unlimited.
        metadata : mapping of str to str, optional
            Further call metadata.

        Returns
        -------
        PatchFeed or AsyncPatchFeed
            The subscription. Each message is a whole patch. After a lost connection it continues with the next one.
        """
        progress = _Progress(self._settings, topic, options, start, follow, timeout, metadata, True)
        return self._patch_feed(self, self._subscribe_patch, progress)


class Client(_BaseClient[Feed, PatchFeed]):
    """A blocking client. Several threads may share it.

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

    Raises
    ------
    JellyOptionsError
        If there is a token but no TLS, and the address is not of this machine.
    JellyServiceError
        If a call fails.
    JellyTimeoutError
        If a call passes its deadline.
    """

    _grpc = grpc
    _feed = Feed
    _patch_feed = PatchFeed

    @checked()
    def publish(
        self,
        items: Iterable[Any],
        *,
        topic: str | None = None,
        options: StreamOptions | None = None,
        frame_rows: int = FRAME_ROWS,
        timeout: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> int:
        """Publish a stream and wait until the server has acknowledged all of it.

        Parameters
        ----------
        items : iterable of bytes, Batch, Frame or statements
            Frames, Batches, `Frame` objects or statements, see `FrameWriter`. An error that it raises cancels the call.
        topic : str, optional
            Name of the topic, sent as call metadata ``jelly-topic`` and as the stream name.
        options : StreamOptions, optional
            Options of the stream.
        frame_rows : int, default 256
            Statements per frame, if ``items`` are statements.
        timeout : float, optional
            Seconds for the whole call. By default unlimited.
        metadata : mapping of str to str, optional
            Further call metadata.

        Returns
        -------
        int
            Number of frames published.

        Notes
        -----
        Only connecting is retried. A frame that has been sent once is never sent again.
        """
        frames = encode_frames(items, options, frame_rows=frame_rows, name=topic or "")
        return self._send(self._publish, frames, topic, timeout, metadata)

    @checked()
    def publish_patches(
        self,
        patches: Iterable[Any] | Patch,
        *,
        topic: str,
        options: PatchOptions | Mapping[str, Any] | None = None,
        timeout: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> int:
        """Publish patches and wait until the server has acknowledged all of them.

        Unstable: this is our own, since the specification has no service for patches.

        This is an extension of the Jelly service, see ``proto/broker.proto``.

        Parameters
        ----------
        patches : Patch, or iterable of Patch, Batch or bytes
            Patches, Batches in which rows of operation 15 end patches, or frames of a stream of any type.
        topic : str
            Name of the topic.
        options : PatchOptions or mapping, optional
            Options of the stream, or some of their fields. The stream type is always FRAME.
        timeout : float, optional
            Seconds for the whole call. By default unlimited.
        metadata : mapping of str to str, optional
            Further call metadata.

        Returns
        -------
        int
            Number of frames published.

        Notes
        -----
        A patch is stored when all of it has arrived, or not at all. Only connecting is retried.
        """
        return self._send(self._publish_patch, encode_patches(patches, options), topic, timeout, metadata)

    def _send(
        self, method: Any, frames: Iterator[bytes], topic: str | None, timeout: float | None,
        metadata: Mapping[str, str] | None,
    ) -> int:  # fmt: skip
        sent = 0
        failed: list[BaseException] = []

        def requests() -> Iterator[bytes]:
            nonlocal sent
            try:
                for frame in frames:
                    yield frame
                    sent += 1
            except BaseException as error:
                failed.append(error)
                raise

        attempts = _Attempts(self._settings.retries, timeout)
        while True:
            try:
                self._probe(b"", timeout=attempts.left)
            except grpc.RpcError as error:
                wait = attempts.connect(error)
                if wait is None:
                    break
                time.sleep(wait)
            else:
                break
        try:
            method(requests(), timeout=attempts.left, metadata=self._settings.metadata(metadata, topic=topic))
        except grpc.RpcError as error:
            if failed and not isinstance(failed[0], GeneratorExit):
                raise failed[0] from None
            raise _error(error) from None
        return sent

    @checked()
    def topics(self, name: str = "", *, timeout: float | None = None) -> list[TopicInfo]:
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
        return unpack_infos(self._ask(self._list, name, timeout))

    @checked()
    def delete_topic(self, name: str, *, timeout: float | None = None) -> TopicInfo:
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
        return unpack_info(self._ask(self._delete, name, timeout))

    def _ask(self, method: Any, name: str, timeout: float | None) -> Any:
        try:
            return method(pack_subscribe(name), timeout=timeout, metadata=self._settings.metadata(None))
        except grpc.RpcError as error:
            raise _error(error) from None

    def close(self) -> None:
        """Close the channel and end its calls."""
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


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
