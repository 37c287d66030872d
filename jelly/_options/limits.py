"""All limits of what is read and written: how many, of what, and the keyword that raises it.

Defaults of keywords, help of the command line and the page ``docs/limits.md`` are made from these tables; the constants
of the compiled code are compared with them by ``tests/hostile/test_table_of_limits.py``. Nothing else bounds input.
"""

from __future__ import annotations

__all__ = ["FIXED", "SETTABLE", "FixedLimit", "Limit", "default"]

JELLY = "Jelly, Jelly-Patch"
LINES = "N-Triples, N-Quads, RDF Patch"
ROWS = "RDF Thrift, RDF Protobuf and their results, RDF Patch Thrift"
SYNTAXES = "Turtle, TriG, RDF/XML, JSON-LD, N3"
LOGS = "message logs"


class Limit:
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
    __slots__ = ("default", "fits", "formats", "name", "of", "unit")

    def __init__(self, name: str, default: int, unit: str, of: str, formats: str, fits: bool = False) -> None:
        self.name, self.default, self.unit = name, default, unit
        self.of, self.formats, self.fits = of, formats, fits

    @property
    def help(self) -> str:
        """A sentence for the command line."""
        return f"Maximum {self.unit} of {self.of}."

    @property
    def option(self) -> str:
        """The option of the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def camel(self) -> str:
        """The option of the data sources of Spark."""
        first, *more = self.name.split("_")
        return first + "".join(word.capitalize() for word in more)


class FixedLimit:
    """A limit that no keyword sets.

    Attributes
    ----------
    place : str
        The module, a colon and the constant.
    value : int
        How many.
    unit : str
        What is counted.
    of : str
        What has so many of them at the most.
    why : str
        What there would be without it, if that is not plain.
    """

    __slots__ = ("of", "place", "unit", "value", "why")

    def __init__(self, place: str, value: int, unit: str, of: str, why: str = "") -> None:
        self.place, self.value, self.unit, self.of, self.why = place, value, unit, of, why


SETTABLE = (
    Limit("max_frame_bytes", 1 << 28, "bytes", "a Jelly frame", JELLY, fits=True),
    Limit("max_line_bytes", 1 << 26, "bytes", "a line of N-Triples, N-Quads or RDF Patch", LINES, fits=True),
    Limit("max_row_bytes", 1 << 28, "bytes", "a row of RDF Thrift or RDF Protobuf", ROWS, fits=True),
    Limit("max_message_bytes", 1 << 28, "bytes", "a message", LOGS, fits=True),
    Limit("max_names", 4096, "entries", "the name table of Jelly", JELLY),
    Limit(
        "max_prefixes", 1024, "entries", "the prefix table (4096 in RDF Thrift and RDF Protobuf)",
        f"{JELLY}, {ROWS}",
    ),
    Limit("max_datatypes", 256, "entries", "the datatype table of Jelly", JELLY),
    Limit("max_frame_rows", 1 << 24, "rows", "a frame of Jelly 1.2, which a few bytes can claim", "Jelly"),
    Limit(
        "max_text_bytes", 1 << 26, "bytes", "text between two statements, or between two tags of results",
        f"{SYNTAXES}; results in XML and TSV",
    ),
    Limit("max_document_bytes", 1 << 28, "bytes", "a JSON document of query results", "results in JSON"),
    Limit("max_expansion", 4096, "factor", "the expansion of compressed data (plus 8 MiB)", "compressed input"),
    Limit("max_frames", 1 << 18, "frames", "a file of which each is described", "jelly.inspect(per_frame=True)"),
    Limit(
        "max_steps", 2_000_000, "steps", "the search for labels of blank nodes that are alike (plus 16 for each node)",
        "jelly.canonicalize",
    ),
)  # fmt: skip

FIXED = (
    # ---- any format
    FixedLimit("_core/base/constants.pxd:MAX_DEPTH", 64, "levels", "quoted triples in one another"),
    FixedLimit(
        "_core/base/constants.pxd:MAX_QUOTED", 1 << 22, "bytes",
        "a quoted triple that is written, beyond those of the terms in it",
        "the same part may stand in it in any number of places",
    ),
    FixedLimit(
        "_core/terms/batch_builder.pyx:MAX_COLLECTED_TEXT", 1 << 30, "bytes",
        "the terms of one Batch made of objects",
    ),
    FixedLimit(
        "_core/terms/quad_builder.pyx:MAX_TEXT", 1 << 30, "bytes",
        "the terms of one Batch made of pyoxigraph's quads",
    ),
    FixedLimit(
        "_core/ntriples/term_table.pyx:MAX_TERMS", 0x7FFFFF00, "terms", "a dataset whose blank nodes are compared",
    ),
    FixedLimit("_core/algebra/row_index.pyx:MAX_ROWS", 0x7FFFFFFF, "statements", "a set of statements"),
    FixedLimit(
        "_bytes/compression.py:MAX_XZ_MEMORY", 1 << 28, "bytes", "the dictionary of an xz file", "`xz -9` needs 65 MiB",
    ),
    FixedLimit(
        "_streams/rdf_version.py:MAX_RESTORED", 1 << 20, "quoted triples", 'a source that is read with star="quoted"',
    ),
    # ---- Jelly
    FixedLimit(
        "_options/options.py:MAX_TABLE_SIZE", 1 << 20, "entries", "any lookup table, also where a keyword allows more",
    ),
    FixedLimit(
        "_core/jelly/lookup.pxd:MAX_TABLE_BYTES", 1 << 26, "bytes", "the entries of a lookup table",
        "entries stay until others take their places",
    ),
    FixedLimit(
        "_core/jelly/decode_state.pxd:MAX_BATCH_TEXT", 1 << 28, "bytes", "the text of one Batch",
        "prefixes expand a small frame to any text; a smaller `batch_rows` makes smaller Batches",
    ),
    FixedLimit("_core/jelly/column_state.pxd:MAX_ROW_COUNT", (1 << 27) - 1, "rows", "a frame of Jelly 1.2"),
    FixedLimit("_core/jelly/column_state.pxd:MAX_COLUMN_TAGS", 1 << 16, "language tags", "a column of Jelly 1.2"),
    FixedLimit("_core/jelly/encode_columns.pyx:MAX_FRAME_ROWS", 1 << 24, "rows", "a frame of Jelly 1.2 when written"),
    FixedLimit("_core/jelly/encoder.pyx:MAX_TAGS", 1024, "language tags", "a frame of Jelly 1.2 when written"),
    FixedLimit("_core/jelly/encoder_state.pxd:MAX_TEXT", 1 << 30, "bytes", "a term that is written"),
    FixedLimit("_core/base/protobuf.pxd:MAX_GROUPS", 100, "levels", "groups in one another, which are skipped"),
    FixedLimit("_core/base/fault.pyx:MAX_PROTOBUF", 0x7FFFFFFF, "bytes", "a message of Protocol Buffers"),
    FixedLimit(
        "_formats/arrow_tables.py:MAX_METADATA", 1 << 26, "bytes", "the metadata in a table with `frames=True`",
        "each row repeats them",
    ),
    FixedLimit(
        "_formats/index.py:_MAX_INDEX", 1 << 26, "bytes", "the index of a file, of some 2.8 million keyframes",
    ),
    FixedLimit("_dataset/sidecar.py:_MAX_HEAD", 1 << 28, "bytes", "the list of keyframes of a sidecar"),
    FixedLimit("_formats/filters.py:_MAX_DIRECTORY", 1 << 26, "bytes", "the directory of filters"),
    FixedLimit(
        "_formats/filters.py:_MAX_FILTERS", 1 << 27, "bytes", "filters that are written into a file",
        "later segments have ranges and short lists",
    ),
    FixedLimit("_dataset/sidecar.py:_MAX_FILTERS", 1 << 33, "bytes", "filters that are written into a sidecar"),
    FixedLimit("_formats/filters.py:_MAX_BLOCK_BITS", 18, "bits", "places of a block of a filter, as a power of 2"),
    FixedLimit("_formats/filters.py:_MAX_LIST", 64, "terms", "an exact list of a filter"),
    FixedLimit("_formats/filters.py:MAX_SOUGHT", 1000, "terms", "terms of one slot that are looked for in filters"),
    FixedLimit("_dataset/sidecar.py:_MAX_STATE", 1 << 28, "bytes", "a saved state in a sidecar"),
    FixedLimit(
        "_bytes/seekable.py:MAX_TABLE", 1 << 26, "bytes",
        "the table of a seekable compressed file, of some 8 million frames",
    ),
    # ---- RDF Binary
    FixedLimit(
        "_core/jena/prefix_map.pxd:MAX_PREFIXES", 1 << 16, "prefixes",
        "a stream of RDF Binary, also with `max_prefixes`",
    ),
    FixedLimit("_core/jena/prefix_map.pxd:MAX_PREFIX_TEXT", 1 << 24, "bytes", "all prefixes together"),
    FixedLimit("_core/jena/row_reader.pxd:MAX_VARIABLES", 1 << 16, "variables", "a result set of RDF Binary"),
    FixedLimit(
        "_core/jena/numeric.pxd:MAX_SCALE", 4096, "digits",
        "the scale of a decimal", "a few bytes would be a text of any length",
    ),
    FixedLimit("_core/jena/protobuf_reader.pyx:MAX_JOINED", 1 << 20, "bytes", "the pieces of one split message"),
    FixedLimit("_core/jena/thrift.pxd:MAX_LENGTH", 0x7FFFFFFF, "bytes", "a string of Thrift, or items of a list"),
    FixedLimit(
        "_core/jena/thrift.pxd:MAX_SKIPPED", 192, "levels", "structs and lists in one another that are skipped",
    ),
    # ---- query results
    FixedLimit("_formats/result_tsv.py:MAX_VARIABLES", 1 << 16, "variables", "a result set of text"),
    FixedLimit(
        "_formats/result_tsv.py:MAX_NESTED", 62, "levels", "triple terms in one another in results of text",
    ),
    FixedLimit("_formats/result_syntaxes.py:MAX_PATH", 256, "levels", "elements in one another in results of XML"),
    # ---- Turtle, TriG, RDF/XML, JSON-LD and N3
    FixedLimit("_formats/syntaxes.py:MAX_TOKEN", 1 << 24, "bytes", "a term", "pyoxigraph's own limit"),
    FixedLimit(
        "_formats/guards.py:MAX_TRIPLE_TERMS", 250, "levels", "triple terms in one another", "the stack would overflow",
    ),
    FixedLimit(
        "_formats/guards.py:MAX_NESTED", 100_000, "levels",
        "collections, blank nodes, quoted triples and formulas in one another",
    ),
    FixedLimit(
        "_formats/guards.py:MAX_JSON_DEPTH", 128, "levels", "objects and arrays of JSON-LD in one another",
        "the stack would overflow",
    ),
    FixedLimit(
        "_formats/guards.py:MAX_REPEATED", 1 << 20, "values",
        "objects of JSON-LD in one another, each value counted once for each of them from the third on",
        "pyoxigraph keeps each object as a whole, 100 bytes for a value",
    ),
    FixedLimit(
        "_formats/guards.py:MAX_CONTEXTS", 1 << 22, "bytes", "contexts of JSON-LD in one another",
        "each is in memory with all around it",
    ),
    FixedLimit(
        "_formats/guards.py:MAX_SCOPED", 1 << 23, "bytes",
        "contexts of terms, counted wherever such a term stands (plus 256 for each byte of the document)",
        "they are worked through each time",
    ),
    FixedLimit(
        "_formats/guards.py:MAX_SCOPED_FACTOR", 256, "factor", "the same, for each byte of the document",
    ),
    FixedLimit(
        "_formats/guards.py:MAX_ENTITY", 512, "bytes",
        "what an entity of XML stands for", "entities of entities fill any memory",
    ),
    FixedLimit("_formats/guards.py:MAX_ELEMENTS", 10_000, "levels", "elements of RDF/XML in one another"),
    FixedLimit(
        "_formats/guards.py:MAX_TRIPLE_ELEMENTS",
        500,
        "levels",
        "elements of RDF/XML in one another, with triple terms",
    ),
    FixedLimit(
        "_core/boundaries/xml_text.pyx:MAX_LINES", 65536, "line ends",
        "text between two tags whose places errors name",
    ),
    # ---- message logs
    FixedLimit("messages/_documents.py:MAX_DEPTH", 128, "levels", "values of JSON in one another"),
    FixedLimit("messages/_documents.py:MAX_REMOTE", 16, "contexts", "a chain in which each names the next"),
    FixedLimit(
        "messages/_nquads.py:MAX_EXPANDED", 1 << 25, "bytes",
        "the N-Quads of a message in another text, unless they are less than 64 times that text",
        "prefixes and contexts expand a small text to a large one",
    ),
    FixedLimit("messages/_nquads.py:MAX_EXPANSION", 64, "factor", "N-Quads that are longer than that"),
    FixedLimit("messages/_logs.py:MAX_EARLY", 1 << 20, "frames", "a Jelly log before its options"),
    FixedLimit(
        "messages/_logs.py:MAX_HEAD", 1 << 13, "bytes", "what stands before the VERSION that announces directives",
    ),
    FixedLimit("messages/_tar.py:MAX_RECORDS", 1 << 20, "bytes", "a name or the records of pax in a TAR archive"),
    FixedLimit("_tools/yaml.py:MAX_DEPTH", 128, "levels", "values of YAML in one another"),
    FixedLimit("_tools/yaml.py:MAX_DIGITS", 4000, "digits", "an integer of YAML (3200 in hexadecimal)"),
    FixedLimit("_tools/yaml.py:MAX_ALIASED", 10_000, "values", "what the aliases of a document repeat"),
    # ---- tables
    FixedLimit("_core/arrow/values.pxd:MAX_VALUE", 0x7FFFFFFF - 32, "bytes", "a value of a column"),
    FixedLimit(
        "_core/arrow/values.pxd:MAX_SIDE", 1 << 28, "bytes", "the terms of a Batch that have to be written anew",
        "nested triples repeat each other",
    ),
    FixedLimit("spark/_messages.py:MAX_LISTS", 1 << 30, "bytes", "an array of messages in Spark"),
    FixedLimit(
        "spark/_tables/wide.py:MAX_COLUMNS", 1000, "columns", "a wide table, whose report names the predicates left out"
    ),
    FixedLimit("kafka/_deserializer.py:MAX_PATCH_ROWS", 1 << 24, "operations", "a patch that is to be one Batch"),
    # ---- tools and servers
    FixedLimit(
        "stats.py:MAX_KEYS", 1_000_000, "different terms",
        "a counter of `jelly stats`; rare ones are counted together",
    ),
    FixedLimit("stats.py:_MAX_TEXT", 1 << 28, "characters", "the terms of a counter"),
    FixedLimit("stats.py:_MAX_NAMESPACES", 10_000, "namespaces", "the namespaces of `jelly stats`"),
    FixedLimit(
        "spark/_streaming/tail.py:MAX_STATE", 1 << 20, "bytes", "the state of a Jelly file that a stream follows",
    ),
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
