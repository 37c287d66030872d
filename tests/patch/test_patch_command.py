"""jelly patch: what the commands print and write, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jelly.patch
from jelly._bytes.source import Source
from jelly.patch import read_patches

pytest.importorskip("click")
from click.testing import CliRunner

from jelly.cli.commands import cli

OLD = b'<a:s> <a:p> "1" .\n<a:s> <a:q> "2" .\n'
NEW = b'<a:s> <a:q> "2" .\n<a:s> <a:p> "3" <a:g> .\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "old.nt").write_bytes(OLD)
    (tmp_path / "new.nq").write_bytes(NEW)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    group = ["patch"] if words[0] in ("apply", "invert", "compact", "log") else []
    done = CliRunner().invoke(cli, [*group, *words])
    assert done.exit_code == code, done.output
    return done.output


def test_from_two_files_to_a_patch_and_back(folder: Path) -> None:
    run("diff", "old.nt", "new.nq", "x.jellyp")
    assert "1 added, 1 deleted" in run("apply", "--missing", "error", "x.jellyp", "old.nt", "made.nq")
    assert sorted((folder / "made.nq").read_bytes().splitlines()) == sorted(NEW.splitlines())
    assert "does not match" in run("apply", "--missing", "error", "x.jellyp", "new.nq", "again.nq", code=1)
    assert not (folder / "again.nq").exists()
    run("invert", "x.jellyp", "y.rdfp")
    run("apply", "y.rdfp", "made.nq", "back.nq")
    assert sorted((folder / "back.nq").read_bytes().splitlines()) == sorted(OLD.splitlines())
    run("compact", "x.jellyp", "y.rdfp", "none.trp")
    run("apply", "none.trp", "old.nt", "same.nq")
    assert sorted((folder / "same.nq").read_bytes().splitlines()) == sorted(OLD.splitlines())
    assert run("convert", "x.jellyp", "-").splitlines()[0] == "TX ."
    run("convert", "--patch-type", "frame", "x.jellyp", "z.jellyp.gz")
    assert "stream_type: FRAME" in run("inspect", "--patches", "--table", "z.jellyp.gz")
    run("convert", "--triples", "x.jellyp", "t.jellyp", code=1)
    assert not (folder / "t.jellyp").exists()


def test_the_format_of_two_files_without_suffixes(folder: Path) -> None:
    for name, text in (("one", OLD), ("two", OLD + NEW)):
        (folder / name).write_bytes(text)
    assert "use --from nt" in run("diff", "one", "two", code=1)
    assert run("diff", "one", "two", "--from", "nq", "--stat").splitlines()[0] == "+1\t-0\t<a:p>"


def test_namespaces_of_two_files(folder: Path) -> None:
    pytest.importorskip("pyoxigraph")
    (folder / "a.ttl").write_bytes(b"@prefix x: <a:> . x:s x:p x:o .\n")
    (folder / "b.ttl").write_bytes(b"@prefix y: <a:> . y:s y:p y:o .\n")
    run("diff", "a.ttl", "b.ttl", "x.jellyp")
    assert run("cat", "x.jellyp").splitlines() == ["TX .", 'PD "x" .', 'PA "y" <a:> .', "TC ."]
    run("apply", "x.jellyp", "a.ttl", "made.ttl")
    assert b"@prefix y: <a:>" in (folder / "made.ttl").read_bytes()
    run("invert", "x.jellyp", "y.jellyp")
    run("apply", "y.jellyp", "made.ttl", "back.ttl")
    assert run("diff", "back.ttl", "a.ttl", "-") == "TX .\nTC .\n0 additions, 0 deletions\n"
    assert run("diff", "--no-namespaces", "a.ttl", "b.ttl", "-") == "TX .\nTC .\n0 additions, 0 deletions\n"


def test_what_a_file_holds(folder: Path) -> None:
    (folder / "a.rdfp").write_text("H id <uuid:1> .\nTX .\nA <a:s> <a:p> <a:o> .\nTC .\n")
    (folder / "b.rdfp").write_text("H id <uuid:2> .\nH prev <uuid:1> .\nTX .\nTC .\n")
    assert run("log", "b.rdfp", "a.rdfp").splitlines() == ["<uuid:1>\t+1\t-0", "<uuid:2>\t+0\t-0"]
    run("log", ".", "-o", "log.jellyp")
    assert [len(patch) for patch in read_patches("log.jellyp")] == [4, 4]
    found = json.loads(run("inspect", "--patches", "--json", "log.jellyp"))
    assert found["patches"][0] == {"headers": [["id", "<uuid:1>"]], "rows": {"A": 1, "TX": 1, "TC": 1, "H": 1}}
    assert "is missing" in run("log", "b.rdfp", code=1)
    assert run("log", "b.rdfp", "--after", "uuid:1").startswith("<uuid:2>")
    assert run("validate", "log.jellyp") == "log.jellyp: no problems\n"
    assert run("count", "log.jellyp") == "2\t8\tlog.jellyp\n"
    # What ends a patch is no operation.
    assert run("convert", "log.jellyp", "log.trp") == run("convert", "log.trp", "again.jellyp") == "8 operations\n"


def test_index_and_slices(folder: Path) -> None:
    (folder / "a.rdfp").write_text("TX .\nA <a:s> <a:p> <a:o> .\nTC .\n")
    writer = jelly.patch.PatchWriter("log.jellyp", seekable=True, keyframe_rows=2, frame_rows=2)
    with writer:
        for number in range(5):
            writer.write(jelly.patch.loads(b"H id <uuid:%d> .\n" % number, format="rdfp")[0])
    assert "index: 5 keyframes, 5 patches, 5 operations" in run("inspect", "--patches", "--table", "log.jellyp")
    assert json.loads(run("inspect", "--patches", "--json", "log.jellyp"))["index"]["patches"] == 5
    assert run("slice", "log.jellyp", "1:3") == "H id <uuid:1> .\nH id <uuid:2> .\n"
    run("slice", "log.jellyp", "3:", "-o", "end.jellyp")
    with jelly.open("end.jellyp") as file:
        assert [str(patch.id) for patch in file] == ["<uuid:3>", "<uuid:4>"]
    assert "is not a range" in run("slice", "log.jellyp", "1", code=2)
    for dst, words, indexed in [
        ("x.jellyp", [], True), ("x.jellyp", ["--seekable"], True), ("x.jellyp", ["--no-seekable"], False),
        ("x.jellyp.gz", [], False), ("x.jellyp.zst", [], True), ("x.jellyp.zst", ["--no-seekable"], False),
        ("x.jellyp.bz2", [], False), ("x.trp", [], False),
    ]:  # fmt: skip
        run("convert", "a.rdfp", dst, *words)
        assert (b"jelly.index" in b"".join(Source(dst).chunks())) == indexed
        assert [len(patch) for patch in read_patches(dst)] == [3]
        assert ("index: " in run("inspect", "--patches", "--table", dst)) == indexed
    run("convert", "a.rdfp", "none.trp", "--seekable", code=1)
    assert not (folder / "none.trp").exists()
    run("convert", "a.rdfp", "x.jellyp", "--no-seekable")
    assert run("slice", "x.jellyp", ":1") == (folder / "a.rdfp").read_text()  # an index in memory
    assert CliRunner().invoke(cli, ["index", "x.jellyp"]).exit_code == 0
    assert run("slice", "x.jellyp", ":1") == (folder / "a.rdfp").read_text()


def test_what_is_wrong_with_a_file(folder: Path) -> None:
    (folder / "x.rdfp").write_text("TX .\nTX .\n")
    assert "line 2: a transaction starts inside" in run("validate", "x.rdfp", code=1)
    data = jelly.patch.dumps(jelly.patch.loads(b"H a 1 .\n", format="rdfp"))
    (folder / "x.jellyp").write_bytes(data[:-4])
    assert "x.jellyp: frame 0, byte" in run("validate", "x.jellyp", code=1)
    cut = data[1:-4]
    (folder / "x.jellyp").write_bytes(bytes([len(cut)]) + cut)
    assert "no punctuation row ends the last patch" in run("validate", "x.jellyp", code=1)
    assert "old.nt is of statements, not of patches" in run("invert", "old.nt", "x.rdfp", code=1)
