"""The conformance reports are current, whole and well-formed."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conformance import report
from support.conformance import ENTAILMENT, OWN, SYNTAXES, Case, w3c_files
from support.shared import shared

import jelly

ox = pytest.importorskip("pyoxigraph")

EARL, DOAP = "http://www.w3.org/ns/earl#", "http://usefulinc.com/ns/doap#"
# Cases in the manifests, which are counted here without the code that runs them.
SUITES = ("jelly-rdf", "jelly-sparql", "w3c")


def parsed(name: str) -> list[Any]:
    path = report.TARGET / f"{name}.ttl"
    return list(ox.parse(path=path, base_iri="https://example.org/report"))


def entries(text: str) -> int:
    """The number of entries of a manifest."""
    (body,) = re.findall(r"mf:entries\s*\((.*?)\n?\s*\)\s*[.;]", re.sub(r"(?m)^\s*#.*$", "", text), re.S)[:1]
    return len(body.split())


def expected(name: str) -> int:
    if name == "jelly-sparql":
        return len(json.loads(shared("jelly-sparql", "manifest.json").read_text()))
    if name == "jelly-rdf":
        folder = shared("conformance", "test", "rdf")
        return sum(entries((folder / kind / "manifest.ttl").read_text()) for kind in ("from_jelly", "to_jelly"))
    return sum(entries(w3c_files()[f"{suite}/manifest.ttl"].decode()) for suite in (*SYNTAXES, *OWN, *ENTAILMENT))


def test_the_reports_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert report.main(["--check"]) == 0, capsys.readouterr().out + "run python tests/conformance/report.py"


@pytest.mark.parametrize("name", SUITES)
def test_each_case_has_one_outcome(name: str) -> None:
    triples = parsed(name)
    assertions = {t.subject for t in triples if t.object == ox.NamedNode(f"{EARL}Assertion")}
    tests = [t.object.value for t in triples if t.predicate.value == f"{EARL}test"]
    outcomes = Counter(t.object.value.removeprefix(EARL) for t in triples if t.predicate.value == f"{EARL}outcome")
    assert len(assertions) == len(tests) == len(set(tests)) == sum(outcomes.values()) == expected(name)
    assert outcomes.keys() <= set(report.OUTCOMES)
    for word in ("subject", "assertedBy", "mode", "result"):
        assert {t.subject for t in triples if t.predicate.value == EARL + word} == assertions
    if name != "w3c":
        assert outcomes == {"passed": expected(name)}
    sums = (report.TARGET / "index.md").read_text("utf-8")
    counts = " | ".join(str(outcomes[word]) for word in report.OUTCOMES)
    assert f"| **all** | {counts} |" in sums


@pytest.mark.parametrize("name", ["doap", *SUITES])
def test_the_package_is_described(name: str) -> None:
    found = {t.predicate.value.removeprefix(DOAP): t.object.value for t in parsed(name)
             if t.predicate.value.startswith(DOAP) and t.predicate.value != f"{DOAP}implements"}  # fmt: skip
    project = (report.ROOT / "pyproject.toml").read_text()
    assert found["homepage"] in project
    assert f'"{found["description"]}"' in project
    assert found["license"].rpartition("/")[2] == "Apache-2.0"
    assert found["revision"] == jelly.__version__


def test_rdflib_reads_them() -> None:
    rdflib = pytest.importorskip("rdflib")
    for name in ("doap", *SUITES):
        graph = rdflib.Graph().parse(report.TARGET / f"{name}.ttl", format="turtle")
        assert len(graph) == len({str(t) for t in parsed(name)})


def test_outcomes() -> None:
    def fail() -> None:
        raise AssertionError('not "so"\nmore')

    def refuse() -> None:
        raise jelly.JellyFormatError("no")

    def lack() -> None:
        raise ImportError("pyoxigraph")

    runs = (lambda: None, fail, refuse, lack, None)
    found = [report.judge(Case("part", "a:b", run, "entailment")) for run in runs]
    assert [(each.outcome, each.info) for each in found] == [
        ("passed", ""), ("failed", 'not "so"'), ("failed", "JellyFormatError('no')"), ("untested", "pyoxigraph"),
        ("inapplicable", "entailment"),
    ]  # fmt: skip
    text = report.earl(found, "2026-01-31")
    assert text == report.earl(found, "2026-01-31")
    told = {t.object.value for t in ox.parse(text, ox.RdfFormat.TURTLE, base_iri="a:b")}
    assert {'not "so"', "2026-01-31T00:00:00Z", f"{EARL}untested"} <= told


def test_the_date(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known = report.date_of(None)
    assert known in (report.TARGET / "index.md").read_text("utf-8")
    assert report.date_of("2026-01-31") == "2026-01-31"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert report.date_of(None) == "1970-01-02"
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    monkeypatch.setattr(report, "TARGET", tmp_path)
    assert len(report.date_of(None)) == 10
