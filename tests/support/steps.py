"""From sources to a file in one step of a `jelly.Dataset`: each function returns the number of statements written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jelly

# Keywords of `jelly.Dataset.write`; all others are those of `jelly.scan`.
WRITING = ("to", "options", "seekable", "progress", "keyframe_rows", "prefixes", "drop_graphs", "index")


def parted(given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Keywords of reading, and those of writing."""
    writing = {name: given.pop(name) for name in WRITING if name in given}
    return given, writing


def _step(make: Callable[..., jelly.Dataset], *names: str) -> Callable[..., int]:
    def run(src: Any, dst: Any, *args: Any, **given: Any) -> int:
        own = {name: given.pop(name) for name in names if name in given}
        reading, writing = parted(given)
        return make(jelly.scan(src, **reading), *args, **own).write(dst, **writing).statements

    return run


def _sort(statements: jelly.Dataset, *args: Any, unique: bool = False, **own: Any) -> jelly.Dataset:
    made = statements.sort(*args, **own)
    return made.unique() if unique else made


concat = _step(lambda statements: statements)
sort = _step(_sort, "by", "unique", "memory")
unique = _step(lambda statements, **own: statements.unique(**own), "memory")
filter = _step(lambda statements, *args, **own: statements.filter(*args, **own), *"spog", "where", "invert")
sample = _step(lambda statements, *args, **own: statements.sample(*args, **own), "rows", "fraction", "seed")


def merge(src: Any, dst: Any, by: str = "spog", *, unique: bool = False, **given: Any) -> int:
    reading, writing = parted(given)
    made = jelly.scan(src, sorted_by=by, **reading)
    return (made.unique() if unique else made).write(dst, **writing).statements


def split(src: Any, dst: Any, **given: Any) -> list[jelly.Part]:
    own = {name: given.pop(name) for name in ("rows", "parts", "by", "max_files", "memory") if name in given}
    reading, writing = parted(given)
    return jelly.scan(src, **reading).split(dst, **own, **writing)


def write_ids(dst: Any, src: Any, **reading: Any) -> int:
    return jelly.scan(src, **reading).write(dst, layout="ids").statements


def read_ids(src: Any, **given: Any) -> Any:
    own = {name: given.pop(name) for name in ("dictionary", "literals", "apart", "dtype") if name in given}
    return jelly.scan(src, **given).to_ids(**own)
