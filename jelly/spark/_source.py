"""The Spark data source "jelly", which `jelly.spark.register` registers. Its options are those of `jelly.spark`."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar

from jelly._find.where import Where, where
from jelly._formats.arrow_input import check_columns
from jelly._formats.registry import PATCH_READING, READING, RESULT_READING, Content, find
from jelly._layouts import LAYOUTS, Layout
from jelly._limits import SETTABLE
from jelly._sources.blank_node_scope import MODES as BLANK_NODE_MODES
from jelly._sources.blank_node_scope import BlankNodes, Mode
from jelly._sources.segments import query_of
from jelly.arrow import pa
from jelly.errors import JellyError, JellyOptionsError, MissingExtraError
from jelly.spark._commit.job import Output, Written
from jelly.spark._partitions import (
    File,
    Part,
    absolute,
    find_files,
    narrowed,
    nothing_to_read,
    read_part,
    split,
    unknown_error,
    unknown_files,
    without,
)
from jelly.spark._parts.directories import Directories
from jelly.spark._streaming.refused import refusing

try:
    from pyspark import TaskContext
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceArrowWriter,
        DataSourceReader,
        EqualTo,
        Filter,
        In,
        InputPartition,
        WriterCommitMessage,
    )
    from pyspark.sql.types import (
        BinaryType,
        DataType,
        IntegralType,
        LongType,
        MapType,
        StringType,
        StructField,
        StructType,
    )
except ImportError:
    raise MissingExtraError("Spark needs pyspark 4.1: python -m pip install 'jelly-rdf[spark]'") from None

if TYPE_CHECKING:
    # Most queries are not streams, and each worker imports this module.
    from pyspark.sql.datasource import DataSourceStreamArrowWriter, DataSourceStreamReader

__all__ = ["CORRUPT", "JellyDataSource", "PushdownDataSource", "Settings"]

CORRUPT = "_corrupt_record"
MODES = ("FAILFAST", "DROPMALFORMED", "PERMISSIVE")
IF_EXISTS = ("append", "error", "ignore")

# The options for reading, writing and streaming, and those that Spark itself adds.
_OPTIONS = (
    "path", "paths", "layout", "columns", "frames", "mode", "format", "splitBytes", "pathGlobFilter", "skipUnknown",
    "storage", "pushdown", "blankNodes", "skolemBase", "fileColumn", "basePath", "partitions", "partitionColumns",
    "partitionFilter", "ifExists", "compression", "maxFilesPerTrigger",
    "maxFileAge", "follow", "maxBytesPerTrigger", "checkpointLocation", "queryName",
)  # fmt: skip


# Those for limits, by their keywords, such as maxLineBytes; max_line_bytes will do.
_LIMITS = {limit.name: limit.camel for limit in SETTABLE}
# Keywords of all formats.
_READING = {Content.STATEMENTS: READING, Content.PATCH: PATCH_READING, Content.RESULTS: RESULT_READING}

_OF_DIRECTORIES = ("basePath", "partitions", "partitionColumns", "partitionFilter")

# Keywords of the library in messages, as options of the data sources.
_IN_OPTIONS = [
    (re.compile(pattern), option)
    for pattern, option in (
        (r"\bskolem_base\b", "skolemBase"),
        (r"\bread it with format='(\w+)'", r'read it with option("format", "\1")'),
        (r"\bpass format=\.\.\.", 'set option("format", ...)'),
        (r'\blayout="(\w+)"', r'option("layout", "\1")'),
        *((rf"\b{keyword}\b", option) for keyword, option in _LIMITS.items()),
    )
]


@contextmanager
def in_options() -> Iterator[None]:
    """Context manager: errors name options of the data sources instead of keywords.

    >>> with in_options():
    ...     raise JellyError('use layout="ntriples"')
    Traceback (most recent call last):
    jelly.JellyError: use option("layout", "ntriples")
    """
    try:
        yield
    except JellyError as error:
        _reword(error)
        raise


def _reword(error: JellyError) -> None:
    for pattern, option in _IN_OPTIONS:
        error.reason = pattern.sub(option, error.reason)
    error.args = (error.reason,)


def check_options(options: Iterable[str]) -> None:
    """Refuse an option that does not exist.

    >>> check_options(["path", "colums"])
    Traceback (most recent call last):
    jelly.JellyOptionsError: unknown option 'colums': did you mean columns?
    """
    known = {name.lower(): name for name in (*_OPTIONS, *_LIMITS, *_LIMITS.values())}
    if "provider" in options:
        return  # these are the properties of a table
    for name in options:
        # Platforms may add settings of their own.
        if name.lower() not in known and "." not in name and not name.startswith("_"):
            near = get_close_matches(name.lower(), known, 1)
            advice = f"did you mean {known[near[0]]}?" if near else f"expected one of {', '.join(_OPTIONS)}"
            raise JellyOptionsError(f"unknown option {name!r}: {advice}")


def choose(options: Mapping[str, str], name: str, choices: Sequence[str], default: str) -> str:
    """Check that an option is one of some words, ignoring case."""
    given = options.get(name, default)
    for choice in choices:
        if given.lower() == choice.lower():
            return choice
    raise JellyOptionsError(f"option {name} is {given!r}: expected one of {', '.join(choices)}")


def _limits(options: Mapping[str, str], content: Content, source: str) -> dict[str, int]:
    """The limits that options set, as keywords."""
    found: dict[str, int] = {}
    for keyword, option in _LIMITS.items():
        for name in (keyword, option):
            if name not in options:
                continue
            if keyword not in _READING[content]:
                raise JellyOptionsError(f"the data source {source} has no option {option}")
            text = options[name].strip()
            if not text.isdecimal() or int(text) < 1:
                raise JellyOptionsError(f"option {option} is {text!r}: expected a whole number, at least 1")
            found[keyword] = int(text)
    return found


def _flag(options: Mapping[str, str], name: str, default: bool = False) -> bool:
    return choose(options, name, ("true", "false"), "true" if default else "false") == "true"


def _storage(options: Mapping[str, str]) -> dict[str, Any]:
    """The options for the file system of fsspec. Errors do not show them: they may hold a password."""
    try:
        storage = json.loads(options.get("storage", "{}"))
    except ValueError:
        storage = None
    if not isinstance(storage, dict):
        raise JellyOptionsError("option storage must be a JSON object")
    return storage


@dataclass(frozen=True)
class Settings:
    """The checked options of reading; small and picklable. ``options`` are those of a `DataSource`."""

    source: ClassVar[str] = "jelly"
    types: ClassVar[dict[str, DataType]] = {
        "frame": LongType(), "row": LongType(), "metadata": MapType(StringType(), BinaryType())
    }  # fmt: skip
    blank_node_modes: ClassVar[tuple[Mode, ...]] = BLANK_NODE_MODES  # the first is the default
    adds_file: ClassVar[bool] = True  # whether `fit` can add a column for the file
    first: ClassVar[tuple[str, ...]] = ()  # columns before those of the layout
    content: ClassVar[Content] = Content.STATEMENTS

    paths: tuple[str, ...]
    layout: Layout
    names: tuple[str, ...]  # of the columns
    mode: str
    format: str | None
    split_bytes: int | None
    pattern: str | None
    storage: dict[str, Any]
    skip_unknown: bool
    blank_nodes: BlankNodes
    file_column: str | None  # its name, if there is one
    directories: Directories
    wanted: dict[str, list[str]]  # values of directories whose files are read
    limits: dict[str, int]  # as keywords, of any format

    @classmethod
    def of(cls, options: Mapping[str, str], schema: StructType | None = None) -> Settings:
        """The settings for some options, and for the schema of the user, if any."""
        check_options(options)
        paths = tuple(json.loads(options["paths"])) if "paths" in options else (options.get("path", ""),)
        if not all(paths):
            raise JellyOptionsError(
                f'no path is given: expected spark.read.format("{cls.source}").load(path). Spark does not pass on the '
                f"path of CREATE TABLE name USING {cls.source}: write CREATE TEMPORARY VIEW name USING "
                f"`{cls.source}` OPTIONS (path '...'), or SELECT ... FROM name WITH (path = '...')"
            )
        paths = tuple(absolute(paths))
        mode = choose(options, "mode", MODES, MODES[0])
        own = None if schema is None else schema.names
        file_name = cls._file_name(options)
        of_directories = cls._directory_names(options, file_name)
        extra = {*cls.types, CORRUPT, file_name, *of_directories}
        fitting = [name for name, known in LAYOUTS.items() if own and not set(own) - {*known.columns, *extra}]
        by_names = fitting[-1] if fitting else "flat"
        layout: Layout = choose(options, "layout", tuple(LAYOUTS), by_names)  # type: ignore[assignment]
        if own is not None:
            names = tuple(own)
        elif "columns" in options:
            names = tuple(name.strip() for name in options["columns"].split(","))
        else:
            names = (*cls.first, *LAYOUTS[layout].columns)
        if own is None:
            names += ("frame", "metadata") if _flag(options, "frames") else ()
            names += (file_name,) if "fileColumn" in options and file_name and file_name not in names else ()
            names += tuple(name for name in of_directories if name not in names)
            names += (CORRUPT,) if mode == "PERMISSIVE" and CORRUPT not in names else ()
        elif "fileColumn" in options and file_name not in own:
            raise JellyOptionsError(f"option fileColumn is {file_name!r}: the schema has no such column")
        elif mode == "PERMISSIVE" and CORRUPT not in own:
            raise JellyOptionsError(f"mode PERMISSIVE puts errors into a column {CORRUPT} string: the schema has none")
        file_column = file_name if file_name in names else None
        cls._check_names(names, layout, (*of_directories, *([file_column] if file_column else ())))
        for field in () if schema is None else schema.fields:
            if field.dataType != (wanted := cls.types.get(field.name, StringType())):
                given = field.dataType.simpleString()
                raise JellyOptionsError(f"column {field.name!r} is {given}: expected {wanted.simpleString()}")
        storage = _storage(options)
        try:
            split_bytes = int(options["splitBytes"]) if "splitBytes" in options else None
            chosen = json.loads(options.get("partitionFilter", "{}"))
        except ValueError as error:
            raise JellyOptionsError(
                f"option splitBytes must be a number, partitionFilter a JSON object: {error}"
            ) from None
        if split_bytes is not None and split_bytes < 1:
            raise JellyOptionsError("option splitBytes must be at least 1")
        form = options.get("format")
        if form is not None:
            find(form, content=cls.content)
        mode_of_nodes: Any = choose(options, "blankNodes", cls.blank_node_modes, cls.blank_node_modes[0])
        with in_options():
            blank_nodes = BlankNodes(mode_of_nodes, options.get("skolemBase"))
        return cls(
            paths, layout, names, mode, form, split_bytes, options.get("pathGlobFilter"), storage,
            _flag(options, "skipUnknown"), blank_nodes, file_column,
            Directories(
                tuple(absolute(options["basePath"])) if "basePath" in options else paths,
                cls.adds_file and _flag(options, "partitions", True),
                tuple(name for name in of_directories if name in names),
            ),
            _wanted(chosen),
            _limits(options, cls.content, cls.source),
        )  # fmt: skip

    @classmethod
    def _file_name(cls, options: Mapping[str, str]) -> str | None:
        """The name of the column for the file, which need not be among the columns; None if there is none."""
        if not cls.adds_file:
            if "fileColumn" in options:
                raise JellyOptionsError(f"the data source {cls.source} has no option fileColumn")
            return None
        name = options.get("fileColumn", "file")
        if not name or name in (*cls.types, CORRUPT, *(name for known in LAYOUTS.values() for name in known.columns)):
            raise JellyOptionsError(f"option fileColumn is {name!r}: expected a name that no other column has")
        return name

    @classmethod
    def _directory_names(cls, options: Mapping[str, str], file_name: str | None) -> tuple[str, ...]:
        """The names of the columns for directories, which need not be among the columns."""
        if not cls.adds_file and (given := [name for name in _OF_DIRECTORIES if name in options]):
            raise JellyOptionsError(f"the data source {cls.source} has no option {given[0]}")
        text = options.get("partitionColumns", "")
        names = tuple(name.strip() for name in text.split(",")) if text.strip() else ()
        taken = {"", CORRUPT, file_name, *cls.types, *(name for known in LAYOUTS.values() for name in known.columns)}
        if not taken.isdisjoint(names) or len(set(names)) < len(names):
            raise JellyOptionsError(f"option partitionColumns is {text!r}: expected names that no other column has")
        return names

    @classmethod
    def _check_names(cls, names: Sequence[str], layout: Layout, added: Sequence[str] = ()) -> None:
        known = (*cls.first, *LAYOUTS[layout].columns, *(name for name in cls.types if name not in cls.first))
        if unknown := [name for name in names if name not in (*known, CORRUPT, *added)]:
            raise JellyOptionsError(
                f"unknown columns {', '.join(map(repr, unknown))}: "
                f"expected some of {', '.join((*known, *added))}; or another layout"
            )
        if not names or len(set(names)) < len(names):
            raise JellyOptionsError("columns must name at least one column, and each once")

    @property
    def schema(self) -> StructType:
        """The schema of the rows."""
        return StructType([StructField(name, self.types.get(name, StringType())) for name in self.names])

    def known(self, files: Sequence[File]) -> Sequence[File]:
        """The files to read of those that were found. JellyError for files with the suffix of no format."""
        files = [file for file in files if self.directories.chosen(file.path, self.wanted)]
        unknown = unknown_files(files, self.format, content=self.content)
        if unknown and not self.skip_unknown and self.mode == "FAILFAST":
            raise unknown_error(unknown, 'option("skipUnknown", "true")')
        return without(files, unknown) if self.skip_unknown else files

    def tasks(self, files: Iterable[File]) -> list[list[Part]]:
        """The parts of files for each task."""
        # Nobody has counted the statements before a part of text.
        cut_lines = "row" not in self.names
        return split(
            files,
            self.split_bytes,
            format=self.format,
            storage=self.storage,
            cut_lines=cut_lines,
            directories=self.directories,
            limits=self.limits,
        )

    def read_part(self, part: Part, keep: Where | None, errors: list[JellyError] | None) -> Iterator[pa.RecordBatch]:
        """The record batches of a part, with ``columns``."""
        return read_part(
            part,
            layout=self.layout,
            columns=self.columns,
            format=self.format,
            storage=self.storage,
            keep=keep,
            errors=errors,
            blank_nodes=self.blank_nodes,
            limits=self.limits,
        )

    def read(self, parts: Iterable[Any], schema: pa.Schema, keep: Where | None = None) -> Iterator[pa.RecordBatch]:
        """The record batches of a task with ``schema``, whose columns may be null."""
        errors: list[JellyError] | None = None if self.mode == "FAILFAST" else []
        for part in parts:
            with in_options():
                for batch in self.read_part(part, keep, errors):
                    yield self.fit(batch, schema, part.file.path)
            for error in errors or ():
                _reword(error)
            if errors and self.mode == "PERMISSIVE":
                yield self._corrupt(errors, schema, part.file.path)
            if errors:
                errors.clear()

    @property
    def columns(self) -> list[str]:
        """The columns to build; one at least, for the number of rows."""
        added = (CORRUPT, self.file_column, *self.directories.columns)
        return [name for name in self.names if name not in added] or [LAYOUTS[self.layout].required[0]]

    def fit(self, batch: pa.RecordBatch, schema: pa.Schema, path: str) -> pa.RecordBatch:
        """A record batch of ``columns`` of the file at a path with ``schema``."""
        if self.file_column is None and CORRUPT not in self.names and not self.directories.columns:
            return pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        added = {CORRUPT: pa.nulls(len(batch), pa.string()), **self._of_file(path, len(batch))}
        arrays = [added[name] if name in added else batch.column(name) for name in self.names]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _of_file(self, path: str, n: int) -> dict[str | None, pa.Array]:
        """The columns that are the same for all ``n`` rows of a file."""
        values = self.directories.values(path) if self.directories.columns else {}
        told = {name: values.get(name) for name in self.directories.columns} | {self.file_column: path}
        return {
            name: pa.nulls(n, pa.string()) if value is None else pa.repeat(value, n) for name, value in told.items()
        }

    def _corrupt(self, errors: list[JellyError], schema: pa.Schema, path: str) -> pa.RecordBatch:
        """A row for each error of a file: its frame, byte offset or line."""
        n = len(errors)
        texts = pa.array([str(error) for error in errors], pa.string())
        added = {CORRUPT: texts, **self._of_file(path, n)}
        arrays = [added[field.name] if field.name in added else pa.nulls(n, field.type) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _wanted(given: Any) -> dict[str, list[str]]:
    """The values of directories that the option partitionFilter chooses."""
    pairs = given.items() if isinstance(given, dict) else [("", None)]
    lists: dict[str, Any] = {name: [value] if isinstance(value, str) else value for name, value in pairs}
    if not all(isinstance(values, list) and all(isinstance(x, str) for x in values) for values in lists.values()):
        raise JellyOptionsError(
            'option partitionFilter must be a JSON object of strings or lists of strings: {"graph": "http://a/"}'
        )
    return lists


def to_arrow(schema: StructType) -> pa.Schema:
    """The Arrow schema that Spark expects record batches of a schema to have: exactly this."""
    types = {LongType(): pa.int64(), MapType(StringType(), BinaryType()): pa.map_(pa.string(), pa.binary())}
    return pa.schema([pa.field(f.name, types.get(f.dataType, pa.string()), f.nullable) for f in schema.fields])


class Task(InputPartition):
    """The parts of files that a task reads.

    >>> Task([Part(File("data/a.nt", 9, 0.0), 3), Part(File("data/b.nt", 9, 0.0))])
    Task(data/a.nt from 3, data/b.nt)
    """

    def __repr__(self) -> str:
        return f"Task({', '.join(map(str, self.value))})"


class JellyReader(DataSourceReader):
    """Plans on the driver, reads on the executors."""

    keep: Where | None = None
    only: set[str] | None = None  # files: None means all

    def __init__(self, settings: Settings, schema: StructType) -> None:
        self.wanted: dict[str, set[Any]] = {}  # values of columns that filters ask for
        self.settings = settings
        self.struct = schema

    def partitions(self) -> Sequence[InputPartition]:
        settings = self.settings
        found = find_files(settings.paths, pattern=settings.pattern, storage=settings.storage)
        files = settings.known(found)
        if not files and (not found or not settings.wanted):
            raise nothing_to_read(settings.paths, settings.pattern)
        if self.only is not None:
            files = [file for file in files if file.path in self.only]
        files = [file for file in files if settings.directories.allows(file.path, settings.layout, self.wanted)]
        tasks = settings.tasks(files)
        if self.keep is not None and settings.mode == "FAILFAST":  # other modes tell what is broken
            query = query_of(self.keep, settings.blank_nodes)
            tasks = narrowed(
                tasks, query, format=settings.format, storage=settings.storage, limits=settings.limits
            )
        return [Task(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return self.settings.read(partition.value or (), to_arrow(self.struct), self.keep)


def _first_rows(batches: Iterator[pa.RecordBatch], n: int) -> Iterator[pa.RecordBatch]:
    while n > 0 and (batch := next(batches, None)) is not None:
        yield batch.slice(0, n)
        n -= len(batch)


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
        return batches if self.limit is None else _first_rows(batches, self.limit)

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        found: dict[str, Any] = {}
        self.has_filters = bool(filters)
        for filter in filters:
            if isinstance(filter, EqualTo | In) and len(filter.attribute) == 1:
                name = str(filter.attribute[0])
                values = filter.value if isinstance(filter, In) else (filter.value,)
                if name == self.settings.file_column:
                    self.only = set(values) if self.only is None else self.only & set(values)
                    continue
                self.wanted[name] = self.wanted.get(name, set(values)) & set(values)
                condition = where(name, values)
                found.update(condition.terms if condition else {})
        self.keep = Where(found) if found else None
        # Spark evaluates the filters again on these rows, which costs little: it must also filter the rows of errors.
        return filters


@dataclass
class Message(WriterCommitMessage):
    """The result of a task."""

    written: Written


class JellyWriter(DataSourceArrowWriter):
    """Writes part files on the executors; the driver commits them."""

    def __init__(self, output: Output | None) -> None:
        self.output = output  # None: there is nothing to do

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None  # Spark says so for tasks
        part = context.partitionId()
        if self.output is None:
            return Message(Written(part))
        return Message(self.output.write(part, context.taskAttemptId(), iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        if self.output is not None:
            self.output.commit(message.written for message in messages if isinstance(message, Message))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        if self.output is not None:
            self.output.abort()


class JellyDataSource(DataSource):
    """The data source: statements as rows, read and written."""

    _pushdown = False
    _patch = False

    @classmethod
    def name(cls) -> str:
        return "jelly"

    def schema(self) -> StructType:
        return Settings.of(self.options).schema

    def reader(self, schema: StructType) -> DataSourceReader:
        pushdown = _flag(self.options, "pushdown", self._pushdown)
        kind = PushdownReader if pushdown else JellyReader
        return kind(Settings.of(self.options, schema), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return refusing(self._stream_reader, schema)

    def _stream_reader(self, schema: StructType) -> DataSourceStreamReader:
        from jelly.spark._streaming.streams import stream_reader

        return stream_reader(Settings.of(self.options, schema), schema, self.options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        from jelly.spark._streaming.streams import StreamWriter

        return StreamWriter(self._output(schema, overwrite), overwrite)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        output = self._output(schema, overwrite)
        if_exists = choose(self.options, "ifExists", IF_EXISTS, "append")
        if if_exists != "append" and output.store.content():
            if if_exists == "error":
                raise FileExistsError(f"[PATH_ALREADY_EXISTS] there is something in {output.store.url} already")
            return JellyWriter(None)
        return JellyWriter(output.begin())

    def _output(self, schema: StructType, overwrite: bool) -> Output:
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
        check_columns(schema.names, patch=self._patch)
        compression = self.options.get("compression", "none").lower()
        [folder] = absolute(folder)
        return Output(
            folder, uuid.uuid4().hex, tuple(schema.names), overwrite, compression, self._patch, _storage(self.options)
        )


class PushdownDataSource(JellyDataSource):
    """The same data source, with filters pushed down by default."""

    _pushdown = True
