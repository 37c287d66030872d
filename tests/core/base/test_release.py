"""What reads a buffer in chunks and the garbage collector: the buffer stays as long as it is read, and no longer."""

import gc
import io
import sys
import weakref

import pytest

import jelly
from jelly._core.ntriples.text import TextReader

LINE = b"<a:s> <a:p> <a:o> .\n"


def test_failed_decoder_releases_its_chunk(monkeypatch):
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    buffer = bytearray(b"\x05hello")
    decoder = jelly.Decoder()
    with pytest.raises(jelly.JellyFormatError):
        list(decoder.feed(memoryview(buffer)))
    buffer += b"!"  # BufferError while a view is held
    del decoder
    gc.collect()
    assert not ignored


@pytest.mark.parametrize(
    ("kind", "data"),
    [(jelly.Decoder, jelly.dumps([])), (lambda: TextReader(quads=False), LINE * 3)],
    ids=["jelly", "text"],
)
def test_reader_in_a_cycle(monkeypatch, kind, data):
    """The collector may not clear the memoryview that a reader in the same garbage still reads."""
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    buffer = bytearray(data)
    reader = kind()
    view = memoryview(buffer)
    reader.push(view)
    cycle = [view]
    source = map(lambda _, reader=reader, cycle=cycle: None, [])
    cycle.append(source)
    del reader, view, cycle, source
    gc.collect()
    assert not ignored
    buffer += b"!"  # nobody holds it any more


@pytest.mark.parametrize("data", [b"", LINE, LINE * 100_000], ids=["nothing", "a line", "much"])
@pytest.mark.parametrize("whole", [True, False], ids=["to the end", "begun"])
def test_a_source_of_zstd_is_released(data, whole):
    """What stream_reader of zstandard refers to, the garbage collector does not see."""
    zstandard = pytest.importorskip("zstandard")
    packed = zstandard.ZstdCompressor(level=19).compress(data)

    class File(io.BytesIO):
        pass

    file = File(packed)
    alive = weakref.ref(file)
    with jelly.Reader(file, format="nt") as reader:
        batches = reader.batches()
        for _ in batches if whole else ():
            pass
        next(batches, None)
    del reader, batches, file
    gc.collect()
    assert alive() is None
