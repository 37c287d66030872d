"""The inputs of a harness: seeds, which are findings of the past, and samples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from support.shared import ROOT

from fuzz.harness import Harness

__all__ = ["MAX_SHARED", "SEEDS", "corpus", "seeds"]

SEEDS = Path(__file__).with_name("seeds")
# Files of the shared data that are larger are left out.
MAX_SHARED = 2048


def seeds(name: str) -> list[Path]:
    """The seed files of a harness."""
    return sorted(path for path in (SEEDS / name).glob("*") if path.is_file())


def corpus(harness: Harness) -> Iterator[bytes]:
    """Seeds, the inputs that the makers of the tests give, and files of the shared data, which are read in place."""
    for path in seeds(harness.name):
        yield path.read_bytes()
    yield b""
    yield from harness.corpus()
    if not harness.files:
        return
    for folder in ("conformance", "data", "jelly-1.2", "jelly-sparql"):
        for path in sorted(ROOT.joinpath(folder).rglob("*")):
            if path.suffix in harness.files and path.is_file() and path.stat().st_size <= MAX_SHARED:
                yield path.read_bytes()
