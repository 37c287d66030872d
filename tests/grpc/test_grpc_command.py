"""The commands serve, publish and subscribe: the brokers, and what gets a signal, are processes."""

from __future__ import annotations

import json
import signal

import pytest
from serving import end, messages, options, plain, serve_command, spawn

import jelly
import jelly.grpc as jg
from jelly._core.base.protobuf import _put_varint as put_varint

testing = pytest.importorskip("click.testing", reason="the command needs click")
CliRunner = testing.CliRunner

from jelly.cli.commands import cli  # noqa: E402


def command(*arguments, code=0, env=None):
    """Run a command to its end, in this process: each process imports gRPC anew."""
    done = CliRunner().invoke(cli, arguments, prog_name="jelly", env={"GRPC_VERBOSITY": "NONE", **(env or {})})
    assert done.exit_code == code, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_serve_publish_subscribe(ending, tmp_path):
    given = messages("dataset messages", 25)
    own = options("dataset messages", max_name_table_size=64)
    file = tmp_path / "weather.jelly"
    file.write_bytes(b"".join(put_varint(len(frame)) + frame for frame in jg.FrameEncoder(own).encode_many(given)))
    server, address = serve_command("--store", str(tmp_path / "store"), "--topic", f"weather={file}")
    try:
        out, err = command("publish", str(file), address, "again", "--compression", "gzip")
        assert "25 messages, 115 statements acknowledged" in err
        for topic in ("weather", "again"):
            got = tmp_path / f"{topic}.jelly"
            out, _ = command("subscribe", address, topic, "-o", str(got), "--json")
            assert json.loads(out) == {"messages": 25, "statements": 115}
            assert plain(jelly.scan(got).frames()) == plain(given)
        out, _ = command("subscribe", address, "weather", "--start", "23")
        assert out.splitlines() == [str(statement) for frame in given[23:] for statement in frame]
        out, _ = command("subscribe", address, "weather", "-n", "2", "--follow", "--to", "nq")
        assert len(out.splitlines()) == 10
        saving = spawn(
            "-m", "jelly", "subscribe", address, "again", "--follow", "-n", "30", "-o", str(tmp_path / "f.nq")
        )
        printing = spawn("-m", "jelly", "subscribe", address, "again", "--follow")
        lines = [printing.stdout.readline() for _ in range(115)]
        with jg.Client(address) as client:
            client.publish(messages("dataset messages", 5, start=25), topic="again", options=own)
        lines += [printing.stdout.readline() for _ in range(25)]
        assert end(saving) == 0
        assert (tmp_path / "f.nq").read_text() == "".join(lines)
        assert lines[-1].strip() == str(messages("dataset messages", 1, start=29)[0].statements[-1])
        printing.send_signal(ending)
        assert end(printing) == 0
        _, err = command("subscribe", address, "none", code=1)
        assert "NOT_FOUND" in err
        assert "Traceback" not in err
    finally:
        server.send_signal(ending)
        told = server.stderr.read()
        assert end(server) == 0
    assert "30 messages in, " in told
    assert sorted(path.name for path in (tmp_path / "store").glob("*.jelly")) == ["again.jelly", "weather.jelly"]
    _, err = command("publish", str(file), address, "t", "--timeout", "0.5", code=1)
    assert "UNAVAILABLE" in err


def test_a_topic_is_loaded_whole_or_not_at_all(tmp_path):
    """A file that cannot be read to its end leaves nothing that the next start takes for all of it."""
    file, store = tmp_path / "people.nt", tmp_path / "store"
    lines = [b"<http://example.org/person/%d> <a:p> <a:o> .\n" % i for i in range(100_000)]
    arguments = ["--store", str(store), "--topic", f"people={file}"]
    file.write_bytes(b"".join([*lines, b"broken\n"]))
    _, err = command("serve", "--listen", "127.0.0.1:0", *arguments, code=1)
    assert "people.nt" in err
    file.write_bytes(b"".join(lines))
    for _ in range(2):  # a topic that is there already stays
        server, address = serve_command(*arguments)
        with jg.Client(address) as client:
            assert client.topics("people")[0].statements == len(lines)
        server.send_signal(signal.SIGTERM)
        assert end(server) == 0
        file.write_bytes(b"broken\n")


def test_tables_of_a_file_that_is_loaded(tmp_path):
    """Larger than others read: --max-names allows the file, and any client reads the topic."""
    file = tmp_path / "large.jelly"
    with jelly.Writer(file, {"max_name_table_size": 100_000}) as writer:
        writer.extend(jelly.Triple(*[jelly.IRI(f"http://example.org/{i}")] * 3) for i in range(20_000))
    _, err = command("serve", "--listen", "127.0.0.1:0", "--topic", f"large={file}", code=1)
    assert "--max-names" in err
    server, address = serve_command("--topic", f"large={file}", "--max-names", "200000")
    try:
        out, _ = command("subscribe", address, "large", "-o", str(tmp_path / "copy.jelly"), "--json")
        assert json.loads(out)["statements"] == 20_000
    finally:
        server.send_signal(signal.SIGTERM)
        assert end(server) == 0


def test_a_server_that_is_stopped_with_a_subscriber(tmp_path):
    (tmp_path / "a.nt").write_bytes(b"<a:s> <a:p> <a:o> .\n")
    server, address = serve_command()
    command("publish", str(tmp_path / "a.nt"), address, "t")
    reading = spawn("-m", "jelly", "subscribe", address, "t", "--follow")
    assert reading.stdout.readline() == "<a:s> <a:p> <a:o> .\n"
    # Meanwhile the port is taken.
    _, err = command("serve", "--listen", address, code=1)
    assert err == f"error: {address}: cannot listen there: Address already in use\n"
    server.send_signal(signal.SIGINT)
    told = server.stderr.read()
    assert end(server) == 0
    assert told == "1 messages in, 1 out\n"
    reading.send_signal(signal.SIGINT)
    end(reading)


def test_serve_speaks_of_its_options():
    _, err = command("serve", "--listen", "0.0.0.0:0", code=1)
    assert err == (
        "error: 0.0.0.0:0 can be reached from other machines: "
        "give --cert and --key, or --insecure if that is intended\n"
    )


def test_publish_files_in_any_order(tmp_path):
    """The first publication of a topic had no prefixes and no graphs of its own accord."""
    (tmp_path / "a.nt").write_bytes(b"<a:s> <a:p> <a:o> .\n")
    (tmp_path / "c.nq").write_bytes(b"<a:s> <a:p> <a:o> <a:g> .\n")
    (tmp_path / "l.nt").write_bytes(b"<a:s> <a:p> <a:o> .\n" * 40_000 + b'"l" <a:p> <a:o> .\n')
    with jelly.Writer(tmp_path / "p.jelly") as writer:
        writer.namespace("e", "http://e/")
        writer.add([jelly.IRI("http://e/s")] * 3)
    server, address = serve_command()
    try:
        for names in ("ap", "pa"):
            for name in names:
                file = next(tmp_path.glob(f"{name}.*"))
                command("publish", str(file), address, names)
            out, _ = command("subscribe", address, names)
            assert len(out.splitlines()) == 2
        command("publish", str(tmp_path / "a.nt"), address, "q", "--physical", "quads")
        command("publish", str(tmp_path / "c.nq"), address, "q")
        command("publish", str(tmp_path / "a.nt"), address, "q")
        assert len(command("subscribe", address, "q")[0].splitlines()) == 3
        _, err = command("publish", str(tmp_path / "l.nt"), address, "l", code=1)
        assert "a generalized statement turned up after stream options" in err
        assert err.endswith("give --allow generalized\n")
        command("publish", str(tmp_path / "l.nt"), address, "m", "--allow", "generalized")
    finally:
        server.send_signal(signal.SIGTERM)
        assert end(server) == 0


def test_what_an_empty_file_publishes(tmp_path):
    """The options alone; where frames have a meaning, one that is empty."""
    (tmp_path / "e.nt").write_bytes(b"")
    (tmp_path / "e.rdfp").write_bytes(b"")
    jelly.write(tmp_path / "g.jelly", [], options=options("graph messages"))
    server, address = serve_command()
    try:
        for name, told, n in (
            ("e.nt", "0 messages, 0 statements", 0), ("g.jelly", "1 message, 0 statements", 1),
            ("e.rdfp", "0 patches, 0 operations", None),
        ):  # fmt: skip
            assert command("publish", str(tmp_path / name), address, name)[1] == f"{told} acknowledged\n"
            if n is not None:
                topic = json.loads(command("topics", address, name, "--json")[0])
                assert topic["end"] - topic["first"] == n
    finally:
        server.send_signal(signal.SIGTERM)
        assert end(server) == 0


def test_tokens_and_certificates(tmp_path):
    trustme = pytest.importorskip("trustme")
    ca = trustme.CA()
    issued = ca.issue_cert("localhost", "127.0.0.1")
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    (tmp_path / "tokens").write_text("# who, what\nann s3cret\n")
    (tmp_path / "a.nt").write_bytes(b"<a:s> <a:p> <a:o> .\n")
    pair = ["--cert", str(tmp_path / "cert.pem"), "--key", str(tmp_path / "key.pem")]
    server, address = serve_command(*pair, "--tokens", str(tmp_path / "tokens"))
    try:
        publish = ["publish", str(tmp_path / "a.nt"), address, "t", "--ca", str(tmp_path / "ca.pem")]
        assert "UNAUTHENTICATED" in command(*publish, code=1)[1]
        assert "1 message, 1 statement acknowledged" in command(*publish, env={"JELLY_TOKEN": "s3cret"})[1]
    finally:
        server.send_signal(signal.SIGTERM)
        assert end(server) == 0
    for wrong in (["--listen", "0.0.0.0:0"], ["--topic", "t"], ["--store", str(tmp_path / "a.nt")]):
        assert "Traceback" not in command("serve", *wrong, code=1 if wrong[0] == "--listen" else 2)[1]
