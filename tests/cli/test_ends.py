"""How the command ends: a signal while it is still importing, and a reader of its output that is gone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from itertools import cycle
from pathlib import Path

import pytest

from jelly._bytes.workers import idle_cores

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")

TEXT = b'<a:s> <a:p> "x" .\n'
# Sends itself a signal at the search for the module of ours of a number, as if somebody had sent it then.
WATCHED = """
import atexit, os, sys

class Finder:
    seen, number, wanted = 0, int(os.environ["NUMBER"]), int(os.environ["WANTED"])

    def find_spec(self, name, path=None, target=None):
        self.seen += name.startswith("jelly.")
        if self.seen == self.wanted:
            os.kill(os.getpid(), self.number)

finder = Finder()
sys.meta_path.insert(0, finder)
if not finder.wanted:
    atexit.register(lambda: print(finder.seen, file=sys.stderr))
"""


def run(folder: Path, wanted: int, number: int, how: list[str]) -> subprocess.CompletedProcess[bytes]:
    (folder / "sitecustomize.py").write_text(WATCHED)
    paths = os.pathsep.join([str(folder), *filter(None, sys.path)])
    environment = os.environ | {"PYTHONPATH": paths, "WANTED": str(wanted), "NUMBER": str(int(number))}
    command = [sys.executable, *how, "head", "-n", "1", str(folder / "a.nt")]
    return subprocess.run(command, capture_output=True, timeout=120, env=environment)


@pytest.mark.parametrize("is_script", [True, False])
def test_a_signal_at_any_import_ends_it_without_a_traceback(is_script: bool, tmp_path: Path) -> None:
    """The first module is what takes the signals; the last ones are imported when the command is at work."""
    (tmp_path / "a.nt").write_bytes(TEXT)
    (tmp_path / "jelly").write_text("from jelly.cli import main\nmain()\n")
    how = [str(tmp_path / "jelly")] if is_script else ["-m", "jelly"]
    whole = run(tmp_path, 0, 0, how)
    assert (whole.returncode, whole.stdout) == (0, TEXT)
    count = int(whole.stderr)
    assert count > 50
    step = 1 if os.environ.get("JELLY_LONG") else count // 4
    numbers = cycle([signal.SIGINT, signal.SIGTERM])
    for wanted, number in zip([*range(2, count, step), count], numbers, strict=False):
        done = run(tmp_path, wanted, number, how)
        assert (done.returncode, done.stdout) == (128 + number, b""), wanted
        told = b"interrupted; no unfinished file is left\n" if number == signal.SIGINT else b""  # once it is at work
        assert done.stderr in (b"", told), wanted


def test_a_program_that_imports_jelly_keeps_its_signals() -> None:
    code = "import signal; b = [signal.getsignal(n) for n in (2, 15)]; import jelly, jelly.cli; "
    code += "assert b == [signal.getsignal(n) for n in (2, 15)]"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


def test_what_nohup_ignores_stays_ignored() -> None:
    code = "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); sys.argv = ['jelly', '--version']\n"
    code += "from jelly.cli import main\ntry:\n    main()\nfinally:\n"
    code += "    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN"
    assert subprocess.run([sys.executable, "-c", code], timeout=120, stdout=subprocess.DEVNULL).returncode == 0


def test_nobody_reads_tables(tmp_path: Path) -> None:
    path, reading = tmp_path / "a.nt", os.pipe()
    path.write_bytes(TEXT)
    os.close(reading[0])
    command = [sys.executable, "-m", "jelly", "inspect", "--table", str(path)]
    done = subprocess.run(command, stdout=reading[1], stderr=subprocess.PIPE, timeout=120)
    os.close(reading[1])
    assert (done.returncode, done.stderr) == (141, b"")


def test_standard_input_and_output_that_are_closed(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_bytes(TEXT)
    for file, closed, told in (
        ("a.nt", ">&-", b"output: Bad file descriptor\n"),
        ("-", "<&-", b"input: closed, or not of bytes\n"),
    ):
        command = f'"{sys.executable}" -m jelly cat --from nt {file} {closed}'
        done = subprocess.run(command, shell=True, cwd=tmp_path, stderr=subprocess.PIPE, timeout=120)
        assert (done.returncode, done.stderr) == (1, b"error: standard " + told)


@pytest.mark.parametrize(
    "args",
    ["count a.nt", "inspect a.nt", "stats a.nt", "cat a.nt", "--help", "count --help", "inspect --table p.rdfp"],
)
@pytest.mark.parametrize("output", [">&-", "> /dev/full"])
def test_nothing_can_be_printed(args: str, output: str, tmp_path: Path) -> None:
    """One line and no second one by Python, which tries to print once more when it ends."""
    if "full" in output and not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    (tmp_path / "a.nt").write_bytes(TEXT)
    (tmp_path / "p.rdfp").write_bytes(b"TX .\nTC .\n")
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = f'"{sys.executable}" -m jelly {args} {output}'
    done = subprocess.run(command, shell=True, cwd=tmp_path, stderr=subprocess.PIPE, env=buffered, timeout=120)
    assert done.returncode == 1
    why = b"Bad file descriptor|No space left on device"
    assert re.fullmatch(rb"error: (standard output: )?(%s)\n" % why, done.stderr)


def test_a_traceback_that_is_asked_for() -> None:
    command = [sys.executable, "-m", "jelly", "cat", "none.nt"]
    done = subprocess.run(command, env=os.environ | {"JELLY_TRACEBACK": "1"}, stderr=subprocess.PIPE, timeout=120)
    assert done.returncode == 1
    assert done.stderr.startswith(b"Traceback")
    assert b"FileNotFoundError" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("args", "code"), [("nosuch", 2), ("--version", 1), ("--help", 1), ("convert a.nt /dev/stdout --to nt", 1)]
)
def test_both_outputs_are_closed(args: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_bytes(TEXT)
    command = f'"{sys.executable}" -m jelly {args} >&- 2>&-'
    assert subprocess.run(command, shell=True, cwd=tmp_path, timeout=120).returncode == code


def test_convert_with_closed_outputs(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_bytes(TEXT)
    for rest, code, told in (
        ("- --to nt >&-", 1, b"error: standard output: Bad file descriptor\n"),
        ("b.nt >&- 2>&-", 0, b""),
    ):
        command = f'"{sys.executable}" -m jelly convert a.nt {rest}'
        done = subprocess.run(command, shell=True, cwd=tmp_path, stderr=subprocess.PIPE, timeout=120)
        assert (done.returncode, done.stderr) == (code, told)
    assert (tmp_path / "b.nt").read_bytes() == TEXT


@pytest.mark.parametrize("args", [["cat"], ["convert", "-q", "--to", "nt"], ["find", "-p", "a:p", "--exit-code"]])
def test_nobody_reads_standard_output(args: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    path.write_bytes(TEXT * 20_000)
    command = [sys.executable, "-m", "jelly", args[0], str(path), *args[1:], *["-"] * (args[0] == "convert")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(10) == TEXT[:10]
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(120) == 141


@pytest.mark.parametrize(("command", "code"), [("convert -q", 1), ("diff --to rdfp --exit-code", 2)])
def test_nobody_reads_a_pipe_with_a_name(command: str, code: int, tmp_path: Path) -> None:
    """The result is not there: that is an error, as for a file."""
    path, pipe, empty = tmp_path / "a.nt", tmp_path / "out.nt", tmp_path / "empty.nt"
    path.write_bytes(b"".join(b'<a:s%d> <a:p> "x" .\n' % i for i in range(20_000)))
    empty.write_bytes(b"")
    os.mkfifo(pipe)
    name, *options = command.split()
    files = [str(path), str(pipe)] if name == "convert" else [str(empty), str(path), str(pipe)]
    whole = [sys.executable, "-m", "jelly", name, *files, *options]
    with subprocess.Popen(whole, stderr=subprocess.PIPE) as process:
        with open(pipe, "rb", buffering=0) as file:
            assert len(file.read(5)) == 5
        _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (code, f"error: {pipe}: Broken pipe\n".encode())


def test_cores_that_are_in_use_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = tmp_path / "loadavg"
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    for running, threads in ((1, 4), (5, 4), (6, 3), (8, 1), (9, 1), (30, 1)):
        load.write_text(f"9.00 1.00 0.50 {running}/512 4711\n")
        assert idle_cores(str(load)) == threads
    for text in ("", "nonsense", "1 2 3 x/y"):
        load.write_text(text)
        assert idle_cores(str(load)) == 4
    assert idle_cores(str(tmp_path / "none")) == 4
