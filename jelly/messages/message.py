"""A message, and how a Batch gives its messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jelly.core.batch import Batch
from jelly.core.model import Quad, Triple
from jelly.core.terms import Terms

__all__ = ["NOTE", "Message", "messages_of"]

# The entry of the metadata that is the note.
NOTE = "rdfm.note"


class Message:
    """An RDF Message: a dataset that is one communicative act, possibly empty (RDF Messages, section 1.1).

    It has its ``statements`` (a list of `Triple` and `Quad`, in their order, duplicates included), its ``index`` in the
    log from 0, the ``namespaces`` that it declares as (name, IRI), the ``prefixes`` in force at its end as a dict,
    ``metadata`` (str to bytes; of a Jelly frame) and its ``note``, what stands behind its delimiter, or "".

    Blank nodes belong to the message: the same label in another message is another node.

    >>> import jelly
    >>> message = Message([jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))], note="first")
    >>> len(message), message.note, message
    (1, 'first', <jelly.Message 0: 1 statements>)
    """

    __slots__ = ("_begin", "_end", "_statements", "_terms", "index", "metadata", "namespaces", "prefixes")

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
        self._terms: Terms | None = None
        self._begin, self._end = 0, len(self._statements)
        self.index = index
        self.namespaces = list(namespaces)
        self.prefixes = dict(self.namespaces)
        self.metadata = dict(metadata or {})
        if note:
            self.metadata[NOTE] = note.encode()

    @property
    def statements(self) -> list[Triple | Quad]:
        if self._statements is None:
            assert self._terms is not None
            self._statements = self._terms.statements(self._begin, self._end)
            self._terms = None
        return self._statements

    @property
    def note(self) -> str:
        return self.metadata.get(NOTE, b"").decode(errors="replace")

    def dataset(self) -> frozenset[Triple | Quad]:
        """The statements as a set: a message is one, so duplicates mean nothing."""
        return frozenset(self.statements)

    def __iter__(self) -> Iterator[Triple | Quad]:
        return iter(self.statements)

    def __len__(self) -> int:
        return self._end - self._begin

    def __repr__(self) -> str:
        return f"<jelly.Message {self.index}: {len(self)} statements>"


def messages_of(batch: Batch, prefixes: dict[str, str]) -> Iterator[Message]:
    """The messages of a Batch that has whole ones only. ``prefixes`` are those in force; it is never changed."""
    terms = Terms(batch)
    described = batch.metadata
    declared: dict[int, list[tuple[str, str]]] = {}
    for _, frame, name, iri in batch.namespaces:
        declared.setdefault(frame, []).append((name, iri))
    row = 0
    index = batch.first_frame
    for i, end in enumerate(batch.frames.tolist()):
        message = Message.__new__(Message)
        message._statements = None
        message._terms = terms
        message._begin, message._end = row, end
        message.index = index + i
        message.namespaces = declared.get(i, [])
        if message.namespaces:
            prefixes = {**prefixes, **dict(message.namespaces)}
        message.prefixes = prefixes
        message.metadata = described.get(i, {}) if described else {}
        row = end
        yield message
