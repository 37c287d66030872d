"""Sorting of a whole table by Spark: its files become few of a target size, and no two files of a partition overlap.

Spark sorts the rows of a partition by ranges, so the statistics of files and row groups tell which to read.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from jelly._dataset.tables.profile import groups_of
from jelly._formats.arrow_tables import pa, parquet
from jelly._formats.table_files import write_table_file
from jelly.spark._commit.store import Store
from jelly.spark._parts.files import open_file
from jelly.spark._reading import BATCH_ROWS
from jelly.spark._session import mapped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Sorted", "Sorting", "by_spark", "plan"]

# Rows of a row group of a sorted file: small ones are skipped more often.
SORTED_GROUP_ROWS = 1 << 16
# Bytes of small partitions that a task sorts.
_TASK_BYTES = 1 << 25
# The column of the directory of a partition, with a slash.
_FOLDER = "folder"

Files = Sequence[tuple[str, int]]  # with their sizes
Rows = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Sorted:
    """A task: a range of the rows in their order. It writes a file for each partition."""

    number: int
    schema: pa.Schema = field(repr=False)
    rows: Rows = field(default=iter(()), repr=False)

    @property
    def name(self) -> str:
        return f"sorted-{self.number:05}"

    def write(self, folder: str, name: str) -> dict[str, Any]:
        """Write the files of the task into a folder; the number of statements."""
        found = (part for rows in self.rows for part in groups_of(pa.Table.from_batches([rows]), _FOLDER))
        n = 0
        for number, (of, parts) in enumerate(groupby(found, key=itemgetter(0))):
            path = os.path.join(folder, of, f"part-{name}-{number}.parquet")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            pieces = (rows.select(self.schema.names).cast(self.schema) for _, rows in parts)
            batches = (batch for rows in pieces for batch in rows.to_batches())
            read = pa.RecordBatchReader.from_batches(self.schema, batches)
            n += write_table_file(path, read, group_rows=SORTED_GROUP_ROWS)
        return {"statements": n}


@dataclass(frozen=True, slots=True)
class Sorting:
    """Files to sort together: each group is read by a task, and all rows become so many ``ranges``.

    A single range stands for the groups as they are, each of which has whole partitions.
    """

    groups: list[list[str]]
    ranges: int = 1

    @property
    def tasks(self) -> int:
        return len(self.groups) if self.ranges == 1 else self.ranges


def plan(files: Files, target: int) -> list[Sorting]:
    """How the files of a table are sorted: small partitions share a task, large ones are cut into ranges."""
    small: list[list[str]] = []
    found = []
    room = 0
    for _, some in groupby(sorted(files, key=lambda file: _folder(file[0])), key=lambda file: _folder(file[0])):
        inside = list(some)
        size = sum(size for _, size in inside)
        names = [name for name, _ in inside]
        if size > target:
            found.append(Sorting([[name] for name in names], -(-size // target)))
            continue
        if not small or size > room:
            small.append([])
            room = _TASK_BYTES
        small[-1] += names
        room -= size
    return [*([Sorting(small)] if small else []), *found]


def by_spark(
    run: Callable[[Sorted], Any],
    store: Store,
    sortings: Sequence[Sorting],
    schema: pa.Schema,
    sort: Sequence[str],
    spark: SparkSession,
) -> list[Any]:
    """What ``run`` gives for each range of the rows."""
    from pyspark import TaskContext
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    def write(rows: Rows) -> Rows:
        context = TaskContext.get()
        assert context is not None
        made = pickle.dumps(run(Sorted(context.partitionId(), schema, rows)))
        yield pa.RecordBatch.from_pydict({"made": [made]})

    columns = ", ".join(f"{name} string" for name in (*schema.names, _FOLDER))
    order = [F.col(name).asc_nulls_last() for name in (_FOLDER, *sort)]
    frames = []
    for one in sortings:
        n = len(one.groups)
        rows = mapped(spark.range(0, n, 1, n), partial(read, store, schema, one.groups), columns)
        frames.append(rows if one.ranges == 1 else rows.repartitionByRange(one.ranges, *order))
    rows = reduce(DataFrame.union, frames).sortWithinPartitions(*order)
    return [pickle.loads(row[0]) for row in mapped(rows, write, "made binary").collect()]


def read(store: Store, schema: pa.Schema, groups: list[list[str]], numbers: Iterable[pa.RecordBatch]) -> Rows:
    """The rows of the files of some groups, with the directory of each."""
    strings = pa.schema([(name, pa.string()) for name in schema.names])
    for name in (name for batch in numbers for number in batch.column(0).to_pylist() for name in groups[number]):
        with open_file(store.storage, f"{store.path}/{name}") as opened:
            for batch in parquet.ParquetFile(opened).iter_batches(batch_size=BATCH_ROWS, columns=schema.names):
                yield batch.cast(strings).append_column(_FOLDER, pa.repeat(_folder(name), len(batch)))


def _folder(name: str) -> str:
    return name[: name.rfind("/") + 1]
