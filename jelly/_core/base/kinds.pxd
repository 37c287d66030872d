"""The kinds of terms: the one table of what each of them is. `kinds.pyx` gives it to Python.

A new kind is a number, a place in the sets, and a row; `TermView` in `batch.pxd` says what a term of it is made of. What a
format does not have it refuses by the noun.
"""

cdef enum:
    # Numbers. `aux` of a term is a term id, an index of `quoted`, or NO_TERM: see the sets below.
    KIND_IRI = 1
    KIND_BNODE = 2
    KIND_LITERAL = 3  # xsd:string
    KIND_LANG = 4  # aux: the language tag, one of the three texts
    KIND_TYPED = 5  # aux: the datatype, a KIND_IRI
    KIND_TRIPLE = 6
    KIND_TEXT = 7  # a language tag, the short name of a namespace
    KIND_TEXT_LTR = 8  # the language tag of literals that are written from left to right
    KIND_TEXT_RTL = 9  # and from right to left
    KIND_VARIABLE = 10  # its name, without ?
    KIND_ANY = 11  # no text
    # No format has these, and nothing makes them: with them tests find what would take a new kind for another one.
    KIND_SPARE = 12
    KIND_SPARE_TRIPLE = 13
    N_KINDS = 14

cdef enum:
    # Sets of kinds, for `among`. A kind is in one of the first six.
    NODES = (1 << KIND_IRI) | (1 << KIND_BNODE)
    LITERALS = (1 << KIND_LITERAL) | (1 << KIND_LANG) | (1 << KIND_TYPED)
    TRIPLES = 1 << KIND_TRIPLE
    TEXTS = (1 << KIND_TEXT) | (1 << KIND_TEXT_LTR) | (1 << KIND_TEXT_RTL)  # never a term of a statement
    PATTERNS = (1 << KIND_VARIABLE) | (1 << KIND_ANY)  # terms of patterns, of the few formats that can hold them
    SPARES = (1 << KIND_SPARE) | (1 << KIND_SPARE_TRIPLE)
    # What may stand in a statement.
    TERMS = NODES | LITERALS | TRIPLES  # in RDF
    STANDING = TERMS | PATTERNS | SPARES
    # What refers to other terms: to one, its `aux`; or to three, in `quoted`, and then it has no text.
    ATTRIBUTED = (1 << KIND_LANG) | (1 << KIND_TYPED)
    COMPOUND = TRIPLES | (1 << KIND_SPARE_TRIPLE)

cdef extern from *:
    """
    typedef struct {
        int rank;         /* in the order of terms, that of their classes: another one for each but the literals */
        const char *noun;
    } jelly_kind;

    static inline const jelly_kind *jelly_kind_of(int kind)
    {
        static const jelly_kind kinds[] = {
            {0, "default graph"},
            {2, "IRI"}, {1, "blank node"},
            {3, "literal"}, {3, "literal"}, {3, "literal"},
            {4, "quoted triple"},
            {7, "text"}, {8, "base direction"}, {9, "base direction"},
            {5, "variable"}, {6, "ANY"},
            {10, "spare term"}, {11, "spare triple"},
        };
        return &kinds[kind];
    }
    """
    ctypedef struct KindRow "jelly_kind":
        int rank
        const char* noun

    const KindRow* row_of_kind "jelly_kind_of"(int kind) noexcept nogil


cdef inline bint among(int kind, int kinds) noexcept nogil:
    """Whether a kind is in a set of kinds."""
    return (kinds >> kind) & 1


cdef inline int plain_kinds(int slot, int triples) noexcept nogil:
    """The kinds that may stand in a slot of a statement that is not generalized; `triples`: TRIPLES, or none."""
    if slot == 1:
        return 1 << KIND_IRI
    return NODES if slot == 3 else NODES | triples if slot == 0 else NODES | LITERALS | triples
