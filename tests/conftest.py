"""Makes the helpers of this folder importable; one profile of hypothesis for all."""

import os

import pytest
from hypothesis import HealthCheck, settings
from support.shared import REQUIRED, ROOT

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The sanitizers make everything slower; fewer examples keep that run short.
settings.register_profile("sanitized", settings.get_profile("default"), max_examples=20)
SANITIZED = any(name in os.environ.get("LD_PRELOAD", "") for name in ("libasan", "libtsan"))
settings.load_profile("sanitized" if SANITIZED else "default")


def pytest_configure() -> None:
    # Tests that are parametrized by shared files would be none, and nobody would notice.
    if REQUIRED and not ROOT.is_dir():
        raise pytest.UsageError(f"JELLY_SHARED=required, but {ROOT} is not there")


def pytest_report_header() -> str:
    if ROOT.is_dir():
        return f"shared data: {ROOT}"
    return f"shared data: {ROOT} is not there, so the tests that need it are skipped (JELLY_SHARED=required: they fail)"
