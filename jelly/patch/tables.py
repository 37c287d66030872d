"""Patches as tables: the statements that they add and delete as Arrow, with columns for what was done and by which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jelly.core.batch import Batch
from jelly.core.operations import take_rows
from jelly.patch.stream import PUNCTUATION, PatchReader

__all__ = ["read_arrow"]

START, COMMIT, ABORT = 6, 7, 8
OPERATIONS = ("add", "delete")

Rows = tuple[Batch, int, int, int]  # a Batch, the range of its rows, the number of the patch


def _held(reader: PatchReader) -> Iterator[Rows]:
    """Rows that hold: those of a transaction when it is committed, which may take memory until then."""
    number = 0
    waiting: list[Rows] | None = None
    for batch in reader.batches():
        op = np.asarray(batch.op)
        at = 0
        for mark in [*np.flatnonzero((op >= START) & (op <= ABORT) | (op == PUNCTUATION)).tolist(), len(op)]:
            if at < mark:
                rows = batch, at, mark, number
                if waiting is None:
                    yield rows
                else:
                    waiting.append(rows)
            at = mark + 1
            if mark == len(op):
                break
            if op[mark] == START:
                waiting = []
            elif op[mark] == PUNCTUATION:
                number += 1
            else:
                if op[mark] == COMMIT:
                    yield from waiting or ()
                waiting = None


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
            op = op[(op == 2) | (op == 3)] - 2
            row = 0
            made = arrow.from_batches(
                [take_rows(batch, start, stop, True)], columns=wanted or None, batch_rows=batch_rows, **shape
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
