"""RDF Messages to the letter: logs made by hand. The names of the cases are numbers of requirements.csv."""

from __future__ import annotations

import asyncio
import io
import tracemalloc
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from messages.canon import canonical
from support import craft
from support import wirefields as wire
from support.contents import convert_messages

import jelly
from jelly import IRI, BlankNode, Literal, Quad, Triple
from jelly.messages import (
    Message,
    aencode_messages,
    aread_messages,
    group,
    media_type,
    negotiate,
    read_messages,
    write_messages,
)

pytest.importorskip("pyoxigraph")
pytest.importorskip("yaml")

A, B, C = (f"<a:s> <a:p> <a:{i}> .\n" for i in (1, 2, 3))
D = "# @message\n"
TEXTS = ["nt", "nq", "ttl", "trig"]
LOGS = [*TEXTS, "ndjsonld", "yamlld", "rdfxml", "jelly"]
PREFIXES = (
    "@prefix ex: <http://e/> . @prefix sosa: <http://sosa/> . @prefix rdfs: <http://r/> . @prefix xsd: <http://x/> .\n"
)


def read(log: str | bytes, format: str = "nt", **settings: Any) -> list[list[str]]:
    data = log.encode() if isinstance(log, str) else log
    return [list(map(str, message)) for message in read_messages(data, format=format, **settings)]


def sizes(*args: Any, **settings: Any) -> list[int]:
    return [len(message) for message in read(*args, **settings)]


# ---- 1 what a message is


def test_a_message_is_a_dataset() -> None:
    """002-001, 002-002: with a default graph and named ones, or empty."""
    text = f"{A}<a:g> {{ {B} }}\n{D}{D}"
    first, empty, last = read_messages(text.encode(), format="trig")
    assert first.dataset() == {
        Quad(IRI("a:s"), IRI("a:p"), IRI("a:1"), None), Quad(IRI("a:s"), IRI("a:p"), IRI("a:2"), IRI("a:g")),
    }  # fmt: skip
    assert empty.dataset() == last.dataset() == frozenset()


@pytest.mark.parametrize(("format", "broken"), [("nt", "<a:s> <a:p> .\n"), ("ttl", "<a:s> <a:p> .\n"), ("nq", "<a:s>")])
def test_a_broken_message_is_not_given(format: str, broken: str) -> None:
    """002-003, 002-004: those before it are."""
    found = []
    with pytest.raises(jelly.JellyError) as caught:
        found.extend(read_messages(f"{A}{D}{A}{B}{D}{A}{broken}{D}{A}".encode(), format=format))
    assert [len(message) for message in found] == [1, 2]
    assert caught.value.message == 2


def test_the_first_examples() -> None:
    """002-005, 002-006."""
    activity = """@prefix ex: <http://example.org/> . @prefix as: <https://www.w3.org/ns/activitystreams#> .
        @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
        ex:like1 a as:Like ; as:actor ex:me ; as:object ex:it ; as:published "2026-01-01T00:00:00Z"^^xsd:dateTime ."""
    observation = """@prefix ex: <http://example.org/> . @prefix sosa: <http://www.w3.org/ns/sosa/> .
        ex:o1 a sosa:Observation ; sosa:hasResult _:result . _:result a sosa:Result ; ex:value 5 ."""
    assert sizes(activity, "ttl") == sizes(observation, "ttl") == [4]


@pytest.mark.parametrize("format", ["nt", "ttl"])
def test_messages_have_a_limit(format: str) -> None:
    """002-007."""
    log = f"{A}{D}" + A * 1000
    assert sizes(log, format) == [1, 1000]
    with pytest.raises(jelly.JellyLimitError, match="max_message_bytes"):
        read(log, format, max_message_bytes=1000)


BNODES = "_:b <a:p> _:b .\n"


@pytest.mark.parametrize("format", TEXTS)
def test_messages_put_together(format: str) -> None:
    """002-008, 002-009: each message has its statements; with labels of its own where they are to be one graph."""
    apart = read(BNODES + D + BNODES, format)
    assert len(apart) == 2
    first, second = read(BNODES + D + BNODES, format, rename_blank_nodes=True)
    assert first != second
    assert len({text.split()[0] for text in first + second}) == 2


def test_messages_come_one_by_one() -> None:
    """002-010: each as soon as it is complete, of a log without an end."""

    def chunks() -> Iterator[bytes]:
        for i in range(10**9):
            asked.append(i)
            yield f"<a:s> <a:p> <a:{i}> .\n{D}".encode()

    asked: list[int] = []
    messages = read_messages(chunks(), format="nt")
    for i in range(100):
        assert [str(x) for x in next(messages)] == [f"<a:s> <a:p> <a:{i}> ."]
        assert len(asked) <= i + 2


@pytest.mark.bounded
def test_memory_stays_flat() -> None:
    """002-011."""

    def chunks(count: int) -> Iterator[bytes]:
        for i in range(count):
            yield f"<a:s{i}> <a:p> <a:{i}> .\n{D}".encode()

    def peak(count: int) -> int:
        tracemalloc.start()
        assert sum(1 for _ in read_messages(chunks(count), format="nt")) == count + 1
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(100)
    assert peak(20_000) < 2 * peak(2000) + 100_000


@pytest.mark.parametrize("format", ["nt", "trig", "jelly"])
def test_streams_over_any_protocol(format: str) -> None:
    """002-012: a producer and a consumer that know of each other's bytes only."""
    given = [list(jelly.read(text.encode(), format="nt")) for text in (A, "", A + B)]

    async def messages() -> AsyncIterator[Any]:
        for message in given:
            yield message

    async def main() -> list[Any]:
        encoded = aencode_messages(messages(), format=format)
        return [list(message) async for message in aread_messages(encoded, format=format)]

    assert [[tuple(x)[:3] for x in found] for found in asyncio.run(main())] == [[tuple(x) for x in m] for m in given]


# ---- 1.4 logs

EXAMPLE = f"""{PREFIXES}# a message defining the context
ex:Stream1 a ex:Dataset ; rdfs:comment "A log of messages that appeared on a stream" .
# @message a next message is an observation in the stream
ex:Observation1 a sosa:Observation ; sosa:resultTime "2026-01-01T00:00:00Z"^^xsd:dateTime ;
    sosa:hasSimpleResult "..." .
# @message an empty message
# @message another observation
ex:Observation2 a sosa:Observation ; sosa:resultTime "2026-01-01T00:10:00Z"^^xsd:dateTime ;
    sosa:hasSimpleResult "..." .
"""


@pytest.mark.parametrize("format", [pytest.param("ttl", id="002-013"), pytest.param("trig", id="002-014")])
def test_the_example_of_a_log(format: str) -> None:
    assert sizes(EXAMPLE, format) == [2, 3, 0, 3]


SEQUENCE: list[list[Triple]] = [
    [], [Triple(IRI("http://e/s"), IRI("http://e/p"), Literal("# @message\n", language="en"))], [],
    [Triple(BlankNode("b"), IRI("http://e/p"), BlankNode("b")), Triple(BlankNode("b"), IRI("http://e/p"), Literal(""))],
    [Triple(BlankNode("b"), IRI("http://e/p"), IRI("http://e/o"))], [],
]  # fmt: skip


@pytest.mark.parametrize("format", LOGS)
def test_a_log_and_a_stream_are_the_same(format: str) -> None:
    """002-015, 002-019, 002-081: all messages in their order, those of nothing at the start, middle and end."""
    out = io.BytesIO()
    assert write_messages(out, SEQUENCE, format=format) == len(SEQUENCE)
    found = list(read_messages(out.getvalue(), format=format))
    assert [canonical(message) for message in found] == [canonical(message) for message in SEQUENCE]
    assert [message.index for message in found] == list(range(len(SEQUENCE)))


def test_nodes_without_a_label() -> None:
    """002-017."""
    log = f"[] <a:p> <a:o> .\n{D}[] <a:p> <a:o> . [] <a:p> [] .\n"
    first, second = read(log, "ttl", rename_blank_nodes=True)
    assert {text.split()[0] for text in first}.isdisjoint(text.split()[0] for text in second)
    assert len({term for text in second for term in text.split() if term.startswith("_:")}) == 3


def test_the_command_keeps_delimiters(tmp_path: Any) -> None:
    """002-018."""
    testing = pytest.importorskip("click.testing")
    from jelly.cli.commands import cli

    (tmp_path / "x.nt").write_text(BNODES + D + BNODES)
    done = testing.CliRunner().invoke(cli, ["cat", "--messages", str(tmp_path / "x.nt")])
    assert done.exit_code == 0
    assert sizes(done.stdout, "nt") == [1, 1]


# ---- 2.1 media types

MEDIA = {"nt": "application/n-triples", "nq": "application/n-quads", "ttl": "text/turtle", "trig": "application/trig"}


@pytest.mark.parametrize("format", [pytest.param(x, id=f"002-{21 + 2 * i:03}") for i, x in enumerate(TEXTS)])
def test_the_content_type_of_a_log(format: str) -> None:
    """002-021 to 002-027, those with an odd number."""
    full = f"{MEDIA[format]}; version=1.2; messages=rdfm"
    assert media_type(format) == full
    assert sizes(A + D + B, full) == [1, 1]


@pytest.mark.parametrize("format", [pytest.param(x, id=f"002-{22 + 2 * i:03}") for i, x in enumerate(TEXTS)])
def test_the_content_type_of_a_document(format: str) -> None:
    """002-022 to 002-028, those with an even number."""
    for kind in (MEDIA[format], f"{MEDIA[format]}; version=1.2"):
        assert sizes(A + D + B, kind) == [2]


@pytest.mark.parametrize(
    "kind",
    [
        "text/turtle;messages=rdfm", 'TEXT/Turtle ; MESSAGES="rdfm";charset=utf-8',
        "text/turtle; q=1;version=1.2;Messages=rdfm",
    ],
)  # fmt: skip
def test_spellings_of_the_content_type(kind: str) -> None:
    """002-029."""
    assert sizes(A + D + B, kind) == [1, 1]


def test_unknown_messages() -> None:
    """002-030."""
    with pytest.warns(UserWarning, match="messages=other"):
        assert sizes(A + D + B, "text/turtle; messages=other") == [2]


@pytest.mark.parametrize("format", TEXTS)
def test_a_log_is_a_document(format: str) -> None:
    """002-031."""
    log = (D + A + D + D + B).encode()
    assert len(list(jelly.read(log, format=format))) == 2
    rdflib = pytest.importorskip("rdflib")
    names = {"nt": "nt", "nq": "nquads", "ttl": "turtle", "trig": "trig"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(rdflib.Dataset(default_union=True).parse(data=log, format=names[format])) == 2


# ---- 2.1 delimiters


@pytest.mark.parametrize("format", TEXTS)
def test_no_delimiter_is_needed(format: str) -> None:
    """002-032, 002-039, 002-040: each triple is part of a message, up to a delimiter or the end, of a line or not."""
    assert sizes(A + B, format) == [2]
    assert sizes(A + B + D + C, format) == [2, 1]
    assert sizes((A + D + B + C).rstrip(), format) == [1, 2]
    assert sizes(A + D.rstrip(), format) == [1, 0]


@pytest.mark.parametrize("format", [pytest.param(x, id=f"002-{33 + i:03}") for i, x in enumerate(TEXTS)])
def test_a_leading_delimiter(format: str) -> None:
    """002-033 to 002-036."""
    assert read(D + A + D + B, format) == [["<a:s> <a:p> <a:1> ."], ["<a:s> <a:p> <a:2> ."]]


@pytest.mark.parametrize(
    "before",
    ["# a comment\n", "\n \n\t\n", "\ufeff", "PREFIX e: <a:>\n", "@prefix e: <a:> . # x\nBASE <a:>\n", "\ufeff#\n\n"],
)  # fmt: skip
def test_what_may_stand_before_a_leading_delimiter(before: str) -> None:
    """002-037."""
    assert sizes(before + D + A + D + B, "ttl") == [1, 1]


@pytest.mark.parametrize("format", TEXTS)
def test_more_delimiters(format: str) -> None:
    """002-038, 002-041, 002-042, 002-043."""
    assert sizes(D + D + A, format) == [0, 1]
    assert sizes(A + D, format) == [1, 0]
    assert sizes(A + D, format, trailing="close") == [1]
    for nothing in ("", "# a comment\n", "\n\n"):
        assert sizes(nothing, format) == []


SPACES = "\t\x0b\x0c \u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
NO_DELIMITER = [
    "# x @message", "## @message", "#@ message", "# @Message", "#\x1c@message", "#\u200b@message", "#\x85@message",
    "# message", "#.@message",
]  # fmt: skip


@pytest.mark.parametrize("format", [pytest.param("nt", id="002-044"), pytest.param("ttl", id="002-046")])
def test_space_before_the_word(format: str) -> None:
    for space in (*SPACES, "", SPACES):
        assert sizes(f"{A}#{space}@message\n{B}", format) == [1, 1], repr(space)


@pytest.mark.parametrize("format", [pytest.param("nt", id="002-045"), pytest.param("ttl", id="002-047")])
def test_what_is_a_comment(format: str) -> None:
    for comment in NO_DELIMITER:
        assert sizes(f"{A}{comment}\n{B}", format) == [2], comment


@pytest.mark.parametrize("format", TEXTS)
def test_no_end_of_the_word_is_needed(format: str) -> None:
    """002-048, 002-049: nor a line of its own."""
    assert sizes(f"{A}# @messages\n{B}#@message:x\n{C}", format) == [1, 1, 1]
    assert sizes(f"{A.rstrip()} # @message\n{B}", format) == [1, 1]


@pytest.mark.parametrize(
    "object_",
    ['"""\n# @message\n"""', "'''\n# @message\n'''", '"# @message"', "<a:#@message>", "'\\'#@message'"],
)  # fmt: skip
def test_text_is_no_delimiter(object_: str) -> None:
    """002-050."""
    assert sizes(f"@prefix e: <a:> .\n<a:s> <a:p> {object_} .\n{D}{A}", "ttl") == [1, 1]


@pytest.mark.parametrize("format", TEXTS)
def test_ends_of_lines(format: str) -> None:
    """002-051."""
    for end in ("\n", "\r\n", "\r"):
        assert sizes((A + D + B).replace("\n", end), format) == [1, 1]
    for no_end in "\u2028\x85":
        assert sizes(f"{A}# x{no_end}# @message\n{B}", format) == [2]


# ---- 2.1 Turtle and TriG


def test_prefixes_and_bases() -> None:
    """002-054, 002-055."""
    use = "e:s e:p <y> .\n"
    log = f"PREFIX e: <a:> BASE <b:/x>\n{use}{D}{use}PREFIX e: <c:>\n{D}@base <d:/x> .\n{use}"
    assert read(log, "ttl") == [["<a:s> <a:p> <b:/y> ."], ["<a:s> <a:p> <b:/y> ."], ["<c:s> <c:p> <d:/y> ."]]
    with pytest.raises(jelly.JellySyntaxError) as caught:
        read(f"{A}{D}e:s e:p e:o .\n{D}PREFIX e: <a:>\n", "ttl")
    assert caught.value.message == 1


@pytest.mark.parametrize(
    ("format", "graph"), [("nq", "<a:s> <a:p> <a:o> <a:g> .\n"), ("trig", "<a:g> { <a:s> <a:p> <a:o> }\n")]
)
def test_named_graphs(format: str, graph: str) -> None:
    """002-056."""
    assert read(graph + A + D + graph, format) == [
        ["<a:s> <a:p> <a:o> <a:g> .", "<a:s> <a:p> <a:1> ."], ["<a:s> <a:p> <a:o> <a:g> ."]
    ]  # fmt: skip


@pytest.mark.parametrize("format", TEXTS)
def test_rdf_1_2(format: str) -> None:
    """002-057."""
    log = f'<a:s> <a:p> <<( <a:s> <a:p> "x" )>> .\n{D}<a:s> <a:p> "x"@ar--rtl .\n'
    first, second = read(log, format)
    assert first == ['<a:s> <a:p> <<( <a:s> <a:p> "x" )>> .']
    assert second == ['<a:s> <a:p> "x"@ar--rtl .']


@pytest.mark.parametrize("format", ["nt", "ttl"])
def test_named_graphs_are_not_written_as_triples(format: str) -> None:
    """002-058."""
    with pytest.raises(ValueError, match="graph"):
        write_messages(io.BytesIO(), [[Quad(IRI("a:s"), IRI("a:p"), IRI("a:o"), IRI("a:g"))]], format=format)


# ---- 2.2 JSON-LD

SCHEMA = {"https://schema.org/": {"@context": {"@vocab": "https://schema.org/"}}}
PRODUCTS = (
    '{"@context":"https://schema.org/","@type":"Product","name":"Hairdryer DRY 2000","color":"red"}\n'
    '{"@context":"https://schema.org/","@type":"Product","name":"27-inch 4K Monitor 2700P","color":"black"}'
)
LINE = '{"@id":"a:s","a:p":"1"}'


def test_lines_of_json() -> None:
    """002-059, 002-061, 002-062."""
    for kind in ("ndjsonld", "application/x-ld+ndjson"):
        assert sizes(PRODUCTS, kind, contexts=SCHEMA) == sizes(PRODUCTS + "\n", kind, contexts=SCHEMA) == [3, 3]
    assert media_type("ndjsonld") == "application/x-ld+ndjson"
    assert sizes(f"{LINE}\r\n{{}}\n{LINE}", "ndjsonld") == [1, 0, 1]
    assert sizes(LINE.replace("1", "\u2028"), "ndjsonld") == [1]


def test_nodes_of_lines() -> None:
    """002-063, 002-064."""
    line = '{"@id":"_:b","a:p":{"@id":"_:b"}}\n'
    first, second = read(line * 2, "ndjsonld", rename_blank_nodes=True)
    assert first[0].split()[0] == first[0].split()[2] != second[0].split()[0]
    graph = '{"@id":"a:g","@graph":[{"@id":"a:s","a:p":"1"}]}'
    assert read(graph, "ndjsonld") == [['<a:s> <a:p> "1" <a:g> .']]


def test_a_bad_line() -> None:
    """002-065."""
    with pytest.raises(jelly.JellySyntaxError) as caught:
        read(f"{LINE}\n{LINE}\n{{\n{LINE}\n", "ndjsonld")
    assert (caught.value.message, caught.value.line) == (2, 3)


def test_a_message_takes_one_line() -> None:
    """002-066, 002-078."""
    given = [[Triple(IRI("http://e/s"), IRI("http://e/p"), Literal("a\nb\r\n\u2028c"))]] * 3
    for format in ("ndjsonld", "rdfxml"):
        out = io.BytesIO()
        write_messages(out, given, format=format)
        assert out.getvalue().count(b"\n") == 3
        assert [canonical(message) for message in read_messages(out.getvalue(), format=format)] == [
            canonical(message) for message in given
        ]


# ---- 2.3 YAML-LD


def test_documents_of_yaml() -> None:
    """002-067, 002-068."""
    one, two = (
        f'"@context": https://schema.org/\n"@type": Product\nname: {name}\ncolor: {color}\n'
        for name, color in (("Hairdryer DRY 2000", "red"), ("27-inch 4K Monitor 2700P", "black"))
    )
    for kind in ("yamlld", "application/rdfm+yaml"):
        assert sizes(f"{one}---\n{two}", kind, contexts=SCHEMA) == [3, 3]
    assert media_type("yamlld") == "application/rdfm+yaml"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('---\na:p: "1"\n---\na:p: "2"\n', [1, 1]),
        ('a:p: "1"\n---\n---\na:p: "2"\n', [1, 0, 1]),
        ('a:p: "1"\n...\n---\na:p: "2"\n...\n', [1, 1]),
        ('%YAML 1.2\n---\na:p: "1"\n...\n%YAML 1.2\n---\na:p: "2"\n', [1, 1]),
    ],
)
def test_marks_of_yaml(text: str, expected: list[int]) -> None:
    """002-069."""
    assert sizes(text, "yamlld") == expected


def test_an_array_of_yaml_is_one_message() -> None:
    """002-070."""
    assert sizes('- a:p: "1"\n- a:p: "2"\n---\na:p: "3"\n', "yamlld") == [2, 1]


@pytest.mark.parametrize("text", ["no", "yes", "2020-01-01", "12:30", "off"])
def test_plain_words_of_yaml(text: str) -> None:
    """002-071."""
    assert read(f'"@id": a:s\na:p: {text}\n', "yamlld") == [[f'<a:s> <a:p> "{text}" .']]


# ---- 2.4 RDF/XML

ROOT = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:schema="http://schema.org/">'
XML = [
    f'<?xml version="1.0" encoding="utf-8"?> {ROOT}<rdf:Description rdf:nodeID="b3"><rdf:type '
    f'rdf:resource="http://schema.org/Product" /><schema:name>{name}</schema:name></rdf:Description></rdf:RDF>'
    for name in ("Hairdryer DRY 2000", "27-inch 4K Monitor 2700P")
]


def test_documents_of_xml() -> None:
    """002-072, 002-074, 002-077, 002-073: each on a new line, or it is an error."""
    for kind in ("rdfxml", "application/rdfm+xml"):
        assert sizes("\n".join(XML), kind) == [2, 2]
    assert media_type("rdfxml") == "application/rdfm+xml"
    first, second = read("\n".join(XML), "rdfxml", rename_blank_nodes=True)
    assert len({text.split()[0] for text in first}) == 1
    assert first[0].split()[0] != second[0].split()[0]
    with pytest.raises(jelly.JellySyntaxError, match="on a new line") as caught:
        read(" ".join(XML), "rdfxml")
    assert caught.value.message is not None


def test_what_documents_of_xml_may_have() -> None:
    """002-075."""
    long = XML[0].replace("><", ">\n <")
    odd = f'<!-- </rdf:RDF> -->\n<!DOCTYPE rdf:RDF [<!ENTITY e "x">]>\n{XML[1].partition("?> ")[2]}'
    cdata = XML[1].replace("27-inch 4K Monitor 2700P", "<![CDATA[</rdf:RDF>]]>")
    found = read(f"{long}\n\n \n{odd}\n{cdata}\n", "rdfxml")
    assert [len(message) for message in found] == [2, 2, 2]
    assert '"</rdf:RDF>"' in found[2][1]


# ---- 2.5 Jelly and others


def test_frames_of_jelly_are_messages() -> None:
    """002-079, 002-080, 002-084."""
    for logical in (3, 13, 0):
        rows = [craft.options(logical=logical) + craft.triple(), b"", craft.triple() * 2]
        assert sizes(b"".join(map(craft.frame, rows)), "jelly") == [1, 0, 2]
    rows = [craft.options(2, 4) + craft.quad(), craft.quad() * 2]
    assert sizes(b"".join(map(craft.frame, rows)), "jelly") == [1, 2]
    flat = craft.frame(craft.options(logical=1), craft.triple()) + craft.frame(craft.triple())
    with pytest.raises(jelly.JellyOptionsError, match="FLAT_TRIPLES"):
        read(flat, "jelly")
    assert sizes(flat, "jelly", force=True) == [1, 1]


@pytest.mark.parametrize(("statement", "logical"), [(Triple, 4), (Quad, 4)])
def test_the_logical_type_of_messages(statement: Any, logical: int) -> None:
    """002-079."""
    out = io.BytesIO()
    terms = [IRI("a:s"), IRI("a:p"), IRI("a:o")]
    write_messages(out, [[statement(*terms, *([IRI("a:g")] if statement is Quad else []))], []])
    assert wire.options(out.getvalue())[14] == logical
    assert len(wire.split(out.getvalue())) == 2
    out = io.BytesIO()
    convert_messages(A.encode(), out, format="nt")
    assert wire.options(out.getvalue())[14] == 3


def test_a_graph_that_is_open_over_frames() -> None:
    """002-088: in a stream of graphs; it comes out of a conversion with all its statements."""
    rows = [
        craft.options(3, 4) + craft.graph_start() + craft.triple(),
        craft.triple(o=(2, craft.literal())) + craft.graph_end(),
    ]  # fmt: skip
    data = b"".join(map(craft.frame, rows))
    expected = [["_:s _:p _:o _:g ."], ['_:s _:p "l" _:g .']]
    assert read(data, "jelly") == expected
    out = io.BytesIO()
    convert_messages(data, out, format="jelly", to="jelly")
    assert read(out.getvalue(), "jelly") == expected
    marks = [kind for kind, _ in wire.rows(out.getvalue()) if kind in (4, 5)]
    assert marks == [4, 5] * (len(marks) // 2)


@pytest.mark.parametrize("format", ["nt", "nq", "ttl", "trig", "jelly"])
def test_what_stands_behind_the_word(format: str) -> None:
    """002-089."""
    out = io.BytesIO()
    convert_messages(f"{D.rstrip()} one\n{A}{D}{B}".encode(), out, format="nt", to=format)
    assert [message.note for message in read_messages(out.getvalue(), format=format)] == ["one", ""]


# ---- 3 uses


def test_groups() -> None:
    """002-082: of the statements of a result."""
    text = "".join(f"<a:{i // 3}> <a:p> <a:{i}> <a:g{i // 4}> .\n" for i in range(12))
    rows = list(jelly.read(text.encode(), format="nq"))
    assert [len(list(message)) for message in group(rows, "subject")] == [3, 3, 3, 3]
    assert [len(list(message)) for message in group(rows, "graph")] == [4, 4, 4]
    assert [len(list(message)) for message in group(rows, 5)] == [5, 5, 2]
    assert [len(list(message)) for message in group(rows, lambda x: x.o.value < "a:6")] == [6, 4, 2]
    assert all(isinstance(message, Message) for message in group(rows, "subject"))


def test_several_datasets_in_a_byte_stream() -> None:
    """002-085: TriG documents as frames."""
    texts = [f"<a:g{i}> {{ {A} }} <a:h{i}> {{ {B} }}" for i in range(3)]
    out = io.BytesIO()
    write_messages(out, [list(jelly.read(text.encode(), format="trig")) for text in texts])
    assert len(wire.split(out.getvalue())) == 3
    assert [len(frame) for frame in jelly.scan(out.getvalue()).frames()] == [2, 2, 2]
    assert sizes(out.getvalue(), "jelly") == [2, 2, 2]


def test_negotiation() -> None:
    """002-087."""
    assert negotiate("application/trig;q=0.5, text/turtle") == "text/turtle; version=1.2; messages=rdfm"
    assert negotiate("application/rdfm+xml") == "application/rdfm+xml"
    assert negotiate("image/png") is None
