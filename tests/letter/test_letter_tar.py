"""TAR archives, each file a message (002, section 3.3), and formats that have no log of their own (section 2)."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import random
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from support.contents import convert_messages
from support.measure import within

import jelly
from jelly._formats.registry import REGISTRY, Content, find
from jelly.messages import MessageReader, MessageWriter, read_messages, write_messages

pytest.importorskip("pyoxigraph")

LINE = b"<a:s> <a:p> <a:o> .\n"
FORMATS = ("jelly", "nt", "nq", "ttl", "trig", "rdf", "jsonld", "n3", "thrift", "protobuf")


def archive(*files: tuple[str, bytes], format: int = tarfile.GNU_FORMAT, **info: Any) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as tar:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            for key, value in info.items():
                setattr(entry, key, value)
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def found(data: bytes, chunk: int = 1 << 20, **settings: Any) -> list[list[str]]:
    chunks = [data[at : at + chunk] for at in range(0, len(data), chunk)]
    return [[str(row) for row in message] for message in read_messages(chunks, format="tar", **settings)]


def broken(data: bytes, **settings: Any) -> tuple[int, jelly.JellyError]:
    """The messages before the error, however the archive is cut, and the error."""
    errors = []
    for chunk in (1 << 20, 100):
        given = []
        chunks = [data[at : at + chunk] for at in range(0, len(data), chunk)]
        with pytest.raises(jelly.JellyError) as caught:
            given += read_messages(chunks, format="tar", **settings)
        assert caught.value.message == len(given)
        errors.append((len(given), caught.value))
    assert str(errors[0][1]) == str(errors[1][1])
    return errors[0]


@pytest.mark.parametrize("chunk", [1 << 20, 1, 100, 512, 700])
def test_each_file_is_a_message(chunk: int) -> None:
    """002-083: in the order of the archive; files of any format, empty ones, compressed ones."""
    data = archive(
        ("d/2.ttl", b"prefix e: <a:> e:s e:p e:o , [] ."),
        ("d/1.nt", b""),
        ("0.nq.gz", gzip.compress(b"<a:s> <a:p> <a:o> <a:g> .")),
        ("./x/..//y.jsonld", b'[{"@id": "a:s", "a:p": [{"@value": "x"}]}]'),
        ("é" * 300 + ".nt", LINE),
    )
    assert found(data, chunk) == [
        ["<a:s> <a:p> <a:o> .", "<a:s> <a:p> _:anon0 ."],
        [],
        ["<a:s> <a:p> <a:o> <a:g> ."],
        ['<a:s> <a:p> "x" .'],
        ["<a:s> <a:p> <a:o> ."],
    ]


def test_blank_nodes_belong_to_their_file() -> None:
    """002-016 in 002-083."""
    data = archive(("0.nt", b"_:b <a:p> _:b ."), ("1.ttl", b"_:b <a:p> [] ."))
    assert found(data, rename_blank_nodes=True) == [["_:m0-b <a:p> _:m0-b ."], ["_:m1-b <a:p> _:m1-anon0 ."]]


@pytest.mark.parametrize("members", FORMATS)
def test_written_in_every_format(members: str, tmp_path: Path) -> None:
    """002-015, 002-020 and 002-083: RDF Thrift, RDF Protobuf and N3 too; empty messages, compression, same bytes."""
    s, p = jelly.IRI("a:s"), jelly.IRI("http://e/p")
    rows = [jelly.Triple(s, p, jelly.BlankNode("b")), jelly.Triple(s, p, jelly.Literal("é\n", language="en-GB"))]
    messages = [[], rows, [], rows[:1], []]
    for suffix in (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.bz2", ".tar.xz"):
        if suffix == ".tar.zst":
            pytest.importorskip("zstandard")
        path = tmp_path / f"x{suffix}"
        assert write_messages(path, messages, members=members) == 5
        read = list(read_messages(path))
        assert [sorted(map(str, message)) for message in read] == [
            sorted(map(str, message)) for message in messages
        ]
    with tarfile.open(tmp_path / "x.tgz") as tar:
        assert tar.getnames() == [f"{i:010d}{find(members).suffixes[0]}" for i in range(5)]
        for message, entry in zip(messages, tar, strict=True):
            data = tar.extractfile(entry).read()  # type: ignore[union-attr]
            assert len(list(jelly.read(data, format=members))) == len(message) if data else not message
    again = io.BytesIO()
    write_messages(again, messages, format="tar", members=members)
    assert again.getvalue() == (tmp_path / "x.tar").read_bytes()


@pytest.mark.parametrize("members", FORMATS)
def test_labels_that_text_cannot_hold(members: str) -> None:
    """002-016 in 002-083: the node has another label, the same one for the same; two labels stay two."""
    p, labels = jelly.IRI("u:p"), ("a b", "a_20b", "esc_a_20b", "c")
    out = io.BytesIO()
    rows = [(jelly.BlankNode(s), p, jelly.BlankNode(o)) for s, o in itertools.product(labels, labels)]
    write_messages(out, [rows], format="tar", members=members)
    (message,) = read_messages(out.getvalue(), format="tar")
    names = {s: row[0].value for (s, _), row in zip(itertools.product(labels, labels), message, strict=True)}
    assert len(set(names.values())) == 4
    expected = [(names[s], names[o]) for s, o in itertools.product(labels, labels)]
    assert sorted((row[0].value, row[2].value) for row in message) == sorted(expected)
    if members in ("nt", "nq"):
        assert names["a b"] == "esc_a_20b"


def test_named_graphs_and_prefixes() -> None:
    """002-083: a file stands for itself, so it has the prefixes that it uses."""
    log = b"prefix e: <http://e/> prefix f: <http://f/> e:g { e:s e:p 1 } #@message\n <a:s> <a:p> e:o . #@message\n"
    out = io.BytesIO()
    assert convert_messages(log, out, format="trig", to="tar", to_members="trig") == (3, 2)
    with tarfile.open(fileobj=io.BytesIO(out.getvalue())) as tar:
        texts = [tar.extractfile(entry).read().decode() for entry in tar]  # type: ignore[union-attr]
    used = [("prefix e:" in text, "prefix f:" in text) for text in texts]
    assert used == [(True, False), (True, False), (False, False)]
    assert found(out.getvalue()) == [
        ['<http://e/s> <http://e/p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> <http://e/g> .'],
        ["<a:s> <a:p> <http://e/o> ."],
        [],
    ]
    assert [dict(m.namespaces) for m in read_messages(out.getvalue(), format="tar")] == [{"e": "http://e/"}, {}, {}]
    with MessageWriter(io.BytesIO(), format="tar", members="ttl") as writer:
        writer.write([])
        with pytest.raises(jelly.JellyError) as caught:
            writer.write([jelly.Quad(*[jelly.IRI("a:x")] * 4)])
    assert caught.value.message == 1


@pytest.mark.parametrize("log", [name for name in REGISTRY[Content.MESSAGES] if name != "tar"])
def test_to_and_from_every_log(log: str) -> None:
    """002-015: five messages, empty ones among them."""
    two = LINE + b'<a:s> <a:p> "x" .'
    data = archive(("0.nt", b""), ("1.nt", LINE), ("2.nt", b""), ("3.nt", two), ("4.nt", b""))
    first, second = io.BytesIO(), io.BytesIO()
    convert_messages(data, first, format="tar", to=log)
    convert_messages(first.getvalue(), second, format=log, to="tar")
    assert [sorted(each) for each in found(second.getvalue())] == [sorted(each) for each in found(data)]


def test_a_format_for_files_without_suffix() -> None:
    """002-083: members= says it."""
    data = archive(("README", LINE), ("x.doc", LINE))
    assert found(data, members="nt") == found(data, members=".ttl") == [["<a:s> <a:p> <a:o> ."]] * 2
    assert "'README': this file has no suffix of a format: pass members=" in str(broken(data)[1])
    assert "'x.doc': unknown suffix '.doc'" in str(broken(archive(("x.doc", LINE)))[1])
    with pytest.raises(jelly.JellyArgumentError, match="members= is for TAR archives"):
        read_messages(b"", format="nt", members="nt")
    with pytest.raises(jelly.JellyArgumentError, match="members= is for TAR archives"):
        write_messages(io.BytesIO(), [], format="nt", members="nt")


def test_the_contexts_of_json_ld() -> None:
    """002-060 in 002-083."""
    document = b'{"@context": "https://c/", "@id": "a:s", "p": "x"}'
    data = archive(("0.jsonld", document))
    assert found(data, contexts={"https://c/": {"p": "a:p"}}) == [['<a:s> <a:p> "x" .']]
    packed = archive(("0.jsonld.gz", gzip.compress(document)))
    assert found(packed, contexts={"https://c/": {"p": "a:p"}}) == [['<a:s> <a:p> "x" .']]
    large = archive(("0.jsonld.gz", gzip.compress(document + b" " * 5000)))
    assert "max_message_bytes" in str(broken(large, max_message_bytes=2000)[1])
    assert "https://c/ is not in the cache" in str(broken(data)[1])


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_archives_of_another_library(format: int) -> None:
    """002-083: against tarfile: random names, sizes, directories, in its three dialects."""
    draw = random.Random(format)
    for _ in range(40):
        files = []
        for _ in range(draw.randrange(6)):
            parts = ["".join(draw.choices("ab.é ", k=draw.choice((1, 9, 45)))) for _ in range(draw.randrange(1, 5))]
            name = "/".join(parts)
            files.append((name + "x.nt", LINE * draw.choice((0, 1, 25, 26, 1000))))
        try:
            data = archive(*files, format=format, mtime=1.5, uname="é")
        except ValueError:
            continue  # too long for ustar
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            expected = [tar.extractfile(entry).read().count(b"\n") for entry in tar]  # type: ignore[union-attr]
        assert [len(message) for message in found(data, draw.choice((1, 511, 513, 10_000)))] == expected


def test_directories_are_passed_over() -> None:
    """002-083: each *file* is a message."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in ("d", "d/x.nt", "e"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.size = (tarfile.REGTYPE, len(LINE)) if name.endswith("nt") else (tarfile.DIRTYPE, 0)
            tar.addfile(entry, io.BytesIO(LINE))
    assert len(found(out.getvalue())) == 1


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (tarfile.LNKTYPE, "a hard link"),
        (tarfile.SYMTYPE, "a symbolic link"),
        (tarfile.FIFOTYPE, "a pipe"),
        (tarfile.CHRTYPE, "a device"),
        (tarfile.GNUTYPE_SPARSE, "a sparse file"),
    ],
)
def test_what_is_no_file_is_refused(kind: bytes, what: str) -> None:
    """002-083: a link could stand for a message; none is left out without a word."""
    n, error = broken(archive(("0.nt", LINE))[:1024] + archive(("1.nt", b""), type=kind, linkname="0.nt"))
    assert n == 1
    assert f"'1.nt' is {what}" in str(error)


def test_sparse_files_of_pax_are_refused() -> None:
    """002-083: their content is not what stands in the archive."""
    data = archive(("0.nt", LINE), format=tarfile.PAX_FORMAT, pax_headers={"GNU.sparse.realsize": "9" * 9})
    assert "'0.nt' is a sparse file" in str(broken(data)[1])


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.size, entry.type = size, kind
    return entry.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (header("0.nt", 1 << 40), "'0.nt' has 1099511627776 bytes; raise max_message_bytes"),
        (header("0.nt", 1 << 62), "raise max_message_bytes"),
        (header("0.nt", -1), "-1 bytes"),
        (header("x", 1 << 30, b"x"), "expected 1048576 at the most"),
        (header("x", 1 << 30, b"L"), "expected 1048576 at the most"),
        (header("x", 1 << 30, b"g"), "expected 1048576 at the most"),
        (header("x", -1, b"K"), "-1 bytes"),
        (header("x", 9, b"x") + b"9999999 a=".ljust(512, b"\0"), "the records of a file in a TAR archive are broken"),
        (header("x", 4, b"x") + b"0 a=".ljust(512, b"\0"), "the records of a file in a TAR archive are broken"),
        (header("x", 9, b"x") + b"no number".ljust(512, b"\0"), "the records of a file in a TAR archive are broken"),
        (header("x", 10, b"x") + b"10 size=-\n".ljust(512, b"\0"), "expected a number"),
        (header("x", 28, b"x") + b"28 size=9999999999999999999\n".ljust(512, b"\0") + header("0.nt", 0), "raise max_"),
        (b"\1" * 512, "no header of a TAR archive"),
        (header("0.nt", 3)[:511], "cut off"),
        (header("0.nt", 3) + b"ab", "cut off"),
        (header("0.nt", 0), "cut off"),
        (header("0.nt", 30000) + bytes(30208), "'0.nt': "),
        (header("0.tar", 512) + bytes(1536), "'0.tar': unknown suffix '.tar'"),
        (header("\udc80\n\x1b[31m.doc", 0) + bytes(1024), r"'\udc80\n\x1b[31m.doc': unknown suffix"),
    ],
    ids=range(19),
)
def test_hostile_headers(data: bytes, message: str) -> None:
    """002-083: sizes, records and names that are wrong, before any memory is taken for them."""
    good = archive(("g.nt", LINE))[:1024]
    n, error = broken(good + data)
    assert n == 1 + (data == header("0.nt", 0))
    assert message in str(error)


def test_limits_of_files() -> None:
    """002-007 in 002-083: of the file, of what it stands for, and of what it expands to."""
    data = archive(("0.nt", LINE * 1000))
    assert len(found(data, max_message_bytes=20_000)[0]) == 1000
    assert "'0.nt' has 20000 bytes; raise max_message_bytes" in str(broken(data, max_message_bytes=19_999)[1])
    short = b"prefix e: <http://" + b"e" * 1000 + b"/> e:s e:p " + b",".join([b"e:o"] * 1000) + b"."
    assert "as N-Quads; raise max_message_bytes" in str(broken(archive(("0.ttl", short)), max_message_bytes=1 << 16)[1])
    bomb = archive(("0.nt.gz", gzip.compress(b"#" * (1 << 25))))
    assert "max_expansion" in str(broken(bomb, max_expansion=1)[1])


def test_the_end_of_an_archive() -> None:
    """002-003: without its end it is cut off; what stands behind the end is no part of it; no bytes are no messages."""
    data = archive(("0.nt", LINE), ("1.nt", LINE))
    assert found(b"") == []
    assert found(bytes(1024)) == []
    assert len(found(data + b"anything" * 1000, 100)) == 2
    for end in (1024, 1030, 1536, 2048):
        n, error = broken(data[:end])
        assert (n, type(error)) == ((1 if end < 2048 else 2), jelly.JellyTruncatedError)


def test_an_error_in_a_file_is_placed() -> None:
    """002-003: file, message and line."""
    n, error = broken(archive(("0.nt", LINE), ("d/1.ttl", b"<a:s> <a:p>\n 'x' oops ."), ("2.nt", LINE)))
    assert (n, error.line) == (1, 2)
    assert "'d/1.ttl': " in error.reason


def test_what_an_archive_is_taken_for(tmp_path: Path) -> None:
    """002-083: its first bytes tell what it is, where something else was expected."""
    with pytest.raises(jelly.JellyError, match="it looks like a TAR archive: read it with format='tar'"):
        list(read_messages(archive(("0.nt", LINE))))


@pytest.mark.parametrize("name", ["thrift", "protobuf", "n3"])
def test_formats_without_a_log(name: str) -> None:
    """002-020: the text defines no delimiter for them; the error says what holds them."""
    for call in (lambda: read_messages(b"", format=name), lambda: write_messages(io.BytesIO(), [], format=name)):
        with pytest.raises(jelly.JellyError, match="RDF Messages defines no log of .*: keep each message in a file"):
            call()
    with pytest.raises(jelly.JellyError, match="messages in JSON-LD are lines of NDJSON-LD"):
        read_messages(b"", format="jsonld")


@pytest.mark.bounded
def test_many_files_take_time_as_their_number() -> None:
    """002-083: 20 000 files at once and in pieces; headers are not looked through again."""
    one = header("0.nt", len(LINE)) + LINE.ljust(512, b"\0")
    for chunk in (1 << 30, 300):
        data = one * 20_000 + bytes(1024)
        parts = [data[at : at + chunk] for at in range(0, len(data), chunk)]
        assert within(20, lambda: sum(len(x.frames) for x in MessageReader(parts, format="tar").batches())) == 20_000  # noqa: B023


def test_a_live_archive() -> None:
    """002-010: a message is given as soon as its last block has come."""
    data = archive(("0.nt", LINE), ("1.nt", LINE))
    reader = MessageReader(b"", format="tar")
    assert [len(list(reader.feed(data[at : at + 512]))) for at in range(0, 2048, 512)] == [0, 1, 0, 1]
    assert list(reader.feed(data[2048:])) + list(reader.close()) == []


def test_the_command_through_a_pipe(tmp_path: Path) -> None:
    """002-083: standard input and output."""
    pytest.importorskip("click")
    (tmp_path / "x.tgz").write_bytes(gzip.compress(archive(("0.ttl", b"<a:s> <a:p> 1 ."), ("1.ttl", b""))))
    run = [sys.executable, "-m", "jelly"]
    with (tmp_path / "x.tgz").open("rb") as file:
        done = subprocess.run(
            [*run, "convert", "--messages", "--from", "tar", "--to", "tar", "--to-members", "thrift", "-", "-"],
            stdin=file,
            capture_output=True,
            check=True,
        )
    with tarfile.open(fileobj=io.BytesIO(done.stdout), mode="r|") as tar:
        assert tar.getnames() == ["0000000000.rt", "0000000001.rt"]
    cat = [*run, "cat", "--messages", "--from", "tar", "-"]
    done = subprocess.run(cat, input=done.stdout, capture_output=True, check=True)
    assert done.stdout.decode() == (
        '# @message\n<a:s> <a:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .\n# @message\n'
    )
    (tmp_path / "y.tar").write_bytes(archive(("0", b"<a:s> <a:p> 1 .")))
    count = [*run, "count", "--json", "--members", "ttl", "y.tar"]
    done = subprocess.run(count, cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(done.stdout) == [{"file": "y.tar", "messages": 1, "statements": 1}]


def test_memory_stays_flat() -> None:
    """002-011 in 002-083: a hundred thousand files, none of which is kept."""
    one = header("0.nt", len(LINE)) + LINE.ljust(512, b"\0")
    reader = MessageReader(itertools.chain(itertools.repeat(one * 100, 300), [bytes(1024)]), format="tar")
    for batch in reader.batches():
        assert len(batch.frames) <= 100
    assert reader.messages == 30_000


def test_damaged_headers_give_our_errors_only() -> None:
    """002-083: bytes of headers are changed, and the sum that guards them is made right again."""
    draw = random.Random(83)
    files = (("0.nt", LINE), ("é" * 200 + ".ttl", LINE), ("1.rt", b""))
    whole = [archive(*files, format=format) for format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)]
    refused = 0
    for _ in range(2000):
        data = bytearray(draw.choice(whole))
        for _ in range(draw.randrange(1, 4)):
            at = draw.randrange(9) * 512
            data[at + draw.randrange(512)] = draw.choice((0, 0x20, 0x31, 0x80, 0xFF, draw.randrange(256)))
            total = sum(data[at : at + 148]) + 8 * 0x20 + sum(data[at + 156 : at + 512])
            data[at + 148 : at + 156] = b"%06o\0 " % total
        try:
            found(bytes(data))
        except jelly.JellyError:
            refused += 1
    assert 100 < refused < 1900
