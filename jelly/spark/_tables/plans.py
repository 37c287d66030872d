"""Tables of predicates and of classes: what is in some statements, the plan for all of them, and their columns.

A vertical table is one for each predicate, with objects of the type that all of them have. A wide table is one for each
class: a row for each subject, a column for each predicate, lists where a subject has several objects. First all
statements are analysed, in parts; then a plan is made of what was found; then it is carried out for each part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from jelly._dataset.tables.names import safe_names
from jelly._dataset.tables.profile import Profile, groups_of, of_objects, placed, profiles_of
from jelly._dataset.tables.wide import TYPE
from jelly._formats.arrow_tables import STRING, cast, column_type, compute, pa

__all__ = [
    "MAX_COLUMNS",
    "Plan",
    "analyse_vertical",
    "analyse_wide",
    "plan_vertical",
    "plan_wide",
    "vertical_columns",
    "vertical_tables",
    "wide_tables",
]

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


def _merged(parts: Iterable[Profiles]) -> Profiles:
    found: Profiles = {}
    for part in parts:
        for predicate, profile in part.items():
            found.setdefault(predicate, Profile()).add(profile)
    return dict(sorted(found.items()))


# ---- vertical tables

def analyse_vertical(rows: pa.Table) -> Profiles:
    """The kinds of objects of each predicate, in some statements."""
    return {
        predicate: Profile(of_objects(some), graphs=len(some) - some["graph"].null_count)
        for predicate, some in groups_of(rows, "predicate")
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


def vertical_columns(profile: Profile) -> dict[str, str]:
    """The columns of the table of a predicate, by name their types."""
    found = {"subject": STRING, "object": profile.type}
    if profile.type == STRING:
        found |= {"object_kind": STRING} if len(profile.kinds) > 1 else {}
        found |= {"datatype": STRING} if len(profile.datatypes) > 1 else {}
        found |= {"lang": STRING} if profile.has_languages else {}
    return found | ({"graph": STRING} if profile.graphs else {})


def vertical_tables(rows: pa.Table, plan: Plan) -> Iterator[tuple[str, pa.Table]]:
    """The tables of the predicates of some statements, with their names."""
    for predicate, some in groups_of(rows, "predicate"):
        name, profile = plan.tables[predicate]
        columns = {column: cast(some[column], type) for column, type in vertical_columns(profile).items()}
        yield name, pa.table(columns).sort_by("subject")


# ---- wide tables

@dataclass(slots=True)
class Classes:
    """The subjects of each class, the objects of their predicates, and what has no class."""

    subjects: dict[str, int] = field(default_factory=dict)
    predicates: dict[str, Profiles] = field(default_factory=dict)
    without: int = 0  # subjects
    left_out: int = 0  # their statements


def _of_classes(rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The different triples of some statements, and the subjects with their classes: each pair once."""
    rows = rows.group_by(["subject", "predicate", *_TERM], use_threads=False).aggregate([])
    is_class = compute.and_(compute.equal(rows["predicate"], TYPE), compute.equal(rows["object_kind"], "iri"))
    classes = rows.filter(is_class).select(["subject", "object"]).rename_columns(["subject", "class"])
    return rows, classes


def _by_class(rows: pa.Table, classes: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The triples of the subjects of each class."""
    return groups_of(rows.join(classes, "subject", join_type="inner", use_threads=False), "class")


def analyse_wide(rows: pa.Table) -> Classes:
    """The classes in some statements: all of their subjects."""
    rows, classes = _of_classes(rows)
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


def wide_tables(rows: pa.Table, plan: Plan) -> Iterator[tuple[str, pa.Table]]:
    """The tables of the classes of some statements, all of their subjects, with their names."""
    for of, inside in _by_class(*_of_classes(rows)):
        if of not in plan.tables:
            continue
        table, columns = plan.tables[of]
        subjects = inside["subject"].unique().sort()
        arrays: dict[str, pa.Array | pa.ChunkedArray] = {"subject": subjects}
        # A predicate that no subject of these statements has is a column too.
        for column, type in columns.values():
            arrays[column] = pa.nulls(len(subjects), column_type(type))
        for predicate, some in groups_of(inside, "predicate"):
            if predicate in columns:
                column, type = columns[predicate]
                arrays[column] = _column(subjects, some, type)
        yield table, pa.table(arrays)


def _column(subjects: pa.Array, rows: pa.Table, type: str) -> pa.Array:
    """The objects of a predicate, for each subject: null, or one, or a list in the order of their texts."""
    is_list = type.startswith("array<")
    if is_list:
        rows = rows.sort_by("object")
    at = compute.index_in(rows["subject"], subjects).to_numpy()
    return placed(at, len(subjects), is_list)(cast(rows["object"], type[6:-1] if is_list else type))
