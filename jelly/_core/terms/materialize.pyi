"""Batches to Python objects. Only this module creates objects in a loop."""

from collections.abc import Iterable
from typing import Any, final

from typing_extensions import Self

from jelly._core.base.batch import Batch
from jelly._core.terms.model import Quad, Triple
from jelly._core.terms.term_adapter import TermAdapter
from jelly._options.options import StreamOptions

@final
class Materializer:
    """The terms of one Batch as objects of `jelly` or of a `TermAdapter`. Each is made once, when first asked for.

    Several threads may use one: what two of them make at once is kept once.
    """
    def __new__(cls, batch: Batch, library: TermAdapter | None = None) -> Self: ...
    def term(self, term: int) -> Any:
        """The object for a term id; IndexError if there is no such term."""
    def statements(self, start: int = 0, stop: int | None = None) -> list[Any]:
        """The statements of rows ``start`` to ``stop`` as Triples or Quads, or as objects of the library."""
    def solutions(self) -> list[tuple[Any, ...]]:
        """The rows of query results: a tuple each, with None where a variable is unbound."""

@final
class StatementIterator:
    """Iterates over the statements of an iterator of Batches. Statements of a Batch share term objects."""

    options: StreamOptions | None
    quoted: frozenset[int]
    def __new__(cls, batches: Iterable[Batch], library: TermAdapter | None = None) -> Self: ...
    def __iter__(self) -> StatementIterator: ...
    def __next__(self) -> Triple | Quad: ...
    def close(self) -> None:
        """Close the source, if it can be closed."""

def text_of_term(batch: Batch, term: int) -> str:
    """A term in N-Triples syntax, for `Batch.term`; a text that is no term as it is. IndexError if there is none."""
