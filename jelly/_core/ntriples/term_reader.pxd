"""N-Triples and N-Quads to Batches: lines, statements and terms, without the GIL and without copying the input."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly._core.base.batch cimport BatchData, Interner
from jelly._core.base.characters cimport find_word
from jelly._core.base.constants cimport GRAPH, OBJECT, PREDICATE, SUBJECT
from jelly._core.base.fault cimport Fault
from jelly._core.base.protobuf cimport Writer

cdef enum:
    # Index after the slots of a statement: the datatype of a literal in any slot.
    DATATYPE = 4
    # Predicates whose last terms are kept, by the lowest bits of their ids.
    GUESSES = 32


cdef enum:
    # Delimiters of messages (RDF Messages): none, the comment "# @message", the directive MESSAGE.
    NO_MESSAGES = 0
    BY_COMMENT
    BY_DIRECTIVE


ctypedef struct Token:
    # The bytes of the last term of a slot in the input, and its id in the current Batch.
    const uint8_t* at
    int64_t n
    int64_t serial  # that the reader had: another one now, and the bytes or the Batch went away
    int32_t term
    bint closed  # ends with ">", so no longer term begins with these bytes


ctypedef struct NTriplesReader:
    const uint8_t* at
    const uint8_t* end  # lines up to here are complete; only the last line of the input may lack its line end
    const uint8_t* line_at  # start of the current line
    int64_t line  # its number, from 1
    BatchData* batch
    Interner index
    Token last[5][GUESSES]  # by the slot and the DATATYPE
    int64_t serial  # from 1
    int guess  # which of the last terms are those of a statement like this one
    Writer scratch  # the text of a literal or IRI that had escapes
    Writer scratch_datatype  # the same for a datatype, while the text of the literal is kept
    bint quads
    bint strict
    int asked  # version of RDF that was asked for
    int version  # of RDF, if strict: RDF_11, RDF_12_BASIC or RDF_12; VERSION lines reduce it
    bint patch  # RDF Patch: <_:label>, numbers and booleans as in Turtle
    bint open_text  # the fault: a string in three quotes continues after `end`
    int transaction  # CLOSED or OPEN
    bint skims  # terms are checked and not kept: all but quoted triples are the first one of the Batch
    int64_t max_rows
    int64_t max_text
    int64_t max_line
    # Message logs: the frames of the Batch are messages, and a Batch ends with a message.
    int messages
    bint either  # comments delimit, unless VERSION announces directives before all else
    bint announced  # VERSION "1.2-messages" was read, or the media type has it
    bint begun  # there was a statement or a delimiter
    const uint8_t* message_at  # address where the current message begins, or continues after `message_bytes`
    int64_t message_bytes
    int64_t max_message
    Writer note  # the text after the delimiter of the current message
    Fault fault


cdef int check_text(NTriplesReader* t, const uint8_t* at, const uint8_t* end) noexcept nogil
cdef int miss(NTriplesReader* t, int code, const uint8_t* at, int64_t b) noexcept nogil
cdef int take_text(
    NTriplesReader* t, uint8_t stop, int open_code, Writer* scratch, const uint8_t** text, int64_t* n
) noexcept nogil
cdef int take_string(NTriplesReader* t, const uint8_t** text, int64_t* n) noexcept nogil
cdef int intern(NTriplesReader* t, int kind, int32_t aux, const uint8_t* text, int64_t n, int32_t* term) noexcept nogil
cdef int take_term(NTriplesReader* t, int slot, int depth, int32_t* term) noexcept nogil
cdef int take_statement(NTriplesReader* t, int32_t* ids) noexcept nogil
cdef int take_dot(NTriplesReader* t) noexcept nogil
cdef int nt_read_term(NTriplesReader* t, const uint8_t* at, int64_t n, int slot, int32_t* term) noexcept nogil
cdef void forget_tokens(NTriplesReader* t) noexcept nogil


cdef inline void skip_space(NTriplesReader* t) noexcept nogil:
    while t.at < t.end and (t.at[0] == 0x20 or t.at[0] == 0x09):
        t.at += 1
