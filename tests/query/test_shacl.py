"""Validation by shapes: the reports of pySHACL for all statements."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyshacl
import pytest
import rdflib
from support.shared import shared

import jelly
import jelly.rdflib

PREFIXES = """
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix s: <https://schema.org/> . @prefix : <x:> .
@prefix b: <http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/> . @prefix rev: <http://purl.org/stuff/rev#> .
@prefix dc: <http://purl.org/dc/elements/1.1/> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix dbo: <http://dbpedia.org/ontology/> . @prefix obo: <http://www.geneontology.org/formats/oboInOwl#> .
@prefix f: <http://rdf.freebase.com/film/film/> . @prefix p: <http://rdf.freebase.com/film/performance/> .
@prefix ns: <http://rdf.freebase.com/ns/> .
"""
# Data, and shapes that some of it meets: paths, nested shapes, classes, inverse paths, lists, comparisons.
CASES = {
    "bsbm": ("bsbm100/bsbm-100.nt.gz", """
        :offer a sh:NodeShape ; sh:targetNode <http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/instances/dataFromVendor1/Offer1>,
            <http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/instances/dataFromVendor1/Offer7> ;
          sh:property [ sh:path b:product ; sh:minCount 1 ; sh:class b:Product ; sh:node :product ] ;
          sh:property [ sh:path b:price ; sh:datatype xsd:string ] ;
          sh:property [ sh:path (b:product rdfs:label) ; sh:maxLength 5 ] .
        :product sh:property [ sh:path b:productPropertyNumeric1 ; sh:minInclusive 900 ] ;
          sh:property [ sh:path [ sh:inversePath b:reviewFor ] ; sh:maxCount 3 ] ."""),
    "cells": ("cell-ontology/cl-eye-slim.nt.gz", """
        :class a sh:NodeShape ; sh:targetNode <http://purl.obolibrary.org/obo/CL_0000000>,
            <http://purl.obolibrary.org/obo/CL_0000540> ;
          sh:property [ sh:path [ sh:zeroOrMorePath rdfs:subClassOf ] ; sh:nodeKind sh:IRI ; sh:maxCount 2 ] ;
          sh:or ( [ sh:property [ sh:path obo:hasDbXref ; sh:minCount 9 ] ] [ sh:property [ sh:path rdfs:comment ;
            sh:minCount 1 ] ] ) .
        :property sh:targetClass owl:ObjectProperty ; sh:property [ sh:path rdfs:label ; sh:minCount 2 ] ."""),
    "dbpedia": ("dbpedia-ontology/dbpedia-ontology.nt.gz", """
        :p sh:targetSubjectsOf owl:disjointWith ; sh:targetNode dbo:birthDate, dbo:length, dbo:spouse ;
          sh:property [ sh:path rdfs:domain ; sh:class owl:Class ;
            sh:property [ sh:path rdfs:label ; sh:uniqueLang true ; sh:languageIn ("en" "de") ] ] ;
          sh:not [ sh:property [ sh:path rdfs:range ; sh:hasValue xsd:double ] ] .
        :c sh:targetClass rdfs:Datatype ; sh:property [ sh:path rdfs:comment ; sh:maxCount 1 ;
            sh:disjoint rdfs:label ] ."""),
    "schema": ("schemaorg/schemaorg-all-https.nt.gz", """
        s:Thing a rdfs:Class, sh:NodeShape ; sh:property [ sh:path rdfs:label ; sh:minCount 2 ] .
        :closed sh:targetClass s:MedicalSpecialty ; sh:closed true ; sh:ignoredProperties ( rdf:type ) ;
          sh:property [ sh:path rdfs:label ] ; sh:property [ sh:path rdfs:subClassOf ; sh:class rdfs:Class ] .
        :o sh:targetObjectsOf s:supersededBy ; sh:qualifiedValueShape [ sh:nodeKind sh:Literal ] ;
          sh:property [ sh:path s:domainIncludes ; sh:qualifiedMinCount 1 ; sh:qualifiedValueShape
            [ sh:property [ sh:path rdfs:subClassOf ; sh:hasValue s:Thing ] ] ] ."""),
    "movies": ("movies/30kmovies.nt.gz", """
        :film sh:targetNode <http://rdf.freebase.com/en/casablanca_1942>, <x:none> ;
          sh:targetNode <http://rdf.freebase.com/en/amorina> ;
          sh:property [ sh:path ns:name ; sh:minCount 1 ; sh:pattern "^A" ] ;
          sh:property [ sh:path ( f:starring p:actor ) ; sh:maxCount 3 ; sh:node :actor ] .
        :actor sh:property [ sh:path [ sh:inversePath p:actor ] ; sh:maxCount 20 ] ."""),
}  # fmt: skip
SPARQL = """
    :any sh:targetNode <x:a> ; sh:sparql [ sh:message "no" ; sh:select
      "SELECT $this WHERE { $this <x:p> ?value . ?other <x:q> ?value }" ] ."""


def report(graph: rdflib.Graph) -> Counter[Any]:
    """The results, and all statements, without the names of blank nodes."""
    found = Counter(tuple("_" if isinstance(term, rdflib.BNode) else term for term in triple) for triple in graph)
    for result in graph.subjects(rdflib.RDF.type, rdflib.SH.ValidationResult):
        pairs = graph.predicate_objects(result)
        found[frozenset((p, "_" if isinstance(o, rdflib.BNode) else o) for p, o in pairs)] += 1
    return found


def both(data: Any, shapes: str, **options: Any) -> tuple[bool, Counter[Any], bool, Counter[Any]]:
    wanted = rdflib.Graph().parse(data=PREFIXES + shapes, format="turtle")
    whole = rdflib.Graph()
    for row in jelly.rdflib.read(data, **options):
        whole.add(row[:3])
    conforms, results, _ = pyshacl.validate(whole, shacl_graph=wanted, inplace=True)
    ours = jelly.rdflib.validate(data, wanted, **options)
    return conforms, report(results), ours[0], report(ours[1])


@pytest.mark.parametrize("name", CASES)
def test_report_is_that_of_all_statements(name: str) -> None:
    file, shapes = CASES[name]
    conforms, results, ours, found = both(shared("data") / file, shapes)
    assert not conforms
    assert (ours, found) == (conforms, results)


def test_sparql_may_ask_for_any_statement() -> None:
    data = b"<x:a> <x:p> <x:b> .\n<x:c> <x:q> <x:b> .\n"
    conforms, results, ours, found = both(data, SPARQL, format="nt")
    assert not conforms
    assert (ours, found) == (conforms, results)


@pytest.mark.parametrize(
    "shapes",
    [
        # A class that has constraints is a shape of its instances (SHACL, section 2.1.3.3).
        ":C a rdfs:Class ; sh:property [ sh:path :q ; sh:minCount 1 ] .",
        # Shapes of values that have no paths, and yet ask for statements of them.
        ":s sh:targetNode :a ; sh:property [ sh:path :p ; sh:node [ sh:closed true ] ] .",
        ":s sh:targetNode :a ; sh:property [ sh:path :p ; sh:node [ sh:equals :q ] ] .",
        ":s sh:targetNode :a ; sh:property [ sh:path :p ; sh:not [ sh:disjoint :r ] ] .",
    ],
)
def test_shapes_that_say_little(shapes: str) -> None:
    data = b"<x:a> <x:p> <x:b> .\n<x:b> <x:q> <x:a> .\n<x:a> <%s> <x:C> .\n" % str(rdflib.RDF.type).encode()
    conforms, results, ours, found = both(data, shapes, format="nt")
    assert not conforms
    assert (ours, found) == (conforms, results)


@pytest.mark.parametrize(
    "shapes",
    [
        # A class of classes of the shapes graph.
        ":Kind rdfs:subClassOf rdfs:Class . :C a :Kind, sh:NodeShape ; sh:property [ sh:path :q ; sh:minCount 1 ] .",
        # A path that is a list and something else is the list.
        ":s a sh:PropertyShape ; sh:targetNode :a ; sh:class :C ; sh:path [ rdf:first :p ; rdf:rest ( :q ) ; "
        "sh:inversePath :p ] .",
        # Values of one path that must not have the shape of those of another one.
        ":s sh:targetNode :a ; sh:property [ sh:path ( :p :q :r ) ; sh:qualifiedValueShape [ sh:nodeKind sh:IRI ] ; "
        "sh:qualifiedMinCount 1 ; sh:qualifiedValueShapesDisjoint true ] , [ sh:path :p ; sh:qualifiedMinCount 0 ; "
        "sh:qualifiedValueShape [ sh:property [ sh:path :p ; sh:minCount 1 ] ] ] .",
    ],
)
def test_shapes_that_reach_further(shapes: str) -> None:
    data = "<x:a> <x:p> <x:b> ; <x:s> <x:b> ; a <x:C> . <x:b> <x:q> <x:c> . <x:c> <x:r> <x:d> . <x:d> <x:p> <x:a> ."
    conforms, results, ours, found = both(data.encode(), shapes, format="ttl")
    assert not conforms
    assert (ours, found) == (conforms, results)


def test_true_may_be_written_as_a_number() -> None:
    """RDFLib writes it otherwise where it parses shapes; a Jelly file has what was written."""
    text = PREFIXES + ':s sh:targetNode :a ; sh:closed "1"^^xsd:boolean ; sh:property [ sh:path :p ] .'
    shapes = jelly.dumps(list(jelly.read(text.encode(), format="ttl")))
    assert not jelly.rdflib.validate(b"<x:a> <x:q> <x:b> .", shapes, format="nt")[0]


def test_what_can_be_read_once_is_refused() -> None:
    with pytest.raises(jelly.JellyArgumentError, match="several times"):
        jelly.rdflib.validate(iter([b"<x:a> <x:b> <x:c> ."]), b"", format="nt")
