"""How an ingest makes tables: tasks write rows in buckets, then steps make tables of all buckets.

A step is a task without sources. A run that is continued does all of its steps again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from jelly._core.base.batch import Batch
from jelly._formats.arrow_tables import pa
from jelly._options.layouts import BuiltLayout
from jelly.errors import JellyOptionsError
from jelly.spark._commit.store import Staged, Store
from jelly.spark._tables import joined
from jelly.spark._tables.buckets import MAX_SEED, check_buckets, write_parquet
from jelly.spark._tables.ids import SCRATCH, merge_terms, write_ids

__all__ = ["Step", "Tables"]

# Bytes of compressed files that one step takes.
_MERGE_BYTES = 1 << 24
_GROUP_BYTES = 1 << 23

# Calls a function for each item, on executors.
Map: TypeAlias = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


@dataclass(frozen=True, slots=True)
class Step:
    """A task that makes files of files: ``make`` gets their paths and the directory of the task."""

    name: str
    paths: list[str]
    make: Callable[[list[str], str], dict[str, Any]]

    def write(self, folder: str, store: Store) -> dict[str, Any]:
        """Write the files of the task into a folder. The result is reported."""
        with store.fetched(self.paths) as files:
            return self.make(files, folder)


@dataclass(slots=True)
class Tables:
    """The tables of a layout.

    After the steps ``tables`` is the number of those that they wrote, and ``misfits`` says what does not fit into wide
    tables.
    """

    layout: BuiltLayout
    buckets: int
    seed: int
    sort: tuple[str, ...] = ()
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
            return joined.write_statements(batches, folder, name, buckets=self.buckets)
        return write_ids(batches, folder, name, buckets=self.buckets, seed=self.seed, sort=self.sort)

    def steps(self, store: Store, staged: Sequence[Staged], compute: Map) -> list[Step]:
        """The steps to do when all statements are staged."""
        if self.layout == "ids":
            return self._merges([file for file in staged if file.name.startswith(f"{SCRATCH}/")])
        analyse, make, write = _JOINS[self.layout]
        groups = self._groups(staged)
        plan = make(compute(partial(_analysed, analyse, store), groups))
        self.tables, self.misfits = len(plan.tables), plan.problems()
        steps = [
            Step(f"tables-{i:05}", paths, partial(write, name=f"{i:05}", plan=plan)) for i, paths in enumerate(groups)
        ]
        return [*steps, Step("catalogue", [], partial(_write_about, plan.about))]

    def _merges(self, files: list[Staged]) -> list[Step]:
        at_once = max(1, self.buckets * _MERGE_BYTES // max(sum(file.size for file in files), 1))
        paths = [file.place for file in files]
        chosen = [range(first, min(first + at_once, self.buckets)) for first in range(0, self.buckets, at_once)]
        return [Step(f"terms-{some[0]:04}", paths, partial(_merge, self.buckets, some)) for some in chosen if paths]

    def _groups(self, staged: Sequence[Staged]) -> list[list[str]]:
        """The files of statements, in groups that have all statements of their subjects."""
        by_bucket: dict[str, list[Staged]] = {}
        for file in staged:
            if file.name.startswith(f"{joined.FOLDER}/"):
                by_bucket.setdefault(os.path.dirname(file.name), []).append(file)
        groups: list[list[str]] = []
        room = 0
        for _, files in sorted(by_bucket.items()):
            size = sum(file.size for file in files)
            if not groups or size > room:
                groups.append([])
                room = _GROUP_BYTES
            groups[-1] += [file.place for file in files]
            room -= size
        return groups


_JOINS: dict[str, tuple[Callable[..., Any], Callable[..., joined.Plan], Callable[..., dict[str, Any]]]] = {
    "vertical": (joined.analyse_vertical, joined.plan_vertical, joined.write_vertical),
    "wide": (joined.analyse_wide, joined.plan_wide, joined.write_wide),
}


# ---- on executors

def _analysed(analyse: Callable[[list[str]], Any], store: Store, paths: list[str]) -> Any:
    with store.fetched(paths) as files:
        return analyse(files)


def _merge(buckets: int, chosen: Iterable[int], scratch: list[str], folder: str) -> dict[str, Any]:
    return {"terms": sum(merge_terms(bucket, buckets, scratch, folder) for bucket in chosen)}


def _write_about(about: dict[str, pa.Table], files: list[str], folder: str) -> dict[str, Any]:
    for kind, table in about.items():
        write_parquet(os.path.join(folder, kind, "part-0.parquet"), table)
    return {}
