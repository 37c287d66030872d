"""core/textread: N-Triples and N-Quads to Batches; syntax, errors, chunks."""

import pickle
import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textcase import BNODE, LANG, LITERAL, TRIPLE, TYPED, XSD, G, O, P, S, iri, one, read, rows, write

from jelly._core.ntriples.text import TextReader, TextWriter
from jelly.errors import JellyError, JellyFormatError, JellyLimitError, JellySyntaxError, JellyTruncatedError

# Syntax.


def test_plain_statements():
    assert one("<a:s> <a:p> <a:o> .\n") == (S, P, O)
    assert one("_:a <a:p> _:b .") == ((BNODE, "a"), P, (BNODE, "b"))
    assert one('<a:s> <a:p> "o" .') == (S, P, (LITERAL, "o"))
    assert one('<a:s> <a:p> "o"@en-GB .') == (S, P, (LANG, "o", "en-GB"))
    assert one('<a:s> <a:p> "1"^^<a:t> .') == (S, P, (TYPED, "1", "a:t"))
    assert one("<a:s> <a:p> <a:o> <a:g> .", True) == (S, P, O, G)
    assert one("<a:s> <a:p> <a:o> _:g .", True) == (S, P, O, (BNODE, "g"))
    assert one("<a:s> <a:p> <a:o> .", True) == (S, P, O, None)


def test_arity_and_numbers():
    reader = TextReader(quads=True)
    (batch,) = reader.feed(b"<a:s> <a:p> <a:o> .\n# no statement\n\n<a:s> <a:p> <a:o> <a:g> .\n")
    assert batch.arity == 4
    assert batch.g.tolist() == [-1, int(batch.g[1])]
    assert (reader.line, reader.statements, reader.bytes_read) == (4, 2, 62)
    assert batch.first_row == 0
    (batch,) = reader.feed(b"<a:s> <a:p> <a:o> .\n")
    assert batch.first_row == 2
    assert list(reader.close()) == []
    assert read(b"<a:s> <a:p> <a:o> .")[0].arity == 3


def test_xsd_string_is_plain():
    plain = (S, P, (LITERAL, "o"))
    assert one(f'<a:s> <a:p> "o"^^<{XSD}string> .') == plain
    assert one(f'<a:s> <a:p> "o"^^<{XSD}str\\u0069ng> .') == plain
    line = f'<a:s> <a:p> "o"^^<{XSD}string> .\n'
    assert rows(read((line * 3).encode())) == [plain] * 3
    assert one(f'<a:s> <a:p> "o"^^<{XSD}strinG> .') == (S, P, (TYPED, "o", f"{XSD}strinG"))


@pytest.mark.parametrize("strict", [False, True])
def test_white_space(strict):
    for text in (
        '<a:s><a:p>"o"@en.',
        '<a:s>\t<a:p>\t"o"@en\t.\t',
        '  <a:s>  <a:p>  "o"  @en  .  # comment',
        '<a:s> <a:p> "o"@en.#comment',
    ):
        assert one(text, strict=strict) == (S, P, (LANG, "o", "en"))
    assert one("_:a<a:p>_:b.", strict=strict) == ((BNODE, "a"), P, (BNODE, "b"))
    assert one('<a:s><a:p>"1"^^<a:t>.', strict=strict) == (S, P, (TYPED, "1", "a:t"))
    assert one('<a:s> <a:p> "1" \t^^ \t<a:t> .', strict=strict) == (S, P, (TYPED, "1", "a:t"))
    assert one('<a:s><a:p>"o"<a:g>.', True, strict=strict) == (S, P, (LITERAL, "o"), G)
    assert one("_:a<a:p>_:b_:c.", True) == ((BNODE, "a"), P, (BNODE, "b_:c"), None)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n", b"\n\r", b"\n\n", b"\r\r\n\n"])
def test_line_ends(end):
    lines = [b"<a:s> <a:p> <a:o> .", b"# comment", b"", b"  ", b"\t# comment", b"<a:s> <a:p> <a:p> . # comment"]
    wanted = [(S, P, O), (S, P, P)]
    assert rows(read(end.join(lines))) == wanted
    assert rows(read(end.join(lines) + end)) == wanted
    assert rows(read(end + end.join(lines) + end, strict=True)) == wanted


def test_lines_are_counted():
    for end, n in ((b"\n", 4), (b"\r", 4), (b"\r\n", 4), (b"\n\r", 7)):
        for size in (1, 2, 100):
            reader = TextReader(quads=False)
            data = end.join([b"<a:s> <a:p> <a:o> .", b"", b"# x", b"<a:s> <a:p> <a:o> ."]) + end
            for at in range(0, len(data), size):
                list(reader.feed(data[at:at + size]))
            list(reader.close())
            assert reader.line == n, (end, size)


def test_nothing():
    for data in (b"", b"\n", b"# only a comment", b" ", b"\r\n\r\n"):
        assert read(data) == []
    assert list(TextReader(quads=False).close()) == []


@pytest.mark.parametrize("strict", [False, True])
def test_escapes(strict):
    text = r'<a:\u0073> <a:\U00000070> "\t\b\n\r\f\"\'\\ \u00e9\U0001F600 \u0000" .'
    assert one(text, strict=strict) == (S, P, (LITERAL, "\t\b\n\r\f\"'\\ \u00e9\U0001f600 \0"))
    assert one(r'<a:s> <a:p> "\u0061"^^<a:\u0074> .', strict=strict) == (S, P, (TYPED, "a", "a:t"))
    for point in (0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF):
        assert one(f'<a:s> <a:p> "\\U{point:08x}" .', strict=strict)[2] == (LITERAL, chr(point))


def test_long_texts_with_escapes_at_every_place():
    for n in (7, 8, 9, 23, 700):
        for at in range(0, n, 1 if n < 100 else 97):
            text = "x" * at + "\\u00E9" + "y" * (n - at)
            wanted = text.replace("\\u00E9", "\u00e9")
            assert one(f'<a:{text}> <a:p> "{text}" .') == (iri("a:" + wanted), P, (LITERAL, wanted))


def test_utf8():
    text = "\u00e9 \u4e2d\u6587 \U0001f600"
    assert one(f'<a:{text}> <a:p> "{text}"@en .') == (iri("a:" + text), P, (LANG, text, "en"))
    assert one(f'<a:s> <a:p> "{text}" . # {text}')[2] == (LITERAL, text)


def test_labels():
    good = ["a", "0", "_", "a.b", "a..b", "a-b", "a.-", "\u00c0", "a\u00b7", "a\u0300", "a\u203f", "\U00010000"]
    for label in good:
        for after in (" .", ".", "\t."):
            for strict in (False, True):
                assert one(f"<a:s> <a:p> _:{label}{after}", strict=strict)[2] == (BNODE, label), (label, after)
    wrong = ["", "-", ".", ".a", "\u00d7", "\u00b7a", "\u0300", "\u037e", "\u2000", "\u3000", "\ufffe", "\U000f0000"]
    for label in wrong:
        with pytest.raises(JellySyntaxError, match="blank node label"):
            read(f"<a:s> <a:p> _:{label} .\n".encode())
    # the first text of N-Triples 1.1 had colons in labels
    assert one("<a:s> <a:p> _:a:b .")[2] == (BNODE, "a:b")
    with pytest.raises(JellySyntaxError):
        read(b"<a:s> <a:p> _:a:b .", strict=True)


def test_every_letter_of_labels():
    """PN_CHARS, point by point, against the grammar."""
    base = (
        "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
        "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
    )
    first = re.compile(f"[A-Za-z0-9_{base}]")
    later = re.compile(f"[A-Za-z0-9_{base}\u00b7\u0300-\u036f\u203f-\u2040-]")
    points = [*range(0x21, 0x3100), *range(0xD7F0, 0xD800), *range(0xE000, 0xE010), *range(0xF8F0, 0x10010)]
    points += [*range(0xEFFF0, 0xF0010), 0x10FFFF]
    for point in points:
        c = chr(point)
        if c in ".:":
            continue
        reader = TextReader(quads=False, on_error="skip", strict=True)
        assert bool([*reader.feed(f"_:{c} <a:p> <a:o> .\n".encode())]) == bool(first.match(c)), hex(point)
        # what cannot go on with the label must be the next term, and that is no letter's doing
        if c not in '<"#':
            assert bool([*reader.feed(f"_:a{c} <a:p> <a:o> .\n".encode())]) == bool(later.match(c)), hex(point)


def test_language_tags():
    for tag in ("en", "EN-gb", "de-1996", "x-1-2-abc"):
        for strict in (False, True):
            assert one(f'<a:s> <a:p> "o"@{tag} .', strict=strict)[2] == (LANG, "o", tag)
            assert one(f'<a:s> <a:p> "o"@{tag}.', strict=strict)[2] == (LANG, "o", tag)
    for tag in ("en--ltr", "1", "en-", "-", "e1"):
        assert one(f'<a:s> <a:p> "o"@{tag} .')[2] == (LANG, "o", tag)
        expected = r"column 19: a base direction as object is not RDF 1\.1" if tag == "en--ltr" else "language tag"
        with pytest.raises(JellySyntaxError, match=expected):
            read(f'<a:s> <a:p> "o"@{tag} .\n'.encode(), strict=True)
    with pytest.raises(JellySyntaxError, match="language tag after '@', found ' '"):
        read(b'<a:s> <a:p> "o"@ .\n')


def test_quoted_triples():
    quoted = (TRIPLE, S, P, (LANG, "o", "en"))
    for inner in (
        '<< <a:s> <a:p> "o"@en >>', '<<<a:s><a:p>"o"@en>>', '<<( <a:s> <a:p> "o"@en )>>', '<<(<a:s><a:p>"o"@en)>>',
    ):
        assert one(f"{inner} <a:p> <a:o> .") == (quoted, P, O)
        assert one(f"<a:s> {inner} <a:o> .") == (S, quoted, O)
        assert one(f"<a:s> <a:p> {inner} .") == (S, P, quoted)
        assert one(f"<a:s><a:p><a:o>{inner}.", True) == (S, P, O, quoted)
        for slot, text in (
            ("subject", f"{inner} <a:p> <a:o> ."),
            ("predicate", f"<a:s> {inner} <a:o> ."),
            ("object", f"<a:s> <a:p> {inner} ."),
        ):
            with pytest.raises(JellySyntaxError, match=f"quoted triple as {slot} is not RDF 1.1"):
                read(text.encode(), strict=True)
    nested = "<< << <a:s> <a:p> <a:o> >> << <a:s> <a:p> <a:o> >> << <a:s> <a:p> <a:o> >> >>"
    inner = (TRIPLE, S, P, O)
    assert one(f"{nested} <a:p> <a:o> .") == ((TRIPLE, inner, inner, inner), P, O)


def test_quoted_depth():
    def nested(n):
        return b"<< " * n + b"<a:s>" + b" <a:p> <a:o> >>" * n + b" <a:p> <a:o> .\n"

    row = one(nested(64))
    for _ in range(64):
        row = row[0] if len(row) == 3 else row[1]
    assert write(read(nested(64))) == nested(64)
    for n in (65, 66, 1000, 100_000):
        with pytest.raises(JellyLimitError, match="nested deeper than 64"):
            read(nested(n))


def test_generalized():
    literal = (LITERAL, "l")
    assert one('"l" <a:p> <a:o> .') == (literal, P, O)
    assert one('<a:s> "l" <a:o> .') == (S, literal, O)
    assert one("<a:s> _:b <a:o> .") == (S, (BNODE, "b"), O)
    assert one('<a:s> <a:p> <a:o> "l"@en .', True) == (S, P, O, (LANG, "l", "en"))
    for text, message in (
        ('"l" <a:p> <a:o> .', "a literal as subject is not RDF 1.1"),
        ('<a:s> "l" <a:o> .', "a literal as predicate"),
        ("<a:s> _:b <a:o> .", "a blank node as predicate"),
        ('<a:s> <a:p> <a:o> "l" .', "a literal as graph"),
    ):
        with pytest.raises(JellySyntaxError, match=message):
            read(text.encode(), True, strict=True)


def test_lenient_iris():
    for text in ("", "relative", "/a/b", "#x", "a b", 'a"b', "a{b}|^`c", "a\\b", "http://x/<y", "\t", "a\u00a0b"):
        assert one(f"<{text}> <a:p> <a:o> .")[0] == iri(text), text
    assert one(r"<a\u003Eb\u000Ac> <a:p> <a:o> .")[0] == iri("a>b\nc")
    assert one("<a<b> <a:p> <a:o> .")[0] == iri("a<b")


RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


@pytest.mark.parametrize(
    ("literal", "column", "what"),
    [
        (f'"x"^^<{RDF}langString>', 18, "langString .* without a language tag"),
        (f'"x"^^<{RDF}dirLangString>', 18, "langString .* without a language tag"),
        (f'"x"^^<{RDF[:-1]}\\u0023langString>', 18, "langString .* without a language tag"),
        ('"x"@abcdefghi', 17, "more than 8 characters"),
        ('"x"@de-abcdefghi-at', 20, "more than 8 characters"),
        ('"x"@de-at-123456789', 23, "more than 8 characters"),
    ],
)
def test_literals_that_strict_refuses(literal, column, what):
    text = f"<a:s> <a:p> {literal} .\n".encode()
    assert len(read(text)[0]) == 1
    with pytest.raises(JellySyntaxError, match=f"column {column}: a .*{what} as object is not RDF 1.1") as caught:
        read(text, strict=True)
    assert (caught.value.line, caught.value.column, caught.value.offset) == (1, column, column - 1)


def test_literals_that_strict_takes():
    for literal in ('"x"@abcdefgh-12345678-a', f'"x"^^<{RDF}langStrings>', f'"x"^^<{RDF}HTML>', '"x"@en'):
        assert one(f"<a:s> <a:p> {literal} .", strict=True)


def test_the_column_of_an_error():
    with pytest.raises(JellySyntaxError) as caught:
        read("<a:s> <a:p> \U0001f600 .\n".encode())
    error = caught.value
    copy = pickle.loads(pickle.dumps(error))
    for found in (error, copy):
        assert (found.line, found.column, found.offset) == (1, 13, 12)
        assert str(found) == "column 13: expected a term as object, found '\U0001f600' (byte 12, line 1)"
    with pytest.raises(JellyTruncatedError) as caught:
        read(b"<a:s> <a:p>")
    assert caught.value.column == 12
    with pytest.raises(JellyLimitError) as caught:
        read(b"<a:s> " * 100, max_line_bytes=10)
    assert caught.value.column is None
    assert JellyError("x").column is None


def test_strict_iris():
    for text in ("a:", "http://example.org/\u00e9?x=~!#y", "urn:x:y", "a+b-c.1:x", "A:%20", "a:\x7f", r"a:\u00e9"):
        assert one(f"<{text}> <a:p> <a:o> .", strict=True)
    for text in ("", "relative", "/a", "#x", "1a:b", ":a", "a_b:c", "\u00e9:x", "+a:b"):
        with pytest.raises(JellySyntaxError, match="no scheme"):
            read(f"<{text}> <a:p> <a:o> .\n".encode(), strict=True)
    for code in [*range(0x21), *map(ord, '<>"{}|^`\\')]:
        for long in ("", "x" * 20):
            with pytest.raises(JellySyntaxError, match="not allowed in an IRI"):
                read(f"<a:{long}\\u{code:04X}{long}> <a:p> <a:o> .\n".encode(), strict=True)
            if chr(code) not in "\n\r>\\":
                with pytest.raises(JellySyntaxError, match="not allowed in an IRI"):
                    read(f"<a:{long}{chr(code)}{long}> <a:p> <a:o> .\n".encode(), strict=True)
    with pytest.raises(JellySyntaxError, match=r"expected one of u U after the backslash, found 'n'"):
        read(b"<a:\\n> <a:p> <a:o> .\n", strict=True)
    with pytest.raises(JellySyntaxError, match="no scheme"):
        read(b'<a:s> <a:p> "o"^^<t> .\n', strict=True)


def test_version_line_and_bom():
    assert rows(read(b'VERSION "1.2"\n<a:s> <a:p> <a:o> .\n VERSION"1.2-basic" # x\n')) == [(S, P, O)]
    with pytest.raises(JellySyntaxError, match="term as subject, found 'V'"):
        read(b'VERSION "1.2"\n', strict=True)
    with pytest.raises(JellySyntaxError, match="expected VERSION and a string, found '1'"):
        read(b"VERSION 1.2\n")
    with pytest.raises(JellySyntaxError, match="end of the line or a comment"):
        read(b'VERSION "1.2" .\n')
    assert one("\ufeff<a:s> <a:p> <a:o> .") == (S, P, O)
    reader = TextReader(quads=False)
    assert [*reader.feed(b"\xef"), *reader.feed(b"\xbb")] == []
    assert rows(reader.feed(b"\xbf<a:s> <a:p> <a:o> .\n")) == [(S, P, O)]
    with pytest.raises(JellySyntaxError, match="U\\+FEFF"):
        read("\ufeff<a:s> <a:p> <a:o> .".encode(), strict=True)


# Errors.

ERRORS = [
    # text, column, message
    ("<a:s> <a:p> <a:o>", None, "the input ends inside a statement"),
    ("x", 1, "expected a term as subject, found 'x'"),
    ("<a:s> .", 7, "expected a term as predicate, found '.'"),
    ("<a:s> <a:p> .", 13, "expected a term as object, found '.'"),
    ("<a:s> <a:p>", None, "the input ends inside"),
    ("<a:s> <a:p> <a:o> x", 19, "expected '.' at the end of the statement, found 'x'"),
    ("<a:s> <a:p> <a:o> . x", 21, "expected the end of the line or a comment, found 'x'"),
    ("<a:s> <a:p> <a:o> . <a:s> <a:p> <a:o> .", 21, "expected the end of the line or a comment, found '<'"),
    ("<a:s> <a:p> <a:o> <a:g> .", 19, "expected '.' after three terms, found a fourth: this is N-Quads"),
    ("<a:s> <a:p> 'o' .", 13, 'expected a term as object, found "\'"'),
    ("<a:s> <a:p> 1 .", 13, "expected a term as object, found '1'"),
    ("<a:s> <a:p> \u4e2d .", 13, "found '\u4e2d'"),
    ("<a:s> <a:\u4e2d> \x01 .", 13, "found U+0001"),
    ('<a:s> <a:p> "\\x" .', 15, "expected one of t b n r f \" ' \\ u U after the backslash, found 'x'"),
    ('<a:s> <a:p> "\\u12G4" .', 18, "expected 4 hexadecimal digits, found 'G'"),
    ('<a:s> <a:p> "\\U0000123" .', 23, "expected 8 hexadecimal digits, found '\"'"),
    ('<a:s> <a:p> "\\uD800" .', 14, "U+D800 is not a character"),
    ('<a:s> <a:p> "\\uDFFF" .', 14, "U+DFFF is not a character"),
    ('<a:s> <a:p> "\\U00110000" .', 14, "U+110000 is not a character"),
    ('<a:s> <a:p> "\\UFFFFFFFF" .', 14, "U+FFFFFFFF is not a character"),
    ("<a:\\uD83D\\uDE00> <a:p> <a:o> .", 4, "U+D83D is not a character"),
    ('<a:s> <a:p> "o"^<a:t> .', 17, "expected '^^' and the IRI of a datatype, found '<'"),
    ('<a:s> <a:p> "o"^^ .', 19, "expected '^^' and the IRI of a datatype, found '.'"),
    ('<a:s> <a:p> "o"^^<< <a:s> <a:p> <a:o> >> .', 18, "expected '^^' and the IRI of a datatype, found '<'"),
    ("_x <a:p> <a:o> .", 2, "expected '_:' and a blank node label, found 'x'"),
    ("_:. <a:p> <a:o> .", 3, "expected '_:' and a blank node label, found '.'"),
    ("<< <a:s> <a:p> <a:o> > <a:p> <a:o> .", 23, "expected '>>' after a quoted triple, found ' '"),
    ("<< <a:s> <a:p> <a:o> <a:g> >> <a:p> <a:o> .", 22, "expected '>>' after a quoted triple, found '<'"),
    ("<<( <a:s> <a:p> <a:o> >> <a:p> <a:o> .", 23, "expected ')>>' after a quoted triple, found '>'"),
    ("<< <a:s> <a:p> >> <a:p> <a:o> .", 16, "expected a term as object, found '>'"),
]


@pytest.mark.parametrize(("text", "column", "message"), ERRORS)
def test_errors(text, column, message):
    before = b"<a:s> <a:p> <a:o> .\n# \xc3\xa9\n"
    data = text.encode()
    reader = TextReader(quads=False)
    assert len([*reader.feed(before)]) == 1
    if column is None:
        assert list(reader.feed(data)) == []
        with pytest.raises(JellyTruncatedError, match=re.escape(message)) as caught:
            reader.close()
        assert isinstance(caught.value, JellyFormatError)
        assert caught.value.offset == len(before) + len(data)
    else:
        with pytest.raises(JellySyntaxError, match=re.escape(f"column {column}: ")) as caught:
            list(reader.feed(data + b"\n"))
        assert message in caught.value.reason
        assert caught.value.offset == len(before) + len(text[:column - 1].encode())
    assert caught.value.line == 3
    assert reader.line == 3


def test_errors_at_the_end_of_the_line():
    for text, message in (
        ("<a:s", "column 1: the IRI that begins here has no '>' on its line"),
        ("<a:s> <a:p> <a:o .", "column 13: the IRI that begins here"),
        ('<a:s> <a:p> "o .', "column 13: the string that begins here has no '\"' on its line"),
        ('<a:s> <a:p> "o\\" .', "column 13: the string that begins here"),
        ("<a:s> <a:p> <a:o>", "column 18: expected '.' at the end of the statement, found the end of the line"),
        ("<a:s> <a:p>", "column 12: expected a term as object, found the end of the line"),
        ('<a:s> <a:p> "o"@', "column 17: expected a language tag after '@', found the end of the line"),
        ('<a:s> <a:p> "o"^', "found the end of the line"),
        ('<a:s> <a:p> "\\', "found the end of the line"),
        ('<a:s> <a:p> "\\u00', "found the end of the line"),
        ("<a:s> <a:p> _:", "found the end of the line"),
        ("<a:s> <a:p> _", "found the end of the line"),
        ("<< <a:s> <a:p> <a:o>", "found the end of the line"),
    ):
        for end in ("\n", "\r", "\r\n"):
            with pytest.raises(JellySyntaxError) as caught:
                read(f"{text}{end}<a:s> <a:p> <a:o> .\n".encode())
            assert message in caught.value.reason
            assert caught.value.line == 1


def test_bad_utf8():
    for bad in (b"\xff", b"\x80", b"\xc0\x80", b"\xc3", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf5"):
        for where in (
            b"<a:%s> <a:p> <a:o> .", b'<a:s> <a:p> "o%s" .', b'<a:s> <a:p> "o"^^<a:%s> .', b"<a:s> <a:p> _:a%s .",
            b"<a:s> <a:p> <a:o> . # %s", b"# %s", b"<a:s> <a:p> %s .", b"%s", b'<a:s> <a:p> "o\\n%s" .',
            b'<a:s> <a:p> "o"@%s .',
        ):
            with pytest.raises(JellySyntaxError, match=f"not UTF-8: byte 0x{bad[0]:02X}") as caught:
                read(b"\n" + where % bad + b"\n")
            assert caught.value.line == 2
            assert caught.value.offset == 1 + where.index(b"%s")


def test_statements_before_the_error_are_given():
    data = b"<a:s> <a:p> <a:o> .\n" * 5 + b"bad\n" + b"<a:s> <a:p> <a:o> .\n" * 5
    reader = TextReader(quads=False)
    reader.push(data)
    batch = reader.pull()
    assert len(batch) == 5
    with pytest.raises(JellySyntaxError) as first:
        reader.pull()
    for call in (reader.pull, reader.close, lambda: reader.push(b""), lambda: reader.feed(b"x")):
        with pytest.raises(JellySyntaxError) as again:
            call()
        assert again.value is first.value
    assert (reader.line, reader.statements) == (6, 5)
    assert first.value.line == 6
    # the iterators of feed and close raise behind what comes before
    for give in (TextReader.feed, closed_with):
        reader = TextReader(quads=False, batch_rows=2)
        found = []
        with pytest.raises(JellySyntaxError):
            found.extend(map(len, give(reader, data)))
        assert found == [2, 2, 1]
        with pytest.raises(JellySyntaxError):
            reader.feed(b"")


def closed_with(reader, data):
    reader.push(data)
    return reader.close()


def test_skip():
    data = b"\n".join([
        b"<a:s> <a:p> <a:o> .", b"bad", b'<a:s> <a:p> "unclosed .', b"<a:s> <a:p> <a:o> . more", b"<a:s> <a:p> <a:p> .",
        b"\xff", b'<a:s> <a:p> "\\ud800" .', b"# <a:s>", b"<a:s> <a:p> <a:o>",
    ])
    for size in (1, 2, 3, 7, 1000):
        reader = TextReader(quads=False, on_error="skip")
        batches = [batch for at in range(0, len(data), size) for batch in reader.feed(data[at:at + size])]
        batches += reader.close()
        assert rows(batches) == [(S, P, O), (S, P, P)]
        assert [line for line, _ in reader.skipped] == [2, 3, 4, 6, 7, 9]
        assert reader.n_skipped == 6
        assert reader.line == 9
        assert reader.skipped[-1][1] == "column 18: the input ends inside a statement"


def test_skip_keeps_a_thousand():
    reader = TextReader(quads=False, on_error="skip")
    assert list(reader.feed(b"x\n" * 2500)) == []
    assert len(reader.skipped) == 1000
    assert reader.skipped[0] == (1, "column 1: expected a term as subject, found 'x'")
    assert reader.n_skipped == 2500


def test_skimming_keeps_no_terms_and_finds_the_same_errors():
    text = b'''<a:s> <a:p> "a"@en .\n<a:s> <a:p> <<<a:s> <a:p> <a:o>>> << <a:x> <a:p> "b"^^<a:t> >> .\n'''
    bad = b'<a:s> <a:p> "\xff" .\n<a:s> "open .\n_:b <a:longer> <a:o> <a:g> .\n'
    found = []
    for skim in (False, True):
        reader = TextReader(quads=True, on_error="skip", batch_rows=2)
        if skim:
            reader.skim()
        batches = [*reader.feed(text + bad), *reader.close()]
        assert [len(batch) for batch in batches] == [2, 1]
        for batch in batches:
            batch.check()
        assert [str(batch.term(batch.g[1]))[:2] for batch in batches[:1]] == ["<<"]
        found.append((reader.skipped, reader.skipped_at, reader.n_skipped, [batch.n_terms for batch in batches]))
    (*kept, terms), (*skimmed, few) = found
    assert skimmed == kept
    assert terms == [10, 6]
    assert few == [3, 1]


def test_line_limit():
    long = b'<a:s> <a:p> "%s" .\n' % (b"x" * 100)
    good = b"<a:s> <a:p> <a:o> .\n"
    limit = len(long) - 1
    for size in (1, 3, 50, 1000):
        for max_line, fails in ((limit, False), (limit - 1, True)):
            reader = TextReader(quads=False, max_line_bytes=max_line)
            data = good + long + good
            found = []

            def run(reader=reader, data=data, found=found, size=size):
                for at in range(0, len(data), size):
                    found.extend(reader.feed(data[at:at + size]))
                found.extend(reader.close())

            if fails:
                message = f"longer than {max_line} bytes; raise max_line_bytes"
                with pytest.raises(JellyLimitError, match=message) as caught:
                    run()
                assert (caught.value.line, caught.value.offset) == (2, len(good))
                assert len(rows(found)) == 1
            else:
                run()
                assert len(rows(found)) == 3
        reader = TextReader(quads=False, max_line_bytes=limit - 1, on_error="skip")
        found = [batch for at in range(0, 3 * len(data), size) for batch in reader.feed((3 * data)[at:at + size])]
        assert len(rows([*found, *reader.close()])) == 6
        assert [line for line, _ in reader.skipped] == [2, 5, 8]
        assert reader.line == 9


# Batches.


def test_batch_rows():
    data = b"".join(b"<a:s> <a:p> <a:%d> .\n" % i for i in range(100))
    for batch_rows in (1, 7, 99, 100, 101):
        reader = TextReader(quads=False, batch_rows=batch_rows)
        batches = [*reader.feed(data), *reader.close()]
        assert [len(batch) for batch in batches[:-1]] == [batch_rows] * (len(batches) - 1)
        assert [batch.first_row for batch in batches] == list(range(0, 100, batch_rows))
        assert rows(batches) == [(S, P, iri(f"a:{i}")) for i in range(100)]


def test_batch_bytes():
    data = b"".join(b'<a:s> <a:p> "%05d%s" .\n' % (i, b"x" * 95) for i in range(100))
    reader = TextReader(quads=False, batch_bytes=1000)
    batches = list(reader.feed(data))
    assert [len(batch) for batch in batches] == [10] * 10
    assert len(rows(batches)) == 100


def test_partial_batch_is_kept_until_flush():
    reader = TextReader(quads=False, batch_rows=3)
    line = b"<a:s> <a:p> <a:o> .\n"
    reader.push(line * 2)
    assert reader.pull() is None
    assert reader.statements == 2
    reader.push(line * 2)
    assert len(reader.pull()) == 3
    assert reader.pull() is None
    assert len(reader.pull(True)) == 1
    assert reader.pull(True) is None
    reader.push(line[:-1])
    assert reader.pull(True) is None
    reader.finish()
    assert len(reader.pull()) == 1
    assert reader.pull(True) is None


@pytest.mark.parametrize(("given", "sizes"), [({}, [16384, 4096, 4096, 424]), ({"batch_rows": 16384}, [16384, 8616])])
def test_the_first_batch_is_larger(given, sizes):
    # A writer decides its options by it; the others fit into the caches.
    reader = TextReader(quads=False, **given)
    assert [len(batch) for batch in reader.feed(b"<a:s> <a:p> <a:o> .\n" * 25_000)] == sizes


def test_terms_are_shared():
    data = b'<a:s> <a:p> "o"@en .\n<a:s> <a:p> "o"@en .\n<a:o> <a:p> <a:s> .\n<a:s> <a:p> "o"@en .\n'
    (batch,) = read(data)
    assert batch.n_terms == 5  # a:s a:p en "o"@en a:o
    assert batch.s.tolist() == [0, 0, 4, 0]
    (batch,) = read(b'<a:s> <a:p> "1"^^<a:t> .\n<a:s> <a:p> "2"^^<a:t> .\n<a:t> <a:p> "1"^^<a:t> .\n')
    assert batch.n_terms == 5


def test_tokens_that_begin_alike():
    lines = [
        '"a"', '"a"@en', '"a"', '"a"^^<a:t>', '"a"@en', '"a"@en-GB', '"a"@en', '"a"^^<a:t>', '"a"^^<a:tt>', '"a" @en',
        '"a" ^^<a:t>', '"a"', '"a"  @en', '"a"\t@en', "_:a", "_:ab", "_:a", "_:a.b", "_:a", "_:a-", "<a:a>", "<a:ab>",
        "<a:a>", '"a\\""', '"a\\"b"', "_:a\u00b7", "_:a", '""', '"a"', '""',
    ]
    for space in (" ", "", "\t"):
        data = "".join(f"<a:s> <a:p> {line}{space}.\n" for line in lines).encode()
        wanted = [one(f"<a:s> <a:p> {line} .") for line in lines]
        assert rows(read(data)) == wanted
        assert rows(read(data, batch_rows=4)) == wanted


def test_many_terms():
    """More than the interner holds, and back again."""
    n = 70_000
    data = b"".join(b"<a:%d> <a:p> \"%d\" .\n" % (i % 40_000, i) for i in range(n))
    (batch,) = read(data, batch_rows=n)
    text = bytes(batch.text)
    start = batch.start.tolist()
    for i in (0, 1, 39_999, 40_000, 50_000, n - 1):
        s, o = int(batch.s[i]), int(batch.o[i])
        assert text[start[s]:start[s + 1]] == b"a:%d" % (i % 40_000)
        assert text[start[o]:start[o + 1]] == b"%d" % i
    assert write([batch]) == data


# The reader as an object.


def test_push_needs_the_last_chunk_used_up():
    reader = TextReader(quads=False, batch_rows=1)
    reader.push(b"<a:s> <a:p> <a:o> .\n" * 2)
    with pytest.raises(RuntimeError, match="not used up"):
        reader.push(b"x")
    assert len(reader.pull()) == 1
    with pytest.raises(RuntimeError, match="not used up"):
        reader.push(b"x")
    assert len(reader.pull()) == 1
    assert reader.pull() is None
    reader.push(b"")
    reader.push(b"")
    reader.finish()
    assert reader.pull(True) is None
    with pytest.raises(ValueError, match="closed"):
        reader.push(b"")


def test_any_buffer_and_its_release():
    data = bytearray(b"<a:s> <a:p> <a:o> .\n<a:s> ")
    reader = TextReader(quads=False)
    reader.push(data)
    with pytest.raises(BufferError):
        data.append(0)
    assert reader.pull() is None
    data.append(0)
    reader.push(memoryview(b"--<a:p> <a:o> .\n--")[2:-2])
    assert len(reader.pull(True)) == 2
    with pytest.raises(TypeError):
        reader.push("text")
    with pytest.raises(TypeError, match="in one piece"):
        reader.push(memoryview(b"abcd")[::2])
    # a failed reader gives its chunk back
    data = bytearray(b"bad\n" * 10)
    with pytest.raises(JellySyntaxError):
        next(reader.feed(data))
    data.append(0)


def test_arguments():
    for settings in ({"batch_rows": 0}, {"batch_bytes": 0}, {"max_line_bytes": 0}, {"on_error": "ignore"}):
        with pytest.raises(ValueError, match="must be at least 1|expected"):
            TextReader(quads=False, **settings)
    with pytest.raises(TypeError):
        TextReader()
    for thing in (TextReader(quads=False), TextWriter(False)):
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(thing)


def test_busy():
    data = b'<a:s> <a:p> "%s" .\n' % (b"\\n" * 20_000_000)
    reader = TextReader(quads=False)
    reader.push(data)
    result = []
    thread = threading.Thread(target=lambda: result.append(reader.pull(True)))
    thread.start()
    refused = 0
    while thread.is_alive():
        try:
            reader.finish()
        except RuntimeError as error:
            assert "another thread" in str(error)  # noqa: PT017
            refused += 1
    thread.join()
    assert len(result[0]) == 1
    assert refused


def test_threads_each_with_a_reader():
    data = b"".join(b"<a:%d> <a:p> \"%d\"@en .\n" % (i, i) for i in range(20_000))
    found = []
    threads = [threading.Thread(target=lambda: found.append(write(read(data)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [data] * 4


# Chunks, cuts and flips.

SAMPLE = "\r\n".join([
    '<a:s> <a:p> "l\\n\u00e9"@en-GB <a:g> .', "# comment \u4e2d", "",
    '_:a.\u4e2d <a:p> << _:b <a:p> <<( <a:s> <a:p> "x" )>> >> .',
    f'<a:s><a:p>"1"^^<{XSD}int>_:g.', f'<a:s> <a:p> "1"^^<{XSD}int> .\n',
    'VERSION "1.2"\n<a:\\u00e9> <a:p> "\\U0001F600\u4e2d" "g" . # end',
]).encode()


def test_every_chunking():
    wanted = rows(read(SAMPLE, True))
    assert len(wanted) == 5
    for size in (1, 2, 3, 7):
        for rows_each in (1, 100):
            reader = TextReader(quads=True, batch_rows=rows_each)
            found = [batch for at in range(0, len(SAMPLE), size) for batch in reader.feed(SAMPLE[at:at + size])]
            assert rows([*found, *reader.close()]) == wanted
            assert (reader.line, reader.bytes_read) == (9, len(SAMPLE))
    for at in range(len(SAMPLE) + 1):
        reader = TextReader(quads=True)
        batches = []
        for part in (SAMPLE[:at], SAMPLE[at:]):
            reader.push(part)
            while (batch := reader.pull()) is not None:
                batches.append(batch)
        reader.finish()
        while (batch := reader.pull(True)) is not None:
            batches.append(batch)
        assert rows(batches) == wanted
        assert reader.line == 9


def test_chunks_cut_between_two_places():
    wanted = rows(read(SAMPLE, True))
    for a in range(0, len(SAMPLE), 3):
        for b in range(a, min(a + 40, len(SAMPLE)), 5):
            reader = TextReader(quads=True)
            found = [*reader.feed(SAMPLE[:a]), *reader.feed(SAMPLE[a:b]), *reader.feed(SAMPLE[b:]), *reader.close()]
            assert rows(found) == wanted


@pytest.mark.parametrize("strict", [False, True])
def test_every_cut(strict):
    whole = rows(read(SAMPLE, True))
    for at in range(len(SAMPLE)):
        try:
            found = rows(read(SAMPLE[:at], True, strict=strict))
        except JellyError as error:
            in_comment = SAMPLE[:at].splitlines()[-1].startswith(b"#")
            at_dot = b"_:a." in SAMPLE[at - 6:at]  # a dot at the end is not of the label, but of the statement
            assert strict or in_comment or at_dot or isinstance(error, JellyTruncatedError), SAMPLE[:at]  # noqa: PT017
        else:
            assert found == whole[:len(found)]


@pytest.mark.parametrize("strict", [False, True])
def test_every_flip(strict):
    for at in range(len(SAMPLE)):
        for flip in (0x01, 0x20, 0x80, 0xFF, SAMPLE[at] ^ 0x0A, SAMPLE[at] ^ 0x22, SAMPLE[at] ^ 0x5C):
            data = bytearray(SAMPLE)
            data[at] ^= flip
            reader = TextReader(quads=True, strict=strict, on_error="skip")
            rows([*reader.feed(data), *reader.close()])
            try:
                read(data, True, strict=strict)
            except JellyError as error:
                assert error.line == reader.skipped[0][0]  # noqa: PT017
                assert error.offset <= len(data)  # noqa: PT017
            else:
                assert reader.n_skipped == 0


@given(st.lists(st.sampled_from(
    [b"<", b">", b"<<", b">>", b"(", b")", b'"', b"a:s", b" ", b"\n", b"\r", b".", b"@", b"en", b"^^", b"_:", b"\\",
     b"u", b"0041", b"\xc3", b"\xa9", b"#", b"<a:s> ", b'"x" ', b"VERSION", b"\xef\xbb\xbf"]
), max_size=40), st.integers(1, 9))
def test_rubbish(parts, size):
    data = b"".join(parts)
    found = []
    for chunk in (size, 1000):
        reader = TextReader(quads=True, on_error="skip")
        batches = [batch for at in range(0, len(data), chunk) for batch in reader.feed(data[at:at + chunk])]
        found.append((rows([*batches, *reader.close()]), reader.skipped, reader.line))
    assert found[0] == found[1]


# What is read by steps, or by what was expected.


def test_ends_of_texts():
    """Texts of each length, with each byte that ends a step at each place."""
    for n in range(40):
        assert one(f'<a:s> <a:p> "{"x" * n}" .') == (S, P, (LITERAL, "x" * n))
        for at in range(n):
            for written, meant in (("é", "é"), ("\\n", "\n"), ("\x7f", "\x7f"), (">", ">"), ("\x01", "\x01")):
                text, value = ("x" * at + part + "x" * (n - at - 1) for part in (written, meant))
                assert one(f'<a:s> <a:p> "{text}" .') == (S, P, (LITERAL, value))
                assert one(f'<a:s> <a:p> "{text}"@en .') == (S, P, (LANG, value, "en"))
            with pytest.raises(JellySyntaxError):
                one(f'<a:s> <a:p> "{"x" * at}\n{"x" * (n - at - 1)}" .')


def test_terms_that_begin_like_the_expected_ones():
    objects = [
        "<a:o>", "<a:oo>", "_:b", "_:bb", '"1"', '"1"@en', '"1"@en-GB', '"1" @en', '"1"^^<a:t>', '"1"^^<a:u>',
        '"11"^^<a:t>', "<< <a:s> <a:p> <a:o> >>", "<< <a:s> <a:p> _:b >>",
    ]  # fmt: skip
    lines = [f"<a:s{n // 7}> <a:p{n % 50}> {one} <a:g{n // 9}> ." for n, one in enumerate(objects * 20)]
    alone = [row for line in lines for row in rows(read(line.encode(), True))]
    for several in (lines, [line.replace("> ", ">") for line in lines]):
        assert rows(read("\n".join(several).encode(), True)) == alone
        assert rows(read("\n".join(several).encode(), True, batch_rows=3)) == alone
