from typing_extensions import Self, disjoint_base

from jelly._core.rules.row_writer import RowWriter

@disjoint_base
class TextResultWriter(RowWriter):
    def __new__(
        cls,
        syntax: str,
        variables: tuple[str, ...],
        head: bytes,
        foot: bytes,
        parts: tuple[bytes, ...],
        before_cells: tuple[bytes, ...],
    ) -> Self: ...
