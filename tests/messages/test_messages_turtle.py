"""Messages in Turtle and TriG, which pyoxigraph writes, many of them in one call."""

from __future__ import annotations

import io

import pytest
from support.contents import convert_messages

import jelly
from jelly._formats.registry import TURTLE
from jelly._formats.syntaxes import SyntaxWriter
from jelly.messages import MessageReader, MessageWriter, read_messages

S, P, G = (jelly.IRI(f"http://a/{name}") for name in "spg")


def turtle_log(messages, namespaces=(), **settings):
    out = io.BytesIO()
    with MessageWriter(out, **settings) as writer:
        for i, message in enumerate(messages):
            writer.write(message, namespaces=[each[1:] for each in namespaces if each[0] == i])
    return out.getvalue().decode()


def test_prefixes_hold_from_where_they_are_declared():
    one = [jelly.Triple(S, P, S)]
    names = [(1, "n", "http://a/"), (2, "n", "http://a/"), (3, "n", "http://b/"), (3, "m", "relative")]
    messages = [one, one, one, [], one]
    expected = (
        "# @message\n<http://a/s> <http://a/p> <http://a/s> .\n"
        "# @message\n@prefix n: <http://a/> .\nn:s n:p n:s .\n"
        "# @message\nn:s n:p n:s .\n"
        "# @message\n@prefix n: <http://b/> .\n"
        "# @message\n<http://a/s> <http://a/p> <http://a/s> .\n"
    )
    assert turtle_log(messages, names, format="ttl") == expected
    # Batch by Batch it is the same text.
    jelly_log = io.BytesIO()
    with MessageWriter(jelly_log, format="jelly") as writer:
        for i, message in enumerate(messages):
            writer.write(message, namespaces=[each[1:] for each in names if each[0] == i])
    out = io.BytesIO()
    convert_messages(jelly_log.getvalue(), out, to="ttl")
    assert out.getvalue().decode() == expected


@pytest.mark.parametrize("chunk", [1, 1000])
def test_prefixes_with_comments_between_their_tokens(chunk):
    text = b"@prefix # c\n e: # <http://x/>\r<http://e/> . e:s e:p e:o .\n# @message\nPREFIX f:#\n<http://f/>\n"
    reader = MessageReader([text[at : at + chunk] for at in range(0, len(text), chunk)], format="ttl")
    assert [message.namespaces for message in reader] == [[("e", "http://e/")], [("f", "http://f/")]]


def test_messages_that_are_alike_empty_or_in_one_graph():
    quads = [jelly.Quad(S, P, jelly.Literal("o", language="en-GB"), G)]
    triple = [jelly.Quad(S, P, S, jelly.DefaultGraph())]
    text = turtle_log([[], [], quads, quads, triple, triple, []], format="trig", dialect="directive")
    in_graph = '<http://a/g> {\n\t<http://a/s> <http://a/p> "o"@en-GB .\n}\nMESSAGE\n'
    plain = "<http://a/s> <http://a/p> <http://a/s> .\nMESSAGE\n"
    assert text == 'VERSION "1.2-messages"\nMESSAGE\nMESSAGE\n' + in_graph * 2 + plain * 2 + "MESSAGE\n"


def test_a_long_literal_in_a_turtle_log():
    text = "\n" * (1 << 22)
    messages = [[jelly.Triple(S, P, jelly.Literal(text))], [], [jelly.Triple(S, P, S)]]
    made = turtle_log(messages, [(1, "n", "http://a/")], format="ttl")
    short = "# @message\n@prefix n: <http://a/> .\n# @message\nn:s n:p n:s .\n"
    assert made == '# @message\n<http://a/s> <http://a/p> "' + "\\n" * (1 << 22) + '" .\n' + short


def test_prefixes_of_frames_that_are_refused_are_declared_again():
    writer = SyntaxWriter(TURTLE)
    out = io.BytesIO()
    with MessageWriter(out, format="jelly") as log:
        log.write([jelly.Triple(jelly.QuotedTriple(S, P, S), P, S)], namespaces=[("n", "http://a/")])
        log.write([jelly.Triple(S, P, S)], namespaces=[("n", "http://a/")])
    [batch] = MessageReader(out.getvalue()).batches()
    strict, writer._capabilities = writer._capabilities, writer._capabilities.replace(quoted="any")
    with pytest.raises(jelly.JellyUnsupportedError, match="Turtle cannot hold this statement"):
        writer.frames(batch)
    writer._capabilities = strict
    out = io.BytesIO()
    with MessageWriter(out, format="jelly") as log:
        log.write([jelly.Triple(S, P, S)], namespaces=[("n", "http://a/")])
    [batch] = MessageReader(out.getvalue()).batches()
    assert writer.frames(batch) == [b"@prefix n: <http://a/> .\nn:s n:p n:s .\n"]


@pytest.mark.parametrize(
    ("text", "given", "line"),
    [
        # What breaks before a delimiter that stands in a statement is the error, not the delimiter.
        ('VERSION "1.2-messages"\n<a:s> <a:p> 1 .\nMESSAGE\nMESSAE\n<a:s> <a:p> 1\nMESSAGE\n', 1, 4),
        ('VERSION "1.2-messages"\n<a:s> <a:p> 1 .\nMESSAGE\n<a:s> <a:p>\nMESSAGE\n', 1, 5),
        # No message is given that ends after the place of the error, not even an empty one.
        ("<a:s> <a:p> 1 ,\n# @message\n2 , 'x .\n# @message\n3 .\n# @message\n", 1, 3),
        ("<a:s> <a:p> 1 .\n# @message\n<a:s> <a:p .\n# @message\n> <a:o> .\n# @message\n", 1, 3),
    ],
)
@pytest.mark.parametrize("chunk", [1 << 20, 1])
def test_the_first_thing_that_is_wrong_is_the_error(text: str, given: int, line: int, chunk: int) -> None:
    data = text.encode()
    found = []
    with pytest.raises(jelly.JellySyntaxError) as caught:
        found += read_messages([data[at : at + chunk] for at in range(0, len(data), chunk)], format="ttl")
    assert (len(found), caught.value.message, caught.value.line) == (given, given, line)


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("ttl", b'VERSION "1.2-messages"\n<a:s> <a:p> 1 , <a:o>\nMESSAGE\n'),
        ("ndjsonld", b'{"@id": "a:s", "a:p": 1}\n5\n{"@id": "a:s", "a:p": 1}'),
        ("rdf", b"<a/>oops<b/>"),
    ],
)
def test_a_log_that_has_failed_stays_failed(format: str, data: bytes) -> None:
    reader = MessageReader(b"", format=format)
    for step in (lambda: reader.feed(data), lambda: reader.feed(b"\n"), reader.close):
        with pytest.raises(jelly.JellySyntaxError) as caught:
            list(step())
        assert caught.value.message == (format == "ndjsonld")
