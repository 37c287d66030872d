"""State of a decoder: its options, its lookup tables, the frame that is read, the terms that may be repeated."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport BatchData
from jelly._core.base.fault cimport Fault
from jelly._core.rules.patch_operations cimport (
    OP_ABORT, OP_ADD, OP_COMMIT, OP_DELETE, OP_HEADER, OP_NAMESPACE_ADD, OP_NAMESPACE_DELETE, OP_PUNCTUATION, OP_START,
)
from jelly._core.base.protobuf cimport Reader, Writer
from jelly._core.jelly.column_schema cimport COLUMN_FIELDS, Columns
from jelly._core.jelly.frame_reader cimport FrameReader
from jelly._core.jelly.lookup cimport Lookup
from jelly._core.base.pieces cimport Pieces
from jelly._core.jelly.stream_options cimport Limits, Restart, StreamOptionsRow

cdef enum:
    # Maximum bytes of text in a Batch: prefixes can expand a small input to a large text.
    MAX_BATCH_TEXT = 1 << 28
    # Terms per row at which a Batch ends: statements with quoted triples can have any number of terms.
    TERMS_A_ROW = 16
    # Entries and bytes of metadata at which a Batch ends.
    META_ENTRIES = 1 << 16
    META_TEXT = 1 << 24
    # Languages and blank nodes remembered within a Batch, powers of two.
    LANGUAGES = 64
    BNODES = 256

cdef enum:
    # Bit n: a row with field n may occur, by physical type.
    ROWS_ALWAYS = (
        1 << pb.RDF_STREAM_ROW_OPTIONS | 1 << pb.RDF_STREAM_ROW_NAMESPACE | 1 << pb.RDF_STREAM_ROW_NAME
        | 1 << pb.RDF_STREAM_ROW_PREFIX | 1 << pb.RDF_STREAM_ROW_DATATYPE
    )
    ROWS_TRIPLES = ROWS_ALWAYS | 1 << pb.RDF_STREAM_ROW_TRIPLE
    ROWS_QUADS = ROWS_ALWAYS | 1 << pb.RDF_STREAM_ROW_QUAD
    ROWS_GRAPHS = ROWS_TRIPLES | 1 << pb.RDF_STREAM_ROW_GRAPH_START | 1 << pb.RDF_STREAM_ROW_GRAPH_END
    KNOWN_ROWS = ROWS_GRAPHS | ROWS_QUADS
    # The rows of a patch; punctuation in PUNCTUATED streams only.
    ROWS_PATCH = (
        1 << pb.RDF_PATCH_ROW_OPTIONS | 1 << OP_ADD | 1 << OP_DELETE | 1 << OP_NAMESPACE_ADD | 1 << OP_NAMESPACE_DELETE
        | 1 << OP_START | 1 << OP_COMMIT | 1 << OP_ABORT | 1 << pb.RDF_PATCH_ROW_NAME | 1 << pb.RDF_PATCH_ROW_PREFIX
        | 1 << pb.RDF_PATCH_ROW_DATATYPE | 1 << OP_HEADER
    )
    ROWS_PUNCTUATED = ROWS_PATCH | 1 << OP_PUNCTUATION


cdef enum:
    # What a statement may need that the options did not announce, as bits.
    GENERALIZED = 1
    STAR = 2
    # What a patch may not have either: a graph among triples, a namespace of quads before any graph.
    GRAPH_IGNORED = 4
    GRAPH_ASSUMED = 8


cdef enum:
    # The numbers kept for a stream and for each frame: of rows and their bytes by the number of their field, 0 for others.
    OFFSET = 0  # in the stream, of the frame's first byte
    SIZE  # of whole frames
    METADATA
    ROWS
    N_ROWS = 16
    BYTES = ROWS + N_ROWS
    NUMBERS = BYTES + N_ROWS
    N_PLACES = 4  # of terms
    TERM_FIELDS = 4  # in each place of a row
    SHOWN = 100  # bytes that are kept of a value of metadata


ctypedef struct Parts:
    # The values and bytes of a kind of terms, or of a list of a column.
    int64_t number
    int64_t bytes


ctypedef struct Counts:
    bint skim  # nothing but options and metadata is decoded
    uint32_t allowed  # that of the DecoderState, where none is so that each row comes by here
    int64_t all[NUMBERS]  # so far, of a frame that failed, too
    int64_t before[NUMBERS]  # when the last frame ended
    int64_t max_frames  # of which the numbers may be kept; -1: none are
    bint want_places
    bint want_parts
    Parts terms[N_PLACES][TERM_FIELDS]  # of rows
    Parts columns[N_PLACES][COLUMN_FIELDS]
    Parts lengths  # of messages
    Writer frames  # NUMBERS of each
    Writer places  # field, frame, row, offset of each row that is no lookup entry
    Writer keys  # metadata: frame, lengths of key and value, the key, and the first bytes of the value


ctypedef struct DecoderState:
    Lookup t
    BatchData* b
    FrameReader feed
    Reader frame  # what is left of the present frame
    const uint8_t* frame_start
    int64_t frame_offset
    bint in_frame
    int64_t row  # in the present frame
    int64_t n_frames  # frames ended so far
    StreamOptionsRow header
    bint has_header
    StreamOptionsRow next  # the options that NEED_TABLES is about
    bint joined  # repeated options begin another stream
    Restart restart  # what follows repeated options, where they should not
    int arity
    bint patch  # Jelly-Patch; else Jelly-RDF
    int first_entry  # field of the name entries; those of prefixes and datatypes follow
    uint32_t known  # KNOWN_ROWS or ROWS_PUNCTUATED
    bint skip_unknown  # rows of no known kind are skipped, else they are a fault
    uint32_t allowed  # ROWS_*
    bint strict  # what the options do not announce is a fault
    int unannounced  # the features that were met all the same
    Pieces pieces
    int transaction  # CLOSED, OPEN or EITHER
    bint in_patch  # rows stand after the last punctuation
    int64_t n_patches  # that a punctuation or frame ended
    bint at_keyframe  # reading began at one: nothing of what was before is known
    bint in_graph
    int32_t last[4]  # term ids in b, UNSET or CARRIED
    int32_t carried[4]  # their ids in `carry`
    BatchData carry
    int32_t languages[LANGUAGES]
    int32_t bnodes[BNODES]
    int64_t max_rows
    int64_t max_text
    int64_t text_limit  # that no Batch passes; max_text is where one ends
    # What fills the present Batch: repeated terms that were copied into it do not count.
    int64_t full_text
    int64_t full_terms
    Limits limits
    Fault fault
    bint columnar  # the stream is of version 3
    bint whole  # a Batch ends where a message does
    bint has_columns  # the frame does, and it is not known yet whether it may
    Columns* columns  # NULL until a stream is of version 3
    Counts* counts  # NULL: nothing is counted
