"""Jelly-RDF 1.2 as the Encoder writes it, judged by the oracle: classes of protobuf and plain Python."""

from __future__ import annotations

import gzip
import io
import itertools
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.column_oracle import Oracle
from support.oracle import plain
from support.shared import shared
from support.statements import iris, quads, rdf, texts

import jelly
from jelly import (
    IRI,
    BlankNode,
    Encoder,
    JellyOptionsError,
    Literal,
    LogicalType,
    Quad,
    QuotedTriple,
    StreamOptions,
    Triple,
)
from jelly._core.terms.batch_builder import BatchBuilder

XSD = "http://www.w3.org/2001/XMLSchema#"

directed = st.builds(
    lambda text, tag, to: Literal(text, language=tag, direction=to),
    texts, st.sampled_from(["ar", "en"]), st.sampled_from(["ltr", "rtl"]),
)
inner = st.recursive(
    st.builds(QuotedTriple, st.one_of(iris, st.builds(BlankNode, texts)), iris, st.one_of(iris, directed)),
    lambda more: st.builds(QuotedTriple, iris, iris, more),
    max_leaves=4,
)
rdf12 = st.builds(Triple, iris, iris, st.one_of(directed, inner))
rows = st.lists(st.one_of(rdf, rdf, rdf12), max_size=40)


def as_oracle(term: Any) -> Any:
    if isinstance(term, Literal) and term.direction:
        return ("literal", term.value, f"{term.language}--{term.direction}", None)
    if isinstance(term, QuotedTriple):
        return ("triple", *map(as_oracle, term))
    return plain(term)


def as_rows(statements: Any) -> list[Any]:
    found = [tuple(map(as_oracle, statement)) for statement in statements]
    return [row if len(row) == 4 else (*row, None) for row in found]


def batch_of(statements: list[Any], arity: int = 3, ends: tuple[int, ...] = ()) -> jelly.Batch:
    collector = BatchBuilder(arity)
    for i, statement in enumerate(statements):
        for _ in range(ends.count(i)):
            collector.end_frame()
        collector.add(statement)
    for _ in range(ends.count(len(statements))):
        collector.end_frame()
    return collector.batch


def columns(**changes: Any) -> StreamOptions:
    return StreamOptions(version=3, **changes)


def encoded(statements: list[Any], options: StreamOptions, size: int = 10**6, arity: int = 3, **settings: Any) -> bytes:
    encoder = Encoder(options, **settings)
    parts = [encoder.encode(batch_of(statements[i : i + size], arity)) for i in range(0, len(statements), size)]
    return b"".join([*parts, encoder.close()])


options = st.builds(
    lambda names, prefixes, datatypes, numbering: columns(
        max_name_table_size=names,
        max_prefix_table_size=prefixes,
        max_datatype_table_size=datatypes,
        numbering=numbering,
    ),
    st.sampled_from([128, 4000]),
    st.sampled_from([0, 1, 2, 3, 16, 150]),
    st.sampled_from([1, 2, 32]),
    st.sampled_from("PS"),
)
sizes = st.sampled_from([1, 2, 7, 10**6])
frames = st.sampled_from([None, 0, 1, 2, 5, 100_000])
limits = st.sampled_from([0, 64, 400, 10**6])


@given(st.lists(st.one_of(rdf, rdf, rdf12), max_size=40), options, sizes, frames, limits)
def test_triples_come_back(statements: list[Any], to: StreamOptions, size: int, n: int | None, limit: int) -> None:
    data = encoded(statements, to, size, frame_rows=n, frame_bytes=limit)
    oracle = Oracle(data)
    assert oracle.statements == as_rows(statements)
    assert {options.version for options in oracle.options} == {3}
    assert oracle.numbering == to.numbering
    if n:
        ends = [0, *oracle.ends]
        assert max(b - a for a, b in itertools.pairwise(ends)) <= n
    assert jelly.loads(data) == statements


@given(st.lists(quads(st.one_of(rdf, rdf12)), max_size=40), options, sizes, frames)
def test_quads_come_back(statements: list[Any], to: StreamOptions, size: int, n: int | None) -> None:
    data = encoded(statements, to, size, 4, frame_rows=n)
    assert Oracle(data).statements == as_rows(statements)
    assert jelly.loads(data) == statements


@given(
    st.lists(st.lists(quads(st.one_of(rdf, rdf12)), max_size=6), max_size=8), options, st.integers(1, 8),
    st.sampled_from([None, 0, 1, 3, 100_000]), st.sampled_from([0, 64, 10**6]),
)
def test_messages_come_back(messages: list[Any], to: StreamOptions, cut: int, n: int | None, limit: int) -> None:
    """Messages over several Batches and frames, and several of them in one."""
    statements = [x for message in messages for x in message]
    lengths = [len(message) for message in messages]
    ends = list(itertools.accumulate(lengths))
    encoder = Encoder(to.replace(physical_type=2, logical_type=LogicalType.DATASETS), frame_rows=n, frame_bytes=limit)
    data = b""
    for at in range(0, len(statements) + 1, cut):
        # An end at the last row of a Batch belongs to the Batch before the next one.
        inside = tuple(x - at for x in ends if at <= x < at + cut)
        data += encoder.encode(batch_of(statements[at : at + cut], 4, inside))
    data += encoder.close()
    oracle = Oracle(data)
    assert oracle.statements == as_rows(statements)
    assert oracle.messages == lengths
    if n in (None, 0):
        assert len(oracle.ends) >= len(lengths)


@given(st.lists(rdf, min_size=1, max_size=60), options, sizes, st.integers(1, 20))
@example([Triple(IRI("s"), IRI("p"), Literal("", datatype=IRI(f"a:{i // 3}"))) for i in range(30)], columns(), 1, 2)
@example(
    [Triple(IRI("s"), IRI("p"), Literal("", datatype=IRI(f"a:{i // 3}"))) for i in range(30)],
    columns(max_datatype_table_size=1), 1, 2,
)
def test_keyframes_restate_the_options(statements: list[Any], to: StreamOptions, size: int, rows: int) -> None:
    encoder = Encoder(to, keyframe_rows=rows)
    data = b"".join(encoder.encode(batch_of(statements[i : i + size])) for i in range(0, len(statements), size))
    data += encoder.close()
    assert Oracle(data).statements == as_rows(statements)
    keys = encoder.keyframes
    assert len(keys) >= (len(statements) - 1) // rows
    for offset, row, _, _ in keys:
        if offset < len(data):
            # What begins there is a stream of its own.
            assert Oracle(data[offset:]).statements == as_rows(statements)[row:]


declared = st.tuples(st.sampled_from(["", "ex", "é"]), st.sampled_from(["http://e/", "", "a#b"]))


@given(st.lists(st.one_of(rdf, declared), max_size=30), options, frames)
def test_namespaces_come_back(items: list[Any], to: StreamOptions, n: int | None) -> None:
    collector = BatchBuilder(3)
    statements, namespaces = [], []
    for item in items:
        if isinstance(item, Triple):
            collector.add(item)
            statements.append(item)
        else:
            collector.namespace(*item)
            namespaces.append((*item, len(statements)))
    encoder = Encoder(to, frame_rows=n)
    oracle = Oracle(encoder.encode(collector.batch) + encoder.close())
    assert oracle.statements == as_rows(statements)
    assert oracle.namespaces == namespaces


def triples(n: int) -> list[Triple]:
    return [Triple(IRI(f"http://e/s{i}"), IRI("http://e/p"), Literal(f"o{i}")) for i in range(n)]


def test_the_rdf_version_is_what_terms_need() -> None:
    plain_rows = triples(3)
    s, p = IRI("http://e/s"), IRI("http://e/p")
    arabic = Triple(s, p, Literal("x", language="ar", direction="rtl"))
    triple = Triple(s, p, QuotedTriple(s, p, IRI("http://e/o")))
    for size, versions in ((1, [1, 2, 3]), (100, [3])):
        oracle = Oracle(encoded([*plain_rows, arabic, *plain_rows, triple, arabic], columns(), size))
        assert [options.f6 for options in oracle.options] == versions
        assert oracle.statements == as_rows([*plain_rows, arabic, *plain_rows, triple, arabic])
    for given_version, number in (("unspecified", 0), ("1.2-basic", 2), ("1.2", 3)):
        oracle = Oracle(encoded([*plain_rows, arabic], columns(rdf_version=given_version), 1))
        assert [options.f6 for options in oracle.options] == [number]
    for given_version, row in (("1.1", arabic), ("1.1", triple), ("1.2-basic", triple)):
        with pytest.raises(JellyOptionsError, match=f"announce rdf_version='{given_version}'"):
            encoded([*plain_rows, row], columns(rdf_version=given_version), 1)


def test_what_columns_cannot_hold_is_an_error_that_names_version_2() -> None:
    s, p = IRI("http://e/s"), IRI("http://e/p")
    q = QuotedTriple(s, p, IRI("http://e/o"))
    untagged = Literal("x", datatype=IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"))
    for statement, match in (
        (Triple(q, p, s), "quoted triple as subject .* triple terms are objects only: Jelly-RDF 1.1"),
        (Triple(s, p, QuotedTriple(q, p, s)), "quoted triple as subject .*Jelly-RDF 1.1"),
        (Triple(Literal("x"), p, s), "literal as subject .*Jelly-RDF 1.1 .*generalized_statements=True"),
        (Triple(s, BlankNode("b"), s), "blank node as predicate .*Jelly-RDF 1.1"),
        (Quad(s, p, s, Literal("g")), "literal as graph .*Jelly-RDF 1.1"),
        (Triple(s, p, untagged), "without a language tag"),
        (Quad(s, p, s, s), "named graph"),
    ):
        to = columns(physical_type=2 if "as graph" in match else 1)
        with pytest.raises(JellyOptionsError, match=match) as caught:
            encoded([*triples(2), statement], to, arity=4)
        assert caught.value.row == 2
    with pytest.raises(JellyOptionsError, match="max_datatype_table_size above 0"):
        encoded([Triple(s, p, Literal("1", datatype=IRI(f"{XSD}integer")))], columns(max_datatype_table_size=0))
    flags = {"rdf_star": True}, {"generalized_statements": True}
    for wrong in (*flags, {"physical_type": 3}, {"max_name_table_size": 127}):
        with pytest.raises(JellyOptionsError, match="version 3"):
            columns(**wrong)
    with pytest.raises(JellyOptionsError, match="only version 3"):
        StreamOptions(version=2, rdf_version="1.2")


def test_options_change_with_the_version() -> None:
    rows = StreamOptions(physical_type=3, rdf_star=True, generalized_statements=True, max_name_table_size=8, version=2)
    there = rows.replace(version=3, rdf_version="1.2")
    assert (there.physical_type, there.max_name_table_size) == (2, 128)
    assert (there.rdf_star, there.generalized_statements) == (False, False)
    back = there.replace(version=1)
    assert (back.rdf_version, back.numbering, back.physical_type) == ("", "P", 2)


def test_frames_end_before_a_table_is_full() -> None:
    """What a frame refers to is in its tables all at once."""
    statements = triples(1000)
    data = encoded(statements, columns(max_name_table_size=128, max_prefix_table_size=1))
    oracle = Oracle(data)
    assert oracle.statements == as_rows(statements)
    assert [b - a for a, b in itertools.pairwise([0, *oracle.ends])] == [127] * 7 + [111]
    # More prefixes in one row than the table holds: IRIs without any.
    row = Triple(IRI("http://a/s"), IRI("http://b/p"), IRI("http://c/o"))
    assert Oracle(encoded([row] * 3, columns(max_prefix_table_size=2))).statements == as_rows([row] * 3)
    deep = QuotedTriple(*map(IRI, "abc"))
    for i in range(61):
        deep = QuotedTriple(IRI(f"s{i}"), IRI(f"p{i}"), deep)
    with pytest.raises(JellyOptionsError, match="more names than the name table"):
        encoded([Triple(IRI("s"), IRI("p"), QuotedTriple(IRI("x"), IRI("y"), deep))], columns(max_name_table_size=128))


def test_many_language_tags_end_a_frame() -> None:
    statements = [Triple(IRI("a:s"), IRI("a:p"), Literal("x", language=f"en-x{i}")) for i in range(2500)]
    oracle = Oracle(encoded(statements, columns()))
    assert oracle.statements == as_rows(statements)
    assert oracle.ends == [1024, 2048, 2500]


def test_frames_have_at_most_so_many_bytes() -> None:
    names = [f"http://e/{i}" + "x" * (i % 900) for i in range(900)]
    statements = [Triple(IRI(n), IRI("http://e/p"), Literal("y" * (i * 7 % 1500))) for i, n in enumerate(names)]
    data = encoded(statements, columns(), frame_bytes=5000)
    lengths, at = [], 0
    while at < len(data):
        size = shift = 0
        while True:
            size, shift, at = size | (data[at] & 0x7F) << shift, shift + 7, at + 1
            if data[at - 1] < 0x80:
                break
        lengths.append(size)
        at += size
    assert max(lengths) <= 5000
    assert sum(lengths) / len(lengths) > 3000
    assert Oracle(data).statements == as_rows(statements)


def test_independent_frames_are_streams() -> None:
    statements = triples(10)
    frames = Encoder(columns(), frame_rows=4, independent=True)
    parts = frames.encode_frames(batch_of(statements)) + frames.close_frames()
    assert len(parts) == 3
    for i, part in enumerate(parts):
        assert jelly.loads(part) == statements[4 * i : 4 * i + 4]
    bare = encoded(statements, columns(), delimited=False)
    assert jelly.loads(bare) == statements


FOLDER = shared("jelly-1.2")
CASES = json.loads((FOLDER / "s" / "manifest.json").read_text())["cases"]
ACCEPTED = [case for case in CASES if case["expect"] == "accept"]


@pytest.mark.parametrize("numbering", "sp")
@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case["name"])
def test_vectors_are_written_again(numbering: str, case: dict[str, Any]) -> None:
    """What the vectors hold comes back through our writer, with the messages and namespaces."""
    source = (FOLDER / numbering / case["jelly"]).read_bytes()
    out = io.BytesIO()
    jelly.convert(source, out, options={"version": 3}, format="jelly", to="jelly")
    before, after = Oracle(source), Oracle(out.getvalue())
    assert after.statements == before.statements
    assert after.messages == before.messages
    assert after.namespaces == before.namespaces
    assert after.numbering == before.numbering == numbering.upper()


# Vectors that are the output of a plain writer in one frame, whose IRIs it splits where we do.
PLAIN = (
    "one-triple one-quad all-kinds-of-terms kinds-4-values kinds-8-values many-runs graphs-mixed no-prefix-table "
    "odd-texts literals-mixed triple-term-depth-2 triple-term-depth-20 triple-terms-mixed triple-terms-run "
    "messages-none"
)


@pytest.mark.parametrize("numbering", "sp")
@pytest.mark.parametrize("name", PLAIN.split())
def test_the_shortest_forms_are_the_bytes_of_the_vectors(numbering: str, name: str) -> None:
    data = (FOLDER / numbering / f"{name}.jelly").read_bytes()
    encoder = Encoder(jelly.read_options(data))
    assert b"".join(map(encoder.encode, jelly.scan(data).batches())) + encoder.close() == data


def real(path: str) -> Any:
    text = gzip.decompress(shared("data", *path.split("/")).read_bytes())
    return text, path.split(".")[-2]


@pytest.mark.parametrize(
    "path", ["iot-weather/assist-iot-weather-100k.nt.gz", "vocabs-quads/vocabs.nq.gz", "movies/30kmovies.nt.gz"]
)
def test_real_data_by_the_oracle(path: str) -> None:
    text, suffix = real(path)
    text = b"".join(text.splitlines(keepends=True)[:3000])
    out = io.BytesIO()
    jelly.convert(text, out, format=suffix, to="jelly", options={"version": 3}, frame_rows=1000)
    oracle = Oracle(out.getvalue())
    assert len(oracle.ends) >= 3
    assert oracle.statements == as_rows(jelly.read(text, format=suffix))
