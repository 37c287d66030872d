"""Statements match pyjelly's both ways."""

import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chance import many
from support.oracle import plain_all, statement
from support.shared import shared
from support.strategies import NAMESPACES, roomy_tables, streams

import jelly

by_pyjelly = pytest.importorskip("support.by_pyjelly")
pytestmark = pytest.mark.interop


def written(options, statements, namespaces=(), **settings):
    out = io.BytesIO()
    with jelly.Writer(out, options, **settings) as writer:
        for name, iri in namespaces:
            writer.namespace(name, iri)
        writer.extend(map(statement, statements))
    return out.getvalue()


def tame(x):
    """A term without empty datatypes: pyjelly takes them for none."""
    if x is not None and x[0] == "literal" and x[3] == "":
        return ("literal", x[1], None, "urn:t")
    if x is not None and x[0] == "triple":
        return ("triple", *map(tame, x[1:]))
    return x


def tame_all(statements):
    return [tuple(map(tame, x)) for x in statements]


@many
@given(streams(min_size=1), st.sampled_from([0, 2, 256]))
def test_pyjelly_reads_what_we_write(stream, frame_rows):
    options, statements = stream
    try:
        data = written(options, statements, frame_rows=frame_rows)
    except jelly.JellyOptionsError as error:
        if "table" not in str(error):
            raise
        return
    assert by_pyjelly.read(data) == statements


# pyjelly evicts entries that the statement being written still uses, so its tables need room for a whole statement.
@many
@given(streams(tables=roomy_tables(), min_size=1), NAMESPACES, st.sampled_from([1, 3, 250]))
def test_we_read_what_pyjelly_writes(stream, namespaces, frame_size):
    options, statements = stream[0], tame_all(stream[1])
    namespaces = list(dict(namespaces).items())
    data = by_pyjelly.write(statements, options, frame_size=frame_size, namespaces=namespaces)
    frames = list(jelly.scan(data).frames())
    assert [x for frame in frames for x in plain_all(frame)] == statements
    assert [x for frame in frames for x in frame.namespaces] == namespaces
    assert jelly.read_options(data).physical_type == options.physical_type


def test_pyjelly_reads_our_namespaces():
    """Through RDFLib: the generic interface of pyjelly 0.8.2 fails on any namespace."""
    parse = pytest.importorskip("pyjelly.integrations.rdflib.parse")
    namespaces = [("ex", "http://example.org/"), ("", "http://example.org/b#"), ("ex", "urn:again:")]
    statements = [(("iri", "http://example.org/b#s"), ("iri", "http://example.org/p"), ("literal", "o", None, None))]
    data = written(jelly.StreamOptions(physical_type=1), statements, namespaces)
    items = list(parse.parse_jelly_flat(io.BytesIO(data)))
    assert [(x.prefix, str(x.iri)) for x in items if isinstance(x, parse.Prefix)] == namespaces
    assert len(items) == 4


SAMPLES = [
    "iot-weather/assist-iot-weather_100kt.jelly.gz",
    "jelly-samples/cli/src/test/resources/everythingTriple.jelly",
    "jelly-samples/cli/src/test/resources/everythingQuad.jelly",
    "jelly-samples/jelly-jvm/integration-tests/src/test/resources/backcompat/riverbench_nanopubs_v1_0_0.jelly",
    "jelly-samples/jelly-jvm/integration-tests/src/test/resources/backcompat/weather_quads_v1_0_0.jelly",
    "jelly-samples/pyjelly-history/weather-graphs.jelly",
    "jelly-samples/pyjelly-history/rdf-stax-1-1-2.jelly",
]


@pytest.mark.parametrize("sample", SAMPLES)
def test_both_read_the_same(sample):
    path = shared("data", *sample.split("/"))
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    ours = plain_all(jelly.loads(data))
    assert by_pyjelly.read(data) == ours
    # And back: what each writes of it, the other reads.
    options = jelly.read_options(data).replace(version=1, max_name_table_size=4000, max_prefix_table_size=150)
    ours = ours[:5000]
    assert by_pyjelly.read(jelly.dumps(map(statement, ours), options)) == ours
    assert plain_all(jelly.loads(by_pyjelly.write(ours, options))) == ours
