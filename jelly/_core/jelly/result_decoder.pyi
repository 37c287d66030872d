from collections import deque
from typing import Any

from typing_extensions import Self, disjoint_base

from jelly._core.jelly.decoder import Decoder

@disjoint_base
class ResultSet:
    variables: tuple[str, ...]
    boolean: bool | None
    links: tuple[str, ...]
    complete: bool | None
    def __new__(cls, variables: tuple[str, ...], boolean: bool | None) -> Self: ...

@disjoint_base
class ResultDecoder(Decoder):
    sets: deque[ResultSet]
    require_trailer: bool
    def __new__(cls, **_: Any) -> Self: ...
    @property
    def result_set(self) -> ResultSet | None: ...
    @property
    def variables(self) -> tuple[str, ...] | None: ...
