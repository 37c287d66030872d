"""What a Jelly stream consists of: its options, rows and bytes by kind, frames. Terms are not decoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from jelly.core.decoder import Decoder
from jelly.core.rows import KINDS, RowCounter
from jelly.errors import JellyError
from jelly.files import Source
from jelly.options import StreamOptions

__all__ = ["FrameInspection", "Inspection", "inspect"]

_TRIPLE, _QUAD = KINDS.index("triple"), KINDS.index("quad")
UNKNOWN_ROW = "the row has no field that this version knows"
_ROWS = 3  # before the rows of each kind stand offset, size and bytes of metadata


@dataclass(frozen=True, slots=True)
class FrameInspection:
    """One frame: where it begins in the (decompressed) stream, its bytes, and what `Inspection` tells of the whole."""

    index: int
    offset: int
    bytes: int
    statements: int
    rows: dict[str, int]
    row_bytes: dict[str, int]
    metadata_bytes: int
    metadata: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers; kinds of rows that do not occur are left out."""
        return _plain(self)


@dataclass(frozen=True, slots=True)
class Inspection:
    """What `inspect` found.

    ``rows`` and ``row_bytes`` are by kind: options, triple, quad, graph_start, graph_end, namespace, name, prefix,
    datatype (the entries of the lookup tables) and other (rows without a known field). ``metadata`` tells for each
    key how many frames have it. ``bytes`` are those of the stream, ``bytes_read`` those of the file, which may be
    compressed. ``frames`` is a list only where ``per_frame`` was asked for. ``problems`` says what shows without
    decoding: rows of no known kind, and that the file seems to be several that were joined with ``cat``.
    """

    options: StreamOptions
    delimited: bool
    statements: int
    n_frames: int
    bytes: int
    bytes_read: int
    rows: dict[str, int]
    row_bytes: dict[str, int]
    metadata_bytes: int
    metadata: dict[str, int]
    frames: list[FrameInspection] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers; kinds of rows that do not occur are left out."""
        return _plain(self)


def _plain(found: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for item in fields(found):
        value = getattr(found, item.name)
        if isinstance(value, StreamOptions):
            value = {option.name: getattr(value, option.name) for option in fields(value)}
            value |= {name: value[name].name for name in ("physical_type", "logical_type")}
        elif item.name in ("rows", "row_bytes"):
            value = {kind: n for kind, n in value.items() if n}
        elif item.name in ("frames", "problems") and not value:
            continue
        elif item.name == "frames":
            value = [frame.as_dict() for frame in value]
        plain[item.name] = value
    return plain


def inspect(
    src: Any,
    per_frame: bool = False,
    *,
    delimited: bool | None = None,
    max_frame_bytes: int = 1 << 28,
    progress: Callable[[int, int | None, int], object] | None = None,
    **limits: Any,
) -> Inspection:
    """Look at the Jelly stream ``src``, which may be what `Reader` takes.

    The stream options are checked like those of any stream; the rest is walked over without decoding it, so that
    wrong references go unnoticed (see `validate`). ``progress`` is as for `convert`.

    >>> import jelly
    >>> found = jelly.inspect(jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))]))
    >>> found.statements, found.n_frames, found.rows["name"]
    (1, 1, 2)
    """
    source = Source(src)
    counter = RowCounter(delimited=delimited, max_frame_bytes=max_frame_bytes, per_frame=per_frame)
    # The Decoder reads the options; after them it is not needed any more.
    decoder = Decoder(delimited=delimited, max_frame_bytes=max_frame_bytes, batch_rows=1, **limits)
    decoder.quiet = True
    options: StreamOptions | None = None
    frames: list[FrameInspection] = []
    try:
        for chunk in source.chunks():
            if options is None:
                decoder.push(chunk)
                options = _find_options(decoder)
            counter.feed(chunk)
            frames += _take_frames(counter)
            if progress is not None:
                progress(source.bytes_read, source.size, counter.statements)
        if options is None:
            decoder.finish()
            options = _find_options(decoder)
        counter.close()
        frames += _take_frames(counter)
    except JellyError as error:
        if error.source is None:
            error.source = source.name or None
        raise
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
        frames=frames,
        problems=_problems(counter, bool(limits.get("joined"))),
    )


def _problems(counter: RowCounter, joined: bool) -> list[str]:
    found = []
    if other := counter.rows["other"]:
        found.append(f"{other} rows have no field that this version knows" if other > 1 else UNKNOWN_ROW)
    if counter.restarts and not joined:
        frame, offset, times = counter.restarts
        found.append(f"frame {frame}, byte {offset}: {restart_problem(times)}")
    return found


def restart_problem(times: int) -> str:
    """What is wrong where another stream seems to begin, for the first of some times."""
    more = f" (and {times - 1} times more)" if times > 1 else ""
    return (
        f"another stream seems to begin here{more}, as in files that were joined with cat; read on as one, statements "
        "come out wrong: joined=True reads them as the streams they are"
    )


def _find_options(decoder: Decoder) -> StreamOptions | None:
    """The options, as soon as the Decoder has them. What is wrong behind them is left for `validate`."""
    try:
        while decoder.options is None and decoder.pull() is not None:
            pass
    except JellyError:
        if decoder.options is None:
            raise
    return decoder.options


def _take_frames(counter: RowCounter) -> list[FrameInspection]:
    table, keys = counter.take_frames()
    first = counter.frames - len(table)
    of_frame: dict[int, list[str]] = {}
    for index, key in keys:
        of_frame.setdefault(index, []).append(key)
    kinds = len(KINDS)
    return [
        FrameInspection(
            index=first + i,
            offset=row[0],
            bytes=row[1],
            statements=row[_ROWS + _TRIPLE] + row[_ROWS + _QUAD],
            rows=dict(zip(KINDS, row[_ROWS : _ROWS + kinds], strict=True)),
            row_bytes=dict(zip(KINDS, row[_ROWS + kinds :], strict=True)),
            metadata_bytes=row[2],
            metadata=of_frame.get(first + i, []),
        )
        for i, row in enumerate(table.tolist())
    ]
