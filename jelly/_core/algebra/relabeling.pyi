from typing_extensions import Self, disjoint_base

from jelly._core.base.batch import Batch

@disjoint_base
class Relabeling:

    def __new__(cls, labels: dict[str, str]) -> Self: ...
    def apply(self, batch: Batch) -> Batch: ...
