"""What a subscription does with errors after which librdkafka tries again by itself; without Kafka."""

from __future__ import annotations

import logging
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest

import jelly

confluent = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")

from jelly.grpc import _topic_kafka as room  # noqa: E402

Error = confluent.KafkaError


class Consumer:
    """Gives an error each time, or a record, or nothing; a second has four of them."""

    def __init__(self, *what: Any) -> None:
        self.what = list(what)

    def assign(self, places: Any) -> None:
        pass

    def close(self) -> None:
        pass

    def consume(self, n: int, timeout: float) -> list[Any]:
        return []

    def poll(self, timeout: float) -> Any:
        return self.what.pop(0) if self.what else None


def failed(code: int) -> Any:
    return SimpleNamespace(error=lambda: Error(code, "Fetch failed"))


RECORD = SimpleNamespace(error=lambda: None, value=lambda: b"x")
END = SimpleNamespace(error=lambda: Error(Error._PARTITION_EOF), offset=lambda: 7)
STORAGE = failed(Error.KAFKA_STORAGE_ERROR)


@pytest.fixture
def take(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is taken, one time after the other: values of records, and the error that ends it."""
    now = [100.0]

    def monotonic() -> float:
        now[0] += 0.25
        return now[0]

    monkeypatch.setattr(room, "time", SimpleNamespace(monotonic=monotonic))
    cluster = room.KafkaStore.__new__(room.KafkaStore)
    cluster.servers, cluster._why, cluster._settings = "here", "", {}

    def taken(*what: Any) -> list[Any]:
        monkeypatch.setattr(room, "Consumer", lambda _settings: Consumer(*what))
        found: list[Any] = []
        try:
            for records, _ in islice(cluster.records("t", 0), len(what)):
                found += [record.value() for record in records]
        except jelly.JellyServiceError as error:
            found.append(error)
        return found

    return taken


def test_errors_that_pass_are_told_once(take: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "jelly.kafka"):
        assert take(RECORD, *[STORAGE] * 20, RECORD, END, *[STORAGE] * 20, RECORD) == [b"x"] * 3
    assert [record.message for record in caplog.records] == ["Kafka at here: Fetch failed: trying again"] * 2


def test_errors_that_stay_are_an_error(take: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "jelly.kafka"):
        for first in ([RECORD], [END], []):
            caplog.clear()
            *before, error = take(*first, *[STORAGE] * 42)
            assert before == [b"x"] * (first == [RECORD])
            assert (error.code, error.reason) == ("UNAVAILABLE", "Kafka at here: Fetch failed")
            assert len(caplog.records) == 1


def test_errors_far_from_each_other_are_none(take: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "jelly.kafka"):
        assert take(RECORD, *[*[None] * 50, STORAGE] * 5) == [b"x"]
    assert len(caplog.records) == 5
    # Those that come again and again are one outage, though there is silence between.
    _, error = take(RECORD, *[*[None] * 20, STORAGE] * 5)
    assert error.code == "UNAVAILABLE"


def test_others_end_a_subscription_at_once(take: Any, caplog: pytest.LogCaptureFixture) -> None:
    [error] = take(failed(Error.OFFSET_OUT_OF_RANGE))
    assert error.code == "OUT_OF_RANGE"
    # And so does silence before the first record.
    *_, error = take(*[None] * 45)
    assert (error.code, "no answer" in error.reason) == ("UNAVAILABLE", True)
    assert take(RECORD, *[None] * 100) == [b"x"]
    assert not caplog.records
