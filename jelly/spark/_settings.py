"""The options of the data sources, and how tasks read with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from jelly._bytes.names import Named, is_url
from jelly._dataset.blank_node_scope import MODES as BLANK_NODE_MODES
from jelly._dataset.blank_node_scope import BlankNodes, Mode
from jelly._dataset.conditions.pattern import Pattern
from jelly._formats.arrow_tables import pa
from jelly._formats.registry import PATCH_READING, READING, RESULT_READING, Content, find
from jelly._options.layouts import LAYOUTS, Layout
from jelly._options.spelling import spelled
from jelly.errors import JellyError, JellyOptionsError, need
from jelly.spark._options import Options, check_options, limits_of, option
from jelly.spark._parts import Errors, Part, Reading, Rows
from jelly.spark._parts.files import Directories, File, absolute, find_files

with need("spark-local", "Spark needs pyspark 4.1"):
    from pyspark.sql.datasource import InputPartition, WriterCommitMessage
    from pyspark.sql.types import BinaryType, DataType, LongType, MapType, StringType, StructField, StructType

if TYPE_CHECKING:
    from jelly.spark._output import Written

# Keywords of all formats.
_READING = {Content.STATEMENTS: READING, Content.PATCH: PATCH_READING, Content.RESULTS: RESULT_READING}

# Options that only a data source has whose `fit` can add columns for the file.
_OF_FILES = ("fileColumn", "basePath", "partitions", "partitionColumns", "partitionFilter")


_ALWAYS = (-math.inf, math.inf)


def without_frames() -> Named:
    """Context manager: errors of input keep one frame of this package: Spark prints all before the reason."""
    return Named(_shorten)


def in_options() -> Named:
    """Context manager: errors also name options of the data sources instead of keywords.

    >>> with in_options():
    ...     raise JellyError('use layout="ntriples"')
    Traceback (most recent call last):
    jelly.JellyError: use option("layout", "ntriples")
    """
    return Named(_translate)


def _shorten(error: BaseException) -> None:
    if isinstance(error, JellyError | OSError):
        while (trace := error.__traceback__) is not None and trace.tb_next is not None:
            error.__traceback__ = trace.tb_next
        error.__cause__ = None
        error.__suppress_context__ = True


def _translate(error: BaseException) -> None:
    if isinstance(error, JellyError):
        _reworded(error)
    _shorten(error)


def _reworded(error: JellyError) -> None:
    error.reason = spelled(error.reason, "Spark")


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
    whole: ClassVar[str | None] = None  # where only whole files are read: a format that they cost as much as

    paths: tuple[str, ...]
    layout: Layout
    names: tuple[str, ...]  # of the columns
    mode: str
    reading: Reading
    split_bytes: int | None
    file_column: str | None  # its name, if there is one
    directories: Directories
    wanted: dict[str, list[str]]  # values of directories whose files are read
    corrupt: str  # the name of the column for errors
    ignore_missing: bool
    modified: tuple[float, float]  # when files were changed: from, until

    @classmethod
    def of(cls, options: Options, schema: StructType | None = None) -> Settings:
        """The settings for some options, and for the schema of the user, if any."""
        check_options(options)
        paths = option(options, "paths") or (options.get("path", ""),)
        if not all(paths):
            raise JellyOptionsError(
                f'no path is given: expected spark.read.format("{cls.source}").load(path). Spark does not pass on the '
                f"path of CREATE TABLE name USING {cls.source}: write CREATE TEMPORARY VIEW name USING "
                f"`{cls.source}` OPTIONS (path '...'), or SELECT ... FROM name WITH (path = '...')"
            )
        paths = tuple(absolute(paths))
        mode = option(options, "mode")
        own = None if schema is None else schema.names
        corrupt, file_name, of_directories = cls._added(options)
        extra = {*cls.types, corrupt, file_name, *of_directories}
        fitting = [name for name, known in LAYOUTS.items() if own and not set(own) - {*known.columns, *extra}]
        by_names = fitting[-1] if fitting else "flat"
        layout: Layout = option(options, "layout", default=by_names)
        if own is not None:
            names = tuple(own)
        elif "columns" in options:
            names = option(options, "columns")
        else:
            names = (*cls.first, *LAYOUTS[layout].columns)
        if own is None:
            of_frames = ("frame", "metadata") if option(options, "frames") else ()
            asked = file_name if "fileColumn" in options else None
            reason = corrupt if mode == "PERMISSIVE" else None
            more = (*of_frames, asked, *of_directories, reason)
            names += tuple(name for name in more if name and name not in names)
        elif "fileColumn" in options and file_name not in own:
            raise JellyOptionsError(f"option fileColumn is {file_name!r}: the schema has no such column")
        elif mode == "PERMISSIVE" and corrupt not in own:
            raise JellyOptionsError(f"mode PERMISSIVE puts errors into a column {corrupt} string: the schema has none")
        file_column = file_name if file_name in names else None
        added = (*of_directories, *([file_column] if file_column else ()), corrupt)
        cls._check_names(names, layout, added)
        for field in () if schema is None else schema.fields:
            if field.dataType != (wanted := cls.types.get(field.name, StringType())):
                given = field.dataType.simpleString()
                raise JellyOptionsError(f"column {field.name!r} is {given}: expected {wanted.simpleString()}")
        form = options.get("format")
        if form is not None:
            find(form, content=cls.content)
        modes = cls.blank_node_modes
        blank_nodes = BlankNodes(option(options, "blankNodes", modes, modes[0]), option(options, "skolemBase"))
        return cls(
            paths, layout, names, mode,
            Reading(form, option(options, "storage"), blank_nodes,
                    limits_of(options, _READING[cls.content], cls.source), option(options, "pathGlobFilter"),
                    option(options, "skipUnknown"), mode != "FAILFAST"),
            option(options, "splitBytes"), file_column,
            Directories(
                tuple(absolute(options["basePath"])) if "basePath" in options else paths,
                cls.adds_file and option(options, "partitions"),
                tuple(name for name in of_directories if name in names),
            ),
            option(options, "partitionFilter"), corrupt, option(options, "ignoreMissingFiles"),
            (option(options, "modifiedAfter"), option(options, "modifiedBefore")),
        )  # fmt: skip

    @classmethod
    def _added(cls, options: Options) -> tuple[str, str | None, tuple[str, ...]]:
        """The names of the columns for errors, the file and its directories, which need not be among the columns."""
        if not cls.adds_file and (given := [name for name in _OF_FILES if name in options]):
            raise JellyOptionsError(f"the data source {cls.source} has no option {given[0]}")
        corrupt = option(options, "columnNameOfCorruptRecord")
        file_name = option(options, "fileColumn", default="file") if cls.adds_file else None
        of_directories = option(options, "partitionColumns")
        taken = {"", *cls.types, *(column for known in LAYOUTS.values() for column in known.columns)}
        every = [("columnNameOfCorruptRecord", corrupt), ("fileColumn", file_name)]
        for name, value in (*every, *(("partitionColumns", each) for each in of_directories)):
            if value in taken:
                raise JellyOptionsError(f"option {name} is {value!r}: expected a name that no other column has")
            taken.add(value)
        return corrupt, file_name, of_directories

    @classmethod
    def _check_names(cls, names: Sequence[str], layout: Layout, added: Sequence[str] = ()) -> None:
        known = (*cls.first, *LAYOUTS[layout].columns, *(name for name in cls.types if name not in cls.first))
        if unknown := [name for name in names if name not in (*known, *added)]:
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

    @property
    def chooses(self) -> bool:
        """Whether options choose among the files, so that none may be left."""
        return bool(self.wanted) or self.modified != _ALWAYS

    def known(self, files: Sequence[File]) -> Sequence[File]:
        """The files to read of those that were found. JellyError for files with the suffix of no format."""
        after, before = self.modified
        timeless = [file.path for file in files if not file.mtime and is_url(file.path)]
        if self.modified != _ALWAYS and timeless:
            raise JellyOptionsError(
                f"nobody tells when {timeless[0]} was changed: leave out modifiedAfter and modifiedBefore"
            )
        files = [
            file for file in files
            if after <= file.mtime < before and self.directories.chosen(file.path, self.wanted)
        ]  # fmt: skip
        with in_options():
            return self.reading.known(files, self.content)[0]

    def found(self, is_stream: bool = False) -> list[File]:
        """The files at the paths. A pattern of a stream may find none yet."""
        reading = self.reading
        return find_files(self.paths, pattern=reading.glob, storage=reading.storage, is_stream=is_stream)

    def tasks(self, files: Iterable[File]) -> list[list[Part]]:
        """The parts of files for each task."""
        if self.whole is not None:
            return replace(self.reading, format=self.whole).split(files, self.split_bytes)
        # Nobody has counted the statements before a part of text.
        cut_lines = "row" not in self.names
        return self.reading.split(files, self.split_bytes, cut_lines=cut_lines, directories=self.directories)

    def read_part(self, part: Part, keep: Pattern | None, errors: Errors) -> Rows:
        """The record batches of a part, with ``columns``."""
        return self.reading.read(part, layout=self.layout, columns=self.columns, keep=keep, errors=errors)

    def read(self, parts: Iterable[Any], schema: pa.Schema, keep: Pattern | None = None) -> Rows:
        """The record batches of a task with ``schema``, whose columns may be null."""
        errors: Errors = None if self.mode == "FAILFAST" else []
        for part in parts:
            try:
                with in_options():
                    for batch in self.read_part(part, keep, errors):
                        yield self.fit(batch, schema, part.file.path)
            except FileNotFoundError:
                if not self.ignore_missing:
                    raise
            if not errors:
                continue
            for error in errors:
                _reworded(error)
            if self.mode == "PERMISSIVE":
                # A row for each: its frame, byte offset or line.
                texts = pa.array(map(str, errors), pa.string())
                yield self._filled(texts, schema, part.file.path, lambda field: pa.nulls(len(errors), field.type))
            errors.clear()

    @property
    def columns(self) -> list[str]:
        """The columns to build; one at least, for the number of rows."""
        added = (self.corrupt, self.file_column, *self.directories.columns)
        return [name for name in self.names if name not in added] or [LAYOUTS[self.layout].required[0]]

    def fit(self, batch: pa.RecordBatch, schema: pa.Schema, path: str) -> pa.RecordBatch:
        """A record batch of ``columns`` of the file at a path with ``schema``."""
        if self.file_column is None and self.corrupt not in self.names and not self.directories.columns:
            return _fitted(batch.columns, schema, path)
        nothing = pa.nulls(len(batch), pa.string())
        return self._filled(nothing, schema, path, lambda field: batch.column(field.name))

    def _filled(
        self, errors: pa.Array, schema: pa.Schema, path: str, column: Callable[[pa.Field], pa.Array]
    ) -> pa.RecordBatch:
        """Rows with their ``errors``, what is the same for all rows of a file, and other columns."""
        values = self.directories.values(path) if self.directories.columns else {}
        told = {name: values.get(name) for name in self.directories.columns} | {self.file_column: path}
        n = len(errors)
        added = {self.corrupt: errors} | {
            name: pa.nulls(n, pa.string()) if value is None else pa.repeat(value, n) for name, value in told.items()
        }
        arrays = [added[field.name] if field.name in added else column(field) for field in schema]
        return _fitted(arrays, schema, path)


def _fitted(arrays: Sequence[pa.Array], schema: pa.Schema, path: str) -> pa.RecordBatch:
    """A record batch of the file at a path. JellyOptionsError for a null where the user says that there is none.

    Spark believes it: it would leave out conditions, or fail without a reason.
    """
    for field, array in zip(schema, arrays, strict=True):
        if not field.nullable and array.null_count:
            raise JellyOptionsError(f"column {field.name!r} is not null in the schema, but it has nulls", source=path)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def to_arrow(schema: StructType) -> pa.Schema:
    """The Arrow schema that Spark expects record batches of a schema to have: exactly this."""
    types = {LongType(): pa.int64(), MapType(StringType(), BinaryType()): pa.map_(pa.string(), pa.binary())}
    return pa.schema([pa.field(f.name, types.get(f.dataType, pa.string()), f.nullable) for f in schema.fields])


@dataclass
class Message(WriterCommitMessage):
    """What a task that writes tells the driver: ``written`` is None if there was nothing to do."""

    written: Written | None
    query: str = ""  # of a stream


class Task(InputPartition):
    """The parts of files that a task reads.

    >>> Task([Part(File("data/a.nt", 9, 0.0), 3), Part(File("data/b.nt", 9, 0.0))])
    Task(data/a.nt from 3, data/b.nt)
    """

    def __repr__(self) -> str:
        return f"Task({', '.join(map(str, self.value))})"
