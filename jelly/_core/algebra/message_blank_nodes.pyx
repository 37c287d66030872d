"""Frames of a Batch as messages: complete messages only, each with blank nodes of its own."""

from libc.stdint cimport int32_t, uint8_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from jelly._core.algebra.content cimport memory_of
from jelly._core.algebra.rewrite cimport map_marks, map_rows
from jelly._core.base.batch cimport (
    Batch, TermView, add_joined, add_namespace, column_of, len_of, need_plain, need_statements, same_bytes, text_of,
    view_term,
)
from jelly._core.base.batch_concat cimport like, move_term
from jelly._core.base.fault cimport NO_MEMORY, OK, Fault, fail, fault_error
from jelly._core.base.kinds cimport COMPOUND, KIND_BNODE, among
from jelly._core.rules.blank_node_label cimport KEPT, Labels, clear_labels, free_labels, is_made_up, number_label

import numpy

_NO_MESSAGE = "a patch has operations: it is no message"

cdef enum:
    LABEL_HEAD = 32  # bytes that hold "m", the number of any message and "-"


cdef void drop_tail(BatchData* b) noexcept nogil:
    """Take away what came after the last frame that ended: rows, namespaces, metadata. Their terms stay."""
    b.n_rows = count_whole(b)
    while b.n_names and b.names[b.n_names - 1].frame >= b.n_frames:
        b.n_names -= 1
    while b.n_meta and b.meta[b.n_meta - 1].frame >= b.n_frames:
        b.n_meta -= 1


cdef int move_tail(BatchData* b, BatchData* rest) noexcept nogil:
    """Move what came after the last frame that ended into an empty BatchData."""
    cdef int64_t whole = count_whole(b)
    cdef int64_t i
    cdef int32_t name, iri
    cdef int status
    cdef int32_t* moved = <int32_t*>calloc(b.n_terms + 1, sizeof(int32_t))
    if moved == NULL:
        return NO_MEMORY
    status = map_rows(b, rest, whole, NULL, b.n_rows - whole, moved)
    for i in range(b.n_names):
        if b.names[i].frame >= b.n_frames and status >= 0:
            name = move_term(b, b.names[i].name, rest, moved)
            iri = move_term(b, b.names[i].iri, rest, moved)
            status = NO_MEMORY if name < 0 or iri < 0 else add_namespace(rest, name, iri)
    free(moved)
    drop_tail(b)
    return status


ctypedef struct Renaming:
    BatchData* source
    BatchData* target
    int32_t* moved  # the ids of terms in the target plus 1, 0: not there yet
    int32_t* renamed  # terms of the message that are others in the next one: blank nodes, and quoted triples
    int32_t n_renamed
    int64_t message
    uint8_t head[LABEL_HEAD]
    int64_t n_head
    bint numbered  # give labels to nodes that have none in the text; leave the others
    Labels labels
    uint8_t* written  # of each term: whether it is a label of the text; may be NULL


cdef int32_t rename_label(Renaming* r, int32_t term) noexcept nogil:
    cdef BatchData* b = r.source
    cdef const uint8_t* label = text_of(b, term)
    cdef int64_t n = len_of(b, term)
    cdef int64_t number
    if not r.numbered:
        return add_joined(r.target, KIND_BNODE, r.head, r.n_head, label, n)
    number = number_label(&r.labels, label, n, r.written != NULL and r.written[term])
    if number == KEPT:
        return add_joined(r.target, KIND_BNODE, label, n, NULL, 0)
    if number < 0:
        return <int32_t>number
    r.n_head = snprintf(<char*>r.head, LABEL_HEAD, b"anon%lld", <long long>number)
    return add_joined(r.target, KIND_BNODE, r.head, r.n_head, NULL, 0)


cdef void take_marks(BatchData* b, const uint8_t* mark, int64_t n_mark, uint8_t* written) noexcept nogil:
    """Take a mark out of all texts, and note which blank nodes had one."""
    cdef uint8_t* out = b.text
    cdef uint8_t* at
    cdef uint8_t* end = b.text
    cdef int32_t term
    for term in range(b.n_terms):
        at, end = end, b.text + b.start[term + 1]
        b.start[term] = out - b.text
        while at < end:
            if at[0] == mark[0] and end - at >= n_mark and same_bytes(at, mark, n_mark):
                at += n_mark
                written[term] = b.kind[term] == KIND_BNODE
            else:
                out[0] = at[0]
                out += 1
                at += 1
    b.n_text = out - b.text
    b.start[b.n_terms] = b.n_text


cdef int rename_term(Renaming* r, int32_t term) noexcept nogil:
    """Copy a blank node or a quoted triple, unless the message had it before. A negative code where that fails."""
    cdef BatchData* b = r.source
    cdef TermView v
    cdef int32_t found
    cdef int k
    if term < 0 or r.moved[term] > 0 or not among(b.kind[term], (1 << KIND_BNODE) | COMPOUND):
        return OK
    if b.kind[term] == KIND_BNODE:
        found = rename_label(r, term)
        r.moved[term] = found + 1
    else:
        view_term(b, term, &v)
        for k in range(v.n_refs):
            found = rename_term(r, v.refs[k])
            if found < 0:
                return found
        found = move_term(b, term, r.target, r.moved)
    if found < 0:
        return found
    r.renamed[r.n_renamed] = term
    r.n_renamed += 1
    return OK


cdef int rename_rows(Renaming* r, int64_t first_frame) noexcept nogil:
    cdef BatchData* b = r.source
    cdef int64_t row = 0
    cdef int64_t i, end
    cdef int slot, status
    for i in range(b.n_frames + 1):
        r.message = first_frame + i
        clear_labels(&r.labels)
        r.n_head = snprintf(<char*>r.head, LABEL_HEAD, b"m%lld-", <long long>r.message)
        while r.n_renamed > 0:
            r.n_renamed -= 1
            r.moved[r.renamed[r.n_renamed]] = 0
        end = b.frames[i] if i < b.n_frames else b.n_rows
        for row in range(r.target.n_rows, end):
            for slot in range(b.arity):
                status = rename_term(r, column_of(b, slot)[0][row])
                if status < 0:
                    return status
        status = map_rows(b, r.target, r.target.n_rows, NULL, end - r.target.n_rows, r.moved)
        if status < 0:
            return status
    return map_marks(b, r.target, r.moved)


def rename_blank_nodes(Batch batch not None) -> Batch:
    """A copy in which every blank node label begins with the number of its frame, "m7-" in frame 7 of the stream.

    So the frames, of one stream, can be put together and no two of their blank nodes become one.

    >>> from jelly._core.ntriples.text import TextReader
    >>> reader = TextReader(quads=False, messages="comment")
    >>> list(reader.feed(b"_:x <a:p> _:y .\\n# @message\\n_:x <a:p> _:x .\\n"))
    [<jelly.Batch: 1 triples, 3 terms, 1 frame ends>]
    >>> [batch] = reader.close()
    >>> renamed = rename_blank_nodes(batch)
    >>> [renamed.term(term) for term in (*renamed.s, *renamed.o)]
    ['_:m1-x', '_:m1-x']
    """
    need_plain(batch, _NO_MESSAGE)
    return renamed(batch, False, NULL)


def number_labels(Batch batch not None, bytes mark=None) -> Batch:
    """The Batch, or a copy in which labels of blank nodes that a parser made up are anon0, anon1 ... in each frame.

    Such are all of 16 to 32 hexadecimal digits but those that hold ``mark``, which is taken out of all texts: the Batch
    must be one that is still being made.

    >>> from jelly._core.ntriples.text import TextReader
    >>> reader = TextReader(quads=False)
    >>> [batch] = reader.feed(b"_:a123456789abcdef <a:p> _:xXxb123456789abcdef .\\n")
    >>> numbered = number_labels(batch, b"xXx")
    >>> [numbered.term(term) for term in (*numbered.s, *numbered.o)]
    ['_:anon0', '_:b123456789abcdef']
    """
    cdef BatchData* b = &batch.a
    cdef int32_t term
    cdef uint8_t* written = NULL
    cdef const uint8_t* text
    cdef int64_t n
    need_plain(batch, _NO_MESSAGE)
    if mark is not None:
        text, n = <const uint8_t*><const char*>mark, len(mark)
        marked = numpy.zeros(b.n_terms, numpy.uint8)
        written = <uint8_t*>memory_of(marked)
        with nogil:
            take_marks(b, text, n, written)
    for term in range(b.n_terms):
        if b.kind[term] == KIND_BNODE and is_made_up(text_of(b, term), len_of(b, term)):
            return renamed(batch, True, written)
    return batch


cdef Batch renamed(Batch batch, bint numbered, uint8_t* written):
    cdef BatchData* b = &batch.a
    cdef Renaming r
    cdef Batch made = like(batch, b.arity, b.n_rows, b.n_terms, b.n_text, b.text_limit)
    cdef int status
    cdef Fault fault
    memset(&r, 0, sizeof(Renaming))
    r.numbered = numbered
    r.written = written
    r.source = b
    r.target = &made.a
    moved, others = numpy.zeros(b.n_terms, numpy.int32), numpy.empty(b.n_terms, numpy.int32)
    r.moved = <int32_t*>memory_of(moved)
    r.renamed = <int32_t*>memory_of(others)
    try:
        with nogil:
            status = rename_rows(&r, batch.first_frame)
        if status < 0:
            fault.code = OK
            fail(&fault, status, NULL, b.text_limit)
            raise fault_error(&fault, {"frame": r.message})
    finally:
        free_labels(&r.labels)
    return made


def drop_open_frame(Batch batch not None) -> Batch:
    """The Batch without what came after its last frame ended. Only for one that is still being made: it is changed."""
    need_statements(batch)
    drop_tail(&batch.a)
    return batch
