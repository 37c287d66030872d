"""Sorting of statements in bounded memory, and merging of what is sorted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import count
from typing import Any

from jelly._bytes.source import Progress
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._dataset.order import check_order, in_slices, merged, sorted_rows
from jelly._dataset.output import MEMORY, Input, Mode, Options, write_batches
from jelly._formats.registry import READING, VERSIONS
from jelly._options.settings import checked
from jelly._streams.spool import Spool
from jelly.errors import JellyArgumentError

__all__ = ["in_order", "merge", "sort"]

# What of the memory the Batches take that are sorted at a time; joining and sorting takes as much again, and more.
SHARE = 4
# Sorted runs that are merged at a time, and of each the rows and bytes that are in memory.
RUNS, RUN_ROWS, RUN_BYTES, CHUNK = 32, 8192, 1 << 20, 1 << 17
# Bytes that a run has in memory with its buffers and tables.
RUN_MEMORY = 3 << 21


def in_order(batches: Iterable[Batch], by: str, memory: int = MEMORY, *, unique: bool = False) -> Iterator[Batch]:
    """Batches with all statements of others in order, in approximately ``memory`` bytes; what does not fit goes to
    temporary files.

    >>> import jelly
    >>> [batch] = in_order(jelly.read_batches(b"<a:b> <a:p> <a:o> .\\n<a:a> <a:p> <a:o> .", format="nt"), "spog")
    >>> [statement.s.value for statement in batch]
    ['a:a', 'a:b']
    """
    bound = memory // SHARE
    fan = max(2, min(RUNS, memory // RUN_MEMORY))
    with ExitStack() as stack:
        runs: list[Spool] = []
        held: list[Batch] = []
        size = 0

        def spill(batches: Iterable[Batch]) -> Spool:
            spool = Spool(0, stack)
            for batch in batches:
                spool.add(batch)
            spool.end()
            return spool

        def read(some: list[Spool]) -> Iterator[Batch]:
            each = [run.batches(CHUNK, batch_rows=RUN_ROWS, batch_bytes=RUN_BYTES) for run in some]
            yield from merged(each, by, unique=unique)
            for run in some:
                run.close()

        for batch in batches:
            held.append(batch)
            size += batch.nbytes
            del batch
            if size > bound:
                runs.append(spill(_sorted(held, by, unique)))
                size = 0
        if not runs:
            yield from _sorted(held, by, unique)
            return
        if held:
            runs.append(spill(_sorted(held, by, unique)))
        while len(runs) > fan:
            # As few times as it takes, and then as few at a time. Neighbours only: so equal rows keep their order.
            times = next(n for n in count(2) if fan**n >= len(runs))
            some = next(n for n in count(2) if n**times >= len(runs))
            runs = [spill(read(runs[at : at + some])) for at in range(0, len(runs), some)]
        yield from read(runs)


def _sorted(held: list[Batch], by: str, unique: bool) -> Iterator[Batch]:
    """The rows of Batches in order; the list is emptied."""
    if not held:
        return
    joined = join_batches(held) if len(held) > 1 else held[0]
    held.clear()
    yield from in_slices(joined, sorted_rows(joined, by, unique=unique))


@checked(READING, VERSIONS)
def sort(
    sources: Any,
    out: Any,
    by: str = "spog",
    *,
    unique: bool = False,
    memory: int = MEMORY,
    blank_nodes: Mode | None = None,
    skolem_base: str | None = None,
    to_format: str | None = None,
    options: Options = None,
    seekable: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> int:
    r"""Sort statements, in memory that is bounded.

    Terms are ordered as those of Python are: the default graph, blank nodes, IRIs, literals, quoted triples, each by
    their text (code point by code point), literals with the same text by datatype and language.

    Parameters
    ----------
    sources : Any
        One source or several, as for `find`.
    out : str, os.PathLike or binary file object
        The output, as for `Writer`; also a table.
    by : str, default "spog"
        What to sort by: letters of subject, predicate, object and graph, the most important first. Statements whose
        terms are equal there keep their order.
    unique : bool, default False
        Write equal statements once. Places that ``by`` does not name count behind the others then.
    memory : int, default 256 MiB
        Approximate bytes of memory; the process itself takes some 80 MB more. What does not fit goes to temporary
        files, as Jelly: about the size of the output, for very large inputs twice that.
    blank_nodes, skolem_base : optional
        Labels of blank nodes, see `find`.
    to_format : str, optional
        Format of the output. By default the suffix decides.
    options : StreamOptions or mapping, optional
        Options of a Jelly stream, see `Writer`.
    seekable : bool, default False
        Write an index, see `Writer`.
    progress : callable, optional
        Called with 0, None and the number of statements read so far.
    **settings : Any
        Keywords of `Reader`.

    Returns
    -------
    int
        Number of statements written.

    Raises
    ------
    JellyArgumentError
        If ``by`` is no order.
    JellyError
        If a source is wrong. No partial file is left.

    Examples
    --------
    >>> import io, jelly
    >>> out = io.BytesIO()
    >>> data = b"<a:b> <a:p> <a:x> .\n<a:a> <a:p> <a:z> .\n<a:b> <a:p> <a:x> ."
    >>> jelly.sort(data, out, "os", unique=True, format="nt", to_format="nt")
    2
    >>> print(out.getvalue().decode(), end="")
    <a:b> <a:p> <a:x> .
    <a:a> <a:p> <a:z> .
    """
    by = whole_order(by, unique)
    found = Input(sources, blank_nodes, skolem_base, progress, **settings)
    batches = in_order(found.batches(), by, memory, unique=unique)
    return write_batches(out, batches, found, known=True, to_format=to_format, options=options, seekable=seekable)


def whole_order(by: str, unique: bool) -> str:
    """An order, with all places if it is to tell statements apart."""
    check_order(by)
    return by + "".join(slot for slot in "spog" if slot not in by) if unique else by


@checked(READING, VERSIONS)
def merge(
    sources: Any,
    out: Any,
    by: str = "spog",
    *,
    unique: bool = False,
    blank_nodes: Mode | None = None,
    skolem_base: str | None = None,
    to_format: str | None = None,
    options: Options = None,
    seekable: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> int:
    """Merge sources that are sorted into one that is.

    All sources are open at a time, and only a part of each is in memory.

    Parameters
    ----------
    sources : Any
        Several sources, as for `find`, each in the order of ``by``.
    out : str, os.PathLike or binary file object
        The output, see `sort`.
    by : str, default "spog"
        The order, see `sort`. Equal statements come in the order of the sources.
    unique : bool, default False
        Write equal statements once. Places that ``by`` does not name count behind the others then.
    blank_nodes, skolem_base : optional
        Labels of blank nodes, see `find`.
    to_format : str, optional
        Format of the output. By default the suffix decides.
    options : StreamOptions or mapping, optional
        Options of a Jelly stream, see `Writer`.
    seekable : bool, default False
        Write an index, see `Writer`.
    progress : callable, optional
        Called with 0, None and the number of statements read so far.
    **settings : Any
        Keywords of `Reader`.

    Returns
    -------
    int
        Number of statements written.

    Raises
    ------
    JellyArgumentError
        If a source is not in this order; the message names two statements.

    Examples
    --------
    >>> import io, jelly
    >>> out = io.BytesIO()
    >>> some, others = b"<a:a> <a:p> <a:o> .\\n<a:c> <a:p> <a:o> .", b"<a:b> <a:p> <a:o> ."
    >>> jelly.merge([(some,), others], out, format="nt", to_format="nt")
    3
    """
    by = whole_order(by, unique)
    found = Input(sources, blank_nodes, skolem_base, progress, **settings)
    named = found.each()
    batches = merged(
        [batches for _, batches in named], by, unique=unique, checks=[_Check(name, by) for name, _ in named]
    )
    return write_batches(out, batches, found, to_format=to_format, options=options, seekable=seekable)


class _Check:
    """Refuses a source that is not in order."""

    def __init__(self, name: str, by: str) -> None:
        self._name = name
        self._by = by

    def __call__(self, before: tuple[Any, ...], after: tuple[Any, ...]) -> None:
        if after < before:
            one, other = (" ".join(map(str, key)) for key in (before, after))
            raise JellyArgumentError(
                f"it is not sorted by {self._by!r}: {other} comes behind {one}; sort it first", source=self._name
            )
