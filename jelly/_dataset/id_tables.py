"""The layout ids in files: ``terms.parquet`` and ``triples.parquet`` in a directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from jelly._bytes.part_file import PartFolder
from jelly._core.algebra.graph_ids import GraphDictionary
from jelly._dataset.sources import Sources
from jelly._formats.arrow_input import InputTable, pyarrow_errors
from jelly._formats.arrow_tables import from_batches, pa, parquet
from jelly._formats.registry import READING, VERSIONS
from jelly._formats.table_files import write_table_file
from jelly._options.settings import checked
from jelly.errors import JellyFormatError

__all__ = ["read_dictionary", "terms_table", "write_ids"]

# The columns of the tables that `jelly.spark.ingest` makes.
_PARTS = ("subject", "predicate", "object", "graph")
_TRIPLES = pa.schema([pa.field(name, pa.int64(), nullable=name == "graph") for name in _PARTS])
_NAMES = {"object_kind": "kind", "object": "value", "datatype": "datatype", "lang": "lang", "direction": "direction"}
_TERMS_FILE, _TRIPLES_FILE = "terms.parquet", "triples.parquet"
_FOUND = ("id", "kind", "value", "datatype", "lang")


def terms_table(
    dictionary: GraphDictionary, first: int, end: int, *, relations: bool = False, direction: bool = True
) -> pa.Table:
    """The terms of a range of numbers: ``kind``, ``value``, ``datatype``, ``lang`` and ``direction``.

    Without ``direction`` a base direction stands behind the language.
    """
    columns = list(_NAMES)[: len(_NAMES) - (not direction)]
    batch = dictionary.batch(first, end, relations=relations)
    made = from_batches([batch], columns=columns, direction=direction).read_all()
    return made.rename_columns([_NAMES[name] for name in columns])


@checked(READING, VERSIONS)
def write_ids(
    folder: str | os.PathLike[str],
    sources: Any,
    *,
    literals: bool = True,
    scope: bool = True,
    threads: int = 1,
    **settings: Any,
) -> int:
    """Write statements as two Parquet files of the layout ids: numbers, and the terms that they stand for.

    ``triples.parquet`` has the columns ``subject``, ``predicate``, ``object`` and ``graph`` (null in the default
    graph); ``terms.parquet`` has ``id``, ``kind``, ``value``, ``datatype`` and ``lang``. The columns are those of
    `jelly.spark.ingest`, but ids are 0, 1, 2 ... in the order of the terms, and predicates are terms as others. Only
    the terms are in memory, see `read_ids`.

    Parameters
    ----------
    folder : path
        The directory. Files of these names in it are replaced when both are complete; where that is interrupted, there
        is no ``triples.parquet``.
    sources : Any
        The input, as for `read_ids`: one or several sources.
    literals : bool, default True
        Take statements with literals.
    scope : bool, default True
        Keep the blank nodes of different sources apart, see `read_ids`.
    threads : int, default 1
        Number of threads that read ahead, see `read_ids`.
    **settings : Any
        Further keywords of `Reader`.

    Returns
    -------
    int
        Number of rows of ``triples.parquet``.

    Raises
    ------
    JellyError
        If an input is wrong.
    MissingExtraError
        If pyarrow is not installed.

    Examples
    --------
    >>> import jelly, os, tempfile
    >>> from pyarrow import parquet
    >>> folder = tempfile.mkdtemp()
    >>> jelly.write_ids(folder, b'<a:s> <a:p> "text" .', format="nt")
    1
    >>> parquet.read_table(os.path.join(folder, "terms.parquet"))["value"].to_pylist()
    ['a:s', 'a:p', 'text']
    >>> parquet.read_table(os.path.join(folder, "triples.parquet")).to_pylist()
    [{'subject': 0, 'predicate': 1, 'object': 2, 'graph': None}]
    """
    dictionary = GraphDictionary()

    def triples() -> Iterator[pa.RecordBatch]:
        for batch in Sources(sources, "scope" if scope else "keep", **settings).batches(threads):
            made = dictionary.add(batch, literals=literals, apart=False)
            arrays = [pa.array(column, pa.int64()) for column in made[:3]]
            graphs = np.full(len(made[0]), -1) if made[3] is None else made[3]
            arrays.append(pa.array(graphs, pa.int64(), mask=graphs < 0))
            yield pa.RecordBatch.from_arrays(arrays, schema=_TRIPLES)
            del batch

    def terms() -> pa.Table:
        made = terms_table(dictionary, 0, dictionary.n_nodes, direction=False)
        return made.add_column(0, "id", pa.array(np.arange(len(made), dtype=np.int64)))

    is_new = not os.path.isdir(folder)
    os.makedirs(folder, exist_ok=True)
    try:
        with PartFolder(os.fspath(folder)) as part:
            try:
                reader = pa.RecordBatchReader.from_batches(_TRIPLES, triples())
                rows = write_table_file(part.of(_TRIPLES_FILE), reader)
                write_table_file(part.of(_TERMS_FILE), terms())
                # Numbers of one run never stand beside terms of another, even if the process is killed here.
                with suppress(FileNotFoundError):
                    os.remove(os.path.join(folder, _TRIPLES_FILE))
                part.commit(os.path.join(folder, name) for name in (_TERMS_FILE, _TRIPLES_FILE))
            except OSError as error:
                if error.filename is not None and os.path.dirname(error.filename) == part.path:
                    error.filename = os.path.join(folder, os.path.basename(error.filename))
                raise
    finally:
        if is_new and not os.listdir(folder):
            os.rmdir(folder)
    return rows


def read_dictionary(folder: str | os.PathLike[str]) -> GraphDictionary:
    """The dictionary of a directory that `write_ids` wrote: each term has its id, as a node."""
    path = os.path.join(folder, _TERMS_FILE)
    dictionary = GraphDictionary()
    with pyarrow_errors("the table", of_file=True), parquet.ParquetFile(path) as file:
        if not set(_FOUND) <= set(file.schema_arrow.names):
            raise JellyFormatError(f"no table of terms: expected the columns {', '.join(_FOUND)}", source=path)
        for found in file.iter_batches(columns=list(_FOUND)):
            found.validate(full=True)
            first, n = dictionary.n_nodes, len(found)
            columns = dict(zip(_FOUND, (found.column(name) for name in _FOUND), strict=True))
            rows = pa.table({
                "subject": pa.array(["x:s"]).take(pa.array(np.zeros(n, np.int64))),
                "predicate": pa.array(["x:p"]).take(pa.array(np.zeros(n, np.int64))),
                "object": columns["value"], "object_kind": columns["kind"],
                "datatype": columns["datatype"], "lang": columns["lang"],
            })  # fmt: skip
            ids = columns["id"]
            numbers = [dictionary.numbers(batch, add=True) for batch in InputTable(rows, "flat").batches(quads=False)]
            in_order = pa.array(np.arange(first, first + n, dtype=np.int64))
            if not ids.equals(in_order) or not np.array_equal(np.concatenate([np.empty(0), *numbers]), in_order):
                raise JellyFormatError(
                    f"rows {first} to {first + n} of the terms do not have the ids of their places, each term once: "
                    "expected a file that jelly.write_ids wrote",
                    source=path,
                )
    return dictionary
