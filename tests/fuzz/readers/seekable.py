"""Files that are read from the middle: the index at their end, and the index in a sidecar."""

from __future__ import annotations

import contextlib
import random
import struct
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jelly
import jelly.patch
from fuzz.harness import attempt, harness, read_all
from fuzz.structures import Delimited
from jelly import JellyError
from jelly._dataset.seekable.sidecar import make_sidecar

FOLDER = Path(tempfile.mkdtemp(prefix="jelly-fuzz-"))
TAIL = struct.Struct("<qq8s")


def file(quads: bool = False) -> bytes:
    """A file with several keyframes."""
    path = FOLDER / "sample.jelly"
    graph = [jelly.IRI("a:g")] if quads else []
    rows = [[jelly.IRI(f"http://e/{i % 5}"), jelly.IRI("a:p"), jelly.Literal(str(i)), *graph] for i in range(20)]
    jelly.write(path, rows, seekable=True, keyframe_rows=6, frame_rows=4)
    return path.read_bytes()


def patch() -> bytes:
    path = FOLDER / "sample.jellyp"
    patches = jelly.patch.loads(
        b"".join(b"TX .\nA <a:s%d> <a:p> <a:o> .\nTC .\n" % i for i in range(20)), format="rdfp"
    )
    with jelly.patch.PatchWriter(path, seekable=True, keyframe_rows=6, frame_rows=4) as writer:
        for each in patches:
            writer.write(each)
    return path.read_bytes()


def mended(data: bytes) -> bytes:
    """The file with the right checksum of its index, as someone may write it who means harm."""
    tail = len(data) - TAIL.size
    if tail < 0:
        return data
    _, length, magic = TAIL.unpack_from(data, tail)
    if not TAIL.size <= length <= len(data):
        return data
    return data[:tail] + TAIL.pack(zlib.crc32(data[len(data) - length : tail]), length, magic)


def use(opened: Any, chance: random.Random) -> None:
    """Everything that a file can be asked for."""
    n = len(opened)
    start = chance.randrange(-2, n % 1000 + 2)
    stop = start + chance.randrange(10)
    found = opened[start:stop]
    assert len(found) <= max(stop - start, 0)
    if n:
        opened[chance.randrange(min(n, 1 << 40))]
    if hasattr(opened, "frames"):
        first = chance.randrange(opened.n_frames % 1000 + 1)
        for _ in opened.frames(first, first + 3):
            pass


@harness("seekable", corpus=lambda: (file(), file(True)), structure=Delimited())
def seekable(data: bytes, chance: random.Random) -> None:
    """A file with an index gives what its stream has, wherever reading begins, or an error."""
    path = FOLDER / "x.jelly"
    path.write_bytes(mended(data) if chance.random() < 0.8 else data)
    with contextlib.suppress(JellyError, IndexError), jelly.open(path) as opened:
        whole = attempt(lambda: list(jelly.read(path)))
        parts = attempt(lambda: list(opened))
        if isinstance(whole, list) and isinstance(parts, list):
            assert whole == parts, f"{parts} for {whole}"
        use(opened, chance)
        for batch in opened.batches(threads=2):
            batch.check()
    attempt(lambda: jelly.read_arrow(path, start=2, stop=9).read_all())


@harness("seekable_patch", corpus=lambda: (patch(),), structure=Delimited())
def seekable_patch(data: bytes, chance: random.Random) -> None:
    """As for statements."""
    path = FOLDER / "x.jellyp"
    path.write_bytes(mended(data) if chance.random() < 0.8 else data)
    with contextlib.suppress(JellyError, IndexError), jelly.open(path) as opened:
        whole = attempt(lambda: jelly.patch.loads(path.read_bytes()))
        parts = attempt(lambda: list(opened))
        if isinstance(whole, list) and isinstance(parts, list):
            assert [list(map(str, each)) for each in whole] == [list(map(str, each)) for each in parts]
        use(opened, chance)


def plain() -> Path:
    """A file without an index of its own."""
    path = FOLDER / "sidecar.jelly"
    if not path.exists():
        jelly.convert(file(), path, format="jelly", frame_rows=4, seekable=False)
    return path


def sidecars() -> Iterable[bytes]:
    """Sidecars of this file."""
    path = plain()
    for distance, chunk in ((4, 64), (8, 128)):
        make_sidecar(path, distance=distance, chunk=chunk)
        yield Path(f"{path}.idx").read_bytes()


@harness("sidecar", corpus=sidecars)
def sidecar(data: bytes, chance: random.Random) -> None:
    """A sidecar and the states in it are right, or ignored, or an error."""
    path = plain()
    if len(data) >= 16 and chance.random() < 0.8:
        data = resealed(data)
    Path(f"{path}.idx").write_bytes(data)
    with contextlib.suppress(JellyError, IndexError), jelly.open(path) as opened:
        read_all(opened.batches())
        use(opened, chance)


def resealed(data: bytes) -> bytes:
    """The sidecar with right checksums: of its head, and of each state that lies in it."""
    from jelly._dataset.seekable.sidecar import _SIZE, _START, _STATE
    from jelly._formats.index import shape_of

    _, n_head, n_key = shape_of(jelly.StreamOptions())

    magic, _, length = _START.unpack_from(data.ljust(_START.size, b"\0"))
    if length % 8 or not 0 < length <= len(data) - _START.size:
        return data
    numbers = list(struct.unpack_from(f"<{length // 8}q", data, _START.size))
    made = bytearray(data)
    for at in range(n_head + _SIZE + n_key, len(numbers) - _STATE + 1, n_key + _STATE):
        offset, size = numbers[at : at + 2]
        if 0 <= offset < len(data) and 0 <= size <= len(data):
            numbers[at + 2] = zlib.crc32(data[offset : offset + size])
    head = struct.pack(f"<{len(numbers)}q", *numbers)
    made[: _START.size + length] = _START.pack(magic, zlib.crc32(head), length) + head
    return bytes(made)


@harness("saved_state", corpus=lambda: map(saved, (file(), file(True))))
def saved_state(data: bytes, chance: random.Random) -> None:
    """Any bytes as the state of a Decoder are refused, or the Decoder reads or fails."""
    stream = file()
    first = jelly.Decoder(delimited=True)
    list(first.feed(stream))
    decoder = attempt(lambda: jelly.Decoder(delimited=True, options=first.options, state=data))
    if isinstance(decoder, jelly.Decoder):
        read_all(decoder.feed(stream))
        attempt(decoder.save)


def saved(stream: bytes) -> bytes:
    decoder = jelly.Decoder(delimited=True)
    list(decoder.feed(stream))
    return decoder.save()
