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
from functools import partial
from pathlib import Path
from threading import Event, Thread, Timer, get_ident
from typing import Any

import pytest
from support.measure import growth
from test_same_bytes import lines

import jelly
from jelly._bytes.raw_bytes import Interruptible, interruptible
from jelly._bytes.workers import AHEAD, DEPTH, Workers, in_order, pipelined

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
    until = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("to", "is_fed"), [("out.jelly", True), ("out.nt.gz", True), ("out.parquet", True), ("out.jelly", False)]
)
@pytest.mark.bounded
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
        process.wait(240)
        assert process.returncode in (130, -signal.SIGINT)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.bounded
def test_a_signal_that_wakes_no_read() -> None:
    """As one that comes just before the read: here another thread gets it, and Python tells the first one."""
    class Told(Exception):
        pass

    def tell(number: int, frame: Any) -> None:
        raise Told

    def work() -> None:
        assert ended.wait(0.3) is False
        signal.pthread_kill(get_ident(), signal.SIGUSR1)
        if not ended.wait(240):
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


@pytest.mark.bounded
def test_kills_leave_no_half_file(tmp_path: Path) -> None:
    """The output is what it was before or all of the new one, whenever the process is killed."""
    source = tmp_path / "in.nt"
    source.write_bytes(lines(30000))
    names = ["out.jelly", "out.nt", "out.parquet"]
    whole = {}
    for name in names:
        start = time.monotonic()
        with converting(source, tmp_path / name) as process:
            assert process.wait(240) == 0
        took = time.monotonic() - start
        whole[name] = (tmp_path / name).read_bytes()
    chosen = random.Random(7)
    seen = set()
    for number in range(KILLS):
        out = tmp_path / names[number % 3]
        out.write_bytes(b"old")
        with converting(source, out) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(chosen.uniform(0.3, 1.1) * took if number else 0)  # at least one is too short
            process.kill()
            process.wait(240)
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
from jelly._bytes.workers import Window

class Nowhere(io.RawIOBase):
    def writable(self):
        return True
    def write(self, data):
        return len(data)

block = b"".join(b'<http://a.org/%d> <http://p.org/p%d> "value %d" .\\n' % (i // 4, i % 11, i) for i in range(100000))

def convert(n):
    jelly.convert((block for _ in range(n)), Nowhere(), format="nt", threads=3, **SETTINGS)

# What is under way is the most that may be: nothing is taken before it must be. So it does not depend on who is fast.
early = Window.ready

def late(self):
    while len(self._waiting) > self._most:
        yield self._waiting.popleft().result()

Window.ready = late
convert(20)
Window.ready = early
"""


@pytest.mark.parametrize("settings", [{"seekable": True}, {"to": "nt"}, {}], ids=str)
@pytest.mark.bounded
def test_memory_does_not_grow_with_the_input(settings: dict[str, Any]) -> None:
    """Twice the statements take no more memory than the most that is under way, but for what the allocator wastes."""
    assert growth(SETUP.replace("SETTINGS", repr(settings)), "convert(40)") < 40 << 20


def test_only_a_few_parts_are_under_way() -> None:
    """The first part does not end: then no more are begun."""
    for threads in (2, 3):
        drawn: list[int] = []
        ended = Event()

        def numbers(drawn: list[int] = drawn) -> Iterator[int]:
            for number in range(100):
                drawn.append(number)
                yield number

        def work(number: int, ended: Event = ended) -> int:
            assert number or ended.wait(60)
            return number

        with Workers(threads) as workers:
            found = in_order(workers, numbers(), work)
            timer = Timer(0.5, ended.set)
            timer.start()
            assert next(found) == (0, 0)
            assert len(drawn) == threads + AHEAD + 1
            assert [number for number, _ in found] == list(range(1, 100))


def test_only_a_few_items_are_made_ahead() -> None:
    """Of each task, and of one task more than there are threads."""
    made = [0] * 10

    def task(number: int) -> Iterator[int]:
        for n in range(100):
            made[number] += 1
            yield n

    items = pipelined(iter([partial(task, number) for number in range(10)]), 2)
    for taken in range(1, 50):
        assert next(items) == taken - 1
        assert made[0] <= taken + DEPTH
    assert max(made[1:3]) <= DEPTH
    assert made[3:] == [0] * 7
    assert list(items) == [*range(49, 100), *[*range(100)] * 9]
