"""The shared data beside the project: specification, conformance suite, real data. The project has no copy."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3] / "shared"
REQUIRED = os.environ.get("JELLY_SHARED") == "required"


def shared(*parts: str) -> Path:
    """A path in the shared data. If it is absent the test is skipped, or fails with ``JELLY_SHARED=required``."""
    path = ROOT.joinpath(*parts)
    if path.exists():
        return path
    if REQUIRED:
        pytest.fail(f"{path} is not there")
    pytest.skip(f"{path} is not there", allow_module_level=True)
