"""Groups a flat stream into messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from typing import Any, Literal

from jelly._options.settings import checked
from jelly._streams.writer import arity_of
from jelly.errors import JellyArgumentError
from jelly.messages._message import Message

_KEYS: dict[Any, Callable[[Any], Any]] = {
    "subject": lambda statement: statement[0],
    "graph": lambda statement: statement[3] if len(statement) == 4 else None,
}


def _statement(statement: Any) -> Any:
    """The statement; JellyArgumentError if it is none."""
    if arity_of(statement) not in (3, 4) or isinstance(statement, bytes):
        raise JellyArgumentError(f"expected a statement (Triple, Quad or 3 or 4 terms), got {statement!r:.80}")
    return statement


@checked()
def group(
    statements: Iterable[Any], by: Literal["subject", "graph"] | int | Callable[[Any], Any]
) -> Iterator[Message]:
    """Group consecutive statements into messages. Memory holds one message.

    Parameters
    ----------
    statements : iterable of Triple, Quad or sequences of terms
        The statements. Those of one message must follow each other.
    by : {"subject", "graph"}, int or callable
        A new message begins where the subject, the graph or the result of the callable changes. An int is the number of
        statements of a message; the last one may have fewer.

    Examples
    --------
    >>> import jelly
    >>> rows = list(jelly.read(b"<a:1> <a:p> <a:o> .\\n<a:1> <a:q> <a:o> .\\n<a:2> <a:q> <a:o> .", format="nt"))
    >>> for by in ("subject", 2, lambda statement: statement.p):
    ...     print([len(message) for message in group(rows, by)])
    [2, 1]
    [2, 1]
    [1, 2]
    """
    found = map(_statement, statements)
    if isinstance(by, int):
        if by < 1:
            raise JellyArgumentError(f"by is {by}: expected at least 1")
        groups: Iterator[Any] = iter(lambda: list(islice(found, by)), [])
    else:
        key = by if callable(by) else _KEYS.get(by)
        if key is None:
            raise JellyArgumentError(f"by is {by!r:.80}: expected subject, graph, a number or a callable")
        groups = (some for _, some in groupby(found, key))
    return (Message(some, index=index) for index, some in enumerate(groups))
