"""Run the conformance suites and write a report of each: EARL in Turtle, DOAP of the package, and a page that sums up.

    python tests/conformance/report.py                     write docs/conformance
    python tests/conformance/report.py --check             exit with 1 if docs/conformance is not what is so now
    python tests/conformance/report.py --date 2026-01-31   the date of the tests

The date is that of --date, else SOURCE_DATE_EPOCH, else that of the reports that are there, so that the same outcomes
give the same files. Nothing else in them depends on the machine.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "docs" / "conformance"
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from support.conformance import Case, jelly_rdf, jelly_sparql, w3c  # noqa: E402

import jelly  # noqa: E402
from jelly.errors import TruncatedWarning  # noqa: E402

OUTCOMES = ("passed", "failed", "inapplicable", "untested")
HOME = "https://github.com/jelly-rdf/jelly-python"
SPECIFICATIONS = (
    "https://w3id.org/jelly/dev/specification/serialization", "https://www.w3.org/TR/n-triples/",
    "https://www.w3.org/TR/n-quads/", "https://www.w3.org/TR/turtle/", "https://www.w3.org/TR/trig/",
    "https://www.w3.org/TR/rdf-syntax-grammar/", "https://www.w3.org/TR/json-ld11/",
    "https://www.w3.org/TR/sparql11-results-json/", "https://www.w3.org/TR/rdf-sparql-XMLres/",
    "https://www.w3.org/TR/sparql11-results-csv-tsv/",
)  # fmt: skip
_PREFIXES = """\
PREFIX dc:   <http://purl.org/dc/terms/>
PREFIX doap: <http://usefulinc.com/ns/doap#>
PREFIX earl: <http://www.w3.org/ns/earl#>
PREFIX foaf: <http://xmlns.com/foaf/0.1/>
PREFIX xsd:  <http://www.w3.org/2001/XMLSchema#>

"""


class Suite(NamedTuple):
    """A suite: its name, where it comes from, and its cases."""

    title: str
    home: str
    cases: Callable[[], Iterator[Case]]


SUITES = {
    "jelly-rdf": Suite("Jelly-RDF", "https://github.com/Jelly-RDF/jelly-protobuf/tree/main/test/rdf", jelly_rdf),
    "jelly-sparql": Suite(
        "Jelly-SPARQL", "https://github.com/Jelly-RDF/jelly-protobuf/tree/main/test/sparql", jelly_sparql
    ),
    "w3c": Suite("RDF syntaxes of the W3C", "https://w3c.github.io/rdf-tests/rdf/", w3c),
}


class Result(NamedTuple):
    """What became of a case, and why, if it is not passed."""

    case: Case
    outcome: str
    info: str = ""


def judge(case: Case) -> Result:
    """Run a case."""
    if case.run is None:
        return Result(case, "inapplicable", case.reason)
    try:
        case.run()
    except (ImportError, jelly.MissingExtraError) as error:
        return Result(case, "untested", str(error))
    except Exception as error:
        said = f"{error}".partition("\n")[0]
        return Result(case, "failed", said if isinstance(error, AssertionError) and said else f"{error!r:.200}")
    return Result(case, "passed")


def text(value: str) -> str:
    """A literal of Turtle."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def doap() -> str:
    """The description of the package."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    (description,) = re.findall(r'^description = "(.*)"$', project, re.M)
    (home,) = re.findall(r'^Homepage = "(.*)"$', project, re.M)
    (licence,) = re.findall(r'^license = "(.*)"$', project, re.M)
    implements = " ,\n    ".join(f"<{iri}>" for iri in SPECIFICATIONS)
    return f"""\
<#impl> a doap:Project, earl:TestSubject, earl:Software ;
  doap:name "jelly-rdf" ;
  doap:homepage <{home}> ;
  doap:description {text(description)}@en ;
  doap:license <https://spdx.org/licenses/{licence}> ;
  doap:programming-language "Python", "Cython" ;
  doap:developer <#developer> ;
  doap:release [ doap:name {text(f"jelly-rdf {jelly.__version__}")} ; doap:revision {text(jelly.__version__)} ] ;
  doap:implements {implements} .

<#developer> a foaf:Group ;
  foaf:name "The jelly-rdf developers" ;
  foaf:homepage <{home}> .
"""


def earl(results: Iterable[Result], date: str) -> str:
    """A report of a suite, as the Jelly project asks for: one assertion for each case."""
    stamp = f'"{date}T00:00:00Z"^^xsd:dateTime'
    parts = [
        f"{_PREFIXES}<> foaf:primaryTopic <#impl> ;\n  dc:issued {stamp} ;\n  foaf:maker <#assertor> .\n",
        f"""\
<#assertor> a earl:Software, earl:Assertor ;
  foaf:name "jelly-rdf test suite" ;
  foaf:homepage <{HOME}/tree/main/tests/conformance> .
""",
        doap(),
    ]
    for number, (case, outcome, info) in enumerate(results, 1):
        told = f"\n    dc:description {text(info)} ;" if info else ""
        parts.append(f"""\
<#assertion-{number}> a earl:Assertion ;
  earl:assertedBy <#assertor> ;
  earl:subject <#impl> ;
  earl:test <{case.iri}> ;
  earl:mode earl:automatic ;
  earl:result [
    a earl:TestResult ;
    dc:date {stamp} ;{told}
    earl:outcome earl:{outcome}
  ] .
""")
    return "\n".join(parts)


def page(found: dict[str, list[Result]], date: str) -> str:
    """The page that sums up."""
    lines = [
        "# Conformance",
        "",
        f"Version {jelly.__version__} on the public test suites, on {date}. `python tests/conformance/report.py` runs",
        "all cases and writes this page and the reports. These are in [EARL](https://www.w3.org/TR/EARL10-Schema/),",
        "with one assertion for each case, as the Jelly project asks for; [DOAP](doap.ttl) describes the package.",
    ]
    for name, suite in SUITES.items():
        parts: dict[str, Counter[str]] = {}
        for result in found[name]:
            parts.setdefault(result.case.part, Counter())[result.outcome] += 1
        parts["**all**"] = sum(parts.values(), Counter())
        lines += ["", f"## {suite.title}", "", f"[The cases]({suite.home}), [the report]({name}.ttl)", ""]
        lines += [f"| part | {' | '.join(OUTCOMES)} |", f"| --- |{' ---: |' * len(OUTCOMES)}"]
        lines += [f"| {part} | {' | '.join(f'{n[word]}' for word in OUTCOMES)} |" for part, n in parts.items()]
        failed = [result for result in found[name] if result.outcome == "failed"]
        if failed:
            lines += ["", "Failed:", ""]
            lines += [f"- [{one.case.iri.rpartition('/')[2]}]({one.case.iri}): {one.info}" for one in failed]
    return "\n".join([
        *lines,
        "",
        "The canonical forms differ on purpose: language tags are written as they were read, since they are data to",
        "other tools, and U+FFFE and U+FFFF stand as they are, which RDFC-1.0 asks for. XML literals come from",
        "pyoxigraph, which writes the namespaces in scope into them, unused ones too. The package reads and writes and",
        "does not infer, so tests of entailment are inapplicable.",
        "",
    ])  # fmt: skip


def date_of(given: str | None) -> str:
    """The date of the reports, see above."""
    if given:
        return given
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        return f"{datetime.fromtimestamp(int(epoch), timezone.utc):%Y-%m-%d}"
    path = TARGET / "jelly-rdf.ttl"
    known = re.search(r'dc:issued "([0-9-]+)T', path.read_text("utf-8")) if path.exists() else None
    return known[1] if known else f"{datetime.now(timezone.utc):%Y-%m-%d}"


def files(date: str) -> dict[str, str]:
    """The texts of the files of docs/conformance, after a run of all cases."""
    found = {name: list(map(judge, suite.cases())) for name, suite in SUITES.items()}
    reports = {f"{name}.ttl": earl(results, date) for name, results in found.items()}
    return {"index.md": page(found, date), "doap.ttl": _PREFIXES + doap(), **reports}


def main(arguments: list[str] | None = None) -> int:
    """Write the reports, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and exit with 1 if a file is not current")
    parser.add_argument("--date", help="the date of the tests, such as 2026-01-31")
    wanted = parser.parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncatedWarning)  # some results have no trailer, or options alone
        made = files(date_of(wanted.date))
    old = {name: path.read_text("utf-8") if (path := TARGET / name).exists() else None for name in made}
    changed = [name for name, content in made.items() if content != old[name]]
    for name in changed:
        print(f"{'not current' if wanted.check else 'written'}: docs/conformance/{name}")
        if not wanted.check:
            TARGET.mkdir(exist_ok=True)
            (TARGET / name).write_text(made[name], "utf-8")
    return int(wanted.check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
