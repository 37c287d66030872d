"""SPARQL results of SELECT queries in RDF Thrift, RDF Protobuf, JSON, XML, CSV and TSV.

=========== ============= ============================================
format      suffixes      media type
=========== ============= ============================================
thrift      .srt          application/sparql-results+thrift
protobuf    .srp          application/sparql-results+protobuf
json        .srj .json    application/sparql-results+json
xml         .srx .xml     application/sparql-results+xml
csv         .csv          text/csv (write only)
tsv         .tsv          text/tab-separated-values
=========== ============= ============================================

Files may be compressed. pyoxigraph reads TSV. Results of ASK queries are not supported.

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
    """Results of a SELECT query, as `read_results` returns them. They can be consumed only once.

    Iterate for rows: each is a tuple of `jelly` terms, with None for an unbound variable. Or call `arrow` or `pairs`.

    Parameters
    ----------
    source : Source
        The input.
    format : ResultFormat
        Its format.
    **limits : Any
        Limits of the format.

    Attributes
    ----------
    variables : tuple of str
        Names of the variables.
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
        """Iterate over the rows as arrays of term ids.

        Yields
        ------
        (Batch, numpy.ndarray)
            A Batch with terms but no statements, and its cells: an int32 array of term ids with one row per result and
            one column per variable, -1 where the variable is unbound.
        """
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
        """Convert the rows to Arrow record batches with a column of strings for each variable.

        Parameters
        ----------
        layout : {"flat", "ntriples"}, default "flat"
            See `jelly.arrow.from_results`.

        Returns
        -------
        pyarrow.RecordBatchReader
            Record batches, built as they are taken.
        """
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
    """Read the results of a SELECT query.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.Reader`.
    format : str, optional
        One of `RESULT_FORMATS`, by name, suffix or media type. By default the suffix of the file decides.
    **limits : Any
        Limits of the format. RDF Thrift and RDF Protobuf: ``max_row_bytes`` and others. XML and TSV: ``max_text_bytes``
        (default 64 MiB) for the text between two tags or for a line. JSON, which is read as a whole:
        ``max_document_bytes`` (default 256 MiB).

    Returns
    -------
    Results
        The variables and an iterator of rows.

    Raises
    ------
    JellyUnsupportedError
        If the format is CSV, which cannot be read because it does not tell IRIs from literals.
    JellyError
        If the input is wrong or its format is unknown.

    Examples
    --------
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
    """Write results of a SELECT query. If writing fails, no partial file is left.

    Parameters
    ----------
    dst : Any
        The output, as for `jelly.Writer`.
    variables : sequence of str
        Names of the variables.
    rows : iterable of sequences or mappings
        Each row is a sequence of terms in the order of the variables, with None for an unbound variable, or a dict of
        terms by variable.
    format : str, optional
        One of `RESULT_FORMATS`, by name, suffix or media type. By default the suffix of the file decides.

    Returns
    -------
    int
        Number of rows written.

    Raises
    ------
    ValueError
        If a row has the wrong number of terms or an unknown variable.
    JellyError
        If the format is unknown or cannot hold a term.

    Examples
    --------
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
    """Convert results of a SELECT query to another format.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.Reader`.
    dst : Any
        The output, as for `jelly.Writer`.
    from_format, to_format : str, optional
        Formats of input and output. By default the suffixes decide.
    **limits : Any
        Limits of `read_results`.

    Returns
    -------
    int
        Number of rows.

    Examples
    --------
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
