"""Which files there are, how they become tasks, how a task is read: no Spark needed."""

from __future__ import annotations

import gzip
import os
import pickle
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from readings import narrowed, read_part, split

import jelly
from jelly._dataset.blank_node_scope import KEEP
from jelly._dataset.conditions.where import where
from jelly._dataset.seekable.file import query_of
from jelly._dataset.seekable.sidecar import make_sidecar
from jelly.spark._parts import Part
from jelly.spark._parts.files import File, find_files

pytest.importorskip("fsspec")


def numbers(n: int, graph: bool = False) -> Iterator[Any]:
    p, g = jelly.IRI("http://example.org/p"), jelly.IRI("http://example.org/g")
    for i in range(n):
        terms = (jelly.IRI(f"http://example.org/s{i // 10}"), p, jelly.Literal(str(i)))
        yield jelly.Quad(*terms, g) if graph else jelly.Triple(*terms)


def objects(tasks: list[list[Part]], **settings: Any) -> list[int]:
    """The numbers in some tasks, in order."""
    return [
        int(value)
        for task in tasks
        for part in task
        for batch in read_part(part, columns=["object"], **settings)
        for value in batch.column(0).to_pylist()
    ]


def names(files: list[File]) -> list[str]:
    return [file.name for file in files]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    hidden = ("_temporary/x/d.jelly", ".hidden/e.jelly", "_SUCCESS", ".f.jelly")
    for name in ("a.jelly", "b.jelly", "sub/c.jelly", *hidden):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jelly.dumps(numbers(3)))
    (tmp_path / "a.jelly.idx").write_bytes(b"x")
    return tmp_path


def test_directories_behind_links_are_searched(tmp_path: Path) -> None:
    for name in ("in/x", "out/deep"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "a.nt").write_text("<a:s> <a:p> <a:o> .\n")
    for link, target in (
        ("in/away", "out"), ("in/x/up", "in"), ("in/x/further", ""), ("out/deep/back", "in"), ("out/deep/round", "out"),
        ("in/x/gone", "nowhere"),
    ):  # fmt: skip
        (tmp_path / link).symlink_to(tmp_path / target, target_is_directory=True)
    found = [str(Path(file.path).relative_to(tmp_path / "in")) for file in find_files(tmp_path / "in")]
    assert found == ["away/deep/a.nt", "x/a.nt"]
    assert [file.path for file in find_files(f"{tmp_path}/in/")] == [file.path for file in find_files(tmp_path / "in")]


def test_a_directory_is_searched_at_any_depth_without_what_is_hidden(tree: Path) -> None:
    found = find_files(tree)
    assert names(found) == ["a.jelly", "b.jelly", "c.jelly"]
    stat = (tree / "a.jelly").stat()
    assert found[0] == File(str(tree / "a.jelly"), stat.st_size, stat.st_mtime)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("*.jelly", ["a.jelly", "b.jelly"]),
        ("[b-z]*.jelly", ["b.jelly"]),
        ("**/*.jelly", ["a.jelly", "b.jelly", "c.jelly"]),
        ("s*", ["c.jelly"]),
        ("_temporary/x/d.jelly", ["d.jelly"]),
    ],
)
def test_paths_and_patterns(tree: Path, path: str, expected: list[str]) -> None:
    assert names(find_files(tree / path)) == expected
    assert names(find_files(f"file:{tree}/{path}")) == expected
    assert names(find_files(f"file://{tree}/{path}")) == expected


def test_a_file_is_read_once_and_names_can_be_chosen(tree: Path) -> None:
    assert names(find_files([tree / "b.jelly", tree, tree / "a.jelly"])) == ["b.jelly", "a.jelly", "c.jelly"]
    assert names(find_files(tree, pattern="[bc].jelly")) == ["b.jelly", "c.jelly"]


@pytest.mark.parametrize("path", ["nothing.jelly", "nothing*", "no/where/"])
def test_a_missing_path_is_named(tree: Path, path: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"PATH_NOT_FOUND.*n[o]"):
        find_files([tree, tree / path])


def test_a_name_with_magic_characters_is_a_name_first(tmp_path: Path) -> None:
    (tmp_path / "x[1].jelly").write_bytes(b"")
    assert names(find_files(tmp_path / "x[1].jelly")) == ["x[1].jelly"]
    (tmp_path / "empty").mkdir()
    assert find_files(tmp_path / "empty") == []


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("indexed", ["index", "index.zst", "sidecar"])
def test_a_file_with_an_index_becomes_many_parts(tmp_path: Path, indexed: str, graph: bool) -> None:
    path = tmp_path / indexed.replace("index", "n.jelly").replace("sidecar", "n.jelly")
    if indexed.startswith("index"):
        jelly.write(path, numbers(10_000, graph), seekable=True, keyframe_rows=200)
    else:
        jelly.write(path, numbers(10_000, graph), seekable=False)
        make_sidecar(path, distance=500, chunk=1000)
    with jelly.open(path) as file:
        size = file.index.size  # of what a compressed file holds
    for n in (1, 2, 5):
        tasks = split(find_files(path), -(-size // n))
        assert [len(task) for task in tasks] == [1] * n
        rows = [len(objects([task])) for task in tasks]
        assert min(rows) > 0.7 * max(rows)
        assert objects(tasks) == list(range(10_000))
    for (part,) in tasks:
        assert pickle.loads(pickle.dumps(part)) == part
        assert len(pickle.dumps(part)) < 500
        # Reading again gives the same.
        assert objects([[part]]) == objects([[part]])


def test_a_file_without_an_index_is_one_part(tmp_path: Path) -> None:
    path = tmp_path / "n.jelly"
    jelly.write(path, numbers(2000), seekable=False)
    assert split(find_files(path), 100) == [[Part(*find_files(path))]]
    make_sidecar(path, distance=100, chunk=500)
    # A later index is seen.
    assert len(split(find_files(path), 1000)) > 1


def test_small_files_share_a_task(tmp_path: Path) -> None:
    for i in range(20):
        (tmp_path / f"{i:02}.nt").write_bytes(b'<a:s> <a:p> "%02d" .\n' % i)
    size = (tmp_path / "00.nt").stat().st_size
    tasks = split(find_files(tmp_path), 7 * size)
    assert [len(task) for task in tasks] == [7, 7, 6]
    assert objects(tasks) == list(range(20))
    (tmp_path / "-.nt").write_bytes(b"")
    assert [len(task) for task in split(find_files(tmp_path), 7 * size)] == [8, 7, 6]
    compressed = tmp_path / "gz"
    compressed.mkdir()
    for i in range(4):
        (compressed / f"{i}.nt.gz").write_bytes(gzip.compress(b'<a:s> <a:p> "%d" .\n' % i))
    size = (compressed / "0.nt.gz").stat().st_size
    assert [len(task) for task in split(find_files(compressed), 16 * size)] == [2, 2]
    assert objects(split(find_files(compressed))) == [0, 1, 2, 3]


def test_plans_need_a_size() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        split([], 0)


def test_a_file_that_changed_after_planning_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "n.jelly"
    jelly.write(path, numbers(5000), seekable=True, keyframe_rows=500)
    tasks = split(find_files(path), 5000)
    assert len(tasks) > 1
    jelly.write(path, numbers(9000), seekable=True, keyframe_rows=500)
    with pytest.raises(jelly.JellyFormatError, match=r"has changed since.*n\.jelly"):
        objects(tasks)


# ---- errors

def test_errors_name_the_file_or_are_noted(tmp_path: Path) -> None:
    good = jelly.dumps(numbers(10))
    (tmp_path / "a.jelly").write_bytes(good)
    (tmp_path / "b.jelly").write_bytes(good[:-5])
    (tmp_path / "c.nt").write_bytes(b'<a:s> <a:p> "1" .\nwrong\n<a:s> <a:p> "2" .\n')
    (tmp_path / "d.txt").write_bytes(b"a list of things to buy")
    (tmp_path / "e.nt.gz").write_bytes(gzip.compress(b'<a:s> <a:p> "3" .\n' * 9999)[:-20])
    tasks = split(find_files(tmp_path))
    for name, kind in (("b", jelly.JellyTruncatedError), ("c", jelly.JellySyntaxError), ("d", jelly.JellyError)):
        [file] = [file for file in find_files(tmp_path) if file.name.startswith(name)]
        with pytest.raises(kind, match=rf"{name}\.\w+"):
            objects([[Part(file)]])
    errors: list[jelly.JellyError] = []
    read = objects(tasks, errors=errors)
    assert read[:10] == list(range(10))
    assert set(read[10:]) == {1, 2, 3}
    assert [os.path.basename(error.source or "") for error in errors] == ["b.jelly", "c.nt", "d.txt", "e.nt.gz"]
    assert errors[0].offset is not None
    assert errors[1].line == 2


def test_after_an_error_reading_goes_on_at_the_next_keyframe(tmp_path: Path) -> None:
    path = tmp_path / "n.jelly"
    jelly.write(path, numbers(10_000), seekable=True, keyframe_rows=1000)
    data = bytearray(path.read_bytes())
    with jelly.open(path) as file:
        second, third = file.index.keyframes[1:3]
    data[second.offset + 4 : second.offset + 40] = b"\xff" * 36
    path.write_bytes(data)
    tasks = split(find_files(path), len(data) // 2)
    with pytest.raises(jelly.JellyFormatError):
        objects(tasks)
    errors: list[jelly.JellyError] = []
    assert objects(tasks, errors=errors) == [*range(second.statement), *range(third.statement, 10_000)]
    assert len(errors) == 1
    assert second.offset <= (errors[0].offset or 0) < third.offset


def test_a_layout_that_does_not_fit_is_always_an_error(tmp_path: Path) -> None:
    path = tmp_path / "n.jelly"
    options = jelly.StreamOptions(generalized_statements=True)
    jelly.write(path, [jelly.Triple(jelly.Literal("x"), jelly.IRI("a:p"), jelly.Literal("y"))], options)  # type: ignore[arg-type]
    with pytest.raises(jelly.JellyUnsupportedError, match=r"n\.jelly"):
        list(read_part(Part(*find_files(path)), errors=[]))


# ---- other file systems

def test_memory(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    path = tmp_path / "n.jelly"
    jelly.write(path, numbers(5000), seekable=True, keyframe_rows=500)
    memory.pipe("/plan/day/n.jelly", path.read_bytes())
    memory.pipe("/plan/_SUCCESS", b"")
    memory.pipe("/plan/_temporary/1/x.jelly", b"bad")
    memory.pipe("/plan/m.nt", b'<a:s> <a:p> "5000" .\n')
    try:
        for place in ("memory://plan", "memory://plan/*", "memory:///plan/"):
            files = find_files(place)
            assert names(files) == (["m.nt"] if "*" in place else ["n.jelly", "m.nt"]), place
            assert files[-1].mtime > 0
        files = find_files(["memory://plan/day/n.jelly", "memory://plan/m.nt"])
        assert files[0].size == path.stat().st_size
        tasks = split(files, 8000)
        assert len(tasks) > 2
        assert objects(tasks) == list(range(5001))
        # The sidecar stands beside the file there too.
        jelly.write(path, numbers(5000), seekable=False)
        make_sidecar(path, distance=500, chunk=500)
        memory.pipe("/plan/day/n.jelly", path.read_bytes())
        memory.pipe("/plan/day/n.jelly.idx", (tmp_path / "n.jelly.idx").read_bytes())
        tasks = split(find_files("memory://plan/day"), 8000)
        assert len(tasks) > 2
        assert objects(tasks) == list(range(5000))
        with pytest.raises(FileNotFoundError, match="memory://plan/nothing"):
            find_files("memory://plan/nothing")
    finally:
        memory.rm("/plan", recursive=True)


class Handler(SimpleHTTPRequestHandler):
    """Serves files, and parts of them, as the one of the standard library does not."""

    asked: list[tuple[int, int]]

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        path = Path(self.translate_path(self.path))
        if wanted is None or not path.is_file():
            super().do_GET()
            return
        data = path.read_bytes()
        low, _, high = wanted.removeprefix("bytes=").partition("-")
        start, stop = int(low), min(int(high or len(data)) + 1, len(data))
        self.asked.append((start, stop))
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(data)}")
        self.send_header("Content-Length", str(stop - start))
        self.end_headers()
        self.wfile.write(data[start:stop])

    def end_headers(self) -> None:
        self.send_header("Accept-Ranges", "bytes")
        super().end_headers()

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def web(tmp_path: Path) -> Iterator[tuple[str, type[Handler]]]:
    handler = type("Fresh", (Handler,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(tmp_path))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", handler
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", ["n.jelly", "n.jelly.zst"])
def test_a_web_server_is_asked_for_ranges(tmp_path: Path, web: tuple[str, type[Handler]], name: str) -> None:
    url, handler = web
    (tmp_path / "data").mkdir()
    jelly.write(tmp_path / "data" / name, numbers(200_000), seekable=True, keyframe_rows=20_000)
    storage = {"block_size": 1 << 12}
    files = find_files(f"{url}/data/{name}", storage=storage)
    size = (tmp_path / "data" / name).stat().st_size
    assert (files[0].size, files[0].mtime > 0) == (size, True)
    assert files == find_files(f"{url}/data/", storage=storage)
    with jelly.open(tmp_path / "data" / name) as file:
        whole = file.index.size
    # A byte of a compressed file is taken for 8, before it is opened.
    tasks = split(files, min(whole // 3, 8 * size - 1), storage=storage)
    assert len(tasks) in (3, 4)
    handler.asked.clear()
    last = objects([tasks[-1]], storage=storage)
    assert last[-1] == 199_999
    assert sum(stop - start for start, stop in handler.asked) < 0.6 * size
    assert objects(tasks, storage=storage) == list(range(200_000))
    with pytest.raises(FileNotFoundError, match="nothing"):
        find_files(f"{url}/data/nothing.jelly")


# ---- filters in the index

@pytest.mark.parametrize("suffix", ["", ".zst"])
@pytest.mark.parametrize("mode", ["in the file", "in the sidecar"])
def test_filters_leave_parts_of_files_out(
    tmp_path: Path, mode: str, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if suffix and mode == "in the sidecar":
        pytest.skip("one frame has no places")
    path = tmp_path / f"n.jelly{suffix}"
    jelly.write(path, numbers(20_000), keyframe_rows=1000, **{"index": "terms"} if mode == "in the file" else {})
    if mode == "in the sidecar":
        make_sidecar(path, terms=True, distance=1000, chunk=4096)
    (tmp_path / "other.nt").write_bytes(b"<a:s> <a:p> <a:o> .\n")
    files = find_files(tmp_path)
    seen: list[int] = []
    whole = jelly.JellyFile._read
    monkeypatch.setattr(jelly.JellyFile, "_read", lambda file, key: seen.append(key[0].statement) or whole(file, key))
    for name, value, wanted in (
        ("subject", "http://example.org/s777", range(7770, 7780)), ("object", "12345", [12345]), ("object", "none", []),
    ):  # fmt: skip
        condition = where(name, [value])
        assert condition is not None
        for tasks in (split(files, 20_000), split(files)):
            kept = narrowed(tasks, query_of(condition, KEEP))
            jelly_parts = [part for task in kept for part in task if part.file.name == path.name]
            assert len(jelly_parts) == bool(wanted)
            assert len(kept) <= 2
            for some in (kept, tasks):
                seen.clear()
                assert objects(some, keep=condition) == list(wanted)
                assert len(seen) <= 2
    # Segments are left out of each part: with what is broken elsewhere, too.
    assert objects(split(files), keep=where("object", ["5", "15000"]), errors=[]) == [5, 15000]
    # A graph that a directory tells is not in the file.
    condition = where("graph", ["a:g"])
    tasks = [[Part(part.file, part.first, part.last, (("g", (1, "a:g")),)) for part in task] for task in split(files)]
    assert narrowed(tasks, query_of(condition, KEEP)) == tasks


def test_filters_of_many_files_are_left_to_their_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(3):
        jelly.write(tmp_path / f"{i}.jelly", numbers(100), index="terms")
    tasks = split(find_files(tmp_path))
    query = query_of(where("object", ["none"]), KEEP)
    assert narrowed(tasks, query) == []
    monkeypatch.setattr("jelly.spark._parts._MAX_NARROWED", 2)
    assert narrowed(tasks, query) == tasks
    assert objects(tasks, keep=where("object", ["none"])) == []
