"""Batches of complete messages to text with delimiters, JSON-LD, YAML-LD and RDF/XML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from jelly._core.base.batch import Batch
from jelly._core.base.constants import RDF, XSD_STRING_IRI
from jelly._core.ntriples.text import TextWriter
from jelly._core.rules.capabilities import Capabilities, capabilities_of, element_name
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.model import IRI, BlankNode, DefaultGraph, Literal
from jelly.errors import JellyError, JellyFormatError
from jelly.messages._media import Dialect
from jelly.messages._message import NOTE

if TYPE_CHECKING:
    from jelly._formats.syntaxes import SyntaxWriter

_TYPE, _DEFAULT = IRI(f"{RDF}type"), DefaultGraph()


class Encoder:
    """A writer of a log in one format, Batch by Batch."""

    capabilities: Capabilities

    def encode(self, batch: Batch) -> bytes:
        """The messages of a Batch, which has whole ones only."""
        with numbered(batch):
            terms = Materializer(self.capabilities.fit(batch))
        ends = [0, *batch.frames.tolist()]
        return "".join([self.message(terms.statements(*span)) for span in pairwise(ends)]).encode()

    def message(self, statements: list[Any]) -> str:
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
        # As `Message.note` says it: metadata may be any bytes.
        return b"# @message %b\n%b" % (note.decode(errors="replace").encode(), text)

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

    def message(self, statements: list[Any]) -> str:
        return json.dumps(document(statements), ensure_ascii=False, separators=(",", ":")) + "\n"


def document(statements: list[Any]) -> dict[str, Any]:
    """A message as a JSON-LD document, without a context."""
    graphs: dict[Any, dict[Any, dict[str, Any]]] = {}
    for s, p, o, *g in statements:
        nodes = graphs.setdefault(g[0] if g else _DEFAULT, {})
        node = nodes.get(s)
        if node is None:
            node = nodes[s] = {"@id": name_of(s)}
        if p == _TYPE and not isinstance(o, Literal):
            node.setdefault("@type", []).append(name_of(o))
        else:
            node.setdefault(p.value, []).append(_value(o))
    items: list[dict[str, Any]] = list(graphs.pop(_DEFAULT, {}).values())
    items += [{"@id": name_of(g), "@graph": list(nodes.values())} for g, nodes in graphs.items()]
    return items[0] if len(items) == 1 else {"@graph": items} if items else {}


def name_of(node: Any) -> str:
    """The IRI, or the label of a blank node as JSON-LD has it."""
    text: str = node.value
    return "_:" + text if isinstance(node, BlankNode) else text


def _value(term: Any) -> dict[str, str]:
    if not isinstance(term, Literal):
        return {"@id": name_of(term)}
    value = {"@value": term.value}
    if term.language is not None:
        value["@language"] = term.language
        if term.direction is not None:
            value["@direction"] = term.direction
    elif (datatype := term.datatype.value) != XSD_STRING_IRI:
        value["@type"] = datatype
    return value


# PyYAML takes these for line ends, or for no characters, where they stand as they are.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


class YamlEncoder(Encoder):
    """YAML-LD: a document a message. Strings are quoted, so that none becomes a number or a boolean."""

    capabilities = capabilities_of("yamlld")

    def message(self, statements: list[Any]) -> str:
        found = document(statements)
        return "---\n" + _block(found) if found else "--- {}\n"


def _quoted(text: str) -> str:
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04X}", json.dumps(text, ensure_ascii=False))


def _block(value: Any, indent: str = "") -> str:
    if isinstance(value, str):
        return f"{indent}{_quoted(value)}\n"
    inner = indent + "  "
    if isinstance(value, list):
        return "".join([f"{indent}- {_block(item, inner).lstrip(' ')}" for item in value])
    text = ""
    for key, item in value.items():
        # An implicit key has at most 1024 characters (YAML 1.2.2, section 7.4.2).
        quoted = _quoted(key)
        text += f"{indent}{quoted}:" if len(quoted) < 1000 else f"{indent}? {quoted}\n{indent}:"
        text += f" {_block(item)}" if isinstance(item, str) else f"\n{_block(item, inner)}"
    return text


# ---- RDF/XML with one message per line (RDF Messages, section 2.4)

# Line ends are written as references: what is read would else be another character, or another line of the log.
_ESCAPES = {ord(letter): f"&#{ord(letter)};" for letter in "\t\n\r\x85\u2028"} | str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
)


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)


class XmlEncoder(Encoder):
    """RDF/XML documents, each on one line."""

    capabilities = capabilities_of("log-rdf")

    def message(self, statements: list[Any]) -> str:
        names: dict[str, str] = {RDF: "rdf"}
        body = "".join(
            f"<rdf:Description {_node(s, 'about')}>"
            + "".join([_property(p.value, o, names) for _, p, o, *_ in group])
            + "</rdf:Description>"
            for s, group in groupby(statements, itemgetter(0))
        )
        declared = "".join(f' xmlns:{name}="{_escaped(iri)}"' for iri, name in names.items())
        head = f'<?xml version="1.0" encoding="utf-8"?><rdf:RDF{declared}'
        return f"{head}>{body}</rdf:RDF>\n" if body else f"{head}/>\n"


def _node(node: Any, attribute: str) -> str:
    if isinstance(node, BlankNode):
        return f'rdf:nodeID="{node.value}"'
    return f'rdf:{attribute}="{_escaped(node.value)}"'


def _property(iri: str, o: Any, names: dict[str, str]) -> str:
    local = element_name(iri)
    name = f"{names.setdefault(iri[: len(iri) - len(local)], f'n{len(names)}')}:{local}"
    if not isinstance(o, Literal):
        return f"<{name} {_node(o, 'resource')}/>"
    attribute = ""
    if o.language is not None:
        attribute = f' xml:lang="{o.language}"'
    elif (datatype := o.datatype.value) != XSD_STRING_IRI:
        attribute = f' rdf:datatype="{_escaped(datatype)}"'
    return f"<{name}{attribute}>{_escaped(o.value)}</{name}>"
