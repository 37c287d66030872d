"""Functions for SQL, which `jelly.spark.register` makes with ``functions=True``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from jelly._core.base.constants import DIR_LANG_STRING_IRI, LANG_STRING_IRI, XSD_STRING_IRI
from jelly._formats.arrow_tables import compute, pa
from jelly._streams.reader import Reader
from jelly.errors import JellySyntaxError
from jelly.spark._messages import frames_to_statements, statements_to_frames, texts_to_statements, type_of_lists
from jelly.spark._settings import Settings, in_options
from jelly.spark._source import JellyReader
from jelly.spark._tables.ids import hash_ids
from jelly.spark._udf import F, function

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register_functions"]

class _ReadJelly:
    """The table function: the statements of a file, a directory or a pattern, with the columns of layout flat."""

    def eval(self, path: pa.Array) -> Iterator[pa.Table]:
        with in_options():
            settings = Settings.of({"path": path[0].as_py()})
            reader = JellyReader(settings, settings.schema)
            for task in reader.partitions():
                for batch in reader.read(task):
                    yield pa.Table.from_batches([batch])


def _lines(terms: pa.Array) -> pa.Array:
    """Statements with terms in N-Triples syntax as objects; null where the term is."""
    ends = pa.scalar("<x:s> <x:p> "), pa.scalar(" .")
    return compute.binary_join_element_wise(ends[0], terms, ends[1], pa.scalar(""))


def _term_ids(arrays: Iterator[pa.Array], place: str) -> Iterator[pa.Array]:
    """The numbers of terms, as `jelly.spark.term_id` tells them."""
    for array in arrays:
        lines = _lines(array).drop_null().to_pylist()
        ids: list[int] = []
        for batch in Reader("\n".join(lines).encode(), format="nt").batches():
            ids += hash_ids(batch)[batch.o].tolist()
        if len(ids) != len(lines):
            raise JellySyntaxError("expected one term in N-Triples syntax in each row")
        found = iter(ids)
        yield pa.array([next(found) if term else None for term in array.is_valid().to_pylist()], pa.int64())


def _is(kind: str, arrays: Iterator[pa.Array], place: str) -> Iterator[pa.Array]:
    """Whether terms are of a kind, by how they begin."""
    for array in arrays:
        yield compute.match_substring_regex(array, kind)


def _part(name: str, arrays: Iterator[pa.Array], place: str) -> Iterator[pa.Array]:
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
