"""Compression of single values, with zstd dictionaries, and decompression with a limit."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

from jelly._bytes.compression import COMPRESSIONS, zstandard
from jelly.errors import JellyArgumentError, JellyFormatError, JellyLimitError, JellyTruncatedError

__all__ = ["Compression", "Unpacker", "packer"]

Compression: TypeAlias = Literal["gzip", "zstd"]

_GZIP, _ZSTD = COMPRESSIONS[".gz"], COMPRESSIONS[".zst"]
# Of zlib: a window of 32 KB, with the head of gzip.
_GZIP_WINDOW = 31


def packer(compression: Compression | None, dictionary: Any, level: int | None) -> Callable[[bytes], bytes] | None:
    """The function that compresses values, or None."""
    if dictionary is not None and compression != "zstd":
        raise JellyArgumentError('a dictionary is for compression="zstd"')
    if compression is None:
        return None
    if compression == "gzip":
        chosen = 6 if level is None else level

        def pack(data: bytes) -> bytes:
            stream = zlib.compressobj(chosen, zlib.DEFLATED, _GZIP_WINDOW)
            return stream.compress(data) + stream.flush()

        return pack
    if compression != "zstd":
        raise JellyArgumentError(f'compression is {compression!r}: expected "gzip", "zstd" or None')
    zstd = zstandard()
    settings: dict[str, Any] = {"level": 3 if level is None else level, "write_checksum": False}
    if dictionary is not None:
        made = _dictionary(dictionary)
        made.precompute_compress(level=settings["level"])
        settings["dict_data"] = made

    # Two threads may not use one compressor at a time: each takes one and puts it back.
    idle: list[Any] = []

    def pack_zstd(data: bytes) -> bytes:
        compressor = idle.pop() if idle else zstd.ZstdCompressor(**settings)
        packed: bytes = compressor.compress(data)
        idle.append(compressor)
        return packed

    return pack_zstd


def _dictionary(data: Any) -> Any:
    zstd = zstandard()
    return data if isinstance(data, zstd.ZstdCompressionDict) else zstd.ZstdCompressionDict(bytes(data))


class Unpacker:
    """Decompresses values of up to ``max_bytes``. Their first bytes show how they are compressed."""

    def __init__(self, dictionaries: Iterable[Any], max_bytes: int) -> None:
        self._max = max_bytes
        self._dictionaries: dict[int, Any] = {}
        for data in dictionaries:
            made = _dictionary(data)
            self._dictionaries[made.dict_id()] = made
        self._idle: dict[int, list[Any]] = {}  # decompressors by dictionary, as above

    def unpack(self, data: Any) -> Any:
        """The value, decompressed if it is compressed."""
        head = bytes(data[:4])
        if head == _ZSTD:
            return self._checked(self._unpack_zstd(data))
        if head[:2] == _GZIP:
            return self._checked(self._unpack_gzip(data))
        return data

    def _checked(self, data: bytes) -> bytes:
        if len(data) > self._max:
            raise self._too_large()
        return data

    def _too_large(self) -> JellyLimitError:
        return JellyLimitError(f"the value decompresses to more than {self._max} bytes: raise max_value_bytes")

    def _unpack_gzip(self, data: Any) -> bytes:
        stream = zlib.decompressobj(_GZIP_WINDOW)
        try:
            made = stream.decompress(data, self._max + 1)
        except zlib.error as error:
            raise JellyFormatError(f"the value is no gzip data: {error}") from None
        if not stream.eof and len(made) <= self._max:
            raise JellyTruncatedError("the value ends inside its gzip data")
        return made

    def _unpack_zstd(self, data: Any) -> bytes:
        zstd = zstandard()
        try:
            head = zstd.get_frame_parameters(data)
            if head.dict_id and head.dict_id not in self._dictionaries:
                known = ", ".join(map(str, self._dictionaries)) or "none"
                raise JellyFormatError(
                    f"the value needs the zstd dictionary {head.dict_id}: the dictionaries given are {known}"
                )
            # decompress() trusts the size in the head.
            if zstd.frame_content_size(data) > self._max:
                raise self._too_large()
            chosen = {"dict_data": self._dictionaries[head.dict_id]} if head.dict_id else {}
            idle = self._idle.setdefault(head.dict_id, [])
            decompressor = idle.pop() if idle else zstd.ZstdDecompressor(**chosen)
            # Without a size in the head memory is taken for as much as may come.
            limit = self._max + 1 if head.content_size == zstd.CONTENTSIZE_UNKNOWN else 0
            made: bytes = decompressor.decompress(data, max_output_size=limit)
            idle.append(decompressor)
        except zstd.ZstdError as error:
            raise JellyFormatError(f"the value is no zstd data: {error}") from None
        return made
