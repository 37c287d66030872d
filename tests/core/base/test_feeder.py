"""What Decoder, TextReader, BinaryReader and ResultReader have in common."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from support.rowcraft import Thrift

import jelly
from jelly._core.base.push_reader import BatchIterator, PushReader
from jelly._core.jena.reader import BinaryReader, ResultReader
from jelly._core.ntriples.text import TextReader

LINE = b"<a:s> <a:p> <a:o> .\n"
ROW = Thrift.row(Thrift.iri(), Thrift.iri(), Thrift.literal())
STREAM = jelly.dumps([jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))])
NAMES = bytes.fromhex("192c180178001801760000")
CELLS = bytes.fromhex("192c3c18016100007c000000")

# How it is made, what begins the input, a row, what is wrong behind it.
READERS: dict[str, tuple[Callable[..., PushReader], bytes, bytes, bytes]] = {
    # A row is a stream with its options: several are joined.
    "jelly": (lambda **limits: jelly.Decoder(joined=True, **limits), b"", STREAM, b"\2\x0a\5"),
    "text": (lambda **limits: TextReader(quads=False, **limits), b"", LINE, b"bad\n"),
    "thrift": (lambda **limits: BinaryReader("thrift", **limits), b"", ROW, b"\0"),
    "results": (lambda **limits: ResultReader("thrift", **limits), NAMES, CELLS, b"\0"),
}


@pytest.fixture(params=READERS)
def case(request: pytest.FixtureRequest) -> tuple[Callable[..., PushReader], bytes, bytes, bytes]:
    return READERS[request.param]


def test_what_feed_gives_is_read_when_it_is_asked_for(case: Any) -> None:
    make, head, row, _ = case
    reader = make(batch_rows=1)
    batches = reader.feed(head + 3 * row)
    assert isinstance(batches, BatchIterator)
    assert reader.statements == 0
    assert len(next(batches)) == 1
    with pytest.raises(RuntimeError, match="not used up: take all Batches of feed"):
        reader.feed(row)
    assert sum(map(len, batches)) == 2
    assert list(batches) == []
    assert sum(map(len, reader.feed(row))) == 1
    assert list(batches) == []  # it has ended, though there may be more
    # What nobody took is not lost, and what was fed not forgotten.
    reader.feed(row)
    assert sum(map(len, reader.close())) == 1
    assert reader.statements == 5
    with pytest.raises(ValueError, match=f"the {type(reader).__name__} is closed"):
        reader.feed(row)
    assert list(reader.close()) == []


def test_what_comes_before_an_error_is_given(case: Any) -> None:
    make, head, row, bad = case
    reader = make(batch_rows=2)
    data = bytearray(head + 3 * row + bad)
    found = []
    with pytest.raises(jelly.JellyError) as first:
        found.extend(map(len, reader.feed(data)))
    assert found == [2, 1]
    data.append(0)  # the chunk was given back
    for call in (lambda: reader.feed(row), lambda: reader.push(b""), reader.pull, reader.close):
        with pytest.raises(jelly.JellyError) as again:
            call()
        assert again.value is first.value
    # close raises what has no Batch before it at once.
    reader = make()
    assert sum(map(len, reader.feed(head + row))) == 1
    reader.push(bad)
    with pytest.raises(jelly.JellyError):
        reader.close()


def test_a_chunk_that_is_used_up_is_given_back(case: Any) -> None:
    make, head, row, _ = case
    data = bytearray(head + row + row[:2])
    reader = make()
    reader.push(data)
    with pytest.raises(BufferError):
        data.append(0)
    assert reader.pull() is None
    data.append(0)
    assert reader.bytes_read == len(data) - 1


def test_a_failed_one_is_collected(case: Any) -> None:
    make, head, row, bad = case

    class Held(bytearray):
        pass

    data = Held(head + row + bad)
    gone = weakref.ref(data)
    reader = make()
    batches = reader.feed(data)
    with pytest.raises(jelly.JellyError):
        list(batches)
    del reader, batches, data
    gc.collect()
    assert gone() is None


def test_no_pickling(case: Any) -> None:
    reader = case[0]()
    with pytest.raises(TypeError, match=f"a {type(reader).__name__} cannot be pickled"):
        pickle.dumps(reader)
    with pytest.raises(TypeError, match="a BatchIterator cannot be pickled"):
        pickle.dumps(reader.feed(b""))


def test_the_base_reads_nothing() -> None:
    with pytest.raises(NotImplementedError):
        list(PushReader().feed(b"x"))
    with pytest.raises(TypeError):
        BatchIterator(None)  # type: ignore[arg-type]
