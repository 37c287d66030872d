"""Compares what lies beside the stream in a file with the stream: index, sidecar, table of frames, filters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jelly._dataset.seekable.file import JellyFile
from jelly.errors import JellyError


class _Checked(JellyFile):
    """A file whose index and filters are an error where they cannot be used."""

    _check = True


class _CheckedPatches(_Checked):
    _patch = True


def problems_beside(
    path: str, patch: bool, joined: bool, limits: Mapping[str, Any]
) -> Iterator[tuple[str, int | None]]:
    """The parts that do not fit the stream, in words, each with its byte in the stream. The stream itself has no error.

    All segments are read to their ends, which shows whether an index fits, see `read_segment`; each statement is then
    looked for in the filters. In ``joined`` files the index that one of them had is ignored.
    """
    kind = _CheckedPatches if patch else JellyFile if joined else _Checked
    try:
        file = kind(path, **limits)
    except JellyError as error:
        if type(error) is not JellyError:  # that is what says that there is no index
            yield error.reason, error.offset
        return
    with file:
        filters = None
        try:
            filters = None if patch else file.filters
        except JellyError as error:
            yield error.reason, error.offset
        try:
            for number, segment in enumerate(file.index.segments()):
                fits = True
                for batch in file._read(segment):
                    fits = fits and (filters is None or filters.cover(number, batch))
                    del batch  # before the next one takes memory
                if not fits:
                    yield f"the filters of segment {number} do not fit its statements", segment[0].offset
        except JellyError as error:
            yield error.reason, error.offset
