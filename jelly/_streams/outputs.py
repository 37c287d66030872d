"""Outputs of all contents: the base of the classes that write items; which stream options an output has, as its first
source, the caller and the Batches say; and encoders that follow.

Name and sizes of tables of the first source stay, and the type where frames are kept. Jelly-RDF 1.2 stays Jelly-RDF
1.2. What the caller gives comes first. Where nothing is Jelly, the options are the default ones.

A stream says at its start what it may hold, and inputs show it late. The first Batch decides the options that the
caller left open. If a later Batch needs more, a file that does not have its name yet is written again with wider
options, from what was written so far, and so is what is still in memory. What went to a pipe or a file object cannot be
taken back: there it is a `LateError`, which names the options to give.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from jelly._bytes.names import can_have_index, name_of
from jelly._bytes.sink import Sink, SinkWriter, one_thread
from jelly._bytes.source import Source
from jelly._core.base.batch import Batch
from jelly._core.base.kinds import Kind
from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.encoder import Encoder
from jelly._core.ntriples.text import TextWriter
from jelly._core.rules.needs import lacking
from jelly._formats.index import FILTERED_ROWS, KEYFRAME_ROWS
from jelly._formats.native import default_options
from jelly._formats.protocols import Framing
from jelly._formats.registry import JELLY, JELLY_PATCH, Content, Format, find
from jelly._options.options import (
    COLUMN_VERSION,
    MAX_TABLE_SIZE,
    MIN_NAME_TABLE,
    ROW_VERSION,
    TABLES,
    LogicalType,
    Options,
    PatchOptions,
    PatchStreamType,
    PhysicalType,
    StreamOptions,
    physical_for,
)
from jelly._options.settings import refuse_unknown
from jelly._streams.drain import drain
from jelly.errors import JellyArgumentError, LateError

if TYPE_CHECKING:
    from jelly._bytes.workers import Workers

NO_LIMIT = 1 << 40
# Of a stream with a datatype table whose first source has none.
DATATYPES = StreamOptions().max_datatype_table_size
_DATATYPES = "max_datatype_table_size"

_QUADS_OF = {
    LogicalType.FLAT_TRIPLES: LogicalType.FLAT_QUADS,
    LogicalType.GRAPHS: LogicalType.DATASETS,
    LogicalType.SUBJECT_GRAPHS: LogicalType.DATASETS,
}
_TRIPLES_OF = {LogicalType.FLAT_QUADS: LogicalType.FLAT_TRIPLES, LogicalType.DATASETS: LogicalType.GRAPHS}
_NOUNS = {
    "physical_type": "a named graph",
    "rdf_star": "a quoted triple",
    "generalized_statements": "a generalized statement",
    "version": "a namespace",
    "max_name_table_size": "a statement with more names than the name table",
    "max_datatype_table_size": "a statement with more datatypes than the datatype table",
}
# What can be widened.
ALL_FIELDS = frozenset(_NOUNS)
_FLAGS = frozenset({"rdf_star", "generalized_statements"})


def is_columns(options: Any) -> bool:
    """Whether these are options of a stream of Jelly-RDF 1.2."""
    return isinstance(options, StreamOptions) and options.version == COLUMN_VERSION


def output_options(
    source: StreamOptions | None,
    arity: int,
    given: StreamOptions | Mapping[str, Any] | None = None,
    *,
    flat: bool = False,
    grouped: bool = False,
    version: int | None = None,
    star: bool = False,
) -> StreamOptions:
    """The options for what is written of a source with the options ``source``, None if it is no Jelly.

    ``arity`` is that of its statements, ``given`` are options or fields that the caller has chosen. With ``flat`` the
    frames have lost their meaning; a source of quads stays one then, even if no statement names a graph. For what is no
    Jelly, ``grouped`` says that frames have a meaning, ``version`` that namespaces may come late. ``star``: the caller
    has said what becomes of quoted triples, all of which rows can hold.

    >>> source = StreamOptions.small(physical_type=2, logical_type=4, version=3, rdf_version="1.1", stream_name="n")
    >>> made = output_options(source, 3, flat=True)
    >>> made.version, made.stream_name, made.max_prefix_table_size, made.logical_type.name
    (3, 'n', 16, 'FLAT_QUADS')
    >>> output_options(source, 3, {"rdf_star": True}).version
    2
    """
    if isinstance(given, StreamOptions):
        known = version or 0 if source is None else min(source.version, ROW_VERSION)
        return given if given.version or not known else given.replace(version=known)
    given = dict(given or {})
    if source is None:
        if "logical_type" in given and "physical_type" not in given:
            arity = 2 + physical_for(StreamOptions(logical_type=given["logical_type"]), arity)
        default = default_options(arity, grouped)
        return changed(default if version is None else default.replace(version=version), given)
    if star and source.version in (0, COLUMN_VERSION):
        given = {"version": ROW_VERSION, **given}
    changes: dict[str, Any] = {"max_name_table_size": max(source.max_name_table_size, MIN_NAME_TABLE)}
    if source.version == COLUMN_VERSION:
        changes["rdf_version"] = ""  # what the statements need
        wants_rows = given.get("rdf_star") or given.get("generalized_statements")
        if "version" not in given and (wants_rows or given.get("physical_type") == PhysicalType.GRAPHS):
            changes["version"] = ROW_VERSION  # only rows have these
    if flat:
        default = default_options(4 if source.physical_type > PhysicalType.TRIPLES else arity)
        changes |= {"physical_type": default.physical_type, "logical_type": default.logical_type}
    return changed(source.replace(**changes), given)


def options_like(given: Any, source: Any) -> Any:
    """The options that the caller of a writer has given, or Jelly-RDF 1.2 where they leave it open and ``source``, the
    options of the first thing written, are of it."""
    if not is_columns(source) or isinstance(given, StreamOptions) or "version" in (given or ()):
        return given
    fields = dict(given or {})
    return fields | {"version": output_options(source, 3, fields).version}


def join_options(options: Iterable[StreamOptions]) -> StreamOptions:
    """Options for one stream after another: those of the first, as wide as any announces.

    >>> triples, quads = StreamOptions(physical_type=1, logical_type=1), StreamOptions(physical_type=2, rdf_star=True)
    >>> joined = join_options([triples, quads])
    >>> joined.physical_type.name, joined.logical_type.name, joined.rdf_star
    ('QUADS', 'FLAT_QUADS', True)
    """
    first, *others = options
    for other in others:
        changes: dict[str, Any] = {}
        if first.physical_type == PhysicalType.TRIPLES and other.physical_type > PhysicalType.TRIPLES:
            changes["physical_type"] = PhysicalType.QUADS
        if not first.max_datatype_table_size and other.max_datatype_table_size:
            changes["max_datatype_table_size"] = DATATYPES
        if first.version != COLUMN_VERSION:
            for name in _FLAGS:
                changes[name] = getattr(first, name) or getattr(other, name)
            changes["version"] = max(first.version, min(other.version, ROW_VERSION))
        first = changed(first, changes)
    return first


# ---- what Batches need


def late_error(fields: Mapping[str, Any], advice: str) -> LateError:
    """The error for some missing fields, with the advice what to give."""
    nouns = " and ".join(_NOUNS[name] for name in fields)
    return LateError(f"{nouns} turned up after stream options that allow none were written: {advice}", fields)


def open_fields(options: StreamOptions | PatchOptions | Mapping[str, Any] | None) -> frozenset[str]:
    """The fields that the caller of a writer has left open; the fields of a mapping are chosen."""
    if options is None:
        return ALL_FIELDS
    if isinstance(options, Mapping):
        return ALL_FIELDS - options.keys() - ({"physical_type"} if "logical_type" in options else set())
    fields = ("version", "physical_type") if isinstance(options, StreamOptions) else ()
    return frozenset(name for name in fields if not getattr(options, name))


def missing(options: StreamOptions | PatchOptions, batch: Batch, allowed: frozenset[str]) -> dict[str, Any]:
    """The fields, with the values, that the Batch needs and the options lack; only ``allowed`` ones."""
    if allowed and is_columns(options):
        # Of the flags columns have none: what would need them is an error, which names its term.
        allowed = allowed - _FLAGS
    if not allowed:
        return {}
    found = lacking(options, batch)
    if found:  # which is rare
        found = {name: value for name, value in found.items() if name in allowed}
    if not options.max_datatype_table_size and _DATATYPES in allowed and (batch.kind == int(Kind.TYPED)).any():
        found.setdefault(_DATATYPES, DATATYPES)
    return found


def changed(base: Options, options: Mapping[str, Any]) -> Options:
    """The options with some fields changed; where the physical type is, a logical type that goes with it.

    JellyArgumentError for a field that they do not have.
    """
    if not options:
        return base
    refuse_unknown(options, [field.name for field in fields(base)], type(base).__name__)
    changes = dict(options)
    if isinstance(base, StreamOptions) and "physical_type" in changes and "logical_type" not in changes:
        wanted = StreamOptions(physical_type=changes["physical_type"]).physical_type  # which may be given by its name
        triples = wanted == PhysicalType.TRIPLES
        other = _TRIPLES_OF if triples else _QUADS_OF
        if triples != (base.physical_type == PhysicalType.TRIPLES):
            kind = base.logical_type
            changes["logical_type"] = other.get(kind, other.get(kind.base, LogicalType.UNSPECIFIED))
    return base.replace(**changes)


class _Memory:
    """Output of a `WideningEncoder` that stays in memory."""

    label = ""
    can_restart = True

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._sink = self

    def write(self, data: bytes, cuts: Iterable[int] = ()) -> None:
        self.parts.append(data)

    @contextlib.contextmanager
    def _restarted(self) -> Iterator[bytes]:
        whole, self.parts = b"".join(self.parts), []
        yield whole


class WideningEncoder:
    """An encoder, made by ``make``, whose ``allowed`` options become as wide as the Batches need.

    ``writer`` is what its bytes are written to.
    """

    def __init__(
        self,
        options: StreamOptions | PatchOptions,
        make: Callable[[Any], Any],
        allowed: frozenset[str],
        writer: SinkWriter | _Memory,
    ) -> None:
        self.allowed = allowed
        self._make = make
        # A writer that is forgotten must go away by itself, and it holds this encoder.
        self._writer: Any = weakref.proxy(writer)
        self._encoder: Encoder = make(options)
        self._is_fresh = True  # nothing was encoded
        self._is_kept = False  # frames of Batches were kept

    @property
    def options(self) -> Any:
        """The options so far."""
        return self._encoder.options

    def encode(self, batch: Batch, keep_frames: bool | None = None) -> bytes:
        """Encode a Batch, see `Encoder.encode`. LateError where it needs what cannot be had any more."""
        self.prepare([batch])
        return self.encode_prepared(batch, keep_frames)

    def encode_prepared(self, batch: Batch, keep_frames: bool | None = None) -> bytes:
        """Encode a Batch that `prepare` has seen."""
        self._is_fresh = False
        self._is_kept = self._is_kept or bool(keep_frames and (len(batch.frames) or batch.metadata))
        return self._encoder.encode(batch, keep_frames)

    def prepare(self, batches: Iterable[Batch]) -> None:
        """Make the options as wide as some Batches need that come next."""
        options = self.options
        changes: dict[str, Any] = {}
        for batch in batches:
            changes |= missing(options, batch, self.allowed)
            options = changed(self.options, changes)
        if changes and self._is_fresh:
            self._encoder = self._make(options)
        elif changes:
            self._start_anew(options, changes)

    def close(self) -> bytes:
        """End the stream."""
        return self._encoder.close()

    def settle(self) -> bytes:
        """Encode all that was given, for the errors that it comes to: threads may still be at it."""
        if hasattr(self._encoder, "wait"):
            self._encoder.wait()
        return b""

    def cuts(self) -> list[int]:
        """Where frames of a compressed file may begin, see `StreamEncoder.cuts`."""
        cuts: list[int] = getattr(self._encoder, "cuts", list)()
        return cuts

    def choose(self, **changes: Any) -> None:
        """Change options before anything is encoded."""
        self._encoder = self._make(self.options.replace(**changes))

    def _start_anew(self, options: Any, changes: Mapping[str, Any]) -> None:
        """Write all that was written again with other options."""
        old, writer = self._encoder, self._writer
        patch = isinstance(options, PatchOptions)
        # What was written of a patch cannot be read if it must end with its frame or is in a frame without a length.
        is_frame = patch and options.stream_type == PatchStreamType.FRAME
        held = patch and (not old.delimited or (is_frame and old.place % 4))
        if not writer._sink.can_restart or held:
            advice = ", ".join(f"{name!r}: {getattr(value, 'name', value)!r}" for name, value in changes.items())
            late = late_error(changes, f"give options={{{advice}}}{'' if held else ', or a path as the destination'}")
            late.source = writer.label or None
            raise late
        # Frames without a meaning are cut anew, so that it does not matter when the need turned up.
        is_free = not (patch or options.is_grouped or self._is_kept)
        is_open = old.is_open
        writer._sink.write(old.cut())
        with writer._restarted() as written:
            self._encoder = new = self._make(options)
            limits: dict[str, Any] = dict.fromkeys(TABLES.values(), MAX_TABLE_SIZE)
            decoder = Decoder(patch=patch, max_frame_bytes=NO_LIMIT, **limits)
            decoder.quiet = True
            # This package wrote the file, so it may be read however well it is compressed.
            batches = drain(decoder, Source(written, NO_LIMIT).chunks(), finish=not patch)
            for batch, after in pairwise(chain(batches, [None])):
                again = new.encode(batch, False) if is_free else new.repeat(batch, open_end=is_open and after is None)
                writer._sink.write(again, self.cuts())


def stream_of(batches: Iterable[Batch], options: Any, allowed: frozenset[str] = frozenset(), **framing: Any) -> bytes:
    """Some Batches as a stream whose ``allowed`` options become as wide as the Batches need.

    It has one frame without a length, unless ``framing``, which are keywords of the `Encoder`, says otherwise.
    """
    memory = _Memory()
    make = partial(Encoder, **{"frame_rows": 0, "delimited": False, **framing})
    encoder = WideningEncoder(options, make, allowed, memory)
    for batch in batches:
        memory.write(encoder.encode(batch, keep_frames=False))
    memory.write(encoder.close())
    return b"".join(memory.parts)


# ---- writers

# Python objects that are collected before the first Batch decides the options that are open, and maximum rows of the
# Batches after it: with the texts of their objects small enough for the caches.
COLLECT_ROWS, LATER_ROWS = 8192, 4096


class ItemWriter(SinkWriter):
    """Base of classes that write items of any content. Items become rows in a collector, and these become Batches."""

    content = Content.STATEMENTS
    format: Format
    _framing: Framing
    _workers: Workers | None = None
    _encoder: Any = None
    _collector: Any = None
    _pending = 0  # number of frames that ended in the collector

    @contextlib.contextmanager
    def _opening(self, dst: Any, given: dict[str, Any], *, keyframes: bool = False) -> Iterator[None]:
        """Open the destination, find its format, and take the keywords of frames and threads out of those given.

        With ``keyframes`` it is seekable even if ``seekable`` is not given. An error in here leaves no file.
        """
        seekable = given.pop("seekable", None)
        if seekable is None:
            able = given.get("delimited", True) and can_have_index(dst)
            seekable = able and find(given.get("format"), name_of(dst), content=self.content) in (JELLY, JELLY_PATCH)
        rows = given.pop("keyframe_rows", FILTERED_ROWS if keyframes else KEYFRAME_ROWS)
        self._framing = Framing(
            frame_rows=given.pop("frame_rows", None),
            frame_bytes=given.pop("frame_bytes", 1_000_000),
            delimited=given.pop("delimited", True),
            keyframe_rows=rows if seekable or keyframes else 0,
        )
        threads = given.pop("threads", 1)
        if threads != 1:
            from jelly._bytes.workers import Workers  # which takes some time to import

            if not isinstance(threads, Workers):
                self._own = threads = Workers(threads)
            self._workers = threads if threads.threads > 1 else None
        self._sink = Sink(dst, seekable=self._framing["keyframe_rows"] > 0, workers=self._workers)
        try:
            self.format = self._find(given.pop("format", None))
            if self._sink.is_text and not (self.format is JELLY and self._framing["delimited"]):
                raise JellyArgumentError("text is the form of Jelly with delimited frames only")
            yield
        except BaseException:
            self.abort()
            raise

    def _find(self, format: str | None) -> Format:
        return find(format, self._sink.name, content=self.content)

    def _maker(self, **settings: Any) -> Callable[[Any], Any]:
        """A function that makes an encoder with some stream options. It does not refer to this writer, which would
        else never be freed."""
        return partial(_open_encoder, self.format, self._workers, settings | {"framing": self._framing})

    def __repr__(self) -> str:
        where = f" to {self.label}" if self.label else ""
        return f"<{type(self).__module__}.{type(self).__name__}{where}: {self.format.title}>"

    @property
    def options(self) -> Any:
        """The stream options in use, or None for formats without them and before the first row."""
        return getattr(self._encoder, "options", None)

    def _cuts(self) -> Iterable[int]:
        return self._encoder.cuts() if isinstance(self._encoder, WideningEncoder) else ()

    @one_thread
    def _flush(self) -> None:
        """Encode the rows that wait in the collector."""
        self._pending = 0
        if self._collector is not None:
            self._collector.lend(self._encode)

    def _encode(self, batch: Batch) -> None:
        raise NotImplementedError

    def flush(self) -> None:
        """Write all frames, or lines of text, that have ended so far."""
        self._flush()
        if self._sink.is_live:
            self._sink.flush()

    def _finish(self) -> None:
        self._flush()
        self._put(self._encoder.close)

    def abort(self) -> None:
        """Stop writing and remove the unfinished file."""
        self._collector = None
        super().abort()


def _open_encoder(format: Format, workers: Workers | None, settings: dict[str, Any], options: Any) -> Any:
    """Make an encoder, which uses several threads where it can."""
    if workers is None:
        return format.open_writer(options, **settings)
    from jelly._streams.encoders import BatchesInOrder, SegmentEncoder, can_have_segments

    framing = settings["framing"]
    if format in (JELLY, JELLY_PATCH) and can_have_segments(options, framing):
        return SegmentEncoder(options, framing, workers, filters=settings.get("filters", False))
    encoder = format.open_writer(options, **settings)
    return BatchesInOrder(encoder, workers) if isinstance(encoder, TextWriter) else encoder
