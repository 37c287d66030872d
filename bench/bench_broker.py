"""The broker `jelly serve` with topics in memory, in files and in Kafka: throughput and latency, all on one machine.

    python bench/bench_broker.py [MESSAGES]

Brokers and Kafka are processes of their own on the loopback. Kafka is one node with one replica. Rounds alternate
between the stores; the median counts. A message has 10 statements.
"""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, sleep

import jelly
import jelly.grpc as jg

ROUNDS, ONE_BY_ONE, SUBSCRIBERS = 5, 200, 4
TESTS = Path(__file__).resolve().parents[1] / "tests"


@contextlib.contextmanager
def broker(*arguments: str) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "jelly", "serve", "--listen", "127.0.0.1:0", *arguments],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        yield next(line.split()[2].rstrip(",") for line in process.stderr if line.startswith("listening on "))
    finally:
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        process.wait(20)
        process.stderr.close()


@contextlib.contextmanager
def stores(folder: Path) -> Iterator[dict[str, str]]:
    """The addresses of brokers, by the place of their topics."""
    sys.path.insert(0, str(TESTS))
    from support.kafka_broker import KafkaBroker

    kafka = KafkaBroker(folder / "kafka")
    try:
        with (
            broker("--keep", "1000000000") as memory,
            broker("--store", str(folder / "files")) as files,
            broker("--store", f"kafka://{kafka.address}") as one,
            broker("--store", f"kafka://{kafka.address}") as two,
        ):
            yield {"memory": memory, "files": files, "Kafka": one, "Kafka, other broker": two}
    finally:
        kafka.close()


def frames_of(count: int) -> list[bytes]:
    text = b"".join(b'<http://e/s%d> <http://e/p%d> "%d" .\n' % (i // 5, i % 9, i) for i in range(10 * count))
    return list(jelly.grpc.FrameEncoder(frame_rows=10).encode_many(jelly.read(text, format="nt")))


def work(address: str, reader: str, topic: str, frames: list[bytes]) -> dict[str, float]:
    """Seconds or messages a second of one round."""
    found: dict[str, float] = {}
    count = len(frames)
    with jg.Client(address) as client, jg.Client(reader) as other:
        client.publish(frames[:1], topic=topic)
        begin = perf_counter()
        client.publish(frames, topic=topic)
        found["publish, messages/s"] = count / (perf_counter() - begin)
        begin = perf_counter()
        assert sum(1 for _ in other.subscribe(topic, follow=False).raw()) == count + 1
        found["subscribe, messages/s"] = count / (perf_counter() - begin)
        begin = perf_counter()
        threads = [
            threading.Thread(target=lambda: sum(1 for _ in other.subscribe(topic, follow=False).raw()))
            for _ in range(SUBSCRIBERS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found[f"{SUBSCRIBERS} subscribers, messages/s"] = SUBSCRIBERS * count / (perf_counter() - begin)
        times: list[float] = []
        came: list[float] = []
        with other.subscribe(topic, start="latest") as feed:
            got = threading.Semaphore(0)

            def follow() -> None:
                for _ in feed.raw():
                    came.append(perf_counter())
                    got.release()

            thread = threading.Thread(target=follow)
            thread.start()
            while feed.number is None:
                sleep(0.01)
            sent = []
            for frame in frames[:1] * ONE_BY_ONE:
                sent.append(perf_counter())
                client.publish([frame], topic=topic)
                times.append(perf_counter() - sent[-1])
                got.acquire()
        thread.join()
        ways = [1000 * (there - start) for start, there in zip(sent, came, strict=True)]
        times = [1000 * time for time in times]
        found["one message, acknowledged, ms"] = statistics.median(times)
        found["  of 100 the slowest, ms"] = statistics.quantiles(times, n=100)[-1]
        found["one message, at a subscriber, ms"] = statistics.median(ways)
        found["  of 100 the slowest one, ms"] = statistics.quantiles(ways, n=100)[-1]
    return found


def measure(count: int, rounds: int, folder: Path) -> dict[str, dict[str, float]]:
    """Print a table; the medians by place."""
    frames = frames_of(count)
    found: dict[str, dict[str, list[float]]] = {}
    with stores(folder) as addresses:
        for number in range(rounds + 1):
            for place, address in addresses.items():
                writer = addresses["Kafka"] if place.startswith("Kafka") else address
                topic = f"t{number}-{'other' if 'other' in place else 'same'}"
                for name, value in work(writer, address, topic, frames).items():
                    if number:  # the first is to warm up
                        found.setdefault(place, {}).setdefault(name, []).append(value)
    medians = {place: {name: statistics.median(each) for name, each in names.items()} for place, names in found.items()}
    size = sum(map(len, frames))
    load = f", load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores" if hasattr(os, "getloadavg") else ""
    print(f"\n{count:,} messages, {size / 1e6:.1f} MB, median of {rounds}{load}\n")
    print(f"{'':36}" + "".join(f"{place:>20}" for place in medians))
    for name in medians["memory"]:
        shown = (medians[place][name] for place in medians)
        print(f"{name:36}" + "".join(f"{value:20,.1f}" if "ms" in name else f"{value:20,.0f}" for value in shown))
    return medians


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        measure(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, ROUNDS, Path(name))
