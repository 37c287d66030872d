"""The invariants of a Batch, for `Batch.check`."""

from jelly._core.base.batch cimport N_DIRECTION, NO_TERM, RESULTS, Batch, BatchData, NamespaceMark
from jelly._core.base.constants cimport (
    OP_ABORT, OP_ADD, OP_COMMIT, OP_DELETE, OP_HEADER, OP_NAMESPACE_ADD, OP_NAMESPACE_DELETE, OP_PUNCTUATION,
    OP_START,
)
from jelly._core.base.kinds cimport KIND_ANY, KIND_IRI, KIND_LANG, KIND_TEXT, KIND_TYPED

import numpy

from jelly._core.base.kinds import NOUNS, kinds_of

_TAGS = kinds_of("text")
_COMPOUND = kinds_of("compound")
_SPARES = kinds_of("spare")
_KNOWN = kinds_of("term") + _TAGS + kinds_of("pattern")

# By operation what stands in s, p, o and g: a term, a teXt, an Iri, an iri or nothing (J), a term Or nothing, nothing.
_ROWS = {
    OP_ADD: "ttto", OP_DELETE: "ttto", OP_HEADER: "x-t-", OP_NAMESPACE_ADD: "xi-o", OP_NAMESPACE_DELETE: "xj-o",
    OP_START: "----", OP_COMMIT: "----", OP_ABORT: "----", OP_PUNCTUATION: "----",
}


cdef int check_results(Batch batch) except -1:
    """Verify the invariants of query results, those of terms excepted."""
    cdef BatchData* a = &batch.a
    cells = batch.cells
    if a.arity != RESULTS or len(batch.variables) != a.width:
        raise ValueError("query results must have one name for each variable")
    if cells.size and (cells.max() >= a.n_terms or cells.min() < NO_TERM):
        raise ValueError("a cell has a term id out of range")
    if numpy.isin(batch.kind[cells[cells >= 0]], _TAGS).any():
        raise ValueError("a cell has a text that is no term")
    if a.n_names or a.n_meta or a.n_frames > 1 or (a.n_frames == 1 and a.frames[0] != a.n_rows):
        raise ValueError("query results have no namespaces, no metadata, and no frame but a result set that ends there")
    return 0


def check_batch(Batch batch not None) -> None:
    """Verify every invariant of the arrays. ValueError where one does not hold."""
    cdef BatchData* a = &batch.a
    cdef NamespaceMark mark
    kind, aux, start, text = batch.kind, batch.aux, batch.start, batch.text
    if start[0] != 0 or (start[1:] < start[:-1]).any() or start[-1] != a.n_text:
        raise ValueError("start does not run from 0 to the end of text")
    unknown = kind[~numpy.isin(kind, _KNOWN)]
    if len(unknown):
        raise ValueError(f"unknown kind of term: {NOUNS[unknown[0]] if unknown[0] in _SPARES else unknown[0]}")
    bytes(text).decode()
    for i in range(a.n_terms):
        bytes(text[start[i]:start[i + 1]]).decode()
        wanted = {KIND_LANG: _TAGS, KIND_TYPED: (KIND_IRI,)}.get(int(kind[i]))
        if wanted is not None and not (0 <= aux[i] < a.n_terms and kind[aux[i]] in wanted):
            raise ValueError(f"term {i} has no language or datatype")
        if kind[i] == KIND_LANG and kind[aux[i]] == KIND_TEXT:
            tag = batch.term_text(aux[i])
            if len(tag) > N_DIRECTION and tag.endswith(("--ltr", "--rtl")):
                raise ValueError(f"term {i} has a base direction in its language tag")
        if kind[i] in _COMPOUND:
            if not 0 <= aux[i] < a.n_quoted:
                raise ValueError(f"term {i} is a {NOUNS[kind[i]]} out of range")
            # The terms of a compound term come before it, so it can never contain itself.
            inner = batch.quoted[aux[i]]
            if inner.min() < 0 or inner.max() >= i or numpy.isin(kind[inner], _TAGS).any():
                raise ValueError(f"term {i} is a {NOUNS[kind[i]]} of terms that are none")
        elif wanted is None and aux[i] != NO_TERM:
            raise ValueError(f"term {i} has an aux of its own")
        if kind[i] == KIND_ANY and start[i] != start[i + 1]:
            raise ValueError(f"term {i} is ANY and has a text")
    if batch.variables is not None:
        check_results(batch)
        return
    op = batch.op
    for code in [OP_ADD] if op is None else numpy.unique(op).tolist():
        if code not in _ROWS:
            raise ValueError(f"unknown operation {code}")
        for name, wanted in zip("spog", _ROWS[code]):
            ids = getattr(batch, name)
            if op is not None and ids is not None:
                ids = ids[op == code]
            if ids is None or not len(ids):
                continue
            if ids.max() >= a.n_terms or ids.min() < (0 if wanted in "txi" else NO_TERM):
                raise ValueError(f"column {name} has a term id out of range")
            if wanted == "-" and ids.max() >= 0:
                raise ValueError(f"operation {code} has a term in column {name}")
            kinds = kind[ids[ids >= 0]]
            if wanted != "x" and numpy.isin(kinds, _TAGS).any():
                raise ValueError(f"column {name} has a text that is no term")
            if wanted in "xij" and (kinds != (KIND_TEXT if wanted == "x" else KIND_IRI)).any():
                raise ValueError(f"operation {code} has no name or no IRI in column {name}")
    frames = batch.frames
    if len(frames) and ((frames[1:] < frames[:-1]).any() or frames[-1] > a.n_rows):
        raise ValueError("frame ends are not in order")
    for i in range(a.n_names):
        mark = a.names[i]
        if not (0 <= mark.row <= a.n_rows and 0 <= mark.frame <= a.n_frames):
            raise ValueError("a namespace stands at no row")
        if not (0 <= mark.name < a.n_terms and 0 <= mark.iri < a.n_terms and kind[mark.iri] == KIND_IRI):
            raise ValueError("a namespace has no name or IRI")
