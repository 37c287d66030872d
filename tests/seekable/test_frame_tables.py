"""Frames of zstd with the table of their sizes: any decompressor reads them as one stream."""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from jelly._bytes.seekable import FrameTable, compress_frame, pack_table
from jelly._bytes.source import Source
from jelly.errors import JellyFormatError

zstandard = pytest.importorskip("zstandard")

PARTS = [b"one " * 1000, b"", b"two " * 5, bytes(range(256)) * 40]


def reader(data: bytes):
    return lambda offset, size: data[offset : offset + size]


def file_of(parts=PARTS) -> tuple[bytes, list[tuple[int, int]]]:
    frames = [compress_frame(part) for part in parts]
    sizes = [(len(frame), len(part)) for frame, part in zip(frames, parts, strict=True)]
    return b"".join(frames) + pack_table(sizes), sizes


def test_a_table_is_read_as_it_was_written() -> None:
    data, sizes = file_of()
    table = FrameTable.of(reader(data), len(data))
    assert table is not None
    assert len(table.packed) == len(PARTS) + 1
    assert table.sizes().tolist() == [list(size) for size in sizes]
    assert table.plain.tolist() == [0, 4000, 4000, 4020, 4020 + 256 * 40]


def test_every_decompressor_reads_one_stream() -> None:
    data, _ = file_of()
    whole = b"".join(PARTS)
    assert b"".join(Source(data).chunks()) == whole
    stream = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True)
    assert stream.read() == whole
    if shutil.which("zstd"):
        done = subprocess.run(["zstd", "-dc"], input=data, capture_output=True, timeout=240)
        assert (done.returncode, done.stdout, done.stderr) == (0, whole, b"")


def test_a_file_without_a_table_has_none() -> None:
    frame = compress_frame(PARTS[0])
    for data in (b"", frame[:5], frame, frame * 3):
        assert FrameTable.of(reader(data), len(data)) is None


def test_cut_and_damaged_tables() -> None:
    """Whatever is done to a table, it is refused, or it is as good as none, or it says the same."""
    data, sizes = file_of()
    start = sum(packed for packed, _ in sizes)
    for end in range(start, len(data)):
        assert FrameTable.of(reader(data[:end]), end) is None
    kept = 0
    for at in range(start, len(data)):
        for bit in range(8):
            broken = bytearray(data)
            broken[at] ^= 1 << bit
            try:
                table = FrameTable.of(reader(bytes(broken)), len(broken))
            except JellyFormatError:
                continue
            if table is not None:
                # Decompressed sizes of zstd have nothing beside them to be compared with until a frame is read.
                assert table.packed[-1] == start
                kept += 1
    assert kept <= (len(sizes) * 4 + 1) * 8


def test_a_table_with_checksums_of_another_writer_is_read() -> None:
    frames = [compress_frame(part) for part in PARTS]
    body = b"".join(
        struct.pack("<III", len(frame), len(part), 7) for frame, part in zip(frames, PARTS, strict=True)
    ) + struct.pack("<IBI", len(PARTS), 0x80, 0x8F92EAB1)
    data = b"".join(frames) + struct.pack("<II", 0x184D2A5E, len(body)) + body
    table = FrameTable.of(reader(data), len(data))
    assert table is not None
    assert len(table.packed) == len(PARTS) + 1
    assert table.plain[-1] == len(b"".join(PARTS))


def test_a_frame_of_4_gib_has_no_entry() -> None:
    with pytest.raises(ValueError, match="4 GiB"):
        pack_table([(1, 1 << 32)])


def test_threads_make_the_same_frames() -> None:
    wanted = [compress_frame(part) for part in PARTS] * 8
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda part: compress_frame(part), PARTS * 8)) == wanted
