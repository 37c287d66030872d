"""The statements of some Batches that match a pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from jelly._core.base.batch import Batch
from jelly._core.terms.materialize import StatementIterator
from jelly._core.terms.model import Quad, Triple
from jelly._dataset.pattern import Pattern

if TYPE_CHECKING:
    from jelly._formats.arrow_tables import pa

__all__ = ["Matches"]


class Matches:
    """The statements that match a pattern, as `find` returns them.

    Iterate over it for statements, or call one of its methods. Each reads the sources anew, as far as they can be read
    again, and nothing is read before.

    Parameters
    ----------
    pattern : Pattern
        What is looked for.
    read : callable
        Returns an iterator of the Batches to search, from the start.

    Examples
    --------
    >>> import jelly
    >>> found = jelly.find(b"<a:s> <a:p> <a:o> .", o="a:o", format="nt")
    >>> found.count(), [len(batch) for batch in found.batches()]
    (1, [1])
    >>> found.to_arrow(columns=["subject"]).read_all()["subject"].to_pylist()
    ['a:s']
    """

    def __init__(self, pattern: Pattern, read: Callable[[], Iterator[Batch]]) -> None:
        self.pattern: Pattern = pattern
        self._read = read

    def __repr__(self) -> str:
        return f"<jelly.Matches of {self.pattern!r}>"

    def __iter__(self) -> Iterator[Triple | Quad]:
        return iter(StatementIterator(self.batches()))

    def batches(self) -> Iterator[Batch]:
        """Iterate over the statements in Batches, none of them empty.

        Yields
        ------
        Batch
            The next statements, with the terms that they use.
        """
        for batch in self._read():
            found = self.pattern.select(batch)
            del batch  # before the next one takes memory
            if len(found):
                yield found

    def count(self) -> int:
        """Count the statements, without making them.

        Returns
        -------
        int
            How many there are.
        """
        return sum(map(self.pattern.count, self._read()))

    def to_arrow(self, **settings: Any) -> pa.RecordBatchReader:
        """Make a stream of Arrow record batches.

        Parameters
        ----------
        **settings : Any
            ``layout``, ``dictionary``, ``columns``, ``batch_rows`` and ``direction`` of `jelly.arrow.from_batches`.

        Returns
        -------
        pyarrow.RecordBatchReader
            Record batches, built as they are taken. ``read_all()`` makes a table of them.
        """
        from jelly._formats.arrow_tables import from_batches

        return from_batches(self._read(), keep=self.pattern.rows, **settings)
