"""Statements as a property graph: CSV files that Neo4j and Kùzu import, made in bounded memory.

A node is a subject, or an object that is no literal; its labels are its classes, its properties its literals. All other
statements are relationships.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from jelly._bytes.part_file import PartFolder, refuse_url
from jelly._core.algebra.content import term_hash
from jelly._core.base.batch import Batch
from jelly._core.base.kinds import Kind, kinds_of
from jelly._dataset.conditions.terms import Terms
from jelly._dataset.tables.names import safe_names
from jelly._dataset.tables.profile import placed, profiles_of
from jelly._dataset.tables.wide import TYPE, Rows, arrays_of, columns_of
from jelly._formats.arrow_tables import STRING, cast, compute, csv, pa
from jelly._streams.spool import HashFile, compare, marks
from jelly.errors import JellyUnsupportedError

# Between the values of a list.
BETWEEN = "\x1f"
# The types of Neo4j, by those of columns.
_TYPES = {
    "bigint": "long", "double": "double", "boolean": "boolean", "date": "date", "timestamp_ntz": "localdatetime",
    "timestamp": "datetime",
}  # fmt: skip
_FILES = ("nodes.csv", "relationships.csv")


def _hashed(batches: Iterable[Batch], subjects: HashFile, objects: HashFile) -> Iterator[Batch]:
    """Sorted Batches; their subjects, and the objects of relationships, are put into files."""
    seed = os.urandom(16)
    for batch in batches:
        hashes, kinds = term_hash(batch, seed), batch.kind[batch.o]
        is_class = np.isin(batch.p, Terms(batch).with_text((Kind.IRI,), TYPE.encode())) & (kinds == Kind.IRI)
        subjects.add(hashes[batch.s[np.diff(batch.s, prepend=-1) != 0]])
        objects.add(hashes[batch.o[~is_class & ~np.isin(kinds, kinds_of("literal"))]])
        yield batch


def _parted(rows: pa.Table) -> Iterator[pa.Table]:
    """The statements with literals, with classes, and those between nodes."""
    kind = rows["object_kind"]
    is_literal = compute.equal(kind, "literal")
    is_class = compute.and_(compute.equal(rows["predicate"], TYPE), compute.equal(kind, "iri"))
    for which in (is_literal, is_class, compute.invert(compute.or_(is_literal, is_class))):
        yield rows.filter(which)


def _named(values: pa.ChunkedArray, names: dict[str, str]) -> pa.ChunkedArray:
    return pa.chunked_array([[names[value] for value in values.to_pylist()]], pa.string())


def _texts(values: pa.ChunkedArray, type: str) -> pa.ChunkedArray:
    """Lexical forms as the importers read them."""
    if type in ("boolean", "bigint"):
        values = cast(values, type)
    elif type != STRING:
        values = compute.replace_substring(compute.utf8_ltrim(values, "+"), "INF", "Infinity")
    return values.cast(pa.string())


def _cells(values: pa.Array, name: str) -> pa.Array:
    """A column as texts: those of a list become one."""
    if not pa.types.is_list(values.type):
        return values
    texts = compute.fill_null(values.values, "")
    if compute.any(compute.match_substring(texts, BETWEEN)).as_py():
        raise JellyUnsupportedError(f"a value of {name} has U+001F, which stands between the values of a list")
    return compute.binary_join(pa.ListArray.from_arrays(values.offsets, texts, mask=values.is_null()), BETWEEN)


def write_property_graph(folder: str, batches: Iterable[Batch], max_columns: int, memory: int) -> int:
    """Write statements as a property graph, see `Dataset.write`: their number."""
    refuse_url(os.fspath(folder))
    with ExitStack() as stack:
        subjects, objects = HashFile(memory // 16, stack), HashFile(memory // 16, stack)
        found = Rows(batches, memory // 2, stack)
        found.batches = _hashed(found.batches, subjects, objects)
        classes: set[str] = set()
        types: set[str] = set()

        def literals() -> Iterator[pa.Table]:
            for rows in found.first(None):
                values, of, links = _parted(rows)
                classes.update(of["object"].unique().to_pylist())
                types.update(links["predicate"].unique().to_pylist())
                yield values

        _, columns = columns_of(profiles_of(literals(), True, max_columns), ("id", "labels"))
        names, labels = safe_names(types), safe_names(classes)
        is_new = marks(objects.rows, memory, stack)
        compare(subjects, objects, memory // 4, marks(subjects.rows, memory, stack), is_new)
        part = stack.enter_context(PartFolder(folder))
        nodes, relationships = files = [stack.enter_context(open(part.of(name), "wb")) for name in _FILES]
        own = {
            name: _TYPES.get(profile.type if part == "object" else "", "string") + "[]" * (profile.most > 1)
            for parts, profile in columns.values()
            for part, name in parts.items()
        }
        heads = ["id:ID", ":LABEL", *map(":".join, own.items())]
        nodes.write(f"{','.join(heads)}\n".encode())
        relationships.write(b":START_ID,:END_ID,:TYPE\n")
        n = at = 0
        for ids, rows in found.again(len(heads)):
            n += len(rows)
            values, of, links = _parted(rows)
            made = dict(arrays_of(values, columns, len(ids), _texts))
            made[""] = placed(of["at"].to_numpy(), len(ids), True)(_named(of["object"], labels))
            missing = pa.nulls(len(ids))
            _write(nodes, [ids, *(_cells(made.get(name, missing), name) for name in ("", *own))])
            new = links["object"].filter(pa.array(is_new[at : at + len(links)]))
            at += len(links)
            _write(nodes, [new, *[pa.nulls(len(new))] * (len(heads) - 1)])
            _write(relationships, [links["subject"], links["object"], _named(links["predicate"], names)])
        for file in files:
            file.close()
        part.commit(os.path.join(folder, name) for name in _FILES)
    return n


def _write(file: Any, columns: list[Any]) -> None:
    table = pa.table(columns, names=list(map(str, range(len(columns)))))
    csv.write_csv(table, file, csv.WriteOptions(include_header=False))
