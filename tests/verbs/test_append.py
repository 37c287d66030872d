"""`jelly.append`: what stands in the file afterwards, its index, and what a kill leaves."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import threading
import time
import warnings
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support import steps
from support.column_writer import Writer
from support.oracle import plain_all
from support.shared import shared

import jelly
from jelly import IRI, Literal, Quad, Triple, messages
from jelly.cli.commands import cli
from jelly.errors import JellyArgumentError, JellyError

LONG = bool(os.environ.get("JELLY_LONG"))
VOCABS = ("data", "vocabs-quads", "vocabs.nq.gz")
MORE = [Triple(IRI(f"a:s{i % 7}"), IRI("a:p"), Literal(str(i))) for i in range(1000)]


def quads(rows: list[Any]) -> list[Quad]:
    return [row if len(row) == 4 else Quad(*row, None) for row in rows]


def check(path: Path, expected: list[Any], indexed: bool) -> None:
    """The file has these statements, for readers of the stream and for those of the index, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(jelly.read(path)) == expected
        assert jelly.validate(path) == []
        if not indexed:
            with pytest.raises(JellyError, match="has no index"):
                jelly.JellyFile(path)
            return
        with jelly.open(path) as file:
            assert len(file) == len(expected)
            assert file.n_frames == sum(1 for _ in jelly.scan(path).frames())
            assert [s for batch in file.batches(2) for s in batch] == expected
            dice = random.Random(len(expected))
            for _ in range(10):
                at = dice.randrange(len(expected))
                assert file[at : at + 5] == expected[at : at + 5]


@pytest.mark.parametrize("seekable", [True, False])
def test_again_and_again(seekable: bool, tmp_path: Path) -> None:
    path, source = tmp_path / "x.jelly", tmp_path / "more.nt"
    expected: list[Any] = list(islice(jelly.read(shared(*VOCABS)), 3000))
    jelly.write(path, expected, {"version": 2}, seekable=seekable, keyframe_rows=1000)
    jelly.write(source, MORE)
    start = jelly.scan(path).batches()
    first = next(start).options
    # One frame, many frames, and a keyframe among them.
    for n in (1, 700, 1, 1000, 3):
        rows = MORE[:n]
        jelly.write(source, rows)
        before = path.stat().st_size
        assert jelly.append(source, path, keyframe_rows=300) == n
        expected += quads(rows)
        check(path, expected, seekable)
        assert path.stat().st_size > before
    assert next(jelly.scan(path).batches()).options == first
    # A row of options stands at the start only, and no index within the file.
    assert path.read_bytes().count(b"jelly.index") == seekable
    assert jelly.append(b"", path, format="nt") == 0
    check(path, expected, seekable)


def test_a_file_that_is_not_there_is_written(tmp_path: Path) -> None:
    path = tmp_path / "new.jelly"
    assert jelly.append(b"<a:s> <a:p> <a:o> .", path, format="nt") == 1
    check(path, [Triple(IRI("a:s"), IRI("a:p"), IRI("a:o"))], True)


@pytest.mark.parametrize("name", ["quads", "graphs", "grouped", "empty"])
def test_streams_of_all_kinds(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    rows: list[Any] = [Quad(IRI("a:s"), IRI("a:p"), Literal(str(i)), IRI(f"a:g{i // 10}")) for i in range(100)]
    types: dict[str, dict[str, Any]] = {
        "quads": {"physical_type": 2}, "graphs": {"physical_type": 3}, "empty": {"physical_type": 2},
        "grouped": {"physical_type": 2, "logical_type": jelly.LogicalType.DATASETS},
    }  # fmt: skip
    rows = [] if name == "empty" else rows
    jelly.write(path, rows, types[name], seekable=True)
    other = tmp_path / "other.jelly"
    more = [Quad(IRI("a:s"), IRI("a:p"), Literal(str(i)), IRI(f"a:g{i % 3}")) for i in range(50)]
    jelly.write(other, more)
    for _ in range(2):
        assert jelly.append([other, other], path, blank_nodes="keep") == 100
        rows += more * 2
        check(path, rows, True)


def test_blank_nodes_of_others_are_others(tmp_path: Path) -> None:
    path, source = tmp_path / "x.jelly", tmp_path / "y.nt"
    source.write_bytes(b"_:b <a:p> <a:o> .")
    jelly.convert(source, path, seekable=True)
    jelly.append(source, path)
    jelly.append(source, path, blank_nodes="keep")
    subjects = [statement.s for statement in jelly.read(path)]
    assert subjects[0] == subjects[2] != subjects[1]


@pytest.mark.parametrize("version", [2, 3])
def test_each_file_is_a_message_of_a_log(version: int, tmp_path: Path) -> None:
    """A file of text is one, those of a log stay, and a file of no statements is none."""
    path, log, text, table, empty = (tmp_path / name for name in ("x.jelly", "l.jelly", "a.nq", "b.csv", "c.nq"))
    rows = [Quad(IRI("a:s"), IRI("a:p"), Literal(str(i)), IRI("a:g")) for i in range(600)]
    for name, parts in ((path, (1, 2)), (log, (3, 0, 4))):
        messages.write_messages(name, [rows[:n] for n in parts], options={"version": version})
    for name, n in ((text, 5), (table, 600), (empty, 0)):
        jelly.write(name, rows[:n])
    sources = [text, text, log, table, empty, log]
    assert jelly.append(sources, path) == 5 + 5 + 7 + 600 + 7
    assert [len(one) for one in messages.read_messages(path)] == [1, 2, 5, 5, 3, 0, 4, 600, 3, 0, 4]
    for threads in (1, 2):
        jelly.convert([log, *sources], path, threads=threads)
        found = [len(one) for one in messages.read_messages(path)]
        assert found == [3, 0, 4, 5, 5, 3, 0, 4, 600, 3, 0, 4]
        assert found == [len(frame) for frame in jelly.scan([log, *sources]).frames() if len(frame) or frame.index != 9]


@pytest.mark.parametrize("index", [None, "terms"])
def test_blank_nodes_of_a_file_that_was_appended_before_are_others(index: Any, tmp_path: Path) -> None:
    """A file of today has the name of that of yesterday, and its labels."""
    path, today = tmp_path / "x.jelly", tmp_path / "today.nt"
    jelly.write(path, [], seekable=True, index=index)
    for name in ("Ann", "Bob", "Eve"):
        today.write_text(f'_:b <a:name> "{name}" .\n_:b <a:likes> _:b .\n')
        jelly.append([today, today], path)
    rows = list(jelly.read(path))
    assert (len(rows), len({row.s for row in rows})) == (12, 3)
    assert all(row.o == row.s for row in rows[1::2])
    for _ in range(2):
        jelly.append(today, path, blank_nodes="skolemize", skolem_base="https://e.org")
    assert len({row.s for row in jelly.read(path)}) == 4


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(("name", "index"), [("x.jelly", None), ("x.jelly", "terms"), ("x.jelly.zst", "terms")])
def test_what_the_stream_does_not_allow(name: str, index: Any, version: int, late: bool, tmp_path: Path) -> None:
    """The file is written anew, with its version, frames, metadata, namespaces, index and filters."""
    path = tmp_path / name
    options = {"version": version, "physical_type": 1, "logical_type": 3, "stream_name": "n"}
    with jelly.Writer(path, options, seekable=True, index=index, keyframe_rows=1000) as writer:
        writer.namespace("e", "http://e/")
        for number in range(2):
            writer.extend(MORE)
            writer.end_frame({"k": b"%d" % number})
    before = list(jelly.read(path))
    more = [b"<a:s> <a:p> <a:%d> .\n" % i for i in range(20_000 * late)]
    for n, data in enumerate((b"<a:s> <a:p> <a:o> <a:g> .", b"<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> ."), 1):
        assert jelly.append(b"".join(more) + data, path, format="nq", keyframe_rows=1000) == len(more) + 1
        assert len(list(jelly.read(path))) == len(before) + n * (len(more) + 1)
    found = list(jelly.read(path))
    assert [tuple(x[:3]) for x in found[: len(before)]] == [tuple(x[:3]) for x in before]
    assert found[-1].o == jelly.QuotedTriple(*(jelly.IRI(f"a:{x}") for x in "spo"))
    options = jelly.read_options(path)
    assert (options.version, options.physical_type, options.logical_type, options.stream_name) == (version, 2, 4, "n")
    frames = list(jelly.scan(path).frames())
    assert [(len(x), x.metadata) for x in frames[:2]] == [(len(MORE), {"k": b"0"}), (len(MORE), {"k": b"1"})]
    assert frames[0].namespaces == [("e", "http://e/")]
    with jelly.open(path) as file:
        assert (len(file), file[len(file) - 1]) == (len(found), found[-1])
        assert (file.filters is not None) == (index is not None)
    assert os.listdir(tmp_path) == [name]


def test_a_source_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    jelly.write(path, MORE, seekable=True)
    before = path.read_bytes()
    for text in (b"<a:s> <a:p> <a:o> .\nwrong", b"<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> .\nwrong"):
        with pytest.raises(JellyError, match="line 2"):
            jelly.append(text, path, format="nt")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.jelly"]


def test_files_that_cannot_be_appended_to(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jelly"
    jelly.write(whole, MORE)
    data = whole.read_bytes()
    for name in ("x.nt", "x.jelly.bz2", "x.jellyp", "-"):
        with pytest.raises(JellyError):
            jelly.append(b"", tmp_path / name if name != "-" else name, format="nt")
    path = tmp_path / "x.jelly"
    for content, reason in (
        (data[:-1], "cut off"), (data + b"\x05a", "cut off"), (b"", "stream options"),
        (jelly.dumps(MORE, delimited=False), "bare frame"), (b"<a:s> <a:p> <a:o> .\n", "."),
    ):  # fmt: skip
        path.write_bytes(content)
        with pytest.raises(JellyError, match=reason):
            jelly.append(b"<a:s> <a:p> <a:o> .", path, format="nt")
        assert path.read_bytes() == content


def test_a_damaged_last_frame(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    jelly.write(path, MORE[:300], seekable=True)
    data = bytearray(path.read_bytes())
    index = len(data) - int.from_bytes(data[-16:-8], "little")
    last = int.from_bytes(data[index + 16 : index + 24], "little")
    dice = random.Random(6)
    for _ in range(60):
        damaged = bytearray(data)
        for at in range(last + 2, min(last + 40, len(data) - 100)):
            if dice.random() < 0.2:
                damaged[at] = dice.randrange(256)
        path.write_bytes(damaged)
        try:
            jelly.append(b"<a:s> <a:p> <a:o> .", path, format="nt")
        except JellyError:
            assert path.read_bytes() == damaged


def test_large_tables(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    jelly.write(path, MORE, {"max_name_table_size": 10_000}, seekable=True)
    jelly.append(b"<a:s> <a:p> <a:o> .", path, format="nt")
    with jelly.open(path, max_names=10_000) as file:
        assert len(file) == 1001


def test_streams_of_another_program_in_columns(tmp_path: Path) -> None:
    writer = Writer(quads=False)
    rows = [Triple(IRI("a:s"), IRI("a:p"), IRI(f"a:{i}")) for i in range(5)]
    writer.write(plain_all(rows))
    path, out = tmp_path / "x.jelly", tmp_path / "out.jelly"
    path.write_bytes(b"".join(writer.out))
    steps.concat([path, path], out)
    assert list(jelly.read(out)) == rows * 2
    assert jelly.append(b"<a:s> <a:p> <a:o> .", path, format="nt") == 1
    assert list(jelly.read(path)) == [*rows, Triple(IRI("a:s"), IRI("a:p"), IRI("a:o"))]
    assert jelly.read_options(path).version == 3


@pytest.mark.parametrize("logical", [0, 1, 3, 13])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_to_a_stream_of_nothing(version: int, logical: int, tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    jelly.write(path, [], {"version": version, "logical_type": logical})
    assert jelly.append(b"<a:s> <a:p> <a:o> .", path, format="nt") == 1
    assert list(jelly.read(path)) == [Triple(IRI("a:s"), IRI("a:p"), IRI("a:o"))]


def test_to_a_stream_that_begins_with_an_empty_frame(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    path.write_bytes(b"\0" + jelly.dumps(MORE[:3]))
    assert jelly.append(b"<a:s> <a:p> <a:o> .", path, format="nt") == 1
    assert list(jelly.read(path)) == [*MORE[:3], Triple(IRI("a:s"), IRI("a:p"), IRI("a:o"))]


def test_links_and_modes_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "x.jelly", tmp_path / "link.jelly"
    jelly.write(path, MORE[:5], seekable=True)
    path.chmod(0o640)
    link.symlink_to(path)
    assert jelly.append(b"<a:s> <a:p> <a:o> .", link, format="nt") == 1
    assert link.is_symlink()
    if sys.platform != "win32":
        assert path.stat().st_mode & 0o777 == 0o640
    with jelly.open(link) as file:
        assert len(file) == 6


def test_a_sidecar_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    jelly.write(path, MORE)
    assert CliRunner().invoke(cli, ["index", str(path)]).exit_code == 0
    jelly.append(b"<a:s> <a:p> <a:o> .", path, format="nt")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with jelly.open(path) as file:
            assert len(file) == 1001


@pytest.mark.parametrize("where", ["file", "beside an index", "sidecar"])
def test_filters_are_kept_and_find_what_is_new(where: str, tmp_path: Path) -> None:
    path, source = tmp_path / "x.jelly", tmp_path / "more.nt"
    rows = [Triple(IRI(f"a:s{i}"), IRI(f"a:p{i // 100}"), Literal(str(i))) for i in range(1000)]
    how: dict[str, Any] = {"seekable": where == "beside an index"}
    jelly.write(path, rows, keyframe_rows=100, **({"index": "terms"} if where == "file" else how))
    if where != "file":
        assert CliRunner().invoke(cli, ["index", "--terms", str(path)]).exit_code == 0
    for step in range(3):
        more = [Triple(IRI(f"a:new{step}-{i}"), IRI(f"a:p{i % 9}"), Literal(str(i))) for i in range(250)]
        jelly.write(source, more)
        jelly.append(source, path, keyframe_rows=100)
        rows += more
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with jelly.open(path) as file:
                assert file.filters is not None
                assert [row for batch in file.batches() for row in batch] == rows
                for name in ("a:s5", "a:s999", "a:new0-0", f"a:new{step}-0", f"a:new{step}-249", "a:none"):
                    wanted = [row for row in rows if row.s.value == name]
                    assert list(jelly.scan(file).filter(s=name)) == wanted
                    if where != "sidecar":
                        segments = file.matching(jelly.Pattern(s=name).query())
                        assert segments is not None
                        assert len(wanted) <= len(segments) < 4
                assert list(jelly.scan(file).filter(p="a:p3")) == [row for row in rows if row.p.value == "a:p3"]
    assert (tmp_path / "x.jelly.idx").exists() == (where == "sidecar")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_two_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    jelly.write(path, MORE[:5], seekable=True)
    inside, go_on = threading.Event(), threading.Event()

    def slow() -> Any:
        yield b"<a:s> <a:p> <a:o> .\n"
        inside.set()
        assert go_on.wait(240)

    thread = threading.Thread(target=jelly.append, args=(slow(), path), kwargs={"format": "nt"})
    thread.start()
    try:
        assert inside.wait(240)
        with pytest.raises(JellyError, match="another process appends"):
            jelly.append(b"<a:s> <a:p> <a:o> .", path, format="nt")
    finally:
        go_on.set()
        thread.join(240)
    assert jelly.append(b"<a:s> <a:p> <a:o> .", path, format="nt") == 1
    with jelly.open(path) as file:
        assert len(file) == 7


# ---- killed

APPENDING = """
import sys, jelly
print("ready", flush=True)
sys.stdin.readline()
while True:
    jelly.append(sys.argv[1], sys.argv[2], blank_nodes="keep", keyframe_rows=500)
    print("once more", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_killed_at_any_moment(tmp_path: Path) -> None:
    path, source = tmp_path / "x.jelly", tmp_path / "more.nt"
    old = MORE[:300]
    jelly.write(source, MORE)
    fresh = tmp_path / "fresh.jelly"
    jelly.write(fresh, old, seekable=True)
    dice = random.Random(3)
    for _ in range(50 if LONG else 5):
        shutil.copy(fresh, path)
        process = subprocess.Popen(
            [sys.executable, "-c", APPENDING, str(source), str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdin is not None
        assert process.stdout is not None
        with process:
            assert process.stdout.readline() == b"ready\n"
            process.stdin.write(b"go\n")
            process.stdin.flush()
            time.sleep(dice.uniform(0, 0.05))  # any moment: what follows holds for all of them
            process.kill()
            told = process.stdout.read().count(b"once more")
        with jelly.open(path) as file:
            times, rest = divmod(len(file) - len(old), len(MORE))
        assert rest == 0
        # A rename may be done that was not told of.
        assert times in (told, told + 1)
        check(path, old + MORE * times, True)
        # Whoever comes next removes what the dead one left.
        assert jelly.append(source, path) == len(MORE)
        check(path, old + MORE * (times + 1), True)
        assert sorted(os.listdir(tmp_path)) == ["fresh.jelly", "more.nt", "x.jelly"]


def test_command(tmp_path: Path) -> None:
    path, source = tmp_path / "x.jelly", tmp_path / "more.nt"
    jelly.write(path, MORE[:5], seekable=True)
    jelly.write(source, MORE[:2])
    run = CliRunner().invoke
    assert run(cli, ["append", str(source), str(source), str(path)]).exit_code == 0
    check(path, MORE[:5] + MORE[:2] * 2, True)
    found = run(cli, ["append", "-", str(path), "--from", "nt"], input=b"<a:s> <a:p> <a:o> .\n")
    assert found.exit_code == 0
    with jelly.open(path) as file:
        assert len(file) == 10
    found = run(cli, ["append", str(path), str(source)])
    assert (found.exit_code, "only a Jelly file" in found.stderr) == (1, True)
    with pytest.raises(JellyArgumentError, match="only a Jelly file"):
        jelly.append(path, source)


# ---- compressed and seekable

@pytest.mark.parametrize("index", [None, "terms"])
def test_to_a_compressed_file(index: Any, tmp_path: Path) -> None:
    pytest.importorskip("zstandard")
    path, plain, source = tmp_path / "x.jelly.zst", tmp_path / "x.jelly", tmp_path / "more.nt"
    expected: list[Any] = list(islice(jelly.read(shared(*VOCABS)), 3000))
    for name in (path, plain):
        jelly.write(name, expected, {"version": 2}, seekable=True, keyframe_rows=1000, index=index)
    for n in (1, 700, 1, 1000, 3):
        jelly.write(source, MORE[:n])
        with jelly.open(path) as file:
            kept = path.read_bytes()[: int(file._file.table.packed[-2])]
        for name in (path, plain):
            assert jelly.append(source, name, keyframe_rows=300) == n
        expected += quads(MORE[:n])
        check(path, expected, True)
        # It holds what the plain file is, and its frames are copied.
        with jelly.open(path) as file, jelly.open(plain) as other:
            assert file._file.read_at(0, 1 << 30) == plain.read_bytes()
            assert {key.offset for key in file.index.keyframes} <= set(file._file.table.plain.tolist())
            assert (file.filters is None) == (other.filters is None) == (index is None)
            zeros = [each for each in expected if each.o == Literal("0")]
            assert list(jelly.scan(file).filter(o=Literal("0"))) == zeros
        if not index:
            assert path.read_bytes().startswith(kept)
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, plain.name, source.name])


def test_to_a_compressed_file_of_one_frame(tmp_path: Path) -> None:
    pytest.importorskip("zstandard")
    path = tmp_path / "x.jelly.zst"
    jelly.write(path, MORE, seekable=False)
    before = path.read_bytes()
    with pytest.raises(JellyError, match="without a table of frames, .* write it anew .* with seekable=True"):
        jelly.append(b"<a:s> <a:p> <a:o> .", path, format="nt")
    assert path.read_bytes() == before
    other = tmp_path / "y.jelly.zst"
    assert jelly.append(b"<a:s> <a:p> <a:o> .", other, format="nt") == 1
    check(other, [Triple(IRI("a:s"), IRI("a:p"), IRI("a:o"))], True)


def test_a_url_is_refused() -> None:
    """It was written anew, with the new statements alone."""
    jelly.convert(b"<a:s> <a:p> <a:o> .", "memory://appended.jelly", format="nt")
    with pytest.raises(jelly.JellyUnsupportedError, match="memory://appended"):
        jelly.append(b"<a:s> <a:p> <a:x> .", "memory://appended.jelly", format="nt")
    with pytest.raises(jelly.JellyUnsupportedError, match="memory://appended"):
        jelly.index("memory://appended.jelly")
    assert [statement.o.value for statement in jelly.read("memory://appended.jelly")] == ["a:o"]
