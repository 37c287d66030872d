"""RDF/XML to the letter of XML: text in several pieces is one text."""

from __future__ import annotations

import random
from xml.etree import ElementTree

import pytest
from support.measure import within

import jelly
from jelly._core.boundaries.xml_text import TextJoiner
from jelly.messages import read_messages

pyoxigraph = pytest.importorskip("pyoxigraph")

RDF = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:n="a:">'
HEAD = f'{RDF}<rdf:Description rdf:about="a:s"><n:p'
TAIL = "</n:p></rdf:Description></rdf:RDF>"
PARTS = (
    "x", " ", "\n", "\r\n", "\r", "é", "&amp;", "&#13;", ">", "]", "]]&gt;", "'",
    "<!---->", "<!-- c -->", "<!--\n<b>&--><!-- ->-->",
    "<![CDATA[]]>", "<![CDATA[y]]>", "<![CDATA[<b>&amp;]]>", "<![CDATA[]]]]>", "<![CDATA[]>\n<!-- no -->]]>", "<?p i?>",
    "<?p <!-- ?? ?>",
)  # fmt: skip


def values(document: bytes, chunk: int) -> list[str]:
    chunks = [document[at : at + chunk] for at in range(0, len(document), chunk)]
    return [row.object.value for row in jelly.read(chunks, format="rdf")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x<![CDATA[y]]>", "xy"),
        ("x<!-- c -->y", "xy"),
        ("<![CDATA[x]]><![CDATA[y]]>", "xy"),
        ("x<?p i?>y", "xy"),
        # pyoxigraph alone loses these spaces without a word.
        (" <![CDATA[y]]>", " y"),
        ("<![CDATA[y]]>\n", "y\n"),
        (" <!-- c -->y", " y"),
    ],
)
def test_text_next_to_cdata_and_comments(text: str, value: str) -> None:
    """002-076: in a file and in a log."""
    document = f"{HEAD}>{text}{TAIL}".encode()
    for chunk in (1 << 20, 1, 3):
        assert values(document, chunk) == [value]
    log = b"%b\n%b\n" % (document.replace(b"\n", b"&#10;"), document.replace(b"\n", b"&#10;"))
    assert [[row.object.value for row in message] for message in read_messages(log, format="rdf")] == [[value]] * 2


@pytest.mark.parametrize("text", ["x<!-- c -->y", "x<?p i?>y", "x<![CDATA[y]]>"])
def test_pyoxigraph_alone_refuses_it(text: str) -> None:
    """Once this fails, `boundaries/xml_text` can go."""
    with pytest.raises(SyntaxError, match="Unexpected text event"):
        list(pyoxigraph.parse(f"{HEAD}>{text}{TAIL}".encode(), format=pyoxigraph.RdfFormat.RDF_XML))


def test_text_as_another_parser_has_it() -> None:
    """002-076: random texts, cut at random."""
    draw = random.Random(76)
    for _ in range(600):
        text = "".join(draw.choices(PARTS, k=draw.randrange(1, 9)))
        document = f'<?xml version="1.0"?><!-- \' --><!DOCTYPE a [<!ENTITY e "f">]>{HEAD}>{text}{TAIL}'.encode()
        element = ElementTree.fromstring(document)[0][0]
        assert values(document, draw.choice((1, 2, 5, 1000))) == ["".join(element.itertext())], text


def test_xml_literals_stay() -> None:
    """002-076: in rdf:parseType="Literal" a CDATA section is text, as it is without us."""
    inner = ' rdf:parseType="Literal">x<![CDATA[<y]]>z<b><![CDATA[ ]]></b>'
    assert values(f"{HEAD}{inner}{TAIL}".encode(), 4) == [
        'x&lt;yz<b xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:n="a:"> </b>'
    ]


@pytest.mark.parametrize("chunk", [1 << 20, 1, 7])
def test_errors_keep_their_line(chunk: int) -> None:
    """002-076: line ends of what is left out still count."""
    text = f"{HEAD}>x<!--\n\n\n-->y<![CDATA[\n]]></n:p>\n<rdf:li rdf:ID='a b'/></rdf:Description></rdf:RDF>".encode()
    with pytest.raises(jelly.JellySyntaxError) as caught:
        values(text, chunk)
    assert caught.value.line == 6


@pytest.mark.parametrize("end", ["x", "x</n:p>", "x<!-- c", "x<![CDATA[y]", f"x{TAIL[:-1]}", f"x{TAIL}<!-- c"])
def test_a_document_that_is_cut_off(end: str) -> None:
    """002-003: what pyoxigraph takes for a whole document is none."""
    with pytest.raises(jelly.JellyTruncatedError, match="ends inside the XML document"):
        values(f"{HEAD}>{end}".encode(), 5)


@pytest.mark.parametrize("text", ["<![CDAT[y]]>", "<!-y-->", "<![x", "<!x>", "x</n:q>"])
def test_what_is_no_xml_is_refused(text: str) -> None:
    """002-076: nothing that is wrong is left out."""
    for chunk in (1 << 20, 1):
        with pytest.raises(jelly.JellyError):
            values(f"{HEAD}>{text}{TAIL}".encode(), chunk)


@pytest.mark.parametrize("chunk", [1 << 20, 64])
@pytest.mark.parametrize(
    "each", ["<!---->", "<![CDATA[]]]]>", "<!--\n-->", "<![CDATA[&]]>", "<?p?>", "]]<!---->]", "<!", "<![CDATA["]
)
@pytest.mark.bounded
def test_many_take_time_as_their_number(each: str, chunk: int) -> None:
    """002-076: 2 MB of them; nothing waits for their end but a few bytes."""
    text = each.encode() * (2_000_000 // len(each))

    def made() -> int:
        joiner = TextJoiner()
        return sum(len(joiner.feed(text[at : at + chunk])) for at in range(0, len(text), chunk))

    assert within(3, made) <= 5 * len(text)


def test_line_ends_that_wait_are_bounded() -> None:
    """002-076: a comment of a million lines does not come back as a million line ends."""
    joiner = TextJoiner()
    assert joiner.feed(b"<a><!--" + b"\n" * 1_000_000 + b"-->") == b"<a>"
    assert len(joiner.feed(b"</a>")) < 70_000
