from typing import Any, final

from typing_extensions import Self

from jelly._core.base.batch import Batch

@final
class ArrowImporter:
    def __new__(
        cls,
        layout: str,
        *,
        quads: bool,
        patch: bool = False,
        transactions: bool = False,
        batch_rows: int = 65536,
        batch_bytes: int = 16777216,
    ) -> Self: ...
    def load(self, rows: int, columns: dict[str, tuple[Any, ...]], frames: tuple[Any, ...] | None = None) -> None: ...
    def pull(self, flush: bool = False) -> Batch | None: ...
