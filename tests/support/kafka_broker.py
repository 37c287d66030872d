"""Apache Kafka with one node, broker and controller at once (KRaft), on loopback, for the tests that need a real one.

Its jars come from Maven (tests/kafka/broker/pom.xml), its data are in a folder of the caller. It needs no client.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

from interop.peer import OFFLINE, QUICK, Unavailable

PROJECT = Path(__file__).resolve().parents[1] / "kafka" / "broker"
LIB = PROJECT / "target" / "lib"
# Seconds until it must answer, and tries with other ports if one of them was taken meanwhile.
START, TRIES = 240, 3
JAVA = ["-Xmx256m", *QUICK]

PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=2097152
broker.session.timeout.ms={session}
broker.heartbeat.interval.ms=500
"""


def fetch() -> None:
    """Fetch the jars, unless they are there."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            raise Unavailable(f"{tool} is not installed")
    done = PROJECT / "target" / "pom.xml"
    pom = (PROJECT / "pom.xml").read_text()
    if done.exists() and done.read_text() == pom:
        return
    for offline in (["-o"], []):
        maven = subprocess.run(["mvn", "-q", "-B", *offline, "package"], cwd=PROJECT, capture_output=True, text=True)
        if maven.returncode == 0:
            done.write_text(pom)
            return
    text = maven.stdout + maven.stderr
    if OFFLINE.search(text):
        raise Unavailable(f"Maven has no network: {text[:300]}")
    raise RuntimeError(f"Maven failed:\n{text}")


class KafkaBroker:
    """A running broker, at ``address``. Topics are created when they are first used.

    After `close` it does not start again before Kafka takes the one before for dead: after ``session`` seconds.
    """

    def __init__(self, folder: Path, session: int = 9) -> None:
        fetch()
        self._session = session
        for attempt in range(TRIES):
            try:
                self._start(folder / str(attempt))
                return
            except RuntimeError:
                if attempt == TRIES - 1:
                    raise

    def _start(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        with socket.socket() as one, socket.socket() as two:
            for each in (one, two):
                each.bind(("127.0.0.1", 0))
            port, controller = one.getsockname()[1], two.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        properties = folder / "server.properties"
        settings = {"port": port, "controller": controller, "data": folder / "data", "session": self._session * 1000}
        properties.write_text(PROPERTIES.format(**settings))
        java = ["java", *JAVA, "-cp", str(LIB / "*")]
        done = subprocess.run(
            [*java, "kafka.tools.StorageTool", "format", "-t", "A" * 22, "-c", str(properties)],
            capture_output=True,
            text=True,
            timeout=START,
        )
        if done.returncode:
            raise RuntimeError(f"Kafka cannot format its storage: {done.stdout}{done.stderr}")
        self._log = folder / "output"
        self._command = [*java, "kafka.Kafka", str(properties)]
        self.start()

    def start(self) -> None:
        """Start it, again after `close`, with the data that it has."""
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=subprocess.STDOUT)
        end = time.monotonic() + START
        while not self._answers(int(self.address.rpartition(":")[2])):
            if self._process.poll() is not None or time.monotonic() > end:
                self.close()
                raise RuntimeError(f"Kafka did not start: {self._log.read_text()[-2000:]}")
            time.sleep(0.05)

    def _answers(self, port: int) -> bool:
        """Whether a connection is taken and a request (ApiVersions, version 0) answered."""
        try:
            with socket.create_connection(("127.0.0.1", port), 1) as connection:
                connection.settimeout(2)
                connection.sendall(b"\0\0\0\x0e\0\x12\0\0\0\0\0\x01\0\4test")
                return connection.recv(8)[4:] == b"\0\0\0\1"
        except OSError:
            return False

    def close(self) -> None:
        """End it by kill -9. Its data are for tests only, so it need not write them."""
        self._process.kill()
        self._process.wait()
