"""Plans and parts, with the keywords of a `Reading` and of its methods in one call."""

from __future__ import annotations

from typing import Any

from jelly.spark._parts import Reading

OWN = ("format", "storage", "blank_nodes", "limits")


def _reading(settings: dict[str, Any]) -> Reading:
    return Reading(**{name: settings.pop(name) for name in OWN if name in settings})


def split(files: Any, split_bytes: int | None = None, **settings: Any) -> Any:
    return _reading(settings).split(files, split_bytes, **settings)


def narrowed(tasks: Any, query: Any) -> Any:
    return Reading().narrowed(tasks, query)


def read_part(part: Any, **settings: Any) -> Any:
    return _reading(settings).read(part, **settings)
