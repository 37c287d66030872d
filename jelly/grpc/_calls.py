"""The parts of both clients that do not call: settings, attempts, feeds and their requests."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from jelly._options.options import PatchOptions, StreamOptions
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError, JellyOptionsError, JellyServiceError, JellyTimeoutError
from jelly.grpc._context import Tls, grpc, is_loopback, metadata_of
from jelly.grpc._framing import FrameDecoder
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
