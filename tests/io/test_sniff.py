"""Errors say what the input looks like; what can be read is never changed by that."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jelly
from jelly import IRI, JellyFormatError, Literal, Triple
from jelly._formats.sniff import HEAD, looks_like
from jelly.cli.commands import cli
from jelly.messages import read_messages
from jelly.patch import Add, Commit, Patch, Start, read_patches
from jelly.patch import dumps as dump_patches

STATEMENT = Triple(IRI("http://e/s"), IRI("http://e/p"), Literal("o"))
JELLY = jelly.dumps([STATEMENT])


def written(format: str) -> bytes:
    out = io.BytesIO()
    jelly.write(out, [STATEMENT], format=format)
    return out.getvalue()


LOOKS: list[tuple[bytes, tuple[str, str] | None]] = [
    (b'<a:s> <a:p> "o" .\n', ("N-Triples", "nt")),
    (b'# a comment\n\n_:b <a:p> "o\\"x"@en .\n_:b <a:p> <a:o> .', ("N-Triples", "nt")),
    (b'\xef\xbb\xbf<a:s> <a:p> "o"^^<a:d> .', ("N-Triples", "nt")),
    (b'<a:s> <a:p> "' + b"x" * 1000, ("N-Triples", "nt")),
    ("<a:s> <a:p> \"{}".format("é" * 1000).encode()[:HEAD], ("N-Triples", "nt")),
    (b'<a:s> <a:p> "o" <a:g> .\n', ("N-Quads", "nq")),
    (b'<a:s> <a:p> "o"@en _:g .\n', ("N-Quads", "nq")),
    (b"@prefix : <http://e/> .\n:a :b :c .", ("Turtle", "ttl")),
    (b"# x\nPREFIX : <http://e/>\n", ("Turtle", "ttl")),
    (b'<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>', ("RDF/XML", "rdf")),
    (b'<?xml version="1.0"?>\n<sparql/>', ("XML", "")),
    (b'<a:root xmlns:a="http://a/">', ("XML", "")),
    (b"<!DOCTYPE html>\n<html>", ("HTML", "")),
    (b'{"@id": "a:s", "a:p": "o"}', ("JSON-LD", "jsonld")),
    (b'[ {"@id": "a:s"}]', ("JSON-LD", "jsonld")),
    (b'{"head": {}}', ("JSON", "")),
    (b"TX .\nA <a:s> <a:p> <a:o> .\n", ("RDF Patch", "rdfp")),
    (b"H id <uuid:1> .\n", ("RDF Patch", "rdfp")),
    (b"PAR1abc", ("a Parquet file", "")),
    (b"ARROW1\0\0", ("an Arrow IPC file", "")),
    (b"\xff\xff\xff\xff\x10\0\0\0", ("an Arrow IPC stream", "")),
    (gzip.compress(JELLY), ("gzip data", "")),
    (b"\x28\xb5\x2f\xfd...", ("zstd data", "")),
    (bz2.compress(JELLY), ("bzip2 data", "")),
    (lzma.compress(JELLY), ("xz data", "")),
    (JELLY, ("Jelly", "jelly")),
    (jelly.dumps([STATEMENT], delimited=False), ("Jelly", "jelly")),
    (dump_patches([Patch([Start(), Add(STATEMENT), Commit()])]), ("Jelly", "jelly")),
    (written("thrift"), ("RDF Thrift", "thrift")),
    (b"hello", None),
    (b"", None),
    (b"\0" * 100, None),
    (b"\x89PNG\r\n\x1a\n", None),
    (b"a,b,c\n1,2,3\n", None),
    (b"<a:s> broken\n", None),
    (b"<urn:x:y> <a:p", None),
]


@pytest.mark.parametrize(("data", "expected"), LOOKS, ids=lambda value: repr(value)[:30])
def test_what_it_looks_like(data: bytes, expected: tuple[str, str] | None) -> None:
    assert looks_like(data[:HEAD]) == expected


def test_any_bytes_can_be_looked_at() -> None:
    source = random.Random(1)
    for data, _ in LOOKS:
        for _ in range(200):
            damaged = bytearray(data[: source.randrange(len(data) + 1)])
            for _ in range(source.randrange(4)):
                damaged.insert(source.randrange(len(damaged) + 1), source.randrange(256))
            looks_like(bytes(damaged[:HEAD]))


def test_real_files_of_jelly_look_like_it() -> None:
    options = jelly.StreamOptions.small(physical_type=1, logical_type=1, stream_name="n" * 200)
    for size in (1, 5, 1000):
        for delimited in (True, False):
            data = jelly.dumps([STATEMENT] * size, options, delimited=delimited)
            assert looks_like(data[:HEAD]) == ("Jelly", "jelly")


def reason(call: Any, *given: Any, **settings: Any) -> str:
    with pytest.raises(JellyFormatError) as caught:
        call(*given, **settings)
    assert caught.value.args == (caught.value.reason,)
    return caught.value.reason


def read(*given: Any, **settings: Any) -> list[Any]:
    return list(jelly.read(*given, **settings))


def test_text_read_as_jelly() -> None:
    text = b'<a:s> <a:p> "o" .\n' * 50
    expected = "it looks like N-Triples"
    for source in (text, io.BytesIO(text), iter([text[:5], text[5:]]), gzip.compress(text)):
        assert reason(read, source).startswith(f"{expected}: read it with format='nt' (")
    assert reason(lambda: jelly.loads(text)).startswith(f"{expected} (")
    assert reason(lambda: jelly.inspect(text)).startswith(expected)
    assert f"{expected} (" in str(jelly.validate(text)[0])
    assert reason(lambda: jelly.convert(text, io.BytesIO())).startswith(f"{expected}: read it with format='nt'")
    assert reason(lambda: list(read_patches(text))).startswith(expected)
    assert reason(lambda: list(read_messages(text))).startswith(f"{expected}: read it with format='nt'")
    assert reason(lambda: list(read_patches(b"TX .\nTC .\n" * 9))).startswith(
        "it looks like RDF Patch: read it with format='rdfp'"
    )
    assert reason(read, b"hello, hello, hello " * 9).endswith("; is it Jelly?")
    assert reason(lambda: list(read_patches(b""))).startswith("the input is empty: ")
    # A patch that is cut off is still one.
    cut = dump_patches([Patch([Start(), Add(STATEMENT), Commit()])])[:-4]
    assert "looks like" not in reason(lambda: list(read_patches(cut)))
    assert reason(read, cut).startswith("it looks like Jelly-Patch (")


def test_others_read_as_text() -> None:
    for data, what in (
        (JELLY, "Jelly: read it with format='jelly'"),
        (b"@prefix : <http://e/> .\n", "Turtle: read it with format='ttl'"),
        (b"PAR1\x15\x04\x15", "a Parquet file"),
    ):
        for format in ("nt", "nq"):
            assert reason(read, data, format=format).endswith(f"; it looks like {what}")
    # What a format reads besides itself is no news.
    assert "looks like" not in reason(lambda: list(jelly.read(b"<a:s> <a:p> <a:o> .\nwrong", format="nq")))
    assert "looks like" not in reason(lambda: list(jelly.read(b"<a:s> <a:p> <a:o> .\nwrong", format="nt")))


def test_others_read_by_pyoxigraph() -> None:
    pytest.importorskip("pyoxigraph")
    for format in ("ttl", "trig", "n3", "rdf", "jsonld"):
        assert "it looks like a Parquet file" in reason(read, b"PAR1\x15\x04 <", format=format)
    assert reason(lambda: list(jelly.read(b'{"@id": "a:b"}', format="ttl"))).endswith("read it with format='jsonld'")
    assert "looks like" not in reason(lambda: list(jelly.read(b"<a:s> <a:p> <a:o> .\nwrong", format="ttl")))


def test_an_empty_input_says_so() -> None:
    for data in (b"", gzip.compress(b"")):
        assert reason(read, data).startswith("the input is empty: the stream does not start with")
    assert reason(lambda: jelly.loads(b"")).startswith("the input is empty")
    assert reason(lambda: jelly.inspect(b"")).startswith("the input is empty")
    assert list(jelly.read(b"", format="nt")) == []


def test_errors_far_from_the_beginning_are_of_that_format() -> None:
    frames = b"".join(jelly.dumps([STATEMENT] * 3) for _ in range(3))
    assert "looks like" not in reason(lambda: list(jelly.read(frames[:-1], joined=True)))


def test_an_absurd_length_gives_no_advice() -> None:
    garbage = b"\xc9\xf3\x8a\xd1\xd2\x81\x2f" + bytes(range(100))
    told = reason(lambda: jelly.loads(garbage))
    assert told == "a frame of 206764727515593 bytes is above the limit of 268435456, and of Protobuf: is it Jelly?"
    possible = b"\x80\x80\x80\x80\x02" + bytes(100)
    assert "raise max_frame_bytes" in reason(lambda: jelly.loads(possible))


def test_the_success_path_guesses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from jelly._formats import sniff

    def looked(head: bytes) -> None:
        raise AssertionError("nobody asked")

    monkeypatch.setattr(sniff, "looks_like", looked)
    assert len(jelly.loads(JELLY)) == len(list(jelly.read(JELLY))) == 1
    assert len(list(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))) == 1


# ---- files with an index


def test_an_index_needs_a_jelly_file(tmp_path: Path) -> None:
    for name, data, told in (
        ("a.jelly.bz2", bz2.compress(JELLY), "the file is compressed (bzip2), so it can only be read from its start: `jelly convert` writes it anew as .jelly, or as .jelly.zst"),  # noqa: E501
        ("a.jelly", b"<a:s> <a:p> <a:o> .", "the file looks like N-Triples: only a Jelly file can have an index"),
        ("b.jelly", b"", "the file is empty: expected Jelly"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        for command in (["index", str(path)], ["slice", str(path), "0:1"]):
            result = CliRunner().invoke(cli, command)
            assert (result.exit_code, result.stderr) == (1, f"error: {path}: {told}\n")
    assert sorted(os.listdir(tmp_path)) == ["a.jelly", "a.jelly.bz2", "b.jelly"]


# ---- on the command line


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["cat", "a.jelly"], "it looks like N-Triples: use --from nt"),
        (["head", "a.jelly"], "it looks like N-Triples: use --from nt"),
        (["convert", "a.jelly", "b.nq"], "it looks like N-Triples: use --from nt"),
        (["stats", "a.jelly"], "it looks like N-Triples: use --from nt"),
        (["inspect", "a.jelly"], "it looks like N-Triples: use --from nt ("),
        (["count", "a.jelly"], "it looks like N-Triples: use --from nt ("),
        (["count", "--messages", "a.jelly"], "message 0: it looks like N-Triples: use --from nt"),
        (["inspect", "--patches", "a.jellyp"], "it looks like RDF Patch: use --from rdfp"),
        (["cat", "j.nt"], "byte 0, line 1: column 1: expected a term as subject, found '>'; it looks like Jelly: "),
    ],
)
def test_the_command_speaks_of_options(
    command: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jelly").write_bytes(b'<a:s> <a:p> "o" .\n' * 50)
    Path("a.jellyp").write_bytes(b"TX .\nTC .\n" * 9)
    Path("j.nt").write_bytes(JELLY)
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 1
    name = "a.jelly" if command[0] == "convert" else command[-1]
    assert result.stderr.startswith(f"error: {name}: {told}"), result.stderr


def test_what_it_looks_like_is_said_once() -> None:
    pytest.importorskip("pyoxigraph")
    from jelly.messages import read_messages

    cases = ((b"<http://a/s> a <a:C> x .", "trig", 0), (b"<?xml?><rdf:RDF/>", "ttl", 1), (b'{"@id":}', "ndjsonld", 0))
    for data, format, times in cases:
        with pytest.raises(jelly.JellyError) as caught:
            list(read_messages(data, format=format))
        assert str(caught.value).count("looks like") == times, format
