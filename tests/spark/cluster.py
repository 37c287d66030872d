"""A standalone Spark cluster on 127.0.0.1 from the PySpark that pip installed: one master, two workers.

Drivers are processes of their own (`Driver`): a process has one SparkSession, and some of them get killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from interop.peer import QUICK

TESTS = Path(__file__).resolve().parent.parent
# On the path of Python: this tree's jelly, and what daemons of workers import before they fork, see there.
PRELOADED = [str(TESTS.parent), str(TESTS / "spark" / "preloaded")]
DEPLOY = "org.apache.spark.deploy"
START = 300  # seconds that the cluster may take to start
DRIVER = 900  # seconds that a driver may run: it takes a minute on its own, and others may take all cores
RESULT = "result: "
# Memory of a worker, and of an executor on it of the driver that is shared, or of another. Spark asks for 450m.
WORKER, SHARED, OTHER = "1100m", "600m", "480m"


def need_spark() -> None:
    """Skip where Spark cannot run; in CI that is a failure."""
    missing = None
    try:
        import pyspark  # noqa: F401
    except ImportError:
        missing = "pyspark is not installed"
    if missing is None and shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        missing = "Spark needs Java, which is not there"
    if missing is None:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(missing)
    pytest.skip(missing)


def forgive_spark(config: pytest.Config) -> None:
    """Ignore the sockets that ``DataFrame.collect`` of PySpark 4.1 leaves open: elsewhere a warning is an error."""
    with contextlib.suppress(ImportError):
        import pyspark

        if pyspark.__version__.startswith("4.1."):
            ignored = "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"
            config.addinivalue_line("filterwarnings", ignored)


def wait_for(what: str, done: Callable[[], Any], seconds: float, step: float = 0.05) -> Any:
    """What ``done()`` gives as soon as it is true."""
    end = time.monotonic() + seconds
    while not (found := done()):
        if time.monotonic() > end:
            raise TimeoutError(f"no {what} after {seconds} s")
        time.sleep(step)
    return found


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def environment() -> dict[str, str]:
    """What a process of Spark needs: this Python, this tree's jelly and the modules of the tests, loopback only."""
    import pyspark

    here = os.pathsep.join(map(str, (TESTS.parent, TESTS, TESTS / "spark")))
    return {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "JAVA_TOOL_OPTIONS": " ".join(QUICK),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": here,
    }


class Driver:
    """A process with a session, which runs the programs of ``drivers.py`` one after the other."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self._log = process, log
        self._begun = 0

    def begin(self, name: str, *arguments: Any) -> None:
        """Start a program."""
        assert self.process.stdin is not None
        self._begun += 1
        self.process.stdin.write(json.dumps([name, *map(str, arguments)]).encode() + b"\n")
        self.process.stdin.flush()

    def _results(self) -> list[str]:
        return re.findall(f"^{RESULT}(.*)\n", self._text(), re.MULTILINE)

    def _text(self) -> str:
        return self._log.read_text(errors="replace")

    def is_busy(self) -> bool:
        """Whether the program that was started last runs."""
        return self.process.poll() is None and len(self._results()) < self._begun

    def wait(self, what: str, done: Callable[[], bool], step: float = 0.02) -> None:
        """Until a program has come so far. AssertionError with the output where it has not."""
        wait_for(what, lambda: done() or not self.is_busy(), DRIVER, step)
        assert self.is_busy(), f"the program ended before there were {what}:\n{self._text()[-6000:]}"

    def finish(self) -> Any:
        """Wait for the program; its result. AssertionError with the output where it failed."""
        wait_for("result", lambda: not self.is_busy(), DRIVER)
        results = self._results()
        assert len(results) == self._begun, f"the driver ended with {self.process.poll()}:\n{self._text()[-6000:]}"
        told = json.loads(results[-1])
        assert "error" not in told, f"{told['error']}\n{self._text()[-6000:]}"
        return told["result"]

    def kill(self) -> None:
        kill(self.process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill -9 a process and its group: with a worker goes its executor."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)


class Cluster:
    """The master and its workers, each with a process group of its own. ``stop()`` ends them all.

    Two drivers can run at once, with an executor on each worker. There is no room for two executors of the shared one
    on one worker: where a worker gets killed, the executor comes back with the next worker.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []
        self._groups: list[subprocess.Popen[bytes]] = []
        self._logs: list[IO[bytes]] = []
        self._shared: Driver | None = None
        port, self._ui = free_port(), free_port()
        self.url = f"spark://127.0.0.1:{port}"
        try:
            self._run("master", "master.Master", "--port", str(port), "--webui-port", str(self._ui))
            self.add_worker()
            self.add_worker()
            self.wait_for_workers(2, START)
        except BaseException:
            self.stop()
            raise

    def _run(self, name: str, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        spark_class = Path(environment()["SPARK_HOME"], "bin", "spark-class")
        return self.start(name, [str(spark_class), f"{DEPLOY}.{kind}", "--host", "127.0.0.1", *arguments])

    def start(self, name: str, command: list[str], stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Start a process in its own group; its output goes to ``<name>.log``."""
        log = open(self.folder / f"{name}.log", "wb")  # noqa: SIM115 - closed by stop()
        self._logs.append(log)
        settings = {"SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false"} if name == "master" else {}
        process = subprocess.Popen(
            command, stdin=stdin, stdout=log, stderr=log, start_new_session=True,
            env=environment() | settings, cwd=self.folder,
        )  # fmt: skip
        self._groups.append(process)
        return process

    def add_worker(self) -> subprocess.Popen[bytes]:
        name = f"worker-{len(self.workers)}"
        worker = self._run(
            name, "worker.Worker", "--port", "0", "--webui-port", "0", "--cores", "2", "--memory", WORKER,
            "-d", str(self.folder / name), self.url,
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def wait_for_workers(self, n: int, seconds: float) -> None:
        """Until so many workers are registered."""

        def registered() -> bool:
            for process in self._groups[:1]:
                if process.poll() is not None:
                    raise RuntimeError(f"the master ended:\n{(self.folder / 'master.log').read_text()[-3000:]}")
            # Before the master is there for good, its address may answer with a page.
            with contextlib.suppress(OSError, ValueError), urllib.request.urlopen(
                f"http://127.0.0.1:{self._ui}/json/", timeout=5
            ) as answer:
                return int(json.load(answer)["aliveworkers"]) >= n
            return False

        wait_for(f"cluster of {n} workers", registered, seconds)

    def driver(self, memory: str = OTHER) -> Driver:
        """Start a driver, to be killed."""
        name = f"driver-{len(self._groups)}"
        command = [sys.executable, "-W", "ignore", str(TESTS / "spark" / "drivers.py"), self.url, memory]
        return Driver(self.start(name, command, subprocess.PIPE), self.folder / f"{name}.log")

    def shared(self) -> Driver:
        """The driver of all programs that need none of their own: each start takes many seconds."""
        if self._shared is None:
            self._shared = self.driver(SHARED)
        return self._shared

    def stop(self) -> None:
        for process in reversed(self._groups):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in self._groups:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                kill(process)
            if process.stdin is not None:
                process.stdin.close()
        for log in self._logs:
            log.close()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    need_spark()
    running = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        yield running
    finally:
        running.stop()


def session(url: str, **conf: Any) -> Any:
    """The SparkSession of a driver script."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.python.unix.domain.socket.enabled": "true",
        **conf,
    }
    builder = SparkSession.builder.master(url)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
