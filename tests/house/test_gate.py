"""The gate of the speed, `make gate`: its kernels run, and are those of the baseline. Nothing is counted here."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

GATE = Path(__file__).resolve().parents[2] / "bench" / "gate.py"
if not GATE.is_file():
    pytest.skip("the sources are not there", allow_module_level=True)
spec = importlib.util.spec_from_file_location("gate", GATE)
gate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gate)


def test_the_baselines_are_of_these_kernels():
    kernels = gate.kernels()
    for path in (gate.BASELINE, gate.FIRST):
        assert sorted(json.loads(path.read_text())["instructions"]) == sorted([*kernels, *gate.STARTS])
    for kernel in kernels.values():
        kernel()
