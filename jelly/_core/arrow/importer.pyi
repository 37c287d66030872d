"""Arrow string columns, plain or dictionary, to Batches, including patches."""

from typing import Any, final

from typing_extensions import Self

from jelly._core.base.batch import Batch

@final
class ArrowImporter:
    """Takes columns part by part and makes Batches of them. For one thread.

    With `patch` a column ``op`` says what to do with each statement, and where the number of the patch changes, a
    patch ends; with `transactions` each but the first begins with a start, and each but the last ends with a commit.

    >>> from jelly._core.arrow.exporter import ArrowExporter
    >>> import jelly
    >>> columns, intake = ArrowExporter("ntriples"), ArrowImporter("ntriples", quads=False)
    >>> columns.start(next(jelly.scan(b'<a:s> <a:p> "o"@en .', format="nt").batches()))
    >>> made = {name: columns.strings(name, 0, 1) for name in "spo"}
    >>> intake.load(1, {name: (0, None, None, 0, 1, None, False, m[3], m[4]) for name, m in made.items()})
    >>> intake.pull(), intake.pull(True).term(3)
    (None, '"o"@en')
    """
    def __new__(
        cls,
        layout: str,
        *,
        quads: bool,
        patch: bool = False,
        transactions: bool = False,
        batch_rows: int = 65536,
        batch_bytes: int = 16777216,
    ) -> Self: ...
    def load(self, rows: int, columns: dict[str, tuple[Any, ...]], frames: tuple[Any, ...] | None = None) -> None:
        """Give the next rows; those before must be used up: `pull` gave None.

        Each column is a tuple: first item; validity and int32 indices of a dictionary, or None; first value, number of
        values, their validity or None, whether their offsets have 64 bits, offsets, data. Without a dictionary the
        values are those of the rows. ``frames``, the numbers of frames or of patches, is a tuple of first item,
        validity or None, int64 data.
        """
    def pull(self, flush: bool = False) -> Batch | None:
        """The next full Batch, or None when the rows are used up. With `flush`, a partial Batch counts as full.

        Rows before a wrong value are handed out first, then its error is raised.
        """
