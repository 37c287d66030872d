"""pyarrow, which is imported here only, and the types of columns for the values of literals."""

from __future__ import annotations

from collections.abc import Iterable

from jelly.errors import need

with need("arrow", "Arrow needs pyarrow"):
    import pyarrow as pa
    from pyarrow import compute, csv, parquet

__all__ = ["STRING", "cast", "column_type", "compute", "csv", "pa", "parquet", "type_of", "values_of"]

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


def values_of(name: str, objects: pa.Array, datatypes: pa.Array) -> pa.Array:
    """A column of the layout "typed": the values of some objects, null where one is of another type or does not fit.

    >>> values_of("date", pa.array(["2024-02-29", "2023-02-29", "1"]), pa.array([_XSD + "date"] * 3)).to_pylist()
    [datetime.date(2024, 2, 29), None, None]
    """
    known = pa.array([datatype for datatype, types in _TYPES.items() if name in types])
    fits = compute.is_in(datatypes, known)
    if not compute.any(fits).as_py():
        return pa.nulls(len(objects), column_type(name))
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
