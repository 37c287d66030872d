"""The recipes of docs/kafka.md for MQTT and NATS, with real servers where they are installed."""

from __future__ import annotations

import asyncio
import queue
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jelly import IRI, Literal, Quad, Triple
from jelly.kafka import JellyDeserializer, JellySerializer
from jelly.patch import Add, Patch

WAIT, TRIES = 240, 3
S, P, G = IRI("http://example.org/s"), IRI("http://example.org/p"), IRI("http://example.org/g")
VALUES: list[Any] = [
    [Triple(S, P, Literal(str(i))) for i in range(3)],
    Patch([Add(Quad(S, P, Literal("1"), G))]),
    [Quad(S, P, Literal("x", language="en"), G)],
]
TURTLE = b"<http://example.org/s> <http://example.org/p> 1, 2 ."

serialize, deserialize = JellySerializer(), JellyDeserializer()


@contextmanager
def server(name: str, command: Callable[[int], list[str]]) -> Iterator[int]:
    """The port of a server on loopback. A test without the program is skipped, also in CI."""
    program = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip(f"{name} is not installed (Debian: apt-get install {name})")
    for attempt in range(TRIES):  # another process may have taken the port meanwhile
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        process = subprocess.Popen(
            [program, *command(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            if listens(port, process):
                yield port
                return
        finally:
            process.kill()
            process.wait()
        assert attempt < TRIES - 1, f"{name} ended with {process.returncode}"


def listens(port: int, process: Any) -> bool:
    end = time.monotonic() + WAIT
    while process.poll() is None:
        assert time.monotonic() < end
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            time.sleep(0.02)
    return False


def test_mqtt(tmp_path: Path) -> None:
    mqtt = pytest.importorskip("paho.mqtt.client", reason="paho-mqtt is not installed")
    from paho.mqtt.enums import CallbackAPIVersion
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    def command(port: int) -> list[str]:
        config = tmp_path / "mosquitto.conf"
        config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
        return ["-c", str(config)]

    came: queue.Queue[Any] = queue.Queue()

    def on_message(client: Any, data: Any, message: Any) -> None:
        headers = {"content-type": getattr(message.properties, "ContentType", None)}
        # In MQTT a retained message is deleted by an empty one.
        came.put(deserialize.deserialize(message.topic, headers, message.payload or None))

    def publish(client: Any, topic: str, payload: bytes | None, media: str | None) -> None:
        properties = Properties(PacketTypes.PUBLISH)
        if media is not None:
            properties.ContentType = media
        client.publish(topic, payload, qos=1, retain=True, properties=properties).wait_for_publish(WAIT)

    with server("mosquitto", command) as port:
        client = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
        client.on_message = on_message
        subscribed: queue.Queue[Any] = queue.Queue()
        client.on_subscribe = lambda *args: subscribed.put(True)
        client.connect("127.0.0.1", port)
        client.loop_start()
        try:
            client.subscribe("rdf/#", qos=1)
            subscribed.get(timeout=WAIT)
            for number, value in enumerate(VALUES):
                media = dict(serialize.headers(value))["content-type"].decode()
                publish(client, f"rdf/{number}", serialize(value), media)
            publish(client, "rdf/turtle", TURTLE, "text/turtle")
            publish(client, "rdf/0", serialize(None), None)
            found = [came.get(timeout=WAIT) for _ in range(5)]
        finally:
            client.disconnect()
            client.loop_stop()
    assert found[:3] == VALUES
    assert len(found[3]) == 2
    assert found[4] is None


def test_nats(tmp_path: Path) -> None:
    nats = pytest.importorskip("nats", reason="nats-py is not installed")

    async def run(port: int) -> tuple[list[Any], list[Any]]:
        client = await nats.connect(f"nats://127.0.0.1:{port}", connect_timeout=WAIT)
        stream = client.jetstream()
        await stream.add_stream(name="rdf", subjects=["rdf.*"])
        for number, value in enumerate(VALUES):
            headers = {name: text.decode() for name, text in serialize.headers(value)}
            await stream.publish(f"rdf.{number}", serialize(value), headers=headers)
        await stream.publish("rdf.turtle", TURTLE, headers={"Content-Type": "text/turtle"})

        subscription = await stream.pull_subscribe("rdf.*", durable="reader")

        async def take(count: int) -> list[Any]:
            messages: list[Any] = []
            while len(messages) < count:  # it may give fewer
                messages += await subscription.fetch(count - len(messages), timeout=WAIT)
            return messages

        def values(messages: list[Any]) -> list[Any]:
            return [deserialize.deserialize(m.subject, m.headers, m.data) for m in messages]

        first = await take(len(VALUES) + 1)
        for number, message in enumerate(first):
            # What is not acknowledged comes again.
            await (message.ack() if number < 2 else message.nak())
        again = await take(2)
        await client.close()
        return values(first), values(sorted(again, key=lambda message: message.subject))

    command = lambda port: ["-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(tmp_path)]  # noqa: E731
    with server("nats-server", command) as port:
        first, again = asyncio.run(asyncio.wait_for(run(port), 3 * WAIT))
    assert first[:3] == VALUES
    assert len(first[3]) == 2
    assert again[0] == VALUES[2]
    assert len(again[1]) == 2
