"""Shapes of hostile input of 64 KB: depth, breadth, repetition and sharing in each format that is read.

A `Shape` is a list of readers and a function that makes bytes; add one to `SHAPES` with ``@shape``. `law.doors` has the
readers and the functions that read each of them.
"""

from __future__ import annotations

import functools
import io
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support import craft, patchcraft  # noqa: E402

SIZE = 64_000


class Shape(NamedTuple):
    name: str
    readers: tuple[str, ...]
    make: Callable[[], bytes]


SHAPES: list[Shape] = []


def shape(name: str, *readers: str) -> Callable[[Callable[[], bytes]], Callable[[], bytes]]:
    """Add a shape that these readers of `law.doors` get."""

    def add(make: Callable[[], bytes]) -> Callable[[], bytes]:
        SHAPES.append(Shape(name, readers, make))
        return make

    return add


# ---- ways to fill 64 KB


def nested(begin: bytes, inner: bytes, end: bytes, head: bytes = b"", tail: bytes = b"", levels: int = 0) -> bytes:
    """As deep as the size allows, or so many levels."""
    levels = levels or (SIZE - len(head) - len(inner) - len(tail)) // (len(begin) + len(end))
    return head + begin * levels + inner + end * levels + tail


def repeated(unit: bytes, head: bytes = b"", tail: bytes = b"") -> bytes:
    return head + unit * ((SIZE - len(head) - len(tail)) // len(unit)) + tail


def numbered(unit: Callable[[int], bytes], head: bytes = b"", tail: bytes = b"", size: int = SIZE) -> bytes:
    """Units that are all different."""
    parts = [head]
    n = len(head) + len(tail)
    i = 0
    while n + len(part := unit(i)) <= size:
        parts.append(part)
        n += len(part)
        i += 1
    return b"".join([*parts, tail])


LONG = b"x" * 30_000
LINES = ("nt", "nq", "ttl", "trig", "n3", "log nt", "log nq", "log ttl", "log trig")
TURTLES = ("ttl", "trig", "n3", "log ttl", "log trig")
S = b"<a:s> <a:p> "

# ---- N-Triples, Turtle and all that reads it

for _name, _open, _inner, _close in (
    ("quoted", b"<< ", S + b"<a:o>", b" >>"),
    ("quoted subjects", b"<< ", S + b"<a:o>", b" >> <a:p> <a:o>"),
    ("triple terms", b"<<( <a:s> <a:p> ", b"<a:o>", b" )>>"),
    ("blank nodes", b"[ <a:p> ", b"1", b" ]"),
    ("lists", b"( ", b"1", b" )"),
    ("lists of blank nodes", b"( [ <a:p> ", b"1", b" ] )"),
    ("formulas", b"{ <a:s> <a:p> ", b"1", b" }"),
    ("annotations", b"1 {| <a:p> ", b"1", b" |}"),
):
    shape(f"depth: {_name}", *LINES)(functools.partial(nested, _open, _inner, _close, S, b" ."))
    shape(f"depth: {_name}, as a subject", *LINES)(functools.partial(nested, _open, _inner, _close, b"", b" <a:p> 1 ."))
    shape(f"depth: {_name}, open", *LINES)(functools.partial(repeated, _open, S))
    for _levels in (60, 240):
        shape(f"depth: {_name}, {_levels} and again", *LINES)(
            functools.partial(repeated, nested(_open, _inner, _close, S, b" .\n", levels=_levels))
        )
for _name, _unit, _head in (
    ("statements", b"<a:s> <a:p> <a:o> .\n", b""),
    ("nodes", b"[] <a:p> [] .\n", b""),
    ("objects", b",1", S + b"1"),
    ("predicates", b";<a:p>1", S + b"1"),
    ("items", b" 1", S + b"("),
    ("semicolons", b";", S + b"1"),
    ("messages", b"<a:s> <a:p> <a:o> .\n# @message\n", b""),
    ("empty messages", b"# @message\n", b""),
    ("directives", b"MESSAGE\n", b'VERSION "1.2-messages"\n'),
    ("messages in a statement", b",1\n# @message\n", S + b"1"),
    ("messages in a block", S + b"1 .\n# @message\n", b"<a:g> {"),
    ("versions", b'VERSION "1.2"\n', b""),
    ("bases", b"BASE <a:b/>\n", b""),
    ("escapes", b"\\u0041", S + b'"'),
    ("long strings", b'""', S + b'""'),
    ("names", b".a", b"a:"),
    ("dots", b"a..", b"a:"),
):
    shape(f"breadth: {_name}", *LINES)(functools.partial(repeated, _unit, _head))
for _name, _make in (
    ("prefixes", lambda i: b"PREFIX p%d: <a:%d>\n" % (i, i)),
    ("prefixes and statements", lambda i: b"PREFIX p%d: <a:%d> <a:s> <a:p> 1 .\n" % (i, i)),
    ("prefixes and messages", lambda i: b"PREFIX p%d: <a:%d> <a:s> <a:p> 1 .\n# @message\n" % (i, i)),
    ("graphs", lambda i: b"<a:g%d> {<a:s> <a:p> 1}\n" % i),
    ("labels", lambda i: b"_:n%d <a:p> _:n%d .\n" % (i, i + 1)),
    ("star of labels", lambda i: b"_:c <a:p> _:n%d .\n" % i),
    ("pairs of labels", lambda i: b"_:n%d <a:p> _:n%d .\n" % (i // 60, i % 60)),
    ("labels in quoted triples", lambda i: b"<a:s> <a:p> <<( _:n%d <a:p> _:n%d )>> .\n" % (i % 50, i * 7 % 50)),
    ("tags", lambda i: b'<a:s> <a:p> "a"@aa-%d .\n' % i),
    ("datatypes", lambda i: b'<a:s> <a:p> "a"^^<a:%d> .\n' % i),
):
    shape(f"breadth: {_name}", *LINES)(functools.partial(numbered, _make))
for _name, _unit, _head in (
    ("a prefix", b"p:a p:b p:c .\n", b"PREFIX p: <a:" + LONG + b">\n"),
    ("a prefix of a list", b",p:a", b"PREFIX p: <a:" + LONG + b"> p:a p:b p:c"),
    ("a base", b"<a> <b> <c> .\n", b"BASE <a:" + LONG + b"/>\n"),
    ("a prefix of messages", b"p:a p:b p:c .\n# @message\n", b"PREFIX p: <a:" + LONG + b">\n"),
    ("a prefix of datatypes", b',""^^p:a', b"PREFIX p: <a:" + LONG + b"> p:a p:b p:c"),
):
    shape(f"repetition: {_name}", *TURTLES)(functools.partial(repeated, _unit, _head))
shape("repetition: a prefix of different names", *TURTLES)(
    functools.partial(numbered, lambda i: b",p:%d" % i, b"PREFIX p: <a:" + LONG + b"> p:a p:b p:c")
)

# ---- RDF/XML

_XMLNS = b"xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:e='http://e/'"
_XML = b"<r:RDF " + _XMLNS + b">"
_MANY = b"".join(b"xmlns:n%d='u:%d' " % (i, i) for i in range(1000))
_LIT = b"<r:Description><e:p r:parseType='Literal'>"
_XMLS = ("rdf", "log rdf")
for _name, _open, _inner, _close in (
    ("elements", b"<e:A><e:p>", b"x", b"</e:p></e:A>"),
    ("no RDF", b"<a>", b"", b"</a>"),
    ("resources", b"<e:p r:parseType='Resource'>", b"", b"</e:p>"),
    ("collections", b"<e:A><e:p r:parseType='Collection'>", b"", b"</e:p></e:A>"),
    ("literals", _LIT, b"", b"</e:p></r:Description>"),
    ("triple terms", b"<e:A><e:p r:parseType='Triple'>", b"", b"</e:p></e:A>"),
    ("namespaces", b"<e:A xmlns:x='a:b'><e:p>", b"x", b"</e:p></e:A>"),
    ("bases", b"<e:A xml:base='http://a/'><e:p>", b"x", b"</e:p></e:A>"),
    ("tags", b"<e:A xml:lang='en'><e:p>", b"x", b"</e:p></e:A>"),
):
    shape(f"depth: {_name} of XML", *_XMLS)(functools.partial(nested, _open, _inner, _close, _XML, b"</r:RDF>"))
    shape(f"depth: {_name} of XML, open", *_XMLS)(functools.partial(repeated, _open, _XML))
shape("depth: elements of an XML literal", *_XMLS)(
    functools.partial(nested, b"<a>", b"", b"</a>", _XML + _LIT, b"</e:p></r:Description></r:RDF>")
)
for _name, _head, _unit, _tail in (
    ("namespaces of a literal", b"<r:RDF " + _XMLNS + _MANY + b">" + _LIT, b"<a/>", b"</e:p></r:Description></r:RDF>"),
    ("namespaces of a literal, quoted", b"<r:RDF " + _XMLNS + _MANY + b"><r:Description><e:p e:a='>' r:parseType='x'>",
     b"<a/>", b"</e:p></r:Description></r:RDF>"),
    ("namespaces of many literals", b"<r:RDF " + _XMLNS + _MANY + b"><r:Description>",
     b"<e:p r:parseType='Literal'><a/></e:p>", b"</r:Description></r:RDF>"),
    ("namespaces", b"<r:RDF " + _XMLNS + _MANY + b">", b"<e:A/>", b"</r:RDF>"),
    ("a namespace", b"<r:RDF " + _XMLNS + b" xmlns:l='a:" + LONG + b"'>", b"<l:A/>", b"</r:RDF>"),
    ("a namespace of properties", b"<r:RDF " + _XMLNS + b" xmlns:l='a:" + LONG + b"'><e:A>", b"<l:p/>",
     b"</e:A></r:RDF>"),
    ("a namespace of attributes", b"<r:RDF " + _XMLNS + b" xmlns:l='a:" + LONG + b"'>", b"<l:A l:p='1'/>", b"</r:RDF>"),
    ("a base", b"<r:RDF " + _XMLNS + b" xml:base='http://a/" + LONG + b"/'><e:A>", b"<e:p r:resource='a'/>",
     b"</e:A></r:RDF>"),
    ("items", _XML + b"<r:Seq>", b"<r:li/>", b"</r:Seq></r:RDF>"),
    ("entities", b"<!DOCTYPE r [<!ENTITY a '" + b"x" * 500 + b"'>]>" + _XML + b"<e:A><e:p>", b"&a;",
     b"</e:p></e:A></r:RDF>"),
    ("a collection", _XML + b"<e:A><e:p r:parseType='Collection'>", b"<e:A/>", b"</e:p></e:A></r:RDF>"),
    ("sections", _XML + b"<e:A><e:p>", b"<![CDATA[&]]>", b"</e:p></e:A></r:RDF>"),
    ("instructions", _XML, b"<?a?>", b"</r:RDF>"),
    ("documents", b"", _XML + b"<e:A><e:p>1</e:p></e:A></r:RDF>\n", b""),
    ("lines", b"", b"\n", _XML + b"</r:RDF>"),
    ("lines and what is none", b"", b"\n", b"?"),
    ("lines and text", b"", b" \n?", b""),
    ("lines behind the root", _XML + b"</r:RDF>", b"\n", b"<a/>"),
):
    shape(f"repetition: {_name} of XML", *_XMLS)(functools.partial(repeated, _unit, _head, _tail))
shape("breadth: attributes of XML", *_XMLS)(
    functools.partial(numbered, lambda i: b" e:a%d='1'" % i, _XML + b"<e:A", b"/></r:RDF>")
)
shape("breadth: namespaces of XML, each on an element", *_XMLS)(
    functools.partial(numbered, lambda i: b"<e:p xmlns:n%d='u:%d'/>" % (i, i), _XML + b"<e:A>", b"</e:A></r:RDF>")
)
shape("breadth: entities of XML", *_XMLS)(
    functools.partial(numbered, lambda i: b"<!ENTITY a%d 'x'>" % i, b"<!DOCTYPE r [", b"]>" + _XML + b"</r:RDF>")
)
shape("depth: entities of XML", *_XMLS)(
    functools.partial(
        numbered, lambda i: b"<!ENTITY a%d '&a%d;&a%d;'>" % (i + 1, i, i), b"<!DOCTYPE r [<!ENTITY a0 'x'>",
        b"]>" + _XML + b"<e:A><e:p>&a60;</e:p></e:A></r:RDF>",
    )
)  # fmt: skip

# ---- JSON-LD, in a file, a line or a document of YAML

_JSON = ("jsonld", "log ndjsonld", "log yamlld")
_TERMS = b"{" + b",".join(b'"t%d":"a:x%d"' % (i, i) for i in range(1500)) + b"}"
_SCOPED = b'{"@context":{"k":{"@id":"a:k","@context":' + _TERMS + b"}},"
for _name, _open, _inner, _close in (
    ("objects", b'{"a:p":', b"1", b"}"),
    ("arrays", b"[", b"1", b"]"),
    ("graphs", b'{"@graph":[', b'{"@id":"a:x","a:p":1}', b"]}"),
    ("included", b'{"@included":[', b'{"@id":"a:x","a:p":1}', b"]}"),
    ("reverse", b'{"@reverse":{"a:p":', b'{"@id":"a:x"}', b"}}"),
    ("lists", b'{"@list":[', b"1", b"]}"),
    ("sets", b'{"@set":[', b"1", b"]}"),
    ("nests", b'{"@nest":', b'{"a:p":1}', b"}"),
    ("values", b'{"@value":', b"1", b"}"),
    ("contexts", b'{"@context":{},"a:p":', b"1", b"}"),
    ("late contexts", b'{"a:p":', b"1", b',"@context":{}}'),
    ("empty keys", b'{"":', b"1", b"}"),
):
    for _head, _tail, _where in (
        (b"", b"", ""), (b'{"a:p":', b"}", " in an object"), (b'{"@context":', b"}", " in a context"),
        (b'{"@context":{"j":{"@id":"a:j","@type":"@json"}},"j":', b"}", " in JSON"),
    ):  # fmt: skip
        shape(f"depth: {_name}{_where}", *_JSON)(functools.partial(nested, _open, _inner, _close, _head, _tail))
    shape(f"depth: {_name}, 60 with much in it", *_JSON)(
        functools.partial(
            nested, _open, repeated(b"1,", b"[", b"1]")[: 40_000] + b"1]", _close, b'{"a:p":', b"}", levels=60
        )
    )
    shape(f"depth: {_name}, 120 with much in it", *_JSON)(
        functools.partial(
            nested, _open, repeated(b"{},", b"[", b"1]")[: 40_000] + b"{}]", _close, b'{"a:p":', b"}", levels=120
        )
    )
_K = b'{"k":{"@id":"a:k","@context":'
for _name, _make_it in (
    ("contexts in contexts", functools.partial(nested, _K, b"{}", b"}}", b'{"@context":', b"}")),
    ("60 contexts in contexts", functools.partial(nested, _K, b"{}", b"}}", b'{"@context":', b"}", levels=60)),
    ("60 contexts of terms", functools.partial(nested, _K, _TERMS, b"}}", b'{"@context":', b"}", levels=60)),
    ("contexts of objects", functools.partial(
        nested, b'{"@context":{"u":"a:u"},"a:p":', b"1", b"}",
        b'{"@context":' + _TERMS + b',"a:p":', b"}", levels=120)),
    ("a context of a term", functools.partial(nested, b'{"k":', b"1", b"}", _SCOPED + b'"k":', b"}", levels=120)),
    ("60 contexts, used", functools.partial(
        repeated, b'{"k":1},', nested(_K, b"{}", b"}}", b'{"@context":', b',"k":[', levels=55), b"1]}")),
):
    shape(f"depth: {_name}", *_JSON)(_make_it)
for _name, _head, _unit, _tail in (
    ("objects", b'{"a:p":[{}', b",{}", b"]}"),
    ("values", b'{"a:p":[1', b",1", b"]}"),
    ("keys", b'{"a:p":1', b',"a:p":1', b"}"),
    ("types", b'{"@type":["a:a"', b',"a:b"', b"]}"),
    ("graphs", b"[{}", b',{"@graph":[]}', b"]"),
    ("named graphs", b"[{}", b',{"@id":"a:g","@graph":[{"a:p":1}]}', b"]"),
    ("contexts", b'{"@context":' + _TERMS + b',"a:p":[{}', b',{"@context":{},"a:p":1}', b"]}"),
    ("contexts that are lists", b'{"@context":' + _TERMS + b',"a:p":[{}', b',{"@context":[{}]}', b"]}"),
    ("no contexts", b'{"@context":' + _TERMS + b',"a:p":[{}', b',{"@context":null}', b"]}"),
    ("contexts of a list", b'{"@context":[' + _TERMS, b",{}", b'],"t1":1}'),
    ("terms of contexts of a list", b'{"@context":[' + _TERMS, b',{"z":"a:a"}', b'],"t1":1}'),
    ("objects with a context of a term", _SCOPED + b'"k":[{}', b',{"t1":1}', b"]}"),
    ("scalars with a context of a term", _SCOPED + b'"k":[1', b",1", b"]}"),
    ("keys with a context of a term", _SCOPED + b'"k":1', b',"k":{}', b"}"),
    ("escaped keys with a context of a term", _SCOPED + b'"k":1', b',"\\u006b":{}', b"}"),
    ("types with a context of a term", _SCOPED + b'"@graph":[{}', b',{"@type":"k"}', b"]}"),
    ("a long vocabulary", b'{"@context":{"@vocab":"a:' + LONG + b'"}', b',"p":1', b"}"),
    ("a long vocabulary of types", b'{"@context":{"@vocab":"a:' + LONG + b'"},"@type":["a"', b',"b"', b"]}"),
    ("a long term", b'{"@context":{"k":"a:' + LONG + b'"}', b',"k":1', b"}"),
    ("a long escaped context", b'{"\\u0040context":{"k":"a:' + LONG + b'"}', b',"k":1', b"}"),
    ("a long prefix", b'{"@context":{"p":"a:' + LONG + b'"},"@graph":[{}',
     b',{"@id":"p:a","p:b":{"@id":"p:c"}}', b"]}"),
    ("a long base", b'{"@context":{"@base":"a:/' + LONG + b'/"},"a:p":[{}', b',{"@id":"a"}', b"]}"),
    ("a long prefix of terms", b'{"@context":{' + b",".join(
        b'"t%d":"t%d:%b"' % (i + 1, i, b"x" * 100) for i in range(260)
    ) + b',"t0":"a:","k":"t260:x"}', b',"k":1', b"}"),
    ("reverse", b'{"@id":"a:s","@reverse":{"a:p":[{}', b",{}", b"]}}"),
    ("JSON", b'{"@context":{"j":{"@id":"a:j","@type":"@json"}},"j":[1', b",1", b"]}"),
    ("lines", b"", b"\n", b'{"a:p":1}'),
    ("braces", b"", b"{}\n", b""),
    ("late keys", b'{"a:p":[1', b",1", b'],"@context":{}}'),
):
    shape(f"repetition: {_name} of JSON", *_JSON)(functools.partial(repeated, _unit, _head, _tail))
for _name, _make, _head, _tail in (
    ("keys", lambda i: b',"a:%d":1' % i, b'{"a:a":1', b"}"),
    ("terms", lambda i: b',"t%d":"a:%d"' % (i, i), b'{"@context":{"t":"a:t"', b'},"t":1}'),
    ("terms of terms", lambda i: b',"t%d":"t%d:x"' % (i, i + 1), b'{"@context":{"t":"a:t"', b'},"t0":1}'),
    ("terms with contexts", lambda i: b',"t%d":{"@id":"a:%d","@context":{}}' % (i, i), b'{"@context":{"t":"a:t"',
     b'},"t":1}'),
    ("indexes", lambda i: b',"%d":1' % i, b'{"@context":{"i":{"@id":"a:i","@container":"@index"}},"i":{"":1', b"}}"),
    ("languages", lambda i: b',"aa-%d":"x"' % i,
     b'{"@context":{"i":{"@id":"a:i","@container":"@language"}},"i":{"en":"1"', b"}}"),
):
    shape(f"breadth: {_name} of JSON", *_JSON)(functools.partial(numbered, _make, _head, _tail))
_CONTEXT = b'{"@context":' + _TERMS + b"}\n"
for _name, _head, _unit in (
    ("messages with a context", _CONTEXT, b'{"t1":1}\n'),
    ("messages with a context, the last broken", _CONTEXT, b'{"t1":1}\n'),
    ("messages with tags", _CONTEXT, b'{"t1":"aa"}\n{"t1":"AA"}\n'),
    ("contexts", b"", b'{"@context":{"a":"b:c"}}\n'),
    ("contexts and messages", _CONTEXT, b'{"@context":{"a":"b:c"}}\n{"a":1}\n'),
    ("empty messages", _CONTEXT, b"{}\n"),
    ("messages of a long term", b'{"@context":{"k":"a:' + LONG + b'"}}\n', b'{"k":1}\n'),
):
    shape(f"repetition: {_name}", "log ndjsonld")(
        functools.partial(repeated, _unit, _head, b'{"t1":[}' if "broken" in _name else b"")
    )

# ---- YAML

for _name, _open, _inner, _close in (
    ("sequences", b"[", b"1", b"]"),
    ("mappings", b"{a: ", b"1", b"}"),
    ("keys", b"? ", b"1", b""),
    ("items", b"- ", b"1", b""),
):
    shape(f"depth: {_name} of YAML", "log yamlld")(functools.partial(nested, _open, _inner, _close))
    shape(f"depth: {_name} of YAML, open", "log yamlld")(functools.partial(repeated, _open))
for _name, _head, _unit in (
    ("anchors", b"", b"&a "),
    ("aliases", b"- &a [1,1,1,1,1,1,1,1]\n", b"- *a\n"),
    ("documents", b"", b"---\na: 1\n"),
    ("markers", b"", b"---\n"),
    ("hexadecimal", b"'a:p': 0x", b"F"),
    ("octal", b"'a:p': 0o", b"7"),
    ("decimal", b"'a:p': ", b"7"),
    ("float", b"'a:p': .", b"7"),
    ("exponent", b"'a:p': 1e", b"7"),
    ("folded", b"'a:p': >\n", b" a\n"),
    ("tags", b"", b"!!str "),
    ("percent", b"", b"%A\n"),
):
    shape(f"repetition: {_name} of YAML", "log yamlld")(functools.partial(repeated, _unit, _head))
shape("sharing: aliases of YAML", "log yamlld")(
    functools.partial(numbered, lambda i: b"- &a%d [*a%d, *a%d]\n" % (i + 1, i, i), b"- &a0 [1]\n")
)

# ---- Jelly


def jelly(*rows: bytes) -> bytes:
    return craft.frame(craft.options(names=4000, prefixes=150, datatypes=150), *rows)


def _iri(name: int, prefix: int = 0) -> tuple[int, bytes]:
    return craft.IRI, craft.iri(name, prefix)


def _quoted(term: bytes) -> tuple[int, bytes]:
    return craft.QUOTED, term


def _deep(levels: int, slots: int) -> bytes:
    """Quoted triples in one another, in so many of the slots: 1, 2 or 3 of the same at each level."""
    body = craft.terms(_iri(1), _iri(1), _iri(1))
    for _ in range(levels):
        inner = _quoted(body)
        following = craft.terms(inner, inner if slots > 2 else _iri(1), inner if slots > 1 else _iri(1))
        if len(following) > SIZE - 1000:
            break
        body = following
    return body


_NAMES = (craft.prefix(b"a:"), craft.name(b"n"), craft.datatype(b"a:d"))
_STARS = (craft.prefix(b"a:" + LONG), craft.name(b"n"))
_T = craft.terms(_iri(1, 1), _iri(1, 1), _iri(1, 1))
for _name, _make_it in (
    ("depth: quoted triples of Jelly", lambda: jelly(*_NAMES, craft.row(2, craft.quoted(1500)))),
    ("depth: 60 quoted triples of Jelly, again", lambda: jelly(*_NAMES, *[craft.row(2, _deep(60, 1))] * 95)),
    ("sharing: quoted triples of Jelly, twice", lambda: jelly(*_NAMES, craft.row(2, _deep(60, 2)))),
    ("sharing: quoted triples of Jelly, three times", lambda: jelly(*_NAMES, craft.row(2, _deep(60, 3)))),
    ("sharing: triples of Jelly", lambda: jelly(*_NAMES, craft.row(2, _T), *[craft.row(2)] * 15_000)),
    ("breadth: rows of Jelly", lambda: jelly(*_NAMES, *[craft.row(2, _T)] * 3000)),
    ("breadth: names of Jelly", lambda: jelly(
        *_NAMES, *[r for i in range(3000) for r in (craft.name(b"%d" % i), craft.row(2, craft.terms(
            _iri(0), _iri(0), _iri(0))))])),
    ("breadth: options of Jelly", lambda: craft.frame(*[craft.options()] * 2500)),
    ("breadth: frames of Jelly", lambda: jelly(*_NAMES) + craft.frame() * 63_000),
    ("breadth: frames with a row of Jelly", lambda: jelly(
        *_NAMES, craft.row(2, _T)) + craft.frame(craft.row(2)) * 12_000),
    ("breadth: empty rows of Jelly", lambda: jelly(*_NAMES, *[craft.field(1, b"")] * 31_000)),
    ("breadth: namespaces of Jelly", lambda: jelly(
        *_NAMES, *[craft.namespace(b"p%d" % i, craft.iri(1, 1)) for i in range(3000)])),
    ("breadth: graphs of Jelly", lambda: craft.frame(
        craft.options(craft.GRAPHS), *_NAMES, *[craft.graph_start(), craft.row(2, _T), craft.graph_end()] * 1200)),
    ("breadth: blank nodes of Jelly", lambda: jelly(*_NAMES, *[
        craft.triple((craft.BNODE, b"%d" % i), _iri(1, 1), (craft.BNODE, b"%d" % (i + 1))) for i in range(2600)])),
    ("repetition: a prefix of Jelly", lambda: jelly(*_STARS, *[
        r for i in range(1500) for r in (craft.name(b"%d" % i), craft.row(2, craft.terms(
            _iri(0, 1), _iri(0, 0), _iri(0, 0))))])),
    ("repetition: a prefix of Jelly in quoted triples", lambda: jelly(
        *_STARS, *[craft.row(2, craft.terms(_quoted(_T), _iri(1, 1), _quoted(_T)))] * 500)),
    ("repetition: a prefix of namespaces of Jelly", lambda: jelly(
        *_STARS, *[craft.namespace(b"p%d" % i, craft.iri(1, 1)) for i in range(1800)])),
    ("repetition: a prefix of graphs of Jelly", lambda: craft.frame(
        craft.options(craft.GRAPHS), *_STARS,
        *[craft.graph_start(_iri(1, 1)), craft.row(2, _T), craft.graph_end()] * 700)),
    ("repetition: metadata of Jelly", lambda: jelly(*_NAMES, *[craft.metadata(b"k%d" % i, b"v") for i in range(4000)])),
):  # fmt: skip
    shape(_name, "jelly", "log jelly")(_make_it)


_OPTIONS = b"rows { options { physical_type: 1 max_name_table_size: 8 version: 1 } }\n"

for _name, _make_it in {
    "depth: triple terms of Jelly text": functools.partial(
        nested, b"o_triple_term{s_bnode:'a' p_bnode:'b' ", b"o_bnode:'c'", b"}",
        _OPTIONS + b"rows{triple{s_bnode:'a' p_bnode:'b' ", b"}}",
    ),
    "depth: braces of Jelly text": functools.partial(nested, b"rows {", b"", b"}"),
    "breadth: rows of Jelly text": functools.partial(
        repeated, b"rows{triple{s_bnode:'a' p_bnode:'b' o_bnode:'c'}}\n", _OPTIONS
    ),
    "breadth: frames of Jelly text": functools.partial(repeated, b"# Frame 0\n", _OPTIONS),
    "breadth: metadata of Jelly text": functools.partial(
        numbered, lambda i: b"metadata{key:'%d'}" % i, _OPTIONS
    ),
    "repetition: spaces of Jelly text": functools.partial(repeated, b" ", b"rows {}", b"x"),
    "repetition: comments of Jelly text": functools.partial(repeated, b"#\n", b"rows {}", b"x"),
    "repetition: a long name of Jelly text": functools.partial(repeated, b"a", b"rows {"),
    "repetition: escapes of Jelly text": functools.partial(
        repeated, b"\\303\\251", _OPTIONS + b"rows{name{value:'", b"'}}"
    ),
    "repetition: strings of Jelly text": functools.partial(
        repeated, b"''", _OPTIONS + b"rows{name{value:", b"}}"
    ),
}.items():
    shape(_name, "jelly", "log jelly")(_make_it)


@shape("repetition: columns of Jelly 1.2", "jelly", "log jelly")
def _columns() -> bytes:
    from support.column_writer import write

    long = ("iri", "a:" + LONG.decode() + "/n")
    return write([(long, ("iri", f"a:/{i}"), ("literal", "x", None, None)) for i in range(2000)], quads=False)


@shape("depth: columns of Jelly 1.2", "jelly", "log jelly")
def _deep_columns() -> bytes:
    from support.column_writer import write

    a = ("iri", "a:/n")
    term: Any = a
    for _ in range(60):
        term = ("triple", a, a, term)
    return write([(a, a, term)] * 60, quads=False)


@shape("breadth: rows claimed by Jelly 1.2", "jelly", "log jelly")
def _claimed() -> bytes:
    from support.column_writer import write

    a = ("iri", "a:/n")
    return write([(a, a, a)] * 32_000, quads=False)


# ---- what is made of a small dataset and then multiplied: RDF Binary, patches, tables, archives


def _binary(format: str, text: bytes) -> bytes:
    import jelly as j

    out = io.BytesIO()
    j.convert(text, out, format="nq", to=format)
    return out.getvalue()[:SIZE]


for _format in ("thrift", "protobuf"):
    for _name, _text in (
        ("quoted triples", nested(b"<<( <a:s> <a:p> ", b"<a:o>", b" )>>", S, b" .\n", levels=45) * 40),
        ("statements", b"<a:s> <a:p> <a:o> .\n" * 3500),
        ("nodes", b"".join(b"_:n%d <a:p> _:n%d .\n" % (i, i + 1) for i in range(2500))),
    ):
        shape(f"breadth: {_name} of RDF {_format}", _format)(functools.partial(_binary, _format, _text))
shape("depth: structs of Thrift", "thrift", "results thrift")(functools.partial(repeated, b"\x1c"))
shape("depth: lists of Thrift", "thrift", "results thrift")(functools.partial(repeated, b"\x1c\x19"))
shape("depth: structs of a statement of Thrift", "thrift")(functools.partial(repeated, b"\x7c\x1c", b"\x2c"))
shape("depth: groups of Protobuf", "protobuf", "results protobuf", "results jellys", "jelly", "patch jellyp")(
    lambda: craft.varint(SIZE) + b"\x0b" * SIZE
)
shape("breadth: prefixes of Thrift", "thrift")(lambda: b"\x1c\x18\x01a\x1c\x18\x03a:b\0\0\0" * 4500)
shape("breadth: empty messages", "protobuf", "thrift", "results protobuf", "results thrift", "results jellys", "jelly")(
    lambda: bytes(SIZE)
)

for _name, _unit, _head in (
    ("transactions", b"TX .\nTC .\n", b""),
    ("prefixes", b'PA "a" <a:b> .\n', b""),
    ("headers", b"H id <a:b> .\n", b""),
    ("operations", b"A <a:s> <a:p> <a:o> .\n", b""),
    ("aborts", b"TX .\nTA .\n", b""),
    ("a prefix", b"A p:a p:b p:c .\n", b'PA "p" <a:' + LONG + b"> .\n"),
    ("repeats", b"A R R R .\n", b"A <a:" + LONG + b"> <a:p> <a:o> .\n"),
):
    shape(f"repetition: {_name} of a patch", "patch rdfp")(functools.partial(repeated, _unit, _head))
shape("depth: quoted triples of a patch", "patch rdfp")(
    functools.partial(nested, b"<< ", S + b"<a:o>", b" >>", b"A " + S, b" .\n")
)
_PATCH = patchcraft.options()
for _name, _make_it in (
    ("frames", lambda: craft.frame(_PATCH) + craft.frame() * 60_000),
    ("operations", lambda: craft.frame(_PATCH, patchcraft.name(b"n"), *[craft.row(2, _T)] * 3000)),
    ("quoted", lambda: craft.frame(_PATCH, patchcraft.name(b"n"), craft.row(2, _deep(60, 2)))),
    ("options", lambda: craft.frame(*[_PATCH] * 3000)),
):
    shape(f"breadth: {_name} of Jelly-Patch", "patch jellyp")(_make_it)

# ---- the text form of Jelly

_OPTIONS = b"# Frame 0\nrows { options { physical_type: 1 max_name_table_size: 8 version: 1 } }\n"
for _name, _make_it in (
    ("depth: quoted triples", functools.partial(
        nested, b"s_triple_term { ", b"", b"} ", _OPTIONS + b"rows { triple { ", b"} }")),
    ("depth: quoted triples, open", functools.partial(repeated, b"s_triple_term { ", _OPTIONS + b"rows { triple { ")),
    ("breadth: frames", functools.partial(repeated, b"# Frame 1\n", _OPTIONS)),
    ("breadth: rows", functools.partial(repeated, b'rows { name { value: "a" } }\n', _OPTIONS)),
    ("breadth: empty rows", functools.partial(repeated, b"rows {}\n", _OPTIONS)),
    ("breadth: comments", functools.partial(repeated, b"#\n", _OPTIONS)),
    ("breadth: strings of one value", functools.partial(
        repeated, b'"a" ', _OPTIONS + b"rows { name { value: ", b"} }")),
    ("breadth: escapes", functools.partial(repeated, b"\\x00", _OPTIONS + b'rows { name { value: "', b'" } }')),
    ("breadth: brackets", functools.partial(repeated, b"[", _OPTIONS + b"rows: ")),
    ("breadth: zeros", functools.partial(repeated, b"\0", _OPTIONS)),
    ("repetition: statements", functools.partial(
        repeated, b'rows { triple { s_bnode: "b" p_iri { name_id: 1 } o_literal { lex: "x" } } }\n',
        _OPTIONS + b'rows { name { value: "a:' + LONG + b'" } }\n')),
):  # fmt: skip
    shape(f"{_name}, of frames as text", "jelly as text")(_make_it)

# ---- query results

_SPARQL = bytes.fromhex("0a09488001500858047801")  # options: 128 names, 8 prefixes, 4 datatypes
_PUNCTUATED = bytes.fromhex("0a0b1001488001500858047801")
_X = b"\x12\x01x"  # a variable
_ROWS = b"\x18\xff\xff\x3f"  # a million rows


def _framed(*parts: bytes) -> bytes:
    body = b"".join(parts)
    return craft.varint(len(body)) + body


def _term(levels: int) -> bytes:
    """Triple terms in one another."""
    term = craft.field(2, b"s") + craft.field(5, b"\x10\x01") + craft.field(10, b"o")
    for _ in range(levels):
        term = craft.field(2, b"s") + craft.field(5, b"\x10\x01") + craft.field(12, term)
    return term


for _name, _make_it in (
    ("breadth: rows", lambda: _framed(_SPARQL, _X, _ROWS, b"\x3a\0")),
    ("repetition: frames of rows", lambda: _framed(_SPARQL, _X) + _framed(b"\x18\xe8\x07", b"\x3a\0") * 500),
    ("repetition: rows of no variables", lambda: _framed(_SPARQL) + _framed(b"\x18\xe8\x07") * 500),
    ("breadth: variables", lambda: _framed(_SPARQL, *(b"\x12\x03%03x" % i for i in range(4000)), b"\x18\x01",
                                           b"\x3a\0" * 4000)),
    ("repetition: one long run", lambda: _framed(
        _SPARQL, _X, b"\x18\xd0\x0f", craft.field(7, craft.field(5, LONG) + b"\x10\x0f\x10\xbf\x0f"))),
    ("repetition: options", lambda: _framed(*[_SPARQL] * 3000) * 3),
    ("repetition: streams", lambda: _framed(_SPARQL, _X) * 3000),
    ("repetition: result sets", lambda: _framed(_PUNCTUATED, _X, b"\x4a\0") + _framed(_X, b"\x4a\0") * 8000),
    ("repetition: answers", lambda: _framed(_PUNCTUATED, b"\x42\0\x4a\0") + _framed(b"\x42\0\x4a\0") * 8000),
    ("repetition: long prefixes", lambda: _framed(
        _SPARQL, _X, b"\x18\xd0\x0f", craft.field(4, b"".join(b"\x12\x02%02x" % i for i in range(128))),
        craft.field(5, craft.field(2, LONG)), craft.field(7, craft.field(3, b"\x01" * 2000) + b"\x20\x01"))),
    ("breadth: language tags", lambda: _framed(
        _SPARQL, _X, b"\x18\x01", craft.field(7, craft.field(5, b"x") + b"\x30\x02" + craft.field(7, b"en") * 20_000))),
    ("depth: triple terms", lambda: _framed(
        _SPARQL, _X, b"\x18\x01", craft.field(4, craft.field(2, b"n")), craft.field(7, craft.field(10, _term(2000))))),
    ("breadth: links", lambda: _framed(
        _SPARQL, craft.field(15, craft.field(1, b"link") + craft.field(2, b"a:b\n" * 20_000)), _X)),
):  # fmt: skip
    shape(f"{_name} of Jelly-SPARQL", "results jellys")(_make_it)

_SRJ = b'{"head":{"vars":["x"]},"results":{"bindings":['
_SRX = b'<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="x"/></head><results>'
_TERM = (
    b'{"type":"triple","value":{"subject":{"type":"uri","value":"a:s"},'
    b'"predicate":{"type":"uri","value":"a:p"},"object":'
)
for _name, _make_it in (
    ("depth: triples", functools.partial(
        nested, _TERM, b'{"type":"uri","value":"a:o"}', b"}}", _SRJ + b'{"x":', b"}]}}")),
    ("depth: 60 triples", lambda: _SRJ + b",".join(
        [nested(_TERM, b'{"type":"uri","value":"a:o"}', b"}}", b'{"x":', b"}", levels=60)] * 8) + b"]}}"),
    ("depth: arrays", functools.partial(nested, b"[", b"", b"]", _SRJ, b"]}}")),
    ("depth: objects", functools.partial(nested, b'{"x":', b"1", b"}", _SRJ, b"]}}")),
    ("breadth: bindings", functools.partial(repeated, b",{}", _SRJ + b"{}", b"]}}")),
    ("breadth: variables", functools.partial(
        numbered, lambda i: b',"%d"' % i, b'{"head":{"vars":["x"', b']},"results":{"bindings":[{},{},{},{}]}}')),
    ("repetition: rows x variables", lambda: numbered(lambda i: b',"%d"' % i, b'{"head":{"vars":["x"', b"", 30_000)
     + b']},"results":{"bindings":[' + b"{}," * 10_000 + b"{}]}}"),
    ("breadth: half characters", lambda: b'{"head":{"vars":["\\ud800"]},"results":{"bindings":[]}}'),
    ("breadth: long number", lambda: _SRJ + b"1" * 60_000 + b"]}}"),
):
    shape(f"{_name} of JSON results", "results json")(_make_it)
for _name, _make_it in (
    ("depth: elements", functools.partial(nested, b"<result>", b"", b"</result>", _SRX, b"</results></sparql>")),
    ("depth: triples", functools.partial(
        nested, b"<triple><subject><uri>a</uri></subject><predicate><uri>a</uri></predicate><object>", b"<uri>a</uri>",
        b"</object></triple>", _SRX + b'<result><binding name="x">', b"</binding></result></results></sparql>")),
    ("breadth: results", functools.partial(repeated, b"<result/>", _SRX, b"</results></sparql>")),
    ("breadth: variables", functools.partial(
        numbered, lambda i: b'<variable name="v%d"/>' % i, _SRX[:_SRX.index(b"</head>")], b"</head></sparql>")),
    ("repetition: rows x variables", lambda: numbered(
        lambda i: b'<variable name="%d"/>' % i, _SRX[:_SRX.index(b"</head>")], b"", 40_000)
     + b"</head><results>" + b"<result/>" * 2500 + b"</results></sparql>"),
    ("breadth: namespaces", functools.partial(
        numbered, lambda i: b' xmlns:n%d="u:%d"' % (i, i), b"<sparql", b"/>")),
    ("repetition: a namespace", functools.partial(
        repeated, b"<l:a/>", b"<sparql xmlns='http://www.w3.org/2005/sparql-results#' xmlns:l='a:" + LONG + b"'>")),
    ("breadth: lines", functools.partial(repeated, b"\n", _SRX)),
    ("breadth: attributes", functools.partial(numbered, lambda i: b" a%d='1'" % i, b"<sparql", b"/>")),
):
    shape(f"{_name} of XML results", "results xml")(_make_it)
for _name, _make_it in (
    ("depth: triples", functools.partial(nested, b"<<( <a:s> <a:p> ", b"<a:o>", b" )>>", b"?x\n", b"\n")),
    ("depth: 60 triples", lambda: b"?x\n" + nested(b"<<( <a:s> <a:p> ", b"<a:o>", b" )>>", b"", b"\n", levels=60) * 40),
    ("depth: lists", functools.partial(repeated, b"( ", b"?x\n")),
    ("depth: blank nodes", functools.partial(repeated, b"[ ", b"?x\n")),
    ("breadth: rows", functools.partial(repeated, b"1\n", b"?x\n")),
    ("breadth: empty rows", functools.partial(repeated, b"\n", b"?x\n")),
    ("breadth: variables", functools.partial(numbered, lambda i: b"\t?x%d" % i, b"?x", b"\n")),
    ("repetition: rows x variables", lambda: numbered(lambda i: b"\t?x%d" % i, b"?x", b"", 20_000)
     + (b"\n" + b"\t" * 3000) * 14 + b"\n"),
):
    shape(f"{_name} of TSV results", "results tsv")(_make_it)

# ---- tables and archives

_CSV = b"subject,predicate,object,graph\n"
for _name, _make_it in (
    ("rows", functools.partial(repeated, b"a:s,a:p,a:o,\n", _CSV)),
    ("columns", functools.partial(repeated, b",a", b"subject,predicate,object,graph")),
    ("quotes", functools.partial(repeated, b'""', _CSV + b'a:s,a:p,"')),
    ("quoted", functools.partial(nested, b"<<( a:s a:p ", b"a:o", b" )>>", _CSV + b"a:s,a:p,", b",\n")),
    ("60 quoted", lambda: _CSV + nested(b"<<( <a:s> <a:p> ", b"<a:o>", b" )>>", b"a:s,a:p,", b",\n", levels=60) * 40),
    ("lines", functools.partial(repeated, b"\n", _CSV)),
    ("commas", functools.partial(repeated, b",", _CSV)),
):
    shape(f"breadth: {_name} of CSV", "csv")(_make_it)


def _table(format: str, text: bytes) -> bytes:
    import jelly as j

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x.{format}"
        j.convert(text, path, format="nq")
        return path.read_bytes()


for _format in ("parquet", "arrow"):
    shape(f"repetition: statements of {_format}", _format)(
        functools.partial(_table, _format, (b"<a:" + LONG[:5000] + b"> <a:p> <a:o> .\n") * 200)
    )
    shape(f"depth: quoted triples of {_format}", _format)(
        functools.partial(_table, _format, nested(b"<<( <a:s> <a:p> ", b"<a:o>", b" )>>", S, b" .\n", levels=60) * 40)
    )


@shape("breadth: files of an archive", "log tar")
def _archive() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for i in range(60):
            archive.addfile(tarfile.TarInfo(f"{i}.nq"), io.BytesIO())
    return out.getvalue()


@shape("repetition: a prefix in an archive", "log tar")
def _prefixed() -> bytes:
    out = io.BytesIO()
    data = repeated(b",p:a", b"PREFIX p: <a:" + LONG + b"> p:a p:b p:c", b" .")[:60_000].rpartition(b",")[0] + b" ."
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("0.ttl")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()

# ---- queries, and shapes of SHACL

_WHERE = b"SELECT * { ?s ?p ?o "
for _name, _open, _inner, _close, _head, _tail in (
    ("groups", b"{", b"?s ?p ?o", b"}", b"SELECT * ", b""),
    ("optional groups", b"OPTIONAL { ?s ?p ?o ", b"", b"}", _WHERE, b"}"),
    ("unions", b"{ ?s ?p ?o } UNION { ", b"?s ?p ?o", b"}", b"ASK { ", b"}"),
    ("queries", b"{ SELECT * { ", b"?s ?p ?o", b"} }", b"ASK { ", b"}"),
    ("EXISTS", b"FILTER EXISTS { ?s ?p ?o ", b"", b"}", _WHERE, b"}"),
    ("brackets", b"(", b"1", b")", _WHERE + b"FILTER(", b")}"),
    ("calls", b"STR(", b"?o", b")", _WHERE + b"FILTER(", b")}"),
    ("negations", b"!", b"1", b"", _WHERE + b"FILTER(", b")}"),
    ("signs", b"- ", b"?o", b"", _WHERE + b"FILTER(", b")}"),
    ("paths", b"(", b"<a:p>", b")*", b"ASK { ?s ", b" ?o }"),
    ("inverse paths", b"^(", b"<a:p>", b")", b"ASK { ?s ", b" ?o }"),
    ("lists", b"(", b"1", b")", b"ASK { ", b" <a:p> ?o }"),
    ("blank nodes", b"[ <a:p> ", b"1", b"]", b"ASK { ", b"}"),
    ("triple terms", b"<<( <a:s> <a:p> ", b"1", b")>>", b"ASK { ?s ?p ", b"}"),
    ("annotations", b"{| <a:p> 1 ", b"", b"|}", b"ASK { ?s ?p ?o ", b"}"),
):
    shape(f"depth: {_name} of a query", "sparql")(functools.partial(nested, _open, _inner, _close, _head, _tail))
    shape(f"depth: {_name} of a query, open", "sparql")(functools.partial(repeated, _open, _head))
    # As deep as is allowed.
    shape(f"depth: {_name} of a query, 20", "sparql")(
        functools.partial(nested, _open, _inner, _close, _head, _tail, levels=20)
    )
for _name, _unit, _head, _tail in (
    ("unions", b" UNION {?s ?p ?o}", b"ASK {{?s ?p ?o}", b"}"),
    ("optional groups", b"OPTIONAL {?s ?p ?o}", _WHERE, b"}"),
    ("MINUS", b"MINUS {?s ?p ?o}", _WHERE, b"}"),
    ("filters", b"FILTER(?o=1)", _WHERE, b"}"),
    ("patterns", b"?s ?p ?o.", b"SELECT * {", b"}"),
    ("objects", b",?o", _WHERE, b"}"),
    ("blank nodes", b"[]?p[].", b"SELECT * {", b"}"),
    ("items", b"?x ", b"SELECT * {(", b") ?p ?o}"),
    ("graphs", b"GRAPH ?g{?s ?p ?o}", b"SELECT * {", b"}"),
    ("sums", b"+1", _WHERE + b"FILTER(?o=1", b")}"),
    ("arguments", b",?o", _WHERE + b"FILTER(CONCAT(?o", b")=1)}"),
    ("conditions", b"||?o=1", _WHERE + b"FILTER(?o=1", b")}"),
    ("steps", b"/<a:p>", b"ASK {?s <a:p>", b" ?o}"),
    ("repeated steps", b"/<a:p>*", b"ASK {?s <a:p>", b" ?o}"),
    ("repeated steps from a node", b"/<a:p>*", b"ASK {<a:s> <a:p>", b" ?o}"),
    ("alternatives", b"|<a:p>", b"ASK {?s <a:p>", b" ?o}"),
    ("rows of VALUES", b"(UNDEF)", _WHERE + b"VALUES (?o) {", b"}"),
    ("keys of an order", b"?s ", b"SELECT * {?s ?p ?o} ORDER BY ", b""),
    ("long names", b"p:a p:b p:c.", b"PREFIX p: <a:" + LONG + b"> ASK {", b"}"),
    ("escapes", b"\\u0041", b"ASK {?s ?p '", b"'}"),
    ("nothing", b"\0", b"ASK {?s ?p '", b"'}"),
    ("half characters", b"\xed\xa0\x80", b"ASK {?s ?p '", b"'}"),
    ("digits of a limit", b"9", _WHERE + b"} LIMIT 1", b""),
    ("groups of a regular expression", b"(a*)*", _WHERE + b"FILTER REGEX(?o,'", b"')}"),
):
    shape(f"breadth: {_name} of a query", "sparql")(functools.partial(repeated, _unit, _head, _tail))
    shape(f"breadth: {_name} of a query, 400 bytes", "sparql")(
        lambda unit=_unit, head=_head, tail=_tail: head + unit * (400 // len(unit)) + tail
    )
for _name, _make in (
    ("numbers of VALUES", lambda i: b" %d" % i),
    ("IRIs of VALUES", lambda i: b"<a:%d>" % i),
):
    shape(f"breadth: {_name}", "sparql")(functools.partial(numbered, _make, _WHERE + b"VALUES ?o {", b"}}"))
for _name, _make, _head, _tail in (
    ("numbers of IN", lambda i: b",%d" % i, _WHERE + b"FILTER(?o IN (1", b"))}"),
    ("variables", lambda i: b"?v%d " % i, b"SELECT ", b"{?s ?p ?o}"),
    ("values", lambda i: b"(?o+1 AS ?v%d)" % i, b"SELECT ", b"{?s ?p ?o}"),
    ("sums of groups", lambda i: b"(SUM(?o) AS ?v%d)" % i, b"SELECT ", b"{?s ?p ?o}"),
    ("prefixes of a query", lambda i: b"PREFIX p%d:<a:%d> " % (i, i), b"", b"ASK {}"),
    ("graphs of a query", lambda i: b"FROM <a:%d> " % i, b"SELECT * ", b"{?s ?p ?o}"),
    ("described nodes", lambda i: b"<a:%d> " % i, b"DESCRIBE ", b""),
):
    shape(f"breadth: {_name}", "sparql")(functools.partial(numbered, _make, _head, _tail))

_SHAPES_OF_SHACL = b"PREFIX sh: <http://www.w3.org/ns/shacl#> <a:x> a sh:NodeShape ; sh:targetNode <a:s> ; "
for _name, _make_it in (
    ("paths", functools.partial(nested, b"[ sh:inversePath ", b"<a:p>", b"]", _SHAPES_OF_SHACL
                                + b"sh:property [ sh:path ", b"] .", levels=58)),
    ("shapes", functools.partial(nested, b"sh:node [ ", b"sh:minCount 1", b"]", _SHAPES_OF_SHACL, b" .", levels=58)),
    ("a path within itself", lambda: _SHAPES_OF_SHACL + b"sh:property [ sh:path _:a ] . _:a sh:inversePath _:a ."),
    ("a list within itself", lambda: _SHAPES_OF_SHACL + b"sh:or _:a . _:a <http://www.w3.org/1999/02/22-rdf-syntax-ns#"
     b"first> <a:x> ; <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> _:a ."),
    ("chained shapes", functools.partial(numbered, lambda i: b"<a:%d> sh:node <a:%d> ." % (i, i + 1),
                                         _SHAPES_OF_SHACL + b"sh:node <a:0> . ")),
    ("chained paths", functools.partial(numbered, lambda i: b"_:n%d sh:inversePath _:n%d ." % (i, i + 1),
                                        _SHAPES_OF_SHACL + b"sh:property [ sh:path _:n0 ] . ")),
    ("wrong shapes", lambda: _SHAPES_OF_SHACL + b"sh:property <a:y> . <a:y> sh:path 1 ; sh:minCount 'x' ; sh:in 2 ."),
    ("wrong queries", lambda: _SHAPES_OF_SHACL + b"sh:sparql [ sh:select 'nothing' ] ."),
):  # fmt: skip
    shape(f"depth: {_name} of SHACL", "ttl")(_make_it)
