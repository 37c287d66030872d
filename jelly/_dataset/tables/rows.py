"""Statements of the flat layout as a table: groups of its rows, and columns of a value for each subject."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from jelly._formats.arrow_tables import compute, pa, schema

__all__ = ["LARGE", "Places", "groups_of", "placed", "with_places"]

# Columns of many rows have more than 2 GB.
LARGE = pa.schema([field.with_type(pa.large_string()) for field in schema()])
Places: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


def groups_of(rows: pa.Table, column: str) -> Iterator[tuple[str, pa.Table]]:
    """Each value of a column, in order, with its rows."""
    codes = rows[column].combine_chunks().dictionary_encode()
    numbers = codes.indices.to_numpy()
    order = np.argsort(numbers, kind="stable")
    rows = rows.take(order)
    ends = np.searchsorted(numbers[order], np.arange(len(codes.dictionary) + 1))
    values = codes.dictionary.to_pylist()
    for at in sorted(range(len(values)), key=values.__getitem__):
        yield values[at], rows.slice(ends[at], ends[at + 1] - ends[at])


def with_places(rows: pa.Table) -> tuple[pa.Array, pa.Table]:
    """The subjects of rows that are in their order, and the rows with a column ``at``: which of these each has."""
    each = rows["subject"].combine_chunks()
    is_new = np.append(True, compute.not_equal(each[1:], each[:-1]).to_numpy(zero_copy_only=False))
    return each.take(np.flatnonzero(is_new)), rows.append_column("at", pa.array(np.cumsum(is_new) - 1))


def placed(at: Places, n: int, is_list: bool) -> Callable[[pa.ChunkedArray], pa.Array]:
    """A function that makes a column for ``n`` subjects of values, of which each is of the subject that ``at`` says.

    >>> values = pa.chunked_array([["x", "y", "z"]])
    >>> placed(np.array([2, 0, 2]), 3, True)(values).to_pylist()
    [['y'], None, ['x', 'z']]
    """
    if not is_list:
        places = np.full(n, -1, np.int64)
        places[at] = np.arange(len(at))
        return lambda values: values.take(pa.array(places, mask=places < 0)).combine_chunks()
    counts = np.bincount(at, minlength=n)
    offsets = pa.array(np.append(0, np.cumsum(counts)), pa.int32(), mask=np.append(counts == 0, False))
    order = np.argsort(at, kind="stable")
    return lambda values: pa.ListArray.from_arrays(offsets, values.take(order).combine_chunks())
