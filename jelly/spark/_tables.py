"""Tables of ids, of predicates and of classes: numbers for terms, names, types, columns. Independent of Spark.

The tables ``terms`` and ``triples``: the id of a term is 63 bits of a hash of it, so tasks need not agree on anything,
and a term has the same id in every run. Two terms with one id are found when they meet, in a task or in what merges the
terms of tasks, because terms are compared as a whole; then the job fails. Among n terms the chance is about
n * n / 2^64: 1 to 2,000 for 100 million terms.

A vertical table is one for each predicate, with objects of the type that all of them have. A wide table is one for each
class: a row for each subject, a column for each predicate, lists where a subject has several objects. First all
statements are analysed, in parts; then a plan is made of what was found; then it is carried out for each part.

`jelly.spark._frames` makes them of DataFrames, `jelly.spark._ingest` of files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from jelly._core.algebra.content import term_hash
from jelly._core.algebra.select import term_rows
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._dataset.tables.names import safe_names
from jelly._dataset.tables.profile import Profile, groups_of, of_objects, placed, profiles_of
from jelly._dataset.tables.wide import TYPE
from jelly._formats.arrow_tables import STRING, cast, column_type, compute, from_batches, pa
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError, JellySyntaxError, JellyUnsupportedError

Ids: TypeAlias = npt.NDArray[np.int64]

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
MAX_SEED = (1 << 63) - 1


def check_seed(seed: int) -> None:
    """JellyArgumentError if ids cannot depend on this number."""
    if not 0 <= seed <= MAX_SEED:
        raise JellyArgumentError(f"seed is {seed}: expected 0 to 2^63 - 1")


def hash_ids(batch: Batch, seed: int = 0) -> Ids:
    """A number for each term of a Batch: 63 bits of a hash of its kind, text, datatype and language.

    It depends on nothing else, so it is the same in every Batch, process and version.
    """
    return hash_terms(batch, seed)[0]


def hash_terms(batch: Batch, seed: int = 0) -> tuple[Ids, npt.NDArray[np.uint64]]:
    """The numbers of `hash_ids`, and 64 more bits of each hash, in which two terms differ that have one number."""
    check_seed(seed)
    hashes = term_hash(batch, seed.to_bytes(16, "little"))
    return (hashes[:, 0] >> np.uint64(1)).view(np.int64), hashes[:, 1]


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


class Run:
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

    def triples(self) -> pa.Table:
        """The statements, in their order."""
        arrays = [pa.array(np.concatenate(column)) for column in self._columns]
        graphs = arrays[3].to_numpy()
        return pa.Table.from_arrays([*arrays[:3], pa.array(graphs, mask=graphs < 0)], schema=TRIPLES)

    def terms(self) -> pa.Table:
        """The terms in the order of their ids, each once. Datatypes are no terms by themselves."""
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
        return table


def runs(batches: Iterable[Batch], seed: int) -> Iterator[Run]:
    """The statements of some Batches, as many at a time as fit into memory."""
    run = Run()
    for batch in batches:
        run.add(batch, seed)
        if run.rows >= _RUN_ROWS or run.size >= _RUN_BYTES:
            yield run
            run = Run()
    if run.rows:
        yield run


def first_of_each(table: pa.Table) -> pa.Table:
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


_TERM = ("object", "object_kind", "datatype", "lang")
# Maximum columns of a wide table, besides that of the subjects.
MAX_COLUMNS = 1000

Profiles = dict[str, Profile]  # by predicate


class Join(NamedTuple):
    """How tables are made of statements, in parts that have all statements of their subjects.

    ``analyse`` looks at a part, ``plan`` makes a plan of all that was found, ``tables`` makes those of a part.
    """

    analyse: Callable[[pa.Table], Any]
    plan: Callable[[list[Any]], Plan]
    tables: Callable[[pa.Table, Plan], Iterator[tuple[str, pa.Table]]]


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


JOINS = {
    "vertical": Join(analyse_vertical, plan_vertical, vertical_tables),
    "wide": Join(analyse_wide, plan_wide, wide_tables),
}
