"""Prefixes that nearly everybody uses in the same sense, and what the names of IRIs have."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Namespaces by prefix. schema.org is written with either scheme.
KNOWN: dict[str, tuple[str, ...]] = {
    "rdf": ("http://www.w3.org/1999/02/22-rdf-syntax-ns#",),
    "rdfs": ("http://www.w3.org/2000/01/rdf-schema#",),
    "xsd": ("http://www.w3.org/2001/XMLSchema#",),
    "owl": ("http://www.w3.org/2002/07/owl#",),
    "skos": ("http://www.w3.org/2004/02/skos/core#",),
    "dc": ("http://purl.org/dc/elements/1.1/",),
    "dcterms": ("http://purl.org/dc/terms/",),
    "foaf": ("http://xmlns.com/foaf/0.1/",),
    "prov": ("http://www.w3.org/ns/prov#",),
    "sosa": ("http://www.w3.org/ns/sosa/",),
    "schema": ("https://schema.org/", "http://schema.org/"),
}


# How an IRI begins, and no other term.
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")


def is_absolute(name: str) -> bool:
    """Whether a name is that of an IRI with a scheme.

    >>> is_absolute("a:b"), is_absolute("b"), is_absolute("_:b")
    (True, False, False)
    """
    return _SCHEME.match(name) is not None


def shortened(name: str, namespaces: Mapping[str, str]) -> str:
    """An IRI as ``prefix:name`` by these namespaces or well-known ones, or its last segment, or all but its scheme.

    >>> shortened("http://www.w3.org/2002/07/owl#Class", {}), shortened("http://e.example/a/b#c", {})
    ('owl:Class', 'c')
    """
    known = KNOWN | {prefix: (iri,) for prefix, iri in namespaces.items()}
    pairs = [(prefix, iri) for prefix, iris in known.items() for iri in iris]
    found = [(len(iri), f"{prefix}:{name[len(iri) :]}") for prefix, iri in pairs if name.startswith(iri)]
    # A prefix that leaves half a path, or nothing, is not useful.
    found = [(n, label) for n, label in found if n and name[n:] and not re.search(r"[/#]", name[n:])]
    if found:
        return max(found)[1]
    address = re.match(r"\w[\w+.-]*://(?:www\.)?(.*)", name)
    if address is None:
        return name
    last = re.split(r"[/#]", address[1])[-1]
    # An IRI that ends like a namespace is shown completely.
    return last or address[1]
