"""A table with a row for each subject and a column for each predicate, made of statements in bounded memory.

The statements are sorted by subject and read twice: once for the columns and their types, once for their rows. In
between they are in a temporary file, as record batches, each of which has all statements of its subjects.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack
from typing import Any, TypeAlias

import numpy as np

from jelly._core.base.batch import Batch
from jelly._dataset.steps.order import Sort
from jelly._dataset.steps.step import triples
from jelly._dataset.tables.names import safe_names
from jelly._dataset.tables.profile import LARGE, Profile, groups_of, placed, profiles_of, with_places
from jelly._formats.arrow_tables import STRING, cast, column_type, compute, from_batches, pa

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
# Rows and bytes that are made into columns at a time, and cells of the record batches that are given.
BLOCK_ROWS, BLOCK_BYTES, CELLS = 1 << 17, 1 << 25, 1 << 21
_PARTS = {"kind": "object_kind"}


def _blocks(batches: Iterable[Batch]) -> Iterator[pa.Table]:
    """The rows of sorted Batches, in tables that have all rows of their subjects."""
    held: list[pa.RecordBatch] = []
    times = 1
    for made in from_batches(batches):
        held.append(made)
        size = max(sum(map(len, held)) / BLOCK_ROWS, sum(each.nbytes for each in held) / BLOCK_BYTES)
        if size >= times:
            table = pa.Table.from_batches(held)
            end = compute.index(table["subject"], made["subject"][-1]).as_py()
            times = 1 if end else 2 * times  # a subject of many rows
            if end:
                yield table.slice(0, end)
            held = table.slice(end).to_batches()
    if held:
        yield pa.Table.from_batches(held)


class Rows:
    """The rows of whole subjects in a temporary file, as they are given for the first time, and as often as wanted."""

    def __init__(self, batches: Iterable[Batch], memory: int, stack: ExitStack) -> None:
        self.batches = Sort("spo", memory).unique()(triples(batches))
        self._file: Any = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - closed by the stack

    def first(self, classes: Collection[str] | None) -> Iterator[pa.Table]:
        """The rows of the subjects of some classes, or of all subjects."""
        out = pa.ipc.new_stream(self._file, LARGE, options=pa.ipc.IpcWriteOptions(compression="lz4"))
        for rows in _blocks(self.batches):
            if classes is not None:
                of, kind, object = map(compute.field, ("predicate", "object_kind", "object"))
                found = rows.filter((of == TYPE) & (kind == "iri") & object.isin(pa.array(classes, pa.string())))
                rows = rows.filter(compute.is_in(rows["subject"], found["subject"]))
            if len(rows):
                rows = rows.cast(LARGE).combine_chunks()
                out.write_table(rows)
                yield rows
        out.close()

    def again(self, width: int) -> Iterator[tuple[pa.Array, pa.Table]]:
        """Subjects and their rows, see `with_places`: of so few that ``width`` columns of them are not large."""
        step = max(1, CELLS // width)
        self._file.seek(0)
        for batch in pa.ipc.open_stream(self._file):
            block = pa.Table.from_batches([batch])
            subjects, rows = with_places(block)
            ends = np.searchsorted(rows["at"].to_numpy(), np.arange(0, len(subjects) + step, step))
            for start, end in zip(ends[:-1], ends[1:], strict=True):
                yield with_places(block.slice(start, end - start))


# By predicate: the names of its column and those beside it, by the column of the rows that they are of; its objects.
Columns: TypeAlias = dict[str, tuple[dict[str, str], Profile]]


def arrays_of(
    rows: pa.Table, columns: Columns, n: int, cast: Callable[[Any, str], Any] = cast
) -> Iterator[tuple[str, pa.Array]]:
    """The columns for ``n`` subjects, with their names: those that have a value. ``cast`` makes values of texts."""
    for predicate, some in groups_of(rows, "predicate"):
        names, profile = columns[predicate]
        make = placed(some["at"].to_numpy(), n, profile.most > 1)
        for part, name in names.items():
            yield name, make(cast(some[part], profile.type if part == "object" else STRING))


def columns_of(profiles: dict[str, Profile], taken: Collection[str]) -> tuple[list[pa.Field], Columns]:
    """The fields of some predicates, and their columns."""
    names = safe_names(profiles, taken=taken)
    beside = [f"{names[of]}_{part}" for of, profile in profiles.items() for part in profile.varying]
    others = safe_names(beside, taken=(*taken, *names.values()))
    fields: list[pa.Field] = []
    columns: Columns = {}
    for predicate, name in names.items():
        profile = profiles[predicate]
        own = {"object": name} | {part: others[f"{name}_{part}"] for part in profile.varying}
        about = {"predicate": predicate, "kind": " ".join(profile.kinds), "datatype": " ".join(profile.datatypes)}
        for part, column in own.items():
            kind = column_type(profile.type if part == "object" else STRING)
            field = pa.field(column, pa.list_(kind) if profile.most > 1 else kind, metadata=about | {"part": part})
            fields.append(field)
        columns[predicate] = {_PARTS.get(part, part): column for part, column in own.items()}, profile
    return fields, columns


def wide_table(*settings: Any) -> pa.RecordBatchReader:
    """The table of the subjects of some classes, or of all subjects, see `Dataset.wide`."""
    made = _wide(*settings)
    return pa.RecordBatchReader.from_batches(next(made), made)


def _wide(
    batches: Iterable[Batch], classes: Collection[str] | None, typed: bool, max_columns: int, memory: int
) -> Iterator[Any]:
    """The schema, then the record batches."""
    with ExitStack() as stack:
        found = Rows(batches, memory, stack)
        fields, columns = columns_of(profiles_of(found.first(classes), typed, max_columns), ("subject",))
        whole = pa.schema([pa.field("subject", pa.large_string(), nullable=False), *fields], {"layout": "wide"})
        yield whole
        for subjects, rows in found.again(len(whole)):
            arrays = {"subject": subjects, **dict(arrays_of(rows, columns, len(subjects)))}
            made = [arrays.get(field.name, pa.nulls(len(subjects), field.type)) for field in whole]
            yield pa.RecordBatch.from_arrays(made, schema=whole)


