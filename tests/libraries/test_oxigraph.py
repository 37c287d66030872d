"""The syntaxes that pyoxigraph reads and writes, and its terms."""

from __future__ import annotations

import gzip
import io
import re
import sys
import threading

import pyoxigraph as ox
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from support.chance import LONG, examples
from support.difference import difference
from support.measure import SANITIZED, growth
from support.shared import shared

import jelly
import jelly.oxigraph
from jelly import IRI, BlankNode, Literal, Quad, QuotedTriple, Triple
from jelly._formats import registry
from jelly._formats.guards import MAX_ELEMENTS, MAX_TRIPLE_TERMS
from jelly._formats.language_case import Marks
from jelly._formats.registry import FORMATS, find
from jelly._tools.compare import as_quad
from jelly.cli.commands import cli

TRIPLES = ("ttl", "rdf", "n3")
QUADS = ("trig", "jsonld")
SYNTAXES = (*TRIPLES, *QUADS)

# What is hard to carry: tags with capitals, text that looks like one, white space, labels that are no names.
HARD = rb"""@prefix e: <http://e/> . @prefix : <http://e/d#> . @prefix xml: <http://odd/> .
e:s e:p "x"@en-GB , "y" @EN , "z"@de-x-Foo , "w"@fr , "mail '@Foo.com @EN-US @TW1TT3R" , <mailto:A@EN.org> , 5 ,
  "1.50" , "a\nb\r\t <x> & ]]> rdf:nodeID=\"0 xml:lang=\"EN\" \\u0020" , " \n " , "" , _:0a , _:a , _:_b , _:__b , [] .
_:0a a e:C , <http://e/123> , e: ; :q ( 1 "2"@EN ) . e:t a <http://e/9> .
"""


def convert(data, to, format="ttl", **settings):
    out = io.BytesIO()
    jelly.convert(data, out, format=format, to=to, **settings)
    return out.getvalue()


def same(left, right):
    found = list(difference(set(map(as_quad, left)), set(map(as_quad, right))))
    assert not found, found[:3]


def read(data, format, **settings):
    return list(jelly.read(data, format=format, **settings))


def in_chunks(data, size):
    return [data[i : i + size] for i in range(0, len(data), size)]


# ---- reading


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("format", SYNTAXES)
def test_what_is_hard_comes_through_in_chunks_of_any_size(format, size):
    data = convert(HARD, format)
    same(read(HARD, "ttl"), read(in_chunks(data, size), format))


def test_terms():
    got = read(HARD, "ttl")
    objects = [statement.o for statement in got if statement.p == IRI("http://e/p")]
    assert objects[:5] == [
        Literal("x", language="en-GB"),
        Literal("y", language="EN"),
        Literal("z", language="de-x-Foo"),
        Literal("w", language="fr"),
        Literal("mail '@Foo.com @EN-US @TW1TT3R"),
    ]
    assert objects[5:8] == [
        IRI("mailto:A@EN.org"),
        Literal("5", datatype=IRI("http://www.w3.org/2001/XMLSchema#integer")),
        Literal("1.50"),
    ]
    assert objects[11:15] == [BlankNode("0a"), BlankNode("a"), BlankNode("_b"), BlankNode("__b")]


@pytest.mark.parametrize(
    ("tag", "kept"),
    [
        ("zh-Hant-TW", "zh-Hant-TW"),
        ("ar-EG--rtl", "ar-EG"),
        ("en-GB-oed", "en-GB-oed"),  # to which nothing can be added
        ("i-KLINGON", "i-KLINGON"),
        ("zh-Hant-x-AbcdEfgh-IjklMnop-QrstUvwx", "zh-Hant-x-AbcdEfgh-IjklMnop-QrstUvwx"),
    ],
)
def test_tags(tag, kept):
    (statement,) = read(f'<a:s> <a:p> "x"@{tag} .'.encode(), "ttl")
    assert statement.o.language == kept
    assert statement.o.direction == ("rtl" if "--" in tag else None)


@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_long_tags_in_chunks(size):
    tag = "en-GB-x-" + "-".join(letter * 8 for letter in "AbcdEfgh")
    text = f'<a:s> <a:p> "x"@{tag} .'.encode()
    (statement,) = jelly.read([text[at : at + size] for at in range(0, len(text), size)], format="ttl")
    assert statement.o.language == tag
    text = f'{{"@context":{{"l":"@language","v":"@value"}},"@id":"a:s","a:p":{{"v":"x","l":"{tag}"}}}}'.encode()
    (statement,) = jelly.read([text[at : at + size] for at in range(0, len(text), size)], format="jsonld")
    assert statement.o.language == tag


@given(st.lists(st.sampled_from(["@", "En", "GB", "-", "x", "1", '"', " ", "é", "EN", "<"]) | st.text(max_size=3)))
@examples(60)
def test_marks_leave_no_trace(parts):
    data = "".join(parts).encode("utf-8", "ignore")
    for xml in (False, True):
        marks = Marks(xml=xml)
        text = data.replace(b"@", b'xml:lang="') if xml else data
        assert marks.take(marks.put(text)) == text


def test_json_tags_have_the_spelling_of_the_document_where_it_has_one():
    text = b'{"@id": "a:s", "http://e/p": [{"@value": "1", "@language": "en-GB"}, {"@value": "2", "@language": "%s"}]}'
    assert [x.o.language for x in read(text % b"zh-Hant", "jsonld")] == ["en-GB", "zh-Hant"]
    assert [x.o.language for x in read(text % b"EN-gb", "jsonld")] == ["en-GB", "EN-gb"]
    # Where a context gives another name to @language, strings are all there is to tell from.
    named = b'{"@context": {"lang": "@language", "v": "@value"}, "@id": "a:s", "http://e/p": [%b]}'
    for tags, expected in ((("en-GB", "de-DE"), ["en-GB", "de-DE"]), (("en-GB", "EN-gb"), ["en-gb", "en-gb"])):
        values = ", ".join(f'{{"v": "{tag}!", "lang": "{tag}"}}' for tag in tags).encode()
        assert [x.o.language for x in read(named % values, "jsonld")] == expected


def test_namespaces_come_before_what_follows_them():
    data = b"@prefix a: <a:> . a:s a:p a:o . @prefix b: <b:> . @prefix a: <c:> . a:s a:p b:o . @prefix z: <z:@EN> ."
    batches = list(jelly.scan(data, format="ttl", batch_rows=1).batches())
    declared = [(row, name, iri) for batch in batches for row, _, name, iri in batch.namespaces]
    assert declared[0] == (0, "a", "a:")
    assert [pair[1:] for pair in declared] == [("a", "a:"), ("a", "c:"), ("b", "b:"), ("z", "z:@EN")]
    frames = list(jelly.scan(convert(data, "jelly")).frames())
    assert {("a", "c:"), ("b", "b:")} <= {pair for frame in frames for pair in frame.namespaces}
    assert b"@prefix a: <http://e/>" in convert(b"@prefix a: <http://e/> .", "ttl")


def test_base():
    assert str(read(b"<s> <p> <> .", "ttl", base="http://b/x")[0]) == "<http://b/s> <http://b/p> <http://b/x> ."
    with pytest.raises(jelly.JellySyntaxError, match="IRI") as caught:
        read(b"<s> <p> <> .", "ttl")
    assert caught.value.line == 1
    with pytest.raises(ValueError, match="base IRI"):
        read(b"", "ttl", base="no base")


def test_lenient():
    data = b"<a:s> <a:p> <a:o o> ."
    with pytest.raises(jelly.JellySyntaxError):
        read(data, "ttl")
    assert read(data, "ttl", lenient=True)[0].o == IRI("a:o o")
    with pytest.raises(jelly.JellySyntaxError):
        read(data, "ttl", lenient=True, strict=True)


@pytest.mark.parametrize("format", ["ttl", "trig", "jsonld"])
def test_lenient_writers_do_not_mind_control_characters_beside_an_iri(format):
    statement = jelly.Triple(IRI("a:%zz"), IRI("a:p"), jelly.Literal("\x01"))
    out = io.BytesIO()
    with jelly.Writer(out, format=format, lenient=True) as writer:
        writer.add(statement)
    assert list(jelly.read(out.getvalue(), format=format, lenient=True))[0][:3] == statement[:3]


def test_byte_order_mark():
    assert len(read(b"\xef\xbb\xbf<a:s> <a:p> <a:o> .", "ttl")) == 1
    assert len(read(in_chunks(b"\xef\xbb\xbf[]", 1), "jsonld")) == 0


class Greedy(io.RawIOBase):
    """A file that gives all that it has whatever it is asked for."""

    def __init__(self, data):
        self.data = data

    def read(self, size=-1):
        data, self.data = self.data, b""
        return data


def test_a_file_that_gives_too_much_does_no_harm():
    data = b"<a:s> <a:p> <a:o> .\n" * 5000
    assert len(read(Greedy(data), "ttl")) == 5000
    assert jelly.oxigraph.load(ox.Store(), Greedy(data), format="ttl") == 5000


XML = b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">%b</r:RDF>'


@pytest.mark.parametrize(
    ("format", "data", "line", "n", "match"),
    [
        ("ttl", b"<a:s> <a:p> <a:o> .\n\n<a:s> <a:p> .\n", 3, 1, "column 13"),
        ("ttl", b'<a:s> <a:p> "x"@en-GB .\n<a:s> <a:p> "x"@en-G_ .', 2, 1, None),
        ("ttl", b"<a:s> <a:p> <a:o> .\n<a:s> <a:p>", 2, 1, None),
        ("trig", b"<a:g> { <a:s> <a:p> <a:o> }\n}", 2, 1, None),
        ("rdf", XML % b'\n\n<r:Description r:ID="1"/>', 3, 0, "ID"),
        ("rdf", b"<r:RDF>\n", 1, 0, "prefix"),
        ("jsonld", b'[{"@id": "a:s", "a:p": 5},\n\n{"@id": "a:s", "a:p"}]', 3, 1, None),
        ("jsonld", b'{\n"@context": "http://e/c.jsonld"}', 2, 0, "http://e/c.jsonld .* never fetched"),
        ("jsonld", b'{"@context": [{"a": "b:"}, "c.jsonld"]}', 1, 0, "c.jsonld"),
        ("jsonld", b'{"@context": {"@import": "http://e/i"}}', 1, 0, "http://e/i .* never fetched"),
        ("n3", b"{ <a:s> <a:p> <a:o> } <a:p> <a:o> .", None, 0, "Named graphs"),
        ("n3", b"?x <a:p> <a:o> .", None, 0, "variables"),
    ],
)
def test_errors_tell_the_line_and_come_after_what_was_good(format, data, line, n, match, tmp_path):
    path = tmp_path / f"x.{format}"
    path.write_bytes(data)
    reader = jelly.Reader(path)
    with pytest.raises(jelly.JellySyntaxError, match=match) as caught:
        list(reader)
    assert (caught.value.line, reader.statements, caught.value.source) == (line, n, str(path))


def test_lines_cannot_be_skipped():
    with pytest.raises(jelly.JellyUnsupportedError, match="skipped"):
        jelly.Reader(b"", format="ttl", on_error="skip")


def test_errors_of_the_source_come_through():
    def chunks():
        yield b"<a:s> <a:p> <a:o> .\n" * 9
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        read(chunks(), "ttl")
    cut = gzip.compress(convert(HARD, "rdf"))[:-9]
    with pytest.raises(jelly.JellyTruncatedError):
        read(cut, "rdf")


DEEP = 3000
BOMBS = {
    "terms": ("ttl", b"<a:s> <a:p> " + b"<<( <a:s> <a:p> # \" \n" * DEEP + b"<a:o>" + b")>>" * DEEP + b"."),
    "elements": ("rdf", XML % (b"<e:C><e:p>" * 40000)),
    "triple elements": ("rdf", XML % (b'<e:C><e:p r:parseType="Triple">' * DEEP + b"</e:p></e:C>" * DEEP)),
    "entities": (
        "rdf",
        b"<!DOCTYPE x [<!ENTITY a 'no'>".replace(b"'no'", b'"%b"' % (b"a" * 99))
        + b'<!ENTITY b "%b">' % (b"&a;" * 9)
        + b"]>"
        + XML % b"",
    ),
    "long entity": ("rdf", b'<!DOCTYPE x [<!ENTITY a "%b">]>' % (b"a" * 1000) + XML % b""),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name):
    format, data = BOMBS[name]
    before = threading.stack_size(1 << 19)
    caught = []

    def work():
        try:
            read(data, format)
        except jelly.JellyLimitError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    threading.stack_size(before)
    assert re.search("nested deeper|longer than", str(caught[0]))


def test_what_is_no_bomb():
    nested = b"<<( <a:s> <a:p> " * 60 + b"<a:o>" + b")>>" * 60
    assert len(read(b"<a:s> <a:p> " + nested + b".\n" + b'<a:s> <a:p> "<<(" .' * (MAX_TRIPLE_TERMS - 1), "ttl")) == 250
    parts = b'<e:C><e:p><![CDATA[<br>]]></e:p><!-- <x> --><e:q r:resource="a:b"/></e:C>\n' * MAX_ELEMENTS
    assert len(read(XML % parts, "rdf")) == 3 * MAX_ELEMENTS
    owl = b'<!DOCTYPE x [<!ENTITY e "http://e/"><!ENTITY f "&e;f">]>' + XML % b'<e:C r:about="&f;1"/>'
    assert read(owl, "rdf")[0].s == IRI("http://e/f1")
    for text in (b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///a">]>', b'<!DOCTYPE x SYSTEM "http://e/d">'):
        with pytest.raises(jelly.JellySyntaxError):
            read(text + XML % b"<e:C><e:p>&a;</e:p></e:C>", "rdf")


# ---- writing


@pytest.mark.parametrize("rows", [1, 3, 8192])
@pytest.mark.parametrize("format", SYNTAXES)
def test_batches_of_any_size_make_one_document(format, rows):
    out = io.BytesIO()
    with jelly.Writer(out, format=format) as writer:
        for batch in jelly.scan(HARD, format="ttl", batch_rows=rows).batches():
            writer.add_batch(batch)
    same(read(HARD, "ttl"), read(out.getvalue(), format))
    if format in ("ttl", "trig", "n3"):
        assert out.getvalue().count(b"@prefix e:") == 1


@pytest.mark.parametrize("format", QUADS)
def test_graphs(format):
    data = b"<a:g> { <a:s> <a:p> 1 } _:g { <a:s> <a:p> 2 , _:g } <a:s> <a:p> 3 . <a:g> { <a:s> <a:p> 4 }"
    for rows in (1, 100):
        out = io.BytesIO()
        with jelly.Writer(out, format=format) as writer:
            for batch in jelly.scan(data, format="trig", batch_rows=rows).batches():
                writer.add_batch(batch)
        same(read(data, "trig"), read(out.getvalue(), format))


@pytest.mark.parametrize("format", SYNTAXES)
def test_nothing(format):
    assert read(convert(b"", format), format) == []


S, P = IRI("http://e/s"), IRI("http://e/p")
DEEPER = QuotedTriple(S, P, QuotedTriple(S, P, Literal("x", language="en-GB")))


@pytest.mark.parametrize("format", ["ttl", "trig", "rdf"])
def test_quoted_triples_as_objects(format):
    out = io.BytesIO()
    statements = [Triple(S, P, DEEPER), Triple(S, P, Literal("y", language="ar-EG", direction="rtl"))]
    jelly.write(out, statements, format=format)
    same(statements, read(out.getvalue(), format))


def test_pyoxigraph_reads_the_text_of_quoted_triples():
    quad = Quad(S, P, DEEPER, S)
    out = io.BytesIO()
    jelly.write(out, [quad], format="nq")
    assert [str(found) for found in ox.parse(out.getvalue(), ox.RdfFormat.N_QUADS)] == [
        str(found) for found in jelly.oxigraph.read(jelly.dumps([quad]))
    ]
    for subject in (DEEPER, QuotedTriple(DEEPER, P, S)):
        data = jelly.dumps([Triple(S, P, S), Triple(subject, P, S)])
        with pytest.raises(jelly.JellyUnsupportedError, match="quoted triples as objects only") as caught:
            list(jelly.oxigraph.read(data))
        assert caught.value.row == 1
        with pytest.raises(jelly.JellyUnsupportedError, match="subject"):
            jelly.oxigraph.load(ox.Store(), data)


@pytest.mark.parametrize(
    ("formats", "terms", "match"),
    [
        (("ttl", "trig", "rdf"), (DEEPER, P, S), "quoted triples as objects only"),
        (("jsonld", "n3"), (S, P, DEEPER), "cannot hold quoted triples"),
        (SYNTAXES, (Literal("x"), P, S), "cannot hold the literal 'x', here as subject"),
        (SYNTAXES, (S, BlankNode("b"), S), "cannot hold the blank node 'b', here as predicate"),
        (SYNTAXES, (S, P, IRI("a:o> <a:p> <a:q")), "cannot hold the IRI <a:o> <a:p> <a:q>.*RFC 3987"),
        (("rdf",), (S, IRI("http://e/123"), S), "<http://e/123>"),
        (("rdf",), (S, P, Literal("\x01")), r"U\+0001"),
        (("rdf",), (S, P, Literal("\uffff")), r"U\+FFFF"),
        (("rdf",), (S, IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#li"), S), "reserved"),
    ],
)
def test_what_a_syntax_cannot_hold(formats, terms, match, tmp_path):
    for format in formats:
        path = tmp_path / f"x.{format}"
        with pytest.raises(jelly.JellyUnsupportedError, match=match):
            jelly.write(path, [terms])
        assert not list(tmp_path.iterdir())


def test_named_graphs_do_not_go_into_triples():
    for format in TRIPLES:
        with pytest.raises(jelly.JellyUnsupportedError, match="no named graphs, such as the IRI <a:g>"):
            convert(b"<a:g> { <a:s> <a:p> <a:o> }", format, "trig")


def test_prefixes_that_a_syntax_cannot_have_are_left_out():
    for format in SYNTAXES:
        out = io.BytesIO()
        with jelly.Writer(out, format=format) as writer:
            prefixes = {"a b": "http://x/", "r": "no iri", "rdf": "http://x/", "g": "http://e/12", "": "http://e/"}
            for name, iri in prefixes.items():
                writer.namespace(name, iri)
            statements = [Triple(S, P, S), Triple(S, IRI(read(b"[] a 5 .", "ttl")[0].p.value), IRI("http://e/12"))]
            writer.extend(statements)
        same(statements, read(out.getvalue(), format))


# ---- the terms of pyoxigraph


def test_read_and_write_terms(tmp_path):
    quads = list(ox.parse(convert(HARD, "nq"), ox.RdfFormat.N_QUADS))
    for suffix in ("jelly", "nq.gz", "trig", "jsonld"):
        path = tmp_path / f"x.{suffix}"
        assert jelly.oxigraph.write(path, quads) == len(quads)
        assert set(jelly.oxigraph.read(path)) == set(quads)
    triples = [quad.triple for quad in quads]
    for suffix in ("jelly", "nt", "ttl.zst", "rdf"):
        path = tmp_path / f"x.{suffix}"
        assert jelly.oxigraph.write(path, triples) == len(quads)
        if suffix != "rdf":  # where labels of blank nodes become names
            assert set(jelly.oxigraph.read(path)) == set(triples)
    assert jelly.oxigraph.write(tmp_path / "empty.jelly", []) == 0
    assert list(jelly.oxigraph.read(tmp_path / "empty.jelly")) == []


def test_stream_options_may_be_some_fields():
    quads = list(ox.parse(b"<a:s> <a:p> <a:o> .", ox.RdfFormat.TURTLE))
    for options in ({"version": 3, "stream_name": "n"}, jelly.StreamOptions(version=3, stream_name="n")):
        out = io.BytesIO()
        assert jelly.oxigraph.write(out, quads, options) == 1
        found = jelly.read_options(out.getvalue())
        assert (found.version, found.stream_name) == (3, "n")


def test_terms_that_one_side_does_not_have():
    subject, predicate = ox.NamedNode("a:s"), ox.NamedNode("a:p")
    quoted = ox.Triple(subject, predicate, ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL))
    triple = ox.Triple(subject, predicate, quoted)
    out = io.BytesIO()
    assert jelly.oxigraph.write(out, [triple]) == 1
    assert list(jelly.oxigraph.read(out.getvalue())) == [triple]
    for statement in (Triple(DEEPER, P, S), Triple(Literal("x"), P, S), Quad(S, P, S, Literal("g"))):
        data = jelly.dumps([statement], jelly.StreamOptions(rdf_star=True, generalized_statements=True))
        with pytest.raises(jelly.JellyUnsupportedError):
            list(jelly.oxigraph.read(data))
    quad = ox.Quad(subject, predicate, quoted.object, ox.NamedNode("a:g"))
    for statements in ([triple, quad], [quad, triple], [triple, 5], ["x"]):
        with pytest.raises(TypeError, match="expected one more"):
            jelly.oxigraph.write(io.BytesIO(), statements)


def test_missing_files_show_at_the_call(tmp_path):
    for rename in (False, True):
        with pytest.raises(FileNotFoundError):
            jelly.oxigraph.read(tmp_path / "no.jelly", rename_blank_nodes=rename)


@pytest.mark.parametrize("rows", [1, 2, 8192])
def test_blank_nodes_are_renamed(rows):
    data = b'_:a <a:p> _:b .\n_:b <a:p> <<( _:a <a:p> "_:a" )>> .\n_:a <a:p> <a:o> .\n'
    plain = list(jelly.oxigraph.read(data, format="nt"))
    found = [
        list(jelly.oxigraph.read(data, format="nt", rename_blank_nodes=True, batch_rows=rows)) for _ in range(2)
    ]
    for statements in found:
        assert [type(statement) for statement in statements] == [ox.Triple] * 3
        a, b = statements[0].subject, statements[0].object
        assert [statements[1].subject, statements[1].object.subject, statements[2].subject] == [b, a, a]
        assert str(statements[1].object.object) == '"_:a"'
        assert {a, b}.isdisjoint({plain[0].subject, plain[0].object})
        assert ox.Dataset(ox.Quad(*x) for x in statements) != ox.Dataset(ox.Quad(*x) for x in plain)
    assert found[0][0].subject != found[1][0].subject
    assert plain[0].subject == ox.BlankNode("a")


def test_named_graphs_are_refused():
    data = jelly.dumps([Quad(S, P, S), Quad(S, P, S, P)])
    assert len(list(jelly.oxigraph.read(data))) == 2
    quads = jelly.oxigraph.read(data, without_named_graphs=True, batch_rows=1)
    assert type(next(quads)) is ox.Quad
    with pytest.raises(jelly.JellyUnsupportedError, match=r"[Nn]amed graphs?") as caught:
        next(quads)
    assert caught.value.row == 1
    with pytest.raises(jelly.JellyTruncatedError):
        list(jelly.oxigraph.read(data[:-1], rename_blank_nodes=True))


def test_load():
    store = ox.Store()
    data = b'_:a <a:p> << <a:s> <a:p> "x" >> .\n_:a <a:p> _:a .\n'
    assert jelly.oxigraph.load(store, data, format="nt") == 2
    assert len({quad.subject for quad in store}) == 1
    # Blank nodes of another file are other nodes, also where the labels are the same.
    jelly.oxigraph.load(store, data, format="nt", to_graph=ox.NamedNode("a:g"))
    assert len({quad.subject for quad in store}) == 2
    assert len(list(store.quads_for_pattern(None, None, None, ox.NamedNode("a:g")))) == 2
    jelly.oxigraph.load(store, convert(b"<a:h> { <a:s> <a:p> 1 }", "jelly", "trig"))
    assert set(store.named_graphs()) == {ox.NamedNode("a:g"), ox.NamedNode("a:h")}
    with pytest.raises(jelly.JellyError, match="to_graph"):
        jelly.oxigraph.load(store, b"<a:s> <a:p> <a:o> .", format="nq", to_graph=ox.NamedNode("a:g"))
    with pytest.raises(jelly.JellyUnsupportedError, match="subject"):
        jelly.oxigraph.load(store, b'"x" <a:p> <a:o> .', format="nt")
    with pytest.raises(jelly.JellyTruncatedError):
        jelly.oxigraph.load(store, b"<a:s> <a:p>", format="nt")


# ---- formats


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("ttl", ["x.ttl", "x.turtle.gz", "text/turtle; charset=utf-8", "ttl", ".ttl"]),
        ("trig", ["x.trig", "x.TRIG.zst", "application/trig"]),
        ("rdf", ["x.rdf", "x.owl.bz2", "x.xml", "application/rdf+xml", "rdf"]),
        ("jsonld", ["x.jsonld", "application/ld+json"]),
        ("n3", ["x.n3.xz", "text/n3"]),
    ],
)
def test_formats_have_names(name, names):
    for given_name in names:
        found = find(None, given_name) if given_name.startswith("x.") else find(given_name)
        assert found is FORMATS[name]


def test_the_command(tmp_path):
    def invoke(*arguments, code=0):
        done = CliRunner().invoke(cli, [str(argument) for argument in arguments])
        assert done.exit_code == code, done.output
        return done.output

    (tmp_path / "a.ttl").write_bytes(b"@prefix e: <http://e/> . e:s e:p <o> .\n@prefix f: <http://f/> . f:s f:p 5 .")
    source = tmp_path / "a.ttl"
    invoke("convert", "-q", source, tmp_path / "a.rdf.gz", "--base", "http://b/")
    invoke("convert", "-q", tmp_path / "a.rdf.gz", tmp_path / "b.jelly")
    invoke("convert", "-q", tmp_path / "b.jelly", tmp_path / "c.jsonld")
    assert b"http://b/o" in (tmp_path / "c.jsonld").read_bytes()
    assert "@prefix e: <http://e/>" in invoke("cat", "--to", "ttl", tmp_path / "b.jelly")
    assert invoke("count", tmp_path / "a.rdf.gz").startswith("2\t")
    assert "line 1" in invoke("convert", source, tmp_path / "d.nt", code=1)
    assert "--base does not go with" in invoke("convert", "--base", "a:", tmp_path / "b.jelly", "-", code=2)
    assert not (tmp_path / "d.nt").exists()
    (tmp_path / "late.ttl").write_bytes(b"<a:s> <a:p> 5 . " * 20000 + b"@prefix f: <http://f/> . f:s f:p 5 .")
    invoke("cat", "--to", "jelly", tmp_path / "late.ttl")


def test_without_pyoxigraph(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    monkeypatch.delitem(sys.modules, "jelly._formats.syntaxes")
    registry._module.cache_clear()
    for call in (lambda: jelly.read(tmp_path / "a.ttl"), lambda: jelly.write(tmp_path / "b.rdf", [Triple(S, P, S)])):
        (tmp_path / "a.ttl").write_bytes(b"")
        with pytest.raises(jelly.MissingExtraError, match=r"jelly-rdf\[oxigraph\]"):
            call()
        assert [path.name for path in tmp_path.iterdir()] == ["a.ttl"]


# ---- in bulk

WORK = """
import jelly.oxigraph

LINE = b'<http://e/s%d> <http://e/p> "x"@en-GB , _:b%d .\\n'

class Drop:
    def write(self, data):
        return len(data)

def work(n):
    for format in ("trig", "rdf", "jsonld"):
        chunks = (b"".join(LINE % (i, i) for i in range(k, k + 1000)) for k in range(0, n, 1000))
        assert jelly.convert(chunks, Drop(), format="ttl", to=format).statements == 2 * n
"""


@pytest.mark.leaks
@pytest.mark.skipif(SANITIZED, reason="the sanitizers have memory of their own")
@pytest.mark.bounded
def test_memory_stays_flat():
    # 4 MB of Turtle are read three times; written they are 50 MB.
    assert growth(f"{WORK}\nwork(30_000)", "work(80_000)") < 12 << 20


@pytest.mark.parametrize(
    ("name", "formats"),
    [
        ("schemaorg/schemaorg-all-https.nq.gz", QUADS),
        ("cell-ontology/cl-eye-slim.nt.gz", SYNTAXES),
        ("dbpedia-ontology/dbpedia-ontology.nt.gz", ("ttl", "rdf")),
        ("dbpedia-abstracts/long-abstracts-10k.nt.gz", ("ttl", "jsonld")),
    ],
)
def test_real_data(name, formats):
    """The first statements of each file, and all of them with JELLY_LONG=1."""
    text = convert(shared("data", *name.split("/")), "nq", None)
    text = text if LONG else b"".join(text.splitlines(keepends=True)[:10_000])
    lines = sorted(text.splitlines())
    for format in formats:
        there = convert(text, format, "nq")
        assert sorted(convert(there, "nq", format).splitlines()) == lines, format
