"""Patches as Arrow tables and back: added and deleted statements, with columns for operation and patch.

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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jelly._core.algebra.changes import Transactions
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.terms.operations import Commit, Header, Start
from jelly._formats.registry import JELLY_PATCH, PATCH_READING, PATCH_WRITING
from jelly._options.layouts import Layout
from jelly._options.options import PatchOptions, StatementType
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError, JellyError
from jelly.patch._changes import is_statement
from jelly.patch._patch import ADD, DELETE, PUNCTUATION, Patch
from jelly.patch._stream import PatchReader, PatchWriter

OPERATIONS = ("add", "delete")

Rows = tuple[Batch, int, int, int]  # a Batch, the range of its rows, the number of the patch


def held_rows(reader: PatchReader) -> Iterator[Rows]:
    """Committed rows. The rows of a transaction come when it is committed, and may take memory until then."""
    number = 0
    transactions = Transactions()
    for batch in reader.batches():
        start = 0
        for end in [*np.flatnonzero(np.asarray(batch.op) == PUNCTUATION).tolist(), len(batch)]:
            for unit in transactions.take(batch, start, end):
                for rows in unit:
                    yield *rows, number
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
        for batch, start, stop, number in held_rows(reader):
            op = np.asarray(batch.op)[start:stop]
            rows = np.flatnonzero(is_statement(op))
            op = op[rows] - ADD
            row = 0
            made = arrow.from_batches(
                [select(batch, rows + start, op=0)], columns=wanted or None, batch_rows=batch_rows, **shape
            )
            for found in made:
                n = len(found)
                arrays = {name: found.column(name) for name in found.schema.names}
                arrays["op"] = pa.array(OPERATIONS).take(pa.array(op[row : row + n]))
                arrays["patch"] = pa.array(np.full(n, number))
                row += n
                yield pa.RecordBatch.from_arrays([arrays[name] for name in names], schema=made_schema)

    made_schema = pa.schema([fields[name] for name in names])
    return pa.RecordBatchReader.from_batches(made_schema, batches())


@checked(PATCH_WRITING)
def write_arrow(
    dst: Any,
    data: Any,
    *,
    layout: Layout | None = None,
    options: PatchOptions | Mapping[str, Any] | None = None,
    headers: Iterable[Header] = (),
    transactions: bool = True,
    **settings: Any,
) -> int:
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
    return write_changes(dst, data, layout, options, headers, transactions, **settings)[0]


def write_changes(
    dst: Any,
    data: Any,
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
