"""The segments of Jelly files that filters in their index leave to be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, BinaryIO

from jelly._dataset.seekable.segments import open_filtered
from jelly._formats.filters import Query

__all__ = ["matching", "of_file"]


def of_file(query: Query | None, said: Iterable[tuple[str, object]]) -> Query | None:
    """A query without the slots that the directories of a file say: in the file they may be other ones."""
    known = {slot for slot, _ in said}
    return {slot: wanted for slot, wanted in (query or {}).items() if slot not in known} or None


def matching(
    path: str, query: Query | None, settings: Mapping[str, Any], opener: Callable[[str], BinaryIO]
) -> tuple[list[int], list[int]] | None:
    """The numbers of the segments that may match a query, and where all segments begin; None without filters.

    ``settings`` are those of `Reader`.
    """
    file = None if query is None else open_filtered(path, settings, opener)
    if file is None:
        return None
    with file:
        numbers = file.matching(query) or []
        return numbers, [*(key.offset for key in file.index.keyframes), file.index.size]
