"""Datasets read without blocking the event loop, among them asynchronous streams of chunks."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as Waiting
from typing import Any, TypeVar

from jelly._bytes.source import CHUNK
from jelly._bytes.workers import Workers

T = TypeVar("T")

# Seconds after which a thread looks whether the loop that it waits for is still there.
_LOOK = 1.0


async def run(read: Callable[[asyncio.AbstractEventLoop, list[Chunks]], Iterator[T]]) -> AsyncIterator[T]:
    """The items of an iterator, which a thread of its own makes, and ends with the last item.

    ``read`` gets the loop, and a list for the chunks of asynchronous sources, see `bridged`.
    """
    loop = asyncio.get_running_loop()
    chunks: list[Chunks] = []
    items: Iterator[T] | None = None
    end: Any = object()
    is_over = False

    def advance() -> T:
        nonlocal items
        if items is None:
            items = read(loop, chunks)
            if is_over:  # since before there were chunks to cancel
                cancel()
        return next(items, end)

    def cancel() -> None:
        for each in chunks:
            each.cancel()

    def close() -> None:
        if items is not None:
            items.close()  # type: ignore[attr-defined]

    # Not one of the threads that all share: it may wait for the next chunk for long.
    workers = Workers(1, beside=True)
    try:
        while (item := await asyncio.wrap_future(workers.submit(advance), loop=loop)) is not end:
            yield item
    finally:
        is_over = True
        cancel()
        # When the thread is done with the item that it may be at.
        workers.submit(close).add_done_callback(lambda _: workers.drop())


class Chunks:
    """The chunks of an asynchronous source, for a thread; the loop of it makes them."""

    is_live = True

    def __init__(self, src: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.origin = src
        self._loop = loop
        self._is_over = False
        self._waiting: Future[Any] | None = None
        self._read = src.read if inspect.iscoroutinefunction(getattr(src, "read", None)) else None
        self._iterator: Any = src.__aiter__() if self._read is None else None

    async def _following(self) -> Any:
        """The next chunk; None at the end."""
        if self._read is not None:
            return await self._read(CHUNK) or None
        return await anext(self._iterator, None)

    def __iter__(self) -> Chunks:
        return self

    def __next__(self) -> Any:
        if self._is_over:
            raise CancelledError
        following = self._following()
        try:
            self._waiting = asyncio.run_coroutine_threadsafe(following, self._loop)
        except RuntimeError:  # the loop is closed
            following.close()
            raise
        if self._is_over:  # since the first look
            self._waiting.cancel()
        while True:
            try:
                chunk = self._waiting.result(_LOOK)
            except Waiting:
                if self._waiting.done() or self._loop.is_closed():
                    raise
                continue
            if chunk is None:
                raise StopIteration
            return chunk

    def cancel(self) -> None:
        self._is_over = True
        if self._waiting is not None:
            self._waiting.cancel()


def bridged(src: Any, loop: asyncio.AbstractEventLoop, made: list[Chunks]) -> Any:
    """A source with its asynchronous parts as iterators of chunks."""
    if isinstance(src, list | tuple):
        return [bridged(each, loop, made) for each in src]
    if hasattr(src, "__aiter__") or inspect.iscoroutinefunction(getattr(src, "read", None)):
        made.append(Chunks(src, loop))
        return made[-1]
    return src
