"""Validation of UTF-8."""

def _check_utf8(data: bytes, start: int = 0) -> int:
    """Offset of the first byte of `data` from `start` on that is not UTF-8, or -1."""
