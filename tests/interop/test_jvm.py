"""Jelly-JVM reads what we write, and we read what it writes. Between the two stands text: N-Quads, frames ended by
comments.

Statements are compared in their order, with blank nodes renamed one to one. Jena changes the case of language tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from interop.peer import Peer
from support.shared import shared

import jelly
from jelly import IRI, BlankNode, Literal, LogicalType, PhysicalType, Quad, QuotedTriple, StreamOptions, Triple

pytestmark = pytest.mark.interop

TEXTS = [
    "triples/nt-syntax-subm-01.nt",
    "triples/p2_ontology.nt",
    "triples/rdf-star.nt",
    "triples/rdf-star-blanks.nt",
    "triples/rdf-stax-1-1-2.nt",
    "triples/riverbench-assist-iot-weather-1-0-2.nt",
    "triples/weather.nt",
    "quads/nanopub-rdf-stax.nq",
    "quads/nq-syntax-tests.nq",
    "quads/weather-quads.nq",
    "hostile to small tables",
]
TABLES = {
    "big": (4000, 150, 32),
    "small": (128, 16, 16),
    "8/4/1": (8, 4, 1),
    "8/2/1": (8, 2, 1),
    "8/1/1": (8, 1, 1),
    "8/0/1": (8, 0, 1),
}
# Jelly-JVM 3.7.1 evicts prefixes that the statement being written still uses: with so few, what it writes is wrong for
# every reader. Then we must read what it reads itself.
STARVED = "8/2/1", "8/1/1"


def hostile() -> list[Quad]:
    """Each statement asks for more prefixes, names or datatypes than the smallest tables hold."""

    def iri(i: int) -> IRI:
        return IRI(f"http://{i % 5}.example/{i % 3}/name{i % 11}")

    terms: list[Any] = [
        Literal(""),
        Literal('tab\t line\n return\r quote" backslash\\ \x00 \x7f \u00e9 \u4e16 \U0001f30d'),
        BlankNode("b.1"),
        IRI("urn:x"),
        IRI("http://example.org/#"),
        IRI("http://example.org/caf\u00e9?a=b&c=d#e/f"),
    ]
    for i in range(120):
        terms.append(Literal(str(i), datatype=iri(i)))
        terms.append(Literal("\u00fc", language=("de", "en-gb", "zh-Hant-TW")[i % 3]))
        terms.append(iri(3 * i))
    graphs = [None, IRI("http://graph.example/g"), BlankNode("g"), iri(4)]
    return [Quad(iri(i), iri(i * 7), term, graphs[i // 3 % 4]) for i, term in enumerate(terms)]


@cache
def statements(name: str) -> list[Any]:
    if name == "hostile to small tables":
        return hostile()
    return list(jelly.read(shared("data", "jelly-samples", "jelly-jvm/integration-tests/src/test/resources", name)))


def plain(frames: Iterable[Iterable[Any]]) -> list[list[tuple[Any, ...]]]:
    """Frames of statements as data to compare: blank nodes as numbers, in the order of their coming."""
    numbers: dict[str, int] = {}

    def of(term: Any) -> Any:
        if isinstance(term, BlankNode):
            return numbers.setdefault(term.value, len(numbers))
        if isinstance(term, QuotedTriple):
            return tuple(map(of, term))
        if isinstance(term, Literal) and term.language:
            return term.value, term.language.lower()
        return term

    return [[tuple(map(of, statement)) for statement in frame] for frame in frames]


def of_arity(physical: PhysicalType, items: Iterable[Any]) -> list[Any]:
    """The statements as triples or quads, as the stream wants them."""
    if physical == PhysicalType.TRIPLES:
        return [Triple(*tuple(item)[:3]) for item in items]
    return [Quad(*item) for item in items]


@cache
def taken(name: str, physical: PhysicalType) -> tuple[list[Any], list[list[tuple[Any, ...]]]]:
    """The statements of a text as the stream wants them, and as data to compare."""
    found = of_arity(physical, statements(name))
    return found, plain([found])


def make_options(physical: PhysicalType, tables: str = "small", **changes: Any) -> StreamOptions:
    names, prefixes, datatypes = TABLES[tables]
    flat = LogicalType.FLAT_TRIPLES if physical == PhysicalType.TRIPLES else LogicalType.FLAT_QUADS
    return StreamOptions(
        physical_type=physical,
        logical_type=changes.pop("logical", flat),
        rdf_star=True,
        max_name_table_size=names,
        max_prefix_table_size=prefixes,
        max_datatype_table_size=datatypes,
        **changes,
    )


def settings(options: StreamOptions, frame: int = 256, prefixes: Iterable[tuple[str, str]] = ()) -> str:
    """The options in the words of the peer."""
    sizes = options.max_name_table_size, options.max_prefix_table_size, options.max_datatype_table_size
    words = [
        f"physical={options.physical_type.name}",
        f"logical={options.logical_type.name}",
        "star=true",
        f"tables={'/'.join(map(str, sizes))}",
        f"frame={frame}",
    ]
    return ";".join([*words, *(f"prefix={name}:{iri}" for name, iri in prefixes)])


class Exchange:
    """Files that go to the peer and come back."""

    def __init__(self, peer: Peer, folder: Path) -> None:
        self.peer = peer
        self.jelly = folder / "x.jelly"
        self.text = folder / "x.nq"

    def read(self, command: str = "read", quads: bool = True, path: Path | None = None) -> list[Any]:
        """What the peer reads: the statements of each frame, or all as one frame. Namespaces are left in the text."""
        self.peer.run(command, path or self.jelly, self.text)
        *frames, rest = re.split("(?m)^# frame\n", self.text.read_text("utf-8"))
        assert command == "read" or not rest
        return [
            list(jelly.read(frame.encode(), format="nq" if quads else "nt"))
            for frame in (frames if command == "frames" else [rest])
        ]

    def write(self, command: str, frames: Iterable[Iterable[Any]], words: str) -> None:
        """Let the peer write frames of statements."""
        end = "# frame\n" if command == "group" else ""
        with self.text.open("w", encoding="utf-8") as file:
            for frame in frames:
                file.writelines(f"{statement}\n" for statement in frame)
                file.write(end)
        self.peer.run(command, self.text, self.jelly, words)


@pytest.fixture
def exchange(peer: Peer, tmp_path: Path) -> Exchange:
    return Exchange(peer, tmp_path)


# ---- flat streams


@pytest.mark.parametrize("physical", list(PhysicalType)[1:])
@pytest.mark.parametrize("tables", TABLES)
@pytest.mark.parametrize("name", TEXTS)
def test_jvm_reads_ours(exchange: Exchange, name: str, tables: str, physical: PhysicalType) -> None:
    ours, expected = taken(name, physical)
    jelly.write(exchange.jelly, ours, make_options(physical, tables), frame_rows=40)
    theirs = exchange.read(quads=physical != PhysicalType.TRIPLES)
    assert plain(theirs) == expected


@pytest.mark.parametrize("physical", [PhysicalType.TRIPLES, PhysicalType.QUADS])
@pytest.mark.parametrize("tables", TABLES)
@pytest.mark.parametrize("name", TEXTS)
def test_we_read_jvm(exchange: Exchange, name: str, tables: str, physical: PhysicalType) -> None:
    given, expected = taken(name, physical)
    options = make_options(physical, tables)
    exchange.write("write", [given], settings(options, frame=40))
    if tables in STARVED:
        expected = plain(exchange.read(quads=physical != PhysicalType.TRIPLES))
    assert plain([jelly.read(exchange.jelly)]) == expected
    assert jelly.read_options(exchange.jelly) == options.replace(version=1)


@pytest.mark.parametrize(
    "parts",
    [
        ("iot-weather", "assist-iot-weather-100k.nt.gz"),
        ("movies", "30kmovies.nt.gz"),
        ("vocabs-quads", "vocabs.nq.gz"),
        ("vocabs-star", "vocabs-star.nt.gz"),
        ("dbpedia-abstracts", "long-abstracts-10k.nt.gz"),
    ],
    ids=lambda parts: parts[0],
)
def test_real_data_both_ways(exchange: Exchange, parts: tuple[str, str]) -> None:
    ours = list(jelly.read(shared("data", *parts)))[:60_000]
    quads = len(ours[0]) == 4
    options = make_options(PhysicalType.QUADS if quads else PhysicalType.TRIPLES, "big")
    expected = plain([ours])
    jelly.write(exchange.jelly, ours, options)
    assert plain(exchange.read(quads=quads)) == expected
    exchange.write("write", [ours], settings(options))
    assert plain([jelly.read(exchange.jelly)]) == expected


def test_undelimited_stream(exchange: Exchange) -> None:
    ours = of_arity(PhysicalType.QUADS, statements("quads/weather-quads.nq"))
    exchange.jelly.write_bytes(jelly.dumps(ours, delimited=False))
    assert plain(exchange.read()) == plain([ours])


def test_keyframes_and_index_are_nothing_to_others(exchange: Exchange) -> None:
    ours = of_arity(PhysicalType.QUADS, statements("hostile to small tables"))
    batch = next(jelly.scan(jelly.dumps(ours)).batches())
    for physical in (PhysicalType.QUADS, PhysicalType.GRAPHS):
        encoder = jelly.Encoder(make_options(physical), frame_rows=7, keyframe_rows=7)
        exchange.jelly.write_bytes(encoder.encode(batch) + encoder.close({"index": b"\x00\xff"}))
        assert len(encoder.keyframes) > 40
        assert plain(exchange.read()) == plain([ours])
    with jelly.Writer(exchange.jelly, seekable=True) as writer:
        writer.extend(ours)
    assert plain(exchange.read()) == plain([ours])


# ---- namespaces

PREFIXES = [("", "http://example.org/"), ("ex", "http://example.org/a#"), ("ü", "http://example.org/ü/")]


@pytest.mark.parametrize("tables", TABLES)
@pytest.mark.parametrize("command", ["read", "frames"])
def test_jvm_reads_our_namespaces(exchange: Exchange, tables: str, command: str) -> None:
    ours = of_arity(PhysicalType.TRIPLES, statements("triples/weather.nt"))
    with jelly.Writer(exchange.jelly, make_options(PhysicalType.TRIPLES, tables, version=2)) as writer:
        writer.namespace(*PREFIXES[0])
        writer.extend(ours[:5])
        for name, iri in PREFIXES[1:]:
            writer.namespace(name, iri)
        writer.extend(ours[5:])
    frames = exchange.read(command, quads=False)
    assert plain([sum(frames, [])]) == plain([ours])
    lines = re.findall("(?m)^# prefix (.*?) (.*)$", exchange.text.read_text("utf-8"))
    assert lines == PREFIXES


@pytest.mark.parametrize("tables", TABLES)
@pytest.mark.parametrize("command", ["write", "group"])
def test_we_read_jvm_namespaces(exchange: Exchange, tables: str, command: str) -> None:
    given = of_arity(PhysicalType.QUADS, statements("quads/weather-quads.nq"))
    options = make_options(PhysicalType.QUADS, tables, version=2)
    exchange.write(command, [given], settings(options, prefixes=PREFIXES))
    frames = list(jelly.scan(exchange.jelly).frames())
    assert sum((frame.namespaces for frame in frames), []) == PREFIXES
    expected = sum(exchange.read("frames"), []) if tables in STARVED else given
    assert plain([sum((frame.statements for frame in frames), [])]) == plain([expected])
    assert jelly.read_options(exchange.jelly) == options


# ---- grouped streams

GROUPED = [
    (PhysicalType.TRIPLES, LogicalType.GRAPHS),
    (PhysicalType.TRIPLES, LogicalType.SUBJECT_GRAPHS),
    (PhysicalType.QUADS, LogicalType.DATASETS),
    (PhysicalType.QUADS, LogicalType.NAMED_GRAPHS),
    (PhysicalType.GRAPHS, LogicalType.DATASETS),
    (PhysicalType.GRAPHS, LogicalType.TIMESTAMPED_NAMED_GRAPHS),
]


def grouped(physical: PhysicalType) -> list[list[Any]]:
    """One frame an event, some of them empty."""
    events = list(jelly.read(shared("data", "hobbit-sensor", "hobbit-sensor-3000ev.nq.gz")))[: 41 * 50]
    frames = [events[i : i + 41] for i in range(0, len(events), 41)]
    frames[3:3] = [[], hostile(), []]
    return [of_arity(physical, frame) for frame in [*frames, []]]


@pytest.mark.parametrize("tables", ["small", "8/4/1", "8/2/1", "8/1/1"])
@pytest.mark.parametrize(("physical", "logical"), GROUPED)
def test_jvm_reads_our_frames(exchange: Exchange, physical: PhysicalType, logical: LogicalType, tables: str) -> None:
    ours = grouped(physical)
    with jelly.Writer(exchange.jelly, make_options(physical, tables, logical=logical)) as writer:
        for i, frame in enumerate(ours):
            writer.extend(frame)
            writer.end_frame({"number": str(i).encode()})
    quads = physical != PhysicalType.TRIPLES
    assert plain(exchange.read("frames", quads=quads)) == plain(ours)
    assert plain(exchange.read(quads=quads)) == plain([sum(ours, [])])


@pytest.mark.parametrize("tables", ["small", "8/4/1", "8/2/1", "8/1/1"])
@pytest.mark.parametrize(("physical", "logical"), GROUPED)
def test_we_read_jvm_frames(exchange: Exchange, physical: PhysicalType, logical: LogicalType, tables: str) -> None:
    given = grouped(physical)
    options = make_options(physical, tables, logical=logical)
    exchange.write("group", given, settings(options))
    expected = exchange.read("frames", physical != PhysicalType.TRIPLES) if tables in STARVED else given
    assert plain(jelly.scan(exchange.jelly).frames()) == plain(expected)
    assert jelly.read_options(exchange.jelly) == options.replace(version=1)


# ---- what others made


def both_read(exchange: Exchange, path: Path) -> None:
    """The frames of a file, as we and the peer read them."""
    quads = jelly.read_options(path).physical_type != PhysicalType.TRIPLES
    with jelly.Reader(path) as reader:
        frames = [frame.statements for frame in reader.frames()]
        delimited = reader.delimited
    if delimited:
        assert plain(exchange.read("frames", quads, path)) == plain(frames), path
    assert plain(exchange.read("read", quads, path)) == plain([sum(frames, [])]), path


def test_samples_of_others(exchange: Exchange) -> None:
    paths = sorted(shared("data", "jelly-samples").rglob("*.jelly"))
    assert len(paths) > 20
    for path in paths:
        both_read(exchange, path)


def test_conformance_suite(exchange: Exchange) -> None:
    paths = sorted(shared("conformance", "test", "rdf").rglob("pos_*/*.jelly"))
    assert len(paths) > 150
    for path in paths:
        if path.name != "stream_options.jelly":
            both_read(exchange, path)
