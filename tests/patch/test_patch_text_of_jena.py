"""RDF Patch as Jena's readers take it: single and three quotes, segments, several rows on a line."""

from __future__ import annotations

import pytest

import jelly
from jelly import IRI, Literal
from jelly._core.ntriples.text import TextReader
from jelly.patch import Add, AddNamespace, Header, Patch, PatchReader, dumps, loads

S, P = IRI("a:s"), IRI("a:p")


def read(text: str, size: int | None = None, **settings: object) -> list[object]:
    data = text.encode()
    source = data if size is None else [data[at : at + size] for at in range(0, len(data), size)]
    return [operation for patch in PatchReader(source, format="rdfp", **settings) for operation in patch]


@pytest.mark.parametrize("size", [None, 1, 5])
@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("'x'", "x"),
        ("''", ""),
        ("""'say "x"'""", 'say "x"'),
        (r"'it\'s'", "it's"),
        ('"""x"""', "x"),
        ("'''x'''", "x"),
        ('""""""', ""),
        ('"""a "b" \'c\' ""d"""', 'a "b" \'c\' ""d'),
        (r'"""a\n\"\"\"\u00e9é"""', 'a\n"""éé'),
    ],
)
def test_quotes(written: str, text: str, size: int | None) -> None:
    rows = f"A <a:s> <a:p> {written} .\nA <a:s> <a:p> {written}@en .\nA <a:s> <a:p> {written}^^<a:d> <a:g> . # x\nZ .\n"
    quads = [
        Add((S, P, Literal(text), jelly.DefaultGraph())),
        Add((S, P, Literal(text, language="en"), jelly.DefaultGraph())),
    ]
    assert read(rows, size) == [*quads, Add((S, P, Literal(text, datatype="a:d"), IRI("a:g")))]
    with pytest.raises(jelly.JellySyntaxError):
        read(rows, strict=True)


def test_names_in_single_quotes() -> None:
    assert read("H 'a b' 'c' .\nPA 'x' 'http://x/' .\n") == [
        Header("a b", Literal("c")),
        AddNamespace("x", IRI("http://x/")),
    ]


@pytest.mark.parametrize("size", [None, 1, 5])
def test_segments_mean_nothing(size: int | None) -> None:
    plain = "TX .\nA <a:s> <a:p> <a:o> .\nTC .\n"
    assert read("Z .\nTX .\nZ .\nA <a:s> <a:p> <a:o> .\n Z . # end\nTC . Z .\n", size) == read(plain)
    assert dumps(loads(("Z .\n" + plain).encode(), format="rdfp"), format="rdfp") == plain.encode()
    for wrong in ("ZX .\n", "Z\n", "Z <a:x> .\n"):
        with pytest.raises(jelly.JellySyntaxError):
            read(wrong)
    with pytest.raises(jelly.JellySyntaxError, match="expected one of H TX"):
        read("Z .\n", strict=True)


@pytest.mark.parametrize("size", [None, 1, 5])
def test_several_rows_on_a_line(size: int | None) -> None:
    rows = ["TX .", "A <a:s> <a:p> _:b .", 'D <a:s> <a:p> "x . A y" .', "A <a:s> <a:p> 5 .", "TC ."]
    assert read(" ".join(rows) + " # all\n", size) == read("\n".join(rows), size)
    assert read("".join(rows), size) == read("\n".join(rows), size)
    with pytest.raises(jelly.JellySyntaxError):
        read(" ".join(rows), strict=True)
    # A line is read as a whole or not at all.
    found: list[object] = []
    with pytest.raises(jelly.JellySyntaxError) as caught:
        found.extend(PatchReader(b"TX .\nA <a:s> <a:p> 1 . X .\n", format="rdfp").batches())
    assert [len(batch) for batch in found] == [1]
    assert caught.value.line == 2


@pytest.mark.parametrize(
    "text", ["A <a:s> <a:p> '''x .\n", "A <a:s> <a:p> 'x .\n", 'PA "e" <a:x> << <a:s> <a:p> <a:o> >> .\n']
)
def test_what_is_wrong_is_told(text: str) -> None:
    with pytest.raises(jelly.JellyFormatError) as caught:
        read(text)
    assert caught.value.line == 1


def test_texts_without_patches_have_no_such_quotes() -> None:
    with pytest.raises(jelly.JellySyntaxError):
        list(jelly.read(b"<a:s> <a:p> 'x' .", format="nt"))
    assert isinstance(loads(b"", format="rdfp")[0], Patch)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_texts_over_many_lines(end: str) -> None:
    text = "one\n\n 'two' \"\"\nA <a:s> <a:p> 1 .\n# three\n"
    rows = f"TX .\nA <a:s> <a:p> \"\"\"{text}\"\"\"@en . A <a:s> <a:p> '''{text}''' .\nTC .\nX .\n".replace("\n", end)
    expected = [
        Add((S, P, Literal(text, language="en"), jelly.DefaultGraph())),
        Add((S, P, Literal(text), jelly.DefaultGraph())),
    ]
    for size in (None, *range(1, len(rows) + 1)):
        data = rows.encode()
        source = data if size is None else [data[at : at + size] for at in range(0, len(data), size)]
        found: list[jelly.Batch] = []
        with pytest.raises(jelly.JellySyntaxError) as caught:
            found.extend(PatchReader(source, format="rdfp").batches())
        assert sum(map(len, found)) == 4
        assert caught.value.line == 14
        if end != "\r\n":  # of which one byte is not counted where it is cut
            assert caught.value.offset == len(data) - 4
        patch = Patch()
        for batch in found:
            patch._take_batch(batch)
        assert list(patch)[1:3] == expected


def test_a_text_that_never_ends() -> None:
    data = b"A <a:s> <a:p> '''" + b"x\n" * 300_000
    for size in (1 << 10, 1 << 20):
        chunks = [data[at : at + size] for at in range(0, len(data), size)]
        with pytest.raises(jelly.JellyTruncatedError):
            list(PatchReader(chunks, format="rdfp"))
        with pytest.raises(jelly.JellyLimitError):
            list(PatchReader(chunks, format="rdfp", max_line_bytes=1 << 16))
    whole = [b"A <a:s> <a:p> '''", *[b"x\n"] * 100_000, b"''' .\n"]
    ((operation,),) = PatchReader(whole, format="rdfp")
    assert operation.statement.o.value == "x\n" * 100_000


def test_lines_of_a_text_that_comes_again_are_counted() -> None:
    reader = TextReader(quads=False, patch=True, on_error="skip")
    rows = 'A <a:s> <a:p> """x\ny""" .\nA <a:s> <a:q> "z" .\n' * 3 + "A bad .\n"
    assert sum(map(len, [*reader.feed(rows.encode()), *reader.close()])) == 6
    assert [line for line, _ in reader.skipped] == [10]


def test_a_text_that_is_too_long_is_skipped() -> None:
    data = b"A <a:s> <a:p> '''" + b"x\n" * 300 + b"''' .\nA <a:s> <a:p> 1 .\n"
    chunks = [data[at : at + 50] for at in range(0, len(data), 50)]
    reader = TextReader(quads=True, patch=True, on_error="skip", max_line_bytes=200)
    rows = sum(len(batch) for chunk in chunks for batch in reader.feed(chunk)) + sum(map(len, reader.close()))
    assert rows == 1
    assert reader.n_skipped > 1


@pytest.mark.parametrize("name", ["'id", "'", "''", "'a'", '"id', "it's", "<a", "#", ".", "é'", "", " '"])
def test_names_of_headers_that_look_like_quotes(name: str) -> None:
    header = Header(name, IRI("a:x"))
    text = dumps(Patch([header]), format="rdfp")
    for strict in (False, True):
        assert read(text.decode(), strict=strict) == [header]
    assert read(f"{header}\n") == [header]
