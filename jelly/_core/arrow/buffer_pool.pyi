from typing import final

@final
class Pool: ...

# Exports the buffer protocol, which stubs can only tell of since Python 3.12.
@final
class Buffer:
    def __len__(self) -> int: ...
