"""The base direction of literals: a property of the literal in the program, whatever a format makes of it."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jelly
import jelly.stats
from jelly import IRI, Literal, QuotedTriple, Triple
from jelly._core.base.batch_concat import join_batches
from jelly._core.base.constants import Op, Slot
from jelly._core.base.kinds import Kind
from jelly._core.jelly.decoder import Decoder
from jelly._core.rules.capabilities import capabilities_of
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.model import _literal

S, P = IRI("http://e/s"), IRI("http://e/p")
RTL, LTR = (Literal("x", language="ar", direction=direction) for direction in ("rtl", "ltr"))
NONE, OTHER = Literal("x", language="ar"), Literal("x", language="he", direction="rtl")
LITERALS = [RTL, LTR, NONE, OTHER, Literal("y", language="ar-EG", direction="ltr"), RTL]
STATEMENTS = [Triple(S, P, o) for o in LITERALS]


def batch_of(statements: list[Triple]) -> jelly.Batch:
    builder = BatchBuilder(3)
    builder.extend(iter(statements), 1 << 20)
    builder.batch.check()
    return builder.batch


def terms_of(batch: jelly.Batch) -> list[Literal]:
    return [statement.o for statement in Materializer(batch).statements()]


def test_a_literal_has_a_direction() -> None:
    assert (RTL.value, RTL.language, RTL.direction) == ("x", "ar", "rtl")
    assert (NONE.direction, Literal("x").direction) == (None, None)
    assert len({RTL, LTR, NONE, OTHER}) == 4
    assert RTL == Literal("x", language="ar", direction="rtl") != LTR
    assert [str(o) for o in (RTL, LTR, NONE)] == ['"x"@ar--rtl', '"x"@ar--ltr', '"x"@ar']
    assert eval(repr(RTL)) == RTL
    assert RTL.datatype == IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString")
    assert Literal("x", language="ar", direction="rtl", datatype=RTL.datatype) == RTL


def test_a_tag_with_a_suffix_is_taken_apart() -> None:
    assert Literal("x", language="ar--rtl") == RTL
    for tag in ("--rtl", "ar--RTL", "ar--up", "ar-rtl"):
        assert (Literal("x", language=tag).language, Literal("x", language=tag).direction) == (tag, None)
    assert Literal("x", language="ar--ltr--rtl").language == "ar--ltr"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"direction": "rtl"}, "needs a language"),
        ({"direction": "rtl", "datatype": "a:t"}, "needs a language"),
        ({"direction": "RTL", "language": "ar"}, '"ltr", "rtl" or None'),
        ({"direction": "", "language": "ar"}, '"ltr", "rtl" or None'),
        ({"direction": 1, "language": "ar"}, '"ltr", "rtl" or None'),
        ({"direction": "rtl", "language": "ar", "datatype": NONE.datatype}, "not both"),
    ],
)
def test_bad_directions(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Literal("x", **settings)


def test_pickles_and_copies() -> None:
    for literal in LITERALS:
        assert pickle.loads(pickle.dumps(literal)) == literal
        assert copy.copy(literal) == copy.deepcopy(literal) == literal
    # Of versions that had the direction in the tag.
    assert _literal("x", "ar--rtl", None) == RTL
    assert len(NONE.__reduce__()[1]) == 3


def test_a_batch_tells_directions_apart() -> None:
    batch = batch_of(STATEMENTS)
    assert terms_of(batch) == LITERALS
    # The first comes twice: one term, if no other object took its slot.
    assert len(set(batch.o.tolist())) in (5, 6)
    tags = batch.kind[batch.aux[batch.o]].tolist()
    assert tags[:4] == [Kind.TEXT_RTL, Kind.TEXT_LTR, Kind.TEXT, Kind.TEXT_RTL]
    assert batch.term_text(batch.aux[batch.o[0]]) == "ar"
    joined = join_batches([batch, batch])
    joined.check()
    assert terms_of(joined) == 2 * LITERALS


@pytest.mark.parametrize("format", ["jelly", "nt", "nq", "thrift", "protobuf", "ttl", "trig", "jsonld", "rdf"])
def test_formats(format: str) -> None:
    if format in ("ttl", "trig", "jsonld", "rdf"):
        pytest.importorskip("pyoxigraph")
    out = io.BytesIO()
    jelly.write(out, STATEMENTS, format=format)
    for batch in jelly.scan(out.getvalue(), format=format).batches():
        batch.check()
    read = [tuple(statement)[:3] for statement in jelly.read(out.getvalue(), format=format)]
    assert (set(read) if format == "jsonld" else read) == (
        set(map(tuple, STATEMENTS)) if format == "jsonld" else list(map(tuple, STATEMENTS))
    )


def test_formats_that_have_none() -> None:
    pytest.importorskip("pyoxigraph")
    from jelly.messages import write_messages

    with pytest.raises(jelly.JellyUnsupportedError, match="'ar--rtl'.* it has a base direction"):
        jelly.write(io.BytesIO(), STATEMENTS, format="n3")
    with pytest.raises(jelly.JellyUnsupportedError, match="'ar--rtl'.* it has a base direction"):
        write_messages(io.BytesIO(), [STATEMENTS], format="rdf")


def test_what_stands_on_the_wire() -> None:
    assert b"\x02ar--rtl" not in jelly.dumps(STATEMENTS[:1])
    assert b"\x12\x07ar--rtl" in jelly.dumps(STATEMENTS[:1])
    out = io.BytesIO()
    jelly.write(out, STATEMENTS[:1], format="nt")
    assert out.getvalue().endswith(b'"x"@ar--rtl .\n')


def test_jelly_reads_tags_of_the_same_letters_in_turn() -> None:
    # The decoder remembers language tags of a Batch.
    literals = [Literal(str(i), language=tag) for i, tag in enumerate(["ar", "ar--rtl", "ar--ltr"] * 100)]
    (batch,) = jelly.scan(jelly.dumps([Triple(S, P, o) for o in literals])).batches()
    batch.check()
    assert terms_of(batch) == literals
    assert batch.n_terms < 320


def test_the_saved_state_of_a_decoder() -> None:
    # The second statement repeats the object of the first, which is in the saved state only.
    for o in (RTL, LTR, NONE, QuotedTriple(S, P, RTL)):
        out = io.BytesIO()
        jelly.write(out, [Triple(S, P, o), Triple(S, IRI("http://e/q"), o)], frame_rows=1)
        data = out.getvalue()
        first = Decoder()
        first.push(data[: 1 + data[0]])
        batch = first.pull(True)
        assert batch is not None
        assert first.pull(True) is None
        state, options = first.save(), batch.options
        rest = Decoder(options=options, state=state, delimited=True)
        assert [t.o for batch in rest.feed(data[1 + data[0] :]) for t in Materializer(batch).statements()] == [o]


def test_the_same_bytes_for_both_spellings() -> None:
    for format in ("jelly", "nt", "thrift", "protobuf"):
        made = []
        for literal in (RTL, Literal("x", language="ar--rtl")):
            out = io.BytesIO()
            jelly.write(out, [Triple(S, P, literal)], format=format)
            made.append(out.getvalue())
        assert made[0] == made[1]


@pytest.mark.parametrize("format", ["json", "xml", "tsv", "thrift", "protobuf"])
def test_results(format: str) -> None:
    if format == "tsv":
        pytest.importorskip("pyoxigraph")
    out = io.BytesIO()
    jelly.results.write_results(out, ["o"], [[o] for o in LITERALS], format=format)
    results = jelly.results.read_results(out.getvalue(), format=format)
    assert [row[0] for row in results] == LITERALS


@pytest.mark.parametrize("format", ["json", "xml"])
def test_results_with_a_bad_direction(format: str) -> None:
    out = io.BytesIO()
    jelly.results.write_results(out, ["o"], [[RTL]], format=format)
    data = out.getvalue().replace(b'"rtl"', b'"up"')
    with pytest.raises(jelly.JellyError, match="ltr or rtl"):
        list(jelly.results.read_results(data, format=format))


@pytest.mark.parametrize("format", ["nt", "ttl", "trig", "ndjsonld", "yamlld", "jelly"])
def test_messages(format: str) -> None:
    from jelly.messages import read_messages, write_messages

    if format in ("ndjsonld", "yamlld", "ttl", "trig"):
        pytest.importorskip("pyoxigraph")
    out = io.BytesIO()
    write_messages(out, [STATEMENTS[:4]], format=format)
    (message,) = read_messages(out.getvalue(), format=format)
    assert {statement.o for statement in message} == set(LITERALS[:4])


@pytest.mark.parametrize("format", ["ndjsonld", "yamlld"])
def test_tags_of_maps_keep_their_capitals(format: str) -> None:
    pytest.importorskip("pyoxigraph")
    from jelly.messages import read_messages

    context = b'{"@direction": "rtl", "m": {"@id": "http://e/p", "@container": "@language"}}'
    log = b'{"@context": %b, "@id": "http://e/s", "m": {"fr-CA": "x"}}\n' % context
    (message,) = read_messages(log, format=format)
    assert [str(statement.o) for statement in message] == ['"x"@fr-CA--rtl']


def test_capabilities() -> None:
    rule = capabilities_of("log-rdf")
    batch = batch_of([Triple(S, P, NONE)])
    assert rule.fit(batch) is batch
    with pytest.raises(jelly.JellyUnsupportedError, match="it has a base direction"):
        rule.fit(batch_of(STATEMENTS))


def test_stats() -> None:
    found = jelly.stats.stats(jelly.dumps(STATEMENTS))
    assert found.languages.top == {"ar--rtl": 2, "ar": 1, "ar--ltr": 1, "ar-EG--ltr": 1, "he--rtl": 1}
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    assert found.datatypes.top == {rdf + "dirLangString": 5, rdf + "langString": 1}
    assert found.terms["object"] == {"literal": 6}


def test_pyoxigraph() -> None:
    ox = pytest.importorskip("pyoxigraph")
    import jelly.oxigraph

    read = list(jelly.oxigraph.read(jelly.dumps(STATEMENTS)))
    assert [(t.object.language, t.object.direction) for t in read[:3]] == [
        ("ar", ox.BaseDirection.RTL),
        ("ar", ox.BaseDirection.LTR),
        ("ar", None),
    ]
    out = io.BytesIO()
    jelly.oxigraph.write(out, read)
    assert [statement.o.direction for statement in jelly.read(out.getvalue())] == [o.direction for o in LITERALS]
    # By way of the Batch of `BatchBuilder`, which takes terms of any library.
    builder = BatchBuilder(3, 16, jelly.oxigraph.library())
    builder.add((read[0].subject, read[0].predicate, read[0].object))
    assert terms_of(builder.batch) == [RTL]


def test_rdflib_has_none() -> None:
    pytest.importorskip("rdflib")
    import jelly.rdflib

    assert [o.language for _, _, o in jelly.rdflib.read(jelly.dumps([Triple(S, P, NONE)]))] == ["ar"]
    with pytest.raises(jelly.JellyUnsupportedError, match="ar--rtl"):
        list(jelly.rdflib.read(jelly.dumps(STATEMENTS)))


# ---- columns


@pytest.mark.parametrize("dictionary", [False, True])
def test_a_column_of_directions(dictionary: bool) -> None:
    pytest.importorskip("pyarrow")
    data = jelly.dumps([*STATEMENTS, Triple(S, P, S), Triple(S, P, Literal("ar"))])
    joined = jelly.read_arrow(data, dictionary=dictionary).read_all()
    assert "direction" not in joined.column_names
    assert joined["lang"].to_pylist() == ["ar--rtl", "ar--ltr", "ar", "he--rtl", "ar-EG--ltr", "ar--rtl", None, None]
    apart = jelly.read_arrow(data, dictionary=dictionary, direction=True, batch_rows=3).read_all()
    assert apart.column_names[5:] == ["lang", "direction", "graph"]
    assert apart["lang"].to_pylist() == ["ar", "ar", "ar", "he", "ar-EG", "ar", None, None]
    assert apart["direction"].to_pylist() == ["rtl", "ltr", None, "rtl", "ltr", "rtl", None, None]
    assert jelly.read_arrow(data, columns=["direction"], dictionary=dictionary).read_all().column_names == ["direction"]
    for table in (joined, apart):
        for chunk in table.columns:
            chunk.validate(full=True)
        out = io.BytesIO()
        jelly.write_arrow(out, table)
        assert [statement.o for statement in jelly.read(out.getvalue())][:6] == LITERALS
    ntriples = jelly.read_arrow(data, layout="ntriples", dictionary=dictionary, direction=True).read_all()
    assert ntriples.column_names == ["s", "p", "o", "g"]
    assert ntriples["o"].to_pylist()[:2] == ['"x"@ar--rtl', '"x"@ar--ltr']


def test_no_directions_at_all() -> None:
    pytest.importorskip("pyarrow")
    table = jelly.read_arrow(jelly.dumps([Triple(S, P, NONE)]), direction=True).read_all()
    assert table["direction"].to_pylist() == [None]


def test_dictionaries_have_no_value_twice() -> None:
    # A Batch whose own text could be the dictionary, were it not for "ar" in it twice.
    pytest.importorskip("pyarrow")
    for direction in (False, True):
        table = jelly.read_arrow(jelly.dumps(STATEMENTS), dictionary=True, direction=direction).read_all()
        for name in ("subject", "object", "lang"):
            for chunk in table[name].chunks:
                values = chunk.dictionary.to_pylist()
                assert len(values) == len(set(values)), name


FLAT = {"subject": ["http://e/s"], "predicate": ["http://e/p"], "object": ["x"], "object_kind": ["literal"]}


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"lang": "ar", "direction": "rtl"}, RTL),
        ({"lang": "ar--rtl", "direction": "rtl"}, RTL),
        ({"lang": "ar--rtl", "direction": None}, RTL),
        ({"lang": "ar", "direction": None}, NONE),
        ({"lang": "ar", "direction": "up"}, "direction"),
        ({"lang": "ar", "direction": ""}, "direction"),
        ({"lang": "ar--ltr", "direction": "rtl"}, "direction"),
        ({"lang": None, "direction": "rtl"}, "direction"),
        ({"direction": "rtl"}, "direction"),
        ({"lang": "ar", "direction": "rtl", "datatype": RTL.datatype.value}, RTL),
        ({"lang": "ar", "direction": "rtl", "datatype": "a:t"}, "both"),
    ],
)
def test_columns_that_come(columns: dict[str, str | None], found: object) -> None:
    pa = pytest.importorskip("pyarrow")
    for dictionary in (False, True):
        arrays = {name: pa.array([value], pa.string()) for name, value in columns.items()}
        if dictionary:
            arrays = {name: array.dictionary_encode() for name, array in arrays.items()}
        out = io.BytesIO()
        if isinstance(found, Literal):
            jelly.write_arrow(out, pa.table({**FLAT, **arrays}))
            assert [statement.o for statement in jelly.read(out.getvalue())] == [found]
        else:
            with pytest.raises(jelly.JellyError, match=str(found)):
                jelly.write_arrow(out, pa.table({**FLAT, **arrays}))


tags = st.from_regex(r"\A[a-zA-Z]{1,4}(-[a-zA-Z0-9]{1,3}){0,2}\Z")
literals = st.builds(
    lambda text, tag, direction: Literal(text, language=tag, direction=direction),
    st.text(max_size=4),
    st.sampled_from(["ar", "AR", "a", "en-GB"]) | tags,
    st.sampled_from([None, "ltr", "rtl"]),
)


@given(st.lists(literals, min_size=1, max_size=12))
def test_round_trips(objects: list[Literal]) -> None:
    statements = [Triple(S, P, o) for o in objects]
    for format in ("jelly", "nt", "thrift", "protobuf"):
        out = io.BytesIO()
        jelly.write(out, statements, format=format)
        assert [statement.o for statement in jelly.read(out.getvalue(), format=format)] == objects
    pytest.importorskip("pyarrow")
    for direction in (False, True):
        out = io.BytesIO()
        jelly.write_arrow(out, jelly.read_arrow(jelly.dumps(statements), direction=direction))
        assert [statement.o for statement in jelly.read(out.getvalue())] == objects


def test_numbers_are_those_of_the_core() -> None:
    (batch,) = jelly.scan(b'<a:s> <a:p> "o"@ar--rtl .', format="nt").batches()
    assert batch.kind.tolist() == [Kind.IRI, Kind.IRI, Kind.TEXT_RTL, Kind.LANG]
    assert [slot.name for slot in Slot] == ["SUBJECT", "PREDICATE", "OBJECT", "GRAPH"]
    assert [op.value for op in Op] == [2, 3, 4, 5, 6, 7, 8, 14, 15]


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("ttl", '<http://e/s> <http://e/p> "x"@ar--rtl .'),
        (
            "rdf",
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
            '<rdf:Description rdf:about="http://e/s"><e:p xml:lang="ar--rtl">x</e:p></rdf:Description></rdf:RDF>',
        ),
        ("jsonld", '{"@id":"http://e/s","http://e/p":{"@value":"x","@language":"ar--rtl"}}'),
    ],
)
def test_tags_of_other_parsers(format: str, text: str) -> None:
    pytest.importorskip("pyoxigraph")
    try:
        (batch,) = jelly.scan(text.encode(), format=format, lenient=True).batches()
    except jelly.JellyError:
        return  # the parser refuses the tag
    batch.check()
    assert terms_of(batch) == [RTL]


def test_a_direction_behind_a_tag_with_two_hyphens() -> None:
    """RDF Protobuf ends the tag at the first two hyphens: what it could not tell apart is refused."""
    statement = Triple(IRI("a:s"), IRI("a:p"), Literal("x", language="ar--x", direction="rtl"))
    for to in ("nt", "thrift", "jelly"):
        out = io.BytesIO()
        jelly.write(out, [statement], format=to)
        assert list(jelly.read(out.getvalue(), format=to)) == [statement]
    with pytest.raises(jelly.JellyUnsupportedError, match="RDF Protobuf ends a language tag at its first two hyphens"):
        jelly.write(io.BytesIO(), [statement], format="protobuf")
