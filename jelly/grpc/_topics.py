"""The topics of a broker: a store of files, limits for what is kept, and when it is certainly on the disk."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import quote, unquote

from jelly._bytes.names import Closing
from jelly._bytes.part_file import RESERVED, lock, patiently, write_to_disk
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError, JellyError, JellyFormatError, JellyLimitError, JellyOptionsError
from jelly.grpc._topic import Topic
from jelly.grpc._topic_files import DIGITS, NUMBER, PATCH_SUFFIX, SUFFIX, FileTopic

if TYPE_CHECKING:
    from jelly.grpc._topic_kafka import KafkaStore

log = logging.getLogger("jelly.grpc")

# Of a topic in memory.
KEEP, KEEP_BYTES = 10_000, 1 << 28
# File names have at most 255 bytes on common systems, those of later files with a number and a suffix.
_MAX_NAME = 255 - len(NUMBER) - DIGITS - len(PATCH_SUFFIX)
_OWNERS = ".owners.json"
# Seconds between two looks at what is too old.
_LONGEST_WAIT = 60.0
T = TypeVar("T")


class Topics(Closing):
    """The topics of a broker, by name.

    Parameters
    ----------
    store : str or os.PathLike, optional
        Directory with the files of the topics, which are read again after a restart; or ``kafka://HOST:PORT`` for
        topics in Kafka (extra ``kafka``), which has all other settings itself. By default topics stay in memory.
    keep : int, optional
        Approximate maximum number of messages of a topic in memory. By default 10,000.
    keep_bytes : int, optional
        Approximate maximum bytes of a topic. By default 256 MiB in memory, unlimited in a store.
    keep_age : float, optional
        Seconds for which messages are kept, about an eighth more. By default unlimited.
    per_topic : mapping of str to mapping, optional
        Other limits for some topics: ``{"news": {"keep_bytes": 1 << 30, "keep_age": None}}``.
    sync : {"always", "interval", "never"}, default "always"
        When messages are on the disk for certain: before a publication is acknowledged, within ``sync_interval``
        seconds, or when the operating system writes them. Only a crash of the machine loses what is not there; a crash
        of the process loses nothing that was acknowledged.
    sync_interval : float, default 1.0
        Seconds, with ``sync="interval"``.
    max_topics : int, default 500
        Maximum number of topics.
    topics_per_owner : int, optional
        Maximum number of topics that a client with a name may create. By default unlimited.

    Raises
    ------
    JellyError
        If another process uses the store.
    JellyServiceError
        If Kafka does not answer.

    Examples
    --------
    >>> topics = Topics()
    >>> topics.get("news") is topics.get("news", create=True)
    False
    """

    @checked()
    def __init__(
        self,
        store: str | os.PathLike[str] | None = None,
        *,
        keep: int | None = None,
        keep_bytes: int | None = None,
        keep_age: float | None = None,
        per_topic: Mapping[str, Mapping[str, Any]] | None = None,
        sync: Literal["always", "interval", "never"] = "always",
        sync_interval: float = 1.0,
        max_topics: int = 500,
        topics_per_owner: int | None = None,
    ) -> None:
        self._kafka: KafkaStore | None = None
        if str(store).startswith("kafka://"):
            from jelly.grpc._topic_kafka import KafkaStore

            given = keep, keep_bytes, keep_age, per_topic, topics_per_owner
            if any(given) or (sync, sync_interval, max_topics) != ("always", 1.0, 500):
                raise JellyOptionsError(
                    "what is kept and for how long, when it is on the disk, and how many topics there may be are "
                    "settings of Kafka: give none of them with a store there"
                )
            self._kafka, store = KafkaStore(str(store)), None
        self.store: Path | None = None if store is None else Path(store)
        if self.store is None:
            keep = KEEP if keep is None else keep
            keep_bytes = KEEP_BYTES if keep_bytes is None else keep_bytes
        self.limits: dict[str, Any] = {"keep": keep, "keep_bytes": keep_bytes, "keep_age": keep_age}
        self.per_topic: dict[str, dict[str, Any]] = {name: dict(limits) for name, limits in (per_topic or {}).items()}
        for name, limits in self.per_topic.items():
            if unknown := limits.keys() - self.limits.keys():
                raise JellyOptionsError(
                    f"topic {name!r} has no limit {sorted(unknown)[0]}: expected {', '.join(self.limits)}"
                )
        for limits in (self.limits, *self.per_topic.values(), {"sync_interval": sync_interval}):
            for limit, value in limits.items():
                if value is not None and not (isinstance(value, int | float) and value >= 0):
                    raise JellyOptionsError(f"{limit} is {value!r}: expected a number that is not negative")
        self.sync: str = sync
        self.sync_interval = sync_interval
        self.max_topics = max_topics
        self.topics_per_owner = topics_per_owner
        self._topics: dict[str, Topic] = {}
        self._lock = threading.Lock()
        self._held: Any = None
        self._closed = threading.Event()
        self._keeper: threading.Thread | None = None
        if self.store is not None:
            if not store:
                raise JellyArgumentError("store is empty: expected a folder")
            self.store.mkdir(parents=True, exist_ok=True)
            self._held = open(self.store / ".lock", "ab")  # noqa: SIM115 - closed by close
            try:
                if not lock(self._held):
                    raise JellyError("another broker uses this store", source=str(self.store))
                self._load(self.store)
            except BaseException:
                self._held.close()
                raise
        waits = [
            age / 8
            for limits in (self.limits, *self.per_topic.values())
            if (age := limits.get("keep_age")) is not None
        ] + [sync_interval] * (sync == "interval")
        if waits:
            wait = min(max(min(waits), 0.01), _LONGEST_WAIT)
            self._keeper = threading.Thread(target=self._look_after, args=(wait,), name="jelly-topics", daemon=True)
            self._keeper.start()

    def _load(self, store: Path) -> None:
        """Open the topics of the store."""
        paths: dict[str, set[Path]] = {}
        for path in store.iterdir():
            if path.suffix in (SUFFIX, PATCH_SUFFIX) and not path.name.startswith("."):
                stem = path.stem.partition(NUMBER)[0]
                paths.setdefault(unquote(stem), set()).add(path.with_name(stem + path.suffix))
        owners = _read_owners(store / _OWNERS)
        for name, found in sorted(paths.items()):
            if len(found) > 1:
                raise JellyError(f"topic {name!r} has files of statements and of patches", source=str(store))
            path = found.pop()
            self._add(name, path, owners.get(name, ""))

    def _stem(self, name: str) -> str:
        """The name of the files of a new topic.

        Windows and macOS take names for one that differ by case alone, and on Windows some stand for devices.
        """
        stem = quote(name, safe="")
        taken = {topic.path.stem.lower() for topic in self._topics.values()} if self.store is not None else ()
        if stem.lower() in taken or stem.partition(".")[0].lower() in RESERVED:
            stem = "".join(f"%{byte:02X}" for byte in name.encode("utf-8", "surrogatepass"))
        return stem

    def _add(self, name: str, path: Path | None, owner: str) -> Topic:
        settings = {"owner": owner, **self.limits, **self.per_topic.get(name, {})}
        topic = Topic(name, **settings) if path is None else FileTopic(name, path, **settings)
        self._topics[name] = topic
        return topic

    def _look_after(self, wait: float) -> None:
        """Drop what is too old and, if asked for, write to the disk, now and then."""
        while not self._closed.wait(wait):
            with self._lock:
                topics = list(self._topics.values())
            for topic in topics:
                try:
                    if self.sync == "interval":
                        topic.sync()
                    topic.trim()
                except OSError as error:
                    topic.failure = error.strerror or str(error)
                    log.error("topic %r: %s", topic.name, error)
                except Exception:
                    log.exception("topic %r", topic.name)

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        """Call ``function`` with ``args`` in another thread, where it may wait."""
        if self._kafka is not None:
            return await asyncio.wrap_future(self._kafka.workers.submit(function, *args))
        return await asyncio.to_thread(function, *args)

    def acknowledge(self, topic: Topic, lost: int = 0) -> None:
        """Do what must be done before a publication to ``topic`` is acknowledged. OSError if it is not on the disk.

        ``lost`` is the ``lost`` of the topic when the publication began.
        """
        if self.sync == "always":
            topic.acknowledge(lost)

    def check(self) -> str:
        """Check whether the store can be written to: why the last message could not be, and still cannot, or ``""``."""
        if self._kafka is not None:
            return self._kafka.check()
        with self._lock:
            failed = [topic for topic in self._topics.values() if topic.failure]
        if not failed or self.store is None:
            return ""
        probe = self.store / ".probe"
        try:
            write_to_disk(probe, bytes(1 << 16))
        except OSError as error:
            return error.strerror or str(error)
        finally:
            with contextlib.suppress(OSError):
                probe.unlink()
        for topic in failed:
            topic.failure = ""
        return ""

    @checked()
    def get(self, name: str, *, create: bool = False, owner: str = "") -> Topic | None:
        """Get a topic by name, or None if it does not exist.

        Parameters
        ----------
        name : str
            Name of the topic.
        create : bool, default False
            Create the topic if it does not exist.
        owner : str, default ""
            Name of the client that creates it, if clients have names.

        Raises
        ------
        JellyLimitError
            If there are already ``max_topics`` topics, or ``topics_per_owner`` of the owner.
        JellyOptionsError
            If the name is not allowed.
        """
        if self._kafka is not None:
            return self._kafka.get(name, create)
        with self._lock:
            topic = self._topics.get(name)
            if topic is None and create:
                if len(self._topics) >= self.max_topics:
                    raise JellyLimitError(f"there are {self.max_topics} topics, which is the most there may be")
                theirs = sum(other.owner == owner for other in self._topics.values()) if owner else 0
                if self.topics_per_owner is not None and theirs >= self.topics_per_owner:
                    raise JellyLimitError(f"{owner} has {theirs} topics, which is the most for one client")
                stem = self._stem(name)
                if not name or len(stem) > _MAX_NAME or stem.startswith("."):
                    raise JellyOptionsError(f"{name[:_MAX_NAME]!r} cannot be the name of a topic")
                topic = self._add(name, self.store and self.store / (stem + SUFFIX), owner)
                if owner:
                    try:
                        self._write_owners()
                    except BaseException:
                        del self._topics[name]
                        raise
            return topic

    def _write_owners(self) -> None:
        if self.store is not None:
            owners = {name: topic.owner for name, topic in self._topics.items() if topic.owner}
            new = self.store / (_OWNERS + ".new")
            write_to_disk(new, json.dumps(owners).encode())
            patiently(new.replace, self.store / _OWNERS)

    @checked()
    def delete(self, name: str) -> Topic | None:
        """Delete the topic ``name`` with its files, and return it, or None. Its subscriptions end with an error."""
        if self._kafka is not None:
            if (found := self._kafka.get(name, False)) is not None:
                self._kafka.delete(name)
            return found
        with self._lock:
            topic = self._topics.get(name)
            if topic is not None:
                topic.delete()
                del self._topics[name]
                if topic.owner:
                    self._write_owners()
            return topic

    def names(self) -> list[str]:
        """List the names of all topics."""
        if self._kafka is not None:
            return self._kafka.names()
        with self._lock:
            return sorted(self._topics)

    def close(self) -> None:
        """Write all messages to disk, close all files and release the store."""
        if self._kafka is not None:
            self._kafka.close()
        self._closed.set()
        if self._keeper is not None:
            self._keeper.join()
        with self._lock:
            for topic in self._topics.values():
                try:
                    topic.close()
                except OSError as error:
                    log.error("topic %r: %s", topic.name, error)
            if self._held is not None:
                self._held.close()


def _read_owners(path: Path) -> dict[str, str]:
    """The names of topics and of the clients that created them."""
    try:
        owners = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError:
        owners = None
    if not isinstance(owners, dict) or not all(isinstance(owner, str) for owner in owners.values()):
        raise JellyFormatError("expected the names of topics and of their owners in JSON", source=str(path))
    return owners
