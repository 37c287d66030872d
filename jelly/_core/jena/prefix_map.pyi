"""Prefixes of RDF Binary, found by prefix when reading and by namespace when writing."""

from typing_extensions import Self, disjoint_base

@disjoint_base
class _Prefixes:
    """A table of its own."""
    def __new__(cls, limit: int = 1000) -> Self: ...
    def set(self, name: bytes, iri: bytes) -> None: ...
    def find(self, name: bytes) -> bytes | None:
        """The namespace of a name, or None."""
    def shorten(self, iri: bytes) -> bytes | None:
        """The name of the prefix for an IRI, or None."""
