"""Figures and health of a broker over HTTP, for Prometheus and for whoever restarts it."""

from __future__ import annotations

import json
import logging
import shutil
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from jelly._options.settings import checked
from jelly.errors import JellyOptionsError
from jelly.grpc._broker import Broker
from jelly.grpc._topic_info import info_of

__all__ = ["Monitor", "metrics_text"]

log = logging.getLogger("jelly.grpc")

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
# Seconds after which a client that sends nothing is dropped.
_TIMEOUT = 10.0


def _lines(name: str, kind: str, text: str, values: list[tuple[str, float]]) -> Iterator[str]:
    yield f"# HELP jelly_{name} {text}"
    yield f"# TYPE jelly_{name} {kind}"
    for labels, value in values:
        yield f"jelly_{name}{labels} {value:.3f}" if isinstance(value, float) else f"jelly_{name}{labels} {value}"


def _label(text: str) -> str:
    """A topic as a label; what ends a label is escaped.

    >>> _label('a"b')
    '{topic="a\\\\"b"}'
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{{topic="{escaped}"}}'


@checked()
def metrics_text(broker: Broker) -> str:
    """Write the figures of a broker in the text format of Prometheus.

    Parameters
    ----------
    broker : Broker
        The broker.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> "jelly_messages_published_total 0" in metrics_text(Broker()).splitlines()
    True
    """
    infos = [
        info_of(topic) for name in broker.topics.names() if (topic := broker.topics.get(name)) is not None
    ]  # fmt: skip
    failure = broker.topics.check()
    one: list[tuple[str, str, str, Any]] = [
        ("messages_published_total", "counter", "Messages that were appended to topics.", broker.published),
        ("messages_delivered_total", "counter", "Messages that were sent to subscribers.", broker.delivered),
        ("calls_refused_total", "counter", "Publications and subscriptions that ended with an error.", broker.refused),
        ("subscribers", "gauge", "Open subscriptions.", broker.subscribers),
        ("topics", "gauge", "Topics.", len(infos)),
        ("store_failing", "gauge", "1 if the last message could not be stored and still cannot.", int(bool(failure))),
    ]
    if broker.topics.store is not None:
        free = shutil.disk_usage(broker.topics.store).free
        one.append(("store_free_bytes", "gauge", "Free bytes where the topics are stored.", free))
    lines = [line for name, kind, text, value in one for line in _lines(name, kind, text, [("", value)])]
    each: list[tuple[str, str, str, Any]] = [
        ("topic_messages_total", "counter", "Number of the next message of a topic.", lambda i: i.end),
        ("topic_first_message", "gauge", "Number of the oldest message that is kept.", lambda i: i.first),
        ("topic_bytes", "gauge", "Bytes of the messages that are kept.", lambda i: i.bytes),
        ("topic_statements", "gauge", "Statements, or operations of patches, that are kept.", lambda i: i.statements),
        ("topic_subscribers", "gauge", "Subscribers of a topic.", lambda i: i.subscribers),
        ("topic_updated_seconds", "gauge", "Time of the newest message, in seconds since 1970.",
         lambda i: i.updated.timestamp() if i.updated else 0),
    ]  # fmt: skip
    for name, kind, text, value in each:
        lines += _lines(name, kind, text, [(_label(info.name), value(info)) for info in infos])
    return "\n".join(lines) + "\n"


class Monitor:
    """An HTTP server that tells of a broker: ``/metrics`` for Prometheus and ``/health``.

    ``/health`` answers 200, or 503 with the reason while the store cannot be written to or the broker stops. Anybody
    who reaches the address can read the names of the topics.

    Parameters
    ----------
    broker : Broker
        The broker.
    address : str, default "127.0.0.1:0"
        ``host:port`` (port 0: any free port).

    Attributes
    ----------
    address : str
        The address, with the port in use.
    is_stopping : bool
        Set it when the broker stops.

    Examples
    --------
    >>> import urllib.request
    >>> with Monitor(Broker()) as monitor:
    ...     urllib.request.urlopen(f"http://{monitor.address}/health").read()
    b'{"status": "ok"}\\n'
    """

    @checked()
    def __init__(self, broker: Broker, address: str = "127.0.0.1:0") -> None:
        self.broker: Broker = broker
        self.is_stopping = False
        host, _, port = address.rpartition(":")
        if not port.isdigit() or not host:
            raise JellyOptionsError(f"{address!r} is no address: expected HOST:PORT")
        monitor = self

        class Answer(BaseHTTPRequestHandler):
            timeout = _TIMEOUT

            def do_GET(self) -> None:
                status, kind, text = monitor.answer(self.path.partition("?")[0])
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_HEAD = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Listening(ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                log.debug("a request failed", exc_info=True)  # the client went away, for example

        try:
            self._server = Listening((host.strip("[]"), int(port)), Answer)
        except OSError as error:
            raise OSError(error.errno, f"cannot listen there: {error.strerror}", address) from None
        self.address: str = f"{host}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="jelly-metrics", daemon=True)

    def answer(self, path: str) -> tuple[int, str, str]:
        """Answer a request.

        Parameters
        ----------
        path : str
            The path.

        Returns
        -------
        (int, str, str)
            Status, media type and text.
        """
        if path == "/metrics":
            return 200, _TEXT, metrics_text(self.broker)
        if path != "/health":
            return 404, _TEXT, "expected /metrics or /health\n"
        failure = self.broker.topics.check()
        told = {"status": "stopping"} if self.is_stopping else {"status": "ok"}
        if failure:
            told = {"status": "failing", "store": failure}
        return 200 if told["status"] == "ok" else 503, "application/json", json.dumps(told) + "\n"

    def start(self) -> None:
        """Start to answer. A ``with`` statement does this."""
        self._thread.start()

    def stop(self) -> None:
        """Stop to answer."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Monitor:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
