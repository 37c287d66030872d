"""Patch logs: patches sorted by their headers ``id`` and ``prev``."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jelly._bytes.names import is_path, split_suffix
from jelly._bytes.source import Source
from jelly._core.terms.model import IRI, BlankNode, Literal
from jelly._core.terms.operations import Header
from jelly._formats.registry import PATCH_READING, RDF_PATCH, REGISTRY, Content, find, having
from jelly._options.options import PatchOptions, StatementType
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError, JellyFormatError
from jelly.patch._changes import patches_of
from jelly.patch._patch import Patch
from jelly.patch._stream import dumps, loads, read_patches

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions

# Bytes that are kept in memory; more go to the file.
HELD_BYTES = 1 << 26
_SUFFIXES = {suffix for format in REGISTRY[Content.PATCH].values() for suffix in format.suffixes}


# How a patch is kept until its place is known.
Keep = Callable[[Patch], Callable[[], Patch]]


class _Entry(NamedTuple):
    """A patch of a log: two of its headers, a function that gives it, its file (or ""), and its first row there."""

    id: Any
    prev: Any
    patch: Callable[[], Patch]
    name: str = ""
    row: int = 0

    def wrong(self, reason: str, key: str = "id") -> JellyFormatError:
        """An error at the row of a header, or where that is missing, of the patch; in a text at its line and byte, too.
        Patches do not keep these: the file is read again.
        """
        numbers = (i for i, x in enumerate(self.patch()) if isinstance(x, Header) and x.key.lower() == key)
        row = self.row + next(numbers, 0)
        error = JellyFormatError(reason, source=self.name or None, row=row)
        if self.name and find(None, self.name, content=Content.PATCH) is RDF_PATCH:
            offset = rows = 0
            for number, line in enumerate(b"".join(Source(self.name).chunks()).splitlines(True), 1):
                rows += line.lstrip()[:1] not in (b"", b"#")
                if rows > row:
                    error.line, error.offset = number, offset
                    break
                offset += len(line)
        return error


def _entries(src: Any, limits: Mapping[str, Any], keep: Keep) -> Iterator[_Entry]:
    """The patches of all sources. Of a directory, all files with a suffix of patches."""

    def entry(patch: Patch, *place: Any) -> _Entry:
        return _Entry(patch.id, patch.prev, keep(patch), *place)

    if is_path(src):
        src = [src]
    if isinstance(src, bytes) or not isinstance(src, Iterable):
        raise JellyArgumentError(f"src is {src!r:.80}: expected a path, or files and Patches")
    for source in src:
        if is_path(source):
            path = Path(source)
            files = sorted(path.iterdir()) if path.is_dir() else [path]
            for file in files:
                if file is path or split_suffix(file.name)[0] in _SUFFIXES:
                    row = 0
                    known = find(None, file.name, content=Content.PATCH).reading
                    for patch in read_patches(file, **having(limits, known)):
                        yield entry(patch, str(file), row)
                        row += len(patch)
        else:
            yield from map(entry, patches_of(source))


def _in_order(entries: Iterable[_Entry], start: Any) -> list[Callable[[], Patch]]:
    by_id: dict[Any, _Entry] = {}
    after: dict[Any, Any] = {}
    for entry in entries:
        found, prev = entry.id, entry.prev
        if found is None:
            raise entry.wrong("a patch of a log has no header id")
        if found == prev:
            raise entry.wrong(f"the headers id and prev are the same: {found}", "prev")
        if found in by_id:
            raise entry.wrong(f"two patches of a log have the id {found}")
        if prev in after:
            what = "have no header prev" if prev is None else f"have the prev {prev}"
            raise entry.wrong(f"two patches of a log {what}: {after[prev]} and {found}", "prev")
        by_id[found] = entry
        after[prev] = found
    ordered = []
    at = start if start in after else None
    while at in after:
        at = after.pop(at)
        ordered.append(by_id[at].patch)
    if after:
        prev, found = next(iter(after.items()))
        what = f"its prev {prev} is missing" if prev not in by_id else "its prevs form a cycle"
        raise by_id[found].wrong(f"the log is broken: patch {found} follows none, {what}", "prev")
    return ordered


@checked(PATCH_READING - {"format", "delimited"})
def read_log(
    src: Any, *, after: IRI | BlankNode | Literal | None = None, **options: Unpack[ReadOptions]
) -> list[Patch]:
    """Read patches and sort them by their headers ``id`` and ``prev``, oldest first.

    Parameters
    ----------
    src : str, os.PathLike, or iterable of files and Patches
        A directory, a file, or several files and patches.
    after : IRI, optional
        The ``prev`` of the first patch. By default the first patch has no ``prev``.
    **options : Unpack[ReadOptions]
        Shared keywords of all patches: see `ReadOptions`.

    Raises
    ------
    JellyFormatError
        If an ``id`` is missing, occurs twice or is its own ``prev``, or if the chain is broken or forks. The message
        gives the row in the file (all operations count, from 0) and, for RDF Patch, line and byte.

    Examples
    --------
    >>> from jelly import IRI
    >>> from jelly.patch import Header, Patch, read_log
    >>> one = Patch([Header("id", IRI("uuid:1"))])
    >>> two = Patch([Header("id", IRI("uuid:2")), Header("prev", IRI("uuid:1"))])
    >>> [str(patch.id) for patch in read_log([two, one])]
    ['<uuid:1>', '<uuid:2>']
    """
    return [patch() for patch in _in_order(_entries(src, options, lambda patch: lambda: patch), after)]


class PatchSpool(AbstractContextManager["PatchSpool"]):
    """Patches by their numbers, from 0. Memory holds their positions in a temporary file, and little else.

    >>> with PatchSpool() as spool:
    ...     numbers = [spool.add(Patch()), spool.add(Patch())]
    ...     numbers, spool[1]
    ([0, 1], <jelly.patch.Patch: 0 operations>)
    """

    def __init__(self) -> None:
        # Closed by __exit__.
        self._file: Any = tempfile.SpooledTemporaryFile(max_size=HELD_BYTES)  # noqa: SIM115
        self._starts = [0]

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._starts) - 1

    def add(self, patch: Patch) -> int:
        """Keep a patch, and return its number."""
        kind = StatementType.QUADS if patch.quads else StatementType.TRIPLES
        # What a patch may need late is announced at once.
        data = dumps(patch, PatchOptions(statement_type=kind, rdf_star=True, generalized_statements=True))
        self._file.seek(self._starts[-1])
        self._file.write(data)
        self._starts.append(self._starts[-1] + len(data))
        return len(self) - 1

    def __getitem__(self, number: int) -> Patch:
        start, stop = self._starts[number : number + 2]
        self._file.seek(start)
        [patch] = loads(self._file.read(stop - start), max_frame_bytes=max(stop - start, 1))
        return patch


def patches_in_order(src: Any, after: Any, limits: Mapping[str, Any]) -> Iterator[Patch]:
    """The patches of `read_log`, one after the other. Those that wait are in a temporary file."""
    with PatchSpool() as spool:

        def keep(patch: Patch) -> Callable[[], Patch]:
            return partial(spool.__getitem__, spool.add(patch))

        for patch in _in_order(_entries(src, limits, keep), after):
            yield patch()
