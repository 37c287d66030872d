"""Every format that the library reads, through Spark: the data source, its modes, ingest and stats."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from readings import split
from sessions import tasks_of

import jelly
import jelly.spark
from jelly._formats.registry import FORMATS
from jelly.spark._ingest import ingest
from jelly.spark._jobs import stats
from jelly.spark._parts.files import find_files

pytest.importorskip("pyoxigraph")

EX = "http://example.org/"
LAYOUT: Any = "ntriples"


def statements(name: str, quads: bool) -> Iterable[Any]:
    p, g, blank = jelly.IRI(f"{EX}p"), jelly.IRI(f"{EX}g"), jelly.BlankNode(f"b{name}")
    for i in range(40):
        terms = (blank if i == 39 else jelly.IRI(f"{EX}{name}{i}"), p, jelly.Literal(f"{i} ü", language="en"))
        yield jelly.Quad(*terms, g) if quads and i % 2 else jelly.Triple(*terms)


@pytest.fixture
def folder(spark: Any, tmp_path: Path) -> Path:
    """A file of each format, one of them compressed."""
    jelly.spark.register(spark)
    made = tmp_path / "data"
    made.mkdir()
    for format in FORMATS.values():
        path = made / f"{format.name}{format.suffixes[-1]}"
        quads = format.quads and format.name != "jelly"  # which has either triples or quads
        jelly.convert(
            b"".join(f"{statement}\n".encode() for statement in statements(format.name, quads)),
            path,
            format="nq" if quads else "nt",
        )
    plain = made / "trig.trigs"
    Path(f"{plain}.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    return made


def rows(df: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in df.collect())


def library(path: str | Path) -> list[tuple[Any, ...]]:
    """The rows of a file up to where it breaks."""
    found: list[tuple[Any, ...]] = []
    try:
        for batch in jelly.read_arrow(path, layout=LAYOUT):
            found += [tuple(row.values()) for row in batch.to_pylist()]
    except jelly.JellyFormatError:
        pass
    return found


def test_all_formats_are_read(spark: Any, folder: Path, tmp_path: Path) -> None:
    files = find_files(folder)
    wanted = Counter(row for file in files for row in library(file.path))
    assert len(wanted) == len({row[0] for row in wanted}) == 40 * len(FORMATS)
    assert {row[3] for row in wanted} == {None, f"<{EX}g>"}
    read = spark.read.format("jelly").options(layout=LAYOUT, blankNodes="keep")
    df = read.load(str(folder))
    assert tasks_of(df) == 1
    assert rows(df) == wanted
    # A file is not cut, whatever its size.
    assert [len(task) for task in split(files, 1)] == [1] * len(files)

    done = ingest(folder, tmp_path / "table", spark=spark, layout=LAYOUT, split_bytes=1 << 15, blank_nodes="keep")
    assert (done.sources, done.statements, done.errors) == (len(files), wanted.total(), [])
    assert rows(spark.read.parquet(str(tmp_path / "table"))) == wanted
    ingest(folder, tmp_path / "jelly", spark=spark, to="jelly", blank_nodes="keep")
    assert rows(read.load(str(tmp_path / "jelly"))) == wanted
    found, errors, _ = stats(folder, spark=spark)
    assert (found.statements, found.subjects, errors) == (len(wanted), len(wanted), [])


def test_the_option_says_the_format(spark: Any, folder: Path) -> None:
    for name in ("thrift", "ttl"):
        path = folder / f"{name}{FORMATS[name].suffixes[-1]}"
        wanted = Counter(library(path))
        path.rename(folder / "data.bin")
        df = spark.read.format("jelly").options(format=name, layout=LAYOUT, blankNodes="keep").load(f"{folder}/*.bin")
        assert rows(df) == wanted


def test_modes(spark: Any, folder: Path) -> None:
    """What is good is kept in every mode, whatever can be skipped in its format."""
    for file in find_files(folder):
        path = Path(file.path)
        path.with_name(f"cut-{path.name}").write_bytes(path.read_bytes()[:-25])
    files = find_files(folder)
    cut = [file for file in files if file.name.startswith("cut-")]
    assert len(cut) == len(FORMATS)
    wanted = Counter(row for file in files for row in library(file.path))
    read = spark.read.format("jelly").options(layout=LAYOUT, blankNodes="keep")
    assert rows(read.option("mode", "DROPMALFORMED").load(str(folder))) == wanted
    table = read.option("mode", "PERMISSIVE").load(str(folder)).collect()
    told = sorted(row[-1] for row in table if row[-1] is not None)
    assert Counter(tuple(row[:4]) for row in table if row[-1] is None) == wanted
    assert len(told) == len(cut)
    for file in cut:
        assert sum(file.name in text for text in told) == 1
    with pytest.raises(Exception, match="cut-thrift.trdf"):
        read.option("mode", "FAILFAST").load(f"{folder}/cut-t*.trdf").collect()
    found, errors, _ = stats(folder, spark=spark, on_error="skip")
    assert (found.statements, len(errors)) == (wanted.total(), len(cut))
