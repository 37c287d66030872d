"""RDF/XML with one message per line (RDF Messages, section 2.4)."""

from __future__ import annotations

from itertools import groupby

from jelly._core.base.constants import RDF
from jelly._core.rules.capabilities import capabilities_of, element_name
from jelly.messages._serializers import BNODE, IRI, LANG, TYPED, Encoder, Row, Rows

# Line ends are written as references: what is read would else be another character, or another line of the log.
_ESCAPES = {ord(letter): f"&#{ord(letter)};" for letter in "\t\n\r\x85\u2028"} | str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
)


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)


class XmlEncoder(Encoder):
    """RDF/XML documents, each on one line."""

    capabilities = capabilities_of("log-rdf")

    def message(self, rows: Rows, frame: list[Row]) -> str:
        names: dict[str, str] = {RDF: "rdf"}
        body = "".join(
            f"<rdf:Description {self._node(rows, s, 'about')}>"
            + "".join([self._property(rows, row, names) for row in group])
            + "</rdf:Description>"
            for s, group in groupby(frame, lambda row: row[0])
        )
        declared = "".join(f' xmlns:{name}="{_escaped(iri)}"' for iri, name in names.items())
        head = f'<?xml version="1.0" encoding="utf-8"?><rdf:RDF{declared}'
        return f"{head}>{body}</rdf:RDF>\n" if body else f"{head}/>\n"

    def _node(self, rows: Rows, term: int, attribute: str) -> str:
        if rows.kind[term] == BNODE:
            return f'rdf:nodeID="{rows.text(term)}"'
        return f'rdf:{attribute}="{_escaped(rows.text(term))}"'

    def _property(self, rows: Rows, row: Row, names: dict[str, str]) -> str:
        _, p, o, _ = row
        iri = rows.text(p)
        local = element_name(iri)
        name = f"{names.setdefault(iri[: len(iri) - len(local)], f'n{len(names)}')}:{local}"
        kind = rows.kind[o]
        if kind in (IRI, BNODE):
            return f"<{name} {self._node(rows, o, 'resource')}/>"
        attribute = ""
        if kind == TYPED:
            attribute = f' rdf:datatype="{_escaped(rows.text(rows.aux[o]))}"'
        elif kind == LANG:
            attribute = f' xml:lang="{rows.text(rows.aux[o])}"'
        return f"<{name}{attribute}>{_escaped(rows.text(o))}</{name}>"
