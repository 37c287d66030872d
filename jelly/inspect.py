"""What a Jelly stream consists of: its options, rows and bytes by kind, frames. Terms are not decoded."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, fields
from typing import Any

from jelly.core.decoder import Decoder
from jelly.core.rows import KINDS, RowCounter
from jelly.errors import JellyError
from jelly.files import Source
from jelly.formats import JELLY
from jelly.options import StreamOptions
from jelly.settings import LIMITS, checked, fitted

__all__ = ["FrameInspection", "Inspection", "inspect"]

_TRIPLE, _QUAD = KINDS.index("triple"), KINDS.index("quad")
_ROWS = 3  # before the rows of each kind stand offset, size and bytes of metadata


@dataclass(frozen=True, slots=True)
class FrameInspection:
    """One frame: where it begins in the (decompressed) stream, its bytes, and what `Inspection` tells of the whole.

    ``metadata`` are its keys and values. Values are for looking at: as text, or in hexadecimal digits (``0x00ff``)
    where they are none, and no more than the first 100 bytes; ``...`` and the length in bytes stand behind a value that
    was cut.
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
        """Plain dicts, lists and numbers; kinds of rows that do not occur are left out."""
        return _plain(self)


@dataclass(frozen=True, slots=True)
class Inspection:
    """What `inspect` found.

    ``rows`` and ``row_bytes`` are by kind: options, triple, quad, graph_start, graph_end, namespace, name, prefix,
    datatype (the entries of the lookup tables) and other (rows without a known field). ``metadata`` tells for each
    key how many frames have it. ``bytes`` are those of the stream, ``bytes_read`` those of the file, which may be
    compressed. ``frames`` is a list only where ``per_frame`` was asked for.
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
        elif item.name == "frames":
            if not value:
                continue
            value = [frame.as_dict() for frame in value]
        plain[item.name] = value
    return plain


@checked(JELLY.reading - {"batch_rows"})
def inspect(
    src: Any,
    per_frame: bool = False,
    *,
    delimited: bool | None = None,
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
    source.expected = (JELLY.name, (), "")
    limits = fitted(limits, JELLY.reading, source.size)
    counter = RowCounter(
        delimited=delimited,
        max_frame_bytes=limits.get("max_frame_bytes", LIMITS["max_frame_bytes"]),
        per_frame=per_frame,
    )
    # The Decoder reads the options; after them it is not needed any more.
    decoder = Decoder(delimited=delimited, batch_rows=1, **limits)
    options: StreamOptions | None = None
    frames: list[FrameInspection] = []
    with source.named(), closing(source):
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
    of_frame: dict[int, dict[str, str]] = {}
    for index, key, value, size in keys:
        of_frame.setdefault(index, {})[key] = _shown(value, size)
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
            metadata=of_frame.get(first + i, {}),
        )
        for i, row in enumerate(table.tolist())
    ]


def _shown(value: bytes, size: int) -> str:
    """A value that has ``size`` bytes, of which these are the first, as something to look at."""
    # Where it was cut, the last character may not be whole.
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
