"""The protocol of the steps of a `Dataset`, the short steps, and the iterator over the items of a Dataset."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, TypeAlias, TypeVar

from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch

T = TypeVar("T")


# From Batches to Batches: a `Selection`, `Sort`, `Unique`, `Sample`, `Slice` or `Frames`, or a function. Its attribute
# `needs_all`, if it has one, says whether it has read all statements when it gives the first.
Step: TypeAlias = Callable[[Iterable[Batch]], Iterator[Batch]]


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
        from jelly._dataset.asynchronous import bridged, run

        def make(loop: Any, chunks: list[Any]) -> Iterator[T]:
            kind, (sources, *how) = self._dataset.__reduce__()
            sources = sources.but()
            sources.each = bridged(sources.each, loop, chunks)
            return self._read(kind(sources, *how))

        async for item in run(make):
            yield item
