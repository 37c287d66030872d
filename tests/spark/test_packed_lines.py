"""Compressed N-Triples and N-Quads in parts: every line is in one part, wherever the file is cut."""

from __future__ import annotations

import bz2
import gzip
import io
import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from readings import read_part, split
from sessions import tasks_of
from support.chance import examples

from jelly._bytes import cut as room
from jelly.errors import JellyError, JellyFormatError, JellyLimitError, JellySyntaxError
from jelly.spark import register
from jelly.spark._parts import Part, lines
from jelly.spark._parts.files import find_files
from jelly.spark._parts.lines import PackedLines

zstandard = pytest.importorskip("zstandard")


def bgzip(data: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = packer.compress(data) + packer.flush()
    head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(body) + 25)
    return head + body + struct.pack("<II", zlib.crc32(data), len(data))


def zstd(data: bytes) -> bytes:
    return bytes(zstandard.ZstdCompressor(write_checksum=True).compress(data))


def pzstd(data: bytes) -> bytes:
    frame = zstd(data)
    return struct.pack("<III", 0x184D2A50, 4, len(frame)) + frame


WAYS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": (".gz", gzip.compress),
    "bgzip": (".gz", bgzip),
    "zstd": (".zst", zstd),
    "pzstd": (".zst", pzstd),
    "bz2": (".bz2", bz2.compress),
}


def pack(way: str, text: bytes, sizes: list[int]) -> bytes:
    """Text in frames of these sizes, again and again."""
    done = b""
    at = number = 0
    while at < len(text):
        done += WAYS[way][1](text[at : at + sizes[number % len(sizes)]])
        at += sizes[number % len(sizes)]
        number += 1
    return done


def text_of(n: int, end: bytes = b"\n", last: bytes = b"\n") -> bytes:
    made = [b'<a:%d> <a:p> "%s" .' % (number, b"x" * (number * 7 % 40)) for number in range(n)]
    # Longer than several frames.
    made[n // 2 : n // 2] = [b'<a:long> <a:p> "' + b"long " * 800 + b'" .', b"", b"# why"]
    return end.join(made) + last


words = st.sampled_from([b"a", b"bc", b"\n", b"\r", b"\r\n", b"long" * 9])
texts = st.lists(words, min_size=1, max_size=30).map(b"".join)


@pytest.mark.parametrize("way", WAYS)
@given(texts, st.lists(st.integers(0, 20), min_size=1, max_size=4).filter(any), st.data())
@examples(60)
def test_a_line_is_in_one_part_wherever_it_is_cut(way: str, text: bytes, sizes: list[int], data: Any) -> None:
    whole = pack(way, text, sizes)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=6)))
    parts = [
        b"".join(PackedLines(io.BytesIO(whole), WAYS[way][0], first, last))
        for first, last in zip([0, *cuts], [*cuts, None], strict=True)
    ]
    assert b"".join(parts) == text
    for part in filter(None, parts[:-1]):
        assert part.endswith((b"\r", b"\n")) or not any(parts[parts.index(part) + 1 :])


def rows(path: Path, parts: list[Part], **others: Any) -> list[Any]:
    batches = (batch for part in parts for batch in read_part(part, layout="ntriples", **others))
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts so small that a test has many."""
    monkeypatch.setattr(lines, "_LEAST_PART", 1)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("way", WAYS)
def test_files_of_many_frames_become_many_tasks(way: str, end: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"a.nt{WAYS[way][0]}"
    text = text_of(300, end, b"")
    path.write_bytes(pack(way, text, [700, 300, 1000]))
    [file] = find_files(path)
    [[whole]] = split([file])
    expected = rows(path, [whole])
    assert len(expected) == 301
    for split_bytes in (60 * 8, 100 * 8, 333 * 8, 700 * 8):
        tasks = split([file], split_bytes)
        assert len(tasks) > 1
        parts = [part for task in tasks for part in task]
        assert rows(path, parts) == expected
    assert sum(bool(rows(path, [part])) for part in parts) > 1


@pytest.mark.usefixtures("small")
def test_files_of_one_frame_are_one_task(tmp_path: Path) -> None:
    for way, (suffix, one) in WAYS.items():
        if way != "pzstd":
            path = tmp_path / f"{way}.nt{suffix}"
            path.write_bytes(one(text_of(300)))
            assert split(find_files(path), 100) == [[Part(*find_files(path))]]


def test_what_only_looks_like_a_frame_is_an_error_and_no_lost_row(tmp_path: Path) -> None:
    """Frames that stand as they are inside of others: rows are all there, or it is an error."""
    rng = random.Random(3)
    inner = pack("gzip", text_of(40), [500])
    packer = zlib.compressobj(0, zlib.DEFLATED, 31)
    body = b'<a:s> <a:p> "' + rng.randbytes(600).translate(None, b'"\\\r\n') + inner + b'" .\n'
    data = pack("gzip", text_of(40), [500]) + packer.compress(body) + packer.flush() + pack("gzip", text_of(40), [500])
    text = gzip.decompress(data)
    failed = 0
    for cut in range(1, len(data), 13):
        made = b""
        try:
            for first, last in ((0, cut), (cut, None)):
                made += b"".join(PackedLines(io.BytesIO(data), ".gz", first, last))
        except JellyFormatError as error:
            failed += "looks like the begin of a frame" in str(error)
        else:
            assert made == text
    assert 0 < failed < len(data) // 13 // 2


def test_too_many_look_alikes_are_an_error() -> None:
    noise = b"".join(b"\x28\xb5\x2f\xfd" + random.Random(number).randbytes(9) for number in range(150))
    data = zstd(text_of(30)) + noise
    with pytest.raises(JellyFormatError, match="raise split_bytes"):
        list(PackedLines(io.BytesIO(data), ".zst", 5, None))


@pytest.mark.parametrize("way", WAYS)
def test_broken_files_are_errors(way: str) -> None:
    rng = random.Random(4)
    suffix = WAYS[way][0]
    data = pack(way, text_of(300), [700, 300])

    def outcome(broken: bytes, n: int) -> bytes | None:
        cuts = [i * len(broken) // n for i in range(n)]
        try:
            return b"".join(
                b"".join(PackedLines(io.BytesIO(broken), suffix, first, last))
                for first, last in zip(cuts, [*cuts[1:], None], strict=True)
            )
        except JellyError:
            return None

    wrong = [data[:cut] for cut in (len(data) - 1, len(data) // 2 + 3, 300)]
    for _ in range(40):
        at = rng.randrange(len(data))
        wrong.append(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
    results = [(outcome(broken, 1), outcome(broken, 5)) for broken in wrong]
    assert all(one == five for one, five in results)
    assert sum(one is None for one, _ in results) > 20


@pytest.mark.usefixtures("small")
def test_wrong_lines_are_left_out_and_told(tmp_path: Path) -> None:
    path = tmp_path / "a.nt.bz2"
    text = text_of(300).replace(b"<a:290>", b"oops")
    path.write_bytes(pack("bz2", text, [700, 300]))
    parts = [part for task in split(find_files(path), 4000) for part in task]
    assert len(parts) > 3
    errors: list[JellyError] = []
    assert len(rows(path, parts, errors=errors)) == 300
    [error] = errors
    assert isinstance(error, JellySyntaxError)
    assert (error.source, error.line, error.offset) == (str(path), None, None)
    with pytest.raises(JellySyntaxError):
        rows(path, parts)


def test_bombs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bz2.compress(b"\n") + bz2.compress(bytes(1 << 24))
    monkeypatch.setattr(lines, "MAX_EXPANSION", 100)
    with pytest.raises(JellyLimitError):
        list(PackedLines(io.BytesIO(data), ".bz2", 0, None))


def test_a_plan_reads_only_the_begin_of_a_file() -> None:
    data = pack("bz2", text_of(300), [100_000]) + bytes(1 << 24)
    read = 0

    def read_at(offset: int, size: int) -> bytes:
        nonlocal read
        read += size
        return data[offset : offset + size]

    room.has_frames(read_at, len(data))
    assert read < 6 << 20


def test_spark_reads_frames_in_tasks(spark: Any, tmp_path: Path) -> None:
    """Over several sizes of tasks: no row is lost and none is there twice."""
    register(spark)
    for way in ("bgzip", "pzstd", "bz2"):
        path = tmp_path / f"{way}.nq{WAYS[way][0]}"
        noise = random.Random(8)
        text = b"\r\n".join(b"<a:%x> <a:p> <a:%d> <a:g> ." % (noise.getrandbits(400), n) for n in range(900))
        path.write_bytes(pack(way, text, [3000, 20_000]))
        expected = sorted(f"<a:{number}>" for number in range(900))
        for split_bytes, least in ((1, 5), (150_000, 2)):
            options = {"splitBytes": split_bytes, "layout": "ntriples"}
            frame = spark.read.format("jelly").options(**options).load(str(path))
            assert tasks_of(frame) >= least
            assert sorted(row.o for row in frame.select("o").collect()) == expected
