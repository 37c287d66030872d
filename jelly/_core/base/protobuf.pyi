"""Protocol Buffers wire format: a Reader of two pointers and a growing Writer. Independent of message types."""

def _take_varint(data: bytes) -> tuple[int, int]:
    """The value and the number of bytes read; the value is -1 if the varint is malformed."""
def _take_span(data: bytes) -> bytes | None:
    """The bytes of a length-prefixed span, or None if it is cut off."""
def _skip_field(data: bytes) -> int:
    """Number of bytes of the first field of `data`, with its tag, or -1 if it is malformed."""
def _put_varint(value: int) -> bytes:
    """The varint of `value` (0 to 2**64 - 1), checked against its measured length."""
