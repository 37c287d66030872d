"""The blocking client."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any

from jelly._core.base.batch import Batch
from jelly._options.options import PatchOptions, StreamOptions
from jelly._options.settings import checked
from jelly._streams.reader import Frame, Statement
from jelly.grpc._calls import F, _Attempts, _BaseClient, _BaseFeed, _error
from jelly.grpc._context import grpc
from jelly.grpc._framing import FRAME_ROWS, encode_frames, frame_of, statements_of
from jelly.grpc._patches import encode_patches, patch_of
from jelly.grpc._protocol import (
    pack_subscribe,
)
from jelly.grpc._topic_info import TopicInfo, unpack_info, unpack_infos
from jelly.patch import Patch

__all__ = ["Client", "Feed", "PatchFeed"]


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
