"""jelly.describe: each figure is that of the SPARQL query of its definition, which pyoxigraph answers."""

from __future__ import annotations

import functools
import html.parser
import http.server
import json
import random
import re
import threading
import unicodedata
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as oxigraph
import pytest
import rdflib
from click.testing import CliRunner
from support.chance import LONG
from support.shared import shared

import jelly
import jelly.oxigraph
from jelly._tools import partitions
from jelly._tools.void import PREFIXES
from jelly.cli.commands import cli

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
XSD = "http://www.w3.org/2001/XMLSchema#"
STRING = XSD + "string"
DEFAULT = oxigraph.DefaultGraph()
REAL = [
    "data/movies/30kmovies.nt.gz", "data/cell-ontology/cl-eye-slim.nt.gz", "data/schemaorg/schemaorg-all-https.nt.gz",
    "data/dbpedia-ontology/dbpedia-ontology.nt.gz", "data/bsbm100/bsbm-100.nt.gz", "data/vocabs-quads/vocabs.nq.gz",
]  # fmt: skip



def _space(of: str, to: str) -> str:
    """A variable with the namespace of another."""
    rest = f'IF(REGEX(STR(?{of}), "[/#]"), "[^/#]*$", "[^:]*$")'
    return f'BIND(REPLACE(STR(?{of}), {rest}, "") AS ?{to})'


KIND = 'BIND(IF(isIRI(?x), "iri", IF(isBlank(?x), "bnode", IF(isLiteral(?x), "literal", "other"))) AS ?k)'
CLASS = f"?s <{TYPE}> ?c . ?s ?p ?o FILTER(isIRI(?c))"
# By name: the variables of the key, the counts, and the pattern.
QUERIES: dict[str, tuple[str, str, str]] = {
    "triples": ("", "(COUNT(*) AS ?n)", "?s ?p ?o"),
    "subject_kinds": ("?k", "(COUNT(DISTINCT ?x) AS ?n)", "?x ?p ?o " + KIND),
    "object_kinds": ("?k", "(COUNT(DISTINCT ?x) AS ?n)", "?s ?p ?x " + KIND),
    "n_classes": ("", "(COUNT(DISTINCT ?c) AS ?n)", f"?s <{TYPE}> ?c"),
    "entities": ("?c", "(COUNT(DISTINCT ?s) AS ?n)", f"?s <{TYPE}> ?c FILTER(isIRI(?c))"),
    "properties": (
        "?p", "(COUNT(*) AS ?n) (COUNT(DISTINCT ?s) AS ?m) (COUNT(DISTINCT ?o) AS ?l)", "?s ?p ?o"
    ),
    "class properties": (
        "?c ?p", "(COUNT(*) AS ?n) (COUNT(DISTINCT ?s) AS ?m) (COUNT(DISTINCT ?o) AS ?l)", CLASS
    ),
    "datatypes": ("?p ?d", "(COUNT(*) AS ?n)", "?s ?p ?o FILTER(isLiteral(?o)) BIND(DATATYPE(?o) AS ?d)"),
    "class datatypes": ("?c ?p ?d", "(COUNT(*) AS ?n)", CLASS + " FILTER(isLiteral(?o)) BIND(DATATYPE(?o) AS ?d)"),
    "languages": ("?p ?d", "(COUNT(*) AS ?n)", '?s ?p ?o FILTER(LANG(?o) != "") BIND(LANG(?o) AS ?d)'),
    "class languages": ("?c ?p ?d", "(COUNT(*) AS ?n)", CLASS + ' FILTER(LANG(?o) != "") BIND(LANG(?o) AS ?d)'),
    "links": ("?p ?d", "(COUNT(*) AS ?n)", f"?s ?p ?o . ?o <{TYPE}> ?d FILTER(isIRI(?d))"),
    "class links": ("?c ?p ?d", "(COUNT(*) AS ?n)", CLASS + f" . ?o <{TYPE}> ?d FILTER(isIRI(?d))"),
    "linksets": (
        "?p ?a ?b", "(COUNT(*) AS ?n)",
        f"?s ?p ?o FILTER(isIRI(?s) && isIRI(?o) && ?p != <{TYPE}>) {_space('s', 'a')} {_space('o', 'b')}"
        " FILTER(?a != ?b)",
    ),
}  # fmt: skip
Figures = dict[tuple[str, ...], tuple[int, ...]]
# Statements of each file: pyoxigraph needs 18 seconds for all queries of the largest one.
ROWS = None if LONG else 10_000


def by_sparql(quads: list[Any]) -> Figures:
    """Every figure by name, graph ("" for the union) and key."""
    named, union = oxigraph.Store(), oxigraph.Store()
    quads = [_opaque(quad) for quad in quads]
    named.extend(quad for quad in quads if getattr(quad, "graph_name", DEFAULT) != DEFAULT)
    union.extend(oxigraph.Quad(*list(quad)[:3]) for quad in quads)
    return answers(union, named)


def answers(union: oxigraph.Store, named: oxigraph.Store) -> Figures:
    """The answers of all queries, over the union of all graphs and over the named graphs."""
    found: Figures = {}
    for name, (keys, counts, pattern) in QUERIES.items():
        for store, graph, where in ((union, "", pattern), (named, "?g", f"GRAPH ?g {{ {pattern} }}")):
            group = f"{graph} {keys}".strip()
            n_keys, by = len(group.split()), f"GROUP BY {group}" if group else ""
            solutions: Any = store.query(f"SELECT {group} {counts} {{ {where} }} {by}")
            for row in solutions:
                key = ["" if value is None else _text(value) for value in list(row)[:n_keys]]
                values = tuple(int(value.value) for value in list(row)[n_keys:])
                if any(values):
                    found[(name, *([] if graph else [""]), *key)] = values
    return found


def _opaque(quad: Any) -> Any:
    """The statement with another datatype: the store would keep numbers and dates as values, with few datatypes."""
    value = quad.object
    if isinstance(value, oxigraph.Literal) and value.datatype.value.startswith(XSD) and value.datatype.value != STRING:
        value = oxigraph.Literal(value.value, datatype=oxigraph.NamedNode("opaque:" + value.datatype.value))
    return type(quad)(quad.subject, quad.predicate, value, *list(quad)[3:])


def _text(term: Any) -> str:
    if isinstance(term, oxigraph.NamedNode):
        return term.value.removeprefix("opaque:")
    return str(term) if isinstance(term, oxigraph.BlankNode) else str(term.value)


def figures(found: jelly.Description) -> Figures:
    made: Figures = {}
    for name, graph in {"": found.graph, **found.graphs}.items():
        made["triples", name] = (graph.triples,)
        made["n_classes", name] = (graph.n_classes,)
        for kinds in ("subject_kinds", "object_kinds"):
            made |= {(kinds, name, kind): (n,) for kind, n in getattr(graph, kinds).items()}
        assert graph.subjects == sum(graph.subject_kinds.values())
        assert graph.objects == sum(graph.object_kinds.values())
        _add(made, "", (name,), graph.properties)
        for p, sources in graph.linksets.items():
            made |= {("linksets", name, p, a, b): (n,) for a, targets in sources.items() for b, n in targets.items()}
        for iri, partition in graph.classes.items():
            made["entities", name, iri] = (partition.entities,)
            _add(made, "class ", (name, iri), partition.properties)
    return {key: values for key, values in made.items() if any(values)}


def _add(made: Figures, of: str, key: tuple[str, ...], properties: dict[str, jelly.PropertyPartition]) -> None:
    for iri, one in properties.items():
        made[(f"{of}properties", *key, iri)] = (one.triples, one.subjects, one.objects)
        for what, table in (("datatypes", one.datatypes), ("languages", one.languages), ("links", one.classes)):
            made |= {(f"{of}{what}", *key, iri, name): (n,) for name, n in table.items()}


@pytest.mark.parametrize("file", REAL)
def test_every_figure_of_real_data_is_that_of_its_query(file: str) -> None:
    data = jelly.dumps([*islice(jelly.read(shared(file)), ROWS)])
    expected = by_sparql([*jelly.oxigraph.read(data)])
    for memory in (1 << 30, 1 << 20):
        assert figures(jelly.describe(data, memory=memory, linksets=True)) == expected


NODES = ["<a:n1>", "<b:n/2>", "<a:n3>", "<a:C>", "<a:D>", "<a:E>", "_:b1", "_:b2"]
NASTY = [
    '""', '"x"', '"x"@en', '"x"@fr', '"x"^^<a:C>', '"x"^^<a:dt>', '"\\u0000\\n\\"\\\\"', '"\\U0001F600"@en',
    '"1"^^<http://www.w3.org/2001/XMLSchema#integer>', '"01"^^<http://www.w3.org/2001/XMLSchema#integer>',
    '"_:b1"', '"a:C"', "<a:\u00e9>", "<a:C#x/>",
]  # fmt: skip


def _random(draw: random.Random, graphs: list[str]) -> bytes:
    predicates = [f"<{TYPE}>", f"<{TYPE}>", "<a:p>", "<a:q>", "<a:C>"]
    lines = []
    for _ in range(draw.choice([0, 1, 5, 40, 200])):
        nodes = NODES[: draw.choice([2, 5, 8])]
        statement = [draw.choice(nodes), draw.choice(predicates), draw.choice(nodes + NASTY), draw.choice(graphs)]
        lines += [" ".join([*statement, "."])] * draw.choice([1, 1, 1, 2])
    return "\n".join(lines).encode()


@pytest.mark.parametrize("graphs", [[""], ["", "<a:g>", "<a:h>", "_:g", "<a:n1>"]], ids=["triples", "quads"])
def test_random_graphs(graphs: list[str]) -> None:
    draw = random.Random(1)
    for _ in range(60 if LONG else 15):
        data = _random(draw, graphs)
        expected = by_sparql([*jelly.oxigraph.read(data, format="nq")])
        for memory in (1 << 30, 1):
            found = jelly.describe(data, format="nq", memory=memory, batch_rows=7, linksets=True)
            assert figures(found) == expected


def test_many_sources_and_what_is_spilled(tmp_path: Path) -> None:
    lines = [f'<a:s{n // 3}> <a:p{n % 3}> "{n % 50}" .\n<a:s{n}> <{TYPE}> <a:C{n % 7}> .\n' for n in range(3000)]
    (tmp_path / "a.nt").write_text("".join(lines[:2000]) + "_:x <a:p0> _:x .\n")
    (tmp_path / "b.nt").write_text("".join(lines[1000:]) + "_:x <a:p0> _:x .\n")
    whole, small = (jelly.describe(tmp_path, memory=memory, iri="x:d") for memory in (1 << 30, 1 << 16))
    assert whole == small
    assert whole.graph.properties["a:p0"].subjects == 1000 + 2, "blank nodes of two files are apart"
    assert [one["bytes"] for one in whole.files] == [(tmp_path / name).stat().st_size for name in ("a.nt", "b.nt")]
    assert whole.title == tmp_path.name


def test_figures_do_not_depend_on_how_they_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"\n".join(_random(random.Random(n), ["", "<a:g>", "<a:n1>"]) for n in range(4))
    expected = jelly.describe(data, format="nq", linksets=True)
    for name, number in (("_TABLE", 0), ("_CHUNK", 3)):
        monkeypatch.setattr(partitions, name, number)
        assert jelly.describe(data, format="nq", linksets=True) == expected
    wide = np.array([1 << 40, 7, 1 << 40])
    (found, same), n = partitions.counted([wide, wide])
    assert (found.tolist(), same.tolist(), n.tolist()) == ([7, 1 << 40], [7, 1 << 40], [1, 2])
    for column in (wide, wide >> 20):
        [pairs] = partitions._different([column, column])
        assert [one.tolist() for one in pairs] == [np.unique(column).tolist()] * 2
    # Also a limit holds for all pieces.
    spaces = "".join(f"<a:s{n}> <a:p> <b:{n}/o> .\n" for n in range(200)).encode()
    with pytest.raises(jelly.JellyLimitError, match="max_partitions"):
        jelly.describe(spaces, format="nt", linksets=True, max_partitions=100)


def test_an_object_of_many_subjects_takes_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows of an object are in one part, so they are counted before they are put there."""
    rows: list[int] = []
    by_object: Any = partitions.Partitions._by_object

    def spy(self: Any, index: Any, sets: Any, o: Any, *others: Any) -> None:
        rows.append(len(o))
        by_object(self, index, sets, o, *others)

    monkeypatch.setattr(partitions.Partitions, "_by_object", spy)
    data = "".join(f"<a:s{n}> <a:p> <a:o> .\n" for n in range(20_000)).encode()
    found = jelly.describe(data, format="nt", memory=1 << 20, batch_rows=1000).graph
    assert (found.triples, found.subjects, found.objects) == (20_000, 20_000, 1)
    assert 0 < max(rows) <= 64 * 64


def test_quoted_triples_are_terms_of_their_own() -> None:
    data = b"<< <a:s> <a:p> <a:o> >> <a:q> << <a:s> <a:p> <a:o> >> .\n<a:s> <a:p> <a:o> ."
    found = jelly.describe(data, format="nt").graph
    assert (found.subject_kinds, found.object_kinds) == ({"iri": 1, "other": 1}, {"iri": 1, "other": 1})


def test_generalized_statements_have_no_partition_in_void() -> None:
    s, p, o = jelly.IRI("a:s"), jelly.BlankNode("p"), jelly.Literal("o")
    data = jelly.dumps([(o, p, s), (s, jelly.IRI("a:p"), o)], options={"generalized_statements": True})
    found = jelly.describe(data)
    assert found.graph.triples == 2
    assert found.graph.subject_kinds == {"iri": 1, "literal": 1}
    assert set(found.graph.properties) == {"_:p", "a:p"}
    assert found.to_turtle().count("void:property ") == 1


@pytest.fixture(scope="module")
def bsbm() -> jelly.Description:
    return jelly.describe(shared("data/bsbm100/bsbm-100.nt.gz"), iri="http://example.org/void#bsbm", title="BSBM")


def test_void_says_the_same(bsbm: jelly.Description) -> None:
    graph = rdflib.Graph().parse(data=bsbm.to_turtle(), format="turtle")
    assert len(graph) == len({*bsbm.statements()})
    rows: Any = graph.query("""
        PREFIX void: <http://rdfs.org/ns/void#>
        SELECT ?c ?p ?n ?s ?o { ?d a <http://www.w3.org/ns/dcat#Dataset> ; void:classPartition ?k .
          ?k void:class ?c ; void:propertyPartition ?q .
          ?q void:property ?p ; void:triples ?n ; void:distinctSubjects ?s ; void:distinctObjects ?o }""")
    told = {(str(c), str(p)): (int(n), int(s), int(o)) for c, p, n, s, o in rows}
    each = {(c, p): one for c, about in bsbm.graph.classes.items() for p, one in about.properties.items()}
    assert told == {key: (one.triples, one.subjects, one.objects) for key, one in each.items()}
    rows = graph.query("""
        PREFIX void: <http://rdfs.org/ns/void#>
        SELECT ?c ?p ?d ?n { ?x void:subset ?l . ?l a void:Linkset ; void:linkPredicate ?p ; void:triples ?n ;
          void:subjectsTarget/void:class ?c ; void:objectsTarget/void:class ?d }""")
    links = {(str(c), str(p), str(d)): int(n) for c, p, d, n in rows}
    assert links == {(*key, d): n for key, one in each.items() for d, n in one.classes.items()}
    [file] = graph.objects(None, rdflib.DCAT.distribution)
    assert graph.value(file, rdflib.DCAT.byteSize).toPython() == bsbm.files[0]["bytes"]
    assert str(graph.value(file, rdflib.DCAT.compressFormat)).endswith("application/gzip")
    assert str(graph.value(file, rdflib.DCAT.mediaType)).endswith("application/n-triples")


def test_datatypes_and_languages_in_void() -> None:
    data = b"""<a:s> <a:p> "x"@en , "y"@en , "z"@de-AT , "z"@ar--rtl , "w" , 5 ; a <a:C> ; <a:q> "v"@en ."""
    graph = rdflib.Graph().parse(data=jelly.describe(data, format="ttl").to_turtle(), format="turtle")
    rows: Any = graph.query("""
        PREFIX void: <http://rdfs.org/ns/void#>
        PREFIX void-ext: <http://ldf.fi/void-ext#>
        SELECT ?p ?tag ?n { [] a <http://www.w3.org/ns/dcat#Dataset> ; void:propertyPartition ?q .
          ?q void:property ?p ; void-ext:languagePartition [ void-ext:language ?tag ; void:triples ?n ] }""")
    told = {(str(p), str(tag)): int(n) for p, tag, n in rows}
    assert told == {("a:p", "en"): 2, ("a:p", "de-AT"): 1, ("a:p", "ar--rtl"): 1, ("a:q", "en"): 1}
    # Nothing is told of what nothing leads to.
    assert {*graph.objects()} >= {one for one in graph.subjects() if "#" in str(one)}


def test_relative_iris_have_no_partition_in_void() -> None:
    data = f'<a:s> <{TYPE}> <C> .\n<a:s> <p> <a:o> .\n<a:s> <a:q> "x"^^<t> .\n<a:s> <a:q> <a:s> .\n'.encode()
    found = jelly.describe(data, format="nt", linksets=True)
    assert {*found.graph.classes} == {"C"}
    graph = rdflib.Graph().parse(data=found.to_turtle(), format="turtle")
    properties = {str(iri) for iri in graph.objects(None, rdflib.URIRef(PREFIXES["void"] + "property"))}
    assert properties == {TYPE, "a:q"}


def test_iris_of_partitions_depend_on_their_names(bsbm: jelly.Description) -> None:
    lines = [f"<a:s{n}> <{TYPE}> <a:C{n % 5}> .\n<a:s{n}> <a:p{n % 3}> <a:s{n // 2}> .\n".encode() for n in range(50)]
    one, other = (jelly.describe(b"".join(some), format="nt") for some in (lines, lines[::-1]))
    assert one == other
    assert [*one.statements()] == [*other.statements()]
    assert one.iri.startswith("urn:uuid:")


def test_named_graphs_in_void() -> None:
    data = f"<a:s> <{TYPE}> <a:C> <a:g> .\n<a:s> <a:p> <a:s> <a:h> .\n<a:s> <a:p> <a:s> _:h .".encode()
    graph = rdflib.Graph().parse(data=jelly.describe(data, format="nq").to_turtle(), format="turtle")
    sd, void = (rdflib.Namespace(iri) for iri in (PREFIXES["sd"], PREFIXES["void"]))
    [name] = graph.subjects(sd.name, rdflib.URIRef("a:h"))
    assert graph.value(graph.value(name, sd.graph), void.triples).toPython() == 1
    assert len([*graph.objects(None, sd.namedGraph)]) == 3


def test_linksets_are_counted_when_asked_for() -> None:
    data = b"<a:s> <a:p> <b:x/o> , <b:x/t> , <a:o> , 'b:x/o' ; a <b:C> . <a:t> <a:p> <b:x/o> ."
    assert jelly.describe(data, format="ttl").graph.linksets == {}
    found = jelly.describe(data, format="ttl", linksets=True)
    assert found.graph.linksets == {"a:p": {"a:": {"b:x/": 3}}}
    graph = rdflib.Graph().parse(data=found.to_turtle(), format="turtle")
    rows: Any = graph.query("""
        PREFIX void: <http://rdfs.org/ns/void#>
        SELECT ?p ?a ?b ?n { ?x void:subset ?l . ?l a void:Linkset ; void:linkPredicate ?p ; void:triples ?n ;
          void:subjectsTarget/void:uriSpace ?a ; void:objectsTarget/void:uriSpace ?b }""")
    assert [tuple(map(str, row)) for row in rows] == [("a:p", "a:", "b:x/", "3")]
    assert "a: \N{RIGHTWARDS ARROW} b:x/" in found.to_html()
    spaces = "".join(f"<a:s> <a:p> <b:{n}/o> .\n" for n in range(200)).encode()
    with pytest.raises(jelly.JellyLimitError, match="max_partitions"):
        jelly.describe(spaces, format="nt", linksets=True, max_partitions=100)


def test_json_and_page(bsbm: jelly.Description) -> None:
    assert json.loads(json.dumps(bsbm.to_dict()))["graph"]["triples"] == bsbm.graph.triples
    page = bsbm.to_html()
    assert "<svg" in page
    assert "ProductType" in page
    assert not re.search(r"<script|src=|@import|href=", page)
    names = [f"http://e/{'w' * 50}{number}" for number in range(4)]
    lines = [f"<a:{i}> <{TYPE}> <{name}> .\n<a:{i}> <a:p> <a:{i}> .\n" for i, name in enumerate(names)]
    drawn = jelly.describe("".join(lines).encode(), format="nt").to_html()
    left, _, width, _ = map(float, re.search(r'viewBox="([^"]*)"', drawn)[1].split())  # type: ignore[index]
    for x, side, label in re.findall(r'<text x="(\d+)"[^>]*anchor="(\w+)">([^<]*)<', drawn):
        size = 6.5 * len(label)  # of letters as wide as most
        begin = float(x) - {"start": 0, "middle": size / 2, "end": size}[side]
        assert left <= begin
        assert begin + size <= left + width
    odd = jelly.describe(f"<a:s> <{TYPE}> <a:%22&b> .".encode(), format="nt", title='<b>"&').to_html()
    assert "&lt;b&gt;" in odd
    assert "<b>" not in odd
    html.parser.HTMLParser().feed(odd)
    nodes = "a:\x85s", "a:\x9bg", "a:\x80c"
    data = "<{0}> <{type}> <{2}> <{1}> .\n<{2}> <{type}> <{2}> <{1}> .".format(*nodes, type=TYPE)
    odd = jelly.describe(data.encode(), format="nq", title="\x1b[2J\x9b").to_html()
    assert not [c for c in odd if unicodedata.category(c) == "Cc" and c != "\n"]
    assert ("\\x1b[2J\\x9b</h1>" in odd, "Graph a:\\x9bg<" in odd, 'title="a:\\x80c"' in odd) == (True, True, True)
    assert "BSBM: 40,377 triples" in bsbm._repr_html_()
    assert jelly.describe(b"", format="nt").to_html().count("<svg") == 0


@pytest.mark.parametrize(
    "line",
    [
        "<a:s{n}> <" + TYPE + "> <a:C{n}> .",
        "<a:s{n}> <a:p{n}> <a:o> .",
        '<a:s{n}> <a:p> "x"^^<a:d{n}> .',
        '<a:s{n}> <a:p> "x"@x-a{n} .',
        "<a:s> <a:p> <a:o> <a:g{n}> .",
    ],
)
def test_partitions_have_a_limit(line: str) -> None:
    data = "\n".join(line.format(n=n) for n in range(2000)).encode()
    with pytest.raises(jelly.JellyLimitError, match="max_partitions"):
        jelly.describe(data, format="nq", max_partitions=100)
    assert jelly.describe(data, format="nq", max_partitions=10_000).graph.triples in (1, 2000)


def test_combinations_of_classes_have_a_limit() -> None:
    lines = [f"<a:s{n}> <{TYPE}> <a:C{bit}> .\n" for n in range(1024) for bit in range(10) if n >> bit & 1]
    data = "".join(lines).encode()
    with pytest.raises(jelly.JellyLimitError, match="max_partitions"):
        jelly.describe(data, format="nt", max_partitions=1000)
    assert {one.entities for one in jelly.describe(data, format="nt").graph.classes.values()} == {512}


def test_an_address_without_a_suffix(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("<a:s> <a:p> <a:o> .\n")

    class Handler(http.server.SimpleHTTPRequestHandler):
        extensions_map = {"": "application/n-triples"}  # noqa: RUF012 - as the class of Python has it

        def log_message(self, format: str, *args: Any) -> None:
            pass

    serve = functools.partial(Handler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/data"
        found = jelly.describe(address)
        server.shutdown()
    assert (found.iri, found.title, found.graph.triples) == (address, "data", 1)
    assert f"dataDump <{address}>" in found.to_turtle()


def test_what_is_no_data_set() -> None:
    for given in ({"memory": 0}, {"max_partitions": 0}, {"threads": 0}):
        with pytest.raises(jelly.JellyArgumentError, match="at least 1"):
            jelly.describe(b"", format="nt", **given)
    with pytest.raises(jelly.JellyArgumentError, match="only statements"):
        jelly.describe("x.srj")


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.nt").write_text(f"<a:s> <{TYPE}> <a:C> .\n")

    def run(*args: str, code: int = 0) -> str:
        shown = CliRunner().invoke(cli, ["describe", *args])
        assert shown.exit_code == code, shown.output
        return shown.output

    assert "void:Dataset" in run("a.nt")
    Path("star.nt").write_text("<a:s> <a:p> <<( <a:x> <a:y> <a:z> )>> .\n")
    assert "reifies" in run("star.nt", "--star", "reifies", "--json")
    assert json.loads(run("a.nt", "--json", "--title", "T"))["title"] == "T"
    assert run("a.nt", "--html").startswith("<!DOCTYPE html>")
    assert run("a.nt", "-o", "a.html") == run("a.nt", "-o", "a.json") == run("a.nt", "-o", "void.jelly") == ""
    assert json.loads(Path("a.json").read_text())["graph"]["classes"] == {
        "a:C": {"entities": 1, "properties": {TYPE: jelly.describe("a.nt").to_dict()["graph"]["properties"][TYPE]}}
    }
    assert {*jelly.read("void.jelly")} == {*jelly.describe("a.nt").statements()}
    assert run("a.nt", "--to", "nt").count("\n") == len([*jelly.read("void.jelly")])
    Path("b.nt").write_text("<a:s> <a:p> <a:o> .\n")
    assert "raise --max-partitions" in run("*.nt", "--max-partitions", "1", "-o", "none.ttl", code=1)
    assert not Path("none.ttl").exists()
    run("a.txt", code=2)
    Path("wrong.nt").write_text("these are no statements\n")
    assert "the directory none does not exist" in run("wrong.nt", "-o", "none/void.ttl", code=1)
    assert "iri is 'people'" in run("wrong.nt", "--iri", "people", code=1)
    assert "cannot hold the IRI <a:b c>" in run("wrong.nt", "--iri", "a:b c", code=1)
    for words in (["--json", "-o", "none.ttl"], ["--html", "-o", "none.json"], ["--json", "--to", "nt"]):
        assert f"{words[0]} does not go with {words[-1] if '-o' in words else '--to'}" in run("a.nt", *words, code=2)
    assert not Path("none.ttl").exists()
    assert run("a.nt", "-o", "a.json", "--to", "nt") == ""
    assert {*jelly.read("a.json", format="nt")} == {*jelly.describe("a.nt").statements()}
