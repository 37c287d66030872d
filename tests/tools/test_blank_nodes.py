"""Blank nodes matched by structure: comparison of datasets, and one dataset with the labels of the other."""

import contextlib
import random
import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.difference import difference
from support.measure import within
from support.statements import generalized, quads, star

import jelly
from jelly import IRI, BlankNode, QuotedTriple
from jelly._core.algebra.relabeling import Relabeling
from jelly._core.ntriples.statement_table import StatementTable
from jelly._core.ntriples.text import TextWriter
from jelly._tools.blank_nodes import differences, match_labels
from jelly._tools.compare import as_quad


def batches(text, **settings):
    return list(jelly.scan(text.encode(), format="nq", **settings).batches())


def of_statements(statements):
    return list(jelly.scan(jelly.dumps(statements, jelly.StreamOptions(
        physical_type=2, rdf_star=True, generalized_statements=True)), format="jelly").batches())  # fmt: skip


def relabel_to_match(old, new, **settings):
    names = match_labels(old, new, **settings)
    return list(map(Relabeling(names).apply, new))


def lines(found):
    writer = TextWriter(quads=True)
    return sorted(b"".join(map(writer.encode, found)).decode().splitlines())


def table_of(left, right):
    table = StatementTable()
    for side, each in enumerate((left, right)):
        for batch in each:
            table.add(batch, side)
    return table


def renamed(text, chance):
    labels = sorted(set(re.findall(r"_:\w+", text)))
    names = dict(zip(labels, chance.sample([f"_:z{i}" for i in range(len(labels))], len(labels)), strict=True))
    found = [re.sub(r"_:\w+", lambda match: names[match[0]], line) for line in text.splitlines(True)]
    chance.shuffle(found)
    return "".join(found)


def edges(pairs):
    return "".join(f"_:n{x} <a:p> _:n{y} .\n" for x, y in pairs)


def ring(n, start=0):
    return edges([(start + i, start + (i + 1) % n) for i in range(n)])


def grid(n):
    """A torus: each node stands like each other."""
    return edges(
        [(x * n + y, (x + 1) % n * n + y) for x in range(n) for y in range(n)]
        + [(x * n + y, x * n + (y + 1) % n) for x in range(n) for y in range(n)]
    )


SAME = {
    "ring": ring(12),
    "rings": ring(3) + ring(4, 10) + ring(4, 20) + ring(5, 30),
    "self": "_:n0 <a:p> _:n0 .\n_:n1 <a:p> _:n2 .\n",
    "hub": "".join(f"_:hub <a:p> _:n{i} .\n" for i in range(1500)),
    "trees": "".join(f"_:r <a:p> _:n{i} .\n_:n{i} <a:p> _:m{i} .\n_:n{i} <a:p> _:k{i} .\n" for i in range(200)),
    "pairs": "".join(f"_:x{i} <a:p> _:y{i} .\n_:y{i} <a:p> _:x{i} .\n" for i in range(200)),
    "torus": grid(4),
    "list": "".join(f'_:n{i} <a:first> "1" .\n_:n{i} <a:rest> _:n{i + 1} .\n' for i in range(300)),
    "graphs": "_:n0 <a:p> _:n1 _:n2 .\n_:n1 <a:p> _:n0 _:n3 .\n<a:s> <a:p> <a:o> _:n2 .\n",
    "quoted": "<< _:n0 <a:p> _:n1 >> <a:q> _:n0 .\n<a:s> <a:q> <<( <a:s> <a:p> <<( _:n1 <a:p> _:n2 )>> )>> .\n",
    "known": '_:n0 <a:p> "1" .\n_:n1 <a:p> "2" .\n<a:s> <a:p> <a:o> .\n',
}


@pytest.mark.parametrize("name", SAME)
def test_other_labels_and_order(name):
    text = SAME[name]
    for seed in range(3):
        other = renamed(text, random.Random(seed))
        assert list(differences(table_of(batches(text), batches(other)))) == []
        found = relabel_to_match(batches(text), batches(other))
        assert lines(found) == lines(batches(text))


DIFFERENT = {
    "rings": (ring(6) + ring(6, 10), ring(12)),
    "rings of other sizes": (ring(3) + ring(5, 10), ring(4) + ring(4, 10)),
    "direction": (edges([(0, 1), (1, 2), (0, 2)]), edges([(0, 1), (1, 2), (2, 0)])),
    "self": ("_:a <a:p> _:a .\n", "_:a <a:p> _:b .\n"),
    "one node or two": (
        "_:a <a:p> _:x .\n_:b <a:p> _:x .\n_:a <a:q> _:b .\n", "_:a <a:p> _:x .\n_:a <a:p> _:x .\n_:a <a:q> _:b .\n"
    ),
    "inside a quoted triple": ("<< _:a <a:p> _:b >> <a:q> _:a .\n", "<< _:a <a:p> _:b >> <a:q> _:b .\n"),
    "how often": ("_:a <a:p> <a:o> .\n" * 2, "_:a <a:p> <a:o> .\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_structures(name):
    left, right = map(batches, DIFFERENT[name])
    assert list(differences(table_of(left, right))) != []
    assert list(differences(table_of(right, left))) != []


any_quads = st.lists(st.one_of(quads(star), quads(generalized)), max_size=8)


@given(any_quads, any_quads, st.randoms())
def test_like_the_comparison_of_objects(left, right, chance):
    """Two datasets by the table of numbers and by Python objects: the same answer, the same statements told."""
    nodes = [BlankNode(f"r{i}") for i in range(40)]
    chance.shuffle(nodes)
    names = {}

    def new(term):
        if isinstance(term, QuotedTriple):
            return QuotedTriple(*map(new, term))
        return names.setdefault(term.value, nodes[len(names)]) if isinstance(term, BlankNode) else term

    for other in ([tuple(map(new, s)) for s in left], right, [*left, *right], left[1:]):
        wanted = list(difference(map(as_quad, left), map(as_quad, other)))
        found = list(differences(table_of(of_statements(left), of_statements(other))))
        assert sorted(side for side, _ in found) == sorted(side for side, _ in wanted)
        assert [text is None for _, text in found] == [statement is None for _, statement in wanted]


@given(st.lists(st.tuples(*[st.sampled_from("abcdef")] * 2), max_size=12), st.randoms())
def test_relabel_small_graphs(pairs, chance):
    text = "".join(f"_:{x} <a:p> _:{y} .\n" for x, y in pairs)
    found = relabel_to_match(batches(text), batches(renamed(text, chance)))
    assert lines(found) == lines(batches(text))


@given(
    st.lists(st.tuples(*[st.sampled_from("abcdef")] * 2), max_size=12),
    st.lists(st.tuples(*[st.sampled_from("abcdefz")] * 2), max_size=12),
)
def test_relabelled_is_the_same_dataset(pairs, others):
    """Whatever is matched: no two nodes get one label."""
    old = "".join(f"_:{x} <a:p> _:{y} .\n" for x, y in pairs)
    new = "".join(f"_:{x} <a:p> _:{y} .\n" for x, y in others)
    found = relabel_to_match(batches(old), batches(new))
    assert list(differences(table_of(batches(new), found))) == []


def test_changes_stay_small():
    """One value of one blank node changes, so one statement does."""
    people = "".join(
        f'<a:p{i}> <a:address> _:n{i} .\n_:n{i} <a:street> "{i}" .\n_:n{i} <a:city> _:c{i % 7} .\n' for i in range(100)
    ) + "".join(f'_:c{i} <a:name> "{i}" .\n' for i in range(7))
    new = renamed(people.replace('"42"', '"43b"'), random.Random(3))
    found = set(lines(relabel_to_match(batches(people), batches(new))))
    assert found - set(lines(batches(people))) == {'_:n42 <a:street> "43b" .'}
    assert set(lines(batches(people))) - found == {'_:n42 <a:street> "42" .'}


def test_labels_that_are_wanted_elsewhere():
    old = batches('_:x <a:p> "1" .\n_:x.1 <a:p> "3" .\n')
    new = batches('_:y <a:p> "1" .\n_:x <a:p> "2" .\n_:x <a:q> _:y .\n')
    found = lines(relabel_to_match(old, new))
    assert '_:x <a:p> "1" .' in found
    assert not any(line.startswith(('_:x <a:p> "2"', '_:x.1 <a:p> "2"')) for line in found)
    assert len({line.split()[0] for line in found}) == 2


def test_nothing_to_do():
    new = batches("<a:s> <a:p> <a:o> .\n_:x <a:p> <a:o> .\n")
    assert match_labels([], new) == match_labels(new, []) == match_labels(new, new) == {}


def test_labels_that_are_taken():
    old, new = batches('_:x <a:p> "1" .\n'), batches('_:y <a:p> "1" .\n_:x <a:p> "2" .\n')
    assert match_labels(old, new) == {"y": "x", "x": "x.1"}
    assert match_labels(old, new, is_taken={"x.1", "x.2"}.__contains__) == {"y": "x", "x": "x.3"}


def circulant(n, steps):
    """Each node stands like each other, so colours tell nothing."""
    return edges([(i, (i + step) % n) for i in range(n) for step in steps])


@pytest.mark.bounded
def test_poison():
    text, other = circulant(41, (1, 5)), circulant(41, (1, 7))
    assert list(differences(table_of(batches(text), batches(other)))) == [("left", None)]
    with pytest.warns(jelly.JellyWarning, match="too much alike"):
        found = within(10, lambda: relabel_to_match(batches(text), batches(other), max_work=500))
    assert list(differences(table_of(batches(other), found))) == []
    with pytest.raises(jelly.JellyError, match="too much alike"):
        list(differences(table_of(batches(text), batches(other)), max_work=500))


def test_refinement_is_bounded(monkeypatch):
    """Where no more rounds may run, equal datasets are still found equal or it is said that this is not known."""
    monkeypatch.setattr("jelly._tools.blank_nodes.MAX_ROUNDS_WORK", 1)
    text = SAME["list"]
    for seed in range(3):
        with contextlib.suppress(jelly.JellyError):
            assert list(differences(table_of(batches(text), batches(renamed(text, random.Random(seed)))))) == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jelly.JellyWarning)
        found = relabel_to_match(batches(text), batches(renamed(text, random.Random(5))))
    monkeypatch.undo()
    assert list(differences(table_of(batches(text), found))) == []


@pytest.mark.bounded
def test_many_equal_parts_take_little_time():
    text = "".join(f"_:x{i} <a:p> _:y{i} .\n_:y{i} <a:q> _:z{i} .\n" for i in range(20_000))
    other = renamed(text, random.Random(1))
    assert within(10, lambda: lines(relabel_to_match(batches(text), batches(other)))) == lines(batches(text))


# ---- StatementTable and Relabeling


def test_differences_are_those_of_multisets():
    one, two = "<a:s> <a:p> <a:o> .\n", '<a:s> <a:p> "x"@en <a:g> .\n'
    found = list(differences(table_of(batches(one * 3 + two), batches(one + two * 2))))
    assert sorted(found) == [("left", "<a:s> <a:p> <a:o>")] * 2 + [("right", '<a:s> <a:p> "x"@en <a:g>')]


def test_statements_of_rows():
    table = StatementTable()
    (batch,) = batches("".join(f'<a:s> <a:p> "{i}" .\n' for i in range(10)))
    table.add(batch, 0, 2, 5)
    table.add(batch, 1, 4)
    left, right = table.take_differences()
    assert (len(left), len(right)) == (2, 5)
    for start, stop in ((-1, 2), (3, 2), (0, 11)):
        with pytest.raises((IndexError, ValueError)):
            StatementTable().add(batch, 0, start, stop)
    with pytest.raises(IndexError):
        StatementTable().add(batch, 2)
    with pytest.raises(ValueError, match="taken"):
        table.add(batch, 0)
    with pytest.raises(ValueError, match="not taken"):
        _ = StatementTable().terms


def test_triples_that_quote_others_often():
    """Each quotes the one before twice: what is told of them stays short."""
    term = QuotedTriple(BlankNode("b"), IRI("a:p"), IRI("a:o"))
    for _ in range(9):
        term = QuotedTriple(term, IRI("a:p"), term)
    left = of_statements([(IRI("a:s"), IRI("a:p"), term, IRI("a:g"))])
    right = of_statements([(IRI("a:s"), IRI("a:q"), term, IRI("a:g"))])
    assert list(differences(table_of(left, left))) == []
    found = list(differences(table_of(left, right)))
    assert [side for side, _ in found] == ["left", "right"]
    assert all(len(text) < 2000 for _, text in found)


def test_relabel_keeps_the_rest():
    data = "<< _:a <a:p> _:b >> <a:q> _:a <a:g> .\n<a:s> <a:p> \"x\"@en .\n"
    (batch,) = batches(data)
    changed = Relabeling({"a": "\u00e9" * 50, "c": "d"}).apply(batch)
    changed.check()
    assert lines([changed]) == sorted(line.replace("_:a", "_:" + "\u00e9" * 50) for line in lines([batch]))
    assert (changed.first_row, changed.frames.tolist()) == (batch.first_row, batch.frames.tolist())
