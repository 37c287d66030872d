from jelly.errors import (
    JellyError,
    JellyFormatError,
    JellyLimitError,
    JellyOptionsError,
    JellySyntaxError,
    JellyTruncatedError,
    JellyUnsupportedError,
)

_TABLE = {
    MALFORMED: (JellyFormatError, "malformed protobuf: a tag, length or number is cut off or out of range"),
    TEXT_LIMIT: (JellyLimitError, "the text of one batch would pass {a} bytes; is a prefix repeated endlessly?"),
    BAD_UTF8: (JellyFormatError, "a string is not valid UTF-8"),
    FRAME_LIMIT: (JellyLimitError, "a frame of {a} bytes is above the limit of {b}; raise max_frame_bytes to read it"),
    TRUNCATED: (JellyTruncatedError, "the stream ends inside a frame: {a} more bytes were expected"),
    NO_OPTIONS: (JellyFormatError, "the stream does not start with a stream options row; is it Jelly?"),
    OPTIONS_CHANGED: (JellyFormatError, "a later stream options row differs from the first"),
    BAD_PHYSICAL: (JellyUnsupportedError, "physical stream type {a} is unknown: expected 1 TRIPLES, 2 QUADS, 3 GRAPHS"),
    BAD_LOGICAL: (JellyFormatError, "logical stream type {a} does not go with physical stream type {b}"),
    BAD_VERSION: (JellyUnsupportedError, "protocol version {a} is not supported: expected 1 to {b}"),
    NAME_TABLE_LIMIT: (JellyLimitError, "name table of {a} entries is above the limit of {b}; raise max_names"),
    PREFIX_TABLE_LIMIT: (JellyLimitError, "prefix table of {a} entries is above the limit of {b}; raise max_prefixes"),
    DATATYPE_TABLE_LIMIT: (
        JellyLimitError, "datatype table of {a} entries is above the limit of {b}; raise max_datatypes",
    ),
    NAME_TABLE_SMALL: (JellyFormatError, "name table of {a} entries is too small: at least {b} are required"),
    ROW_FORBIDDEN: (JellyFormatError, "row field {a} is not allowed in a stream of physical type {b}"),
    TWO_ROWS: (JellyFormatError, "a row has more than one field set"),
    NAME_ENTRY: (JellyFormatError, "name entry {a} is outside the table of {b}"),
    PREFIX_ENTRY: (JellyFormatError, "prefix entry {a} is outside the table of {b}"),
    DATATYPE_ENTRY: (JellyFormatError, "datatype entry {a} is outside the table of {b}"),
    NAME_ID: (JellyFormatError, "name {a} was never defined (table of {b})"),
    PREFIX_ID: (JellyFormatError, "prefix {a} was never defined (table of {b})"),
    DATATYPE_ID: (JellyFormatError, "datatype {a} was never defined (table of {b})"),
    TABLE_BYTES: (JellyLimitError, "the lookup entries would take {a} bytes, above the limit of {b}"),
    NO_TERM_TO_REPEAT: (JellyFormatError, "the {slot} is left out, but no statement before it had one"),
    QUOTED_INCOMPLETE: (JellyFormatError, "a quoted triple has no {slot}: repeated terms are not allowed there"),
    TERM_TWICE: (JellyFormatError, "the {slot} is set twice"),
    DEPTH: (JellyLimitError, "quoted triples are nested deeper than {a}"),
    GRAPH_OPEN: (JellyFormatError, "a graph starts inside another graph"),
    GRAPH_NOT_OPEN: (JellyFormatError, "a triple or graph end stands outside a graph"),
    GRAPH_UNSET: (JellyFormatError, "a graph start names no graph"),
    BOTH_KINDS: (JellyFormatError, "a literal has both a language tag and a datatype"),
    NAMESPACE_UNSET: (JellyFormatError, "a namespace declaration has no IRI"),
    GENERALIZED_OFF: (
        JellyOptionsError, "a {a_kind} as {slot} needs generalized_statements=True in the stream options",
    ),
    STAR_OFF: (JellyOptionsError, "a quoted triple as {slot} needs rdf_star=True in the stream options"),
    DATATYPES_OFF: (JellyOptionsError, "a typed literal needs max_datatype_table_size above 0 in the stream options"),
    NAMES_FULL: (JellyOptionsError, "one statement uses more names than the name table holds ({a}): make it larger"),
    DATATYPES_FULL: (
        JellyOptionsError, "one statement uses more datatypes than the datatype table holds ({a}): make it larger",
    ),
    NAMED_GRAPH_IN_TRIPLES: (JellyOptionsError, "a quad in a named graph cannot go into a stream of triples"),
    NAMESPACES_OFF: (JellyOptionsError, "namespace declarations need version=2 in the stream options"),
    BAD_TERM: (JellyFormatError, "column {slot} has a term id of {a}, which is no term of the batch"),
    ONE_FRAME: (JellyOptionsError, "a stream that is not delimited holds one frame only"),
}

_SLOTS = ("subject", "predicate", "object", "graph")
_KINDS = ("default graph", "IRI", "blank node", "literal", "literal", "literal", "quoted triple", "text")


cdef object fault_error(Fault* fault, dict place):
    """The exception for a fault. `place` says where: frame, row, offset, line, as far as known."""
    if fault.code == NO_MEMORY:
        return MemoryError()
    kind, text = _TABLE.get(fault.code, (JellyError, f"unknown fault {fault.code}"))
    text = text.format(
        a=fault.a,
        b=fault.b,
        slot=_SLOTS[fault.b] if 0 <= fault.b < 4 else "term",
        a_kind=_KINDS[fault.a] if 0 <= fault.a < 8 else "term",
    )
    return kind(text, **place)


def _codes():
    """Every code that has a message, for the tests."""
    return sorted(_TABLE)


def _fault(int code, int64_t a=0, int64_t b=0):
    """The exception for a fault at frame 1, row 2, byte 3."""
    cdef Fault fault
    fault.code = OK
    fail(&fault, code, NULL, a, b)
    fail(&fault, MALFORMED, NULL)  # only the first counts
    return fault_error(&fault, {"frame": 1, "row": 2, "offset": 3})
