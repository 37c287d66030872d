"""What a change makes the build do: the modules that depend on the changed file are compiled, and no others."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("Cython")
if not (ROOT / "setup.py").is_file():
    pytest.skip("the sources are not there", allow_module_level=True)
posix = pytest.mark.skipif(os.name != "posix", reason="names a script as the C compiler")

SOURCES = {
    "base/low.pxd": "cdef int low(int x) noexcept nogil\n",
    "base/low.pyx": '"""Low."""\n\ncdef int low(int x) noexcept nogil:\n    return x\n',
    "base/middle.pxd": "from jelly._core.base.low cimport low\n\ncdef int middle(int x) noexcept nogil\n",
    "base/middle.pyx": '"""Middle."""\n\ncdef int middle(int x) noexcept nogil:\n    return low(x)\n',
    "high/top.pyx": '"""Top."""\nfrom jelly._core.base cimport middle\n\ndef top():\n    return middle.middle(1)\n',
    "high/alone.pyx": '"""Alone."""\n\ndef alone():\n    return 1\n',
}
# A C compiler that notes what it compiles. Nothing runs what it makes, so that is empty.
COMPILER = """#!/bin/sh
for word; do case $word in *.c) echo "$word" >> "$COMPILED";; esac; done
while [ $# -gt 0 ]; do if [ "$1" = -o ]; then : > "$2"; fi; shift; done
"""


class Tree:
    """A small package that is built with our setup.py."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.core = folder / "jelly" / "_core"
        shutil.copy(ROOT / "setup.py", folder)
        (folder / "pyproject.toml").write_text(
            '[project]\nname = "jelly-rdf"\nversion = "0"\n[tool.setuptools]\npackages = []\n'
        )
        for name, text in SOURCES.items():
            path = self.core / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            for package in (path.parent, self.core, self.core.parent):
                (package / "__init__.py").touch()
                (package / "__init__.pxd").touch()
        self.compiler = folder / "compiler"
        self.compiler.write_text(COMPILER)
        self.compiler.chmod(0o755)

    def build(self) -> list[str]:
        """Build, and say which modules were compiled."""
        log = self.folder / "compiled"
        log.unlink(missing_ok=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("JELLY_", "CYTHON_"))}
        environment |= {"COMPILED": str(log), "CC": str(self.compiler)}
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return sorted(Path(line).stem for line in log.read_text().splitlines()) if log.exists() else []

    def change(self, name: str) -> None:
        """Add a line, at a time after the last build whatever the clock of the file system counts in."""
        path = self.core / name
        path.write_text(path.read_text() + "\n")
        newest = max(file.stat().st_mtime for file in self.folder.rglob("*") if file.is_file())
        os.utime(path, (newest + 1, newest + 1))

    def age(self) -> None:
        """All files are an hour older, in the same order."""
        for file in self.folder.rglob("*"):
            if file.is_file():
                was = file.stat().st_mtime
                os.utime(file, (was - 3600, was - 3600))


@posix
def test_what_a_change_compiles(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    everything = ["alone", "cython_shared", "low", "middle", "top"]
    assert tree.build() == everything
    tree.age()
    assert tree.build() == [], "nothing changed"
    tree.change("base/middle.pyx")
    (tree.core / "high" / "alone.pxd").write_text("")  # a .pxd of its own that was not there
    assert tree.build() == ["alone", "middle"]
    tree.age()
    tree.change("base/low.pxd")  # middle.pxd cimports it, and top cimports that
    tree.age()
    assert tree.build() == ["low", "middle", "top"]
    tree.age()
    made = {path: path.stat().st_mtime_ns for path in tree.core.rglob("*.c")}
    os.utime(tmp_path / "setup.py")  # it has the directives of Cython
    assert tree.build() == everything
    assert len(made) == 5
    assert not [path for path, before in made.items() if path.stat().st_mtime_ns == before]


def test_dependencies_are_those_that_cython_finds() -> None:
    # What setup.py finds by itself, beside what Cython finds, which misses "from jelly._core.base cimport schema".
    code = """
import json, runpy, setuptools
setuptools.setup = lambda **keywords: None
read_for = runpy.run_path("setup.py")["read_for"]
from glob import glob
from Cython.Build.Dependencies import create_dependency_tree
tree = create_dependency_tree()
paths = sorted(glob("jelly/_core/*/*.pyx"))
print(json.dumps([[path, sorted(read_for(path)), sorted(tree.all_dependencies(path))] for path in paths]))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert len(found) > 60
    for path, ours, theirs in found:
        # Cython names its own files too, and those of packages, which are empty.
        read = {file for file in theirs if file.startswith("jelly/") and not file.endswith("__init__.pxd")}
        assert set(ours) - read <= {"jelly/_core/base/schema.pxd"}, path
        assert read <= set(ours), path


@pytest.mark.skipif(sys.platform == "win32", reason="flags of gcc and clang")
@pytest.mark.parametrize(
    ("switch", "levels", "base"), [("", {"-O3"}, "build/release"), ("1", {"-O0", "-O1"}, "build/quick")]
)
def test_a_quick_build_is_one_of_its_own(
    switch: str, levels: set[str], base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a build for speed would take over modules that were compiled for the demo."""
    given: dict[str, Any] = {}
    monkeypatch.setenv("JELLY_QUICK", switch)
    monkeypatch.setattr("setuptools.setup", lambda **settings: given.update(settings))
    monkeypatch.chdir(ROOT)
    made = runpy.run_path("setup.py")
    shown = [f"jelly/_core/{package}/{name}" for package, names in made["SHOWN"].items() for name in names]
    assert all(Path(f"{path}.pyx").exists() or f"{path}.c" == made["SHARED"] for path in shown)
    # The last one holds.
    found = {[arg for arg in module.extra_compile_args if arg[:2] == "-O"][-1] for module in given["ext_modules"]}
    assert found == levels
    assert given["options"]["build"] == {"build_base": base, "force": bool(switch)}
