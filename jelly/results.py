"""SPARQL results: Jelly-SPARQL, RDF Thrift, RDF Protobuf, JSON, XML, CSV and TSV.

=========== ============= ============================================
format      suffixes      media type
=========== ============= ============================================
jellys      .jellys       application/x-jelly-sparql
thrift      .srt          application/sparql-results+thrift
protobuf    .srp          application/sparql-results+protobuf
json        .srj .json    application/sparql-results+json
xml         .srx .xml     application/sparql-results+xml
csv         .csv          text/csv (write only)
tsv         .tsv          text/tab-separated-values
=========== ============= ============================================

Files may be compressed. Answers of ASK queries are in Jelly-SPARQL, JSON and XML; sequences of
result sets in Jelly-SPARQL alone.

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
from contextlib import ExitStack
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from jelly._bytes.names import name_of, split_suffix
from jelly._bytes.source import Progress
from jelly._core.algebra.reshape import as_results, as_statements
from jelly._core.base.batch import Batch
from jelly._core.terms.materialize import SolutionIterator
from jelly._dataset.output import Conversion, Tabular, convert_items
from jelly._formats.registry import JELLY_RESULTS, RESULT_READING, Content, holds_statements
from jelly._formats.result_syntaxes import Head, batches_of
from jelly._html import html_table
from jelly._options.result_options import ResultOptions, ResultStreamType
from jelly._options.settings import checked
from jelly._public import name_public
from jelly._streams.inputs import READ_ROWS, ItemReader
from jelly._streams.outputs import ItemWriter, changed
from jelly._streams.reader import Reader as StatementReader
from jelly._streams.writer import Writer as StatementWriter
from jelly.errors import JellyArgumentError, JellyFormatError, JellyUnsupportedError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._formats.arrow_tables import pa
    from jelly._options.keywords import ReadOptions
    from jelly._options.layouts import ResultLayout

__all__ = [
    "ResultOptions",
    "ResultStreamType",
    "Results",
    "read_result_sets",
    "read_results",
    "write_result_sets",
    "write_results",
]


class Results(ItemReader[tuple[Any, ...]], Tabular):
    """Results of a query, as `read_results` returns them. They can be consumed only once.

    Iterate for rows: each is a tuple of `jelly` terms, with None for an unbound variable. Or call `to_arrow`, or
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
        Names of the variables; none of the answer of an ASK query.

    Examples
    --------
    >>> results = Results(bytes.fromhex("191c1801780000191c3c180161000000"), format="srt")
    >>> [(batch.variables, batch.column("x").tolist(), batch.terms()) for batch in results.batches()]
    [(('x',), [0], [Literal('a')])]
    """

    _loop_rows = READ_ROWS // 2  # each row has new terms in more of its places than a statement

    @checked(RESULT_READING)
    def __init__(self, src: Any, **options: Unpack[ReadOptions]) -> None:
        self._open(src, Content.RESULTS, options)
        try:
            with self.source.named():
                self._batches = super()._read()
                if self._decoder.variables is None:
                    first = [*islice(self._batches, 1)]
                    self._batches = chain(first, self._batches)
                if getattr(self.options, "stream_type", None) == ResultStreamType.PUNCTUATED:
                    raise JellyUnsupportedError(
                        "this stream is a sequence of result sets: read it with jelly.results.read_result_sets"
                    )
                self.variables: tuple[str, ...] = self._decoder.variables or ()
                if self.format is not JELLY_RESULTS:
                    _check_names(self.variables)  # there rows go by position
        except BaseException:
            self.close()
            raise
        self._set = getattr(self._decoder, "result_set", self._decoder)

    @property
    def boolean(self) -> bool | None:
        """The answer of an ASK query; None for rows."""
        return getattr(self._set, "boolean", None)

    @property
    def links(self) -> tuple[str, ...]:
        """IRIs of further information that the results come with."""
        return getattr(self._set, "links", ())

    @property
    def complete(self) -> bool | None:
        """Jelly-SPARQL, when the rows were read: whether a trailer said that these are all. Else None."""
        return getattr(self._set, "complete", None)

    def _read(self) -> Iterator[Batch]:
        return self._batches

    def _items(self, batches: Iterator[Batch]) -> Iterator[tuple[Any, ...]]:
        fits = self._decoder is not None and "batch_rows" not in self._settings
        return SolutionIterator(batches, self._fit if fits else None)

    def __repr__(self) -> str:
        where = f" of {self.source.name}" if self.source.name else ""
        what = f"variables {', '.join(self.variables)}" if self.boolean is None else str(self.boolean).lower()
        return f"<jelly.results.Results{where}: {self.format.name}, {what}>"

    def _repr_html_(self) -> str:
        # The rows can be taken only once, so that none is shown.
        return html_table(repr(self), self.variables, [])

    def pairs(self) -> Iterator[tuple[Batch, Any]]:
        """Iterate over the Batches together with their ``cells``: int32 arrays of term ids with one row per result and
        one column per variable, -1 where it is unbound."""
        for batch in self.batches():
            yield batch, batch.cells

    def to_arrow(
        self, *, typed: bool = False, layout: ResultLayout = "flat", dictionary: bool = False
    ) -> pa.RecordBatchReader:
        """Make a stream of Arrow record batches with a column for each variable; ``read_all()`` makes a table of it.

        Parameters
        ----------
        typed : bool, default False
            Make columns of values: the layout "typed".
        layout : {"flat", "ntriples", "typed", "term"}, default "flat"
            See `jelly.arrow.from_results`.
        dictionary : bool, default False
            Make dictionary columns instead of columns of strings.

        Examples
        --------
        >>> results = Results(b'?x\\t?n\\n<a:b>\\t"1"^^<http://www.w3.org/2001/XMLSchema#int>\\n', format="tsv")
        >>> results.to_arrow(typed=True).read_all().to_pylist()
        [{'x': 'a:b', 'n': 1}]
        """
        from jelly._formats.arrow_tables import from_results

        layout = "typed" if typed else layout
        return from_results(self.variables, self.batches(), layout=layout, dictionary=dictionary)


def _check_names(variables: Sequence[str]) -> None:
    if len(set(variables)) < len(variables):
        twice = Counter(variables).most_common(1)[0][0]
        raise JellyFormatError(f"the variable {twice!r} stands twice in the header")


@checked(RESULT_READING)
def read_results(src: Any, **options: Unpack[ReadOptions]) -> Results:
    """Read the results of a query: rows of a SELECT query, or the answer of an ASK query.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.Reader`.
    **options : Unpack[ReadOptions]
        Shared keywords, see `ReadOptions`. A JSON document has at most ``max_document_bytes``.

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
    >>> jelly.results.read_results(b'{"head":{},"boolean":true}', format="json").boolean
    True
    """
    return Results(src, **options)


@checked(RESULT_READING)
def read_result_sets(src: Any, **options: Unpack[ReadOptions]) -> Iterator[Results]:
    """Iterate over the result sets of a PUNCTUATED stream of Jelly-SPARQL, or over the one of any other input.

    Rows of a result set that are not taken before the next one are skipped.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.Reader`.
    **options : Unpack[ReadOptions]
        Shared keywords, see `ReadOptions`.

    Raises
    ------
    JellyError
        If the input is wrong or its format is unknown.

    Notes
    -----
    Unstable: Jelly-SPARQL is a draft.

    Examples
    --------
    >>> import io, jelly
    >>> out = io.BytesIO()
    >>> jelly.results.write_result_sets(out, [True, (["x"], [[jelly.Literal("a")]])])
    2
    >>> [(found.boolean, list(found)) for found in jelly.results.read_result_sets(out.getvalue(), format="jellys")]
    [(True, []), (None, [(Literal('a'),)])]
    """
    return iter(_ResultSets(src, **options))


class _ResultSets(ItemReader[Results]):
    """Reads a sequence of result sets."""

    def __init__(self, src: Any, **options: Any) -> None:
        self._open(src, Content.RESULTS, options)

    def _items(self, batches: Iterator[Batch]) -> Iterator[Results]:
        sets = getattr(self._decoder, "sets", None)
        first = next(batches, None)
        if sets is None:  # of another format there is one
            yield _View(self, getattr(self._decoder, "result_set", None) or self._decoder, first, batches)
            return
        while first is not None or sets:
            found = _View(self, sets.popleft(), first, batches)
            yield found
            for _ in found.batches():  # rows that nobody took
                pass
            first = next(batches, None)


class _View(Results):
    """A result set among others."""

    def __init__(self, reader: _ResultSets, result_set: Any, first: Batch | None, batches: Iterator[Batch]) -> None:
        self.source, self.format, self._decoder = reader.source, reader.format, reader._decoder
        self._settings = reader._settings
        self._set = result_set
        self.variables = result_set.variables or ()
        self._rest = self._until_end(first, batches)

    def _until_end(self, batch: Batch | None, batches: Iterator[Batch]) -> Iterator[Batch]:
        while batch is not None:
            yield batch
            batch = next(batches, None) if not len(batch.frames) else None

    def batches(self) -> Iterator[Batch]:
        """Iterate over the Batches of the result set."""
        return self._rest


@checked()
def write_results(
    dst: Any,
    variables: Any,
    rows: Iterable[Any] | None = None,
    *,
    format: str | None = None,
    options: ResultOptions | Mapping[str, Any] | None = None,
    links: Sequence[str] = (),
    frame_rows: int | None = None,
    layout: ResultLayout | None = None,
) -> int:
    """Write results of a query, and count their rows. If writing fails, no partial file is left.

    Parameters
    ----------
    dst : Any
        The output, as for `jelly.Writer`.
    variables : sequence of str, results or bool
        Names of the variables. Or, without ``rows``, the results of a query: `Results`, results of pyoxigraph
        and RDFLib, which are serialized in memory, the answer of an ASK query, or a table: anything with
        ``__arrow_c_stream__`` or ``__arrow_c_array__``, such as of pyarrow, polars, pandas and DuckDB.
    rows : iterable of sequences or mappings, or of Batches, optional
        Each row is a sequence of terms in the order of the variables, with None for an unbound variable, or a dict of
        terms by variable. Or they are Batches of query results with these variables.
    format : str, optional
        Name, suffix or media type. By default the suffix of the file decides.
    options : ResultOptions or mapping, optional
        Jelly-SPARQL only: options of the stream, or some of their fields.
    links : sequence of str, optional
        IRIs of further information, by default those of the results. Jelly-SPARQL, JSON and XML have them.
    frame_rows : int, optional
        Jelly-SPARQL only: maximum rows of a frame, by default as many as have 4096 cells.
    layout : {"flat", "ntriples", "typed", "term"}, optional
        Of a table: how to take columns of strings. They are terms with "ntriples", else plain literals. By default the
        table says it, if `Results.to_arrow` made it, and else they are plain literals. Structs of "term" are terms, and
        numbers, booleans, dates and times become literals in canonical form, whatever the layout.

    Raises
    ------
    JellyArgumentError
        If a row has the wrong number of terms or an unknown variable.
    JellyOptionsError
        If a column of a table has another type, or strings of the layout "flat" or "typed" without ``layout``.
    JellyError
        If the format is unknown or cannot hold a term.

    Examples
    --------
    >>> import io, jelly
    >>> out = io.BytesIO()
    >>> jelly.results.write_results(out, ["x"], [[jelly.Literal("a")], {}], format="csv"), out.getvalue()
    (2, b'x\\r\\na\\r\\n\\r\\n')
    """
    if isinstance(links, str):
        raise JellyArgumentError(f"links is {links!r:.80}: expected a sequence of IRIs")
    head, batches = _result_set(variables, rows, layout)
    with _Writer(dst, head._replace(links=tuple(links) or head.links), format, options, frame_rows) as writer:
        for batch in batches:
            writer.add_batch(batch)
    return writer.statements


@checked()
def write_result_sets(
    dst: Any,
    sets: Iterable[Any],
    *,
    options: ResultOptions | Mapping[str, Any] | None = None,
    frame_rows: int | None = None,
) -> int:
    """Write a sequence of result sets as a PUNCTUATED stream of Jelly-SPARQL, and count them.

    Parameters
    ----------
    dst : Any
        The output, as for `jelly.Writer`.
    sets : iterable
        At least one result set: `Results` or those of pyoxigraph and RDFLib, the answer of an ASK query (bool), a
        table, or a pair of variables and rows as for `write_results`.
    options : ResultOptions or mapping, optional
        Options of the stream, or some of their fields.
    frame_rows : int, optional
        Maximum rows of a frame, by default as many as have 4096 cells.

    Raises
    ------
    JellyError
        If there is no result set, or a term that the stream cannot hold.

    Notes
    -----
    Unstable: Jelly-SPARQL is a draft.

    Examples
    --------
    >>> import io, jelly
    >>> jelly.results.write_result_sets(io.BytesIO(), [False, True])
    2
    """
    pairs = (
        _result_set(*found) if isinstance(found, tuple) and len(found) == 2 else _result_set(found, None)
        for found in sets
    )
    number = 0
    with ExitStack() as stack:
        for number, (head, batches) in enumerate(pairs, 1):
            if number == 1:
                given = {} if options is None else options
                if isinstance(given, Mapping):
                    given = {"stream_type": ResultStreamType.PUNCTUATED, **given}
                # A file that is called one of another format is refused.
                name = None if split_suffix(name_of(dst))[0] else JELLY_RESULTS.name
                writer = stack.enter_context(_Writer(dst, head, name, given, frame_rows))
            else:
                writer.begin(head)
            for batch in batches:
                writer.add_batch(batch)
    if not number:
        raise JellyArgumentError("sets is empty: a stream has at least one result set")
    return number


def _result_set(
    variables: Any, rows: Iterable[Any] | None, layout: ResultLayout | None = None
) -> tuple[Head, Iterable[Batch]]:
    """What a result set says beside its rows, and its rows."""
    is_table = hasattr(variables, "__arrow_c_stream__") or hasattr(variables, "__arrow_c_array__")
    if rows is None and is_table and not isinstance(variables, Results):
        from jelly._formats.arrow_input import results_of

        columns, batches = results_of(variables, layout)
        _check_names(columns)
        return Head(columns), batches
    if layout is not None:
        raise JellyArgumentError("layout is for tables")
    if rows is None:
        if isinstance(variables, bool):
            return Head((), variables), ()
        results = _results_of(variables)
        return Head(results.variables, results.boolean, results.links), results.batches()
    names = tuple(variables) if isinstance(variables, Iterable) else (None,)
    if not all(isinstance(name, str) for name in names):
        raise JellyArgumentError(f"variables is {variables!r:.80}: expected names of variables, each a str")
    _check_names(names)
    return Head(names), _batches(names, rows)


def _results_of(results: Any) -> Results:
    """Results of this package, of pyoxigraph or of RDFLib."""
    if isinstance(results, Results):
        return results
    library = type(results).__module__.partition(".")[0]
    kind = type(results).__name__
    if library == "pyoxigraph" and kind in ("QuerySolutions", "QueryBoolean"):
        json: Any = sys.modules[library].QueryResultsFormat.JSON
    elif library == "rdflib":
        json = "json"
    else:
        raise JellyArgumentError(f"expected results of a query, or variables and rows, got {kind}")
    return read_results(results.serialize(format=json), format="json")


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
    """Convert results, see `jelly.convert`; or statements, which are rows of ?s ?p ?o and of quads ?g, and back."""
    statements = [holds_statements(*place) for place in ((src, format), (dst, to))]
    kind: Any = _Rows if statements[0] else _Statements if statements[1] else Results
    results = kind(src, format=format, **reading)

    def writer() -> Any:
        if statements[1]:
            return StatementWriter(dst, format=to, **(writing or {}))
        return _Writer(dst, Head(results.variables, results.boolean, results.links), to, **(writing or {}))

    return convert_items(results, writer, progress)


class _Rows(StatementReader):
    """A reader of statements, whose Batches are results: of four variables if the first one has quads."""

    variables: tuple[str, ...] = ("s", "p", "o", "g")
    boolean, links = None, ()

    def watched(self, progress: Progress | None) -> Iterator[Batch]:
        for number, batch in enumerate(super().watched(progress)):
            if number == 0 and batch.arity == 3:
                self.variables = self.variables[:3]
            yield as_results(batch, self.variables)


class _Statements(Results):
    """Results whose Batches are statements."""

    def watched(self, progress: Progress | None) -> Iterator[Batch]:
        return map(as_statements, super().watched(progress))


class _Writer(ItemWriter):
    """Writes Batches of results."""

    content = Content.RESULTS

    def __init__(
        self,
        dst: Any,
        head: Head,
        format: str | None,
        options: ResultOptions | Mapping[str, Any] | None = None,
        frame_rows: int | None = None,
    ) -> None:
        self.statements = 0
        base: Any = ResultOptions()
        stream = changed(base, options) if isinstance(options, Mapping) else options
        with self._opening(dst, {"format": format}):
            self._encoder = self.format.open_writer(head, stream=stream, frame_rows=frame_rows)

    def add_batch(self, batch: Batch) -> None:
        # In parts, where there are more than frames: a term may stand in all rows.
        self._put(lambda: getattr(self._encoder, "chunks", self._encoder.encode)(batch))
        self.statements += len(batch)

    def begin(self, head: Head) -> None:
        """Begin another result set, in Jelly-SPARQL."""
        self._put(self._encoder.end_set)
        self._encoder.begin(*head)


name_public(__name__, __all__, globals())
