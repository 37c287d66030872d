"""Sources one after the other."""

from __future__ import annotations

from typing import Any

from jelly._bytes.source import Progress
from jelly._dataset.output import Input, Mode, Options, write_batches
from jelly._formats.registry import READING, VERSIONS
from jelly._options.settings import checked

__all__ = ["concat"]


@checked(READING, VERSIONS)
def concat(
    sources: Any,
    out: Any,
    *,
    blank_nodes: Mode | None = None,
    skolem_base: str | None = None,
    to_format: str | None = None,
    options: Options = None,
    seekable: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> int:
    r"""Write the statements of sources one after the other: of any formats and stream options, in any order.

    A Jelly output has the stream options of the first source, as wide as all need: Jelly-RDF 1.2 if that is of it.
    What is written to a pipe or file object announces all that may come. Namespaces are kept, and so are frames where
    they have a meaning.

    Parameters
    ----------
    sources : Any
        The sources, as for `find`. Blank nodes of several are different nodes, see ``blank_nodes``.
    out : str, os.PathLike or binary file object
        The output, as for `Writer`; also a table.
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
    >>> out = io.BytesIO()
    >>> some, others = b"<a:s> <a:p> <a:o> .", b"<a:s> <a:p> <a:x> ."
    >>> jelly.concat([(some,), others], out, format="nt", to_format="jelly")
    2
    """
    found = Input(sources, blank_nodes, skolem_base, progress, **settings)
    return write_batches(
        out, found.batches(), found, keep_frames=True, to_format=to_format, options=options, seekable=seekable
    )
