"""StatementTable: statements of two datasets as numbers, to compare them."""

from typing import Any, final

import numpy as np
import numpy.typing as npt

from jelly._core.base.batch import Batch

@final
class StatementTable:
    r"""The statements of two datasets as numbers: equal terms have equal numbers in both, except blank nodes.

    It holds each different term once, and 16 bytes for each statement.

    >>> import jelly
    >>> table = StatementTable()
    >>> for side, text in enumerate([b"<a:s> <a:p> _:b .\n<a:s> <a:p> <a:o> .", b"<a:s> <a:p> <a:o> .\n<a:s> <a:p> _:c ."]):
    ...     for batch in jelly.scan(text, format="nt").batches():
    ...         table.add(batch, side)
    >>> [len(only) for only in table.take_differences()], table.open_statements(0).tolist()
    ([0, 0], [[0, 1, 2, -1]])
    >>> table.text(0), table.label(2)
    ('<a:s>', 'b')
    """
    def __new__(cls) -> StatementTable: ...
    def add(self, batch: Batch, side: int, start: int = 0, stop: int | None = None) -> None:
        """Add some rows of a Batch to the first dataset (``side`` 0) or the second (1)."""
    def take_differences(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The statements without blank nodes that only the first dataset has, and those that only the second has.

        Duplicates count: a statement appears as often as one dataset has it more. Nothing can be added after this.
        """
    def open_statements(self, side: int) -> npt.NDArray[np.int32]:
        """The statements with blank nodes: int32, shape (n, 4); -1 is the default graph."""
    def parts(self, triples: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Subject, predicate and object of quoted triples: int32, shape (n, 3)."""
    @property
    def sorts(self) -> npt.NDArray[np.int8]:
        """For each term: 0 IRI or literal, 1 and 2 blank node of either side, 3 quoted triple, 4 one with blank nodes."""
    def label(self, term: int) -> str:
        """The label of a blank node, or the N-Triples of an IRI or literal."""
    def text(self, term: int) -> str:
        """A term in N-Triples syntax, with blank nodes as ``_:``; empty for the default graph."""
    def __reduce__(self) -> Any: ...
