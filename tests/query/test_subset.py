"""Descriptions of nodes, compared with the closure over statements in memory."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jelly
from jelly import IRI, BlankNode, QuotedTriple

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def blank_in(term: Any) -> Iterator[Any]:
    if isinstance(term, BlankNode):
        yield term
    elif isinstance(term, QuotedTriple):
        for part in (term.s, term.o):
            yield from blank_in(part)


def described(statements: list[Any], focus: Iterable[Any], depth: int) -> list[str]:
    """The same by definition."""
    wanted: set[Any] = set()
    new = {*focus}
    for step in range(depth):
        if step:
            new = {each.o for each in statements if each.s in new and isinstance(each.o, IRI)} - wanted
        reached: set[Any] = set()
        while new:
            reached |= new
            new = {node for each in statements if each.s in new for node in blank_in(each.o)} - reached - wanted
        wanted |= reached
        new = reached
    return sorted(str(each) for each in statements if each.s in wanted)


@pytest.mark.parametrize("seed", range(40))
def test_same_as_by_definition(seed: int) -> None:
    chance = random.Random(seed)
    nodes = [f"<a:{name}>" for name in "abcdefg"] + [f"_:{name}" for name in "uvwxyz"]
    objects = [*nodes, '"1"', '"2"@en']
    for _ in range(seed % 4):  # triple terms, also in one another
        objects.append(f"<<( {chance.choice(nodes)} <a:p> {chance.choice(objects)} )>>")
    lines = {
        f"{chance.choice(nodes)} <a:{chance.choice('pq')}> {chance.choice(objects)} ."
        for _ in range(chance.randint(1, 40))
    }
    typed = chance.choice(nodes[:7])
    data = "\n".join([*sorted(lines), f"{typed} <{RDF_TYPE}> <a:Class> ."]).encode()
    statements = list(jelly.read(data, format="nt"))
    focus = [IRI(f"a:{name}") for name in chance.sample("abcdefgh", 2)]
    for depth in (1, 2, 3):
        found = jelly.subset(data, focus=focus, depth=depth, format="nt")
        assert sorted(map(str, found)) == described(statements, focus, depth)
    of_class = jelly.subset(data, class_="a:Class", format="nt")
    assert sorted(map(str, of_class)) == described(statements, [IRI(typed[1:-1])], 1)


def test_quoted_triples_are_not_described_themselves() -> None:
    data = b"""<a:s> <a:p> << <a:x> <a:p> _:b >> .
        << <a:x> <a:p> _:b >> <a:q> "1" .
        _:b <a:q> "2" .
        <a:x> <a:q> "3" ."""
    assert [str(each.o) for each in jelly.subset(data, focus="a:s", format="nt")] == ["<<( <a:x> <a:p> _:b )>>", '"2"']
    quoted = QuotedTriple(IRI("a:x"), IRI("a:p"), BlankNode("b"))
    for _ in range(15):  # each part is there twice
        quoted = QuotedTriple(quoted, IRI("a:p"), quoted)
    star = jelly.dumps([(IRI("a:s"), IRI("a:p"), quoted), (BlankNode("b"), IRI("a:p"), IRI("a:o"))])
    assert jelly.subset(star, focus="a:s").count() == 2


def test_long_lists_take_no_pass_for_each_element() -> None:
    n = 20_000
    lines = [b"<a:s> <a:list> _:b0 ."]
    lines += [b"_:b%d <a:rest> _:b%d ." % (at, at + 1) for at in range(n)]
    assert jelly.subset(b"\n".join(lines), focus="a:s", format="nt").count() == n + 1


def test_files_and_index(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    jelly.write(path, jelly.read(b"<a:s> <a:p> _:x .\n_:x <a:q> <a:o> .\n<a:o> <a:q> <a:o> .\n", format="nt"))
    assert [str(each) for each in jelly.subset(path, focus=["a:s", "a:none"])] == [
        "<a:s> <a:p> _:x .", "_:x <a:q> <a:o> ."
    ]  # fmt: skip
    assert jelly.subset(jelly.scan(path), "a:None").count() == 0
    out = tmp_path / "y.nt"
    assert jelly.subset([path, path], focus="a:s").write(out).statements == 4


def test_refused() -> None:
    with pytest.raises(jelly.JellyArgumentError, match="class_ or focus"):
        jelly.subset(b"", format="nt")
    with pytest.raises(jelly.JellyArgumentError, match="depth is 0"):
        jelly.subset(b"", focus="a:s", depth=0, format="nt")
    with pytest.raises(jelly.JellyArgumentError, match="several times"):
        jelly.subset(iter([b""]), focus="a:s", format="nt")


def test_a_sample_needs_a_seed() -> None:
    """Else each reading of the source has other statements."""
    dataset = jelly.scan(b"<a:s> <a:p> <a:o> .\n<a:t> <a:p> <a:o> .", format="nt")
    with pytest.raises(jelly.JellyArgumentError, match="of a sample its seed="):
        jelly.subset(dataset.sample(1), focus="a:s")
    assert jelly.subset(dataset.sample(1, seed=5), focus=["a:s", "a:t"]).count() == 1
