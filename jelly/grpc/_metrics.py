"""The figures of a broker for Prometheus (extra ``metrics``), and its health over HTTP."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jelly.errors import need
from jelly.grpc._context import host_and_port

if TYPE_CHECKING:
    from jelly.grpc._broker import Broker

with need("metrics", "metrics need prometheus_client"):
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric


def families(broker: Broker) -> Iterator[Metric]:
    """The metrics of a broker."""
    infos, topics = broker.infos(), broker.topics
    for name, text, count in (
        ("messages_published", "Messages that were appended to topics.", broker.published),
        ("messages_delivered", "Messages that were sent to subscribers.", broker.delivered),
        ("calls_refused", "Publications and subscriptions that ended with an error.", broker.refused),
    ):
        yield CounterMetricFamily(f"jelly_{name}", text, count)
    yield GaugeMetricFamily("jelly_subscribers", "Open subscriptions.", broker.subscribers)
    yield GaugeMetricFamily("jelly_topics", "Topics.", len(infos))
    text = "1 if the last message could not be stored and still cannot."
    yield GaugeMetricFamily("jelly_store_failing", text, bool(topics.check()))
    if topics.store is not None:
        free = shutil.disk_usage(topics.store).free
        yield GaugeMetricFamily("jelly_store_free_bytes", "Free bytes where the topics are stored.", free)
    for make, name, text, field in (
        (CounterMetricFamily, "messages", "Number of the next message of a topic.", "end"),
        (GaugeMetricFamily, "first_message", "Number of the oldest message that is kept.", "first"),
        (GaugeMetricFamily, "bytes", "Bytes of the messages that are kept.", "bytes"),
        (GaugeMetricFamily, "statements", "Statements, or operations of patches, that are kept.", "statements"),
        (GaugeMetricFamily, "subscribers", "Subscribers of a topic.", "subscribers"),
        (GaugeMetricFamily, "updated_seconds", "Time of the newest message, in seconds since 1970.", "updated"),
    ):
        family = make(f"jelly_topic_{name}", text, labels=["topic"])
        for info in infos:
            value = getattr(info, field) or 0
            family.add_metric([info.name], value if isinstance(value, int) else value.timestamp())
        yield family


class Monitor:
    """An HTTP server: ``/metrics`` for Prometheus, and ``/health``, which is 200, or 503 with the reason.

    ``address`` has the port in use. Set ``is_stopping`` when the broker stops.
    """

    def __init__(self, broker: Broker, address: str) -> None:
        host, port = host_and_port(address)
        self.is_stopping = False
        self._topics = broker.topics
        registry = CollectorRegistry()
        registry.register(broker)
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except OSError as error:
            raise OSError(error.errno, f"cannot listen there: {error.strerror}", address) from None
        self.address = f"{address.rpartition(':')[0]}:{self._server.server_port}"
        self._metrics: Any = self._server.get_app()
        self._server.set_app(self._answer)

    def _answer(self, environ: dict[str, Any], start: Any) -> Any:
        path = environ["PATH_INFO"]
        if path == "/metrics":
            return self._metrics(environ, start)
        if path != "/health":
            start("404 Not Found", [("Content-Type", "text/plain")])
            return [b"expected /metrics or /health\n"]
        health = {"status": "stopping" if self.is_stopping else "ok"}
        if failure := self._topics.check():
            health = {"status": "failing", "store": failure}
        status = "200 OK" if health["status"] == "ok" else "503 Service Unavailable"
        start(status, [("Content-Type", "application/json")])
        return [json.dumps(health).encode() + b"\n"]

    def close(self) -> None:
        """Stop to answer."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
