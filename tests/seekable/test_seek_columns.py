"""Random access, threads and joined files of Jelly-RDF 1.2, in both numberings, with an index or a sidecar."""

import pytest

import jelly
from jelly import IRI, BlankNode, Literal, Quad, Triple
from jelly._dataset.seekable.sidecar import make_sidecar

STATEMENTS = [
    Triple(IRI(f"http://e/{i // 3}"), IRI(f"http://e/p#{i % 7}"), BlankNode(f"b{i}") if i % 5 else Literal(str(i)))
    for i in range(2000)
]
SEEKABLE = {"seekable": True, "keyframe_rows": 500}
PLAIN = {"seekable": False}
# Sizes of the tables of a second file.
OTHER = {"max_name_table_size": 300, "max_prefix_table_size": 20, "max_datatype_table_size": 5}


@pytest.fixture(params=["S", "P"])
def numbering(request):
    return request.param


def stream(path, numbering, settings, **options):
    options = {"version": 3, "numbering": numbering, **options}
    jelly.write(path, STATEMENTS, options=options, frame_rows=100, **settings)
    return path.read_bytes()


def check(path, expected, keyframes):
    """Slices and threads give the statements."""
    with jelly.open(path) as file:
        assert len(file.index.keyframes) >= keyframes
        assert len(file) == len(expected)
        assert [term for begin in range(0, len(expected), 701) for term in file[begin : begin + 701]] == expected
        for threads in 1, 2, 3:
            assert [term for batch in file.batches(threads=threads) for term in batch] == expected


def test_index(tmp_path, numbering):
    path = tmp_path / "a.jelly"
    stream(path, numbering, SEEKABLE)
    check(path, STATEMENTS, 4)


@pytest.mark.parametrize("logical", [0, 1, 3, 13])
@pytest.mark.parametrize("physical", [1, 2])
def test_an_index_for_each_logical_type(tmp_path, numbering, logical, physical):
    """A stream says less than the options of its writer; its index is for what it says."""
    path = tmp_path / "a.jelly"
    kind = jelly.LogicalType({13: 114}.get(logical, logical + 1) if physical == 2 and logical else logical)
    options = jelly.StreamOptions(physical_type=physical, logical_type=kind, version=3, numbering=numbering)
    with jelly.Writer(path, options, **SEEKABLE) as writer:
        for statement in STATEMENTS:
            writer.add(statement)
            if logical > 2:
                writer.end_frame()
    assert writer.options == jelly.read_options(path).replace(rdf_version="")
    expected = [Quad(*statement, None) for statement in STATEMENTS] if physical == 2 else STATEMENTS
    check(path, expected, 4)
    assert jelly.validate(path) == []


def test_sidecar(tmp_path, numbering):
    path = tmp_path / "a.jelly"
    stream(path, numbering, PLAIN)
    make_sidecar(path, distance=300, chunk=512)
    check(path, STATEMENTS, 4)


@pytest.mark.parametrize("first", [SEEKABLE, PLAIN], ids=["index", "plain"])
@pytest.mark.parametrize("second", [SEEKABLE, PLAIN], ids=["index", "plain"])
@pytest.mark.filterwarnings("ignore:the index of .* is ignored:RuntimeWarning")
def test_joined(tmp_path, numbering, first, second):
    """As by `cat`: through reading, and with a sidecar through slices and threads. No index speaks for both."""
    path = tmp_path / "a.jelly"
    joined = stream(path, numbering, first) + stream(path, numbering, second, **OTHER)
    path.write_bytes(joined)
    expected = STATEMENTS * 2
    assert list(jelly.read(path)) == list(jelly.read(path, joined=True)) == expected
    found = jelly.inspect(path)
    assert (found.statements, found.problems) == (len(expected), [])
    with pytest.raises(jelly.JellyError, match="no index"):
        jelly.JellyFile(path)
    make_sidecar(path, distance=300, chunk=512)
    check(path, expected, 7)


def restating(path, numbering, keyframe_rows=500):
    """A file whose frames restate the options now and then, without its last frame, which had the index: what the index
    said, and the statements that are left."""
    stream(path, numbering, {"seekable": True, "keyframe_rows": keyframe_rows})
    with jelly.open(path) as file:
        keyframes = file.index.keyframes
    *frames, _ = frames_of(data := path.read_bytes())
    path.write_bytes(data[: frames[-1][1]])
    with pytest.raises(jelly.JellyError, match="no index"):
        jelly.JellyFile(path)
    statements = list(jelly.read(path))
    assert statements == STATEMENTS[:1900]
    return keyframes, statements


def frames_of(data):
    """Where frames begin and end."""
    at = 0
    while at < len(data):
        begin, n, shift = at, 0, 0
        while True:
            n |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                break
        at += n
        yield begin, at


@pytest.mark.parametrize("terms", [False, True])
@pytest.mark.parametrize("chunk", [37, 512, 1 << 20])
def test_frames_that_restate_the_options_are_keyframes(tmp_path, numbering, chunk, terms):
    path = tmp_path / "a.jelly"
    keyframes, statements = restating(path, numbering)
    make_sidecar(path, distance=500, chunk=chunk, terms=terms)
    with jelly.open(path) as file:
        if chunk < 1 << 20:  # of a Batch only the last such frame is known
            assert file.index.keyframes == keyframes
        assert [file.index.state(number) for number in range(1, len(file.index.keyframes))] == [None] * (
            len(file.index.keyframes) - 1
        )
        for i in range(0, 700, 50):
            subject = IRI(f"http://e/{i}")
            assert list(jelly.scan(file).filter(s=subject)) == [one for one in statements if one.s == subject]
    check(path, statements, 2)


def test_far_frames_that_restate_the_options(tmp_path, numbering):
    """Between them are places with a state, if they are far from each other."""
    path = tmp_path / "a.jelly"
    _, statements = restating(path, numbering, 1000)
    make_sidecar(path, distance=300, chunk=512)
    with jelly.open(path) as file:
        states = [file.index.state(number) for number in range(1, len(file.index.keyframes))]
    assert None in states
    assert any(states)
    check(path, statements, 4)


@pytest.mark.parametrize("chunk", [512, 1 << 20])
def test_joined_files_have_a_keyframe_without_a_state(tmp_path, numbering, chunk):
    """Also where the options change within the first chunk."""
    path = tmp_path / "a.jelly"
    first = stream(path, numbering, PLAIN)
    path.write_bytes(first + stream(path, numbering, PLAIN, **OTHER))
    make_sidecar(path, distance=2000, chunk=chunk)
    with jelly.open(path) as file:
        [_, key] = file.index.keyframes
        assert (key.offset, key.statement) == (len(first), 2000)
        assert file.index.state(1) is None
    check(path, STATEMENTS * 2, 2)
