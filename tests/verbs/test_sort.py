"""`Dataset.sort` and merges of sorted sources against `sorted` of the statements, and against GNU sort."""

from __future__ import annotations

import errno
import io
import os
import random
import shutil
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support import steps
from support.measure import growth
from support.shared import shared

import jelly
from jelly import IRI, BlankNode, DefaultGraph, Literal, Quad, Triple
from jelly._streams.spool import Spool
from jelly.cli.commands import cli
from jelly.errors import JellyArgumentError, JellyError

LONG = bool(os.environ.get("JELLY_LONG"))
FILES = ["vocabs-quads/vocabs.nq.gz", "vocabs-star/vocabs-star.nt.gz", "iot-weather/assist-iot-weather-100k.nt.gz"]
ROWS = None if LONG else 30_000
# Enough for all; for some runs; for so many that they are merged twice.
MEMORIES = [1 << 28, 1 << 22, 1 << 19]


def key_of(by: str) -> Any:
    return lambda statement: tuple(getattr(statement, slot, DefaultGraph()) for slot in by)


@pytest.fixture(scope="module", params=FILES if LONG else FILES[:1])
def data(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """Real statements, and a file of them."""
    statements = list(islice(jelly.read(shared("data", *request.param.split("/"))), ROWS))
    path = tmp_path_factory.mktemp("data") / "in.jelly"
    jelly.write(path, statements)
    return path, statements


@pytest.mark.parametrize("memory", MEMORIES)
def test_real_data_is_sorted(data: tuple[Path, list[Any]], memory: int, tmp_path: Path) -> None:
    path, statements = data
    out = tmp_path / "out.jelly"
    assert steps.sort(path, out, memory=memory) == len(statements)
    assert list(jelly.read(out)) == sorted(statements)
    # Where places are left out, statements keep their order.
    assert steps.sort(path, out, "po", memory=memory, seekable=True) == len(statements)
    assert list(jelly.read(out)) == sorted(statements, key=key_of("po"))
    with jelly.open(out) as file:
        assert len(file) == len(statements)


def test_unique_of_several_sources(data: tuple[Path, list[Any]], tmp_path: Path) -> None:
    path, statements = data[0], set(data[1])
    out = tmp_path / "out.jelly"
    for by, memory in (("o", 1 << 22), ("spog", 1 << 28)):
        n = steps.sort([path, path], out, by, unique=True, memory=memory, blank_nodes="keep")
        whole = by + "".join(slot for slot in "spog" if slot not in by)
        assert list(jelly.read(out)) == sorted(statements, key=key_of(whole))
        assert n == len(statements)


def plain(dice: random.Random, n: int) -> list[Quad]:
    """Statements whose N-Quads are in the order of their terms: no character is below those that end a term."""
    names = ["".join(dice.choices("abc", k=4)) for _ in range(n)]
    return [
        Quad(IRI(f"http://e.org/{dice.choice(names)}"), IRI("http://e.org/pppp"), IRI(f"http://e.org/{dice.choice(names)}"),
             IRI(f"http://e.org/{dice.choice('xyz')}"))
        for _ in range(n)
    ]  # fmt: skip


@pytest.mark.skipif(shutil.which("sort") is None or sys.platform == "win32", reason="needs GNU sort")
def test_the_same_as_the_command_sort(tmp_path: Path) -> None:
    text, made, other = tmp_path / "in.nq", tmp_path / "out.nq", tmp_path / "sort.nq"
    jelly.write(text, plain(random.Random(3), 5000))
    steps.sort(text, made, memory=1 << 20)
    subprocess.run(["sort", "-o", str(other), str(text)], check=True, env={**os.environ, "LC_ALL": "C"})
    assert made.read_bytes() == other.read_bytes()
    steps.sort(text, made, memory=1 << 20, unique=True)
    subprocess.run(["sort", "-u", "-o", str(other), str(text)], check=True, env={**os.environ, "LC_ALL": "C"})
    assert made.read_bytes() == other.read_bytes()


def test_what_is_equal_keeps_its_order_in_merged_runs(tmp_path: Path) -> None:
    dice = random.Random(4)
    subjects = [IRI(f"a:{i}") for i in range(3)]
    statements = [Triple(dice.choice(subjects), IRI("a:p"), Literal(str(i))) for i in range(60_000)]
    source, out = tmp_path / "in.jelly", tmp_path / "out.jelly"
    jelly.write(source, statements)
    steps.sort(source, out, "s", memory=1 << 20)
    assert list(jelly.read(out)) == sorted(statements, key=lambda statement: statement.s)
    assert jelly.read_options(out).physical_type == jelly.PhysicalType.TRIPLES


def test_outputs_of_all_formats(tmp_path: Path) -> None:
    data = b"@prefix e: <http://e/> . e:b e:p 1 . e:a e:p 2 ."
    source = tmp_path / "in.ttl"
    source.write_bytes(data)
    for name in ("out.jelly", "out.nt.gz", "out.ttl", "out.parquet", "out.csv"):
        if name.endswith(("parquet", "csv")):
            pytest.importorskip("pyarrow")
        assert steps.sort(source, tmp_path / name) == 2
    assert [s.o.value for s in jelly.read(tmp_path / "out.nt.gz")] == ["2", "1"]
    assert b"@prefix e:" in (tmp_path / "out.ttl").read_bytes()
    assert [namespaces for frame in jelly.scan(tmp_path / "out.jelly").frames() for namespaces in frame.namespaces] == [
        ("e", "http://e/")
    ]
    assert steps.sort([tmp_path / "out.parquet", tmp_path / "out.jelly"], tmp_path / "out.nq", unique=True) == 2
    # A file onto itself.
    assert steps.sort(tmp_path / "out.nq", tmp_path / "out.nq", "o") == 2
    assert [s.o.value for s in jelly.read(tmp_path / "out.nq")] == ["1", "2"]


def test_nothing_is_left_of_what_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out.jelly").write_bytes(b"old")
    bad = b"".join(b"<a:s%d> <a:p> <a:o> .\n" % i for i in range(20_000)) + b"wrong"
    before = sorted(os.listdir(tmp_path))
    for call in (steps.sort, steps.unique):
        with pytest.raises(JellyError):
            call(bad, tmp_path / "out.jelly", memory=1 << 16, format="nt")
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "out.jelly").read_bytes() == b"old"

    def interrupted(self: Spool, batch: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Spool, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        steps.sort(shared("data", "vocabs-quads", "vocabs.nq.gz"), tmp_path / "out.jelly", memory=1 << 20)
    assert sorted(os.listdir(tmp_path)) == before


def test_a_full_disk_of_temporary_files_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(tempfile, "TemporaryFile", Full)
    with pytest.raises(OSError, match="No space") as caught:
        steps.sort(shared("data", "vocabs-quads", "vocabs.nq.gz"), tmp_path / "out.jelly", memory=1 << 20)
    assert caught.value.filename == str(tmp_path)
    assert os.listdir(tmp_path) == []


ORDERS = {"predicate": "p", "object, subject": "os", "graph,predicate": "gp"}
UNSORTED = b"""<a:2> <a:p> <a:x> <a:h> .
<a:1> <a:q> <a:x> <a:g> .
<a:1> <a:p> <a:y> <a:g> .
<a:3> <a:p> <a:a> <a:g> .
"""


@pytest.mark.parametrize(("words", "letters"), ORDERS.items())
def test_an_order_has_letters_or_names(words: str, letters: str) -> None:
    found = [jelly.scan(UNSORTED, format="nq").sort(by) for by in (words, letters)]
    assert [*found[0]] == [*found[1]]
    assert [*jelly.scan([jelly.dumps(found[0])], sorted_by=words)] == [*found[1]]


@pytest.mark.parametrize("by", ["", "x", "ss", "spogs", "subject,subject", "subject,p", "subjects", ",", None, 5])
def test_what_is_no_order(by: Any) -> None:
    with pytest.raises(JellyArgumentError, match="by(=| is )"):
        steps.sort(b"", io.BytesIO(), by, format="nt", to="nt")


# ---- merge


def test_sorted_files_are_merged(data: tuple[Path, list[Any]], tmp_path: Path) -> None:
    statements = data[1]
    dice = random.Random(5)
    names = [tmp_path / f"{i}.jelly" for i in range(4)]
    parts: list[list[Any]] = [[] for _ in names]
    for statement in statements:
        for part in dice.sample(parts, dice.choice([1, 1, 1, 2])):
            part.append(statement)
    for name, part in zip(names, parts, strict=True):
        jelly.write(name, sorted(part))
    out = tmp_path / "out.jelly"
    assert steps.merge(names, out, blank_nodes="keep") == sum(map(len, parts))
    assert list(jelly.read(out)) == sorted(statement for part in parts for statement in part)
    assert steps.merge(names, out, blank_nodes="keep", unique=True) == len(set(statements))
    assert list(jelly.read(out)) == sorted(set(statements))


def test_what_is_not_sorted_is_not_merged(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.nt", tmp_path / "bad.nt"
    rows = [Triple(IRI(f"a:{i:06}"), IRI("a:p"), Literal("x")) for i in range(70_000)]
    jelly.write(good, rows)
    # Neighbours in one Batch, and at the end of one.
    for wrong in (5, 32_768, 65_536):
        jelly.write(bad, [*rows[:wrong], rows[0], *rows[wrong:]])
        told = rf"sorted by 'spog': <a:000000> <a:p> \"x\" comes after <a:{wrong - 1:06}> <a:p> \"x\"; sort"
        with pytest.raises(JellyArgumentError, match=told) as caught:
            steps.merge([good, bad], tmp_path / "out.nt")
        assert caught.value.source == str(bad)
    assert not (tmp_path / "out.nt").exists()
    assert steps.merge([good, bad], tmp_path / "out.nt", "po") == 140_001


def test_merge_keeps_the_order_of_sources(tmp_path: Path) -> None:
    one = [Triple(IRI("a:a"), IRI("a:p"), Literal(str(i))) for i in range(40_000)]
    two = [Triple(IRI("a:a"), IRI("a:p"), BlankNode(str(i))) for i in range(10)]
    for name, rows in (("1.nt", one), ("2.nt", two)):
        jelly.write(tmp_path / name, rows)
    steps.merge([tmp_path / "1.nt", tmp_path / "2.nt"], tmp_path / "out.nt", "s", blank_nodes="keep")
    assert list(jelly.read(tmp_path / "out.nt")) == one + two


# ---- the commands


def test_commands(tmp_path: Path) -> None:
    (tmp_path / "in.nt").write_bytes(b"<a:b> <a:p> <a:o> .\n<a:a> <a:p> <a:o> .\n<a:b> <a:p> <a:o> .\n")
    run = CliRunner().invoke
    found = run(cli, ["sort", str(tmp_path / "in.nt")])
    assert found.stdout == "<a:a> <a:p> <a:o> .\n<a:b> <a:p> <a:o> .\n<a:b> <a:p> <a:o> .\n"
    out = str(tmp_path / "out.jelly")
    assert run(cli, ["sort", "-u", "--by", "os", "--memory", "1M", str(tmp_path / "in.nt"), "-o", out]).exit_code == 0
    with jelly.open(out) as file:
        assert len(file) == 2
    found = run(cli, ["sort", "--merge", "--unique", out, str(tmp_path / "out.jelly")])
    assert found.stdout == "<a:a> <a:p> <a:o> .\n<a:b> <a:p> <a:o> .\n"
    found = run(cli, ["sort", "--merge", str(tmp_path / "in.nt"), out])
    assert (found.exit_code, "sort it first" in found.stderr) == (1, True)
    found = run(cli, ["sort", "--by", "subject,object", "--threads", "2", str(tmp_path / "in.nt")])
    assert found.stdout == "<a:a> <a:p> <a:o> .\n<a:b> <a:p> <a:o> .\n<a:b> <a:p> <a:o> .\n"
    assert run(cli, ["sort", "--by", "x", str(tmp_path / "in.nt")]).exit_code == 2
    assert run(cli, ["sort", str(tmp_path / "in.nt"), "-o", str(tmp_path / "x.unknown")]).exit_code == 2


@pytest.mark.bounded
def test_memory_is_bounded(tmp_path: Path) -> None:
    source = tmp_path / "in.jelly"
    batches = list(jelly.scan(shared("data", "vocabs-quads", "vocabs.nq.gz")).batches())
    with jelly.Writer(source) as writer:
        for batch in batches * (30 if LONG else 4):
            writer.add_batch(batch)
    work = f"jelly.scan({str(source)!r}).sort(memory=1 << 23).write({str(tmp_path / 'out.jelly')!r})"
    # All Batches together take some 50 MB, and in order as much again.
    grown = growth("", work)
    assert grown < 32 << 20, grown


@pytest.mark.parametrize("by", ["s", "sp", "spo", "spog", "gpos"])
def test_merged_sources_keep_statements_that_are_equal_in_the_order_alone(by: str) -> None:
    rows = [
        jelly.Quad(IRI("a:1"), IRI("a:p"), IRI(o), g)
        for g in (IRI("a:h"), jelly.DefaultGraph(), IRI("a:g")) for o in ("a:z", "a:b", "a:z")
    ]  # fmt: skip
    each = [list(jelly.scan(jelly.dumps(some)).sort(by)) for some in (rows, rows[::2], rows[1:])]
    merged = list(jelly.scan([[jelly.dumps(some)] for some in each], sorted_by=by).unique())
    assert len(merged) == len({*merged}) == 6
    assert {*merged} == {*rows}
