"""Compressed files as what they hold: by their own table of frames, or by that in their sidecar.

Such a sidecar begins with the table. Layout, numbers little-endian int64: the magic number, a CRC-32 and the length of
what follows: version, size and checksum of the first and last bytes of the compressed file, number of frames,
compressed and decompressed size of each frame. Behind it stands a sidecar as of a plain file, see
`jelly._dataset.sidecar`, whose offsets count from its own start.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from jelly._bytes.frames import FrameTable
from jelly._bytes.scan import scan
from jelly._bytes.source import MAX_EXPANSION, open_local
from jelly._bytes.view import PlainView, kind_of, own_table
from jelly._formats.index import SUFFIX, CorruptIndex, checksum_ends, read_exactly, reader_at
from jelly.errors import JellyError, JellyFormatError

__all__ = ["indexable", "plain_view", "read_section"]

_MAGIC = b"JELLYTBL"
_VERSION = 1
_START = struct.Struct("<8sqq")
_HEAD = struct.Struct("<4q")
# Of some 4 million frames.
_MAX_SECTION = 1 << 26


def plain_view(
    path: str,
    file: Any,
    *,
    opener: Callable[[str], BinaryIO] = open_local,
    max_expansion: int = MAX_EXPANSION,
    beside: bool = True,
) -> Any:
    """What an open file holds, as a file: itself, or a `PlainView` if it is compressed.

    JellyError if it is compressed without a table of frames; with ``beside`` this may be in its sidecar.
    """
    size, read_at = file.seek(0, os.SEEK_END), reader_at(file)
    kind = kind_of(read_at, size)
    if kind is None:
        return file
    why = JellyError(
        "the file is compressed without a table of frames, so it can only be read from the start: "
        + ("make one with `jelly index`, or " if beside else "")
        + "write it anew with seekable=True"
    )
    try:
        table = own_table(read_at, size, kind)
    except JellyFormatError as error:
        table, why = None, error
    if table is None and beside:
        table = _beside(path, file, opener)
    if table is None:
        raise why
    return PlainView(file, kind, read_at, size, table, max_expansion)


def _beside(path: str, file: Any, opener: Callable[[str], BinaryIO]) -> FrameTable | None:
    """The table in the sidecar of a file; None without one. An outdated one is ignored."""
    try:
        sidecar = opener(path + SUFFIX)
    except FileNotFoundError:
        return None
    with sidecar:
        try:
            body = read_section(sidecar)
            if body is None:
                return None
            version, size, ends, n = _HEAD.unpack_from(body)
            if version != _VERSION or len(body) != _HEAD.size + 16 * n:
                raise CorruptIndex("its table of frames is of another version")
            if file.seek(0, os.SEEK_END) != size or checksum_ends(file, size) != ends:
                raise CorruptIndex("the file has changed since; make it anew with `jelly index`")
            sizes = np.frombuffer(body, "<i8", 2 * n, _HEAD.size)
            # Sums of so many numbers of 40 bits have 63 bits at most.
            if not n or sizes.min() < 0 or sizes.max() >> 40 or int(sizes[::2].sum()) != size:
                raise CorruptIndex("its table of frames does not fit the file")
        except CorruptIndex as error:
            raise JellyFormatError(f"{path + SUFFIX} cannot be used: {error}") from None
    return FrameTable.of(sizes)


def read_section(sidecar: Any) -> bytes | None:
    """The table of frames with which a sidecar begins; None without one. The sidecar is then at what follows."""
    sidecar.seek(0)
    head = sidecar.read(_START.size)
    if not head.startswith(_MAGIC):
        sidecar.seek(0)
        return None
    if len(head) < _START.size:
        raise CorruptIndex("the file is cut off")
    _, crc, length = _START.unpack(head)
    if not _HEAD.size <= length <= _MAX_SECTION:
        raise CorruptIndex("the length of its table of frames is wrong")
    body = read_exactly(sidecar, length)
    if zlib.crc32(body) != crc:
        raise CorruptIndex("the checksum of its table of frames is wrong")
    return body


def indexable(
    file: Any, max_expansion: int, progress: Callable[[int, int], object] | None = None
) -> tuple[Any, bytes]:
    """What an open file holds, as a file, and what its sidecar must begin with, for the table of its frames.

    JellyError if it is compressed and one frame only.
    """
    size, read_at = file.seek(0, os.SEEK_END), reader_at(file)
    kind = kind_of(read_at, size)
    if kind is None:
        return file, b""
    section = b""
    try:
        table = own_table(read_at, size, kind)
    except JellyFormatError:
        table = None
    if table is None:
        table, n = scan(read_at, size, kind, max_expansion, progress)
        if n < 2:
            what = {".zst": "one frame of zstd", ".gz": "one member of gzip"}[kind]
            raise JellyError(
                f"the file is {what}, which can only be read from its start: write it anew with `jelly convert`, which "
                "makes seekable files, or decompress it"
            )
        head = _HEAD.pack(_VERSION, size, checksum_ends(file, size), table.frames)
        body = head + table.sizes().astype("<i8").tobytes()
        section = _START.pack(_MAGIC, zlib.crc32(body), len(body)) + body
    return PlainView(file, kind, read_at, size, table, max_expansion), section
