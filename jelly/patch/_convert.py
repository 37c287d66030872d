"""Patches for the functions of all contents, see `jelly._streams.inputs.by_content`: `convert`, and Arrow tables of
added and deleted statements, with columns for operation and patch.

A table of changes of any other kind becomes one of these by its names. A change data feed, for one, whose updates are
a row of what was and one of what is now:

>>> import io, duckdb, jelly
>>> from jelly.patch import dumps, loads
>>> feed = duckdb.sql('''
...     from (values (7, 'update_preimage', '<a:s>', '"1"'), (7, 'update_postimage', '<a:s>', '"2"'))
...         as feed(version, change, s, o)
...     select if(change in ('insert', 'update_postimage'), 'add', 'delete') as op, version as patch, s, '<a:p>' as p, o
...     order by version, op desc''')
>>> out = io.BytesIO()
>>> jelly.write_arrow(out, feed, content="patches")
2
>>> print(dumps(loads(out.getvalue()), format="rdfp").decode(), end="")
TX .
D <a:s> <a:p> "1" .
A <a:s> <a:p> "2" .
TC .
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from typing import Any

import numpy as np

from jelly._bytes.names import is_path, name_of
from jelly._bytes.source import MAX_EXPANSION, Progress, Source
from jelly._bytes.workers import Workers
from jelly._core.algebra.changes import Transactions
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.terms.operations import Commit, Header, Start
from jelly._dataset.output import Conversion, bytes_of, convert_items, refuse_for_tables
from jelly._dataset.seekable.file import Indexed
from jelly._formats.registry import JELLY_PATCH, PATCH_READING, PATCH_WRITING, SEEKING, Content, find, table_kind
from jelly._options.layouts import Layout
from jelly._options.options import MIN_NAME_TABLE, PatchOptions, StatementType
from jelly._options.settings import checked
from jelly._streams.outputs import open_fields
from jelly.errors import JellyArgumentError, JellyError
from jelly.patch._changes import is_statement
from jelly.patch._patch import ADD, DELETE, PUNCTUATION, Patch
from jelly.patch._stream import PatchFile, PatchReader, PatchWriter

OPERATIONS = ("add", "delete")

def changed_rows(reader: PatchReader, progress: Progress | None = None) -> Iterator[tuple[Batch, Any, int]]:
    """The statements of committed rows, the operation of each (0: add, 1: delete), and the number of the patch.

    The rows of a transaction come when it is committed, and may take memory until then.
    """
    number = 0
    transactions = Transactions()
    for batch in reader.watched(progress):
        start = 0
        for end in [*np.flatnonzero(np.asarray(batch.op) == PUNCTUATION).tolist(), len(batch)]:
            for unit in transactions.take(batch, start, end):
                for held, first, last in unit:
                    op = np.asarray(held.op)[first:last]
                    rows = np.flatnonzero(is_statement(op))
                    yield select(held, rows + first, op=0), op[rows] - ADD, number
            if end < len(batch):
                number += 1
            start = end + 1


@checked(PATCH_READING, ("layout", "dictionary"))
def read_arrow(src: Any, *, columns: Sequence[str] | None = None, **settings: Any) -> Any:
    """Read the additions and deletions of patches, see `jelly.read_arrow`.

    >>> table = read_arrow(b"D <a:s> <a:p> '1' .\\n".replace(b"'", b'"'), format="rdfp").read_all()
    >>> table.select(["op", "patch", "subject", "object"]).to_pylist()
    [{'op': 'delete', 'patch': 0, 'subject': 'a:s', 'object': '1'}]
    """
    from jelly._formats import arrow_tables as arrow

    pa = arrow.pa
    shape = {name: settings.pop(name) for name in ("layout", "dictionary") if name in settings}
    own = {"op": pa.string(), "patch": pa.int64()}
    wanted = columns if columns is None else [name for name in columns if name not in own]
    schema = arrow.schema(columns=wanted or None, **shape)
    if columns is not None and (not columns or len({*columns}) < len(columns)):
        raise JellyArgumentError("columns must name at least one column, and each once")
    if lost := [name for name in wanted or () if name in ("frame", "row", "metadata")]:
        raise JellyArgumentError(f"a table of changes has no columns {', '.join(lost)}, but patch: its number")
    fields = {name: pa.field(name, kind, nullable=False) for name, kind in own.items()}
    fields |= {field.name: field for field in schema}
    names = [*fields] if columns is None else list(columns)
    batch_rows = settings.pop("batch_rows", arrow.BATCH_ROWS)
    reader = PatchReader(src, **settings)

    def batches() -> Iterator[Any]:
        for batch, op, number in changed_rows(reader):
            row = 0
            for found in arrow.from_batches([batch], columns=wanted or None, batch_rows=batch_rows, **shape):
                n = len(found)
                arrays = {name: found.column(name) for name in found.schema.names}
                arrays["op"] = pa.array(OPERATIONS).take(pa.array(op[row : row + n]))
                arrays["patch"] = pa.array(np.full(n, number))
                row += n
                yield pa.RecordBatch.from_arrays([arrays[name] for name in names], schema=made_schema)

    made_schema = pa.schema([fields[name] for name in names])
    return pa.RecordBatchReader.from_batches(made_schema, batches())


def write_arrow(*args: Any, **given: Any) -> int:
    """Write a table of changes as patches, see `jelly.write_arrow`. A table without rows is an empty patch.

    >>> import io, pyarrow
    >>> from jelly import IRI
    >>> from jelly.patch import Header, loads
    >>> table = pyarrow.table({"op": ["add", "D"], "s": ["<a:s>"] * 2, "p": ["<a:p>"] * 2, "o": ['"o"', "_:b"]})
    >>> out = io.BytesIO()
    >>> write_arrow(out, table, headers=[Header("id", IRI("uuid:1"))])
    2
    >>> [str(operation) for patch in loads(out.getvalue()) for operation in patch]
    ['H id <uuid:1> .', 'TX .', 'A <a:s> <a:p> "o" .', 'D <a:s> <a:p> _:b .', 'TC .']
    """
    return write_changes(*args, **given)[0]


@checked(PATCH_WRITING)
def write_changes(
    dst: Any,
    data: Any,
    *,
    layout: Layout | None = None,
    options: PatchOptions | Mapping[str, Any] | None = None,
    headers: Iterable[Header] = (),
    transactions: bool = True,
    **settings: Any,
) -> tuple[int, int]:
    """`write_arrow`: the numbers of rows and of bytes."""
    from jelly._formats.arrow_input import InputTable

    table = InputTable(data, layout, patch=True)
    if not isinstance(options, PatchOptions):
        kind = StatementType.QUADS if table.has_graphs() else StatementType.TRIPLES
        options = {"statement_type": kind} | dict(options or {})
    rows = 0
    is_reading = False
    # Where the Batches begin that the writer may hold: as rows of patches, and of the table, which has no marks.
    begun: list[tuple[int, int, Any]] = []
    try:
        with PatchWriter(dst, options, **settings) as writer:
            for head in Patch([*headers, *[Start()] * bool(transactions)]).batches():
                writer.add_batch(head)
            quads = writer.format is not JELLY_PATCH or writer.options.statement_type == StatementType.QUADS
            is_reading = True  # an error of the table names its row
            for batch in table.batches(quads, transactions=transactions):
                is_reading = False
                if not writer.is_holding:
                    begun.clear()
                is_row = np.asarray(batch.op) <= DELETE
                begun.append((writer._rows if writer.format is JELLY_PATCH else batch.first_row, rows, is_row))
                writer.add_batch(batch)
                rows += int(np.count_nonzero(is_row))
                is_reading = True
            is_reading = False
            if transactions:
                writer.add(Commit())
    except JellyError as error:
        if error.row is not None and not is_reading:
            for before, first, is_row in begun[::-1]:
                if error.row >= before:
                    error.row = first + int(np.count_nonzero(is_row[: error.row - before]))
                    break
        raise
    return rows, writer._sink.size


# ---- files

Reader = PatchReader
File = PatchFile


@checked(PATCH_READING - {"format"}, PATCH_WRITING - {"format"})
def convert(
    src: Any,
    dst: Any,
    *,
    format: str | None = None,
    to: str | None = None,
    options: PatchOptions | Mapping[str, Any] | None = None,
    writing: Mapping[str, Any] | None = None,
    layout: Layout = "flat",
    progress: Progress | None = None,
    threads: int = 1,
    **given: Any,
) -> Conversion:
    """Convert patches, see `jelly.convert`. ``delimited`` is for the output."""
    writing = {name: given.pop(name) for name in given.keys() & PATCH_WRITING} | {**(writing or {})}
    if table_kind(src) or table_kind(dst):
        return _convert_table(src, dst, format, to, options, writing, layout, progress, given)
    with ExitStack() as stack:
        workers = stack.enter_context(Workers(threads))
        reader: Any = PatchReader(src, format=format, **given)
        reader.workers = workers
        file = None
        has_threads = workers.threads > 1 and reader.format is JELLY_PATCH
        if has_threads and is_path(src) and os.path.isfile(src) and given.keys() <= SEEKING:
            with suppress(JellyError):  # there is no index
                file = PatchFile(src, **given)
        if file is not None:
            reader.close()
            reader = Indexed(file, threads)

        def open_writer() -> PatchWriter:
            chosen = options
            if not isinstance(options, PatchOptions) and reader.options is not None:
                names = max(MIN_NAME_TABLE, reader.options.max_name_table_size)
                chosen = reader.options.replace(**{"max_name_table_size": names} | dict(options or {}))
            writer = PatchWriter(dst, chosen, **{"format": to, "threads": workers, **writing})
            if writer.format is JELLY_PATCH:
                # Where one thread reads, which takes longer than encoding, one encodes beside it: more slow it down.
                writer._workers = None if file is None else writer._workers
                writer._start(open_fields(options), holds=False)
            return writer

        return convert_items(reader, open_writer, progress, "operations")


def _convert_table(
    src: Any,
    dst: Any,
    format: str | None,
    to: str | None,
    options: Any,
    writing: Mapping[str, Any],
    layout: Layout,
    progress: Progress | None,
    given: Mapping[str, Any],
) -> Conversion:
    """Convert patches to a table of changes, or such a table to patches or to another table."""
    from jelly._formats.table_files import read_table_file, write_record_batches

    began = time.perf_counter()
    kind = find(to, name_of(dst), content=Content.TABLE).name if table_kind(dst) else None
    if kind is not None:
        refuse_for_tables(writing)
    with ExitStack() as stack:
        if table_kind(src):
            size, source = bytes_of(src), None
            batches = table = read_table_file(src)
        else:
            source = stack.enter_context(closing(Source(src, given.get("max_expansion", MAX_EXPANSION))))
            table = read_arrow(source, layout=layout, format=format, **given)
            batches = source.watched(table, progress)
        if kind is None:
            rows, written = write_changes(dst, table, options=options, format=to, **writing)
        else:
            rows, written = write_record_batches(dst, table.schema, batches, kind=kind)
        if source is not None:
            size = source.bytes_read
    return Conversion(rows, size, written, time.perf_counter() - began, 0, [])
