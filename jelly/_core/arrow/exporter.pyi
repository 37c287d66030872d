"""Batches to Arrow buffers, with loops that run without the GIL."""

from collections.abc import Iterable
from typing import final

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from jelly._core.arrow.buffer_pool import Buffer, Pool
from jelly._core.base.batch import Batch

@final
class ArrowExporter:
    """Makes Arrow buffers of Batches, one Batch after the other. For one thread; keeps its tables from Batch to Batch.

    Several may share a ``pool`` of memory. With ``results`` the Batches are of query results, and columns are called by
    the names of their variables.

    >>> import jelly
    >>> columns = ArrowExporter("flat")
    >>> columns.start(next(jelly.scan(b'<a:s> <a:p> "o"@en .', format="nt").batches()))
    >>> rows, nulls, valid, offsets, data = columns.strings("lang", 0, 1)
    >>> rows, nulls, valid, bytes(data)
    (1, 0, None, b'en')
    """
    pool: Pool
    def __new__(cls, layout: str, *, pool: Pool | None = None, results: bool = False) -> Self: ...
    def start(
        self, batch: Batch | None, rows: npt.NDArray[np.int64] | None = None, names: Iterable[str] | None = None
    ) -> None:
        """Go on to another Batch; None lets go of the last.

        ``rows`` is an int64 array of the rows that are meant, in order: from then on they are rows 0, 1, 2 ...
        ``names`` are the columns that will be asked for (None: all). JellyUnsupportedError where the layout cannot
        hold what stands in them.
        """
    def strings(self, name: str, row: int, end: int) -> tuple[int, int, Buffer | None, Buffer, Buffer] | None:
        """Rows done, nulls, validity (or None), int32 offsets and data of a column of strings; None: all are null.

        Fewer rows are done than asked for where the data would pass 64 MB.
        """
    def codes(self, name: str, row: int, end: int) -> tuple[int, Buffer | None, Buffer, Buffer, Buffer] | None:
        """Nulls, validity (or None), int32 indices, int64 offsets and data of a dictionary whose values all differ;
        None: all are null.
        """
    def all_differ(self) -> bool:
        """Whether the Batch's own text is a dictionary of its terms: no two alike, none that is written otherwise."""
    def kinds(self, row: int, end: int) -> tuple[Buffer, Buffer]:
        """int32 offsets and data of the column object_kind."""
    def kind_codes(self, row: int, end: int) -> Buffer:
        """int8 indices of the column object_kind into literal, iri, bnode, triple."""
    def directions(self, row: int, end: int) -> Buffer | None:
        """int8 codes of the column direction: 0 ltr, 1 rtl, -1 where it is null; None where all of it is."""
    def frames(self, row: int, end: int) -> Buffer:
        """int64 numbers of the frames of some rows."""
