"""Files: what fails leaves nothing behind, what is there stays, whatever comes as a source is read to its end."""

from __future__ import annotations

import gzip
import io
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.measure import run

import jelly
from jelly._bytes.sink import Sink
from jelly._bytes.source import Source

posix = pytest.mark.skipif(os.name != "posix", reason="of POSIX systems")

STATEMENTS = [jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal(str(i))) for i in range(50)]
DATA = jelly.dumps(STATEMENTS)
SUFFIXES = [".jelly", ".nt", ".nq", ".jelly.gz", ".nt.zst", ".jelly.bz2", ".jelly.xz"]


class BrokenError(Exception):
    pass


def broken(after: int) -> Iterator[jelly.Triple]:
    yield from (STATEMENTS * (1 + after // 50))[:after]
    raise BrokenError


def needs(suffix: str) -> None:
    if suffix.endswith(".zst"):
        pytest.importorskip("zstandard")


# ---- writing


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_written_and_read(suffix: str, tmp_path: Path) -> None:
    needs(suffix)
    path = tmp_path / f"x{suffix}"
    assert jelly.write(path, STATEMENTS) == 50
    assert [tuple(statement)[:3] for statement in jelly.read(path)] == STATEMENTS
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("after", [0, 1, 10_000, 30_000])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_iterator_that_raises(suffix: str, after: int, tmp_path: Path) -> None:
    needs(suffix)
    path = tmp_path / f"x{suffix}"
    with pytest.raises(BrokenError):
        jelly.write(path, broken(after))
    assert os.listdir(tmp_path) == []
    path.write_bytes(b"as it was")
    with pytest.raises(BrokenError):
        jelly.write(path, broken(after))
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == b"as it was"


@pytest.mark.parametrize(
    ("statements", "kind"),
    [
        ([*STATEMENTS, None], TypeError),
        ([*STATEMENTS, (jelly.IRI("a:s"), "a:p", jelly.IRI("a:o"))], TypeError),
        ([*STATEMENTS, (jelly.IRI("a:s"), jelly.IRI("a:p"))], ValueError),
        ([*STATEMENTS, jelly.Triple(jelly.IRI("a:s"), jelly.ANY, jelly.IRI("a:o"))], jelly.JellyUnsupportedError),
        ([jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("\ud800"))], jelly.JellyFormatError),
        (5, TypeError),
    ],
)
def test_what_cannot_be_written(statements: Any, kind: type[Exception], tmp_path: Path) -> None:
    with pytest.raises(kind):
        jelly.write(tmp_path / "x.jelly", statements)
    assert os.listdir(tmp_path) == []


def test_statements_that_the_given_options_do_not_allow(tmp_path: Path) -> None:
    generalized = jelly.Triple(jelly.IRI("a:s"), jelly.Literal("p"), jelly.IRI("a:o"))
    with pytest.raises(jelly.JellyOptionsError, match="generalized_statements"):
        jelly.write(tmp_path / "x.jelly", [*STATEMENTS, generalized], {"generalized_statements": False})
    assert os.listdir(tmp_path) == []


def test_settings_that_are_wrong_leave_no_file(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    for settings, kind in (
        ({"frame_rows": -1}, ValueError),
        ({"format": "hdt"}, jelly.JellyError),
        ({"rows": 1}, TypeError),
        ({"options": 5}, Exception),
    ):
        with pytest.raises(kind):
            jelly.write(path, STATEMENTS, **settings)
        assert os.listdir(tmp_path) == []
    with pytest.raises(jelly.JellyError, match="unknown suffix"):
        jelly.Writer(tmp_path / "x.docx")
    assert os.listdir(tmp_path) == []


def test_a_writer_that_is_left_by_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"

    def leave() -> None:
        with jelly.Writer(path) as writer:
            writer.extend(STATEMENTS)
            writer.flush()
            assert len(os.listdir(tmp_path)) == 1
            assert not path.exists()
            raise BrokenError

    with pytest.raises(BrokenError):
        leave()
    assert os.listdir(tmp_path) == []
    writer = jelly.Writer(path)
    writer.add(STATEMENTS[0])
    writer.abort()
    writer.abort()
    assert os.listdir(tmp_path) == []
    for call in (lambda: writer.add(STATEMENTS[0]), lambda: writer.end_frame(), lambda: writer.extend(STATEMENTS)):
        with pytest.raises(ValueError, match="closed"):
            call()


def test_the_file_has_its_name_at_the_end_only(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    path.write_bytes(b"as it was")
    with jelly.Writer(path) as writer:
        writer.extend(STATEMENTS)
        writer.flush()
        assert path.read_bytes() == b"as it was"
        (temporary,) = set(os.listdir(tmp_path)) - {path.name}
        assert temporary.startswith(".x.jelly.")
    assert os.listdir(tmp_path) == [path.name]
    assert jelly.loads(path.read_bytes()) == STATEMENTS
    writer.close()


@posix
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002, 0o000])
def test_the_umask_counts(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        jelly.write(tmp_path / "x.jelly", STATEMENTS)
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x.jelly").stat().st_mode) == 0o666 & ~umask


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        jelly.write(tmp_path / "nowhere" / "x.jelly", STATEMENTS)
    with pytest.raises(IsADirectoryError):
        jelly.write(tmp_path, STATEMENTS, format="jelly")
    assert os.listdir(tmp_path) == []


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("n", [1, 100_000])
def test_a_full_device(n: int) -> None:
    with pytest.raises(OSError, match="No space left"):
        jelly.write("/dev/full", STATEMENTS * (n // 50 + 1), format="jelly")
    with open("/dev/full", "wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        jelly.write(file, STATEMENTS)
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
    assert jelly.write("/dev/null", STATEMENTS, format="jelly") == 50


@posix
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk(suffix: str, tmp_path: Path) -> None:
    # A limit on the size of files fails as a full disk does, when the data goes out: here in the middle or at the end.
    needs(suffix)
    path = tmp_path / f"x{suffix}"
    code = """
import resource, signal, sys, jelly
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
import random; random.seed(1)
statements = (jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal(str(random.random())))
              for i in range(int(sys.argv[2])))
try:
    jelly.write(sys.argv[1], statements)
except OSError as error:
    sys.exit(7)
"""
    for n, limit in (("40000", "20000"), ("200", "300")):
        path.write_bytes(b"as it was")
        done = run("-c", code, str(path), n, limit)
        assert done.returncode == 7, done.stderr[-2000:]
        assert os.listdir(tmp_path) == [path.name]
        assert path.read_bytes() == b"as it was"
        path.unlink()
        assert run("-c", code, str(path), n, limit).returncode == 7
        assert os.listdir(tmp_path) == []


@posix
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.jelly", tmp_path / "link.jelly"
    target.write_bytes(b"old")
    link.symlink_to(target)
    jelly.write(link, STATEMENTS)
    assert link.is_symlink()
    assert jelly.loads(target.read_bytes()) == STATEMENTS


class Failing(io.RawIOBase):
    """A file that takes some writes and then no more."""

    def __init__(self, good: int) -> None:
        self.good = good

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.good -= 1
        if self.good < 0:
            raise OSError(5, "broken")
        return len(data)


def test_a_file_object_that_fails() -> None:
    for good in range(3):
        with pytest.raises(OSError, match="broken"):
            jelly.write(Failing(good), STATEMENTS * 1000)


def test_a_file_object_stays_open() -> None:
    out = io.BytesIO()
    jelly.write(out, STATEMENTS)
    assert not out.closed
    assert jelly.loads(out.getvalue()) == STATEMENTS
    with pytest.raises(BrokenError):
        jelly.write(out, broken(10))
    assert not out.closed


class Short(io.RawIOBase):
    """A file that takes and gives a few bytes at a time."""

    def __init__(self, data: bytes = b"", size: int = 3) -> None:
        self.data = data
        self.size = size

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = min(self.size, len(buffer), len(self.data))
        buffer[:n], self.data = self.data[:n], self.data[n:]
        return n

    def write(self, data: Any) -> int:
        n = min(self.size, len(data))
        self.data += bytes(data[:n])
        return n


def test_short_writes_lose_nothing() -> None:
    out = Short(size=1000)
    jelly.write(out, STATEMENTS * 100)
    assert jelly.loads(out.data) == STATEMENTS * 100


# ---- text mode


def test_text_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    path.write_bytes(b"<a:s> <a:p> <a:o> .\n")
    with open(path) as file, pytest.raises(TypeError, match="binary mode"):
        list(jelly.read(file, format="nt"))
    with pytest.raises(TypeError, match="binary mode"):
        list(jelly.read(io.StringIO("x")))
    with open(path, "a") as file, pytest.raises(TypeError, match="binary mode"):
        jelly.write(file, STATEMENTS)
    with pytest.raises(TypeError, match="binary mode"):
        jelly.write(io.StringIO(), STATEMENTS)
    with pytest.raises(TypeError, match="expected bytes"):
        list(jelly.read(iter(["text"])))
    assert path.read_bytes() == b"<a:s> <a:p> <a:o> .\n"


@pytest.mark.parametrize("wrong", [None, 5, 1.5, object()])
def test_what_is_no_source_or_destination(wrong: Any) -> None:
    with pytest.raises(TypeError, match="cannot read from"):
        jelly.read(wrong)
    with pytest.raises(TypeError, match="cannot write to"):
        jelly.Writer(wrong)


# ---- reading


def sources(data: bytes, tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "source"
    path.write_bytes(data)
    return {
        "str": str(path),
        "Path": path,
        "bytes": data,
        "bytearray": bytearray(data),
        "memoryview": memoryview(data),
        "BytesIO": io.BytesIO(data),
        "raw": Short(data),
        "buffered": io.BufferedReader(Short(data), 5),
        "only read": type("Reads", (), {"read": io.BytesIO(data).read})(),
        "chunks": (data[i : i + 3] for i in range(0, len(data), 3)),
        "list of chunks": [data[:1], b"", bytearray(data[1:5]), memoryview(data[5:])],
        "empty chunks": [b"", b"", data, b""],
    }


KINDS = [
    "str",
    "Path",
    "bytes",
    "bytearray",
    "memoryview",
    "BytesIO",
    "raw",
    "buffered",
    "only read",
    "chunks",
    "list of chunks",
    "empty chunks",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("packed", [False, True])
def test_sources(kind: str, packed: bool, tmp_path: Path) -> None:
    source = sources(gzip.compress(DATA) if packed else DATA, tmp_path)[kind]
    assert list(jelly.read(source, format="jelly")) == STATEMENTS


@pytest.mark.parametrize("kind", KINDS)
def test_empty_sources(kind: str, tmp_path: Path) -> None:
    with pytest.raises(jelly.JellyFormatError, match="does not start with"):
        list(jelly.read(sources(b"", tmp_path)[kind], format="jelly"))


def test_a_source_counts_and_knows_its_name(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    path.write_bytes(DATA)
    source = Source(path)
    assert (source.name, source.size, source.bytes_read) == (str(path), len(DATA), 0)
    assert b"".join(source.chunks(10)) == DATA
    assert source.bytes_read == len(DATA)
    path.write_bytes(DATA[:-1])
    with pytest.raises(jelly.JellyTruncatedError, match="x.jelly") as caught:
        list(jelly.read(path))
    assert caught.value.source == str(path)


@posix
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc here")
def test_files_are_closed(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    path.write_bytes(DATA)

    def opened() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = opened()
    list(jelly.read(path))
    iterator = jelly.read(path)
    next(iterator)
    iterator.close()
    with jelly.Reader(path) as reader:
        next(iter(reader))
    jelly.read_options(path)
    path.write_bytes(DATA[:-1])
    with pytest.raises(jelly.JellyError):
        list(jelly.read(path))
    for target in (tmp_path / "y.jelly", tmp_path / "y.nt.gz"):
        with pytest.raises(BrokenError):
            jelly.write(target, broken(5))
    assert opened() == before


def test_an_error_of_the_source_is_passed_on() -> None:
    class Bad(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            raise OSError(5, "bad disk")

    with pytest.raises(OSError, match="bad disk"):
        list(jelly.read(Bad()))

    def chunks() -> Iterator[bytes]:
        yield DATA[:100]
        raise BrokenError

    with pytest.raises(BrokenError):
        list(jelly.read(chunks()))


# ---- standard input and output


def test_dash(tmp_path: Path) -> None:
    code = "import jelly; jelly.write('-', jelly.read('-'))"
    paths = [path for path in sys.path if path]
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=DATA,
        capture_output=True,
        timeout=100,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert jelly.loads(done.stdout) == STATEMENTS
    assert os.listdir(tmp_path) == []


@posix
def test_dash_to_a_reader_that_goes_away(tmp_path: Path) -> None:
    code = f"import jelly, itertools; jelly.write('-', itertools.cycle(jelly.loads({DATA!r})))"
    paths = [path for path in sys.path if path]
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        cwd=tmp_path,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1000)
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert process.wait(100) != 0
    assert b"BrokenPipeError" in error


def test_sink_alone(tmp_path: Path) -> None:
    sink = Sink(tmp_path / "x.jelly.gz")
    sink.write(b"")
    sink.write(b"abc")
    assert sink.bytes_written == 3
    sink.close()
    assert gzip.decompress((tmp_path / "x.jelly.gz").read_bytes()) == b"abc"
    first = (tmp_path / "x.jelly.gz").read_bytes()
    again = Sink(tmp_path / "x.jelly.gz")
    again.write(b"abc")
    again.close()
    assert (tmp_path / "x.jelly.gz").read_bytes() == first
