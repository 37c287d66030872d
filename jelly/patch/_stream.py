"""Reading and writing patches: Jelly-Patch and RDF Patch to `Patch` objects, operations and Batches, and back."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from inspect import signature
from typing import Any, Literal

import numpy as np

from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.jelly.decoder import Decoder
from jelly._core.jena.reader import BinaryReader
from jelly._core.jena.writer import BinaryWriter
from jelly._core.ntriples.text import TextReader, TextWriter
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.operations import Header, Operation, OperationBatchBuilder, OperationIterator
from jelly._formats.native import StreamEncoder
from jelly._io.reader import fed
from jelly._io.settings import checked, fitted, refuse_unknown
from jelly._io.source import MAX_EXPANSION, Progress, Sink, SinkWriter, Source, SourceReader
from jelly._options import PatchOptions, StatementType
from jelly._seekable.index import KEYFRAME_ROWS
from jelly.errors import JellyArgumentError, JellyFormatError, JellyOptionsError
from jelly.patch._formats import JELLYP, PATCH_FORMATS, PATCH_READING, TRP, find_patch_format

__all__ = ["Patch", "PatchReader", "PatchWriter", "convert", "dumps", "loads", "read_patches"]

# Codes of `Batch.op`: the numbers of the rows of Jelly-Patch.
ADD, DELETE, START, ABORT, HEADER, PUNCTUATION = 2, 3, 6, 8, 14, 15

COLLECT_ROWS = 8192


def check_transactions(op: Any, inside: bool = False) -> bool:
    """Whether a transaction is open after operations, with what it was before; JellyFormatError where one starts in
    another, ends without a start, or is open where a patch ends."""
    rows = np.flatnonzero(((op >= START) & (op <= ABORT)) | (op == PUNCTUATION))
    for row, code in zip(rows.tolist(), op[rows].tolist(), strict=True):
        if code == START and inside:
            raise JellyFormatError("a transaction starts inside another transaction", row=row)
        if code == PUNCTUATION and inside:
            raise JellyFormatError("the patch ends inside a transaction", row=row)
        if START < code <= ABORT and not inside:
            raise JellyFormatError("a commit or abort without a transaction that was started", row=row)
        inside = code == START
    return inside


class _Source:
    """A Batch that several patches may share, with its terms as objects."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.op = batch.op if batch.op is not None else np.empty(0, np.int8)

    @cached_property
    def terms(self) -> Materializer:
        return Materializer(self.batch)


class Patch:
    """A patch: operations in their order, headers and transactions among them.

    Iterate over it for the operations (`Add`, `Delete`, `AddNamespace`, `DeleteNamespace`, `Header`, `Start`, `Commit`,
    `Abort`), or take its rows as arrays with ``batches()``. JellyFormatError where transactions are nested, or end that
    were not started.

    >>> from jelly import IRI
    >>> from jelly.patch import Add, Delete, Header, Patch
    >>> s, p, o = IRI("a:s"), IRI("a:p"), IRI("a:o")
    >>> patch = Patch([Header("id", IRI("uuid:1")), Add((s, p, o)), Delete((s, p, s))])
    >>> len(patch), patch.id, [str(operation) for operation in patch][1:]
    (3, IRI('uuid:1'), ['A <a:s> <a:p> <a:o> .', 'D <a:s> <a:p> <a:s> .'])
    """

    def __init__(self, operations: Iterable[Operation] = (), *, quads: bool = True) -> None:
        self._parts: list[tuple[_Source, int, int]] = []
        self.quads = quads
        collector = OperationBatchBuilder(4 if quads else 3)
        for operation in operations:
            collector.add(operation)
        if len(collector):
            source = _Source(collector.batch)
            check_transactions(source.op)
            self._take(source, 0, len(collector))

    def _take(self, source: _Source, start: int, stop: int) -> None:
        if start < stop:
            self._parts.append((source, start, stop))

    def _take_batch(self, batch: Batch) -> None:
        self._take(_Source(batch), 0, len(batch))

    def __len__(self) -> int:
        """Number of operations, headers and transaction marks included."""
        return sum(stop - start for _, start, stop in self._parts)

    def __iter__(self) -> Iterator[Operation]:
        # A Batch of many patches has its terms made once; those of one of a large patch need not stay.
        return OperationIterator(
            (source.terms if stop - start < len(source.batch) else Materializer(source.batch), start, stop)
            for source, start, stop in self._parts
        )

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Patch) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<jelly.patch.Patch: {len(self)} operations>"

    def batches(self) -> Iterator[Batch]:
        """The rows as Batches. ``op`` holds the operation of each: 2 add, 3 delete, 4 and 5 the same of namespaces,
        6 start, 7 commit, 8 abort, 14 header. Columns that an operation does not use are -1; a namespace has its name
        and IRI as ``s`` and ``p``, a header its key and value as ``s`` and ``o``.
        """
        for source, start, stop in self._parts:
            whole = start == 0 and stop == len(source.batch)
            yield source.batch if whole else select(source.batch, slice(start, stop))

    def text(self) -> Iterator[bytes]:
        """The lines of RDF Patch, in chunks of whole lines."""
        writer = TextWriter(quads=True, patch=True)
        for source, start, stop in self._parts:
            yield from writer.chunks(source.batch, start=start, stop=stop)

    def count(self, code: int) -> int:
        """How many rows have an operation: 2 add, 3 delete and so on, as in ``batches()``."""
        return sum(int(np.count_nonzero(source.op[start:stop] == code)) for source, start, stop in self._parts)

    @property
    def headers(self) -> list[Header]:
        """The headers."""
        rows = (
            (source.terms, row, row + 1)
            for source, start, stop in self._parts
            for row in (np.flatnonzero(source.op[start:stop] == HEADER) + start).tolist()
        )
        return [header for header in OperationIterator(rows) if isinstance(header, Header)]

    def header(self, key: str) -> Any:
        """The value of the first header of that name, in capitals or not; None where there is none."""
        return next((header.value for header in self.headers if header.key.lower() == key.lower()), None)

    @property
    def id(self) -> Any:
        """What the header ``id`` says: a term, or None."""
        return self.header("id")

    @property
    def prev(self) -> Any:
        """What the header ``prev`` says, the ``id`` of the patch before: a term, or None."""
        return self.header("prev")


class PatchReader(SourceReader):
    """A stream of patches being read. Take its patches or its Batches, one of them, once.

    ``src`` is what `jelly.Reader` takes. ``format`` is ``"jellyp"``, ``"rdfp"`` (RDF Patch, text) or ``"trp"`` (its
    binary form, of Jena); by default the suffix of the file decides, else it is Jelly-Patch. RDF Patch is one patch a
    file. Its text is read as Jena reads it: strings in single or three quotes, several rows on a line, and ``Z .``,
    which changes nothing and is left out; with ``strict=True`` these are errors, and all else that RDF 1.1 does not
    allow.

    ``delimited`` says how Jelly-Patch is framed (None: detect). Further keywords are limits of the `Decoder`
    (``max_frame_bytes``, ``max_names``, ...) and ``batch_rows``, ``batch_bytes``. What is wrong, such as a transaction
    that is not ended, is a JellyError with frame, row and byte, or with the line.

    >>> from jelly.patch import PatchReader
    >>> with PatchReader(b"TX .\\nA <a:s> <a:p> <a:o> .\\nTC .\\n", format="rdfp") as reader:
    ...     [str(operation) for patch in reader for operation in patch]
    ['TX .', 'A <a:s> <a:p> <a:o> .', 'TC .']
    """

    @checked(PATCH_READING)
    def __init__(self, src: Any, *, format: str | None = None, delimited: bool | None = None, **limits: Any) -> None:
        self.source = Source(src, limits.pop("max_expansion", MAX_EXPANSION))
        try:
            self.format = found = find_patch_format(format, self.source.name)
            self.source.expected = (found.name, PATCH_FORMATS, "format")
            refuse_unknown(limits, found.reading, found.title)
            limits = fitted(limits, found.reading, self.source.size)
            self._decoder: Any
            if self.format is JELLYP:
                self._decoder = Decoder(patch=True, delimited=delimited, **limits)
            elif self.format is TRP:
                self._decoder = BinaryReader("thrift", patch=True, **limits)
            else:
                self._decoder = TextReader(patch=True, quads=True, **limits)
        except BaseException:
            self.source.close()
            raise

    @property
    def options(self) -> PatchOptions | None:
        """The options of the stream; None before they are read and for text."""
        return getattr(self._decoder, "options", None)

    @property
    def quads(self) -> bool:
        """Whether the statements are quads."""
        return self.options is None or self.options.statement_type == StatementType.QUADS

    def batches(self) -> Iterator[Batch]:
        """The Batches of the stream, see `Patch.batches`. Here a row 15 ends a patch; the last of a text has none."""
        with self, self.source.named():
            yield from fed(self._decoder, self.source)

    def __iter__(self) -> Iterator[Patch]:
        return split_patches(
            self.batches(), lambda: self.format is not JELLYP or (self.options is not None and self.options.is_flat)
        )


def split_patches(batches: Iterable[Batch], is_one: Callable[[], bool]) -> Iterator[Patch]:
    """The patches of a stream that comes as Batches. ``is_one`` is asked at the end: whether the whole is a patch."""
    patch: Patch | None = None
    found = False
    quads = True
    for batch in batches:
        source = _Source(batch)
        start = 0
        quads = batch.arity == 4
        for end in np.flatnonzero(source.op == PUNCTUATION).tolist():
            patch = patch or Patch(quads=quads)
            patch._take(source, start, end)
            yield patch
            found = True
            patch, start = None, end + 1
        if start < len(batch):
            patch = patch or Patch(quads=quads)
            patch._take(source, start, len(batch))
    # What no row ends is a patch too: Jelly-JVM leaves the last punctuation to its callers. A stream that is one patch
    # may be empty.
    if patch is not None or (not found and is_one()):
        yield patch or Patch(quads=quads)


@checked(PATCH_READING)
def read_patches(src: Any, **settings: Any) -> Iterator[Patch]:
    """The patches of ``src``. See `PatchReader` for the keywords.

    >>> from jelly.patch import read_patches
    >>> [patch.id.value for patch in read_patches(b"H id <uuid:1> .", format="rdfp")]
    ['uuid:1']
    """
    return iter(PatchReader(src, **settings))


@checked(PATCH_READING)
def loads(data: Any, **settings: Any) -> list[Patch]:
    """The patches of a bytes-like object. See `PatchReader` for the keywords.

    >>> from jelly.patch import Patch, dumps, loads
    >>> loads(dumps([Patch(), Patch()]))
    [<jelly.patch.Patch: 0 operations>, <jelly.patch.Patch: 0 operations>]
    """
    return list(PatchReader(data, **settings))


class PatchWriter(SinkWriter):
    """Writes patches: whole ones, operation by operation, or as Batches.

    ``dst`` is a path (``-`` is standard output) or a binary file object; suffixes choose format (``.jellyp .rdfp
    .trp``) and compression. A path gets its final name when the writer closes without an error; otherwise nothing is
    left behind.

    ``options`` are the `PatchOptions`; by default quads, and patches that punctuation rows end. A frame ends at
    ``frame_rows`` rows or ``frame_bytes`` bytes (0: no bound), in a stream of type FRAME with its patch.
    ``delimited=False`` writes one bare frame.

    ``seekable=True`` writes keyframes and an index, so that `jelly.patch.open` and several threads can read any part of
    a Jelly-Patch file; other readers see the same patches as ever. A keyframe comes after each ``keyframe_rows`` rows.

    A text holds the rows of several patches as if they were one. It has blank nodes as ``<_:label>``, which this
    package and Jena read. With ``marked_bnodes=False`` they are ``_:label``, of which Jena drops the first letter:
    there ``_:a1`` and ``_:b1`` become one node. ``quoted="rdf-star"`` writes quoted triples as ``<< s p o >>``, see
    `jelly._core.ntriples.text.TextWriter`.

    JellyFormatError where a transaction starts in another, ends without a start, or is open where the patch ends.

    >>> import io
    >>> from jelly import IRI
    >>> from jelly.patch import Add, PatchWriter, read_patches
    >>> out = io.BytesIO()
    >>> with PatchWriter(out) as writer:
    ...     writer.add(Add((IRI("a:s"), IRI("a:p"), IRI("a:o"))))
    >>> [len(patch) for patch in read_patches(out.getvalue())]
    [1]
    """

    @checked()
    def __init__(
        self,
        dst: Any,
        options: PatchOptions | None = None,
        *,
        format: str | None = None,
        frame_rows: int = 256,
        frame_bytes: int = 1 << 20,
        delimited: bool = True,
        seekable: bool = False,
        keyframe_rows: int = KEYFRAME_ROWS,
        marked_bnodes: bool = True,
        quoted: Literal["rdf-1.2", "rdf-star"] = "rdf-1.2",
    ) -> None:
        if options is not None and not isinstance(options, PatchOptions):
            raise JellyArgumentError(f"options must be PatchOptions, not {type(options).__name__}")
        self.operations = 0
        self._inside = False  # a transaction
        self.options = options or PatchOptions()
        self._sink = Sink(dst)
        try:
            self.format = find_patch_format(format, self._sink.name)
            if seekable and self.format is not JELLYP:
                raise JellyOptionsError(f"{self.format.title} has no keyframes: only Jelly-Patch can be seekable")
            if quoted != "rdf-1.2" and self.format in (JELLYP, TRP):
                raise JellyOptionsError(f"quoted={quoted!r} does not go with {self.format.title}, only with RDF Patch")
            self._encoder: Any
            if self.format is JELLYP:
                self._encoder = StreamEncoder(
                    self.options,
                    frame_rows=frame_rows,
                    frame_bytes=frame_bytes,
                    delimited=delimited,
                    keyframe_rows=keyframe_rows if seekable else 0,
                )
            elif self.format is TRP:
                self._encoder = BinaryWriter("thrift", patch=True)
            else:
                self._encoder = TextWriter(quads=True, patch=True, marked=marked_bnodes, quoted=quoted)
            self._collector = OperationBatchBuilder(4)
        except BaseException:
            self.abort()
            raise

    def add(self, operation: Operation) -> None:
        """Write an operation."""
        self._check_open()
        if self._collector.add(operation) >= COLLECT_ROWS:
            self._flush()

    def extend(self, operations: Iterable[Operation]) -> None:
        """Write operations, such as those of a `Patch`; the patch goes on."""
        for operation in operations:
            self.add(operation)

    def add_batch(self, batch: Batch) -> None:
        """Write the rows of a Batch, see `PatchReader.batches`; those of code 15 end patches."""
        self._check_open()
        self._flush()
        self._encode(batch)

    def _encode(self, batch: Batch) -> None:
        if batch.op is not None:
            self._inside = check_transactions(batch.op, self._inside)
        self.operations += len(batch)
        self._put(lambda: self._encoder.encode(batch))

    def end_patch(self) -> None:
        """End the patch here, empty or not."""
        self._check_open()
        self._collector.end_patch()
        if len(self._collector) >= COLLECT_ROWS:
            self._flush()

    def write(self, patch: Patch) -> None:
        """Write a whole patch, and end it."""
        for batch in patch.batches():
            self.add_batch(batch)
        self.end_patch()

    def _flush(self) -> None:
        if len(self._collector):
            self._encode(self._collector.batch)
            self._collector.clear()

    def _finish(self) -> None:
        """Write what is left, and end the patch that is not ended."""
        self._flush()
        if self._inside:
            raise JellyFormatError("the patch ends inside a transaction")
        if self.format is JELLYP:
            self._put(self._encoder.close)


_WRITING = frozenset(signature(PatchWriter).parameters) - {"dst", "options"}


@checked(_WRITING)
def dumps(
    patches: Iterable[Patch | Operation] | Patch, options: PatchOptions | None = None, **settings: Any
) -> bytes:
    """Patches, or the operations of one, as bytes. See `PatchWriter` for the keywords.

    >>> from jelly.patch import Commit, Patch, Start, dumps
    >>> dumps(Patch([Start(), Commit()]), format="rdfp"), dumps([Start(), Commit()], format="rdfp")
    (b'TX .\\nTC .\\n', b'TX .\\nTC .\\n')
    """
    out = io.BytesIO()
    with PatchWriter(out, options, **settings) as writer:
        for patch in [patches] if isinstance(patches, Patch) else patches:
            if isinstance(patch, Operation):
                writer.add(patch)
            elif isinstance(patch, Patch):
                writer.write(patch)
            else:
                raise TypeError(f"expected patches or operations, got {type(patch).__name__}: {patch!r:.80}")
    return out.getvalue()


@checked(PATCH_READING - {"format"})
def convert(
    src: Any,
    dst: Any,
    *,
    from_format: str | None = None,
    to_format: str | None = None,
    options: PatchOptions | None = None,
    frame_rows: int = 256,
    frame_bytes: int = 1 << 20,
    delimited: bool = True,
    seekable: bool = False,
    keyframe_rows: int = KEYFRAME_ROWS,
    marked_bnodes: bool = True,
    quoted: Literal["rdf-1.2", "rdf-star"] = "rdf-1.2",
    progress: Progress | None = None,
    **limits: Any,
) -> int:
    """Read patches and write them in another format or with other options; the number of rows. Memory stays flat.

    Jelly-Patch written from Jelly-Patch keeps its options where none are given. ``progress`` is that of
    `jelly.convert`, with rows for statements.

    >>> import io
    >>> out = io.BytesIO()
    >>> convert(b"TX .\\nTC .\\n", out, from_format="rdfp")
    2
    """
    with PatchReader(src, format=from_format, **limits) as reader:
        reader.source.expected = (reader.format.name, PATCH_FORMATS, "from_format")
        batches = reader.source.watched(reader.batches(), progress)
        # The first Batch tells the options, so that a source that cannot be read leaves the destination alone.
        batch = next(batches, None)
        with PatchWriter(
            dst,
            options or reader.options,
            format=to_format,
            frame_rows=frame_rows,
            frame_bytes=frame_bytes,
            delimited=delimited,
            seekable=seekable,
            keyframe_rows=keyframe_rows,
            marked_bnodes=marked_bnodes,
            quoted=quoted,
        ) as writer:
            while batch is not None:
                writer.add_batch(batch)
                batch = next(batches, None)
    return writer.operations
