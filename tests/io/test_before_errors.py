"""What comes before an error is given before it is raised, however the input is cut."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

import jelly
from jelly import IRI, Literal, Triple
from jelly.messages import MessageReader, MessageWriter

STATEMENT = Triple(IRI("http://e/s"), IRI("http://e/p"), Literal("o"))


def in_chunks(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]


def broken_source(data: bytes, size: int) -> Iterator[bytes]:
    yield from in_chunks(data, size)
    raise jelly.JellyFormatError("broken source")


@pytest.mark.parametrize("format", ["thrift", "protobuf"])
@pytest.mark.parametrize("rows", [1, 5])
def test_rows_of_results(format: str, rows: int) -> None:
    out = io.BytesIO()
    jelly.results.write_results(out, ["x"], [[Literal(str(i))] for i in range(rows)], format=format)
    data = out.getvalue()
    for size in (1, 7, len(data)):
        found: list[object] = []
        with pytest.raises(jelly.JellyFormatError, match="broken source"):
            found.extend(jelly.results.read_results(broken_source(data, size), format=format))
        assert len(found) == rows


def namespaces(src: object, format: str) -> tuple[list[tuple[str, str]], int]:
    batches: list[jelly.Batch] = []
    with pytest.raises(jelly.JellyError):
        batches.extend(jelly.scan(src, format=format).batches())
    return [(name, iri) for batch in batches for _, _, name, iri in batch.namespaces], sum(map(len, batches))


@pytest.mark.parametrize("statements", [0, 1])
@pytest.mark.parametrize("format", ["jelly", "thrift", "protobuf", "ttl", "trig", "n3", "rdf"])
def test_namespaces(format: str, statements: int) -> None:
    if format in ("jelly", "thrift", "protobuf"):
        out = io.BytesIO()
        with jelly.Writer(out, format=format) as writer:
            writer.namespace("e", "http://e/")
            for _ in range(statements + 1):
                writer.add(STATEMENT)
        whole = out.getvalue()
        # Jelly is read frame by frame: its last row is damaged, not cut off.
        data = whole[:-1] + b"\xff" * (format == "jelly")
    elif format == "rdf":
        row = b'<rdf:Description rdf:about="http://e/s"><e:p>o</e:p></rdf:Description>\n' * statements
        head = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">\n'
        data = head + row + b'<rdf:Description rdf:ID="a b"/>\n</rdf:RDF>'
    else:
        data = b"@prefix e: <http://e/> .\n" + b'e:s e:p "o" .\n' * statements + b"e:s e:p !! .\n"
    expected = namespaces(data, format)
    assert ("e", "http://e/") in expected[0]
    for size in (1, 3, 10):
        assert namespaces(in_chunks(data, size), format) == expected


def log(frames: int, **options: object) -> bytes:
    out = io.BytesIO()
    if options:
        with jelly.Writer(out, jelly.StreamOptions(**options)) as flat:  # type: ignore[arg-type]
            flat.add(STATEMENT)
    else:
        with MessageWriter(out, format="jelly") as writer:
            for i in range(frames):
                writer.write([STATEMENT] * (i % 2))
    return out.getvalue()


LOGS = {
    "messages": log(4),
    "empty first frames": b"\0\0" + log(4),
    "flat": log(1, physical_type=jelly.PhysicalType.TRIPLES, logical_type=jelly.LogicalType.FLAT_TRIPLES),
    "cut": b"\0" + log(4)[:-3],
    "no options": b"\0\0\0",
    "garbage": b"\0\0" + b"\x05hello",
}
LOGS["empty first frames of flat"] = b"\0\0\0" + LOGS["flat"]


@pytest.mark.parametrize("data", LOGS.values(), ids=LOGS)
@pytest.mark.parametrize("trailing", [b"", b"\0"])
def test_messages_do_not_depend_on_chunks(data: bytes, trailing: bytes) -> None:
    def read(size: int) -> tuple[list[int], str, int]:
        reader = MessageReader(in_chunks(data + trailing, size), format="jelly")
        found: list[int] = []
        try:
            for message in reader:
                found.append(len(message))
        except jelly.JellyError as error:
            return found, str(error), reader.messages
        return found, "", reader.messages

    first = read(1 << 20)
    for size in range(1, len(data) + 1):
        assert read(size) == first


def test_frames_without_end_before_the_options() -> None:
    with pytest.raises(jelly.JellyFormatError, match="no stream options"):
        for _ in MessageReader(bytes(1 << 16) for _ in range(1 << 10)):
            pass
