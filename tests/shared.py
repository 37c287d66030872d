"""The data beside the project: specifications, the conformance suite, real data. It is not part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent / "shared"


def shared(*parts: str) -> Path:
    """The path of something there. Without it the test is skipped; where CI is set, it fails."""
    path = ROOT.joinpath(*parts)
    if path.exists():
        return path
    if os.environ.get("CI") == "true":
        pytest.fail(f"{path} is not there")
    pytest.skip(f"{path} is not there", allow_module_level=True)
