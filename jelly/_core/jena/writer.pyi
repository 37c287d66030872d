from collections.abc import Iterable, Mapping
from typing import Any

from typing_extensions import Self, disjoint_base

from jelly._core.rules.row_writer import RowWriter

@disjoint_base
class _RowWriter(RowWriter):
    def __new__(cls, encoding: str, *_: Any, **__: Any) -> Self: ...

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

class ResultWriter(_RowWriter):
    def __new__(cls, encoding: str, variables: Iterable[str]) -> Self: ...
