"""The types that we tell are those there are: mypy, stubtest and pyright over the package and over all pages."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support.typed_pages import write_modules

import jelly

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = Path(__file__).with_name("stubtest.txt")
USES = Path(__file__).with_name("uses.py")

pytest.importorskip("mypy", reason="the types are checked by mypy")
# One build of mypy for all: most of its time goes to what the package imports. stubtest compares signatures as they are
# written, without the keywords that are shown to people.
CHECK = """
import contextlib, io, json, sys
from types import SimpleNamespace
import mypy.build, mypy.main, mypy.stubtest
from jelly._options.settings import _Signed
allowed, *files = sys.argv[1:]
others, strict = mypy.main.process_options(["--strict", "--no-incremental", *files])
strict.pos_only_special_methods = False  # as stubtest has it
build, told, seen = mypy.build.build, [], []

def once(sources, options):
    found = build(sources + others, strict)
    told.extend(found.errors)
    seen.extend(found.files)
    return SimpleNamespace(files=found.files, errors=[])

mypy.build.build = once
del _Signed.__signature__
config = ["--mypy-config-file", "pyproject.toml", "--ignore-unused-allowlist"]
sys.argv[1:] = ["jelly", "--allowlist", allowed, *config]
with contextlib.redirect_stdout(io.StringIO()) as printed:
    failed = mypy.stubtest.main()
print(json.dumps({"types": told, "seen": seen, "stubs": printed.getvalue().splitlines() if failed else []}))
"""
# In the package each module without types is named in pyproject.toml; users have others.
WITHOUT_TYPES = ("[import-untyped]", "[import-not-found]")


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The Python of all pages."""
    folder = tmp_path_factory.mktemp("pages")
    return [folder / name for name in write_modules(folder)]


@pytest.fixture(scope="module")
def checked(modules: list[Path]) -> dict[str, list[str]]:
    """What mypy and stubtest say."""
    done = subprocess.run(
        [sys.executable, "-c", CHECK, str(ALLOWED), str(USES.relative_to(ROOT)), *map(str, modules)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert {"jelly.spark", "uses", *(path.stem for path in modules)} <= set(found["seen"]), found["stubs"]
    pages = [line for line in found["types"] if Path(line.partition(":")[0]).name.startswith("page_")]
    others = [line for line in found["types"] if line not in pages]
    uses = [line for line in others if line.startswith("tests/")]
    return {
        "package": [line for line in others if line not in uses], "uses": uses, "stubs": found["stubs"],
        "pages": [line for line in pages if not line.endswith(WITHOUT_TYPES) and ": note: " not in line],
    }  # fmt: skip


@pytest.mark.parametrize("what", ["package", "uses", "stubs"])
def test_types(checked: dict[str, list[str]], what: str) -> None:
    assert checked[what] == []


def test_each_difference_that_is_allowed_has_a_reason():
    for line in ALLOWED.read_text().splitlines():
        assert line.startswith("#") or len(line.partition(" # ")[2]) > 10, line


def test_pyright_knows_the_type_of_each_public_name(tmp_path):
    pyright = shutil.which("pyright", path=sysconfig.get_path("scripts"))
    if pyright is None:
        pytest.skip("pyright is not installed (pip install --group lint)")
    # pyright finds no editable package. Its own folder, or it would take this one for the package.
    (tmp_path / "types").mkdir()
    (tmp_path / "types" / "jelly").symlink_to(ROOT / "jelly", target_is_directory=True)
    environment = {**os.environ, "PATH": sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"]}
    environment["PYTHONPATH"] = str(tmp_path / "types")
    done = subprocess.run(
        [pyright, "--pythonpath", sys.executable, "--verifytypes", "jelly", "--ignoreexternal", "--outputjson"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = json.loads(done.stdout)["typeCompleteness"]
    unsure = [one["name"] for one in found["symbols"] if not one["isTypeKnown"] or one["isTypeAmbiguous"]]
    assert found["pyTypedPath"], done.stderr
    assert found["exportedSymbolCounts"]["withKnownType"] > 300
    assert not unsure
    assert found["completenessScore"] == 1


# By page, what a checker cannot know.
UNKNOWN = {"page_kafka.py": "JellySerializer"}  # once kafka is imported it is a serializer of kafka-python


RIGHT = ["import jelly", "for s, p, o in jelly.read('x'):", "    print(s, jelly.Triple(s, p, o))"]
WRONG = ["    print(s.vlaue)", "jelly.raed('x')", "jelly.read('x').clsoe()", "next(jelly.read('x')).subjcet"]


@pytest.fixture(scope="module")
def errors(modules: list[Path]) -> list[tuple[str, int, str]]:
    """What pyright says of the pages, and of a module with mistakes: file, line, message."""
    pyright = shutil.which("pyright", path=sysconfig.get_path("scripts"))
    if pyright is None:
        pytest.skip("pyright is not installed (pip install --group lint)")
    folder = modules[0].parent
    (folder / "wrong.py").write_text("\n".join(RIGHT + WRONG))
    (folder / "uses.py").write_text("# pyright: strict\n" + USES.read_text())
    environment = {**os.environ, "PYTHONPATH": str(folder / "types")}
    environment["PATH"] = sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"]
    done = subprocess.run(
        [pyright, "--pythonpath", sys.executable, "--outputjson", "wrong.py", "uses.py",
         *(path.name for path in modules)],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] >= 2 + len(modules)
    return [(Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"])
            for one in found["generalDiagnostics"] if one["severity"] == "error"]  # fmt: skip


def test_the_python_of_all_pages_passes_mypy(modules: list[Path], checked: dict[str, list[str]]) -> None:
    assert "page_README.py" in [path.name for path in modules]
    assert len(modules) > 25
    assert checked["pages"] == []


def test_the_python_of_all_pages_passes_pyright(errors: list[tuple[str, int, str]]) -> None:
    known = ("wrong.py", "uses.py")
    assert [one for one in errors if one[0] not in known and UNKNOWN.get(one[0], "?") not in one[2]] == []


def test_a_program_with_every_public_module_passes_pyright(errors: list[tuple[str, int, str]]) -> None:
    assert [one for one in errors if one[0] == "uses.py"] == []
    used = set(re.findall(r"^import (jelly[\w.]*)", USES.read_text(), re.M))
    assert used == {"jelly", "jelly.errors", *(f"jelly.{name}" for name in jelly._MODULES)}


def test_pyright_refuses_misspelt_names(errors: list[tuple[str, int, str]]) -> None:
    lines = {line for name, line, _ in errors if name == "wrong.py"}
    assert lines == set(range(len(RIGHT) + 1, len(RIGHT + WRONG) + 1)), errors
