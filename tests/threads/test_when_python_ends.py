"""Handlers of `atexit` may read and write with ``threads=``, though no thread can start then."""

from __future__ import annotations

import pytest
from support.measure import run

CODE = """
import asyncio, atexit, faulthandler, tempfile
faulthandler.dump_traceback_later(120, exit=True)
import jelly

folder = tempfile.TemporaryDirectory()
nt, made, again = (folder.name + name for name in ("/a.nt", "/a.jelly", "/b.nt.gz"))
N = 60_000
with open(nt, "wb") as file:
    file.write(b"".join(b'<a:s%d> <a:p> "%d" .\\n' % (i, i) for i in range(N)))

async def listed(items):
    return [item async for item in items]

async def chunks():
    yield b"<a:s> <a:p> <a:o> ."

def work():
    for src, dst in ((nt, made), (made, again)):
        assert jelly.convert(src, dst, threads=2).statements == N
    jelly.write(made, jelly.read(nt), threads=2, keyframe_rows=5000)
    assert list(jelly.scan(again, threads=2)) == list(jelly.read(nt))
    with jelly.open(made) as file:
        assert sum(map(len, file.batches(threads=2))) == N
    assert len(asyncio.run(listed(jelly.scan(nt)))) == N

def last():
    work()
    try:
        asyncio.run(listed(jelly.scan(chunks(), format="nt")))
    except jelly.JellyUnsupportedError as error:
        print(error)
    if writer is not None:
        writer.close()
        assert len(list(jelly.read(writer.name))) == N
    print("end")
"""
# What is begun before: modules are imported, threads are there.
BEFORE = {
    "nothing": "writer = None",
    "all": """
work()
class Half:
    name = folder.name + "/c.jelly"
    def __init__(self):
        self._writer = jelly.Writer(self.name, threads=2, seekable=True, keyframe_rows=5000)
        self._left = iter(jelly.read(nt))
        for _, statement in zip(range(N // 2), self._left):
            self._writer.add(statement)
    def close(self):
        for statement in self._left:
            self._writer.add(statement)
        self._writer.close()
writer = Half()
""",
}


@pytest.mark.parametrize("before", BEFORE)
def test_threads_are_not_needed_when_python_ends(before: str) -> None:
    done = run("-c", f"{CODE}\n{BEFORE[before]}\natexit.register(last)")
    told = "no asynchronous source can be read when Python ends, as no thread can start\nend\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, told, "")
