"""Memory of Arrow columns, in blocks that are used again when the consumer drops a column."""

from typing import final

@final
class Pool:
    """Blocks of memory that were columns and will be again: the first touch of fresh memory costs more than filling it.

    It lives as long as the reading and the last column; what is kept is bounded. A thread that comes while another takes
    or gives a block does without the Pool.
    """

# Exports the buffer protocol, which stubs can only tell of since Python 3.12.
@final
class Buffer:
    """Memory of its own, to be shared by the buffer protocol; in the end it goes back to the Pool."""
    def __len__(self) -> int: ...
