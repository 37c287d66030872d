"""Frames of zstd and members of gzip with the table of their sizes: any decompressor reads them as one stream."""

from __future__ import annotations

import gzip
import io
import shutil
import struct
import subprocess
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from jelly._bytes.compression import SEEKABLE
from jelly._bytes.frames import (
    CorruptTable,
    FrameTable,
    compress_frame,
    pack_table,
    read_table,
)
from jelly._bytes.source import Source

zstandard = pytest.importorskip("zstandard")

PARTS = [b"one " * 1000, b"", b"two " * 5, bytes(range(256)) * 40]


def reader(data: bytes):
    return lambda offset, size: data[offset : offset + size]


def file_of(kind: str, parts=PARTS) -> tuple[bytes, list[tuple[int, int]]]:
    frames = [compress_frame(part, kind) for part in parts]
    sizes = [(len(frame), len(part)) for frame, part in zip(frames, parts, strict=True)]
    return b"".join(frames) + pack_table(sizes, kind), sizes


@pytest.mark.parametrize("kind", SEEKABLE)
def test_a_table_is_read_as_it_was_written(kind: str) -> None:
    data, sizes = file_of(kind)
    table = read_table(reader(data), len(data), kind)
    assert table is not None
    assert table.frames == len(PARTS)
    assert table.packed.tolist() == FrameTable.of(sizes).packed.tolist()
    assert table.plain.tolist() == [0, 4000, 4000, 4020, 4020 + 256 * 40]


@pytest.mark.parametrize("kind", SEEKABLE)
def test_every_decompressor_reads_one_stream(kind: str) -> None:
    data, _ = file_of(kind)
    whole = b"".join(PARTS)
    assert b"".join(Source(data).chunks()) == whole
    if kind == ".gz":
        assert gzip.decompress(data) == whole
        rest, found = data, b""
        while rest:
            member = zlib.decompressobj(31)
            found += member.decompress(rest)
            assert member.eof
            rest = member.unused_data
        assert found == whole
    else:
        stream = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True)
        assert stream.read() == whole
    command = {".gz": "gzip", ".zst": "zstd"}[kind]
    if shutil.which(command):
        done = subprocess.run([command, "-dc"], input=data, capture_output=True, timeout=240)
        assert (done.returncode, done.stdout, done.stderr) == (0, whole, b"")


@pytest.mark.parametrize("n", [0, 1, 7999, 8000, 8001, 16000, 20001])
def test_a_table_of_gzip_is_as_long_as_it_must_be(n: int) -> None:
    sizes = [(20 + i % 7, i) for i in range(n)]
    body = bytes(sum(packed for packed, _ in sizes))
    data = body + pack_table(sizes, ".gz")
    table = read_table(reader(data), len(data), ".gz")
    assert table is not None
    assert table.frames == n
    assert table.plain[-1] == sum(plain for _, plain in sizes)
    assert gzip.decompress(pack_table(sizes, ".gz")) == b""


@pytest.mark.parametrize("kind", SEEKABLE)
def test_a_file_without_a_table_has_none(kind: str) -> None:
    frame = compress_frame(PARTS[0], kind)
    for data in (b"", frame[:5], frame, frame * 3):
        assert read_table(reader(data), len(data), kind) is None


@pytest.mark.parametrize("kind", SEEKABLE)
def test_cut_and_damaged_tables(kind: str) -> None:
    """Whatever is done to a table, it is refused, or it is as good as none, or it says the same."""
    data, sizes = file_of(kind)
    start = sum(packed for packed, _ in sizes)
    for end in range(start, len(data)):
        assert read_table(reader(data[:end]), end, kind) is None
    kept = 0
    for at in range(start, len(data)):
        for bit in range(8):
            broken = bytearray(data)
            broken[at] ^= 1 << bit
            try:
                table = read_table(reader(bytes(broken)), len(broken), kind)
            except CorruptTable:
                continue
            if table is not None:
                # Decompressed sizes of zstd have nothing beside them to be compared with until a frame is read.
                assert kind == ".zst"
                assert table.packed[-1] == start
                kept += 1
    assert kept <= (len(sizes) * 4 + 1) * 8


def test_a_table_with_checksums_of_another_writer_is_read() -> None:
    frames = [compress_frame(part, ".zst") for part in PARTS]
    body = b"".join(
        struct.pack("<III", len(frame), len(part), 7) for frame, part in zip(frames, PARTS, strict=True)
    ) + struct.pack("<IBI", len(PARTS), 0x80, 0x8F92EAB1)
    data = b"".join(frames) + struct.pack("<II", 0x184D2A5E, len(body)) + body
    table = read_table(reader(data), len(data), ".zst")
    assert table is not None
    assert table.frames == len(PARTS)
    assert table.plain[-1] == len(b"".join(PARTS))


def test_a_frame_of_4_gib_has_no_entry() -> None:
    with pytest.raises(ValueError, match="4 GiB"):
        pack_table([(1, 1 << 32)], ".zst")


@pytest.mark.parametrize("kind", SEEKABLE)
def test_threads_make_the_same_frames(kind: str) -> None:
    wanted = [compress_frame(part, kind) for part in PARTS] * 8
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda part: compress_frame(part, kind), PARTS * 8)) == wanted
