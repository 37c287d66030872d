"""What `make test` tells at its end: each part runs, also after one that fails, and all failures are there."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "support" / "parts.py"
FAILS = (
    "echo '= short test summary info ='; echo 'FAILED tests/a.py::b - assert 0'; echo 'ERROR tests/c.py - no';"
    "echo '== 1 failed, 3 passed, 2 warnings, 1 error in 1.20s (0:00:01) =='; exit 1"
)
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="make is not there")


@pytest.fixture
def parts(tmp_path):
    (tmp_path / "fails").write_text(FAILS)

    def run(*lanes):
        command = [sys.executable, SCRIPT, *lanes]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    return run


def test_all_failures_are_told(parts):
    status, lines = parts("sh fails; echo FAILED is no test; echo '5 passed in 3.00s'", "echo so; exit 3; true", "true")
    assert status == 1
    start = lines.index("parts of the tests:")
    told = [line.split(", 0 s")[0].strip() for line in lines[start + 1 :]]
    assert told[:-1] == [
        "FAILED sh fails (1 failed, 3 passed, 2 warnings, 1 error",
        "passed echo FAILED is no test (no tests",
        "passed echo '5 passed in 3.00s' (5 passed",
        "passed echo so (no tests",
        "FAILED exit 3 (1 error",
        "passed true (no tests",
        "passed true (no tests",
        "",
        "all failures:",
        "FAILED tests/a.py::b - assert 0",
        "ERROR tests/c.py - no",
        "ERROR exit 3 - status 3",
    ]
    assert told[-1].startswith("===== 1 failed, 8 passed, 2 warnings, 2 errors in ")
    # What each printed, one after the other.
    assert [line for line in lines[:start] if line.startswith(">>>")][0] == ">>> sh fails"
    assert lines.index("so") == lines.index(">>> echo so") + 1


def test_all_is_well(parts):
    status, lines = parts("echo '== 5 passed, 1 skipped in 3.00s =='", "echo '2 passed in 0.10s'")
    assert status == 0
    assert "all failures:" not in lines
    assert lines[-1].startswith("===== 7 passed, 1 skipped in ")


def test_what_dies_is_a_failure(parts):
    """Without a word of pytest, or after a run that went well."""
    status, lines = parts("echo '2 passed in 0.10s' && echo last && kill -9 $$")
    assert status == 1
    assert "ERROR echo '2 passed in 0.10s' && echo last && kill -9 $$ - last" in lines
    assert lines[-1].startswith("===== 2 passed, 1 error in ")
