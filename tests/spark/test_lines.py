"""N-Triples and N-Quads text in parts: every line is in one part, wherever the file is cut. No Spark needed."""

from __future__ import annotations

import gzip
import io
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from readings import read_part, split
from support.chance import examples
from test_plan import Handler, web  # noqa: F401 - a fixture

import jelly
from jelly._dataset.blank_node_scope import BlankNodes
from jelly.spark._ingest.tasks import DirectoryTasks, task_parts
from jelly.spark._jobs import _count
from jelly.spark._parts import Part, Reading
from jelly.spark._parts.files import find_files
from jelly.spark._parts.lines import Lines, cut_evenly
from jelly.spark._store import store_of
from jelly.stats import stats

LINES = [
    b"<a:s> <a:p> <a:o> .",
    b'<a:s> <a:p> "two words" . # why',
    b"# a comment <a:s> <a:p> <a:o> .",
    b"",
    b"  \t",
    b"_:b0 <a:p> _:b1 .",
    b'<a:s> <a:p> "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"@fr .',
    b'<a:s> <a:p> "' + b"long " * 30 + b'" .',
    b'<a:s> <a:p> "1\\n2" .',
]
ENDS = [b"\n", b"\r\n", b"\r", b"\n\n", b"\n\r"]
texts = st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(ENDS)), max_size=8).flatmap(
    lambda lines: st.tuples(
        st.sampled_from([b"", b"\xef\xbb\xbf"]),
        st.just(b"".join(line + end for line, end in lines)),
        st.sampled_from([b"", *LINES]),
    ).map(b"".join)
)


def rows(path: Path, parts: list[Part] | None = None, **settings: Any) -> list[Any]:
    found = parts or [Part(*find_files(path))]
    batches = (batch for part in found for batch in read_part(part, layout="ntriples", **settings))
    return [row for batch in batches for row in batch.to_pylist()]


@given(texts)
@example(b"\xef\xbb\xbf")
@example(b"\r\n\r\n")
def test_a_line_is_in_one_part_wherever_it_is_cut(text: bytes) -> None:
    for cut in range(1, len(text)):
        first, second = Lines(io.BytesIO(text), 0, cut), Lines(io.BytesIO(text), cut, None)
        before, after = b"".join(first), b"".join(second)
        assert before + after == text
        assert not after or second.start == len(before)
        # The part before the cut ends with a line, and with the first one that it can.
        assert not after or before.endswith((b"\n", b"\r"))
        assert not set(before[cut - 1 : -1]) & set(b"\r\n")


@examples(50)
@given(texts, st.data())
def test_parts_have_the_statements_of_the_whole(tmp_path_factory: Any, text: bytes, data: Any) -> None:
    path = tmp_path_factory.mktemp("lines") / "x.nt"
    path.write_bytes(text)
    [file] = find_files(path)
    labels = BlankNodes()
    whole = rows(path, blank_nodes=labels)
    for cut in range(1, len(text)):
        assert rows(path, [Part(file, 0, cut), Part(file, cut)], blank_nodes=labels) == whole
    cuts = sorted(data.draw(st.sets(st.integers(1, max(len(text) - 1, 1)))) | {0})
    parts = [Part(file, *pair) for pair in zip(cuts, [*cuts[1:], None], strict=True)]
    assert rows(path, parts, blank_nodes=labels) == whole


def test_lines_longer_than_reads_and_parts(tmp_path: Path) -> None:
    """Some are longer than a part, some than what is read at once; line ends stand at the limits of reads."""
    path = tmp_path / "x.nq"
    lengths = (10, 1 << 16, 70_000, (1 << 20) - 30, 1 << 20, 3_000_000, 5, 1)
    path.write_bytes(b"\r\n".join(b'<a:s> <a:p> "%s" <a:g> .' % (b"x" * n) for n in lengths))
    for split_bytes in (1 << 16, 65_537, 1 << 20, 4_000_000):
        tasks = split(find_files(path), split_bytes)
        assert len(tasks) > 1
        parts = [part for task in tasks for part in task]
        assert [len(row["o"]) - 2 for row in rows(path, parts)] == list(lengths)


def test_text_is_cut_into_tasks(tmp_path: Path) -> None:
    path = tmp_path / "n.nt"
    path.write_bytes(b"".join(b'<a:s> <a:p> "%d" .\n' % i for i in range(10_000)))
    size = path.stat().st_size
    tasks = split(find_files(path), size // 4 + 1)
    cuts = cut_evenly(size, size // 4 + 1)
    assert [(part.first, part.last) for [part] in tasks] == list(zip(cuts, [*cuts[1:], None], strict=True))
    assert len(tasks) == 4
    read = [[row["o"] for row in rows(path, task)] for task in tasks]
    assert sum(read, []) == [f'"{i}"' for i in range(10_000)]
    assert min(map(len, read)) > 2000
    # Not into tasks of a line.
    assert len(split(find_files(path), 1)) == -(-size // 4096)
    # What cannot be cut, or need not be.
    assert len(split(find_files(path), size)) == 1
    assert len(split(find_files(path), 1000, cut_lines=False)) == 1
    assert len(split(find_files(path), 1000, format="ttl")) == 1
    for name in ("n.nt.gz", "packed.nt"):
        (tmp_path / name).write_bytes(gzip.compress(path.read_bytes()))
        assert len(split(find_files(tmp_path / name), 1000)) == 1
        assert len(rows(tmp_path / name)) == 10_000


def test_errors_tell_the_byte_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "n.nt"
    good = b"<a:s> <a:p> <a:o> .\n"
    path.write_bytes(good * 100 + b"wrong\n" + good * 100 + b"<a:s> wrong\n" + good)
    [file] = find_files(path)
    [whole] = [part for task in split([file]) for part in task]
    first, second = 2000, 4006 + 6
    for cut in (1, 500, 1999, 2000, 2001, 2004, 3000):
        parts = [Part(file, 0, cut), Part(file, cut)]
        begins = cut > first
        errors: list[jelly.JellyError] = []
        assert len(rows(path, parts, errors=errors)) == 201
        assert [(error.offset, error.source) for error in errors] == [(first, str(path)), (second, str(path))]
        assert [error.line for error in errors] == ([101, None] if begins else [None, None])
        with pytest.raises(jelly.JellySyntaxError) as caught:
            rows(path, parts)
        assert (caught.value.offset, caught.value.line) == (first, 101 if begins else None)
    # As for the whole file.
    with pytest.raises(jelly.JellySyntaxError) as caught:
        rows(path, [whole])
    assert (caught.value.offset, caught.value.line) == (first, 101)


def test_what_looks_like_another_format_is_told(tmp_path: Path) -> None:
    path = tmp_path / "n.nt"
    path.write_bytes(b"@prefix ex: <http://example.org/> .\n" * 1000)
    [task, *_] = split(find_files(path), 1000)
    with pytest.raises(jelly.JellySyntaxError, match="it looks like Turtle"):
        rows(path, task)


def test_a_file_that_changed_after_planning_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "n.nt"
    path.write_bytes(b"<a:s> <a:p> <a:o> .\n" * 1000)
    tasks = split(find_files(path), 5000)
    path.write_bytes(b"<a:s> <a:p> <a:o> .\n" * 1001)
    for errors in (None, []):
        with pytest.raises(jelly.JellyFormatError, match=r"has changed since.*n\.nt"):
            rows(path, tasks[1], errors=errors)


def test_counts_of_parts_are_those_of_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "n.nq"
    path.write_bytes(b"".join(b'<a:s%d> <a:p%d> _:b%d <a:g> .\n' % (i, i % 7, i % 9) for i in range(3000)))
    tasks = split(find_files(path), 9000)
    assert len(tasks) > 5
    counted, errors = _count(Reading(blank_nodes=BlankNodes("keep")), 1000, tasks[0])
    for task in tasks[1:]:
        counted.merge(_count(Reading(blank_nodes=BlankNodes("keep")), 1000, task)[0])
    whole = stats(path)
    made = counted.result(20)
    assert (made.statements, made.predicates.top) == (whole.statements, whole.predicates.top)
    assert not errors


def test_the_journal_knows_parts_of_text(tmp_path: Path) -> None:
    path = tmp_path / "n.nt"
    path.write_bytes(b"<a:s> <a:p> <a:o> .\n" * 1000)
    plan = split(find_files(path), 5000)
    other = split(find_files(path), 7000)
    journal = DirectoryTasks(store_of(str(tmp_path / "out"), {}), {"sort": [], "blank_nodes": "scope"})

    def done(task: list[Part]) -> None:
        journal.commit({"task": f"{task[0].first}", "parts": task_parts(task), "files": [], "staged": [], "errors": []})

    done(plan[0])
    assert journal.missing(plan) == plan[1:]
    assert journal.changed(plan) == []
    assert journal.changed(other) == [str(path)]  # cut elsewhere: it is done again
    for task in plan[1:]:
        done(task)
    assert journal.missing(plan) == journal.missing(other) == []
    assert journal.changed(other) == []  # it is all there


# ---- other file systems

def test_memory(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe("/lines/n.nt", b"".join(b'<a:s> <a:p> "%d" .\n' % i for i in range(5000)))
    try:
        files = find_files("memory://lines")
        parts = [part for task in split(files, 9000) for part in task]
        assert len(parts) > 5
        assert [row["o"] for row in rows(tmp_path, parts)] == [f'"{i}"' for i in range(5000)]
    finally:
        memory.rm("/lines", recursive=True)


def test_a_web_server_is_asked_for_ranges(tmp_path: Path, web: tuple[str, type[Handler]]) -> None:  # noqa: F811
    url, handler = web
    path = tmp_path / "n.nt"
    path.write_bytes(b"".join(b'<a:s> <a:p> "%d" .\n' % i for i in range(200_000)))
    storage = {"block_size": 1 << 14}
    files = find_files(f"{url}/n.nt", storage=storage)
    size = path.stat().st_size
    tasks = split(files, size // 3, storage=storage)
    assert len(tasks) == 4
    handler.asked.clear()
    last = rows(path, tasks[-1], storage=storage)
    assert last[-1]["o"] == '"199999"'
    assert sum(stop - start for start, stop in handler.asked) < 0.3 * size
    assert len(rows(path, [part for task in tasks for part in task], storage=storage)) == 200_000


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A web server without ranges."""
    monkeypatch.setattr(Handler, "do_GET", SimpleHTTPRequestHandler.do_GET)
    monkeypatch.setattr(Handler, "end_headers", SimpleHTTPRequestHandler.end_headers)


def test_a_web_server_without_ranges_gives_the_whole(
    tmp_path: Path, plain: None, web: tuple[str, type[Handler]]  # noqa: F811
) -> None:
    url, _ = web
    path = tmp_path / "n.nt"
    path.write_bytes(b"<a:s> <a:p> <a:o> .\n" * 1000)
    files = find_files(f"{url}/n.nt")
    tasks = split(files, 5000)
    assert len(tasks) == 1
    assert len(rows(path, tasks[0])) == 1000
