"""The cases of the upstream suite (RDF Messages test suite, 25 September 2026) that apply, with data of our own.

Of its 28 cases, those of discovery by HTTP headers, of profiles and of transports ask for a server or client: what of
them is ours is the media type.
"""

from __future__ import annotations

import io
import json

import pytest
from messages.canon import canonical

import jelly
from jelly._formats.registry import REGISTRY, Content
from jelly.messages import media_type, negotiate, read_messages, write_messages
from jelly.messages._media import find_log, parse_media_type

V = 'VERSION "1.2-messages"\n'
A, B, C = "<a:s> <a:p> <a:1> .\n", "<a:s> <a:p> <a:2> .\n", "<a:s> <a:p> <a:3> .\n"


def read(text, format="nt", **settings):
    settings.setdefault("dialect", "directive")
    return list(read_messages(text.encode(), format=format, **settings))


def sizes(*args, **settings):
    return [len(message) for message in read(*args, **settings)]


# ---- 1.1 discovery


@pytest.mark.parametrize("format", ["nt", "nq", "ttl", "trig"])
@pytest.mark.parametrize("label", ["1.2-messages", "1.2-basic-messages", "1.1-messages"])
def test_announced_by_label(format, label):
    assert sizes(f'VERSION "{label}"\n{A}MESSAGE\n{B}', format) == [1, 1]


@pytest.mark.parametrize("kind", ["text/turtle", "application/trig", "application/n-triples", "application/n-quads"])
def test_announced_by_media_type(kind):
    for parameter in ("version=1.2-messages", 'Version="1.2-messages"'):
        found = list(read_messages(f"{A}MESSAGE\n{B}".encode(), format=f"{kind}; {parameter}"))
        assert [len(message) for message in found] == [1, 1]


@pytest.mark.parametrize("format", ["ttl", "trig"])
@pytest.mark.parametrize("line", ["@version '1.2-messages' .", 'version "1.2-messages"', 'Version\t"1.2-messages" # x'])
def test_announced_by_any_spelling_of_version(format, line):
    assert sizes(f"{line}\n{A}@message .\n{B}", format) == [1, 1]


@pytest.mark.parametrize("format", ["nt", "nq", "ttl", "trig"])
@pytest.mark.parametrize("head", ["", 'VERSION "1.2"\n', '# VERSION "1.2-messages"\n'])
def test_not_announced(format, head):
    with pytest.raises(jelly.JellySyntaxError, match="announce") as caught:
        read(f"{head}{A}MESSAGE\n{B}", format)
    assert caught.value.line == 2 + head.count("\n")


def test_a_plain_document_is_one_message():
    assert sizes(f"{A}# @message\n{B}", "text/turtle", dialect=None) == [2]
    assert [len(message) for message in read_messages(f"{A}# @message\n{B}".encode(), format="text/turtle")] == [2]


# ---- 1.2 parsing


@pytest.mark.parametrize("format", ["nt", "nq", "ttl", "trig"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (V + A, [1]),
        (f"{V}{A}MESSAGE\n{B}", [1, 1]),
        (f"{V}MESSAGE\n{A}", [0, 1]),
        (f"{V}{A}MESSAGE\nMESSAGE\n{B}", [1, 0, 1]),
        (f"{V}{A}{B}MESSAGE\n", [2]),
        (f"{V}{A}MESSAGE\nMESSAGE\n", [1, 0]),
        (V, []),
        (f"{V}# MESSAGE\n{A}# @message\n{B}", [2]),
    ],
)
def test_delimiters(format, text, expected):
    assert sizes(text, format) == expected


@pytest.mark.parametrize("format", ["ttl", "trig"])
@pytest.mark.parametrize("delimiter", ["MESSAGE", "@message .", "@message\n\t.", "@message."])
def test_delimiters_of_turtle(format, delimiter):
    assert sizes(f"{V}{A}{delimiter} {B}", format) == [1, 1]


@pytest.mark.parametrize("word", ["message", "Message", "@MESSAGE .", "@Message .", "MESSAGE .", "MESSAGES"])
def test_delimiters_are_case_sensitive(word):
    with pytest.raises(jelly.JellySyntaxError):
        read(f"{V}{A}{word}\n{B}", "ttl")


def test_named_graphs():
    first, second = read(f"{V}PREFIX e: <a:>\n{A}e:g {{ {B} }}\n_:g {{ _:g e:p _:g }} MESSAGE\n{C}", "trig")
    assert canonical(first) == ["<a:s> <a:p> <a:1>", "<a:s> <a:p> <a:2> <a:g>", "_:c14n0 <a:p> _:c14n0 _:c14n0"]
    assert canonical(second) == ["<a:s> <a:p> <a:3>"]


@pytest.mark.parametrize("format", ["nt", "nq", "ttl", "trig"])
def test_blank_nodes_are_of_one_message(format):
    found = read(f"{V}_:b <a:p> _:b .\nMESSAGE\n_:b <a:p> <a:o> .\n", format, rename_blank_nodes=True)
    assert found[0].statements[0].s == found[0].statements[0].o != found[1].statements[0].s


def test_prefixes_and_base_stay_and_change():
    text = (
        f"{V}@prefix e: <a:> . BASE <b:/x>\ne:s e:p <y> .\nMESSAGE\n"
        "e:s e:p <y> . PREFIX e: <c:> MESSAGE\nBASE <z/> e:s e:p <y> ."
    )
    assert [str(message.statements[0]) for message in read(text, "ttl")] == [
        "<a:s> <a:p> <b:/y> .",
        "<a:s> <a:p> <b:/y> .",
        "<c:s> <c:p> <b:/z/y> .",
    ]


# ---- 1.3 NDJSON-LD


def test_ndjson():
    line = '{"@id":"a:s","a:p":{"@id":"_:b"}}\n'
    assert sizes(f"{line}{{}}\n{line}", "application/x-ld+ndjson") == [1, 0, 1]
    with pytest.raises(jelly.JellySyntaxError):
        read(f"{line}\n{line}", "ndjsonld", strict=True)
    with pytest.raises(jelly.JellySyntaxError):
        read(f"[{line}]", "ndjsonld", strict=True)
    context = '{"@context":{"p":"a:p"}}\n'
    assert sizes(f'{context}{{"@id":"a:s","p":1}}\n{{"@context":{{"p":"a:q"}}}}\n{{"p":2}}', "ndjsonld") == [1, 1]
    found = read(f'{context}{{"p":1}}\n{{"@context":{{"p":"a:q"}}}}\n{{"p":2}}', "ndjsonld")
    assert [message.statements[0].p.value for message in found] == ["a:p", "a:q"]


NODE = {"@id": "a:s", "p": "x"}
PLAIN, ALIAS = {"p": "a:p"}, {"p": "a:p", "g": "@graph"}


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (PLAIN, NODE),
        (PLAIN, {"@graph": [NODE]}),
        (PLAIN, {"@graph": NODE}),
        (PLAIN, {"@graph": []}),
        (PLAIN, {"@id": "a:g", "@graph": [NODE]}),
        (PLAIN, {"@context": {"q": "a:q"}, "@graph": [NODE | {"q": "y"}]}),
        (PLAIN, {"@context": [{"q": "a:q"}, {"r": "a:r"}], "@graph": [NODE | {"r": "y"}]}),
        ([PLAIN, {"q": "a:q"}], {"@context": {"r": "a:r"}, "@graph": [NODE | {"q": "y"}]}),
        (PLAIN, {"@context": {"g": "@graph"}, "g": [NODE]}),
        (ALIAS, {"g": [NODE]}),
        (ALIAS, {"@id": "a:g", "g": [NODE]}),
        (ALIAS, {"p": "x"}),
        ({"p": "a:p", "g": "h", "h": {"@id": "@graph"}}, {"g": [NODE]}),
        ([ALIAS, {"g": "a:g"}], {"g": "x"}),
        ([ALIAS, None, PLAIN], {"g": [NODE]}),
        (ALIAS, {"@context": {"h": "g"}, "h": [NODE]}),
        (ALIAS, {"@context": {"g": "a:g"}, "g": "x"}),
        (ALIAS, {"@context": None, "g": [NODE]}),
        (PLAIN, {"@context": {"q": "a:q"}, "@graph": ["x", 5, None, [NODE, {"@value": "x"}], {"@list": [NODE]}]}),
        (PLAIN, {"@context": {"q": "a:q"}, "@graph": [{"@context": {"p": "a:r"}} | NODE]}),
        (PLAIN, {"@context": {f"q{n}": "a:q" for n in range(9_000)}, "@graph": [NODE] * 2}),
    ],
)
def test_a_context_line_is_the_context_of_each_message(context, message):
    """Also of one that is a default graph: @graph beside nothing else."""
    own = [part if isinstance(part, list) else [part] for part in (context, message.get("@context", []))]
    inline = json.dumps(message | {"@context": own[0] + own[1]})
    lines = [json.dumps(line) for line in ({"@context": context}, NODE, message, NODE)]
    node = json.dumps(NODE | {"@context": context})
    found = list(map(canonical, read("\n".join(lines), "ndjsonld")))
    assert found == list(map(canonical, read(f"{node}\n{inline}\n{node}", "ndjsonld")))


# ---- 1.4 round trips, 1.5 errors


@pytest.mark.parametrize("format", ["nt", "nq", "ttl", "trig", "ndjsonld"])
def test_a_log_is_what_it_was(format):
    messages = read(f"{V}MESSAGE\n{A}MESSAGE\nMESSAGE\n{B}{C}MESSAGE\n")
    out = io.BytesIO()
    write_messages(out, messages, format=format, dialect="directive")
    assert list(map(canonical, read(out.getvalue().decode(), format))) == list(map(canonical, messages))


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (f"{V}{A}@message <a:x> .\n", "ttl"),
        (f"{V}{A}@message", "ttl"),
        (f"{V}<a:g> {{ {A} MESSAGE\n{B} }}", "trig"),
        (f"{V}{{ {A} @message .\n{B} }}", "trig"),
        (f"{V}<a:s> <a:p> MESSAGE\n<a:o> .", "ttl"),
        (f"{V}<a:s> <a:p> MESSAGE\n<a:o> .", "nt"),
    ],
)
def test_errors(text, format):
    with pytest.raises(jelly.JellySyntaxError) as caught:
        read(text, format)
    assert (caught.value.message, caught.value.line) in ((0, 2), (0, 3))


# ---- media types


def test_media_types():
    assert parse_media_type(' text/turtle ;; a = b; A=c;q="x;\\"y" ') == ("text/turtle", {"a": "b", "q": 'x;"y'})
    for wrong in ("", "turtle", "text/turtle; a", 'text/turtle; a="', "text/turtle x"):
        with pytest.raises(jelly.JellyError):
            parse_media_type(wrong)
    for name in REGISTRY[Content.MESSAGES]:
        for dialect in ("comment", "directive"):
            format, found = find_log(media_type(name, dialect))
            assert format.name == name
            assert found == (dialect if format.delimited else "comment")
    with pytest.warns(UserWarning, match="messages=other"):
        assert find_log("text/turtle; messages=other")[1] is None
    with pytest.raises(jelly.JellyError, match="image/png"):
        find_log("image/png")
    with pytest.raises(jelly.JellyError, match=r"\.doc"):
        find_log(None, "x.doc")


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("*/*", "application/x-jelly-rdf"),
        ("text/*", "text/turtle; version=1.2; messages=rdfm"),
        ("*/*;q=0.1, application/rdfm+xml", "application/rdfm+xml"),
        ("application/x-jelly-rdf;q=0, */*;q=0.5", "application/n-triples; version=1.2; messages=rdfm"),
        ('application/trig;messages="rdfm"', "application/trig; version=1.2; messages=rdfm"),
        ("application/trig;version=1.2-messages", None),
        ("", None),
    ],
)
def test_negotiation(accept, expected):
    assert negotiate(accept) == expected


def test_negotiation_among_offers():
    assert negotiate("text/turtle;q=0.9,application/trig", ["text/turtle", "application/trig"]) == "application/trig"
    assert negotiate("application/trig;version=1.2-messages", dialect="directive") == media_type("trig", "directive")
    with pytest.raises(jelly.JellyError, match="q=2"):
        negotiate("text/turtle;q=2")
