"""Jobs that are killed (kill -9) inside a write, locally and on S3: nothing is lost, doubled or half seen.

JELLY_LONG=1 kills them in all moments, else in some.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as parquet
import pytest
import store_jobs
from cluster import TESTS, wait_for
from deltalake.exceptions import TableNotFoundError
from object_store import SECRET, Proxy

import jelly
from jelly.spark import _ingest as room
from jelly.spark import _store as swapping
from jelly.spark._parts.files import find_files, open_file
from jelly.spark._store import SUCCESS, Store, store_of

LONG = bool(os.environ.get("JELLY_LONG"))
LIMIT = 600  # seconds that a process may take on a busy machine

# Where a request to S3, or a call of the local store, is the nth of its kind.
COPY = r"PUT (?!.*_temporary).*/part-"
S3_MOMENTS = [
    ("an upload", r"PUT .*_temporary/.*part-", 2),
    ("a marker", r"PUT .*/_commit-", 1),
    ("the first copy", COPY, 1),
    ("a later copy", COPY, 2),
]
INGEST_MOMENTS = [
    *S3_MOMENTS,
    ("a report", r"PUT .*/_reports/", 2),
    ("the journal", r"PUT .*/_ingest/", 1),
    ("the end", r"PUT .*/_SUCCESS", 1),
]
LOCAL_MOMENTS = [
    ("a file", "batches", "", 2),
    ("a report", "replace", "_reports", 2),
    ("the journal", "link", "/out/_ingest/", 1),
    ("a marker", "replace", "_commit-ingest.json'", 1),
    ("the first renaming", "replace", r"/out/part-", 1),
    ("a later renaming", "replace", r"/out/part-", 2),
    ("the end", "replace", "_SUCCESS'", 1),
    ("after the end", "sweep", "", 1),
]
# The same of a table of Delta: what was staged gets its names, then there is one commit.
DELTA_S3_MOMENTS = [
    *[moment for moment in S3_MOMENTS if moment[0] != "a marker"],
    ("a report", r"PUT .*/_reports/", 2),
    ("the journal", r"PUT .*/_ingest/", 1),
    ("the commit", r"PUT .*/_delta_log/", 1),
    ("what is left", r"DELETE .*/_temporary/", 1),
    ("the end", r"DELETE .*/_ingest/", 1),
]
DELTA_LOCAL_MOMENTS = [
    ("a file", "batches", "", 2),
    ("a report", "replace", "_reports", 2),
    ("the first renaming", "replace", r"/out/part-", 1),
    ("a later renaming", "replace", r"/out/part-", 2),
    ("the journal", "replace", "/out/_ingest/", 1),
    ("the commit", "create_write_transaction", "", 1),
    ("after the commit", "sweep", "", 1),
    ("the end", "delete", "_ingest/", 1),
]


def some(moments: list[Any], *chosen: str) -> list[Any]:
    """The moments to test, with names."""
    return [pytest.param(*moment[1:], id=moment[0]) for moment in moments if LONG or moment[0] in chosen]


class Job:
    """A job in a process of its own, see `store_jobs`."""

    parent: ClassVar[subprocess.Popen[str]]
    errors: ClassVar[Path]

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        assert self.parent.stdin is not None
        assert self.parent.stdout is not None
        print(json.dumps([name, settings]), file=self.parent.stdin, flush=True)
        self.process = int(self.parent.stdout.readline())

    def is_running(self) -> bool:
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)
        wait_for("end of a job", lambda: not self.is_running(), LIMIT, 0.01)


@pytest.fixture(scope="module", autouse=True)
def parent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The process that forks all jobs."""
    Job.errors = tmp_path_factory.mktemp("errors")
    command = [sys.executable, "-W", "ignore", str(TESTS / "spark" / "store_jobs.py"), str(Job.errors)]
    path = os.pathsep.join(map(str, (TESTS.parent, TESTS, TESTS / "spark")))
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    ) as Job.parent:
        yield


@contextmanager
def running(name: str, **settings: Any) -> Iterator[Job]:
    """A job, which does not outlive the block."""
    job = Job(name, settings)
    try:
        yield job
    finally:
        job.kill()


def kill_when(job: Job, moment: Callable[[], bool]) -> None:
    """Kill a job at a moment that it must come to."""
    wait_for("moment to kill", lambda: moment() or not job.is_running(), LIMIT, 0.01)
    assert job.is_running(), (Job.errors / str(job.process)).read_text()[-3000:]
    job.kill()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dead jobs are known to be dead after a moment, and tasks are run in this process."""
    monkeypatch.setattr(swapping, "LEASE", 0.2)
    monkeypatch.setattr(room, "_run", store_jobs.run_here)
    monkeypatch.setattr(room._Session, "spark", None)


def rows(store: Store) -> Counter[Any]:
    """What a reader of this package sees."""
    found: Counter[Any] = Counter()
    for file in find_files(store.path, storage=store.storage):
        if file.name.endswith(".parquet"):
            with open_file(store.storage, file.path) as opened:
                found.update(row["object"] for row in parquet.read_table(opened).to_pylist())
        elif file.name.startswith("part-"):
            with open_file(store.storage, file.path) as opened:
                found.update(str(statement.o) for statement in jelly.read(opened))
    return found


def is_clean(store: Store, *kept: str) -> None:
    """There is nothing but data, what a table keeps, and no secret."""
    names = {name for name in store.files() if name.startswith("_")}
    assert names - set(kept) == {SUCCESS} - set(kept)
    for name in names:
        assert SECRET.encode() not in (store.read(name) or b"")


# ---- ingest

def sources(folder: Path, *versions: int) -> Counter[str]:
    """Files with statements; their number is the version of each."""
    folder.mkdir(exist_ok=True)
    for number, version in enumerate(versions):
        path = folder / f"{number}.nt"
        text = "".join(f'<a:{number}> <a:p> "{number} {version} {i}" .\n' for i in range(50))
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return Counter(f"{number} {version} {i}" for number, version in enumerate(versions) for i in range(50))


def check_ingest(store: Store, src: Path, tmp_path: Path, kill: Callable[..., None]) -> None:
    before = sources(src, 1, 1, 1)
    store_jobs.ingest(store.path, str(src), storage=dict(store.storage))
    assert rows(store) == before
    after = sources(src, 1, 1, 1, 1, 1)
    kill(src=str(src))
    assert rows(store) in (before, after)
    if SUCCESS in store.files():  # then readers that know nothing of markers see one of them too
        assert sum(name.startswith("part-") for name in store.files()) in (3, 5)
    done = store_jobs.ingest(store.path, str(src), storage=dict(store.storage))
    assert rows(store) == after
    assert done.done_before + done.sources == 5
    is_clean(store, "_ingest/2.json")
    again = store_jobs.ingest(store.path, str(src), storage=dict(store.storage))
    assert (again.sources, rows(store)) == (0, after)


@pytest.mark.parametrize(("call", "pattern", "number"), some(
    LOCAL_MOMENTS, "a file", "the journal", "a later renaming"
))  # fmt: skip
def test_an_ingest_into_a_directory(tmp_path: Path, call: str, pattern: str, number: int) -> None:
    out, sign = tmp_path / "out", tmp_path / "sign"

    def kill(**settings: Any) -> None:
        with running("ingest", out=str(out), stop=[call, pattern, number, str(sign)], **settings) as job:
            kill_when(job, sign.exists)

    check_ingest(store_of(str(out)), tmp_path / "src", tmp_path, kill)


@pytest.mark.parametrize("reaches", [True, False] if LONG else [False])
@pytest.mark.parametrize(("pattern", "number"), some(
    INGEST_MOMENTS, "the journal", "a later copy"
))  # fmt: skip
def test_an_ingest_into_s3(
    s3: dict[str, Any], proxy: Proxy, tmp_path: Path, pattern: str, number: int, reaches: bool
) -> None:
    store = store_of(f"s3://bucket/{tmp_path.name}", s3)

    def kill(**settings: Any) -> None:
        kill_in_request(proxy, s3, "ingest", pattern, number, reaches, out=store.path, **settings)

    check_ingest(store, tmp_path / "src", tmp_path, kill)


def kill_in_request(
    proxy: Proxy, s3: dict[str, Any], name: str, pattern: str, nth: int, reaches: bool, **settings: Any
) -> None:
    """Kill a job while a request is on its way, which then reaches the server, or not."""
    proxy.hold(pattern, nth, reaches)
    with running(name, storage={**s3, "endpoint_url": proxy.url}, **settings) as job:
        kill_when(job, proxy.held.is_set)
    before = len(proxy.seen)
    proxy.go()
    if reaches:
        wait_for("request handed on", lambda: proxy.handed_on, LIMIT)
    assert len(proxy.seen) == before


# ---- layouts

def content(store: Store) -> dict[str, list[str]]:
    """The rows of each table that a reader of this package sees."""
    found: dict[str, list[str]] = {}
    for file in find_files(store.path, storage=store.storage):
        with open_file(store.storage, file.path) as opened:
            table = parquet.ParquetFile(opened).read()
        found.setdefault(file.path[len(store.path) :].rpartition("/")[0], []).extend(map(str, table.to_pylist()))
    return {name: sorted(rows) for name, rows in found.items()}


def check_layout(store: Store, tmp_path: Path, layout: str, kill: Callable[..., None]) -> None:
    src = tmp_path / "src"
    sources(src, 1, 1, 1)
    kill(src=str(src), layout=layout, buckets=2)
    with pytest.raises(FileNotFoundError) if not store.files() else contextlib.nullcontext():
        assert not content(store)
    settings: dict[str, Any] = {"layout": layout, "buckets": 2}
    storage = dict(store.storage)
    store_jobs.ingest(store.path, str(src), storage=storage, **settings)
    store_jobs.ingest(str(tmp_path / "other"), str(src), **settings)
    assert content(store) == content(store_of(str(tmp_path / "other")))
    is_clean(store, "_ingest/1.json")
    before = store.files()
    again = store_jobs.ingest(store.path, str(src), storage=storage, **settings)
    assert (again.sources, again.done_before) == (0, 3)
    sources(src, 1, 1, 1, 1)
    with pytest.raises(jelly.JellyError, match=rf'sources are new \(1\), such as .*3.nt, .* layout "{layout}"'):
        store_jobs.ingest(store.path, str(src), storage=storage, **settings)
    (src / "3.nt").unlink()
    sources(src, 1, 2)
    with pytest.raises(jelly.JellyError, match=r"sources have changed or are gone \(1\).*--to delta"):
        store_jobs.ingest(store.path, str(src), storage=storage, **settings)
    assert store.files() == before


@pytest.mark.parametrize("layout", ["ids", "vertical", "wide"])
@pytest.mark.parametrize(("call", "pattern", "number"), some(
    [("a report of a step", "replace", r"_reports/(terms|tables)", 1),
     ("the journal", "link", "/out/_ingest/", 1), ("a renaming", "replace", "/out/[st][^_]*/part-", 2)],
    "a report of a step", "a renaming",
))  # fmt: skip
def test_a_layout_in_a_directory(tmp_path: Path, layout: str, call: str, pattern: str, number: int) -> None:
    out, sign = tmp_path / "out", tmp_path / "sign"

    def kill(**settings: Any) -> None:
        with running("ingest", out=str(out), stop=[call, pattern, number, str(sign)], **settings) as job:
            kill_when(job, sign.exists)

    check_layout(store_of(str(out)), tmp_path, layout, kill)


@pytest.mark.parametrize("layout", ["ids", "vertical", "wide"] if LONG else ["ids"])
@pytest.mark.parametrize(("pattern", "number"), some(
    [*S3_MOMENTS, ("the journal", r"PUT .*/_ingest/", 1)], "a later copy"
))  # fmt: skip
def test_a_layout_on_s3(
    s3: dict[str, Any], proxy: Proxy, tmp_path: Path, layout: str, pattern: str, number: int
) -> None:
    store = store_of(f"s3://bucket/{tmp_path.name}", s3)

    def kill(**settings: Any) -> None:
        kill_in_request(proxy, s3, "ingest", pattern, number, True, out=store.path, **settings)

    check_layout(store, tmp_path, layout, kill)


# ---- ingest into tables of Delta

def delta_rows(store: Store) -> Counter[Any]:
    return Counter(store_jobs.delta_table(store).to_pyarrow_table()["object"].to_pylist())


def check_delta(store: Store, src: Path, kill: Callable[..., None], **settings: Any) -> None:
    def ingest() -> Any:
        return store_jobs.ingest(store.path, str(src), storage=dict(store.storage), to="delta", **settings)

    before = sources(src, 1, 1, 1)
    ingest()
    assert delta_rows(store) == before
    after = sources(src, 1, 2, 2, 2)
    kill(src=str(src), to="delta", **settings)
    assert delta_rows(store) in (before, after)
    done = ingest()
    assert delta_rows(store) == after
    assert done.done_before + done.sources == 4
    is_clean_delta(store)
    again = ingest()
    assert (again.sources, delta_rows(store)) == (0, after)
    # Each version is one of them; no version was made twice.
    assert [Counter(read["object"].to_pylist()) for read in map(at_version(store), range(2))] == [before, after]
    assert store_jobs.delta_table(store).version() == 1


def at_version(store: Store) -> Callable[[int], Any]:
    def read(version: int) -> Any:
        found = store_jobs.delta_table(store)
        found.load_as_version(version)
        return found.to_pyarrow_table()

    return read


def is_clean_delta(store: Store) -> None:
    """There is nothing but files of some version, the log, a journal, and no secret."""
    names = set(store.files())
    data = {name for name in names if not name.startswith("_")}
    log = b"".join(store.read(name) or b"" for name in names - data)
    assert SECRET.encode() not in log
    assert all(name.split("/")[-1].encode() in log for name in data)
    assert [name.split("/")[0] for name in names - data if not name.startswith("_delta_log/")] == ["_ingest"]


@pytest.mark.parametrize(("call", "pattern", "number"), some(
    DELTA_LOCAL_MOMENTS, "a later renaming", "the commit", "after the commit"
))  # fmt: skip
def test_an_ingest_into_a_table_of_delta(tmp_path: Path, call: str, pattern: str, number: int) -> None:
    out, sign = tmp_path / "out", tmp_path / "sign"

    def kill(**settings: Any) -> None:
        with running("ingest", out=str(out), stop=[call, pattern, number, str(sign)], **settings) as job:
            kill_when(job, sign.exists)

    check_delta(store_of(str(out)), tmp_path / "src", kill)


@pytest.mark.parametrize("reaches", [True, False])
@pytest.mark.parametrize(("pattern", "number"), some(
    DELTA_S3_MOMENTS, "a later copy", "the commit"
))  # fmt: skip
def test_an_ingest_into_a_table_of_delta_on_s3(
    s3: dict[str, Any], proxy: Proxy, tmp_path: Path, pattern: str, number: int, reaches: bool
) -> None:
    store = store_of(f"s3://bucket/{tmp_path.name}", s3)

    def kill(**settings: Any) -> None:
        kill_in_request(proxy, s3, "ingest", pattern, number, reaches, out=store.path, **settings)

    check_delta(store, tmp_path / "src", kill)


@pytest.mark.parametrize("reaches", [True, False])
@pytest.mark.parametrize(("pattern", "number"), some(
    DELTA_S3_MOMENTS[:-2], "the commit"
))  # fmt: skip
def test_a_first_ingest_into_a_table_of_delta_on_s3(
    s3: dict[str, Any], proxy: Proxy, tmp_path: Path, pattern: str, number: int, reaches: bool
) -> None:
    store, src = store_of(f"s3://bucket/{tmp_path.name}", s3), tmp_path / "src"
    whole = sources(src, 1, 1, 1)
    kill_in_request(
        proxy, s3, "ingest", pattern, number, reaches, out=store.path, src=str(src), to="delta"
    )  # fmt: skip
    is_made = reaches and "_delta_log" in pattern
    if is_made:
        assert delta_rows(store) == whole
    else:
        with pytest.raises(TableNotFoundError):
            store_jobs.delta_table(store)
    store_jobs.ingest(store.path, str(src), storage=dict(store.storage), to="delta")
    assert (delta_rows(store), store_jobs.delta_table(store).version()) == (whole, 0)
    is_clean_delta(store)


def check_delta_compaction(store: Store, src: Path, sort: list[str], kill: Callable[[], None]) -> None:
    def ingest() -> Any:
        return store_jobs.ingest(store.path, str(src), storage=dict(store.storage), to="delta", sort=sort)

    whole = sources(src, 1, 1, 1)
    ingest()
    kill()
    assert delta_rows(store) == whole
    store_jobs.compact(store.path, storage=dict(store.storage))
    assert delta_rows(store) == whole
    assert len(store_jobs.delta_table(store).file_uris()) == 1
    assert store_jobs.delta_table(store).version() == 1
    after = sources(src, 1, 2, 1)
    assert (ingest().sources, delta_rows(store)) == (3, after)
    assert not [name for name in store.files() if name.startswith("_temporary")]


@pytest.mark.parametrize(("sort", "call", "pattern", "number"), [
    pytest.param(["object"], *moment[1:], id=moment[0])
    for moment in (("a report", "replace", "_reports", 1), ("a renaming", "replace", r"/out/part-", 1),
                   ("the commit", "create_write_transaction", "", 1), ("after the commit", "sweep", "", 1))
])  # fmt: skip
def test_a_compaction_of_a_table_of_delta(
    tmp_path: Path, sort: list[str], call: str, pattern: str, number: int
) -> None:
    out, sign = tmp_path / "out", tmp_path / "sign"

    def kill() -> None:
        with running("compact", out=str(out), stop=[call, pattern, number, str(sign)]) as job:
            kill_when(job, sign.exists)

    check_delta_compaction(store_of(str(out)), tmp_path / "src", sort, kill)


@pytest.mark.parametrize(("sort", "pattern", "reaches"), [
    ([], r"PUT .*/part-", True), ([], r"PUT .*/_delta_log/", False), (["object"], COPY, False),
    (["object"], r"PUT .*/_delta_log/", True), *([
        ([], r"PUT .*/part-", False), ([], r"PUT .*/_delta_log/", True), (["object"], COPY, True),
        (["object"], r"PUT .*/_delta_log/", False),
    ] if LONG else []),
])  # fmt: skip
def test_a_compaction_of_a_table_of_delta_on_s3(
    s3: dict[str, Any], proxy: Proxy, tmp_path: Path, sort: list[str], pattern: str, reaches: bool
) -> None:
    store = store_of(f"s3://bucket/{tmp_path.name}", s3)
    check_delta_compaction(store, tmp_path / "src", sort, lambda: kill_in_request(
        proxy, s3, "compact", pattern, 1, reaches, out=store.path
    ))  # fmt: skip


# ---- batch jobs and streams

def numbers(first: int, n: int = 15) -> Counter[str]:
    return Counter(f'"{number}"' for number in range(first, first + n))


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(("pattern", "number"), some(
    [*S3_MOMENTS, ("a removal", r"DELETE .*/part-", 1)], "a later copy", "a removal"
))  # fmt: skip
def test_a_job_into_s3(
    s3: dict[str, Any], proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    pattern: str, number: int, overwrite: bool,
) -> None:  # fmt: skip
    if "DELETE" in pattern and not overwrite:
        pytest.skip("nothing is removed")
    store = store_of(f"s3://bucket/{tmp_path.name}", s3)
    store_jobs.job(store.path, 0, storage=s3)
    old = numbers(0)
    assert rows(store) == old
    kill_in_request(proxy, s3, "job", pattern, number, True, out=store.path, first=100, overwrite=overwrite)
    check_after_a_job(store, monkeypatch, overwrite, "DELETE" in pattern)


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(("call", "pattern", "number"), some(
    [("a marker", "replace", "_commit-", 1), ("a later renaming", "replace", "/out/part-", 2),
     ("a removal", "delete", "part-", 1)], "a later renaming",
))  # fmt: skip
def test_a_job_into_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, pattern: str, number: int, overwrite: bool
) -> None:
    if call == "delete" and not overwrite:
        pytest.skip("nothing is removed")
    store, sign = store_of(str(tmp_path / "out")), tmp_path / "sign"
    store_jobs.job(store.path, 0)
    with running(
        "job", out=store.path, first=100, overwrite=overwrite, stop=[call, pattern, number, str(sign)]
    ) as job:
        kill_when(job, sign.exists)
    check_after_a_job(store, monkeypatch, overwrite, call == "delete")


def check_after_a_job(store: Store, monkeypatch: pytest.MonkeyPatch, overwrite: bool, was_committed: bool) -> None:
    old = numbers(0)
    assert rows(store) == (numbers(100) if was_committed else old)
    assert SUCCESS not in store.files() or not was_committed
    monkeypatch.setattr(swapping, "ABANDONED", -1.0)
    monkeypatch.setattr(swapping, "LEASE", -1.0)
    # The user does it again.
    store_jobs.job(store.path, 200, overwrite=overwrite, storage=dict(store.storage))
    assert rows(store) == (numbers(200) if overwrite else old + numbers(200))
    is_clean(store)
    assert {name for name in store.files() if not name.startswith("_")} == {
        file.path[len(store.path) + 1 :] for file in find_files(store.path, storage=store.storage)
    }


@pytest.mark.parametrize("reaches", [True, False] if LONG else [True])
@pytest.mark.parametrize(("pattern", "number"), some(
    [*S3_MOMENTS, ("the end", r"PUT .*/batch(=|%3D)1/_SUCCESS", 1)], "a later copy"
))  # fmt: skip
def test_a_batch_of_a_stream_into_s3(
    s3: dict[str, Any], proxy: Proxy, tmp_path: Path, pattern: str, number: int, reaches: bool
) -> None:
    store = store_of(f"s3://bucket/{tmp_path.name}", s3)
    assert store_jobs.batch(store.path, 0, storage=s3)
    first, both = numbers(0), numbers(0) + numbers(100)
    kill_in_request(proxy, s3, "batch", pattern, number, reaches, out=store.path, number=1)
    assert rows(store) == first
    is_there = store.read(f"batch=1/{SUCCESS}") is not None
    # Spark runs the batch again.
    assert store_jobs.batch(store.path, 1, storage=s3) is not is_there
    assert rows(store) == both
    assert not store_jobs.batch(store.path, 1, storage=s3)
    assert rows(store) == both
    is_clean(store, SUCCESS)
    with pytest.raises(jelly.JellyError, match="was written by another query, query"):
        store_jobs.batch(store.path, 1, "other", storage=s3)


@pytest.mark.parametrize(("call", "pattern", "number"), some(
    [("a later renaming", "replace", "part-", 2), ("the end", "replace", "_SUCCESS'", 1)], "a later renaming"
))  # fmt: skip
def test_a_batch_of_a_stream_into_a_directory(tmp_path: Path, call: str, pattern: str, number: int) -> None:
    store, sign = store_of(str(tmp_path / "out")), tmp_path / "sign"
    assert store_jobs.batch(store.path, 0)
    with running("batch", out=store.path, number=1, stop=[call, pattern, number, str(sign)]) as job:
        kill_when(job, sign.exists)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["_temporary", "batch=0"]
    assert store_jobs.batch(store.path, 1)
    assert rows(store) == numbers(0) + numbers(100)
    is_clean(store, SUCCESS)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["batch=0", "batch=1"]


# ---- two at a time

def test_two_ingests_at_a_time(s3: dict[str, Any], tmp_path: Path) -> None:
    out, src = f"s3://bucket/{tmp_path.name}", str(tmp_path / "src")
    whole = sources(tmp_path / "src", 1, 1)
    others: list[Any] = []

    def second(*now: int) -> None:
        if not others:
            others.append(0)
            others.append(store_jobs.ingest(out, src, storage=s3))

    with pytest.raises(jelly.JellyError, match="was given up|others have changed the table meanwhile|is not in"):
        store_jobs.ingest(out, src, storage=s3, progress=second)
    assert (len(others), rows(store_of(out, s3))) == (2, whole)
    assert store_jobs.ingest(out, src, storage=s3).sources == 0
    is_clean(store_of(out, s3), "_ingest/1.json")
