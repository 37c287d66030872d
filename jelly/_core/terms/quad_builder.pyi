from collections.abc import Callable, Iterator
from typing import Any

from typing_extensions import Self, disjoint_base

from jelly._core.base.batch import Batch

@disjoint_base
class QuadBatchBuilder:
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
    def rows(self) -> int: ...
    def take(self) -> Batch | None: ...
    def namespace(self, name: str, iri: str) -> None: ...
    def extend(self, quads: Iterator[Any], rows: int, text: int) -> bool: ...
