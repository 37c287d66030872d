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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias

from jelly._bytes.names import is_remote
from jelly._bytes.sink import Sink
from jelly._bytes.source import MAX_EXPANSION, open_local
from jelly._core.base.batch import Batch
from jelly._core.jelly.decoder import Decoder
from jelly._dataset.seekable.keyframes import read_segment
from jelly._formats.filters import FilterBuilder
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
    shape_of,
)
from jelly._formats.registry import SEEKING, Content, content_of
from jelly._formats.sniff import HEAD, refuse_other
from jelly._options.options import COLUMN_VERSION, PatchOptions, StreamOptions
from jelly._options.settings import checked, fitted
from jelly._streams.drain import drain
from jelly.errors import JellyArgumentError, JellyError, JellyFormatError, JellyUnsupportedError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions

_MAGIC = b"JELLYSID"
_START = struct.Struct("<8sqq")
# More integers than an index has: in the head, the size of the file; per keyframe, those of its state.
_SIZE, _STATE = 1, 3
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

# Gets the bytes read, and all bytes.
Told: TypeAlias = Callable[[int, int], object]


@checked(SEEKING)
def index(
    path: str | os.PathLike[str],
    *,
    terms: bool = False,
    content: Literal["statements", "patches"] | None = None,
    progress: Callable[[int, int], object] | None = None,
    **limits: Unpack[ReadOptions],
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
    **limits : Unpack[ReadOptions]
        Limits of Jelly: see `ReadOptions`.

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
    progress: Told | None = None,
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
    if isinstance(name, str) and is_remote(name):
        raise JellyUnsupportedError("only a file of this machine gets an index, not one at a URL", source=name)
    if terms and patch:
        raise JellyArgumentError("a file of patches has no filters of terms")
    builder = FilterBuilder(limit=_MAX_FILTERS) if terms else None
    with _opened(name, limits) as (file, size):
        options = partial(first_options, file, patch, **limits)
        index = read_index(file, size, options) if terms else None
        if builder and index:
            chunks = chunks_of(file)
            for segment in index.segments():
                for batch in read_segment(chunks, index, segment, **limits):
                    builder.add(batch)
                builder.cut(segment[1].offset - segment[0].offset)
                if progress is not None:
                    progress(segment[1].offset, size)
            parts = [builder.pack(index.keyframes, size, checksum_ends(file, size))]
        else:
            scan = _Scan(file, size, Decoder(patch=patch, **limits), builder, distance)
            scan.run(chunk, progress)
            parts = scan.pack(options())  # in version 3 they may change
    with Sink(dst or name + SUFFIX) as sink:
        for part in parts:
            sink.write(part)


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


@dataclass(eq=False, repr=False)
class _Scan:
    """Finds the places of a stream from which to read, and fills the filters between them."""

    file: Any
    size: int
    decoder: Decoder
    builder: FilterBuilder | None
    distance: int

    def __post_init__(self) -> None:
        # Reading a compressed file can start where a frame of it begins.
        self.frame_at: Callable[[int], int] = getattr(self.file, "frame_at", int)
        # From the beginning to the end: byte, statement, frame and place in patches; and the states of the decoder.
        self.places: list[tuple[tuple[int, ...], bytes]] = [((0, 0, 0, 0), b"")]
        self.statements = 0

    def run(self, chunk: int, progress: Told | None) -> None:
        """Read all. A frame that restates the options is a place without a state."""
        for batch in drain(self.decoder, self.chunks(chunk, progress), is_live=True):
            first = 0
            restated = self.decoder.restated
            if restated is not None and self.is_due(restated, self.distance):
                first = restated[1] - self.statements
                self.add(batch, 0, first)
                self.take((*restated, 0), b"")
            self.add(batch, first, len(batch))
            self.statements += len(batch)
        self.take(self.here(), b"")

    def chunks(self, chunk: int, progress: Told | None) -> Iterator[Any]:
        """The bytes of the file. After each chunk there is a place with the state of the decoder, if the last one is
        far away."""
        done = 0
        for data in chunks_of(self.file, chunk)(0, self.size):
            yield data
            done += len(data)
            if self.decoder.delimited is False:
                raise JellyError("the file is one bare frame: only a delimited stream can have an index")
            # In columns a frame that restates the options may follow, which needs no state.
            is_columns = getattr(self.decoder.options, "version", 0) == COLUMN_VERSION
            here, distance = self.here(), self.distance * (2 if is_columns else 1)
            if here[0] < self.size and not self.decoder.in_message and self.is_due(here, distance):
                self.take(here, zlib.compress(self.decoder.save(), 6))
            if progress is not None:
                progress(done, self.size)

    def here(self) -> tuple[int, ...]:
        return self.decoder.offset, self.statements, self.decoder.frames, self.decoder.place

    def is_due(self, place: tuple[int, ...], distance: int) -> bool:
        last = self.places[-1][0]
        return place[1] - last[1] >= distance and self.frame_at(place[0]) > self.frame_at(last[0])

    def take(self, place: tuple[int, ...], state: bytes) -> None:
        if self.builder is not None:
            self.builder.cut(place[0] - self.places[-1][0][0])
        self.places.append((place, state))

    def add(self, batch: Batch, start: int, stop: int) -> None:
        if self.builder is not None and start < stop:
            self.builder.add(batch, start, stop)

    def pack(self, options: StreamOptions | PatchOptions) -> list[bytes]:
        """The parts of the sidecar."""
        places, ends = self.places[1:-1], checksum_ends(self.file, self.size)
        size, statements, frames, place = self.places[-1][0]
        version, n_head, n_key = shape_of(options)
        numbers = [version, size, ends, checksum_options(options), statements, frames, len(places), place]
        del numbers[n_head + _SIZE :]
        offset = _START.size + 8 * (len(numbers) + len(places) * (n_key + _STATE))
        for key, state in places:
            numbers += [*key[:n_key], offset, len(state), zlib.crc32(state)]
            offset += len(state)
        head = struct.pack(f"<{len(numbers)}q", *numbers)
        parts = [_START.pack(_MAGIC, zlib.crc32(head), len(head)), head, *(state for _, state in places)]
        if self.builder is not None:
            parts.append(self.builder.pack([key for key, _ in self.places[:-1]], size, ends))
        return parts


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
    expected, n_head, n_key = shape_of(options)
    n_head += _SIZE
    magic, crc, length = _START.unpack(read_exactly(sidecar, 0, _START.size))
    if magic != _MAGIC or not 8 * n_head <= length <= _MAX_HEAD:
        raise CorruptIndex("it is no index")
    head = read_exactly(sidecar, _START.size, length)
    if zlib.crc32(head) != crc:
        raise CorruptIndex("its checksum is wrong")
    version, size, ends, checksum, statements, frames, n, *place = struct.unpack_from(f"<{n_head}q", head)
    if version != expected or length != 8 * (n_head + n * (n_key + _STATE)):
        raise CorruptIndex("it is of another version")
    # The time of change is not compared: a copy has another time.
    if file.seek(0, os.SEEK_END) != size or checksum_ends(file, size) != ends:
        raise CorruptIndex("the file has changed since; make it anew with `jelly index`")
    if checksum_options(options) != checksum:
        raise CorruptIndex("it belongs to other stream options")
    places = [*struct.iter_unpack(f"<{n_key + _STATE}q", head[8 * n_head :])]
    keyframes = (Keyframe(0, 0, 0), *(Keyframe(*key[:n_key]) for key in places))
    state = _states(path + SUFFIX, [key[n_key:] for key in places], opener)
    index = Index(options, keyframes, statements, frames, size, state, place=sum(place))
    index.check(last_offset=size)
    return index


def _states(
    path: str, places: list[tuple[int, ...]], opener: Callable[[str], BinaryIO]
) -> Callable[[int], bytes | None]:
    """A function that reads the state at a keyframe by its number. Keyframe 0 has no state, others may have none."""
    kept: tuple[tuple[int, bytes], ...] = ()  # never changed, so that threads need no lock

    def state(number: int) -> bytes | None:
        nonlocal kept
        offset, length, crc = places[number - 1]
        if not length:
            return None
        whole = dict(kept).get(number)
        if whole is None:
            try:
                with opener(path) as sidecar:
                    whole = _unpacked(sidecar, offset, length, crc)
            except (CorruptIndex, zlib.error):
                raise JellyFormatError("a saved state of the decoder is damaged", source=path) from None
            if len(whole) <= _KEPT_BYTES:
                kept = (*kept[1 - _KEPT :], (number, whole))
        return whole

    return state


def _unpacked(sidecar: BinaryIO, offset: int, length: int, crc: int) -> bytes:
    """A state in a sidecar. CorruptIndex or an error of zlib if it is not what was written."""
    if not 0 <= offset <= offset + length <= sidecar.seek(0, os.SEEK_END) or length > _MAX_STATE:
        raise CorruptIndex
    data = read_exactly(sidecar, offset, length)
    unpacker = zlib.decompressobj()
    whole = unpacker.decompress(data, _MAX_STATE)
    if zlib.crc32(data) != crc or not unpacker.eof:
        raise CorruptIndex
    return whole
