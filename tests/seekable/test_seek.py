"""Seekable files, their index and sidecar, slices, threads; and what happens when an index lies."""

import io
import random
import struct
import warnings
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chance import examples
from support.shared import shared
from support.statements import bnodes, iris, quads, rdf, star

import jelly
from jelly import IRI, Decoder, Literal, LogicalType, PhysicalType, Quad, StreamOptions, Triple
from jelly._core.terms.materialize import Materializer
from jelly._dataset.seekable.sidecar import make_sidecar
from jelly._formats.index import INDEX_KEY

PHYSICAL = [PhysicalType.TRIPLES, PhysicalType.QUADS, PhysicalType.GRAPHS]
FLAT = {PhysicalType.TRIPLES: LogicalType.FLAT_TRIPLES}
GROUPED = {PhysicalType.TRIPLES: LogicalType.GRAPHS}


def some(n, quads=False, seed=1):
    """Statements with names, prefixes and datatypes enough to fill small tables many times over."""
    rng = random.Random(seed)
    integer = IRI("http://www.w3.org/2001/XMLSchema#integer")
    made = []
    for i in range(n):
        s = IRI(f"http://example.org/{rng.randrange(9)}/{rng.randrange(200)}")
        p = IRI(f"http://example.org/p#{rng.randrange(12)}")
        o = rng.choice([s, jelly.BlankNode(f"b{i % 7}"), Literal(str(i)), Literal(str(i), datatype=integer)])
        g = rng.choice([None, IRI(f"http://example.org/g/{i // 5}"), jelly.BlankNode("g")])
        made.append(Quad(s, p, o, g) if quads else Triple(s, p, o))
    return made


def write(path, statements, options, every=20, group=0, **settings):
    with jelly.Writer(path, options, seekable=True, keyframe_rows=every, **settings) as writer:
        if group:
            for i in range(0, len(statements), group):
                writer.extend(statements[i : i + group])
                writer.end_frame({"n": str(i).encode()} if i % 2 else None)
        else:
            writer.extend(statements)


def options_for(physical, grouped=False):
    logical = (GROUPED if grouped else FLAT).get(physical, LogicalType.DATASETS if grouped else LogicalType.FLAT_QUADS)
    return StreamOptions.small(physical_type=physical, logical_type=logical)


@pytest.fixture(params=PHYSICAL, ids=lambda physical: physical.name)
def physical(request):
    return request.param


@pytest.mark.parametrize("grouped", [False, True], ids=["flat", "grouped"])
class TestSeekable:
    @pytest.fixture
    def case(self, physical, grouped, tmp_path):
        statements = some(500, quads=physical is not PhysicalType.TRIPLES)
        path = tmp_path / "x.jelly"
        options = options_for(physical, grouped)
        write(path, statements, options, group=7 if grouped else 0, frame_rows=16)
        return path, statements, options

    def test_statements_are_the_same(self, case):
        path, statements, _ = case
        assert list(jelly.read(path)) == statements
        with jelly.open(path) as file:
            assert list(file) == statements

    def test_no_frame_more(self, case, grouped, tmp_path):
        path, statements, options = case
        plain = tmp_path / "plain.jelly"
        with jelly.Writer(plain, options, frame_rows=16) as writer:
            for i in range(0, len(statements), 7):
                writer.extend(statements[i : i + 7])
                if grouped:
                    writer.end_frame()
        if grouped:
            assert len(list(jelly.scan(path).frames())) == len(list(jelly.scan(plain).frames())) == 72
        with jelly.open(path) as file:
            assert file.n_frames == len(list(jelly.scan(path).frames()))

    def test_keyframes(self, case):
        path, statements, _ = case
        with jelly.open(path) as file:
            keys = file.index.keyframes
            assert len(file) == len(statements)
            assert len(keys) > 10
            for key in keys[1:]:
                data = path.read_bytes()[key.offset :]
                decoder = Decoder(options=file.options, delimited=True)
                batches = [*decoder.feed(data), *decoder.close()]
                assert [s for b in batches for s in Materializer(b).statements()] == statements[key.statement :]

    def test_slices(self, case):
        path, statements, _ = case
        with jelly.open(path) as file:
            for a, b in [(0, 500), (0, 1), (499, 500), (17, 23), (19, 21), (100, 400), (3, 3), (490, 900), (-5, None)]:
                assert file[a:b] == statements[a:b]
            assert file[123] == statements[123]
            assert file[-1] == statements[-1]
            with pytest.raises(IndexError):
                file[500]
            with pytest.raises(ValueError, match="steps of 1"):
                file[::2]

    def test_frames(self, case):
        path, _, _ = case
        known = list(jelly.scan(path).frames())
        with jelly.open(path) as file:
            for a, b in [(0, 3), (5, 6), (len(known) - 1, None), (0, None), (9, 9)]:
                frames = list(file.frames(a, b))
                assert [f.index for f in frames] == [f.index for f in known[a:b]]
                assert [f.statements for f in frames] == [f.statements for f in known[a:b]]
                assert [f.metadata for f in frames] == [f.metadata for f in known[a:b]]

    @pytest.mark.parametrize("threads", [1, 2, 5])
    def test_threads_keep_the_order(self, case, threads):
        path, statements, _ = case
        with jelly.open(path) as file:
            batches = list(file.batches(threads))
            assert [s for b in batches for s in Materializer(b).statements()] == statements
            assert [b.first_row for b in batches] == sorted(b.first_row for b in batches)
            rows = [(low + b.first_row, high + b.first_row) for b, low, high in file.rows(33, 444, threads)]
            assert (rows[0][0], rows[-1][1]) == (33, 444)

    def test_pyjelly_reads_it(self, case, grouped):
        by_pyjelly = pytest.importorskip("support.by_pyjelly")
        from support import oracle

        path, statements, _ = case
        assert by_pyjelly.read(path.read_bytes()) == oracle.plain_all(statements)
        if grouped:
            known = [oracle.plain_all(frame) for frame in jelly.scan(path).frames()]
            assert by_pyjelly.read_frames(path.read_bytes()) == known

    def test_sidecar(self, case, tmp_path, physical, grouped):
        _, statements, options = case
        path = tmp_path / "foreign.jelly"
        jelly.write(path, statements, options.replace(logical_type=0), frame_rows=8, seekable=False)
        with pytest.raises(jelly.JellyError, match="jelly index"):
            jelly.JellyFile(path)
        with jelly.open(path) as file:  # an index in memory
            assert file[333:337] == statements[333:337]
        make_sidecar(path, distance=50, chunk=100)
        with jelly.open(path) as file:
            assert len(file.index.keyframes) > 5
            assert file[:] == statements
            assert file[333:337] == statements[333:337]
            assert [s for b in file.batches(2) for s in Materializer(b).statements()] == statements


def test_metadata_of_the_index_is_hidden(tmp_path):
    path = tmp_path / "x.jelly"
    write(path, some(50), options_for(PhysicalType.TRIPLES, True), group=10)
    assert INDEX_KEY.encode() in path.read_bytes()
    assert all(INDEX_KEY not in frame.metadata for frame in jelly.scan(path).frames())


def test_empty_file(tmp_path):
    path = tmp_path / "x.jelly"
    jelly.write(path, [], seekable=True)
    with jelly.open(path) as file:
        assert (len(file), list(file), file[:], file.n_frames) == (0, [], [], 1)


def test_streams_can_be_seekable_too(tmp_path):
    out = io.BytesIO()
    jelly.write(out, some(100), seekable=True, keyframe_rows=10)
    (tmp_path / "x.jelly").write_bytes(out.getvalue())
    with jelly.open(tmp_path / "x.jelly") as file:
        assert len(file) == 100


def test_a_dataset_of_an_open_file_has_its_frames(tmp_path):
    path = tmp_path / "a.jelly"
    statements = [Triple(IRI(f"a:{i}"), IRI("a:p"), IRI("a:o")) for i in range(100)]
    jelly.write(path, statements, seekable=True, keyframe_rows=20, frame_rows=7)
    with jelly.open(path) as file:
        found = [(frame.index, frame.statements) for frame in jelly.scan(file).frames()]
        assert found == [(frame.index, frame.statements) for frame in jelly.scan(path).frames()]
        assert [statement for _, frame in found for statement in frame] == statements
        assert [index for index, _ in found] == list(range(len(found)))
        assert len(found) > 10
        twice = [(frame.index, len(frame)) for frame in jelly.scan([file, path]).frames()]
    assert twice == [(index + at, len(frame)) for at in (0, len(found)) for index, frame in found]


def test_size(tmp_path):
    """The index and the tables written again cost at most one per cent at the default distance."""
    for name in ("iot-weather/assist-iot-weather-100k.nt.gz", "vocabs-quads/vocabs.nq.gz"):
        batches = list(jelly.scan(shared("data", *name.split("/"))).batches())
        sizes = []
        for seekable in (False, True):
            path = tmp_path / "x.jelly"
            with jelly.Writer(path, seekable=seekable) as writer:
                for _ in range(6):
                    for batch in batches:
                        writer.add_batch(batch)
            sizes.append(path.stat().st_size)
        assert sizes[1] <= 1.01 * sizes[0], name


@given(st.lists(rdf, max_size=60), st.integers(1, 9), st.integers(1, 20), st.data())
@examples(60)
def test_any_triples(tmp_path_factory, statements, every, frame_rows, data):
    path = tmp_path_factory.mktemp("seek") / "x.jelly"
    write(path, statements, StreamOptions.small(), every=every, frame_rows=frame_rows)
    a = data.draw(st.integers(0, len(statements)))
    b = data.draw(st.integers(0, len(statements)))
    with jelly.open(path) as file:
        assert file[a:b] == statements[a:b]


@given(
    st.lists(quads(star, st.one_of(st.none(), iris, bnodes)), max_size=40), st.integers(1, 9), st.sampled_from([2, 3])
)
@examples(60)
def test_any_quads(tmp_path_factory, statements, every, physical):
    path = tmp_path_factory.mktemp("seek") / "x.jelly"
    options = StreamOptions.small(physical_type=physical, rdf_star=True)
    write(path, statements, options, every=every, frame_rows=3)
    with jelly.open(path) as file:
        assert file[:] == statements
        assert file[len(statements) // 2 :] == statements[len(statements) // 2 :]
    make_sidecar(path, distance=1, chunk=64)
    assert list(jelly.read(path)) == statements


# ---- an index that lies

def check(path, statements):
    """Opening may refuse; what it gives must be right, or end in a JellyError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            file = jelly.JellyFile(path)
        except jelly.JellyError:
            return "refused"
    with file:
        got = []
        try:
            for batch in file.batches():
                got += Materializer(batch).statements()
        except jelly.JellyError:
            assert got == statements[: len(got)]
            return "error"
    assert got == statements
    return "right"


@pytest.fixture
def seekable(tmp_path):
    path = tmp_path / "x.jelly"
    statements = some(200)
    write(path, statements, StreamOptions.small(), every=30, frame_rows=16)
    return path, statements, path.read_bytes()


def test_cut_anywhere(seekable):
    path, statements, data = seekable
    for n in range(len(data) - 400, len(data)):
        path.write_bytes(data[:n])
        assert check(path, statements) == "refused", n


def test_every_byte_of_the_index_flipped(seekable):
    path, statements, data = seekable
    start = data.rindex(INDEX_KEY.encode())
    value = len(data) - struct.unpack("<q", data[-16:-8])[0]
    for at in range(start, len(data)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[at] ^= flip
            path.write_bytes(damaged)
            verdict = check(path, statements)
            assert at < value or verdict == "refused", (at, flip)


def test_appended_and_joined(seekable):
    path, statements, data = seekable
    path.write_bytes(data + data)
    with pytest.warns(RuntimeWarning, match="changed"), pytest.raises(jelly.JellyError, match="no index"):
        jelly.JellyFile(path)
    # The first frame refers to nothing before it either, so files can be joined.
    assert list(jelly.read(path)) == 2 * statements


def forged(data, change):
    """The file with an index whose numbers are changed and whose checksum is right."""
    crc, length, magic = struct.unpack("<qq8s", data[-24:])
    body = data[-length:-24]
    numbers = list(struct.unpack(f"<{len(body) // 8}q", body))
    change(numbers)
    body = struct.pack(f"<{len(numbers)}q", *numbers)
    return data[:-length] + body + struct.pack("<qq8s", zlib.crc32(body), length, magic)


@given(st.data())
@examples(300)
def test_forged(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("forged") / "x.jelly"
    statements = some(200)
    write(path, statements, StreamOptions.small(), every=30, frame_rows=16)
    size = path.stat().st_size

    def change(numbers):
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(1, len(numbers) - 1))
            numbers[at] = data.draw(
                st.one_of(st.integers(-2, 250), st.integers(0, size + 2), st.integers(-(2**63), 2**63 - 1))
            )

    path.write_bytes(forged(path.read_bytes(), change))
    check(path, statements)


@pytest.mark.parametrize("count", [-1, 1 << 20, 1 << 60])
@pytest.mark.parametrize("number", [3, 4])
def test_forged_counts_take_no_memory(seekable, number, count):
    path, _, data = seekable
    path.write_bytes(forged(data, lambda numbers: numbers.__setitem__(number, count)))
    with pytest.warns(RuntimeWarning, match="it counts what the file cannot hold"), pytest.raises(jelly.JellyError):
        jelly.JellyFile(path)


def test_forged_offset_of_a_frame_that_is_no_keyframe(seekable):
    """Every frame of the file as the second keyframe: only the real one gives statements."""
    path, statements, data = seekable
    offsets, at, n = [], 0, 0
    decoder = Decoder(delimited=True)
    for end in range(1, len(data)):
        n += sum(map(len, decoder.feed(data[end - 1 : end])))
        if decoder.offset != at:
            at = decoder.offset
            offsets.append((at, n, decoder.frames))
    assert len(offsets) > 10
    for offset in offsets[:-1]:
        def change(numbers, offset=offset):
            numbers[6:9] = offset

        path.write_bytes(forged(data, change))
        check(path, statements)


def test_sidecar_that_lies(tmp_path):
    path = tmp_path / "x.jelly"
    statements = some(300)
    jelly.write(path, statements, frame_rows=8, seekable=False)
    make_sidecar(path, distance=60, chunk=200)
    sidecar = tmp_path / "x.jelly.idx"
    good = sidecar.read_bytes()
    assert check(path, statements) == "right"
    rng = random.Random(5)
    for at in [*range(200), *rng.sample(range(200, len(good)), 150)]:
        damaged = bytearray(good)
        damaged[at] ^= 1 << rng.randrange(8)
        sidecar.write_bytes(damaged)
        check(path, statements)
    for n in range(0, len(good), 37):
        sidecar.write_bytes(good[:n])
        check(path, statements)
    sidecar.write_bytes(good)
    jelly.write(path, statements[:-1], frame_rows=8, seekable=False)
    with pytest.warns(RuntimeWarning, match="changed"), pytest.raises(jelly.JellyError, match="no index"):
        jelly.JellyFile(path)


# The options of the same stream stand in the middle, and a forged state makes what follows look like another.
@pytest.mark.filterwarnings("ignore::jelly.errors.JoinedWarning")
@given(st.binary(max_size=60), st.integers(0, 10**9))
@examples(300)
def test_state_of_any_bytes(data, at):
    """A forged state of the decoder is refused or harmless, never a crash."""
    options = StreamOptions.small(physical_type=PhysicalType.QUADS, version=1)
    decoder = Decoder()
    list(decoder.feed(jelly.dumps([*some(20, quads=True)], options)))
    state = bytearray(decoder.save())
    at %= len(state) + 1
    head, tail = bytes(state[:at]), bytes(state[at:])
    for forged_state in (data, head, head + data, head + data + tail):
        try:
            other = Decoder(options=options, state=forged_state, delimited=True)
            list(other.feed(jelly.dumps(some(5, quads=True), options)))
        except jelly.JellyError:
            pass


def test_save_needs_the_end_of_a_frame():
    data = jelly.dumps(some(5))
    decoder = Decoder()
    with pytest.raises(ValueError, match="between two frames"):
        decoder.save()
    decoder.push(data)
    with pytest.raises(ValueError, match="between two frames"):
        decoder.save()
    list(iter(lambda: decoder.pull(True), None))
    assert decoder.save()


def test_what_has_no_index(tmp_path):
    jelly.write(tmp_path / "x.jelly.gz", some(5))
    with pytest.raises(jelly.JellyError):
        jelly.open(tmp_path / "x.jelly.gz")
    (tmp_path / "bare.jelly").write_bytes(jelly.dumps(some(5), delimited=False))
    with pytest.raises(jelly.JellyError, match="bare"):
        make_sidecar(tmp_path / "bare.jelly")
    assert not (tmp_path / "bare.jelly.idx").exists()
    with pytest.raises(FileNotFoundError):
        jelly.open(tmp_path / "missing.jelly")


def test_a_state_beyond_the_end_of_the_sidecar(tmp_path):
    path = tmp_path / "x.jelly"
    jelly.write(path, some(50), frame_rows=5, seekable=False)
    make_sidecar(path, distance=10, chunk=200)
    sidecar = tmp_path / "x.jelly.idx"
    magic, _, length = struct.unpack_from("<8sqq", data := sidecar.read_bytes())
    numbers = list(struct.unpack_from(f"<{length // 8}q", data, 24))
    for offset in (len(data), 1 << 40, (1 << 63) - 1):
        numbers[10] = offset
        head = struct.pack(f"<{len(numbers)}q", *numbers)
        sidecar.write_bytes(struct.pack("<8sqq", magic, zlib.crc32(head), length) + head + data[24 + length :])
        with jelly.open(path) as file, pytest.raises(jelly.JellyFormatError, match="saved state .* damaged"):
            list(file)


def test_a_closed_file_says_so_and_reads_no_other_file(tmp_path):
    place = jelly.IRI("a:s")
    for name in ("one.jelly", "two.jelly"):
        jelly.write(tmp_path / name, [jelly.Triple(place, place, jelly.Literal(name))], seekable=True)
    with jelly.open(tmp_path / "one.jelly") as file:
        assert file[0].o.value == "one.jelly"
    with jelly.open(tmp_path / "two.jelly"):  # has the descriptor of the first
        with pytest.raises(jelly.JellyError, match="the file is closed"):
            file[0]
        with pytest.raises(jelly.JellyError, match="the file is closed"):
            list(file.batches(threads=2))
