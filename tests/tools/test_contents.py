"""Functions that take any content: the suffix, the format or ``content=`` decides."""

from __future__ import annotations

from pathlib import Path

import pytest

import jelly
from jelly import JellyArgumentError
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


def test_stats(tmp_path: Path) -> None:
    (tmp_path / "log.ndjsonld").write_bytes(b'{"@id":"a:s","a:p":"o"}\n{}\n')
    assert stats(tmp_path / "log.ndjsonld").statements == 1
    assert stats(LINE + b"# @message\n" + LINE, format="nt", content="messages").statements == 2
    with pytest.raises(JellyArgumentError, match="patches have no statistics"):
        stats(tmp_path / "x.rdfp")


def test_what_does_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(JellyArgumentError, match='content is .patch.: expected "statements", "patches"'):
        jelly.validate(b"", content="patch")  # type: ignore[arg-type]
    with pytest.raises(JellyArgumentError, match="content is 1: expected"):
        jelly.convert(b"", tmp_path / "x", content=1)  # type: ignore[arg-type]
    with pytest.raises(JellyArgumentError, match="against= goes with statements, not with patches"):
        jelly.validate(b"A " + LINE, format="rdfp", against=LINE)
    with pytest.raises(JellyArgumentError, match="unknown keyword 'drop_graphs'"):
        jelly.convert(b"A " + LINE, tmp_path / "x.jellyp", from_format="rdfp", drop_graphs=True)
