"""A Decoder that failed gives the caller's buffer back, though its error keeps it alive in a cycle."""

import gc
import sys

import pytest

import jelly


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
