"""Conversions by several threads in processes of their own: Ctrl-C, kills, memory."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread, get_ident
from typing import Any

import pytest
from support.measure import growth
from test_same_bytes import lines

import jelly
from jelly._compression.raw_bytes import Interruptible, interruptible

KILLS = 200 if os.environ.get("JELLY_LONG") else 6
pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")


@contextlib.contextmanager
def converting(*args: Any, **settings: Any) -> Iterator[subprocess.Popen[bytes]]:
    """The command `jelly convert` with some threads."""
    command = [sys.executable, "-m", "jelly", "convert", "--threads", "3", "-q", *map(str, args)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, **settings) as process:
        try:
            yield process
        finally:
            process.kill()


def feed(process: subprocess.Popen[bytes], data: bytes) -> None:
    """Write to a process for as long as it reads."""
    assert process.stdin is not None
    with contextlib.suppress(OSError, ValueError):
        while True:
            process.stdin.write(data)


def wait_for(condition: Any, what: str) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("to", "is_fed"), [("out.jelly", True), ("out.nt.gz", True), ("out.parquet", True), ("out.jelly", False)]
)
def test_ctrl_c_ends_it_at_once(to: str, is_fed: bool, tmp_path: Path) -> None:
    """Also while it waits for a pipe: no thread of it holds the process up."""
    with converting("--from", "nt", "-", tmp_path / to, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        data = lines(20000)
        # More than the pipe holds: so the process is reading.
        process.stdin.write(data * 5)
        process.stdin.flush()
        if is_fed:
            Thread(target=feed, args=(process, data), daemon=True).start()
            wait_for(lambda: any(tmp_path.iterdir()), "nothing is written")
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        process.wait(60)
        took = time.monotonic() - start
        assert process.returncode in (130, -signal.SIGINT)
        assert list(tmp_path.iterdir()) == []
        # It takes some hundredths of a second where there is time to run.
        assert took < 10


def test_a_signal_that_wakes_no_read() -> None:
    """As one that comes just before the read: here another thread gets it, and Python tells the first one."""
    class Told(Exception):
        pass

    def tell(number: int, frame: Any) -> None:
        raise Told

    def work() -> None:
        assert ended.wait(0.3) is False
        signal.pthread_kill(get_ident(), signal.SIGUSR1)
        if not ended.wait(20):
            os.write(end, b"too late")

    ended = Event()
    source, end = os.pipe()
    before = signal.signal(signal.SIGUSR1, tell)
    thread = Thread(target=work)
    thread.start()
    try:
        with open(source, "rb", buffering=0) as file, pytest.raises(Told):
            Interruptible(file).read(10)
    finally:
        ended.set()
        thread.join()
        signal.signal(signal.SIGUSR1, before)
        os.close(end)


def test_files_that_never_wait_stay_as_they_are(tmp_path: Path) -> None:
    """So that redirected input can be read at any place."""
    (tmp_path / "x").write_bytes(b"x")
    with open(tmp_path / "x", "rb", buffering=0) as file:
        assert interruptible(file) is file
    with open(os.devnull, "rb", buffering=0) as file:
        assert isinstance(interruptible(file), Interruptible)
        assert interruptible(file).read() == b""


def test_kills_leave_no_half_file(tmp_path: Path) -> None:
    """The output is what it was before or all of the new one, whenever the process is killed."""
    source = tmp_path / "in.nt"
    source.write_bytes(lines(30000))
    names = ["out.jelly", "out.nt", "out.parquet"]
    whole = {}
    for name in names:
        start = time.monotonic()
        with converting(source, tmp_path / name) as process:
            assert process.wait(60) == 0
        took = time.monotonic() - start
        whole[name] = (tmp_path / name).read_bytes()
    chosen = random.Random(7)
    seen = set()
    for number in range(KILLS):
        out = tmp_path / names[number % 3]
        out.write_bytes(b"old")
        with converting(source, out) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(chosen.uniform(0.3, 1.1) * took)
            process.kill()
            process.wait(60)
        found = out.read_bytes()
        assert found in (b"old", whole[out.name])
        seen.add(found == b"old")
        assert not [path for path in tmp_path.iterdir() if path.name[0] != "." and path.name not in (*names, "in.nt")]
    assert True in seen
    for name in names:  # what the dead left is swept
        jelly.convert(source, tmp_path / name, threads=2, seekable=name == "out.jelly")
        assert (tmp_path / name).read_bytes() == whole[name]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.nt", *names]


SETUP = """
import io

class Nowhere(io.RawIOBase):
    def writable(self):
        return True
    def write(self, data):
        return len(data)

block = b"".join(b'<http://a.org/%d> <http://p.org/p%d> "value %d" .\\n' % (i // 4, i % 11, i) for i in range(100000))

def convert(n):
    jelly.convert((block for _ in range(n)), Nowhere(), from_format="nt", threads=3, **SETTINGS)

convert(10)
"""


@pytest.mark.parametrize("settings", [{"seekable": True}, {"to_format": "nt"}, {}], ids=str)
def test_memory_does_not_grow_with_the_input(settings: dict[str, Any]) -> None:
    """Four times the statements take no more memory, but for what is under way."""
    assert growth(SETUP.replace("SETTINGS", repr(settings)), "convert(40)") < 40 << 20
