"""A broker for all tests of this folder that need one, and topics of their own."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from interop.peer import Unavailable
from support.kafka_broker import KafkaBroker

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "grpc"))  # for serving.py


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of Apache Kafka."""
    try:
        running = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    except Unavailable as reason:
        pytest.skip(str(reason))
    yield running.address
    running.close()


@pytest.fixture(scope="session")
def topic() -> Callable[[], str]:
    """Names of topics that nobody has used."""
    numbers = itertools.count()
    return lambda: f"topic-{next(numbers)}"
