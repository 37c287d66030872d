"""Finds the frames of delimited and bare streams in chunks of any size. Knows no row."""

from collections.abc import Iterable

DELIMITED: int

def split_frames(chunks: Iterable[bytes], framing: int = -1, max_frame: int = ...) -> list[tuple[int, bytes]]:
    r"""The frames of a stream that comes in chunks: offset and bytes of each. Raises what the Decoder would.

    >>> split_frames([b"\x01a\x02bc"], DELIMITED)
    [(1, b'a'), (3, b'bc')]
    """
