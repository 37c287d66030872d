"""Datasets read without blocking the event loop, among them asynchronous streams of chunks."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as Waiting
from typing import Any, TypeVar

from jelly._bytes.source import CHUNK
from jelly._bytes.workers import Workers
from jelly.errors import JellyUnsupportedError

T = TypeVar("T")

# Seconds after which a thread looks whether the loop that it waits for is still there.
_LOOK = 1.0


async def run(read: Callable[[Loop], Iterator[T]]) -> AsyncIterator[T]:
    """The items of an iterator, which a thread of its own makes, and ends with the last item.

    ``read`` gets the running loop, which makes the chunks of asynchronous sources.
    """
    loop = Loop(asyncio.get_running_loop())
    end: Any = object()

    def made() -> Iterator[T]:
        yield from read(loop)

    items: Any = made()
    # Not one of the threads that all share: it may wait for the next chunk for long.
    workers = Workers(1, beside=True)
    try:
        while (item := await asyncio.wrap_future(workers.submit(next, items, end), loop=loop.loop)) is not end:
            yield item
    finally:
        loop.cancel()
        # When the thread is done with the item that it may be at.
        workers.submit(items.close).add_done_callback(lambda _: workers.drop())


class Loop:
    """An event loop that makes chunks, for which threads wait until that is of no use any more."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._is_over = False
        self._waiting: set[Future[Any]] = set()

    def bridged(self, src: Any) -> Any:
        """A source with its asynchronous parts as iterators of chunks."""
        if isinstance(src, list | tuple):
            return [*map(self.bridged, src)]
        is_file = inspect.iscoroutinefunction(getattr(src, "read", None))
        return Chunks(src, is_file, self) if is_file or hasattr(src, "__aiter__") else src

    def wait(self, following: Coroutine[Any, Any, T]) -> T:
        """What a coroutine gives."""
        if asyncio._get_running_loop() is self.loop:  # this thread would wait for itself
            following.close()
            raise JellyUnsupportedError("no asynchronous source can be read when Python ends, as no thread can start")
        try:
            if self._is_over:
                raise CancelledError
            waiting = asyncio.run_coroutine_threadsafe(following, self.loop)
        except (CancelledError, RuntimeError):  # the loop is closed
            following.close()
            raise
        self._waiting.add(waiting)
        if self._is_over:  # since the first look
            waiting.cancel()
        while True:
            try:
                found = waiting.result(_LOOK)
            except Waiting:
                if waiting.done() or self.loop.is_closed():
                    raise
                continue
            self._waiting.discard(waiting)
            return found

    def cancel(self) -> None:
        self._is_over = True
        for each in [*self._waiting]:
            each.cancel()


class Chunks:
    """The chunks of an asynchronous source, for a thread; the loop of it makes them."""

    is_live = True

    def __init__(self, src: Any, is_file: bool, loop: Loop) -> None:
        self.origin = src
        self._loop = loop
        self._iterator: Any = None if is_file else src.__aiter__()

    async def _following(self) -> Any:
        """The next chunk; None at the end."""
        if self._iterator is None:
            return await self.origin.read(CHUNK) or None
        return await anext(self._iterator, None)

    def __iter__(self) -> Chunks:
        return self

    def __next__(self) -> Any:
        chunk = self._loop.wait(self._following())
        if chunk is None:
            raise StopIteration
        return chunk
