"""The protocol of the steps of a `Dataset`, the short steps, and the iterator over the items of a Dataset."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly.errors import JellyArgumentError

T = TypeVar("T")
Keys = np.ndarray[Any, np.dtype[np.uint64]]

# Rows that are held beyond those that are wanted, and Batches that are joined when there are so many.
SLACK, PIECES = 1 << 16, 256


# From Batches to Batches: a `Selection`, `Sort`, `Unique`, `Sample`, `Slice` or `Frames`, or a function. It may have
# two attributes: `needs_all` says whether it has read all statements when it gives the first, `is_random` whether it
# gives other statements each time.
Step: TypeAlias = Callable[[Iterable[Batch]], Iterator[Batch]]


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
        if fraction is not None and not 0 <= fraction <= 1:
            raise JellyArgumentError(f"fraction is {fraction}: expected a number from 0 to 1")
        for name, number in {"rows": rows, "seed": seed}.items():
            if number is not None and number < 0:
                raise JellyArgumentError(f"{name} is {number}: expected 0 or more")
        self._rows, self._fraction, self._seed = rows, fraction, seed
        self.needs_all = rows is not None
        self.is_random = seed is None

    def __call__(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        chance = np.random.PCG64(self._seed)  # None: of the system
        if self._rows is not None:
            return _some(batches, self._rows, chance)
        return _share(batches, self._fraction or 0.0, chance)


class Slice:
    """A step: a range of the statements. Nothing is read after its end."""

    def __init__(self, start: int, stop: int | None) -> None:
        self._start, self._stop = start, stop

    def __call__(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        at = 0
        if self._stop is not None and self._stop <= self._start:
            return
        for batch in batches:
            first, last = self._start - at, len(batch) if self._stop is None else self._stop - at
            at += len(batch)
            if first < len(batch):
                yield batch if first <= 0 and last >= len(batch) else select(batch, slice(max(first, 0), last))
            del batch  # before the next one takes memory
            if self._stop is not None and at >= self._stop:
                return


def rows_of(batch: Batch, frames: slice) -> tuple[int, int]:
    """The first row of some frames in a Batch, and the row after their last."""
    ends = [0, *batch.frames.tolist(), len(batch)]
    first, last = (
        ends[-1 if at is None else min(max(at - batch.first_frame, 0), len(ends) - 1)]
        for at in (frames.start or 0, frames.stop)
    )
    return first, last


class Frames:
    """A step: the statements of some frames of a Jelly stream. Nothing is read after them."""

    def __init__(self, wanted: slice) -> None:
        self.wanted = wanted

    def __call__(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        stop = self.wanted.stop
        for batch in batches:
            first, last = rows_of(batch, self.wanted)
            if first < last:
                yield select(batch, slice(first, last))
            if stop is not None and batch.first_frame + len(batch.frames) >= stop:
                return
            del batch  # before the next one takes memory


def merged(batches: Iterable[Batch]) -> Iterator[Batch]:
    """A step that stands for `Dataset.unique` of sorted sources, which are merged without repetition."""
    return iter(batches)


def triples(batches: Iterable[Batch]) -> Iterator[Batch]:
    """A step: all statements become triples. One of two graphs is there twice."""
    for batch in batches:
        yield select(batch, slice(None), triples=True)
        del batch  # before the next one takes memory


def refuse_places(columns: Iterable[str], steps: Sequence[Step], is_merge: bool) -> None:
    """Refuse columns that say where statements stand in their stream: no step keeps frames, and only a slice keeps the
    numbers of rows."""
    lost = {"frame", "metadata"}
    if is_merge or not all(isinstance(step, Slice) for step in steps):
        lost.add("row")
    if found := [name for name in columns if name in lost]:
        raise JellyArgumentError(
            f"the columns {', '.join(found)} are for sources as they are, or filtered once: other steps do not"
            " keep where a statement stands"
        )


class Items(Iterator[T]):
    """Batches or frames of a `Dataset`: an iterator, and an asynchronous iterable."""

    def __init__(self, dataset: Any, read: Callable[[Any], Iterator[T]]) -> None:
        self._dataset, self._read = dataset, read
        self._items: Iterator[T] | None = None

    def __repr__(self) -> str:
        return f"<items of {self._dataset!r}>"

    def __iter__(self) -> Iterator[T]:
        if self._items is None:
            self._items = iter(self._read(self._dataset))
        return self._items

    def __next__(self) -> T:
        return next(iter(self))

    def close(self) -> None:
        """End the reading; an error comes no more."""
        if self._items is not None:
            self._items.close()  # type: ignore[attr-defined]

    async def __aiter__(self) -> AsyncIterator[T]:
        from jelly._dataset.asynchronous import run

        def make(loop: Any) -> Iterator[T]:
            kind, (sources, *how) = self._dataset.__reduce__()
            sources = sources.but()
            sources.each = loop.bridged(sources.each)
            return self._read(kind(sources, *how))

        async for item in run(make):
            yield item
