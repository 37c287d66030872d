"""Hypothesis strategies for statements, as the tuples of oracle.py, and for the options that allow them."""

from hypothesis import strategies as st

import jelly

TEXT = st.text(max_size=12)  # any text without lone surrogates, which UTF-8 does not have
PREFIXES = [
    "http://a.example/", "http://a.example/b#", "http://a.example/b/c#", "urn:x:", "", "é:/", "http://z/#a/", "/#:",
]
IRIS = st.one_of(
    st.tuples(st.sampled_from(PREFIXES), st.sampled_from([*"abcdefghijkl", "", "n" * 200])).map("".join),
    st.tuples(st.sampled_from(PREFIXES), TEXT).map("".join),
    TEXT,
).map(lambda text: ("iri", text))
BNODES = st.one_of(st.sampled_from("xyz"), TEXT).map(lambda text: ("bnode", text))
LANGUAGES = st.sampled_from(["en", "en-GB", "de", "x-klingon", "EN"])
DATATYPES = st.sampled_from(
    [
        "http://www.w3.org/2001/XMLSchema#integer",
        "http://www.w3.org/2001/XMLSchema#date",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",
        "urn:t",
        "",
        "é",
    ]
)
LEXES = st.one_of(
    TEXT, st.sampled_from(["", "1", "\x00", "a\"\\\n\r\t'b", "\U0001f600", "x" * 600, "\ufeff", "\u2028"])
)
LITERALS = st.one_of(
    LEXES.map(lambda lex: ("literal", lex, None, None)),
    st.tuples(LEXES, LANGUAGES).map(lambda x: ("literal", x[0], x[1], None)),
    st.tuples(LEXES, DATATYPES).map(lambda x: ("literal", x[0], None, x[1])),
)
NODES = st.one_of(IRIS, BNODES)
DEFAULT = st.none()


def triple_terms(subjects, predicates, objects):
    return st.tuples(st.just("triple"), subjects, predicates, objects)


# Quoted triples two or three deep: more would only take time.
QUOTED = triple_terms(NODES, IRIS, NODES | LITERALS)
QUOTED = triple_terms(NODES | QUOTED, IRIS, NODES | LITERALS | QUOTED) | QUOTED
ANY = NODES | LITERALS
ANY_QUOTED = triple_terms(ANY, ANY, ANY)
ANY_QUOTED = triple_terms(ANY | ANY_QUOTED, ANY | ANY_QUOTED, ANY | ANY_QUOTED) | ANY_QUOTED


@st.composite
def streams(draw, *, tables=None, min_size=0, max_size=12, physical=(1, 2, 3), star=None, generalized=None):
    """StreamOptions and statements that they allow. Terms come again, as they do in real data."""
    star = draw(st.booleans()) if star is None else star
    generalized = draw(st.booleans()) if generalized is None else generalized
    physical = jelly.PhysicalType(draw(st.sampled_from(physical)))
    if generalized:
        everywhere = ANY | ANY_QUOTED if star else ANY
        subjects = predicates = objects = everywhere
        graphs = ANY | DEFAULT
    else:
        subjects = NODES | QUOTED if star else NODES
        predicates = IRIS
        objects = NODES | LITERALS | QUOTED if star else NODES | LITERALS
        graphs = NODES | DEFAULT
    columns = [subjects, predicates, objects] + [graphs] * (physical > 1)
    pools = [draw(st.lists(column, min_size=1, max_size=6)) for column in columns]
    row = st.tuples(*(st.sampled_from(pool) for pool in pools))
    statements = draw(st.lists(row, min_size=min_size, max_size=max_size))
    names, prefixes, datatypes = draw(any_tables() if tables is None else tables)
    options = jelly.StreamOptions(
        physical_type=physical,
        logical_type=draw(st.sampled_from(LOGICAL[physical])),
        stream_name=draw(st.sampled_from(["", "", "é stream"])),
        generalized_statements=generalized,
        rdf_star=star,
        max_name_table_size=names,
        max_prefix_table_size=prefixes,
        max_datatype_table_size=datatypes,
    )
    return options, statements


_TRIPLES = [jelly.LogicalType(x) for x in (0, 1, 3, 13)]
_QUADS = [jelly.LogicalType(x) for x in (0, 2, 4, 14, 114)]
LOGICAL = {
    jelly.PhysicalType.TRIPLES: _TRIPLES,
    jelly.PhysicalType.QUADS: _QUADS,
    jelly.PhysicalType.GRAPHS: _QUADS,
}


def any_tables():
    """Sizes that hold every statement of `streams` (a quoted one has up to 28 IRIs), and some that need luck."""
    return st.sampled_from(
        [(8, 0, 1), (8, 1, 1), (8, 2, 2), (32, 1, 8), (32, 2, 32), (64, 0, 32), (128, 16, 16), (4000, 150, 32)]
    )


def roomy_tables():
    return st.sampled_from([(64, 32, 32), (128, 32, 32), (4000, 150, 32)])


METADATA = st.dictionaries(TEXT, st.binary(max_size=20), max_size=3)
NAMESPACES = st.lists(st.tuples(TEXT, IRIS.map(lambda x: x[1])), max_size=3)
