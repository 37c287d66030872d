"""What is written is what is read, in order, empty messages included, from every format to every other."""

from __future__ import annotations

import contextlib
import io
from itertools import product

import pytest
from messages.canon import canonical
from support.contents import convert_messages

import jelly
from jelly import IRI, BlankNode, Literal, Quad, QuotedTriple, Triple
from jelly.messages import Message, read_messages, write_messages

KINDS = [
    *((format, dialect) for format in ("nt", "nq", "ttl", "trig") for dialect in ("comment", "directive")),
    *((format, "comment") for format in ("jelly", "ndjsonld", "yamlld", "rdfxml")),
]
QUADS = [kind for kind in KINDS if kind[0] in ("nq", "trig", "jelly", "ndjsonld", "yamlld")]
P, X = IRI("http://e/p"), BlankNode("x")
EMPTY: list[Triple] = []
PLAIN = [
    Triple(IRI("http://e/s"), P, Literal("# @message\nMESSAGE\n\"\\ \t'é\u2028---\r]]>&<x/>")),
    Triple(IRI("http://e/s"), IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type"), IRI("http://e/T#@message")),
    Triple(IRI("http://e/s"), P, Literal("12", datatype="http://www.w3.org/2001/XMLSchema#integer")),
    Triple(IRI("http://e/s"), P, Literal("no", language="en-GB")),
]
BNODES = [Triple(X, P, BlankNode("0a")), Triple(X, P, Literal("1")), Triple(IRI("http://e/s"), P, X)]
NAMED = [Quad(IRI("http://e/s"), P, Literal("o"), IRI("http://e/g")), Quad(X, P, X, BlankNode("g")), *BNODES]


def written(sequence, format, dialect):
    out = io.BytesIO()
    assert write_messages(out, sequence, format=format, dialect=dialect) == len(sequence)
    return out.getvalue()


def read(data, format, dialect):
    messages = list(read_messages(data, format=format, dialect=dialect))
    assert [message.index for message in messages] == list(range(len(messages)))
    return [canonical(message) for message in messages]


@pytest.mark.parametrize("target", KINDS, ids="-".join)
@pytest.mark.parametrize("source", KINDS, ids="-".join)
def test_sequences_through_every_pair(source, target):
    for n in range(5):
        for pattern in product((EMPTY, PLAIN), repeat=n):
            sequence = [BNODES if message and i % 2 else message for i, message in enumerate(pattern)]
            data = written(sequence, *source)
            out = io.BytesIO()
            found = convert_messages(
                data, out, format=source[0], dialect=source[1], to=target[0], to_dialect=target[1]
            )
            assert found == (n, sum(map(len, sequence)))
            assert read(out.getvalue(), *target) == list(map(canonical, sequence))


@pytest.mark.parametrize("kind", QUADS, ids="-".join)
def test_sequences_with_named_graphs(kind):
    for n in range(4):
        for sequence in product((EMPTY, PLAIN, BNODES, NAMED), repeat=n):
            assert read(written(sequence, *kind), *kind) == list(map(canonical, sequence))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in QUADS], ids="-".join)
def test_named_graphs_where_there_are_none(kind):
    out = io.BytesIO()
    with jelly.messages.MessageWriter(out, format=kind[0], dialect=kind[1]) as writer:
        writer.write(PLAIN)
        with pytest.raises(ValueError, match="graph"):
            writer.write([*BNODES, *NAMED])
        writer.write(BNODES)
    # Nothing of the second is there, and the writer goes on.
    assert read(out.getvalue(), *kind) == [canonical(PLAIN), canonical(BNODES)]


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_a_message_is_written_as_a_whole_or_not_at_all(kind):
    def broken():
        yield from BNODES
        raise KeyError("source")

    out = io.BytesIO()
    with jelly.messages.MessageWriter(out, format=kind[0], dialect=kind[1]) as writer:
        with pytest.raises(KeyError):
            writer.write(broken(), namespaces=[("e", "http://e/")])
        writer.write(PLAIN)
        with pytest.raises(TypeError):
            writer.write([*BNODES, 5])
    assert writer.messages == 1
    assert writer.statements == len(PLAIN)
    assert read(out.getvalue(), *kind) == [canonical(PLAIN)]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind[0] != "jelly"], ids="-".join)
def test_only_the_message_that_cannot_be_written_is_missing(kind):
    bad = [Triple(IRI("http://e/s"), P, Literal("x", language="e n"))]
    out = io.BytesIO()
    refused, told = [], []
    with jelly.messages.MessageWriter(out, format=kind[0], dialect=kind[1]) as writer:
        for message in (PLAIN, bad, BNODES, bad, EMPTY):
            with contextlib.suppress(jelly.JellyError):
                writer.write(message, note="n")
        # Where messages are written together, the error comes now.
        try:
            writer.flush()
        except jelly.JellyError as error:
            refused.append(error.message)
            told.append(error.reason.partition("; ")[2])
        writer.write(PLAIN)
    assert refused == [1] * (kind[0] in ("nt", "nq"))
    assert told == ["of the messages after it 1 could not be written either"] * len(refused)
    assert read(out.getvalue(), *kind) == list(map(canonical, (PLAIN, BNODES, EMPTY, PLAIN)))
    assert (writer.messages, writer.statements) == (4, 2 * len(PLAIN) + len(BNODES))


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("ttl", "[ <a:p> [] ] <a:p> ( _:anon0 _:x ) , << _:y <a:p> _:x >> .\n# @message\n[] <a:p> 1 .\n"),
        ("ndjsonld", '{"a:p":{"a:p":[{},{"a:p":1}]}}\n{"a:p":{"a:p":"_:anon0"}}\n'),
    ],
)
def test_nodes_without_a_label_are_numbered(format, text):
    """The same text gives the same bytes, and no two nodes become one."""

    def labels(message):
        terms = [term for statement in message for term in statement]
        return sorted({term.value for term in terms if isinstance(term, BlankNode)})

    first, second = (list(read_messages(text.encode(), format=format)) for _ in range(2))
    assert [str(statement) for message in first for statement in message] == [
        str(statement) for message in second for statement in message
    ]
    # The node that is written as _:anon0 comes after one that is called so.
    assert labels(first[0]) == [f"anon{i}" for i in range(4)] + (["anon4", "anon5", "x"] if format == "ttl" else [])
    assert labels(first[1])[0] == "anon0"


def test_no_half_file(tmp_path):
    with contextlib.suppress(KeyError), jelly.messages.MessageWriter(tmp_path / "log.ttl") as writer:
        writer.write(PLAIN)
        raise KeyError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [("nt", "comment"), ("ttl", "comment"), ("jelly", "comment")], ids="-".join)
def test_notes(kind):
    data = written([Message(PLAIN, note="first"), Message([], note="émpty"), Message(BNODES)], *kind)
    assert [message.note for message in read_messages(data, format=kind[0])] == ["first", "émpty", ""]


def test_metadata_stays_in_jelly():
    data = written([Message(PLAIN, metadata={"k": b"\xff"}), Message([], metadata={"l": b""})], "jelly", "comment")
    assert [message.metadata for message in read_messages(data)] == [{"k": b"\xff"}, {"l": b""}]
    out = io.BytesIO()
    convert_messages(data, out, to="nt")
    assert out.getvalue().startswith(b"# @message\n<http://e/s>")


@pytest.mark.parametrize("kind", [("ttl", "comment"), ("trig", "directive"), ("jelly", "comment")], ids="-".join)
def test_prefixes(kind):
    messages = [
        Message(PLAIN, namespaces=[("e", "http://e/")]),
        Message([]),
        Message(PLAIN, namespaces=[("e", "http://e/T#")]),
    ]
    found = list(read_messages(written(messages, *kind), format=kind[0], dialect=kind[1]))
    assert [message.namespaces for message in found] == [[("e", "http://e/")], [], [("e", "http://e/T#")]]
    assert [message.prefixes for message in found] == [{"e": "http://e/"}] * 2 + [{"e": "http://e/T#"}]
    assert list(map(canonical, found)) == list(map(canonical, messages))
    if kind[0] == "ttl":
        text = written(messages, *kind)
        assert text.count(b"@prefix") == 2
        assert b"e:s e:p " in text


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind[0] in ("nt", "trig", "jelly")], ids="-".join)
def test_quoted_triples(kind):
    inner = QuotedTriple(X, P, Literal("o", language="en"))
    message = [Triple(IRI("a:s"), P, QuotedTriple(X, P, inner))]
    [found] = read_messages(written([message], *kind), format=kind[0], dialect=kind[1])
    assert canonical(found) == canonical(message)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_renamed_blank_nodes_can_be_put_together(kind):
    data = written([BNODES, [], BNODES], *kind)
    messages = list(read_messages(data, format=kind[0], dialect=kind[1], rename_blank_nodes=True))
    assert canonical(statement for message in messages for statement in message) == canonical(
        [
            Triple(*(BlankNode(f"{i}{term.value}") if isinstance(term, BlankNode) else term for term in statement))
            for i in range(2)
            for statement in BNODES
        ]
    )
