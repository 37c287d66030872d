"""Functions for SQL, which `jelly.spark.register` makes with ``functions=True``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jelly._formats.arrow_tables import compute, pa
from jelly._streams.reader import Reader
from jelly.errors import JellySyntaxError
from jelly.spark._messages import frames_to_statements, statements_to_frames, texts_to_statements, type_of_lists
from jelly.spark._parts.files import find_files
from jelly.spark._settings import Settings, in_options, to_arrow
from jelly.spark._tables.buckets import hash_ids
from jelly.spark._udf import F, function

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register_functions"]

_RDF, _XSD = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2001/XMLSchema#"
# The object of a statement that has a term in N-Triples syntax.
_PARTS = "from_ntriples(concat('<x:s> <x:p> ', term, ' .'))[0]"
_SQL = {
    "is_iri": ("boolean", "term like '<%' and term not like '<<%'"),
    "is_blank": ("boolean", "term like '\\_:%'"),
    "is_literal": ("boolean", "term like '\"%'"),
    "lexical": ("string", f"case when is_literal(term) then {_PARTS}.object end"),
    "lang": ("string", f"case when is_literal(term) then {_PARTS}.lang end"),
    "datatype": (
        "string",
        f"case when is_literal(term) then coalesce({_PARTS}.datatype, "
        f"case when lang(term) is null then '{_XSD}string' when lang(term) like '%--%' then '{_RDF}dirLangString' "
        f"else '{_RDF}langString' end) end",
    ),
}


class _ReadJelly:
    """The table function: the statements of a file, a directory or a pattern, with the columns of layout flat."""

    def eval(self, path: pa.Array) -> Iterator[pa.Table]:
        with in_options():
            settings = Settings.of({"path": path[0].as_py()})
            for task in settings.tasks(settings.known(find_files(settings.paths))):
                for batch in settings.read(task, to_arrow(settings.schema)):
                    yield pa.Table.from_batches([batch])


def _term_ids(arrays: Iterator[pa.Array], place: str) -> Iterator[pa.Array]:
    """The numbers of terms in N-Triples syntax, as `jelly.spark.term_id` tells them."""
    for array in arrays:
        terms = array.drop_null()
        lines = compute.binary_join_element_wise(pa.scalar("<x:s> <x:p> "), terms, pa.scalar(" ."), pa.scalar(""))
        ids: list[int] = []
        for batch in Reader("\n".join(lines.to_pylist()).encode(), format="nt").batches():
            ids += hash_ids(batch)[batch.o].tolist()
        if len(ids) != len(terms):
            raise JellySyntaxError("expected one term in N-Triples syntax in each row")
        found = iter(ids)
        yield pa.array([next(found) if term else None for term in array.is_valid().to_pylist()], pa.int64())


def register_functions(spark: SparkSession) -> None:
    """Make the functions for SQL known to a session, which has them until it ends."""
    lists = type_of_lists("flat")
    for name, made, takes, convert in (
        ("from_jelly", lists, pa.binary(), frames_to_statements),
        ("from_ntriples", lists, pa.string(), texts_to_statements),
        ("to_jelly", pa.binary(), None, statements_to_frames),
        ("term_id", pa.int64(), pa.string(), _term_ids),
    ):
        spark.udf.register(name, function(convert, takes, made, name))
    table = ", ".join(f"{name} string" for name in lists.value_type.names)
    spark.udtf.register("read_jelly", F.arrow_udtf(_ReadJelly, returnType=table))
    for name, (made, body) in _SQL.items():
        spark.sql(f"create or replace temporary function {name}(term string) returns {made} return {body}")
