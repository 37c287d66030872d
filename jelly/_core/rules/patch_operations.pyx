"""The operations of a patch, and the order in which its rows may come."""

cdef bint only_statements(const int8_t* op, int64_t row, int64_t end) noexcept nogil:
    """Whether some rows are statements. Without operations (NULL) all rows are."""
    while op != NULL and row < end:
        if not is_change(op, row):
            return False
        row += 1
    return True
