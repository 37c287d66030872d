"""A table for each class: a row for each subject, a column for each predicate, lists where a subject has several."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jelly._dataset.tables.names import safe_names
from jelly._dataset.tables.profile import Profile, groups_of, placed, profiles_of
from jelly._dataset.tables.wide import TYPE
from jelly._formats.arrow_tables import cast, column_type, compute, pa
from jelly.spark._tables.buckets import write_parquet
from jelly.spark._tables.statements import read_statements

__all__ = ["MAX_COLUMNS", "Classes", "Plan", "analyse", "merge", "plan", "write"]

_TERM = ("object", "object_kind", "datatype", "lang")
# Maximum columns of a table, besides that of the subjects.
MAX_COLUMNS = 1000


@dataclass(slots=True)
class Classes:
    """The subjects of each class, the objects of their predicates, and what has no class."""

    subjects: dict[str, int] = field(default_factory=dict)
    predicates: dict[str, dict[str, Profile]] = field(default_factory=dict)
    without: int = 0  # subjects
    left_out: int = 0  # their statements


@dataclass(slots=True)
class Plan:
    """The tables: by class its name, and by predicate its column and the type of that.

    ``catalogue`` and ``report`` are tables about them.
    """

    tables: dict[str, tuple[str, dict[str, tuple[str, str]]]]
    catalogue: pa.Table
    report: pa.Table

    def problems(self) -> list[str]:
        """A line for each kind of problem in the report."""
        counts = self.report.group_by("problem").aggregate([("statements", "sum"), ([], "count_all")])
        return [
            f"{row['problem']}: {row['statements_sum']:,} statements"
            + ("" if row["problem"] == "no class" else f", {row['count_all']:,} columns")
            for row in counts.sort_by("problem").to_pylist()
        ]


def _of_classes(paths: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """The different triples of some files, and the subjects with their classes: each pair once."""
    rows = read_statements(paths).group_by(["subject", "predicate", *_TERM], use_threads=False).aggregate([])
    is_class = compute.and_(compute.equal(rows["predicate"], TYPE), compute.equal(rows["object_kind"], "iri"))
    classes = rows.filter(is_class).select(["subject", "object"]).rename_columns(["subject", "class"])
    return rows, classes


def _by_class(rows: pa.Table, classes: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The triples of the subjects of each class."""
    return groups_of(rows.join(classes, "subject", join_type="inner", use_threads=False), "class")


def analyse(paths: Sequence[str]) -> Classes:
    """The classes in some files of statements, which hold all statements of their subjects."""
    rows, classes = _of_classes(paths)
    found = Classes()
    for of, inside in _by_class(rows, classes):
        found.subjects[of] = len(inside["subject"].unique())
        found.predicates[of] = profiles_of([inside])
    rest = rows.join(classes, "subject", join_type="left anti", use_threads=False)
    found.without, found.left_out = len(rest["subject"].unique()), len(rest)
    return found


def merge(parts: Sequence[Classes]) -> Classes:
    """The classes of all files, in order."""
    found = Classes()
    for part in parts:
        found.without += part.without
        found.left_out += part.left_out
        for of, n in part.subjects.items():
            found.subjects[of] = found.subjects.get(of, 0) + n
            known = found.predicates.setdefault(of, {})
            for predicate, profile in part.predicates[of].items():
                known.setdefault(predicate, Profile()).add(profile)
    found.subjects = dict(sorted(found.subjects.items()))
    return found


def plan(found: Classes, known: Mapping[str, str], known_columns: Mapping[tuple[str, str], str]) -> Plan:
    """The tables of some classes. ``known`` are their names, ``known_columns`` names by class and predicate."""
    names = safe_names(found.subjects, known)
    tables: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {}
    rows, report = [], []

    def tell(problem: str, of: str, predicate: str, profile: Profile, detail: str) -> None:
        report.append({
            "problem": problem, "class": of, "predicate": predicate, "subjects": profile.subjects,
            "statements": profile.rows, "detail": detail,
        })  # fmt: skip

    if found.without:
        report.append({"problem": "no class", "subjects": found.without, "statements": found.left_out})
    for of, subjects in found.subjects.items():
        profiles = found.predicates[of]
        most = sorted(profiles, key=lambda predicate: (-profiles[predicate].subjects, predicate))
        for predicate in most[MAX_COLUMNS:]:
            tell("too many predicates", of, predicate, profiles[predicate], f"the table has {MAX_COLUMNS} columns")
        before = {predicate: name for (other, predicate), name in known_columns.items() if other == of}
        columns = safe_names(most[:MAX_COLUMNS], before, taken=("subject",))
        tables[of] = names[of], {}
        about = {"class": of, "table": names[of]}
        rows.append(about | {"column": "subject", "type": "string", "subjects": subjects, "values": subjects})
        for predicate, column in columns.items():
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
    return Plan(tables, pa.Table.from_pylist(rows, _CATALOGUE), pa.Table.from_pylist(report, _REPORT))


_CATALOGUE = pa.schema([
    ("class", pa.string()), ("table", pa.string()), ("column", pa.string()), ("predicate", pa.string()),
    ("type", pa.string()), ("subjects", pa.int64()), ("values", pa.int64()),
])  # fmt: skip
_REPORT = pa.schema([
    ("problem", pa.string()), ("class", pa.string()), ("predicate", pa.string()), ("subjects", pa.int64()),
    ("statements", pa.int64()), ("detail", pa.string()),
])  # fmt: skip


def write(paths: Sequence[str], folder: str, name: str, made: Plan) -> int:
    """Write the subjects of some files to the tables of their classes. Return the number of rows."""
    written = 0
    for of, inside in _by_class(*_of_classes(paths)):
        table, columns = made.tables[of]
        subjects = inside["subject"].unique().sort()
        arrays: dict[str, pa.Array | pa.ChunkedArray] = {"subject": subjects}
        # A predicate that no subject of these files has is a column too.
        for column, type in columns.values():
            arrays[column] = pa.nulls(len(subjects), column_type(type))
        for predicate, rows in groups_of(inside, "predicate"):
            if predicate in columns:
                column, type = columns[predicate]
                arrays[column] = _column(subjects, rows, type)
        path = os.path.join(folder, "tables", table, f"part-{name}.parquet")
        write_parquet(path, pa.table(arrays), store_schema=False)
        written += len(subjects)
    return written


def _column(subjects: pa.Array, rows: pa.Table, type: str) -> pa.Array:
    """The objects of a predicate, for each subject: null, or one, or a list in the order of their texts."""
    is_list = type.startswith("array<")
    if is_list:
        rows = rows.sort_by("object")
    at = compute.index_in(rows["subject"], subjects).to_numpy()
    return placed(at, len(subjects), is_list)(cast(rows["object"], type[6:-1] if is_list else type))
