"""Decompression with bounded memory. A truncated file raises EOFError."""

from __future__ import annotations

import importlib
import re
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any

from jelly.errors import JellyFormatError, JellyTruncatedError, memory_error, need

CHUNK = 1 << 20
STEP = 1 << 15

# Maximum bytes that an xz file may allocate: the file gives the size of its dictionary. `xz -9` needs 65 MiB.
MAX_XZ_MEMORY = 1 << 28

# Suffix and magic bytes.
COMPRESSIONS = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00"}
# What stands for a compression where the text form of Jelly is read and written, see `jelly._bytes.frame_text`.
TEXT = ".txt"

# A file of zstd may begin with a frame to skip, as those of pzstd do.
_TO_SKIP = rb"[\x50-\x5f]\x2a\x4d\x18"
_KNOWN = re.compile(b"|".join([*(b"(%b)" % re.escape(magic) for magic in COMPRESSIONS.values()), _TO_SKIP]))
_OF_GROUP = (".zst", *COMPRESSIONS)


def suffix_of(head: bytes) -> str:
    """The suffix of the compression of a file, by its first bytes; "" for none.

    >>> suffix_of(b"BZh91AY"), suffix_of(b"<a:s>")
    ('.bz2', '')
    """
    found = _KNOWN.match(head)
    return "" if found is None else _OF_GROUP[found.lastindex or 0]


def zstandard() -> Any:
    """The zstandard module; MissingExtraError if it is not installed."""
    with need("zstd", "zstd needs the zstandard package"):
        return importlib.import_module("zstandard")


@cache
def _inflater() -> Callable[[int], Any]:
    """The decompressor of gzip: of ISA-L or zlib-ng where they are installed, which take less time."""
    for module in ("isal.isal_zlib", "zlib_ng.zlib_ng"):
        with suppress(ImportError):
            found: Callable[[int], Any] = importlib.import_module(module).decompressobj
            return found
    return zlib.decompressobj


def unpacked(suffix: str, raw: Any) -> Any:
    """A file object with read1() that decompresses the file ``raw``; ``suffix`` names the compression."""
    if suffix == ".gz":
        return _Members(raw)
    if suffix == TEXT:
        from jelly._bytes.frame_text import Frames

        return Frames(raw)
    if suffix == ".bz2":
        import bz2

        return _Streams(raw, "bz2", bz2.BZ2Decompressor)
    if suffix == ".xz":
        import lzma

        return _Streams(raw, "xz", partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=MAX_XZ_MEMORY))
    return _Zstd(raw)


@contextmanager
def unpacking(offset: Callable[[], int]) -> Iterator[None]:
    """Context manager: errors of libraries about broken data become JellyErrors, at a byte of the compressed file."""
    try:
        yield
    except EOFError as error:
        raise JellyTruncatedError(f"the compressed data is cut off: {error}", offset=offset()) from None
    except MemoryError as error:
        raise memory_error(error, offset=offset()) from None
    except Exception as error:
        # Each library has its own error. bz2 raises OSError without a number; the error of a disk has a number.
        kind = type(error)
        broken = isinstance(error, zlib.error) or kind.__name__ in ("LZMAError", "ZstdError", "IsalError")
        broken = broken or kind.__module__.partition(".")[0] == "zlib_ng"
        if not broken and not (isinstance(error, OSError) and error.errno is None):
            raise
        raise JellyFormatError(f"the compressed data is broken: {error}", offset=offset()) from None


class _Members:
    """Members of gzip one after the other, with zeros between them."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._member: Any = None  # between two of them
        self._data = b""
        self._at = 0

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def read1(self, size: int) -> bytes:
        while True:
            if self._at == len(self._data):
                self._data, self._at = bytes(self._raw.read(CHUNK)), 0
                if not self._data and self._member is None:
                    return b""
            if self._member is None:
                first = self._data[self._at]
                if not first:
                    self._at = len(self._data) - len(self._data[self._at :].lstrip(b"\0"))
                    continue
                if first != 0x1F:
                    raise zlib.error(f"this is no member of gzip: it begins with the byte {first:#04x}")
                self._member = _inflater()(31)
            # A little at a time: what the library has made when it finds an error is lost.
            part = self._data[self._at : self._at + STEP]
            self._at += len(part)
            text: bytes = self._member.decompress(part, size)
            if self._member.eof:
                self._at -= len(self._member.unused_data)
                self._member = None
            else:
                self._at -= len(self._member.unconsumed_tail)
                if not part and not text:
                    raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            if text:
                return text


class _Streams:
    """Compressed streams one after the other.

    LZMAFile has no limit on memory, and BZ2File leaves out a broken stream after the first one.
    """

    def __init__(self, raw: Any, name: str, make: Callable[[], Any]) -> None:
        self._raw = raw
        self._name = name
        self._magic = COMPRESSIONS[f".{name}"]
        self._make = make
        self._stream = make()

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def read1(self, size: int) -> bytes:
        while True:
            data = b""
            if self._stream.eof:
                # Another stream may follow, after padding of zeros.
                data = self._stream.unused_data.lstrip(b"\0")
                while not data:
                    data = self._raw.read(CHUNK)
                    if not data:
                        return b""
                    data = bytes(data).lstrip(b"\0")
                if not self._magic.startswith(data[: len(self._magic)]):  # else xz waits for a whole head
                    raise OSError(f"this is no stream of {self._name}: it begins with the byte {data[0]:#04x}")
                self._stream = self._make()
            elif self._stream.needs_input:
                data = self._raw.read(CHUNK)
                if not data:
                    raise EOFError(f"the end of the {self._name} stream is missing")
            text: bytes = self._stream.decompress(data, size)
            if text:
                return text


class _Zstd:
    """stream_reader of zstandard, which accepts files that are cut off, with a check for that."""

    def __init__(self, raw: Any) -> None:
        self._blocks = _Blocks(raw)
        self._file = zstandard().ZstdDecompressor().stream_reader(self._blocks, read_across_frames=True)

    def close(self) -> None:
        self._file.close()

    def read1(self, size: int) -> Any:
        data = self._file.read1(size)
        if not data and not self._blocks.may_end:
            raise EOFError("the end of the zstd frame is missing")
        return data


class _Blocks:
    """The compressed bytes; their blocks are parsed while stream_reader reads them.

    It must not refer to the stream_reader: the garbage collector does not see its references and could free neither.
    """

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._frames = zstd_frames()
        # First the number of bytes to skip, then the number of bytes to pass to _frames.
        self._skip, self._need, self._whole = next(self._frames)
        self._part = b""

    @property
    def may_end(self) -> bool:
        """Whether the data may end here."""
        return self._whole and not self._skip and not self._part

    def read(self, size: int) -> bytes:
        data = bytes(self._raw.read(size))
        at = 0
        while at < len(data):
            if self._skip:
                passed = min(self._skip, len(data) - at)
                self._skip -= passed
                at += passed
                continue
            wanted = self._need - len(self._part)
            self._part += data[at : at + wanted]
            at += wanted
            if len(self._part) == self._need:
                self._skip, self._need, self._whole = self._frames.send(self._part)
                self._part = b""
        return data


def zstd_frames() -> Generator[tuple[int, int, bool], bytes, None]:
    """Walk over zstd frames (RFC 8878 section 3): bytes to skip, bytes wanted then, and whether data may end there."""
    skip = 0
    while True:
        magic = yield skip, 4, True
        if magic[0] & 0xF0 == 0x50 and magic[1:] == b"\x2a\x4d\x18":
            size = yield 0, 4, False
            skip = int.from_bytes(size, "little")
            continue
        flags = (yield 0, 1, False)[0]
        single = flags >> 5 & 1
        # Window, dictionary id, content size.
        skip = 1 - single + (0, 1, 2, 4)[flags & 3] + (single, 2, 4, 8)[flags >> 6]
        last = 0
        while not last:
            block = int.from_bytes((yield skip, 3, False), "little")
            last = block & 1
            skip = 1 if block >> 1 & 3 == 1 else block >> 3
        if flags & 4:
            skip += 4
