"""How much memory a piece of Python takes in a process of its own, and how much time work takes beside other work."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")

_HEAD = "import sys, jelly\nfrom support.measure import peak"


def peak() -> int:
    """The most memory that this process has had resident, in bytes.

    On Linux ru_maxrss also counts what the process was before exec: that is pytest with all that its tests took.
    """
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    resource = pytest.importorskip("resource")
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))


def forget_peak() -> None:
    """Let `peak` begin anew with what is resident now, on Linux."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def run(*args: str, timeout: float = 840) -> subprocess.CompletedProcess[str]:
    """This Python with some arguments, as the tests run; what it prints is kept."""
    paths = [str(Path(__file__).resolve().parent.parent), *sys.path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    # Not in the root of the project: there `-c` would find the normal build before the sanitized one.
    folder = Path(__file__).resolve().parent.parent
    return subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, timeout=timeout, env=environment, cwd=folder
    )


def growth(setup: str, work: str) -> int:
    """Bytes by which `work` raises the peak of resident memory above that of `setup`. 0 under the sanitizers."""
    done = run("-c", f"{_HEAD}\n{setup}\nbefore = peak()\n{work}\nprint(peak() - before)\n")
    assert done.returncode == 0, done.stderr[-3000:]
    return 0 if SANITIZED else int(done.stdout.split()[-1])


# What the loop of `_spent_by_a_loop` takes where nothing else runs.
_LOOP = 0.025


def _spent_by_a_loop() -> float:
    began = time.process_time()
    found: dict[int, str] = {}
    for i in range(250_000):
        found[i & 1023] = str(i)
    return time.process_time() - began


def within(limit: float, work: Callable[[], Any], what: str = "it") -> Any:
    """The result of `work`, which takes less than `limit` seconds of processor time.

    Other work fills the caches, and other machines are slower. So what takes longer is tried again, up to three times,
    beside a loop that they slow down as well: the seconds are those of a machine where the loop takes what it should.
    """
    tried = []
    for _ in range(3):
        began = time.process_time()
        result = work()
        tried.append(spent := time.process_time() - began)
        if spent < limit or spent < limit * _spent_by_a_loop() / _LOOP:
            return result
    raise AssertionError(f"{what} took {min(tried):.2f} s of processor time: expected less than {limit}")
