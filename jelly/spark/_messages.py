"""Columns of messages as Arrow arrays; each value is a complete stream or text.

The part of `jelly.spark._udf` that runs on executors. Independent of Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from jelly._core.arrow.importer import ArrowImporter
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.encoder import Encoder
from jelly._core.ntriples.text import TextReader
from jelly._formats.arrow_input import buffers_of, check_columns, pyarrow_errors
from jelly._formats.native import default_options
from jelly._io.drain import drain
from jelly._io.widening import ALL_FIELDS, Memory, WideningEncoder, open_fields
from jelly._layouts import Layout, find_layout
from jelly._options import PhysicalType, StreamOptions
from jelly.arrow import RecordBatchBuilder, compute, pa
from jelly.errors import JellyError, JellyFormatError, JellyLimitError, JellyOptionsError

__all__ = ["Mode", "frames_to_statements", "statements_to_frames", "texts_to_statements"]

Mode = Literal["FAILFAST", "PERMISSIVE"]

# Statements and bytes of text at which an array is handed out.
ROWS = 1 << 15
TEXT = 1 << 24
# Maximum bytes of an array: a small message can repeat a long term in each of its statements.
MAX_LISTS = 1 << 30
# Maximum blanks at the start of lines that are examined for all lines together.
_BLANKS = 8

Parse = Callable[[Any], list[Batch]]


def _parse_jelly(value: Any) -> list[Batch]:
    return list(drain(Decoder(), [value]))


def _parse_text(value: Any) -> list[Batch]:
    return list(drain(TextReader(quads=True), [value]))


class _Lists:
    """Builds lists of statements for values, array by array."""

    def __init__(self, layout: Layout, mode: Mode, parse: Parse, place: str) -> None:
        self._maker = RecordBatchBuilder(layout, False, None, ROWS)
        fields = [self._maker.schema.field(i) for i in range(len(self._maker.schema))]
        self.type = pa.list_(pa.field("element", pa.struct(fields)))
        self._mode = mode
        self._parse = parse
        self._place = place
        self._first = 0  # number of the first value of the current array

    def run(self, arrays: Iterator[pa.Array], quick: Callable[[pa.Array], Any] | None = None) -> Iterator[pa.Array]:
        """An array of lists, or several, for each array of values."""
        for array in arrays:
            with pyarrow_errors(self._place):
                array.validate()
            made = None if quick is None else quick(array)
            if made is not None:
                try:
                    yield self._lists(*made)
                    self._first += len(array)
                    continue
                except JellyError:
                    pass  # raised again below, with the number of its value
            yield from self._one_by_one(array)
            self._first += len(array)

    def _one_by_one(self, array: pa.Array) -> Iterator[pa.Array]:
        values = list(_buffers(array))
        at = 0
        while at < len(values) or not values:
            held: list[list[Batch] | None] = []
            rows = text = 0
            while at < len(values) and rows < ROWS and text < TEXT:
                parsed = self._parsed(self._first + at, values[at])
                for batch in parsed or ():
                    rows += len(batch)
                    text += batch.text.nbytes
                held.append(parsed)
                at += 1
            yield from self._lists_of(held, self._first + at - len(held))
            if not values:
                return

    def _parsed(self, number: int, value: Any) -> list[Batch] | None:
        if value is None:
            return None
        try:
            return self._parse(value)
        except JellyError as error:
            self._refuse(number, error)
            return None

    def _refuse(self, number: int, error: JellyError) -> None:
        """Ignore an error in PERMISSIVE mode, else raise it with the number of its value."""
        if self._mode == "FAILFAST":
            error.source = f"value {number} of {self._place}"
            raise error

    def _lists_of(self, held: list[list[Batch] | None], first: int) -> Iterator[pa.Array]:
        """The lists of some values, in one array if none of them is refused."""
        try:
            made = self._lists([batch for some in held for batch in some or ()], *_counts(held))
        except JellyError as error:
            if len(held) == 1:
                self._refuse(first, error)
                yield from self._lists_of([None], first)
                return
            # Some value has a term that the layout cannot hold, or all together are too large.
            half = len(held) // 2
            yield from self._lists_of(held[:half], first)
            yield from self._lists_of(held[half:], first + half)
        else:
            yield made

    def _lists(self, batches: list[Batch], counts: Any, null: Any) -> pa.Array:
        joined = batches[0] if len(batches) == 1 else join_batches(batches)
        parts = []
        room = MAX_LISTS
        for part in self._maker.run([(joined, 0, len(joined))]):
            room -= part.nbytes
            if room < 0:
                raise JellyLimitError(f"as columns the statements take more than {MAX_LISTS} bytes")
            parts.append(part)
        names = self._maker.schema.names
        columns = [pa.concat_arrays([part.column(i) for part in parts]) for i in range(len(names))] if parts else [
            pa.array([], field.type) for field in self._maker.schema
        ]  # fmt: skip
        fields = [self._maker.schema.field(i) for i in range(len(names))]
        offsets = np.zeros(len(counts) + 1, np.int32)
        np.cumsum(counts, out=offsets[1:])
        values = pa.StructArray.from_arrays(columns, fields=fields)
        mask = pa.array(null) if null is not None and null.any() else None
        return pa.ListArray.from_arrays(pa.array(offsets), values, type=self.type, mask=mask)


def _counts(held: list[list[Batch] | None]) -> tuple[Any, Any]:
    counts = np.array([sum(map(len, some or ())) for some in held], np.int64)
    return counts, np.array([some is None for some in held], bool)


def _buffers(array: pa.Array) -> Iterator[Any]:
    """The bytes of each value, without copying, or None."""
    if array.type in (pa.large_binary(), pa.large_string()):
        array = array.cast(pa.binary() if array.type == pa.large_binary() else pa.string())
    if not len(array):
        return
    _, offsets, data = array.buffers()
    memory = memoryview(data if data is not None else b"")
    ends = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1].tolist()
    valid = array.is_valid().to_pylist() if array.null_count else [True] * len(array)
    for i, there in enumerate(valid):
        yield memory[ends[i] : ends[i + 1]] if there else None


def frames_to_statements(
    arrays: Iterator[pa.Array], *, layout: Layout = "flat", mode: Mode = "FAILFAST", place: str = "the column"
) -> Iterator[pa.Array]:
    """Lists of statements of Jelly streams; each value is a stream.

    >>> import jelly, pyarrow
    >>> frame = jelly.dumps([jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"))])
    >>> lists = next(frames_to_statements(iter([pyarrow.array([frame, None])]), layout="ntriples"))
    >>> lists.to_pylist()
    [[{'s': '<a:s>', 'p': '<a:p>', 'o': '<a:o>', 'g': None}], None]
    """
    return _Lists(layout, mode, _parse_jelly, place).run(arrays)


def texts_to_statements(
    arrays: Iterator[pa.Array], *, layout: Layout = "flat", mode: Mode = "FAILFAST", place: str = "the column"
) -> Iterator[pa.Array]:
    """Lists of statements of texts in N-Triples or N-Quads; each value is a line or a document.

    >>> import pyarrow
    >>> lists = next(texts_to_statements(iter([pyarrow.array(["<a:s> <a:p> <a:o> .", ""])]), layout="ntriples"))
    >>> [len(statements) for statements in lists.to_pylist()]
    [1, 0]
    """
    return _Lists(layout, mode, _parse_text, place).run(arrays, _parse_together)


def _parse_together(array: pa.Array) -> tuple[list[Batch], Any, Any] | None:
    """Parse all texts as one, with numbers of statements and nulls; None if they must be parsed one by one.

    A statement is a line, so those of each text can be counted without parsing.
    """
    if not len(array):
        return None
    empty = pa.scalar("", array.type)
    lines = compute.binary_join_element_wise(array.fill_null(empty), empty, pa.scalar("\n", array.type))
    _, offsets, data = lines.buffers()
    if data is None or lines.type != pa.string():
        return None
    ends = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    text = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    breaks = np.flatnonzero((text == 10) | (text == 13))
    starts = np.concatenate([[0], breaks[:-1] + 1])
    first = starts.copy()
    for _ in range(_BLANKS):
        blank = (text[first] == 32) | (text[first] == 9)
        if not blank.any():
            break
        first[blank] += 1
    else:
        return None
    begins = text[first]
    said = np.concatenate([[0], np.cumsum((begins != 10) & (begins != 13) & (begins != ord("#")))])
    # Each text ends with a line, so its lines are those that start before the next one does.
    counts = np.diff(said[np.searchsorted(starts, ends - ends[0])])
    try:
        batches = _parse_text(text)
    except JellyError:
        return None
    if sum(map(len, batches)) != said[-1]:
        return None
    return batches, counts, array.is_null().to_numpy(zero_copy_only=False)


# ---- statements to messages

def statements_to_frames(
    arrays: Iterator[pa.Array],
    *,
    options: StreamOptions | None = None,
    delimited: bool = False,
    place: str = "the column",
) -> Iterator[pa.Array]:
    """A Jelly stream of one frame for each list of statements.

    The lists hold structs with the columns of a layout. Without ``options``, those with a named graph become streams of
    quads, the others streams of triples.

    >>> import jelly, pyarrow
    >>> lists = pyarrow.array([[{"s": "<a:s>", "p": "<a:p>", "o": "<a:o>"}], None])
    >>> frames = next(statements_to_frames(iter([lists])))
    >>> [None if frame is None else len(jelly.loads(frame)) for frame in frames.to_pylist()]
    [1, None]
    """
    packer: _Packer | None = None
    first = 0
    for array in arrays:
        packer = packer or _Packer(array.type, options, delimited)
        yield packer.pack(array, first, place)
        first += len(array)


class _Packer:
    """Encodes lists of statements of one type."""

    def __init__(self, type: pa.DataType, options: StreamOptions | None, delimited: bool) -> None:
        if not (pa.types.is_list(type) or pa.types.is_large_list(type)) or not pa.types.is_struct(type.value_type):
            raise JellyOptionsError(f"the column is of type {type}: expected an array of structs")
        self.names = [type.value_type.field(i).name for i in range(type.value_type.num_fields)]
        layout = check_columns(self.names)
        self._graph = find_layout(layout).column("graph")
        self._options = options
        self._delimited = delimited
        self._quads: bool | None = None
        if options is not None and options.physical_type != PhysicalType.UNSPECIFIED:
            self._quads = options.physical_type != PhysicalType.TRIPLES
        self._layout = layout

    def pack(self, array: pa.Array, first: int, place: str) -> pa.Array:
        with pyarrow_errors(place):
            array.validate()
        values = array.values
        ends = array.offsets.to_pylist()
        valid = array.is_valid().to_pylist()
        if values.null_count:
            raise JellyFormatError(f"a statement is null in {place}")
        arrays = {name: values.field(i) for i, name in enumerate(self.names) if name != "frame"}
        columns = {name: made for name, part in arrays.items() if (made := buffers_of(name, part)) is not None}
        graphs = [0] * (len(values) + 1)
        if self._graph in columns:
            named = arrays[self._graph].is_valid().to_numpy(zero_copy_only=False)
            graphs = [0, *np.cumsum(named).tolist()]
        intakes: dict[bool, ArrowImporter] = {}
        frames: list[bytes | None] = []
        for i, there in enumerate(valid):
            if not there:
                frames.append(None)
                continue
            start, end = ends[i], ends[i + 1]
            quads = graphs[end] > graphs[start] if self._quads is None else self._quads
            try:
                if quads not in intakes:
                    intakes[quads] = ArrowImporter(self._layout, quads=quads)
                frames.append(self._frame(intakes[quads], quads, columns, start, end))
            except JellyError as error:
                error.source = f"value {first + i} of {place}"
                raise
        return pa.array(frames, pa.binary())

    def _frame(
        self, intake: ArrowImporter, quads: bool, columns: dict[str, tuple[Any, ...]], start: int, end: int
    ) -> bytes:
        settings: dict[str, Any] = {"frame_rows": 0, "frame_bytes": 0, "delimited": self._delimited}
        allowed = ALL_FIELDS - {"physical_type"} if self._options is None else open_fields(self._options)
        options = self._options or default_options(4 if quads else 3)
        memory = Memory()
        encoder = WideningEncoder(options, lambda options: Encoder(options, **settings), allowed, memory)
        # Each column gets the range of its rows, which is cheaper than slices of arrays.
        intake.load(end - start, {name: (made[0] + start, *made[1:]) for name, made in columns.items()})
        while (batch := intake.pull(True)) is not None:
            memory.write(encoder.encode(batch, keep_frames=False))
        memory.write(encoder.close())
        return b"".join(memory.parts)
