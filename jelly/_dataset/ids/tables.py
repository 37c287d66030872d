"""The layout ids in files: ``terms.parquet`` and ``triples.parquet`` in a directory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

import numpy as np

from jelly._bytes.part_file import PartFolder
from jelly._core.algebra.graph_ids import GraphDictionary
from jelly._core.base.batch import Batch
from jelly._formats.arrow_input import InputTable, pyarrow_errors
from jelly._formats.arrow_tables import from_batches, pa, parquet
from jelly._formats.table_files import write_table_file
from jelly.errors import JellyFormatError

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

    Without ``direction`` a base direction stands after the language.
    """
    columns = list(_NAMES)[: len(_NAMES) - (not direction)]
    batch = dictionary.batch(first, end, relations=relations)
    made = from_batches([batch], columns=columns, direction=direction).read_all()
    return made.rename_columns([_NAMES[name] for name in columns])


def write_ids(folder: str | os.PathLike[str], batches: Iterable[Batch]) -> int:
    """Write statements as two Parquet files of the layout ids, see `Dataset.write`: the number of rows.

    Files of these names are replaced when both are complete; where that is interrupted, there is no
    ``triples.parquet``. Only the terms are in memory.
    """
    dictionary = GraphDictionary()

    def triples() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            made = dictionary.add(batch, literals=True, apart=False)
            arrays = [pa.array(column, pa.int64()) for column in made[:3]]
            graphs = np.full(len(made[0]), -1) if made[3] is None else made[3]
            arrays.append(pa.array(graphs, pa.int64(), mask=graphs < 0))
            yield pa.RecordBatch.from_arrays(arrays, schema=_TRIPLES)
            del batch

    def terms() -> pa.Table:
        made = terms_table(dictionary, 0, dictionary.n_nodes, direction=False)
        return made.add_column(0, "id", pa.array(np.arange(len(made), dtype=np.int64)))

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
                    "expected a file that was written with layout=\"ids\"",
                    source=path,
                )
    return dictionary
