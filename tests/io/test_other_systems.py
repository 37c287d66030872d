"""What differs on Windows and on other processors, as far as it can be shown here."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from jelly._bytes.part_file import lock


@pytest.mark.parametrize("number", [errno.EACCES, errno.EDEADLK])
def test_a_lock_of_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """msvcrt locks bytes from the place in the file on; nobody can read them then."""
    locked: dict[tuple[int, int], int] = {}

    def locking(handle: int, mode: int, n: int) -> None:
        key = os.fstat(handle).st_ino, os.lseek(handle, 0, os.SEEK_CUR)
        assert (mode, n) == (2, 1)
        assert key[1] >= 0x7FFFFFFE
        if locked.setdefault(key, handle) != handle:
            raise OSError(number, os.strerror(number))

    monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(locking=locking, LK_NBLCK=2))  # type: ignore[arg-type]
    path = tmp_path / "journal"
    path.write_text("one\ntwo\n")
    with open(path, "r+") as file, open(path, "r+") as second, open(tmp_path / "other", "w") as other:
        assert file.readline() == "one\n"
        place = os.lseek(file.fileno(), 0, os.SEEK_CUR)
        assert lock(file)
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == place
        assert not lock(second)
        assert lock(other)
    assert path.stat().st_size == 8


def test_a_file_system_of_windows_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def locking(handle: int, mode: int, n: int) -> None:
        raise OSError(errno.EINVAL, "invalid")

    monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(locking=locking, LK_NBLCK=2))  # type: ignore[arg-type]
    with open(tmp_path / "journal", "w") as file:
        assert lock(file)


def test_a_big_endian_processor() -> None:
    code = "import numpy, sys; sys.byteorder = 'big'; import jelly"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: jelly runs on little-endian processors only, and this one is big-endian"
    )


def test_a_processor_of_32_bits() -> None:
    code = "import numpy, sys; sys.maxsize = 2**31 - 1; import jelly"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: jelly runs on 64-bit processors and Pythons only, and this one has 32 bits"
    )


def test_addresses_of_files_with_a_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    from jelly.spark._parts.files import local_path

    monkeypatch.setattr(os, "name", "nt")
    found = [local_path(f"file:///{name}") for name in ("C:/data/x.jelly", "server/x.jelly")]
    monkeypatch.undo()
    assert found == ["C:/data/x.jelly", "/server/x.jelly"]
    assert local_path("file:///C:/data") == "/C:/data"
