"""RDF over gRPC on the loopback, client and server in processes of their own, beside generated classes and bare bytes.

    python bench/bench_grpc.py [STATEMENTS]

The peer with generated classes is grpcio with the RdfStreamFrame of pyjelly as (de)serializer, and pyjelly to decode.
Rounds alternate between all; the median counts. Without the shared data the statements are made up. With small frames
nearly all time is grpcio's own, some 60 microseconds a frame: the ceilings are what a library that takes no time could
gain there, of a subscription and of publishing.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any

import grpc

import jelly
import jelly.grpc as jg
from jelly._core.base.protobuf import _put_varint as put_varint
from jelly._core.jelly.frame_reader import DELIMITED, split_frames
from jelly.grpc._protocol import PUBLISH, SERVICE, SUBSCRIBE, pack_subscribe

ROUNDS = 5
NO_LIMIT = [("grpc.max_receive_message_length", -1)]


# ---- servers: `bench_grpc.py --serve KIND FILE` prints its address and serves until its input ends


class Streaming(jg.Handler):
    """Ours: streams frames as they are, turns what is published into statements."""

    def __init__(self, frames: list[bytes]) -> None:
        self.frames = frames

    def on_subscribe(self, call: jg.Subscription) -> list[bytes]:
        return self.frames

    async def on_publish(self, call: jg.Publication) -> None:
        async for _ in call.statements():
            pass


def pyjelly_statements(frames: Iterator[Any]) -> int:
    """Decode generated RdfStreamFrame objects to Python terms; how many statements."""
    from pyjelly.integrations.generic.parse import parse_jelly_flat
    from pyjelly.parse.ioutils import options_from_frame

    first = next(frames)
    options = options_from_frame(first, delimited=True)
    return sum(1 for _ in parse_jelly_flat(None, chain([first], frames), options))


def peer_server(kind: str, frames: list[bytes]) -> tuple[grpc.Server, str]:
    """The same with generated classes, or with bytes and nothing else."""
    read = write = None
    sent: list[Any] = frames
    if kind == "generated":
        from pyjelly.jelly import RdfStreamFrame

        read, write = RdfStreamFrame.FromString, RdfStreamFrame.SerializeToString
        sent = [RdfStreamFrame.FromString(frame) for frame in frames]

    def publish(requests: Iterator[Any], context: Any) -> bytes:
        if kind == "generated":
            pyjelly_statements(requests)
        else:
            for _ in requests:
                pass
        return b""

    methods = {
        "SubscribeRdf": grpc.unary_stream_rpc_method_handler(lambda request, context: iter(sent), None, write),
        "PublishRdf": grpc.stream_unary_rpc_method_handler(publish, read),
    }
    server = grpc.server(ThreadPoolExecutor(4), options=NO_LIMIT)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, f"127.0.0.1:{port}"


def serve(kind: str, path: str) -> None:
    frames = [frame for _, frame in split_frames([Path(path).read_bytes()], DELIMITED)]
    if kind == "broker":
        import asyncio

        async def run() -> None:
            broker = jg.Broker(jg.Topics(keep=1 << 30))
            topic = broker.topics.get("t", create=True)
            assert topic is not None
            topic.fill(frames)
            async with jg.Server(broker) as server:
                print(server.address, flush=True)
                await asyncio.to_thread(sys.stdin.read)

        asyncio.run(run())
    elif kind == "ours":
        with jg.Server(Streaming(frames)) as server:
            print(server.address, flush=True)
            sys.stdin.read()
    else:
        other, address = peer_server(kind, frames)
        print(address, flush=True)
        sys.stdin.read()
        other.stop(0).wait()


@contextlib.contextmanager
def server_process(kind: str, path: Path) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", __file__, "--serve", kind, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(20)
        process.stdout.close()


# ---- clients


def works(addresses: dict[str, str], frames: list[bytes], count: int) -> dict[str, Callable[[], int]]:
    """Everything that is measured; each gives the number of frames or statements that came."""
    from pyjelly.jelly import RdfStreamFrame

    client = {kind: jg.Client(addresses[kind]) for kind in ("ours", "broker")}
    channel = {kind: grpc.insecure_channel(addresses[kind], options=NO_LIMIT) for kind in ("generated", "bytes")}
    request = pack_subscribe("t")
    parsed = [RdfStreamFrame.FromString(frame) for frame in frames]
    generated = channel["generated"].unary_stream(SUBSCRIBE, None, RdfStreamFrame.FromString)
    publish = channel["generated"].stream_unary(PUBLISH, RdfStreamFrame.SerializeToString)
    publish_bytes = channel["bytes"].stream_unary(PUBLISH)

    def published(done: Any) -> int:
        return count

    return {
        "jelly: subscribe, statements": lambda: sum(1 for _ in client["ours"].subscribe("t").statements()),
        "jelly: subscribe, Batches": lambda: sum(len(b) for b in client["ours"].subscribe("t").batches()),
        "jelly: subscribe to the broker, statements": lambda: sum(
            1 for _ in client["broker"].subscribe("t", follow=False).statements()
        ),
        "generated: subscribe, statements": lambda: pyjelly_statements(iter(generated(request))),
        "generated: subscribe, frames parsed": lambda: sum(1 for _ in generated(request)) * count // len(frames),
        "jelly: publish, server decodes": lambda: published(client["ours"].publish(frames)),
        "generated: publish, server decodes": lambda: published(publish(iter(parsed))),
        "jelly: subscribe, raw bytes": lambda: sum(1 for _ in client["ours"].subscribe("t").raw()) and count,
        "jelly: subscribe to the broker, raw bytes": lambda: (
            sum(1 for _ in client["broker"].subscribe("t", follow=False).raw()) and count
        ),
        "bare grpcio: bytes": lambda: sum(1 for _ in channel["bytes"].unary_stream(SUBSCRIBE)(request)) and count,
        "bare grpcio: publish, bytes": lambda: published(publish_bytes(iter(frames))),
    }


RATIOS = [
    ("subscribe, decoded", "jelly: subscribe, statements", "generated: subscribe, statements", 3.0),
    ("publish, decoded", "jelly: publish, server decodes", "generated: publish, server decodes", 3.0),
    ("raw relay", "jelly: subscribe, raw bytes", "bare grpcio: bytes", 0.8),
    ("raw relay, broker", "jelly: subscribe to the broker, raw bytes", "bare grpcio: bytes", 0.8),
]

CEILINGS = [
    ("a subscription", "generated: subscribe, statements", "bare grpcio: bytes"),
    ("publishing", "generated: publish, server decodes", "bare grpcio: publish, bytes"),
]


def statements(count: int) -> list[Any]:
    from work import Data, Unavailable

    with contextlib.suppress(Unavailable):
        return Data("iot-weather").statements[:count]
    text = (b'<http://e/s%d> <http://e/p%d> "%d" .\n' % (i // 5, i % 9, i) for i in range(count))
    return list(jelly.read(b"".join(text), format="nt"))


def measure(count: int, rows: int, rounds: int, folder: Path) -> dict[str, float]:
    """Print a table for frames of some rows; seconds by work."""
    made = statements(count)
    count = len(made)
    frames = list(jg.FrameEncoder(frame_rows=rows).encode_many(made))
    size = sum(map(len, frames))
    path = folder / f"{rows}.jelly"
    path.write_bytes(b"".join(put_varint(len(frame)) + frame for frame in frames))
    seconds: dict[str, list[float]] = {}
    with contextlib.ExitStack() as stack:
        kinds = ("ours", "broker", "generated", "bytes")
        addresses = {kind: stack.enter_context(server_process(kind, path)) for kind in kinds}
        jobs = works(addresses, frames, count)
        for number in range(rounds + 1):
            for name, work in jobs.items():
                start = perf_counter()
                assert work() == count, name
                if number:  # the first is to warm up
                    seconds.setdefault(name, []).append(perf_counter() - start)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    print(f"\n{count:,} statements in {len(frames):,} frames of {rows}, {size / 1e6:.1f} MB, median of {rounds}\n")
    print(f"{'':44} {'statements/s':>13} {'frames/s':>10} {'MB/s':>7}")
    for name, median in medians.items():
        print(f"{name:44} {count / median:13,.0f} {len(frames) / median:10,.0f} {size / median / 1e6:7.1f}")
    for what, theirs, bare in CEILINGS:
        print(f"ceiling of {what}, bare bytes to generated classes: {medians[theirs] / medians[bare]:.2f}x")
    for what, ours, theirs, goal in RATIOS:
        print(f"{what}: {medians[theirs] / medians[ours]:.2f}x (goal {goal}x)")
    return medians


def bench_grpc(tmp_path: Path) -> None:
    """A short run, whose results are right; ratios are for `python bench/bench_grpc.py`."""
    measure(5_000, 10, 1, tmp_path)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
    else:
        import tempfile

        with tempfile.TemporaryDirectory() as name:
            for rows in (10, 250):
                measure(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000, rows, ROUNDS, Path(name))
