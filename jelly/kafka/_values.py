"""What a value may be, and its way to a frame: objects are collected in Batches, and Batches encoded as frames."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np

from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._core.jelly.encoder import Encoder
from jelly._core.rules.needs import lacking
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._core.terms.model import IRI, AnyTerm, BlankNode, Literal, Quad, QuotedTriple, Triple, Variable
from jelly._core.terms.operations import Operation
from jelly._core.terms.term_adapter import TermAdapter
from jelly._options.options import (
    COLUMN_VERSION,
    LogicalType,
    PatchStreamType,
    PhysicalType,
    StatementType,
    StreamOptions,
)
from jelly._streams.output_options import is_columns
from jelly._streams.reader import Frame
from jelly._streams.widening import changed, missing, open_fields
from jelly._streams.writer import arity_of, refuse_read
from jelly.errors import JellyArgumentError, JellyOptionsError
from jelly.messages._message import Message
from jelly.patch._patch import Patch
from jelly.patch._stream import PatchWriter

__all__ = ["ValueEncoder", "is_patch"]

# Statements collected for several values before they are encoded: their terms stay in the caches.
ROWS = 4096
# A value with more statements has the usual tables, others small ones.
LARGE = 100
# More than the rows of any value.
ALL = 1 << 40

_SMALL, _USUAL = StreamOptions.small(), StreamOptions()
_TABLES = ("max_name_table_size", "max_prefix_table_size", "max_datatype_table_size")
_TERMS = (IRI, BlankNode, Literal, QuotedTriple, Variable, AnyTerm)
_ARITIES = {Triple: 3, Quad: 4}
_EXPECTED = "expected a graph, a dataset, statements, a Batch, a Frame, a Message, a patch, or None"

Namespaces = Iterable[tuple[str, str]]


def is_patch(value: Any) -> bool:
    """Whether a value is a patch. An iterator is not looked into."""
    if isinstance(value, list | tuple):
        return bool(value) and isinstance(value[0], Operation)
    return isinstance(value, Patch | Operation) or (isinstance(value, Batch) and value.op is not None)


class _Collector:
    """A BatchBuilder for values of one kind, with the places of its frames in the result."""

    def __init__(self, library: TermAdapter | None, arity: int, grouped: bool, encoder: Encoder) -> None:
        self.builder = BatchBuilder(4, library=library)
        self.arity = arity
        self.grouped = grouped
        self.encoder = encoder  # for small values that need nothing more
        self.places: list[int] = []
        self.longest = 0  # statements of the longest value


class ValueEncoder:
    """Encodes values, each to one frame that is a stream of its own. After an error it cannot be used any more."""

    def __init__(self, options: StreamOptions | Mapping[str, Any] | None, namespaces: bool) -> None:
        if options is not None and not isinstance(options, StreamOptions | Mapping):
            raise JellyArgumentError(f"options must be StreamOptions, not {type(options).__name__}")
        self._was_patch = False  # a value of this call
        self._given = options
        self._namespaces = namespaces
        self._allowed = open_fields(options)
        self._collectors: dict[tuple[int, bool, str], _Collector] = {}
        self._encoders: dict[Any, Encoder] = {}
        self._known: dict[tuple[int, bool, bool], StreamOptions] = {}
        self._adapters: dict[str, TermAdapter] = {}
        if isinstance(options, Mapping):
            changed(StreamOptions(), options)  # checks their names

    def encode(self, values: list[Any] | Batch) -> list[bytes | None]:
        """The frames of some values, or of the frames of a Batch."""
        if isinstance(values, Batch):
            return self._frames(values)
        made: list[bytes | None] = [None] * len(values)
        place = 0
        while place < len(values):
            value = values[place]
            # Most values are such lists, and Python takes as long for some calls as the core for a value.
            if type(value) is list and 0 < len(value) <= LARGE and (kind := type(value[0])) in _ARITIES:
                key = (_ARITIES[kind], False, "")
                collector = self._collectors.get(key) or self._collector(*key)
                end = collector.builder.extend_frames(values, place, kind, LARGE, ROWS)
                collector.places += range(place, end)
                place = end
                if len(collector.builder) >= ROWS:
                    self._flush(collector, made)
                continue
            if value is not None:
                self._put(value, place, made)
            place += 1
        for collector in self._collectors.values():
            if collector.places:
                self._flush(collector, made)
        return made

    def encode_one(self, value: Any) -> tuple[bytes, bool]:
        """The frame of a value, and whether it is a patch."""
        self._was_patch = False
        frame = self.encode([value])[0]
        assert frame is not None
        return frame, self._was_patch

    # ---- values

    def _put(self, value: Any, place: int, made: list[bytes | None]) -> None:
        if type(value) is list:
            self._put_statements(value, place, made)
        elif isinstance(value, Batch):
            made[place] = self._batch(value)
        elif isinstance(value, Patch | Operation):
            made[place] = self._patch([value])
        elif isinstance(value, Frame | Message):
            self._collect(value, place, made, True, value.namespaces, value.metadata)
        elif isinstance(value, Triple | Quad) or (isinstance(value, tuple) and self._is_statement(value)):
            self._put_statements([value], place, made)
        elif isinstance(value, str | bytes | bytearray | memoryview):
            raise JellyArgumentError(f"a value is of type {type(value).__name__}: {_EXPECTED}")
        elif "rdflib" in sys.modules and isinstance(value, sys.modules["rdflib"].Graph):
            self._put_graph(value, place, made)
        else:
            self._put_statements(value, place, made)

    def _is_statement(self, value: tuple[Any, ...]) -> bool:
        return len(value) in (3, 4) and (isinstance(value[0], _TERMS) or self._library(value) == "rdflib")

    def _library(self, statement: Any) -> str:
        """The library of a statement's terms, "" for this one."""
        if type(statement) is Triple or type(statement) is Quad:
            return ""
        if type(statement).__module__ == "pyoxigraph":
            return "pyoxigraph"
        rdflib = sys.modules.get("rdflib")
        if rdflib is None or not isinstance(statement, tuple) or not statement:
            return ""
        return "rdflib" if isinstance(statement[0], rdflib.term.Node) else ""

    def _put_statements(self, value: Any, place: int, made: list[bytes | None]) -> None:
        try:
            iterator = iter(value)
        except TypeError:
            raise JellyArgumentError(f"a value is of type {type(value).__name__}: {_EXPECTED}") from None
        for first in iterator:
            if isinstance(first, Operation):
                made[place] = self._patch(chain([first], iterator))
            elif (library := self._library(first)) == "pyoxigraph":
                from jelly.oxigraph import batches_of

                made[place] = self._batch(join_batches(list(batches_of(chain([first], iterator)))))
            else:
                self._collect(iterator, place, made, False, library=library, first=first)
            return
        self._collect((), place, made, False)

    def _put_graph(self, graph: Any, place: int, made: list[bytes | None]) -> None:
        from jelly.rdflib._writing import _statements

        quads = isinstance(graph, sys.modules["rdflib"].ConjunctiveGraph)
        namespaces = [(name, str(iri)) for name, iri in graph.namespaces()] if self._namespaces else ()
        self._collect(
            _statements(graph, quads), place, made, True, namespaces, library="rdflib", arity=4 if quads else 3
        )

    def _collect(
        self,
        statements: Iterable[Any],
        place: int,
        made: list[bytes | None],
        grouped: bool,
        namespaces: Namespaces = (),
        metadata: Mapping[str, bytes] | None = None,
        *,
        library: str = "",
        first: Any = None,
        arity: int = 0,
    ) -> None:
        """Add a value to the Batch of those of its kind. ``first`` is a statement before the others."""
        iterator = iter(statements)
        if first is None:
            first = next(iterator, None)
        if not library and first is not None:
            library = self._library(first)
        arity = arity or (3 if first is None else arity_of(first))
        collector = self._collector(arity, grouped, library)
        builder = collector.builder
        before = len(builder)
        if self._namespaces:
            for name, iri in namespaces:
                builder.namespace(name, iri)
        if first is not None:
            builder.add(first)
            builder.extend(iterator, ALL)
            refuse_read(iterator, collector.encoder.options.version)
        builder.end_frame(metadata)
        rows = len(builder)
        collector.longest = max(collector.longest, rows - before)
        collector.places.append(place)
        if rows >= ROWS:
            self._flush(collector, made)

    def _collector(self, arity: int, grouped: bool, library: str) -> _Collector:
        key = (arity, grouped, library)
        if key not in self._collectors:
            encoder = self._made((arity, grouped, False), self._options(arity, grouped, False))
            self._collectors[key] = _Collector(self._adapter(library), arity, grouped, encoder)
        return self._collectors[key]

    def _adapter(self, library: str) -> TermAdapter | None:
        if not library:
            return None
        if library not in self._adapters:
            from jelly.rdflib._terms import term_adapter

            self._adapters[library] = term_adapter()
        return self._adapters[library]

    # ---- Batches

    def _flush(self, collector: _Collector, made: list[bytes | None]) -> None:
        collector.builder.lend(lambda batch: self._encode(batch, collector, made))

    def _encode(self, batch: Batch, collector: _Collector, made: list[bytes | None]) -> None:
        encoder = collector.encoder
        if collector.longest > LARGE or lacking(encoder.options, batch):
            encoder = self._encoder(batch, collector.arity, collector.grouped, collector.longest > LARGE)
        frames = encoder.encode_frames(batch, True)
        if len(frames) != len(collector.places):
            raise _too_many(len(collector.places), len(frames))
        for place, frame in zip(collector.places, frames, strict=True):
            made[place] = frame
        collector.places.clear()
        collector.longest = 0

    def _batch(self, batch: Batch) -> bytes:
        """A Batch as one frame."""
        if batch.op is not None:
            return self._patch(batch)
        grouped = batch.options is not None and batch.options.is_grouped
        encoder = self._encoder(batch, batch.arity, grouped, len(batch) > LARGE)
        frames = encoder.encode_frames(batch, False) + encoder.close_frames()
        if len(frames) > 1:
            raise _too_many(1, len(frames))
        # A Batch without statements makes no frame.
        return frames[0] if frames else self._frame_of_nothing(batch.arity, grouped)

    def _frames(self, batch: Batch) -> list[bytes | None]:
        """The frames of a Batch."""
        ends = batch.frames
        if batch.op is not None:
            raise JellyArgumentError("a Batch of patches is one value: give a list of Patch, or of Batches")
        if len(batch) and (not len(ends) or ends[-1] != len(batch)):
            raise JellyArgumentError(
                f"each frame of the Batch is a value, but the last of its {len(ends)} frames does not end with it"
            )
        grouped = batch.options is not None and batch.options.is_grouped
        longest = int(np.diff(ends, prepend=0).max(initial=0))
        encoder = self._encoder(batch, batch.arity, grouped, longest > LARGE)
        frames = encoder.encode_frames(batch, True)
        if len(frames) != len(ends):
            raise _too_many(len(ends), len(frames))
        return list(frames)

    def _frame_of_nothing(self, arity: int, grouped: bool) -> bytes:
        encoder = Encoder(self._options(arity, grouped, False), delimited=False)
        return encoder.close()

    def _encoder(self, batch: Batch, arity: int, grouped: bool, large: bool) -> Encoder:
        """An encoder whose options allow a Batch."""
        options = self._options(arity, grouped, large)
        key: Any = (arity, grouped, large)
        if "version" in self._allowed and is_columns(batch.options):
            options = options.replace(version=COLUMN_VERSION)
            key = (*key, COLUMN_VERSION)
        if changes := missing(options, batch, self._allowed):
            if not self._namespaces:
                changes.pop("version", None)
            options = changed(options, changes)
            key = (*key, *changes.items())
        return self._made(key, options)

    def _made(self, key: Any, options: StreamOptions) -> Encoder:
        encoder = self._encoders.get(key)
        if encoder is None:
            encoder = self._encoders[key] = Encoder(
                options, frame_rows=0, frame_bytes=0, independent=True, skip_namespaces=not self._namespaces
            )
        return encoder

    def _options(self, arity: int, grouped: bool, large: bool) -> StreamOptions:
        """The options of a value whose statements need no others."""
        key = (arity, grouped, large)
        if (known := self._known.get(key)) is not None:
            return known
        triples = arity == 3
        physical = PhysicalType.TRIPLES if triples else PhysicalType.QUADS
        if isinstance(self._given, StreamOptions):
            made = self._given
            if made.physical_type == PhysicalType.UNSPECIFIED:
                made = made.replace(physical_type=physical)
        else:
            flat, group = (
                (LogicalType.FLAT_TRIPLES, LogicalType.GRAPHS)
                if triples
                else (LogicalType.FLAT_QUADS, LogicalType.DATASETS)
            )
            base = _USUAL if large else _SMALL
            made = changed(
                base.replace(physical_type=physical, logical_type=group if grouped else flat), self._given or {}
            )
        if made.version == 0:
            made = made.replace(version=2 if self._namespaces else 1)
        self._known[key] = made
        return made

    # ---- patches

    def _patch(self, value: Batch | Iterable[Any]) -> bytes:
        """A patch as one frame."""
        self._was_patch = True
        if isinstance(value, Batch):
            quads, large = value.arity == 4, len(value) > LARGE
        else:
            value = list(value)
            patches = [item for item in value if isinstance(item, Patch)]
            if patches and len(value) > 1:
                raise JellyArgumentError(f"a value is one patch, these are {len(value)}")
            quads = not patches or patches[0].quads
            large = (len(patches[0]) if patches else len(value)) > LARGE
        given = self._given or {}
        options: dict[str, Any] = {
            "stream_type": PatchStreamType.FRAME,
            "statement_type": StatementType.QUADS if quads else StatementType.TRIPLES,
        }
        for name in _TABLES:
            if isinstance(given, StreamOptions):
                options[name] = getattr(given, name)
            else:
                options[name] = given.get(name, getattr(_USUAL if large else _SMALL, name))
        out = io.BytesIO()
        with PatchWriter(out, options, frame_rows=0, frame_bytes=0, delimited=False) as writer:
            if isinstance(value, Batch):
                writer.add_batch(value)
            else:
                for item in value:
                    if isinstance(item, Patch):
                        writer.write(item)
                    else:
                        writer.add(item)
        return out.getvalue()


def _too_many(values: int, frames: int) -> JellyOptionsError:
    """The error for a frame of Jelly-RDF 1.2 that ended because a table was full: its entries stay until it ends."""
    return JellyOptionsError(
        f"each value is one frame, and {values} of them in Jelly-RDF 1.2 took {frames}: a table is too small, give "
        "larger max_name_table_size, max_prefix_table_size and max_datatype_table_size, or smaller values"
    )
