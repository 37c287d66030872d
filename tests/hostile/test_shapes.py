"""The law of size: 64 KB of any shape, through every function that reads it, end in 5 s of CPU and 300 MB with a result
or a JellyError. `shapes.py` has the shapes, `law.py` runs them; JELLY_LONG=1 tries
all pairs of a shape and a function."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.measure import SANITIZED
from support.measure import run as run_python

import jelly
from jelly import JellyError, JellyLimitError, JellyUnsupportedError
from jelly._core.boundaries.json import JsonScanner
from jelly._core.boundaries.xml import DocumentScanner
from jelly._formats.guards import guard_json
from jelly.messages import read_messages

LONG = bool(os.environ.get("JELLY_LONG"))
# One of so many pairs is tried always; those that were crashes or above the law are among them.
STEP = 149
ONCE_BROKEN = (
    "depth: graphs | jsonld | read", "depth: empty keys in JSON | jsonld | read",
    "depth: objects, 120 with much in it | jsonld | read", "depth: 60 contexts, used | jsonld | read",
    "repetition: scalars with a context of a term of JSON | jsonld | read",
    "repetition: types with a context of a term of JSON | jsonld | read",
    "repetition: a long vocabulary of types of JSON | jsonld | read",
    "repetition: a long escaped context of JSON | jsonld | read",
    "repetition: namespaces of a literal of XML | rdf | read",
    "repetition: namespaces of a literal of XML | log rdf | read_messages",
    "repetition: messages with a context | log ndjsonld | read_messages",
    "repetition: messages with a context, the last broken | log ndjsonld | read_messages",
    "repetition: hexadecimal of YAML | log yamlld | read_messages",
    "breadth: half characters of JSON results | results json | write xml",
    "repetition: a prefix of a list | ttl | frames",
    "repetition: messages of a long term | log ndjsonld | convert",
    "repetition: a base | trig | describe", "depth: groups of a query | sparql | query",
    "depth: calls of a query, open | sparql | query", "depth: paths of a query, 20 | sparql | query",
    "breadth: patterns of a query | sparql | query", "breadth: items of a query, 400 bytes | sparql | query",
    "breadth: described nodes | sparql | query", "breadth: repeated steps from a node of a query | sparql | query",
    "depth: a path within itself of SHACL | ttl | shapes", "depth: wrong queries of SHACL | ttl | shapes",
)  # fmt: skip


@pytest.mark.timeout(36_000 if LONG else 300)
@pytest.mark.skipif(SANITIZED or not hasattr(os, "fork"), reason="measures processes that it forks")
def test_every_shape_ends_in_time_and_memory() -> None:
    for package in ("pyoxigraph", "yaml", "pyarrow", "google.protobuf"):
        pytest.importorskip(package)
    code = f"""
import sys, warnings; sys.path.insert(0, {str(Path(__file__).parent)!r}); warnings.simplefilter("ignore")
import law
every = law.cases()
names = [f"{{one.name}} | {{reader}} | {{door}}" for one, reader, door in every]
missing = set({ONCE_BROKEN!r}) - set(names)
assert not missing, missing
chosen = every if {LONG} else every[::{STEP}] + [every[names.index(name)] for name in {ONCE_BROKEN!r}]
law.run(chosen, print)
"""
    done = run_python("-c", code, timeout=35_000 if LONG else 280)
    assert done.returncode == 0, done.stderr[-2000:]
    assert not done.stdout, done.stdout


# ---- each bound, and what people have


def read(document: Any) -> int:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return sum(1 for _ in jelly.read(data, format="jsonld"))


def test_json_ld_has_a_depth_of_its_own() -> None:
    for begin, inner, end in ((b'{"a:p":', b"1", b"}"), (b'{"@graph":[', b'{"@id":"a:x","a:p":1}', b"]}")):
        levels = begin.count(b"{") + begin.count(b"[")
        assert read(begin * (126 // levels) + inner + end * (126 // levels))
        with pytest.raises(JellyLimitError, match="JSON is nested deeper than 128"):
            read(begin * (130 // levels) + inner + end * (130 // levels))
    # Brackets in strings are none.
    assert read({"a:p": "[" * 1000 + '\\"{' * 1000}) == 1


def test_objects_that_repeat_much() -> None:
    many = [1] * 20_000
    deep: Any = {"a:p": many}
    for _ in range(5):
        deep = {"a:p": deep}
    assert read(deep) == 20_000 + 5
    for _ in range(60):
        deep = {"a:p": deep}
    with pytest.raises(JellyLimitError, match="each counted as often"):
        read(deep)


def test_contexts_that_people_have() -> None:
    """A context of 150 KB, terms with contexts of their own, and many nodes that use them."""
    own = {f"t{i}": f"http://example.org/vocabulary#{i}" for i in range(150)}
    context = {f"k{i}": {"@id": f"http://example.org/k{i}", "@context": own} for i in range(20)}
    nodes = [{"@id": f"http://example.org/{i}", "k1": {"t1": "x", "t2": [1, 2]}, "@type": "k2"} for i in range(200)]
    assert len(json.dumps(context)) > 100_000
    assert read({"@context": context, "@graph": nodes}) == 200 * 5
    assert read({"@graph": nodes, "@context": context}) == 200 * 5


def test_a_context_is_found_however_it_is_spelled_and_cut() -> None:
    data = b'{"\\u0040conte\\u0078t" : [{"a":{"@id":"a:b","@context":{}}}], "@context":"x", "x":{"@context": {}}}'
    whole = [data[24:63], data[-4:-2]]
    for size in (1, 3, len(data)):
        scanner = JsonScanner()
        found, parts = [], b""
        for at in range(0, len(data), size):
            piece = data[at : at + size]
            for begin, end, _, ends in scanner.feed(piece):
                parts += piece[begin:end]
                if ends:
                    found.append(parts)
                    parts = b""
        assert [json.loads(text) for text in found] == [[{"a": {"@id": "a:b", "@context": {}}}], {}], whole
        assert scanner.deepest == 5


@pytest.mark.parametrize("container", ["@graph", ["@graph", "@id"]])
@pytest.mark.parametrize("value", [{"@set": []}, {"@list": ["x"]}, {"k": {"@set": []}}, {"s": []}])
@pytest.mark.parametrize("escaped", [False, True])
def test_lists_as_graphs_do_not_end_the_process(container: object, value: object, escaped: bool) -> None:
    context = {"t": {"@id": "a:t", "@container": container}, "s": "@set" if "s" in str(value)[:4] else "a:s"}
    for document in ({"@context": context, "t": value}, {"t": value, "@context": context}):
        data = json.dumps(document).encode()
        if escaped:
            data = data.replace(b"@", b"\\u0040").replace(b"set", b"\\u0073e\\u0074").replace(b'":', b'" \n :')
        for size in (1, 7, len(data)):
            check = guard_json()  # the parser itself would end the tests, too
            pieces = [data[at : at + size] for at in range(0, len(data), size)]
            with pytest.raises(JellyUnsupportedError, match="@list and @set"):
                list(map(check, pieces))
    with pytest.raises(JellyUnsupportedError, match="@list and @set"):
        read(document)
    context["s"] = "a:s"
    fine = {"@context": context, "@id": "a:s", "t": {"a:b": {"a:p": "x"}}, "s": "@set"}
    assert read(fine)


@pytest.mark.parametrize("key", ["k", "\\u006b"])
def test_work_of_contexts_is_counted_at_each_use(key: str) -> None:
    own = ",".join(f'"t{i}":"a:{i}"' for i in range(1500))
    head = f'{{"@context":{{"k":{{"@id":"a:k","@context":{{{own}}}}}}},"@graph":['

    def guarded(uses: int) -> None:
        guard_json()((head + f'{{"{key}":1}},' * uses + "1]}").encode())

    guarded(100)
    with pytest.raises(JellyLimitError, match="contexts of terms"):
        guarded(3000)


LITERAL = (
    "<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:e='http://e/' {}><r:Description>"
    "<e:p {}r:parseType='{}'>{}</e:p></r:Description></r:RDF>"
)


@pytest.mark.parametrize("before", ["", "e:a='>' ", "e:a=\"/>\" "])
def test_xml_literals_that_repeat_namespaces(before: str) -> None:
    names = " ".join(f"xmlns:n{i}='u:{i}'" for i in range(1000))
    data = LITERAL.format(names, before, "Literal", "<a/>" * 8000).encode()
    with pytest.raises(JellyLimitError, match="max_text_bytes"):
        list(jelly.read(data, format="rdf"))
    with pytest.raises(JellyLimitError, match="a message is longer"):
        list(read_messages(data, format="rdf"))
    # What people have is read, also behind a literal with many namespaces.
    few = LITERAL.format(names, "", "Literal", "<a><b/>x</a>" * 20).encode()
    (statement,) = jelly.read(few, format="rdf")
    assert statement[2].value.count("u:999") == 20
    rest = LITERAL.format(names, "", "Collection", "<e:A/>" * 4000).encode()
    assert sum(1 for _ in jelly.read(rest, format="rdf")) == 3 * 4000 + 1


@pytest.mark.parametrize("format", ["jsonld", "rdf"])
def test_blank_lines_are_read_together(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from jelly._formats import syntaxes

    reads = []

    class Counted(syntaxes.PieceFile):
        def read(self, size: int = -1) -> bytes:
            data = super().read(size)
            reads.append(len(data))
            return data

    monkeypatch.setattr(syntaxes, "PieceFile", Counted)
    with pytest.raises(JellyError) as caught:
        list(jelly.read(b"\n" * 100_000 + b" \n" * 50_000 + b"?", format=format))
    assert caught.value.line == 150_001
    assert len(reads) < 1000


# ---- logs


def log(lines: list[Any]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def messages_of(data: Any, **settings: Any) -> tuple[list[list[str]], JellyError | None]:
    found: list[list[str]] = []
    try:
        for message in read_messages(data, format="ndjsonld", **settings):
            found.append([repr(statement) for statement in message])
    except JellyError as error:
        return found, error
    return found, None


def counted_documents(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows with each document that pyoxigraph parses."""
    from jelly._formats.syntaxes import Parsing

    calls: list[int] = []
    parse: Callable[..., Any] = Parsing.parse
    monkeypatch.setattr(Parsing, "parse", lambda *args, **settings: calls.append(1) or parse(*args, **settings))
    return calls


def test_messages_under_one_context_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted_documents(monkeypatch)
    lines: list[Any] = [{"@context": {"a": "b:c", "l": {"@id": "b:l", "@container": "@language"}}}]
    lines += [{"a": {"@id": "_:x", "a": i}} for i in range(300)]
    lines += [[{"a": 1}, {"a": 2}], {}, [], {"@graph": [{"@id": "b:g", "a": 1}]}, {"@context": {"a": "b:d"}, "a": 1}]
    lines += [{"l": {"en-GB": "x"}}, {"l": {"EN-gb": "x"}}, {"l": {"en-GB": "x", "EN-gb": "y"}}]
    together, error = messages_of(log(lines))
    assert error is None
    assert len(together) == len(lines) - 1
    assert len(calls) < 6
    # The same, one by one.
    chunks = [log([line]) for line in lines]
    apart, error = messages_of(iter(chunks))
    assert error is None
    assert len(calls) > 200
    # Other nodes have no label but one that is made up.
    def named(messages: list[list[str]]) -> list[list[str]]:
        return [[re.sub(r"BlankNode\('[^x][^']*'\)", "_", text) for text in message] for message in messages]

    assert named(together) == named(apart)


@pytest.mark.parametrize("at", [0, 1, 150, 299])
def test_a_broken_message_among_those_read_together(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted_documents(monkeypatch)
    lines: list[Any] = [{"@context": {"a": "b:c"}}, *({"a": i} for i in range(300))]
    lines[at + 1] = {"a": {"@id": 5}}
    found, error = messages_of(log(lines))
    assert error is not None
    assert len(found) == at == error.message
    assert error.line == at + 2
    assert len(calls) < 40


@pytest.mark.parametrize(
    ("format", "text", "given"),
    [
        ("ttl", "<a:s> <a:p> <a:o2> .\n<a:s> <\n# @message\n", 0),
        ("ttl", "<a:s> <a:p> <a:o2> .\n<a:s> <\n# @message\n<a:s> <a:p> <a:o> .\n# @message\n", 0),
        ("ttl", "<a:s> <a:p> 1 , # @message\n 2 , # @message\n 3 , <a", 2),
        ("ttl", "<a:s> <a:p> 1 , # @message\n 2 , # @message\n 3 .", 3),
        ("trig", "<a:g> { <a:s> <a:p> 1 . # @message\n <a:s> <a:p> 2 . # @message\n <a:o> , <a", 2),
    ],
)
def test_a_message_is_given_when_all_of_its_text_is_right(format: str, text: str, given: int) -> None:
    found: list[Any] = []
    data = f"<a:s> <a:p> <a:o> .\n# @message\n{text}".encode()
    expected: Any = pytest.raises(JellyError) if given != 3 else contextlib.nullcontext()
    with expected as caught:
        found.extend(read_messages(data, format=format))
    assert len(found) == 1 + given
    assert given == 3 or caught.value.message == 1 + given


def test_an_instruction_in_a_doctype_has_any_text() -> None:
    data = b"<!DOCTYPE a [<?pi don't > ?><!-- ' -->]><a/>\n<!DOCTYPE a [<?pi \"]>?>]><a/>\n"
    for size in (1, 7, len(data)):
        scanner = DocumentScanner()
        found = [each for at in range(0, len(data), size) for each in scanner.feed(data[at : at + size])]
        assert [what for what, _ in found] == ["doctype", "end"] * 2


@pytest.mark.parametrize("digits", ["0x" + "F" * 4000, "0o" + "7" * 5000, "7" * 5000])
def test_integers_of_yaml_that_are_too_long(digits: str) -> None:
    pytest.importorskip("yaml")
    with pytest.raises(JellyLimitError, match="an integer of more than"):
        list(read_messages(f"'a:p': {digits}".encode(), format="yamlld"))
    (message,) = read_messages(f"'a:p': {digits[:3000]}".encode(), format="yamlld")
    assert len(list(message)) == 1


def test_half_characters_in_names_of_variables() -> None:
    with pytest.raises(JellyError, match="half of a surrogate pair"):
        jelly.results.read_results(b'{"head":{"vars":["\\ud800"]},"results":{"bindings":[]}}', format="json")


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
