"""Patch logs: patches in the order that their headers ``id`` and ``prev`` tell."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from jelly.errors import JellyFormatError
from jelly.files import split_suffix
from jelly.patch.changes import patches_of
from jelly.patch.formats import PATCH_FORMATS
from jelly.patch.stream import Patch, read_patches

__all__ = ["order_log", "read_log"]

_SUFFIXES = {suffix for format in PATCH_FORMATS.values() for suffix in format.suffixes}


def _sources(sources: Any) -> Iterator[tuple[str, Patch]]:
    """Patches with a name for messages; of a directory all the files that are patches by their suffix."""
    if isinstance(sources, str | os.PathLike):
        sources = [sources]
    for source in sources:
        if isinstance(source, str | os.PathLike):
            path = Path(source)
            files = sorted(path.iterdir()) if path.is_dir() else [path]
            for file in files:
                if file is path or split_suffix(file.name)[0] in _SUFFIXES:
                    yield from ((str(file), patch) for patch in read_patches(file))
        else:
            yield from (("", patch) for patch in patches_of(source))


def order_log(patches: Iterable[tuple[str, Patch]], base: Any = None) -> list[tuple[str, Patch]]:
    """Patches, each with the name of where it is from, in the order of their log. See `read_log`."""
    by_id: dict[Any, tuple[str, Patch]] = {}
    after: dict[Any, Any] = {}
    for name, patch in patches:
        source = name or None
        found, prev = patch.id, patch.prev
        if found is None:
            raise JellyFormatError("a patch of a log has no header id", source=source)
        if found == prev:
            raise JellyFormatError(f"the headers id and prev are the same: {found}", source=source)
        if found in by_id:
            raise JellyFormatError(f"two patches of a log have the id {found}", source=source)
        if prev in after:
            what = "have no header prev" if prev is None else f"have the prev {prev}"
            raise JellyFormatError(f"two patches of a log {what}: {after[prev]} and {found}", source=source)
        by_id[found] = name, patch
        after[prev] = found
    ordered = []
    at = base if base in after else None
    while at in after:
        at = after.pop(at)
        ordered.append(by_id[at])
    if after:
        prev, found = next(iter(after.items()))
        what = f"its prev {prev} is not there" if prev not in by_id else "its prevs go in a circle"
        raise JellyFormatError(
            f"the log is broken: patch {found} follows none, {what}", source=by_id[found][0] or None
        )
    return ordered


def read_log(sources: Any, *, base: Any = None) -> list[Patch]:
    """The patches of a log, the first first.

    ``sources`` is a directory, a file, or an iterable of files and patches. The first patch has no header ``prev``, or
    ``base``, the ``id`` of one that is not among them; each other one has the ``id`` of the one before.
    JellyFormatError where an ``id`` is missing or there twice, is its own ``prev``, or the chain is broken or forks.

    >>> from jelly import IRI
    >>> from jelly.patch import Header, Patch, read_log
    >>> one = Patch([Header("id", IRI("uuid:1"))])
    >>> two = Patch([Header("id", IRI("uuid:2")), Header("prev", IRI("uuid:1"))])
    >>> [str(patch.id) for patch in read_log([two, one])]
    ['<uuid:1>', '<uuid:2>']
    """
    return [patch for _, patch in order_log(_sources(sources), base)]
