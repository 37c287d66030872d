"""Room fault: every code that there is, produced by input that has it, with its class, message and place."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from support.craft import (
    BNODE,
    GRAPHS,
    IRI,
    LITERAL,
    QUADS,
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
    namespace,
    options,
    prefix,
    quad,
    quoted,
    row,
    terms,
    triple,
    varint,
)

import jelly
from jelly import (
    JellyError,
    JellyFormatError,
    JellyLimitError,
    JellyOptionsError,
    JellySyntaxError,
    JellyTruncatedError,
    JellyUnsupportedError,
    StreamOptions,
)
from jelly._core.base.fault import _codes, _fault
from jelly._core.terms.batch_builder import _make_batch

# ---- reading: code, class, part of the message, rows before the bad one, the bad row, byte in the bad row
#
# A row is 0A, length, tag, length, body: its body begins at byte 4.

C = b"\xff"
ANY = options()

READING: dict[str, tuple[int, type[JellyError], str, list[bytes], bytes, int]] = {
    "row longer than its frame": (-299, JellyFormatError, "malformed", [ANY], b"\x0a\x05\x12", 2),
    "row without a length": (-299, JellyFormatError, "malformed", [ANY], b"\x0a", 1),
    "field 0": (-299, JellyFormatError, "malformed", [ANY], b"\x02\x01x", 1),
    "group without an end": (-299, JellyFormatError, "malformed", [ANY], b"\x13\x0c", 2),
    "wire type 6": (-299, JellyFormatError, "malformed", [ANY], b"\x0e\x00", 1),
    "tag of ten bytes": (-299, JellyFormatError, "malformed", [ANY], C * 10, 9),
    "unknown field cut off": (-299, JellyFormatError, "malformed", [ANY], b"\x21\x00", 1),
    "name id of eleven bytes": (
        -299,
        JellyFormatError,
        "malformed",
        [ANY],
        row(9, b"\x08" + C * 10 + b"\x01"),
        4 + 1 + 9,
    ),
    "name id of ten bytes": (
        -283,
        JellyFormatError,
        f"name entry {2**32 - 1}",
        [ANY],
        row(9, b"\x08" + C * 9 + b"\x01"),
        -1,
    ),
    "iri id of eleven bytes": (
        -299,
        JellyFormatError,
        "malformed",
        [ANY, name()],
        triple(o=(IRI, b"\x10" + C * 10 + b"\x01")),
        4 + 6 + 2 + 1 + 9,
    ),
    "iri id of ten bytes": (
        -280,
        JellyFormatError,
        f"name {2**32 - 1} was never",
        [ANY, name()],
        triple(o=(IRI, b"\x10" + C * 9 + b"\x01")),
        -1,
    ),
    "term longer than the statement": (-299, JellyFormatError, "malformed", [ANY], row(2, b"\x12\x05s"), 4),
    "literal cut off": (-299, JellyFormatError, "malformed", [ANY], triple(o=(LITERAL, b"\x0a\x05l")), 4 + 6 + 2 + 2),
    "metadata cut off": (-299, JellyFormatError, "malformed", [ANY], b"\x7a\x03\x0a\x05k", 4),
    "options cut off": (-299, JellyFormatError, "malformed", [], row(1, b"\x0a\x05n"), 6),
    "name not UTF-8": (-297, JellyFormatError, "not valid UTF-8", [ANY], name(b"a\xff"), 6),
    "prefix not UTF-8": (-297, JellyFormatError, "not valid UTF-8", [ANY], prefix(b"\xc0\x80"), 6),
    "datatype not UTF-8": (-297, JellyFormatError, "not valid UTF-8", [ANY], datatype(b"\xed\xa0\x80"), 6),
    "stream name not UTF-8": (-297, JellyFormatError, "not valid UTF-8", [], options(name=b"\xff"), 6),
    "blank node not UTF-8": (-297, JellyFormatError, "not valid UTF-8", [ANY], triple(s=(BNODE, b"\xe2\x82")), 6),
    "literal not UTF-8": (
        -297,
        JellyFormatError,
        "not valid UTF-8",
        [ANY],
        triple(o=(LITERAL, literal(b"\xf4\x90\x80\x80"))),
        4 + 6 + 2 + 2,
    ),
    "language not UTF-8": (
        -297,
        JellyFormatError,
        "not valid UTF-8",
        [ANY],
        triple(o=(LITERAL, literal(b"", b"\xff"))),
        4 + 6 + 2 + 2 + 2,
    ),
    "namespace not UTF-8": (-297, JellyFormatError, "not valid UTF-8", [ANY, name()], namespace(b"\xff", iri(1)), 6),
    "metadata key not UTF-8": (-297, JellyFormatError, "not valid UTF-8", [ANY], metadata(b"\xff", b"\xff"), 4),
    "no options": (-294, JellyFormatError, "does not start with a stream options row", [], triple(), 4),
    "options later": (-294, JellyFormatError, "does not start with a stream options row", [], name(), 4),
    "row of no kind": (-266, JellyFormatError, "not set or unknown to this version", [ANY], field(1, b""), 2),
    "row of a later kind": (-266, JellyFormatError, 'unknown_rows="skip"', [ANY], row(12, b"x"), 2),
    "empty language": (-265, JellyFormatError, "empty language tag", [ANY], triple(o=(LITERAL, literal("x", ""))), 12),
    "options changed": (-293, JellyFormatError, "differs from the first", [ANY], options(names=17), 4),
    "options renamed": (-293, JellyFormatError, "differs from the first", [ANY], options(name=b"x"), 4),
    "physical type 0": (-292, JellyUnsupportedError, "physical stream type 0", [], options(0), 4),
    "physical type 4": (-292, JellyUnsupportedError, "physical stream type 4", [], options(4), 4),
    "logical type 5": (-291, JellyFormatError, "logical stream type 5", [], options(TRIPLES, 5), 4),
    "logical type 10": (-291, JellyFormatError, "logical stream type 10", [], options(TRIPLES, 10), 4),
    "version 0": (
        -290,
        JellyUnsupportedError,
        "version 0 is not supported: expected 1 to 3",
        [],
        options(version=0),
        4,
    ),
    "version 4": (-290, JellyUnsupportedError, "version 4 is not", [], options(version=4), 4),
    "version 10000": (-290, JellyUnsupportedError, "version 10000 is not", [], options(version=10000), 4),
    "ten million names": (
        -289,
        JellyLimitError,
        "name table of 10000000 entries is above the limit of 4096; raise max_names",
        [],
        options(names=10_000_000),
        4,
    ),
    "ten million prefixes": (
        -288,
        JellyLimitError,
        "prefix table of 10000000 entries is above the limit of 1024",
        [],
        options(prefixes=10_000_000),
        4,
    ),
    "ten million datatypes": (
        -287,
        JellyLimitError,
        "datatype table of 10000000 entries is above the limit of 256",
        [],
        options(datatypes=10_000_000),
        4,
    ),
    "2**63 - 1 names": (-289, JellyLimitError, f"{2**32 - 1} entries", [], options(names=2**63 - 1), 4),
    "quad among triples": (-285, JellyFormatError, "row field 3 is not allowed", [ANY], quad(), 4),
    "graph among triples": (-285, JellyFormatError, "row field 4 is not allowed", [ANY], graph_start(), 4),
    "graph end among triples": (-285, JellyFormatError, "of physical type 1", [ANY], graph_end(), 4),
    "triple among quads": (-285, JellyFormatError, "of physical type 2", [options(QUADS)], triple(), 4),
    "quad among graphs": (-285, JellyFormatError, "of physical type 3", [options(GRAPHS)], quad(), 4),
    "name entry 17": (-283, JellyFormatError, "name entry 17 is outside the table of 16", [ANY], name(id=17), 4),
    "name entry 0 behind the last": (-283, JellyFormatError, "name entry 17", [ANY, name(id=16)], name(), 4),
    "prefix entry 9": (-282, JellyFormatError, "prefix entry 9 is outside the table of 8", [ANY], prefix(id=9), 4),
    "prefix where there are none": (-282, JellyFormatError, "table of 0", [options(prefixes=0)], prefix(), 4),
    "datatype entry 9": (-281, JellyFormatError, "datatype entry 9 is outside", [ANY], datatype(id=9), 4),
    "name never defined": (-280, JellyFormatError, "name 1 was never defined", [ANY], triple((IRI, b"")), 6),
    "name beyond the table": (-280, JellyFormatError, "name 99 was never", [ANY], triple((IRI, iri(99))), 6),
    "name 2**63 - 1": (-280, JellyFormatError, "was never defined", [ANY], triple((IRI, iri(2**63 - 1))), 6),
    "name in a gap": (-280, JellyFormatError, "name 3 was never", [ANY, name(id=5)], triple((IRI, iri(3))), 6),
    "prefix never defined": (-279, JellyFormatError, "prefix 1 was never", [ANY, name()], triple((IRI, iri(1, 1))), 6),
    "datatype never defined": (
        -278,
        JellyFormatError,
        "datatype 1 was never",
        [ANY],
        triple(o=(LITERAL, literal(datatype=1))),
        12,
    ),
    "datatype 0": (
        -278,
        JellyFormatError,
        "datatype 0 was never",
        [ANY, datatype()],
        triple(o=(LITERAL, literal(datatype=0))),
        12,
    ),
    "no subject yet": (-276, JellyFormatError, "the subject is left out", [ANY], triple(s=None), 4),
    "no predicate yet": (-276, JellyFormatError, "the predicate is left out", [ANY], triple(p=None), 4),
    "no object yet": (-276, JellyFormatError, "the object is left out", [ANY], triple(o=None), 4),
    "no graph yet": (-276, JellyFormatError, "the graph is left out", [options(QUADS)], quad(g=None), 4),
    "quoted without subject": (
        -275,
        JellyFormatError,
        "a quoted triple has no subject",
        [ANY, triple()],
        triple(s=(QUOTED, terms(None, (BNODE, b"p"), (BNODE, b"o")))),
        12,
    ),
    "quoted without object": (
        -275,
        JellyFormatError,
        "a quoted triple has no object",
        [ANY, triple()],
        triple(s=(QUOTED, terms((BNODE, b"s"), (BNODE, b"p"), None))),
        12,
    ),
    "nested 65 deep": (-273, JellyLimitError, "deeper than 64", [ANY], triple(s=(QUOTED, quoted(65))), -1),
    "graph in a graph": (
        -272,
        JellyFormatError,
        "inside another graph",
        [options(GRAPHS), graph_start()],
        graph_start(),
        4,
    ),
    "graph ends outside": (-271, JellyFormatError, "outside a graph", [options(GRAPHS)], graph_end(), 4),
    "graph ends twice": (
        -271,
        JellyFormatError,
        "outside a graph",
        [options(GRAPHS), graph_start(), graph_end()],
        graph_end(),
        4,
    ),
    "triple outside a graph": (-271, JellyFormatError, "outside a graph", [options(GRAPHS)], triple(), 4),
    "graph without a name": (-270, JellyFormatError, "names no graph", [options(GRAPHS)], graph_start(None), 4),
    "namespace without an IRI": (-268, JellyFormatError, "no IRI", [ANY, name()], namespace("x", None), 7),
}


STRICT: dict[str, tuple[int, str, list[bytes], bytes, int]] = {
    "logical type 2": (-286, "logical stream type 2 does not go", [], options(TRIPLES, 2), 4),
    "logical type 14": (-286, "logical stream type 14 does not go", [], options(TRIPLES, 14), 4),
    "logical type 1": (-286, "with physical stream type 2", [], options(QUADS, 1), 4),
    "logical type 13": (-286, "with physical stream type 3", [], options(GRAPHS, 13), 4),
    "blank predicate": (-284, "generalized_statements is false", [options(generalized=False)], triple(), 4 + 5),
    "quoted object": (
        -274,
        "rdf_star is false",
        [options(star=False)],
        triple(o=(QUOTED, terms((BNODE, b"s"), (BNODE, b"p"), (BNODE, b"o")))),
        4 + 8,
    ),
}


@pytest.mark.parametrize("case", STRICT)
def test_strict_reading(case: str) -> None:
    code, message, before, bad, at = STRICT[case]
    data = frame(*before, bad)
    with pytest.raises(JellyFormatError, match=message) as caught:
        jelly.loads(data, strict=True)
    assert caught.value.row == len(before)
    assert caught.value.offset == len(data) - len(bad) + at
    assert type(_fault(code)) is JellyFormatError
    with pytest.warns(jelly.errors.OptionsWarning):
        jelly.loads(data)


@pytest.mark.parametrize("case", READING)
def test_reading(case: str) -> None:
    code, kind, message, before, bad, at = READING[case]
    # A statement and a frame before the bad row show that it is they that are counted.
    first = [*before, triple()] if before == [ANY] and code != -276 else before
    for framed in (frame(*first) + frame(bad), frame(*first, bad)):
        if not first and framed == frame() + frame(bad):
            base, number, n_row = 2, 1, 0
        elif framed == frame(*first) + frame(bad):
            base = len(frame(*first)) + len(varint(len(bad)))
            number, n_row = 1, 0
        else:
            base = len(framed) - len(bad)
            number, n_row = 0, len(first)
        found: list[object] = []
        with pytest.raises(JellyError) as caught:
            found.extend(jelly.read(framed))
        error = caught.value
        assert type(error) is kind
        assert re.search(re.escape(message), error.reason)
        assert (error.frame, error.row) == (number, n_row)
        if at >= 0:
            assert error.offset == base + at
        else:
            assert base <= error.offset <= base + len(bad)
        assert len(found) == sum(r == triple() for r in first)
    assert type(_fault(code)) is kind


# ---- faults that need more than rows


def raises(kind: type[BaseException], message: str, call: Callable[[], object]) -> JellyError:
    with pytest.raises(kind, match=message) as caught:
        call()
    assert type(caught.value) is kind
    return caught.value  # type: ignore[return-value]


def test_text_limit() -> None:
    # One statement of 768 different IRIs that share a prefix of 1 MB.
    body = terms((IRI, b""), (IRI, b""), (IRI, b""))
    for _ in range(8):
        body = terms((QUOTED, body), (QUOTED, body), (IRI, b""))
    rows = [name(b"%d" % i) for i in range(1600)]
    data = frame(options(names=1600), prefix(b"x" * (1 << 20)), *rows, triple((IRI, iri(1, 1))), triple((QUOTED, body)))
    found = []
    with pytest.raises(JellyLimitError, match=f"the text of one batch would pass {1 << 28} bytes") as caught:
        found.extend(jelly.scan(data).batches())
    assert [len(batch) for batch in found] == [1]
    assert (caught.value.frame, caught.value.row) == (0, 1603)


def test_frame_limit() -> None:
    data = frame(options(), triple())
    error = raises(
        JellyLimitError,
        f"{len(data) - 1} bytes is above the limit of 30; raise max_frame_bytes",
        lambda: jelly.loads(data, max_frame_bytes=30),
    )
    assert (error.frame, error.row, error.offset) == (0, None, 0)


def test_truncated() -> None:
    data = frame(options()) + frame(triple())
    error = raises(JellyTruncatedError, "ends inside a frame: 1 more bytes", lambda: jelly.loads(data[:-1]))
    assert (error.frame, error.row, error.offset) == (1, None, len(data) - 1)
    error = raises(JellyFormatError, "does not start with a stream options row", lambda: jelly.loads(b""))
    assert (error.frame, error.row, error.offset) == (0, None, 0)


def test_table_bytes() -> None:
    big = b"x" * (1 << 22)
    rows = [name(big, i) for i in range(1, 17)]
    error = raises(JellyLimitError, f"above the limit of {1 << 26}", lambda: jelly.loads(frame(options(), *rows)))
    assert (error.frame, error.row) == (0, 13)


def test_not_keyframe() -> None:
    known = StreamOptions(1, max_name_table_size=16, max_prefix_table_size=8, generalized_statements=True, version=1)

    def decode(*rows: bytes) -> None:
        decoder = jelly.Decoder(options=known, delimited=True)
        list(decoder.feed(frame(*rows)))

    for rows in ([name()], [prefix()], [datatype()], [name(id=1), prefix(id=1), triple((IRI, iri(1)))]):
        error = raises(JellyFormatError, "not a keyframe", lambda rows=rows: decode(*rows))
        assert error.row == len(rows) - 1
    decode(name(id=1), prefix(id=1), triple((IRI, iri(1, 1))))


# ---- writing

X = [(1, -1, b"a:x"), (2, -1, b"b"), (3, -1, b"l"), (4, 4, b"l"), (7, -1, b"en"), (5, 0, b"t"), (6, 0, b"")]
IRI_, BNODE_, PLAIN, LANG, TEXT, TYPED, TRIPLE = range(7)


def encode(rows: list[tuple[int, ...]], arity: int = 4, names: list[tuple[int, int]] = [], **changes: object) -> None:  # noqa: B006
    settings = {"physical_type": 2 if arity == 4 else 1, "max_name_table_size": 8, "rdf_star": True} | changes
    encoder = jelly.Encoder(StreamOptions(**settings))
    batch = _make_batch(arity, X, rows, [(0, 0, 0)], namespaces=names)
    encoder.encode(batch)
    encoder.close()


WRITING: dict[str, tuple[int, str, list[tuple[int, ...]], dict]] = {
    "literal subject": (-242, "a literal as subject needs generalized_statements", [(PLAIN, 0, 0, -1)], {}),
    "literal predicate": (-242, "a literal as predicate needs", [(0, LANG, 0, -1)], {}),
    "blank predicate": (-242, "a blank node as predicate needs", [(0, BNODE_, 0, -1)], {}),
    "quoted predicate": (-242, "a quoted triple as predicate needs", [(0, TRIPLE, 0, -1)], {}),
    "literal graph": (-242, "a literal as graph needs", [(0, 0, 0, TYPED)], {}),
    "quoted subject": (-241, "a quoted triple as subject needs rdf_star", [(TRIPLE, 0, 0, -1)], {"rdf_star": False}),
    "typed": (-240, "max_datatype_table_size above 0", [(0, 0, TYPED, -1)], {"max_datatype_table_size": 0}),
    "named graph": (-237, "a quad in a named graph", [(0, 0, 0, 0)], {"physical_type": 1}),
}


@pytest.mark.parametrize("case", WRITING)
def test_writing(case: str) -> None:
    code, message, rows, changes = WRITING[case]
    error = raises(JellyOptionsError, message, lambda: encode([(0, 0, 0, -1), *rows], **changes))
    assert (error.frame, error.row, error.offset) == (0, 1, None)


def test_full_tables() -> None:
    terms_ = [(1, -1, b"a:%d" % i) for i in range(12)]
    quoted_ = [(0, 1, 2), (3, 4, 5), (6, 7, 8)]
    batch = _make_batch(3, [*terms_, *((6, i, b"") for i in range(3))], [(12, 13, 14)], quoted_)
    settings = {"max_name_table_size": 8, "rdf_star": True, "generalized_statements": True}
    raises(
        JellyOptionsError,
        r"more names than the name table holds \(8\)",
        lambda: jelly.Encoder(StreamOptions(**settings)).encode(batch),
    )
    typed = [(1, -1, b"a:0"), (1, -1, b"a:1"), (5, 0, b"x"), (5, 1, b"x")]
    raises(
        JellyOptionsError,
        r"more datatypes than the datatype table holds \(1\)",
        lambda: jelly.Encoder(StreamOptions(**settings, max_datatype_table_size=1)).encode(
            _make_batch(3, typed, [(2, 0, 3)])
        ),
    )


def test_namespaces_off() -> None:
    raises(JellyOptionsError, "need version=2", lambda: encode([(0, 0, 0, -1)], names=[(TEXT, IRI_)], version=1))
    encode([(0, 0, 0, -1)], names=[(TEXT, IRI_)])


@pytest.mark.parametrize(
    "wrong",
    [(-1, 0, 0, -1), (0, 7, 0, -1), (0, 0, TEXT, -1), (0, 0, 0, 99), (0, 0, -9, -1), (0, 0, 0, -9)],
)
def test_bad_terms(wrong: tuple[int, ...]) -> None:
    error = raises(JellyFormatError, "which is not a term of the Batch", lambda: encode([(0, 0, 0, -1), wrong]))
    assert error.row == 1


def test_bad_namespaces() -> None:
    for names in ([(99, 0)], [(TEXT, -1)], [(TEXT, BNODE_)], [(-1, 0)]):
        raises(JellyFormatError, "not a term of the Batch", lambda names=names: encode([], names=names))


def test_one_frame() -> None:
    def two_frames() -> None:
        encoder = jelly.Encoder(StreamOptions(physical_type=1, logical_type=3), delimited=False)
        encoder.encode(_make_batch(3, X, [(0, 0, 0)] * 2, frames=[1, 2]))

    raises(JellyOptionsError, "holds one frame only", two_frames)


def test_depth_of_writing() -> None:
    def nested(depth: int) -> bytes:
        terms_ = [(1, -1, b"a:x"), *((6, i, b"") for i in range(depth))]
        quoted_ = [(i, 0, 0) for i in range(depth)]
        return jelly.Encoder(StreamOptions(rdf_star=True)).encode(_make_batch(3, terms_, [(depth, 0, 0)], quoted_))

    nested(64)
    raises(JellyLimitError, "deeper than 64", lambda: nested(65))
    raises(JellyLimitError, "deeper than 64", lambda: nested(10000))


# ---- text, whose room has tests of its own

TEXT_CASES = {
    -229: "<a> nonsense",
    -228: "<a> <b> <c> ;",
    -227: "<a> <b> <c> . <d>",
    -226: "<a> <b> <c> <d> .",
    -225: "<a> <b> <c\n",
    -222: '<a> <b> "c\n',
    -221: '<a> <b> "\\q" .',
    -220: '<a> <b> "\\u00GG" .',
    -219: '<a> <b> "\\uD800" .',
    -218: "_ <b> <c> .",
    -217: '<a> <b> "c"@ .',
    -216: '<a> <b> "c"^ .',
    -214: b'<a> <b> "\xff" .',
    -213: "<< <a> <b> <c> > <b> <c> .",
    -211: "<a> <b> <c>",
}
STRICT_CASES = {-224: "<a:{> <b:b> <c:c> .", -223: "<a> <b> <c> .", -215: '"a" <b:b> <c:c> .'}


@pytest.mark.parametrize("code", [*TEXT_CASES, *STRICT_CASES])
def test_text(code: int) -> None:
    strict = code in STRICT_CASES
    text = (TEXT_CASES | STRICT_CASES)[code]
    data = text if isinstance(text, bytes) else text.encode()
    good = b"<a:a> <b:b> <c:c> .\n"
    found = []
    with pytest.raises(JellySyntaxError if code != -211 else JellyTruncatedError) as caught:
        found.extend(jelly.read(good + data, format="nt", strict=strict))
    assert type(caught.value) is type(_fault(code))
    assert caught.value.line == 2
    assert len(found) == 1


# ---- the list of all

# Each has a test above by name, or the reason why none can make it.
ELSEWHERE = {
    -298: test_text_limit,
    -296: test_frame_limit,
    -295: test_truncated,
    -277: test_table_bytes,
    -269: "tests of tables and of RDF Thrift: a literal with a language and a datatype",
    -267: test_not_keyframe,
    -264: "tests of inspect: max_frames",
    -239: test_full_tables,
    -238: test_full_tables,
    -236: test_namespaces_off,
    -235: test_bad_terms,
    -234: test_one_frame,
    -233: "tests of writing columns: what they cannot hold",
    -232: "tests of writing columns: what they cannot hold",
    -231: "tests of writing columns: the announced RDF version",
    -230: "tests of writing columns: what they cannot hold",
    -212: "tests of the text room: max_line_bytes",
    -210: "tests of the text room: VERSION lines of N-Triples 1.2",
    -209: "tests of the text room: TextWriter, where a fault of the Batch comes before it",
    -208: "tests of the text room: TextWriter, where a fault of the Batch comes before it",
    -172: "tests of message logs: max_message_bytes",
    -171: "tests of message logs: MESSAGE that is not announced",
    -170: "tests of message logs: MESSAGE where comments delimit",
    -169: "tests of canonicalization: test_canonical.py",
    -168: "tests of canonicalization: test_canonical.py",
    -167: "tests of canonicalization: test_canonical.py",
    -134: "tests of Jelly-SPARQL: test_jelly_sparql.py",
    -135: "tests of kinds: tests/core/base/test_kinds.py",
    **dict.fromkeys(range(-207, -194), "tests of the columns: ArrowExporter and ArrowImporter"),
    **dict.fromkeys(range(-263, -242), "tests of the patch rooms: tests/core/jelly/test_patch.py"),
    **dict.fromkeys(range(-194, -172), "tests of RDF Binary: test_binary.py"),
    **dict.fromkeys(range(-263, -245), "tests of patches: test_patch.py"),
    **dict.fromkeys(range(-166, -137), "tests of Jelly-RDF 1.2: test_columns.py"),
    -137: "tests of quoted triples that share their parts: test_shared_parts.py",
    -136: "as many terms as a Batch can have take more memory than a test may use",
    -123: "tests of base directions: tests/formats/test_direction.py",
    **dict.fromkeys(range(-133, -123), "tests/results, by the texts of results: each code has several messages"),
    -300: "NO_MEMORY becomes MemoryError and comes only where malloc fails",
}


def test_every_code_has_a_test() -> None:
    covered = {case[0] for case in READING.values()} | {case[0] for case in WRITING.values()}
    covered |= {case[0] for case in STRICT.values()}
    covered |= {*ELSEWHERE, *TEXT_CASES, *STRICT_CASES}
    assert covered >= set(_codes())
    assert covered - set(_codes()) == {-300}


def test_no_memory_and_unknown_codes() -> None:
    assert type(_fault(-300)) is MemoryError
    assert str(_fault(-999)) == "unknown fault -999 (frame 1, row 2, byte 3)"


@pytest.mark.parametrize("code", _codes())
def test_messages_are_whole(code: int) -> None:
    for a, b in ((0, 0), (3, 2), (-1, -1), (2**63 - 1, -(2**63))):
        error = _fault(code, a, b)
        assert isinstance(error, JellyError)
        assert "{" not in error.reason.replace("'{'", "")
        assert (error.frame, error.row, error.offset) == (1, 2, 3)
        assert str(error).endswith("(frame 1, row 2, byte 3)")


def test_no_code_has_two_messages() -> None:
    assert len(_codes()) == len(set(_codes()))
