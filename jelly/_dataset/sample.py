"""Some statements by chance."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from jelly._bytes.source import Progress
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.batch_concat import join_batches
from jelly._dataset.output import Input, Mode, Options, write_batches
from jelly._formats.registry import READING, VERSIONS
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError

__all__ = ["sample"]

Keys = np.ndarray[Any, np.dtype[np.uint64]]

# Rows that are held beyond those that are wanted, and Batches that are joined when there are so many.
SLACK, PIECES = 1 << 16, 256


def _some(batches: Iterable[Batch], n: int, chance: np.random.PCG64) -> Iterator[Batch]:
    """``n`` rows, each set of them as likely as any other: those whose random numbers are the smallest."""
    held: list[tuple[Keys, Batch]] = []
    limit = np.uint64((1 << 64) - 1)
    rows = 0
    for batch in batches:
        keys = chance.random_raw(len(batch))
        wanted = keys <= limit
        if n and wanted.any():
            held.append((keys[wanted], select(batch, wanted)))
            rows += len(held[-1][0])
        del batch
        if rows > 2 * n + SLACK:
            limit = np.partition(np.concatenate([keys for keys, _ in held]), n - 1)[n - 1]
            held = [(keys[few], select(batch, few)) for keys, batch in held if (few := keys <= limit).any()]
            rows = sum(len(keys) for keys, _ in held)
        if len(held) > PIECES:
            held = [(np.concatenate([keys for keys, _ in held]), join_batches([batch for _, batch in held]))]
    taken = np.zeros(rows, bool)
    taken[np.argsort(np.concatenate([keys for keys, _ in held]), kind="stable")[:n] if held else []] = True
    for keys, batch in held:
        if taken[: len(keys)].any():
            yield select(batch, taken[: len(keys)])
        taken = taken[len(keys) :]


def _share(batches: Iterable[Batch], fraction: float, chance: np.random.PCG64) -> Iterator[Batch]:
    """Each row with the same chance."""
    for batch in batches:
        wanted = (chance.random_raw(len(batch)) >> np.uint64(11)) * 2.0**-53 < fraction
        if wanted.any():
            yield select(batch, wanted)
        del batch


@checked(READING, VERSIONS)
def sample(
    sources: Any,
    out: Any,
    rows: int | None = None,
    *,
    fraction: float | None = None,
    seed: int | None = None,
    blank_nodes: Mode | None = None,
    skolem_base: str | None = None,
    to_format: str | None = None,
    options: Options = None,
    seekable: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> int:
    r"""Write some statements, chosen by chance, in the order in which they come.

    Parameters
    ----------
    sources : Any
        One source or several, as for `find`.
    out : str, os.PathLike or binary file object
        The output, as for `Writer`; also a table.
    rows : int, optional
        How many: exactly so many, or all if there are fewer. Twice as many are in memory.
    fraction : float, optional
        Instead of ``rows``, the chance of each statement, from 0 to 1. This takes no memory.
    seed : int, optional
        The same seed chooses the same statements of the same sources, on every machine. By default none does.
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
        If not one of ``rows`` and ``fraction`` is given, or one is out of range.

    Examples
    --------
    >>> import io, jelly
    >>> jelly.sample(b"<a:s> <a:p> <a:x> .\n<a:s> <a:p> <a:y> .", io.BytesIO(), 1, seed=7, format="nt")
    1
    """
    if (rows is None) == (fraction is None):
        raise JellyArgumentError("give either rows=, how many statements, or fraction=, the chance of each")
    if rows is not None and rows < 0:
        raise JellyArgumentError(f"rows is {rows}: expected 0 or more")
    if fraction is not None and not 0 <= fraction <= 1:
        raise JellyArgumentError(f"fraction is {fraction}: expected a number from 0 to 1")
    if seed is not None and seed < 0:
        raise JellyArgumentError(f"seed is {seed}: expected 0 or more")
    chance = np.random.PCG64(secrets.randbits(128) if seed is None else seed)
    found = Input(sources, blank_nodes, skolem_base, progress, **settings)
    if rows is not None:
        batches = _some(found.batches(), rows, chance)
    else:
        assert fraction is not None
        batches = _share(found.batches(), fraction, chance)
    return write_batches(
        out, batches, found, known=rows is not None, to_format=to_format, options=options, seekable=seekable
    )
