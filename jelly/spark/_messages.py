"""Columns of messages as Arrow arrays; each value is a complete stream or text.

The part of `jelly.spark._udf` that runs on executors. Independent of Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any, Literal, NamedTuple

import numpy as np

from jelly._core.algebra.select import select
from jelly._core.arrow.importer import ArrowImporter
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._core.ntriples.text import TextReader
from jelly._formats.arrow_input import buffers_of, check_columns, pyarrow_errors
from jelly._formats.arrow_tables import RecordBatchBuilder, compute, pa, schema
from jelly._options.layouts import Layout, find_layout
from jelly._options.options import PhysicalType, StreamOptions
from jelly._streams.drain import drain
from jelly._streams.frames import stream_of
from jelly._streams.output_options import output_options
from jelly._streams.widening import ALL_FIELDS, open_fields
from jelly.errors import JellyError, JellyFormatError, JellyLimitError, JellyOptionsError
from jelly.kafka._reading import ValueReader
from jelly.patch._arrow import OPERATIONS, held_rows
from jelly.patch._changes import is_statement
from jelly.patch._patch import ADD

Mode = Literal["FAILFAST", "PERMISSIVE"]

# Statements and bytes of text at which an array is handed out.
ROWS = 1 << 15
TEXT = 1 << 24
# Maximum bytes of an array: a small message can repeat a long term in each of its statements.
MAX_LISTS = 1 << 30
# Maximum blanks at the start of lines that are examined for all lines together.
_BLANKS = 8

class _Parsed(NamedTuple):
    """The statements of a value, and of changes the operation of each (0: add, 1: delete)."""

    batches: list[Batch]
    ops: list[Any] | None = None


# Takes a value and its content type.
Parse = Callable[[Any, "str | None"], _Parsed]
# A value that was parsed, that is null, or that is broken and why.
Item = _Parsed | None | JellyError


class _ParseJelly:
    """Parses values of any format; with ``changes`` also patches."""

    def __init__(self, changes: bool, dictionaries: Sequence[bytes]) -> None:
        self._reader = ValueReader(dictionaries=dictionaries)
        self._changes = changes

    def __call__(self, value: Any, content_type: str | None) -> _Parsed:
        if not len(value):
            raise JellyFormatError("the value is empty")
        data, format, batches = self._reader.read(value, content_type)
        if batches is not None:
            return _Parsed(batches, [np.zeros(len(batch), np.int8) for batch in batches] if self._changes else None)
        if not self._changes:
            raise JellyFormatError(f"the value is a patch ({format.title}): from_jelly reads it with changes=True")
        made = _Parsed([], [])
        with self._reader.patches(data, format) as reader:
            for batch, start, stop, _ in held_rows(reader):
                op = np.asarray(batch.op)[start:stop]
                rows = np.flatnonzero(is_statement(op))
                made.batches.append(select(batch, rows + start, op=0))
                assert made.ops is not None
                made.ops.append(op[rows] - ADD)
        return made


def _parse_text(value: Any, content_type: str | None = None) -> _Parsed:
    return _Parsed(list(drain(TextReader(quads=True), [value])))


def type_of_lists(layout: Layout, changes: bool = False, reasons: bool = False) -> pa.DataType:
    """The type of the lists: of structs, with the reason of an error beside each list for ``reasons``."""
    fields = [pa.field("op", pa.string(), nullable=False)] if changes else []
    lists = pa.list_(pa.field("element", pa.struct([*fields, *schema(layout)])))
    return pa.struct({"statements": lists, "error": pa.string()}) if reasons else lists


class _Lists:
    """Builds lists of statements for values, array by array."""

    def __init__(
        self, layout: Layout, mode: Mode, parse: Parse, place: str, changes: bool = False, reasons: bool = False
    ) -> None:
        self._maker = RecordBatchBuilder(layout, batch_rows=ROWS)
        self.type = type_of_lists(layout, changes)
        self._changes = changes
        self._reasons = reasons
        self._mode = mode
        self._parse = parse
        self._place = place
        self._first = 0  # number of the first value of the current array
        self._labels: pa.Array | None = None  # of its values

    def run(self, arrays: Iterator[pa.Array], quick: Callable[[pa.Array], Any] | None = None) -> Iterator[pa.Array]:
        """An array of lists, or several, for each array of values."""
        for array in arrays:
            with pyarrow_errors(self._place):
                array.validate()
            made = None if quick is None else quick(array)
            if made is not None:
                try:
                    batches, counts, null = made
                    yield self._lists(batches, [], counts, null)
                    self._first += len(array)
                    continue
                except JellyError:
                    pass  # raised again below, with the number of its value
            yield from self._one_by_one(array)
            self._first += len(array)

    def _one_by_one(self, array: pa.Array) -> Iterator[pa.Array]:
        types: Any = repeat(None)
        self._labels = None
        if pa.types.is_struct(array.type):
            self._labels = array.field(2) if array.type.num_fields > 2 else None
            array, types = array.field(0), array.field(1).to_pylist()
        values = list(zip(_buffers(array), types, strict=False))
        at = 0
        while at < len(values) or not values:
            held: list[Item] = []
            rows = text = 0
            while at < len(values) and rows < ROWS and text < TEXT:
                parsed = self._parsed(self._first + at, *values[at])
                for batch in parsed.batches if isinstance(parsed, _Parsed) else ():
                    rows += len(batch)
                    text += batch.text.nbytes
                held.append(parsed)
                at += 1
            yield from self._lists_of(held, self._first + at - len(held))
            if not values:
                return

    def _parsed(self, number: int, value: Any, content_type: str | None) -> Item:
        if value is None:
            return None
        try:
            return self._parse(value, content_type)
        except JellyError as error:
            return self._refused(number, error)

    def _refused(self, number: int, error: JellyError) -> JellyError:
        """The error in PERMISSIVE mode; else it is raised with the number of its value."""
        if self._mode == "FAILFAST":
            label = None if self._labels is None else self._labels[number - self._first].as_py()
            error.source = f"value {number} of {self._place}" + (f" ({label})" if label else "")
            raise error
        return error

    def _lists_of(self, held: list[Item], first: int) -> Iterator[pa.Array]:
        """The lists of some values, in one array if none of them is refused."""
        parsed = [item for item in held if isinstance(item, _Parsed)]
        try:
            made = self._lists(
                [batch for item in parsed for batch in item.batches],
                [op for item in parsed for op in item.ops or ()],
                np.array([sum(map(len, item.batches)) if isinstance(item, _Parsed) else 0 for item in held], np.int64),
                np.array([not isinstance(item, _Parsed) for item in held], bool),
            )
        except JellyError as error:
            if len(held) == 1:
                yield from self._lists_of([self._refused(first, error)], first)
                return
            # Some value has a term that the layout cannot hold, or all together are too large.
            half = len(held) // 2
            yield from self._lists_of(held[:half], first)
            yield from self._lists_of(held[half:], first + half)
        else:
            yield self._with_reasons(made, held) if self._reasons else made

    def _with_reasons(self, lists: pa.Array, held: list[Item]) -> pa.Array:
        """The lists with the reason of each that there is none of. Where the value is null, so is the whole."""
        reasons = pa.array([str(item) if isinstance(item, JellyError) else None for item in held], pa.string())
        null = pa.array([item is None for item in held])
        return pa.StructArray.from_arrays([lists, reasons], names=["statements", "error"], mask=null)

    def _lists(self, batches: list[Batch], ops: list[Any], counts: Any, null: Any) -> pa.Array:
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
        if self._changes:
            codes = np.concatenate(ops) if ops else np.empty(0, np.int8)
            columns.insert(0, pa.array(OPERATIONS).take(pa.array(codes)))
        fields = list(self.type.value_type)
        offsets = np.zeros(len(counts) + 1, np.int32)
        np.cumsum(counts, out=offsets[1:])
        values = pa.StructArray.from_arrays(columns, fields=fields)
        mask = pa.array(null) if null is not None and null.any() else None
        return pa.ListArray.from_arrays(pa.array(offsets), values, type=self.type, mask=mask)


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
    arrays: Iterator[pa.Array],
    *,
    layout: Layout = "flat",
    mode: Mode = "FAILFAST",
    place: str = "the column",
    changes: bool = False,
    reasons: bool = False,
    dictionaries: Sequence[bytes] = (),
) -> Iterator[pa.Array]:
    """Lists of statements; each value is a Jelly stream, or a struct of it, its content type and its label.

    With ``changes`` each statement has its operation, and values may be patches. With ``reasons`` each list is beside
    the reason why it is null.

    >>> import jelly, pyarrow
    >>> frame = jelly.dumps([jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"))])
    >>> lists = next(frames_to_statements(iter([pyarrow.array([frame, None])]), layout="ntriples"))
    >>> lists.to_pylist()
    [[{'s': '<a:s>', 'p': '<a:p>', 'o': '<a:o>', 'g': None}], None]
    """
    return _Lists(layout, mode, _ParseJelly(changes, dictionaries), place, changes, reasons).run(arrays)


def texts_to_statements(
    arrays: Iterator[pa.Array],
    *,
    layout: Layout = "flat",
    mode: Mode = "FAILFAST",
    place: str = "the column",
    reasons: bool = False,
) -> Iterator[pa.Array]:
    """Lists of statements of texts in N-Triples or N-Quads; each value is a line or a document.

    >>> import pyarrow
    >>> lists = next(texts_to_statements(iter([pyarrow.array(["<a:s> <a:p> <a:o> .", ""])]), layout="ntriples"))
    >>> [len(statements) for statements in lists.to_pylist()]
    [1, 0]
    """
    return _Lists(layout, mode, _parse_text, place, reasons=reasons).run(arrays, None if reasons else _parse_together)


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
        batches = _parse_text(text).batches
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
        allowed = ALL_FIELDS - {"physical_type"} if self._options is None else open_fields(self._options)
        options = self._options or output_options(None, 4 if quads else 3)
        # Each column gets the range of its rows, which is cheaper than slices of arrays.
        intake.load(end - start, {name: (made[0] + start, *made[1:]) for name, made in columns.items()})
        batches = iter(lambda: intake.pull(True), None)
        return stream_of(batches, options, allowed, delimited=self._delimited)
