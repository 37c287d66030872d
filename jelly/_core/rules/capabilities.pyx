"""The terms that a format can hold, and in which positions. One check of a Batch for all writers.

Each term is checked once. Rows are checked if some kind of term is not allowed everywhere, or if a term of
the Batch is not allowed: a Batch may have terms that no row uses.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcpy, memset

from jelly._core.base.batch cimport NO_TERM, BatchData, column_of, has_kind, len_of, load_row, text_of
from jelly._core.base.batch_concat cimport replace_labels
from jelly._core.base.characters cimport find_label_end, skip_scheme
from jelly._core.base.constants cimport MAX_DEPTH, RDF_NAMESPACE
from jelly._core.base.kinds cimport (
    COMPOUND, KIND_ANY, KIND_BNODE, KIND_IRI, KIND_LANG, KIND_TYPED, KIND_VARIABLE, LITERALS, NODES, N_KINDS,
    PATTERNS, STANDING, TERMS, TEXTS, TRIPLES, among, plain_kinds,
)
from jelly._core.rules.patch_operations cimport is_change
from jelly._core.rules.iri cimport find_iri_fault
from jelly._core.rules.term_rules cimport (
    BAD_DATATYPE, BAD_DIRECTION, BAD_GRAPH, BAD_IRI, BAD_LABEL, BAD_NAME, BAD_PATTERN, BAD_PLACE, BAD_TAG, BAD_TEXT, HELD,
    IN_CELL, IN_TRIPLE, IRIS_ANY, IRIS_BARE, IRIS_NOT_BNODE, TAGS_ANY, TEXT_ANY, check_name, check_term, find_name,
    len_escaped, put_escaped,
)

import numpy

from jelly._core.base.kinds import with_article
from jelly.errors import JellyArgumentError, JellyOptionsError, JellyUnsupportedError

cdef enum:
    NONE = 1

cdef struct Check:
    BatchData* b
    Rules* r
    int8_t* bad  # reason why a term cannot be held, by term; NULL if all can be
    int8_t* done  # quoted triples that were checked; NULL if the Batch has none
    int kinds  # a bit for each kind of term that the Batch has
    bint labels  # some label cannot be held
    bint no_memory
    # The first term that cannot be held, and its position.
    int32_t term
    int64_t row
    int place


cdef inline bint note(Check* c, int32_t term, int why) noexcept nogil:
    """Store the reason why a term cannot be held; False without memory."""
    if why == BAD_LABEL:
        c.labels = True
    if c.bad == NULL:
        c.bad = <int8_t*>calloc(c.b.n_terms, 1)
        c.no_memory = c.bad == NULL
        if c.no_memory:
            return False
    c.bad[term] = <int8_t>why
    return True


cdef void check_kind(Check* c, int kind) noexcept nogil:
    """Check the terms of one kind, skipping other terms."""
    cdef BatchData* b = c.b
    cdef int32_t term = 0
    cdef int32_t last_tag = NO_TERM
    cdef const int8_t* found
    cdef int why
    while term < b.n_terms:
        if b.kind[term] != kind:
            found = <const int8_t*>memchr(b.kind + term, kind, b.n_terms - term)
            if found == NULL:
                return
            term = <int32_t>(found - b.kind)
        c.kinds |= 1 << kind
        if kind != KIND_LANG or b.aux[term] != last_tag:
            why = check_term(b, c.r, term)
            if why != HELD:
                if not note(c, term, why):
                    return
            elif kind == KIND_LANG:
                last_tag = b.aux[term]
        term += 1


cdef void check_terms(Check* c) noexcept nogil:
    """Check each term; find which kinds there may be and whether labels must be replaced."""
    cdef BatchData* b = c.b
    cdef Rules* r = c.r
    cdef int32_t term
    cdef int kind, why, literals
    cdef bint bare
    cdef const uint8_t* at
    if b.n_terms == 0:
        return
    if r.texts == TEXT_ANY and r.iris == IRIS_ANY and not r.tagged:
        # Lines of text: only these kinds can have a fault.
        c.kinds = (NODES | LITERALS) & ~(1 << KIND_BNODE | 1 << KIND_LANG)
        check_kind(c, KIND_BNODE)
        check_kind(c, KIND_LANG)
        for kind in range(N_KINDS):
            if among(kind, STANDING & ~(NODES | LITERALS)) and has_kind(b, kind):
                c.kinds |= 1 << kind
    else:
        bare = r.iris == IRIS_BARE or r.iris == IRIS_NOT_BNODE
        literals = LITERALS if r.texts == TEXT_ANY and not r.tagged and r.tags == TAGS_ANY and r.directions else 0
        for term in range(b.n_terms):
            kind = b.kind[term]
            c.kinds |= 1 << kind
            # For most terms a test of the first byte is enough.
            if among(kind, literals):
                continue
            if kind == KIND_IRI and bare:
                at = text_of(b, term)
                if len_of(b, term) < 2 or (at[0] != 0x5F and at[0] != 0x3C):
                    continue
            why = check_term(b, r, term)
            if why != HELD and not note(c, term, why):
                return
    if c.kinds & COMPOUND and b.n_quoted > 0 and not c.no_memory:
        c.done = <int8_t*>calloc(b.n_quoted, 1)
        c.no_memory = c.done == NULL


cdef int find_in_term(Check* c, int32_t term, int place, int depth) noexcept nogil:
    """Why a term is not allowed in a place: because of the term itself, or a term that it refers to.

    Invalid ids and quoted triples nested too deep are left to the writers, which refuse them.
    """
    cdef BatchData* b = c.b
    cdef int k, kind, why
    cdef int32_t aux
    if term < 0 or term >= b.n_terms:
        return HELD
    c.term = term
    c.place = place
    kind = b.kind[term]
    aux = b.aux[term]
    if among(kind, TEXTS):
        return HELD
    if not among(kind, c.r.kinds[place]):
        if among(kind, PATTERNS):
            return BAD_PATTERN
        return BAD_GRAPH if place == 3 and c.r.kinds[3] == NONE else BAD_PLACE
    if c.bad != NULL:
        if c.bad[term] != HELD and (c.bad[term] != BAD_LABEL or c.r.keep_labels):
            return c.bad[term]
        if kind == KIND_TYPED and 0 <= aux < b.n_terms and c.bad[aux] != HELD:
            c.term = aux
            return c.bad[aux]
    if c.r.inner_labels and kind == KIND_BNODE and IN_TRIPLE <= place < IN_CELL:
        # No label is replaced, so one that looks like that stands for itself.
        if len_of(b, term) == 0 or find_label_end(text_of(b, term), text_of(b, term + 1), True) != text_of(b, term + 1):
            return BAD_LABEL
    if c.r.names and (place == 1 or place == IN_TRIPLE + 1):
        if check_name(text_of(b, term), text_of(b, term + 1)) != HELD:
            return BAD_NAME
    if among(kind, COMPOUND) and 0 <= aux < b.n_quoted and not c.done[aux] and depth < MAX_DEPTH:
        c.done[aux] = True
        for k in range(3):
            why = find_in_term(c, b.quoted[3 * aux + k], IN_TRIPLE + k, depth + 1)
            if why != HELD:
                return why
    return HELD


cdef inline bint may_stand(BatchData* b, int allowed, int32_t term) noexcept nogil:
    return term < 0 or term >= b.n_terms or among(b.kind[term], allowed)


cdef bint has_bad_kinds(Check* c, int slots, const int64_t* chosen, int64_t n) noexcept nogil:
    """Whether a column has a term of a kind that is not allowed there. A quick test, as nearly all Batches pass it."""
    cdef BatchData* b = c.b
    cdef int32_t* ids
    cdef int64_t i
    cdef int slot, allowed
    for slot in range(4):
        ids = column_of(b, slot)[0]
        allowed = c.r.kinds[slot]
        if ids == NULL or not (slots >> slot) & 1 or not c.kinds & STANDING & ~allowed:
            continue
        for i in range(n):
            if not may_stand(b, allowed, ids[i if chosen == NULL else chosen[i]]):
                return True
    return False


cdef int find_in_rows(Check* c, int slots, const int64_t* chosen, int64_t n, bint deep) noexcept nogil:
    """The first row that cannot be held. Not `deep`: only the kinds of terms can be wrong."""
    cdef BatchData* b = c.b
    cdef int64_t i
    cdef int slot, why
    cdef bint change
    cdef int32_t[4] ids
    if not deep and not has_bad_kinds(c, slots, chosen, n):
        return HELD
    for i in range(n):
        c.row = i if chosen == NULL else chosen[i]
        load_row(b, c.row, ids)
        # A header has a value as object, a namespace has an IRI as predicate, and both a text as subject.
        change = is_change(b.op, c.row)
        for slot in range(4):
            if not (slots >> slot) & 1 or (change and not deep and may_stand(b, c.r.kinds[slot], ids[slot])):
                continue
            why = find_in_term(c, ids[slot], slot if change else IN_CELL, 0)
            if why != HELD:
                return why
    return HELD


cdef int find_in_cells(Check* c) noexcept nogil:
    cdef BatchData* b = c.b
    cdef int64_t i
    cdef int why
    for i in range(b.n_rows * b.width):
        c.row = i // b.width
        why = find_in_term(c, b.cells[i], IN_CELL, 0)
        if why != HELD:
            return why
    return HELD


cdef int64_t len_held(void* bad, const BatchData* b, int32_t term) noexcept nogil:
    """The bytes that `put_held` writes."""
    if (<const int8_t*>bad)[term] == BAD_LABEL:
        return len_escaped(text_of(b, term), text_of(b, term + 1))
    return len_of(b, term)


cdef uint8_t* put_held(void* bad, uint8_t* out, const BatchData* b, int32_t term) noexcept nogil:
    """Write the label of a blank node, or another one that is held."""
    if (<const int8_t*>bad)[term] == BAD_LABEL:
        return put_escaped(out, text_of(b, term), text_of(b, term + 1))
    memcpy(out, text_of(b, term), len_of(b, term))
    return out + len_of(b, term)


# Words in the order of their numbers in term_rules.pxd.
_LABELS = ("any", "ntriples", "turtle", "xml")
_TAGS = ("any", "plain", "bcp47")
_IRIS = ("any", "not-bnode", "bare", "plain", "absolute")
_TEXTS = ("any", "xml")
_QUOTED = ("none", "object", "any")
_RDF = RDF_NAMESPACE.decode()
# Start of labels that replace other labels.
REPLACED_LABEL = "esc_"
_PLACES = ("subject", "predicate", "object", "graph", "subject of a quoted triple", "predicate of a quoted triple",
           "object of a quoted triple", "value")


cdef int number_of(tuple words, str name, value) except -1:
    if value not in words:
        raise JellyArgumentError(f"{name} is {value!r}: expected one of {', '.join(words)}")
    return words.index(value)


cdef class Capabilities:
    """The terms that a format can hold. A writer calls `fit` for each Batch before it writes any of it.

    Parameters
    ----------
    title : str
        The name of the format, for errors.
    named_graphs : bool, default True
        Whether a statement may be in a named graph.
    generalized : bool, default False
        Whether any kind of term may stand in any position.
    literal_subjects : bool, default True
        With `generalized`: whether literals may stand elsewhere than as object.
    quoted : {"none", "object", "any"}, default "any"
        Where quoted triples may stand. "object" is RDF 1.2: as object, and in them nothing that is generalized.
    directions : bool, default True
        Whether a literal may have a base direction.
    labels : {"any", "ntriples", "turtle", "xml"}, default "any"
        The labels of blank nodes. "xml": those of Turtle that do not begin with a digit.
    tags : {"any", "plain", "bcp47"}, default "any"
        Language tags: any but the empty one; of letters, digits and hyphens; well-formed by RFC 5646.
    iris : {"any", "not-bnode", "bare", "plain", "absolute"}, default "any"
        IRIs: none that begins with ``_:``; nor with ``<<``; with a scheme and without what N-Triples escapes; by RFC 3987.
    texts : {"any", "xml"}, default "any"
        Characters of IRIs and literals; "xml" is XML 1.0.
    names : bool, default False
        Whether a predicate must end with a name that an element of RDF/XML can have.
    tagged : bool, default False
        Whether literals typed rdf:langString or rdf:dirLangString without a language tag are refused.
    patterns : bool, default False
        With `generalized`: whether variables and ANY may stand anywhere.
    keep_labels : bool, default False
        Whether a label that cannot be held is an error. Else the blank node gets another label: ``esc_`` and the
        label, of which all but letters and digits is written as ``_`` and two hexadecimal digits a byte. The same
        label gives the same, always; labels that look like that are written so too, so no two become one.
    instead : str, default ""
        What holds terms in other places, and named graphs: for errors.
    inner_labels : bool, default False
        Whether in quoted triples only labels of N-Triples are held. Others are an error: if one was replaced there, it
        would have to be replaced in all other Batches too.
    quoted_graphs : bool, default True
        With `generalized`: whether a quoted triple may be a graph.
    results : bool, default False
        Whether it holds query results and no statements. Any kind of term may be the value of a variable.

    Examples
    --------
    >>> import jelly
    >>> turtle = Capabilities("Turtle", named_graphs=False, iris="absolute", labels="turtle")
    >>> batch = next(jelly.scan(jelly.dumps([(jelly.BlankNode("a b"), jelly.IRI("a:p"), jelly.IRI("a:o"))])).batches())
    >>> turtle.fit(batch).term(0)
    '_:esc_a_20b'
    >>> turtle.fit(next(jelly.scan(b"<a:s> <p> <a:o> .", format="nt").batches()))
    Traceback (most recent call last):
    jelly.JellyUnsupportedError: Turtle cannot hold the IRI <p>, here as predicate: it is relative (row 0)
    """

    def __init__(
        self, str title not None, *, bint named_graphs=True, bint generalized=False, bint literal_subjects=True,
        quoted="any", bint directions=True, labels="any", tags="any", iris="any", texts="any", bint names=False,
        bint tagged=False, bint patterns=False, bint keep_labels=False, instead="", bint results=False,
        bint inner_labels=False, bint quoted_graphs=True,
    ):
        cdef Rules* r = &self.rules
        cdef int k
        number_of(_QUOTED, "quoted", quoted)
        cdef int triple = TRIPLES if quoted == "any" else 0
        cdef int every = TERMS | PATTERNS if patterns else TERMS
        cdef int other = every if literal_subjects else every & ~LITERALS
        self.title = title
        r.keep_labels = keep_labels
        self.settings = {
            "named_graphs": named_graphs, "generalized": generalized, "literal_subjects": literal_subjects,
            "quoted": quoted, "directions": directions, "labels": labels, "tags": tags, "iris": iris, "texts": texts,
            "names": names, "tagged": tagged, "patterns": patterns, "instead": instead, "results": results,
            "inner_labels": inner_labels, "quoted_graphs": quoted_graphs, "keep_labels": keep_labels,
        }
        self.results = results
        for k in range(4):
            r.kinds[k] = other if generalized else plain_kinds(k, triple)
            r.kinds[IN_TRIPLE + k] = every if generalized else r.kinds[k]
        r.kinds[2] = r.kinds[IN_TRIPLE + 2] = r.kinds[IN_CELL] = every
        if quoted == "none":
            for k in range(8):
                r.kinds[k] &= ~TRIPLES
        if not quoted_graphs:
            r.kinds[3] &= ~TRIPLES
        r.kinds[3] |= NONE
        if not named_graphs:
            r.kinds[3] = NONE
        r.directions = directions
        r.labels = number_of(_LABELS, "labels", labels)
        r.tags = number_of(_TAGS, "tags", tags)
        r.iris = number_of(_IRIS, "iris", iris)
        r.texts = number_of(_TEXTS, "texts", texts)
        r.names = names
        r.inner_labels = inner_labels
        r.tagged = tagged

    def __reduce__(self):
        return _restored, (self.title, self.settings)

    def __repr__(self):
        return f"<jelly.Capabilities of {self.title}>"

    def replace(self, **settings) -> Capabilities:
        """The same with other settings."""
        return Capabilities(**{"title": self.title, **self.settings, **settings})

    cpdef Batch fit(self, Batch batch, rows=None, slots=15):
        """The Batch, or a copy in which blank nodes have other labels. No other change is ever made.

        ``rows`` is an int64 array of the rows that are meant (None: all), ``slots`` has a bit for each column that is
        (1 subject, 2 predicate, 4 object, 8 graph). Raises JellyUnsupportedError, which names the term and the row, and
        JellyOptionsError where statements are given for query results, or the other way round.
        """
        cdef Check c
        cdef const int64_t* chosen = NULL
        cdef int64_t n = batch.a.n_rows
        cdef int columns = slots
        cdef int why = HELD
        cdef bint deep
        if self.results != (batch.variables is not None):
            raise JellyOptionsError(
                f"{self.title} cannot hold statements: it is for query results" if self.results
                else f"{self.title} cannot hold query results, which have variables: use jelly.results.write_results"
            )
        if rows is not None:
            numbers = numpy.ascontiguousarray(rows, numpy.int64)
            n = len(numbers)
            if n and not (0 <= numbers.min() and numbers.max() < batch.a.n_rows):
                raise IndexError(f"the rows are not in order or lead out of a Batch of {batch.a.n_rows}")
            chosen = <const int64_t*><size_t>numbers.ctypes.data
        memset(&c, 0, sizeof(Check))
        c.b = &batch.a
        c.r = &self.rules
        with nogil:
            check_terms(&c)
            deep = c.bad != NULL or c.r.names or c.done != NULL
            if self.results:
                if not c.no_memory and (deep or c.kinds & STANDING & ~c.r.kinds[IN_CELL]):
                    why = find_in_cells(&c)
            elif not c.no_memory:
                why = find_in_rows(&c, columns, chosen, n, deep)
        return relabel_or_refuse(self, batch, &c, why)


cdef Batch relabel_or_refuse(Capabilities self, Batch batch, Check* c, int why):
    try:
        if c.no_memory:
            raise MemoryError
        if why != HELD:
            raise refusal(self, batch, c, why)
        if c.labels and not c.r.keep_labels:
            return replace_labels(batch, KIND_BNODE, len_held, put_held, <void*>c.bad)
        return batch
    finally:
        free(c.bad)
        free(c.done)


cdef object refusal(Capabilities self, Batch batch, Check* c, int why):
    cdef BatchData* b = &batch.a
    kind = b.kind[c.term]
    text = (<const char*>b.text)[b.start[c.term]:b.start[c.term + 1]].decode("utf-8", "replace")
    shown = _shown(kind, text, batch, c.term)
    if why == BAD_GRAPH:
        reason = f"{self.title} has no named graphs, such as {shown}"
    elif why == BAD_LABEL:
        reason = f"{self.title} cannot hold the label of {shown}, here as {_PLACES[c.place]}"
    elif why == BAD_PLACE and among(kind, TRIPLES) and c.place == 3 and self.settings["quoted"] != "none":
        reason = f"{self.title} cannot hold a quoted triple as graph"
    elif why == BAD_PLACE and among(kind, TRIPLES):
        reason = f"{self.title} " + (
            "cannot hold quoted triples" if self.settings["quoted"] == "none"
            else f"holds quoted triples as objects only (RDF 1.2), here is one as {_PLACES[c.place]}: read with "
            "star='reifies' to annotate by rdf:reifies; star='triple-terms' takes those that are objects as they are"
        )
    elif why == BAD_TAG:
        tag = batch.term_text(b.aux[c.term])
        reason = f"{self.title} cannot hold the language tag {tag[:80]!r} of the literal {text[:80]!r}"
    else:
        because = {
            BAD_DIRECTION: "it has a base direction",
            BAD_IRI: _iri_reason(text, self.rules.iris),
            BAD_TEXT: _no_xml(text),
            BAD_DATATYPE: "it has no language tag, which its datatype asks for",
            BAD_NAME: "its name is reserved" if text.startswith(_RDF) else "its end is no name of an element",
            BAD_PLACE: f"{with_article(kind)} cannot stand there",
            BAD_PATTERN: "it is no RDF term",
        }[why]
        reason = f"{self.title} cannot hold {shown}, here as {_PLACES[c.place]}: {because}"
    if self.settings["instead"] and (why == BAD_GRAPH or why == BAD_PLACE or why == BAD_LABEL and self.rules.inner_labels):
        reason += f"; use {self.settings['instead']}"
    return JellyUnsupportedError(reason, row=batch.first_row + c.row)


def _restored(title, settings):
    return Capabilities(title, **settings)


cdef object _shown(int kind, str text, Batch batch, int32_t term):
    text = text if len(text) <= 80 else text[:77] + "..."
    if kind == KIND_IRI:
        return f"the IRI <{_printable(text)}>"
    if kind == KIND_BNODE:
        return f"the blank node {text!r}"
    if kind == KIND_LANG:
        tag = batch.term(batch.a.aux[term])
        return f"the literal {text!r} with the language tag {tag[:80]!r}"
    if among(kind, LITERALS):
        return f"the literal {text!r}"
    if kind == KIND_VARIABLE:
        return f"the variable {batch.term(term)}"
    return "ANY" if kind == KIND_ANY else with_article(kind)


cdef object _printable(str text):
    return text if text.isprintable() else repr(text)[1:-1]


cdef object _iri_reason(str text, int iris):
    cdef bytes data = text.encode()
    cdef const uint8_t* at = <const uint8_t*>data
    cdef int64_t fault
    if iris == IRIS_NOT_BNODE or iris == IRIS_BARE:
        return "it begins with _: or <<, and would be read as another kind of term"
    if skip_scheme(at, at + len(data)) == NULL:
        return "it is relative"
    fault = find_iri_fault(at, len(data))
    if 0 <= fault < len(data):
        return f"RFC 3987 has no {data[fault:].decode('utf-8', 'replace')[:1]!r} there"
    return "RFC 3987 asks for more" if fault >= 0 else _no_xml(text)


cdef object _no_xml(str text):
    for char in text:
        if char in "\ufffe\uffff" or (char < " " and char not in "\t\n\r"):
            return f"XML has no way to write U+{ord(char):04X}"
    return "XML has no way to write it"


# ---- capabilities of each format

_NTRIPLES = {"generalized": True, "labels": "ntriples", "tags": "plain"}
_TURTLE = {"quoted": "object", "labels": "turtle", "tags": "bcp47", "iris": "absolute", "tagged": True}
_JSON_LD = {**_TURTLE, "quoted": "none"}
_XML = {**_TURTLE, "labels": "xml", "texts": "xml", "names": True}
_JENA = {"generalized": True, "iris": "not-bnode"}
# Of statements and results; a patch has none of these.
_PATTERNS = {**_JENA, "patterns": True}

CAPABILITIES = {
    "jelly": Capabilities("Jelly", generalized=True, quoted_graphs=False, instead="N-Quads"),
    "nt": Capabilities("N-Triples", named_graphs=False, instead="N-Quads", **_NTRIPLES),
    "nq": Capabilities("N-Quads", **_NTRIPLES),
    "ttl": Capabilities("Turtle", named_graphs=False, **_TURTLE),
    "trig": Capabilities("TriG", **_TURTLE),
    "n3": Capabilities("N3", named_graphs=False, **{**_TURTLE, "quoted": "none", "directions": False}),
    "rdf": Capabilities("RDF/XML", named_graphs=False, **_XML),
    "jsonld": Capabilities("JSON-LD", **_JSON_LD),
    "ndjsonld": Capabilities("NDJSON-LD", **_JSON_LD),
    "yamlld": Capabilities("YAML-LD", **_JSON_LD),
    # of message logs
    "log-rdf": Capabilities("RDF/XML", named_graphs=False, **{**_XML, "quoted": "none", "directions": False}),
    "thrift": Capabilities("RDF Thrift", **_PATTERNS),
    "protobuf": Capabilities("RDF Protobuf", **_PATTERNS),
    "jellyp": Capabilities("Jelly-Patch", generalized=True, quoted_graphs=False, instead="RDF Patch"),
    "rdfp": Capabilities("RDF Patch", iris="not-bnode", **_NTRIPLES),
    "trp": Capabilities("RDF Patch Thrift", **_JENA),
    "pyoxigraph": Capabilities("pyoxigraph", quoted="object", labels="turtle"),
    "flat": Capabilities(
        'layout="flat"', generalized=True, literal_subjects=False, iris="bare", inner_labels=True, instead='layout="ntriples"',
    ),
    "ntriples": Capabilities('layout="ntriples"', **_NTRIPLES),
    "results-term": Capabilities('layout="term"', generalized=True, inner_labels=True, results=True),
    "results-jellys": Capabilities("Jelly-SPARQL", quoted="object", results=True),
    "results-json": Capabilities("SPARQL results in JSON", generalized=True, results=True),
    "results-xml": Capabilities("SPARQL results in XML", generalized=True, texts="xml", results=True),
    "results-tsv": Capabilities("SPARQL results in TSV", **_TURTLE, results=True),
    "results-csv": Capabilities("SPARQL results in CSV", generalized=True, results=True),
    "results-thrift": Capabilities("SPARQL results in RDF Thrift", **_PATTERNS, results=True),
    "results-protobuf": Capabilities("SPARQL results in RDF Protobuf", **_PATTERNS, results=True),
}
for _layout in ("flat", "ntriples"):
    CAPABILITIES[f"results-{_layout}"] = CAPABILITIES[_layout].replace(results=True)


def element_name(str iri not None) -> str:
    """The name of the element that RDF/XML has for a predicate: the longest NCName that its IRI ends with, or "".

    >>> element_name("http://example.org/v1#a-1"), element_name("http://example.org/1")
    ('a-1', '')
    """
    cdef bytes data = iri.encode()
    cdef const uint8_t* at = <const uint8_t*>data
    return data[find_name(at, at + len(data)) - at:].decode()


def capabilities_of(str name not None, bint keep_labels=False) -> Capabilities:
    """The capabilities of the format with this name."""
    found = CAPABILITIES[name]
    return found.replace(keep_labels=True) if keep_labels else found
