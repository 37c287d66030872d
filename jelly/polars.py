"""Lazy frames of polars over files of statements: only the columns, rows and parts of files that a query needs.

>>> data = b'<a:1> <a:name> "Ann" .\\n<a:2> <a:name> "Bob" .\\n<a:1> <a:knows> <a:2> .'
>>> frame = scan_jelly(data, format="nt")
>>> frame.filter(pl.col("predicate") == "a:name").select("object").collect()["object"].to_list()
['Ann', 'Bob']
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jelly._dataset.polars import pl, register_io_source
from jelly._dataset.scan import scan
from jelly._dataset.sources import OF_SOURCES
from jelly._formats.arrow_tables import compute, schema
from jelly._options.layouts import LayoutWithValues
from jelly._options.settings import checked
from jelly._public import name_public

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions

__all__ = ["scan_jelly"]


@checked(OF_SOURCES)
def scan_jelly(
    src: Any,
    *,
    layout: LayoutWithValues = "flat",
    **options: Unpack[ReadOptions],
) -> pl.LazyFrame:
    """Make a lazy frame of some sources.

    The columns of a query, its limit, and conditions that a column equals a text (or is one of some texts) are passed
    to the reader: statements that do not match are never made into text.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.scan`: also a list, a glob pattern, a directory, tables, URLs of fsspec.
    layout : {"flat", "ntriples", "typed"}, default "flat"
        Columns, see `jelly.arrow`.
    **options : Unpack[ReadOptions]
        Shared keywords: see `jelly.ReadOptions`.

    Examples
    --------
    >>> scan_jelly(b"<a:s> <a:p> <a:o> .", format="nt").select("object").collect().to_dicts()
    [{'object': 'a:o'}]
    """
    data = scan(src, layout=layout, **options)

    def read(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        columns = with_columns if with_columns is not None else data.schema.names
        needed = list(columns)
        condition = None
        if predicate is not None:
            needed = list(dict.fromkeys([*columns, *predicate.meta.root_names()]))
            for part in _parts(predicate):
                if (found := _condition(part)) is not None:
                    condition = found if condition is None else condition & found
        left = 1 << 62 if n_rows is None else n_rows
        for batch in data.to_batches(needed, condition):
            frame = pl.DataFrame(pl.from_arrow(batch))
            if predicate is not None:
                frame = frame.filter(predicate)
            frame = frame.select(columns).head(left)
            left -= len(frame)
            if len(frame):
                yield frame
            if not left:
                return

    types = pl.DataFrame(pl.from_arrow(schema(layout).empty_table())).schema
    return register_io_source(read, schema=types, is_pure=isinstance(src, (str, bytes)))


def _parts(expression: pl.Expr) -> list[pl.Expr]:
    """The expressions that must all hold for this one to hold."""
    inner = expression.meta.pop()
    if len(inner) == 2:
        for one, other in (inner, inner[::-1]):
            if (one & other).meta.eq(expression):
                return _parts(one) + _parts(other)
    return [expression]


def _condition(expression: pl.Expr) -> Any:
    """The same as an expression of pyarrow, if it says that a column equals a text or is one of some; else None.

    polars gives the parts of an expression, but not their operator: so they are joined again, and compared.
    """
    inner = expression.meta.pop()
    if len(inner) != 2:
        return None
    for column, literal in (inner, inner[::-1]):
        if not (column.meta.is_column() and literal.meta.is_literal()):
            continue
        values = pl.select(literal).to_series()
        name = column.meta.output_name()
        if values.dtype == pl.List(pl.String):
            values = values.explode()
        if values.dtype != pl.String or values.null_count():
            continue
        if len(values) == 1 and expression.meta.eq(column == literal) or expression.meta.eq(literal == column):
            return compute.field(name) == values[0]
        if expression.meta.eq(column.is_in(literal)):
            return compute.field(name).isin(values.to_list())
    return None


name_public(__name__, __all__, globals())
