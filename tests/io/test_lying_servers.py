"""A web server that lies, in every way we know: the error is a JellyError or an OSError and names the address, and
comes in bounded time."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jelly
from jelly.cli.commands import cli

LINE = b"<a:s> <a:p> <a:o> .\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/n-triples\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
SEE = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "


def sized(length: bytes | int, body: bytes, head: bytes = OK) -> bytes:
    return head + b"Content-Length: %b\r\n\r\n%b" % (str(length).encode() if isinstance(length, int) else length, body)


def drip(data: bytes) -> Iterator[bytes]:
    """The bytes, and after that one more for ever, each long before the time is over."""
    yield data
    while True:
        threading.Event().wait(0.02)
        yield b"x"


# What the server sends, as bytes or as pieces of them, and whether nothing was wrong with the first line that it gave.
WAYS: dict[str, bytes | Callable[[], Iterator[bytes]]] = {
    "hundred headers": OK + b"".join(b"X-%d: 1\r\n" % i for i in range(200)) + b"\r\n" + LINE,
    "endless headers": lambda: itertools.chain([OK], (b"X-%d: 1\r\n" % i for i in itertools.count())),
    "a long header": OK + b"X: " + b"x" * 200_000 + b"\r\n\r\n" + LINE,
    "an endless header": lambda: itertools.chain([OK + b"X: "], itertools.repeat(b"x" * 4096)),
    "a slow header": lambda: drip(OK + b"X: "),
    "a long first line": b"HTTP/1.1 200 " + b"x" * 200_000 + b"\r\n\r\n",
    "no HTTP": b"<a:s> <a:p> <a:o> .\n" * 10,
    "a status that is no number": b"HTTP/1.1 abc OK\r\n\r\n" + LINE,
    "a status out of range": b"HTTP/1.1 99999 OK\r\n\r\n" + LINE,
    "another version": b"HTTP/9.9 200 OK\r\n\r\n" + LINE,
    "an empty answer": b"",
    "half a first line": b"HTT",
    "half a head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "endless 100": lambda: itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "bytes of no character": b"\xff\xfe\x00\r\n\r\n",
    "404": b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    "500": b"HTTP/1.1 500 \xff\x1b[31m\r\nContent-Length: 0\r\n\r\n",
    "206": sized(len(LINE), LINE, OK.replace(b"200 OK", b"206 Partial Content")),
    "206 with a range": sized(
        len(LINE), LINE, OK.replace(b"200 OK", b"206 Partial Content") + b"Content-Range: bytes 0-19/4000\r\n"
    ),
    "a body that is too short": sized(1000, LINE),
    "a length of 19 digits": sized(b"9" * 19, LINE),
    "a length of 5000 digits": sized(b"9" * 5000, LINE),
    "a length below 0": sized(-1, LINE),
    "a length that is no number": sized(b"0x14", LINE),
    "two lengths": sized(len(LINE), LINE * 2, OK + b"Content-Length: 40\r\n"),
    "a chunk of no size": CHUNKED + b"zz\r\n" + LINE,
    "a chunk of size below 0": CHUNKED + b"-5\r\n" + LINE,
    "a chunk too short": CHUNKED + b"ffff\r\n" + LINE,
    "chunks without an end": CHUNKED + b"14\r\n" + LINE + b"\r\n",
    "a long size of a chunk": CHUNKED + b"0" * 100_000 + b"14\r\n" + LINE,
    "endless trailers": lambda: itertools.chain([CHUNKED + b"0\r\n"], itertools.repeat(b"X: 1\r\n")),
    "a redirect to itself": SEE + b"/x.nt\r\n\r\n",
    "a redirect to a file": SEE + b"file:///etc/passwd\r\n\r\n",
    "a redirect to ftp": SEE + b"ftp://127.0.0.1:9/x.nt\r\n\r\n",
    "a redirect to data": SEE + b"data:text/plain,x\r\n\r\n",
    "a redirect to a bad address": SEE + b"http://[::1\r\n\r\n",
    "a redirect to a bad port": SEE + b"http://127.0.0.1:http/x.nt\r\n\r\n",
    "a redirect to a long name": SEE + b"http://" + b"a" * 300 + b".invalid/x.nt\r\n\r\n",
    "a redirect to nowhere": b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
    "gzip that is cut": sized(15, gzip.compress(LINE * 100)[:15]),
    "gzip that is none": sized(24, b"\x1f\x8b\x08\x00" + b"\xff" * 20),
    "another format": sized(20, b"PAR1" + b"\x00" * 12 + b"PAR1"),
    "a format that is none": sized(20, LINE, OK.replace(b"n-triples", b"x-jelly-rdf")),
}  # fmt: skip


@contextmanager
def server(answer: bytes | Callable[[], Iterator[bytes]]) -> Iterator[str]:
    """A server on loopback that gives ``answer`` to every request. Its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    with listening.accept()[0] as connection, contextlib.suppress(OSError):
                        connection.settimeout(10)
                        connection.recv(1 << 16)
                        for piece in [answer] if isinstance(answer, bytes) else answer():
                            connection.sendall(piece)
                        connection.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/x.nt"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(20)
            assert not thread.is_alive()


def read_arrow(url: str) -> object:
    pytest.importorskip("pyarrow")
    return jelly.read_arrow(url).read_all()


@pytest.mark.parametrize("way", WAYS)
def test_a_lying_server(way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JELLY_TIMEOUT", "0.3" if "endless" in way or "slow" in way else "20")
    out = tmp_path / "out.jelly"
    calls: list[Callable[[str], Any]] = [
        lambda url: list(jelly.read(url)), lambda url: jelly.convert(url, out), read_arrow,
    ]  # fmt: skip
    with server(WAYS[way]) as url:
        for call in calls:
            with pytest.raises((jelly.JellyError, OSError)) as caught:
                call(url)
            error = caught.value
            assert url in (getattr(error, "source", None), getattr(error, "filename", None)), repr(error)
            assert not list(tmp_path.iterdir())
        with contextlib.suppress(OSError, jelly.JellyError):  # no answer; what is wrong with a body is a Problem
            assert jelly.validate(url)
        done = CliRunner().invoke(cli, ["convert", url, str(out)])
        assert done.exit_code == 1
        assert done.stderr.startswith(f"error: {url}: "), done.stderr
        assert done.stderr.count("\n") == 1
        assert "JELLY_TRACEBACK" not in done.stderr
        assert done.stderr[:-1].isprintable()
        assert len(done.stderr) < 1000


def test_there_are_enough_of_them() -> None:
    assert len(WAYS) >= 31


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://127.0.0.1:x/", "http://a b/", "http://\u00fc" + "x" * 80 + "/", "http://"]
)
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises((jelly.JellyError, OSError)):
        jelly.read(url)


def test_what_a_server_may_say() -> None:
    chunked = CHUNKED + b"14; name=value\r\n" + LINE + b"\r\n0\r\nX: 1\r\n\r\n"
    for answer in (sized(len(LINE), LINE), OK + b"\r\n" + LINE, chunked, b"HTTP/1.1 100 Continue\r\n\r\n" + chunked):
        with server(answer) as url:
            assert len(list(jelly.read(url))) == 1
    both = chunked.replace(b"Transfer", b"Content-Length: 4000\r\nTransfer")  # of the two, the chunks count
    with server(both) as url:
        assert len(list(jelly.read(url))) == 1
