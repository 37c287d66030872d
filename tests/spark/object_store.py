"""An S3 server on 127.0.0.1, a process of its own: moto. Its data is gone when it ends."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

from cluster import free_port, wait_for

START = 300  # seconds that the server may take to start
KEY, SECRET = "AKIATESTTESTTESTTEST", "verysecretverysecretverysecret"


@contextlib.contextmanager
def s3_server() -> Iterator[str]:
    """The address of a running server."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET},
    )  # fmt: skip

    def answers() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"the S3 server ended with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    try:
        wait_for("S3 server", answers, START)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def storage_of(server: str) -> dict[str, Any]:
    """The options of the file system for a server."""
    return {"key": KEY, "secret": SECRET, "endpoint_url": server}


class Proxy:
    """Hands requests on to a server. One request can be held, so that its sender can be killed inside of it."""

    def __init__(self, server: str) -> None:
        self.seen: list[str] = []  # method and path of each request
        self.held = Event()
        self.handed_on = False  # whether the held request has reached the server
        self._go = Event()
        self._lock = Lock()
        self._pattern = ""
        self._left = 0
        self._reaches = True
        proxy, (host, port) = self, (server.rpartition(":")[0].rpartition("/")[2], int(server.rpartition(":")[2]))

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *given: Any) -> None:
                pass

            def _hand_on(self) -> None:
                if self.headers.get("Expect", "").lower() == "100-continue":
                    pass  # the base class has told it to go on
                body = self._body()
                fate = proxy._see(f"{self.command} {self.path}")
                if fate == "lost":
                    self.close_connection = True
                    return
                connection = http.client.HTTPConnection(host, port, timeout=300)
                headers = {name: value for name, value in self.headers.items()
                           if name.lower() not in ("expect", "transfer-encoding", "content-length")}  # fmt: skip
                if body or self.command in ("PUT", "POST"):
                    headers["Content-Length"] = str(len(body))
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                data = answer.read()
                proxy.handed_on |= fate == "late"
                with contextlib.suppress(OSError):
                    self.send_response_only(answer.status, answer.reason)
                    for name, value in answer.getheaders():
                        if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                            self.send_header(name, value)
                    length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(data))
                    self.send_header("Content-Length", length or "0")
                    self.end_headers()
                    self.wfile.write(data)
                connection.close()

            def _body(self) -> bytes:
                if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                parts = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _hand_on

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *given: Any) -> None:
                pass  # the sender was killed

        self._http = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def hold(self, pattern: str, number: int = 1, reaches: bool = True) -> None:
        """Hold the nth request of a kind: `held` is set then. After `go` it reaches the server, or it does not."""
        self._pattern, self._left, self._reaches = pattern, number, reaches
        self.held.clear()
        self.handed_on = False
        self._go.clear()

    def go(self) -> None:
        self._pattern = ""
        self._go.set()

    def _see(self, request: str) -> str:
        with self._lock:
            self.seen.append(request)
            mine = bool(self._pattern) and re.search(self._pattern, request) is not None
            self._left -= mine
            mine = mine and self._left == 0
        if not mine:
            return "now"
        self.held.set()
        self._go.wait(600)
        return "late" if self._reaches else "lost"

    def close(self) -> None:
        self._go.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(10)
