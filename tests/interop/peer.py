"""Jelly-JVM in a process of its own: see jvm/src/main/java/jelly/interop/Peer.java for its commands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from types import TracebackType

PROJECT = Path(__file__).parent / "jvm"
JAR = PROJECT / "target" / "peer.jar"
# For Java that lives for seconds or a few minutes: compiling well would cost more than it gains, nor need the code be
# verified, nor the space of its classes be collected while they are loaded.
QUICK = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:MetaspaceSize=256m",
         "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"]  # fmt: skip

# What Maven says where the network is the trouble.
OFFLINE = re.compile(
    "Could not transfer|Unknown host|Temporary failure in name resolution|Network is unreachable|Connection refused"
    "|connect timed out|Connect timed out|No route to host|in offline mode"
)


class Unavailable(Exception):
    """There is no Jelly-JVM here, and why."""


def build() -> None:
    """Compile the program and fetch what it needs, unless that is done."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            raise Unavailable(f"{tool} is not installed")
    sources = [PROJECT / "pom.xml", *(PROJECT / "src").rglob("*.java")]
    if JAR.exists() and JAR.stat().st_mtime > max(path.stat().st_mtime for path in sources):
        return
    for offline in (["-o"], []):
        maven = subprocess.run(["mvn", "-q", "-B", *offline, "package"], cwd=PROJECT, capture_output=True, text=True)
        if maven.returncode == 0:
            return
    text = maven.stdout + maven.stderr
    if OFFLINE.search(text):
        raise Unavailable(f"Maven has no network: {text[:300]}")
    raise RuntimeError(f"Maven failed:\n{text}")


class Peer:
    """The running program. An error of its own is a RuntimeError here."""

    LIBRARIES = JAR.parent / "lib"

    def __init__(self) -> None:
        build()
        self._process = subprocess.Popen(
            ["java", *QUICK, "-cp", os.pathsep.join([str(JAR), str(self.LIBRARIES / "*")]), "jelly.interop.Peer", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def run(self, *words: object) -> str:
        """Give a command and wait for what it answers."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        status, _, answer = self._process.stdout.readline().rstrip("\n").partition("\t")
        if status != "ok":
            raise RuntimeError(answer or "the program ended")
        return answer

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        self._process.communicate()

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
