"""Commands with --messages."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("click")
pytest.importorskip("pyoxigraph")

from click.testing import CliRunner

from jelly.cli.commands import cli
from jelly.messages import read_messages

LOG = "# @message one\n_:b <a:p> <a:1> .\n# @message\n# @message\n_:b <a:p> <a:2> .\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.nt").write_text(LOG)

    def run(*arguments, code=0):
        done = CliRunner().invoke(cli, [arguments[0], "--messages", *arguments[1:]])
        assert done.exit_code == code, done.output
        return done

    return run


def sizes(path, **settings):
    return [len(message) for message in read_messages(path, **settings)]


@pytest.mark.parametrize("suffix", ["nq", "ttl.gz", "trig", "ndjsonld", "yamlld", "rdfxml", "jelly"])
def test_convert(run, suffix):
    assert "3 messages, 2 statements" in run("convert", "log.nt", f"log.{suffix}").stderr
    assert sizes(f"log.{suffix}") == [1, 0, 1]
    run("convert", f"log.{suffix}", "again.nt", "--to", "nt", "--to-dialect", "directive")
    assert sizes("again.nt", dialect="directive") == [1, 0, 1]


def test_count_and_validate(run, tmp_path):
    (tmp_path / "bad.nt").write_text(LOG + "x")
    (tmp_path / "c.json").write_text('{"p": "a:p"}')
    (tmp_path / "log.ndjsonld").write_text('{"@context": "http://c/", "@id": "a:s", "p": 1}')
    assert json.loads(run("count", "--json", "log.nt").stdout) == [{"file": "log.nt", "messages": 3, "statements": 2}]
    assert run("count", "log.nt", "log.nt").stdout == "3\t2\tlog.nt\n" * 2 + "6\t4\ttotal\n"
    assert run("validate", "log.nt").stdout == "log.nt: no problems\n"
    found = run("validate", "log.nt", "bad.nt", code=1).stdout
    assert "log.nt: no problems\nbad.nt: " in found
    assert "message 2" in found
    assert "line 6" in found
    assert "http://c/" in run("count", "log.ndjsonld", code=1).stderr
    assert "1\t1\t" in run("count", "log.ndjsonld", "--context", "http://c/=c.json").stdout
    run("count", "log.ndjsonld", "--context", "c.json", code=2)


def test_cat_merge_split(run, tmp_path):
    assert run("cat", "log.nt", "log.nt", "--rename-blank-nodes").stdout.count("# @message") == 6
    run("convert", "log.nt", "log.nt", "both.ttl")
    assert sizes("both.ttl") == [1, 0, 1] * 2
    assert run("split", "log.nt", "-o", "parts/{}.ttl").stdout == "parts/0.ttl\t1\nparts/1.ttl\t0\nparts/2.ttl\t1\n"
    assert [path.name for path in sorted((tmp_path / "parts").iterdir())] == ["0.ttl", "1.ttl", "2.ttl"]
    assert (tmp_path / "parts" / "2.ttl").read_text() == "# @message\n_:b <a:p> <a:2> .\n"


def test_data_and_a_result_do_not_share_standard_output(run):
    assert "cannot both be on standard output" in run("convert", "log.nt", "-", "--json", code=2).stderr
    assert json.loads(run("convert", "log.nt", "log.nq", "--json").stdout) == {"messages": 3, "statements": 2}


def test_options_that_messages_do_not_have(run, tmp_path):
    for words in (["--index", "terms"], ["--jelly", "1.2"], ["--no-seekable"], ["--memory", "1M"], ["--rows", "2"]):
        told = run("split", "log.nt", "-o", "parts/{}.jelly", *words, code=2).stderr
        assert f"{words[0].replace('--no-', '--')} does not go with message logs" in told
    assert "has no suffix" in run("split", "log.nt", "-o", "parts/{}", code=2).stderr
    (tmp_path / "plain").write_text("mine")
    assert "plain is there already and has no suffix" in run("convert", "log.nt", "plain", code=2).stderr
    assert (tmp_path / "plain").read_text() == "mine"
    assert not (tmp_path / "parts").exists()


def test_a_failed_conversion_leaves_nothing(run, tmp_path):
    (tmp_path / "bad.nt").write_text(LOG + "x")
    assert run("split", "bad.nt", "-o", "parts/{}.nq", code=1).stdout == ""
    assert not (tmp_path / "parts").exists()
    done = run("convert", "bad.nt", "bad.jelly", code=1)
    assert done.stderr.startswith("error: bad.nt: message 2, ")
    assert not (tmp_path / "bad.jelly").exists()


def test_options_that_message_logs_do_not_have_are_refused(run, tmp_path):
    for given in (["--jelly", "1.2"], ["--index", "terms"], ["--memory", "1M"], ["--max-files", "1"]):
        assert "does not go with message logs" in run("split", "log.nt", "-o", "parts/{}.jelly", *given, code=2).stderr
    assert not (tmp_path / "parts").exists()
    run("convert", "log.nt", "log.jelly")
    assert "has an index, not with message logs" in run("slice", "log.jelly", "-1:", code=2).stderr


def test_stats(run):
    assert json.loads(run("stats", "--json", "log.nt").stdout)["statements"] == 2
    assert json.loads(run("stats", "--json", "log.nt", "log.nt").stdout)["statements"] == 4
    with open("log.nt", "w") as file:
        file.write('VERSION "1.2-messages"\n<a:s> <a:p> <a:1> .\nMESSAGE\n<a:s> <a:p> <a:2> .\n')
    assert json.loads(run("stats", "--json", "log.nt").stdout)["statements"] == 2
    run("stats", "--threads", "2", "log.nt", code=2)
