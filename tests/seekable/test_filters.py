"""Filters in the index: against full scans, damaged, outdated, and read by the book."""

from __future__ import annotations

import os
import random
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest

import jelly
from jelly import IRI, BlankNode, DefaultGraph, IRIPrefix, Literal, Quad, QuotedTriple, Triple
from jelly._core.algebra.content import fuse_filter, slot_keys
from jelly._dataset.seekable.sidecar import make_sidecar
from jelly._formats import filters as module
from jelly._formats.filters import FilterBuilder, Filters

PATTERNS = 10_000 if os.environ.get("JELLY_LONG") else 150
INTEGER = IRI("http://www.w3.org/2001/XMLSchema#integer")
GENERALIZED = {"generalized_statements": True, "rdf_star": True}


def terms(dice):
    """A term: often with a text that terms of other kinds have too."""
    text = f"a:{dice.randrange(400)}"
    return dice.choice([
        IRI(text), IRI(text), BlankNode(text), Literal(text), Literal(text, language="en"),
        Literal(text, language="de"), Literal(text, datatype=INTEGER), Literal(text, language="en", direction="ltr"),
        QuotedTriple(IRI(text), IRI("a:p"), Literal(text)), Literal(""), IRI(""), Literal("é" * 200 + text),
    ])  # fmt: skip


def statements(n=3000, seed=1):
    dice = random.Random(seed)
    made = []
    for i in range(n):
        predicate = IRI(f"a:p{dice.randrange(i // 500 + 1)}") if dice.random() < 0.99 else terms(dice)
        graph = dice.choice([None, IRI(f"a:g{i // 400}"), BlankNode("g")])
        made.append(Quad(terms(dice), predicate, terms(dice), graph))
    return made


@pytest.fixture(scope="module")
def rows():
    return statements()


@pytest.fixture(scope="module", params=["in the file", "beside an index", "with the index"])
def path(request, rows, tmp_path_factory):
    name = str(tmp_path_factory.mktemp("filters") / "x.jelly")
    if request.param == "in the file":
        jelly.write(name, rows, GENERALIZED, index="terms", keyframe_rows=300)
    else:
        jelly.write(name, rows, GENERALIZED, seekable=request.param == "beside an index", keyframe_rows=300)
        make_sidecar(name, terms=True, distance=300, chunk=4096)
    return name


def small(path, n=1200, every=300):
    """A file whose objects are in filters, each in one segment, and whose subjects are sorted."""
    rows = [Triple(IRI(f"a:s{i // 4:05}"), IRI("a:p"), Literal(f"v{i}")) for i in range(n)]
    jelly.write(path, rows, index="terms", keyframe_rows=every, frame_rows=1)
    return rows


@pytest.fixture
def read(monkeypatch):
    """The numbers of the first rows of segments that were decoded."""
    seen: list[int] = []
    whole = jelly.JellyFile._read

    def noted(self, segment):
        seen.append(segment[0].statement)
        return whole(self, segment)

    monkeypatch.setattr(jelly.JellyFile, "_read", noted)
    return seen


@pytest.mark.timeout(3000 if PATTERNS > 1000 else 900)
def test_random_patterns_find_what_a_full_scan_finds(path, rows):
    dice = random.Random(7)
    left = total = 0
    with jelly.open(path) as file:
        assert file.filters is not None
        segments = len(file.index.keyframes)
        assert segments > 5
        for _ in range(PATTERNS):
            given = {}
            for slot in dice.sample("spog", dice.randrange(1, 4)):
                some = [getattr(dice.choice(rows), slot) if dice.random() < 0.7 else terms(dice)]
                while dice.random() < 0.3:
                    some.append(terms(dice))
                given[slot] = [DefaultGraph() if term is None else term for term in some]
            if dice.random() < 0.2:
                given["s"] = IRIPrefix(f"a:{dice.randrange(10)}")
            pattern = jelly.Pattern(**given)
            wanted = [
                row for row in rows
                if all(
                    isinstance(row.s, IRI) and row.s.value.startswith(some.text) if isinstance(some, IRIPrefix)
                    else (getattr(row, slot) or DefaultGraph()) in some
                    for slot, some in given.items()
                )
            ]  # fmt: skip
            assert list(jelly.scan(file).filter(**given)) == wanted, pattern
            total += segments
            left += len(file.matching(pattern.query()))
    assert left < total * 0.8


def test_every_way_reads_only_what_can_match(tmp_path, read):
    path = str(tmp_path / "x.jelly")
    rows = small(path)
    object = '"v700"'
    assert list(jelly.find(path, o=object)) == [rows[700]]
    assert read == [600]
    read.clear()
    assert list(jelly.find([path, path], o=object)) == [rows[700]] * 2
    assert read == [600] * 2
    read.clear()
    assert jelly.find(path, s="a:s00290", o=object).count() == 0
    assert read == []
    assert jelly.find(path, o="a:none").count() == 0
    assert read == []
    assert jelly.find(path, s=IRIPrefix("a:s0029")).count() == 40
    assert read == [900]
    read.clear()
    assert jelly.find(path, o=jelly.Datatype(INTEGER)).count() == 0
    assert read == []
    with jelly.open(path) as file:
        assert jelly.scan(file, threads=2).filter(o=object).count() == 1
        assert read == [600]
    pytest.importorskip("pyarrow")
    import pyarrow.compute as pc

    read.clear()
    assert jelly.read_arrow(path, filter=jelly.Pattern(o=object)).read_all().num_rows == 1
    assert read == [600]
    read.clear()
    found = jelly.read_arrow(path, filter=jelly.Pattern(o=object), start=650, stop=701).read_all()
    assert found.num_rows == 1
    assert read == [600]
    assert jelly.read_arrow(path, filter=jelly.Pattern(o=object), start=701).read_all().num_rows == 0
    read.clear()
    assert jelly.scan(path).to_table(filter=pc.field("object") == "v700").num_rows == 1
    assert read == [600]
    polars = pytest.importorskip("polars")
    from jelly.polars import scan_jelly

    read.clear()
    assert len(scan_jelly(path).filter(polars.col("subject") == "a:s00200").collect()) == 4
    assert read == [600]


def test_blank_nodes_that_get_other_labels_are_found(tmp_path):
    path = str(tmp_path / "x.jelly")
    jelly.write(path, [Triple(BlankNode(f"b{i}"), IRI("a:p"), IRI("a:o")) for i in range(500)], index="terms",
                keyframe_rows=100)  # fmt: skip
    [row] = list(jelly.find(path, s=BlankNode("b77")))
    for settings in ({"blank_nodes": "scope"}, {"blank_nodes": "skolemize", "skolem_base": "https://example.org"}):
        [batch] = [batch for batch in jelly.find(path, p="a:p", **settings).batches() if batch.first_row == 0][:1]
        label = next(iter(batch)).s
        assert label != row.s
        assert jelly.find(path, s=label, **settings).count() == 1


@pytest.mark.parametrize("arity", [3, 4])
def test_default_graph(tmp_path, arity):
    path = str(tmp_path / "x.jelly")
    rows = [(IRI(f"a:{i}"), IRI("a:p"), IRI("a:o"), None if i < 100 else IRI("a:g"))[:arity] for i in range(200)]
    jelly.write(path, rows, index="terms", keyframe_rows=100, frame_rows=1)
    with jelly.open(path) as file:
        for graph, some in (("default", [0, 1] if arity == 3 else [0]), ("a:g", [] if arity == 3 else [1])):
            assert file.matching(jelly.Pattern(g=graph).query()) == some
            assert jelly.scan(file).filter(g=graph).count() == 100 * len(some)


def test_all_ways_to_write_make_the_same_filters(tmp_path):
    rows = statements(20_000)
    late = [Triple(IRI(f"a:s{i}"), IRI("a:p"), Literal(str(i))) for i in range(9000)] + rows[:3000]
    [batch] = jelly.scan(jelly.dumps(rows, GENERALIZED), batch_rows=1 << 20).batches()
    for number, (given, frames, settings) in enumerate([
        (rows, 0, {}), (batch, 0, {}), (late, 0, {}), (rows[:2000], 7, {"options": {"logical_type": 4, **GENERALIZED}}),
        (rows[:3000], 0, {"frame_rows": 3}), (rows[:600], 0, {"keyframe_rows": 200}), (rows[:1], 0, {}), ([], 0, {}),
    ]):  # fmt: skip
        path = str(tmp_path / f"{number}.jelly")
        if isinstance(settings.get("options"), dict) and frames:
            settings["options"]["logical_type"] = jelly.LogicalType.DATASETS
            settings["options"]["physical_type"] = jelly.PhysicalType.QUADS
        with jelly.Writer(path, **{"keyframe_rows": 700, "index": "terms", **settings}) as writer:
            if isinstance(given, jelly.Batch):
                writer.add_batch(given)
            elif frames:
                for first in range(0, len(given), frames):
                    writer.extend(given[first : first + frames])
                    writer.end_frame()
            else:
                writer.extend(given)
        with jelly.open(path) as file:
            assert file.filters is not None
            known = np.array([part.row for part in file.filters.parts()], module._ROW)
            assert len(known) == 4 * len(file.index.keyframes)
            assert len(given) < 700 or len(file.index.keyframes) > 2
            builder = FilterBuilder()
            for at, (start, end) in enumerate(file.index.segments()):
                for part in file.batches(first=at, last=at + 1):
                    builder.add(part)
                builder.cut(end.offset - start.offset)
            packed = builder.pack([(key.offset, key.statement) for key in file.index.keyframes])
        again = np.frombuffer(packed, known.dtype, len(known), len(packed) - 32 - directory_size(packed) + 40)
        for name in ("kind", "default", "keys", "low", "high"):
            assert (known[name] == again[name]).all(), (number, name)


def directory_size(packed):
    return struct.unpack("<qqq8s", packed[-32:])[1]


def test_files_without_filters_are_read_as_before(tmp_path, read):
    path = str(tmp_path / "x.jelly")
    jelly.write(path, [Triple(IRI(f"a:{i}"), IRI("a:p"), IRI("a:o")) for i in range(500)], seekable=True,
                keyframe_rows=100, frame_rows=1)  # fmt: skip
    with jelly.open(path) as file:
        assert file.filters is None
        assert file.matching(jelly.Pattern(s="a:7").query()) is None
        assert jelly.scan(file).filter(s="a:7").count() == 1
        assert len(read) == 5
    assert jelly.find(path, s="a:7").count() == 1


def test_a_reader_of_older_versions_finds_the_index(tmp_path):
    """The index stands at the end as it always did, and filters are no metadata."""
    path = tmp_path / "x.jelly"
    small(str(path))
    data = path.read_bytes()
    _, length, magic = struct.unpack("<qq8s", data[-24:])
    assert magic == b"JELLYIDX"
    assert length < 1000
    assert all(not frame.metadata for frame in jelly.scan(str(path)).frames())


def alone(row, data):
    """Filters of one part."""
    data += bytes(-len(data) % 512 + 8)
    return Filters(
        np.array([row], module._ROW), module.checksums(data), b"", len(data), lambda at, n: data[at : at + n], "x"
    )


def test_false_positives_are_below_one_percent():
    for n in (65, 300, 20_000):
        keys = np.random.default_rng(n).integers(0, 1 << 63, n).astype(np.uint64)
        data, seed, length, blocks = fuse_filter(keys, 7)
        row = module.Row(2, 0, 7, length.bit_length() - 1, blocks, n, len(data), 0, 0, 0, seed)
        filters = alone(row, data)
        assert filters._hold(np.zeros(n, int), keys).all()
        others = np.random.default_rng(n + 1).integers(0, 1 << 63, 10_000).astype(np.uint64)
        wrong = int(filters._hold(np.zeros(10_000, int), others).sum())
        assert 30 < wrong < 115, wrong  # 78 are expected


def test_a_file_is_read_by_the_book(tmp_path):
    """docs/reference/file-formats.md is enough for another reader."""
    path = tmp_path / "x.jelly"
    rows = small(str(path))
    data = path.read_bytes()
    index_at = len(data) - struct.unpack("<qq8s", data[-24:])[1]
    crc, length, whole, magic = struct.unpack("<qqq8s", data[index_at - 32 : index_at])
    directory = data[index_at - 32 - length : index_at - 32]
    assert magic == b"JELLYTRM"
    assert zlib.crc32(directory) == crc
    version, segments, _, size, ends = struct.unpack("<5q", directory[:40])
    assert (version, segments, size, ends) == (2, 4, 0, 0)
    filters = data[index_at - whole : index_at - 32 - length]
    assert len(filters) % 512 == 8
    sums = 40 + 4 * segments * 36
    texts = sums + len(filters) // 512 * 4
    for page, found in enumerate(struct.unpack(f"<{len(filters) // 512}I", directory[sums:texts])):
        words = struct.unpack("<65Q", filters[512 * page :][:520])
        weighted = sum(word * (2 * at + 1) for at, word in enumerate(words)) * 0x9E3779B97F4A7C15
        assert weighted % 2**64 >> 32 == found
    for number in range(4 * segments):
        kind, default, width, bits, blocks, keys, size, low, high, offset, seed = struct.unpack(
            "<BBBBIIIHHqQ", directory[40 + 36 * number : 76 + 36 * number]
        )
        lowest, highest = directory[texts : texts + low], directory[texts + low : texts + low + high]
        texts += low + high
        part = filters[offset:][:size]
        segment, slot = divmod(number, 4)
        held = rows[300 * segment : 300 * segment + 300]
        known = sorted({row[slot].value.encode() for row in held}) if slot < 3 else []
        assert keys == len(known)
        assert default == (slot == 3)
        assert (lowest, highest) == ((known[0], known[-1]) if known else (b"", b""))
        hashes = [siphash_1_3(text) for text in known]
        if kind == 1:
            assert list(struct.unpack(f"<{keys}Q", part)) == sorted(hashes)
            continue
        assert kind == 2
        assert slot in (0, 2)
        assert 7 <= width <= 12
        stream = int.from_bytes(part, "little")
        for key in hashes:
            x = (key + seed) % 2**64
            x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD % 2**64
            x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 % 2**64
            x ^= x >> 33
            block = 1 << bits
            first = (x >> 32) * (blocks * block) >> 32
            places = first, (first + block) ^ (x >> 18) % block, (first + 2 * block) ^ x % block
            found = 0
            for place in places:
                found ^= stream >> place * width
            assert (found ^ x ^ x >> 32) % 2**width == 0


def siphash_1_3(text):
    """The first 8 bytes of SipHash-1-3 of 128 bits, with a key of zeros."""
    mask = 2**64 - 1

    def turned(x, n):
        return (x << n | x >> (64 - n)) & mask

    def round(a, b, c, d):
        a = (a + b) & mask
        b = turned(b, 13) ^ a
        a = turned(a, 32)
        c = (c + d) & mask
        d = turned(d, 16) ^ c
        a = (a + d) & mask
        d = turned(d, 21) ^ a
        c = (c + b) & mask
        b = turned(b, 17) ^ c
        return a, b, turned(c, 32), d

    a, b, c, d = 0x736F6D6570736575, 0x646F72616E646F6D ^ 0xEE, 0x6C7967656E657261, 0x7465646279746573
    padded = text + bytes(7 - len(text) % 8) + bytes([len(text) % 256])
    for (word,) in struct.iter_unpack("<Q", padded):
        a, b, c, d = round(a, b, c, d ^ word)
        a ^= word
    c ^= 0xEE
    for _ in range(3):
        a, b, c, d = round(a, b, c, d)
    return a ^ b ^ c ^ d


def found_in(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return [list(jelly.find(path, **given)) for given in ({"o": '"v700"'}, {"s": "a:s00010"}, {"o": "a:none"})]


@pytest.mark.timeout(3000 if PATTERNS > 1000 else 900)
@pytest.mark.parametrize("where", ["in the file", "in the sidecar"])
def test_no_damage_loses_a_statement(tmp_path, where):
    """Each byte flipped, and cut at each byte: an error, or all that is there."""
    path = str(tmp_path / "x.jelly")
    small(path, 400, 100)
    wanted = found_in(path)
    if where == "in the file":
        broken, data = path, Path(path).read_bytes()
        end = len(data) - struct.unpack("<qq8s", data[-24:])[1]
        places = range(end - struct.unpack("<qqq8s", data[end - 32 : end])[2], end)
    else:
        jelly.write(path, list(jelly.read(path)), seekable=True, keyframe_rows=100)
        make_sidecar(path, terms=True)
        broken = path + ".idx"
        data = Path(broken).read_bytes()
        places = range(len(data))
    assert len(places) > 1000
    dice = random.Random(1)
    chosen = places if os.environ.get("JELLY_LONG") else sorted(dice.sample(places, 150))
    for place in chosen:
        Path(broken).write_bytes(data[:place] + bytes([data[place] ^ (1 << place % 8)]) + data[place + 1 :])
        assert found_in(path) == wanted, place
        if where == "in the sidecar":
            Path(broken).write_bytes(data[:place])
            assert found_in(path) == wanted, place


def test_damage_is_told(tmp_path):
    path = tmp_path / "x.jelly"
    small(str(path))
    data = bytearray(path.read_bytes())
    end = len(data) - struct.unpack("<qq8s", data[-24:])[1]
    whole = struct.unpack("<qqq8s", data[end - 32 : end])[2]
    for at, text in ((end - whole + 4, "are damaged: more is read"), (end - 40, "their checksum is wrong")):
        broken = bytearray(data)
        broken[at] ^= 1
        path.write_bytes(broken)
        with pytest.warns(RuntimeWarning, match=text), jelly.open(path) as file:
            assert jelly.scan(file).filter(s="a:s00010").count() == 4


def test_directories_that_lie_are_refused(tmp_path):
    """With checksums that fit: numbers of any size never read outside of the filters, nor take much memory."""
    path = tmp_path / "x.jelly"
    small(str(path))
    data = path.read_bytes()
    end = len(data) - struct.unpack("<qq8s", data[-24:])[1]
    _, length, whole, magic = struct.unpack("<qqq8s", data[end - 32 : end])
    start = end - 32 - length
    dice = random.Random(2)
    refused = 0
    for _ in range(300):
        directory = bytearray(data[start : end - 32])
        at = dice.randrange(len(directory) - 8)
        directory[at : at + dice.choice([1, 4, 8])] = dice.choice([b"\xff" * 8, bytes(8), dice.randbytes(8)])[
            : dice.choice([1, 4, 8])
        ]
        directory = directory[:length].ljust(length, b"\0")
        tail = struct.pack("<qqq8s", zlib.crc32(directory), length, whole, magic)
        path.write_bytes(data[:start] + directory + tail + data[end:])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with jelly.open(path) as file:
                for given in ({"s": "a:s00010"}, {"o": '"v700"'}, {"s": IRIPrefix("a:")}, {"g": "default"}):
                    jelly.scan(file).filter(**given).count()
        refused += bool(told)
    assert refused > 100


def test_what_was_appended_is_found(tmp_path):
    path, other = tmp_path / "x.jelly", tmp_path / "y.jelly"
    rows = small(str(path))
    jelly.write(other, [Triple(IRI("a:new"), IRI("a:p"), Literal("new"))], index="terms")
    make_sidecar(path, terms=True)
    path.write_bytes(path.read_bytes() + other.read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for term, n in (("a:new", 1), ("a:s00010", 4)):
            assert jelly.find(str(path), s=term, joined=True).count() == n
    # A sidecar of another file that has the same keyframes.
    small(str(path))
    make_sidecar(path, terms=True)
    changed = [Triple(IRI(f"b:s{i // 4:05}"), IRI("a:p"), Literal(f"v{i}")) for i in range(len(rows))]
    jelly.write(path, changed, seekable=True, keyframe_rows=300)
    with pytest.warns(RuntimeWarning, match="filters of .* are ignored"), jelly.open(path) as file:
        assert jelly.scan(file).filter(s="b:s00010").count() == 4


def test_limits(tmp_path, monkeypatch):
    keys = FilterBuilder(limit=1000)
    [batch] = jelly.scan(jelly.dumps([Triple(IRI(f"a:{i}"), IRI("a:p"), IRI("a:o")) for i in range(2000)])).batches()
    for low in range(0, 2000, 500):
        keys.add(batch, low, low + 500)
        keys.cut(10_000)
    kinds = [part.row.kind for part in keys._parts[::4]]
    assert kinds == [2, 2, 0, 0]  # the rest may hold anything, within the ranges
    path = str(tmp_path / "x.jelly")
    small(path)
    monkeypatch.setattr(module, "_MAX_DIRECTORY", 100)
    with pytest.warns(RuntimeWarning, match="their length is wrong"), jelly.open(path) as file:
        assert file.filters is None
    assert jelly.Pattern(s=[f"a:{i}" for i in range(2000)]).query() is None


def test_sorted_slots_need_no_filter():
    builder = FilterBuilder()
    for segment in range(200):
        rows = [Triple(IRI(f"a:{segment * 100 + i:06}"), IRI("a:p"), Literal(str(i * 7 + segment))) for i in range(100)]
        [batch] = jelly.scan(jelly.dumps(rows)).batches()
        builder.add(batch)
        builder.cut(10_000)
    packed = builder.pack([(i, i) for i in range(200)])
    rows = np.frombuffer(packed, module._ROW, 800, len(packed) - 32 - directory_size(packed) + 40)
    assert set(rows["kind"][::4].tolist()) == {0}
    assert set(rows["kind"][2::4].tolist()) == {2}


def test_keys_are_of_texts_alone():
    [batch] = jelly.scan(b'<a:x> <a:p> "a:x"@en . <a:x> <a:p> "a:x" . _:b <a:p> "a:x"^^<a:t> .', format="ttl").batches()
    keys, low, high, default = slot_keys(batch, batch.o)
    assert set(keys.tolist()) == {siphash_1_3(b"a:x")}
    assert (low >= 0)
    assert (high >= 0)
    assert not default
    assert slot_keys(batch, np.array([-1, -1], np.int32))[1:] == (-1, -1, True)
    with pytest.raises(jelly.JellyError, match="no term of this id"):
        slot_keys(batch, np.array([batch.n_terms], np.int32))
    assert fuse_filter(np.zeros(5, np.uint64), 7) is None
    with pytest.raises(jelly.JellyError, match="2 to"):
        fuse_filter(np.zeros(1, np.uint64), 7)


def test_a_closed_file_says_so(tmp_path):
    path = str(tmp_path / "x.jelly")
    small(path)
    with jelly.open(path) as file:
        found = jelly.scan(file).filter(s="a:s00010")
    with pytest.raises(jelly.JellyError, match="the file is closed"):
        found.count()


def test_arguments(tmp_path):
    with pytest.raises(jelly.JellyError, match='index is .all.: expected "terms" or None'):
        jelly.Writer(str(tmp_path / "x.jelly"), index="all")
    with pytest.raises(jelly.JellyError, match="index= does not go with N-Triples"):
        jelly.Writer(str(tmp_path / "x.nt"), index="terms")
    with pytest.raises(jelly.JellyError, match="no filters of terms"):
        make_sidecar(tmp_path / "x.jellyp", patch=True, terms=True)


def test_repr(tmp_path):
    path = str(tmp_path / "x.jelly")
    small(path)
    with jelly.open(path) as file:
        assert isinstance(file.filters, Filters)
        assert repr(file.filters) == f"<filters of 4 segments: {file.filters.size} bytes>"
    assert jelly.inspect(path).filter_bytes == file.filters.size


def test_tables_become_files_with_filters(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [Triple(IRI(f"a:{i}"), IRI("a:p"), Literal(str(i))) for i in range(500)]
    whole = jelly.read_arrow(jelly.dumps(rows)).read_all()
    from jelly.arrow import write_arrow

    write_arrow(str(tmp_path / "x.jelly"), whole, index="terms", keyframe_rows=100)
    parquet.write_table(whole, tmp_path / "x.parquet")
    jelly.convert(str(tmp_path / "x.parquet"), str(tmp_path / "y.jelly"), index="terms")
    for name in ("x.jelly", "y.jelly"):
        with jelly.open(tmp_path / name) as file:
            assert file.filters is not None
            assert jelly.scan(file).filter(s="a:77").count() == 1
    with pytest.raises(jelly.JellyError, match="index= does not go with tables"):
        jelly.convert(str(tmp_path / "x.jelly"), str(tmp_path / "z.parquet"), index="terms")
