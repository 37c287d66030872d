"""The limits that no keyword sets: constants of the code, whose values are read from there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["FIXED", "Limit", "constants", "value_of"]

ROOT = Path(__file__).resolve().parents[2]
# Of a constant that may bound something.
DEFINED = re.compile(r"^ *(_?MAX_[A-Z_]+) *(?::[^=]*)?= *(.+?)(?: *#.*)?$", re.M)


class Limit(NamedTuple):
    """A limit that no keyword sets: module, colon and constant; its unit; what has so many at the most; and why."""

    place: str
    unit: str
    of: str
    why: str = ""


FIXED = (
    # ---- any format
    Limit("_core/base/constants.pxd:MAX_DEPTH", "levels", "quoted triples in one another"),
    Limit(
        "_core/base/constants.pxd:MAX_QUOTED", "bytes",
        "a quoted triple that is written, beyond those of the terms in it",
        "the same part may stand in it in any number of places",
    ),
    Limit("_core/terms/batch_builder.pxd:MAX_COLLECTED_TEXT", "bytes", "the terms of one Batch made of objects"),
    Limit("_core/algebra/row_index.pyx:MAX_ROWS", "statements", "a set of statements"),
    Limit("_bytes/compression.py:MAX_XZ_MEMORY", "bytes", "the dictionary of an xz file", "`xz -9` needs 65 MiB"),
    Limit("_streams/rdf_version.py:MAX_RESTORED", "quoted triples", 'a source that is read with star="quoted"'),
    # ---- Jelly
    Limit("_bytes/frame_text.py:MAX_FRAME_TEXT", "bytes", "a frame in the text form of Jelly"),
    Limit("_options/options.py:MAX_TABLE_SIZE", "entries", "any lookup table, also where a keyword allows more"),
    Limit(
        "_core/jelly/lookup.pxd:MAX_TABLE_BYTES", "bytes", "the entries of a lookup table",
        "entries stay until others take their places",
    ),
    Limit(
        "_core/jelly/decode_state.pxd:MAX_BATCH_TEXT", "bytes", "the text of one Batch",
        "prefixes expand a small frame to any text; a smaller `batch_rows` makes smaller Batches",
    ),
    Limit("_core/jelly/column_schema.pxd:MAX_ROW_COUNT", "rows", "a frame of Jelly 1.2"),
    Limit("_core/jelly/column_schema.pxd:MAX_COLUMN_TAGS", "language tags", "a column of Jelly 1.2"),
    Limit("_core/jelly/column_encoder.pyx:MAX_FRAME_ROWS", "rows", "a frame of Jelly 1.2 when written"),
    Limit("_core/jelly/encoder.pyx:MAX_TAGS", "language tags", "a frame of Jelly 1.2 when written"),
    Limit("_core/jelly/encoder_state.pxd:MAX_TEXT", "bytes", "a term that is written"),
    Limit("_core/base/protobuf.pxd:MAX_GROUPS", "levels", "groups in one another, which are skipped"),
    Limit("_core/base/fault.pyx:MAX_PROTOBUF", "bytes", "a message of Protocol Buffers"),
    Limit(
        "_formats/arrow_tables.py:MAX_METADATA", "bytes", "the metadata in a table with `frames=True`",
        "each row repeats them",
    ),
    Limit("_formats/index.py:_MAX_INDEX", "bytes", "the index of a file, of some 2.8 million keyframes"),
    Limit("_dataset/seekable/sidecar.py:_MAX_HEAD", "bytes", "the list of keyframes of a sidecar"),
    Limit("_formats/filters.py:_MAX_DIRECTORY", "bytes", "the directory of filters"),
    Limit(
        "_formats/filters.py:_MAX_FILTERS", "bytes", "filters that are written into a file",
        "later segments have ranges and short lists",
    ),
    Limit("_dataset/seekable/sidecar.py:_MAX_FILTERS", "bytes", "filters that are written into a sidecar"),
    Limit("_formats/filters.py:_MAX_BLOCK_BITS", "bits", "places of a block of a filter, as a power of 2"),
    Limit("_formats/filters.py:_MAX_LIST", "terms", "an exact list of a filter"),
    Limit("_formats/filters.py:MAX_SOUGHT", "terms", "terms of one slot that are looked for in filters"),
    Limit("_dataset/seekable/sidecar.py:_MAX_STATE", "bytes", "a saved state in a sidecar"),
    Limit("_bytes/seekable.py:MAX_TABLE", "bytes", "the table of a seekable compressed file, of some 8 million frames"),
    # ---- RDF Binary
    Limit("_core/jena/prefix_map.pxd:MAX_PREFIXES", "prefixes", "a stream of RDF Binary, also with `max_prefixes`"),
    Limit("_core/jena/prefix_map.pxd:MAX_PREFIX_TEXT", "bytes", "all prefixes together"),
    Limit("_core/base/constants.pxd:MAX_VARIABLES", "variables", "a result set"),
    Limit(
        "_core/jena/numeric.pxd:MAX_SCALE", "digits", "the scale of a decimal",
        "a few bytes would be a text of any length",
    ),
    Limit("_core/jena/protobuf_reader.pyx:MAX_JOINED", "bytes", "the pieces of one split message"),
    Limit("_core/jena/thrift.pxd:MAX_LENGTH", "bytes", "a string of Thrift, or items of a list"),
    Limit("_core/jena/thrift.pxd:MAX_SKIPPED", "levels", "structs and lists in one another that are skipped"),
    # ---- query results
    Limit(
        "_core/results/json_reader.pyx:MAX_JSON", "levels",
        "objects and arrays in one another in results of JSON, where they mean nothing",
    ),
    Limit("_core/results/rows.pxd:MAX_PATH", "levels", "elements in one another in results of XML"),
    Limit("_core/results/rows.pxd:MAX_SPACES", "namespaces", "elements of results of XML that are in one another"),
    Limit("_core/results/xml_tags.pxd:MAX_ATTRIBUTES", "attributes", "a tag in results of XML"),
    # ---- Turtle, TriG, RDF/XML, JSON-LD and N3
    Limit("_formats/syntaxes.py:MAX_TOKEN", "bytes", "a term", "pyoxigraph's own limit"),
    Limit("_formats/guards.py:MAX_TRIPLE_TERMS", "levels", "triple terms in one another", "the stack would overflow"),
    Limit(
        "_formats/guards.py:MAX_NESTED", "levels",
        "collections, blank nodes, quoted triples and formulas in one another",
    ),
    Limit(
        "_formats/guards.py:MAX_JSON_DEPTH", "levels", "objects and arrays of JSON-LD in one another",
        "the stack would overflow",
    ),
    Limit(
        "_formats/guards.py:MAX_REPEATED", "values",
        "objects of JSON-LD in one another, each value counted once for each of them from the third on",
        "pyoxigraph keeps each object as a whole, 100 bytes for a value",
    ),
    Limit(
        "_formats/guards.py:MAX_CONTEXTS", "bytes", "contexts of JSON-LD in one another",
        "each is in memory with all around it",
    ),
    Limit(
        "_formats/guards.py:MAX_SCOPED", "bytes",
        "contexts of terms, counted wherever such a term stands (plus 256 for each byte of the document)",
        "they are worked through each time",
    ),
    Limit("_formats/guards.py:MAX_SCOPED_FACTOR", "factor", "the same, for each byte of the document"),
    Limit(
        "_formats/guards.py:MAX_ENTITY", "bytes", "what an entity of XML stands for",
        "entities of entities fill any memory",
    ),
    Limit("_formats/guards.py:MAX_ELEMENTS", "levels", "elements of RDF/XML in one another"),
    Limit("_formats/guards.py:MAX_TRIPLE_ELEMENTS", "levels", "elements of RDF/XML in one another, with triple terms"),
    Limit("_core/boundaries/xml_text.pyx:MAX_LINES", "line ends", "text between two tags whose places errors name"),
    # ---- message logs
    Limit("messages/_documents.py:MAX_DEPTH", "levels", "values of JSON in one another"),
    Limit("messages/_documents.py:MAX_REMOTE", "contexts", "a chain in which each names the next"),
    Limit(
        "messages/_nquads.py:MAX_EXPANDED", "bytes",
        "the N-Quads of a message in another text, unless they are less than 64 times that text",
        "prefixes and contexts expand a small text to a large one",
    ),
    Limit("messages/_nquads.py:MAX_EXPANSION", "factor", "N-Quads that are longer than that"),
    Limit("messages/_logs.py:MAX_EARLY", "frames", "a Jelly log before its options"),
    Limit("messages/_turtle.py:MAX_HEAD", "bytes", "what stands before the VERSION that announces directives"),
    Limit("messages/_tar.py:MAX_RECORDS", "bytes", "a name or the records of pax in a TAR archive"),
    Limit("_tools/yaml.py:MAX_DEPTH", "levels", "values of YAML in one another"),
    Limit("_tools/yaml.py:MAX_DIGITS", "digits", "an integer of YAML (3200 in hexadecimal)"),
    Limit("_tools/yaml.py:MAX_ALIASED", "values", "what the aliases of a document repeat"),
    # ---- tables
    Limit("_core/arrow/values.pxd:MAX_VALUE", "bytes", "a value of a column"),
    Limit(
        "_core/arrow/values.pxd:MAX_SIDE", "bytes", "the terms of a Batch that have to be written anew",
        "nested triples repeat each other",
    ),
    Limit("spark/_messages.py:MAX_LISTS", "bytes", "an array of messages in Spark"),
    Limit("spark/_tables.py:MAX_COLUMNS", "columns", "a wide table, whose report names the predicates left out"),
    Limit("kafka/_deserializer.py:MAX_PATCH_ROWS", "operations", "a patch that is to be one Batch"),
    # ---- queries
    Limit("rdflib/_query/syntax.py:_MAX_DEPTH", "levels", "brackets of a query in one another, and signs in a row"),
    Limit(
        "rdflib/_query/syntax.py:_MAX_PATTERNS", "patterns", "a query",
        "pyoxigraph orders n patterns in n^4 steps; what separates patterns, or arguments, is counted",
    ),
    Limit("rdflib/_query/syntax.py:_MAX_WORDS", "words and signs", "a query, besides lists of VALUES and IN"),
    Limit("rdflib/_query/syntax.py:_MAX_DATA", "words and signs", "a query with its lists"),
    # ---- tools and servers
    Limit("stats.py:MAX_KEYS", "different terms", "a counter of `jelly stats`; rare ones are counted together"),
    Limit("stats.py:_MAX_TEXT", "characters", "the terms of a counter"),
    Limit("stats.py:_MAX_NAMESPACES", "namespaces", "the namespaces of `jelly stats`"),
    Limit("spark/_streams.py:MAX_STATE", "bytes", "the state of a Jelly file that a stream follows"),
)  # fmt: skip


def constants() -> dict[str, str]:
    """Each constant of the package that is called a maximum, by its place, with its expression."""
    found = {}
    for suffix in ("py", "pyx", "pxd"):
        for path in (ROOT / "jelly").rglob(f"*.{suffix}"):
            for name, value in DEFINED.findall(path.read_text("utf-8")):
                found[f"{path.relative_to(ROOT / 'jelly').as_posix()}:{name}"] = value
    return found


def value_of(expression: str) -> int:
    """The value of the expression of a constant, which may be made of others of its module."""
    names = {"SLACK": 32, "MAX_SCALE": 4096, "MAX_NESTED": 62, "MAX_TRIPLE_TERMS": 250}
    return int(eval(expression, {}, names))
