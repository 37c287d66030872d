"""`async for` over a `jelly.Dataset`: asynchronous sources of all kinds, errors, cancellation, many at once."""

from __future__ import annotations

import asyncio
import gzip
import io
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

import jelly

LINES = b"".join(b'<a:%d> <a:p> "%d" .\n' % (i, i) for i in range(1000))
EXPECTED = list(jelly.read(LINES, format="nt"))


async def chunks(data: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]
        yield b""  # nothing, which is not the end
        await asyncio.sleep(0)


async def listed(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


def made(format: str) -> bytes:
    out = io.BytesIO()
    jelly.convert(LINES, out, format="nt", to=format)
    return out.getvalue()


@pytest.mark.parametrize("format", ["jelly", "nt", "thrift", "protobuf", "ttl", "rdf", "csv", "parquet"])
def test_asynchronous_chunks(format):
    if format in ("ttl", "rdf"):
        pytest.importorskip("pyoxigraph")
    elif format in ("csv", "parquet"):
        pytest.importorskip("pyarrow")
    data = made(format)
    for given, size in ((data, 37 if format == "nt" else 4000), (gzip.compress(data), 1000)):
        assert asyncio.run(listed(jelly.scan(chunks(given, size), format=format))) == EXPECTED
        batches = asyncio.run(listed(jelly.scan(chunks(given, size), format=format).batches()))
        assert sum(map(len, batches)) == 1000


def test_other_sources_and_several(tmp_path):
    (tmp_path / "a.nt").write_bytes(LINES)
    assert asyncio.run(listed(jelly.scan(tmp_path / "a.nt"))) == EXPECTED
    assert asyncio.run(listed(jelly.scan(tmp_path))) == EXPECTED
    assert asyncio.run(listed(jelly.scan(LINES, format="nt"))) == EXPECTED
    several = [tmp_path / "a.nt", chunks(LINES, 5000)]
    assert asyncio.run(listed(jelly.scan(several, format="nt"))) == EXPECTED * 2
    frames = asyncio.run(listed(jelly.scan(made("jelly")).frames()))
    assert [len(frame) for frame in frames] == [len(frame) for frame in jelly.scan(made("jelly")).frames()]
    assert [frame.index for frame in frames] == list(range(len(frames)))
    [a, b] = asyncio.run(listed(jelly.scan([[b"_:x <a:p> _:x ."], chunks(b"_:x <a:p> _:x .", 9)], format="nt")))
    assert a.s != b.s
    assert repr(jelly.scan(b"")) == "<jelly.Dataset of bytes>"


def test_a_stream_reader_of_asyncio():
    async def main() -> list[Any]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(LINES)
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            try:
                return await listed(jelly.scan(reader, format="nt"))
            finally:
                writer.close()
                await writer.wait_closed()

    assert asyncio.run(asyncio.wait_for(main(), 60)) == EXPECTED


def test_what_a_chunk_completes_is_given_at_once():
    """Each statement is read before the next chunk is made; frames, too, as soon as they are whole."""

    async def main(format: str, parts: list[bytes]) -> None:
        read: asyncio.Queue[Any] = asyncio.Queue()

        async def source() -> AsyncIterator[bytes]:
            for part in parts:
                yield part
                await read.get()  # what this chunk completed

        reader = jelly.scan(source(), format=format)
        async for item in reader.frames() if format == "jelly" else reader:
            await read.put(item)

    asyncio.run(asyncio.wait_for(main("nt", [b"<a:s> <a:p> <a:o> .\n"] * 5), 60))
    out = io.BytesIO()
    with jelly.Writer(out, jelly.StreamOptions(physical_type=1, logical_type=3)) as writer:
        for number in range(5):
            writer.add(jelly.Triple(jelly.IRI(f"a:{number}"), jelly.IRI("a:p"), jelly.IRI("a:o")))
            writer.end_frame()
    data, frames = out.getvalue(), []
    while data:  # each frame has its length before it, in one byte
        frames.append(data[: 1 + data[0]])
        data = data[1 + data[0] :]
    assert len(frames) == 5
    asyncio.run(asyncio.wait_for(main("jelly", frames), 60))


def test_errors_come_after_the_statements_before_them():
    async def broken() -> AsyncIterator[bytes]:
        yield LINES
        raise OSError("the connection is gone")

    async def main(src: Any) -> tuple[int, BaseException]:
        n = 0
        try:
            async for _ in jelly.scan(src, format="nt"):
                n += 1
        except (jelly.JellyError, OSError) as error:
            return n, error
        raise AssertionError("no error")

    n, error = asyncio.run(main(broken()))
    assert (n, str(error)) == (1000, "the connection is gone")
    n, error = asyncio.run(main(chunks(LINES + b"nonsense\n", 4000)))
    assert n == 1000
    assert "line 1001" in str(error)
    with pytest.raises(jelly.JellyArgumentError, match=r"async for"):
        jelly.read(chunks(LINES, 5), format="nt")
    with pytest.raises(jelly.JellyArgumentError, match="did you mean 'strict'"):
        jelly.scan(LINES, stict=True)


def test_threads_end_when_reading_stops_in_the_middle():
    """Also while a thread waits for a chunk that never comes."""
    before = {thread for thread in threading.enumerate() if thread.name.startswith("jelly")}

    async def silent() -> AsyncIterator[bytes]:
        yield LINES
        await asyncio.Event().wait()

    async def main() -> None:
        for number in range(20):
            items = aiter(jelly.scan(silent(), format="nt").batches())
            assert len(await anext(items)) == 1000
            if number % 2:
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(anext(items), 0.01)
            await items.aclose()

    asyncio.run(asyncio.wait_for(main(), 60))
    for thread in set(threading.enumerate()) - before:
        if thread.name.startswith("jelly"):
            thread.join(240)
            assert not thread.is_alive()


def test_more_readers_than_threads_that_all_share():
    """Live streams that wait for each other: none may keep the others from being read."""

    async def main() -> int:
        n = 50
        arrived, everybody = 0, asyncio.Event()

        async def source() -> AsyncIterator[bytes]:
            nonlocal arrived
            yield b"<a:s> <a:p> <a:o> .\n"
            arrived += 1
            if arrived == n:
                everybody.set()
            await everybody.wait()
            yield b"<a:s> <a:p> <a:o> .\n"

        found = await asyncio.gather(*(listed(jelly.scan(source(), format="nt")) for _ in range(n)))
        return sum(map(len, found))

    assert asyncio.run(asyncio.wait_for(main(), 60)) == 100


def test_the_loop_is_not_blocked():
    """Another task runs while Batches are decoded."""
    data = made("jelly")

    async def main() -> tuple[int, int]:
        ticks, over = 0, False

        async def tick() -> None:
            nonlocal ticks
            while not over:
                ticks += 1
                await asyncio.sleep(0)

        other = asyncio.ensure_future(tick())
        n = 0
        async for batch in jelly.scan(data, batch_rows=10).batches():
            n += len(batch)
        over = True
        await other
        return n, ticks

    n, ticks = asyncio.run(asyncio.wait_for(main(), 60))
    assert n == 1000
    assert ticks >= 100


def test_a_task_that_is_cancelled_before_its_thread_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread opens the source after that, and must not wait for a chunk that never comes."""
    begun, goes_on = threading.Event(), threading.Event()
    plain = jelly.Dataset.__reduce__

    def late(self: Any) -> Any:
        begun.set()
        goes_on.wait(60)
        return plain(self)

    async def chunks() -> AsyncIterator[bytes]:
        await asyncio.sleep(3600)
        yield b""

    async def first() -> None:
        async for _ in jelly.scan(chunks(), format="nt"):
            pass

    async def main() -> None:
        task = asyncio.create_task(first())
        while not begun.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        goes_on.set()
        for _ in range(1000):
            if not any(thread.name.startswith("jelly-beside") for thread in threading.enumerate()):
                return
            await asyncio.sleep(0.01)
        raise AssertionError("the thread waits for a chunk")

    monkeypatch.setattr(jelly.Dataset, "__reduce__", late)
    asyncio.run(main())
