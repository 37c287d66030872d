"""The types that we tell are those there are: mypy, stubtest and pyright over the package and over all pages."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support.typed_pages import write_modules

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = Path(__file__).with_name("stubtest.txt")
OPTIONS = ["--allowlist", str(ALLOWED), "--ignore-unused-allowlist", "--mypy-config-file", "pyproject.toml"]

pytest.importorskip("mypy", reason="the types are checked by mypy")
# stubtest compares signatures as they are written, without the keywords that are shown to people.
STUBTEST = """
import sys
from jelly._options.settings import _Signed
from mypy.stubtest import main
del _Signed.__signature__
sys.exit(main())
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["mypy"],
        ["mypy", "--strict", "tests/house/uses.py"],
        ["stubtest", "jelly", *OPTIONS],
    ],
    ids=["package", "uses", "stubs"],
)
def test_types(arguments):
    start = ["-c", STUBTEST, *arguments[1:]] if arguments[0] == "stubtest" else ["-m", *arguments]
    done = subprocess.run([sys.executable, *start], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


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


def test_the_python_of_all_pages_passes_both_checkers(tmp_path):
    modules = write_modules(tmp_path)
    assert "page_README.py" in modules
    assert len(modules) > 25
    names = {**os.environ, "MYPYPATH": str(tmp_path / "types"), "PYTHONPATH": str(tmp_path / "types")}
    strictly = ["--strict", "--ignore-missing-imports", "--no-error-summary"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *strictly, *modules],
        cwd=tmp_path, env=names, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not done.stdout + done.stderr
    pyright = shutil.which("pyright", path=sysconfig.get_path("scripts"))
    if pyright is None:
        pytest.skip("pyright is not installed (pip install --group lint)")
    names["PATH"] = sysconfig.get_path("scripts") + os.pathsep + names["PATH"]
    done = subprocess.run(
        [pyright, "--pythonpath", sys.executable, "--outputjson", *modules],
        cwd=tmp_path, env=names, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] >= len(modules)
    errors = [(Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"])
              for one in found["generalDiagnostics"] if one["severity"] == "error"]  # fmt: skip
    assert [one for one in errors if UNKNOWN.get(one[0], "?") not in one[2]] == []


def test_pyright_refuses_misspelt_names(tmp_path):
    pyright = shutil.which("pyright", path=sysconfig.get_path("scripts"))
    if pyright is None:
        pytest.skip("pyright is not installed (pip install --group lint)")
    (tmp_path / "jelly").symlink_to(ROOT / "jelly", target_is_directory=True)
    right = ["import jelly", "for s, p, o in jelly.read('x'):", "    print(s, jelly.Triple(s, p, o))"]
    wrong = ["    print(s.vlaue)", "jelly.raed('x')", "jelly.read('x').clsoe()", "next(jelly.read('x')).subjcet"]
    (tmp_path / "uses.py").write_text("\n".join(right + wrong))
    environment = {**os.environ, "PATH": sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"]}
    done = subprocess.run(
        [pyright, "--pythonpath", sys.executable, "--outputjson", "uses.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = json.loads(done.stdout)["generalDiagnostics"]
    lines = {one["range"]["start"]["line"] for one in found if one["severity"] == "error"}
    assert lines == set(range(len(right), len(right + wrong))), found
