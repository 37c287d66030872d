"""Little input that asks for much: memory stays flat, and what is refused is refused at once."""

from __future__ import annotations

import bz2
import functools
import gzip
import lzma
import struct
import zlib
from collections.abc import Iterator

import pytest
from support.craft import BNODE, field, frame, options, terms, triple, varint
from support.measure import SANITIZED, growth

import jelly
from jelly import JellyError, JellyFormatError, JellyLimitError, JellyTruncatedError

MB = 1 << 20

COMMON = "from support.craft import *"
DRAIN = """
total = 0
for batch in jelly.scan(data).batches():
    total += len(batch)
del batch
"""


def refused(work: str) -> str:
    return f"try:\n    {work}\nexcept jelly.JellyError as error:\n    pass\nelse:\n    sys.exit('not refused')"


@pytest.mark.bounded
def test_announced_sizes_take_no_memory() -> None:
    # Each says that very much is to come and brings a few bytes.
    rows = """
head = frame(options())
cases = [
    varint(1 << 30) + b"x" * 100,
    varint(1 << 27) + b"x" * 100,
    head + varint(1 << 28) + options()[:20],
    head + varint((1 << 28) - 1) + b"\\x0a",
    head + varint(1 << 62) + b"x",
    head + frame(b"\\x0a" + varint(1 << 40) + b"x"),
    head + frame(field(1, b"\\x12" + varint(1 << 40) + b"x")),
    head + frame(name(id=2**62 + 2**31)), head + frame(prefix(id=2**31)), head + frame(datatype(id=2**32 - 1)),
    frame(options(names=10_000_000)), frame(options(prefixes=10_000_000)), frame(options(datatypes=10_000_000)),
    frame(options(names=2**62 + 2**31)),
]
"""
    for size in (1, 1000):
        work = f"""
for data in cases:
    decoder = jelly.Decoder()
    try:
        for i in range(0, len(data), {size}):
            list(decoder.feed(data[i:i + {size}]))
        list(decoder.close())
    except jelly.JellyError:
        continue
    sys.exit("not refused: " + repr(data))
"""
        assert growth(COMMON + rows, work) < 4 * MB


@pytest.mark.bounded
def test_the_largest_tables_that_are_allowed_are_touched_as_used() -> None:
    setup = COMMON + "\ndata = frame(options(names=1 << 20, prefixes=1 << 20, datatypes=1 << 20), triple())"
    work = "statements = jelly.loads(data, max_names=1 << 20, max_prefixes=1 << 20, max_datatypes=1 << 20)"
    assert growth(setup, work) < 8 * MB


@pytest.mark.bounded
def test_table_entries_of_a_frame_that_is_as_large_as_allowed() -> None:
    setup = COMMON + "\ndata = frame(options(), *[name(b'x' * (1 << 20), 1 + i % 16) for i in range(200)], triple())"
    assert growth(setup, DRAIN) < 40 * MB


@pytest.mark.bounded
def test_prefix_bomb() -> None:
    # A prefix of 1 MB in 2000 IRIs means 2 GB of text; a Batch ends at 16 MB.
    setup = (
        COMMON
        + """
names = [name(b"%d" % i) for i in range(1, 2001)]
rows = [triple(o=(IRI, iri(1 + i % 2000))) for i in range(2000)]
data = frame(options(names=2001), prefix(b"x" * (1 << 20)), *names, triple((IRI, iri(1, 1))), *rows)
"""
    )
    assert growth(setup, DRAIN + "assert total == 2001") < 120 * MB


@pytest.mark.bounded
def test_prefix_bomb_in_one_statement() -> None:
    setup = (
        COMMON
        + """
body = terms((IRI, b""), (IRI, b""), (IRI, b""))
for _ in range(9):
    body = terms((QUOTED, body), (QUOTED, body), (IRI, b""))
names = [name(b"%d" % i) for i in range(4000)]
data = frame(options(names=4000), prefix(b"x" * (1 << 20)), *names, triple((IRI, iri(1, 1))), triple((QUOTED, body)))
"""
    )
    # One statement is whole in a Batch or it is refused: at 256 MB.
    assert growth(setup, refused("list(jelly.scan(data).batches())")) < 600 * MB


@pytest.mark.bounded
def test_metadata_bomb() -> None:
    setup = COMMON + "\nhead = frame(options()); one = frame(metadata('k', b'x' * 100_000), triple())"
    work = "data = (one if i else head for i in range(4000))" + DRAIN + "assert total == 3999"
    assert growth(setup, work) < 80 * MB
    setup = COMMON + "\ndata = frame(options(), field(15, b'') * 8_000_000)"
    assert growth(setup, DRAIN) < 40 * MB


@pytest.mark.bounded
def test_namespace_bomb() -> None:
    setup = COMMON + "\ndata = frame(options(version=2), name('n'), namespace('', iri(1)) * 4_000_000)"
    assert growth(setup, DRAIN) < 200 * MB


@pytest.mark.bounded
def test_frames_without_end() -> None:
    setup = "head = jelly.dumps([])"
    work = "data = (bytes(1 << 16) if i else head for i in range(200))" + DRAIN
    assert growth(setup, work) < 24 * MB


@pytest.mark.bounded
def test_many_stream_names_are_not_kept() -> None:
    setup = COMMON + "\nstreams = (frame(options(name=b'%d' % i * (1 << 20)), triple()) for i in range(10, 60))"
    assert growth(setup, "for data in streams: jelly.loads(data)") < 24 * MB


@pytest.mark.bounded
def test_a_bare_stream_without_end() -> None:
    setup = COMMON + "\nhead = options()"
    work = refused(
        "list(jelly.scan((triple() * 1000 if i else head for i in range(10**9)), max_frame_bytes=1 << 22).batches())"
    )
    assert growth(setup, work) < 16 * MB


@pytest.mark.parametrize("depth", [65, 1000, 100_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    # By hand: each level has a tag and a length that the levels within decide.
    inner = terms((BNODE, b"s"), (BNODE, b"p"), (BNODE, b"o"))
    size, heads = len(inner), []
    for _ in range(depth - 1):
        heads.append(b"\x22" + varint(size))
        size += len(heads[-1])
    body = b"".join(reversed(heads)) + inner
    with pytest.raises(JellyLimitError, match="deeper than 64"):
        jelly.loads(frame(options(), field(1, field(2, b"\x22" + varint(len(body)) + body))))
    text = b"<< " * depth + b"<a:s> <a:p> <a:o>" + b" >> <a:p> <a:o>" * depth + b" .\n"
    with pytest.raises(JellyLimitError, match="deeper than 64"):
        list(jelly.read(text, format="nt"))
    x = jelly.IRI("a:x")
    with pytest.raises(JellyLimitError, match="deeper than 64"):
        functools.reduce(lambda term, _: jelly.QuotedTriple(term, x, term), range(depth), x)


# ---- compression

STREAM = frame(options(), triple()) + frame(field(100, bytes(1 << 20))) * 64

COMPRESS = {
    "gz": lambda data: gzip.compress(data, 1),
    "bz2": lambda data: bz2.compress(data, 1),
    "xz": lambda data: lzma.compress(data, preset=1),
    "zst": lambda data: pytest.importorskip("zstandard").compress(data, 1),
}


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.bounded
def test_compression_bombs(kind: str, tmp_path) -> None:
    path = tmp_path / "bomb.jelly"
    path.write_bytes(COMPRESS[kind](STREAM))
    assert path.stat().st_size < len(STREAM) / 50
    setup = f"data = {str(path)!r}"
    if kind == "gz":
        assert growth(setup, DRAIN + "assert total == 1") < 40 * MB
        return
    # What is smaller than any data that mean something is refused, unless the caller decompresses it.
    assert growth(setup, refused("list(jelly.scan(data).batches())")) < 40 * MB
    module = {"bz2": "bz2", "xz": "lzma", "zst": "zstandard"}[kind]
    setup += f"\nimport {module}\ndata = {module}.open(data, 'rb')"
    assert growth(setup, DRAIN + "assert total == 1") < 40 * MB


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_file_may_expand_to_eight_megabytes(kind: str) -> None:
    data = frame(options(), triple()) + bytes((1 << 23) - 1000)
    assert len(jelly.loads(data)) == sum(len(batch) for batch in jelly.scan(COMPRESS[kind](data)).batches()) == 1
    if kind not in ("gz", "xz"):
        with pytest.raises(JellyLimitError, match="more than 4096 times their size"):
            list(jelly.scan(COMPRESS[kind](bytes(1 << 24))).batches())


@pytest.mark.bounded
def test_bombs_that_are_one_frame(tmp_path) -> None:
    path = tmp_path / "bomb.jelly.gz"
    path.write_bytes(gzip.compress(frame(options()) + varint(1 << 30) + bytes(200 << 20), 1))
    assert growth(f"data = {str(path)!r}", refused("list(jelly.scan(data).batches())")) < 24 * MB


def xz_with_dictionary(data: bytes, size: int) -> bytes:
    """An xz file that asks for a dictionary of 4 GiB or so; the size byte is in the header of the block."""
    out = bytearray(lzma.compress(data, preset=0))
    header = 12
    length = (out[header] + 1) * 4
    at = header + 1 + 1 + 2  # size, flags, filter id, size of its properties
    assert out[at - 2 : at] == b"\x21\x01"
    out[at] = size
    out[header + length - 4 : header + length] = struct.pack("<I", zlib.crc32(out[header : header + length - 4]))
    return bytes(out)


@pytest.mark.bounded
def test_xz_may_not_ask_for_a_dictionary_of_any_size(tmp_path) -> None:
    stream = STREAM[: 4 << 20]
    assert b"".join(jelly._bytes.source.Source(xz_with_dictionary(stream, 30)).chunks()) == stream
    path = tmp_path / "x.xz"
    path.write_bytes(xz_with_dictionary(stream, 40))
    with pytest.raises(JellyFormatError, match="compressed data is broken"):
        list(jelly.read(path, format="jelly"))
    assert growth(f"data = {str(path)!r}", refused("list(jelly.scan(data, format='jelly').batches())")) < 24 * MB


def small_stream() -> tuple[bytes, list]:
    statements = [
        jelly.Triple(jelly.IRI(f"http://e/{i * 7919 % 1000}"), jelly.IRI("a:p"), jelly.Literal(str(i * 104729)))
        for i in range(3000)
    ]
    encoder = jelly.Encoder(jelly.StreamOptions(), frame_rows=64)
    batches = jelly.scan(jelly.dumps(statements)).batches()
    return b"".join([*(encoder.encode(batch) for batch in batches), encoder.close()]), statements


@pytest.mark.parametrize("kind", COMPRESS)
def test_compressed_files_cut_off(kind: str) -> None:
    data, statements = small_stream()
    packed = COMPRESS[kind](data)
    step = max(1, len(packed) // 20) * (5 if SANITIZED else 1)
    for cut in [*range(8, len(packed) - 20, step), *range(len(packed) - 20, len(packed))]:
        found: list = []
        with pytest.raises(JellyTruncatedError, match="compressed data is cut off"):
            found.extend(jelly.read(packed[:cut]))
        assert found == statements[: len(found)]
    assert list(jelly.read(packed)) == statements
    # Some of it comes out before the error, even of a file that is cut near its end.
    if kind == "gz":
        assert len(found) > 2000


@pytest.mark.parametrize("kind", COMPRESS)
def test_compressed_files_broken(kind: str) -> None:
    data, statements = small_stream()
    packed = COMPRESS[kind](data)
    for at in range(6, len(packed), max(1, len(packed) // (10 if SANITIZED else 150))):
        changed = bytearray(packed)
        changed[at] ^= 0xFF
        found: list = []
        try:
            found.extend(jelly.read(bytes(changed)))
        except JellyError as error:
            known = error.offset is not None
        else:
            known = True
        assert known


@pytest.mark.parametrize("kind", COMPRESS)
def test_compressed_in_parts(kind: str) -> None:
    data, statements = small_stream()
    pack = COMPRESS[kind]
    packed = b"".join(pack(data[at : at + 5000]) for at in range(0, len(data), 5000)) + pack(b"")
    assert list(jelly.read(packed)) == statements

    def pieces() -> Iterator[bytes]:
        for at in range(0, len(packed), 7):
            yield packed[at : at + 7]

    assert list(jelly.read(pieces())) == statements
    if kind == "xz":
        assert list(jelly.read(packed + bytes(8))) == statements
        for rest in (b"!", b"no more", b"no more of this"):
            with pytest.raises(JellyFormatError, match="broken: this is no stream of xz: it begins with the byte 0x"):
                list(jelly.read(packed + rest))
        with pytest.raises(JellyTruncatedError, match="cut off"):
            list(jelly.read(packed + packed[:4]))
    if kind == "zst":
        skippable = struct.pack("<II", 0x184D2A53, 5) + b"12345"
        assert list(jelly.read(packed + skippable)) == statements
        with pytest.raises(JellyTruncatedError):
            list(jelly.read(packed + skippable[:-1]))


@pytest.mark.parametrize("setting", ["checksum", "no size", "level", "long"])
def test_zstd_frames_of_all_kinds(setting: str) -> None:
    zstandard = pytest.importorskip("zstandard")
    data, statements = small_stream()
    compressor = {
        "checksum": zstandard.ZstdCompressor(write_checksum=True),
        "no size": zstandard.ZstdCompressor(write_content_size=False),
        "level": zstandard.ZstdCompressor(level=-5),
        "long": zstandard.ZstdCompressor(
            compression_params=zstandard.ZstdCompressionParameters(window_log=24, write_checksum=True)
        ),
    }[setting]
    packed = compressor.compress(data)
    assert list(jelly.read(packed)) == statements
    for cut in range(8, len(packed), 101 if SANITIZED else 11):
        with pytest.raises(JellyTruncatedError):
            list(jelly.read(packed[:cut]))
