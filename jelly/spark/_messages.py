"""Columns of messages as Arrow arrays; each value is a complete stream or text.

The part of `jelly.spark._udf` that runs on executors. Independent of Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal, TypeAlias

import numpy as np

from jelly._core.arrow.importer import ArrowImporter
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._core.ntriples.text import TextReader
from jelly._formats.arrow_input import buffers_of, check_columns, pyarrow_errors
from jelly._formats.arrow_tables import RecordBatchBuilder, compute, pa, schema
from jelly._options.layouts import Layout, find_layout
from jelly._options.options import PhysicalType, StreamOptions
from jelly._streams.drain import drain
from jelly._streams.outputs import ALL_FIELDS, open_fields, output_options, stream_of
from jelly.errors import JellyError, JellyFormatError, JellyLimitError, JellyOptionsError
from jelly.kafka._deserializer import ValueReader
from jelly.patch._convert import OPERATIONS, changed_rows

Mode = Literal["FAILFAST", "PERMISSIVE"]

# Statements and bytes of text at which an array is handed out.
ROWS = 1 << 15
TEXT = 1 << 24
# Maximum bytes of an array: a small message can repeat a long term in each of its statements.
MAX_LISTS = 1 << 30
# Values that are copied at a time.
_COPIES = 64
# What ends a text among others: they are read as a message log.
_END = "\nMESSAGE\n"

Arrays: TypeAlias = Iterator[pa.Array]
# The statements of a value; where they are changes, with the operation of each (0: add, 1: delete).
Parsed: TypeAlias = list[tuple[Batch, Any]]
# Takes a value and its content type.
Parse: TypeAlias = Callable[[Any, "str | None"], Parsed]


# A value: its number, its label, and its statements, None if it is null, or the reason why it is refused.
Value: TypeAlias = tuple[int, str | None, Parsed | JellyError | None]


class _ParseJelly:
    """Parses values of any format; with ``changes`` also patches."""

    def __init__(self, changes: bool, dictionaries: Sequence[bytes]) -> None:
        self._reader = ValueReader(dictionaries=dictionaries)
        self._changes = changes

    def __call__(self, value: Any, content_type: str | None) -> Parsed:
        if not len(value):
            raise JellyFormatError("the value is empty")
        data, format, batches = self._reader.read(value, content_type)
        if batches is not None:
            return [(batch, None) for batch in batches]
        if not self._changes:
            raise JellyFormatError(f"the value is a patch ({format.title}): from_jelly reads it with changes=True")
        with self._reader.patches(data, format) as reader:
            return [(batch, op) for batch, op, _ in changed_rows(reader)]


def _parse_text(value: Any, content_type: str | None = None) -> Parsed:
    return [(batch, None) for batch in drain(TextReader(quads=True), [value])]


def type_of_lists(layout: Layout, changes: bool = False, reasons: bool = False) -> pa.DataType:
    """The type of the lists: of structs, with the reason of an error beside each list for ``reasons``."""
    fields = [pa.field("op", pa.string(), nullable=False)] if changes else []
    lists = pa.list_(pa.field("element", pa.struct([*fields, *schema(layout)])))
    return pa.struct({"statements": lists, "error": pa.string()}) if reasons else lists


# The statements of all values of an array together, the number of those of each, and which values are null.
Together: TypeAlias = tuple[Parsed, Any, pa.Array]


@dataclass
class _Lists:
    """Builds lists of statements for values, array by array."""

    layout: Layout
    mode: Mode
    parse: Parse
    place: str
    changes: bool = False
    reasons: bool = False

    def __post_init__(self) -> None:
        self._maker = RecordBatchBuilder(self.layout, batch_rows=ROWS)
        self._type = type_of_lists(self.layout, self.changes)

    def run(
        self, arrays: Arrays, quick: Callable[[pa.Array], Together | None] | None = None
    ) -> Arrays:
        """An array of lists, or several, for each array of values."""
        first = 0
        for array in arrays:
            with pyarrow_errors(self.place):
                array.validate()
            made = None
            try:
                if quick is not None and (together := quick(array)) is not None:
                    made = self._lists(*together)
            except JellyError:
                pass  # raised again below, with the number of its value
            yield from self._one_by_one(array, first) if made is None else (made,)
            first += len(array)

    def _one_by_one(self, array: pa.Array, first: int) -> Arrays:
        types = labels = [None] * len(array)
        if pa.types.is_struct(array.type):
            types, labels = (array.field(i).to_pylist() for i in (1, 2))
            array = array.field(0)
        array = array.cast(pa.binary())
        copies = (value for at in range(0, len(array), _COPIES) for value in array.slice(at, _COPIES).to_pylist())
        held: list[Value] = []
        rows = text = 0
        for number, (data, content_type, label) in enumerate(zip(copies, types, labels, strict=True), first):
            parsed = None
            try:
                if data is not None:
                    parsed = self.parse(data, content_type)
            except JellyError as error:
                held.append(self._refused(number, label, error))
                continue
            held.append((number, label, parsed))
            for batch, _ in parsed or ():
                rows += len(batch)
                text += batch.text.nbytes
            if rows >= ROWS or text >= TEXT:
                yield from self._lists_of(held)
                held, rows, text = [], 0, 0
        if held or not len(array):
            yield from self._lists_of(held)

    def _refused(self, number: int, label: str | None, error: JellyError) -> Value:
        """A value with its error in PERMISSIVE mode; else this is raised with the number of the value."""
        if self.mode == "FAILFAST":
            error.source = f"value {number} of {self.place}" + (f" ({label})" if label else "")
            raise error
        return number, label, error

    def _lists_of(self, held: list[Value]) -> Arrays:
        """The lists of some values, in one array if none of them is refused."""
        parsed = [item if isinstance(item, list) else None for *_, item in held]
        try:
            made = self._lists(
                [pair for pairs in parsed for pair in pairs or ()],
                [sum(len(batch) for batch, _ in pairs or ()) for pairs in parsed],
                pa.array([pairs is None for pairs in parsed], pa.bool_()),
            )
        except JellyError as error:
            # Some value has a term that the layout cannot hold, or all together are too large.
            if half := len(held) // 2:
                yield from self._lists_of(held[:half])
                held = held[half:]
            else:
                held = [self._refused(*held[0][:2], error)]
            yield from self._lists_of(held)
        else:
            yield self._with_reasons(made, held) if self.reasons else made

    def _with_reasons(self, lists: pa.Array, held: list[Value]) -> pa.Array:
        """The lists with the reason of each that there is none of. Where the value is null, so is the whole."""
        reasons = pa.array([str(item) if isinstance(item, JellyError) else None for *_, item in held], pa.string())
        null = pa.array([item is None for *_, item in held], pa.bool_())
        return pa.StructArray.from_arrays([lists, reasons], names=["statements", "error"], mask=null)

    def _lists(self, parsed: Parsed, counts: Any, null: pa.Array) -> pa.Array:
        batches = [batch for batch, _ in parsed]
        joined = batches[0] if len(batches) == 1 else join_batches(batches)
        parts = []
        room = MAX_LISTS
        for part in self._maker.run([(joined, 0, len(joined))]):
            room -= part.nbytes
            if room < 0:
                raise JellyLimitError(f"as columns the statements take more than {MAX_LISTS} bytes")
            parts.append(part)
        table = pa.Table.from_batches(parts, self._maker.schema)
        if self.changes:
            ops = [np.zeros(len(batch), np.int8) if op is None else op for batch, op in parsed]
            codes = pa.array(np.concatenate([np.empty(0, np.int8), *ops]))
            table = table.add_column(0, self._type.value_type[0], pa.array(OPERATIONS).take(codes))
        values = table.to_struct_array().combine_chunks()
        offsets = pa.array(np.cumsum(np.append(0, counts), dtype=np.int32))
        return pa.ListArray.from_arrays(offsets, values, type=self._type, mask=null)


def frames_to_statements(
    arrays: Arrays,
    *,
    layout: Layout = "flat",
    mode: Mode = "FAILFAST",
    place: str = "the column",
    changes: bool = False,
    reasons: bool = False,
    dictionaries: Sequence[bytes] = (),
) -> Arrays:
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
    arrays: Arrays,
    *,
    layout: Layout = "flat",
    mode: Mode = "FAILFAST",
    place: str = "the column",
    reasons: bool = False,
) -> Arrays:
    """Lists of statements of texts in N-Triples or N-Quads; each value is a line or a document.

    >>> import pyarrow
    >>> lists = next(texts_to_statements(iter([pyarrow.array(["<a:s> <a:p> <a:o> .", ""])]), layout="ntriples"))
    >>> [len(statements) for statements in lists.to_pylist()]
    [1, 0]
    """
    return _Lists(layout, mode, _parse_text, place, reasons=reasons).run(arrays, None if reasons else _parse_together)


def _parse_together(array: pa.Array) -> Together | None:
    """Parse all texts as the messages of a log; None if they must be parsed one by one."""
    texts = pa.ListArray.from_arrays([0, len(array)], array.fill_null(""))
    reader = TextReader(quads=True, messages="directive", announced=True)
    batches = list(drain(reader, [compute.binary_join(texts, _END)[0].as_buffer(), _END.encode()]))
    counts = np.concatenate([np.diff(batch.frames, prepend=0) for batch in batches])
    # There are more where a text itself says that a message ends, which is an error.
    return ([(batch, None) for batch in batches], counts, array.is_null()) if len(counts) == len(array) else None


# ---- statements to messages

def statements_to_frames(
    arrays: Arrays,
    *,
    options: StreamOptions | None = None,
    delimited: bool = False,
    place: str = "the column",
) -> Arrays:
    """A Jelly stream of one frame for each list of statements.

    The lists hold structs with the columns of a layout. Without ``options``, those with a named graph become streams of
    quads, the others streams of triples.

    >>> import jelly, pyarrow
    >>> lists = pyarrow.array([[{"s": "<a:s>", "p": "<a:p>", "o": "<a:o>"}], None])
    >>> frames = next(statements_to_frames(iter([lists])))
    >>> [None if frame is None else len(jelly.loads(frame)) for frame in frames.to_pylist()]
    [1, None]
    """
    first = 0
    for array in arrays:
        with pyarrow_errors(place):
            array.validate()
        yield pa.array([*_packed(array, first, options, delimited, place)], pa.binary())
        first += len(array)


def _packed(
    array: pa.Array, first: int, options: StreamOptions | None, delimited: bool, place: str
) -> Iterator[bytes | None]:
    """The stream of each list of statements, of which the first has a number."""
    type = array.type
    if not (pa.types.is_list(type) or pa.types.is_large_list(type)) or not pa.types.is_struct(type.value_type):
        raise JellyOptionsError(f"the column is of type {type}: expected an array of structs")
    names = type.value_type.names
    layout = check_columns(names)
    values = array.values
    if values.null_count:
        raise JellyFormatError(f"a statement is null in {place}")
    columns = {name: made for name in names if name != "frame"
               and (made := buffers_of(name, values.field(name))) is not None}  # fmt: skip
    graphs = [0] * (len(values) + 1)
    if (graph := find_layout(layout).column("graph")) in columns:
        graphs[1:] = np.cumsum(values.field(graph).is_valid()).tolist()
    allowed = ALL_FIELDS - {"physical_type"} if options is None else open_fields(options)
    kind = PhysicalType.UNSPECIFIED if options is None else options.physical_type
    intake_of = cache(lambda quads: ArrowImporter(layout, quads=quads))
    ends = array.offsets.to_pylist()
    for i, there in enumerate(array.is_valid().to_pylist()):
        if not there:
            yield None
            continue
        start, end = ends[i], ends[i + 1]
        quads = graphs[end] > graphs[start] if kind == PhysicalType.UNSPECIFIED else kind != PhysicalType.TRIPLES
        try:
            intake = intake_of(quads)
            # Each column gets the range of its rows, which is cheaper than slices of arrays.
            intake.load(end - start, {name: (made[0] + start, *made[1:]) for name, made in columns.items()})
            batches = iter(partial(intake.pull, True), None)
            yield stream_of(
                batches, options or output_options(None, 4 if quads else 3), allowed, delimited=delimited, frame_bytes=0
            )
        except JellyError as error:
            error.source = f"value {first + i} of {place}"
            raise
