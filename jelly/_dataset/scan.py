"""``jelly.scan``, ``find``, ``wide`` and ``convert``: a `Dataset` of any sources."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from jelly._bytes.source import Progress
from jelly._dataset.conditions.pattern import Wanted
from jelly._dataset.dataset import Dataset
from jelly._dataset.output import Conversion, Options
from jelly._dataset.sources import OF_SOURCES, Sources
from jelly._dataset.steps.order import MEMORY, letters_of
from jelly._options.layouts import FolderLayout, LayoutWithValues
from jelly._options.settings import checked
from jelly._streams.inputs import by_content
from jelly.errors import MissingExtraError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._dataset.arrow_dataset import ArrowDataset
    from jelly._formats.arrow_tables import pa
    from jelly._options.keywords import ReadOptions

# Modules that take a dataset of pyarrow.
_ARROW = frozenset({"pyarrow", "duckdb", "polars"})
# Methods of `ArrowDataset`.
_METHODS = frozenset({"schema", "to_batches", "scanner", "to_table", "head", "count_rows"})


def dataset_of(src: Any, *, threads: int = 1, **options: Any) -> Dataset:
    """The Dataset of some sources, with the shared keywords of `jelly.scan`."""
    return Dataset(Sources(src, **options), threads=threads)


class _WithoutArrow(Dataset):
    """A `Dataset` made before pyarrow was imported, which takes time: it is when a method of `ArrowDataset` is used."""

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(f"a jelly.Dataset has no {name}")
        from jelly._dataset.arrow_dataset import ArrowDataset

        return getattr(ArrowDataset(*self.__reduce__()[1]), name)


@cache
def _with_arrow() -> Any:
    """The class of a Dataset that is one of pyarrow, if that is installed."""
    with suppress(MissingExtraError):
        from jelly._dataset.arrow_dataset import ArrowDataset

        return ArrowDataset
    return _WithoutArrow


@checked(OF_SOURCES)
def scan(
    src: Any,
    *,
    layout: LayoutWithValues = "flat",
    sorted_by: str | None = None,
    **options: Unpack[ReadOptions],
) -> ArrowDataset:
    """Make a `Dataset` of one or several sources. Nothing is read before something is asked of it.

    Parameters
    ----------
    src : Any
        The input: a path, ``"-"``, a URL of the web or of fsspec, an ``OpenFile`` of it, bytes, a binary file object,
        an iterable of chunks of bytes, a `JellyFile`, a table (``.parquet``, ``.arrow``, ``.csv``, or an object of
        pyarrow, polars or pandas), a directory, a glob pattern, or a list of any of these. Formats may differ. For
        ``async for`` also an asynchronous iterable of chunks, or an object whose ``read`` is a coroutine.
    layout : {"flat", "ntriples", "typed"}, default "flat"
        Columns for Arrow, see `jelly.arrow`.
    sorted_by : str, optional
        Merge sources of which each is sorted by these places, such as ``"spog"`` or ``"predicate,object"``, see
        `Dataset.sort`. All are open at a time, and only a part of each is in memory. A source that is not in this order
        is a JellyArgumentError, which names two statements. By default the sources come one after the other.
    **options : Unpack[ReadOptions]
        Shared keywords: see `ReadOptions`. With ``threads`` several sources, segments of Jelly files with an index, and
        lines of N-Triples and N-Quads are read ahead.

    Raises
    ------
    FileNotFoundError
        If a glob pattern matches no file.

    Examples
    --------
    >>> import duckdb, jelly
    >>> statements = jelly.scan(b'<a:1> <a:name> "Ann" .\\n<a:1> <a:knows> <a:2> .', format="nt")
    >>> statements.count()
    2
    >>> duckdb.sql("select object from statements where predicate = 'a:name'").fetchall()
    [('Ann',)]
    """
    if sorted_by is not None:
        sorted_by = letters_of(sorted_by)
    # Who has none of these modules need not wait for pyarrow.
    kind: Any = _WithoutArrow if sys.modules.keys().isdisjoint(_ARROW) else _with_arrow()
    threads = options.pop("threads", 1)
    made: ArrowDataset = kind(Sources(src, **options), layout, threads, sorted_by)
    return made


@checked(OF_SOURCES)
def find(
    src: Any,
    s: Wanted = None,
    p: Wanted = None,
    o: Wanted = None,
    g: Wanted = None,
    **options: Unpack[ReadOptions],
) -> Dataset:
    """Find the statements that match a pattern: `scan`, then `Dataset.filter`.

    Parameters
    ----------
    src : Any
        The input, as for `scan`.
    s, p, o, g : term, str, IRIPrefix, Datatype, LanguageRange, or an iterable of these, optional
        The subject, predicate, object and graph, see `Pattern`.
    **options : Unpack[ReadOptions]
        Shared keywords: see `ReadOptions`.

    Examples
    --------
    >>> import jelly
    >>> data = b'<a:1> <a:name> "Ann" .\\n<a:2> <a:name> "Bob" .\\n<a:1> <a:knows> <a:2> .'
    >>> [statement.o.value for statement in jelly.find(data, p="a:name", format="nt")]
    ['Ann', 'Bob']
    >>> jelly.find(data, s=["a:1", "a:3"], format="nt").count()
    2
    """
    return dataset_of(src, **options).filter(s, p, o, g)


@checked(OF_SOURCES)
def wide(
    src: Any,
    cls: Wanted = None,
    *,
    typed: bool = True,
    max_columns: int = 1000,
    memory: int = MEMORY,
    **options: Unpack[ReadOptions],
) -> pa.RecordBatchReader:
    """Make a table with a row for each subject and a column for each predicate.

    The column ``subject`` comes first, then those of the predicates in the order of their IRIs. A column has the name
    that stands after the last ``/``, ``#`` or ``:`` of its IRI, with ``_`` for other characters than letters, digits
    and ``_``; if two have the same name, in whatever case, the later one gets 8 digits of a hash of the IRI. Rows are
    in the order of `Dataset.sort`. Graphs do not count, and equal statements are one.

    Where a subject has several objects of a predicate, the column holds lists, in the order of `Dataset.sort`, else
    single values; null is no object. It holds values where all objects are literals of one datatype whose lexical forms
    its type can hold: int64 (xsd:integer and the types made from it), float64 (xsd:double, xsd:float), decimal128(38,
    18), bool, date32, timestamp[us] (xsd:dateTime), with time zone UTC if all have one. Values are not lexical forms:
    ``007`` is 7. All other columns hold text: IRIs, lexical forms, and blank nodes as ``_:label``. Of a predicate
    ``name`` whose objects differ in it, ``name_kind`` (iri, bnode, literal, triple), ``name_datatype`` (null for
    xsd:string) and ``name_lang`` tell what each object is; ``name_lang`` is also there if all have a language. The
    metadata of each field have the ``predicate``, and the ``kind`` and ``datatype`` of its objects.

    Parameters
    ----------
    src : Any
        The input, as for `scan`. It is read as a whole before this returns.
    cls : IRI, str, or an iterable of these, optional
        Take only the subjects that are of one of these classes (rdf:type).
    typed : bool, default True
        Make columns of values. Otherwise all columns hold text, with the lexical forms as they are.
    max_columns : int, default 1000
        Maximum predicates of the subjects; more are a JellyLimitError.
    memory : int, default 256 MiB
        Approximate bytes of memory for sorting, see `Dataset.sort`; tables take some 200 MB more. The statements go to
        a temporary file. All statements of one subject are in memory.
    **options : Unpack[ReadOptions]
        Shared keywords: see `ReadOptions`.

    Returns
    -------
    pyarrow.RecordBatchReader
        The table, made as it is taken: ``read_all()`` it, or give it to `write` for a Parquet file.

    Examples
    --------
    >>> import jelly
    >>> data = b'<a:1> <a:name> "Ann" .\\n<a:1> <a:knows> <a:2> .\\n<a:1> <a:knows> <a:3> .\\n<a:2> <a:name> "Bob" .'
    >>> for row in jelly.wide(data, format="nt").read_all().to_pylist():
    ...     print(row)
    {'subject': 'a:1', 'knows': ['a:2', 'a:3'], 'name': 'Ann'}
    {'subject': 'a:2', 'knows': None, 'name': 'Bob'}
    """
    return dataset_of(src, **options).wide(cls, typed=typed, max_columns=max_columns, memory=memory)


@by_content
@checked(OF_SOURCES)
def convert(
    src: Any,
    dst: Any,
    *,
    to: str | None = None,
    options: Options = None,
    frame_rows: int | None = None,
    frame_bytes: int = 1_000_000,
    seekable: bool | None = None,
    index: Literal["terms"] | None = None,
    layout: LayoutWithValues | FolderLayout = "flat",
    prefixes: Mapping[str, str] | None = None,
    drop_graphs: bool = False,
    progress: Progress | None = None,
    writing: Mapping[str, Any] | None = None,
    content: Literal["statements", "patches", "messages", "results"] | None = None,
    **reading: Unpack[ReadOptions],
) -> Conversion:
    """Convert one or several sources to another format, or rewrite them with other options.

    The formats decide whether they hold statements, patches, messages or query results. For statements this is `scan`,
    then `Dataset.write`, where the parameters are explained: keywords that both have are those of reading here, but for
    ``options``, ``delimited`` and the frames.

    Parameters
    ----------
    src, dst : Any
        The input, as for `scan`, and the output, as for `Dataset.write`.
    to : str, optional
        Format of the output. By default the suffix decides.
    layout : {"flat", "ntriples", "typed", "ids", "property-graph"}, default "flat"
        Columns of a table.
    drop_graphs : bool, default False
        Write all statements as triples.
    progress : callable, optional
        See `Dataset.write`.
    writing : mapping, optional
        Further keywords of the output format, see `WriteOptions`.
    content : {"statements", "patches", "messages", "results"}, optional
        By default the first of both formats that does not hold statements decides, else it is ``"statements"``.
    **reading : Unpack[ReadOptions]
        Shared keywords: see `ReadOptions`.

    Examples
    --------
    >>> import io, jelly
    >>> out = io.BytesIO()
    >>> jelly.convert(b'<a:s> <a:p> "o" .', out, format="nt").statements
    1
    >>> text = io.BytesIO()
    >>> jelly.convert(out.getvalue(), text, to="nt").statements, text.getvalue()
    (1, b'<a:s> <a:p> "o" .\\n')
    """
    how: dict[str, Any] = {
        "options": options, "frame_rows": frame_rows, "frame_bytes": frame_bytes,
        "delimited": reading.pop("delimited", True), "seekable": seekable, "index": index,
        "layout": layout, "prefixes": prefixes, "drop_graphs": drop_graphs,
        "progress": progress, **(writing or {}),
    }  # fmt: skip
    return dataset_of(src, **reading).write(dst, to=to, **how)
