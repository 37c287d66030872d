"""What docs/broker.md, its examples and docs/tutorials/live.md tell users to do works, and what they name is there."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import generate_latest
from serving import end, messages, options, spawn
from support.pages import run

import jelly
import jelly.grpc as jg

pytest.importorskip("click", reason="the page uses the command")

from click.testing import CliRunner  # noqa: E402

from jelly.cli import service  # noqa: E402
from jelly.cli.commands import cli  # noqa: E402

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "broker.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE, re.S)
ADDRESS = "127.0.0.1:50051"
NAMES = {option for command in (service.serve, service.publish, service.subscribe, service.topics)
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
                done = CliRunner().invoke(cli, [name, *arguments])
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


def test_something_else_than_a_handler_is_refused():
    with pytest.raises(jelly.JellyArgumentError, match="Topics object at .*: expected Handler"):
        jg.Server(jg.Topics())


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
    text = generate_latest(broker).decode()
    metrics = set(re.findall(r"jelly_[a-z_]+", PAGE))
    assert metrics - {"jelly_store_free_bytes"} == set(re.findall(r"^(jelly_[a-z_]+)", text, re.M))


def commands(name: str) -> tuple[list[str], list[str] | None]:
    """The command that an example starts, and the one that asks for its health."""
    text = (DOCS / "examples" / name).read_text("utf-8").replace("\\\n", " ")
    if name == "jelly-broker.service":
        return shlex.split(re.findall(r"^ExecStart=(.*)", text, re.M)[0]), None
    start, health = (json.loads(found) for found in re.findall(r"^(?:HEALTHCHECK )?CMD (.*)", text, re.M)[::-1])
    return start, health


@pytest.mark.parametrize("name", ["jelly-broker.service", "Containerfile"])
def test_the_examples_run(name, tmp_path):
    """Their command as it stands, but for folders and ports: it serves clients with a token over TLS."""
    trustme = pytest.importorskip("trustme")
    ca = trustme.CA()
    issued = ca.issue_cert("localhost", "127.0.0.1")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    (tmp_path / "tokens").write_text("ann s3cret\n")
    started, health = commands(name)
    folder = str(tmp_path)
    places = {"/opt/jelly/bin/jelly": "jelly", "%S": folder, "%d": folder, "/secrets": folder, "/topics": folder + "/t"}

    def placed(argument: str) -> str:
        for place, here in places.items():
            argument = argument.replace(place, here)
        return re.sub(r"^[0-9.]+:\d+$", "127.0.0.1:0", argument)

    program, *arguments = map(placed, started)
    assert program == "jelly"
    process = spawn("-m", "jelly", *arguments)
    told = {}
    for line in process.stderr:
        told |= {key: line.split()[2 if key == "listening" else 4].rstrip(",") for key in ("listening", "metrics")
                 if line.startswith(key)}  # fmt: skip
        if "listening" in told:
            break
    try:
        tls = jg.Tls(authorities=ca.cert_pem.bytes())
        with jg.Client(told["listening"], tls=tls, token="s3cret") as client:
            assert client.publish(messages("quads", 2), topic="t", options=options("quads")) == 2
            assert [(info.name, info.owner) for info in client.topics()] == [("t", "ann")]
        with jg.Client(told["listening"], tls=tls) as nobody, pytest.raises(jelly.JellyServiceError):
            nobody.topics()
        if health is not None:
            assert health[0] == "python"
            asked = [sys.executable, *(part.replace("http://127.0.0.1:9464", told["metrics"]) for part in health[1:])]
            assert told["metrics"] in asked[-1]
            subprocess.run(asked, check=True, timeout=240)
    finally:
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
        assert end(process) == 0
    assert said == "2 messages in, 0 out\n"
    assert len(list(tmp_path.glob("*/t*.jelly"))) == 1
