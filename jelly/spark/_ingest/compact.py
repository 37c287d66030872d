"""Sorting of a whole table: its files become few of a target size, and no two files of a partition overlap.

Each file has a range of the order of a partition, and a task sorts it: runs that fit into memory, which are merged. So
the statistics of files and row groups tell which to read. Statements do not pass through the JVM.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jelly._formats.arrow_tables import compute, pa, parquet
from jelly._formats.table_files import write_table_file
from jelly.spark._commit.store import Store
from jelly.spark._parts.files import open_file
from jelly.spark._reading import BATCH_ROWS

__all__ = ["Compaction", "Piece", "compacted", "plan", "sorted_rows"]

# Maximum rows and bytes that a task sorts at once.
RUN_ROWS = 1 << 20
RUN_BYTES = 1 << 28
# Rows of a row group of a sorted file: small ones are skipped more often.
SORTED_GROUP_ROWS = 1 << 16
# Rows of the sample that the ranges of a partition are taken from, for each file of the result.
_SAMPLE = 1000
# Row groups that it is taken from.
_SAMPLED = 256
# Bytes of files that a task reads, if it makes several files.
_TASK_BYTES = 1 << 25

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A file to make: the rows of some files of a partition, or those from the key ``first`` to before ``last``."""

    folder: str  # of the partition, with a slash
    files: tuple[tuple[str, int], ...]  # with their sizes
    first: Key | None = None
    last: Key | None = None
    ranges: int = 1  # in which these files are read

    @property
    def size(self) -> int:
        """The bytes to read, about."""
        return sum(size for _, size in self.files) // self.ranges


@dataclass(frozen=True, slots=True)
class Compaction:
    """A task: some pieces of a table. It has a name and writes its files, as the steps of other layouts do."""

    store: Store
    pieces: tuple[Piece, ...]
    sort: tuple[str, ...]  # columns

    @property
    def name(self) -> str:
        told = repr([(piece.folder, piece.files, piece.first, piece.last) for piece in self.pieces])
        return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()

    def write(self, folder: str, name: str) -> dict[str, Any]:
        """Write the files of the task into a folder; the number of statements."""
        rows = 0
        for number, piece in enumerate(self.pieces):
            path = os.path.join(folder, piece.folder, f"part-{name}-{number}.parquet")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with contextlib.ExitStack() as stack:
                opened = [
                    parquet.ParquetFile(stack.enter_context(open_file(self.store.storage, self._at(file))))
                    for file, _ in piece.files
                ]
                schema = opened[0].schema_arrow
                keys = tuple(column for column in self.sort if column in schema.names)
                made = sorted_rows(_rows(opened, keys, piece.first, piece.last), keys)
                read = pa.RecordBatchReader.from_batches(schema, made)
                n = write_table_file(path, read, group_rows=SORTED_GROUP_ROWS)
            rows += n
            if not n:
                os.unlink(path)
        return {"statements": rows}

    def _at(self, name: str) -> str:
        return f"{self.store.path}/{name}"


def _rows(
    files: Iterable[Any], keys: Sequence[str], first: Key | None, last: Key | None
) -> Iterator[pa.RecordBatch]:
    """The rows of files with a key in a range. Row groups that have none are not read."""
    for file in files:
        groups = [
            group for group in range(file.num_row_groups)
            if _may_have(file.metadata.row_group(group), keys[0], first, last)
        ]  # fmt: skip
        for batch in file.iter_batches(batch_size=BATCH_ROWS, row_groups=groups):
            if first is not None:
                batch = batch.filter(compute.invert(_below(batch, keys, first)))
            if last is not None:
                batch = batch.filter(_below(batch, keys, last))
            if len(batch):
                yield batch


def _may_have(group: Any, key: str, first: Key | None, last: Key | None) -> bool:
    """Whether a row group may have rows in a range, by the statistics of the first column of the key."""
    for number in range(group.num_columns):
        column = group.column(number)
        if column.path_in_schema == key:
            told = column.statistics
            if told is None or not told.has_min_max or told.null_count:
                return True
            below = first is not None and first[0] is not None and told.max < first[0]
            above = last is not None and last[0] is not None and told.min > last[0]
            return not below and not above
    return True


def _below(batch: pa.RecordBatch, keys: Sequence[str], bound: Key, or_equal: bool = False) -> pa.Array:
    """Which rows have a key below a bound. Nulls come last."""
    c = compute
    found = pa.repeat(pa.scalar(False), len(batch))
    same = pa.repeat(pa.scalar(True), len(batch))
    for key, value in zip(keys, bound, strict=True):
        column = batch.column(key)
        if value is None:
            less, equal = c.is_valid(column), c.is_null(column)
        else:
            less, equal = (c.fill_null(call(column, value), False) for call in (c.less, c.equal))
        found = c.or_(found, c.and_(same, less))
        same = c.and_(same, equal)
    return c.or_(found, same) if or_equal else found


def sorted_rows(
    batches: Iterable[pa.RecordBatch], keys: Sequence[str], *, rows: int | None = None, size: int | None = None
) -> Iterator[pa.RecordBatch]:
    """All rows in order. What does not fit into ``rows`` and ``size`` in bytes waits in a temporary file.

    >>> batches = [pa.record_batch({"a": ["c", "a"]}), pa.record_batch({"a": [None, "b"]})]
    >>> [row for batch in sorted_rows(batches, ["a"], rows=2) for row in batch["a"].to_pylist()]
    ['a', 'b', 'c', None]
    """
    order = [(key, "ascending") for key in keys]
    with contextlib.ExitStack() as stack:
        folder = ""
        runs: list[Iterator[pa.RecordBatch]] = []
        run: list[pa.RecordBatch] = []
        n = n_bytes = 0

        def spill() -> None:
            nonlocal folder, n, n_bytes
            if not folder:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="jelly-sort-"))
            table = pa.Table.from_batches(run).sort_by(order)
            path = os.path.join(folder, str(len(runs)))
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table.schema, options=options) as writer:
                writer.write_table(table, max_chunksize=BATCH_ROWS)
            opened = pa.ipc.open_file(stack.enter_context(pa.memory_map(path)))
            runs.append(opened.get_batch(number) for number in range(opened.num_record_batches))
            run.clear()
            n = n_bytes = 0

        for batch in batches:
            if n and (n + len(batch) > (rows or RUN_ROWS) or n_bytes + batch.nbytes > (size or RUN_BYTES)):
                spill()
            run.append(batch)
            n += len(batch)
            n_bytes += batch.nbytes
        if run:
            last = pa.Table.from_batches(run).sort_by(order)
            run.clear()
            runs.append(iter(last.to_batches(max_chunksize=BATCH_ROWS)))
        yield from _merged(runs, keys)


def _merged(runs: list[Iterator[pa.RecordBatch]], keys: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of sorted runs, in order. In each step at least one batch of a run is used up."""
    heads = [(batch, run) for run in runs if (batch := next(run, None)) is not None]
    while len(heads) > 1:
        bound = min((_last_key(batch, keys) for batch, _ in heads), key=_nulls_last)
        taken, left = [], []
        for batch, run in heads:
            n = compute.sum(_below(batch, keys, bound, or_equal=True)).as_py()
            if n:
                taken.append(batch.slice(0, n))
            following = batch.slice(n) if n < len(batch) else next(run, None)
            if following is not None:
                left.append((following, run))
        heads = left
        table = pa.Table.from_batches(taken)
        yield from (table if len(taken) == 1 else table.sort_by([(key, "ascending") for key in keys])).to_batches()
    for batch, run in heads:
        yield batch
        yield from run


def _last_key(batch: pa.RecordBatch, keys: Sequence[str]) -> Key:
    return tuple(batch.column(key)[-1].as_py() for key in keys)


def _nulls_last(key: Key) -> tuple[tuple[bool, Any], ...]:
    return tuple((value is None, value or "") for value in key)


# ---- the plan

def plan(store: Store, files: Iterable[tuple[str, int]], sort: tuple[str, ...], target: int) -> list[Piece]:
    """The files to make of those of a table."""
    inside: dict[str, list[tuple[str, int]]] = {}
    for file in files:
        inside.setdefault(_folder(file[0]), []).append(file)
    return [piece for folder, some in inside.items() for piece in _ranges(store, folder, some, sort, target)]


def compacted(store: Store, pieces: Sequence[Piece], sort: tuple[str, ...]) -> list[Compaction]:
    """The tasks for some pieces: small ones share a task."""
    tasks: list[list[Piece]] = []
    room = 0
    for piece in pieces:
        if not tasks or piece.size > room:
            tasks.append([])
            room = _TASK_BYTES
        tasks[-1].append(piece)
        room -= piece.size
    return [Compaction(store, tuple(some), sort) for some in tasks]


def _ranges(
    store: Store, folder: str, files: list[tuple[str, int]], sort: tuple[str, ...], target: int
) -> Iterator[Piece]:
    """The pieces of a partition that is sorted, by quantiles of a sample."""
    n = -(-sum(size for _, size in files) // target)
    bounds: list[Key] = []
    if n > 1:
        sample: list[Key] = []
        with contextlib.ExitStack() as stack:
            opened = [
                parquet.ParquetFile(stack.enter_context(open_file(store.storage, f"{store.path}/{name}")))
                for name, _ in files
            ]
            keys = [key for key in sort if key in opened[0].schema_arrow.names]
            groups = [(file, group) for file in opened for group in range(file.num_row_groups)]
            groups = groups[:: -(-len(groups) // _SAMPLED)]
            rows = sum(file.metadata.row_group(group).num_rows for file, group in groups)
            step = max(1, rows // (n * _SAMPLE))
            for file, group in groups:
                some = file.read_row_group(group, columns=keys)
                some = some.take(pa.array(range(0, len(some), step)))
                sample += zip(*(some[key].to_pylist() for key in keys), strict=True)
        sample.sort(key=_nulls_last)
        cuts = [sample[len(sample) * number // n] for number in range(1, n)]
        bounds = [cut for number, cut in enumerate(cuts) if not number or cut != cuts[number - 1]]
    for first, last in zip([None, *bounds], [*bounds, None], strict=True):
        yield Piece(folder, tuple(files), first, last, len(bounds) + 1)


def _folder(name: str) -> str:
    return name[: name.rfind("/") + 1]
