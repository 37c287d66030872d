"""Errors of the core: a code, a location and two numbers. Only fault.pyx turns them into exceptions."""

from libc.stdint cimport int64_t, uint8_t

# Core functions return OK or one of these, negative. `a` and `b` of the Fault fill the message in fault.pyx. A new one comes
# last: tests know them by their numbers.
cdef enum:
    OK = 0
    NO_MEMORY = -300  # below all that stand for no term
    MALFORMED
    TEXT_LIMIT
    BAD_UTF8
    FRAME_LIMIT
    TRUNCATED
    NO_OPTIONS
    OPTIONS_CHANGED
    BAD_PHYSICAL
    BAD_LOGICAL
    BAD_VERSION
    NAME_TABLE_LIMIT
    PREFIX_TABLE_LIMIT
    DATATYPE_TABLE_LIMIT
    TYPES_DISAGREE
    ROW_FORBIDDEN
    GENERALIZED_UNANNOUNCED
    NAME_ENTRY
    PREFIX_ENTRY
    DATATYPE_ENTRY
    NAME_ID
    PREFIX_ID
    DATATYPE_ID
    TABLE_BYTES
    NO_TERM_TO_REPEAT
    QUOTED_INCOMPLETE
    STAR_UNANNOUNCED
    DEPTH
    GRAPH_OPEN
    GRAPH_NOT_OPEN
    GRAPH_UNSET
    BOTH_KINDS
    NAMESPACE_UNSET
    NOT_KEYFRAME
    ROW_UNKNOWN
    EMPTY_LANGUAGE
    FRAMES_LIMIT
    # of patches
    IS_PATCH
    IS_RDF
    BAD_STATEMENT_TYPE
    BAD_STREAM_TYPE
    PATCH_ROW_FORBIDDEN
    GRAPH_IN_TRIPLES
    HEADER_UNSET
    NESTED_TRANSACTION
    NO_TRANSACTION
    OPEN_TRANSACTION
    OPEN_PATCH
    ONE_PATCH
    OPERATION
    PREFIX_NAME
    HEADER_KEY
    PATCH_NUMBER
    PREFIX_IRI
    BAD_SEGMENT
    PATCH_GRAPH
    PATCH_GRAPH_TRIPLE
    NAME_TABLE_SMALL
    # of the encoder
    GENERALIZED_OFF
    STAR_OFF
    DATATYPES_OFF
    NAMES_FULL
    DATATYPES_FULL
    NAMED_GRAPH_IN_TRIPLES
    NAMESPACES_OFF
    BAD_TERM
    ONE_FRAME
    NOT_IN_COLUMNS
    STAR_IN_COLUMNS
    ABOVE_RDF_VERSION
    UNTAGGED_LITERAL
    # of the text reader
    SYNTAX
    NO_DOT
    AFTER_DOT
    FOURTH_TERM
    IRI_OPEN
    IRI_CHARACTER
    RELATIVE_IRI
    LITERAL_OPEN
    ESCAPE
    ESCAPE_HEX
    ESCAPE_RANGE
    BNODE_LABEL
    LANG_TAG
    NO_DATATYPE
    NOT_STRICT
    TEXT_UTF8
    QUOTED_END
    LINE_LIMIT
    LINE_CUT
    VERSION_LINE
    # of the text writer
    BAD_LABEL
    BAD_TAG
    # of the columns
    VALUE_LIMIT
    RENDER_LIMIT
    COLUMN_OFFSETS
    COLUMN_INDEX
    COLUMN_NULL
    COLUMN_UTF8
    OBJECT_KIND
    NOT_BNODE
    NOT_LITERAL
    EMPTY_VALUE
    AFTER_TERM
    PATCH_OPERATION
    PATCH_FALLS
    # of RDF Binary
    ROW_CUT
    ROW_LIMIT
    THRIFT_MALFORMED
    EMPTY_UNION
    TWO_FIELDS
    UNKNOWN_ROW
    UNKNOWN_TERM
    PATTERN_TERM
    FIELD_MISSING
    TERM_MISSING
    NO_PREFIX
    PREFIXES_LIMIT
    BAD_DIRECTION
    NO_LITERAL_KIND
    SCALE_LIMIT
    NESTING
    MERGE_LIMIT
    ROW_WIDTH
    VARIABLES_LIMIT
    NO_HEADER
    NOTHING_TO_REPEAT
    NESTED_REPEAT
    # of message logs
    MESSAGE_LIMIT
    NOT_ANNOUNCED
    WRONG_DIALECT
    # of canonicalization
    CANONICAL_STEPS
    CANONICAL_TRIPLE
    CANONICAL_PLACE
    # of columns of terms (Jelly-RDF 1.2)
    COLUMNS_IN_ROWS
    COLUMN_ROW
    ROW_OPTION
    BAD_MESSAGES_TYPE
    BAD_RDF_VERSION
    ROW_COUNT
    FRAME_ROWS
    COLUMN_MISSING
    CELLS_MISSING
    CELLS_LEFT
    COLUMN_KIND
    GRAPHS_COLUMN
    LENGTHS_IN_FLAT
    LENGTHS
    KINDS_MISSING
    KINDS_SIZE
    KINDS_BITS
    KINDS_VALUES
    LIST_LENGTH
    TAG_INDEX
    DIRECTION_NUMBER
    DIRECTION_VERSION
    TRIPLE_VERSION
    LAYOUT_SKIP
    LAYOUT_REPEAT
    LAYOUT_EXTENSION
    DIRECTION_ALONE
    LANG_DATATYPE
    TAGS_LIMIT
    QUOTED_LIMIT
    BATCH_TERMS
    UNKNOWN_KIND
    RESULT_COLUMNS
    # of results of queries that are text
    EXPECTED
    NOT_UTF8
    BAD_RESULTS
    BAD_XML
    JSON_DEPTH
    XML_DEPTH
    DOCUMENT_LIMIT
    HELD_LIMIT
    DOCTYPE
    NOT_XML
    # of RDF Protobuf
    DASHED_TAG
    # not faults: reasons why a loop returned
    FULL = 1
    NEED_MORE = 2
    NEED_TABLES = 3


cdef enum:
    # Reasons of strict text readers besides kinds of terms. The numbers follow those of the kinds.
    UNTAGGED = 100
    LONG_SUBTAG = 101


ctypedef struct Fault:
    int code
    const uint8_t* at  # in the input, NULL where there is none
    int64_t a
    int64_t b


cdef inline int fail(Fault* fault, int code, const uint8_t* at, int64_t a=0, int64_t b=0) noexcept nogil:
    """Note the first fault and return its code."""
    if fault.code == OK:
        fault.code = code
        fault.at = at
        fault.a = a
        fault.b = b
    return code


# `b` of TEXT_LIMIT: the limit to raise is that of a frame, or of a row.
cdef enum:
    BY_FRAME = 1
    BY_ROW = 2


cdef object fault_error(Fault* fault, dict place)
cdef object text_error(object text, str what)
cdef bytes utf8_of(object text, str what)
cdef int64_t whole_number(object value, str name) except? -1
