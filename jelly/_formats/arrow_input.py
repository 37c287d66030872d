"""Tables as input: checks of a table and its columns, and its pieces, which any number of threads turn into Batches.

The Batches are the same for any number of threads.

Arrow data from a file or another library may be damaged, and the functions of pyarrow trust it: so each record batch is
validated before any of them sees it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from jelly._bytes.workers import Workers, in_order
from jelly._core.algebra.reshape import in_cells
from jelly._core.arrow.importer import ArrowImporter
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import number_rows
from jelly._formats.arrow_tables import TERM, compute, pa
from jelly._options.layouts import (
    LAYOUTS,
    VALUES,
    Layout,
    ResultLayout,
    check_result_layout,
    find_layout,
    guess_layout,
)
from jelly._options.literals import to_lexical
from jelly.errors import JellyArgumentError, JellyError, JellyFormatError, JellyOptionsError, memory_error

# Bytes that are looked through for a named graph before the kind of stream is chosen.
MAX_PEEK = 1 << 26

# Rows of a piece. The first becomes one Batch, by which a writer decides its options; the others too where there are
# dictionaries, whose values are looked at once for each Batch. Batches of plain strings fit into the caches.
PIECE_ROWS, PLAIN_ROWS = 1 << 15, 1 << 12
# Cells of a Batch of query results, and its text, of which there is no more than in the table.
MAX_CELLS, MAX_TEXT = 1 << 20, 1 << 62


# How pandas calls the numbers of rows that a frame keeps when rows are chosen or sorted.
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


def to_stream(data: Any) -> pa.RecordBatchReader:
    """A reader of anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``, without the index of pandas."""
    stream = _reader_of(data)
    with pyarrow_errors("the schema"):
        schema = stream.schema
        if b"pandas" not in (schema.metadata or {}):
            return stream
        places = [at for at, name in enumerate(schema.names) if not _PANDAS_INDEX.fullmatch(name)]
    if len(places) == len(schema):
        return stream
    made = pa.schema(map(schema.field, places), schema.metadata)
    return pa.RecordBatchReader.from_batches(made, (batch.select(places) for batch in stream))


def _reader_of(data: Any) -> pa.RecordBatchReader:
    # Objects of pyarrow are used directly: the C interface has no sizes of buffers, so that nobody can check
    # whether offsets are inside of them.
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.Table):
        return data.to_reader()
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    if hasattr(data, "__arrow_c_array__"):
        batch = pa.record_batch(data)
        return pa.RecordBatchReader.from_batches(batch.schema, [batch])
    raise JellyArgumentError(
        f"cannot take a table from {type(data).__name__}: it has neither __arrow_c_stream__ nor __arrow_c_array__"
    )


def check_columns(names: list[str], layout: Layout | None = None, patch: bool = False) -> Layout:
    """The layout with columns of these names; JellyOptionsError if no layout has them, or with
    ``patch`` if no table of changes has them.

    >>> check_columns(["s", "p", "o"])
    'ntriples'
    """
    found = guess_layout(names) if layout is None else find_layout(layout)
    first, number = (("op",), "patch") if patch else ((), "frame")
    known = VALUES if found.name == "flat" else ()  # left out
    problems = [
        (f"{what} {', '.join(map(repr, wrong))}")
        for what, wrong in (
            ("missing", [name for name in (*first, *found.required) if name not in names]),
            ("unknown", [name for name in names if name not in (*first, *found.parts, number, *known)]),
            ("more than once", sorted({name for name in names if names.count(name) > 1})),
        )
        if wrong
    ]
    if problems:
        raise JellyOptionsError(
            f'the columns are not those of layout="{found.name}": {"; ".join(problems)}; '
            f"expected {', '.join((*first, *found.columns))} and perhaps {', '.join((*found.optional, number))}"
            f"; {_others(found.name)}"
        )
    return found.name


# What columns may hold, by the syntax of a layout.
_VALUES = {"plain": "object_kind is iri, bnode, literal or triple", "ntriples": "values are in N-Triples syntax"}


def _others(name: str) -> str:
    """The values of a layout, and what other layouts there are, for errors."""
    others = (f'layout="{one}" has {", ".join(found.columns)}' for one, found in LAYOUTS.items() if one != name)
    return "; ".join((_VALUES[LAYOUTS[name].syntax], *others))


def validated(
    batches: Iterable[pa.RecordBatch], *, full: bool = True, of_file: bool = False
) -> Iterator[pa.RecordBatch]:
    """Record batches with validated buffers, with ``full`` also validated contents. Kernels of
    pyarrow rely on both and crash the process otherwise.
    JellyFormatError, or JellyLimitError without memory.

    If the batches come from a file (``of_file``, or a stream that pyarrow has opened), an OSError means that it is
    broken, else the caller raised it. Data that another library gives by the C interface must be valid: it has no sizes
    to check against.
    """
    iterator = iter(batches)
    for n in itertools.count():
        with pyarrow_errors(f"record batch {n}", of_file or isinstance(batches, pa.RecordBatchStreamReader)):
            batch = next(iterator, None)
            if batch is None:
                return
            batch.validate(full=full)
            for field, column in zip(batch.schema, batch.columns, strict=True) if full else ():
                if not field.nullable and column.null_count:
                    raise pa.ArrowInvalid(f"column {field.name!r} has null values, which its field does not allow")
        yield batch
        del batch  # before the next one takes memory


@contextmanager
def pyarrow_errors(what: str, of_file: bool = False) -> Iterator[None]:
    """Context manager: errors of pyarrow about ``what`` become a JellyError."""
    try:
        yield
    except MemoryError as error:  # also the one of pyarrow
        raise memory_error(error) from None
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        # Those of the disk, and of the producer of the rows, are not ours.
        if isinstance(error, OSError) and (error.errno is not None or not of_file):
            raise
        raise JellyFormatError(f"{what} is broken: {error}") from None


class InputTable:
    """Converts a table of statements, or with ``patch`` of changes, to Batches."""

    def __init__(self, data: Any, layout: Layout | None = None, patch: bool = False) -> None:
        stream = to_stream(data)
        with pyarrow_errors("the schema"):
            names = stream.schema.names
            plain = not any(map(pa.types.is_dictionary, stream.schema.types))
        self._rows = PIECE_ROWS, PLAIN_ROWS if plain else PIECE_ROWS
        self.layout = check_columns(names, layout, patch)
        self._names = names
        self._patch = patch
        # Data that no kernel reads is checked by `ArrowImporter`, in half the time.
        self._batches = validated(stream, full=False)
        self._first: list[pa.RecordBatch] = []

    def has_graphs(self) -> bool:
        """Whether the first record batches, which are kept, have named graphs."""
        size = 0
        graph = find_layout(self.layout).column("graph")
        for batch in self._batches:
            self._first.append(batch)
            if graph not in batch.schema.names:
                return False
            column = batch.column(graph)
            with pyarrow_errors(f"column {graph!r}"):
                column.validate(full=True)
            # A dictionary may hold a null value; is_null finds those too.
            if column.null_count < len(column) and not compute.all(column.is_null()).as_py():
                return True
            size += batch.nbytes
            if size > MAX_PEEK:
                break
        return False

    def batches(
        self, quads: bool, workers: Workers | None = None, *, batch_rows: int | None = None, **settings: Any
    ) -> Iterator[Batch]:
        """The Batches of the table. The settings are those of `ArrowImporter`."""

        def make(rows: int) -> ArrowImporter:
            return ArrowImporter(self.layout, quads=quads, patch=self._patch, batch_rows=rows, **settings)

        if not self._patch and "frame" not in self._names:
            rows = self._rows if batch_rows is None else (batch_rows, batch_rows)
            yield from batches_of(self._each(), make, workers or Workers(1), rows)
            return
        # Frames and patches end where their number changes.
        yield from _taken(make(batch_rows or 2 * PIECE_ROWS), self._each())

    def _each(self) -> Iterator[pa.RecordBatch]:
        while self._first:
            yield self._first.pop(0)
        yield from self._batches


def _taken(intake: ArrowImporter, tables: Iterable[pa.RecordBatch]) -> Iterator[Batch]:
    """The Batches that an importer makes of some record batches."""
    for table in tables:
        columns = {}
        numbers = None
        for name, array in zip(table.schema.names, table.columns, strict=True):
            if name in ("frame", "patch"):
                numbers = _numbers(name, array)
            elif name not in VALUES and (column := buffers_of(name, array)) is not None:
                columns[name] = column
        intake.load(len(table), columns, numbers)
        yield from iter(intake.pull, None)
    if (rest := intake.pull(True)) is not None:
        yield rest


def _numbers(name: str, array: pa.Array) -> tuple[Any, ...]:
    if not pa.types.is_integer(array.type):
        raise JellyOptionsError(f"column {name!r} is of type {array.type}: expected integers")
    array = _cast(name, array, pa.int64())
    valid, data = array.buffers()
    return array.offset, valid, data


def _cast(name: str, array: pa.Array, type: pa.DataType) -> pa.Array:
    if array.type == type:
        return array
    with pyarrow_errors(f"column {name!r}"):
        array.validate(full=True)
    try:
        return array.cast(type)
    except pa.ArrowInvalid as error:
        raise JellyFormatError(f"column {name!r}: {error}") from None


def buffers_of(name: str, array: pa.Array) -> tuple[Any, ...] | None:
    """The arguments of ArrowImporter.load for a column; None if all of its values are null."""
    index = None
    type = values = array.type
    if pa.types.is_dictionary(type):
        index = _cast(name, array.indices, pa.int32())
        array, values = array.dictionary, type.value_type
    if pa.types.is_null(values):
        return None
    wide = pa.types.is_large_string(values)
    if not wide and not pa.types.is_string(values):
        if array.null_count == len(array):  # pandas takes an empty column for one of numbers
            return None
        if not str(values).startswith("string_view"):
            raise JellyOptionsError(f"column {name!r} is of type {type}: expected strings, plain or dictionary")
        array, wide = _cast(name, array, pa.large_string()), True
    valid, offsets, data = array.buffers()
    if index is None:
        return array.offset, valid, None, 0, len(array), None, wide, offsets, data
    index_valid, codes = index.buffers()
    return index.offset, index_valid, codes, array.offset, len(array), valid, wide, offsets, data


# ---- query results


def results_of(data: Any, layout: ResultLayout | None = None) -> tuple[tuple[str, ...], Iterator[Batch]]:
    """The variables and the Batches of a table of query results; see `jelly.results.write_results`."""
    if layout is not None:
        check_result_layout(layout)
    stream = to_stream(data)
    with pyarrow_errors("the schema"):
        schema = stream.schema
        told = (schema.metadata or {}).get(b"layout", b"").decode()
    texts = [field.name for field in schema if _is_text(field.type)]
    ours = told in ("flat", "typed") or {*LAYOUTS["flat"].required} <= {*texts}  # of results, or of statements
    if texts and (layout == "term" or (layout is None and ours)):
        raise JellyOptionsError(
            f"column {texts[0]!r} has strings, which do not tell IRIs from literals: make the table with "
            'layout="term" or "ntriples", or pass layout="flat" to write plain literals'
        )
    syntax: Layout = "ntriples" if (layout or told) == "ntriples" else "flat"
    return tuple(schema.names), _results(tuple(schema.names), validated(stream), syntax)


def _is_text(type: pa.DataType) -> bool:
    values = type.value_type if pa.types.is_dictionary(type) else type
    return any(is_kind(values) for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _results(names: tuple[str, ...], tables: Iterator[pa.RecordBatch], syntax: Layout) -> Iterator[Batch]:
    row = 0
    size = max(1, min(PIECE_ROWS, MAX_CELLS // max(1, len(names))))
    for table in tables:
        for start in range(0, len(table), size):
            piece = table.slice(start, size)
            yield number_rows(_result_batch(names, piece, syntax, row), row)
            row += len(piece)


def _result_batch(names: tuple[str, ...], table: pa.RecordBatch, syntax: Layout, row: int) -> Batch:
    """Each variable becomes the objects of some statements in one Batch, whose terms are those of the rows."""
    intake = ArrowImporter(syntax, quads=False, batch_rows=len(table) * len(names) + 1, batch_bytes=MAX_TEXT)
    cells = np.full((len(table), len(names)), -1, np.int32)
    n = 0  # statements
    for i, (name, array) in enumerate(zip(names, table.columns, strict=True)):
        valid = compute.is_valid(array)
        rows = np.flatnonzero(valid.to_numpy(zero_copy_only=False))
        columns = {}
        for to, one in _statements(name, array, syntax).items():
            if pa.types.is_string_view(one.type):  # which filters do not take
                one = _cast(name, one, pa.large_string())
            if (buffers := buffers_of(name, one.filter(valid))) is not None:
                columns[to] = buffers
        try:
            intake.load(len(rows), columns)
            for _ in iter(intake.pull, None):
                pass  # those before a wrong value, of which the next call tells
        except JellyError as error:
            if error.row is None:
                raise
            reason = error.reason.partition(": ")[2]
            raise type(error)(f"column {name!r}: {reason}", row=int(rows[error.row - n]) + row) from None
        cells[rows, i] = np.arange(n, n + len(rows))
        n += len(rows)
    if (made := intake.pull(True)) is not None:
        bound = cells >= 0
        cells[bound] = made.o[cells[bound]]
    return in_cells(made, names, cells)


def _statements(name: str, array: pa.Array, syntax: Layout) -> dict[str, pa.Array]:
    """The columns of statements whose objects are of a column of structs, of strings, or of values."""
    type, n = array.type, len(array)
    same = {"subject": pa.repeat("x:x", n), "predicate": pa.repeat("x:x", n)}
    if pa.types.is_struct(type) and syntax == "flat":
        found = dict(zip((field.name for field in type), array.flatten(), strict=True))
        if {"kind", "value"} <= found.keys() <= TERM.keys():
            return same | {TERM[field]: column for field, column in found.items()}
    datatype = None
    if not _is_text(type) and not pa.types.is_null(type):
        array, datatype = _canonical(name, array)
    if syntax == "ntriples":
        if datatype is not None:
            array = compute.binary_join_element_wise('"', array.cast(pa.string()), f'"^^<{datatype}>', "")
        return {"s": pa.repeat("<x:x>", n), "p": pa.repeat("<x:x>", n), "o": array}
    same |= {"object": array, "object_kind": pa.repeat("literal", n)}
    return same if datatype is None else same | {"datatype": pa.repeat(datatype, n)}


def _canonical(name: str, array: pa.Array) -> tuple[pa.Array, str | None]:
    """The canonical lexical forms of values, and their datatype."""
    type = array.type
    if pa.types.is_timestamp(type):
        array = _cast(name, array, pa.timestamp("us", type.tz))  # datetime has no more digits
    try:
        coded = array if pa.types.is_dictionary(type) else array.dictionary_encode()
        forms: list[Any] = [to_lexical(value) for value in coded.dictionary.to_pylist()]
        texts = pa.array([form[0] for form in forms], pa.string())
    except (pa.ArrowNotImplementedError, TypeError):
        raise JellyOptionsError(
            f"column {name!r} is of type {type}: expected strings, numbers, times, or structs of {', '.join(TERM)}"
        ) from None
    except (ValueError, OverflowError) as error:
        raise JellyFormatError(f"column {name!r}: {error}") from None
    return pa.DictionaryArray.from_arrays(coded.indices, texts), forms[0][1] if forms else None


# ---- pieces


def pieces_of(tables: Iterable[Any], rows: int = PIECE_ROWS) -> Iterator[list[Any]]:
    """Record batches in pieces of so many rows, however they come. The data is not copied."""
    held: list[Any] = []
    room = rows
    for table in tables:
        at = 0
        while len(table) - at >= room:
            yield [*held, table.slice(at, room)]
            at += room
            held, room = [], rows
        if at < len(table):
            held.append(table.slice(at))
            room -= len(table) - at
        del table  # before the next one takes memory
    if held:
        yield held


def batches_of(
    tables: Iterable[Any], make: Callable[[int], ArrowImporter], workers: Workers, rows: tuple[int, int]
) -> Iterator[Batch]:
    """The Batches of record batches, by importers that ``make`` makes for Batches of so many rows: those of the first
    piece, and of all others."""
    idle: list[tuple[ArrowImporter, int]] = []  # with the number of rows that each was given

    def taken(numbered: tuple[int, list[Any]]) -> Iterator[Batch]:
        """The Batches of a piece; an error after them has a row of the piece."""
        number, piece = numbered
        try:
            importer, given = idle.pop()
        except IndexError:
            importer, given = make(rows[number > 0]), 0
        try:
            yield from _taken(importer, piece)
        except JellyError as error:
            if error.row is not None:
                error.row -= given
            raise
        if number > 0 or rows[0] == rows[1]:
            idle.append((importer, given + sum(map(len, piece))))

    def kept(numbered: tuple[int, list[Any]]) -> Iterator[Batch]:
        """The same, all made now."""
        found: list[Batch] = []
        broken: JellyError | None = None
        try:
            for batch in taken(numbered):
                found.append(batch)
        except JellyError as error:
            broken = error
        return _given(found, broken)

    pieces = enumerate(pieces_of(tables, max(1, PIECE_ROWS // rows[0]) * rows[0]))
    # One thread makes a Batch when the one before is used up: its text is in the cache then.
    parts = in_order(workers, pieces, kept) if workers.threads > 1 else ((each, taken(each)) for each in pieces)
    n = loaded = 0
    for (_, piece), found in parts:
        try:
            for batch in found:
                yield number_rows(batch, n)
                n += len(batch)
                del batch  # before the next one takes memory
        except JellyError as error:
            if error.row is not None:
                error.row += loaded
            raise
        loaded += sum(map(len, piece))


def _given(found: list[Batch], error: JellyError | None) -> Iterator[Batch]:
    while found:
        yield found.pop(0)
    if error is not None:
        raise error
