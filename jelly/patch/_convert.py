"""``jelly.patch.convert``: patches from one file or format to another."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Literal

from jelly._bytes.source import Progress
from jelly._bytes.workers import Workers
from jelly._dataset.file import open_indexed, watched
from jelly._formats.index import KEYFRAME_ROWS
from jelly._formats.registry import JELLY_PATCH, PATCH_FORMATS, PATCH_READING, Content, find
from jelly._formats.sniff import explainer
from jelly._options.options import MIN_NAME_TABLE, PatchOptions
from jelly._options.settings import checked
from jelly._streams.widening import open_fields
from jelly.patch._seekable import PatchFile
from jelly.patch._stream import PatchReader, PatchWriter

__all__ = ["convert"]


@checked(PATCH_READING - {"format"})
def convert(
    src: Any,
    dst: Any,
    *,
    from_format: str | None = None,
    to_format: str | None = None,
    options: PatchOptions | Mapping[str, Any] | None = None,
    frame_rows: int = 256,
    frame_bytes: int = 1_000_000,
    delimited: bool = True,
    seekable: bool = False,
    keyframe_rows: int = KEYFRAME_ROWS,
    marked_bnodes: bool = True,
    quoted: Literal["rdf-1.2", "rdf-star"] = "rdf-1.2",
    progress: Progress | None = None,
    threads: int = 1,
    **limits: Any,
) -> int:
    """Convert patches to another format, or rewrite them with other options. Memory stays bounded.

    Parameters
    ----------
    src : Any
        The input, as for `PatchReader`.
    dst : Any
        The output, as for `PatchWriter`.
    from_format, to_format : str, optional
        Formats of input and output. By default the suffixes decide.
    options : PatchOptions or mapping, optional
        Options of the Jelly-Patch stream that is written, or only the fields that change. By default those of a
        Jelly-Patch source.
    frame_rows : int, default 256
        Maximum rows per frame (0: unlimited).
    frame_bytes : int, default 1 MB
        Maximum bytes per frame (0: unlimited); a larger statement has a frame of its own.
    delimited : bool, default True
        Write the length of each frame before it.
    seekable : bool, default False
        Write keyframes and an index, see `PatchWriter`.
    keyframe_rows : int, default 131072
        Rows from one keyframe to the next, if ``seekable``.
    marked_bnodes : bool, default True
        See `PatchWriter`.
    quoted : {"rdf-1.2", "rdf-star"}, default "rdf-1.2"
        See `PatchWriter`.
    progress : callable, optional
        See `jelly.convert`; it gets rows instead of statements.
    threads : int, default 1
        Number of threads: they read segments of a Jelly-Patch file with an index, encode those of a ``seekable`` one,
        and make lines of RDF Patch. Another file is read by one thread beside them. The output is the same for any
        number.
    **limits : Any
        Further keywords of `PatchReader`.

    Returns
    -------
    int
        Number of rows.

    Examples
    --------
    >>> import io
    >>> out = io.BytesIO()
    >>> convert(b"TX .\\nTC .\\n", out, from_format="rdfp")
    2
    """
    with ExitStack() as stack:
        workers = stack.enter_context(Workers(threads))
        file = _open_index(src, from_format, limits) if workers.threads > 1 else None
        reader: PatchFile | PatchReader
        if file is not None:
            reader = stack.enter_context(file)
            batches = watched(file, workers.threads, progress)
        else:
            reader = stack.enter_context(PatchReader(src, format=from_format, **limits))
            reader.workers = workers
            reader.source.explain = explainer(reader.format.name, PATCH_FORMATS, "from_format")
            batches = reader.source.watched(reader.batches(), progress)
        # The first Batch tells the options, so that a source that cannot be read leaves the destination alone.
        batch = next(batches, None)
        chosen = options
        if not isinstance(options, PatchOptions) and reader.options is not None:
            names = max(MIN_NAME_TABLE, reader.options.max_name_table_size)
            chosen = reader.options.replace(**{"max_name_table_size": names} | dict(options or {}))
        with PatchWriter(
            dst,
            chosen,
            format=to_format,
            frame_rows=frame_rows,
            frame_bytes=frame_bytes,
            delimited=delimited,
            seekable=seekable,
            keyframe_rows=keyframe_rows,
            marked_bnodes=marked_bnodes,
            quoted=quoted,
            threads=workers,
        ) as writer:
            if writer.format is JELLY_PATCH:
                # Where one thread reads, which takes longer than encoding, one encodes beside it: more slow it down.
                writer._start(open_fields(options), None if file is None else workers, holds=False)
            while batch is not None:
                writer.add_batch(batch)
                batch = next(batches, None)
    return writer.operations


def _open_index(src: Any, format: str | None, limits: Mapping[str, Any]) -> PatchFile | None:
    """A Jelly-Patch file whose segments several threads can read; None for another source."""
    if not isinstance(src, str | os.PathLike) or not os.path.isfile(src):
        return None
    is_binary = find(format, os.fspath(src), content=Content.PATCH) is JELLY_PATCH
    return open_indexed(PatchFile, src, limits) if is_binary else None
