"""The types that we tell are those there are: mypy over the package and uses of it, stubtest over the stubs."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STUBS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / "jelly" / "_core").rglob("*.pyi")
)

pytest.importorskip("mypy", reason="the types are checked by mypy")


@pytest.mark.parametrize(
    "arguments",
    [
        ["mypy"],
        ["mypy", "--strict", "tests/house/uses.py"],
        ["mypy.stubtest", "--ignore-missing-stub", "--mypy-config-file", "pyproject.toml", *STUBS],
    ],
    ids=["package", "uses", "stubs"],
)
def test_types(arguments):
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
