"""Patches as tables, and tables as patches: the statements that they add and delete as Arrow, with columns for what was
done and by which patch.

A table of changes of any other kind becomes one of these by its names. A change data feed, for one, whose updates are
a row of what was and one of what is now:

>>> import io, duckdb
>>> from jelly.patch import dumps, loads, write_arrow
>>> feed = duckdb.sql('''
...     from (values (7, 'update_preimage', '<a:s>', '"1"'), (7, 'update_postimage', '<a:s>', '"2"'))
...         as feed(version, change, s, o)
...     select if(change in ('insert', 'update_postimage'), 'add', 'delete') as op, version as patch, s, '<a:p>' as p, o
...     order by version, op desc''')
>>> out = io.BytesIO()
>>> write_arrow(out, feed)
2
>>> print(dumps(loads(out.getvalue()), format="rdfp").decode(), end="")
TX .
D <a:s> <a:p> "1" .
A <a:s> <a:p> "2" .
TC .
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any, Literal

import numpy as np

from jelly._core.algebra.changes import Transactions
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.terms.operations import Commit, Header, Start
from jelly._io.settings import checked
from jelly._options import PatchOptions, StatementType
from jelly.errors import JellyError
from jelly.patch._changes import is_statement
from jelly.patch._formats import JELLYP, PATCH_READING
from jelly.patch._stream import ADD, DELETE, PUNCTUATION, Patch, PatchReader, PatchWriter

__all__ = ["convert_table", "read_arrow", "write_arrow"]

OPERATIONS = ("add", "delete")

Rows = tuple[Batch, int, int, int]  # a Batch, the range of its rows, the number of the patch


def _held(reader: PatchReader) -> Iterator[Rows]:
    """Rows that hold: those of a transaction when it is committed, which may take memory until then."""
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
    """The statements that the patches of ``src`` add and delete, in their order, as a ``pyarrow.RecordBatchReader``.

    The columns are ``op`` ("add" or "delete"), ``patch`` (number of the patch, int64, from 0) and those of
    `jelly.read_arrow`: ``settings`` may have its ``layout``, ``dictionary`` and ``batch_rows``, and those of
    `PatchReader`. What was aborted is left out, and so are headers and namespaces.

    >>> from jelly.patch import read_arrow
    >>> table = read_arrow(b"D <a:s> <a:p> '1' .\\n".replace(b"'", b'"'), format="rdfp").read_all()
    >>> table.select(["op", "patch", "subject", "object"]).to_pylist()
    [{'op': 'delete', 'patch': 0, 'subject': 'a:s', 'object': '1'}]
    """
    from jelly import arrow

    pa = arrow.pa
    shape = {name: settings.pop(name) for name in ("layout", "dictionary") if name in settings}
    own = {"op": pa.string(), "patch": pa.int64()}
    wanted = columns if columns is None else [name for name in columns if name not in own]
    schema = arrow.schema(columns=wanted or None, **shape)
    fields = {name: pa.field(name, kind, nullable=False) for name, kind in own.items()}
    fields |= {field.name: field for field in schema}
    names = [*fields] if columns is None else list(columns)
    batch_rows = settings.pop("batch_rows", arrow.BATCH_ROWS)
    reader = PatchReader(src, **settings)

    def batches() -> Iterator[Any]:
        for batch, start, stop, number in _held(reader):
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


@checked(signature(PatchWriter).parameters)
def write_arrow(
    dst: Any,
    data: Any,
    options: PatchOptions | None = None,
    *,
    layout: Literal["flat", "ntriples"] | None = None,
    headers: Iterable[Header] = (),
    transactions: bool = True,
    **settings: Any,
) -> int:
    """Write a table of changes as patches to ``dst``; the number of its rows. `read_arrow` gives the table again.

    ``data`` and ``layout`` are those of `jelly.write_arrow`, ``dst``, ``options`` and ``settings`` those of
    `PatchWriter`. Besides the columns of a layout there is ``op``: add, insert or A, and delete or D, in capitals or
    not. There may be ``patch``, integers: where the number changes, a patch ends. It must not fall from one row to the
    next, and what it is, is not written. No other columns may be there. The rows stay in their order, which matters
    where a statement is added and deleted.

    Each patch is a transaction, but without ``transactions``. The ``headers`` stand at the beginning of the first. A
    table without rows is an empty patch.

    Without options the statements are quads if a graph is named in the first 64 MB of the table. A later one is an
    error: give ``PatchOptions(statement_type=StatementType.QUADS)`` where that can be.

    JellyOptionsError where columns are missing, unknown or of another type, or where the options forbid a statement or
    a second patch; JellyFormatError where a value is wrong or null. Both name the row of the table, from 0.

    >>> import io, pyarrow
    >>> from jelly import IRI
    >>> from jelly.patch import Header, loads, write_arrow
    >>> table = pyarrow.table({"op": ["add", "D"], "s": ["<a:s>"] * 2, "p": ["<a:p>"] * 2, "o": ['"o"', "_:b"]})
    >>> out = io.BytesIO()
    >>> write_arrow(out, table, headers=[Header("id", IRI("uuid:1"))])
    2
    >>> [str(operation) for patch in loads(out.getvalue()) for operation in patch]
    ['H id <uuid:1> .', 'TX .', 'A <a:s> <a:p> "o" .', 'D <a:s> <a:p> _:b .', 'TC .']
    """
    from jelly._formats.arrow_input import InputTable

    table = InputTable(data, layout, patch=True)
    if options is None:
        options = PatchOptions(statement_type=StatementType.QUADS if table.has_graphs() else StatementType.TRIPLES)
    rows = 0
    with PatchWriter(dst, options, **settings) as writer:
        for head in Patch([*headers, *[Start()] * transactions]).batches():
            writer.add_batch(head)
        quads = writer.format is not JELLYP or options.statement_type == StatementType.QUADS
        for batch in table.batches(quads, transactions):
            before = writer.operations if writer.format is JELLYP else batch.first_row
            is_row = np.asarray(batch.op) <= DELETE
            try:
                writer.add_batch(batch)
            except JellyError as error:
                # Of the rows of patches, marks are none of the table.
                if error.row is not None:
                    error.row = rows + int(np.count_nonzero(is_row[: error.row - before]))
                raise
            rows += int(np.count_nonzero(is_row))
        if transactions:
            writer.add(Commit())
    return rows


def convert_table(
    src: Any,
    dst: Any,
    options: PatchOptions | None = None,
    *,
    layout: Literal["flat", "ntriples"] = "flat",
    from_format: str | None = None,
    to_format: str | None = None,
    limits: Mapping[str, Any] | None = None,
    **settings: Any,
) -> int:
    """Convert between a file of a table and a file of patches, as their suffixes say; the number of statements.

    ``layout`` is that of `read_arrow`, ``options`` and ``settings`` those of `write_arrow`, ``limits`` those of
    `PatchReader`.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> monday, table = (os.path.join(folder, name) for name in ("monday.rdfp", "monday.csv"))
    >>> with open(monday, "w") as file:
    ...     _ = file.write("TX .\\nA <a:s> <a:p> <a:o> .\\nTC .\\n")
    >>> convert_table(monday, table), convert_table(table, monday)
    (1, 1)
    """
    from jelly._formats.table_files import convert_with

    return convert_with(
        src,
        dst,
        lambda: read_arrow(src, layout=layout, format=from_format, **(limits or {})),
        lambda table: write_arrow(dst, table, options, format=to_format, **settings),
    )
