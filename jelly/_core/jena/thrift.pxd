"""Thrift's compact protocol, as far as RDF Thrift needs it. Knows no RDF.

Unlike in Protocol Buffers, a Reader here may end anywhere, since nothing says how long a row is: what is cut off is
ROW_CUT, with the number of bytes that are missing at least, and what is wrong is THRIFT_MALFORMED.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from jelly._core.base.fault cimport OK, ROW_CUT, THRIFT_MALFORMED, Fault, fail
from jelly._core.base.protobuf cimport Reader

cdef enum:
    # Types of fields; 0 is the end of a struct.
    T_STOP = 0
    T_TRUE = 1
    T_FALSE = 2
    T_I8 = 3
    T_I32 = 5
    T_I64 = 6
    T_DOUBLE = 7
    T_STRING = 8
    T_LIST = 9
    T_SET = 10
    T_MAP = 11
    T_STRUCT = 12
    T_UUID = 13

cdef enum:
    # Maximum bytes of a string, and items of a list.
    MAX_LENGTH = 0x7FFFFFFF
    # Structs and lists in one another that are skipped.
    MAX_SKIPPED = 192


cdef inline uint64_t take_u64(Reader* r, Fault* fault) noexcept nogil:
    """A varint of up to 64 bits; 0 on a fault."""
    cdef uint64_t number = 0
    cdef int shift = 0
    while r.at < r.end:
        if shift == 63 and r.at[0] > 1:
            fail(fault, THRIFT_MALFORMED, r.at)
            return 0
        number |= <uint64_t>(r.at[0] & 0x7F) << shift
        r.at += 1
        if (r.at - 1)[0] < 0x80:
            return number
        shift += 7
    fail(fault, ROW_CUT, r.at, 1)
    return 0


cdef inline int take_zigzag(Reader* r, int64_t* value, Fault* fault) noexcept nogil:
    cdef uint64_t number = take_u64(r, fault)
    value[0] = <int64_t>(number >> 1) ^ -<int64_t>(number & 1)
    return fault.code


cdef inline int64_t take_length(Reader* r, Fault* fault) noexcept nogil:
    """The length of a string or list, or a code."""
    cdef uint64_t n
    if r.at < r.end and r.at[0] < 0x80:
        r.at += 1
        return (r.at - 1)[0]
    n = take_u64(r, fault)
    if n > MAX_LENGTH:
        fail(fault, THRIFT_MALFORMED, r.at)
    return <int64_t>n if fault.code == OK else fault.code


cdef inline int skip_bytes(Reader* r, int64_t n, Fault* fault) noexcept nogil:
    if n > r.end - r.at:
        return fail(fault, ROW_CUT, r.end, n - (r.end - r.at))
    r.at += n
    return OK


cdef inline int take_string(Reader* r, Reader* text, Fault* fault) noexcept nogil:
    cdef int64_t n = take_length(r, fault)
    if n < 0:
        return <int>n
    text.at = r.at
    text.end = r.at + n
    return skip_bytes(r, n, fault)


cdef inline int take_field(Reader* r, int64_t* id, Fault* fault) noexcept nogil:
    """The type of the next field, T_STOP at the end of the struct, or a code. `id` is that of the field before."""
    cdef uint8_t byte
    cdef int kind
    if r.at >= r.end:
        return fail(fault, ROW_CUT, r.at, 1)
    byte = r.at[0]
    r.at += 1
    if byte == 0:
        return T_STOP
    kind = byte & 15
    if kind == 0 or kind > T_UUID:
        return fail(fault, THRIFT_MALFORMED, r.at - 1)
    if byte >= 16:
        id[0] += byte >> 4
    elif take_zigzag(r, id, fault) < 0:
        return fault.code
    return kind


cdef inline int64_t take_list(Reader* r, int* kind, Fault* fault) noexcept nogil:
    """The size of a list and the type of its items, or a code."""
    cdef int64_t n
    if r.at >= r.end:
        return fail(fault, ROW_CUT, r.at, 1)
    kind[0] = r.at[0] & 15
    n = r.at[0] >> 4
    r.at += 1
    return take_length(r, fault) if n == 15 else n


cdef int skip_value(Reader* r, int kind, int depth, Fault* fault) noexcept nogil
