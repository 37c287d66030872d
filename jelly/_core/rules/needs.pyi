"""What the statements of a Batch need of stream options."""

from typing import Any

from jelly._core.base.batch import Batch
from jelly._options import PatchOptions, StreamOptions

def lacking(options: StreamOptions | PatchOptions, batch: Batch) -> dict[str, Any]:
    """The fields of some `StreamOptions` or `PatchOptions` that would have to be others to allow what a Batch holds.

    Of those that are left open (an unspecified physical type, version 0) nothing is said.
    """
