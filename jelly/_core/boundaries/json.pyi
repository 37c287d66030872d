"""A scanner of JSON that finds how deep it is, what objects in one another repeat, and where contexts of JSON-LD stand.

A parser of JSON-LD keeps all of an object whose context or type may still come, and then again what is in the objects in
it. What is no JSON may be told wrongly; the parser refuses it.
"""

from typing_extensions import Buffer, Self, disjoint_base

@disjoint_base
class JsonScanner:
    """Scans JSON in chunks cut anywhere.

    ``feed`` gives the parts of a chunk that belong to a value of ``"@context"`` that is an object or an array: where it
    begins, where it ends, how deep the object stands that has it, and whether the value ends there.

    >>> from jelly._core.boundaries.json import JsonScanner
    >>> scanner = JsonScanner()
    >>> scanner.feed(b'{"@context": {"a": '), scanner.feed(b'"b:c"}}')
    ([(13, 19, 1, False)], [(0, 6, 1, True)])
    """
    def __new__(cls) -> Self: ...
    @property
    def deepest(self) -> int:
        """The most objects and arrays that were open in one another."""
    @property
    def repeated(self) -> int:
        """The most values that a parser has at a time more than once, which keeps each object up to its end."""
    @property
    def items(self) -> int:
        """Items of arrays so far, but for the first of each."""
    def feed(self, data: Buffer) -> list[tuple[int, int, int, bool]]:
        """The parts of contexts in the next chunk of bytes."""
