"""Values of any kind to bytes: objects are collected in Batches, and Batches encoded, a frame for each value."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._core.jelly.encoder import Encoder
from jelly._core.rules.needs import lacking
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._core.terms.model import IRI, AnyTerm, BlankNode, Literal, QuotedTriple, Variable
from jelly._core.terms.operations import Operation
from jelly._core.terms.statements import Quad, Triple
from jelly._formats.registry import JELLY, JELLY_PATCH
from jelly._options.options import (
    COLUMN_VERSION,
    TABLES,
    PatchOptions,
    PatchStreamType,
    PhysicalType,
    StatementType,
    StreamOptions,
)
from jelly._options.settings import checked
from jelly._streams.outputs import ALL_FIELDS, changed, is_columns, missing, open_fields, output_options, stream_of
from jelly._streams.reader import Framed
from jelly._streams.writer import ARITIES, arity_of, refuse_read
from jelly.errors import JellyArgumentError, JellyError, JellyOptionsError
from jelly.kafka._clients import known_to_clients, serialization_error, set_headers
from jelly.kafka._compression import Compression, Shared, packer
from jelly.patch._patch import Patch

# Values that are encoded together by `serialize_many`, at most.
TOGETHER = 1024
# Statements collected for several values before they are encoded: their terms stay in the caches.
ROWS = 4096
# A value with more statements has the usual tables, others small ones.
LARGE = 100
# More than the rows of any value.
ALL = 1 << 40

# Of the tables of a value, by whether it is large.
SIZES = {
    large: {name: getattr(base, name) for name in TABLES}
    for large, base in ((False, StreamOptions.small()), (True, StreamOptions()))
}
_TERMS = (IRI, BlankNode, Literal, QuotedTriple, Variable, AnyTerm)
_EXPECTED = "expected a graph, a dataset, statements, a Batch, a Frame, a Message, a patch, or None"


def is_patch(value: Any) -> bool:
    """Whether a value is a patch. An iterator is not looked into."""
    if isinstance(value, list | tuple):
        return bool(value) and isinstance(value[0], Operation)
    return isinstance(value, Patch | Operation) or (isinstance(value, Batch) and value.op is not None)


@dataclass
class _Collector:
    """A BatchBuilder for values of one kind, with the places of its frames in the result."""

    builder: BatchBuilder
    arity: int
    grouped: bool
    encoder: Encoder  # for small values that need nothing more
    places: list[int] = field(default_factory=list)
    longest: int = 0  # statements of the longest value


class ValueEncoder:
    """Encodes values, each to one frame that is a stream of its own. After an error it cannot be used any more."""

    def __init__(self, options: StreamOptions | Mapping[str, Any] | None, namespaces: bool) -> None:
        self._was_patch = False  # a value of this call
        self._given = options
        self._namespaces = namespaces
        self._allowed = open_fields(options)
        self._collectors: dict[tuple[int, bool, str], _Collector] = {}
        self._encoders: dict[Any, Encoder] = {}
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
            if type(value) is list and 0 < len(value) <= LARGE and (kind := type(value[0])) in ARITIES:
                key = (ARITIES[kind], False, "")
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
        """Add a value to the Batch of those of its kind, or encode it."""
        if isinstance(value, Batch):
            made[place] = self._batch(value)
            return
        grouped, arity, library = False, 0, ""
        namespaces: Iterable[tuple[str, str]] = ()
        rdflib = sys.modules.get("rdflib")
        if isinstance(value, Framed):
            grouped, namespaces = True, value.namespaces
        elif isinstance(value, Triple | Quad | Operation | Patch) or (
            isinstance(value, tuple) and self._is_statement(value)
        ):
            value = [value]
        elif isinstance(value, str | bytes | bytearray | memoryview) or not hasattr(value, "__iter__"):
            raise JellyArgumentError(f"a value is of type {type(value).__name__}: {_EXPECTED}")
        elif rdflib is not None and isinstance(value, rdflib.Graph):
            from jelly.rdflib._writing import _statements

            quads = isinstance(value, rdflib.ConjunctiveGraph)
            grouped, arity, library = True, 4 if quads else 3, "rdflib"
            namespaces = ((name, str(iri)) for name, iri in value.namespaces())
            value = _statements(value, quads)
        iterator = iter(value)
        first = next(iterator, None)
        if isinstance(first, Operation | Patch):
            made[place] = self._patch([first, *iterator])
            return
        library = library or self._library(first)
        if library == "pyoxigraph":
            from jelly.oxigraph import batches_of

            made[place] = self._batch(join_batches(list(batches_of(chain([first], iterator)))))
            return
        collector = self._collector(arity or (3 if first is None else arity_of(first)), grouped, library)
        builder = collector.builder
        before = len(builder)
        for name, iri in namespaces if self._namespaces else ():
            builder.namespace(name, iri)
        if first is not None:
            builder.add(first)
            builder.extend(iterator, ALL)
            refuse_read(iterator, collector.encoder.options.version)
        builder.end_frame(getattr(value, "metadata", None))
        collector.longest = max(collector.longest, len(builder) - before)
        collector.places.append(place)
        if len(builder) >= ROWS:
            self._flush(collector, made)

    def _is_statement(self, value: tuple[Any, ...]) -> bool:
        return len(value) in (3, 4) and (isinstance(value[0], _TERMS) or self._library(value) == "rdflib")

    def _library(self, statement: Any) -> str:
        """The library of a statement's terms, "" for this one."""
        if type(statement) in ARITIES:
            return ""
        if type(statement).__module__ == "pyoxigraph":
            return "pyoxigraph"
        rdflib = sys.modules.get("rdflib")
        if rdflib is None or not isinstance(statement, tuple) or not statement:
            return ""
        return "rdflib" if isinstance(statement[0], rdflib.term.Node) else ""

    def _collector(self, arity: int, grouped: bool, library: str) -> _Collector:
        key = (arity, grouped, library)
        if key not in self._collectors:
            adapter = None
            if library:
                from jelly.rdflib._terms import term_adapter

                adapter = term_adapter()
            encoder = self._plain(arity, grouped, False)
            self._collectors[key] = _Collector(BatchBuilder(4, library=adapter), arity, grouped, encoder)
        return self._collectors[key]

    # ---- Batches

    def _flush(self, collector: _Collector, made: list[bytes | None]) -> None:
        def encode(batch: Batch) -> None:
            encoder = collector.encoder
            if collector.longest > LARGE or lacking(encoder.options, batch):
                encoder = self._encoder(batch, collector.arity, collector.grouped, collector.longest)
            frames = _whole(encoder.encode_frames(batch, True), len(collector.places))
            for place, frame in zip(collector.places, frames, strict=True):
                made[place] = frame

        collector.builder.lend(encode)
        collector.places.clear()
        collector.longest = 0

    def _batch(self, batch: Batch) -> bytes:
        """A Batch as one frame."""
        if batch.op is not None:
            return self._patch(batch)
        grouped = batch.options is not None and batch.options.is_grouped
        encoder = self._encoder(batch, batch.arity, grouped, len(batch))
        is_frame = batch.frames.tolist() == [len(batch)]  # which may have metadata
        frames = encoder.encode_frames(batch, is_frame) + ([] if is_frame else encoder.close_frames())
        # A Batch without statements makes no frame.
        return _whole(frames or [stream_of((), self._plain(batch.arity, grouped, False).options)], 1)[0]

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
        encoder = self._encoder(batch, batch.arity, grouped, int(np.diff(ends, prepend=0).max(initial=0)))
        return [*_whole(encoder.encode_frames(batch, True), len(ends))]

    def _encoder(self, batch: Batch, arity: int, grouped: bool, longest: int) -> Encoder:
        """An encoder whose options allow a Batch; its longest value has ``longest`` statements."""
        kind = arity, grouped, longest > LARGE
        plain = self._encoders.get(kind) or self._plain(*kind)
        own = options = plain.options
        if "version" in self._allowed and is_columns(batch.options):
            options = options.replace(version=COLUMN_VERSION)
        if changes := missing(options, batch, self._allowed):
            if not self._namespaces:
                changes.pop("version", None)
            options = changed(options, changes)
        return plain if options is own else self._made((*kind, options), options)

    def _plain(self, *kind: Any) -> Encoder:
        """The encoder of values whose statements need no other options, by their arity, and whether they are grouped
        and large."""
        arity, grouped, large = kind
        made = self._given
        if not isinstance(made, StreamOptions):
            made = output_options(None, arity, SIZES[large] | dict(made or {}), grouped=grouped)
        elif made.physical_type == PhysicalType.UNSPECIFIED:
            made = made.replace(physical_type=arity - 2)
        if made.version == 0:
            made = made.replace(version=2 if self._namespaces else 1)
        return self._made(kind, made)

    def _made(self, key: Any, options: StreamOptions) -> Encoder:
        if key not in self._encoders:
            self._encoders[key] = Encoder(
                options, frame_rows=0, frame_bytes=0, independent=True, skip_namespaces=not self._namespaces
            )
        return self._encoders[key]

    def _patch(self, value: Batch | list[Any]) -> bytes:
        """A patch as one frame."""
        self._was_patch = True
        if isinstance(value, Batch):
            quads, batches = value.arity == 4, [value]
        else:
            if len(value) > 1 and any(isinstance(item, Patch) for item in value):
                raise JellyArgumentError(f"a value is one patch, these are {len(value)}")
            patch = value[0] if isinstance(value[0], Patch) else Patch(value)
            quads, batches = patch.quads, list(patch.batches())
        given = self._given
        sizes = {
            name: given.get(name, size) if isinstance(given, Mapping) else getattr(given, name, size)
            for name, size in SIZES[sum(map(len, batches)) > LARGE].items()
        }
        kind = StatementType.QUADS if quads else StatementType.TRIPLES
        options = PatchOptions(stream_type=PatchStreamType.FRAME, statement_type=kind, **sizes)
        for batch in batches:
            options = changed(options, missing(options, batch, ALL_FIELDS))
        return stream_of(batches, options)


def _whole(frames: list[bytes], values: int) -> list[bytes]:
    """The frames of some values. JellyOptionsError for a frame of Jelly-RDF 1.2 that ended because a table was full:
    its entries stay until it ends."""
    if len(frames) != values:
        raise JellyOptionsError(
            f"each value is one frame, and {values} of them in Jelly-RDF 1.2 took {len(frames)}: a table is too small, "
            "give larger max_name_table_size, max_prefix_table_size and max_datatype_table_size, or smaller values"
        )
    return frames


class JellySerializer:
    """Serialize RDF for Kafka. Call it, or give it to a client.

    A value is a graph or dataset of RDFLib, an iterable of statements of this package, of RDFLib or of pyoxigraph, a
    single statement, a `jelly.Batch`, a `jelly.Frame`, a `jelly.messages.Message`, a `jelly.patch.Patch`, an iterable
    of operations of a patch, or None, which stays None (a tombstone).

    Parameters
    ----------
    options : StreamOptions or mapping, optional
        Options of each value, or some of their fields. By default the tables are small (128 names, 16 prefixes, 16
        datatypes; 4000, 150 and 32 for values of more than 100 statements), graphs, datasets and messages are
        grouped streams and statements flat ones. Patches take the sizes of the tables only.
    namespaces : bool, default False
        Also write the namespaces of graphs, Batches, frames and messages.
    compression : {"gzip", "zstd"}, optional
        Compress each value by itself. By default none: clients compress many values together
        (``compression.type``).
    dictionary : bytes, optional
        Dictionary for zstd, for example of ``zstandard.train_dictionary``. Consumers need the same.
    level : int, optional
        Level of the compression; by default 6 for gzip and 3 for zstd.

    Raises
    ------
    JellyArgumentError
        If an argument is wrong.

    Notes
    -----
    The header ``content-type`` (``application/x-jelly-rdf``, of patches ``application/x-jelly-rdf-patch``) and, of
    compressed values, ``content-encoding`` are set where the client lets a serializer do it: confluent-kafka, if
    ``headers`` are given to ``produce`` (an empty list will do), and kafka-python from 3.0 on. See `headers` for
    others.

    It may be used from several threads.

    Examples
    --------
    >>> import jelly
    >>> serializer = JellySerializer()
    >>> statement = jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))
    >>> jelly.loads(serializer([statement])) == [statement]
    True
    >>> len(serializer.serialize_many([[statement], None, [statement]]))
    3
    """

    @checked()
    def __init__(
        self,
        options: StreamOptions | Mapping[str, Any] | None = None,
        *,
        namespaces: bool = False,
        compression: Compression | None = None,
        dictionary: Any = None,
        level: int | None = None,
    ) -> None:
        self._again = partial(
            JellySerializer, options, namespaces=namespaces, compression=compression, dictionary=dictionary, level=level
        )
        ValueEncoder(options, namespaces)  # checks the options
        self._encode_one = Shared(lambda: ValueEncoder(options, namespaces).encode_one)
        self._encode = Shared(lambda: ValueEncoder(options, namespaces).encode)
        self._pack = packer(compression, dictionary, level)
        encoding = None if compression is None else compression.encode()
        # Of a value of statements, and of a patch.
        self._headers = [
            (("content-type", format.media_type.encode()), ("content-encoding", encoding))
            for format in (JELLY, JELLY_PATCH)
        ]
        known_to_clients(type(self))

    def __call__(self, value: Any, ctx: Any = None) -> bytes | None:
        """Serialize ``value``, see above; a JellySerializationError if that cannot be done.

        The ``headers`` of ``ctx`` are set if it is about a value and has any.
        """
        is_key = getattr(ctx, "field", "value") == "key"
        return self._serialize(value, None if is_key else getattr(ctx, "headers", None))

    def serialize(self, topic: str, *args: Any) -> bytes | None:
        """Serialize a value, as kafka-python calls it: ``topic`` and the value, from version 3.0 on with the headers
        before it, which are set. The topic is not used.
        """
        *headers, value = args
        return self._serialize(value, headers[0] if headers else None)

    def serialize_many(self, values: Iterable[Any] | Batch) -> list[bytes | None]:
        """Serialize many values, which is faster than one by one. The result has their order.

        Values that are encoded together have the same options: those that one of them needs (quoted triples, large
        tables) are announced by all.

        Parameters
        ----------
        values : iterable or Batch
            The values; or a Batch, each frame of which is a value.

        Raises
        ------
        JellySerializationError
            If a value cannot be serialized. None of them is then returned.

        Examples
        --------
        >>> import jelly
        >>> rows = b"<a:s> <a:p> <a:o> .\\n<a:s> <a:p> <a:o> .\\n<a:s> <a:p> <a:o> ."
        >>> [len(jelly.loads(value)) for value in JellySerializer().serialize_many(
        ...     jelly.messages.group(jelly.read(rows, format="nt"), 2))]
        [2, 1]
        """
        made: list[bytes | None] = []
        try:
            for part in _parts(values):
                made += self._encode(part)
        except JellyError as error:
            raise serialization_error(error) from error
        if self._pack is not None:
            made = [None if data is None else self._pack(data) for data in made]
        return made

    def _serialize(self, value: Any, headers: Any) -> bytes | None:
        """The bytes of a value, whose ``headers`` are set."""
        if value is None:
            return None
        made: bytes
        try:
            made, patch = self._encode_one(value)
        except JellyError as error:
            raise serialization_error(error) from error
        if self._pack is not None:
            made = self._pack(made)
        set_headers(headers, self._headers[patch])
        return made

    def headers(self, value: Any = ()) -> list[tuple[str, bytes]]:
        """The headers for a value, for clients in which a serializer cannot set them.

        Parameters
        ----------
        value : Any, optional
            The value. Only patches have others than the rest, and None has none.

        Examples
        --------
        >>> JellySerializer().headers()
        [('content-type', b'application/x-jelly-rdf')]
        """
        if value is None:
            return []
        return [(name, text) for name, text in self._headers[is_patch(value)] if text is not None]

    def __reduce__(self) -> tuple[Any, ...]:
        return self._again, ()

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def _parts(values: Iterable[Any] | Batch) -> Iterable[Any]:
    """The Batch, or lists of some values."""
    if isinstance(values, Batch):
        return [values]
    if not isinstance(values, Iterable):
        raise JellyArgumentError(f"values is {values!r:.80}: expected values to serialize")
    iterator = iter(values)
    return iter(lambda: list(islice(iterator, TOGETHER)), [])
