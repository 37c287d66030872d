"""Stores of files, and how files become visible in them: local directories, and file systems of fsspec, such as S3."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from jelly.errors import JellyError
from jelly.spark import _store as room
from jelly.spark import _store as swapping
from jelly.spark._parts.files import find_files
from jelly.spark._store import SUCCESS, Staged, Store, finish, marker_of, roll_back, store_of, swap, tidy


@pytest.fixture(params=["local", "memory", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A store with nothing in it."""
    if request.param == "s3":
        return store_of(f"s3://bucket/{tmp_path.name}", request.getfixturevalue("s3"))
    return store_of(str(tmp_path / "out") if request.param == "local" else f"memory://{tmp_path}")


def stage(store: Store, job: str, attempt: str, **files: bytes) -> list[Staged]:
    store = pickle.loads(pickle.dumps(store))
    with store.task(job, attempt) as folder:
        for name, data in files.items():
            path = Path(folder, name.replace("__", "/"))
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        return [Staged(*json.loads(json.dumps(file))) for file in store.stage(job, attempt, folder)]


def visible(store: Store) -> dict[str, bytes]:
    """What readers of this package see."""
    start = len(store.path) + 1
    return {file.path[start:]: store.read(file.path[start:]) or b"" for file in found(store)}


def found(store: Store) -> Any:
    try:
        return find_files(store.path, storage=store.storage)
    except FileNotFoundError:
        return []


def test_files_appear_when_the_driver_says_so(store: Store) -> None:
    store.begin("one")
    first = stage(store, "one", "1", a=b"1", x__b=b"22")
    again = stage(store, "one", "2", a=b"other", x__b=b"66")
    assert [(file.name, file.size) for file in first] == [("a", 1), ("x/b", 2)]
    assert visible(store) == {}
    assert store.missing(first + again) == []
    swap(store, "one", first)
    finish(store, "one")
    store.sweep("one")
    assert visible(store) == {"a": b"1", "x/b": b"22"}
    assert set(store.files()) == {"a", "x/b", SUCCESS}
    assert store.jobs() == {}
    assert store.missing(first) == []
    store.publish(first)  # once more, as after a crash
    assert visible(store) == {"a": b"1", "x/b": b"22"}
    assert [file.name for file in store.missing(again)] == ["a"]  # the other has the size of what is there


def test_what_a_swap_shows_at_each_moment(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.begin("one")
    swap(store, "one", stage(store, "one", "1", a=b"1", b=b"2"))
    finish(store, "one")
    store.begin("two")
    staged = stage(store, "two", "1", c=b"3", d__e=b"4")
    seen = []
    for do in (type(store).publish, type(store).delete, type(store).write):

        def look(self: Store, given: Any, *more: Any, do: Any = do) -> Any:
            seen.append((set(visible(store)), store.read(SUCCESS) is not None))
            done = do(self, given, *more)
            seen.append((set(visible(store)), store.read(SUCCESS) is not None))
            return done

        monkeypatch.setattr(type(store), do.__name__, look)
    monkeypatch.setattr(swapping, "_AT_A_TIME", 1)
    swap(store, "two", staged, ["a", "b"])
    finish(store, "two")
    assert len(seen) >= 10
    old, new = {"a", "b"}, {"c", "d/e"}
    assert [each[0] for each in seen] == sorted((each[0] for each in seen), key=lambda names: names == new)
    assert {frozenset(names) for names, _ in seen} == {frozenset(old), frozenset(new)}
    assert seen[-1] == (new, True)
    # Readers without the marker look for _SUCCESS.
    assert not seen[len(seen) // 2][1]


@pytest.mark.parametrize("call", ["publish", "delete"])
def test_what_a_dead_job_has_begun(store: Store, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    store.begin("one")
    swap(store, "one", stage(store, "one", "1", a=b"1"))
    finish(store, "one")
    store.begin("two")
    staged = stage(store, "two", "1", b=b"2", c=b"3")

    def die(self: Store, given: Any) -> None:
        if call == "publish" and given[0].name == "b" or call == "delete" and SUCCESS in given:
            return do(self, given)
        raise KeyboardInterrupt

    do = getattr(type(store), call)
    with monkeypatch.context() as patch:
        patch.setattr(type(store), call, die)
        patch.setattr(swapping, "_AT_A_TIME", 1)
        with pytest.raises(KeyboardInterrupt):
            swap(store, "two", staged, ["a"])
    assert store.read("b") == b"2"
    before = {"a": b"1"} if call == "publish" else {"b": b"2", "c": b"3"}
    assert visible(store) == before
    # Whoever comes next does not know whether it is dead; a minute later it is.
    store.begin("three")
    tidy(store, "three")
    assert store.read(marker_of("two")) is not None
    monkeypatch.setattr(swapping, "LEASE", -1.0)
    tidy(store, "three")
    assert store.read(marker_of("two")) is None
    assert visible(store) == before
    assert {name for name in store.files() if not name.startswith("_")} == set(before)
    assert store.read(SUCCESS) is not None
    roll_back(store, "nothing")
    if call == "publish":
        assert [file.name for file in store.missing(staged)] == ["b", "c"]


def test_tasks_of_dead_jobs_are_swept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.begin("dead")
    left = stage(store, "dead", "1", a=b"1")
    store.begin("alive")
    tidy(store, "alive")
    assert store.missing(left) == []
    assert set(store.jobs()) == {"dead", "alive"}
    monkeypatch.setattr(swapping, "ABANDONED", -1.0)
    tidy(store, "alive")
    assert store.missing(left) == left
    with pytest.raises(JellyError, match="the job was given up"), store.task("dead", "2"):
        pass
    with store.task("alive", "1"):
        pass


def test_a_task_that_outlives_its_job_leaves_nothing(store: Store) -> None:
    store.begin("other")
    store.begin("one")
    with store.task("one", "1") as folder:
        Path(folder, "a").write_bytes(b"1")
        store.sweep("one")
        with pytest.raises(JellyError, match="was given up"):
            store.stage("one", "1", folder)
    assert set(store.jobs()) == {"other"}


def test_small_files(store: Store) -> None:
    store.begin("one")  # makes the directory
    assert store.read("x") is None
    assert (store.create("x", b"1"), store.create("x", b"2"), store.read("x")) == (True, False, b"1")
    store.write("x", b"3")
    store.write_json("deep/y", {"a": 1})
    assert store.read("x") == b"3"
    assert store.read_json("deep/y") == {"a": 1}
    assert store.files()["x"][0] == 1
    store.delete(["x", "deep/y", "none"])
    assert set(store.content()) == set()


def test_errors_tell_no_secrets(s3: dict[str, Any]) -> None:
    wrong = s3 | {"endpoint_url": "http://127.0.0.1:1", "config_kwargs": {"retries": {"max_attempts": 0}}}
    for given in (store_of("s3://nobucket/x", s3), store_of("s3://bucket/x", wrong)):
        with pytest.raises(OSError, match=r"s3://(no)?bucket/x: ") as caught:
            given.begin("job")
        assert s3["secret"] not in f"{caught.value}{given!r}"
        assert caught.value.__cause__ is None
    assert store_of("ftp://me:password@host/x").url == "ftp://host/x"

    def fails(*given: Any) -> Any:
        raise ValueError("cannot log in with hidden-word as password")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "file_system", fails)
        with pytest.raises(OSError, match=r"ftp://host/x: cannot log in with \*\*\* as \*\*\*"):
            store_of("ftp://me:password@host/x", {"deep": {"token": "hidden-word"}}).read("y")


def test_damaged_markers(tmp_path: Path) -> None:
    store = store_of(str(tmp_path / "out"))
    store.begin("one")
    store.write("_commit-old.json", b"[]")
    with pytest.raises(JellyError, match="damaged") as caught:
        find_files(store.path)
    assert str(caught.value.source).endswith("_commit-old.json")
    (tmp_path / "other").write_text("mine")
    for name in ("../other", "/etc/nothing", "a/../../other"):
        store.write_json("_commit-old.json", {"step": "add", "hide": [name], "success": True})
        with pytest.raises(JellyError, match="leads out of the directory"):
            roll_back(store, "old")
    assert (tmp_path / "other").read_text() == "mine"
