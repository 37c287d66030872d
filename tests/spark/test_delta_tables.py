"""Ingest into tables of Delta, which any reader of Delta sees before a run or after it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from click.testing import CliRunner
from store_jobs import HERE, run_here

import jelly
from jelly.cli.commands import cli
from jelly.spark import _ingest as room
from jelly.spark._ingest import compact_table, delta, ingest
from jelly.spark._ingest.delta import DeltaTasks

SETTINGS: list[dict[str, Any]] = [{}, {"partition_by": "graph"}, {"sort": ["predicate", "subject"]},
                                  {"layout": "ntriples", "partition_by": "predicate", "sort": ["object"]}]  # fmt: skip


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Ingest without Spark: tasks run one after the other, and are noted here."""
    ran: list[Any] = []
    monkeypatch.setattr(room, "_run", partial(run_here, ran=ran.append))
    monkeypatch.setattr(room._Session, "spark", None)
    return ran


def put(folder: Path, **versions: int) -> Counter[str]:
    """Files of 20 quads each, in two graphs and with two predicates; all objects of the folder."""
    folder.mkdir(exist_ok=True)
    for name, version in versions.items():
        (folder / f"{name}.nq").write_text(
            "".join(f'<a:{i}> <a:p{i % 2}> "{name} {version} {i}" <http://g/{i % 2}> .\n' for i in range(20))
        )
    return Counter(str(s.o) for path in folder.iterdir() for s in jelly.read(path))


def look(out: Path) -> Counter[str]:
    """The objects, in N-Triples, that readers of Delta see."""
    table = deltalake.DeltaTable(out).to_pyarrow_table()
    if "o" in table.column_names:
        return Counter(table["o"].to_pylist())
    return Counter(f'"{value}"' for value in table["object"].to_pylist())


def convert(src: Path, out: Path, **settings: Any) -> Any:
    return ingest(src, out, spark=HERE, to="delta", split_bytes=1, **settings)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_run_adds_what_is_missing(tmp_path: Path, run: list[Any], settings: dict[str, Any]) -> None:
    src, out = tmp_path / "src", tmp_path / "out"
    whole = put(src, a=1, b=1, c=1)
    done = convert(src, out, **settings)
    assert (done.sources, done.tasks, done.statements, look(out)) == (3, 3, 60, whole)
    assert done.bytes_written == sum(path.stat().st_size for path in out.rglob("*.parquet"))
    again = ingest(src, out, spark="a master that is not asked for", to="delta", split_bytes=1, **settings)
    assert (again.sources, again.done_before, deltalake.DeltaTable(out).version()) == (0, 3, 0)

    seen: list[Any] = []
    after = put(src, b=2, d=1)
    more = convert(src, out, **settings, progress=lambda *now: seen.append(look(out)))
    assert (more.sources, more.done_before, look(out)) == (2, 2, after)
    assert seen == [whole] * 3
    assert not (out / "_temporary").exists()

    before = len(deltalake.DeltaTable(out).file_uris())
    few = compact_table(out)
    assert (few.compacted, few.compacted_to) == (before, len(deltalake.DeltaTable(out).file_uris()))
    assert (look(out), compact_table(out).compacted) == (after, 0)

    # What shares a file with a source that has changed is read again with it, also after a compaction by others.
    changed = put(src, c=2)
    assert (convert(src, out, **settings).sources, look(out)) == (4, changed)
    deltalake.DeltaTable(out).optimize.compact()
    (src / "a.nq").unlink()
    told = convert(src, out, **settings)
    assert (told.vanished, told.sources, look(out)) == ([str(src / "a.nq")], 0, changed)
    pruned = convert(src, out, **settings, prune=True)
    assert (pruned.pruned, look(out)) == ([str(src / "a.nq")], put(src))
    with pytest.raises(jelly.JellyError, match="made with blank_nodes 'scope', not 'keep'"):
        convert(src, out, **settings, blank_nodes="keep")


@pytest.mark.parametrize("name", ["a%41", "a[1]", "a^b", "a|b", "a\\b", "a\tb"])
def test_a_path_that_deltalake_takes_for_another(tmp_path: Path, run: list[Any], name: str) -> None:
    """It panics, or makes the table and cannot open it: so nothing is written."""
    put(tmp_path / "src", a=1)
    with pytest.raises(jelly.JellyError, match="deltalake knows no table in a directory with"):
        convert(tmp_path / "src", tmp_path / name / "out")
    with pytest.raises(jelly.JellyError, match="deltalake knows no table in a directory with"):
        convert(tmp_path / "src", f"file://{tmp_path}/{name}/out")
    assert (run, os.listdir(tmp_path)) == ([], ["src"])


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_path_of_odd_characters(tmp_path: Path, run: list[Any], scheme: str) -> None:
    """In an address, too, they are those of the path: deltalake would make a fragment and a query of some."""
    whole = put(tmp_path / "src", a=1)
    out = tmp_path / "a% b&c='é'" / "d#e?f;g+h:i{j}日本" / "out"
    assert convert(tmp_path / "src", f"{scheme}{out}").statements == 20
    assert (look(out), convert(tmp_path / "src", f"{scheme}{out}").sources) == (whole, 0)
    assert sorted(os.listdir(tmp_path)) == [out.parent.parent.name, "src"]
    whole = put(tmp_path / "src", b=1)
    assert (convert(tmp_path / "src", out).sources, look(out)) == (1, whole)
    assert compact_table(f"{scheme}{out}").compacted_to == 1
    assert look(out) == whole


def test_a_sorted_table(tmp_path: Path, run: list[Any]) -> None:
    src, out = tmp_path / "src", tmp_path / "out"
    put(src, a=1, b=1, c=1)
    convert(src, out, sort=["predicate", "subject"])
    deltalake.DeltaTable(out).optimize.compact(target_size=2000)  # files that deltalake has written
    size = sum(path.stat().st_size for path in out.rglob("*.parquet"))
    done = compact_table(out, target_file_bytes=size // 8)
    assert done.compacted_to > 1
    # The files have ranges that do not overlap, in Delta's log too.
    files = pa.table(deltalake.DeltaTable(out).get_add_actions(flatten=True)).to_pylist()
    ranges = []
    for file in files:
        rows = pa.parquet.read_table(out / file["path"]).to_pylist()
        keys = [(row["predicate"], row["subject"]) for row in rows]
        assert (file["num_records"], file["min.object"]) == (len(rows), min(row["object"] for row in rows))
        assert (file["null_count.graph"], file["max.predicate"]) == (0, max(keys)[0])
        ranges.append(keys)
    found = [key for keys in sorted(ranges) for key in keys]
    assert (found, len(found)) == (sorted(found), 60)
    assert ingest(src, out, spark=HERE, to="delta", split_bytes=1, sort=["predicate", "subject"], compact=True
                  ).compacted == 0  # fmt: skip
    put(src, d=1)
    assert convert(src, out, sort=["predicate", "subject"], compact=True).compacted_to == 1
    assert len(deltalake.DeltaTable(out).file_uris()) == 1


def test_what_delta_knows_of_files(tmp_path: Path, run: list[Any]) -> None:
    """Readers skip files by it, and no file that has a row."""
    src, out = tmp_path / "src", tmp_path / "out"
    src.mkdir()
    values = ["\U0010ffff" * 3000, "c", "b" * 100, "b" * 63 + "\ud7ff!", "b" * 63 + "\U0010ffffx", "\U0001f600" * 70,
              ""]  # fmt: skip
    for number, value in enumerate(values):
        (src / f"{number}.nt").write_text(f'<a:s> <a:p> "{value}"{"@en" * (value == "c")} .\n')
        ingest(src, out, spark=HERE, to="delta")
    files = pa.table(deltalake.DeltaTable(out).get_add_actions(flatten=True)).to_pylist()
    found = dict(zip(values, reversed(files), strict=True))
    assert {(file["num_records"], file["null_count.graph"], file["min.graph"]) for file in files} == {(1, 1, None)}
    assert (found["c"]["null_count.lang"], found["c"]["min.lang"], found["c"]["max.object"]) == (0, "en", "c")
    for value, file in found.items():
        assert file["min.object"] <= value <= file["max.object"]
        assert max(len(file[f"{end}.object"]) for end in ("min", "max")) <= (3000 if len(value) == 3000 else 64)
        rows = deltalake.DeltaTable(out).to_pyarrow_table(filters=[("object", "=", value)])
        assert rows["object"].to_pylist() == [value]
    many = tmp_path / "many"
    ingest(src, many, spark=HERE, to="delta")
    [file] = pa.table(deltalake.DeltaTable(many).get_add_actions(flatten=True)).to_pylist()
    assert (file["min.object"], file["max.object"], file["null_count.lang"]) == ("", values[0], 6)


def die(*given: Any, **settings: Any) -> Any:
    raise KeyboardInterrupt


def test_a_killed_run_is_continued(tmp_path: Path, run: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    src, out = tmp_path / "src", tmp_path / "out"
    for versions in {"a": 1, "b": 1, "c": 1}, {"b": 2, "c": 2, "d": 1}:
        before = look(out) if out.exists() else None
        whole = put(src, **versions)
        with monkeypatch.context() as patch:
            patch.setattr(DeltaTasks, "sweep", lambda self: None)
            commit = DeltaTasks.commit
            patch.setattr(DeltaTasks, "commit", lambda self, done, do=commit: (do(self, done), len(run) < 2 or die()))
            with pytest.raises(KeyboardInterrupt):
                convert(src, out)
        assert len(run) == 2
        assert before is None or look(out) == before
        run.clear()
        (src / "e.nt").write_text('<a:s> <a:p> "e" .\n')
        done = convert(src, out)
        # Both tasks were found; a third was left, and the new file.
        assert (len(run), look(out)) == (2, whole + Counter(['"e"']))
        assert done.done_before == len(whole) // 20 + 1 - 2
        run.clear()
        (src / "e.nt").unlink()
        convert(src, out, prune=True)
        assert (look(out), (out / "_temporary").exists(), run) == (whole, False, [])


def test_a_source_that_changes_after_a_run_was_killed(
    tmp_path: Path, run: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    src, out = tmp_path / "src", tmp_path / "out"
    put(src, a=1)
    convert(src, out)
    for moment in ("publish", "_commit"):
        put(src, a=2, b=2)
        with monkeypatch.context() as patch:
            patch.setattr(DeltaTasks, moment, die)
            with pytest.raises(KeyboardInterrupt):
                convert(src, out)
        run.clear()
        whole = put(src, a=3)
        assert (convert(src, out).sources, len(run), look(out)) == (1, 1, whole)
        (src / "b.nq").unlink()
        convert(src, out, prune=True)


def test_a_task_whose_files_are_gone_is_done_again(
    tmp_path: Path, run: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    src, out = tmp_path / "src", tmp_path / "out"
    whole = put(src, a=1, b=1)
    with monkeypatch.context() as patch:
        patch.setattr(DeltaTasks, "publish", die)
        with pytest.raises(KeyboardInterrupt):
            convert(src, out)
    next((out / "_temporary").rglob("*.parquet")).unlink()
    run.clear()
    assert (convert(src, out).sources, len(run), look(out)) == (1, 1, whole)


def test_skipped_errors(tmp_path: Path, run: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    src, out = tmp_path / "src", tmp_path / "out"
    whole = put(src, a=1)
    (src / "b.nt").write_text("no statement\n")
    with pytest.raises(jelly.JellyFormatError, match=r"b\.nt: byte 0, line 1"):
        convert(src, out)
    run.clear()
    first = convert(src, out, on_error="skip")
    assert (len(run), len(first.errors), look(out)) == (1, 1, whole)  # the other was done before
    assert convert(src, out, on_error="skip").errors == first.errors
    with pytest.raises(jelly.JellyFormatError, match=r"skipped by an earlier run.*b\.nt: line 1"):
        convert(src, out)


def other_appends(out: Path) -> None:
    rows = deltalake.DeltaTable(out).to_pyarrow_table().slice(0, 1).to_pylist()
    rows[0]["object"] = "theirs"
    deltalake.write_deltalake(out, pa.Table.from_pylist(rows, deltalake.DeltaTable(out).to_pyarrow_table().schema),
                              mode="append")  # fmt: skip


def test_what_others_do_to_the_table_is_kept(tmp_path: Path, run: list[Any]) -> None:
    src, out, theirs = tmp_path / "src", tmp_path / "out", Counter(['"theirs"'])
    put(src, a=1, b=1)
    convert(src, out)
    other_appends(out)
    whole = put(src, b=2)
    assert (convert(src, out).sources, look(out)) == (1, whole + theirs)
    # Nobody knows which row of a file is whose when all are in one.
    compact_table(out)
    put(src, b=3)
    for _ in range(2):
        with pytest.raises(jelly.JellyError, match=r"others have changed the table \(WRITE in version 1\)"):
            convert(src, out)
    assert look(out) == whole + theirs
    (src / "b.nq").unlink()
    with pytest.raises(jelly.JellyError, match="ingest into another directory"):
        convert(src, out, prune=True)
    more = put(src, c=1)
    assert convert(src, out).sources == 1
    assert look(out) - more - theirs == Counter(f'"b 2 {i}"' for i in range(20))


def test_others_change_rows(tmp_path: Path, run: list[Any]) -> None:
    src, out = tmp_path / "src", tmp_path / "out"
    put(src, a=1, b=1)
    convert(src, out)
    deltalake.DeltaTable(out).delete("object = 'a 1 0'")
    whole = put(src, b=2) - Counter(['"a 1 0"'])
    assert (convert(src, out).sources, look(out)) == (1, whole)
    put(src, a=2)
    with pytest.raises(jelly.JellyError, match=r"\(DELETE in version 1\)"):
        convert(src, out)
    assert look(out) == whole


@pytest.mark.parametrize("is_first", [True, False])
def test_two_at_a_time(tmp_path: Path, run: list[Any], is_first: bool) -> None:
    """The first to commit wins. The other fails, and nothing is there twice."""
    src, out = tmp_path / "src", tmp_path / "out"
    if not is_first:
        put(src, z=1)
        convert(src, out)
    whole = put(src, a=1, b=1)
    other: list[Any] = []

    def second(*now: int) -> None:
        if not other:
            other.append(0)
            other.append(convert(src, out))

    with pytest.raises(jelly.JellyError, match="was given up|others have changed the table meanwhile|is not in"):
        convert(src, out, progress=second)
    assert (len(other), look(out)) == (2, whole)
    assert (convert(src, out).sources, look(out), (out / "_temporary").exists()) == (0, whole, False)


def between(monkeypatch: pytest.MonkeyPatch, do: Callable[[], Any]) -> None:
    """Do something once, immediately before a commit that has looked at the table."""
    active, left = DeltaTasks._active, [do]

    def look(self: DeltaTasks) -> Any:
        found = active(self)
        if self._ready or self._former:
            while left and self._table is not None:
                left.pop()()
        return found

    monkeypatch.setattr(DeltaTasks, "_active", look)


def test_a_table_that_is_made_in_between(tmp_path: Path, run: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two first runs look, and there is no table: one of them makes it."""
    src, out = tmp_path / "src", tmp_path / "out"
    whole = put(src, a=1)
    make, left = delta.create_table_with_add_actions, [True]

    def made_by_another(*given: Any, **settings: Any) -> None:
        if left.pop():
            left.append(False)
            convert(src, out)
        make(*given, **settings)

    monkeypatch.setattr(delta, "create_table_with_add_actions", made_by_another)
    with pytest.raises(jelly.JellyError, match="others have changed the table meanwhile: run this again"):
        convert(src, out)
    assert (look(out), convert(src, out).sources) == (whole, 0)


def test_a_commit_in_between(tmp_path: Path, run: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    src, out = tmp_path / "src", tmp_path / "out"
    put(src, a=1, b=1)
    convert(src, out)
    whole = put(src, c=1)
    with monkeypatch.context() as patch:
        between(patch, lambda: deltalake.DeltaTable(out).optimize.compact())
        convert(src, out)
    assert look(out) == whole
    # Files that must go were rewritten by others: the commit would leave their rows beside the new ones.
    whole = put(src, d=1)
    convert(src, out)
    changed = put(src, d=2)
    with monkeypatch.context() as patch:
        between(patch, lambda: deltalake.DeltaTable(out).optimize.compact())
        with pytest.raises(jelly.JellyError, match="others have changed the table meanwhile: run this again"):
            convert(src, out)
    assert look(out) == whole
    # The task of the changed file was done.
    assert (convert(src, out).sources, look(out)) == (3, changed)


def test_what_is_refused(tmp_path: Path, run: list[Any]) -> None:
    src, out = tmp_path / "src", tmp_path / "out"
    put(src, a=1)
    with pytest.raises(jelly.JellyOptionsError, match='layout "ids" makes tables in Parquet'):
        convert(src, out, layout="ids")
    with pytest.raises(jelly.JellyError, match="is not empty and is no table of Delta"):
        convert(src, src)
    ingest(src, tmp_path / "parquet", spark=HERE)
    with pytest.raises(jelly.JellyError, match="is not empty and is no table of Delta"):
        convert(src, tmp_path / "parquet")
    deltalake.write_deltalake(tmp_path / "other", pa.table({"x": [1]}))
    with pytest.raises(jelly.JellyError, match="made by no ingest"):
        convert(src, tmp_path / "other")
    with pytest.raises(jelly.JellyError, match="is not empty"):
        ingest(src, tmp_path / "other", spark=HERE)
    convert(src, out)
    [journal] = (out / "_ingest").iterdir()
    for text in ("{", None):
        journal.write_text(text) if text else journal.unlink()
        with pytest.raises(jelly.JellyError, match="the journal is gone or damaged"):
            convert(src, out)
    with pytest.raises(jelly.JellyError, match=r"^Delta: .*memory://x"):
        convert(src, "memory://x")  # type: ignore[arg-type]


def test_a_table_that_may_only_be_added_to(tmp_path: Path, run: list[Any]) -> None:
    src, out = tmp_path / "src", tmp_path / "out"
    put(src, a=1)
    convert(src, out)
    deltalake.DeltaTable(out).alter.set_table_properties({"delta.appendOnly": "true"})
    whole = put(src, b=1)
    convert(src, out)
    put(src, b=2)
    with pytest.raises(jelly.JellyError, match=r"^Delta: .*append"):
        convert(src, out)
    assert look(out) == whole


def test_an_empty_table(tmp_path: Path, run: list[Any]) -> None:
    src, out = tmp_path / "src", tmp_path / "out"
    src.mkdir()
    convert(src, out, allow_empty=True)
    assert (look(out), compact_table(out).compacted) == (Counter(), 0)
    whole = put(src, a=1)
    convert(src, out)
    assert look(out) == whole


def test_the_command(tmp_path: Path, run: list[Any]) -> None:
    src, out = tmp_path / "src", tmp_path / "out"
    whole = put(src, a=1, b=1)
    command = ["spark", "ingest", str(src), "-o", str(out), "--to", "delta", "--json"]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0, done.output
    assert (json.loads(done.stdout)["statements"], look(out)) == (40, whole)
    put(src, c=1)
    done = CliRunner().invoke(cli, [*command, "--compact"])
    assert json.loads(done.stdout)["compacted_to"] == 1, done.output
    done = CliRunner().invoke(cli, ["spark", "ingest", "-o", str(out), "--compact", "--json"])
    assert (done.exit_code, json.loads(done.stdout)["compacted"]) == (0, 0), done.output


def test_in_spark(spark: Any, tmp_path: Path) -> None:
    src, out = tmp_path / "src", tmp_path / "out"
    whole = put(src, a=1, b=1)
    ingest(src, out, spark=spark, to="delta", split_bytes=1, sort=["object"], partition_by="graph")
    assert look(out) == whole
    assert compact_table(out, spark=spark).compacted_to == 2
    whole = put(src, b=2)
    ingest(src, out, spark=spark, to="delta", split_bytes=1, sort=["object"], partition_by="graph", compact=True)
    assert (look(out), len(deltalake.DeltaTable(out).file_uris())) == (whole, 2)
