"""What classes of the core have in common: names that users see, claims that end, views of memory."""

from cpython.object cimport PyObject

from jelly._core.base.claim cimport Claim


cdef class Hold:
    cdef Claim* flag


cdef inline PyObject** fields_of(object x) noexcept:
    """The fields of an object of a class of ours without a base, a virtual table and a dictionary."""
    return <PyObject**>(<char*><PyObject*>x + sizeof(PyObject))


cdef Hold hold(Claim* flag, object owner)
cdef int fill_view(
    Py_buffer* view, int flags, object owner, str what, void* data, Py_ssize_t* shape, Py_ssize_t* strides, const char* code
) except -1
