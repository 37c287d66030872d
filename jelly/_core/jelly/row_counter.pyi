import builtins

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from jelly._core.jelly.decoder import Decoder

KINDS: dict[str, int]
PATCH_KINDS: dict[str, int]
TERM_PARTS: tuple[tuple[str, ...], ...]
COLUMN_PARTS: tuple[str, ...]
PLACES: tuple[str, ...]

@disjoint_base
class RowCounter(Decoder):
    kinds: dict[str, int]
    metadata: dict[str, int]
    def want(
        self, *, skim: bool = False, places: bool = False, sizes: bool = False, max_frames: int = -1
    ) -> None: ...
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
    def take_frames(self) -> tuple[NDArray[np.int64], list[tuple[int, str, builtins.bytes, int]]]: ...
    def take_places(self) -> NDArray[np.int64]: ...
