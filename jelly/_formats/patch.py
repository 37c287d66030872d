"""The readers and writers of patches: see `jelly._formats.registry.Format.codec`."""

from __future__ import annotations

from typing import Any, Literal

from jelly._core.jelly.decoder import Decoder
from jelly._core.jena.reader import BinaryReader
from jelly._core.jena.writer import BinaryWriter
from jelly._core.ntriples.text import TextReader, TextWriter
from jelly._formats.native import StreamEncoder
from jelly._formats.protocols import BatchReader, BatchWriter, Framing
from jelly._formats.registry import JELLY_PATCH, RDF_PATCH, Format
from jelly._options.options import PatchOptions
from jelly.errors import JellyOptionsError

__all__ = ["open_reader", "open_writer"]


def open_reader(format: Format, *, delimited: bool | None, **settings: Any) -> BatchReader:
    """Make a reader of a format of patches."""
    if format is JELLY_PATCH:
        return Decoder(patch=True, delimited=delimited, **settings)
    if format is RDF_PATCH:
        return TextReader(patch=True, quads=True, **settings)
    return BinaryReader("thrift", patch=True, **settings)


def open_writer(
    format: Format,
    options: PatchOptions,
    *,
    framing: Framing,
    marked_bnodes: bool,
    quoted: Literal["rdf-1.2", "rdf-star"],
) -> BatchWriter:
    """The writer of a format of patches. JellyOptionsError for what the format does not have."""
    if format is not JELLY_PATCH and framing["keyframe_rows"]:
        raise JellyOptionsError(f"{format.title} has no keyframes: only Jelly-Patch can be seekable")
    if format is not RDF_PATCH and quoted != "rdf-1.2":
        raise JellyOptionsError(f"quoted={quoted!r} does not go with {format.title}, only with RDF Patch")
    if format is JELLY_PATCH:
        return StreamEncoder(options, **framing)
    if format is RDF_PATCH:
        return TextWriter(quads=True, patch=True, marked=marked_bnodes, quoted=quoted)
    return BinaryWriter("thrift", patch=True)
