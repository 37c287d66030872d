"""What lies beside a file cannot change it: each field of each structure is forged and its checksums are renewed.

Whatever reads all of a file gives the statements of a plain read, or a JellyError. What reads a part by the index (a
slice, a number, a search by filters) may be deceived, as SECURITY.md says, but then `validate` tells, and no slice has
more than was asked for. The long form (JELLY_LONG=1) forges everything, the other one a sample.
"""

from __future__ import annotations

import os
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import patchcraft as pc
from support.craft import frame

import jelly
import jelly.patch
from jelly import IRI, BlankNode, Decoder, JellyError, Literal, Quad
from jelly._bytes.seekable import FrameTable, pack_table
from jelly._core.algebra.content import fuse_filter
from jelly._core.terms.materialize import Materializer
from jelly._dataset.seekable.sidecar import make_sidecar
from jelly._formats.filters import _HEAD, _ROW, _TAIL, Filters, Row, checksums

pytestmark = pytest.mark.filterwarnings("ignore")

LONG = bool(os.environ.get("JELLY_LONG"))
# Of each kind of file, in the short form.
SAMPLE = 16

# By suffix: the files, of which the first is the one that is read.
Files = dict[str, bytes]
Forged = Iterator[tuple[str, Files]]

INTEGER = IRI("http://www.w3.org/2001/XMLSchema#integer")
WORD = Literal("x", language="en")
STATEMENTS = [
    Quad(
        IRI(f"http://e/{i % 5}/{i // 3}"),
        IRI(f"http://e/p#{i % 7}"),
        [BlankNode(f"b{i}"), Literal(str(i)), Literal(str(i // 4), datatype=INTEGER), WORD][i % 4],
        (None, IRI(f"http://e/g/{i // 25}"))[i // 10 % 2],
    )
    for i in range(240)
]
SMALL = {"max_name_table_size": 16, "max_prefix_table_size": 4, "max_datatype_table_size": 4}
COLUMNS = {"version": 3, "physical_type": 2, "max_name_table_size": 128}


# ---- the files


def alone(row: Row, data: bytes) -> Filters:
    """Filters of one part."""
    data += bytes(-len(data) % 512 + 8)
    rows = np.array([row], _ROW)
    return Filters(rows, checksums(data), b"", len(data), lambda at, n: data[at : at + n], "x")


def with_index(path: Path, **settings: Any) -> Files:
    options = settings.pop("options", {**SMALL, "physical_type": 2})
    jelly.write(path, STATEMENTS, options=options, seekable=True, keyframe_rows=60, frame_rows=15, **settings)
    return {"": path.read_bytes()}


def with_sidecar(path: Path, options: dict[str, Any] | None = None, **settings: Any) -> Files:
    jelly.write(path, STATEMENTS, options=options or {**SMALL, "physical_type": 2}, frame_rows=15, seekable=False)
    make_sidecar(path, distance=25 if options else 50, chunk=200, **settings)
    return {"": path.read_bytes(), ".idx": path.with_name(path.name + ".idx").read_bytes()}


def restating(path: Path) -> Files:
    """In columns: frames that restate the options, and a sidecar with and without states."""
    with_index(path, options={**COLUMNS, "numbering": "S"})
    data = path.read_bytes()
    path.write_bytes(data[: frames_of(data)[-2][0]])
    make_sidecar(path, distance=20, chunk=200)
    return {"": path.read_bytes(), ".idx": path.with_name(path.name + ".idx").read_bytes()}


def patches() -> list[jelly.patch.Patch]:
    made = []
    for i in range(60):
        quads = STATEMENTS[4 * i : 4 * i + 4]
        rows: list[Any] = [jelly.patch.Start()] if i % 3 else []
        rows += [(jelly.patch.Add if i % 2 else jelly.patch.Delete)(quad) for quad in quads]
        rows.append(jelly.patch.AddNamespace(f"n{i}", IRI(f"http://e/n/{i}"), quads[-1].g))
        made.append(jelly.patch.Patch(rows + ([jelly.patch.Commit()] if i % 3 else []), quads=True))
    return made


def patches_with_index(path: Path, seekable: bool = True) -> Files:
    options = {"statement_type": 2, **SMALL}
    with jelly.patch.PatchWriter(path, options, seekable=seekable, keyframe_rows=60, frame_rows=7) as writer:
        for patch in patches():
            writer.write(patch)
    return {"": path.read_bytes()}


def patches_with_sidecar(path: Path) -> Files:
    patches_with_index(path, seekable=False)
    make_sidecar(path, distance=50, chunk=200, patch=True)
    return {"": path.read_bytes(), ".idx": path.with_name(path.name + ".idx").read_bytes()}


# ---- what is forged


def frames_of(data: bytes, patch: bool = False) -> list[tuple[int, int, int, int]]:
    """Offset, statements, frames and place behind each frame."""
    decoder = Decoder(delimited=True, patch=patch)
    found = []
    at = 0
    while at < len(data):
        length = shift = 0
        end = at
        while True:
            byte = data[end]
            length |= (byte & 127) << shift
            shift, end = shift + 7, end + 1
            if byte < 128:
                break
        for _ in decoder.feed(data[at : end + length]):
            pass
        at = end + length
        found.append((at, decoder.statements, decoder.frames, decoder.place))
    return found


def numbers_forged(numbers: list[int]) -> Iterator[tuple[str, list[int]]]:
    for i, value in enumerate(numbers):
        for other in sorted({value + 1, value - 1, 0, 1 << 40, -1, numbers[i - 1], numbers[(i + 1) % len(numbers)]}):
            if other != value:
                yield f"number {i}: {value} -> {other}", [*numbers[:i], other, *numbers[i + 1 :]]


Keys = list[list[int]]


def moved(keys: Keys, frames: list[tuple[int, int, int, int]], n: int) -> Iterator[tuple[str, Keys]]:
    """Keyframes at other frames, with their true numbers, and true ones left out."""
    for k, key in enumerate(keys):
        yield f"without keyframe {k}", keys[:k] + keys[k + 1 :]
        for place in frames:
            if [one for one in keys if one[0] == place[0]] or place[0] >= frames[-1][0]:
                continue
            made = sorted([*keys[:k], [*place[:n], *key[n:]], *keys[k + 1 :]])
            yield f"keyframe {k} at byte {place[0]}", made


def shifted(keys: Keys) -> Iterator[tuple[str, Keys]]:
    """All keyframes count one statement, one frame more."""
    for field in (1, 2):
        yield f"field {field} of all", [[*key[:field], key[field] + 1, *key[field + 1 :]] for key in keys]


def forge_index(files: Files, patch: bool = False) -> Forged:
    data = files[""]
    crc, length, magic = struct.unpack("<qq8s", data[-24:])
    body = data[-length:-24]
    numbers = list(struct.unpack(f"<{len(body) // 8}q", body))
    n_head, n_key = (7, 4) if patch else (6, 3)
    head, rest = numbers[:n_head], numbers[n_head:]
    keys = [rest[at : at + n_key] for at in range(0, len(rest), n_key)]
    assert len(keys) >= 3
    truth = frames_of(data, patch)
    said = list(numbers_forged(numbers))
    for label, made in (*moved(keys, truth, n_key), *shifted(keys)):
        if len(made) == len(keys):
            said.append((label, head + sum(made, [])))
    for label, made in said:
        body = struct.pack(f"<{len(made)}q", *made)
        yield label, {**files, "": data[:-length] + body + struct.pack("<qq8s", zlib.crc32(body), length, magic)}


def forge_sidecar(files: Files, patch: bool = False) -> Forged:
    whole = files[".idx"]
    magic, _, length = struct.unpack_from("<8sqq", whole)
    numbers = list(struct.unpack_from(f"<{length // 8}q", whole, 24))
    n_head, n_key = (8, 4) if patch else (7, 3)
    n = numbers[6]
    assert n >= 3
    keys = [numbers[n_head + at * (n_key + 3) :][: n_key + 3] for at in range(n)]
    states = [zlib.decompress(whole[key[n_key] :][: key[n_key + 1]]) if key[n_key + 1] else b"" for key in keys]
    end = 24 + length + sum(key[n_key + 1] for key in keys)

    def packed(numbers: list[int], states: list[bytes], rest: bytes = whole[end:]) -> Files:
        head = struct.pack(f"<{len(numbers)}q", *numbers)
        made = struct.pack("<8sqq", magic, zlib.crc32(head), len(head)) + head + b"".join(states)
        return {**files, ".idx": made + rest}

    def placed(keys: list[list[int]], states: list[bytes]) -> Files:
        at = 24 + 8 * (n_head + len(keys) * (n_key + 3))
        stored = [zlib.compress(state) if state else b"" for state in states]
        made = [*numbers[:6], len(keys), *numbers[7:n_head]]
        for key, state in zip(keys, stored, strict=True):
            made += [*key[:n_key], at, len(state), zlib.crc32(state)]
            at += len(state)
        return packed(made, stored)

    for label, made in numbers_forged(numbers):
        yield label, packed(made, [whole[24 + length : end]])
    truth = frames_of(files[""], patch)
    for label, made in (*moved(keys, truth, n_key), *shifted(keys)):
        if len(made) == n:
            yield label, placed(made, states)
            yield f"{label}, no states", placed(made, [b""] * n)
        else:
            yield label, placed(made, [states[keys.index(key)] for key in made])
    everywhere = [state.replace(b"http://e/", b"http://f/").replace(b"x", b"y") for state in states]
    assert everywhere != states
    yield "all states", placed(keys, everywhere)
    yield "states of others", placed(keys, states[1:] + states[:1])
    for k, state in enumerate(states):
        yield f"no state {k}", placed(keys, [*states[:k], b"", *states[k + 1 :]])
        for at in range(len(state)):
            other = state[:at] + bytes([state[at] ^ 1 << (at + k) % 8]) + state[at + 1 :]
            yield f"byte {at} of state {k}", placed(keys, [*states[:k], other, *states[k + 1 :]])


def forge_filters(files: Files) -> Forged:
    data = files[""]
    (length,) = struct.unpack_from("<q", data, len(data) - 16)
    end = len(data) - length
    _, n, whole, magic = _TAIL.unpack_from(data, end - _TAIL.size)
    begin = end - whole
    at = end - _TAIL.size - n
    filters, directory = data[begin:at], data[at : at + n]
    head, rows = directory[: _HEAD.size], np.frombuffer(directory, _ROW, 16, _HEAD.size)
    texts = directory[_HEAD.size + rows.nbytes + len(filters) // 512 * 4 :]

    def packed(head: bytes, rows: Any, texts: bytes, filters: bytes) -> Files:
        made = head + rows.tobytes() + checksums(filters).tobytes() + texts
        tail = _TAIL.pack(zlib.crc32(made), len(made), whole, magic)
        return {**files, "": data[:begin] + filters + made + tail + data[end:]}

    assert packed(head, rows, texts, filters) == files
    for label, made in numbers_forged(list(_HEAD.unpack(head))):
        yield f"head, {label}", packed(_HEAD.pack(*made), rows, texts, filters)
    for number in range(len(rows)):
        for name in _ROW.names or ():
            value, top = int(rows[number][name]), np.iinfo(_ROW[name]).max
            for other in sorted({value + 1, value - 1, 0, top, int(rows[number - 1][name]), value ^ 1} - {value}):
                if np.iinfo(_ROW[name]).min <= other <= top:
                    made = rows.copy()
                    made[number][name] = other
                    yield f"{name} of row {number}: {value} -> {other}", packed(head, made, texts, filters)
    for i in range(0, len(texts), 1 if LONG else 5):
        yield f"byte {i} of the texts", packed(head, rows, texts[:i] + bytes([texts[i] ^ 4]) + texts[i + 1 :], filters)
    for i in range(0, len(filters), 3):
        made = filters[:i] + bytes([filters[i] ^ 8]) + filters[i + 1 :]
        yield f"byte {i} of the filters", packed(head, rows, texts, made)


def sizes_forged(sizes: list[tuple[int, int]]) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    flat = [number for size in sizes for number in size]
    for label, made in numbers_forged(flat):
        if min(made) >= 0:
            yield label, list(zip(made[::2], made[1::2], strict=True))
    for i in range(len(sizes) - 1):
        (a, b), (c, d) = sizes[i : i + 2]
        for label, pair in (
            ("two in one", [(a + c, b + d)]), ("first has all", [(a, b + d), (c, 0)]), ("none", [(a, 0), (c, 0)]),
            ("second has all", [(a, 0), (c, b + d)]), ("swapped", [(a, d), (c, b)]),
            ("moved", [(a, b + 1), (c, d - 1)]), ("cut", [(a - 1, b), (c + 1, d)]),
        ):  # fmt: skip
            yield f"{label} at {i}", [*sizes[:i], *pair, *sizes[i + 2 :]]


def hidden(frames: list[bytes], sizes: list[tuple[int, int]]) -> Iterator[tuple[str, bytes, list[tuple[int, int]]]]:
    """Frames that the table says to hold nothing, or to be a part of the one before."""
    for i in range(len(frames) + 1):
        for k in range(len(frames)):
            for times in (1, 2):
                data = b"".join([*frames[:i], *[frames[k]] * times, *frames[i:]])
                yield f"frame {k} hidden at {i}", data, [*sizes[:i], *[(len(frames[k]), 0)] * times, *sizes[i:]]
            if i:
                a, b = sizes[i - 1]
                made = [*sizes[: i - 1], (a + len(frames[k]), b), *sizes[i:]]
                yield f"frame {k} hidden behind {i}", b"".join([*frames[:i], frames[k], *frames[i:]]), made


def forge_table(files: Files) -> Forged:
    data = files[""]
    table = FrameTable.of(lambda at, n: data[at : at + n], len(data))
    assert table is not None
    sizes = [tuple(size) for size in table.sizes().tolist()]
    ends = table.packed.tolist()
    frames = [data[a:b] for a, b in zip(ends, ends[1:], strict=False)]
    assert len(frames) >= 3
    for label, made in sizes_forged(sizes):
        if max(map(max, made)) < 1 << 32:
            yield label, {"": b"".join(frames) + pack_table(made)}
    for label, packed, made in hidden(frames, sizes):
        yield label, {"": packed + pack_table(made)}


# ---- what reads

Reads = dict[str, Callable[[Path], Any]]


def texts(batches: Any) -> list[str]:
    return [str(one) for batch in batches for one in Materializer(batch).statements()]


def opened(path: Path, use: Callable[[Any], Any]) -> Any:
    with jelly.open(path) as file:
        return use(file)


def converted(path: Path, **settings: Any) -> list[str]:
    out = path.with_name("out.nq")
    jelly.convert(path, out, **settings)
    return out.read_text().splitlines()


def rows_of(table: Any) -> list[Any]:
    return [tuple(map(str, row.values())) for row in table.to_pylist()]


def in_parts(file: Any) -> list[str]:
    """As tasks of Spark read it."""
    n = len(file.index.keyframes)
    return [text for i in range(n) for text in texts(file.batches(first=i, last=i + 1))]


def framed(frames: Any) -> list[list[str]]:
    return [[str(one) for one in frame] for frame in frames]


WHOLE: Reads = {
    "read": lambda path: [str(one) for one in jelly.read(path)],
    "open": lambda path: opened(path, lambda file: [str(one) for one in file]),
    "threads": lambda path: opened(path, lambda file: texts(file.batches(threads=3))),
    "parts": lambda path: opened(path, in_parts),
    "frames": lambda path: opened(path, lambda file: framed(file.frames())),
    "convert": lambda path: converted(path, threads=1),
    "convert, threads": lambda path: converted(path, threads=2),
    "two sources": lambda path: texts(jelly.find([path, path], g=IRI("http://e/none")).batches()),
    "arrow": lambda path: rows_of(jelly.read_arrow(path, threads=1).read_all()),
    "arrow, threads": lambda path: rows_of(jelly.read_arrow(path, threads=2).read_all()),
    "inspect": lambda path: jelly.inspect(path).statements,
    "all found": lambda path: [str(one) for one in jelly.find(path)],
    "all found in the file": lambda path: opened(path, lambda file: [str(one) for one in jelly.scan(file).filter()]),
}
SLICES = [(0, 1), (0, 6), (31, 35), (58, 62), (59, 60), (60, 61), (100, 200), (239, 240), (0, 240), (235, 300)]
SOUGHT: list[dict[str, Any]] = [
    {"s": "http://e/1/2"}, {"p": "http://e/p#3"}, {"o": Literal("17")}, {"g": IRI("http://e/g/4")}, {"s": "http://e/none"},
]  # fmt: skip
PARTS: Reads = {
    **{
        f"{a}:{b}": lambda path, a=a, b=b: opened(path, lambda file: [str(one) for one in file[a:b]]) for a, b in SLICES
    },
    **{str(i): lambda path, i=i: opened(path, lambda file: str(file[i])) for i in (0, 59, 60, 130, -1)},
    "length": lambda path: opened(path, lambda file: (len(file), file.n_frames)),
    "some frames": lambda path: opened(path, lambda file: framed(file.frames(3, 6))),
    "part of arrow": lambda path: rows_of(jelly.read_arrow(path, start=50, stop=70).read_all()),
    **{
        f"find {terms}": lambda path, terms=terms: [str(one) for one in jelly.find(path, **terms)] for terms in SOUGHT
    },
}


def patches_of(patches: Any) -> list[str]:
    return [" ".join(map(str, patch)) for patch in patches]


def patch_file(path: Path, use: Callable[[Any], Any]) -> Any:
    with jelly.open(path) as file:
        return use(file)


def patches_converted(path: Path, **settings: Any) -> str:
    out = path.with_name("out.rdfp")
    jelly.convert(path, out, **settings)
    return out.read_text()


PATCHES: Reads = {
    "read": lambda path: patches_of(jelly.patch.read_patches(path)),
    "open": lambda path: patch_file(path, patches_of),
    "threads": lambda path: patch_file(
        path, lambda file: patches_of(jelly.patch._patch.split_patches(file.batches(threads=3), lambda: False))
    ),
    "convert": lambda path: patches_converted(path, threads=1),
    "convert, threads": lambda path: patches_converted(path, threads=2),
}
SOME_PATCHES: Reads = {
    **{
        f"{a}:{b}": lambda path, a=a, b=b: patch_file(path, lambda file: patches_of(file[a:b]))
        for a, b in [(0, 1), (3, 9), (10, 11), (20, 40), (59, 60), (0, 60)]
    },
    "last": lambda path: patch_file(path, lambda file: patches_of([file[-1]])),
    "length": lambda path: patch_file(path, lambda file: (len(file), file.operations)),
}

# By name: what makes the files, the name of the first, what forges them, whether they are patches.
KINDS: dict[str, tuple[Callable[..., Files], str, Callable[..., Forged], bool]] = {
    "index": (with_index, "a.jelly", forge_index, False),
    "sidecar": (with_sidecar, "a.jelly", forge_sidecar, False),
    "index of columns": (partial(with_index, options=COLUMNS), "a.jelly", forge_index, False),
    "sidecar of columns": (
        partial(with_sidecar, options={**COLUMNS, "numbering": "P"}), "a.jelly", forge_sidecar, False,
    ),
    "sidecar of restated columns": (restating, "a.jelly", forge_sidecar, False),
    "filters": (partial(with_index, index="terms"), "a.jelly", forge_filters, False),
    "table of zstd": (with_index, "a.jelly.zst", forge_table, False),
    "index of patches": (patches_with_index, "a.jellyp", partial(forge_index, patch=True), True),
    "sidecar of patches": (patches_with_sidecar, "a.jellyp", partial(forge_sidecar, patch=True), True),
}


def tried(read: Callable[[Path], Any], path: Path) -> Any:
    try:
        return read(path)
    except JellyError as error:
        return error


@pytest.mark.parametrize("kind", KINDS)
def test_forged(tmp_path: Path, kind: str) -> None:
    make, name, forge, is_patch = KINDS[kind]
    path = tmp_path / name
    files = make(path)
    whole, parts = (PATCHES, SOME_PATCHES) if is_patch else (WHOLE, PARTS)
    validate = jelly.validate
    expected = {name: read(path) for name, read in {**whole, **parts}.items()}
    assert validate(path) == []
    if not is_patch:
        assert expected["open"] == expected["read"] == expected["parts"]
        # The last frame had the index and, in columns, statements.
        n = 225 if kind == "sidecar of restated columns" else 240
        assert expected["read"] == [str(one) for one in STATEMENTS[:n]]
    else:
        assert expected["open"] == expected["read"] == patches_of(patches())
    said = list(forge(files))
    chance = random.Random(kind)
    if not LONG:
        said = chance.sample(said, SAMPLE)
    # What gives texts of statements, and so can be compared with a plain read of another stream.
    alike = [step for step in whole if expected[step] == expected["read"]]
    deceived = 0
    for label, made in said:
        for suffix, data in made.items():
            path.with_name(name + suffix).write_bytes(data)
        truth = expected
        if "hidden" in label:  # these frames are in the stream, too
            plain = tried(whole["read"], path)
            truth = dict.fromkeys(alike, plain)
        problems = None
        for step, read in (whole | parts).items():
            found = tried(read, path)
            if isinstance(found, JellyError) or found == truth.get(step):
                continue
            if step in whole:
                assert step not in truth, (label, step, found)
                continue
            problems = validate(path) if problems is None else problems
            assert problems, (label, step, found, truth.get(step))
            deceived += 1
            if ":" in step and "find" not in step:
                first, last = map(int, step.split(":"))
                assert len(found) <= last - first, (label, step)
    print(kind, len(said), "forged,", deceived, "parts were deceived")


@pytest.mark.parametrize("to", [5, 30, 59, 61, 90])
def test_a_slice_counts_its_segment(tmp_path: Path, to: int) -> None:
    """The second segment begins at statement 60. Slices and frames that need the one before or itself are errors."""
    path = tmp_path / "a.jelly"
    files = with_index(path)
    path.write_bytes(with_statement(files, to)[""])
    with jelly.open(path) as file:
        assert file.index.keyframes[1].statement == to
        for wanted in (slice(0, 1), slice(0, 6), slice(0, 120), slice(100, 119), slice(to - 1, to + 1)):
            with pytest.raises(JellyError, match="does not fit"):
                file[wanted]
        with pytest.raises(JellyError, match="does not fit"):
            list(file.frames(0, 1))
        # What is given before the error is no more than was asked for.
        given = []
        with pytest.raises(JellyError, match="does not fit"):
            given += [high - low for _, low, high in file.rows(0, 6)]
        assert sum(given) <= 6
        assert [str(one) for one in file[180:185]] == [str(one) for one in STATEMENTS[180:185]]


def with_statement(files: Files, to: int) -> Files:
    """With another number of the first statement of the second segment."""
    data = files[""]
    _, length, magic = struct.unpack("<qq8s", data[-24:])
    body = bytearray(data[-length:-24])
    struct.pack_into("<q", body, 8 * 7, to)
    return {"": data[:-length] + body + struct.pack("<qq8s", zlib.crc32(body), length, magic)}


def test_a_namespace_at_a_keyframe_has_its_own_graph() -> None:
    """In the stream it would be in the graph before. A stream may begin so, but no keyframe."""
    options = jelly.patch.PatchOptions(statement_type=2, stream_type=3)
    begin = Decoder(patch=True)
    [batch] = begin.feed(frame(pc.options(), pc.namespace_delete("n"), pc.punctuation()))
    assert batch.g[0] == -1
    decoder = Decoder(patch=True, delimited=True, options=options, place=4)
    with pytest.raises(JellyError, match="graph"):
        list(decoder.feed(frame(pc.namespace_delete("n"), pc.punctuation())))


@pytest.mark.parametrize("numbering", ["S", "P"])
def test_a_keyframe_in_columns_restates_the_options(numbering: str) -> None:
    """What they say may have changed since those of the first frame, so one that refers to nothing is none."""
    data = jelly.dumps(STATEMENTS[:1], options={"version": 3, "numbering": numbering})
    options = jelly.read_options(data)
    with pytest.raises(JellyError, match="not a keyframe"):
        list(Decoder(delimited=True, options=options).feed(b"\0"))  # an empty frame
    decoder = Decoder(delimited=True, options=options)
    assert [len(batch) for batch in [*decoder.feed(data), *decoder.close()]] == [1]


def test_states_that_another_version_saved_may_be_other_bytes(tmp_path: Path) -> None:
    """They are compared by what they say: here an entry is told twice."""
    path = tmp_path / "a.jelly"
    files = with_sidecar(path)
    whole = files[".idx"]
    magic, _, length = struct.unpack_from("<8sqq", whole)
    numbers = list(struct.unpack_from(f"<{length // 8}q", whole, 24))
    out, at = b"", 24 + length
    for k in range(7, len(numbers), 6):
        state = zlib.decompress(whole[numbers[k + 3] :][: numbers[k + 4]])
        # The last id and the first entry: its id, its length, its text.
        twice = state[:1] + state[1 : 3 + state[2]] + state[1:]
        assert twice != state
        packed = zlib.compress(twice)
        numbers[k + 3 : k + 6] = at, len(packed), zlib.crc32(packed)
        out, at = out + packed, at + len(packed)
    head = struct.pack(f"<{len(numbers)}q", *numbers)
    path.with_name("a.jelly.idx").write_bytes(struct.pack("<8sqq", magic, zlib.crc32(head), length) + head + out)
    with jelly.open(path) as file:
        assert [str(one) for one in file] == [str(one) for one in STATEMENTS]
    assert jelly.validate(path) == []


def test_what_is_damaged_is_a_problem(tmp_path: Path) -> None:
    """Nobody uses it, and reading warns; `validate` tells."""
    path = tmp_path / "a.jelly"
    data = bytearray(with_index(path)[""])
    data[-30] ^= 1
    path.write_bytes(data)
    assert ["checksum" in problem.message for problem in jelly.validate(path)] == [True]
    beside = tmp_path / "b.jelly"
    files = with_sidecar(beside)
    for at in (0, 30):
        made = bytearray(files[".idx"])
        made[at] ^= 1
        beside.with_name("b.jelly.idx").write_bytes(made)
        assert ["cannot be used" in problem.message for problem in jelly.validate(beside)] == [True]


@pytest.mark.parametrize("width", range(7, 13))
def test_filters_are_asked_for_many_keys_as_for_one(width: int) -> None:
    chance = np.random.default_rng(width)
    keys = np.unique(chance.integers(0, 1 << 64, 3000, np.uint64))
    data, seed, length, blocks = fuse_filter(keys, width)
    filters = alone(Row(2, 0, width, length.bit_length() - 1, blocks, len(keys), len(data), 0, 0, 0, seed), data)
    assert filters._hold(np.zeros(len(keys), int), keys).all()
    others = chance.integers(0, 1 << 64, 2000, np.uint64)
    one_by_one = [bool(filters._hold(np.zeros(1, int), others[i : i + 1])[0]) for i in range(len(others))]
    assert filters._hold(np.zeros(len(others), int), others).tolist() == one_by_one
    assert not all(one_by_one)
