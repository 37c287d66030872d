"""Real patches through every format; patch logs; the command."""

from __future__ import annotations

import gzip
import itertools
import random
import re
from pathlib import Path

import pytest
from support.shared import shared

import jelly
from jelly._formats.registry import REGISTRY, Content
from jelly.patch import (
    Patch,
    PatchOptions,
    PatchStreamType,
    PatchWriter,
    StatementType,
    dumps,
    loads,
    read_log,
    read_patches,
)

FOLDER = shared("data", "rdf-patch")
CURRENT = sorted(path for path in FOLDER.glob("*.rdfp") if not path.name.startswith("marmotta"))
OLD = sorted(FOLDER.glob("marmotta*.rdfp"))
NUMBER = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'


def rows(path: Path) -> list[str]:
    """The rows of a text, written as we do: no comments, one space, the newer letters, no abbreviations."""
    found = []
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        line = re.sub(r"\s*\.$", " .", line.strip())
        line = re.sub(r'^(H \S+|PA "[^"]*") +', r"\1 ", line).replace("TB .", "TX .")
        line = re.sub(r'^(PA "[^"]*") "([^"]*)"', r"\1 <\2>", line)
        line = re.sub(r" (\d+) \.$", lambda match: f" {NUMBER.format(match[1])} .", line)
        found.append(re.sub(r"<_:([^>]*)>", r"_:\1", line))
    return found


def text_of(patches) -> list[str]:
    # The files have quoted triples as RDF-star wrote them.
    texts = (dumps(patch, format="rdfp", marked_blank_nodes=False, quoted="rdf-star") for patch in patches)
    return [line for text in texts for line in text.decode().splitlines()]


def has_graphs(lines: list[str]) -> bool:
    return any(
        len(re.findall(r'<[^<> ]*>|_:\S+|"(?:[^"\\]|\\.)*"\S*|<<', line)) > (3 if line[0] in "AD" else 2)
        for line in lines
        if line[0] in "ADP" and "<<" not in line
    )


@pytest.mark.parametrize("path", CURRENT, ids=lambda path: path.stem)
def test_each_file_in_all_stream_types(path: Path) -> None:
    expected = rows(path)
    (patch,) = read_patches(path)
    assert text_of([patch]) == expected
    tables = [(8, 0, 2), (8, 1, 1), (128, 16, 16), (4000, 150, 32)]
    for stream, statement, frame_rows in itertools.product(PatchStreamType, StatementType, (1, 16, 256)):
        for names, prefixes, datatypes in tables:
            options = PatchOptions(
        rdf_star=True,
                stream_type=stream, statement_type=statement, max_name_table_size=names,
                max_prefix_table_size=prefixes, max_datatype_table_size=datatypes,
            )  # fmt: skip
            if statement == StatementType.TRIPLES and has_graphs(expected):
                with pytest.raises(jelly.JellyOptionsError, match="named graph"):
                    dumps(patch, options)
                continue
            data = dumps(patch, options, frame_rows=frame_rows)
            (found,) = loads(data)
            assert text_of([found]) == expected
            assert found.quads == (statement == StatementType.QUADS)
    assert text_of(loads(dumps(patch, format="trp"), format="trp")) == expected


@pytest.mark.parametrize("statement", StatementType)
@pytest.mark.parametrize("stream", PatchStreamType)
def test_repeated_and_mixed(stream: PatchStreamType, statement: StatementType) -> None:
    paths = [path for path in CURRENT if statement == StatementType.QUADS or not has_graphs(rows(path))]
    known = {path: list(read_patches(path)) for path in paths}
    mixed = paths * 5
    random.Random(5).shuffle(mixed)
    options = PatchOptions(rdf_star=True, stream_type=stream, statement_type=statement, max_name_table_size=16)
    for order in (*([path] * 5 for path in paths), paths * 5, mixed):
        patches = [patch for path in order for patch in known[path]]
        expected = [rows(path) for path in order]
        if stream == PatchStreamType.FLAT:
            with pytest.raises(jelly.JellyOptionsError, match="one patch only"):
                dumps(patches, options)
            # All in one is one patch.
            patches = [Patch(operation for patch in patches for operation in patch)]
            expected = [[row for one in expected for row in one]]
        data = dumps(patches, options, frame_rows=20)
        assert [text_of([patch]) for patch in loads(data, batch_rows=50)] == expected


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_the_older_grammar_is_refused(path: Path) -> None:
    with pytest.raises(jelly.JellySyntaxError, match="expected one of H TX TC TA PA PD A D") as caught:
        list(read_patches(path))
    assert caught.value.line == 18
    assert caught.value.source == str(path)


@pytest.mark.parametrize(
    ("number", "message", "row", "line"),
    [(1, "no header id", 0, b"TX ."), (2, "no header id", 0, b"H PREV"), (3, "id and prev are the same", 1, b"H PREV")],
)
def test_what_no_log_can_hold(tmp_path: Path, number: int, message: str, row: int, line: bytes) -> None:
    path = next(path for path in CURRENT if path.stem.endswith(f"bad_{number}"))
    data = path.read_bytes()
    (tmp_path / "x.rdfp.gz").write_bytes(gzip.compress(b"\r\n# first\n" + data))
    jelly.convert(path, tmp_path / "x.jellyp")
    for name, before in ((path, b""), (tmp_path / "x.rdfp.gz", b"\r\n# first\n")):
        with pytest.raises(jelly.JellyFormatError, match=message) as caught:
            read_log([name])
        error = caught.value
        assert (error.source, error.row) == (str(name), row)
        text = before + data
        assert text[error.offset :].startswith(line)
        assert error.line == text[: error.offset].count(b"\n") + 1
    good = b"H id <uuid:1> .\nTX .\nTC .\n"
    (tmp_path / "good.rdfp").write_bytes(good)
    both = [*read_patches(tmp_path / "good.rdfp"), *read_patches(tmp_path / "x.jellyp")]
    (tmp_path / "two.jellyp").write_bytes(dumps(both))
    with pytest.raises(jelly.JellyFormatError, match=message) as caught:
        read_log(tmp_path / "two.jellyp")
    assert (caught.value.source, caught.value.row) == (str(tmp_path / "two.jellyp"), 3 + row)
    with pytest.raises(jelly.JellyFormatError, match=message) as caught:
        read_log(read_patches(tmp_path / "x.jellyp"))
    assert (caught.value.source, caught.value.row, caught.value.offset) == (None, row, None)


def test_a_log_in_its_order() -> None:
    files = [next(path for path in CURRENT if path.stem.endswith(f"dlink_patch{i}")) for i in (3, 1, 2)]
    ids = [patch.id.value[5:8] for patch in read_log(files)]
    assert ids == ["157", "3e2", "5ed"]
    with pytest.raises(jelly.JellyFormatError, match="the log is broken.*is missing"):
        read_log(files[:2])
    (middle,) = read_patches(files[2])
    assert [patch.id.value[5:8] for patch in read_log([files[0], files[2]], after=middle.prev)] == ["3e2", "5ed"]
    with pytest.raises(jelly.JellyFormatError, match="two patches of a log have the id"):
        read_log([*files, files[0]])


def link(id: str, prev: str | None) -> bytes:
    return f"H id <uuid:{id}> .\n".encode() + (f"H prev <uuid:{prev}> .\n".encode() if prev else b"")


def test_logs_that_fork_or_go_in_a_circle(tmp_path: Path) -> None:
    for names, message in (
        (["1", "21", "31"], "have the prev"),
        (["1", "2"], "have no header prev"),
        (["12", "21"], "form a cycle"),
        (["1", "32", "23"], "form a cycle"),
    ):
        for file in tmp_path.iterdir():
            file.unlink()
        for name in names:
            (tmp_path / f"{name}.rdfp").write_bytes(link(*name, *[None] * (2 - len(name))))
        (tmp_path / "notes.txt").write_text("no patch")
        with pytest.raises(jelly.JellyFormatError, match=message):
            read_log(tmp_path)
    assert len(read_log(tmp_path / "1.rdfp")) == 1


def test_compressed_files_and_suffixes(tmp_path: Path) -> None:
    path = CURRENT[0]
    previous = path
    for suffix in (".jellyp", ".jellyp.gz", ".trp", ".rdfp.xz", ".jellyp.bz2", ".rdfp"):
        target = tmp_path / f"x{suffix}"
        assert jelly.convert(previous, target).statements == len(rows(path))
        previous = target
    assert previous.read_text().splitlines() == rows(path)
    formats = REGISTRY[Content.PATCH].values()
    assert {suffix for format in formats for suffix in format.suffixes} == {".jellyp", ".rdfp", ".trp"}
    with pytest.raises(jelly.JellyError, match="x.nt is of statements, not of patches"):
        jelly.convert(path, tmp_path / "x.nt")
    assert sorted(file.name for file in tmp_path.iterdir())[-1] == "x.trp"


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad.rdfp").write_text("TX .\nTX .\n")
    for suffix in (".jellyp", ".trp", ".rdfp"):
        with pytest.raises(jelly.JellyFormatError, match="inside another"):
            jelly.convert(tmp_path / "bad.rdfp", tmp_path / f"out{suffix}")
    with pytest.raises(RuntimeError), PatchWriter(tmp_path / "out.jellyp"):
        raise RuntimeError
    assert [file.name for file in tmp_path.iterdir()] == ["bad.rdfp"]
