"""Problems of Jelly-Patch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from jelly._core.base.batch import Batch
from jelly._core.base.constants import Kind, Op
from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.frame_scan import PATCH_KINDS, RowCounter
from jelly._options.options import PatchOptions, PatchStreamType
from jelly._tools.check import ALLOWED, SLOTS, Check, generalized_terms, noun_of
from jelly._tools.inspect import UNKNOWN_ROW

__all__ = ["PatchCheck"]

DELETE, HEADER, PUNCTUATION = map(int, (Op.DELETE, Op.HEADER, Op.PUNCTUATION))
_OTHER, _OPTIONS = PATCH_KINDS.index("other"), PATCH_KINDS.index("options")


class PatchCheck(Check):
    """The problems of Jelly-Patch found so far."""

    _last = PUNCTUATION

    def take(self, counter: RowCounter, batches: Iterator[Batch], chunk: Any) -> None:
        """Check the Batches of a chunk (None: the end)."""
        places = self._places(counter, chunk)
        kinds = places[:, 0]
        self._rows = places[(kinds != _OPTIONS) & (kinds != _OTHER), 1:]
        for place in places[kinds == _OTHER, 1:].tolist():
            if not self.skips_unknown:
                self.add(UNKNOWN_ROW, *place)
        at = 0
        for batch in batches:
            op = batch.op
            options: Any = batch.options
            if op is None or not len(op) or options is None:
                continue
            self.rows += int(np.count_nonzero(op != PUNCTUATION))  # the ends of patches are no operations
            self._last = int(op[-1])
            # The end of a patch that is a frame has no row.
            is_row = np.ones(len(op), bool) if options.stream_type != PatchStreamType.FRAME else op != PUNCTUATION
            numbers = at + np.cumsum(is_row) - 1
            at += int(is_row.sum())
            self._check_patch_flags(batch, options, op, numbers)

    def _check_patch_flags(self, batch: Batch, options: PatchOptions, op: Any, numbers: Any) -> None:
        # Rows without a term have id -1, the last index here: there may be no term at all.
        kinds = np.append(batch.kind, 0)
        columns = [batch.s, batch.p, batch.o] + ([] if batch.g is None else [batch.g])
        is_statement = op <= DELETE
        wrong = np.append(generalized_terms(batch), False)
        for slot, ids in enumerate(columns):
            used = (ids >= 0) & (is_statement | (slot == 3) | ((op == HEADER) & (slot == 2)))
            quoted = used & (kinds[ids] == Kind.TRIPLE)
            generalized = used & (op != HEADER) & (~ALLOWED[slot][kinds[ids]] | wrong[ids])
            for mask, flag in (
                (quoted & (not options.rdf_star), "rdf_star"),
                (generalized & (not options.generalized_statements), "generalized_statements"),
            ):
                for row in np.flatnonzero(mask).tolist():
                    number = int(numbers[row])
                    place = self._rows[number].tolist() if number < len(self._rows) else ()
                    noun = noun_of(kinds[ids[row]])
                    where = "value of a header" if op[row] == HEADER else SLOTS[slot]
                    self.add(f"{where} is {noun}, but {flag} is false", *place)

    def finish(self, counter: RowCounter, decoder: Decoder) -> None:
        options: Any = decoder.options
        if options is not None and options.stream_type == PatchStreamType.PUNCTUATED and self._last != PUNCTUATION:
            self.add("no punctuation row ends the last patch")
