"""Patches in a temporary file, for functions that take them in another order."""

from __future__ import annotations

import tempfile
from contextlib import AbstractContextManager
from typing import Any

from jelly._options.options import PatchOptions, StatementType
from jelly.patch._patch import Patch
from jelly.patch._stream import dumps, loads

# Bytes that are kept in memory; more go to the file.
HELD_BYTES = 1 << 26


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
