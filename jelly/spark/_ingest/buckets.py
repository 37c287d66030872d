"""How an ingest makes tables: tasks write rows in buckets, then steps make tables of all buckets.

A bucket is a range of hashes of terms, a directory ``bucket=<number>`` of Parquet files. A step is a task without
sources. A run that is continued does all of its steps again.

Of the layout "ids" a task writes its triples as they will stay, and its distinct terms to a file beside them, in the
order of their ids. Then each bucket is merged to a file with each of its terms once. Vertical and wide tables are made
of statements in buckets by subject, see `jelly.spark._tables`. docs/tables.md says how much longer the functions of
`jelly.spark._frames` take, for which Spark shuffles.

Here is also the task that writes a range of a sorted table of Delta: executors need not have deltalake.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from jelly._core.base.batch import Batch
from jelly._dataset.tables.profile import LARGE, groups_of
from jelly._formats.arrow_tables import from_batches, pa, parquet
from jelly._formats.table_files import GROUP_ROWS, write_table_file
from jelly._options.layouts import BuiltLayout
from jelly.errors import JellyOptionsError
from jelly.spark._parts import BATCH_ROWS
from jelly.spark._parts.files import open_file
from jelly.spark._store import Staged, Store
from jelly.spark._tables import JOINS, TERMS, Ids, Join, Plan, Run, check_seed, first_of_each, hash_ids, runs

BUCKETS = 16
MAX_BUCKETS = 1 << 12
# A hash is a number from 0 to 2^63 - 1, which fits into a signed integer of 64 bits.
_ID_BITS = 63
FOLDER = "statements"
# A directory of a task for files that only later steps read: they are not published.
SCRATCH = "_scratch"
# Maximum statements and bytes that a task sorts at once.
_RUN_ROWS = 1 << 20
_RUN_BYTES = 1 << 28
# Terms that are merged at once, and terms of a row group: readers find an id in one of them.
_MERGE_ROWS = 1 << 20
_GROUP_ROWS = 1 << 16
# Bytes of compressed files that one step takes.
_MERGE_BYTES = 1 << 24
_GROUP_BYTES = 1 << 23

# Calls a function for each item, on executors.
Map: TypeAlias = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


def check_buckets(buckets: int) -> None:
    """JellyOptionsError if a hash cannot be cut into this number of ranges.

    >>> check_buckets(12)
    Traceback (most recent call last):
    jelly.JellyOptionsError: buckets is 12: expected a power of 2 from 1 to 4096
    """
    if not 1 <= buckets <= MAX_BUCKETS or buckets & (buckets - 1):
        raise JellyOptionsError(f"buckets is {buckets}: expected a power of 2 from 1 to {MAX_BUCKETS}")


def bucket_of(hashes: Ids, buckets: int) -> Ids:
    """The buckets of some hashes: equal parts of their range, in order.

    >>> bucket_of(np.array([0, 2**62, 2**63 - 1]), 4).tolist()
    [0, 2, 3]
    """
    found: Ids = hashes >> (_ID_BITS - buckets.bit_length() + 1)
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


# ---- by the tasks that read the sources

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


def write_ids(
    batches: Iterable[Batch], folder: str, name: str, *, buckets: int, seed: int, sort: Sequence[str] = ()
) -> int:
    """Write statements to ``triples`` in ``folder``, and their terms to `SCRATCH` in it. Return the number of rows.

    The rows of a bucket are sorted by ``sort``, by default by subject, which is the order of the buckets too.
    """
    rows = 0
    for number, run in enumerate(runs(batches, seed)):
        part = f"{name}-{number}" if number else name
        _write_run(run, folder, part, buckets, sort)
        rows += run.rows
    return rows


def _write_run(run: Run, folder: str, name: str, buckets: int, sort: Sequence[str]) -> None:
    _write_terms(run.terms(), os.path.join(folder, SCRATCH, f"{name}.arrow"), buckets)
    table = run.triples()
    columns = {part: table[part].to_numpy() for part in (*sort, "subject")}
    if tuple(sort or ("subject",)) == ("subject",):
        order = np.argsort(columns["subject"])
    else:
        order = np.lexsort([*(columns[by] for by in reversed(sort)), bucket_of(columns["subject"], buckets)])
    table, in_bucket = table.take(order), bucket_of(columns["subject"][order], buckets)
    # Of the other columns a dictionary has nearly as many values as they have rows.
    write_buckets(table, in_bucket, folder, "triples", name, use_dictionary=["predicate", "graph"])


_NO_TERMS = pa.RecordBatch.from_pylist([], TERMS)


def _write_terms(table: pa.Table, path: str, buckets: int) -> None:
    """Write terms in the order of their ids, a record batch for each bucket."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    ends = np.searchsorted(bucket_of(table["id"].to_numpy(), buckets), np.arange(buckets + 1))
    with pa.ipc.new_file(path, TERMS) as file:
        for first, last in zip(ends[:-1], ends[1:], strict=True):
            [part] = table.slice(first, last - first).combine_chunks().to_batches() or [_NO_TERMS]
            file.write_batch(part)


# ---- by the tasks that make tables of all buckets

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
    first, width = bucket << (_ID_BITS - buckets.bit_length() + 1), (1 << _ID_BITS) // buckets
    bounds = [first + width * step // steps for step in range(steps)]
    cuts = [np.append(np.searchsorted(column, np.array(bounds, np.int64)), len(column)) for column in ids]
    rows = 0
    with parquet.ParquetWriter(path, TERMS, compression="zstd", use_dictionary=_DICTIONARIES) as writer:
        for step in range(steps):
            found = first_of_each(pa.Table.from_batches(
                [part.slice(cut[step], cut[step + 1] - cut[step]) for part, cut in zip(parts, cuts, strict=True)], TERMS
            ))  # fmt: skip
            writer.write_table(found, row_group_size=_GROUP_ROWS)
            rows += len(found)
    return rows


# Values and ids are different in all rows.
_DICTIONARIES = ["kind", "datatype", "lang"]


def _statements(paths: Sequence[str]) -> pa.Table:
    return pa.concat_tables([parquet.ParquetFile(path).read().cast(LARGE) for path in paths] or [LARGE.empty_table()])


class Step(ABC):
    """A task of an ingest that reads no sources."""

    __slots__ = ()
    name: str

    @abstractmethod
    def write(self, folder: str, name: str, store: Store) -> dict[str, Any]:
        """Write the files of the task into a folder, with ``name`` in their names. The result is reported."""


@dataclass(frozen=True, slots=True)
class Made(Step):
    """A task that makes files of files: ``make`` gets their paths and the directory of the task."""

    name: str
    paths: list[str]
    make: Callable[[list[str], str], dict[str, Any]]

    def write(self, folder: str, name: str, store: Store) -> dict[str, Any]:
        with store.fetched(self.paths) as files:
            return self.make(files, folder)


@dataclass(slots=True)
class Tables:
    """The tables of a layout.

    After the steps ``tables`` is the number of those that they wrote, and ``misfits`` says what does not fit into wide
    tables.
    """

    layout: BuiltLayout
    buckets: int
    seed: int
    sort: tuple[str, ...] = ()
    tables: int = field(default=0, init=False)
    misfits: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        check_buckets(self.buckets)
        check_seed(self.seed)
        if self.sort and self.layout != "ids":
            raise JellyOptionsError(f'layout "{self.layout}" has an order of its own: sort is for the other layouts')

    def settings(self) -> dict[str, Any]:
        """The settings that all runs into a directory must share."""
        return {"buckets": self.buckets} | ({"seed": self.seed} if self.layout == "ids" else {})

    def write(self, batches: Iterable[Batch], folder: str, name: str) -> int:
        """Write the statements of a task. Return their number."""
        if self.layout != "ids":
            return write_statements(batches, folder, name, buckets=self.buckets)
        return write_ids(batches, folder, name, buckets=self.buckets, seed=self.seed, sort=self.sort)

    def steps(self, store: Store, staged: Sequence[Staged], compute: Map) -> list[Made]:
        """The steps to do when all statements are staged."""
        if self.layout == "ids":
            return self._merges([file for file in staged if file.name.startswith(f"{SCRATCH}/")])
        join = JOINS[self.layout]
        groups = self._groups(staged)
        plan = join.plan(compute(partial(_analysed, join, store), groups))
        self.tables, self.misfits = len(plan.tables), plan.problems()
        steps = [
            Made(f"tables-{i:05}", paths, partial(_write_tables, join, plan, f"{i:05}"))
            for i, paths in enumerate(groups)
        ]
        return [*steps, Made("catalogue", [], partial(_write_about, plan.about))]

    def _merges(self, files: list[Staged]) -> list[Made]:
        at_once = max(1, self.buckets * _MERGE_BYTES // max(sum(file.size for file in files), 1))
        paths = [file.place for file in files]
        chosen = [range(first, min(first + at_once, self.buckets)) for first in range(0, self.buckets, at_once)]
        return [Made(f"terms-{some[0]:04}", paths, partial(_merge, self.buckets, some)) for some in chosen if paths]

    def _groups(self, staged: Sequence[Staged]) -> list[list[str]]:
        """The files of statements, in groups that have all statements of their subjects."""
        by_bucket: dict[str, list[Staged]] = {}
        for file in staged:
            if file.name.startswith(f"{FOLDER}/"):
                by_bucket.setdefault(os.path.dirname(file.name), []).append(file)
        groups: list[list[str]] = []
        room = 0
        for _, files in sorted(by_bucket.items()):
            size = sum(file.size for file in files)
            if not groups or size > room:
                groups.append([])
                room = _GROUP_BYTES
            groups[-1] += [file.place for file in files]
            room -= size
        return groups


# ---- on executors

def _analysed(join: Join, store: Store, paths: list[str]) -> Any:
    with store.fetched(paths) as files:
        return join.analyse(_statements(files))


def _write_tables(join: Join, plan: Plan, name: str, files: list[str], folder: str) -> dict[str, Any]:
    for table, rows in join.tables(_statements(files), plan):
        path = os.path.join(folder, "tables", table, f"part-{name}.parquet")
        write_parquet(path, rows, store_schema=False)
    return {}


def _merge(buckets: int, chosen: Iterable[int], scratch: list[str], folder: str) -> dict[str, Any]:
    return {"terms": sum(merge_terms(bucket, buckets, scratch, folder) for bucket in chosen)}


def _write_about(about: dict[str, pa.Table], files: list[str], folder: str) -> dict[str, Any]:
    for kind, table in about.items():
        write_parquet(os.path.join(folder, kind, "part-0.parquet"), table)
    return {}


# ---- a sorted table of Delta, on executors

# Rows of a row group of a sorted file: small ones are skipped more often.
SORTED_GROUP_ROWS = 1 << 16
# The column of the directory of a partition, with a slash.
PARTITION = "folder"

Rows: TypeAlias = Iterator[pa.RecordBatch]


@dataclass(slots=True)
class Sorted(Step):
    """A task: a range of the rows in their order. It writes a file for each partition."""

    number: int
    schema: pa.Schema = field(repr=False)
    rows: Rows = field(default=iter(()), repr=False)
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = f"sorted-{self.number:05}"

    def write(self, folder: str, name: str, store: Store) -> dict[str, Any]:
        """Write the files of the task into a folder; the number of statements."""
        found = (part for rows in self.rows for part in groups_of(pa.Table.from_batches([rows]), PARTITION))
        n = 0
        for number, (of, parts) in enumerate(groupby(found, key=itemgetter(0))):
            path = os.path.join(folder, of, f"part-{name}-{number}.parquet")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            pieces = (rows.select(self.schema.names).cast(self.schema) for _, rows in parts)
            batches = (batch for rows in pieces for batch in rows.to_batches())
            read = pa.RecordBatchReader.from_batches(self.schema, batches)
            n += write_table_file(path, read, group_rows=SORTED_GROUP_ROWS)
        return {"statements": n}


def read(store: Store, schema: pa.Schema, groups: list[list[str]], numbers: Iterable[pa.RecordBatch]) -> Rows:
    """The rows of the files of some groups, with the directory of each."""
    strings = pa.schema([(name, pa.string()) for name in schema.names])
    for name in (name for batch in numbers for number in batch.column(0).to_pylist() for name in groups[number]):
        with open_file(store.storage, f"{store.path}/{name}") as opened:
            for batch in parquet.ParquetFile(opened).iter_batches(batch_size=BATCH_ROWS, columns=schema.names):
                yield batch.cast(strings).append_column(PARTITION, pa.repeat(_folder(name), len(batch)))


def _folder(name: str) -> str:
    return name[: name.rfind("/") + 1]
