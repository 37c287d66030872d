"""The kinds of objects of a predicate, and the type of the column that holds all of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from jelly._dataset.tables.rows import groups_of
from jelly._formats.arrow_types import STRING, compute, pa, type_of
from jelly.errors import JellyLimitError

__all__ = ["Profile", "Shape", "of_objects", "profiles_of"]

_XSD = "http://www.w3.org/2001/XMLSchema#"
_LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """The properties that objects share: kind, datatype (of literals), type of a column for their values."""

    kind: str
    datatype: str = ""  # that of literals: xsd:string and rdf:langString are written out
    type: str = STRING


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
        return _LANG_STRING in self.datatypes

    @property
    def varying(self) -> list[str]:
        """The properties, besides their text, that tell the objects apart: kind, datatype, lang."""
        datatypes = len(self.datatypes) > 1 and {*self.datatypes} != {_LANG_STRING, _XSD + "string"}
        return ["kind"] * (len(self.kinds) > 1) + ["datatype"] * datatypes + ["lang"] * self.has_languages

    def add(self, other: Profile) -> None:
        """Add the objects of other subjects."""
        self.shapes.update(other.shapes)
        self.graphs += other.graphs
        self.subjects += other.subjects
        self.most = max(self.most, other.most)


def of_objects(rows: pa.Table, typed: bool = True) -> Counter[Shape]:
    """The shapes of the objects of some rows of the flat layout, and how many have each."""
    found: Counter[Shape] = Counter()
    groups = rows.append_column("has_lang", compute.is_valid(rows["lang"])).group_by(
        ["object_kind", "datatype", "has_lang"]
    )
    for group in groups.aggregate([([], "count_all")]).to_pylist():
        kind, datatype, n = group["object_kind"], group["datatype"], group["count_all"]
        if kind != "literal":
            found[Shape(kind)] += n
        elif group["has_lang"]:
            found[Shape(kind, _LANG_STRING)] += n
        elif datatype is None:
            found[Shape(kind, _XSD + "string")] += n
        else:
            values = rows["object"]
            if n < len(rows):
                values = values.filter(compute.equal(rows["datatype"], datatype))
            found[Shape(kind, datatype, type_of(values, datatype) if typed else STRING)] += n
    return found


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
