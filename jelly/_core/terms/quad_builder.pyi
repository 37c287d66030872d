from collections.abc import Callable, Iterator
from typing import Any

from typing_extensions import Self, disjoint_base

from jelly._core.base.batch import Batch
from jelly._core.terms.batch_builder import BatchBuilder

@disjoint_base
class QuadBatchBuilder(BatchBuilder):
    statements: int
    mark: str | None
    def __new__(
        cls,
        arity: int,
        *,
        classes: tuple[Any, ...],
        mend: Callable[[str], str] | None = None,
        tag: Callable[[str], str] | None = None,
        numbered: bool = False,
    ) -> Self: ...
    @property
    def rows(self) -> int: ...
    def take(self) -> Batch | None: ...
    def extend(self, statements: Iterator[Any], rows: int, text: int = ...) -> bool: ...
