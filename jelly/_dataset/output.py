"""What all verbs share: Batches of sources, and the output that they write."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from jelly._bytes.names import name_of
from jelly._bytes.source import Progress
from jelly._core.base.batch import Batch
from jelly._core.rules.needs import refuse_quoted
from jelly._dataset.blank_node_scope import Mode
from jelly._dataset.sources import Sources
from jelly._formats.registry import JELLY, TABLE_FORMATS, find
from jelly._options.options import COLUMN_VERSION, ROW_VERSION, PhysicalType, StreamOptions
from jelly._streams.output_options import output_options
from jelly._streams.widening import changed, missing, open_fields
from jelly._streams.writer import Writer
from jelly.errors import JellyArgumentError

__all__ = ["MEMORY", "Input", "Mode", "Options", "write_batches"]

Options = StreamOptions | Mapping[str, Any] | None

# Bytes of memory for what a verb holds, by default.
MEMORY = 1 << 28


class Input:
    """The Batches of sources, and what is known of them when they were read."""

    def __init__(
        self,
        sources: Any,
        blank_nodes: Mode | None,
        skolem_base: str | None,
        progress: Progress | None = None,
        **settings: Any,
    ) -> None:
        self._sources = Sources(sources, blank_nodes, skolem_base, **settings)
        self._progress = progress
        # Stream options of sources of rows and of sources of columns that have quoted triples, unless `star=` is given.
        self._quoted: dict[bool, StreamOptions] = {}
        self._asks = settings.get("star") is None
        self.rows = 0
        self.has_graphs = False
        self.has_quads = False  # a Jelly stream of quads, whose statements need not name a graph
        self.options: StreamOptions | None = None  # of the first source, if it is Jelly
        self._is_read = False
        self.namespaces: dict[str, str] = {}

    def batches(self) -> Iterator[Batch]:
        """The Batches of all sources, one after the other."""
        return self._watched(self._sources.batches())

    def each(self) -> list[tuple[str, Iterator[Batch]]]:
        """The name and the Batches of each source."""
        return [
            (name_of(source) or f"source {number}", self._watched(self._sources.of(number)))
            for number, source in enumerate(self._sources.each)
        ]

    def refuse_quoted(self, batch: Batch, version: int) -> None:
        """Raise JellyOptionsError for a Batch whose quoted triples Jelly of this version would change, see `star=`."""
        refuse_quoted(batch, self._quoted.get(version != COLUMN_VERSION), version)

    def _watched(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        for batch in batches:
            self.rows += len(batch)
            read = batch.options
            if not self._is_read:
                self._is_read, self.options = True, read
            self.has_quads = self.has_quads or (read is not None and read.physical_type > PhysicalType.TRIPLES)
            if self._asks and batch.options is not None and len(batch.quoted):
                self._quoted[batch.options.version == COLUMN_VERSION] = batch.options
            if batch.g is not None and not self.has_graphs:
                self.has_graphs = bool((batch.g >= 0).any())
            for _, _, name, iri in batch.namespaces:
                self.namespaces[name] = iri
            yield batch
            del batch  # before the next one takes memory
            if self._progress is not None:
                self._progress(0, None, self.rows)


def write_batches(
    out: Any,
    batches: Iterable[Batch],
    source: Input,
    *,
    known: bool = False,
    keep_frames: bool = False,
    to_format: str | None = None,
    options: Options = None,
    seekable: bool = False,
    **writing: Any,
) -> int:
    """Write Batches and return the number of statements. The output gets its name when it is complete.

    ``known`` tells that all sources were read when the first Batch comes: then the stream options follow from what
    they have. Else those of a file follow what is written, and a pipe announces all that may come. With
    ``keep_frames`` the Batches have namespaces and frames of their own, which are kept as `jelly.convert` does.
    """
    name = os.fspath(out) if isinstance(out, str | os.PathLike) else getattr(out, "name", "")
    is_path = isinstance(out, str | os.PathLike) and os.fspath(out) != "-"
    format = find(to_format, name if isinstance(name, str) else "", tables=True)
    if format.name in TABLE_FORMATS:
        return _write_table(out, format.name, batches, {"options": options, "seekable": seekable, **writing})
    iterator = iter(batches)
    first = next(iterator, None)
    allowed = open_fields(options)
    if format is JELLY and not isinstance(options, StreamOptions):
        quads = (source.has_graphs or source.has_quads) if known or first is None else first.arity == 4
        wide: dict[str, Any] = {}
        if not is_path:
            # What is in a pipe cannot be written again: it announces all that may come.
            if not known and first is not None:
                wide["physical_type"], quads = PhysicalType.QUADS, True
            if output_options(source.options, 4, options).version != COLUMN_VERSION:
                wide |= {"rdf_star": True, "generalized_statements": True, "version": ROW_VERSION}
        given = wide | dict(options or {})
        options = output_options(source.options, 4 if quads else 3, given, flat=not keep_frames)
        allowed -= wide.keys()
        if first is not None:
            options = changed(options, missing(options, first, allowed))
    version = options.version if isinstance(options, StreamOptions) else 0
    with Writer(out, options, format=to_format, seekable=seekable, **writing) as writer:
        writer.allow(allowed)
        declared: dict[str, str] = {}
        for batch in chain([] if first is None else [first], iterator):
            first = None
            if format is JELLY:
                source.refuse_quoted(batch, version)
            if keep_frames:
                writer.add_batch(batch, keep_frames=True if batch.metadata else None)
                del batch  # before the next one takes memory
                continue
            if format.namespaces and declared != source.namespaces:
                for prefix, iri in source.namespaces.items():
                    if declared.get(prefix) != iri:
                        writer.namespace(prefix, iri)
                declared = dict(source.namespaces)
            writer.add_batch(batch)
            del batch
    return writer.statements


def _write_table(out: Any, kind: str, batches: Iterable[Batch], settings: Mapping[str, Any]) -> int:
    for name, given in settings.items():
        if given:
            raise JellyArgumentError(f"{name}= does not go with tables")
    from jelly._formats.arrow_tables import from_batches
    from jelly._formats.table_files import write_table_file

    return write_table_file(out, from_batches(batches), kind=kind)
