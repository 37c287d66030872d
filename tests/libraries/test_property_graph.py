"""The layout "property-graph" against dicts and lists: nodes, labels, properties and relationships in CSV files."""

from __future__ import annotations

import csv
import os
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from support.chance import examples
from support.pivot import ROWS, TYPE, pivot, text

import jelly
from jelly import IRI, Literal, Triple

pytest.importorskip("pyarrow")
from jelly._dataset.tables import wide as room  # noqa: E402
from jelly.cli.commands import cli  # noqa: E402

XSD = "http://www.w3.org/2001/XMLSchema#"
FILES = ["nodes.csv", "relationships.csv"]


def rows_of(path: Path) -> tuple[list[str], list[list[str]]]:
    with open(path, newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    return head, rows


def name_of(iri: str, names: dict[str, str], name: str) -> None:
    """One name for each IRI, and one IRI for each name."""
    assert names.setdefault(iri, name) == name
    assert len({*map(str.lower, names.values())}) == len(names)


def shown(made: Any) -> str:
    """A value as the files have it, near enough to compare."""
    if made is None:
        return ""
    if isinstance(made, list):
        return "\x1f".join(map(shown, made))
    if isinstance(made, bool):
        return str(made).lower()
    if isinstance(made, float):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(str(made), str(made))
    return str(made)


def same(found: str, made: Any) -> bool:
    if found == shown(made) or not isinstance(made, list):
        if isinstance(made, int | float | Decimal) and not isinstance(made, bool):
            return found == shown(made) or type(made)(found) == made
        if hasattr(made, "isoformat"):
            return type(made).fromisoformat(found.replace("Z", "+00:00")) == made
        return found == shown(made)
    parts = found.split("\x1f")
    return len(parts) == len(made) and all(map(same, parts, made))


@given(ROWS, st.sampled_from([1, 2, 1 << 17]), st.sampled_from([1, 1 << 21]), st.sampled_from([1 << 28, 1]))
@examples(80)
def test_files_are_those_of_dicts_and_lists(tmp_path_factory, statements, rows, cells, memory):
    folder = tmp_path_factory.mktemp("graph")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "BLOCK_ROWS", rows)
        patch.setattr(room, "CELLS", cells)
        made = jelly.scan(jelly.dumps(statements)).write(folder, layout="property-graph", memory=memory)
    assert made.statements == len({*statements})
    literals = [each for each in statements if isinstance(each.o, Literal)]
    classes: Any = defaultdict(set)
    links = set()
    for s, p, o in {*statements}:
        if p == TYPE and isinstance(o, IRI):
            classes[text(s)].add(o.value)
        elif not isinstance(o, Literal):
            links.add((text(s), text(o), p.value))
    head, nodes = rows_of(folder / "nodes.csv")
    ids = [row[0] for row in nodes]
    assert Counter(ids) == Counter({*(text(s) for s, _, _ in statements), *(o for _, o, _ in links)})
    labels: dict[str, str] = {}
    of_class = dict(zip(ids, (row[1] for row in nodes), strict=True))
    for node, every in classes.items():
        assert len(of_class[node].split("\x1f")) == len(every)
        if len(every) == 1:
            name_of(*every, labels, of_class[node])
    assert {node for node in ids if of_class[node]} == {*classes}
    _, found = rows_of(folder / "relationships.csv")
    names: dict[str, str] = {}
    left = sorted(links)
    assert len(found) == len(left)
    for start, end, name in found:
        fitting = [iri for s, o, iri in links if (s, o) == (start, end)]
        assert fitting
        if len(fitting) == 1:
            name_of(fitting[0], names, name)
    # Properties: the columns are those of `jelly.wide` of the literals.
    subjects, columns = pivot(literals, None)
    values = {row[0]: row[2:] for row in nodes}
    table = jelly.wide(jelly.dumps(literals))
    assert head[:2] == ["id:ID", ":LABEL"]
    own = table.schema.names[1:]
    for field, place in zip(list(table.schema)[1:], range(len(own)), strict=True):
        about = {key.decode(): told.decode() for key, told in field.metadata.items()}
        for subject, wanted in zip(subjects, columns[about["predicate"], about["part"]], strict=True):
            assert same(values[subject][place], wanted), (field.name, values[subject][place], wanted)
    for node in {*ids} - {*subjects}:
        assert not any(values[node])


def test_a_run_that_spills_writes_the_same_bytes(tmp_path):
    statements = [
        Triple(IRI(f"a:{i % 5000}"), IRI(f"a:p{i % 7}"), IRI(f"b:{i % 900}") if i % 2 else Literal(str(i)))
        for i in range(40_000)
    ]
    data = jelly.dumps(statements)
    for name, memory in (("small", 1 << 16), ("large", 1 << 28)):
        jelly.scan(data).write(tmp_path / name, layout="property-graph", memory=memory)
    for file in FILES:
        assert (tmp_path / "small" / file).read_bytes() == (tmp_path / "large" / file).read_bytes()
    head, nodes = rows_of(tmp_path / "small" / "nodes.csv")
    assert len(nodes) == 5450


def test_what_the_importers_read(tmp_path):
    data = f"""<a:1> <{TYPE.value}> <a:Person> .
<a:1> <{TYPE.value}> <a:Author> .
<a:1> <a:age> "007"^^<{XSD}integer> .
<a:1> <a:alive> "1"^^<{XSD}boolean> .
<a:1> <a:born> "2024-01-02"^^<{XSD}date> .
<a:1> <a:height> "1.70"^^<{XSD}decimal> .
<a:1> <a:name> "Ann \\"A\\", \\n" .
<a:1> <a:seen> "2024-01-01T10:00:00+02:00"^^<{XSD}dateTime> .
<a:1> <a:tag> "x;y" .
<a:1> <a:tag> "z"@en .
<a:1> <a:weight> "INF"^^<{XSD}double> .
<a:1> <a:knows> _:b .
""".encode()
    jelly.scan(data, format="nt").write(str(tmp_path), layout="property-graph")
    assert (tmp_path / "nodes.csv").read_text() == (
        "id:ID,:LABEL,age:long,alive:boolean,born:date,height:string,name:string,seen:datetime,tag:string[],"
        "tag_lang:string[],weight:double\n"
        '"a:1","Author\x1fPerson","7","true","2024-01-02","1.70","Ann ""A"", \n",'
        '"2024-01-01T10:00:00+02:00","x;y\x1fz","\x1fen","Infinity"\n'
        '"_:b",,,,,,,,,,\n'
    )
    assert (tmp_path / "relationships.csv").read_text() == ':START_ID,:END_ID,:TYPE\n"a:1","_:b","knows"\n'
    assert sorted(os.listdir(tmp_path)) == FILES


def test_an_error_leaves_the_files_that_were_there(tmp_path):
    good = [Triple(IRI("a:s"), IRI("a:p"), Literal("\x1f"))]
    jelly.scan(jelly.dumps(good)).write(tmp_path, layout="property-graph")
    before = (tmp_path / "nodes.csv").read_bytes()
    bad = [*good, Triple(IRI("a:s"), IRI("a:p"), Literal("y"))]
    with pytest.raises(jelly.JellyUnsupportedError, match=r"a value of p has U\+001F"):
        jelly.scan(jelly.dumps(bad)).write(tmp_path, layout="property-graph")
    many = (Triple(IRI("a:s"), IRI(f"a:{i}"), Literal("x")) for i in range(11))
    with pytest.raises(jelly.JellyLimitError, match="more than 10 predicates"):
        jelly.scan(jelly.dumps(many)).write(tmp_path, layout="property-graph", max_columns=10)
    assert sorted(os.listdir(tmp_path)) == FILES
    assert (tmp_path / "nodes.csv").read_bytes() == before


def test_the_command(tmp_path):
    path, out = tmp_path / "in.nq", tmp_path / "graph"
    path.write_text("<a:1> <a:knows> <a:2> <a:g> .\n<a:1> <a:knows> <a:2> .\n<a:knows> <a:knows> <a:knows> .\n")

    def run(*args: str) -> Any:
        return CliRunner().invoke(cli, ["convert", str(path), str(out), "--layout", "property-graph", *args])

    result = run("--memory", "1M", "--max-columns", "5", "--json")
    assert (result.exit_code, '"statements": 2' in result.output) == (0, True)
    assert rows_of(out / "relationships.csv")[1] == [["a:1", "a:2", "knows"], ["a:knows", "a:knows", "knows"]]
    assert [row[0] for row in rows_of(out / "nodes.csv")[1]] == ["a:1", "a:knows", "a:2"]
    assert "--to does not go with --layout property-graph" in run("--to", "csv").output
    assert "--unique does not go with --layout property-graph" in run("--unique").output
    assert (
        "--memory does not go with --layout ids"
        in CliRunner().invoke(cli, ["convert", str(path), str(out), "--layout", "ids", "--memory", "1M"]).output
    )


def test_an_empty_graph(tmp_path):
    jelly.scan(jelly.dumps([])).write(tmp_path, layout="property-graph")
    assert [(tmp_path / file).read_text() for file in FILES] == ["id:ID,:LABEL\n", ":START_ID,:END_ID,:TYPE\n"]
