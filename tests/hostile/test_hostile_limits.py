"""Limits that can be set, and what is linear: these took minutes or gigabytes, or ended in an error of a library."""

from __future__ import annotations

import bz2
import contextlib
import io
import os
from collections.abc import Iterator
from typing import Any

import pytest
from support.measure import within

import jelly
import jelly.messages
from jelly import JellyError, JellyLimitError, JellySyntaxError
from jelly._core.boundaries.turtle import Lexer

pytest.importorskip("pyoxigraph")

RDF = b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"><r:Description r:about="a:b">'
END = b"</r:Description></r:RDF>"
LONG = "x" * (17 << 20)


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


# The sanitizers check each access and each block of memory that Python asks for.
SLOWER = 10 if "libasan" in os.environ.get("LD_PRELOAD", "") else 1


def in_time(limit: float, work: Any) -> None:
    """Some work ends with a result or an error of the family within some seconds of processor time."""

    def either() -> None:
        with contextlib.suppress(JellyError):
            work()

    within(limit * SLOWER, either)


LINES = [b"\n", b"\r\n", b" ", b"<!ENTITY a ", b"<!ENTITY", b'"', b"#", b"%", b"---\n", b"...\n", b"x---", b"<!--"]


# A megabyte is read with JELLY_LONG=1, else a part of it in that part of the time: what is not linear takes far longer.
PART = 1 if os.environ.get("JELLY_LONG") else 4


@pytest.mark.parametrize("again", LINES)
@pytest.mark.parametrize("size", [None, 1024])
@pytest.mark.bounded
def test_much_of_the_same_is_read_in_time(again: bytes, size: int | None) -> None:
    pytest.importorskip("yaml")
    data = again * ((1 << 20) // PART // len(again))
    given = (lambda: data) if size is None else (lambda: pieces(data, size))
    for format in ("ttl", "rdf", "jsonld", "nt"):
        in_time(5 / PART, lambda: list(jelly.scan(given(), format=format).batches()))  # noqa: B023
    for format in ("ttl", "ndjsonld", "yamlld", "rdfxml"):
        in_time(15 / PART, lambda: list(jelly.messages.read_messages(given(), format=format)))  # noqa: B023
    for format in ("json", "xml"):
        in_time(5 / PART, lambda: list(jelly.results.read_results(given(), format=format)))  # noqa: B023


@pytest.mark.parametrize("again", [b"\r\n", b"<!ENTITY a ", b"x---", b"<a "])
@pytest.mark.bounded
def test_one_byte_at_a_time(again: bytes) -> None:
    pytest.importorskip("yaml")
    data = again * ((1 << 17) // PART // len(again))
    in_time(5 / PART, lambda: list(jelly.scan(pieces(data, 1), format="rdf").batches()))
    in_time(5 / PART, lambda: list(jelly.messages.read_messages(pieces(data, 1), format="yamlld")))
    in_time(5 / PART, lambda: list(jelly.messages.read_messages(pieces(data, 1), format="rdfxml")))


def test_documents_of_yaml() -> None:
    pytest.importorskip("yaml")
    one = b'"@id": a:s\na:p: 1\n'
    text = b"\xef\xbb\xbf%YAML 1.2\r\n# c\r\n---\n" + one + b"...\n  # nothing\n---\n" + one + b"---\n---\n" + one
    for size in (1, 2, 3, 5, 7, 1000):
        found = list(jelly.messages.read_messages(pieces(text, size), format="yamlld"))
        assert [len(message) for message in found] == [1, 1, 0, 1], size


@pytest.mark.parametrize("line", [b"---\n", b"---\r\n", b"--- \n"])
@pytest.mark.bounded
def test_empty_documents_of_yaml(line: bytes) -> None:
    pytest.importorskip("yaml")
    one = b"---\n'@id': a:s\na:p: 1\n"
    text = line * 3 + one + line * 1000 + one + line * 2 + b"...\n" + line * 2 + b"---\nx: ["
    sizes = [0] * 3 + [1] + [0] * 1000 + [1] + [0] * 4
    last = text.count(b"\n") + 2  # the end of the input
    for size in (1, 3, 4, 5, 64, len(text)):
        with pytest.raises(JellySyntaxError, match=f"line {last}"):
            list(jelly.messages.read_messages(pieces(text, size), format="yamlld"))
        found = [len(message) for message in jelly.messages.read_messages(pieces(text[:-5], size), format="yamlld")]
        assert found == [*sizes, 0], size
    data = line * ((4 << 20) // PART)
    in_time(15 / PART, lambda: sum(1 for _ in jelly.messages.read_messages(data, format="yamlld")))


@pytest.mark.parametrize("again", [b"1,", b"{},"])
def test_values_of_json_ld_are_bounded(again: bytes) -> None:
    """pyoxigraph keeps 50 bytes for each value of an object that goes on."""
    text = b'{"@id":"a:s","a:p":[' + again * 4_000_000
    with pytest.raises(JellyLimitError, match="raise max_text_bytes"):
        list(jelly.scan(text, format="jsonld").batches())
    many = b'[{"@id":"a:s","a:p":[1' + b",1" * 3000 + b"]}" + b',{"@id":"a:s","a:p":[1,{}]}' * 100_000 + b"]"
    assert sum(map(len, jelly.scan(many, format="jsonld", max_text_bytes=1 << 20).batches())) == 203_001


@pytest.mark.parametrize("format", ["ttl", "trig", "n3", "jsonld"])
def test_a_token_that_is_too_long_for_pyoxigraph(format: str) -> None:
    text = b'{"@id":"a:b","a:p":"%b"}' if format == "jsonld" else b'<a:s> <a:p> "1" .\n<a:s> <a:p> "%b" .\n'
    found: list[int] = []
    with pytest.raises(JellyLimitError, match="16 MiB that pyoxigraph can read") as raised:
        found.extend(map(len, jelly.scan(text % LONG.encode(), format=format).batches()))
    assert raised.value.offset is not None
    assert sum(found) == (format != "jsonld")
    if format in ("ttl", "trig"):
        with pytest.raises(JellyLimitError, match="16 MiB"):
            list(jelly.messages.read_messages(text % LONG.encode(), format=format))


def test_a_long_literal_goes_where_it_can() -> None:
    triple = jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal(LONG))
    for format in ("rdf", "ttl", "nt", "jelly"):
        out = io.BytesIO()
        jelly.write(out, [triple], format=format)
        if format != "ttl":
            assert list(jelly.read(out.getvalue(), format=format)) == [triple], format


@pytest.mark.parametrize("format", ["rdf", "ttl", "jsonld"])
def test_max_text_bytes(format: str) -> None:
    text = b"x" * 300_000
    data = {
        "rdf": RDF + b"<e:p>%b</e:p><e:p>1</e:p>" % text + END,
        "ttl": b"<a:s> <a:p> 1 . <a:s> <a:p> '%b' ." % text,
        "jsonld": b'[{"@id":"a:b","a:p":"%b"}]' % text,
    }[format]
    settings = {"base": "a:b"} if format == "rdf" else {}
    assert sum(map(len, jelly.scan(data, format=format, max_text_bytes=400_000, **settings).batches()))
    with pytest.raises(JellyLimitError, match="raise max_text_bytes"):
        list(jelly.scan(data, format=format, max_text_bytes=70_000, **settings).batches())
    with pytest.raises(ValueError, match="max_text_bytes"):
        jelly.Reader(data, format=format, max_text_bytes=0)


def test_entities_count_for_what_they_stand_for() -> None:
    head = b'<!DOCTYPE r [<!ENTITY a "%b">]>' % (b"x" * 400)
    data = head + RDF + b"<e:p>" + b"&a;" * 200_000 + b"</e:p>" + END
    with pytest.raises(JellyLimitError, match="raise max_text_bytes"):
        list(jelly.scan(data, format="rdf", max_text_bytes=1 << 24).batches())
    with pytest.raises(JellyLimitError, match="max_message_bytes"):
        list(jelly.messages.read_messages(data, format="rdfxml", max_message_bytes=1 << 24))


def test_a_message_is_bounded_as_n_quads_too() -> None:
    text = b"@prefix : <http://%b> .\n" % (b"x" * 10_000) + b":a :b :c .\n" * 1000
    assert len(next(jelly.messages.read_messages(text, format="ttl"))) == 1000
    with pytest.raises(JellyLimitError, match="as N-Quads; raise max_message_bytes"):
        list(jelly.messages.read_messages(text, format="ttl", max_message_bytes=1 << 20))


@pytest.mark.parametrize("format", ["ttl", "trig"])
def test_finds_in_a_message_count(format: str) -> None:
    """Each ``@prefix`` is noted until its message ends, in up to 300 bytes."""
    with pytest.raises(JellyLimitError, match="raise max_message_bytes"):
        list(jelly.messages.read_messages(b"@prefix " * 700_000, format=format))


def test_limits_of_results() -> None:
    json = b'{"head":{"vars":["x"]},"results":{"bindings":[{}]}}'
    assert list(jelly.results.read_results(json, format="json", max_document_bytes=len(json))) == [(None,)]
    with pytest.raises(JellyLimitError, match="raise max_document_bytes"):
        jelly.results.read_results(json, format="json", max_document_bytes=len(json) - 1)
    sparql = b'<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="x"/></head><results>'
    sparql += b"<result>"
    sparql += b'<binding name="x"><literal>%b</literal></binding></result></results></sparql>' % (b"x" * 10_000)
    assert len(list(jelly.results.read_results(sparql, format="xml"))) == 1
    with pytest.raises(JellyLimitError, match="raise max_text_bytes"):
        list(jelly.results.read_results(sparql, format="xml", max_text_bytes=1000))
    with pytest.raises(JellyLimitError, match="raise max_text_bytes"):
        list(jelly.results.read_results(b'?x\n"' + b"x" * 1000 + b'"\n', format="tsv", max_text_bytes=100))
    with pytest.raises(TypeError, match="max_row_bytes"):
        jelly.results.read_results(json, format="json", max_row_bytes=1)
    many = b",".join(b'"%d"' % i for i in range(70_000))
    with pytest.raises(JellyLimitError, match="more than 65536 variables"):
        jelly.results.read_results(b'{"head":{"vars":[%b]},"results":{"bindings":[]}}' % many, format="json")


@pytest.mark.bounded
def test_empty_frames_cost_what_they_weigh() -> None:
    data = jelly.dumps([]) + bytes(1_000_000)
    in_time(1, lambda: jelly.inspect(data))
    in_time(1, lambda: list(jelly.messages.MessageReader(data, format="jelly", force=True).batches()))
    in_time(3, lambda: sum(1 for _ in jelly.messages.read_messages(data, format="jelly", force=True)))
    in_time(3, lambda: sum(1 for _ in jelly.scan(data).frames()))
    with pytest.raises(JellyLimitError, match="raise max_frames"):
        jelly.inspect(data, per_frame=True)
    found = jelly.inspect(data, per_frame=True, max_frames=1_000_001)
    assert len(found.frames) == 1_000_001
    assert found.frames[-1].index == 1_000_000
    with pytest.raises(JellyLimitError, match="times their size"):
        jelly.inspect(bz2.compress(jelly.dumps([]) + bytes(60_000_000)))


def test_prefixes_of_many_messages_are_not_copied_for_each() -> None:
    lines = b"".join(b"@prefix a%d: <http://e/%d> .\n[] a 1 .\n# @message\n" % (i, i) for i in range(20_000))
    messages = list(jelly.messages.read_messages(lines, format="ttl"))
    assert messages[0].prefixes == {"a0": "http://e/0"}
    assert len(messages[-1].prefixes) == 20_000


@pytest.mark.parametrize("line", [b'PA "ex" <a:x> ', b'PD "ex" '])
def test_a_quoted_triple_is_no_graph_of_a_namespace(line: bytes) -> None:
    from jelly.patch import read_patches

    with pytest.raises(JellySyntaxError, match="expected the graph of the namespace") as raised:
        list(read_patches(line + b"<< <a:s> <a:p> <a:o> >> .\n", format="rdfp"))
    assert raised.value.line == 1
    assert len(list(read_patches(line + b"<a:g> .\n", format="rdfp"))) == 1


def test_a_quoted_triple_is_no_graph_of_a_namespace_in_thrift() -> None:
    from jelly.patch import read_patches

    def string(text: bytes) -> bytes:
        return bytes([0x18, len(text)]) + text

    iri = b"\x1c" + string(b"a:b") + b"\0\0"
    quoted = b"\x9c" + 3 * (b"\x1c" + iri) + b"\0\0"

    def row(graph: bytes) -> bytes:
        return b"\x4c\x1c" + graph + string(b"ex") + string(b"a:x") + b"\0\0"

    assert len(list(read_patches(row(iri), format="trp"))) == 1
    with pytest.raises(JellyError, match="graph of a namespace is a quoted triple"):
        list(read_patches(row(quoted), format="trp"))


@pytest.mark.parametrize("opened", [b"[ <a:p> ", b"( ", b"<< ", b"{ "])
@pytest.mark.parametrize("size", [None, 1000, 7])
def test_what_never_ends_is_bounded(opened: bytes, size: int | None) -> None:
    """pyoxigraph keeps 190 bytes and more for each collection, blank node, quoted triple and formula that is open."""
    text = (b"" if opened == b"{ " else b"<a:s> <a:p> ") + opened * 100_001
    format = "n3" if opened == b"{ " else "ttl"
    with pytest.raises(JellyError, match="nested deeper than 100000"):
        list(jelly.scan(text if size is None else pieces(text, size), format=format).batches())


@pytest.mark.parametrize("size", [None, 1000, 1])
def test_what_ends_is_not_counted_as_open(size: int | None) -> None:
    """More than the bound of them one after the other, and the same signs where they open nothing."""
    n = 100_001 if size is None else 2000
    quoted = b"<< <a:s> <a:p> <a:o> >> <a:p> << <a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> >> .\n"
    strings = b"<a:s> <a:p> '<<', \"{[(\", '''<< \"{''', <a:o>.\n"
    for text in (quoted, strings, b"# << { [\n"):
        lexer = Lexer()
        for piece in [text * n] if size is None else pieces(text * n, size):
            lexer.feed(piece)
        lexer.feed(b"", True)
        assert lexer.deepest == (3 if text is quoted else 0), text
    formulas = b"{ <a:s> <a:p> <a:o> } => { <a:s> <a:p> <a:o> } . { <a:s> <= <a:o> } <= {} .\n"
    lexer = Lexer()
    for piece in [formulas * n] if size is None else pieces(formulas * n, size):
        lexer.feed(piece)
    assert lexer.deepest == 1
