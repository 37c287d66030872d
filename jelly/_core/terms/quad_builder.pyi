"""Terms and quads of another library's parser to Batches."""

from collections.abc import Callable, Iterator
from typing import Any

from typing_extensions import Self, disjoint_base

from jelly._core.base.batch import Batch

@disjoint_base
class QuadBatchBuilder:
    """Fills Batches with quads that have ``subject``, ``predicate``, ``object`` and ``graph_name``.

    ``classes`` are the classes of IRIs, blank nodes, literals, quoted triples and the default graph.
    All but the last two have a ``value``; a literal has ``language``, ``direction`` and ``datatype``.

    Texts that contain ``mark`` are replaced by the result of ``mend``, and language tags by the result of ``tag``,
    unless these are None.

    With ``numbered`` labels that a parser made up become anon0, anon1 and so on. Labels that ``mend`` changes are
    not replaced. Each replaced label takes 24 to 64 bytes.

    >>> from types import SimpleNamespace as Any
    >>> class IRI(str):
    ...     value = property(str)
    >>> intake = QuadBatchBuilder(3, (IRI, None, None, None, None))
    >>> intake.extend(iter([Any(subject=IRI("a:s"), predicate=IRI("a:p"), object=IRI("a:o"))]), 10, 1000)
    False
    >>> len(intake.take())
    1
    """
    statements: int
    mark: str | None
    def __new__(
        cls,
        arity: int,
        classes: tuple[Any, ...],
        mend: Callable[[str], str] | None = None,
        tag: Callable[[str], str] | None = None,
        numbered: bool = False,
    ) -> Self: ...
    @property
    def rows(self) -> int:
        """Number of statements so far, with those of the Batch that is being filled."""
    def take(self) -> Batch | None:
        """The Batch so far; None if it has neither statements nor namespaces."""
    def namespace(self, name: str, iri: str) -> None:
        """Declare a namespace at this point of the stream."""
    def extend(self, quads: Iterator[Any], rows: int, text: int) -> bool:
        """Append from an iterator until a number of rows or of bytes of text is reached (True), or it ends (False).

        Statements before an error of the iterator are kept.
        """
