"""Objects of other libraries where ours are expected: what is told, and what is taken as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import jelly
from jelly.errors import JellyArgumentError

S, P, X = jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("x")


def test_modules_need_no_import() -> None:
    code = "import jelly; print(jelly.patch.__name__, jelly.results.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout.split() == ["jelly.patch", "jelly.results"]
    root = Path(jelly.__file__).parent
    found = {path.stem for path in root.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    unknown = {"cli", "core", "errors", "__init__", "__main__"}
    assert {name for name in found - unknown if not name.startswith("_")} == jelly._MODULES


def test_options_of_rdflib_may_be_a_mapping(tmp_path: Path) -> None:
    rdflib = pytest.importorskip("rdflib")
    import jelly.rdflib

    jelly.rdflib.register()
    graph = rdflib.Graph().add((rdflib.URIRef("a:s"), rdflib.URIRef("a:p"), rdflib.Literal("x")))
    path = tmp_path / "g.jelly"
    graph.serialize(path, format="jelly", options={"max_name_table_size": 64})
    assert jelly.read_options(path).max_name_table_size == 64
    with pytest.raises(JellyArgumentError, match="did you mean 'max_name_table_size'"):
        graph.serialize(path, format="jelly", options={"max_name_tabel_size": 64})


def test_what_rdflib_cannot_hold_names_the_file(tmp_path: Path) -> None:
    rdflib = pytest.importorskip("rdflib")
    import jelly.rdflib

    jelly.rdflib.register()
    path = tmp_path / "star.jelly"
    jelly.write(path, [(jelly.QuotedTriple(S, P, X), P, X)])
    with pytest.raises(jelly.JellyUnsupportedError, match=r"quoted triples: .* with jelly.scan.*filter.*star\.jelly"):
        rdflib.Graph().parse(path, format="jelly")


@pytest.mark.parametrize("suffix", ["srj", "srx", "srt", "tsv"])
def test_results_of_other_libraries(suffix: str, tmp_path: Path) -> None:
    rdflib = pytest.importorskip("rdflib")
    pyoxigraph = pytest.importorskip("pyoxigraph")
    graph = rdflib.Graph().add((rdflib.URIRef("a:s"), rdflib.URIRef("a:p"), rdflib.Literal("x", lang="en")))
    store = pyoxigraph.Store()
    store.add(pyoxigraph.Quad(
        pyoxigraph.NamedNode("a:s"), pyoxigraph.NamedNode("a:p"), pyoxigraph.Literal("x", language="en"))
    )  # fmt: skip
    query = "select ?s ?o ?none { ?s ?p ?o }"
    for made in (graph.query(query), store.query(query)):
        path = tmp_path / f"x.{suffix}"
        assert jelly.results.write_results(path, made) == 1
        results = jelly.results.read_results(path)
        assert (results.variables, list(results)) == (
            ("s", "o", "none"), [(S, jelly.Literal("x", language="en"), None)]
        )  # fmt: skip
        assert jelly.results.write_results(tmp_path / "again.srt", jelly.results.read_results(path)) == 1
    for answer in (store.query("ask { ?s ?p ?o }"), graph.query("ask { ?s ?p ?o }")):
        path = tmp_path / f"ask.{suffix}"
        if suffix in ("srj", "srx"):
            assert jelly.results.write_results(path, answer) == 0
            assert jelly.results.read_results(path).boolean is True
            continue
        with pytest.raises(jelly.JellyUnsupportedError, match="ASK"):
            jelly.results.write_results(path, answer)
    construct: Any = store.query("construct where { ?s ?p ?o }")
    with pytest.raises(jelly.JellyError):
        jelly.results.write_results(tmp_path / "c.srj", construct)
    with pytest.raises(JellyArgumentError, match="expected results of a query, or variables and rows, got list"):
        jelly.results.write_results(tmp_path / "c.srj", ["x"])
    assert not (tmp_path / "c.srj").exists()
