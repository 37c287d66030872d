"""Read and write RDF in Jelly, N-Triples, Turtle and other formats, at high speed."""

import importlib
from typing import TYPE_CHECKING, Any

from jelly import _start as _start  # before all others
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
from jelly._dataset.read import read, read_batches, read_frames
from jelly._options.options import LogicalType, PhysicalType, StreamOptions
from jelly._public import name_public
from jelly._streams.reader import Frame, Reader, loads, options
from jelly._streams.writer import Writer, dumps, write
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
    LateError,
    MissingExtraError,
    OptionsWarning,
)

if TYPE_CHECKING:
    from jelly._core.algebra.graph_ids import GraphDictionary
    from jelly._dataset.append import append
    from jelly._dataset.asynchronous import AsyncReader, aread
    from jelly._dataset.concat import concat
    from jelly._dataset.convert import Conversion, convert
    from jelly._dataset.file import JellyFile
    from jelly._dataset.file import open as open
    from jelly._dataset.filter import filter as filter
    from jelly._dataset.find import find
    from jelly._dataset.id_tables import write_ids
    from jelly._dataset.ids import GraphIds, read_ids
    from jelly._dataset.lazy import Scan, scan
    from jelly._dataset.matches import Matches
    from jelly._dataset.pattern import Datatype, IRIPrefix, LanguageRange, Pattern
    from jelly._dataset.sample import sample
    from jelly._dataset.sort import merge, sort
    from jelly._dataset.split import Part, split
    from jelly._dataset.unique import unique
    from jelly._options.keywords import ReadOptions, WriteOptions
    from jelly._tools.canonicalize import Canonical, canonicalize
    from jelly._tools.check import Problem
    from jelly._tools.inspect import FrameInspection, Inspection, inspect
    from jelly._tools.validate import validate
    from jelly.arrow import read_arrow, write_arrow
    from jelly.results import read_results, write_results

# Without open and filter, which `from jelly import *` would put in the place of those of Python.
__all__ = [
    "ANY",
    "IRI",
    "AnyTerm",
    "AsyncReader",
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
    "LateError",
    "Literal",
    "LogicalType",
    "Matches",
    "MissingExtraError",
    "OptionsWarning",
    "Part",
    "Pattern",
    "PhysicalType",
    "Problem",
    "Quad",
    "QuotedTriple",
    "ReadOptions",
    "Reader",
    "Scan",
    "StreamOptions",
    "Triple",
    "Variable",
    "WriteOptions",
    "Writer",
    "__version__",
    "append",
    "aread",
    "canonicalize",
    "concat",
    "convert",
    "dumps",
    "find",
    "inspect",
    "loads",
    "merge",
    "options",
    "read",
    "read_arrow",
    "read_batches",
    "read_frames",
    "read_ids",
    "read_results",
    "sample",
    "scan",
    "sort",
    "split",
    "unique",
    "validate",
    "write",
    "write_arrow",
    "write_ids",
    "write_results",
]

name_public(__name__, __all__, globals())


# These names are imported when they are first used. read_arrow and write_arrow also need pyarrow.
_LAZY = {
    "AsyncReader": "jelly._dataset.asynchronous",
    "Canonical": "jelly._tools.canonicalize",
    "Conversion": "jelly._dataset.convert",
    "Datatype": "jelly._dataset.pattern",
    "FrameInspection": "jelly._tools.inspect",
    "GraphDictionary": "jelly._core.algebra.graph_ids",
    "GraphIds": "jelly._dataset.ids",
    "IRIPrefix": "jelly._dataset.pattern",
    "Inspection": "jelly._tools.inspect",
    "JellyFile": "jelly._dataset.file",
    "LanguageRange": "jelly._dataset.pattern",
    "Matches": "jelly._dataset.find",
    "Part": "jelly._dataset.split",
    "Pattern": "jelly._dataset.pattern",
    "Problem": "jelly._tools.check",
    "ReadOptions": "jelly._options.keywords",
    "Scan": "jelly._dataset.lazy",
    "WriteOptions": "jelly._options.keywords",
    "append": "jelly._dataset.append",
    "aread": "jelly._dataset.asynchronous",
    "canonicalize": "jelly._tools.canonicalize",
    "concat": "jelly._dataset.concat",
    "convert": "jelly._dataset.convert",
    "filter": "jelly._dataset.filter",
    "find": "jelly._dataset.find",
    "inspect": "jelly._tools.inspect",
    "merge": "jelly._dataset.sort",
    "open": "jelly._dataset.file",
    "read_arrow": "jelly.arrow",
    "read_ids": "jelly._dataset.ids",
    "read_results": "jelly.results",
    "sample": "jelly._dataset.sample",
    "scan": "jelly._dataset.lazy",
    "sort": "jelly._dataset.sort",
    "split": "jelly._dataset.split",
    "unique": "jelly._dataset.unique",
    "validate": "jelly._tools.validate",
    "write_arrow": "jelly.arrow",
    "write_ids": "jelly._dataset.id_tables",
    "write_results": "jelly.results",
}
# So are the public modules. dir() leaves them out: help() would import them all, with what they need.
_MODULES = frozenset({
    "arrow", "grpc", "kafka", "messages", "oxigraph", "patch", "plot", "polars", "rdflib", "results", "spark",
    "stats",
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
    return sorted({*globals(), *__all__, *_LAZY})
