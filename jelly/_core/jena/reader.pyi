from typing import Any

from typing_extensions import Self, disjoint_base

from jelly._core.base.push_reader import PushReader

@disjoint_base
class BinaryReader(PushReader):
    def __new__(
        cls,
        encoding: str,
        *,
        quads: bool = False,
        batch_rows: int = 16384,
        batch_bytes: int = 16777216,
        max_row_bytes: int = 268435456,
        max_prefixes: int = 4096,
        patch: bool = False,
        message: str | None = None,
        scan: bool = False,
    ) -> Self: ...
    @property
    def base(self) -> str | None: ...
    @property
    def quads(self) -> bool: ...
    @property
    def prefixes(self) -> dict[str, str]: ...

@disjoint_base
class ResultReader(BinaryReader):
    def __new__(cls, encoding: str, **limits: Any) -> Self: ...
    @property
    def variables(self) -> tuple[str, ...] | None: ...
