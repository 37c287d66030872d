"""Thrift's compact protocol, as far as RDF Thrift needs it. Knows no RDF."""

def _skip_value(data: bytes, kind: int) -> int:
    """Bytes that a value takes. Raises what a reader would."""
