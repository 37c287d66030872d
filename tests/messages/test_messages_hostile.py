"""Bad input: errors with their place and the messages before them, bounded memory and time, nothing fetched."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import random
import socket
import tracemalloc

import pytest
from support.contents import convert_messages

import jelly
from jelly.messages import MessageReader, aencode_messages, aread_messages, read_messages

pytest.importorskip("pyoxigraph")
pytest.importorskip("yaml")

A = "<a:s> <a:p> <a:1> .\n"
RDF = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
LINE = '{"@id":"a:s","a:p":"1"}\n'
XML = f'{RDF}<rdf:Description rdf:about="a:s"><e:p>1</e:p></rdf:Description></rdf:RDF>\n'


def broken(text, format, **settings):
    """Read to the error; the sizes of the messages before it, and the error."""
    data = text if isinstance(text, bytes) else text.encode()
    found: list[int] = []
    with pytest.raises(jelly.JellyError) as caught:
        found.extend(map(len, read_messages(data, format=format, **settings)))
    assert caught.value.message == len(found)
    return found, caught.value


@pytest.mark.parametrize(
    ("format", "good", "bad", "line"),
    [
        ("nt", f"# @message\n{A}", "# @message\n<a:s> .\n", 6),
        ("nq", f"# @message\n{A}", f'# @message\n{A}\n<a:s> <a:p> "\n" .\n', 8),
        ("ttl", f"# @message\n{A}", f"# @message\n{A}\n<a:s> <a:p> .\n", 8),
        ("ttl", f"# @message\n{A}", f'# @message\n{A}<a:s> <a:p> """x\n\n', 7),
        ("trig", f"# @message\n{A}", f"# @message\n<a:g> {{ {A} \n<a:s> }}", 8),
        ("ndjsonld", LINE, '{"a:p": }\n', 3),
        ("ndjsonld", LINE, '{"@id": "a:s"', 3),
        ("yamlld", f"---\n{LINE}", "---\n a: [\n", None),
        ("rdfxml", XML, f"{RDF}\n<x>\n</rdf:RDF>\n", None),
        ("rdfxml", XML, f"{RDF}\n<rdf:Description>", 3),
    ],
)
@pytest.mark.parametrize("size", [1 << 20, 1, 5])
def test_a_broken_message_is_named(format, good, bad, line, size):
    text = (good * 2 + bad).encode()
    found, error = broken(text, format)
    assert found == [1, 1]
    assert error.line == line if line else error.line >= 3
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    assert [len(m) for m in _until_error(read_messages(chunks, format=format))] == [1, 1]


def _until_error(messages):
    with contextlib.suppress(jelly.JellyError):
        yield from messages


@pytest.mark.parametrize("format", ["ttl", "trig"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_errors_name_lines_with_any_end(format, end):
    """A carriage return alone ends a line, too; it comes from the fuzzer."""
    text = f"{A}# one\n# @message\n<a:s> <a:p>\nx:o .".replace("\n", end).encode()
    found, error = broken(text, format)
    assert (found, error.line) == ([1], 5)
    for size in (1, 2):
        with pytest.raises(jelly.JellyError) as caught:
            list(read_messages([text[at : at + size] for at in range(0, len(text), size)], format=format))
        assert caught.value.line == 5


@pytest.mark.parametrize("format", ["nt", "nq", "ttl", "trig"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_byte_order_marks(format, end):
    text = f"\ufeff# @message one\n{A}# @message\n{A}#x\n# @message\n".replace("\n", end).encode()
    for size in (1, 2, 3, 1000):
        chunks = [text[at : at + size] for at in range(0, len(text), size)]
        found = list(read_messages(chunks, format=format))
        assert [(len(message), message.note) for message in found] == [(1, "one"), (1, ""), (0, "")]


@pytest.mark.parametrize(("format", "text"), [("ndjsonld", LINE), ("yamlld", LINE), ("rdfxml", XML)])
def test_byte_order_marks_of_documents(format, text):
    for size in (1, 2, 1000):
        data = f"\ufeff{text}".encode()
        chunks = [data[at : at + size] for at in range(0, len(data), size)]
        assert [len(message) for message in read_messages(chunks, format=format)] == [1]


@pytest.mark.parametrize("format", ["nt", "ttl", "trig", "ndjsonld", "yamlld", "rdfxml"])
@pytest.mark.bounded
def test_what_never_ends_is_refused(format):
    opening = {"ndjsonld": b'{"', "yamlld": b'"', "rdfxml": b"<a>", "nt": b"#"}.get(format, b'<a:s> <a:p> """')

    def chunks():
        yield opening
        while True:
            yield b"x" * (1 << 16)

    tracemalloc.start()
    with pytest.raises(jelly.JellyLimitError):
        list(read_messages(chunks(), format=format, max_message_bytes=1 << 22))
    assert tracemalloc.get_traced_memory()[1] < 1 << 26
    tracemalloc.stop()


@pytest.mark.parametrize("format", ["nt", "ttl"])
def test_huge_comments_are_read(format):
    comment = "#" + " " * (1 << 21) + "@message " + "x" * (1 << 21) + "\n"
    found = list(read_messages(f"{A}{comment}{A}# {comment}".encode(), format=format))
    assert [len(message) for message in found] == [1, 1]
    assert len(found[1].note) == 1 << 21


@pytest.mark.parametrize("document", ["[" * 100_000, '{"a:p":' * 100_000, "[" * 500 + "]" * 500])
def test_json_bombs(document):
    found, error = broken(f"{LINE}{document}\n", "ndjsonld")
    assert isinstance(error, jelly.JellyFormatError)
    assert found == [1]
    assert error.line == 2


@pytest.mark.parametrize(
    "document",
    ["NaN", '{"a:p": Infinity}', "1" * 5000, '"\\ud800"', '{"@id": "\\ud800"}x', "\xff", '{"a:p": 1e999999}x'],
)
def test_json_that_is_none(document):
    assert broken(f"{LINE}{document}\n".encode("latin-1"), "ndjsonld")[0] == [1]


def test_yaml_bombs():
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n"
    for name, before in zip("bcdefghi", "abcdefgh", strict=True):
        bomb += f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
    found, error = broken(f"{LINE}---\n{bomb}", "yamlld")
    assert isinstance(error, jelly.JellyLimitError)
    assert found == [1]
    for text in (
        "[" * 5000,
        "&a [*a]",
        "a: !!python/object:os.system x",
        "{1: 2}",
        "? [a]\n: b",
        "&a a: *b",
        "42",
        "a: .nan",
        "\x00",
    ):
        assert broken(f"{LINE}---\n{text}\n", "yamlld")[0] == [1]
    assert [
        len(m.dataset()) for m in read_messages(b'a: &a {"@id": a:x}\na:p: [*a, *a]\n"@id": a:s\n', format="yamlld")
    ] == [1]


@pytest.mark.parametrize("format", ["nt", "nq", "ttl", "trig"])
def test_nested_triple_terms(format):
    deep = f"# @message\n<a:s> <a:p> {'<<( <a:s> <a:p> ' * 5000}<a:o>{' )>>' * 5000} .\n"
    found, error = broken(f"# @message\n{A}" * 3 + deep + A, format)
    assert isinstance(error, jelly.JellyLimitError)
    assert found == [1, 1, 1]
    assert error.line in (7, 8)
    assert isinstance(broken(deep, format)[1], jelly.JellyLimitError)


def test_xml_entities():
    use = f'{RDF}<rdf:Description rdf:about="a:s"><e:p>&e;</e:p></rdf:Description></rdf:RDF>\n'
    lol = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    wrong = [
        f'<!ENTITY e0 "lol">{lol}<!ENTITY e "&e9;">',
        '<!ENTITY e SYSTEM "file:///etc/passwd">',
        '<!ENTITY e PUBLIC "x" "http://127.0.0.1/">',
        '<!ENTITY % p "x"><!ENTITY e "y">',
    ]
    for entities in wrong:
        found, error = broken(f"{XML}<!DOCTYPE rdf:RDF [{entities}]>{use}", "rdfxml")
        assert found == [1]
        assert "entit" in str(error)
    many = use.replace("&e;", "&e;" * 2000)
    assert "entit" in str(broken(f'<!DOCTYPE r [<!ENTITY e "{"x" * 60_000}">]>{many}', "rdfxml")[1])
    text = f'<!DOCTYPE r [<!ENTITY f "1"><!ENTITY e "&f;2">]>{use}{XML}'
    assert [m.statements[0].o.value for m in read_messages(text.encode(), format="rdfxml")] == ["12", "1"]


def test_nothing_is_fetched(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for context in (
        '"http://c/"',
        '["http://c/"]',
        '{"@import":"http://c/"}',
        '{"p":{"@id":"a:p","@context":"http://c/"}}',
    ):
        for format in ("ndjsonld", "yamlld"):
            _, error = broken(f'{{"@context":{context},"a:q":{{"p":1}}}}\n', format)
            assert "http://c/" in str(error)
    hidden = '{"@\\u0063ontext":"http://c/"}\n'
    assert "http://c/" in str(broken(hidden, "ndjsonld")[1])


def test_contexts_of_the_cache():
    known = {
        "http://c/": {"@context": ["http://d/", {"q": "a:q"}]},
        "http://d/": '{"p": "a:p"}',
        "http://loop/": {"@context": "http://loop/"},
        "http://i/": {"p": "a:no", "q": "a:q"},
    }
    [message] = read_messages(
        b'{"@context":"http://c/","@id":"a:s","p":1,"q":{"@value":"@context"}}', format="ndjsonld", contexts=known
    )
    assert sorted(statement.p.value for statement in message) == ["a:p", "a:q"]
    [message] = read_messages(
        b'{"@context":{"@import":"http://i/","p":"a:p"},"@id":"a:s","p":1,"q":2}', format="ndjsonld", contexts=known
    )
    assert sorted(statement.p.value for statement in message) == ["a:p", "a:q"]
    assert "16" in str(broken('{"@context":"http://loop/"}', "ndjsonld", contexts=known)[1])


@pytest.mark.parametrize(
    ("format", "text"),
    [("yamlld", '"a:p": 1e999'), ("ndjsonld", '{"@context": {"p": "a:p"}, "p": -1e999}')],
)
def test_numbers_that_are_infinite(format, text):
    with pytest.raises(jelly.JellySyntaxError, match="a number is too large"):
        list(read_messages(text.encode(), format=format))


@pytest.mark.parametrize("char", ["\x85", "\u2028", "\u2029"])
def test_line_ends_of_yaml_1_1_are_characters(char):
    for text in (f'"x {char} # y{char}"', f"'x {char} # y{char}'", f"x {char} # y{char}", f"|-\n  x {char} # y{char}"):
        [message] = read_messages(f'"@id": a:s\n"a:p": {text}\n"a:q": {text}\n'.encode(), format="yamlld")
        expected = f"x {char}" if text[0] == "x" else f"x {char} # y{char}"
        assert [statement.o.value for statement in message] == [expected] * 2, text


@pytest.mark.parametrize("context", ['"http://c/"', '[{"@base":"http://doc/"},"http://d/"]'])
@pytest.mark.parametrize("form", ["one line", "a line before", "yamlld"])
def test_a_remote_context_has_no_base_and_json_literals_are_data(context, form):
    own = {"@base": "http://no/", "p": "a:p", "j": {"@id": "a:j", "@type": "@json"}}
    known = {"http://c/": {"@context": own}, "http://d/": ["http://c/"]}
    data = f'{{"@context":{context},"@id":"x","p":"v","j":{{"@context":"http://c/"}}}}'
    if form == "a line before":
        data = f'{{"@context":{context}}}\n{data.replace(f"""{chr(34)}@context{chr(34)}:{context},""", "")}'
    format = "yamlld" if form == "yamlld" else "ndjsonld"
    settings = {} if format == "yamlld" else {"dialect": "directive"}
    [message] = read_messages(data.encode(), format=format, contexts=known, base="http://doc/", **settings)
    assert [(statement.s.value, statement.o.value) for statement in message] == [
        ("http://doc/x", "v"), ("http://doc/x", '{"@context":"http://c/"}'),
    ]  # fmt: skip


@pytest.mark.parametrize("format", ["nt", "ttl", "trig", "ndjsonld", "yamlld", "rdfxml", "jelly"])
def test_random_damage(format):
    out = io.BytesIO()
    log = f'# @message\n{A}<a:s> <a:p> "é\\n"@en-GB .\n_:b <a:p> "1"^^<a:t> .\n'.replace("a:", "http://a/") * 3
    convert_messages(log.encode(), out, format="nt", to=format)
    data = bytearray(out.getvalue())
    chance = random.Random(7)
    for _ in range(300):
        changed = bytearray(data)
        for _ in range(chance.randrange(1, 4)):
            changed[chance.randrange(len(changed))] = chance.choice(b"\x00\"'<>#{}[]\\\n @.&;!-?\xff\x80aM")
        found = 0
        wrong = None
        try:
            for message in read_messages(bytes(changed), format=format):
                found += 1
                assert len(message.statements) == len(message)
        except jelly.JellyError as error:
            wrong = error.message
        assert wrong in (None, found)


def test_compressed_and_cut():
    data = gzip.compress((f"# @message\n{A}" * 1000).encode())
    assert len(list(read_messages(data, format="nt"))) == 1000
    with pytest.raises(jelly.JellyTruncatedError) as caught:
        list(read_messages(data[:-20], format="nt"))
    assert caught.value.message is not None


def test_arguments():
    for wrong in ({"dialect": "x"}, {"trailing": "x"}):
        with pytest.raises(ValueError, match="expected"):
            read_messages(b"", format="nt", **wrong)
    with pytest.raises(ValueError, match="whole"):
        jelly._core.ntriples.text.TextReader(quads=False, messages="comment", on_error="skip")


@pytest.mark.parametrize("format", ["nt", "ttl", "jelly", "ndjsonld", "yamlld", "rdfxml"])
def test_a_live_stream_out_and_in(format):
    """A message is there as soon as its delimiter is; empty ones too."""
    messages = [list(jelly.read(A.encode(), format="nt")), [], [], list(jelly.read((A * 2).encode(), format="nt"))]
    sent = received = 0

    async def producer():
        nonlocal sent
        for message in messages:
            sent += 1
            yield message

    async def main():
        nonlocal received
        stream = aencode_messages(producer(), format=format, dialect="directive")
        async for message in aread_messages(stream, format=format, dialect="directive"):
            assert len(message) == len(messages[received])
            received += 1
            # YAML ends a document with the beginning of the next.
            assert sent - received <= (format == "yamlld")

    asyncio.run(main())
    assert received == 4


def test_what_comes_with_a_reader():
    reader = MessageReader(f"{A}# @message\n".encode(), format="nt")
    assert sum(len(batch) for batch in reader.batches()) == 1
    assert (reader.messages, reader.statements, reader.options) == (2, 1, None)


@pytest.mark.parametrize("format", ["nt", "ttl", "jelly"])
def test_what_was_fed_is_not_lost(format: str) -> None:
    log = jelly.dumps([]) if format == "jelly" else f"{A}# @message\n".encode()
    reader = MessageReader(b"", format=format, force=True)
    messages = reader.feed(log)
    for call in (lambda: reader.feed(log), reader.close):
        with pytest.raises(RuntimeError, match="not used up"):
            call()
    found = [*messages, *reader.feed(log), *reader.close()]
    assert len(found) == reader.messages == (2 if format == "jelly" else 3)


@pytest.mark.parametrize("format", ["ttl", "trig"])
def test_a_limit_below_the_size_of_a_delimiter(format):
    text = f"# @message note\n# @message\n{A * 3}# @message\n"
    found, error = [], None
    try:
        for message in MessageReader(text.encode(), format=format, max_message_bytes=20):
            found.append((len(message), message.note))
    except jelly.JellyLimitError as caught:
        error = caught
    assert error is not None
    assert found == [(0, "note")]


@pytest.mark.parametrize("char", ["\x85", "\u2028", "\u2029"])
def test_yaml_that_is_written_has_no_line_ends_of_yaml_1_1(char):
    from jelly._tools.yaml import dump_yaml, load_documents

    document = {f"x{char}": f"é{char}{char} y\n"}
    text = dump_yaml(document)
    assert char not in text
    assert list(load_documents(text.encode())) == [document]
