"""Threads, of which this module has all: a bounded number of parts is under way, and results come in order.

The garbage collector may end an iterator in any thread at any place, also where that thread starts another one or holds
a lock of a pool. So the law is:

- What a generator does at its early end (GeneratorExit) and what ``__del__`` does waits for no thread, starts none,
  gives none work, and takes no lock that its own thread may hold: `Workers.drop`, `Window.drop`. To set a flag, to
  cancel parts and to tell an idle thread to end take locks of the dropped pool alone, which nobody else has.
- Threads are waited for where the work ends as it should, or with an error: `Workers.close`.
- No part waits for whoever takes its result, only for work. So Python ends the threads when it ends, whatever was not
  read to its end.
- A file that a thread may be reading is closed by whoever is the last: `jelly._bytes.raw_bytes.closing_last`.
- When Python ends, as in a handler of `atexit`, no thread can start: the caller does each part at once.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from threading import main_thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from jelly._options.settings import checked
from jelly.errors import JellyArgumentError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from jelly._bytes.source import Source

T = TypeVar("T")
R = TypeVar("R")

# Parts that wait for a thread, or whose results wait for their turn, beside one for each thread.
AHEAD = 2
# Items of a task of `pipelined` that may wait to be taken: the Batches of a segment of usual size.
DEPTH = 8
# So many are taken before others are made.
_STEP = DEPTH // 2


def idle_cores(load: str = "/proc/loadavg") -> int:
    """The number of cores that this process may use and that nobody else is using now, at least 1."""
    every = os.cpu_count() or 1
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else every
    running = 1
    with suppress(OSError, ValueError, IndexError), open(load) as file:
        # Threads that run or could run on the whole machine, this one among them.
        running = int(file.read().split()[3].partition("/")[0])
    return max(1, min(own, every + 1 - running))


class Workers:
    """Some threads, for one conversion. A part never waits for another one, so the order in which they run is free.

    With one thread there is none but the caller's, who does each part at once; with ``beside`` it is another one.
    """

    def __index__(self) -> int:
        """The number of threads: a writer takes these threads, or makes as many."""
        return self.threads

    @checked()
    def __init__(self, threads: int, *, beside: bool = False) -> None:
        if threads < 1:
            raise JellyArgumentError(f"threads is {threads}: expected 1 or more")
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None
        if (threads > 1 or beside) and main_thread().is_alive():
            from concurrent.futures import ThreadPoolExecutor  # which cannot be imported when Python ends

            self._pool = ThreadPoolExecutor(threads, "jelly-beside" if beside else "jelly")

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, GeneratorExit):
            self.drop()
        else:
            self.close()

    def close(self) -> None:
        """End the threads. Parts that were not begun are not done, and those under way take a part of a second."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def drop(self) -> None:
        """End the threads, and wait for none: that is allowed everywhere."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def submit(self, work: Callable[..., R], *args: Any) -> Future[R]:
        """Have a part done, as soon as a thread is free."""
        if self._pool is not None and main_thread().is_alive():
            return self._pool.submit(work, *args)
        done: Future[R] = Future()
        try:
            done.set_result(work(*args))
        except Exception as error:  # raised where the result is taken
            done.set_exception(error)
        return done

    def read_ahead(self, items: Iterator[T], source: Source) -> Iterator[T]:
        """The items of an iterator over a source, made in a thread of its own where there are several threads.

        Only for files: a thread that waits for a pipe could not be ended.
        """
        if self.threads == 1 or not os.path.isfile(source.name):
            return items
        return pipelined(iter([lambda: items]), 1)


class Window(Generic[R]):
    """Parts under way, in order. Its caller gives parts and takes what is ready; no more than a few wait."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._most = workers.threads + AHEAD if workers.threads > 1 else 0
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


def in_order(workers: Workers, items: Iterable[T], work: Callable[[T], R]) -> Iterator[tuple[T, R]]:
    """Each item with the result of ``work`` for it, in order. An error of ``items`` is raised after them."""
    window: Window[tuple[T, R]] = Window(workers)
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


_END = object()


class _Run(Generic[T]):
    """A task of `pipelined`. Its items are made by one thread after the other, as far as there is room for them."""

    def __init__(self, task: Callable[[], Iterator[T]]) -> None:
        self._items: Callable[[], T] | None = None
        self._task = task
        self.room = deque([None] * DEPTH)  # where it grows, `make` is to be called, in any thread
        self._turn = allocate_lock()
        self.made: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        self.is_over = False

    def make(self) -> None:
        """Make items until there is no room. A thread that is at it when there is more room goes on."""
        while self.room and not self.is_over and self._turn.acquire(False):
            try:
                if self._items is None:
                    self._items = iter(self._task()).__next__
                while self.room and not self.is_over:
                    self.room.pop()
                    self.made.put((self._items(), None))
            except BaseException as error:  # noqa: B902 - raised where the items are taken
                self.is_over = True
                self.made.put((_END, None if isinstance(error, StopIteration) else error))
            finally:
                self._turn.release()


def pipelined(tasks: Iterator[Callable[[], Iterator[T]]], threads: int) -> Iterator[T]:
    """The items of all ``tasks`` in order, made by threads; of each at most `DEPTH` that are not taken yet.

    >>> list(pipelined(iter([lambda: iter("ab"), lambda: iter("c")]), 2))
    ['a', 'b', 'c']
    """
    runs: deque[_Run[T]] = deque()
    with Workers(threads, beside=True) as workers:
        try:
            while True:
                for task in islice(tasks, threads + 1 - len(runs)):
                    runs.append(_Run(task))
                    workers.submit(runs[-1].make)
                if not runs:
                    break
                run = runs[0]
                taken = 0
                while True:
                    item, error = run.made.get()
                    if item is _END:
                        break
                    taken += 1
                    if taken % _STEP == 0:
                        run.room.extend([None] * _STEP)
                        workers.submit(run.make)
                    yield item
                    del item
                runs.popleft()
                if error is not None:
                    raise error
        finally:
            for run in runs:
                run.is_over = True
