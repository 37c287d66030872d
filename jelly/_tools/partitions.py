"""The figures of a description: counts by class, property, datatype and graph, on numbers of terms.

A scope is a graph: 0 is the union of all graphs, then come the named graphs. Nodes are told apart by hashes of 128 bits
under a key that nobody knows; in a named graph by those of the pair of node and graph. Rows are sorted by subject, then
by object. Where they take too much memory, they go to files in parts by the hash of the subject, then by that of the
object: so each node is in one part, and the counts of the parts add up.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from jelly._core.algebra.content import term_hash
from jelly._core.algebra.row_index import RowIndex
from jelly._core.base.batch import Batch
from jelly._core.base.constants import RDF, XSD_STRING_IRI
from jelly._core.base.kinds import Kind, kinds_of
from jelly._streams.spool import PartFile
from jelly.errors import JellyLimitError

__all__ = ["BLANK", "IRI", "LITERAL", "Partitions", "counted", "is_absolute", "name_of", "namespace", "refuse_more"]

# How an IRI begins, and the name of no other term.
_ABSOLUTE = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")
Array = np.ndarray[Any, np.dtype[Any]]

# Kinds of nodes. Literals have numbers from LITERAL on, by their datatype or language.
IRI, BLANK, OTHER, LITERAL = range(4)
_NODES = np.full(256, OTHER, np.int32)
_NODES[[Kind.IRI, Kind.BNODE]] = IRI, BLANK
_TYPE = RDF + "type"
_KIND_IRI = int(Kind.IRI)
_LITERALS = kinds_of("literal")
_MIX = np.uint64(0x9E3779B97F4A7C15)
# What of the memory the rows take that are counted at a time; and the most characters of all names.
_PART, _MAX_TEXT = 6, 1 << 28
_WIDTH = 5  # numbers of 64 bits of a row in a file
# Keys below this are told apart by a table, others are sorted; and how many rows are spread out at a time.
_TABLE, _CHUNK = 1 << 17, 1 << 22


class _Names:
    """Numbers for names, each in a scope, from 0; and their texts."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.all: list[tuple[int, str]] = []
        self._known: dict[tuple[int, str], int] = {}
        self._size = 0

    def number(self, scope: int, name: str) -> int:
        found = self._known.setdefault((scope, name), len(self.all))
        if found == len(self.all):
            self.all.append((scope, name))
            self._size += len(name)
            refuse_more(len(self.all), self.limit)
            if self._size > _MAX_TEXT:
                raise JellyLimitError(f"the names of the partitions have more than {_MAX_TEXT} characters")
        return found

    def of(self, batch: Batch, scopes: Array, terms: Array) -> tuple[Array, Array]:
        """The numbers of the different ones of some terms of a Batch, each in a scope, and for each its place there."""
        width = batch.n_terms
        last = int(scopes.max(initial=0))
        keys = scopes.astype(np.int64) * width + terms if last else terms
        found, places = _dense(keys, (last + 1) * width)
        pairs = (divmod(key, width) for key in found.tolist())
        return np.array([self.number(scope, name_of(batch, term)) for scope, term in pairs], np.int32), places


def name_of(batch: Batch, term: int) -> str:
    """The text of an IRI, a language tag with its base direction, anything else in N-Triples syntax."""
    return batch.term_text(term) if batch.kind[term] == _KIND_IRI else batch.term(term)


def is_absolute(name: str) -> bool:
    """Whether a name is that of an IRI with a scheme."""
    return _ABSOLUTE.match(name) is not None


def namespace(iri: str) -> str:
    """An IRI up to its last slash or hash, or else to its last colon; "" without any."""
    return iri[: max(iri.rfind("/"), iri.rfind("#")) + 1] or iri[: iri.rfind(":") + 1]


def refuse_more(n: int, limit: int) -> None:
    """Raise JellyLimitError for more partitions than the limit."""
    if n > limit:
        raise JellyLimitError(f"there are more than {limit} partitions; raise max_partitions to count them")


def _starts(*columns: Array) -> Array:
    """Where a row of sorted columns differs from the one before."""
    found = np.ones(len(columns[0]), bool)
    if len(found):
        found[1:] = False
        for column in columns:
            found[1:] |= column[1:] != column[:-1]
    return found


def _dense(keys: Array, domain: int) -> tuple[Array, Array]:
    """The different keys, all below ``domain``, and for each key its place among them."""
    if domain > max(_TABLE, 8 * len(keys)):
        found = np.unique(keys)
        return found, np.searchsorted(found, keys)
    is_there = np.zeros(domain, bool)
    is_there[keys] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there, dtype=np.int32) - 1).take(keys)


def _tally(keys: Array, domain: int) -> tuple[Array, Array]:
    """The different keys, all below ``domain``, and how many there are of each."""
    if domain > max(_TABLE, 8 * len(keys)):
        return np.unique(keys, return_counts=True)
    n = np.bincount(keys)
    found = np.flatnonzero(n)
    return found, n[found]


def counted(columns: list[Array], weights: Array | None = None) -> tuple[list[Array], Array]:
    """The different rows of columns of numbers, in order, and how many there are of each, or the sum of the weights."""
    made, at, order = _sorted(columns, weights is not None)
    if order is None or weights is None or not len(at):
        return made, np.diff(at, append=len(columns[0]))
    return made, np.add.reduceat(weights[order], at)


def _sorted(columns: list[Array], has_order: bool = False) -> tuple[list[Array], Array, Array | None]:
    """The different rows of columns in order, where each begins among all in order, and if asked for that order."""
    bits = [int(column.max(initial=0)).bit_length() for column in columns]
    if sum(bits) < 64:
        key = columns[0].astype(np.int32 if sum(bits) < 32 else np.int64)
        for column, size in zip(columns[1:], bits[1:], strict=True):
            key <<= size
            key |= column
        order = np.argsort(key) if has_order else None
        if order is None:
            key.sort()
        else:
            key = key[order]
        at = np.flatnonzero(_starts(key))
        if len(at) < len(key):
            key = key[at]
        made = []
        for size in reversed(bits[1:]):
            made.append(key.astype(np.int32) & ((1 << size) - 1))
            key >>= size
        made = [key.astype(np.int32), *reversed(made)]
    else:
        order = np.lexsort(columns[::-1])
        made = [column[order] for column in columns]
        at = np.flatnonzero(_starts(*made))
        made = [column[at] for column in made]
    return made, at, order


def _entries(first: Array, *others: Array) -> Array:
    """Rows of a file: hashes, and pairs of numbers of 32 bits."""
    columns = [first, *(other if other.ndim == 2 else other[:, np.newaxis] for other in others)]
    return np.concatenate([np.ascontiguousarray(column).view(np.uint64) for column in columns], axis=1)


class Partitions:
    """All counts of a description, to be fed with Batches; `finish` makes the tables of `table`.

    With ``linksets`` the rows have two numbers more: of the namespaces of the subject and of the object, 0 for none.
    """

    def __init__(self, memory: int, limit: int, stack: ExitStack, linksets: bool) -> None:
        self._memory, self._stack, self._limit, self._linksets = memory, stack, limit, linksets
        self.graphs, self.properties, self.classes, self.literals, self.spaces = (_Names(limit) for _ in range(5))
        self.graphs.number(0, "")
        self.spaces.number(0, "")
        self._seed = os.urandom(16)
        width = _WIDTH + linksets
        self._file = PartFile(memory // _PART, stack, width)
        # While there are few rows, the numbers of their nodes.
        self._index: RowIndex | None = RowIndex()
        self._rows: list[tuple[Array, ...]] = []
        self._room = memory // _PART // (8 * width)
        # The sets of classes of subjects, by number; number 0 is the empty one.
        self._sets = RowIndex()
        self._members: list[Array] = [np.empty(0, np.int32)]
        self._tables: dict[str, list[tuple[list[Array], Array]]] = {}

    # ---- rows

    def add(self, batch: Batch) -> None:
        """Count the statements of a Batch."""
        hashes, kinds = term_hash(batch, self._seed), self._kinds(batch)
        spaces = self._spaces(batch) if self._linksets else None
        self._add(batch, kinds, spaces, hashes, slice(None), np.zeros(len(batch), np.int32), None)
        if batch.g is not None and len(named := np.flatnonzero(batch.g >= 0)):
            g = batch.g[named]
            graphs, places = self.graphs.of(batch, np.ones(len(g), np.int32), g)
            self._add(batch, kinds, spaces, hashes, named, graphs[places], hashes[g] * _MIX)

    def _kinds(self, batch: Batch) -> Array:
        """For each term the kind of node that it is, of a literal its datatype or language."""
        kind, aux = batch.kind, batch.aux
        found = _NODES[kind]
        for of in _LITERALS:
            terms = np.flatnonzero(kind == of)
            if len(terms) and of == Kind.LITERAL:
                found[terms] = self.literals.number(Kind.TYPED, XSD_STRING_IRI) + LITERAL
            elif len(terms):
                numbers, places = self.literals.of(batch, np.full(len(terms), of), aux[terms])
                found[terms] = numbers[places] + LITERAL
        return found

    def _spaces(self, batch: Batch) -> Array:
        """For each term the number of its namespace if it is an IRI at an end of a statement, or 0."""
        found = np.zeros(batch.n_terms, np.int32)
        ends = np.unique(np.concatenate([batch.s, batch.o]))
        for term in ends[batch.kind[ends] == Kind.IRI].tolist():
            found[term] = self.spaces.number(0, namespace(batch.term_text(term)))
        return found

    def _add(
        self,
        batch: Batch,
        kinds: Array,
        spaces: Array | None,
        hashes: Array,
        rows: Any,
        scopes: Array,
        mix: Array | None,
    ) -> None:
        s, p, o = batch.s[rows], batch.p[rows], batch.o[rows]
        numbers, places = self.properties.of(batch, scopes, p)
        what = kinds.take(o)
        is_type = np.array([self.properties.all[number][1] == _TYPE for number in numbers.tolist()])
        if is_type.any():
            rows = np.flatnonzero(is_type.take(places) & (what == IRI))
            classes, class_places = self.classes.of(batch, scopes[rows], o[rows])
            what[rows] = -1 - classes[class_places]
        subject = (numbers << 2).take(places) | np.minimum(kinds, OTHER).take(s)
        facts = (subject, what) if spaces is None else (subject, what, spaces[s], spaces[o])
        if self._index is None:
            self._spill(hashes, mix, s, o, *facts)
            return
        if mix is None:
            nodes = self._index.add(hashes)[0].astype(np.int32)
            ends = nodes.take(s), nodes.take(o)
        else:
            ends = _numbers(self._index, hashes[s] + mix), _numbers(self._index, hashes[o] + mix)
        self._rows.append((*ends, *facts))
        self._room -= len(s)
        if self._room < 0:
            known = self._index.hashes()
            for row in self._rows:
                self._spill(known, None, *row)
            self._index, self._rows = None, []

    def _spill(self, hashes: Array, mix: Array | None, s: Array, o: Array, *facts: Array) -> None:
        one, other = (hashes[s], hashes[o]) if mix is None else (hashes[s] + mix, hashes[o] + mix)
        self._file.add(_entries(one, other, np.stack(facts, axis=1)))

    def _parts(self) -> Iterator[tuple[Any, ...]]:
        """The rows in parts, each with all of its subjects: numbered subjects and objects, and what else there is."""
        if self._index is not None:
            if self._rows:
                yield (self._index, *_columns(self._rows))
            return
        for some in self._file.parts(self._memory // _PART):
            index = RowIndex()
            yield (index, *_columns(
                (_numbers(index, entries[:, :2]), _numbers(index, entries[:, 2:4]), *entries[:, 4:].view(np.int32).T)
                for entries in some
            ))  # fmt: skip

    # ---- counts

    def finish(self) -> None:
        """Count what was added."""
        self._is_type = np.array([name == _TYPE for _, name in self.properties.all], bool)
        self._scope = np.array([scope for scope, _ in self.properties.all], np.int32)
        random = np.random.default_rng(list(self._seed))
        self._codes = random.integers(0, (1 << 64) - 1, (len(self.classes.all), 2), np.uint64)
        objects = PartFile(self._memory // _PART, self._stack, 4)
        for index, s, o, subject, what, *spaces in self._parts():
            kinds = np.zeros(len(index), np.int32)
            kinds[o] = np.maximum(what, IRI)  # a class is an IRI
            sets, rows = self._by_subject(len(index), s, subject, o, what, spaces)
            if not self._file.is_spilled:
                self._by_object(kinds, sets, rows)
                return
            known = index.hashes()
            (o, t, p), times = counted(rows)
            objects.add(_entries(known[o], np.stack([t, p, kinds[o], times.astype(np.int32)], axis=1)))
            typed = np.flatnonzero(sets)
            t = sets[typed]
            objects.add(_entries(known[typed], np.stack([t, t, t, np.zeros_like(t)], axis=1)))
        for some in objects.parts(self._memory // _PART):
            index = RowIndex()
            nodes, t, p, kind, times = _columns(
                (_numbers(index, entries[:, :2]), *entries[:, 2:].view(np.int32).T) for entries in some
            )
            kinds, sets, is_row = np.zeros(len(index), np.int32), np.zeros(len(index), np.int32), times > 0
            kinds[nodes[is_row]], sets[nodes[~is_row]] = kind[is_row], t[~is_row]
            self._by_object(kinds, sets, [nodes[is_row], t[is_row], p[is_row]], times[is_row])

    def _by_subject(
        self, n: int, s: Array, subject: Array, o: Array, what: Array, spaces: list[Array]
    ) -> tuple[Array, list[Array]]:
        """Count rows of ``n`` nodes. Return the set of classes of each node, and of the different rows the object, the
        set of the subject and the property."""
        kinds, classes = np.zeros(n, np.int32), np.full(n, -1, np.int32)
        kinds[s] = subject & 3
        is_class = what < 0
        classes[o[is_class]] = -1 - what[is_class]
        space = np.zeros(n if spaces else 0, np.int32)
        if spaces:
            space[s], space[o] = spaces
        (s, p, o), *_ = _sorted([s, subject >> 2, o])
        if spaces:
            self._note_links(p, space[s], space[o])
        sets = np.zeros(n, np.int32)
        at = np.flatnonzero(self._is_type.take(p))
        at = at[classes[o[at]] >= 0]
        if len(at):
            (nodes, members), *_ = _sorted([s[at], classes[o[at]]])
            first = np.flatnonzero(_starts(nodes))
            sets[nodes[first]] = self._set_numbers(members, first)
            found, times = _tally(members, len(self.classes.all))
            self._note("entities", times, found)
        at = np.flatnonzero(_starts(s, p))
        of, t = p[at], sets.take(s[at])
        width = len(self._scope)
        found, times = _tally(t.astype(np.int64) * width + of, len(self._members) * width)
        self._note("subjects", times, *divmod(found, width))
        node = at[_starts(s[at])]
        self._note_nodes("nodes", self._scope[p[node]], kinds[s[node]])
        return sets, [o, np.repeat(t, np.diff(at, append=len(s))), p]

    def _note_links(self, p: Array, source: Array, target: Array) -> None:
        """Count statements from one namespace to another. What rdf:type says is told by the classes."""
        rows = (source != target) & (source > 0) & (target > 0) & ~self._is_type[p]
        columns, n = counted([p[rows], source[rows], target[rows]])
        refuse_more(len(n), self._limit)
        self._note("links", n, *columns)

    def _set_numbers(self, members: Array, first: Array) -> Array:
        """The numbers of some sets of classes, which begin at the places ``first``."""
        numbers, is_new = self._sets.add(np.add.reduceat(self._codes[members], first, axis=0))
        ends = np.append(first[1:], len(members))
        self._members += [members[first[i] : ends[i]] for i in np.flatnonzero(is_new).tolist()]
        refuse_more(len(self._members), self._limit)
        return numbers + 1

    def _by_object(self, kinds: Array, sets: Array, rows: list[Array], times: Array | None = None) -> None:
        """Count rows of objects, sets of classes and properties, each of them there ``times``."""
        o, t, p = rows
        width = len(self._scope)
        found, places = _dense(t.astype(np.int64) * width + p, len(self._members) * width)
        refuse_more(len(found), self._limit)
        t, p = divmod(found, width)
        order = np.lexsort((t, p))
        t, p = t[order], p[order]
        (o, pair), n = counted([o, np.argsort(order).take(places)], times)
        of = p.take(pair)
        is_node = _starts(o)
        self._note_nodes("objects", self._scope[of[is_node]], np.minimum(kinds[o[is_node]], LITERAL))
        found, n_objects = _tally(of[_starts(o, of)], width)
        self._note("of objects", n_objects, *divmod(found, width))
        self._of_classes(o, pair, t, p)
        n_sets = len(self._members)
        ends, end = _dense(kinds.astype(np.int64) * n_sets + sets, (int(kinds.max(initial=0)) + 1) * n_sets)
        found, places = _dense(pair.astype(np.int64) * len(ends) + end.take(o), len(t) * len(ends))
        pair, end = divmod(found, len(ends))
        refuse_more(len(found), self._limit)
        self._note("triples", np.bincount(places, n).astype(np.int64), t[pair], p[pair], *divmod(ends[end], n_sets))

    def _of_classes(self, o: Array, pair: Array, t: Array, p: Array) -> None:
        """Count the objects of each property of the instances of each class."""
        of, members = self.expanded(t)
        # A class that is in one set has the objects of that.
        times = np.bincount(np.concatenate(self._members), minlength=len(self.classes.all))
        is_one = times[members] == 1
        self._note("of objects", np.bincount(pair, minlength=len(t))[of[is_one]], members[is_one] + 1, p[of[is_one]])
        of, members = of[~is_one], members[~is_one]
        if not len(of):
            return
        found, target = _dense((members + np.int64(1)) * len(self._scope) + p[of], 1 << 62)
        lengths = np.bincount(of, minlength=len(t))
        begin = np.cumsum(lengths) - lengths
        rows = np.flatnonzero(lengths[pair])
        o, pair = o[rows], pair[rows]
        # Pieces of whole objects.
        chunk = np.cumsum(lengths[pair]) // _CHUNK
        first = _starts(o)
        chunk = chunk[np.flatnonzero(first)[np.cumsum(first) - 1]]
        for some in np.split(np.arange(len(o)), np.flatnonzero(np.diff(chunk)) + 1):
            which, at = _runs(begin[pair[some]], lengths[pair[some]])
            (_, places), *_ = _sorted([o[some][which], target[at]])
            found_here, times = _tally(places, len(found))
            self._note("of objects", times, *divmod(found[found_here], len(self._scope)))

    def expanded(self, sets: Array) -> tuple[Array, Array]:
        """The classes of some sets, one after the other, and for each the place of its set."""
        lengths = np.array([len(members) for members in self._members], np.int64)
        which, at = _runs((np.cumsum(lengths) - lengths)[sets], lengths[sets])
        return which, np.concatenate(self._members)[at]

    def _note(self, name: str, n: Array, *columns: Array) -> None:
        if len(n):
            self._tables.setdefault(name, []).append(([*columns], n))

    def _note_nodes(self, name: str, scopes: Array, kinds: Array) -> None:
        found, n = _tally(scopes * np.int64(4) + kinds, 4 * len(self.graphs.all))
        self._note(name, n, *divmod(found, 4))

    def table(self, name: str, columns: int) -> tuple[list[Array], Array]:
        """The columns of numbers of a table, and the counts."""
        noted = self._tables.get(name)
        if noted is None:
            return [np.empty(0, np.int32)] * columns, np.empty(0, np.int64)
        each = [np.concatenate([made[number] for made, _ in noted]) for number in range(columns)]
        return counted(each, np.concatenate([n for _, n in noted]))


def _columns(pieces: Iterable[tuple[Array, ...]]) -> Iterator[Array]:
    """Each column of some pieces as one array."""
    return map(np.concatenate, zip(*pieces, strict=True))


def _numbers(index: RowIndex, hashes: Array) -> Array:
    """The numbers of nodes by their hashes; equal neighbours are looked up once."""
    is_new = _starts(hashes[:, 0], hashes[:, 1])
    numbers = index.add(hashes[is_new])[0].astype(np.int32)
    found: Array = numbers[np.cumsum(is_new) - 1]
    return found


def _runs(begin: Array, lengths: Array) -> tuple[Array, Array]:
    """Of runs the number of the run and the place, for each item of them."""
    which = np.repeat(np.arange(len(lengths)), lengths)
    return which, np.arange(len(which)) + (begin - (np.cumsum(lengths) - lengths))[which]
