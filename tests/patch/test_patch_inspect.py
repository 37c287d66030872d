"""`jelly.inspect` of Jelly-Patch: the rows are counted without decoding, and are those that the reader gives."""

from __future__ import annotations

import io
import json
from collections import Counter

import pytest
from support.contents import validate_patches

import jelly
from jelly import IRI, BlankNode, Literal, Quad
from jelly.patch import (
    Abort,
    Add,
    AddNamespace,
    Commit,
    Delete,
    DeleteNamespace,
    Header,
    Patch,
    PatchOptions,
    PatchStreamType,
    PatchWriter,
    Start,
)

S, P, G = IRI("http://e.org/s"), IRI("http://e.org/p"), IRI("http://e.org/g")
OPERATIONS = [
    Header("id", IRI("urn:uuid:1")),
    Start(),
    AddNamespace("e", "http://e.org/"),
    *(Add(Quad(S, P, Literal(str(n), language="en"), G)) for n in range(300)),
    *(Delete(Quad(BlankNode(f"b{n}"), P, Literal("x", datatype=G))) for n in range(7)),
    DeleteNamespace("e"),
    Commit(),
    Start(),
    Abort(),
]
NAMES = {
    Header: "header", Start: "start", Commit: "commit", Abort: "abort", Add: "add", Delete: "delete",
    AddNamespace: "namespace_add", DeleteNamespace: "namespace_delete",
}  # fmt: skip
ENTRIES = ("options", "name", "prefix", "datatype")


def written(stream_type: PatchStreamType, n: int = 2) -> bytes:
    out = io.BytesIO()
    with PatchWriter(out, PatchOptions(stream_type, rdf_star=True), frame_rows=50) as writer:
        for _ in range(n):
            writer.write(Patch(OPERATIONS))
    return out.getvalue()


@pytest.mark.parametrize("stream_type", PatchStreamType)
def test_rows_are_those_of_the_operations(stream_type: PatchStreamType) -> None:
    if not stream_type:
        pytest.skip("no stream has the type UNSPECIFIED")
    n = 1 if stream_type is PatchStreamType.FLAT else 2
    data = written(stream_type, n)
    found = jelly.inspect(data, per_frame=True, format="jellyp")
    expected = Counter(NAMES[type(operation)] for operation in OPERATIONS * n)
    if stream_type is PatchStreamType.PUNCTUATED:
        expected["punctuation"] = n
    rows = {kind: number for kind, number in found.rows.items() if number and kind not in ENTRIES}
    assert rows == dict(expected)
    assert (found.statements, found.options.stream_type) == (307 * n, stream_type)
    assert found.rows["options"] == 1
    assert min(found.rows[kind] for kind in ENTRIES) > 0
    assert found.bytes == len(data)
    assert sum(found.row_bytes.values()) + found.metadata_bytes < found.bytes
    # The frames make up the whole.
    for kind in found.rows:
        assert sum(frame.rows[kind] for frame in found.frames) == found.rows[kind]
        assert sum(frame.row_bytes[kind] for frame in found.frames) == found.row_bytes[kind]
    assert sum(frame.statements for frame in found.frames) == found.statements


def test_the_suffix_tells(tmp_path) -> None:
    path = tmp_path / "x.jellyp.gz"
    with PatchWriter(path) as writer:
        writer.write(Patch(OPERATIONS))
    told = jelly.inspect(path).as_dict()
    assert told["rows"]["add"] == 300
    assert told["options"]["stream_type"] == "PUNCTUATED"


def test_the_command_in_every_form(tmp_path) -> None:
    yaml = pytest.importorskip("yaml")
    from click.testing import CliRunner

    from jelly.cli.commands import cli

    path = str(tmp_path / "x.jellyp")
    with PatchWriter(path) as writer:
        writer.write(Patch(OPERATIONS))
    forms = [CliRunner().invoke(cli, ["inspect", "--patches", path, form]) for form in ("--json", "--yaml", "--table")]
    told = json.loads(forms[0].stdout)
    assert told["options"]["stream_type"] == "PUNCTUATED"
    assert yaml.safe_load(forms[1].stdout) == told
    assert "  stream_type: PUNCTUATED\n" in forms[2].stdout


def test_what_is_none() -> None:
    with pytest.raises(jelly.JellyError, match="Jelly-Patch"):
        jelly.inspect(written(PatchStreamType.FLAT, 1))
    with pytest.raises(jelly.JellyError, match="statement type 0 is unknown"):
        jelly.inspect(jelly.dumps([(S, P, G)]), format="jellyp")


def test_a_patch_that_is_cut_off_anywhere() -> None:
    data = written(PatchStreamType.FRAME, 1)
    for end in range(1, len(data), 7):
        try:
            found = jelly.inspect(data[:end], format="jellyp")
        except jelly.JellyError:
            continue
        assert found.bytes == end


def test_validate_rows_without_any_term() -> None:
    assert validate_patches(jelly.patch.dumps(Patch([Start(), Commit()]))) == []
