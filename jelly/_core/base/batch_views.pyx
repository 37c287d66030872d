"""Methods of a Batch that need packages above this one. Those packages are imported at the first call."""

from importlib import import_module


cdef class BatchViews:
    """The methods of a `jelly.Batch` that give objects and other Batches."""

    def __iter__(self):
        made = import_module("jelly._core.terms.materialize")
        return (made.StatementIterator if self.variables is None else made.SolutionIterator)([self])

    def statements(self) -> list:
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
        return list(import_module("jelly._core.terms.materialize").StatementIterator([self]))

    def terms(self) -> list:
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
        made = import_module("jelly._core.terms.materialize").Materializer(self)
        return [made.term(term) for term in range(self.n_terms)]

    def unique(self):
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
        return import_module("jelly._core.algebra.dictionary").unique_terms(self)

    def check(self) -> None:
        """Verify every invariant of the arrays. For tests.

        Raises
        ------
        ValueError
            If an invariant does not hold; the message names it.
        """
        import_module("jelly._core.base.batch_check").check_batch(self)
