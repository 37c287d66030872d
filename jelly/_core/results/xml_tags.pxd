"""A tokenizer of XML in UTF-8: tags with their attributes, characters, comments and instructions."""

from libc.stdint cimport int64_t, uint8_t

from jelly._core.base.fault cimport BAD_XML, fail
from jelly._core.base.protobuf cimport Reader
from jelly._core.results.rows cimport TextRows

cdef enum:
    # Where characters stand.
    CONTENT = 0
    ATTRIBUTE
    CDATA

cdef enum:
    # Where the reader is.
    AT_BEGIN = 0
    IN_PROLOG
    IN_ROOT
    AFTER_ROOT

cdef enum:
    # Attributes of a tag.
    MAX_ATTRIBUTES = 64


ctypedef struct Attribute:
    Reader prefix
    Reader name  # after the prefix
    Reader value


ctypedef struct Tag:
    const uint8_t* begin
    Reader prefix
    Reader name
    Reader whole
    Attribute attributes[MAX_ATTRIBUTES]
    int n
    bint ends  # </name>
    bint empty  # <name/>


cdef int take_characters(TextRows* t, Reader* text, const uint8_t* end, int where) noexcept nogil
cdef const uint8_t* find_text(const uint8_t* at, const uint8_t* end, const char* text, int64_t n) noexcept nogil
cdef int take_tag(TextRows* t, Tag* tag) noexcept nogil
cdef int skip_markup(TextRows* t, Reader* text) noexcept nogil
cdef bint skip_space(TextRows* t) noexcept nogil


cdef inline int wrong(TextRows* t, const uint8_t* at, int why) noexcept nogil:
    return fail(&t.fault, BAD_XML, at, 0, why)
