from collections.abc import Iterator

from typing_extensions import Self, disjoint_base

from jelly._core.base.batch import Batch

@disjoint_base
class TextResultWriter:
    def __new__(
        cls,
        syntax: str,
        variables: tuple[str, ...],
        head: bytes,
        foot: bytes,
        parts: tuple[bytes, ...],
        before_cells: tuple[bytes, ...],
    ) -> Self: ...
    def encode(self, batch: Batch, keep_frames: bool | None = None) -> bytes: ...
    def chunks(self, batch: Batch, size: int = 262144) -> Iterator[bytes]: ...
    def close(self) -> bytes: ...
