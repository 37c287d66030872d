"""What writers make of real data and vectors does not change by a byte, see bench/digests.py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.chance import LONG
from support.shared import shared

BENCH = Path(__file__).resolve().parents[2] / "bench"
CHECK = """
import json, sys
from pathlib import Path
import digests
print(json.dumps({path: digests.digests(digests.SHARED / path) for path in json.load(sys.stdin)}))
"""


def test_writers_write_the_same_bytes() -> None:
    # Another process: what tests before this one have registered or warned of is not there. Other versions of
    # pyoxigraph may number the blank nodes of Turtle otherwise.
    pytest.importorskip("pyoxigraph")
    shared("data")
    kept = json.loads((Path(__file__).parent / "digests.json").read_text())
    names = sorted(kept)[:: 1 if LONG else 24]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHECK],
        input=json.dumps(names),
        cwd=BENCH,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) > 40
    assert {name: (kept[name], x) for name, x in found.items() if x != kept[name]} == {}
