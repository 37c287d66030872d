"""Canonicalizer: the canonical N-Quads of a dataset, by RDFC-1.0 (W3C Recommendation 21 May 2024)."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr, memcpy, memset

from jelly._core.algebra.dictionary cimport TermDictionary, drop_slots
from jelly._core.algebra.sha2 cimport SHA_NUMBERS, fill_sha_numbers
from jelly._core.algebra.sort cimport TextItem, sort_texts
from jelly._core.algebra.statement_ids cimport (
    Statements, drop_duplicates, need_rdf, sort_statements, take_statements,
)
from jelly._core.base.batch cimport NO_TERM, Batch, BatchData, len_of, load_row, text_of
from jelly._core.base.characters cimport UCHAR
from jelly._core.base.claim cimport Claim, claim, give_back
from jelly._core.base.fault cimport (
    BAD_TERM, CANONICAL_PLACE, CANONICAL_TRIPLE, NO_MEMORY, Fault, fail, fault_error,
)
from jelly._core.base.kinds cimport KIND_BNODE, KIND_IRI, LITERALS, TRIPLES, among, plain_kinds
from jelly._core.base.memory cimport resize
from jelly._core.base.objects cimport hold
from jelly._core.ntriples.blank_node_hashes cimport LABEL_BYTES, Labeller, put_label
from jelly._core.ntriples.canonical_labels cimport free_labeller, label_nodes
from jelly._core.ntriples.term_reader cimport OBJECT
from jelly._core.ntriples.term_writer cimport NTriplesWriter, len_term, put_leaf

from jelly.errors import JellyArgumentError

cdef enum:
    # Default of max_steps: a constant, plus a number for each blank node. A step takes up to a microsecond.
    MAX_STEPS = 2_000_000
    STEPS_OF_NODE = 16
    # Bytes of text of a dictionary that are given away at once.
    GIVEN_AWAY = 1 << 20


cdef int check_rows(BatchData* b, int64_t* row, Fault* fault) noexcept nogil:
    """Whether RDFC-1.0 is defined for the statements. `row` is the first for which it is not."""
    cdef int32_t terms[4]
    cdef int slot, kind
    for row[0] in range(b.n_rows):
        load_row(b, row[0], terms)
        for slot in range(4):
            if terms[slot] == NO_TERM:
                continue
            if not 0 <= terms[slot] < b.n_terms:
                return fail(fault, BAD_TERM, NULL, terms[slot], slot)
            kind = b.kind[terms[slot]]
            if among(kind, plain_kinds(slot, 0)):
                continue
            if among(kind, TRIPLES):
                return fail(fault, CANONICAL_TRIPLE, NULL, kind, slot)
            return fail(fault, CANONICAL_PLACE, NULL, kind, slot)
    return 0


cdef int64_t count_noncharacters(const uint8_t* text, int64_t n) noexcept nogil:
    """Count U+FFFE and U+FFFF. Canonical N-Quads escapes them besides the controls, as XML 1.1 excludes them."""
    cdef const uint8_t* end = text + n
    cdef int64_t found = 0
    while end - text > 2:
        text = <const uint8_t*>memchr(text, 0xEF, end - text - 2)
        if text == NULL:
            break
        found += text[1] == 0xBF and text[2] >= 0xBE
        text += 1
    return found


cdef void escape_noncharacters(uint8_t* at, uint8_t* out) noexcept nogil:
    """Escape those in the text of a literal that ends at `at`, so that it ends at `out`."""
    cdef bint inside = False
    cdef uint8_t byte
    while at < out:
        at -= 1
        out -= 1
        out[0] = byte = at[0]
        # A datatype follows the last quote, and before the text there is one.
        inside = inside or byte == 0x22
        if inside and byte >= 0xBE and (at - 1)[0] == 0xBF and (at - 2)[0] == 0xEF:
            at -= 2
            out -= UCHAR - 1
            memcpy(out, b"\\uFFFE" if byte == 0xBE else b"\\uFFFF", UCHAR)


cdef void order_numbers(int32_t* rank, int32_t n) noexcept nogil:
    """The rank of each number below n if they are sorted as text: 0, 1, 10, 11, 2."""
    cdef int64_t number = 1
    cdef int32_t i
    if n > 0:
        rank[0] = 0
    for i in range(1, n):
        rank[number] = i
        if number * 10 < n:
            number *= 10
            continue
        if number + 1 >= n:
            number //= 10
        number += 1
        while number % 10 == 0:
            number //= 10


@cython.final
cdef class Canonicalizer:
    """Batches in, the canonical N-Quads of all their statements out.

    ``add`` Batches, ``finish``, then take the ``chunks``. ``algorithm`` is ``"sha256"``, the default of RDFC-1.0, or
    ``"sha384"``. ``max_steps`` bounds the search for the labels of blank nodes that are alike: each hash and each
    permutation is a step, a microsecond or less. The default is 2 million, and 16 more for each blank node.

    It holds each different term once and 16 bytes for each statement, twice that while it sorts them.

    >>> import jelly
    >>> work = Canonicalizer()
    >>> for batch in jelly.scan(b'_:x <a:p> _:y .\\n_:y <a:p> "o" .', format="nt").batches():
    ...     work.add(batch)
    >>> work.finish()
    >>> print(b"".join(work.chunks()).decode(), end="")
    _:c14n0 <a:p> _:c14n1 .
    _:c14n1 <a:p> "o" .
    >>> work.labels
    {'x': 'c14n0', 'y': 'c14n1'}
    """

    cdef TermDictionary terms
    cdef Statements rows
    cdef Claim claimed
    cdef bint wide
    cdef bint finished
    cdef int64_t max_steps  # -1: not given
    cdef int64_t n_steps
    # The canonical text of each IRI and literal, and the label of each blank node
    cdef uint8_t* text
    cdef int64_t* start
    cdef int32_t n_texts  # IRIs and literals
    cdef int32_t n_nodes
    cdef int32_t* term_of  # by rank, the terms; those of blank nodes in the order of the table
    cdef int32_t* canonical  # their numbers
    cdef int32_t* node_at  # by number, the blank node

    def __cinit__(self, algorithm="sha256", max_steps=None):
        if algorithm not in ("sha256", "sha384"):
            raise JellyArgumentError(f'algorithm is {algorithm!r}: expected "sha256" or "sha384"')
        self.wide = algorithm == "sha384"
        self.max_steps = -1 if max_steps is None else max_steps
        if max_steps is not None and self.max_steps < 0:
            raise JellyArgumentError("max_steps must be at least 0")
        self.terms = TermDictionary()

    def __dealloc__(self):
        free(self.text)
        free(self.start)
        free(self.rows.rows)
        free(self.term_of)
        free(self.canonical)
        free(self.node_at)

    def __reduce__(self):
        raise TypeError("a Canonicalizer cannot be pickled")

    @property
    def statements(self) -> int:
        """Number of statements so far; after ``finish`` without duplicates."""
        return self.rows.n

    @property
    def blank_nodes(self) -> int:
        """Number of different blank nodes; 0 before ``finish``."""
        return self.n_nodes

    @property
    def steps(self) -> int:
        """Number of steps that labelling the blank nodes took."""
        return self.n_steps

    @property
    def labels(self) -> dict:
        """Canonical labels of blank nodes by their labels in the input; empty before ``finish``."""
        cdef int32_t i, term
        cdef dict found = {}
        held = hold(&self.claimed, self)
        for i in range(self.n_nodes if self.finished else 0):
            term = self.term_of[self.n_texts + i]
            label = (<const char*>self.text)[self.start[term]:self.start[term + 1]].decode()
            found[label] = f"c14n{self.canonical[i]}"
        return found

    def add(self, Batch batch not None) -> None:
        """Add the statements of a Batch. JellyUnsupportedError if RDFC-1.0 is not defined for one of them."""
        cdef Fault fault
        cdef int64_t row = 0
        held = hold(&self.claimed, self)
        if self.finished:
            raise ValueError("the Canonicalizer has finished")
        need_rdf(batch)
        with nogil:
            memset(&fault, 0, sizeof(fault))
            check_rows(&batch.a, &row, &fault)
        if fault.code < 0:
            raise fault_error(&fault, {"row": batch.first_row + row})
        take_statements(self.terms, &self.rows, batch, 0, batch.a.n_rows)

    cdef int write_terms(self, BatchData* b) noexcept nogil:
        """Write the texts of all terms of the dictionary, which gives its memory away meanwhile."""
        cdef NTriplesWriter writer
        cdef int32_t term, node
        cdef int64_t n
        cdef int64_t at = 0
        memset(&writer, 0, sizeof(writer))
        writer.batch = b
        writer.canonical = True
        # First the lengths of the texts.
        self.start = writer.of_term = <int64_t*>calloc(b.n_terms + 1, sizeof(int64_t))
        self.term_of = <int32_t*>malloc((b.n_terms + 1) * sizeof(int32_t))
        if self.start == NULL or self.term_of == NULL:
            return NO_MEMORY
        for term in range(b.n_terms):
            if b.kind[term] == KIND_BNODE:
                self.start[term] = len_of(b, term)
                self.n_nodes += 1
            elif among(b.kind[term], LITERALS | 1 << KIND_IRI):
                len_term(&writer, term, OBJECT, 0)
                if b.kind[term] != KIND_IRI:
                    n = count_noncharacters(text_of(b, term), len_of(b, term))
                    self.start[term] += n * (UCHAR - 3)
                self.term_of[self.n_texts] = term
                self.n_texts += 1
            at += self.start[term]
        self.start[b.n_terms] = at
        self.text = <uint8_t*>malloc(at + 1)
        if self.text == NULL:
            return NO_MEMORY
        node = self.n_texts + self.n_nodes
        # From the end, as datatypes come before the literals that have them.
        for term in range(b.n_terms - 1, -1, -1):
            n = self.start[term]
            at -= n
            if b.kind[term] == KIND_BNODE:
                memcpy(self.text + at, text_of(b, term), n)
                node -= 1
                self.term_of[node] = term
            elif n:
                escape_noncharacters(put_leaf(&writer, self.text + at, term), self.text + at + n)
            self.start[term] = at
            if b.cap_text - b.start[term] > GIVEN_AWAY:
                b.cap_text = b.start[term]
                resize(<void**>&b.text, b.cap_text, 1)
        return 0

    cdef int rank_terms(self, int32_t n_terms) noexcept nogil:
        """Replace the numbers of terms by their ranks, in the statements too."""
        cdef int32_t* rank = <int32_t*>malloc((n_terms + 1) * sizeof(int32_t))
        cdef TextItem* items = <TextItem*>malloc((self.n_texts + 1) * sizeof(TextItem))
        cdef int64_t i
        if rank == NULL or items == NULL:
            free(rank)
            free(items)
            return NO_MEMORY
        for i in range(self.n_texts):
            items[i].term = self.term_of[i]
        sort_texts(self.text, self.start, items, self.n_texts, NULL, NULL)
        for i in range(self.n_texts):
            self.term_of[i] = items[i].term
        free(items)
        for i in range(self.n_texts + self.n_nodes):
            rank[self.term_of[i]] = <int32_t>i
        if self.renumber(rank, 0) < 0:
            return NO_MEMORY
        drop_duplicates(&self.rows)
        return 0

    cdef int renumber(self, int32_t* rank, int32_t first) noexcept nogil:
        """Give terms from `first` on the numbers of their ranks, which are freed, and sort the statements by the numbers."""
        cdef int32_t* id
        cdef int64_t i
        cdef int slot
        for i in range(self.rows.n):
            for slot in range(4):
                id = &self.rows.rows[i].ids[slot]
                if id[0] >= first:
                    id[0] = first + rank[id[0] - first]
        free(rank)
        return sort_statements(&self.rows, self.n_texts + self.n_nodes)

    cdef int use_labels(self) noexcept nogil:
        """Sort the statements again, with blank nodes in the order of their canonical labels."""
        cdef int32_t* rank = <int32_t*>malloc((self.n_nodes + 1) * sizeof(int32_t))
        cdef int32_t i
        self.node_at = <int32_t*>malloc((self.n_nodes + 1) * sizeof(int32_t))
        if rank == NULL or self.node_at == NULL:
            free(rank)
            return NO_MEMORY
        order_numbers(rank, self.n_nodes)
        for i in range(self.n_nodes):
            self.node_at[rank[self.canonical[i]]] = i
        for i in range(self.n_nodes):
            rank[self.node_at[i]] = i
        return self.renumber(rank, self.n_texts)

    def finish(self) -> None:
        """Sort the statements, drop duplicates, and label the blank nodes.

        JellyLimitError if the labels take more than ``max_steps``.
        """
        held = hold(&self.claimed, self)
        cdef Labeller c
        cdef uint64_t numbers[SHA_NUMBERS]
        cdef int status
        cdef int32_t n_terms
        if self.finished:
            return
        self.finished = True
        memset(&c, 0, sizeof(c))
        n_terms = self.terms.terms.a.n_terms
        drop_slots(&self.terms.table)
        with nogil:
            status = self.write_terms(&self.terms.terms.a)
        self.terms = None
        if status == 0:
            with nogil:
                status = self.rank_terms(n_terms)
        if status < 0:
            self.rows.n = 0
            raise MemoryError
        if self.n_nodes == 0:
            return
        fill_sha_numbers(numbers)
        c.statements = &self.rows
        c.n_terms = self.n_texts
        c.n_nodes = self.n_nodes
        c.text = self.text
        c.start = self.start
        c.term_of = self.term_of
        c.numbers_of_sha = numbers
        c.wide = self.wide
        c.max_steps = MAX_STEPS + STEPS_OF_NODE * <int64_t>self.n_nodes if self.max_steps < 0 else self.max_steps
        with nogil:
            status = label_nodes(&c)
            self.canonical = c.canonical
            c.canonical = NULL
            self.n_steps = c.steps
            free_labeller(&c)
            if status == 0:
                status = self.use_labels()
        if status < 0:
            self.rows.n = 0
            raise fault_error(&c.fault, {}) if c.fault.code else MemoryError()

    cdef int64_t len_part(self, int32_t rank) noexcept nogil:
        """Maximum bytes of a term and a space."""
        cdef int32_t term
        if rank >= self.n_texts:
            return LABEL_BYTES
        if rank < 0:
            return 0
        term = self.term_of[rank]
        return self.start[term + 1] - self.start[term] + 1

    cdef uint8_t* put_part(self, uint8_t* out, int32_t rank) noexcept nogil:
        cdef int32_t term
        cdef int64_t n
        if rank < 0:
            return out
        if rank >= self.n_texts:
            out += put_label(out, True, self.canonical[self.node_at[rank - self.n_texts]])
        else:
            term = self.term_of[rank]
            n = self.start[term + 1] - self.start[term]
            memcpy(out, self.text + self.start[term], n)
            out += n
        out[0] = 0x20
        return out + 1

    def chunks(self, int64_t size=1 << 20):
        """The lines in code point order, in pieces of about ``size`` bytes."""
        cdef int64_t row = 0
        cdef bytes lines
        if size < 1:
            raise JellyArgumentError("size must be at least 1")
        while True:
            claim(&self.claimed, self)
            try:
                if not self.finished:
                    raise ValueError("the Canonicalizer has not finished")
                if row >= self.rows.n:
                    return
                lines = self.put_lines(&row, size)
            finally:
                give_back(&self.claimed)
            yield lines

    cdef bytes put_lines(self, int64_t* row, int64_t size):
        cdef int64_t end = row[0]
        cdef int64_t n = 0
        cdef int slot
        cdef bytes lines
        cdef uint8_t* begin
        cdef uint8_t* out
        with nogil:
            while end < self.rows.n and n < size:
                n += 2
                for slot in range(4):
                    n += self.len_part(self.rows.rows[end].ids[slot])
                end += 1
        lines = PyBytes_FromStringAndSize(NULL, n)
        begin = out = <uint8_t*>PyBytes_AS_STRING(lines)
        with nogil:
            while row[0] < end:
                for slot in range(4):
                    out = self.put_part(out, self.rows.rows[row[0]].ids[slot])
                out[0] = 0x2E
                out[1] = 0x0A
                out += 2
                row[0] += 1
        return lines if out - begin == n else lines[:out - begin]
