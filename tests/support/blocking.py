"""The blocking client of `jelly.grpc`, made from the one for asyncio: ``cd tests; python -m support.blocking``."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "jelly" / "grpc"
SOURCE, TARGET = FOLDER / "_async_client.py", FOLDER / "_client.py"
# Words, in the code and in its documentation.
WORDS = {
    "The client for asyncio.": "The blocking client, made from `_async_client` by ``python -m support.blocking``.",
    "A client for asyncio.": "A blocking client, which several threads may share.",
    "an asynchronous iterator of": "an iterator of",
    "AsyncIterable[Any] | Iterable[Any]": "Iterable[Any]",
    "AsyncIterable, AsyncIterator, Iterable,": "Iterable, Iterator,",
    "    pause,\n": "    pause_thread,\n",
    "for statement in statements_of(batch):\n                yield statement": "yield from statements_of(batch)",
    "await pause(": "pause_thread(",
    "aiter(sending)": "iter(sending)",
    "grpc.aio": "grpc",
    "import asyncio, jelly": "import jelly",
    "import AsyncClient, Broker, Server": "import Broker, Client, Server",
    "asyncio.run(main())": "main()",
    "AsyncClient": "Client",
    "AsyncFeed": "Feed",
    "AsyncIterator": "Iterator",
    "__aiter__": "__iter__",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
}


def blocking() -> str:
    """The text of the blocking client."""
    text = SOURCE.read_text("utf-8")
    for word, other in WORDS.items():
        assert word in text, word
        text = text.replace(word, other)
    return re.sub(r"\b(async|await) ", "", text)


if __name__ == "__main__":
    TARGET.write_text(blocking(), "utf-8")
