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

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from jelly._core.algebra.content import term_hash
from jelly._core.algebra.select import term_rows
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._dataset.steps.order import starts
from jelly._dataset.tables.names import safe_names
from jelly._dataset.tables.profile import Profile, groups_of, placed, profiles_of
from jelly._dataset.tables.wide import TYPE
from jelly._formats.arrow_tables import STRING, cast, compute, from_batches, of_objects, pa
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError, JellySyntaxError, JellyUnsupportedError

Ids: TypeAlias = npt.NDArray[np.int64]
Item = TypeVar("Item", bound=Sized)

_PARTS = ("subject", "predicate", "object", "graph")
TRIPLES = pa.schema([pa.field(name, "int64", nullable=name == "graph") for name in _PARTS])
TERMS = pa.schema([
    pa.field("id", "int64", nullable=False), pa.field("kind", "string", nullable=False),
    pa.field("value", "string", nullable=False), ("datatype", "string"), ("lang", "string"),
])  # fmt: skip
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
    """The statements of some Batches, which it takes, with ids for their terms."""

    def __init__(self, batches: list[Batch], seed: int) -> None:
        self._batch = batch = join_batches(batches)
        batches.clear()  # their text is there twice now
        ids, self._checks = hash_terms(batch, seed)
        self._ids = np.append(ids, -1)  # the last one is for -1, the default graph, and no id
        default = np.full(len(batch), -1)
        self._columns = [default if column is None else column for column in (batch.s, batch.p, batch.o, batch.g)]

    def triples(self) -> pa.Table:
        """The statements, in their order."""
        *terms, graphs = (self._ids[column] for column in self._columns)
        return pa.Table.from_arrays([*map(pa.array, terms), pa.array(graphs, mask=graphs < 0)], schema=TRIPLES)

    def terms(self) -> pa.Table:
        """The terms in the order of their ids, each once. Datatypes are no terms by themselves. Call it last."""
        used = np.zeros(len(self._ids), np.bool_)
        for column in self._columns:
            used[column] = True
        terms = np.flatnonzero(used[:-1])
        terms = terms[_order(self._ids[terms])]
        ids, checks = self._ids[terms], self._checks[terms]
        again = np.append(False, ids[1:] == ids[:-1])
        # Terms with one id of which the other bits differ are both kept, for the error.
        again[1:] &= checks[1:] == checks[:-1]
        ids, terms = ids[~again], terms[~again]
        rows = term_rows(self._batch, terms)
        del self._batch, self._columns  # their text is there twice now
        made = from_batches([rows], columns=_FLAT, batch_rows=max(len(terms), 1)).read_all()
        table = pa.Table.from_arrays([pa.array(ids), *made.combine_chunks().columns], schema=TERMS)
        _check(table, np.flatnonzero(ids[1:] == ids[:-1]) + 1)
        return table


def in_runs(items: Iterable[Item], size: Callable[[Item], int], rows: int, n_bytes: int) -> Iterator[list[Item]]:
    """Tables or Batches, as many at a time as fit into memory: until they have so many rows, or bytes by ``size``."""
    run: list[Item] = []
    left = rows, n_bytes
    for item in items:
        run.append(item)
        left = left[0] - len(item), left[1] - size(item)
        if min(left) <= 0:
            yield run
            run, left = [], (rows, n_bytes)
    if run:
        yield run


def runs(batches: Iterable[Batch], seed: int) -> Iterator[Run]:
    """The statements of some Batches, as many at a time as fit into memory."""
    for run in in_runs(filter(len, batches), lambda batch: len(batch.text), _RUN_ROWS, _RUN_BYTES):
        yield Run(run, seed)


def _order(ids: Ids) -> npt.NDArray[np.intp]:
    """What np.argsort gives for ids, in less than half of its time.

    np.sort is three times as fast: it sorts the high bits of the ids, with their places in the low bits. The few ids
    that differ in the low bits alone are then put right: a stable sort takes next to no time where most is in order.
    """
    bits = len(ids).bit_length()
    order = np.sort(ids >> bits << bits | np.arange(len(ids))) & ((1 << bits) - 1)
    return order[np.argsort(ids[order], kind="stable")]


def order_of_runs(ids: Ids) -> npt.NDArray[np.intp]:
    """The same for ids of which equal ones mostly follow each other, as subjects do: the first of each run is sorted.

    >>> order_of_runs(np.array([7, 7, 2, 2, 9, 2])).tolist()
    [2, 3, 5, 0, 1, 4]
    """
    firsts = np.flatnonzero(starts(ids))
    order = _order(ids[firsts])
    lengths = np.diff(firsts, append=len(ids))[order]
    # What is to be added to the place of each row in the result to have its place in ids.
    moved = firsts[order] - (np.cumsum(lengths) - lengths)
    found: npt.NDArray[np.intp] = np.arange(len(ids)) + np.repeat(moved, lengths)
    return found


def first_of_each(table: pa.Table) -> pa.Table:
    """The terms in order, each once; an error if two terms have one id.

    A table that is made of a few in order takes the least time: a stable sort merges them.
    """
    ids = table["id"].to_numpy()
    order = np.argsort(ids, kind="stable")
    table, ids = table.take(order), ids[order]
    is_first = starts(ids)
    _check(table, np.flatnonzero(~is_first))
    return table.filter(pa.array(is_first))


def _check(terms: pa.Table, again: Ids) -> None:
    """JellyUnsupportedError if a term, of those ``again`` that have the id of the term before, is another one."""
    some, others = terms.take(again), terms.take(again - 1)
    if some.equals(others):
        return
    rows = next(pair for pair in zip(some.to_pylist(), others.to_pylist(), strict=True) if pair[0] != pair[1])
    shown = " and ".join(str(tuple(row.values())[1:]) for row in rows)
    raise JellyUnsupportedError(
        f"two terms have the id {rows[0]['id']}: {shown}; ingest everything into another directory, with another seed"
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


def _table(rows: list[Any], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


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
        (predicate, names[predicate], profile.type, profile.kinds, profile.datatypes, profile.rows)
        for predicate, profile in profiles.items()
    ]
    tables = {predicate: (names[predicate], profile) for predicate, profile in profiles.items()}
    return Plan(tables, {"catalogue": _table(rows, _VERTICAL)})


_VERTICAL = pa.schema([
    ("predicate", "string"), ("table", "string"), ("type", "string"), ("kinds", pa.list_(pa.string())),
    ("datatypes", pa.list_(pa.string())), ("rows", "int64"),
])  # fmt: skip


def vertical_columns(profile: Profile) -> dict[str, str]:
    """The columns of the table of a predicate, by name their types."""
    told = {  # where the objects have a type, all of them are of one kind and datatype
        "object_kind": len(profile.kinds) > 1, "datatype": len(profile.datatypes) > 1, "lang": profile.has_languages,
        "graph": profile.graphs,
    }  # fmt: skip
    return {"subject": STRING, "object": profile.type} | {name: STRING for name, there in told.items() if there}


def vertical_tables(rows: pa.Table, plan: Plan) -> Iterator[tuple[str, pa.Table]]:
    """The tables of the predicates of some statements, with their names."""
    for predicate, some in groups_of(rows, "predicate"):
        name, profile = plan.tables[predicate]
        columns = {column: cast(some[column], type) for column, type in vertical_columns(profile).items()}
        yield name, pa.table(columns).sort_by("subject")


# ---- wide tables

class Classes(NamedTuple):
    """The subjects of each class, the objects of their predicates, and what has no class."""

    subjects: dict[str, int]
    predicates: dict[str, Profiles]
    without: int  # subjects
    left_out: int  # their statements


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
    inside = dict(_by_class(rows, classes))
    rest = rows.join(classes, "subject", join_type="left anti", use_threads=False)
    return Classes(
        {of: len(some["subject"].unique()) for of, some in inside.items()},
        {of: profiles_of([some]) for of, some in inside.items()},
        len(rest["subject"].unique()),
        len(rest),
    )


def plan_wide(parts: Sequence[Classes]) -> Plan:
    """The tables of all files: by class the name, and by predicate its column and the type of that."""
    names = safe_names({of for part in parts for of in part.subjects})
    tables: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {}
    rows: list[Any] = []
    report: list[Any] = []

    def tell(problem: str, of: str, predicate: str, profile: Profile, detail: str) -> None:
        report.append((problem, of, predicate, profile.subjects, profile.rows, detail))

    if without := sum(part.without for part in parts):
        report.append(("no class", None, None, without, sum(part.left_out for part in parts), None))
    for of, name in names.items():
        profiles = _merged(part.predicates[of] for part in parts if of in part.predicates)
        most = sorted(profiles, key=lambda predicate: (-profiles[predicate].subjects, predicate))
        for predicate in most[MAX_COLUMNS:]:
            tell("too many predicates", of, predicate, profiles[predicate], f"the table has {MAX_COLUMNS} columns")
        subjects = sum(part.subjects.get(of, 0) for part in parts)
        rows.append((of, name, "subject", None, "string", subjects, subjects))
        tables[of] = name, {}
        for predicate, column in safe_names(most[:MAX_COLUMNS], taken=("subject",)).items():
            profile = profiles[predicate]
            type = profile.type if profile.most == 1 else f"array<{profile.type}>"
            tables[of][1][predicate] = column, type
            rows.append((of, name, column, predicate, type, profile.subjects, profile.rows))
            if len(profile.shapes) > 1:
                kinds = [kind for kind in profile.kinds if kind != "literal"]
                tell("mixed types", of, predicate, profile, ", ".join([*kinds, *profile.datatypes]))
            elif profile.has_languages:
                tell("languages", of, predicate, profile, "the column has no language tags")
    return Plan(tables, {"catalogue": _table(rows, _WIDE), "report": _table(report, _REPORT)})


_WIDE = pa.schema([
    ("class", "string"), ("table", "string"), ("column", "string"), ("predicate", "string"), ("type", "string"),
    ("subjects", "int64"), ("values", "int64"),
])  # fmt: skip
_REPORT = pa.schema([
    ("problem", "string"), ("class", "string"), ("predicate", "string"), ("subjects", "int64"),
    ("statements", "int64"), ("detail", "string"),
])  # fmt: skip


def wide_tables(rows: pa.Table, plan: Plan) -> Iterator[tuple[str, pa.Table]]:
    """The tables of the classes of some statements, all of their subjects, with their names."""
    for of, inside in _by_class(*_of_classes(rows)):
        if of not in plan.tables:
            continue
        table, columns = plan.tables[of]
        subjects = inside["subject"].unique().sort()
        found = dict(groups_of(inside, "predicate"))
        # A predicate that no subject of these statements has is a column too.
        yield table, pa.table({"subject": subjects} | {
            column: _column(subjects, found.get(predicate, inside.slice(0, 0)), type)
            for predicate, (column, type) in columns.items()
        })  # fmt: skip


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
