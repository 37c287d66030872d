"""Numbers of RDF Binary: lexical forms of xsd:integer, xsd:decimal and xsd:double from their values, and back."""

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum:
    # Zeros at the most that a decimal gets from its scale, before or after its digits.
    MAX_SCALE = 4096
    # Bytes that a number may take as text.
    MAX_NUMBER = MAX_SCALE + 24

cdef enum:
    # Datatypes that have a value form.
    NO_VALUE = 0
    VALUE_INTEGER
    VALUE_DECIMAL
    VALUE_DOUBLE


ctypedef struct Value:
    int kind
    int64_t whole  # of an integer; the unscaled value of a decimal
    int32_t scale
    double real


cdef int64_t format_decimal(int64_t value, int32_t scale, uint8_t* out) noexcept nogil
cdef int64_t format_double(double value, uint8_t* out) noexcept nogil
cdef int parse_value(
    const uint8_t* datatype, int64_t n_datatype, const uint8_t* text, int64_t n, Value* value
) noexcept nogil
