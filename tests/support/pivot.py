"""Statements with nasty terms, and tables of them, made with dicts and lists."""

from __future__ import annotations

import datetime
import itertools
from collections import defaultdict
from typing import Any

from hypothesis import strategies as st

from jelly import IRI, BlankNode, Literal, QuotedTriple, Triple
from support.typed_values import COLUMNS, FORMS, XSD, value

__all__ = ["ROWS", "TYPE", "parts", "pivot", "text", "typed"]

TYPE = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
RDF_LANG = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
PREDICATES = [
    IRI(iri)
    for iri in ("a:name", "b:Name", "b/name", "a:name_lang", "a:name_kind", "a:subject", "a:con", "a:é b", "a:", "a:9")
]
QUOTED = QuotedTriple(IRI("a:1"), IRI("a:p"), Literal('"', language="en"))
SUBJECTS = [IRI("a:1"), IRI("a:2"), IRI("a:10"), BlankNode("b"), QUOTED, IRI("é:\U0001f600")]
NODES = [*SUBJECTS, IRI("b:A"), IRI("b:B")]
DATATYPES = [XSD + name for name in (*COLUMNS, "string", "time")]
LITERALS = st.one_of(
    st.builds(Literal, st.sampled_from(FORMS), datatype=st.sampled_from(DATATYPES)),
    st.builds(Literal, st.text(max_size=4), language=st.sampled_from(["en", "de-AT"])),
    st.builds(Literal, st.sampled_from(["x", ""]), language=st.just("ar"), direction=st.sampled_from(["ltr", "rtl"])),
)  # fmt: skip
ROWS = st.lists(
    st.builds(Triple, st.sampled_from(SUBJECTS), st.sampled_from(PREDICATES), st.sampled_from(NODES) | LITERALS)
    | st.builds(Triple, st.sampled_from(SUBJECTS), st.just(TYPE), st.sampled_from(NODES)),
    max_size=25,
)  # fmt: skip


def text(term: Any) -> str:
    return f"_:{term.value}" if isinstance(term, BlankNode) else term.value


def parts(term: Any) -> tuple[str, str, str | None, str | None]:
    """Text, kind, datatype (None for xsd:string) and language of an object."""
    if not isinstance(term, Literal):
        kind = {IRI: "iri", BlankNode: "bnode", QuotedTriple: "triple"}[type(term)]
        return text(term), kind, None, None
    if term.language is not None:
        return term.value, "literal", None, term.language + (f"--{term.direction}" if term.direction else "")
    datatype = term.datatype.value
    return term.value, "literal", None if datatype == f"{XSD}string" else datatype, None


def typed(terms: list[Any]) -> dict[Any, Any] | None:
    """The values of literals where one type holds them all."""
    datatypes = {term.datatype.value if isinstance(term, Literal) and term.language is None else "" for term in terms}
    if len(datatypes) > 1 or (name := datatypes.pop().removeprefix(XSD)) not in COLUMNS:
        return None
    values = {term: value(term.value, name) for term in terms}
    zones = {each.tzinfo is None for each in values.values() if isinstance(each, datetime.datetime)}
    return None if None in values.values() or len(zones) > 1 else values


def pivot(statements: list[Any], wanted: Any = None, as_values: bool = True) -> tuple[list[str], dict[Any, Any]]:
    """The subjects in order; and by predicate and part, what each of them has, with dicts and lists."""
    table: Any = defaultdict(lambda: defaultdict(set))
    for s, p, o in statements:
        table[s][p].add(o)
    subjects = [s for s in sorted(table) if wanted is None or wanted in table[s].get(TYPE, ())]
    columns = {}
    for predicate in {p for s in subjects for p in table[s]}:
        terms = [sorted(table[s].get(predicate, ())) for s in subjects]
        every = list(itertools.chain(*terms))
        values = typed(every) if as_values else None
        is_list = max(map(len, terms)) > 1

        def column(make: Any, terms: Any = terms, is_list: bool = is_list) -> list[Any]:
            made = [[make(term) for term in some] for some in terms]
            return [(some or None) if is_list else next(iter(some), None) for some in made]

        columns[predicate.value, "object"] = column((values or {}).get if values else text)
        kinds = {parts(term)[1] for term in every}
        datatypes = {
            parts(term)[2] or (RDF_LANG if parts(term)[3] else "") for term in every if isinstance(term, Literal)
        }
        if len(kinds) > 1:
            columns[predicate.value, "kind"] = column(lambda term: parts(term)[1])
        if len(datatypes) > 1 and datatypes != {RDF_LANG, ""}:
            columns[predicate.value, "datatype"] = column(lambda term: parts(term)[2])
        if any(parts(term)[3] for term in every):
            columns[predicate.value, "lang"] = column(lambda term: parts(term)[3])
    return [text(subject) for subject in subjects], columns
