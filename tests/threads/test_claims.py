"""An object that serves one thread refuses others with an error, never crashes, and serves again afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from together import IN_USE, results, together

import jelly
from jelly import IRI, JellyError, Literal, Triple
from jelly._core.algebra.changes import NetChanges, Transactions
from jelly._core.algebra.content import row_hash
from jelly._core.algebra.dictionary import TermDictionary
from jelly._core.algebra.graph_ids import GraphDictionary, Repeats
from jelly._core.algebra.row_index import RowIndex
from jelly._core.arrow.exporter import ArrowExporter
from jelly._core.arrow.importer import ArrowImporter
from jelly._core.boundaries.turtle import Lexer
from jelly._core.boundaries.xml import DocumentScanner
from jelly._core.boundaries.xml_text import TextJoiner
from jelly._core.jelly.row_counter import RowCounter
from jelly._core.jena.reader import BinaryReader, ResultReader
from jelly._core.jena.writer import BinaryWriter, ResultWriter
from jelly._core.ntriples.canonical import Canonicalizer
from jelly._core.ntriples.statement_table import StatementTable
from jelly._core.ntriples.text import TextReader, TextWriter
from jelly._core.results.reader import TextResultReader
from jelly._core.results.writer import TextResultWriter
from jelly._core.terms.batch_builder import BatchBuilder, ResultBatchBuilder
from jelly._core.terms.materialize import StatementIterator
from jelly._core.terms.operations import OperationBatchBuilder
from jelly._core.terms.quad_builder import QuadBatchBuilder
from jelly.patch import Add, Patch

ROWS = 4000
STATEMENTS = [Triple(IRI(f"a:s{i % 97}"), IRI(f"a:p{i % 7}"), Literal(f"o{i}", language="en")) for i in range(ROWS)]
DATA = jelly.dumps(STATEMENTS)
BATCH = next(jelly.scan(DATA).batches())
TEXT = TextWriter(quads=False).encode(BATCH)
THRIFT = BinaryWriter("thrift").encode(BATCH)
HASHES = row_hash(BATCH, bytes(16))
OPS = np.full(ROWS, 2, np.int8)
RESULT_TEXT = b"?x\t?y\n" + b'"a"\t<a:b>\n' * 500
[RESULTS] = jelly.results.read_results(RESULT_TEXT, format="tsv").batches()
RESULT_BYTES = ResultWriter("thrift", ["x", "y"]).encode(RESULTS)
[PATCH] = Patch([Add(statement) for statement in STATEMENTS[:500]]).batches()


def parts(reader: Any, data: bytes) -> Callable[[], Any]:
    """Feeds parts of the data, whatever other threads feed."""
    size = 5000
    at = [0]

    def feed() -> None:
        at[0] = (at[0] + size) % len(data)
        found = reader.feed(data[at[0] : at[0] + size])
        if found is not None:
            list(found)
        _ = reader.statements

    return feed


def importing() -> Callable[[], Any]:
    exporter, importer = ArrowExporter("ntriples"), ArrowImporter("ntriples", quads=False)
    exporter.start(BATCH)
    columns = {}
    for name in "spo":
        made = exporter.strings(name, 0, ROWS)
        columns[name] = (0, None, None, 0, ROWS, None, False, made[3], made[4])

    def load() -> None:
        importer.load(ROWS, columns)
        while importer.pull(True) is not None:
            pass

    return load


def exporting() -> Callable[[], Any]:
    exporter = ArrowExporter("ntriples")
    turn = [0]

    def export() -> None:
        turn[0] += 1
        if turn[0] % 5 == 1:
            exporter.start(BATCH, np.arange(0, ROWS, 1 + turn[0] % 3))
        elif turn[0] % 2:
            exporter.strings("o", 0, 1000)
        else:
            exporter.codes("s", 0, 1000)

    return export


def dictionary() -> Callable[[], Any]:
    terms = TermDictionary()
    return lambda: (terms.ids(BATCH), terms.batch(), len(terms))


def numbering() -> Callable[[], Any]:
    numbers = GraphDictionary()
    return lambda: (numbers.add(BATCH), numbers.numbers(BATCH), numbers.batch(), numbers.n_nodes)


def repeating() -> Callable[[], Any]:
    repeats = Repeats()
    columns = [np.arange(5000, dtype=np.int32)] * 4
    return lambda: (repeats.add(*columns), repeats.nbytes)


def net() -> Callable[[], Any]:
    changes = NetChanges()
    return lambda: (changes.take(HASHES, OPS), changes.added.sum(), changes.find(HASHES), changes.hashes())


def index() -> Callable[[], Any]:
    found = RowIndex()
    turn = [0]

    def add() -> None:
        turn[0] += 1
        found.add(HASHES ^ np.uint64(turn[0]))
        found.hashes(0, 10)

    return add


def canonicalizer() -> Callable[[], Any]:
    work = Canonicalizer()
    turn = [0]

    def add() -> None:
        turn[0] += 1
        work.add(BATCH)
        if turn[0] > 30:
            work.finish()
            sum(map(len, work.chunks(1000)))
        _ = work.labels

    return add


def table() -> Callable[[], Any]:
    both = StatementTable()
    turn = [0]

    def add() -> None:
        turn[0] += 1
        both.add(BATCH, turn[0] % 2)
        if turn[0] > 40:
            both.take_differences()
            _ = both.terms

    return add


def encoding() -> Callable[[], Any]:
    encoder = jelly.Encoder(jelly.StreamOptions.small(), keyframe_rows=1000)
    return lambda: (encoder.encode(BATCH), encoder.options, encoder.keyframes, encoder.encode_frames(BATCH))


def frames() -> Callable[[], Any]:
    decoder = jelly.Decoder()
    [frame] = jelly.Encoder(jelly.StreamOptions.small(), frame_rows=0).encode_frames(BATCH) or [b""]
    return lambda: (decoder.decode_frame(frame), decoder.options, decoder.save())


def building() -> Callable[[], Any]:
    builder = BatchBuilder(3)
    turn = [0]

    def build() -> None:
        turn[0] += 1
        if turn[0] % 7 == 0:
            builder.lend(lambda batch: batch.check())
        elif turn[0] % 3 == 0:
            builder.extend(iter(STATEMENTS[:200]), 1 << 30)
        else:
            builder.add(STATEMENTS[turn[0] % ROWS])
        builder.namespace("a", "a:")
        builder.end_frame()
        assert len(builder) >= 0
        _ = builder.batch.n_terms

    return build


def result_building() -> Callable[[], Any]:
    builder = ResultBatchBuilder(("x", "y"))
    return lambda: builder.extend(iter([(Literal("a"), None)] * 200), 1 << 30)


def operation_building() -> Callable[[], Any]:
    builder = OperationBatchBuilder(3)

    def build() -> None:
        for statement in STATEMENTS[:50]:
            builder.add(Add(statement))
        builder.end_patch()
        if len(builder) > 500:
            builder.lend(lambda batch: batch.check())

    return build


class Named(str):
    value = property(str)


def quad_building() -> Callable[[], Any]:
    builder = QuadBatchBuilder(3, classes=(Named, None, None, None, None))
    quads = [SimpleNamespace(subject=Named(f"a:{i}"), predicate=Named("a:p"), object=Named("a:o")) for i in range(100)]

    def build() -> None:
        builder.extend(iter(quads), 1 << 30, 1 << 30)
        builder.namespace("a", "a:")
        builder.mark = str(builder.rows)
        builder.mark = None
        builder.take()

    return build


def iterating(made: Any) -> Callable[[], Any]:
    def step() -> None:
        for _ in range(20):
            next(made)

    return step


def endless(one: Any) -> Any:
    return iter(lambda: one, None)


def binary_writing() -> Callable[[], Any]:
    writer = BinaryWriter("thrift", prefixes={"a": "a:"})
    return lambda: (writer.encode(BATCH), writer.close())


def result_writing() -> Callable[[], Any]:
    writer = ResultWriter("thrift", ["x", "y"])
    return lambda: (writer.encode(RESULTS), writer.close())


def text_writing() -> Callable[[], Any]:
    writer = TextResultWriter("tsv", ("x", "y"), b"", b"", (b"", b"\n", b"", b"\t", b""), (b"", b""))
    return lambda: (writer.encode(RESULTS), writer.close())


OBJECTS: dict[str, Callable[[], Callable[[], Any]]] = {
    "Decoder": lambda: parts(jelly.Decoder(), DATA),
    "Decoder.decode_frame": frames,
    "TextReader": lambda: parts(TextReader(quads=False, on_error="skip"), TEXT),
    "BinaryReader": lambda: parts(BinaryReader("thrift"), THRIFT),
    "ResultReader": lambda: parts(ResultReader("thrift"), RESULT_BYTES),
    "TextResultReader": lambda: parts(TextResultReader("tsv"), RESULT_TEXT),
    "RowCounter": lambda: parts(RowCounter(), DATA),
    "Encoder": encoding,
    "BinaryWriter": binary_writing,
    "ResultWriter": result_writing,
    "TextResultWriter": text_writing,
    "TermDictionary": dictionary,
    "GraphDictionary": numbering,
    "Repeats": repeating,
    "RowIndex": index,
    "NetChanges": net,
    "Transactions": lambda: (lambda rows: lambda: (rows.take(PATCH), rows.close()))(Transactions()),
    "Canonicalizer": canonicalizer,
    "StatementTable": table,
    "ArrowExporter": exporting,
    "ArrowImporter": importing,
    "BatchBuilder": building,
    "ResultBatchBuilder": result_building,
    "OperationBatchBuilder": operation_building,
    "QuadBatchBuilder": quad_building,
    "StatementIterator": lambda: iterating(StatementIterator(endless(BATCH))),
    "OperationIterator": lambda: iterating(iter(Patch([Add(statement) for statement in STATEMENTS]))),
    "Lexer": lambda: (lambda lexer: lambda: lexer.feed(TEXT[:20_000]))(Lexer()),
    "DocumentScanner": lambda: (lambda scanner: lambda: scanner.feed(b"<a><b/></a>\n" * 500))(DocumentScanner()),
    "TextJoiner": lambda: (lambda joiner: lambda: joiner.feed(b"<a>x<!-- c --></a>\n" * 500))(TextJoiner()),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_one_object_in_many_threads(name: str) -> None:
    call = OBJECTS[name]()
    refused = []

    def work(number: int) -> None:
        for _ in range(30):
            try:
                call()
            except jelly.JellyUnsupportedError:
                pass  # chunks came in another order; it is a RuntimeError, too
            except RuntimeError as error:
                refused.append(str(error))
            except (JellyError, ValueError, TypeError, StopIteration):
                pass  # what it was given made no sense in this order, or it had failed or ended before

    assert together(work) == [None] * 4
    assert {one for one in refused if IN_USE not in one} <= {
        "the chunk before is not used up: take all Batches of feed() first, or pull until None",
        "the last rows are not used up: pull until None first",
    }  # fmt: skip
    # Nothing is claimed any more.
    assert IN_USE not in said_by(call), name


def said_by(call: Callable[..., Any], *args: Any) -> str:
    """The class and text of the error of a call; empty without one."""
    try:
        call(*args)
    except Exception as error:
        return repr(error)
    return ""


def failing(call: Callable[..., Any], *args: Any) -> None:
    said = said_by(call, *args)
    assert said
    assert IN_USE not in said


def test_errors_give_back() -> None:
    decoder = jelly.Decoder()
    failing(decoder.push, 5)
    failing(decoder.save)
    failing(jelly.Decoder().decode_frame, 5)
    decoder.push(DATA[:100])
    failing(decoder.push, DATA)
    assert decoder.pull() is None

    encoder = jelly.Encoder(jelly.StreamOptions.small())
    failing(encoder.encode, RESULTS)
    failing(encoder.repeat, RESULTS)
    failing(encoder.close, {"key": b"no keyframes"})
    assert encoder.encode(BATCH) + encoder.close()

    spoiled = jelly.Encoder(jelly.StreamOptions.small(physical_type=jelly.PhysicalType.QUADS))
    graphs = next(jelly.scan(b"<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> .", format="nt").batches())
    for _ in range(2):
        failing(spoiled.encode, graphs)

    dictionary = TermDictionary()
    failing(dictionary.batch, [5])
    assert len(dictionary.ids(BATCH)) == BATCH.n_terms

    found = RowIndex()
    failing(found.hashes, 3, 2)
    failing(found.add, HASHES[:, :1])
    assert found.add(HASHES)[1].all()

    exporter = ArrowExporter("ntriples")
    failing(exporter.strings, "s", 0, 1)
    failing(exporter.start, RESULTS)
    exporter.start(BATCH)
    for call in (exporter.strings, exporter.codes):
        failing(call, "s", 0, ROWS + 1)
    for narrow in (exporter.kinds, exporter.frames, exporter.kind_codes, exporter.directions):
        failing(narrow, 0, ROWS + 1)
    assert exporter.strings("s", 0, ROWS)[0] == ROWS

    importer = ArrowImporter("ntriples", quads=False)
    failing(importer.load, 1, {"s": (-1, None, None, 0, 0, None, False, None, None)})
    assert importer.pull() is None

    work = Canonicalizer()
    failing(work.add, RESULTS)
    failing(next, work.chunks())
    work.add(BATCH)
    work.finish()
    failing(work.add, BATCH)
    assert b"".join(work.chunks())

    both = StatementTable()
    failing(both.add, BATCH, 2)
    failing(both.open_statements, 0)
    failing(getattr, both, "terms")
    both.add(BATCH, 0)
    assert len(both.take_differences()[0]) == ROWS

    counter = RowCounter()
    failing(counter.feed, 5)
    assert sum(map(len, counter.feed(DATA))) == ROWS
    assert not list(counter.close())
    assert counter.statements == ROWS

    builder = BatchBuilder(3)
    failing(builder.add, "no statement")
    failing(builder.extend, iter(["no statement"]), 5)
    failing(builder.namespace, "a", None)
    failing(builder.end_frame, {"a": "no bytes"})
    assert builder.add(STATEMENTS[0]) == 1
    with pytest.raises(ZeroDivisionError):
        builder.lend(lambda batch: 1 // 0)
    assert len(builder) == 1

    operations = OperationBatchBuilder(3)
    failing(operations.add, "no operation")
    with pytest.raises(ZeroDivisionError):
        operations.lend(lambda batch: 1 // 0)
    assert operations.add(Add(STATEMENTS[0])) == 1

    writer = BinaryWriter("thrift")
    failing(writer.encode, RESULTS)
    half = writer.chunks(BATCH, 100)
    next(half)
    with pytest.raises(jelly.JellyOptionsError, match="the last Batch is not written to its end"):
        writer.encode(BATCH)
    half.close()
    assert writer.encode(BATCH)


@pytest.mark.parametrize(("make", "item"), [(BatchBuilder, STATEMENTS[0]), (OperationBatchBuilder, Add(STATEMENTS[0]))])
def test_a_lent_batch_does_not_move(make: Any, item: Any) -> None:
    builder = make(3)
    builder.add(item)

    def use(batch: jelly.Batch) -> None:
        rows = batch.s.tolist()
        for change in (lambda: builder.add(item), builder.clear, lambda: builder.lend(print)):
            with pytest.raises(RuntimeError, match=f"this {make.__name__} is in use by another thread"):
                change()
        assert batch.s.tolist() == rows
        assert builder.batch is batch
        assert len(builder) == 1

    builder.lend(use)
    assert len(builder) == 0
    assert builder.add(item) == 1


@pytest.mark.parametrize("name", ["a.nt", "a.jelly", "a.rt"])
def test_one_writer(name: str, tmp_path: Path) -> None:
    """What was written before the first refusal is whole, and each statement is written once at most."""
    path = tmp_path / name
    writer = jelly.Writer(path)
    taken: list[set[str]] = [set() for _ in range(4)]

    def work(number: int) -> None:
        for i in range(6000):
            text = f"{number}-{i}"
            with contextlib.suppress(RuntimeError):
                writer.add(Triple(IRI("a:s"), IRI("a:p"), Literal(text)))
                taken[number].add(text)

    results(work)
    writer.close()
    written = [statement.o.value for statement in jelly.read(path)]
    assert len(written) == len(set(written))
    assert set().union(*taken) <= set(written)
