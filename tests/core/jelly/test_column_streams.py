"""Jelly-RDF 1.2: streams of a plain writer beside the oracle, states, bare frames, bombs, threads."""

from __future__ import annotations

import io
import os
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chance import examples
from support.column_oracle import Oracle, classes
from support.column_vectors import ACCEPTED, batches_of, data_of, expected, outcome, plain_quads
from support.column_writer import Writer, write
from support.wirefields import split

import jelly
import jelly.messages
from jelly.errors import JellyLimitError

LONG = bool(os.environ.get("JELLY_LONG"))

IRIS = st.builds(
    lambda space, name: ("iri", f"http://{space}.example/{name}"),
    st.sampled_from(["a", "b", "c#d", "é"]),
    st.one_of(st.sampled_from(["", "x", "y"]), st.integers(0, 60).map(str)),
)
BNODES = st.sampled_from(["b", "c", "d1"]).map(lambda label: ("bnode", label))
LITERALS = st.one_of(
    st.text("aé😀\n", max_size=20).map(lambda lex: ("literal", lex, None, None)),
    st.builds(
        lambda lex, tag: ("literal", lex, tag, None),
        st.text(max_size=5),
        st.sampled_from(["en", "de-AT", "ar--rtl", "en--ltr"]),
    ),
    st.builds(lambda lex, n: ("literal", lex, None, f"http://t.example/{n}"), st.text(max_size=5), st.integers(0, 2)),
)
TRIPLES = st.recursive(
    st.tuples(st.just("triple"), st.one_of(IRIS, BNODES), IRIS, st.one_of(IRIS, BNODES, LITERALS)),
    lambda inner: st.tuples(st.just("triple"), st.one_of(IRIS, BNODES), IRIS, inner),
    max_leaves=3,
)
OBJECTS = st.one_of(IRIS, BNODES, LITERALS, TRIPLES)
# Rows that repeat, so that there are runs of all lengths.
ROWS = st.lists(
    st.tuples(
        st.one_of(IRIS, BNODES),
        IRIS,
        OBJECTS,
        st.one_of(st.none(), IRIS, BNODES),
        st.sampled_from([1, 1, 2, 3, 17, 40]),
    ),
    max_size=30,
).map(lambda rows: [row[:4] for row in rows for _ in range(row[4])])


@examples(60)
@given(data=st.data())
def test_streams_beside_the_oracle(data):
    quads, messages = data.draw(st.booleans()), data.draw(st.booleans())
    writer = Writer(
        quads=quads,
        numbering=data.draw(st.sampled_from("SP")),
        messages=messages,
        sizes=data.draw(st.sampled_from([(128, 0, 16), (128, 4, 3), (4000, 150, 32)])),
        rows=data.draw(st.sampled_from([1, 5, 64, 100_000])),
    )
    for _ in range(data.draw(st.integers(1, 3))):
        rows = [row if quads else row[:3] for row in data.draw(ROWS)]
        if data.draw(st.booleans()):
            writer.restate()
        length = data.draw(st.integers(0, min(2, len(rows))))
        writer.write(rows, [0, length, 0] if messages and len(rows) <= writer.rows else [])
    stream = b"".join(writer.out)
    oracle = Oracle(stream)
    sizes = data.draw(st.sampled_from([1, 3, 100, 32768]))
    chunk = data.draw(st.sampled_from([None, 1, 50]))
    decoder, batches = batches_of(stream, chunk, batch_rows=sizes)
    assert all(len(batch) <= sizes for batch in batches)
    assert plain_quads(batches) == oracle.statements
    for batch in batches:
        batch.check()
    ends = [batch.first_row + end for batch in batches for end in batch.frames.tolist()]
    if oracle.messages is None:
        assert ends == oracle.ends
    else:
        assert [end - start for start, end in zip([0, *ends], ends, strict=False)] == oracle.messages
    assert decoder.options.version == 3


@pytest.mark.parametrize("numbering", "sp")
@pytest.mark.parametrize(
    "name", ["mixed-04-odd", "mixed-08-odd", "tables-tiny", "restated-other", "messages-over-frames"]
)
def test_a_saved_state_goes_on(numbering, name):
    data, whole = data_of(numbering, name), expected(name)
    at = found = 0
    for body in split(data):
        at = data.index(body, at) + len(body)
        first = jelly.Decoder()
        batches = list(first.feed(data[:at]))
        second = jelly.Decoder(
            delimited=True, options=first.options, state=first.save(), first_row=first.statements, offset=at
        )
        rest = [*second.feed(data[at:]), *second.close()]
        assert plain_quads(batches + rest) == whole
        found += 1
    assert found > 1


@pytest.mark.parametrize("numbering", "sp")
@pytest.mark.parametrize("name", [name for name in ACCEPTED if name != "long-run"])
def test_a_bare_frame(numbering, name):
    (body, *others) = split(data_of(numbering, name))
    if not others:
        statements, ends, error = outcome(body)
        assert error is None
        assert statements == expected(name)
        assert outcome(body, 1) == (statements, ends, None)


def test_bare_frames_that_begin_with_columns_or_metadata():
    (body,) = split(write([(("iri", "a:s"), ("iri", "a:p"), ("bnode", "o"))], quads=False))
    frame = classes()["Frame"].FromString(body)
    options, columns = (classes()["Frame"]() for _ in range(2))
    options.rows.extend(frame.rows)
    columns.columns.CopyFrom(frame.columns)
    metadata = classes()["Frame"](metadata={"k": b"v"})
    options, columns, metadata = (part.SerializeToString() for part in (options, columns, metadata))
    for body in (options + columns, columns + options, metadata + options + columns, columns + metadata + options):
        for delimited in (b"", bytes([len(body)])):
            assert len(outcome(delimited + body)[0]) == 1, body


# ---- bombs


def bomb(rows, **fields):
    """A frame of `rows` equal rows, which takes some 100 bytes."""
    x = ("iri", "a:x")
    frame = classes()["Frame"].FromString(split(write([(x, x, x)] * 20, quads=False))[0])
    c = frame.columns
    c.row_count = rows
    for column in (c.subjects, c.predicates, c.objects):
        column.layouts[:] = [15, rows - 17]
    for field, value in fields.items():
        getattr(c, field).extend(value)
    data = frame.SerializeToString()
    return bytes([len(data)]) + data


def test_a_frame_that_claims_very_many_rows():
    with pytest.raises(JellyLimitError, match="of 134217727 rows is above the limit of 16777216; raise max_frame_rows"):
        batches_of(bomb((1 << 27) - 1))
    with pytest.raises(jelly.JellyFormatError, match="a frame has 134217728 rows"):
        batches_of(bomb(1 << 27), max_frame_rows=1 << 40)
    assert [len(batch) for batch in batches_of(bomb(1000), max_frame_rows=1000)[1]] == [1000]
    with pytest.raises(JellyLimitError, match="a frame of 1001 rows is above the limit of 1000"):
        batches_of(bomb(1001), max_frame_rows=1000)


@pytest.mark.bounded
def test_a_frame_of_many_rows_comes_in_batches_of_the_usual_size():
    decoder = jelly.Decoder()
    rows = 3_000_000
    tracemalloc.start()
    decoder.push(bomb(rows))
    found = 0
    while (batch := decoder.pull()) is not None:
        assert len(batch) == 32768
        assert batch.nbytes < 1_000_000
        assert len(batch.kind) <= 3
        found += len(batch)
    assert decoder.statements == found >= rows - 32768
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_messages_of_no_rows_fill_batches():
    frame = classes()["Frame"].FromString(split(write([], quads=False, messages=True))[0])
    frame.columns.f15.extend([0] * 100_000)
    data = frame.SerializeToString()
    batches = batches_of(data, batch_rows=1000, delimited=False)[1]
    assert [len(batch.frames) for batch in batches] == [1000] * 100
    assert len(list(jelly.messages.read_messages(data))) == 100_000


@pytest.mark.parametrize("logical", [1, 2, 3, 4])
def test_a_stream_of_nothing_has_options(logical):
    """A log without messages has no Batch, from which others know the options."""
    given = {"version": 3, "logical_type": logical, "stream_name": "n", "max_name_table_size": 200}
    data, out = jelly.dumps([], given), io.BytesIO()
    options = jelly.read_options(data)
    assert (options.stream_name, options.logical_type, options.max_name_table_size) == ("n", logical, 200)
    jelly.convert(data, out)
    assert jelly.read_options(out.getvalue()) == options


def test_a_message_that_never_ends_is_no_longer_than_a_frame():
    x = ("iri", "a:x")
    writer = Writer(quads=False, messages=True, rows=100_000)
    writer.write([(x, x, x)] * 100_000)
    c = classes()["Frame"].FromString(split(writer.out[0])[-1])
    c.ClearField("rows")
    c.columns.ClearField("names")
    c.columns.ClearField("prefixes")
    again = c.SerializeToString()
    data = writer.out[0] + (bytes([len(again)]) + again) * 200
    with pytest.raises(JellyLimitError, match="max_frame_rows"):
        list(jelly.messages.read_messages(data))


def test_too_many_language_tags():
    x = ("iri", "a:x")
    data = write([(x, x, ("literal", "o", f"t{n}", None)) for n in range((1 << 16) + 1)], quads=False, rows=1 << 20)
    with pytest.raises(JellyLimitError, match="a column of 65537 language tags is above the limit of 65536"):
        batches_of(data)


def test_deep_triple_terms():
    term = x = ("iri", "a:x")
    for _ in range(65):
        term = ("triple", x, x, term)
    with pytest.raises(JellyLimitError, match="nested deeper than 64"):
        batches_of(write([(x, x, term)], quads=False))
    assert len(outcome(write([(x, x, term[3])], quads=False))[0]) == 1


def test_threads():
    """Decoders of several threads do not disturb one another."""
    names = ["mixed-06-odd", "mixed-08-odd", "many-runs", "triple-term-ids"]
    with ThreadPoolExecutor(4) as pool:
        jobs = [(name, pool.submit(outcome, data_of("p", name), 64)) for name in names * 8]
        for name, job in jobs:
            assert job.result()[0] == expected(name)
