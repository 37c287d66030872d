"""Lists the problems of a stream of patches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from jelly._bytes.source import MAX_EXPANSION, Source
from jelly._core.base.batch import Batch
from jelly._core.base.constants import Kind
from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.frame_scan import PATCH_KINDS, RowCounter
from jelly._formats.registry import (
    JELLY_PATCH,
    PATCH_READING,
    RDF_PATCH,
    REGISTRY,
    SEEKING,
    Content,
    find,
)
from jelly._formats.sniff import explain
from jelly._options.options import PatchOptions, PatchStreamType
from jelly._options.settings import LIMITS, checked, fitted, refuse_unknown
from jelly._tools.inspect import UNKNOWN_ROW, restart_problem
from jelly._tools.validate import ALLOWED, SLOTS, Check, Problem, generalized_terms, noun_of
from jelly.errors import JellyError
from jelly.patch._stream import DELETE, HEADER, PUNCTUATION, PatchReader

__all__ = ["validate"]

_OTHER, _OPTIONS = PATCH_KINDS.index("other"), PATCH_KINDS.index("options")


@checked(PATCH_READING)
def validate(
    src: Any, *, format: str | None = None, delimited: bool | None = None, limit: int = 1000, **limits: Any
) -> list[Problem]:
    """Check a stream of patches and list its problems.

    Problems of Jelly-Patch are: whatever the `jelly.Decoder` refuses (the rest of the stream is then not checked),
    quoted triples or generalized statements that the options do not announce, graphs in patches of triples, namespaces
    in a patch of quads before any graph, rows of unknown kinds, a last patch without punctuation, signs that the file
    was joined with ``cat``, and of a local file an index or sidecar that does not fit its patches. Problems of RDF
    Patch are all lines with an error; of RDF Patch Thrift the first error.

    Parameters
    ----------
    src : Any
        The input, as for `PatchReader`.
    format : str, optional
        Format of the patches. By default the suffix of the file decides.
    delimited : bool, optional
        Whether each frame has its length before it. By default the first bytes tell. Jelly-Patch only.
    limit : int, default 1000
        Stop after this many problems.
    **limits : Any
        Further keywords of `PatchReader`.

    Returns
    -------
    list of jelly.Problem
        The problems in the order of the stream; empty if there are none.

    Examples
    --------
    >>> from jelly import IRI, Literal
    >>> from jelly.patch import Add, dumps, validate
    >>> data = dumps([Add((Literal("s"), IRI("a:p"), IRI("a:o")))], {"generalized_statements": True})
    >>> validate(data)
    []
    >>> [problem.message for problem in validate(data.replace(b"\\x18\\x01", b"\\x18\\x00"))]
    ['subject is a literal, but generalized_statements is false']
    """
    return checked_rows(src, format, delimited, limit, limits)[0]


def checked_rows(
    src: Any, format: str | None, delimited: bool | None, limit: int, limits: dict[str, Any]
) -> tuple[list[Problem], int]:
    """The problems of `validate`, and the number of operations that were checked."""
    source = Source(src, limits.pop("max_expansion", MAX_EXPANSION))
    try:
        found = find(format, source.name, content=Content.PATCH)
        refuse_unknown(limits, found.reading, found.title)
    except BaseException:
        source.close()
        raise
    check = _Check(limit, None)
    if found is not JELLY_PATCH:
        if found is RDF_PATCH:
            limits.setdefault("on_error", "skip")
        return _validate_text(PatchReader(source, format=found.name, **limits), check)
    check.skips_unknown = limits.get("unknown_rows") == "skip"
    own = {name: limits[name] for name in limits.keys() & SEEKING} | {"unknown_rows": "skip"}
    limits = fitted(limits, found.reading, source.size) | {"unknown_rows": "skip"}
    decoder = Decoder(patch=True, delimited=delimited, **limits)
    decoder.quiet = True
    most = limits.get("max_frame_bytes", LIMITS["max_frame_bytes"])
    counter = RowCounter(delimited=delimited, max_frame_bytes=most, places=True, patch=True)
    try:
        for chunk in source.chunks():
            check.take(counter, decoder.feed(chunk), chunk)
            if check.is_full:
                break
        else:
            check.take(counter, decoder.close(), None)
            check.finish_patch(decoder.options)
            check.add_beside(src, False, own, patch=True)
    except JellyError as error:
        explain(error, source.head, found.name, REGISTRY[Content.PATCH], "format")
        check.add(f"{error.reason}; the rest of the file was not checked", error.frame, error.row, error.offset)
    finally:
        source.close()
    for text in decoder.oddities:
        check.add(text)
    if decoder.restarts:
        number, row, offset, times = decoder.restarts
        check.add(restart_problem(times), number, row, offset)
    return check.sorted(), check.operations


def _validate_text(reader: PatchReader, check: _Check) -> tuple[list[Problem], int]:
    with reader:
        try:
            for batch in reader.batches():
                check.count(batch)
        except JellyError as error:
            check.add(error.reason, error.frame, error.row, error.offset, error.line)
        for line, message in getattr(reader._decoder, "skipped", ()):
            check.add(message, line=line)
    return check.sorted(), check.operations


class _Check(Check):
    """The problems found so far."""

    _last = PUNCTUATION
    operations = 0

    def count(self, batch: Batch) -> None:
        """Count the operations, which the ends of patches are not."""
        if batch.op is not None:
            self.operations += int(np.count_nonzero(batch.op != PUNCTUATION))

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
            self.count(batch)
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

    def finish_patch(self, options: Any) -> None:
        """The end of the stream."""
        if options is not None and options.stream_type == PatchStreamType.PUNCTUATED and self._last != PUNCTUATION:
            self.add("no punctuation row ends the last patch")
