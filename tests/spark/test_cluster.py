"""On a real cluster: the same statements as the library alone, also where workers and drivers are killed."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from cluster import START, Cluster, Driver, cluster, kill  # noqa: F401
from drivers import digest
from object_store import Proxy
from support.shared import shared

import jelly
from jelly.spark._parts.files import find_files, open_file
from jelly.spark._store import SUCCESS, store_of

pytestmark = pytest.mark.slow

LONG = bool(os.environ.get("JELLY_LONG"))
LARGE = 1 << (30 if LONG else 28)


def library(*paths: Path) -> list[int]:
    """The digest of some files as the library alone reads them."""
    parts = [digest(jelly.read_arrow(path, layout="ntriples")) for path in paths]
    return [sum(part[0] for part in parts), sum(part[1] for part in parts)]


def parts_of(folder: Path) -> list[Path]:
    return [Path(file.path) for file in find_files(folder)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Links to files of the real data that the library reads, in one folder: one of four of each kind, or all of them
    with JELLY_LONG=1. Spark reads all of them in `test_reading`."""
    folder = tmp_path_factory.mktemp("data")
    root = shared("data")
    suffixes = (".jelly", ".nt", ".nq", ".jelly.gz", ".nt.gz", ".nq.gz")
    found = sorted(path for path in root.rglob("*") if path.name.endswith(suffixes))
    assert len(found) > 70
    if not LONG:
        found = sorted(path for suffix in suffixes for path in of_kind(found, suffix)[::4])
    for number, path in enumerate(found):
        kind = "plain" if can_be_written(path) else "generalized"
        (folder / kind).mkdir(exist_ok=True)
        (folder / kind / f"{number:03d}-{path.name}").symlink_to(path)
    assert len(list((folder / "generalized").iterdir())) < 8
    return folder


def of_kind(paths: list[Path], suffix: str) -> list[Path]:
    return [path for path in paths if "".join(path.suffixes).endswith(suffix)]


def can_be_written(path: Path) -> bool:
    """Whether all statements are of RDF or RDF-star: others are refused by the writer of Spark."""
    options = jelly.StreamOptions(physical_type=jelly.PhysicalType.QUADS, rdf_star=True)
    try:
        jelly.write_arrow(io.BytesIO(), jelly.read_arrow(path, layout="ntriples"), options=options)
    except jelly.JellyOptionsError:
        return False
    return True


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file of a quarter of a gigabyte without an index, which one task reads; of a gigabyte with JELLY_LONG=1."""
    path = tmp_path_factory.mktemp("large") / "large.jelly"
    batches = list(jelly.scan(shared("data", "dbpedia-abstracts", "long-abstracts-10k.nt.gz")).batches())
    with jelly.Writer(path) as writer:
        while writer.bytes_written < LARGE:
            for batch in batches:
                writer.add_batch(batch)
    yield path
    path.unlink()


def test_read_write_and_stream_all_data(
    cluster: Cluster, data: Path, large: Path, tmp_path: Path  # noqa: F811
) -> None:
    driver = cluster.shared()
    driver.begin("everything", data, tmp_path, large)
    expected = {path.name: library(path) for path in data.rglob("*.*")}
    result = driver.finish()
    assert result["read"] == expected
    whole = [sum(column) for column in zip(*(expected[path.name] for path in (data / "plain").iterdir()), strict=True)]
    assert library(*parts_of(tmp_path / "written")) == whole
    assert library(*parts_of(tmp_path / "streamed")) == whole
    assert len(list((tmp_path / "streamed").glob("batch=*"))) >= 3
    quarter, whole = result["memory"]
    # Of 190 MB more, or 750. Allocators take memory by segments of 32 MiB, one of them perhaps after the first quarter.
    assert whole < quarter + (80 << 20)
    # Without the file it is 250 MB.
    assert whole < min(512 << 20, (128 << 20) + LARGE)


def test_relative_paths_are_those_of_the_driver(cluster: Cluster) -> None:  # noqa: F811
    """The driver runs in the folder of the cluster, the workers in folders of their own."""
    folder = cluster.folder / "relative"
    for number in (1, 2):
        (folder / "in" / f"day={number}").mkdir(parents=True)
        (folder / "in" / f"day={number}" / "a.nt").write_text(f"<a:{number}> <a:p> <a:o> .\n")
    jelly.write(folder / "growing.jelly", [(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"))] * 3)
    cluster.shared().begin("relative", folder)
    assert cluster.shared().finish() == {
        "file": 1, "uri": 1, "directory": 2, "pattern": 2, "none": True, "list": 2,
        "columns": [["2", str(folder / "in" / "day=2" / "a.nt")]],
        "written": 2, "appended": 4, "streamed": 2, "followed": 3,
    }  # fmt: skip
    # Nothing was written where the executors run.
    assert {path.relative_to(cluster.folder).parts[0] for path in cluster.folder.rglob("part-*")} == {"relative"}


def test_a_worker_is_killed_in_the_middle_of_a_job(cluster: Cluster, tmp_path: Path) -> None:  # noqa: F811
    source, out, folder = (tmp_path / name for name in ("in", "out", "barrier"))
    source.mkdir()
    folder.mkdir()
    for number in range(8):
        rows = ((jelly.IRI(f"a:{number}"), jelly.IRI("a:p"), jelly.Literal(f"{number} {i}")) for i in range(40_000))
        jelly.write(source / f"{number}.jelly", rows)
    driver = cluster.shared()
    driver.begin("slow", source, out, folder)
    # Two tasks are done and two are in the middle of their files, one on each worker.
    driver.wait("tasks at the barrier", lambda: len(list(folder.glob("waits-*"))) == 2)
    kill(cluster.workers[-1])
    (folder / "go").touch()
    result = driver.finish()
    cluster.add_worker()
    assert result["partitions"] == 8
    assert len(list(folder.glob("started-*"))) > 8
    assert library(*parts_of(out)) == library(*sorted(source.iterdir()))
    assert (out / "_SUCCESS").exists()
    assert not (out / "_temporary").exists()
    cluster.wait_for_workers(2, START)


def test_streaming_queries_are_killed_and_restarted(cluster: Cluster, tmp_path: Path) -> None:  # noqa: F811
    source, growing = tmp_path / "in", tmp_path / "growing.jelly"
    source.mkdir()

    file = growing.open("wb")
    writer = jelly.Writer(file)

    def add(number: int) -> None:
        triples = [(jelly.IRI(f"a:{number}"), jelly.IRI("a:p"), jelly.Literal(f"{number} {i}")) for i in range(1_000)]
        jelly.write(source / f"{number}.jelly", triples)
        writer.extend(triples)
        writer.end_frame()
        writer.flush()

    for number in range(6):
        add(number)
    outs = [tmp_path / "directory", tmp_path / "file"]
    driver = cluster.driver()
    driver.begin("endless", source, growing, tmp_path)
    driver.wait("batches", lambda: all(len(list(out.glob("batch=*"))) >= 2 for out in outs), step=0.005)
    driver.kill()
    assert min(len(list(out.glob("batch=*"))) for out in outs) < 6  # it was in the middle of one at least
    add(6)
    writer.close()
    file.close()
    cluster.shared().begin("rest", source, growing, tmp_path)
    cluster.shared().finish()
    assert len(list(outs[0].glob("batch=*"))) == 7
    for out in outs:
        assert library(*parts_of(out)) == library(*sorted(source.iterdir()))


def test_an_ingest_goes_on_after_its_driver_and_a_worker_are_killed(cluster: Cluster, tmp_path: Path) -> None:  # noqa: F811
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    for number in range(8):
        rows = ((jelly.IRI(f"a:{number}"), jelly.IRI("a:p"), jelly.Literal(f"{number} {i}")) for i in range(5_000))
        jelly.write(source / f"{number}.jelly", rows)

    def start(name: str, driver: Driver) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        driver.begin("slow_ingest", source, out, folder)
        driver.wait("tasks at the barrier", lambda: len(list(folder.glob("waits-*"))) == 2)
        return folder

    driver = cluster.driver()
    folder = start("first", driver)
    driver.wait("two tasks that are done", lambda: len(list(out.glob("_temporary/*/_reports/*"))) == 2)
    assert len(list(out.glob("_temporary/*/*/.*.part"))) == 2  # of their files there is a part
    driver.kill()
    (folder / "go").touch()
    assert not (out / "_SUCCESS").exists()
    driver = cluster.shared()
    folder = start("second", driver)
    kill(cluster.workers[-1])
    (folder / "go").touch()
    result = driver.finish()
    cluster.add_worker()
    # Of the two in the middle of their files none was taken; or both, if they came to an end before they ended.
    assert 2 <= result["done_before"] <= 4
    batches = [batch for path in parts_of(out) for batch in parquet.ParquetFile(path).iter_batches()]
    assert digest(batches) == tuple(library(*sorted(source.iterdir())))
    assert len(parts_of(out)) == 8
    assert (out / "_SUCCESS").exists()
    assert not (out / "_temporary").exists()
    cluster.wait_for_workers(2, START)


@pytest.mark.skipif(not LONG, reason="JELLY_LONG=1 runs it; test_kills kills processes inside writes in less time")
def test_executors_and_drivers_are_killed_inside_a_write_to_s3(
    cluster: Cluster, s3: dict[str, Any], proxy: Proxy, tmp_path: Path  # noqa: F811
) -> None:
    source, out = tmp_path / "in", f"s3://bucket/{tmp_path.name}"
    source.mkdir()
    for number in range(4):
        rows = ((jelly.IRI(f"a:{number}"), jelly.IRI("a:p"), jelly.Literal(f"{number} {i}")) for i in range(2_000))
        jelly.write(source / f"{number}.jelly", rows)
    storage = json.dumps({**s3, "endpoint_url": proxy.url})

    def start(pattern: str, number: int) -> Any:
        proxy.hold(pattern, number, reaches=False)
        driver = cluster.driver()
        driver.begin("plain_ingest", source, out, storage)
        driver.wait("a request to hold", proxy.held.is_set)
        return driver

    # In the end of a task, and before the table becomes visible.
    for pattern, number in [(r"PUT .*_temporary/.*part-", 2), (r"PUT .*/_ingest/", 1)]:
        start(pattern, number).kill()
        proxy.go()
        assert find_files(out, storage=s3) == []
    for path in source.iterdir():
        os.utime(path, (1, 1))  # after these, all is to be done again
    driver = start(r"PUT .*_temporary/.*part-", 3)
    for worker in cluster.workers[-2:]:
        kill(worker)
    proxy.go()
    for _ in range(2):
        cluster.add_worker()
    result = driver.finish()
    assert result["statements"] == 8_000
    found = []
    for file in find_files(out, storage=s3):
        with open_file(s3, file.path) as opened:
            found += list(parquet.ParquetFile(opened).iter_batches())
    assert digest(found) == tuple(library(*sorted(source.iterdir())))
    store = store_of(out, s3)
    assert {name for name in store.files() if name.startswith("_")} == {"_ingest/1.json", SUCCESS}
    assert store.missing([]) == []
    cluster.wait_for_workers(2, START)
