"""Limits: each that an error names can be set, in Python and on the command line; what we write we can read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import struct
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from support.craft import IRI as IRI_TERM
from support.craft import LITERAL, field, frame, iri, literal, name, options, prefix, terms, triple

import jelly
from jelly import IRI, JellyLimitError, Literal, Triple
from jelly._core.base import fault
from jelly._formats.registry import PATCH_READING, READING
from jelly._formats.registry import RESULT_READING as RESULT_LIMITS
from jelly._options.settings import LIMITS
from jelly.cli.commands import cli
from jelly.cli.options import SIZE
from jelly.messages import MessageReader, MessageWriter, read_messages
from jelly.messages._reader import MESSAGE_READING

LONG = "x" * 3000
STATEMENT = Triple(IRI("a:s"), IRI("a:p"), Literal(LONG))
TEXT = f'<a:s> <a:p> "{LONG}" .\n'.encode()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are never large enough to raise a limit by themselves."""
    monkeypatch.setattr("jelly._options.settings.UNPACKED", 0)


# ---- names


def named() -> set[str]:
    """The limits that errors of the core name."""
    found = set()
    for code in fault._codes():
        found |= set(re.findall(r"raise (max_\w+)", str(fault._fault(code, 1, 1))))
        found |= set(re.findall(r"raise (max_\w+)", str(fault._fault(code, 1, 2))))
    return found


def test_each_limit_that_an_error_names_is_a_keyword_and_an_option() -> None:
    limits = named()
    assert limits >= {"max_frame_bytes", "max_line_bytes", "max_row_bytes", "max_message_bytes", "max_names"}
    limits |= {"max_text_bytes", "max_document_bytes"}  # of the readers in Python
    of_tools = {*signature(jelly.inspect).parameters, *signature(jelly.canonicalize).parameters}
    assert limits <= READING | PATCH_READING | MESSAGE_READING | RESULT_LIMITS | of_tools
    offered = {
        (parameter.name or "").removeprefix("reading_")
        for path, command in commands()
        if path[-1] in ("cat", "canonicalize", "inspect")
        for parameter in command.params
    }
    assert limits <= offered
    assert set(LIMITS) <= offered


def commands(group: Any = cli, path: tuple[str, ...] = ()) -> Any:
    context = click.Context(group)
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, word))
        else:
            yield (*path, word), command


def test_each_command_that_reads_has_them() -> None:
    pytest.importorskip("grpc")
    for path, command in commands():
        if path[0] in ("help", "spark", "topics") or path == ("subscribe",):
            continue
        names = {(parameter.name or "").removeprefix("reading_") for parameter in command.params}
        assert names & set(LIMITS), path


# ---- what is raised is read


CASES = [
    ("x.nt", TEXT, "max_line_bytes"),
    ("x.nq", TEXT, "max_line_bytes"),
    ("x.jelly", jelly.dumps([STATEMENT]), "max_frame_bytes"),
]


def binary(format: str) -> bytes:
    out = io.BytesIO()
    jelly.write(out, [STATEMENT], format=format)
    return out.getvalue()


CASES += [("x.rt", binary("thrift"), "max_row_bytes"), ("x.rpb", binary("protobuf"), "max_row_bytes")]


@pytest.mark.parametrize(("file", "data", "limit"), CASES, ids=[case[0] for case in CASES])
def test_a_limit_in_python_and_on_the_command_line(
    file: str, data: bytes, limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(file).write_bytes(data)
    # The text is cut into chunks, so that the line is carried.
    chunks = [data[i : i + 100] for i in range(0, len(data), 100)]
    with pytest.raises(JellyLimitError, match=f"raise {limit} to read it"):
        list(jelly.read(iter(chunks), format=file[2:], **{limit: 1000}))
    (statement,) = jelly.read(iter(chunks), format=file[2:], **{limit: 5000})
    assert statement[:3] == STATEMENT[:3]
    option = f"--{limit.replace('_', '-')}"
    for command in (["cat", file], ["head", file], ["count", file], ["convert", "-q", file, "-", "--to", "nq"]):
        done = CliRunner().invoke(cli, [*command, option, "5K"])
        assert done.exit_code == 0, done.stderr
        other = "--max-line-bytes" if limit != "max_line_bytes" else "--max-row-bytes"
        done = CliRunner().invoke(cli, [*command, other, "1K"])
        assert done.exit_code == 2
        assert f"{other} does not go with" in done.stderr


def test_the_command_line_speaks_of_its_options(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    path.write_bytes(jelly.dumps([STATEMENT]))
    for command in (["cat"], ["inspect"], ["stats"], ["head"], ["index"]):
        done = CliRunner().invoke(cli, [*command, str(path), "--max-frame-bytes", "1K"])
        assert done.exit_code == 1
        assert re.search(r"above the limit of 1024; raise --max-frame-bytes to read it\n$", done.stderr)
    big = jelly.StreamOptions(1, 1, max_name_table_size=5000)
    path.write_bytes(jelly.dumps([STATEMENT], big))
    done = CliRunner().invoke(cli, ["cat", str(path)])
    assert done.stderr.endswith("name table of 5000 entries is above the limit of 4096; raise --max-names\n")
    assert CliRunner().invoke(cli, ["cat", str(path), "--max-names", "8K"]).exit_code == 0
    assert CliRunner().invoke(cli, ["validate", str(path), "--max-names", "8K"]).exit_code == 0


def test_files_of_several_formats(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_bytes(TEXT)
    (tmp_path / "a.jelly").write_bytes(jelly.dumps([STATEMENT]))
    files = [str(tmp_path / "a.nt"), str(tmp_path / "a.jelly")]
    done = CliRunner().invoke(cli, ["cat", *files, "--max-line-bytes", "1M", "--max-frame-bytes", "1M"])
    assert (done.exit_code, done.stdout) == (0, 2 * TEXT.decode())
    done = CliRunner().invoke(cli, ["validate", files[1], "--against", files[0], "--max-line-bytes", "1M"])
    assert done.exit_code == 0
    done = CliRunner().invoke(cli, ["diff", *files, "-", "--max-line-bytes", "1M", "--max-names", "9K"])
    assert (done.exit_code, done.stdout) == (0, "TX .\nTC .\n")


def test_patches_messages_and_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.rdfp").write_bytes(b"TX .\nA " + TEXT + b"TC .\n")
    Path("a.nt").write_bytes(TEXT)
    jelly.results.write_results("a.srt", ["x"], [[Literal(LONG)]])
    with MessageWriter("m.jelly") as writer:
        writer.write([STATEMENT])
    for command, option, known in (
        (["convert", "a.rdfp", "-"], "--max-line-bytes", "--max-line-bytes"),
        (["inspect", "a.rdfp"], "--max-line-bytes", "--max-line-bytes"),
        (["patch", "invert", "a.rdfp", "-"], "--max-line-bytes", "--max-line-bytes"),
        (["patch", "compact", "a.rdfp", "-"], "--max-line-bytes", "--max-line-bytes"),
        (["patch", "apply", "a.rdfp", "a.nt", "-"], "--max-line-bytes", "--max-line-bytes"),
        (["cat", "a.srt"], "--max-row-bytes", "--max-row-bytes"),
        (["cat", "--messages", "m.jelly"], "--max-message-bytes", "--max-message-bytes"),
        (["count", "--messages", "a.nt"], "--max-message-bytes", "--max-message-bytes"),
    ):
        done = CliRunner().invoke(cli, [*command, option, "5K"])
        assert done.exit_code == 0, done.stderr
        words = command[:2] if command[0] == "patch" else command[:1]
        assert known in CliRunner().invoke(cli, ["help", *words]).stdout
    done = CliRunner().invoke(cli, ["count", "--messages", "m.jelly", "--max-message-bytes", "1K"])
    assert done.exit_code == 1
    assert "raise --max-message-bytes to read it" in done.stderr
    done = CliRunner().invoke(cli, ["cat", "a.srt", "--max-row-bytes", "1K"])
    assert "raise --max-row-bytes to read it" in done.stderr


@pytest.mark.parametrize("file", ["x.ttl", "x.rdf", "x.srx", "x.tsv", "x.srj"])
def test_texts_and_documents(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pyoxigraph gets whole is bounded, too."""
    pytest.importorskip("pyoxigraph")
    monkeypatch.chdir(tmp_path)
    command = ["cat"]
    if file in ("x.ttl", "x.rdf"):
        jelly.write(file, [Triple(IRI("a:s"), IRI("a:p/q"), Literal(LONG * 100))])
    else:
        jelly.results.write_results(file, ["x"], [[Literal(LONG * 100)]])
    option = "--max-document-bytes" if file == "x.srj" else "--max-text-bytes"
    done = CliRunner().invoke(cli, [*command, file, option, "1K"])
    assert done.exit_code == 1
    assert f"raise {option} to read" in done.stderr
    done = CliRunner().invoke(cli, [*command, file, option, "1M"])
    assert done.exit_code == 0, done.stderr
    assert LONG in done.stdout
    other = "--max-row-bytes"
    done = CliRunner().invoke(cli, [*command, file, other, "1K"])
    assert (done.exit_code, f"{other} does not go with" in done.stderr) == (2, True)


def test_frames_that_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    jelly.write(path, [STATEMENT] * 5, frame_rows=1)
    done = CliRunner().invoke(cli, ["inspect", str(path), "--per-frame", "--max-frames", "2"])
    assert (done.exit_code, "more than 2 frames; raise --max-frames to report each" in done.stderr) == (1, True)
    assert CliRunner().invoke(cli, ["inspect", str(path), "--per-frame", "--max-frames", "1K"]).exit_code == 0
    assert CliRunner().invoke(cli, ["inspect", str(path), "--max-frames", "2"]).exit_code == 0


def test_switches_go_with_jelly(tmp_path: Path) -> None:
    """The switches of reading are keywords as limits are: for the files that know them."""
    (tmp_path / "a.nt").write_bytes(TEXT)
    (tmp_path / "a.jelly").write_bytes(jelly.dumps([STATEMENT]) * 2)
    files = [str(tmp_path / "a.nt"), str(tmp_path / "a.jelly")]
    done = CliRunner().invoke(cli, ["cat", *files, "--joined", "--skip-unknown-rows"])
    assert (done.exit_code, done.stdout) == (0, 3 * TEXT.decode())
    assert CliRunner().invoke(cli, ["count", files[1], "--joined"]).stdout.startswith("2\t")
    for switch in ("--joined", "--skip-unknown-rows"):
        for command in (["cat"], ["head"], ["stats"], ["validate"], ["count"]):
            done = CliRunner().invoke(cli, [*command, files[0], switch])
            assert (done.exit_code, f"{switch} does not go with" in done.stderr) == (2, True)
    # An index is of one stream.
    assert "no such option" in CliRunner().invoke(cli, ["index", files[1], "--joined"]).stderr.lower()
    with pytest.raises(jelly.JellyArgumentError, match="'joined'"):
        jelly.open(files[1], joined=True)


def test_a_message_log_speaks_of_messages(small: None) -> None:
    out = io.BytesIO()
    with MessageWriter(out) as writer:
        writer.write([STATEMENT])
    for data, format in ((out.getvalue(), "jelly"), (TEXT, "nt")):
        chunks = [data[i : i + 100] for i in range(0, len(data), 100)]
        with pytest.raises(JellyLimitError, match=r"raise max_message_bytes to read it"):
            list(MessageReader(iter(chunks), format=format, max_message_bytes=1000))
        assert len(list(read_messages(iter(chunks), format=format, max_message_bytes=9000))) == 1
    wide = jelly.StreamOptions(1, 3, max_name_table_size=5000)
    out = io.BytesIO()
    with MessageWriter(out, options=wide) as writer:
        writer.write([STATEMENT])
    with pytest.raises(JellyLimitError, match="raise max_names"):
        list(read_messages(out.getvalue()))
    assert len(list(read_messages(out.getvalue(), max_names=5000))) == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [("1000", 1000), ("64M", 1 << 26), ("1g", 1 << 30), ("3KiB", 3072), ("1T", 1 << 40), ("5MB", 5 << 20)],
)
def test_sizes(text: str, value: int) -> None:
    assert SIZE(text) == value


@pytest.mark.parametrize("text", ["", "0", "-1", "x", "1.5G", "1 G", "1P", "64MM", "K"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is no size"):
        SIZE(text)


# ---- what is written by default is read by default


def test_limits_fit_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jelly._options.settings.LIMITS", dict.fromkeys(LIMITS, 1000))
    monkeypatch.setattr("jelly._options.settings._LOWEST", 1000)
    seen: list[dict[str, Any]] = []
    from jelly._options import settings

    original = settings.fitted

    def fitted(limits: dict[str, Any], names: Any, size: int | None) -> dict[str, Any]:
        seen.append(original(limits, names, size))
        return seen[-1]

    for module in ("inputs", "reader"):
        monkeypatch.setattr(f"jelly._streams.{module}.fitted", fitted)
    path = tmp_path / "x.nt.gz"
    path.write_bytes(gzip.compress(TEXT))
    size = path.stat().st_size
    assert size * settings.UNPACKED < 3000
    list(jelly.read(path))
    assert seen[-1] == {"batch_rows": 4096}
    path.write_bytes(gzip.compress(struct.pack("64q", *range(64)) + b"\n# " + TEXT, 0))
    jelly.Reader(path).close()
    assert seen[-1] == {"max_line_bytes": 16 * path.stat().st_size}
    jelly.loads(jelly.dumps([(STATEMENT[0], STATEMENT[1], jelly.Literal("x" * 20_000))]))  # a small one needs no more
    assert seen[-1]["max_frame_bytes"] > 16 * 20_000


def test_a_batch_may_hold_what_a_frame_may() -> None:
    # A literal beyond the 256 MiB that texts of a Batch had as their limit whatever was asked for.
    size = (1 << 28) + 1000
    body = terms((IRI_TERM, iri(1)), (IRI_TERM, iri(1)), (LITERAL, literal(b"x" * size)))
    data = frame(options(), name(b"a:s"), field(1, field(2, body)))
    with pytest.raises(JellyLimitError, match="raise max_frame_bytes to read it"):
        list(jelly.scan(iter([data])).batches())
    for source, limits in ((iter([data]), {"max_frame_bytes": 1 << 29}), (data, {})):  # its size tells
        found = [(len(batch), batch.nbytes > size) for batch in jelly.scan(source, **limits).batches()]
        assert found[0] == (1, True)
        assert sum(n for n, _ in found) == 1


def test_texts_that_hostile_prefixes_make_stay_bounded() -> None:
    rows = [name(b"%d" % i) for i in range(600)]
    triples = [triple((IRI_TERM, iri(1, 1)), (IRI_TERM, iri(2, 1)), (IRI_TERM, iri(3, 1)))]
    data = frame(options(names=600, prefixes=8), prefix(b"x" * 1000), *rows, *triples)
    assert sum(map(len, jelly.scan(data).batches())) == 1


def test_max_expansion(tmp_path: Path) -> None:
    """Whatever the format, more than so many times its size, and 8 MiB, does not come out of compressed data."""
    path = tmp_path / "x.nt.bz2"
    path.write_bytes(bz2.compress(b"\n" * (12 << 20) + b"<a:s> <a:p> <a:o> .\n"))
    with pytest.raises(jelly.JellyLimitError, match=r"to more than 4096 times their size; raise max_expansion"):
        list(jelly.read(path))
    assert len(list(jelly.read(path, max_expansion=1 << 20))) == 1
    assert jelly.validate(path, max_expansion=1 << 20) == []
    ran = CliRunner().invoke(cli, ["count", str(path)])
    assert ran.exit_code == 1
    assert "raise --max-expansion" in ran.stderr
    ran = CliRunner().invoke(cli, ["count", str(path), "--max-expansion", "1M"])
    assert (ran.exit_code, ran.stdout) == (0, f"1\t{path}\n")
    stream = jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal(" " * (20 << 20)))])
    with pytest.raises(jelly.JellyLimitError, match="max_expansion"):
        jelly.inspect(bz2.compress(stream))
    assert jelly.inspect(bz2.compress(stream), max_expansion=1 << 24).statements == 1


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_a_stream_behind_the_first_one_is_broken(pack: Callable[[bytes], bytes]) -> None:
    first, second = (pack(b"<a:s> <a:p> <a:%d> .\n" % i) for i in range(2))
    assert len(list(jelly.read(first + second, format="nt"))) == 2
    broken = second[:-8] + b"\0" * 8
    for source in (first + broken, [first, broken], [first + broken[:9], broken[9:]], first + b"garbage"):
        found = []
        with pytest.raises(jelly.JellyFormatError, match="compressed data is (broken|cut off)"):
            found.extend(jelly.read(source, format="nt"))
