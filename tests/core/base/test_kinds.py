"""The table of kinds, and what each function of the core makes of a kind of term that it has never heard of.

Two kinds of the table are of no format and made by nothing: one with a text, one of three terms. A function that takes
a Batch keeps them apart from all others, or raises an error with their noun: a literal in place of one would be wrong
in silence.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from support.batch_functions import FUNCTIONS, OTHERS

import jelly
from jelly import IRI, Batch, BlankNode, Literal, QuotedTriple
from jelly._core.algebra.blank_node_scope import scope_blank_nodes
from jelly._core.algebra.content import term_hash
from jelly._core.algebra.dictionary import TermDictionary, term_ranks
from jelly._core.algebra.select import select
from jelly._core.base.kinds import NOUNS, Kind, kinds_of, with_article
from jelly._core.jena.writer import BinaryWriter
from jelly._core.rules.capabilities import CAPABILITIES
from jelly._core.terms.batch_builder import BatchBuilder, ResultBatchBuilder
from jelly._core.terms.materialize import Materializer, SolutionIterator

LEAF, TRIPLE = kinds_of("spare")
S, P, X = IRI("a:s"), IRI("a:p"), IRI("a:x")
# A term of each of the two kinds, but for the kind.
ITEMS = {LEAF: IRI("a:spare"), TRIPLE: QuotedTriple(S, P, X)}
ROWS = [(BlankNode("x"), P, Literal("x", language="en")), (S, P, Literal("1", datatype="a:t")), (S, P, X)]
PLACES = ["subject", "predicate", "object"]
WRITERS = ["text.encode", "row_writer.encode", "encoder.encode"]

# They need not know what a term is to do their work: hashes, numbers, order, rows from rows.
HANDLED = {
    *("message_blank_nodes." + name for name in (
        "drop_open_frame", "number_labels", "number_labels marked", "rename_blank_nodes",
    )),
    "encoder.needed_version", "needs.lacking", "needs.refuse_quoted",
    "statement_table.add",
    "graph_ids.add", "graph_ids.numbers", "graph_ids.numbers add", "graph_names.name_default_graph",
    *("batch." + name for name in ("s", "p", "o", "g", "arity", "restate")),
    "content.row_hash", "content.row_hash alike", "content.term_hash", "content.blank_terms", "content.slot_keys",
    "dictionary.ids", "dictionary.unique_terms", "dictionary.term_ranks",
    "reshape.as_results", "reshape.as_statements", "reshape.in_cells",
    "select.select", "select.select quads", "select.select op", "select.term_rows",
    "batch_concat.join_batches", "batch_concat.number_rows",
    "relabeling.apply", "blank_node_scope.scope_blank_nodes",
}  # fmt: skip
ALL = {
    **FUNCTIONS, **OTHERS,
    "blank_node_scope.scope_blank_nodes": lambda batch: scope_blank_nodes(batch, b"jf0123456789abcdef_"),
}  # fmt: skip
# Those of patches and of query results.
PATCHES = ("changes.take", "row_writer.encode patch", "text.encode patch", "operations")
RESULTS = ("exporter.kinds", "exporter.kind_codes", "exporter.directions")


def spare(batch: Batch, kind: int) -> Batch:
    """The Batch, in which the term of `ITEMS` is of that kind."""
    old = Kind.TRIPLE if kind == TRIPLE else Kind.IRI
    text = "" if kind == TRIPLE else "a:spare"
    found = [term for term in range(batch.n_terms) if batch.kind[term] == old and batch.term_text(term) == text]
    assert found
    at = batch.kind.ctypes.data
    for term in found:
        ctypes.c_int8.from_address(at + term).value = kind
    return batch


def statements(kind: int, place: str, arity: int = 3) -> Batch:
    builder = BatchBuilder(arity)
    row: list[Any] = [S, P, X, *[IRI("a:g")] * (arity - 3)]
    row[["subject", "predicate", "object", "graph"].index(place)] = ITEMS[kind]
    rows: Iterable[Any] = [*ROWS, tuple(row)] if arity == 3 else [tuple(row)]
    for one in rows:
        builder.add(one)
    return spare(builder.batch, kind)


def patch(kind: int) -> Batch:
    return select(statements(kind, "object"), [0, 1, 2, 3], op=2)


def results(kind: int) -> Batch:
    builder = ResultBatchBuilder(("a", "b"))
    builder.extend(iter([(S, ITEMS[kind]), (None, S)]), 1 << 20)
    return spare(builder.batch, kind)


def fails(kind: int, function: Any, *batches: Batch) -> None:
    with pytest.raises(Exception, match=NOUNS[kind]):
        function(*batches)


def test_sets() -> None:
    parts = [kinds_of(name) for name in ("node", "literal", "triple", "text", "pattern", "spare")]
    assert sorted(sum(parts, ())) == list(range(1, len(NOUNS)))
    assert {*Kind} | {*kinds_of("spare")} == set(range(1, len(NOUNS)))
    assert kinds_of("term") == parts[0] + parts[1] + parts[2]
    assert kinds_of("compound") == (Kind.TRIPLE, TRIPLE)
    assert [with_article(kind) for kind in (1, 2, 6)] == ["an IRI", "a blank node", "a quoted triple"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", [LEAF, TRIPLE])
@pytest.mark.parametrize("name", sorted(ALL.keys() - {*PATCHES, *RESULTS}))
def test_statements(name: str, kind: int, place: str) -> None:
    batch = statements(kind, place)
    if name not in HANDLED:
        return fails(kind, ALL[name], batch)
    found = ALL[name](batch)
    if isinstance(found, Batch) and len(found) >= len(ROWS) + 1:
        assert kind in found.kind
    return None


@pytest.mark.parametrize("kind", [LEAF, TRIPLE])
@pytest.mark.parametrize("name", ["capabilities.fit nq", *WRITERS, "canonical.add"])
def test_graphs(name: str, kind: int) -> None:
    fails(kind, ALL[name], statements(kind, "graph", 4))


@pytest.mark.parametrize("kind", [LEAF, TRIPLE])
@pytest.mark.parametrize("name", PATCHES[1:])
def test_patches(name: str, kind: int) -> None:
    fails(kind, ALL[name], patch(kind))


@pytest.mark.parametrize("kind", [LEAF, TRIPLE])
def test_changes(kind: int) -> None:
    """Rows are hashed there, and nothing else."""
    ALL["changes.take"](patch(kind))


@pytest.mark.parametrize("kind", [LEAF, TRIPLE])
def test_results(kind: int) -> None:
    batch = results(kind)
    for name in RESULTS:
        fails(kind, ALL[name], batch)
    for held in CAPABILITIES.values():
        if held.results:
            fails(kind, held.fit, batch)
    fails(kind, lambda batch: list(SolutionIterator([batch])), batch)


@pytest.mark.parametrize("version", [1, 3])
@pytest.mark.parametrize("kind", [LEAF, TRIPLE])
def test_inside_quoted_triples(kind: int, version: int) -> None:
    builder = BatchBuilder(3)
    builder.add((S, P, QuotedTriple(S, P, IRI("a:spare")) if kind == LEAF else QuotedTriple(S, P, ITEMS[TRIPLE])))
    batch = builder.batch
    if kind == LEAF:
        spare(batch, kind)
    else:
        first = int(np.flatnonzero(batch.kind == Kind.TRIPLE)[0])
        ctypes.c_int8.from_address(batch.kind.ctypes.data + first).value = kind
    options = jelly.StreamOptions(version=version, rdf_star=version == 1)
    fails(kind, lambda batch: jelly.Encoder(options).encode(batch), batch)
    fails(kind, lambda batch: ALL["text.encode"](batch), batch)
    fails(kind, lambda batch: BinaryWriter("protobuf").encode(batch), batch)
    fails(kind, lambda batch: Materializer(batch).statements(), batch)


@pytest.mark.parametrize("library", ["rdflib", "pyoxigraph"])
@pytest.mark.parametrize("kind", [LEAF, TRIPLE])
@pytest.mark.parametrize("place", PLACES)
def test_other_libraries(library: str, kind: int, place: str) -> None:
    pytest.importorskip(library)
    if library == "rdflib":
        from jelly.rdflib._terms import term_adapter as library_of
    else:
        from jelly._formats.syntaxes import library_of
    adapter = library_of()
    fails(kind, lambda batch: Materializer(batch, adapter).statements(), statements(kind, place))


@pytest.mark.parametrize("kind", [LEAF, TRIPLE])
def test_told_apart(kind: int) -> None:
    """Hashes, numbers and order are not those of a term with the same parts and another kind."""
    batch = statements(kind, "object")
    builder = BatchBuilder(3)
    builder.add((S, P, ITEMS[kind]))
    other = builder.batch
    spares = np.flatnonzero(batch.kind == kind)
    alike = other.o[0]
    seed = bytes(16)
    assert (term_hash(batch, seed)[spares[0]] != term_hash(other, seed)[alike]).any()
    terms = TermDictionary()
    assert terms.ids(batch)[spares[0]] != terms.ids(other)[alike]
    assert kind in terms.batch().kind
    ranks, most = term_ranks(batch, np.ones(batch.n_terms, bool))
    assert most == batch.n_terms == len(set(ranks.tolist()))
    assert ranks[spares[0]] == max(ranks)


@pytest.mark.parametrize("name", ["capabilities.fit nt", *WRITERS, "exporter.start"])
@pytest.mark.parametrize("kind", [LEAF, TRIPLE])
def test_unused_terms(name: str, kind: int) -> None:
    """A term that no row uses is no fault."""
    batch = select(statements(kind, "object"), [2, 2, 2])
    assert kind in batch.kind
    ALL[name](batch)
