"""Runs the same work in many threads at the same time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

IN_USE = "in use by another thread"


@contextmanager
def switching_often() -> Iterator[None]:
    """With the GIL, threads take turns much more often than by default."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def together(work: Callable[[int], Any], threads: int = 4) -> list[Any]:
    """What ``work(number)`` returns or raises in each of some threads, which begin at the same time."""
    found: list[Any] = [None] * threads
    start = threading.Barrier(threads)

    def run(number: int) -> None:
        start.wait(240)
        try:
            found[number] = work(number)
        except Exception as error:
            found[number] = error

    with switching_often():
        running = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join(240)
    assert not any(thread.is_alive() for thread in running)
    return found


def results(work: Callable[[int], Any], threads: int = 4) -> list[Any]:
    """What ``work(number)`` returns in each of some threads; none may raise."""
    found = together(work, threads)
    for one in found:
        if isinstance(one, Exception):
            raise one
    return found
