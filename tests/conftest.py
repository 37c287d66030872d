"""Makes the helpers of this folder importable; one profile of hypothesis for all."""

import gc
import os
import signal
import zlib

import pytest
from support.chance import LONG  # loads the profile
from support.shared import REQUIRED, ROOT

# One test of so many runs, always the same ones.
SAMPLE = int(os.environ.get("JELLY_SAMPLE", "1"))


def pytest_configure() -> None:
    # Tests that are parametrized by shared files would be none, and nobody would notice.
    if REQUIRED and not ROOT.is_dir():
        raise pytest.UsageError(f"JELLY_SHARED=required, but {ROOT} is not there")
    # What a shell starts with & ignores Ctrl-C, and so would the commands that tests interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_itemcollected(item: pytest.Item) -> None:
    # 10,000 examples may take hours.
    if LONG and getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        item.add_marker(pytest.mark.timeout(0))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    parts: tuple[list[pytest.Item], list[pytest.Item]] = [], []
    for item in items:
        parts[zlib.crc32(item.nodeid.encode()) % SAMPLE > 0].append(item)
    items[:], left_out = parts
    if left_out:
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish() -> None:
    # What is collected stays to the end. The garbage collector need not look at it each time that it runs.
    gc.freeze()


def pytest_report_header() -> str:
    if ROOT.is_dir():
        return f"shared data: {ROOT}"
    return f"shared data: {ROOT} is not there, so the tests that need it are skipped (JELLY_SHARED=required: they fail)"
