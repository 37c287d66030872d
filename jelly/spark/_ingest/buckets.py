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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, pairwise
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

import numpy as np

from jelly._core.base.batch import Batch
from jelly._dataset.tables.profile import LARGE, groups_of
from jelly._formats.arrow_tables import from_batches, pa, parquet
from jelly._formats.table_files import GROUP_ROWS, write_table_file
from jelly._options.layouts import BuiltLayout
from jelly.errors import JellyOptionsError
from jelly.spark._parts import BATCH_ROWS, Rows, Shares
from jelly.spark._parts.files import open_file
from jelly.spark._store import Json, Staged, Store, made_path
from jelly.spark._tables import (
    JOINS,
    TERMS,
    Ids,
    Join,
    Plan,
    check_seed,
    first_of_each,
    hash_ids,
    in_runs,
    order_of_runs,
    runs,
)

BUCKETS = 16
MAX_BUCKETS = 1 << 12
# A hash is a number from 0 to 2^63 - 1, which fits into a signed integer of 64 bits.
_ID_BITS = 63
FOLDER = "statements"
# A directory of a task for files that only later steps read: they are not published.
SCRATCH = "_scratch"
# Maximum statements and bytes that a task sorts at once.
RUN_ROWS = 1 << 20
_RUN_BYTES = 1 << 28
# Terms that are merged at once, and terms of a row group: readers find an id in one of them.
_MERGE_ROWS = 1 << 20
_GROUP_ROWS = 1 << 16
# Bytes of compressed files that one step takes.
_MERGE_BYTES = 1 << 24
_GROUP_BYTES = 1 << 23

# Calls a function for each item, on executors.
Map: TypeAlias = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


def bucket_of(hashes: Ids, buckets: int) -> Ids:
    """The buckets of some hashes: equal parts of their range, in order.

    >>> bucket_of(np.array([0, 2**62, 2**63 - 1]), 4).tolist()
    [0, 2, 3]
    """
    found: Ids = hashes >> (_ID_BITS - buckets.bit_length() + 1)
    return found


def tables_in_runs(tables: Iterable[Any]) -> Iterator[list[Any]]:
    """Tables or record batches, as many at a time as a task sorts at once."""
    return in_runs(tables, attrgetter("nbytes"), RUN_ROWS, _RUN_BYTES)


def _in_buckets(table: pa.Table, hashes: Ids, buckets: int) -> Iterator[pa.Table]:
    """The rows of each bucket, of rows with some hashes that are in the order of their buckets."""
    ends = np.searchsorted(bucket_of(hashes, buckets), np.arange(buckets + 1))
    for first, last in pairwise(ends):
        yield table.slice(first, last - first)


def _write_buckets(
    table: pa.Table, hashes: Ids, buckets: int, folder: str, kind: str, name: str, **options: Any
) -> None:
    """Write rows, see `_in_buckets`, to ``<kind>/bucket=<number>/part-<name>.parquet``."""
    for bucket, rows in enumerate(_in_buckets(table, hashes, buckets)):
        if len(rows):
            _write_parquet(rows, folder, kind, f"bucket={bucket}", f"part-{name}.parquet", **options)


def _write_parquet(table: pa.Table, *names: str, **options: Any) -> None:
    """Write a table to a file, see `made_path`. ``options`` are those of pyarrow."""
    parquet.write_table(table, made_path(*names), row_group_size=GROUP_ROWS, compression="zstd", **options)


# ---- by the tasks that read the sources

def write_statements(batches: Iterable[Batch], folder: str, name: str, *, buckets: int) -> int:
    """Write statements in buckets by subject to ``statements`` in ``folder``. Return the number of rows."""
    rows = 0
    tables = (
        from_batches([batch]).read_all().append_column("hash", pa.array(hash_ids(batch)[batch.s]))
        for batch in batches if len(batch)
    )  # fmt: skip
    for number, run in enumerate(tables_in_runs(tables)):
        table = pa.concat_tables(run)
        hashes = table["hash"].to_numpy()
        # Of numbers of 16 bits it is a radix sort.
        order = np.argsort(bucket_of(hashes, buckets).astype(np.uint16), kind="stable")
        table = table.drop_columns("hash").take(order)
        _write_buckets(table, hashes[order], buckets, folder, FOLDER, f"{name}-{number}")
        rows += len(table)
    return rows


def write_ids(
    batches: Iterable[Batch], folder: str, name: str, *, buckets: int, seed: int, sort: Sequence[str] = ()
) -> int:
    """Write statements to ``triples`` in ``folder``, and their terms to `SCRATCH` in it. Return the number of rows.

    The rows of a bucket are sorted by ``sort``, by default by subject, which is the order of the buckets too.
    """
    rows = 0
    for number, run in enumerate(runs(batches, seed)):
        table = run.triples()
        _write_terms(run.terms(), made_path(folder, SCRATCH, f"{name}-{number}.arrow"), buckets)
        columns = {part: table[part].to_numpy() for part in (*sort, "subject")}
        subjects = columns["subject"]
        if tuple(sort or ("subject",)) == ("subject",):
            order = order_of_runs(subjects)
        else:
            order = np.lexsort([*(columns[by] for by in reversed(sort)), bucket_of(subjects, buckets)])
        # Of the other columns a dictionary has nearly as many values as they have rows.
        _write_buckets(table.take(order), subjects[order], buckets, folder, "triples", f"{name}-{number}",
                       use_dictionary=["predicate", "graph"])  # fmt: skip
        rows += len(table)
    return rows


_NO_TERMS = pa.RecordBatch.from_pylist([], TERMS)


def _write_terms(table: pa.Table, path: str, buckets: int) -> None:
    """Write terms in the order of their ids, a record batch for each bucket."""
    with pa.ipc.new_file(path, TERMS) as file:
        for rows in _in_buckets(table, table["id"].to_numpy(), buckets):
            [part] = rows.combine_chunks().to_batches() or [_NO_TERMS]
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
    path = made_path(folder, "terms", f"bucket={bucket}", "part-0.parquet")
    # Hashes are spread evenly, so that equal ranges of them are equal numbers of terms.
    steps = -(-n // _MERGE_ROWS)
    width = (1 << _ID_BITS) // buckets
    bounds = np.array([width * bucket + width * step // steps for step in range(steps)], np.int64)
    cuts = [np.append(np.searchsorted(part.column("id").to_numpy(), bounds), len(part)) for part in parts]
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
    return pa.concat_tables([parquet.ParquetFile(path).read().cast(LARGE) for path in paths])


@dataclass(frozen=True, slots=True)
class Step:
    """A task of an ingest that reads no sources, but makes files of files.

    ``make`` gets their paths, the directory of the task, and what stands in the names of its files.
    """

    name: str
    paths: list[str]
    make: Callable[[list[str], str, str], Json] = field(repr=False)

    def write(self, folder: str, name: str, store: Store) -> Json:
        """Write the files of the task into a folder, with ``name`` in their names. The result is reported."""
        with store.fetched(self.paths) as files:
            return self.make(files, folder, name)


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
        if not 1 <= self.buckets <= MAX_BUCKETS or self.buckets & (self.buckets - 1):
            raise JellyOptionsError(f"buckets is {self.buckets}: expected a power of 2 from 1 to {MAX_BUCKETS}")
        check_seed(self.seed)
        if self.sort and self.layout != "ids":
            raise JellyOptionsError(f'layout "{self.layout}" has an order of its own: sort is for the other layouts')

    def settings(self) -> Json:
        """The settings that all runs into a directory must share."""
        return {"buckets": self.buckets} | ({"seed": self.seed} if self.layout == "ids" else {})

    def write(self, batches: Iterable[Batch], folder: str, name: str) -> int:
        """Write the statements of a task. Return their number."""
        if self.layout != "ids":
            return write_statements(batches, folder, name, buckets=self.buckets)
        return write_ids(batches, folder, name, buckets=self.buckets, seed=self.seed, sort=self.sort)

    def steps(self, store: Store, staged: Sequence[Staged], compute: Map) -> list[Step]:
        """The steps to do when all statements are staged."""
        if self.layout == "ids":
            return self._merges([file for file in staged if file.name.startswith(f"{SCRATCH}/")])
        join = JOINS[self.layout]
        groups = self._groups(staged)
        plan = join.plan(compute(partial(_analysed, join, store), groups))
        self.tables, self.misfits = len(plan.tables), plan.problems()
        write = partial(_write_tables, join, plan)
        steps = [Step(f"tables-{number:05}", paths, write) for number, paths in enumerate(groups)]
        return [*steps, Step("catalogue", [], partial(_write_about, plan.about))]

    def _merges(self, files: list[Staged]) -> list[Step]:
        at_once = max(1, self.buckets * _MERGE_BYTES // max(sum(file.size for file in files), 1))
        paths = [file.place for file in files]
        chosen = range(self.buckets)
        return [
            Step(f"terms-{first:04}", paths, partial(_merge, self.buckets, chosen[first : first + at_once]))
            for first in chosen[:: at_once] if paths
        ]  # fmt: skip

    def _groups(self, staged: Sequence[Staged]) -> list[list[str]]:
        """The files of statements, in groups that have all statements of their subjects."""
        in_order = sorted((os.path.dirname(file.name), file.place, file.size) for file in staged)
        shares: Shares[list[str]] = Shares(_GROUP_BYTES)
        for folder, found in groupby(in_order, key=itemgetter(0)):
            if folder.startswith(f"{FOLDER}/"):
                _, places, sizes = zip(*found, strict=True)
                shares.add([*places], sum(sizes))
        return [sum(share, []) for share in shares.made]


# ---- on executors

def _analysed(join: Join, store: Store, paths: list[str]) -> Any:
    with store.fetched(paths) as files:
        return join.analyse(_statements(files))


def _write_tables(join: Join, plan: Plan, files: list[str], folder: str, name: str) -> Json:
    for table, rows in join.tables(_statements(files), plan):
        _write_parquet(rows, folder, "tables", table, f"part-{name}.parquet", store_schema=False)
    return {}


def _merge(buckets: int, chosen: Iterable[int], scratch: list[str], folder: str, name: str) -> Json:
    return {"terms": sum(merge_terms(bucket, buckets, scratch, folder) for bucket in chosen)}


def _write_about(about: dict[str, pa.Table], files: list[str], folder: str, name: str) -> Json:
    for kind, table in about.items():
        _write_parquet(table, folder, kind, "part-0.parquet")
    return {}


# ---- a sorted table of Delta, on executors

# Rows of a row group of a sorted file: small ones are skipped more often.
SORTED_GROUP_ROWS = 1 << 16
# The column of the directory of a partition, with a slash.
PARTITION = "folder"

def sorted_step(number: int, schema: pa.Schema, rows: Rows = iter(())) -> Step:  # noqa: B008 - it is empty
    """A task: a range of the rows in their order. It writes a file for each partition."""
    return Step(f"sorted-{number:05}", [], partial(_write_sorted, schema, rows))


def _write_sorted(schema: pa.Schema, rows: Rows, files: list[str], folder: str, name: str) -> Json:
    found = (part for batch in rows for part in groups_of(pa.Table.from_batches([batch]), PARTITION))
    n = 0
    for number, (of, parts) in enumerate(groupby(found, key=itemgetter(0))):
        pieces = (part.select(schema.names).cast(schema) for _, part in parts)
        read = pa.RecordBatchReader.from_batches(schema, (batch for piece in pieces for batch in piece.to_batches()))
        path = made_path(folder, of, f"part-{name}-{number}.parquet")
        n += write_table_file(path, read, group_rows=SORTED_GROUP_ROWS)
    return {"statements": n}


def read(store: Store, schema: pa.Schema, groups: list[list[str]], numbers: Iterable[pa.RecordBatch]) -> Rows:
    """The rows of the files of some groups, with the directory of each."""
    strings = pa.schema([(name, pa.string()) for name in schema.names])
    for name in (name for batch in numbers for number in batch.column(0).to_pylist() for name in groups[number]):
        folder = name[: name.rfind("/") + 1]
        with open_file(store.storage, f"{store.path}/{name}") as opened:
            for batch in parquet.ParquetFile(opened).iter_batches(batch_size=BATCH_ROWS, columns=schema.names):
                yield batch.cast(strings).append_column(PARTITION, pa.repeat(folder, len(batch)))
