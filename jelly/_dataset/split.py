"""One source as several files: of so many statements, in so many parts, or one for each term."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from jelly._bytes.names import split_suffix
from jelly._bytes.part_file import PartFolder
from jelly._core.base.batch import Batch
from jelly._core.base.kinds import Kind
from jelly._core.terms.materialize import Materializer
from jelly._dataset.steps.order import Run
from jelly._dataset.steps.sort import Sort
from jelly._streams.spool import Spool
from jelly.errors import JellyArgumentError, JellyError, JellyLimitError

_SLOTS = {"subject": "s", "predicate": "p", "object": "o", "graph": "g"}
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


class _Names:
    """The names of the files: one part of ``out`` is replaced."""

    def __init__(self, out: str | os.PathLike[str]) -> None:
        name = os.fspath(out)
        if not isinstance(name, str) or name == "-":
            raise JellyArgumentError(f"there are several files: expected a path such as part-{{}}.jelly, not {out!r}")
        if "{}" not in os.path.basename(name):
            packed = split_suffix(name)[1]
            stem, suffix = os.path.splitext(name[: len(name) - len(packed)])
            name = f"{stem}-{{}}{suffix}{name[len(name) - len(packed) :]}"
        self.folder, base = os.path.split(name)
        self._before, _, self._after = base.partition("{}")
        self._taken: set[str] = set()

    def of(self, label: str) -> str:
        """The path for a label; another one for one that was there, in any case of letters."""
        for number in count(1):
            made = label if number == 1 else f"{label}-{number}"
            if made.lower() not in self._taken:
                self._taken.add(made.lower())
                return os.path.join(self.folder, self._before + made + self._after)
        raise AssertionError


def _label(batch: Batch, term: int) -> str:
    """A short name for a term, of characters that every file system has."""
    if term < 0:
        return "default"
    text = batch.term_text(term)
    if batch.kind[term] == Kind.IRI:
        # What stands after the last of these says most.
        parts = text.rstrip("/#").replace("#", "/").split("/")
        text = parts[-1]
    made = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in text)[:_LONGEST].strip(".")
    return made or "term"


def split_batches(
    batches: Iterator[Batch],
    dst: str | os.PathLike[str],
    write: Callable[[str, Iterator[Batch]], int],
    *,
    rows: int | None,
    parts: int | None,
    by: str | None,
    max_files: int,
    memory: int,
) -> list[Part]:
    """Write Batches to several files, see `Dataset.split`. ``write`` writes one file, and returns its statements."""
    if (rows is not None) + (parts is not None) + (by is not None) != 1:
        raise JellyArgumentError("give one of rows=, parts= and by=: how to split")
    for name, number in {"rows": rows, "parts": parts, "max_files": max_files}.items():
        if number is not None and number < 1:
            raise JellyArgumentError(f"{name} is {number}: expected 1 or more")
    slot = None if by is None else _SLOTS.get(by, by)
    if slot is not None and slot not in _SLOTS.values():
        raise JellyArgumentError(f"by={by!r}: expected one of {', '.join(_SLOTS)}")
    names = _Names(dst)
    made: list[Part] = []
    with ExitStack() as stack:
        pieces: Iterator[tuple[str, Any, Iterator[Batch]]]
        if slot is not None:
            ordered = Sort(slot, memory)(_counted(batches, slot, max_files))
            pieces = _by_term(ordered, slot)
        elif parts is not None:
            spool = Spool(memory // 4, stack)
            for batch in batches:
                spool.add(batch)
            sizes = [spool.rows // parts + (number < spool.rows % parts) for number in range(parts)]
            pieces = _by_size(spool.batches(), [size for size in sizes if size])
        else:
            assert rows is not None
            pieces = _by_size(batches, _repeated(rows))
        folder = stack.enter_context(PartFolder(names.folder))
        for label, term, some in pieces:
            path = names.of(label)
            with _named(folder, path):
                made.append(Part(path, write(folder.of(path), some), term))
        folder.commit(part.path for part in made)
    return made


@contextmanager
def _named(folder: PartFolder, path: str) -> Iterator[None]:
    """Within this, errors of a file in a part folder have the name that it is to get."""
    hidden = folder.of(path)
    try:
        yield
    except OSError as error:
        if error.filename == hidden:
            error.filename = path
        raise
    except JellyError as error:
        if error.source == hidden:
            error.source = path
        raise


def _repeated(rows: int) -> Iterator[int]:
    while True:
        yield rows


def _by_size(batches: Iterator[Batch], sizes: Iterable[int]) -> Iterator[tuple[str, None, Iterator[Batch]]]:
    """Pieces of some sizes, with their numbers. Each must be taken to its end before the next."""
    run = Run(batches)

    def piece(size: int) -> Iterator[Batch]:
        while size and run.fill():
            assert run.batch is not None
            some = run.upto(min(run.at + size, len(run.batch)))
            size -= len(some)
            yield some

    for number, size in enumerate(sizes):
        if not run.fill():
            return
        yield f"{number:05}", None, piece(size)


def _by_term(batches: Iterator[Batch], slot: str) -> Iterator[tuple[str, Any, Iterator[Batch]]]:
    """Pieces of equal terms in one place, of Batches that are sorted by it."""
    run = Run((batch.unique() for batch in batches), slot)  # equal terms have equal ids

    def ids() -> Any:
        """The terms of the rows that are left, -1 for the default graph."""
        assert run.batch is not None
        found = getattr(run.batch, slot)
        return np.full(len(run.batch) - run.at, -1) if found is None else found[run.at :]

    def piece(wanted: tuple[Any, ...]) -> Iterator[Batch]:
        while run.fill() and run.key(run.at) == wanted:
            here = ids()
            other = np.flatnonzero(here != here[0])
            yield run.upto(run.at + (int(other[0]) if len(other) else len(here)))

    while run.fill():
        assert run.batch is not None
        key = run.key(run.at)
        yield _label(run.batch, int(ids()[0])), key[0], piece(key)


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
