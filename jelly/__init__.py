"""RDF in and out of Python and Spark at wire speed."""

from typing import Any

from jelly._core.base.batch import Batch
from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.encoder import Encoder
from jelly._core.terms.model import IRI, BlankNode, DefaultGraph, Literal, Quad, QuotedTriple, Triple
from jelly._io.reader import (
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
from jelly._options import LogicalType, PhysicalType, StreamOptions
from jelly._public import name_public
from jelly._seekable.file import JellyFile, open
from jelly._tools.canonicalize import Canonical, canonicalize
from jelly._tools.convert import Conversion, convert
from jelly._tools.inspect import FrameInspection, Inspection, inspect
from jelly._tools.validate import Problem, validate
from jelly._version import __version__
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
from jelly.results import read_results, write_results

__all__ = [
    "IRI",
    "Batch",
    "BlankNode",
    "Canonical",
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
    "canonicalize",
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

name_public(__name__, __all__, globals())


def __getattr__(name: str) -> Any:
    # These import pyarrow, which takes its time and need not be there.
    if name in ("read_arrow", "write_arrow"):
        from jelly import arrow

        return getattr(arrow, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
