from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from typing_extensions import Self, disjoint_base

from jelly._core.base.batch import Batch

@disjoint_base
class _RowWriter:
    def __new__(cls, encoding: str, *_: Any, **__: Any) -> Self: ...
    def encode(self, batch: Batch, keep_frames: bool | None = None) -> bytes: ...
    def chunks(self, batch: Batch, size: int = 1048576) -> Iterator[bytes]: ...
    def close(self) -> bytes: ...
    def __reduce__(self) -> Any: ...

@disjoint_base
class BinaryWriter(_RowWriter):
    def __new__(
        cls,
        encoding: str,
        *,
        prefixes: Mapping[str, str] | None = None,
        shorten: bool | None = None,
        values: bool = False,
        base: str | None = None,
        default_quads: bool = False,
        patch: bool = False,
    ) -> Self: ...

@disjoint_base
class ResultWriter(_RowWriter):
    def __new__(cls, encoding: str, variables: Iterable[str]) -> Self: ...
