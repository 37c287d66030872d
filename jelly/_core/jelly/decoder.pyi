from collections.abc import Iterator
from typing import Literal

from typing_extensions import Buffer, Self, disjoint_base

from jelly._core.base.batch import Batch
from jelly._core.base.push_reader import PushReader
from jelly._options.options import PatchOptions, StreamOptions

@disjoint_base
class Decoder(PushReader):
    options: StreamOptions | None  # of a patch PatchOptions
    quiet: bool  # no warnings: whoever sets it looks at restarts and at the statements
    def __new__(
        cls,
        *,
        delimited: bool | None = None,
        batch_rows: int = 32768,
        batch_bytes: int = ...,
        max_frame_bytes: int = ...,
        max_names: int = 4096,
        max_prefixes: int = 1024,
        max_datatypes: int = 256,
        max_frame_rows: int = 16777216,
        options: StreamOptions | PatchOptions | None = None,
        state: bytes | None = None,
        first_row: int = 0,
        first_frame: int = 0,
        offset: int = 0,
        patch: bool = False,
        place: int | None = None,
        joined: bool = False,
        unknown_rows: Literal["error", "skip"] = "error",
        strict: bool = False,
    ) -> Self: ...
    @property
    def frames(self) -> int: ...
    @property
    def place(self) -> int: ...
    @property
    def delimited(self) -> bool | None: ...
    @property
    def oddities(self) -> list[str]: ...
    @property
    def restarts(self) -> list[int]: ...
    @property
    def restated(self) -> tuple[int, int, int] | None: ...
    @property
    def in_message(self) -> bool: ...
    @property
    def whole(self) -> bool: ...
    @whole.setter
    def whole(self, value: bool) -> None: ...
    def pull(self, flush: bool = False) -> Batch | None: ...
    def decode_frame(self, data: Buffer) -> Batch: ...
    def _again(self) -> bool: ...
    def save(self) -> bytes: ...
    @property
    def offset(self) -> int: ...
    def feed(self, data: Buffer) -> Iterator[Batch]: ...
    def close(self) -> Iterator[Batch]: ...
