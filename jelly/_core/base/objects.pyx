"""What classes of the core have in common: names that users see, claims that end, views of memory."""

cimport cython
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBUF_STRIDES, PyBUF_WRITABLE
from cpython.object cimport PyTypeObject

from jelly._core.base.claim cimport claim, give_back

# Names that types refer to. They are never freed.
_names = []


def set_type_name(type kind not None, str name not None):
    """Set the name of a class of the core, such as ``"jelly.IRI"``, that tracebacks and pickles use."""
    text = name.encode()
    _names.append(text)
    (<PyTypeObject*>kind).tp_name = text


@cython.final
@cython.no_gc
@cython.freelist(8)
cdef class Hold:
    """A claim, as long as this object is there: a method that has it in a variable claims its object until it returns."""

    def __dealloc__(self):
        if self.flag != NULL:
            give_back(self.flag)


cdef Hold hold(Claim* flag, object owner):
    """Claim an object; RuntimeError if another thread has it."""
    cdef Hold held = Hold.__new__(Hold)
    claim(flag, owner)
    held.flag = flag
    return held


cdef int fill_view(
    Py_buffer* view, int flags, object owner, str what, void* data, Py_ssize_t* shape, Py_ssize_t* strides, const char* code
) except -1:
    """The buffer of an array of one dimension that nobody may change."""
    if flags & PyBUF_WRITABLE:
        raise BufferError(f"{what} is read-only")
    view.obj = owner
    view.buf = data
    view.len = shape[0] * strides[0]
    view.itemsize = strides[0]
    view.readonly = 1
    view.ndim = 1
    view.format = <char*>code if flags & PyBUF_FORMAT else NULL
    view.shape = shape if flags & PyBUF_ND else NULL
    view.strides = strides if flags & PyBUF_STRIDES == PyBUF_STRIDES else NULL
    view.suboffsets = NULL
    view.internal = NULL
    return 0
