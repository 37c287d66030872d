"""Methods of a Batch that need packages above this one. Those packages are imported at the first call."""

from collections.abc import Iterator
from typing import Any

from typing_extensions import Self

class BatchViews:
    # Any, because a Quad unpacks into four and a Triple into three, and a row of query results into its variables.
    """The methods of a `jelly.Batch` that give objects and other Batches."""
    def __iter__(self) -> Iterator[Any]: ...
    def statements(self) -> list[Any]:
        """Make the statements as objects. Iterating over the Batch yields the same.

        Returns
        -------
        list of Triple or Quad
            The statements in order.

        Raises
        ------
        JellyOptionsError
            If the Batch is one of a patch, whose rows have operations, or has query results.

        Examples
        --------
        >>> import jelly
        >>> next(jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").batches()).statements()
        [Triple(IRI('a:s'), IRI('a:p'), IRI('a:o'))]
        """
    def terms(self) -> list[Any]:
        """Make the terms as objects.

        Returns
        -------
        list of IRI, BlankNode, Literal, QuotedTriple or str
            The terms in the order of their ids. A language tag, which is not a term, is a str.

        Examples
        --------
        >>> import jelly
        >>> batch = next(jelly.scan(b'<a:s> <a:p> "o"@en .', format="nt").batches())
        >>> batch.terms()
        [IRI('a:s'), IRI('a:p'), 'en', Literal('o', language='en')]
        """
    def unique(self) -> Self:
        """Make the Batch in which equal terms have equal ids, in all columns.

        Returns
        -------
        Batch
            The same rows. Ids are in the order in which the terms first appear. If the ids are unique already, it
            is this Batch.

        Examples
        --------
        >>> import jelly
        >>> batch = next(jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").batches())
        >>> batch.unique() is batch
        True
        """
    def check(self) -> None:
        """Verify every invariant of the arrays. For tests.

        Raises
        ------
        ValueError
            If an invariant does not hold; the message names it.
        """
    def __reduce__(self) -> Any: ...
