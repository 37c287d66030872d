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
from jelly._options.layouts import PLACES
from jelly.errors import JellyFormatError

# The columns of the tables that `jelly.spark.ingest` makes.
_TRIPLES = pa.schema([pa.field(name, pa.int64(), nullable=name == "graph") for name in PLACES.values()])
_NAMES = {"object_kind": "kind", "object": "value", "datatype": "datatype", "lang": "lang", "direction": "direction"}
_TERMS_FILE, _TRIPLES_FILE = "terms.parquet", "triples.parquet"
_FOUND = ("id", *list(_NAMES.values())[:-1])  # in the file


def terms_table(
    dictionary: GraphDictionary, n: int, *, relations: bool = False, direction: bool = True
) -> pa.Table:
    """The terms of the first numbers: ``kind``, ``value``, ``datatype``, ``lang`` and ``direction``.

    Without ``direction`` a base direction stands after the language.
    """
    columns = list(_NAMES)[: None if direction else -1]
    batch = dictionary.batch(0, n, relations=relations)
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
            *made, graphs = dictionary.add(batch, literals=True, apart=False)
            arrays = [pa.array(column, pa.int64()) for column in made]
            graphs = np.full(len(batch), -1) if graphs is None else graphs
            arrays.append(pa.array(graphs, pa.int64(), mask=graphs < 0))
            yield pa.RecordBatch.from_arrays(arrays, schema=_TRIPLES)
            del batch

    with PartFolder(os.fspath(folder)) as part:
        rows = write_table_file(part.of(_TRIPLES_FILE), pa.RecordBatchReader.from_batches(_TRIPLES, triples()))
        made = terms_table(dictionary, dictionary.n_nodes, direction=False)
        made = made.add_column(0, "id", pa.array(np.arange(len(made), dtype=np.int64)))
        write_table_file(part.of(_TERMS_FILE), made)
        # Numbers of one run never stand beside terms of another, even if the process is killed here.
        with suppress(FileNotFoundError):
            os.remove(os.path.join(folder, _TRIPLES_FILE))
        part.commit(os.path.join(folder, name) for name in (_TERMS_FILE, _TRIPLES_FILE))
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
            same = dict.fromkeys(("subject", "predicate"), pa.repeat("x:x", n))
            rows = pa.table(same | {part: found.column(name) for part, name in _NAMES.items() if name in _FOUND})
            numbers = [dictionary.numbers(batch, add=True) for batch in InputTable(rows, "flat").batches(quads=False)]
            in_order = pa.array(np.arange(first, first + n, dtype=np.int64))
            made = np.concatenate([np.empty(0), *numbers])
            if not found.column("id").equals(in_order) or not np.array_equal(made, in_order):
                raise JellyFormatError(
                    f"rows {first} to {first + n} of the terms do not have the ids of their places, each term once: "
                    "expected a file that was written with layout=\"ids\"",
                    source=path,
                )
    return dictionary
