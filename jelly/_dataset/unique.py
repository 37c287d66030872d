"""Each statement once, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

from jelly._bytes.source import Progress
from jelly._core.algebra.content import row_hash
from jelly._core.algebra.row_index import RowIndex
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._dataset.output import MEMORY, Input, Mode, Options, write_batches
from jelly._formats.registry import READING, VERSIONS
from jelly._options.settings import checked
from jelly._streams.spool import HashFile, Spool, compare, marks

__all__ = ["distinct", "unique"]

# What of the memory the hashes take that wait for their file.
WAITING = 64


def distinct(batches: Iterable[Batch], memory: int = MEMORY) -> Iterator[Batch]:
    """The rows of Batches, each once, where it comes first.

    Rows are told apart by hashes of 128 bits under a key that nobody knows. Where these take too much memory, they and
    the rows that follow go to temporary files.
    """
    seed = os.urandom(16)
    # An index that grows is there twice for a moment.
    bound = memory // 2
    index = RowIndex()
    rest = iter(batches)
    for batch in rest:
        _, new = index.add(row_hash(batch, seed))
        if new.all():
            yield batch
        elif new.any():
            yield select(batch, new)
        del batch
        if index.nbytes > bound:
            break
    else:
        return
    with ExitStack() as stack:
        old, more = HashFile(memory // WAITING, stack), HashFile(memory // WAITING, stack)
        old.move(index, 0, len(index))
        del index
        spool = Spool(0, stack)
        for batch in rest:
            more.add(row_hash(batch, seed))
            spool.add(batch)
            del batch
        fresh = marks(more.rows, bound, stack)
        compare(old, more, bound, marks(old.rows, bound, stack), fresh)
        at = 0
        for batch in spool.batches():
            wanted = fresh[at : at + len(batch)]
            at += len(batch)
            if wanted.any():
                yield select(batch, wanted)
            del batch


@checked(READING, VERSIONS)
def unique(
    sources: Any,
    out: Any,
    *,
    memory: int = MEMORY,
    blank_nodes: Mode | None = None,
    skolem_base: str | None = None,
    to_format: str | None = None,
    options: Options = None,
    seekable: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> int:
    r"""Write each statement once, in the order in which they come first.

    Statements are compared by their terms, byte by byte; blank nodes by their labels. They are told apart by hashes of
    128 bits (SipHash) under a random key: among a million million statements, the chance that any two different ones
    are taken for one is below 1 to 10^14, and nobody can write such statements on purpose.

    Parameters
    ----------
    sources : Any
        One source or several, as for `find`. Blank nodes of several are different nodes, see ``blank_nodes``.
    out : str, os.PathLike or binary file object
        The output, as for `Writer`; also a table.
    memory : int, default 256 MiB
        Approximate bytes of memory: 128 MiB hold the hashes of 5 million statements. What does not fit goes to
        temporary files.
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

    Examples
    --------
    >>> import io, jelly
    >>> jelly.unique(b"<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:o> .", io.BytesIO(), format="nt")
    1
    """
    found = Input(sources, blank_nodes, skolem_base, progress, **settings)
    batches = distinct(found.batches(), memory)
    return write_batches(out, batches, found, to_format=to_format, options=options, seekable=seekable)
