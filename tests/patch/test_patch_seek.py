"""Seekable Jelly-Patch: keyframes, the index, jelly.open, sidecars, and indexes that lie."""

from __future__ import annotations

import gzip
import io
import struct
import warnings
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import patchcraft as pc
from support.chance import examples
from support.shared import shared

import jelly
import jelly.patch
from jelly import IRI, BlankNode, Literal, Quad, QuotedTriple
from jelly._core.jelly.decoder import Decoder
from jelly._core.ntriples.text import TextReader
from jelly._dataset.seekable.sidecar import make_sidecar
from jelly.patch import (
    Abort,
    Add,
    AddNamespace,
    Commit,
    Delete,
    DeleteNamespace,
    Header,
    Patch,
    PatchOptions,
    PatchStreamType,
    PatchWriter,
    Start,
    StatementType,
    dumps,
    read_patches,
)
from jelly.patch._patch import split_patches

FRAME, FLAT, PUNCTUATED = PatchStreamType.FRAME, PatchStreamType.FLAT, PatchStreamType.PUNCTUATED

nodes = [IRI("http://a/x"), IRI("http://a/y"), IRI("urn:b"), BlankNode("b")]
values = [*nodes, Literal("1"), Literal("2", datatype=IRI("http://d/int")), Literal("x", language="en")]
values.append(QuotedTriple(nodes[0], nodes[1], values[5]))
graphs = [None, *nodes]
statements = st.builds(
    Quad, st.sampled_from(nodes), st.sampled_from(nodes[:3]), st.sampled_from(values), st.sampled_from(graphs)
)
changes = st.one_of(
    st.builds(Add, statements),
    st.builds(Delete, statements),
    st.builds(Header, st.sampled_from(["id", ""]), st.sampled_from(values)),
    st.builds(AddNamespace, st.just("n"), st.sampled_from(nodes[:3]), st.sampled_from(graphs)),
    st.builds(DeleteNamespace, st.just("n"), st.sampled_from([None, *nodes[:3]]), st.sampled_from(graphs)),
)
blocks = st.tuples(st.lists(changes, max_size=9), st.sampled_from([None, Commit(), Abort()]))
patches = st.lists(blocks, max_size=4).map(
    lambda found: [
        operation for rows, end in found for operation in (rows if end is None else [Start(), *rows, end])
    ]
).map(Patch)  # fmt: skip


def some(n: int, each: int) -> list[Patch]:
    """Patches of so many rows, in and behind a transaction, with names enough to fill small tables."""
    made = []
    for i in range(n):
        rows = [
            (Delete if (i + k) % 3 else Add)(
                Quad(IRI(f"http://e/{i}/{k % 7}"), IRI(f"a:{k % 5}"), Literal(str(i * k)), graphs[k // 4 % 5])
            )
            for k in range(each)
        ]
        rows[each // 2 : each // 2] = [Commit()]
        made.append(Patch([Header("id", Literal(str(i))), Start(), *rows, Start(), Abort()]))
    return made


def write(path: Path, found: list[Patch], kind: PatchStreamType = PUNCTUATED, every: int = 5, rows: int = 3) -> None:
    options = PatchOptions(rdf_star=True, stream_type=kind, max_name_table_size=16, max_prefix_table_size=4)
    with PatchWriter(path, options, seekable=True, keyframe_rows=every, frame_rows=rows) as writer:
        for patch in found:
            writer.write(patch)


def patches_in(batches) -> list[Patch]:
    return list(split_patches(batches, lambda: False))


def agrees(path: Path, a: int, b: int) -> None:
    """What the file gives as a sequence is what reading it gives."""
    expected = list(read_patches(path))
    with jelly.open(path) as file:
        assert len(file) == len(expected)
        assert list(file) == expected
        assert [file[i] for i in range(len(file))] == expected
        assert file[a:b] == expected[a:b]
        assert list(file.patches(a, b)) == expected[a:b]
        assert file.operations == sum(map(len, expected))
        for threads in (1, 3):
            found = patches_in(file.batches(threads))
            assert found == expected or (file.options.is_flat and expected == [Patch()] and not found)
        with pytest.raises(IndexError, match="no patch"):
            file[len(file)]


@given(st.lists(patches, max_size=6), st.sampled_from(PatchStreamType), st.integers(1, 9), st.integers(1, 6), st.data())
@examples(200)
def test_any_patches(tmp_path_factory, found, kind, every, rows, data):
    path = tmp_path_factory.mktemp("seek") / "x.jellyp"
    found = found[:1] if kind == FLAT else found
    a, b = data.draw(st.integers(0, 7)), data.draw(st.integers(0, 7))
    write(path, found, kind, every, rows)
    agrees(path, a, b)
    assert list(read_patches(path)) == (found or ([Patch()] if kind != PUNCTUATED else []))
    with jelly.open(path) as file:
        operations = [operation for patch in found for operation in patch]
        assert len(file.index.keyframes) <= 1 + (len(operations) + len(found)) // every
        for key in file.index.keyframes[1:]:
            decoder = Decoder(options=file.options, delimited=True, patch=True, place=key.place)
            batches = [*decoder.feed(path.read_bytes()[key.offset :]), *decoder.close()]
            assert [x for patch in patches_in(batches) for x in patch] == operations[key.statement - key.place // 4 :]
    # The same without keyframes.
    path.write_bytes(dumps(found, PatchOptions(rdf_star=True, stream_type=kind), frame_rows=rows))
    with pytest.raises(jelly.JellyError, match="no index"):
        jelly.patch.PatchFile(path)
    make_sidecar(path, distance=every, chunk=48, patch=True)
    agrees(path, a, b)


@pytest.mark.parametrize("kind", PatchStreamType, ids=lambda kind: kind.name)
def test_keyframes_are_many_and_inside_patches(tmp_path, kind):
    path = tmp_path / "x.jellyp"
    found = some(1 if kind == FLAT else 8, 40)
    write(path, found, kind)
    agrees(path, 3, 6)
    with jelly.open(path) as file:
        assert len(file.index.keyframes) > 7
        assert {key.place % 4 for key in file.index.keyframes} == ({0} if kind == FRAME else {0, 1, 2})
        assert repr(file).endswith(f"x.jellyp: {len(found)} patches, {sum(map(len, found))} operations>")
        assert (file.options.stream_type, file[-1]) == (kind, found[-1])
        with pytest.raises(ValueError, match="steps of 1"):
            file[::2]
    if kind != FLAT:
        # Nothing of the patches before is needed.
        data = path.read_bytes()
        with jelly.open(path) as file:
            begin = file.index.segments_from("place", 4 * 4)[0][0].offset
        assert begin > 400
        path.write_bytes(data[:60] + bytes(begin - 60) + data[begin:])
        with jelly.open(path) as file:
            assert file[4:] == found[4:]


@pytest.mark.parametrize(
    ("kind", "frames", "expected"),
    [
        (FLAT, [b""], [0]),
        (FLAT, [b"", b"", b""], [0]),
        (FLAT, [pc.start(), pc.commit()], [2]),
        (FRAME, [b"", b"", pc.start() + pc.commit(), b"", b""], [0, 0, 2, 0, 0]),
        (PUNCTUATED, [b"", b""], []),
        (PUNCTUATED, [pc.punctuation(), b"", pc.start(), pc.commit()], [0, 2]),
        (PUNCTUATED, [pc.start(), pc.commit() + pc.punctuation() * 2, b""], [2, 0]),
    ],
)
@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_what_others_write(tmp_path, kind, frames, expected, chunk):
    """Empty frames, streams of nothing, a last patch that nothing ends: with a sidecar."""
    path = tmp_path / "x.jellyp"
    path.write_bytes(pc.frame(pc.options(stream=int(kind)) + frames[0]) + b"".join(map(pc.frame, frames[1:])))
    make_sidecar(path, distance=1, chunk=chunk, patch=True)
    agrees(path, 1, 3)
    with jelly.open(path) as file:
        assert [len(patch) for patch in file] == expected
        assert len(file.index.keyframes) > (chunk == 1 and sum(expected) > 0)


def test_what_has_no_index(tmp_path):
    for name in ("x.rdfp", "x.trp"):
        with pytest.raises(jelly.JellyOptionsError, match="only Jelly-Patch"):
            PatchWriter(tmp_path / name, seekable=True)
    with pytest.raises(ValueError, match="delimited"):
        dumps([], seekable=True, delimited=False)
    assert list(tmp_path.iterdir()) == []
    jelly.write(tmp_path / "x.jelly", [nodes[:3]] * 9, seekable=True, keyframe_rows=2, frame_rows=1)
    with pytest.raises(jelly.JellyError, match=r"x\.jelly"):
        jelly.open(tmp_path / "x.jelly", content="patches")
    write(tmp_path / "x.jellyp", some(2, 9))
    with pytest.raises(jelly.JellyError, match=r"Jelly-Patch, not Jelly-RDF.*x\.jellyp"):
        jelly.open(tmp_path / "x.jellyp", content="statements")


def test_opener_and_index_of_another_format_version(tmp_path):
    write(tmp_path / "x.jellyp", some(3, 9))
    data = (tmp_path / "x.jellyp").read_bytes()
    with jelly.patch.PatchFile("far:x", opener=lambda _: io.BytesIO(data)) as file:
        assert file[1:] == some(3, 9)[1:]
        assert patches_in(file.batches(2)) == some(3, 9)
    (tmp_path / "x.jellyp").write_bytes(forged(data, lambda numbers: numbers.__setitem__(0, 1)))
    with pytest.warns(RuntimeWarning, match="version 1, this is version 2"), pytest.raises(jelly.JellyError):
        jelly.patch.PatchFile(tmp_path / "x.jellyp")


def test_convert_and_size(tmp_path):
    """The index and the tables written again change the size by one per cent at most at the default distance."""
    path = shared("data", "iot-weather", "assist-iot-weather-100k.nt.gz")
    lines = (b"A " + line for line in gzip.decompress(path.read_bytes()).splitlines(True))
    batches = list(TextReader(patch=True, quads=True).feed(b"".join(lines)))
    sizes = []
    for seekable in (False, True):
        path = tmp_path / "x.jellyp"
        with PatchWriter(path, seekable=seekable) as writer:
            for _ in range(4):
                for batch in batches:
                    writer.add_batch(batch)
        sizes.append(path.stat().st_size)
    assert sizes[1] == pytest.approx(sizes[0], rel=0.01)
    with jelly.open(path) as file:
        assert (len(file), file.operations) == (1, 400_000)
        assert len(file.index.keyframes) == 4
        assert sum(len(batch) for batch in file.batches(2)) == 400_001
        assert sum(len(batch) for batch in file.batches(first=3)) < 10_000
    jelly.convert(path, tmp_path / "y.jellyp", seekable=True, keyframe_rows=1000)
    with jelly.open(tmp_path / "y.jellyp") as file:
        assert len(file.index.keyframes) > 300
        assert file.operations == 400_000


# ---- what is wrong


def check(path: Path, expected: list[Patch]) -> str:
    """Opening may refuse; what it gives must be right, or end in a JellyError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            file = jelly.patch.PatchFile(path)
        except jelly.JellyError:
            return "refused"
    with file:
        got = []
        try:
            got.extend(file)
        except jelly.JellyError:
            assert got == expected[: len(got)]
            with pytest.raises(jelly.JellyError):
                list(file.batches(2))
            return "error"
        assert got == expected
        assert patches_in(file.batches(2)) == expected
    return "right"


def forged(data: bytes, change) -> bytes:
    """The file with an index whose numbers are changed and whose checksum is right."""
    length, magic = struct.unpack("<q8s", data[-16:])
    body = data[-length:-24]
    numbers = list(struct.unpack(f"<{len(body) // 8}q", body))
    change(numbers)
    body = struct.pack(f"<{len(numbers)}q", *numbers)
    return data[:-length] + body + struct.pack("<qq8s", zlib.crc32(body), length, magic)


@pytest.fixture
def seekable(tmp_path) -> tuple[Path, list[Patch], bytes]:
    path = tmp_path / "x.jellyp"
    write(path, some(5, 20), every=12)
    return path, some(5, 20), path.read_bytes()


def test_cut_flipped_and_joined(seekable):
    path, expected, data = seekable
    for n in range(len(data) - 300, len(data), 7):
        path.write_bytes(data[:n])
        assert check(path, expected) == "refused", n
    value = len(data) - struct.unpack("<q", data[-16:-8])[0]
    for at in range(value, len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        path.write_bytes(damaged)
        assert check(path, expected) == "refused", at
    path.write_bytes(data + data)
    with pytest.warns(RuntimeWarning, match="changed"), pytest.raises(jelly.JellyError, match="no index"):
        jelly.patch.PatchFile(path)
    assert list(read_patches(path)) == 2 * expected


@pytest.mark.filterwarnings("ignore:the index of:RuntimeWarning")  # the options are no longer those of the index
def test_flips_in_the_rows(seekable):
    """No crash, and where reading from the start finds an error so does reading by the index."""
    path, _, data = seekable
    found = set()
    for at in range(0, len(data) - 800, 3):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        path.write_bytes(damaged)
        try:
            expected = list(read_patches(path))
        except jelly.JellyError:
            expected = None
        try:
            with jelly.patch.PatchFile(path) as file:
                assert list(file) == expected
            found.add("right")
        except jelly.JellyError:
            found.add("both" if expected is None else "index")
    assert found >= {"right", "both"}


@pytest.mark.parametrize("kind", [FLAT, PUNCTUATED], ids=lambda kind: kind.name)
def test_misuse_of_transactions_across_keyframes(tmp_path, kind):
    """Each mark made another: what is an error from the start is one by the index, with and without threads."""
    path = tmp_path / "x.jellyp"
    found = some(1 if kind == FLAT else 3, 8)
    write(path, found, kind, every=1, rows=1)
    data = path.read_bytes()
    marks = [pc.start(), pc.commit(), pc.abort(), pc.punctuation()]
    places = [at for at in range(len(data)) for mark in marks if data[at : at + 4] == mark]
    assert len(places) >= 4 * len(found)
    verdicts = []
    for at in places:
        for mark in marks:
            path.write_bytes(data[:at] + mark + data[at + 4 :])
            try:
                expected = list(read_patches(path))
            except jelly.JellyError:
                with jelly.patch.PatchFile(path) as file:
                    for threads in (1, 2):
                        with pytest.raises(jelly.JellyError):
                            list(file.batches(threads))
                verdicts.append("misuse")
            else:
                verdicts.append(check(path, expected))
    assert verdicts.count("right") >= len(places)
    assert verdicts.count("misuse") > len(places)
    assert "refused" not in verdicts


def test_a_transaction_that_is_not_ended(tmp_path):
    path = tmp_path / "x.jellyp"
    rows = [pc.start(), pc.header("a", (2, pc.literal("v")))]
    path.write_bytes(pc.frame(pc.options(stream=FLAT)) + b"".join(map(pc.frame, rows)))
    with pytest.raises(jelly.JellyError, match="transaction"):
        make_sidecar(path, distance=1, chunk=1, patch=True)


@given(st.data())
@examples(200)
def test_forged(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("forged") / "x.jellyp"
    expected = some(5, 20)
    write(path, expected, every=12)
    size = path.stat().st_size

    def change(numbers):
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(1, len(numbers) - 1))
            numbers[at] = data.draw(
                st.one_of(st.integers(-2, 140), st.integers(0, size + 2), st.integers(-(2**63), 2**63 - 1))
            )

    path.write_bytes(forged(path.read_bytes(), change))
    check(path, expected)


def test_forged_places_and_frames_that_are_no_keyframes(seekable):
    path, expected, data = seekable
    for place in range(24):
        for number in (6, 10, 14):
            path.write_bytes(forged(data, lambda numbers, at=number, to=place: numbers.__setitem__(at, to)))
            assert check(path, expected) != "right" or path.read_bytes() == data
    ends, at = [], 0
    decoder = Decoder(delimited=True, patch=True)
    for end in range(1, len(data)):
        list(decoder.feed(data[end - 1 : end]))
        if decoder.offset != at:
            at = decoder.offset
            ends.append((at, decoder.statements, decoder.frames, decoder.place))
    verdicts = []
    for end in ends[:-1]:
        def change(numbers, end=end):
            numbers[7:11] = end

        path.write_bytes(forged(data, change))
        verdicts.append(check(path, expected))
    # The first frames refer to nothing before them either.
    assert verdicts.count("right") < 5 < verdicts.count("error")


def test_sidecar_that_lies(tmp_path):
    path = tmp_path / "x.jellyp"
    expected = some(4, 20)
    path.write_bytes(dumps(expected, frame_rows=4))
    make_sidecar(path, distance=20, chunk=100, patch=True)
    sidecar = tmp_path / "x.jellyp.idx"
    good = sidecar.read_bytes()
    assert check(path, expected) == "right"
    for at in [*range(160), *range(160, len(good), 11)]:
        damaged = bytearray(good)
        damaged[at] ^= 1 << at % 8
        sidecar.write_bytes(damaged)
        assert check(path, expected) in ("refused", "error")
    for n in range(0, len(good), 37):
        sidecar.write_bytes(good[:n])
        assert check(path, expected) in ("refused", "error")
    # That of statements is no help.
    jelly.write(tmp_path / "y.jelly", [nodes[:3]] * 9, frame_rows=1)
    make_sidecar(tmp_path / "y.jelly", distance=2, chunk=20)
    sidecar.write_bytes((tmp_path / "y.jelly.idx").read_bytes())
    assert check(path, expected) == "refused"


@given(st.binary(max_size=40), st.integers(0, 10**9), st.sampled_from(list(StatementType)))
@examples(200)
def test_state_of_any_bytes(data, at, kind):
    """A forged state of the decoder is refused or harmless, never a crash."""
    options = PatchOptions(rdf_star=True, statement_type=kind, max_name_table_size=16, max_prefix_table_size=4)
    rows = [Add(values[:3]), Header("k", values[-1]), AddNamespace("n", nodes[0]), Delete((*nodes[:2], values[-1]))]
    decoder = Decoder(patch=True)
    list(decoder.feed(dumps(Patch(rows), options)))
    state = bytearray(decoder.save())
    at %= len(state) + 1
    for forged_state in (data, state[:at], state[:at] + data, state[:at] + data + state[at + len(data) :]):
        try:
            other = Decoder(options=options, state=bytes(forged_state), delimited=True, patch=True, place=6)
            for batch in other.feed(pc.frame(b"".join([pc.add(None, None, None, None), pc.namespace_delete("n")]))):
                batch.check()
                list(*split_patches([batch], lambda: False))
        except jelly.JellyError:
            pass
