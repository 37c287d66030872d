"""Paths that are bytes, members of archives, views with gaps, and files that take no bytes."""

from __future__ import annotations

import asyncio
import codecs
import io
import os
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jelly

TEXT = b"<a:s> <a:p> <a:o> .\n"


class BytesPath:
    """A path as `os.scandir` gives it for a directory whose name is bytes."""

    def __init__(self, path: Path) -> None:
        self._path = os.fsencode(path)

    def __fspath__(self) -> bytes:
        return self._path


def test_paths_of_bytes(tmp_path: Path) -> None:
    source, out = BytesPath(tmp_path / "x.nt"), BytesPath(tmp_path / "x.jelly")
    (tmp_path / "x.nt").write_bytes(TEXT)
    assert jelly.convert(source, out).statements == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.jelly", "x.nt"]
    assert jelly.append(source, out) == 1
    for path in (source, out):
        assert len(list(jelly.read(path))) == jelly.count(path) == jelly.scan(path).count()
        assert jelly.validate(path) == []
    with jelly.open(out) as file:
        assert len(file) == 2
    assert [len(list(jelly.read(entry))) for entry in os.scandir(os.fsencode(tmp_path)) if entry.name == b"x.nt"] == [1]


def test_members_of_archives_and_views() -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as made:
        about = tarfile.TarInfo("x.nt")
        about.size = len(TEXT)
        made.addfile(about, io.BytesIO(TEXT))
    archive.seek(0)
    with tarfile.open(fileobj=archive) as opened:
        assert len(list(jelly.read(opened.extractfile("x.nt"), format="nt"))) == 1
    with_gaps = memoryview(bytes(byte for pair in zip(TEXT, TEXT, strict=True) for byte in pair))[::2]
    assert len(list(jelly.read(with_gaps, format="nt"))) == 1


TEXTS: dict[str, Callable[[Path], Any]] = {
    "StringIO": lambda _: io.StringIO(),
    "open": lambda path: open(path, "w"),  # noqa: SIM115
    "tempfile": lambda _: tempfile.NamedTemporaryFile("w"),  # noqa: SIM115
    "spooled": lambda _: tempfile.SpooledTemporaryFile(10, "w"),  # noqa: SIM115
    "codecs": lambda path: codecs.open(path, "w", "utf-8"),  # noqa: SIM115
}


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.filterwarnings("ignore:codecs.open")
def test_files_of_text_are_told(tmp_path: Path, kind: str) -> None:
    with TEXTS[kind](tmp_path / "x") as file, pytest.raises(jelly.JellyArgumentError, match="binary mode"):
        jelly.write(file, jelly.read(TEXT, format="nt"), format="nt")


def test_a_file_that_is_only_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    with open(tmp_path / "x", "rb") as file, pytest.raises(io.UnsupportedOperation, match="write"):
        jelly.write(file, jelly.read(TEXT, format="nt"), format="nt")


def test_a_dataset_is_read_again_from_its_start_or_not_at_all(tmp_path: Path) -> None:
    """The second reading of a source at its end found no statements, and said nothing."""
    (tmp_path / "x.nt").write_bytes(TEXT)
    memory = io.BytesIO(b"before" + TEXT)
    memory.seek(6)
    with open(tmp_path / "x.nt", "rb") as file:
        for source in (memory, file):
            found = jelly.scan(source, format="nt")
            assert [found.count(), len(list(found)), found.sort().count(), len(found.to_ids().p)] == [1, 1, 1, 1]
    reading, writing = os.pipe()
    os.write(writing, TEXT)
    os.close(writing)
    with open(reading, "rb") as pipe:
        for source in (pipe, iter([TEXT]), (chunk for chunk in [TEXT])):
            found = jelly.scan(source, format="nt")
            assert found.count() == 1
            for again in (found.count, lambda: list(found), lambda: found.write(tmp_path / "y.nt")):  # noqa: B023
                with pytest.raises(jelly.JellyArgumentError, match="read before, and cannot be read again"):
                    again()
    assert not (tmp_path / "y.nt").exists()


def test_an_asynchronous_source_is_read_once_too() -> None:
    """Chunks that come to an end for good, an object with a coroutine ``read``, and chunks that begin anew."""

    async def chunks():
        yield TEXT

    class Stream:
        def __init__(self) -> None:
            self.left = TEXT

        async def read(self, n: int) -> bytes:
            self.left, made = b"", self.left
            return made

    class Again:
        def __aiter__(self):
            return chunks()

    async def counts(source, times: int) -> list[int]:
        found = jelly.scan(source, format="nt")
        made = []
        for _ in range(times):
            made.append(len([statement async for statement in found]))
        return made

    assert asyncio.run(counts(Again(), 3)) == [1, 1, 1]
    for make in (chunks, Stream):
        assert asyncio.run(counts(make(), 1)) == [1]
        with pytest.raises(jelly.JellyArgumentError, match="read before, and cannot be read again"):
            asyncio.run(counts(make(), 2))
