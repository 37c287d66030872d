"""What streaming queries remember, without Spark: places of a file that grows, files seen, batches committed."""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import random
from pathlib import Path

import pytest
from support.shared import shared

import jelly
from jelly._core.terms.materialize import Materializer
from jelly.spark._output import Written, abort_batch, commit_batch, job_of, part_of
from jelly.spark._parts.files import File
from jelly.spark._store import Staged, Store

pytest.importorskip("pyspark.sql.streaming.datasource", reason="streams need Spark 4.2")

from jelly.spark import _streams as room
from jelly.spark._streams import Place, Seen, read_between, scan


def stream(n: int, frame_rows: int = 10, **options) -> bytes:
    out = io.BytesIO()
    rows = (jelly.Triple(jelly.IRI(f"a:{i % 7}/{i}"), jelly.IRI("a:p"), jelly.Literal(str(i))) for i in range(n))
    jelly.write(out, rows, jelly.StreamOptions(**options) if options else None, frame_rows=frame_rows)
    return out.getvalue()


def through_json(place: Place) -> Place:
    return Place(**json.loads(json.dumps(place.json())))


def read_on(path: Path, at: Place, most: float = math.inf, step: int = 1 << 16) -> tuple[list, Place]:
    """The statements of one batch from a place, and where it ends."""
    places = scan(str(path), at, most=most, step=step)
    statements = []
    for start, end in zip(places, places[1:], strict=False):
        for batch in read_between(str(path), through_json(start), through_json(end)):
            statements += Materializer(batch).statements()
    return statements, through_json(places[-1])


# ---- a file that grows

@pytest.mark.parametrize("data", [stream(30), stream(30, max_name_table_size=8, max_prefix_table_size=1)], ids=len)
def test_every_cut_gives_the_whole_frames_before_it(tmp_path, data):
    path = tmp_path / "x.jelly"
    path.write_bytes(data)
    ends = [frame.offset for frame in scan(str(path), Place(), step=1)]
    expected = jelly.loads(data)
    for cut in range(len(data)):
        path.write_bytes(data[:cut])
        first, at = read_on(path, Place())
        assert at.offset == max(end for end in [0, *ends] if end <= cut)
        path.write_bytes(data)
        rest, at = read_on(path, at)
        assert first + rest == expected
        assert (at.offset, at.statement) == (len(data), 30)


def test_real_data_in_random_pieces(tmp_path):
    data = gzip.decompress(shared("data", "iot-weather", "assist-iot-weather_100kt.jelly.gz").read_bytes())
    path = tmp_path / "x.jelly"
    path.touch()
    rnd = random.Random(5)
    at, got, largest = Place(), [], 0
    written = 0
    while at.offset < len(data):
        with path.open("ab") as file:
            written += file.write(data[written : written + rnd.choice([1, 700, 90_000, 400_000])])
        statements, at = read_on(path, at, most=100_000)
        got += statements
        largest = max(largest, len(json.dumps(at.json())))
    assert got == jelly.loads(data)
    assert largest < 20_000


def test_a_limit_ends_a_batch_at_a_frame(tmp_path):
    path = tmp_path / "x.jelly"
    path.write_bytes(data := stream(5000))
    at, batches = Place(), 0
    while at.offset < len(data):
        before = at.offset
        _, at = read_on(path, at, most=10_000)
        assert 0 < at.offset - before < 10_000 + room.MIN_CHUNK * 3
        batches += 1
    assert batches >= len(data) // (10_000 + room.MIN_CHUNK * 3)
    assert scan(str(path), at, most=10_000, step=1000) == [at]


def test_frames_without_statements_come_first(tmp_path):
    path = shared("data", "jelly-samples", "cli", "src", "test", "resources", "threeFirstEmptyFrames.jelly")
    data = path.read_bytes()
    for cut in range(len(data)):
        (tmp_path / "x.jelly").write_bytes(data[:cut])
        first, at = read_on(tmp_path / "x.jelly", Place())
        (tmp_path / "x.jelly").write_bytes(data)
        assert first + read_on(tmp_path / "x.jelly", at)[0] == jelly.loads(data)


def test_a_file_may_come_later(tmp_path):
    assert scan(str(tmp_path / "x.jelly"), Place(), step=1000) == [Place()]


def test_a_file_that_changed_is_refused(tmp_path):
    path = tmp_path / "x.jelly"
    path.write_bytes(data := stream(5000))
    _, at = read_on(path, Place())
    other = stream(6000, max_name_table_size=100)
    for change, message in (
        (data[:-1], "was cut or replaced"),
        (other, "the file was replaced"),
        (data[:-5] + b"xxxxx", "the file was replaced"),
    ):
        path.write_bytes(change)
        with pytest.raises(jelly.JellyError, match=message) as caught:
            scan(str(path), at, step=1000)
        assert str(path) in str(caught.value)
        with pytest.raises(jelly.JellyError, match=message):
            list(read_between(str(path), Place(), at))
    path.unlink()
    with pytest.raises(FileNotFoundError):
        scan(str(path), at, step=1000)


def test_what_cannot_be_followed(tmp_path):
    path = tmp_path / "x.jelly"
    for data, message in (
        (gzip.compress(stream(10)), "is compressed"),
        (jelly.dumps(jelly.loads(stream(10)), delimited=False), "one bare frame"),
        (stream(10)[:-30] + b"\xff" * 30 + stream(10), "x.jelly"),
    ):
        path.write_bytes(data)
        with pytest.raises(jelly.JellyError, match=message):
            scan(str(path), Place(), step=1000)


def test_states_have_a_limit(tmp_path, monkeypatch):
    path = tmp_path / "x.jelly"
    path.write_bytes(stream(100))
    monkeypatch.setattr(room, "MAX_STATE", 100)
    with pytest.raises(jelly.JellyLimitError, match="streaming offset"):
        scan(str(path), Place(), step=1000)


def test_a_damaged_state_is_refused(tmp_path):
    path = tmp_path / "x.jelly"
    path.write_bytes(stream(100))
    places = scan(str(path), Place(), step=1000)
    for state in ("", "?", places[1].state[:-8]):
        broken = Place(**(places[1].json() | {"state": state}))
        with pytest.raises(jelly.JellyFormatError, match="saved state"):
            list(read_between(str(path), broken, places[-1]))


# ---- files of a directory

def files(*numbers: int) -> list[File]:
    return [File(f"d/{n}.jelly", n, float(n)) for n in numbers]


def test_files_are_read_once_the_oldest_first():
    start = Seen()
    one = start.add(files(3, 1, 2), 2)
    assert [file.size for file in one.since(start, files(1, 2, 3))] == [1, 2]
    again = Seen.from_json(json.loads(json.dumps(one.json())))
    assert again == one
    two = again.add(files(1, 2, 3), 2)
    assert [file.size for file in two.files] == [3]
    # One that is older than what was read still counts.
    three = two.add(files(0, 1, 2, 3), None)
    assert [file.size for file in three.files] == [0]
    assert three.add(files(0, 1, 2, 3), None) is three
    assert three.since(three, ()) == ()


def test_files_that_are_gone_or_have_changed_are_refused():
    one = Seen().add(files(1, 2), None)
    with pytest.raises(jelly.JellyError, match=r"is gone.*2\.jelly"):
        one.since(Seen(), files(1))
    with pytest.raises(jelly.JellyError, match="had 2 bytes when it was found and has 9 now"):
        one.since(Seen(), [*files(1), File("d/2.jelly", 9, 2.0)])
    with pytest.raises(jelly.JellyError, match="checkpoint is damaged"):
        one.add(files(1, 2, 3), None).since(Seen(), files(1, 2, 3))
    with pytest.raises(jelly.JellyError, match="another checkpoint"):
        Seen.from_json(Place().json())


def test_what_was_seen_stays_small(monkeypatch):
    offset = Seen()
    for at in range(0, 60_000, 1000):
        offset = offset.add(files(*range(at, at + 1000)), 1000)
    assert len(json.dumps(offset.json())) < 1 << 20
    monkeypatch.setattr(room, "MAX_SEEN", 100)
    with pytest.raises(jelly.JellyLimitError, match="maxFileAge"):
        Seen().add(files(*range(101)), None)
    # Files that were moved away are forgotten; with an age, old ones are too, and are not read again.
    offset = Seen().add(files(*range(60)), None).add(files(*range(60, 120)), None)
    assert len(offset.hashes) == 60
    offset = Seen().add(files(*range(60)), None, 50).add(files(*range(120)), None, 50)
    assert len(offset.hashes) <= 100
    assert offset.add(files(*range(120)), None, 50) is offset
    assert [file.size for file in offset.add(files(*range(121)), None, 50).files] == [120]


# ---- batches

def task(out: Path, query: str, batch: int, part: int, text: str) -> Written:
    store, job = Store(str(out)), job_of(query, batch)
    store.begin(job)
    attempt = f"{part}-{os.urandom(4).hex()}"
    with store.task(job, attempt) as folder:
        path = Path(folder, f"{part_of(batch).format(part=part)}.jelly.gz")
        path.parent.mkdir(parents=True)
        path.write_bytes(gzip.compress(text.encode()))
        return Written(part, store.stage(job, attempt, folder)[0], 1)


def visible(out: Path) -> dict[str, str]:
    found = [path for path in out.rglob("*.gz") if "_temporary" not in path.parts]
    return {str(path.relative_to(out)): gzip.decompress(path.read_bytes()).decode() for path in found}


def test_a_batch_appears_as_a_whole_and_once(tmp_path):
    task(tmp_path, "q", 0, 0, "lost attempt")
    tasks = [task(tmp_path, "q", 0, n, str(n)) for n in (1, 0)]
    assert visible(tmp_path) == {}
    assert commit_batch(Store(str(tmp_path)), 0, "q", [*tasks, Written(2)])
    expected = {"batch=0/part-00000.jelly.gz": "0", "batch=0/part-00001.jelly.gz": "1"}
    assert visible(tmp_path) == expected
    assert json.loads((tmp_path / "batch=0" / "_SUCCESS").read_text())["statements"] == 2
    # The same batch once more, after a crash between here and Spark's own log.
    assert not commit_batch(Store(str(tmp_path)), 0, "q", [task(tmp_path, "q", 0, 0, "again")])
    assert visible(tmp_path) == expected
    with pytest.raises(jelly.JellyError, match="another query, q"):
        commit_batch(Store(str(tmp_path)), 0, "other", [task(tmp_path, "other", 0, 0, "other")])
    abort_batch(Store(str(tmp_path)), 0)
    assert visible(tmp_path) == expected
    assert not (tmp_path / "_temporary").exists()


def test_a_commit_that_was_interrupted_is_repeated(tmp_path, monkeypatch):
    first = [task(tmp_path, "q", 1, n, str(n)) for n in range(3)]
    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space"):
            commit_batch(Store(str(tmp_path)), 1, "q", first)
    assert visible(tmp_path) == {}
    assert commit_batch(Store(str(tmp_path)), 1, "q", [task(tmp_path, "q", 1, n, str(n)) for n in range(2)])
    assert visible(tmp_path) == {"batch=1/part-00000.jelly.gz": "0", "batch=1/part-00001.jelly.gz": "1"}
    assert not (tmp_path / "_temporary").exists()


def test_what_stands_in_the_way(tmp_path):
    (tmp_path / "batch=0").mkdir()
    with pytest.raises(jelly.JellyError, match="in the way"):
        commit_batch(Store(str(tmp_path)), 0, "q", [task(tmp_path, "q", 0, 0, "x")])
    gone = Staged("batch=1/part-00000.jelly", 1, "_temporary/q-1/0/batch=1/part-00000.jelly")
    with pytest.raises(jelly.JellyError, match="do all nodes see the same store"):
        commit_batch(Store(str(tmp_path)), 1, "q", [Written(0, gone, 1)])


def test_a_batch_of_nothing(tmp_path):
    assert commit_batch(Store(str(tmp_path)), 0, "", [])
    assert not commit_batch(Store(str(tmp_path)), 0, "", [])
