"""RDF/XML with one message per line (RDF Messages, section 2.4)."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import Any

from jelly._core.base.constants import RDF, XSD_STRING_IRI
from jelly._core.rules.capabilities import capabilities_of, element_name
from jelly._core.terms.model import BlankNode, Literal
from jelly.messages._serializers import Encoder

# Line ends are written as references: what is read would else be another character, or another line of the log.
_ESCAPES = {ord(letter): f"&#{ord(letter)};" for letter in "\t\n\r\x85\u2028"} | str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
)


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)


class XmlEncoder(Encoder):
    """RDF/XML documents, each on one line."""

    capabilities = capabilities_of("log-rdf")

    def message(self, statements: list[Any]) -> str:
        names: dict[str, str] = {RDF: "rdf"}
        body = "".join(
            f"<rdf:Description {_node(s, 'about')}>"
            + "".join([_property(p.value, o, names) for _, p, o, *_ in group])
            + "</rdf:Description>"
            for s, group in groupby(statements, itemgetter(0))
        )
        declared = "".join(f' xmlns:{name}="{_escaped(iri)}"' for iri, name in names.items())
        head = f'<?xml version="1.0" encoding="utf-8"?><rdf:RDF{declared}'
        return f"{head}>{body}</rdf:RDF>\n" if body else f"{head}/>\n"


def _node(node: Any, attribute: str) -> str:
    if isinstance(node, BlankNode):
        return f'rdf:nodeID="{node.value}"'
    return f'rdf:{attribute}="{_escaped(node.value)}"'


def _property(iri: str, o: Any, names: dict[str, str]) -> str:
    local = element_name(iri)
    name = f"{names.setdefault(iri[: len(iri) - len(local)], f'n{len(names)}')}:{local}"
    if not isinstance(o, Literal):
        return f"<{name} {_node(o, 'resource')}/>"
    attribute = ""
    if o.language is not None:
        attribute = f' xml:lang="{o.language}"'
    elif (datatype := o.datatype.value) != XSD_STRING_IRI:
        attribute = f' rdf:datatype="{_escaped(datatype)}"'
    return f"<{name}{attribute}>{_escaped(o.value)}</{name}>"
