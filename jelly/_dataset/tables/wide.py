"""A table with a row for each subject and a column for each predicate, made of statements in bounded memory.

The statements are sorted by subject and read twice: once for the columns and their types, once for their rows. In
between they are in a temporary file, as record batches, each of which has all statements of its subjects.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from jelly._core.base.batch import Batch
from jelly._dataset.steps.sort import Sort
from jelly._dataset.steps.step import TRIPLES
from jelly._dataset.tables.names import safe_names
from jelly._dataset.tables.profile import Profile, of_objects
from jelly._dataset.tables.rows import groups_of, placed, with_places
from jelly._formats.arrow_tables import from_batches, schema
from jelly._formats.arrow_types import STRING, cast, column_type, compute, pa
from jelly.errors import JellyArgumentError, JellyLimitError

__all__ = ["TYPE", "is_wide", "wide_table"]

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
# Rows and bytes that are made into columns at a time, and cells of the record batches that are given.
BLOCK_ROWS, BLOCK_BYTES, CELLS = 1 << 17, 1 << 25, 1 << 21
_SHORT = {"object_kind": "kind"}
_WIDE = {b"layout": b"wide"}  # metadata of a schema

# Columns of many rows have more than 2 GB.
_ROWS = pa.schema([
    field.with_type(pa.large_string())
    for field in schema(columns=["subject", "predicate", "object", "object_kind", "datatype", "lang"])
])


def _blocks(batches: Iterable[Batch]) -> Iterator[pa.Table]:
    """The rows of sorted Batches, in tables that have all rows of their subjects."""
    held: list[pa.RecordBatch] = []
    times = 1
    for made in from_batches(batches, columns=_ROWS.names):
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
        self._batches = Sort("spo", memory).unique()(TRIPLES(batches))
        self._file: Any = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - closed by the stack

    def first(self, classes: Collection[str] | None) -> Iterator[pa.Table]:
        """The rows of the subjects of some classes, or of all subjects."""
        how = pa.ipc.IpcWriteOptions(compression="lz4")
        out = pa.ipc.new_stream(self._file, _ROWS, options=how)
        for rows in _blocks(self._batches):
            if classes is not None:
                is_one = compute.is_in(rows["object"], pa.array(classes, rows["object"].type))
                for name, text in (("predicate", TYPE), ("object_kind", "iri")):
                    is_one = compute.and_(is_one, compute.equal(rows[name], text))
                rows = rows.filter(compute.is_in(rows["subject"], rows["subject"].filter(is_one)))
            if len(rows):
                rows = rows.cast(_ROWS).combine_chunks()
                try:
                    out.write_table(rows)
                except OSError as error:
                    error.filename = tempfile.gettempdir()  # the file has no name, and its disk may be full
                    raise
                yield rows
        out.close()

    def again(self) -> Iterator[pa.Table]:
        self._file.seek(0)
        with pa.ipc.open_stream(self._file) as found:
            for rows in found:
                yield pa.Table.from_batches([rows])


@dataclass(frozen=True, slots=True)
class Column:
    """The column of a predicate, and those beside it: the names of all, by the column of the rows that they are of."""

    names: dict[str, str]
    type: str
    is_list: bool

    def arrays(self, rows: pa.Table, n: int) -> Iterator[tuple[str, pa.Array]]:
        """The columns for ``n`` subjects, by their names."""
        make = placed(rows["at"].to_numpy(), n, self.is_list)
        for part, name in self.names.items():
            yield name, make(cast(rows[part], self.type) if part == "object" else rows[part])


def profiles_of(blocks: Iterable[pa.Table], typed: bool, max_columns: int) -> dict[str, Profile]:
    """The objects of each predicate."""
    found: dict[str, Profile] = {}
    for block in blocks:
        for predicate, rows in groups_of(with_places(block)[1], "predicate"):
            counts = np.unique(rows["at"].to_numpy(), return_counts=True)[1]
            profile = Profile(of_objects(rows, typed), subjects=len(counts), most=int(counts.max()))
            found.setdefault(predicate, Profile()).add(profile)
            if len(found) > max_columns:
                raise JellyLimitError(
                    f"the subjects have more than {max_columns} predicates, and each would have a column: raise "
                    "max_columns, or take the subjects of one class, or some predicates only"
                )
    return found


def columns_of(profiles: dict[str, Profile], taken: Collection[str]) -> tuple[list[pa.Field], dict[str, Column]]:
    """The fields of some predicates, and their columns."""
    names = safe_names(profiles, taken=taken)
    plain = {
        (predicate, part): f"{names[predicate]}_{_SHORT.get(part, part)}"
        for predicate, profile in profiles.items()
        for part in profile.varying
    }
    others = safe_names(plain.values(), taken=(*taken, *names.values()))
    fields, columns = [], {}
    for predicate, name in names.items():
        profile = profiles[predicate]
        own = {"object": name} | {part: others[plain[predicate, part]] for part in profile.varying}
        column = columns[predicate] = Column(own, profile.type, profile.most > 1)
        for part, field in own.items():
            about = {"predicate": predicate, "part": _SHORT.get(part, part)}
            if part == "object":
                about |= {"kind": " ".join(profile.kinds), "datatype": " ".join(profile.datatypes)}
            kind = column_type(column.type if part == "object" else STRING)
            fields.append(pa.field(field, pa.list_(kind) if column.is_list else kind, metadata=about))
    return fields, columns


def wide_table(
    batches: Iterable[Batch], classes: Collection[str] | None, typed: bool, max_columns: int, memory: int
) -> pa.RecordBatchReader:
    """The table of the subjects of some classes, or of all subjects, see `Dataset.wide`."""
    if max_columns < 1:
        raise JellyArgumentError(f"max_columns is {max_columns}: expected 1 or more")
    made = _wide(batches, classes, typed, max_columns, memory)
    return pa.RecordBatchReader.from_batches(next(made), made)


def _wide(
    batches: Iterable[Batch], classes: Collection[str] | None, typed: bool, max_columns: int, memory: int
) -> Iterator[Any]:
    """The schema, then the record batches."""
    with ExitStack() as stack:
        found = Rows(batches, memory, stack)
        fields, columns = columns_of(profiles_of(found.first(classes), typed, max_columns), ("subject",))
        whole = pa.schema([pa.field("subject", pa.large_string(), nullable=False), *fields], _WIDE)
        yield whole
        for subjects, rows in pieces(found.again(), len(whole)):
            arrays = {"subject": subjects}
            for predicate, some in groups_of(rows, "predicate"):
                arrays.update(columns[predicate].arrays(some, len(subjects)))
            made = [arrays.get(field.name, pa.nulls(len(subjects), field.type)) for field in whole]
            yield pa.RecordBatch.from_arrays(made, schema=whole)


def is_wide(table: Any) -> bool:
    """Whether `wide_table` made a table of pyarrow."""
    about = getattr(getattr(table, "schema", None), "metadata", None)
    return isinstance(about, dict) and about.items() >= _WIDE.items()


def pieces(blocks: Iterable[pa.Table], width: int) -> Iterator[tuple[pa.Array, pa.Table]]:
    """Subjects and their rows, see `with_places`: of so few subjects that so many columns of them are not large."""
    step = max(1, CELLS // width)
    for block in blocks:
        subjects, rows = with_places(block)
        ends = np.searchsorted(rows["at"].to_numpy(), np.arange(0, len(subjects) + step, step))
        for start, end in zip(ends[:-1], ends[1:], strict=True):
            yield with_places(block.slice(start, end - start))
