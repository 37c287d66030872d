"""Numbers for terms: the tables ``triples`` and ``terms``.

The id of a term is 63 bits of a hash of it, so tasks need not agree on anything, and a term has the same id in every
run.

Two terms with one id are found when they meet, in a task or in what merges the terms of tasks, because terms are
compared as a whole; then the job fails. Among n terms the chance is about n * n / 2^64: 1 to 2,000 for 100 million
terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from jelly._core.algebra.content import term_hash
from jelly._core.algebra.select import term_rows
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._formats.arrow_tables import compute, from_batches, pa
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError, JellySyntaxError, JellyUnsupportedError

__all__ = ["TERMS", "TRIPLES", "Ids", "Run", "check_seed", "first_of_each", "hash_ids", "hash_terms", "runs", "term_id"]

Ids: TypeAlias = npt.NDArray[np.int64]

_PARTS = ("subject", "predicate", "object", "graph")
TRIPLES = pa.schema([pa.field(name, pa.int64(), nullable=name == "graph") for name in _PARTS])
TERMS = pa.schema([
    pa.field("id", pa.int64(), nullable=False),
    pa.field("kind", pa.string(), nullable=False),
    pa.field("value", pa.string(), nullable=False),
    pa.field("datatype", pa.string()),
    pa.field("lang", pa.string()),
])
_FLAT = ("object_kind", "object", "datatype", "lang")

# Maximum statements and bytes of text that a task numbers at once.
_RUN_ROWS = 1 << 22
_RUN_BYTES = 1 << 29
MAX_SEED = (1 << 63) - 1


def check_seed(seed: int) -> None:
    """JellyArgumentError if ids cannot depend on this number."""
    if not 0 <= seed <= MAX_SEED:
        raise JellyArgumentError(f"seed is {seed}: expected 0 to 2^63 - 1")


def hash_ids(batch: Batch, seed: int = 0) -> Ids:
    """A number for each term of a Batch: 63 bits of a hash of its kind, text, datatype and language.

    It depends on nothing else, so it is the same in every Batch, process and version.
    """
    return hash_terms(batch, seed)[0]


def hash_terms(batch: Batch, seed: int = 0) -> tuple[Ids, npt.NDArray[np.uint64]]:
    """The numbers of `hash_ids`, and 64 more bits of each hash, in which two terms differ that have one number."""
    check_seed(seed)
    hashes = term_hash(batch, seed.to_bytes(16, "little"))
    return (hashes[:, 0] >> np.uint64(1)).view(np.int64), hashes[:, 1]


@checked()
def term_id(term: str, *, seed: int = 0) -> int:
    """The id of a term in tables of the layout "ids".

    Parameters
    ----------
    term : str
        The term in N-Triples syntax: ``<http://example.org/x>``, ``"text"@en``. Blank nodes have the labels of the
        table, see ``blank_nodes`` of `ingest`.
    seed : int, default 0
        The seed of the table.

    Raises
    ------
    JellySyntaxError
        If it is not one term.

    Examples
    --------
    >>> term_id("<http://xmlns.com/foaf/0.1/name>")
    5482318226326722344
    """
    from jelly._streams.reader import Reader

    [batch] = Reader(f"<x:s> <x:p> {term} .".encode(), format="nt").batches()
    if len(batch) != 1:
        raise JellySyntaxError(f"expected one term in N-Triples syntax: {term!r}")
    return int(hash_ids(batch, seed)[batch.o[0]])


class Run:
    """The ids of the statements of some Batches, and the Batches for their terms."""

    def __init__(self) -> None:
        self.rows = self.size = 0
        self._batches: list[Batch] = []
        self._columns: tuple[list[Ids], ...] = ([], [], [], [])
        # Of each Batch the terms that are part of a statement, by number, their ids, and more bits of their hashes.
        self._terms: list[Ids] = []
        self._ids: list[Ids] = []
        self._checks: list[np.ndarray] = []

    def add(self, batch: Batch, seed: int) -> None:
        ids, checks = hash_terms(batch, seed)
        # The last one is for -1, the default graph, and no id.
        ids = np.append(ids, -1)
        used = np.zeros(len(ids), np.bool_)
        for column, found in zip(self._columns, (batch.s, batch.p, batch.o, batch.g), strict=True):
            if found is None:
                column.append(np.full(len(batch), -1, np.int64))
            else:
                column.append(ids[found])
                used[found] = True
        terms = np.flatnonzero(used[:-1])
        self._batches.append(batch)
        self._terms.append(terms)
        self._ids.append(ids[terms])
        self._checks.append(checks[terms])
        self.rows += len(batch)
        self.size += len(batch.text)

    def triples(self) -> pa.Table:
        """The statements, in their order."""
        arrays = [pa.array(np.concatenate(column)) for column in self._columns]
        graphs = arrays[3].to_numpy()
        return pa.Table.from_arrays([*arrays[:3], pa.array(graphs, mask=graphs < 0)], schema=TRIPLES)

    def terms(self) -> pa.Table:
        """The terms in the order of their ids, each once. Datatypes are no terms by themselves."""
        ids = np.concatenate(self._ids)
        order = np.argsort(ids)
        ids, checks = ids[order], np.concatenate(self._checks)[order]
        again = np.append(False, ids[1:] == ids[:-1])
        # Terms with one id of which the other bits differ are both kept, for the error.
        again[1:] &= checks[1:] == checks[:-1]
        before = np.cumsum([0, *(batch.n_terms for batch in self._batches)])
        terms = np.concatenate([terms + shift for terms, shift in zip(self._terms, before[:-1], strict=True)])
        ids, terms = ids[~again], terms[order[~again]]
        joined = join_batches(self._batches)
        self._batches.clear()  # their text is there twice now
        rows = term_rows(joined, terms)
        del joined
        made = from_batches([rows], columns=_FLAT, batch_rows=max(len(terms), 1)).read_all()
        table = pa.Table.from_arrays([pa.array(ids), *made.combine_chunks().columns], schema=TERMS)
        _check(table, np.flatnonzero(ids[1:] == ids[:-1]) + 1)
        return table


def runs(batches: Iterable[Batch], seed: int) -> Iterator[Run]:
    """The statements of some Batches, as many at a time as fit into memory."""
    run = Run()
    for batch in batches:
        run.add(batch, seed)
        if run.rows >= _RUN_ROWS or run.size >= _RUN_BYTES:
            yield run
            run = Run()
    if run.rows:
        yield run


def first_of_each(table: pa.Table) -> pa.Table:
    """The terms in order, each once; an error if two terms have one id."""
    ids = table["id"].to_numpy()
    order = np.argsort(ids)
    table, ids = table.take(order), ids[order]
    again = np.append(False, ids[1:] == ids[:-1])
    _check(table, np.flatnonzero(again))
    return table.filter(pa.array(~again))


def _check(terms: pa.Table, again: Ids) -> None:
    """JellyUnsupportedError if a term, of those ``again`` that have the id of the term before, is another one."""
    if not len(again):
        return
    some, others = terms.take(again), terms.take(again - 1)
    same = np.ones(len(again), np.bool_)
    for name in TERMS.names:
        x, y = some[name], others[name]
        both = compute.and_(compute.is_null(x), compute.is_null(y))
        same &= compute.coalesce(compute.equal(x, y), both).to_numpy()
    if same.all():
        return
    at = int(np.argmin(same))
    shown = " and ".join(str(tuple(table.slice(at, 1).to_pylist()[0].values())[1:]) for table in (some, others))
    raise JellyUnsupportedError(
        f"two terms have the id {some['id'][at]}: {shown}; ingest everything into another directory, with another seed"
    )
