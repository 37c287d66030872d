"""The canonical form of a dataset, by RDF Dataset Canonicalization (RDFC-1.0, W3C Recommendation of 21 May 2024)."""

from __future__ import annotations

import hashlib
from contextlib import closing
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

from jelly._bytes.names import name_of
from jelly._bytes.sink import Sink
from jelly._bytes.source import Progress
from jelly._core.ntriples.canonical import Canonicalizer
from jelly._dataset.sources import Sources
from jelly._dataset.stream import Stream
from jelly._formats.registry import READING, SEVERAL
from jelly._options.settings import checked
from jelly.errors import JellyError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions


@dataclass(frozen=True, slots=True)
class Canonical:
    """Result of `canonicalize`.

    Attributes
    ----------
    document : bytes or None
        The canonical N-Quads, or None if they were written to ``dst``.
    digest : str
        Hash of the document in hexadecimal digits, by the same algorithm as for the blank nodes.
    statements : int
        Number of different statements.
    labels : dict of str to str
        Canonical label of each blank node by its label in the input.

    Examples
    --------
    >>> import jelly
    >>> found = jelly.canonicalize(b"_:x <a:p> _:x .", format="nt")
    >>> found.document, found.statements, found.labels
    (b'_:c14n0 <a:p> _:c14n0 .\\n', 1, {'x': 'c14n0'})
    """

    document: bytes | None
    digest: str
    statements: int
    labels: dict[str, str]

    def __str__(self) -> str:
        return "" if self.document is None else self.document.decode()


@checked(READING, SEVERAL - {"threads"}, {"max_steps"})
def canonicalize(
    src: Any,
    dst: Any = None,
    *,
    algorithm: Literal["sha256", "sha384"] = "sha256",
    progress: Progress | None = None,
    **options: Unpack[ReadOptions],
) -> Canonical:
    """Make the canonical N-Quads of a dataset: the same bytes for the same dataset, whatever its order and labels.

    The algorithm is RDFC-1.0. Statements that are there twice are written once, blank nodes get the labels ``c14n0``,
    ``c14n1`` and so on, and the lines are in code point order. The dataset is held in memory: each different term
    once, and 16 bytes for each statement, twice that while the statements are sorted.

    RDFC-1.0 leaves a few symmetric datasets two forms, because its hash of a related blank node (section 4.7) leaves
    the graph out: where two nodes differ only by the graph in which a third one names them, the order of the input
    decides between them. `jelly.patch.diff` finds no difference there.

    Parameters
    ----------
    src : Any
        The dataset, as for `read`: also a table, a URL, or several sources, whose blank nodes are apart.
    dst : path or file, optional
        Where to write the document; its suffix may choose a compression. By default the document is returned.
    algorithm : {"sha256", "sha384"}, default "sha256"
        The hash algorithm for blank nodes and for the digest. Another one may lead to other labels.
    progress : callable, optional
        Called after each Batch with the bytes read, the bytes there are or None, and the statements so far.
    **options : Unpack[ReadOptions]
        Shared keywords: see `ReadOptions`. Of ``max_steps`` each hash and each permutation is one, and takes a
        microsecond or less. It bounds the search that distinguishes blank nodes of one shape: by default 2 million, and
        16 more for each blank node.

    Raises
    ------
    JellyLimitError
        The blank nodes are so much alike that the search takes more than ``max_steps``.
    JellyUnsupportedError
        A statement has a quoted triple or is generalized: RDFC-1.0 does not define these.

    Examples
    --------
    >>> import jelly
    >>> found = jelly.canonicalize(b'_:x <a:p> _:y .\\n_:y <a:q> "o" .\\n_:y <a:q> "o" .', format="nt")
    >>> print(found, end="")
    _:c14n0 <a:p> _:c14n1 .
    _:c14n1 <a:q> "o" .
    >>> found.statements, found.labels, found.digest[:8]
    (2, {'x': 'c14n0', 'y': 'c14n1'}, 'f3e61f3d')
    """
    settings: dict[str, Any] = {**options}
    work = Canonicalizer(algorithm, settings.pop("max_steps", None))
    batches: Any = Stream(Sources(src, **settings), as_is=True).watched(progress)
    with closing(batches):
        try:
            for batch in batches:
                work.add(batch)
            work.finish()
        except JellyError as error:
            error.source = error.source or name_of(src) or None
            raise
    digest, document = hashlib.new(algorithm), BytesIO()
    with Sink(document if dst is None else dst) as sink:
        for chunk in work.chunks():
            digest.update(chunk)
            sink.write(chunk)
    return Canonical(document.getvalue() if dst is None else None, digest.hexdigest(), work.statements, work.labels)
