"""Batches of patches: each function of the core that takes a Batch can have one, or refuses it by name."""

from __future__ import annotations

from typing import Any

import pytest
from support.batch_functions import FUNCTIONS, OTHERS

import jelly
from jelly import IRI, Batch, BlankNode, JellyError, JellyOptionsError, Literal, QuotedTriple
from jelly._core.algebra.graph_ids import GraphDictionary
from jelly._core.algebra.message_blank_nodes import number_labels, rename_blank_nodes
from jelly._core.terms.operations import OperationBatchBuilder

P = pytest.importorskip("jelly.patch")
SEED = bytes(16)
S, X = IRI("a:s"), BlankNode("x")
ROWS = [
    P.Header("id", Literal("v")),
    P.AddNamespace("n", IRI("a:n")),
    P.DeleteNamespace("n"),
    P.Start(),
    P.Add((S, S, Literal("o", language="ar", direction="rtl"))),
    P.Delete((X, S, QuotedTriple(X, S, Literal("1", datatype="a:d")), IRI("a:g"))),
    P.Commit(),
    P.Start(),
    P.Abort(),
]  # fmt: skip

EVERY = FUNCTIONS | OTHERS


def patch(operations: list[Any]) -> Batch:
    builder = OperationBatchBuilder(4)
    for operation in operations:
        builder.add(operation)
    builder.batch.check()
    return builder.batch


def batches(found: Any) -> list[Batch]:
    """The Batches in what a function returned."""
    if isinstance(found, Batch):
        return [found]
    return [one for item in found for one in batches(item)] if isinstance(found, list | tuple) else []


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("rows", [ROWS, ROWS[:4], ROWS[3:4], ROWS[6:], ROWS * 500, []], ids=len)
def test_batches_of_patches(name: str, rows: list[Any]) -> None:
    batch = patch(rows)
    try:
        found = EVERY[name](batch)
    except (JellyError, IndexError, ValueError) as error:
        assert "term id" not in str(error)  # noqa: PT017
        assert isinstance(error, JellyError | IndexError) or "of a patch cannot" in str(error)  # noqa: PT017
    else:
        for made in batches(found):
            made.check()
    batch.check()
    assert len(batch) == len(rows) or name == "message_blank_nodes.drop_open_frame"


def test_every_function_that_takes_results_is_here() -> None:
    from test_result_batches import TAKING

    assert TAKING - {"ResultWriter.encode"} <= {name.partition(" ")[0] for name in OTHERS}


@pytest.mark.parametrize("relations", [False, True])
@pytest.mark.parametrize("add", [False, True])
def test_rows_of_patches_have_no_ids(relations: bool, add: bool) -> None:
    with pytest.raises(JellyOptionsError, match="rows of a patch have no ids"):
        GraphDictionary().numbers(patch(ROWS), relations=relations, add=add)


def test_patches_are_no_messages() -> None:
    for take in (rename_blank_nodes, number_labels, lambda batch: number_labels(batch, b"mark")):
        with pytest.raises(JellyOptionsError, match="a patch has operations"):
            take(patch(ROWS))
    with pytest.raises(jelly.JellyError):
        rename_blank_nodes(patch([]))
