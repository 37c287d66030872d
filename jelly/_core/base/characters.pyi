"""Character classes of N-Triples, and searches for the end of a run of bytes, eight bytes at a time."""

def _find_escape(data: bytes, iri: bool) -> int:
    """Offset of the first byte of `data` that needs an escape in an IRI or a literal, or the length of `data`."""
