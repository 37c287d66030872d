"""jelly.stats and jelly.plot, against loops over the statements."""

import gzip
import io
import json
import pickle
import re
from collections import Counter
from itertools import groupby, pairwise

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from support.chance import examples
from support.shared import shared
from support.statements import anything, generalized, quads, rdf, star

import jelly
from jelly import IRI, BlankNode, Literal, Quad, QuotedTriple, StreamOptions, Triple
from jelly.stats import DEFAULT_GRAPH, RDF, Counting, Stats, stats

EVERYTHING = 1_000_000_000
REAL = ["iot-weather/assist-iot-weather-100k.nt.gz", "vocabs-quads/vocabs.nq.gz", "vocabs-star/vocabs-star.nt.gz"]
OPTIONS = {"rdf_star": True, "generalized_statements": True}


def name(term):
    """IRIs as they are, other terms in the syntax of N-Triples, with its escapes."""
    return term.value if isinstance(term, IRI) else str(term)


def inner(term):
    if isinstance(term, QuotedTriple):
        return "<<( {} {} {} )>>".format(*map(inner, term))
    if isinstance(term, IRI):
        return f"<{term.value}>"
    if isinstance(term, BlankNode):
        return f"_:{term.value}"
    if term.language:
        return f'"{term.value}"@{term.language}'
    plain = type_of(term) == "http://www.w3.org/2001/XMLSchema#string"
    return f'"{term.value}"' if plain else f'"{term.value}"^^<{type_of(term)}>'


def type_of(literal):
    datatype = literal.datatype
    return datatype.value if isinstance(datatype, IRI) else datatype or "http://www.w3.org/2001/XMLSchema#string"


def kind(term):
    kinds = {IRI: "iri", BlankNode: "bnode", Literal: "literal", QuotedTriple: "triple"}
    return kinds.get(type(term), "default")


def power(n):
    return (1 << n.bit_length()) >> 1


def expected(statements):
    found = {part: Counter() for part in ("predicates", "classes", "graphs", "datatypes", "languages", "literal_bytes")}
    terms = {position: Counter() for position in ("subject", "predicate", "object", "graph")}
    for statement in statements:
        four = (*statement, None)[:4]
        for position, term in zip(terms, four, strict=True):
            terms[position][kind(term)] += 1
            if isinstance(term, Literal):
                if term.language:
                    found["languages"][term.language] += 1
                    found["datatypes"][RDF + "langString"] += 1
                else:
                    found["datatypes"][type_of(term)] += 1
                found["literal_bytes"][power(len(term.value.encode()))] += 1
        s, p, o, g = four
        found["predicates"][name(p)] += 1
        if p == IRI(RDF + "type"):
            found["classes"][name(o)] += 1
        found["graphs"][DEFAULT_GRAPH if kind(g) == "default" else name(g)] += 1
    subjects = [name(statement[0]) for statement in statements]
    found["degrees"] = Counter(power(n) for n in Counter(subjects).values())
    found["runs"] = Counter(power(len(list(run))) for _, run in groupby(subjects))
    return found | {"terms": terms, "statements": len(statements), "subjects": len(set(subjects))}


def check(found, statements):
    compare(found, expected(statements))


def compare(found, wanted):
    for part, value in wanted.items():
        seen = getattr(found, part)
        if isinstance(seen, jelly.stats.Counts):
            assert seen.top == value, part
            assert (seen.distinct, seen.other, seen.folded, seen.total) == (len(value), 0, 0, value.total())
        else:
            assert seen == value, part


@pytest.mark.parametrize("path", REAL)
def test_real_data(path, tmp_path):
    path = shared("data", *path.split("/"))
    statements = list(jelly.read(path))
    wanted = expected(statements)
    compare(stats(path, top=EVERYTHING), wanted)
    file = tmp_path / "a.jelly"
    jelly.write(file, statements, seekable=True, keyframe_rows=9000)
    calls = []
    found = stats(file, threads=2, top=EVERYTHING, progress=lambda *numbers: calls.append(numbers))
    compare(found, wanted)
    assert calls[-1] == (file.stat().st_size, file.stat().st_size, len(statements))
    assert all(before <= after for before, after in pairwise(calls))
    # Batches of all sizes cut runs in other places.
    compare(stats(file, top=EVERYTHING, batch_rows=999), wanted)


@examples(150)
@given(st.data())
def test_any_statements(data):
    kinds = [rdf, star, generalized, quads(rdf), quads(generalized)]
    row = data.draw(st.sampled_from(kinds))
    pool = data.draw(st.lists(row, min_size=1, max_size=6))
    statements = data.draw(st.lists(st.sampled_from(pool), max_size=25))
    if len(pool[0]) == 3:
        statements += [Triple(s, IRI(RDF + "type"), o) for s, _, o in pool[:2]]
    options = StreamOptions(physical_type=len(pool[0]) - 2, **OPTIONS)
    found = stats(jelly.dumps(statements, options), top=EVERYTHING, batch_rows=data.draw(st.sampled_from([1, 3, 8192])))
    check(found, statements)
    assert set(found.as_dict()) == set(Stats.__dataclass_fields__)


def test_long_subjects_are_one_run():
    # Texts of this length are not looked for in a Batch, so the term is there twice.
    line = b'<a:%s> <a:p> "1" .\n' % (b"x" * 2000)
    found = stats(line * 10, format="nt")
    assert (found.subjects, found.degrees, found.runs) == (1, {8: 1}, {8: 1})


def test_top_and_folded():
    statements = [Triple(IRI(f"a:s{i}"), IRI(f"a:p{i}"), Literal("", language="en")) for i in range(10)]
    data = jelly.dumps([*statements, *statements[:3]])
    found = stats(data, top=2)
    assert found.predicates == jelly.stats.Counts({"a:p0": 2, "a:p1": 2}, 9, 10, 0)
    assert found.languages.top == {"en": 13}
    found = stats(data, top=2, max_keys=4)
    assert found.predicates == jelly.stats.Counts({"a:p0": 2, "a:p1": 2}, 9, 4, 6)
    assert (found.subjects, found.subjects_folded) == (4, 6)
    assert found.predicates.total == found.statements == 13
    assert stats(data, top=0).predicates == jelly.stats.Counts({}, 13, 10, 0)


def test_nothing_and_errors(tmp_path):
    check(stats(b"", format="nt"), [])
    check(stats(jelly.dumps([]), threads=2), [])
    for wrong in ({"top": -1}, {"threads": 0}, {"max_keys": -1}):
        with pytest.raises(ValueError, match="at least"):
            stats(b"", format="nt", **wrong)
    for threads in (1, 2):
        with pytest.raises(FileNotFoundError):
            stats(tmp_path / "none.jelly", threads=threads)
        with pytest.raises(jelly.JellyError):
            stats(jelly.dumps([Triple(IRI("a:s"), IRI("a:p"), IRI("a:o"))])[:-1], threads=threads)


def test_shorten():
    found = stats(jelly.dumps([]))
    assert found.shorten(RDF + "type") == "rdf:type"
    assert found.shorten("http://e.example/a/b#c") == "c"
    assert found.shorten("http://www.e.example/a/b#") == "e.example/a/b#"
    for same in ("", "en", "urn:x:y", DEFAULT_GRAPH, '"http://a/b"', "_:b"):
        assert found.shorten(same) == same


def test_shorten_by_the_names_of_the_stream(tmp_path):
    with jelly.Writer(tmp_path / "a.jelly") as writer:
        writer.namespace("ex", "http://e.example/")
        writer.namespace("", "http://e.example/a/")
        writer.add(Quad(IRI("a:s"), IRI("a:p"), IRI("a:o"), IRI("a:g")))
    found = stats(tmp_path / "a.jelly")
    assert found.namespaces == {"ex": "http://e.example/"}
    assert [found.shorten(f"http://e.example/{x}") for x in ("b", "a/b")] == ["ex:b", "b"]


# ---- figures


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_plot(tmp_path, suffix):
    plot = pytest.importorskip("jelly.plot", reason="matplotlib is not there", exc_type=ImportError)
    statements = [
        Quad(IRI(f"http://e.example/{i % 5}"), IRI(f"a:$p_{i}^$"), Literal("x" * i, language=f"l{i}"), IRI(f"a:g{i}"))
        for i in range(1, 30)
    ]
    statements.append(Quad(BlankNode("b"), IRI("a:\0\u4e2d"), Literal("", datatype="http://other/x"), IRI("a/" * 99)))
    jelly.write(tmp_path / "a.jelly", statements)
    path = tmp_path / f"a{suffix}"
    plot.plot_stats(stats(tmp_path / "a.jelly"), path, "a $title$ _^\n")
    assert path.stat().st_size > 10_000
    assert path.read_bytes().startswith({".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix])
    figure = plot._draw(stats(b"<a:s> <a:p> <a:o> .", format="nt"), "x" * 200)
    figure.canvas.draw()
    assert figure._suptitle.get_window_extent().width < figure.bbox.width


@pytest.mark.parametrize("number", [{"top": 0}, {"max_keys": 0}, {"max_keys": 1}, {}])
def test_plot_of_little(tmp_path, number):
    plot = pytest.importorskip("jelly.plot", reason="matplotlib is not there", exc_type=ImportError)
    for text in (b"", b"<a:s> <a:p> <a:o> .", b'<a:s> <a:p> "" .\n<a:t> <a:q> "o"@en .'):
        plot.plot_stats(stats(text, format="nt", **number), tmp_path / "a.png")
        assert (tmp_path / "a.png").stat().st_size > 2000


def test_plot_of_real_data(tmp_path):
    plot = pytest.importorskip("jelly.plot", reason="matplotlib is not there", exc_type=ImportError)
    with gzip.open(shared("data", "vocabs-quads", "vocabs.nq.gz")) as file:
        plot.plot_stats(stats(file, format="nq"), tmp_path / "a.png", "vocabs")
    assert (tmp_path / "a.png").stat().st_size > 100_000


def test_plot_errors(tmp_path):
    plot = pytest.importorskip("jelly.plot", reason="matplotlib is not there", exc_type=ImportError)
    with pytest.raises(jelly.JellyError, match=r"\.png"):
        plot.plot_stats(stats(b"", format="nt"), tmp_path / "a.jpeg")
    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.tuples(st.none() | anything, st.none() | anything), max_size=30))
@examples(30)
def test_results_against_a_loop(rows):
    out = io.BytesIO()
    jelly.results.write_results(out, ["x", "y"], rows, format="json")
    found = stats(out.getvalue(), content="results", format="json", top=3)
    assert found.rows == len(rows)
    assert list(found.variables) == ["x", "y"]
    for i, about in enumerate(found.variables.values()):
        values = [row[i] for row in rows if row[i] is not None]
        counts = Counter(map(name, values))
        assert (about.bound, about.unbound) == (len(values), len(rows) - len(values))
        kinds = {IRI: "iri", BlankNode: "bnode", Literal: "literal", QuotedTriple: "triple"}
        assert about.kinds == Counter(kinds[type(value)] for value in values)
        assert list(about.values.top.items()) == sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]
        assert (about.values.total, about.values.distinct, about.values.folded) == (len(values), len(counts), 0)
    few = stats(out.getvalue(), content="results", format="json", max_keys=1)
    assert all(about.values.total == about.bound for about in few.variables.values())
    with pytest.raises(ValueError, match="at least 0"):
        stats(out.getvalue(), content="results", format="json", top=-1)


def test_results_on_the_command_line(tmp_path):
    from jelly.cli.commands import cli

    path = tmp_path / "people.srt"
    rows = [(IRI("a:b"), None), (IRI("a:b"), Literal("\x07", language="en")), (BlankNode("c"), None)]
    jelly.results.write_results(path, ["who", "[bold]name"], rows)
    shown = CliRunner().invoke(cli, ["stats", str(path), "--table"])
    assert shown.exit_code == 0, shown.output
    assert re.search(r"rows +3\b", shown.output)
    for text in ("who", "[bold]name", "a:b", '"\\u0007"@en', "66.7%"):
        assert text in shown.output
    told = CliRunner().invoke(cli, ["stats", str(path), "--json", "--top", "1"])
    assert json.loads(told.output) == stats(path, top=1).as_dict()
    assert json.loads(told.output)["variables"]["who"]["values"]["top"] == {"a:b": 2}


def test_several_message_logs(tmp_path) -> None:
    pytest.importorskip("pyoxigraph")
    from jelly.cli.commands import cli

    for name in ("a", "b"):
        (tmp_path / f"{name}.ndjsonld").write_text('{"@id": "a:s", "a:p": 1}\n{"@id": "a:s", "a:q": 2}\n')
    paths = [str(tmp_path / f"{name}.ndjsonld") for name in ("a", "b")]
    found = stats(paths)
    assert (found.statements, found.predicates.top) == (4, {"a:p": 2, "a:q": 2})
    assert stats(str(tmp_path / "*.ndjsonld")) == found
    shown = CliRunner().invoke(cli, ["stats", "--json", *paths])
    assert json.loads(shown.stdout)["statements"] == 4


def test_counts_go_to_another_process() -> None:
    """Tasks of Spark send what they counted; it is merged there."""
    found = []
    for send in (lambda counting: counting, lambda counting: pickle.loads(pickle.dumps(counting))):
        one, two = Counting(), Counting()
        for counting, object in ((one, b"a:o"), (two, b"a:x")):
            data = b"<a:s> <a:p> <%s> .\n<a:s> <a:q> _:b .\n<a:t> <a:p> <a:s> .\n" % object
            counting.add(next(jelly.scan(data, format="nt").batches()))
        one.merge(send(two))
        found.append(one.result())
    assert found[0] == found[1]
    assert found[0].statements == 6
