"""Tables as input: checks of a table and its columns before they become Batches.

Arrow data from a file or another library may be damaged, and the functions of pyarrow trust it: so each record batch is
validated before any of them sees it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from jelly._core.arrow.importer import ArrowImporter
from jelly._core.base.batch import Batch
from jelly._io.limits import memory_error
from jelly._layouts import Layout, find_layout, guess_layout
from jelly.arrow import MAX_PEEK, compute, pa
from jelly.errors import JellyFormatError, JellyOptionsError

__all__ = ["InputTable", "buffers_of", "check_columns", "pyarrow_errors", "to_stream", "validated"]


def to_stream(data: Any) -> pa.RecordBatchReader:
    """A reader of anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``."""
    # What pyarrow has, it hands over as it is: the C interface knows no sizes of buffers, so that behind it nobody can
    # tell any more whether offsets lead out of them.
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
    raise TypeError(
        f"cannot take a table from {type(data).__name__}: it has neither __arrow_c_stream__ nor __arrow_c_array__"
    )


def check_columns(names: list[str], layout: Layout | None = None, patch: bool = False) -> Layout:
    """The layout that columns with these names have; JellyOptionsError where they are not those of a layout, or with
    ``patch`` those of a table of changes.

    >>> check_columns(["s", "p", "o"])
    'ntriples'
    """
    found = guess_layout(names) if layout is None else find_layout(layout)
    first, number = (("op",), "patch") if patch else ((), "frame")
    problems = [
        (f"{what} {', '.join(map(repr, wrong))}")
        for what, wrong in (
            ("missing", [name for name in (*first, *found.required) if name not in names]),
            ("unknown", [name for name in names if name not in (*first, *found.parts, number)]),
            ("more than once", sorted({name for name in names if names.count(name) > 1})),
        )
        if wrong
    ]
    if problems:
        raise JellyOptionsError(
            f'the columns are not those of layout="{found.name}": {"; ".join(problems)}; '
            f"expected {', '.join((*first, *found.columns))} and perhaps {', '.join((*found.optional, number))}"
        )
    return found.name


def validated(
    batches: Iterable[pa.RecordBatch], *, full: bool = True, of_file: bool = False
) -> Iterator[pa.RecordBatch]:
    """Record batches whose buffers are as long as they must be, with ``full`` also all that they hold: kernels of
    pyarrow
    rely on it, and end the process where it is not so. JellyFormatError, or JellyLimitError where memory is short.

    An OSError means that a file is broken where they come out of one (``of_file``), else it is the caller's own.
    What another library handed over through the C interface must be right: that tells no sizes to check against.
    """
    iterator = iter(batches)
    n = 0
    while True:
        with pyarrow_errors(f"record batch {n}", of_file):
            batch = next(iterator, None)
            if batch is not None:
                batch.validate(full=full)
        if batch is None:
            return
        yield batch
        del batch
        n += 1


@contextmanager
def pyarrow_errors(what: str, of_file: bool = False) -> Iterator[None]:
    """Within this, what pyarrow finds wrong with ``what`` is one of our errors."""
    try:
        yield
    except MemoryError as error:  # that of pyarrow among them
        raise memory_error(error) from None
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise JellyFormatError(f"{what} is broken: {error}") from None
    except OSError as error:
        if error.errno is not None or not of_file:  # of the disk, or of whoever gives the rows
            raise
        raise JellyFormatError(f"{what} is broken: {error}") from None


class InputTable:
    """A table on its way into Batches: of statements, or with ``patch`` of changes."""

    def __init__(self, data: Any, layout: Layout | None = None, patch: bool = False) -> None:
        stream = to_stream(data)
        with pyarrow_errors("the schema"):
            names = stream.schema.names
        self.layout = check_columns(names, layout, patch)
        self._patch = patch
        # What no kernel sees, `ArrowImporter` checks itself: in half the time.
        self._batches = validated(stream, full=False, of_file=isinstance(data, pa.RecordBatchStreamReader))
        self._first: list[pa.RecordBatch] = []

    def has_graphs(self) -> bool:
        """Whether a graph is named in the first record batches, which are kept."""
        size = 0
        graph = find_layout(self.layout).column("graph")
        for batch in self._batches:
            self._first.append(batch)
            if graph not in batch.schema.names:
                return False
            column = batch.column(graph)
            with pyarrow_errors(f"column {graph!r}"):
                column.validate(full=True)
            # A dictionary may hold a null value; is_null sees through that.
            if column.null_count < len(column) and not compute.all(column.is_null()).as_py():
                return True
            size += batch.nbytes
            if size > MAX_PEEK:
                break
        return False

    def batches(self, quads: bool, transactions: bool = False) -> Iterator[Batch]:
        """The Batches of the table, see `ArrowImporter`."""
        intake = ArrowImporter(self.layout, quads=quads, patch=self._patch, transactions=transactions)
        while self._first:
            yield from _taken(intake, self._first.pop(0))
        for batch in self._batches:
            yield from _taken(intake, batch)
        if (rest := intake.pull(True)) is not None:
            yield rest


def _taken(intake: ArrowImporter, batch: pa.RecordBatch) -> Iterator[Batch]:
    columns = {}
    numbers = None
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        if name in ("frame", "patch"):
            numbers = _numbers(name, array)
        elif (column := buffers_of(name, array)) is not None:
            columns[name] = column
    intake.load(len(batch), columns, numbers)
    while (full := intake.pull()) is not None:
        yield full


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
    """What ArrowImporter.load wants to know of a column; None where all of it is null."""
    index = None
    type = values = array.type
    if pa.types.is_dictionary(type):
        index = _cast(name, array.indices, pa.int32())
        array, values = array.dictionary, type.value_type
    if pa.types.is_null(values):
        return None
    wide = pa.types.is_large_string(values)
    if not wide and not pa.types.is_string(values):
        if not str(values).startswith("string_view"):
            raise JellyOptionsError(f"column {name!r} is of type {type}: expected strings, plain or dictionary")
        array, wide = _cast(name, array, pa.large_string()), True
    valid, offsets, data = array.buffers()
    if index is None:
        return array.offset, valid, None, 0, len(array), None, wide, offsets, data
    index_valid, codes = index.buffers()
    return index.offset, index_valid, codes, array.offset, len(array), valid, wide, offsets, data
