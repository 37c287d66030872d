"""What a broker tells of its topics: the messages of TopicService in proto/broker.proto."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from jelly._core.jelly.encoder import options_row, patch_options_row
from jelly._options.options import PatchOptions, StreamOptions
from jelly.errors import JellyError, JellyFormatError
from jelly.grpc._protocol import fields_of, put_varint, text_of, unpack_options, unpack_patch_options
from jelly.grpc._topic_log import Topic

__all__ = ["TopicInfo"]

_NAME_TAG, _OWNER_TAG, _OPTIONS_TAG, _PATCH_OPTIONS_TAG = 0x0A, 0x42, 0x62, 0x6A
_NUMBERS = {
    0x10: "patches", 0x18: "first", 0x20: "end", 0x28: "bytes", 0x30: "statements", 0x38: "subscribers",
    0x48: "keep_bytes", 0x50: "keep_seconds", 0x58: "updated",
}  # fmt: skip


@dataclass(frozen=True)
class TopicInfo:
    """What a broker tells of a topic.

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
    """What there is to tell of a topic."""
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


def _field(tag: int, value: Any) -> Any:
    """A field; nothing for its default."""
    if isinstance(value, int):
        return put_varint(tag) + put_varint(value) if value else b""
    return put_varint(tag) + put_varint(len(value)) + value if value else b""


def pack_info(info: TopicInfo) -> Any:
    """A TopicInfo message."""
    numbers = {
        "keep_bytes": info.keep_bytes or 0,
        "keep_seconds": round(info.keep_age or 0),
        "updated": round(info.updated.timestamp() * 1000) if info.updated is not None else 0,
    }
    packed = _field(_NAME_TAG, info.name.encode())
    for tag, name in _NUMBERS.items():
        packed += _field(tag, int(numbers.get(name, getattr(info, name, 0))))
    packed += _field(_OWNER_TAG, info.owner.encode())
    if isinstance(info.options, StreamOptions):
        packed += _field(_OPTIONS_TAG, options_row(info.options))
    elif info.options is not None:
        packed += _field(_PATCH_OPTIONS_TAG, patch_options_row(info.options))
    return packed


def unpack_info(data: Any) -> TopicInfo:
    """The TopicInfo of a message.

    >>> info = TopicInfo("news", True, 300, 700, keep_bytes=1 << 40, owner="ann", options=PatchOptions(stream_type=1))
    >>> unpack_info(pack_info(info)) == info
    True
    """
    values: dict[str, Any] = {"name": ""}
    for tag, number, value in fields_of(data):
        if tag in _NUMBERS:
            values[_NUMBERS[tag]] = number
        elif tag == _NAME_TAG:
            values["name"] = text_of(value, "name of a topic")
        elif tag == _OWNER_TAG:
            values["owner"] = text_of(value, "owner of a topic")
        elif tag in (_OPTIONS_TAG, _PATCH_OPTIONS_TAG):
            with contextlib.suppress(JellyError):  # those that no writer may choose
                values["options"] = (unpack_options if tag == _OPTIONS_TAG else unpack_patch_options)(value)
    values["patches"] = bool(values.get("patches"))
    if age := values.pop("keep_seconds", 0):
        values["keep_age"] = float(age)
    values["keep_bytes"] = values.get("keep_bytes") or None
    if updated := values.pop("updated", 0):
        try:
            values["updated"] = datetime.fromtimestamp(updated / 1000, timezone.utc)
        except (ValueError, OverflowError, OSError):
            raise JellyFormatError(f"{updated} milliseconds are no time of a topic") from None
    return TopicInfo(**values)


def pack_infos(infos: list[TopicInfo]) -> Any:
    """A TopicList message."""
    return b"".join(_field(_NAME_TAG, pack_info(info)) for info in infos)


def unpack_infos(data: Any) -> list[TopicInfo]:
    """The topics of a TopicList message."""
    return [unpack_info(value) for tag, _, value in fields_of(data) if tag == _NAME_TAG]
