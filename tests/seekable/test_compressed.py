"""Seekable files compressed with zstd: any part is read, and every other reader sees a plain stream."""

from __future__ import annotations

import io
import os
import random
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from support.shared import shared

import jelly
import jelly.arrow
import jelly.patch
from jelly import IRI, Literal, Quad, Triple
from jelly._bytes import seekable
from jelly._bytes.seekable import PlainView, compress_frame, pack_table
from jelly._core.terms.materialize import Materializer
from jelly._dataset.seekable.sidecar import make_sidecar
from jelly.cli.commands import cli

zstandard = pytest.importorskip("zstandard")

@pytest.fixture
def small_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames of a few hundred bytes, so that segments have several."""
    monkeypatch.setattr(seekable, "MOST_IN_FRAME", 700)


def some(n: int, seed: int = 1) -> list[Quad]:
    rng = random.Random(seed)
    return [
        Quad(
            IRI(f"http://example.org/{rng.randrange(9)}/{i // 10}"), IRI(f"http://example.org/p#{i % 7}"),
            rng.choice([Literal(f"value {i}"), IRI(f"http://example.org/o/{rng.randrange(300)}")]),
            IRI("http://example.org/g") if i % 3 else None,
        )
        for i in range(n)
    ]  # fmt: skip


STATEMENTS = some(2000)


def written(path: Path, statements: list[Quad] = STATEMENTS, **settings: Any) -> Path:
    jelly.write(path, statements, seekable=True, **{"keyframe_rows": 150, "frame_rows": 32, **settings})
    return path


def plain(**settings: Any) -> bytes:
    out = io.BytesIO()
    jelly.write(out, STATEMENTS, seekable=True, **{"keyframe_rows": 150, "frame_rows": 32, **settings})
    return out.getvalue()


def statements_of(batches: Any) -> list[Any]:
    return [statement for batch in batches for statement in Materializer(batch).statements()]


def unpack(data: bytes) -> bytes:
    stream = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True)
    whole: bytes = stream.read()
    return whole


def by_others(data: bytes, size: int) -> bytes:
    """As t2sz and other programs write it: frames of ``size`` bytes of the data, and their table."""
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    packer = zstandard.ZstdCompressor(write_content_size=len(parts) % 2 == 0)
    frames = [packer.compress(part) for part in parts]
    return b"".join(frames) + pack_table((len(frame), len(part)) for frame, part in zip(frames, parts, strict=True))


# ---- what is written


@pytest.mark.parametrize("index", [None, "terms"])
@pytest.mark.usefixtures("small_frames")
def test_others_see_a_plain_stream(tmp_path: Path, index: Any) -> None:
    path = written(tmp_path / "x.jelly.zst", index=index)
    wanted = plain(index=index)
    assert unpack(path.read_bytes()) == wanted
    assert list(jelly.read(path)) == STATEMENTS
    if shutil.which("zstd"):
        done = subprocess.run(["zstd", "-dc", str(path)], capture_output=True, timeout=240)
        assert (done.returncode, done.stdout) == (0, wanted)
        assert subprocess.run(["zstd", "-tq", str(path)], capture_output=True, timeout=240).returncode == 0
    by_pyjelly = pytest.importorskip("support.by_pyjelly")
    from support import oracle

    with zstandard.open(path) as file:
        assert by_pyjelly.read(file.read()) == oracle.plain_all(STATEMENTS)


def test_segments_are_frames(tmp_path: Path) -> None:
    """Each keyframe begins a frame, and so does what is read first: the last frame of Jelly, with the index."""
    with jelly.open(written(tmp_path / "x.jelly.zst")) as file:
        view = file._file
        assert isinstance(view, PlainView)
        keys = [key.offset for key in file.index.keyframes]
        assert len(keys) > 10
        assert set(keys) <= set(view.table.plain.tolist())
        assert len(view.table.plain) == len(keys) + 2


def test_the_same_statements_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = (written(tmp_path / f"{n}.jelly.zst") for n in (1, 2))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.usefixtures("small_frames")
def test_a_stream_that_starts_anew(tmp_path: Path) -> None:
    """A late quad: the file is written again from its start, and has the frames and the index of the new stream."""
    path = tmp_path / "x.jelly.zst"
    triples: list[Any] = [Triple(*statement[:3]) for statement in STATEMENTS]
    with jelly.Writer(path, seekable=True, keyframe_rows=150, frame_rows=32) as writer:
        for begin in range(0, len(triples), 100):
            writer.extend(triples[begin : begin + 100])
            writer.flush()
        writer.extend(STATEMENTS)
    wanted = [Quad(*triple, None) for triple in triples] + STATEMENTS
    with jelly.open(path) as file:
        assert list(file) == wanted
        assert {key.offset for key in file.index.keyframes} <= set(file._file.table.plain.tolist())
    assert os.listdir(tmp_path) == [path.name]


def test_size(tmp_path: Path) -> None:
    """At most 3 % above one frame of zstd, at the default distance, with the index."""
    for name in ("bsbm100/bsbm-100.nt.gz", "vocabs-quads/vocabs.nq.gz", "hobbit-sensor/hobbit-sensor-3000ev.nq.gz"):
        batches = list(jelly.scan(shared("data", *name.split("/"))).batches())
        path = tmp_path / "x.jelly.zst"
        with jelly.Writer(path, seekable=True) as writer:
            for batch in batches:
                writer.add_batch(batch)
        out = io.BytesIO()
        with jelly.Writer(out) as writer:
            for batch in batches:
                writer.add_batch(batch)
        one = len(zstandard.ZstdCompressor(level=3).compress(out.getvalue()))
        assert path.stat().st_size <= 1.03 * one, name


def test_an_error_leaves_no_file(tmp_path: Path) -> None:
    def broken() -> Iterator[Quad]:
        yield from STATEMENTS * 20
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        jelly.write(tmp_path / "x.jelly.zst", broken(), seekable=True)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="kills a process")
def test_a_killed_writer_leaves_no_half_file(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly.zst"
    written(path, STATEMENTS[:10])
    program = f"""
import jelly
with jelly.Writer({str(path)!r}, seekable=True, keyframe_rows=100) as writer:
    number = 0
    while True:
        writer.add(jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal(str(number))))
        number += 1
        if number == 300_000:
            print("go", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"go\n"
    finally:
        process.kill()
        process.communicate(timeout=240)
    with jelly.open(path) as file:
        assert list(file) == STATEMENTS[:10]
    # The next writer takes away what the dead one has left.
    written(path, STATEMENTS[:20])
    assert os.listdir(tmp_path) == [path.name]


def test_a_missing_package_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "x.jelly.zst")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setattr(seekable, "_threads", threading.local())
    with pytest.raises(jelly.MissingExtraError, match="jelly-rdf.zstd") as caught:
        jelly.Writer(tmp_path / "y.jelly.zst", seekable=True)
    assert caught.value.source == str(tmp_path / "y.jelly.zst")
    with pytest.raises(jelly.MissingExtraError, match="jelly-rdf.zstd"):
        jelly.open(path)
    assert os.listdir(tmp_path) == ["x.jelly.zst"]


# ---- what is read


@pytest.mark.parametrize("index", [None, "terms"])
@pytest.mark.usefixtures("small_frames")
def test_parts_are_those_of_the_plain_file(tmp_path: Path, index: Any) -> None:
    path = written(tmp_path / "x.jelly.zst", index=index)
    (tmp_path / "x.jelly").write_bytes(plain(index=index))
    rng = random.Random(7)
    with jelly.open(path) as file, jelly.open(tmp_path / "x.jelly") as other:
        assert (len(file), file.n_frames, file.options) == (len(other), other.n_frames, other.options)
        for _ in range(40):
            begin, end = sorted(rng.randrange(len(STATEMENTS) + 1) for _ in range(2))
            assert file[begin:end] == STATEMENTS[begin:end]
            begin, end = sorted(rng.randrange(other.n_frames + 1) for _ in range(2))
            pairs = zip(file.frames(begin, end), other.frames(begin, end), strict=True)
            assert all((one.index, one.statements) == (two.index, two.statements) for one, two in pairs)
        for threads in (1, 2, 5):
            assert statements_of(file.batches(threads)) == STATEMENTS
        for sought in (STATEMENTS[777], STATEMENTS[3]):
            found = [each for each in STATEMENTS if each.o == sought.o]
            assert list(jelly.scan(file).filter(o=sought.o)) == found
            assert list(jelly.scan(file, threads=2).filter(o=sought.o)) == found


def test_filters_leave_out_frames(tmp_path: Path) -> None:
    path = written(tmp_path / "x.jelly.zst", index="terms")
    sought = next(statement.o for statement in STATEMENTS[1000:] if isinstance(statement.o, Literal))
    wanted = [statement for statement in STATEMENTS if statement.o == sought]
    with jelly.open(path) as file:
        frames: list[int] = []
        read = file._file._frame
        assert file.filters is not None
        file._file._frame = lambda number, *more: frames.append(number) or read(number, *more)
        assert list(jelly.scan(file).filter(o=sought)) == wanted
        assert 1 <= len(frames) <= 4 < len(file._file.table.packed) - 1
    assert list(jelly.find(path, o=sought)) == wanted


def test_tables_and_counts(tmp_path: Path) -> None:
    path = written(tmp_path / "x.jelly.zst", index="terms")
    whole = jelly.arrow.to_table(path)
    assert len(whole) == len(STATEMENTS)
    assert jelly.arrow.to_table(path, threads=2) == whole
    assert jelly.arrow.to_table(path, start=400, stop=900) == whole.slice(400, 500)


def test_commands(tmp_path: Path) -> None:
    text = tmp_path / "x.nq"
    jelly.write(text, STATEMENTS)
    path = tmp_path / "x.jelly.zst"

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(cli, list(arguments))
        assert done.exit_code == 0, done.output
        return done.stdout

    run("convert", str(text), str(path), "-q")
    with jelly.open(path) as file:
        assert len(file) == len(STATEMENTS)
    lines = text.read_text().splitlines(keepends=True)
    assert run("slice", str(path), "1000:1010") == "".join(lines[1000:1010])
    assert run("slice", str(path), "-3:") == "".join(lines[-3:])
    again = tmp_path / "again.jelly.zst"
    run("slice", str(path), "0:500", "-o", str(again))
    with jelly.open(again) as file:
        assert list(file) == STATEMENTS[:500]
    run("index", "--terms", str(path))
    with jelly.open(path) as file:
        assert file.filters is not None
    run("convert", "--no-seekable", str(text), str(again), "-q")
    with pytest.raises(jelly.JellyError, match="without a table of frames"):
        jelly.open(again)
    done = CliRunner().invoke(cli, ["index", str(again)])
    assert done.exit_code == 1
    assert "it can only be read from its start: write it anew with `jelly convert`" in done.stderr


def test_patches(tmp_path: Path) -> None:
    path = tmp_path / "x.jellyp.zst"
    with jelly.patch.PatchWriter(path, seekable=True, keyframe_rows=20, frame_rows=8) as writer:
        for number in range(300):
            writer.write(jelly.patch.Patch([jelly.patch.Add((IRI("a:s"), IRI("a:p"), Literal(str(number))))]))
    with jelly.open(path) as file:
        assert len(file) == 300
        assert [next(iter(patch)).statement.o.value for patch in file[123:127]] == ["123", "124", "125", "126"]
        assert len(file.index.keyframes) > 5
    assert len(list(jelly.patch.read_patches(path))) == 300


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly.zst"
    jelly.write(path, [], seekable=True)
    with jelly.open(path) as file:
        assert (len(file), list(file), file.n_frames) == (0, [], 1)


def test_a_closed_file_says_so(tmp_path: Path) -> None:
    with jelly.open(written(tmp_path / "x.jelly.zst")) as file:
        pass
    with pytest.raises(jelly.JellyError, match="the file is closed"):
        file[0]


def test_a_slice_decompresses_only_its_segment(tmp_path: Path) -> None:
    with jelly.open(written(tmp_path / "x.jelly.zst")) as file:
        frames: list[int] = []
        read = file._file._frame
        file._file._frame = lambda number, *more: frames.append(number) or read(number, *more)
        assert file[1000:1010] == STATEMENTS[1000:1010]
        assert frames == [6]


# ---- what others compressed


@pytest.mark.parametrize("terms", [False, True])
@pytest.mark.parametrize("size", [500, 5000, 1 << 16])
def test_a_sidecar_of_what_others_compressed(tmp_path: Path, size: int, terms: bool) -> None:
    out = io.BytesIO()
    jelly.write(out, STATEMENTS, frame_rows=16)
    path = tmp_path / "x.jelly.zst"
    path.write_bytes(by_others(out.getvalue(), min(size, len(out.getvalue()) // 2)))
    with pytest.raises(jelly.JellyError, match="jelly index"):
        jelly.JellyFile(path)
    with jelly.open(path) as file:
        assert file[1234:1240] == STATEMENTS[1234:1240]
    make_sidecar(path, terms=terms, distance=100, chunk=1000)
    with jelly.open(path) as file:
        assert list(file) == STATEMENTS
        assert file[1234:1240] == STATEMENTS[1234:1240]
        assert statements_of(file.batches(3)) == STATEMENTS
        assert (file.filters is not None) == terms
        sought = STATEMENTS[5].o
        assert list(jelly.scan(file).filter(o=sought)) == [each for each in STATEMENTS if each.o == sought]
    path.write_bytes(by_others(out.getvalue(), len(out.getvalue()) // 4))
    with pytest.warns(RuntimeWarning, match="changed"), pytest.raises(jelly.JellyError, match="no index"):
        jelly.JellyFile(path)


@pytest.mark.parametrize("terms", [False, True])
def test_a_seekable_file_that_others_compressed(tmp_path: Path, terms: bool) -> None:
    """The index of Jelly is in it: the filters are what the sidecar adds."""
    path = tmp_path / "x.jelly.zst"
    path.write_bytes(by_others(plain(), 4000))
    if terms:
        make_sidecar(path, terms=True)
    with jelly.open(path) as file:
        assert file.index.at is not None
        assert list(file) == STATEMENTS
        assert file[999:1001] == STATEMENTS[999:1001]
        assert (file.filters is not None) == terms
    assert os.path.exists(f"{path}.idx") == terms


@pytest.mark.parametrize("kind", [".gz", ".bz2", ".xz", ".zst"])
def test_what_can_only_be_read_from_its_start_says_so(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"x.jelly{kind}"
    jelly.write(path, STATEMENTS, seekable=kind != ".zst")
    for refused in (jelly.open, make_sidecar):
        with pytest.raises(jelly.JellyError, match="only be read from its start.*`jelly convert`") as caught:
            refused(path)
        assert caught.value.source == str(path)
    assert os.listdir(tmp_path) == [path.name]
    assert list(jelly.read(path)) == STATEMENTS


def test_a_place_is_near_where_a_frame_begins(tmp_path: Path) -> None:
    """At most one place for each frame: reading never decompresses a large frame for each of many places in it."""
    out = io.BytesIO()
    jelly.write(out, some(60_000), frame_rows=16)
    data = out.getvalue()
    path = tmp_path / "x.jelly.zst"
    path.write_bytes(by_others(data, len(data) // 2 + 1))
    make_sidecar(path, distance=100, chunk=1000)
    with jelly.open(path) as file:
        begins = file._file.table.plain.tolist()
        assert [int(np.searchsorted(begins, key.offset, "right")) for key in file.index.keyframes] == [1, 2]


def test_max_expansion(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly.zst"
    jelly.write(path, [Triple(IRI("a:s"), IRI("a:p"), Literal("o" * 20_000_000))], seekable=True)
    with jelly.open(path) as file:
        assert len(file[0].o.value) == 20_000_000
    with pytest.raises(jelly.JellyLimitError, match="max_expansion"):
        jelly.open(path, max_expansion=10)


# ---- what is broken or lies


def check(path: Path) -> str:
    """Opening may refuse; what it gives must be right, or end in a JellyError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            file = jelly.JellyFile(path)
        except jelly.JellyError:
            return "refused"
    with file:
        got: list[Any] = []
        try:
            for batch in file.batches():
                got += statements_of([batch])
        except jelly.JellyError:
            assert got == STATEMENTS[: len(got)]
            return "error"
    assert got == STATEMENTS
    return "right"


def test_every_cut_and_every_flipped_byte_of_the_table(tmp_path: Path) -> None:
    path = written(tmp_path / "x.jelly.zst", keyframe_rows=400)
    data = path.read_bytes()
    with jelly.open(path) as file:
        start = int(file._file.table.packed[-1])
        indexed = int(file._file.table.packed[-2])
    for end in range(indexed, len(data)):
        path.write_bytes(data[:end])
        assert check(path) == "refused", end
    for at in range(start, len(data)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[at] ^= flip
            path.write_bytes(damaged)
            check(path)
    path.write_bytes(data + data)
    assert check(path) == "refused"


@pytest.mark.parametrize("seed", range(40))
def test_a_table_that_lies(tmp_path: Path, seed: int) -> None:
    """Sizes of other numbers with a right checksum: never a crash, a hang, other statements, or memory without end."""
    path = written(tmp_path / "x.jelly.zst", keyframe_rows=400)
    data = path.read_bytes()
    with jelly.open(path) as file:
        table = file._file.table
    sizes = [list(pair) for pair in zip(np.diff(table.packed).tolist(), np.diff(table.plain).tolist(), strict=True)]
    rng = random.Random(seed)
    for _ in range(rng.randrange(1, 4)):
        one, other = rng.randrange(len(sizes)), rng.randrange(len(sizes))
        which = rng.randrange(2)
        move = rng.choice([1, -1, 7, sizes[one][which], (1 << 32) - 1 - sizes[one][which], -sizes[one][which]])
        sizes[one][which] = min(max(sizes[one][which] + move, 0), (1 << 32) - 1)
        if rng.random() < 0.7:  # the sum stays
            sizes[other][which] = min(max(sizes[other][which] - move, 0), (1 << 32) - 1)
    made = [(first, second) for first, second in sizes]
    path.write_bytes(data[: int(table.packed[-1])] + pack_table(made))
    check(path)


def test_damage_in_a_frame_is_found(tmp_path: Path) -> None:
    path = written(tmp_path / "x.jelly.zst", keyframe_rows=400)
    data = path.read_bytes()
    with jelly.open(path) as file:
        first, second = file._file.table.packed[1:3].tolist()
    rng = random.Random(3)
    for at in [*rng.sample(range(first, second), 60), *range(second - 12, second)]:
        damaged = bytearray(data)
        damaged[at] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        assert check(path) != "right", at


def test_a_frame_that_holds_more_than_the_table_says(tmp_path: Path) -> None:
    """A bomb: nothing behind the bytes that are told is decompressed."""
    data = plain()
    frame = compress_frame(data[:1000] + bytes(50_000_000))
    rest = compress_frame(data[1000:])
    sizes = [(len(frame), 1000), (len(rest), len(data) - 1000)]
    path = tmp_path / "x.jelly.zst"
    path.write_bytes(frame + rest + pack_table(sizes))
    with pytest.raises(jelly.JellyFormatError, match="holds more bytes than the 1000"):
        jelly.open(path)


@pytest.mark.bounded
def test_memory_of_a_frame_without_end(tmp_path: Path) -> None:
    """A file of two frames, the second of 400 MB: reading takes a few of them, whatever it holds."""
    from support.measure import growth

    path = tmp_path / "x.jelly.zst"
    begin = plain()
    frames = [compress_frame(begin), compress_frame(bytes(400_000_000))]
    sizes = [(len(frames[0]), len(begin)), (len(frames[1]), 400_000_000)]
    path.write_bytes(b"".join(frames) + pack_table(sizes))
    used = growth(
        "import jelly; from jelly._bytes.seekable import *; from jelly._formats.index import reader_at\n"
        f"f = open({str(path)!r}, 'rb'); r = reader_at(f); n = f.seek(0, 2)\n"
        "view = PlainView(f, r, n, FrameTable.of(r, n), 100_000)\n"
        "for data in view.chunks(0, 1000): pass",
        "assert view.read_at(view.size - 10, 10) == bytes(10)",
    )
    assert used < 40_000_000


# ---- files that are not local


@pytest.mark.usefixtures("small_frames")
def test_only_the_parts_are_read_that_are_asked_for(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    path = written(tmp_path / "x.jelly.zst", some(30_000), keyframe_rows=3000)
    filesystem = fsspec.filesystem("memory")
    filesystem.pipe_file("/k1/x.jelly.zst", path.read_bytes())
    reads: list[int] = []

    class Counting(io.RawIOBase):
        def __init__(self, file: Any) -> None:
            self.file = file

        def seek(self, offset: int, whence: int = 0) -> int:
            return int(self.file.seek(offset, whence))

        def read(self, size: int = -1) -> bytes:
            data: bytes = self.file.read(size)
            reads.append(len(data))
            return data

    def opener(name: str) -> Any:
        return Counting(filesystem.open(name))

    with jelly.JellyFile("/k1/x.jelly.zst", opener=opener) as file:
        assert file[20_000:20_010] == some(30_000)[20_000:20_010]
        total = path.stat().st_size
        assert sum(reads) < total / 4
    with jelly.open("memory://k1/x.jelly.zst") as file:
        assert len(file) == 30_000
    filesystem.rm("/k1", recursive=True)


def test_threads_of_several_files(tmp_path: Path) -> None:
    """Threads that read the same view at once, in parts that overlap."""
    from concurrent.futures import ThreadPoolExecutor

    with jelly.open(written(tmp_path / "x.jelly.zst")) as file, ThreadPoolExecutor(4) as pool:
        def part(begin: int) -> list[Any]:
            return file[begin : begin + 50]

        begins = [random.Random(2).randrange(1900) for _ in range(60)]
        assert list(pool.map(part, begins)) == [STATEMENTS[begin : begin + 50] for begin in begins]
        view = file._file
        whole = plain()

        def read(begin: int) -> bytes:
            data: bytes = view.read_at(begin, 100)
            return data

        assert list(pool.map(read, range(0, len(whole), 97))) == [
            whole[begin : begin + 100] for begin in range(0, len(whole), 97)
        ]
