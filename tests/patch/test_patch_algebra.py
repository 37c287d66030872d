"""diff, compact, invert and apply against the same on lines of text, with as little memory as there may be."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import line_oracle
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.chance import many

import jelly
from jelly import IRI, BlankNode, Literal, Quad, QuotedTriple
from jelly._streams import spool
from jelly.patch import (
    Abort,
    Add,
    AddNamespace,
    Applied,
    Commit,
    Delete,
    DeleteNamespace,
    Header,
    Patch,
    PatchOptions,
    Start,
    _diff,
    apply,
    compact,
    diff,
    dumps,
    invert,
    loads,
)
from jelly.patch._apply import _apply_to_target
from jelly.patch._changes import FEW_ROWS, MANY_BATCHES

A, B, NODE = IRI("a:s"), IRI("a:t"), BlankNode("b")
LITERALS = [
    Literal(""),
    Literal("a:s"),
    Literal("x\n\u00e9\\", language="en"),
    Literal("x\n\u00e9\\", language="EN"),
    Literal("1", datatype="d:t"),
    Literal("1", datatype="a:s"),
    Literal("x" * 700, language="en"),
]
QUOTED = [QuotedTriple(A, B, LITERALS[2]), QuotedTriple(A, B, LITERALS[3]), QuotedTriple(A, B, QuotedTriple(A, B, A))]
# Generalized: anything anywhere. Few terms, so that statements come again.
TERMS = st.sampled_from([A, B, NODE, BlankNode("a"), *LITERALS, *QUOTED])
GRAPHS = st.sampled_from([None, A, NODE, LITERALS[1]])
STATEMENTS = st.builds(Quad, TERMS, st.sampled_from([A, NODE, QUOTED[0]]), TERMS, GRAPHS)
DATASETS = st.lists(STATEMENTS, max_size=12).flatmap(
    lambda some: st.lists(st.sampled_from(some), max_size=30) if some else st.just(some)
)
NAMES = st.sampled_from(["", "x", "y"])
CHANGES = st.one_of(
    st.builds(Add, STATEMENTS),
    st.builds(Delete, STATEMENTS),
    st.builds(AddNamespace, NAMES, st.sampled_from([A, B]), GRAPHS),
    st.builds(DeleteNamespace, NAMES, st.sampled_from([None, A]), GRAPHS),
)
HEADERS = st.lists(
    st.builds(Header, st.sampled_from(["id", "prev", "PREV", "by"]), st.sampled_from([A, B, *LITERALS[:3]])), max_size=2
)


ON_MISSING = st.sampled_from(["ignore", "error"])
OPTIONS = PatchOptions(rdf_star=True, generalized_statements=True)


@st.composite
def patches(draw: Any) -> Patch:
    """A patch whose operations name few statements, in transactions or not, in Batches of a few rows."""
    some = draw(st.lists(CHANGES, min_size=1, max_size=8))
    operations: list[Any] = draw(HEADERS)
    for end in draw(st.lists(st.sampled_from([None, Commit, Abort]), max_size=4)):
        inner = draw(st.lists(st.sampled_from(some), max_size=6))
        operations += inner if end is None else [Start(), *inner, end()]
    if draw(st.booleans()):
        return Patch(operations)
    # As Thrift no IRI of a deleted namespace would be told.
    [patch] = loads(dumps(Patch(operations), OPTIONS), batch_rows=draw(st.integers(1, 4)))
    return patch


def jelly_of(statements: list[Quad], **names: str) -> bytes:
    out = io.BytesIO()
    options = jelly.StreamOptions(generalized_statements=True, rdf_star=True, version=2)
    with jelly.Writer(out, options.replace(physical_type=jelly.PhysicalType.QUADS)) as writer:
        for name, iri in names.items():
            writer.namespace(name, iri)
        writer.extend(statements)
    return out.getvalue()


def lines(statements: list[Any]) -> list[bytes]:
    return line_oracle.lines_of(jelly_of(statements))


def outcome(run: Callable[[], Any]) -> Any:
    """What comes out, or the message of the error."""
    try:
        return run()
    except jelly.JellyFormatError as error:
        return str(error).split(": ")[0]


@many
@given(old=DATASETS, new=DATASETS, rows=st.integers(1, 9), memory=st.sampled_from([0, 1, 700, 3000, 9000, 1 << 29]))
@example([Quad(A, A, A, None)] * 3, [Quad(A, A, B, None)] * 3, 1, 0)
@example([Quad(A, A, Literal("x", language=tag), None) for tag in ("en", "EN")], [], 1, 0)
def test_differences(old: list[Quad], new: list[Quad], rows: int, memory: int) -> None:
    before, after = jelly_of(old, x="a:", y="b:"), jelly_of(new, y="c:")
    gone, added = line_oracle.diff(before, after)
    patch = diff(before, after, memory=memory, batch_rows=rows, match_blank_nodes=False)
    head = [Start(), DeleteNamespace("x", "a:"), DeleteNamespace("y", "b:"), AddNamespace("y", "c:")]
    operations = list(patch)
    assert operations[: len(head)] == head
    assert operations[-1] == Commit()
    assert lines([x.statement for x in operations if isinstance(x, Delete)]) == gone
    assert lines([x.statement for x in operations if isinstance(x, Add)]) == added
    assert len(operations) == len(head) + len(gone) + len(added) + 1
    for batch in patch.batches():
        batch.check()
        assert batch.arity == 4


@many
@given(some=st.lists(patches(), max_size=3))
def test_compacted(some: list[Patch]) -> None:
    assert list(compact(some)) == line_oracle.compact(some)


@many
@given(patch=patches())
def test_inverted(patch: Patch) -> None:
    undone = outcome(lambda: [x for x in invert(patch) if not isinstance(x, Header)])
    if undone == outcome(lambda: line_oracle.invert(patch)):
        return
    # On lines, a deletion that was aborted could not be undone either.
    operations = list(patch)
    ranges, inside = [], None
    for number, operation in enumerate(operations):
        if isinstance(operation, Start):
            inside = number
        elif isinstance(operation, Abort):
            ranges += range(inside or 0, number + 1)
    assert any(isinstance(operations[number], DeleteNamespace) for number in ranges)
    kept = [operation for number, operation in enumerate(operations) if number not in ranges]
    held = line_oracle.invert(Patch(kept))
    assert [x for x in undone if x not in (Start(), Commit())] == [x for x in held if x not in (Start(), Commit())]


@many
@given(some=st.lists(patches(), max_size=3), there=DATASETS, rows=st.integers(1, 9), on_missing=ON_MISSING)
def test_applied_to_a_file(some: list[Patch], there: list[Quad], rows: int, on_missing: Any) -> None:
    source = jelly_of(there, x="n:")
    out = io.BytesIO()

    def run() -> Any:
        done = apply(some, source, out, on_missing=on_missing, batch_rows=rows)
        return line_oracle.lines_of(out.getvalue()), done

    assert outcome(run) == outcome(lambda: line_oracle.apply_to_file(some, lines(there), on_missing))


class _Set:
    """Statements that patches are applied to, as a graph or store."""

    library = None

    def __init__(self, statements: list[Quad]) -> None:
        self.there = set(statements)
        self.names: list[tuple[str, str]] = []

    def has(self, statement: Any) -> bool:
        return statement in self.there

    def add(self, statements: list[Any]) -> None:
        self.there |= set(statements)

    def remove(self, statement: Any) -> None:
        self.there.remove(statement)

    def bind(self, name: str, iri: str) -> None:
        self.names.append((name, iri))


@many
@given(some=st.lists(patches(), max_size=3), there=DATASETS, on_missing=ON_MISSING)
def test_applied_to_a_target(some: list[Patch], there: list[Quad], on_missing: Any) -> None:
    target, expected = _Set(there), set(lines(there))
    done = outcome(lambda: _apply_to_target(some, target, on_missing))
    assert done == outcome(lambda: line_oracle.apply_to_set(some, expected, on_missing))
    assert set(lines(list(target.there))) == expected


def test_rows_outside_of_transactions_are_one_unit() -> None:
    # Whether they come in one Batch or in many: added and deleted again, a statement was never there.
    statement = Quad(A, A, A, None)
    for rows in (1, 2, 99):
        [patch] = loads(dumps(Patch([Add(statement), Delete(statement), Add(statement)])), batch_rows=rows)
        assert _apply_to_target([patch], _Set([]), "ignore") == Applied(1, 0, 0)


def many_statements(n: int, first: int = 0) -> list[Quad]:
    return [Quad(IRI(f"a:{i % 97}"), IRI("a:p"), Literal(f"{i}"), None) for i in range(first, first + n)]


@pytest.mark.parametrize("memory", [0, 100_000, 400_000, 2_000_000, 1 << 29])
def test_what_does_not_fit_goes_to_files(memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    old = jelly_of(many_statements(30_000) * 2)
    new = jelly_of(many_statements(30_000, 20_000) + many_statements(500, 100))
    made: list[Any] = []

    class Comparison(_diff._Comparison):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(_diff, "_Comparison", Comparison)
    monkeypatch.setattr(spool, "MIN_INDEX", 20_000)
    patch = diff(old, new, memory=memory, batch_rows=1000)
    spilled = any(side.hashes is not None or side.spool._file is not None for side in made[0]._sides)
    assert spilled == (memory <= 2_000_000)
    statements = {kind: [x.statement for x in patch if isinstance(x, kind)] for kind in (Add, Delete)}
    gone = many_statements(20_000)
    del gone[100:600]
    assert statements[Delete] == gone
    assert statements[Add] == many_statements(20_000, 30_000)


def test_no_file_is_left_where_reading_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    files: list[Any] = []
    make = spool.tempfile.TemporaryFile
    monkeypatch.setattr(spool.tempfile, "TemporaryFile", lambda: files.append(make()) or files[-1])
    data = jelly_of(many_statements(5000))
    with pytest.raises(jelly.JellyError):
        diff(data, data[:-3], io.BytesIO(), memory=1)
    assert len(files) > 2
    assert all(file.closed for file in files)


def test_labels_that_text_cannot_hold() -> None:
    # On lines, these were errors.
    old, new = ([Quad(BlankNode(label), A, A, None)] for label in ("a b", "a\nb"))
    patch = diff(jelly_of(old), jelly_of(new), match_blank_nodes=False)
    assert list(patch) == [Start(), Delete(old[0]), Add(new[0]), Commit()]


def test_quoted_triples_that_quote_one_another() -> None:
    # 3^60 terms as a tree: all that is done to them is done once for each triple.
    def bomb() -> Any:
        quoted: Any = A
        for _ in range(60):
            quoted = QuotedTriple(quoted, quoted, quoted)
        return Quad(quoted, A, A, None)

    patch = compact([Patch([Add(bomb())]), Patch([Delete(bomb()), Add(Quad(A, A, A, None))])])
    assert (patch.count(2), patch.count(3)) == (1, 1)
    assert invert(patch).count(2) == 1
    assert _apply_to_target([Patch([Add(Quad(A, A, A, None))])], _Set([]), "ignore").added == 1


def test_many_small_transactions() -> None:
    statements = many_statements(3 * MANY_BATCHES + FEW_ROWS)
    operations = [x for statement in statements for x in (Start(), Add(statement), Commit())]
    for some in ([Patch(operations)], [Patch([x]) for x in operations[1::3]]):
        assert [x.statement for x in compact(some) if isinstance(x, Add)] == statements
        out = io.BytesIO()
        assert apply(some, b"", out, format="nq", to="nq").added == len(statements)
        assert out.getvalue().splitlines(True) == lines(statements)
