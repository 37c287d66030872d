"""The text form of Jelly: as jelly-cli prints it, read wherever Jelly is, and frames that stay as they are."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support import craft
from support.shared import shared

import jelly
from jelly import IRI, Literal
from jelly.cli.commands import cli

pytest.importorskip("google.protobuf")

from jelly._bytes import frame_text
from jelly._bytes.names import split_suffix
from jelly._core.base.protobuf import _put_varint
from jelly._core.jelly.frame_reader import split_frames

SAMPLES = shared("data", "jelly-samples", "site", "docs", "assets", "samples")
FRAMES = shared("conformance", "test", "rdf", "from_jelly", "triples_rdf_1_1", "pos_008")
FILES = sorted(
    path
    for folder in ("conformance", "data/jelly-samples")
    for path in shared(*folder.split("/")).rglob("*.jelly")
    if path.stat().st_size < 100_000
)
# Written by an older Jelly-JVM, with the fields of the options in another order.
OTHER_ORDER = ("_v1_1_1.jelly",)


def run(*args: Any, code: int = 0, stdin: bytes | None = None) -> str:
    result = CliRunner().invoke(cli, [str(arg) for arg in args], input=stdin)
    assert result.exit_code == code, result.output
    return result.output


def read(text: bytes) -> bytes:
    """The stream that a text gives."""
    frames, data = frame_text.Frames(io.BytesIO(text)), b""
    while part := frames.read1(1):
        data += part
    return data


def printed(data: bytes, size: int = 0) -> bytes:
    """The text of a stream, which comes in pieces."""
    out = io.BytesIO()
    printer = frame_text.Printer(out)
    for at in range(0, len(data), size or len(data) or 1):
        printer.write(data[at : at + (size or len(data))])
    return out.getvalue()


def test_as_jelly_cli_prints_it_and_back(tmp_path: Path) -> None:
    text, back = tmp_path / "foaf.jelly.txt", tmp_path / "foaf.jelly"
    jelly.convert(SAMPLES / "foaf.jelly", text)
    assert text.read_bytes() == (SAMPLES / "foaf.jelly.txt").read_bytes()
    assert jelly.convert(text, back).statements == 9
    assert back.read_bytes() == (SAMPLES / "foaf.jelly").read_bytes()


def test_all_files_come_back() -> None:
    assert len(FILES) > 280
    changed = set()
    for path in FILES:
        try:
            frames = [frame for _, frame in split_frames([path.read_bytes()])]
        except jelly.JellyError:
            continue  # a case that is no stream of frames
        data = b"".join(_put_varint(len(frame)) + frame for frame in frames)
        text = printed(data)
        assert text.count(b"# Frame ") >= len(frames)
        assert printed(data, 7) == text
        if read(text) != data:
            changed.add(path.name)
            assert printed(read(text)) == text
    assert all(name.endswith(OTHER_ORDER) for name in changed), changed


def test_read_like_jelly(tmp_path: Path) -> None:
    """By the suffix, by the first bytes, and by the name of jelly-cli; by all commands."""
    text = SAMPLES / "foaf.jelly.txt"
    expected = list(jelly.read(SAMPLES / "foaf.jelly"))
    data = text.read_bytes()
    assert list(jelly.read(text)) == list(jelly.read(data)) == expected
    assert list(jelly.read(data.partition(b"\n")[2])) == expected
    assert list(jelly.read(io.BytesIO(data))) == list(jelly.read([data[:9], data[9:]])) == expected
    assert list(jelly.read([text])) == list(jelly.scan(text, threads=2)) == expected
    assert jelly.read_options(text) == jelly.read_options(SAMPLES / "foaf.jelly")
    assert jelly.inspect(text).rows == jelly.inspect(SAMPLES / "foaf.jelly").rows
    assert jelly.validate(text, against=SAMPLES / "foaf.jelly") == []
    assert run("cat", "--from", "jelly-text", "-", stdin=data) == run("cat", SAMPLES / "foaf.jelly")
    assert run("count", text) == f"9\t{text}\n"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.jelly.txt").write_bytes(data)
    assert list(jelly.read(tmp_path / "sub")) == expected


def test_other_text_is_not_taken_for_it() -> None:
    text = b"# Frame 0\n<a:s> <a:p> <a:o> .\n"
    assert len(list(jelly.read(text, format="nt"))) == 1
    assert [split_suffix(name) for name in ("notes.txt", "A.JELLY.TXT")] == [(".txt", ""), (".jelly", ".txt")]


def test_statements_are_written_as_text(tmp_path: Path) -> None:
    out = tmp_path / "x.jelly.txt"
    statements = [jelly.Triple(IRI("a:s"), IRI("a:p"), Literal('é"\n\'\\'))] * 3
    jelly.write(out, statements, frame_rows=4)
    assert out.read_bytes().startswith(b"# Frame 0\nrows {\n  options {\n")
    assert b"# Frame 1\n" in out.read_bytes()
    assert b'"\\303\\251\\"\\n\\\'\\\\"' in out.read_bytes()
    assert list(jelly.read(out)) == statements
    assert not list(tmp_path.glob("*.idx"))
    # A later statement needs more: the file is written again.
    with jelly.Writer(out) as writer:
        for _ in range(9000):
            writer.add(statements[0])
        writer.add((*statements[0], IRI("a:g")))
    with pytest.raises(jelly.JellyArgumentError, match="delimited frames"):
        jelly.write(out, statements, delimited=False)
    with pytest.raises(jelly.JellyArgumentError, match="text is the form of Jelly"):
        jelly.write(out, statements, format="nt")
    assert sum(1 for _ in jelly.read(out)) == 9001


def test_frames_of_the_command(tmp_path: Path) -> None:
    """--take-frames: as they are in the text form, with their numbers, and their statements in other formats."""
    source = FRAMES / "in.jelly"
    texts = ["".join(f"{statement}\n" for statement in frame) for frame in jelly.scan(source).frames()]
    for words, numbers in {"1": [1], "0": [0], "1..": [1], "..2": [0, 1], "0..=1": [0, 1], "..": [0, 1], "1..1": [],
                           "5..": []}.items():  # fmt: skip
        found = run("convert", "-q", "--take-frames", words, source, "-", "--to", "jelly-text")
        assert [line for line in found.splitlines() if line[0] == "#"] == [f"# Frame {i}" for i in numbers]
        statements = run("convert", "-q", "--take-frames", words, "-", "-", "--to", "nt", stdin=source.read_bytes())
        assert statements == "".join(texts[i] for i in numbers)
    run("convert", "-q", source, tmp_path / "a.jelly.txt")
    run("convert", "-q", "--take-frames", "0", tmp_path / "a.jelly.txt", tmp_path / "b.jelly")
    assert run("cat", tmp_path / "b.jelly") == texts[0]
    assert "no range of frames" in run("convert", "--take-frames", "x", source, "-", code=2)
    assert "one Jelly file" in run("convert", "--take-frames", "1", FRAMES / "out_000.nt", "-", code=2)
    assert "is not a format" in run("cat", "--to", "jelly-text", source, code=2)


def test_frames_over_many_batches(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    with jelly.Writer(path, {"physical_type": jelly.PhysicalType.TRIPLES}) as writer:
        for i in range(50):
            writer.extend((IRI("a:s"), IRI("a:p"), Literal(str(j))) for j in range(1000 * i, 1000 * (i + 1)))
            writer.end_frame()
    for words, low, high in (("3", 3, 4), ("120..=140", 120, 141), ("190..", 190, 999)):
        found = run("convert", "-q", "--take-frames", words, path, "-", "--to", "nt")
        frames = [frame for frame in jelly.scan(path).frames() if low <= frame.index < high]
        assert found == "".join(f"{statement}\n" for frame in frames for statement in frame)


def test_compare_frames() -> None:
    source = FRAMES / "in.jelly"
    for words, name in (("0", "out_000.nt"), ("..1", "out_000.nt"), ("1..", "out_001.nt"), ("1..=7", "out_001.nt")):
        for more in ([], ["--unordered"]):
            run("validate", source, "--against", FRAMES / name, "--frame", words, *more)
    run("validate", source, "--against", FRAMES / "out_001.nt", "--frame", "0..", code=1)
    assert jelly.validate(source, against=FRAMES / "out_001.nt", frame=slice(1, 9)) == []
    assert jelly.validate(source, against=FRAMES / "out_001.nt", frame=1) == []


def test_delimited_or_not() -> None:
    folder = shared("data", "jelly-samples", "cli", "src", "test", "resources")
    for name, delimited in (("options.jelly", "true"), ("optionsNonDelimited.jelly", "false")):
        run("validate", folder / name, "--delimited", "either")
        run("validate", folder / name, "--delimited", delimited)
        run("validate", folder / name, "--delimited", "false" if delimited == "true" else "true", code=1)
    assert "go with statements" in run("validate", SAMPLES.parents[1] / "x.jellyp", "--delimited", "true", code=2)


def test_options_from(tmp_path: Path) -> None:
    wanted = shared("data", "jelly-samples", "cli", "src", "test", "resources", "options.jelly")
    out, text = tmp_path / "x.jelly", FRAMES / "out_000.nt"
    run("convert", "-q", "--options-from", wanted, text, out)
    assert jelly.read_options(out) == jelly.read_options(wanted)
    run("convert", "-q", "--options-from", wanted, "--table-names", "16", "--physical", "QUADS", text, out)
    assert jelly.read_options(out) == jelly.read_options(wanted).replace(max_name_table_size=16)
    run("convert", "-q", "--logical", "FLAT_TRIPLES", "--physical", "TRIPLES", text, out)
    assert jelly.read_options(out).logical_type == 1
    assert "does not go with" in run("convert", "--options-from", wanted, text, tmp_path / "x.nq", code=2)


@pytest.mark.parametrize(
    "text",
    [
        b"rows { nam", b"rows { name { value: '\xff' } }", b"rows {" * 5000, b"rows { name { value: '\\ud800' } }",
        b"rows { triple { " + b"o_triple_term { " * 3000, b"rows { name { id: -1 } }", b"rows { row: 1 }",
    ],
)  # fmt: skip
def test_broken_text(text: bytes) -> None:
    with pytest.raises(jelly.JellyFormatError, match=r"^the text of frame 1.{5,250}$"):
        read(b"# Frame 0\n# Frame 1\n" + text)
    if text.startswith(b"rows {"):
        with pytest.raises(jelly.JellyFormatError, match="^the text of frame 0"):
            list(jelly.read(text))


def test_what_the_text_cannot_hold(tmp_path: Path) -> None:
    path = sorted(shared("jelly-1.2", "p").glob("*.jelly"))[0]
    with pytest.raises(jelly.JellyUnsupportedError, match=r"columns of Jelly-RDF 1\.2"):
        jelly.convert(path, tmp_path / "x.jelly.txt")
    assert not list(tmp_path.iterdir())
    with pytest.raises(jelly.JellyFormatError):
        printed(b"\x03abc")


def test_marks_comments_and_empty_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    row = b"rows {\n  name {\n    value: \"x\"\n  }\n}\n"
    frame = craft.frame(craft.name("x"))
    assert read(b"# a comment\n\n" + row + b"# Frame 7\n# Frame 8\r\n  # more\n" + row + b"# Frame 9") == (
        frame + b"\0" + frame + b"\0"
    )
    assert read(b"# a comment\n") == b""
    assert printed(b"\0" + frame + b"\0") == b"# Frame 0\n# Frame 1\n" + row + b"# Frame 2\n"
    monkeypatch.setattr(frame_text, "MAX_FRAME_TEXT", 100)
    monkeypatch.setattr(frame_text, "CHUNK", 10)
    assert read(b"# Frame 0\n" * 99 + row) == b"\0" * 98 + frame
    with pytest.raises(jelly.JellyLimitError, match="more than 100 bytes"):
        read(row * 9)
