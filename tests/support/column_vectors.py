"""The vectors of Jelly-RDF 1.2, and how tests read streams of it."""

from __future__ import annotations

import json

import jelly
from support.oracle import plain, read_text
from support.shared import shared

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


def outcome(data, chunk=None, **settings):
    """The statements and frames that are read, and the class of the error behind them."""
    decoder = jelly.Decoder(**settings)
    batches, error = [], None
    try:
        for at in range(0, len(data), chunk or max(len(data), 1)):
            for batch in decoder.feed(data[at : at + (chunk or len(data))]):
                batches.append(batch)
        batches += decoder.close()
    except jelly.JellyError as caught:
        error = caught
    ends = [batch.first_row + end for batch in batches for end in batch.frames.tolist()]
    return plain_quads(batches), ends, error
