"""The Spark data source "jelly-results": SPARQL results as a table. Its options are those of `jelly.spark`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, ClassVar

from jelly._dataset.conditions.pattern import Pattern
from jelly._formats.arrow_tables import from_results, pa
from jelly._formats.registry import Content, find
from jelly._options.layouts import Layout
from jelly.errors import JellyError, JellyOptionsError, need
from jelly.results import Results, read_results
from jelly.spark._partitions import Part, split
from jelly.spark._parts.files import File, find_files, limits_of, note_error, open_file
from jelly.spark._settings import Settings, in_options
from jelly.spark._source import JellyReader

with need("spark-local", "Spark needs pyspark 4.1"):
    from pyspark.sql.datasource import DataSource, DataSourceReader
    from pyspark.sql.types import DataType, StructType

__all__ = ["ResultDataSource", "ResultSettings"]


@dataclass(frozen=True)
class ResultSettings(Settings):
    """The options of reading query results, checked."""

    source: ClassVar[str] = "jelly-results"
    types: ClassVar[dict[str, DataType]] = {}
    content: ClassVar[Content] = Content.RESULTS
    adds_file: ClassVar[bool] = False

    @classmethod
    def of(cls, options: Mapping[str, str], schema: StructType | None = None) -> Settings:
        """The settings that some options mean. Where nothing names the columns, the first file does."""
        if "frames" in options:
            raise JellyOptionsError("query results have no frames: leave out the option frames")
        settings = super().of(options, schema)
        if "layout" not in options:  # whatever the variables are called
            settings = replace(settings, layout="flat")
        if schema is None and "columns" not in options:
            files = settings.known(find_files(settings.paths, pattern=settings.pattern, storage=settings.storage))
            variables = _variables(settings, files[0]) if files else ()
            cls._check_names(variables, settings.layout)
            more = (settings.corrupt,) if settings.mode == "PERMISSIVE" else ()
            settings = replace(settings, names=(*variables, *more))
        return settings

    @classmethod
    def _check_names(cls, names: Sequence[str], layout: Layout, added: Sequence[str] = ()) -> None:
        if not names or len(set(names)) < len(names):
            raise JellyOptionsError("query results must have at least one variable, and columns must name each once")

    def tasks(self, files: Iterable[File]) -> list[list[Part]]:
        """The files that each task reads: whole ones."""
        return split(files, self.split_bytes, format="thrift", storage=self.storage)

    def read_part(self, part: Part, keep: Pattern | None, errors: list[JellyError] | None) -> Iterator[pa.RecordBatch]:
        """The record batches of a file, with ``columns``; those that are none of its variables are null."""
        path = part.file.path
        try:
            with open_file(self.storage, path) as opened:
                results = _opened(self, part.file, opened)
                batches = self.blank_nodes.batches(path, results.batches())
                for batch in from_results(results.variables, batches, layout=self.layout):
                    nothing = pa.nulls(len(batch), pa.string())
                    arrays = [batch.column(x) if x in results.variables else nothing for x in self.columns]
                    yield pa.RecordBatch.from_arrays(arrays, self.columns)
        except JellyError as error:
            note_error(error, path, errors)


def _variables(settings: Settings, file: File) -> tuple[str, ...]:
    with open_file(settings.storage, file.path) as opened:
        return _opened(settings, file, opened).variables


def _opened(settings: Settings, file: File, opened: BinaryIO) -> Results:
    form = find(settings.format, file.name, content=Content.RESULTS)
    with in_options():
        return read_results(opened, format=form.name, **limits_of(file, form, settings.limits))


class ResultDataSource(DataSource):
    """Rows of SPARQL results: reading."""

    @classmethod
    def name(cls) -> str:
        return ResultSettings.source

    def schema(self) -> StructType:
        with in_options():
            return ResultSettings.of(self.options).schema

    def reader(self, schema: StructType) -> DataSourceReader:
        with in_options():
            return JellyReader(ResultSettings.of(self.options, schema), schema)
