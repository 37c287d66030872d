"""The order of terms and statements, and the equality of quoted triples, which may share their parts.

Each part is looked at once. `model.pyx` calls these where comparing term by term could take too long.
"""

from typing import Any

from jelly._core.terms.model import QuotedTriple

def same_triples(x: QuotedTriple, y: QuotedTriple) -> bool:
    """Whether two quoted triples are equal."""

def need_writable(x: QuotedTriple) -> None:
    """JellyLimitError where a text of the quoted triple would be too long, as its parts stand in it again and again."""

def ordered(x: Any, y: Any, op: int) -> Any:
    """Compare a term with a term, or a statement with a statement; NotImplemented for anything else."""
