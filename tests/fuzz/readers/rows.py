"""N-Triples, N-Quads, RDF Patch, RDF Thrift and RDF Protobuf: the readers of the core beside Jelly."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterable
from typing import Any

from support import rowcraft

import jelly
import jelly.patch
from fuzz.harness import attempt, check_round_trip, chunked, cut, harness, read_all
from fuzz.structures import Delimited, Text, Thrift
from jelly import JellyError
from jelly._core.jena.reader import BinaryReader
from jelly._core.ntriples.text import TextReader, TextWriter
from jelly._formats.registry import Content
from jelly._streams.drain import drain

Pieces = Iterable[bytes]
WORDS = (b"<<(", b")>>", b"<<", b"@en--ltr", b"^^", b"\\u00e4", b"\\U0001F600", b"\\n", b"# @message",
         b"MESSAGE", b"VERSION", b"_:b", b"\xc3\xa4", b"\xff", b"\r", b"\t", b'"""', b"'''", b"TX .", b"TC .", b"PA",
         b"Z .", b"H id")  # fmt: skip
LINES = (
    b'<http://e/s> <http://e/p> "o"@en .\n_:b1 <http://e/p> _:b2 . # c\n\n',
    b'<http://e/s> <http://e/p> "1"^^<http://e/d> .\r\n<a:\\u00e4> <a:p> "\\t\\U0001F600\xc3\xa4"@ar--rtl .\r',
    b'<http://e/s> <http://e/p> <<( <a:s> <a:p> <<( _:x <a:p> "v" )>> )>> .\n<< <a:s> <a:p> <a:o> >> <a:p> <a:o> .',
)
QUADS = (b'<a:s> <a:p> "o" <a:g> .\n<a:s> <a:p> "o" _:g .\n<a:s> <a:p> <a:o> .\n',)
PATCHES = (
    b'H id <uuid:1> .\nH prev "x" .\nTX .\n'
    b'PA "ex" <http://e/> .\nA <a:s> <a:p> "o"@en .\nD _:b <a:p> <_:c> <a:g> .\nPD "ex" .\nTC .\n',
    b"TX . A <a:s> <a:p> '''x\ny''' . TA .\nZ .\nTX .\nD <a:s> <a:p> 'q' .\nTC .",
)
TEXT: tuple[dict[str, Any], ...] = (
    {},
    {"strict": True},
    {"max_line_bytes": 32},
    {"batch_bytes": 16},
    {"on_error": "skip"},
)


def by_pyoxigraph(data: bytes, quads: bool) -> list[tuple[str, ...]] | None:
    """The statements as another reader has them; None where it refuses the text."""
    import pyoxigraph as ox

    try:
        data.decode()  # it reads any bytes in comments
        found = list(ox.parse(data, ox.RdfFormat.N_QUADS if quads else ox.RdfFormat.N_TRIPLES))
    except (SyntaxError, ValueError):
        return None
    graph = [None if isinstance(quad.graph_name, ox.DefaultGraph) else str(quad.graph_name) for quad in found]
    return [
        (str(quad.subject), str(quad.predicate), str(quad.object), name)
        for quad, name in zip(found, graph, strict=True)
    ]


def by_jelly(data: bytes, quads: bool) -> list[tuple[str, ...]] | None:
    """The statements of jelly as pyoxigraph writes them."""
    from jelly.oxigraph import _statements

    made = list(_statements(drain(TextReader(quads=quads), [data])))
    import pyoxigraph as ox

    found = [quad if isinstance(quad, ox.Quad) else ox.Quad(*quad) for quad in made]
    graph = [None if isinstance(quad.graph_name, ox.DefaultGraph) else str(quad.graph_name) for quad in found]
    return [
        (str(quad.subject), str(quad.predicate), str(quad.object), name)
        for quad, name in zip(found, graph, strict=True)
    ]


def text(quads: bool) -> Callable[[bytes, random.Random], None]:
    def read(data: bytes, chance: random.Random) -> None:
        """Any chunking is the whole; what pyoxigraph reads is read, and is the same."""
        whole = chunked(data, chance, lambda **given: TextReader(quads=quads, **given), *TEXT)
        check_round_trip(whole.batches, chance)
        plain = read_all(drain(TextReader(quads=quads), [data]))
        theirs = by_pyoxigraph(data, quads)
        if theirs is not None:
            assert plain.error is None, f"pyoxigraph reads it: {plain.error}"
            assert by_jelly(data, quads) == theirs
        if plain.error is None:
            # Canonical lines come out as they go in.
            writer = TextWriter(quads, keep_labels=True)
            made = attempt(lambda: b"".join([*map(writer.encode, plain.batches), writer.close()]))
            if isinstance(made, bytes):
                again = TextWriter(quads, keep_labels=True)
                assert b"".join([*map(again.encode, drain(TextReader(quads=quads), [made])), again.close()]) == made

    return read


harness(
    "ntriples",
    corpus=lambda: LINES,
    files=(".nt",),
    formats=((Content.STATEMENTS, "nt"),),
    structure=Text(*WORDS),
)(text(False))
harness(
    "nquads",
    corpus=lambda: (*LINES, *QUADS),
    files=(".nq",),
    formats=((Content.STATEMENTS, "nq"),),
    structure=Text(*WORDS),
)(text(True))


@harness(
    "rdf_patch", corpus=lambda: PATCHES, files=(".rdfp",), formats=((Content.PATCH, "rdfp"),), structure=Text(*WORDS)
)
def rdf_patch(data: bytes, chance: random.Random) -> None:
    """Any chunking is the whole; operations come back through another format."""
    whole = chunked(data, chance, lambda **given: TextReader(quads=True, patch=True, **given), *TEXT)
    if whole.error is None:
        check_round_trip(whole.batches, chance)
    found = attempt(lambda: jelly.patch.loads(data, format="rdfp"))
    if isinstance(found, list):
        made = attempt(lambda: jelly.patch.dumps(found))
        if isinstance(made, bytes):
            assert sum(map(len, jelly.patch.loads(made))) == sum(map(len, found))


# ---- RDF Binary


BINARY: tuple[dict[str, Any], ...] = (
    {},
    {"quads": True},
    {"max_row_bytes": 64},
    {"max_prefixes": 1},
    {"batch_bytes": 16},
)


def written(encoding: str, **settings: Any) -> bytes:
    """Statements with numbers, prefixes and quads."""
    lines = b"".join((*LINES[:2], *QUADS)) + b"".join(
        b'<http://e/s> <http://e/p> "%s"^^<http://www.w3.org/2001/XMLSchema#%s> .\n' % pair
        for pair in ((b"1", b"integer"), (b"-1.50", b"decimal"), (b"1.5e3", b"double"), (b"INF", b"double"))
    )
    return rowcraft.write(encoding, jelly.scan(lines, format="nq").batches(), prefixes={"e": "http://e/"}, **settings)


def binary_corpus(craft: Any) -> Callable[[], Pieces]:
    def corpus() -> Pieces:
        yield rowcraft.sample(craft, 2)
        yield written(craft.name, values=True)
        yield rowcraft.repeats(craft)
        if craft is rowcraft.Protobuf:
            yield from rowcraft.messages()

    return corpus


def has_quads(encoding: str, pieces: Pieces) -> bool:
    """Whether the reader finds a quad, as `jelly.Reader` looks for one."""
    scan = BinaryReader(encoding, scan=True)
    with contextlib.suppress(JellyError):
        for piece in pieces:
            scan.push(piece)
            scan.pull()
            if scan.quads:
                break
        else:
            scan.finish()
            scan.pull()
    return scan.quads


def binary(encoding: str, patch: bool = False) -> Callable[[bytes, random.Random], None]:
    def read(data: bytes, chance: random.Random) -> None:
        """Any chunking is the whole; rows come back through another format."""
        kinds = BINARY
        if encoding == "protobuf":
            kinds = (*kinds, *({"message": name} for name in ("rows", "RDF_Stream", "RDF_Graph")))
        if patch:
            kinds = BINARY[2:5]
        whole = chunked(data, chance, lambda **given: BinaryReader(encoding, patch=patch, **given), *kinds)
        if whole.batches and (whole.error is None or not patch):
            check_round_trip(whole.batches, chance)
        if not patch:
            assert has_quads(encoding, [data]) == has_quads(encoding, cut(data, chance))
            attempt(lambda: sum(1 for _ in jelly.read(data, format=encoding)))

    return read


def patch_corpus() -> Pieces:
    for lines in PATCHES:
        yield jelly.patch.dumps(jelly.patch.loads(lines, format="rdfp"), format="trp")


harness(
    "thrift",
    corpus=binary_corpus(rowcraft.Thrift),
    formats=((Content.STATEMENTS, "thrift"),),
    structure=Thrift(),
)(binary("thrift"))
harness(
    "protobuf",
    corpus=binary_corpus(rowcraft.Protobuf),
    formats=((Content.STATEMENTS, "protobuf"),),
    structure=Delimited(),
)(binary("protobuf"))
harness(
    "thrift_patch",
    corpus=patch_corpus,
    formats=((Content.PATCH, "trp"),),
    structure=Thrift(),
)(binary("thrift", patch=True))
