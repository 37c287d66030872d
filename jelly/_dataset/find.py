"""``jelly.find``: the statements of some sources that match a pattern."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from jelly._dataset.blank_node_scope import Mode
from jelly._dataset.matches import Matches
from jelly._dataset.pattern import Pattern, Wanted
from jelly._dataset.sources import Sources
from jelly._formats.registry import READING
from jelly._options.settings import checked

if TYPE_CHECKING:
    pass

__all__ = ["find"]


@checked(READING)
def find(
    src: Any,
    s: Wanted = None,
    p: Wanted = None,
    o: Wanted = None,
    g: Wanted = None,
    *,
    blank_nodes: Mode | None = None,
    skolem_base: str | None = None,
    **settings: Any,
) -> Matches:
    """Find the statements that match a pattern: all those of which each given term matches.

    Nothing is made of statements that do not match, so they cost little more than reading Batches.

    Parameters
    ----------
    src : Any
        The input, as for `Reader`; also a URL of fsspec (``s3://``), a table (``.parquet``, ``.arrow``, ``.csv``, or
        an object of pyarrow, polars or pandas), a directory, a glob pattern, or a list of any of these, in one format
        or several.
    s, p, o, g : term, str, IRIPrefix, Datatype, LanguageRange, or an iterable of these, optional
        What the subject, predicate, object and graph must be, see `Pattern`.
    blank_nodes : {"scope", "keep", "skolemize"}, optional
        Labels of blank nodes: ``"scope"`` puts a prefix for the source before them, ``"skolemize"`` makes IRIs of the
        nodes. By default several sources have scopes, and one keeps its labels. The pattern is for the new labels.
    skolem_base : str, optional
        What these IRIs begin with, such as ``https://example.org``.
    **settings : Any
        Keywords of `Reader`.

    Returns
    -------
    Matches
        The statements: iterable, or as Batches, as Arrow, or counted.

    Raises
    ------
    FileNotFoundError
        If a glob pattern matches no file.
    JellyArgumentError
        If the pattern is wrong.

    Examples
    --------
    >>> import jelly
    >>> data = b'<a:1> <a:name> "Ann" .\\n<a:2> <a:name> "Bob" .\\n<a:1> <a:knows> <a:2> .'
    >>> [statement.o.value for statement in jelly.find(data, p="a:name", format="nt")]
    ['Ann', 'Bob']
    >>> jelly.find(data, s=["a:1", "a:3"], format="nt").count()
    2
    """
    pattern = Pattern(s, p, o, g)
    return Matches(pattern, partial(Sources(src, blank_nodes, skolem_base, **settings).batches, condition=pattern))
