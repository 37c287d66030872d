"""A web server that says nothing does not hang the reader: the error names the address."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

import jelly
from jelly.cli.commands import cli


@contextmanager
def server(answer: bytes) -> Iterator[str]:
    """A server on loopback that gives ``answer`` to the first request, and then keeps silent. Its address."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with listening.accept()[0] as connection:
                connection.recv(1 << 16)
                connection.sendall(answer)
                over.wait(240)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/x.nt"
        finally:
            over.set()
            thread.join(10)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/n-triples\r\nContent-Length: 100\r\n\r\n"
LINE = b"<a:s> <a:p> <a:o> .\n"


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\n", HEAD, HEAD + LINE])
@pytest.mark.bounded
def test_a_silent_server_is_an_error(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = "1" if LINE in answer else "0.2"  # time for the server to say what it says
    monkeypatch.setenv("JELLY_TIMEOUT", wait)
    read: list[jelly.Triple | jelly.Quad] = []
    with server(answer) as url, pytest.raises(TimeoutError, match=f"no answer came for {wait} seconds") as caught:
        read.extend(jelly.read(url, batch_rows=1))
    assert (caught.value.errno, caught.value.filename) == (errno.ETIMEDOUT, url)
    assert len(read) == answer.count(LINE)


def test_the_command_names_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JELLY_TIMEOUT", "0.2")
    with server(b"") as url:
        done = CliRunner().invoke(cli, ["count", url])
    assert (done.exit_code, done.stderr) == (1, f"error: {url}: no answer came for 0.2 seconds (JELLY_TIMEOUT)\n")


@pytest.mark.parametrize("wrong", ["soon", "0", "-1", "inf", "nan"])
def test_what_is_no_timeout_is_refused(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JELLY_TIMEOUT", wrong)
    with pytest.raises(jelly.JellyArgumentError, match=rf"JELLY_TIMEOUT is '{wrong}': expected seconds"):
        jelly.Reader("http://127.0.0.1:1/x.nt")


def test_the_default_is_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JELLY_TIMEOUT", raising=False)
    given = []

    def opened(opener: object, request: object, timeout: float) -> None:
        given.append(timeout)
        raise TimeoutError("timed out")

    monkeypatch.setattr("urllib.request.OpenerDirector.open", opened)
    with pytest.raises(TimeoutError, match="no answer came for 60 seconds"):
        jelly.Reader("http://127.0.0.1:1/x.nt")
    assert given == [60.0]
