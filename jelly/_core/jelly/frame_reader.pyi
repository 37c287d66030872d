from collections.abc import Iterable

DELIMITED: int

def split_frames(chunks: Iterable[bytes], framing: int = -1, max_frame: int = ...) -> list[tuple[int, bytes]]: ...
