"""Jelly and Jelly-Patch: the Decoder, the RowCounter, `inspect` and `validate`."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from support import craft, patchcraft
from support.contents import validate_patches

import jelly
import jelly.patch
from fuzz.harness import attempt, check_round_trip, chunked, cut, harness, in_columns, read_all, same
from fuzz.structures import Delimited, take_varint, varint
from jelly import Decoder, JellyError
from jelly._core.jelly.row_counter import RowCounter
from jelly._formats.registry import Content
from jelly._streams.drain import drain
from jelly._tools.inspect import inspect
from jelly._tools.validate import validate

Pieces = Iterable[bytes]
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"strict": True},
    {"joined": True},
    {"unknown_rows": "skip"},
    {"delimited": True},
    {"delimited": False},
    {"max_frame_bytes": 64},
    {"batch_bytes": 32},
    {"max_names": 8, "max_prefixes": 2, "max_datatypes": 2},
)


# ---- corpus


def streams() -> Pieces:
    """Streams of all physical types with all kinds of rows."""
    text = b'<http://e/s> <http://e/p#a> "o"@en <http://e/g> .\n_:b <http://e/p#b> "1"^^<http://e/d> .\n' * 3
    batches = list(jelly.scan(text, format="nq").batches())
    for physical in (2, 3):
        encoder = jelly.Encoder(jelly.StreamOptions(physical_type=physical, max_name_table_size=8), frame_rows=2)
        yield b"".join([*map(encoder.encode, batches), encoder.close()])
    lines = b'<http://e/s> <http://e/p> <<( <http://e/s> <http://e/p> "x" )>> .\n<http://e/s> <http://e/p> "y" .\n'
    yield jelly.dumps(jelly.read(lines, format="nt"), {"rdf_star": True, "logical_type": 3, "version": 2})
    c = craft
    lookups = [c.options(c.TRIPLES, version=2), c.name("a"), c.name("b", 7), c.prefix("http://e/"), c.datatype("d:d")]
    iri, literal = (c.IRI, c.iri(1, 1)), (c.LITERAL, c.literal("v", datatype=1))
    rows = [
        c.triple(iri, (c.IRI, c.iri(7)), literal),
        c.triple(None, None, (c.LITERAL, c.literal("w", "en"))),
        c.triple((c.QUOTED, c.quoted(2)), None, None),
        c.namespace("ex", c.iri(1, 1)),
    ]
    yield c.frame(*lookups, *rows) + c.frame(c.metadata("k", b"v")) + c.frame(c.triple())
    yield b"".join([*lookups, *rows])
    graphs = [c.options(c.GRAPHS), c.graph_start(), c.triple(), c.graph_end(), c.graph_start((2, b"")), c.triple()]
    yield c.frame(*graphs) + c.frame(c.graph_end())
    quads = [c.options(c.QUADS), c.quad(), c.row(3, c.terms((c.BNODE, b"t"), None, None)), c.quad(g=(2, b""))]
    yield c.frame(*quads) * 2


def patches() -> Pieces:
    """Patches of all stream types."""
    c = patchcraft
    for stream in (c.FLAT, c.FRAME, c.PUNCTUATED):
        rows = [c.options(stream), c.name("a"), c.prefix("http://e/"), c.datatype("d:d"), c.header("id", (1, b"h"))]
        rows += [c.start(), c.add(), c.delete(c.NODE, (0, c.iri(1, 1)), (2, c.literal("v", datatype=1)), None)]
        rows += [c.namespace_add("ex", c.iri(1, 1), (1, b"g")), c.namespace_delete("ex"), c.commit()]
        rows += [c.punctuation(), c.start(), c.add(), c.abort()] if stream == c.PUNCTUATED else []
        yield c.frame(*rows) + (c.frame(c.start(), c.commit()) if stream == c.FRAME else b"")
    yield jelly.patch.dumps(
        jelly.patch.loads(b"TX .\nA <a:s> <a:p> <a:o> .\nTC .\n", format="rdfp"), {"statement_type": 1}
    )


def columns() -> Pieces:
    """Streams of Jelly-RDF 1.2 in both numberings."""
    text = (
        b'<http://e/s> <http://e/p#a> "o"@en <http://e/g> .\n_:b <http://e/p#a> "1"^^<http://e/d> .\n'
        b'<http://e/s> <http://e/p#b> <<( <http://e/s> <http://e/p#a> "x"@ar--rtl )>> .\n'
    ) * 3
    batches = list(jelly.scan(text, format="nq").batches())
    for numbering in ("P", "S"):
        for rows in (2, 100):
            options = jelly.StreamOptions(version=3, numbering=numbering)
            encoder = jelly.Encoder(options, frame_rows=rows)
            yield b"".join([*map(encoder.encode, batches), encoder.close()])


# ---- the Decoder


def resumed(data: bytes, chance: random.Random, patch: bool) -> None:
    """A Decoder that takes over where another one stood between two frames gives the same rows."""
    whole = read_all(drain(Decoder(delimited=True, patch=patch), [data]))
    at = chance.randrange(len(data) + 1)
    first = Decoder(delimited=True, patch=patch)
    try:
        before = list(first.feed(data[:at]))
        offset = first.offset
        state = first.save()
    except (JellyError, ValueError):  # inside a frame
        return
    second = Decoder(
        delimited=True, patch=patch, options=first.options, state=state, first_row=first.statements,
        first_frame=first.frames, offset=offset, place=first.place if patch else None,
    )  # fmt: skip
    rest = read_all(drain(second, [data[offset:]]))
    parts = read_all([*before, *rest.batches])
    assert parts.rows == whole.rows, f"resumed at {offset}: {parts.rows!r:.600} and {whole.rows!r:.600}"
    assert rest.error is not None or offset != len(data) or second.save() == state


@harness(
    "jelly",
    corpus=streams,
    files=(".jelly",),
    formats=((Content.STATEMENTS, "jelly"),),
    structure=Delimited(),
)
def decode(data: bytes, chance: random.Random) -> None:
    """Any chunking is the whole; rows come back through another format; a saved state goes on."""
    whole = chunked(data, chance, Decoder, *SETTINGS)
    if whole.batches:
        if chance.random() < 0.6:
            check_round_trip(whole.batches, chance)
        else:
            resumed(data, chance, False)


@harness(
    "jelly_patch",
    corpus=patches,
    files=(".jellyp",),
    formats=((Content.PATCH, "jellyp"),),
    structure=Delimited(),
)
def decode_patch(data: bytes, chance: random.Random) -> None:
    """As for Jelly; and the patches are the same as their rows."""
    whole = chunked(data, chance, lambda **given: Decoder(patch=True, **given), *SETTINGS)
    if whole.batches and whole.error is None:
        check_round_trip(whole.batches, chance)
    elif whole.batches:
        resumed(data, chance, True)
    if chance.random() < 0.5:
        return
    found = attempt(lambda: jelly.patch.loads(data))
    if isinstance(found, list):
        plain = read_all(drain(Decoder(patch=True), [data]))
        assert sum(map(len, found)) == sum(row[0] != 15 for row in plain.rows)
        again = attempt(lambda: jelly.patch.loads(jelly.patch.dumps(found)))
        # One empty patch or none look alike.
        shown = [
            [list(map(str, patch)) for patch in each if len(patch)] for each in (again, found) if isinstance(each, list)
        ]
        assert shown[0] == shown[-1]


def bodies(data: bytes) -> Pieces:
    """The frames of a delimited stream, the last one cut off perhaps."""
    at = 0
    while at < len(data):
        try:
            size, at = take_varint(data, at)
        except (ValueError, IndexError):
            size, at = len(data), at + 1
        yield data[at : at + size]
        at += size


@harness("jelly_frames", corpus=streams, files=(".jelly",), structure=Delimited())
def decode_frames(data: bytes, chance: random.Random) -> None:
    """Frame by frame, as gRPC and Kafka have them, is the same as the stream. A failed Decoder fails again."""
    patch = chance.random() < 0.3
    decoder = Decoder(patch=patch)
    frames = list(bodies(data))
    batches = []
    for body in frames:
        batch = attempt(lambda: decoder.decode_frame(body))  # noqa: B023
        if isinstance(batch, tuple):
            assert attempt(lambda: decoder.decode_frame(b"")) == batch
            return
        batches.append(batch)
        if not len(batch.frames) and not in_columns(decoder):  # the rows before an error; messages need not end here
            assert isinstance(attempt(lambda: decoder.decode_frame(b"")), tuple)
            return
    made = read_all(batches)
    stream = b"".join(varint(len(body)) + body for body in frames)
    whole = read_all(drain(Decoder(delimited=True, patch=patch), [stream]))
    if whole.error is None:  # the end of a stream may be wrong
        if in_columns(decoder) and len(made.ends) < len(whole.ends):  # it ends a message, too
            made.ends.append(len(made.rows))
        same(whole, made, "by frames")


# ---- rows that are counted, not decoded


def _count(pieces: Pieces, skim: bool, **settings: Any) -> Any:
    counter = RowCounter(unknown_rows="skip", **settings)
    counter.quiet = True
    counter.want(skim=skim, places=True, sizes=True, max_frames=1 << 20)
    error = None
    try:
        for piece in pieces:
            for _ in counter.feed(piece):
                pass
        for _ in counter.close():
            pass
    except JellyError as broken:
        error = type(broken), broken.frame, broken.row, broken.offset
    frames, metadata = counter.take_frames()
    return (
        counter.frames, counter.statements, counter.bytes, counter.rows, counter.row_bytes, counter.restarts,
        counter.delimited, counter.parts, frames.tolist(), metadata, counter.take_places().tolist(), error,
    )  # fmt: skip


@harness(
    "scan",
    corpus=lambda: [*streams(), *patches()],
    files=(".jelly", ".jellyp"),
    structure=Delimited(),
)
def scan(data: bytes, chance: random.Random) -> None:
    """Counts do not depend on the chunks, and are those of the Decoder; `inspect` and `validate` report."""
    patch = chance.random() < 0.3
    settings = {"patch": patch} | chance.choice(({}, {"delimited": True}, {"max_frame_bytes": 64}))
    whole = _count([data], True, **settings)
    for skim in (True, False):
        again = _count([data], skim, **settings)
        for one, other in zip(again, _count(cut(data, chance), skim, **settings), strict=True):
            assert one == other, f"in chunks: {one} and {other}"
        # What is wrong with references is seen only where they are decoded.
        if again[-1] is None:
            assert whole == again, f"skimmed {whole}, decoded {again}"
    reader = Decoder(unknown_rows="skip", **settings)
    reading = read_all(drain(reader, [data]))
    if reading.error is None and whole[-1] is None:
        rows = sum(row[0] in (2, 3) for row in reading.rows) if patch else len(reading.rows)
        assert whole[1] == rows, f"{whole[1]} statements are counted and {rows} are read"
        assert in_columns(reader) or whole[0] == len(reading.ends)  # messages are no frames there
    form = "jellyp" if patch else "jelly"
    found = attempt(lambda: inspect(data, per_frame=chance.random() < 0.5, format=form, max_frames=100))
    if not isinstance(found, tuple):
        found.as_dict()
    if not patch:
        problems = attempt(lambda: validate(data, limit=20))
        if isinstance(problems, list):
            known = read_all(drain(Decoder(), [data]))
            assert known.error is None or problems, f"validate sees nothing wrong: {known.error}"
            for problem in problems:
                str(problem)
    else:
        attempt(lambda: validate_patches(data))
