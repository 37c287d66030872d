import builtins

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer, Self, disjoint_base

KINDS: tuple[str, ...]
PATCH_KINDS: tuple[str, ...]
TERM_PARTS: tuple[tuple[str, ...], ...]
COLUMN_PARTS: tuple[str, ...]
PLACES: tuple[str, ...]

@disjoint_base
class RowCounter:
    kinds: tuple[str, ...]
    metadata: dict[str, int]
    def __new__(
        cls,
        *,
        delimited: bool | None = None,
        max_frame_bytes: int = ...,
        per_frame: bool = False,
        places: bool = False,
        max_frames: int = ...,
        patch: bool = False,
        sizes: bool = False,
    ) -> Self: ...
    @property
    def frames(self) -> int: ...
    @property
    def statements(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def frame_bytes(self) -> int: ...
    @property
    def metadata_bytes(self) -> int: ...
    @property
    def rows(self) -> dict[str, int]: ...
    @property
    def row_bytes(self) -> dict[str, int]: ...
    @property
    def parts(self) -> dict[str, tuple[int, int]]: ...
    @property
    def delimited(self) -> bool | None: ...
    @property
    def restarts(self) -> list[int]: ...
    def feed(self, data: Buffer) -> None: ...
    def close(self) -> None: ...
    def take_frames(self) -> tuple[NDArray[np.int64], list[tuple[int, str, builtins.bytes, int]]]: ...
    def take_places(self) -> NDArray[np.int64]: ...
