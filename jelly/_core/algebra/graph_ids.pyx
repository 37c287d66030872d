"""Statements of many Batches as columns of numbers: one numbering of all nodes, from 0 without gaps."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from jelly._core.algebra.content cimport memory_of
from jelly._core.algebra.dictionary cimport TermDictionary, TermTable, check_status, find_id
from jelly._core.algebra.rewrite cimport moved_id
from jelly._core.base.batch cimport NO_TERM, Batch, BatchData, make_results, need_plain, new_batch
from jelly._core.base.claim cimport Claim
from jelly._core.base.fault cimport NO_MEMORY, OK, whole_number
from jelly._core.base.kinds cimport LITERALS, among
from jelly._core.base.memory cimport make_room
from jelly._core.base.objects cimport hold

import numpy

from jelly.errors import JellyArgumentError, JellyOptionsError

_NO_IDS = "rows of a patch have no ids: expected statements"


ctypedef struct Numbers:
    # Of each id of the dictionary its number, or -1; and of each number the id.
    int32_t* number
    int64_t n_ids
    int32_t* id
    int64_t cap
    int32_t n


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


cdef int64_t number_rows(
    TermTable* t, Numbers* nodes, Numbers* relations, BatchData* b, bint literals, int32_t* ids,
    int32_t* s, int32_t* p, int32_t* o, int32_t* g
) noexcept nogil:
    """Fill the columns, `g` if the Batch has graphs; the number of rows that are kept, or a negative code."""
    cdef int64_t row
    cdef int64_t kept = 0
    memset(ids, 0xFF, b.n_terms * sizeof(int32_t))
    for row in range(b.n_rows):
        if not literals and (among(b.kind[b.s[row]], LITERALS) or among(b.kind[b.o[row]], LITERALS)):
            continue
        s[kept] = number_of(t, nodes, b, b.s[row], ids)
        p[kept] = number_of(t, relations, b, b.p[row], ids)
        o[kept] = number_of(t, nodes, b, b.o[row], ids)
        if s[kept] < 0 or p[kept] < 0 or o[kept] < 0:
            return min(s[kept], p[kept], o[kept])
        if g != NULL:
            g[kept] = NO_TERM
            if b.g[row] >= 0:
                g[kept] = number_of(t, nodes, b, b.g[row], ids)
                if g[kept] < 0:
                    return g[kept]
        kept += 1
    return kept


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
            self.terms.terms.nbytes + (t.mask + 1 + t.terms.n_terms) * sizeof(uint64_t)
            + (self.nodes.n_ids + self.nodes.n + self.relations.n_ids + self.relations.n) * sizeof(int32_t)
        )

    def __repr__(self):
        return f"<jelly.GraphDictionary: {self.nodes.n} nodes, {self.relations.n} relations>"

    def add(self, Batch batch not None, *, bint literals=True, bint apart=True):
        """Number the terms of a Batch.

        Parameters
        ----------
        batch : Batch
            Statements.
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
        cdef int64_t kept
        cdef Numbers* relations = &self.relations if apart else &self.nodes
        need_plain(batch, _NO_IDS)
        columns = [numpy.empty(b.n_rows, numpy.int32) for _ in range(3 if b.g == NULL else 4)]
        cdef int32_t* s = <int32_t*>memory_of(columns[0])
        cdef int32_t* p = <int32_t*>memory_of(columns[1])
        cdef int32_t* o = <int32_t*>memory_of(columns[2])
        cdef int32_t* g = NULL if b.g == NULL else <int32_t*>memory_of(columns[3])
        known = numpy.empty(b.n_terms, numpy.int32)
        cdef int32_t* ids = <int32_t*>memory_of(known)
        held = hold(&self.claimed, self)
        with nogil:
            kept = number_rows(&self.terms.table, &self.nodes, relations, b, literals, ids, s, p, o, g)
        check_status(<int>min(kept, 0))
        made = tuple(column if kept == b.n_rows else column[:kept].copy() for column in columns)
        return made if g != NULL else (*made, None)

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
        cdef int64_t i
        cdef int status = OK
        cdef Batch made = new_batch(3, 1, 1, 1, self.terms.terms.a.text_limit)
        make_results(made, variables, len(cells))
        if cells.size != n:
            raise JellyOptionsError(f"{cells.size} numbers are not {len(cells)} rows of {len(variables)} variables")
        held = hold(&self.claimed, self)
        known = numpy.zeros(self.terms.terms.a.n_terms, numpy.int32)
        cdef int32_t* moved = <int32_t*>memory_of(known)
        with nogil:
            for i in range(n):
                made.a.cells[i] = NO_TERM if number[i] < 0 else moved_id(
                    &self.terms.terms.a, self.nodes.id[number[i]], &made.a, moved
                )
                if made.a.cells[i] < NO_TERM:
                    status = NO_MEMORY
                    break
        check_status(status)
        made.a.n_rows = len(cells)
        return made
