"""Thrift's compact protocol, as far as RDF Thrift needs it. Knows no RDF."""

from jelly._core.base.fault cimport NESTING


cdef int skip_items(Reader* r, int64_t n, int kind, int other, int depth, Fault* fault) noexcept nogil:
    """Step over `n` items of a list, or pairs of a map. Each takes a byte at least, so this ends with the input."""
    cdef int64_t _
    cdef int status
    for _ in range(n):
        status = skip_value(r, T_I8 if kind <= T_FALSE else kind, depth, fault)
        if status == OK and other != T_STOP:
            status = skip_value(r, T_I8 if other <= T_FALSE else other, depth, fault)
        if status < 0:
            return status
    return OK


cdef int skip_value(Reader* r, int kind, int depth, Fault* fault) noexcept nogil:
    """Step over a value; of a struct, over its end too."""
    cdef Reader text
    cdef int64_t id = 0
    cdef int64_t n, number
    cdef int item = 0
    if depth > MAX_SKIPPED:
        return fail(fault, NESTING, r.at, MAX_SKIPPED)
    if kind == T_STRUCT:
        while True:
            kind = take_field(r, &id, fault)
            if kind <= 0:
                return kind
            if skip_value(r, kind, depth + 1, fault) < 0:
                return fault.code
    if kind == T_STRING:
        return take_string(r, &text, fault)
    if kind == T_TRUE or kind == T_FALSE:
        return OK
    if T_I8 < kind <= T_I64:
        return take_zigzag(r, &number, fault)
    if kind == T_I8 or kind == T_DOUBLE or kind == T_UUID:
        return skip_bytes(r, 1 if kind == T_I8 else 8 if kind == T_DOUBLE else 16, fault)
    if kind == T_LIST or kind == T_SET:
        n = take_list(r, &item, fault)
        return <int>n if n < 0 else skip_items(r, n, item, T_STOP, depth + 1, fault)
    if kind != T_MAP:
        return fail(fault, THRIFT_MALFORMED, r.at)
    n = take_length(r, fault)
    if n <= 0:
        return <int>n
    if r.at >= r.end:
        return fail(fault, ROW_CUT, r.at, 1)
    item = r.at[0]
    r.at += 1
    if item & 15 == 0:
        return fail(fault, THRIFT_MALFORMED, r.at - 1)
    return skip_items(r, n, item >> 4, item & 15, depth + 1, fault)
