"""Blank nodes of Batches under other labels."""

from typing_extensions import Self, disjoint_base

from jelly._core.base.batch import Batch

@disjoint_base
class Relabeling:
    """Other labels of blank nodes, by those that they have: for any number of Batches, and several threads at once.

    >>> import jelly
    >>> batch = next(jelly.scan(b"_:a <a:p> _:b .", format="nt").batches())
    >>> changed = Relabeling({"a": "b", "b": "long-label"}).apply(batch)
    >>> [changed.term(changed.s[0]), changed.term(changed.o[0])]
    ['_:b', '_:long-label']
    """

    def __new__(cls, labels: dict[str, str]) -> Self: ...
    def apply(self, batch: Batch) -> Batch:
        """A copy of a Batch with the other labels. Labels that have no other one stay."""
