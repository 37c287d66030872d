"""The lexer against a parser: a comment is where a parser sees none, wherever it is put."""

from __future__ import annotations

import re
import tarfile
from functools import cache

import pytest
from support.measure import within
from support.shared import shared

from jelly._core.boundaries.turtle import Lexer
from jelly._core.boundaries.xml import DocumentScanner

ox = pytest.importorskip("pyoxigraph")

SUITES = {
    "ttl": ox.RdfFormat.TURTLE,
    "trig": ox.RdfFormat.TRIG,
    "nt": ox.RdfFormat.N_TRIPLES,
    "nq": ox.RdfFormat.N_QUADS,
}
BASE = "http://example.org/base/"
# What no IRI, literal or blank node of the suites has.
COMMENT = b"# @message 3a9f\n"


@cache
def files():
    found = []
    with tarfile.open(shared("data", "w3c-rdf-tests.tar.gz")) as archive:
        for member in archive:
            kind = member.name.rpartition(".")[2]
            if member.isfile() and kind in SUITES and "manifest" not in member.name:
                data = archive.extractfile(member).read()
                if (expected := parse(data, kind)) is not None:
                    found.append((member.name, kind, data, expected))
    return found


def parse(data, kind):
    """The statements, None where there is a syntax error. The random labels of blank nodes go by their order."""
    try:
        quads = list(ox.parse(data, SUITES[kind], base_iri=BASE))
    except SyntaxError:
        return None
    text = (ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b"").decode()
    labels = {}
    return re.sub(r"_:[0-9a-f]{20,32}\b", lambda match: labels.setdefault(match[0], f"_:anonymous{len(labels)}"), text)


def verdict(data, at):
    """Whether the lexer takes what was put there for a delimiter."""
    return any(kind == "message" and begin == at for kind, begin, *_ in Lexer().feed(data, True))


def test_a_comment_at_each_line_of_the_w3c_files():
    tested = inside = 0
    for name, kind, data, expected in files():
        for at in {0, *(match.end() for match in re.finditer(rb"\n|\r\n?", data))}:
            changed = data[:at] + COMMENT + data[at:]
            # A comment changes nothing; anything else is within a string.
            same = parse(changed, kind) == expected
            assert verdict(changed, at) == same, (name, at)
            tested += 1
            inside += not same
    assert tested > 4000
    assert inside > 20


def test_the_lexer_in_chunks():
    for name, _, data, _ in files()[::7]:
        data = data[:2000].replace(b"\n", b"\n" + COMMENT)
        for directive in (False, True):
            whole = Lexer(directive=directive).feed(data, True)
            for size in (1, 2, 3, 7, 64):
                lexer = Lexer(directive=directive)
                found = [mark for at in range(0, len(data), size) for mark in lexer.feed(data[at : at + size])]
                assert found + lexer.feed(b"", True) == whole, (name, size)


SPACES = "\t\x0b\x0c \u00a0\u1680\u2000\u2005\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


@pytest.mark.parametrize("space", SPACES, ids=lambda space: f"U+{ord(space):04X}")
def test_space_as_ecmascript_has_it(space):
    assert len(Lexer().feed(f"#{space}@message".encode(), True)) == 1


@pytest.mark.parametrize("space", "\x1c\x85\u180e\u200b\u2060\u3001", ids=lambda space: f"U+{ord(space):04X}")
def test_what_is_no_space(space):
    assert Lexer().feed(f"#{space}@message".encode(), True) == []


@pytest.mark.parametrize(
    "text",
    [
        "<a#@message>", "'#@message'", '"\\"#@message"', "'''\n'#@message\n''\n'''",
        '"""\\"""#@message"""', "e:a\\#@message",
        "## @message", "# x @message", "#@Message", "<<<a#@message>>>", "'' '#@message'", '"""#@message',
    ],
)  # fmt: skip
def test_no_delimiter(text):
    assert Lexer().feed(f"{text}\n".encode(), True) == []


@pytest.mark.parametrize(
    "text", ["''", '""""""', "<a>", "<<e:a", "<<", "e:a", "a.", '"x"@en', "<a b", "1.", "'x\n", '<a"x"']
)
def test_a_delimiter_behind(text):
    assert [mark[0] for mark in Lexer().feed(f"{text}#@message".encode(), True)] == ["message"]


@pytest.mark.parametrize(
    "opening", ["'''", "'", "<", "#", "# ", "#@message", "a", "a\\", "\\", "@", "@message ", "<<", ".", "{"]
)
@pytest.mark.bounded
def test_what_never_ends_takes_no_time(opening):
    def read():
        lexer = Lexer(directive=True)
        lexer.feed(opening.encode())
        for _ in range(4096):
            lexer.feed(b" " * 500 if opening.endswith(" ") else b"a\\" * 250)
        lexer.feed(b"", True)

    within(2, read)


def test_documents_in_chunks():
    root = b"<r a='>' b=\"/>\">"
    data = (
        b"<?xml?>"
        + root
        + b'<a/><!-- </r> --><![CDATA[</r>]]></r>\n \n<!DOCTYPE r [<!ENTITY v "]>"><!-- \' -->]>\r\n<r/>\n'
    )
    whole = DocumentScanner().feed(data)
    assert [what for what, _ in whole] == ["end", "doctype", "end"]
    for size in range(1, 12):
        scanner = DocumentScanner()
        assert [mark for at in range(0, len(data), size) for mark in scanner.feed(data[at : at + size])] == whole
        assert not scanner.begun


@pytest.mark.parametrize(
    ("text", "found"), [("<a/><b/>", "stray"), ("<a/> x", "stray"), ("x", "stray"), ("</a>", "stray")]
)
def test_stray_markup(text, found):
    assert DocumentScanner().feed(text.encode())[-1][0] == found


def test_an_escape_at_the_end_of_a_chunk():
    name = b"e:" + b"long" * 9
    for directive, mark in ((False, b" # @message\n"), (True, b"\nMESSAGE\n")):
        for escape in (b"\\.", b"\\\\", b".\\.", b"\\\\."):
            text = name + escape + b" <p>" + mark + b" <o> ."
            whole = Lexer(directive=directive).feed(text, True)
            assert len(whole) == 1
            for cut in range(len(text)):
                lexer = Lexer(directive=directive)
                assert lexer.feed(text[:cut]) + lexer.feed(text[cut:], True) == whole, (escape, cut)
