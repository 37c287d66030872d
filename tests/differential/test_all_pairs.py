"""What is written is read back as it was, or refused: every writer with its reader, and terms that mean harm.

500 examples for all pairs together by default; JELLY_LONG=1 takes 50,000.
"""

import io
import os
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chance import examples

import jelly
from jelly import IRI, BlankNode, DefaultGraph, JellyError, Literal, QuotedTriple, arrow, messages, patch, results
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._formats.registry import FORMATS, REGISTRY, Content

LONG = bool(os.environ.get("JELLY_LONG"))

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"

# Text that some syntax gives a meaning.
HOSTILE = [
    "", "a", "b0", "esc_", "esc_a_20b", "a b", "a.b", "a.", ".a", "a-", "-a", "1", "1a", "a:b", "a\nb", "a\rb",
    "a\tb", 'a"b', "a'b", "a\\b",
    "a . <evil:s> <evil:p> _:b", "x> <evil:p> <evil:o> . <a:s", "é", "\u00b7a", "\u0301", "\u200c", "\U0001f600",
    "\ufeff", "\ufffe",
    "\u2028", "\x85", "\x7f", "\x00", "\x01", "<a>", "&amp;", "]]>", "{}", "[", "#", "@", "?x", ",", ";", "_", "_:b",
    "<<a", "<< a b c >>", "anon", "anon0", "c14n0", "c" * 300, "0123456789abcdef0123456789abcdef", "\ud800",
]  # fmt: skip
IRI_TEXTS = [
    "http://e/a", "http://e/a#b", "urn:x:y", "a:b", "rel", "", "#f", "//h/p", "/p", "?q", "http://e/a b",
    "http://e/%zz",
    "http://e/%", "http://e/100%25", "http://e/[", "http://[::1]/", "http://e/{x}", "http://e/a|b", "http://e/a\\b",
    "http://e/a^b",
    "http://e/a`b", 'http://e/a"b', "http://e/<a>", "_:b", "_:", "<<a", "<< a b c >>", "http://e/é",
    "http://e/\u0301", "http://e/\ue000",
    "http://e/a\nb", "http://e/a\x00", "HTTP://E/", "http://e/a?b=1&c=2", "http://e/'", "http://e/a.", "http://e/1",
    "http://e/a-b.c_d",
    "http://e/x:y", "http://e:80:80/", "1:a", "a", "http://e/\U000e0001", "\ufeffhttp://e/", "mailto:a@b",
    "javascript:alert(1)",
    "http://e/]]>", "http://e/--", "http://e/~", "http://e//", "http://e/../a", "http://e/./a", "http://e",
    "http://e?", "\ud800",
    RDF + "type", RDF + "li", RDF + "_1", RDF + "Description", RDF + "nil", RDF + "first", RDF + "rest",
    RDF + "value", RDF + "RDF", RDF,
    "http://www.w3.org/2002/07/owl#sameAs", "urn:x-arq:DefaultGraph", "urn:x-arq:DefaultGraphNode", "@id", "@type",
    "http://e/@id",
    "xml:lang", "http://www.w3.org/XML/1998/namespace", "http://www.w3.org/XML/1998/namespacelang",
    "http://www.w3.org/2000/xmlns/a",
]  # fmt: skip
TAGS = [
    "en", "EN", "en-GB", "de-1996", "zh-cmn-Hans-CN", "x-klingon", "i-klingon", "en_US", "abcdefghi", "zh-classical",
    "e", "a1",
    "12", "en-", "-en", "en--ltr", "ar--rtl", "EN-us--ltr", "en--up", "en--LTR", "--ltr", "en\tn", "en\nn", "en US",
    'en"', "en@x", "é", "none",
    "en . <evil:s> <evil:p> \"w\"@en", "x", "\x00", "@none", "en--ltr--rtl", "\ud800",
]  # fmt: skip
DATATYPES = [
    XSD + "integer", XSD + "double", XSD + "boolean", XSD + "date", XSD + "decimal", XSD + "long", XSD + "string",
    "http://e/?a=1&b=2",
    RDF + "JSON", RDF + "HTML", RDF + "XMLLiteral", RDF + "langString", RDF + "dirLangString", RDF + "PlainLiteral",
]  # fmt: skip
LEXES = [
    "01", "1.0", "1e0", "INF", "-0", "true", "1 ", "", "2020-13-45", "NaN", "1E400", "9" * 40, '{"a":1}', "<b>x</b>",
    " ", "\t", "\n",
    "\r", "\r\n", " a ", "0x10", "~", "null", "- a", "a: b", "'", '"""', "%41", "\\u0041", "\\", "--- ", "...",
]  # fmt: skip


def a_text(known):
    return st.sampled_from(known) | st.text(max_size=6)


IRIS = a_text(IRI_TEXTS).map(IRI) | st.text(max_size=4).map(lambda text: IRI(f"http://e/{text}"))
BNODES = a_text(HOSTILE).map(BlankNode)
TAGGED = st.builds(lambda text, tag: Literal(text, language=tag), a_text(HOSTILE + LEXES), a_text(TAGS).filter(bool))
TYPED = st.builds(
    lambda text, datatype: Literal(text, datatype=datatype), a_text(LEXES + HOSTILE), a_text(DATATYPES + IRI_TEXTS)
)
LITERALS = a_text(HOSTILE + LEXES).map(Literal) | TAGGED | TYPED
FINE = st.sampled_from(
    [IRI("http://e/s"), IRI("http://e/p"), BlankNode("b1"), Literal("v"), Literal("v", language="en")]
)
NODES = IRIS | BNODES
SIMPLE = NODES | LITERALS | FINE
QUOTED = st.builds(QuotedTriple, SIMPLE, IRIS, SIMPLE)
QUOTED = QUOTED | st.builds(QuotedTriple, SIMPLE | QUOTED, IRIS | SIMPLE, SIMPLE | QUOTED)
TERMS = SIMPLE | QUOTED
PLAIN = st.sampled_from([IRI("http://e/s"), BlankNode("b1")])
PREDICATE = st.sampled_from([IRI("http://e/p"), IRI(RDF + "type")])
GRAPHS = st.just(DefaultGraph()) | NODES | TERMS
# Mostly statements with one thing that is odd, or most would be refused for another one.
STATEMENTS = st.one_of(
    st.tuples(PLAIN, PREDICATE, TERMS),
    st.tuples(PLAIN, PREDICATE, BNODES),
    st.tuples(PLAIN, PREDICATE, LITERALS),
    st.tuples(NODES, PREDICATE, FINE),
    st.tuples(PLAIN, IRIS, FINE),
    st.tuples(PLAIN, PREDICATE, QUOTED),
    st.tuples(PLAIN, PREDICATE, FINE, GRAPHS),
    st.tuples(TERMS, TERMS, TERMS),
    st.tuples(TERMS, TERMS, TERMS, GRAPHS),
)


def key_of(statement):
    """A statement as a tuple of four, whatever it was."""
    s, p, o, *g = statement
    g = g[0] if g else DefaultGraph()
    return s, p, o, None if g == DefaultGraph() else g


def matches(one, other, known, back):
    """Whether two terms are equal, but for a renaming of blank nodes, which goes on from term to term."""
    if isinstance(one, BlankNode) and isinstance(other, BlankNode):
        there, back_again = known.setdefault(one.value, other.value), back.setdefault(other.value, one.value)
        return there == other.value and back_again == one.value
    if isinstance(one, QuotedTriple) and isinstance(other, QuotedTriple):
        return all(matches(x, y, known, back) for x, y in zip(one, other, strict=True))
    return one == other


def is_same(written, read, *, ordered=True):
    """Whether both have the same statements but for a bijection of blank nodes."""
    written = [key_of(statement) for statement in written]
    read = [key_of(statement) for statement in read]
    if ordered:
        orders = [read]
    else:
        written, read = list(dict.fromkeys(written)), list(dict.fromkeys(read))
        orders = permutations(read)
    if len(written) != len(read):
        return False
    for order in orders:
        known, back = {}, {}
        if all(
            matches(x, y, known, back)
            for statement, other in zip(written, order, strict=True)
            for x, y in zip(statement, other, strict=True)
        ):
            return True
    return False


def is_graph_of_defaults(statement):
    """Jena has two IRIs for the default graph."""
    graph = statement[3] if len(statement) == 4 else None
    return isinstance(graph, IRI) and graph.value.startswith("urn:x-arq:DefaultGraph")


def through_columns(statements):
    return list(jelly.loads(jelly.dumps(statements, {"version": 3}))), True


def through_format(name):
    def through(statements):
        out = io.BytesIO()
        options = None
        if name == "jelly":
            physical = jelly.PhysicalType.QUADS if len(statements[0]) == 4 else jelly.PhysicalType.TRIPLES
            options = jelly.StreamOptions(physical_type=physical, rdf_star=True, generalized_statements=True)
        with jelly.Writer(out, options, format=name) as writer:
            for statement in statements:
                writer.add(statement)
        return list(jelly.read(out.getvalue(), format=name)), name not in ("jsonld",)

    return through


def through_log(name, dialect):
    def through(statements):
        out = io.BytesIO()
        messages.write_messages(out, [statements, [], statements[:1]], format=name, dialect=dialect)
        read = list(messages.read_messages(out.getvalue(), format=name, dialect=dialect))
        assert [len(message) for message in read][1] == 0
        assert len(read) == 3
        assert is_same(statements[:1], read[2], ordered=False)
        return list(read[0]), False

    return through


def batch_of(statements):
    collector = BatchBuilder(len(statements[0]))
    collector.extend(iter(statements), 1 << 20)
    return collector.batch


def through_table(layout, dictionary):
    def through(statements):
        table = arrow.from_batches([batch_of(statements)], layout=layout, dictionary=dictionary).read_all()
        out = io.BytesIO()
        physical = jelly.PhysicalType.QUADS if len(statements[0]) == 4 else jelly.PhysicalType.TRIPLES
        options = jelly.StreamOptions(physical_type=physical, rdf_star=True, generalized_statements=True)
        jelly.write_arrow(out, table, options=options)
        return list(jelly.read(out.getvalue())), True

    return through


def through_patch(name, marked):
    def through(statements):
        quads = len(statements[0]) == 4
        operations = [patch.Add(statements[0]), *(patch.Delete(statement) for statement in statements[1:])]
        value = statements[0][2]
        operations = [patch.Header("id", value), patch.Start(), *operations, patch.Commit()]
        kind = patch.StatementType.QUADS if quads else patch.StatementType.TRIPLES
        settings = {"marked_blank_nodes": True} if marked else {}
        if name == "jellyp":
            settings["options"] = patch.PatchOptions(statement_type=kind, rdf_star=True, generalized_statements=True)
        data = patch.dumps(patch.Patch(operations, quads=quads), format=name, **settings)
        [read] = patch.loads(data, format=name)
        found = list(read)
        assert [type(x) for x in found] == [type(x) for x in operations]
        # The header and the statements share their blank nodes.
        back = [x.statement for x in found if isinstance(x, patch.Add | patch.Delete)]
        return [(IRI("x:h"), IRI("x:h"), found[0].value), *back], True

    def with_header(statements):
        read, ordered = through(statements)
        return read, ordered

    with_header.header = True
    return with_header


def through_results(name):
    def through(statements):
        out = io.BytesIO()
        rows = [list(key_of(statement)) for statement in statements]
        results.write_results(out, ["s", "p", "o", "g"], rows, format=name)
        read = results.read_results(out.getvalue(), format=name)
        assert read.variables == ("s", "p", "o", "g")
        return [(*row[:3], row[3] or DefaultGraph()) for row in read], True

    return through


PAIRS = {name: through_format(name) for name in FORMATS} | {"jelly 1.2": through_columns}
for log in REGISTRY[Content.MESSAGES].values():
    for dialect in ("comment", "directive") if log.delimited else ("comment",):
        PAIRS[f"log {log.name} {dialect}"] = through_log(log.name, dialect)
for layout in ("flat", "ntriples"):
    for dictionary in (False, True):
        PAIRS[f"table {layout} {'dictionary' if dictionary else 'plain'}"] = through_table(layout, dictionary)
PAIRS |= {
    "patch jellyp": through_patch("jellyp", False),
    "patch rdfp": through_patch("rdfp", False),
    "patch rdfp marked": through_patch("rdfp", True),
    "patch trp": through_patch("trp", False),
}
PAIRS |= {f"results {name}": through_results(name) for name in ("json", "xml", "tsv", "thrift", "protobuf")}


@pytest.mark.parametrize("name", PAIRS)
def test_read_back_or_refused(name):
    seen = {"held": 0, "refused": 0}

    @examples(-(-500 // len(PAIRS)))
    @given(st.lists(STATEMENTS, min_size=1, max_size=3))
    def check(statements):
        arity = len(statements[0])
        statements = [s for s in statements if len(s) == arity]
        try:
            read, ordered = PAIRS[name](statements)
        except (JellyError, UnicodeEncodeError, ValueError):
            seen["refused"] += 1
            return
        if name in ("thrift", "protobuf", "patch trp"):
            statements = [s[:3] if is_graph_of_defaults(s) else s for s in statements]
        if getattr(PAIRS[name], "header", False):
            statements = [(IRI("x:h"), IRI("x:h"), statements[0][2]), *statements]
        assert is_same(statements, read, ordered=ordered), (statements, read)
        seen["held"] += 1

    check()
    assert seen["held"], "every example was refused"


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(
    "statement",
    [
        (IRI("http://e/s"), IRI("http://e/p"), IRI("http://e/o")),
        (BlankNode("b"), IRI("http://e/p"), BlankNode("a b")),
        (BlankNode("-"), IRI("http://e/p"), BlankNode("_")),
        (IRI("http://e/s"), IRI("http://e/p"), Literal("a\n\"\\\tb é")),
        (IRI("http://e/s"), IRI("http://e/p"), Literal("x", language="en-GB")),
        (IRI("http://e/s"), IRI("http://e/p"), Literal("1", datatype="http://e/?a=1&b=2")),
    ],
    ids=str,
)
def test_every_format_holds_this(name, statement):
    read, _ = PAIRS[name]([statement])
    assert is_same([(IRI("x:h"), IRI("x:h"), statement[2]), statement] if "patch" in name else [statement], read)


@pytest.mark.parametrize("name", PAIRS)
def test_labels_are_replaced_once(name):
    read, _ = PAIRS[name]([(BlankNode("a b"), IRI("http://e/p"), BlankNode("c"))])
    s, _, o, *_ = read[-1]
    assert s.value.removeprefix("m0-") in ("a b", "esc_a_20b")
    assert o.value.removeprefix("m0-") == "c"


S, P, OBJ = (IRI(f"http://e/{name}") for name in "spo")
RDF_12 = {
    "direction": (S, P, Literal("x", language="en--ltr")),
    "triple term": (S, P, QuotedTriple(S, P, OBJ)),
    "quoted subject": (QuotedTriple(S, P, OBJ), P, OBJ),
}
# What each refuses, with words of the error; the others hold all three. It is the table of docs/rdf-1.2.md.
OBJECTS_ONLY = {"quoted subject": "quoted triples as objects only"}
NO_TRIPLES = dict.fromkeys(("triple term", "quoted subject"), "cannot hold quoted triples")
PLAIN_ONLY = NO_TRIPLES | {"direction": "it has a base direction"}
REFUSED = (
    dict.fromkeys(("ttl", "trig", "rdf"), OBJECTS_ONLY)
    | {f"log {name} {dialect}": OBJECTS_ONLY for name in ("ttl", "trig") for dialect in ("comment", "directive")}
    | {"jelly 1.2": {"quoted subject": "triple terms are objects only"}}
    | dict.fromkeys(("jsonld", "log ndjsonld comment", "log yamlld comment"), NO_TRIPLES)
    | dict.fromkeys(("n3", "log rdf comment"), PLAIN_ONLY)
)


@pytest.mark.parametrize("what", RDF_12)
@pytest.mark.parametrize("name", PAIRS)
def test_what_is_new_in_rdf_1_2_is_held_or_refused(name, what):
    statement = RDF_12[what]
    if (words := REFUSED.get(name, {}).get(what)) is not None:
        with pytest.raises(JellyError, match=words):
            PAIRS[name]([statement])
        return
    read, _ = PAIRS[name]([statement])
    assert is_same([(IRI("x:h"), IRI("x:h"), statement[2]), statement] if "patch" in name else [statement], read)
