"""Several sources as one: lists, glob patterns, directories, tables, URLs, and what is only a part of them."""

from __future__ import annotations

import copy
import glob
import hashlib
import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from types import SimpleNamespace
from typing import Any

from jelly._bytes.names import is_open_file, is_url, is_web, name_of, split_suffix
from jelly._core.base.batch import Batch
from jelly._dataset.blank_node_scope import BlankNodes, Mode
from jelly._dataset.file import JellyFile
from jelly._dataset.segments import Condition, query_of, read_filtered
from jelly._formats.filters import Query
from jelly._formats.index import SUFFIX
from jelly._formats.registry import (
    FORMATS,
    JELLY,
    READING,
    TABLE_SUFFIXES,
    VERSIONS,
    find,
    format_of,
    having,
    table_kind,
)
from jelly._streams.rdf_version import changes
from jelly._streams.reader import Frame, Reader, frames_of, whole_frame
from jelly.errors import JellyArgumentError, JellyError

__all__ = ["OF_SOURCES", "Sources", "expand"]

# Keywords of what reads sources.
OF_SOURCES = READING | VERSIONS | {"blank_nodes", "skolem_base", "threads"}

_MAGIC = re.compile(r"[*?\[]")
# Keywords of all formats, and of a part of a Jelly file none.
_OWN = ("format", "strict", "on_error", "delimited")


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
        if _is_chunks(src):
            return [src]
        return [found for each in src for found in expand(each)]
    if not isinstance(src, str | os.PathLike) or not isinstance(name := os.fspath(src), str) or name == "-":
        return [_refused(src)]
    if is_web(name) or os.path.isfile(name):
        return [src]
    if is_url(name):
        from jelly._bytes.remote import list_url

        listed = list_url(name, {})
        if listed is None:
            raise FileNotFoundError(f"there is no such file: {name}")
        if [path for path, _, _ in listed] == [name]:
            return [name]
        return _known(name, (path for path, _, _ in listed))
    if os.path.isdir(name):
        found = glob.glob(os.path.join(glob.escape(name), "**", "*"), recursive=True)
        return _known(name, (path for path in found if os.path.isfile(path)))
    if not os.path.exists(name) and _MAGIC.search(name):
        matches = sorted(path for path in glob.glob(name, recursive=True) if not path.endswith(SUFFIX))
        if not matches:
            raise FileNotFoundError(f"no file matches {name}")
        return [found for path in matches for found in expand(path)]
    return [src]


def _is_chunks(src: list[Any] | tuple[Any, ...]) -> bool:
    return all(isinstance(each, bytes | bytearray | memoryview) for each in src)


def _refused(src: Any) -> Any:
    """A source, if it can be one."""
    if src is None or isinstance(src, int | float):
        raise JellyArgumentError(f"a source is {src!r}: expected a path, URL, bytes, binary file or chunks of bytes")
    return src


def _known(name: str, paths: Iterable[str]) -> list[str]:
    """Those files of a directory, in order, whose suffix is that of a format of statements or of a table."""
    found = sorted(path for path in paths if is_known(path))
    if not found:
        suffixes = [suffix for format in FORMATS.values() for suffix in format.suffixes]
        raise FileNotFoundError(
            f"the directory {name} has no file of statements: expected files with one of the suffixes"
            f" {', '.join((*suffixes, *TABLE_SUFFIXES))}, and perhaps one of a compression"
        )
    return found


def is_known(path: str) -> bool:
    """Whether the suffix of a file is that of a format of statements or of a table.

    >>> is_known("x.nt.gz"), is_known("x.parquet"), is_known("x.txt")
    (True, True, False)
    """
    suffix = split_suffix(path)[0]
    return table_kind(path) is not None or any(suffix in format.suffixes for format in FORMATS.values())


class Sources:
    """Some sources, each read when its turn comes. With several, blank nodes get a scope by default.

    ``each`` has the sources, ``names`` what they are called: paths and URLs, else something that tells them apart.
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

    @property
    def single(self) -> Any:
        """The source, if there is one that a `Reader` reads as it is; None for several, tables and open files."""
        one = self.each[0]
        return one if len(self.each) == 1 and self.labels.mode == "keep" and not _is_table(one) and not (
            isinstance(one, JellyFile)
        ) else None

    def but(self, **defaults: Any) -> Sources:
        """The same, with keywords of `Reader` where they are not given."""
        made = copy.copy(self)
        made.settings = defaults | self.settings
        return made

    def scoped(self) -> Sources:
        """The same, where the blank nodes of one source have a scope, too, unless the caller has chosen."""
        return Sources(self.each, self._given[0] or "scope", self._given[1], **self.settings)

    def batches(
        self,
        threads: int = 1,
        ended: Callable[[Reader], object] | None = None,
        condition: Condition | None = None,
    ) -> Iterator[Batch]:
        """The Batches of all sources, in order; of files with filters those that may have rows of a condition.

        More threads than one read ahead: sources, and segments of Jelly files with an index. ``ended`` is called with
        each Reader at its end; with threads at the end of all, with what stands for a Reader of a file with an index.
        """
        query = query_of(condition, self.labels)
        if threads <= 1:
            for number in range(len(self.each)):
                yield from self.of(number, ended, query)
            return
        from jelly._bytes.workers import pipelined  # which takes some time to import

        readers: dict[int, Any] = {}
        with ExitStack() as stack:
            yield from pipelined(self._tasks(stack, query, readers), threads)
        for _, reader in sorted(readers.items()):
            if ended is not None:
                ended(reader)

    def of(
        self, number: int, ended: Callable[[Reader], object] | None = None, query: Query | None = None
    ) -> Iterator[Batch]:
        """The Batches of one source, all of them of triples or all of quads, with its blank nodes as they should be."""
        return self.labels.batches(self.names[number], self._plain(self.each[number], ended, query))

    def frames(self) -> Iterator[Frame]:
        """The frames of all sources, numbered from 0 on."""
        index = 0
        for number, source in enumerate(self.each):
            for frame in self._frames(number, source, index):
                yield frame
                index += 1

    def _frames(self, number: int, source: Any, index: int) -> Iterator[Frame]:
        name = self.names[number]
        if isinstance(source, JellyFile):
            yield from frames_of(self.labels.batches(name, source.batches()), index)
        elif _is_table(source):
            yield whole_frame(self.of(number), index)
        else:
            with self.reader(source) as reader:
                if reader.format is JELLY:
                    yield from frames_of(self.labels.batches(name, reader.batches()), index)
                else:
                    yield whole_frame(self.labels.batches(name, reader.uniform()), index)

    def reader(self, source: Any) -> Reader:
        """A Reader of one source, which is no table in memory, with the settings that its format has."""
        settings = self.settings
        if len(self.each) > 1 and settings.get("format") is None and (name := name_of(source)) and not is_web(name):
            # Formats may differ, and each has limits of its own.
            settings = having(settings, format_of(source).reading | VERSIONS | set(_OWN))
        return Reader(source, **settings)

    def _plain(self, source: Any, ended: Callable[[Reader], object] | None, query: Query | None) -> Iterator[Batch]:
        if (chosen := read_filtered(source, query, self.settings)) is not None:
            yield from chosen
            return
        if isinstance(source, JellyFile):
            yield from source.chosen(query)
            return
        if _is_table(source):
            from jelly._formats.arrow_input import InputTable

            table = InputTable(source)
            change = changes(self.settings.get("rdf"), self.settings.get("star"))
            batches = table.batches(table.has_graphs())
            yield from batches if change is None else change(batches)
            return
        with self.reader(source) as reader:
            yield from reader.uniform()
            if ended is not None:
                ended(reader)

    def _tasks(
        self, stack: ExitStack, query: Query | None, readers: dict[int, Any]
    ) -> Iterator[Callable[[], Iterator[Batch]]]:
        for number, source in enumerate(self.each):
            file = self._indexed(source)
            if file is None:
                yield partial(self.of, number, partial(readers.__setitem__, number), query)
            else:
                if file is not source:
                    stack.enter_context(file)
                readers[number] = SimpleNamespace(bytes_read=file.n_bytes, n_skipped=0, skipped=[])
                for part in file.parts(query=query):
                    yield partial(self._segment, file.path, self.names[number], part)

    def uniform(self) -> Iterator[Batch]:
        """The Batches, as of `Reader`; those of one source are all of triples or all of quads."""
        return self.batches()

    def _indexed(self, source: Any) -> JellyFile | None:
        """The file with its index, if it has one, and if its segments can be read as they are."""
        if isinstance(source, JellyFile):
            return source
        if not VERSIONS.isdisjoint(name for name, value in self.settings.items() if value is not None):
            return None
        if not isinstance(source, str | os.PathLike) or not os.path.isfile(source):
            return None
        if find(self.settings.get("format"), os.fspath(source), tables=True) is not JELLY:
            return None
        try:
            settings = having(self.settings, JELLY.reading)
            return JellyFile(source, **{name: value for name, value in settings.items() if name not in _OWN})
        except JellyError:
            return None

    def _segment(self, path: str, name: str, part: Callable[[], Iterator[tuple[Batch, int, int]]]) -> Iterator[Batch]:
        try:
            yield from self.labels.batches(name, (batch for batch, _, _ in part()))
        except JellyError as error:
            error.source = error.source or path
            raise


def _is_table(source: Any) -> bool:
    return hasattr(source, "__arrow_c_stream__") and not hasattr(source, "read")


def _name(source: Any) -> str:
    """What decides the labels of the blank nodes of a source: its path or URL, what bytes say, or nothing."""
    if isinstance(source, str | os.PathLike) and source != "-" or is_open_file(source):
        return name_of(source)
    if isinstance(source, bytes | bytearray | memoryview):
        source = [source]
    if isinstance(source, list | tuple):
        digest = hashlib.blake2b(digest_size=16)
        for chunk in source:
            digest.update(chunk)
        return f"bytes://{digest.hexdigest()}"
    return f"stream://{uuid.uuid4().hex}"  # nothing tells one stream from another
