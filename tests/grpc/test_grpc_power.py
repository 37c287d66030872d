"""The machine loses its power: what each setting of `--sync` promised is on the disk."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random

import pytest
from serving import messages, numbers, options

import jelly
import jelly.grpc as jg
import jelly.grpc._topic
from jelly._streams.frames import frame_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds the path of a descriptor in /proc")

OPTIONS = options("quads")
LIVES = 150 if os.environ.get("JELLY_LONG") else 12


class Disk:
    """What is certainly on the disk of a folder: names that were synced, and of each file the bytes that were."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.names: set[str] = set()
        self.sizes: dict[str, int] = {}
        fsync = os.fsync

        def note(descriptor: int) -> None:
            fsync(descriptor)
            path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
            if path == folder:
                self.names |= set(os.listdir(folder))
            elif path.parent == folder:
                self.sizes[path.name] = os.fstat(descriptor).st_size

        monkeypatch.setattr(os, "fsync", note)

    def image(self, target: Path, random: Random) -> None:
        """Make a folder as it may be after a loss of power: the rest of a file is there in part, or not at all."""
        target.mkdir()
        for path in self.folder.iterdir():
            if path.name in self.names and path.suffix == ".jelly":
                data = path.read_bytes()
                (target / path.name).write_bytes(data[: random.randint(self.sizes.get(path.name, 0), len(data))])


def content(topic: jelly.grpc._topic.Topic) -> list[int]:
    """The numbers in the messages of a topic."""
    decoder, found, number = jg.FrameDecoder(), [], topic.first
    while number < topic.end:
        number, frames = topic.read(number)
        found += [frame_of(decoder.decode(frame), 0) for frame in frames]
        number += len(frames)
    return numbers(found)


@pytest.mark.parametrize("policy", ["always", "interval", "never"])
def test_what_was_promised_is_there(policy, tmp_path, monkeypatch):
    """Publications, kills of the broker alone, restarts, and in the end a loss of power."""
    monkeypatch.setattr(jelly.grpc._topic, "SEGMENT_MESSAGES", 3)
    promised = 0
    for seed in range(LIVES):
        random = Random(seed)
        folder = tmp_path / f"{seed}"
        folder.mkdir()
        with monkeypatch.context() as own:
            disk = Disk(folder, own)
            limits = {"keep_bytes": 40_000} if random.random() < 0.6 else {}
            settings = {"sync": policy, "sync_interval": 3600, **limits}
            topics = jg.Topics(folder, **settings)
            safe = 0
            for _ in range(random.randrange(3, 25)):
                topic = topics.get("t", create=True)
                event = random.random()
                if event < 0.7:
                    count = random.randrange(1, 12)
                    topic.fill(messages("quads", count, start=topic.end), OPTIONS)
                    if random.random() < 0.6:  # the others fail before their end
                        topics.acknowledge(topic)
                        safe = topic.end if policy == "always" else safe
                elif event < 0.8:
                    if policy == "interval":  # as the thread in the background does
                        topic.sync()
                        safe = topic.end
                else:  # a kill of the process: nothing is lost, nothing more is written
                    topics._closed.set()
                    topics._held.close()
                    for file in topic.parts:
                        file.close()
                    topics = jg.Topics(folder, **settings)
                    assert content(topics.get("t") or topic)[-1:] == ([topic.end - 1] if topic.end else [])
            disk.image(tmp_path / f"{seed}-after", random)
            first, end = topic.first, topic.end
            topics.close()
        with jg.Topics(tmp_path / f"{seed}-after") as after:
            found = after.get("t")
            there = content(found) if found is not None else []
            assert there == [*range(there[0], there[-1] + 1)] if there else True
            assert not there or there[-1] < end
            assert set(range(first, safe)) <= set(there), (seed, first, safe, there[:1], there[-1:])
            promised += safe
    assert (promised > 0) == (policy != "never")


def test_owners_are_on_the_disk(tmp_path, monkeypatch):
    """The file that remembers who created a topic is whole after a loss of power, or the one before is."""
    synced = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        fsync(descriptor)
        synced.append((os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")), os.fstat(descriptor).st_size))

    monkeypatch.setattr(os, "fsync", note)
    with jg.Topics(tmp_path) as topics:
        topics.get("t", create=True, owner="ann")
        assert (".owners.json.new", (tmp_path / ".owners.json").stat().st_size) in synced
    (tmp_path / "t.jelly").touch()
    (tmp_path / ".owners.json").write_bytes(b"")
    with pytest.raises(jelly.JellyFormatError, match="expected the names of topics and of their owners"):
        jg.Topics(tmp_path)
