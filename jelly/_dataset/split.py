"""One source as several files: of so many statements, in so many parts, or one for each term."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jelly._bytes.names import split_suffix
from jelly._core.base.batch import Batch
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.model import IRI, DefaultGraph, QuotedTriple
from jelly._dataset.steps.order import Run, Sort
from jelly._options.layouts import PLACES
from jelly._streams.spool import Spool
from jelly.errors import JellyArgumentError, JellyLimitError

# Characters of a term that its file has in its name.
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Part:
    """A file that `Dataset.split` wrote.

    Attributes
    ----------
    path : str
        The file.
    statements : int
        How many it has.
    term : IRI, BlankNode, Literal, QuotedTriple, DefaultGraph or None
        The term of all of them, if it was split by terms.

    Examples
    --------
    >>> import jelly, os, tempfile
    >>> out = os.path.join(tempfile.mkdtemp(), "part-{}.nt")
    >>> [part] = jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").split(out, rows=10)
    >>> os.path.basename(part.path), part.statements
    ('part-00000.nt', 1)
    """

    path: str
    statements: int
    term: Any = None


class Names:
    """The names of the files: one part of ``out`` is replaced."""

    def __init__(self, out: str | os.PathLike[str]) -> None:
        name = os.fspath(out)
        if not isinstance(name, str) or name == "-":
            raise JellyArgumentError(f"there are several files: expected a path such as part-{{}}.jelly, not {out!r}")
        if "{}" not in os.path.basename(name):
            packed = split_suffix(name)[1]
            stem, suffix = os.path.splitext(name[: len(name) - len(packed)])
            name = f"{stem}-{{}}{suffix}{name[len(name) - len(packed) :]}"
        self.folder, self._name = os.path.split(name)
        self._taken: set[str] = set()

    def of(self, label: str) -> str:
        """The path for a label; another one for one that was there, in any case of letters."""
        made, number = label, 1
        while made.lower() in self._taken:
            number += 1
            made = f"{label}-{number}"
        self._taken.add(made.lower())
        return os.path.join(self.folder, self._name.replace("{}", made, 1))


def check_ways(rows: int | None, parts: int | None, by: str | None, max_files: int) -> None:
    """Check that one way to split is given, and its number or place."""
    if (rows is not None) + (parts is not None) + (by is not None) != 1:
        raise JellyArgumentError("give one of rows=, parts= and by=: how to split")
    for name, number in {"rows": rows, "parts": parts, "max_files": max_files}.items():
        if number is not None and number < 1:
            raise JellyArgumentError(f"{name} is {number}: expected 1 or more")
    if by not in (None, *PLACES, *PLACES.values()):
        raise JellyArgumentError(f"by={by!r}: expected one of {', '.join(PLACES.values())}")


def _label(term: Any) -> str:
    """A short name for a term, of characters that every file system has."""
    if isinstance(term, DefaultGraph):
        return "default"
    text = "" if isinstance(term, QuotedTriple) else term.value
    if isinstance(term, IRI):
        # What stands after the last of these says most.
        text = text.rstrip("/#").replace("#", "/").rpartition("/")[2]
    made = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in text)[:_LONGEST].strip(".")
    return made or "term"


def by_size(batches: Iterator[Batch], sizes: Iterable[int]) -> Iterator[tuple[str, None, Iterator[Batch]]]:
    """Pieces of some sizes, with their numbers. Each must be taken to its end before the next."""
    run = Run(batches)

    def piece(size: int) -> Iterator[Batch]:
        while size and run.fill():
            some = run.upto(min(run.at + size, len(run.batch)))
            size -= len(some)
            yield some

    for number, size in enumerate(sizes):
        if not run.fill():
            return
        yield f"{number:05}", None, piece(size)


def by_parts(batches: Iterator[Batch], n: int, spool: Spool) -> Iterator[tuple[str, None, Iterator[Batch]]]:
    """Some pieces of nearly equal sizes."""
    for batch in batches:
        spool.add(batch)
    sizes = [spool.rows // n + (number < spool.rows % n) for number in range(n)]
    return by_size(spool.batches(), [size for size in sizes if size])


def by_term(
    batches: Iterator[Batch], slot: str, most: int, memory: int
) -> Iterator[tuple[str, Any, Iterator[Batch]]]:
    """Pieces of equal terms in one place, in the order of the terms, of which there may be so many."""
    run = Run(Sort(slot, memory)(_counted(batches, slot, most)), slot)

    def piece(wanted: tuple[Any, ...]) -> Iterator[Batch]:
        while run.fill() and (some := run.take(wanted, True)) is not None:
            yield some

    while run.fill():
        key = run.key(run.at)
        yield _label(key[0]), key[0], piece(key)


def _counted(batches: Iterable[Batch], slot: str, most: int) -> Iterator[Batch]:
    """Batches, as long as they have no more than so many terms in one place."""
    seen: set[Any] = set()
    for batch in batches:
        ids = getattr(batch, slot)
        if ids is not None:
            made = Materializer(batch)
            for term in np.unique(ids).tolist():
                seen.add(made.term(term) if term >= 0 else None)
                if len(seen) > most:
                    raise JellyLimitError(
                        f"the statements have more than {most} terms in this place, and each would have a file: raise "
                        "max_files, or split by something else"
                    )
        yield batch
        del batch
