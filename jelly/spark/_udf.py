"""Functions for columns, messages to statements and back, on executors; and functions for SQL.

>>> from pyspark.sql.functions import explode
>>> def statements(messages):  # a DataFrame with Kafka's columns key, value and headers
...     return messages.select("key", explode(from_jelly("value", headers="headers")).alias("s")).select("key", "s.*")

They are Arrow functions of PySpark. What they do with arrays is in `jelly.spark._messages`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from jelly._core.base.constants import DIR_LANG_STRING_IRI, LANG_STRING_IRI, XSD_STRING_IRI
from jelly._formats.arrow_tables import compute, pa
from jelly._formats.registry import JELLY, JELLY_PATCH
from jelly._options.layouts import Layout
from jelly._options.options import StreamOptions
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError, JellyError, JellySyntaxError, need
from jelly.spark._messages import (
    Arrays,
    Mode,
    frames_to_statements,
    statements_to_frames,
    texts_to_statements,
    type_of_lists,
)
from jelly.spark._settings import Settings, in_options, without_frames

with need("spark-local", "Spark needs pyspark 4.1"):
    from pyspark import TaskContext
    from pyspark.sql import Column, functions
    from pyspark.sql.pandas.types import from_arrow_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Functions of Spark that are missing in the types of PySpark.
F: Any = functions


Convert = Callable[..., Arrays]


@checked()
def from_jelly(
    column: Column | str,
    *,
    layout: Layout = "flat",
    mode: Mode = "FAILFAST",
    headers: Column | str | None = None,
    changes: bool = False,
    reasons: bool = False,
    dictionaries: Sequence[bytes] = (),
    label: Column | str | None = None,
) -> Column:
    """Decode a binary column of Jelly streams, or of other formats, to arrays of statements.

    Parameters
    ----------
    column : Column or str
        Each value is a whole stream, bare or delimited, or compressed (gzip, zstd). Null stays null.
    layout : {"flat", "ntriples"}, default "flat"
        Fields of a statement, see `jelly.arrow`.
    mode : {"FAILFAST", "PERMISSIVE"}, default "FAILFAST"
        What to do with a value that is empty, cannot be decoded or does not fit the layout: fail the query with the
        location of the error, or return null.
    headers : Column or str, optional
        The column ``headers`` of Spark's Kafka source (option ``includeHeaders``). The header ``content-type`` then
        gives the format of a value: Jelly, N-Quads, Turtle and all others that this package reads. Values without it
        are Jelly.
    changes : bool, default False
        Read patches, too: a field ``op`` (``add`` or ``delete``) comes before those of the layout. All statements of
        a value that is no patch are added. Without it a patch is an error. Aborted transactions, headers and
        namespaces of patches are left out.
    reasons : bool, default False
        For mode ``PERMISSIVE``: return structs of ``statements`` and ``error``. Of a null value the struct is null; of
        a value that is empty or broken ``statements`` is null and ``error`` says why; else ``error`` is null.
    dictionaries : sequence of bytes, optional
        Dictionaries of zstd with which values are compressed.
    label : Column or str, optional
        What errors name beside the number of the value in its task, such as the key of a message, or
        ``struct("topic", "partition", "offset")``.

    Examples
    --------
    >>> def subjects(messages):  # DataFrame with a binary column "value"
    ...     return messages.selectExpr("value").select(from_jelly("value").subject.alias("subjects"))
    """
    convert = partial(frames_to_statements, changes=changes, dictionaries=tuple(dictionaries))
    kind: Column = F.lit(None).cast("string")
    if headers is not None:
        wanted = F.filter(headers, lambda header: F.lower(header.key) == "content-type")
        kind = F.get(wanted, F.lit(0)).getField("value").cast("string")
    if headers is not None or label is not None:
        told = F.lit(None) if label is None else F.col(label) if isinstance(label, str) else label
        column = F.struct(column, kind, told.cast("string"))
    return _statements(convert, pa.binary(), column, layout, mode, reasons, changes)


@checked()
def from_ntriples(
    column: Column | str, *, layout: Layout = "flat", mode: Mode = "FAILFAST", reasons: bool = False
) -> Column:
    """Parse a column of N-Triples or N-Quads to arrays of statements.

    Parameters
    ----------
    column : Column or str
        Each value is a line or a document. Null stays null.
    layout : {"flat", "ntriples"}, default "flat"
        Fields of a statement, see `jelly.arrow`.
    mode : {"FAILFAST", "PERMISSIVE"}, default "FAILFAST"
        What to do with a value that cannot be parsed or does not fit the layout: fail the query with the location of
        the error, or return null.
    reasons : bool, default False
        For mode ``PERMISSIVE``: return structs of ``statements`` and ``error``, see `from_jelly`.

    Examples
    --------
    >>> def statements(spark, path):
    ...     return spark.read.text(path).select(F.explode(from_ntriples("value")).alias("s")).select("s.*")
    """
    return _statements(texts_to_statements, pa.string(), column, layout, mode, reasons)


@checked()
def to_jelly(*columns: Column | str, options: StreamOptions | None = None, delimited: bool = False) -> Column:
    """Encode statements as a binary column; each value is a Jelly stream with one frame.

    With several columns this is an aggregate function over the statements of a group, in the order in which Spark
    delivers them. With one column, which holds arrays of structs as `from_jelly` returns them, each value becomes a
    stream. Null stays null.

    Parameters
    ----------
    *columns : Column or str
        The columns of a layout, by their names (use an alias for others); ``datatype``, ``lang``, ``graph`` and ``g``
        may be missing. Or one column of arrays.
    options : StreamOptions, optional
        Options of the streams. By default groups with a named graph become streams of quads, others of triples.

    Examples
    --------
    >>> def messages(statements):  # DataFrame with the columns of layout="flat"
    ...     frame = to_jelly("subject", "predicate", "object", "object_kind", "datatype", "lang", "graph")
    ...     return statements.groupBy("subject").agg(frame.alias("value"))
    """
    if not columns:
        raise JellyArgumentError("to_jelly needs the columns of a layout, or one column of statements")
    # Spark collects the groups, so that a record batch has many groups. A function called for each group would
    # get a record batch for each.
    column = columns[0] if len(columns) == 1 else F.collect_list(F.struct(*columns))
    convert = partial(statements_to_frames, options=options, delimited=delimited)
    made: Column = function(convert, None, pa.binary(), "to_jelly")(column)
    return made


@checked()
def jelly_headers(*, patch: bool = False) -> Column:
    """The column ``headers`` for Spark's Kafka sink: the content type of Jelly.

    Examples
    --------
    >>> def messages(statements):  # DataFrame with the columns of layout="ntriples"
    ...     value = to_jelly("s", "p", "o", "g").alias("value")
    ...     return statements.groupBy(statements.s.alias("key")).agg(value).withColumn("headers", jelly_headers())
    """
    media_type = (JELLY_PATCH if patch else JELLY).media_type
    made: Column = F.expr(
        f"array(named_struct('key', 'content-type', 'value', cast('{media_type}' as binary)))"
    )
    return made


def _statements(
    convert: Convert,
    given: pa.DataType,
    column: Column | str,
    layout: Layout,
    mode: Mode,
    reasons: bool,
    changes: bool = False,
) -> Column:
    if reasons and mode == "FAILFAST":
        raise JellyArgumentError('reasons=True is for mode "PERMISSIVE": in mode "FAILFAST" the query fails')
    name = "from_jelly" if given == pa.binary() else "from_ntriples"
    convert = partial(convert, layout=layout, mode=mode, reasons=reasons)
    made: Column = function(convert, given, type_of_lists(layout, changes, reasons), name)(column)
    return made


def function(convert: Convert, given: pa.DataType | None, made: pa.DataType, name: str) -> Any:
    """A function of Spark that passes arrays to ``convert``."""

    def run(arrays: Arrays) -> Arrays:
        with without_frames():
            yield from convert(_checked(arrays, given, name), place=_place(name))

    run.__name__ = name
    return F.arrow_udf(run, from_arrow_type(made))


# What Spark gives instead with spark.sql.execution.arrow.useLargeVarTypes.
_LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}


def _checked(arrays: Arrays, given: pa.DataType | None, name: str) -> Arrays:
    for array in arrays:
        # With headers or label it is a struct of a value, its content type and its label.
        is_labelled = pa.types.is_struct(array.type) and array.type[0].type in (given, _LARGE.get(given))
        if given is not None and array.type != given and not is_labelled:
            if not pa.types.is_null(array.type) and array.type != _LARGE[given]:
                raise JellyError(f"{name} takes a column of type {given}, this one is of type {array.type}")
            array = array.cast(given)
        yield array


def _place(name: str) -> str:
    task = TaskContext.get()
    return f"{name} in partition {task.partitionId()}" if task else name


# ---- functions for SQL

class _ReadJelly:
    """The table function: the statements of a file, a directory or a pattern, with the columns of layout flat."""

    def eval(self, path: pa.Array) -> Iterator[pa.Table]:
        from jelly.spark._source import JellyReader  # the other functions do without, on workers

        with in_options():
            settings = Settings.of({"path": path[0].as_py()})
            reader = JellyReader(settings, settings.schema)
            for task in reader.partitions():
                for batch in reader.read(task):
                    yield pa.Table.from_batches([batch])


def _lines(terms: pa.Array) -> pa.Array:
    """Statements with terms in N-Triples syntax as objects; null where the term is."""
    return compute.binary_join_element_wise("<x:s> <x:p> ", terms, " .", "")


def _term_ids(arrays: Arrays, place: str) -> Arrays:
    """The numbers of terms, as `jelly.spark.term_id` tells them."""
    from jelly._streams.reader import Reader
    from jelly.spark._tables import hash_ids

    for array in arrays:
        lines = _lines(array).drop_null().to_pylist()
        ids: list[int] = []
        for batch in Reader("\n".join(lines).encode(), format="nt").batches():
            ids += hash_ids(batch)[batch.o].tolist()
        if len(ids) != len(lines):
            raise JellySyntaxError("expected one term in N-Triples syntax in each row")
        found = iter(ids)
        yield pa.array([next(found) if term else None for term in array.is_valid().to_pylist()], pa.int64())


def _is(kind: str, arrays: Arrays, place: str) -> Arrays:
    """Whether terms are of a kind, by how they begin."""
    for array in arrays:
        yield compute.match_substring_regex(array, kind)


def _part(name: str, arrays: Arrays, place: str) -> Arrays:
    """The lexical form, datatype or language of literals; null for other terms."""
    for array in arrays:
        lists = pa.concat_arrays(list(texts_to_statements(iter([_lines(array)]), place=place)))
        term = compute.list_element(lists, 0)
        value, lang = term.field(name), term.field("lang")
        if name == "datatype":
            tagged = compute.if_else(compute.match_substring(lang, "--"), DIR_LANG_STRING_IRI, LANG_STRING_IRI)
            value = compute.coalesce(value, tagged, XSD_STRING_IRI)
        is_literal = compute.and_(term.is_valid(), compute.equal(term.field("object_kind"), "literal"))
        yield compute.if_else(is_literal, value, pa.scalar(None, pa.string()))


def register_functions(spark: SparkSession) -> None:
    """Make the functions for SQL known to a session, which has them until it ends."""
    lists, string, boolean = type_of_lists("flat"), pa.string(), pa.bool_()
    # Functions in SQL itself would be faster, but the extensions of Iceberg refuse to make them.
    for name, made, takes, convert in (
        ("from_jelly", lists, pa.binary(), frames_to_statements),
        ("from_ntriples", lists, string, texts_to_statements),
        ("to_jelly", pa.binary(), None, statements_to_frames),
        ("term_id", pa.int64(), string, _term_ids),
        ("is_iri", boolean, string, partial(_is, "^<[^<]|^<>")),
        ("is_blank", boolean, string, partial(_is, "^_:")),
        ("is_literal", boolean, string, partial(_is, '^"')),
        ("lexical", string, string, partial(_part, "object")),
        ("datatype", string, string, partial(_part, "datatype")),
        ("lang", string, string, partial(_part, "lang")),
    ):
        spark.udf.register(name, function(convert, takes, made, name))
    table = ", ".join(f"{name} string" for name in lists.value_type.names)
    spark.udtf.register("read_jelly", F.arrow_udtf(_ReadJelly, returnType=table))
