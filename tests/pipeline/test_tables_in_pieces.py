"""Tables in and out by any number of threads: the same bytes, and Parquet as one writer of pyarrow writes it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv
from test_same_bytes import THREADS, lines

import jelly
from jelly._bytes.workers import Workers
from jelly._formats import arrow_input as tables
from jelly._formats.arrow_input import InputTable
from jelly._formats.table_files import write_table_file

SCHEMA = pa.schema([("s", pa.string()), ("n", pa.int64()), ("d", pa.dictionary(pa.int32(), pa.string()))])


def batches(n: int, rows: int = 700) -> Iterator[pa.RecordBatch]:
    for i in range(n):
        text = pa.array([f"text {k % (i + 3)}" if k % 7 else None for k in range(rows)])
        number = pa.array(range(i, i + rows), pa.int64())
        yield pa.RecordBatch.from_arrays([text, number, text.dictionary_encode()], schema=SCHEMA)


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow", "arrows"])
def test_tables_are_the_same_for_all_threads(kind: str, tmp_path: Path) -> None:
    (tmp_path / "in.nq").write_bytes(lines(quads=True))
    found = []
    for threads in THREADS:
        jelly.convert(tmp_path / "in.nq", tmp_path / f"out.{kind}", threads=threads, layout="ntriples", batch_rows=100)
        found.append((tmp_path / f"out.{kind}").read_bytes())
        assert sum(map(len, jelly.scan(tmp_path / f"out.{kind}").batches())) == 5000
    assert found == [found[0]] * len(found)


def test_csv_is_that_of_one_writer(tmp_path: Path) -> None:
    with csv.CSVWriter(tmp_path / "one.csv", SCHEMA.set(2, pa.field("d", pa.string()))) as writer:
        for batch in batches(3):
            table = pa.Table.from_batches([batch])
            writer.write_table(table.cast(SCHEMA.set(2, pa.field("d", pa.string()))))
    with Workers(3) as workers:
        write_table_file(tmp_path / "many.csv", pa.RecordBatchReader.from_batches(SCHEMA, batches(3)), workers=workers)
    assert (tmp_path / "many.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()


def test_no_statement_is_lost_where_texts_fill_a_batch(tmp_path: Path) -> None:
    texts = [f"{i}{'x' * 99_999}" for i in range(400)]
    statements = (jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal(text)) for text in texts)
    assert jelly.write(tmp_path / "out.parquet", statements) == len(texts)
    assert [statement.o.value for statement in jelly.scan(tmp_path / "out.parquet")] == texts


def columns(frames: bool = False, rows: int = 1000) -> pa.Table:
    table = jelly.read_arrow(lines(rows, quads=True), format="nq", layout="ntriples").read_all()
    return table.append_column("frame", pa.array([i // 90 for i in range(rows)])) if frames else table


@pytest.mark.parametrize("frames", [False, True])
@pytest.mark.parametrize("settings", [{}, {"seekable": True, "keyframe_rows": 150}, {"format": "nq"}], ids=str)
def test_columns_to_all(settings: dict[str, Any], frames: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "PIECE_ROWS", 64)
    table = columns(frames)
    found = []
    for threads in THREADS:
        for rows in (1000, 37):
            out = io.BytesIO()
            parts = pa.Table.from_batches(table.to_batches(rows))
            assert jelly.write_arrow(out, parts, threads=threads, **settings) == 1000
            found.append(out.getvalue())
    assert found == [found[0]] * len(found)
    made = jelly.read(found[0], format=settings.get("format"))
    assert list(map(str, made)) == list(map(str, jelly.read(lines(1000, quads=True), format="nq")))


def test_batches_of_columns_say_where_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "PIECE_ROWS", 120)
    for threads in THREADS:
        with Workers(threads) as workers:
            at = 0
            for batch in InputTable(columns()).batches(True, workers, batch_rows=50):
                assert batch.first_row == at
                at += len(batch)
            assert at == 1000


@pytest.mark.parametrize(("dictionary", "sizes"), [(False, [32768, 4096, 3136]), (True, [32768, 7232])])
def test_batches_after_the_first_are_small_where_columns_are_plain(dictionary: bool, sizes: list[int]) -> None:
    column = pa.array(["<a:x>"] * 40_000)
    table = pa.table({name: column.dictionary_encode() if dictionary else column for name in "spo"})
    for threads in THREADS:
        with Workers(threads) as workers:
            assert [len(batch) for batch in InputTable(table).batches(False, workers)] == sizes


def test_one_thread_makes_a_batch_when_it_is_asked_for() -> None:
    values = ["<a:x>"] * 50_000
    values[45_000] = "wrong"
    batches = InputTable(pa.table({"s": values, "p": values, "o": values})).batches(False)
    assert [len(next(batches)) for _ in range(3)] == [32768, 4096, 4096]
    assert len(next(batches)) == 4040
    with pytest.raises(jelly.JellyError) as caught:
        next(batches)
    assert caught.value.row == 45_000


@pytest.mark.parametrize("row", [0, 63, 64, 500, 999])
def test_an_error_names_its_row(row: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "PIECE_ROWS", 64)
    values = columns()["o"].to_pylist()
    values[row] = "<a:o"
    if row < 900:
        values[950] = "wrong, too"
    table = columns().set_column(2, "o", pa.array(values))
    for threads in THREADS:
        with pytest.raises(jelly.JellyError) as caught:
            jelly.write_arrow(io.BytesIO(), table, threads=threads)
        assert (caught.value.row, "'<a:o'" in str(caught.value)) == (row, True)
