"""Statements as Arrow tables and back, in all formats, for pyarrow, polars, pandas and DuckDB.

`read_arrow` returns a ``pyarrow.RecordBatchReader``, which any consumer of the Arrow PyCapsule interface accepts;
`write_arrow` accepts any producer of it. There are two layouts:

``layout="flat"``
    ``subject, predicate, object, object_kind, datatype, lang, graph``: plain IRIs and lexical forms, blank nodes as
    ``_:label``, quoted triples as ``<<( s p o )>>``. ``object_kind`` is iri, bnode, literal or triple; ``datatype``
    is null for xsd:string and for literals with a language; ``graph`` is null in the default graph and for triples.
    A base direction follows the language, as in ``ar--rtl``, or with ``direction=True`` in a column
    ``direction`` after ``lang``: ``ltr``, ``rtl`` or null.
``layout="ntriples"``
    ``s, p, o, g`` in N-Triples syntax. It can hold all statements, also those with literals as subjects.

``layout="typed"``
    The columns of "flat", and one for each type of value, null where the object has no value of it: ``bigint``
    (xsd:integer and the types made from it), ``double`` (also xsd:float), ``decimal`` (38 digits, 18 of them after the
    point), ``boolean``, ``date``, ``timestamp_ntz`` (xsd:dateTime without time zone) and ``timestamp`` (with one, in
    UTC). ``object`` keeps the lexical form. A lexical form that the type of the column cannot hold is a null there, as
    are dates with a time zone, years of more than four digits, and more than 6 digits of a second. A reader leaves
    these columns out: ``object`` counts.

Tables of query results have a column for each variable, see `from_results`.

Recipes. pandas:

>>> import jelly
>>> data = b'<a:1> <a:name> "Ann" . <a:2> <a:name> "Bob" . <a:1> <a:knows> <a:2> .'.replace(b" . ", b" .\\n")
>>> frame = jelly.read_arrow(data, format="nt").read_pandas()
>>> frame.subject.value_counts().to_dict()
{'a:1': 2, 'a:2': 1}

polars (from any Arrow stream):

>>> import polars
>>> frame = polars.from_arrow(jelly.read_arrow(data, format="nt", columns=["predicate", "object"]).read_all())
>>> frame.filter(polars.col("predicate") == "a:name")["object"].to_list()
['Ann', 'Bob']

DuckDB, SQL over a file:

>>> import duckdb
>>> statements = jelly.read_arrow(data, format="nt")
>>> duckdb.sql("select predicate, count(*) from statements group by 1 order by 1").fetchall()
[('a:knows', 1), ('a:name', 2)]

Parquet out and in:

>>> import os, tempfile
>>> from pyarrow import parquet
>>> path = os.path.join(tempfile.mkdtemp(), "people.parquet")
>>> parquet.write_table(jelly.read_arrow(data, format="nt").read_all(), path)
>>> jelly.write_arrow(path.replace(".parquet", ".jelly"), parquet.read_table(path))
3

For files larger than memory there is the command: ``jelly convert people.nt people.parquet``, and back.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from jelly._bytes.names import is_path
from jelly._bytes.workers import Workers
from jelly._dataset.read import is_several
from jelly._dataset.seekable.file import JellyFile, open_filtered, open_index
from jelly._formats.arrow_tables import BATCH_ROWS, RecordBatchBuilder, from_batches, from_results, pa, schema
from jelly._formats.registry import COMMON, JELLY, READING, SEVERAL, WRITING, find
from jelly._options.layouts import Layout, LayoutWithValues
from jelly._options.options import PatchOptions, PhysicalType, StreamOptions
from jelly._options.settings import checked
from jelly._public import name_public
from jelly._streams.inputs import by_content
from jelly._streams.reader import Reader
from jelly._streams.writer import Writer
from jelly.errors import JellyArgumentError, JellyError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._core.terms.operations import Header
    from jelly._dataset.conditions.pattern import Pattern
    from jelly._options.keywords import ReadOptions, WriteOptions

__all__ = ["from_batches", "from_results", "schema", "to_table"]


@by_content
@checked(READING, SEVERAL)
def read_arrow(
    src: Any,
    *,
    layout: LayoutWithValues = "flat",
    dictionary: bool = False,
    columns: Sequence[str] | None = None,
    direction: bool = False,
    start: int | None = None,
    stop: int | None = None,
    filter: Pattern | None = None,
    content: Literal["statements", "patches"] | None = None,
    **options: Unpack[ReadOptions],
) -> pa.RecordBatchReader:
    """Read statements as a stream of Arrow record batches; of patches the statements that they add and delete.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.read`: also a list, a glob pattern, a directory, tables, URLs.
    layout : {"flat", "ntriples", "typed"}, default "flat"
        Columns, see `jelly.arrow`.
    dictionary : bool, default False
        Make dictionary columns. Each record batch has dictionaries of its own, without duplicates. The dictionary of
        subjects or objects may hold unused values: it is then the term table of the Batch.
    columns : sequence of str, optional
        Names of the columns to build. Besides those of the layout there are ``frame`` (number of the frame in the
        stream), ``row`` (number of the statement in the stream) and ``metadata`` (metadata of the frame; rows then come
        when their frame has ended).
    start, stop : int, optional
        Range of statements to read, ``stop`` not included. Only for Jelly files with an index.
    filter : Pattern, optional
        Which statements to read; no text is made of the others. An expression of pyarrow goes
        with `jelly.scan`.
    direction : bool, default False
        Add the column ``direction`` to the flat layout. By default a base direction follows the language.
    content : {"statements", "patches"}, optional
        The content of the input. By default the format decides. Patches have the columns ``op`` ("add" or "delete") and
        ``patch`` (number of the patch, int64, from 0) before those of the layout. Aborted transactions, headers and
        namespaces are left out, and there is no ``frame``, ``row`` or ``metadata``. Of the keywords there are
        ``layout``, ``dictionary``, ``columns`` and those of `jelly.patch.PatchReader`.
    **options : Unpack[ReadOptions]
        Shared keywords, see `ReadOptions`. ``batch_rows`` are the maximum rows per record batch; there are fewer where
        text is long. Of one source ``threads`` decode segments, if it is a Jelly file with an index.

    Raises
    ------
    JellyOptionsError
        If a subject, predicate or graph is a literal and ``layout`` is ``"flat"``.
    JellyError
        If the input is wrong, or if ``start`` or ``stop`` is given for a source without an index.
    MissingExtraError
        If pyarrow is not installed.

    Notes
    -----
    Unstable: ``direction`` follows the drafts of RDF 1.2.

    Examples
    --------
    >>> import jelly
    >>> table = jelly.read_arrow(b'<a:s> <a:p> "o"@en .', format="nt").read_all()
    >>> table.to_pylist()[0]["lang"], table["datatype"].to_pylist()
    ('en', [None])
    >>> data = b'<a:s> <a:p> "1" .\\n<a:s> <a:q> "2" .'
    >>> jelly.read_arrow(data, format="nt", columns=["object"], filter=jelly.Pattern(p="a:q")).read_all().to_pylist()
    [{'object': '2'}]
    """
    settings: dict[str, Any] = {"batch_rows": BATCH_ROWS, **options}
    threads, blank_nodes = settings.pop("threads", 1), settings.pop("blank_nodes", None)
    skolem_base = settings.pop("skolem_base", None)
    if filter is not None and not hasattr(filter, "rows"):
        raise JellyArgumentError(
            f"filter is a {type(filter).__name__}: expected a jelly.Pattern; jelly.scan takes expressions of pyarrow"
        )
    keep = None if filter is None else filter.rows
    maker = RecordBatchBuilder(layout, dictionary, columns, settings["batch_rows"], keep, direction)
    if blank_nodes is not None or is_several(src):
        from jelly._dataset.sources import Sources
        from jelly._dataset.stream import Stream

        if start is not None or stop is not None:
            raise JellyArgumentError("start and stop go with one Jelly file with an index, not with several sources")
        batches = Stream(Sources(src, blank_nodes, skolem_base, **settings), threads).batches(filter)
        return maker.read_all(batches)
    query = None if filter is None else filter.query()
    file = _open_index(src, threads, start, stop, settings)
    if file is None and query is not None:
        file = open_filtered(src, settings)
    opened: Any = Reader(src, **settings) if file is None else file

    def record_batches() -> Iterator[Any]:
        with opened:
            yield None  # from here on the file will be closed
            if file is None:
                yield from maker.run((batch, 0, len(batch)) for batch in opened.batches())
            else:
                # Some of its segments at once.
                parts = file.parts(start or 0, stop, whole=maker.has_metadata, query=query)
                yield from file.run([partial(lambda part: maker.run(part()), part) for part in parts], threads)

    made = record_batches()
    next(made)
    return pa.RecordBatchReader.from_batches(maker.schema, made)


def _open_index(
    src: Any, threads: int, start: int | None, stop: int | None, settings: dict[str, Any]
) -> JellyFile | None:
    """The file with its index, where that is needed or of use."""
    part = start is not None or stop is not None
    if min(start or 0, stop or 0) < 0:
        raise JellyArgumentError("start and stop must not be negative")
    if threads < 1:
        raise JellyArgumentError(f"threads is {threads}: expected 1 or more")
    if not part and threads == 1:
        return None
    if not part:
        return open_index(src, settings)
    is_file = is_path(src) and os.fspath(src) != "-" and settings.get("delimited") is not False
    if not is_file or find(settings.get("format"), os.fsdecode(src), tables=True) is not JELLY:
        raise JellyError("start and stop need the path of a Jelly file with an index")
    return JellyFile(src, **{name: settings[name] for name in settings.keys() - COMMON})


@checked(vars(read_arrow)["keywords"])
def to_table(src: Any, **settings: Any) -> pa.Table:
    """Read all statements of ``src`` as one ``pyarrow.Table`` in memory, with the keywords of `read_arrow`.

    Examples
    --------
    >>> to_table(b"<a:s> <a:p> <a:o> .", format="nt").num_rows
    1
    """
    return read_arrow(src, **settings).read_all()


# ---- the way back

@by_content
@checked(WRITING)
def write_arrow(
    dst: Any,
    data: Any,
    *,
    layout: Layout | None = None,
    options: StreamOptions | PatchOptions | Mapping[str, Any] | None = None,
    content: Literal["statements", "patches"] | None = None,
    headers: Iterable[Header] = (),
    transactions: bool = True,
    **settings: Unpack[WriteOptions],
) -> int:
    """Write a table of statements, or a table of changes as patches.

    Parameters
    ----------
    dst : Any
        The output, as for `Writer`.
    data : Any
        Anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``: tables, record batches and readers of pyarrow,
        frames of polars and pandas, results of DuckDB. The columns are those of a layout, in any order, as plain or
        dictionary strings. ``datatype``, ``lang``, ``graph`` and ``g`` may be missing. There may be a column
        ``direction`` in the flat layout, and a column ``frame``: in a grouped stream a frame ends where it changes.
    layout : {"flat", "ntriples"}, optional
        Layout of the columns. By default their names decide.
    options : StreamOptions or mapping, optional
        Options of the Jelly or Jelly-Patch stream. By default it has quads if one of the first 64 MiB of the table
        names a graph.
    content : {"statements", "patches"}, optional
        The content of the output. By default its format decides. A table of patches has a further column ``op``: "add",
        "insert" or "A", and "delete" or "D", in upper or lower case. With a column ``patch`` of integers, a patch ends
        wherever the number changes; the numbers must not fall and are not written. The rows keep their order.
    headers : iterable of Header, optional
        Headers of the first patch.
    transactions : bool, default True
        Write each patch as a transaction.
    **settings : Unpack[WriteOptions]
        Shared keywords, see `WriteOptions`. ``threads`` take columns and encode.

    Raises
    ------
    JellyOptionsError
        If columns are missing or unknown, or if a named graph comes after the first 64 MiB. In the latter case pass
        ``options=StreamOptions(physical_type=PhysicalType.QUADS)``, or
        ``PatchOptions(statement_type=StatementType.QUADS)``.
    JellyFormatError
        If a value is wrong or null; the message gives the row of the table, from 0.
    MissingExtraError
        If pyarrow is not installed.

    Examples
    --------
    >>> import io, jelly, pyarrow
    >>> out = io.BytesIO()
    >>> jelly.write_arrow(out, pyarrow.table({"s": ["<a:s>"], "p": ["<a:p>"], "o": ['"o"@en']}))
    1
    >>> [str(statement) for statement in jelly.loads(out.getvalue())]
    ['<a:s> <a:p> "o"@en .']
    """
    from jelly._formats.arrow_input import InputTable

    if headers or not transactions or isinstance(options, PatchOptions):
        raise JellyArgumentError("headers=, transactions= and PatchOptions are of patches")
    table = InputTable(data, layout)
    chosen = options if isinstance(options, Mapping) else {"physical_type": getattr(options, "physical_type", 0)}
    physical = chosen.get("physical_type", PhysicalType.UNSPECIFIED)
    given: dict[str, Any] = {**settings}
    with Workers(given.pop("threads", 1)) as workers, Writer(dst, options, **given | {"threads": workers}) as writer:
        if writer.format is not JELLY:
            quads = writer.format.quads
        elif physical != PhysicalType.UNSPECIFIED:
            quads = physical != PhysicalType.TRIPLES
        else:
            quads = table.has_graphs()
        for batch in table.batches(quads, workers):
            writer.add_batch(batch)
    return writer.statements


name_public(__name__, __all__, globals())
