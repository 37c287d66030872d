"""Room batch: arrays that nobody can write, check(), the interner."""

from __future__ import annotations

import ctypes
import gc
import io
import pickle

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import patchcraft as pc
from support.craft import frame, metadata, options, triple
from support.statements import anything

import jelly
from jelly import IRI, BlankNode, Literal, Quad, QuotedTriple, Triple
from jelly._core.base.batch import Batch
from jelly._core.base.kinds import Kind
from jelly._core.terms.batch_builder import BatchBuilder, _Interner, _make_batch
from jelly._core.terms.materialize import Materializer

COLUMNS = ("s", "p", "o", "g", "op", "text", "start", "kind", "aux", "quoted", "frames")
IRI_KIND, BNODE, LITERAL, LANG, TYPED, TRIPLE, TEXT, LTR, RTL, VARIABLE, ANY = KINDS = tuple(map(int, Kind))

SOME = [
    Quad(IRI("a:s"), IRI("a:p"), Literal("o"), IRI("a:g")),
    Quad(BlankNode("b"), IRI("a:p"), Literal("chat", language="fr")),
    Quad(
        QuotedTriple(IRI("a:s"), IRI("a:p"), Literal("1", datatype="a:d")), IRI("a:p"), BlankNode("b"), BlankNode("g")
    ),
]


def some_batch() -> Batch:
    (batch,) = jelly.scan(jelly.dumps(SOME)).batches()
    return batch


def test_columns_are_views_that_cannot_be_written() -> None:
    batch = some_batch()
    for name in COLUMNS:
        array = getattr(batch, name)
        if array is None:
            continue
        assert isinstance(array, numpy.ndarray)
        assert not array.flags.writeable
        assert not array.flags.owndata
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
        if array.size:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
        again = getattr(batch, name)
        if array.size:
            assert again.__array_interface__["data"] == array.__array_interface__["data"]
        base = array
        while isinstance(base, numpy.ndarray):
            base = base.base
        assert memoryview(base).readonly
        with pytest.raises((BufferError, TypeError), match="read"):
            io.BytesIO(b"1234").readinto(base)


def test_types_of_the_columns() -> None:
    batch = some_batch()
    types = {name: getattr(batch, name).dtype.name for name in COLUMNS if getattr(batch, name) is not None}
    assert types == {
        "s": "int32",
        "p": "int32",
        "o": "int32",
        "g": "int32",
        "text": "uint8",
        "start": "int64",
        "kind": "int8",
        "aux": "int32",
        "quoted": "int32",
        "frames": "int64",
    }
    assert batch.quoted.shape == (1, 3)
    assert len(batch) == 3
    assert batch.g[1] == -1
    assert batch.arity == 4
    assert batch.op is None
    assert batch.nbytes > 100
    assert repr(batch) == f"<jelly.Batch: 3 quads, {batch.n_terms} terms, 1 frame ends>"


def test_columns_keep_the_batch_alive() -> None:
    arrays = {name: getattr(some_batch(), name) for name in COLUMNS}
    copies = {name: None if array is None else array.tolist() for name, array in arrays.items()}
    gc.collect()
    junk = [some_batch() for _ in range(50)]
    assert {name: None if array is None else array.tolist() for name, array in arrays.items()} == copies
    assert junk


def test_an_empty_batch() -> None:
    (batch,) = jelly.scan(jelly.dumps([])).batches()
    assert len(batch) == 0
    assert batch.g is None
    assert batch.start.tolist() == [0]
    assert batch.quoted.shape == (0, 3)
    assert batch.metadata == {}
    assert batch.namespaces == []
    batch.check()


def test_no_pickle() -> None:
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(some_batch())


def test_terms_for_looking_at() -> None:
    batch = some_batch()
    shown = {batch.term(i) for i in range(batch.n_terms)}
    assert {"<a:s>", "_:b", '"o"', '"chat"@fr', '"1"^^<a:d>', '<<( <a:s> <a:p> "1"^^<a:d> )>>', "fr"} <= shown
    for i in (-1, batch.n_terms, 2**31 - 1):
        with pytest.raises(IndexError):
            batch.term(i)
        with pytest.raises(IndexError):
            batch.term_text(i)
        with pytest.raises(IndexError):
            Materializer(batch).term(i)
    for rows in ((-1, 2), (0, 4), (2, 1)):
        with pytest.raises(IndexError):
            Materializer(batch).statements(*rows)


@given(st.lists(st.builds(Triple, anything, anything, anything), min_size=1, max_size=4))
def test_terms_in_words_are_those_of_objects(statements: list[Triple]) -> None:
    builder = BatchBuilder(3)
    for statement in statements:
        builder.add(statement)
    batch = builder.batch.unique()
    shown = [batch.term(term) for term in range(batch.n_terms)]
    assert shown == list(map(str, batch.terms()))
    # Different terms have different texts, but for labels that no syntax has.
    if not any("_:" in text for text in shown):
        terms = [text for text, kind in zip(shown, batch.kind, strict=True) if kind != Kind.TEXT]
        assert len({*terms}) == len(terms)


def test_quotes_and_line_ends_in_words() -> None:
    both = [Literal('a"@en', language="b"), Literal("a", language='en"@b'), Literal("x\ny"), IRI("a:> ")]
    builder = BatchBuilder(3)
    for term in both:
        builder.add((IRI("a:s"), IRI("a:p"), term))
    shown = [builder.batch.term(term) for term in builder.batch.o]
    assert shown == ['"a\\"@en"@b', '"a"@en"@b', '"x\\ny"', "<a:\\u003E\\u0020>"]
    inner = QuotedTriple(IRI("a:s"), IRI("a:p"), both[2])
    builder.add((QuotedTriple(inner, IRI("a:p"), inner), IRI("a:p"), Literal("x", language="ar", direction="rtl")))
    text = '<a:s> <a:p> "x\\ny"'
    assert builder.batch.term(builder.batch.s[-1]) == f"<<( << {text} >> <a:p> <<( {text} )>> )>>"
    tag = builder.batch.aux[builder.batch.o[-1]]
    assert builder.batch.term(tag) == "ar--rtl"


def test_metadata_belongs_to_frames() -> None:
    data = frame(options(), triple(), metadata("a", b"1"), metadata("b", b"")) + frame() + frame(metadata("a", b"2"))
    (batch,) = jelly.scan(data).batches()
    assert batch.metadata == {0: {"a": b"1", "b": b""}, 2: {"a": b"2"}}
    assert batch.frames.tolist() == [1, 1, 1]


# ---- check()

TERMS = [(IRI_KIND, -1, b"a:s"), (TEXT, -1, b"en"), (LANG, 1, b"l"), (TYPED, 0, b"t"), (TRIPLE, 0, b"")]
QUOTED = [(0, 0, 2)]


def test_check_passes() -> None:
    _make_batch(3).check()
    _make_batch(4, TERMS, [(0, 0, 2, -1), (4, 0, 3, 0)], QUOTED, [0, 1, 2, 2], [(1, 0)]).check()
    some_batch().check()


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("unknown kind", {"terms": [(0, -1, b"")]}),
        ("unknown kind", {"terms": [(12, -1, b"")]}),
        ("is ANY and has a text", {"terms": [(ANY, -1, b"x")]}),
        ("has an aux of its own", {"terms": [(IRI_KIND, -1, b"a:"), (VARIABLE, 0, b"x")]}),
        ("base direction in its language tag", {"terms": [(TEXT, -1, b"ar--rtl"), (LANG, 0, b"")]}),
        ("a text that is no term", {"terms": [(RTL, -1, b"ar")], "rows": [(0, 0, 0, 0)]}),
        ("utf-8", {"terms": [(IRI_KIND, -1, b"\xff")]}),
        ("utf-8", {"terms": [(IRI_KIND, -1, b"\xc3"), (IRI_KIND, -1, b"\xa4")]}),  # valid as a whole only
        ("no language or datatype", {"terms": [(LANG, -1, b"")]}),
        ("no language or datatype", {"terms": [(LANG, 0, b"")]}),
        ("no language or datatype", {"terms": [(TYPED, 7, b"")]}),
        ("no language or datatype", {"terms": [(TEXT, -1, b"d"), (TYPED, 0, b"")]}),
        ("out of range", {"terms": [(TRIPLE, 0, b"")]}),
        ("out of range", {"terms": [(TRIPLE, -1, b"")]}),
        ("terms that are none", {"terms": [(TRIPLE, 0, b"")], "quoted": [(0, 0, 0)]}),
        ("terms that are none", {"terms": [(TRIPLE, 0, b"")], "quoted": [(-1, -1, -1)]}),
        ("terms that are none", {"terms": [(TEXT, -1, b""), (TRIPLE, 0, b"")], "quoted": [(0, 0, 0)]}),
        ("aux of its own", {"terms": [(IRI_KIND, 0, b"")]}),
        ("aux of its own", {"terms": [(BNODE, 0, b"")]}),
        ("aux of its own", {"terms": [(LITERAL, 0, b"")]}),
        ("aux of its own", {"terms": [(TEXT, 0, b"")]}),
        ("column s has a term id out of range", {"rows": [(0, 0, 0, 0)]}),
        ("column s has a term id out of range", {"terms": TERMS[:1], "rows": [(-1, 0, 0, 0)]}),
        ("column p has a term id out of range", {"terms": TERMS[:1], "rows": [(0, -2, 0, 0)]}),
        ("column o has a term id out of range", {"terms": TERMS[:1], "rows": [(0, 0, 1, 0)]}),
        ("column g has a term id out of range", {"terms": TERMS[:1], "rows": [(0, 0, 0, -2)]}),
        ("column g has a term id out of range", {"terms": TERMS[:1], "rows": [(0, 0, 0, 9)]}),
        ("column o has a text", {"terms": TERMS[:2], "rows": [(0, 0, 1, 0)]}),
        ("frame ends", {"frames": [1]}),
        ("frame ends", {"terms": TERMS[:1], "rows": [(0, 0, 0, 0)], "frames": [1, 0]}),
        ("namespace", {"terms": TERMS[:2], "namespaces": [(0, 1)]}),
        ("namespace", {"terms": TERMS[:1], "namespaces": [(0, 1)]}),
    ],
)
def test_check_fails(message: str, parts: dict) -> None:
    with pytest.raises(ValueError, match=message):
        _make_batch(4, **parts).check()


# ---- the interner


def test_interner_finds_again() -> None:
    interner = _Interner()
    ids = [interner.intern(IRI_KIND, -1, b"t%d" % i) for i in range(10000)]
    assert ids == list(range(10000))
    again = [interner.intern(IRI_KIND, -1, b"t%d" % i) for i in range(10000)]
    # A bounded cache: nearly all are found, none wrongly.
    assert sum(a == b for a, b in zip(ids, again, strict=True)) > 9000
    for i, term in enumerate(again):
        assert interner.batch.term_text(term) == f"t{i}"


def test_interner_tells_kinds_apart() -> None:
    interner = _Interner()
    tag = interner.intern(TEXT, -1, b"x")
    keys = [(IRI_KIND, -1), (BNODE, -1), (LITERAL, -1), (TEXT, -1), (LANG, tag), (TYPED, 4), (LTR, -1), (RTL, -1)]
    keys += [(VARIABLE, -1), (ANY, -1)]
    ids = [interner.intern(kind, aux, b"x") for kind, aux in keys]
    assert len(set(ids)) == len(keys)
    assert [interner.intern(kind, aux, b"x") for kind, aux in keys] == ids
    assert ids[3] == tag


def test_interner_keeps_long_texts_apart() -> None:
    interner = _Interner()
    assert interner.intern(LITERAL, -1, b"x" * 512) == interner.intern(LITERAL, -1, b"x" * 512)
    assert interner.intern(LITERAL, -1, b"x" * 513) != interner.intern(LITERAL, -1, b"x" * 513)


@given(
    st.lists(
        st.tuples(st.sampled_from([IRI_KIND, BNODE, LITERAL]), st.binary(max_size=20).map(lambda b: b.hex().encode())),
        max_size=300,
    )
)
def test_interner_is_never_wrong(terms: list[tuple[int, bytes]]) -> None:
    interner = _Interner()
    for kind, text in terms * 2:
        term = interner.intern(kind, -1, text)
        assert interner.batch.kind[term] == kind
        assert interner.batch.term_text(term) == text.decode()
    interner.batch.check()


def test_text_limit() -> None:
    interner = _Interner(100)
    assert interner.intern(LITERAL, -1, b"x" * 60) == 0
    assert interner.intern(LITERAL, -1, b"y" * 41) == -298  # TEXT_LIMIT
    assert interner.intern(LITERAL, -1, b"y" * 40) == 1
    assert interner.batch.text.nbytes == 100


# ---- patches, sizes, and arrays that are alive


def test_bytes_of_operations() -> None:
    from jelly._core.terms.operations import Add, OperationBatchBuilder

    collector = OperationBatchBuilder(3)
    statement = jelly.Triple(*[jelly.IRI("a:s")] * 3)
    for _ in range(10):
        collector.add(Add(statement))
    batch = collector.batch
    names = ("s", "p", "o", "op", "text", "start", "kind", "aux", "quoted", "frames")
    assert batch.nbytes == sum(getattr(batch, name).nbytes for name in names)


def test_check_of_patches() -> None:
    data = frame(
        pc.options(pc.PUNCTUATED, pc.TRIPLES), pc.name("a:x"), pc.header("id", (1, b"b")), pc.start(),
        pc.namespace_add("e", pc.iri(1)), pc.add(g=None), pc.commit(), pc.punctuation(),
    )  # fmt: skip
    (batch,) = jelly.Decoder(patch=True).feed(data)
    assert batch.op.tolist() == [14, 6, 4, 2, 7, 15]
    batch.check()

    def changed(column: str, row: int, value: int) -> None:
        (batch,) = jelly.Decoder(patch=True).feed(data)
        array = getattr(batch, column)
        address, size = array.ctypes.data + row * array.itemsize, array.itemsize
        ctypes.memmove(address, value.to_bytes(size, "little", signed=True), size)
        batch.check()

    n = batch.n_terms
    for column, row, value, message in (
        ("op", 1, 9, "unknown operation"),
        ("op", 1, 1, "unknown operation"),
        ("op", 5, 16, "unknown operation"),
        ("s", 0, n, "out of range"),
        ("o", 0, -2, "out of range"),
        ("o", 0, -1, "column o has a term id out of range"),
        ("p", 0, int(batch.p[2]), "operation 14 has a term in column p"),
        ("s", 1, 0, "operation 6 has a term in column s"),
        ("o", 1, int(batch.o[3]), "operation 6 has a term in column o"),
        ("s", 2, int(batch.s[3]), "no name or no IRI in column s"),
        ("p", 2, int(batch.s[3]), "no name or no IRI in column p"),
        ("p", 2, -1, "column p has a term id out of range"),
        ("s", 3, -1, "out of range"),
        ("o", 5, 0, "operation 15 has a term in column o"),
    ):
        with pytest.raises(ValueError, match=message):
            changed(column, row, value)


def test_arrays_of_a_batch_that_grows() -> None:
    """An array never shows memory that is not its own: adding is refused while one is alive, clear() begins anew."""
    from jelly._core.terms.batch_builder import BatchBuilder
    from jelly._core.terms.operations import Add, OperationBatchBuilder, Start

    statement = jelly.Triple(*[jelly.IRI("a:s")] * 3)
    collector = BatchBuilder(3)
    collector.add(statement)
    batch, kinds = collector.batch, collector.batch.kind
    for add in (
        lambda: collector.add(statement),
        lambda: collector.extend(iter([statement]), 10),
        lambda: collector.namespace("e", "http://e/"),
        lambda: collector.end_frame(),
    ):
        with pytest.raises(BufferError, match="arrays of this Batch are alive"):
            add()
    collector.clear()
    assert collector.batch is not batch
    for i in range(10_000):
        collector.add([jelly.IRI(f"a:{i}")] * 3)
    assert (kinds.tolist(), len(batch), len(collector)) == ([1], 1, 10_000)
    del kinds
    same = collector.batch
    collector.clear()
    assert collector.batch is same

    operations = OperationBatchBuilder(3)
    operations.add(Add(statement))
    codes = operations.batch.op
    for operation in (Start(), Add(statement)):
        with pytest.raises(BufferError):
            operations.add(operation)
    operations.clear()
    for _ in range(10_000):
        operations.add(Start())
    assert (codes.tolist(), len(operations.batch.op)) == ([2], 10_000)


def test_what_term_ids_mean() -> None:
    """Equal terms may have several ids, as the docstring says: they are found again as far as that costs little."""
    text = jelly.Batch.__doc__ or ""
    assert "equal terms may have different ids" in " ".join(text.split())
