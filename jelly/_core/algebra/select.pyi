"""Some rows of a Batch as a Batch of their own."""

from typing import Any

from jelly._core.base.batch import Batch

def select(batch: Batch, rows: Any, *, op: Any = None, quads: bool = False, triples: bool = False) -> Batch:
    r"""Some rows of a Batch, with the terms that they use; frames, namespaces and metadata are left out. Where most rows
    are wanted, all terms are kept.

    ``rows`` are numbers in any order, which may repeat, a bool for each row, or a slice. With ``quads`` triples become
    quads of the default graph, with ``triples`` quads lose their graphs. ``op`` makes the rows those of a patch: a code
    for all, or one for each (see `jelly.patch.Patch.batches`); 0 makes those of a patch statements. By default they stay
    what they are. Query results can only stay what they are. IndexError for rows that are not there.

    >>> import jelly
    >>> batch = next(jelly.scan(b"<a:s> <a:p> <a:x> .\n<a:s> <a:p> <a:y> .", format="nt").batches())
    >>> batch.n_terms, select(batch, [1])
    (4, <jelly.Batch: 1 triples, 3 terms, 0 frame ends>)
    """
def term_rows(batch: Batch, terms: Any) -> Batch:
    """A Batch with the same terms, and a row for each of ``terms``, numbers of them: with the term as subject, predicate
    and object, so that what makes columns of objects makes columns of terms. IndexError for terms that are not there.

    >>> import jelly
    >>> batch = next(jelly.scan(b'<a:s> <a:p> "x"@en .', format="nt").batches())
    >>> made = term_rows(batch, [batch.o[0], batch.s[0]])
    >>> [made.term(term) for term in made.o]
    ['"x"@en', '<a:s>']
    """
