"""The part of pyarrow that codecs need: Batches as record batches, the columns of the layouts, and types of columns.

pyarrow is imported here, and by others from here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from jelly._core.arrow.buffer_pool import Pool
from jelly._core.arrow.exporter import ArrowExporter
from jelly._core.base.batch import Batch
from jelly._core.base.constants import LANG_STRING_IRI, XSD_STRING_IRI
from jelly._formats.registry import Later
from jelly._options.layouts import VALUES, LayoutWithValues, ResultLayout, check_result_layout, find_layout
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError, JellyError, JellyOptionsError, need

with need("arrow", "Arrow needs pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from pyarrow import compute, csv, dataset, parquet
else:
    compute, csv, dataset, parquet = (Later(f"pyarrow.{name}") for name in ("compute", "csv", "dataset", "parquet"))

__all__ = ["compute", "csv", "dataset", "pa", "parquet"]

Rows: TypeAlias = tuple[Batch, int, int]  # a Batch and the range of its rows that is meant
Keep: TypeAlias = Callable[[Batch], "np.ndarray[Any, np.dtype[np.int64]]"]  # the rows that are meant, in order
Metadata: TypeAlias = dict[int, dict[str, bytes]]  # by the number of the frame in the stream

KINDS = ("literal", "iri", "bnode", "triple")
DIRECTIONS = ("ltr", "rtl")
# The fields of a struct that says all of a term, and the columns of statements that say the same of an object.
TERM = {
    "kind": "object_kind", "value": "object", "datatype": "datatype", "language": "lang", "direction": "direction",
}  # fmt: skip
BATCH_ROWS = 32768
# Bytes of results that are held in memory until their types are known.
HELD_BYTES = 1 << 26
# Maximum bytes of metadata for a range of rows; every row repeats it.
MAX_METADATA = 1 << 26

_METADATA = pa.map_(pa.string(), pa.binary())
_CODES = pa.dictionary(pa.int32(), pa.large_string())
_KIND_CODES = pa.dictionary(pa.int8(), pa.string())

_XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = rf"{_DAY}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]{{1,6}})?"
# The lexical forms that each type can hold, some of what the datatypes allow.
_FORMS = {
    "bigint": (pa.int64(), "[+-]?[0-9]{1,19}"),
    "double": (pa.float64(), f"{_NUMBER}|-?INF|NaN"),
    "decimal(38,18)": (pa.decimal128(38, 18), r"[+-]?[0-9]{1,20}(\.[0-9]{1,18})?"),
    "boolean": (pa.bool_(), "true|false|0|1"),
    "date": (pa.date32(), _DAY),
    "timestamp_ntz": (pa.timestamp("us"), _TIME),
    "timestamp": (pa.timestamp("us", "UTC"), rf"{_TIME}(Z|[+-][0-9]{{2}}:[0-9]{{2}})"),
}
_FORMS["decimal"] = _FORMS["decimal(38,18)"]  # as the column is called
# The types of columns by the parts that they hold, but for text.
_PARTS = {name: _FORMS[name][0] for name in VALUES} | {"frame": pa.int64(), "row": pa.int64(), "metadata": _METADATA}
# Columns that all layouts have, which are called as the part that they hold.
_OF_FRAMES = {name: name for name in ("frame", "row", "metadata")}
_INTEGERS = (
    "integer int long short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger unsignedLong "
    "unsignedInt unsignedShort unsignedByte"
)
# The types that the values of a datatype may have, by the names that Spark has for them.
_TYPES = {
    **{_XSD + name: ("bigint",) for name in _INTEGERS.split()},
    _XSD + "double": ("double",),
    _XSD + "float": ("double",),
    _XSD + "decimal": ("decimal(38,18)", "decimal"),
    _XSD + "boolean": ("boolean",),
    _XSD + "date": ("date",),
    _XSD + "dateTime": ("timestamp_ntz", "timestamp"),
}
STRING = "string"


def _fitting(values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    return compute.match_substring_regex(values, f"^({_FORMS[name][1]})$")


def type_of(values: pa.ChunkedArray, datatype: str) -> str:
    """The type that can hold all of these values of a datatype."""
    for name in _TYPES.get(datatype, ()):
        if compute.all(_fitting(values, name)).as_py():
            try:
                cast(values, name)
            except pa.ArrowInvalid:
                continue  # such as the 30th of February
            return name
    return STRING


def cast(values: pa.ChunkedArray, type: str) -> pa.ChunkedArray:
    """Lexical forms as values of a type.

    >>> cast(pa.chunked_array([["+1", "02"]]), "bigint").to_pylist()
    [1, 2]
    """
    if type == STRING:
        return values
    return compute.utf8_ltrim(values, "+").cast(column_type(type))


def column_type(type: str) -> pa.DataType:
    """The type in Arrow of a type by its name in Spark.

    >>> column_type("array<bigint>")
    ListType(list<item: int64>)
    """
    if type.startswith("array<"):
        return pa.list_(column_type(type[6:-1]))
    return pa.large_string() if type == STRING else _FORMS[type][0]


class Shape(NamedTuple):
    """The properties that objects share: kind, datatype (of literals), type of a column for their values."""

    kind: str
    datatype: str = ""  # that of literals: xsd:string and rdf:langString are written out
    type: str = STRING


def of_objects(rows: pa.Table, typed: bool = True) -> Counter[Shape]:
    """The shapes of the objects of some rows of the flat layout, and how many have each."""
    found: Counter[Shape] = Counter()
    groups = rows.group_by(["object_kind", "datatype", "lang"]).aggregate([([], "count_all")])
    for group in groups.to_pylist():
        kind, datatype, n = group["object_kind"], group["datatype"], group["count_all"]
        type = STRING
        if kind != "literal":
            datatype = ""
        elif group["lang"] is not None:
            datatype = LANG_STRING_IRI
        elif datatype is None:
            datatype = XSD_STRING_IRI
        elif typed:
            values = rows["object"]
            if n < len(rows):
                values = values.filter(compute.equal(rows["datatype"], datatype))
            type = type_of(values, datatype)
        found[Shape(kind, datatype, type)] += n
    return found


def values_of(name: str, objects: pa.Array, datatypes: pa.Array) -> pa.Array:
    """A column of the layout "typed": the values of some objects, null where one is of another type or does not fit.

    >>> values_of("date", pa.array(["2024-02-29", "2023-02-29", "1"]), pa.array([_XSD + "date"] * 3)).to_pylist()
    [datetime.date(2024, 2, 29), None, None]
    """
    known = pa.array([datatype for datatype, types in _TYPES.items() if name in types])
    fits = compute.is_in(datatypes.cast(pa.string()), known)
    if not compute.any(fits).as_py():
        return pa.nulls(len(objects), column_type(name))
    objects = objects.cast(pa.string())
    fits = compute.and_(fits, _fitting(objects, name))
    return pa.concat_arrays(_cast(compute.if_else(fits, objects, None), name))


def _cast(values: pa.Array, name: str) -> Iterable[pa.Array]:
    """Lexical forms as values, in pieces: null for one that is no value, such as the 30th of February."""
    try:
        return [cast(values, name)]
    except pa.ArrowInvalid:
        half = len(values) // 2
        if not half:
            return [pa.nulls(1, column_type(name))]
        return [*_cast(values[:half], name), *_cast(values[half:], name)]


@checked()
def schema(
    layout: LayoutWithValues = "flat",
    *,
    dictionary: bool = False,
    columns: Sequence[str] | None = None,
    direction: bool = False,
) -> pa.Schema:
    """The Arrow schema of the record batches of `read_arrow`.

    Parameters
    ----------
    layout : {"flat", "ntriples", "typed"}, default "flat"
        Columns, see `jelly.arrow`.
    dictionary : bool, default False
        Make dictionary columns.
    columns : sequence of str, optional
        Names of the columns. By default all columns of the layout.
    direction : bool, default False
        Add the column ``direction`` to the flat layout.

    Raises
    ------
    JellyArgumentError
        If the layout or a column is unknown.

    Notes
    -----
    Unstable: ``direction`` follows the drafts of RDF 1.2.

    Examples
    --------
    >>> schema("ntriples", columns=["s", "frame"]).names
    ['s', 'frame']
    """
    found = find_layout(layout)
    known = found.parts | _OF_FRAMES
    chosen = list(found.columns if columns is None else columns)
    if direction:
        for name in found.optional:
            if name not in chosen:
                lang = found.column("lang")
                chosen.insert(chosen.index(lang) + 1 if lang in chosen else len(chosen), name)
    if unknown := [name for name in chosen if name not in known]:
        names = ", ".join(map(repr, unknown))
        raise JellyArgumentError(f"unknown columns {names}: expected some of {', '.join(known)}")
    if not chosen or len(set(chosen)) < len(chosen):
        raise JellyArgumentError("columns must name at least one column, and each once")
    plain, few = (_CODES, _KIND_CODES) if dictionary else (pa.string(), pa.string())
    types = _PARTS | {"object_kind": few, "direction": few}
    filled = (*found.required, "frame", "row")
    return pa.schema([pa.field(name, types.get(known[name], plain), nullable=name not in filled) for name in chosen])


class RecordBatchBuilder:
    """Makes record batches of Batches: of statements, or of query results where ``variables`` names their columns."""

    def __init__(
        self,
        layout: LayoutWithValues | ResultLayout,
        dictionary: bool = False,
        columns: Sequence[str] | None = None,
        batch_rows: int = BATCH_ROWS,
        keep: Keep | None = None,
        direction: bool = False,
        variables: Sequence[str] | None = None,
    ) -> None:
        if batch_rows < 1:
            raise JellyArgumentError("batch_rows must be at least 1")
        # Structs of query results are made of the columns of statements.
        self._terms = layout == "term"
        of_statements: Any = "flat" if self._terms else layout
        found = find_layout(of_statements)
        self._layout = "term" if self._terms else found.name
        self._keep = keep
        self._variables = None if variables is None else tuple(variables)
        self.schema: Any
        if self._variables is None:
            self.schema = schema(of_statements, dictionary=dictionary, columns=columns, direction=direction)
            self._parts = found.parts | _OF_FRAMES
        else:
            term = schema(dictionary=dictionary, columns=[*TERM.values()])
            self._term = pa.struct([*zip(TERM, term.types, strict=True)])
            type = self._term if self._terms else term.field("object").type
            self.schema = pa.schema([(name, type) for name in self._variables], {"layout": layout})
            self._parts = dict.fromkeys(self._variables, "variable")
        self._dictionary = dictionary
        # Parts whose dictionary may be the Batch's own memory, and their columns in the Batch.
        self._own = {"subject": "s", "object": "o"} if found.syntax == "plain" else {}
        # Columns of values are made of two others.
        names = [name for name in self.schema.names if self._parts[name] not in VALUES]
        of_values = ("object", "datatype") if len(names) < len(self.schema.names) else ()
        # Metadata comes first: where it is long, fewer rows are made of the others.
        self._names = sorted(dict.fromkeys((*names, *of_values)), key=lambda name: self._parts[name] != "metadata")
        self._batch_rows = batch_rows
        self._pool = Pool()
        # Columns that are not in use: each keeps its tables from one segment of a file to the next.
        self._idle: list[ArrowExporter] = []
        self._nulls: dict[int, Any] = {}  # by the id of a type, as its hash takes long

    @property
    def has_metadata(self) -> bool:
        return "metadata" in map(self._parts.get, self.schema.names)

    def read_all(self, batches: Iterable[Batch]) -> pa.RecordBatchReader:
        """A reader of the record batches of some Batches."""
        return pa.RecordBatchReader.from_batches(self.schema, self.run((batch, 0, len(batch)) for batch in batches))

    def run(self, rows: Iterable[Rows]) -> Iterator[pa.RecordBatch]:
        """The record batches of some rows of Batches."""
        try:
            columns = self._idle.pop()
        except IndexError:
            columns = ArrowExporter(self._layout, pool=self._pool, results=self._variables is not None)
        try:
            if self.has_metadata:
                for batch, row, end, metadata in with_metadata(rows):
                    if row < end:
                        yield from self._make(columns, batch, row, end, metadata)
            else:
                for batch, row, end in rows:
                    yield from self._make(columns, batch, row, end, {})
                    del batch  # before the next one takes memory
        finally:
            columns.start(None)
            self._idle.append(columns)

    def _make(
        self, columns: ArrowExporter, batch: Batch, row: int, end: int, metadata: Metadata
    ) -> Iterator[pa.RecordBatch]:
        chosen = None
        if self._keep is not None:
            chosen = self._keep(batch)
            chosen = chosen[np.searchsorted(chosen, row) : np.searchsorted(chosen, end)]
            row, end = 0, len(chosen)
        columns.start(batch, chosen, self._names if self._variables is None else None)
        if self._variables not in (None, batch.variables):
            raise JellyOptionsError(f"the variables are {batch.variables}: expected {self._variables}")
        if not self.schema.names and row < end:
            yield pa.RecordBatch.from_struct_array(pa.array([{}] * (end - row), pa.struct([])))
            row = end
        while row < end:
            arrays = []
            stop = min(end, row + self._batch_rows)
            for name in self._names:
                array = self._array(columns, batch, name, row, stop, metadata, chosen)
                stop = row + len(array)  # fewer where text or metadata is too much for one record batch
                arrays.append(array)
            cut = [array if len(array) == stop - row else array.slice(0, stop - row) for array in arrays]
            known = dict(zip(self._names, cut, strict=True))
            made = [
                known[name] if name in known else values_of(name, known["object"], known["datatype"])
                for name in self.schema.names
            ]
            yield pa.RecordBatch.from_arrays(made, schema=self.schema)
            row = stop
            del arrays, cut, array, known, made
        columns.start(None)

    def _array(
        self, columns: ArrowExporter, batch: Batch, name: str, row: int, end: int, metadata: Metadata,
        chosen: np.ndarray[Any, Any] | None,
    ) -> pa.Array:  # fmt: skip
        n = end - row
        part = self._parts[name]
        if part == "frame":
            return array_over(pa.int64(), n, columns.frames(row, end))
        if part == "row":
            rows = np.arange(row, end) if chosen is None else chosen[row:end]
            return pa.array(rows + batch.first_row, pa.int64())
        if part == "metadata":
            return metadata_array(np.asarray(columns.frames(row, end)).view(np.int64), metadata)
        if part == "direction":
            return self._few(columns.directions(row, end), DIRECTIONS, n)
        if self._terms:
            return self._structs(columns, batch, name, row, end)
        if part == "object_kind" and not self._dictionary:
            return array_over(pa.string(), n, *columns.kinds(row, end))
        return self._text(columns, batch, name, row, end)

    def _text(
        self, columns: ArrowExporter, batch: Batch, name: str, row: int, end: int, of: str | None = None
    ) -> pa.Array:
        if self._dictionary:
            return self._codes(columns, batch, name, row, end, of)
        made = columns.strings(name, row, end, of)
        if made is None:
            return self._all_null(pa.string(), end - row)
        n, nulls, valid, *buffers = made
        return array_over(pa.string(), n, *buffers, valid=valid, nulls=nulls)

    def _structs(self, columns: ArrowExporter, batch: Batch, name: str, row: int, end: int) -> pa.Array:
        """The terms of a variable as structs; fewer than asked for where their text is long."""
        fields = [self._text(columns, batch, name, row, end)]
        end = row + len(fields[0])
        if fields[0].null_count == end - row:
            return self._all_null(self._term, end - row)
        for of in ("datatype", "lang"):
            fields.append(self._text(columns, batch, name, row, end, of))
            end = row + len(fields[-1])
        n = end - row
        kinds = self._few(columns.kind_codes(row, end, name), KINDS, n)
        directions = self._few(columns.directions(row, end, name), DIRECTIONS, n)
        arrays = [kinds, *(field.slice(0, n) for field in fields), directions]
        return pa.StructArray.from_arrays(arrays, [*TERM], mask=kinds.is_null())

    def _codes(self, columns: ArrowExporter, batch: Batch, name: str, row: int, end: int, of: str | None) -> pa.Array:
        """A dictionary column: the Batch's own memory where that is one, else a dictionary made for the column."""
        n = end - row
        part = self._parts[name]
        if part == "object_kind":
            indices = array_over(pa.int8(), n, columns.kind_codes(row, end))
            return pa.DictionaryArray.from_arrays(indices, pa.array(KINDS), safe=False)
        own = self._own.get(part)
        if own and self._keep is None and columns.all_differ():
            values = array_over(pa.large_string(), batch.n_terms, batch.start, batch.text)
            indices = array_over(pa.int32(), n, getattr(batch, own)[row:end])
            return pa.DictionaryArray.from_arrays(indices, values, safe=False)
        made = columns.codes(name, row, end, of)
        if made is None:
            return self._all_null(_CODES, n)
        nulls, valid, codes, offsets, data = made
        indices = array_over(pa.int32(), n, codes, valid=valid, nulls=nulls)
        values = array_over(pa.large_string(), len(offsets) // 8 - 1, offsets, data)
        return pa.DictionaryArray.from_arrays(indices, values, safe=False)

    def _few(self, buffer: Any, values: Sequence[str], n: int) -> pa.Array:
        """A column of a few values, by their places among these; null where the place is negative or there is none."""
        if buffer is None:
            return self._all_null(_KIND_CODES if self._dictionary else pa.string(), n)
        codes = np.asarray(buffer).view(np.int8)
        made = pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(values))
        return made if self._dictionary else made.cast(pa.string())

    def _all_null(self, type: pa.DataType, n: int) -> pa.Array:
        """Nulls: every record batch shares them."""
        known = self._nulls.get(id(type))
        if known is None or len(known) < n:
            known = self._nulls[id(type)] = pa.nulls(n, type)
        return known.slice(0, n)


def array_over(type: pa.DataType, n: int, *buffers: Any, valid: Any = None, nulls: int = 0) -> pa.Array:
    """An array over memory that stays where it is."""
    return pa.Array.from_buffers(type, n, [valid and pa.py_buffer(valid), *map(pa.py_buffer, buffers)], nulls)


def metadata_array(frames: np.ndarray[Any, Any], metadata: Metadata) -> pa.Array:
    """For each row the metadata of its frame; for fewer rows where it is long, as every row repeats it."""
    numbers, places = np.unique(frames, return_inverse=True)
    values = [list(metadata.get(int(number), {}).items()) for number in numbers]
    sizes = np.array([sum(len(key) + len(value) for key, value in entries) for entries in values])
    n = max(1, np.searchsorted(sizes[places].cumsum(), MAX_METADATA, "right"))
    return pa.array(values, _METADATA).take(pa.array(places[:n]))


def first_rows(batches: Iterator[pa.RecordBatch], n: int) -> Iterator[pa.RecordBatch]:
    """The first rows of record batches. No more of these are taken."""
    while n > 0 and (batch := next(batches, None)) is not None:
        yield batch.slice(0, n)
        n -= len(batch)


@checked()
def from_batches(
    batches: Iterable[Batch],
    *,
    layout: LayoutWithValues = "flat",
    dictionary: bool = False,
    columns: Sequence[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    direction: bool = False,
    keep: Keep | None = None,
) -> pa.RecordBatchReader:
    """Convert Batches to Arrow record batches, which are built as they are taken.

    Parameters
    ----------
    batches : iterable of Batch
        The Batches, for example from a `Decoder`.
    layout : {"flat", "ntriples", "typed"}, default "flat"
        Columns, see `jelly.arrow`.
    dictionary : bool, default False
        Make dictionary columns, see `read_arrow`.
    columns : sequence of str, optional
        Names of the columns to build. By default all columns of the layout.
    batch_rows : int, default 32768
        Maximum rows per record batch.
    direction : bool, default False
        Add the column ``direction`` to the flat layout.
    keep : callable, optional
        Takes a Batch and returns an int64 array of the rows to convert, in ascending order.

    Notes
    -----
    Unstable: ``direction`` follows the drafts of RDF 1.2.

    Examples
    --------
    >>> import jelly
    >>> batches = jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").batches()
    >>> from_batches(batches, columns=["object"]).read_all().to_pylist()
    [{'object': 'a:o'}]
    """
    return RecordBatchBuilder(layout, dictionary, columns, batch_rows, keep, direction).read_all(batches)


@checked()
def from_results(
    variables: Sequence[str], batches: Iterable[Batch], *, layout: ResultLayout = "flat", dictionary: bool = False
) -> pa.RecordBatchReader:
    """Convert query results to Arrow record batches: a column for each variable, null where it is unbound.

    Record batches are built as they are taken; for the layout "typed" all rows are read first.

    Parameters
    ----------
    variables : sequence of str
        Names of the variables.
    batches : iterable of Batch
        Batches of query results with these variables, such as `jelly.results.Results.batches` yields.
    layout : {"flat", "ntriples", "typed", "term"}, default "flat"
        ``"flat"`` gives plain IRIs and lexical forms, ``"ntriples"`` terms in N-Triples syntax. ``"term"`` gives
        structs of ``kind`` (iri, bnode, literal, triple), ``value``, ``datatype``, ``language`` and ``direction``,
        which say all of a term. ``"typed"`` gives values where a type of the layout "typed" of `jelly.arrow` can hold
        all values of a variable, else the strings of "flat". A temporary file keeps the rows until the types are known.
    dictionary : bool, default False
        Make dictionary columns instead of columns of strings.

    Raises
    ------
    JellyArgumentError
        If the layout is unknown.
    JellyOptionsError
        If a Batch has other variables, or statements.

    Examples
    --------
    >>> import jelly
    >>> data = b'{"head":{"vars":["x"]},"results":{"bindings":[{"x":{"type":"literal","value":"a"}},{}]}}'
    >>> results = jelly.results.read_results(data, format="json")
    >>> from_results(results.variables, results.batches()).read_all().to_pylist()
    [{'x': 'a'}, {'x': None}]
    """
    check_result_layout(layout)
    if layout == "typed":
        return _typed(tuple(variables), batches, dictionary)
    return RecordBatchBuilder(layout, dictionary, variables=variables).read_all(batches)


def _typed(variables: tuple[str, ...], batches: Iterable[Batch], dictionary: bool) -> pa.RecordBatchReader:
    """Query results in columns of the types that can hold all values of a variable."""
    import tempfile  # which takes some time

    made = RecordBatchBuilder("term", variables=variables)
    plain = pa.schema([pa.field(name, pa.string()) for name in variables])
    found: list[set[str]] = [set() for _ in variables]
    file: Any = tempfile.SpooledTemporaryFile(HELD_BYTES)  # noqa: SIM115 - closed with the reader
    sink = pa.BufferedOutputStream(pa.PythonFile(file, "w"), HELD_BYTES >> 6)
    with pa.ipc.new_stream(sink, plain) as out:
        for batch in made.read_all(batches):
            for types, column in zip(found, batch.columns, strict=True):
                if STRING not in types:
                    objects = pa.table(column.drop_null().flatten(), [*TERM.values()])
                    types.update(shape.type for shape in of_objects(objects))
            values = [column.flatten()[1] for column in batch.columns]
            out.write_batch(pa.RecordBatch.from_arrays(values, schema=plain))
    sink.detach()
    chosen = [next(iter(types)) if len(types) == 1 else STRING for types in found]
    strings = _CODES if dictionary else pa.string()
    fields = [strings if type == STRING else column_type(type) for type in chosen]
    schema = pa.schema(zip(variables, fields, strict=True), {"layout": "typed"})

    def cast_all() -> Iterator[pa.RecordBatch]:
        file.seek(0)
        with file:
            for batch in pa.ipc.open_stream(file):
                columns = zip(batch.columns, chosen, fields, strict=True)
                arrays = [one if field == one.type else cast(one, type).cast(field) for one, type, field in columns]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, cast_all())


# ---- metadata of frames, which is at the end of a frame, so that rows wait for the end of their frame


def with_metadata(rows: Iterable[Rows]) -> Iterator[tuple[Batch, int, int, Metadata]]:
    """Hold rows back until their frame ends, because its metadata comes last.

    Keep the row ranges small: they are held in memory until the frame ends. Some that are given are empty.
    """
    held: list[Rows] = []
    metadata: Metadata = {}
    try:
        for batch, row, end in rows:
            for i, entries in batch.metadata.items():
                metadata.setdefault(batch.first_frame + i, {}).update(entries)
            ends = batch.frames.tolist()
            if not ends:
                held.append((batch, row, end))
                continue
            whole = ends[-1]
            ready, held = [*held, (batch, row, min(end, whole))], [(batch, max(row, whole), end)]
            for part in ready:
                yield *part, metadata
            done = batch.first_frame + len(ends)
            metadata = {number: entries for number, entries in metadata.items() if number >= done}
    except JellyError:
        # Rows before an error are yielded before it is raised.
        for part in held:
            yield *part, metadata
        raise
    for part in held:
        yield *part, metadata
