"""Files in memory: what a Sink has written to one can be written again, as long as nobody has seen it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jelly._bytes.sink import Sink

__all__ = ["can_restart", "in_memory", "take_back"]


def in_memory(dst: Any) -> int | None:
    """The place where a Sink begins to write in an `io.BytesIO`, which is its end; None for other destinations."""
    if type(dst) is io.BytesIO and dst.tell() == len(dst.getbuffer()):
        return dst.tell()
    return None


def can_restart(sink: Sink) -> bool:
    """Whether what was written can be written anew: nobody has flushed it, or changed the file in memory."""
    if sink.begin is None:
        return not sink.is_live
    file = sink._file
    return bool(file.tell() == len(file.getbuffer()) == sink.begin + sink.bytes_written)


def take_back(sink: Sink) -> bytes:
    """Take what was written out of a file in memory."""
    assert sink.begin is not None, "only a file in memory gives back"
    file = sink._file
    file.seek(sink.begin)
    data: bytes = file.read()
    file.seek(sink.begin)
    file.truncate()
    sink.bytes_written = 0
    return data
