"""A disk that is full, as a limit of the size of files: errors name the file as the user does, and nothing is left."""

import os
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack

import pytest

import jelly
from jelly._streams.spool import marks

pytest.importorskip("resource")
pytest.importorskip("click")

CODE = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from jelly.cli import main
main()
"""


@pytest.fixture
def big(tmp_path):
    path = tmp_path / "big.nt"
    path.write_text("".join(f"<a:{n * 7919 % 100_003}> <a:p> <b:{n * 31 % 100_003}> .\n" for n in range(20_000)))
    return path


def run(folder, *args):
    done = subprocess.run(
        [sys.executable, "-c", CODE, *args], cwd=folder, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["convert", "-q", "--to", "jelly", "big.nt", "out"],
        ["convert", "-q", "--to", "nt", "big.nt", "out"],
        ["convert", "-q", "--to", "parquet", "big.nt", "out"],
        ["sort", "-q", "big.nt", "-o", "out", "--to", "jelly"],
        ["canonicalize", "big.nt", "out"],
    ],
    ids=["jelly", "nt", "parquet", "sort", "canonicalize"],
)
def test_the_output_is_named_and_not_left(tmp_path, big, command):
    if "parquet" in command:
        pytest.importorskip("pyarrow")
    assert run(tmp_path, *command) == "error: out: File too large\n"
    assert os.listdir(tmp_path) == ["big.nt"]


@pytest.mark.parametrize(
    "command", ["sort --to nt big.nt -o", "convert --unique --to nt big.nt", "describe --to nt big.nt -o"]
)
def test_the_directory_of_temporary_files_is_named(tmp_path, big, command):
    name, *words = command.split()
    told = run(tmp_path, name, "-q", "--memory", "100K", *words, os.devnull)
    assert told == f"error: {tempfile.gettempdir()}: File too large\n"
    assert os.listdir(tmp_path) == ["big.nt"]


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="no way to ask for room")
def test_marks_have_room_before_they_are_written(monkeypatch):
    """Else a full disk would end the process (SIGBUS)."""
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile())
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda: file)
        marks(1 << 20, 0, stack)
        assert os.fstat(file.fileno()).st_blocks * 512 >= 1 << 20


def test_append_names_the_file_and_leaves_it(tmp_path, big):
    log = tmp_path / "log.jelly"
    jelly.write(log, [jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"))], seekable=True)
    before = log.read_bytes()
    assert run(tmp_path, "append", "-q", "big.nt", "log.jelly") == "error: log.jelly: File too large\n"
    assert log.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["big.nt", "log.jelly"]


def test_a_directory_of_ids_is_not_left(tmp_path, big):
    pytest.importorskip("pyarrow")
    told = run(tmp_path, "convert", "-q", "--layout", "ids", "big.nt", "graph")
    assert re.fullmatch(r"error: graph.(terms|triples)\.parquet: File too large\n", told)
    assert os.listdir(tmp_path) == ["big.nt"]
