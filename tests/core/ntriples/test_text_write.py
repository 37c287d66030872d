"""core/textwrite: Batches to N-Triples and N-Quads, and round trips."""

import gc
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textcase import BNODE, IRI, LANG, LITERAL, TRIPLE, TYPED, XSD, iri, read, rows, write

from jelly._core.base.characters import _find_escape, _find_label_end, _is_plain
from jelly._core.ntriples.text import TextWriter
from jelly.errors import JellyUnsupportedError


def test_canonical_form():
    data = (
        b"<a:s>\t<a:p><a:o>.#x\n_:a <a:p> \"o\"@en-GB.\n<a:s> <a:p> \"\\u0061\\'\"^^<a:t>.\n"
        b"<< <a:s> <a:p> \"o\">> <a:p> <<( <a:s><a:p><a:o>)>> .\n"
    )
    assert write(read(data)) == (
        b"<a:s> <a:p> <a:o> .\n_:a <a:p> \"o\"@en-GB .\n<a:s> <a:p> \"a'\"^^<a:t> .\n"
        b"<< <a:s> <a:p> \"o\" >> <a:p> <<( <a:s> <a:p> <a:o> )>> .\n"
    )
    quads = read(b"<a:s> <a:p> <a:o> <a:g> .\n<a:s> <a:p> <a:o> .\n", True)
    assert write(quads, True) == b"<a:s> <a:p> <a:o> <a:g> .\n<a:s> <a:p> <a:o> .\n"


QUOTED = (
    # The same triples in both places, so that the length of a term is one in the other's place too.
    b"<< <a:s> <a:p> <<( <a:x> <a:y> \"z\" )>> >> <a:p> <<( <a:s> <a:p> <<( <a:x> <a:y> \"z\" )>> )>> .\n"
    b"<< <a:x> <a:y> \"z\" >> <a:p> <<( <a:x> <a:y> \"z\" )>> .\n"
    b"<< << <a:x> <a:y> \"z\" >> <a:p> <a:o> >> <a:p> <<( << <a:x> <a:y> \"z\" >> <a:p> <a:o> )>> .\n"
    b"<a:s> << <a:x> <a:y> \"z\" >> <<( <a:x> <a:y> \"z\" )>> << <a:x> <a:y> \"z\" >> .\n"
)
STAR = QUOTED.replace(b"<<(", b"<<").replace(b")>>", b">>")


def test_quoted_triples_by_their_place():
    for text in (QUOTED, STAR):
        batches = read(text, True)
        assert write(batches, True) == QUOTED
        assert b"".join(TextWriter(True, quoted="rdf-star").encode(batch) for batch in batches) == STAR
        assert b"".join(part for batch in batches for part in TextWriter(True).chunks(batch, 1)) == QUOTED
        assert [b"".join(TextWriter(True).frames(batch)) for batch in batches] == [QUOTED]
    with pytest.raises(ValueError, match="rdf-star"):
        TextWriter(True, quoted="star")


def test_terms_as_text_are_as_written():
    jelly = pytest.importorskip("jelly")
    statements = list(jelly.read(QUOTED, format="nq"))
    assert "".join(f"{statement}\n" for statement in statements).encode() == QUOTED
    assert str(statements[1].s) == str(statements[1].o) == '<<( <a:x> <a:y> "z" )>>'


def test_written_escapes():
    for point in [*range(0x100), 0xD7FF, 0xE000, 0xFFFD, 0x10000, 0x10FFFF]:
        c = chr(point)
        short = {"\t": "\\t", "\b": "\\b", "\n": "\\n", "\r": "\\r", "\f": "\\f", '"': '\\"', "\\": "\\\\"}
        literal = short.get(c) or (f"\\u{point:04X}" if point < 0x20 or point == 0x7F else c)
        resource = f"\\u{point:04X}" if point <= 0x20 or c in '<>"{}|^`\\' else c
        for before, after in (("", ""), ("x" * 9, ""), ("", "x" * 9), ("x" * 3, "x" * 12), ("!~" * 5, "~!" * 4)):
            text = f'<{before}\\U{point:08X}{after}> <a:p> "{before}\\U{point:08X}{after}" .'
            wanted = f'<{before}{resource}{after}> <a:p> "{before}{literal}{after}" .\n'
            assert write(read(text.encode())) == wanted.encode()


@pytest.mark.parametrize("point", [0xFFFE, 0xFFFF, 0xFDD0, 0x1FFFE, 0x10FFFF])
def test_noncharacters_are_read_back(point):
    """They stay as they are; only the canonical form, which `canonicalize` writes, escapes U+FFFE and U+FFFF."""
    jelly = pytest.importorskip("jelly")
    data = f'<a:s> <a:p> "a{chr(point)}b" .\n'.encode()
    assert write(read(data)) == data
    for strict in (False, True):
        [statement] = jelly.read(data, format="nt", strict=strict)
        assert statement.o.value == f"a{chr(point)}b"
    oxigraph = pytest.importorskip("pyoxigraph")
    [quad] = oxigraph.parse(data, oxigraph.RdfFormat.N_TRIPLES)
    assert quad.object.value == f"a{chr(point)}b"


@given(st.text(), st.booleans())
def test_find_escape(text, is_iri):
    pattern = re.compile(r'[\x00-\x20<>"{}|^`\\]' if is_iri else r'[\x00-\x1f\x7f"\\]')
    data = text.encode()
    found = pattern.search(text)
    assert _find_escape(data, is_iri) == (len(text[:found.start()].encode()) if found else len(data))


@pytest.mark.parametrize("is_iri", [False, True])
def test_plain_texts(is_iri):
    """Every byte in every place of texts of every length up to those that are read by sixteen bytes."""
    pattern = re.compile(rb'[\x00-\x20<>"{}|^`\\]' if is_iri else rb'[\x00-\x1f\x7f"\\]')
    for length in range(34):
        for place in range(length):
            for byte in range(256):
                data = (b"x" * place + bytes([byte]) + b"\xc3\xa9/" * length)[:length]
                plain = pattern.search(data) is None
                # Some letters that IRIs seldom have may be taken for others.
                assert _is_plain(data, is_iri) == plain or (is_iri and plain and byte in b"!~\x7f")


def test_ends_of_labels():
    for colon in (False, True):
        pattern = re.compile(rb"[A-Za-z0-9_:]([A-Za-z0-9_:.-]*[A-Za-z0-9_:-])?".replace(b":", b":" if colon else b""))
        for length in range(1, 18):
            for place in range(length):
                for byte in range(0x80):
                    data = b"Az09_" * 4
                    data = data[:place] + bytes([byte]) + data[:length - place - 1]
                    found = pattern.match(data)
                    assert _find_label_end(data, colon) == (found.end() if found else 0), data


def test_graphs_and_arity():
    named = read(b"<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:o> <a:g> .\n", True)
    with pytest.raises(JellyUnsupportedError, match="no named graphs, such as the IRI <a:g>; use N-Quads") as caught:
        write(named)
    assert caught.value.row == 1
    assert write(read(b"<a:s> <a:p> <a:o> .\n", True)) == b"<a:s> <a:p> <a:o> .\n"
    assert write(read(b"<a:s> <a:p> <a:o> .\n"), True) == b"<a:s> <a:p> <a:o> .\n"


def test_terms_are_written_again():
    """Terms of each length that come again at once, later, in another part and at the end of one."""
    terms = [
        one for n in range(40) for one in (f"<a:{'x' * n}>", f'"{"é" * n}\\n"@en', f'"{"1" * n}"^^<a:t>', f"_:b{n}")
    ]
    lines = [f"<a:s> <a:p> {one} <a:g> .\n".encode() for one in terms for _ in range(3)] * 2
    (batch,) = read(b"".join(lines), True)
    for size in (1, 60, 200, 1000, 1 << 20):
        assert b"".join(TextWriter(True).chunks(batch, size)) == b"".join(lines)


def test_writer_chunks():
    data = b"".join(b"<a:%d> <a:p> \"%d\" .\n" % (i, i) for i in range(1000))
    (batch,) = read(data)
    for size in (1, 100, 1 << 20):
        parts = list(TextWriter(False).chunks(batch, size))
        assert b"".join(parts) == data
        assert all(part.endswith(b" .\n") for part in parts)
        assert all(len(part) < size + 30 for part in parts)
    with pytest.raises(ValueError, match="size"):
        next(TextWriter(False).chunks(batch, 0))
    stopped = TextWriter(False).chunks(batch, 1)
    next(stopped)
    del stopped
    gc.collect()


def test_writer_refuses_what_no_reader_would_read():
    jelly = pytest.importorskip("jelly")
    s, p = jelly.IRI("a:s"), jelly.IRI("a:p")
    for label, instead in (
        ("a b", "esc_a_20b"), ("", "esc_"), ("a.", "esc_a_2e"), ("-a", "esc__2da"), ("a> <b", "esc_a_3e_20_3cb"),
        ("a\n", "esc_a_0a"), ("esc_a_20b", "esc_esc_5fa_5f20b"), ("esc_", "esc_esc_5f"), ("esc_a", "esc_a"),
    ):  # fmt: skip
        (batch,) = jelly.scan(jelly.dumps([jelly.Triple(s, p, jelly.BlankNode(label))])).batches()
        assert write([batch]) == f"<a:s> <a:p> _:{instead} .\n".encode()
        if instead != label:
            with pytest.raises(JellyUnsupportedError, match="cannot hold the label of the blank node") as caught:
                TextWriter(False, keep_labels=True).encode(batch)
            assert caught.value.row == 0
    for tag in ("e n", "en\n", "en_US", 'en" .'):
        data = jelly.dumps([jelly.Triple(s, p, jelly.Literal("o", language=tag))])
        with pytest.raises(JellyUnsupportedError, match="language tag"):
            write(jelly.scan(data).batches())


# Round trips.

characters = st.one_of(
    st.characters(exclude_categories=("Cs",)), st.sampled_from("\0\t\n\r\x1f\x7f\x80\u2028\ufeff\uffff<>\"\\{}|^`' .@#")
)
texts = st.text(characters, max_size=20)
labels = st.from_regex(r"\A[A-Za-z0-9_\u00c0-\u00d6]([A-Za-z0-9_\-.\u00b7]{0,6}[A-Za-z0-9_\-])?\Z")
tags = st.from_regex(r"\A[a-zA-Z]{1,4}(-[a-zA-Z0-9]{1,3}){0,2}(--ltr)?\Z")
iris = st.builds(iri, texts)
literals = st.one_of(
    st.tuples(st.just(LITERAL), texts),
    st.tuples(st.just(LANG), texts, tags),
    st.tuples(st.just(TYPED), texts, texts.filter(lambda text: text != f"{XSD}string")),
)
terms = st.recursive(
    st.one_of(iris, st.tuples(st.just(BNODE), labels), literals),
    lambda inner: st.tuples(st.just(TRIPLE), inner, inner, inner),
    max_leaves=6,
)


def syntax(term, style):
    """A term as text; `style` gives characters in one of the ways that the grammar allows."""
    if term[0] == TRIPLE:
        return "<< {} {} {} >>".format(*(syntax(part, style) for part in term[1:]))
    if term[0] == BNODE:
        return f"_:{term[1]}"
    text = "".join(escaped(c, term[0] == IRI, next(style)) for c in term[1])
    if term[0] == IRI:
        return f"<{text}>"
    if term[0] == LANG:
        return f'"{text}"@{term[2]}'
    if term[0] == TYPED:
        return f'"{text}"^^{syntax(iri(term[2]), style)}'
    return f'"{text}"'


def escaped(c, is_iri, style):
    must = c in ">\n\r\\<" if is_iri else c in '"\n\r\\'
    if style == 0 and not must:
        return c
    return f"\\u{ord(c):04x}" if ord(c) < 0x10000 and style < 2 else f"\\U{ord(c):08X}"


@given(st.lists(st.tuples(terms, terms, terms, st.none() | terms), max_size=5), st.lists(st.integers(0, 2), min_size=1))
def test_round_trip(statements, styles):
    style = itertools.cycle(styles)
    text = "".join(
        " ".join(syntax(term, style) for term in statement if term is not None) + " .\n" for statement in statements
    )
    batches = read(text.encode(), True)
    assert rows(batches) == statements
    again = write(batches, True)
    assert rows(read(again, True)) == statements
    assert write(read(again, True), True) == again
