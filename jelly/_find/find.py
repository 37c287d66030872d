"""``jelly.find``: the statements of some sources that match a pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from jelly._core.base.batch import Batch
from jelly._core.terms.materialize import StatementIterator
from jelly._core.terms.model import Quad, Triple
from jelly._find.pattern import Pattern, Wanted
from jelly._formats.registry import READING
from jelly._io.settings import checked
from jelly._sources.blank_node_scope import Mode
from jelly._sources.sources import Sources

if TYPE_CHECKING:
    from jelly.arrow import pa

__all__ = ["Matches", "find"]


class Matches:
    """The statements that match a pattern, as `find` returns them.

    Iterate over it for statements, or call one of its methods. Each reads the sources anew, as far as they can be read
    again, and nothing is read before.

    Parameters
    ----------
    pattern : Pattern
        What is looked for.
    read : callable
        Returns an iterator of the Batches to search, from the start.

    Examples
    --------
    >>> import jelly
    >>> found = jelly.find(b"<a:s> <a:p> <a:o> .", o="a:o", format="nt")
    >>> found.count(), [len(batch) for batch in found.batches()]
    (1, [1])
    >>> found.to_arrow(columns=["subject"]).read_all()["subject"].to_pylist()
    ['a:s']
    """

    def __init__(self, pattern: Pattern, read: Callable[[], Iterator[Batch]]) -> None:
        self.pattern: Pattern = pattern
        self._read = read

    def __repr__(self) -> str:
        return f"<jelly.Matches of {self.pattern!r}>"

    def __iter__(self) -> Iterator[Triple | Quad]:
        return iter(StatementIterator(self.batches()))

    def batches(self) -> Iterator[Batch]:
        """Iterate over the statements in Batches, none of them empty.

        Yields
        ------
        Batch
            The next statements, with the terms that they use.
        """
        for batch in self._read():
            found = self.pattern.select(batch)
            del batch  # before the next one takes memory
            if len(found):
                yield found

    def count(self) -> int:
        """Count the statements, without making them.

        Returns
        -------
        int
            How many there are.
        """
        return sum(map(self.pattern.count, self._read()))

    def to_arrow(self, **settings: Any) -> pa.RecordBatchReader:
        """Make a stream of Arrow record batches.

        Parameters
        ----------
        **settings : Any
            ``layout``, ``dictionary``, ``columns``, ``batch_rows`` and ``direction`` of `jelly.arrow.from_batches`.

        Returns
        -------
        pyarrow.RecordBatchReader
            Record batches, built as they are taken. ``read_all()`` makes a table of them.
        """
        from jelly.arrow import from_batches

        return from_batches(self._read(), keep=self.pattern.rows, **settings)


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
