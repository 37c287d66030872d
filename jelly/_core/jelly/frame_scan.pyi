"""Counts rows and bytes of a Jelly stream by kind and by frame, and finds where rows are, without decoding it."""

import builtins

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer, Self, disjoint_base

KINDS: tuple[str, ...]
PATCH_KINDS: tuple[str, ...]
TERM_PARTS: tuple[tuple[str, ...], ...]
COLUMN_PARTS: tuple[str, ...]
PLACES: tuple[str, ...]

@disjoint_base
class RowCounter:
    """Counts the rows of a Jelly stream by kind and their bytes. Terms are not decoded, references are not checked.

    With ``patch=True`` the stream is Jelly-Patch; ``kinds`` are the names of the kinds, `KINDS` or `PATCH_KINDS`.
    Fed like a `Decoder`: ``feed(chunk)``, then ``close()``. With ``per_frame`` the counts of each frame are kept too
    (`take_frames`), of ``max_frames`` frames at most, with ``places`` where each row stands that is no lookup entry
    (`take_places`), with ``sizes`` the `parts` of statements.

    >>> import jelly
    >>> counter = RowCounter()
    >>> counter.feed(jelly.dumps([jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))]))
    >>> counter.close()
    >>> counter.frames, counter.rows["triple"], counter.rows["name"]
    (1, 1, 2)
    """
    kinds: tuple[str, ...]
    metadata: dict[str, int]
    def __new__(
        cls,
        *,
        delimited: bool | None = None,
        max_frame_bytes: int = ...,
        per_frame: bool = False,
        places: bool = False,
        max_frames: int = ...,
        patch: bool = False,
        sizes: bool = False,
    ) -> Self: ...
    @property
    def frames(self) -> int:
        """Frames walked to their end."""
    @property
    def statements(self) -> int:
        """Rows of triples and quads; of a patch, of statements added and deleted."""
    @property
    def bytes(self) -> int:
        """Bytes of the stream that belong to frames begun so far, with what tells their length."""
    @property
    def frame_bytes(self) -> int:
        """Bytes of the frames themselves."""
    @property
    def metadata_bytes(self) -> int:
        """Bytes of frame metadata."""
    @property
    def rows(self) -> dict[str, int]:
        """Number of rows of each kind."""
    @property
    def row_bytes(self) -> dict[str, int]:
        """Bytes of the rows of each kind, tag and length included."""
    @property
    def parts(self) -> dict[str, tuple[int, int]]:
        """With ``sizes``: values and bytes of the terms of rows by kind, of the lists of columns, of the lengths of
        messages. Those that do not occur are left out.
        """
    @property
    def delimited(self) -> bool | None:
        """Whether the stream is delimited; None as long as that is not known."""
    @property
    def restarts(self) -> list[int]:
        """Where another stream seems to begin, see `Decoder.restarts`."""
    def feed(self, data: Buffer) -> None:
        """Count a chunk of bytes: all frames that are complete by now."""
    def close(self) -> None:
        """End the input. Raises JellyTruncatedError inside a frame."""
    def take_frames(self) -> tuple[NDArray[np.int64], list[tuple[int, str, builtins.bytes, int]]]:
        """The frames finished since the last call: int64 columns offset, size, bytes of metadata, rows of each of
        ``kinds``, bytes of each; and the metadata: (frame, key, first bytes of the value, length of the value).
        """
    def take_places(self) -> NDArray[np.int64]:
        """The rows since the last call that are no lookup entries: int64 columns index into ``kinds``, frame, row in
        the frame, offset in the stream.
        """
