"""The figures of a description: counts by class, property, datatype and graph, on numbers of terms.

A scope is a graph: 0 is the union of all graphs, then come the named graphs. Nodes are told apart by keys of 128 bits:
96 bits of a hash under a seed that nobody knows, in a named graph a hash of node and graph, and 32 bits for the kind of
the node. Rows are sorted by subject, then by object. Where they take too much memory, they go to files in parts by the
key of the subject, then by that of the object: so each node is in one part, and the counts of the parts add up.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import cached_property
from typing import Any

import numpy as np

from jelly._core.algebra.content import term_hash
from jelly._core.algebra.row_index import RowIndex
from jelly._core.base.batch import Batch
from jelly._core.base.constants import RDF, XSD_STRING_IRI
from jelly._core.base.kinds import Kind
from jelly._dataset.steps.order import starts
from jelly._streams.spool import PartFile
from jelly.errors import JellyLimitError

Array = np.ndarray[Any, np.dtype[Any]]

# Kinds of nodes. From LITERAL on they have names: the datatype or language of a literal, the namespace of an IRI.
IRI, BLANK, OTHER, LITERAL = range(4)
_NODES = np.full(256, OTHER, np.int32)
_NODES[[Kind.IRI, Kind.BNODE, Kind.LITERAL]] = IRI, BLANK, LITERAL
_TYPE = RDF + "type"
_KIND_IRI = int(Kind.IRI)
# How the hash of a graph is mixed into the keys of its nodes: not into their kinds.
_MIX = np.array([0x9E3779B97F4A7C15, 1 << 32], np.uint64)
# What of the memory the rows take that are counted at a time; and the most characters of all names.
_PART, _MAX_TEXT = 6, 1 << 28
# Numbers of 64 bits of a row in the files: two keys and a property; a key, a set of classes, a property, the times.
_WIDTH = 5
# Keys below this are told apart by a table, others are sorted; and how many rows are taken at a time: memory that was
# used is faster than new memory.
_TABLE, _CHUNK = 1 << 17, 1 << 17


class _Names:
    """Numbers for names, each in a scope, from 0; and their texts."""

    def __init__(self, limit: int, *known: tuple[int, str]) -> None:
        self.limit = limit
        self.all: list[tuple[int, str]] = [*known]
        self._known: dict[tuple[int, str], int] = {}
        self._size = 0

    def number(self, scope: int, name: str) -> int:
        found = self._known.setdefault((scope, name), len(self.all))
        if found == len(self.all):
            self.all.append((scope, name))
            self._size += len(name)
            refuse_more(len(self._known), self.limit)
            if self._size > _MAX_TEXT:
                raise JellyLimitError(f"the names of the partitions have more than {_MAX_TEXT} characters")
        return found

    def numbers(self, batch: Batch, scopes: list[int], pairs: Array) -> Array:
        """The numbers of terms of a Batch: of pairs, each the place of its scope times all terms, plus the term."""
        each = (divmod(pair, batch.n_terms) for pair in pairs.tolist())
        return np.array([self.number(scopes[place], name_of(batch, term)) for place, term in each], np.int32)


def name_of(batch: Batch, term: int) -> str:
    """The text of an IRI, a language tag with its base direction, anything else in N-Triples syntax."""
    return batch.term_text(term) if batch.kind[term] == _KIND_IRI else batch.term(term)


def namespace(iri: str) -> str:
    """An IRI up to its last slash or hash, or else to its last colon; "" without any."""
    return iri[: max(iri.rfind("/"), iri.rfind("#")) + 1] or iri[: iri.rfind(":") + 1]


def refuse_more(n: int, limit: int) -> None:
    """Raise JellyLimitError for more partitions than the limit."""
    if n > limit:
        raise JellyLimitError(f"there are more than {limit} partitions; raise max_partitions to count them")


def runs(begins: Array, chosen: Array) -> tuple[Array, Array, Array]:
    """Of some lists, which lie one after the other and begin at these places: the places of all their items, for each
    item the number of its list among the chosen ones, and where in these the items of each list begin."""
    at = begins[chosen]
    lengths = begins[1:][chosen] - at
    first = np.cumsum(lengths) - lengths
    owner = np.repeat(np.arange(len(chosen)), lengths)
    return np.arange(len(owner)) + (at - first)[owner], owner, first


def _dense(keys: Array) -> tuple[Array, Array]:
    """The different keys, and for each key its place among them."""
    domain = int(keys.max(initial=0)) + 1
    if domain > max(_TABLE, 64 * keys.size):
        found, places = np.unique(keys, return_inverse=True)
        return found, places.reshape(keys.shape)
    is_there = np.zeros(domain, bool)
    is_there[keys] = True
    found = np.flatnonzero(is_there)
    places = np.empty(domain, np.int32)
    places[found] = np.arange(len(found))
    return found, places.take(keys)


def _packed(columns: list[Array]) -> tuple[Array, list[int]]:
    """Each row of columns of numbers as one number, and its bits that each column takes: no more than 63 in all."""
    bits = [int(column.max(initial=0)).bit_length() for column in columns]
    keys: Array = np.zeros(len(columns[0]), np.int32 if sum(bits) < 32 else np.int64)
    for column, size in zip(columns, bits, strict=True):
        keys <<= size
        keys |= column
    return keys, bits


def _unpacked(keys: Array, bits: list[int]) -> list[Array]:
    """The columns of packed rows."""
    return [(keys >> sum(bits[n + 1 :]) & (1 << size) - 1).astype(np.int32) for n, size in enumerate(bits)]


def _different(columns: list[Array]) -> Iterator[list[Array]]:
    """The different rows of columns, in order, in pieces with all rows of their numbers of the first column."""
    keys, bits = _packed(columns)
    if sum(bits) > 63:
        yield counted(columns)[0]
        return
    # In files the statements of a subject stand together: then this sort takes a tenth of the time of others.
    keys.sort(kind="stable")
    rest = sum(bits[1:])
    for some in np.split(keys, np.searchsorted(keys, keys[_CHUNK::_CHUNK] >> rest << rest)):
        yield _unpacked(some[starts(some)], bits)


def counted(columns: list[Array], weights: Array | None = None) -> tuple[list[Array], Array]:
    """The different rows of columns of numbers, in order, and how many there are of each, or the sum of the weights."""
    keys, bits = _packed(columns)
    is_wide = sum(bits) > 63
    if 1 << sum(bits) <= max(_TABLE, 8 * len(keys)):
        n = np.bincount(keys, weights).astype(np.int64)
        keys = np.flatnonzero(n)
        n = n[keys]
    elif is_wide or weights is not None:
        order = np.lexsort(columns[::-1] if is_wide else [keys])
        at = np.flatnonzero(starts(*(column[order] for column in columns)))
        each = np.ones(len(order), np.int64) if weights is None else weights[order]
        return [column[order[at]] for column in columns], np.add.reduceat(each, at)
    else:
        keys.sort(kind="stable")
        at = np.flatnonzero(starts(keys))
        keys, n = keys[at], np.diff(at, append=len(keys))
    return _unpacked(keys, bits), n


class Partitions:
    """All counts of a description, to be fed with Batches; `finish` makes the tables of `table`.

    With ``linksets`` the kind of an IRI is its namespace.
    """

    def __init__(self, memory: int, limit: int, stack: ExitStack, linksets: bool) -> None:
        self._part, self._stack, self._limit, self._linksets = memory // _PART, stack, limit, linksets
        self.graphs, self.properties, self.classes = (_Names(limit) for _ in range(3))
        self.kinds = _Names(limit, *[(0, "")] * LITERAL, (Kind.TYPED, XSD_STRING_IRI))
        self.graphs.number(0, "")
        self._seed = os.urandom(16)
        self._file = PartFile(self._part, stack, _WIDTH)
        # While there are few rows, the numbers of their nodes.
        self._index: RowIndex | None = RowIndex()
        self._rows: list[tuple[Array, ...]] = []
        self._room = self._part // (8 * _WIDTH)
        # The sets of classes of subjects, by number, with classes counted from 1 on; 0, in each of them, is for all
        # subjects. Number 0 is the set of no class.
        self._sets = RowIndex()
        self._members: list[Array] = [np.zeros(1, np.int32)]
        self._tables: dict[str, list[Array]] = defaultdict(list)

    # ---- rows

    def add(self, batch: Batch) -> None:
        """Count the statements of a Batch: all of them in the union, and those of named graphs again."""
        width, keys = batch.n_terms, term_hash(batch, self._seed)
        columns = np.stack([batch.s, batch.o, batch.p])
        g = np.full(len(batch), -1) if batch.g is None else batch.g
        named = np.flatnonzero(g >= 0)
        graphs, places = _dense(g[named])
        mixes = keys[graphs] * _MIX
        keys.view(np.int32)[:, 2] = self._kinds(batch)
        scopes = [0, *self.graphs.numbers(batch, [1], graphs).tolist()]
        # Terms in their graphs, as numbers: those in the union are below the width.
        again = columns[:, named] + (places.astype(np.int64) + 1) * width
        nodes, ends = _dense(again[:2])
        s, o = np.append(columns[:2], ends + width, axis=1)
        graph, term = divmod(nodes, width)
        nodes = np.append(np.arange(width), nodes)
        keys = np.append(keys, keys[term] + mixes[graph - 1], axis=0)
        found, places = _dense(np.append(columns[2], again[2]))
        numbers = self.properties.numbers(batch, scopes, found)
        p = numbers.take(places)
        is_type = np.array([self.properties.all[number][1] == _TYPE for number in numbers.tolist()])
        rows = np.flatnonzero(is_type.take(places))
        rows = rows[batch.kind[nodes[o[rows]] % width] == _KIND_IRI]
        classes, places = _dense(nodes[o[rows]])
        p[rows] = -1 - self.classes.numbers(batch, scopes, classes)[places]
        self._add(keys, s, o, p)

    def _kinds(self, batch: Batch) -> Array:
        """For each term the kind of node that it is."""
        kind, aux = batch.kind, batch.aux
        found = _NODES.take(kind)
        for of in (Kind.LANG, Kind.TYPED):
            terms = np.flatnonzero(kind == of)
            names, places = _dense(aux[terms])
            found[terms] = self.kinds.numbers(batch, [of], names)[places]
        if self._linksets:
            ends = np.unique(np.append(batch.s, batch.o))
            for term in ends[kind[ends] == _KIND_IRI].tolist():
                if space := namespace(batch.term_text(term)):
                    found[term] = self.kinds.number(Kind.IRI, space)
        return found

    def _add(self, keys: Array, s: Array, o: Array, p: Array) -> None:
        """Add rows: places of subjects and objects among keys, and properties, or -1 minus the number of a class."""
        if self._index is None:
            self._file.add(np.column_stack([keys[s], keys[o], p.astype(np.uint64)]))
            return
        nodes = self._index.add(keys)[0].astype(np.int32)
        self._rows.append((nodes.take(s), nodes.take(o), p))
        self._room -= len(s)
        if self._room < 0:
            keys, rows = self._index.hashes(), self._rows
            self._index, self._rows = None, []
            for row in rows:
                self._add(keys, *row)

    def _parts(self) -> Iterator[tuple[RowIndex, Iterable[Array]]]:
        """The rows in parts, each with all of its subjects: numbers of subjects, objects and properties."""
        if self._index is None:
            yield from (_numbered(some, 2) for some in self._file.parts(self._part))
        elif self._rows:
            yield self._index, map(np.concatenate, zip(*self._rows, strict=True))

    # ---- counts

    def finish(self) -> None:
        """Count what was added."""
        # rdf:type in the scope of each class, and what the hash of a set of classes is made of.
        self._types = np.array([self.properties.number(scope, _TYPE) for scope, _ in self.classes.all], np.int32)
        self._codes = np.frombuffer(os.urandom(16 * len(self._types)), np.uint64).reshape(-1, 2)
        self._scope = np.array([scope for scope, _ in self.properties.all], np.int32)
        plain = [IRI if what == Kind.IRI else number for number, (what, _) in enumerate(self.kinds.all)]
        self._plain = np.array(plain, np.int32)
        objects = PartFile(self._part, self._stack, _WIDTH)
        for index, rows in self._parts():
            kinds = _kinds_of(index)
            sets, different, times = self._by_subject(kinds, *rows)
            if not self._file.is_spilled:
                self._by_object(kinds, sets, different, times)
                return
            # Each row once with its times, as an object may have very many; and the nodes with classes, with no times.
            typed = np.flatnonzero(sets)
            facts = np.append([*different, times], [typed, 0 * typed, sets[typed], 0 * typed], axis=1).astype(np.uint64)
            objects.add(np.column_stack([index.hashes()[facts[0]], *facts[1:]]))
        for some in objects.parts(self._part):
            index, rows = _numbered(some, 1)
            is_row = rows[3] > 0
            sets = np.zeros(len(index), np.int32)
            sets[rows[0, ~is_row]] = rows[2, ~is_row]
            *rows, times = rows[:, is_row]
            self._by_object(_kinds_of(index), sets, *counted(rows, times))

    def _by_subject(self, kinds: Array, s: Array, o: Array, p: Array) -> tuple[Array, list[Array], Array]:
        """Count rows. Return the set of classes of each node, and objects, properties and sets of subjects of different
        rows: the different ones, and how many rows have them."""
        is_class = p < 0
        classes = -1 - p[is_class]
        sets = self._sets_of(len(kinds), s[is_class], classes)
        p[is_class] = self._types[classes]
        self._rows.clear()
        pieces, found = _different([s, p, o]), []
        for s, p, o in pieces:
            if self._linksets:
                # What rdf:type says is told by the classes.
                source, target = kinds[s], kinds[o]
                links = (source != target) & ~np.isin(p, self._types)
                for kind in (source, target):
                    links &= self._plain[kind] != kind
                self._count("links", p[links], source[links], target[links])
            t = sets.take(s)
            at = starts(s, p)
            self._count("subjects", t[at], p[at])
            self._count_nodes("nodes", kinds, s, p)
            found.append(np.stack([o, p, t]))
        refuse_more(len(self.table("links", 3)[1]), self._limit)
        return sets, *counted([*np.concatenate(found, axis=1)])

    def _sets_of(self, n: int, s: Array, classes: Array) -> Array:
        """The set of classes of each of ``n`` nodes, by subjects and their classes."""
        (s, classes), _ = counted([s, classes])
        first = np.flatnonzero(starts(s))
        numbers, is_new = self._sets.add(np.add.reduceat(self._codes[classes], first, axis=0))
        ends = np.append(first[1:], len(s))
        self._members += [
            np.append(np.int32(0), classes[first[i] : ends[i]] + 1) for i in np.flatnonzero(is_new).tolist()
        ]
        refuse_more(len(self._members), self._limit)
        sets = np.zeros(n, np.int32)
        sets[s[first]] = numbers + 1
        return sets

    def _by_object(self, kinds: Array, sets: Array, rows: list[Array], times: Array) -> None:
        """Count different rows, in order, of objects, properties and sets of classes, each of them there ``times``."""
        o, p, t = rows
        refuse_more(self._count("triples", t, p, self._plain[kinds[o]], sets[o], weights=times), self._limit)
        self._count_nodes("objects", kinds, o, p)
        # An object that a property has of one set of classes counts once for each of them.
        first = starts(o, p)
        is_one = first & np.append(first[1:], True)[: len(first)]
        (of, property), n = counted([t[is_one], p[is_one]])
        which, members = self.expanded(of)
        self._tables["of objects"].append(np.column_stack([members, property[which], n[which]]))
        o, p, t = o[~is_one], p[~is_one], t[~is_one]
        # Pieces of whole objects.
        ends = np.flatnonzero(np.diff(np.cumsum(np.diff(self._flat_sets[1])[t]) // _CHUNK)) + 1
        for some in np.split(np.arange(len(o)), np.searchsorted(o, o[ends])):
            which, members = self.expanded(t[some])
            (_, members, property), _ = counted([o[some][which], members, p[some][which]])
            self._count("of objects", members, property)

    @cached_property
    def _flat_sets(self) -> tuple[Array, Array]:
        """The classes of all sets, one after the other, and where those of each begin, when all sets are known."""
        return np.concatenate(self._members), np.cumsum([0, *map(len, self._members)])

    def expanded(self, sets: Array) -> tuple[Array, Array]:
        """The classes of some sets, one after the other, and for each the place of its set."""
        classes, begins = self._flat_sets
        at, which, _ = runs(begins, sets)
        return which, classes[at]

    def _count(self, name: str, *columns: Array, weights: Array | None = None) -> int:
        """Count the rows of some columns in a table. Return the number of different ones."""
        made, n = counted([*columns], weights)
        self._tables[name].append(np.column_stack([*made, n]))
        return len(n)

    def _count_nodes(self, name: str, kinds: Array, nodes: Array, p: Array) -> None:
        """Count the different nodes of rows, by graph and kind."""
        at = starts(nodes)
        self._count(name, self._scope[p[at]], np.minimum(self._plain[kinds[nodes[at]]], LITERAL))

    def table(self, name: str, columns: int) -> tuple[list[Array], Array]:
        """The columns of numbers of a table, and the counts."""
        *made, n = np.concatenate([np.empty((0, columns + 1), np.int64), *self._tables[name]]).T
        return counted(made, n)


def _kinds_of(index: RowIndex) -> Array:
    """The kind of each node."""
    return np.array(index.hashes().view(np.int32)[:, 2])


def _numbered(pieces: Iterable[Array], n: int) -> tuple[RowIndex, Array]:
    """Entries of a file that begin with ``n`` keys: an index of these, and columns with their numbers."""
    index = RowIndex()
    rows = []
    for entries in pieces:
        numbers, _ = index.add(entries[:, : 2 * n].reshape(-1, 2))
        rows.append(np.column_stack([numbers.reshape(-1, n), entries[:, 2 * n :].view(np.int64)]).astype(np.int32))
    return index, np.concatenate(rows).T
