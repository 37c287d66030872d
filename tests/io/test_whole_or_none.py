"""Several files get their names together: on an error there is none, and what a dead writer left is removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import steps

import jelly
from jelly._bytes.part_file import PartFolder

LINES = b"".join(b"<a:s> <a:p> <a:o%d> .\n" % i for i in range(50))
SPLIT = "import jelly, sys; jelly.scan(sys.stdin.buffer, format='nt', batch_rows=5).split('part-{}.nt', rows=10)"
IDS = "import jelly, sys; jelly.convert(sys.stdin.buffer, '.', format='nt', layout='ids')"


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_no_part_of_a_split_that_failed(tmp_path: Path) -> None:
    (tmp_path / "part-00000.nt").write_bytes(b"old")
    with pytest.raises(jelly.JellySyntaxError):
        steps.split(LINES + b"<a:s> <a:p>\n", tmp_path / "part-{}.nt", rows=10, format="nt", batch_rows=5)
    assert names(tmp_path) == ["part-00000.nt"]
    assert (tmp_path / "part-00000.nt").read_bytes() == b"old"
    made = steps.split(LINES, tmp_path / "part-{}.nt", rows=10, format="nt")
    assert names(tmp_path) == [os.path.basename(part.path) for part in made]
    assert b"".join(Path(part.path).read_bytes() for part in made) == LINES


def test_a_folder_in_the_place_of_a_part(tmp_path: Path) -> None:
    (tmp_path / "part-00003.nt").mkdir()
    with pytest.raises(IsADirectoryError):
        steps.split(LINES, tmp_path / "part-{}.nt", rows=10, format="nt")
    assert names(tmp_path) == ["part-00003.nt"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_and_modes_stay(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "x"
    target.write_bytes(b"old")
    target.chmod(0o600)
    (tmp_path / "part-00000.nt").symlink_to(target)
    steps.split(LINES, tmp_path / "part-{}.nt", rows=50, format="nt")
    assert (tmp_path / "part-00000.nt").is_symlink()
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (LINES, 0o600)


def test_errors_have_the_names_that_the_files_were_to_get(tmp_path: Path) -> None:
    star = b"<a:s> <a:p> << <a:s> <a:p> <a:o> >> .\n"
    with pytest.raises(jelly.JellyError) as caught:
        steps.split(
            star, tmp_path / "part-{}.jelly", rows=1, format="nt",
            options=jelly.StreamOptions(physical_type=jelly.PhysicalType.TRIPLES),
        )  # fmt: skip
    assert caught.value.source == str(tmp_path / "part-00000.jelly")


@pytest.mark.skipif(os.name == "nt", reason="nobody is killed so there, and nothing is removed")
@pytest.mark.parametrize("program", [SPLIT, IDS])
def test_what_a_dead_writer_left_is_removed(program: str, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        child.stdin.write(LINES)
        child.stdin.flush()
        until = time.monotonic() + 60
        while not any(name.startswith(".jelly-") for name in names(tmp_path)) and time.monotonic() < until:
            time.sleep(0.01)
        while not any((tmp_path / name / ".lock").exists() for name in names(tmp_path)) and time.monotonic() < until:
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
    [left] = names(tmp_path)
    assert left.startswith(".jelly-")
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, input=LINES, check=True)
    assert left not in names(tmp_path)
    assert not any(name.startswith(".") for name in names(tmp_path))


def test_the_folder_of_a_living_writer_stays(tmp_path: Path) -> None:
    (tmp_path / ".jelly-another").mkdir()  # not of a writer: it has no lock
    with PartFolder(str(tmp_path)) as one, PartFolder(str(tmp_path)) as other:
        assert names(tmp_path) == sorted([".jelly-another", *map(os.path.basename, (one.path, other.path))])
    assert names(tmp_path) == [".jelly-another"]
