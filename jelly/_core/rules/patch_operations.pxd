"""The operations of a patch, and the order in which its rows may come."""

from libc.stdint cimport int8_t, int64_t

from jelly._core.base.constants cimport (
    OP_ABORT, OP_ADD, OP_COMMIT, OP_DELETE, OP_HEADER, OP_NAMESPACE_ADD, OP_NAMESPACE_DELETE, OP_PUNCTUATION, OP_START,
)
from jelly._core.base.fault cimport NESTED_TRANSACTION, NO_TRANSACTION, OK, OPEN_TRANSACTION

cdef enum:
    # Words of RDF Patch that are no operation: Z, which Jena writes between parts of a patch and which changes nothing; TB,
    # which is TX in older patches.
    SEGMENT = 0
    OLD_START = 1

cdef enum:
    # The last transaction row. It is unknown if reading begins at a keyframe.
    CLOSED = 0
    OPEN
    EITHER

cdef enum:
    # The place of a row in a stream of patches is 4 times the number of patches that end before it, plus one of these.
    AT_START = 0  # of a patch
    WITHIN = 1
    IN_TRANSACTION = 2


cdef bint only_statements(const int8_t* op, int64_t row, int64_t end) noexcept nogil


cdef inline const char* word_of(int op) noexcept nogil:
    """The word at the start of a row of RDF Patch; empty for what has none."""
    return <const char*>b"Z\0\0TB\0A\0\0D\0\0PA\0PD\0TX\0TC\0TA\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0H\0\0\0" + 3 * op


cdef inline bint is_change(const int8_t* op, int64_t row) noexcept nogil:
    """Whether a row is a statement. Without operations (NULL) all rows are."""
    return op == NULL or op[row] == OP_ADD or op[row] == OP_DELETE


cdef inline int step_transaction(int* state, int op) noexcept nogil:
    """Take note of a row of a patch. Return a code if it is not allowed here (section "Transactions")."""
    if op == OP_START:
        if state[0] == OPEN:
            return NESTED_TRANSACTION
        state[0] = OPEN
    elif op == OP_COMMIT or op == OP_ABORT:
        if state[0] == CLOSED:
            return NO_TRANSACTION
        state[0] = CLOSED
    elif op == OP_PUNCTUATION:
        if state[0] == OPEN:
            return OPEN_TRANSACTION
        state[0] = CLOSED
    return OK


cdef inline int64_t pack_place(int64_t patches, bint inside, int transaction) noexcept nogil:
    return 4 * patches + (IN_TRANSACTION if transaction == OPEN else WITHIN if inside else AT_START)
