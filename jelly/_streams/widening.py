"""Encoders of Jelly whose options are chosen by what the Batches hold.

A stream says at its start what it may hold, and inputs show it late. The first Batch decides the options that the
caller left open. If a later Batch needs more, a file that does not have its name yet is written again with wider
options, from what was written so far, and so is what is still in memory. What went to a pipe or a file object cannot be
taken back: there it is a `LateError`, which names the options to give.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields
from functools import partial
from itertools import chain, pairwise
from typing import Any

from jelly._bytes.sink import SinkWriter
from jelly._bytes.source import Source
from jelly._core.base.batch import Batch
from jelly._core.base.kinds import Kind
from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.encoder import Encoder
from jelly._core.rules.needs import lacking
from jelly._options.options import (
    COLUMN_VERSION,
    MAX_TABLE_SIZE,
    LogicalType,
    Options,
    PatchOptions,
    PatchStreamType,
    PhysicalType,
    StreamOptions,
)
from jelly._options.settings import refuse_unknown
from jelly._streams.drain import drain
from jelly.errors import LateError

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


def missing(options: StreamOptions | PatchOptions, batch: Batch, allowed: AbstractSet[str]) -> dict[str, Any]:
    """The fields, with the values, that the Batch needs and the options lack; only ``allowed`` ones."""
    if allowed and isinstance(options, StreamOptions) and options.version == COLUMN_VERSION:
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
        allowed: AbstractSet[str],
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
            limits: dict[str, Any] = dict.fromkeys(("max_names", "max_prefixes", "max_datatypes"), MAX_TABLE_SIZE)
            decoder = Decoder(patch=patch, max_frame_bytes=NO_LIMIT, **limits)
            decoder.quiet = True
            # This package wrote the file, so it may be read however well it is compressed.
            batches = drain(decoder, Source(written, NO_LIMIT).chunks(), finish=not patch)
            for batch, after in pairwise(chain(batches, [None])):
                again = new.encode(batch, False) if is_free else new.repeat(batch, open_end=is_open and after is None)
                writer._sink.write(again, self.cuts())


def stream_of(batches: Iterable[Batch], options: Any, allowed: AbstractSet[str] = frozenset(), **framing: Any) -> bytes:
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
