"""Batches of query results: their columns, the algebra on them, and what takes statements and refuses them by name."""

from __future__ import annotations

import gc
import io
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.batch_functions import FUNCTIONS
from support.statements import anything

import jelly
from jelly import (
    IRI,
    Batch,
    BlankNode,
    JellyArgumentError,
    JellyOptionsError,
    JellyUnsupportedError,
    Literal,
    QuotedTriple,
)
from jelly._core.algebra.content import row_hash
from jelly._core.algebra.dictionary import TermDictionary
from jelly._core.algebra.relabeling import Relabeling
from jelly._core.algebra.reshape import in_cells
from jelly._core.algebra.select import select, term_rows
from jelly._core.arrow.exporter import ArrowExporter
from jelly._core.base.batch_concat import join_batches
from jelly._core.rules.capabilities import CAPABILITIES, capabilities_of
from jelly._core.terms.batch_builder import BatchBuilder, ResultBatchBuilder, _make_batch
from jelly._core.terms.materialize import SolutionIterator
from jelly._formats.registry import REGISTRY, Content
from jelly._formats.result_syntaxes import Head
from jelly.results import read_results, write_results

X, Y = IRI("a:x"), BlankNode("y")
ROWS = [(X, None, Literal("z", language="en")), (X, Y, None), (None, None, None), (QuotedTriple(Y, X, X), Y, X)]
TERMS = st.none() | anything


def results(rows: list[Any], variables: Any = "abc") -> Batch:
    builder = ResultBatchBuilder(tuple(variables))
    assert builder.extend(iter(rows), 1 << 20) is False
    builder.batch.check()
    return builder.batch


def triples() -> Batch:
    return next(jelly.scan(b"<a:s> <a:p> <a:o> .\n", format="nt").batches())


def test_columns_of_results() -> None:
    batch = results(ROWS)
    assert (len(batch), batch.variables) == (4, ("a", "b", "c"))
    assert repr(batch) == "<jelly.Batch: 4 results of 3 variables, 5 terms>"
    assert (batch.cells.shape, batch.cells.dtype) == ((4, 3), np.int32)
    assert not batch.cells.flags.writeable
    for i, name in enumerate("abc"):
        column = batch.column(name)
        terms = batch.terms()
        assert [None if id < 0 else terms[id] for id in column.tolist()] == [row[i] for row in ROWS]
        assert not column.flags.writeable
        assert np.shares_memory(column, batch.cells)
    assert list(batch) == ROWS
    with pytest.raises(JellyArgumentError, match="no variable 'd': expected one of a, b, c"):
        batch.column("d")
    assert batch.op is None
    assert batch.nbytes == batch.text.nbytes + 5 * 13 + 8 + 12 + 4 * 3 * 4
    with pytest.raises(TypeError, match=r"jelly\.results\.write_results"):
        pickle.dumps(batch)
    # Arrays keep their Batch.
    cells = batch.cells
    del batch, column
    gc.collect()
    assert cells[1].tolist() == [0, 3, -1]


def test_statements_have_no_cells() -> None:
    batch = triples()
    assert batch.variables is None
    for read in (lambda: batch.cells, lambda: batch.column("s")):
        with pytest.raises(JellyOptionsError, match="these are statements, not query results"):
            read()
    with pytest.raises(JellyOptionsError, match="these are statements"):
        next(SolutionIterator([batch]))


@pytest.mark.parametrize("width", [0, 1, 70])
def test_any_number_of_variables(width: int) -> None:
    names = tuple(f"v{i}" for i in range(width))
    rows = [tuple(Literal(str(i * j)) for j in range(width)) for i in range(50)]
    batch = results(rows, names)
    assert batch.cells.shape == (50, width)
    assert list(batch) == rows
    assert list(select(batch, [3, 3, 49])) == [rows[3], rows[3], rows[49]]
    assert list(join_batches([batch, batch])) == rows + rows
    assert list(results([], names)) == []


def test_check_finds_what_is_wrong() -> None:
    terms = [(1, -1, b"a:x"), (7, -1, b"en")]
    good = _make_batch(3, terms, [(0, -1)], variables=("a", "b"))
    good.check()
    for cells in ((0, 2), (-2, 0), (1, 0)):
        with pytest.raises(ValueError, match="a cell has a"):
            _make_batch(3, terms, [cells], variables=("a", "b")).check()
    _make_batch(3, terms, [(0, -1)], frames=[1], variables=("a", "b")).check()  # a result set that ends with it
    for frames in ([0], [0, 1]):
        with pytest.raises(ValueError, match="no frame but"):
            _make_batch(3, terms, [(0, -1)], frames=frames, variables=("a", "b")).check()


def test_rows_that_do_not_fit() -> None:
    builder = ResultBatchBuilder(("a", "b"))
    for row, error, message in (
        ((X,), ValueError, "a row has 1 terms where there are 2 variables"),
        ({"c": X}, ValueError, "'c' is none of the variables a, b"),
        ((X, "text"), JellyArgumentError, "expected an RDF term"),
        (5, JellyArgumentError, "expected a row of terms or a dict of them, got int"),
    ):
        with pytest.raises(error, match=message):
            builder.extend(iter([(Y, None), row]), 10)
    assert len(builder.batch) == 4  # those before the errors
    cells = builder.batch.cells
    with pytest.raises(BufferError, match="arrays of this Batch are alive"):
        builder.extend(iter([(X, X)]), 10)
    del cells
    assert builder.extend(iter([iter((X, X)), {"b": Y}]), 6) is True
    assert list(builder.batch) == [(Y, None)] * 4 + [(X, X), (None, Y)]


# ---- algebra


@given(st.lists(st.tuples(TERMS, TERMS), max_size=12), st.data())
def test_algebra_of_results(rows: list[Any], data: Any) -> None:
    batch = results(rows, "ab")
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=15)) if rows else []
    for wanted in (chosen, slice(1, 5), np.arange(len(rows)) % 2 == 0):
        numbers = np.array(wanted, np.int64) if wanted is chosen else np.arange(len(rows))[wanted]
        some = select(batch, wanted)
        some.check()
        assert some.variables == ("a", "b")
        assert list(some) == [rows[i] for i in numbers.tolist()]
    both = join_batches([batch, select(batch, chosen)])
    both.check()
    assert list(both) == rows + [rows[i] for i in chosen]
    one = both.unique()
    one.check()
    assert (list(one), one.variables) == (list(both), both.variables)
    assert len(set(one.terms())) == one.n_terms
    hashes = row_hash(both, bytes(16))
    kept = [tuple(row) for row in hashes.tolist()]
    for i, row in enumerate(both):
        for j, other in enumerate(both):
            assert (row == other) == (kept[i] == kept[j])
    assert list(Relabeling({}).apply(batch)) == rows


def test_places_and_bounds_count_in_hashes() -> None:
    batch = results([(X, None), (None, X), (X, X), (None, None)], "ab")
    assert len(set(row_hash(batch, bytes(16))[:, 0].tolist())) == 4
    # The same terms as a statement, or with another number of variables, are other rows.
    statement = triples()
    terms = statement.terms()
    for row in (terms, [*terms, None], [*terms, None, None]):
        other = results([row], "abcde"[: len(row)])
        assert row_hash(other, bytes(16)).tolist() != row_hash(statement, bytes(16)).tolist()


def test_algebra_that_needs_statements_or_the_same_variables() -> None:
    batch = results(ROWS)
    for settings in ({"quads": True}, {"op": 2}, {"op": 0}):
        with pytest.raises(JellyOptionsError, match="query results"):
            select(batch, [0], **settings)
    for others in ([results(ROWS, "abd")], [triples()]):
        with pytest.raises(ValueError, match="cannot be joined"):
            join_batches([batch, *others])
        with pytest.raises(ValueError, match="cannot be joined"):
            join_batches([*others, batch])
    for wrong in ([None], [5], [batch, None]):
        with pytest.raises(TypeError):
            join_batches(wrong)  # type: ignore[arg-type]
    renamed = Relabeling({"y": "other"}).apply(batch)
    renamed.check()
    assert renamed.variables == batch.variables
    assert next(iter(select(renamed, [1])))[1] == BlankNode("other")
    terms = TermDictionary()
    assert terms.ids(batch)[batch.column("a")[0]] == terms.ids(results([(X,)], "q"))[0]


def test_labels_are_replaced_in_results() -> None:
    fit = capabilities_of("results-tsv").fit
    made = fit(results([(BlankNode("a b"), None)], "ab"))
    made.check()
    assert (list(made), made.variables) == ([(BlankNode("esc_a_20b"), None)], ("a", "b"))
    bad = results([(X, X), (X, IRI("rel"))], "ab")
    with pytest.raises(JellyUnsupportedError, match="cannot hold the IRI <rel>, here as value") as caught:
        fit(bad)
    assert caught.value.row == 1
    # A term that no row uses does no harm.
    assert len(fit(select(bad, [0]))) == 1


# ---- what takes statements


def test_terms_of_results_become_rows() -> None:
    batch = results(ROWS)
    numbers = list(range(batch.n_terms))[::-1]
    made = term_rows(batch, numbers)
    assert [made.term(term) for term in made.o] == [batch.term(term) for term in numbers]
    assert len(term_rows(batch, [])) == 0
    with pytest.raises(IndexError):
        term_rows(batch, [batch.n_terms])


# Those that take results, as the tests above show.
TAKING = {
    "content.row_hash", "content.term_hash", "content.blank_terms", "content.slot_keys",
    "dictionary.ids", "dictionary.unique_terms", "select.select", "select.term_rows",
    "dictionary.term_ranks", "materialize.text_of_term", "batch.restate", "needs.refuse_quoted",
    "batch_check.check_batch", "batch_concat.join_batches", "batch_concat.number_rows",
    "relabeling.apply", "reshape.as_statements", "reshape.in_cells", "ResultWriter.encode",
    "blank_node_scope.scope_blank_nodes",
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("rows", [ROWS * 1000, ROWS[:1]], ids=["many", "one"])
def test_results_are_refused_by_name(name: str, rows: list[Any]) -> None:
    with pytest.raises(JellyOptionsError, match="query results"):
        FUNCTIONS[name](results(rows))


def test_every_function_of_the_core_is_named_here() -> None:
    """A function that takes a Batch refuses results or can have them: a new one belongs in a list above."""
    known = {name.partition(" ")[0] for name in FUNCTIONS} | TAKING
    found = set()
    function = re.compile(r"def (\w+)\((?:[^()]|\([^()]*\))*?\b(?:batch|batches): (?:\w+\[)?Batch\b")
    for path in Path(jelly.__file__).with_name("_core").rglob("*.pyi"):
        found.update(f"{path.stem}.{name}" for name in function.findall(path.read_text()))
    assert len(found) > 20
    assert found <= known


def test_results_are_refused_by_public_writers() -> None:
    batch = results([(X, X, X)])
    messages, patch = pytest.importorskip("jelly.messages"), pytest.importorskip("jelly.patch")
    stats = pytest.importorskip("jelly.stats")
    with patch.PatchWriter(io.BytesIO()) as patches, pytest.raises(JellyOptionsError, match="query results"):
        patches.add_batch(batch)
    with messages.MessageWriter(io.BytesIO(), format="nt") as writer:
        for some in (batch, results([])):
            for write in (writer.add_batch, writer.write):
                with pytest.raises(JellyOptionsError, match="query results"):
                    write(some)
        assert writer.messages == 0
    for take in (
        lambda: jelly.dumps(batch),
        lambda: jelly.write(io.BytesIO(), batch, format="nt"),
        lambda: stats.Counting(10).add(batch),
    ):
        with pytest.raises(JellyOptionsError, match="query results"):
            take()
    assert jelly.loads(jelly.dumps(triples())) == triples().statements()
    with pytest.raises(JellyArgumentError, match="got Batch: use add_batch"):
        BatchBuilder(3).add(batch)


def test_statements_are_refused_where_results_are_wanted() -> None:
    for format in REGISTRY[Content.RESULTS].values():
        writer = format.open_writer(Head(("s", "p", "o")))
        with pytest.raises(JellyOptionsError, match="cannot hold statements: it is for query results"):
            writer.encode(triples())
        with pytest.raises(JellyOptionsError, match=r"expected \('s', 'p', 'o'\), as in the header"):
            writer.encode(results(ROWS))
    with pytest.raises(JellyOptionsError, match="cannot hold statements"):
        ArrowExporter("flat", results=True).start(triples())
    assert {held.results for name, held in CAPABILITIES.items() if name.startswith("results-")} == {True}
    assert {format.capabilities.results for format in REGISTRY[Content.RESULTS].values()} == {True}
    assert Content.RESULTS in {format.content for format in REGISTRY[Content.RESULTS].values()}


def test_cells_of_terms() -> None:
    batch = results(ROWS)
    assert list(in_cells(batch, batch.variables, batch.cells)) == ROWS
    assert list(in_cells(batch, ("x",), batch.cells[:, 1:2])) == [(row[1],) for row in ROWS]
    assert list(in_cells(None, ("x", "y"), np.full((2, 2), -1))) == [(None, None)] * 2
    assert list(in_cells(None, (), np.empty((2, 0)))) == [(), ()]
    for variables, cells in ((("x",), [[5]]), (("x",), [[-2]]), (("x", "y"), [[0]]), (("x",), [0])):
        with pytest.raises(JellyArgumentError, match="cells"):
            in_cells(batch, variables, np.array(cells))


# ---- reading and writing


@pytest.mark.parametrize("format", ["thrift", "protobuf", "json", "xml"])
def test_batches_are_read_and_written(format: str) -> None:
    rows = [(X, None, Literal(str(i))) for i in range(10_000)]
    out = io.BytesIO()
    assert write_results(out, "abc", iter(rows), format=format) == len(rows)
    limits = {"batch_rows": 999} if REGISTRY[Content.RESULTS][format].binary else {}
    batches = list(read_results(out.getvalue(), format=format, **limits).batches())
    assert len(batches) > 1
    first = 0
    for batch in batches:
        batch.check()
        assert batch.variables == ("a", "b", "c")
        assert batch.first_row == first
        first += len(batch)
    assert [row for batch in batches for row in batch] == rows
    again = io.BytesIO()
    assert write_results(again, "abc", batches, format=format) == len(rows)
    assert again.getvalue() == out.getvalue()
    with pytest.raises(JellyOptionsError, match="the variables are"):
        write_results(io.BytesIO(), "abd", batches, format=format)
    with pytest.raises(JellyOptionsError, match="cannot hold statements"):
        write_results(io.BytesIO(), "abc", [triples()], format=format)


def test_results_that_end_in_an_error_have_their_batches() -> None:
    out = io.BytesIO()
    write_results(out, ["x"], [(X,)] * 5000, format="thrift")
    for data in (out.getvalue()[:-1], out.getvalue() + b"\0"):
        found = read_results(data, format="thrift", batch_rows=100).batches()
        rows = 0
        with pytest.raises(jelly.JellyError) as caught:  # noqa: PT012
            for batch in found:
                rows += len(batch)
        assert rows == caught.value.row
        assert rows >= 4999


def test_a_row_that_is_too_long_is_not_given() -> None:
    out = io.BytesIO()
    write_results(out, ["x"], [(X,), (Literal("x" * 1000),)], format="thrift")
    found = iter(read_results(out.getvalue(), format="thrift", max_row_bytes=500))
    assert next(found) == (X,)
    with pytest.raises(jelly.JellyLimitError):
        list(found)


def test_arrow_of_results() -> None:
    pytest.importorskip("pyarrow")
    arrow = pytest.importorskip("jelly.arrow")
    names = ("subject", "direction", "frame", "metadata", "object_kind", "s")  # columns of statements elsewhere
    rows = [(X, None, Literal("z", language="ar", direction="rtl"), Y, X, None)] * 3 + [(None,) * 6]
    expected = {
        "flat": ["a:x", None, "z", "_:y", "a:x", None],
        "ntriples": ["<a:x>", None, '"z"@ar--rtl', "_:y", "<a:x>", None],
    }
    for layout, values in expected.items():
        for dictionary in (False, True):
            batches = [results(rows, names)] * 2
            table = arrow.from_results(names, batches, layout=layout, dictionary=dictionary).read_all()
            assert table.column_names == list(names)
            assert [list(row.values()) for row in table.to_pylist()] == ([values] * 3 + [[None] * 6]) * 2
            assert {arrow.pa.types.is_dictionary(type) for type in table.schema.types} == {dictionary}
    with pytest.raises(JellyOptionsError, match="the variables are"):
        arrow.from_results(["a"], [results(ROWS)]).read_all()
    with pytest.raises(JellyOptionsError, match="cannot hold statements"):
        arrow.from_results(["a"], [triples()]).read_all()
    with pytest.raises(JellyOptionsError, match="cannot hold query results"):
        arrow.from_batches([results(ROWS)]).read_all()
    assert arrow.from_results([], [results([(), ()], ())]).read_all().num_rows == 2
    columns = ArrowExporter("flat", results=True)
    columns.start(results(ROWS), np.array([1, 3]))
    n, nulls, _, offsets, data = columns.strings("b", 0, 2) or pytest.fail("no column")
    assert (n, nulls, bytes(data)[: np.asarray(offsets).view(np.int32)[-1]]) == (2, 0, b"_:y_:y")
