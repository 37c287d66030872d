"""Jelly-Patch and RDF Patch text in the core: what the specification asks, what it forbids, and hostile input."""

import random
import re

import pytest
from support import craft
from support import patchcraft as pc
from support.patchcraft import FLAT, FRAME, PUNCTUATED, TRIPLES

import jelly
from jelly._core.algebra.select import select
from jelly._core.jena.reader import BinaryReader
from jelly._core.jena.writer import BinaryWriter
from jelly._core.ntriples.text import TextReader, TextWriter
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._core.terms.materialize import Materializer, StatementIterator
from jelly._core.terms.operations import OperationBatchBuilder, OperationIterator
from jelly._options.options import PatchOptions

LITERAL = (2, pc.literal("x"))
TEXT = b"""\
H id <uuid:1> .
H "a key" "v"@en .
TX .
PA "ex" <http://e/> <http://g/1> .
PA "" <http://e/x#> .
A <http://e/s> <http://e/p> <http://e/o> <http://g/1> .
A <http://e/s> <http://e/p> "1"^^<http://d/int> <http://g/1> .
D _:b <http://e/p> <<( <http://e/s> <http://e/p> "q" )>> .
PD "ex" <http://g/1> .
TC .
TX .
D <http://e/s> <http://e/p> "\\u0001\\n" .
TA .
"""


def decode(data, **settings):
    decoder = jelly.Decoder(patch=True, **settings)
    decoder.push(data)
    decoder.finish()
    batches = []
    while (batch := decoder.pull(True)) is not None:
        batches.append(batch)
    return batches


def read_text(data, **settings):
    reader = TextReader(quads=True, patch=True, **settings)
    return [*reader.feed(data), *reader.close()]


def operations(batch, start=0, stop=None):
    return list(OperationIterator([(Materializer(batch), start, len(batch) if stop is None else stop)]))


def as_text(batches):
    return b"".join(TextWriter(quads=True, patch=True).encode(batch) for batch in batches)


def encode(batches, options=None, **settings):
    encoder = jelly.Encoder(options or PatchOptions(), **settings)
    return b"".join([*map(encoder.encode, batches), encoder.close()])


def lines(*rows, **settings):
    """The text of one frame of rows behind the options."""
    return as_text(decode(pc.frame(pc.options(**settings), *rows))).decode().splitlines()


def wrong(*frames, **settings):
    with pytest.raises(jelly.JellyError) as caught:
        decode(b"".join(pc.frame(*rows) for rows in frames), **settings)
    return caught.value


# ---- what the specification asks


def test_the_example_of_the_specification():
    # Section "RDF terms and graph nodes": the value of a namespace counts before its graph, which a quad then repeats.
    rows = [
        pc.row(12, pc.field(2, "http://example.org/")),
        pc.row(11, pc.field(2, "iri")),
        pc.header("id", (0, pc.iri(0, 1))),
        pc.row(11, pc.field(2, "")),
        pc.row(11, pc.field(2, "graph")),
        pc.namespace_add("ex", pc.iri(), (0, pc.iri())),
        pc.add((1, b"b1"), (0, pc.iri(1)), (1, b"b2"), None),
    ]
    assert lines(*rows, stream=FLAT) == [
        "H id <http://example.org/iri> .",
        'PA "ex" <http://example.org/> <http://example.org/graph> .',
        "A _:b1 <http://example.org/iri> _:b2 <http://example.org/graph> .",
    ]


def test_graphs_repeat_between_quads_and_namespaces():
    n = pc.name("n")
    graph = (2, b"")  # the default graph
    assert lines(
        n, pc.add(g=(1, b"g")), pc.namespace_delete("x"), pc.delete(g=None), pc.namespace_add("y", pc.iri(1), graph),
        pc.add(None, None, None, None), pc.namespace_delete("z"), stream=FLAT,
    ) == [
        "A _:b _:b _:b _:g .", 'PD "x" _:g .', "D _:b _:b _:b _:g .", 'PA "y" <n> .', "A _:b _:b _:b .", 'PD "z" .',
    ]


def test_a_namespace_before_any_graph_has_none():
    # Jelly-JVM leaves the graph out where Jena names none; only a quad must have one.
    rows = [pc.name("n"), pc.namespace_add("x", pc.iri(1)), pc.namespace_delete("y")]
    assert lines(*rows, pc.add(g=(1, b"g")), stream=FLAT) == ['PA "x" <n> .', 'PD "y" .', "A _:b _:b _:b _:g ."]
    assert "graph is left out" in str(wrong((pc.options(), *rows, pc.add(g=None))))


def test_terms_repeat_from_deletes_to_adds_and_not_into_headers():
    assert lines(
        pc.delete((1, b"s")), pc.add(None, None, LITERAL, None), pc.header("k", LITERAL),
        pc.delete(None, None, None, None), stream=FLAT,
    ) == ["D _:s _:b _:b _:b .", 'A _:s _:b "x" _:b .', 'H k "x" .', 'D _:s _:b "x" _:b .']


def test_a_namespace_of_triples_has_no_graph():
    rows = [pc.name("n"), pc.namespace_add("", pc.iri(1)), pc.namespace_delete("x", pc.iri(1)), pc.add(g=None)]
    assert lines(*rows, stream=FLAT, statement=TRIPLES) == ['PA "" <n> .', 'PD "x" .', "A _:b _:b _:b ."]


def test_headers_of_every_kind():
    quoted = (3, pc.quoted(2))
    found = lines(
        pc.name("n"), pc.header("", (0, pc.iri(1))), pc.header("b", (1, b"x")), pc.header("l", LITERAL),
        pc.header("q", quoted), stream=FRAME,
    )
    assert found == [
        'H "" <n> .', "H b _:x .", 'H l "x" .', "H q <<( << _:s _:p _:o >> _:p _:o )>> .",
    ]


def test_patches_end_by_stream_type():
    for stream, rows, ends in (
        (FRAME, [(pc.add(),), (pc.add(), pc.delete()), ()], [1, 4, 5]),
        (FLAT, [(pc.add(),), (pc.add(),)], []),
        (PUNCTUATED, [(pc.add(), pc.punctuation(), pc.add()), (pc.punctuation(), pc.punctuation())], [1, 3, 4]),
    ):
        frames = [pc.frame(pc.options(stream), *rows[0]), *(pc.frame(*more) for more in rows[1:])]
        (batch,) = decode(b"".join(frames))
        batch.check()
        assert [row for row, op in enumerate(batch.op) if op == 15] == ends


def test_options_may_come_again_and_must_be_the_same():
    rows = (pc.options(FLAT), pc.add(), pc.options(FLAT), pc.delete())
    assert len(decode(pc.frame(*rows))[0]) == 2
    error = wrong((*rows, pc.options(FRAME)))
    assert "differs" in str(error)
    assert error.row == 4


# ---- what it forbids: each with its row and byte


@pytest.mark.parametrize(
    ("settings", "rows", "message"),
    [
        ({}, [pc.commit()], "outside a transaction"),
        ({}, [pc.abort()], "outside a transaction"),
        ({}, [pc.start(), pc.commit(), pc.commit()], "outside a transaction"),
        ({}, [pc.start(), pc.abort(), pc.commit()], "outside a transaction"),
        ({}, [pc.start(), pc.start()], "inside another transaction"),
        ({}, [pc.start(), pc.punctuation()], "ends inside a transaction"),
        ({"stream": FLAT}, [pc.punctuation()], "punctuation"),
        ({"stream": FRAME}, [pc.add(), pc.punctuation()], "punctuation"),
        ({}, [pc.add(g=None)], "graph is left out"),
        ({}, [pc.add(s=None)], "subject is left out"),
        ({}, [pc.header("k", None)], "header has no value"),
        ({}, [pc.namespace_add("x", None, (2, b""))], "has no IRI"),
        ({}, [pc.add(), pc.add(o=(3, pc.terms((1, b"s"), None, (1, b"o"))))], "quoted triple has no predicate"),
        ({}, [pc.header("k", (3, pc.terms((1, b"s"), (1, b"p"), None)))], "quoted triple has no object"),
        ({}, [pc.header("k", (0, pc.iri(1)))], "name 1 was never defined"),
        ({}, [pc.header("k", (3, pc.quoted(70)))], "nested deeper"),
        ({}, [pc.header(b"\xff", LITERAL)], "UTF-8"),
        ({}, [pc.namespace_delete(b"\xff", None, (2, b""))], "UTF-8"),
        ({"prefixes": 0}, [pc.prefix()], "prefix entry 1 is outside"),
        ({"version": 2}, [], "version 2"),
        ({"version": 0}, [], "version 0"),
        ({"names": 7}, [], "at least 8"),
        ({"names": 10_000_000}, [], "above the limit"),
        ({"stream": 0}, [], "stream type 0"),
        ({"stream": 4}, [], "stream type 4"),
        ({"statement": 0}, [], "statement type 0"),
        ({"statement": 3}, [], "statement type 3"),
    ],
)
def test_misuse_is_an_error_with_row_and_byte(settings, rows, message):
    error = wrong((pc.options(**settings), *rows))
    assert message in str(error)
    assert error.frame == 0
    assert error.row == len(rows)
    before = len(pc.frame(pc.options(**settings), *rows[:-1])) if rows else 1
    assert before <= error.offset <= len(pc.frame(pc.options(**settings), *rows))


def test_a_transaction_in_two_frames():
    rows = (pc.start(),), (pc.commit(), pc.punctuation())
    for stream in (FLAT, PUNCTUATED):
        frames = [pc.frame(pc.options(stream), *rows[0]), pc.frame(*rows[1][: stream - 1])]
        assert sum(map(len, decode(b"".join(frames)))) == stream
    error = wrong((pc.options(FRAME), *rows[0]), rows[1])
    assert "inside a transaction" in str(error)
    assert error.frame == 0


def test_a_stream_that_ends_too_early():
    assert "inside a transaction" in str(wrong((pc.options(FLAT), pc.start())))
    assert isinstance(wrong((pc.options(FLAT), pc.start())), jelly.JellyTruncatedError)
    assert isinstance(wrong(()), jelly.JellyFormatError)


def test_the_two_formats_refuse_each_other():
    with pytest.raises(jelly.JellyFormatError, match="Jelly-Patch, not Jelly-RDF"):
        jelly.loads(pc.frame(pc.options(FRAME), pc.add()))
    assert "statement type 0" in str(wrong((craft.options(craft.QUADS), craft.quad())))
    assert "Jelly-RDF, not Jelly-Patch" in str(wrong((craft.options(craft.QUADS, name=b"x"), craft.quad())))


def test_sinks_of_statements_refuse_patches():
    (batch,) = decode(pc.frame(pc.options(FLAT), pc.start(), pc.add(), pc.commit()))
    for refused in (
        lambda: list(StatementIterator([batch])),
        lambda: Materializer(batch).statements(),
        lambda: TextWriter(quads=True).encode(batch),
        lambda: jelly.Encoder(jelly.StreamOptions()).encode(batch),
    ):
        with pytest.raises(jelly.JellyOptionsError):
            refused()
    (statements,) = jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").batches()
    for refused in (
        lambda: jelly.Encoder(PatchOptions()).encode(statements),
        lambda: TextWriter(quads=True, patch=True).encode(statements),
        lambda: operations(statements),
    ):
        with pytest.raises(jelly.JellyOptionsError):
            refused()
    assert len(Materializer(batch).statements(1, 2)) == 1


# ---- writing


@pytest.mark.parametrize("stream", [FRAME, FLAT, PUNCTUATED])
@pytest.mark.parametrize("tables", [(8, 0, 1), (8, 1, 1), (8, 2, 1), (4000, 150, 32)])
@pytest.mark.parametrize("frame_rows", [1, 3, 256])
def test_what_is_written_is_read(stream, tables, frame_rows):
    options = PatchOptions(
        stream_type=stream, rdf_star=True, max_name_table_size=tables[0], max_prefix_table_size=tables[1],
        max_datatype_table_size=tables[2],
    )
    for keys in (0, 2):
        data = encode(read_text(TEXT), options, frame_rows=frame_rows, keyframe_rows=keys)
        for chunk in (1, 2, 3, 7, len(data)):
            decoder = jelly.Decoder(patch=True, batch_rows=4)
            batches = []
            for at in range(0, len(data), chunk):
                batches += decoder.feed(data[at : at + chunk])
            batches += decoder.close()
            for batch in batches:
                batch.check()
            assert as_text(batches) == TEXT
            assert decoder.options == options


def test_reading_from_a_keyframe_on():
    body = b"A <a:s> <a:p> <a:o> <a:g> .\n" * 20
    encoder = jelly.Encoder(PatchOptions(stream_type=FLAT), frame_rows=4, keyframe_rows=5)
    data = b"".join([encoder.encode(batch) for batch in read_text(b"TX .\n" + body + b"TC .\n")] + [encoder.close()])
    assert len(encoder.keyframes) > 2
    for offset, row, *_ in encoder.keyframes:
        if offset < len(data):
            found = as_text(decode(data[offset:], options=encoder.options))
            assert found == (b"TX .\n" + body + b"TC .\n")[5 + 28 * (row - 1) :]


def test_misuse_when_writing():
    def write(*letters, stream=PUNCTUATED):
        collector = OperationBatchBuilder(4)
        for letter in letters:
            if letter == ".":
                collector.end_patch()
            else:
                collector.add(operation[letter])
        return encode([collector.batch], PatchOptions(stream_type=stream))

    (batch,) = read_text(b"TX .\nTC .\nTX .\nTA .\nH k 1 .\n")
    start, commit, _, abort, header = operations(batch)
    operation = {"S": start, "C": commit, "A": abort, "H": header}
    for letters in ("C", "A", "SS", "SCC", "S.", "S"):
        with pytest.raises(jelly.JellyFormatError):
            write(*letters)
    with pytest.raises(jelly.JellyOptionsError, match="one patch only"):
        write("H", ".", "H", stream=FLAT)
    assert as_text(decode(write("H", ".", stream=FLAT))) == as_text([select(batch, slice(4, 5))])
    with pytest.raises(jelly.JellyOptionsError, match="named graph"):
        encode(read_text(b'PD "x" <a:g> .'), PatchOptions(statement_type=TRIPLES))
    with pytest.raises(jelly.JellyOptionsError, match="rdf_star"):
        encode(read_text(b"H x << <a:s> <a:p> <a:o> >> ."), PatchOptions(rdf_star=False))
    collector = OperationBatchBuilder(4)
    collector.end_patch()
    collector.end_patch()
    with pytest.raises(jelly.JellyOptionsError, match="one frame"):
        encode([collector.batch], PatchOptions(stream_type=FRAME), delimited=False)


# ---- text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("X <a:s> .", "expected one of H TX TC TA PA PD A D"),
        ("AA <a:s> <a:p> <a:o> .", "expected one of H TX"),
        ("@prefix a: <b:> .", "expected one of H TX"),
        ("T", "expected one of H TX|inside a statement"),
        ("A <a:s> <a:p> .", "as object"),
        ("A <a:s> <a:p> <a:o>", "inside a statement"),
        ("A <a:s> R <a:o> .", "as predicate"),
        ("A <a:s> foaf:name <a:o> .", "as predicate"),
        ("A <a:s> <a:p> 1e .", "expected a number"),
        ("A <a:s> <a:p> + .", "as object"),
        ("A <_:> <a:p> <a:o> .", "blank node label"),
        ("A <_:a b> <a:p> <a:o> .", "blank node label"),
        ("H .", "as object|inside"),
        ("H", "inside a statement"),
        ("PA ex <a:b> .", "name of a namespace in quotes"),
        ('PA "ex" .', "IRI of the namespace"),
        ('PA "ex" _:b .', "IRI of the namespace"),
        ('PA "ex" <_:b> .', "IRI of the namespace"),
        ('PD "ex" <a:g> <a:h> .', "expected '.'"),
        ("TX . A <a:s> <a:p> <a:o> .", "ends inside a transaction"),  # Jena has several rows on a line
        ("A <a:s> <a:p> <a:o> . <a:x>", "expected one of H TX"),
        ("TC .", "outside a transaction"),
        ("TX .\nTX .", "inside another transaction"),
        ("TX .", "ends inside a transaction"),
    ],
)
def test_lines_that_are_wrong(line, message):
    with pytest.raises(jelly.JellyFormatError, match=message) as caught:
        read_text(line.encode())
    assert caught.value.line == line.count("\n") + 1
    assert caught.value.offset is not None


def test_what_other_writers_write():
    text = b"""TB.
A <_:x:1> <a:p> <<<_:y> <a:p> true>>.   # a comment
A <a:s> <a:p> 1816 .
A <a:s> <a:p> -1.5 .
A <a:s> <a:p> 1e6 <a:g>.
PA "" "http://example/" .
TC."""
    number = '"{}"^^<http://www.w3.org/2001/XMLSchema#{}>'.format
    assert as_text(read_text(text)).decode().splitlines() == [
        "TX .",
        f"A _:x:1 <a:p> <<( _:y <a:p> {number('true', 'boolean')} )>> .",
        f"A <a:s> <a:p> {number('1816', 'integer')} .",
        f"A <a:s> <a:p> {number('-1.5', 'decimal')} .",
        f"A <a:s> <a:p> {number('1e6', 'double')} <a:g> .",
        'PA "" <http://example/> .',
        "TC .",
    ]


def test_blank_nodes_as_jena_wants_them():
    batches = read_text(b"A _:b1 <a:p> << _:b1 <a:p> _:x.y >> .\nA <a:s> <a:p> _:b1 _:g .\nH k _:b1 .\n")
    marked = b"".join(TextWriter(quads=True, patch=True, marked=True).encode(batch) for batch in batches)
    assert marked == re.sub(rb"_:[b1x.yg]+", rb"<\g<0>>", as_text(batches))
    assert as_text(read_text(marked)) == as_text(batches)


def test_text_in_chunks_of_any_size():
    for chunk in (1, 2, 3, 7):
        reader = TextReader(quads=True, patch=True, batch_rows=3)
        batches = []
        for at in range(0, len(TEXT), chunk):
            batches += reader.feed(TEXT[at : at + chunk])
        batches += reader.close()
        assert as_text(batches) == TEXT
        for batch in batches:
            batch.check()


def test_operations_out_of_batches_and_back():
    (batch,) = read_text(TEXT)
    found = operations(batch)
    assert [str(operation) for operation in found] == TEXT.decode().splitlines()
    collector = OperationBatchBuilder(4)
    for _ in range(2):
        for operation in found:
            collector.add(operation)
        collector.batch.check()
        assert operations(collector.batch) == found
        collector.clear()
        assert len(collector) == 0
    with pytest.raises(TypeError):
        collector.add("A")
    with pytest.raises(IndexError):
        operations(batch, 0, 99)
    part = select(batch, slice(5, 8))
    part.check()
    assert operations(part) == found[5:8]
    statements = select(batch, (batch.op == 2) | (batch.op == 3), op=0).statements()
    assert statements == [x.statement for x in found if str(x)[0] in "AD"]


# ---- the binary form of Jena


def read_thrift(data, **settings):
    reader = BinaryReader("thrift", patch=True, **settings)
    return [*reader.feed(data), *reader.close()]


def as_thrift(batches):
    return b"".join(BinaryWriter("thrift", patch=True).encode(batch) for batch in batches)


def test_thrift_in_chunks_of_any_size():
    data = as_thrift(read_text(TEXT))
    for chunk in (1, 2, 3, 7, len(data)):
        reader = BinaryReader("thrift", patch=True, batch_rows=4)
        batches = [batch for at in range(0, len(data), chunk) for batch in reader.feed(data[at : at + chunk])]
        batches += reader.close()
        assert as_text(batches) == TEXT
        for batch in batches:
            batch.check()


@pytest.mark.parametrize(
    ("data", "message", "row"),
    [
        ("650000650000", "inside another transaction", 1),
        ("650200", "outside a transaction", 0),
        ("650000", "ends inside a transaction", 1),
        ("650600", "mark 3 is unknown", 0),
        ("650100", "mark -1 is unknown", 0),
        ("1c1801610000", "required field term is missing", 0),
        ("1c2c1c180161000000", "required field name is missing", 0),
        ("4c2801610000", "required field iri is missing", 0),
        ("5c0000", "required field name is missing", 0),
        ("5c2801ff0000", "UTF-8", 0),
        ("2c1c1c18016100000000", "predicate is missing", 0),
        ("7c0000", "unknown kind: field 7", 0),
    ],
)
def test_misuse_of_thrift(data, message, row):
    with pytest.raises(jelly.JellyError, match=message) as caught:
        read_thrift(bytes.fromhex(data))
    assert caught.value.row == row
    assert caught.value.offset is not None


def test_thrift_is_either_patch_or_statements():
    with pytest.raises(ValueError, match="Thrift"):
        BinaryReader("protobuf", patch=True)
    with pytest.raises(jelly.JellyOptionsError, match="Thrift"):
        BinaryWriter("protobuf", patch=True)
    with pytest.raises(jelly.JellyOptionsError, match="operations"):
        BinaryWriter("thrift").encode(read_text(TEXT)[0])
    with pytest.raises(jelly.JellyOptionsError, match="operations"):
        BinaryWriter("thrift", patch=True).encode(BatchBuilder(4).batch)


def test_every_cut_and_flip_of_thrift():
    whole = as_thrift(read_text(TEXT))
    places = []
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 1 << at % 8
        for data in (whole[:at], bytes(changed)):
            try:
                for batch in read_thrift(data):
                    batch.check()
                    as_thrift([batch])
            except jelly.JellyError as error:
                places.append(error)
    assert len(places) > len(whole)


# ---- hostile


def test_every_cut_and_every_flip():
    options = PatchOptions(rdf_star=True, max_name_table_size=8, max_prefix_table_size=2)
    whole = encode(read_text(TEXT), options, frame_rows=4)
    text = as_text(decode(whole))
    places = []
    for cut in range(len(whole)):
        try:
            found = decode(whole[:cut])
        except jelly.JellyError as error:
            places.append((error.offset, cut))
        else:
            assert text.startswith(as_text(found))
    assert all(offset is not None and offset <= cut for offset, cut in places)
    assert len(places) > len(whole) // 2
    for at in range(len(whole)):
        for mask in (0xFF, 0x80, 1 << at % 7):
            changed = bytearray(whole)
            changed[at] ^= mask
            try:
                found = decode(bytes(changed))
                for batch in found:
                    batch.check()
                    operations(batch)
                encode(found, PatchOptions(rdf_star=True, generalized_statements=True))
            except jelly.JellyError:
                pass


def test_every_flip_of_a_text():
    rng = random.Random(6)
    found = []
    for at in range(len(TEXT)):
        changed = bytearray(TEXT)
        changed[at] ^= 1 << rng.randrange(8)
        for data in (bytes(changed), TEXT[:at]):
            try:
                for batch in read_text(data):
                    batch.check()
                    as_text([batch])
            except jelly.JellyError as error:
                found.append(error.line)
    assert None not in found
    assert len(found) > len(TEXT) // 2


def test_random_rows():
    rng = random.Random(60)
    kinds = [
        pc.add, pc.delete, pc.start, pc.commit, pc.abort, pc.punctuation, pc.name, pc.prefix, pc.datatype, pc.options,
        lambda: pc.add(None, None, None, None), lambda: pc.namespace_add("x", pc.iri(1), (0, pc.iri())),
        lambda: pc.add(g=None), lambda: pc.namespace_delete("x"),
        lambda: pc.header("k", LITERAL), lambda: pc.header("k", (0, pc.iri(1))),
        lambda: pc.row(rng.randrange(1, 40), rng.randbytes(4)),
    ]  # fmt: skip
    outcomes = set()
    for _ in range(1500):
        rows = [rng.choice(kinds)() for _ in range(rng.randrange(8))]
        try:
            for batch in decode(pc.frame(pc.options(rng.randrange(1, 4), rng.randrange(1, 3)), *rows)):
                batch.check()
                as_text([batch])
            outcomes.add("good")
        except jelly.JellyError as error:
            outcomes.add(error.reason[:20])
    assert "good" in outcomes
    assert len(outcomes) > 12
