"""Stream options of Jelly-SPARQL."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from jelly._options.options import MIN_COLUMN_NAMES, CommonOptions


class ResultStreamType(IntEnum):
    """The extent of one result set in a stream of Jelly-SPARQL.

    Attributes
    ----------
    FLAT : int
        0. The whole stream is one result set.
    PUNCTUATED : int
        1. A trailer ends a result set, and another one may follow.

    Examples
    --------
    >>> ResultStreamType(1).name
    'PUNCTUATED'
    """

    FLAT = 0
    PUNCTUATED = 1


@dataclass(frozen=True, slots=True)
class ResultOptions(CommonOptions):
    """Options of a stream of Jelly-SPARQL.

    Parameters
    ----------
    stream_type : ResultStreamType, default FLAT
        Whether the stream is one result set or a sequence of them.
    stream_name : str, default ""
        Name of the stream.
    rdf_version : {"", "unspecified", "1.1", "1.2-basic", "1.2"}, default ""
        RDF version that the stream announces; "" is "unspecified". Terms that it does not have cannot be written.
    max_name_table_size : int, default 4000
        Entries in the name table, at least 128.
    max_prefix_table_size : int, default 150
        Entries in the prefix table (0 disables it).
    max_datatype_table_size : int, default 32
        Entries in the datatype table (0 disables it: typed literals cannot be written).
    version : int, default 1
        Version of the format, which must be 1.

    Raises
    ------
    JellyOptionsError
        If a value is out of range.

    Notes
    -----
    Unstable: Jelly-SPARQL is a draft.

    Examples
    --------
    >>> ResultOptions(stream_type="punctuated").stream_type.name
    'PUNCTUATED'
    """

    stream_type: ResultStreamType = ResultStreamType.FLAT
    stream_name: str = ""
    rdf_version: str = ""
    max_name_table_size: int = 4000
    max_prefix_table_size: int = 150
    max_datatype_table_size: int = 32
    version: int = 1

    _least_names = MIN_COLUMN_NAMES

    @property
    def is_grouped(self) -> bool:
        """Whether each frame means something: none does."""
        return False
