"""Patches, that is changes of RDF datasets, in Jelly-Patch and RDF Patch: read, write, make and apply them.

>>> from jelly.patch import apply, compact, diff, invert
>>> import io, jelly
>>> monday, tuesday = b'<a:s> <a:p> "1" .', b'<a:s> <a:p> "2" .'
>>> patch = diff(monday, tuesday, format="nt")
>>> out = io.BytesIO()
>>> apply(patch, monday, out, format="nt", to="nt")
Applied(added=1, deleted=1, missing=0)
>>> out.getvalue()
b'<a:s> <a:p> "2" .\\n'
"""

from jelly._core.terms.operations import (
    Abort,
    Add,
    AddNamespace,
    Commit,
    Delete,
    DeleteNamespace,
    Header,
    Operation,
    Start,
)
from jelly._options.options import PatchOptions, PatchStreamType, StatementType
from jelly._public import name_public
from jelly.patch._apply import Applied as Applied
from jelly.patch._apply import apply
from jelly.patch._changes import compact, invert
from jelly.patch._diff import DiffStat as DiffStat
from jelly.patch._diff import diff, diff_stat
from jelly.patch._log import read_log
from jelly.patch._patch import Patch
from jelly.patch._stream import PatchFile as PatchFile
from jelly.patch._stream import PatchReader, PatchWriter, dumps, loads, read_patches

__all__ = [
    "Abort",
    "Add",
    "AddNamespace",
    "Commit",
    "Delete",
    "DeleteNamespace",
    "Header",
    "Operation",
    "Patch",
    "PatchOptions",
    "PatchReader",
    "PatchStreamType",
    "PatchWriter",
    "Start",
    "StatementType",
    "apply",
    "compact",
    "diff",
    "diff_stat",
    "dumps",
    "invert",
    "loads",
    "read_log",
    "read_patches",
]

name_public(__name__, __all__, globals())
