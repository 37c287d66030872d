"""Topic metadata: the messages of TopicService in proto/broker.proto."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from jelly._options.options import PatchOptions, StreamOptions
from jelly.errors import JellyError, JellyFormatError
from jelly.grpc._protocol import message, pack_options, unpack_options
from jelly.grpc._topic_log import Topic

__all__ = ["TopicInfo"]

_SAME = ("name", "patches", "first", "end", "bytes", "statements", "subscribers", "owner")


@dataclass(frozen=True)
class TopicInfo:
    """Metadata of a topic.

    Attributes
    ----------
    name : str
        Name of the topic.
    patches : bool
        Whether it holds patches, not statements.
    first, end : int
        Numbers of the oldest message that is kept, and of the next one.
    bytes : int
        Bytes of the messages that are kept.
    statements : int
        Statements that are kept; of patches operations.
    subscribers : int
        Number of subscribers.
    owner : str
        Name of the client that created the topic, or ``""``.
    keep_bytes : int or None
        Approximate maximum bytes that are kept.
    keep_age : float or None
        Seconds for which messages are kept.
    updated : datetime or None
        Time of the newest message.
    options : StreamOptions, PatchOptions or None
        Options of the stream, from the first message on.
    """

    name: str
    patches: bool = False
    first: int = 0
    end: int = 0
    bytes: int = 0
    statements: int = 0
    subscribers: int = 0
    owner: str = ""
    keep_bytes: int | None = None
    keep_age: float | None = None
    updated: datetime | None = None
    options: StreamOptions | PatchOptions | None = None


def info_of(topic: Topic) -> TopicInfo:
    """The metadata of a topic."""
    return TopicInfo(
        topic.name,
        isinstance(topic.options, PatchOptions),
        topic.first,
        topic.end,
        topic.size,
        topic.statements,
        topic.watchers,
        topic.owner,
        topic.keep_bytes,
        topic.keep_age,
        datetime.fromtimestamp(topic.updated, timezone.utc) if topic.updated else None,
        topic.options,
    )


def pack_info(info: TopicInfo) -> bytes:
    """A TopicInfo message."""
    packed: bytes = _fill(message("jelly.v1.TopicInfo"), info).SerializeToString()
    return packed


def _fill(made: Any, info: TopicInfo) -> Any:
    for name in _SAME:
        setattr(made, name, getattr(info, name))
    made.keep_bytes = info.keep_bytes or 0
    made.keep_seconds = round(info.keep_age or 0)
    made.updated = round(info.updated.timestamp() * 1000) if info.updated is not None else 0
    if info.options is not None:
        options = made.patch_options if isinstance(info.options, PatchOptions) else made.options
        options.MergeFromString(pack_options(info.options))
    return made


def unpack_info(data: bytes) -> TopicInfo:
    """The TopicInfo of a message.

    >>> info = TopicInfo("news", True, 300, 700, keep_bytes=1 << 40, owner="ann", options=PatchOptions(stream_type=1))
    >>> unpack_info(pack_info(info)) == info
    True
    """
    return _read(message("jelly.v1.TopicInfo", data))


def _read(sent: Any) -> TopicInfo:
    options = None
    for field in ("options", "patch_options"):
        if sent.HasField(field):
            with contextlib.suppress(JellyError):  # those that no writer may choose
                options = unpack_options(getattr(sent, field).SerializeToString(), field == "patch_options")
    try:
        updated = datetime.fromtimestamp(sent.updated / 1000, timezone.utc) if sent.updated else None
    except (ValueError, OverflowError, OSError):
        raise JellyFormatError(f"{sent.updated} milliseconds are no time of a topic") from None
    return TopicInfo(
        **{name: getattr(sent, name) for name in _SAME},
        keep_bytes=sent.keep_bytes or None,
        keep_age=float(sent.keep_seconds) or None,
        updated=updated,
        options=options,
    )


def pack_infos(infos: list[TopicInfo]) -> bytes:
    """A TopicList message."""
    made = message("jelly.v1.TopicList")
    for info in infos:
        _fill(made.topics.add(), info)
    packed: bytes = made.SerializeToString()
    return packed


def unpack_infos(data: bytes) -> list[TopicInfo]:
    """The topics of a TopicList message."""
    return [_read(sent) for sent in message("jelly.v1.TopicList", data).topics]
