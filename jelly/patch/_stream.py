"""Reading and writing patches: streams to `Patch` objects, operations and Batches, and back; files with an index."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jelly._bytes.sink import one_thread
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.terms.operations import Operation, OperationBatchBuilder
from jelly._dataset.seekable.file import IndexedFile
from jelly._formats.registry import JELLY_PATCH, PATCH_READING, PATCH_WRITING, Content
from jelly._options.options import PatchOptions, PatchStreamType, StatementType
from jelly._options.settings import checked
from jelly._streams.inputs import ItemReader
from jelly._streams.outputs import COLLECT_ROWS, ItemWriter, WideningEncoder, changed, open_fields
from jelly.errors import JellyArgumentError, JellyFormatError
from jelly.patch._patch import PUNCTUATION, Patch, check_transactions, split_patches

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions, WriteOptions


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
    Blank node labels are returned unchanged; their scope is the dataset that the patches are for.

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
        own = {"delimited": options.pop("delimited", None)}
        self._open(src, Content.PATCH, options, own)

    @property
    def quads(self) -> bool:
        """Whether the statements are quads."""
        return self.options is None or self.options.statement_type == StatementType.QUADS

    def _items(self, batches: Iterator[Batch]) -> Iterator[Patch]:
        return split_patches(batches, lambda: self.format is not JELLY_PATCH or getattr(self.options, "is_flat", False))


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


class PatchFile(IndexedFile[Patch]):
    """A Jelly-Patch file with random access, as `jelly.open` returns it.

    Use it in a ``with`` statement or close it. ``len(file)`` is the number of patches, ``file[i]`` one patch and
    ``file[a:b]`` the list of patches of a slice. Reading starts at the keyframe before it.

    Examples
    --------
    >>> import os, tempfile
    >>> import jelly
    >>> from jelly.patch import Commit, Patch, PatchWriter, Start
    >>> path = os.path.join(tempfile.mkdtemp(), "log.jellyp")
    >>> with PatchWriter(path, seekable=True) as writer:
    ...     for _ in range(1000):
    ...         writer.write(Patch([Start(), Commit()]))
    >>> with jelly.open(path) as file:
    ...     len(file), file.operations, file[500], len(file[998:])
    (1000, 2000, <jelly.patch.Patch: 2 operations>, 2)
    """

    _patch = True
    _item = "patch"

    def __len__(self) -> int:
        return self.index.patches

    def __repr__(self) -> str:
        return f"<jelly.patch.PatchFile {self.path}: {len(self)} patches, {self.operations} operations>"

    @property
    def options(self) -> PatchOptions:
        """The options of the stream."""
        options: PatchOptions = self.index.options
        return options

    @property
    def operations(self) -> int:
        """The number of operations in all patches, including headers and transaction marks."""
        return self.index.statements - self.index.place // 4

    def __iter__(self) -> Iterator[Patch]:
        return split_patches(self.batches(), lambda: self.options.is_flat)

    @checked()
    def patches(self, start: int = 0, stop: int | None = None) -> Iterator[Patch]:
        """Iterate over the patches ``start`` to ``stop`` (not included; by default the end of the file)."""
        def make(batches: Iterator[Batch], first: int) -> Iterator[Patch]:
            return split_patches(batches, lambda: self.options.is_flat)

        return self._numbered("place", 4, start, stop, len(self), make)

    def _between(self, start: int, stop: int) -> Iterator[Patch]:
        return self.patches(start, stop)


class HoldingEncoder(WideningEncoder):
    """A WideningEncoder of Jelly-Patch that holds the first rows back, and has seen them all before it encodes one.

    A frame cannot be written again before it has ended. Where patches are frames, it holds whole ones; where the stream
    is one frame, it holds all rows.
    """

    # What is not encoded yet, None when nothing more is held. An array of each Batch keeps a builder from filling it
    # again.
    held: list[tuple[Batch, Any]] | None

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.held = []
        self._left = COLLECT_ROWS  # rows to hold before the first are encoded

    def encode(self, batch: Batch, keep_frames: bool | None = None) -> bytes:
        """The bytes of the rows that need not wait any more."""
        if self.held is None or batch.op is None:
            return self.release() + super().encode(batch)
        self.held.append((batch, batch.op))
        self._left -= len(batch)
        if self._left > 0 or not self._encoder.delimited:
            return b""
        if self.options.stream_type != PatchStreamType.FRAME:
            data = self.release()
            self.held = None
            return data
        ends = np.flatnonzero(batch.op == PUNCTUATION)
        if not len(ends):
            return b""
        end = int(ends[-1]) + 1
        if end == len(batch):
            return self.release()
        self.held[-1] = select(batch, slice(0, end)), None
        data = self.release()
        self.held.append((select(batch, slice(end, None)), None))
        return data

    def release(self) -> bytes:
        """Encode what is held."""
        if not self.held:
            return b""
        held, self.held, self._left = self.held, [], 0
        self.prepare(batch for batch, _ in held)
        return b"".join([self.encode_prepared(batch) for batch, _ in held])

    def settle(self) -> bytes:
        """Encode all that was given, and what is held."""
        return self.release() + super().settle()

    def close(self) -> bytes:
        """End the stream."""
        return self.release() + super().close()


class PatchWriter(ItemWriter):
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
    **settings : Unpack[WriteOptions]
        Shared keywords, see `WriteOptions`. In a stream of type FRAME a frame ends with its patch. ``seekable`` is for
        Jelly-Patch, ``marked_blank_nodes`` and ``quoted`` for text. ``threads`` encode the Batches of `add_batch`: RDF
        Patch, and ``seekable`` Jelly-Patch.

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

    content = Content.PATCH

    @checked(PATCH_WRITING)
    def __init__(
        self,
        dst: Any,
        options: PatchOptions | Mapping[str, Any] | None = None,
        **settings: Unpack[WriteOptions],
    ) -> None:
        given: dict[str, Any] = {**settings}
        self.operations: int = 0  # without the rows that end patches
        self._rows = 0
        self._inside = False  # a transaction
        self._given = options if isinstance(options, PatchOptions) else changed(PatchOptions(), options or {})
        with self._opening(dst, given):
            self._make = self._maker(**{"marked_blank_nodes": True, **given})
            if self.format is JELLY_PATCH:
                self._start(open_fields(options))
            else:
                self._encoder = self._make(self._given)
            self._collector = OperationBatchBuilder(4)

    def _start(self, allowed: frozenset[str], *, holds: bool = True) -> None:
        """Begin a stream of Jelly-Patch whose ``allowed`` options may be widened; by the first rows, if it ``holds``
        them."""
        kind = HoldingEncoder if holds and allowed else WideningEncoder
        self._encoder = kind(self._given, self._make, allowed, self)

    @property
    def options(self) -> PatchOptions:
        """The options of the stream so far."""
        return getattr(self._encoder, "options", self._given)

    @property
    def is_holding(self) -> bool:
        """Whether rows wait for others before they are encoded."""
        return bool(getattr(self._encoder, "held", None))

    def add(self, operation: Operation) -> None:
        """Write one operation."""
        self._check_open()
        if self._collector.add(operation) >= COLLECT_ROWS:
            self._flush()

    @checked()
    def extend(self, operations: Iterable[Operation]) -> None:
        """Write operations, such as those of a `Patch`, without ending the patch."""
        self._check_open()
        iterator = iter(operations)
        while self._collector.extend(iterator, COLLECT_ROWS):
            self._flush()

    @one_thread
    @checked()
    def add_batch(self, batch: Batch) -> None:
        """Write rows with operations, see `PatchReader.batches`. Rows with operation 15 end patches."""
        self._check_open()
        if len(self._collector):
            self._flush()
        self._encode(batch)

    def _encode(self, batch: Batch) -> None:
        if (op := batch.op) is not None:
            if not len(batch):
                return
            try:
                self._inside = check_transactions(op, self._inside)
            except JellyFormatError:
                if isinstance(self._encoder, WideningEncoder):  # an error before this one is raised first
                    self._put(self._encoder.settle)
                raise
            self._rows += len(batch)
            self.operations += len(batch) - op.tobytes().count(PUNCTUATION)
        self._put(lambda: self._encoder.encode(batch))  # without operations it is refused

    def end_patch(self) -> None:
        """End the patch here, even if it is empty."""
        self._check_open()
        self._collector.end_patch()
        if len(self._collector) >= COLLECT_ROWS:
            self._flush()

    @one_thread
    @checked()
    def write(self, patch: Patch) -> None:
        """Write a whole patch and end it."""
        for batch in patch.batches():
            self.add_batch(batch)
        self.end_patch()

    def flush(self) -> None:
        """Write all lines of text, or all frames that have ended, so far."""
        self._check_open()
        self._flush()
        if self._sink.is_live and self.is_holding:
            self._put(self._encoder.release)
        super().flush()

    def _finish(self) -> None:
        self._flush()
        if self._inside:
            raise JellyFormatError("the patch ends inside a transaction")
        super()._finish()


@checked(PATCH_WRITING)
def dumps(
    patches: Iterable[Patch | Operation] | Patch,
    options: PatchOptions | Mapping[str, Any] | None = None,
    **settings: Unpack[WriteOptions],
) -> bytes:
    """Write patches to bytes.

    Parameters
    ----------
    patches : Patch, iterable of Patch, or iterable of Operation
        The patches, or the operations of one patch.
    options : PatchOptions or mapping, optional
        Options of Jelly-Patch, or some of their fields.
    **settings : Unpack[WriteOptions]
        Shared keywords, see `WriteOptions`.

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
