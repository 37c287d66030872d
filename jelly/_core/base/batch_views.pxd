cdef class BatchViews:
    pass
