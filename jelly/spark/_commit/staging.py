"""The interface of a store of the files of jobs, wherever it keeps them. Independent of Spark; see `store`."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jelly.errors import JellyError

__all__ = ["SUCCESS", "TEMPORARY", "Draft", "Staged", "Store"]

TEMPORARY = "_temporary"
SUCCESS = "_SUCCESS"


@dataclass(frozen=True, slots=True)
class Staged:
    """A whole file that nobody sees yet: its ``name`` and ``size``, and ``place``, where the store has it now.

    ``tags`` are those of the parts of an upload.
    """

    name: str
    size: int
    place: str
    tags: tuple[str, ...] = ()

    def as_list(self) -> list[Any]:
        """It as JSON; ``Staged.of`` takes it back."""
        return [self.name, self.size, self.place, list(self.tags)]

    @classmethod
    def of(cls, told: Sequence[Any]) -> Staged:
        return cls(told[0], told[1], told[2], tuple(told[3]))


@dataclass(slots=True)
class Draft:
    """The files of an attempt at a task: they are in a local ``folder``, at any depth. ``stage`` puts them there."""

    store: Store
    job: str
    attempt: str
    folder: str

    def stage(self) -> list[Staged]:
        """Put all files of the folder into the store, under their names in it.

        JellyError if the job was given up meanwhile. Then nothing of it is left.
        """
        names = sorted(
            os.path.relpath(os.path.join(place, file), self.folder).replace(os.sep, "/")
            for place, _, files in os.walk(self.folder)
            for file in files
        )
        staged = self.store.stage(self, names)
        if not self.store.has(self.job):
            self.store.sweep(self.job)
            raise JellyError(f"the job {self.job} was given up", source=self.store.url)
        return staged


@dataclass(frozen=True, slots=True)
class Store(ABC):
    """A directory for files of jobs. It can be pickled. ``url`` has no credentials, ``storage`` may have some."""

    path: str  # as it was given
    storage: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    @abstractmethod
    def url(self) -> str:
        """Its path or URL, without credentials."""

    # ---- small files, each written at once

    @abstractmethod
    def files(self, inside: str = "") -> dict[str, tuple[int, float]]:
        """All files, or those ``inside`` one directory: their bytes and times of change."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """The content of a file; None if it does not exist."""

    @abstractmethod
    def write(self, name: str, data: bytes) -> None:
        """Write a file that readers see whole, or not yet."""

    @abstractmethod
    def create(self, name: str, data: bytes) -> bool:
        """Write a file that does not exist. False if it does.

        Stores without conditional writes can only look before they write: two that do so at once may both get True.
        """

    @abstractmethod
    def delete(self, names: Collection[str]) -> None:
        """Remove files that may exist, and directories that are empty then."""

    def read_json(self, name: str) -> Any:
        """The JSON of a file; None if there is none."""
        data = self.read(name)
        return None if data is None else json.loads(data)

    def write_json(self, name: str, value: Any) -> None:
        """Write a file of JSON."""
        self.write(name, json.dumps(value).encode())

    # ---- files of tasks

    @abstractmethod
    def begin(self, job: str) -> None:
        """Let tasks of a job write. Make the directory, if there are directories."""

    @abstractmethod
    def has(self, job: str) -> bool:
        """Whether tasks of a job may write: it has begun, and was not swept."""

    @contextlib.contextmanager
    def task(self, job: str, attempt: str) -> Iterator[Draft]:
        """A local folder for an attempt at a task. It is gone in the end, unless it is the store itself."""
        if not self.has(job):
            why = "it must be a directory that all nodes share, or the job was given up"
            raise JellyError(f"the job {job} is not in {self.url}: {why}")
        with self.scratch(job, attempt) as folder:
            yield Draft(self, job, attempt, folder)

    @contextlib.contextmanager
    def scratch(self, job: str, attempt: str) -> Iterator[str]:
        """The folder for `task`."""
        with tempfile.TemporaryDirectory(prefix="jelly-") as folder:
            yield folder

    @abstractmethod
    def stage(self, draft: Draft, names: Sequence[str]) -> list[Staged]:
        """Put files of a draft into the store, where nobody sees them."""

    @abstractmethod
    def fetched(self, names: Sequence[str]) -> contextlib.AbstractContextManager[list[str]]:
        """Context manager: paths of local files with the content of some files, in their order."""

    @abstractmethod
    def missing(self, staged: Iterable[Staged]) -> list[Staged]:
        """Those of some files that are neither staged any more nor published."""

    @abstractmethod
    def publish(self, staged: Sequence[Staged]) -> None:
        """Make files visible, unless they are."""

    @abstractmethod
    def sweep(self, job: str | None = None, keep: Collection[Staged] = ()) -> None:
        """Remove what jobs have staged, or only one job, but for some files. Its tasks may not write any more."""

    @abstractmethod
    def jobs(self) -> dict[str, float]:
        """The jobs that have begun and were not swept, and when each gave a last sign, by the clock of the store."""

    def content(self) -> Collection[str]:
        """The files that readers may see, for an overwrite."""
        return [name for name in self.files() if not name.startswith(("_", "."))]

    def remove_if_empty(self) -> None:  # noqa: B027 - object stores have no directories
        """Remove the directory itself if nothing is in it."""
