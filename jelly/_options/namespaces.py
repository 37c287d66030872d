"""Prefixes that nearly everybody uses in the same sense."""

from __future__ import annotations

__all__ = ["KNOWN"]

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
