"""What patches hold is announced at the start of a stream, and may come late."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import jelly
import jelly.patch as patches
from jelly import IRI, DefaultGraph, Literal, Quad, QuotedTriple, Triple
from jelly.patch import Add, Commit, Header, Patch, PatchWriter, Start, dumps, loads

S, P, OBJ = IRI("a:s"), IRI("a:p"), IRI("a:o")
PLAIN, STAR, GENERAL = (S, P, OBJ), (S, P, QuotedTriple(S, P, OBJ)), (Literal("s"), P, OBJ)
TYPES = pytest.mark.parametrize("kind", [1, 2, 3])
LATE = pytest.mark.parametrize("late", [STAR, GENERAL])


class Pipe(io.RawIOBase):
    """What is written to it cannot be taken back."""

    def __init__(self) -> None:
        self.data = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.data += bytes(data)
        return len(data)


def rows(n: int) -> list[Add]:
    return [Add((IRI(f"a:{i}"), P, OBJ)) for i in range(n)]


def texts(data: bytes) -> list[list[str]]:
    return [[str(operation) for operation in patch] for patch in loads(data)]


@TYPES
@LATE
@pytest.mark.parametrize("n", [1, 9000, 20_000])
@pytest.mark.parametrize("delimited", [True, False])
def test_in_memory_and_in_files(kind: int, late: Any, n: int, delimited: bool, tmp_path: Path) -> None:
    """In one patch or in another, in any type of stream, and in the middle of a transaction."""
    options = {"stream_type": kind}
    operations = [Header("id", IRI("a:x")), Start(), *rows(n), Add(late), Commit()]
    wanted = [[str(operation) for operation in operations]]
    assert texts(dumps([Patch(operations)], options, delimited=delimited)) == wanted
    for out in (tmp_path / "x.jellyp", io.BytesIO()):
        with PatchWriter(out, options, delimited=delimited) as writer:
            writer.extend(operations)
            writer.end_patch()
        data = out.getvalue() if isinstance(out, io.BytesIO) else out.read_bytes()
        assert texts(data) == wanted
    if kind != 2 and delimited:
        given = [Patch(rows(n)), Patch(operations), Patch(rows(2))]
        assert texts(dumps(given, options)) == [[str(x) for x in patch] for patch in given]


@TYPES
@LATE
def test_what_was_not_sent_decides(kind: int, late: Any) -> None:
    """A pipe gets nothing before 8192 rows have decided, or somebody flushes; then an option is asked for."""
    out = Pipe()
    with PatchWriter(out, {"stream_type": kind}) as writer:
        writer.extend(rows(8000))
        assert not out.data
        writer.add(Add(late))
    assert texts(out.data) == [[str(x) for x in (*rows(8000), Add(late))]]
    writer = PatchWriter(out := Pipe(), {"stream_type": kind})
    writer.extend(rows(300))
    writer.flush()
    assert bool(out.data) == (kind != 1)  # of an open patch that is a frame nothing can be sent
    with pytest.raises(jelly.LateError, match="give options="), writer:
        writer.extend([Add(late)] * 9000)


def test_functions_that_write_to_file_objects() -> None:
    old, new = jelly.dumps([PLAIN]), jelly.dumps([STAR])
    patches.diff(old, new, out := io.BytesIO())
    assert [len(patch) for patch in texts(out.getvalue())] == [4]
    pytest.importorskip("pyarrow")
    table = jelly.read_arrow(dumps(Patch([*rows(20_000), Add(STAR)])), content="patches").read_all()
    assert jelly.write_arrow(out := io.BytesIO(), table, content="patches") == 20_001
    assert texts(out.getvalue())[0][-2] == str(Add(STAR))


def test_rows_of_a_table_are_named_when_they_are_written_later() -> None:
    pytest.importorskip("pyarrow")
    table = jelly.read_arrow(dumps(Patch([*rows(3), Add(STAR)])), content="patches").read_all()
    for transactions in (True, False):
        with pytest.raises(jelly.JellyOptionsError) as caught:
            jelly.write_arrow(
                io.BytesIO(), table, content="patches", options={"rdf_star": False}, transactions=transactions
            )
        assert caught.value.row == 3


def test_frames_of_calls() -> None:
    calls = pytest.importorskip("jelly.grpc")
    frames = list(calls.FrameEncoder(patch=True).encode_many([Patch([Add(one)]) for one in (PLAIN, STAR, GENERAL)]))
    assert [len(calls.FrameDecoder(patch=True).decode(frame)) for frame in frames[:1]] == [2]
    assert len(frames) == 3


def test_frames_as_bytes_are_not_mixed_with_others() -> None:
    """Statements behind or before a frame were lost."""
    calls = pytest.importorskip("jelly.grpc")
    triples = [Triple(S, P, Literal(str(i))) for i in range(3)]
    frame = jelly.dumps(triples, {"stream_name": "t"}, delimited=False)
    for items in ([frame, *triples], [*triples, frame]):
        with pytest.raises(jelly.JellyArgumentError, match="cannot be mixed"):
            list(calls.FrameEncoder().encode_many(items))
    patch = Patch([Add(PLAIN)])
    raw = next(calls.FrameEncoder(patch=True).encode_many(patch))
    for other in ([raw, patch], [patch, raw]):
        with pytest.raises(jelly.JellyArgumentError, match="cannot be mixed"):
            list(calls.FrameEncoder(patch=True).encode_many(other))
    assert list(calls.FrameEncoder().encode_many([frame])) == [frame]


@pytest.mark.parametrize("suffix", [".rt", ".rpb", ".jelly"])
def test_apply_to_what_turns_out_late(suffix: str, tmp_path: Path) -> None:
    """A dataset whose default graph comes first, and columns whose first triple term comes late."""
    source, out = tmp_path / f"x{suffix}", tmp_path / "out.jelly"
    late = Quad(*STAR, DefaultGraph()) if suffix == ".jelly" else Quad(*PLAIN, IRI("a:g"))
    text = b"".join(b"<a:%d> <a:p> <a:o> .\n" % i for i in range(40_000)) + str(late).encode() + b"\n"
    jelly.convert(text, source, format="nq", options={"version": 3} if suffix == ".jelly" else None)
    assert patches.apply(Patch([Add((S, P, S))]), source, out).added == 1
    found = list(jelly.read(out))
    assert len(found) == 40_002
    assert tuple(late)[:3] in {tuple(x[:3]) for x in found}
    assert jelly.read_options(out).version == (3 if suffix == ".jelly" else 1)
