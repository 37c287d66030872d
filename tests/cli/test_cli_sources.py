"""Commands that read several files, tables, directories and URLs, and that write tables to a pipe."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jelly
from jelly.cli.commands import cli

pa = pytest.importorskip("pyarrow")
A = b'_:x <a:p> "A" .\n'
B = b'_:x <a:p> "B"@en <a:g> .\n'


def run(*arguments: object, code: int = 0, data: bytes = b"") -> bytes:
    found = CliRunner().invoke(cli, [str(each) for each in arguments], input=data)
    assert found.exit_code == code, found.output
    return found.stdout_bytes


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.nt").write_bytes(A)
    (tmp_path / "data" / "b.nq.gz").write_bytes(gzip.compress(B))
    jelly.convert(B, tmp_path / "data" / "c.parquet", format="nq")
    (tmp_path / "data" / "readme.txt").write_text("no RDF")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data"


def test_count_head_cat_stats_validate_find(folder):
    names = ["data/a.nt", "data/b.nq.gz", "data/c.parquet"]
    for given in (["data"], ["data/*.[np]*"], names):
        assert run("count", *given).decode() == "".join(f"1\t{name}\n" for name in names) + "3\ttotal\n"
        assert run("head", *given).count(b"\n") == run("cat", *given).count(b"\n") == 3
        assert run("head", "-n", 2, *given).count(b"\n") == 2
        assert json.loads(run("stats", "--json", *given))["subjects"] == 3
        assert run("validate", *given).decode() == "".join(f"{name}: no problems\n" for name in names)
        assert run("find", *given, "--where", "o.language=en", "--count") == b"2\n"
    assert len({line.split()[0] for line in run("cat", "data").splitlines()}) == 3
    assert run("cat", "--blank-nodes", "keep", "data/c.parquet", "data/a.nt") == B + A
    assert run("head", "--blank-nodes", "keep", "data/c.parquet", "data/a.nt") == B + A
    assert json.loads(run("stats", "--json", "--blank-nodes", "keep", *names))["subjects"] == 1
    skolem = ("--blank-nodes", "skolemize", "--skolem-base", "https://e.org")
    assert json.loads(run("stats", "--json", *skolem, names[0]))["terms"]["subject"] == {"iri": 1}
    assert run("head", "file://" + str(folder / "c.parquet")) == B
    (folder / "d.nt").write_text("nonsense\n")
    told = json.loads(run("validate", "--json", "data", code=1))
    assert [(one["file"], one["line"]) for one in told] == [("data/d.nt", 1)]
    assert b"goes with one file" in CliRunner().invoke(cli, ["validate", "data", "--against", "data/a.nt"]).output_bytes


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrows", "csv"])
def test_tables_through_pipes(folder, kind):
    for command in (
        ["convert", "-q", "--to", kind, "data/b.nq.gz", "-"], ["cat", "--to", kind, "data/b.nq.gz"],
        ["find", "--to", kind, "data/b.nq.gz", "--object", '"B"@en'],
    ):  # fmt: skip
        table = run(*command)
        assert [str(row) for row in jelly.read(table, format=kind)] == [B.decode().strip()]
        assert run("cat", "--from", kind, "-", data=table) == B
        assert run("count", "--from", kind, "-", data=table) == b"1\t-\n"
        jelly_data = run("convert", "-q", "--from", kind, "--to", "jelly", "-", "-", data=table)
        assert [str(row) for row in jelly.read(jelly_data)] == [B.decode().strip()]
    several = run("convert", "-q", "--to", kind, "data", "-")
    assert sorted(row.o.value for row in jelly.read(io.BytesIO(several), format=kind)) == ["A", "B", "B"]


def test_patterns_of_other_contents(folder):
    """A pattern alone is the files that it matches, of patches, messages and results, too."""
    for name, data in {
        "one.rdfp": b"TX .\nA <a:s> <a:p> <a:o> .\nTC .\n",
        "one.ndjsonld": b'{"@id":"a:s","a:p":1}\n',
        "one.tsv": b"?x\n1\n",
    }.items():
        (folder / name).write_bytes(data)
        pattern = f"data/o*{Path(name).suffix}"
        assert run("cat", pattern) == run("cat", f"data/{name}")
        run("convert", "-q", pattern, f"data/new{Path(name).suffix}")
        assert run("cat", f"data/new{Path(name).suffix}") == run("cat", pattern)
        assert b"no file matches" in run_error("cat", f"data/x*{Path(name).suffix}", code=1)
    (folder / "other.rdfp").write_bytes(b"TX .\nD <a:s> <a:p> <a:x> .\nTC .\n")
    assert run("cat", "data/o*.rdfp").count(b"TC .") == 2


def test_convert_of_several(folder):
    run("convert", "-q", "data", "all.jelly")
    assert run("count", "all.jelly") == b"3\tall.jelly\n"
    run("convert", "-q", "data/*.n*", "all.csv")
    assert run("count", "all.csv") == b"2\tall.csv\n"
    assert b"--seekable does not go with tables" in run_error("convert", "--seekable", "data/a.nt", "x.csv")
    assert b"--frame-rows N does not go with tables" in run_error("convert", "--frame-rows", "5", "data/a.nt", "x.csv")
    assert b"--max-names does not go with N-Triples" in run_error("head", "--max-names", "5", "data/a.nt")
    assert b"does not go with any of these files" in run_error("head", "--max-names", "5", "data/a.nt", "data/a.nt")


def run_error(*arguments: str, code: int = 2) -> bytes:
    found = CliRunner().invoke(cli, list(arguments))
    assert found.exit_code == code
    return found.output_bytes


def test_inspect_hash_and_canonicalize(folder):
    for name in ("one", "two"):
        jelly.convert(A + b'<a:s> <a:p> "more" .\n', f"{name}.jelly", format="nt")
    assert run("inspect", "*.jelly").startswith(b"- file: one.jelly\n")
    found = json.loads(run("inspect", "one.jelly", "two.jelly", "--json"))
    assert [(each["file"], each["statements"]) for each in found] == [("one.jelly", 2), ("two.jelly", 2)]
    assert json.loads(run("inspect", "one.jelly", "--json"))["statements"] == 2
    assert run("inspect", "*.jelly", "--table").count(b"physical type") == 2
    both = run("canonicalize", "*.jelly")  # their blank nodes are apart, the other statement is the same
    assert both.count(b"\n") == 3
    assert jelly.canonicalize(["one.jelly", "two.jelly"]).document == both
    assert run("canonicalize", "--blank-nodes", "keep", "*.jelly").count(b"\n") == 2
    lines = run("canonicalize", "--hash", "data").decode().splitlines()
    assert [line.split("  ")[1] for line in lines] == ["data/a.nt", "data/b.nq.gz", "data/c.parquet"]
    assert lines[1].split()[0] == lines[2].split()[0]


def test_lists_are_printed_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.nq").write_text("<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:o> <a:g> .\n")
    Path("b.nt").write_text("<a:s> <a:p> <a:o> .\n")

    def rows(*arguments: str) -> list[dict[str, Any]]:
        done = CliRunner().invoke(cli, [*arguments, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    assert rows("split", "a.nq", "--rows", "1", "-o", "{}.nq") == [
        {"file": f"{number:05}.nq", "statements": 1} for number in (0, 1)
    ]
    parts = rows("split", "a.nq", "--by", "graph", "-o", "g-{}.nq")
    assert [(part["statements"], part["term"]) for part in parts] == [(1, "default"), (1, "<a:g>")]
    (digest, file), other = (row.values() for row in rows("canonicalize", "--hash", "00000.nq", "b.nt"))
    assert (len(digest), file, [*other]) == (64, "00000.nq", [digest, "b.nt"])
    assert "--json goes with --hash" in CliRunner().invoke(cli, ["canonicalize", "b.nt", "--json"]).output
    ids = ["--id", "a:1", "a.nq", "b.nt", "1.jellyp"]
    assert CliRunner().invoke(cli, ["diff", *ids]).exit_code == 0
    assert [(row["added"], row["deleted"]) for row in rows("patch", "log", "1.jellyp")] == [(0, 1)]
