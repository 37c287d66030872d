"""The objects of predicates: the column that holds all of them, and its values for each subject."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from jelly._core.base.constants import LANG_STRING_IRI, XSD_STRING_IRI
from jelly._formats.arrow_tables import STRING, Shape, compute, of_objects, pa, schema
from jelly.errors import JellyLimitError

# Columns of many rows have more than 2 GB.
LARGE = pa.schema([column.with_type(pa.large_string()) for column in schema()])
Places: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(slots=True)
class Profile:
    """The objects of a predicate: how many have which shape, and how many are in named graphs.

    ``most`` is the maximum of objects of one of the ``subjects``.
    """

    shapes: Counter[Shape] = field(default_factory=Counter)
    graphs: int = 0
    subjects: int = 0
    most: int = 0

    @property
    def rows(self) -> int:
        """The number of objects."""
        return self.shapes.total()

    @property
    def type(self) -> str:
        """The type of a column for all of them, by its name in Spark.

        >>> Profile(Counter({Shape("literal", "x:int", "bigint"): 2})).type
        'bigint'
        >>> Profile(Counter({Shape("literal", "x:int", "bigint"): 2, Shape("iri"): 1})).type
        'string'
        """
        return next(iter(self.shapes)).type if len(self.shapes) == 1 else STRING

    @property
    def kinds(self) -> list[str]:
        """The kinds of the objects, in order."""
        return sorted({shape.kind for shape in self.shapes})

    @property
    def datatypes(self) -> list[str]:
        """The datatypes of the literals, in order."""
        return sorted({shape.datatype for shape in self.shapes if shape.datatype})

    @property
    def has_languages(self) -> bool:
        """Whether some literals have a language."""
        return LANG_STRING_IRI in self.datatypes

    @property
    def varying(self) -> list[str]:
        """The properties, besides their text, that tell the objects apart: kind, datatype, lang."""
        datatypes = len(self.datatypes) > 1 and {*self.datatypes} != {LANG_STRING_IRI, XSD_STRING_IRI}
        return ["kind"] * (len(self.kinds) > 1) + ["datatype"] * datatypes + ["lang"] * self.has_languages

    def add(self, other: Profile) -> None:
        """Add the objects of other subjects."""
        self.shapes.update(other.shapes)
        self.graphs += other.graphs
        self.subjects += other.subjects
        self.most = max(self.most, other.most)


def profiles_of(blocks: Iterable[pa.Table], typed: bool = True, max_columns: float = math.inf) -> dict[str, Profile]:
    """The objects of each predicate, in tables that have all rows of their subjects."""
    found: dict[str, Profile] = {}
    for block in filter(len, blocks):
        for predicate, rows in groups_of(block, "predicate"):
            counts = rows["subject"].value_counts().field("counts")
            profile = Profile(of_objects(rows, typed), subjects=len(counts), most=compute.max(counts).as_py())
            found.setdefault(predicate, Profile()).add(profile)
            if len(found) > max_columns:
                raise JellyLimitError(
                    f"the subjects have more than {max_columns} predicates, and each would have a column: raise "
                    "max_columns, or take the subjects of one class, or some predicates only"
                )
    return found


def groups_of(rows: pa.Table, column: str) -> Iterator[tuple[str, pa.Table]]:
    """Each value of a column, in order, with its rows."""
    codes = rows[column].combine_chunks().dictionary_encode()
    numbers = codes.indices.to_numpy()
    rows = rows.take(np.argsort(numbers, kind="stable"))
    n = np.bincount(numbers)
    for value, start, length in sorted(zip(codes.dictionary.to_pylist(), np.cumsum(n) - n, n, strict=True)):
        yield value, rows.slice(start, length)


def with_places(rows: pa.Table) -> tuple[pa.Array, pa.Table]:
    """The subjects of rows that are in their order, and the rows with a column ``at``: which of these each has."""
    runs = compute.run_end_encode(rows["subject"].combine_chunks())
    at = np.repeat(np.arange(len(runs.values)), np.diff(runs.run_ends, prepend=0))
    return runs.values, rows.append_column("at", pa.array(at))


def placed(at: Places, n: int, is_list: bool) -> Callable[[pa.ChunkedArray], pa.Array]:
    """A function that makes a column for ``n`` subjects of values, of which each is of the subject that ``at`` says.

    >>> values = pa.chunked_array([["x", "y", "z"]])
    >>> placed(np.array([2, 0, 2]), 3, True)(values).to_pylist()
    [['y'], None, ['x', 'z']]
    """
    if not is_list:
        places = np.full(n, -1, np.int64)
        places[at] = np.arange(len(at))
        return lambda values: values.take(pa.array(places, mask=places < 0)).combine_chunks()
    counts = np.bincount(at, minlength=n)
    offsets = pa.array(np.append(0, np.cumsum(counts)), pa.int32(), mask=np.append(counts == 0, False))
    order = np.argsort(at, kind="stable")
    return lambda values: pa.ListArray.from_arrays(offsets, values.take(order).combine_chunks())
