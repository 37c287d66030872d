"""Jelly frames as messages; the streams are made by hand (craft)."""

from __future__ import annotations

import io

import pytest
from click.testing import CliRunner
from messages.canon import canonical
from support.contents import convert_messages

import jelly
from jelly import IRI, BlankNode, Literal, LogicalType, PhysicalType, StreamOptions, Triple
from jelly.cli.commands import cli
from jelly.messages import Message, MessageWriter, read_messages, write_messages

B = Triple(BlankNode("b"), jelly.IRI("a:p"), Literal("o"))


def stream(frames, logical, physical=PhysicalType.TRIPLES, **settings):
    """A stream with these frames, the options in the first of them."""
    out = io.BytesIO()
    kind = StreamOptions(physical, logical, rdf_star=True)
    with jelly.Writer(out, kind, frame_rows=0, frame_bytes=0, **settings) as writer:
        for statements in frames:
            writer.extend(statements)
            writer.end_frame()
    return out.getvalue()


@pytest.mark.parametrize(
    "logical", [LogicalType.GRAPHS, LogicalType.SUBJECT_GRAPHS, LogicalType.UNSPECIFIED], ids=lambda kind: kind.name
)
@pytest.mark.parametrize(
    "frames", [[[B], [B]], [[B], [], [B]], [[], [B]], [[], []], [[B]]], ids=lambda f: str([len(x) for x in f])
)
def test_a_frame_is_a_message(frames, logical):
    found = list(read_messages(stream(frames, logical), rename_blank_nodes=True))
    assert [len(message) for message in found] == [len(frame) for frame in frames]
    subjects = [statement.s for message in found for statement in message]
    assert len(set(subjects)) == len(subjects)


@pytest.mark.parametrize("logical", [LogicalType.NAMED_GRAPHS, LogicalType.DATASETS], ids=lambda kind: kind.name)
@pytest.mark.parametrize("physical", [PhysicalType.QUADS, PhysicalType.GRAPHS], ids=lambda kind: kind.name)
def test_a_frame_is_a_dataset(logical, physical):
    quads = [jelly.Quad(*B, jelly.IRI("a:g")), jelly.Quad(*B, jelly.IRI("a:h"))]
    found = list(read_messages(stream([quads, quads[1:], [], quads], logical, physical)))
    assert [canonical(message) for message in found] == [canonical(x) for x in (quads, quads[1:], [], quads)]


def test_flat_streams_are_refused():
    data = stream([[B], [B]], LogicalType.FLAT_TRIPLES)
    with pytest.raises(jelly.JellyOptionsError, match="FLAT_TRIPLES"):
        list(read_messages(data))
    assert [len(message) for message in read_messages(data, force=True)] == [1, 1]
    with pytest.raises(jelly.JellyOptionsError, match="FLAT_QUADS"):
        MessageWriter(io.BytesIO(), options=StreamOptions(2, LogicalType.FLAT_QUADS))


def test_one_bare_frame():
    data = stream([[B, B]], LogicalType.GRAPHS, delimited=False)
    assert [len(message) for message in read_messages(data)] == [2]


def test_no_messages_are_no_bytes():
    out = io.BytesIO()
    assert write_messages(out, []) == 0
    assert out.getvalue() == b""
    assert list(read_messages(b"")) == []


def test_the_logical_type_that_is_written():
    out = io.BytesIO()
    write_messages(out, [[B], []])
    assert jelly.read_options(out.getvalue()).logical_type == LogicalType.DATASETS
    out = io.BytesIO()
    convert_messages(b"<a:s> <a:p> <a:o> .", out, format="nt")
    assert jelly.read_options(out.getvalue()).logical_type == LogicalType.GRAPHS
    again = io.BytesIO()
    data = stream([[B], []], LogicalType.SUBJECT_GRAPHS)
    convert_messages(data, again)
    assert jelly.read_options(again.getvalue()).logical_type == LogicalType.SUBJECT_GRAPHS


def test_a_broken_frame_is_not_given_in_part():
    data = stream([[B], [B, Triple(BlankNode("c"), jelly.IRI("a:q"), Literal("o"))]], LogicalType.GRAPHS)
    for end in range(1, len(data)):
        found = []
        wrong = None
        try:
            for message in read_messages(data[:end]):
                found.append(len(message))
        except jelly.JellyError as error:
            wrong = error.message
        assert wrong in (None, len(found))
        assert found in ([], [1])


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_chunks(size):
    data = stream([[B], [], [B, B]], LogicalType.GRAPHS)
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    assert [len(message) for message in read_messages(chunks)] == [1, 0, 2]


def numbered_messages(n):
    return [[Triple(IRI(f"a:{i}"), IRI("a:p"), Literal(str(j))) for j in range(i % 4)] for i in range(n)]


def test_columns_have_several_messages_in_a_frame(tmp_path):
    """Of a file without metadata, which belongs to a frame; a stream that others read gets each message at once."""
    path, noted, live = tmp_path / "x.jelly", tmp_path / "noted.jelly", io.BytesIO()
    made = numbered_messages(200)
    write_messages(path, made, options={"version": 3})
    with MessageWriter(noted, options={"version": 3}) as writer:
        for i, message in enumerate(made):
            writer.write(message, note="here" if i == 50 else "")
    with MessageWriter(live, format="jelly", options=StreamOptions(version=3)) as writer:
        for i, message in enumerate(made):
            writer.write(message)
            writer.flush()
            assert len(list(read_messages(live.getvalue(), format="jelly"))) == i + 1
    assert jelly.inspect(path).n_frames == 1
    for file in (path, noted, live.getvalue()):
        read = list(read_messages(file, format="jelly"))
        assert [[(*each[:3],) for each in message] for message in read] == [[(*each,) for each in m] for m in made]
        assert [i for i, message in enumerate(read) if message.note] == ([50] if file == noted else [])
    with pytest.raises(jelly.JellyLimitError, match="max_frame_rows"):
        list(read_messages(path, max_frame_rows=10))


def test_options_that_are_not_given_are_chosen(tmp_path):
    path, back = tmp_path / "x.jelly", tmp_path / "y.jelly"
    write_messages(path, numbered_messages(5), options={"version": 3, "stream_name": "five"})
    convert_messages(path, back, options={"version": 3, "stream_name": "five"})
    for file in (path, back):
        options = jelly.read_options(file)
        assert (options.version, options.stream_name, options.logical_type.name) == (3, "five", "DATASETS")
    with pytest.raises(jelly.JellyOptionsError, match="FLAT_TRIPLES"):
        MessageWriter(io.BytesIO(), format="jelly", options={"logical_type": 1})
    with pytest.raises(jelly.JellyArgumentError, match="did you mean 'version'"):
        write_messages(io.BytesIO(), numbered_messages(5), format="jelly", options={"versoin": 3})


@pytest.mark.parametrize("format", ["nt", "ttl"])
def test_a_note_that_is_no_text_can_be_read_again(format):
    if format == "ttl":
        pytest.importorskip("pyoxigraph")
    out = io.BytesIO()
    message = Message([], metadata={"rdfm.note": b"a\xff"})
    write_messages(out, [message], format=format)
    assert [again.note for again in read_messages(out.getvalue(), format=format)] == [message.note] == ["a\ufffd"]


def test_a_log_of_columns_stays_one(tmp_path):
    """Its triple terms are those of RDF 1.2, which rows do not have."""
    term = jelly.QuotedTriple(*[jelly.IRI("a:s")] * 3)
    made = [[jelly.Quad(jelly.IRI("a:s"), jelly.IRI("a:p"), term, jelly.IRI("a:g"))]] * 4
    log, path = tmp_path / "log.jelly", tmp_path / "x.jelly"
    write_messages(log, made, options={"version": 3, "stream_name": "n"})

    def check(kept=0):
        options = jelly.read_options(path)
        assert (options.version, options.stream_name) == (3, "n" * kept)
        assert [message.statements for message in read_messages(path)][-4:] == made
        path.unlink()

    jelly.convert(log, path, content="messages")
    check(1)
    assert write_messages(path, read_messages(log)) == 4
    check()
    with MessageWriter(path) as writer:
        for batch in jelly.messages.MessageReader(log).batches():
            writer.add_batch(batch)
    check()
    for arguments in (["convert", log, log], ["slice", log, ":4", "-o"]):
        done = CliRunner().invoke(cli, [*map(str, [*arguments, path]), "--messages"])
        assert done.exit_code == 0, done.output
        check()
    with pytest.raises(jelly.JellyOptionsError, match="triple terms of RDF 1.2"):
        jelly.convert(log, path, content="messages", options={"version": 2})
    jelly.convert(log, path, content="messages", to="jelly", options=StreamOptions(version=3, stream_name="n"))
    check(1)
