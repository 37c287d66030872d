"""Threads for the parts of one conversion: a bounded number of parts is under way, and results come in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from jelly.errors import JellyArgumentError

if TYPE_CHECKING:
    from jelly._io.source import Source

__all__ = ["Window", "Workers", "count_cores", "in_order"]

T = TypeVar("T")
R = TypeVar("R")

# Parts that wait for a thread, or whose results wait for their turn, beside one for each thread.
AHEAD = 2


def count_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


class Workers:
    """Some threads, for one conversion. A part never waits for another one, so the order in which they run is free.

    With one thread there is none but the caller's, who does each part at once.
    """

    def __init__(self, threads: int) -> None:
        if threads < 1:
            raise JellyArgumentError(f"threads is {threads}: expected 1 or more")
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads, "jelly") if threads > 1 else None

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the threads. Parts that were not begun are not done, and those under way take a part of a second."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def submit(self, work: Callable[..., R], *args: Any) -> Future[R]:
        """Have a part done, as soon as a thread is free."""
        if self._pool is not None:
            return self._pool.submit(work, *args)
        done: Future[R] = Future()
        try:
            done.set_result(work(*args))
        except Exception as error:  # raised where the result is taken
            done.set_exception(error)
        return done

    def read_ahead(self, items: Iterator[T], source: Source) -> Iterator[T]:
        """What an iterator over a source gives, made in a thread of its own where there are several threads.

        Only for files: a thread that waits for a pipe could not be ended.
        """
        if self.threads == 1 or not os.path.isfile(source.name):
            return items
        from jelly._seekable.index import pipelined

        return pipelined(iter([lambda: items]), 1)


class Window(Generic[R]):
    """Parts under way, in order. Its caller gives parts and takes what is ready; no more than a few wait."""

    def __init__(self, workers: Workers, ahead: int = AHEAD) -> None:
        self._workers = workers
        self._most = workers.threads + ahead if workers.threads > 1 else 0
        self._waiting: deque[Future[R]] = deque()

    def put(self, work: Callable[..., R], *args: Any) -> None:
        """Have a part done. To be followed by `ready`."""
        self._waiting.append(self._workers.submit(work, *args))

    def ready(self) -> Iterator[R]:
        """The results whose turn it is. Waits for some where too many parts are under way."""
        while self._waiting and (len(self._waiting) > self._most or self._waiting[0].done()):
            yield self._waiting.popleft().result()

    def rest(self) -> Iterator[R]:
        """All results that are left."""
        while self._waiting:
            yield self._waiting.popleft().result()

    def drop(self) -> None:
        """Forget all parts."""
        while self._waiting:
            self._waiting.popleft().cancel()


def in_order(
    workers: Workers, items: Iterable[T], work: Callable[[T], R], ahead: int = AHEAD
) -> Iterator[tuple[T, R]]:
    """Each item with the result of ``work`` for it, in order. An error of ``items`` is raised behind them."""
    window: Window[tuple[T, R]] = Window(workers, ahead)
    iterator = iter(items)
    broken: Exception | None = None

    def done(item: T) -> tuple[T, R]:
        return item, work(item)

    try:
        while True:
            try:
                item = next(iterator)
            except StopIteration:
                break
            except Exception as error:
                broken = error
                break
            window.put(done, item)
            del item
            yield from window.ready()
        yield from window.rest()
        if broken is not None:
            raise broken
    finally:
        window.drop()
