"""What classes of the core have in common: names that users see, claims that end, views of memory."""

cimport cython
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBUF_STRIDES, PyBUF_WRITABLE
from cpython.mem cimport PyMem_Calloc
from cpython.object cimport PyTypeObject

from jelly._core.base.claim cimport claim, give_back

cdef extern from "structmember.h":
    ctypedef struct PyMemberDef:
        const char* name
        int type
        Py_ssize_t offset
        int flags
    int T_OBJECT_EX, READONLY

cdef extern from "Python.h":
    object PyDescr_NewMember(type kind, PyMemberDef* member)
    void PyType_Modified(type kind)

# Names that types refer to. They are never freed.
_names = []


def set_type_name(type kind not None, str name not None):
    """Set the name of a class of the core, such as ``"jelly.IRI"``, that tracebacks and pickles use."""
    text = name.encode()
    _names.append(text)
    (<PyTypeObject*>kind).tp_name = text


def show_fields(example not None, dict names not None):
    """Let Python read fields of a class where they are, which it then does without a call, as it reads slots.

    ``example`` has another object in each of them; ``names`` are those of its attributes and of the fields that they show.
    """
    cdef type kind = type(example)
    cdef PyObject** at
    cdef PyObject** end
    cdef PyMemberDef* member
    for name, field in names.items():
        value = getattr(example, field)
        at = fields_of(example)
        end = <PyObject**>(<char*><PyObject*>example + (<PyTypeObject*>kind).tp_basicsize)
        while at < end and at[0] != <PyObject*>value:
            at += 1
        if at == end:
            raise TypeError(f"{kind.__name__} has no field {field}")
        text = name.encode()
        _names.append(text)
        member = <PyMemberDef*>PyMem_Calloc(1, sizeof(PyMemberDef))
        if member == NULL:
            raise MemoryError
        member.name = text
        member.type = T_OBJECT_EX
        member.offset = <char*>at - <char*><PyObject*>example
        member.flags = READONLY
        (<dict>(<PyTypeObject*>kind).tp_dict)[name] = PyDescr_NewMember(kind, member)
        PyType_Modified(kind)


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
