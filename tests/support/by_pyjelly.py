"""pyjelly through its generic interface, speaking the tuples of oracle.py."""

import io

import pytest

from support.oracle import XSD_STRING

pytest.importorskip("pyjelly")

from pyjelly import jelly as pb  # noqa: E402
from pyjelly.integrations.generic import generic_sink as generic  # noqa: E402
from pyjelly.integrations.generic.parse import parse_jelly_flat, parse_jelly_grouped  # noqa: E402
from pyjelly.integrations.generic.serialize import GenericSinkTermEncoder, stream_frames  # noqa: E402
from pyjelly.options import LookupPreset, StreamParameters  # noqa: E402
from pyjelly.parse.ioutils import get_options_and_frames  # noqa: E402
from pyjelly.serialize.ioutils import write_delimited  # noqa: E402
from pyjelly.serialize.streams import SerializerOptions, stream_for_type  # noqa: E402


def plain(term):
    if isinstance(term, generic.IRI):
        return ("iri", term._iri)
    if isinstance(term, generic.BlankNode):
        return ("bnode", term._identifier)
    if isinstance(term, generic.Literal):
        return ("literal", term._lex, term._langtag, None if term._datatype == XSD_STRING else term._datatype)
    if isinstance(term, generic.Triple):
        return ("triple", *map(plain, term))
    assert term is generic.DefaultGraph, term
    return None


def term(x):
    if x is None:
        return generic.DefaultGraph
    if x[0] == "iri":
        return generic.IRI(x[1])
    if x[0] == "bnode":
        return generic.BlankNode(x[1])
    if x[0] == "literal":
        return generic.Literal(*x[1:])
    return generic.Triple(*map(term, x[1:]))


def statement(x):
    return (generic.Triple if len(x) == 3 else generic.Quad)(*map(term, x))


def read(data):
    return [tuple(map(plain, x)) for x in parse_jelly_flat(io.BytesIO(data))]


def read_frames(data):
    return [[tuple(map(plain, x)) for x in sink] for sink in parse_jelly_grouped(io.BytesIO(data))]


def options_row(data):
    """The RdfStreamOptions message, the first row that there is."""
    _, frames = get_options_and_frames(io.BytesIO(data))
    return next(row for frame in frames for row in frame.rows).options


def write(statements, options, *, frame_size=250, namespaces=()):
    """A stream of the physical type and tables of `options`, which are ours."""
    preset = LookupPreset(
        max_names=options.max_name_table_size,
        max_prefixes=options.max_prefix_table_size,
        max_datatypes=options.max_datatype_table_size,
    )
    settings = SerializerOptions(
        frame_size=frame_size,
        logical_type=pb.LOGICAL_STREAM_TYPE_FLAT_TRIPLES
        if options.physical_type == pb.PHYSICAL_STREAM_TYPE_TRIPLES
        else pb.LOGICAL_STREAM_TYPE_FLAT_QUADS,
        params=StreamParameters(
            generalized_statements=options.generalized_statements,
            rdf_star=options.rdf_star,
            namespace_declarations=bool(namespaces),
        ),
        lookup_preset=preset,
    )
    stream = stream_for_type(options.physical_type)(
        encoder=GenericSinkTermEncoder(lookup_preset=preset), options=settings
    )
    sink = generic.GenericStatementSink()
    for name, iri in namespaces:
        sink.bind(name, iri)  # a str: of an IRI it would write the angle brackets too
    for x in statements:
        sink.add(statement(x))
    out = io.BytesIO()
    for frame in stream_frames(stream, sink):
        write_delimited(frame, out)
    return out.getvalue()
