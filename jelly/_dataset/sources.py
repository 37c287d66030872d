"""Several sources as one: lists, glob patterns, directories, tables, URLs, and what is only a part of them."""

from __future__ import annotations

import glob
import hashlib
import os
import re
import uuid
from collections.abc import Iterable
from copy import copy
from typing import Any

from jelly._bytes.names import is_open_file, is_path, is_url, is_web, name_of, split_suffix
from jelly._dataset.blank_node_scope import BlankNodes, Mode
from jelly._formats.index import SUFFIX
from jelly._formats.registry import (
    COMMON,
    FORMATS,
    READING,
    SEVERAL,
    TABLE_SUFFIXES,
    VERSIONS,
    format_of,
    having,
    table_kind,
)
from jelly._streams.reader import Reader
from jelly.errors import JellyArgumentError

# Keywords of what reads sources.
OF_SOURCES = READING | VERSIONS | SEVERAL

_MAGIC = re.compile(r"[*?\[]")
_SUFFIXES = tuple(suffix for format in FORMATS.values() for suffix in format.suffixes)


def expand(src: Any) -> list[Any]:
    """The sources that are meant: those of a list or tuple, the files of a glob or a directory, or just ``src``.

    A list of bytes is one source, in chunks. FileNotFoundError if a pattern matches nothing, or a directory has no
    file of a known format; JellyArgumentError for an empty list.

    >>> expand(["a.nt", b"<a:s> <a:p> <a:o> ."]), expand([b"chunk", b"chunk"])
    (['a.nt', b'<a:s> <a:p> <a:o> .'], [[b'chunk', b'chunk']])
    """
    if isinstance(src, list | tuple):
        if not src:
            raise JellyArgumentError("the list of sources is empty: expected at least one path, bytes or file object")
        if all(isinstance(each, bytes | bytearray | memoryview) for each in src):
            return [src]
        return [found for each in src for found in expand(each)]
    if src is None or isinstance(src, int | float):
        raise JellyArgumentError(f"a source is {src!r}: expected a path, URL, bytes, binary file or chunks of bytes")
    if not is_path(src) or (name := os.fsdecode(src)) == "-":
        return [src]
    if is_web(name) or os.path.isfile(name):
        return [src]
    if is_url(name):
        from jelly._bytes.remote import list_url

        listed = list_url(name, {})
        if listed is None:
            raise FileNotFoundError(f"there is no such file: {name}")
        paths = [path for path, _, _ in listed]
        return paths if paths == [name] else _known(name, paths)
    if os.path.isdir(name):
        found = glob.glob(os.path.join(glob.escape(name), "**", "*"), recursive=True)
        return _known(name, (path for path in found if os.path.isfile(path)))
    if not os.path.exists(name) and _MAGIC.search(name):
        matches = sorted(path for path in glob.glob(name, recursive=True) if not path.endswith(SUFFIX))
        if not matches:
            raise FileNotFoundError(f"no file matches {name}")
        return [found for path in matches for found in expand(path)]
    return [src]


def _known(name: str, paths: Iterable[str]) -> list[str]:
    """Those files of a directory, in order, whose suffix is that of a format of statements or of a table."""
    found = sorted(path for path in paths if table_kind(path) or split_suffix(path)[0] in _SUFFIXES)
    if not found:
        raise FileNotFoundError(
            f"the directory {name} has no file of statements: expected files with one of the suffixes"
            f" {', '.join((*_SUFFIXES, *TABLE_SUFFIXES))}, and perhaps one of a compression"
        )
    return found


class Sources:
    """Some sources, each read when its turn comes. With several, blank nodes get a scope by default.

    ``each`` has the sources, ``names`` what they are called: paths and URLs, else something that differs.
    ``settings`` are keywords of `Reader`, for the sources whose format has them.
    """

    def __init__(
        self, src: Any, blank_nodes: Mode | None = None, skolem_base: str | None = None, **settings: Any
    ) -> None:
        self.each: list[Any] = expand(src)
        self.settings: dict[str, Any] = settings
        self._given = (blank_nodes, skolem_base)
        mode: Mode = blank_nodes or ("scope" if len(self.each) > 1 else "keep")
        self.labels: BlankNodes = BlankNodes(mode, skolem_base)
        # The labels of a source are the same whenever it is read.
        self.names: list[str] = [_name(source) for source in self.each] if mode != "keep" else [""] * len(self.each)
        # Where sources that come only once stood when they were first read, by their ids; None for those that cannot
        # go back.
        self._begun: dict[int, int | None] = {}

    @property
    def table(self) -> Any:
        """The source, if it is one file of a table that is to be taken as it is."""
        only, *more = self.each
        is_plain = not more and self.labels.mode == "keep" and not any(map(self.settings.get, ("format", *VERSIONS)))
        return only if is_plain and table_kind(only) and not is_url(os.fsdecode(only)) else None

    @property
    def size(self) -> int | None:
        """Bytes of all sources, if each is a file or bytes."""
        if not all(isinstance(each, bytes) or (is_path(each) and os.path.isfile(each)) for each in self.each):
            return None
        return sum(len(each) if isinstance(each, bytes) else os.path.getsize(each) for each in self.each)

    def but(self, **defaults: Any) -> Sources:
        """The same, with keywords of `Reader` where they are not given."""
        made = copy(self)
        made.settings = defaults | self.settings
        return made

    def scoped(self) -> Sources:
        """The same, where the blank nodes of one source have a scope, too, unless the caller has chosen."""
        made = Sources(self.each, self._given[0] or "scope", self._given[1], **self.settings)
        made._begun = self._begun
        return made

    def _from_start(self, source: Any) -> None:
        """Go back to the start of a source that was read before; JellyArgumentError where that cannot be."""
        given = getattr(source, "origin", source)  # of chunks that an event loop makes
        # An array of numpy, which is bytes, has no truth when it is compared.
        is_standard_input = isinstance(given, str) and given == "-"
        if not is_standard_input and not any(hasattr(given, name) for name in ("read", "__next__", "__anext__")):
            return
        if id(given) not in self._begun:
            self._begun[id(given)] = _place(source)
        elif (place := self._begun[id(given)]) is not None:
            source.seek(place)
        else:
            raise JellyArgumentError(
                "the source was read before, and cannot be read again: keep its statements, or scan a file",
                source=name_of(source) or None,
            )

    def reader(self, source: Any) -> Reader:
        """A Reader of one source, which is no table in memory, with the settings that its format has."""
        self._from_start(source)
        settings = self.settings
        if len(self.each) > 1 and settings.get("format") is None and (name := name_of(source)) and not is_web(name):
            # Formats may differ, and each has limits of its own.
            settings = having(settings, format_of(source).reading | VERSIONS | COMMON)
        return Reader(source, **settings)


def is_table(source: Any) -> bool:
    """Whether a source is a table in memory."""
    return hasattr(source, "__arrow_c_stream__") and not hasattr(source, "read")


def _place(source: Any) -> int | None:
    """Where an open file is that can go back there; None for pipes, responses and iterators."""
    try:
        return int(source.tell()) if getattr(source, "seekable", lambda: True)() else None
    except (OSError, ValueError, AttributeError):
        return None


def is_file(source: Any) -> bool:
    """Whether a source is the path or URL of a file, and not of a pipe."""
    return is_path(source) and source != "-" and (os.path.isfile(source) or not os.path.exists(source))


def _name(source: Any) -> str:
    """The name that decides the labels of the blank nodes of a source: a path or URL, a hash of bytes, or a new one."""
    if is_file(source) or is_open_file(source):
        return name_of(source)
    if isinstance(source, bytes | bytearray | memoryview):
        source = [source]
    if isinstance(source, list | tuple):
        digest = hashlib.blake2b(digest_size=16)
        for chunk in source:
            digest.update(chunk)
        return f"bytes://{digest.hexdigest()}"
    return f"stream://{uuid.uuid4().hex}"  # streams have no names
