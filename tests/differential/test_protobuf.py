"""Our bytes against the generated protobuf classes: what we write they parse, what they can write we read."""

import io

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from reference import Decoder, Encoder, scramble, split, varint
from support.chance import examples
from support.oracle import plain_all, statement
from support.shared import shared
from support.strategies import METADATA, NAMESPACES, streams

import jelly

# The fixture is the same for all examples.
many = examples(300, HealthCheck.function_scoped_fixture)
PARTS = st.lists(st.tuples(st.integers(0, 6), NAMESPACES, st.none() | METADATA), max_size=5)


def write(options, statements, parts, **settings):
    """A stream of frames with namespaces and metadata; None where a table is too small for a statement."""
    out = io.BytesIO()
    at = 0
    try:
        with jelly.Writer(out, options, **settings) as writer:
            for n, namespaces, metadata in [*parts, (len(statements), [], {})]:
                for name, iri in namespaces:
                    writer.namespace(name, iri)
                writer.extend(map(statement, statements[at : at + n]))
                at += n
                if metadata is not None:
                    writer.end_frame(metadata)
    except jelly.JellyOptionsError as error:
        if "table" not in str(error):
            raise
        return None
    return out.getvalue()


@many
@given(stream=streams(max_size=20), parts=PARTS, frame_rows=st.sampled_from([0, 1, 5, 256]), key_rows=st.integers(0, 4))
def test_protobuf_reads_what_we_write(pb, stream, parts, frame_rows, key_rows):
    options, statements = stream
    keys = {"seekable": True, "keyframe_rows": key_rows} if key_rows else {}
    data = write(options.replace(version=2), statements, parts, frame_rows=frame_rows, **keys)
    if data is None:
        return
    frames = []
    for raw in split(data):
        frame = pb.RdfStreamFrame.FromString(raw)
        frame.DiscardUnknownFields()  # there are none, as the size then shows
        frames.append(frame)
        if len(frame.metadata) < 2:  # protobuf writes a map in any order
            assert frame.SerializeToString() == raw
        frame.DiscardUnknownFields()
        assert frame.ByteSize() == len(raw)
    read = list(Decoder().read(frames))
    for part in read:
        part[2].pop("jelly.index", None)
    assert [x for part in read for x in part[0]] == statements
    ours = [(plain_all(frame), frame.namespaces, frame.metadata) for frame in jelly.scan(data).frames()]
    assert ours == read


@many
@given(stream=streams(max_size=20), delimited=st.booleans())
def test_protobuf_reads_what_dumps_writes(pb, stream, delimited):
    options, statements = stream
    try:
        data = jelly.dumps(map(statement, statements), options, delimited=delimited)
    except jelly.JellyOptionsError:
        return
    (raw,) = split(data) if delimited else [data]
    frame = pb.RdfStreamFrame.FromString(raw)
    assert frame.SerializeToString() == raw
    ((read, _, _),) = Decoder().read([frame])
    assert read == statements


def options_row(pb, options):
    return pb.RdfStreamOptions(
        stream_name=options.stream_name,
        physical_type=options.physical_type,
        generalized_statements=options.generalized_statements,
        rdf_star=options.rdf_star,
        max_name_table_size=options.max_name_table_size,
        max_prefix_table_size=options.max_prefix_table_size,
        max_datatype_table_size=options.max_datatype_table_size,
        logical_type=options.logical_type,
        version=options.version,
    )


# Where options are repeated and the ids after them fit the beginning of a stream, too, that is said, see test_joined.
@pytest.mark.filterwarnings("ignore::jelly.errors.JoinedWarning")
@many
@given(
    stream=streams(max_size=20, tables=st.sampled_from([(40, 40, 32), (40, 0, 32), (128, 128, 128)])),
    parts=PARTS,
    random=st.randoms(use_true_random=True),
    disorder=st.booleans(),
)
def test_we_read_what_protobuf_can_write(pb, stream, parts, random, disorder):
    options, statements = stream
    options = options.replace(version=2)
    encoder = Encoder(pb, options_row(pb, options), random)
    namespaces = []
    at = 0
    for n, names, _ in [*parts, (len(statements), [], {})]:
        for name, iri in names:
            encoder.namespace(name, iri)
            namespaces.append((name, iri))
        for x in statements[at : at + n]:
            encoder.add(x)
        at += n
    encoder.end_graph()
    # Cut into frames anywhere; some are empty, the first ones too.
    cuts = sorted(random.randint(0, len(encoder.rows)) for _ in range(random.randint(0, 5)))
    frames = []
    for start, end in zip([0, *cuts], [*cuts, len(encoder.rows)], strict=True):
        metadata = {"k": b"\0", "é": b""} if random.random() < 0.3 else {}
        frames.append(pb.RdfStreamFrame(rows=encoder.rows[start:end], metadata=metadata))
    raw = [frame.SerializeToString() for frame in frames]
    if disorder:
        raw = [scramble(pb.RdfStreamFrame.DESCRIPTOR, x, random) for x in raw]
    expected = list(Decoder().read(pb.RdfStreamFrame.FromString(x) for x in raw))
    assert [x for part in expected for x in part[0]] == statements
    assert [x for part in expected for x in part[1]] == namespaces

    data = b"".join(varint(len(x)) + x for x in raw)
    # An empty frame or one of metadata alone may come first: only a delimited stream can begin so.
    ours = list(jelly.scan(data, delimited=True).frames())
    assert [(plain_all(frame), frame.namespaces, frame.metadata) for frame in ours] == expected
    assert plain_all(jelly.loads(data, delimited=True)) == statements
    assert jelly.read_options(data, delimited=True) == options
    chunks = [data[i : i + 3] for i in range(0, len(data), 3)]
    assert plain_all(jelly.read(chunks, delimited=True, batch_rows=2)) == statements


def fields_of(message):
    return {
        field.number: (
            field.name,
            field.type,
            field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED,
            field.containing_oneof.name if field.containing_oneof else None,
            field.message_type.name if field.message_type else field.enum_type.name if field.enum_type else None,
        )
        for field in message.fields
    }


@pytest.mark.interop
def test_our_definitions_are_those_of_pyjelly(pb):
    theirs = pytest.importorskip("support.by_pyjelly").pb.RdfStreamFrame.DESCRIPTOR.file.message_types_by_name
    ours = pb.RdfStreamFrame.DESCRIPTOR.file.message_types_by_name
    assert set(ours) == set(theirs)
    for name in ours:
        assert fields_of(ours[name]) == fields_of(theirs[name]), name
    for name, enum in pb.RdfStreamFrame.DESCRIPTOR.file.enum_types_by_name.items():
        same = theirs["RdfStreamFrame"].file.enum_types_by_name[name]
        assert {x.name: x.number for x in enum.values} == {x.name: x.number for x in same.values}


def test_text_form_beside_a_sample(pb):
    """The site of Jelly shows a stream in protobuf's text form."""
    from google.protobuf import text_format

    folder = shared("data", "jelly-samples", "site", "docs", "assets", "samples")
    parts = (folder / "foaf.jelly.txt").read_text().split("# Frame ")[1:]
    frames = [text_format.Parse(part.partition("\n")[2], pb.RdfStreamFrame()) for part in parts]
    ((statements, _, _),) = Decoder().read(frames)
    assert plain_all(jelly.read(folder / "foaf.jelly")) == statements
    assert len(statements) == 9
