"""Statements after those of a Jelly file, with its index.

No step of a file system takes the old index away and puts the new end there at once: who writes after the end of a
file leaves half a frame if it is killed, for readers that know of no journal. So the new file is made beside the old
one and renamed. The bytes up to the old end are not decoded, and the system copies them (``copy_file_range``): file
systems that share blocks, such as Btrfs and XFS, do not even copy them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO

from jelly._bytes.names import is_remote, split_suffix
from jelly._bytes.part_file import PartFile, hold, names_to_disk, to_disk
from jelly._bytes.seekable import FrameWriter, PlainView
from jelly._bytes.source import Progress
from jelly._core.base.batch import Batch
from jelly._core.base.protobuf import _put_varint, _take_varint
from jelly._core.jelly.encoder import Encoder
from jelly._dataset.output import write_stream
from jelly._dataset.seekable.file import JellyFile
from jelly._dataset.seekable.sidecar import make_sidecar
from jelly._dataset.sources import Sources
from jelly._dataset.stream import Stream
from jelly._formats.filters import FilterBuilder, read_filters
from jelly._formats.index import (
    INDEX_KEY,
    KEYFRAME_ROWS,
    SUFFIX,
    Index,
    chunks_of,
    plain_view,
    read_index,
    reader_at,
)
from jelly._formats.native import StreamEncoder
from jelly._formats.registry import JELLY, READING, SEVERAL, VERSIONS, find
from jelly._options.options import MAX_TABLE_SIZE, MIN_NAME_TABLE, ROW_VERSION, StreamOptions
from jelly._options.settings import checked
from jelly._streams.outputs import ALL_FIELDS, changed, missing, output_options
from jelly._streams.reader import Reader
from jelly._streams.writer import Writer
from jelly.errors import JellyArgumentError, JellyError, JellyFormatError, JellyUnsupportedError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions

# The tag of metadata in a frame, and how the entry with the index begins: tag, length and text of its key.
_METADATA, _INDEX = 0x7A, b"\x0a" + bytes([len(INDEX_KEY)]) + INDEX_KEY.encode()
_COPIED = 1 << 30
# A file may have tables of any size.
_LIMITS: dict[str, Any] = dict.fromkeys(("max_names", "max_prefixes", "max_datatypes"), MAX_TABLE_SIZE)
# Statements from one keyframe to the next where there are to be none.
_NEVER = 1 << 40


@checked(READING, VERSIONS, SEVERAL - {"threads"})
def append(
    src: Any,
    dst: str | os.PathLike[str],
    *,
    keyframe_rows: int = KEYFRAME_ROWS,
    progress: Progress | None = None,
    **options: Unpack[ReadOptions],
) -> int:
    """Append statements to a Jelly file. An index that it has is there afterwards, with the new statements.

    The file is the old one until all is written, and then the new one: whoever reads it meanwhile, and whenever the
    process is killed. The new file is made beside the old one, whose bytes are copied by the system but not read by
    this package, and takes its name at the end.

    Parameters
    ----------
    src : Any
        One source or several, as for `scan`.
    dst : str or os.PathLike
        A Jelly file, delimited, and not compressed or seekable. If there is none, it is written, with an index.
    keyframe_rows : int, default 131072
        Statements from one keyframe to the next, if the file has an index.
    progress : callable, optional
        Called with 0, None and the number of statements read so far.
    **options : Unpack[ReadOptions]
        Shared keywords: see `ReadOptions`; all but ``threads``. ``blank_nodes`` is ``"scope"`` by default, also for one
        source: the new blank nodes are other nodes than those of the file, also where the source was appended before;
        with ``"keep"`` a node with a label of the file is that node.

    Returns
    -------
    int
        Number of statements appended.

    Raises
    ------
    JellyOptionsError
        If the file is one of Jelly-RDF 1.2 and the source has quoted triples of RDF-star, or the other way round, see
        ``star=`` of `Reader`.
    JellyArgumentError
        If the file is no Jelly file.
    JellyFormatError
        If the file is not a whole one, or not delimited.
    JellyUnsupportedError
        If it is a URL.
    JellyError
        If another process appends to the file, or it is compressed and not seekable.

    Notes
    -----
    Where the stream options of the file do not allow a statement, such as quads in a file of triples, and in a file of
    Jelly-RDF 1.2, all of the file is decoded and written with options that do.

    Filters in an index (see `Writer`) are kept, and made for the new statements. An index in a sidecar file (``.idx``)
    is made anew when the file has its name.

    Examples
    --------
    >>> import jelly, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "log.jelly")
    >>> [jelly.append(b"<a:s> <a:p> <a:o> .", path, format="nt") for day in range(3)]
    [1, 1, 1]
    >>> with jelly.open(path) as file:
    ...     len(file)
    3
    """
    name = os.fsdecode(dst)
    if name == "-" or find(None, name) is not JELLY or split_suffix(name)[1] not in ("", ".zst"):
        raise JellyArgumentError(
            "only a Jelly file that is not compressed, or compressed with zstd, can be appended to", source=name
        )
    if is_remote(name):
        raise JellyUnsupportedError("only a file of this machine can be appended to, not one at a URL", source=name)
    options["blank_nodes"] = options.get("blank_nodes") or "scope"
    found = Stream(Sources(src, **options), to_jelly=True)
    batches = (batch for batch in found.watched(progress) if len(batch) or batch.namespaces or len(batch.frames))
    target = os.path.realpath(name)
    if not os.path.exists(target):
        return write_stream(name, batches, found, JELLY, flat=True, seekable=True, keyframe_rows=keyframe_rows)[0]
    with _locked(target, name) as file:
        try:
            return _append(file, target, batches, found, keyframe_rows)
        except JellyError as error:
            error.source = error.source or name
            raise
        except OSError as error:
            error.filename = error.filename or name
            raise


def _locked(target: str, name: str) -> BinaryIO:
    """The file, which nobody else appends to while it is open."""
    while True:
        file = open(target, "rb", buffering=0)  # noqa: SIM115 - closed by the caller
        if hold(file) is False:
            file.close()
            raise JellyError("another process appends to this file", source=name)
        if os.path.samestat(os.stat(target), os.fstat(file.fileno())):
            return file
        file.close()  # another process has just replaced it


def _append(file: Any, target: str, batches: Iterator[Batch], source: Stream, keyframe_rows: int) -> int:
    raw, file = file, plain_view(file)
    size = file.seek(0, os.SEEK_END)
    # A source of this name may be in the file already, or what it was before.
    source.sources.labels = replace(source.sources.labels, into=f" after {size} bytes")
    options = _options(target)
    index = read_index(file, size, lambda: options)
    if index is None and file is not raw:
        raise JellyError("the file is compressed and has no index: write it anew with seekable=True")
    sidecar = os.path.exists(target + SUFFIX)
    builder = _filters(target, file, index) if index is not None or sidecar else None
    batch = next(batches, None)
    if batch is None:
        return 0
    how: dict[str, Any] = {"seekable": index is not None, "keyframe_rows": keyframe_rows}
    if builder is not None and index is not None:
        how["index"] = "terms"
    rows, old = 0, target
    part: PartFile | None = None
    try:
        if not _needs_more(options, batch):
            end, last = (_walk(file, size), b"") if index is None else _kept(file, size, index)
            part = PartFile(target)
            old = part.path
            with os.fdopen(part.handle, "wb") as written:
                made = _begun(raw, file, written, end)
                made.write(last)
                # Its first frame is a keyframe, and has no stream options.
                tail = StreamEncoder(
                    options, keyframe_rows=_NEVER if index is None else keyframe_rows, continued=True,
                    skip_namespaces=True,
                )  # fmt: skip
                if "index" in how:
                    tail.make_filters(builder)
                base = end + len(last)
                while batch is not None and not _needs_more(options, batch):
                    source.refuse_quoted(batch, options.version)
                    _put(made, base, tail, tail.encode(batch, keep_frames=True if batch.metadata else None))
                    batch = None  # before the next one takes memory
                    batch = next(batches, None)
                before = [] if index is None else [*index.keyframes[1:], (base, index.statements, index.frames, 0)]
                _put(made, base, tail, tail.close_after(before) if before else Encoder.close(tail))
                if made is not written:
                    made.close()
                written.flush()
                to_disk(written.fileno())
            rows = tail.statements
        if batch is not None:
            rows += _write_anew(target, old, options, batch, batches, source, how)
        elif part is not None:
            part.commit()
            with suppress(OSError):
                names_to_disk(os.path.dirname(target))
    finally:
        if part is not None:
            part.discard()
    if index is None and sidecar:
        make_sidecar(target, terms=builder is not None)
    elif sidecar:
        os.unlink(target + SUFFIX)  # its filters are in the file now
    return rows


def _put(made: Any, base: int, tail: StreamEncoder, data: bytes) -> None:
    """Write bytes of the new frames, to a `FrameWriter` with the places where its frames begin."""
    if isinstance(made, FrameWriter):
        made.cut([base, *(base + place for place in tail.cuts())])
    made.write(data)


def _needs_more(options: StreamOptions, batch: Batch) -> bool:
    """Whether no frames with a Batch can follow a stream with these options: the file is written anew then.

    The tables of frames in columns (Jelly-RDF 1.2) are other ones, and a writer needs more names than a reader.
    """
    can_follow = options.version <= ROW_VERSION and options.max_name_table_size >= MIN_NAME_TABLE
    return not can_follow or bool(missing(options, batch, ALL_FIELDS - {"version"}))


def _write_anew(
    target: str,
    old: str,
    options: StreamOptions,
    first: Batch,
    batches: Iterator[Batch],
    source: Stream,
    how: dict[str, Any],
) -> int:
    """Write what a file has, and Batches after it, with stream options that allow both; the statements of these."""
    chosen = output_options(options, first.arity)
    chosen = changed(chosen, missing(chosen, first, ALL_FIELDS - {"version"}))
    with Reader(old, format="jelly", **_LIMITS) as reader, Writer(target, chosen, **how) as writer:
        writer.allow(ALL_FIELDS)
        for batch in reader.batches():
            writer.add_batch(batch, keep_frames=True if batch.metadata else None)
            del batch  # before the next one takes memory; there may be none
        for batch in chain([first], batches):
            source.refuse_quoted(batch, chosen.version)
            writer.add_batch(batch, keep_frames=True if batch.metadata else None)
    return writer.statements - reader.statements


def _begun(raw: Any, file: Any, written: Any, end: int) -> Any:
    """The output of the new file, with the first bytes of the old one: of a compressed file its frames."""
    if not isinstance(file, PlainView):
        _copy(raw, written, end)
        return written
    first = file.frame_at(end)
    _copy(raw, written, int(file.table.packed[first]))
    made = FrameWriter(written)
    made.go_on((packed, plain) for packed, plain in file.table.sizes()[:first].tolist())
    for data in file.chunks(int(file.table.plain[first]), end):
        made.write(data)
    made.cut([end])
    return made


def _filters(target: str, file: Any, index: Index | None) -> FilterBuilder | None:
    """The filters of a file, to go on with; without an index of its own those of the sidecar, which are made anew."""
    builder = FilterBuilder()
    if index is not None:
        filters, opened = read_filters(target, file, index)
        with opened:
            if filters is None:
                return None
            builder.take(filters)
            return builder
    with suppress(JellyError), JellyFile(target, **_LIMITS) as seen:
        return builder if seen.filters is not None else None
    return None


def _options(path: str) -> StreamOptions:
    """The stream options of a delimited file."""
    with Reader(path, format="jelly", batch_rows=1, **_LIMITS) as reader:
        for _ in reader.batches():  # the first may be of frames before the options
            if reader.options is not None:
                break
        if reader.options is None or not reader.delimited:
            raise JellyFormatError("the file is one bare frame: only a delimited stream can be appended to")
        options: StreamOptions = reader.options
        return options


def _walk(file: Any, size: int) -> int:
    """The end of the last frame, which is that of the file."""
    read_at = reader_at(file)
    at = begin = 0
    while at < size:
        begin = at
        length, n = _take_varint(read_at(at, min(10, size - at)))
        at = at + n + length if length >= 0 else size + 1
    if at > size:
        raise JellyFormatError("the file is cut off within its last frame", offset=begin)
    return at


def _kept(file: Any, size: int, index: Index) -> tuple[int, bytes]:
    """Where to end copying, and the last frame without what was metadata of the file: its index, and filters."""
    read_at = reader_at(file)
    last = int.from_bytes(read_at((index.at or 0) + 16, 8), "little")  # its third number
    frame = read_at(last, size - last)
    _, at = _take_varint(frame[:10])
    kept = []
    while at < len(frame):
        # All fields of a frame have a length; the tag is one byte.
        length, n = _take_varint(frame[at + 1 : at + 11])
        body = at + 1 + n
        end = body + length
        if frame[at] & 0x87 != 2 or length < 0 or end > len(frame):
            raise JellyFormatError("the last frame is damaged", offset=last + at)
        if not (frame[at] == _METADATA and frame.startswith(_INDEX, body)):
            kept.append(frame[at:end])
        at = end
    whole = b"".join(kept)
    return last, _put_varint(len(whole)) + whole


def _copy(file: Any, made: Any, size: int) -> None:
    """Copy the first bytes of a file, by the system if it can: it may share the blocks instead."""
    at = 0
    if hasattr(os, "copy_file_range"):
        with suppress(OSError):  # another file system, or none that can
            while at < size:
                n = os.copy_file_range(file.fileno(), made.fileno(), min(size - at, _COPIED), at, at)
                if not n:
                    break
                at += n
    made.seek(at)
    for data in chunks_of(file)(at, size):
        made.write(data)

