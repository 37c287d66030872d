"""Compaction of tables of Delta: what becomes of the files, and changes of sources after it."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.dataset as dataset
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner
from store_jobs import HERE, delta_table, run_here

import jelly
from jelly.cli.commands import cli
from jelly.spark import _ingest as room
from jelly.spark._ingest import buckets, compact_table, ingest
from jelly.spark._parts.files import open_file
from jelly.spark._store import Store, UrlStore, store_of


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks run in this process, one after the other."""
    monkeypatch.setattr(room, "_run", run_here)
    monkeypatch.setattr(room._Session, "spark", HERE)


def source(folder: Path, number: int, version: int = 1, n: int = 60) -> None:
    """A file with statements of three predicates in no order."""
    folder.mkdir(exist_ok=True)
    chosen = random.Random(number)
    lines = [f'<a:{chosen.randrange(10**6)}> <a:p{i % 3}> "{number} {version} {i}" .\n' for i in range(n)]
    (folder / f"{number}.nt").write_text("".join(lines))


def expected(folder: Path) -> Counter[Any]:
    found = [row for path in folder.iterdir() for row in jelly.read_arrow(path).read_all().to_pylist()]
    return Counter((row["subject"], row["object"]) for row in found)


def tables(store: Store) -> dict[str, pa.Table]:
    """The files of the table."""
    found = {}
    for path in delta_table(store).file_uris():
        with open_file(store.storage, path) as opened:
            found[path[len(store.path) + 1 :]] = parquet.ParquetFile(opened).read()
    return found


def rows(store: Store) -> Counter[Any]:
    return Counter(
        (row["subject"], row["object"]) for table in tables(store).values() for row in table.to_pylist()
    )


@pytest.fixture(params=["local", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "s3":
        return store_of(f"s3://bucket/{tmp_path.name}", request.getfixturevalue("s3"))
    return store_of(str(tmp_path / "out"))


def run(store: Store, src: Path, **settings: Any) -> Any:
    return ingest(src, store.path, spark=HERE, split_bytes=1, storage=dict(store.storage), to="delta", **settings)


def test_a_file_for_each_partition(store: Store, tmp_path: Path) -> None:
    src = tmp_path / "src"
    for number in range(5):
        source(src, number)
    run(store, src, partition_by="predicate")
    assert len(tables(store)) == 15
    done = compact_table(store.path, storage=dict(store.storage))
    assert (done.compacted, done.compacted_to, len(tables(store))) == (15, 3, 3)
    partitions = pa.table(delta_table(store).get_add_actions(flatten=True))["partition.predicate"]
    assert sorted(partitions.to_pylist()) == [f"a:p{i}" for i in range(3)]
    assert rows(store) == expected(src)
    again = compact_table(store.path, storage=dict(store.storage))
    assert (again.compacted, again.compacted_to) == (0, 0)

    # What is done is known by its sources, and a changed one takes the others of its files with it.
    assert run(store, src, partition_by="predicate").sources == 0
    source(src, 5)
    source(src, 2, version=2)
    third = run(store, src, partition_by="predicate", compact=True)
    assert third.sources == 6
    assert rows(store) == expected(src)
    assert len(tables(store)) == 3
    (src / "0.nt").unlink()
    run(store, src, partition_by="predicate", prune=True)
    assert rows(store) == expected(src)


def test_files_of_a_size(store: Store, tmp_path: Path) -> None:
    src = tmp_path / "src"
    for number in range(6):
        source(src, number)
    run(store, src)
    before = store.files()
    size = max(size for name, (size, _) in before.items() if name.startswith("part-"))
    done = compact_table(store.path, storage=dict(store.storage), target_file_bytes=2 * size + 2)
    assert done.compacted == 6
    assert done.compacted_to == len(tables(store)) in (2, 3)
    assert rows(store) == expected(src)
    # Nobody knows which source is in which of the new files.
    source(src, 2, version=2)
    assert run(store, src).sources == 6
    assert rows(store) == expected(src)


def test_files_of_a_sorted_table_do_not_overlap(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets, "SORTED_GROUP_ROWS", 50)
    src = tmp_path / "src"
    for number in range(6):
        source(src, number, n=100)
    run(store, src, sort=["predicate", "subject"])
    size = sum(size for name, (size, _) in store.files().items() if name.startswith("part-"))
    seen: list[tuple[int, int, int]] = []
    done = compact_table(
        store.path, storage=dict(store.storage), target_file_bytes=size // 4, progress=lambda *now: seen.append(now)
    )
    assert (done.compacted, done.compacted_to) == (6, 5)
    assert (seen[0][0], seen[-1][2]) == (0, 600)
    found = list(tables(store).values())
    assert min(map(len, found)) > 60
    keys = [[(row["predicate"], row["subject"]) for row in table.to_pylist()] for table in found]
    keys.sort()
    assert sum(keys, []) == sorted(sum(keys, []))
    assert rows(store) == expected(src)
    if not isinstance(store, UrlStore):
        # The statistics tell which row groups to read: one, or two where the predicate changes in one.
        files = list(dataset.dataset(delta_table(store).file_uris()).get_fragments())
        wanted = (dataset.field("predicate") == "a:p0") & (dataset.field("subject") == keys[0][5][1])
        assert sum(len(file.row_groups) for file in files) >= 10
        assert 1 <= sum(len(file.subset(wanted).row_groups) for file in files) <= 2
    assert compact_table(store.path, storage=dict(store.storage)).compacted == 0
    source(src, 6)
    assert run(store, src, sort=["predicate", "subject"], compact=True).compacted_to == 1
    [table] = tables(store).values()
    assert [row["predicate"] for row in table.to_pylist()] == sorted(table["predicate"].to_pylist())
    assert rows(store) == expected(src)


def test_what_cannot_be_compacted(tmp_path: Path) -> None:
    source(tmp_path / "src", 1)
    with pytest.raises(jelly.JellyError, match="there is no table of Delta"):
        compact_table(tmp_path / "src")
    for to in ("jelly", "parquet"):
        with pytest.raises(jelly.JellyOptionsError, match="only a table of Delta can be compacted: readers of a dir"):
            ingest(tmp_path / "src", tmp_path / to, to=to, compact=True)  # type: ignore[arg-type]
        ingest(tmp_path / "src", tmp_path / to, to=to, spark=HERE)  # type: ignore[arg-type]
        with pytest.raises(jelly.JellyOptionsError, match="only a table of Delta"):
            compact_table(tmp_path / to)
    with pytest.raises(ValueError, match="at least 1"):
        ingest(tmp_path / "src", tmp_path / "none", to="delta", compact=True, target_file_bytes=0)
    deltalake.write_deltalake(tmp_path / "other", pa.table({"x": [1]}))
    with pytest.raises(jelly.JellyError, match="made by no ingest"):
        compact_table(tmp_path / "other")


def test_the_command(tmp_path: Path) -> None:
    src, out = tmp_path / "src", str(tmp_path / "out")
    for number in range(2):
        source(src, number)
    run(store_of(out), src)
    done = CliRunner().invoke(cli, ["spark", "ingest", "--compact", "--target-size", "1M", "-o", out, "--json"])
    assert done.exit_code == 0, done.output
    assert '"compacted": 2' in done.stdout
    assert len(tables(store_of(out))) == 1
    source(src, 2)
    more = CliRunner().invoke(cli, ["spark", "ingest", str(src), "--to", "delta", "--compact", "-o", out])
    assert more.exit_code == 0, more.output
    assert len(tables(store_of(out))) == 1
    nothing = CliRunner().invoke(cli, ["spark", "ingest", "-o", out])
    assert (nothing.exit_code, "Missing argument 'SRC...'" in nothing.stderr) == (2, True)
