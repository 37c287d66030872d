"""SPARQL results (of SELECT queries) in RDF Thrift and RDF Protobuf, and to and from JSON, XML, CSV and TSV.

=========== ============= ============================================
format      suffixes      media type
=========== ============= ============================================
thrift      .srt          application/sparql-results+thrift
protobuf    .srp          application/sparql-results+protobuf
json        .srj .json    application/sparql-results+json
xml         .srx .xml     application/sparql-results+xml
csv         .csv          text/csv (is written only)
tsv         .tsv          text/tab-separated-values
=========== ============= ============================================

Files may be compressed. TSV is read by pyoxigraph. The first two hold no results of ASK queries.

>>> import io, jelly
>>> out = io.BytesIO()
>>> jelly.write_results(out, ["x", "n"], [(jelly.IRI("a:b"), jelly.Literal("1")), {"n": None}], format="thrift")
2
>>> results = jelly.read_results(out.getvalue(), format="thrift")
>>> results.variables, [tuple(term and str(term) for term in row) for row in results]
(('x', 'n'), [('<a:b>', '"1"'), (None, None)])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, cast

import numpy as np

from jelly._core.base.batch import Batch
from jelly._core.jena.reader import ResultReader
from jelly._core.jena.writer import ResultWriter
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._core.terms.materialize import Materializer
from jelly._formats import result_syntaxes as resultsyntax
from jelly._formats.registry import RESULT_FORMATS, RESULT_READING, Content, Format, find
from jelly._io.drain import drain
from jelly._io.settings import checked, fitted, refuse_unknown
from jelly._io.source import MAX_EXPANSION, Sink, Source
from jelly.errors import JellyError, JellyFormatError, JellyUnsupportedError

__all__ = ["RESULT_FORMATS", "ResultFormat", "Results", "convert_results", "read_results", "write_results"]

# Rows that are taken from Python objects at a time, fewer where they are wide.
COLLECT_ROWS = 4096
COLLECT_CELLS = 1 << 18

Pair = tuple[Batch, Any]

ResultFormat = Format


class Results:
    """The results of a SELECT query being read: ``variables``, and rows to be taken once, as they are read.

    Iterate over it for rows of terms, each a tuple with None where a variable is unbound; or take `arrow` or `pairs`.
    """

    def __init__(self, source: Source, format: ResultFormat, **limits: Any) -> None:
        self.format = format
        self._source = source
        self._pairs: Iterator[Pair]
        try:
            refuse_unknown(limits, format.reading, f"{format.name} of query results")
            limits = fitted(limits, format.reading, source.size)
            if format.binary:
                reader = ResultReader(format.name, **limits)
                pairs = cast("Iterator[Pair]", drain(reader, source.chunks()))
                first = next(pairs, None)
                names = reader.variables or ()
                self._pairs = pairs if first is None else chain([first], pairs)
            elif format.name == "csv":
                raise JellyUnsupportedError("CSV results do not tell IRIs from literals: they cannot be read")
            else:
                read, _ = resultsyntax.READERS[format.name]
                found, rows = read(source, **limits)
                names = tuple(found)
                self._pairs = collected(names, rows)
            _check_names(names)
        except JellyError as error:
            source.close()
            raise self._placed(error) from None
        self.variables: tuple[str, ...] = tuple(names)

    def _placed(self, error: JellyError) -> JellyError:
        if error.source is None and self._source.name:
            error.source = self._source.name
        return error

    def pairs(self) -> Iterator[Pair]:
        """Batches that have terms but no rows, each with its cells: a numpy int32 array of term ids, one row a result,
        one column a variable, -1 where it is unbound."""
        try:
            yield from self._pairs
        except JellyError as error:
            raise self._placed(error) from None
        finally:
            self._source.close()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for batch, cells in self.pairs():
            terms = Materializer(batch)
            for row in cells.tolist():
                yield tuple([None if i < 0 else terms.term(i) for i in row])

    def arrow(self, layout: Any = "flat") -> Any:
        """The rows as a ``pyarrow.RecordBatchReader``: a column of strings for each variable. See `from_results`."""
        from jelly.arrow import from_results

        return from_results(self.variables, self.pairs(), layout=layout)


def _check_names(variables: Sequence[str]) -> None:
    if len(set(variables)) < len(variables):
        twice = Counter(variables).most_common(1)[0][0]
        raise JellyFormatError(f"the variable {twice!r} stands twice in the header")


def collected(variables: Sequence[str], rows: Iterable[Any]) -> Iterator[Pair]:
    """Rows of terms, or dicts of them by variable, as pairs."""
    iterator = iter(rows)
    width = len(variables)
    size = max(1, min(COLLECT_ROWS, COLLECT_CELLS // max(1, width)))
    while True:
        collector = BatchBuilder(3)
        find = collector.term_id
        cells: list[list[int]] = []
        broken: BaseException | None = None
        try:
            for row in islice(iterator, size):
                if type(row) is not list and isinstance(row, Mapping):
                    if unknown := set(row) - set(variables):
                        raise ValueError(f"{min(map(str, unknown))!r} is none of the variables {', '.join(variables)}")
                    row = [row.get(name) for name in variables]
                if len(row) != width:
                    raise ValueError(f"a row has {len(row)} terms where there are {width} variables")
                cells.append([-1 if term is None else find(term) for term in row])
        except JellyError as error:
            broken = error
        if cells:
            yield collector.batch, np.array(cells, np.int32).reshape(len(cells), width)
        if broken is not None:
            raise broken
        if len(cells) < size:
            return


@checked(RESULT_READING)
def read_results(src: Any, *, format: str | None = None, **limits: Any) -> Results:
    """The results of a SELECT query in ``src``, which is what `Reader` takes.

    ``format`` is one of `RESULT_FORMATS` by name, suffix or media type; by default the suffix of the file decides. For
    RDF Thrift and RDF Protobuf ``limits`` are those of `BinaryReader`. XML and TSV have ``max_text_bytes`` (64 MiB),
    for what is between two tags and for a line; JSON, which is read as a whole, ``max_document_bytes`` (256 MiB).

    >>> import jelly
    >>> results = jelly.read_results(bytes.fromhex("191c1801780000191c3c180161000000"), format="srt")
    >>> results.variables, list(results)
    (('x',), [(Literal('a'),)])
    """
    source = Source(src, limits.pop("max_expansion", MAX_EXPANSION))
    try:
        known = find(format, source.name, content=Content.RESULTS)
    except JellyError:
        source.close()
        raise
    return Results(source, known, **limits)


@checked()
def write_results(
    dst: Any, variables: Sequence[str], rows: Iterable[Any], *, format: str | None = None
) -> int:
    """Write results to ``dst``, which is what `Writer` takes; the number of rows.

    A row is a sequence of terms, None where a variable is unbound, or a dict of terms by variable. A file that cannot
    be finished is removed.

    >>> import io, jelly
    >>> out = io.BytesIO()
    >>> jelly.write_results(out, ["x"], [[jelly.Literal("a")], {}], format="csv"), out.getvalue()
    (2, b'x\\r\\na\\r\\n\\r\\n')
    """
    names = tuple(variables)
    _check_names(names)
    return _write(dst, names, collected(names, rows), format)


@checked(RESULT_READING)
def convert_results(
    src: Any, dst: Any, *, from_format: str | None = None, to_format: str | None = None, **limits: Any
) -> int:
    """Read results and write them in another format; the number of rows. ``limits`` are those of `read_results`.

    >>> import io
    >>> out = io.BytesIO()
    >>> convert_results(bytes.fromhex("191c1801780000191c3c180161000000"), out, from_format="srt", to_format="tsv")
    1
    >>> out.getvalue()
    b'?x\\n"a"\\n'
    """
    results = read_results(src, format=from_format, **limits)
    return _write(dst, results.variables, results.pairs(), to_format)


def _write(dst: Any, variables: tuple[str, ...], pairs: Iterable[Pair], format: str | None) -> int:
    sink = Sink(dst)
    try:
        with sink.named():
            known = find(format, sink.name, content=Content.RESULTS)
        n = 0
        for part, rows in (_encoded if known.binary else _written)(known, variables, pairs, sink):
            sink.write(part)
            n += rows
    except BaseException:
        sink.abort()
        raise
    sink.close()
    return n


def _encoded(
    format: ResultFormat, variables: tuple[str, ...], pairs: Iterable[Pair], sink: Sink
) -> Iterator[tuple[bytes, int]]:
    writer = ResultWriter(format.name, variables)
    with sink.named():
        head = writer.header()
    yield head, 0
    for batch, cells in pairs:
        with sink.named():
            part = writer.encode(batch, cells)
        yield part, len(cells)


def _written(
    format: ResultFormat, variables: tuple[str, ...], pairs: Iterable[Pair], sink: Sink
) -> Iterator[tuple[bytes, int]]:
    writer = resultsyntax.WRITERS[format.name](variables)
    capabilities = format.capabilities
    yield writer.header().encode(), 0
    for batch, cells in pairs:
        terms = Materializer(capabilities.fit_cells(batch, cells))
        rows = ([None if i < 0 else terms.term(i) for i in row] for row in cells.tolist())
        with sink.named():
            part = "".join(map(writer.row, rows)).encode()
        yield part, len(cells)
    yield writer.footer().encode(), 0
