"""An S3 server on 127.0.0.1, a process of its own: moto. Its data is gone when it ends."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from cluster import free_port, wait_for

START = 60  # seconds that the server may take to start
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


@pytest.fixture(scope="session")
def s3() -> Iterator[dict[str, Any]]:
    """The options of the file system for a server, which has the bucket "bucket"."""
    s3fs = pytest.importorskip("s3fs")
    pytest.importorskip("moto")
    with s3_server() as server:
        storage = storage_of(server)
        s3fs.S3FileSystem(**storage).mkdir("bucket")
        yield storage
