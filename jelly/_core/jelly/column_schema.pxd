"""Jelly-RDF 1.2, which is not final: its field numbers, and where the columns of a frame are read.

All numbers of the layout in columns (protocol version 3) stand here. Two states of its schema are known, S and P; see
docs/jelly-1.2.md. They differ in four fields.
"""

from libc.stdint cimport int32_t, int64_t, int8_t, uint32_t, uint64_t

from jelly._core.base.protobuf cimport Reader

cdef enum:
    COLUMN_VERSION = 3
    # Smallest name table, and rows that a frame can have at the most.
    MIN_COLUMN_NAMES = 128
    MAX_ROW_COUNT = (1 << 27) - 1
    # Language tags of a column.
    MAX_COLUMN_TAGS = 1 << 16
    # Rows that are read of one column before the next; kinds of literals remembered, a power of two.
    STEP_ROWS = 1024
    LITERAL_KINDS = 64
    # Rows at which a Batch of whole messages ends, when a message does.
    WHOLE_ROWS = 1 << 15

cdef enum:
    # The numberings, by which the options row is told: in P it has a physical type.
    NUMBERING_S = 1
    NUMBERING_P = 2

cdef enum:
    # Stream options: statement type, stream type and RDF version in S; in P the first has the number of the physical
    # type, and the others come one earlier.
    OPTIONS_TYPES = 5
    OPTIONS_TYPES_END = 8
    # Stream types.
    TYPE_FLAT = 0
    TYPE_MESSAGES = 1

cdef enum:
    # Tags: of a frame
    FRAME_COLUMNS = 2 << 3 | 2
    # of a batch: a row count; entries of three tables; namespaces; subjects, predicates, objects, graphs; lengths
    BATCH_ROW_COUNT = 1 << 3
    BATCH_NAMES = 2
    BATCH_NAMESPACES = 5
    BATCH_SUBJECTS = 6
    BATCH_LENGTHS_S = 10
    BATCH_LENGTHS_P = 15
    # of a lookup entry
    ENTRY_ID = 1 << 3
    ENTRY_VALUES = 2 << 3 | 2
    # of a column (numbers of fields)
    COLUMN_KINDS = 1
    COLUMN_LAYOUTS = 2
    COLUMN_NAME_IDS = 3
    COLUMN_PREFIX_IDS = 4
    COLUMN_LEX_VALUES = 5
    COLUMN_LITERAL_KINDS = 6
    COLUMN_LANGTAGS = 7
    COLUMN_DIRECTIONS = 8
    COLUMN_BNODES = 9
    COLUMN_TRIPLES = 10
    COLUMN_FIELDS = 11
    # fields of a column that are numbers
    COLUMN_NUMBERS = (
        1 << COLUMN_LAYOUTS | 1 << COLUMN_NAME_IDS | 1 << COLUMN_PREFIX_IDS | 1 << COLUMN_LITERAL_KINDS
        | 1 << COLUMN_DIRECTIONS
    )
    # of a literal
    LITERAL_DIRECTION = 4 << 3

cdef enum:
    # Tags and fields of a frame of Jelly-SPARQL, whose columns are those of Jelly-RDF 1.2.
    RESULTS_OPTIONS = 1
    RESULTS_VARIABLE = 2
    RESULTS_ROW_COUNT = 3 << 3
    RESULTS_NAMES = 4
    RESULTS_COLUMN = 7
    RESULTS_ANSWER = 8
    RESULTS_TRAILER = 9
    RESULTS_METADATA = 15
    # of its options; the sizes of the tables and the version have the numbers of Jelly-RDF
    RESULTS_TYPE = 2 << 3
    RESULTS_RDF_VERSION = 5 << 3
    # of an answer and of a trailer
    ANSWER_VALUE = 1 << 3
    TRAILER_ERROR = 1 << 3 | 2
    # types of streams
    RESULTS_PUNCTUATED = 1

cdef enum:
    # Kinds of run values.
    VALUE_IRI = 0
    VALUE_LITERAL = 1
    VALUE_BNODE = 2
    VALUE_TRIPLE = 3


ctypedef struct Numbers:
    # A list of numbers, packed or not, that is being read.
    Reader part  # packed values
    Reader rest  # the fields after them
    int64_t n  # values of the list
    int field


ctypedef struct Column:
    Reader body  # its bytes; NULL where the column is missing
    Numbers lists[COLUMN_FIELDS]  # by field; of lists of strings and messages `rest` and `n` are used
    Reader kinds
    bint mixed  # values of several kinds
    int kind  # else that of all values
    int64_t n_values
    int64_t value  # the next one
    int64_t once  # values that come once each
    int64_t length  # cells of the run after them; 0: none
    bint unbound
    int64_t run  # cells that are left of the present run, whose term is in `last` of the decoder
    int64_t next_prefix  # of the next IRI, where one prefix is given for all
    # ids of IRIs: of the column, and of its triple terms
    int64_t last_name
    int64_t last_prefix
    uint32_t serial  # of the entry of that prefix
    int64_t inner_name
    int64_t inner_prefix
    int64_t literal_kind  # of all literals, or -1 where each has its own


ctypedef struct Tag:
    Reader text
    int64_t direction


ctypedef struct LiteralKind:
    int64_t number  # on the wire; -1: free
    int32_t aux
    int8_t kind


ctypedef struct Columns:
    # The frame that is read.
    int stage
    bint restated  # its options row was read
    int64_t begin  # byte of the stream, with its length in front; -1: a message goes on
    Reader walk  # what is left of metadata or namespaces
    Reader batch
    bint sparse  # cells of any column may be unbound, not of graphs alone
    int64_t size  # of its fields in the frame
    Column of[4]
    int64_t row_count
    int64_t rows  # given out
    Numbers lengths
    int64_t gap  # rows up to the next end of a message
    bint open  # the present message has rows
    Tag* tags  # of the objects
    int64_t cap_tags
    LiteralKind known[LITERAL_KINDS]
    uint64_t known_in  # the Batch
