"""Checks of the text of one term: which parts a format cannot hold."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from jelly._core.base.batch cimport BatchData
from jelly._core.base.characters cimport find_label_end, find_tag_end

cdef enum:
    # The numbers of the words of capabilities.pyx. Blank node labels
    LABELS_ANY = 0
    LABELS_NTRIPLES = 1
    LABELS_TURTLE = 2  # as N-Triples, without colons
    LABELS_XML = 3  # as Turtle, and no digit comes first
    # Language tags
    TAGS_ANY = 0
    TAGS_PLAIN = 1  # letters, digits and hyphens
    TAGS_BCP47 = 2  # well-formed by RFC 5646
    # IRIs
    IRIS_ANY = 0
    IRIS_NOT_BNODE = 1  # none that begins with _:
    IRIS_BARE = 2  # nor with <<
    IRIS_PLAIN = 3  # with a scheme, and no character that N-Triples would escape
    IRIS_ABSOLUTE = 4  # by RFC 3987, with a scheme
    # Characters of texts
    TEXT_ANY = 0
    TEXT_XML = 1  # XML 1.0, production Char

cdef enum:
    # Places of a term
    IN_TRIPLE = 4  # 4 subject, 5 predicate, 6 object of a quoted triple
    IN_CELL = 7  # anywhere in a result

cdef enum:
    # Reasons why a term cannot be held.
    HELD = 0
    BAD_LABEL
    BAD_TAG
    BAD_DIRECTION
    BAD_IRI
    BAD_TEXT
    BAD_DATATYPE
    BAD_NAME
    BAD_PLACE
    BAD_GRAPH
    BAD_PATTERN


ctypedef struct Rules:
    int kinds[8]  # for each place a bit for each kind that may stand there, bit 0 for none
    int labels
    bint keep_labels  # a label that cannot be held is an error, else it is replaced
    int tags
    int iris
    int texts
    bint directions
    bint names  # a predicate must end with an XML name that RDF/XML does not reserve
    bint inner_labels  # in quoted triples those of N-Triples only, as they are written in its syntax there
    bint tagged  # no literal typed rdf:langString or rdf:dirLangString


cdef int check_term(BatchData* b, Rules* r, int32_t term) noexcept nogil
cdef const uint8_t* find_name(const uint8_t* begin, const uint8_t* end) noexcept nogil
cdef int check_name(const uint8_t* begin, const uint8_t* end) noexcept nogil
cdef int64_t len_escaped(const uint8_t* at, const uint8_t* end) noexcept nogil
cdef uint8_t* put_escaped(uint8_t* out, const uint8_t* at, const uint8_t* end) noexcept nogil
cdef bint is_escaped(const uint8_t* at, const uint8_t* end) noexcept nogil


cdef inline bint is_ntriples_label(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Whether N-Triples can hold the label of a blank node and it does not look like a replaced label."""
    return at < end and find_label_end(at, end, True) == end and (at[0] != 0x65 or not is_escaped(at, end))


cdef inline bint is_plain_tag(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Whether a language tag consists of letters, digits and hyphens."""
    return at < end and find_tag_end(at, end) == end
