"""The segments of files that may hold what is looked for, by the filters of their index."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Protocol

from jelly._bytes.names import is_path, is_web, split_suffix
from jelly._bytes.source import open_local
from jelly._dataset.blank_node_scope import BlankNodes
from jelly._dataset.seekable.file import JellyFile, opener_of
from jelly._formats.filters import Query
from jelly._formats.registry import JELLY, SEEKING, find
from jelly.errors import JellyError

# Keywords of `Reader` that change nothing of how a file with an index is read.
ALIKE = frozenset({"format", "strict", "on_error", "delimited"})


class Condition(Protocol):
    """A condition on rows: a `Pattern` or a `Where`."""

    def query(self, labels: bool = True) -> Query | None:
        """The entries of filters that it may have."""


def query_of(condition: Condition | None, blank_nodes: BlankNodes) -> Query | None:
    """The query of a condition to the filters of a file, where the blank nodes of the file get other names."""
    if condition is None or blank_nodes.mode == "skolemize":  # any IRI may be a blank node in the file
        return None
    return condition.query(labels=blank_nodes.mode == "keep")


def open_index(
    source: Any, settings: Mapping[str, Any], opener: Callable[[str], BinaryIO] | None = None
) -> JellyFile | None:
    """A Jelly file with an index; None for whatever else can be read.

    ``settings`` are those of `Reader`.
    """
    if not is_path(source) or not isinstance(name := os.fspath(source), str) or is_web(name):
        return None
    opener = opener or opener_of(name)
    if (opener is open_local and not os.path.isfile(name)) or settings.get("delimited") is False:
        return None
    if split_suffix(name)[1] not in ("", ".zst"):
        return None
    limits = {key: value for key, value in settings.items() if key not in ALIKE and value is not None}
    try:
        if find(settings.get("format"), name) is not JELLY or not limits.keys() <= SEEKING:
            return None
        return JellyFile(name, opener=opener, **limits)
    except (JellyError, OSError, ValueError):
        return None  # who reads it from the start says what is wrong


def open_filtered(*source: Any) -> JellyFile | None:
    """A Jelly file whose index has filters, see `open_index`; None for others."""
    file = open_index(*source)
    if file is None or file.filters is not None:
        return file
    file.close()
    return None
