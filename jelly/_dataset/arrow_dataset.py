"""A `Dataset` as a dataset of pyarrow, of which each reader takes the columns and rows that it needs."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from jelly._dataset.conditions.where import joined, where
from jelly._dataset.dataset import Dataset
from jelly._formats.arrow_tables import compute, dataset, first_rows, from_batches, pa, schema
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError

if TYPE_CHECKING:  # which do not know the classes of pyarrow

    class _Dataset: ...

else:
    _Dataset = dataset.Dataset

# A string, or what is left of one.
_STRING = r'"(?:[^"\\]|\\(?s:.)|\\\Z)*(?:"|\Z)'
_TEXT = re.compile(_STRING)
_ESCAPED = re.compile(r"\\([\"\\])")
_PART = re.compile(
    rf"\((?P<compared>\w+) (?P<operator>[=!<>]=|[<>]) (?P<value>{_STRING})\)"
    r"|is_(?P<null>valid|null)\((?P<tested>\w+)(?:, \{nan_is_null=false\})?\)"
    rf"|is_in\((?P<name>\w+), \{{value_set=\w+:\[(?P<values>[^\[\]]*)\], [^{{}}]*\}}\)"
)
_OPERATORS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge
}


class ArrowDataset(Dataset, _Dataset):
    """A `Dataset` that is a dataset of pyarrow, too.

    DuckDB reads it by its name in a query, and asks only for the columns and rows that it needs; polars and whatever
    takes a stream of Arrow read it, too. Conditions that a subject, predicate, object or graph is some text are decided
    before columns are made; all others on the columns. What needs the fragments of a dataset is an AttributeError.

    Its methods take ``columns``, the names of the columns to read, by default all, and ``filter``, an expression of
    pyarrow that says which rows to read. Other keywords of a dataset of pyarrow, such as ``batch_size``, are of no
    effect.
    """

    @property
    def schema(self) -> pa.Schema:
        """The schema of all columns."""
        return schema(self._layout)

    def to_batches(
        self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any
    ) -> Iterator[pa.RecordBatch]:
        """Read record batches, none of them empty."""
        _check(columns, filter)
        wanted = self._fields(columns).names
        known = {} if filter is None else conditions_of(filter)
        # A condition that is not understood may be of any column.
        names = self.schema.names if known is None else [*dict.fromkeys([*wanted, *known])]
        # A table without columns has no number of rows.
        names = names or self.schema.names[:1]
        pattern = joined(where(name, values) for name, values in (known or {}).items())
        keep = None if pattern is None else pattern.rows
        batches = self._batches(self._sources, pattern)
        for batch in from_batches(batches, layout=self._layout, columns=names, keep=keep):
            # A record batch takes no expression before pyarrow 17.
            kept = [batch] if filter is None else pa.Table.from_batches([batch]).filter(filter).to_batches()
            yield from (each.select(wanted) for each in kept if len(each))

    def _reader(self, columns: Sequence[str] | None = None, filter: Any = None) -> pa.RecordBatchReader:
        _check(columns, filter)
        fields = self._fields(columns)
        return pa.RecordBatchReader.from_batches(fields, self.to_batches(fields.names, filter))

    def _fields(self, columns: Sequence[str] | None) -> pa.Schema:
        """The schema of some columns."""
        if columns is None:
            return self.schema
        known = self.schema.names
        if unknown := [name for name in columns if name not in known]:
            given = ", ".join(map(repr, unknown))
            raise JellyArgumentError(f"unknown columns {given}: expected some of {', '.join(known)}")
        return pa.schema([self.schema.field(name) for name in columns])

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> Any:
        """Make a `pyarrow.dataset.Scanner`, which can be read once."""
        return dataset.Scanner.from_batches(self._reader(columns, filter))

    def to_table(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> pa.Table:
        """Read a table, with the rows in the order of the sources."""
        return self._reader(columns, filter).read_all()

    def head(self, num_rows: int, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> pa.Table:
        """Read the first rows. No more is read than they need."""
        _check(columns, filter, num_rows)
        reader = self._reader(columns, filter)
        return pa.Table.from_batches(first_rows(reader, num_rows), reader.schema)

    def count_rows(self, filter: Any = None, **_: Any) -> int:
        """Count rows."""
        return sum(map(len, self.to_batches(self.schema.names[:1], filter)))


@checked()
def _check(columns: Sequence[str] | None, filter: compute.Expression | None, num_rows: int = 0) -> None:
    """The arguments that a dataset of pyarrow has; others are without effect."""


def _refusal(name: str) -> property:
    def refuse(self: ArrowDataset) -> Any:
        raise AttributeError(f"a jelly.Dataset has no {name}: use to_table, or give the Dataset to DuckDB")

    return property(refuse)


# What else a dataset of pyarrow has would touch memory that is not there.
for _name in dir(dataset.Dataset):
    _is_used = not _name.startswith("_") or _name in ("_get_fragments", "_scanner_options")
    if _is_used and _name not in vars(ArrowDataset) | vars(Dataset):
        setattr(ArrowDataset, _name, _refusal(_name))


def _plain(text: str) -> str:
    """The text of a string of an expression."""
    return _ESCAPED.sub(r"\1", text[1:-1])


def conditions_of(filter: Any) -> dict[str, list[str]] | None:
    """The columns of an expression of pyarrow, and the texts that they must have, if any; None if it says else.

    pyarrow gives no parts of an expression, only its text. So one is made of what was understood, and compared with it.

    >>> name = compute.field("predicate")
    >>> conditions_of((name == "a:p") & compute.field("object").isin(["x", "y"]))
    {'predicate': ['a:p'], 'object': ['x', 'y']}
    >>> conditions_of((name == "a:p") & compute.field("graph").is_null() & (compute.field("object") > "x"))
    {'predicate': ['a:p'], 'graph': [], 'object': []}
    >>> print(conditions_of((name == "a:p") | (name == "b")))
    None
    """
    found: dict[str, list[str]] = {}
    made: list[Any] = []
    for part in _PART.finditer(str(filter)):
        if part["compared"]:
            name, values = part["compared"], [_plain(part["value"])]
            made.append(_OPERATORS[part["operator"]](compute.field(name), values[0]))
            if part["operator"] != "==":
                values = []
        elif part["null"]:
            name, values = part["tested"], []
            column = compute.field(name)
            made.append(column.is_valid() if part["null"] == "valid" else column.is_null())
        else:
            name, values = part["name"], [_plain(text) for text in _TEXT.findall(part["values"])]
            made.append(compute.field(name).isin(values))
        # The columns are filtered afterwards: with two conditions on one the first is enough.
        found[name] = found.get(name) or values
    if not made:
        return None
    # However the parts are put together.
    said: list[Any] = [reduce(operator.and_, made), reduce(lambda right, each: each & right, reversed(made))]
    for name, values in found.items():  # as DuckDB says IN
        is_in = compute.field(name).isin(values)
        said.append(compute.if_else(compute.field(name).is_valid(), is_in, pa.scalar(None, pa.bool_())))
    return found if any(each.equals(filter) for each in said) else None
