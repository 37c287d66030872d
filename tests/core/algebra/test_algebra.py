"""The algebra of Batches: rows selected, hashed, compared and numbered; ids over many Batches; patches."""

from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.chance import many
from support.oracle import statement as as_jelly
from support.strategies import streams

import jelly
from jelly import IRI, BlankNode, Literal, Quad, QuotedTriple, Triple
from jelly._core.algebra.changes import NetChanges, Transactions
from jelly._core.algebra.content import row_hash, term_hash
from jelly._core.algebra.dictionary import TermDictionary
from jelly._core.algebra.row_index import RowIndex
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._core.terms.batch_builder import BatchBuilder
from jelly.patch import Abort, Add, AddNamespace, Commit, Delete, Header, Patch, Start

SEED = bytes(range(16))
S, P, O = IRI("a:s"), IRI("a:p"), IRI("a:o")  # noqa: E741


def batch_of(statements: list[Any], arity: int = 4) -> Batch:
    builder = BatchBuilder(arity)
    for statement in statements:
        builder.add(statement)
    return builder.batch


# Each pair differs in one respect only.
DIFFERENT = [
    *(Quad(S, P, term, None) for term in (
        O, IRI("a:o "), BlankNode("a:o"), Literal("a:o"), Literal("a:o", language="en"), Literal("a:o", language="EN"),
        Literal("a:o", datatype="a:o"), Literal("a:o", datatype="en"), Literal("a:oen"), Literal(""), Literal("\0"),
        Literal("\0\0"), Literal("", language="a"), QuotedTriple(S, P, O), QuotedTriple(S, P, S), QuotedTriple(O, P, S),
        QuotedTriple(S, P, QuotedTriple(S, P, O)), *(Literal("x" * n) for n in range(1, 33)),
    )),
    Quad(S, S, P, None), Quad(P, S, S, None), Quad(S, P, O, O), Quad(S, P, O, S), Quad(O, P, S, None),
    Quad(QuotedTriple(S, P, O), P, O, None),
]  # fmt: skip


def test_hashes_tell_rows_apart() -> None:
    hashes = row_hash(batch_of(DIFFERENT), SEED)
    assert hashes.shape == (len(DIFFERENT), 2)
    assert hashes.dtype == np.uint64
    # Each half by itself, too.
    for half in hashes.T:
        assert len(set(half.tolist())) == len(DIFFERENT)


def test_hashes_are_of_the_content_only() -> None:
    shuffled = DIFFERENT * 2
    random.Random(1).shuffle(shuffled)
    one, two = (row_hash(batch_of(some), SEED).tolist() for some in (DIFFERENT, shuffled))
    by_row = dict(zip(DIFFERENT, one, strict=True))
    assert two == [by_row[row] for row in shuffled]
    # A triple is a quad of the default graph, and an operation of a patch does not count.
    plain = [row for row in DIFFERENT if row.g == jelly.DefaultGraph()]
    triples = batch_of([row[:3] for row in plain], 3)
    assert row_hash(triples, SEED).tolist() == [by_row[row] for row in plain]
    [patch] = Patch(map(Delete, DIFFERENT)).batches()
    assert row_hash(patch, SEED).tolist() == one


def test_hashes_under_another_seed_are_others() -> None:
    batch = batch_of(DIFFERENT)
    one, two = (row_hash(batch, seed) for seed in (SEED, SEED[:-1] + b"x"))
    assert not (one == two).any()
    for seed in (b"", bytes(15), bytes(17), "x" * 16, None):
        with pytest.raises(jelly.JellyArgumentError, match="16 bytes"):
            row_hash(batch, seed)  # type: ignore[arg-type]


def test_bits_of_hashes_are_even() -> None:
    rows = [Triple(S, P, Literal(str(i))) for i in range(20_000)]
    bits = np.unpackbits(row_hash(batch_of(rows, 3), random.Random(1).randbytes(16)).view(np.uint8), axis=1)
    assert abs(bits.mean(0) - 0.5).max() < 0.03
    assert abs(np.corrcoef(bits.T) - np.eye(128)).max() < 0.06


@many
@given(made=streams(min_size=1))
def test_equal_rows_are_equal_statements(made: Any) -> None:
    _, rows = made
    statements = [as_jelly(row) for row in rows]
    arity = len(rows[0])
    batch, other = batch_of(statements, arity), batch_of(statements[::-1], arity)
    hashes, others = row_hash(batch, SEED).tolist(), row_hash(other, SEED).tolist()[::-1]
    assert hashes == others
    for i in range(len(rows)):
        for j in range(len(rows)):
            same = statements[i] == statements[j]
            assert (hashes[i] == hashes[j]) == same
    assert batch.statements() == list(batch) == statements


@many
@given(made=streams(), data=st.data())
def test_selected_rows_are_those_statements(made: Any, data: Any) -> None:
    _, rows = made
    batch = batch_of([as_jelly(row) for row in rows], 3 if rows and len(rows[0]) == 3 else 4)
    wanted = data.draw(st.lists(st.integers(0, max(len(rows) - 1, 0)), max_size=9 if rows else 0))
    mask = np.array([data.draw(st.booleans()) for _ in rows], np.bool_)
    odd = slice(1, None, 2), range(1, len(rows), 2)
    for chosen, numbers in ((wanted, wanted), (mask, np.flatnonzero(mask).tolist()), odd):
        made_of = select(batch, chosen)
        made_of.check()
        assert made_of.statements() == [as_jelly(rows[i]) for i in numbers]
        quads = select(batch, chosen, quads=True)
        quads.check()
        assert quads.arity == 4
        assert row_hash(quads, SEED).tolist() == row_hash(made_of, SEED).tolist()


def test_few_rows_have_few_terms() -> None:
    batch = batch_of([Quad(IRI(f"a:{i}"), P, Literal("x", language="en"), None) for i in range(100)])
    part = select(batch, [7])
    assert part.terms() == [IRI("a:7"), P, "en", Literal("x", language="en")]
    assert select(batch, []).terms() == []
    assert select(batch, range(100)).n_terms == batch.n_terms


def test_operations_of_what_is_selected() -> None:
    operations = Header("id", S), Start(), Add((S, P, O)), AddNamespace("x", "a:"), Delete((S, P, S)), Commit()
    [batch] = Patch(operations).batches()
    assert select(batch, [4, 3, 0]).op.tolist() == [3, 4, 14]
    assert select(batch, [4, 2], op=2).op.tolist() == [2, 2]
    assert select(batch, [4, 2], op=np.array([2, 3])).op.tolist() == [2, 3]
    assert select(batch, [4, 2], op=0).op is None
    for part in (select(batch, [4, 3, 0]), select(batch, [4, 2], op=2), select(batch, slice(None))):
        part.check()


def test_rows_that_are_not_there() -> None:
    batch = batch_of(DIFFERENT[:3])
    for rows in ([3], [-1], [0, 1, 1 << 40], np.ones(2, np.bool_), np.ones(4, np.bool_)):
        with pytest.raises(IndexError):
            select(batch, rows)
    for rows in ([0.5], [[0]], ["a"]):
        with pytest.raises(jelly.JellyArgumentError):
            select(batch, rows)
    with pytest.raises(jelly.JellyArgumentError, match="do not fit"):
        select(batch, [0, 1], op=np.array([2, 3, 2]))


# ---- numbers and ids


@given(st.lists(st.lists(st.integers(0, 40), max_size=60), max_size=6))
def test_numbers_of_rows(blocks: list[list[int]]) -> None:
    pool = row_hash(batch_of([Triple(S, P, Literal(str(i))) for i in range(41)], 3), SEED)
    index = RowIndex()
    known: dict[int, int] = {}
    for block in blocks:
        hashes = pool[block]
        assert index.find(hashes).tolist() == [known.get(i, -1) for i in block]
        expected_new = []
        for i in block:
            expected_new.append(i not in known)
            known.setdefault(i, len(known))
        numbers, new = index.add(hashes)
        assert numbers.tolist() == [known[i] for i in block]
        assert new.tolist() == expected_new
    assert len(index) == len(known)
    assert index.hashes().tolist() == pool[list(known)].tolist()


def test_an_index_grows() -> None:
    hashes = np.random.default_rng(1).integers(0, 1 << 63, (200_000, 2), np.uint64)
    # Low halves that are equal, and equal slots.
    hashes[1::2, 0] = hashes[::2, 0]
    index = RowIndex()
    for at in range(0, len(hashes), 777):
        index.add(hashes[at : at + 777])
    numbers, new = index.add(hashes)
    assert numbers.tolist() == list(range(len(hashes)))
    assert not new.any()
    assert (index.find(hashes ^ np.uint64(1)) == -1).all()
    assert index.nbytes < 64 * len(hashes)
    for wrong in (hashes[:, :1], hashes.astype(np.int64), hashes[0]):
        with pytest.raises(jelly.JellyArgumentError, match="uint64"):
            index.find(wrong)


def test_an_index_in_use_refuses() -> None:
    hashes = np.random.default_rng(1).integers(0, 1 << 63, (500_000, 2), np.uint64)
    index, refused = RowIndex(), []

    def add() -> None:
        try:
            for at in range(0, len(hashes), 10_000):
                index.add(hashes[at : at + 10_000])
        except RuntimeError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("in use by another thread" in error for error in refused)
    assert (np.sort(index.find(index.hashes())) == np.arange(len(index))).all()


@many
@given(made=st.lists(streams(), max_size=3))
def test_ids_over_many_batches(made: Any) -> None:
    dictionary = TermDictionary()
    known: dict[Any, int] = {}
    for _, rows in made:
        batch = batch_of([as_jelly(row) for row in rows], 3 if rows and len(rows[0]) == 3 else 4)
        for term, id in zip(batch.terms(), dictionary.ids(batch).tolist(), strict=True):
            assert known.setdefault((type(term), term), id) == id
    assert sorted(known.values()) == list(range(len(dictionary)))
    terms = dictionary.batch()
    terms.check()
    assert {(type(term), term): id for id, term in enumerate(terms.terms())} == known


def test_terms_of_a_dictionary_as_rows() -> None:
    dictionary = TermDictionary()
    terms = [*dict.fromkeys(statement.o for statement in DIFFERENT), S]
    dictionary.ids(batch_of([Triple(S, P, term) for term in terms], 3))
    everything = dictionary.batch().terms()
    wanted = [id for id, term in enumerate(everything) if not isinstance(term, str)][::-1]
    batch = dictionary.batch(wanted)
    batch.check()
    assert batch.terms() == everything
    assert [everything[id] for id in batch.o] == [everything[id] for id in wanted]
    assert batch.s.tolist() == batch.p.tolist() == batch.o.tolist() == wanted
    assert len(dictionary.batch([])) == len(dictionary.batch()) == 0
    # It stays as it is when the dictionary grows.
    dictionary.ids(batch_of([Triple(S, P, Literal(f"later {i}")) for i in range(5000)], 3))
    assert batch.terms() == everything
    for wrong in ([len(dictionary)], [-1]):
        with pytest.raises(IndexError):
            dictionary.batch(wrong)


def test_hashes_of_terms_are_the_same_for_ever() -> None:
    # Tables of ids are made of them: other hashes would be other ids.
    batch = batch_of([
        Quad(S, P, Literal("x", language="en"), BlankNode("b")), Quad(S, P, Literal("1", datatype="a:int"), None),
        Quad(S, P, QuotedTriple(S, P, Literal("ä" * 20)), None),
    ])  # fmt: skip
    found = {batch.term(id): int(lo) for id, (lo, _) in enumerate(term_hash(batch, bytes(16)).tolist())}
    expected = {
        "<a:int>": 9453655727486170629,
        '"1"^^<a:int>': 9911522585407709883,
        '"x"@en': 13724030761486741543,
        '<<( <a:s> <a:p> "ääääääääääääääääääää" )>>': 17109091990187987985,
    }
    assert {term: found[term] for term in expected} == expected


def test_a_dictionary_grows() -> None:
    dictionary = TermDictionary()
    for block in range(30):
        batch = batch_of([Triple(S, P, Literal(str(i))) for i in range(block * 500, block * 500 + 1000)], 3)
        ids = dictionary.ids(batch)
        assert ids.dtype == np.int64
        assert ids[batch.o].tolist() == list(range(block * 500 + 2, block * 500 + 1002))
    assert len(dictionary) == 30 * 500 + 502


def repeated() -> Batch:
    """A Batch in which equal terms have several ids."""
    some = [
        Quad(S, P, Literal("x", language="en"), S),
        Quad(QuotedTriple(S, P, O), P, Literal("1", datatype="a:s"), None),
    ]
    return join_batches([batch_of(some), batch_of(some)])


def test_unique_terms() -> None:
    batch = repeated()
    assert len(set(batch.terms())) < batch.n_terms
    unique = batch.unique()
    unique.check()
    assert len({(type(term), term) for term in unique.terms()}) == unique.n_terms
    assert unique.statements() == batch.statements()
    assert len(np.unique(unique.p)) == 1
    assert unique.unique() is unique
    assert (unique.first_row, unique.arity) == (batch.first_row, batch.arity)


def test_unique_keeps_the_rest() -> None:
    builder = BatchBuilder(3)
    for i in range(3):
        builder.namespace(f"n{i}", "a:s")
        builder.add(Triple(IRI("a:" + "s" * 600), P, IRI("a:" + "s" * 600)))
        builder.end_frame({"k": b"%d" % i})
    batch = builder.batch
    unique = batch.unique()
    unique.check()
    assert unique.n_terms < batch.n_terms
    for name in ("namespaces", "metadata"):
        assert getattr(unique, name) == getattr(batch, name)
    assert unique.frames.tolist() == batch.frames.tolist()
    long = [IRI("a:" + "s" * 600) for _ in range(3)]
    operations = Patch([Header("id", S), AddNamespace("x", "a:s"), Add((S, P, long[0])), Delete((long[1], P, long[2]))])
    [patch] = operations.batches()
    unique = patch.unique()
    assert unique is not patch
    unique.check()
    made = Patch()
    made._take_batch(unique)
    assert made == operations


def test_statements_of_a_patch() -> None:
    [batch] = Patch([Start(), Commit()]).batches()
    for ask in (list, Batch.statements):
        with pytest.raises(jelly.JellyOptionsError, match="operations"):
            ask(batch)
    assert batch.terms() == []


def test_triples_that_quote_one_another() -> None:
    # As trees they have 3^60 terms.
    def bomb() -> Batch:
        quoted: Any = S
        for _ in range(60):
            quoted = QuotedTriple(quoted, quoted, quoted)
        return batch_of([Quad(quoted, P, O, None), Quad(O, P, quoted, None)])

    one, two = bomb(), bomb()
    assert row_hash(one, SEED).tolist() == row_hash(two, SEED).tolist()
    dictionary = TermDictionary()
    # A Batch may have a quoted triple twice.
    assert set(dictionary.ids(one).tolist()) == set(dictionary.ids(two).tolist())
    assert len(dictionary) == 63
    whole = one.unique()
    assert select(whole, [0]).n_terms == whole.n_terms == len(dictionary)


# ---- patches


def ranges(units: list[list[tuple[Batch, int, int]]]) -> list[list[tuple[int, int]]]:
    return [[(start, stop) for _, start, stop in unit] for unit in units]


def test_transactions_from_batch_to_batch() -> None:
    x = Add((S, P, O))
    [batch] = Patch([x, x, Start(), x, Abort(), x, Start(), x, x, Commit(), Start(), Commit(), x]).batches()
    whole = Transactions(whole=True)
    assert ranges(whole.take(batch)) == [[(0, 2)], [(5, 6)], [(7, 9)]]
    assert ranges(whole.close()) == [[(12, 13)]]
    assert whole.close() == []
    held = Transactions()
    assert ranges(held.take(batch)) == [[(0, 2)], [(5, 6)], [(7, 9)], [(12, 13)]]
    for step in range(1, len(batch)):
        held, whole = Transactions(), Transactions(whole=True)
        found, units = [], []
        for at in range(0, len(batch), step):
            found += held.take(batch, at, min(at + step, len(batch)))
            units += whole.take(batch, at, min(at + step, len(batch)))
        found += held.close()
        units += whole.close()
        rows = [row for unit in found for _, start, stop in unit for row in range(start, stop)]
        assert rows == [0, 1, 5, 7, 8, 12]
        by_unit = [[row for _, start, stop in unit for row in range(start, stop)] for unit in units]
        assert by_unit == [[0, 1], [5], [7, 8], [12]]
    held.take(batch, 2, 4)
    with pytest.raises(jelly.JellyFormatError, match="inside a transaction"):
        held.close()
    for start, stop in ((-1, 2), (2, 1), (0, 99)):
        with pytest.raises(IndexError):
            held.take(batch, start, stop)
    with pytest.raises(jelly.JellyArgumentError, match="no patch"):
        held.take(batch_of(DIFFERENT))


@given(st.lists(st.tuples(st.sampled_from([2, 3, 6, 14]), st.integers(0, 5)), max_size=40), st.integers(1, 9))
def test_net_changes(operations: list[tuple[int, int]], step: int) -> None:
    pool = row_hash(batch_of([Triple(S, P, Literal(str(i))) for i in range(6)], 3), SEED)
    net = NetChanges()
    firsts, misses = [], []
    for at in range(0, len(operations), step):
        some = operations[at : at + step]
        first, missed = net.take(pool[[i for _, i in some]], np.array([op for op, _ in some], np.int8))
        firsts += first.tolist()
        misses += missed.tolist()
    after: dict[int, bool] = {}
    needed = set()
    for (op, i), first, missed in zip(operations, firsts, misses, strict=True):
        if op not in (2, 3):
            assert not first
            assert not missed
            continue
        assert first == (i not in after)
        assert missed == (op == 3 and after.get(i) is False)
        if op == 3 and i not in after:
            needed.add(i)
        after[i] = op == 2
    assert net.added.tolist() == list(after.values())
    assert net.needed.tolist() == [i in needed for i in after]
    with pytest.raises(jelly.JellyArgumentError, match="do not fit"):
        net.take(pool, [2])
