"""Bodies of web addresses, read by their Content-Type (002, section 2.1), from a server of this process."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import jelly
from jelly.messages import MessageReader, read_messages

pytest.importorskip("pyoxigraph")

LOG = b"<a:s> <a:p> <a:1> .\n# @message two\n<a:s> <a:p> <a:2> .\n"


class Server(ThreadingHTTPServer):
    bodies: dict[str, dict[str, Any]]
    asked: list[Any]

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def put(self, path: str, body: bytes, **how: Any) -> str:
        self.bodies[path] = {"body": body, **how}
        return self.url(path)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.headers)
        known = self.server.bodies.get(self.path)
        if known is None:
            self.send_error(404)
            return
        body = known["body"]
        self.send_response(known.get("status", 200))
        for name, value in known.get("headers", {}).items():
            self.send_header(name, value)
        if "type" in known:
            self.send_header("Content-Type", known["type"])
        if known.get("chunked"):
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(body) + known.get("missing", 0)))
        self.send_header("Connection", "close")
        self.end_headers()
        for at in range(0, len(body), 7) if known.get("chunked") else ():
            self.wfile.write(b"%x\r\n%b\r\n" % (len(body[at : at + 7]), body[at : at + 7]))
        if known.get("chunked"):
            self.wfile.write(b"" if "missing" in known else b"0\r\n\r\n")
        else:
            self.wfile.write(body)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    with Server(("127.0.0.1", 0), Handler) as server:
        server.bodies, server.asked = {}, []
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def sizes(url: Any, **settings: Any) -> list[int]:
    return [len(message) for message in read_messages(url, **settings)]


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("type", "body", "expected"),
    [
        ("text/turtle; version=1.2; messages=rdfm", LOG, [1, 1]),
        ('Application/TriG;Messages="rdfm"', LOG, [1, 1]),
        ("application/n-triples; charset=utf-8; messages=rdfm", LOG, [1, 1]),
        # Clients for which it is not flagged read regular RDF.
        ("text/turtle; version=1.2", LOG, [2]),
        ("application/n-quads", LOG, [2]),
        ("text/turtle; version=1.2-messages", LOG.replace(b"# @message two", b"MESSAGE"), [1, 1]),
        ("application/x-ld+ndjson", b'{"@id": "a:s", "a:p": 1}\n{}\n', [1, 0]),
        ("application/rdfm+yaml", b'"@id": a:s\na:p: 1\n---\n', [1, 0]),
        ("application/rdfm+xml", b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>\n' * 2, [0, 0]),
    ],
)
def test_the_content_type_of_a_body(server: Server, type: str, body: bytes, expected: list[int], chunked: bool) -> None:
    """002-086: an HTTP response flagged with the content type is read in message mode."""
    # A suffix says less than the server.
    url = server.put("/log.jelly", body, type=type, chunked=chunked)
    assert sizes(url) == expected
    # The same response, fetched by the caller.
    assert sizes(urllib.request.urlopen(url)) == expected
    # What the caller says counts.
    assert sizes(server.put("/x", LOG, type="image/png"), format="ttl") == [1, 1]


def test_clients_ask_for_what_they_can_read(server: Server) -> None:
    """002-087: logs flagged as such, Jelly first."""
    sizes(server.put("/log", LOG, type="text/turtle; messages=rdfm"))
    asked = server.asked[-1]["Accept"]
    assert asked.startswith("application/x-jelly-rdf, ")
    assert "application/trig; version=1.2; messages=rdfm" in asked
    list(jelly.read(server.put("/x", LOG, type="text/turtle")))
    assert "text/turtle, " in server.asked[-1]["Accept"]
    assert "messages" not in server.asked[-1]["Accept"]


@pytest.mark.parametrize("type", ["application/octet-stream", "text/plain; charset=utf-8", "application/x-gzip", None])
def test_a_suffix_where_the_type_says_nothing(server: Server, type: str | None) -> None:
    """002-086: servers of files know few suffixes."""
    how = {} if type is None else {"type": type}
    assert sizes(server.put("/d/log.ttl.gz?x=1.nt", gzip.compress(LOG), **how)) == [1, 1]
    assert len(list(jelly.read(server.put("/d/log.ttl", LOG, **how)))) == 2


def test_statements_of_a_body(server: Server) -> None:
    """002-031: a log as regular RDF; other functions read addresses, too."""
    url = server.put("/log", LOG, type="text/turtle; version=1.2; messages=rdfm")
    assert [str(row) for row in jelly.read(url)] == ["<a:s> <a:p> <a:1> .", "<a:s> <a:p> <a:2> ."]
    with jelly.Reader(url) as reader:
        assert (reader.format.name, len(list(reader))) == ("ttl", 2)
    data = jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"))])
    assert len(list(jelly.read(server.put("/x", data, type="application/x-jelly-rdf")))) == 1
    assert sizes(server.put("/tar", bytes(1024), type="application/x-tar")) == []


def test_a_redirect_is_followed(server: Server) -> None:
    """002-086: the type is that of the body that comes at last."""
    url = server.put("/log", LOG, type="text/turtle; messages=rdfm")
    old = server.put("/old.nt", b"", status=302, headers={"Location": url}, type="text/html")
    assert sizes(old) == [1, 1]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_cut_off(server: Server, chunked: bool) -> None:
    """002-003: the connection ends too early; whole messages are given."""
    url = server.put("/log", LOG, type="application/n-triples; messages=rdfm", missing=5, chunked=chunked)
    given = []
    with pytest.raises(jelly.JellyTruncatedError, match="the body is cut off") as caught:
        given += read_messages(url)
    assert [message.note for message in given] == [""]
    assert caught.value.source == url


def test_what_is_no_log(server: Server) -> None:
    """002-086: the error says what came, from where."""
    url = server.put("/log.ttl", b"<html>", type="text/html")
    for call in (read_messages, jelly.read):
        with pytest.raises(jelly.JellyError, match="text/html") as caught:
            list(call(url))
        assert caught.value.source == url
    with pytest.raises(FileNotFoundError, match="HTTP 404 Not Found") as missing:
        read_messages(server.url("/nothing.ttl"))
    assert missing.value.filename == server.url("/nothing.ttl")
    with pytest.raises(PermissionError, match="HTTP 403"):
        jelly.read(server.put("/secret", b"", status=403))
    with pytest.raises(OSError, match="HTTP 500"):
        jelly.read(server.put("/broken", b"", status=500))


def test_nobody_there() -> None:
    """002-086: a refused connection names the address."""
    with Server(("127.0.0.1", 0), Handler) as gone:
        url = gone.url("/x.ttl")
    with pytest.raises(OSError, match="refused") as caught:
        read_messages(url)
    assert caught.value.filename == url


def test_limits_do_not_follow_what_a_server_says(server: Server) -> None:
    """002-007: an announced length is no size of a file."""
    url = server.put("/log", LOG, type="application/n-triples; messages=rdfm", missing=1 << 50)
    assert MessageReader(url).source.size is None


def test_a_live_body(server: Server) -> None:
    """002-010: messages are given as they come, not at the end of the body."""
    url = server.put("/log", LOG * 3, type="application/n-triples; messages=rdfm", chunked=True, missing=0)
    messages = read_messages(url)
    assert [str(row) for row in next(messages)] == ["<a:s> <a:p> <a:1> ."]


def test_the_command(server: Server) -> None:
    """002-086: `jelly cat --messages`."""
    pytest.importorskip("click")
    url = server.put("/log", LOG, type="text/turtle; version=1.2; messages=rdfm")
    run = [sys.executable, "-m", "jelly"]
    done = subprocess.run([*run, "cat", "--messages", url], capture_output=True, check=True)
    assert done.stdout.startswith(b"# @message\n<a:s> <a:p> <a:1> .\n# @message two\n")
    done = subprocess.run([*run, "cat", "--messages", server.url("/no")], capture_output=True, text=True)
    assert done.returncode == 1
    assert "HTTP 404 Not Found" in done.stderr
    assert server.url("/no") in done.stderr
    assert "Traceback" not in done.stderr


def test_commands_read_what_the_server_tells(server: Server, tmp_path: Path) -> None:
    """002-086: the other commands."""
    runner = pytest.importorskip("click.testing").CliRunner()
    from jelly.cli.commands import cli

    turtle = server.put("/people", b"@prefix a: <a:> . a:s a:p a:o, a:q .", type="text/turtle")
    packed = server.put("/packed.nt", jelly.dumps(jelly.read(turtle)), type="application/x-jelly-rdf")
    text = b"<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:q> .\n"

    def run(*arguments: str) -> bytes:
        done = runner.invoke(cli, arguments)
        assert (done.exit_code, done.stderr) == (0, ""), done.stderr
        return done.stdout_bytes

    for url in (turtle, packed):
        assert run("cat", url) == run("head", url) == run("canonicalize", url) == text
        assert run("count", url) == f"2\t{url}\n".encode()
        assert run("validate", url) == f"{url}: no problems\n".encode()
        assert run("convert", "--to", "nt", "--quiet", url, "-") == text
    # By default Jelly becomes text, and text Jelly.
    assert run("convert", "--quiet", packed, "-") == text
    assert jelly.loads(run("convert", "--quiet", turtle, "-")) == list(jelly.read(text, format="nt"))
    # Options of the format that came, and of another one; what the caller says counts.
    assert run("convert", "--to", "nt", "--quiet", "--base", "a:b/", turtle, "-") == text
    for wrong, message in (
        (["convert", "--base", "a:b/", packed, "-"], "--base does not go with Jelly"),
        (["count", "--max-frame-bytes", "9", turtle], "Turtle has no keyword"),
        (["count", "--from", "nq", turtle], "line 1"),
    ):
        done = runner.invoke(cli, wrong)
        assert done.exit_code
        assert message in done.stderr
