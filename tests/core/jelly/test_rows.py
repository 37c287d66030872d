"""Room rows: the counts against a second walk in Python and against decoding, chunks, cuts, errors with their place."""

import io
import itertools

import pytest
from support import craft
from support.shared import ROOT

import jelly
from jelly._core.jelly.row_counter import KINDS, RowCounter

FIELDS = {field: i for i, field in enumerate(KINDS.values())}
SAMPLES = sorted((ROOT / "conformance").rglob("*.jelly")) + sorted((ROOT / "data").rglob("*.jelly"))


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(field number, payload, size with the tag) of a message whose fields all have a length."""
    at = 0
    while at < len(data):
        begin = at
        tag, at = varint(data, at)
        assert tag & 7 == 2
        size, at = varint(data, at)
        yield tag >> 3, data[at : at + size], at + size - begin
        at += size


def expected(data, delimited):
    """Rows, bytes and metadata keys of each frame."""
    frames = []
    if delimited:
        at = 0
        while at < len(data):
            size, at = varint(data, at)
            frames.append((at, data[at : at + size]))
            at += size
    elif data:
        frames.append((0, data))
    found = []
    for offset, frame in frames:
        rows, sizes, keys = [0] * len(KINDS), [0] * len(KINDS), []
        for field, body, size in fields(frame):
            if field == 15:
                keys.append(next(value for f, value, _ in fields(body) if f == 1).decode())
                continue
            kinds = [FIELDS[f] for f, _, _ in fields(body) if f in FIELDS]
            kind = kinds[0] if kinds else len(KINDS) - 1
            rows[kind] += 1
            sizes[kind] += size
        found.append((offset, len(frame), rows, sizes, keys))
    return found


def counting(skim=True, places=False, sizes=False, max_frames=-1, **settings):
    counter = RowCounter(unknown_rows="skip", **settings)
    counter.quiet = True
    counter.want(skim=skim, places=places, sizes=sizes, max_frames=max_frames)
    return counter


def count(data, step=0, **settings):
    counter = counting(**settings)
    statements = 0
    for at in range(0, len(data), step or len(data) or 1):
        statements += sum(map(len, counter.feed(data[at : at + (step or len(data))])))
    statements += sum(map(len, counter.close()))
    assert statements == (0 if settings.get("skim", True) else counter.statements)
    return counter


def small(frames=3, metadata=True):
    out = io.BytesIO()
    with jelly.Writer(out, jelly.StreamOptions(physical_type=3, logical_type=4, version=2)) as writer:
        for i in range(frames):
            writer.namespace(f"n{i}", f"http://example.org/{i}/")
            for j in range(3):
                graph = jelly.IRI(f"g:{i}{j % 2}")
                writer.add((jelly.IRI(f"a:{i}"), jelly.IRI("a:p"), jelly.Literal(str(j), datatype="d:t"), graph))
            writer.end_frame({"seq": str(i).encode()} if metadata else None)
    return out.getvalue()


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: "/".join(path.parts[-4:]))
def test_same_as_python(path):
    data = path.read_bytes()
    try:
        counter = count(data, max_frames=1 << 19)
    except jelly.JellyError:
        assert "neg_" in str(path)
        return
    assert_same_when_decoded(data)
    table, keys = counter.take_frames()
    frames = expected(data, counter.delimited)
    assert counter.frames == len(frames) == len(table)
    for i, (offset, size, rows, sizes, names) in enumerate(frames):
        row = table[i].tolist()
        assert (row[0], row[1], row[3:13], row[13:]) == (offset, size, rows, sizes)
        assert [key for frame, key, *_ in keys if frame == i] == names
    assert list(counter.rows.values()) == [sum(c) for c in zip(*(f[2] for f in frames), strict=True)]
    assert counter.bytes == len(data)
    assert sum(counter.row_bytes.values()) + counter.metadata_bytes == counter.frame_bytes


def assert_same_when_decoded(data):
    how = {"max_frames": 1 << 19, "places": True, "sizes": True}
    skimmed = count(data, **how)
    try:
        decoded = count(data, skim=False, **how)
    except jelly.JellyError:
        return  # what is skimmed has no wrong references
    assert (skimmed.rows, skimmed.row_bytes, skimmed.parts) == (decoded.rows, decoded.row_bytes, decoded.parts)
    assert (skimmed.metadata, skimmed.bytes, skimmed.frames) == (decoded.metadata, decoded.bytes, decoded.frames)
    assert (skimmed.take_frames()[0] == decoded.take_frames()[0]).all()
    assert (skimmed.take_places() == decoded.take_places()).all()


@pytest.mark.parametrize("skim", [True, False])
def test_counts(skim):
    counter = count(small(), skim=skim, max_frames=3, places=True)
    assert counter.frames == 3
    assert counter.delimited is True
    assert counter.statements == 9
    rows = counter.rows
    assert (rows["options"], rows["triple"], rows["quad"], rows["namespace"]) == (1, 9, 0, 3)
    assert rows["graph_start"] == rows["graph_end"] == 9
    assert rows["datatype"] == 1
    assert counter.metadata == {"seq": 3}
    table, keys = counter.take_frames()
    assert keys == [(i, "seq", b"%d" % i, 1) for i in range(3)]
    assert table.shape == (3, 3 + 2 * len(KINDS))
    assert counter.take_frames()[0].shape == (0, 3 + 2 * len(KINDS))


def test_places():
    data = small()
    counter = count(data, places=True)
    places = counter.take_places()
    names = ("options", "triple", "graph_start", "graph_end", "namespace")
    assert set(places[:, 0].tolist()) == {KINDS[name] for name in names}
    assert sorted(set(places[:, 1].tolist())) == [0, 1, 2]
    for kind, _, _, offset in places.tolist():
        assert data[offset] == kind << 3 | 2
    assert len(counter.take_places()) == 0


@pytest.mark.parametrize("step", [1, 2, 3, 7])
def test_chunks(step):
    data = small()
    whole, parts = count(data, max_frames=3, places=True), count(data, step, max_frames=3, places=True)
    assert whole.rows == parts.rows
    assert whole.row_bytes == parts.row_bytes
    assert whole.bytes == parts.bytes == len(data)
    assert (whole.take_places() == parts.take_places()).all()
    assert (whole.take_frames()[0] == parts.take_frames()[0]).all()
    assert whole.take_frames()[1] == []


def test_not_delimited():
    data = jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))], delimited=False)
    for step in (0, 1, 5):
        counter = count(data, step, max_frames=1)
        assert counter.delimited is False
        assert counter.frames == 1
        assert counter.bytes == counter.frame_bytes == len(data)


def test_empty():
    counter = counting()
    assert (counter.frames, counter.statements, counter.bytes) == (0, 0, 0)
    with pytest.raises(jelly.JellyFormatError, match="options"):
        list(counter.close())
    assert count(b"\0\0" + craft.frame(craft.options()), delimited=True).frames == 3


def test_cut_at_each_byte():
    data = small(2)
    ends = [offset + size for offset, size, *_ in expected(data, True)]
    for cut in range(len(data)):
        if cut in ends:
            count(data[:cut])
            continue
        if cut == 0:
            continue
        with pytest.raises(jelly.JellyTruncatedError) as caught:
            count(data[:cut], delimited=True)
        assert caught.value.offset is not None


def test_each_byte_changed():
    data = small(2)
    for i in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            bad = data[:i] + bytes([data[i] ^ flip]) + data[i + 1 :]
            try:
                counter = count(bad, max_frames=100, places=True)
            except jelly.JellyError:
                continue
            assert counter.bytes == len(bad)


@pytest.mark.parametrize("skim", [True, False])
def test_error_has_a_place_and_stays(skim):
    row = b"\x0a\x03\x12\x05\x00"  # a triple longer than its row
    counter = counting(skim, delimited=True)
    with pytest.raises(jelly.JellyFormatError, match="malformed") as caught:
        list(counter.feed(craft.frame(craft.options()) + bytes([2 + len(row)]) + b"\x0a\x00" + row))
    assert (caught.value.frame, caught.value.row) == (1, 1)
    assert caught.value.offset is not None
    with pytest.raises(jelly.JellyFormatError, match="malformed"):
        counter.push(b"\x00")


def test_what_follows_an_error_is_not_counted():
    wrong = craft.triple(s=(craft.IRI, craft.iri(name=7)))
    data = craft.frame(craft.options(), wrong, craft.triple()) + craft.frame(wrong)
    assert count(data).statements == 3
    counter = counting(skim=False)
    with pytest.raises(jelly.JellyFormatError, match="never defined"):
        list(counter.feed(data))
    assert (counter.statements, counter.frames) == (1, 0)


def test_unknown_rows_and_fields():
    # A row of field 7, an empty row, field 2 of the frame as a number.
    for skim in (True, False):
        counter = count(craft.frame(craft.options()) + b"\x09\x0a\x03\x3a\x01x\x0a\x00\x10\x05", skim=skim)
        assert counter.rows["other"] == 2
        assert counter.row_bytes["other"] == 7
        assert counter.frame_bytes == 9 + len(craft.frame(craft.options())) - 1


def test_a_length_may_have_more_bytes_than_it_needs():
    row = craft.triple()[2:]
    long = b"\x0a" + bytes([0x80 | len(row), 0x80, 0]) + row
    assert len(row) < 0x80
    data = craft.frame(craft.options()) + bytes([len(long)]) + long
    assert count(data).row_bytes["triple"] == len(long)


def test_other_options_in_the_middle_are_counted_on():
    s, p, o = jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o")
    columns = jelly.dumps([(s, p, o)], jelly.StreamOptions(version=3))
    parts = [jelly.dumps([(s, p, o)]), jelly.dumps([(s, p, o, s)]), columns, jelly.dumps([(s, p, o)])]
    for first, second in itertools.permutations(parts, 2):
        counter = count(first + second)
        assert counter.statements == 2
        assert [counter.frames, *counter.restarts] == (
            [2] if second is columns else [2, 1, 0, counter.restarts[2], 1]
        )


def test_limits_and_misuse():
    with pytest.raises(jelly.JellyLimitError, match="max_frame_bytes"):
        count(b"\x20" + bytes(32), delimited=True, max_frame_bytes=16)
    with pytest.raises(jelly.JellyLimitError, match="frames"):
        count(small(), max_frames=2)
    counter = count(small())
    with pytest.raises(ValueError, match="closed"):
        counter.push(b"")
    with pytest.raises(jelly.JellyArgumentError):
        counting().push("text")
