"""What the statements of a Batch need of stream options."""

from typing import Any

from jelly._core.base.batch import Batch
from jelly._options.options import PatchOptions, StreamOptions

def lacking(options: StreamOptions | PatchOptions, batch: Batch) -> dict[str, Any]:
    """The fields of some `StreamOptions` or `PatchOptions` that would have to be others to allow what a Batch holds.

    Of those that are left open (an unspecified physical type, version 0) nothing is said.
    """

def refuse_quoted(batch: Batch, read: StreamOptions | PatchOptions | None, version: int) -> None:
    """Raise JellyOptionsError for a quoted triple that would become a triple term, or the other way round.

    Rows (Jelly-RDF 1.0 and 1.1) have quoted triples of RDF-star, columns (1.2) have triple terms of RDF 1.2. ``read``
    are the stream options of the source, None if it is no Jelly; where their version is 0 the caller has chosen
    (``star=`` of `Reader`). ``version`` is that of the stream that is written.
    """

def refuse_version(read: int, version: int) -> None:
    """`refuse_quoted`, of a quoted triple in a stream of some version."""
