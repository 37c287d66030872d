from collections.abc import Iterator

import pytest
from interop.peer import Peer, Unavailable


@pytest.fixture(scope="session")
def peer() -> Iterator[Peer]:
    """Jelly-JVM, built if need be."""
    try:
        peer = Peer()
    except Unavailable as reason:
        pytest.skip(str(reason))
    yield peer
    peer.close()
