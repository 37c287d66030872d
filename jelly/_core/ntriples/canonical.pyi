"""Canonicalizer: the canonical N-Quads of a dataset, by RDFC-1.0 (W3C Recommendation 21 May 2024)."""

from collections.abc import Iterator
from typing import Any, final

from jelly._core.base.batch import Batch

@final
class Canonicalizer:
    r"""Batches in, the canonical N-Quads of all their statements out.

    ``add`` Batches, ``finish``, then take the ``chunks``. ``algorithm`` is ``"sha256"``, the default of RDFC-1.0, or
    ``"sha384"``. ``max_steps`` bounds the search for the labels of blank nodes that are alike: each hash and each
    permutation is a step, a microsecond or less. The default is 2 million, and 16 more for each blank node.

    It holds each different term once and 16 bytes for each statement, twice that while it sorts them.

    >>> import jelly
    >>> work = Canonicalizer()
    >>> for batch in jelly.scan(b'_:x <a:p> _:y .\n_:y <a:p> "o" .', format="nt").batches():
    ...     work.add(batch)
    >>> work.finish()
    >>> print(b"".join(work.chunks()).decode(), end="")
    _:c14n0 <a:p> _:c14n1 .
    _:c14n1 <a:p> "o" .
    >>> work.labels
    {'x': 'c14n0', 'y': 'c14n1'}
    """
    def __new__(cls, algorithm: str = "sha256", max_steps: int | None = None) -> Canonicalizer: ...
    @property
    def statements(self) -> int:
        """Number of statements so far; after ``finish`` without duplicates."""
    @property
    def blank_nodes(self) -> int:
        """Number of different blank nodes; 0 before ``finish``."""
    @property
    def labels(self) -> dict[str, str]:
        """Canonical labels of blank nodes by their labels in the input; empty before ``finish``."""
    @property
    def steps(self) -> int:
        """Number of steps that labelling the blank nodes took."""
    def add(self, batch: Batch) -> None:
        """Add the statements of a Batch. JellyUnsupportedError if RDFC-1.0 is not defined for one of them."""
    def finish(self) -> None:
        """Sort the statements, drop duplicates, and label the blank nodes.

        JellyLimitError if the labels take more than ``max_steps``.
        """
    def chunks(self, size: int = 1048576) -> Iterator[bytes]:
        """The lines in code point order, in pieces of about ``size`` bytes."""
    def __reduce__(self) -> Any: ...
