"""Brokers in a thread, messages to publish, and processes: what the tests of gRPC share."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jelly
import jelly.grpc as jg
from jelly import IRI, BlankNode, Frame, Literal, Quad, StreamOptions, Triple
from jelly.grpc._topic import Topic
from jelly.grpc._topic_files import FileTopic

ROOT = Path(__file__).resolve().parent.parent.parent
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(jelly.__file__).parent.parent), *sys.path])}

# Physical type, logical type.
KINDS = {"triples": (1, 1), "quads": (2, 2), "graphs": (3, 4), "graph messages": (1, 3), "dataset messages": (2, 4)}


def options(kind: str, **changes: Any) -> StreamOptions:
    """Options of a kind of stream that may have namespaces."""
    physical, logical = KINDS[kind]
    return StreamOptions(**({"physical_type": physical, "logical_type": logical, "version": 2} | changes))


def statement(kind: str, i: int) -> Triple | Quad:
    """A statement with terms of all kinds, of which some repeat."""
    subject = BlankNode(f"b{i % 3}") if i % 4 == 0 else IRI(f"http://example.org/thing/{i // 2}")
    obj = [Literal(str(i)), IRI(f"http://example.org/o#{i % 40}"), Literal("x", language="en"),
           Literal(str(i), datatype=f"http://example.org/type/{i % 5}")][i % 4]  # fmt: skip
    triple = Triple(subject, IRI(f"http://example.org/p{i % 7}"), obj)
    if KINDS[kind][0] == 1:
        return triple
    return Quad(*triple, None if i % 5 == 0 else IRI(f"http://example.org/graph/{i // 3}"))


def messages(kind: str, count: int, size: int = 5, start: int = 0) -> list[Frame]:
    """Messages: some with namespaces, some with metadata, some without statements."""
    made = []
    for i in range(start, start + count):
        rows = [statement(kind, i * size + j) for j in range(0 if i % 11 == 10 else size)]
        names = [("e", "http://example.org/")] if i % 6 == 2 else []
        made.append(Frame(i, rows, {"number": b"%d" % i}, names))
    return made


def plain(frames: Any) -> list[Any]:
    """What frames hold, to compare."""
    return [([*map(str, f)], f.metadata, f.namespaces) for f in frames]


def numbers(frames: Any) -> list[int]:
    """The numbers that `messages` put into the metadata."""
    return [int(frame.metadata["number"]) for frame in frames]


def quiet_address() -> str:
    """An address where nobody listens, with a port that the system does not give to others by itself."""
    while True:
        address = "127.0.0.1", random.randrange(20000, 30000)
        with socket.socket() as sock, contextlib.suppress(OSError):
            sock.bind(address)
            return "{}:{}".format(*address)


class Running(jg.Server):
    """A server that runs in a thread."""

    handler: Any

    def __init__(self, handler: jg.Handler, address: str = "127.0.0.1:0", **settings: Any) -> None:
        super().__init__(handler, address, **settings)
        self.start()

    def close(self) -> None:
        self.stop(0.1)


def make_topic(name: str, path: Path | None, **settings: Any) -> Topic:
    """A topic in files, or in memory."""
    return Topic(name, **settings) if path is None else FileTopic(name, path, **settings)


def until(condition: Callable[[], Any], seconds: float = 240.0) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


def spawn(*arguments: str, **settings: Any) -> subprocess.Popen[str]:
    """This Python as a process of its own, with the same package."""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", *arguments],
        **{"env": ENVIRONMENT, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **settings},
    )


def serve_command(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    """``jelly serve`` on a free port, and its address."""
    process = spawn("-m", "jelly", "serve", "--listen", "127.0.0.1:0", *arguments)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("listening on "):
            return process, line.split()[2].rstrip(",")
    raise AssertionError("the server did not start")


def end(process: subprocess.Popen[Any]) -> int:
    """Wait for the end of a process that should come to it; its exit code."""
    try:
        return process.wait(240)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
