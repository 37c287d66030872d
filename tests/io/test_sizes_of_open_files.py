"""What a path reads, an open file of it reads: limits follow its size."""

from __future__ import annotations

import gzip
import io
import tempfile
from pathlib import Path

import pytest

import jelly
from jelly._bytes.names import left_in
from jelly._bytes.source import Source
from jelly._options import settings


@pytest.fixture
def long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a line longer than the default limit, which is made small."""
    monkeypatch.setitem(settings.LIMITS, "max_line_bytes", 1 << 10)
    path = tmp_path / "long.nt"
    path.write_bytes(b'<a:s> <a:p> "' + b"x" * 70_000_000 + b'" .\n')
    return path


def test_a_line_as_long_as_the_file(long: Path) -> None:
    def length(src: object) -> int:
        [statement] = jelly.read(src, format="nt")
        return len(statement.o.value)  # type: ignore[union-attr]

    n = length(long)
    with open(long, "rb") as file:
        assert length(file) == n
    with open(long, "rb", buffering=0) as raw:
        assert length(raw) == n
    data = long.read_bytes()
    assert length(io.BytesIO(data)) == n
    with pytest.raises(jelly.JellyLimitError, match="max_line_bytes"):  # nobody knows how long it is
        length(iter([data]))


def test_what_is_left_behind_the_place(tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    path.write_bytes(b"<a:s> <a:p> <a:o> .\n" * 5)
    with open(path, "rb") as file:
        file.seek(40)
        assert left_in(file) == 60
        assert Source(file).size == 60
        assert len(list(jelly.read(file, format="nt"))) == 3
    data = io.BytesIO(gzip.compress(b"x"))
    with open(path, "rb") as file, gzip.open(data) as packed, tempfile.TemporaryFile() as some:
        file.seek(1000)
        assert (left_in(file), left_in(packed), left_in(some), left_in(object()), left_in(iter([]))) == (
            0, None, 0, None, None,
        )  # fmt: skip
