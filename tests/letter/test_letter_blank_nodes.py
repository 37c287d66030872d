"""Which scope of blank nodes each producer keeps is documented (001, Blank nodes), and kept."""

from __future__ import annotations

import inspect
import io
import pkgutil

import pytest

import jelly
import jelly.messages
import jelly.patch

LABELS = ("b", "b", "c")
ROWS = [jelly.Triple(jelly.BlankNode(label), jelly.IRI("a:p"), jelly.IRI("a:o")) for label in LABELS]


@pytest.mark.parametrize(
    "name",
    [
        "jelly.Writer", "jelly.Reader", "jelly.Encoder", "jelly.Decoder", "jelly.messages.MessageWriter",
        "jelly.messages.MessageReader", "jelly.patch.PatchWriter", "jelly.patch.PatchReader", "jelly.grpc",
    ],
)  # fmt: skip
def test_the_documentation_says_the_scope(name: str) -> None:
    """001-159: the producer SHOULD specify in the documentation which strategy it uses."""
    if name == "jelly.grpc":
        pytest.importorskip("grpc")
    text = " ".join((inspect.getdoc(pkgutil.resolve_name(name)) or "").split())
    assert "blank node" in text.lower()
    assert "scope" in text


def test_the_scope_of_a_stream() -> None:
    """001-159: labels are the same in all frames, flat or grouped."""
    for options in (jelly.StreamOptions(), jelly.StreamOptions(jelly.PhysicalType.TRIPLES, jelly.LogicalType.GRAPHS)):
        out = io.BytesIO()
        with jelly.Writer(out, options) as writer:
            for row in ROWS:
                writer.add(row)
                writer.end_frame()
        frames = list(jelly.scan(out.getvalue()).frames())
        assert len(frames) == 3
        assert [frame.statements[0][0].value for frame in frames] == list(LABELS)


def test_the_scope_of_a_message() -> None:
    """001-159, 002-016: the same label is another node in the next message, which renaming shows."""
    out = io.BytesIO()
    jelly.messages.write_messages(out, [[row] for row in ROWS], format="jelly")
    first, second, _ = jelly.messages.read_messages(out.getvalue())
    assert next(iter(first))[0] == next(iter(second))[0] == jelly.BlankNode("b")
    first, second, _ = jelly.messages.read_messages(out.getvalue(), rename_blank_nodes=True)
    assert [next(iter(each))[0].value for each in (first, second)] == ["m0-b", "m1-b"]


def test_the_scope_of_patches() -> None:
    """001-159: a later patch deletes what an earlier one added."""
    out = io.BytesIO()
    with jelly.patch.PatchWriter(out) as writer:
        writer.write(jelly.patch.Patch([jelly.patch.Add(ROWS[0])]))
        writer.write(jelly.patch.Patch([jelly.patch.Delete(ROWS[1])]))
    added, deleted = jelly.patch.PatchReader(out.getvalue())
    found = [(type(each).__name__, each.statement[0].value) for each in (*added, *deleted)]
    assert found == [("Add", "b"), ("Delete", "b")]
