"""Limits of reading are options of the data sources, and follow the size of a file as those of the library do."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from readings import read_part

import jelly
from jelly._options.limits import SETTABLE
from jelly.results import write_results
from jelly.spark._ingest import ingest
from jelly.spark._jobs import stats
from jelly.spark._parts import Part
from jelly.spark._parts.files import READING_LIMITS, find_files

pytest.importorskip("pyspark")

from pyspark.sql.datasource import CaseInsensitiveDict

from jelly.spark._source import JellyDataSource, PatchDataSource, ResultDataSource

STATEMENTS = [
    jelly.Triple(jelly.IRI(f"http://{i}.org/{i}"), jelly.IRI("a:p"), jelly.Literal("x" * 90, datatype=f"a:{i % 90}"))
    for i in range(90)
]


def rows(source: Any, path: Path, **options: Any) -> int:
    """The rows that tasks of a data source give."""
    made = source(CaseInsensitiveDict({"path": str(path), **{name: str(value) for name, value in options.items()}}))
    reader = made.reader(made.schema())
    return sum(len(batch) for task in reader.partitions() for batch in reader.read(task))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("limits")
    for name in ("a.nt", "a.rt", "a.ttl", "plain.jelly"):
        jelly.write(folder / name, STATEMENTS)
    # Two members, which are two parts.
    comment = b"#" + b"x" * (9 << 20) + b"\n"
    (folder / "a.nt.gz").write_bytes(gzip.compress(comment) + gzip.compress(comment + (folder / "a.nt").read_bytes()))
    jelly.write(folder / "a.jelly", STATEMENTS, seekable=True, keyframe_rows=30, index="terms")
    jelly.write(folder / "a.jelly.zst", STATEMENTS, {"version": 3}, seekable=True)
    (folder / "a.rdfp").write_bytes(b"A <a:s> <a:p> <a:o> .\n")
    write_results(folder / "a.srt", ["x"], [{"x": jelly.Literal("x" * 99)}])
    return folder


class Frame:
    """In the place of a DataFrame: tasks run here."""

    def __init__(self, batches: list[pa.RecordBatch]) -> None:
        self.batches = batches

    def mapInArrow(self, function: Any, schema: str) -> Frame:
        return Frame(list(function(iter(self.batches))))

    def repartition(self, n: int) -> Frame:
        return self

    def collect(self) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for batch in self.batches for row in batch.to_pylist()]


# In the place of a session.
HERE: Any = SimpleNamespace(
    conf={},
    range=lambda start, stop, step, n: Frame([pa.RecordBatch.from_pydict({"id": list(range(stop))})]),
    sparkContext=SimpleNamespace(getLocalProperty=lambda name: None, setLocalProperty=lambda name, value: None),
)


# A limit, and a file that it stops.
CASES = [
    ("max_line_bytes", "a.nt", 99),
    ("max_expansion", "a.nt.gz", 1),
    ("max_row_bytes", "a.rt", 99),
    ("max_prefixes", "a.jelly", 9),
    ("max_names", "a.jelly", 9),
    ("max_datatypes", "plain.jelly", 9),
    ("max_frame_bytes", "a.jelly", 99),
    ("max_frame_rows", "a.jelly.zst", 9),
    ("max_text_bytes", "a.ttl", 9),
]


def test_each_limit_has_a_case() -> None:
    assert {name for name, _, _ in CASES} == READING_LIMITS


@pytest.mark.parametrize(("limit", "name", "value"), CASES)
def test_a_limit_is_an_option(folder: Path, tmp_path: Path, limit: str, name: str, value: int) -> None:
    [option] = [known.camel for known in SETTABLE if known.name == limit]
    path = folder / name
    assert rows(JellyDataSource, path, **{option: 1 << 20}) == len(STATEMENTS)
    for spelling, more in ((option, {}), (option.lower(), {}), (limit, {}), (option, {"splitBytes": 40_000})):
        with pytest.raises(jelly.JellyLimitError) as caught:
            rows(JellyDataSource, path, **{spelling: value}, **more)
        assert limit not in str(caught.value)
        if "raise" in str(caught.value):
            assert option in str(caught.value)
    with pytest.raises(jelly.JellyLimitError):
        stats(path, spark=HERE, **{limit: value})


def test_limits_of_patches_and_results(folder: Path) -> None:
    cases = ((PatchDataSource, "a.rdfp", "maxLineBytes"), (ResultDataSource, "a.srt", "maxRowBytes"))
    for source, name, option in cases:
        assert rows(source, folder / name, **{option: 1000}) == 1
        with pytest.raises(jelly.JellyLimitError, match=option):
            rows(source, folder / name, **{option: 9})


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("maxLineBytes", "64M", "option maxLineBytes is '64M': expected a whole number, at least 1"),
        ("max_row_bytes", "0", "option maxRowBytes is '0'"),
        ("maxSteps", "1", "the data source jelly has no option maxSteps"),
        ("maxLineByte", "1", "unknown option 'maxlinebyte': did you mean maxLineBytes"),
    ],
)
def test_options_that_are_wrong(folder: Path, option: str, value: str, message: str) -> None:
    with pytest.raises(jelly.JellyOptionsError, match=message):
        rows(JellyDataSource, folder / "a.nt", **{option: value})


def test_keywords_that_are_wrong(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(jelly.JellyArgumentError, match="'max_line_byte': did you mean 'max_line_bytes'"):
        stats(folder, max_line_byte=1)
    with pytest.raises(jelly.JellyArgumentError, match="'split_byte': did you mean 'split_bytes'"):
        ingest(folder, tmp_path, split_byte=1)


def test_a_file_of_one_long_line_is_read_with_defaults(tmp_path: Path) -> None:
    """As by the library: the limit follows the size of the file, also in its parts. It does not where it is set."""
    path, size = tmp_path / "long.nt", (1 << 26) + (1 << 20)
    path.write_bytes(b'<a:s> <a:p> "' + b"x" * size + b'" .\n')
    [file] = find_files(path)
    for parts in ([Part(file)], [Part(file, 0, size // 2), Part(file, size // 2)]):
        lengths = [len(text) for part in parts for batch in read_part(part) for text in batch["object"].to_pylist()]
        assert lengths == [size]
        with pytest.raises(jelly.JellyLimitError, match="raise max_line_bytes"):
            _ = [batch for part in parts for batch in read_part(part, limits={"max_line_bytes": 1 << 26})]


def test_limits_of_a_file_that_grows(folder: Path) -> None:
    pytest.importorskip("pyspark.sql.streaming.datasource", reason="streams need Spark 4.2")

    def read(**options: str) -> int:
        path = str(folder / "plain.jelly")
        source = JellyDataSource(CaseInsensitiveDict({"path": path, "follow": "true", **options}))
        reader: Any = source.streamReader(source.schema())
        start = reader.initialOffset()
        end = reader.latestOffset(start, reader.getDefaultReadLimit())
        return sum(len(batch) for task in reader.partitions(start, end) for batch in reader.read(task))

    assert read(maxNames="4000") == len(STATEMENTS)
    with pytest.raises(jelly.JellyLimitError, match="raise maxNames"):
        read(maxNames="9")
