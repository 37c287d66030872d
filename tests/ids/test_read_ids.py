"""`Dataset.to_ids`: ids against a dict of Python over the same terms, on real and random data."""

import io
import random
from typing import Any

import numpy as np
import pytest
from support import steps
from support.shared import shared

import jelly
from jelly import IRI, BlankNode, DefaultGraph, Literal, Quad, QuotedTriple, Triple
from jelly._core.algebra.graph_ids import Repeats
from jelly._core.algebra.select import select
from jelly._core.terms.batch_builder import BatchBuilder

A, B, C, P, Q = (IRI(f"a:{name}") for name in "abcpq")


def numbered(statements: Any, *, literals: bool = True, apart: bool = True) -> Any:
    """What read_ids gives, by dicts."""
    nodes: dict[Any, int] = {}
    relations: dict[Any, int] = {} if apart else nodes
    rows = []
    for statement in statements:
        if not literals and (isinstance(statement.s, Literal) or isinstance(statement.o, Literal)):
            continue
        s = nodes.setdefault(statement.s, len(nodes))
        p = relations.setdefault(statement.p, len(relations))
        o = nodes.setdefault(statement.o, len(nodes))
        g = getattr(statement, "g", DefaultGraph())
        rows.append((s, p, o, -1 if g == DefaultGraph() else nodes.setdefault(g, len(nodes))))
    return rows, [str(node) for node in nodes]


def rows_of(ids: jelly.GraphIds) -> list[tuple[int, ...]]:
    g = np.full(len(ids), -1) if ids.g is None else ids.g
    return list(zip(ids.s.tolist(), ids.p.tolist(), ids.o.tolist(), g.tolist(), strict=True))


@pytest.mark.parametrize("settings", [{}, {"literals": False}, {"apart": False}, {"literals": False, "apart": False}])
@pytest.mark.parametrize("source", [("vocabs-quads", "vocabs.nq.gz"), ("movies", "30kmovies.nt.gz")])
def test_real_data(source, settings, tmp_path):
    path = tmp_path / "some.jelly"
    statements = []
    with jelly.Writer(path) as writer:
        for statement in jelly.read(shared("data", *source)):
            statements.append(statement)
            writer.add(statement)
            if len(statements) == 20_000:
                break
    ids = steps.read_ids(path, blank_nodes="keep", **settings)
    rows, nodes = numbered(statements, **settings)
    assert rows_of(ids) == rows
    assert ids.terms() == nodes
    assert ids.n_nodes == len(nodes)
    assert ids.s.dtype == np.int32


def test_random_statements():
    chosen = random.Random(1)
    terms = [A, B, C, BlankNode("x"), QuotedTriple(A, P, Literal("q")), IRI("a:ü")]
    terms += [IRI(f"a:{i}") for i in range(500)]
    values = [Literal("a:a"), Literal("x"), Literal("x", language="en"), Literal("x", language="en", direction="rtl"),
              Literal("x", datatype="a:a"), Literal("1", datatype="a:b")]  # fmt: skip
    made = [
        Quad(chosen.choice(terms), chosen.choice([P, Q]), chosen.choice(terms + values), chosen.choice([None, A, C]))
        for _ in range(3000)
    ]
    ids = jelly.scan(jelly.dumps(made), blank_nodes="keep", batch_rows=77).to_ids()
    rows, nodes = numbered(made)
    assert (rows_of(ids), ids.terms()) == (rows, nodes)
    nodes = dict.fromkeys(term for q in made for term in (q.s, q.o, q.g) if term != DefaultGraph())
    assert [ids.node(i) for i in range(ids.n_nodes)] == [*nodes]
    assert all(ids.id_of(ids.node(i)) == i for i in range(0, ids.n_nodes, 50))
    assert [ids.relation(i) for i in range(ids.n_relations)] == [*dict.fromkeys(q.p for q in made)]


def test_id_of_a_term():
    ids = jelly.scan(jelly.dumps([Triple(A, P, B)])).to_ids()
    assert (ids.id_of(A), ids.id_of(B), ids.id_of(P), ids.id_of(C)) == (0, 1, None, None)
    assert (ids.id_of(P, relation=True), ids.id_of(A, relation=True)) == (0, None)
    for wrong in (-1, 2):
        with pytest.raises(IndexError, match="no node"):
            ids.node(wrong)
    assert ids.dictionary.n_nodes == 2


def test_old_ids_stay():
    first = jelly.scan(jelly.dumps([Triple(A, P, B)])).to_ids()
    more = jelly.scan(jelly.dumps([Quad(C, Q, A, None), Quad(B, P, A, C)])).to_ids(dictionary=first.dictionary)
    assert rows_of(more) == [(2, 1, 0, -1), (1, 0, 0, 2)]
    assert (first.n_nodes, first.terms()) == (2, ["<a:a>", "<a:b>"])
    assert more.terms() == ["<a:a>", "<a:b>", "<a:c>"]
    assert first.id_of(C) is None
    with pytest.raises(IndexError):
        first.node(2)
    assert first.g is None


def test_blank_nodes_of_sources(tmp_path):
    texts = [b"_:x <a:p> _:y .\n", b"_:x <a:p> <a:o> .\n"]
    paths = [tmp_path / f"{i}.nt" for i in range(2)]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text)
    nt = {"format": "nt"}
    apart = [[text] for text in texts]  # a list of bytes is one source in chunks
    for sources, settings in ((paths, {}), (apart, nt), ([io.BytesIO(text) for text in texts], nt)):
        assert steps.read_ids(sources, **settings).s.tolist() == [0, 2]
    assert jelly.scan(paths, blank_nodes="keep").to_ids().s.tolist() == [0, 0]
    # The same file has the same nodes, also in another run.
    first = jelly.scan([*paths, paths[0]]).to_ids()
    assert first.s.tolist() == [0, 2, 0]
    assert jelly.scan(paths[1]).to_ids(dictionary=first.dictionary).s.tolist() == [2]
    assert jelly.scan(apart, format="nt", threads=2).to_ids().s.tolist() == [0, 2]
    assert jelly.scan(texts, format="nt").to_ids().s.tolist() == [0, 0]


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_give_the_same_ids(tmp_path, threads):
    sources = []
    for number in range(3):
        path = tmp_path / f"{number}.{'jelly' if number < 2 else 'nt'}"
        with jelly.Writer(path, **({"seekable": True} if number < 1 else {})) as writer:
            for i in range(30_000 if number < 1 else 3000):
                writer.add(Triple(IRI(f"a:{i % 977}"), P, BlankNode(str(i * number % 501))))
        sources.append(path)
    with jelly.open(sources[0]) as file:
        assert len(file) == 30_000
    one, many = jelly.scan(sources).to_ids(), jelly.scan(sources, threads=threads).to_ids()
    assert rows_of(one) == rows_of(many)
    assert one.terms() == many.terms()


def test_kinds_of_arrays():
    data = jelly.dumps([Triple(A, P, B), Triple(B, P, Literal("x"))])
    ids = jelly.scan(data).to_ids(dtype="int64", literals=False)
    assert (ids.s.dtype, ids.o.tolist(), len(ids)) == (np.int64, [1], 1)
    assert ids.edge_index.dtype == np.int64
    assert ids.edge_index.tolist() == [[0], [1]]
    with pytest.raises(jelly.JellyArgumentError, match="int32 or int64"):
        jelly.scan(data).to_ids(dtype=float)
    with pytest.raises(jelly.JellyArgumentError, match="did you mean 'literals'"):
        jelly.scan(data).to_ids(literal=False)
    empty = jelly.scan(b"", format="nt").to_ids()
    assert (len(empty), empty.n_nodes, empty.edge_index.shape, empty.terms()) == (0, 0, (2, 0), [])


def test_rows_that_are_chosen():
    data = jelly.dumps([Triple(IRI(f"a:{i % 7}"), P, Literal(f"{i % 5}")) for i in range(300)])
    [batch] = jelly.scan(data).batches()
    rows = np.arange(299, -1, -3)
    for chosen, numbers in ((rows, rows), (np.isin(np.arange(300), rows), np.sort(rows)), ([], [])):
        dictionary, of_copy = jelly.GraphDictionary(), jelly.GraphDictionary()
        found = [each.tolist() for each in dictionary.add(batch, rows=chosen)[:3]]
        assert found == [each.tolist() for each in of_copy.add(select(batch, numbers))[:3]]
        assert (len(found[0]), dictionary.n_nodes) == (len(numbers), of_copy.n_nodes)
        assert all(len(each) == 0 for each in jelly.GraphDictionary().add(batch, rows=chosen, literals=False)[:3])
    for wrong in ([300], [-1], [True]):
        with pytest.raises(IndexError):
            jelly.GraphDictionary().add(batch, rows=wrong)


@pytest.mark.parametrize("kind", ["short", "lang", "typed", "quoted"])
def test_terms_that_are_found_together_are_those_found_alone(kind):
    draw = random.Random(kind)

    def term() -> Any:
        text = f"{draw.randrange(400)}"
        if kind == "lang":
            return Literal(text, language=draw.choice(("en", "de", f"x-{text}")))
        if kind == "typed":
            return Literal(text, datatype=draw.choice((P, A, IRI(f"a:{text}"))))
        return QuotedTriple(A, P, Literal(text)) if kind == "quoted" else draw.choice((IRI, BlankNode))(text)

    rows = [(IRI(f"a:{draw.randrange(400)}"), draw.choice((P, A)), term()) for _ in range(3000)]
    known: dict[Any, int] = {}
    numbers = [[known.setdefault(each, len(known)) for each in row] for row in rows]
    dictionary = jelly.GraphDictionary()
    found: list[Any] = []
    for at in range(0, len(rows), 700):
        builder = BatchBuilder(3)
        for row in rows[at : at + 700]:
            builder.add(row)
        found += zip(*(each.tolist() for each in dictionary.add(builder.batch, apart=False)[:3]), strict=True)
    assert found == [*map(tuple, numbers)]


def test_rows_that_may_be_there_twice():
    draw = random.Random(5)
    for nodes, predicates, graphs in ((4, 1, 1), (60, 40, 1), (3000, 5, 3)):
        repeats, before, n = Repeats(), set(), 0
        for size in (0, 1, 700, 1500):
            rows = [
                (draw.randrange(nodes), draw.randrange(predicates), draw.randrange(nodes), draw.randrange(graphs) - 1)
                for _ in range(size)
            ]
            columns = np.array(rows, np.int32).reshape(-1, 4).T
            for row, may_be in zip(rows, repeats.add(*columns).tolist(), strict=True):
                assert may_be or row not in before
                before.add(row)
                n += may_be
        assert n < 2200
        assert repeats.nbytes >= 4 * max(max(row[0], row[2]) for row in before)
    for wrong in ([[1], [1], [1], []], [[-1], [0], [0], [0]], [[0]] * 3):
        with pytest.raises(jelly.JellyArgumentError):
            Repeats().add(*(np.array(column, np.int32) for column in wrong))


def test_errors_name_the_source(tmp_path):
    good, bad = tmp_path / "good.nt", tmp_path / "bad.nt"
    good.write_bytes(b"<a:s> <a:p> <a:o> .\n")
    bad.write_bytes(b"<a:s> <a:p>\n")
    for threads in (1, 2):
        with pytest.raises(jelly.JellySyntaxError, match="bad.nt"):
            jelly.scan([good, bad], threads=threads).to_ids()


def test_patches_and_results_are_no_statements():
    [batch] = jelly.scan(jelly.dumps([Triple(A, P, B)])).batches()
    with pytest.raises(jelly.JellyOptionsError, match="patch"):
        jelly.GraphDictionary().add(select(batch, [0], op=2))


def test_nodes_as_arrow():
    pytest.importorskip("pyarrow")
    terms = [Literal("x", language="en", direction="rtl"), Literal("1", datatype="a:int"), BlankNode("b"), Literal("s")]
    ids = jelly.scan(jelly.dumps([Triple(A, P, term) for term in terms]), blank_nodes="keep").to_ids()
    none = {"datatype": None, "lang": None, "direction": None}
    assert ids.nodes.to_pylist() == [
        none | {"kind": "iri", "value": "a:a"},
        none | {"kind": "literal", "value": "x", "lang": "en", "direction": "rtl"},
        none | {"kind": "literal", "value": "1", "datatype": "a:int"},
        none | {"kind": "bnode", "value": "_:b"},
        none | {"kind": "literal", "value": "s"},
    ]
    assert ids.relations["value"].to_pylist() == ["a:p"]
