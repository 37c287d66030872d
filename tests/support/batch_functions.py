"""The functions of the core that take a Batch of statements, as functions of a Batch, by their names in the stubs."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jelly
from jelly import Batch
from jelly._core.algebra import changes, message_blank_nodes
from jelly._core.algebra.blank_node_scope import scope_blank_nodes
from jelly._core.algebra.content import blank_terms, row_hash, slot_keys, term_hash
from jelly._core.algebra.dictionary import TermDictionary, term_ranks, unique_terms
from jelly._core.algebra.graph_ids import GraphDictionary
from jelly._core.algebra.graph_names import name_default_graph
from jelly._core.algebra.relabeling import Relabeling
from jelly._core.algebra.reshape import as_results, as_statements, in_cells
from jelly._core.algebra.select import select, term_rows
from jelly._core.arrow.exporter import ArrowExporter
from jelly._core.base.batch import restate
from jelly._core.base.batch_check import check_batch
from jelly._core.base.batch_concat import join_batches, number_rows
from jelly._core.jelly.encoder import needed_version
from jelly._core.jena.writer import BinaryWriter
from jelly._core.ntriples.canonical import Canonicalizer
from jelly._core.ntriples.statement_table import StatementTable
from jelly._core.ntriples.text import TextWriter
from jelly._core.rules.capabilities import CAPABILITIES, capabilities_of
from jelly._core.rules.needs import lacking, refuse_quoted
from jelly._core.terms.materialize import Materializer, StatementIterator, text_of_term
from jelly._core.terms.operations import OperationIterator
from jelly._formats.registry import FORMATS


def exporter(use: Callable[[ArrowExporter], Any]) -> Callable[[Batch], Any]:
    def call(batch: Batch) -> None:
        columns = ArrowExporter("flat", results=True)
        columns.start(batch)
        use(columns)

    return call


def syntax_writer(name: str) -> Callable[[Batch], Any]:
    def call(batch: Batch) -> None:
        pytest.importorskip("pyoxigraph")
        with jelly.Writer(io.BytesIO(), format=name) as writer:
            writer.add_batch(batch)

    return call


# All functions of the core that take a Batch of statements, and refuse query results.
FUNCTIONS: dict[str, Callable[[Batch], Any]] = {
    "changes.take": lambda batch: changes.Transactions().take(batch),
    "message_blank_nodes.drop_open_frame": message_blank_nodes.drop_open_frame,
    "message_blank_nodes.number_labels": message_blank_nodes.number_labels,
    "message_blank_nodes.number_labels marked": lambda batch: message_blank_nodes.number_labels(batch, b"mark"),
    "message_blank_nodes.rename_blank_nodes": message_blank_nodes.rename_blank_nodes,
    "encoder.encode": lambda batch: jelly.Encoder(jelly.StreamOptions()).encode(batch),
    "encoder._encode_alone": lambda batch: jelly.Encoder(jelly.StreamOptions())._encode_alone(batch),
    "encoder._encode_part": lambda batch: jelly.Encoder(jelly.StreamOptions())._encode_part(batch, 0, None),
    "encoder.encode_frames": lambda batch: jelly.Encoder(jelly.StreamOptions()).encode_frames(batch),
    "encoder.needed_version": needed_version,
    "encoder.repeat": lambda batch: jelly.Encoder(jelly.StreamOptions()).repeat(batch),
    "reshape.as_results": lambda batch: as_results(batch, ("s", "p", "o", "g")),
    "needs.lacking": lambda batch: lacking(jelly.StreamOptions(), batch),
    "row_writer.encode": lambda batch: BinaryWriter("thrift").encode(batch),
    "row_writer.encode patch": lambda batch: BinaryWriter("thrift", patch=True).encode(batch),
    "row_writer.chunks": lambda batch: list(BinaryWriter("protobuf").chunks(batch)),
    "canonical.add": lambda batch: Canonicalizer().add(batch),
    "statement_table.add": lambda batch: StatementTable().add(batch, 0),
    "text.encode": lambda batch: TextWriter(quads=True).encode(batch),
    "text.encode patch": lambda batch: TextWriter(quads=True, patch=True).encode(batch),
    "text.chunks": lambda batch: list(TextWriter(quads=True).chunks(batch)),
    "text.frames": lambda batch: TextWriter(quads=True).frames(batch),
    "materialize.__new__": lambda batch: Materializer(batch).statements(),
    "materialize.__new__ iterator": lambda batch: list(StatementIterator([batch])),
    "operations": lambda batch: list(OperationIterator([(Materializer(batch), 0, len(batch))])),
    "graph_ids.add": lambda batch: GraphDictionary().add(batch),
    "graph_ids.numbers": lambda batch: GraphDictionary().numbers(batch),
    "graph_names.name_default_graph": lambda batch: name_default_graph(batch, 1, b"a:g"),
    "exporter.start": lambda batch: ArrowExporter("flat").start(batch),
    "exporter.kinds": exporter(lambda columns: columns.kinds(0, 1)),
    "exporter.kind_codes": exporter(lambda columns: columns.kind_codes(0, 1)),
    "exporter.directions": exporter(lambda columns: columns.directions(0, 1)),
    **{f"capabilities.fit {name}": held.fit for name, held in CAPABILITIES.items() if not held.results},
    **{f"batch.{name}": lambda batch, name=name: getattr(batch, name) for name in ("s", "p", "o", "g", "arity")},
    "batch.statements": lambda batch: batch.statements(),
    **{f"Writer {name}": syntax_writer(name) for name in FORMATS},
}


def statement_rows(batch: Batch) -> Any:
    """The rows that are statements, those of a patch among other operations."""
    return np.arange(len(batch)) if batch.op is None else np.flatnonzero(batch.op <= 3)


# Those that take query results, too; the others are in FUNCTIONS.
OTHERS: dict[str, Callable[[Batch], Any]] = {
    "content.row_hash": lambda batch: row_hash(batch, bytes(16)),
    "content.row_hash alike": lambda batch: row_hash(batch, bytes(16), alike=True),
    "content.term_hash": lambda batch: term_hash(batch, bytes(16)),
    "content.blank_terms": blank_terms,
    "content.slot_keys": lambda batch: slot_keys(batch, np.asarray(batch.o)),
    "dictionary.ids": lambda batch: TermDictionary().ids(batch),
    "dictionary.unique_terms": unique_terms,
    "materialize.text_of_term": lambda batch: [text_of_term(batch, term) for term in range(batch.n_terms)],
    "batch.restate": lambda batch: restate(batch, batch.options),
    "needs.refuse_quoted": lambda batch: refuse_quoted(batch, batch.options, 2),
    "dictionary.term_ranks": lambda batch: term_ranks(batch, np.ones(batch.n_terms, bool)),
    "reshape.in_cells": lambda batch: in_cells(batch, ("x",), np.zeros((1, 1), np.int32)),
    "reshape.as_statements": lambda batch: as_statements(as_results(batch, ("s", "p", "o", "g"))),
    "select.select": lambda batch: select(batch, slice(0, len(batch))),
    "select.select quads": lambda batch: select(batch, [0], quads=True),
    "select.select op": lambda batch: select(batch, statement_rows(batch), op=0),
    "select.term_rows": lambda batch: term_rows(batch, np.flatnonzero(batch.kind < 7)),
    "batch_check.check_batch": check_batch,
    "batch_concat.join_batches": lambda batch: join_batches([batch, batch]),
    "batch_concat.number_rows": lambda batch: number_rows(batch, 5),
    "relabeling.apply": Relabeling({"x": "y"}).apply,
    "blank_node_scope.scope_blank_nodes": lambda batch: scope_blank_nodes(batch, b"b1"),
    "capabilities.fit": capabilities_of("jellyp").fit,
    "graph_ids.numbers add": lambda batch: GraphDictionary().numbers(batch, add=True),
    "materialize.hash": lambda batch: {hash(term) for term in batch.terms()},
    "materialize.sorted": lambda batch: sorted(batch.statements()),
    "materialize.equal": lambda batch: batch.statements() == batch.statements(),
    "materialize.pickled": lambda batch: pickle.loads(pickle.dumps(batch.statements())),
    "materialize.copied": lambda batch: copy.deepcopy(batch.statements()),
    "materialize.str": lambda batch: [str(statement) for statement in batch.statements()],
    "materialize.repr": lambda batch: repr(batch.statements()),
    "Batch.terms": lambda batch: batch.terms(),
    "Batch.term": lambda batch: [batch.term(term) for term in range(batch.n_terms)],
    "Batch._repr_html_": lambda batch: batch._repr_html_(),
}  # fmt: skip
