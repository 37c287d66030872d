"""The parts of both clients that do not wait: attempts, channels, and subscriptions with their progress.

`_async_client` is the source of `_client`: ``cd tests; python -m support.blocking`` writes it.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Generic, Literal, TypeVar, overload

from jelly._core.base.batch import Batch
from jelly._options.options import PatchOptions, StreamOptions
from jelly._options.settings import checked
from jelly._streams.frames import FrameDecoder, FrameEncoder, frame_of, readable
from jelly.errors import JellyArgumentError, JellyOptionsError, JellyServiceError, JellyTimeoutError
from jelly.grpc._context import Tls, grpc, is_loopback, metadata_of
from jelly.grpc._protocol import (
    DELETE_TOPIC,
    FIRST,
    KINDS,
    LIST_TOPICS,
    TOPIC_BYTES,
    Kind,
    pack_subscribe,
    patch_of,
)

MAX_MESSAGE = 1 << 28
# Seconds before the first new attempt, and the longest wait. Each wait is twice the last, plus or minus 20 %.
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
# Any answer shows that there is a server, even that the method is unknown.
PROBE = "/grpc.health.v1.Health/Check"
# An entry of call metadata that is text, with "=" between name and value.
_SENDABLE = re.compile(r"[0-9a-z_.-]+(?<!-bin)=[ -~]*")
# How a call ends that fails or is cancelled.
FAILURES = (grpc.RpcError, asyncio.CancelledError)

Item = TypeVar("Item")
F = TypeVar("F")  # the feed of statements
P = TypeVar("P")  # the feed of patches


def service_error(error: Any) -> BaseException:
    """The exception for a failed call; a cancellation is one itself."""
    if not isinstance(error, grpc.RpcError):
        return error  # type: ignore[no-any-return]
    code = error.code()
    kind = JellyTimeoutError if code == grpc.StatusCode.DEADLINE_EXCEEDED else JellyServiceError
    return kind(f"{code.name}: {error.details()}", code.name)


class Attempts:
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
        doubled = 2 ** min(self.failed, 10)  # more are the longest wait, and after 1024 no float
        wait: float = min(FIRST_WAIT * doubled, LONGEST_WAIT) * random.uniform(0.8, 1.2)
        left = self.left
        if self.failed >= self.retries or not is_unavailable(error) or (left is not None and wait > left):
            raise service_error(error) from None
        self.failed += 1
        return wait


def is_unavailable(error: BaseException) -> bool:
    """Whether there is no connection to the server."""
    return isinstance(error, grpc.RpcError) and error.code() == grpc.StatusCode.UNAVAILABLE


class Sending:
    """The frames of a publication: how many were sent, and the error of its items that ended it."""

    def __init__(self, items: Any, encoder: FrameEncoder) -> None:
        self._items, self._encoder = items, encoder
        self.sent = 0
        self.failed: Exception | None = None

    def __iter__(self) -> Iterator[bytes]:
        try:
            for frame in self._encoder.encode_many(self._items):
                yield frame
                self.sent += 1
        except Exception as error:
            self.failed = error
            raise

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for item in each(readable(self._items, self._encoder)):
                for frame in self._encoder.add(item):
                    yield frame
                    self.sent += 1
            for frame in self._encoder.close():
                yield frame
                self.sent += 1
        except Exception as error:
            self.failed = error
            raise


class BaseFeed(Generic[Item]):
    """A subscription and its progress over all attempts."""

    def __init__(
        self, client: Any, kind: Kind, request: bytes, given: tuple[Any, ...], attempts: Attempts
    ) -> None:  # fmt: skip
        self._client = client  # keeps the client alive, as it closes when it is freed
        self._kind: Kind = kind
        self._request = request
        self._given = given  # start, follow and metadata
        self._attempts = attempts
        self._number: int | None = None
        self._received = 0
        self._decoder = FrameDecoder(patch=kind == "patches")
        self._call: Any = None
        self._closed = threading.Event()

    @property
    def number(self) -> int | None:
        """The number of the next message, or None if the server does not send numbers."""
        return self._number

    @property
    def options(self) -> Any:
        """The stream options, or None before the first frame has been decoded; of patches PatchOptions."""
        return self._decoder.options

    def close(self) -> None:
        """Cancel the subscription. The iteration then ends. Any thread may close a `Feed`."""
        # Python may forget the iteration, which ends with this, in the middle of setting the event.
        if not self._closed.is_set():
            self._closed.set()
        if self._call is not None:
            self._call.cancel()

    def _begin(self) -> Any:
        """Begin the next attempt."""
        start, follow, metadata = self._given
        pairs = self._client._metadata(metadata, start=start if self._number is None else self._number, follow=follow)
        self._decoder = FrameDecoder(patch=self._kind == "patches")
        self._since = math.inf  # when the call was answered
        self._call = self._client._subscribe[self._kind](
            self._request, metadata=pairs, timeout=self._attempts.left
        )
        if self._closed.is_set():  # by a thread that did not have this call yet
            self._call.cancel()
        return self._call

    def _began(self, metadata: Any) -> None:
        """Take the initial metadata of the server."""
        self._since = time.monotonic()
        first = metadata_of(metadata).get(FIRST, "")
        if first.isdigit():
            self._number = int(first)

    def _took(self) -> None:
        self._received += 1
        self._attempts.failed = 0
        if self._number is not None:
            self._number += 1

    def _wait(self, error: Any) -> float:
        """Seconds until the next attempt. Raises the error if there must be no other attempt."""
        if self._received > 0 and self._number is None and isinstance(error, grpc.RpcError):
            raise service_error(error) from None  # the position is unknown
        if time.monotonic() - self._since > LONGEST_WAIT:  # it was connected, though no message came
            self._attempts.failed = 0
        return self._attempts.wait(error)

    def _item(self, batch: Batch) -> Any:
        return patch_of(batch, self.options) if self._kind == "patches" else frame_of(batch, self._received - 1)


class BaseClient(Generic[F, P]):
    """A channel and its methods."""

    _grpc: Any  # the module that makes channels
    _feed: Any
    _is_closed = False

    @checked()
    def __init__(
        self,
        address: str,
        *,
        tls: Tls | None = None,
        token: str | None = None,
        compression: Literal["gzip"] | None = None,
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
        self._token = token
        self._retries = retries
        options = [
            ("grpc.max_receive_message_length", max_message_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.keepalive_time_ms", int(keepalive * 1000)),
            ("grpc.keepalive_timeout_ms", 10_000),
            ("grpc.http2.max_pings_without_data", 0),
            # Clients of one process that have the same settings would share a connection.
            ("grpc.use_local_subchannel_pool", 1),
            # gRPC must not wait longer than `Attempts` before it connects again.
            ("grpc.initial_reconnect_backoff_ms", int(FIRST_WAIT * 1000)),
            ("grpc.max_reconnect_backoff_ms", int(LONGEST_WAIT * 1000)),
        ]
        packing = grpc.Compression.Gzip if compression else None
        if tls is None:
            channel = self._grpc.insecure_channel(address, options, packing)
        else:
            channel = self._grpc.secure_channel(address, tls.of_client(), options, packing)
        self._channel = channel
        self._subscribe = {kind: channel.unary_stream(name) for kind, (name, _) in KINDS.items()}
        self._publish = {kind: channel.stream_unary(name) for kind, (_, name) in KINDS.items()}
        self._list, self._delete, self._probe = map(channel.unary_unary, (LIST_TOPICS, DELETE_TOPIC, PROBE))

    @overload
    def subscribe(
        self, topic: str, *, kind: Literal["statements"] = ..., options: StreamOptions | None = ...,
        start: int | str | None = ..., follow: bool = ..., timeout: float | None = ...,
        metadata: Mapping[str, str] | None = ...,
    ) -> F: ...  # fmt: skip
    @overload
    def subscribe(
        self, topic: str, *, kind: Literal["patches"], options: PatchOptions | None = ...,
        start: int | str | None = ..., follow: bool = ..., timeout: float | None = ...,
        metadata: Mapping[str, str] | None = ...,
    ) -> P: ...  # fmt: skip
    @checked()
    def subscribe(
        self,
        topic: str,
        *,
        kind: Kind = "statements",
        options: StreamOptions | PatchOptions | None = None,
        start: int | str | None = None,
        follow: bool = True,
        timeout: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Any:
        """Subscribe to a topic. After a lost connection it continues where it was, if the server numbers messages.

        Parameters
        ----------
        topic : str
            Name of the topic.
        kind : {"statements", "patches"}, default "statements"
            Content of the topic; a message of patches is a whole patch.

            Unstable: patches over gRPC are our own, see ``proto/broker.proto``.
        options : StreamOptions or PatchOptions, optional
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
        """
        given = start, None if follow else 0, metadata
        return self._feed(self, kind, pack_subscribe(topic, options), given, Attempts(self._retries, timeout))

    def _metadata(self, given: Mapping[str, str] | None, **ours: object) -> list[tuple[str, str | bytes]]:
        """Call metadata: what the caller gave, the token, and ``ours``, whose names begin with jelly-, see `TOPIC`.
        ValueError if the client is closed: gRPC's own error differs, and for asyncio it is none of Python.
        """
        if self._is_closed:
            raise ValueError(f"the {type(self).__name__} is closed")
        pairs: list[tuple[str, str | bytes]] = list((given or {}).items())
        if self._token is not None:
            pairs.append(("authorization", f"Bearer {self._token}"))
        for name, value in ours.items():
            text = str(value)
            if name == "topic" and not (text.isascii() and text.isprintable()):
                pairs.append((TOPIC_BYTES, text.encode()))
            elif value is not None:
                pairs.append((f"jelly-{name}", text))
        for key, sent in pairs:
            if isinstance(sent, str) and not _SENDABLE.fullmatch(f"{key}={sent}"):
                raise JellyArgumentError(
                    f"the metadata {key!r} cannot be sent: expected a name of letters a-z, digits, '_', '.' and '-', "
                    "without '-bin' at its end, and printable ASCII"
                )
        return pairs


async def pause(seconds: float, closed: threading.Event) -> None:
    """Wait before the next attempt."""
    await asyncio.sleep(seconds)


def pause_thread(seconds: float, closed: threading.Event) -> None:
    """Wait before the next attempt, unless another thread ends it."""
    closed.wait(seconds)


def each(items: AsyncIterable[Any] | Iterable[Any]) -> AsyncGenerator[Any, None]:
    """The items, with `async for`."""
    return items if isinstance(items, AsyncGenerator) else _each(items)


async def _each(items: AsyncIterable[Any] | Iterable[Any]) -> AsyncGenerator[Any, None]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
