"""`jelly.find` against a scan of all statements in Python."""

from __future__ import annotations

import os
import pickle
import random
from itertools import chain

import pytest
from click.testing import CliRunner

import jelly
from jelly import IRI, BlankNode, DefaultGraph, Literal, Quad, QuotedTriple, Triple
from jelly.cli.commands import cli

LONG = bool(os.environ.get("JELLY_LONG"))
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
NODES = [IRI(f"http://example.org/{kind}/{i}") for kind in ("long/path/to/things", "b", "bb") for i in range(6)]
NODES += [IRI("a:b"), IRI("a:b" * 20), BlankNode("x"), BlankNode("y")]
PREDICATES = [IRI(f"http://example.org/p{i}") for i in range(5)]
LITERALS = [
    *map(Literal, ("", "x", "a:b", "x" * 300)),
    *(Literal("x", language=tag) for tag in ("en", "EN", "en-GB", "eng", "de")),
    Literal("x", language="ar", direction="rtl"), Literal("x", language="ar", direction="ltr"),
    Literal("x", language="ar"),
    Literal("x", datatype=IRI(XSD + "token")), Literal("x", datatype=IRI("a:b")), Literal("y", datatype=IRI("a:b")),
]  # fmt: skip
GRAPHS = [DefaultGraph(), IRI("a:g"), BlankNode("x"), NODES[0]]
PREFIXES = ["", "a", "http://example.org/", "http://example.org/long/path/to/things/1", "http://example.org/b", "x:"]
DATATYPES = [XSD + "string", XSD + "token", "a:b", RDF + "langString", RDF + "dirLangString", "a:none"]
RANGES = ["en", "EN", "en-gb", "e", "de", "ar", "*", "fr"]


def made(dice: random.Random, quads: bool, star: bool, n: int = 400) -> list[Triple | Quad]:
    inner = [QuotedTriple(dice.choice(NODES), PREDICATES[0], dice.choice(NODES + LITERALS)) for _ in range(6)]
    nested = [QuotedTriple(NODES[0], PREDICATES[1], one) for one in inner[:2]]
    objects = NODES + LITERALS + (inner + nested if star else [])
    rows = []
    for _ in range(n):
        s, p, o = dice.choice(NODES), dice.choice(PREDICATES), dice.choice(objects)
        rows.append(Quad(s, p, o, dice.choice(GRAPHS)) if quads else Triple(s, p, o))
    return rows


def matches(one: object, term: object) -> bool:
    """What `jelly.Pattern` says of one thing and a term, told again with objects."""
    if isinstance(one, jelly.IRIPrefix):
        return isinstance(term, IRI) and term.value.startswith(one.text)
    if isinstance(one, jelly.Datatype):
        return isinstance(term, Literal) and term.datatype.value == one.text
    if isinstance(one, jelly.LanguageRange):
        tag = term.language if isinstance(term, Literal) else None
        return tag is not None and (one.text == "*" or f"{tag}-".lower().startswith(f"{one.text}-".lower()))
    return one == term


def kept(rows: list[Triple | Quad], wanted: dict[str, list[object]]) -> list[Triple | Quad]:
    def keep(row: Triple | Quad) -> bool:
        terms = {"s": row.s, "p": row.p, "o": row.o, "g": getattr(row, "g", DefaultGraph())}
        return all(any(matches(one, terms[slot]) for one in some) for slot, some in wanted.items())

    return [row for row in rows if keep(row)]


def pattern(dice: random.Random, rows: list[Triple | Quad]) -> dict[str, list[object]]:
    row = dice.choice(rows)
    pools = {"s": NODES, "p": PREDICATES, "o": [*NODES, *LITERALS, row.o], "g": GRAPHS}
    wanted: dict[str, list[object]] = {}
    for slot in dice.sample("spog", dice.choice([0, 1, 1, 1, 2, 2, 3, 4])):
        some = [dice.choice(pools[slot]) for _ in range(dice.choice([0, 1, 1, 1, 2, 3, 12]))]
        if dice.random() < 0.3:
            some.append(jelly.IRIPrefix(dice.choice(PREFIXES)))
        if slot == "o" and dice.random() < 0.3:
            some.append(jelly.Datatype(dice.choice(DATATYPES)))
        if slot == "o" and dice.random() < 0.3:
            some.append(jelly.LanguageRange(dice.choice(RANGES)))
        if dice.random() < 0.5:  # often something that is there
            some.append(getattr(row, slot, DefaultGraph()))
        wanted[slot] = some
    return wanted


@pytest.mark.parametrize("format", ["jelly", "nt", "nq", "thrift", "protobuf", "ttl", "trig"])
def test_random_patterns_find_what_a_scan_finds(format, tmp_path):
    if format in ("ttl", "trig"):
        pytest.importorskip("pyoxigraph")
    dice = random.Random(f"find {format}")
    quads = format not in ("nt", "ttl")
    path = tmp_path / f"x.{format}"
    jelly.write(path, made(dice, quads, star=True), format=format)
    rows = list(jelly.read(path, format=format))
    batches = list(jelly.Reader(path, format=format, batch_rows=150).uniform())
    found_some = 0
    for _ in range(10_000 // 7 if LONG else 45):
        wanted = pattern(dice, rows)
        expected = kept(rows, wanted)
        what = jelly.Pattern(**wanted)
        found = list(chain.from_iterable(what.select(batch).statements() for batch in batches))
        assert found == expected, what
        assert sum(map(what.count, batches)) == len(expected)
        found_some += bool(expected)
    assert found_some > 15
    assert list(jelly.find(path, **wanted, format=format)) == expected


def test_matches_can_be_read_in_several_ways():
    rows = made(random.Random(1), True, False)
    data = jelly.dumps(rows)
    found = jelly.find(data, p=PREDICATES[0].value)
    expected = kept(rows, {"p": [PREDICATES[0]]})
    assert list(found) == expected == list(found)
    assert found.count() == len(expected) == sum(map(len, found.batches()))
    assert 0 < len(expected) < len(rows)
    table = found.to_arrow(layout="ntriples", columns=["s", "row"]).read_all()
    assert table["row"].to_pylist() == [i for i, row in enumerate(rows) if row.p == PREDICATES[0]]
    assert table["s"].to_pylist() == [str(row.s) for row in expected]
    assert list(jelly.find(data)) == rows
    assert jelly.find(data, s=[]).count() == 0


def test_where_statements_stood_is_known_without_steps_alone():
    data = jelly.dumps(made(random.Random(1), True, False))
    found, whole = jelly.find(data, p=PREDICATES[0].value), jelly.scan(data)
    assert whole[5:][:3].to_arrow(columns=["row"]).read_all()["row"].to_pylist() == [5, 6, 7]
    for name, changed in (
        ("row", found.filter(where="o.kind=iri")), ("row", found[1:]), ("row", whole.sort()), ("frame", whole[1:]),
        ("row", whole.unique()), ("metadata", whole.sample(3, seed=1)), ("row", jelly.scan(data, sorted_by="s")),
    ):
        with pytest.raises(jelly.JellyArgumentError, match=f"the columns {name} are for sources as they are"):
            changed.to_arrow(columns=["subject", name])


def test_a_file_with_an_index_finds(tmp_path):
    path = tmp_path / "x.jelly"
    rows = made(random.Random(2), False, True)
    jelly.write(path, rows, seekable=True)
    with jelly.open(path) as file:
        for threads in (1, 2):
            assert list(jelly.scan(file, threads=threads).filter(o=jelly.LanguageRange("en"))) == kept(
                rows, {"o": [jelly.LanguageRange("en")]}
            )


def test_patterns_from_text():
    assert jelly.Pattern(s="a:b", o='"x"@en', g="default").__reduce__()[1] == (
        (IRI("a:b"),), None, (Literal("x", language="en"),), (DefaultGraph(),)
    )  # fmt: skip
    assert repr(jelly.Pattern(p=jelly.IRIPrefix("a:"))) == "jelly.Pattern(p=[jelly.IRIPrefix('a:')])"
    copy = pickle.loads(pickle.dumps(jelly.Pattern(o=[jelly.Datatype(IRI("a:b")), Literal("1")])))
    assert copy.o == (jelly.Datatype("a:b"), Literal("1"))
    assert copy.s is None
    for wrong in ("Alice", "<a:b", '"x" . <a:b> <a:b> "y"', "a b:c", 5, [None], ""):
        with pytest.raises(jelly.JellyArgumentError):
            jelly.Pattern(o=wrong)
    for wrong in ("", "en-", "-en", "e_n", "en-*"):
        with pytest.raises(jelly.JellyArgumentError, match="language range"):
            jelly.LanguageRange(wrong)


def test_several_sources(tmp_path):
    pytest.importorskip("pyarrow")
    rows = {name: [Triple(BlankNode("n"), IRI("a:p"), Literal(name)), Triple(IRI("a:s"), IRI("a:q"), IRI("a:o"))]
            for name in ("one.nt", "two.jelly", "deep/three.nq.gz")}  # fmt: skip
    for name, some in rows.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        jelly.write(tmp_path / name, some)
    (tmp_path / "README.md").write_text("none of these")
    jelly.convert(tmp_path / "one.nt", tmp_path / "four.parquet")
    everything = list(jelly.find(tmp_path, p="a:p"))
    assert sorted(row.o.value for row in everything) == ["deep/three.nq.gz", "one.nt", "one.nt", "two.jelly"]
    assert len({row.s for row in everything}) == 4
    assert {row.s for row in jelly.find(tmp_path, p="a:p", blank_nodes="keep")} == {BlankNode("n")}
    skolem = jelly.find(str(tmp_path), s=jelly.IRIPrefix("http://e.org/"), blank_nodes="skolemize",
                        skolem_base="http://e.org")  # fmt: skip
    assert skolem.count() == 4
    assert jelly.find(str(tmp_path / "*.nt"), p="a:p").count() == 1
    assert jelly.find(str(tmp_path / "**" / "*.nq.gz"), p="a:p").count() == 1
    assert jelly.find([tmp_path / "one.nt", jelly.dumps(rows["one.nt"])], p="a:p").count() == 2
    assert [row.s for row in jelly.find([tmp_path / "one.nt"], p="a:p")] == [BlankNode("n")]
    with pytest.raises(FileNotFoundError, match="no file matches"):
        jelly.find(str(tmp_path / "*.ttl"))
    with pytest.raises(jelly.JellyError):
        jelly.find([None]).count()


def test_urls_of_fsspec():
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://find/x.nt.gz", "wb") as file:
        import gzip

        file.write(gzip.compress(b"<a:s> <a:p> <a:o> .\n"))
    assert jelly.find("memory://find/x.nt.gz", s="a:s").count() == 1
    assert jelly.find("memory://find/*.gz", s="a:t").count() == 0
    with pytest.raises(FileNotFoundError):
        jelly.find("memory://find/y.nt")


def test_the_command(tmp_path):
    path, other = tmp_path / "x.nt", tmp_path / "y.nq"
    path.write_text('<a:s> <a:p> "x"@en-GB .\n<a:s> <b:p> "5"^^<a:n> .\n_:b <a:p> <a:o> .\n')
    other.write_text("<a:s> <a:p> <a:o> <a:g> .\n")

    def run(*args: object, code: int = 0) -> str:
        done = CliRunner().invoke(cli, ["find", *map(str, args)])
        assert done.exit_code == code, done.output
        return done.stdout if code != 2 else done.output

    assert run(path, "-s", "a:s") == '<a:s> <a:p> "x"@en-GB .\n<a:s> <b:p> "5"^^<a:n> .\n'
    assert run(path, "-w", "o.language=en") == run(path, "--object", '"x"@en-GB') == '<a:s> <a:p> "x"@en-GB .\n'
    assert run(path, "-w", "o.datatype=a:n", "-c") == "1\n"
    assert run(path, "-s", "_:b", "-w", "p.prefix=a:", "-c") == "1\n"
    assert run(path, other, "--object", "<a:o>", "--object", '"nothing"', "--count") == "2\n"
    assert run(path, other, "-g", "a:g", "-g", "default", "-c") == "4\n"
    for words in (["-o", "x.nq"], ["--to", "nt"], ["--jelly", "1.2"]):
        assert "--count writes no statements" in run(path, "-c", *words, code=2)
    assert run(other, "-g", "default") == ""
    run(other, "-g", "default", "--exit-code", code=1)
    run(other, "-g", "a:g", "--exit-code", code=0)
    run(tmp_path / "none.nt", "--exit-code", code=2)
    run(tmp_path / "none.nt", code=1)
    made = tmp_path / "made.jelly"
    assert run(path, other, "-w", "o.kind!=literal", "-o", made) == ""
    assert len(list(jelly.read(made))) == 2
    assert run(path, other, "-w", "o.kind=literal", "--invert", "-c") == "2\n"
    run(path, "-s", "Alice", code=2)
    run(path, "-w", "o.language=not a tag", code=2)
    run(tmp_path / "x.unknown", code=2)
    run(path, "--max-names", "10", code=2)
    done = CliRunner().invoke(cli, ["find", str(path), str(other), "-s", "a:s", "--to", "jelly"])
    assert len(jelly.loads(done.stdout_bytes)) == 3
