"""Statistics of a stream: predicates, classes, graphs, datatypes, languages, kinds of terms, distributions; and of
query results: the values of each variable.

Computed on the columns of each Batch; a loop in Python goes over the distinct terms of a Batch, never over statements.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from jelly._bytes.source import Progress
from jelly._core.algebra.content import term_hash
from jelly._core.algebra.row_index import RowIndex
from jelly._core.base.batch import Batch
from jelly._core.base.constants import DIR_LANG_STRING_IRI, LANG_STRING_IRI, RDF, XSD_STRING_IRI
from jelly._core.base.kinds import Kind, kinds_of
from jelly._dataset.sources import Sources, expand
from jelly._dataset.stream import Stream
from jelly._formats.registry import (
    MESSAGE_READING,
    PATCH_READING,
    READING,
    RESULT_READING,
    SEVERAL,
    Content,
    content_of,
)
from jelly._html import html_table
from jelly._options.namespaces import shortened
from jelly._options.settings import checked
from jelly._public import name_public
from jelly._streams.inputs import of_content
from jelly._tools.partitions import name_of
from jelly.errors import JellyArgumentError
from jelly.results import Results, read_results

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions

__all__ = ["Counts", "ResultStats", "Stats", "VariableStats", "stats"]

Ids = npt.NDArray[np.int32]

# Name of each kind of term; texts have none.
_KINDS = ("", "iri", "bnode", "literal", "literal", "literal", "triple", "", "", "", "variable", "any")
_POSITIONS = {"s": "subject", "p": "predicate", "o": "object", "g": "graph"}
DEFAULT_GRAPH = "(default graph)"

MAX_KEYS = 1_000_000
_SEED = bytes(16)  # of the hashes of nodes: the same in all processes
_MAX_TEXT = 1 << 28  # maximum characters of the keys of one counter
_MAX_NAMESPACES = 10_000


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each of several keys occurs.

    Attributes
    ----------
    top : dict of str to int
        The most frequent keys with their counts.
    other : int
        Occurrences of all other keys.
    distinct : int
        Number of different keys; a lower bound if ``folded`` is not 0.
    folded : int
        Occurrences of keys that were not told apart, because there were too many different keys (by default a million).
        They are part of ``other``.

    Examples
    --------
    >>> from jelly.stats import stats
    >>> data = b"<a:1> <a:p> <a:o> .\\n<a:2> <a:p> <a:o> .\\n<a:2> <a:q> <a:o> ."
    >>> counts = stats(data, format="nt", top=1).predicates
    >>> counts.top, counts.other, counts.distinct, counts.total
    ({'a:p': 2}, 1, 2, 3)
    """

    top: dict[str, int]
    other: int
    distinct: int
    folded: int

    @property
    def total(self) -> int:
        """Number of all occurrences."""
        return sum(self.top.values()) + self.other


@dataclass(frozen=True, slots=True)
class Stats:
    """Result of `stats`.

    Attributes
    ----------
    statements : int
        Number of statements.
    terms : dict of str to dict of str to int
        For each position the number of terms of each kind.
    predicates, classes, graphs, datatypes, languages : Counts
        Counts by IRI, or by language tag with the base direction after it (``ar--rtl``); other terms are written in
        N-Triples syntax. Classes are the objects of rdf:type. Literals inside quoted triples are not counted. Plain
        literals have the datatype xsd:string.
    subjects, objects : int
        Number of different subjects, and of different IRIs and blank nodes as objects. Lower bounds from a million on.
    subjects_folded, objects_folded : int
        Statements whose subject or object was not told apart after that million.
    degrees, in_degrees : dict of int to int
        Number of subjects by number of statements, and of IRIs and blank nodes by the number of statements with them as
        the object. The keys are powers of two: 4 stands for 4 to 7.
    runs : dict of int to int
        Number of runs of statements with the same subject, by length, with keys as above.
    literal_bytes : dict of int to int
        Number of literals by bytes of UTF-8, with keys as above.
    namespaces : dict of str to str
        Namespace declarations of the stream.

    Examples
    --------
    >>> from jelly.stats import stats
    >>> found = stats(b'<a:1> <a:p> "x"@en .\\n<a:1> <a:p> <a:2> .', format="nt")
    >>> found.statements, found.subjects, found.languages.top, found.terms["object"], found.degrees
    (2, 1, {'en': 1}, {'iri': 1, 'literal': 1}, {2: 1})
    """

    statements: int
    terms: dict[str, dict[str, int]]
    predicates: Counts
    classes: Counts
    graphs: Counts
    datatypes: Counts
    languages: Counts
    subjects: int
    subjects_folded: int
    objects: int
    objects_folded: int
    degrees: dict[int, int]
    in_degrees: dict[int, int]
    runs: dict[int, int]
    literal_bytes: dict[int, int]
    namespaces: dict[str, str]

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [("subjects", self.subjects), ("objects", self.objects)]
        for name in _LISTS:
            counts: Counts = getattr(self, name)
            top = [f"{value}: {n:,}" for value, n in list(counts.top.items())[:5]]
            rows += [(f"{name} ({counts.distinct:,})" if not i else "", text) for i, text in enumerate(top)]
        return html_table(f"{self.statements:,} statements", ("", "most frequent"), rows)

    def as_dict(self) -> dict[str, Any]:
        """Convert to plain dicts and numbers."""
        return asdict(self)

    def shorten(self, name: str) -> str:
        """Shorten an IRI to ``prefix:name`` by the namespaces of the stream or by well-known ones.

        Without a fitting one the label is the last segment of the IRI, or the IRI without its scheme if that is empty.

        Examples
        --------
        >>> import jelly.stats
        >>> jelly.stats.stats(b"", format="nt").shorten("http://www.w3.org/2002/07/owl#Class")
        'owl:Class'
        """
        return shortened(name, self.namespaces)


@dataclass(frozen=True, slots=True)
class VariableStats:
    """The values of a variable of query results.

    Attributes
    ----------
    bound, unbound : int
        Number of rows in which it has a value, and in which it has none.
    kinds : dict of str to int
        Number of values of each kind: iri, bnode, literal, triple.
    values : Counts
        The values: IRIs as they are, other terms in N-Triples syntax.

    Examples
    --------
    >>> from jelly.stats import stats
    >>> about = stats(b"?who\\n<a:ann>\\n\\n", content="results", format="tsv").variables["who"]
    >>> about.bound, about.unbound, about.kinds, about.values.top
    (1, 1, {'iri': 1}, {'a:ann': 1})
    """

    bound: int
    unbound: int
    kinds: dict[str, int]
    values: Counts


@dataclass(frozen=True, slots=True)
class ResultStats:
    """Result of `stats` for query results.

    Attributes
    ----------
    rows : int
        Number of rows.
    variables : dict of str to VariableStats
        The values of each variable, in the order of the header.

    Examples
    --------
    >>> from jelly.stats import stats
    >>> found = stats(b"?who\\t?name\\n<a:ann>\\t\\"Ann\\"\\n", content="results", format="tsv")
    >>> found.rows, list(found.variables)
    (1, ['who', 'name'])
    """

    rows: int
    variables: dict[str, VariableStats]

    def as_dict(self) -> dict[str, Any]:
        """Convert to plain dicts and numbers."""
        return asdict(self)


class Tally:
    """Counts by key with bounded memory: after ``max_keys`` different keys, further ones are counted together."""

    @checked()
    def __init__(self, max_keys: int = MAX_KEYS) -> None:
        self.counts: dict[Any, int] = {}
        self.folded: int = 0
        self._max_keys = max_keys
        self._room = _MAX_TEXT

    def add(self, key: Any, n: int, size: int = 0) -> None:
        """Count ``n`` occurrences of ``key``, which takes ``size`` bytes."""
        if key in self.counts:
            self.counts[key] += n
        elif len(self.counts) < self._max_keys and size <= self._room:
            self.counts[key] = n
            self._room -= size
        else:
            self.folded += n

    @checked()
    def merge(self, other: Tally) -> None:
        """Add the counts of another Tally."""
        for key, n in other.counts.items():
            self.add(key, n, len(key) if isinstance(key, str) else 0)
        self.folded += other.folded

    @checked()
    def result(self, top: int) -> Counts:
        """The most frequent keys; equal counts are sorted by name."""
        ranked = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        rest = sum(n for _, n in ranked[top:])
        return Counts(dict(ranked[:top]), rest + self.folded, len(ranked), self.folded)


class _Nodes:
    """Counts of nodes by their hashes, with bounded memory as in a `Tally`."""

    def __init__(self, max_keys: int) -> None:
        self.index = RowIndex()
        self.counts: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.folded: int = 0
        self._max_keys = max_keys

    def __getstate__(self) -> tuple[Any, ...]:
        return self._max_keys, self.index.hashes(), self.counts[: len(self.index)], self.folded

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """An index is made again from its hashes: tasks of Spark send what they counted."""
        self._max_keys, hashes, counts, self.folded = state
        self.index, self.counts = RowIndex(), np.zeros(0, np.int64)
        self.add(hashes, counts)

    def add(self, hashes: npt.NDArray[np.uint64], n: npt.NDArray[np.int64]) -> None:
        """Count ``n`` occurrences of each of the nodes."""
        room = self._max_keys - len(self.index)
        if len(hashes) <= room:
            places, _ = self.index.add(hashes)
        else:
            unknown = hashes[self.index.find(hashes) < 0]
            firsts = np.unique(unknown[:, 0], return_index=True)[1]
            self.index.add(unknown[np.sort(firsts)[:room]])
            places = self.index.find(hashes)
            self.folded += int(n[places < 0].sum())
            places, n = places[places >= 0], n[places >= 0]
        if len(self.index) > len(self.counts):
            self.counts.resize(max(len(self.index), min(2 * len(self.counts), self._max_keys)), refcheck=False)
        np.add.at(self.counts, places, n)

    def degrees(self) -> dict[int, int]:
        """The number of nodes by how often they occur."""
        return _plain(_by_power(self.counts[: len(self.index)]))


# By kind; faster than isin().
_ARE_NODES, _ARE_LITERALS = (np.isin(np.arange(256), kinds_of(what)) for what in ("node", "literal"))
_LISTS = ("predicates", "classes", "graphs", "datatypes", "languages")


class Counting:
    """All the counters of `stats`, to be fed with Batches. Each distinguishes at most ``max_keys`` different keys.

    Countings can be pickled and merged, also those of other processes. Nodes are compared by their hashes.

    Examples
    --------
    >>> import jelly
    >>> one, two = Counting(), Counting()
    >>> one.add(next(jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").batches()))
    >>> two.add(next(jelly.scan(b"<a:s> <a:p> <a:x> .", format="nt").batches()))
    >>> one.merge(two)
    >>> one.result().degrees
    {2: 1}
    """

    @checked()
    def __init__(self, max_keys: int = MAX_KEYS) -> None:
        self.statements: int = 0
        self.kinds: dict[str, npt.NDArray[np.int64]] = {
            name: np.zeros(len(_KINDS) + 1, np.int64) for name in _POSITIONS
        }
        self.tallies: dict[str, Tally] = {name: Tally(max_keys) for name in _LISTS}
        self.nodes: dict[str, _Nodes] = {name: _Nodes(max_keys) for name in "so"}
        self.runs: npt.NDArray[np.int64] = np.zeros(65, np.int64)
        self.sizes: npt.NDArray[np.int64] = np.zeros(65, np.int64)
        self.namespaces: dict[str, str] = {}
        # The run at the end of the last Batch, which may continue.
        self.last: Any = None
        self.run: int = 0

    @checked()
    def add(self, batch: Batch) -> None:
        """Count the statements of a Batch."""
        if len(self.namespaces) < _MAX_NAMESPACES:
            self.namespaces |= {name: iri for _, _, name, iri in batch.namespaces if name}
        if not len(batch):
            return
        self.statements += len(batch)
        n, kind, hashes = batch.n_terms, batch.kind, term_hash(batch, _SEED)
        are_nodes = _ARE_NODES[kind]
        uses = np.zeros(n, np.int64)  # occurrences of each term in all positions
        for name in _POSITIONS:
            ids = getattr(batch, name)
            if ids is None:
                # Triples have no graph column; they belong to the default graph.
                self.tallies["graphs"].add(DEFAULT_GRAPH, len(batch))
                self.kinds[name][-1] += len(batch)
                continue
            ids = ids[ids >= 0] if name == "g" else ids
            used = np.bincount(ids, minlength=n)
            uses += used
            self.kinds[name][:-1] += np.bincount(kind[ids], minlength=len(_KINDS))
            if name == "p":
                self._count_classes(batch, _tally(batch, used, self.tallies["predicates"]))
            elif name == "g":
                _tally(batch, used, self.tallies["graphs"])
                if missing := len(batch) - len(ids):
                    self.tallies["graphs"].add(DEFAULT_GRAPH, missing)
                    self.kinds[name][-1] += missing
            else:
                nodes = np.flatnonzero(used if name == "s" else (used > 0) & are_nodes)
                self.nodes[name].add(hashes[nodes], used[nodes])
                if name == "s":
                    self._count_runs(hashes[ids, 0])
        self._count_literals(batch, uses)

    def _count_classes(self, batch: Batch, predicates: dict[int, str]) -> None:
        types = [i for i, name in predicates.items() if name == RDF + "type" and batch.kind[i] == Kind.IRI]
        if types:
            objects = batch.o[np.isin(batch.p, types)]
            _tally(batch, np.bincount(objects, minlength=batch.n_terms), self.tallies["classes"])

    def _count_literals(self, batch: Batch, uses: npt.NDArray[np.int64]) -> None:
        kind, aux = batch.kind, batch.aux
        tagged, typed = (np.flatnonzero((kind == wanted) & (uses > 0)) for wanted in (Kind.LANG, Kind.TYPED))
        for ids, name in ((tagged, "languages"), (typed, "datatypes")):
            if len(ids):
                used = np.bincount(aux[ids], uses[ids], minlength=batch.n_terms).astype(np.int64)
                _tally(batch, used, self.tallies[name])
        is_plain = kind[aux[tagged]] == Kind.TEXT  # a language tag without a base direction
        for iri, those in (
            (XSD_STRING_IRI, uses[kind == Kind.LITERAL]),
            (LANG_STRING_IRI, uses[tagged][is_plain]),
            (DIR_LANG_STRING_IRI, uses[tagged][~is_plain]),
        ):
            if times := int(those.sum()):
                self.tallies["datatypes"].add(iri, times)
        ids = np.flatnonzero(_ARE_LITERALS[kind] & (uses > 0))
        start = batch.start
        self.sizes += _by_power(start[ids + 1] - start[ids], uses[ids])

    def _count_runs(self, column: npt.NDArray[np.uint64]) -> None:
        """Statements by run of one subject, from the hash of each."""
        begins = np.concatenate([[0], np.flatnonzero(np.diff(column)) + 1, [len(column)]])
        lengths = np.diff(begins)
        if column[0] == self.last:
            lengths[0] += self.run
        else:
            self._end_run()
        # The last run may continue in the next Batch.
        self.runs += _by_power(lengths[:-1])
        self.last, self.run = column[-1], int(lengths[-1])

    @checked()
    def merge(self, other: Counting) -> None:
        """Add the counts of another Counting. A run of one subject does not continue from one to the other."""
        self._end_run()
        other._end_run()
        self.statements += other.statements
        for name, kinds in other.kinds.items():
            self.kinds[name] += kinds
        for name, tally in other.tallies.items():
            self.tallies[name].merge(tally)
        for name, nodes in other.nodes.items():
            self.nodes[name].add(nodes.index.hashes(), nodes.counts[: len(nodes.index)])
            self.nodes[name].folded += nodes.folded
        self.runs += other.runs
        self.sizes += other.sizes
        self.namespaces |= other.namespaces

    def _end_run(self) -> None:
        if self.run:
            self.runs += _by_power(np.array([self.run]))
        self.last, self.run = None, 0

    @checked()
    def result(self, top: int = 20) -> Stats:
        """Summarise the counts."""
        self._end_run()
        subjects, objects = self.nodes["s"], self.nodes["o"]
        return Stats(
            statements=self.statements,
            terms={title: _kinds(self.kinds[name]) for name, title in _POSITIONS.items()},
            **{name: self.tallies[name].result(top) for name in _LISTS},
            subjects=len(subjects.index),
            subjects_folded=subjects.folded,
            objects=len(objects.index),
            objects_folded=objects.folded,
            degrees=subjects.degrees(),
            in_degrees=objects.degrees(),
            runs=_plain(self.runs),
            literal_bytes=_plain(self.sizes),
            namespaces=self.namespaces,
        )


def _tally(batch: Batch, used: npt.NDArray[np.int64], tally: Tally) -> dict[int, str]:
    """Add the used terms to ``tally``. Return their names by term id."""
    ids = np.flatnonzero(used)
    names = {i: name_of(batch, i) for i in ids.tolist()}
    for name, n in zip(names.values(), used[ids].tolist(), strict=True):
        tally.add(name, n, len(name))
    return names


def _digits(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The number of binary digits. frexp() gives it exactly because no length reaches 2 ** 53."""
    return np.frexp(values.astype(np.float64))[1]


_DIGITS = _digits(np.arange(1 << 12))  # of the most frequent values: a table is faster


def _by_power(values: npt.NDArray[Any], weights: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int64]:
    """Histogram: the number of values that are 0, 1, 2 to 3, 4 to 7 and so on."""
    digits = _DIGITS[values] if len(values) and values.max() < len(_DIGITS) else _digits(values)
    return np.bincount(digits, weights, minlength=65).astype(np.int64)


def _plain(powers: npt.NDArray[np.int64]) -> dict[int, int]:
    return {(1 << i) >> 1: int(n) for i, n in enumerate(powers) if n}


def _kinds(numbers: npt.NDArray[np.int64]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for name, n in zip((*_KINDS, "default"), numbers.tolist(), strict=True):
        found[name] += n
    return dict(+found)  # those that occur


@overload
def stats(
    src: Any, *, content: Literal["results"], top: int = 20, progress: Progress | None = None, max_keys: int = MAX_KEYS,
    **options: Unpack[ReadOptions],
) -> ResultStats: ...
@overload
def stats(
    src: Any, *, content: Literal["statements", "patches", "messages"] | None = None, top: int = 20,
    progress: Progress | None = None, max_keys: int = MAX_KEYS, **options: Unpack[ReadOptions],
) -> Stats: ...
@checked(READING, SEVERAL, PATCH_READING, MESSAGE_READING, RESULT_READING)
def stats(
    src: Any,
    *,
    content: Literal["statements", "patches", "messages", "results"] | None = None,
    top: int = 20,
    progress: Progress | None = None,
    max_keys: int = MAX_KEYS,
    **options: Unpack[ReadOptions],
) -> Stats | ResultStats:
    """Count predicates, classes, datatypes, languages and more in a stream. Memory is bounded.

    Of patches the statements that are added or deleted are counted, by transactions that were committed. Of query
    results count the values of each variable: the result is a `ResultStats`.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.read`: also a list, a glob pattern, a directory, tables, URLs; or patches, a message
        log, or query results.
    content : {"statements", "patches", "messages", "results"}, optional
        By default the format decides. Formats of statements that are message logs, too, hold statements.
    top : int, default 20
        Number of entries in each of the `Counts`.
    progress : callable, optional
        See `jelly.convert`.
    max_keys : int, default 1000000
        Number of different keys to distinguish in each counter.
    **options : Unpack[ReadOptions]
        Shared keywords, see `jelly.ReadOptions`. Of one source ``threads`` decode segments, if it is a Jelly file with
        an index.

    Examples
    --------
    >>> import jelly.stats
    >>> found = jelly.stats.stats(b'<a:s> <a:p> "o"@en .\\n<a:s> <a:q> <a:o> .', format="nt")
    >>> found.statements, found.languages.top, found.degrees
    (2, {'en': 1}, {2: 1})

    >>> import io, jelly
    >>> out = io.BytesIO()
    >>> jelly.results.write_results(out, ["x"], [[jelly.IRI("a:b")], [jelly.IRI("a:b")], [None]], format="json")
    3
    >>> found = jelly.stats.stats(out.getvalue(), content="results", format="json").variables["x"]
    >>> found.bound, found.unbound, found.kinds, found.values.top
    (2, 1, {'iri': 2}, {'a:b': 2})
    """
    settings: dict[str, Any] = {**options}
    threads, blank_nodes = settings.pop("threads", 1), settings.pop("blank_nodes", None)
    skolem_base = settings.pop("skolem_base", None)
    if top < 0 or threads < 1 or max_keys < 0:
        raise JellyArgumentError("top and max_keys must be at least 0, threads at least 1")
    counting = Counting(max_keys)
    kind = content_of(content, (src, settings.get("format")))
    if kind is Content.RESULTS:
        given: Any = options
        return _result_stats(read_results(src, **given), top, progress, max_keys)
    batches: Any
    if kind in (Content.PATCH, Content.MESSAGES):
        readers = (of_content(kind, "Reader")(each, **settings) for each in expand(src))
        if kind is Content.PATCH:
            changes = of_content(kind, "changed_rows")
            batches = (batch for reader in readers for batch, *_ in changes(reader, progress))
        else:
            batches = (batch for reader in readers for batch in reader.watched(progress))
    else:
        sources = Sources(src, blank_nodes, skolem_base, **settings)
        batches = Stream(sources, threads, as_is=True).watched(progress)
    with closing(batches):
        for batch in batches:
            counting.add(batch)
    return counting.result(top)


def _result_stats(results: Results, top: int, progress: Progress | None, max_keys: int) -> ResultStats:
    rows = 0
    tallies = {name: Tally(max_keys) for name in results.variables}
    kinds = {name: np.zeros(len(_KINDS) + 1, np.int64) for name in results.variables}
    for batch in results.watched(progress):
        rows += len(batch)
        for name in results.variables:
            ids = batch.column(name)
            used = np.bincount(ids[ids >= 0], minlength=batch.n_terms)
            kinds[name][:-1] += np.bincount(batch.kind, used, minlength=len(_KINDS)).astype(np.int64)
            _tally(batch, used, tallies[name])
    found = {}
    for name, tally in tallies.items():
        bound = int(kinds[name].sum())
        found[name] = VariableStats(bound, rows - bound, _kinds(kinds[name]), tally.result(top))
    return ResultStats(rows, found)


name_public(__name__, __all__, globals())
