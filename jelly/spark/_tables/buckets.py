"""Partitions by the hash of a term: a bucket is a range of hashes, a directory ``bucket=<number>`` of Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from jelly._core.algebra.content import term_hash
from jelly._core.base.batch import Batch
from jelly._formats.arrow_tables import pa, parquet
from jelly._formats.table_files import GROUP_ROWS
from jelly.errors import JellyArgumentError, JellyOptionsError

__all__ = ["BUCKETS", "ID_BITS", "MAX_SEED", "Ids", "bucket_of", "check_buckets", "hash_ids", "hash_terms",
           "write_buckets", "write_parquet"]  # fmt: skip

Ids: TypeAlias = npt.NDArray[np.int64]

BUCKETS = 16
MAX_BUCKETS = 1 << 12
# A hash is a number from 0 to 2^63 - 1, which fits into a signed integer of 64 bits.
ID_BITS = 63
MAX_SEED = (1 << 128) - 1


def check_buckets(buckets: int) -> None:
    """JellyOptionsError if a hash cannot be cut into this number of ranges.

    >>> check_buckets(12)
    Traceback (most recent call last):
    jelly.JellyOptionsError: buckets is 12: expected a power of 2 from 1 to 4096
    """
    if not 1 <= buckets <= MAX_BUCKETS or buckets & (buckets - 1):
        raise JellyOptionsError(f"buckets is {buckets}: expected a power of 2 from 1 to {MAX_BUCKETS}")


def hash_ids(batch: Batch, seed: int = 0) -> Ids:
    """A number for each term of a Batch: 63 bits of a hash of its kind, text, datatype and language.

    It depends on nothing else, so it is the same in every Batch, process and version.
    """
    return hash_terms(batch, seed)[0]


def hash_terms(batch: Batch, seed: int = 0) -> tuple[Ids, npt.NDArray[np.uint64]]:
    """The numbers of `hash_ids`, and 64 more bits of each hash, in which two terms differ that have one number."""
    if not 0 <= seed < 1 << 63:
        raise JellyArgumentError(f"seed is {seed}: expected 0 to 2^63 - 1")
    hashes = term_hash(batch, seed.to_bytes(16, "little"))
    return (hashes[:, 0] >> np.uint64(1)).view(np.int64), hashes[:, 1]


def bucket_of(hashes: Ids, buckets: int) -> Ids:
    """The buckets of some hashes: equal parts of their range, in order.

    >>> bucket_of(np.array([0, 2**62, 2**63 - 1]), 4).tolist()
    [0, 2, 3]
    """
    found: Ids = hashes >> (ID_BITS - buckets.bit_length() + 1)
    return found


def write_buckets(table: pa.Table, buckets: Ids, folder: str, kind: str, name: str, **options: Any) -> None:
    """Write rows that are in the order of their buckets, to ``<kind>/bucket=<number>/part-<name>.parquet``."""
    for bucket, first, last in _runs(buckets):
        path = os.path.join(folder, kind, f"bucket={bucket}", f"part-{name}.parquet")
        write_parquet(path, table.slice(first, last - first), **options)


def _runs(values: Ids) -> Iterator[tuple[int, int, int]]:
    """Each value with the range of its rows."""
    if len(values):
        cuts = (np.flatnonzero(values[1:] != values[:-1]) + 1).tolist()
        for first, last in zip([0, *cuts], [*cuts, len(values)], strict=True):
            yield int(values[first]), first, last


def write_parquet(path: str, table: pa.Table, rows: int = GROUP_ROWS, **options: Any) -> None:
    """Write a table to a file with row groups of so many rows. Its directory is made. ``options`` are of pyarrow."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    parquet.write_table(table, path, row_group_size=rows, compression="zstd", **options)
