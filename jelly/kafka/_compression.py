"""Compression of single values, with zstd dictionaries, and decompression with a limit."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal, TypeAlias

from jelly._bytes.compression import COMPRESSIONS, zstandard
from jelly.errors import JellyArgumentError, JellyFormatError, JellyLimitError, JellyTruncatedError

Compression: TypeAlias = Literal["gzip", "zstd"]

_GZIP, _ZSTD = COMPRESSIONS[".gz"], COMPRESSIONS[".zst"]
# Of zlib: a window of 32 KB, with the head of gzip.
_GZIP_WINDOW = 31


class Shared:
    """A function that only one thread may call at a time, such as a method of an encoder: each takes one of its own.

    ``make`` makes another one if all are in use. One that failed is not used again.
    """

    def __init__(self, make: Callable[[], Callable[..., Any]]) -> None:
        self._make = make
        self._idle: list[Callable[..., Any]] = []  # a list gives and takes without a lock

    def __call__(self, *args: Any) -> Any:
        call = self._idle.pop() if self._idle else self._make()
        made = call(*args)
        self._idle.append(call)
        return made


def packer(compression: Compression | None, dictionary: Any, level: int | None) -> Callable[[bytes], bytes] | None:
    """The function that compresses values, or None."""
    if dictionary is not None and compression != "zstd":
        raise JellyArgumentError('a dictionary is for compression="zstd"')
    if compression is None:
        return None
    if compression == "gzip":
        return partial(gzip.compress, compresslevel=6 if level is None else level, mtime=0)
    zstd = zstandard()
    settings: dict[str, Any] = {"level": 3 if level is None else level, "write_checksum": False}
    if dictionary is not None:
        settings["dict_data"] = _dictionary(dictionary)
        settings["dict_data"].precompute_compress(level=settings["level"])
    return Shared(lambda: zstd.ZstdCompressor(**settings).compress)


def _dictionary(data: Any) -> Any:
    zstd = zstandard()
    return data if isinstance(data, zstd.ZstdCompressionDict) else zstd.ZstdCompressionDict(bytes(data))


class Unpacker:
    """Decompresses values of up to ``max_bytes``. Their first bytes show how they are compressed."""

    def __init__(self, dictionaries: Iterable[Any], max_bytes: int) -> None:
        self._max = max_bytes
        self._dictionaries: dict[int, Any] = {made.dict_id(): made for made in map(_dictionary, dictionaries)}
        self._decompressors: dict[int, Shared] = {}  # by dictionary

    def unpack(self, data: Any) -> Any:
        """The value, decompressed if it is compressed."""
        head = bytes(data[:4])
        if head == _ZSTD:
            made = self._unpack_zstd(data)
        elif head[:2] == _GZIP:
            made = self._unpack_gzip(data)
        else:
            return data
        if len(made) > self._max:
            raise self._too_large()
        return made

    def _too_large(self) -> JellyLimitError:
        return JellyLimitError(f"the value decompresses to more than {self._max} bytes: raise max_value_bytes")

    def _unpack_gzip(self, data: Any) -> bytes:
        made = b""
        while data and len(made) <= self._max:  # members one after the other
            stream = zlib.decompressobj(_GZIP_WINDOW)
            try:
                made += stream.decompress(data, self._max + 1 - len(made))
            except zlib.error as error:
                raise JellyFormatError(f"the value is no gzip data: {error}") from None
            if not stream.eof and len(made) <= self._max:
                raise JellyTruncatedError("the value ends inside its gzip data")
            data = stream.unused_data
        return made

    def _unpack_zstd(self, data: Any) -> bytes:
        zstd = zstandard()
        try:
            head = zstd.get_frame_parameters(data)
            # decompress() trusts the size in the head.
            if zstd.frame_content_size(data) > self._max:
                raise self._too_large()
            # Without a size in the head memory is taken for as much as may come.
            limit = self._max + 1 if head.content_size == zstd.CONTENTSIZE_UNKNOWN else 0
            made: bytes = self._decompressor(head.dict_id)(data, limit)
            return made
        except zstd.ZstdError as error:
            raise JellyFormatError(f"the value is no zstd data: {error}") from None

    def _decompressor(self, number: int) -> Shared:
        """The decompressor of values with the dictionary of a number, 0 for none."""
        if number and number not in self._dictionaries:
            known = ", ".join(map(str, self._dictionaries)) or "none"
            raise JellyFormatError(f"the value needs the zstd dictionary {number}: the dictionaries given are {known}")
        if number not in self._decompressors:
            settings = {"dict_data": self._dictionaries[number]} if number else {}
            zstd = zstandard()
            self._decompressors[number] = Shared(
                lambda: partial(zstd.ZstdDecompressor(**settings).decompress, allow_extra_data=False)
            )
        return self._decompressors[number]
