"""The formats of patches by name, suffix and media type."""

from __future__ import annotations

from dataclasses import dataclass

from jelly._formats.registry import JELLY, NQ, THRIFT
from jelly._io.source import split_suffix
from jelly.errors import JellyError

__all__ = ["PATCH_FORMATS", "PATCH_READING", "PatchFormat", "find_patch_format"]


@dataclass(frozen=True)
class PatchFormat:
    """A format of patches.

    Attributes
    ----------
    name : str
        Name for ``format=``.
    suffixes : tuple of str
        Suffixes of files, with the dot.
    media_types : tuple of str
        Media types.
    title : str
        Name for people.
    """

    name: str
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...]
    title: str

    @property
    def reading(self) -> frozenset[str]:
        """The keywords that reading it has, besides those that all formats of patches have."""
        return _READING[self.name]


JELLYP = PatchFormat("jellyp", (".jellyp",), ("application/x-jelly-rdf-patch",), "Jelly-Patch")
RDFP = PatchFormat("rdfp", (".rdfp",), ("application/rdf-patch", "text/rdf-patch"), "RDF Patch")
TRP = PatchFormat("trp", (".trp",), ("application/rdf-patch+thrift",), "RDF Patch Thrift")

PATCH_FORMATS = {format.name: format for format in (JELLYP, RDFP, TRP)}

_READING = {
    "jellyp": JELLY.reading,
    "rdfp": NQ.reading | {"strict", "on_error"},
    "trp": THRIFT.reading - {"quads"},
}
# The keywords of `PatchReader`, for all formats.
PATCH_READING = frozenset({"format", "delimited"}).union(*_READING.values())


def find_patch_format(format: str | None, name: str = "") -> PatchFormat:
    """The format called ``format`` (name, suffix, media type), or else that of the file ``name``, or else Jelly-Patch.

    >>> find_patch_format(None, "monday.rdfp.gz").title, find_patch_format(None).name
    ('RDF Patch', 'jellyp')
    """
    wanted = format.partition(";")[0].strip().lower() if format else split_suffix(name)[0]
    if not wanted:
        return JELLYP
    for known in PATCH_FORMATS.values():
        if wanted in (known.name, *known.suffixes, *known.media_types):
            return known
    what = f"unknown format {format!r}" if format else f"unknown suffix {wanted!r} of {name}"
    raise JellyError(f"{what}: expected one of {', '.join(PATCH_FORMATS)}; pass format=...")
