"""Reads a task: the statements of the parts of files. Independent of Spark, so that workers load it quickly.

>>> import jelly, os, tempfile
>>> from jelly.spark._partitions import split
>>> from jelly.spark._parts.files import find_files
>>> folder = tempfile.mkdtemp()
>>> jelly.write(os.path.join(folder, "a.jelly"), jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))
1
>>> [task] = split(find_files(folder))
>>> [batch.to_pylist() for part in task for batch in read_part(part, layout="ntriples")]
[[{'s': '<a:s>', 'p': '<a:p>', 'o': '<a:o>', 'g': None}]]
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from jelly._core.base.batch import Batch
from jelly._dataset.blank_node_scope import KEEP, BlankNodes
from jelly._dataset.conditions.pattern import Pattern
from jelly._dataset.seekable.file import JellyFile
from jelly._dataset.seekable.segments import query_of
from jelly._formats.arrow_tables import from_batches, pa
from jelly._formats.filters import Query
from jelly._formats.registry import NQ, NT, SEEKING, Format, find, having
from jelly._options.layouts import Layout
from jelly._streams.reader import Reader
from jelly.errors import JellyError, JellyFormatError, JellySyntaxError
from jelly.spark._partitions import Part, narrowed, of_file
from jelly.spark._parts.directories import in_directories
from jelly.spark._parts.files import limits_of, note_error, open_file
from jelly.spark._parts.lines import read_lines

__all__ = [
    "BATCH_ROWS",
    "read_batches",
    "read_part",
]

# Rows of a record batch: more do not fit into the cache of a core on their way to Spark, and fewer cost more each.
BATCH_ROWS = 1 << 13


def read_part(
    part: Part,
    *,
    layout: Layout = "flat",
    columns: Sequence[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    format: str | None = None,
    storage: Mapping[str, Any] | None = None,
    keep: Pattern | None = None,
    errors: list[JellyError] | None = None,
    blank_nodes: BlankNodes = KEEP,
    limits: Mapping[str, int] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The statements of a part as record batches of plain strings; ``layout`` and ``columns`` as in `read_arrow`.

    ``keep`` chooses rows of each Batch. ``format`` is that of files whose
    suffix says nothing. With ``errors``, what is broken is noted there (file, frame, byte offset) instead of being
    raised: of N-Triples and N-Quads the line is left out, of Jelly what comes up to the next keyframe of the part, of
    other formats the rest of the file. Errors that are not those of the data are raised in any case. ``blank_nodes``
    says what becomes of their labels, before ``keep`` sees them. ``limits`` are those of any format, such as
    ``max_line_bytes``; a file has those of its own.
    """
    query, rows = query_of(keep, blank_nodes), None if keep is None else keep.rows
    batches = read_batches(
        part,
        batch_rows=batch_rows,
        format=format,
        storage=storage,
        errors=errors,
        blank_nodes=blank_nodes,
        limits=limits,
        query=query,
    )
    try:
        yield from from_batches(batches, layout=layout, columns=columns, batch_rows=batch_rows, keep=rows)
    except JellyError as error:
        error.source = error.source or part.file.path
        raise


def read_batches(
    part: Part,
    *,
    batch_rows: int = BATCH_ROWS,
    format: str | None = None,
    storage: Mapping[str, Any] | None = None,
    errors: list[JellyError] | None = None,
    blank_nodes: BlankNodes = KEEP,
    limits: Mapping[str, int] | None = None,
    query: Query | None = None,
) -> Iterator[Batch]:
    """The statements of a part as Batches; the keywords are those of `read_part`.

    Segments of Jelly in which filters find nothing of ``query`` are left out.
    """
    path = part.file.path
    query = of_file(query, part.said)
    batches = _read_batches(
        part,
        batch_rows=batch_rows,
        format=format,
        storage=storage or {},
        errors=errors,
        limits=limits or {},
        query=query,
    )
    return in_directories(part.said, path, blank_nodes.batches(path, batches), errors)


def _read_batches(
    part: Part,
    *,
    batch_rows: int,
    format: str | None,
    storage: Mapping[str, Any],
    errors: list[JellyError] | None,
    limits: Mapping[str, int],
    query: Query | None,
) -> Iterator[Batch]:
    if query is not None and part.first == 0 and part.last is None:
        kept = narrowed([[part]], query, format=format, storage=storage, limits=limits)
        if not kept:
            return
        [[part]] = kept
    path = part.file.path
    if part.first == 0 and part.last is None:
        with _noted(path, errors):
            yield from _whole(part, find(format, part.file.name), batch_rows, storage, errors, limits)
    elif (form := find(format, part.file.name)) in (NT, NQ):
        with open_file(storage, path) as opened:
            _check_size(part, opened.seek(0, os.SEEK_END))
            own = limits_of(part.file, form, limits)
            lines = read_lines(
                opened, form, part.first, part.last, source=path, batch_rows=batch_rows, errors=errors, **own
            )
            with _noted(path, errors):
                yield from lines
    else:
        yield from _keyframes(part, batch_rows, storage, errors, limits, query)


@contextmanager
def _noted(path: str, errors: list[JellyError] | None) -> Iterator[None]:
    """Note an error of the data, see `note_error`."""
    try:
        yield
    except JellyError as error:
        note_error(error, path, errors)


def _whole(
    part: Part, form: Format, batch_rows: int, storage: Mapping[str, Any], errors: list[JellyError] | None,
    limits: Mapping[str, int],
) -> Iterator[Batch]:  # fmt: skip
    """The statements of a whole file."""
    path = part.file.path
    skip = errors is not None and form in (NT, NQ)  # formats with one statement per line
    own = limits_of(part.file, form, limits)
    with (
        open_file(storage, path) as opened,
        Reader(
            opened, format=form.name, on_error="skip" if skip else "raise", batch_rows=batch_rows, **own
        ) as reader,
    ):  # fmt: skip
        try:
            yield from reader.batches()
        finally:
            if errors is not None:
                errors += [JellySyntaxError(why, line=line, source=path) for line, why in reader.skipped]
                if more := reader.n_skipped - len(reader.skipped):
                    errors.append(JellySyntaxError(f"{more} more lines were left out", source=path))


def _keyframes(
    part: Part, batch_rows: int, storage: Mapping[str, Any], errors: list[JellyError] | None,
    limits: Mapping[str, int], query: Query | None,
) -> Iterator[Batch]:  # fmt: skip
    """The statements of some segments of a Jelly file."""
    path = part.file.path
    with JellyFile(path, opener=partial(open_file, storage), batch_rows=batch_rows, **having(limits, SEEKING)) as file:
        _check_size(part, file.n_bytes)
        numbers = file.matching(query)
        if errors is None and numbers is None:
            yield from file.batches(first=part.first, last=part.last)
            return
        wanted = range(len(file.index.keyframes))[part.first : part.last]
        for number in wanted if numbers is None else [number for number in numbers if number in wanted]:
            with _noted(path, errors):
                yield from file.batches(first=number, last=number + 1)


def _check_size(part: Part, size: int) -> None:
    if size != part.file.size:
        raise JellyFormatError("the file has changed since the job was planned", source=part.file.path)
