"""RDF Thrift and RDF Protobuf as formats like any other: files, convert, command, Arrow, prefixes, real data."""

from __future__ import annotations

import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.chance import LONG
from support.rowcraft import ENCODINGS, read, sample, statements, write, write_statements
from support.shared import shared

import jelly
from jelly import (
    IRI,
    BlankNode,
    JellyError,
    JellyOptionsError,
    JellyUnsupportedError,
    Literal,
    PhysicalType,
    Quad,
    Triple,
)
from jelly._core.jena.reader import BinaryReader

XSD = "http://www.w3.org/2001/XMLSchema#"
NAMES = {
    "thrift": (".rt", ".trdf", "application/rdf+thrift"),
    "protobuf": (".rpb", ".pbrdf", "application/rdf+protobuf"),
}
TRIPLES = [Triple(IRI(f"http://e/{i}"), IRI("http://e/p#q"), Literal(str(i), language="en-GB")) for i in range(100)]
QUADS = [Quad(*triple, None if i % 3 else IRI("http://e/g")) for i, triple in enumerate(TRIPLES)]
# Whether values may be written: the statements are then others.
NUMBERS = ("integer", "long", "int", "short", "byte", "decimal", "double")


@pytest.mark.parametrize("encoding", NAMES)
def test_files(encoding: str, tmp_path: Path) -> None:
    *suffixes, media_type = NAMES[encoding]
    for suffix in (*suffixes, *(s + c for s in suffixes for c in (".gz", ".zst", ".bz2", ".xz"))):
        path = tmp_path / f"x{suffix}"
        assert jelly.write(path, TRIPLES) == 100
        assert list(jelly.read(path)) == TRIPLES
        with jelly.Reader(path) as reader:
            assert reader.format.name == encoding
    data = io.BytesIO()
    jelly.write(data, QUADS, format=media_type)
    assert list(jelly.read(data.getvalue(), format=suffix_of(encoding))) == QUADS
    assert [len(frame) for frame in jelly.scan(data.getvalue(), format=encoding).frames()] == [100]
    with pytest.raises(JellyUnsupportedError, match="cannot be skipped"):
        jelly.Reader(b"", format=encoding, on_error="skip")
    bad = tmp_path / f"bad{suffixes[0]}"
    bad.write_bytes(data.getvalue()[:-3])
    with pytest.raises(jelly.JellyTruncatedError) as caught:
        list(jelly.read(bad))
    assert caught.value.source == str(bad)


def suffix_of(encoding: str) -> str:
    return NAMES[encoding][0].removeprefix(".")


@pytest.mark.parametrize("encoding", NAMES)
def test_convert(encoding: str, tmp_path: Path) -> None:
    text, binary, other, back = (tmp_path / name for name in ("x.nq", "x.jelly", f"y{NAMES[encoding][0]}", "z.nq"))
    for items, physical in ((TRIPLES, PhysicalType.TRIPLES), (QUADS, PhysicalType.QUADS)):
        text.write_text("".join(f"{item}\n" for item in items))
        jelly.convert(text, other)
        jelly.convert(other, binary)
        assert jelly.read_options(binary).physical_type == physical
        assert jelly.read_options(binary).version == 1  # there are no prefixes
        again = tmp_path / f"again{NAMES[encoding][0]}"
        jelly.convert(binary, again)
        assert again.read_bytes() == other.read_bytes()
        jelly.convert(again, back)
        assert back.read_text() == text.read_text()
    # Quads far behind the triples.
    jelly.write(other, [*(Quad(*triple, None) for triple in TRIPLES * 400), QUADS[0]])
    assert jelly.convert(other, binary).statements == 40_001
    assert jelly.read_options(binary).physical_type == PhysicalType.QUADS
    with pytest.raises(JellyOptionsError, match="a quad in a named graph cannot go into a stream of triples"):
        jelly.convert(other, tmp_path / "t.jelly", options={"physical_type": PhysicalType.TRIPLES})
    assert not (tmp_path / "t.jelly").exists()


def test_prefixes_travel(tmp_path: Path) -> None:
    names = [("ex", "http://e/p#"), ("", "http://e/")]
    late = ("late", "urn:x:")
    first = tmp_path / "x.rt"
    with jelly.Writer(first, prefixes=dict(names)) as writer:
        writer.extend(TRIPLES)
        writer.namespace(*late)
        writer.add(Triple(IRI("urn:x:1"), IRI("urn:x:2"), IRI("urn:x:3")))
    reader = BinaryReader("thrift")
    list(reader.feed(first.read_bytes()))
    assert reader.prefixes == dict([*names, late])
    short = first.stat().st_size
    path = first
    for name in ("y.jelly", "y.rpb", "z.jelly", "z.rt"):
        jelly.convert(path, tmp_path / name)
        path = tmp_path / name
    assert path.read_bytes() == first.read_bytes()
    jelly.convert(first, tmp_path / "long.rt", writing={"shorten": False})
    jelly.convert(first, tmp_path / "short.rpb", writing={"shorten": True})
    assert short < (tmp_path / "long.rt").stat().st_size
    assert (tmp_path / "short.rpb").stat().st_size < (tmp_path / "y.rpb").stat().st_size
    assert statements(read("protobuf", (tmp_path / "short.rpb").read_bytes())) == statements(
        read("thrift", first.read_bytes())
    )


def test_base(tmp_path: Path) -> None:
    path = tmp_path / "x.rpb"
    with jelly.Writer(path, base="http://b/") as writer:
        writer.add(TRIPLES[0])
    assert path.read_bytes().startswith(bytes.fromhex("0d220b0a09687474703a2f2f622f"))
    assert list(jelly.read(path)) == TRIPLES[:1]
    with jelly.Writer(path, base="http://b/") as writer:
        pass
    assert path.read_bytes() == bytes.fromhex("0d220b0a09687474703a2f2f622f")


def test_arrow(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path, again = tmp_path / "x.rt", tmp_path / "y.rpb"
    jelly.write(path, QUADS)
    table = jelly.read_arrow(path).read_all()
    assert table.column("graph").to_pylist()[:4] == ["http://e/g", None, None, "http://e/g"]
    jelly.write_arrow(again, table)
    assert list(jelly.read(again)) == QUADS
    # Batches of triples first, of quads then.
    jelly.write(path, [*(Quad(*triple, None) for triple in TRIPLES), QUADS[0]])
    table = jelly.read_arrow(path, batch_rows=50).read_all()
    assert table.column("graph").to_pylist() == [None] * 100 + ["http://e/g"]


def test_command(tmp_path: Path) -> None:
    testing = pytest.importorskip("click.testing")
    from jelly.cli.commands import cli

    run = testing.CliRunner().invoke
    graph, quads, text = (str(tmp_path / name) for name in ("x.rt", "x.rpb", "x.nq"))
    jelly.write(quads, QUADS)
    assert run(cli, ["convert", quads, graph, "-q"]).exit_code == 0
    assert run(cli, ["convert", graph, text, "--from", "thrift", "-q"]).exit_code == 0
    assert list(jelly.read(text)) == QUADS
    assert run(cli, ["count", graph]).output.split()[0] == "100"
    # Results.
    srt, srj, bad = (str(tmp_path / name) for name in ("r.srt", "r.srj", "r.bad"))
    jelly.results.write_results(srt, ["x"], [[Literal("a\tb")], [None]])
    done = run(cli, ["convert", srt, srj])
    assert (done.exit_code, done.stderr) == (0, "2 rows\n")
    assert list(jelly.results.read_results(srj)) == [(Literal("a\tb"),), (None,)]
    done = run(cli, ["cat", srj])
    assert (done.exit_code, done.output) == (0, '?x\n"a\\tb"\n\n')
    assert run(cli, ["cat", srt, "--to", "csv"]).stdout_bytes == b"x\r\na\tb\r\n\r\n"
    done = run(cli, ["convert", srt, bad])
    assert done.exit_code == 2
    assert "--to" in done.stderr
    Path(srt).write_bytes(Path(srt).read_bytes()[:-1])
    done = run(cli, ["convert", srt, srj])
    assert done.exit_code == 1
    assert "the input ends inside a row" in done.stderr


# ---- values


def literals(*pairs: tuple[str, str]) -> list[Quad]:
    return [Quad(IRI("a:s"), IRI("a:p"), Literal(text, datatype=XSD + kind), None) for text, kind in pairs]


def test_values_that_are_kept_right() -> None:
    # Jena writes the low 64 bits of the first four, and reads the others as Java's "Infinity".
    kept = literals(
        ("99999999999999999999", "integer"), ("9223372036854775808", "integer"), ("-9223372036854775809", "long"),
        ("123456789012345678.901", "decimal"), ("INF", "double"), ("-INF", "double"), ("1e400", "double"),
        ("128", "byte"), ("4.0", "integer"), ("1", "float"), ("x", "double"),
    )  # fmt: skip
    data = write_statements("thrift", kept, values=True)
    assert data == write_statements("thrift", kept)
    assert statements(read("thrift", data)) == kept
    changed = literals(("+7", "integer"), ("-1", "long"), ("1.50", "double"), ("123.60", "decimal"), ("NaN", "double"))
    data = write_statements("thrift", changed, values=True)
    assert len(data) < len(write_statements("thrift", changed)) - 5 * 35
    assert statements(read("thrift", data)) == literals(
        ("7", "integer"), ("-1", "integer"), ("1.5", "double"), ("123.60", "decimal"), ("NaN", "double")
    )


def by_value(statement: Any) -> tuple[Any, ...]:
    """A statement with the value of a number in the place of its text."""

    def of(term: Any) -> Any:
        if isinstance(term, jelly.QuotedTriple):
            return tuple(map(of, term))
        if isinstance(term, Literal) and term.datatype.value.removeprefix(XSD) in NUMBERS:
            try:
                return float(term.value) if term.datatype.value == XSD + "double" else Decimal(term.value)
            except (ValueError, ArithmeticError):
                return term
        return term

    return tuple(map(of, statement))


# ---- real data

FILES = sorted(
    path
    for path in shared("data").rglob("*")
    if path.name.endswith((".nt.gz", ".nq.gz", ".nt", ".nq")) and "cases" not in path.parts
)
PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": XSD,
    "": "http://purl.obolibrary.org/obo/",
    "schema": "https://schema.org/",
    "dbr": "http://dbpedia.org/resource/",
    "odd": "http://dbpedia.org/resource/A",
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_data(path: Path) -> None:
    """The first statements of each file, and all of them with JELLY_LONG=1."""
    batches: list[Any] = []
    try:
        for batch in jelly.scan(path, batch_rows=10_000).batches():
            if LONG or sum(map(len, batches)) < 20_000:
                batches.append(batch)
    except JellyError:
        pytest.skip("a file that is meant to be wrong")
    text = lines(batches)
    for encoding in NAMES:
        for settings in ({}, {"prefixes": PREFIXES, "shorten": True}):
            data = write(encoding, batches, **settings)
            found = read(encoding, data)
            assert lines(found) == text
            # The prefixes come again with the Batches.
            assert write(encoding, found, shorten=bool(settings) or encoding == "thrift") == data
    data = write("thrift", batches, values=True, prefixes=PREFIXES)
    found = read("thrift", data)
    assert write("thrift", found, values=True) == data
    if len(text) < 1 << 21:
        assert list(map(by_value, statements(found))) == list(map(by_value, statements(batches)))


def lines(batches: Any) -> bytes:
    from jelly._core.ntriples.text import TextWriter

    writer = TextWriter(quads=True)
    return b"".join(map(writer.encode, batches))


def test_sample_of_every_kind() -> None:
    for craft in ENCODINGS:
        batches = read(craft.name, sample(craft))
        for other in ENCODINGS:
            assert statements(read(other.name, write(other.name, batches))) == statements(batches)


def test_blank_labels_and_odd_iris() -> None:
    odd = [
        Quad(BlankNode(label), IRI(iri), BlankNode(label), None)
        for label in ("a b", "", "\u00e9<>")
        for iri in ("", "x y", "#")
    ]
    for craft in ENCODINGS:
        assert statements(read(craft.name, write_statements(craft.name, odd, prefixes={"": ""}, shorten=True))) == odd
