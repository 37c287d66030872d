"""SECURITY.md, CITATION.cff and the templates say what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import jelly
from jelly._options.limits import default

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "SECURITY.md").exists():
    pytest.skip("the sources are not there", allow_module_level=True)
yaml = pytest.importorskip("yaml")


def test_citation() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == jelly.__version__
    assert citation["cff-version"] == "1.2.0"
    assert {"title", "authors", "message"} <= citation.keys()
    assert f'license = "{citation["license"]}"' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_security() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    for path in re.findall(r"\]\(([^)]+)\)", text):
        assert (ROOT / path).exists()
    assert f"{default('max_expansion'):,} times" in text
    for name in re.findall(r"`jelly\.(\w+)`", text):
        assert hasattr(jelly, name) or (ROOT / "jelly" / name).exists() or (ROOT / "jelly" / f"{name}.py").exists()


def test_templates_of_issues() -> None:
    templates = [*(ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")]
    forms = [yaml.safe_load(path.read_text("utf-8")) for path in templates if path.name != "config.yml"]
    assert len(forms) == 2
    for form in forms:
        assert {"name", "description", "body"} <= form.keys()
        ids = [one["id"] for one in form["body"] if one["type"] != "markdown"]
        assert len(ids) == len(set(ids)) > 0
