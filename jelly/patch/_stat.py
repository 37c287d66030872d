"""How much two sources differ, without a patch."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jelly._bytes.source import Progress
from jelly._core.base.constants import Op
from jelly._formats.registry import READING
from jelly._options.settings import checked
from jelly.patch._diff import diff_batches

__all__ = ["DiffStat", "diff_stat"]


@dataclass(slots=True)
class DiffStat:
    """What `diff_stat` found. It is true if there is a difference.

    Attributes
    ----------
    added, deleted : int
        Statements that only the new source has, and that only the old one has.
    namespaces : int
        Declarations of namespaces that change, as additions and deletions.
    predicates : dict of str to (int, int)
        For each predicate of such statements, in N-Triples syntax, how many are added and deleted; most first.
    """

    added: int = 0
    deleted: int = 0
    namespaces: int = 0
    predicates: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.deleted or self.namespaces)


@checked(READING)
def diff_stat(
    old: Any,
    new: Any,
    *,
    memory: int = 1 << 29,
    namespaces: bool = True,
    match_blank_nodes: bool = True,
    progress: Progress | None = None,
    **settings: Any,
) -> DiffStat:
    """Count what `diff` would find, by predicate.

    Parameters
    ----------
    old : Any
        The old statements, as for `jelly.Reader`.
    new : Any
        The new statements, as for `jelly.Reader`.
    memory : int, default 512 MiB
        Approximate maximum bytes of memory for the comparison, see `write_diff`.
    namespaces : bool, default True
        Also compare namespace declarations.
    match_blank_nodes : bool, default True
        See `diff`.
    progress : callable, optional
        See `jelly.convert`. It is called for ``old`` and then for ``new``.
    **settings : Any
        Keywords of `jelly.Reader`, for both sources.

    Returns
    -------
    DiffStat
        The numbers.

    Examples
    --------
    >>> from jelly.patch import diff_stat
    >>> diff_stat(b'<a:s> <a:p> "1" .', b'<a:s> <a:p> "2" .\\n<a:s> <a:q> "3" .', format="nt")
    DiffStat(added=2, deleted=1, namespaces=0, predicates={'<a:p>': (1, 1), '<a:q>': (1, 0)})
    """
    found = DiffStat()
    counts: dict[str, list[int]] = {}
    with ExitStack() as stack:
        for batch in diff_batches(old, new, memory, namespaces, match_blank_nodes, stack, settings, progress):
            op = np.asarray(batch.op)
            found.namespaces += int(np.isin(op, (Op.NAMESPACE_ADD, Op.NAMESPACE_DELETE)).sum())
            for place, code in enumerate((Op.ADD, Op.DELETE)):
                # A term may have several ids.
                for term, n in zip(*np.unique(batch.p[op == code], return_counts=True), strict=True):
                    counts.setdefault(batch.term(int(term)), [0, 0])[place] += int(n)
    order = sorted(counts.items(), key=lambda item: (-sum(item[1]), item[0]))
    found.predicates = {term: (added, deleted) for term, (added, deleted) in order}
    found.added = sum(added for added, _ in found.predicates.values())
    found.deleted = sum(deleted for _, deleted in found.predicates.values())
    return found
