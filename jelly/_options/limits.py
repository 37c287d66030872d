"""The limits of what is read that keywords set: how many, and of what.

Defaults of keywords, help of the command line and the page ``docs/limits.md`` are made from this table; those of the
compiled code are compared with it by ``tests/hostile/test_table_of_limits.py``. Limits that no keyword sets are
constants, which ``tests/support/fixed_limits.py`` lists for the page.
"""

from __future__ import annotations

from typing import NamedTuple

JELLY = "Jelly, Jelly-Patch, Jelly-SPARQL"
LINES = "N-Triples, N-Quads, RDF Patch"
ROWS = "RDF Thrift, RDF Protobuf and their results, RDF Patch Thrift"
SYNTAXES = "Turtle, TriG, RDF/XML, JSON-LD, N3"
LOGS = "message logs"


class Limit(NamedTuple):
    """A limit that a keyword sets.

    Attributes
    ----------
    name : str
        The keyword. The option of the command line is the same with dashes.
    default : int
        What holds without it. For ``max_steps`` it is the constant part.
    unit : str
        What is counted.
    of : str
        What has so many of them at the most.
    formats : str
        Where it holds.
    fits : bool
        Whether it is raised to 16 times the size of a file, so that what was written with defaults can be read so.
    """

    # No dataclass: this is imported with the package, and making one takes half a millisecond.
    name: str
    default: int
    unit: str
    of: str
    formats: str
    fits: bool = False

    @property
    def help(self) -> str:
        """A sentence for the command line."""
        return f"Maximum {self.unit} of {self.of}."

    @property
    def camel(self) -> str:
        """The option of the data sources of Spark."""
        return camel(self.name)


def camel(name: str) -> str:
    """A name with underscores as Spark and RDF-STaX spell it.

    >>> camel("max_row_bytes")
    'maxRowBytes'
    """
    first, *more = name.split("_")
    return first + "".join(word.capitalize() for word in more)


SETTABLE = (
    Limit("max_frame_bytes", 1 << 28, "bytes", "a Jelly frame", JELLY, fits=True),
    Limit("max_line_bytes", 1 << 26, "bytes", "a line of N-Triples, N-Quads or RDF Patch", LINES, fits=True),
    Limit("max_row_bytes", 1 << 28, "bytes", "a row of RDF Thrift or RDF Protobuf", ROWS, fits=True),
    Limit("max_message_bytes", 1 << 28, "bytes", "a message", LOGS, fits=True),
    Limit("max_names", 4096, "entries", "the name table of Jelly (16384 in Jelly-SPARQL)", JELLY),
    Limit(
        "max_prefixes", 1024, "entries", "the prefix table (4096 in RDF Thrift, RDF Protobuf, Jelly-SPARQL)",
        f"{JELLY}, {ROWS}",
    ),
    Limit("max_datatypes", 256, "entries", "the datatype table of Jelly", JELLY),
    Limit(
        "max_frame_rows", 1 << 24, "rows", "a frame of Jelly 1.2 (1048576 in Jelly-SPARQL): few bytes claim many",
        "Jelly, Jelly-SPARQL",
    ),
    Limit(
        "max_text_bytes", 1 << 26, "bytes", "text between two statements, or a row of results",
        f"{SYNTAXES}; results in XML and TSV",
    ),
    Limit("max_document_bytes", 1 << 28, "bytes", "a JSON document of query results", "results in JSON"),
    Limit("max_expansion", 4096, "factor", "the expansion of compressed data (plus 8 MiB)", "compressed input"),
    Limit("max_frames", 1 << 18, "frames", "a file of which each is described", "jelly.inspect(per_frame=True)"),
    Limit(
        "max_steps", 2_000_000, "steps", "the search for labels of blank nodes that are alike (plus 16 for each node)",
        "jelly.canonicalize",
    ),
    Limit("max_partitions", 1_000_000, "partitions", "each table of a description, such as that of the properties of "
          "classes", "jelly.describe"),
)  # fmt: skip

_DEFAULTS = {limit.name: limit.default for limit in SETTABLE}


def default(name: str) -> int:
    """The default of a limit that can be set.

    Examples
    --------
    >>> default("max_names")
    4096
    """
    return _DEFAULTS[name]
