"""jelly.convert: what is kept, what changes, what is told when it cannot be done."""

import gzip
import io
import os

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import craft
from support.shared import ROOT, shared
from support.statements import quads, rdf

import jelly
from jelly import IRI, Literal, LogicalType, PhysicalType, Quad, QuotedTriple, StreamOptions, Triple

S, P, O = IRI("http://a/s"), IRI("http://a/p"), Literal("o", language="en")  # noqa: E741
SAMPLES = [path for path in sorted((ROOT / "conformance").rglob("*.jelly")) if "neg_" not in str(path)]


def convert(data, **settings):
    out = io.BytesIO()
    done = jelly.convert(data, out, **settings)
    return out.getvalue(), done


def frames(data):
    return [(frame.statements, frame.metadata, frame.namespaces) for frame in jelly.scan(data).frames()]


def grouped(version=2, n=3):
    out = io.BytesIO()
    with jelly.Writer(out, StreamOptions(physical_type=2, logical_type=114, version=version)) as writer:
        for i in range(n):
            writer.namespace(f"n{i}", f"http://n/{i}#")
            writer.add(Quad(S, P, Literal(str(i)), IRI(f"http://g/{i}")))
            writer.end_frame({"seq": bytes([i])})
        writer.end_frame()
    return out.getvalue()


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: "/".join(path.parts[-4:]))
def test_jelly_to_jelly_keeps_everything(path):
    data, done = convert(path)
    assert jelly.read_options(data) == jelly.read_options(path)
    assert list(jelly.read(data)) == list(jelly.read(path))
    if jelly.read_options(path).is_grouped:
        assert frames(data) == frames(path)
    assert sum((f[2] for f in frames(data)), []) == sum((f[2] for f in frames(path)), [])
    assert done.statements == sum(1 for _ in jelly.read(path))
    assert done.bytes_written == len(data)
    assert done.bytes_read == path.stat().st_size


def test_frames_metadata_and_namespaces_of_a_grouped_stream():
    data, _ = convert(grouped())
    assert frames(data) == frames(grouped())


def test_metadata_of_a_flat_stream_keeps_its_frame():
    out = io.BytesIO()
    with jelly.Writer(out, frame_rows=0) as writer:
        writer.add((S, P, O))
        writer.end_frame({"a": b"1"})
        writer.add((S, P, S))
        writer.end_frame()
    data, _ = convert(out.getvalue())
    assert frames(data) == frames(out.getvalue())


def test_batches_may_cut_frames():
    data, _ = convert(grouped(n=40), batch_rows=7)
    assert frames(data) == frames(grouped(n=40))


@pytest.mark.parametrize("logical", [4, 2])
def test_metadata_before_the_rows_of_a_frame_that_is_cut(logical):
    rows = [craft.quad(o=(craft.BNODE, b"%d" % i)) for i in range(20)]
    data = craft.frame(craft.options(craft.QUADS, logical), craft.metadata("k", b"v"), *rows)
    data += craft.frame(*rows)
    data, _ = convert(data, batch_rows=7)
    found = [(len(frame), frame.metadata) for frame in jelly.scan(data).frames()]
    assert found == [(20, {"k": b"v"}), (20, {})]


def test_stale_index_is_left_out_and_a_new_one_made(tmp_path):
    path = tmp_path / "a.jelly"
    jelly.write(path, [(S, P, Literal(str(i))) for i in range(1000)], seekable=True)
    assert jelly.inspect(path).metadata == {"jelly.index": 1}
    data, _ = convert(path)
    assert jelly.inspect(data).metadata == {}
    jelly.convert(path, tmp_path / "b.jelly", seekable=True)
    with jelly.open(tmp_path / "b.jelly") as file:
        assert file[999].o.value == "999"


@given(st.lists(st.one_of(rdf, quads(rdf)), max_size=5))
def test_text_to_jelly_to_text(statements):
    text = io.BytesIO()
    with jelly.Writer(text, format="nq") as writer:
        try:
            writer.extend(statements)
            writer.flush()
        except jelly.JellyUnsupportedError:  # tags that the text formats cannot write
            assume(False)
    assume(b"_:esc_" not in text.getvalue())  # labels that have been replaced are replaced again
    data, done = convert(text.getvalue(), format="nq")
    assert convert(data, to="nq")[0] == text.getvalue()
    assert done.statements == len(statements)


@pytest.mark.parametrize(
    ("format", "physical", "logical"),
    [
        ("nt", PhysicalType.TRIPLES, LogicalType.FLAT_TRIPLES),
        ("nq", PhysicalType.QUADS, LogicalType.FLAT_QUADS),
    ],
)
@pytest.mark.parametrize("text", [b"", b"<a:s> <a:p> <a:o> .\n"])
def test_options_of_text(format, physical, logical, text):
    options = jelly.read_options(convert(text, format=format)[0])
    assert (options.physical_type, options.logical_type, options.rdf_star) == (physical, logical, False)


def test_empty_jelly_keeps_its_options():
    options = StreamOptions(physical_type=3, logical_type=4, stream_name="empty", version=1)
    assert jelly.read_options(convert(jelly.dumps([], options))[0]) == options


@pytest.mark.parametrize("statement", [b"<a:s> <a:p> <a:o> .\n", b"<a:s> <a:p> <a:o> <a:g> .\n"])
@pytest.mark.parametrize("kind", PhysicalType)
def test_a_type_by_its_name_is_that_by_its_number(kind, statement):
    def made(value):
        data = convert(statement, format="nq")[0]
        try:
            return convert(data, options={"physical_type": value})[0]
        except jelly.JellyError as error:
            return str(error)

    assert made(kind.name.lower()) == made(kind) == made(int(kind))


def test_options_as_a_whole_and_as_changes():
    data = grouped()
    whole = StreamOptions.small(physical_type=3, logical_type=2)
    found = jelly.read_options(convert(data, options=whole)[0])
    assert found == whole.replace(version=2)  # the source has namespaces
    found = jelly.read_options(convert(data, options={"max_name_table_size": 8, "stream_name": "x"})[0])
    assert found == jelly.read_options(data).replace(max_name_table_size=8, stream_name="x")


@pytest.mark.parametrize(
    ("physical", "logical", "to", "expected"),
    [
        (1, 1, 2, 2),
        (1, 3, 3, 4),
        (1, 13, 2, 4),
        (1, 0, 2, 0),
        (2, 2, 1, 1),
        (2, 4, 1, 3),
        (2, 114, 1, 3),
        (3, 14, 2, 14),
        (2, 114, 3, 114),
    ],
)
def test_logical_type_follows_the_physical(physical, logical, to, expected):
    data = jelly.dumps([], StreamOptions(physical_type=physical, logical_type=logical))
    found = jelly.read_options(convert(data, options={"physical_type": PhysicalType(to)})[0])
    assert (found.physical_type, found.logical_type) == (to, expected)


def test_physical_types_say_the_same():
    statements = [Quad(S, P, Literal(str(i)), IRI(f"http://g/{i // 3}")) for i in range(20)]
    data = jelly.dumps(statements)
    for physical in (3, 2):
        data, _ = convert(data, options={"physical_type": physical})
        assert jelly.loads(data) == statements


def test_frame_rows_and_one_bare_frame():
    data = jelly.dumps([(S, P, Literal(str(i))) for i in range(100)])
    assert jelly.inspect(convert(data, frame_rows=10)[0]).n_frames == 11
    assert jelly.inspect(convert(data, frame_bytes=20)[0]).n_frames > 20
    bare = convert(data, delimited=False)[0]
    assert jelly.inspect(bare).delimited is False
    assert jelly.loads(bare) == jelly.loads(data)
    with pytest.raises(jelly.JellyOptionsError, match="one frame only"):
        convert(grouped(), delimited=False)


@pytest.mark.parametrize(
    ("statement", "settings", "message"),
    [
        (Quad(S, P, O, IRI("a:g")), {"to": "nt"}, "graph"),
        (Quad(S, P, O, IRI("a:g")), {"options": {"physical_type": 1}}, "named graph"),
        (Triple(QuotedTriple(S, P, O), P, O), {"options": {"rdf_star": False}}, "rdf_star=True"),
        (Triple(S, P, Literal("1", datatype="a:d")), {"options": {"max_datatype_table_size": 0}}, "max_datatype"),
    ],
)
def test_what_cannot_be_written_says_why(statement, settings, message, tmp_path):
    path = tmp_path / "out.dat"
    with pytest.raises(jelly.JellyError, match=message) as caught:
        jelly.convert(jelly.dumps([statement]), path, **({"to": "jelly"} | settings))
    assert caught.value.source == str(path)
    assert os.listdir(tmp_path) == []


def test_bad_source_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "a.jelly"
    path.write_bytes(b"old")
    bad = tmp_path / "bad.jelly"
    for data in (b"\x05hello", grouped()[:-5]):
        bad.write_bytes(data)
        with pytest.raises(jelly.JellyError) as caught:
            jelly.convert(bad, path)
        assert caught.value.source == str(bad)
        assert path.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["a.jelly", "bad.jelly"]


def test_a_file_onto_itself(tmp_path):
    path = tmp_path / "a.jelly"
    path.write_bytes(grouped())
    jelly.convert(path, path, options={"max_name_table_size": 16})
    assert list(jelly.read(path)) == jelly.loads(grouped())


def test_errors_name_the_file_and_no_temporary_one(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        jelly.convert(grouped(), tmp_path / "none" / "a.nq")
    assert caught.value.filename == str(tmp_path / "none" / "a.nq")


def test_skipped_lines():
    text = b"<a:s> <a:p> <a:o> .\nbad\n<a:s> <a:p> .\n<a:s> <a:p> <a:q> .\n"
    data, done = convert(text, format="nt", on_error="skip")
    assert done.statements == done.n_skipped == 2
    assert [line for line, _ in done.skipped] == [2, 3]
    assert len(jelly.loads(data)) == 2
    with pytest.raises(jelly.JellySyntaxError) as caught:
        convert(text, format="nt")
    assert caught.value.line == 2


def test_strict():
    text = b"<s> <a:p> <a:o> .\n"
    assert convert(text, format="nt")[1].statements == 1
    with pytest.raises(jelly.JellySyntaxError):
        convert(text, format="nt", strict=True)


def test_progress_and_compressed_files(tmp_path):
    text = b"".join(b'<a:s> <a:p> "%d" .\n' % i for i in range(5000))
    source = tmp_path / "a.nt.gz"
    source.write_bytes(gzip.compress(text))
    calls = []
    done = jelly.convert(source, tmp_path / "a.jelly.gz", progress=lambda *call: calls.append(call), batch_rows=1000)
    size = source.stat().st_size
    assert [call[2] for call in calls][-1] == done.statements == 5000
    assert calls == sorted(calls)
    assert calls[-1][:2] == (size, size)
    assert done.bytes_read == size
    assert done.bytes_written == (tmp_path / "a.jelly.gz").stat().st_size
    assert done.seconds > 0
    jelly.convert(tmp_path / "a.jelly.gz", tmp_path / "b.nt")
    assert (tmp_path / "b.nt").read_bytes() == text


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "csv.gz", "nt", "nt.gz", "jelly.zst", "jelly.txt"])
def test_the_bytes_that_were_written(tmp_path, suffix):
    for module in ("pyarrow", "fsspec", "google.protobuf"):
        pytest.importorskip(module)
    jelly.write(tmp_path / "x.nt", [(IRI("a:s"), IRI("a:p"), Literal("o" * 1000))] * 100)
    found = jelly.convert(tmp_path / "x.nt", tmp_path / f"x.{suffix}")
    size = (tmp_path / f"x.{suffix}").stat().st_size
    assert found.bytes_written == size
    assert jelly.convert(tmp_path / "x.nt", f"memory://sizes.{suffix}").bytes_written == size
    if suffix in ("parquet", "arrow", "csv"):  # also as it is
        out = io.BytesIO()
        assert jelly.convert(tmp_path / "x.nt", out, to=suffix).bytes_written == len(out.getvalue()) == size
        out = io.BytesIO()
        assert jelly.convert(tmp_path / f"x.{suffix}", out, to="csv").bytes_written == len(out.getvalue())


def test_progress_without_a_size():
    calls = []
    convert(iter([b"<a:s> <a:p> <a:o> .\n"] * 3), format="nt", progress=lambda *call: calls.append(call))
    assert calls[-1] == (60, None, 3)


def test_an_exception_of_progress_leaves_no_file(tmp_path):
    def stop(*call):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        jelly.convert(grouped(), tmp_path / "a.nq.gz", progress=stop)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["vocabs-quads/vocabs.nq.gz", "vocabs-star/vocabs-star.nt.gz"])
def test_real_text_there_and_back(name, tmp_path):
    path = shared("data", *name.split("/"))
    jelly.convert(path, tmp_path / "a.jelly", options={"physical_type": 3} if ".nq" in name else None)
    back, _ = convert(tmp_path / "a.jelly", to="nq")
    assert all(x == y for x, y in zip(jelly.read(path), jelly.read(back, format=path.suffixes[0]), strict=True))


# ---- what turns up late

NT = b"".join(b"<a:s> <a:p> <a:o%d> .\n" % i for i in range(40_000))


def thrift(*parts, namespaces=()):
    """RDF Thrift of some statements after one another; a namespace stands in front of the part with its number."""
    out = io.BytesIO()
    with jelly.Writer(out, format="thrift") as writer:
        for i, part in enumerate(parts):
            for name, iri in dict(namespaces).get(i, ()):
                writer.namespace(name, iri)
            writer.extend(part)
    return out.getvalue()


PLAIN = [Quad(S, P, Literal(str(i)), jelly.DefaultGraph()) for i in range(40_000)]
LATE = {
    "graph": [Quad(S, P, O, IRI("a:g"))],
    "star": [Quad(QuotedTriple(S, P, O), P, O, jelly.DefaultGraph())],
    "generalized": [Quad(O, O, O, jelly.DefaultGraph())],
    "nested": [Quad(QuotedTriple(O, P, O), P, O, jelly.DefaultGraph())],
}


@pytest.mark.parametrize("suffix", [".jelly", ".jelly.gz"])
@pytest.mark.parametrize("seekable", [False, True])
@pytest.mark.parametrize("late", [*LATE, "namespace"])
def test_what_turns_up_late_in_a_file(tmp_path, late, seekable, suffix):
    if late == "namespace":
        data, wanted = thrift(PLAIN, PLAIN[:1], namespaces={1: [("ex", "http://e/")]}), PLAIN + PLAIN[:1]
    else:
        data, wanted = thrift(PLAIN, LATE[late]), PLAIN + LATE[late]
    path = tmp_path / f"out{suffix}"
    source = io.BytesIO(data)
    options = {"version": 1} if late == "namespace" else None
    if late == "namespace":  # thrift has namespaces, so that only who chose version 1 has an error
        with pytest.raises(jelly.JellyOptionsError, match="version=2"):
            jelly.convert(source, path, format="thrift", options=options, seekable=seekable)
        assert list(tmp_path.iterdir()) == []
        options = None
    jelly.convert(io.BytesIO(data), path, format="thrift", options=options, seekable=seekable)
    assert [Quad(*s) for s in jelly.read(path)] == wanted
    assert list(tmp_path.iterdir()) == [path]
    assert jelly.validate(path) == []
    if seekable and suffix == ".jelly":
        with jelly.open(path) as file:
            assert len(file) == len(wanted)


def test_late_in_text_and_what_is_not_late(tmp_path):
    path = tmp_path / "x.jelly"
    jelly.convert(NT + b'"l" <a:p> <a:o> .', path, format="nt")
    assert jelly.read_options(path).generalized_statements
    jelly.convert(b'"l" <a:p> <a:o> .\n' + NT, path, format="nt")
    assert jelly.read_options(path).generalized_statements
    # Nothing is announced that is not there.
    jelly.convert(NT, path, format="nt")
    options = jelly.read_options(path)
    assert (options.physical_type, options.generalized_statements, options.version) == (1, False, 1)
    # Chosen options stay.
    for chosen in ({"rdf_star": False}, StreamOptions(physical_type=1)):
        with pytest.raises(jelly.JellyOptionsError, match="needs rdf_star=True"):
            jelly.convert(NT + b"<< <a:s> <a:p> <a:o> >> <a:p> <a:o> .", path, format="nt", options=chosen)
    assert list(tmp_path.iterdir()) == [path]


def test_late_where_nothing_can_be_taken_back():
    class Pipe(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            return len(data)

    with pytest.raises(jelly.LateError, match=r"statement turned up .*'generalized_statements': True"):
        jelly.convert(NT + b'"l" <a:p> <a:o> .', Pipe(), format="nt")
    jelly.convert(NT + b'"l" <a:p> <a:o> .', out := io.BytesIO(), format="nt")
    assert jelly.loads(out.getvalue())[-1].s == jelly.Literal("l")
    jelly.convert(
        NT + b'"l" <a:p> <a:o> .', io.BytesIO(), format="nt", options={"generalized_statements": True}
    )


def test_sources_that_hold_more_than_they_say(tmp_path):
    """Their own options are wrong, which is no reason to lose them: what is written says what it holds."""
    data = craft.frame(
        craft.options(star=False, generalized=False), craft.name("a:p"),
        *[craft.triple(p=(craft.IRI, craft.iri(1)))] * 40_000,
        craft.triple(s=(craft.QUOTED, craft.quoted(2)), p=(craft.LITERAL, craft.literal("l"))),
    )
    jelly.convert(data, tmp_path / "x.jelly")
    assert list(jelly.read(tmp_path / "x.jelly")) == list(jelly.read(data))
    options = jelly.read_options(tmp_path / "x.jelly")
    assert (options.rdf_star, options.generalized_statements) == (True, True)


def test_a_well_compressed_file_is_begun_anew(tmp_path, monkeypatch):
    """What was written is read whatever it expands to: here to more than 4096 times its size."""
    monkeypatch.setattr("jelly._bytes.source.FREE_BYTES", 1000)
    lines = [b"<a:s> <a:p> <a:o> .\n" * 400_000, b"<a:s> _:b <a:o> .\n"]
    target = tmp_path / "x.jelly.bz2"
    assert jelly.convert(lines, target, format="nt").statements == 400_001
    with jelly.Reader(target, max_expansion=1 << 40) as reader:
        assert sum(map(len, reader.batches())) == 400_001
        assert reader.options is not None
        assert reader.options.generalized_statements


def test_tables(tmp_path):
    pytest.importorskip("pyarrow")
    text = b'<a:s> <a:p> "o"@en .\n<a:s> <a:q> _:b .\n'
    (tmp_path / "x.nt").write_bytes(text)
    found = jelly.convert(tmp_path / "x.nt", tmp_path / "x.parquet")
    assert (found.statements, found.bytes_read) == (2, len(text))
    assert found.bytes_written == (tmp_path / "x.parquet").stat().st_size
    assert jelly.convert(tmp_path / "x.parquet", tmp_path / "x.jelly", seekable=True).statements == 2
    assert list(jelly.read(tmp_path / "x.jelly")) == list(jelly.read(tmp_path / "x.nt"))
    with jelly.open(tmp_path / "x.jelly") as file:
        assert len(file) == 2
    with pytest.raises(jelly.JellyArgumentError, match="prefixes= does not go with tables"):
        jelly.convert(tmp_path / "x.nt", tmp_path / "y.csv", prefixes={"a": "a:"})
    assert not (tmp_path / "y.csv").exists()
