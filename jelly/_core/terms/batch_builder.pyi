"""Python objects to Batches."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from typing_extensions import Self, disjoint_base

from jelly._core.base.batch import Batch
from jelly._core.terms.term_adapter import TermAdapter

@disjoint_base
class BatchBuilder:
    """Fills a Batch with statements: term objects are found by address first, then by value.

    It accepts terms of jelly and those of a `TermAdapter`.

    ``batch`` is the Batch being filled. While an array of it is in use, nothing can be added (BufferError), and
    ``clear()`` begins another Batch.
    """
    @property
    def batch(self) -> Batch:
        """The Batch being filled."""
    def __new__(cls, arity: int, rows: int = 256, library: TermAdapter | None = None) -> Self: ...
    def __len__(self) -> int: ...
    def lend(self, function: Callable[[Batch], object]) -> None:
        """Call a function with the Batch, then empty it. Until then nothing can be added, which could move its memory."""
    def drop_open_frame(self) -> None:
        """Take away what was added since the last end of a frame."""
    def clear(self) -> None:
        """Empty the Batch, or begin another one if arrays of it are in use."""
    def add(self, statement: Any) -> int:
        """Append a statement: a Triple, a Quad, or three or four terms. Return the number of rows.

        A Batch with much text counts as one of `MAX_ROWS` rows, so that every caller takes it as full.
        """
    def extend(self, statements: Iterator[Any], rows: int) -> bool:
        """Append from an iterator until the Batch has a number of rows (True) or the iterator ends (False).

        Objects in random order are spread over memory. Several statements are taken at a time, so that their terms and
        texts are prefetched before they are needed.
        """
    def extend_frames(self, groups: list[Any], start: int, kind: type, longest: int, rows: int) -> int:
        """Append lists of statements from ``groups[start]`` on, each as a frame, until the Batch has a number of rows.

        It stops before a list that is empty, longer than ``longest`` or begins with another class than ``kind``, and
        before what is no list. Return the number of the list behind the last one.
        """
    def namespace(self, name: str, iri: str) -> None:
        """Declare a namespace at this point of the stream."""
    def end_frame(self, metadata: Mapping[str, bytes] | None = None) -> None:
        """End a frame here. ``metadata`` maps str to bytes."""

@disjoint_base
class ResultBatchBuilder:
    """Fills one Batch of query results with rows: terms in the order of the variables, None where one is unbound, or
    mappings from variables to terms.

    >>> from jelly import Literal
    >>> builder = ResultBatchBuilder(("x", "y"))
    >>> builder.extend(iter([(Literal("a"), None), {"y": Literal("a")}]), 10)
    False
    >>> builder.batch.cells.tolist()
    [[0, -1], [-1, 0]]
    """
    @property
    def batch(self) -> Batch: ...
    def __new__(cls, variables: tuple[str, ...], first_row: int = 0) -> Self: ...
    def extend(self, rows: Iterator[Any], n: int) -> bool:
        """Append from an iterator until there are `n` rows or much text (True), or it ends (False).

        What comes before an error of the iterator counts. ValueError where a row does not fit the variables.
        """
