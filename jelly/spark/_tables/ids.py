"""Numbers for terms: the tables ``triples`` and ``terms``.

The id of a term is 63 bits of a hash of it, so tasks need not agree on anything, and a term has the same id in every
run. A task writes its triples as they will stay, and its distinct terms to a file beside them, in the order of
their ids. Then each bucket is merged to a file with each of its terms once.

Two terms with one id are found when they meet, in a task or in a bucket, because terms are compared as a whole; then
the ingest fails. Among n terms the chance is about n * n / 2^64: 1 to 2,000 for 100 million terms.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from jelly._core.algebra.select import term_rows
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._formats.arrow_tables import compute, from_batches, pa, parquet
from jelly._options.settings import checked
from jelly.errors import JellySyntaxError, JellyUnsupportedError
from jelly.spark._tables.buckets import ID_BITS, Ids, bucket_of, hash_ids, hash_terms, write_buckets

__all__ = ["SCRATCH", "TERMS", "TRIPLES", "merge_terms", "term_id", "write_ids"]

# A directory of a task for files that only later steps read: they are not published.
SCRATCH = "_scratch"

_PARTS = ("subject", "predicate", "object", "graph")
TRIPLES = pa.schema([pa.field(name, pa.int64(), nullable=name == "graph") for name in _PARTS])
TERMS = pa.schema([
    pa.field("id", pa.int64(), nullable=False),
    pa.field("kind", pa.string(), nullable=False),
    pa.field("value", pa.string(), nullable=False),
    pa.field("datatype", pa.string()),
    pa.field("lang", pa.string()),
])
_FLAT = ("object_kind", "object", "datatype", "lang")

# Maximum statements and bytes of text that a task numbers at once.
_RUN_ROWS = 1 << 22
_RUN_BYTES = 1 << 29
# Terms that are merged at once, and terms of a row group: readers find an id in one of them.
_MERGE_ROWS = 1 << 20
_GROUP_ROWS = 1 << 16


@checked()
def term_id(term: str, *, seed: int = 0) -> int:
    """The id of a term in tables of the layout "ids".

    Parameters
    ----------
    term : str
        The term in N-Triples syntax: ``<http://example.org/x>``, ``"text"@en``. Blank nodes have the labels of the
        table, see ``blank_nodes`` of `ingest`.
    seed : int, default 0
        The seed of the table.

    Raises
    ------
    JellySyntaxError
        If it is not one term.

    Examples
    --------
    >>> term_id("<http://xmlns.com/foaf/0.1/name>")
    5482318226326722344
    """
    from jelly._streams.reader import Reader

    [batch] = Reader(f"<x:s> <x:p> {term} .".encode(), format="nt").batches()
    if len(batch) != 1:
        raise JellySyntaxError(f"expected one term in N-Triples syntax: {term!r}")
    return int(hash_ids(batch, seed)[batch.o[0]])


# ---- statements, by the tasks that read the sources

def write_ids(
    batches: Iterable[Batch], folder: str, name: str, *, buckets: int, seed: int, sort: Sequence[str] = ()
) -> int:
    """Write statements to ``triples`` in ``folder``, and their terms to `SCRATCH` in it. Return the number of rows.

    The rows of a bucket are sorted by ``sort``, by default by subject, which is the order of the buckets too.
    """
    rows = 0
    for number, run in enumerate(_runs(batches, seed)):
        part = f"{name}-{number}" if number else name
        run.write(folder, part, buckets, sort)
        rows += run.rows
    return rows


class _Run:
    """The ids of the statements of some Batches, and the Batches for their terms."""

    def __init__(self) -> None:
        self.rows = self.size = 0
        self._batches: list[Batch] = []
        self._columns: tuple[list[Ids], ...] = ([], [], [], [])
        # Of each Batch the terms that are part of a statement, by number, their ids, and more bits of their hashes.
        self._terms: list[Ids] = []
        self._ids: list[Ids] = []
        self._checks: list[np.ndarray] = []

    def add(self, batch: Batch, seed: int) -> None:
        ids, checks = hash_terms(batch, seed)
        # The last one is for -1, the default graph, and no id.
        ids = np.append(ids, -1)
        used = np.zeros(len(ids), np.bool_)
        for column, found in zip(self._columns, (batch.s, batch.p, batch.o, batch.g), strict=True):
            if found is None:
                column.append(np.full(len(batch), -1, np.int64))
            else:
                column.append(ids[found])
                used[found] = True
        terms = np.flatnonzero(used[:-1])
        self._batches.append(batch)
        self._terms.append(terms)
        self._ids.append(ids[terms])
        self._checks.append(checks[terms])
        self.rows += len(batch)
        self.size += len(batch.text)

    def write(self, folder: str, name: str, buckets: int, sort: Sequence[str]) -> None:
        self._write_terms(os.path.join(folder, SCRATCH, f"{name}.arrow"), buckets)
        columns = dict(zip(_PARTS, map(np.concatenate, self._columns), strict=True))
        if tuple(sort or ("subject",)) == ("subject",):
            order = np.argsort(columns["subject"])
        else:
            order = np.lexsort([*(columns[by] for by in reversed(sort)), bucket_of(columns["subject"], buckets)])
        arrays = [pa.array(columns[part][order]) for part in _PARTS[:3]]
        graphs = columns["graph"][order]
        arrays.append(pa.array(graphs, mask=graphs < 0))
        in_bucket = bucket_of(arrays[0].to_numpy(), buckets)
        table = pa.Table.from_arrays(arrays, schema=TRIPLES)
        # Of the other columns a dictionary has nearly as many values as they have rows.
        write_buckets(table, in_bucket, folder, "triples", name, use_dictionary=["predicate", "graph"])

    def _write_terms(self, path: str, buckets: int) -> None:
        """The terms in the order of their ids, a record batch for each bucket. Datatypes are no terms by themselves."""
        ids = np.concatenate(self._ids)
        order = np.argsort(ids)
        ids, checks = ids[order], np.concatenate(self._checks)[order]
        again = np.append(False, ids[1:] == ids[:-1])
        # Terms with one id of which the other bits differ are both kept, for the error.
        again[1:] &= checks[1:] == checks[:-1]
        before = np.cumsum([0, *(batch.n_terms for batch in self._batches)])
        terms = np.concatenate([terms + shift for terms, shift in zip(self._terms, before[:-1], strict=True)])
        ids, terms = ids[~again], terms[order[~again]]
        joined = join_batches(self._batches)
        self._batches.clear()  # their text is there twice now
        rows = term_rows(joined, terms)
        del joined
        made = from_batches([rows], columns=_FLAT, batch_rows=max(len(terms), 1)).read_all()
        table = pa.Table.from_arrays([pa.array(ids), *made.combine_chunks().columns], schema=TERMS)
        _check(table, np.flatnonzero(ids[1:] == ids[:-1]) + 1)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        ends = np.searchsorted(bucket_of(ids, buckets), np.arange(buckets + 1))
        with pa.ipc.new_file(path, TERMS) as file:
            for first, last in zip(ends[:-1], ends[1:], strict=True):
                [part] = table.slice(first, last - first).combine_chunks().to_batches() or [_NO_TERMS]
                file.write_batch(part)


def _runs(batches: Iterable[Batch], seed: int) -> Iterator[_Run]:
    run = _Run()
    for batch in batches:
        run.add(batch, seed)
        if run.rows >= _RUN_ROWS or run.size >= _RUN_BYTES:
            yield run
            run = _Run()
    if run.rows:
        yield run


_NO_TERMS = pa.RecordBatch.from_pylist([], TERMS)


# ---- terms, by the tasks that merge them

def merge_terms(bucket: int, buckets: int, scratch: Sequence[str], folder: str) -> int:
    """Write the terms of a bucket that are in files of `SCRATCH`, each once, to ``terms`` in ``folder``.

    Return their number; without terms there is no file.
    """
    parts = [pa.ipc.open_file(pa.memory_map(file)).get_batch(bucket) for file in scratch]
    n = sum(map(len, parts))
    if not n:
        return 0
    path = os.path.join(folder, "terms", f"bucket={bucket}", "part-0.parquet")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    ids = [part.column("id").to_numpy() for part in parts]
    # Hashes are spread evenly, so that equal ranges of them are equal numbers of terms.
    steps = -(-n // _MERGE_ROWS)
    first, width = bucket << (ID_BITS - buckets.bit_length() + 1), (1 << ID_BITS) // buckets
    bounds = [first + width * step // steps for step in range(steps)]
    cuts = [np.append(np.searchsorted(column, np.array(bounds, np.int64)), len(column)) for column in ids]
    rows = 0
    with parquet.ParquetWriter(path, TERMS, compression="zstd", use_dictionary=_DICTIONARIES) as writer:
        for step in range(steps):
            found = _first_of_each(pa.Table.from_batches(
                [part.slice(cut[step], cut[step + 1] - cut[step]) for part, cut in zip(parts, cuts, strict=True)], TERMS
            ))  # fmt: skip
            writer.write_table(found, row_group_size=_GROUP_ROWS)
            rows += len(found)
    return rows


# Values and ids are different in all rows.
_DICTIONARIES = ["kind", "datatype", "lang"]


def _first_of_each(table: pa.Table) -> pa.Table:
    """The terms in order, each once; an error if two terms have one id."""
    ids = table["id"].to_numpy()
    order = np.argsort(ids)
    table, ids = table.take(order), ids[order]
    again = np.append(False, ids[1:] == ids[:-1])
    _check(table, np.flatnonzero(again))
    return table.filter(pa.array(~again))


def _check(terms: pa.Table, again: Ids) -> None:
    """JellyUnsupportedError if a term, of those ``again`` that have the id of the term before, is another one."""
    if not len(again):
        return
    some, others = terms.take(again), terms.take(again - 1)
    same = np.ones(len(again), np.bool_)
    for name in TERMS.names:
        x, y = some[name], others[name]
        both = compute.and_(compute.is_null(x), compute.is_null(y))
        same &= compute.coalesce(compute.equal(x, y), both).to_numpy()
    if same.all():
        return
    at = int(np.argmin(same))
    shown = " and ".join(str(tuple(table.slice(at, 1).to_pylist()[0].values())[1:]) for table in (some, others))
    raise JellyUnsupportedError(
        f"two terms have the id {some['id'][at]}: {shown}; ingest everything into another directory, with another seed"
    )
