"""RDF in and out of Python and Spark at wire speed."""

from typing import Any

from jelly._version import __version__
from jelly.convert import Conversion, convert
from jelly.core.batch import Batch
from jelly.core.decoder import Decoder
from jelly.core.encoder import Encoder
from jelly.core.model import IRI, BlankNode, DefaultGraph, Literal, Quad, QuotedTriple, Triple
from jelly.errors import (
    JellyArgumentError,
    JellyError,
    JellyFormatError,
    JellyLimitError,
    JellyOptionsError,
    JellyServiceError,
    JellySyntaxError,
    JellyTimeoutError,
    JellyTruncatedError,
    JellyUnsupportedError,
    JellyWarning,
    JoinedWarning,
    MissingExtraError,
)
from jelly.inspect import FrameInspection, Inspection, inspect
from jelly.options import LogicalType, PhysicalType, StreamOptions
from jelly.results import read_results, write_results
from jelly.seek import JellyFile, open
from jelly.stream import (
    Frame,
    Reader,
    Writer,
    dumps,
    loads,
    options,
    read,
    read_batches,
    read_frames,
    write,
)
from jelly.validate import Problem, validate

__all__ = [
    "IRI",
    "Batch",
    "BlankNode",
    "Conversion",
    "Decoder",
    "DefaultGraph",
    "Encoder",
    "Frame",
    "FrameInspection",
    "Inspection",
    "JellyArgumentError",
    "JellyError",
    "JellyFile",
    "JellyFormatError",
    "JellyLimitError",
    "JellyOptionsError",
    "JellyServiceError",
    "JellySyntaxError",
    "JellyTimeoutError",
    "JellyTruncatedError",
    "JellyUnsupportedError",
    "JellyWarning",
    "JoinedWarning",
    "Literal",
    "LogicalType",
    "MissingExtraError",
    "PhysicalType",
    "Problem",
    "Quad",
    "QuotedTriple",
    "Reader",
    "StreamOptions",
    "Triple",
    "Writer",
    "__version__",
    "convert",
    "dumps",
    "inspect",
    "loads",
    "open",
    "options",
    "read",
    "read_arrow",
    "read_batches",
    "read_frames",
    "read_results",
    "validate",
    "write",
    "write_arrow",
    "write_results",
]


def __getattr__(name: str) -> Any:
    # These import pyarrow, which takes its time and need not be there.
    if name in ("read_arrow", "write_arrow"):
        from jelly import arrow

        return getattr(arrow, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
