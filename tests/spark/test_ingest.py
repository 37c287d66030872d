"""Ingest and stats over many files, their journal, and the commands."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import deltalake
import pyarrow.dataset as dataset
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner
from readings import split
from rich.console import Console
from store_jobs import HERE, run_here

import jelly
from jelly.cli.commands import cli
from jelly.spark import _ingest as room
from jelly.spark import _store as swapping
from jelly.spark._ingest import ingest
from jelly.spark._ingest.tasks import DirectoryTasks
from jelly.spark._jobs import stats
from jelly.spark._parts.files import absolute, find_files
from jelly.spark._store import SUCCESS, TEMPORARY, Store
from jelly.stats import Counting

EX = "http://example.org/"


def triples(name: str, n: int) -> list[Any]:
    return [
        jelly.Triple(jelly.IRI(f"{EX}{name}/{i // 3}"), jelly.IRI(f"{EX}p{i % 3}"), jelly.Literal(str(i)))
        for i in range(n)
    ]


def quads(name: str, n: int) -> list[Any]:
    graph = jelly.IRI(EX + name)
    return [jelly.Quad(*triple, graph) for triple in triples(name, n)]


@pytest.fixture
def src(tmp_path: Path) -> Path:
    """Files of each kind; one is cut by its index where tasks are small."""
    folder = tmp_path / "src"
    (folder / "deep").mkdir(parents=True)
    jelly.write(folder / "large.jelly", triples("large", 20_000), seekable=True, keyframe_rows=4096)
    jelly.write(folder / "text.nt.gz", triples("text", 300))
    jelly.write(folder / "deep" / "quads.nq", quads("quads", 200))
    jelly.write(folder / "deep" / "quads.jelly", quads("more", 100))
    return folder


SMALL = 40_000  # bytes of a task: large.jelly is cut


def rows(folder: Path) -> Counter[tuple[Any, ...]]:
    """The statements of a directory of Parquet, without its partitions."""
    found: Counter[tuple[Any, ...]] = Counter()
    is_delta = (folder / "_delta_log").exists()
    for path in map(Path, deltalake.DeltaTable(folder).file_uris()) if is_delta else folder.rglob("*.parquet"):
        assert TEMPORARY not in path.parts
        table = parquet.ParquetFile(path).read()
        found.update(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
    return found


def expected(folder: Path) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(row.values())
        for file in find_files(folder)
        for row in jelly.read_arrow(file.path).read_all().to_pylist()
    )


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Ingest without Spark: tasks run one after the other, and the files of each are noted here."""
    ran: list[list[str]] = []

    def note(task: Any) -> None:
        ran.append(sorted({os.path.basename(part.file.path) for part in task}))

    monkeypatch.setattr(room, "_run", partial(run_here, ran=note))
    return ran


ADDED = r"sources have changed or are gone \(1\), such as {}, but a directory of files is only added to: its readers"


@pytest.mark.parametrize("to", ["parquet", "delta"])
def test_a_second_run_does_what_is_missing(src: Path, tmp_path: Path, run: list[list[str]], to: Any) -> None:
    out = tmp_path / "out"
    first = ingest(src, out, spark=HERE, split_bytes=SMALL, to=to)
    assert rows(out) == expected(src)
    assert first.tasks == len(run) > 3
    assert (first.sources, first.statements, first.files) == (4, 20_600, first.tasks)
    assert first.bytes_written == sum(path.stat().st_size for path in out.glob("*.parquet"))
    assert (out / "_SUCCESS").exists() == (to == "parquet")
    assert not (out / TEMPORARY).exists()

    run.clear()
    again = ingest(src, out, spark="a master that is not asked for", split_bytes=SMALL, to=to)
    assert (again.sources, again.done_before, again.statements, run) == (0, 4, 0, [])

    jelly.write(src / "new.jelly", triples("new", 10))
    jelly.write(src / "deep" / "quads.nq", quads("changed", 50))
    if to == "parquet":
        before = rows(out)
        with pytest.raises(jelly.JellyError, match=ADDED.format(src / "deep" / "quads.nq")):
            ingest(src, out, spark=HERE, split_bytes=SMALL)
        assert (rows(out), run) == (before, [])
        done = ingest(src / "new.jelly", out, spark=HERE)
        assert (done.files, rows(out)) == (1, before + expected(src / "new.jelly"))
        return
    third = ingest(src, out, spark=HERE, split_bytes=SMALL, to="delta")
    # What shares a task with the changed file is done again with it.
    assert {"new.jelly", "quads.nq"} <= {name for names in run for name in names}
    assert not {"large.jelly"} & {name for names in run for name in names}
    assert third.done_before >= 1
    assert rows(out) == expected(src)


def test_an_index_that_comes_or_goes_doubles_nothing(src: Path, tmp_path: Path, run: list[list[str]]) -> None:
    for name in ("a", "b"):
        shutil.copy(src / "large.jelly", tmp_path / f"{name}.jelly")
    jelly.write(src / "large.jelly", triples("large", 20_000), seekable=False)
    os.utime(src / "large.jelly", (1, 1))
    out = tmp_path / "out"
    ingest(src / "large.jelly", out, spark=HERE, split_bytes=SMALL)
    from jelly._dataset.seekable.sidecar import make_sidecar

    make_sidecar(src / "large.jelly", distance=4096, chunk=4096)
    run.clear()
    assert len(split(find_files(src / "large.jelly"), SMALL)) > 1
    ingest(src / "large.jelly", out, spark=HERE, split_bytes=SMALL)
    assert run == []  # it is done as a whole

    parts = tmp_path / "parts"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_run", lambda *given, do=room._run: (do(*given[:2], given[2][:-1], given[3]), die()))
        with pytest.raises(KeyboardInterrupt):  # all but the last task are done
            ingest(src / "large.jelly", parts, spark=HERE, split_bytes=SMALL)
    assert len(run) > 1
    (src / "large.jelly.idx").unlink()
    from jelly.spark import _parts as plan

    plan._cuts.clear()
    ingest(src / "large.jelly", parts, spark=HERE, split_bytes=SMALL)
    assert rows(parts) == expected(src / "large.jelly")


def die(*given: Any, **settings: Any) -> Any:
    raise KeyboardInterrupt


def killed(patch: pytest.MonkeyPatch) -> None:
    """From now on a run that is interrupted cleans up nothing, as if it were killed."""
    patch.setattr(DirectoryTasks, "sweep", lambda self: None)


def test_a_crash_loses_and_doubles_nothing(
    src: Path, tmp_path: Path, run: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        killed(patch)
        patch.setattr(DirectoryTasks, "commit", lambda *given, do=DirectoryTasks.commit: (
            do(*given) if len(run) < 2 else die()
        ))  # fmt: skip
        with pytest.raises(KeyboardInterrupt):
            ingest(src, out, spark=HERE, split_bytes=SMALL)
    assert not find_files(out)
    assert not (out / "_SUCCESS").exists()
    n = len(split(find_files(src), SMALL))
    run.clear()
    ingest(src, out, spark=HERE, split_bytes=SMALL)
    assert len(run) == n - 2  # the second one was found
    assert rows(out) == expected(src)
    assert sorted(path.name for path in out.iterdir() if path.name.startswith("_")) == ["_SUCCESS", "_ingest"]


def test_a_task_that_ends_after_its_job_may_have_lost_its_files(
    src: Path, tmp_path: Path, run: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        killed(patch)
        patch.setattr(DirectoryTasks, "publish", die)
        with pytest.raises(KeyboardInterrupt):
            ingest(src, out, spark=HERE, split_bytes=SMALL)
    next((out / TEMPORARY).rglob("*.parquet")).unlink()
    run.clear()
    ingest(src, out, spark=HERE, split_bytes=SMALL)
    assert len(run) == 1
    assert rows(out) == expected(src)


@pytest.mark.parametrize("is_first", [True, False])
def test_two_at_a_time(src: Path, tmp_path: Path, run: list[list[str]], is_first: bool) -> None:
    """The first to commit wins. The other fails, and nothing is there twice."""
    out = tmp_path / "out"
    if not is_first:
        ingest(src / "large.jelly", out, spark=HERE)
    other: list[Any] = []

    def second(*now: int) -> None:
        if not other:
            other.append(0)
            other.append(ingest(src, out, spark=HERE, split_bytes=SMALL))

    with pytest.raises(jelly.JellyError, match="was given up|others have changed the table meanwhile|is not in"):
        ingest(src, out, spark=HERE, split_bytes=SMALL, progress=second)
    assert (len(other), rows(out)) == (2, expected(src))
    again = ingest(src, out, spark=HERE, split_bytes=SMALL)
    assert (again.sources, rows(out), (out / TEMPORARY).exists()) == (0, expected(src), False)


@pytest.mark.parametrize("others", [1, 2])
def test_others_commit_meanwhile(
    src: Path, tmp_path: Path, run: list[list[str]], monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    """A journal counts if it is the first of its number; one whose number was taken, and is free again, does not."""
    out = tmp_path / "out"
    ingest(src / "large.jelly", out, spark=HERE)
    for number in range(others):
        jelly.write(tmp_path / f"{number}.nt", triples(str(number), 3))

    def publish(self: DirectoryTasks, do: Any = DirectoryTasks.publish) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(DirectoryTasks, "publish", do)
            for number in range(others):
                ingest(tmp_path / f"{number}.nt", out, spark=HERE)
        do(self)

    with monkeypatch.context() as patch:
        patch.setattr(DirectoryTasks, "publish", publish)
        with pytest.raises(jelly.JellyError, match="others have changed the table meanwhile: run this again"):
            ingest(src / "text.nt.gz", out, spark=HERE)
    assert sum(rows(out).values()) == 20_000 + 3 * others
    ingest(src / "text.nt.gz", out, spark=HERE)
    assert sum(rows(out).values()) == 20_300 + 3 * others
    assert [path.name for path in (out / "_ingest").iterdir()] == [f"{others + 2}.json"]


def test_broken_files(src: Path, tmp_path: Path, run: list[list[str]]) -> None:
    out = tmp_path / "out"
    data = (src / "large.jelly").read_bytes()
    (src / "deep" / "cut.jelly").write_bytes(data[: len(data) // 2])
    (src / "deep" / "lines.nt").write_text("<a:s> <a:p> <a:o> .\nno statement\n<a:s> <a:p> <a:x> .\n")
    with pytest.raises(jelly.JellyError, match=r"cut.jelly: frame \d+, byte \d+"):
        ingest(src, out, spark=HERE)
    assert not list(out.glob("*.parquet"))
    assert not (out / "_SUCCESS").exists()
    # Nothing was made with the settings of the first run, so the next may have others.
    with pytest.raises(jelly.JellyError, match="cut.jelly"):
        ingest(src, out, spark=HERE, split_bytes=SMALL, layout="ntriples")
    done = ingest(src, out, spark=HERE, split_bytes=SMALL, on_error="skip", layout="ntriples")
    assert (out / "_SUCCESS").exists()
    found = {os.path.basename(error.file or ""): error for error in done.errors}
    assert found.keys() == {"cut.jelly", "lines.nt"}
    assert found["lines.nt"].line == 2
    assert found["cut.jelly"].frame is not None
    assert found["cut.jelly"].offset is not None
    assert json.loads(json.dumps(done.as_dict()))["errors"][0]["file"].startswith(str(src))


def test_partitions(src: Path, tmp_path: Path, run: list[list[str]]) -> None:
    ingest(src, tmp_path / "p", spark=HERE, partition_by="predicate")
    folders = sorted(path.name for path in (tmp_path / "p").glob("[!_]*"))
    assert folders == [f"predicate=http%3A%2F%2Fexample.org%2Fp{i}" for i in range(3)]
    assert sum(rows(tmp_path / "p").values()) == 20_600
    ingest(src, tmp_path / "g", spark=HERE, partition_by="graph", layout="ntriples")
    assert len(list((tmp_path / "g").glob("[!_]*"))) == 3
    for name, settings in {"p": {"partition_by": "graph"}, "g": {}}.items():
        with pytest.raises(jelly.JellyError, match="the directory was made with"):
            ingest(src, tmp_path / name, spark=HERE, **settings)


def test_sorted_tables(src: Path, tmp_path: Path, run: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    ingest(src, out, spark=HERE, sort=["predicate", "subject"])
    [path] = out.glob("*.parquet")  # of all four sources
    keys = [(row["predicate"], row["subject"]) for row in parquet.read_table(path).to_pylist()]
    assert keys == sorted(keys)
    assert rows(out) == expected(src)
    with pytest.raises(jelly.JellyError, match=r"made with sort \['predicate', 'subject'\], not \[\]"):
        ingest(src, out, spark=HERE)
    monkeypatch.setattr("jelly.spark._ingest.buckets.RUN_ROWS", 1)
    ingest(src / "large.jelly", tmp_path / "runs", spark=HERE, sort=["object"], layout="ntriples", partition_by="graph")
    assert sum(rows(tmp_path / "runs").values()) == 20_000
    [path] = (tmp_path / "runs").rglob("*.parquet")
    objects = parquet.ParquetFile(path).read()["o"].to_pylist()
    assert 0 < sum(one > two for one, two in zip(objects, objects[1:], strict=False)) < 10
    for settings in ({"sort": ["p"]}, {"sort": ["subject"], "to": "jelly"}):
        with pytest.raises((jelly.JellyOptionsError, jelly.JellyArgumentError), match="sort"):
            ingest(src, tmp_path / "none", **settings)  # type: ignore[arg-type]


def test_directories_name_graphs(tmp_path: Path, run: list[list[str]]) -> None:
    folder = tmp_path / "src" / "graph=http%3A%2F%2Fexample.org%2Fg"
    folder.mkdir(parents=True)
    jelly.write(folder / "x.nt", triples("x", 3))
    ingest(tmp_path / "src", tmp_path / "out", spark=HERE)
    assert {row[-1] for row in rows(tmp_path / "out")} == {"http://example.org/g"}
    ingest(tmp_path / "src", tmp_path / "plain", spark=HERE, partitions=False)
    assert {row[-1] for row in rows(tmp_path / "plain")} == {None}
    with pytest.raises(jelly.JellyError, match="made with partitions False, not None"):
        ingest(tmp_path / "src", tmp_path / "plain", spark=HERE)


def test_to_jelly(src: Path, tmp_path: Path, run: list[list[str]]) -> None:
    ingest(src, tmp_path / "out", spark=HERE, to="jelly", split_bytes=SMALL)
    assert expected(tmp_path / "out") == expected(src)
    for path in (tmp_path / "out").glob("*.jelly"):
        with jelly.open(path) as file:
            assert (file.options.physical_type.name == "QUADS") == path.stem.endswith("-quads")


def test_jelly_1_2_stays_jelly_1_2(src: Path, tmp_path: Path, run: list[list[str]]) -> None:
    """Its triple terms are none of RDF-star, which a stream of rows would make of them."""
    text = b'<a:s> <a:p> <<( <a:s> <a:p> "x"@en--ltr )>> .\n<a:s> <a:p> <a:o> .\n'
    jelly.write(src / "new.jelly", jelly.read(text, format="nt"), {"version": 3})
    ingest(src, tmp_path / "out", spark=HERE, to="jelly")
    kept = []
    for path in (tmp_path / "out").glob("*.jelly"):
        options = jelly.read_options(path)
        assert (options.version == 3) == path.stem.endswith("-1.2")
        kept += jelly.read(path) if options.version == 3 else []
    assert set(kept) == set(jelly.read(text, format="nt"))


def test_what_is_refused(src: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        ingest(src / "nowhere", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(jelly.JellyError, match="has no .* of an ingest"):
        ingest(src, src)
    with pytest.raises(jelly.JellyOptionsError, match="Parquet only"):
        ingest(src, tmp_path / "out", to="jelly", partition_by="graph")
    (tmp_path / "out" / "_ingest").mkdir(parents=True)
    (tmp_path / "out" / "_ingest" / "1.json").write_text("{}\n")
    with pytest.raises(jelly.JellyError, match="damaged"):
        ingest(src, tmp_path / "out")


def test_nothing_to_read_is_an_error(src: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for given, settings in ((tmp_path / "empty", {}), (src, {"glob": "*.jelyl"})):
        with pytest.raises(FileNotFoundError, match=rf"PATH_NOT_FOUND.*no files to read in {given}"):
            ingest(given, tmp_path / "out", **settings)
        with pytest.raises(FileNotFoundError, match=rf"PATH_NOT_FOUND.*no files to read in {given}"):
            stats(given, **settings)
        assert not (tmp_path / "out").exists()
    done = ingest(tmp_path / "empty", tmp_path / "out", allow_empty=True)
    assert (done.sources, done.statements, (tmp_path / "out" / SUCCESS).exists()) == (0, 0, True)
    assert stats(tmp_path / "empty", allow_empty=True)[0].statements == 0


def test_skipped_errors_are_told_by_each_run(src: Path, tmp_path: Path, run: list[list[str]]) -> None:
    out = tmp_path / "out"
    (src / "lines.nt").write_text("<a:s> <a:p> <a:o> .\nno statement\n")
    first = ingest(src, out, spark=HERE, on_error="skip", split_bytes=SMALL)
    run.clear()
    again = ingest(src, out, spark=HERE, on_error="skip", split_bytes=SMALL)
    assert again.errors == first.errors != []
    assert run == []
    before = (out / "_ingest" / "1.json").read_bytes()
    with pytest.raises(jelly.JellyFormatError, match=r"skipped by an earlier run.*lines\.nt: line 2"):
        ingest(src, out, spark=HERE, split_bytes=SMALL)
    assert (out / "_ingest" / "1.json").read_bytes() == before
    assert {task["on_error"] for task in json.loads(before)["tasks"]} == {"skip"}
    # Other sources do not fail, nor does the file when it is whole.
    assert ingest(src / "large.jelly", out, spark=HERE, split_bytes=SMALL).errors == []
    (src / "lines.nt").write_text("<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:x> .\n")
    with pytest.raises(jelly.JellyError, match=ADDED.format(src / "lines.nt")):
        ingest(src, out, spark=HERE, split_bytes=SMALL)
    assert ingest(src, tmp_path / "new", spark=HERE, split_bytes=SMALL).errors == []
    assert rows(tmp_path / "new") == expected(src)


def test_sources_that_are_gone_are_told_and_pruned(src: Path, tmp_path: Path, run: list[list[str]]) -> None:
    out, gone = tmp_path / "out", src / "deep" / "quads.nq"
    ingest(src, out, spark=HERE, to="delta")
    ingest(src, tmp_path / "files", spark=HERE)
    run.pop()
    assert len(run) == 1  # all files share a task
    whole = rows(out)
    gone.unlink()
    told = ingest(src, out, spark=HERE, to="delta")
    assert (told.vanished, told.pruned, rows(out) == whole) == ([str(gone)], [], True)
    # Files that were not named are not gone.
    assert ingest(src / "large.jelly", out, spark=HERE, glob="l*", to="delta").vanished == [str(gone)]
    pruned = ingest(src, out, spark=HERE, prune=True, to="delta")
    assert (pruned.vanished, pruned.pruned) == ([], [str(gone)])
    assert rows(out) == expected(src)
    assert ingest(src, out, spark=HERE, prune=True, to="delta").pruned == []
    assert ingest(src, tmp_path / "files", spark=HERE).vanished == [str(gone)]
    with pytest.raises(jelly.JellyError, match=ADDED.format(gone)):
        ingest(src, tmp_path / "files", spark=HERE, prune=True)
    assert rows(tmp_path / "files") == whole


def test_an_error_is_told_once_if_its_task_is_done_again(src: Path, tmp_path: Path, run: list[list[str]]) -> None:
    (src / "lines.nt").write_text("<a:s> <a:p> <a:o> .\nno statement\n")
    ingest(src, tmp_path / "out", spark=HERE, on_error="skip", to="delta")
    (src / "text.nt.gz").unlink()
    assert len(ingest(src, tmp_path / "out", spark=HERE, on_error="skip", prune=True, to="delta").errors) == 1
    assert len(run) == 2


def test_a_changed_source_takes_no_other_with_it(src: Path, tmp_path: Path, run: list[list[str]]) -> None:
    out = tmp_path / "out"
    ingest(src, out, spark=HERE, to="delta")
    assert len(run) == 1  # all files share a task
    jelly.write(src / "text.nt.gz", triples("changed", 30))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_run", die)
        with pytest.raises(KeyboardInterrupt):
            ingest(src / "text.nt.gz", out, spark=HERE, to="delta")
    # The run with one file does the others too, even after a crash.
    ingest(src / "text.nt.gz", out, spark=HERE, to="delta")
    assert rows(out) == expected(src)


def test_files_that_are_no_rdf_are_told_before_the_job(src: Path, tmp_path: Path, run: list[list[str]]) -> None:
    out = tmp_path / "out"
    whole = expected(src)
    for name in ("README.md", "x.csv"):
        (src / name).write_text("a list of things")
    for job in (lambda: ingest(src, out, spark="no master"), lambda: stats(src, spark="no master")):
        with pytest.raises(jelly.JellyError, match=r"\(2\): .*README.md, .*x.csv; skip_unknown=True leaves them out"):
            job()
    assert not out.exists()
    done = ingest(src, out, spark=HERE, skip_unknown=True)
    assert (done.unknown, done.sources, done.errors) == ([f"{src}/README.md", f"{src}/x.csv"], 4, [])
    assert rows(out) == whole
    with pytest.raises(FileNotFoundError, match="no files to read"):
        ingest(src, tmp_path / "none", glob="*.md", skip_unknown=True)
    listed = ingest(src, tmp_path / "skip", spark=HERE, on_error="skip")
    assert [os.path.basename(error.file or "") for error in listed.errors] == ["README.md", "x.csv"]


def test_readers_see_whole_tables(src: Path, tmp_path: Path, run: list[list[str]]) -> None:
    out = tmp_path / "out"
    ingest(src, out, spark=HERE, split_bytes=SMALL)
    before, run_here = dataset.dataset(out).to_table(), room._run
    jelly.write(src / "more.jelly", triples("more", 20_000), seekable=True, keyframe_rows=4096)
    seen: list[bool] = []

    def look(*now: int) -> None:
        seen.append(dataset.dataset(out).to_table() == before and (out / SUCCESS).exists())

    def run_and_die(*given: Any) -> None:
        run_here(*given)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_run", run_and_die)
        with pytest.raises(KeyboardInterrupt):
            ingest(src, out, spark=HERE, split_bytes=SMALL, progress=look)
    assert len(seen) > 2
    assert all(seen)
    look()
    assert seen[-1]
    run.clear()
    ingest(src, out, spark=HERE, split_bytes=SMALL)
    assert run == []
    assert rows(out) == expected(src)
    assert not (out / TEMPORARY).exists()


@pytest.mark.parametrize("moment", [1, 2])
def test_a_crash_while_publishing_is_completed(
    src: Path, tmp_path: Path, run: list[list[str]], monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    out = tmp_path / "out"
    ingest(src, out, spark=HERE, split_bytes=SMALL, partition_by="graph")
    before = find_files(out)
    jelly.write(src / "more.jelly", quads("more", 20_000), seekable=True, keyframe_rows=4096)
    calls = 0

    def crash(store: Store, files: Any, do: Any = Store.publish) -> None:
        nonlocal calls
        calls += 1
        if calls == moment:
            raise KeyboardInterrupt
        do(store, files)

    with monkeypatch.context() as patch:
        killed(patch)
        patch.setattr(swapping, "_AT_A_TIME", 1)
        patch.setattr(Store, "publish", crash)
        with pytest.raises(KeyboardInterrupt):
            ingest(src, out, spark=HERE, split_bytes=SMALL, partition_by="graph")
    # Readers of this package see the table before.
    assert find_files(out) == before
    assert not (out / SUCCESS).exists()
    run.clear()
    # A run that fails completes it too.
    (tmp_path / "bad.nt").write_text("no statement")
    with pytest.raises(jelly.JellyError, match=r"bad\.nt"):
        ingest(tmp_path / "bad.nt", out, spark=HERE, split_bytes=SMALL, partition_by="graph")
    assert run == []
    assert (out / SUCCESS).exists()
    assert sum(rows(out).values()) == 40_600


def test_a_full_disk(src: Path, tmp_path: Path, run: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("jelly._bytes.sink.Sink.write", full)
        with pytest.raises(OSError, match="No space left"):
            ingest(src, tmp_path / "out", spark=HERE)
    assert not list((tmp_path / "out").iterdir())


# ---- statistics

def test_counts_that_are_merged_are_those_of_the_whole(src: Path) -> None:
    whole, parts = Counting(), [Counting(), Counting()]
    for i, batch in enumerate(jelly.scan(src / "large.jelly", batch_rows=999).batches()):
        whole.add(batch)
        parts[i >= 7].add(batch)
    parts[0].merge(parts[1])
    one, two = (counting.result().as_dict() for counting in (whole, parts[0]))
    assert sum(one.pop("runs").values()) <= sum(two.pop("runs").values())
    assert one == two


# ---- in Spark

@pytest.mark.every_spark
def test_ingest_and_stats_in_spark(spark: Any, src: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int, int]] = []
    out = tmp_path / "out"
    done = ingest(src, out, spark=spark, split_bytes=SMALL, progress=lambda *now: seen.append(now))
    assert done.tasks == len(seen) - 1 == len(split(find_files(absolute(src)), SMALL))
    assert (seen[0], seen[-1]) == ((0, done.bytes_read, 0), (done.bytes_read, done.bytes_read, 20_600))
    assert rows(out) == expected(src)
    table = spark.read.parquet(str(out))
    assert table.columns == ["subject", "predicate", "object", "object_kind", "datatype", "lang", "graph"]
    assert table.where("graph is not null").count() == 300

    (src / "README.md").write_text("a list of things")
    found, errors, unknown = stats(src, spark=spark, split_bytes=SMALL, top=2, skip_unknown=True)
    assert (found.statements, found.graphs.distinct, found.subjects, errors) == (20_600, 3, 6868, [])
    assert unknown == [str(src / "README.md")]
    counted = table.groupBy("predicate").count().collect()
    assert found.predicates.total == sum(row["count"] for row in counted)
    assert all(row["count"] == found.predicates.top.get(row.predicate, row["count"]) for row in counted)


@pytest.mark.jvm("descriptions of jobs")
def test_the_ui_shows_what_the_jobs_are(spark: Any, src: Path, tmp_path: Path) -> None:
    ingest(src, tmp_path / "out", spark=spark)
    stats(src, spark=spark)
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    told = [jobs.apply(i).description() for i in range(jobs.size())]
    shown = {text.get() for text in told if text.isDefined()}
    size = sum(file.size for file in find_files(src))
    assert {f"jelly spark {job}: 4 files, {size / 1e6:.1f} MB" for job in ("ingest", "stats")} <= shown
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None


def test_a_broken_file_in_spark(spark: Any, src: Path, tmp_path: Path) -> None:
    (src / "bad.jelly").write_bytes(b"\x05hello")
    with pytest.raises(jelly.JellyFormatError, match=r"bad.jelly: frame 0, row 0, byte 4"):
        ingest(src, tmp_path / "out", spark=spark, split_bytes=1)
    with pytest.raises(jelly.JellyFormatError, match=r"bad.jelly: frame 0, row 0, byte 4"):
        stats(src, spark=spark)
    # What other tasks had done is kept.
    (src / "bad.jelly").unlink()
    ingest(src, tmp_path / "out", spark=spark, split_bytes=1)
    assert rows(tmp_path / "out") == expected(src)


def test_what_a_worker_raises_is_told_plainly(spark: Any, src: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copy(src / "large.jelly", tmp_path / "x.jelly")

    def gone(*given: Any) -> None:
        os.unlink(tmp_path / "x.jelly")

    done = find_files(tmp_path / "x.jelly")
    assert len(done) == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_run", lambda *given, run=room._run: (gone(), run(*given)))
        with pytest.raises(jelly.JellyError, match="a task failed: FileNotFoundError.*x.jelly"):
            ingest(tmp_path / "x.jelly", out, spark=spark)
    assert not list(out.glob("*.parquet"))


def test_the_commands(src: Path, tmp_path: Path, run: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    import contextlib

    monkeypatch.setattr(room, "session", lambda *given: contextlib.nullcontext(HERE))
    (src / "bad.jelly").write_bytes(b"\x05hello")
    command = ["spark", "ingest", str(src), "-o", str(tmp_path / "out"), "--to", "delta"]
    failed = CliRunner().invoke(cli, command)
    assert failed.exit_code == 1
    assert failed.stderr.startswith(f"error: {src}/bad.jelly: frame 0, row 0, byte 4:")
    done = CliRunner().invoke(cli, [*command, "--skip-errors", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["statements"] == 20_600
    assert "bad.jelly: frame 0" in done.stderr
    again = CliRunner().invoke(cli, [*command, "--skip-errors"])
    assert "done before" in again.stdout
    other = CliRunner().invoke(cli, [*command, "--skip-errors", "--blank-nodes", "keep"])
    assert (other.exit_code, "made with --blank-nodes 'scope', not 'keep'" in other.stderr) == (1, True)
    bare = CliRunner().invoke(cli, [*command, "--blank-nodes", "skolemize"])
    assert (bare.exit_code, "set --skolem-base to one" in bare.stderr) == (1, True)
    assert "skipped broken input, 1 errors:\n" in again.stderr
    failed = CliRunner().invoke(cli, command)
    assert (failed.exit_code, "skipped by an earlier run" in failed.stderr) == (1, True)
    (src / "bad.jelly").unlink()
    told = CliRunner().invoke(cli, command)
    assert (told.exit_code, f"use --prune, 1 files:\n  {src}/bad.jelly" in told.stderr) == (0, True)
    pruned = CliRunner().invoke(cli, [*command, "--prune"])
    assert f"are gone, the statements of 1 files:\n  {src}/bad.jelly" in pruned.stderr
    (src / "README.md").write_text("a list of things")
    unknown = CliRunner().invoke(cli, command)
    assert (unknown.exit_code, "README.md; --skip-unknown leaves them out" in unknown.stderr) == (1, True)
    left_out = CliRunner().invoke(cli, [*command, "--skip-unknown"])
    assert (left_out.exit_code, "README.md" in left_out.stderr) == (0, True)
    unsorted = CliRunner().invoke(cli, [*command, "--skip-unknown", "--sort", "graph, predicate"])
    assert "made with sort [], not ['graph', 'predicate']" in unsorted.stderr
    nothing = CliRunner().invoke(cli, [*command, "--glob", "*.jelyl"])
    assert (nothing.exit_code, "no files to read" in nothing.stderr) == (1, True)
    assert CliRunner().invoke(cli, [*command, "--glob", "*.jelyl", "--allow-empty"]).exit_code == 0
    wrong = CliRunner().invoke(cli, [*command, "--conf", "nothing"])
    assert (wrong.exit_code, "NAME=VALUE" in wrong.stderr) == (2, True)


def test_the_progress_of_an_ingest_has_bytes(
    src: Path, tmp_path: Path, run: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    import contextlib

    from jelly.cli import common, display

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(display, "PATIENCE", 0)
    monkeypatch.setattr(display, "Console", lambda **given: Console(file=terminal, force_terminal=True))
    monkeypatch.setattr(common.sys, "stderr", terminal)
    monkeypatch.setattr(room, "session", lambda *given: contextlib.nullcontext(HERE))
    with common.progress_bar("Ingesting", in_bytes=True) as progress:
        done = ingest(src, tmp_path / "out", spark=HERE, split_bytes=SMALL, progress=progress)
    size = f"{done.bytes_read / 1000:.1f}"
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
    assert f"{size}/{size} kB" in shown
    assert f"0.0/{size} kB" in shown  # from the beginning, as the first task may take long
    # The time that is left, from the rate of all tasks so far, though they end minutes apart.
    now = [0.0]
    monkeypatch.setattr(display, "Progress", partial(display.Progress, get_time=lambda: now[0]))
    with display.progress("Ingesting", in_bytes=True) as update:
        for done_bytes in (0, 100, 200):
            update(done_bytes, 1000, 1)
            now[0] += 300
    assert " 40:00" in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())


def test_the_command_stats(spark: Any, src: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import contextlib

    monkeypatch.setattr("jelly.spark._jobs.session", lambda *given: contextlib.nullcontext(spark))
    picture = tmp_path / "x.png"
    command = ["spark", "stats", str(src), "--json", "--plot", str(picture)]
    (src / "README.md").write_text("a list of things")
    done = CliRunner().invoke(cli, [*command, "--skip-unknown"])
    assert done.exit_code == 0, done.output
    assert done.stderr == f"left out, with the suffix of no format, 1 files:\n  {src}/README.md\n"
    found = json.loads(done.stdout)
    assert (found["statements"], found["subjects"], found["objects"]) == (20_600, 6868, 0)
    assert picture.stat().st_size > 10_000
