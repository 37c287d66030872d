"""Errors of the core: a code, a location and two numbers. Only fault.pyx turns them into exceptions."""

from libc.stdint cimport int64_t, uint8_t

# Core functions return OK or one of these, negative. `a` and `b` of the Fault fill the message in fault.pyx.
cdef enum:
    OK = 0
    NO_MEMORY = -33  # not -1, which is NO_TERM
    MALFORMED = -2
    TEXT_LIMIT = -3
    BAD_UTF8 = -4
    FRAME_LIMIT = -5
    TRUNCATED = -6
    NO_OPTIONS = -7
    OPTIONS_CHANGED = -8
    BAD_PHYSICAL = -9
    BAD_LOGICAL = -10
    BAD_VERSION = -11
    NAME_TABLE_LIMIT = -12
    PREFIX_TABLE_LIMIT = -13
    DATATYPE_TABLE_LIMIT = -14
    TYPES_DISAGREE = -15
    ROW_FORBIDDEN = -16
    GENERALIZED_UNANNOUNCED = -17
    NAME_ENTRY = -18
    PREFIX_ENTRY = -19
    DATATYPE_ENTRY = -20
    NAME_ID = -21
    PREFIX_ID = -22
    DATATYPE_ID = -23
    TABLE_BYTES = -24
    NO_TERM_TO_REPEAT = -25
    QUOTED_INCOMPLETE = -26
    STAR_UNANNOUNCED = -27
    DEPTH = -28
    GRAPH_OPEN = -29
    GRAPH_NOT_OPEN = -30
    GRAPH_UNSET = -31
    BOTH_KINDS = -32
    NAMESPACE_UNSET = -34
    NOT_KEYFRAME = -35
    ROW_UNKNOWN = -36
    EMPTY_LANGUAGE = -37
    FRAMES_LIMIT = -38
    # of patches
    IS_PATCH = -200
    IS_RDF = -201
    BAD_STATEMENT_TYPE = -202
    BAD_STREAM_TYPE = -203
    PATCH_ROW_FORBIDDEN = -204
    GRAPH_IN_TRIPLES = -205
    HEADER_UNSET = -206
    NESTED_TRANSACTION = -207
    NO_TRANSACTION = -208
    OPEN_TRANSACTION = -209
    OPEN_PATCH = -210
    ONE_PATCH = -211
    OPERATION = -212
    PREFIX_NAME = -213
    HEADER_KEY = -214
    PATCH_NUMBER = -215
    PREFIX_IRI = -216
    BAD_SEGMENT = -217
    PATCH_GRAPH = -218
    PATCH_GRAPH_TRIPLE = -219
    NAME_TABLE_SMALL = -220
    # of the encoder
    GENERALIZED_OFF = -40
    STAR_OFF = -41
    DATATYPES_OFF = -42
    NAMES_FULL = -43
    DATATYPES_FULL = -44
    NAMED_GRAPH_IN_TRIPLES = -45
    NAMESPACES_OFF = -46
    BAD_TERM = -47
    ONE_FRAME = -48
    NOT_IN_COLUMNS = -50
    STAR_IN_COLUMNS = -51
    ABOVE_RDF_VERSION = -52
    UNTAGGED_LITERAL = -53
    # of the text reader
    SYNTAX = -60
    NO_DOT = -61
    AFTER_DOT = -62
    FOURTH_TERM = -63
    IRI_OPEN = -64
    IRI_CHARACTER = -65
    RELATIVE_IRI = -66
    LITERAL_OPEN = -67
    ESCAPE = -68
    ESCAPE_HEX = -69
    ESCAPE_RANGE = -70
    BNODE_LABEL = -71
    LANG_TAG = -72
    NO_DATATYPE = -73
    NOT_STRICT = -74
    TEXT_UTF8 = -75
    QUOTED_END = -76
    LINE_LIMIT = -77
    LINE_CUT = -78
    VERSION_LINE = -79
    # of the text writer
    BAD_LABEL = -80
    BAD_TAG = -81
    # of the columns
    VALUE_LIMIT = -91
    RENDER_LIMIT = -92
    COLUMN_OFFSETS = -93
    COLUMN_INDEX = -94
    COLUMN_NULL = -95
    COLUMN_UTF8 = -96
    OBJECT_KIND = -97
    NOT_BNODE = -98
    NOT_LITERAL = -99
    EMPTY_VALUE = -100
    AFTER_TERM = -101
    PATCH_OPERATION = -102
    PATCH_FALLS = -103
    # of RDF Binary
    ROW_CUT = -110
    ROW_LIMIT = -111
    THRIFT_MALFORMED = -112
    EMPTY_UNION = -113
    TWO_FIELDS = -114
    UNKNOWN_ROW = -115
    UNKNOWN_TERM = -116
    PATTERN_TERM = -117
    FIELD_MISSING = -118
    TERM_MISSING = -119
    NO_PREFIX = -120
    PREFIXES_LIMIT = -121
    BAD_DIRECTION = -122
    NO_LITERAL_KIND = -123
    SCALE_LIMIT = -124
    NESTING = -125
    MERGE_LIMIT = -126
    ROW_WIDTH = -127
    VARIABLES_LIMIT = -128
    NO_HEADER = -129
    NOTHING_TO_REPEAT = -130
    NESTED_REPEAT = -131
    # of message logs
    MESSAGE_LIMIT = -140
    NOT_ANNOUNCED = -141
    WRONG_DIALECT = -142
    # of canonicalization
    CANONICAL_STEPS = -151
    CANONICAL_TRIPLE = -152
    CANONICAL_PLACE = -153
    # of columns of terms (Jelly-RDF 1.2)
    COLUMNS_IN_ROWS = -160
    COLUMN_ROW = -161
    ROW_OPTION = -162
    BAD_MESSAGES_TYPE = -163
    BAD_RDF_VERSION = -164
    ROW_COUNT = -165
    FRAME_ROWS = -166
    COLUMN_MISSING = -167
    CELLS_MISSING = -168
    CELLS_LEFT = -169
    COLUMN_KIND = -170
    GRAPHS_COLUMN = -171
    LENGTHS_IN_FLAT = -172
    LENGTHS = -173
    KINDS_MISSING = -174
    KINDS_SIZE = -175
    KINDS_BITS = -176
    KINDS_VALUES = -177
    LIST_LENGTH = -178
    TAG_INDEX = -179
    DIRECTION_NUMBER = -180
    DIRECTION_VERSION = -181
    TRIPLE_VERSION = -182
    LAYOUT_SKIP = -183
    LAYOUT_REPEAT = -184
    LAYOUT_EXTENSION = -185
    DIRECTION_ALONE = -186
    LANG_DATATYPE = -187
    TAGS_LIMIT = -188
    QUOTED_LIMIT = -189
    BATCH_TERMS = -190
    UNKNOWN_KIND = -191
    RESULT_COLUMNS = -192
    # of results of queries that are text
    EXPECTED = -230
    NOT_UTF8 = -231
    BAD_RESULTS = -232
    BAD_XML = -233
    JSON_DEPTH = -234
    XML_DEPTH = -235
    DOCUMENT_LIMIT = -236
    HELD_LIMIT = -237
    DOCTYPE = -238
    NOT_XML = -239
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
