"""Jelly-RDF 1.2 by every door that writes, and converted from 1.0 and 1.1 and back."""

from __future__ import annotations

import gzip
import io
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.column_oracle import Oracle
from support.oracle import plain
from support.shared import shared

import jelly
from jelly import IRI, JellyOptionsError, Literal, LogicalType, PhysicalType, Quad, QuotedTriple, StreamOptions, Triple
from jelly.cli.commands import cli

S, P, G = IRI("http://e/s"), IRI("http://e/p"), IRI("http://e/g")
COLUMNS = {"version": 3}
ROWS = [Triple(S, P, Literal(str(i))) for i in range(100)]


def rows_of(statements: Any) -> list[Any]:
    found = [tuple(map(plain, statement)) for statement in statements]
    return [row if len(row) == 4 else (*row, None) for row in found]


def converted(data: Any, **settings: Any) -> bytes:
    out = io.BytesIO()
    jelly.convert(data, out, **settings)
    return out.getvalue()


@pytest.mark.parametrize("options", [COLUMNS, StreamOptions(version=3), StreamOptions.small(version=3, numbering="S")])
def test_doors(options: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.jelly"
    with jelly.Writer(path, options) as writer:
        writer.namespace("e", "http://e/")
        writer.extend(ROWS)
    streams = [path.read_bytes(), jelly.dumps(ROWS, options)]
    jelly.write(path, ROWS, options)
    streams.append(path.read_bytes())
    streams.append(converted(jelly.dumps(ROWS), options=options))
    for data in streams:
        assert Oracle(data).statements == rows_of(ROWS)
        assert jelly.loads(data) == ROWS
    assert Oracle(streams[0]).namespaces == [("e", "http://e/", 0)]
    assert jelly.loads(jelly.dumps(ROWS, options, delimited=False)) == ROWS


def test_tables_to_columns(tmp_path: Path) -> None:
    arrow = pytest.importorskip("jelly.arrow")
    pytest.importorskip("pyarrow")
    jelly.write_arrow(tmp_path / "a.jelly", arrow.to_table(jelly.dumps(ROWS)), options=COLUMNS)
    assert Oracle((tmp_path / "a.jelly").read_bytes()).statements == rows_of(ROWS)


def test_messages_in_columns(tmp_path: Path) -> None:
    from support.contents import convert_messages

    from jelly.messages import read_messages, write_messages

    options = StreamOptions(PhysicalType.TRIPLES, LogicalType.GRAPHS, version=3)
    path = tmp_path / "a.jelly"
    write_messages(path, [ROWS[:3], [], ROWS[3:5]], options=options)
    assert Oracle(path.read_bytes()).messages == [3, 0, 2]
    assert [list(message) for message in read_messages(path)] == [ROWS[:3], [], ROWS[3:5]]
    convert_messages(path, tmp_path / "b.jelly")
    assert jelly.read_options(tmp_path / "b.jelly").version == 3
    convert_messages(path, tmp_path / "b.jelly", options=options.replace(version=2))
    assert jelly.read_options(tmp_path / "b.jelly").version == 2
    convert_messages(tmp_path / "b.jelly", path, options=options)
    assert Oracle(path.read_bytes()).messages == [3, 0, 2]


def test_values_of_kafka_in_columns() -> None:
    from jelly.kafka import JellyDeserializer, JellySerializer

    value = JellySerializer(options=COLUMNS)(ROWS, None)
    assert JellyDeserializer()(value, None) == ROWS
    assert next(jelly.scan(value, format="jelly", delimited=False).batches()).options.version == 3


def test_the_command(tmp_path: Path) -> None:
    def run(*args: str, code: int = 0) -> str:
        result = CliRunner().invoke(cli, ["convert", *args, "-q"])
        assert result.exit_code == code, result.output
        return result.output

    text, columns, rows = (str(tmp_path / name) for name in ("a.nt", "a.jelly", "b.jelly"))
    jelly.write(text, ROWS)
    run("--jelly", "1.2", text, columns)
    assert Oracle(Path(columns).read_bytes()).numbering == "P"
    assert jelly.read_options(columns).rdf_version == "1.1"
    run("--jelly", "1.1", columns, rows)
    assert jelly.read_options(rows).version == 2
    assert list(jelly.read(rows)) == ROWS
    run("--jelly", "1.2", "--numbering", "S", "--rdf-version", "1.2", "--preset", "small", rows, columns)
    found = jelly.read_options(columns)
    assert (found.numbering, found.rdf_version, found.max_name_table_size) == ("S", "1.2", 128)
    run(columns, rows)
    assert (jelly.read_options(rows).version, jelly.read_options(rows).numbering) == (3, "S")
    run("--jelly", "1.0", columns, rows)
    assert jelly.read_options(rows).version == 1
    assert "goes with --jelly 1.2" in run("--rdf-version", "1.2", text, rows, code=2)
    assert "does not go with --jelly 1.0" in run("--jelly", "1.0", "--allow", "namespaces", text, rows, code=2)
    small = run("--jelly", "1.2", "--table-names", "8", text, rows, code=1)
    assert "--table-names is 8: version 3 needs at least 128" in small


def test_frames_metadata_and_namespaces_both_ways() -> None:
    data = io.BytesIO()
    options = {"physical_type": 3, "logical_type": 4, "max_name_table_size": 8, "stream_name": "n", "rdf_star": True}
    with jelly.Writer(data, options | {"version": 2, "generalized_statements": True}) as writer:
        for i in range(4):
            writer.namespace(f"n{i}", f"http://e/{i}#")
            writer.extend(Quad(*row, G if i % 2 else None) for row in ROWS[: 5 * i])
            writer.end_frame({"k": b"%d" % i} if i != 2 else None)
    there = converted(data.getvalue(), options=COLUMNS)
    oracle = Oracle(there)
    assert oracle.messages == [0, 5, 10, 15]
    assert oracle.namespaces == [(f"n{i}", f"http://e/{i}#", n) for i, n in enumerate((0, 0, 5, 15))]
    back = converted(there, options={"version": 2})
    columns, rows = (next(jelly.scan(x).batches()).options for x in (there, back))
    assert (columns.version, columns.physical_type, columns.max_name_table_size) == (3, 2, 128)
    assert columns.stream_name == "n"
    assert (rows.version, rows.logical_type, rows.rdf_version) == (2, LogicalType.DATASETS, "")

    def frames(stream: bytes) -> Any:
        return [(list(x), x.metadata, x.namespaces) for x in jelly.scan(stream).frames()]

    assert frames(there) == frames(back) == frames(data.getvalue())


def test_metadata_of_a_flat_stream() -> None:
    data = io.BytesIO()
    with jelly.Writer(data) as writer:
        for i in range(3):
            writer.extend(ROWS[10 * i : 10 * i + 10])
            writer.end_frame({"n": b"%d" % i})
    there = converted(data.getvalue(), options=COLUMNS)
    assert Oracle(there).ends == [10, 20, 30]
    assert [frame.metadata for frame in jelly.scan(converted(there)).frames()] == [{"n": b"%d" % i} for i in range(3)]


def test_what_turns_up_late_in_a_file(tmp_path: Path) -> None:
    """A file is written again where the statement type was wrong; a pipe cannot be."""
    late = [*ROWS * 200, Quad(S, P, S, G)]
    jelly.write(tmp_path / "a.jelly", late, COLUMNS)
    oracle = Oracle((tmp_path / "a.jelly").read_bytes())
    assert oracle.statements == rows_of(late)
    assert jelly.write(out := io.BytesIO(), late, COLUMNS) == len(late)
    assert Oracle(out.getvalue()).statements == rows_of(late)
    with pytest.raises(JellyOptionsError, match="named graph"), open(tmp_path / "b.jelly", "wb") as file:
        jelly.write(file, late, COLUMNS)


def test_quoted_triples_from_rows() -> None:
    quoted = QuotedTriple(S, P, Literal("o"))
    data = jelly.dumps([Triple(S, P, quoted)], {"version": 3})
    assert Oracle(data).options[0].f6 == 3
    rows = jelly.dumps([Triple(quoted, P, S)])
    with pytest.raises(jelly.JellyUnsupportedError, match="here is one as subject"):
        converted(rows, options=COLUMNS, star="triple-terms")
    with pytest.raises(JellyOptionsError, match=r"quoted triple as subject .*Jelly-RDF 1.1 \(version=2\)"):
        jelly.dumps(list(jelly.read(rows)), {"version": 3})
    with pytest.raises(JellyOptionsError, match='star="reifies"'):
        jelly.dumps(jelly.read(rows), {"version": 3})


@pytest.mark.parametrize("version", [2, 3])
def test_files_with_an_index(version: int, tmp_path: Path) -> None:
    path = tmp_path / "a.jelly"
    statements = [Triple(IRI(f"http://e/{i % 999}"), P, Literal(str(i))) for i in range(20_000)]
    with jelly.Writer(path, {"version": version}, seekable=True, keyframe_rows=3000) as writer:
        writer.extend(statements)
    with jelly.open(path) as file:
        assert len(file) == len(statements)
        assert len(file.index.keyframes) == 7
        assert file[17_777] == statements[17_777]
        assert list(file[5990:6010]) == statements[5990:6010]


@pytest.mark.bounded
def test_no_python_object_for_a_term() -> None:
    text = gzip.decompress(shared("data", "iot-weather", "assist-iot-weather-100k.nt.gz").read_bytes())
    rows = converted(b"".join(text.splitlines(keepends=True)[:50_000]), format="nt", to="jelly")
    converted(rows, options=COLUMNS)
    tracemalloc.start()
    try:
        for data, options in ((rows, COLUMNS), (converted(rows, options=COLUMNS), {})):
            before = len(tracemalloc.take_snapshot().traces)
            converted(data, options=options)
            assert len(tracemalloc.take_snapshot().traces) - before < 1000
    finally:
        tracemalloc.stop()


REAL = sorted(str(path.relative_to(shared("data"))) for path in shared("data").glob("*/*.n[tq].gz"))


@pytest.mark.parametrize("name", REAL)
def test_all_real_data(name: str) -> None:
    """Each data set in columns and back: the same statements, which the oracle reads too; by default a part of each."""
    text = gzip.decompress(shared("data", *name.split("/")).read_bytes())
    if not os.environ.get("JELLY_LONG"):
        text = b"".join(text.splitlines(keepends=True)[:1000])
    format = name.split(".")[-2]
    star = name.startswith("vocabs-star")
    rows = converted(text, format=format, to="jelly")
    if star and any(isinstance(statement[0], QuotedTriple) for statement in jelly.read(rows)):
        with pytest.raises(jelly.JellyUnsupportedError, match="as subject"):
            converted(rows, options=COLUMNS, star="triple-terms")
        return
    expected = jelly.loads(rows)
    for frame_rows in (None, 100):
        columns = converted(rows, options=COLUMNS, frame_rows=frame_rows)
        assert jelly.loads(columns) == expected
        assert jelly.loads(converted(columns)) == expected
        if frame_rows is None:
            assert Oracle(columns).statements == rows_of(expected)
