"""Checks of the text of one term: which parts a format cannot hold."""

from libc.string cimport memcmp, memcpy

from jelly._core.base.batch cimport len_of, text_of
from jelly._core.base.characters cimport describe, is_digit, is_label_letter, is_letter, len_character, skip_scheme, small_hex
from jelly._core.base.constants cimport N_RDF_NAMESPACE, RDF_NAMESPACE, is_tag_datatype
from jelly._core.base.kinds cimport KIND_BNODE, KIND_IRI, KIND_LANG, KIND_TEXT, KIND_TYPED, LITERALS, among
from jelly._core.rules.iri cimport find_iri_fault
from jelly._core.rules.language_tag cimport is_well_formed

# A label that a format cannot hold is written as esc_ and its bytes: letters and digits unchanged, others as _ and
# two hexadecimal digits. A label that looks like this is escaped too, so that no two labels become one, in whatever
# order and on whatever machine they are written.
cdef enum:
    N_ESCAPED = 4


cdef bint starts_with(const uint8_t* at, const uint8_t* end, const char* text, int64_t n) noexcept nogil:
    return end - at >= n and memcmp(at, text, n) == 0


cdef bint is_held_label(Rules* r, const uint8_t* at, const uint8_t* end) noexcept nogil:
    if r.labels == LABELS_NTRIPLES:
        return is_ntriples_label(at, end)
    if at == end or find_label_end(at, end, False) != end:
        return False
    if r.labels == LABELS_XML and is_digit(at[0]):
        return False
    return not is_escaped(at, end)


cdef bint is_escaped(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Whether `put_escaped` may have written a label, for one that some format cannot hold."""
    cdef bint found
    if not starts_with(at, end, b"esc_", N_ESCAPED):
        return False
    at += N_ESCAPED
    found = at == end or is_digit(at[0])
    while at < end:
        if at[0] == 0x5F:
            if end - at < 3 or small_hex(at[1]) < 0 or small_hex(at[2]) < 0:
                return False
            found = True
            at += 3
        elif is_letter(at[0]) or is_digit(at[0]):
            at += 1
        else:
            return False
    return found


cdef bint is_xml_text(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """XML 1.0, production Char. U+FFFE and U+FFFF are EF BF BE and EF BF BF in UTF-8."""
    while at < end:
        if at[0] < 0x20 and at[0] != 0x09 and at[0] != 0x0A and at[0] != 0x0D:
            return False
        if at[0] == 0xEF and end - at >= 3 and at[1] == 0xBF and at[2] >= 0xBE:
            return False
        at += 1
    return True


cdef bint is_held_iri(Rules* r, const uint8_t* at, const uint8_t* end) noexcept nogil:
    if r.texts == TEXT_XML and not is_xml_text(at, end):
        return False
    if r.iris == IRIS_ABSOLUTE:
        return find_iri_fault(at, end - at) < 0
    if r.iris == IRIS_NOT_BNODE or r.iris == IRIS_BARE:
        return not (starts_with(at, end, b"_:", 2) or (r.iris == IRIS_BARE and starts_with(at, end, b"<<", 2)))
    if r.iris == IRIS_PLAIN:
        if skip_scheme(at, end) == NULL:
            return False
        while at < end:
            if len_character(at[0], True) > 1:
                return False
            at += 1
    return True


cdef int check_tag(Rules* r, int kind, const uint8_t* at, const uint8_t* end) noexcept nogil:
    if kind > KIND_TEXT and not r.directions:
        return BAD_DIRECTION
    if r.tags == TAGS_BCP47:
        return HELD if is_well_formed(at, end) else BAD_TAG
    if r.tags == TAGS_PLAIN:
        return HELD if is_plain_tag(at, end) else BAD_TAG
    return HELD if at < end else BAD_TAG


cdef const uint8_t* find_name(const uint8_t* begin, const uint8_t* end) noexcept nogil:
    """Start of the longest XML name (NCName) at the end of a text; `end` if there is none."""
    cdef const uint8_t* at = end
    cdef const uint8_t* name = end
    cdef int64_t c
    while at > begin:
        at -= 1
        while at > begin and at[0] & 0xC0 == 0x80:
            at -= 1
        if at[0] >= 0x80:
            c = describe(at, end)
            if is_label_letter(c, True):
                name = at
            elif not is_label_letter(c, False):
                break
        elif is_letter(at[0]) or at[0] == 0x5F:
            name = at
        elif not (is_digit(at[0]) or at[0] == 0x2D or at[0] == 0x2E):
            break
    return name


cdef int check_name(const uint8_t* begin, const uint8_t* end) noexcept nogil:
    """Whether the end of a predicate can be the name of an element of RDF/XML (section 7.2.4 reserves some)."""
    cdef const char* reserved = b"RDF ID about parseType resource nodeID datatype li Description aboutEach aboutEachPrefix bagID "
    cdef const char* word = reserved
    cdef int64_t n, length
    if find_name(begin, end) == end:
        return BAD_NAME
    if starts_with(begin, end, RDF_NAMESPACE, N_RDF_NAMESPACE):
        n = end - begin - N_RDF_NAMESPACE
        while word[0]:
            length = 0
            while word[length] != 0x20:
                length += 1
            if length == n and memcmp(word, begin + N_RDF_NAMESPACE, n) == 0:
                return BAD_NAME
            word += length + 1
    return HELD


cdef int check_term(BatchData* b, Rules* r, int32_t term) noexcept nogil:
    """The reason why the text of a term cannot be held in any place. Terms that it refers to are checked separately."""
    cdef int kind = b.kind[term]
    cdef const uint8_t* at = text_of(b, term)
    cdef const uint8_t* end = text_of(b, term + 1)
    cdef int32_t aux
    if kind == KIND_IRI:
        return HELD if r.iris == IRIS_ANY or is_held_iri(r, at, end) else BAD_IRI
    if kind == KIND_BNODE:
        return HELD if r.labels == LABELS_ANY or is_held_label(r, at, end) else BAD_LABEL
    if not among(kind, LITERALS):
        return HELD
    if r.texts == TEXT_XML and not is_xml_text(at, end):
        return BAD_TEXT
    if kind == KIND_LANG:
        aux = b.aux[term]
        if aux < 0 or aux >= b.n_terms:
            return HELD  # writers report the invalid id
        return check_tag(r, b.kind[aux], text_of(b, aux), text_of(b, aux + 1))
    if kind == KIND_TYPED and r.tagged:
        aux = b.aux[term]
        if 0 <= aux < b.n_terms and is_tag_datatype(text_of(b, aux), len_of(b, aux)):
            return BAD_DATATYPE
    return HELD


cdef int64_t len_escaped(const uint8_t* at, const uint8_t* end) noexcept nogil:
    cdef int64_t n = N_ESCAPED
    while at < end:
        n += 1 if is_letter(at[0]) or is_digit(at[0]) else 3
        at += 1
    return n


cdef uint8_t* put_escaped(uint8_t* out, const uint8_t* at, const uint8_t* end) noexcept nogil:
    cdef const char* digits = b"0123456789abcdef"
    memcpy(out, b"esc_", N_ESCAPED)
    out += N_ESCAPED
    while at < end:
        if is_letter(at[0]) or is_digit(at[0]):
            out[0] = at[0]
            out += 1
        else:
            out[0] = 0x5F
            out[1] = digits[at[0] >> 4]
            out[2] = digits[at[0] & 15]
            out += 3
        at += 1
    return out
