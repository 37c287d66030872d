"""Tables: Arrow IPC files and streams, Parquet and CSV, of statements and of changes; and columns out and in again."""

from __future__ import annotations

import io
import random
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jelly
import jelly.patch
from fuzz.harness import attempt, harness, read_all
from fuzz.readers.rows import LINES, QUADS
from fuzz.structures import Arrow, Text
from jelly import JellyError
from jelly._formats.registry import Content
from jelly._formats.table_files import read_table_file, write_table_file

Pieces = Iterable[bytes]
FOLDER = Path(tempfile.mkdtemp(prefix="jelly-fuzz-"))
STATEMENTS = b"".join((*LINES[:2], *QUADS))
CSV_WORDS = (
    b'""',
    b",",
    b'","',
    b"\r",
    b"subject,predicate,object",
    b"s,p,o\n",
    b"add",
    b"datatype",
    b"lang",
    b"graph",
    b"frame",
)


def samples() -> Iterable[Any]:
    """Tables in both layouts, with and without dictionaries, with frames, and of changes."""
    import pyarrow as pa

    for layout in ("flat", "ntriples"):
        for dictionary in (False, True):
            table = jelly.read_arrow(
                STATEMENTS, format="nq", layout=layout, dictionary=dictionary, direction=layout == "flat"
            )
            made = table.read_all()
            yield made
            if not dictionary:
                yield made.append_column("frame", pa.array(range(len(made)), pa.int32()))
                yield made.append_column("op", pa.array(["add", "delete"] * len(made))[: len(made)])
                yield made.cast(pa.schema([pa.field(field.name, pa.large_string()) for field in made.schema]))


def corpus(kind: str) -> Callable[[], Pieces]:
    def made() -> Pieces:
        path = FOLDER / f"sample.{kind}"
        for table in samples():
            attempt(lambda: write_table_file(path, table))  # noqa: B023
            yield path.read_bytes()

    return made


def written(data: Any, write: Callable[..., int]) -> Any:
    """The bytes that a table becomes, or an error."""
    out = io.BytesIO()
    error = attempt(lambda: write(out, data))
    return out.getvalue() if isinstance(error, int) else None


def table(kind: str) -> Callable[[bytes, random.Random], None]:
    def read(data: bytes, chance: random.Random) -> None:
        """A table becomes statements or an error; the statements become the same table rows again."""
        path = FOLDER / f"x.{kind}"
        path.write_bytes(data)
        made = written(attempt(lambda: read_table_file(path)), _statements)
        changes = written(attempt(lambda: read_table_file(path)), _changes)
        if made is not None:
            reading = read_all(jelly.scan(made).batches())
            assert reading.error is None
            round_trip(made, reading.rows, chance)
        if changes is not None:
            jelly.patch.loads(changes)
        attempt(
            lambda: write_table_file(
                FOLDER / f"out.{chance.choice(('parquet', 'arrow', 'csv'))}", read_table_file(path)
            )
        )

    return read


def _statements(out: Any, rows: Any) -> int:
    if isinstance(rows, tuple):
        raise JellyError("no table")
    return jelly.write_arrow(out, rows)


def _changes(out: Any, rows: Any) -> int:
    if isinstance(rows, tuple):
        raise JellyError("no table")
    return jelly.write_arrow(out, rows, content="patches")


def round_trip(data: bytes, rows: list[Any], chance: random.Random) -> None:
    """Statements to columns and back are the same statements."""
    layout = chance.choice(("flat", "ntriples"))
    settings = {"layout": layout, "dictionary": chance.random() < 0.5, "batch_rows": chance.choice((1, 3, 1000))}
    try:
        columns = jelly.read_arrow(data, **settings).read_all()
    except JellyError:
        return
    columns.validate(full=True)
    if layout == "ntriples" and any("_:esc_" in str(value) for column in columns for value in column.to_pylist()):
        return  # a label that N-Triples cannot hold has another one there
    out = io.BytesIO()
    jelly.write_arrow(out, columns, layout=layout)
    again = read_all(jelly.scan(out.getvalue()).batches())
    assert again.rows == rows, f"{settings}: {again.rows!r:.500} for {rows!r:.500}"


for _name in ("arrow", "arrows", "parquet", "csv"):
    harness(
        f"table_{_name}",
        corpus=corpus(_name),
        formats=((Content.TABLE, _name),),
        structure=Arrow()
        if _name.startswith("arrow")
        else Text(*CSV_WORDS, stops=b',"<>^@')
        if _name == "csv"
        else None,
    )(table(_name))


@harness("columns", corpus=lambda: (STATEMENTS, *LINES, *QUADS), files=(".nt", ".nq"), structure=Text())
def columns(data: bytes, chance: random.Random) -> None:
    """Statements to Arrow columns and back."""
    made = attempt(lambda: list(jelly.scan(data, format="nq").batches()))
    if isinstance(made, list) and made:
        out = io.BytesIO()
        if isinstance(attempt(lambda: jelly.convert(data, out, format="nq")), tuple):
            return
        round_trip(out.getvalue(), read_all(jelly.scan(out.getvalue()).batches()).rows, chance)
