from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from jelly._core.algebra.row_index import RowIndex
from jelly._core.base.batch import Batch

@disjoint_base
class Transactions:
    def __new__(cls, *, whole: bool = False) -> Self: ...
    def take(self, batch: Batch, start: int = 0, stop: int | None = None) -> list[list[tuple[Batch, int, int]]]: ...
    def close(self) -> list[list[tuple[Batch, int, int]]]: ...

@disjoint_base
class NetChanges(RowIndex):
    def __new__(cls) -> Self: ...
    def take(
        self, hashes: npt.NDArray[np.uint64], op: Any
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]: ...
    @property
    def added(self) -> npt.NDArray[np.bool_]: ...
    @property
    def needed(self) -> npt.NDArray[np.bool_]: ...
