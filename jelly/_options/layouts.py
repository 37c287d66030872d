"""The layouts of tables of statements, in Arrow, Parquet, CSV and Spark. Imports nothing else of the package."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from jelly.errors import JellyArgumentError

Layout: TypeAlias = Literal["flat", "ntriples"]
# "typed" is the layout flat with columns for the values of literals.
LayoutWithValues: TypeAlias = Literal["flat", "ntriples", "typed"]
# Of query results: a column for each variable. "term" has structs of these fields, which say all of a term.
ResultLayout: TypeAlias = Literal["flat", "ntriples", "typed", "term"]
# Several tables in a directory.
FolderLayout: TypeAlias = Literal["ids", "property-graph"]
FOLDERS: tuple[FolderLayout, ...] = get_args(FolderLayout)
VALUES = ("bigint", "double", "decimal", "boolean", "date", "timestamp_ntz", "timestamp")
# Several tables, which `jelly.spark.ingest` builds.
BuiltLayout: TypeAlias = Literal["ids", "vertical", "wide"]
BUILT: tuple[BuiltLayout, ...] = get_args(BuiltLayout)


@dataclass(frozen=True, slots=True)
class TableLayout:
    """A layout: its columns in their order, and which part of a statement each of them holds.

    Parts are subject, predicate, object, graph; of the object also object_kind, datatype, lang, direction.
    """

    name: Layout
    syntax: Literal["plain", "ntriples"]  # of the values, see `jelly._core.arrow.values`
    columns: dict[str, str]  # part by name
    required: tuple[str, ...]
    optional: dict[str, str]  # columns that are built only if asked for: part by name

    @property
    def parts(self) -> dict[str, str]:
        """The part that each column holds."""
        return self.columns | self.optional

    def column(self, part: str) -> str:
        """The name of the column that holds a part.

        >>> LAYOUTS["ntriples"].column("graph")
        'g'
        """
        return next(name for name, found in self.parts.items() if found == part)


# The places of a statement, by their letters.
PLACES = {"s": "subject", "p": "predicate", "o": "object", "g": "graph"}
_FLAT = ("subject", "predicate", "object", "object_kind", "datatype", "lang", "graph")

LAYOUTS: dict[str, TableLayout] = {
    layout.name: layout
    for layout in (
        TableLayout("flat", "plain", {name: name for name in _FLAT}, _FLAT[:4], {"direction": "direction"}),
        TableLayout("ntriples", "ntriples", PLACES, ("s", "p", "o"), {}),
    )
}


def find_layout(name: str) -> TableLayout:
    """The layout of this name; ValueError if there is none."""
    if name == "typed":
        flat = LAYOUTS["flat"]
        return replace(flat, columns=flat.columns | {value: value for value in VALUES})
    found = LAYOUTS.get(name)
    if found is None:
        known = " or ".join(f'"{layout}"' for layout in LAYOUTS)
        raise JellyArgumentError(f"layout is {name!r}: expected {known}")
    return found


def check_result_layout(name: str) -> None:
    """JellyArgumentError if tables of query results have no layout of this name."""
    if name not in get_args(ResultLayout):
        known = ", ".join(f'"{layout}"' for layout in get_args(ResultLayout))
        raise JellyArgumentError(f"layout is {name!r}: expected one of {known}")


def guess_layout(names: Iterable[str]) -> TableLayout:
    """The first layout that has one of these columns for a subject, predicate or object; else the last layout.

    >>> guess_layout(["o", "x"]).name, guess_layout(["object"]).name
    ('ntriples', 'flat')
    """
    given = set(names)
    for layout in LAYOUTS.values():
        if not given.isdisjoint(layout.column(part) for part in ("subject", "predicate", "object")):
            return layout
    return layout
