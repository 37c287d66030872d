"""Stream options: what a Jelly stream says about itself in its first row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from jelly.errors import JellyOptionsError

__all__ = ["LogicalType", "PatchOptions", "PatchStreamType", "PhysicalType", "StatementType", "StreamOptions"]

MAX_TABLE_SIZE = 1 << 20


class PhysicalType(IntEnum):
    """How statements are laid out in the stream (specification, section "Physical stream types")."""

    UNSPECIFIED = 0
    TRIPLES = 1
    QUADS = 2
    GRAPHS = 3


class LogicalType(IntEnum):
    """What a frame means, after the RDF Stream Taxonomy (section "Logical stream types")."""

    UNSPECIFIED = 0
    FLAT_TRIPLES = 1
    FLAT_QUADS = 2
    GRAPHS = 3
    DATASETS = 4
    SUBJECT_GRAPHS = 13
    NAMED_GRAPHS = 14
    TIMESTAMPED_NAMED_GRAPHS = 114

    @property
    def base(self) -> LogicalType:
        """The base type: the last digit.

        >>> LogicalType.TIMESTAMPED_NAMED_GRAPHS.base.name
        'DATASETS'
        """
        return LogicalType(self % 10)

    @property
    def is_grouped(self) -> bool:
        """Whether each frame is an element of the stream: one graph or one dataset."""
        return self.base in (LogicalType.GRAPHS, LogicalType.DATASETS)


# The table of section "Consistency with physical stream types".
_OF_TRIPLES = (LogicalType.UNSPECIFIED, LogicalType.FLAT_TRIPLES, LogicalType.GRAPHS)
_OF_QUADS = (LogicalType.UNSPECIFIED, LogicalType.FLAT_QUADS, LogicalType.DATASETS)


def _check_sizes(options: StreamOptions | PatchOptions) -> None:
    sizes = {
        "max_name_table_size": (options.max_name_table_size, 8),
        "max_prefix_table_size": (options.max_prefix_table_size, 0),
        "max_datatype_table_size": (options.max_datatype_table_size, 0),
    }
    for name, (size, least) in sizes.items():
        if not least <= size <= MAX_TABLE_SIZE:
            raise JellyOptionsError(f"{name} is {size}: expected {least} to {MAX_TABLE_SIZE}")


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The options of a Jelly-RDF stream (section "Stream options").

    ``max_name_table_size`` is at least 8; a prefix or datatype table of 0 entries is off. ``version`` 0 lets the
    writer choose the lowest that fits: 1, or 2 if there are namespace declarations. JellyOptionsError where the
    options contradict themselves.

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

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "physical_type", PhysicalType(self.physical_type))
            object.__setattr__(self, "logical_type", LogicalType(self.logical_type))
        except ValueError as error:
            raise JellyOptionsError(str(error)) from None
        _check_sizes(self)
        if not 0 <= self.version <= 2:
            raise JellyOptionsError(f"version is {self.version}: expected 1 or 2, or 0 for the lowest that fits")
        if self.physical_type != PhysicalType.UNSPECIFIED:
            fitting = _OF_TRIPLES if self.physical_type == PhysicalType.TRIPLES else _OF_QUADS
            if self.logical_type.base not in fitting:
                raise JellyOptionsError(
                    f"logical type {self.logical_type.name} does not go with physical type {self.physical_type.name}"
                )

    @classmethod
    def small(cls, **changes: Any) -> StreamOptions:
        """A preset for many small streams: 128 names, 16 prefixes, 16 datatypes."""
        tables = {"max_name_table_size": 128, "max_prefix_table_size": 16, "max_datatype_table_size": 16}
        return cls(**(tables | changes))

    @classmethod
    def big(cls, **changes: Any) -> StreamOptions:
        """The default preset: 4000 names, 150 prefixes, 32 datatypes."""
        return cls(**changes)

    def replace(self, **changes: Any) -> StreamOptions:
        """A copy with some fields changed."""
        return replace(self, **changes)

    @property
    def is_grouped(self) -> bool:
        """Whether each frame is an element of the stream, rather than just a part of it."""
        return self.logical_type.is_grouped


class PatchStreamType(IntEnum):
    """What a patch is in a Jelly-Patch stream (specification of Jelly-Patch, section "Patch stream types")."""

    FRAME = 1
    FLAT = 2
    PUNCTUATED = 3


class StatementType(IntEnum):
    """What the statements of a Jelly-Patch stream are (section "Statement types")."""

    TRIPLES = 1
    QUADS = 2


@dataclass(frozen=True, slots=True)
class PatchOptions:
    """The options of a Jelly-Patch stream (section "Patch stream options").

    ``stream_type`` says what a patch is: a frame each (FRAME), the whole stream (FLAT), or what a punctuation row ends
    (PUNCTUATED). The rest is as in `StreamOptions`. JellyOptionsError where a value is out of range.

    >>> PatchOptions().stream_type.name, PatchOptions(statement_type=StatementType.TRIPLES).version
    ('PUNCTUATED', 1)
    """

    stream_type: PatchStreamType = PatchStreamType.PUNCTUATED
    statement_type: StatementType = StatementType.QUADS
    generalized_statements: bool = False
    rdf_star: bool = True
    max_name_table_size: int = 4000
    max_prefix_table_size: int = 150
    max_datatype_table_size: int = 32
    version: int = 1

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "stream_type", PatchStreamType(self.stream_type))
            object.__setattr__(self, "statement_type", StatementType(self.statement_type))
        except ValueError as error:
            raise JellyOptionsError(str(error)) from None
        _check_sizes(self)
        if self.version != 1:
            raise JellyOptionsError(f"version is {self.version}: expected 1")

    def replace(self, **changes: Any) -> PatchOptions:
        """A copy with some fields changed."""
        return replace(self, **changes)

    @property
    def is_grouped(self) -> bool:
        """Whether each frame is a patch."""
        return self.stream_type == PatchStreamType.FRAME

    @property
    def is_flat(self) -> bool:
        """Whether the whole stream is one patch."""
        return self.stream_type == PatchStreamType.FLAT
