from collections.abc import Iterator
from typing import Any, Literal

from typing_extensions import Buffer, Self, disjoint_base

from jelly._core.base.batch import Batch
from jelly._core.base.push_reader import PushReader

@disjoint_base
class TextReader(PushReader):
    n_skipped: int
    skipped: list[tuple[int, str]]
    skipped_at: list[int]
    def __new__(
        cls,
        *,
        quads: bool,
        strict: bool = False,
        rdf: str | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        batch_rows: int | None = None,
        batch_bytes: int = 16777216,
        max_line_bytes: int = 67108864,
        patch: bool = False,
        messages: Literal["comment", "directive", "either"] | None = None,
        announced: bool = False,
        trailing: Literal["open", "close"] = "open",
        max_message_bytes: int = 268435456,
    ) -> Self: ...
    @property
    def line(self) -> int: ...
    @property
    def held_bytes(self) -> int: ...
    @property
    def messages(self) -> int: ...
    def skim(self) -> None: ...
    def namespace(self, name: str, iri: str) -> None: ...
    def pull(self, flush: bool = False) -> Batch | None: ...
    def feed(self, data: Buffer) -> Iterator[Batch]: ...
    def close(self) -> Iterator[Batch]: ...

@disjoint_base
class TextWriter:
    def __new__(
        cls,
        quads: bool,
        patch: bool = False,
        marked: bool = False,
        keep_labels: bool = False,
        quoted: Literal["rdf-1.2", "rdf-star"] = "rdf-1.2",
        fitted: bool = False,
    ) -> Self: ...
    def encode(self, batch: Batch, keep_frames: bool | None = None) -> bytes: ...
    def close(self) -> bytes: ...
    def chunks(self, batch: Batch, size: int = 1048576, start: int = 0, stop: int | None = None) -> Iterator[bytes]: ...
    def frames(self, batch: Batch) -> list[bytes]: ...
    def __reduce__(self) -> Any: ...
