"""The data source "jelly": writing. Everything becomes visible at once, or nothing does."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sessions import tasks_of
from test_plan import numbers

import jelly
import jelly.spark
from jelly.spark._output import Output

COLUMNS = ("s", "p", "o")
THREE = ("'<a:s>' as s", "'<a:p>' as p", "concat('<o:', id, '>') as o")


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def statements(folder: Path) -> Counter[Any]:
    return Counter(statement for path in sorted(folder.glob("part-*")) for statement in jelly.read(path))


def batches(*values: int) -> Any:
    return iter([pa.record_batch([["<a:s>"], ["<a:p>"], [f'"{value}"']], list(COLUMNS)) for value in values])


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:
    jelly.spark.register(spark)
    return spark


@pytest.fixture(scope="module")
def df(session: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Quads in three partitions."""
    path = tmp_path_factory.mktemp("source") / "n.jelly"
    jelly.write(path, numbers(3000, graph=True), seekable=True, keyframe_rows=500)
    found = session.read.format("jelly").option("splitBytes", path.stat().st_size // 3 + 1).load(str(path))
    assert tasks_of(found) == 3
    return found


# ---- the directory, without Spark

def test_attempts_that_do_not_count_leave_nothing(tmp_path: Path) -> None:
    output: Output = pickle.loads(pickle.dumps(Output(str(tmp_path / "out"), "job1", COLUMNS).begin()))
    slow = output.write(0, 11, batches(1, 2))
    quick = output.write(0, 12, batches(1, 2))
    other = output.write(1, 13, batches(3))
    nothing = output.write(2, 14, batches())
    assert (slow.statements, other.statements, nothing.file) == (2, 1, None)
    assert visible(tmp_path / "out") == ["_temporary"]
    output.commit([quick, other, nothing])
    assert visible(tmp_path / "out") == ["_SUCCESS", "part-00000-job1.jelly", "part-00001-job1.jelly"]
    assert sum(statements(tmp_path / "out").values()) == 3


def test_a_commit_that_fails_takes_everything_back(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    first = Output(str(folder), "job1", COLUMNS).begin()
    first.commit([first.write(0, 1, batches(1))])
    second = Output(str(folder), "job2", COLUMNS, overwrite=True).begin()
    written = [second.write(0, 2, batches(2)), second.write(1, 3, batches(3))]
    (folder / written[1].file.place).unlink()
    with pytest.raises(jelly.JellyError, match=r"do all nodes see the same store.*part-00001"):
        second.commit(written)
    second.abort()
    assert visible(folder) == ["_SUCCESS", "part-00000-job1.jelly"]


def test_two_jobs_do_not_meet(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    one, two = (Output(str(folder), name, COLUMNS).begin() for name in ("one", "two"))
    parts = one.write(0, 1, batches(1)), two.write(0, 1, batches(2))
    one.commit(parts[:1])
    assert visible(folder) == ["_SUCCESS", "_temporary", "part-00000-one.jelly"]
    two.commit(parts[1:])
    assert visible(folder) == ["_SUCCESS", "part-00000-one.jelly", "part-00000-two.jelly"]


def test_an_aborted_job_leaves_the_place_as_it_was(tmp_path: Path) -> None:
    output = Output(str(tmp_path / "new"), "job", COLUMNS).begin()
    output.write(0, 1, batches(1))

    def late() -> Iterator[pa.RecordBatch]:
        yield from batches(2)
        output.abort()

    with pytest.raises(FileNotFoundError):
        output.write(0, 2, late())
    with pytest.raises(jelly.JellyError, match="the job was given up"):
        output.write(0, 3, batches(3))
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    output = Output(str(tmp_path / "old"), "job", COLUMNS).begin()
    output.write(0, 1, batches(1))
    output.abort()
    assert visible(tmp_path / "old") == []


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError, match="it is a file"):
        Output(str(tmp_path / "file"), "job", COLUMNS)
    with pytest.raises(jelly.JellyOptionsError, match="compression is 'lz4': expected none, gzip, zstd"):
        Output(str(tmp_path / "out"), "job", COLUMNS, compression="lz4")


@pytest.mark.parametrize("look", ["isdir", "exists"])
def test_another_task_makes_the_directory_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: str):
    """Between two questions about it: it is new, and no file."""
    real = getattr(os.path, look)

    def found(path: Any) -> bool:
        is_there = bool(real(path))
        os.makedirs(path, exist_ok=True)
        return is_there

    monkeypatch.setattr(os.path, look, found)
    assert Output(str(tmp_path / "out"), "job", COLUMNS).is_new


def test_a_file_size_limit_leaves_no_part(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    code = """
import resource, signal, sys
import pyarrow as pa
from jelly.spark._output import Output
output = Output(sys.argv[1], "job", ("s", "p", "o")).begin()
objects = [f'"{i * 7919}"' for i in range(10000)]
batch = pa.record_batch([["<a:s>"] * 10000, ["<a:p>"] * 10000, objects], ["s", "p", "o"])
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, resource.RLIM_INFINITY))
try:
    output.write(0, 1, iter([batch] * 10))
except OSError as error:
    import os
    print(error.errno, [name for _, _, names in os.walk(sys.argv[1]) for name in names])
    output.abort()
    print(os.path.exists(sys.argv[1]))
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "out")], capture_output=True, text=True)
    assert done.stdout == "27 ['_job']\nFalse\n", done.stderr


# ---- through Spark

@pytest.mark.every_spark
@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_what_is_written_is_what_is_read(session: Any, df: Any, tmp_path: Path, compression: str) -> None:
    out = tmp_path / "out"
    df.write.format("jelly").mode("append").option("compression", compression).save(str(out))
    suffix = {"none": "", "gzip": ".gz", "zstd": ".zst"}[compression]
    names = visible(out)
    assert [name[:11] for name in names] == ["_SUCCESS", "part-00000-", "part-00001-", "part-00002-"]
    assert all(name.endswith(f".jelly{suffix}") for name in names[1:])
    assert statements(out) == Counter(numbers(3000, graph=True))
    if not suffix:
        with jelly.open(out / names[1]) as file:
            assert file.options.physical_type == jelly.PhysicalType.QUADS
    assert session.read.format("jelly").load(str(out)).count() == 3000


@pytest.mark.parametrize("columns", [("s", "p", "o"), ("object_kind", "object", "predicate", "subject")])
def test_triples_by_the_schema(session: Any, tmp_path: Path, columns: tuple[str, ...]) -> None:
    values = {"s": "<a:s>", "p": "<a:p>", "o": "_:x", "subject": "a:s", "predicate": "a:p", "object": "_:x"}
    row = tuple(values.get(name, "bnode") for name in columns)
    out = tmp_path / "out"
    session.createDataFrame([row] * 5, list(columns)).write.format("jelly").mode("overwrite").save(str(out))
    assert statements(out) == {jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.BlankNode("x")): 5}
    assert {jelly.read_options(path).physical_type for path in out.glob("part-*")} == {jelly.PhysicalType.TRIPLES}


def test_overwrite_append_and_what_exists(session: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def write(mode: str, rows: int, **options: str) -> int:
        df = session.range(rows, numPartitions=1).selectExpr(*THREE)
        df.write.format("jelly").mode(mode).options(**options).save(str(out))
        return sum(statements(out).values())

    assert write("append", 10, ifExists="error") == 10
    assert write("append", 20) == 30
    assert write("append", 5, ifExists="ignore") == 30
    (out / "left.txt").write_bytes(b"from somebody else")
    (out / "inner").mkdir()
    assert write("overwrite", 7) == 7
    assert len(visible(out)) == 2
    with pytest.raises(Exception, match=r"PATH_ALREADY_EXISTS.*out"):
        write("append", 5, ifExists="error")
    for mode in ("error", "ignore"):
        with pytest.raises(Exception, match="UNSUPPORTED_DATA_SOURCE_SAVE_MODE"):
            write(mode, 5)
    assert sum(statements(out).values()) == 7
    # A directory may be read and overwritten in one go.
    again = session.read.format("jelly").load(str(out))
    again.union(again).write.format("jelly").mode("overwrite").save(str(out))
    assert sum(statements(out).values()) == 14


def test_no_rows_are_an_empty_part(session: Any, df: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    df.where("subject = 'nothing'").write.format("jelly").mode("append").save(str(out))
    assert [name[:16] for name in visible(out)] == ["_SUCCESS", "part-00000-" + visible(out)[1][11:16]]
    assert session.read.format("jelly").load(str(out)).count() == 0


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (("subject", "predicate"), "missing 'object', 'object_kind'"),
        (("subject", "predicate", "object", "object_kind", "1 as frame"), "column 'frame' is of type int"),
        (("subject as s", "predicate as p", "object as o", "lang"), "unknown 'lang'"),
        (("subject as s", "predicate as p", "length(object) as o"), "column 'o' is of type int: expected string"),
    ],
)
def test_a_wrong_schema_is_refused_before_any_work(
    df: Any, tmp_path: Path, expression: tuple[str, ...], message: str
) -> None:
    with pytest.raises(Exception, match=message):
        df.selectExpr(*expression).write.format("jelly").mode("append").save(str(tmp_path / "out"))
    assert visible(tmp_path) == []


def test_a_failed_job_leaves_what_was_there(session: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ids = session.range(40_000, numPartitions=2)
    ids.selectExpr(*THREE).write.format("jelly").mode("append").save(str(out))
    before = {path: path.read_bytes() for path in out.iterdir()}
    # What cannot be written comes late in the last partition.
    for value, message in (("raise_error('stop')", "stop"), ("'no term'", "'no term'")):
        bad = ids.selectExpr("'<a:s>' as s", "'<a:p>' as p", f"if(id = 39990, {value}, '_:x') as o")
        for place, mode in ((out, "overwrite"), (tmp_path / "new", "append")):
            with pytest.raises(Exception, match=message):
                bad.write.format("jelly").mode(mode).save(str(place))
    assert {path: path.read_bytes() for path in out.iterdir()} == before
    assert not (tmp_path / "new").exists()


def test_a_full_disk_leaves_nothing(df: Any, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("only root may mount a small disk; a limit on the file size is tested above")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here; a limit on the file size is tested above")
    try:
        with pytest.raises(Exception, match="No space left on device"):
            df.union(df).union(df).write.format("jelly").mode("append").save(str(disk / "out"))
        assert visible(disk) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
