"""What docs/broker.md, its examples and docs/tutorials/live.md tell users to do works, and what they name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from serving import messages, options
from support.pages import run

import jelly
import jelly.grpc as jg

pytest.importorskip("click", reason="the page uses the command")

from click.testing import CliRunner  # noqa: E402

from jelly.cli import service  # noqa: E402

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "broker.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE, re.S)
ADDRESS = "127.0.0.1:50051"
NAMES = {option for command in (service.serve, service.publish, service.subscribe)
         for parameter in command.params for option in parameter.opts}  # fmt: skip


def test_the_recipes_work(serve, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    server = serve()
    frames = messages("quads", 3)
    with jelly.Writer("weather.jelly") as writer:
        for frame in frames:
            writer.extend(frame.statements)
    Path("changes.jellyp").write_bytes(jelly.patch.dumps([jelly.patch.Patch()] * 2))
    ran = 0
    for language, text in BLOCKS:
        if language == "python":
            exec(compile(text.replace(ADDRESS, server.address), "broker.md", "exec"), {})
            ran += 1
            continue
        for line in text.splitlines():
            program, name, *arguments = line.replace(ADDRESS, server.address).split()
            assert program == "jelly"
            if name != "serve":
                done = CliRunner().invoke(service.cli, [name, *arguments])
                assert done.exit_code == 0, (line, done.output)
                ran += 1
    assert ran == 7
    assert list(jelly.read("copy.jelly")) == [statement for frame in frames for statement in frame]
    assert "Triple(" in capsys.readouterr().out
    assert {info.name: info.end for info in jg.Client(server.address).topics()} == {
        "weather": 1,
        "news": 1,
        "changes": 3,
    }


def test_the_tutorial(serve, tmp_path):
    with jg.Topics(tmp_path / "topics") as topics:
        server = serve(topics)
        run("tutorials/live.md", tmp_path, change=lambda text: text.replace(ADDRESS, server.address))


def test_a_handler_for_the_other_server_is_refused():
    with pytest.raises(jelly.JellyArgumentError, match="Broker is a handler for asyncio: use AsyncServer"):
        jg.Server(jg.Broker())
    with pytest.raises(jelly.JellyArgumentError, match="use Server, not AsyncServer"):
        jg.AsyncServer(jg.Handler())


def test_options_and_metrics_are_there():
    files = [PAGE, *(path.read_text("utf-8") for path in (DOCS / "examples").iterdir())]
    named = {option for text in files for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)}
    # Of useradd, pip and systemctl.
    assert named - NAMES == {"--uid", "--no-cache-dir", "--now"}
    assert {"--keep-bytes", "--keep-age", "--sync", "--sync-interval", "--metrics", "--topics-per-token"} <= named
    server_side = {option for parameter in service.serve.params for option in parameter.opts}
    for text in files[1:]:
        given = re.findall(r"(?<![\w-])--[a-z][a-z-]+", text.replace('", "', " ").partition("jelly serve")[2])
        assert "--store" in given
        assert set(given) <= server_side
    broker = jg.Broker()
    broker.topics.get("t", create=True).fill(messages("quads", 1), options("quads"))
    text = jg.metrics_text(broker)
    metrics = set(re.findall(r"jelly_[a-z_]+", PAGE))
    assert metrics - {"jelly_store_free_bytes"} == set(re.findall(r"^(jelly_[a-z_]+)", text, re.M))
