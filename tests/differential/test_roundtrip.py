"""What is written comes back: any term, any options, frames with namespaces and metadata."""

import io

from hypothesis import given
from hypothesis import strategies as st
from support.chance import many
from support.oracle import plain_all, statement
from support.strategies import IRIS, METADATA, NAMESPACES, roomy_tables, streams

import jelly


def fits(write):
    """The result of `write`, or None where a table is too small for one statement and the writer says so."""
    try:
        return write()
    except jelly.JellyOptionsError as error:
        if "table" not in str(error):
            raise
        return None


@many
@given(streams(), st.booleans())
def test_dumps_and_loads(stream, delimited):
    options, statements = stream
    data = fits(lambda: jelly.dumps(map(statement, statements), options, delimited=delimited))
    if data is None:
        assert options.max_name_table_size < 64 or options.max_datatype_table_size < 32
        return
    assert plain_all(jelly.loads(data)) == statements
    assert plain_all(jelly.loads(data, delimited=delimited)) == statements
    assert jelly.read_options(data) == options.replace(version=1)


@many
@given(streams(tables=roomy_tables(), min_size=1))
def test_without_options(stream):
    options, statements = stream
    if options.generalized_statements:
        return
    assert plain_all(jelly.loads(jelly.dumps(map(statement, statements)))) == statements


PARTS = st.lists(
    st.tuples(st.integers(0, 6), NAMESPACES, st.none() | METADATA),  # statements, namespaces before them, frame end
    max_size=6,
)


@many
@given(streams(max_size=24), PARTS, st.sampled_from([0, 1, 2, 7, 256]), st.sampled_from([0, 1, 50, 1 << 20]))
def test_writer_and_read_frames(stream, parts, frame_rows, frame_bytes):
    options, statements = stream
    out = io.BytesIO()
    parts = [*parts, (len(statements), [], {})]

    def write():
        at = 0
        with jelly.Writer(out, options.replace(version=2), frame_rows=frame_rows, frame_bytes=frame_bytes) as writer:
            for n, namespaces, metadata in parts:
                for name, iri in namespaces:
                    writer.namespace(name, iri)
                writer.extend(map(statement, statements[at : at + n]))
                at += n
                if metadata is not None:
                    writer.end_frame(metadata)
        return True

    if not fits(write):
        return
    frames = list(jelly.scan(out.getvalue()).frames())
    assert [x for frame in frames for x in plain_all(frame)] == statements
    assert [x for frame in frames for x in frame.namespaces] == [x for part in parts for x in part[1]]
    if options.is_grouped or (frame_rows == 0 and frame_bytes == 0):
        # Frames are those that were asked for: (statements, namespaces, metadata) each.
        expected, n, at, names = [], 0, 0, []
        for size, namespaces, metadata in parts:
            n += size
            names += namespaces
            if metadata is not None:
                expected.append((statements[at:n], names, metadata))
                at, names = min(n, len(statements)), []
        assert [(plain_all(frame), frame.namespaces, frame.metadata) for frame in frames] == expected
    else:
        # Other frames may lie between, but the metadata is there in its order.
        described = [frame.metadata for frame in frames if frame.metadata]
        assert described == [part[2] for part in parts if part[2]]


@many
@given(streams(max_size=30), st.integers(1, 5), st.integers(1, 9))
def test_batches_pass_on(stream, batch_rows, chunk):
    """Small Batches, read from small chunks and written one by one, carry repeated terms and tables over."""
    options, statements = stream
    data = fits(lambda: jelly.dumps(map(statement, statements), options))
    if data is None:
        return
    pieces = [data[i : i + chunk] for i in range(0, len(data), chunk)]
    out = io.BytesIO()
    with jelly.Writer(out, options) as writer:
        for batch in jelly.scan(pieces, batch_rows=batch_rows).batches():
            writer.add_batch(batch)
    assert plain_all(jelly.loads(out.getvalue())) == statements
    assert jelly.read_options(out.getvalue()) == options.replace(version=1)


@many
@given(
    st.lists(st.tuples(IRIS, IRIS, IRIS), max_size=40), st.sampled_from([(8, 0, 0), (8, 1, 0), (8, 2, 0), (8, 3, 0)])
)
def test_tiny_tables_hold_any_triple(statements, tables):
    """Three IRIs need three names at most, or with one prefix left three whole ones: always within 8."""
    names, prefixes, datatypes = tables
    options = jelly.StreamOptions(
        physical_type=1, max_name_table_size=names, max_prefix_table_size=prefixes, max_datatype_table_size=datatypes
    )
    assert plain_all(jelly.loads(jelly.dumps(map(statement, statements), options))) == statements
