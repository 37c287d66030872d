"""Where the shared data is: specification, conformance suite, real data. It is no part of the project."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3] / "shared"


def shared(*parts: str) -> Path:
    """A path in the shared data. Where it is absent the test is skipped, in CI it fails."""
    path = ROOT.joinpath(*parts)
    if path.exists():
        return path
    if os.environ.get("CI") == "true":
        pytest.fail(f"{path} is not there")
    pytest.skip(f"{path} is not there", allow_module_level=True)
