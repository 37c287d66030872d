"""Patches: changes of RDF datasets in Jelly-Patch and RDF Patch, read, written, made and applied.

>>> from jelly.patch import apply, compact, diff, invert
>>> import io, jelly
>>> monday, tuesday = b'<a:s> <a:p> "1" .', b'<a:s> <a:p> "2" .'
>>> patch = diff(monday, tuesday, format="nt")
>>> out = io.BytesIO()
>>> apply(patch, monday, out, format="nt", to_format="nt")
Applied(added=1, deleted=1, missing=0)
>>> out.getvalue()
b'<a:s> <a:p> "2" .\\n'
"""

from jelly.core.operations import (
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
from jelly.options import PatchOptions, PatchStreamType, StatementType
from jelly.patch.changes import compact, diff, invert, write_diff
from jelly.patch.formats import PATCH_FORMATS
from jelly.patch.log import read_log
from jelly.patch.seek import PatchFile, open
from jelly.patch.stream import Patch, PatchReader, PatchWriter, convert, dumps, loads, read_patches
from jelly.patch.tables import read_arrow, write_arrow
from jelly.patch.targets import Applied, apply

__all__ = [
    "PATCH_FORMATS",
    "Abort",
    "Add",
    "AddNamespace",
    "Applied",
    "Commit",
    "Delete",
    "DeleteNamespace",
    "Header",
    "Operation",
    "Patch",
    "PatchFile",
    "PatchOptions",
    "PatchReader",
    "PatchStreamType",
    "PatchWriter",
    "Start",
    "StatementType",
    "apply",
    "compact",
    "convert",
    "diff",
    "dumps",
    "invert",
    "loads",
    "open",
    "read_arrow",
    "read_log",
    "read_patches",
    "write_arrow",
    "write_diff",
]
