"""Random access, threads and joined files of Jelly-RDF 1.2, in both numberings, with an index or a sidecar."""

import pytest

import jelly
from jelly import IRI, BlankNode, Literal, Triple
from jelly._seekable.sidecar import make_sidecar

STATEMENTS = [
    Triple(IRI(f"http://e/{i // 3}"), IRI(f"http://e/p#{i % 7}"), BlankNode(f"b{i}") if i % 5 else Literal(str(i)))
    for i in range(2000)
]
SEEKABLE = {"seekable": True, "keyframe_rows": 500}
PLAIN = {}
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
        jelly.open(path)
    make_sidecar(path, distance=300, chunk=512)
    check(path, expected, 8)
