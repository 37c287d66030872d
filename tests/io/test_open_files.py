"""Files of Windows, which nobody can rename, replace or remove while they are open: shown with what Linux knows."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import jelly
from jelly._bytes import part_file
from jelly._dataset.seekable.sidecar import make_sidecar

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc which files are open")
LINES = b"".join(b"<a:s> <a:p%d> <a:o> .\n" % n for n in range(100))


def opened() -> set[str]:
    """The files that this process has open."""
    found = set()
    for entry in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{entry}"))
        except OSError:
            continue
    return found


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """No flock, and open files stay. ``waited`` has the times of waiting, ``meanwhile`` is called then."""
    seen = SimpleNamespace(refused=0, waited=[], meanwhile=lambda: None)

    def strict(change: Callable[..., Any]) -> Callable[..., Any]:
        def attempt(*paths: Any, **keywords: Any) -> Any:
            if {os.path.realpath(path) for path in paths} & opened():
                seen.refused += 1
                raise PermissionError(13, "Access is denied", str(paths[0]), None, *map(str, paths[1:]))
            return change(*paths, **keywords)

        return attempt

    def sleep(seconds: float) -> None:
        seen.waited.append(seconds)
        seen.meanwhile()

    for name in ("replace", "rename", "unlink", "remove"):
        monkeypatch.setattr(os, name, strict(getattr(os, name)))
    monkeypatch.setattr(part_file, "hold", lambda file: None)
    monkeypatch.setattr(part_file, "_OPEN_FILES_STAY", True)
    monkeypatch.setattr(part_file, "time", SimpleNamespace(sleep=sleep))
    return seen


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_are_closed_before_they_are_renamed(windows: SimpleNamespace, tmp_path: Path) -> None:
    text, file = tmp_path / "x.nt", tmp_path / "x.jelly"
    text.write_bytes(LINES)
    for _ in range(2):  # a new file, and one that is replaced
        jelly.convert(text, file)
        jelly.convert(file, text)
    jelly.write(file, jelly.read(text))
    jelly.convert(text, text)  # onto itself
    assert text.read_bytes() == LINES
    make_sidecar(file)
    with jelly.open(file) as found:
        make_sidecar(file)  # while a reader has the file open
        assert len(found) == 100
    with pytest.raises(jelly.JellyError):
        jelly.convert(b"<a:s> <a:p> .\n", file, format="nt")
    assert names(tmp_path) == ["x.jelly", "x.jelly.idx", "x.nt"]
    assert windows.refused == 0


def test_a_reader_that_closes_in_a_moment(windows: SimpleNamespace, tmp_path: Path) -> None:
    file = tmp_path / "x.nt"
    file.write_bytes(b"")
    reader = open(file, "rb")  # noqa: SIM115 - closed below
    windows.meanwhile = lambda: len(windows.waited) == 3 and reader.close()
    jelly.convert(LINES, file, format="nt")
    assert file.read_bytes() == LINES
    assert (windows.refused, len(windows.waited)) == (3, 3)


def test_a_reader_that_stays(windows: SimpleNamespace, tmp_path: Path) -> None:
    file = tmp_path / "x.nt"
    file.write_bytes(b"")
    with open(file, "rb"), pytest.raises(PermissionError) as caught:
        jelly.convert(LINES, file, format="nt")
    assert caught.value.filename == str(file)
    assert 1 < sum(windows.waited) < 5
    assert names(tmp_path) == ["x.nt"], "the part file is removed"
    assert file.read_bytes() == b""


def test_elsewhere_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def change(path: str) -> None:
        calls.append(path)
        raise PermissionError(path)

    monkeypatch.setattr(part_file, "_OPEN_FILES_STAY", False)
    with pytest.raises(PermissionError):
        part_file.patiently(change, "x")
    assert calls == ["x"]


def test_the_files_of_a_broker(windows: SimpleNamespace, tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    import jelly.grpc as jg

    statements = [jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal(f"{n:0500}")) for n in range(50)]
    options = jelly.StreamOptions(physical_type=1, logical_type=1)
    batch = next(iter(jelly.scan(jelly.dumps(statements)).batches()))
    with jg.Topics(tmp_path, keep_bytes=8_000, topics_per_owner=5) as topics:
        topic = topics.get("t", create=True, owner="me")
        topic.offer(options)
        for _ in range(8):
            topic.append(batch)
        topic.sync()
        assert topic.first > 0, "files were dropped"
        topics.get("u", create=True, owner="me")
        topics.delete("t")
    with jg.Topics(tmp_path) as topics:
        assert topics.names() == []
    assert windows.refused == 0


def test_the_files_of_a_store(windows: SimpleNamespace, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from jelly.spark._store import Store

    store = Store(str(tmp_path))
    store.write("journal", b"1")
    reader = open(tmp_path / "journal", "rb")  # noqa: SIM115 - closed below
    windows.meanwhile = reader.close
    store.write("journal", b"2\n")
    assert (store.read("journal"), windows.refused) == (b"2\n", 1), "as it is, without line ends of Windows"
    reader = open(tmp_path / "journal", "rb")  # noqa: SIM115 - closed below
    windows.meanwhile = reader.close
    store.delete(["journal"])
    assert (store.files(), windows.refused) == ({}, 2)


def test_a_disk_with_a_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """macOS: fsync leaves data in the cache of the disk, F_FULLFSYNC does not."""
    import fcntl

    calls: list[Any] = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda *given: calls.append(given))
    monkeypatch.setattr(os, "fsync", lambda handle: calls.append(handle))
    part_file.to_disk(7)
    assert calls == [(7, 51)]

    def refuse(*given: Any) -> None:
        raise OSError(25, "not supported")

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    part_file.to_disk(7)
    assert calls == [(7, 51), 7]


@pytest.mark.bounded
def test_threads_that_replace_one_file(windows: SimpleNamespace, tmp_path: Path) -> None:
    file = tmp_path / "x.nt"
    windows.meanwhile = lambda: time.sleep(windows.waited[-1] + 0.05)  # time for the others to close their files
    threads = [
        threading.Thread(target=jelly.convert, args=(LINES, file), kwargs={"format": "nt"}) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert file.read_bytes() == LINES
    assert names(tmp_path) == ["x.nt"]
