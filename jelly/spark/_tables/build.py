"""How an ingest makes tables: tasks write rows in buckets, then steps make tables of all buckets.

A step is a task without sources. The journal has its files like those of other tasks; nothing of it depends on one
source, so a step is done again, or once more, when the sources are others.

The terms of ids are merged by steps that only add files. Vertical and wide tables are built anew from ``statements``
when any source has changed: first all buckets are analysed, then each group of buckets is written, then the catalogue,
which completes the build. Only then the files of the former build are dropped.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from jelly._core.base.batch import Batch
from jelly._formats.arrow_tables import pa, parquet
from jelly._options.layouts import BuiltLayout
from jelly.errors import JellyOptionsError
from jelly.spark._commit.journal import SCRATCH, Manifest
from jelly.spark._commit.staging import Store
from jelly.spark._tables import vertical, wide
from jelly.spark._tables.buckets import MAX_SEED, check_buckets, write_parquet
from jelly.spark._tables.ids import merge_terms, write_ids
from jelly.spark._tables.statements import FOLDER, write_statements

__all__ = ["Step", "Tables"]

# Bytes of compressed files that one step takes.
_MERGE_BYTES = 1 << 24
_GROUP_BYTES = 1 << 23

# Calls a function for each item, on executors.
Map: TypeAlias = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


@dataclass(frozen=True, slots=True)
class Step:
    """A task that makes files of files. ``write`` is called with the directory of the task, and the store that has the
    files. Its result is reported."""

    name: str
    write: Callable[[str, Store], dict[str, Any]]


@dataclass(slots=True)
class Tables:
    """The tables of a layout.

    After the steps ``terms`` and ``tables`` are the numbers of those that they wrote, and ``misfits`` says what does
    not fit into wide tables.
    """

    layout: BuiltLayout
    buckets: int
    seed: int
    sort: tuple[str, ...] = ()
    terms: int = field(default=0, init=False)
    tables: int = field(default=0, init=False)
    misfits: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        check_buckets(self.buckets)
        if not 0 <= self.seed <= MAX_SEED:
            raise JellyOptionsError(f"seed is {self.seed}: expected 0 to 2^128 - 1")
        if self.sort and self.layout != "ids":
            raise JellyOptionsError(f'layout "{self.layout}" has an order of its own: sort is for the other layouts')

    def settings(self) -> dict[str, Any]:
        """The settings that all runs into a directory must share."""
        return {"buckets": self.buckets} | ({"seed": self.seed} if self.layout == "ids" else {})

    def write(self, batches: Iterable[Batch], folder: str, name: str) -> int:
        """Write the statements of a task. Return their number."""
        if self.layout != "ids":
            return write_statements(batches, folder, name, buckets=self.buckets)
        return write_ids(
            batches, folder, name, scratch=SCRATCH, buckets=self.buckets, seed=self.seed, sort=self.sort
        )  # fmt: skip

    def is_stale(self, manifest: Manifest) -> bool:
        """Whether there are steps to do."""
        if self.layout == "ids":
            return bool(self._merges(manifest))
        return f"catalogue-{_build(manifest)}" not in manifest.tasks

    def steps(self, manifest: Manifest, compute: Map) -> Iterator[list[Step]]:
        """The steps to do. Take each list when those before are done."""
        if self.layout == "ids":
            yield self._merges(manifest)
        else:
            yield from self._builds(manifest, compute)

    # ---- ids

    def _merges(self, manifest: Manifest) -> list[Step]:
        pending = sorted(name for name in manifest.ready if manifest.files(name, SCRATCH))
        files = [file for name in pending for file in manifest.files(name, SCRATCH)]
        size = sum(size for _, size in files)
        paths = [path for path, _ in files]
        if not paths:
            return []
        at_once = max(1, self.buckets * _MERGE_BYTES // max(size, 1))
        digest = _digest(pending)
        known = [path for name in manifest.tasks for path, _ in manifest.files(name, "terms")]
        made = []
        for first in range(0, self.buckets, at_once):
            chosen = list(range(first, min(first + at_once, self.buckets)))
            name = f"terms-{first:04}-{digest}"
            if name not in manifest.tasks:
                made.append(Step(name, _Merge(self.buckets, chosen, paths, known, f"part-{name}.parquet")))
        return made

    # ---- vertical and wide

    def _builds(self, manifest: Manifest, compute: Map) -> Iterator[list[Step]]:
        build = _build(manifest)
        former = [name for name in manifest.tasks if not manifest.tasks[name]["parts"]]
        # An unfinished build may be one with other names of tables.
        begun = [name for name in former if name.endswith(build)]
        manifest.drop_tasks(begun)
        former = [name for name in former if name not in begun]
        groups = self._groups(manifest)
        known = self._known(manifest, former)
        makes: list[_Vertical | _Wide]
        if self.layout == "vertical":
            profiles = vertical.merge(compute(partial(_analysed, vertical.analyse, manifest.store), groups))
            tables = vertical.catalogue(profiles, {row["predicate"]: row["table"] for row in known})
            about = {"catalogue": tables}
            names = dict(zip(tables["predicate"].to_pylist(), tables["table"].to_pylist(), strict=True))
            self.tables = len(names)
            makes = [_Vertical(paths, f"{i:05}-{build}", profiles, names) for i, paths in enumerate(groups)]
        else:
            plan = wide.plan(
                wide.merge(compute(partial(_analysed, wide.analyse, manifest.store), groups)),
                {row["class"]: row["table"] for row in known},
                {(row["class"], row["predicate"]): row["column"] for row in known if row["predicate"]},
            )
            about = {"catalogue": plan.catalogue, "report": plan.report}
            self.tables, self.misfits = len(plan.tables), plan.problems()
            makes = [_Wide(paths, f"{i:05}-{build}", plan) for i, paths in enumerate(groups)]
        yield [Step(f"tables-{make.name}", make) for make in makes]
        yield [Step(f"catalogue-{build}", _About(build, about))]
        manifest.drop_tasks(former)

    def _groups(self, manifest: Manifest) -> list[list[str]]:
        """The files of statements, in groups that have all statements of their subjects."""
        by_bucket: dict[int, list[tuple[str, int]]] = {bucket: [] for bucket in range(self.buckets)}
        for name in manifest.tasks:
            for path, size in manifest.files(name, FOLDER):
                by_bucket[int(os.path.basename(os.path.dirname(path)).partition("=")[2])].append((path, size))
        groups: list[list[str]] = []
        room = 0
        for files in by_bucket.values():
            size = sum(size for _, size in files)
            if files and (not groups or size > room):
                groups.append([])
                room = _GROUP_BYTES
            if files:
                groups[-1] += [path for path, _ in files]
                room -= size
        return groups

    def _known(self, manifest: Manifest, former: Sequence[str]) -> list[dict[str, Any]]:
        """The rows of the former catalogue."""
        paths = [path for name in former for path, _ in manifest.files(name, "catalogue")]
        with manifest.store.fetched(paths) as files:
            return [row for file in files for row in parquet.ParquetFile(file).read().to_pylist()]


def _digest(names: Iterable[str]) -> str:
    return hashlib.blake2b("\n".join(sorted(names)).encode(), digest_size=8).hexdigest()


def _build(manifest: Manifest) -> str:
    """A name for the statements that the table has now."""
    return _digest(name for name, report in manifest.tasks.items() if report["parts"])


# ---- on executors

def _analysed(analyse: Callable[[list[str]], Any], store: Store, paths: list[str]) -> Any:
    with store.fetched(paths) as files:
        return analyse(files)


@dataclass(frozen=True, slots=True)
class _Merge:
    buckets: int
    chosen: list[int]
    scratch: list[str]
    known: list[str]
    name: str

    def __call__(self, folder: str, store: Store) -> dict[str, Any]:
        terms = 0
        with store.fetched(self.scratch) as scratch:
            for bucket in self.chosen:
                place = f"bucket={bucket}"
                names = [name for name in self.known if os.path.basename(os.path.dirname(name)) == place]
                path = os.path.join(folder, "terms", place, self.name)
                with store.fetched(names) as known:
                    terms += merge_terms(bucket, self.buckets, scratch, known, path)
        return {"terms": terms}


@dataclass(frozen=True, slots=True)
class _Vertical:
    paths: list[str]
    name: str
    profiles: dict[str, Any]
    names: dict[str, str]

    def __call__(self, folder: str, store: Store) -> dict[str, Any]:
        with store.fetched(self.paths) as files:
            return {"rows": vertical.write(files, folder, self.name, self.profiles, self.names)}


@dataclass(frozen=True, slots=True)
class _Wide:
    paths: list[str]
    name: str
    plan: wide.Plan

    def __call__(self, folder: str, store: Store) -> dict[str, Any]:
        with store.fetched(self.paths) as files:
            return {"rows": wide.write(files, folder, self.name, self.plan)}


@dataclass(frozen=True, slots=True)
class _About:
    name: str
    tables: dict[str, pa.Table]

    def __call__(self, folder: str, store: Store) -> dict[str, Any]:
        for kind, table in self.tables.items():
            write_parquet(os.path.join(folder, kind, f"part-{self.name}.parquet"), table)
        return {}
