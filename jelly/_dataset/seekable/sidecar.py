"""An index for a Jelly file without one, in a file beside it: ``x.jelly.idx``, made by one scan.

Such a file has no keyframes, so for each place where reading may start the sidecar keeps the state of the decoder
there. Layout, numbers little-endian: the magic number, a CRC-32 and the length of the head; the head (version, size of
the Jelly file, checksum of its first and last bytes, checksum of the stream options, statements, frames, number of
places; then offset, statement, frame, and offset, length and CRC-32 of the state for each); the states, compressed with
zlib. A frame that restates the options (Jelly-RDF 1.2) needs none: its length is 0. That of patches is version 2: the
place of the end (`Index.place`) stands after the number of places, and that of each place after its frame. After all
that may stand filters; of a file that has an index they are all there is.
"""

from __future__ import annotations

import builtins
import os
import struct
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO, Literal

from jelly._bytes.seekable import PlainView
from jelly._bytes.sink import Sink
from jelly._bytes.source import MAX_EXPANSION, open_local
from jelly._core.base.batch import Batch
from jelly._core.jelly.decoder import Decoder
from jelly._dataset.seekable.keyframes import read_segment
from jelly._formats.filters import FilterBuilder, keyframes_of
from jelly._formats.index import (
    SUFFIX,
    CorruptIndex,
    Index,
    Keyframe,
    checksum_ends,
    checksum_options,
    chunks_of,
    first_options,
    ignore,
    plain_view,
    read_exactly,
    read_index,
)
from jelly._formats.registry import SEEKING, Content, content_of
from jelly._formats.sniff import HEAD, refuse_other
from jelly._options.options import COLUMN_VERSION, PatchOptions, StreamOptions
from jelly._options.settings import checked, fitted
from jelly._streams.drain import drain
from jelly.errors import JellyArgumentError, JellyError, JellyFormatError

__all__ = ["SUFFIX"]

_MAGIC = b"JELLYSID"
_START = struct.Struct("<8sqq")
# By kind of stream: version, number of integers in the head, and per keyframe, before those of its state.
_RDF, _PATCH = (1, 7, 3), (2, 8, 4)
_STATE = 3
_MAX_HEAD = 1 << 28
# Maximum bytes of a saved state: it holds the lookup tables.
_MAX_STATE = 1 << 28
# States that are kept, as each is asked for twice: by who reads up to it, and from it on. Larger ones are not.
_KEPT = 8
_KEPT_BYTES = 1 << 20
# Minimum statements from one place to the next.
_DISTANCE = 1 << 18
# Of all filters in a sidecar, in bytes. What comes later has only ranges and short lists.
_MAX_FILTERS = 1 << 33
_CHUNK = 1 << 20


@checked(SEEKING)
def index(
    path: str | os.PathLike[str],
    *,
    terms: bool = False,
    content: Literal["statements", "patches"] | None = None,
    progress: Callable[[int, int], object] | None = None,
    **limits: Any,
) -> None:
    """Scan a Jelly or Jelly-Patch file and write its index beside it, to ``<path>.idx``, for `jelly.open` and threads.

    A file written with ``seekable=True`` has an index already.

    Parameters
    ----------
    path : str or os.PathLike
        The file: delimited, and not compressed or seekable zstd.
    terms : bool, default False
        Also write the terms that each part of the file holds, so that `jelly.find` reads little of it. Of a file that
        has an index nothing else is written.
    content : {"statements", "patches"}, optional
        The content of the file. By default the suffix ``.jellyp`` means patches.
    progress : callable, optional
        Called with the bytes read and the size of the file.
    **limits : Any
        Limits of the `Decoder`.

    Raises
    ------
    JellyError
        If the file is compressed and not seekable, not delimited, or broken.

    Examples
    --------
    >>> import jelly, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.jelly")
    >>> numbers = [jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal(str(i))) for i in range(1000)]
    >>> jelly.write(path, numbers, seekable=False)
    1000
    >>> jelly.index(path)
    >>> with jelly.open(path) as file:
    ...     file[500].o.value
    '500'
    """
    patch = content_of(content, (path, None)) is Content.PATCH
    make_sidecar(path, terms=terms, patch=patch, progress=progress, **limits)


@checked(SEEKING)
def make_sidecar(
    path: str | os.PathLike[str],
    *,
    progress: Callable[[int, int], object] | None = None,
    distance: int = _DISTANCE,
    chunk: int = _CHUNK,
    patch: bool = False,
    terms: bool = False,
    dst: Any = None,
    **limits: Any,
) -> None:
    """Scan a Jelly file and write ``<path>.idx``, with which `jelly.open` can read any part of it.

    With ``dst``, a file object, it is written there. With ``patch`` it is a file of Jelly-Patch. With ``terms`` the
    sidecar also has filters, see `jelly._formats.filters`; where the file has an index of its own, nothing else.
    ``progress`` is called with the bytes read and the size. A place is at the end of a ``chunk`` of bytes, at least
    ``distance`` statements after the place before; of a compressed file, where one of its frames begins. ``limits``
    are those of the `Decoder`. JellyError if the file is compressed and not seekable, not delimited, or broken.
    """
    name = os.fspath(path)
    if terms and patch:
        raise JellyArgumentError("a file of patches has no filters of terms")
    builder = FilterBuilder(limit=_MAX_FILTERS) if terms else None
    with _opened(name, limits) as (file, size):
        if builder is not None and _add_filters(name, file, size, builder, progress, limits):
            return
        file.seek(0)
        decoder = Decoder(patch=patch, **limits)
        # Reading a compressed file can start where a frame of it begins.
        starts = file.table.plain.tolist() if isinstance(file, PlainView) else None
        scan = _Scan(decoder, builder, distance, starts)

        def chunks() -> Iterator[Any]:
            done = 0
            for data in chunks_of(file, chunk)(0, size):
                yield data
                done += len(data)
                if decoder.delimited is False:
                    raise JellyError("the file is one bare frame: only a delimited stream can have an index")
                if decoder.offset < size and not decoder.in_message:
                    scan.end_chunk()
                if progress is not None:
                    progress(done, size)

        scan.take(drain(decoder, chunks(), is_live=True))
        if builder is not None:
            builder.cut(size - scan.begin[0])
        options = first_options(file, patch, limits)  # in version 3 they may change
        ends = checksum_ends(file, size)
    version, n_head, n_key = _PATCH if patch else _RDF
    n = len(scan.places)
    numbers = [version, size, ends, checksum_options(options), scan.statements, decoder.frames, n, decoder.place]
    del numbers[n_head:]
    offset = _START.size + 8 * (n_head + n * (n_key + _STATE))
    for place, state in scan.places:
        numbers += [*place[:n_key], offset, len(state), zlib.crc32(state)]
        offset += len(state)
    head = struct.pack(f"<{len(numbers)}q", *numbers)
    keys = [(0, 0), *((place[0], place[1]) for place, _ in scan.places)]
    filters = b"" if builder is None else builder.pack(keys, size, ends)
    states = (state for _, state in scan.places)
    _write(dst or name + SUFFIX, _START.pack(_MAGIC, zlib.crc32(head), len(head)) + head, *states, filters)


@contextmanager
def _opened(name: str, limits: dict[str, Any]) -> Iterator[tuple[Any, int]]:
    """A Jelly file as it is when it is not compressed, and its size. ``limits`` become those of a `Decoder`."""
    expansion = limits.pop("max_expansion", MAX_EXPANSION)
    with builtins.open(name, "rb") as opened:
        limits.update(fitted(limits, SEEKING, os.fstat(opened.fileno()).st_size))
        try:
            file = plain_view(opened, expansion)
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            refuse_other(file.read(HEAD))
            yield file, size
        except JellyError as error:
            error.source = error.source or name
            raise


def _add_filters(
    name: str,
    file: Any,
    size: int,
    builder: FilterBuilder,
    progress: Callable[[int, int], object] | None,
    limits: dict[str, Any],
) -> bool:
    """Write a sidecar with the filters of a file that has an index of its own; False for other files."""
    try:
        index = read_index(file, size, partial(first_options, file, False, limits))
    except CorruptIndex:
        return False
    if index is None:
        return False
    chunks = chunks_of(file)
    for segment in index.segments():
        for batch in read_segment(chunks, index, segment, **limits):
            builder.add(batch)
        builder.cut(segment[1].offset - segment[0].offset)
        if progress is not None:
            progress(segment[1].offset, size)
    _write(name + SUFFIX, builder.pack(keyframes_of(index), size, checksum_ends(file, size)))
    return True


class _Scan:
    """Finds the places of a stream from which to read, and fills the filters between them."""

    def __init__(
        self, decoder: Decoder, builder: FilterBuilder | None, distance: int, starts: list[int] | None
    ) -> None:
        self._decoder, self._builder, self._distance, self._starts = decoder, builder, distance, starts
        self._seen: tuple[int, int, int] | None = None
        self.places: list[tuple[tuple[int, ...], bytes]] = []  # with the states of the decoder
        self.begin: tuple[int, int] = (0, 0)  # byte and statement of the last place
        self.statements: int = 0

    def take(self, batches: Iterable[Batch]) -> None:
        """Count the statements of some Batches. A frame that restates the options is a place without a state."""
        for batch in batches:
            behind = 0
            restated = self._decoder.restated
            if restated is not None and restated != self._seen:
                self._seen = restated
                if self._is_due(restated[0], restated[1], self._distance):
                    behind = restated[1] - self.statements
                    self._add(batch, 0, behind)
                    self._place((*restated, 0), b"")
            self._add(batch, behind, len(batch))
            self.statements += len(batch)

    def end_chunk(self) -> None:
        """Take a place between two frames, with the state of the decoder, if the last one is far away."""
        decoder = self._decoder
        # In columns a frame that restates the options may follow, which needs no state.
        distance = self._distance * (2 if getattr(decoder.options, "version", 0) == COLUMN_VERSION else 1)
        if self._is_due(decoder.offset, self.statements, distance):
            place = (decoder.offset, self.statements, decoder.frames, decoder.place)
            self._place(place, zlib.compress(decoder.save(), 6))

    def _is_due(self, offset: int, statement: int, distance: int) -> bool:
        begin, last = self.begin
        is_near = self._starts is None or bisect_right(self._starts, offset) > bisect_right(self._starts, begin)
        return statement - last >= distance and is_near

    def _place(self, place: tuple[int, int, int, int], state: bytes) -> None:
        self.places.append((place, state))
        if self._builder is not None:
            self._builder.cut(place[0] - self.begin[0])
        self.begin = place[:2]

    def _add(self, batch: Batch, start: int, stop: int) -> None:
        if self._builder is not None and start < stop:
            self._builder.add(batch, start, stop)


def _write(path: Any, *parts: bytes) -> None:
    sink = Sink(path)
    try:
        for part in parts:
            sink.write(part)
    except BaseException:
        sink.abort()
        raise
    sink.close()


def read_sidecar(
    path: str,
    file: Any,
    options: Callable[[], StreamOptions | PatchOptions],
    opener: Callable[[str], BinaryIO] = open_local,
    check: bool = False,
) -> Index | None:
    """The index in the sidecar of ``path``, which is open as ``file``; None without one. An outdated one is ignored."""
    try:
        sidecar = opener(path + SUFFIX)
    except FileNotFoundError:
        return None
    with sidecar:
        try:
            return _parse(path, sidecar, file, options(), opener)
        except CorruptIndex as why:
            ignore(path + SUFFIX, why, check, 4)
            return None


def _parse(
    path: str, sidecar: Any, file: Any, options: StreamOptions | PatchOptions, opener: Callable[[str], BinaryIO]
) -> Index:
    magic, crc, length = _START.unpack(read_exactly(sidecar, _START.size))
    if magic != _MAGIC or length % 8 or not 8 * _RDF[1] <= length <= _MAX_HEAD:
        raise CorruptIndex("it is no index")
    head = read_exactly(sidecar, length)
    if zlib.crc32(head) != crc:
        raise CorruptIndex("its checksum is wrong")
    numbers = struct.unpack(f"<{length // 8}q", head)
    version, size, ends, checksum, statements, frames, n = numbers[: _RDF[1]]
    expected, n_head, n_key = _PATCH if isinstance(options, PatchOptions) else _RDF
    if version != expected or len(numbers) != n_head + n * (n_key + _STATE):
        raise CorruptIndex("it is of another version")
    # The time of change is not compared: a copy has another time.
    if file.seek(0, os.SEEK_END) != size or checksum_ends(file, size) != ends:
        raise CorruptIndex("the file has changed since; make it anew with `jelly index`")
    if checksum_options(options) != checksum:
        raise CorruptIndex("it belongs to other stream options")
    places = [numbers[i : i + n_key + _STATE] for i in range(n_head, len(numbers), n_key + _STATE)]
    keyframes = (Keyframe(0, 0, 0), *(Keyframe(*place[:n_key]) for place in places))
    state = _states(path + SUFFIX, [place[n_key:] for place in places], opener)
    index = Index(options, keyframes, statements, frames, size, state, place=sum(numbers[_RDF[1] : n_head]))
    index.check(last_offset=size)
    return index


def _states(
    path: str, places: list[tuple[int, ...]], opener: Callable[[str], BinaryIO]
) -> Callable[[int], bytes | None]:
    """A function that reads the state at a keyframe by its number. Keyframe 0 has no state, others may have none."""
    kept: tuple[tuple[int, bytes], ...] = ()  # never changed, so that threads need no lock

    def state(number: int) -> bytes | None:
        nonlocal kept
        for one, whole in kept:
            if one == number:
                return whole
        damaged = JellyFormatError("a saved state of the decoder is damaged", source=path)
        offset, length, crc = places[number - 1]
        if not (offset >= 0 and 0 <= length <= _MAX_STATE):
            raise damaged
        if not length:
            return None
        with opener(path) as sidecar:
            if offset + length > sidecar.seek(0, os.SEEK_END):
                raise damaged
            sidecar.seek(offset)
            data = sidecar.read(length)
        if len(data) != length or zlib.crc32(data) != crc:
            raise damaged
        unpacker = zlib.decompressobj()
        try:
            whole = unpacker.decompress(data, _MAX_STATE)
        except zlib.error:
            raise damaged from None
        if not unpacker.eof:
            raise damaged
        if len(whole) <= _KEPT_BYTES:
            kept = (*kept[1 - _KEPT :], (number, whole))
        return whole

    return state
