"""Statements of many Batches as columns of numbers: one numbering of all nodes, from 0 without gaps."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from jelly._core.algebra.content cimport memory_of
from jelly._core.algebra.dictionary cimport BLOCK, TermDictionary, TermTable, check_status, find_id, ids_of_block
from jelly._core.algebra.rewrite cimport moved_id
from jelly._core.algebra.select cimport row_numbers
from jelly._core.base.batch cimport NO_TERM, Batch, BatchData, make_results, need_plain, new_batch, text_of
from jelly._core.base.claim cimport Claim
from jelly._core.base.fault cimport NO_MEMORY, OK, whole_number
from jelly._core.base.memory cimport make_room, prefetch
from jelly._core.base.objects cimport hold

import numpy

from jelly._core.base.kinds import kinds_of
from jelly.errors import JellyArgumentError, JellyOptionsError

cdef enum:
    SMALL = 1 << 14  # slots: of a smaller table all is in the cache
    TOGETHER = 128  # rows whose terms are looked for before they get numbers
    AHEAD = 16  # rows that are fetched before they are marked
    NEAR = 12  # terms that are fetched before they are copied
    WAITING = -2  # of a term that is looked for: it has no id yet

_NO_IDS = "rows of a patch have no ids: expected statements"


ctypedef struct Numbers:
    # Of each id of the dictionary its number, or -1; and of each number the id.
    int32_t* number
    int64_t n_ids
    int32_t* id
    int64_t cap
    int32_t n


ctypedef struct Marks:
    # Of each number of a node the kinds of rows that it was the subject of, and above those that it was the object of.
    uint32_t* of
    int64_t cap


cdef void free_numbers(Numbers* numbers) noexcept nogil:
    free(numbers.number)
    free(numbers.id)


cdef int32_t new_number(Numbers* numbers, int32_t id) noexcept nogil:
    """The next number, for an id that has none; a negative code without memory."""
    cdef int64_t known = numbers.n_ids
    if id >= known:
        if make_room(<void**>&numbers.number, &numbers.n_ids, <int64_t>id + 1, sizeof(int32_t)) < 0:
            return NO_MEMORY
        memset(numbers.number + known, 0xFF, (numbers.n_ids - known) * sizeof(int32_t))
    if make_room(<void**>&numbers.id, &numbers.cap, numbers.n + 1, sizeof(int32_t)) < 0:
        return NO_MEMORY
    numbers.id[numbers.n] = id
    numbers.number[id] = numbers.n
    numbers.n += 1
    return numbers.n - 1


cdef inline int32_t number_of(TermTable* t, Numbers* numbers, BatchData* b, int32_t term, int32_t* ids) noexcept nogil:
    """The number of a term of a Batch; a negative code without memory."""
    cdef int32_t id = find_id(t, b, term, ids)
    if id < 0:
        return id
    if id < numbers.n_ids and numbers.number[id] >= 0:
        return numbers.number[id]
    return new_number(numbers, id)


cdef inline int wait_for(int32_t term, int32_t* ids, int32_t* terms, int waiting) noexcept nogil:
    """Note a term that has no id; how many are noted."""
    terms[waiting] = term
    if ids[term] != NO_TERM:
        return waiting
    ids[term] = WAITING
    return waiting + 1


cdef int find_terms(
    TermTable* t, Numbers* numbers, BatchData* b, const int64_t* rows, int64_t n, int32_t* ids
) noexcept nogil:
    """Find the ids of the terms of some rows, and fetch their numbers into the cache. Negative: a code."""
    cdef int32_t[BLOCK] terms
    cdef int64_t i
    cdef int status, k
    cdef int waiting = 0
    for i in range(n):
        waiting = wait_for(b.s[rows[i]], ids, terms, waiting)
        waiting = wait_for(b.p[rows[i]], ids, terms, waiting)
        waiting = wait_for(b.o[rows[i]], ids, terms, waiting)
        if b.g != NULL and b.g[rows[i]] >= 0:
            waiting = wait_for(b.g[rows[i]], ids, terms, waiting)
        if waiting > BLOCK - 4 or i == n - 1:
            status = ids_of_block(t, b, terms, waiting, ids)
            if status < 0:
                return status
            for k in range(waiting):
                if ids[terms[k]] < numbers.n_ids:
                    prefetch(&numbers.number[ids[terms[k]]])
            waiting = 0
    return OK


cdef int number_rows(
    TermTable* t, Numbers* nodes, Numbers* relations, BatchData* b, const int64_t* rows, int64_t n, int32_t* ids,
    int32_t* s, int32_t* p, int32_t* o, int32_t* g
) noexcept nogil:
    """Fill the columns, `g` if the Batch has graphs, with the numbers of some rows. Negative: a code."""
    cdef int64_t i, row
    cdef int status
    memset(ids, 0xFF, b.n_terms * sizeof(int32_t))  # NO_TERM
    for i in range(n):
        if i % TOGETHER == 0 and t.mask >= SMALL:
            status = find_terms(t, nodes, b, rows + i, min(<int64_t>TOGETHER, n - i), ids)
            if status < 0:
                return status
        row = rows[i]
        s[i] = number_of(t, nodes, b, b.s[row], ids)
        p[i] = number_of(t, relations, b, b.p[row], ids)
        o[i] = number_of(t, nodes, b, b.o[row], ids)
        if s[i] < 0 or p[i] < 0 or o[i] < 0:
            return min(s[i], p[i], o[i])
        if g != NULL:
            g[i] = NO_TERM
            if b.g[row] >= 0:
                g[i] = number_of(t, nodes, b, b.g[row], ids)
                if g[i] < 0:
                    return g[i]
    return OK


cdef int number_objects(TermTable* t, Numbers* numbers, BatchData* b, bint add, int32_t* ids, int32_t* out) noexcept nogil:
    """The numbers of the objects of a Batch; without `add` -1 for a term that has none."""
    cdef int64_t row
    cdef int32_t id
    memset(ids, 0xFF, b.n_terms * sizeof(int32_t))
    for row in range(b.n_rows):
        if add:
            out[row] = number_of(t, numbers, b, b.o[row], ids)
            if out[row] < 0:
                return out[row]
        else:
            id = find_id(t, b, b.o[row], ids)
            if id < 0:
                return id
            out[row] = numbers.number[id] if id < numbers.n_ids else -1
    return 0


cdef int fill_cells(
    const Numbers* numbers, BatchData* terms, const int32_t* number, int64_t n, BatchData* made, int32_t* moved
) noexcept nogil:
    """The cells of results: the terms of some numbers, copied once, and fetched into the cache before. Negative: a code."""
    cdef int64_t i, at
    cdef int32_t id
    for i in range(n + 2 * NEAR):
        if i < n and number[i] >= 0:
            id = numbers.id[number[i]]
            prefetch(&moved[id])
            prefetch(&terms.start[id])
            prefetch(&terms.kind[id])
            prefetch(&terms.aux[id])
        at = i - NEAR
        if 0 <= at < n and number[at] >= 0:
            prefetch(text_of(terms, numbers.id[number[at]]))
        at -= NEAR
        if at >= 0:
            made.cells[at] = NO_TERM if number[at] < 0 else moved_id(terms, numbers.id[number[at]], made, moved)
            if made.cells[at] < NO_TERM:
                return NO_MEMORY
    return OK


cdef class GraphDictionary:
    """The numbers of nodes and of relations that `Dataset.to_ids` gave so far.

    It only grows: give it to `Dataset.to_ids` again, and what has a number keeps it.

    Attributes
    ----------
    n_nodes, n_relations : int
        How many numbers were given. Relations have numbers of their own only where they are asked for apart.
    nbytes : int
        Bytes of memory in use.

    Examples
    --------
    >>> import jelly
    >>> first = jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").to_ids()
    >>> more = jelly.scan(b"<a:o> <a:p> <a:new> .", format="nt").to_ids(dictionary=first.dictionary)
    >>> first.o.tolist(), more.s.tolist(), more.o.tolist()
    ([1], [1], [2])
    """

    cdef TermDictionary terms
    cdef Numbers nodes
    cdef Numbers relations
    cdef Claim claimed

    def __cinit__(self):
        self.terms = TermDictionary()

    def __dealloc__(self):
        free_numbers(&self.nodes)
        free_numbers(&self.relations)

    def __reduce__(self):
        raise TypeError("a GraphDictionary cannot be pickled: write the tables of the layout ids, and read their terms")

    @property
    def n_nodes(self):
        """How many nodes have a number."""
        return self.nodes.n

    @property
    def n_relations(self):
        """How many relations have a number of their own."""
        return self.relations.n

    @property
    def nbytes(self):
        """Bytes of memory in use."""
        cdef TermTable* t = &self.terms.table
        return (
            self.terms.terms.nbytes + (t.mask + 1) * sizeof(uint32_t) + t.terms.n_terms * sizeof(uint64_t)
            + (self.nodes.n_ids + self.nodes.n + self.relations.n_ids + self.relations.n) * sizeof(int32_t)
        )

    def __repr__(self):
        return f"<jelly.GraphDictionary: {self.nodes.n} nodes, {self.relations.n} relations>"

    def add(self, Batch batch not None, *, rows=None, bint literals=True, bint apart=True):
        """Number the terms of a Batch.

        Parameters
        ----------
        batch : Batch
            Statements.
        rows : array of int or bool, optional
            Which of them, in any order, or of each whether it is one of these. By default all.
        literals : bool, default True
            Take statements with literals.
        apart : bool, default True
            Give predicates numbers of their own.

        Returns
        -------
        tuple
            The columns s, p, o and g, int32; g is None for triples, and -1 in it is the default graph.

        Raises
        ------
        JellyOptionsError
            If the rows are no statements.
        JellyLimitError
            Above 2^31 terms.

        Examples
        --------
        >>> import jelly
        >>> batch = next(jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").batches())
        >>> GraphDictionary().add(batch, apart=False)[:3]
        (array([0], dtype=int32), array([1], dtype=int32), array([2], dtype=int32))
        """
        cdef BatchData* b = &batch.a
        cdef int status
        need_plain(batch, _NO_IDS)
        chosen = numpy.arange(b.n_rows, dtype=numpy.int64) if rows is None else row_numbers(rows, b.n_rows)
        if not literals:
            is_node = ~numpy.isin(batch.kind, kinds_of("literal"))
            chosen = chosen[is_node[batch.s[chosen]] & is_node[batch.o[chosen]]]
        cdef const int64_t* row = <const int64_t*>memory_of(chosen)
        cdef int64_t n = len(chosen)
        made = [numpy.empty(n, numpy.int32) for _ in range(3 if b.g == NULL else 4)]
        cdef int32_t* s = <int32_t*>memory_of(made[0])
        cdef int32_t* p = <int32_t*>memory_of(made[1])
        cdef int32_t* o = <int32_t*>memory_of(made[2])
        cdef int32_t* g = NULL if b.g == NULL else <int32_t*>memory_of(made[3])
        cdef Numbers* relations = &self.relations if apart else &self.nodes
        known = numpy.empty(b.n_terms, numpy.int32)
        cdef int32_t* ids = <int32_t*>memory_of(known)
        held = hold(&self.claimed, self)
        with nogil:
            status = number_rows(&self.terms.table, &self.nodes, relations, b, row, n, ids, s, p, o, g)
        check_status(status)
        return tuple(made) if b.g != NULL else (*made, None)

    def numbers(self, Batch batch not None, *, bint relations=False, bint add=False):
        """Look up the objects of a Batch.

        Parameters
        ----------
        batch : Batch
            Statements.
        relations : bool, default False
            Their numbers as relations, not as nodes.
        add : bool, default False
            Number those that have none.

        Returns
        -------
        numpy.ndarray
            An int32 number for each row, -1 for a term that has none.

        Raises
        ------
        JellyOptionsError
            If the rows are no statements.
        JellyLimitError
            Above 2^31 terms.

        Examples
        --------
        >>> import jelly
        >>> batch = next(jelly.scan(b"<a:s> <a:p> <a:x> .\\n<a:s> <a:p> <a:y> .", format="nt").batches())
        >>> made = GraphDictionary()
        >>> made.numbers(batch, add=True).tolist(), made.numbers(batch, relations=True).tolist()
        ([0, 1], [-1, -1])
        """
        cdef BatchData* b = &batch.a
        cdef Numbers* numbers = &self.relations if relations else &self.nodes
        cdef int status
        need_plain(batch, _NO_IDS)
        found = numpy.empty(b.n_rows, numpy.int32)
        cdef int32_t* out = <int32_t*>memory_of(found)
        known = numpy.empty(b.n_terms, numpy.int32)
        cdef int32_t* ids = <int32_t*>memory_of(known)
        held = hold(&self.claimed, self)
        with nogil:
            status = number_objects(&self.terms.table, numbers, b, add, ids, out)
        check_status(status)
        return found

    def batch(self, first=0, end=None, *, bint relations=False) -> Batch:
        """Make a Batch of the terms of a range of numbers.

        Parameters
        ----------
        first : int, default 0
            The first number.
        end : int, optional
            The number before which to stop. By default all that there are.
        relations : bool, default False
            Terms of relations, not of nodes.

        Returns
        -------
        Batch
            A row for each number: the term is its object. IndexError for numbers that were not given.

        Examples
        --------
        >>> import jelly
        >>> ids = jelly.scan(b'<a:s> <a:p> "x"@en .', format="nt").to_ids()
        >>> made = ids.dictionary.batch(1)
        >>> made.term(made.o[0])
        '"x"@en'
        """
        cdef Numbers* numbers = &self.relations if relations else &self.nodes
        cdef int64_t begin = whole_number(first, "first")
        cdef int64_t stop = 0 if end is None else whole_number(end, "end")
        cdef int64_t i
        cdef int64_t* at
        held = hold(&self.claimed, self)  # the array may move if it grows meanwhile
        if end is None:
            stop = numbers.n
        if not 0 <= begin <= stop <= numbers.n:
            raise IndexError(f"numbers {begin} to {stop} are not within 0 to {numbers.n}")
        rows = numpy.empty(stop - begin, numpy.int64)
        at = <int64_t*>memory_of(rows)
        for i in range(stop - begin):
            at[i] = numbers.id[begin + i]
        return self.terms.batch(rows)

    def results(self, tuple variables not None, numbers) -> Batch:
        """Make a Batch of query results.

        Parameters
        ----------
        variables : tuple of str
            The variables.
        numbers : array of int
            A row for each result, with the number of a node for each variable; -1 is unbound.

        Returns
        -------
        Batch
            The results. IndexError for numbers that were not given.

        Examples
        --------
        >>> import jelly
        >>> ids = jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").to_ids()
        >>> list(ids.dictionary.results(("x", "y"), [[1, 0], [-1, 1]]))
        [(IRI('a:o'), IRI('a:s')), (None, IRI('a:o'))]
        """
        cells = numpy.asarray(numbers)
        if cells.ndim != 2 or (cells.size and cells.dtype.kind not in "iu"):
            raise JellyArgumentError("numbers: expected rows of whole numbers, one for each variable")
        if cells.size and not -1 <= cells.min() <= cells.max() < self.nodes.n:
            raise IndexError(f"numbers {cells.min()} to {cells.max()} are not within -1 to {self.nodes.n}")
        cells = numpy.ascontiguousarray(cells, numpy.int32)
        cdef const int32_t* number = <const int32_t*>memory_of(cells)
        cdef int64_t n = len(cells) * len(variables)
        cdef int status
        cdef Batch made = new_batch(3, 1, 1, 1, self.terms.terms.a.text_limit)
        make_results(made, variables, len(cells))
        if cells.size != n:
            raise JellyOptionsError(f"{cells.size} numbers are not {len(cells)} rows of {len(variables)} variables")
        held = hold(&self.claimed, self)
        known = numpy.zeros(self.terms.terms.a.n_terms, numpy.int32)
        cdef int32_t* moved = <int32_t*>memory_of(known)
        with nogil:
            status = fill_cells(&self.nodes, &self.terms.terms.a, number, n, &made.a, moved)
        check_status(status)
        made.a.n_rows = len(cells)
        return made


cdef int mark_rows(
    Marks* marks, const int32_t* s, const int32_t* p, const int32_t* o, const int32_t* g, int64_t n, uint8_t* out
) noexcept nogil:
    """Whether rows of numbers may have been there before; NO_MEMORY without memory."""
    cdef int64_t i
    cdef int64_t known = marks.cap
    cdef int32_t most = 0
    cdef uint32_t kind
    cdef bint was
    for i in range(n):
        most = max(most, s[i], o[i])
    if make_room(<void**>&marks.of, &marks.cap, <int64_t>most + 1, sizeof(uint32_t)) < 0:
        return NO_MEMORY
    memset(marks.of + known, 0, (marks.cap - known) * sizeof(uint32_t))
    for i in range(n):
        if i + AHEAD < n:
            prefetch(&marks.of[s[i + AHEAD]])
            prefetch(&marks.of[o[i + AHEAD]])
        kind = (<uint32_t>p[i] * <uint32_t>0x9E3779B1 ^ <uint32_t>g[i] * <uint32_t>0x85EBCA6B) >> 28
        was = marks.of[s[i]] >> kind & 1
        marks.of[s[i]] |= <uint32_t>1 << kind
        kind += 16
        out[i] = was and marks.of[o[i]] >> kind & 1
        marks.of[o[i]] |= <uint32_t>1 << kind
    return OK


cdef class Repeats:
    """Tells which rows of numbers may be there twice, in 4 bytes for a node: all others are new for sure.

    A row is new where its subject was in none with its predicate and graph before, or its object was not. Of both there
    are 16 kinds, so that one of these may pass for another.

    >>> import numpy
    >>> s, p, o, g = numpy.array([[1, 1, 1], [0, 0, 0], [2, 3, 2], [-1, -1, -1]], numpy.int32)
    >>> Repeats().add(s, p, o, g).tolist()
    [False, False, True]
    """

    cdef Marks marks
    cdef Claim claimed

    def __dealloc__(self):
        free(self.marks.of)

    def __reduce__(self):
        raise TypeError("Repeats cannot be pickled")

    @property
    def nbytes(self):
        """Bytes of memory in use."""
        return self.marks.cap * sizeof(uint32_t)

    def add(self, *columns):
        """Add rows, of which each column has the numbers of s, p, o and g; whether each may have been there before."""
        cdef const int32_t* at[4]
        cdef int64_t n = len(columns[0])
        cdef int status
        numbers = [numpy.ascontiguousarray(column, numpy.int32) for column in columns]
        if [len(column) for column in numbers] != 4 * [n] or any(column.min(initial=0) < 0 for column in numbers[:3:2]):
            raise JellyArgumentError("expected the numbers of s, p, o and g of each row")
        for place, column in enumerate(numbers):
            at[place] = <const int32_t*>memory_of(column)
        made = numpy.empty(n, numpy.bool_)
        cdef uint8_t* out = <uint8_t*>memory_of(made)
        held = hold(&self.claimed, self)
        with nogil:
            status = mark_rows(&self.marks, at[0], at[1], at[2], at[3], n, out)
        check_status(status)
        return made
