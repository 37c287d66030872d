"""What users write, checked by mypy in test_typing.py; it never runs."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import jelly


def read(path: str) -> Iterator[str]:
    for s, p, o in jelly.read(path):
        yield f"{s} {p} {o}"
    for frame in jelly.scan(path).frames():
        assert_type(frame.metadata, dict[str, bytes])
        for statement in frame:
            assert_type(statement, jelly.Triple | jelly.Quad)
    for batch in jelly.scan(path).batches():
        assert_type(batch, jelly.Batch)
        assert_type(batch.s, npt.NDArray[np.int32])
        assert_type(batch.unique(), jelly.Batch)
        assert_type(batch.statements(), list[Any])
        assert_type(batch.terms(), list[Any])
    with jelly.open(path) as file:
        assert_type(file[0], jelly.Triple | jelly.Quad)
        assert_type(file[0:1], list[jelly.Triple | jelly.Quad])


def misspelt(path: str, triple: jelly.Triple) -> None:
    jelly.raed(path)  # type: ignore[attr-defined]
    print(triple.vlaue)  # type: ignore[attr-defined]
    print(triple.s.vlaue)  # type: ignore[union-attr]
    jelly.find(path, p=5)  # type: ignore[arg-type]
    jelly.find(path, p=["a:p", jelly.IRI("a:q")], o=jelly.LanguageRange("en"))
    for s, _, o in jelly.read(path):
        print(s.vlaue)  # type: ignore[union-attr]
        if isinstance(o, jelly.Literal):
            assert_type(o.language, str | None)
        jelly.Triple(s, jelly.IRI("a:p"), o)
    for statement in jelly.read([path, path]):
        assert_type(statement, jelly.Triple | jelly.Quad)
        print(statement.subjcet)  # type: ignore[union-attr]
    for statement in jelly.find(path, p="a:p"):
        assert_type(statement, jelly.Triple | jelly.Quad)
    jelly.read(path).clsoe()  # type: ignore[attr-defined]
    jelly.read(path, formt="nt")  # type: ignore[call-arg]
    jelly.write(path, "hello")  # type: ignore[arg-type]
    jelly.write(path, [1, 2])  # type: ignore[list-item]
    jelly.dumps("hello")  # type: ignore[arg-type]
    jelly.Writer(path).add("x")  # type: ignore[arg-type]
    jelly.Triple("s", "p", "o")  # type: ignore[arg-type]


def values(statement: jelly.Triple | jelly.Quad) -> str:
    assert_type(statement.p, jelly.IRI)
    assert_type(statement.s.value, str)
    for s, p, o in [statement]:
        assert_type(s.value + p.value + o.value, str)
    for s, _, o, g in [statement]:
        named: jelly.Term = g
        print(s.value, isinstance(named, jelly.DefaultGraph))
        return o.value
    return ""


async def read_asynchronously(path: str) -> int:
    n = 0
    async for statement in jelly.scan(path):
        assert_type(statement, jelly.Triple | jelly.Quad)
        n += 1
    async for frame in jelly.scan(path).frames():
        assert_type(frame, jelly.Frame)
    async for batch in jelly.scan(path).batches():
        assert_type(batch, jelly.Batch)
    return n


def write(path: str, literal: jelly.Literal) -> int:
    triple = jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), literal)
    assert_type(literal.datatype, jelly.IRI)
    assert_type(literal.language, str | None)
    jelly.Literal(5, language="en")
    assert sorted([triple, triple]) == [triple, triple]
    with jelly.Writer(path, jelly.StreamOptions.small(rdf_star=True), seekable=True) as writer:
        writer.add(triple)
        writer.end_frame({"key": b"value"})
    assert_type(jelly.loads(jelly.dumps([triple])), list[jelly.Triple | jelly.Quad])
    return jelly.write(path, [triple])
