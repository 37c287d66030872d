"""State of an encoder: its options, its lookup tables, and bytes that are not written yet."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from jelly._core.base.batch cimport BatchData
from jelly._core.base.fault cimport Fault
from jelly._core.base.protobuf cimport Writer
from jelly._core.jelly.column_schema cimport COLUMN_FIELDS
from jelly._core.jelly.lookup cimport TABLES, Lru

cdef enum:
    # In columns the language tags of the objects are one more table; and a frame can be full of bytes.
    TAGS = TABLES
    BYTES

cdef enum:
    # Maximum bytes of a string on the wire.
    MAX_TEXT = 1 << 30
    # Prefixes that were found last and are remembered, a power of two.
    RECENT = 64


ctypedef struct TermMemo:
    # Where the lookup entries of a term were found, good as long as their serials stand.
    int32_t name
    uint32_t name_serial
    int32_t prefix
    uint32_t prefix_serial
    int32_t datatype
    uint32_t datatype_serial


ctypedef struct ColumnMemo:
    # The same for streams in columns, and the frames that hold on to these entries.
    TermMemo ids  # `name` of a language tag is its number in the column
    uint32_t frame
    uint32_t datatype_frame


ctypedef struct LastIds:
    # Of the last IRI: what an id of 0 counts from.
    int32_t name
    int32_t prefix


ctypedef struct ColumnOut:
    # A column of the frame being written (Jelly-RDF 1.2).
    Writer lists[COLUMN_FIELDS]  # by field; strings and triple terms are whole fields
    int64_t n  # run values
    int64_t of[4]  # by kind
    int first_kind
    bint mixed  # values of several kinds
    int kind  # of the value whose run goes on
    int64_t run  # its cells so far
    int64_t skip  # values since the last token of the layout
    LastIds last
    int32_t one_prefix  # of all IRIs so far
    bint prefixes_differ
    uint32_t one_literal_kind  # of all literals so far
    bint literal_kinds_differ
    LastIds inner  # of triple terms


ctypedef struct EntriesOut:
    # The lookup entries of a table in the frame being written.
    Writer closed
    Writer values  # of the packed entry that goes on
    int64_t id  # that it tells
    bint open


ctypedef struct ColumnEncoder:
    # The frame being written of a stream in columns.
    ColumnMemo* memo
    ColumnOut of[4]
    EntriesOut entries[TABLES]
    Writer namespaces
    Writer lengths
    Writer metadata
    bint directed
    LastIds last  # of the namespaces
    int64_t rows
    int64_t told  # rows in messages that have ended
    bint is_log  # a stream of messages
    bint open  # the present message has rows
    int64_t cost  # bytes that the frame takes at the most
    bint prefixed  # IRIs are split
    int full  # the table that has no entry left
    int rdf_version  # that the options announce
    int announced  # the one before a part of a stream; 0: none
    int needed  # RDF version that a term needs
    bint follow  # announce what terms need as they come
    bint numbering_p
    const uint8_t* options[4]  # the options row by RDF version
    int64_t n_options[4]


ctypedef struct EncoderState:
    # options
    bint columnar  # Jelly-RDF 1.2; `columns` is its state
    ColumnEncoder columns
    bint patch  # Jelly-Patch; else Jelly-RDF
    int physical  # of a patch the statement type, whose numbers are the same
    int stream_type  # of a patch
    uint8_t name_tag  # of a row or packed field with name entries; those of prefixes and datatypes follow
    bint generalized
    bint star
    bint namespaces
    bint skip_namespaces  # leave them out where the version has none
    bint delimited
    bint keep_frames  # the frames of the Batch mean something
    bint open_end  # but the last one goes on
    bint described  # the frame being written has metadata of one that a later Batch ends
    int64_t frame_rows  # rows at which a frame ends; 0: never
    int64_t frame_bytes  # bytes at which a frame ends; 0: never
    bint independent  # each frame is a stream of its own
    int64_t key_rows  # statements from one keyframe to the next; 0: no keyframes
    int64_t cut_rows  # the same where a frame may end after any statement; else 0
    const uint8_t* options  # the options row, ready to write
    int64_t n_options
    # tables
    Lru tables[TABLES + 1]
    int32_t recent[RECENT]  # prefixes that were found last, by their length
    LastIds ids
    int64_t statement  # counts attempts: what is pinned in the tables
    # input
    BatchData* b
    int64_t stop  # row of b before which to stop, or its number of rows
    bint alone  # nothing follows b in this stream
    bint part  # b goes on in another stream: what stands at `stop` is not written
    TermMemo* memo  # one for each term of b
    int32_t last[4]  # term ids in b, UNSET or CARRIED
    int32_t carried[4]
    BatchData carry
    # output
    Writer row  # the statement being written
    Writer body  # the frame being written
    Writer held  # with keyframes: the last frame, which the index may go into
    Writer out  # finished frames
    Writer keys  # four int64 for each keyframe: offset, statement, frame and place (see find_place)
    int64_t rows  # in the frame being written
    int64_t n_frames  # finished
    int64_t n_bytes  # of the finished frames
    int64_t n_statements  # of a patch all rows that a Decoder will count, the punctuation among them
    int64_t since_key  # statements since the last keyframe
    bint has_held
    bint started  # the options are written
    bint in_graph
    int transaction  # CLOSED or OPEN
    bint in_patch  # rows stand after the last punctuation
    int64_t n_patches  # ended by a punctuation or frame
    bint goes_on  # it is a part of a stream, and rows of a patch are before it
    int64_t bound  # frames of the Batch that are behind
    bint patch_ended  # of a FLAT patch: a punctuation came
    bint whole_names  # this statement does without prefixes
    int64_t most  # bytes of `row` at which a quoted triple is too long
    Fault fault
