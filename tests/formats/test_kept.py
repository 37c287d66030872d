"""The table of the page "Kept by each route": each row is written, and has what the page says."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jelly
import jelly.patch
from jelly import IRI, Literal, LogicalType, PhysicalType, Quad, StreamOptions, Triple
from jelly.cli.commands import cli

pytest.importorskip("pyarrow")

PAGE = Path(__file__).parents[2] / "docs/reference/kept.md"
_ROW = re.compile(r"^\| (`.*?)" + r" \| (.*?)" * 4 + r" \|$", re.M)
ROWS = {row[0]: row[1:] for row in _ROW.findall(PAGE.read_text("utf-8"))}
GROUPED = StreamOptions(physical_type=3, logical_type=4, stream_name="n", max_name_table_size=256, version=2)
NAMESPACE = ("e", "http://e/")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Two graphs, each in a frame with metadata."""
    monkeypatch.chdir(tmp_path)
    with jelly.Writer("in.jelly", GROUPED, seekable=True) as writer:
        writer.namespace(*NAMESPACE)
        for number in range(2):
            writer.extend([Quad(IRI("a:s"), IRI("a:p"), Literal(str(number)), IRI(f"a:g{number}"))])
            writer.end_frame({"k": b"%d" % number})
    return "in.jelly"


def run(*args: str) -> bytes:
    done = CliRunner().invoke(cli, args)
    assert done.exit_code == 0, done.output
    return done.stdout_bytes


def to_pipe(statements: jelly.Dataset) -> bytes:
    statements.write(out := io.BytesIO())
    return out.getvalue()


def appended(src: str, dst: str) -> None:
    jelly.write(dst, [], {"stream_name": "of the file", "max_name_table_size": 100, "physical_type": 2, "version": 2})
    jelly.append(src, dst)


def by_batches(src: str, dst: str) -> None:
    with jelly.Writer(dst) as writer:
        for batch in jelly.scan(src).batches():
            writer.add_batch(batch)


# Each writes the file, or returns its bytes.
ROUTES: dict[str, Callable[[str, str], Any]] = {
    "`jelly.convert`": jelly.convert,
    "`jelly.convert` with `threads=2`": lambda src, dst: jelly.convert(src, dst, threads=2),
    "`jelly.convert` to Jelly 1.2": lambda src, dst: jelly.convert(src, dst, options={"version": 3}),
    "`jelly.convert` of several sources": lambda src, dst: jelly.convert([src, src], dst),
    "`Dataset.write` without a step, to a pipe": lambda src, dst: to_pipe(jelly.scan([src, src])),
    "`jelly cat --to jelly`": lambda src, dst: run("cat", "--to", "jelly", src),
    "`jelly slice --frames`": lambda src, dst: run("slice", "--frames", src, ":", "-o", dst),
    "`jelly append`": appended,
    "`jelly append` to a new file": jelly.append,
    "`Dataset.sort`": lambda src, dst: jelly.scan(src).sort().write(dst),
    "`Dataset.sort` to a pipe": lambda src, dst: to_pipe(jelly.scan(src).sort()),
    "`jelly.scan` with `sorted_by=`": lambda src, dst: jelly.scan([src, src], sorted_by="spog").write(dst),
    "`Dataset.unique`": lambda src, dst: jelly.scan(src).unique().write(dst),
    "`Dataset.filter`": lambda src, dst: jelly.scan(src).filter(p="a:p").write(dst),
    "`Dataset.sample`": lambda src, dst: jelly.scan(src).sample(fraction=1.0).write(dst),
    "`Dataset[a:b]`": lambda src, dst: jelly.scan(src)[:].write(dst),
    "`Dataset.split`": lambda src, dst: Path(jelly.scan(src).split("out-{}.jelly", parts=1)[0].path).rename(dst),
    "`jelly find --to jelly`": lambda src, dst: run("find", "--to", "jelly", src),
    "`jelly slice`": lambda src, dst: run("slice", src, ":", "-o", dst),
    "`jelly.patch.apply`": lambda src, dst: jelly.patch.apply(jelly.patch.Patch(), src, dst),
    "`Writer.add_batch`": by_batches,
    "`jelly.write` of `jelly.read`": lambda src, dst: jelly.write(dst, jelly.read(src)),
    "`jelly.write_arrow` of `jelly.read_arrow`": lambda src, dst: jelly.write_arrow(dst, jelly.read_arrow(src)),
}


def test_the_page_has_all_routes() -> None:
    assert ROWS.keys() == ROUTES.keys()


@pytest.mark.parametrize("route", ROUTES)
def test_what_the_page_says_is_kept(route: str, source: str) -> None:
    kind, name, frames, namespaces = ROWS[route]
    made = ROUTES[route](source, "out.jelly")
    data = made if isinstance(made, bytes) and made else Path("out.jelly").read_bytes()
    options = jelly.read_options(data)
    is_flat = options.logical_type is LogicalType.FLAT_QUADS
    assert is_flat == (kind != "kept")
    if kind == "kept":
        graphs = PhysicalType.QUADS if options.version == 3 else PhysicalType.GRAPHS
        assert (options.physical_type, options.logical_type) == (graphs, GROUPED.logical_type)
    kept = {"kept": ("n", 256), "default": ("", 4000), "of the file": ("of the file", 100)}[name]
    assert (options.stream_name, options.max_name_table_size) == kept
    found = list(jelly.scan(data).frames())
    metadata = [frame.metadata for frame in found if frame.metadata]
    assert metadata[:2] == ([{"k": b"0"}, {"k": b"1"}] if frames == "kept" else [])
    declared = [each for frame in found for each in frame.namespaces]
    assert set(declared) == ({NAMESPACE} if namespaces == "kept" else set())
    assert len(declared) <= max(1, len(metadata) // 2)
    assert {str(statement.o) for frame in found for statement in frame} == {'"0"', '"1"'}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("batch_rows", [1, 2, 3, 100])
def test_metadata_of_frames_that_go_over_several_batches(version: int, batch_rows: int) -> None:
    """In Jelly-RDF 1.2 metadata comes with the first Batch of its frame, and the end of the frame with a later one."""
    source, made = io.BytesIO(), io.BytesIO()
    with jelly.Writer(source, {"version": 3}) as writer:
        for i in range(12):
            writer.add(Triple(IRI(f"a:{i}"), IRI("a:p"), Literal("x")))
            if i in (2, 3, 8):
                writer.end_frame({"k": b"%d" % i})
    jelly.convert(source.getvalue(), made, options={"version": version}, batch_rows=batch_rows)
    found = [(len(frame), frame.metadata["k"]) for frame in jelly.scan(made.getvalue()).frames() if frame.metadata]
    assert found == [(3, b"2"), (1, b"3"), (5, b"8")]
