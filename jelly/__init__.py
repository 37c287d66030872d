"""RDF in and out of Python and Spark at wire speed."""

from jelly._version import __version__
from jelly.core.batch import Batch
from jelly.core.decoder import Decoder
from jelly.core.encoder import Encoder
from jelly.core.model import IRI, BlankNode, DefaultGraph, Literal, Quad, QuotedTriple, Triple
from jelly.errors import (
    JellyError,
    JellyFormatError,
    JellyLimitError,
    JellyOptionsError,
    JellySyntaxError,
    JellyTruncatedError,
    JellyUnsupportedError,
    MissingExtraError,
)
from jelly.options import LogicalType, PhysicalType, StreamOptions
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

__all__ = [
    "IRI",
    "Batch",
    "BlankNode",
    "Decoder",
    "DefaultGraph",
    "Encoder",
    "Frame",
    "JellyError",
    "JellyFile",
    "JellyFormatError",
    "JellyLimitError",
    "JellyOptionsError",
    "JellySyntaxError",
    "JellyTruncatedError",
    "JellyUnsupportedError",
    "Literal",
    "LogicalType",
    "MissingExtraError",
    "PhysicalType",
    "Quad",
    "QuotedTriple",
    "Reader",
    "StreamOptions",
    "Triple",
    "Writer",
    "__version__",
    "dumps",
    "loads",
    "open",
    "options",
    "read",
    "read_batches",
    "read_frames",
    "write",
]
