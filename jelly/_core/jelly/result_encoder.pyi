from collections.abc import Sequence
from typing import Any

from typing_extensions import Self, disjoint_base

from jelly._core.jelly.encoder import Encoder
from jelly._options.result_options import ResultOptions

@disjoint_base
class ResultEncoder(Encoder):
    def __new__(cls, options: ResultOptions, *, frame_rows: int | None = None, **_: Any) -> Self: ...
    def begin(self, variables: Sequence[str], boolean: bool | None = None, links: Sequence[str] = ()) -> None: ...
    def end_set(self, error: str = "") -> bytes: ...
