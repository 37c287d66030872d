"""jelly.inspect: counts, options, frames."""

import gzip
import io
import json

import pytest
from support import craft
from support.shared import shared

import jelly
from jelly import IRI, Literal, Quad, StreamOptions


def stream(delimited=True, n=3):
    out = io.BytesIO()
    options = StreamOptions.small(physical_type=3, logical_type=14, stream_name="test", version=2)
    with jelly.Writer(out, options, delimited=delimited) as writer:
        for i in range(n):
            writer.namespace(f"n{i}", "http://n/")
            writer.add(Quad(IRI(f"http://a/{i}"), IRI("http://a/p"), Literal("1", datatype="d:t"), IRI("http://g/")))
            writer.end_frame({"seq": b"12", f"only{i}": b""})
    return out.getvalue()


def test_counts():
    data = stream()
    found = jelly.inspect(data)
    assert (found.statements, found.n_frames, found.delimited) == (3, 3, True)
    assert found.bytes == found.bytes_read == len(data)
    assert found.options == jelly.read_options(data)
    assert found.options.stream_name == "test"
    assert {kind: n for kind, n in found.rows.items() if n} == {
        "options": 1, "triple": 3, "graph_start": 3, "graph_end": 3, "namespace": 3, "name": 5, "prefix": 3,
        "datatype": 1,
    }  # fmt: skip
    assert found.metadata == {"seq": 3, "only0": 1, "only1": 1, "only2": 1}
    assert found.frames == []
    lengths = 2 + 1 + 1  # of the frames
    assert sum(found.row_bytes.values()) + found.metadata_bytes + lengths == len(data)


def test_per_frame():
    found = jelly.inspect(stream(), per_frame=True)
    assert [frame.index for frame in found.frames] == [0, 1, 2]
    assert [frame.statements for frame in found.frames] == [1, 1, 1]
    assert list(found.frames[1].metadata) == ["seq", "only1"]
    for kind in found.rows:
        assert sum(frame.rows[kind] for frame in found.frames) == found.rows[kind]
        assert sum(frame.row_bytes[kind] for frame in found.frames) == found.row_bytes[kind]
    assert sum(frame.metadata_bytes for frame in found.frames) == found.metadata_bytes
    for before, after in zip(found.frames, found.frames[1:], strict=False):
        assert before.offset + before.bytes < after.offset


@pytest.mark.parametrize("step", [1, 7, 100])
def test_chunks_make_no_difference(step):
    data = stream()
    chunks = (data[at : at + step] for at in range(0, len(data), step))
    assert jelly.inspect(chunks, per_frame=True) == jelly.inspect(data, per_frame=True)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"", ""),
        (b"Ann \xc3\xa4", "Ann \u00e4"),
        (b"\x00\xff", "0x00ff"),
        (b"a\nb", "0x610a62"),
        (b"a\xc3", "0x61c3"),
        (b"\x1b[31m", "0x1b5b33316d"),
        (b"x" * 100, "x" * 100),
        (b"x" * 101, "x" * 100 + "... (101 bytes)"),
        (b"x" * 98 + "\U0001f600".encode() * 500, "x" * 98 + "... (2,098 bytes)"),
        (bytes(5000), "0x" + "00" * 100 + "... (5,000 bytes)"),
    ],
)
def test_values_of_metadata(value, shown):
    out = io.BytesIO()
    with jelly.Writer(out, StreamOptions(1, 1)) as writer:
        writer.end_frame({"first": b"1", "key": value})
        writer.end_frame({"key": b"2"})
    data = out.getvalue()
    expected = [{"first": "1", "key": shown}, {"key": "2"}]
    for chunks in (data, [data[i : i + 1] for i in range(len(data))]):
        frames = jelly.inspect(chunks, per_frame=True).frames
        assert [{**frame.metadata} for frame in frames[:2]] == expected
        assert [frame.as_dict()["metadata"] for frame in frames[:2]] == expected


def test_not_delimited():
    found = jelly.inspect(stream(delimited=False, n=1))
    assert (found.delimited, found.n_frames, found.statements) == (False, 1, 1)


def test_compressed(tmp_path):
    path = tmp_path / "a.jelly.gz"
    path.write_bytes(gzip.compress(stream()))
    calls = []
    found = jelly.inspect(path, progress=lambda *call: calls.append(call))
    assert found.bytes == len(stream())
    assert found.bytes_read == path.stat().st_size
    assert calls[-1] == (found.bytes_read, found.bytes_read, 3)


def test_as_dict_is_plain():
    plain = jelly.inspect(stream(), per_frame=True).as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["options"]["logical_type"] == "NAMED_GRAPHS"
    assert plain["rows"]["triple"] == 3
    assert "quad" not in plain["rows"]
    assert plain["frames"][2]["rows"]["namespace"] == 1
    assert "frames" not in jelly.inspect(stream()).as_dict()


def test_errors_name_file_and_place(tmp_path):
    path = tmp_path / "a.jelly"
    for data, message in ((b"", "options"), (b"\x05hello", "options|malformed"), (stream()[:-1], "inside a frame")):
        path.write_bytes(data)
        with pytest.raises(jelly.JellyFormatError, match=message) as caught:
            jelly.inspect(path)
        assert caught.value.source == str(path)
        assert caught.value.offset is not None


def test_what_only_the_decoder_sees_is_left_to_it():
    data = craft.frame(craft.options(), craft.triple(s=(craft.IRI, craft.iri(name=7))), craft.triple())
    with pytest.raises(jelly.JellyFormatError, match="never defined"):
        jelly.loads(data)
    assert jelly.inspect(data).statements == 2


def test_limits():
    data = jelly.dumps([], StreamOptions(max_name_table_size=5000))
    with pytest.raises(jelly.JellyLimitError, match="max_names"):
        jelly.inspect(data)
    assert jelly.inspect(data, max_names=5000).options.max_name_table_size == 5000
    with pytest.raises(jelly.JellyLimitError, match="max_frame_bytes"):
        jelly.inspect(stream(), max_frame_bytes=8)


def test_real_file():
    path = shared("data", "iot-weather", "assist-iot-weather_100kt.jelly.gz")
    found = jelly.inspect(path, per_frame=True)
    assert found.statements == 100_000
    assert found.n_frames == len(found.frames) == 395
    assert (found.rows["name"], found.rows["prefix"], found.rows["datatype"]) == (917, 30, 3)
