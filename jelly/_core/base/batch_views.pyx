"""What a Batch gives that packages above this one make: they are imported when it is asked for."""

from importlib import import_module


cdef class BatchViews:
    """The methods of a `jelly.Batch` that give objects and other Batches."""

    def __iter__(self):
        return import_module("jelly._core.terms.materialize").StatementIterator([self])

    def statements(self) -> list:
        """The statements, in their order: Triples or Quads. So gives iterating over the Batch. JellyOptionsError for one of
        a patch, which has operations.

        >>> import jelly
        >>> next(jelly.read_batches(b"<a:s> <a:p> <a:o> .", format="nt")).statements()
        [Triple(IRI('a:s'), IRI('a:p'), IRI('a:o'))]
        """
        return list(self)

    def terms(self) -> list:
        """The terms as objects, in the order of their ids; of what is no term (a language tag) the text, as str.

        >>> import jelly
        >>> batch = next(jelly.read_batches(b'<a:s> <a:p> "o"@en .', format="nt"))
        >>> batch.terms()
        [IRI('a:s'), IRI('a:p'), 'en', Literal('o', language='en')]
        """
        made = import_module("jelly._core.terms.materialize").Materializer(self)
        return [made.term(term) for term in range(self.n_terms)]

    def unique(self):
        """The Batch with one id for each distinct term: then equal terms have equal ids, in all columns.

        Terms have their ids in the order in which they first appear. The rest is as it was; where the ids are unique
        already, it is this Batch.

        >>> import jelly
        >>> batch = next(jelly.read_batches(b"<a:s> <a:p> <a:o> .", format="nt"))
        >>> batch.unique() is batch
        True
        """
        return import_module("jelly._core.algebra.dictionary").unique_terms(self)
