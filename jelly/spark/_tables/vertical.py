"""A table for each predicate, with objects of the type that all of them have."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from jelly._dataset.tables.names import safe_names
from jelly._dataset.tables.profile import Profile, groups_of, of_objects
from jelly._formats.arrow_tables import STRING, cast, compute, pa
from jelly.spark._tables.buckets import write_parquet
from jelly.spark._tables.statements import read_statements

__all__ = ["analyse", "catalogue", "merge", "write"]

Profiles = dict[str, Profile]  # by predicate


def analyse(paths: Sequence[str]) -> Profiles:
    """The kinds of objects of each predicate, in some files of statements."""
    return {
        predicate: Profile(of_objects(rows), graphs=len(rows) - rows["graph"].null_count)
        for predicate, rows in groups_of(read_statements(paths), "predicate")
    }


def merge(parts: Sequence[Profiles]) -> Profiles:
    """The profiles of all files, by predicate in order."""
    found: Profiles = {}
    for part in parts:
        for predicate, profile in part.items():
            found.setdefault(predicate, Profile()).add(profile)
    return dict(sorted(found.items()))


def catalogue(profiles: Profiles, known: Mapping[str, str]) -> pa.Table:
    """The table of tables: predicate, name, type of the objects and their datatype where all have one."""
    names = safe_names(profiles, known)
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
    return pa.Table.from_pylist(rows, _CATALOGUE)


_CATALOGUE = pa.schema([
    ("predicate", pa.string()), ("table", pa.string()), ("type", pa.string()), ("kinds", pa.list_(pa.string())),
    ("datatypes", pa.list_(pa.string())), ("rows", pa.int64()),
])  # fmt: skip


def write(paths: Sequence[str], folder: str, name: str, profiles: Profiles, names: Mapping[str, str]) -> int:
    """Write the statements of some files to the tables of their predicates. Return the number of rows."""
    written = 0
    for predicate, rows in groups_of(read_statements(paths), "predicate"):
        profile = profiles[predicate]
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
        table = pa.table(columns)
        order = compute.sort_indices(table, [("subject", "ascending")])
        path = os.path.join(folder, "tables", names[predicate], f"part-{name}.parquet")
        write_parquet(path, table.take(order), store_schema=False)
        written += len(rows)
    return written
