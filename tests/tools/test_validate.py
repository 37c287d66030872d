"""jelly.validate and jelly._tools.compare: every problem with its place, comparisons up to the names of blank nodes."""

import gzip
import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import craft
from support.difference import difference
from support.shared import ROOT, shared
from support.statements import quads, star

import jelly
from jelly import IRI, BlankNode, Literal, Quad, QuotedTriple, StreamOptions, Triple
from jelly._tools.compare import BlankNodeBijection, as_quad

CONFORMANCE = sorted((ROOT / "conformance").rglob("in.jelly"))
S, P, O = IRI("a:s"), IRI("a:p"), Literal("o")  # noqa: E741


def messages(problems):
    return [problem.message for problem in problems]


def row_at(data, problem):
    """The number of the field that stands where the problem points to."""
    return data[problem.offset] >> 3


# ---- the stream itself


@pytest.mark.parametrize("path", CONFORMANCE, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_conformance(path):
    problems = jelly.validate(path)
    assert bool(problems) == path.parent.name.startswith("neg_"), problems


def test_results_of_the_conformance_suite():
    shared("conformance")
    n = 0
    for path in CONFORMANCE:
        for i, result in enumerate(sorted(path.parent.glob("out_*.n[tq]"))):
            n += 1
            assert jelly.validate(path, against=result, frame=i) == []
            assert jelly.validate(path, against=result, frame=i, ordered=False) == []
    assert n > 50


def test_flags():
    data = craft.frame(
        craft.options(star=False, generalized=False),
        craft.name("x"),
        craft.triple(p=(craft.IRI, craft.iri(1))),
        craft.triple(s=(craft.QUOTED, craft.terms((1, b"s"), (0, craft.iri(1)), (1, b"o"))), p=(0, craft.iri(1))),
        craft.triple(),
        craft.triple(s=(craft.LITERAL, craft.literal()), p=(craft.IRI, craft.iri(1))),
    )
    first, second, third = jelly.validate(data)
    assert first.message == "subject is a quoted triple, but rdf_star is false"
    assert second.message == "predicate is a blank node, but generalized_statements is false"
    assert third.message == "subject is a literal, but generalized_statements is false"
    assert [(p.frame, p.row) for p in (first, second, third)] == [(0, 3), (0, 4), (0, 5)]
    assert all(row_at(data, problem) == 2 for problem in (first, second, third))
    assert str(third) == f"frame 0, row 5, byte {third.offset}: {third.message}"


@pytest.mark.parametrize("depth", [1, 3])
def test_generalized_inside_quoted_triples(depth):
    quoted = (craft.QUOTED, craft.quoted(depth))  # their predicates are blank nodes
    data = craft.frame(craft.options(generalized=False), craft.name("x"), craft.triple(quoted, (0, craft.iri(1))))
    assert messages(jelly.validate(data)) == ["subject is a quoted triple, but generalized_statements is false"]


def test_graphs_that_are_literals_are_generalized():
    p = (craft.IRI, craft.iri(1))
    rows = [craft.name("x"), craft.quad(p=p, g=(craft.GRAPH_LITERAL, craft.literal()))]
    rows.append(craft.quad(p=p, g=(craft.DEFAULT_GRAPH, b"")))
    assert jelly.validate(craft.frame(craft.options(craft.QUADS), *rows)) == []
    problems = jelly.validate(craft.frame(craft.options(craft.QUADS, generalized=False), *rows))
    assert messages(problems) == ["graph is a literal, but generalized_statements is false"]


def test_namespaces_of_version_1():
    rows = [craft.name("x"), craft.namespace("ex", craft.iri(1)), craft.triple(), craft.namespace("b", craft.iri(1))]
    assert jelly.validate(craft.frame(craft.options(version=2), *rows)) == []
    data = craft.frame(craft.options()) + craft.frame(*rows)
    first, second = jelly.validate(data)
    assert "'ex'" in first.message
    assert "'b'" in second.message
    assert [(p.frame, p.row, row_at(data, p)) for p in (first, second)] == [(1, 1, 6), (1, 3, 6)]


def test_graph_that_does_not_end():
    data = craft.frame(craft.options(craft.GRAPHS), craft.graph_start(), craft.triple())
    assert messages(jelly.validate(data)) == ["the stream ends inside a graph: a graph end row is missing"]
    assert jelly.validate(data + craft.frame(craft.graph_end())) == []


def test_unknown_rows():
    data = craft.frame(craft.options(), craft.row(7, b"x"), craft.triple(), craft.field(1, b""))
    assert [(p.frame, p.row) for p in jelly.validate(data)] == [(0, 1), (0, 3)]
    # What follows an error is not looked at.
    data += craft.frame(craft.name("x", id=99), craft.row(7, b"x"))
    assert [(p.frame, p.row) for p in jelly.validate(data)] == [(0, 1), (0, 3), (1, 0)]


def test_logical_type_that_does_not_fit():
    (problem,) = jelly.validate(craft.frame(craft.options(craft.TRIPLES, logical=4), craft.triple()))
    assert problem.message == "logical type DATASETS does not go with physical type TRIPLES"
    assert (problem.frame, problem.row) == (0, 0)


def test_goes_on_until_the_decoder_cannot():
    data = craft.frame(craft.options(generalized=False), craft.triple(), craft.triple())
    data += craft.frame(craft.triple(), craft.name("x", id=99), craft.triple())
    problems = jelly.validate(data)
    assert len(problems) == 4
    assert [(p.frame, p.row) for p in problems] == [(0, 1), (0, 2), (1, 0), (1, 1)]
    assert problems[-1].message == "name entry 99 is outside the table of 16; the rest of the file was not checked"


def test_not_jelly():
    for data in (b"", b"\x05hello", b"<a:s> <a:p> <a:o> .\n" * 3, gzip.compress(b"text")):
        (problem,) = jelly.validate(data)
        assert "the rest of the file was not checked" in problem.message


def test_cut_off_compressed_file(tmp_path):
    path = tmp_path / "a.jelly.gz"
    data = b"".join(craft.frame(craft.options(), craft.triple()) for _ in range(1000))
    path.write_bytes(gzip.compress(data)[:-9])
    (problem,) = jelly.validate(path)
    assert "compressed data is cut off" in problem.message


def test_missing_file_is_no_problem_of_the_stream():
    with pytest.raises(FileNotFoundError):
        jelly.validate("no-such-file.jelly")


def test_limit():
    data = craft.frame(craft.options(generalized=False), *[craft.triple()] * 50)
    problems = jelly.validate(data, limit=5)
    assert len(problems) == 6
    assert problems[-1].message == "stopped after 5 problems"


@pytest.mark.parametrize("step", [1, 3, 50])
def test_chunks_make_no_difference(step):
    data = b"".join(
        craft.frame(craft.options(generalized=False), craft.name("x"), craft.triple(), craft.namespace("n", b""))
        for _ in range(5)
    )
    chunks = (data[at : at + step] for at in range(0, len(data), step))
    assert jelly.validate(chunks) == jelly.validate(data)
    assert len(jelly.validate(data)) == 11  # of these one is that another stream seems to begin


def test_batches_make_no_difference():
    data = craft.frame(craft.options(generalized=False), *[craft.triple()] * 50)
    assert jelly.validate(data, batch_rows=7) == jelly.validate(data)


def test_not_delimited():
    data = craft.options(generalized=False) + craft.triple()
    (problem,) = jelly.validate(data)
    assert (problem.frame, problem.row, row_at(data, problem)) == (0, 1, 2)


def test_every_cut_and_change_has_an_answer():
    data = craft.frame(craft.options(craft.QUADS, version=2), craft.name("x"), craft.quad()) + craft.frame(craft.quad())
    for i in range(len(data)):
        for bad in (data[:i], data[:i] + bytes([data[i] ^ 0xFF]) + data[i + 1 :]):
            for problem in jelly.validate(bad, against=data):
                assert problem.offset is None or problem.offset <= len(data)


# ---- options


def test_options():
    data = jelly.dumps([(S, P, O)], {"rdf_star": True})
    assert jelly.validate(data, options=jelly.dumps([(S, P, S)], {"rdf_star": True})) == []
    wanted = jelly.read_options(data).replace(max_name_table_size=8, rdf_star=False, logical_type=0)
    assert messages(jelly.validate(data, options=wanted)) == [
        "stream option logical_type is FLAT_TRIPLES, expected UNSPECIFIED",
        "stream option rdf_star is True, expected False",
        "stream option max_name_table_size is 4000, expected 8",
    ]


def test_options_file_that_cannot_be_read(tmp_path):
    with pytest.raises(jelly.JellyError):
        jelly.validate(jelly.dumps([]), options=b"\x05hello")


# ---- against another file


def nt(*lines):
    return "".join(line + " .\n" for line in lines).encode()


def against(ours, theirs, **settings):
    data = jelly.dumps([Quad(*s) if len(s) == 4 else Triple(*s) for s in ours])
    return jelly.validate(data, against=nt(*theirs), against_format="nq", **settings)


A, B, C = BlankNode("a"), BlankNode("b"), BlankNode("c")


def test_the_same():
    ours = [(A, P, B), (B, P, QuotedTriple(A, P, O))]
    for theirs in (
        ["_:a <a:p> _:b", '_:b <a:p> << _:a <a:p> "o" >>'],
        ["_:x <a:p> _:a", '_:a <a:p> << _:x <a:p> "o" >>'],
    ):
        assert against(ours, theirs) == []
        assert against(ours, theirs, ordered=False) == []
        assert against(ours, theirs[::-1], ordered=False) == []


def test_order_matters_where_it_shall():
    ours = [(S, P, O), (S, P, S)]
    problems = against(ours, ["<a:s> <a:p> <a:s>", '<a:s> <a:p> "o"'])
    assert len(problems) == 2
    assert problems[0].message == 'statement differs: <a:s> <a:p> "o" here, <a:s> <a:p> <a:s> expected'
    assert problems[0].frame == 0
    assert problems[0].offset is not None


@pytest.mark.parametrize("theirs", [["_:x <a:p> _:x"], ["_:x <a:p> <a:s>"]])
def test_blank_nodes_map_one_to_one(theirs):
    assert len(against([(A, P, B)], theirs)) == 1
    assert len(against([(A, P, B)], theirs, ordered=False)) >= 1


def test_two_names_for_one():
    assert len(against([(A, P, A)], ["_:x <a:p> _:y"])) == 1
    assert messages(against([(A, P, A)], ["_:x <a:p> _:y"], ordered=False)) == [
        "the blank nodes do not stand in the same way as expected"
    ]


def test_missing_and_more():
    ours = [(S, P, Literal(str(i))) for i in range(3)]
    theirs = [f'<a:s> <a:p> "{i}"' for i in range(3)]
    assert messages(against(ours, theirs[:1])) == ["2 more statements than expected"]
    assert messages(against(ours[:1], theirs)) == ["2 statements are missing at the end"]
    assert messages(against(ours[:1], theirs[:2], ordered=False)) == ['statement is missing: <a:s> <a:p> "1"']
    assert messages(against(ours[:2], theirs[:1], ordered=False)) == ['statement not expected: <a:s> <a:p> "1"']
    assert len(against(ours[:1] * 2, theirs[:1], ordered=False)) == 1  # multisets


def test_many_differences_are_counted():
    ours = [(S, P, Literal(str(i))) for i in range(100)]
    theirs = [f'<a:s> <a:p> "x{i}"' for i in range(100)]
    problems = against(ours, theirs)
    assert len(problems) == 11
    assert problems[-1].message == "90 more statements differ"
    assert messages(against(ours, theirs, ordered=False))[-1] == "190 more statements differ"


def test_triples_and_quads_of_the_default_graph_are_the_same():
    data = jelly.dumps([Triple(S, P, O)])
    assert jelly.validate(data, against=jelly.dumps([Quad(S, P, O, jelly.DefaultGraph())])) == []
    assert len(jelly.validate(data, against=jelly.dumps([Quad(S, P, O, S)]))) == 1


def test_one_frame():
    out = io.BytesIO()
    with jelly.Writer(out, StreamOptions(physical_type=1, logical_type=3)) as writer:
        for i in range(3):
            writer.extend([(S, P, Literal(f"{i}{j}")) for j in range(4)])
            writer.end_frame()
    for i in range(3):
        theirs = nt(*(f'<a:s> <a:p> "{i}{j}"' for j in range(4)))
        for settings in ({}, {"ordered": False}, {"batch_rows": 3}):
            found = jelly.validate(out.getvalue(), against=theirs, against_format="nt", frame=i, **settings)
            assert found == []
    assert len(jelly.validate(out.getvalue(), against=theirs, against_format="nt", frame=9)) == 1


def test_error_of_the_other_file_is_raised():
    data = jelly.dumps([(S, P, O)])
    for ordered in (True, False):
        with pytest.raises(jelly.JellySyntaxError):
            jelly.validate(data, against=b"bad", against_format="nt", ordered=ordered)


@given(st.lists(st.one_of(star, quads(star)), max_size=8), st.randoms())
def test_shuffled_and_renamed(statements, chance):
    ours = list(map(as_quad, statements))
    names = {label: BlankNode(f"r{i}") for i, label in enumerate(sorted(labels(ours), key=lambda x: chance.random()))}
    theirs = [rename(statement, names) for statement in ours]
    assert all(map(BlankNodeBijection().same, ours, theirs)) or not theirs
    chance.shuffle(theirs)
    assert list(difference(ours, theirs)) == []
    if ours:
        assert list(difference(ours[1:], theirs)) != []
        assert list(difference(ours, [*theirs, theirs[0]])) != []


def labels(terms):
    found = set()
    for term in terms:
        if isinstance(term, BlankNode):
            found.add(term.value)
        elif isinstance(term, tuple | QuotedTriple):
            found |= labels(term)
    return found


def rename(statement, names):
    def new(term):
        if isinstance(term, QuotedTriple):
            return QuotedTriple(*map(new, term))
        return names[term.value] if isinstance(term, BlankNode) else term

    return tuple(map(new, statement))


@given(st.lists(st.tuples(*[st.sampled_from("abcdef")] * 2), max_size=9), st.data())
def test_like_pyoxigraph(edges, data):
    pyoxigraph = pytest.importorskip("pyoxigraph")
    others = data.draw(st.lists(st.tuples(*[st.sampled_from("abcdef")] * 2), min_size=len(edges), max_size=len(edges)))

    def canonical(pairs):
        node, iri = pyoxigraph.BlankNode, pyoxigraph.NamedNode("a:p")
        dataset = pyoxigraph.Dataset(pyoxigraph.Quad(node(x), iri, node(y)) for x, y in set(pairs))
        dataset.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
        return dataset

    def ours(pairs):
        return [as_quad((BlankNode(x), P, BlankNode(y))) for x, y in set(pairs)]

    assert (not list(difference(ours(edges), ours(others)))) == (canonical(edges) == canonical(others))


def test_symmetrical_graphs():
    def ring(*sizes):
        for r, n in enumerate(sizes):
            yield from (as_quad((BlankNode(f"{r}.{i}"), P, BlankNode(f"{r}.{(i + 1) % n}"))) for i in range(n))

    assert list(difference(ring(30, 30), ring(30, 30))) == []
    assert list(difference(ring(6, 6), ring(12))) != []
    assert list(difference(ring(3, 5), ring(4, 4))) != []
    twins = [as_quad((BlankNode(str(i)), P, O)) for i in range(2000)]
    assert list(difference(twins, twins[::-1])) == []


def test_too_much_alike(monkeypatch):
    monkeypatch.setattr("support.difference.MAX_WORK", 250_000)
    hub = [as_quad((BlankNode("hub"), P, BlankNode(str(i)))) for i in range(750)]
    with pytest.raises(jelly.JellyError, match="too much alike"):
        list(difference(hub, hub[::-1]))


@pytest.mark.parametrize(
    "name", ["movies/30kmovies.nt.gz", "vocabs-quads/vocabs.nq.gz", "vocabs-star/vocabs-star.nt.gz"]
)
def test_real_data(name):
    path = shared("data", *name.split("/"))
    statements = [as_quad(s) for s in jelly.read(path)][:40_000]
    chance = random.Random(1)
    names = {label: BlankNode(f"r{i}") for i, label in enumerate(labels(statements))}
    theirs = [rename(statement, names) for statement in statements]
    chance.shuffle(theirs)
    assert list(difference(statements, theirs)) == []


def test_strict_texts() -> None:
    """What N-Triples holds of Jelly and no other reader takes is found by strict=True."""
    text = b'<a:s> <a:p> <a:o> .\n"x" <a:p> <a:o> .\n<rel> <a:p> <a:o> .\n'
    assert jelly.validate(text, format="nt") == []
    assert [problem.line for problem in jelly.validate(text, format="nt", strict=True)] == [2, 3]
    assert jelly.validate(b"<a:s> <a:p> <a:o> .", format="ttl", strict=True) == []
    with pytest.raises(jelly.JellyArgumentError, match="lenient"):
        jelly.validate(text, format="nt", strict=True, lenient=True)


def test_texts_are_checked_without_keeping_terms() -> None:
    """Unless somebody looks at the terms."""
    text = b"<a:s> <a:p> <a:o> << <a:s> <a:p> <a:o> >> .\n<a:s> <a:p> <a:o> .\n"
    [problem] = jelly.validate(text, format="nq")
    assert "statement 0: a quoted triple as graph" in str(problem)
    text = b"<a:s> <a:p> <a:o> .\n<a:s> <a:p> 'o' .\n<a:s> <a:p> <a:other> .\n"
    assert [problem.line for problem in jelly.validate(text, format="nt")] == [2]
    for other, found in ((text[:20] + text[-24:], 1), (text[:20], 2)):
        assert len(jelly.validate(text, format="nt", against=other, against_format="nt")) == found
