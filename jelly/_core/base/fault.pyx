"""Errors of the core: a code, a location and two numbers. Only fault.pyx turns them into exceptions."""

from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact

from jelly._core.base.constants cimport GRAPH, OBJECT, PREDICATE, SUBJECT

cdef enum:
    MAX_PROTOBUF = 0x7FFFFFFF  # bytes of a message

from operator import index

from jelly._core.base.kinds import NOUNS
from jelly._options.options import RDF_VERSIONS
from jelly.errors import (
    JellyArgumentError,
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
    TEXT_LIMIT: (JellyLimitError, "the text of one batch would pass {a} bytes{text_advice}"),
    BAD_UTF8: (JellyFormatError, "a string is not valid UTF-8"),
    FRAMES_LIMIT: (JellyLimitError, "more than {a} frames; raise max_frames to report each"),
    FRAME_LIMIT: (JellyLimitError, "a frame of {a} bytes is above the limit of {b}{frame_advice}"),
    TRUNCATED: (JellyTruncatedError, "the stream ends inside a frame: {a} more bytes were expected"),
    NO_OPTIONS: (JellyFormatError, "the stream does not start with a stream options row; is it Jelly?"),
    OPTIONS_CHANGED: (
        JellyFormatError,
        "a later stream options row differs from the first; joined=True reads files that were joined with cat",
    ),
    BAD_PHYSICAL: (JellyUnsupportedError, "physical stream type {a} is unknown: expected 1 TRIPLES, 2 QUADS, 3 GRAPHS"),
    BAD_LOGICAL: (JellyFormatError, "logical stream type {a} is unknown: expected 0, or a number that ends in 1 to 4"),
    TYPES_DISAGREE: (
        JellyFormatError, "logical stream type {a} does not go with physical stream type {b}, which strict refuses",
    ),
    GENERALIZED_UNANNOUNCED: (
        JellyFormatError, "a generalized statement, but generalized_statements is false in the stream options",
    ),
    STAR_UNANNOUNCED: (JellyFormatError, "a quoted triple, but rdf_star is false in the stream options"),
    BAD_VERSION: (JellyUnsupportedError, "protocol version {a} is not supported: expected 1 to {b}"),
    NAME_TABLE_LIMIT: (JellyLimitError, "name table of {a} entries is above the limit of {b}; raise max_names"),
    PREFIX_TABLE_LIMIT: (JellyLimitError, "prefix table of {a} entries is above the limit of {b}; raise max_prefixes"),
    DATATYPE_TABLE_LIMIT: (
        JellyLimitError, "datatype table of {a} entries is above the limit of {b}; raise max_datatypes",
    ),
    ROW_FORBIDDEN: (JellyFormatError, "row field {a} is not allowed in a stream of physical type {b}"),
    ROW_UNKNOWN: (
        JellyFormatError,
        'the kind of the row is not set or unknown to this version; unknown_rows="skip" skips such rows',
    ),
    EMPTY_LANGUAGE: (JellyFormatError, "a literal has an empty language tag"),
    NAME_ENTRY: (JellyFormatError, "name entry {a} is outside the table of {b}"),
    PREFIX_ENTRY: (JellyFormatError, "prefix entry {a} is outside the table of {b}"),
    DATATYPE_ENTRY: (JellyFormatError, "datatype entry {a} is outside the table of {b}"),
    NAME_ID: (JellyFormatError, "name {a} was never defined (table of {b})"),
    PREFIX_ID: (JellyFormatError, "prefix {a} was never defined (table of {b})"),
    DATATYPE_ID: (JellyFormatError, "datatype {a} was never defined (table of {b})"),
    TABLE_BYTES: (JellyLimitError, "the lookup entries would take {a} bytes, above the limit of {b}"),
    NO_TERM_TO_REPEAT: (JellyFormatError, "the {slot} is left out, but no statement before it had one"),
    QUOTED_INCOMPLETE: (JellyFormatError, "a quoted triple has no {slot}: repeated terms are not allowed there"),
    DEPTH: (JellyLimitError, "quoted triples are nested deeper than {a}"),
    QUOTED_LIMIT: (
        JellyLimitError,
        "a quoted triple would take more than {a} bytes written out, as the same parts stand in it again and again",
    ),
    GRAPH_OPEN: (JellyFormatError, "a graph starts inside another graph"),
    GRAPH_NOT_OPEN: (JellyFormatError, "a triple or graph end stands outside a graph"),
    GRAPH_UNSET: (JellyFormatError, "a graph start names no graph"),
    BOTH_KINDS: (JellyFormatError, "a literal has both a language tag and a datatype"),
    NAMESPACE_UNSET: (JellyFormatError, "a namespace declaration has no IRI"),
    NOT_KEYFRAME: (JellyFormatError, "reading starts at a frame that is not a keyframe: it refers to what was before"),
    IS_PATCH: (JellyFormatError, "this is Jelly-Patch, not Jelly-RDF: read it with jelly.patch"),
    IS_RDF: (JellyFormatError, "this is Jelly-RDF, not Jelly-Patch: read it with jelly.read"),
    NAME_TABLE_SMALL: (JellyFormatError, "name table of {a} entries is too small: at least {b} are required"),
    BAD_STATEMENT_TYPE: (JellyUnsupportedError, "statement type {a} is unknown: expected 1 TRIPLES, 2 QUADS"),
    BAD_STREAM_TYPE: (JellyUnsupportedError, "patch stream type {a} is unknown: expected 1 FRAME, 2 FLAT, 3 PUNCTUATED"),
    PATCH_ROW_FORBIDDEN: (
        JellyFormatError, "a punctuation row is only allowed in a stream of type 3 PUNCTUATED, not {b}",
    ),
    GRAPH_IN_TRIPLES: (JellyFormatError, "a graph is set in a patch of triples"),
    HEADER_UNSET: (JellyFormatError, "a header has no value: it never repeats one"),
    NESTED_TRANSACTION: (JellyFormatError, "a transaction starts inside another transaction"),
    NO_TRANSACTION: (JellyFormatError, "a commit or abort outside a transaction"),
    OPEN_TRANSACTION: (JellyFormatError, "the patch ends inside a transaction"),
    OPEN_PATCH: (JellyTruncatedError, "the stream ends inside a transaction"),
    ONE_PATCH: (JellyOptionsError, "a stream of type FLAT holds one patch only"),
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
    UNKNOWN_KIND: (JellyUnsupportedError, "the {slot} is a {a_kind}: there is no such term here"),
    BAD_TERM: (JellyFormatError, "column {slot} has a term id of {a}, which is not a term of the Batch"),
    ONE_FRAME: (JellyOptionsError, "a stream that is not delimited holds one frame only"),
    NOT_IN_COLUMNS: (
        JellyOptionsError,
        "a {a_kind} as {slot} cannot be written in Jelly-RDF 1.2 (version=3): Jelly-RDF 1.1 (version=2) can hold it, with "
        "generalized_statements=True",
    ),
    STAR_IN_COLUMNS: (
        JellyOptionsError,
        "a quoted triple as {slot} cannot be written in Jelly-RDF 1.2 (version=3), where triple terms are objects only: "
        "Jelly-RDF 1.1 (version=2) can hold it, with rdf_star=True",
    ),
    ABOVE_RDF_VERSION: (
        JellyOptionsError,
        "a term needs RDF {rdf_a}, and the stream options announce rdf_version={rdf_b!r}: leave rdf_version open or raise it",
    ),
    UNTAGGED_LITERAL: (
        JellyOptionsError,
        "a literal of rdf:langString or rdf:dirLangString without a language tag cannot be written in Jelly-RDF 1.2 (version=3)",
    ),
    # Text reader: `a` is the result of `characters.describe`.
    SYNTAX: (JellySyntaxError, "column {column}: expected a term as {slot}, found {found}"),
    NO_DOT: (JellySyntaxError, "column {column}: expected '.' at the end of the statement, found {found}"),
    AFTER_DOT: (JellySyntaxError, "column {column}: expected the end of the line or a comment, found {found}"),
    FOURTH_TERM: (
        JellySyntaxError, "column {column}: expected '.' after three terms, found a fourth: this is N-Quads",
    ),
    IRI_OPEN: (JellySyntaxError, "column {column}: the IRI that begins here has no '>' on its line"),
    IRI_CHARACTER: (JellySyntaxError, "column {column}: {found} is not allowed in an IRI"),
    RELATIVE_IRI: (JellySyntaxError, "column {column}: the IRI that begins here has no scheme: it is relative"),
    LITERAL_OPEN: (JellySyntaxError, "column {column}: the string that begins here has no '\"' on its line"),
    ESCAPE: (
        JellySyntaxError, "column {column}: expected one of {escapes} after the backslash, found {found}",
    ),
    ESCAPE_HEX: (JellySyntaxError, "column {column}: expected {b} hexadecimal digits, found {found}"),
    ESCAPE_RANGE: (JellySyntaxError, "column {column}: U+{a:04X} is not a character: a surrogate, or above U+10FFFF"),
    BNODE_LABEL: (JellySyntaxError, "column {column}: expected '_:' and a blank node label, found {found}"),
    LANG_TAG: (JellySyntaxError, "column {column}: expected a language tag after '@', found {found}"),
    NO_DATATYPE: (JellySyntaxError, "column {column}: expected '^^' and the IRI of a datatype, found {found}"),
    NOT_STRICT: (
        JellySyntaxError,
        "column {column}: a {a_kind} as {slot} is not RDF {version}, which strict, rdf or VERSION asks for",
    ),
    TEXT_UTF8: (JellySyntaxError, "column {column}: not UTF-8: byte 0x{a:02X}"),
    QUOTED_END: (JellySyntaxError, "column {column}: expected '{close}' after a quoted triple, found {found}"),
    LINE_LIMIT: (JellyLimitError, "a line is longer than {a} bytes; raise max_line_bytes to read it"),
    LINE_CUT: (JellyTruncatedError, "column {column}: the input ends inside a statement"),
    VERSION_LINE: (JellySyntaxError, "column {column}: expected VERSION and a string, found {found}"),
    OPERATION: (JellySyntaxError, "column {column}: expected one of H TX TC TA PA PD A D, found {found}"),
    PREFIX_NAME: (JellySyntaxError, "column {column}: expected the name of a namespace in quotes, found {found}"),
    BAD_SEGMENT: (JellyUnsupportedError, "transaction mark {a} is unknown: expected 0 start, 1 commit, 2 abort"),
    PREFIX_IRI: (JellySyntaxError, "column {column}: expected the IRI of the namespace, found {found}"),
    PATCH_GRAPH: (JellySyntaxError, "column {column}: expected the graph of the namespace, found {found}"),
    PATCH_GRAPH_TRIPLE: (JellyFormatError, "the graph of a namespace is a quoted triple: expected an IRI or a blank node"),
    HEADER_KEY: (JellySyntaxError, "column {column}: expected the name of a header, found {found}"),
    PATCH_NUMBER: (JellySyntaxError, "column {column}: expected a number, found {found}"),
    BAD_LABEL: (JellyUnsupportedError, "N-Triples cannot hold the label of blank node term {a}"),
    BAD_TAG: (JellyUnsupportedError, "N-Triples cannot hold the language tag of term {a}"),
    BATCH_TERMS: (JellyLimitError, "a Batch would have more than 2^31 terms"),
    VALUE_LIMIT: (JellyLimitError, "a term of {a} bytes as text is above the limit of {b} for a value of a column"),
    RENDER_LIMIT: (JellyLimitError, "the terms of one batch would take more than {a} bytes as text"),
    # Columns from other software.
    COLUMN_OFFSETS: (JellyFormatError, "the offsets of the column are not in order or point outside its data"),
    COLUMN_INDEX: (JellyFormatError, "index {a} is outside the dictionary of {b} values"),
    COLUMN_NULL: (JellyFormatError, "expected a value, found null"),
    COLUMN_UTF8: (JellyFormatError, "not UTF-8 from byte {a} of the value on"),
    OBJECT_KIND: (JellyFormatError, "expected one of iri, bnode, literal, triple"),
    NOT_BNODE: (JellyFormatError, "a blank node must begin with _:"),
    NOT_LITERAL: (JellyFormatError, "null expected, the object is not a literal"),
    EMPTY_VALUE: (JellyFormatError, "an empty string: expected null or a value"),
    AFTER_TERM: (JellySyntaxError, "column {column}: expected one term only, found {found}"),
    PATCH_OPERATION: (JellyFormatError, "expected add, insert or A, or delete or D"),
    PATCH_FALLS: (JellyFormatError, "{a} comes after {b}: the rows must be in the order of their patches"),
    # RDF Binary.
    ROW_CUT: (JellyTruncatedError, "the input ends inside a row: at least {a} more bytes were expected"),
    ROW_LIMIT: (JellyLimitError, "a row is longer than the limit of {b} bytes; raise max_row_bytes to read it"),
    THRIFT_MALFORMED: (JellyFormatError, "malformed Thrift: a field header, length or number is out of range"),
    EMPTY_UNION: (JellyFormatError, "a row or term is empty: expected one field"),
    TWO_FIELDS: (JellyFormatError, "a row or term has a second field: expected its end"),
    UNKNOWN_ROW: (JellyUnsupportedError, "a row of an unknown kind: field {a}"),
    UNKNOWN_TERM: (JellyUnsupportedError, "a term of an unknown kind: field {a}"),
    PATTERN_TERM: (JellyUnsupportedError, "the term is {pattern}, which is not an RDF term"),
    NOTHING_TO_REPEAT: (JellyFormatError, "the {slot} is REPEAT, but no row before it has one"),
    NESTED_REPEAT: (JellyFormatError, "a term of a quoted triple is REPEAT, which only repeats the terms of rows"),
    FIELD_MISSING: (JellyFormatError, "required field {field} is missing"),
    TERM_MISSING: (JellyFormatError, "the {slot} is missing"),
    NO_PREFIX: (JellyFormatError, "a prefixed name has a prefix that was not declared before"),
    PREFIXES_LIMIT: (JellyLimitError, "more than {a} prefixes are declared; raise max_prefixes"),
    BAD_DIRECTION: (JellyFormatError, "expected a base direction of ltr or rtl, together with a language tag"),
    DASHED_TAG: (
        JellyUnsupportedError,
        "RDF Protobuf ends a language tag at its first two hyphens: it cannot hold one that has them, and a base direction",
    ),
    NO_LITERAL_KIND: (JellyFormatError, "a literal is not simple and has no language or datatype"),
    SCALE_LIMIT: (JellyLimitError, "a decimal has a scale of {a}, beyond the limit of {b} digits"),
    NESTING: (JellyLimitError, "fields are nested deeper than {a}"),
    MERGE_LIMIT: (JellyLimitError, "the pieces of one split message take more than {a} bytes"),
    ROW_WIDTH: (JellyFormatError, "a row has {a} terms, expected {b}, one per variable"),
    VARIABLES_LIMIT: (JellyLimitError, "a result set has more than {a} variables"),
    NO_HEADER: (JellyFormatError, "the input is empty: expected the variables of a result set"),
    MESSAGE_LIMIT: (JellyLimitError, "a message is longer than {a} bytes; raise max_message_bytes to read it"),
    NOT_ANNOUNCED: (
        JellySyntaxError,
        'MESSAGE is used in a document that does not announce it: expected VERSION "1.2-messages" at its beginning, or a '
        "media type with version=1.2-messages",
    ),
    WRONG_DIALECT: (JellySyntaxError, 'comments delimit messages here, not MESSAGE: pass dialect="directive"'),
    CANONICAL_STEPS: (
        JellyLimitError,
        "the blank nodes are too much alike: to find their canonical labels takes more than {a} steps; raise max_steps to "
        "search longer",
    ),
    CANONICAL_TRIPLE: (
        JellyUnsupportedError,
        "the {slot} is a quoted triple: RDFC-1.0, the canonicalization of RDF 1.1 datasets, does not define these",
    ),
    CANONICAL_PLACE: (
        JellyUnsupportedError,
        "the {slot} is of the kind {a_kind}: RDFC-1.0 does not define generalized statements",
    ),
    # Columns of terms.
    COLUMNS_IN_ROWS: (JellyFormatError, "columns in a stream of rows: they need version 3 in the stream options"),
    COLUMN_ROW: (JellyFormatError, "a frame of version 3 has no other row than one with the stream options"),
    ROW_OPTION: (JellyFormatError, "an option of streams of rows is set in version 3: flags or logical type"),
    BAD_MESSAGES_TYPE: (JellyUnsupportedError, "stream type {a} is unknown: expected 0 FLAT, 1 MESSAGES"),
    BAD_RDF_VERSION: (JellyUnsupportedError, "RDF version {a} is unknown: expected 0 to 3"),
    ROW_COUNT: (JellyFormatError, "a frame has {a} rows: expected at most {b}"),
    FRAME_ROWS: (JellyLimitError, "a frame of {a} rows is above the limit of {b}; raise max_frame_rows to read it"),
    COLUMN_MISSING: (JellyFormatError, "a frame of {a} rows has no column of the {slot}"),
    CELLS_MISSING: (JellyFormatError, "the column of the {slot} has fewer terms than the {a} rows"),
    CELLS_LEFT: (JellyFormatError, "the column of the {slot} has more cells than the {a} rows"),
    COLUMN_KIND: (JellyFormatError, "the column of the {slot} has a {a_kind}"),
    GRAPHS_COLUMN: (JellyFormatError, "a column of graphs in a stream of triples"),
    LENGTHS_IN_FLAT: (JellyFormatError, "message lengths in a stream of type FLAT"),
    LENGTHS: (JellyFormatError, "the messages have more rows than the {a} of their frame"),
    KINDS_MISSING: (JellyFormatError, "the column of the {slot} has values of several kinds and does not name these"),
    KINDS_SIZE: (JellyFormatError, "the kinds of a column take {a} bytes: expected {b}"),
    KINDS_BITS: (JellyFormatError, "unused bits are set in the kinds of a column"),
    KINDS_VALUES: (JellyFormatError, "the kinds of a column name more values of a kind than it has"),
    LIST_LENGTH: (JellyFormatError, "a list of {a} numbers that belongs to a list of {b}: their lengths do not go together"),
    TAG_INDEX: (JellyFormatError, "a literal has language tag {a} of a column with {b}"),
    DIRECTION_NUMBER: (JellyFormatError, "base direction {a} is unknown: expected 0 to 2"),
    DIRECTION_VERSION: (JellyFormatError, "a base direction in a stream that declares RDF 1.1"),
    TRIPLE_VERSION: (JellyFormatError, "a triple term in a stream that declares RDF 1.1 or RDF 1.2 Basic"),
    LAYOUT_SKIP: (JellyFormatError, "a layout skips {a} values of the {slot}, of which fewer are left"),
    LAYOUT_REPEAT: (JellyFormatError, "a layout repeats a value of the {slot} after the last one"),
    LAYOUT_EXTENSION: (JellyFormatError, "a layout of the {slot} lacks the rest of its length"),
    DIRECTION_ALONE: (JellyFormatError, "a literal has a base direction and no language tag"),
    LANG_DATATYPE: (JellyFormatError, "a literal of rdf:langString or rdf:dirLangString has no language tag"),
    RESULT_COLUMNS: (JellyFormatError, "a frame has {a} columns: expected {b}, one for each variable"),
    # Results that are text.
    EXPECTED: (JellySyntaxError, "expected {expected}, found {found}"),
    NOT_UTF8: (JellySyntaxError, "not UTF-8: byte 0x{a:02X}"),
    BAD_RESULTS: (JellyFormatError, "{results}"),
    BAD_XML: (JellySyntaxError, "{xml}"),
    JSON_DEPTH: (JellyLimitError, "the JSON is nested too deep: more than {a} objects and arrays in one another"),
    XML_DEPTH: (JellyLimitError, "{more} {a}"),
    DOCUMENT_LIMIT: (JellyLimitError, "the JSON document has more than {a} bytes; raise max_document_bytes to read it"),
    HELD_LIMIT: (JellyLimitError, "{held} is longer than {a} bytes; raise max_text_bytes to read it"),
    DOCTYPE: (JellyUnsupportedError, "a document type, and entities with it, are not read"),
    NOT_XML: (JellyUnsupportedError, "XML cannot hold the character U+{a:04X}"),
    TAGS_LIMIT: (JellyLimitError, "a column of {a} language tags is above the limit of {b}"),
}

# The keyword that allows longer texts. Writers have none.
_TEXT_ADVICE = ("", "; raise max_frame_bytes to read it", "; raise max_row_bytes to read it")
_SLOTS = {
    SUBJECT: "subject", PREDICATE: "predicate", OBJECT: "object", GRAPH: "graph", VERSION_LINE: "announcement",
}
_PATTERNS = ("a variable", "ANY", "UNDEFINED", "REPEAT")
_FIELDS = ("iri", "label", "lex", "prefix", "localName", "uri", "value", "scale", "name", "term")
# Of results that are text, see `results/rows.pxd`.
_EXPECTED = (
    "a JSON value", "a string in quotes", "':'", "',' or '}'", "',' or ']'", "an escape of JSON", "the end of the input",
    "a variable of SPARQL", "a tag", "a name", "'>'", "'='", "a value in quotes", "a reference such as &amp;",
    "a comment, or an instruction", "the rest of the term",
)
_NO_RESULTS = 'expected a JSON object with "head" and "results", in it "bindings"'
_RESULTS = (
    _NO_RESULTS, _NO_RESULTS, "expected results or boolean, once and not both",
    "boolean: expected true or false, once, and no results", "a name or link is no string",
    "a binding is not a term: expected an object with type and value", "a member stands twice",
    "a string holds half of a surrogate pair, which UTF-8 cannot hold", "expected all variables before the results",
    "expected sparql as the outer element", "a triple lacks its subject, predicate or object",
    "a binding has no term: expected uri, bnode, literal or triple in it, and no binding of what is unbound",
    "expected results in sparql", "a binding has several terms: expected one", "a binding is of no variable in the head",
    "a variable has two bindings",
)
_MORE = ("elements are nested deeper than", "a tag has more attributes than", "more namespaces are declared than")
_XML = (
    "the tag does not end the element that is open", "the entity is not defined", "the prefix is not declared",
    "an attribute stands twice", "a character that XML does not have", "two hyphens in a comment",
    "what XML reserves stands here: the end of CDATA, or the name xml or xmlns",
)
_KINDS = dict(enumerate(NOUNS)) | {
    UNTAGGED: "literal of rdf:langString or rdf:dirLangString without a language tag",
    VERSION_LINE: "later or unknown version",
    LONG_SUBTAG: "language subtag of more than 8 characters",
}


cdef object fault_error(Fault* fault, dict place):
    """The exception for a fault. `place` gives frame, row, offset, line and column, as far as known, and may name the slot."""
    if fault.code == NO_MEMORY:
        return MemoryError()
    kind, text = _TABLE.get(fault.code, (JellyError, f"unknown fault {fault.code}"))
    column = place.get("column", 0)
    version = place.pop("version", "1.1")
    slot = place.pop("slot", _SLOTS.get(fault.b, "term"))
    if "{column}" not in text:
        place.pop("column", None)
    text = text.format(
        a=fault.a,
        b=fault.b,
        slot=slot,
        a_kind=_KINDS.get(fault.a, "term"),
        pattern=_PATTERNS[fault.a] if 0 <= fault.a < 4 else "unknown",
        field=_FIELDS[fault.a] if 0 <= fault.a < 10 else "",
        text_advice=_TEXT_ADVICE[fault.b] if 0 <= fault.b < 3 else "",
        frame_advice="; raise max_frame_bytes to read it" if fault.a <= MAX_PROTOBUF else ", and of Protobuf: is it Jelly?",
        column=column,
        version=version,
        found=_found(fault.a),
        expected=_EXPECTED[fault.b] if 0 <= fault.b < len(_EXPECTED) else "something else",
        results=_RESULTS[fault.b] if 0 <= fault.b < len(_RESULTS) else "malformed",
        xml=_XML[fault.b] if 0 <= fault.b < len(_XML) else "malformed",
        more=_MORE[fault.b] if 0 <= fault.b < len(_MORE) else "more than",
        held="a row" if fault.b else "a line",
        escapes="u U" if fault.b else "t b n r f \" ' \\ u U",
        close=")>>" if fault.b else ">>",
        rdf_a=RDF_VERSIONS[fault.a & 3],
        rdf_b=RDF_VERSIONS[fault.b & 3],
    )
    return kind(text, **place)


cdef object text_error(object text, str what):
    """The exception for a value that is not a text or not valid UTF-8. `what` names it, for example "an IRI"."""
    if not isinstance(text, str):
        return JellyArgumentError(f"{what} must be str, not {type(text).__name__}")
    found = next((character for character in text if "\ud800" <= character <= "\udfff"), "")
    return JellyFormatError(f"{what} {str(text)!r:.80} holds U+{ord(found):04X}, half of a character, which UTF-8 cannot hold")


cdef bytes utf8_of(object text, str what):
    """A text as UTF-8. JellyFormatError if it has a lone surrogate."""
    try:
        return text.encode()
    except (UnicodeEncodeError, AttributeError):
        raise text_error(text, what) from None


cdef int64_t whole_number(object value, str name) except? -1:
    """The value of an argument that is to be a number of 64 bits; ``name`` is its name."""
    cdef int overflow = 0
    cdef long long found
    if PyLong_CheckExact(value):  # without the cost of a Python call
        found = PyLong_AsLongLongAndOverflow(value, &overflow)
        if not overflow:
            return found
    try:
        return index(value)
    except (TypeError, OverflowError):
        raise JellyArgumentError(f"{name} is {value!r:.80}: expected a whole number") from None


def _found(a):
    """Describe an unexpected character."""
    if not 0 <= a <= 0x10FFFF:
        return "the end of the input" if a == -2 else "the end of the line"
    character = chr(a)
    return repr(character) if character.isprintable() else f"U+{a:04X}"


def _codes():
    """All codes that have a message, for the tests."""
    return sorted(_TABLE)


def _fault(int code, int64_t a=0, int64_t b=0):
    """The exception for a fault at frame 1, row 2, byte 3."""
    cdef Fault fault
    fault.code = OK
    fail(&fault, code, NULL, a, b)
    fail(&fault, MALFORMED, NULL)  # only the first counts
    return fault_error(&fault, {"frame": 1, "row": 2, "offset": 3})
