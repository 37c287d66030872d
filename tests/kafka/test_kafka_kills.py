"""kill -9 of brokers and of Kafka under load: nothing acknowledged is lost, nothing comes twice, all in one order."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from interop.peer import Unavailable
from serving import end, options, quiet_address, spawn, until
from support.kafka_broker import KafkaBroker

import jelly
import jelly.grpc as jg
from jelly import IRI, Frame, Literal, Triple

pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")

import jelly.grpc._topic_kafka  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")

OPTIONS = options("graph messages")
P = IRI("http://example.org/p")
ROUNDS = 12 if os.environ.get("JELLY_LONG") else 1
PUBLISHERS, EACH = 3, 5


class Brokers:
    """Two brokers of one Kafka, each at an address that stays when it is killed and started again."""

    def __init__(self, kafka: KafkaBroker) -> None:
        self._store = f"kafka://{kafka.address}?message.timeout.ms=20000"
        self.addresses = [quiet_address() for _ in range(2)]
        self._processes = [self._start(address) for address in self.addresses]

    def _start(self, address: str) -> Any:
        process = spawn("-m", "jelly", "serve", "--store", self._store, "--listen", address)
        assert process.stderr is not None
        assert any(line.startswith("listening on ") for line in process.stderr), "the broker did not start"
        return process

    def kill(self, number: int) -> None:
        self._processes[number].kill()
        end(self._processes[number])

    def start(self, number: int) -> None:
        self._processes[number] = self._start(self.addresses[number])

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            end(process)


class Load:
    """Publishers, which note what was acknowledged and publish nothing twice, and subscribers, which note all."""

    def __init__(self, addresses: list[str]) -> None:
        self.acknowledged: list[set[tuple[int, int]]] = [set() for _ in range(PUBLISHERS)]
        self.got: list[list[tuple[int, int]]] = [[], []]
        self._stopping = threading.Event()
        self._feeds: list[Any] = []
        # One address for both brokers: a client goes on with the other one.
        self.address = "ipv4:" + ",".join(addresses)
        with jg.Client(self.address, retries=1000) as client:
            client.publish([self._message(0, 0)], topic="t", options=OPTIONS)
        self.acknowledged[0].add((0, 0))
        self._threads = [threading.Thread(target=self._publish, args=(i,)) for i in range(PUBLISHERS)]
        self._readers = [threading.Thread(target=self._subscribe, args=(i,)) for i in range(len(self.got))]
        for thread in (*self._threads, *self._readers):
            thread.start()

    @staticmethod
    def _message(publisher: int, number: int) -> Frame:
        return Frame(0, [Triple(IRI(f"http://example.org/{publisher}"), P, Literal(f"{publisher} {number}"))])

    def _publish(self, publisher: int) -> None:
        number = 1
        while not self._stopping.is_set():
            with jg.Client(self.address, retries=1000) as client, contextlib.suppress(jelly.JellyServiceError):
                while not self._stopping.is_set():
                    numbers = [*range(number, number + EACH)]
                    number += EACH
                    client.publish([self._message(publisher, i) for i in numbers], topic="t", options=OPTIONS)
                    self.acknowledged[publisher] |= {(publisher, i) for i in numbers}

    def _subscribe(self, subscriber: int) -> None:
        with jg.Client(self.address, retries=1000) as client, client.subscribe("t") as feed:
            self._feeds.append(feed)
            self.got[subscriber] += map(self._read, feed)

    @staticmethod
    def _read(frame: Frame) -> tuple[int, int]:
        publisher, number = frame.statements[0].o.value.split()  # type: ignore[union-attr]
        return int(publisher), int(number)

    def more(self) -> None:
        """Wait until something is acknowledged, and has come."""
        before = sum(map(len, self.acknowledged)), [*map(len, self.got)]
        until(lambda: sum(map(len, self.acknowledged)) > before[0] + 50, 120)
        until(lambda: all(len(got) > then for got, then in zip(self.got, before[1], strict=True)), 120)

    def check(self) -> int:
        """End it, and look at all that came."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        with jg.Client(self.address, retries=1000) as client:
            everything = [*map(self._read, client.subscribe("t", follow=False))]
        until(lambda: all(len(got) >= len(everything) for got in self.got), 120)
        for feed in self._feeds:
            feed.close()
        for thread in self._readers:
            thread.join()
        assert len(set(everything)) == len(everything)
        for got in self.got:
            assert got == everything
        for publisher, acknowledged in enumerate(self.acknowledged):
            own = [number for whose, number in everything if whose == publisher]
            assert own == sorted(own)
            assert {number for _, number in acknowledged} <= set(own)
        return sum(map(len, self.acknowledged))


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    try:
        running = KafkaBroker(tmp_path_factory.mktemp("killed"), session=3)
    except Unavailable as reason:
        pytest.skip(str(reason))
    yield running
    running.close()


def test_kills_under_load(kafka: KafkaBroker) -> None:
    brokers = Brokers(kafka)
    try:
        load = Load(brokers.addresses)
        for number in range(ROUNDS):
            load.more()
            brokers.kill(number % 2)
            load.more()  # by the other broker
            kafka.close()
            time.sleep(0.5)
            kafka.start()
            load.more()
            brokers.start(number % 2)
            brokers.kill(1 - number % 2)
            load.more()
            brokers.start(1 - number % 2)
        assert load.check() > 100 * ROUNDS
    finally:
        brokers.close()


def test_while_kafka_is_away(kafka: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Publications end with UNAVAILABLE in time, and so do new subscriptions; those that wait go on when it is back."""
    monkeypatch.setattr(jelly.grpc._topic_kafka, "WAIT", 4.0)
    timeout = "?message.timeout.ms=2000"
    with jg.Topics(f"kafka://{kafka.address}{timeout}") as topics:
        server = jg.Server(jg.Broker(topics))
        with server, jg.Client(server.address, retries=0) as client:
            client.publish([Load._message(0, 0)], topic="away", options=OPTIONS)
            with client.subscribe("away") as feed:
                frames = iter(feed)
                next(frames)
                assert topics.check() == ""
                kafka.close()
                uses: list[Callable[[], Any]] = [
                    lambda: client.publish([Load._message(0, 1)], topic="away", options=OPTIONS),
                    lambda: next(iter(client.subscribe("away"))),
                    client.topics,
                ]
                begun = time.monotonic()
                errors: list[str] = []

                def use(call: Callable[[], Any]) -> None:
                    with pytest.raises(jelly.JellyServiceError) as error:
                        call()
                    errors.append(str(error.value))

                threads = [threading.Thread(target=use, args=(call,)) for call in uses]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                assert time.monotonic() - begun < 60
                assert len(errors) == 3
                assert all("UNAVAILABLE: Kafka at " in error for error in errors), errors
                assert "Connection refused" in topics.check()
                kafka.start()
                client.publish([Load._message(0, 2)], topic="away", options=OPTIONS)
                assert Load._read(next(frames)) == (0, 2)
                assert topics.check() == ""
