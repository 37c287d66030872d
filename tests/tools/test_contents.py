"""Functions that take any content: the suffix, the format or ``content=`` decides."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import jelly
from jelly import JellyArgumentError
from jelly.cli.commands import cli
from jelly.messages import read_messages, write_messages
from jelly.patch import read_patches
from jelly.stats import stats

LINE = b'<a:s> <a:p> "o" .\n'
ROWS = b'{"head":{"vars":["x"]},"results":{"bindings":[{"x":{"type":"literal","value":"a"}},{}]}}'


def test_convert_by_suffix(tmp_path: Path) -> None:
    (tmp_path / "p.rdfp").write_bytes(b"TX .\nA " + LINE + b"TC .\n")
    (tmp_path / "r.srj").write_bytes(ROWS)
    done = jelly.convert(tmp_path / "p.rdfp", tmp_path / "p.jellyp")
    assert (done.statements, done.bytes_read) == (3, 30)
    assert [len(patch) for patch in read_patches(tmp_path / "p.jellyp")] == [3]
    assert jelly.convert(tmp_path / "r.srj", tmp_path / "r.csv").statements == 2
    assert (tmp_path / "r.csv").read_bytes() == b"x\r\na\r\n\r\n"
    write_messages(tmp_path / "log.jelly", [[jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))], []])
    done = jelly.convert(tmp_path / "log.jelly", tmp_path / "log.ndjsonld")
    assert (done.messages, done.statements) == (2, 1)
    jelly.convert(tmp_path / "log.jelly", tmp_path / "log.nt", content="messages", writing={"dialect": "directive"})
    assert (tmp_path / "log.nt").read_bytes().count(b"MESSAGE\n") == 2
    assert [len(message) for message in read_messages(tmp_path / "log.nt")] == [1, 0]
    # A log in a format of statements is one where nobody says that it holds messages.
    assert jelly.convert(tmp_path / "log.jelly", tmp_path / "all.nq").statements == 1
    assert (tmp_path / "all.nq").read_bytes() == LINE


def test_validate(tmp_path: Path) -> None:
    for name, good, bad in (
        ("p.rdfp", b"A " + LINE, b"A <a:s> .\n"),
        ("r.srj", ROWS, ROWS[:-9]),
        ("log.ndjsonld", b"{}\n{}\n", b"{}\n{\n"),
        ("x.nt", LINE, b"<a:s> .\n"),
    ):
        path = tmp_path / name
        path.write_bytes(good)
        assert jelly.validate(path) == []
        path.write_bytes(bad)
        assert len(jelly.validate(path)) == 1, name
    assert jelly.validate(tmp_path / "log.ndjsonld")[0].message.startswith("message 1: ")
    assert jelly.validate(b"# @message\n# @mess", format="nt", content="messages") == []


def test_inspect(tmp_path: Path) -> None:
    files = {
        "p.rdfp": (b"TX .\nPA \"a\" <a:> .\nA " + LINE + b"D " + LINE + b"TC .\n", 2,
                   {"start": 1, "namespace_add": 1, "add": 1, "delete": 1, "commit": 1}),
        "r.srj": (ROWS, 2, {"row": 2}),
        "log.ndjsonld": (b'{"@id":"a:s","a:p":"o"}\n{}\n', 1, {"quad": 1}),
        "x.nq": (LINE + b"<a:s> <a:p> <a:o> <a:g> .\n", 2, {"quad": 2}),
        "x.trig": (b"@prefix a: <a:> . <a:s> <a:p> <a:o> .", 1, {"namespace": 1, "quad": 1}),
    }  # fmt: skip
    for name, (data, statements, rows) in files.items():
        (tmp_path / name).write_bytes(data)
        found = jelly.inspect(tmp_path / name)
        assert (found.statements, found.rows, found.options, found.bytes) == (statements, rows, None, len(data)), name
        assert found.format == {"r.srj": "json"}.get(name, name.partition(".")[2])
        assert found.as_dict()["rows"] == rows
        with pytest.raises(JellyArgumentError, match="per_frame= goes with Jelly, not with"):
            jelly.inspect(tmp_path / name, per_frame=True)
    assert jelly.inspect(tmp_path / "log.ndjsonld").n_frames == 2
    assert jelly.inspect(LINE + b"# @message\n", format="nt", content="messages").n_frames == 2
    with pytest.raises(JellyArgumentError, match="N-Triples has no keyword 'max_names'"):
        jelly.inspect(LINE, format="nt", max_names=5)


def test_inspect_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "r.srj").write_bytes(ROWS)
    (tmp_path / "log.nt").write_bytes(LINE + b"# @message\n")
    shown = CliRunner().invoke(cli, ["inspect", str(tmp_path / "r.srj"), "--table"])
    assert re.search(r"format +json", shown.output), shown.output
    assert re.search(r"row +│ +2", shown.output), shown.output
    told = CliRunner().invoke(cli, ["inspect", str(tmp_path / "log.nt"), "--messages", "--json"])
    assert json.loads(told.output)["n_frames"] == 2
    wrong = CliRunner().invoke(cli, ["inspect", str(tmp_path / "log.nt"), "--max-names", "5"])
    assert "--max-names does not go with N-Triples" in wrong.output


def sliced(*args: object, code: int = 0) -> str:
    done = CliRunner().invoke(cli, ["slice", *map(str, args)])
    assert done.exit_code == code, done.output
    return done.output


def test_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [b'<a:s> <a:p> "%d" .\n' % i for i in range(70_000)]
    Path("x.nt.gz").write_bytes(gzip.compress(b"".join(lines), 1))
    for low, high in ((0, 2), (5, 5), (32_700, 32_800), (69_999, None), (None, 3), (80_000, None)):
        wanted = f"{'' if low is None else low}:{'' if high is None else high}"
        assert sliced("x.nt.gz", wanted) == b"".join(lines[low:high]).decode()
    sliced("x.nt.gz", "3:5", "-o", "x.jelly")
    with jelly.open("x.jelly") as file:
        assert [statement[2].value for statement in file] == ["3", "4"]
    Path("x.ttl").write_bytes(b"@prefix a: <a:> . a:1 a:p a:o . a:2 a:p a:o .")
    assert sliced("x.ttl", "1:", "--to", "ttl") == "@prefix a: <a:> .\na:2 a:p a:o .\n"
    Path("p.rdfp").write_bytes(b"TX .\nA " + LINE + b"TC .\n")  # a file of text is one patch
    assert (sliced("p.rdfp", ":1"), sliced("p.rdfp", "1:")) == (Path("p.rdfp").read_text(), "")
    Path("r.srj").write_bytes(ROWS)
    assert sliced("r.srj", ":1") == '?x\n"a"\n'
    assert sliced("r.srj", "1:", "--to", "csv") == "x\n\n"
    Path("log.nt").write_bytes(LINE + b"# @message\n" + LINE * 2 + b"# @message\n" + LINE)
    assert sliced("log.nt", "--messages", "1:2").count(LINE.decode()) == 2
    assert sliced("log.nt", "1:2") == LINE.decode()
    for wrong, words in (
        (("x.nt.gz", "-1:"), "numbers from the end go with Jelly, which has an index, not with N-Triples"),
        (("p.rdfp", "1:", "--frames"), "--frames goes with Jelly, not with RDF Patch"),
        (("r.srj", "1:", "--max-names", "5"), "--max-names does not go with JSON"),
    ):
        assert words in sliced(*wrong, code=2)


def test_stats(tmp_path: Path) -> None:
    (tmp_path / "log.ndjsonld").write_bytes(b'{"@id":"a:s","a:p":"o"}\n{}\n')
    assert stats(tmp_path / "log.ndjsonld").statements == 1
    assert stats(LINE + b"# @message\n" + LINE, format="nt", content="messages").statements == 2
    other = b"<a:s> <a:q> <a:x> "
    aborted = b"TX .\nA <a:t> <a:p> <a:x> .\nTA .\n"
    (tmp_path / "x.rdfp").write_bytes(b"TX .\nA " + LINE + b"D " + other + b".\nTC .\n" + aborted)
    found = stats(tmp_path / "x.rdfp")
    assert (found.statements, found.predicates.top) == (2, stats(LINE + other + b".", format="nt").predicates.top)
    assert stats([tmp_path / "x.rdfp"] * 2, content="patches").statements == 4
    shown = json.loads(CliRunner().invoke(cli, ["stats", "--json", str(tmp_path / "x.rdfp")]).stdout)
    assert shown["statements"] == 2


def test_what_does_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(JellyArgumentError, match='content is .patch.: expected "statements", "patches"'):
        jelly.validate(b"", content="patch")  # type: ignore[arg-type]
    with pytest.raises(JellyArgumentError, match="content is 1: expected"):
        jelly.convert(b"", tmp_path / "x", content=1)  # type: ignore[arg-type]
    with pytest.raises(JellyArgumentError, match="against= goes with statements, not with patches"):
        jelly.validate(b"A " + LINE, format="rdfp", against=LINE)
    with pytest.raises(JellyArgumentError, match="unknown keyword 'drop_graphs'"):
        jelly.convert(b"A " + LINE, tmp_path / "x.jellyp", format="rdfp", drop_graphs=True)
