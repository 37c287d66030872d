"""What the program of libFuzzer calls: one harness, by its name."""

from __future__ import annotations

import random
from collections.abc import Callable

from fuzz.readers import HARNESSES
from fuzz.structure import MutateBytes, mutate

__all__ = ["open_harness"]


def open_harness(
    name: str, mutate_bytes: MutateBytes
) -> tuple[Callable[[bytes], None], Callable[..., bytes] | None, bool]:
    """The function that tests an input, the one that makes another input of one, and whether lines of Python count."""
    harness = HARNESSES[name]
    structure = harness.structure
    if structure is None:
        return harness.run, None, harness.lines

    def change(data: bytes, max_size: int, seed: int) -> bytes:
        return mutate(structure, data, max_size, random.Random(seed), mutate_bytes)

    return harness.run, change, harness.lines
