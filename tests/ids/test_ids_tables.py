"""Tables of the layout ids, written by `Dataset.write` and `jelly convert --layout ids`, and reading them again."""

import os

import pytest
from support import steps
from support.shared import shared

import jelly
from jelly import IRI, BlankNode, Literal, Quad, QuotedTriple, Triple

pytest.importorskip("pyarrow")

from pyarrow import compute as pc
from pyarrow import parquet

MADE = [
    Quad(IRI("a:s"), IRI("a:p"), Literal("x", language="ar", direction="rtl"), None),
    Quad(IRI("a:s"), IRI("a:p"), Literal("1", datatype="a:int"), IRI("a:g")),
    Quad(BlankNode("b"), IRI("a:q"), QuotedTriple(IRI("a:s"), IRI("a:p"), Literal("in")), IRI("a:s")),
]


def tables(folder):
    return tuple(parquet.read_table(os.path.join(folder, f"{name}.parquet")) for name in ("terms", "triples"))


def test_tables_hold_the_statements(tmp_path):
    path = tmp_path / "some.jelly"
    wanted = [q for q, _ in zip(jelly.read(shared("data", "vocabs-quads", "vocabs.nq.gz")), range(9000), strict=False)]
    jelly.write(path, wanted)
    assert steps.write_ids(tmp_path / "graph", path, blank_nodes="keep") == len(wanted)
    terms, triples = tables(tmp_path / "graph")
    assert terms["id"].to_pylist() == list(range(len(terms)))
    named = {
        name: pc.take(terms["value"], triples[name]).to_pylist() for name in ("subject", "predicate", "object", "graph")
    }
    flat = jelly.read_arrow(path).read_all()
    for name, found in named.items():
        assert found == flat[name].to_pylist(), name


def test_columns_are_those_of_spark(tmp_path):
    steps.write_ids(tmp_path, jelly.dumps(MADE))
    terms, triples = tables(tmp_path)
    assert triples.schema.names == ["subject", "predicate", "object", "graph"]
    assert {str(type) for type in triples.schema.types} == {"int64"}
    assert terms.schema.names == ["id", "kind", "value", "datatype", "lang"]
    assert terms["kind"].to_pylist() == ["iri", "iri", "literal", "literal", "iri", "bnode", "iri", "triple"]
    assert terms["lang"].to_pylist()[2] == "ar--rtl"
    assert triples["graph"].to_pylist() == [None, 4, 0]
    assert sorted(os.listdir(tmp_path)) == ["terms.parquet", "triples.parquet"]


def test_an_interrupted_run_never_leaves_two_that_differ(tmp_path, monkeypatch):
    steps.write_ids(tmp_path, jelly.dumps(MADE))
    real = os.replace

    def stopped(old, new):
        if str(new) == str(tmp_path / "triples.parquet"):
            raise KeyboardInterrupt
        real(old, new)

    monkeypatch.setattr(os, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        steps.write_ids(tmp_path, b"<a:other> <a:p> <a:o> .", format="nt")
    assert os.listdir(tmp_path) == ["terms.parquet"]


def test_a_directory_is_a_dictionary(tmp_path):
    steps.write_ids(tmp_path, jelly.dumps(MADE), blank_nodes="keep")
    terms, triples = tables(tmp_path)
    same = jelly.scan(jelly.dumps(MADE[:3]), blank_nodes="keep")
    ids = same.to_ids(dictionary=tmp_path, apart=False)
    assert ids.n_nodes == len(terms)
    wanted = [triples[name].to_pylist() for name in triples.schema.names[:3]]
    assert [ids.s.tolist(), ids.p.tolist(), ids.o.tolist()] == wanted
    other = jelly.scan(jelly.dumps([Triple(IRI("a:new"), IRI("a:p"), IRI("a:s"))]))
    more = other.to_ids(dictionary=tmp_path, apart=False)
    assert (more.s.tolist(), more.p.tolist(), more.o.tolist()) == ([len(terms)], [1], [0])


def test_other_tables_are_no_dictionary(tmp_path):
    steps.write_ids(tmp_path, jelly.dumps(MADE))
    path = tmp_path / "terms.parquet"
    terms = parquet.read_table(path)
    swapped = terms.set_column(0, "id", pc.add(terms["id"], 1))
    twice = terms.set_column(2, "value", terms["value"].combine_chunks().take([0] * len(terms)))
    for wrong in (swapped, twice, terms.slice(1), terms.drop_columns(["kind"])):
        parquet.write_table(wrong, path)
        with pytest.raises(jelly.JellyFormatError):
            jelly.scan(b"", format="nt").to_ids(dictionary=tmp_path)
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(jelly.JellyFormatError, match="broken"):
        jelly.scan(b"", format="nt").to_ids(dictionary=tmp_path)


def test_old_tables_stay_if_writing_fails(tmp_path):
    steps.write_ids(tmp_path, jelly.dumps(MADE))
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    with pytest.raises(jelly.JellyError):
        steps.write_ids(tmp_path, b"<a:s> <a:p> <a:o> .\n<a:s> <a:p>", format="nt")
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before
