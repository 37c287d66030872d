"""Some statements by chance."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly.errors import JellyArgumentError

Keys = np.ndarray[Any, np.dtype[np.uint64]]

# Rows that are held beyond those that are wanted, and Batches that are joined when there are so many.
SLACK, PIECES = 1 << 16, 256


def _some(batches: Iterable[Batch], n: int, chance: np.random.PCG64) -> Iterator[Batch]:
    """``n`` rows, each set of them as likely as any other: those whose random numbers are the smallest."""
    held: list[tuple[Keys, Batch]] = []
    limit = np.uint64((1 << 64) - 1)
    rows = 0
    for batch in batches:
        keys = chance.random_raw(len(batch))
        wanted = keys <= limit
        if n and wanted.any():
            held.append((keys[wanted], select(batch, wanted)))
            rows += len(held[-1][0])
        del batch
        if rows > 2 * n + SLACK:
            limit = np.partition(np.concatenate([keys for keys, _ in held]), n - 1)[n - 1]
            held = [(keys[few], select(batch, few)) for keys, batch in held if (few := keys <= limit).any()]
            rows = sum(len(keys) for keys, _ in held)
        if len(held) > PIECES:
            held = [(np.concatenate([keys for keys, _ in held]), join_batches([batch for _, batch in held]))]
    taken = np.zeros(rows, bool)
    taken[np.argsort(np.concatenate([keys for keys, _ in held]), kind="stable")[:n] if held else []] = True
    for keys, batch in held:
        if taken[: len(keys)].any():
            yield select(batch, taken[: len(keys)])
        taken = taken[len(keys) :]


def _share(batches: Iterable[Batch], fraction: float, chance: np.random.PCG64) -> Iterator[Batch]:
    """Each row with the same chance."""
    for batch in batches:
        wanted = (chance.random_raw(len(batch)) >> np.uint64(11)) * 2.0**-53 < fraction
        if wanted.any():
            yield select(batch, wanted)
        del batch


class Sample:
    """A step of a `Dataset`: some statements, chosen by chance."""

    def __init__(self, rows: int | None, fraction: float | None, seed: int | None) -> None:
        if (rows is None) == (fraction is None):
            raise JellyArgumentError("give either rows=, how many statements, or fraction=, the chance of each")
        if rows is not None and rows < 0:
            raise JellyArgumentError(f"rows is {rows}: expected 0 or more")
        if fraction is not None and not 0 <= fraction <= 1:
            raise JellyArgumentError(f"fraction is {fraction}: expected a number from 0 to 1")
        if seed is not None and seed < 0:
            raise JellyArgumentError(f"seed is {seed}: expected 0 or more")
        self._rows, self._fraction, self._seed = rows, fraction, seed
        self.needs_all = rows is not None
        self.is_other = seed is None  # each time

    def __call__(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        chance = np.random.PCG64(secrets.randbits(128) if self._seed is None else self._seed)
        if self._rows is not None:
            return _some(batches, self._rows, chance)
        return _share(batches, self._fraction or 0.0, chance)
