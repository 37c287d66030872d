"""RDF Messages to the letter: delimiters inside statements and graph blocks."""

from __future__ import annotations

import re

import pytest
from support.measure import within

import jelly
from jelly._core.boundaries.turtle import Lexer
from jelly.messages import MessageReader, read_messages

ox = pytest.importorskip("pyoxigraph")

from messages.test_messages_lexer import BASE, SUITES, files  # noqa: E402 - needs pyoxigraph

SENTINEL = b"<x:s> <x:p> <x:o> .\n"


def found(text: str | bytes, format: str, chunk: int = 1 << 20, **settings: object) -> list[list[str]]:
    data = text if isinstance(text, bytes) else text.encode()
    pieces = [data[at : at + chunk] for at in range(0, len(data), chunk)]
    return [[str(row) for row in message] for message in read_messages(pieces, format=format, **settings)]


def rows(*objects: str, graph: str = "") -> list[str]:
    return [f"<a:s> <a:p> {each}{graph} ." for each in objects]


INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"
STATEMENTS = [
    ("<a:s> <a:p> <a:1> ;\n# @message\n <a:p> <a:2> .", [rows("<a:1>"), rows("<a:2>")]),
    ("<a:s> <a:p> <a:1>\n# @message\n, <a:2> .", [rows("<a:1>"), rows("<a:2>")]),
    # The first one comes before any triple: no message ends there.
    ("<a:s>#@message\n<a:p>#@message\r\n<a:1> .", [[], rows("<a:1>")]),
    ("<a:s> <a:p> 1#@message\n.", [rows(f'"1"{INTEGER}'), []]),
    ("<a:s> <a:p> 1 .#@message\n<a:s> <a:p> 2;# @message\n.", [rows(f'"1"{INTEGER}'), rows(f'"2"{INTEGER}'), []]),
    ("<a:s> <a:p> 1 , .5 # @message\n, 2 .", [rows(f'"1"{INTEGER}', '".5"^^<http://www.w3.org/2001/XMLSchema#decimal>'),
                                            rows(f'"2"{INTEGER}')]),
    # A string ends where it ends, although a tag could have followed.
    ("<a:s> <a:p> 'x' # @message\n, 'y' .", [rows('"x"'), rows('"y"')]),
    ("<a:s> <a:p> 'x' # one\n\n # @message\n # two\n .", [rows('"x"'), []]),
    ("<a:s> <a:p> '''x''' # @message\n# @message\n , 'y' .", [rows('"x"'), [], rows('"y"')]),
    ("<a:s> <a:p> <a:1>, 'x' # @message\n # not yet\n @EN , 'y' .", [rows("<a:1>"), rows('"x"@EN', '"y"')]),
    ("<a:s> <a:p> <a:1>, 'x' # @message\n ^^<a:d> .", [rows("<a:1>"), rows('"x"^^<a:d>')]),
    ("<a:s> <a:p> 'x'@EN-gb # @message\n , 'x' .", [rows('"x"@EN-gb'), rows('"x"')]),
    ("<a:s> <a:p> <<( <a:s> <a:p> <a:1> )>> # @message\n, <a:2> .",
     [rows("<<( <a:s> <a:p> <a:1> )>>"), rows("<a:2>")]),
    # Directives make no triple, and hold from their end on.
    ("<a:s> <a:p> <a:1> . prefix # @message\n e: <a:> e:s e:p e:2 . # @message\n",
     [rows("<a:1>"), rows("<a:2>"), []]),
    ("prefix e: <b:> <a:s> <a:p> <a:1> # @message\n. prefix e: <a:> e:s e:p e:2 .", [rows("<a:1>"), rows("<a:2>")]),
    ("base # @message\n <http://e/> <a:s> <a:p> <o> . # @message\n<a:s> <a:p> <a:1> .",
     [rows("<http://e/o>"), rows("<a:1>")]),
]  # fmt: skip


@pytest.mark.parametrize("chunk", [1 << 20, 1, 5])
@pytest.mark.parametrize(("text", "expected"), STATEMENTS)
@pytest.mark.parametrize("format", ["ttl", "trig"])
def test_a_delimiter_inside_a_statement(text: str, expected: list[list[str]], chunk: int, format: str) -> None:
    """002-052: triples before it belong to one message, those behind it to the next."""
    assert found(text, format, chunk) == expected


@pytest.mark.parametrize("chunk", [1 << 20, 1, 5])
def test_a_delimiter_inside_a_graph_block(chunk: int) -> None:
    """002-053: the same in TriG; statements behind it are in the graph that is open."""
    text = (
        "<a:g> { <a:s> <a:p> <a:1> .\n# @message two\n<a:s> <a:p> <a:2> .\n <a:s> <a:p> <a:3> ;\n# @message three\n}\n"
        "{ <a:s> <a:p> <a:4>\n# @message four\n} <a:s> <a:p> <a:5> . # @message five\n<a:h> {\n# @message six\n}"
    )
    assert found(text, "trig", chunk) == [
        rows("<a:1>", graph=" <a:g>"), rows("<a:2>", "<a:3>", graph=" <a:g>"), rows("<a:4>"), rows("<a:5>"), [], []
    ]  # fmt: skip
    notes = [message.note for message in read_messages(text.encode(), format="trig")]
    assert notes == ["", "two", "three", "four", "five", "six"]


@pytest.mark.parametrize("chunk", [1 << 20, 1, 5])
def test_blank_nodes_of_a_statement_over_messages(chunk: int) -> None:
    """002-052 and 002-016: a node that is open over a delimiter is a node of its own in each message."""
    text = "<a:s> <a:p> [ <a:q> 1 ;\n# @message\n <a:r> 2 ] , _:b .\n# @message\n_:b <a:p> _:b ,\n# @message\n_:b ."
    assert found(text, "ttl", chunk, rename_blank_nodes=True) == [
        [f'_:m0-anon0 <a:q> "1"{INTEGER} .'],
        [f'_:m1-anon0 <a:r> "2"{INTEGER} .', "<a:s> <a:p> _:m1-anon0 .", "<a:s> <a:p> _:m1-b ."],
        ["_:m2-b <a:p> _:m2-b ."],
        ["_:m3-b <a:p> _:m3-b ."],
    ]


@pytest.mark.parametrize("format", ["ttl", "trig"])
def test_strict_and_directives_refuse_it(format: str) -> None:
    """002-052, 002-053: strict=True, as newer drafts; there a directive is a statement, which stands in no other."""
    inside = "<a:s> <a:p> <a:1> ;\n# @message\n <a:p> <a:2> ."
    with pytest.raises(jelly.JellySyntaxError, match="a delimiter inside a statement"):
        found(inside, format, strict=True)
    with pytest.raises(jelly.JellySyntaxError):
        found('VERSION "1.2-messages"\n' + inside.replace("# @message", "MESSAGE"), format)
    with pytest.raises(jelly.JellySyntaxError, match="inside a graph block"):
        found("<a:g> {\n# @message\n}", "trig", strict=True)


@pytest.mark.parametrize("chunk", [1 << 20, 1, 7])
def test_messages_before_an_error_are_given(chunk: int) -> None:
    """002-003 with 002-052: a statement that is broken behind its third delimiter."""
    text = "<a:s> <a:p> 0 . # @message\n<a:s> <a:p> 1 ;\n# @message\n<a:p> 2 , # @message\n 3 ; oops:x 4 ."
    given = []
    with pytest.raises(jelly.JellySyntaxError) as caught:
        given += read_messages([text[at : at + chunk].encode() for at in range(0, len(text), chunk)], format="ttl")
    assert [len(message) for message in given] == [1, 1, 1]
    assert (caught.value.message, caught.value.line) == (3, 5)


def test_a_prefix_inside_messages_of_a_block_is_known_where_it_stands() -> None:
    """002-055 with 002-053: namespaces come with the message that declares them."""
    text = b"<a:g> { <a:s> <a:p> 1 #@message\n. } prefix e: <a:> { e:s e:p 2 #@message\n } #@message\n prefix f: <b:>"
    assert [message.namespaces for message in read_messages(text, format="trig")] == [
        [], [("e", "a:")], [], [("f", "b:")]
    ]  # fmt: skip


def test_the_lexer_knows_where_statements_end() -> None:
    """002-052: asked of the parser, which takes a statement between statements only."""
    between = inside = 0
    for name, kind, data, _ in files():
        if kind not in ("ttl", "trig"):
            continue
        places = [match.end() for match in re.finditer(rb"[ \t\n]", data[:3000])]
        for at in places[:: max(1, len(places) // 40)]:
            changed = data[:at] + b"#@message 3a9f\n" + data[at:]
            marks = [mark for mark in Lexer().feed(changed, True) if mark[:2] == ("message", at)]
            if not marks:
                continue  # in a string, a comment or an IRI
            try:
                list(ox.parse(data[:at] + SENTINEL + data[at:], SUITES[kind], base_iri=BASE))
                stands = 0
            except SyntaxError:
                stands = 1
            assert min(marks[0][5], 1) == stands, (name, at, changed)
            between += not stands
            inside += stands
    assert between > 1000
    assert inside > 1000


def test_delimiters_everywhere_lose_nothing() -> None:
    """002-039 with 002-052: each triple is in a message, in order, however the log is cut."""
    tested = 0
    for name, kind, data, expected in files():
        if kind not in ("ttl", "trig") or "_:" in expected or b"@version" in data or b"VERSION" in data:
            continue
        if b'"""' in data or b"'''" in data:
            continue
        changed = b"#@message\n" + data.replace(b"\n", b"#@message\n#@message\n")
        messages = list(read_messages([changed], format=kind, base=BASE))
        by_byte = read_messages((changed[at : at + 1] for at in range(len(changed))), format=kind, base=BASE)
        assert [list(message) for message in by_byte] == [list(message) for message in messages]
        text = "".join(f"{row}\n" for message in messages for row in message)
        first, second = (list(ox.parse(each.encode(), ox.RdfFormat.N_QUADS)) for each in (text, expected))
        assert first == second, name
        tested += 1
    assert tested > 100


@pytest.mark.parametrize("chunk", [1 << 20, 100])
@pytest.mark.parametrize(
    ("begin", "each", "end"),
    [
        ("<a:s> <a:p> 0", ",#@message\n'x'", "."),
        ("<a:s> <a:p> 'x'", "#@message\n", "."),
        ("<a:g> {", "<a:s> <a:p> 0 .#@message\n", "}"),
        ("<a:s> <a:p> 0", ". <a:s> <a:p> 'x' #@message\n", "."),
    ],
)
@pytest.mark.bounded
def test_many_delimiters_inside_take_time_as_their_number(begin: str, each: str, end: str, chunk: int) -> None:
    """002-052: 50 000 messages in one statement; what takes the square of them does not end."""
    n = 50_000
    text = (begin + each * n + end).encode()
    parts = [text[at : at + chunk] for at in range(0, len(text), chunk)]
    assert within(10, lambda: sum(len(x.frames) for x in MessageReader(parts, format="trig").batches())) == n + 1


def test_what_goes_over_messages_counts_as_a_whole() -> None:
    """002-007 with 002-053: the limit is of the block, as nothing of it is given before it ends."""
    text = b"<a:g> {" + b"<a:s> <a:p> 0 .#@message\n" * 1000 + b"}"
    assert len(list(read_messages(text, format="trig", max_message_bytes=1 << 18))) == 1001
    with pytest.raises(jelly.JellyLimitError, match="max_message_bytes"):
        list(read_messages(text, format="trig", max_message_bytes=1 << 14))
    # Of messages that end between statements each counts alone, also where a later one is split.
    text = b"<a:s> <a:p> 0 .#@message\n" * 3000 + b"<a:s> <a:p> 0 #@message\n."
    assert len(list(read_messages([text], format="ttl", max_message_bytes=1 << 17))) == 3002
