"""Frames of pandas of files of statements.

>>> import jelly.pandas
>>> data = b'<a:1> <a:name> "Ann" .\\n<a:2> <a:name> "Bob" .\\n<a:1> <a:knows> <a:2> .'
>>> frame = jelly.pandas.read_jelly(data, columns=["subject", "object"], filter=jelly.Pattern(p="a:name"), format="nt")
>>> frame.to_dict("list")
{'subject': ['a:1', 'a:2'], 'object': ['Ann', 'Bob']}
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

from jelly.errors import MissingExtraError

try:  # before jelly.arrow: the extra has pyarrow, too
    import pandas as pd
except ImportError:
    raise MissingExtraError("jelly.pandas needs pandas: python -m pip install 'jelly-rdf[pandas]'") from None

from jelly._dataset.lazy import scan
from jelly._dataset.pattern import Pattern
from jelly._formats.arrow_tables import compute
from jelly._formats.registry import READING
from jelly._options.settings import checked
from jelly.arrow import read_arrow

__all__ = ["pd", "read_jelly"]


@checked(READING, set(signature(scan).parameters) - {"src"})
def read_jelly(
    src: Any,
    *,
    columns: Sequence[str] | None = None,
    filter: Pattern | compute.Expression | None = None,
    categories: bool = False,
    **settings: Any,
) -> pd.DataFrame:
    """Read statements as a frame of pandas. Other columns and rows than those asked for are never made into text.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.read`: also a list, a glob pattern, a directory, tables, URLs.
    columns : sequence of str, optional
        Names of the columns to read. By default all of the layout.
    filter : Pattern or pyarrow.compute.Expression, optional
        Which statements to read: a `jelly.Pattern`, or a condition on columns, see `jelly.Scan`.
    categories : bool, default False
        Make categorical columns: much less memory where terms repeat.
    **settings : Any
        ``layout``, ``blank_nodes``, ``skolem_base``, ``threads`` of `jelly.scan`, and keywords of `jelly.Reader`.

    Returns
    -------
    pandas.DataFrame
        The statements, in the order of the sources.

    Raises
    ------
    JellyArgumentError
        If a column is unknown.
    MissingExtraError
        If pandas or pyarrow is not installed.

    Examples
    --------
    >>> read_jelly(b"<a:s> <a:p> <a:o> .", format="nt").object.tolist()
    ['a:o']
    """
    if filter is None or isinstance(filter, Pattern):
        # Dictionaries of record batches are joined: no column of strings is ever whole in memory.
        table = read_arrow(src, columns=columns, filter=filter, dictionary=categories, **settings).read_all()
        frame: pd.DataFrame = table.unify_dictionaries().to_pandas()
    else:
        table = scan(src, **settings).to_table(columns, filter)
        frame = table.to_pandas(categories=table.column_names if categories else None)
    return frame
