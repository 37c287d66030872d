"""Statements of many Batches as columns of numbers: one numbering of all nodes, from 0 without gaps."""

from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from jelly._core.base.batch import Batch

@disjoint_base
class GraphDictionary:
    """The numbers of nodes and of relations that `Dataset.to_ids` gave so far.

    It only grows: give it to `Dataset.to_ids` again, and what has a number keeps it.

    Attributes
    ----------
    n_nodes, n_relations : int
        How many numbers were given. Relations have numbers of their own only where they are asked for apart.

    Examples
    --------
    >>> import jelly
    >>> first = jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").to_ids()
    >>> more = jelly.scan(b"<a:o> <a:p> <a:new> .", format="nt").to_ids(dictionary=first.dictionary)
    >>> first.o.tolist(), more.s.tolist(), more.o.tolist()
    ([1], [1], [2])
    """
    @property
    def n_nodes(self) -> int:
        """How many nodes have a number."""
    @property
    def n_relations(self) -> int:
        """How many relations have a number of their own."""
    def __new__(cls) -> Self: ...
    def add(
        self, batch: Batch, *, literals: bool = True, apart: bool = True
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32] | None]:
        """Number the terms of a Batch.

        Parameters
        ----------
        batch : Batch
            Statements.
        literals : bool, default True
            Take statements with literals.
        apart : bool, default True
            Give predicates numbers of their own.

        Returns
        -------
        tuple
            The columns s, p, o and g, int32; g is None for triples, and -1 in it is the default graph.

        Raises
        ------
        JellyOptionsError
            If the rows are no statements.
        JellyLimitError
            Above 2^31 terms.

        Examples
        --------
        >>> import jelly
        >>> batch = next(jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").batches())
        >>> GraphDictionary().add(batch, apart=False)[:3]
        (array([0], dtype=int32), array([1], dtype=int32), array([2], dtype=int32))
        """
    def numbers(self, batch: Batch, *, relations: bool = False, add: bool = False) -> npt.NDArray[np.int32]:
        r"""Look up the objects of a Batch.

        Parameters
        ----------
        batch : Batch
            Statements.
        relations : bool, default False
            Their numbers as relations, not as nodes.
        add : bool, default False
            Number those that have none.

        Returns
        -------
        numpy.ndarray
            An int32 number for each row, -1 for a term that has none.

        Raises
        ------
        JellyOptionsError
            If the rows are no statements.
        JellyLimitError
            Above 2^31 terms.

        Examples
        --------
        >>> import jelly
        >>> batch = next(jelly.scan(b"<a:s> <a:p> <a:x> .\n<a:s> <a:p> <a:y> .", format="nt").batches())
        >>> made = GraphDictionary()
        >>> made.numbers(batch, add=True).tolist(), made.numbers(batch, relations=True).tolist()
        ([0, 1], [-1, -1])
        """
    def batch(self, first: int = 0, end: int | None = None, *, relations: bool = False) -> Batch:
        """Make a Batch of the terms of a range of numbers.

        Parameters
        ----------
        first : int, default 0
            The first number.
        end : int, optional
            The number before which to stop. By default all that there are.
        relations : bool, default False
            Terms of relations, not of nodes.

        Returns
        -------
        Batch
            A row for each number: the term is its object. IndexError for numbers that were not given.

        Examples
        --------
        >>> import jelly
        >>> ids = jelly.scan(b'<a:s> <a:p> "x"@en .', format="nt").to_ids()
        >>> made = ids.dictionary.batch(1)
        >>> made.term(made.o[0])
        '"x"@en'
        """
    def __reduce__(self) -> Any: ...
