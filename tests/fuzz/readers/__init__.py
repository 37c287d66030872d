"""The harnesses, by the part of the package that they test. Importing this package registers them all."""

from fuzz.harness import HARNESSES
from fuzz.readers import (
    boundaries,
    differential,
    jelly_streams,
    logs,
    results,
    rows,
    seekable,
    services,
    syntaxes,
    tables,
)

__all__ = [
    "HARNESSES", "boundaries", "differential", "jelly_streams", "logs", "results", "rows", "seekable", "services",
    "syntaxes", "tables",
]  # fmt: skip
