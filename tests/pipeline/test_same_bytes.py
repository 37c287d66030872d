"""A conversion by any number of threads gives the bytes, errors and counts of one thread."""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import random
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jelly
from jelly import patch
from jelly._bytes import seekable
from jelly._bytes.source import Source
from jelly._bytes.workers import Workers
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.ntriples.text import TextReader
from jelly._formats.filters import FilterBuilder
from jelly._formats.native import default_options
from jelly._streams import encoders, text
from jelly._streams.encoders import SegmentEncoder
from jelly._streams.text import PieceReader, pieces_of, pieces_of_file
from jelly.errors import JellyError

THREADS = (1, 2, 3, 8)
ROWS = 5000


def lines(n: int = ROWS, quads: bool = False, seed: int = 3) -> bytes:
    chosen = random.Random(seed)
    made = []
    for i in range(n):
        s = chosen.choice((f"<http://a.org/{i // 4}>", f"_:b{i // 7}"))
        o = chosen.choice((f'"value {i}"', f'"{i}"^^<http://b.org/{i % 3}>', f'"x"@en-{i % 5}', f"<http://c/{i * 7}>"))
        graph = f" <http://g/{i // 900}>" if quads else ""
        made.append(f"{s} <http://p.org/p{i % 11}> {o}{graph} .\n")
    return "".join(made).encode()


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many pieces of few bytes."""
    for function in (text.pieces_of, text.pieces_of_file):
        monkeypatch.setattr(function, "__defaults__", (3000,))


def converted(src: Any, threads: int, **settings: Any) -> bytes:
    out = io.BytesIO()
    jelly.convert(src, out, threads=threads, **settings)
    return out.getvalue()


def same(src: Any, **settings: Any) -> bytes:
    first, *others = (converted(src, threads, **settings) for threads in THREADS)
    if isinstance(src, bytes):
        with tempfile.NamedTemporaryFile() as file:
            file.write(src)
            file.flush()
            others += [converted(file.name, threads, **settings) for threads in THREADS]
    for other in others:
        assert other == first
    return first


def test_pieces_do_not_depend_on_chunks() -> None:
    data = lines(500)
    expected = [b"".join(piece.read()) for piece in pieces_of([data], 1000)]
    assert b"".join(expected) == data
    assert len(expected) > 20
    for size in (1, 7, 999, 1000, 1001, 4000):
        chunks = [data[at : at + size] for at in range(0, len(data), size)]
        assert [b"".join(piece.read()) for piece in pieces_of(chunks, 1000)] == expected


def pieces(path: Path, size: int) -> list[tuple[bytes, int, bool]]:
    source = Source(path)
    plain = source.plain_file()
    assert plain is not None
    try:
        return [(b"".join(piece.read()), piece.number, piece.is_last) for piece in pieces_of_file(source, plain, size)]
    finally:
        assert source.bytes_read == path.stat().st_size
        source.close()


@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 14, 1 << 15, 100_000])
def test_a_file_is_cut_where_chunks_are(size: int, tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    no_ends, ends = b"x" * 40_000, b"\n" * 50
    texts = (b"\n", b"ab", lines(200), lines(200)[:-1], no_ends, no_ends + ends, ends, ends + no_ends + b"\nab")
    for data in texts:
        path.write_bytes(data)
        assert pieces(path, size) == [
            (b"".join(piece.read()), piece.number, piece.is_last) for piece in pieces_of([data], size)
        ]


def test_an_endless_line_is_not_kept() -> None:
    """It is an error at its limit, also where nothing ends it."""

    def chunks() -> Iterator[bytes]:
        yield b'<a:s> <a:p> "'
        for number in itertools.count():
            assert number < 200, "the line goes on"
            yield b"x" * 3000

    for threads in THREADS:
        _, error, _ = told(threads, chunks(), max_line_bytes=100_000)
        assert error[1:3] == (1, 0)


def test_a_file_that_changes_meanwhile(tmp_path: Path) -> None:
    """What is added is read to the end; what is cut off is missing. Neither hangs."""
    path = tmp_path / "x.nt"
    for expected in (ROWS + 1, None):
        path.write_bytes(DATA)
        with Workers(2) as workers, jelly.Reader(path) as reader:
            reader.workers = workers
            batches = reader.batches()
            n = len(next(batches))
            # Never empty in between, as a thread may read just then.
            with open(path, "r+b") as file:
                if expected is None:
                    file.truncate(9000)
                else:
                    file.seek(0, io.SEEK_END)
                    file.write(b"<a:s> <a:p> <a:o> .\n")
            try:
                n += sum(map(len, batches))
            except JellyError:
                assert expected is None
            else:
                assert n == expected or (expected is None and n <= ROWS)


def test_a_file_that_grows_is_read_in_pieces(tmp_path: Path) -> None:
    """One thread would parse all that was added, and keep it."""
    path = tmp_path / "x.nt"
    path.write_bytes(DATA[:5000])
    with contextlib.closing(Source(path)) as source:
        plain = source.plain_file()
        assert plain is not None
        found = pieces_of_file(source, plain, 1000)
        begin = next(found)
        path.write_bytes(DATA)
        texts = [b"".join(piece.read()) for piece in (begin, *found)]
        assert source.bytes_read == len(DATA)
    assert b"".join(texts) == DATA
    assert max(map(len, texts)) <= 1000


def test_a_file_that_is_closed_is_not_read(tmp_path: Path) -> None:
    """Its descriptor may be that of another file then."""
    path = tmp_path / "x.nt"
    path.write_bytes(DATA)
    for threads in (1, 2):
        with Workers(threads) as workers, jelly.Reader(path) as reader:
            reader.workers = workers
            batches = reader.batches()
            next(batches)
            reader.close()
            with open(path, "rb"), pytest.raises(ValueError, match="closed file"):
                for _ in batches:
                    pass


def test_other_sources_are_no_plain_files(tmp_path: Path) -> None:
    path = tmp_path / "x.nt.gz"
    path.write_bytes(gzip.compress(DATA))
    empty = tmp_path / "x.nt"  # or it does not tell its size
    empty.touch()
    for source in (DATA, io.BytesIO(DATA), [DATA], path, empty):
        with contextlib.closing(Source(source)) as opened:
            assert opened.plain_file() is None


@pytest.mark.parametrize("quads", [False, True])
@pytest.mark.parametrize("to", ["jelly", "nt", "nq", "thrift", "protobuf"])
def test_text_to_all(to: str, quads: bool) -> None:
    if quads and to == "nt":
        pytest.skip("no graphs there")
    data = lines(quads=quads)
    made = same(data, format="nq" if quads else "nt", to=to)
    with jelly.Reader(made, format=to) as reader:
        assert sum(map(len, reader.batches())) == ROWS


OPTIONS: list[dict[str, Any]] = [
    {},
    {"keyframe_rows": 1000},
    {"keyframe_rows": 1000, "frame_rows": 1000},
    {"keyframe_rows": 500, "frame_rows": 7},
    {"keyframe_rows": 1250, "frame_bytes": 900},
    {"keyframe_rows": 1, "frame_rows": 0},
    {"keyframe_rows": 700, "options": {"max_name_table_size": 8, "max_prefix_table_size": 0}},
    {"keyframe_rows": 700, "options": {"physical_type": 3}},
    {"keyframe_rows": 700, "options": {"version": 3}},
    {"keyframe_rows": 700, "options": {"version": 3, "numbering": "S"}, "frame_rows": 100},
    {"keyframe_rows": 1, "options": {"version": 3}, "frame_rows": 0},
    {"keyframe_rows": 700, "index": "terms"},
    {"keyframe_rows": 300, "index": "terms", "options": {"version": 3}},
    {"keyframe_rows": 700, "options": {"logical_type": 4}, "grouped": True},
]


@pytest.mark.parametrize("settings", OPTIONS, ids=str)
def test_writer_of_batches(settings: dict[str, Any], tmp_path: Path) -> None:
    settings = dict(settings)
    grouped = settings.pop("grouped", False)
    # A keyframe for each row takes as long as a hundred rows.
    n = 1000 if settings.get("keyframe_rows") == 1 else ROWS
    data, found = lines(n, quads=True), []
    for threads, batch_rows in itertools.product(THREADS, (333, 500, 16384)):
        if grouped and batch_rows != 333:
            continue
        out = tmp_path / "out.jelly"
        with jelly.Writer(out, seekable=True, threads=threads, **settings) as writer:
            for number, batch in enumerate(jelly.scan(data, format="nq", batch_rows=batch_rows).batches()):
                writer.add_batch(batch)
                if grouped and number % 3 == 1:
                    writer.end_frame()
        found.append(out.read_bytes())
    assert found == [found[0]] * len(found)
    with jelly.open(out) as file:
        assert len(file) == n
        assert len(file.index.keyframes) > 1 or not settings
        assert [str(x) for x in file] == [str(x) for x in jelly.read(data, format="nq")]


def named(name: str) -> Batch:
    """A Batch of three statements with a namespace behind the second one, and behind the last one."""
    out = io.BytesIO()
    with jelly.Writer(out) as writer:
        for i in range(3):
            writer.add(jelly.Triple(jelly.IRI(f"a:{name}{i}"), jelly.IRI("a:p"), jelly.Literal("o")))
            if i:
                writer.namespace(f"{name}{i}", f"b:{i}")
    [batch] = jelly.scan(out.getvalue()).batches()
    return batch


@pytest.mark.parametrize("keyframe_rows", [1, 2, 3, 4, 6, 100])
@pytest.mark.parametrize("n", [1, 4])
def test_namespaces_at_the_ends_of_segments(keyframe_rows: int, n: int) -> None:
    found = []
    for threads in THREADS:
        out = io.BytesIO()
        with jelly.Writer(out, seekable=True, keyframe_rows=keyframe_rows, threads=threads) as writer:
            for i in range(n):
                writer.add_batch(named(f"n{i}"))
        found.append(out.getvalue())
    assert found == [found[0]] * len(found)
    [frames] = [list(jelly.scan(found[0]).frames())]
    assert [prefix for frame in frames for prefix, _ in frame.namespaces] == [
        f"n{i}{k}" for i in range(n) for k in (1, 2)
    ]
    assert sum(map(len, frames)) == 3 * n


@pytest.mark.parametrize("settings", [{}, {"index": "terms"}, {"frame_bytes": 2000}], ids=str)
@pytest.mark.parametrize("late", [
    b'<a:s> <a:p> "o"@en--ltr .\n',
    b'<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> .\n',
    b'<a:s> <a:p> <<( <a:s> <a:p> "o"@en--rtl )>> .\n<a:s> <a:p> "o"@en--ltr .\n',
])  # fmt: skip
def test_rdf_versions_that_turn_up(late: bytes, settings: dict[str, Any]) -> None:
    """A segment of columns announces what the rows before it have come to, and not what its Batches hold."""
    data = lines(1000)
    for at in (400, 700, 701, 950):
        data = broken(data, at, by=late)
    batches = list(jelly.scan(data, format="nt", batch_rows=170).batches())
    found = []
    for threads in THREADS:
        out = io.BytesIO()
        options = {"version": 3}
        with jelly.Writer(out, options, seekable=True, keyframe_rows=100, threads=threads, **settings) as writer:
            for batch in batches:
                writer.add_batch(batch)
        found.append(out.getvalue())
    assert found == [found[0]] * len(found)
    assert [str(x) for x in jelly.read(found[0])] == [str(x) for batch in batches for x in batch]


def test_filters_that_fill_their_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters of a file stop at the same segment."""
    monkeypatch.setattr(FilterBuilder.__init__, "__defaults__", (5000,))
    batches = list(jelly.scan(lines(), format="nt", batch_rows=300).batches())
    found = []
    for threads in THREADS:
        out = io.BytesIO()
        with jelly.Writer(out, seekable=True, keyframe_rows=500, index="terms", threads=threads) as writer:
            for batch in batches:
                writer.add_batch(batch)
        found.append(out.getvalue())
    assert found == [found[0]] * len(found)


def test_statements_and_frames_of_python() -> None:
    statements = list(jelly.read(lines(), format="nt"))
    found = []
    for threads in THREADS:
        out = io.BytesIO()
        with jelly.Writer(out, seekable=True, keyframe_rows=900, threads=threads) as writer:
            writer._rows = 100
            writer.extend(statements[:2000])
            writer.end_frame({"a": b"b"})
            writer.extend(statements[2000:])
        found.append(out.getvalue())
        out = io.BytesIO()
        with jelly.Writer(out, format="nt", threads=threads) as writer:
            writer._rows = 100
            writer.extend(statements)
        assert out.getvalue() == lines()
    assert found == [found[0]] * len(found)
    assert [frame.metadata for frame in jelly.scan(found[0]).frames() if "a" in frame.metadata] == [{"a": b"b"}]


@pytest.mark.parametrize("settings", [{}, {"seekable": True}], ids=str)
def test_late_needs(tmp_path: Path, settings: dict[str, Any]) -> None:
    """What turns up late: a file is written again, and looks as if all had been known at the start."""
    late = b'<< <a:s> <a:p> <a:o> >> <a:q> "late" .\n"x" <a:p> <a:o> .\n'
    (tmp_path / "in.nt").write_bytes(lines() + late + lines(seed=5))
    found = []
    for threads in THREADS:
        jelly.convert(tmp_path / "in.nt", tmp_path / "out.jelly", threads=threads, **settings)
        found.append((tmp_path / "out.jelly").read_bytes())
    known = {"rdf_star": True, "generalized_statements": True}
    jelly.convert(tmp_path / "in.nt", tmp_path / "out.jelly", options=known, **settings)
    found.append((tmp_path / "out.jelly").read_bytes())
    assert found == [found[0]] * len(found)


# ---- errors

def told(threads: int, data: Any, **settings: Any) -> tuple[list[str], Any, Any]:
    """Statements before the error, the error, and what was skipped."""
    with Workers(threads) as workers, jelly.Reader(data, format="nt", **settings) as reader:
        reader.workers = workers
        found: list[str] = []
        try:
            for batch in reader.batches():
                assert batch.first_row == len(found)
                found += map(str, batch.statements())
        except JellyError as error:
            return found, (error.reason, error.line, error.offset, error.column), (reader.n_skipped, reader.skipped)
        return found, None, (reader.n_skipped, reader.skipped, reader.statements)


def broken(data: bytes, *at: int, by: bytes = b"<a:s> <a:p> .\n") -> bytes:
    made = data.splitlines(keepends=True)
    for i in at:
        made[i] = by
    return b"".join(made)


DATA = lines()
WRONG = [
    broken(DATA, 0),
    broken(DATA, 17, 4000),
    broken(DATA, 2900, 4999),
    broken(DATA, 4999, by=b"<a:s> <a:p>"),
    broken(DATA, 100, by=b"\xef\xbb\xbf<a:s> <a:p> <a:o> .\n"),
    b"\xef\xbb\xbf" + DATA,
    broken(DATA, 33, 44, 2000, by=b"# comment\r\n\r\n   \n"),
    broken(DATA, 2000, by=b'<a:s> <a:p> """' + b"long\nline\n" * 2000 + b'""" .\n'),
    broken(DATA, 1500, by=b'<a:s> <a:p> """' + b"never\nending\n" * 20),
    broken(DATA, 2000, by=b'<a:s> <a:p> "' + b"long" * 20000 + b'" .\n'),
    DATA.replace(b"\n", b"\r"),
    DATA.replace(b"\n", b"\r\n"),
    broken(DATA, *range(0, 5000, 2)),
    b"",
    DATA[:-1],
]


@pytest.mark.parametrize("number", range(len(WRONG)))
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_errors_are_those_of_one_reader(number: int, on_error: Any, tmp_path: Path) -> None:
    data = WRONG[number]
    path = tmp_path / "x.nt"
    path.write_bytes(data)
    with jelly.Reader(data, format="nt", on_error=on_error) as reader:
        found: list[str] = []
        error: Any = None
        try:
            for batch in reader.batches():
                found += map(str, batch.statements())
        except JellyError as raised:
            error = (raised.reason, raised.line, raised.offset, raised.column)
        skipped = (reader.n_skipped, reader.skipped)
    for threads, src in itertools.product(THREADS, (data, path)):
        told_found, told_error, told_skipped = told(threads, src, on_error=on_error)
        assert (told_found, told_error, told_skipped[:2]) == (found, error, skipped)


def test_a_line_above_the_limit() -> None:
    data = broken(DATA, 2000, by=b'<a:s> <a:p> "' + b"long" * 2000 + b'" .\n')
    with pytest.raises(JellyError) as caught:
        list(jelly.scan(data, format="nt", max_line_bytes=5000).batches())
    expected = (caught.value.reason, caught.value.line, caught.value.offset)
    for threads in THREADS:
        assert told(threads, data, max_line_bytes=5000)[1][:3] == expected


def counted(batches: Iterator[Batch], found: list[int]) -> None:
    for batch in batches:
        found.append(len(batch))  # noqa: PERF401 - what comes before an error counts


def test_chunks_that_break_off() -> None:
    """All statements before the error of the source come first."""

    def chunks() -> Iterator[bytes]:
        yield DATA[:100000]
        raise jelly.JellyFormatError("broken off")

    whole = DATA[:100000].count(b"\n")
    for threads in THREADS:
        with Workers(threads) as workers:
            reader = PieceReader(lambda: TextReader(quads=False), workers)
            with pytest.raises(jelly.JellyFormatError, match="broken off"):
                counted(reader.batches(Source(chunks())), found := [])
            assert sum(found) == whole


def written(data: bytes, options: jelly.StreamOptions, threads: int) -> None:
    with jelly.Writer(io.BytesIO(), options, seekable=True, keyframe_rows=500, threads=threads) as writer:
        for batch in jelly.scan(data, format="nt", batch_rows=100).batches():
            writer.add_batch(batch)


def test_an_error_of_the_encoder_is_the_first_one() -> None:
    """Row and frame are those of the stream, whatever the segment."""
    data = broken(DATA, 3456, 4100, by=b'"literal" <a:p> <a:o> .\n')
    options = default_options(3)
    found = set()
    for threads in THREADS:
        with pytest.raises(jelly.JellyOptionsError) as caught:
            written(data, options, threads)
        found.add(str(caught.value))
    assert len(found) == 1
    assert "row 3456" in found.pop()


def test_threads_must_be_one_at_least(tmp_path: Path) -> None:
    for wrong in (0, -1):
        with pytest.raises(jelly.JellyArgumentError, match="expected 1 or more"):
            jelly.convert(DATA, tmp_path / "x.jelly", format="nt", threads=wrong)
        with pytest.raises(jelly.JellyArgumentError, match="expected 1 or more"):
            jelly.Writer(tmp_path / "x.jelly", threads=wrong)
    assert list(tmp_path.iterdir()) == []


def test_compressed_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames are compressed by the same threads; a file that is written again has them, too."""
    monkeypatch.setattr(seekable, "MOST_IN_FRAME", 3000)
    source = tmp_path / "in.nt"
    source.write_bytes(lines() + b'<< <a:s> <a:p> <a:o> >> <a:q> "late" .\n')
    found = []
    out = tmp_path / "out.jelly.zst"
    for threads in THREADS:
        with jelly.Writer(out, seekable=True, keyframe_rows=700, threads=threads) as writer:
            for batch in jelly.scan(source, batch_rows=500).batches():
                writer.add_batch(batch)
        found.append(out.read_bytes())
    assert found == [found[0]] * len(found)
    with jelly.open(out) as file:
        assert len(file) == 5001
        assert len(file.index.keyframes) == 8
        assert str(file[5000]).endswith('"late" .')
    for threads in THREADS:
        jelly.convert(out, tmp_path / "out.nq", threads=threads)
        assert (tmp_path / "out.nq").read_bytes().count(b"\n") == 5001


def test_several_sources(tmp_path: Path) -> None:
    """The output, and what is told of it."""
    (tmp_path / "a.nt").write_bytes(broken(lines(seed=1), 7, 9))
    (tmp_path / "b.nq").write_bytes(broken(lines(seed=2, quads=True), 3))
    jelly.convert(lines(seed=4), tmp_path / "c.jelly", format="nt", seekable=True)
    found = []
    for threads in THREADS:
        done = jelly.convert(
            [str(tmp_path / name) for name in ("a.nt", "b.nq", "c.jelly")], tmp_path / "out.jelly", seekable=True,
            on_error="skip", threads=threads,
        )  # fmt: skip
        counts = (done.statements, done.bytes_read, done.bytes_written, done.n_skipped, done.skipped)
        found.append((counts, (tmp_path / "out.jelly").read_bytes()))
    assert found == [found[0]] * len(found)
    assert (found[0][0][0], found[0][0][3]) == (3 * ROWS - 3, 3)
    assert found[0][0][1] == sum((tmp_path / name).stat().st_size for name in ("a.nt", "b.nq", "c.jelly"))


@pytest.mark.parametrize("to", ["jellyp", "rdfp", "trp"])
@pytest.mark.parametrize("source", ["jellyp", "rdfp"])
def test_patches(source: str, to: str, tmp_path: Path) -> None:
    rows = b"".join(b"A " + line for line in lines(quads=True).splitlines(keepends=True))
    jelly.convert(b"TX .\n" + rows + b"TC .\n", tmp_path / f"in.{source}", format="rdfp")
    found = []
    for threads in THREADS:
        done = jelly.convert(tmp_path / f"in.{source}", tmp_path / f"out.{to}", threads=threads, batch_rows=300)
        assert done.statements > ROWS
        found.append((tmp_path / f"out.{to}").read_bytes())
    assert found == [found[0]] * len(found)
    if source != to and to != "rdfp":  # and back
        jelly.convert(tmp_path / f"out.{to}", tmp_path / "again.rdfp")
        jelly.convert(tmp_path / f"in.{source}", tmp_path / "in.rdfp")
        assert (tmp_path / "again.rdfp").read_bytes() == (tmp_path / "in.rdfp").read_bytes()
    for threads in THREADS:
        (tmp_path / "wrong.rdfp").write_bytes(rows[:-40])
        with pytest.raises(JellyError) as caught:
            jelly.convert(tmp_path / "wrong.rdfp", tmp_path / f"out.{to}", threads=threads)
        assert (caught.value.line, caught.value.source) == (5000, str(tmp_path / "wrong.rdfp"))


def write_all(writer: Any, batches: Iterable[Batch]) -> None:
    with writer:
        for batch in batches:
            writer.add_batch(batch)


FLAT, FRAME, PUNCTUATED = patch.PatchStreamType.FLAT, patch.PatchStreamType.FRAME, patch.PatchStreamType.PUNCTUATED


def some_patches(kind: int) -> bytes:
    """Patches with transactions that go over many rows, headers and namespaces, as Jelly-Patch."""
    chosen = random.Random(kind)
    out = io.BytesIO()
    is_open = False
    with patch.PatchWriter(out, {"stream_type": kind}) as writer:
        for i, statement in enumerate(jelly.read(lines(3000, quads=True), format="nq")):
            if i == 1500:
                writer.add(patch.AddNamespace("ex", jelly.IRI("http://ex.org/")))
            if chosen.random() < 0.02:
                writer.add(chosen.choice((patch.Commit, patch.Abort))() if is_open else patch.Start())
                is_open = not is_open
            elif chosen.random() < 0.02 and kind != FLAT and not is_open:
                writer.end_patch()
                writer.add(patch.Header("id", jelly.IRI(f"http://id.org/{i}")))
            writer.add(chosen.choice((patch.Add, patch.Delete))(statement))
        if is_open:
            writer.add(patch.Commit())
    return out.getvalue()


@pytest.mark.parametrize("to", [FLAT, FRAME, PUNCTUATED])
@pytest.mark.parametrize("kind", [FLAT, FRAME, PUNCTUATED])
def test_patches_by_segments(kind: int, to: int, tmp_path: Path) -> None:
    data = some_patches(kind)
    if to == FLAT and kind != FLAT:  # of which nothing may follow the first end
        for threads, batch_rows in itertools.product(THREADS, (1, 50)):
            writer = patch.PatchWriter(
                tmp_path / "x.jellyp", {"stream_type": to}, seekable=True, keyframe_rows=20, threads=threads
            )
            with pytest.raises(JellyError, match="one patch"):
                write_all(writer, patch.PatchReader(data, batch_rows=batch_rows).batches())
        return
    found = []
    for keyframe_rows, frame_rows, batch_rows in ((100, 256, 333), (1, 256, 100), (70, 10, 1000), (2000, 0, 5000)):
        for threads in THREADS:
            writer = patch.PatchWriter(
                tmp_path / "out.jellyp", {"stream_type": to}, seekable=True, keyframe_rows=keyframe_rows,
                frame_rows=frame_rows, threads=threads,
            )  # fmt: skip
            write_all(writer, patch.PatchReader(data, batch_rows=batch_rows).batches())
            found.append((tmp_path / "out.jellyp").read_bytes())
        assert found[-len(THREADS) :] == [found[-1]] * len(THREADS)
        expected = [str(row) for one in patch.read_patches(data) for row in one]
        assert [str(row) for one in patch.read_patches(found[-1]) for row in one] == expected
        with jelly.open(tmp_path / "out.jellyp") as file:
            assert [str(row) for one in file for row in one] == expected
            assert len(file) == len(list(patch.read_patches(found[-1])))
            assert len(file.index.keyframes) > 1 or (kind, to) == (FLAT, FRAME)  # a patch is a frame
        for name in ("again.jellyp", "again.rdfp"):
            again = []
            for threads in THREADS:
                seekable = {"seekable": True, "keyframe_rows": 500} if name == "again.jellyp" else {}
                jelly.convert(tmp_path / "out.jellyp", tmp_path / name, threads=threads, **seekable)
                again.append((tmp_path / name).read_bytes())
            assert again == [again[0]] * len(again)


def test_patches_of_many_rows_are_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A patch that is a frame has as many rows as it likes."""
    monkeypatch.setattr(encoders, "HELD_ROWS", 500)
    held = 0

    class Held(SegmentEncoder):
        def encode(self, *args: Any) -> bytes:
            nonlocal held
            data = super().encode(*args)
            held = max(held, sum(len(batch) for batch, *_ in self._parts))
            return data

    monkeypatch.setattr(encoders, "SegmentEncoder", Held)
    rows = [b"A " + line for line in lines(quads=True).splitlines(keepends=True)]
    batches = [*patch.PatchReader(b"".join(rows), format="rdfp", batch_rows=100).batches()]
    batches = [*patch.PatchReader(some_patches(FRAME), batch_rows=100).batches(), *batches]
    found = []
    for threads in THREADS:
        writer = patch.PatchWriter(
            tmp_path / "x.jellyp", {"stream_type": FRAME}, seekable=True, keyframe_rows=70, threads=threads
        )
        write_all(writer, batches)
        found.append((tmp_path / "x.jellyp").read_bytes())
    assert found == [found[0]] * len(found)
    assert 100 < held <= 700


def test_the_first_error_of_patches() -> None:
    """What is wrong in a row that was not encoded yet comes before a transaction that ends in a later Batch."""
    def batches() -> Iterator[Batch]:
        rows = [b"A <a:s> <a:p> <a:o> .\n"] * 1000
        rows[955] = b'A "literal" <a:p> <a:o> .\n'
        yield from patch.PatchReader(b"".join(rows), format="rdfp", batch_rows=50).batches()
        out = io.BytesIO()
        with patch.PatchWriter(out) as writer:
            writer.extend([patch.Start(), patch.Commit()])
        [batch] = patch.PatchReader(out.getvalue()).batches()
        yield select(batch, [1])

    found = set()
    for threads in THREADS:
        writer = patch.PatchWriter(
            io.BytesIO(), {"generalized_statements": False}, seekable=True, keyframe_rows=100, threads=threads
        )
        with pytest.raises(JellyError) as caught:
            write_all(writer, batches())
        found.add(str(caught.value))
    assert len(found) == 1
    assert "row 955" in found.pop()


@pytest.mark.parametrize("name", ["in.jelly", "in.rt", "in.rpb"])
def test_streams_without_an_index(name: str, tmp_path: Path) -> None:
    """A file that one thread reads while others write."""
    jelly.convert(lines(quads=True), tmp_path / name, format="nq")
    whole = (tmp_path / name).read_bytes()
    for settings in ({"to": "nq"}, {"to": "jelly", "seekable": True}):
        (tmp_path / name).write_bytes(whole)
        same(tmp_path / name, batch_rows=300, **settings)
        (tmp_path / name).write_bytes(whole[:-10])
        told_errors = set()
        for threads in THREADS:
            with pytest.raises(JellyError) as caught:
                converted(tmp_path / name, threads, batch_rows=300, **settings)
            told_errors.add(str(caught.value))
        assert len(told_errors) == 1


COLUMNS = jelly.StreamOptions(version=3)


@pytest.mark.parametrize(
    ("options", "settings", "why"),
    [
        (COLUMNS, {"continued": True}, "with keyframes"),
        (COLUMNS, {"announced": "1.2"}, "continued"),
        (patch.PatchOptions(), {"place": 5}, "has a place"),
        (COLUMNS, {"continued": True, "keyframe_rows": 5, "announced": "2.0"}, "expected one of 1.1, 1.2-basic, 1.2"),
        (COLUMNS.replace(rdf_version="1.1"), {"continued": True, "keyframe_rows": 5, "announced": "1.2"}, "open"),
        (jelly.StreamOptions(), {"continued": True, "keyframe_rows": 5, "announced": "1.2"}, "version 3"),
    ],
)
def test_what_only_a_part_of_a_stream_has(options: Any, settings: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        jelly.Encoder(options, **settings)


@pytest.mark.parametrize("step", ["filter", "sort", "unique", "slice", "without graphs", "ids"])
def test_steps_by_any_number_of_threads(step: str, tmp_path: Path) -> None:
    source = tmp_path / "a.nq"
    source.write_bytes(lines(quads=True) * 2)
    steps = {
        "filter": lambda made: made.filter(where="o.kind = literal"),
        "sort": lambda made: made.sort("p"),
        "unique": lambda made: made.unique(),
        "slice": lambda made: made[100:7000],
    }
    keywords: dict[str, dict[str, Any]] = {"without graphs": {"drop_graphs": True}, "ids": {"layout": "ids"}}
    if step == "ids":
        pytest.importorskip("pyarrow")
    found = set()
    for threads in THREADS:
        sizes: set[tuple[Any, ...]] = set()
        out = tmp_path / (f"out-{threads}" if step == "ids" else f"out-{threads}.jelly")
        made = steps.get(step, lambda made: made)(jelly.scan(source, threads=threads))

        def progress(*call: Any, seen: set[tuple[Any, ...]] = sizes) -> None:
            seen.add(call[1:])

        done = made.write(out, progress=progress, **keywords.get(step, {}))
        files = sorted(out.iterdir()) if step == "ids" else [out]
        found.add((done.statements, *(file.read_bytes() for file in files)))
        assert {size for size, _ in sizes} == {source.stat().st_size}
        if step != "slice":  # which need not read all
            assert done.bytes_read == source.stat().st_size
            assert max(sizes)[1] == 2 * ROWS
    assert len(found) == 1
