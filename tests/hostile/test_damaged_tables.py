"""Damaged Arrow files never end the process; see `damage`. JELLY_LONG=1 tries 10,000 of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.measure import run

pytest.importorskip("pyarrow")

FILES = 10_000 if os.environ.get("JELLY_LONG") else 300
SCRIPT = Path(__file__).with_name("damage.py")


def test_damaged_arrow_files(tmp_path: Path) -> None:
    done = run("-X", "faulthandler", str(SCRIPT), "0", str(FILES), str(tmp_path))
    assert done.returncode == 0, f"file {(tmp_path / 'number').read_text()}: {done.stderr[-3000:]}"
    _, refused = map(int, done.stdout.split())
    assert refused > FILES
