"""Batches of complete messages to text with delimiters, JSON-LD and YAML-LD."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jelly._core.base.batch import Batch
from jelly._core.base.constants import RDF
from jelly._core.base.kinds import Kind
from jelly._core.ntriples.text import TextWriter
from jelly._core.rules.capabilities import Capabilities, capabilities_of
from jelly.errors import JellyError, JellyFormatError
from jelly.messages._media import Dialect
from jelly.messages._message import NOTE

if TYPE_CHECKING:
    from jelly._formats.syntaxes import SyntaxWriter

# As plain numbers: members of an IntEnum take six times as long to find and compare.
IRI, BNODE, LANG, TYPED, TEXT, TEXT_LTR = map(
    int, (Kind.IRI, Kind.BNODE, Kind.LANG, Kind.TYPED, Kind.TEXT, Kind.TEXT_LTR)
)

Row = tuple[int, int, int, int]


class Encoder:
    """A writer of a log in one format, Batch by Batch."""

    capabilities: Capabilities

    def encode(self, batch: Batch) -> bytes:
        """The messages of a Batch, which has whole ones only."""
        with numbered(batch):
            rows = Rows(self.capabilities.fit(batch))
        parts = []
        for i, frame in enumerate(rows.frames()):
            try:
                parts.append(self.message(rows, frame))
            except JellyError as error:
                error.message = batch.first_frame + i
                raise
        return "".join(parts).encode()

    def message(self, rows: Rows, frame: list[Row]) -> str:
        """The text of one message, delimiter and all."""
        raise NotImplementedError

    def close(self) -> bytes:
        """The bytes that end a log."""
        return b""


@contextmanager
def numbered(batch: Batch) -> Iterator[None]:
    """Add the number of the message to errors that have a row of the Batch."""
    try:
        yield
    except JellyError as error:
        if error.row is not None and error.message is None:
            error.message = batch.first_frame + int(batch.frames.searchsorted(error.row - batch.first_row, "right"))
        raise


class Rows:
    """The rows of a Batch as tuples of term ids."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.kind: list[int] = batch.kind.tolist()
        self.aux: list[int] = batch.aux.tolist()

    def frames(self) -> Iterator[list[Row]]:
        batch = self.batch
        graphs = [-1] * len(batch) if batch.g is None else batch.g.tolist()
        rows = list(zip(batch.s.tolist(), batch.p.tolist(), batch.o.tolist(), graphs, strict=True))
        row = 0
        for end in batch.frames.tolist():
            yield rows[row:end]
            row = end

    def text(self, term: int) -> str:
        return self.batch.term_text(term)


class TextEncoder:
    """Formats of lines and the Turtle family: the ``writer`` has ``frames``, the text of each message of a Batch."""

    def __init__(self, writer: TextWriter | SyntaxWriter, dialect: Dialect) -> None:
        self._writer = writer
        # What stands before the first message.
        self._head = b'VERSION "1.2-messages"\n' if dialect == "directive" else b""
        self._directive = dialect == "directive"

    def _around(self, text: bytes, note: bytes) -> bytes:
        if self._directive:
            return b"%b%bMESSAGE\n" % (self.close(), text)
        if not note:
            return b"# @message\n" + text
        if b"\n" in note or b"\r" in note:
            raise JellyFormatError("the note of a message has more than one line")
        return b"# @message %b\n%b" % (note, text)

    def encode(self, batch: Batch) -> bytes:
        notes = {i: told.get(NOTE, b"") for i, told in (batch.metadata or {}).items()}
        with numbered(batch):
            frames = self._writer.frames(batch)
        return b"".join([self._around(text, notes.get(i, b"") if notes else b"") for i, text in enumerate(frames)])

    def close(self) -> bytes:
        head, self._head = self._head, b""
        return head


class JsonEncoder(Encoder):
    """NDJSON-LD: an object a message, {} where it is empty."""

    capabilities = capabilities_of("ndjsonld")

    def message(self, rows: Rows, frame: list[Row]) -> str:
        return json.dumps(document(rows, frame), ensure_ascii=False, separators=(",", ":")) + "\n"


def document(rows: Rows, frame: list[Row]) -> dict[str, Any]:
    """A message as a JSON-LD document, without a context."""
    graphs: dict[int, dict[int, dict[str, Any]]] = {}
    for s, p, o, g in frame:
        node = graphs.setdefault(g, {}).get(s)
        if node is None:
            node = graphs[g][s] = {"@id": _id(rows, s)}
        key = rows.text(p)
        if key == RDF + "type" and rows.kind[o] in (IRI, BNODE):
            node.setdefault("@type", []).append(_id(rows, o))
        else:
            node.setdefault(key, []).append(_value(rows, o))
    items: list[dict[str, Any]] = list(graphs.pop(-1, {}).values())
    items += [{"@id": _id(rows, g), "@graph": list(nodes.values())} for g, nodes in graphs.items()]
    return items[0] if len(items) == 1 else {"@graph": items} if items else {}


def _id(rows: Rows, term: int) -> str:
    return "_:" + rows.text(term) if rows.kind[term] == BNODE else rows.text(term)


def _value(rows: Rows, term: int) -> dict[str, str]:
    kind = rows.kind[term]
    if kind in (IRI, BNODE):
        return {"@id": _id(rows, term)}
    value = {"@value": rows.text(term)}
    if kind == TYPED:
        value["@type"] = rows.text(rows.aux[term])
    elif kind == LANG:
        tag = rows.aux[term]
        value["@language"] = rows.text(tag)
        if rows.kind[tag] != TEXT:
            value["@direction"] = "ltr" if rows.kind[tag] == TEXT_LTR else "rtl"
    return value


# PyYAML takes these for line ends, or for no characters, where they stand as they are.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


class YamlEncoder(Encoder):
    """YAML-LD: a document a message. Strings are quoted, so that none becomes a number or a boolean."""

    capabilities = capabilities_of("yamlld")

    def message(self, rows: Rows, frame: list[Row]) -> str:
        found = document(rows, frame)
        return "---\n" + "".join(_block(found, "")) if found else "--- {}\n"


def _quoted(text: str) -> str:
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04X}", json.dumps(text, ensure_ascii=False))


def _block(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            # An implicit key has at most 1024 characters (YAML 1.2.2, section 7.4.2).
            quoted = _quoted(key)
            head = f"{indent}{quoted}:" if len(quoted) < 1000 else f"{indent}? {quoted}\n{indent}:"
            if isinstance(item, str):
                yield f"{head} {_quoted(item)}\n"
            else:
                yield head + "\n"
                yield from _block(item, indent + "  ")
    else:
        for item in value:
            if isinstance(item, str):
                yield f"{indent}- {_quoted(item)}\n"
            else:
                lines = list(_block(item, indent + "  "))
                yield f"{indent}- {lines[0].lstrip()}"
                yield from lines[1:]
