"""Read and write RDF in Jelly, N-Triples, Turtle and other formats, at high speed."""

import importlib
from typing import TYPE_CHECKING, Any

from jelly._core.base.batch import Batch
from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.encoder import Encoder
from jelly._core.terms.model import (
    ANY,
    IRI,
    AnyTerm,
    BlankNode,
    DefaultGraph,
    Literal,
    Quad,
    QuotedTriple,
    Triple,
    Variable,
)
from jelly._io.reader import Frame, Reader, loads, options, read, read_batches, read_frames
from jelly._io.writer import Writer, dumps, write
from jelly._options import LogicalType, PhysicalType, StreamOptions
from jelly._public import name_public
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
    OptionsWarning,
)

if TYPE_CHECKING:
    from jelly._core.algebra.graph_ids import GraphDictionary
    from jelly._find.dataset import Scan, scan
    from jelly._find.find import Matches, find
    from jelly._find.pattern import Datatype, IRIPrefix, LanguageRange, Pattern
    from jelly._ids.ids import GraphIds, read_ids
    from jelly._ids.tables import write_ids
    from jelly._seekable.file import JellyFile, open
    from jelly._tools.canonicalize import Canonical, canonicalize
    from jelly._tools.convert import Conversion, convert
    from jelly._tools.inspect import FrameInspection, Inspection, inspect
    from jelly._tools.validate import Problem, validate
    from jelly.arrow import read_arrow, write_arrow
    from jelly.results import read_results, write_results

__all__ = [
    "ANY",
    "IRI",
    "AnyTerm",
    "Batch",
    "BlankNode",
    "Canonical",
    "Conversion",
    "Datatype",
    "Decoder",
    "DefaultGraph",
    "Encoder",
    "Frame",
    "FrameInspection",
    "GraphDictionary",
    "GraphIds",
    "IRIPrefix",
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
    "LanguageRange",
    "Literal",
    "LogicalType",
    "Matches",
    "MissingExtraError",
    "OptionsWarning",
    "Pattern",
    "PhysicalType",
    "Problem",
    "Quad",
    "QuotedTriple",
    "Reader",
    "Scan",
    "StreamOptions",
    "Triple",
    "Variable",
    "Writer",
    "__version__",
    "canonicalize",
    "convert",
    "dumps",
    "find",
    "inspect",
    "loads",
    "open",
    "options",
    "read",
    "read_arrow",
    "read_batches",
    "read_frames",
    "read_ids",
    "read_results",
    "scan",
    "validate",
    "write",
    "write_arrow",
    "write_ids",
    "write_results",
]

name_public(__name__, __all__, globals())


# These names are imported when they are first used. read_arrow and write_arrow also need pyarrow.
_LAZY = {
    "Canonical": "jelly._tools.canonicalize",
    "Conversion": "jelly._tools.convert",
    "Datatype": "jelly._find.pattern",
    "FrameInspection": "jelly._tools.inspect",
    "GraphDictionary": "jelly._core.algebra.graph_ids",
    "GraphIds": "jelly._ids.ids",
    "IRIPrefix": "jelly._find.pattern",
    "Inspection": "jelly._tools.inspect",
    "JellyFile": "jelly._seekable.file",
    "LanguageRange": "jelly._find.pattern",
    "Matches": "jelly._find.find",
    "Pattern": "jelly._find.pattern",
    "Problem": "jelly._tools.validate",
    "Scan": "jelly._find.dataset",
    "canonicalize": "jelly._tools.canonicalize",
    "convert": "jelly._tools.convert",
    "find": "jelly._find.find",
    "inspect": "jelly._tools.inspect",
    "open": "jelly._seekable.file",
    "read_arrow": "jelly.arrow",
    "read_ids": "jelly._ids.ids",
    "read_results": "jelly.results",
    "scan": "jelly._find.dataset",
    "validate": "jelly._tools.validate",
    "write_arrow": "jelly.arrow",
    "write_ids": "jelly._ids.tables",
    "write_results": "jelly.results",
}
# So are the public modules. dir() leaves them out: help() would import them all, with what they need.
_MODULES = frozenset({
    "arrow", "grpc", "kafka", "messages", "oxigraph", "patch", "plot", "polars", "rdflib", "results", "spark", "stats",
})  # fmt: skip


if not TYPE_CHECKING:  # or type checkers would take every name for one of the module

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        module = _LAZY.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(module), name)
        name_public(__name__, [name], {name: found})
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
