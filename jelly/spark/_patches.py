"""The Spark data source "jelly-patch": patches as a table of changes. Its options are those of `jelly.spark`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from jelly._dataset.blank_node_scope import Mode
from jelly._dataset.conditions.pattern import Pattern
from jelly._formats.arrow_tables import pa
from jelly._formats.registry import RDF_PATCH, Content, find
from jelly.errors import JellyError, JellyOptionsError, need
from jelly.patch._arrow import read_arrow
from jelly.spark._partitions import Part, split
from jelly.spark._parts.files import File, limits_of, note_error, open_file
from jelly.spark._reading import BATCH_ROWS
from jelly.spark._settings import Settings
from jelly.spark._source import JellyDataSource, JellyReader

with need("spark-local", "Spark needs pyspark 4.1"):
    from pyspark.sql.datasource import DataSourceReader
    from pyspark.sql.types import DataType, LongType, StringType, StructType

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamReader

__all__ = ["PatchDataSource", "PatchSettings"]


@dataclass(frozen=True)
class PatchSettings(Settings):
    """The checked options of reading patches."""

    source: ClassVar[str] = "jelly-patch"
    types: ClassVar[dict[str, DataType]] = {
        "op": StringType(), "patch": LongType(), "row": LongType(), "file": StringType()
    }  # fmt: skip
    first: ClassVar[tuple[str, ...]] = tuple(types)
    content: ClassVar[Content] = Content.PATCH
    # A patch names nodes by the labels that the patches before it gave them.
    blank_node_modes: ClassVar[tuple[Mode, ...]] = ("keep",)
    adds_file: ClassVar[bool] = False

    def tasks(self, files: Iterable[File]) -> list[list[Part]]:
        """The parts of files for each task: whole files, because a part of a patch cannot be read alone."""
        return split(files, self.split_bytes, format=RDF_PATCH.name, storage=self.storage)

    def read_part(self, part: Part, keep: Pattern | None, errors: list[JellyError] | None) -> Iterator[pa.RecordBatch]:
        """The record batches of a file, with ``columns``."""
        path = part.file.path
        wanted = [name for name in self.columns if name not in ("row", "file")] or ["op"]
        row = 0
        try:
            form = find(self.format, part.file.name, content=Content.PATCH)
            limits = limits_of(part.file, form, self.limits)
            with open_file(self.storage, path) as opened:
                for batch in read_arrow(
                    opened, format=form.name, layout=self.layout, columns=wanted, batch_rows=BATCH_ROWS, **limits
                ):
                    n = len(batch)
                    arrays = {name: batch.column(name) for name in wanted}
                    arrays |= {"row": pa.array(np.arange(row, row + n)), "file": pa.repeat(path, n)}
                    yield pa.RecordBatch.from_arrays([arrays[name] for name in self.columns], self.columns)
                    row += n
        except JellyError as error:
            note_error(error, path, errors)


class PatchDataSource(JellyDataSource):
    """The data source: additions and deletions of patches as rows, read and written."""

    settings = PatchSettings
    _patch = True

    def reader(self, schema: StructType) -> DataSourceReader:
        return JellyReader(self._settings_of(schema), schema)

    def _stream_reader(self, schema: StructType) -> DataSourceStreamReader:
        from jelly.spark._streaming.streams import DirectoryStream

        if "follow" in self.options:
            raise JellyOptionsError("a file of patches cannot be followed: expected a directory that gets more of them")
        return DirectoryStream(self._settings_of(schema), schema, self.options)
