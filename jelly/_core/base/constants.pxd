"""Numbers and texts that more than one module must agree on. `constants.pyx` gives the same ones to Python."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp

from jelly._core.base cimport schema as pb

cdef enum:
    # Slots of a statement.
    SUBJECT = 0
    PREDICATE = 1
    OBJECT = 2
    GRAPH = 3

cdef enum:
    # Operations of a patch: the field numbers of their rows.
    OP_ADD = pb.RDF_PATCH_ROW_STATEMENT_ADD
    OP_DELETE = pb.RDF_PATCH_ROW_STATEMENT_DELETE
    OP_NAMESPACE_ADD = pb.RDF_PATCH_ROW_NAMESPACE_ADD
    OP_NAMESPACE_DELETE = pb.RDF_PATCH_ROW_NAMESPACE_DELETE
    OP_START = pb.RDF_PATCH_ROW_TRANSACTION_START
    OP_COMMIT = pb.RDF_PATCH_ROW_TRANSACTION_COMMIT
    OP_ABORT = pb.RDF_PATCH_ROW_TRANSACTION_ABORT
    OP_HEADER = pb.RDF_PATCH_ROW_HEADER
    OP_PUNCTUATION = pb.RDF_PATCH_ROW_PUNCTUATION

cdef enum:
    # Versions of RDF, with the numbers that stream options have.
    RDF_11 = 1
    RDF_12_BASIC = 2  # base directions, no triple terms
    RDF_12 = 3

cdef enum:
    # Maximum nesting of quoted triples, because most functions for them recurse.
    MAX_DEPTH = 64
    # Maximum bytes of a quoted triple that is written, beyond those of the text of its Batch: a Batch has a part once that
    # stands in many places of it, and three times at each of 64 levels is more than any memory holds.
    MAX_QUOTED = 1 << 22
    # Maximum variables of a result set.
    MAX_VARIABLES = 1 << 16

cdef extern from *:
    """
    #define JELLY_NO_LIMIT ((int64_t)1 << 60)
    #define JELLY_RDF "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    #define JELLY_XSD_STRING "http://www.w3.org/2001/XMLSchema#string"
    #define JELLY_LANG_STRING JELLY_RDF "langString"
    #define JELLY_DIR_LANG_STRING JELLY_RDF "dirLangString"
    """
    # A limit that no input can reach.
    const int64_t NO_LIMIT "JELLY_NO_LIMIT"
    # Namespaces and datatypes, and their lengths in bytes.
    const char* RDF_NAMESPACE "JELLY_RDF"
    const char* XSD_STRING "JELLY_XSD_STRING"
    const char* RDF_LANG_STRING "JELLY_LANG_STRING"
    const char* RDF_DIR_LANG_STRING "JELLY_DIR_LANG_STRING"
    const int64_t N_RDF_NAMESPACE "((int64_t)sizeof(JELLY_RDF) - 1)"
    const int64_t N_XSD_STRING "((int64_t)sizeof(JELLY_XSD_STRING) - 1)"
    const int64_t N_RDF_LANG_STRING "((int64_t)sizeof(JELLY_LANG_STRING) - 1)"
    const int64_t N_RDF_DIR_LANG_STRING "((int64_t)sizeof(JELLY_DIR_LANG_STRING) - 1)"


cdef inline bint is_xsd_string(const uint8_t* iri, int64_t n) noexcept nogil:
    """Whether this is the datatype of literals without one."""
    return n == N_XSD_STRING and memcmp(iri, XSD_STRING, N_XSD_STRING) == 0


cdef inline bint is_lang_string(const uint8_t* iri, int64_t n, bint directed) noexcept nogil:
    """Whether this is the datatype of literals with a language tag, or of those with a base direction too."""
    if directed:
        return n == N_RDF_DIR_LANG_STRING and memcmp(iri, RDF_DIR_LANG_STRING, N_RDF_DIR_LANG_STRING) == 0
    return n == N_RDF_LANG_STRING and memcmp(iri, RDF_LANG_STRING, N_RDF_LANG_STRING) == 0


cdef inline bint is_tag_datatype(const uint8_t* iri, int64_t n) noexcept nogil:
    """Whether this is a datatype that only literals with a language tag can have."""
    return is_lang_string(iri, n, False) or is_lang_string(iri, n, True)


cdef inline bint is_index_key(const uint8_t* key, int64_t n) noexcept nogil:
    """Whether a key of metadata is that of the index of a file, see jelly/_formats/index.py. It is of the file, not of a
    frame."""
    return n == 11 and memcmp(key, b"jelly.index", 11) == 0
