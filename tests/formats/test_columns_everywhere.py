"""Jelly-RDF 1.2 through every door where Jelly is read: the vectors of both numberings say what there is."""

from __future__ import annotations

import io
from typing import Any

import pytest
from click.testing import CliRunner
from support.column_vectors import ACCEPTED, CASES, REJECTED, data_of, expected, plain_quads, with_direction
from support.wirefields import split

import jelly
import jelly.grpc
import jelly.messages
from jelly._dataset.seekable.sidecar import make_sidecar
from jelly.cli.commands import cli

both = pytest.mark.parametrize("numbering", "sp")
accepted = pytest.mark.parametrize("name", ACCEPTED)
SOME = ["all-kinds-of-terms", "one-quad", "messages-over-frames", "concatenated", "tables-tiny", "mixed-05-plain"]


def quads(statements: Any) -> list[Any]:
    found = [tuple(map(with_direction, statement)) for statement in statements]
    return [x if len(x) == 4 else (*x, None) for x in found]


@both
@accepted
def test_conversion(numbering: str, name: str, tmp_path: Any) -> None:
    """To Jelly of rows, which has the same statements, messages and namespaces; and to N-Quads."""
    path, data = tmp_path / "rows.jelly", data_of(numbering, name)
    if any("triple" in (term or "") for row in expected(name) for term in row):
        with pytest.raises(jelly.JellyOptionsError, match='star="triple-terms"'):
            jelly.convert(data, path, options={"version": 2})
    assert jelly.convert(data, path).statements == len(expected(name))
    assert jelly.read_options(path).version == 3
    assert quads(jelly.read(path)) == expected(name)
    assert jelly.convert(data, path, star="triple-terms").statements == len(expected(name))
    assert jelly.read_options(path).version == 2
    assert quads(jelly.read(path)) == expected(name)
    if CASES[name]["messages"] is not None:
        assert [len(frame.statements) for frame in jelly.scan(path).frames()][: len(CASES[name]["messages"])] == (
            CASES[name]["messages"]
        )
    text = io.BytesIO()
    jelly.convert(data, text, to="nq")
    assert quads(jelly.read(text.getvalue(), format="nq")) == expected(name)


@both
@accepted
def test_messages_and_frames(numbering: str, name: str) -> None:
    data, wanted = data_of(numbering, name), CASES[name]["messages"]
    if wanted is None:
        with pytest.raises(jelly.JellyOptionsError, match="force=True"):
            list(jelly.messages.read_messages(data))
        assert len(list(jelly.messages.read_messages(data, force=True))) == len(split(data))
        return
    assert [len(message) for message in jelly.messages.read_messages(data)] == wanted
    chunks = [data[at : at + 3] for at in range(0, len(data), 3)]
    assert [len(message) for message in jelly.messages.read_messages(chunks)] == wanted
    frames = list(jelly.scan(data).frames())
    assert [len(frame.statements) for frame in frames] == wanted
    assert sum((quads(frame.statements) for frame in frames), []) == expected(name)


@both
@accepted
def test_random_access(numbering: str, name: str, tmp_path: Any) -> None:
    path, whole = tmp_path / "a.jelly", expected(name)
    path.write_bytes(data_of(numbering, name))
    make_sidecar(path, distance=2, chunk=60)
    with jelly.open(path) as file:
        assert quads(file[:]) == whole
        middle = len(whole) // 2
        assert quads(file[middle : middle + 3]) == whole[middle : middle + 3]
        assert plain_quads(file.batches(threads=3)) == whole
        if CASES[name]["messages"]:
            assert [len(frame.statements) for frame in file.frames(1)] == CASES[name]["messages"][1:]


@both
@accepted
def test_tables_inspection_and_validation(numbering: str, name: str) -> None:
    data, n = data_of(numbering, name), len(expected(name))
    assert jelly.read_arrow(data).read_all().num_rows == n
    found = jelly.inspect(data, per_frame=True)
    assert (found.statements, found.n_frames, found.options.version) == (n, len(split(data)), 3)
    assert sum(frame.statements for frame in found.frames) == n
    assert found.rows["namespace"] == len(CASES[name]["namespaces"])
    assert found.rows["options"] == len(CASES[name]["options"])
    assert found.problems == []
    assert jelly.validate(data) == []


@both
@pytest.mark.parametrize("name", REJECTED)
def test_validation_refuses(numbering: str, name: str) -> None:
    assert jelly.validate(data_of(numbering, name)) != []


@both
@accepted
def test_frames_of_calls(numbering: str, name: str) -> None:
    decoder = jelly.grpc.FrameDecoder()
    assert plain_quads(decoder.decode(frame) for frame in split(data_of(numbering, name))) == expected(name)


@pytest.mark.parametrize("name", SOME)
def test_commands(name: str, tmp_path: Any) -> None:
    path = tmp_path / "a.jelly"
    path.write_bytes(data_of("p", name))
    done = CliRunner().invoke(cli, ["cat", str(path)])
    assert done.exit_code == 0, done.output
    assert quads(jelly.read(done.stdout_bytes, format="nq")) == expected(name)
    assert CliRunner().invoke(cli, ["validate", str(path)]).exit_code == 0
    assert "version" in CliRunner().invoke(cli, ["inspect", str(path)]).output
    done = CliRunner().invoke(cli, ["cat", "--to", "jelly", "--jelly", "1.2", str(path), str(path)])
    assert done.exit_code == 0, done.output
    assert len(jelly.loads(done.stdout_bytes)) == 2 * len(expected(name))


def test_options_of_version_3_are_written_as_they_are_where_somebody_gives_them() -> None:
    data = data_of("p", "one-quad")
    options = jelly.read_options(data)
    assert (options.version, options.replace(stream_name="x").version) == (3, 3)
    out = io.BytesIO()
    with jelly.Writer(out, options) as writer:
        writer.add((jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"), jelly.IRI("a:g")))
    assert jelly.read_options(out.getvalue()) == options
    out = io.BytesIO()
    jelly.convert(data, out)
    assert jelly.read_options(out.getvalue()) == options.replace(rdf_version="1.1")  # what the statements need
    jelly.convert(data, out := io.BytesIO(), options={"version": 2})
    assert jelly.read_options(out.getvalue()) == options.replace(version=2)


def test_files_of_rows_and_of_columns_joined() -> None:
    rows, columns = jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))]), data_of("s", "one-quad")
    for parts in ((rows, columns, rows), (columns, rows, columns)):
        with pytest.raises(jelly.JellyFormatError, match="joined=True"):
            jelly.loads(b"".join(parts))
        found = quads(jelly.loads(b"".join(parts), joined=True))
        assert found == sum((quads(jelly.loads(part)) for part in parts), [])
