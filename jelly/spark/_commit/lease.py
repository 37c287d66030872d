"""A lock on a store, for one ingest at a time. Independent of Spark.

In a local directory it is a lock of the system on a file, which ends with the process. In an object store it is a small
object that only one process can create, where the store has conditional writes: S3 and most others of fsspec. Its
holder writes it again and again. If it has not changed for a minute by the clock of the store, its holder is dead, and
the next takes it.
"""

from __future__ import annotations

import os
import time
from threading import Event, Thread
from types import TracebackType
from typing import Any
from uuid import uuid4

from jelly._bytes.part_file import lock
from jelly.errors import JellyError
from jelly.spark._commit import swap
from jelly.spark._commit.staging import Store
from jelly.spark._commit.store import LocalStore

__all__ = ["LOCK", "PROBE", "Lease"]

LOCK = "_ingest.lock"
PROBE = "_ingest.probe"


class Lease:
    """Holds the lock of a store until ``release``. JellyError if another process holds it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._file: Any = None
        self._me = uuid4().hex
        self._beats = 0
        self._is_lost = False
        self._end = Event()
        self._thread = Thread(target=self._live, daemon=True)
        if isinstance(store, LocalStore):
            self._file = open(os.path.join(store.path, LOCK), "a+b")  # noqa: SIM115 - closed by `release`
            if not lock(self._file):
                self._file.close()
                raise self._busy()
        else:
            self._take()
            self._thread.start()

    def _busy(self) -> JellyError:
        return JellyError("another ingest is writing into the directory", source=self._store.url)

    def _sign(self) -> bytes:
        self._beats += 1
        return f"{self._me} {self._beats}\n".encode()

    def _take(self) -> None:
        """Create the object. Wait for one that is there, until it changes or is too old."""
        first = None
        while not self._store.create(LOCK, self._sign()):
            now = self._store.read(LOCK)
            if now is None:
                continue
            if first is not None and now != first:
                raise self._busy()
            first = now
            self._store.write(PROBE, b"")
            files = self._store.files()
            if LOCK in files and files[PROBE][1] - files[LOCK][1] > swap.LEASE:
                self._store.delete([LOCK])
            else:
                time.sleep(swap.LEASE / 20)
        self._store.delete([PROBE])

    def _live(self) -> None:
        while not self._end.wait(swap.LEASE / 6):
            try:
                if not self._is_mine():
                    self._is_lost = True
                    return
                self._store.write(LOCK, self._sign())
            except OSError:
                pass  # the next beat may come through

    def _is_mine(self) -> bool:
        found = self._store.read(LOCK)
        return found is not None and found.startswith(self._me.encode())

    def check(self) -> None:
        """JellyError if another process has taken the lock because this one gave no sign of life for long."""
        if self._file is None and (self._is_lost or not self._is_mine()):
            raise JellyError("another ingest has taken over: this one gave no sign for too long",
                             source=self._store.url)  # fmt: skip

    def release(self) -> None:
        """Let others have it."""
        if self._file is not None:
            self._file.close()
            return
        self._end.set()
        self._thread.join()
        if not self._is_lost and self._is_mine():
            self._store.delete([LOCK])

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
