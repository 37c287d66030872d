"""diff and apply of datasets with blank nodes, which other labels do not make others."""

from __future__ import annotations

import io
import random
import warnings
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.canonical import canonical_quads
from support.chance import many

import jelly
from jelly import IRI, BlankNode, Literal, Quad, QuotedTriple
from jelly.patch import Add, Patch, _diff, apply, diff

oxigraph = pytest.importorskip("pyoxigraph", reason="it tells which datasets are the same")

NODES = [BlankNode(name) for name in "abcdef"]
NAMES = [*NODES, BlankNode("z"), BlankNode("a.1")]
NODE = st.sampled_from(NODES)
OBJECT = st.one_of(NODE, NODE, NODE, st.sampled_from([IRI("a:x"), Literal("1"), Literal("2")]))
SUBJECT = st.one_of(NODE, NODE, st.just(IRI("a:x")))
GRAPH = st.one_of(st.none(), st.none(), st.none(), NODE, st.just(IRI("a:x")))
STATEMENT = st.builds(Quad, SUBJECT, st.sampled_from([IRI("a:p"), IRI("a:q")]), OBJECT, GRAPH)
DATASETS = st.lists(STATEMENT, max_size=10)
# In memory; or all of it in files, but for the blank nodes that are matched.
PLACES = st.sampled_from(["memory", "files"])


def nquads(statements: Any) -> bytes:
    out = io.BytesIO()
    jelly.write(out, statements, format="nq")
    return out.getvalue()


def canonical(data: bytes) -> str:
    """By pyoxigraph, as sorted lines."""
    return "\n".join(map(str, canonical_quads(oxigraph, data)))


def relabelled(statements: list[Quad], names: list[BlankNode]) -> list[Quad]:
    new = dict(zip(NODES, names, strict=True))

    def term(x: Any) -> Any:
        if isinstance(x, QuotedTriple):
            return QuotedTriple(*map(term, x))
        return new.get(x, x) if isinstance(x, BlankNode) else x

    return [Quad(*map(term, statement)) for statement in statements]


def applied(patch: Patch, data: bytes) -> bytes:
    out = io.BytesIO()
    done = apply(patch, data, out, format="nq", to="nq", on_missing="error")
    assert done.missing == 0
    return out.getvalue()


@pytest.fixture(scope="module")
def place() -> Any:
    """Sets where `diff` keeps what it compares."""
    patcher = pytest.MonkeyPatch()

    def at(name: str) -> None:
        patcher.undo()
        if name == "files":
            patcher.setattr(_diff, "INDEX_SHARE", 1 << 40)
            patcher.setattr(_diff, "SPOOL_SHARE", 1 << 40)

    yield at
    patcher.undo()


@many
@given(old=DATASETS, names=st.permutations(NAMES), chance=st.randoms(), where=PLACES)
@example(old=[Quad(NODES[0], IRI("a:p"), NODES[0], None)] * 2, names=NAMES[1:], chance=random.Random(1), where="files")
def test_other_labels_are_no_difference(old: Any, names: Any, chance: Any, where: str, place: Any) -> None:
    place(where)
    new = relabelled(old, names[: len(NODES)])
    chance.shuffle(new)
    assert len(diff(nquads(old), nquads(new), format="nq", batch_rows=3)) == 2  # TX and TC


@many
@given(old=DATASETS, other=DATASETS, keep=st.integers(0, 10), names=st.permutations(NODES), where=PLACES)
def test_what_is_applied_is_the_new_one(old: Any, other: Any, keep: int, names: Any, where: str, place: Any) -> None:
    place(where)
    new = relabelled(old[:keep], names) + other
    before, after = nquads(old), nquads(new)
    patch = diff(before, after, format="nq", batch_rows=3)
    assert canonical(applied(patch, before)) == canonical(after)
    by_label = diff(before, after, format="nq", match_blank_nodes=False)
    assert len(patch) <= len(by_label)
    operations = list(patch)
    assert len(set(map(str, operations))) == len(operations)
    if len(patch) == len(by_label):  # then the labels of both stay as they are
        assert sorted(map(str, operations)) == sorted(map(str, by_label))


def test_quoted_triples(place: Any) -> None:
    a, b, c, p = *NODES[:3], IRI("a:p")
    old = [(a, p, QuotedTriple(IRI("a:s"), p, QuotedTriple(b, p, c))), (c, p, Literal("1")), (b, p, a)]
    old = [Quad(*statement, None) for statement in old]
    new = relabelled(old, [*NODES[1:], NODES[0]])
    for where in ("memory", "files"):
        place(where)
        assert len(diff(nquads(old), nquads(new), format="nq")) == 2
        more = [*new, Quad(IRI("a:s"), p, Literal("2"), None)]
        assert list(diff(nquads(old), nquads(more), format="nq"))[1:-1] == [Add(more[-1])]


def people(n: int) -> list[str]:
    return [f'<a:p{i}> <a:at> _:n{i} .\n_:n{i} <a:street> "{i}" .\n_:n{i} <a:city> _:c{i} .\n' for i in range(n)]


def test_labels_that_stay_are_not_matched_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what hangs together with a difference is matched."""
    seen = []

    def counting(old: Any, new: Any, **settings: Any) -> Any:
        for side in (list(old), list(new)):
            seen.append(sum(map(len, side)))
        return {}

    monkeypatch.setattr("jelly.patch._rematch.match_labels", counting)
    old = people(500)
    new = [*old[:42], old[42].replace('"42"', '"x"'), *old[43:]]
    patch = diff("".join(old).encode(), "".join(new).encode(), format="nt")
    assert [str(row) for row in patch][1:-1] == ['D _:n42 <a:street> "42" .', 'A _:n42 <a:street> "x" .']
    assert seen == []  # no labels would do better
    new[3] = new[3].replace("_:c3", "_:other")
    diff("".join(old).encode(), "".join(new).encode(), format="nt")
    assert seen == [6, 6]
    # Without a deletion no labels make the difference smaller.
    diff("".join(old[1:]).encode(), "".join(old).encode(), format="nt")
    diff("".join(old).encode(), "".join(old[1:]).encode(), format="nt")
    diff(b"<a:s> <a:p> 1 .", b"<a:s> <a:p> 2 .", format="ttl")
    assert seen == [6, 6]


def test_a_change_among_other_labels() -> None:
    old = "".join(people(500))
    new = old.replace("_:n", "_:x").replace("_:c", "_:n").replace('"42"', '"x"')
    assert len(diff(old.encode(), new.encode(), format="nt", match_blank_nodes=False)) > 1000
    patch = diff(old.encode(), new.encode(), format="nt")
    assert [str(row) for row in patch][1:-1] == ['D _:n42 <a:street> "42" .', 'A _:n42 <a:street> "x" .']


def test_new_labels_are_those_of_nothing_else() -> None:
    """A node that is new gets no label of one that stays."""
    old = b'_:x <a:p> "1" .\n_:x.1 <a:p> "3" .\n'
    new = b'_:y <a:p> "1" .\n_:x.1 <a:p> "3" .\n_:x <a:p> "2" .\n'
    patch = diff(old, new, format="nt")
    assert [str(row) for row in patch][1:-1] == ['A _:x.2 <a:p> "2" .']


def test_more_than_the_memory() -> None:
    """Labels count then, and a warning tells so."""
    old = "".join(people(1000)).encode()
    new = old.replace(b"_:n", b"_:x")
    with pytest.warns(jelly.JellyWarning, match="compared by their labels: .* raise memory"):
        patch = diff(old, new, format="nt", memory=100_000)
    assert len(patch) == 6002
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(diff(old, new, format="nt", memory=10_000_000)) == 2
        assert len(diff(old, new, format="nt", memory=100_000, match_blank_nodes=False)) == 6002


def test_poison() -> None:
    """Nodes that all look the same: labels count, and the search ends."""
    text = "".join(f"_:n{i} <a:p> _:n{(i + step) % 301} .\n" for i in range(301) for step in (1, 5))
    other = "".join(f"_:m{i} <a:p> _:m{(i + step) % 301} .\n" for i in range(301) for step in (1, 7))
    with pytest.warns(jelly.JellyWarning, match="too much alike"):
        patch = diff(text.encode(), other.encode(), format="nt")
    assert sorted(applied(patch, text.encode()).splitlines(True)) == sorted(other.encode().splitlines(True))
