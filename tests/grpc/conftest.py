"""Servers and the peer for the tests of gRPC: everything on the loopback, everything bounded in time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from serving import Running  # noqa: E402

import jelly.grpc as jg  # noqa: E402


class Peer:
    """The second implementation: classes made by protoc, in a process of its own (see stubpeer.py)."""

    def __init__(self, stubs: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(FOLDER / "stubpeer.py"), str(stubs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, do: str, **arguments: Any) -> Any:
        """Have it do something; the result. Bytes go as hexadecimal digits."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(240) == 0
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture(scope="session")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    from grpc_tools import protoc

    out = tmp_path_factory.mktemp("stubs")
    proto = FOLDER.parent.parent / "proto"
    arguments = ["protoc", f"-I{proto}", f"--python_out={out}", f"--grpc_python_out={out}", "rdf.proto", "grpc.proto"]
    assert protoc.main(arguments) == 0
    peer = Peer(out)
    yield peer
    peer.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Running]]:
    """Makes brokers that run in a thread: ``serve(topics=None, broker=None, **settings of AsyncServer)``."""
    made: list[Running] = []

    def start(topics: jg.Topics | None = None, **settings: Any) -> Running:
        made.append(Running(settings.pop("handler", None) or jg.Broker(topics), **settings))
        return made[-1]

    yield start
    for running in made:
        running.close()
