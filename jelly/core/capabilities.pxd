"""What a format can hold: which terms, in which positions. One check of a Batch for all writers."""

from jelly.core.batch cimport Batch

cdef enum:
    # Blank node labels
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
    IRIS_NOT_BNODE = 1  # none that begins with _: or <<
    IRIS_PLAIN = 2  # with a scheme, and no character that N-Triples would escape
    IRIS_ABSOLUTE = 3  # by RFC 3987, with a scheme
    # Characters of texts
    TEXT_ANY = 0
    TEXT_XML = 1  # XML 1.0, production Char
    # Where a term stands
    IN_TRIPLE = 4  # 4 subject, 5 predicate, 6 object of a quoted triple
    IN_CELL = 7  # anywhere in a result


ctypedef struct Rules:
    int kinds[8]  # for each place a bit for each kind that may stand there, bit 0 for none
    int labels
    bint keep_labels  # a label that cannot be held is an error; else it is replaced
    int tags
    int iris
    int texts
    bint directions
    bint names  # a predicate must end with a name of XML that has no meaning of its own in RDF/XML
    bint tagged  # no literal typed rdf:langString or rdf:dirLangString


cdef class Capabilities:
    cdef Rules rules
    cdef readonly str title
    cdef readonly bint keep_labels
    cdef readonly dict settings
    cpdef Batch fit(self, Batch batch, rows=*, slots=*)
