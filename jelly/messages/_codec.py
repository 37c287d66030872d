"""Codec of message logs: see `jelly._formats.registry.Format.codec`."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from jelly._bytes.sink import SinkWriter
from jelly._core.base.batch import Batch
from jelly._core.jelly.encoder import Encoder
from jelly._core.ntriples.text import TextWriter
from jelly._formats.registry import JELLY_LOG, NDJSON_LD, NQ_LOG, NT_LOG, TAR_LOG, TRIG, TURTLE, YAML_LD, Format
from jelly._options.options import COLUMN_VERSION, LogicalType, StreamOptions
from jelly._options.settings import LIMITS
from jelly._streams.widening import WideningEncoder, open_fields
from jelly.errors import JellyOptionsError
from jelly.messages._logs import JellyLog, Log, TextLog
from jelly.messages._media import Dialect
from jelly.messages._serializers import JsonEncoder, TextEncoder, YamlEncoder
from jelly.messages._tar import TarEncoder, TarLog
from jelly.messages._writer import log_options
from jelly.messages._xml import XmlEncoder

__all__ = ["open_reader", "open_writer"]

# Statements after which a frame of columns ends, with the message.
COLUMN_ROWS = 1 << 14


def open_reader(
    format: Format,
    *,
    dialect: Any,
    announced: bool,
    max_expansion: int,
    max_message_bytes: int = LIMITS["max_message_bytes"],
    **settings: Any,
) -> Log:
    """Make a reader of a log. ``dialect`` may also be ``"either"``: the document decides."""
    if format is JELLY_LOG:
        return JellyLog(max_frame_bytes=max_message_bytes, **settings)
    settings["max_message_bytes"] = max_message_bytes
    if format in (NT_LOG, NQ_LOG):
        delimiter = dialect or "directive"
        settings |= {"quads": format.quads, "max_line_bytes": max_message_bytes}
        return TextLog(messages=delimiter, announced=announced, **settings)
    if format is TAR_LOG:
        return TarLog(max_expansion=max_expansion, **settings)
    # The others need pyoxigraph.
    if format.delimited:
        from jelly.messages._turtle import TurtleLog

        return TurtleLog(format=TRIG if format.quads else TURTLE, dialect=dialect, announced=announced, **settings)
    from jelly.messages._document_logs import NdjsonLog, XmlLog, YamlLog

    if format is NDJSON_LD:
        return NdjsonLog(dialect=dialect, **settings)
    return YamlLog(**settings) if format is YAML_LD else XmlLog(**settings)


def open_writer(
    format: Format,
    options: StreamOptions | Mapping[str, Any] | None,
    *,
    dialect: Dialect,
    members: str | None,
    writer: SinkWriter | None = None,
) -> Any:
    """Make an encoder of a log. ``writer`` is the one to start again where Jelly needs wider options."""
    if format is JELLY_LOG:
        kind = LogicalType.DATASETS if options is None else log_options(options, 4).logical_type
        if not kind.is_grouped:
            raise JellyOptionsError(f"the logical type of a message log is GRAPHS or DATASETS, not {kind.name}")
        return _JellyEncoder(options, writer)
    if format is TAR_LOG:
        return TarEncoder(members)
    if format in (NT_LOG, NQ_LOG):
        return TextEncoder(TextWriter(quads=format.quads), dialect)
    if format.delimited:
        from jelly._formats.syntaxes import SyntaxWriter

        return TextEncoder(SyntaxWriter(TRIG if format.quads else TURTLE), dialect)
    return {"ndjsonld": JsonEncoder, "yamlld": YamlEncoder, "rdf": XmlEncoder}[format.name]()


class _JellyEncoder:
    """Jelly: a message is a frame, or in version 3 some messages are.

    A log of no messages is a file of no bytes: the shortest stream has a frame.
    """

    def __init__(self, options: StreamOptions | Mapping[str, Any] | None, writer: SinkWriter | None = None) -> None:
        self._given = options
        self._writer = None if writer is None else weakref.ref(writer)  # which holds this
        self._encoder: WideningEncoder | None = None

    def encode(self, batch: Batch) -> bytes:
        if self._encoder is None:
            options = log_options(self._given, batch.arity)
            allowed = open_fields(self._given)
            allowed = allowed if isinstance(self._given, StreamOptions) else allowed - {"physical_type"}
            writer = None if self._writer is None else self._writer()
            live = writer is None or writer._sink.is_live
            if not options.version and live:
                options = options.replace(version=2)  # namespaces may come late
            # In columns (version 3) a frame may have several messages, but those of a live stream do not wait.
            rows = COLUMN_ROWS if options.version == COLUMN_VERSION and not live else 0
            self._encoder = WideningEncoder(
                options, lambda options: Encoder(options, frame_rows=rows, frame_bytes=0), allowed, writer
            )
        return self._encoder.encode(batch, True)

    def close(self) -> bytes:
        return b"" if self._encoder is None else self._encoder.close()
