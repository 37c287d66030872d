"""The table of requirements, tests/letter/requirements.csv, and the page that is made of it.

``python -m support.letter``, in the folder tests, writes the page.
"""

from __future__ import annotations

import ast
import csv
import re
from collections import Counter
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests" / "letter" / "requirements.csv"
PAGE = ROOT / "docs" / "letter.md"

WORKS, PARTLY, DIFFERS, OUT_OF_SCOPE = VERDICTS = ("works", "partly", "differs", "out of scope")
DOCUMENTS = {
    "000": "Reference of `grpc.proto` and `rdf.proto`",
    "001": "Jelly-RDF",
    "002": "RDF Messages",
    "003": "RDF Binary (Thrift, Protobuf)",
    "004": "Jelly-Patch",
    "CARD": "The project itself",
}
ID = r"(?:\d{3}|CARD)-\d{3}"


@dataclass(frozen=True)
class Requirement:
    """A row of the table; `test` has node ids without parameters, with a space between."""

    id: str
    document: str
    section: str
    requirement: str
    verdict: str
    test: str
    reason: str

    @property
    def tests(self) -> list[str]:
        return self.test.split()


def requirements() -> list[Requirement]:
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        assert rows.fieldnames == [field.name for field in fields(Requirement)]
        return [Requirement(**row) for row in rows]


@cache
def functions(path: Path) -> frozenset[str]:
    """The tests of a module as its node ids have them: ``test_x`` or ``TestY::test_x``. The module is not run."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return frozenset(name for name in found if name.rpartition("::")[2].startswith("test_"))


@cache
def named(path: Path) -> frozenset[str]:
    """The numbers of requirements that a module names, also in ranges such as 001-003 to 001-007."""
    found = set()
    for match in re.finditer(rf"({ID})(?: to ({ID}))?", path.read_text("utf-8")):
        first, last = match[1], match[2] or match[1]
        document, _, number = first.rpartition("-")
        found |= {f"{document}-{i:03}" for i in range(int(number), int(last.rpartition("-")[2]) + 1)}
    return frozenset(found)


def cell(text: str) -> str:
    """Text in a table of Markdown: IRIs and tags stay as they are."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def page() -> str:
    """The page, with the rows that are not as the letter has them."""
    rows = requirements()
    lines = [
        "# Where we differ from the letter, and why",
        "",
        "<!-- Made of tests/letter/requirements.csv by `python -m support.letter` in the folder tests. -->",
        "",
        f"`jelly` implements the five specifications below, as producer and as consumer. {len(rows)} requirements were",
        "read out of them and out of the description of the project. Each has a row in",
        "[the table](../tests/letter/requirements.csv), with the test that shows it.",
        "",
        f"| document | requirements | {' | '.join(VERDICTS)} |",
        f"| --- | {' | '.join(['---:'] * (1 + len(VERDICTS)))} |",
    ]
    for document, title in DOCUMENTS.items():
        counts = Counter(row.verdict for row in rows if row.document == document)
        numbers = [counts.total(), *(counts[verdict] for verdict in VERDICTS)]
        lines.append(f"| {title} | {' | '.join(map(str, numbers))} |")
    for document, title in DOCUMENTS.items():
        others = [row for row in rows if row.document == document and row.reason]
        if others:
            lines += ["", f"## {title}"]
        for row in others:
            tests = ", ".join(f"`{test}`" for test in row.tests)
            lines += [
                "",
                f"**{row.id}, {row.verdict}** ({cell(row.section)}): {cell(row.requirement)}",
                "",
                f"{cell(row.reason)} Test: {tests}.",
            ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), "utf-8")
    print(PAGE)
