"""Batches from Batches: terms that the next Batch repeats, copies, and many small Batches merged into one."""

from jelly._core.base.batch import Batch

def join_batches(batches: list[Batch]) -> Batch:
    """Concatenate the rows of Batches, as quads if any Batch has quads. Frames and namespaces are left out.

    Query results can be joined where all have the same variables. ValueError where they have not, where some are
    statements, or where one is a Batch of a patch; OverflowError where the terms are too many for one Batch.

    >>> import jelly
    >>> one, two = (next(jelly.scan(text, format="nt").batches()) for text in (b"<a:s> <a:p> <a:o> .", b'_:b <a:p> "o"@en .'))
    >>> both = join_batches([one, two])
    >>> len(both), both.term(both.s[0]), both.term(both.o[1])
    (2, '<a:s>', '"o"@en')
    """

def number_rows(batch: Batch, first_row: int) -> Batch:
    """Say where in its stream a Batch stands, before anybody else has it."""
