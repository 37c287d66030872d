"""Tables of ids, vertical and wide tables, made by an ingest on Spark from files, and made again."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow.parquet as parquet
import pyoxigraph
import pytest
from click.testing import CliRunner

import jelly
import jelly.spark
from jelly.cli.commands import cli
from jelly.spark import _ingest, graph_tables, ingest, term_id
from jelly.spark import _tables as plans
from jelly.spark._ingest import buckets
from jelly.spark._ingest.tasks import DirectoryTasks

EX = "http://example.org/"
FOAF = "http://xmlns.com/foaf/0.1/"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
XSD = "http://www.w3.org/2001/XMLSchema#"

PEOPLE = f"""
@prefix : <{EX}> .
@prefix foaf: <{FOAF}> .
@prefix xsd: <{XSD}> .
:ann a foaf:Person ; foaf:name "Ann" ; foaf:age 41 ; foaf:knows :bob, :cleo ; :born "1980-02-29"^^xsd:date .
:bob a foaf:Person, :Author ; foaf:name "Bob"@en ; foaf:age 007 ; foaf:knows :ann ; :member true ; :height 1.8 .
:cleo a :Author ; foaf:name "Cleo" ; :wrote :book, [ a :Letter ; :title "Dear Ann" ] ; :height 1.75 .
:book :title "On Trees"@en, "Über Bäume"@de ; :seen "2024-01-01T10:00:00Z"^^xsd:dateTime ; :born "1999"^^xsd:gYear .
"""
MORE = f"""
<{EX}dan> <{TYPE}> <{FOAF}Person> .
<{EX}dan> <{FOAF}knows> <{EX}ann> .
<{EX}dan> <{FOAF}age> "unknown" .
<{EX}dan> <http://example.com/name> "Dan" .
"""


@pytest.fixture
def src(tmp_path: Path) -> Path:
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "people.ttl").write_text(PEOPLE)
    graph = "".join(f'<{EX}{i}> <{FOAF}knows> <{EX}{i * 7 % 100}> <{EX}graph> .\n' for i in range(100))
    jelly.write(folder / "graph.jelly", jelly.read(graph.encode(), format="nq"))
    return folder


def from_oxigraph(folder: Path) -> Counter[tuple[str, ...]]:
    """The statements of the files that pyoxigraph reads, in N-Triples syntax, without labels of blank nodes."""
    found: Counter[tuple[str, ...]] = Counter()
    for path in folder.iterdir():
        data, format = path.read_bytes(), path.suffix[1:]
        if format == "jelly":
            data, format = b"".join(str(quad).encode() + b"\n" for quad in jelly.read(path)), "nq"
        formats = {"nq": pyoxigraph.RdfFormat.N_QUADS, "nt": pyoxigraph.RdfFormat.N_TRIPLES,
                   "ttl": pyoxigraph.RdfFormat.TURTLE}  # fmt: skip
        for quad in pyoxigraph.parse(data, formats[format]):
            graph = "" if isinstance(quad.graph_name, pyoxigraph.DefaultGraph) else str(quad.graph_name)
            row = [*map(str, (quad.subject, quad.predicate, quad.object)), graph]
            found[tuple("_:" if term.startswith("_:") else term for term in row)] += 1
    return found


def text(kind: str, value: str, datatype: str | None, lang: str | None) -> str:
    """A term in N-Triples syntax, as pyoxigraph writes it, but without the label of a blank node."""
    if kind == "bnode":
        assert value.startswith("_:jf")  # scoped by source
        return "_:"
    if kind == "iri":
        return str(pyoxigraph.NamedNode(value))
    assert kind == "literal"
    type = pyoxigraph.NamedNode(datatype) if datatype else None
    return str(pyoxigraph.Literal(value, language=lang) if lang else pyoxigraph.Literal(value, datatype=type))


COLUMNS = ("kind", "value", "datatype", "lang")
JOIN = f"""
    select {", ".join(f"{part}.{name}" for part in "spog" for name in COLUMNS)}
    from read_parquet('$/triples/*/*.parquet') t
    join read_parquet('$/terms/*/*.parquet') s on t.subject = s.id
    join read_parquet('$/terms/*/*.parquet') p on t.predicate = p.id
    join read_parquet('$/terms/*/*.parquet') o on t.object = o.id
    left join read_parquet('$/terms/*/*.parquet') g on t.graph = g.id
"""


def joined(out: Path) -> Counter[tuple[str, ...]]:
    """The statements of tables of ids, joined by DuckDB."""
    rows = duckdb.sql(JOIN.replace("$", str(out))).fetchall()
    return Counter(
        tuple("" if row[i] is None else text(*row[i : i + 4]) for i in range(0, 16, 4)) for row in rows
    )


def terms(out: Path) -> dict[int, tuple[Any, ...]]:
    rows = duckdb.sql(f"select * exclude bucket from read_parquet('{out}/terms/*/*.parquet')").fetchall()
    found = {row[0]: row[1:] for row in rows}
    assert len(found) == len(set(found.values())) == len(rows)
    return found


def files(out: Path, table: str) -> dict[str, float]:
    return {str(path): path.stat().st_mtime for path in (out / table).rglob("*.parquet")}


def test_ids_join_to_the_statements_of_the_sources(spark: Any, src: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = ingest(src, out, spark=spark, layout="ids", split_bytes=200)
    assert first.tasks == 2
    assert joined(out) == from_oxigraph(src)
    assert sum(joined(out).values()) == first.statements
    known = terms(out)
    assert first.terms == len(known)
    assert {path.name for path in out.rglob("_*")} == {"_ingest", "_SUCCESS"}
    # What is done is not done again.
    again = ingest(src, out, spark="a master that is not asked for", layout="ids")
    assert (again.statements, again.terms, again.done_before) == (0, 0, 2)
    assert terms(out) == known
    # The directory stays as it is. In another one old terms keep their ids.
    before = files(out, "terms") | files(out, "triples")
    (src / "more.nt").write_text(MORE)
    with pytest.raises(jelly.JellyError, match=r'sources are new .*more.nt.*of layout "ids" are made once.*to=.delta'):
        ingest(src, out, spark=spark, layout="ids", split_bytes=200)
    assert before == files(out, "terms") | files(out, "triples")
    out = tmp_path / "second"
    second = ingest(src, out, spark=spark, layout="ids", split_bytes=200)
    more = terms(out)
    assert known.items() <= more.items()
    new = {row[1] for id, row in more.items() if id not in known}
    assert new == {f"{EX}dan", "unknown", "http://example.com/name", "Dan"}
    assert second.terms == len(known) + 4
    assert joined(out) == from_oxigraph(src)
    (src / "more.nt").write_text(MORE.replace("Dan", "Daniel"))
    for settings in ({}, {"prune": True}):
        with pytest.raises(jelly.JellyError, match=r"sources have changed or are gone .*only added to"):
            ingest(src, out, spark=spark, layout="ids", split_bytes=200, **settings)
    # Spark reads the same, and an id can be computed.
    triples = spark.read.parquet(str(out / "triples"))
    assert set(triples.columns) == {"subject", "predicate", "object", "graph", "bucket"}
    assert triples.where(triples.predicate == term_id(f"<{FOAF}knows>")).count() == 104
    assert more[term_id('"Bob"@en')] == ("literal", "Bob", None, "en")


def interrupted(*args: Any) -> None:
    raise KeyboardInterrupt


def test_a_run_that_ends_between_two_steps_is_completed(
    spark: Any, src: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    run = _ingest._run

    def tasks_only(session: Any, work: Any, tasks: Any, commit: Any) -> None:
        if isinstance(tasks[0], buckets.Step):
            raise KeyboardInterrupt
        run(session, work, tasks, commit)

    # The triples are written, but their terms are not merged: readers see nothing of them.
    with monkeypatch.context() as patch:
        patch.setattr(_ingest, "_run", tasks_only)
        with pytest.raises(KeyboardInterrupt):
            ingest(src, out, spark=spark, layout="ids")
    assert not files(out, "triples")
    # The terms are merged, but nothing is published.
    with monkeypatch.context() as patch:
        patch.setattr(DirectoryTasks, "publish", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ingest(src, out, spark=spark, layout="ids")
    assert not files(out, "triples")
    last = ingest(src, out, spark=spark, layout="ids")
    assert (last.statements, last.tasks) == (0, 0)
    assert not files(out, "_scratch")
    assert joined(out) == from_oxigraph(src)


def catalogue(out: Path) -> list[dict[str, Any]]:
    return duckdb.sql(f"select * from read_parquet('{out}/catalogue/*.parquet')").to_arrow_table().to_pylist()


def table(out: Path, name: str) -> list[dict[str, Any]]:
    frame = polars.read_parquet(f"{out}/tables/{name}/*.parquet")
    return frame.sort(frame.columns[0]).to_dicts()


def test_vertical_tables(spark: Any, src: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = ingest(src, out, spark=spark, layout="vertical", buckets=4)
    found = {row["predicate"]: row for row in catalogue(out)}
    assert first.tables == len(found)
    expected = Counter(statement[1].strip("<>") for statement in from_oxigraph(src).elements())
    assert {predicate: row["rows"] for predicate, row in found.items()} == expected
    assert {row["table"]: row["type"] for row in found.values()} == {
        "type": "string", "name": "string", "age": "bigint", "knows": "string", "born": "string", "member": "boolean",
        "height": "decimal(38,18)", "wrote": "string", "title": "string", "seen": "timestamp",
    }  # fmt: skip
    assert table(out, "age") == [{"subject": f"{EX}ann", "object": 41}, {"subject": f"{EX}bob", "object": 7}]
    assert [row["object"] for row in table(out, "height")] == [Decimal("1.8"), Decimal("1.75")]
    assert [row["object"].isoformat() for row in table(out, "seen")] == ["2024-01-01T10:00:00+00:00"]
    assert sorted(table(out, "name"), key=str) == sorted([
        {"subject": f"{EX}ann", "object": "Ann", "datatype": None, "lang": None},
        {"subject": f"{EX}bob", "object": "Bob", "datatype": None, "lang": "en"},
        {"subject": f"{EX}cleo", "object": "Cleo", "datatype": None, "lang": None},
    ], key=str)  # fmt: skip
    born = {row["object"]: row["datatype"] for row in table(out, "born")}
    assert born == {"1980-02-29": f"{XSD}date", "1999": f"{XSD}gYear"}
    knows = table(out, "knows")
    assert Counter(row["graph"] for row in knows) == {None: 3, f"{EX}graph": 100}
    assert found[f"{EX}wrote"]["kinds"] == ["bnode", "iri"]
    assert {row["object_kind"] for row in table(out, "wrote")} == {"iri", "bnode"}
    # Spark reads them with their types.
    assert dict(spark.read.parquet(str(out / "tables" / "height")).dtypes)["object"] == "decimal(38,18)"
    assert dict(spark.read.parquet(str(out / "tables" / "seen")).dtypes)["object"] == "timestamp"

    # In another directory types follow the values of more sources.
    again = ingest(src, out, spark="a master that is not asked for", layout="vertical", buckets=4)
    assert (again.statements, again.tables) == (0, 0)
    (src / "more.nt").write_text(MORE)
    out = tmp_path / "second"
    second = ingest(src, out, spark=spark, layout="vertical", buckets=4)
    assert second.tables == first.tables + 1
    found = {row["predicate"]: row for row in catalogue(out)}
    other = found["http://example.com/name"]["table"]
    assert {found[f"{FOAF}name"]["table"][:5], other[:5]} == {"name", "name_"}
    assert table(out, other) == [{"subject": f"{EX}dan", "object": "Dan"}]
    assert {row["object"]: row["datatype"] for row in table(out, "age")} == {
        "41": f"{XSD}integer", "007": f"{XSD}integer", "unknown": None
    }  # fmt: skip
    expected = Counter(statement[1].strip("<>") for statement in from_oxigraph(src).elements())
    rows = {predicate: len(table(out, row["table"])) for predicate, row in found.items()}
    assert rows == expected
    assert {path.name for path in (out / "tables").iterdir()} == {row["table"] for row in found.values()}


def test_wide_tables(spark: Any, src: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    (src / "graph.jelly").unlink()
    first = ingest(src, out, spark=spark, layout="wide", buckets=4)
    assert first.tables == 3
    columns = {(row["table"], row["column"]): row for row in catalogue(out)}
    assert {key: row["type"] for key, row in columns.items() if key[0] == "Person"} == {
        ("Person", "subject"): "string", ("Person", "type"): "array<string>", ("Person", "name"): "string",
        ("Person", "age"): "bigint", ("Person", "knows"): "array<string>", ("Person", "born"): "date",
        ("Person", "member"): "boolean", ("Person", "height"): "decimal(38,18)",
    }  # fmt: skip
    assert columns["Person", "age"]["predicate"] == f"{FOAF}age"
    assert (columns["Person", "subject"]["subjects"], columns["Person", "knows"]["values"]) == (2, 3)
    ann, bob = table(out, "Person")
    assert (ann["subject"], ann["name"], ann["age"], str(ann["born"])) == (f"{EX}ann", "Ann", 41, "1980-02-29")
    assert (ann["knows"], ann["member"], ann["height"]) == ([f"{EX}bob", f"{EX}cleo"], None, None)
    assert (bob["knows"], bob["member"], bob["born"]) == ([f"{EX}ann"], True, None)
    assert bob["type"] == [f"{EX}Author", f"{FOAF}Person"]
    # A subject of two classes is in the tables of both.
    assert [row["subject"] for row in table(out, "Author")] == [f"{EX}bob", f"{EX}cleo"]
    [cleo] = [row for row in table(out, "Author") if row["subject"] == f"{EX}cleo"]
    assert cleo["wrote"][0].startswith("_:jf")
    assert cleo["wrote"][1] == f"{EX}book"
    assert spark.read.parquet(str(out / "tables" / "Person")).where("array_contains(knows, 'x')").count() == 0
    report = duckdb.sql(f"select * from read_parquet('{out}/report/*.parquet')").to_arrow_table().to_pylist()
    by_problem = defaultdict(list)
    for row in report:
        by_problem[row["problem"]].append(row)
    [without] = by_problem.pop("no class")
    assert (without["subjects"], without["statements"]) == (1, 4)  # the book
    mixed = {(row["class"], row["predicate"]) for row in by_problem.pop("mixed types")}
    assert mixed == {(f"{FOAF}Person", f"{FOAF}name"), (f"{EX}Author", f"{FOAF}name"), (f"{EX}Author", f"{EX}wrote")}
    assert not by_problem
    assert first.misfits == ["mixed types: 6 statements, 3 columns", "no class: 4 statements"]

    (src / "more.nt").write_text(MORE)
    out = tmp_path / "second"
    ingest(src, out, spark=spark, layout="wide", buckets=4)
    columns = {(row["table"], row["column"]): row for row in catalogue(out)}
    names = {row["predicate"] for key, row in columns.items() if key[1].startswith("name")}
    assert names == {f"{FOAF}name", "http://example.com/name"}
    assert columns["Person", "age"]["type"] == "string"
    assert [row["age"] for row in table(out, "Person")] == ["41", "007", "unknown"]
    assert len(table(out, "Author")) == 2


def test_predicates_that_are_too_many_for_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MAX_COLUMNS", 3)
    rows = [jelly.Triple(jelly.IRI("a:s"), jelly.IRI(TYPE), jelly.IRI("a:C"))] + [
        jelly.Triple(jelly.IRI(f"a:{'st'[i % 2]}"), jelly.IRI(f"a:{name}"), jelly.Literal(str(i)))
        for i in range(2)
        for name in ("subject", "Subject", "p", "q")
    ]
    rows.append(jelly.Triple(jelly.IRI("a:t"), jelly.IRI(TYPE), jelly.IRI("a:C")))
    tables = buckets.Tables("wide", 1, 0)
    batches = jelly.scan("".join(f"{row}\n" for row in rows).encode(), format="nt").batches()
    assert tables.write(batches, str(tmp_path), "x") == 10
    found = parquet.read_table(tmp_path / "statements", partitioning=None)
    plan = plans.plan_wide([plans.analyse_wide(found)])
    [(name, made)] = plans.wide_tables(found, plan)
    assert name == "C"
    assert plan.problems() == ["too many predicates: 4 statements, 2 columns"]
    # No column has the name of another one, in any case of letters, or that of the subjects.
    names = [name for name, _ in plan.tables["a:C"][1].values()]
    assert len({name.lower() for name in names} | {"subject"}) == 4
    assert len(made) == 2
    assert made.column_names[0] == "subject"
    assert sorted(made.column_names) == sorted(["subject", *names])


def edges_of(folder: Path) -> Counter[tuple[str, str, str]]:
    return Counter(
        (s, o, p.strip("<>")) for s, p, o, _ in from_oxigraph(folder).elements() if not o.startswith('"')
    )


def test_a_graph_of_each_layout(spark: Any, src: Path, tmp_path: Path) -> None:
    jelly.spark.register(spark)
    out = tmp_path / "out"
    ingest(src, out, spark=spark, layout="ids", buckets=1)
    load = spark.read.format("jelly").load
    made = {
        "flat": graph_tables(load(str(src))),
        "ntriples": graph_tables(spark.read.format("jelly").option("layout", "ntriples").load(str(src))),
        "ids": graph_tables(spark.read.parquet(str(out / "triples")), spark.read.parquet(str(out / "terms"))),
    }
    for layout, (vertices, edges) in made.items():
        assert dict(vertices.dtypes) == {"id": "bigint", "kind": "string", "value": "string"}
        assert dict(edges.dtypes) == {"src": "bigint", "dst": "bigint", "relationship": "string"}
        nodes = {row.id: row for row in vertices.collect()}
        assert len({row.value for row in nodes.values()}) == len(nodes)

        def text_of(id: int, nodes: dict[int, Any] = nodes, layout: str = layout) -> str:
            kind, value = nodes[id].kind, nodes[id].value
            return "_:" if kind == "bnode" else value if layout == "ntriples" else f"<{value}>"

        found = Counter(
            (text_of(row.src), text_of(row.dst), row.relationship.strip("<>")) for row in edges.collect()
        )
        assert found == edges_of(src)
        subjects = {s for s, *_ in from_oxigraph(src)}
        assert {text_of(id) for id in nodes} == subjects | {o for _, o, _ in found}
    # Literals are vertices on request, and differ by language and datatype.
    vertices, _ = graph_tables(load(str(src / "people.ttl")), literals=True)
    assert {(row.value, row.lang) for row in vertices.where("kind = 'literal'").collect()} >= {
        ("Bob", "en"), ("Über Bäume", "de"), ("Cleo", None)
    }  # fmt: skip
    with pytest.raises(jelly.JellyOptionsError, match="need the table of their terms"):
        graph_tables(spark.read.parquet(str(out / "triples")))
    with pytest.raises(jelly.JellyOptionsError, match="expected those of the layout flat"):
        graph_tables(spark.createDataFrame([(1,)], "x int"))


def test_two_vertices_with_one_id_fail_the_query(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jelly.spark import _frames as frames

    monkeypatch.setattr(frames, "_id", lambda node: f"cast(length(`{node}`.value) as bigint)")
    frame = spark.createDataFrame([("<a:s>", "<a:p>", "<a:o>")], "s string, p string, o string")
    vertices, _ = graph_tables(frame)
    with pytest.raises(Exception, match="two vertices have one id"):
        vertices.select("id").collect()


def test_the_command_makes_tables(src: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: Any) -> None:
    def run(*options: str) -> Any:
        return CliRunner().invoke(cli, ["spark", "ingest", str(src), "-o", str(tmp_path / "out"), *options])

    given = _ingest.session

    def session(master: Any, conf: Any = None) -> Any:
        return given(spark)

    monkeypatch.setattr(_ingest, "session", session)
    done = run("--layout", "wide", "--buckets", "2", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["tables"] == 3
    assert "some statements are not in the tables as they are" in done.stderr
    for options, reason in (
        (["--layout", "wide"], "the directory was made with buckets 2, not 16"),
        (["--layout", "ids", "--buckets", "2"], "the directory was made with layout 'wide', not 'ids'"),
        (["--layout", "ids", "--buckets", "3"], "expected a power of 2"),
        (["--layout", "ids", "--to", "jelly"], "makes tables in Parquet"),
        (["--layout", "vertical", "--partition-by", "graph"], "with partitions of its own"),
        (["--layout", "vertical", "--sort", "subject"], "has an order of its own"),
    ):
        failed = run(*options)
        assert failed.exit_code != 0
        assert reason in failed.output, failed.output
    assert os.listdir(tmp_path / "out" / "tables")
