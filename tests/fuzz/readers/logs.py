"""Message logs in all formats, and the loader of YAML."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterable
from typing import Any

import jelly
from fuzz.harness import attempt, cut, harness, told
from fuzz.readers.boundaries import TURTLE_WORDS
from fuzz.readers.jelly_streams import streams
from fuzz.readers.syntaxes import JSON_LD, JSON_WORDS, RDF_XML, XML_TEXT
from fuzz.structures import Delimited, Text
from jelly import JellyError
from jelly._formats.registry import REGISTRY, Content
from jelly._tools.yaml import dump_yaml, load_documents
from jelly.messages import Message, MessageReader, write_messages

Pieces = Iterable[bytes]
P = jelly.IRI("http://e/p")
MESSAGES = [
    [jelly.Triple(jelly.IRI("http://e/s"), P, jelly.Literal('# @message\nMESSAGE\n"---', language="en"))],
    [],
    [
        jelly.Triple(jelly.BlankNode("b"), P, jelly.BlankNode("c")),
        jelly.Triple(jelly.IRI("http://e/s"), P, jelly.Literal("1")),
    ],
]
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"dialect": "comment"},
    {"dialect": "directive"},
    {"dialect": None},
    {"strict": True},
    {"trailing": "close"},
    {"rename_blank_nodes": True},
    {"max_message_bytes": 64},
    {"base": "http://e/"},
)
YAML_WORDS = (b"---\n", b"...\n", b"%YAML 1.2\n", b"&a", b"*a", b"!!str", b"|", b">", b"? ", b"- ", b"'", b"# c",
              b"\xef\xbb\xbf", b"\t",
              *JSON_WORDS)  # fmt: skip
STRUCTURES: dict[str, Any] = {
    "jelly": Delimited(),
    "ndjsonld": Text(*JSON_WORDS, stops=b' {}[]",:\\'),
    "yamlld": Text(*YAML_WORDS, stops=b' {}[]",:\\-#&*!|>'),
    "rdf": XML_TEXT,
    "tar": None,
}


def logs(name: str) -> Callable[[], Pieces]:
    def corpus() -> Pieces:
        for dialect in ("comment", "directive"):
            out = io.BytesIO()
            write_messages(out, MESSAGES, format=name, dialect=dialect)
            yield out.getvalue()
        if name == "jelly":
            yield from streams()
        elif name == "rdf":
            yield b"\n".join(RDF_XML)
        elif name == "ndjsonld":
            yield b"\n".join((*JSON_LD, b'{"@context": {"e": "http://e/"}}', b'{"e:p": 1}'))
        elif name == "yamlld":
            yield b"%YAML 1.2\n---\n'@id': a:s\na:p: [1, x, {'@id': _:b}]\n...\n"
            yield b"---\n# none\n---\n- &x {'@id': a:s}\n- a:p: *x\n"

    return corpus


def taken(reader: MessageReader, pieces: Pieces) -> tuple[list[Message], Any]:
    """The messages and the error behind them."""
    found: list[Message] = []
    try:
        for piece in pieces:
            for message in reader.feed(piece):
                found.append(message)
        found += reader.close()
    except JellyError as error:
        return found, told(error)
    return found, None


def plain(messages: Iterable[Message]) -> list[Any]:
    return [(message.index, list(message), message.namespaces, message.metadata, message.note) for message in messages]


def log(name: str) -> Callable[[bytes, random.Random], None]:
    def read(data: bytes, chance: random.Random) -> None:
        """Any chunking is the whole; messages come back when they are written in Jelly."""
        settings = dict(chance.choice(SETTINGS))
        if name == "jelly":
            settings["force"] = True
        first, error = taken(MessageReader(b"", format=name, **settings), [data])
        second, other = taken(MessageReader(b"", format=name, **settings), cut(data, chance))
        limited = jelly.JellyLimitError in [failed[0] for failed in (error, other) if failed]
        # A limit bounds what waits for its end: it may not be met where all comes at once.
        n = min(len(first), len(second)) if limited else None
        assert plain(first[:n]) == plain(second[:n]), (
            f"in chunks, {settings}: {plain(first)!r:.500} and {plain(second)!r:.500}"
        )
        if not limited:
            assert (error and error[0]) == (other and other[0]), f"in chunks, {settings}: {error} and {other}"
        assert [message.index for message in first] == list(range(len(first)))
        whole = attempt(lambda: list(MessageReader(data, format=name, **settings)))
        assert isinstance(whole, tuple) == (error is not None), (whole, error)
        out = io.BytesIO()
        if isinstance(attempt(lambda: write_messages(out, first, format="jelly")), int):
            again = list(MessageReader(out.getvalue(), format="jelly", force=True))
            assert [list(map(str, message)) for message in again] == [list(map(str, message)) for message in first]

    return read


for _name in REGISTRY[Content.MESSAGES]:
    harness(
        f"log_{_name}",
        corpus=logs(_name),
        formats=((Content.MESSAGES, _name),),
        structure=STRUCTURES.get(_name, Text(*TURTLE_WORDS, b"# @message note\n")),
        lines=_name != "jelly",
    )(log(_name))


@harness("yaml", corpus=logs("yamlld"), structure=Text(*YAML_WORDS, stops=b' {}[]",:\\-#&*!|>'), lines=True)
def yaml(data: bytes, chance: random.Random) -> None:
    """Documents are read or refused; what is written of them is read again as the same."""
    found = attempt(lambda: list(load_documents(data)))
    if isinstance(found, list):
        for document in found:
            made = dump_yaml(document)
            assert list(load_documents(made.encode("utf-8", "surrogatepass"))) == [document], made
