"""Reading and writing patches: Jelly-Patch and RDF Patch to `Patch` objects, operations and Batches, and back."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property, partial
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from jelly._bytes.sink import Sink, SinkWriter, one_thread
from jelly._bytes.workers import Workers
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.constants import Op
from jelly._core.ntriples.text import TextWriter
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.operations import Header, Operation, OperationBatchBuilder, OperationIterator
from jelly._formats.index import KEYFRAME_ROWS
from jelly._formats.protocols import Framing
from jelly._formats.registry import JELLY_PATCH, PATCH_READING, Content, Format, find
from jelly._options.options import PatchOptions, PatchStreamType, StatementType
from jelly._options.settings import checked
from jelly._streams.encoders import BatchesInOrder, SegmentEncoder, can_have_segments
from jelly._streams.inputs import ItemReader
from jelly._streams.widening import WideningEncoder, changed, open_fields
from jelly._streams.writer import own_workers
from jelly.errors import JellyArgumentError, JellyFormatError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions

__all__ = ["Patch", "PatchReader", "PatchWriter", "dumps", "loads", "read_patches"]

# As plain numbers, which numpy compares faster.
ADD, DELETE, NAMESPACE_ADD, NAMESPACE_DELETE, START, COMMIT, ABORT, HEADER, PUNCTUATION = map(int, Op)

CHANGING = np.array([ADD, DELETE, NAMESPACE_ADD, NAMESPACE_DELETE], np.int8)
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
            raise JellyFormatError("a commit or abort outside a transaction", row=row)
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
    """A sequence of operations, including headers and transactions.

    Iterate over it for the operations (`Add`, `Delete`, `AddNamespace`, `DeleteNamespace`, `Header`, `Start`, `Commit`,
    `Abort`), or call `batches` for arrays. ``len(patch)`` is the number of operations.
    A patch is true if it adds or deletes something, even if only in a transaction that is aborted.

    Parameters
    ----------
    operations : iterable of Operation, optional
        The operations in order.
    quads : bool, default True
        Whether the statements are quads. Triples are then quads in the default graph.

    Raises
    ------
    JellyFormatError
        If transactions are nested, or end without a start.

    Examples
    --------
    >>> from jelly import IRI
    >>> from jelly.patch import Add, Delete, Header, Patch
    >>> s, p, o = IRI("a:s"), IRI("a:p"), IRI("a:o")
    >>> patch = Patch([Header("id", IRI("uuid:1")), Add((s, p, o)), Delete((s, p, s))])
    >>> len(patch), patch.id, [str(operation) for operation in patch][1:]
    (3, IRI('uuid:1'), ['A <a:s> <a:p> <a:o> .', 'D <a:s> <a:p> <a:s> .'])
    """

    @checked()
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

    def __bool__(self) -> bool:
        """Whether there is an addition or a deletion. Headers and transaction marks alone are False."""
        return any(np.isin(source.op[start:stop], CHANGING).any() for source, start, stop in self._parts)

    def __iter__(self) -> Iterator[Operation]:
        # A Batch of many patches has its terms made once; those of one of a large patch need not stay.
        return OperationIterator(
            (source.terms if stop - start < len(source.batch) else Materializer(source.batch), start, stop)
            for source, start, stop in self._parts
        )

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Patch) else NotImplemented

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<jelly.patch.Patch: {len(self)} operations>"

    def batches(self) -> Iterator[Batch]:
        """Iterate over the rows as Batches.

        Returns
        -------
        Iterator[Batch]
            Batches whose array ``op`` holds the operation of each row: 2 add, 3 delete, 4 add a namespace, 5 delete a
            namespace, 6 start, 7 commit, 8 abort, 14 header. Columns that an operation does not use are -1. A namespace
            has its prefix and IRI in ``s`` and ``p``, a header its key and value in ``s`` and ``o``.
        """
        for source, start, stop in self._parts:
            whole = start == 0 and stop == len(source.batch)
            yield source.batch if whole else select(source.batch, slice(start, stop))

    def text(self) -> Iterator[bytes]:
        """Iterate over the lines of RDF Patch.

        Returns
        -------
        Iterator[bytes]
            Chunks of whole lines in UTF-8.
        """
        writer = TextWriter(quads=True, patch=True)
        for source, start, stop in self._parts:
            yield from writer.chunks(source.batch, start=start, stop=stop)

    @checked()
    def count(self, code: int) -> int:
        """Count the rows with an operation.

        Parameters
        ----------
        code : int
            Number of the operation, see `batches`.

        Returns
        -------
        int
            Number of rows.
        """
        return sum(int(np.count_nonzero(source.op[start:stop] == code)) for source, start, stop in self._parts)

    @property
    def headers(self) -> list[Header]:
        """All headers."""
        rows = (
            (source.terms, row, row + 1)
            for source, start, stop in self._parts
            for row in (np.flatnonzero(source.op[start:stop] == HEADER) + start).tolist()
        )
        return [header for header in OperationIterator(rows) if isinstance(header, Header)]

    @checked()
    def header(self, key: str) -> Any:
        """The value of the first header with a key.

        Parameters
        ----------
        key : str
            The key; upper and lower case are the same.

        Returns
        -------
        term or None
            The value, or None if there is no such header.
        """
        return next((header.value for header in self.headers if header.key.lower() == key.lower()), None)

    @property
    def id(self) -> Any:
        """The value of the header ``id``: a term, or None."""
        return self.header("id")

    @property
    def prev(self) -> Any:
        """The value of the header ``prev``, which is the ``id`` of the previous patch: a term, or None."""
        return self.header("prev")


class PatchReader(ItemReader[Patch]):
    """Read a stream of patches.

    Iterate over the reader for patches, or call `batches`: a row with operation 15 ends a patch; the last patch of a
    text has none. The reader can be consumed only once, in one of these ways.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.Reader`.
    **options : Unpack[ReadOptions]
        Shared keywords, see `ReadOptions`. The formats are ``"jellyp"`` (Jelly-Patch, also for a source without a
        name), ``"rdfp"`` (RDF Patch: text, one patch per file) and ``"trp"`` (RDF Patch Thrift of Jena).

    Raises
    ------
    JellyError
        If the input is wrong, for example a transaction without an end; the message gives frame, row and byte, or the
        line.

    Notes
    -----
    Labels of blank nodes are given as they stand; their scope is the dataset that the patches are for.

    RDF Patch is read as Jena reads it: strings in single or triple quotes, several rows on a line, and ``Z .``, which
    is ignored. With ``strict=True`` these are errors, and so is everything else that RDF 1.1 does not allow.

    Examples
    --------
    >>> from jelly.patch import PatchReader
    >>> with PatchReader(b"TX .\\nA <a:s> <a:p> <a:o> .\\nTC .\\n", format="rdfp") as reader:
    ...     [str(operation) for patch in reader for operation in patch]
    ['TX .', 'A <a:s> <a:p> <a:o> .', 'TC .']
    """

    @checked(PATCH_READING)
    def __init__(self, src: Any, **options: Unpack[ReadOptions]) -> None:
        given: dict[str, Any] = {**options}
        own = {"delimited": given.pop("delimited", None)}
        self._open(src, Content.PATCH, given, own)

    @property
    def quads(self) -> bool:
        """Whether the statements are quads."""
        return self.options is None or self.options.statement_type == StatementType.QUADS

    def _items(self, batches: Iterator[Batch]) -> Iterator[Patch]:
        def is_flat() -> bool:
            return self.format is not JELLY_PATCH or (self.options is not None and self.options.is_flat)

        return split_patches(batches, is_flat)


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
            patch = patch if patch is not None else Patch(quads=quads)
            patch._take(source, start, end)
            yield patch
            found = True
            patch, start = None, end + 1
        if start < len(batch):
            patch = patch if patch is not None else Patch(quads=quads)
            patch._take(source, start, len(batch))
    # What no row ends is a patch too: Jelly-JVM leaves the last punctuation to its callers. A stream that is one patch
    # may be empty.
    if patch is not None or (not found and is_one()):
        yield patch if patch is not None else Patch(quads=quads)


@checked(PATCH_READING)
def read_patches(src: Any, **options: Unpack[ReadOptions]) -> Iterator[Patch]:
    """Read patches one by one.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.Reader`.
    **options : Unpack[ReadOptions]
        Shared keywords, see `ReadOptions`.

    Examples
    --------
    >>> from jelly.patch import read_patches
    >>> [patch.id.value for patch in read_patches(b"H id <uuid:1> .", format="rdfp")]
    ['uuid:1']
    """
    return iter(PatchReader(src, **options))


@checked(PATCH_READING)
def loads(data: Any, **options: Unpack[ReadOptions]) -> list[Patch]:
    """Read all patches of a stream in memory.

    Parameters
    ----------
    data : bytes-like
        The whole stream.
    **options : Unpack[ReadOptions]
        Shared keywords, see `ReadOptions`.

    Examples
    --------
    >>> from jelly.patch import Patch, dumps, loads
    >>> loads(dumps([Patch(), Patch()]))
    [<jelly.patch.Patch: 0 operations>, <jelly.patch.Patch: 0 operations>]
    """
    return list(PatchReader(data, **options))


class PatchWriter(SinkWriter):
    """Write patches: whole ones, single operations, or Batches.

    Use it in a ``with`` statement, or call ``close()``. A path gets its final name when the writer closes without an
    error; if writing fails, no partial file is left.

    Parameters
    ----------
    dst : str, os.PathLike or binary file object
        The output. ``"-"`` is standard output. The suffix of a path chooses format (``.jellyp .rdfp .trp``) and
        compression.
    options : PatchOptions or mapping, optional
        Options of Jelly-Patch, or only some of their fields. By default quads, punctuation rows that end patches, and
        flags for quoted triples and generalized statements where there are any: the first 8192 rows, which are held in
        memory until then or until ``flush``, decide. If a later row needs more, a file is written again, and so is what
        is in an `io.BytesIO`; for a pipe it is a `LateError`. Where patches are frames, whole patches are held.
    format : str, optional
        Name, suffix or media type of the format, as for `PatchReader`.
    frame_rows : int, default 256
        Maximum rows per frame (0: unlimited). In a stream of type FRAME a frame ends with its patch.
    frame_bytes : int, default 1 MB
        Maximum bytes per frame (0: unlimited); a larger statement has a frame of its own.
    delimited : bool, default True
        Write the length of each frame before it. False writes one frame without its length.
    seekable : bool, default False
        Write keyframes and an index, so that `jelly.patch.open` and several threads can read any part of a Jelly-Patch
        file. Other readers ignore them.
    keyframe_rows : int, default 131072
        Rows from one keyframe to the next, if ``seekable``.
    marked_bnodes : bool, default True
        Text only: write blank nodes as ``<_:label>``, which this package and Jena read. Of ``_:label`` Jena drops the
        first letter, so that ``_:a1`` and ``_:b1`` become one node.
    quoted : {"rdf-1.2", "rdf-star"}, default "rdf-1.2"
        Text only: write quoted triples as ``<<( s p o )>>`` or as ``<< s p o >>``.
    threads : int, default 1
        Number of threads that encode the Batches of `add_batch`: RDF Patch, and ``seekable`` Jelly-Patch. The bytes are
        the same for any number.

    Raises
    ------
    JellyFormatError
        If a transaction starts in another one, ends without a start, or is open where the patch ends.

    Notes
    -----
    Unstable: ``quoted`` follows the drafts of RDF 1.2.

    Labels of blank nodes are written as they are given. Their scope is the dataset that the patches are for, so that a
    later patch can delete what an earlier one added: in all patches of all files the same label is the same node.

    RDF Patch cannot mark the end of a patch: the rows of several patches are written as if they were one.

    Examples
    --------
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
        options: PatchOptions | Mapping[str, Any] | None = None,
        *,
        format: str | None = None,
        frame_rows: int = 256,
        frame_bytes: int = 1_000_000,
        delimited: bool = True,
        seekable: bool = False,
        keyframe_rows: int = KEYFRAME_ROWS,
        marked_bnodes: bool = True,
        quoted: Literal["rdf-1.2", "rdf-star"] = "rdf-1.2",
        threads: int | Workers = 1,
    ) -> None:
        self.operations: int = 0
        self._inside = False  # a transaction
        self._held: list[Batch] | None = None  # what is not encoded yet; None: what comes is encoded at once
        self._is_decided = False  # something was encoded
        self._given = options if isinstance(options, PatchOptions) else changed(PatchOptions(), options or {})
        self._workers, self._own = own_workers(threads)
        self._sink = Sink(dst, seekable=seekable, workers=self._workers)
        try:
            self.format: Format = find(format, self._sink.name, content=Content.PATCH)
            framing = Framing(
                frame_rows=frame_rows,
                frame_bytes=frame_bytes,
                delimited=delimited,
                keyframe_rows=keyframe_rows if seekable else 0,
            )
            settings = {"framing": framing, "marked_bnodes": marked_bnodes, "quoted": quoted}
            self._make = partial(_open, self.format, settings)
            self._delimited = delimited
            self._encoder: Any
            if self.format is JELLY_PATCH:
                self._start(open_fields(options), self._workers)
            else:
                self._encoder = self._make(self._workers, self._given)
            self._collector = OperationBatchBuilder(4)
        except BaseException:
            self.abort()
            raise

    def _start(self, allowed: AbstractSet[str], workers: Workers | None, holds: bool = True) -> None:
        """Begin a stream of Jelly-Patch whose ``allowed`` options may be widened.

        It ``holds`` the first rows back, which decide. A frame cannot be written again before it has ended, so where a
        patch or the whole stream is one, all of it is held.
        """
        self._encoder = WideningEncoder(self._given, partial(self._make, workers), allowed, self)
        self._held = [] if holds and allowed else None

    @property
    def options(self) -> PatchOptions:
        """The options of the stream so far."""
        return getattr(self._encoder, "options", self._given)

    @property
    def is_holding(self) -> bool:
        """Whether rows wait for others before they are encoded."""
        return bool(self._held)

    def _cuts(self) -> Iterable[int]:
        return self._encoder.cuts() if isinstance(self._encoder, WideningEncoder) else ()

    def add(self, operation: Operation) -> None:
        """Write one operation.

        Parameters
        ----------
        operation : Operation
            The operation.
        """
        self._check_open()
        if self._collector.add(operation) >= COLLECT_ROWS:
            self._flush()

    @checked()
    def extend(self, operations: Iterable[Operation]) -> None:
        """Write operations without ending the patch.

        Parameters
        ----------
        operations : iterable of Operation
            The operations, for example a `Patch`.
        """
        for operation in operations:
            self.add(operation)

    @one_thread
    @checked()
    def add_batch(self, batch: Batch) -> None:
        """Write the rows of a Batch.

        Parameters
        ----------
        batch : Batch
            Rows with operations, see `PatchReader.batches`. Rows with operation 15 end patches.
        """
        self._check_open()
        self._flush()
        self._encode(batch)

    def _encode(self, batch: Batch) -> None:
        if batch.op is not None:
            try:
                self._inside = check_transactions(batch.op, self._inside)
            except JellyFormatError:
                if self._held:  # an error before this one is raised first
                    self._encode_held()
                if isinstance(self._encoder, WideningEncoder):
                    self._encoder.wait()
                raise
        self.operations += len(batch)
        if self._held is not None and batch.op is not None:
            self._hold(self._held, batch)
            return
        if self._held:  # an error before this one is raised first
            self._encode_held()
        self._put(lambda: self._encoder.encode(batch))  # without operations it is refused

    def _hold(self, held: list[Batch], batch: Batch) -> None:
        """Take a Batch that is to be encoded later, with enough others or with the rest of its patch."""
        held.append(batch)
        if not self._delimited or (not self._is_decided and sum(map(len, held)) < COLLECT_ROWS):
            return
        if self.options.stream_type != PatchStreamType.FRAME:
            self._encode_held()
            self._held = None
        elif batch.op is not None and len(ends := np.flatnonzero(batch.op == PUNCTUATION)):
            end = int(ends[-1]) + 1
            if end < len(batch):
                held[-1] = select(batch, slice(0, end))
            self._encode_held()
            if end < len(batch):
                self._held = [select(batch, slice(end, None))]

    def _encode_held(self) -> None:
        held, self._held = self._held, []
        self._is_decided = self._is_decided or bool(held)
        with self._sink.named():
            self._encoder.prepare(held or ())
        for batch in held or ():
            self._put(partial(self._encoder.encode, batch, prepared=True))

    def end_patch(self) -> None:
        """End the patch here, even if it is empty."""
        self._check_open()
        self._collector.end_patch()
        if len(self._collector) >= COLLECT_ROWS:
            self._flush()

    @one_thread
    @checked()
    def write(self, patch: Patch) -> None:
        """Write a whole patch and end it.

        Parameters
        ----------
        patch : Patch
            The patch.
        """
        for batch in patch.batches():
            self.add_batch(batch)
        self.end_patch()

    def flush(self) -> None:
        """Write all rows of text, or all frames that have ended, so far."""
        self._check_open()
        self._flush()
        if self._sink.is_live:
            if self._held:
                self._encode_held()
            self._sink.flush()

    @one_thread
    def _flush(self) -> None:
        if not len(self._collector):
            return
        if self._held is None:
            self._collector.lend(self._encode)
        else:
            filled, self._collector = self._collector, OperationBatchBuilder(4)
            self._encode(filled.batch)

    def _finish(self) -> None:
        """Write what is left, and end the patch that is not ended."""
        self._flush()
        if self._inside:
            raise JellyFormatError("the patch ends inside a transaction")
        if self._held:
            self._encode_held()
        self._put(self._encoder.close)


def _open(format: Format, settings: dict[str, Any], workers: Workers | None, options: PatchOptions) -> Any:
    # A function of no PatchWriter: a reference to it here would keep one that is forgotten.
    if workers is not None and format is JELLY_PATCH and can_have_segments(options, settings["framing"]):
        return SegmentEncoder(options, settings["framing"], workers)
    encoder = format.open_writer(options, **settings)
    return BatchesInOrder(encoder, workers) if workers is not None and isinstance(encoder, TextWriter) else encoder


WRITING = frozenset(signature(PatchWriter).parameters) - {"dst", "options", "threads"}


@checked(WRITING)
def dumps(
    patches: Iterable[Patch | Operation] | Patch,
    options: PatchOptions | Mapping[str, Any] | None = None,
    **settings: Any,
) -> bytes:
    """Write patches to bytes.

    Parameters
    ----------
    patches : Patch, iterable of Patch, or iterable of Operation
        The patches, or the operations of one patch.
    options : PatchOptions or mapping, optional
        Options of Jelly-Patch, or some of their fields.
    **settings : Any
        Keywords of `PatchWriter`.

    Returns
    -------
    bytes
        The stream.

    Examples
    --------
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
                raise JellyArgumentError(f"expected patches or operations, got {type(patch).__name__}: {patch!r:.80}")
    return out.getvalue()
