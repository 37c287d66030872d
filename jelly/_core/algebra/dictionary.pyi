"""Ids that are equal for equal terms, over one Batch or many: exact, and no slower for quoted triples in quoted triples."""

from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from jelly._core.base.batch import Batch

@disjoint_base
class TermDictionary:
    """Dense ids, from 0, for the distinct terms of many Batches: equal terms have equal ids, others have others.

    It keeps the text of each distinct term. Language tags and datatypes are terms too, and come before the literals
    that have them.

    >>> import jelly
    >>> one, two = (next(jelly.scan(text, format="nt").batches()) for text in (b"<a:s> <a:p> <a:o> .", b'<a:o> <a:p> "x"@en .'))
    >>> terms = TermDictionary()
    >>> terms.ids(one)[one.o].tolist(), terms.ids(two)[two.s].tolist(), len(terms)
    ([2], [2], 5)
    >>> [terms.batch().term(id) for id in range(len(terms))]
    ['<a:s>', '<a:p>', '<a:o>', 'en', '"x"@en']
    """
    def __new__(cls) -> Self: ...
    def ids(self, batch: Batch) -> npt.NDArray[np.int64]:
        """The id here of each term of a Batch, so that ``ids[batch.s]`` are those of its subjects: int64.

        JellyLimitError above 2^31 terms.
        """
    def batch(self, rows: npt.ArrayLike | None = None) -> Batch:
        """The terms so far as a Batch, a copy: its term ids are those of this dictionary.

        It has no rows, or one for each of ``rows``, ids of terms, as `jelly._core.algebra.select.term_rows` makes them.
        IndexError for ids that are not there.

        >>> import jelly
        >>> terms = TermDictionary()
        >>> ids = terms.ids(next(jelly.scan(b'<a:s> <a:p> "x"@en .', format="nt").batches()))
        >>> batch = terms.batch([3, 0])
        >>> [batch.term(term) for term in batch.o]
        ['"x"@en', '<a:s>']
        """
    def __len__(self) -> int: ...
    def __reduce__(self) -> Any: ...

def unique_terms(batch: Batch) -> Batch:
    """The Batch with one id for each distinct term, see `Batch.unique`; the same one where that is so already."""
def term_ranks(batch: Batch, wanted: npt.ArrayLike) -> tuple[npt.NDArray[np.int32], int]:
    """The place of each term in the order of terms, from 1 on, and how many places there are.

    ``wanted`` says of each term whether it is to have a place: bool. Equal terms have the same one, others have 0. The
    order is that of the classes, `IRI` and the others.

    >>> import jelly
    >>> batch = next(jelly.scan(b'<a:s> <a:p> "x"@en . <a:s> <a:p> "x" . _:b <a:p> <a:a> .', format="ttl").batches())
    >>> ranks, n = term_ranks(batch, batch.kind != 7)
    >>> [batch.term(term) for term in sorted({*batch.s, *batch.p, *batch.o}, key=ranks.__getitem__)], n
    (['_:b', '<a:a>', '<a:p>', '<a:s>', '"x"@en', '"x"'], 6)
    """
