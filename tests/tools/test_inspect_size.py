"""jelly.inspect(size=True): the bytes of each part, in rows, in columns and in patches."""

import json

import pytest
from click.testing import CliRunner
from support import craft as c
from support.column_vectors import ACCEPTED, FOLDER, data_of
from support.shared import ROOT, shared

import jelly
import jelly.patch
from jelly.cli.commands import cli

LISTS = {
    "name_ids": "name_ids", "prefix_ids": "prefix_ids", "lex_values": "lex_values", "literal_kinds": "literal_kinds",
    "langtags": "langtags", "directions": "directions", "bnodes": "bnodes", "triple_terms": "triple_terms",
}  # fmt: skip


def parts(data, **settings):
    found = jelly.inspect(data, size=True, **settings)
    assert sum(found.part_bytes.values()) == found.bytes
    assert min(found.part_bytes.values()) >= 0
    assert list(found.parts) == list(found.part_bytes)
    return {name: (number, found.part_bytes[name]) for name, number in found.parts.items()}


def test_rows():
    iri, bnode, literal = (c.IRI, c.iri(1, 1)), (c.BNODE, b"xyz"), (c.LITERAL, c.literal("v"))
    rows = [c.options(c.QUADS, version=2), c.name("a"), c.prefix("http://e/")]
    terms = (iri, iri, literal, (2, b"")), (bnode, None, None, None), (None, None, (c.QUOTED, c.quoted(2)), None)
    rows += [c.row(3, c.terms(*row)) for row in terms]
    found = parts(c.frame(*rows) + c.frame(c.metadata("k", b"v")))
    names = ["framing", "options", "name", "prefix", "metadata", "statement.framing", "subject.iri", "subject.bnode",
             "subject.repeated", "predicate.iri", "predicate.repeated", "object.literal", "object.triple_term",
             "object.repeated", "graph.default_graph", "graph.repeated"]  # fmt: skip
    assert list(found) == names
    assert found["framing"] == (2, 2)
    assert found["statement.framing"] == (3, 3 * 4)
    assert found["subject.iri"] == found["predicate.iri"] == (1, 6)
    assert found["subject.bnode"] == (1, 5)
    assert found["subject.repeated"] == (1, 0)
    assert found["object.literal"] == (1, 2 + len(c.literal("v")))
    assert found["object.triple_term"] == (1, 2 + len(c.quoted(2)))
    assert found["graph.default_graph"] == (1, 2)
    assert found["metadata"] == (1, len(c.metadata("k", b"v")))


def test_patches():
    text = b"TX .\nA <a:s> <a:p> <a:o> .\nD <a:s> <a:p> _:b .\nTC .\n"
    found = parts(jelly.patch.dumps(jelly.patch.loads(text, format="rdfp")), format="jellyp")
    assert found["object.iri"][0] == found["object.bnode"][0] == found["commit"][0] == 1
    assert found["subject.repeated"] == (1, 0)
    assert found["statement.framing"][0] == 2


def test_columns():
    """A run, and one whose length is a number of its own, are one each."""
    statements = [jelly.Triple(jelly.IRI(f"a:s{i // 40}"), jelly.IRI("a:p"), jelly.Literal(f"x{i}")) for i in range(80)]
    found = parts(jelly.dumps(statements, {"version": 3}))
    assert found["subject.runs"] == (2, 2 + 2 * 2)
    assert found["predicate.runs"][0] == 1
    assert found["object.lex_values"] == (80, 10 * 4 + 70 * 5)
    assert not {"object.runs", "object.name_ids", "subject.repeated"} & found.keys()


@pytest.mark.parametrize("numbering", "sp")
def test_vectors_of_columns(numbering):
    """As many values as protobuf finds; the length of a long run is no run."""
    column_oracle = pytest.importorskip("support.column_oracle")
    assert FOLDER
    for name in ACCEPTED:
        data = data_of(numbering, name)
        expected, at = {}, 0
        for frame in jelly.inspect(data, per_frame=True).frames:
            at = frame.offset
            read = column_oracle.classes()["Frame"].FromString(data[at : at + frame.bytes])
            for place in ("subject", "predicate", "object", "graph"):
                column = getattr(read.columns, f"{place}s")
                for part, field in LISTS.items():
                    key = f"{place}.{part}"
                    expected[key] = expected.get(key, 0) + len(getattr(column, field))
                tokens = iter(column.layouts)
                runs = sum(1 for token in tokens if token & 15 != 15 or next(tokens, 0) is not None)
                expected[f"{place}.runs"] = expected.get(f"{place}.runs", 0) + runs
        found = parts(data)
        numbers = {key: n for key, (n, _) in found.items() if key in expected}
        assert numbers == {key: n for key, n in expected.items() if n}, name


@pytest.mark.parametrize("folder", ["conformance", "data"])
def test_real_files(folder):
    """The parts are the whole of each file, and each statement has a term or repeats one."""
    files = [path for path in shared(folder).rglob("*.jelly*") if path.suffix in (".jelly", ".gz")]
    assert len(files) > 2
    for path in files:
        try:
            statements = jelly.inspect(path).statements
        except jelly.JellyError:
            continue
        found = parts(path)
        if statements and found["statement.framing"][1] > statements:
            terms = {name: n for name, (n, _) in found.items() if name.startswith("predicate.")}
            assert sum(terms.values()) == statements, path.relative_to(ROOT)


def test_command(tmp_path):
    path = tmp_path / "x.jelly"
    jelly.write(path, [jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))])
    shown = CliRunner().invoke(cli, ["inspect", "--size", "--table", str(path)]).stdout
    assert "subject.iri" in shown
    assert "█" in shown
    found = json.loads(CliRunner().invoke(cli, ["inspect", "--size", "--json", str(path)]).stdout)
    assert sum(found["part_bytes"].values()) == found["bytes"]
    assert found["parts"]["object.literal"] == 1
    assert "parts" not in json.loads(CliRunner().invoke(cli, ["inspect", "--json", str(path)]).stdout)
