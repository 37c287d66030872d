"""Values of Kafka without a broker: what a value may be, its headers, its errors, its size; for each client."""

from __future__ import annotations

import gzip
import io
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from support.shared import shared
from support.statements import quads, star

import jelly
import jelly.oxigraph
import jelly.patch
from jelly import IRI, BlankNode, Frame, Literal, LogicalType, Quad, QuotedTriple, StreamOptions, Triple
from jelly.kafka import JellyDeserializer, JellySerializationError, JellySerializer
from jelly.messages import Message
from jelly.patch import Add, Commit, Delete, Header, Patch, PatchReader, PatchStreamType, Start

S, P, X, G = (IRI(f"http://example.org/{name}") for name in "spxg")
TRIPLES = [Triple(S, P, X), Triple(S, P, Literal("x", language="en")), Triple(BlankNode("b"), P, Literal("1"))]
QUADS = [Quad(*triple, G) for triple in TRIPLES]
TEXT = "".join(f"{triple} .\n" for triple in TRIPLES)
LINES = b'<http://example.org/s> <http://example.org/p> "o" <http://example.org/g> .\n'

serialize, deserialize = JellySerializer(), JellyDeserializer()


class Context:
    """What confluent-kafka gives to serializers."""

    def __init__(self, headers: Any = None, field: str = "value") -> None:
        self.topic, self.headers, self.field = "topic", headers, field


# ---- what a value may be


def of_rdflib(dataset: bool) -> Any:
    made: Any = rdflib.Dataset() if dataset else rdflib.Graph()
    out = io.BytesIO()
    jelly.write(out, QUADS if dataset else TRIPLES)
    made.parse(data=out.getvalue(), format="jelly")  # RDFLib 7.0 gives back another graph
    return made


def ends(statements: Any) -> list[Any]:
    return sorted(map(str, statements))


VALUES = {
    "triples": (lambda: TRIPLES, TRIPLES, LogicalType.FLAT_TRIPLES),
    "quads": (lambda: QUADS, QUADS, LogicalType.FLAT_QUADS),
    "iterator": (lambda: iter(TRIPLES), TRIPLES, LogicalType.FLAT_TRIPLES),
    "nothing": (lambda: [], [], LogicalType.FLAT_TRIPLES),
    "tuples": (lambda: [tuple(triple) for triple in TRIPLES], TRIPLES, LogicalType.FLAT_TRIPLES),
    "a triple": (lambda: TRIPLES[0], TRIPLES[:1], LogicalType.FLAT_TRIPLES),
    "a tuple": (lambda: tuple(QUADS[0]), QUADS[:1], LogicalType.FLAT_QUADS),
    "triples and a quad": (lambda: [TRIPLES[0], QUADS[1]], [Quad(*TRIPLES[0]), QUADS[1]], LogicalType.FLAT_QUADS),
    "Batch": (lambda: batch(QUADS), QUADS, LogicalType.FLAT_QUADS),
    "empty Batch": (lambda: batch([]), [], LogicalType.FLAT_TRIPLES),
    "Frame": (lambda: Frame(0, TRIPLES), TRIPLES, LogicalType.GRAPHS),
    "Message": (lambda: Message(QUADS), QUADS, LogicalType.DATASETS),
    "graph": (lambda: of_rdflib(False), TRIPLES, LogicalType.GRAPHS),
    "dataset": (lambda: of_rdflib(True), QUADS, LogicalType.DATASETS),
    "rdflib triples": (lambda: list(of_rdflib(False)), TRIPLES, LogicalType.FLAT_TRIPLES),
    "pyoxigraph quads": (lambda: jelly.oxigraph.read(jelly.dumps(QUADS)), QUADS, LogicalType.FLAT_QUADS),
    "pyoxigraph triples": (lambda: list(jelly.oxigraph.read(jelly.dumps(TRIPLES))), TRIPLES, LogicalType.FLAT_TRIPLES),
    "pyoxigraph Dataset": (lambda: ox.Dataset(jelly.oxigraph.read(jelly.dumps(QUADS))), QUADS, LogicalType.FLAT_QUADS),
    "quoted": (lambda: [Triple(QuotedTriple(S, P, X), P, X)], [Triple(QuotedTriple(S, P, X), P, X)],
               LogicalType.FLAT_TRIPLES),
}  # fmt: skip


def batch(statements: list[Any]) -> jelly.Batch:
    return next(jelly.scan(jelly.dumps(statements)).batches())


@pytest.mark.parametrize("name", VALUES)
def test_what_a_value_may_be(name: str) -> None:
    make, expected, logical = VALUES[name]
    data = serialize(make())
    assert ends(deserialize(data)) == ends(expected)
    options = jelly.read_options(data)
    assert (options.logical_type, options.max_name_table_size) == (logical, 128)
    # Any reader of Jelly reads it: a frame without its length.
    with jelly.Reader(data) as reader:
        assert ends(reader) == ends(expected)
        assert reader.delimited is False


def test_many_are_what_each_is() -> None:
    plain = [name for name in VALUES if name not in ("quoted", "triples and a quad")]
    one_by_one = [serialize(VALUES[name][0]()) for name in plain]
    assert serialize.serialize_many(VALUES[name][0]() for name in plain) == one_by_one
    # As a Batch with frames, and in more than one part.
    groups = [[Triple(IRI(f"a:{i}"), P, Literal(str(n))) for n in range(i % 5)] for i in range(3000)]
    out = io.BytesIO()
    with jelly.Writer(out, StreamOptions(logical_type=LogicalType.GRAPHS, physical_type=1)) as writer:
        for group in groups:
            writer.extend(group)
            writer.end_frame()
    [whole] = jelly.scan(out.getvalue()).batches()
    made = serialize.serialize_many(whole)
    assert [deserialize(value) for value in made] == groups
    assert made[:50] == [serialize(Frame(0, group)) for group in groups[:50]]
    assert serialize.serialize_many(group or None for group in groups) == [
        serialize(group) if group else None for group in groups
    ]


def test_many_of_all_kinds() -> None:
    long = [Triple(IRI(f"a:{i}"), P, X) for i in range(150)]
    values: list[Any] = [TRIPLES, long, [], TRIPLES, None, QUADS, tuple(TRIPLES), iter(QUADS), QUADS]
    values += [Message(TRIPLES), long, QUADS]
    expected = [TRIPLES, long, [], TRIPLES, None, QUADS, TRIPLES, QUADS, QUADS, TRIPLES, long, QUADS]
    assert [deserialize(value) for value in serialize.serialize_many(values)] == expected
    thousands = [TRIPLES, QUADS, None, long] * 700
    assert [deserialize(value) for value in serialize.serialize_many(thousands)] == thousands


@given(st.lists(st.lists(quads(star), max_size=5), max_size=5))
def test_any_statements(groups: list[Any]) -> None:
    made = serialize.serialize_many(groups)
    assert [[Quad(*s) for s in deserialize(value)] for value in made] == groups
    assert [[Quad(*s) for s in deserialize(serialize(group))] for group in groups] == groups


def test_large_values_have_large_tables() -> None:
    value = [Triple(IRI(f"http://example.org/{i}"), P, IRI(f"http://example.org/{i % 200}")) for i in range(400)]
    data = serialize(value)
    assert deserialize(data) == value
    assert jelly.read_options(data).max_name_table_size == 4000
    assert jelly.read_options(JellySerializer(StreamOptions.small())(value)).max_name_table_size == 128
    assert jelly.read_options(JellySerializer({"max_name_table_size": 64})(value)).max_name_table_size == 64


def test_namespaces_and_metadata() -> None:
    message = Message(TRIPLES, namespaces=[("ex", "http://example.org/")], metadata={"key": b"value"})
    made = JellyDeserializer("message")(serialize(message))
    assert (made.metadata, made.namespaces, made.statements) == ({"key": b"value"}, [], TRIPLES)
    batch = JellyDeserializer("batch")(serialize(message))  # passed on as it came, alone and with others
    for value in (serialize(batch), *serialize.serialize_many([batch]), *serialize.serialize_many(batch)):
        assert JellyDeserializer("frame")(value).metadata == {"key": b"value"}
    with_names = JellySerializer(namespaces=True)
    assert JellyDeserializer("frame")(with_names(message)).namespaces == [("ex", "http://example.org/")]
    assert jelly.read_options(with_names(message)).version == 2
    graph = of_rdflib(False)
    graph.bind("ex", "http://example.org/")
    assert ("ex", "http://example.org/") in JellyDeserializer("frame")(with_names(graph)).namespaces
    names = dict(JellyDeserializer("rdflib")(with_names(graph)).namespaces())
    assert str(names["ex"]) == "http://example.org/"


# ---- patches

OPERATIONS = [Header("id", IRI("a:1")), Start(), Add(QUADS[0]), Delete(QUADS[1]), Commit()]


@pytest.mark.parametrize("value", [
    lambda: Patch(OPERATIONS), lambda: OPERATIONS, lambda: iter(OPERATIONS),
    lambda: next(Patch(OPERATIONS).batches()),
], ids=["Patch", "list", "iterator", "Batch"])  # fmt: skip
def test_patches(value: Any) -> None:
    headers: list[Any] = []
    data = serialize(value(), Context(headers))
    assert headers == [("content-type", b"application/x-jelly-rdf-patch")]
    assert deserialize(data) == Patch(OPERATIONS)
    reader = PatchReader(data)
    assert list(reader) == [Patch(OPERATIONS)]
    assert (reader.options.stream_type, reader.options.max_name_table_size) == (PatchStreamType.FRAME, 128)
    assert JellyDeserializer("batch")(data).op.tolist()[:5] == [14, 6, 2, 3, 7]
    assert JellyDeserializer("arrow")(data).column("op").to_pylist() == ["add", "delete"]
    with pytest.raises(JellySerializationError, match="patch"):
        JellyDeserializer("rdflib")(data)


def test_patches_of_triples_and_one_operation() -> None:
    patch = Patch([Add(TRIPLES[0])], quads=False)
    assert [str(op) for op in deserialize(serialize(patch))] == [str(op) for op in patch]
    assert len(deserialize(serialize(Add(QUADS[0])))) == 1
    assert list(deserialize(serialize(Patch()))) == []
    assert [type(value) for value in map(deserialize, serialize.serialize_many([TRIPLES, patch]))] == [list, Patch]
    with pytest.raises(JellySerializationError, match="one patch"):
        serialize(iter([Add(QUADS[0]), patch]))


# ---- results


def test_small_values_do_not_know_of_each_other() -> None:
    triples = [Triple(IRI("a:s"), IRI(f"a:p{n}"), Literal(str(n), language="en")) for n in range(10)]
    quads = [Quad(*triple, BlankNode("g")) for triple in triples[:3]]
    serializer, statements, batch = JellySerializer(), JellyDeserializer(), JellyDeserializer("batch")
    values = [serializer(each) for each in (triples, quads, quads[:1], triples[:1])]
    first = batch(values[0])
    for value, expected in 3 * [*zip(values, (triples, quads, quads[:1], triples[:1]), strict=True)]:
        assert statements(value) == expected
        assert len(batch(value)) == len(expected)
        for wrong in (b"", value[:-2], value + b"\x0a"):
            with pytest.raises(JellySerializationError):
                statements(wrong)
    assert [first.term_text(term) for term in first.o.tolist()] == [triple.o.value for triple in triples]


def test_results() -> None:
    data = serialize(QUADS)
    assert JellyDeserializer("batch")(data).arity == 4
    assert JellyDeserializer("frame")(data).statements == QUADS
    assert JellyDeserializer("message")(data).statements == QUADS
    assert ends(JellyDeserializer("pyoxigraph")(data)) == ends(jelly.oxigraph.read(jelly.dumps(QUADS)))
    assert set(JellyDeserializer("rdflib")(data)) == set(of_rdflib(True))
    graph = JellyDeserializer("rdflib")(serialize(TRIPLES))
    assert (type(graph), set(graph)) == (rdflib.Graph, set(of_rdflib(False)))
    table = JellyDeserializer("arrow")(data)
    assert isinstance(table, pa.Table)
    assert table.column("graph").to_pylist() == [G.value] * 3
    assert JellyDeserializer("arrow")(serialize([])).num_rows == 0
    with pytest.raises(jelly.JellyArgumentError, match="result"):
        JellyDeserializer("graph")  # type: ignore[arg-type]
    with pytest.raises(jelly.JellyArgumentError, match="max_name"):
        JellyDeserializer(max_name=1)


def test_a_tombstone_stays_one() -> None:
    headers: list[Any] = []
    assert serialize(None, Context(headers)) is None
    assert headers == []
    assert serialize.serialize("topic", [], None) is None
    assert serialize.headers(None) == []
    for result in ("statements", "batch", "rdflib", "arrow"):
        assert JellyDeserializer(result)(None, Context([("content-type", b"application/n-quads")])) is None
    assert serialize.serialize_many([None, TRIPLES, None])[::2] == [None, None]


# ---- headers and formats


@pytest.mark.parametrize("kind", [list, dict])
def test_the_header_is_set_once(kind: Any) -> None:
    headers = kind([("Content-Type", b"text/plain"), ("trace", b"1")])
    for _ in range(2):
        serialize(TRIPLES, Context(headers))
    assert dict(headers) == {"trace": b"1", "content-type": b"application/x-jelly-rdf"}
    assert len(headers) == 2
    packed = JellySerializer(compression="gzip")
    packed(TRIPLES, Context(headers))
    assert dict(headers)["content-encoding"] == b"gzip"
    assert packed.headers() == [("content-type", b"application/x-jelly-rdf"), ("content-encoding", b"gzip")]
    serialize(TRIPLES, Context(headers))
    assert "content-encoding" not in dict(headers)
    keys = kind()
    serialize(TRIPLES, Context(keys, "key"))
    assert not keys
    serialize(TRIPLES, Context(None))


@pytest.mark.parametrize(("media", "data", "expected"), [
    ("application/n-quads", LINES, 1),
    ("Application/N-Triples; charset=utf-8", b"<a:s> <a:p> <a:o> .", 1),
    ("text/turtle", b"<a:s> <a:p> 1, 2 .", 2),
    ("application/ld+json", b'{"@id": "a:s", "a:p": [{"@id": "a:o"}, 2]}', 2),
    ("application/rdf+thrift", None, 3),
    ("application/x-jelly-rdf", None, 3),
    ("application/octet-stream", None, 3),
])  # fmt: skip
def test_the_header_tells_the_format(media: str, data: Any, expected: int) -> None:
    if data is None:
        out = io.BytesIO()
        jelly.write(out, TRIPLES, format="thrift" if "thrift" in media else "jelly")
        data = out.getvalue()
    for headers in ([("content-type", media.encode())], {"Content-Type": media}):
        for result in ("statements", "frame", "batch", "arrow", "rdflib"):
            assert len(JellyDeserializer(result)(data, Context(headers))) == expected
    assert len(JellyDeserializer().deserialize("topic", [("content-type", media.encode())], data)) == expected


def test_formats_without_headers() -> None:
    assert len(JellyDeserializer(format="nq")(LINES)) == 1
    assert len(JellyDeserializer(format="rdfp")(b"A <a:s> <a:p> <a:o> .\n")) == 1
    assert deserialize(b"A <a:s> <a:p> <a:o> .\n", Context([("content-type", b"application/rdf-patch")])).count(2) == 1
    with pytest.raises(jelly.JellyArgumentError, match="nonsense"):
        JellyDeserializer(format="nonsense")
    with pytest.raises(JellySerializationError, match="application/json"):
        deserialize(b"{}", Context([("content-type", b"application/json")]))
    # Streams with lengths, and several frames or patches.
    assert deserialize(jelly.dumps(QUADS)) == QUADS
    out = io.BytesIO()
    jelly.write(out, QUADS, frame_rows=1)
    assert deserialize(out.getvalue()) == QUADS
    assert len(JellyDeserializer("frame")(out.getvalue())) == 3
    several = jelly.patch.dumps([Patch([Add(QUADS[0])]), Patch([Delete(QUADS[0])])])
    assert [op.statement for op in deserialize(several)] == [QUADS[0]] * 2


# ---- errors


@pytest.mark.parametrize("value", [b"x", "text", 3, object(), [3], [(S, P)], [Triple(S, P, X), "no"], {1: 2}])
def test_wrong_values(value: Any) -> None:
    with pytest.raises(JellySerializationError) as caught:
        serialize(value)
    assert isinstance(caught.value.__cause__, jelly.JellyError)
    # What failed does not disturb what comes after it.
    assert deserialize(serialize(TRIPLES)) == TRIPLES
    with pytest.raises(JellySerializationError):
        serialize.serialize_many([TRIPLES, value])
    assert [deserialize(made) for made in serialize.serialize_many([TRIPLES, QUADS])] == [TRIPLES, QUADS]


def test_errors_of_options() -> None:
    with pytest.raises(jelly.JellyArgumentError, match="max_name_table_size"):
        JellySerializer({"max_names": 8})
    with pytest.raises(jelly.JellyArgumentError, match="StreamOptions"):
        JellySerializer(3)  # type: ignore[arg-type]
    with pytest.raises(JellySerializationError, match="quoted"):
        JellySerializer(StreamOptions(physical_type=1))([Triple(QuotedTriple(S, P, X), P, X)])
    with pytest.raises(JellySerializationError, match="frames"):
        serialize.serialize_many(next(jelly.scan(LINES, format="nq").batches()))


@pytest.mark.parametrize("data", [b"", b"hello", serialize(TRIPLES)[:-3], b"\x1f\x8bno", b"\x28\xb5\x2f\xfdno", LINES])
def test_broken_values(data: bytes) -> None:
    with pytest.raises(JellySerializationError) as caught:
        deserialize(data)
    error = caught.value
    assert isinstance(error.__cause__, jelly.JellyError)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert deserialize(serialize(TRIPLES)) == TRIPLES


def test_limits() -> None:
    data = serialize([Triple(S, P, Literal("x" * 100_000))])
    packed = JellySerializer(compression="gzip")([Triple(S, P, Literal("x" * 100_000))])
    zstd = JellySerializer(compression="zstd")([Triple(S, P, Literal("x" * 100_000))])
    for bomb in (packed, zstd):
        assert len(bomb) < 1000
        assert deserialize(bomb) == deserialize(data)
        with pytest.raises(JellySerializationError, match="max_value_bytes"):
            JellyDeserializer(max_value_bytes=10_000)(bomb)
    with pytest.raises(JellySerializationError, match="name table"):
        JellyDeserializer(max_names=64)(data)
    # Of patches in each result.
    patch = serialize(Patch([Add((IRI(f"a:{i}"), P, Literal("x" * 100))) for i in range(200)]))
    for result in ("statements", "batch", "arrow"):
        for limit, reason in (("max_names", "name table"), ("max_frame_bytes", "max_frame_bytes")):
            with pytest.raises(JellySerializationError, match=reason):
                JellyDeserializer(result, **{limit: 100})(patch)


# ---- compression


def test_compression() -> None:
    import zstandard

    values = [[Triple(IRI(f"http://example.org/{i}"), P, Literal(f"value {i}"))] for i in range(400)]
    plain = serialize.serialize_many(values)
    dictionary = zstandard.train_dictionary(2048, plain).as_bytes()
    packed = JellySerializer(compression="zstd", dictionary=dictionary)
    made = packed.serialize_many(values)
    assert sum(map(len, made)) * 2 < sum(map(len, plain))
    reader = JellyDeserializer(dictionaries=[dictionary])
    assert [reader(value) for value in made] == values
    assert [reader(value) for value in plain] == values  # compressed or not
    with pytest.raises(JellySerializationError, match="dictionary"):
        deserialize(made[0])
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(packed, values)) == made
        assert list(pool.map(reader, made)) == values
    assert gzip.decompress(JellySerializer(compression="gzip", level=9)(values[0])) == plain[0]
    # Nothing of what is behind the first member or frame is left out in silence.
    lines = [b'<a:s> <a:p> "%d" .\n' % i for i in range(3)]
    members = b"".join(map(gzip.compress, lines))
    text = JellyDeserializer(format="nt")
    assert text(members) == text(b"".join(lines))
    for broken in (members[:-3], members + b"more", b"".join(map(zstandard.compress, lines))):
        with pytest.raises(JellySerializationError, match="gzip data|zstd data"):
            text(broken)
    with pytest.raises(JellySerializationError, match="max_value_bytes"):
        JellyDeserializer(format="nt", max_value_bytes=40)(members)
    with pytest.raises(jelly.JellyArgumentError, match="compression"):
        JellySerializer(compression="lz4")  # type: ignore[arg-type]
    with pytest.raises(jelly.JellyArgumentError, match="dictionary"):
        JellySerializer(dictionary=dictionary)


def test_bytes_of_ten_statements() -> None:
    """What docs/kafka.md says of sizes: within 4 % of it, so that a change is seen."""
    packed = shared("data", "iot-weather", "assist-iot-weather-100k.nt.gz").read_bytes()
    lines = gzip.decompress(packed).splitlines(True)
    records = [b"".join(lines[i : i + 10]) for i in range(0, 20_000, 10)]
    texts = sum(len(gzip.compress(record)) for record in records)
    values = serialize.serialize_many(jelly.read(record, format="nt") for record in records)
    assert sum(map(len, values)) / texts == pytest.approx(2.60, rel=0.04)


# ---- clients


def test_threads_and_pickles() -> None:
    groups = [[Triple(IRI(f"a:{i}"), P, Literal("o"))] * (i % 7) for i in range(500)]
    expected = [serialize(group) for group in groups]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(serialize, groups)) == expected
    settings = {"compression": "gzip", "namespaces": True}
    copy = pickle.loads(pickle.dumps(JellySerializer({"rdf_star": True}, **settings)))
    assert copy(TRIPLES) == JellySerializer({"rdf_star": True}, **settings)(TRIPLES)
    again = pickle.loads(pickle.dumps(JellyDeserializer("batch", format="nq", max_names=200)))
    assert len(again(LINES)) == 1


def test_without_any_client() -> None:
    program = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("confluent_kafka", "kafka", "aiokafka", "rdflib", "pyoxigraph", "pyarrow"):
            raise ImportError(name)
sys.meta_path.insert(0, Hidden())
import jelly, jelly.kafka
from jelly.kafka import JellyDeserializer, JellySerializationError, JellySerializer
triple = jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"))
assert JellyDeserializer()(JellySerializer()([triple])) == [triple]
try:
    JellyDeserializer()(b"hello")
except jelly.JellyError as error:
    assert type(error) is JellySerializationError and type(error).__bases__ == (jelly.JellyError,)
    print("as it should be")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240)
    assert done.stdout == "as it should be\n", done.stderr
