"""Damaged files of tables, one after the other in one process: whatever they are, what reads them raises a JellyError.

``python damage.py FIRST END FOLDER`` tries the files with these numbers; each number is a file, always the same.
The number
of the file that is being tried stands in FOLDER/number, for the case that the process does not come back.
"""

from __future__ import annotations

import io
import random
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

import jelly
import jelly.arrow
import jelly.patch
from jelly._formats.table_files import read_table_file, write_table_file

ROWS = 41
TEXT = b"".join(
    b'<http://e/s%d> <http://e/p%d> "v %d"@en <http://e/g%d> .\n' % (i // 5, i % 7, i, i % 3) for i in range(ROWS)
)
WORDS = (b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f")


def tables() -> list[pa.Table]:
    found = []
    for layout in ("flat", "ntriples"):
        for dictionary in (False, True):
            plain = jelly.read_arrow(TEXT, format="nq", layout=layout, dictionary=dictionary).read_all()
            kinds = (None,) if dictionary else (None, pa.string_view(), pa.large_string())
            for kind in kinds:
                fields = [pa.field(field.name, kind or field.type) for field in plain.schema]
                table = plain.cast(pa.schema(fields))
                found.append(table.append_column("frame", pa.array(range(ROWS), pa.int32())))
                names = pa.array(["add", "delete"]).take(pa.array([i % 2 for i in range(ROWS)]))
                found.append(table.append_column("op", names))
    return found


def files() -> list[bytes]:
    found = []
    for table in tables():
        for make in (pa.ipc.new_file, pa.ipc.new_stream):
            for compression in (None, "lz4", "zstd"):
                out = io.BytesIO()
                with make(out, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
                    writer.write_table(table, max_chunksize=30)
                found.append(out.getvalue())
    return found


def damaged(data: bytes, number: int) -> bytes:
    chance = random.Random(number)
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at = chance.randrange(len(made))
        kind = chance.randrange(5)
        if kind == 0:
            made[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            made[at] = chance.randrange(256)
        elif kind == 2:
            made[at : at + 4] = chance.choice(WORDS)[: len(made) - at]
        elif kind == 3:
            del made[at : at + chance.randrange(1, 64)]
        else:
            made[at:at] = chance.randbytes(chance.randrange(1, 16))
        if not made:
            made = bytearray(b"A")
    return bytes(made)


def whole(data: bytes) -> Any:
    """A table of pyarrow, as a caller may have it of a damaged file."""
    return (pa.ipc.open_file if data.startswith(b"ARROW1") else pa.ipc.open_stream)(pa.py_buffer(data)).read_all()


def main(first: int, end: int, folder: Path) -> None:
    kinds = files()
    refused = taken = 0
    for number in range(first, end):
        data = damaged(kinds[number % len(kinds)], number)
        path = folder / ("x.arrow" if data.startswith(b"ARROW1") else "x.arrows")
        path.write_bytes(data)
        (folder / "number").write_text(str(number))
        try:
            table = whole(data)
        except (pa.ArrowException, OSError, ValueError, MemoryError):
            table = None
        for work in (
            lambda: jelly.write_arrow(io.BytesIO(), read_table_file(path)),  # noqa: B023
            lambda: jelly.write_arrow(io.BytesIO(), read_table_file(path), content="patches"),  # noqa: B023
            lambda: write_table_file(folder / "out.parquet", read_table_file(path)),  # noqa: B023
            lambda: table is None or jelly.write_arrow(io.BytesIO(), table),  # noqa: B023
            lambda: table is None or write_table_file(folder / "out.arrow", table),  # noqa: B023
        ):
            try:
                work()
                taken += 1
            except jelly.JellyError:
                refused += 1
    print(taken, refused)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
