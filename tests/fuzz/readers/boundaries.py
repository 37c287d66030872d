"""Where messages end in Turtle, TriG and XML, and XML whose text is joined: scanners that parse nothing."""

from __future__ import annotations

import random
from xml.parsers import expat

from fuzz.harness import attempt, cut, harness
from fuzz.structures import Text
from jelly._core.boundaries.turtle import Lexer
from jelly._core.boundaries.xml import DocumentScanner
from jelly._core.boundaries.xml_text import TextJoiner

TURTLE = (
    b'VERSION "1.2-messages"\n@prefix e: <http://e/> .\ne:s e:p """a\n# @message\n""", \'x\\\'\'@en ,'
    b" [ e:q ( 1 2.0 ) ] .\nMESSAGE\n",
    b"PREFIX : <http://e/>\n:s :p :o ; # @message note\n"
    b" :q <<( :a :b :c )>> .\n# @message\n:g { :s :p true {| :r :v |} }\n@message .\n",
    b"<http://e/#@message> <p> '''it''s''' . #@message\r\nGRAPH <g> { }\rMESSAGE",
)
XML = (
    b'<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY x "a>b"><!-- " -->]>\n'
    b"<r a=\">\" b='<'>t<!-- - -->u<![CDATA[x]]y&]]>v<?p ??>w</r>\n<r/>",
    b"<a><b/>x<![CDATA[<&>]]]]><![CDATA[>]]>\n<!-- \n -->y</a >\n\n<a></a>",
)
TURTLE_WORDS = (b"# @message\n", b"MESSAGE\n", b"@message .", b'"""', b"'''", b"VERSION", b"@prefix", b"<<(", b")>>",
                b"\\", b"{|", b"\r",
                b"PREFIX e: <a:>", b"@version", b"1.2-messages")  # fmt: skip
XML_WORDS = (
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"]]>",
    b"<?",
    b"?>",
    b"<!DOCTYPE",
    b"<!ENTITY",
    b"/>",
    b"</",
    b"&amp;",
    b"]]",
    b"--",
)


@harness(
    "turtle_lexer",
    corpus=lambda: TURTLE,
    files=(".ttl", ".trig"),
    structure=Text(*TURTLE_WORDS),
)
def turtle_lexer(data: bytes, chance: random.Random) -> None:
    """What is found, and how deep it stands, does not depend on the chunks. Finds are in order and inside the text."""
    directive = chance.random() < 0.5
    whole, parts = Lexer(directive=directive), Lexer(directive=directive)
    found = whole.feed(data, True)
    pieces = cut(data, chance)
    others = [find for piece in pieces for find in parts.feed(piece)] + parts.feed(b"", True)
    assert found == others, f"in chunks: {found} and {others}"
    assert (whole.depth, whole.deepest) == (parts.depth, parts.deepest)
    end = 0
    for kind, begin, stop, note, *_ in found:
        assert end <= begin <= stop, (kind, begin, stop)
        assert kind == "bad" or stop <= len(data), (kind, begin, stop)
        assert kind not in ("message",) or begin <= note <= stop or note < 0, (begin, note, stop)
        end = begin


@harness("xml_scanner", corpus=lambda: XML, structure=Text(*XML_WORDS, stops=b" <>\"'=&;[]!?-/"))
def xml_scanner(data: bytes, chance: random.Random) -> None:
    """Documents end where expat sees their end, in any chunks."""
    whole, parts = DocumentScanner(), DocumentScanner()
    found = whole.feed(data)
    others = [find for piece in cut(data, chance) for find in parts.feed(piece)]
    if "stray" in (name for name, _ in found):
        found = found[: [name for name, _ in found].index("stray") + 1]
        others = others[: len(found)]
    assert found == others, f"in chunks: {found} and {others}"
    ends = [end for name, end in found if name not in ("stray", "doctype")]
    if ends and parsed(data[: ends[0]]) is None and data[:1] == b"<":
        # No shorter piece is a document.
        cuts = [at for at in range(ends[0]) if data[at : at + 1] == b">"]
        for at in chance.sample(cuts, min(len(cuts), 4)):
            assert at + 1 == ends[0] or parsed(data[: at + 1]) is not None, (
                f"a document ends at {at + 1}, not at {ends[0]}"
            )


def parsed(document: bytes) -> str | None:
    """The error of another parser, or None."""
    parser = expat.ParserCreate()
    try:
        parser.Parse(document, True)
    except expat.ExpatError as error:
        return str(error)
    return None


def texts(document: bytes) -> tuple[list[tuple[str, object]], int] | None:
    """The tags and texts of a document and the lines that it has; None if it is no XML."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    found: list[tuple[str, object]] = []
    parser.StartElementHandler = lambda name, about: found.append(("start", (name, sorted(about.items()))))
    parser.EndElementHandler = lambda name: found.append(("end", name))

    def text(value: str) -> None:
        if found and found[-1][0] == "text":
            value = str(found.pop()[1]) + value
        found.append(("text", value))

    parser.CharacterDataHandler = text
    try:
        parser.Parse(document, True)
    except (expat.ExpatError, ValueError):
        return None
    return found, parser.CurrentLineNumber


@harness("xml_text", corpus=lambda: XML, files=(".rdf", ".srx"), structure=Text(*XML_WORDS, stops=b" <>\"'=&;[]!?-/"))
def xml_text(data: bytes, chance: random.Random) -> None:
    """The text that is made is the same in any chunks, and another parser reads the same from it."""
    whole, parts = TextJoiner(), TextJoiner()
    made = attempt(lambda: whole.feed(data))
    other = attempt(lambda: b"".join(parts.feed(piece) for piece in cut(data, chance)))
    assert type(made) is type(other)
    if not isinstance(made, bytes):
        return
    assert made == other, f"in chunks: {made!r} and {other!r}"
    if b"encoding" in data or b"<!DOCTYPE" in data or data[:2] in (b"\xfe\xff", b"\xff\xfe") or b"\0" in data:
        return
    expected = texts(data)
    if expected is not None and not whole.begun:
        assert texts(made) == expected, f"{texts(made)} and {expected}"
