"""Protocols of readers and writers of all formats: bytes become Batches, Batches become bytes."""

from __future__ import annotations

from typing import Any, Protocol, TypedDict

from jelly._core.base.batch import Batch


class Framing(TypedDict):
    """How a stream of Jelly is cut into frames: keywords of `jelly.Encoder`, for formats that have frames."""

    frame_rows: int | None
    frame_bytes: int
    delimited: bool
    keyframe_rows: int


class BatchReader(Protocol):
    """A reader that is fed with chunks of bytes, such as `jelly._core.base.push_reader.PushReader`.

    It may also have ``options`` (the stream options once they are read), ``skipped`` and ``n_skipped``; those of query
    results have ``variables``, which are known with the first Batch.
    """

    @property
    def statements(self) -> int:
        """Number of statements read so far."""

    def push(self, data: Any, /) -> None:
        """Add the next chunk. The chunk before must be used up: ``pull`` returned None."""

    def finish(self) -> None:
        """Declare the end of the input."""

    def pull(self, flush: bool = False, /) -> Batch | None:
        """The next full Batch; None if more bytes are needed. With ``flush`` a partial Batch counts as full."""


class BatchWriter(Protocol):
    """A writer: `jelly.Encoder`, `TextWriter`, `BinaryWriter` and `SyntaxWriter` are such.

    It may also have ``options``, the stream options that it writes.
    """

    def encode(self, batch: Batch, keep_frames: bool | None = None) -> bytes:
        """The bytes that this Batch completes. ``keep_frames`` is for formats with frames."""

    def close(self) -> bytes:
        """The bytes that end the stream."""


def declared_in(batch: Batch) -> dict[int, list[tuple[str, str]]]:
    """The prefixes and IRIs of the namespaces that each frame of a Batch declares."""
    declared: dict[int, list[tuple[str, str]]] = {}
    for _, frame, name, iri in batch.namespaces:
        declared.setdefault(frame, []).append((name, iri))
    return declared
