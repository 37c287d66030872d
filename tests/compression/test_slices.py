"""Compressed text that threads decompress, bz2 in slices: the bytes, errors and limits are those of one thread."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import random
import re
import struct
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jelly
from jelly._bytes import compression, source
from jelly._bytes import cut as room
from jelly._bytes.source import Source
from jelly._bytes.workers import Workers, pipelined
from jelly.errors import JellyError, JellyFormatError, JellyLimitError, JellyTruncatedError

zstandard = pytest.importorskip("zstandard")

KINDS = (".gz", ".zst", ".bz2")


def bgzip(data: bytes) -> bytes:
    """A member as bgzip writes it, which tells its size."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = packer.compress(data) + packer.flush()
    head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(body) + 25)
    return head + body + struct.pack("<II", zlib.crc32(data), len(data))


def pzstd(data: bytes) -> bytes:
    """A frame as pzstd writes it, behind one to skip that tells its size."""
    frame = zstandard.ZstdCompressor(write_checksum=True).compress(data)
    return struct.pack("<III", 0x184D2A50, 4, len(frame)) + frame


def zstd(data: bytes) -> bytes:
    return bytes(zstandard.ZstdCompressor(write_content_size=False).compress(data))


WAYS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": (".gz", gzip.compress),
    "bgzip": (".gz", bgzip),
    "zstd": (".zst", zstd),
    "pzstd": (".zst", pzstd),
    "bz2": (".bz2", bz2.compress),
}
ORACLES: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read(),
}
rng = random.Random(5)
PARTS = [
    b"".join(b"<a:%x> <a:p> <a:%x> .\n" % (rng.getrandbits(40), rng.getrandbits(40)) for _ in range(rng.randrange(600)))
    for _ in range(30)
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices so small that a test has many."""
    monkeypatch.setattr(room, "_LEAST", 3000)
    monkeypatch.setattr(room, "_MOST", 1 << 18)
    monkeypatch.setattr(room, "_MOST_PLAIN", 1 << 20)
    monkeypatch.setattr(source, "SLICED_BYTES", 0)
    monkeypatch.setattr(source, "AHEAD_BYTES", 0)


def read(data: Any, threads: int = 2, **settings: Any) -> tuple[bytes, tuple[Any, ...]]:
    """What is read, and the error behind it."""
    text: list[bytes] = []
    found = Source(data, **settings)
    with Workers(threads) as workers:
        found.workers = workers
        try:
            text.extend(found.chunks())
        except (JellyError, OSError) as error:
            return b"".join(text), (type(error), getattr(error, "reason", str(error)))
    return b"".join(text), ()


def counted(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each slice that is decompressed in a thread passes."""
    found: list[bool] = []
    unpack = room._unpack

    def counting(data: bytes) -> Any:
        texts = unpack(data)
        found.append(texts is not None)
        return texts

    monkeypatch.setattr(room, "_unpack", counting)
    return found


@pytest.mark.parametrize("way", WAYS)
def test_frames_are_decompressed_by_several_threads(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, pack = WAYS[way]
    data = b"".join(map(pack, PARTS))
    passed = counted(monkeypatch)
    assert read(data) == (b"".join(PARTS), ())
    assert b"".join(PARTS) == ORACLES[kind](data)
    assert len(passed) > 10 or kind != ".bz2"
    assert all(passed)


@pytest.mark.parametrize("way", WAYS)
def test_one_frame_is_read_in_turn(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # bgzip has at most 64 KiB in a member.
    whole = b"".join(PARTS)[:: 9 if way == "bgzip" else 1]
    passed = counted(monkeypatch)
    monkeypatch.setattr(room, "_MOST", 1000)
    assert read(WAYS[way][1](whole)) == (whole, ())
    assert not passed


def looks_like_streams(monkeypatch: pytest.MonkeyPatch, *wrong: bytes) -> None:
    """These bytes look like the begin of a stream of bz2, too."""
    begins = re.compile(b"|".join([room._BEGINS[".bz2"].pattern, *map(re.escape, wrong)]))
    monkeypatch.setitem(room._BEGINS, ".bz2", begins)


def test_what_only_looks_like_a_stream_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = list(map(bz2.compress, PARTS))
    looks_like_streams(monkeypatch, *(stream[200 + step : 208 + step] for stream in streams for step in (0, 100)))
    passed = counted(monkeypatch)
    assert read(b"".join(streams)) == (b"".join(PARTS), ())
    assert not all(passed)


def test_one_wrong_guess_does_not_end_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = [bz2.compress(b"".join(PARTS[:6])), *map(bz2.compress, PARTS)]
    looks_like_streams(monkeypatch, streams[0][4000:4008])
    passed = counted(monkeypatch)
    assert read(b"".join(streams)) == (b"".join(PARTS[:6] + PARTS), ())
    assert passed.count(True) > 10
    assert not all(passed)


@pytest.mark.parametrize("way", WAYS)
def test_broken_files_are_as_with_one_thread(way: str) -> None:
    kind, pack = WAYS[way]
    data = b"".join(map(pack, PARTS))
    wrong = [data[:cut] for cut in (len(data) - 1, len(data) // 2, 4000, 11)]
    wrong += [data + b"rubbish", data[:9000] + data[9100:], data + b"\0" * 50]
    for _ in range(25):
        at = rng.randrange(len(data))
        wrong.append(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
    outcomes = set()
    for broken in wrong:
        text, error = read(broken, 1)
        assert read(broken) == (text, error)
        outcomes.add(error[:1])
    assert {(JellyTruncatedError,), (JellyFormatError,)} <= outcomes


def test_the_size_that_a_member_of_bgzip_tells_is_not_believed() -> None:
    members = [bytearray(bgzip(part)) for part in PARTS]
    for member in members[::3]:
        member[16:18] = rng.randbytes(2)
    assert read(b"".join(members)) == (b"".join(PARTS), ())


@pytest.mark.parametrize("kind", KINDS)
def test_bombs_are_refused(kind: str) -> None:
    pack = {".gz": gzip.compress, ".zst": zstd, ".bz2": bz2.compress}[kind]
    for size, n in ((1 << 24, 1), (1 << 19, 30)):
        bomb = pack(bytes(size)) * n
        for threads in (1, 2):
            text, error = read(bomb, threads, max_expansion=1)
            assert error[0] is JellyLimitError
            assert len(text) <= (1 << 23) + len(bomb) + (1 << 20)


def threads_of_jelly(kind: str = "jelly") -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(kind)]


def no_threads_are_left(kind: str = "jelly") -> bool:
    """Nothing waits for a thread that is dropped, but it ends with what it is at."""
    until = time.monotonic() + 60
    while threads_of_jelly(kind) and time.monotonic() < until:
        time.sleep(0.001)
    return threads_of_jelly(kind) == []


@pytest.mark.parametrize("kind", [*KINDS, ".xz"])
def test_reading_ahead_ends_with_the_reader(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "SLICED_BYTES", 1 << 60)
    pack = {".gz": gzip.compress, ".zst": zstd, ".bz2": bz2.compress, ".xz": lzma.compress}[kind]
    path = tmp_path / f"a.nt{kind}"
    path.write_bytes(pack(b"".join(PARTS) * 12))
    found = Source(path)
    next(found.chunks(1000))
    assert threads_of_jelly() == []
    with Workers(2) as workers:
        found = Source(path)
        found.workers = workers
        chunks: Any = found.chunks(1000)
        assert len(next(chunks)) > 0
        assert threads_of_jelly() == ["jelly-beside_0"]
        chunks.close()
        assert no_threads_are_left()
        with jelly.Reader(path) as reader:
            reader.workers = workers
            next(reader.batches())
        assert no_threads_are_left("jelly-beside")
    assert read(path) == (b"".join(PARTS) * 12, ())
    path.write_bytes(path.read_bytes()[:-5])
    text, error = read(path)
    assert error[0] is JellyTruncatedError
    assert (b"".join(PARTS) * 12).startswith(text)
    assert no_threads_are_left()


def test_only_a_few_chunks_are_made_ahead() -> None:
    made: list[int] = []
    ended: list[bool] = []

    def numbers() -> Any:
        try:
            for number in range(200):
                made.append(number)
                yield bytes([number + 1])
        finally:
            ended.append(True)

    chunks: Any = pipelined(iter([numbers]), 1)
    assert [next(chunks)[0] for _ in range(10)] == list(range(1, 11))
    chunks.close()
    assert 10 <= len(made) <= 20
    assert no_threads_are_left()
    assert ended == [True]


def test_the_error_of_a_disk_comes_behind_what_was_read(tmp_path: Path) -> None:
    data = b"".join(map(bz2.compress, PARTS))

    def chunks() -> Any:
        yield from (data[at : at + 5000] for at in range(0, len(data) // 2, 5000))
        raise OSError(5, "the disk is broken")

    outcomes = []
    for threads in (1, 2):
        found = Source(chunks())
        found.size = len(data)
        text: list[bytes] = []
        with Workers(threads) as workers:
            found.workers = workers
            with pytest.raises(OSError, match="the disk is broken"):
                text.extend(found.chunks())
        outcomes.append(sum(map(len, text)) > 10_000 and b"".join(PARTS).startswith(b"".join(text)))
    assert outcomes == [True, True]


@pytest.mark.parametrize("way", WAYS)
def test_conversions_with_threads(way: str, tmp_path: Path) -> None:
    kind, pack = WAYS[way]
    path = tmp_path / f"a.nt{kind}"
    path.write_bytes(b"".join(map(pack, PARTS)))
    written = []
    for threads in (1, 3):
        out = tmp_path / f"{threads}.nt"
        done = jelly.convert(path, out, threads=threads)
        assert done.bytes_read == path.stat().st_size
        written.append(out.read_bytes())
    assert written == [b"".join(PARTS)] * 2


@pytest.mark.parametrize("name", ["isal.isal_zlib", "zlib_ng.zlib_ng", ""])
def test_libraries_of_gzip(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where none is installed, Python's own is used."""
    if name:
        pytest.importorskip(name)
    load = importlib.import_module

    def only(wanted: str) -> Any:
        if wanted != name:
            raise ImportError
        return load(wanted)

    used: Any = importlib.import_module(name or "zlib")
    monkeypatch.setattr(compression.importlib, "import_module", only)
    compression._inflater.cache_clear()
    try:
        assert compression._inflater() is used.decompressobj
        data = b"".join(map(gzip.compress, PARTS))
        assert read(data, 1) == (b"".join(PARTS), ())
        assert read(data[:-3], 1)[1][0] is JellyTruncatedError
        assert read(data + b"rubbish", 1)[1][0] is JellyFormatError
        broken = data[:5000] + b"\xff" * 50 + data[5050:]
        assert read(broken, 1)[1][0] is JellyFormatError
    finally:
        compression._inflater.cache_clear()
