from collections import deque
from typing import Any

from jelly._core.jelly.decoder import Decoder

class ResultSet:
    variables: tuple[str, ...]
    boolean: bool | None
    links: tuple[str, ...]
    complete: bool | None

class ResultDecoder(Decoder):
    sets: deque[ResultSet]
    require_trailer: bool
    def __new__(cls, **limits: Any) -> ResultDecoder: ...
    @property
    def result_set(self) -> ResultSet | None: ...
    @property
    def variables(self) -> tuple[str, ...] | None: ...
