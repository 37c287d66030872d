"""The programs of docs/kafka.md run with a real broker, and what else it says is so."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from pathlib import Path

import pytest
from support.pages import programs

for name in ("confluent_kafka", "kafka", "aiokafka", "rdflib", "zstandard"):
    pytest.importorskip(name, reason=f"{name} is not installed")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "kafka.md"


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_the_programs_of_the_page(broker: str) -> None:
    found = programs(PAGE)
    assert len(found) == 5
    names: dict[str, object] = {}
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for program in found:
            exec(compile(program.replace("127.0.0.1:9092", broker), str(PAGE), "exec"), names)
    lines = out.getvalue().splitlines()
    assert "http://example.org/sensor/1" in lines[0]
    assert lines[1] == "1 triples in an rdflib.Graph"
    assert "21.5" in lines[2]
    before, after = map(int, re.findall(r"\d+", lines[3]))
    assert after < before
