"""The report of an ingest."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from jelly.errors import JellyError, JellyFormatError

__all__ = ["IngestProblem", "Ingestion"]


@dataclass(frozen=True, slots=True)
class IngestProblem:
    """A problem of a source: the message, the file, and the place as far as known (see `JellyError`)."""

    reason: str
    file: str | None
    frame: int | None = None
    row: int | None = None
    offset: int | None = None
    line: int | None = None

    @classmethod
    def of(cls, error: JellyError) -> IngestProblem:
        return cls(error.reason, error.source, error.frame, error.row, error.offset, error.line)

    def error(self) -> JellyFormatError:
        """The exception for the problem."""
        return JellyFormatError(
            self.reason, frame=self.frame, row=self.row, offset=self.offset, line=self.line, source=self.file
        )


@dataclass(slots=True)
class Ingestion:
    """The result of an ingest.

    ``sources`` are the files that were read completely or in part, ``done_before`` files that were done already,
    ``files`` the written files, ``bytes_read`` and ``bytes_written`` their sizes. ``seconds`` is the time of the
    run without the start of Spark. ``errors`` are the skipped problems with ``on_error="skip"``, also those that an
    earlier run skipped in these sources.

    ``compacted`` are the files that were merged, ``compacted_to`` those that were made of them.

    ``terms`` are the terms of the layout "ids" that this run has written, ``tables`` those that it has built of
    "vertical" and "wide", ``misfits`` what does not fit into wide tables: the run that builds the tables reports it.

    ``unknown`` are the files that ``skip_unknown`` left out. ``vanished`` are files that are gone, but whose statements
    are in the table; ``pruned`` are such files whose statements this run has removed.
    """

    out: str
    sources: int = 0
    done_before: int = 0
    tasks: int = 0
    statements: int = 0
    bytes_read: int = 0
    files: int = 0
    bytes_written: int = 0
    compacted: int = 0
    compacted_to: int = 0
    seconds: float = 0.0
    terms: int = 0
    tables: int = 0
    misfits: list[str] = field(default_factory=list)
    errors: list[IngestProblem] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    pruned: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers, with ``statements_per_second``."""
        return asdict(self) | {"statements_per_second": self.statements / self.seconds if self.seconds else 0.0}
