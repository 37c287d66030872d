"""Codec of the formats of the compiled core: Jelly, N-Triples, N-Quads, RDF Binary of Apache Jena, and patches in them.

We read the RDF Binary that Jena reads with these differences. Jena takes Thrift data that is cut off inside a row for
complete, skips rows that it does not know, cannot read strings above 100 MiB, and makes U+FFFD of bytes that are not
UTF-8: all of that is an error here, or is read. Doubles that are infinite become ``INF``, not Java's ``Infinity``.
REPEAT, of which the documents give no more than the name, is the term that the row before has in the same position: the
last triple, quad or result, with prefixes between or not; a triple is a quad of the default graph. In the first row,
and inside quoted triples, it is an error. RDF Protobuf may also be one ``RDF_Stream`` or ``RDF_Graph``, a whole message
without a length before it: the first bytes show which, if there are no unknown fields; ``message=`` names it.

>>> import io, jelly
>>> out = io.BytesIO()
>>> with jelly.Writer(out, format="thrift", prefixes={"ex": "http://example.org/"}) as writer:
...     writer.add((jelly.IRI("http://example.org/s"), jelly.IRI("http://example.org/p"), jelly.Literal("o")))
>>> out.getvalue()[:30]
b'\\x1c\\x18\\x02ex\\x18\\x13http://example.org/\\x00\\x00,\\x1c'
>>> [str(statement) for statement in jelly.read(out.getvalue(), format="thrift")]
['<http://example.org/s> <http://example.org/p> "o" .']
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from jelly._core.base.batch import Batch
from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.encoder import Encoder
from jelly._core.ntriples.text import TextReader, TextWriter
from jelly._formats.index import INDEX_KEY, pack_index
from jelly._formats.protocols import BatchReader, BatchWriter, Framing
from jelly._formats.registry import JELLY, JELLY_PATCH, NQ, NT, RDF_PATCH, Content, Format
from jelly._options.options import LogicalType, PhysicalType, StreamOptions
from jelly.errors import JellyOptionsError, JellyUnsupportedError

if TYPE_CHECKING:
    from jelly._formats.filters import FilterBuilder

# Bytes of filters and index in a frame of a compressed file.
FILTERS_IN_FRAME = 1 << 18

_IN_FRAMES, _IN_LINES = (JELLY, JELLY_PATCH), (NT, NQ, RDF_PATCH)


@cache
def default_options(arity: int, grouped: bool = False) -> StreamOptions:
    """The default options: flat triples or quads, or groups of them."""
    if arity == 3:
        return StreamOptions(PhysicalType.TRIPLES, LogicalType.GRAPHS if grouped else LogicalType.FLAT_TRIPLES)
    return StreamOptions(PhysicalType.QUADS, LogicalType.DATASETS if grouped else LogicalType.FLAT_QUADS)


def open_reader(format: Format, *, delimited: bool | None, **settings: Any) -> BatchReader:
    """Make a reader of a format of statements or patches. Errors can be skipped in lines only."""
    if is_patch := format.content is Content.PATCH:
        settings["patch"] = True
    if format in _IN_LINES:
        return TextReader(quads=format.quads, **settings)
    on_error = settings.pop("on_error", "raise")
    if format in _IN_FRAMES:
        return Decoder(delimited=delimited, **settings)
    if on_error != "raise":
        raise JellyUnsupportedError(f"errors in {format.title} cannot be skipped: its rows have no marks")
    settings.pop("strict", None)
    from jelly._core.jena.reader import BinaryReader  # which Jelly alone does not need

    return BinaryReader("thrift" if is_patch else format.name, **settings)


def open_writer(
    format: Format,
    options: Any,
    arity: int = 4,
    *,
    framing: Framing,
    keep_labels: bool = False,
    marked_blank_nodes: bool = False,
    quoted: Literal["rdf-1.2", "rdf-star"] = "rdf-1.2",
    filters: bool = False,
    **settings: Any,
) -> BatchWriter:
    """Make a writer of a format of statements or patches; ``filters`` are for Jelly that is seekable.

    JellyOptionsError for what the format does not have.
    """
    if is_patch := format.content is Content.PATCH:
        if format is not JELLY_PATCH and framing["keyframe_rows"]:
            raise JellyOptionsError(f"{format.title} has no keyframes: only Jelly-Patch can be seekable")
        settings["patch"] = True
    if format in _IN_LINES:
        labels = {"marked": marked_blank_nodes} if is_patch else {"keep_labels": keep_labels}
        return TextWriter(quads=format.quads, quoted=quoted, **labels, **settings)
    if quoted != "rdf-1.2":
        titles = "RDF Patch" if is_patch else "N-Triples and N-Quads"
        raise JellyOptionsError(f"quoted={quoted!r} does not go with {format.title}, only with {titles}")
    if format in _IN_FRAMES:
        encoder = StreamEncoder(options or default_options(arity), **framing)
        if filters:
            encoder.make_filters()
        return encoder
    from jelly._core.jena.writer import BinaryWriter

    return BinaryWriter("thrift" if is_patch else format.name, **settings)


class StreamEncoder(Encoder):
    """An Encoder that writes keyframes and ends the stream with their index, and with ``filters`` before that."""

    _filters: FilterBuilder | None = None
    _told = 0  # keyframes that `cuts` has told
    _told_at = 0  # the first statement of the last one
    _ends: Sequence[int] = ()

    def make_filters(self, builder: FilterBuilder | None = None) -> None:
        """Also write filters, after the filters of ``builder``. To be called before anything is encoded."""
        from jelly._formats.filters import FilterBuilder

        self._filters = builder or FilterBuilder()
        self._rows = 0  # taken in
        self._cuts = [(0, 0)]  # byte offset and first statement of each segment

    def encode(self, batch: Batch, keep_frames: bool | None = None) -> bytes:
        """Encode a Batch, see `Encoder.encode`."""
        done = super().encode(batch, keep_frames)
        self._note(batch)
        return done

    def repeat(self, batch: Batch, open_end: bool = False) -> bytes:
        """Encode a Batch of a stream that this one replaces, see `Encoder.repeat`."""
        done = super().repeat(batch, open_end)
        self._note(batch)
        return done

    def cuts(self) -> list[int]:
        """The bytes at which parts begin that are read alone, since this was last asked: keyframes, and at the end the
        last frame, with the index."""
        found: list[int] = []
        # The list of keyframes is long in the end.
        if self.keyframe_rows and (self.statements - self._told_at >= self.keyframe_rows or self._ends):
            # Perhaps nothing comes where the next keyframe is to be.
            known = self._ends[0] + 1 if self._ends else self.n_bytes
            keys = [key for key in self.keyframes[self._told :] if key[0] < known]
            self._told += len(keys)
            self._told_at = keys[-1][1] if keys else self._told_at
            found += [key[0] for key in keys]
        ends, self._ends = self._ends, ()
        return [*found, *ends]

    def _encode_part(self, batch: Batch, start: int, stop: int | None) -> bytes:
        """Encode some rows of a Batch, see `Encoder._encode_part`."""
        done = super()._encode_part(batch, start, stop)
        self._note(batch, start, stop)
        return done

    def _note(self, batch: Batch, low: int = 0, high: int | None = None) -> None:
        """Keep which terms the segments hold."""
        if self._filters is None:
            return
        first = self._rows - low
        self._rows += (len(batch) if high is None else high) - low
        # The list of keyframes is long in the end.
        if self._rows - self._cuts[-1][1] >= self.keyframe_rows:
            for offset, statement, *_ in self.keyframes[len(self._cuts) - 1 :]:
                self._filters.add(batch, low, statement - first)
                self._filters.cut(offset - self._cuts[-1][0])
                self._cuts.append((offset, statement))
                low = statement - first
        self._filters.add(batch, low, high)

    def close(self, metadata: dict[str, bytes] | None = None) -> bytes:
        """End the stream: the remaining frames, with the index."""
        if not self.keyframe_rows:
            return super().close(metadata)
        return self.close_after([])

    def close_after(self, before: list[tuple[int, int, int, int]]) -> bytes:
        """End a stream that continues a file, with the index of the file. ``before`` are its keyframes, the last of
        them where this stream begins; none if it is the whole file."""
        self.finish()
        offset, statement, frame = before[-1][:3] if before else (0, 0, 0)
        own = [key for key in self.keyframes if key[0] < self.n_bytes]
        keys = [*before, *((at + offset, row + statement, n + frame, place) for at, row, n, place in own)]
        last, counts = self.last_frame, (statement + self.statements, frame + self.frames)
        index = pack_index(self.options, keys, offset + last, *counts, self.place)
        filters = b""
        if self._filters is not None:
            # The frame that ends the file may be the last of its segment, and a segment begin with it.
            for at, row, *_ in own[len(self._cuts) - 1 :]:
                self._filters.cut(at - self._cuts[-1][0])
                self._cuts.append((at, row))
            if len(self._cuts) == len(own) + 1:
                self._filters.cut(self.n_bytes - self._cuts[-1][0])
            filters = self._filters.pack([(0, 0), *keys])
        made = super().close({INDEX_KEY: filters + index})
        # Filters are read one by one.
        self._ends = range(last, self.n_bytes, FILTERS_IN_FRAME)
        return made
