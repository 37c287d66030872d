"""Calls that are nearly right: what is told, and that nothing is left out in silence."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jelly
from jelly import patch
from jelly._bytes.workers import Workers
from jelly.cli.commands import cli
from jelly.errors import JellyArgumentError

S, P, OBJECT, G = (jelly.IRI(f"a:{name}") for name in "spog")
TEXT = b"<a:s> <a:p> <a:o> .\n"
QUADS = b"<a:s> <a:p> <a:o> <a:g> .\n<a:s> <a:p> <a:x> .\n"


def told(call: Callable[[], Any]) -> str:
    with pytest.raises(JellyArgumentError) as caught:
        call()
    return caught.value.reason


@pytest.fixture
def ten(tmp_path: Path) -> Path:
    path = tmp_path / "ten.jelly"
    jelly.write(path, [(S, P, jelly.Literal(str(n))) for n in range(10)], seekable=True)
    return path


def test_keywords_of_another_function(ten: Path) -> None:
    assert told(lambda: jelly.open(ten, thread=2)).endswith("'thread': pass threads= to batches() of the open file")
    assert told(lambda: jelly.loads(TEXT, format="nt")).endswith("use jelly.read(data, format=...)")
    assert told(lambda: jelly.dumps([], formt="nt")).endswith("use jelly.write(io.BytesIO(), statements, format=...)")
    assert told(lambda: jelly.Writer(io.BytesIO(), options={"versoin": 2})).endswith("did you mean 'version'?")


@pytest.mark.parametrize("name", ["x.nt", "x.nq.zst", "x.parquet"])
def test_only_jelly_has_an_index(name: str, tmp_path: Path) -> None:
    assert told(lambda: jelly.convert(TEXT, tmp_path / name, format="nt", seekable=True)).startswith("seekable=")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_is_consumed_once(ten: Path) -> None:
    for src, settings in ((ten, {}), (TEXT, {"format": "nt"})):
        for first in (lambda r: list(r), lambda r: list(r.batches()), lambda r: list(r.frames())):
            reader = jelly.Reader(src, **settings)
            first(reader)
            for again in (lambda r=reader: list(r), lambda r=reader: list(r.frames())):
                assert told(again).startswith("the Reader was consumed before")


def test_no_thread_is_too_few(ten: Path) -> None:
    with jelly.open(ten) as file:
        assert told(lambda: list(file.batches(threads=0))) == "threads is 0: expected 1 or more"
    pytest.importorskip("pyarrow")
    assert told(lambda: jelly.read_arrow(ten, threads=0)) == "threads is 0: expected 1 or more"
    wrong: Any = "2"
    assert told(lambda: Workers(wrong)) == "threads is '2': expected a whole number"


def test_a_patch_without_changes_is_false() -> None:
    same, other = b"<a:s> <a:p> <a:o> .\n", b"<a:s> <a:p> <a:x> .\n"
    assert not patch.diff(same, same, format="nt")
    assert len(patch.diff(same, same, format="nt")) == 2
    assert patch.diff(same, other, format="nt")
    assert patch.diff(b"", other, format="nt")
    assert patch.diff(same, b"", format="nt")
    assert patch.Patch([patch.AddNamespace("a", jelly.IRI("a:b"))])
    assert not patch.Patch([patch.Header("id", S), patch.Start(), patch.Commit()])
    assert not patch.Patch()


# ---- graphs that a format does not have


@pytest.mark.parametrize("target", ["nt", "ttl", "rdf"])
def test_graphs_can_be_dropped(target: str, tmp_path: Path) -> None:
    if target != "nt":
        pytest.importorskip("pyoxigraph")
    path = tmp_path / f"x.{target}"
    advice = "; or drop the graphs with drop_graphs=True"
    with pytest.raises(jelly.JellyError) as caught:
        jelly.convert(QUADS, path, format="nq")
    assert caught.value.reason.endswith(advice)
    assert jelly.convert(QUADS, path, format="nq", drop_graphs=True).statements == 2
    assert set(jelly.read(path)) == {jelly.Triple(S, P, OBJECT), jelly.Triple(S, P, jelly.IRI("a:x"))}


def test_dropped_graphs_make_a_stream_of_triples(tmp_path: Path) -> None:
    source, path = tmp_path / "q.jelly", tmp_path / "t.jelly"
    with jelly.Writer(source) as writer:
        writer.namespace("ex", "a:")
        writer.extend([(S, P, OBJECT, G), (S, P, G, OBJECT)])
        writer.end_frame({"k": b"v"})
    with pytest.raises(jelly.JellyError, match="drop_graphs=True"):
        jelly.convert(source, path, options={"physical_type": jelly.PhysicalType.TRIPLES})
    jelly.convert(source, path, drop_graphs=True)
    assert jelly.read_options(path).physical_type == jelly.PhysicalType.TRIPLES
    assert jelly.read_options(path).logical_type == jelly.LogicalType.FLAT_TRIPLES
    assert list(jelly.read(path)) == [jelly.Triple(S, P, OBJECT), jelly.Triple(S, P, G)]
    assert [name for frame in jelly.scan(path).frames() for name in frame.namespaces] == [("ex", "a:")]
    # Triples stay what they are.
    jelly.convert(path, tmp_path / "again.jelly", drop_graphs=True)
    assert list(jelly.read(tmp_path / "again.jelly")) == list(jelly.read(path))


def test_the_command_drops_graphs(tmp_path: Path) -> None:
    source, path = tmp_path / "q.nq", tmp_path / "t.nt"
    source.write_bytes(QUADS)
    result = CliRunner().invoke(cli, ["convert", str(source), str(path)])
    assert result.exit_code == 1
    assert result.stderr.endswith("use N-Quads; or drop the graphs with --drop-graphs\n")
    assert CliRunner().invoke(cli, ["convert", str(source), str(path), "--drop-graphs"]).exit_code == 0
    assert path.read_bytes() == b"<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:x> .\n"
    # Other commands do not have the option.
    result = CliRunner().invoke(cli, ["sort", str(source), "-o", str(path)])
    assert result.stderr.endswith("; or drop the graphs with jelly convert --drop-graphs\n")
    result = CliRunner().invoke(cli, ["split", str(source), "--parts", "1", "-o", str(tmp_path / "x-{}.nt")])
    assert result.stderr.endswith("use N-Quads\n")


def test_messages_name_no_option_that_the_command_lacks(tmp_path: Path) -> None:
    source = tmp_path / "x.nq"
    source.write_bytes(b"")
    for words, told in (
        (["patch", "log", str(source)], "expected one of jellyp, rdfp, trp\n"),
        (["inspect", str(source), "--per-frame"], "--per-frame and --size go with Jelly, not with N-Quads\n"),
    ):
        assert CliRunner().invoke(cli, words).stderr.endswith(told)


# ---- ranges from the end


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [("-3:", "789"), ("-3:-1", "78"), (":-8", "01"), ("8:-1", "8"), ("-99:2", "01"), ("5:-7", "")],
)
def test_ranges_count_from_the_end(ten: Path, wanted: str, expected: str) -> None:
    result = CliRunner().invoke(cli, ["slice", str(ten), wanted, "--to", "nt"])
    assert result.exit_code == 0, result.output
    assert [line.split('"')[1] for line in result.stdout.splitlines()] == list(expected)


def test_ranges_of_patches_count_from_the_end(tmp_path: Path) -> None:
    path = tmp_path / "log.jellyp"
    with patch.PatchWriter(path, seekable=True) as writer:
        for n in range(4):
            writer.write(patch.Patch([patch.Add((S, P, jelly.Literal(str(n))))]))
    result = CliRunner().invoke(cli, ["slice", str(path), "-2:", "--to", "rdfp"])
    assert [line for line in result.stdout.splitlines() if line[0] == "A"] == [f'A <a:s> <a:p> "{n}" .' for n in (2, 3)]


def test_one_deletion_is_one(tmp_path: Path) -> None:
    change, source = tmp_path / "c.rdfp", tmp_path / "a.nt"
    change.write_text("TX .\nD <a:s> <a:p> <a:x> .\nTC .\n")
    source.write_bytes(TEXT)
    result = CliRunner().invoke(cli, ["patch", "apply", str(change), str(source), str(tmp_path / "b.nt")])
    assert "0 added, 0 deleted, 1 deletion did not match any statement" in result.stderr


def test_patches_of_a_log_have_ids(tmp_path: Path) -> None:
    old, new, change = tmp_path / "a.nt", tmp_path / "b.nt", tmp_path / "c.rdfp"
    old.write_bytes(b"")
    new.write_bytes(TEXT)
    more = ["--id", "uuid:2", "--prev", "uuid:1"]
    assert CliRunner().invoke(cli, ["diff", str(old), str(new), str(change), *more]).exit_code == 0
    (made,) = patch.read_patches(change)
    assert (made.id, made.prev) == (jelly.IRI("uuid:2"), jelly.IRI("uuid:1"))
