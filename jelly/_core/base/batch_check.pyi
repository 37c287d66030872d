"""The invariants of a Batch, for `Batch.check`."""

from jelly._core.base.batch import Batch

def check_batch(batch: Batch) -> None:
    """Verify every invariant of the arrays. ValueError where one does not hold."""
