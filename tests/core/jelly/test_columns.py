"""Jelly-RDF 1.2: the decoder of columns, on the vectors of both numberings."""

import json

import pytest
from support.oracle import plain, read_text
from support.shared import shared

import jelly

FOLDER = shared("jelly-1.2")
CASES = {case["name"]: case for case in json.loads((FOLDER / "s" / "manifest.json").read_text())["cases"]}
ACCEPTED = [name for name, case in CASES.items() if case["expect"] == "accept"]
REJECTED = [name for name, case in CASES.items() if case["expect"] == "reject"]


def data_of(numbering, name):
    return (FOLDER / numbering / CASES[name]["jelly"]).read_bytes()


def expected(name):
    return [x if len(x) == 4 else (*x, None) for x in read_text(FOLDER / "s" / CASES[name]["nq"])]


def with_direction(term):
    """As `plain`, with the base direction behind the language tag, which the oracle has too."""
    if isinstance(term, jelly.Literal) and term.direction:
        return ("literal", term.value, f"{term.language}--{term.direction}", None)
    if isinstance(term, jelly.QuotedTriple):
        return ("triple", *map(with_direction, term))
    return plain(term)


def plain_quads(batches):
    found = [tuple(map(with_direction, statement)) for batch in batches for statement in batch]
    return [x if len(x) == 4 else (*x, None) for x in found]


def batches_of(data, chunk=None, **settings):
    decoder = jelly.Decoder(**settings)
    found = []
    for at in range(0, len(data), chunk or max(len(data), 1)):
        found += decoder.feed(data[at : at + (chunk or len(data))])
    return decoder, found + list(decoder.close())


@pytest.mark.parametrize("numbering", "sp")
@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(numbering, name):
    case = CASES[name]
    decoder, batches = batches_of(data_of(numbering, name))
    for batch in batches:
        batch.check()
    assert plain_quads(batches) == expected(name)
    found = decoder.options
    assert found.version == 3
    assert found.physical_type.name == case["statement_type"]
    assert found.is_grouped == (case["stream_type"] == "MESSAGES")
    last = case["options"][-1]
    assert {field: getattr(found, field) for field in last if hasattr(found, field)} == {
        field: value for field, value in last.items() if hasattr(found, field)
    }
    namespaces = [[name, iri, batch.first_row + row] for batch in batches for row, _, name, iri in batch.namespaces]
    assert namespaces == case["namespaces"]


@pytest.mark.parametrize("numbering", "sp")
@pytest.mark.parametrize("name", REJECTED)
def test_rejected(numbering, name):
    case = CASES[name]
    with pytest.raises(jelly.JellyError) as caught:
        batches_of(data_of(numbering, name))
    assert caught.value.frame == case["frame"]
    assert caught.value.offset is not None
