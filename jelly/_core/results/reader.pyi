from typing_extensions import Self, disjoint_base

from jelly._core.base.push_reader import PushReader

@disjoint_base
class TextResultReader(PushReader):
    def __new__(
        cls, syntax: str, *, batch_rows: int = 4096, max_document_bytes: int = 268435456, max_text_bytes: int = 67108864
    ) -> Self: ...
    @property
    def variables(self) -> tuple[str, ...] | None: ...
    @property
    def boolean(self) -> bool | None: ...
    @property
    def links(self) -> tuple[str, ...]: ...
