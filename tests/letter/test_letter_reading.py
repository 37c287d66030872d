"""What readers take: name tables of any size, pairs of types, framing, and the rules of Protocol Buffers."""

from __future__ import annotations

import pytest
from support import patchcraft as pc
from support.contents import validate_patches
from support.craft import (
    BNODE,
    GRAPHS,
    IRI,
    LITERAL,
    QUOTED,
    TRIPLES,
    datatype,
    field,
    frame,
    graph_end,
    graph_start,
    iri,
    literal,
    metadata,
    name,
    options,
    quoted,
    row,
    terms,
    triple,
    varint,
)

import jelly
import jelly.patch as patches
from jelly import JellyFormatError

A = (BNODE, b"a")
B = (BNODE, b"b")


def read(*rows, **settings):
    return [str(statement) for statement in jelly.loads(frame(options(), *rows), **settings)]


# ---- options


@pytest.mark.parametrize("size", range(8))
def test_small_name_tables(size, tmp_path):
    """001-004, 001-005, 001-092, 000-015: version 1.0 allowed name tables of 0 to 7 entries."""
    rows = [name("a:s", 1), triple((IRI, iri(1)), A, A)] if size else [triple(A, A, (LITERAL, literal("x")))]
    data = frame(options(names=size), *rows)
    assert len(jelly.loads(data)) == 1
    assert jelly.read_options(data).max_name_table_size == size
    jelly.convert(data, tmp_path / "x.jelly")
    assert list(jelly.read(tmp_path / "x.jelly")) == jelly.loads(data)
    assert jelly.read_options(tmp_path / "x.jelly").max_name_table_size == 8


def test_writers_have_eight_names():
    """001-093: the official case triples_rdf_1_1/neg_002 demands that writers refuse fewer names."""
    with pytest.raises(jelly.JellyOptionsError, match="expected 8"):
        jelly.StreamOptions(max_name_table_size=7)
    with pytest.raises(jelly.JellyOptionsError, match="at least 8"):
        jelly.Encoder(jelly.read_options(frame(options(names=7))))


def test_requested_options_with_small_tables():
    """000-015, 000-016: table sizes that a client leaves open are the stream's own; a size below 8 is served as 8."""
    protocol = pytest.importorskip("jelly.grpc._protocol")
    own = jelly.StreamOptions(1, version=1)
    for fields, served in (("10017801", own.max_name_table_size), ("100148047801", 8)):
        topic, wanted = protocol.unpack_subscribe(bytes.fromhex(f"0a017412{len(fields) // 2:02x}{fields}"))
        assert topic == "t"
        assert protocol.serve_options(own, wanted).max_name_table_size == served


@pytest.mark.parametrize(
    ("physical", "logical"), [(GRAPHS, 3), (GRAPHS, 13), (2, 1), (TRIPLES, 2), (TRIPLES, 4), (TRIPLES, 114)]
)
def test_pairs_of_types_outside_the_table(physical, logical, tmp_path):
    """001-069: other pairs are read with a warning, and refused with strict."""
    rows = {1: [triple(A, A, A)], 2: [row(3, terms(A, A, A), field(15, b""))]}
    rows[3] = [graph_start(), triple(A, A, A), graph_end()]
    data = frame(options(physical, logical), *rows[physical])
    with pytest.warns(jelly.errors.OptionsWarning, match="does not go with physical type"):
        assert len(jelly.loads(data)) == 1
    with pytest.raises(JellyFormatError, match="does not go with physical stream type"):
        jelly.loads(data, strict=True)
    found = jelly.read_options(data)
    assert (found.physical_type, found.logical_type) == (physical, logical)
    assert found.replace(stream_name="x").logical_type == logical
    assert any("does not go with" in problem.message for problem in jelly.validate(data))
    jelly.convert(data, tmp_path / "x.jelly")
    assert jelly.read_options(tmp_path / "x.jelly").logical_type == logical
    with pytest.raises(jelly.JellyOptionsError):
        jelly.StreamOptions(physical, logical)


# ---- framing


@pytest.mark.parametrize("n", [0, 1, 6, 8, 10, 15, 18, 100, 116, 120, 200, 300])
@pytest.mark.parametrize("key", [b"", b"k", b"\n", b"\x12k", b"ten bytes!", b"k" * 18])
def test_a_bare_frame_that_begins_with_metadata(n, key):
    """001-179: the fields of a frame have any order; each way in which a delimited stream may begin is told apart."""
    entries = [metadata(key, b"v" * n), field(15, field(2, b"v" * n) + field(1, key))]
    for entry in entries:
        body = entry + options() + triple(A, A, A)
        for chunk in (1, 3, 1000):
            decoder = jelly.Decoder()
            chunks = [body[at : at + chunk] for at in range(0, len(body), chunk)]
            batches = [batch for part in chunks for batch in decoder.feed(part)] + list(decoder.close())
            assert (decoder.delimited, sum(map(len, batches))) == (False, 1)


@pytest.mark.parametrize("size", range(1, 200))
def test_a_delimited_stream_of_any_first_length(size):
    """001-178, 001-179: frames of any length, 10 and 122 bytes among them, that begin with a row or with metadata."""
    heads = [options(), options(name=b"n" * 10), metadata(b"k", b"v"), metadata(b"k" * 8, b"v" * 4)]
    for i, head in enumerate(heads):
        fill = size - len(head)
        if fill >= 4:
            pad = metadata(b"", b"x" * (fill - 4)) if fill < 120 else metadata(b"", b"x" * (fill - 6))
            data = varint(len(head + pad)) + head + pad + frame(*[options()] * (i > 1), triple(A, A, A))
            decoder = jelly.Decoder()
            list(decoder.feed(data))
            assert decoder.delimited


# ---- Protocol Buffers


def test_the_last_of_a_oneof_counts():
    """001-008, 001-010: of terms, of literals, of graphs and of rows."""
    two = row(2, terms(A, None, None) + terms(B, A, A))
    assert read(two) == ["_:b _:a _:a ."]
    assert read(row(2, terms((LITERAL, literal("x")), None, None) + terms(B, A, A))) == ["_:b _:a _:a ."]
    assert read(datatype("d:t"), triple(A, A, (LITERAL, literal("l", "en", 1)))) == ['_:a _:a "l"^^<d:t> .']
    late = field(3, 1) + field(2, b"en") + field(1, b"l")
    assert read(datatype("d:t"), triple(A, A, (LITERAL, late))) == ['_:a _:a "l"@en .']
    assert read(triple(A, A, (LITERAL, field(3, 0) + field(2, b"en") + field(1, b"l")))) == ['_:a _:a "l"@en .']
    both = field(1, name("a:s")[2:] + triple(A, A, B)[2:])
    assert read(both) == ["_:a _:a _:b ."]
    graph = frame(options(GRAPHS), row(4, field(2, b"g"), field(2, b"h")), triple(A, A, A), graph_end())
    assert [str(s) for s in jelly.loads(graph)] == ["_:a _:a _:a _:h ."]


def test_messages_in_pieces_are_merged():
    """001-009: rows, terms, quoted triples, the IRIs of namespaces, and options."""
    whole = quoted(2)
    for cut in range(0, len(whole) + 1):
        try:
            pieces = terms((QUOTED, whole[:cut]), None, None) + terms((QUOTED, whole[cut:]), None, None)
            expected = read(triple((QUOTED, whole), A, A))
            assert read(row(2, pieces + terms(None, A, A))) == expected
        except JellyFormatError:
            continue  # not between two fields
    prefixed = [name("s"), row(10, field(2, b"a:"))]
    merged = row(2, field(1, field(1, 1)) + terms(None, A, A) + field(1, field(2, 1)))
    assert read(*prefixed, merged) == ["<a:s> _:a _:a ."]
    split = field(1, field(2, terms(A, None, None)) + field(2, terms(None, B, None)) + field(2, terms(None, None, A)))
    assert read(split) == ["_:a _:b _:a ."]
    head = field(1, field(1, field(2, 1) + field(9, 16)) + field(1, field(15, 1) + field(9, 32)))
    data = frame(head, triple(A, (LITERAL, literal("p")), A))
    assert jelly.read_options(data).max_name_table_size == 32
    assert len(jelly.loads(data)) == 1
    spread = row(6, field(2, field(1, 1)), field(1, b"ex"), field(2, field(2, 1)))
    (only,) = jelly.scan(frame(options(version=2), *prefixed, spread)).frames()
    assert only.namespaces == [("ex", "a:s")]


def test_pieces_of_every_row_of_a_large_frame():
    """001-009: memory of merged pieces is given back row by row."""
    part = terms((LITERAL, literal("x" * 1000)), A, None) + terms(None, None, (LITERAL, field(1, b"y")))
    piece = row(2, part + terms(None, None, (LITERAL, field(2, b"en"))))
    assert read(*[piece] * 2000) == [f'"{"x" * 1000}" _:a "y"@en .'] * 2000


GROUP = b"\xa3\x06" + field(4, b"x") + b"\xab\x06\xac\x06" + b"\xa4\x06"  # field 100, with field 101 inside


def test_groups_and_unknown_fields_are_skipped():
    """000-120, 000-126: in frames, rows, statements, terms, entries, options and metadata."""
    unknown = GROUP + varint(99 << 3 | 1) + bytes(8) + varint(98 << 3 | 5) + bytes(4)
    unknown += varint(97 << 3) + b"\xff" * 9 + b"\x01"
    head = field(1, unknown + field(1, field(2, 1) + unknown + field(3, 1) + field(9, 16) + field(15, 1)) + unknown)
    entry = row(9, unknown + field(2, b"a:s") + unknown)
    body = unknown + field(1, unknown + field(2, 1) + unknown) + unknown
    body += terms(None, A, (LITERAL, unknown + literal("l")))
    data = frame(head, entry, unknown, row(2, body), field(15, unknown + field(1, b"k") + unknown + field(2, b"v")))
    (only,) = jelly.scan(data).frames()
    assert ([str(s) for s in only], only.metadata) == (['<a:s> _:a "l" .'], {"k": b"v"})
    begin, end, other = b"\xa3\x06", b"\xa4\x06", b"\xac\x06"
    for broken in (begin, begin + begin + end, begin + other, end, begin * 101 + end * 101):
        with pytest.raises(JellyFormatError, match="malformed"):
            read(row(2, broken + terms(A, A, A)))
    deep = begin * 100 + end * 100
    assert read(row(2, deep + terms(A, A, A))) == ["_:a _:a _:a ."]


@pytest.mark.parametrize("more", [0, 1 << 32, 5 << 32, 1 << 63])
def test_uint32_is_cut_off(more):
    """000-114: ids above 2**32 lose what is above, as everywhere."""
    rows = [row(9, field(1, 2 + more), field(2, b"s")), row(10, field(1, 1 + more), field(2, b"a:"))]
    rows.append(row(11, field(1, 1 + more), field(2, b"d:t")))
    literal_ = field(1, b"l") + field(3, 1 + more)
    statement = triple((IRI, field(1, 1 + more) + field(2, 2 + more)), A, (LITERAL, literal_))
    assert read(*rows, statement) == ['<a:s> _:a "l"^^<d:t> .']
    head = row(1, field(2, 1 + more), field(3, 1), field(9, 16 + more), field(10, 8 + more), field(15, 1 + more))
    assert jelly.read_options(frame(head)).max_name_table_size == 16


# ---- patches


def patch_of(*rows, strict=False, **settings):
    data = pc.frame(pc.options(**settings), *rows)
    return [str(operation) for patch in patches.loads(data, strict=strict) for operation in patch]


def test_a_patch_row_without_a_field():
    """004-021: a row must have exactly one field."""
    with pytest.raises(JellyFormatError, match="kind of the row is not set"):
        patch_of(b"\x0a\x00")


def test_graphs_in_patches_of_triples():
    """004-037, 004-038: the graph should be ignored; strict refuses it."""
    rows = [pc.add(g=(2, b"")), pc.name(), pc.namespace_add("x", pc.iri(1), (1, b"g")), pc.punctuation()]
    plain = [pc.add(g=None), pc.name(), pc.namespace_add("x", pc.iri(1), None), pc.punctuation()]
    assert patch_of(*rows, statement=1) == patch_of(*plain, statement=1)
    with pytest.raises(JellyFormatError, match="a graph is set in a patch of triples"):
        patch_of(*rows, statement=1, strict=True)
    (problem,) = validate_patches(pc.frame(pc.options(statement=1), *rows))
    assert "graph is set" in problem.message


def test_a_namespace_before_any_graph():
    """004-085: the graph must be set or repeated; Jelly-JVM writes none, so only strict refuses that."""
    rows = [pc.name(), pc.namespace_add("x", pc.iri(1), None), pc.punctuation()]
    assert len(patch_of(*rows)) == 1
    with pytest.raises(JellyFormatError, match="the graph is left out"):
        patch_of(*rows, strict=True)
    (problem,) = validate_patches(pc.frame(pc.options(), *rows))
    assert "before any graph" in problem.message
    after = [pc.name(), pc.add(), *rows[1:]]
    assert validate_patches(pc.frame(pc.options(), *after)) == []


def test_patch_validate_finds_what_is_not_announced(tmp_path):
    """004-067, 004-068: generalized statements and quoted triples, each with its place, by function and command."""
    literal_subject = pc.add(s=(2, pc.field(1, b"x")), p=(0, pc.iri(1)), o=(0, pc.iri(1)), g=(2, b""))
    quoted_subject = pc.add(s=(3, pc.terms((1, b"s"), (0, pc.iri(1)), (1, b"o"))), p=(0, pc.iri(1)), o=(1, b"o"))
    rows = [pc.name("a:s", 1), literal_subject, quoted_subject, pc.header("k", (3, pc.quoted(1))), pc.punctuation()]
    data = pc.frame(pc.options(star=False, generalized=False), *rows)
    problems = validate_patches(data)
    told = [(problem.row, problem.message) for problem in problems]
    assert (2, "subject is a literal, but generalized_statements is false") in told
    assert (3, "subject is a quoted triple, but rdf_star is false") in told
    assert (4, "value of a header is a quoted triple, but rdf_star is false") in told
    assert all(problem.offset is not None for problem in problems)
    assert validate_patches(pc.frame(pc.options(), *rows)) == []
    with pytest.raises(JellyFormatError, match="is false in the stream options"):
        patches.loads(data, strict=True)

    from click.testing import CliRunner

    from jelly.cli.commands import cli

    path = tmp_path / "x.jellyp"
    path.write_bytes(data)
    done = CliRunner().invoke(cli, ["validate", str(path)])
    assert done.exit_code == 1
    assert done.output.count("is false") == len(problems)


def test_patch_validate_lists_all():
    """004-068: rows of no kind, bad lines of RDF Patch, the missing end; none of these hides another."""
    data = pc.frame(pc.options(), b"\x0a\x00", pc.add(), b"\x0a\x00")
    messages = [problem.message for problem in validate_patches(data)]
    assert len(messages) == 3
    assert messages[-1] == "no punctuation row ends the last patch"
    found = validate_patches(b"A <a:s> .\nA <a:s> <a:p> <a:o> .\nQ .\n", format="rdfp")
    assert [problem.line for problem in found] == [1, 3]
