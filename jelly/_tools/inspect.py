"""Counts of a Jelly stream: options, rows and bytes by kind, frames. Terms are not decoded."""

from __future__ import annotations

import contextlib
import warnings
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from enum import IntEnum
from operator import eq
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from jelly._bytes.names import split_suffix
from jelly._bytes.source import MAX_EXPANSION, Source
from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.frame_scan import PLACES, TERM_PARTS, RowCounter
from jelly._dataset.segments import open_filtered
from jelly._formats.registry import JELLY, JELLY_PATCH
from jelly._formats.sniff import explainer
from jelly._html import html_table
from jelly._options.limits import default
from jelly._options.options import PatchOptions, StreamOptions
from jelly._options.settings import LIMITS, checked, fitted
from jelly.errors import JellyArgumentError, JellyError

__all__ = ["FrameInspection", "Inspection", "inspect"]

ROW_TERMS = frozenset().union(*TERM_PARTS)
UNKNOWN_ROW = "the row has no field that this version knows"
_ROWS = 3  # offset, size and bytes of metadata come before the rows of each kind
_KINDS = slice(1, 3)  # triples and quads, or statements added and deleted, in the kinds of rows
_STATEMENTS = slice(_ROWS + 1, _ROWS + 3)  # triples and quads, or statements added and deleted


@dataclass(frozen=True, slots=True)
class FrameInspection:
    """One frame in the result of `inspect`.

    Attributes
    ----------
    index : int
        Number of the frame, from 0.
    offset : int
        Byte in the decompressed stream at which the frame begins.
    bytes : int
        Size of the frame in bytes.
    statements : int
        Number of statements.
    rows, row_bytes : dict of str to int
        Number and bytes of the rows by kind, see `Inspection`.
    metadata_bytes : int
        Bytes of metadata.
    metadata : dict of str to str
        Metadata for display: the first 100 bytes of each value as text, or as hexadecimal digits (``0x00ff``) if it is
        not UTF-8. A value that was cut ends with ``...`` and its length in bytes.
    """

    index: int
    offset: int
    bytes: int
    statements: int
    rows: dict[str, int]
    row_bytes: dict[str, int]
    metadata_bytes: int
    metadata: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Convert to plain dicts, lists and numbers. Kinds of rows that do not occur are left out.

        Returns
        -------
        dict
            The fields by name.
        """
        return _plain(self)


@dataclass(frozen=True, slots=True)
class Inspection:
    """Result of `inspect`.

    Attributes
    ----------
    options : StreamOptions or PatchOptions
        The stream options.
    delimited : bool
        Whether each frame has its length before it.
    statements : int
        Number of statements; of Jelly-Patch those that are added or deleted.
    n_frames : int
        Number of frames.
    bytes : int
        Size of the stream in bytes.
    bytes_read : int
        Size of the file in bytes, which may be compressed.
    rows, row_bytes : dict of str to int
        Number and bytes of the rows by kind: options, triple, quad, graph_start, graph_end, namespace, name, prefix,
        datatype (entries of the lookup tables) and other (rows without a known field). Jelly-Patch has add, delete,
        namespace_add, namespace_delete, start, commit, abort, header and punctuation instead of triple to namespace.
    metadata_bytes : int
        Bytes of metadata in all frames.
    metadata : dict of str to int
        Number of frames with each metadata key.
    parts, part_bytes : dict of str to int
        If ``size`` was asked for: number and bytes of each part, which together are ``bytes``: ``framing`` (what
        tells the lengths of frames), ``metadata``, the kinds of rows as in ``rows``, and instead of triples and quads
        (of Jelly-Patch: add and delete) ``statement.framing`` (what tells the lengths of rows and columns, and the row
        counts) and the parts of statements. In rows these are the terms by place and kind, such as ``subject.iri`` or
        ``object.literal``; ``subject.repeated`` counts statements that repeat the subject before, which takes no
        bytes. In columns (Jelly-RDF 1.2) they are the lists of each column: ``object.runs``, ``object.name_ids``,
        ``object.lex_values`` and so on; a run stands for two or more cells.
    frames : sequence of FrameInspection
        The frames, if ``per_frame`` was asked for.
    problems : list of str
        Problems that show without decoding: rows of unknown kinds, and signs that the file was joined with ``cat``.
    filter_bytes : int
        Bytes of the filters in the index of the file or in its sidecar, see ``index`` of `Writer`; 0 without.
    """

    options: StreamOptions | PatchOptions
    delimited: bool
    statements: int
    n_frames: int
    bytes: int
    bytes_read: int
    rows: dict[str, int]
    row_bytes: dict[str, int]
    metadata_bytes: int
    metadata: dict[str, int]
    frames: Sequence[FrameInspection] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    filter_bytes: int = 0
    parts: dict[str, int] = field(default_factory=dict)
    part_bytes: dict[str, int] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        rows = [(kind, n, self.row_bytes[kind]) for kind, n in self.rows.items() if n]
        title = f"{self.statements:,} statements, {self.n_frames:,} frames, {self.bytes:,} bytes"
        return html_table(title, ("rows", "number", "bytes"), rows)

    def as_dict(self) -> dict[str, Any]:
        """Convert to plain dicts, lists and numbers. Kinds of rows that do not occur are left out.

        Returns
        -------
        dict
            The fields by name.
        """
        return _plain(self)


class _Frames(Sequence[FrameInspection]):
    """The counts of frames as arrays of the counter: objects would take ten times the memory."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self._kinds = kinds
        self._tables: list[NDArray[np.int64]] = []
        self._starts: list[int] = []
        self._keys: dict[int, dict[str, str]] = {}
        self._n = 0

    def take(self, counter: RowCounter) -> None:
        """Append the counts of the counter since the last call."""
        table, keys = counter.take_frames()
        for index, key, value, size in keys:
            self._keys.setdefault(index, {})[key] = _shown(value, size)
        if len(table):
            self._tables.append(table)
            self._starts.append(self._n)
            self._n += len(table)

    def __len__(self) -> int:
        return self._n

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self._n} frames>"

    @overload
    def __getitem__(self, index: int) -> FrameInspection: ...
    @overload
    def __getitem__(self, index: slice) -> list[FrameInspection]: ...
    def __getitem__(self, index: int | slice) -> FrameInspection | list[FrameInspection]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._n))]
        index = range(self._n)[index]
        part = bisect_right(self._starts, index) - 1
        row = self._tables[part][index - self._starts[part]].tolist()
        kinds = len(self._kinds)
        return FrameInspection(
            index=index,
            offset=row[0],
            bytes=row[1],
            statements=sum(row[_STATEMENTS]),
            rows=dict(zip(self._kinds, row[_ROWS : _ROWS + kinds], strict=True)),
            row_bytes=dict(zip(self._kinds, row[_ROWS + kinds :], strict=True)),
            metadata_bytes=row[2],
            metadata=self._keys.get(index, {}),
        )


def _plain(found: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for item in fields(found):
        value = getattr(found, item.name)
        if isinstance(value, StreamOptions | PatchOptions):
            value = {option.name: getattr(value, option.name) for option in fields(value)}
            value |= {name: given.name for name, given in value.items() if isinstance(given, IntEnum)}
        elif item.name in ("rows", "row_bytes"):
            value = {kind: n for kind, n in value.items() if n}
        elif item.name in ("frames", "problems", "parts", "part_bytes") and not value:
            continue
        elif item.name == "frames":
            value = [frame.as_dict() for frame in value]
        plain[item.name] = value
    return plain


@checked(JELLY.reading - {"batch_rows"})
def inspect(
    src: Any,
    per_frame: bool = False,
    *,
    size: bool = False,
    format: str | None = None,
    delimited: bool | None = None,
    max_frames: int = default("max_frames"),
    progress: Callable[[int, int | None, int], object] | None = None,
    **limits: Any,
) -> Inspection:
    """Count the frames, rows and bytes of a Jelly stream without decoding its statements.

    The stream options are checked. Wrong references to lookup tables go unnoticed; see `validate`.

    Parameters
    ----------
    src : Any
        The input, as for `Reader`.
    per_frame : bool, default False
        Also report each frame, about 200 bytes of memory per frame.
    size : bool, default False
        Also report the bytes of each part: of terms by place and kind, or of the lists of columns. Takes longer.
    format : {"jelly", "jellyp"}, optional
        Jelly-RDF or Jelly-Patch. By default a file with the suffix ``.jellyp`` is Jelly-Patch, everything else
        Jelly-RDF.
    delimited : bool, optional
        Whether each frame has its length before it. By default the first bytes tell.
    max_frames : int, default 262144
        Maximum number of frames to report with ``per_frame``.
    progress : callable, optional
        See `convert`.
    **limits : Any
        Limits of the `Decoder`, such as ``max_frame_bytes``.

    Returns
    -------
    Inspection
        What was found.

    Raises
    ------
    JellyLimitError
        If ``per_frame`` is set and there are more than ``max_frames`` frames.
    JellyError
        If a frame or the options are malformed.

    Examples
    --------
    >>> import jelly
    >>> found = jelly.inspect(jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))]))
    >>> found.statements, found.n_frames, found.rows["name"]
    (1, 1, 2)
    """
    if format not in (None, "jelly", "jellyp"):
        raise JellyArgumentError(f'format is {format!r}: expected "jelly" or "jellyp"')
    source = Source(src, limits.pop("max_expansion", MAX_EXPANSION))
    patch = format == "jellyp" or (format is None and split_suffix(source.name)[0] in JELLY_PATCH.suffixes)
    source.explain = explainer((JELLY_PATCH if patch else JELLY).name)
    limits = fitted(limits, JELLY.reading, source.size)
    counter = RowCounter(
        delimited=delimited,
        max_frame_bytes=limits.get("max_frame_bytes", LIMITS["max_frame_bytes"]),
        per_frame=per_frame,
        max_frames=max_frames,
        patch=patch,
        sizes=size,
    )
    # The Decoder reads the options; after them it is not needed.
    decoder = Decoder(delimited=delimited, batch_rows=1, patch=patch, **limits)
    decoder.quiet = True
    options: StreamOptions | PatchOptions | None = None
    frames = _Frames(counter.kinds)
    with source.named(), closing(source):
        for chunk in source.chunks():
            if options is None:
                decoder.push(chunk)
                options = _find_options(decoder)
            counter.feed(chunk)
            frames.take(counter)
            if progress is not None:
                progress(source.bytes_read, source.size, counter.statements)
        if options is None:
            decoder.finish()
            options = _find_options(decoder)
        counter.close()
        frames.take(counter)
    parts = _parts(counter) if size else {}
    assert options is not None, "a Decoder that is closed has options or raises"
    return Inspection(
        options=options,
        delimited=bool(counter.delimited),
        statements=counter.statements,
        n_frames=counter.frames,
        bytes=counter.bytes,
        bytes_read=source.bytes_read,
        rows=counter.rows,
        row_bytes=counter.row_bytes,
        metadata_bytes=counter.metadata_bytes,
        metadata=counter.metadata,
        frames=frames if per_frame else [],
        problems=_problems(counter, limits),
        filter_bytes=0 if patch else _filter_bytes(src),
        parts={name: number for name, (number, _) in parts.items()},
        part_bytes={name: of_part for name, (_, of_part) in parts.items()},
    )


def _parts(counter: RowCounter) -> dict[str, tuple[int, int]]:
    """The number and bytes of each part; what no part names is that of the frames and of the statements."""
    statements = counter.kinds[_KINDS]
    rows = {kind: (n, counter.row_bytes[kind]) for kind, n in counter.rows.items() if kind not in statements and n}
    terms = counter.parts
    of_statements = sum(counter.row_bytes[kind] for kind in statements)
    outside = counter.bytes - sum(counter.row_bytes.values()) - counter.metadata_bytes
    found = {"framing": (counter.frames, outside), **rows}
    if counter.metadata:
        found["metadata"] = (sum(counter.metadata.values()), counter.metadata_bytes)
    found["statement.framing"] = (counter.statements, of_statements - sum(size for _, size in terms.values()))
    for place in PLACES:
        own = {name: part for name, part in terms.items() if name.startswith(place)}
        found |= own
        of_rows = [n for name, (n, _) in own.items() if name.partition(".")[2] in ROW_TERMS]
        if of_rows and sum(of_rows) < counter.statements:
            found[f"{place}.repeated"] = (counter.statements - sum(of_rows), 0)
    found |= {name: part for name, part in terms.items() if name not in found}
    return found


def _filter_bytes(src: Any) -> int:
    """The size of the filters of a file, if it has any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an index that is of no use: who reads by it is warned
        file = open_filtered(src, {"format": JELLY.name})
        if file is None:
            return 0
        with file:
            return 0 if file.filters is None else file.filters.size


def _problems(counter: RowCounter, settings: dict[str, Any]) -> list[str]:
    """The problems of the stream, except those that the settings allow."""
    found = []
    if (other := counter.rows["other"]) and settings.get("unknown_rows") != "skip":
        found.append(f"{other} rows have no field that this version knows" if other > 1 else UNKNOWN_ROW)
    if counter.restarts and not settings.get("joined"):
        frame, offset, times = counter.restarts
        found.append(f"frame {frame}, byte {offset}: {restart_problem(times)}")
    return found


def restart_problem(times: int) -> str:
    """The message if another stream seems to begin inside the file, which happened ``times`` times."""
    more = f" (and {times - 1} times more)" if times > 1 else ""
    return (
        f"another stream seems to begin here{more}, as in files that were joined with cat; read on as one, statements "
        "come out wrong: joined=True reads them as the streams they are"
    )


def _find_options(decoder: Decoder) -> StreamOptions | PatchOptions | None:
    """The options, as soon as the Decoder has them. Later errors are left to `validate`."""
    try:
        while decoder.options is None and decoder.pull() is not None:
            pass
    except JellyError:
        if decoder.options is None:
            raise
    return decoder.options


def _shown(value: bytes, size: int) -> str:
    """A printable form of a value of ``size`` bytes, of which these are the first."""
    # The last character may be cut off.
    ends = range(len(value), len(value) - 4 if size > len(value) else len(value) - 1, -1)
    for end in ends:
        with contextlib.suppress(UnicodeDecodeError):
            text = value[:end].decode()
            break
    else:
        text = ""
    if not (text.isprintable() and (text or not value)):
        text = f"0x{value.hex()}"
    return text if size == len(value) else f"{text}... ({size:,} bytes)"
