"""The four jobs of `soak.py`. Each runs in a process of its own, checks all that it gets back, and prints its progress.

    python bench/soak_jobs.py JOB SECONDS STATEMENTS FOLDER

The input never ends: real data (made up where it is absent), in which each round gives all subjects, blank nodes and
graphs another name. It is always known which statement comes next, so each one is compared with it, by its hash.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import queue
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import jelly
from jelly import IRI, Batch, BlankNode, Literal, PhysicalType, Quad, StreamOptions, messages
from jelly._core.algebra.content import row_hash

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
SOURCES = (
    "iot-weather/assist-iot-weather-100k.nt.gz",
    "vocabs-quads/vocabs.nq.gz",
    "movies/30kmovies.nt.gz",
    "hobbit-sensor/hobbit-sensor-3000ev.nq.gz",
)
BLOCK_ROWS = 40_000
MARK = "ZZROUNDZ"  # in the names of a template; each round has a number of the same length in its place
SEED = bytes(16)
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(jelly.__file__).parent.parent), *sys.path])}
JELLY = [sys.executable, "-W", "ignore", "-m", "jelly"]


# ---- input


def made_up() -> Iterator[Quad]:
    """Quads that take the place of the real data."""
    for i in range(BLOCK_ROWS):
        subject = BlankNode(f"b{i // 4}") if i % 9 == 0 else IRI(f"http://example.org/station/reading/{i // 4}")
        value = (
            Literal(str(i), datatype="http://www.w3.org/2001/XMLSchema#decimal"),
            Literal(f"reading {i}", language="en"),
            IRI(f"http://example.org/unit/{i % 31}"),
            BlankNode(f"b{i // 4}"),
        )[i % 4]
        yield Quad(subject, IRI(f"http://example.org/p{i % 7}"), value, IRI(f"http://example.org/graph/{i // 100}"))


def renamed(statements: Iterable[Any]) -> Iterator[Quad]:
    """The first statements as quads, with MARK in the name of each subject, blank node and graph."""
    taken = list(itertools.islice(statements, BLOCK_ROWS))
    own = {statement[0] for statement in taken}
    ours = IRI(f"http://example.org/round/{MARK}")

    def name(term: Any) -> Any:
        if isinstance(term, BlankNode):
            return BlankNode(f"{term.value}{MARK}")
        return IRI(f"{term.value}-{MARK}") if isinstance(term, IRI) and term in own else term

    for s, p, o, *g in taken:
        graph = g[0] if g else None
        yield Quad(name(s), p, name(o), IRI(f"{graph.value}-{MARK}") if isinstance(graph, IRI) else ours)


def dumped(statements: Iterable[Any], options: StreamOptions | None = None, **settings: Any) -> bytes:
    """Statements as Jelly with frames of some size."""
    out = io.BytesIO()
    jelly.write(out, statements, options=options, **settings)
    return out.getvalue()


class Blocks:
    """An endless series of blocks of quads; each can be made again by its number."""

    def __init__(self) -> None:
        paths = [SHARED / name for name in SOURCES]
        found: list[Iterable[Any]] = [jelly.read(path) for path in paths if path.exists()]
        self._templates = [
            dumped(renamed(source), frame_rows=0, frame_bytes=0) for source in found or [made_up()]
        ]

    def jelly(self, number: int) -> bytes:
        """A block as a Jelly stream: the lengths in it stay right, since the number is as long as the mark."""
        return self._templates[number % len(self._templates)].replace(MARK.encode(), b"%08d" % number)

    def batches(self, number: int) -> Iterator[Batch]:
        return jelly.scan(self.jelly(number)).batches()

    def all(self, first: int = 0, step: int = 1) -> Iterator[Batch]:
        for number in itertools.count(first, step):
            yield from self.batches(number)


def hashes(batch: Batch) -> Any:
    return row_hash(batch, SEED)[:, 0]


class Wrong(Exception):
    """What came is not what was sent."""


def compare(found: Any, expected: Any, what: str) -> None:
    if not np.array_equal(found, expected):
        raise Wrong(f"{what}: {len(found)} statements, expected {len(expected)}, or others than those")


class Checker:
    """Compares a stream with the Batches that it should have, statement by statement, wherever Batches end."""

    def __init__(self, expected: Iterator[Batch], what: str) -> None:
        self._expected = expected
        self._what = what
        self._left = np.empty(0, np.uint64)
        self.statements = 0

    def take(self, batch: Batch) -> Any:
        """Check the next statements. Return their hashes."""
        found = hashes(batch)
        while len(self._left) < len(found):
            self._left = np.concatenate([self._left, hashes(next(self._expected))])
        compare(found, self._left[: len(found)], f"{self._what}, statement {self.statements} and those after it")
        self._left = self._left[len(found) :]
        self.statements += len(found)
        return found


class Progress:
    """Counts statements, prints the count now and then, and tells whether time or statements are left."""

    def __init__(self, seconds: float, statements: int) -> None:
        self._seconds = seconds
        self._end = 0.0
        self._most = statements
        self._printed = 0.0
        self._lock = threading.Lock()
        self.statements = 0
        self.counts: dict[str, int] = {}

    def add(self, statements: int, **counts: int) -> None:
        """Count statements that were checked, and other things by name."""
        with self._lock:
            self.statements += statements
            for name, count in counts.items():
                self.counts[name] = self.counts.get(name, 0) + count
            now = time.monotonic()
            if now - self._printed > 0.5:
                self._printed = now
                self.show()

    def show(self) -> None:
        print(json.dumps({"statements": self.statements, **self.counts}), flush=True)

    @property
    def goes_on(self) -> bool:
        """Whether there are time and statements left. The time begins when this is asked first."""
        now = time.monotonic()
        self._end = self._end or now + self._seconds
        return self.statements < self._most and now < self._end


# ---- convert: processes of the command in a chain of pipes, and files of tables


def make(seconds: float, statements: int) -> None:
    """Write blocks as one Jelly stream to standard output, until time or statements are over."""
    progress = Progress(seconds, statements)
    blocks = Blocks()
    with jelly.Writer(sys.stdout.buffer, StreamOptions(physical_type=PhysicalType.QUADS)) as writer:
        for number in itertools.count():
            if not progress.goes_on:
                break
            for batch in blocks.batches(number):
                writer.add_batch(batch)
                progress.statements += len(batch)


PIECE_ROWS = 50_000
TRIPS = (".parquet", ".nq.zst", ".arrow", ".nq.gz", ".csv", ".rt")


def trip(batches: list[Batch], suffix: str, folder: Path) -> Iterator[Batch]:
    """Write Batches to a file of another format with the converter, and read it back."""
    from jelly._formats.table_files import write_table_file
    from jelly.arrow import from_batches

    path, back = folder / f"piece{suffix}", folder / "back.jelly"
    if suffix in (".parquet", ".arrow", ".csv"):
        write_table_file(path, from_batches(batches))
        jelly.convert(path, back)
    else:
        with jelly.Writer(path) as writer:
            for batch in batches:
                writer.add_batch(batch)
        jelly.convert(path, back)
    return jelly.scan(back).batches()


def convert(progress: Progress, folder: Path, seconds: float, statements: int) -> None:
    """Jelly to N-Quads to Jelly through pipes; of each piece a file of a table or of text, and back."""
    chain = [
        [sys.executable, __file__, "make", str(seconds), str(statements), str(folder)],
        [*JELLY, "convert", "-", "-", "--from", "jelly", "--to", "nq"],
        [*JELLY, "convert", "-", "-", "--from", "nq", "--to", "jelly"],
    ]
    processes: list[subprocess.Popen[bytes]] = []
    for command in chain:
        stdin = processes[-1].stdout if processes else subprocess.DEVNULL
        processes.append(subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, env=ENVIRONMENT))
        if isinstance(stdin, io.IOBase):
            stdin.close()
    try:
        checker = Checker(Blocks().all(), "through the pipes")
        trips = itertools.cycle(TRIPS)
        turn = 0
        piece: list[Batch] = []
        known: list[Any] = []
        for batch in jelly.scan(processes[-1].stdout).batches():
            known.append(checker.take(batch))
            piece.append(batch)
            progress.add(len(batch))
            if sum(map(len, piece)) >= PIECE_ROWS:
                if (turn := turn + 1) % 4:  # the others only pass
                    piece, known = [], []
                    continue
                suffix = next(trips)
                found = [hashes(back) for back in trip(piece, suffix, folder)]
                compare(np.concatenate(found), np.concatenate(known), f"a file {suffix}")
                progress.add(0, files=1, statements_of_files=sum(map(len, piece)))
                piece, known = [], []
        codes = [process.wait(60) for process in processes]
        if any(codes):
            raise Wrong(f"the commands ended with {codes}")
    finally:
        for process in processes:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


# ---- stream: one process, endless streams and many short ones


class Drain(io.RawIOBase):
    """A file object; what was written is taken away."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        self._parts.append(bytes(part))
        return len(part)

    def take(self) -> bytes:
        data, self._parts = b"".join(self._parts), []
        return data


def cut(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """The bytes in chunks of any size."""
    at = 0
    while at < len(data):
        size = chance.choice([7, 1000, 65536, 300_000])
        yield data[at : at + size]
        at += size


def any_options(chance: random.Random) -> StreamOptions:
    return StreamOptions(
        physical_type=chance.choice([PhysicalType.QUADS, PhysicalType.GRAPHS]),
        max_name_table_size=chance.choice([16, 128, 1000, 4000]),
        max_prefix_table_size=chance.choice([0, 8, 150]),
        max_datatype_table_size=chance.choice([8, 32]),
        stream_name=chance.choice(["", "a name"]),
    )


def short_streams(block: bytes, chance: random.Random, progress: Progress) -> None:
    """Streams, messages and readers that are made and dropped, some of them before their end, some of wrong input."""
    statements = list(itertools.islice(jelly.read(block), 2000))
    data = jelly.dumps(statements, options=any_options(chance))
    if jelly.loads(data) != statements:
        raise Wrong("jelly.dumps and jelly.loads")
    data = dumped(statements, any_options(chance), frame_rows=chance.choice([1, 10, 256, 0]))
    reader = jelly.read(cut(data, chance))
    if list(itertools.islice(reader, 20)) != statements[:20]:
        raise Wrong("the beginning of a stream")
    del reader
    jelly.read(data)  # dropped before its first statement
    frames = list(jelly.scan(data).frames())
    if sum(map(len, frames)) != len(statements):
        raise Wrong("frames of jelly.scan")
    with contextlib.suppress(jelly.JellyError):  # may be right by chance
        at = chance.randrange(len(data))
        jelly.loads(data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :])
    groups = [statements[at : at + 50] for at in range(0, len(statements), 50)]
    for suffix in (".jelly", ".nq"):
        log = io.BytesIO()
        messages.write_messages(log, groups, format=suffix[1:])
        back = [len(message.statements) for message in messages.read_messages(log.getvalue(), format=suffix[1:])]
        if back != [len(group) for group in groups]:
            raise Wrong(f"messages in {suffix}")
    progress.add(3 * len(statements), short_streams=8)


def stream(progress: Progress, folder: Path, seconds: float, statements: int) -> None:
    """An Encoder with a Decoder, and a Writer with a Reader, that live as long as the job; besides, short streams."""
    chance = random.Random(1)
    blocks = Blocks()
    options = StreamOptions(physical_type=PhysicalType.QUADS)
    encoder, decoder = jelly.Encoder(options), jelly.Decoder()
    through_coders = Checker(blocks.all(), "Encoder and Decoder")

    def written() -> Iterator[bytes]:
        sink = Drain()
        with jelly.Writer(sink, options, frame_rows=1000) as writer:
            for batch in blocks.all():
                writer.add_batch(batch)
                yield from cut(sink.take(), chance)

    reading = jelly.Reader(written())
    read = reading.batches()
    through_files = Checker(blocks.all(), "Writer and Reader")
    for number in itertools.count():
        if not progress.goes_on:
            break
        for batch in blocks.batches(number):
            for chunk in cut(encoder.encode(batch), chance):
                for decoded in decoder.feed(chunk):
                    through_coders.take(decoded)
                    progress.add(len(decoded))
            again = next(read)
            through_files.take(again)
            progress.add(len(again))
        data = blocks.jelly(number)
        check = Checker(blocks.batches(number), "a stream with other options")
        out = io.BytesIO()
        with jelly.Writer(out, any_options(chance), frame_rows=chance.choice([10, 256, 0])) as writer:
            for batch in jelly.scan(data, batch_rows=chance.choice([100, 8192, 32768])).batches():
                writer.add_batch(batch)
        for decoded in jelly.scan(out.getvalue(), batch_rows=chance.choice([100, 8192, 32768])).batches():
            check.take(decoded)
            progress.add(len(decoded))
        short_streams(data, chance, progress)
    reading.close()


# ---- threads: several at once, each with its own objects, and all on files with an index


def own_objects(blocks: Blocks, first: int, step: int, progress: Progress) -> None:
    """A thread: Jelly, columns and text, with an Encoder and a Decoder that live on."""
    from jelly.arrow import from_batches

    encoder, decoder = jelly.Encoder(StreamOptions(physical_type=PhysicalType.QUADS)), jelly.Decoder()
    checker = Checker(blocks.all(first, step), f"thread {first}")
    for number in itertools.count(first, step):
        if not progress.goes_on:
            return
        for batch in blocks.batches(number):
            for decoded in decoder.feed(encoder.encode(batch)):
                checker.take(decoded)
                progress.add(len(decoded))
        batch = next(jelly.scan(blocks.jelly(number), batch_rows=5000).batches())
        known = hashes(batch)
        for form in ("columns", "dictionaries", "nq", "thrift"):
            out = io.BytesIO()
            if form in ("columns", "dictionaries"):
                jelly.write_arrow(out, from_batches([batch], dictionary=form == "dictionaries"), format="jelly")
            else:
                with jelly.Writer(out, format=form) as writer:
                    writer.add_batch(batch)
            back = jelly.scan(out.getvalue(), format=form if form in ("nq", "thrift") else "jelly").batches()
            compare(np.concatenate([hashes(part) for part in back]), known, form)
            progress.add(len(batch))


def one_file(blocks: Blocks, folder: Path, progress: Progress) -> None:
    """A thread: write a file with an index, read it with several threads and in slices, again and again."""
    chance = random.Random(2)
    for turn in itertools.count():
        path = folder / f"threads{turn % 2}.jelly"
        numbers = range(4 * turn, 4 * turn + 4)
        with jelly.Writer(path, seekable=True, keyframe_rows=20_000) as writer:
            for number in numbers:
                for batch in blocks.batches(number):
                    writer.add_batch(batch)
        for threads in (2, 4):
            checker = Checker(itertools.chain.from_iterable(map(blocks.batches, numbers)), "a file with an index")
            with jelly.open(path) as file:
                for batch in file.batches(threads=threads):
                    checker.take(batch)
                    progress.add(len(batch))
                if checker.statements != len(file):
                    raise Wrong(f"{checker.statements} statements in a file of {len(file)}")
                at = chance.randrange(len(file) - 100)
                if len(list(file[at : at + 100])) != 100:
                    raise Wrong("a slice")
            progress.add(100, files_read=1)
            if not progress.goes_on:  # at least one is read, however busy the machine is
                return


def run_threads(works: list[Callable[[], None]], progress: Progress) -> None:
    """Run functions in threads until all have ended. The first error ends all."""
    failed: queue.SimpleQueue[BaseException] = queue.SimpleQueue()

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            failed.put(error)
            progress.statements = sys.maxsize  # ends the others

    running = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if not failed.empty():
        raise failed.get()


def threads(progress: Progress, folder: Path, seconds: float, statements: int) -> None:
    """Three threads with objects of their own, and one that reads files with threads."""
    blocks = Blocks()
    works: list[Callable[[], None]] = [lambda: one_file(blocks, folder, progress)]
    for first in range(3):
        works.append(lambda first=first: own_objects(blocks, first, 3, progress))  # type: ignore[misc]
    run_threads(works, progress)


# ---- broker: a server with retention, a publisher, subscribers that come and go

MESSAGE_ROWS = 5000
CALLS = 20  # publications of a client before it is made anew
MAX_LAG = 200  # messages; far fewer than the broker keeps
KEEP = "64M"


class Broker:
    """A topic of a `jelly serve` of its own, and how far publisher and subscribers are."""

    def __init__(self, progress: Progress, folder: Path) -> None:
        self.blocks = Blocks()
        self.progress = progress
        self.published = 0
        self.last = -1  # messages in all, when that is known
        self.taken = {"steady": 0, "coming and going": 0, "small tables": 0}
        command = ["serve", "--store", str(folder / "topics"), "--keep-bytes", KEEP, "--sync", "interval"]
        self.process = subprocess.Popen(
            [*JELLY, *command, "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"],
            stderr=subprocess.PIPE, env=ENVIRONMENT, text=True,
        )  # fmt: skip
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if line.startswith("listening on "):
                self.address = line.split()[2].rstrip(",")
                break
        else:
            raise Wrong("the broker did not start")

    def publish(self) -> None:
        """Publish calls of some messages each, no faster than the subscribers read."""
        import jelly.grpc as jg

        options = StreamOptions(physical_type=PhysicalType.QUADS)
        try:
            for first in itertools.count(0, CALLS):
                with jg.Client(self.address) as client:
                    for number in range(first, first + CALLS):
                        while self.published - min(self.taken.values()) > MAX_LAG and self.progress.goes_on:
                            time.sleep(0.005)
                        batches = list(self.blocks.batches(number))
                        frames = list(jg.FrameEncoder(options, frame_rows=MESSAGE_ROWS).encode_many(batches))
                        if not self.progress.goes_on:
                            self.last = self.published + len(frames)  # before the subscribers get them
                        client.publish(frames, topic="soak")
                        self.published += len(frames)
                        self.progress.add(sum(map(len, batches)), messages=len(frames), publications=1)
                        if self.last >= 0:
                            return
        except BaseException:
            self.process.kill()  # which ends the subscriptions
            raise

    def subscribe(self, name: str) -> None:
        """Read all messages in order, in one subscription or in many."""
        import jelly.grpc as jg

        chance = random.Random(name)
        checker = Checker(self.blocks.all(), f"the subscriber {name}")
        options = StreamOptions(max_name_table_size=500, max_prefix_table_size=20, max_datatype_table_size=16)
        settings = {"options": options} if name == "small tables" else {}
        while self.taken[name] != self.last:
            most = chance.randrange(1, 300) if name != "steady" else sys.maxsize
            while not self.published and self.process.poll() is None:
                time.sleep(0.01)
            with (
                jg.Client(self.address) as client,
                client.subscribe("soak", start=self.taken[name], **settings) as feed,
            ):
                for batch in itertools.islice(feed.batches(), most):
                    checker.take(batch)
                    self.taken[name] += 1
                    self.progress.add(0, delivered=len(batch))
                    if self.taken[name] == self.last:
                        break
            self.progress.add(0, subscriptions=1)

    def stop(self) -> None:
        """End the broker as a service manager does; it must say nothing but its counts."""
        assert self.process.stderr is not None
        self.process.terminate()
        said = self.process.stderr.read()
        if self.process.wait(30) != 0 or len(said.splitlines()) != 1:
            raise Wrong(f"the broker ended with {self.process.returncode}: {said}")


def broker(progress: Progress, folder: Path, seconds: float, statements: int) -> None:
    """A publisher and three subscribers, in threads of this process, with a broker in another."""
    run = Broker(progress, folder)
    try:
        run_threads([run.publish, *(lambda name=name: run.subscribe(name) for name in run.taken)], progress)
        run.stop()
    finally:
        run.process.kill()
        run.process.wait()
        assert run.process.stderr is not None
        run.process.stderr.close()
    kept = sum(path.stat().st_size for path in (folder / "topics").glob("*.jelly"))
    if kept > 80e6:
        raise Wrong(f"the broker keeps {kept} bytes, not {KEEP}")


JOBS: dict[str, Callable[[Progress, Path, float, int], None]] = {
    "convert": convert, "stream": stream, "threads": threads, "broker": broker,
}  # fmt: skip


def main(job: str, seconds: str, statements: str, folder: str) -> None:
    if job == "make":
        make(float(seconds), int(statements))
        return
    progress = Progress(float(seconds), int(statements))
    JOBS[job](progress, Path(folder), float(seconds), int(statements))
    progress.show()


if __name__ == "__main__":
    main(*sys.argv[1:])
