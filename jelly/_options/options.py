"""Stream options: the first row of a Jelly stream."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from jelly._options.limits import camel
from jelly.errors import JellyArgumentError, JellyOptionsError

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_TABLE_SIZE = 1 << 20
MIN_NAME_TABLE = 8
# Jelly-RDF 1.2: protocol version, smallest name table, the RDF versions that a stream can announce (by number).
COLUMN_VERSION = 3
# The newest version that stores rows, the default of writers.
ROW_VERSION = 2
MIN_COLUMN_NAMES = 128
RDF_VERSIONS = ("unspecified", "1.1", "1.2-basic", "1.2")
NUMBERINGS = ("P", "S")
# The sizes of lookup tables, and the limits that readers have for them.
TABLES = {
    "max_name_table_size": "max_names", "max_prefix_table_size": "max_prefixes",
    "max_datatype_table_size": "max_datatypes",
}  # fmt: skip

_STAX = "https://w3id.org/stax/ontology#"


class PhysicalType(IntEnum):
    """Layout of statements in a stream (Jelly-RDF, section "Physical stream types").

    Attributes
    ----------
    UNSPECIFIED : int
        0. Not given: a writer then takes the type of the first statement.
    TRIPLES : int
        1. Rows of triples.
    QUADS : int
        2. Rows of quads.
    GRAPHS : int
        3. Rows of triples between the start and the end of a graph.

    Examples
    --------
    >>> import jelly
    >>> jelly.StreamOptions(physical_type="quads").physical_type is jelly.PhysicalType.QUADS
    True
    """

    UNSPECIFIED = 0
    TRIPLES = 1
    QUADS = 2
    GRAPHS = 3


class LogicalType(IntEnum):
    """Meaning of a frame, after the RDF Stream Taxonomy (Jelly-RDF, section "Logical stream types").

    Attributes
    ----------
    UNSPECIFIED : int
        0. Not given.
    FLAT_TRIPLES : int
        1. A stream of triples; frames have no meaning.
    FLAT_QUADS : int
        2. A stream of quads; frames have no meaning.
    GRAPHS : int
        3. Each frame is a graph.
    DATASETS : int
        4. Each frame is a dataset.
    SUBJECT_GRAPHS : int
        13. Each frame is a graph about one subject.
    NAMED_GRAPHS : int
        14. Each frame is a dataset with one named graph.
    TIMESTAMPED_NAMED_GRAPHS : int
        114. Each frame is a dataset with one named graph and a timestamp.

    Examples
    --------
    >>> import jelly
    >>> jelly.LogicalType.from_iri("https://w3id.org/stax/ontology#flatTripleStream").name
    'FLAT_TRIPLES'
    >>> jelly.LogicalType.GRAPHS.is_grouped
    True
    """

    UNSPECIFIED = 0
    FLAT_TRIPLES = 1
    FLAT_QUADS = 2
    GRAPHS = 3
    DATASETS = 4
    SUBJECT_GRAPHS = 13
    NAMED_GRAPHS = 14
    TIMESTAMPED_NAMED_GRAPHS = 114

    @property
    def iri(self) -> str:
        """The IRI of the type in the RDF Stream Taxonomy (RDF-STaX); "" for UNSPECIFIED.

        Examples
        --------
        >>> LogicalType.FLAT_TRIPLES.iri
        'https://w3id.org/stax/ontology#flatTripleStream'
        """
        return _IRIS.get(self, "")

    @classmethod
    def from_iri(cls, iri: str) -> LogicalType:
        """The type with an IRI of the RDF Stream Taxonomy (RDF-STaX).

        Raises
        ------
        JellyOptionsError
            If no type has this IRI.

        Examples
        --------
        >>> LogicalType.from_iri("https://w3id.org/stax/ontology#datasetStream").name
        'DATASETS'
        """
        for kind, known in _IRIS.items():
            if known == iri:
                return kind
        raise JellyOptionsError(f"no logical type has the IRI {iri}: expected one of {', '.join(_IRIS.values())}")

    @property
    def base(self) -> LogicalType:
        """The base type: the last digit of the number.

        Examples
        --------
        >>> LogicalType.TIMESTAMPED_NAMED_GRAPHS.base.name
        'DATASETS'
        """
        return LogicalType(self % 10)

    @property
    def is_grouped(self) -> bool:
        """Whether each frame is one graph or one dataset."""
        return self % 10 in (3, 4)  # GRAPHS and DATASETS, by whose names it takes longer


# GRAPHS is graphStream, FLAT_TRIPLES is flatTripleStream.
_IRIS = {kind: _STAX + camel(f"{kind.name.lower()[:-1]}_stream") for kind in LogicalType if kind}

# The table of section "Consistency with physical stream types".
_OF_TRIPLES = (LogicalType.UNSPECIFIED, LogicalType.FLAT_TRIPLES, LogicalType.GRAPHS)
_OF_QUADS = (LogicalType.UNSPECIFIED, LogicalType.FLAT_QUADS, LogicalType.DATASETS)
_LOGICAL_TYPES = frozenset(LogicalType)


# The values of fields that are words.
_WORDS = {"rdf_version": ("", *RDF_VERSIONS), "numbering": NUMBERINGS}

Options = TypeVar("Options", "StreamOptions", "PatchOptions")

# Values that a stream may have though no writer is to choose them, and a value that is always allowed.
_LOOSE: dict[str, Any] = {"max_name_table_size": MIN_COLUMN_NAMES, "logical_type": LogicalType.UNSPECIFIED}


def _check_types(options: Any) -> None:
    """Each field is of the type of its default; truth values and types of streams may be numbers, types also names."""
    for field in fields(options):
        value = getattr(options, field.name)
        kind: Any = type(field.default)
        is_type = issubclass(kind, IntEnum)
        if is_type and isinstance(value, str):
            names = kind.__members__
            if value.upper() not in names:
                expected = ", ".join(names).lower()
                raise JellyArgumentError(f"{field.name} is {value!r:.80}: expected one of {expected}")
            value = names[value.upper()]
        if not isinstance(value, str if kind is str else int) or (kind is bool and value not in (0, 1)):
            expected = {str: "a str", bool: "a bool"}.get(kind, "a whole number")
            raise JellyArgumentError(f"{field.name} is {value!r:.80}: expected {expected}")
        if is_type:
            try:
                object.__setattr__(options, field.name, kind(value))
            except ValueError as error:
                raise JellyOptionsError(str(error)) from None


class CommonOptions:
    """What the options of all Jelly streams have in common: their fields are checked, and a copy may have others."""

    __slots__ = ()
    version: int
    _least_names = MIN_NAME_TABLE

    def __post_init__(self) -> None:
        _check_types(self)
        for name, least in zip(TABLES, (self._least_names, 0, 0), strict=True):
            size = getattr(self, name)
            if not least <= size <= MAX_TABLE_SIZE:
                raise JellyOptionsError(f"{name} is {size}: expected {least} to {MAX_TABLE_SIZE}")
        for name, words in _WORDS.items():
            word = getattr(self, name, words[0])
            if word not in words:
                raise JellyOptionsError(f"{name} is {word!r}: expected one of {', '.join(filter(None, words))}")
        self._check()

    def _check(self) -> None:
        """Check the version, and what must go together."""
        if self.version != 1:
            raise JellyOptionsError(f"version is {self.version}: expected 1")

    def _along(self, changes: dict[str, Any]) -> dict[str, Any]:
        """The changes, and what must change along."""
        return changes

    def replace(self, **changes: Any) -> Self:
        """Copy the options with some fields changed.

        Parameters
        ----------
        **changes : Any
            Fields with other values.
        """
        options: Any = self
        changes = self._along(changes)
        # What was read from a stream and does not change is not checked.
        kept = {name: getattr(self, name) for name in _LOOSE if hasattr(self, name) and name not in changes}
        if "physical_type" in changes:
            kept.pop("logical_type", None)
        made: Self = replace(options, **{name: _LOOSE[name] for name in kept}, **changes)
        for name, value in kept.items():
            object.__setattr__(made, name, value)
        return made


@dataclass(frozen=True, slots=True)
class StreamOptions(CommonOptions):
    """Options of a Jelly-RDF stream (Jelly-RDF, section "Stream options").

    Parameters
    ----------
    physical_type : PhysicalType, default UNSPECIFIED
        Layout of the statements; a writer replaces UNSPECIFIED by the type of the first statement. Like other types
        it may be given by its name: ``"quads"``.
    logical_type : LogicalType, default UNSPECIFIED
        Meaning of a frame.
    stream_name : str, default ""
        Name of the stream.
    generalized_statements : bool, default False
        Allow any term in any position.
    rdf_star : bool, default False
        Allow quoted triples.
    max_name_table_size : int, default 4000
        Entries in the name table, at least 8.
    max_prefix_table_size : int, default 150
        Entries in the prefix table (0 disables it).
    max_datatype_table_size : int, default 32
        Entries in the datatype table (0 disables it).
    version : int, default 0
        Version of the format, 1 to 3. With 0 the writer chooses 1, or 2 if there are namespace declarations. 3 is
        Jelly-RDF 1.2, which stores statements in columns, see Notes.
    rdf_version : {"", "unspecified", "1.1", "1.2-basic", "1.2"}, default ""
        Version 3 only: the RDF version that the stream announces. With "" the writer announces what the terms need, and
        a higher version when the first base direction or triple term turns up; in a grouped stream "unspecified".
    numbering : {"P", "S"}, default "P"
        Version 3 only: which of the two known states of the schema numbers the fields. P is that of Jelly-JVM.

    Raises
    ------
    JellyOptionsError
        If a value is out of range or the options contradict each other.

    Notes
    -----
    Unstable: version 3 is not final. A later release may write other bytes for it, and files of it may need to be
    written again.

    The name table of version 3 has at least 128 entries. It has neither generalized statements nor quoted triples nor
    the physical type GRAPHS. A stream with a grouped logical type is one of messages, each of which is a frame of the
    input; all other streams are flat.

    Examples
    --------
    >>> StreamOptions.small(physical_type=PhysicalType.QUADS).max_name_table_size
    128
    """

    physical_type: PhysicalType = PhysicalType.UNSPECIFIED
    logical_type: LogicalType = LogicalType.UNSPECIFIED
    stream_name: str = ""
    generalized_statements: bool = False
    rdf_star: bool = False
    max_name_table_size: int = 4000
    max_prefix_table_size: int = 150
    max_datatype_table_size: int = 32
    version: int = 0
    rdf_version: str = ""
    numbering: str = "P"

    def _check(self) -> None:
        if not 0 <= self.version <= COLUMN_VERSION:
            raise JellyOptionsError(f"version is {self.version}: expected 1, 2 or 3, or 0 for 1 or 2, whichever fits")
        if self.version == COLUMN_VERSION:
            self._check_columns()
        elif self.rdf_version:
            raise JellyOptionsError("only version 3 (Jelly-RDF 1.2) announces an rdf_version")
        if not self.types_agree:
            raise JellyOptionsError(
                f"logical type {self.logical_type.name} does not go with physical type {self.physical_type.name}"
            )

    def _check_columns(self) -> None:
        if self.max_name_table_size < MIN_COLUMN_NAMES:
            raise JellyOptionsError(
                f"max_name_table_size is {self.max_name_table_size}: version 3 needs at least {MIN_COLUMN_NAMES}"
            )
        for name in ("generalized_statements", "rdf_star"):
            if getattr(self, name):
                raise JellyOptionsError(
                    f"{name}=True does not go with version 3 (Jelly-RDF 1.2): version=2 can have it"
                )
        if self.physical_type == PhysicalType.GRAPHS:
            raise JellyOptionsError("physical type GRAPHS does not go with version 3 (Jelly-RDF 1.2): use QUADS")

    @classmethod
    def small(cls, **changes: Any) -> StreamOptions:
        """Options for many small streams: 128 names, 16 prefixes, 16 datatypes.

        Parameters
        ----------
        **changes : Any
            Fields with other values.
        """
        tables = {"max_name_table_size": 128, "max_prefix_table_size": 16, "max_datatype_table_size": 16}
        return cls(**(tables | changes))

    @classmethod
    def big(cls, **changes: Any) -> StreamOptions:
        """The default options: 4000 names, 150 prefixes, 32 datatypes.

        Parameters
        ----------
        **changes : Any
            Fields with other values.
        """
        return cls(**changes)

    def _along(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Rows (version 1 or 2) and columns (version 3) have not the same options."""
        version = changes.get("version", self.version)
        if (version == COLUMN_VERSION) == (self.version == COLUMN_VERSION):
            return changes
        if version != COLUMN_VERSION:
            return {"rdf_version": "", "numbering": "P"} | changes
        also: dict[str, Any] = {"rdf_star": False, "generalized_statements": False}
        also["max_name_table_size"] = max(self.max_name_table_size, MIN_COLUMN_NAMES)
        if self.physical_type == PhysicalType.GRAPHS:
            also["physical_type"] = PhysicalType.QUADS
        return also | changes

    @property
    def types_agree(self) -> bool:
        """Whether logical and physical type go together by the table of the specification.

        A writer cannot choose others, but a stream may have them (section "Consistency with physical stream types").
        """
        if self.physical_type == PhysicalType.UNSPECIFIED:
            return True
        return self.logical_type.base in (_OF_TRIPLES if self.physical_type == PhysicalType.TRIPLES else _OF_QUADS)

    @property
    def is_grouped(self) -> bool:
        """Whether each frame is an element of the stream (a graph or a dataset), not just a part of it."""
        return self.logical_type.is_grouped


def physical_for(options: StreamOptions, arity: int) -> PhysicalType:
    """The physical type of a stream that begins with statements of so many terms, 3 if it has none.

    >>> physical_for(StreamOptions(logical_type="datasets"), 3).name, physical_for(StreamOptions(), 3).name
    ('QUADS', 'TRIPLES')
    """
    if options.physical_type != PhysicalType.UNSPECIFIED:
        return options.physical_type
    is_of_quads = arity == 4 or options.logical_type.base in _OF_QUADS[1:]
    return PhysicalType.QUADS if is_of_quads else PhysicalType.TRIPLES


class PatchStreamType(IntEnum):
    """The extent of one patch in a Jelly-Patch stream (Jelly-Patch, section "Patch stream types").

    Attributes
    ----------
    FRAME : int
        1. Each frame is a patch.
    FLAT : int
        2. The whole stream is one patch.
    PUNCTUATED : int
        3. A punctuation row ends a patch.

    Examples
    --------
    >>> from jelly.patch import PatchOptions, PatchStreamType
    >>> PatchOptions(stream_type=PatchStreamType.FRAME).stream_type.name
    'FRAME'
    """

    FRAME = 1
    FLAT = 2
    PUNCTUATED = 3


class StatementType(IntEnum):
    """Kind of statements in a Jelly-Patch stream (Jelly-Patch, section "Statement types").

    Attributes
    ----------
    TRIPLES : int
        1. Triples.
    QUADS : int
        2. Quads.

    Examples
    --------
    >>> from jelly.patch import PatchOptions, StatementType
    >>> PatchOptions(statement_type=StatementType.TRIPLES).statement_type.name
    'TRIPLES'
    """

    TRIPLES = 1
    QUADS = 2


@dataclass(frozen=True, slots=True)
class PatchOptions(CommonOptions):
    """Options of a Jelly-Patch stream (Jelly-Patch, section "Patch stream options").

    Parameters
    ----------
    stream_type : PatchStreamType, default PUNCTUATED
        What one patch is: a frame, the whole stream, or the rows up to a punctuation row.
    statement_type : StatementType, default QUADS
        Whether the statements are triples or quads.
    generalized_statements : bool, default False
        Allow any term in any position.
    rdf_star : bool, default False
        Allow quoted triples.
    max_name_table_size : int, default 4000
        Entries in the name table, at least 8.
    max_prefix_table_size : int, default 150
        Entries in the prefix table (0 disables it).
    max_datatype_table_size : int, default 32
        Entries in the datatype table (0 disables it).
    version : int, default 1
        Version of the format, which must be 1.

    Raises
    ------
    JellyOptionsError
        If a value is out of range.

    Examples
    --------
    >>> PatchOptions().stream_type.name, PatchOptions(statement_type=StatementType.TRIPLES).version
    ('PUNCTUATED', 1)
    """

    stream_type: PatchStreamType = PatchStreamType.PUNCTUATED
    statement_type: StatementType = StatementType.QUADS
    generalized_statements: bool = False
    rdf_star: bool = False
    max_name_table_size: int = 4000
    max_prefix_table_size: int = 150
    max_datatype_table_size: int = 32
    version: int = 1

    @property
    def is_grouped(self) -> bool:
        """Whether each frame is a patch."""
        return self.stream_type == PatchStreamType.FRAME

    @property
    def is_flat(self) -> bool:
        """Whether the whole stream is one patch."""
        return self.stream_type == PatchStreamType.FLAT


# Small messages are common, and so are their options: making these anew would take as long as decoding.
@lru_cache(64)
def options_read(
    patch: bool,
    physical: int,
    logical: int,
    name: bytes,
    generalized: int,
    star: int,
    names: int,
    prefixes: int,
    datatypes: int,
    version: int,
    rdf: int,
    numbering: str,
) -> Any:
    """Options as a stream has them: its name table may be smaller, its types another pair than a writer may choose.

    A logical subtype that we do not know counts as its base type.
    """
    # In the order of the fields.
    values: list[Any] = [bool(generalized), bool(star), names, prefixes, datatypes, version]
    if patch:
        values = [PatchStreamType(logical), StatementType(physical), *values]
    else:
        kind = LogicalType(logical if logical in _LOGICAL_TYPES else logical % 10)
        rdf_version = RDF_VERSIONS[rdf] if version == COLUMN_VERSION else ""
        values = [PhysicalType(physical), kind, name.decode(), *values, rdf_version, numbering]
    options: Any = object.__new__(PatchOptions if patch else StreamOptions)
    for field, value in zip(options.__slots__, values, strict=True):
        object.__setattr__(options, field, value)
    return options
