"""``jelly.read``: one source by a `Reader`, several as a `Stream`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jelly._bytes.names import is_path, is_url, is_web
from jelly._core.base.batch import Batch
from jelly._core.terms.materialize import StatementIterator
from jelly._formats.registry import READING, VERSIONS
from jelly._options.settings import checked
from jelly._streams.inputs import READ_ROWS
from jelly._streams.reader import Reader

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._dataset.stream import Stream
    from jelly._options.keywords import ReadOptions

# In names of URLs and in patterns, and seldom in others.
_UNUSUAL = re.compile(r"[*?\[]|::|://")


def is_several(src: Any) -> bool:
    """Whether a source may be several, or is a table in memory: what `Reader` does not read, and `Sources` does.

    >>> is_several("people.nt"), is_several(["a.nt", "b.nt"]), is_several([b"chunk", b"chunk"]), is_several("*.nt")
    (False, True, False, True)
    """
    return _looks_several(src) or (is_path(src) and os.path.isdir(src))


def _looks_several(src: Any) -> bool:
    """`is_several`, but for directories: to ask what a path is takes time."""
    if isinstance(src, bytes):
        return False
    if is_path(src):
        name = os.fsdecode(src)
        if _UNUSUAL.search(name) is None:
            return False
        return not is_web(name) if is_url(name) else not os.path.exists(name)
    if isinstance(src, list | tuple):
        return not src or not isinstance(src[0], bytes | bytearray | memoryview)
    return hasattr(src, "__arrow_c_stream__") and not hasattr(src, "read")


@checked(READING, VERSIONS, {"blank_nodes", "skolem_base"})
def read(src: Any, **options: Unpack[ReadOptions]) -> StatementIterator:
    """Read statements one by one, as `Triple` or `Quad`: ``iter(scan(src))``. Memory stays bounded.

    Parameters
    ----------
    src : Any
        The input, as for `scan`.
    **options : Unpack[ReadOptions]
        Shared keywords, see `ReadOptions`: all but ``threads``.

    Raises
    ------
    JellyError
        If the input is wrong, see `Reader`.

    Examples
    --------
    >>> import jelly
    >>> for s, p, o in jelly.read(b'<a:s> <a:p> "o"@en .', format="nt"):
    ...     print(o.value, o.language)
    o en
    """
    if "batch_rows" in options:
        return StatementIterator(uniform_batches(src, {**options}))
    found = _open(src, {"batch_rows": READ_ROWS, **options})
    return StatementIterator(_uniform(found), fit=found._fit if isinstance(found, Reader) else None)


def uniform_batches(src: Any, settings: dict[str, Any]) -> Iterator[Batch]:
    """The Batches of one or several sources; those of one are all of triples or all of quads."""
    return _uniform(_open(src, settings))


def _uniform(found: Reader | Stream) -> Iterator[Batch]:
    return found.uniform() if isinstance(found, Reader) else found.batches()


def _open(src: Any, settings: dict[str, Any]) -> Reader | Stream:
    """One or several sources. One alone does not need what several do, which takes some time to import."""
    if settings.keys().isdisjoint(("blank_nodes", "skolem_base")) and not _looks_several(src):
        try:
            return Reader(src, **settings)
        except (IsADirectoryError, PermissionError):  # the latter on Windows
            if not is_path(src) or not os.path.isdir(src):
                raise
    from jelly._dataset.sources import Sources
    from jelly._dataset.stream import Stream

    return Stream(Sources(src, **settings))
