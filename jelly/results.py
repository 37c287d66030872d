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
>>> jelly.results.write_results(out, ["x", "n"], [(jelly.IRI("a:b"), jelly.Literal("1")), {"n": None}], format="thrift")
2
>>> results = jelly.results.read_results(out.getvalue(), format="thrift")
>>> results.variables, [tuple(term and str(term) for term in row) for row in results]
(('x', 'n'), [('<a:b>', '"1"'), (None, None)])
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from jelly._bytes.source import Progress
from jelly._core.base.batch import Batch
from jelly._dataset.contents import convert_items
from jelly._dataset.output import Conversion
from jelly._formats.registry import RESULT_READING, Content
from jelly._formats.result_syntaxes import batches_of
from jelly._html import html_table
from jelly._options.settings import checked
from jelly._public import name_public
from jelly._streams.inputs import ItemReader
from jelly._streams.outputs import ItemWriter
from jelly.errors import JellyArgumentError, JellyFormatError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions

__all__ = ["Results", "read_results", "write_results"]


class Results(ItemReader[tuple[Any, ...]]):
    """Results of a SELECT query, as `read_results` returns them. They can be consumed only once.

    Iterate for rows: each is a tuple of `jelly` terms, with None for an unbound variable. Or call `arrow`, or
    `batches` for Batches whose columns are the variables: their term ids are in ``batch.column("x")`` and in
    ``batch.cells``.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.Reader`.
    **options : Unpack[ReadOptions]
        Shared keywords, see `ReadOptions`.

    Attributes
    ----------
    variables : tuple of str
        Names of the variables.

    Examples
    --------
    >>> results = Results(bytes.fromhex("191c1801780000191c3c180161000000"), format="srt")
    >>> [(batch.variables, batch.column("x").tolist(), batch.terms()) for batch in results.batches()]
    [(('x',), [0], [Literal('a')])]
    """

    @checked(RESULT_READING)
    def __init__(self, src: Any, **options: Unpack[ReadOptions]) -> None:
        self._open(src, Content.RESULTS, options)
        try:
            with self.source.named():
                self._batches = super()._read()
                if self._decoder.variables is None:
                    first = next(self._batches, None)
                    self._batches = self._batches if first is None else chain([first], self._batches)
                self.variables: tuple[str, ...] = self._decoder.variables or ()
                _check_names(self.variables)
        except BaseException:
            self.close()
            raise

    def _read(self) -> Iterator[Batch]:
        return self._batches

    def _items(self, batches: Iterator[Batch]) -> Iterator[tuple[Any, ...]]:
        return chain.from_iterable(batches)

    def __repr__(self) -> str:
        where = f" of {self.source.name}" if self.source.name else ""
        return f"<jelly.results.Results{where}: {self.format.name}, variables {', '.join(self.variables)}>"

    def _repr_html_(self) -> str:
        # The rows can be taken only once, so that none is shown.
        return html_table(repr(self), self.variables, [])

    def pairs(self) -> Iterator[tuple[Batch, Any]]:
        """Iterate over the Batches together with their ``cells``: int32 arrays of term ids with one row per result and
        one column per variable, -1 where it is unbound."""
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
        """
        from jelly._formats.arrow_tables import from_results

        return from_results(self.variables, self.batches(), layout=layout, dictionary=dictionary)


def _check_names(variables: Sequence[str]) -> None:
    if len(set(variables)) < len(variables):
        twice = Counter(variables).most_common(1)[0][0]
        raise JellyFormatError(f"the variable {twice!r} stands twice in the header")


@checked(RESULT_READING)
def read_results(src: Any, **options: Unpack[ReadOptions]) -> Results:
    """Read the results of a SELECT query.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.Reader`.
    **options : Unpack[ReadOptions]
        Shared keywords, see `ReadOptions`. JSON is read as a whole, of at most ``max_document_bytes``.

    Raises
    ------
    JellyUnsupportedError
        If the format is CSV, which cannot be read because its IRIs look like literals.
    JellyError
        If the input is wrong or its format is unknown.

    Examples
    --------
    >>> import jelly
    >>> results = jelly.results.read_results(bytes.fromhex("191c1801780000191c3c180161000000"), format="srt")
    >>> results.variables, list(results)
    (('x',), [(Literal('a'),)])
    """
    return Results(src, **options)


@checked()
def write_results(dst: Any, variables: Any, rows: Iterable[Any] | None = None, *, format: str | None = None) -> int:
    """Write results of a SELECT query, and count their rows. If writing fails, no partial file is left.

    Parameters
    ----------
    dst : Any
        The output, as for `jelly.Writer`.
    variables : sequence of str, or results
        Names of the variables. Or, without ``rows``, the results of a query: `Results`, or results of pyoxigraph
        and RDFLib, which are serialized in memory.
    rows : iterable of sequences or mappings, or of Batches, optional
        Each row is a sequence of terms in the order of the variables, with None for an unbound variable, or a dict of
        terms by variable. Or they are Batches of query results with these variables.
    format : str, optional
        Name, suffix or media type. By default the suffix of the file decides.

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
    >>> jelly.results.write_results(out, ["x"], [[jelly.Literal("a")], {}], format="csv"), out.getvalue()
    (2, b'x\\r\\na\\r\\n\\r\\n')
    """
    if rows is None:
        results = _results_of(variables)
        names: Any = results.variables
        batches: Iterable[Batch] = results.batches()
    else:
        names = tuple(variables) if isinstance(variables, Iterable) else (None,)
        if not all(isinstance(name, str) for name in names):
            raise JellyArgumentError(f"variables is {variables!r:.80}: expected names of variables, each a str")
        _check_names(names)
        batches = _batches(names, rows)
    with _Writer(dst, names, format) as writer:
        for batch in batches:
            writer.add_batch(batch)
    return writer.statements


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


Reader = Results


@checked(RESULT_READING - {"format"})
def convert(
    src: Any,
    dst: Any,
    *,
    format: str | None = None,
    to: str | None = None,
    writing: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    threads: int = 1,
    **reading: Any,
) -> Conversion:
    """Convert results, see `jelly.convert`."""
    results = Results(src, format=format, **reading)
    return convert_items(results, lambda: _Writer(dst, results.variables, to, **(writing or {})), progress)


class _Writer(ItemWriter):
    """Writes Batches of results."""

    content = Content.RESULTS

    def __init__(self, dst: Any, variables: Sequence[str], format: str | None) -> None:
        self.statements = 0
        with self._opening(dst, {"format": format}):
            self._encoder = self.format.open_writer(variables)

    def add_batch(self, batch: Batch) -> None:
        self._put(lambda: self._encoder.encode(batch))
        self.statements += len(batch)


name_public(__name__, __all__, globals())
