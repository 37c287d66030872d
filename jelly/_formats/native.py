"""Codec of the formats of the compiled core: see `jelly._formats.registry.Format.codec`."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.encoder import Encoder
from jelly._core.ntriples.text import TextReader, TextWriter
from jelly._formats.protocols import Framing
from jelly._formats.registry import JELLY, Format
from jelly._options import LogicalType, PhysicalType, StreamOptions
from jelly._seekable.index import INDEX_KEY, pack_index
from jelly.errors import JellyOptionsError

__all__ = ["StreamEncoder", "default_options", "open_reader", "open_writer"]


@cache
def default_options(arity: int) -> StreamOptions:
    """The default options: flat triples or quads."""
    return StreamOptions(
        physical_type=PhysicalType.TRIPLES if arity == 3 else PhysicalType.QUADS,
        logical_type=LogicalType.FLAT_TRIPLES if arity == 3 else LogicalType.FLAT_QUADS,
    )


def open_reader(
    format: Format,
    *,
    delimited: bool | None,
    strict: bool,
    on_error: Literal["raise", "skip"],
    **settings: Any,
) -> Decoder | TextReader:
    """Make a reader of Jelly, N-Triples or N-Quads."""
    if format is JELLY:
        return Decoder(delimited=delimited, strict=strict, **settings)
    return TextReader(quads=format.quads, strict=strict, on_error=on_error, **settings)


def open_writer(
    format: Format,
    options: StreamOptions | None,
    arity: int,
    *,
    framing: Framing,
    keep_labels: bool,
    quoted: Literal["rdf-1.2", "rdf-star"] = "rdf-1.2",
) -> StreamEncoder | TextWriter:
    """Make a writer of Jelly, N-Triples or N-Quads. Text has neither frames nor stream options.

    ``quoted`` is a keyword of `jelly._core.ntriples.text.TextWriter`, for text.
    """
    if format is not JELLY:
        return TextWriter(quads=format.quads, keep_labels=keep_labels, quoted=quoted)
    if quoted != "rdf-1.2":
        raise JellyOptionsError(f"quoted={quoted!r} is not for Jelly, only for N-Triples and N-Quads")
    return StreamEncoder(options or default_options(arity), **framing)


class StreamEncoder(Encoder):
    """An Encoder that writes keyframes and ends the stream with their index."""

    def close(self, metadata: dict[str, bytes] | None = None) -> bytes:
        """End the stream: the remaining frames, with the index."""
        if not self.keyframe_rows:
            return super().close(metadata)
        self.finish()
        keys = [key for key in self.keyframes if key[0] < self.n_bytes]
        index = pack_index(self.options, keys, self.last_frame, self.statements, self.frames, self.place)
        return super().close({INDEX_KEY: index})
