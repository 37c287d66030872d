"""See sha2.pxd. The constants are computed: they are bits of roots of primes, as FIPS 180-4 says."""

def _digest(data: bytes, wide: bool = False, step: int = 1000) -> str:
    """The digest of bytes that are added `step` at a time, for the tests."""
