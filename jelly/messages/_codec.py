"""Codec of message logs: see `jelly._formats.registry.Format.codec`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from jelly._core.jelly.encoder import Encoder
from jelly._core.ntriples.text import TextWriter
from jelly._formats.registry import JELLY_LOG, NDJSON_LD, NQ_LOG, NT_LOG, TAR_LOG, TRIG, TURTLE, YAML_LD, Format
from jelly._options.settings import LIMITS
from jelly.errors import need
from jelly.messages._logs import JellyLog, TextLog
from jelly.messages._media import Dialect
from jelly.messages._serializers import JsonEncoder, TextEncoder, XmlEncoder, YamlEncoder
from jelly.messages._tar import TarEncoder, TarLog


def open_reader(
    format: Format,
    *,
    dialect: Any,
    announced: bool,
    max_expansion: int,
    max_message_bytes: int = LIMITS["max_message_bytes"],
    **settings: Any,
) -> JellyLog | TextLog:
    """Make a reader of a log. ``dialect`` may also be ``"either"``: the document decides."""
    if format is JELLY_LOG:
        return JellyLog(max_frame_bytes=max_message_bytes, **settings)
    settings["max_message_bytes"] = max_message_bytes
    if format in (NT_LOG, NQ_LOG):
        settings |= {"quads": format.quads, "max_line_bytes": max_message_bytes, "announced": announced}
        return TextLog(messages=dialect or "directive", **settings)
    if format is TAR_LOG:
        return TarLog(max_expansion=max_expansion, **settings)
    # The others need pyoxigraph.
    if format.delimited:
        from jelly.messages._turtle import TurtleLog

        return TurtleLog(format=TRIG if format.quads else TURTLE, dialect=dialect, announced=announced, **settings)
    with need("messages", "YAML-LD needs PyYAML and pyoxigraph") if format is YAML_LD else nullcontext():
        from jelly.messages._document_logs import NdjsonLog, XmlLog, YamlLog

    if format is NDJSON_LD:
        return NdjsonLog(dialect=dialect, **settings)
    return YamlLog(**settings) if format is YAML_LD else XmlLog(**settings)


def open_writer(
    format: Format,
    options: Any,
    *,
    dialect: Dialect,
    members: str | None,
    frame_rows: int = 0,
) -> Any:
    """Make an encoder of a log. In Jelly a message is a frame; with ``frame_rows`` and version 3 some messages are."""
    if format is JELLY_LOG:
        return Encoder(options, frame_rows=frame_rows, frame_bytes=0)
    if format is TAR_LOG:
        return TarEncoder(members)
    if format in (NT_LOG, NQ_LOG):
        return TextEncoder(TextWriter(quads=format.quads), dialect)
    if format.delimited:
        from jelly._formats.syntaxes import SyntaxWriter

        return TextEncoder(SyntaxWriter(TRIG if format.quads else TURTLE), dialect)
    return {"ndjsonld": JsonEncoder, "yamlld": YamlEncoder, "rdf": XmlEncoder}[format.name]()
