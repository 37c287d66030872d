"""The text form of Jelly, which jelly-cli calls jelly-text: each frame as protobuf prints it, after its number.

A text is recognised like compressed data, and what reads Jelly gets the frames in it. Here are also the classes of
messages, made from jelly/data/service.binpb.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from importlib import resources
from typing import Any

from jelly._core.base.protobuf import _put_varint, _take_varint
from jelly.errors import JellyFormatError, JellyLimitError, JellyUnsupportedError, need

with need("grpc", "the text form of Jelly and the services need protobuf"):
    from google.protobuf import text_format
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import DecodeError
    from google.protobuf.message_factory import GetMessageClass

RDF = "eu.ostrzyciel.jelly.core.proto.v1"
FRAME = f"{RDF}.RdfStreamFrame"

CHUNK = 1 << 20
# Maximum bytes of the text of a frame.
MAX_FRAME_TEXT = 1 << 26

# The descriptions of the services. A separate pool: the program may have loaded other classes with the same names.
POOL = DescriptorPool()
for _file in FileDescriptorSet.FromString(resources.files("jelly").joinpath("data/service.binpb").read_bytes()).file:
    POOL.Add(_file)

_MARK = re.compile(rb"^# Frame \d+[ \r]*\n", re.M)
_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_JAVA = {"007": r"\a", "010": r"\b", "013": r"\v", "014": r"\f"}  # Python writes their numbers


def message(name: str, data: bytes = b"") -> Any:
    """A message by protobuf's own class. JellyFormatError if it is malformed.

    >>> message("jelly.v1.TopicRequest", b"\\n\\x04news").name
    'news'
    """
    made = GetMessageClass(POOL.FindMessageTypeByName(name))()
    try:
        made.MergeFromString(data)
    except DecodeError as error:
        raise JellyFormatError(f"expected a message {name}: {error}") from None
    return made


class Frames:
    """The frames in a text, as the bytes of a delimited stream. Without lines such as "# Frame 0" it is one frame."""

    def __init__(self, raw: Any) -> None:
        self._parsed = self._parse(raw)

    def close(self) -> None:
        self._parsed.close()

    def read1(self, _size: int) -> bytes:
        return next(self._parsed, b"")

    def _parse(self, raw: Any) -> Generator[bytes, None, None]:
        for number, text in enumerate(_cut(raw), -1):
            frame = message(FRAME)
            try:
                text_format.Merge(text, frame)
                data: bytes = frame.SerializeToString()
            except (text_format.ParseError, ValueError, RecursionError) as error:
                why = str(error)[:200] or "malformed"
                raise JellyFormatError(f"the text of frame {max(number, 0)}: {why}") from None
            if data or number >= 0:
                yield _put_varint(len(data)) + data


def _cut(raw: Any) -> Iterator[bytes]:
    """The text before the first mark, which is all where there is none, and the texts of frames."""
    held = b""
    while True:
        data = bytes(raw.read(CHUNK))
        held += data or b"\n"
        end = held.rfind(b"\n") + 1
        *whole, rest = _MARK.split(held[:end])
        held = rest + held[end:]
        if len(held) > MAX_FRAME_TEXT:
            raise JellyLimitError(f"the text of a frame has more than {MAX_FRAME_TEXT} bytes")
        yield from whole
        if not data:
            yield held
            return


class Printer:
    """A file that takes the bytes of a delimited stream, and writes text to another file."""

    def __init__(self, file: Any, number: int = 0) -> None:
        self._file, self._number, self._held = file, number, b""

    def write(self, data: bytes) -> None:
        """Print the frames that are complete."""
        self._held += data
        at = 0
        while True:
            size, n = _take_varint(self._held[at : at + 10])
            if size < 0 or (end := at + n + size) > len(self._held):
                break
            self._file.write(_printed(self._held[at + n : end], self._number))
            self._number += 1
            at = end
        self._held = self._held[at:]

    def flush(self) -> None:
        self._file.flush()


def _printed(data: bytes, number: int) -> bytes:
    frame = message(FRAME, data)
    size = frame.ByteSize()
    frame.DiscardUnknownFields()
    if frame.ByteSize() < size:
        raise JellyUnsupportedError(f"frame {number} has fields that text has not: the columns of Jelly-RDF 1.2")
    text = _ESCAPE.sub(lambda found: _JAVA.get(found[1], found[0]), text_format.MessageToString(frame, as_utf8=False))
    return f"# Frame {number}\n{text}".encode()
