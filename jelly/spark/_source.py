"""The Spark data sources that `jelly.spark.register` registers: "jelly", "jelly-patch" and "jelly-results".

They have statements, changes of patches and SPARQL results as tables. Their options are those of `jelly.spark`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

import numpy as np

from jelly._dataset.conditions.pattern import Pattern
from jelly._dataset.conditions.where import joined, where
from jelly._dataset.seekable.file import query_of
from jelly._formats.arrow_tables import first_rows, from_results, pa
from jelly._formats.registry import RDF_PATCH, Content
from jelly._options.layouts import LAYOUTS, Layout
from jelly.errors import JellyOptionsError, need
from jelly.spark._options import Options, check_options, option
from jelly.spark._parts import BATCH_ROWS, Errors, Part, Rows, noted
from jelly.spark._parts.files import File, absolute, nothing_to_read
from jelly.spark._settings import Message, Settings, Task, in_options, to_arrow

with need("spark-local", "Spark needs pyspark 4.1"):
    from pyspark import TaskContext
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceArrowWriter,
        DataSourceReader,
        DataSourceStreamReader,
        EqualTo,
        Filter,
        In,
        InputPartition,
        WriterCommitMessage,
    )
    from pyspark.sql.types import DataType, IntegralType, LongType, StringType, StructType

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter

    from jelly.results import Results
    from jelly.spark._output import Output


class JellyReader(DataSourceReader):
    """Plans on the driver, reads on the executors."""

    keep: Pattern | None = None

    def __init__(self, settings: Settings, schema: StructType) -> None:
        self.wanted: dict[str, set[Any]] = {}  # values that filters ask for, by column, also of that for the file
        self.settings = settings
        self.struct = schema

    def partitions(self) -> Sequence[InputPartition]:
        settings = self.settings
        with in_options():
            found = settings.found()
            files = settings.known(found)
            if not files and (not found or not settings.chooses):
                raise nothing_to_read(settings.paths, settings.reading.glob)
            only = self.wanted.get(settings.file_column or "")
            files = [
                file for file in files if (only is None or file.path in only)
                and settings.directories.allows(file.path, settings.layout, self.wanted)
            ]  # fmt: skip
            tasks = settings.tasks(files)
            if self.keep is not None and settings.mode == "FAILFAST":  # other modes say what is broken
                tasks = settings.reading.narrowed(tasks, query_of(self.keep, settings.reading.blank_nodes))
            return [Task(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return self.settings.read(partition.value or (), to_arrow(self.struct), self.keep)


class PushdownReader(JellyReader):
    """A reader that only reads rows that pass the filters, and no more than a query takes.

    Spark refuses it if a setting is off.
    """

    limit: int | None = None  # rows
    has_filters = False

    def pushLimit(self, limit: int) -> bool:
        """Give at most this number of rows in each task; whether that is done. Spark 5 calls it, after filters.

        It cuts the rows of all tasks to this number itself. Rows that it filters cannot be counted here.
        """
        if self.has_filters:
            return False
        self.limit = limit
        return True

    def read(self, partition: InputPartition) -> Iterator[Any]:
        batches = super().read(partition)
        return batches if self.limit is None else first_rows(batches, self.limit)

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        found: list[Pattern | None] = []
        self.has_filters = bool(filters)
        for filter in filters:
            if isinstance(filter, EqualTo | In) and len(filter.attribute) == 1:
                name = str(filter.attribute[0])
                values = set(filter.value if isinstance(filter, In) else (filter.value,))
                self.wanted[name] = self.wanted.get(name, values) & values
                found.append(where(name, values))
        self.keep = joined(found)
        # Spark evaluates the filters again on these rows, which costs little: it must also filter the rows of errors.
        return filters


class JellyWriter(DataSourceArrowWriter):
    """Writes part files on the executors; the driver commits them."""

    def __init__(self, output: Output | None) -> None:
        self.output = output  # None: there is nothing to do

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None  # Spark says so for tasks
        if self.output is None:
            return Message(None)
        return Message(self.output.write(context.partitionId(), context.taskAttemptId(), iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        if self.output is not None:
            made = [message.written for message in messages if isinstance(message, Message)]
            self.output.commit(filter(None, made))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        if self.output is not None:
            self.output.abort()


class RefusedStream(DataSourceStreamReader):
    """The reader of a stream that cannot be read: each call raises the reason."""

    def __init__(self, reason: Exception) -> None:
        self._reason = reason

    def _refuse(self, *given: Any, **named: Any) -> Any:
        raise self._reason

    initialOffset = latestOffset = partitions = read = _refuse


class _Source(DataSource):
    """A data source that is read."""

    settings: type[Settings] = Settings

    @classmethod
    def name(cls) -> str:
        return cls.settings.source

    def schema(self) -> StructType:
        return self._settings_of().schema

    def reader(self, schema: StructType) -> DataSourceReader:
        return JellyReader(self._settings_of(schema), schema)

    def _settings_of(self, schema: StructType | None = None) -> Settings:
        with in_options():
            return self.settings.of(self.options, schema)


class JellyDataSource(_Source):
    """The data source: statements as rows, read and written."""

    _pushdown = False
    _patch = False

    def reader(self, schema: StructType) -> DataSourceReader:
        pushdown = not self._patch and option(self.options, "pushdown", default=self._pushdown)
        return (PushdownReader if pushdown else JellyReader)(self._settings_of(schema), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        try:
            return self._stream_reader(schema)
        except Exception as error:  # Spark would show an UnboundLocalError of its own instead
            return RefusedStream(error)

    def _stream_reader(self, schema: StructType) -> DataSourceStreamReader:
        from jelly.spark._streams import DirectoryStream, FollowStream

        kind = FollowStream if option(self.options, "follow") else DirectoryStream
        return kind(self._settings_of(schema), schema, self.options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        from jelly.spark._streams import StreamWriter

        return StreamWriter(self._output(schema, overwrite), overwrite)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        output = self._output(schema, overwrite)
        if_exists = option(self.options, "ifExists")
        if if_exists != "append" and output.store.content():
            if if_exists == "error":
                raise FileExistsError(f"[PATH_ALREADY_EXISTS] there is something in {output.store.url} already")
            return JellyWriter(None)
        return JellyWriter(output.begin())

    def _output(self, schema: StructType, overwrite: bool) -> Output:
        from jelly.spark._output import Output

        check_options(self.options)
        folder = self.options.get("path", "")
        if not folder:
            raise JellyOptionsError(
                f'no path is given: expected df.write.format("{self.name()}").mode("append").save(path)'
            )
        for field in schema.fields:
            layouts = " or ".join(", ".join(layout.columns) for layout in LAYOUTS.values())
            is_number = self._patch and field.name == "patch"
            if not isinstance(field.dataType, IntegralType if is_number else StringType):
                raise JellyOptionsError(
                    f"column {field.name!r} is of type {field.dataType.simpleString()}: expected "
                    f"{'a whole number' if is_number else 'string'}; {'besides op and patch ' * self._patch}"
                    f"the columns are those of a layout: {layouts}"
                )
        compression = option(self.options, "compression")
        [folder] = absolute(folder)
        return Output(
            folder, uuid.uuid4().hex, tuple(schema.names), overwrite, compression, self._patch,
            option(self.options, "storage"),
        )


class PushdownDataSource(JellyDataSource):
    """The same data source, with filters pushed down by default."""

    _pushdown = True


# ---- patches

class PatchSettings(Settings):
    """The checked options of reading patches."""

    source = "jelly-patch"
    types: ClassVar[dict[str, DataType]] = {
        "op": StringType(), "patch": LongType(), "row": LongType(), "file": StringType()
    }  # fmt: skip
    first = tuple(types)
    content = Content.PATCH
    whole = RDF_PATCH.name  # a part of a patch cannot be read alone
    # A patch names nodes by the labels that the patches before it gave them.
    blank_node_modes = ("keep",)
    adds_file = False

    def read_part(self, part: Part, keep: Pattern | None, errors: Errors) -> Rows:
        """The record batches of a file, with ``columns``."""
        path = part.file.path
        wanted = [name for name in self.columns if name not in ("row", "file")] or ["op"]
        from jelly.patch._convert import read_arrow  # most tasks read no patches

        row = 0
        with noted(path, errors), self.reading.open(path) as opened:
            form, limits = self.reading.of_file(part.file, self.content)
            for batch in read_arrow(
                opened, format=form.name, layout=self.layout, columns=wanted, batch_rows=BATCH_ROWS, **limits
            ):
                n = len(batch)
                arrays = {name: batch.column(name) for name in wanted}
                arrays |= {"row": pa.array(np.arange(row, row + n)), "file": pa.repeat(path, n)}
                yield pa.RecordBatch.from_arrays([arrays[name] for name in self.columns], self.columns)
                row += n


class PatchDataSource(JellyDataSource):
    """The data source: additions and deletions of patches as rows, read and written."""

    settings = PatchSettings
    _patch = True

    def _stream_reader(self, schema: StructType) -> DataSourceStreamReader:
        if "follow" in self.options:
            raise JellyOptionsError("a file of patches cannot be followed: expected a directory that gets more of them")
        return super()._stream_reader(schema)


# ---- results

class ResultSettings(Settings):
    """The options of reading query results, checked."""

    source = "jelly-results"
    types: ClassVar[dict[str, DataType]] = {}
    content = Content.RESULTS
    whole = "thrift"
    adds_file = False

    @classmethod
    def of(cls, options: Options, schema: StructType | None = None) -> Settings:
        """The settings that some options mean. Where nothing names the columns, the first file does."""
        if "frames" in options:
            raise JellyOptionsError("query results have no frames: leave out the option frames")
        settings = super().of(options, schema)
        if "layout" not in options:  # whatever the variables are called
            settings = replace(settings, layout="flat")
        if schema is None and "columns" not in options:
            variables = cls._variables(settings)
            cls._check_names(variables, settings.layout)
            more = (settings.corrupt,) if settings.mode == "PERMISSIVE" else ()
            settings = replace(settings, names=(*variables, *more))
        return settings

    @classmethod
    def _variables(cls, settings: Settings) -> tuple[str, ...]:
        """The variables of the first file, or where broken files are skipped of the first that is none."""
        files = settings.known(settings.found())
        if not files:
            raise nothing_to_read(settings.paths, settings.reading.glob)
        errors: Errors = None if settings.mode == "FAILFAST" else []
        for file in files:
            with noted(file.path, errors), settings.reading.open(file.path) as opened:
                return _opened(settings, file, opened).variables
        assert errors is not None  # one of each file
        raise errors[0]

    @classmethod
    def _check_names(cls, names: Sequence[str], layout: Layout, added: Sequence[str] = ()) -> None:
        if not names or len(set(names)) < len(names):
            raise JellyOptionsError("query results must have at least one variable, and columns must name each once")

    def read_part(self, part: Part, keep: Pattern | None, errors: Errors) -> Rows:
        """The record batches of a file, with ``columns``; those that are none of its variables are null."""
        path = part.file.path
        with noted(path, errors), self.reading.open(path) as opened:
            results = _opened(self, part.file, opened)
            batches = self.reading.blank_nodes.batches(path, results.batches())
            for batch in from_results(results.variables, batches, layout=self.layout):
                nothing = pa.nulls(len(batch), pa.string())
                arrays = [batch.column(x) if x in results.variables else nothing for x in self.columns]
                yield pa.RecordBatch.from_arrays(arrays, self.columns)


def _opened(settings: Settings, file: File, opened: BinaryIO) -> Results:
    from jelly.results import read_results  # most tasks read none

    form, limits = settings.reading.of_file(file, settings.content)
    with in_options():
        return read_results(opened, format=form.name, **limits)


class ResultDataSource(_Source):
    """Rows of SPARQL results: reading."""

    settings = ResultSettings
