"""Several sources as one: lists, globs and directories of files and URLs in any formats, tables among them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from jelly._core.base.batch import Batch
from jelly._find.segments import Condition, query_of, read_filtered
from jelly._formats.registry import FORMATS, find, having, table_kind
from jelly._io.reader import Reader
from jelly._io.remote import is_url, list_url, open_url
from jelly._io.source import is_web, split_suffix
from jelly._seekable.filters import Query
from jelly._seekable.index import SUFFIX
from jelly._tools.blank_node_scope import BlankNodes, Mode
from jelly.errors import JellyArgumentError

__all__ = ["Sources", "expand"]

_MAGIC = re.compile(r"[*?\[]")


def expand(src: Any) -> list[Any]:
    """The sources that are meant: those of a list or tuple, the files of a glob or a directory, or just ``src``.

    A list of bytes is one source, in chunks. FileNotFoundError if a pattern matches nothing.

    >>> expand(["a.nt", b"<a:s> <a:p> <a:o> ."]), expand([b"chunk", b"chunk"])
    (['a.nt', b'<a:s> <a:p> <a:o> .'], [[b'chunk', b'chunk']])
    """
    if isinstance(src, list | tuple):
        if src and all(isinstance(each, bytes | bytearray | memoryview) for each in src):
            return [src]
        return [found for each in src for found in expand(each)]
    if not isinstance(src, str | os.PathLike) or not isinstance(name := os.fspath(src), str) or name == "-":
        return [src]
    if is_web(name):
        return [name]
    if is_url(name):
        listed = list_url(name, {})
        if listed is None:
            raise FileNotFoundError(f"there is no such file: {name}")
        return sorted(path for path, _, _ in listed)
    if os.path.isdir(name):
        found = glob.glob(os.path.join(glob.escape(name), "**", "*"), recursive=True)
        return sorted(path for path in found if os.path.isfile(path) and _is_known(path))
    if not os.path.exists(name) and _MAGIC.search(name):
        matches = sorted(path for path in glob.glob(name, recursive=True) if not path.endswith(SUFFIX))
        if not matches:
            raise FileNotFoundError(f"no file matches {name}")
        return [found for path in matches for found in expand(path)]
    return [src]


def _is_known(path: str) -> bool:
    """Whether the suffix of a file is that of a format of statements or of a table."""
    suffix = split_suffix(path)[0]
    return table_kind(path) is not None or any(suffix in format.suffixes for format in FORMATS.values())


class Sources:
    """Some sources, each read when its turn comes. With several, blank nodes get a scope by default."""

    def __init__(
        self, src: Any, blank_nodes: Mode | None = None, skolem_base: str | None = None, **settings: Any
    ) -> None:
        self.each: list[Any] = expand(src)
        self.settings: dict[str, Any] = settings
        mode: Mode = blank_nodes or ("scope" if len(self.each) > 1 else "keep")
        self.labels: BlankNodes = BlankNodes(mode, skolem_base)

    def batches(self, condition: Condition | None = None) -> Iterator[Batch]:
        """The Batches of all sources, in order; of files with filters those that may have rows of a condition."""
        query = query_of(condition, self.labels)
        for number, source in enumerate(self.each):
            # What has no path is another source than its neighbours.
            name = os.fspath(source) if isinstance(source, str | os.PathLike) else f"source {number}"
            yield from self.labels.batches(str(name), self.read(source, query))

    def read(self, source: Any, query: Query | None = None) -> Iterator[Batch]:
        """The Batches of one source, all of them of triples or all of quads."""
        settings = self.settings
        if (chosen := read_filtered(source, query, settings)) is not None:
            yield from chosen
            return
        if isinstance(source, str | os.PathLike):
            name = os.fspath(source)
            if settings.get("format") is None and table_kind(name) is not None:
                from jelly._formats.arrow_input import InputTable
                from jelly._formats.table_files import read_table_file

                table = InputTable(read_table_file(name), None)
                yield from table.batches(table.has_graphs())
                return
            if is_url(name) and not is_web(name):
                format = find(settings.get("format"), name)
                given = settings | {"format": format.name}
                with closing(open_url(name, {})) as file, Reader(file, **given) as reader:
                    yield from reader.uniform()
                return
            if len(self.each) > 1 and settings.get("format") is None and not is_web(name) and name != "-":
                # Formats may differ, and each has limits of its own.
                settings = having(settings, find(None, name).reading | {"format", "delimited", "strict", "on_error"})
        elif hasattr(source, "__arrow_c_stream__"):
            from jelly._formats.arrow_input import InputTable

            table = InputTable(source, None)
            yield from table.batches(table.has_graphs())
            return
        elif source is None:
            raise JellyArgumentError("a source is None: expected a path, bytes, a file object or chunks")
        with Reader(source, **settings) as reader:
            yield from reader.uniform()
