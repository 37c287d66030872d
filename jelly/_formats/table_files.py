"""Table files (Parquet, Arrow IPC and CSV) for `jelly.read_arrow` and `jelly.write_arrow`."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from jelly._bytes.raw_bytes import RawBytes, joined
from jelly._bytes.sink import Sink
from jelly._bytes.source import CHUNK, Source
from jelly._bytes.workers import Workers, in_order
from jelly._core.base.batch import Batch
from jelly._formats.arrow_input import InputTable, pyarrow_errors, to_stream, validated
from jelly._formats.arrow_tables import BATCH_ROWS, csv, pa, parquet
from jelly._formats.registry import TABLE_SUFFIXES, Format, table_kind
from jelly._options.layouts import LAYOUTS
from jelly.errors import JellyError, JellyUnsupportedError

# Maximum rows and bytes of a row group of Parquet.
GROUP_ROWS = 1 << 18
GROUP_BYTES = 1 << 26
# Maximum bytes of a row of CSV.
CSV_BLOCK = 1 << 25


@dataclass(eq=False)
class TableReader:
    """Reads a table file of statements, which its library wants as a whole."""

    _kind: str
    _settings: dict[str, Any]
    # The threads that make Batches of rows.
    workers: Workers | None = None
    statements: int = 0

    def batches(self, source: Source) -> Iterator[Batch]:
        """The Batches, all of triples or all of quads."""
        # CSV and streams of Arrow are read as they come, the others from their ends.
        opened: Any = source.file()
        if self._kind in ("csv", "arrows"):
            # pyarrow takes fewer bytes than it asked for as the end, or as a block: a buffer gives all.
            opened = nullcontext(io.BufferedReader(RawBytes(joined(source.chunks())), CHUNK))
        with opened as file:
            with pyarrow_errors("the table", of_file=True):
                found, batches = _opened(self._kind, file)
            made = pa.RecordBatchReader.from_batches(found, validated(batches, of_file=True))
            table = InputTable(made)
            for batch in table.batches(table.has_graphs(), self.workers, **self._settings):
                self.statements += len(batch)
                yield batch


def open_reader(format: Format, *, delimited: Any, strict: bool, on_error: str, **settings: Any) -> TableReader:
    """Make a reader of a table, see `jelly._formats.registry.Format.codec`."""
    if on_error != "raise":
        raise JellyUnsupportedError(f"errors in {format.title} cannot be skipped: only those of lines can")
    return TableReader(format.name, settings)


def read_table_file(path: str | os.PathLike[str]) -> pa.RecordBatchReader:
    """The rows of a Parquet, Arrow IPC or CSV file, in parts. In CSV an empty field without quotes is a null."""
    rows = _rows(_kind_of(path), os.fsdecode(path))
    return pa.RecordBatchReader.from_batches(next(rows), rows)


def _kind_of(path: Any) -> str:
    if (kind := table_kind(path)) is None:
        raise JellyError(f"not a table: expected a suffix of {', '.join(TABLE_SUFFIXES)}", source=str(path))
    return kind


def _rows(kind: str, name: str) -> Iterator[Any]:
    """The schema of a table file, and then its rows. Errors name it."""
    try:
        with pyarrow_errors("the table", of_file=True):
            schema, batches = _opened(kind, name)
        yield schema
        yield from validated(batches, of_file=True)
    except JellyError as error:
        error.source = name
        raise


def _opened(kind: str, name: Any) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """The schema and the rows of a file, or of the path of one."""
    if kind == "parquet":
        file = parquet.ParquetFile(name)
        return file.schema_arrow, file.iter_batches(batch_size=BATCH_ROWS)
    if kind == "csv":
        types = {"op": pa.string()} | {name: pa.string() for layout in LAYOUTS.values() for name in layout.parts}
        made = csv.open_csv(
            name,
            read_options=csv.ReadOptions(block_size=CSV_BLOCK),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
            ),
        )
        return made.schema, made
    source = pa.memory_map(name) if isinstance(name, str) else name
    is_file = False
    if source.seekable():
        place = source.tell()
        is_file = source.read(6) == b"ARROW1"
        source.seek(place)
    opened: Any = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
    return opened.schema, map(opened.get_batch, range(opened.num_record_batches)) if is_file else opened


class _Out(io.RawIOBase):
    """A `Sink` as a file object for pyarrow."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._sink.write(bytes(data))
        return len(data)


def write_table_file(path: Any, data: Any, **how: Any) -> int:
    """Write ``data``, a reader or anything that `write_arrow` takes, see `write_record_batches`: the number of rows."""
    stream = to_stream(data)
    return write_record_batches(path, stream.schema, validated(stream), **how)[0]


def write_record_batches(
    path: Any,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    *,
    group_rows: int = GROUP_ROWS,
    kind: str | None = None,
    workers: Workers | None = None,
) -> tuple[int, int]:
    """Write valid record batches to a Parquet (zstd), Arrow IPC or CSV file. Return the numbers of rows and of bytes.
    The file gets its name only when it is complete.

    With ``kind``, the name of the format, ``path`` may also be ``-`` or a file object. ``workers`` encode.
    """
    kind = kind or _kind_of(path)
    rows = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal rows
        for batch in batches:
            rows += len(batch)
            yield batch
            del batch  # before the next one takes memory

    with Sink(path) as sink, pyarrow_errors("the table"):
        out = _Out(sink)
        if kind == "parquet":
            with parquet.ParquetWriter(out, schema, compression="zstd") as file:
                for group in _groups(counted(), group_rows):
                    file.write_table(pa.Table.from_batches(group, schema))
                    group.clear()
        elif kind == "csv":
            _write_csv(out, schema, counted(), workers or Workers(1))
        else:
            # The file format has one dictionary per column, but here each record batch has its own.
            is_stream = kind == "arrows"
            written = schema if is_stream else _undictionary(schema)
            with (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(out, written) as file:
                for batch in counted():
                    file.write_table(pa.Table.from_batches([batch], schema).cast(written))
    return rows, sink.size


def _groups(batches: Iterable[pa.RecordBatch], group_rows: int) -> Iterator[list[pa.RecordBatch]]:
    held: list[pa.RecordBatch] = []
    n = size = 0
    for batch in batches:
        held.append(batch)
        n += len(batch)
        size += batch.nbytes
        del batch
        if n >= group_rows or size >= GROUP_BYTES:
            yield held
            held, n, size = [], 0, 0
    if held:
        yield held


def _write_csv(out: _Out, schema: pa.Schema, batches: Iterable[pa.RecordBatch], workers: Workers) -> None:
    plain = _undictionary(schema)  # CSV has none
    if lists := [field.name for field in schema if pa.types.is_list(field.type)]:
        raise JellyUnsupportedError(f"CSV has no lists, as there are in the columns {', '.join(lists)}: write Parquet")

    def lines(batch: pa.RecordBatch) -> Any:
        made = io.BytesIO()
        table = pa.Table.from_batches([batch], schema).cast(plain)
        csv.write_csv(table, made, csv.WriteOptions(include_header=False))
        return made.getbuffer()

    with csv.CSVWriter(out, plain):
        pass  # the head
    for _, made in in_order(workers, batches, lines):
        out.write(made)


def _undictionary(schema: pa.Schema) -> pa.Schema:
    return pa.schema([
        field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field for field in schema
    ])
