"""Groups a flat stream into messages: by subject, by graph, by number, or by a key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from typing import Any

from jelly._options.settings import checked
from jelly._streams.writer import arity_of
from jelly.errors import JellyArgumentError
from jelly.messages._message import Message

__all__ = ["group_by_count", "group_by_graph", "group_by_key", "group_by_subject"]


def _statement(statement: Any) -> Any:
    """The same, if it is one."""
    if arity_of(statement) not in (3, 4) or isinstance(statement, str | bytes):
        raise JellyArgumentError(f"expected a statement (Triple, Quad or 3 or 4 terms), got {statement!r:.80}")
    return statement


@checked()
def group_by_key(statements: Iterable[Any], key: Callable[[Any], Any]) -> Iterator[Message]:
    """Group consecutive statements with the same key into messages. Memory holds one message.

    Parameters
    ----------
    statements : iterable of Triple, Quad or sequences of terms
        The statements. Those of one message must follow each other.
    key : callable
        Takes a statement and returns its key. A new message begins where the key changes.

    Yields
    ------
    Message
        The next message.

    Examples
    --------
    >>> import jelly
    >>> rows = jelly.read(b"<a:1> <a:p> <a:o> .\\n<a:1> <a:q> <a:o> .\\n<a:2> <a:p> <a:o> .", format="nt")
    >>> [len(message) for message in group_by_key(rows, lambda statement: statement.s.value[-1])]
    [2, 1]
    """
    for index, (_, group) in enumerate(groupby(map(_statement, statements), key)):
        yield Message(group, index=index)


@checked()
def group_by_subject(statements: Iterable[Any]) -> Iterator[Message]:
    """Group consecutive statements with the same subject into messages.

    Parameters
    ----------
    statements : iterable of Triple, Quad or sequences of terms
        The statements.

    Returns
    -------
    Iterator[Message]
        The messages.

    Examples
    --------
    >>> import jelly
    >>> rows = jelly.read(b"<a:1> <a:p> <a:o> .\\n<a:1> <a:q> <a:o> .\\n<a:2> <a:p> <a:o> .", format="nt")
    >>> [len(message) for message in group_by_subject(rows)]
    [2, 1]
    """
    return group_by_key(statements, lambda statement: statement[0])


@checked()
def group_by_graph(statements: Iterable[Any]) -> Iterator[Message]:
    """Group consecutive statements of the same graph into messages.

    Parameters
    ----------
    statements : iterable of Triple, Quad or sequences of terms
        The statements.

    Returns
    -------
    Iterator[Message]
        The messages.

    Examples
    --------
    >>> import jelly
    >>> rows = jelly.read(b"<a:1> <a:p> <a:o> <a:g> .\\n<a:2> <a:p> <a:o> <a:g> .\\n<a:2> <a:p> <a:o> .", format="nq")
    >>> [len(message) for message in group_by_graph(rows)]
    [2, 1]
    """
    return group_by_key(statements, lambda statement: statement[3] if len(statement) == 4 else None)


@checked()
def group_by_count(statements: Iterable[Any], count: int) -> Iterator[Message]:
    """Group statements into messages of a fixed size.

    Parameters
    ----------
    statements : iterable of Triple, Quad or sequences of terms
        The statements.
    count : int
        Statements per message; the last message may have fewer.

    Returns
    -------
    Iterator[Message]
        The messages.

    Examples
    --------
    >>> import jelly
    >>> rows = jelly.read(b"<a:1> <a:p> <a:o> .\\n<a:1> <a:q> <a:o> .\\n<a:2> <a:p> <a:o> .", format="nt")
    >>> [len(message) for message in group_by_count(rows, 2)]
    [2, 1]
    """
    if count < 1:
        raise JellyArgumentError(f"count is {count}: expected at least 1")
    iterator = iter(statements)
    index = 0
    while group := list(islice(iterator, count)):
        yield Message(group, index=index)
        index += 1
