"""The types that we tell are those there are: mypy over the package and uses of it, stubtest, pyright (make types)."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = Path(__file__).with_name("stubtest.txt")
OPTIONS = ["--allowlist", str(ALLOWED), "--ignore-unused-allowlist", "--mypy-config-file", "pyproject.toml"]

pytest.importorskip("mypy", reason="the types are checked by mypy")


@pytest.mark.parametrize(
    "arguments",
    [
        ["mypy"],
        ["mypy", "--strict", "tests/house/uses.py"],
        ["mypy.stubtest", "jelly", *OPTIONS],
    ],
    ids=["package", "uses", "stubs"],
)
def test_types(arguments):
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
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
