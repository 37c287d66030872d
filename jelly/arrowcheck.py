"""Arrow from outside is checked before pyarrow computes with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from jelly.errors import JellyFormatError
from jelly.guard import memory_error

__all__ = ["checked", "validated"]


def validated(
    batches: Iterable[Any], *, full: bool = True, of_file: bool = False
) -> Iterator[Any]:
    """Record batches whose buffers are as long as they must be, with ``full`` also all that they hold: kernels of
    pyarrow
    rely on it, and end the process where it is not so. JellyFormatError, or JellyLimitError where memory is short.

    An OSError means that a file is broken where they come out of one (``of_file``), else it is the caller's own.
    What another library handed over through the C interface must be right: that tells no sizes to check against.
    """
    iterator = iter(batches)
    n = 0
    while True:
        with checked(f"record batch {n}", of_file):
            batch = next(iterator, None)
            if batch is not None:
                batch.validate(full=full)
        if batch is None:
            return
        yield batch
        del batch
        n += 1


@contextmanager
def checked(what: str, of_file: bool = False) -> Iterator[None]:
    """Within this, what pyarrow finds wrong with ``what`` is one of our errors."""
    from jelly.arrow import pa

    try:
        yield
    except MemoryError as error:  # that of pyarrow among them
        raise memory_error(error) from None
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise JellyFormatError(f"{what} is broken: {error}") from None
    except OSError as error:
        if error.errno is not None or not of_file:  # of the disk, or of whoever gives the rows
            raise
        raise JellyFormatError(f"{what} is broken: {error}") from None
