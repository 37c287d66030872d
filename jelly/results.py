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

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from jelly._bytes.sink import Sink
from jelly._bytes.source import MAX_EXPANSION, Source
from jelly._core.base.batch import Batch
from jelly._formats.registry import RESULT_FORMATS, RESULT_READING, Content, Format, find
from jelly._formats.result_syntaxes import batches_of
from jelly._html import html_table
from jelly._options.settings import checked, fitted, refuse_unknown
from jelly._streams.drain import drain
from jelly.errors import JellyArgumentError, JellyError, JellyFormatError

__all__ = ["RESULT_FORMATS", "ResultFormat", "Results", "convert_results", "read_results", "write_results"]

ResultFormat = Format


class Results:
    """Results of a SELECT query, as `read_results` returns them. They can be consumed only once.

    Iterate for rows: each is a tuple of `jelly` terms, with None for an unbound variable. Or call `batches` or `arrow`.

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
        try:
            refuse_unknown(limits, format.reading, f"{format.name} of query results")
            limits = fitted(limits, format.reading, source.size)
            reader = format.open_reader(**limits)
            batches = reader.batches(source) if hasattr(reader, "batches") else drain(reader, source.chunks())
            if reader.variables is None:
                first = next(batches, None)
                batches = batches if first is None else chain([first], batches)
            self._batches: Iterator[Batch] = batches
            self.variables: tuple[str, ...] = reader.variables or ()
            _check_names(self.variables)
        except JellyError as error:
            source.close()
            raise self._placed(error) from None

    def _placed(self, error: JellyError) -> JellyError:
        if error.source is None and self._source.name:
            error.source = self._source.name
        return error

    def __repr__(self) -> str:
        where = f" of {self._source.name}" if self._source.name else ""
        return f"<jelly.results.Results{where}: {self.format.name}, variables {', '.join(self.variables)}>"

    def _repr_html_(self) -> str:
        # The rows can be taken only once, so that none is shown.
        return html_table(repr(self), self.variables, [])

    def batches(self) -> Iterator[Batch]:
        """Iterate over the rows as Batches, whose columns are the variables.

        Yields
        ------
        Batch
            The next rows: ``batch.column("x")`` and ``batch.cells`` have their term ids. All rows before an error are
            yielded before it is raised.

        Examples
        --------
        >>> results = read_results(bytes.fromhex("191c1801780000191c3c180161000000"), format="srt")
        >>> [(batch.variables, batch.column("x").tolist(), batch.terms()) for batch in results.batches()]
        [(('x',), [0], [Literal('a')])]
        """
        try:
            yield from self._batches
        except JellyError as error:
            raise self._placed(error) from None
        finally:
            self._source.close()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for batch in self.batches():
            yield from batch

    def pairs(self) -> Iterator[tuple[Batch, Any]]:
        """Iterate over the Batches together with their ``cells``.

        Yields
        ------
        (Batch, numpy.ndarray)
            A Batch and its ``cells``: an int32 array of term ids with one row per result and one column per variable,
            -1 where the variable is unbound.
        """
        for batch in self.batches():
            yield batch, batch.cells

    def arrow(self, layout: Any = "flat", *, dictionary: bool = False) -> Any:
        """Convert the rows to Arrow record batches with a column for each variable.

        Parameters
        ----------
        layout : {"flat", "ntriples"}, default "flat"
            See `jelly.arrow.from_results`.
        dictionary : bool, default False
            Make dictionary columns instead of columns of strings.

        Returns
        -------
        pyarrow.RecordBatchReader
            Record batches, built as they are taken.
        """
        from jelly._formats.arrow_tables import from_results

        return from_results(self.variables, self.batches(), layout=layout, dictionary=dictionary)


def _check_names(variables: Sequence[str]) -> None:
    if len(set(variables)) < len(variables):
        twice = Counter(variables).most_common(1)[0][0]
        raise JellyFormatError(f"the variable {twice!r} stands twice in the header")


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
def write_results(dst: Any, variables: Any, rows: Iterable[Any] | None = None, *, format: str | None = None) -> int:
    """Write results of a SELECT query. If writing fails, no partial file is left.

    Parameters
    ----------
    dst : Any
        The output, as for `jelly.Writer`.
    variables : sequence of str, or results
        Names of the variables. Or, without ``rows``, the results of a query: `Results`, or those of pyoxigraph and
        RDFLib, which are serialized in memory.
    rows : iterable of sequences or mappings, or of Batches, optional
        Each row is a sequence of terms in the order of the variables, with None for an unbound variable, or a dict of
        terms by variable. Or they are Batches of query results with these variables.
    format : str, optional
        One of `RESULT_FORMATS`, by name, suffix or media type. By default the suffix of the file decides.

    Returns
    -------
    int
        Number of rows written.

    Raises
    ------
    JellyArgumentError
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
    if rows is None:
        results = _results_of(variables)
        return _write(dst, results.variables, results.batches(), format)
    names = tuple(variables) if isinstance(variables, Iterable) else (None,)
    if not all(isinstance(name, str) for name in names):
        raise JellyArgumentError(f"variables is {variables!r:.80}: expected names of variables, each a str")
    _check_names(names)
    return _write(dst, names, _batches(names, rows), format)


def _results_of(results: Any) -> Results:
    """Results of this package, of pyoxigraph or of RDFLib."""
    if isinstance(results, Results):
        return results
    library = type(results).__module__.partition(".")[0]
    if library == "rdflib":
        return read_results(results.serialize(format="json"), format="json")
    if type(results).__name__ in ("QuerySolutions", "QueryBoolean") and library == "pyoxigraph":
        return read_results(results.serialize(format=sys.modules[library].QueryResultsFormat.JSON), format="json")
    raise JellyArgumentError(f"expected results of a query, or variables and rows, got {type(results).__name__}")


def _batches(variables: tuple[str, ...], rows: Iterable[Any]) -> Iterator[Batch]:
    iterator = iter(rows)
    for first in iterator:
        whole = chain([first], iterator)
        yield from whole if isinstance(first, Batch) else batches_of(variables, whole)


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
    return _write(dst, results.variables, results.batches(), to_format)


def _write(dst: Any, variables: tuple[str, ...], batches: Iterable[Batch], format: str | None) -> int:
    sink = Sink(dst)
    try:
        with sink.named():
            writer = find(format, sink.name, content=Content.RESULTS).open_writer(variables)
        n = 0
        for batch in batches:
            with sink.named():
                part = writer.encode(batch)
            sink.write(part)
            n += len(batch)
        with sink.named():
            part = writer.close()
        sink.write(part)
    except BaseException:
        sink.abort()
        raise
    sink.close()
    return n
