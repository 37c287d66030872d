"""A growing Jelly file: finds its complete frames, and continues after them.

A `Place` is a boundary between two frames with the data to start a Decoder there, as JSON: byte offset, number of the
next statement and frame, the saved state, and a checksum of the bytes before it, which shows whether the file is
still the same. Bytes after the last complete frame are read later.
"""

from __future__ import annotations

import base64
import builtins
import math
import os
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from jelly._bytes.compression import COMPRESSIONS, suffix_of
from jelly._bytes.source import CHUNK
from jelly._core.base.batch import Batch
from jelly._core.jelly.decoder import Decoder
from jelly._dataset.seekable.keyframes import read_segment
from jelly._formats.index import Index, Keyframe, checksum_ends, chunks_of, first_options
from jelly.errors import JellyError, JellyFormatError, JellyLimitError

__all__ = ["Place", "read_between", "scan"]

# A place is part of a streaming offset. Spark writes one for every batch and keeps a hundred.
MAX_STATE = 1 << 20
# Minimum bytes of a read, also with a small limit.
MIN_CHUNK = 1 << 12


@dataclass(frozen=True, slots=True)
class Place:
    """A boundary between two frames of a file: `scan` finds them, `read_between` reads from one to the next."""

    offset: int = 0
    statement: int = 0
    frame: int = 0
    checksum: int = 0
    state: str = ""

    def json(self) -> dict[str, Any]:
        return asdict(self)

    def check(self, file: Any, size: int) -> None:
        """JellyError if the file, which now has ``size`` bytes, is not the file in which this place was found."""
        if size < self.offset:
            raise JellyError(
                f"the file has {size} bytes, and {self.offset} of it were read: it was cut or replaced. A file that is "
                "followed may only grow; start the query anew with another checkpoint",
                source=file.name,
            )
        if self.offset and checksum_ends(file, self.offset) != self.checksum:
            raise JellyError(
                f"the {self.offset} bytes that were read have changed: the file was replaced. A file that is followed "
                "may only grow; start the query anew with another checkpoint",
                source=file.name,
            )


def scan(
    path: str, start: Place, *, most: int | None, step: int, until: int | None = None, **limits: Any
) -> list[Place]:
    """The places up to the last complete frame: ``start``, one about every ``step`` bytes, the last.

    It ends at the first frame that ends ``most`` bytes after ``start`` or later; None reads all there is, but for what
    comes after ``until``. ``limits`` are those of the `Decoder`. JellyError where the file was cut or replaced, is
    compressed or broken.
    """
    places = [start]
    if not start.offset and not os.path.exists(path):
        return places
    with builtins.open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start.check(file, size)
        if start.offset:
            decoder = _decoder(file, start, **limits)
        else:
            _refuse_compressed(file)
            decoder = Decoder(**limits)
        file.seek(start.offset)
        chunk = min(CHUNK, step, max(most or CHUNK, MIN_CHUNK))
        end = math.inf if most is None else start.offset + most
        until = size if until is None else min(until, size)
        try:
            while decoder.offset < end and (data := file.read(max(min(chunk, until - file.tell()), 0))):
                for _ in decoder.feed(data):
                    pass
                if decoder.delimited is False:
                    raise JellyError("the file is one bare frame: only a delimited stream can be followed")
                if decoder.options is not None and decoder.offset - places[-1].offset >= step:
                    places.append(_place(file, decoder))
            if decoder.options is not None and decoder.offset > places[-1].offset:
                places.append(_place(file, decoder))
        except JellyError as error:
            error.source = error.source or path
            raise
    return places


def read_between(path: str, start: Place, end: Place, **limits: Any) -> Iterator[Batch]:
    """The Batches between two places. JellyError if the file was truncated or replaced."""
    with builtins.open(path, "rb") as file:
        end.check(file, os.fstat(file.fileno()).st_size)
        first, last = (Keyframe(place.offset, place.statement, place.frame) for place in (start, end))
        index = Index(
            first_options(file), (first,), end.statement, end.frame, end.offset, lambda _: _unpacked(start, path)
        )
        try:
            yield from read_segment(chunks_of(file), index, (first, last), **limits)
        except JellyError as error:
            error.source = error.source or path
            raise


def _decoder(file: Any, place: Place, **limits: Any) -> Decoder:
    return Decoder(
        delimited=True, options=first_options(file), state=_unpacked(place, file.name), offset=place.offset,
        first_row=place.statement, first_frame=place.frame, **limits,
    )  # fmt: skip


def _place(file: Any, decoder: Decoder) -> Place:
    state = base64.b64encode(zlib.compress(decoder.save(), 6)).decode()
    if len(state) > MAX_STATE:
        raise JellyLimitError(
            f"the decoder's state takes {len(state)} bytes, and a streaming offset may have {MAX_STATE}: follow a "
            "stream with smaller lookup tables, or read a directory of files",
            offset=decoder.offset,
        )
    at = file.tell()
    checksum = checksum_ends(file, decoder.offset)
    file.seek(at)
    return Place(decoder.offset, decoder.statements, decoder.frames, checksum, state)


def _unpacked(place: Place, path: str) -> bytes:
    try:
        return zlib.decompress(base64.b64decode(place.state))
    except (ValueError, zlib.error):
        raise JellyFormatError("the saved state in the streaming offset is damaged", source=path) from None


def _refuse_compressed(file: Any) -> None:
    head = file.read(max(map(len, COMPRESSIONS.values())))
    if suffix_of(head):
        raise JellyError("the file is compressed: only a plain one can be followed", source=file.name)
