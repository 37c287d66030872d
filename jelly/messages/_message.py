"""The Message class, and messages from Batches and of statements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby, islice
from typing import Any, Literal

from jelly._core.base.batch import Batch
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.statements import Quad, Triple
from jelly._formats.protocols import declared_in
from jelly._options.options import StreamOptions
from jelly._options.settings import checked
from jelly._streams.reader import Framed
from jelly._streams.writer import arity_of
from jelly.errors import JellyArgumentError

# The entry of the metadata that is the note.
NOTE = "rdfm.note"


class Message(Framed):
    """An RDF Message: a dataset that is one communicative act, possibly empty (RDF Messages, section 1.1).

    Iterate over it for its statements; ``len(message)`` is their number. Blank nodes belong to the message: the same
    label in another message is another node.

    Parameters
    ----------
    statements : iterable of Triple, Quad or sequences of terms, optional
        The statements.
    index : int, default 0
        Number of the message in the log, from 0.
    namespaces : iterable of (str, str), optional
        Prefix and IRI of each namespace that the message declares.
    metadata : mapping of str to bytes, optional
        Metadata, as Jelly frames have them.
    note : str, default ""
        Text after the delimiter of the message.

    Examples
    --------
    >>> import jelly
    >>> message = Message([jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))], note="first")
    >>> len(message), message.note, message
    (1, 'first', <jelly.Message 0: 1 statements>)
    """

    __slots__ = (
        "_begin", "_declared", "_end", "_n_declared", "_source", "_statements", "_terms", "index", "metadata",
        "namespaces",
    )  # fmt: skip

    @checked()
    def __init__(
        self,
        statements: Iterable[Any] = (),
        *,
        index: int = 0,
        namespaces: Iterable[tuple[str, str]] = (),
        metadata: Mapping[str, bytes] | None = None,
        note: str = "",
    ) -> None:
        self._statements: list[Triple | Quad] | None = list(statements)
        self._terms: Materializer | None = None
        self._source: StreamOptions | None = None  # the options of the log that it was read from
        self._begin, self._end = 0, len(self._statements)
        self.index: int = index
        self.namespaces: list[tuple[str, str]] = list(namespaces)
        self._declared, self._n_declared = self.namespaces, len(self.namespaces)
        self.metadata: dict[str, bytes] = dict(metadata or {})
        if note:
            self.metadata[NOTE] = note.encode()

    @property
    def statements(self) -> list[Triple | Quad]:
        """The statements in order, including duplicates."""
        if self._statements is None:
            assert self._terms is not None
            self._statements = self._terms.statements(self._begin, self._end)
            self._terms = None
        return self._statements

    @property
    def prefixes(self) -> dict[str, str]:
        """The prefixes in force at the end of the message: IRIs by prefix."""
        return dict(self._declared[: self._n_declared])

    @property
    def note(self) -> str:
        """Text after the delimiter of the message, or ``""``."""
        return self.metadata.get(NOTE, b"").decode(errors="replace")

    def dataset(self) -> frozenset[Triple | Quad]:
        """The statements as a set. A message is a set of statements, so duplicates have no meaning."""
        return frozenset(self.statements)

    def __iter__(self) -> Iterator[Triple | Quad]:
        return iter(self.statements)

    def __len__(self) -> int:
        return self._end - self._begin

    def __repr__(self) -> str:
        return f"<jelly.Message {self.index}: {len(self)} statements>"


class Declared:
    """The prefixes in force in a log. Messages share one list of them: a dict for each would be quadratic."""

    def __init__(self) -> None:
        self._now: dict[str, str] = {}
        self.items: list[tuple[str, str]] = []  # is only ever appended to

    def add(self, namespaces: Iterable[tuple[str, str]]) -> None:
        """Add declarations. Those that change nothing are not kept."""
        for name, iri in namespaces:
            if self._now.get(name) != iri:
                self._now[name] = iri
                self.items.append((name, iri))
        if len(self.items) > 2 * len(self._now) + 1000:
            self.items = list(self._now.items())


def messages_of(batch: Batch, prefixes: Declared) -> Iterator[Message]:
    """The messages of a Batch that has whole ones only. Its prefixes are added to ``prefixes``, those in force."""
    terms = Materializer(batch)
    described = batch.metadata
    declared = declared_in(batch)
    row = 0
    index = batch.first_frame
    for i, end in enumerate(batch.frames.tolist()):
        message = Message.__new__(Message)
        message._statements = None
        message._terms = terms
        message._source = batch.options
        message._begin, message._end = row, end
        message.index = index + i
        message.namespaces = declared.get(i, []) if declared else []
        if message.namespaces:
            prefixes.add(message.namespaces)
        message._declared, message._n_declared = prefixes.items, len(prefixes.items)
        message.metadata = described.get(i, {}) if described else {}
        row = end
        yield message


# ---- statements to messages

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
