"""How an ingest makes tables: tasks write rows in buckets, then steps make tables of all buckets.

A step is a task without sources. A run that is continued does all of its steps again.

Vertical and wide tables are made of statements in buckets by subject. A vertical table is one for each predicate, with
objects of the type that all of them have. A wide table is one for each class: a row for each subject, a column for each
predicate, lists where a subject has several objects. First the files of all buckets are analysed, then a plan is made
of what was found, then it is carried out for each bucket. Shuffles of Spark for the same took about three times as
long, on 2 million statements.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from jelly._core.base.batch import Batch
from jelly._dataset.tables.names import safe_names
from jelly._dataset.tables.profile import LARGE, Profile, groups_of, of_objects, placed, profiles_of
from jelly._dataset.tables.wide import TYPE
from jelly._formats.arrow_tables import STRING, cast, column_type, compute, from_batches, pa, parquet
from jelly._options.layouts import BuiltLayout
from jelly.errors import JellyOptionsError
from jelly.spark._commit.store import Staged, Store
from jelly.spark._tables.buckets import (
    MAX_SEED,
    Ids,
    bucket_of,
    check_buckets,
    hash_ids,
    write_buckets,
    write_parquet,
)
from jelly.spark._tables.ids import SCRATCH, merge_terms, write_ids

__all__ = ["MAX_COLUMNS", "Plan", "Step", "Tables", "analyse_wide", "plan_wide", "write_wide"]

FOLDER = "statements"
# Maximum statements and bytes that a task sorts at once.
_RUN_ROWS = 1 << 20
_RUN_BYTES = 1 << 28
_TERM = ("object", "object_kind", "datatype", "lang")
# Maximum columns of a wide table, besides that of the subjects.
MAX_COLUMNS = 1000

Profiles = dict[str, Profile]  # by predicate


@dataclass(slots=True)
class Plan:
    """The tables, by predicate or class, and tables ``about`` them: their catalogue and a report."""

    tables: dict[str, Any]
    about: dict[str, pa.Table]

    def problems(self) -> list[str]:
        """A line for each kind of problem in the report."""
        if "report" not in self.about:
            return []
        counts = self.about["report"].group_by("problem").aggregate([("statements", "sum"), ([], "count_all")])
        return [
            f"{row['problem']}: {row['statements_sum']:,} statements"
            + ("" if row["problem"] == "no class" else f", {row['count_all']:,} columns")
            for row in counts.sort_by("problem").to_pylist()
        ]


# ---- statements

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


def _statements(paths: Sequence[str]) -> pa.Table:
    return pa.concat_tables([parquet.ParquetFile(path).read().cast(LARGE) for path in paths] or [LARGE.empty_table()])


def _merged(parts: Iterable[Profiles]) -> Profiles:
    found: Profiles = {}
    for part in parts:
        for predicate, profile in part.items():
            found.setdefault(predicate, Profile()).add(profile)
    return dict(sorted(found.items()))


def _write(folder: str, table: str, name: str, rows: pa.Table) -> None:
    write_parquet(os.path.join(folder, "tables", table, f"part-{name}.parquet"), rows, store_schema=False)


# ---- vertical tables

def analyse_vertical(paths: Sequence[str]) -> Profiles:
    """The kinds of objects of each predicate, in some files of statements."""
    return {
        predicate: Profile(of_objects(rows), graphs=len(rows) - rows["graph"].null_count)
        for predicate, rows in groups_of(_statements(paths), "predicate")
    }


def plan_vertical(parts: Sequence[Profiles]) -> Plan:
    """The tables of all files: by predicate the name, and the profile of its objects."""
    profiles = _merged(parts)
    names = safe_names(profiles)
    rows = [
        {
            "predicate": predicate,
            "table": names[predicate],
            "type": profile.type,
            "kinds": profile.kinds,
            "datatypes": profile.datatypes,
            "rows": profile.rows,
        }
        for predicate, profile in profiles.items()
    ]
    tables = {predicate: (names[predicate], profile) for predicate, profile in profiles.items()}
    return Plan(tables, {"catalogue": pa.Table.from_pylist(rows, _VERTICAL)})


_VERTICAL = pa.schema([
    ("predicate", pa.string()), ("table", pa.string()), ("type", pa.string()), ("kinds", pa.list_(pa.string())),
    ("datatypes", pa.list_(pa.string())), ("rows", pa.int64()),
])  # fmt: skip


def write_vertical(paths: Sequence[str], folder: str, *, name: str, plan: Plan) -> dict[str, Any]:
    """Write the statements of some files to the tables of their predicates."""
    for predicate, rows in groups_of(_statements(paths), "predicate"):
        table, profile = plan.tables[predicate]
        columns = {"subject": rows["subject"], "object": cast(rows["object"], profile.type)}
        if profile.type == STRING:
            if len(profile.kinds) > 1:
                columns["object_kind"] = rows["object_kind"]
            if len(profile.datatypes) > 1:
                columns["datatype"] = rows["datatype"]
            if profile.has_languages:
                columns["lang"] = rows["lang"]
        if profile.graphs:
            columns["graph"] = rows["graph"]
        _write(folder, table, name, pa.table(columns).sort_by("subject"))
    return {}


# ---- wide tables

@dataclass(slots=True)
class Classes:
    """The subjects of each class, the objects of their predicates, and what has no class."""

    subjects: dict[str, int] = field(default_factory=dict)
    predicates: dict[str, Profiles] = field(default_factory=dict)
    without: int = 0  # subjects
    left_out: int = 0  # their statements


def _of_classes(paths: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """The different triples of some files, and the subjects with their classes: each pair once."""
    rows = _statements(paths).group_by(["subject", "predicate", *_TERM], use_threads=False).aggregate([])
    is_class = compute.and_(compute.equal(rows["predicate"], TYPE), compute.equal(rows["object_kind"], "iri"))
    classes = rows.filter(is_class).select(["subject", "object"]).rename_columns(["subject", "class"])
    return rows, classes


def _by_class(rows: pa.Table, classes: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The triples of the subjects of each class."""
    return groups_of(rows.join(classes, "subject", join_type="inner", use_threads=False), "class")


def analyse_wide(paths: Sequence[str]) -> Classes:
    """The classes in some files of statements, which hold all statements of their subjects."""
    rows, classes = _of_classes(paths)
    found = Classes()
    for of, inside in _by_class(rows, classes):
        found.subjects[of] = len(inside["subject"].unique())
        found.predicates[of] = profiles_of([inside])
    rest = rows.join(classes, "subject", join_type="left anti", use_threads=False)
    found.without, found.left_out = len(rest["subject"].unique()), len(rest)
    return found


def plan_wide(parts: Sequence[Classes]) -> Plan:
    """The tables of all files: by class the name, and by predicate its column and the type of that."""
    names = safe_names({of for part in parts for of in part.subjects})
    tables: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {}
    rows, report = [], []

    def tell(problem: str, of: str, predicate: str, profile: Profile, detail: str) -> None:
        report.append({
            "problem": problem, "class": of, "predicate": predicate, "subjects": profile.subjects,
            "statements": profile.rows, "detail": detail,
        })  # fmt: skip

    if without := sum(part.without for part in parts):
        left_out = sum(part.left_out for part in parts)
        report.append({"problem": "no class", "subjects": without, "statements": left_out})
    for of, name in names.items():
        profiles = _merged(part.predicates[of] for part in parts if of in part.predicates)
        most = sorted(profiles, key=lambda predicate: (-profiles[predicate].subjects, predicate))
        for predicate in most[MAX_COLUMNS:]:
            tell("too many predicates", of, predicate, profiles[predicate], f"the table has {MAX_COLUMNS} columns")
        subjects = sum(part.subjects.get(of, 0) for part in parts)
        about = {"class": of, "table": name}
        rows.append(about | {"column": "subject", "type": "string", "subjects": subjects, "values": subjects})
        tables[of] = name, {}
        for predicate, column in safe_names(most[:MAX_COLUMNS], taken=("subject",)).items():
            profile = profiles[predicate]
            type = profile.type if profile.most == 1 else f"array<{profile.type}>"
            tables[of][1][predicate] = column, type
            rows.append(about | {
                "column": column, "predicate": predicate, "type": type, "subjects": profile.subjects,
                "values": profile.rows,
            })  # fmt: skip
            if len(profile.shapes) > 1:
                tell("mixed types", of, predicate, profile, ", ".join([
                    *(kind for kind in profile.kinds if kind != "literal"), *profile.datatypes]))  # fmt: skip
            elif profile.has_languages:
                tell("languages", of, predicate, profile, "the column has no language tags")
    return Plan(tables, {
        "catalogue": pa.Table.from_pylist(rows, _WIDE), "report": pa.Table.from_pylist(report, _REPORT)
    })  # fmt: skip


_WIDE = pa.schema([
    ("class", pa.string()), ("table", pa.string()), ("column", pa.string()), ("predicate", pa.string()),
    ("type", pa.string()), ("subjects", pa.int64()), ("values", pa.int64()),
])  # fmt: skip
_REPORT = pa.schema([
    ("problem", pa.string()), ("class", pa.string()), ("predicate", pa.string()), ("subjects", pa.int64()),
    ("statements", pa.int64()), ("detail", pa.string()),
])  # fmt: skip


def write_wide(paths: Sequence[str], folder: str, *, name: str, plan: Plan) -> dict[str, Any]:
    """Write the subjects of some files to the tables of their classes."""
    for of, inside in _by_class(*_of_classes(paths)):
        table, columns = plan.tables[of]
        subjects = inside["subject"].unique().sort()
        arrays: dict[str, pa.Array | pa.ChunkedArray] = {"subject": subjects}
        # A predicate that no subject of these files has is a column too.
        for column, type in columns.values():
            arrays[column] = pa.nulls(len(subjects), column_type(type))
        for predicate, rows in groups_of(inside, "predicate"):
            if predicate in columns:
                column, type = columns[predicate]
                arrays[column] = _column(subjects, rows, type)
        _write(folder, table, name, pa.table(arrays))
    return {}


def _column(subjects: pa.Array, rows: pa.Table, type: str) -> pa.Array:
    """The objects of a predicate, for each subject: null, or one, or a list in the order of their texts."""
    is_list = type.startswith("array<")
    if is_list:
        rows = rows.sort_by("object")
    at = compute.index_in(rows["subject"], subjects).to_numpy()
    return placed(at, len(subjects), is_list)(cast(rows["object"], type[6:-1] if is_list else type))


# ---- steps

# Bytes of compressed files that one step takes.
_MERGE_BYTES = 1 << 24
_GROUP_BYTES = 1 << 23

# Calls a function for each item, on executors.
Map: TypeAlias = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


@dataclass(frozen=True, slots=True)
class Step:
    """A task that makes files of files: ``make`` gets their paths and the directory of the task."""

    name: str
    paths: list[str]
    make: Callable[[list[str], str], dict[str, Any]]

    def write(self, folder: str, store: Store) -> dict[str, Any]:
        """Write the files of the task into a folder. The result is reported."""
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
        if not 0 <= self.seed <= MAX_SEED:
            raise JellyOptionsError(f"seed is {self.seed}: expected 0 to 2^128 - 1")
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

    def steps(self, store: Store, staged: Sequence[Staged], compute: Map) -> list[Step]:
        """The steps to do when all statements are staged."""
        if self.layout == "ids":
            return self._merges([file for file in staged if file.name.startswith(f"{SCRATCH}/")])
        analyse, make, write = _JOINS[self.layout]
        groups = self._groups(staged)
        plan = make(compute(partial(_analysed, analyse, store), groups))
        self.tables, self.misfits = len(plan.tables), plan.problems()
        steps = [
            Step(f"tables-{i:05}", paths, partial(write, name=f"{i:05}", plan=plan)) for i, paths in enumerate(groups)
        ]
        return [*steps, Step("catalogue", [], partial(_write_about, plan.about))]

    def _merges(self, files: list[Staged]) -> list[Step]:
        at_once = max(1, self.buckets * _MERGE_BYTES // max(sum(file.size for file in files), 1))
        paths = [file.place for file in files]
        chosen = [range(first, min(first + at_once, self.buckets)) for first in range(0, self.buckets, at_once)]
        return [Step(f"terms-{some[0]:04}", paths, partial(_merge, self.buckets, some)) for some in chosen if paths]

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


_JOINS: dict[str, tuple[Callable[..., Any], Callable[..., Plan], Callable[..., dict[str, Any]]]] = {
    "vertical": (analyse_vertical, plan_vertical, write_vertical),
    "wide": (analyse_wide, plan_wide, write_wide),
}


# ---- on executors

def _analysed(analyse: Callable[[list[str]], Any], store: Store, paths: list[str]) -> Any:
    with store.fetched(paths) as files:
        return analyse(files)


def _merge(buckets: int, chosen: Iterable[int], scratch: list[str], folder: str) -> dict[str, Any]:
    return {"terms": sum(merge_terms(bucket, buckets, scratch, folder) for bucket in chosen)}


def _write_about(about: dict[str, pa.Table], files: list[str], folder: str) -> dict[str, Any]:
    for kind, table in about.items():
        write_parquet(os.path.join(folder, kind, "part-0.parquet"), table)
    return {}
