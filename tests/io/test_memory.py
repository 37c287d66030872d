"""Long streams in flat memory: each in a process of its own, after a first part that warms everything up."""

from __future__ import annotations

import pytest
from support.measure import SANITIZED, growth

pytestmark = [
    pytest.mark.bounded,
    pytest.mark.leaks,
    pytest.mark.skipif(SANITIZED, reason="the sanitizers have memory of their own"),
]

MB = 1 << 20

# Jelly that is made as it is read: some Batches over and over, each time with other lookup entries.
MAKE = """
import itertools
from collections import deque
from jelly import IRI, Literal, Triple, Quad, BlankNode, QuotedTriple, StreamOptions
from jelly._core.terms.batch_builder import BatchBuilder

def batches(n, arity=3, rows=20_000):
    for at in range(n):
        collector = BatchBuilder(arity)
        graph = () if arity == 3 else (IRI(f"http://example.org/graph/{at}"),)
        for i in range(rows):
            collector.add((
                IRI(f"http://example.org/{at}/{i // 4}"), IRI(f"http://example.org/property#{i % 50}"),
                (Literal(f"{i} of {at}", language="en"), Literal(str(i), datatype="http://example.org/type"),
                 BlankNode(f"b{i}"), IRI(f"http://example.org/other/{i % 1000}"))[i % 4], *graph,
            ))
        yield collector.batch

ready = {arity: list(batches(4, arity)) for arity in (3, 4)}

def jelly_of(n, arity=3, **settings):
    encoder = jelly.Encoder(StreamOptions(max_name_table_size=1000), **settings)
    for batch in itertools.islice(itertools.cycle(ready[arity]), n):
        yield encoder.encode(batch)
    yield encoder.close()

class Drop:
    def write(self, data):
        return len(data)
"""


def flat(work: str, limit: int = 12 * MB) -> None:
    """`work` is a function of a number of Batches of 20000 statements: 8 to warm up, then 3 million statements."""
    assert growth(f"{MAKE}\n{work}\nwork(8)", "work(150)") < limit


def test_jelly_to_statements() -> None:
    flat("""
def work(n):
    count = 0
    for s, p, o in jelly.read(jelly_of(n)):
        count += 1
    assert count == n * 20_000
""")


def test_quads_to_statements_by_frame() -> None:
    flat("""
def work(n):
    n //= 3
    count = sum(len(frame) for frame in jelly.scan(jelly_of(n, 4)).frames())
    assert count == n * 20_000
""")


def test_jelly_to_batches_to_jelly() -> None:
    flat("""
def work(n):
    with jelly.Writer(Drop()) as writer:
        for batch in jelly.scan(jelly_of(n)).batches():
            writer.add_batch(batch)
    assert writer.statements == n * 20_000
""")


def test_statements_to_jelly() -> None:
    flat("""
def work(n):
    statements = itertools.chain.from_iterable(
        [Triple(IRI(f"http://e/{at}/{i}"), IRI("a:p"), Literal(str(i))) for i in range(1000)] for at in range(5 * n)
    )
    assert jelly.write(Drop(), statements) == n * 5_000
""")


def test_jelly_to_text_and_back() -> None:
    flat("""
class Pipe:
    "Takes text, gives it on as Batches."
    def __init__(self):
        self.chunks = deque()
    def write(self, data):
        self.chunks.append(data)
        return len(data)

def text_of(n):
    pipe = Pipe()
    with jelly.Writer(pipe, format="nt") as writer:
        for batch in jelly.scan(jelly_of(n)).batches():
            writer.add_batch(batch)
            while pipe.chunks:
                yield pipe.chunks.popleft()
    yield from pipe.chunks

def work(n):
    with jelly.Writer(Drop()) as writer:
        for batch in jelly.scan(text_of(n), format="nt").batches():
            writer.add_batch(batch)
    assert writer.statements == n * 20_000
""", 20 * MB)


def test_small_messages() -> None:
    # Many short streams, good and bad: nothing of one may stay behind, whatever way it ends.
    flat("""
message = jelly.dumps([Triple(IRI(f"http://e/{i}"), IRI("a:p"), Literal(str(i), language="en")) for i in range(20)])
wrong = message[:-3] + b"\\xff\\xff\\xff"

def work(n):
    for _ in range(n * 30):
        statements = jelly.loads(message)
        jelly.dumps(statements)
        for data in (message[:-1], wrong, b"x"):
            try:
                jelly.loads(data)
            except jelly.JellyError:
                continue
            raise AssertionError(data)
        try:
            jelly.dumps([*statements, (IRI("a:s"), BlankNode("p"), IRI("a:o"))], {"generalized_statements": False})
        except jelly.JellyOptionsError:
            continue
        raise AssertionError
""", 4 * MB)


def test_readers_that_are_left_early() -> None:
    flat("""
data = b"".join(jelly_of(1))

def work(n):
    for _ in range(n * 2):
        next(jelly.read(data, batch_rows=100))
        next(jelly.scan([data[:1000], data[1000:]], batch_rows=100).batches())
        jelly.read_options(data)
        decoder = jelly.Decoder()
        decoder.push(data[:5000])
        decoder.pull()
""", 8 * MB)
