"""Read and write RDF in Jelly, N-Triples, Turtle and other formats, at high speed."""

import importlib
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

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
    QuotedTriple,
    Variable,
)
from jelly._core.terms.statements import Quad, Triple
from jelly._dataset.read import read
from jelly._options.options import LogicalType, PhysicalType, StreamOptions
from jelly._public import name_public
from jelly._streams.reader import Frame, Reader, loads, read_options
from jelly._streams.writer import Writer, dumps
from jelly._version import __version__
from jelly.errors import (
    QUERIES,
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
    LateError,
    MissingExtraError,
    lacking,
    need,
)

if TYPE_CHECKING:
    from jelly._core.algebra.graph_ids import GraphDictionary
    from jelly._dataset.append import append
    from jelly._dataset.conditions.pattern import Datatype, IRIPrefix, LanguageRange, Pattern
    from jelly._dataset.dataset import Dataset
    from jelly._dataset.ids.graph_ids import GraphIds
    from jelly._dataset.output import Conversion
    from jelly._dataset.scan import convert, find, scan, wide
    from jelly._dataset.seekable.file import JellyFile
    from jelly._dataset.seekable.file import open as open
    from jelly._dataset.seekable.sidecar import index
    from jelly._dataset.split import Part
    from jelly._dataset.subset import subset
    from jelly._dataset.write import write
    from jelly._options.keywords import ReadOptions, WriteOptions
    from jelly._tools.canonicalize import Canonical, canonicalize
    from jelly._tools.check import Problem
    from jelly._tools.describe import ClassPartition, Description, GraphDescription, PropertyPartition, describe
    from jelly._tools.inspect import FrameInspection, Inspection, count, inspect
    from jelly._tools.validate import validate
    from jelly.arrow import read_arrow, write_arrow
    from jelly.rdflib._query.answer import query

# What a part of a statement can be, for annotations: each has a value, its text.
Term: TypeAlias = IRI | BlankNode | Literal | QuotedTriple | Variable | DefaultGraph

# Without open, which `from jelly import *` would put in the place of that of Python.
__all__ = [
    "ANY",
    "IRI",
    "AnyTerm",
    "Batch",
    "BlankNode",
    "Canonical",
    "ClassPartition",
    "Conversion",
    "Dataset",
    "Datatype",
    "Decoder",
    "DefaultGraph",
    "Description",
    "Encoder",
    "Frame",
    "FrameInspection",
    "GraphDescription",
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
    "LanguageRange",
    "LateError",
    "Literal",
    "LogicalType",
    "MissingExtraError",
    "Part",
    "Pattern",
    "PhysicalType",
    "Problem",
    "PropertyPartition",
    "Quad",
    "QuotedTriple",
    "ReadOptions",
    "Reader",
    "StreamOptions",
    "Term",
    "Triple",
    "Variable",
    "WriteOptions",
    "Writer",
    "__version__",
    "append",
    "canonicalize",
    "convert",
    "count",
    "describe",
    "dumps",
    "find",
    "index",
    "inspect",
    "loads",
    "query",
    "read",
    "read_arrow",
    "read_options",
    "scan",
    "subset",
    "validate",
    "wide",
    "write",
    "write_arrow",
]

name_public(__name__, __all__, globals())


# These names are imported when they are first used.
_LAZY = {
    name: module
    for module, names in {
        "jelly._core.algebra.graph_ids": "GraphDictionary",
        "jelly._dataset.append": "append",
        "jelly._dataset.conditions.pattern": "Datatype IRIPrefix LanguageRange Pattern",
        "jelly._dataset.dataset": "Dataset",
        "jelly._dataset.ids.graph_ids": "GraphIds",
        "jelly._dataset.output": "Conversion",
        "jelly._dataset.scan": "convert find scan wide",
        "jelly._dataset.seekable.file": "JellyFile open",
        "jelly._dataset.seekable.sidecar": "index",
        "jelly._dataset.split": "Part",
        "jelly._dataset.subset": "subset",
        "jelly._dataset.write": "write",
        "jelly._options.keywords": "ReadOptions WriteOptions",
        "jelly._tools.canonicalize": "Canonical canonicalize",
        "jelly._tools.check": "Problem",
        "jelly._tools.describe": "ClassPartition Description GraphDescription PropertyPartition describe",
        "jelly._tools.inspect": "FrameInspection Inspection count inspect",
        "jelly._tools.validate": "validate",
        "jelly.arrow": "read_arrow write_arrow",
        "jelly.rdflib._query.answer": "query",
    }.items()
    for name in names.split()
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
        try:
            with need(*QUERIES) if name == "query" else nullcontext():
                found = getattr(importlib.import_module(module), name)
        except MissingExtraError as error:
            return lacking(name, error)  # not remembered: the extra may be installed later
        name_public(__name__, [name], {name: found})
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted([*__all__, "open"])
