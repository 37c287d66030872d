"""Iterators and writers that the garbage collector ends, in any thread and at any place: nothing may stand still.

`gc.set_threshold(5)` lets it run nearly everywhere, also in threads that are being started and within locks of pools.
Each place that uses threads is tried in a process of its own, which a watch ends with the stacks of all threads.
"""

from __future__ import annotations

import os
import subprocess

import pytest
from support.measure import SANITIZED, run

# Seconds of CPU of each place, and seconds by the clock without any progress after which it stands still.
CPU = 60 if os.environ.get("JELLY_LONG") else 0.4
STILL = 120

SETUP = f"""
import asyncio, bz2, faulthandler, gc, io, os, sys, tempfile, threading, time, warnings
faulthandler.dump_traceback_later({STILL}, exit=True)
import jelly
from jelly import patch
from jelly._bytes.workers import Workers, in_order, pipelined

warnings.simplefilter("ignore", ResourceWarning)  # that files are forgotten is what is tried here
folder = tempfile.mkdtemp()
TEXT = b"".join(b'<a:s%d> <a:p> "%d" .\\n' % (i, i) for i in range(300))

class Holder:
    pass

def forget(made):
    '''Keep an object in a cycle, as a traceback that is kept does.'''
    holder = Holder()
    holder.me, holder.made = holder, made

def begun(items, n=1):
    items = iter(items)
    for _ in range(n):
        next(items)
    forget(items)
"""

# What is done again and again; each has whole uses of threads, too, which the forgotten ones meet.
PLACES = {
    "segments": """
path = folder + "/a.jelly"
jelly.convert(TEXT, path, format="nt", seekable=True, options={}, frame_rows=5)
jelly.write(path, jelly.read(TEXT, format="nt"), seekable=True, keyframe_rows=5, frame_rows=5)

def work():
    begun(jelly.open(path).batches(threads=2))
    assert sum(map(len, jelly.open(path).batches(threads=2))) == 300
""",
    "sources": """
paths = [folder + f"/{n}.nt" for n in range(4)]
for path in paths:
    open(path, "wb").write(TEXT)

def work():
    from jelly._dataset.sources import Sources
    from jelly._dataset.stream import Stream
    begun(Stream(Sources(paths), 2).batches())
    assert sum(map(len, Stream(Sources(paths), 2).batches())) == 1200
""",
    "columns": """
path = folder + "/a.jelly"
jelly.write(path, jelly.read(TEXT, format="nt"), seekable=True, keyframe_rows=20, frame_rows=5)

def work():
    begun(jelly.read_arrow(path, threads=2))
    assert sum(map(len, jelly.read_arrow(path, threads=2))) == 300
""",
    "pieces": """
path = folder + "/a.nt"
open(path, "wb").write(TEXT)

def pieces(workers):
    reader = jelly.Reader(path)
    reader.workers = workers
    return reader.batches()

def with_workers():
    with Workers(2) as workers:
        yield from in_order(workers, range(20), str)

def work():
    with Workers(2) as workers:
        begun(pieces(workers))
        begun(in_order(workers, range(20), str), 3)
        begun(with_workers(), 3)
        assert sum(map(len, pieces(workers))) == 300
""",
    "compressed": """
path = folder + "/a.nt.bz2"
open(path, "wb").write(bz2.compress(TEXT * 50) * 3)
jelly._bytes.source.AHEAD_BYTES = jelly._bytes.source.SLICED_BYTES = 1

def chunks(workers, is_sliced):
    jelly._bytes.source.SLICED_BYTES = 1 if is_sliced else 1 << 60
    source = jelly._bytes.source.Source(path)
    source.workers = workers
    return source.chunks(1000)

def work():
    with Workers(2) as workers:
        for is_sliced in (True, False):
            begun(chunks(workers, is_sliced))
            assert sum(map(len, chunks(workers, is_sliced))) == 150 * len(TEXT)
""",
    "read ahead": """
path = folder + "/a.jelly"
jelly.write(path, jelly.read(TEXT, format="nt"), frame_rows=5)

def ahead(workers):
    reader = jelly.Reader(path, batch_rows=10)
    reader.workers = workers
    return reader.batches()

def work():
    with Workers(2) as workers:
        begun(ahead(workers))
        assert sum(map(len, ahead(workers))) == 300
""",
    "writers": """
STATEMENTS = list(jelly.read(TEXT, format="nt"))
PATCHES = b"".join(b"A " + line + b"\\n" for line in TEXT.splitlines())
NAMES = ["a.jelly", "a.nt", "a.jelly.gz"]

def write(writer):
    for statement in STATEMENTS:
        writer.add(statement)

def work():
    for name in NAMES:
        with_index = {"seekable": True, "keyframe_rows": 50} if "jelly" in name else {}
        writer = jelly.Writer(f"{folder}/{threading.get_ident()}-{name}", threads=2, **with_index)
        write(writer)
        forget(writer)
        with jelly.Writer(f"{folder}/{threading.get_ident()}-b-{name}", threads=2, **with_index) as writer:
            write(writer)
    writer = patch.PatchWriter(f"{folder}/{threading.get_ident()}-a.jellyp", threads=2, seekable=True, keyframe_rows=50)
    for batch in patch.PatchReader(PATCHES, format="rdfp").batches():
        writer.add_batch(batch)
    forget(writer)
""",
    "asynchronous": """
async def chunks():
    for line in TEXT.splitlines(True):
        yield line

async def main():
    batches = aiter(jelly.scan(chunks(), format="nt", batch_rows=5).batches())
    await anext(batches)
    forget(batches)
    assert [len(await anext(aiter(jelly.scan(TEXT, format="nt").batches())))] == [300]

def work():
    asyncio.run(main())
""",
    "conversions": """
path = folder + "/a.nt"
open(path, "wb").write(TEXT)

def work():
    begun(pipelined(iter([lambda: iter("abcdefghijklmnop")] * 5), 2), 3)
    mine = f"{folder}/{threading.get_ident()}"
    assert jelly.convert(path, mine + ".jelly", threads=2, seekable=True).statements == 300
    begun(jelly.open(mine + ".jelly").batches(threads=2), 0)
    assert jelly.convert(mine + ".jelly", mine + ".nt", threads=2).statements == 300
""",
    "store": """
from jelly.spark import _store as store

def items():
    done = []
    store._each(done.append, range(20))
    yield from sorted(done)

def work():
    begun(items())
    begun(pipelined(iter([lambda: iter("abcdefghijklmnop")] * 5), 2), 3)
    assert [*items()] == [*range(20)]
""",
}

LOOP = """
gc.set_threshold(5)
n = 0
while n < 2 or time.process_time() < CPU:
    faulthandler.dump_traceback_later(STILL, exit=True)
    work()
    n += 1
print(n)
"""

TOGETHER = """
gc.set_threshold(5)
failed = []

def some():
    try:
        n = 0
        while n < 1 or time.process_time() < CPU:
            faulthandler.dump_traceback_later(STILL, exit=True)
            work()
            n += 1
    except BaseException as error:
        failed.append(error)
        raise

threads = [threading.Thread(target=some) for _ in range(20)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed
print(len(threads))
"""


def tried(place: str, how: str, cpu: float) -> subprocess.CompletedProcess[str]:
    if place == "store":
        pytest.importorskip("pyspark")
    return run("-c", f"{SETUP}\nCPU, STILL = {cpu}, {STILL}\n{PLACES[place]}\n{how}", timeout=3600)


@pytest.mark.parametrize("place", PLACES)
def test_nothing_stands_still(place: str) -> None:
    done = tried(place, LOOP, CPU + 0.7)
    assert done.returncode == 0, done.stderr[-5000:]
    assert "Exception ignored" not in done.stderr, done.stderr[-5000:]
    assert int(done.stdout) >= 2


@pytest.mark.parametrize("place", ["segments", "conversions"])
def test_twenty_threads_forget_iterators(place: str) -> None:
    done = tried(place, TOGETHER, CPU + 1.5)
    assert done.returncode == 0, done.stderr[-5000:]
    assert "Exception ignored" not in done.stderr, done.stderr[-5000:]
    assert done.stdout == "20\n"


@pytest.mark.skipif(SANITIZED, reason="what is alive at the end is no leak here")
def test_python_ends_at_once_with_iterators_that_are_alive() -> None:
    """Begun and in a global variable: no thread waits for what nobody takes."""
    code = SETUP + PLACES["segments"] + """
alive = [jelly.open(path).batches(threads=2), pipelined(iter([lambda: iter(range(100))] * 3), 2)]
for each in alive:
    next(each)
writer = jelly.Writer(folder + "/b.jelly", threads=2, seekable=True, keyframe_rows=5)
for statement in jelly.read(TEXT, format="nt"):
    writer.add(statement)
print("end", flush=True)
"""
    done = run("-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
