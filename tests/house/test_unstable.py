"""What follows a document that is not final says so in its docstring, and stability.md lists the same names."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "stability.md"
if not PAGE.exists():
    pytest.skip("the sources are not there", allow_module_level=True)
sys.path.insert(0, str(ROOT / "docs" / "site"))

import public  # noqa: E402

for extra in ("confluent_kafka", "grpc", "matplotlib", "pyarrow", "pyoxigraph", "pyspark", "rdflib"):
    pytest.importorskip(extra, reason="all modules of the package are looked at")


def documented() -> Iterator[tuple[str, str]]:
    """Each public module, name and method, with its docstring."""
    described = public.described()
    for module in public.modules():
        found = importlib.import_module(module)
        yield module, found.__doc__ or ""
        for name in public.exported(module):
            thing = getattr(found, name)
            home = "jelly" if f"jelly.{name}" in described else module
            if not callable(thing) or f"{home}.{name}" not in described:
                continue
            yield f"{home}.{name}", thing.__doc__ or ""
            if inspect.isclass(thing):
                for method in dir(thing):
                    if not method.startswith("_"):
                        yield f"{home}.{name}.{method}", getattr(getattr(thing, method), "__doc__", None) or ""


def test_what_is_unstable_is_marked_and_listed() -> None:
    marked = {name for name, text in documented() if re.search(r"^ *Unstable: \S", text, re.M)}
    listed = set(re.findall(r"\]\[(jelly[\w.]*)\]", PAGE.read_text("utf-8")))
    assert marked == listed
    assert {"jelly.messages", "jelly.QuotedTriple", "jelly.grpc.Client.publish"} <= listed


def test_a_mark_is_written_in_one_way() -> None:
    for name, text in documented():
        for line in re.findall(r"^.*\bunstable\b.*$", text, re.M | re.I):
            assert line.strip().startswith("Unstable: "), f"{name}: {line}"
