"""The worked example of bench/: its answers are those of the library alone."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

import jelly

README = Path(__file__).resolve().parent.parent.parent / "README.md"
EXAMPLE = Path(__file__).resolve().parent.parent.parent / "bench" / "spark" / "example.py"
if not EXAMPLE.exists():
    pytest.skip("bench/ is not there", allow_module_level=True)

EX = "http://example.org/"


def statements(start: int, stop: int, label: str = "b") -> list[Any]:
    def iri(name: object) -> jelly.IRI:
        return jelly.IRI(f"{EX}{name}")

    made: list[Any] = []
    for i in range(start, stop):
        made += [
            jelly.Triple(iri(i), iri("knows"), iri(i * 7 % 50)),
            jelly.Triple(iri(i), iri("name"), jelly.Literal(f"{EX}{i}")),  # a literal leads nowhere
        ]
        if i % 3 == 0:
            made.append(jelly.Triple(iri(i), iri("likes"), jelly.BlankNode(f"{label}{i % 5}")))
            made.append(jelly.Triple(jelly.BlankNode(f"{label}{i % 5}"), iri("is"), iri(i % 9)))
    return made


def test_the_answers_are_right(spark: Any, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("spark_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    jelly.write(tmp_path / "one.jelly", statements(0, 60), seekable=True)
    jelly.write(tmp_path / "two.jelly", statements(60, 100))
    out = str(tmp_path / "table")
    predicates, hops = example.tabulate(spark, [str(tmp_path / "one.jelly"), str(tmp_path / "two.jelly")], out)

    # Each file has blank nodes of its own.
    every = statements(0, 60) + statements(60, 100, "c")
    subjects = defaultdict(set)
    for s, p, _ in every:
        subjects[p].add(s)
    used = Counter(p for _, p, _ in every)
    assert {tuple(row) for row in predicates} == {(p.value, n, len(subjects[p])) for p, n in used.items()}
    by_subject = defaultdict(list)
    for s, p, _ in every:
        by_subject[s].append(p)
    paths = Counter((p.value, q.value) for _, p, o in every for q in by_subject.get(o, ()))
    expected = sorted(((*pair, n) for pair, n in paths.items()), key=lambda row: (-row[2], row[:2]))[:10]
    assert [tuple(row) for row in hops] == expected


def test_the_readme(spark: Any, tmp_path: Path, capsys: Any) -> None:
    people = tmp_path / "people.jelly"
    jelly.write(people, statements(0, 3))
    (block,) = re.findall(r"^```py\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    # The processes of the session have a working directory of their own.
    exec(compile(block.replace(people.name, str(people)), "README.md", "exec"), {"spark": spark})
    shown = capsys.readouterr().out
    assert "|           predicate|count|" in shown
    assert "|http://example.or...|    3|" in shown
