"""Where the data stands that is not part of the project."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent / "shared"


def shared(*parts):
    """A path under ../shared; without it the test is skipped, or fails where CI=true."""
    path = ROOT.joinpath(*parts)
    if path.exists():
        return path
    if os.environ.get("CI") == "true":
        pytest.fail(f"{path} is not there")
    pytest.skip(f"{path} is not there", allow_module_level=True)
