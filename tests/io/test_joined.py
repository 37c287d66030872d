"""Files that were joined with ``cat``: told where they are not read as such, and read as the streams they are."""

from __future__ import annotations

import contextlib
import io
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import craft

import jelly
from jelly import IRI, BlankNode, Literal, PhysicalType, Quad, QuotedTriple, StreamOptions, Triple
from jelly.errors import JoinedWarning


def numbers(base: str, n: int, start: int = 0) -> list[Triple]:
    return [
        Triple(
            IRI(f"{base}s{i // 3}"),
            IRI(f"{base}p{i % 3}"),
            IRI(f"{base}o{i}") if i % 2 else Literal(str(i), datatype=f"{base}t"),
        )
        for i in range(start, start + n)
    ]


A, B = numbers("http://a.org/", 20), numbers("http://b.org/x/", 30)
TABLES = [
    {},
    {"max_prefix_table_size": 0},
    {"max_name_table_size": 8, "max_prefix_table_size": 4, "max_datatype_table_size": 2},
    {"max_name_table_size": 8, "max_prefix_table_size": 0},
]


def stream(statements: list[Any], frame_rows: int = 256, **options: Any) -> bytes:
    out = io.BytesIO()
    arity = len(statements[0])
    chosen = StreamOptions(**{"physical_type": arity - 2, "logical_type": arity - 2, "rdf_star": True, **options})
    jelly.write(out, statements, chosen, frame_rows=frame_rows)
    return out.getvalue()


def read(data: bytes, **settings: Any) -> list[Any]:
    return list(jelly.read(data, **settings))


def told(data: bytes, **settings: Any) -> int:
    """How often a reader warns."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for rows in (1, 7, 8192):
            with contextlib.suppress(jelly.JellyError):  # of ids that lead nowhere
                read(data, batch_rows=rows, **settings)
    assert {warning.category for warning in found} <= {JoinedWarning}
    assert len(found) in (0, 3)
    return len(found) // 3


@pytest.mark.parametrize("tables", TABLES)
@pytest.mark.parametrize("frame_rows", [1, 4, 256])
def test_joined(tables: dict[str, int], frame_rows: int) -> None:
    joined = stream(A, frame_rows, **tables) + stream(B, frame_rows, **tables)
    assert told(joined) == 1
    for rows in (1, 5, 8192):
        assert read(joined, joined=True, batch_rows=rows) == A + B
    assert told(joined, joined=True) == 0
    assert read(3 * joined, joined=True) == 3 * (A + B)
    (problem,) = [p for p in jelly.validate(joined) if "another stream" in p.message]
    assert problem.offset is not None
    assert problem.offset >= len(stream(A, frame_rows, **tables))
    assert jelly.validate(joined, joined=True) == []
    assert ["another stream" in text for text in jelly.inspect(joined).problems] == [True]


def test_fuzzed_joins_are_told_or_harmless() -> None:
    """Where reading on gives something else than the two files, there is a warning."""
    chance = random.Random(5)
    missed = 0
    for _ in range(300):
        tables = {
            "max_name_table_size": chance.choice([8, 16, 4000]),
            "max_prefix_table_size": chance.choice([0, 2, 150]),
        }
        one, two = (
            [
                Triple(
                    *(
                        IRI(f"http://{chance.choice('abc')}.org/{chance.choice('xyz')}/{chance.randrange(9)}")
                        for _ in range(3)
                    )
                )
                for _ in range(chance.randrange(1, 12))
            ]
            for _ in range(2)
        )
        data = stream(one, chance.choice([1, 5, 256]), **tables) + stream(two, chance.choice([1, 5, 256]), **tables)
        assert read(data, joined=True) == one + two
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wrong = read(data) != one + two
            except jelly.JellyError:
                wrong = True
        missed += wrong and not told(data)
    assert missed == 0


def test_streams_that_repeat_their_options() -> None:
    """Options may stand again at any place, and the stream is read on. Ids that begin anew look like another stream."""
    triple = craft.triple(o=(craft.IRI, craft.iri(1)))
    head = craft.frame(craft.options(), craft.name("n"), triple)
    for rows in (
        [craft.name("m", 2), triple],
        [triple, craft.name("m")],
        [craft.name("m", 1), craft.name(), triple],
        [craft.options(), craft.name("m", 2), craft.options(), triple],
    ):
        data = head + craft.frame(craft.options(), *rows)
        assert told(data) == 0
        assert read(data)[0] == read(head)[0]
        assert jelly.validate(data) == []
        assert jelly.inspect(data).problems == []
    assert told(craft.frame(craft.options(), craft.options(), craft.name("n"), triple)) == 0
    data = head + craft.frame(craft.options(), craft.name("m"), craft.name("l", 1), triple)
    assert told(data) == 1
    with pytest.warns(JoinedWarning, match=f"frame 1, byte {len(head) + 5}"):
        assert len(read(data)) == 2
    (problem,) = jelly.validate(data)
    assert problem.offset == len(head) + 5
    # Options in two pieces are put together elsewhere: the place is where their row ends.
    pieces = craft.field(1, craft.field(1, b"") + craft.options()[2:])
    data = head + craft.frame(pieces, craft.name("m"), craft.name("l", 1), triple)
    (problem,) = jelly.validate(data)
    assert problem.offset == len(head) + 1 + len(pieces)


def test_seekable_files_and_topics_are_not_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jelly"
    jelly.write(path, A + B, seekable=True, keyframe_rows=7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(path.read_bytes()) == A + B
        assert jelly.validate(path) == []
        topics = pytest.importorskip("jelly.grpc._topic_files")
        topic = topics.FileTopic("t", tmp_path / "t.jelly")
        topic.options = StreamOptions(physical_type=1)
        for i in range(600):
            topic.append(next(jelly.scan(jelly.dumps(numbers("http://a.org/", 3, i))).batches()))
        topic.close()
        assert len(read((tmp_path / "t.jelly").read_bytes())) == 1800
        assert jelly.validate(tmp_path / "t.jelly") == []


def test_other_options() -> None:
    quads = [Quad(*t, IRI("http://g.org/g")) for t in B]
    star = [Triple(QuotedTriple(*A[0]), A[0].p, BlankNode("b"))]
    joined = b"".join((
        stream(A), stream(quads, physical_type=3), stream(star, stream_name="x"), stream(quads, max_name_table_size=16)
    ))  # fmt: skip
    with pytest.raises(jelly.JellyFormatError, match="differs from the first; joined=True"):
        read(joined)
    for rows in (1, 5, 8192):
        assert read(joined, joined=True, batch_rows=rows) == A + quads + star + quads
    batches = list(jelly.scan(joined, joined=True).batches())
    assert [batch.arity for batch in batches] == [3, 4, 3, 4]
    assert [batch.options.physical_type for batch in batches] == [
        PhysicalType.TRIPLES, PhysicalType.GRAPHS, PhysicalType.TRIPLES, PhysicalType.QUADS,
    ]
    assert [batch.first_row for batch in batches] == [0, 20, 50, 51]
    for batch in batches:
        batch.check()
    assert [len(frame) for frame in jelly.scan(joined, joined=True).frames()][-1] > 0
    with pytest.raises(jelly.JellyLimitError, match="name table"):
        read(stream(A) + stream(A, max_name_table_size=5000), joined=True)
    # An end inside a graph is none of the next stream's business.
    left_open = craft.frame(craft.options(craft.GRAPHS), craft.graph_start(), craft.triple())
    assert len(read(2 * left_open, joined=True)) == 2


def test_nothing_is_repeated_across_a_join() -> None:
    head = craft.frame(craft.options(), craft.name("n"), craft.triple(o=(craft.IRI, craft.iri(1))))
    with pytest.raises(jelly.JellyFormatError, match="subject is left out"):
        read(head + craft.frame(craft.options(), craft.triple(s=None)), joined=True)
    with pytest.raises(jelly.JellyFormatError, match="name 1 was never defined"):
        read(head + craft.frame(craft.options(), craft.triple(o=(craft.IRI, craft.iri(1)))), joined=True)


def test_bare_frames() -> None:
    a, b = (jelly.dumps(part, delimited=False) for part in (A, B))
    assert read(a + b, joined=True) == A + B
    assert told(a + b) == 1


def test_patches() -> None:
    from jelly import patch
    from jelly.patch import Add, Commit, Delete, Patch, Start

    one, two = Patch([Start(), Add(A[0]), Commit()]), Patch([Delete(B[0]), Add(B[1])])
    data = patch.dumps([one]) + patch.dumps([two])
    with pytest.warns(JoinedWarning), contextlib.suppress(jelly.JellyError):
        patch.loads(data)
    assert [list(found) for found in patch.loads(data, joined=True)] == [list(one), list(two)]


def test_a_warning_that_is_an_error() -> None:
    joined = stream(A) + stream(B)
    found: list[Any] = []

    def take() -> Iterator[Any]:
        for statement in jelly.read(joined):
            found.append(statement)
            yield statement

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(JoinedWarning, match="frame 1, byte"):
            list(take())


def test_many_options_rows_take_no_time() -> None:
    """What stands behind each options row is looked at, but only up to the next."""
    data = craft.frame(craft.options(), *([craft.options()] * 20000), *([craft.name("n")] * 16), craft.triple())
    assert len(read(data)) == 1
    assert len(read(data, joined=True)) == 1
