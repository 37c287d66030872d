"""RDF/XML, a message a line (RDF Messages, section 2.4)."""

from __future__ import annotations

import re
from itertools import groupby
from string import ascii_letters

from jelly.errors import JellyFormatError, JellyUnsupportedError
from jelly.messages.textual import BNODE, IRI, LANG, RDF, TRIPLE, TYPED, Encoder, Row, Rows

__all__ = ["XmlEncoder"]

# The name at the end of an IRI, after XML Namespaces 1.0; letters beyond ASCII are left to the namespace.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*\Z")
_NO_BEGIN = "0123456789.-"
_NAME_CHARS = f"{ascii_letters}_{_NO_BEGIN}"
# RDF/XML, section 7.2.4: these have a meaning of their own.
_RESERVED = frozenset(
    [
        "RDF",
        "ID",
        "about",
        "parseType",
        "resource",
        "nodeID",
        "datatype",
        "li",
        "Description",
        "aboutEach",
        "aboutEachPrefix",
        "bagID",
    ]
)
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
# Line ends are written as references: what is read would else be another character, or another line of the log.
_ESCAPES = {ord(letter): f"&#{ord(letter)};" for letter in "\t\n\r\x85\u2028"} | str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
)


def _escaped(text: str) -> str:
    if (found := _FORBIDDEN.search(text)) is not None:
        raise JellyFormatError(f"XML cannot hold the character U+{ord(found[0]):04X}")
    return text.translate(_ESCAPES)


class XmlEncoder(Encoder):
    """RDF/XML documents, each on one line."""

    def message(self, rows: Rows, frame: list[Row], i: int) -> str:
        names: dict[str, str] = {RDF: "rdf"}
        labels: dict[str, str] = {}
        body = "".join(
            f"<rdf:Description {self._node(rows, s, labels, 'about')}>"
            + "".join([self._property(rows, row, names, labels) for row in group])
            + "</rdf:Description>"
            for s, group in groupby(frame, lambda row: row[0])
        )
        declared = "".join(f' xmlns:{name}="{_escaped(iri)}"' for iri, name in names.items())
        head = f'<?xml version="1.0" encoding="utf-8"?><rdf:RDF{declared}'
        return f"{head}>{body}</rdf:RDF>\n" if body else f"{head}/>\n"

    def _node(self, rows: Rows, term: int, labels: dict[str, str], attribute: str) -> str:
        kind = rows.kind[term]
        if kind == IRI:
            return f'rdf:{attribute}="{_escaped(rows.absolute(term, "RDF/XML"))}"'
        if kind == BNODE:
            return f'rdf:nodeID="{_label(rows.text(term), labels)}"'
        raise JellyUnsupportedError("RDF/XML has neither quoted triples nor literals as subjects")

    def _property(self, rows: Rows, row: Row, names: dict[str, str], labels: dict[str, str]) -> str:
        _, p, o, g = row
        if g >= 0:
            raise JellyUnsupportedError("a quad in a named graph cannot be written as RDF/XML")
        if rows.kind[p] != IRI:
            raise JellyUnsupportedError("RDF/XML has IRIs as predicates only")
        iri = rows.absolute(p, "RDF/XML")
        # The longest end that is a name. (A search would look at each end of the IRI up to its end.)
        local = iri[len(iri.rstrip(_NAME_CHARS)) :].lstrip(_NO_BEGIN)
        space = iri[: len(iri) - len(local)]
        if not local or (space == RDF and local in _RESERVED):
            raise JellyUnsupportedError(f"the predicate <{iri}> has no name that an element of RDF/XML could have")
        name = f"{names.setdefault(space, f'n{len(names)}')}:{local}"
        kind = rows.kind[o]
        if kind in (IRI, BNODE, TRIPLE):
            return f"<{name} {self._node(rows, o, labels, 'resource')}/>"
        attribute = ""
        if kind == TYPED:
            attribute = f' rdf:datatype="{_escaped(rows.absolute(rows.aux[o], "RDF/XML"))}"'
        elif kind == LANG:
            tag = rows.text(rows.aux[o])
            if "--" in tag:
                raise JellyUnsupportedError("the base direction of a string cannot be written as RDF/XML")
            attribute = f' xml:lang="{tag}"'
        return f"<{name}{attribute}>{_escaped(rows.text(o))}</{name}>"


def _label(label: str, labels: dict[str, str]) -> str:
    """The label as a name of XML. Where it is none another one is made, that no label of the message has: a name of
    ASCII never holds the middle dot as its second character unless it is made here."""
    if label not in labels:
        labels[label] = label if _NAME.match(label) else f"b\u00b7{len(labels)}"
    return labels[label]
