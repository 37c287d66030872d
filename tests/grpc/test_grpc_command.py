"""The commands serve, publish and subscribe, as processes and with signals."""

from __future__ import annotations

import signal

import pytest
from serving import ENVIRONMENT, end, messages, numbers, options, plain, serve_command, spawn, until

import jelly
import jelly.grpc as jg

pytest.importorskip("click", reason="the command needs click")


def command(*arguments, code=0, env=None):
    process = spawn("-m", "jelly", *arguments, env=ENVIRONMENT | (env or {}))
    out, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    return out, err


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_serve_publish_subscribe(ending, tmp_path):
    given = messages("dataset messages", 25)
    own = options("dataset messages", max_name_table_size=64)
    file = tmp_path / "weather.jelly"
    file.write_bytes(b"".join(jelly.core.encoder and _delimited(frame) for frame in jg.encode_frames(given, own)))
    server, address = serve_command("--store", str(tmp_path / "store"), "--topic", f"weather={file}")
    try:
        out, err = command("publish", str(file), "--to", address, "--topic", "again", "--gzip")
        assert "25 messages, 115 statements acknowledged" in err
        for topic in ("weather", "again"):
            got = tmp_path / f"{topic}.jelly"
            _, err = command("subscribe", address, topic, "-o", str(got))
            assert "25 messages, 115 statements" in err
            assert plain(jelly.read_frames(got)) == plain(given)
        out, _ = command("subscribe", address, "weather", "--from", "23")
        assert out.splitlines() == [str(statement) for frame in given[23:] for statement in frame]
        out, _ = command("subscribe", address, "weather", "-n", "2", "--follow", "--to", "nq")
        assert len(out.splitlines()) == 10
        follower = spawn("-m", "jelly", "subscribe", address, "again", "--follow", "-o", str(tmp_path / "f.jelly"))
        with jg.Client(address) as client:
            client.publish(messages("dataset messages", 5, start=25), topic="again", options=own)
        until(lambda: (tmp_path / "f.jelly").exists() or any(tmp_path.glob("*f.jelly*")))
        until(lambda: _received(follower, tmp_path))
        follower.send_signal(ending)
        assert end(follower) == 0
        followed = numbers(jelly.read_frames(tmp_path / "f.jelly"))
        assert followed == [*range(len(followed))]
        assert len(followed) >= 25
        _, err = command("subscribe", address, "none", code=1)
        assert "NOT_FOUND" in err
        assert "Traceback" not in err
    finally:
        server.send_signal(ending)
        lines = server.stderr.read()
        assert end(server) == 0
    assert "55 messages in" not in lines or "out" in lines
    assert sorted(path.name for path in (tmp_path / "store").glob("*.jelly")) == ["again.jelly", "weather.jelly"]
    _, err = command("publish", str(file), "--to", address, "--topic", "t", "--timeout", "0.5", code=1)
    assert "UNAVAILABLE" in err
