"""Blank nodes of Batches under other labels."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from jelly._core.algebra.content cimport memory_of
from jelly._core.algebra.dictionary cimport TermDictionary, TermTable, find_leaf
from jelly._core.base.batch cimport NO_TERM, Batch, BatchData, add_term, len_of, new_batch, text_of
from jelly._core.base.batch_concat cimport replace_labels
from jelly._core.base.constants cimport NO_LIMIT
from jelly._core.base.kinds cimport KIND_BNODE

import numpy


ctypedef struct Labels:
    TermTable* old
    const BatchData* new  # by the id of the old label
    int32_t* found  # of each blank node, the id of its label; NO_TERM: it stays


cdef int64_t len_label(void* x, const BatchData* b, int32_t term) noexcept nogil:
    """The bytes that `put_label` writes."""
    cdef Labels* labels = <Labels*>x
    cdef int32_t id = find_leaf(labels.old, b, term)
    labels.found[term] = id
    return len_of(b, term) if id < 0 else len_of(labels.new, id)


cdef uint8_t* put_label(void* x, uint8_t* out, const BatchData* b, int32_t term) noexcept nogil:
    cdef Labels* labels = <Labels*>x
    cdef int32_t id = labels.found[term]
    cdef const BatchData* of = b if id < 0 else labels.new
    cdef int64_t n
    if id < 0:
        id = term
    n = len_of(of, id)
    memcpy(out, text_of(of, id), n)
    return out + n


cdef int add_label(Batch batch, str label) except -1:
    cdef bytes text = label.encode()
    if add_term(&batch.a, KIND_BNODE, NO_TERM, text, len(text)) < 0:
        raise MemoryError
    return 0


cdef class Relabeling:
    """Other labels of blank nodes, by those that they have: for any number of Batches, and several threads at once.

    >>> import jelly
    >>> batch = next(jelly.scan(b"_:a <a:p> _:b .", format="nt").batches())
    >>> changed = Relabeling({"a": "b", "b": "long-label"}).apply(batch)
    >>> [changed.term(changed.s[0]), changed.term(changed.o[0])]
    ['_:b', '_:long-label']
    """

    cdef TermDictionary old  # the id of a label is that of its new one
    cdef Batch new

    def __cinit__(self, dict labels not None):
        cdef Batch old = new_batch(3, 1, len(labels), 1024, NO_LIMIT)
        self.old = TermDictionary()
        self.new = new_batch(3, 1, len(labels), 1024, NO_LIMIT)
        for label, other in labels.items():
            add_label(old, label)
            add_label(self.new, other)
        self.old.take(old)

    def apply(self, Batch batch not None) -> Batch:
        """A copy of a Batch with the other labels. Labels that have no other one stay."""
        cdef Labels labels
        labels.old = &self.old.table
        labels.new = &self.new.a
        found = numpy.empty(batch.a.n_terms, numpy.int32)
        labels.found = <int32_t*>memory_of(found)
        return replace_labels(batch, KIND_BNODE, len_label, put_label, &labels)
