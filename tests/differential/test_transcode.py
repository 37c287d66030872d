"""Decode and encode again: statements, namespaces and metadata stay, and frames where they mean something."""

import base64
import io

import pytest
from support.shared import shared

import jelly

DATA = shared("data")
SUITE = shared("conformance", "test", "rdf")
FILES = {
    **{str(path.relative_to(DATA)): path for path in sorted(DATA.rglob("*.jelly*")) if path.suffix != ".txt"},
    # The suite has what the samples lack: GRAPHS streams and grouped logical types.
    **{str(path.relative_to(SUITE)): path for path in sorted(SUITE.rglob("pos_*/*.jelly"))},
}


def load(name):
    data = FILES[name].read_bytes()
    return base64.b64decode(data) if name.endswith("_b64") else data


def content(frames):
    return [(frame.statements, frame.namespaces, frame.metadata) for frame in frames]


def options_of(name, data):
    """The options to write with. One sample has a quoted triple that its own options forbid."""
    options = jelly.read_options(data)
    return options.replace(rdf_star=True) if name.endswith("temp_grouped_triples_input.jelly") else options


def test_all_files_are_there():
    assert len(FILES) >= 260


@pytest.mark.parametrize("name", FILES)
def test_by_frames(name):
    data = load(name)
    frames = list(jelly.scan(data).frames())
    options = options_of(name, data)
    out = io.BytesIO()
    with jelly.Writer(out, options, frame_rows=0, frame_bytes=0) as writer:
        for frame in frames:
            for namespace in frame.namespaces:
                writer.namespace(*namespace)
            writer.extend(frame)
            writer.end_frame(frame.metadata)
    assert jelly.read_options(out.getvalue()) == options
    assert content(jelly.scan(out.getvalue()).frames()) == content(frames)


@pytest.mark.parametrize("tables", [None, (8, 0, 32), (16, 2, 4), (4000, 150, 32)], ids=str)
@pytest.mark.parametrize("name", FILES)
def test_by_batches(name, tables):
    data = load(name)
    options = options_of(name, data)
    if tables is not None:
        fields = ("max_name_table_size", "max_prefix_table_size", "max_datatype_table_size")
        options = options.replace(**dict(zip(fields, tables, strict=True)))
    out = io.BytesIO()
    try:
        with jelly.Writer(out, options) as writer:
            for batch in jelly.scan(data, batch_rows=100).batches():
                writer.add_batch(batch, keep_frames=True if batch.metadata else None)
    except jelly.JellyOptionsError:
        # Ten levels of quoted triples need more than the smallest tables have.
        assert tables is not None
        assert tables[0] < 4000
        assert "star" in name
        return
    before, after = list(jelly.scan(data).frames()), list(jelly.scan(out.getvalue()).frames())
    assert jelly.read_options(out.getvalue()) == options
    if options.is_grouped:
        assert content(after) == content(before)
    else:
        assert [x for frame in after for x in frame] == [x for frame in before for x in frame]
        assert [x for frame in after for x in frame.namespaces] == [x for frame in before for x in frame.namespaces]
        assert [x.metadata for x in after if x.metadata] == [x.metadata for x in before if x.metadata]
