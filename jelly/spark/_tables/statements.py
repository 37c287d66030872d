"""Statements of the flat layout in buckets by subject, which vertical and wide tables are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from jelly._core.base.batch import Batch
from jelly._dataset.tables.profile import LARGE
from jelly._formats.arrow_tables import from_batches, pa, parquet
from jelly.spark._tables.buckets import Ids, bucket_of, hash_ids, write_buckets

__all__ = ["FOLDER", "read_statements", "write_statements"]

FOLDER = "statements"
# Maximum statements and bytes that a task sorts at once.
_RUN_ROWS = 1 << 20
_RUN_BYTES = 1 << 28


def write_statements(batches: Iterable[Batch], folder: str, name: str, *, buckets: int) -> int:
    """Write statements in buckets by subject to ``statements`` in ``folder``. Return the number of rows."""
    rows = run = 0
    tables: list[pa.Table] = []
    hashes: list[Ids] = []

    def write() -> None:
        nonlocal run
        of_rows = bucket_of(np.concatenate(hashes), buckets)
        order = np.argsort(of_rows, kind="stable")
        part = f"{name}-{run}" if run else name
        write_buckets(pa.concat_tables(tables).take(order), of_rows[order], folder, FOLDER, part)
        tables.clear()
        hashes.clear()
        run += 1

    for batch in batches:
        if len(batch):
            tables.append(from_batches([batch]).read_all())
            hashes.append(hash_ids(batch)[batch.s])
            rows += len(batch)
        if sum(map(len, tables)) >= _RUN_ROWS or sum(table.nbytes for table in tables) >= _RUN_BYTES:
            write()
    if tables:
        write()
    return rows


def read_statements(paths: Sequence[str]) -> pa.Table:
    """The statements of some files."""
    return pa.concat_tables([parquet.ParquetFile(path).read().cast(LARGE) for path in paths] or [LARGE.empty_table()])
