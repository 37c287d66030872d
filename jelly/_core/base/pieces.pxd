"""Fields that are set again or come in pieces, merged as Protocol Buffers asks for it. Writers do not make such fields."""

from libc.stdint cimport int64_t, uint32_t, uint8_t

from jelly._core.base.protobuf cimport Reader


ctypedef struct Piece:
    Piece* next  # the bytes follow


ctypedef struct Pieces:
    # Memory of merged messages of one row.
    Piece* first
    int64_t n  # bytes
    const uint8_t* row


cdef int gather(
    Pieces* pieces, Reader r, const uint32_t* fields, uint32_t strings, const uint8_t* row, Reader* span
) noexcept nogil
cdef int simplify(Pieces* pieces, Reader r, const uint8_t* row, Reader* plain) noexcept nogil
cdef void free_pieces(Pieces* pieces) noexcept nogil
