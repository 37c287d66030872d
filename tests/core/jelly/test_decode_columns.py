"""Jelly-RDF 1.2: the decoder of columns, on the vectors of both numberings."""

import os

import pytest
from support.column_oracle import Oracle, Refused
from support.column_vectors import ACCEPTED, CASES, REJECTED, batches_of, data_of, expected, outcome, plain_quads
from support.craft import varint
from support.wirefields import fields, split, take_varint

import jelly

LONG = bool(os.environ.get("JELLY_LONG"))
# What is refused though no rule says so.
BEYOND = ("a literal has an empty language tag", "the stream does not start with")


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


# ---- chunks, cuts and flips


def judged(data):
    """What the oracle reads, or None where it refuses the data."""
    try:
        return Oracle(data)
    except Refused:
        return None


@pytest.mark.parametrize("numbering", "sp")
@pytest.mark.parametrize("name", CASES)
def test_chunks(numbering, name):
    data = data_of(numbering, name)
    whole = outcome(data)
    for chunk in (1, 2, 7) if LONG or len(data) < 2000 else (7,):
        found = outcome(data, chunk)
        assert found[:2] == whole[:2]
        assert str(found[2]) == str(whole[2])
    # Batches of a few rows say the same; in a frame that is broken they may come further.
    few = outcome(data, batch_rows=3)
    assert few[0][: len(whole[0])] == whole[0]
    assert len(few[0]) == len(whole[0]) or whole[2] is not None
    assert str(few[2])[:40] == str(whole[2])[:40]


@pytest.mark.parametrize("numbering", "sp")
@pytest.mark.parametrize("name", ACCEPTED)
def test_cuts(numbering, name):
    """A stream that ends anywhere gives the frames before, or an error; nothing else."""
    data = data_of(numbering, name)
    whole, ends, at = expected(name), {0}, 0
    while at < len(data):
        size, at = take_varint(data, at)
        at += size
        ends.add(at)
    for end in range(0, len(data), 1 if LONG else max(1, len(data) // 40)):
        if LONG and end % 50 and end not in ends:
            with pytest.raises(jelly.JellyError):
                batches_of(data[:end])
            continue
        statements, _, error = outcome(data[:end])
        assert statements == whole[: len(statements)]
        assert (end in ends and end > 0) == (error is None)


@pytest.mark.parametrize("numbering", "sp")
@pytest.mark.parametrize("name", CASES)
def test_flips(numbering, name):
    """A stream with a byte changed is read as the oracle reads it, or refused by both."""
    data = data_of(numbering, name)
    step = 1 if LONG else max(1, len(data) // 12)
    for at in range(sum(map(ord, name)) % step, len(data), step):
        for value in (0xFF, 0x01, 0x80) if LONG else (0xFF,):
            damaged = data[:at] + bytes([data[at] ^ value]) + data[at + 1 :]
            statements, _, error = outcome(damaged)
            oracle = judged(damaged)
            if error is None:
                assert oracle is not None, at
                assert statements == oracle.statements, at
            elif oracle is not None:
                # Limits, and what is refused beyond the rules.
                assert isinstance(error, jelly.JellyLimitError) or str(error).startswith(BEYOND), (at, error)


# ---- numbers that are malformed, though as many as there should be end

ENDLESS = b"\x80" * 10 + b"\x01"


def replaced(message, path, value):
    """A message in which the field that ``path`` leads to has other bytes; one more if it is missing."""
    number, *inner = path
    found, out = False, b""
    for field, content in fields(message):
        if field == number and isinstance(content, bytes):
            found, content = True, replaced(content, inner, value) if inner else value
        out += put_field(field, content)
    return out if found or inner else out + put_field(number, value)


def put_field(number, content):
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


@pytest.mark.parametrize(
    ("path", "value"),
    [((9, 2), ENDLESS + b"\x05"), ((9, 2), b"\x0f" + ENDLESS), ((8, 8), ENDLESS), ((8, 8), ENDLESS + b"\x01")],
    ids=["layout", "rest of a layout", "direction", "two directions"],
)
def test_malformed_numbers_are_refused(path, value):
    ends = sum(byte < 0x80 for byte in value)
    tags = ["ar", "en"][:ends] * 10
    quads = [
        jelly.Quad(jelly.IRI(f"a:{i}"), jelly.IRI("a:p"), jelly.Literal("x", language=tag), jelly.IRI("a:g"))
        for i, tag in enumerate(tags)
    ]
    options = jelly.StreamOptions(physical_type=2, version=3, rdf_version="1.2", numbering="P")
    [body] = split(jelly.dumps(quads, options))
    [number] = [field for field, content in fields(body) if field != 1]
    for good in (body, replaced(body, [number, 8, 8], bytes(ends))):
        assert list(jelly.read(varint(len(good)) + good)) == quads
    bad = replaced(body, [number, *path], value)
    with pytest.raises(jelly.JellyFormatError, match="malformed"):
        list(jelly.read(varint(len(bad)) + bad))
