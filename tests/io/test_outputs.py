"""Where output goes that is no plain file, and errors of writing: they name the output."""

from __future__ import annotations

import errno
import io
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jelly
from jelly import IRI, Literal, Triple
from jelly._bytes.sink import Sink
from jelly.cli.commands import cli

TEXT = b'<a:s> <a:p> "1" .\n<a:s> <a:p> "2" .\n'
STATEMENTS = [Triple(IRI("a:s"), IRI("a:p"), Literal(str(i))) for i in range(2)]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(jelly.__file__).parent.parent), *sys.path])}
descriptors = pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no /dev/fd here")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.nt").write_bytes(TEXT)
    jelly.convert("a.nt", "a.jelly", seekable=True)
    Path("empty.nt").write_bytes(b"")
    return tmp_path


def shell(line: str, expect: int = 0) -> tuple[str, str]:
    """A line for bash in which ``jelly`` is the command; its standard output and error."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    text = f'jelly() {{ "{sys.executable}" -m jelly "$@"; }}\n{line}\n'
    done = subprocess.run([bash, "-c", text], env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert done.returncode == expect, done.stderr
    return done.stdout, done.stderr


# ---- pipes and devices by name


@descriptors
@pytest.mark.parametrize(
    "line",
    [
        "jelly convert -q a.jelly /dev/stdout --to nt | cat",
        "jelly convert -q a.jelly /dev/fd/1 --to nt | cat",
        "jelly convert -q a.jelly >(cat > out) --to nt; while ! [ -s out ]; do sleep 0.05; done; sleep 0.1; cat out",
        "jelly convert -q a.jelly /dev/fd/7 --to nt 7> out; cat out",
        "jelly slice a.jelly 0:2 -o /dev/stdout --to nt | cat",
        "mkfifo fifo; cat fifo & jelly convert -q a.jelly fifo --to nt; wait",
        "jelly convert -q a.jelly /dev/stdout --to nt > out; cat out",
        "ln -s /dev/stdout link.nt; jelly convert -q a.jelly link.nt | cat",
    ],
)
def test_a_pipe_as_output(folder: Path, line: str) -> None:
    assert shell(line) == (TEXT.decode(), "")


@descriptors
def test_what_the_shell_wrote_before_and_writes_after_is_kept(folder: Path) -> None:
    shell("{ echo a; jelly convert -q a.jelly /dev/stdout --to nt; echo b; } > out")
    assert Path("out").read_bytes() == b"a\n" + TEXT + b"b\n"
    shell("jelly convert -q a.jelly /dev/stdout --to nt >> out")
    assert Path("out").read_bytes() == b"a\n" + TEXT + b"b\n" + TEXT


@descriptors
def test_patches_and_results_into_pipes(folder: Path) -> None:
    out, _ = shell("jelly diff a.nt empty.nt /dev/stdout --to rdfp | cat")
    assert out.count("D <a:s>") == 2
    jelly.results.write_results("a.srj", ["x"], [[Literal("1")]])
    assert shell("jelly convert -q a.srj /dev/stdout --to csv | cat")[0].split() == ["x", "1"]


@descriptors
def test_a_descriptor_that_is_not_open(folder: Path) -> None:
    _, told = shell("jelly convert -q a.jelly /dev/fd/77 --to nt", expect=1)
    assert told == "error: /dev/fd/77: Bad file descriptor\n"


@descriptors
def test_a_pipe_as_output_in_python() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as end:
        assert jelly.write(f"/dev/fd/{write}", STATEMENTS, format="nt") == 2
        os.close(write)  # ours was not closed
        assert end.read().count(b"\n") == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes by name here")
def test_a_live_pipe_gets_what_is_flushed(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with jelly.Writer(path, format="nt") as writer:
        writer.add(STATEMENTS[0])
        writer.flush()
        assert os.read(end, 100) == b'<a:s> <a:p> "0" .\n'
    os.close(end)


# ---- errors


def test_a_directory_and_a_directory_that_is_missing(folder: Path) -> None:
    os.mkdir("dir")
    with pytest.raises(IsADirectoryError) as caught:
        jelly.write("dir", STATEMENTS)
    assert (caught.value.errno, caught.value.filename) == (errno.EISDIR, "dir")
    with pytest.raises(FileNotFoundError, match="the directory none does not exist") as missing:
        jelly.write("none/x.jelly", STATEMENTS)
    assert (missing.value.errno, missing.value.filename) == (errno.ENOENT, "none/x.jelly")
    os.symlink("none/x.jelly", "link.jelly")
    with pytest.raises(FileNotFoundError, match=r"the directory /.*none does not exist"):
        jelly.write("link.jelly", STATEMENTS)
    for dst, told in (("dir", "Is a directory"), ("none/x.nt", "the directory none does not exist")):
        result = CliRunner().invoke(cli, ["convert", "a.jelly", dst, "--to", "nt"])
        assert (result.exit_code, result.stderr) == (1, f"error: {dst}: {told}\n")
    assert sorted(os.listdir()) == ["a.jelly", "a.nt", "dir", "empty.nt", "link.jelly"]


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
from jelly.cli import main
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="POSIX only")
@pytest.mark.parametrize(
    "command",
    [
        ["convert", "-q", "b.nt", "OUT.nq"],
        ["convert", "-q", "b.nt", "OUT.jelly"],
        ["convert", "-q", "b.nt", "OUT.nt.bz2"],
        ["convert", "-q", "b.nt", "OUT.ttl"],
        ["convert", "-q", "b.nt", "OUT.parquet"],
        ["convert", "-q", "b.nt", "OUT.rt"],
        ["diff", "a.nt", "b.nt", "OUT.rdfp"],
        ["convert", "--messages", "b.nt", "OUT.nq"],
        ["convert", "b.srj", "OUT.csv"],
    ],
    ids=lambda command: command[-1],
)
def test_a_full_disk_names_the_file(folder: Path, command: list[str]) -> None:
    for extra in {".ttl": ["pyoxigraph"], ".parquet": ["pyarrow"]}.get(Path(command[-1]).suffix, []):
        pytest.importorskip(extra)
    # A limit on the size of files fails as a full disk does, in another word.
    chance = random.Random(1)
    values = [Literal(str(chance.random())) for _ in range(3000)]
    jelly.write("b.nt", [Triple(IRI("a:s"), IRI("a:p"), value) for value in values])
    jelly.results.write_results("b.srj", ["x"], [[value] for value in values])
    before = sorted(os.listdir())
    done = subprocess.run(
        [sys.executable, "-c", FULL, *command], env=ENVIRONMENT, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (1, f"error: {command[-1]}: File too large\n")
    assert sorted(os.listdir()) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_device_is_named() -> None:
    with pytest.raises(OSError, match="No space left") as caught:
        jelly.write("/dev/full", STATEMENTS, format="nt")
    assert caught.value.filename == "/dev/full"
    with open("/dev/full", "wb", buffering=0) as file, pytest.raises(OSError, match="No space left") as caught:
        jelly.write(file, STATEMENTS)
    assert caught.value.filename == "/dev/full"


MISSING = """
import sys
sys.modules[sys.argv.pop(1)] = None
from jelly.cli import main
main()
"""


@pytest.mark.parametrize(
    ("package", "src", "dst", "named"),
    [
        ("zstandard", "a.jelly", "out.nt.zst", "out.nt.zst"),
        ("pyoxigraph", "a.jelly", "out.ttl", "out.ttl"),
        ("zstandard", "a.nt.zst", "out.nt", "a.nt.zst"),
        ("pyoxigraph", "a.ttl", "out.nt", "a.ttl"),
    ],
)
def test_a_missing_extra_names_the_file_that_needs_it(
    folder: Path, package: str, src: str, dst: str, named: str
) -> None:
    Path("a.ttl").write_bytes(TEXT)
    Path("a.nt.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    before = sorted(os.listdir())
    done = subprocess.run(
        [sys.executable, "-c", MISSING, package, "convert", src, dst],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {named}: ")
    assert "python -m pip install 'jelly-rdf[" in done.stderr
    assert sorted(os.listdir()) == before


def test_what_cannot_be_written_names_the_output(folder: Path) -> None:
    quads = jelly.dumps([jelly.Quad(*STATEMENTS[0], IRI("a:g"))])
    Path("q.jelly").write_bytes(quads)
    for call in (
        lambda: jelly.convert("q.jelly", "out.nt"),
        lambda: jelly.write("out.nt", jelly.scan("q.jelly").batches()),
        lambda: jelly.write("out.nt", [STATEMENTS[0], *jelly.scan("q.jelly").batches()]),
        lambda: jelly.dumps(jelly.scan("q.jelly").batches()),
    ):
        with pytest.raises((jelly.JellyError, TypeError)) as caught:
            call()
    assert isinstance(caught.value, TypeError)
    with pytest.raises(jelly.JellyUnsupportedError) as named:
        jelly.convert("q.jelly", "out.nt")
    assert named.value.source == "out.nt"
    with pytest.raises(jelly.JellyUnsupportedError) as unnamed:
        jelly.convert("q.jelly", io.BytesIO(), to="nt")
    assert unnamed.value.source is None
    assert not os.path.exists("out.nt")


def test_a_bug_still_says_where_to_look(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **settings: Any) -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr(jelly, "scan", broken)
    result = CliRunner().invoke(cli, ["convert", "a.nt", "b.jelly"])
    assert result.stderr == "error: RuntimeError: odd (JELLY_TRACEBACK=1 shows where)\n"


def test_labels() -> None:
    assert Sink("-").label == "standard output"
    assert Sink(io.BytesIO()).label == ""
