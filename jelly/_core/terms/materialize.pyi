from collections.abc import Callable, Iterable
from typing import Any, final

from typing_extensions import Self, disjoint_base

from jelly._core.base.batch import Batch
from jelly._core.base.push_reader import PushReader
from jelly._core.terms.statements import Quad, Triple
from jelly._core.terms.term_adapter import TermAdapter
from jelly._options.options import StreamOptions

@final
class Spare:
    def __new__(cls) -> Self: ...

@final
class Materializer:
    def __new__(cls, batch: Batch, library: TermAdapter | None = None) -> Self: ...
    def term(self, term: int) -> Any: ...
    def statements(self, start: int = 0, stop: int | None = None) -> list[Any]: ...

@disjoint_base
class RowIterator:
    def __iter__(self) -> Self: ...

@final
class StatementIterator(RowIterator):
    options: StreamOptions | None
    quoted: frozenset[int]
    def __new__(
        cls,
        batches: Iterable[Batch],
        library: TermAdapter | None = None,
        fit: Callable[[bool], object] | None = None,
    ) -> Self: ...
    def __next__(self) -> Triple | Quad: ...
    def close(self) -> None: ...

@final
class SolutionIterator(RowIterator):
    def __new__(cls, batches: Iterable[Batch], fit: Callable[[bool], object] | None = None) -> Self: ...
    def __next__(self) -> tuple[Any, ...]: ...

def read_whole(reader: PushReader, data: Any) -> list[Any]: ...
def text_of_term(batch: Batch, term: int) -> str: ...
