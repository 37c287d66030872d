"""What threads may share gives each of them the right result: a Batch, a file, an adapter, the memory of columns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.measure import run as run_python
from together import results

import jelly
from jelly import IRI, Literal, Quad, Triple
from jelly._core.algebra.content import row_hash
from jelly._core.arrow.exporter import ArrowExporter
from jelly._core.jena.reader import BinaryReader
from jelly._core.jena.writer import BinaryWriter
from jelly._core.ntriples.text import TextReader, TextWriter
from jelly._core.terms.materialize import Materializer, StatementIterator
from jelly._core.terms.term_adapter import TermAdapter
from jelly.patch import Add, Delete, Patch

ROWS = 3000
LANGUAGES = (None, "en", "de")
STATEMENTS = [
    Quad(IRI(f"a:s{i % 97}"), IRI(f"a:p{i % 7}"), Literal(f"o{i}", language=LANGUAGES[i % 3]), IRI(f"a:g{i % 5}"))
    for i in range(ROWS)
]
DATA = jelly.dumps(STATEMENTS)
BATCH = next(jelly.scan(DATA).batches())
TEXT = TextWriter(quads=True).encode(BATCH)


def columns(batch: jelly.Batch) -> list[Any]:
    return [getattr(batch, name).tolist() for name in ("s", "p", "o", "g", "kind", "aux", "start", "text")]


READERS = {
    "jelly": (lambda: jelly.Decoder(batch_rows=700), DATA),
    "text": (lambda: TextReader(quads=True, batch_rows=700), TEXT),
    "thrift": (lambda: BinaryReader("thrift", quads=True, batch_rows=700), BinaryWriter("thrift").encode(BATCH)),
    "protobuf": (lambda: BinaryReader("protobuf", quads=True, batch_rows=700), BinaryWriter("protobuf").encode(BATCH)),
}


@pytest.mark.parametrize("name", READERS)
def test_each_thread_has_a_reader(name: str) -> None:
    make, data = READERS[name]

    def read(number: int) -> bytes:
        reader, size, writer = make(), 500 + 77 * number, TextWriter(quads=True)
        lines = [
            writer.encode(batch) for at in range(0, len(data), size) for batch in reader.feed(data[at : at + size])
        ]
        return b"".join([*lines, *map(writer.encode, reader.close())])

    assert results(read) == [TEXT] * 4


def as_jelly(batch: jelly.Batch) -> bytes:
    encoder = jelly.Encoder(jelly.StreamOptions.small())
    return encoder.encode(batch) + encoder.close()


def as_columns(batch: jelly.Batch) -> list[bytes]:
    exporter = ArrowExporter("flat")
    exporter.start(batch)
    return [bytes(part) for name in ("subject", "object", "lang") for part in exporter.strings(name, 0, ROWS)[3:]]


@pytest.mark.parametrize(
    "use",
    [
        columns,
        as_jelly,
        as_columns,
        TextWriter(quads=True).encode,
        lambda batch: BinaryWriter("thrift").encode(batch),
        lambda batch: [repr(batch), batch.statements(), [batch.term(i) for i in range(batch.n_terms)]],
        lambda batch: batch.terms(),
        lambda batch: columns(batch.unique()),
        lambda batch: row_hash(batch, bytes(16)).tolist(),
        lambda batch: batch.check(),
    ],
)  # fmt: skip
def test_one_batch(use: Any) -> None:
    expected = use(BATCH)
    assert results(lambda number: [use(BATCH) == expected for _ in range(3)]) == [[True] * 3] * 4


def test_arrays_of_one_batch_come_and_go() -> None:
    batch = next(jelly.scan(DATA).batches())
    expected = int(batch.s.sum())

    def work(number: int) -> bool:
        return all(int(batch.s.sum()) == expected for _ in range(500))

    assert results(work) == [True] * 4


def test_one_materializer() -> None:
    terms = Materializer(BATCH)

    def work(number: int) -> list[Any]:
        return [terms.term(term) for term in range(BATCH.n_terms)], terms.statements()

    made = results(work)
    for found, statements in made:
        assert statements == STATEMENTS
        # Each term is one object, whoever made it.
        assert all(one is other for one, other in zip(found, made[0][0], strict=True))


class Place(str):
    __slots__ = ()


@pytest.mark.parametrize("memo", [0, 16])
def test_one_adapter(memo: int) -> None:
    adapter = TermAdapter(
        "Tags", classes=(str, str, str, None), iri=Place, bnode="_:{}".format, plain="{!r}".format,
        lang="{!r}@{}".format, typed="{!r}^^{}".format, place="in {}".format, memo=memo, memo_all=True,
    )  # fmt: skip
    expected = list(StatementIterator([BATCH], adapter))
    assert expected[1] == ("a:s1", "a:p1", "'o1'@en", "in a:g1")
    assert results(lambda number: list(StatementIterator([BATCH], adapter)) == expected) == [True] * 4
    terms = Materializer(BATCH, adapter)
    assert results(lambda number: terms.statements() == expected) == [True] * 4


def test_one_patch() -> None:
    rows = [Triple(IRI(f"a:s{i}"), IRI("a:p"), Literal(str(i))) for i in range(800)]
    operations = [kind(row) for row in rows for kind in (Add, Delete)]
    patch = Patch(operations, quads=False)
    assert results(lambda number: [list(patch) == operations, len(patch)]) == [[True, 1600]] * 4


def test_columns_are_dropped_in_any_thread() -> None:
    # Their memory goes back to the exporter that fills the next ones.
    exporter = ArrowExporter("ntriples")
    exporter.start(BATCH)
    expected = bytes(exporter.strings("o", 0, ROWS)[4])
    waiting: list[Any] = []

    def work(number: int) -> bool:
        right = True
        for _ in range(200):
            if number == 0:
                waiting.append(exporter.strings("o", 0, ROWS))
            elif waiting:
                try:
                    right = right and bytes(waiting.pop()[4]) == expected
                except IndexError:  # another thread took the last one
                    continue
        return right

    assert results(work) == [True] * 4


def test_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jelly"
    with jelly.Writer(path, seekable=True, keyframe_rows=500) as writer:
        writer.extend(STATEMENTS)
    assert results(lambda number: list(jelly.read(path)) == STATEMENTS) == [True] * 4
    with jelly.open(path) as file:
        assert results(lambda number: list(file[100 * number : ROWS]) == STATEMENTS[100 * number :]) == [True] * 4
        assert results(lambda number: sum(len(batch) for batch in file.batches(2))) == [ROWS] * 4


def test_names_that_are_imported_when_first_used() -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from together import results\n"
        "import jelly\n"
        "def work(number):\n"
        "    return [jelly.convert, jelly.JellyFile, jelly.inspect, jelly.validate, jelly.canonicalize, jelly.open]\n"
        "made = results(work, 8)\n"
        "assert all(one is other for found in made for one, other in zip(found, made[0]))\n"
        "assert {one.__module__ for one in made[0]} == {'jelly'}\n"
    )
    folder = str(Path(__file__).parent)
    done = subprocess.run([sys.executable, "-c", script, folder], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_hashes_of_one_batch_in_one_array() -> None:
    # The chosen rows are an array of the caller, read by all.
    rows = np.arange(0, ROWS, 3)
    exporters = [ArrowExporter("ntriples") for _ in range(4)]

    def work(number: int) -> bytes:
        exporters[number].start(BATCH, rows)
        return bytes(exporters[number].strings("s", 0, len(rows))[4])

    assert len(set(results(work))) == 1


def test_the_example_of_the_page(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "threads.md"
    if not page.exists():
        pytest.skip("the documentation is not there")
    path = tmp_path / "a.jelly"
    path.write_bytes(DATA)
    names: dict[str, Any] = {"paths": [path] * 5}
    exec(compile(page.read_text().split("```python\n")[1].split("```")[0], "threads.md", "exec"), names)
    assert names["counts"] == [ROWS] * 5


# Threads that wait for each other and then use formats for the first time in their process.
FIRST_USE = """
import io, threading
import jelly, jelly.messages, jelly.results

barrier, wrong = threading.Barrier(8), []

def use(function, *arguments, **settings):
    try:
        barrier.wait()
        function(*arguments, **settings)
    except BaseException as error:
        wrong.append(repr(error))

uses = [threading.Thread(target=use, args=(function, source), kwargs={"format": name}) for function, source, name in (
    (lambda *a, **k: list(jelly.messages.read_messages(*a, **k)), b"", "nt"),
    (lambda *a, **k: jelly.messages.write_messages(*a, [], **k), io.BytesIO(), "nq"),
    (lambda *a, **k: list(jelly.messages.read_messages(*a, **k)), b"", "jelly"),
    (lambda *a, **k: list(jelly.read(*a, **k)), b"", "nt"),
    (lambda *a, **k: jelly.write(*a, [], **k), io.BytesIO(), "nq"),
    (lambda *a, **k: jelly.write(*a, [], **k), io.BytesIO(), "thrift"),
    (lambda *a, **k: list(jelly.results.read_results(*a, **k)), b"?x\\n", "tsv"),
    (lambda *a, **k: list(jelly.results.read_results(*a, **k)), b"?x\\n", "tsv"),
)]
for each in uses: each.start()
for each in uses: each.join()
print(wrong)
"""


def test_formats_are_first_used_by_several_threads_at_once() -> None:
    for _ in range(3):
        done = run_python("-c", FIRST_USE)
        assert done.stdout == "[]\n", done.stdout + done.stderr
