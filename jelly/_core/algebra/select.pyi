"""Some rows of a Batch as a Batch of their own."""

from typing import Any

from jelly._core.base.batch import Batch

def select(batch: Batch, rows: Any, *, op: Any = None, quads: bool = False) -> Batch:
    r"""Some rows of a Batch, with the terms that they use; frames, namespaces and metadata are left out. Where most rows
    are wanted, all terms are kept.

    ``rows`` are numbers in any order, which may repeat, a bool for each row, or a slice. With ``quads`` triples become
    quads of the default graph. ``op`` makes the rows those of a patch: a code for all, or one for each (see
    `jelly.patch.Patch.batches`); 0 makes those of a patch statements. By default they stay what they are. Query results
    can only stay what they are. IndexError for rows that are not there.

    >>> import jelly
    >>> batch = next(jelly.read_batches(b"<a:s> <a:p> <a:x> .\n<a:s> <a:p> <a:y> .", format="nt"))
    >>> batch.n_terms, select(batch, [1])
    (4, <jelly.Batch: 1 triples, 3 terms, 0 frame ends>)
    """
def term_rows(batch: Batch, terms: Any) -> Batch: ...
