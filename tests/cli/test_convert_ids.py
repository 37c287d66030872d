"""`jelly convert --layout ids`: numbers and terms as two Parquet files."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import jelly
from jelly.cli.commands import cli

parquet = pytest.importorskip("pyarrow.parquet")

TEXT = b'<a:s> <a:p> "x" .\n<a:s> <a:p> _:b .\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.nt").write_bytes(TEXT)
    jelly.convert("a.nt", "a.jelly", seekable=True)
    return tmp_path


def run(*args, code=0, stdin=None):
    result = CliRunner().invoke(cli, args, input=stdin)
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize("source", [("a.nt",), ("a.jelly", "--threads", "2"), ("-", "--from", "nt")])
def test_two_files(folder, source):
    output = run("convert", *source, "graph", "--layout", "ids", stdin=TEXT)
    assert output.startswith("2 statements")
    assert parquet.read_table("graph/triples.parquet")["object"].to_pylist() == [2, 3]
    assert parquet.read_table("graph/terms.parquet")["kind"].to_pylist() == ["iri", "iri", "literal", "bnode"]
    assert run("convert", *source, "graph", "--layout", "ids", "-q", stdin=TEXT) == ""


def test_broken_lines_and_limits(folder):
    Path("a.nt").write_bytes(TEXT + b"<a:s> <a:p>\n")
    assert "byte" in run("convert", "a.nt", "graph", "--layout", "ids", code=1)
    assert not Path("graph").exists()
    run("convert", "a.nt", "graph", "--layout", "ids", "--skip-errors")
    assert len(parquet.read_table("graph/triples.parquet")) == 2
    assert "10" in run("convert", "a.nt", "graph", "--layout", "ids", "--max-line-bytes", "10", code=1)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["a.nt", "out", "--to", "nt"], "--to does not go with --layout ids"),
        (["a.nt", "out", "--preset", "small"], "--preset does not go"),
        (["a.nt", "-"], "needs a file of statements and a directory"),
        (["a.nt", "out.parquet"], "needs a file of statements and a directory"),
        (["a.nt", "out", "--base", "a:b"], "--base does not go with N-Triples"),
    ],
)
def test_what_does_not_go_with_it(folder, args, message):
    assert message in run("convert", *args, "--layout", "ids", code=2)
