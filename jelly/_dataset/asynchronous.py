"""``jelly.aread``: sources read without blocking the event loop, among them asynchronous streams of chunks."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as Waiting
from typing import Any, TypeVar

from jelly._bytes.source import CHUNK
from jelly._bytes.workers import Workers
from jelly._core.base.batch import Batch
from jelly._core.terms.model import Quad, Triple
from jelly._dataset.blank_node_scope import Mode
from jelly._dataset.sources import Sources
from jelly._formats.registry import READING, VERSIONS
from jelly._options.settings import checked
from jelly._streams.reader import READ_ROWS, Frame

__all__ = ["AsyncReader", "aread"]

T = TypeVar("T")

# Seconds after which a thread looks whether the loop that it waits for is still there.
_LOOK = 1.0


class AsyncReader:
    """Read RDF without blocking the event loop: a thread of its own decodes, and ends with the last item.

    Iterate over it with ``async for`` for statements, or call `batches` or `frames`; each reads from the start, as far
    as the source can be read again. What each chunk of an asynchronous source completes is given at once, except in the
    formats of pyoxigraph, where ``batch_rows`` statements are collected.

    Parameters
    ----------
    src : Any
        The input: an asynchronous iterable of chunks of bytes, an object whose ``read`` is a coroutine
        (``asyncio.StreamReader``, ``aiohttp.ClientResponse.content``), or anything that `read` takes, also a list of
        these.
    blank_nodes : {"scope", "keep", "skolemize"}, optional
        Labels of blank nodes, see `find`: by default several sources have scopes, and one keeps its labels.
    skolem_base : str, optional
        What the IRIs of skolemized blank nodes begin with.
    **settings : Any
        Keywords of `Reader`.

    Raises
    ------
    JellyError
        If the input is wrong, after the statements before the error.

    Examples
    --------
    >>> import asyncio, jelly
    >>> async def chunks():
    ...     yield b"<a:s> <a:p> "
    ...     yield b"<a:o> ."
    >>> async def count():
    ...     return [len(frame) async for frame in jelly.AsyncReader(chunks(), format="nt").frames()]
    >>> asyncio.run(count())
    [1]
    """

    @checked(READING, VERSIONS)
    def __init__(
        self, src: Any, *, blank_nodes: Mode | None = None, skolem_base: str | None = None, **settings: Any
    ) -> None:
        self._src = src
        self._settings: dict[str, Any] = {"blank_nodes": blank_nodes, "skolem_base": skolem_base, **settings}

    def __repr__(self) -> str:
        return f"<jelly.AsyncReader of {type(self._src).__name__}>"

    async def __aiter__(self) -> AsyncIterator[Triple | Quad]:
        async for batch in self.batches(batch_rows=READ_ROWS):
            for statement in batch.statements():
                yield statement

    def batches(self, **settings: Any) -> AsyncIterator[Batch]:
        """Iterate over the Batches.

        Parameters
        ----------
        **settings : Any
            Keywords of `Reader` that were not given before.

        Returns
        -------
        AsyncIterator[Batch]
            The Batches in order. Close it with ``aclose`` if it is not read to its end, or leave that to the loop.
        """
        return self._run(Sources.batches, settings)

    def frames(self) -> AsyncIterator[Frame]:
        """Iterate over the frames, including empty ones. A text is one frame.

        Returns
        -------
        AsyncIterator[Frame]
            The frames in order, numbered from 0.
        """
        return self._run(Sources.frames, {})

    async def _run(self, read: Callable[[Sources], Iterator[T]], settings: dict[str, Any]) -> AsyncIterator[T]:
        loop = asyncio.get_running_loop()
        chunks: list[_Chunks] = []
        items: Iterator[T] | None = None
        end: Any = object()

        def advance() -> T:
            nonlocal items
            if items is None:
                items = read(Sources(_bridged(self._src, loop, chunks), **settings | self._settings))
            return next(items, end)

        def close() -> None:
            if items is not None:
                items.close()  # type: ignore[attr-defined]

        # Not one of the threads that all share: it may wait for the next chunk for long.
        workers = Workers(1, beside=True)
        try:
            while (item := await asyncio.wrap_future(workers.submit(advance), loop=loop)) is not end:
                yield item
        finally:
            for each in chunks:
                each.cancel()
            # When the thread is done with the item that it may be at.
            workers.submit(close).add_done_callback(lambda _: workers.drop())


class _Chunks:
    """The chunks of an asynchronous source, for a thread; the loop of it makes them."""

    is_live = True

    def __init__(self, src: Any, loop: asyncio.AbstractEventLoop) -> None:
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

    def __iter__(self) -> _Chunks:
        return self

    def __next__(self) -> Any:
        if self._is_over:
            raise CancelledError
        self._waiting = asyncio.run_coroutine_threadsafe(self._following(), self._loop)
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


def _bridged(src: Any, loop: asyncio.AbstractEventLoop, made: list[_Chunks]) -> Any:
    """A source with its asynchronous parts as iterators of chunks."""
    if isinstance(src, list | tuple):
        return [_bridged(each, loop, made) for each in src]
    if hasattr(src, "__aiter__") or inspect.iscoroutinefunction(getattr(src, "read", None)):
        made.append(_Chunks(src, loop))
        return made[-1]
    return src


@checked(READING, VERSIONS)
def aread(
    src: Any, *, blank_nodes: Mode | None = None, skolem_base: str | None = None, **settings: Any
) -> AsyncIterator[Triple | Quad]:
    """Read statements one by one without blocking the event loop.

    Parameters
    ----------
    src : Any
        The input, as for `AsyncReader`: an asynchronous iterable of chunks of bytes, an object whose ``read`` is a
        coroutine, or anything that `read` takes.
    blank_nodes : {"scope", "keep", "skolemize"}, optional
        Labels of blank nodes, see `find`: by default several sources have scopes, and one keeps its labels.
    skolem_base : str, optional
        What the IRIs of skolemized blank nodes begin with.
    **settings : Any
        Keywords of `Reader`.

    Returns
    -------
    AsyncIterator
        An asynchronous iterator of `Triple` or `Quad`.

    Examples
    --------
    >>> import asyncio, jelly
    >>> async def names():
    ...     return [statement.o.value async for statement in jelly.aread(b'<a:1> <a:name> "Ann" .', format="nt")]
    >>> asyncio.run(names())
    ['Ann']
    """
    return AsyncReader(src, blank_nodes=blank_nodes, skolem_base=skolem_base, **settings).__aiter__()
