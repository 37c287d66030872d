"""Figures for the page of speed, which several programs measure, in one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def merge(path: Path, found: dict[str, Any]) -> None:
    """Write what was measured now beside what was measured before."""
    known = json.loads(path.read_text("utf-8")) if path.exists() else {"results": []}
    path.write_text(json.dumps(known | found, indent=1) + "\n", "utf-8")
