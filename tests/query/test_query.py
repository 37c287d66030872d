"""``jelly.query`` and the commands: what comes in, what goes out, and what is refused."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib
from click.testing import CliRunner
from support.measure import growth
from support.queries import canonical, of_ours, of_oxigraph
from support.shared import shared

import jelly
from jelly import IRI, Literal
from jelly.cli.commands import cli
from jelly.rdflib._query import values
from jelly.rdflib._query.engine import Engine
from jelly.results import Results

DATA = b"""<a:ann> <a:name> "Ann" .
<a:ann> <a:knows> <a:bob> .
<a:bob> <a:name> "Bob" .
<a:bob> <a:name> "Bob" .
<a:bob> <a:age> "7"^^<http://www.w3.org/2001/XMLSchema#integer> .
_:x <a:name> "X"@en .
"""
NAMES = "SELECT ?s ?n { ?s <a:name> ?n } ORDER BY ?n"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.jelly"
    jelly.convert(DATA, path, format="nt", index="terms")
    return path


def test_solutions(people: Path) -> None:
    found = jelly.query(people, NAMES)
    assert isinstance(found, Results)
    assert found.variables == ("s", "n")
    rows = list(found)
    assert [row[1] for row in rows] == [Literal("Ann"), Literal("Bob"), Literal("X", language="en")]
    assert rows[0][0] == IRI("a:ann")
    with pytest.raises(jelly.JellyArgumentError, match="consumed"):
        list(found)
    table = jelly.query(people, NAMES).to_arrow().read_all()
    assert table["n"].to_pylist()[:2] == ["Ann", "Bob"]


def test_answers(people: Path) -> None:
    assert jelly.query(people, "ASK { <a:ann> <a:knows> ?x }").boolean is True
    assert jelly.query(people, "ASK { <a:bob> <a:knows> ?x }").boolean is False


@pytest.mark.parametrize("path", ["<a:knows>*", "<a:knows>?", "(<a:knows>?)+", "(^<a:knows>?/<a:knows>?)+"])
@pytest.mark.parametrize("term", ["<a:x>", "<a:none>"])
def test_a_path_without_steps_begins_anywhere(path: str, term: str) -> None:
    """Also at a term that no statement of the predicates has, or none at all (SPARQL 1.1, section 18.4)."""
    data = b"<a:ann> <a:knows> <a:bob> .\n<a:x> <a:y> <a:x> .\n"
    for pattern in (f"{term} {path} ?t", f"?t {path} {term}"):
        rows = jelly.query(data, f"SELECT ?t {{ {pattern} }}", format="nt")
        assert [f"<{value.value}>" for (value,) in rows] == [term]


def test_a_path_without_steps_begins_at_terms_of_other_predicates() -> None:
    """Also where pyoxigraph answers, which looks for them."""
    data = b"<a:s> <a:p> 2.5 ; <a:r> <a:o> ."
    sparql = "SELECT (EXISTS { ?x <a:r> ?o } AS ?e) { ?x <a:r> ?o FILTER EXISTS { ?y <a:q>? 2.5 } }"
    assert jelly.query(data, sparql, format="ttl", explain=True).startswith("pyoxigraph")
    assert [term.value for (term,) in jelly.query(data, sparql, format="ttl")] == ["true"]


@pytest.mark.parametrize("text", ["false", '""', "0", "0.0", '"false"^^<http://www.w3.org/2001/XMLSchema#boolean>'])
def test_a_condition_that_is_false(text: str) -> None:
    data = b"<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:o> <a:g> .\n"
    for pattern, rows in (
        ("?s <a:p> ?o FILTER(%s)", 0),
        ("GRAPH ?g { FILTER(%s) }", 0),
        ("?s <a:p> ?o OPTIONAL { ?s <a:p> ?x FILTER(%s) } FILTER(!bound(?x))", 1),
        ("?s <a:p> ?o MINUS { ?s <a:p> ?o FILTER(%s) }", 1),
        ("?s <a:p> ?o FILTER NOT EXISTS { ?s <a:p> ?x FILTER(%s) }", 1),
    ):
        assert len(list(jelly.query(data, f"SELECT * {{ {pattern % text} }}", format="nq"))) == rows


def test_values_of_their_own() -> None:
    data = b"<a:s> <a:p> <a:o> ."
    assert list(jelly.query(data, "SELECT * { GRAPH ?g { VALUES ?x { } } }", format="nt")) == []
    [row] = jelly.query(data, "SELECT * { ?s <a:p> <a:o> } VALUES ?x { <a:x> }", format="nt")
    assert set(row) == {IRI("a:s"), IRI("a:x")}


def test_comments() -> None:
    data = b'<a:s#x> <a:p> "# no" .\n<a:s> <a:p> "1" .'
    sparql = """# one
        SELECT ?o { # {
          <a:s#x> <a:p> ?o # .
          FILTER(?o = "# no"#)
          ) }# end"""
    assert jelly.query(data, sparql, format="nt", explain=True).startswith("DuckDB")
    assert list(jelly.query(data, sparql, format="nt")) == [(Literal("# no"),)]
    # A text after "less than", which is no IRI.
    sparql = "SELECT ?o { ?s ?p ?o FILTER(?o<'''x>y#zz\n''') }"
    assert list(jelly.query(b'<a:s> <a:p> "x>y#" .', sparql, format="nt")) == [(Literal("x>y#"),)]


def test_no_pandas_is_needed() -> None:
    """pyarrow before 18 imported it for the types of columns."""
    code = (
        "import sys\n"
        "class Without:\n"
        "    def find_spec(name, *_):\n"
        "        if name == 'pandas': raise ImportError(name)\n"
        "sys.meta_path.insert(0, Without)\n"
        "import jelly\n"
        "data = b'<a:s> <a:p> \"x\" .'\n"
        "print(list(jelly.query(data, 'SELECT ?o { ?s ?p ?o FILTER(?o = \"x\") }', format='nt')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=False)
    assert done.stdout == "[(Literal('x'),)]\n", done.stderr


def test_values_of_many_terms() -> None:
    # More than DuckDB gives at a time; of some it is an error, and some are unbound.
    lines = [f"<a:{n}> <a:p> {f'<a:o{n}>' if n % 3 else f'{chr(34)}{n % 7000}{chr(34)}'} ." for n in range(9000)]
    data = "\n".join([*lines, *(f"<a:x{n}> <a:q> <a:{n}> ." for n in range(0, 12000, 2))]).encode()

    def asked(condition: str) -> int:
        sparql = f"SELECT * {{ ?x <a:q> ?s OPTIONAL {{ ?s <a:p> ?o }} BIND(STRLEN(?o) AS ?l) FILTER({condition}) }}"
        return len(list(jelly.query(data, sparql, format="nt")))

    lengths = [len(str(n % 7000)) for n in range(0, 9000, 6)]
    assert asked("?l = 4") == lengths.count(4)
    assert asked("!(?l = 4)") == len(lengths) - lengths.count(4)
    assert asked("!BOUND(?l)") == 6000 - len(lengths)


def test_graphs(people: Path) -> None:
    made = jelly.query(people, "CONSTRUCT { ?x <a:knownBy> [ <a:is> ?s ] } WHERE { ?s <a:knows> ?x }")
    statements = list(made)
    assert len(statements) == 2
    assert {str(each.p) for each in statements} == {"<a:knownBy>", "<a:is>"}
    assert jelly.query(people, "CONSTRUCT WHERE { ?s <a:knows> ?o }").count() == 1
    for empty in ("CONSTRUCT {} { ?s ?p ?o }", "construct\t{ # no\n } WHERE { { ?s <a:p> ?o } UNION { ?s ?p ?o } }"):
        assert jelly.query(people, empty).count() == 0
    assert (
        jelly.query(people, "CONSTRUCT { ?n <a:of> ?s } WHERE { ?s <a:name> ?n }").count() == 0
    )  # no literal subjects
    assert jelly.query(people, "DESCRIBE <a:bob>").count() == 2


def test_labels_of_new_blank_nodes_are_new() -> None:
    made = jelly.query(b"_:c1 <a:p> _:c2 .", "CONSTRUCT { ?s <a:q> _:c1 . ?s <a:p> ?o } { ?s <a:p> ?o }", format="nt")
    assert len({str(term) for each in made for term in (each.s, each.o)}) == 3


def test_graphs_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "graphs.jelly"
    jelly.convert(b"<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:x> <a:g> .", path, format="nq", index="terms")
    run_sql = Engine._run

    def broken(self: Any, sql: str) -> Any:
        if "VIEW named" in sql:
            raise jelly.JellyLimitError("full")
        return run_sql(self, sql)

    with jelly.open(path) as file:
        expected = list(jelly.query(file, "SELECT ?o { ?s ?p ?o }"))
        with monkeypatch.context() as patched:
            patched.setattr(Engine, "_run", broken)
            with pytest.raises(jelly.JellyLimitError):
                jelly.query(file, "SELECT ?o FROM <a:g> { ?s ?p ?o }")
        assert list(jelly.query(file, "SELECT ?o { ?s ?p ?o }")) == expected == [(IRI("a:o"),)]


def test_blank_nodes_of_two_answers_differ(people: Path) -> None:
    """Graphs of RDFLib may be added."""
    with jelly.open(people) as file:
        sparql = "CONSTRUCT { ?s <a:is> [] } WHERE { ?s <a:age> ?n }"
        nodes = [each.o for _ in range(2) for src in (file, people) for each in jelly.query(src, sparql)]
    assert len({*nodes}) == len(nodes) == 4


def test_sources(people: Path, tmp_path: Path) -> None:
    text = tmp_path / "more.nt.gz"
    jelly.convert(b'<a:eve> <a:knows> <a:ann> .\n_:x <a:name> "other" .', text, format="nt")
    sparql = "SELECT ?x { ?x <a:knows>/<a:knows> ?y }"
    assert list(jelly.query([people, text], sparql)) == [(IRI("a:eve"),)]
    # Blank nodes of files stay apart.
    assert (
        len(list(jelly.query([people, text], "SELECT * { ?x <a:name> ?n, ?m FILTER(isBLANK(?x) && ?n != ?m) }"))) == 0
    )
    dataset = jelly.scan(people).filter(where="o.kind = literal")
    assert len(list(jelly.query(dataset, "SELECT * { ?s ?p ?o }"))) == 4
    with pytest.raises(jelly.JellyArgumentError, match="for `scan`"):
        jelly.query(dataset, NAMES, format="nt")
    assert len(list(jelly.query(people, NAMES, threads=2))) == 3


def test_each_statement_counts_once() -> None:
    count = "SELECT (COUNT(*) AS ?n) { ?s <a:name> ?o }"
    [(number,)] = jelly.query(DATA, count, format="nt")
    assert number == Literal("3", datatype="http://www.w3.org/2001/XMLSchema#integer")


def test_graph_names() -> None:
    data = b"<a:s> <a:p> <a:o> <a:g> .\n<a:s> <a:p> <a:o> <a:h> .\n<a:s> <a:p> <a:x> .\n"
    assert len(list(jelly.query(data, "SELECT ?g { GRAPH ?g { <a:s> <a:p> <a:o> } }", format="nq"))) == 2
    assert len(list(jelly.query(data, "SELECT * FROM <a:g> FROM <a:h> { ?s ?p ?o }", format="nq"))) == 1
    assert len(list(jelly.query(data, "SELECT * FROM NAMED <a:g> { GRAPH ?g { ?s ?p ?o } }", format="nq"))) == 1
    # FROM NAMED makes a graph of each IRI, also of one that has no statements (SPARQL 1.1, section 13.2.2).
    for inner, rows in (
        ("", ["a:g", "a:no"]), ("OPTIONAL { ?s <a:p> ?o }", ["a:g", "a:no"]), ("VALUES ?s { 1 }", ["a:g", "a:no"]),
        ("{ SELECT (COUNT(*) AS ?n) { ?s ?p ?o } } FILTER(?n < 1)", ["a:no"]), ("<a:s> <a:q>* ?o", ["a:g", "a:no"]),
        ("FILTER NOT EXISTS { ?s ?p ?o }", ["a:no"]), ("?s ?p ?o", ["a:g"]),
    ):  # fmt: skip
        asked = f"SELECT ?g FROM NAMED <a:g> FROM NAMED <a:no> {{ GRAPH ?g {{ {inner} }} }}"
        assert sorted(g.value for (g,) in jelly.query(data, asked, format="nq")) == rows, inner
    for graphs in ("", "FROM NAMED <a:no>", "FROM NAMED <a:g>", "FROM <a:no>"):
        asked = f"ASK {graphs} {{ GRAPH <a:no> {{}} }}"
        assert jelly.query(data, asked, format="nq").boolean is (graphs == "FROM NAMED <a:no>")
    assert len(list(jelly.query(data, "SELECT * { ?s ?p ?o }", format="nq"))) == 1


@pytest.mark.parametrize(
    ("number", "datatype"),
    [("-1e0", "double"), ("+1e5", "double"), ("+1.0", "decimal"), (".5", "decimal"), ("-01", "integer")],
)
def test_numbers_keep_their_lexical_forms(number: str, datatype: str) -> None:
    data = f'<a:s> <a:p> "{number}"^^<http://www.w3.org/2001/XMLSchema#{datatype}> .'.encode()
    assert jelly.query(data, f"ASK {{ ?s ?p {number} }}", format="nt").boolean
    assert rdflib.NORMALIZE_LITERALS


@pytest.mark.parametrize(
    ("sparql", "way", "told"),
    [
        (NAMES, "DuckDB", "predicate is one of 1: <a:name>"),
        ("SELECT * { ?s ?p ?o }", "DuckDB", "statements: all"),
        ("SELECT * { ?x <a:p>* ?y }", "DuckDB", "statements: all"),
        ("SELECT * { <a:x> <a:p>* ?y }", "DuckDB", "predicate is one of 1: <a:p>"),
        ("SELECT * { ?s <a:p> ?o FILTER(NOW() > ?o) }", "pyoxigraph", "NOW within an expression\nstatements: pred"),
        ("SELECT * { ?s <a:p> ?o } ORDER BY struuid ( )", "pyoxigraph", "predicate is one of 1: <a:p>"),
        ("PREFIX : <a:> SELECT * { ?s :now() . ?s :a.uuid() . ?s ?rand() }", "pyoxigraph", "an empty list"),
        ("SELECT * { ?s <a:p> ?o FILTER(?o = 1 || EXISTS { ?s <a:q> ?x }) }", "pyoxigraph", "EXISTS"),
        ("DESCRIBE <a:x>", "jelly.subset", ""),
        ("DESCRIBE ?x { ?x <a:p> ?y }", "DuckDB", "predicate is one of 1: <a:p>"),
        ("DESCRIBE * { ?x <a:p> ?y }", "pyoxigraph", "statements: all"),
        ("SELECT * { << ?s ?p ?o >> ?q ?x }", "pyoxigraph", "RDFLib does not parse"),
    ],
)
def test_explain(sparql: str, way: str, told: str) -> None:
    plan = jelly.query(b"not read", sparql, format="nt", explain=True)
    assert plan.startswith(way)
    assert told in plan


@pytest.mark.parametrize(
    "rest",
    [
        "?s <a:name> ?n BIND(isBlank(BNODE()) && isIRI(UUID()) AS ?x) FILTER(RAND() < 2)",
        "?s <a:name> ?n OPTIONAL { ?s <a:knows> ?o FILTER(?o != NOW()) }",
        "?s <a:name> ?n FILTER EXISTS { ?s <a:knows> ?o FILTER(STRLEN(STRUUID()) = 36) }",
        "?s <a:name> ?n { SELECT ?s (COUNT(*) AS ?c) { ?s <a:knows>* ?t } GROUP BY ?s HAVING(RAND() < 2) }",
        "VALUES ?s { <a:ann> <a:none> } ?s <a:knows>? ?o FILTER(NOW() = now ( ))",
        "?s <a:name> ?n MINUS { ?s <a:knows> ?o BIND(RAND() + 2 AS ?r) FILTER(?r > 1) }",
    ],
)
def test_functions_without_arguments_ask_only_what_the_patterns_touch(rest: str) -> None:
    store = ox.Store()
    store.extend(ox.parse(DATA, ox.RdfFormat.N_TRIPLES))
    sparql = f"SELECT * {{ {rest} }}"
    assert "within an expression" in jelly.query(DATA, sparql, format="nt", explain=True)
    found, expected = of_ours(jelly.query(DATA, sparql, format="nt")), of_oxigraph(store.query(sparql))
    assert canonical(found) == canonical(expected)


@pytest.mark.parametrize(
    ("sparql", "error", "match"),
    [
        ("SELECT nothing", jelly.JellySyntaxError, "no SPARQL query"),
        ("SELECT * { SERVICE <http://x/> { ?s ?p ?o } }", jelly.JellyUnsupportedError, "SERVICE"),
        (
            "ASK { ?s <a:p> ?o FILTER(EXISTS { SERVICE <http://x/> { ?s ?p ?o } }) }",
            jelly.JellyUnsupportedError,
            "SERVICE",
        ),
        ("SELECT * { ?s ?p ?o FILTER(<a:f>(?o)) }", jelly.JellyUnsupportedError, "custom function"),
        ("INSERT DATA { <a:s> <a:p> <a:o> }", jelly.JellySyntaxError, "an update .INSERT., not a query"),
    ],
)
def test_refused(sparql: str, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        jelly.query(DATA, sparql, format="nt")


@pytest.mark.parametrize(
    "where",
    [
        "SERVICE:x { ?s ?p ?o }", "SERVICEa:x { ?s ?p ?o }", "SERVICE SILENT:x { }", "SERVICESILENT <x> { ?s ?p ?o }",
        "?s ?p ?o.service:x { ?s ?p ?o }", "?s ?p 1SERVICE <x> { ?s ?p ?o }", "?s ?p true SERVICE<x>{ ?s ?p ?o }",
        "?s ?p trueservice <x> { ?s ?p ?o }", "{} SERVICE?x { ?s ?p ?o } VALUES ?x { :x }",
        "?s ?p :.SERVICE <x> { ?s ?p ?o }", "FILTER EXISTS { SERVICE:x {} }",
    ],
)  # fmt: skip
def test_no_other_server_is_asked(where: str) -> None:
    """pyoxigraph, which would ask it, knows the word also where it touches another one."""
    prefixes = "BASE <http://127.0.0.1:9/> PREFIX : <http://127.0.0.1:9/> PREFIX a: <http://127.0.0.1:9/>"
    with pytest.raises((jelly.JellyUnsupportedError, jelly.JellySyntaxError), match="SERVICE asks|no SPARQL query"):
        jelly.query(b"<a:s> <a:p> 1 .", f"{prefixes} SELECT * {{ {where} }}", format="ttl")


def test_names_may_have_the_letters_of_service() -> None:
    data = b'<u:a.service> <u:service> "service {"@service .'
    for sparql in (
        "PREFIX u: <u:> SELECT ?service { u:a.service u:service ?service }",
        "PREFIX service: <u:> SELECT * { service:a.service service:service 'service {'@service }",
        "PREFIX : <u:> SELECT * { :a.service :service+ ?service # SERVICE <x> {}\n FILTER(STRLEN(?service) > 0) }",
    ):
        assert len(list(jelly.query(data, sparql, format="ttl"))) == 1
    with pytest.raises(jelly.JellySyntaxError, match="no SPARQL query: error at 1:"):
        jelly.query(data, "SELECT ?service { ?service ?p <u:service>", format="ttl")


def test_errors_of_the_source_come_through(tmp_path: Path) -> None:
    with pytest.raises(jelly.JellySyntaxError) as caught:
        list(jelly.query(b"<a:s> <a:p> <a:o> .\n<a:s> wrong", "SELECT * { ?s ?p ?o }", format="nt"))
    assert caught.value.line == 2
    with pytest.raises(FileNotFoundError):
        jelly.query(tmp_path / "none.jelly", NAMES)


def test_what_pyoxigraph_cannot_hold_is_named() -> None:
    data = jelly.dumps([jelly.Triple(Literal("x"), IRI("a:p"), IRI("a:o"))], {"generalized_statements": True})
    with pytest.raises(jelly.JellyUnsupportedError, match="pyoxigraph cannot hold the literal"):
        jelly.query(data, "SELECT * { ?s ?p ?o FILTER(?o = 1 || EXISTS { ?s <a:q> ?x }) }")
    assert len(list(jelly.query(data, "SELECT * { ?s ?p ?o }"))) == 1


def test_memory_has_a_limit() -> None:
    data = b"".join(b"<a:s%d> <a:p> <a:o%d> .\n" % (at % 1000, at) for at in range(20_000))
    with pytest.raises(jelly.JellyLimitError, match="memory"):
        jelly.query(
            data, "SELECT * { ?s <a:p> ?o FILTER(?o = 1 || EXISTS { ?s <a:q> ?x }) }", format="nt", memory=1 << 20
        )
    # Joins go on in temporary files, here of 4,000,000 rows.
    big = "SELECT (COUNT(*) AS ?n) { SELECT DISTINCT ?a ?b { ?s <a:p> ?a . ?t <a:p> ?b FILTER(?s = <a:s1>) } }"
    [(n,)] = jelly.query(data, big, format="nt", memory=1 << 26)
    assert n.value == "400000"


_MUCH = """
import jelly.rdflib._query.answer
def data():
    for at in range(300):
        begin = f"<http://example.org/of/a/long/name/that/takes/memory/{at}/"
        of = "^^<http://www.w3.org/2001/XMLSchema#integer>"
        yield "".join(f'{begin}{n}> <a:p> "{n % 90}"{of} .\\n' for n in range(1000)).encode()
jelly.query(b"<a:s> <a:p> 1 .", "SELECT ?s { ?s ?p ?o } ORDER BY ?o", format="ttl").to_arrow()
text = b"".join(data())
"""


@pytest.mark.parametrize(
    ("sparql", "memory", "found"),
    [
        ("SELECT (SUM(?o) AS ?n) { ?s <a:p> ?o }", 80, 1),
        ("SELECT ?o (MAX(STR(?s)) AS ?n) { ?s <a:p> ?o } GROUP BY ?o", 80, 90),
        ("SELECT ?s { ?s <a:p> ?o } ORDER BY ?s LIMIT 7", 80, 7),
        ("SELECT ?s { ?s <a:p> ?o FILTER(STR(?s) != STR(?o)) } LIMIT 9", 80, 9),
        ("SELECT ?s { ?s <a:p> ?o }", 24, None),  # the terms alone take more
        ("DESCRIBE ?s { ?s <a:p> ?o }", 60, None),
    ],
)
def test_what_a_query_holds_is_within_its_memory(sparql: str, memory: int, found: int | None) -> None:
    work = f"found = len(list(jelly.query(text, {sparql!r}, format='nt', memory={memory} << 20)))"
    refused = f"try:\n    {work}\nexcept jelly.JellyLimitError:\n    found = None"
    assert growth(_MUCH, f"{refused}\nassert found == {found}, found") < (memory << 20) + (24 << 20)


def test_what_a_query_held_goes_with_it(people: Path) -> None:
    # The errors of RDFLib's parser are circles, which hold the frames of all callers.
    def held() -> int:
        return sum(isinstance(each, jelly.GraphDictionary) for each in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = held()
        for n in range(3):
            sparql = f"SELECT ?s {{ ?s <a:p> ?o FILTER(STRLEN(STR(?s)) > {n} || !(?o = 1)) }} ORDER BY ?s"
            list(jelly.query(DATA, sparql, format="ttl"))
        assert held() == before
        with jelly.open(people) as file:  # which keeps it
            list(jelly.query(file, sparql.replace("?o = 1", "?o = 2")))
            assert held() == before + 1
        assert held() == before
    finally:
        gc.enable()


def test_large_groups_are_aggregated_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    data = "".join(f"<a:s{n % 7}> <a:p> {n} , {n}.5 .\n" for n in range(300)).encode()

    def rows(sparql: str) -> list[Any]:
        return sorted(tuple(map(str, row)) for row in jelly.query(data, sparql, format="ttl"))

    for select in ("SELECT ?s", "SELECT"):
        for of in ("?o", "DISTINCT ?o", "1/(?o - 33)", "DISTINCT STRLEN(STR(?o))"):
            for kind in ("SUM", "AVG", "MIN", "MAX"):
                group = " GROUP BY ?s" * (select != "SELECT")
                sparql = f"{select} ({kind}({of}) AS ?x) {{ ?s <a:p> ?o }}{group}"
                whole = rows(sparql)
                for n in (100, 3):
                    with monkeypatch.context() as patch:
                        patch.setattr(values, "_TOGETHER", n)
                        assert rows(sparql) == whole
    monkeypatch.setattr(values, "_TOGETHER", 50)
    monkeypatch.setattr(values, "_ROW", 1 << 20)
    [(joined,)] = jelly.query(data, "SELECT (GROUP_CONCAT(?o; SEPARATOR=', ') AS ?x) { ?s <a:p> ?o }", format="ttl")
    assert len(joined.value.split(", ")) == 600
    with pytest.raises(jelly.JellyLimitError, match=r"it is allowed: SUM\(DISTINCT \?v1\) of 600 rows in one group"):
        jelly.query(
            data, "SELECT (SUM(DISTINCT ?o) AS ?x) { ?s <a:p> ?o }", format="ttl", memory=1
        ).to_arrow().read_all()


def test_order_of_numbers() -> None:
    numbers = ["-INF", "-1e300", "-2.5", "-1e-300", "0", "1e-300", "2", "10", "1e300", "INF"]
    types = ["double" if set("eN") & set(each) else "decimal" for each in numbers]
    lines = [
        f'<a:s> <a:p> "{number}"^^<http://www.w3.org/2001/XMLSchema#{type}> .'
        for number, type in zip(numbers, types, strict=True)
    ]
    found = jelly.query("\n".join(sorted(lines)).encode(), "SELECT ?o { ?s ?p ?o } ORDER BY ?o", format="nt")
    assert [term.value for (term,) in found] == numbers


def test_solutions_come_before_all_are_there() -> None:
    data = b"".join(b"<a:s%d> <a:p> <a:o> .\n" % at for at in range(3000))
    found = jelly.query(data, "SELECT * { ?a <a:p> ?o . ?b <a:p> ?o . ?c <a:p> ?o }", format="nt")  # 27 billion
    first = next(iter(found.batches()))
    assert len(first) > 0
    found.close()


def test_queries_in_threads() -> None:
    # Objects of pyoxigraph that errors of other tests hold may not be let go of in another thread.
    gc.collect()
    failed: list[Any] = []

    def ask(at: int) -> None:
        name = f"FILTER(STRLEN(?n) = {at % 4})"
        try:
            found = sorted(
                row[0].value for row in jelly.query(DATA, f"SELECT ?n {{ ?s <a:name> ?n {name} }}", format="nt")
            )
            assert found == [value for value in ("Ann", "Bob", "X") if len(value) == at % 4]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask, args=[at]) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


@pytest.mark.parametrize("form", ["SELECT ?s", "CONSTRUCT { ?s ?p ?t }"])
def test_solutions_of_pyoxigraph_in_another_thread(form: str) -> None:
    """It would end the process. The first of many are taken at once."""
    data = b"".join(b"<a:s%d> <a:p> <a:o> .\n" % at for at in range(150))
    few = jelly.query(data, f"{form} {{ ?s ?p ?o . ?t ?p ?o FILTER(NOW() = NOW() && ?s = ?t) }}", format="nt")
    many = jelly.query(data, f"{form} {{ ?s ?p ?o . ?t ?p ?o FILTER(NOW() = NOW()) }}", format="nt")
    with ThreadPoolExecutor(1) as pool:
        assert len(pool.submit(list, few).result()) == 150
        with pytest.raises(jelly.JellyUnsupportedError, match="another thread can read the first 16384"):
            pool.submit(list, many).result()
    again = jelly.query(data, f"{form} {{ ?s ?p ?o . ?t ?p ?o FILTER(NOW() = NOW()) }}", format="nt")
    assert len(list(again)) == 22_500


def test_real_data() -> None:
    movies = shared("data") / "movies/30kmovies.nt.gz"
    film, actor = "http://rdf.freebase.com/film/film/", "http://rdf.freebase.com/film/performance/actor"
    sparql = f"SELECT ?d ?a {{ ?f <{film}directed_by> ?d ; <{film}starring> ?p . ?p <{actor}> ?a }}"
    assert sum(map(len, jelly.query(movies, sparql).batches())) == 29_967


@pytest.mark.parametrize(
    ("inner", "objects"),
    [
        ("OPTIONAL { ?z <a:r> ?o }", "xy"),
        ("MINUS { ?z <a:r> ?o }", "x"),
        ("FILTER NOT EXISTS { ?z <a:r> ?o }", "x"),
        ("FILTER EXISTS { ?z <a:r> ?o }", "y"),
        ("FILTER NOT EXISTS { ?z <a:r> ?w FILTER EXISTS { ?z <a:r> ?o } }", "x"),
    ],
)
def test_values_from_outside_within_exists(inner: str, objects: str) -> None:
    """They stand for the variables also in parts that are no joins (SPARQL 1.1, section 18.6)."""
    data = b"<a:s> <a:p> <a:x> , <a:y> ; <a:q> <a:z> . <a:z> <a:r> <a:y> ."
    for word, expected in (("", objects), ("NOT ", "".join(sorted({*"xy"} - {*objects})))):
        sparql = f"SELECT ?o {{ ?s <a:p> ?o FILTER {word}EXISTS {{ ?s <a:q> ?z {inner} }} }} ORDER BY ?o"
        assert "".join(term.value[2:] for (term,) in jelly.query(data, sparql, format="ttl")) == expected


@pytest.mark.parametrize(
    ("inner", "found"),
    [
        ("SELECT ?s { ?s <a:q> ?z FILTER(?o = <a:x>) }", ""),
        ("SELECT ?s { ?s <a:q> ?z FILTER(!BOUND(?o)) }", "xy"),
        ("SELECT ?s { ?s <a:q> ?z MINUS { ?s <a:p> ?o } }", ""),
        ("SELECT ?o { ?s <a:q> ?z BIND(<a:x> AS ?o) }", "x"),
    ],
)
def test_variables_that_a_part_of_exists_does_not_select(inner: str, found: str) -> None:
    """They are none from outside, as SPARQL 1.2 says; the substitution of 1.1 is not defined for them."""
    data = b"<a:s> <a:p> <a:x> , <a:y> ; <a:q> <a:z> ."
    sparql = f"SELECT ?o {{ ?s <a:p> ?o FILTER EXISTS {{ {inner} }} }} ORDER BY ?o"
    assert jelly.query(data, sparql, format="ttl", explain=True).startswith("DuckDB")
    assert "".join(term.value[2:] for (term,) in jelly.query(data, sparql, format="ttl")) == found


@pytest.mark.parametrize(
    ("sparql", "n"),
    [
        ("SELECT (EXISTS { ?s <a:q> ?z } AS ?e) { ?s <a:p> ?o }", None),
        ("SELECT ?s { ?s <a:p> ?o } GROUP BY ?s HAVING(EXISTS { ?s <a:q> ?z })", 1),
        ("SELECT ?e { ?s <a:p> ?o } GROUP BY (EXISTS { ?s <a:q> ?z } AS ?e)", 2),
    ],
)
def test_statements_that_exists_asks_for_are_kept(sparql: str, n: int | None) -> None:
    """Also where RDFLib leaves EXISTS as it has parsed it."""
    data = b"<a:s> <a:p> <a:x> ; <a:q> <a:z> . <a:t> <a:p> <a:x> ."
    rows = [[term.value for term in row] for row in jelly.query(data, sparql, format="ttl")]
    assert sorted(rows) == [["false"], ["true"]] if n is None else len(rows) == n


@pytest.mark.parametrize(
    ("inner", "graphs"),
    [
        ("VALUES ?x { 1 }", "gh"),
        ("{ ?s <a:p> ?o } UNION { VALUES ?x { 1 } }", "gh"),
        ("SELECT (COUNT(*) AS ?n) { ?s <a:p> ?o }", "gh"),
        ("SELECT (COUNT(*) AS ?n) { ?s <a:p> ?o } GROUP BY ?s", "g"),
        ("<a:s> <a:p>* ?y", "gh"),
        ("<a:s> <a:p> ?y OPTIONAL { VALUES ?x { 1 } }", "g"),
        ("VALUES ?x { 1 } ?s <a:p> ?o", "g"),
    ],
)
def test_graphs_without_statements_that_match(inner: str, graphs: str) -> None:
    """Each named graph counts where a pattern may have a solution of no statements (SPARQL 1.1, section 18.5)."""
    data = b"<a:s> <a:p> <a:o> <a:g> .\n<a:x> <a:q> <a:o> <a:h> .\n<a:a> <a:p> <a:b> .\n"
    found = jelly.query(data, f"SELECT DISTINCT ?g {{ ?a <a:p> ?b . GRAPH ?g {{ {inner} }} }}", format="nq")
    assert sorted(term.value[2:] for (term,) in found) == sorted(graphs)


@pytest.mark.parametrize(
    ("where", "rows"),  # of ?h, ?g and ?o
    [
        ("GRAPH ?h { GRAPH ?g { ?s <a:q> ?o } }", "ggo ghy hgo hhy"),
        ("GRAPH ?g { GRAPH ?g { ?s <a:q> ?o } }", "-go -hy"),
        ("GRAPH <a:h> { GRAPH ?g { ?s <a:q> ?o } }", "-go -hy"),
        ("GRAPH ?g { GRAPH <a:h> { ?s <a:q> ?o } }", "-gy -hy"),
        ("GRAPH ?g { GRAPH <a:none> { ?s <a:q> ?o } }", ""),
        ("GRAPH ?g { ?s <a:q> ?o FILTER NOT EXISTS { GRAPH <a:h> { ?s <a:q> ?o } } }", "-go"),
        # LIMIT and OFFSET are of the solutions in one graph.
        ("GRAPH ?g { SELECT ?o { ?s ?p ?o } ORDER BY ?o LIMIT 1 }", "-go -hx"),
        ("GRAPH ?g { SELECT ?o { ?s ?p ?o } ORDER BY ?o OFFSET 1 }", "-gp -hy"),
        ("GRAPH ?g { SELECT ?o { VALUES ?o { <a:1> <a:2> <a:3> } } ORDER BY DESC(?o) OFFSET 1 LIMIT 1 }", "-g2 -h2"),
        ("GRAPH ?g { ?s <a:q> ?o { SELECT ?o { ?s ?p ?o } ORDER BY ?o LIMIT 1 } }", "-go"),
        ("GRAPH ?g { SELECT (COUNT(*) AS ?o) { SELECT ?s { ?s ?p ?o } LIMIT 1 } }", "-g1 -h1"),
        ("GRAPH ?g { SELECT ?o { ?s ?p ?o } LIMIT 0 }", ""),
    ],
)
def test_graphs_within_graphs_and_parts_of_each(where: str, rows: str) -> None:
    """For pyoxigraph the outer variable has no value, and LIMIT is of all graphs (SPARQL 1.1, section 18.6)."""
    data = b"""<a:s> <a:q> <a:o> <a:g> .
<a:s> <a:p> <a:p> <a:g> .
<a:s> <a:p> <a:x> <a:h> .
<a:s> <a:q> <a:y> <a:h> .
<a:s> <a:q> <a:z> ."""
    found = jelly.query(data, f"SELECT ?h ?g ?o {{ {where} }}", format="nq")
    assert sorted("".join(term.value[-1] if term else "-" for term in row) for row in found) == rows.split()


@pytest.mark.parametrize(
    ("sparql", "rows"),
    [
        ("SELECT ?s ?v { ?s <a:p> ?o } GROUP BY ?s VALUES ?v { 1 }", "s1 t1"),
        ("SELECT ?s (STR(?v) AS ?w) { ?s <a:p> ?o } GROUP BY ?s VALUES ?v { 1 }", "s1 t1"),
        ("SELECT ?s (?o + 1 AS ?w) { ?s <a:p> ?o } GROUP BY ?s VALUES (?s ?o) { (<a:s> 6) (<a:u> 7) }", "s7"),
        ("SELECT ?s { ?s <a:p> ?o } GROUP BY ?s ORDER BY (COUNT(*)*0) ?k VALUES (?s ?k) {(<a:s> 2) (<a:t> 1)}", "t s"),
        ("SELECT ?s { ?s <a:p> ?o } GROUP BY ?s HAVING(?k > 0) VALUES (?s ?k) { (<a:s> 2) (<a:t> 1) }", ""),
        ("CONSTRUCT { ?s <a:k> ?k } { ?s <a:p> ?o } VALUES (?s ?k) { (<a:s> 2) (<a:u> 1) }", "sk2"),
        ("CONSTRUCT { ?k <a:k> ?s } { ?s <a:p> ?o } ORDER BY ?s LIMIT 1 VALUES ?k { <a:x> }", "xks"),
        ("CONSTRUCT { ?k <a:k> <a:z> } { } VALUES (?k ?n) { (<a:x> 1) }", "xkz"),
    ],
)  # fmt: skip
def test_the_last_values_are_joined_after_groups(sparql: str, rows: str) -> None:
    """Before expressions, an order and a template have their variables (SPARQL 1.1, section 18.2.4.3)."""
    found = jelly.query(b"<a:s> <a:p> 1 , 2 . <a:t> <a:p> 3 .", sparql, format="ttl")
    terms = found if isinstance(found, Results) else ((each.s, each.p, each.o) for each in found)
    assert ["".join(term.value[-1] for term in row) for row in terms] == rows.split()


def test_solutions_have_no_blank_nodes_of_patterns() -> None:
    [(n,)] = jelly.query(b"<a:s> <a:p> 1 , 2 .", "SELECT (COUNT(DISTINCT *) AS ?n) { ?s <a:p> [] }", format="ttl")
    assert n.value == "1"


@pytest.mark.parametrize("key", ["STR(?s)", "(STR(?s))", "?o STRLEN(STR(?s))"])
def test_groups_of_an_expression_without_a_name(key: str) -> None:
    data = b"<a:s> <a:p> 1 , 1.0 . <a:t> <a:p> 1 ."
    found = jelly.query(data, f"SELECT (COUNT(*) AS ?n) {{ ?s <a:p> ?o }} GROUP BY {key}", format="ttl")
    assert sorted(term.value for (term,) in found) == ["1", "2"]


@pytest.mark.parametrize(
    ("select", "rest", "rows"),
    [
        ("?s (COUNT(?x) AS ?c) (?c*2 AS ?d)", "GROUP BY ?s ORDER BY ?s", ["b 1 2", "s 2 4"]),
        ("(COUNT(?x) AS ?c) (?c*2 AS ?d) (?d + SUM(?x) AS ?e)", "", ["3 6 13"]),
        ("?k (COUNT(?x) AS ?c) (?c + ?k AS ?d)", "GROUP BY (STRLEN(STR(?s)) AS ?k)", ["3 3 6"]),
        ("?s (COUNT(?x) AS ?c) (IF(?c > 1, SUM(?x)/?c, 0) AS ?d)", "GROUP BY ?s ORDER BY ?d", ["b 1 0", "s 2 1.5"]),
        ("?s (COUNT(?x) AS ?c)", "GROUP BY ?s ORDER BY DESC(?c) SUM(?x)", ["s 2", "b 1"]),
        ("?s (COUNT(?x) AS ?c)", "GROUP BY ?s HAVING (?x > 1)", []),  # it is no name of a group
        ("?s (SUM(?x)/?c AS ?d) (COUNT(?x) AS ?c)", "GROUP BY ?s", None),
        ("?s (COUNT(?x) AS ?c) (?c + ?x AS ?d)", "GROUP BY ?s", None),
        ("?s (COUNT(?x) AS ?c) (?c + +1.0 AS ?d)", "GROUP BY ?s", None),  # which RDFLib cannot be asked for
    ],
)
def test_names_of_aggregates_in_other_expressions(select: str, rest: str, rows: list[str] | None) -> None:
    """pyoxigraph takes it for an error, RDFLib looks for the names in the group (SPARQL 1.1, section 18.2.4.4)."""
    data = b"<a:s> <a:p> 1 , 2 . <a:b> <a:p> 4 ."
    sparql = f"SELECT {select} {{ ?s <a:p> ?x }} {rest}"
    if rows is None:
        with pytest.raises(jelly.JellySyntaxError, match="no SPARQL query"):
            jelly.query(data, sparql, format="ttl")
        return
    found = jelly.query(data, sparql, format="ttl")
    assert [" ".join(term.value.removeprefix("a:") for term in row) for row in found] == rows
    assert found.variables[0] in select
    if "?d" in select:
        with pytest.raises(jelly.JellyUnsupportedError, match="has no names of aggregates in other expressions"):
            jelly.query(data, sparql.replace("?x }", "?x FILTER(?x = 1 || EXISTS { ?s ?q 1 }) }"), format="ttl")


@pytest.mark.parametrize(
    ("sparql", "found"),
    [
        ("ASK { ?s <a:p> ?x } GROUP BY ?s HAVING(COUNT(*) > 1)", True),
        ("PREFIX group: <a:> ASK { ?s group:p ?x } GROUP BY ?s HAVING(COUNT(*) > 2)", False),
        ("ASK { ?s <a:q> ?x } GROUP BY ?s", False),
        ("ASK { ?s <a:q> ?x } HAVING(COUNT(*) = 0)", True),
        ("CONSTRUCT { ?s <a:r> <a:t> } { ?s <a:p> ?x } GROUP BY ?s HAVING(COUNT(*) > 1)", ["<a:s> <a:r> <a:t> ."]),
        ("CONSTRUCT { ?s <a:r> ?x } { ?s <a:p> ?x } GROUP BY ?s", []),  # it is no name of a group
        ("DESCRIBE ?s { ?s <a:p> ?x } GROUP BY ?s HAVING(MAX(?x) > 3)", [f'<a:b> <a:p> {jelly.Literal(4)} .']),
        ("ASK { ?s <a:p> } GROUP BY ?s", jelly.JellySyntaxError),
        ("ASK { ?s <a:p> ?x } GROUP ?s", jelly.JellySyntaxError),
        ("ASK { { SELECT ?s { ?s ?p ?o } GROUP BY ?s } BIND(1 AS ?s) }", jelly.JellySyntaxError),
        ("ASK { ?s <a:p> ?x FILTER(?x = 1 || EXISTS { ?s ?q 1 }) } GROUP BY ?s", jelly.JellyUnsupportedError),
        ("ASK { SERVICE <http://x/> { ?s ?p ?o } } GROUP BY ?s", jelly.JellyUnsupportedError),
    ],
)
def test_groups_of_other_queries(sparql: str, found: Any) -> None:
    """pyoxigraph reads them after SELECT only (SPARQL 1.1, section 19.8, rule 18)."""
    data = b"<a:s> <a:p> 1 , 2 . <a:b> <a:p> 4 ."
    if isinstance(found, type):
        with pytest.raises(found):
            jelly.query(data, sparql, format="ttl")
        return
    made = jelly.query(data, sparql, format="ttl")
    assert found == (made.boolean if isinstance(found, bool) else [str(statement) for statement in made])


def test_values_after_a_part_that_selects_all() -> None:
    data = b"<a:s> <a:p> <a:x> , <a:y> ."
    sparql = "SELECT ?n { { SELECT * { ?s <a:p> ?o } VALUES (?o ?n) { (<a:x> 1) (<a:y> 2) } } } ORDER BY ?n"
    assert [term.value for (term,) in jelly.query(data, sparql, format="ttl")] == ["1", "2"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('"^(.*?)d(.*)$", "$1c$2"', "carted"), ('"(D)", "[$1x]", "i"', "[dx]arte[dx]"), ('"(d)", "$12"', "d2arted2"),
        ('"(d)(a)", "$2_$1"', "a_drted"), (r'"d", "\\$"', "$arte$"), (r'"d", "\\\\"', "\\arte\\"),
        ('"d", "$0$0"', "ddartedd"), ('"(.)(.)(.)(.)(.)(.)", "$6$5$4$3$2$1"', "detrad"),
        ('"(?:d)(a)", "$1$10"', "aa0rted"), ('"d", "$1", "q"', "$1arte$1"),
    ],
)  # fmt: skip
def test_replacements_are_those_of_xpath(arguments: str, text: str) -> None:
    """For pyoxigraph $1c is a group of this name, and it has no escapes."""
    sparql = f"SELECT (REPLACE(?o, {arguments}) AS ?x) {{ ?s ?p ?o }}"
    [(found,)] = jelly.query(b'<a:s> <a:p> "darted" .', sparql, format="nt")
    assert found.value == text


@pytest.mark.parametrize("where", ["?s ?p ?o", "{ ?s ?p ?o } UNION { ?s ?p ?o }"])
def test_an_empty_template_makes_nothing(where: str) -> None:
    assert list(jelly.query(DATA, f"CONSTRUCT {{ }} WHERE {{ {where} }}", format="nt")) == []


def test_tags_that_differ_in_case_only(tmp_path: Path) -> None:
    data = b'<a:1> <a:p> "x"@EN .\n<a:2> <a:p> "x"@en .\n<a:3> <a:p> "x" .'
    path = tmp_path / "x.jelly"
    jelly.convert(data, path, format="nt", index="terms")
    with jelly.open(path) as file:
        for tag, subjects in (("en", "2"), ("EN", "1"), ("En", ""), ("en", "2")):
            found = jelly.query(file, f'SELECT ?s {{ ?s <a:p> "x"@{tag} }}')
            assert "".join(term.value[2:] for (term,) in found) == subjects
    both = 'SELECT ?s ?t { ?s <a:p> "x"@EN . ?t <a:p> "x"@en }'
    assert [tuple(row) for row in jelly.query(data, both, format="nt")] == [(IRI("a:1"), IRI("a:2"))]
    values = 'SELECT ?s { VALUES ?x { "x"@en "x"@EN } ?s <a:p> ?x }'
    assert len(list(jelly.query(data, values, format="nt"))) == 2


@pytest.mark.parametrize(
    ("type", "values"),
    [
        ("integer", ["-1234567890123456790", "1234567890123456787", "1234567890123456788", "1234567890123456790"]),
        ("decimal", ["-0.5", "0.1", "12345678901234567890.0", "12345678901234567891", "12345678901234567893.00"]),
        ("dateTime", [
            "-0044-03-15T00:00:00Z", "2019-12-31T23:29:59Z", "2020-01-01T00:30:00.5+01:00", "2020-01-01T00:00:00Z",
            "2019-12-31T20:00:00-05:00", "10000-01-01T00:00:00",
        ]),
        ("date", ["2019-12-31Z", "2020-01-01+05:00", "2020-01-01Z", "2020-03-01", "12020-01-01"]),
        ("boolean", ["0", "true"]),
        ("dayTimeDuration", ["-P1D", "-PT2H", "PT0S", "PT9M1.5S", "PT10M", "PT2H", "PT10H", "P2D", "P10D"]),
        ("yearMonthDuration", ["-P2Y", "P5M", "P1Y", "P13M", "P10Y"]),
        ("double", ["-INF", "0", "INF", "NaN"]),
    ],
)  # fmt: skip
def test_order_of_values(type: str, values: list[str]) -> None:
    """As the operator "less than" has them (SPARQL 1.1, section 15.1)."""
    lines = [f'<a:s> <a:p> "{value}"^^<http://www.w3.org/2001/XMLSchema#{type}> .' for value in values]
    for order, expected in (("ASC", values), ("DESC", values[::-1])):
        found = jelly.query(
            "\n".join(sorted(lines)).encode(), f"SELECT ?o {{ ?s ?p ?o }} ORDER BY {order}(?o)", format="nt"
        )
        assert [term.value for (term,) in found] == expected


def test_order_of_equal_numbers():
    """A decimal and a double that are equal leave the order to the next condition."""
    kinds = ["double", "decimal", "double", "decimal"]
    text = "".join(
        f'<a:{i + 5 * at}> <a:p> "{value}"^^<http://www.w3.org/2001/XMLSchema#{kind}> .\n'
        for i, kind in enumerate(kinds)
        for at, value in enumerate(["0.5", "19.99"])
    )
    found = jelly.query(text.encode(), "SELECT ?s { ?s ?p ?o } ORDER BY ?o ?s", format="nt")
    assert [term.value for (term,) in found] == ["a:0", "a:1", "a:2", "a:3", "a:5", "a:6", "a:7", "a:8"]



def test_order_of_triple_terms() -> None:
    """They come after literals (SPARQL 1.2, section 15.1), and by their parts."""
    terms = [
        "<a:z>", "5", "'zzz'", "<<( _:c <a:z> <a:z> )>>", "<<( <a:a> <a:z> <a:z> )>>", "<<( <a:s> <a:o> 5 )>>",
        "<<( <a:s> <a:p> <a:o> )>>", "<<( <a:s> <a:p> 2 )>>", "<<( <a:s> <a:p> 10 )>>", "<<( <a:s> <a:p> 'b' )>>",
        "<<( <a:s> <a:p> <<( <a:s> <a:p> 3 )>> )>>",
    ]  # fmt: skip
    data = f"<a:i> <a:p> {', '.join(terms[::-1])} .".encode()
    for order, expected in (("ASC", terms), ("DESC", terms[::-1])):
        found = jelly.query(data, f"SELECT ?o {{ <a:i> <a:p> ?o }} ORDER BY {order}(?o)", format="ttl")
        wanted = jelly.query(b"".join(b"<a:%d> <a:p> %s .\n" % (n, t.encode()) for n, t in enumerate(expected, 10)),
                             "SELECT ?o { ?s <a:p> ?o } ORDER BY ?s", format="ttl")  # fmt: skip
        assert [str(t).replace("_:b", "_:") for (t,) in found] == [str(t).replace("_:b", "_:") for (t,) in wanted]


def test_order_of_what_is_no_value() -> None:
    wrong = [("sNaN", "double"), ("x", "integer"), ("2020", "dateTime"), ("maybe", "boolean")]
    lines = [f'<a:s> <a:p> "{value}"^^<http://www.w3.org/2001/XMLSchema#{type}> .' for value, type in wrong]
    found = jelly.query("\n".join(lines).encode(), "SELECT ?o { ?s ?p ?o } ORDER BY ?o", format="nt")
    assert sorted(term.value for (term,) in found) == sorted(value for value, _ in wrong)


# ---- the commands


def run(*words: Any) -> tuple[int, str, str]:
    done = CliRunner().invoke(cli, [str(word) for word in words])
    return done.exit_code, done.stdout, done.stderr


def test_command(people: Path, tmp_path: Path) -> None:
    assert run("query", people, NAMES) == (
        0, '?s\t?n\n<a:ann>\t"Ann"\n<a:bob>\t"Bob"\n_:x\t"X"@en\n', ""
    )  # fmt: skip
    question = tmp_path / "names.rq"
    question.write_text(f"\ufeff{NAMES}\r\n", newline="", encoding="utf-8")
    out = tmp_path / "names.jellys"
    assert run("query", people, question, "-o", out) == (0, "", f"{out}: 3 rows\n")
    assert len(list(jelly.results.read_results(out))) == 3
    assert run("query", people, NAMES + " LIMIT 1", "-o", out) == (0, "", f"{out}: 1 row\n")
    assert run("query", people, "CONSTRUCT WHERE { ?s <a:knows> ?o }")[1] == "<a:ann> <a:knows> <a:bob> .\n"
    assert run("query", people, "ASK { ?s <a:knows> ?o }")[:2] == (0, "true\n")
    assert run("query", people, "ASK { ?s <a:hates> ?o }")[:2] == (1, "false\n")
    assert run("query", people, "ASK { ?s <a:hates> ?o }", "--to", "srj")[:2] == (
        0, '{"head":{},"boolean":false}\n'
    )  # fmt: skip
    answer = tmp_path / "answer.srj"
    assert run("query", people, "ASK { ?s <a:hates> ?o }", "-o", answer) == (0, "", f"{answer}: false\n")
    told = run("query", people, "ASK { ?s <a:knows> ?o }", "-o", answer, "--json")[1]
    assert json.loads(told) == {"file": str(answer), "boolean": True}
    assert run("query", people, NAMES, "--explain")[1].startswith("DuckDB")
    quoted = tmp_path / "quoted.nt"
    quoted.write_text("<< <a:x> <a:y> <a:z> >> <a:p> <a:o> .\n")
    count = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
    assert run("query", quoted, count, "--star", "reifies")[1].split()[1].startswith('"2"')
    assert "--star reifies" in run("query", quoted, "SELECT * { << ?x ?y ?z >> ?p ?o }")[2]


def test_command_refuses(people: Path, tmp_path: Path) -> None:
    code, _, told = run("query", people, "SELECT nothing")
    assert (code, told.startswith("error: this is no SPARQL query")) == (1, True)
    update = "PREFIX delete: <a:insert> # add\nDELETE WHERE { ?s ?p ?o }"
    code, _, told = run("query", people, update)
    assert (code, told.startswith("error: this is an update (DELETE), not a query")) == (1, True)
    assert run("query", people, tmp_path / "none.rq")[0] == 2
    assert run("query", people, NAMES, "-o", tmp_path / "x.parquet")[0] == 2


@pytest.mark.parametrize(
    ("sparql", "name", "told"),
    [
        ("SELECT * { ?s ?p ?o }", "x.nope", "unknown suffix '.nope'"),
        ("SELECT * { ?s ?p ?o }", "x.nt", "is of statements, not of query results"),
        ("SELECT * { ?s ?p ?o }", "none/x.tsv", "the directory {}/none does not exist"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "x.srj", "this command writes statements, not query results"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "none/x.nt", "the directory {}/none does not exist"),
        ("DESCRIBE <a:s>", "x.nope", "unknown suffix '.nope'"),
        ("ASK { ?s ?p ?o }", "x.csv", "cannot hold the answer of an ASK query"),
        ("SELECT * { ?s ?p", "x.tsv", "this is no SPARQL query"),
    ],
)
def test_command_refuses_an_output_before_it_reads(tmp_path: Path, sparql: str, name: str, told: str) -> None:
    wrong = tmp_path / "wrong.nt"
    wrong.write_text("these are no statements\n")
    code, _, error = run("query", wrong, sparql, "-o", tmp_path / name)
    assert code
    assert told.format(tmp_path) in error
    assert "expected a term" in run("query", wrong, "ASK { ?s ?p ?o }")[2]


def test_validate_by_shapes(people: Path, tmp_path: Path) -> None:
    shapes = tmp_path / "shapes.ttl"
    shapes.write_text(
        "@prefix sh: <http://www.w3.org/ns/shacl#> . "
        "<a:shape> sh:targetNode <a:ann>, <a:bob> ; sh:property [ sh:path <a:age> ; sh:minCount 1 ] ."
    )
    code, told, _ = run("validate", people, "--shapes", shapes)
    assert code == 1
    assert "Conforms: False" in told
    assert "<a:ann>" in told
    shapes.write_text(shapes.read_text().replace("<a:ann>, ", ""))
    assert run("validate", people, "--shapes", shapes)[0] == 0
    assert run("validate", people, "--shapes", shapes, "--frame", 1)[0] == 2
    code, _, told = run("validate", people, "--shapes", shapes, "--messages")
    assert (code, "--messages does not go with --shapes" in told) == (2, True)


def test_an_open_file_is_read_once(tmp_path, monkeypatch):
    """What a query has read of a file stays while it is open, within the memory of the query."""
    path = str(tmp_path / "x.jelly")
    jelly.write(path, [jelly.Triple(jelly.IRI(f"a:{i}"), jelly.IRI(f"a:p{i % 3}"), jelly.Literal(str(i)))
                       for i in range(300)], index="terms", keyframe_rows=100, frame_rows=1)  # fmt: skip
    read: list[int] = []
    whole = jelly.JellyFile._read

    def noted(self, segment):
        read.append(segment[0].statement)
        return whole(self, segment)

    monkeypatch.setattr(jelly.JellyFile, "_read", noted)

    def counted(*predicates, **settings):
        read.clear()
        pattern = " UNION ".join(f"{{ ?s <a:{name}> ?o }}" for name in predicates)
        query = f"SELECT (COUNT(*) AS ?n) {{ {pattern} FILTER(STRLEN(?o) > 0) }}"
        [(n,)] = jelly.query(settings.pop("of", file), query, **settings)
        return int(n.value), len(read)

    with jelly.open(path) as file:
        assert counted("p0", "p1") == (200, 3)
        assert counted("p1") == (100, 0)
        assert counted("p0", "p1") == (200, 0)
        assert counted("p2") == (100, 3)
        assert counted("p0", memory=1 << 14) == (100, 0)  # all are too much for this memory
        assert counted("p0") == (100, 3)
        # While one is read another one reads the file.
        some = iter(jelly.query(file, "SELECT ?s { ?s <a:p0> ?o }"))
        next(some)
        assert counted("p0") == (100, 3)
        assert len(list(some)) == 99
        read.clear()
        filtered = jelly.scan(file).filter(o='"6"')
        assert counted("p0", of=filtered)[0] == 1
        assert counted("p0", of=jelly.scan(file)) == (100, 0)
        assert counted("p0", of=path) == (100, 3)
    with pytest.raises(jelly.JellyError, match="the file is closed"):
        jelly.query(file, "SELECT ?s { ?s <a:p0> ?o }")


def test_few_connections_wait_for_queries() -> None:
    from jelly.rdflib._query.engine import _MOST_IDLE, _idle

    data = b"<a:s> <a:p> <a:o> .\n" * 3
    begun = [iter(jelly.query(data, "SELECT * { ?s ?p ?o }", format="nt")) for _ in range(_MOST_IDLE + 3)]
    for each in begun:
        assert len(list(each)) == 1
    assert len(_idle[os.getpid()]) == _MOST_IDLE


def test_an_open_file_keeps_what_its_queries_read_until_it_is_closed(people: Path) -> None:
    from jelly.rdflib._query.engine import _kept

    file = jelly.open(people)

    def rows(_: object) -> list[str]:
        return sorted(map(str, jelly.query(file, "SELECT * { ?s ?p ?o }")))

    first = rows(0)
    [engine] = _kept[file][1]
    assert len(first) == 5
    assert rows(0) == first
    assert _kept[file][1] == [engine]
    with ThreadPoolExecutor(4) as pool:
        assert all(found == first for found in pool.map(rows, range(12)))
    file.close()
    assert file not in _kept
