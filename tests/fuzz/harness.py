"""What a harness is, and the properties that most of them have in common.

A harness is a function that takes an input and the chance that belongs to it (so that an input does always the same),
and raises if a property does not hold. Errors of the input are `JellyError`; any other exception is a finding.
"""

from __future__ import annotations

import io
import random
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import jelly
from fuzz.structure import Structure
from jelly import JellyError, JellyTruncatedError
from jelly._core.base.batch import Batch
from jelly._core.jena.reader import BinaryReader
from jelly._core.jena.writer import BinaryWriter
from jelly._core.ntriples.text import TextReader, TextWriter
from jelly._formats.registry import Content, Format
from jelly._options.options import COLUMN_VERSION
from jelly._streams.drain import drain

__all__ = [
    "HARNESSES", "MANY_ROWS", "Harness", "Reading", "attempt", "check_round_trip", "cut", "harness", "read_all", "same",
]  # fmt: skip

Test = Callable[[bytes, random.Random], None]
# Inputs up to this size are also given byte by byte.
BY_BYTE = 256
# Rows above which Batches are not small: a column of Jelly-RDF 1.2 that repeats makes 20,000 rows of few bytes, and a
# Batch for each row of them would take seconds.
MANY_ROWS = 2000


@dataclass(frozen=True, kw_only=True)
class Harness:
    """A reader under test.

    Attributes
    ----------
    name : str
        Its name, that of the folder of its seeds.
    test : callable
        The properties.
    corpus : callable
        Small valid inputs, made by the makers of the other tests.
    files : tuple of str
        Suffixes of the files of the shared data that it reads.
    formats : tuple of (Content, str)
        The formats of the registry that it reads.
    structure : Structure or None
        Its structure, for mutations; None: bytes.
    lines : bool
        Whether lines of Python guide the fuzzer too: for readers that are written in Python. It takes half the speed.
    """

    name: str
    test: Test
    corpus: Callable[[], Iterable[bytes]]
    files: tuple[str, ...] = ()
    formats: tuple[tuple[Content, str], ...] = ()
    structure: Structure | None = None
    lines: bool = False

    def run(self, data: bytes) -> None:
        """Test one input."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.test(data, random.Random(zlib.crc32(data)))


HARNESSES: dict[str, Harness] = {}


def harness(name: str, **about: Any) -> Callable[[Test], Test]:
    """Register a function as a harness."""

    def register(test: Test) -> Test:
        assert name not in HARNESSES, name
        HARNESSES[name] = Harness(name=name, test=test, **about)
        return test

    return register


# ---- reading


def cut(data: bytes, chance: random.Random) -> list[bytes]:
    """The input in chunks, some of them empty."""
    if len(data) <= BY_BYTE and chance.random() < 0.3:
        return [data[i : i + 1] for i in range(len(data))]
    n = chance.choice((1, 2, 3, 8, 20))
    places = sorted(chance.randrange(len(data) + 1) for _ in range(n))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


@dataclass
class Reading:
    """What a reader gave: all that must be the same however the input came."""

    rows: list[tuple[Any, ...]]
    ends: list[int]
    namespaces: list[tuple[int, int, str, str]]
    metadata: list[tuple[int, dict[str, bytes]]]
    variables: tuple[str, ...] | None
    error: tuple[Any, ...] | None
    batches: list[Batch]

    def key(self) -> tuple[Any, ...]:
        namespaces, metadata = self.namespaces, self.metadata
        if self.error:  # what is no row of the frame with the error comes if a row of its Batch does
            namespaces = [found for found in namespaces if found[1] < len(self.ends)]
            metadata = [found for found in metadata if found[0] < len(self.ends)]
        return self.rows, self.ends, namespaces, metadata, self.error


def told(error: JellyError) -> tuple[Any, ...]:
    """Kind, reason and place of an error."""
    str(error)
    if isinstance(error, JellyTruncatedError) and error.line is not None:
        # Text that is cut off ends before or behind its last line end.
        return type(error), error.reason.partition(": ")[2], error.line
    return type(error), error.reason, error.frame, error.row, error.offset, error.line, error.message


def rows_of(batch: Batch) -> list[tuple[Any, ...]]:
    """The rows as terms: of a patch with their operation first, of statements as quads."""
    terms = batch.terms()
    if batch.variables is not None:
        return [tuple(None if i < 0 else terms[i] for i in row) for row in batch.cells.tolist()]
    columns = [batch.s, batch.p, batch.o] if batch.g is None else [batch.s, batch.p, batch.o, batch.g]
    found = [[None if i < 0 else terms[i] for i in column.tolist()] for column in columns]
    found += [[None] * len(batch)] * (4 - len(found))
    if batch.op is not None:
        found.insert(0, batch.op.tolist())
    return list(zip(*found, strict=True))


def read_all(batches: Iterable[Batch]) -> Reading:
    """Read to the end or the first error, and check each Batch."""
    made = Reading([], [], [], [], None, None, [])
    frame = None
    try:
        for batch in batches:
            batch.check()
            row = len(made.rows)
            if frame is None:
                frame = batch.first_frame
            assert batch.first_frame >= frame, "numbers of frames go back"
            made.rows += rows_of(batch)
            made.batches.append(batch)
            made.variables = batch.variables
            if batch.variables is not None:
                continue
            made.ends += [row + end for end in batch.frames.tolist()]
            made.namespaces += [(row + at, batch.first_frame + i, *rest) for at, i, *rest in batch.namespaces]
            made.metadata += [(batch.first_frame + i, held) for i, held in batch.metadata.items()]
    except JellyError as error:
        made.error = told(error)
    return made


def in_columns(reader: Any) -> bool:
    """Whether a reader has seen a stream of Jelly-RDF 1.2, whose frames have columns."""
    return getattr(getattr(reader, "options", None), "version", 0) == COLUMN_VERSION


def same(first: Reading, second: Reading, what: str) -> None:
    """The same rows, frames, namespaces, metadata and error."""
    for name, one, other in zip(
        ("rows", "frames", "namespaces", "metadata", "error"), first.key(), second.key(), strict=True
    ):
        assert one == other, f"{what}: other {name}: {one!r:.600} and {other!r:.600}"


def attempt(work: Callable[[], Any]) -> Any:
    """The result, or the JellyError as a tuple."""
    try:
        return work()
    except JellyError as error:
        return told(error)


# ---- writing, and reading again


def _text(quads: bool, patch: bool) -> tuple[Any, Any]:
    return TextWriter(quads, patch=patch, keep_labels=True), TextReader(quads=quads, patch=patch)


def _binary(encoding: str, patch: bool, **settings: Any) -> tuple[Any, Any]:
    return BinaryWriter(encoding, patch=patch, **settings), BinaryReader(encoding, patch=patch)


def _jelly(batches: list[Batch]) -> Iterator[Batch]:
    out = io.BytesIO()
    with jelly.Writer(out, {"physical_type": 1 if batches[0].arity == 3 else 2}, frame_rows=3) as writer:
        writer.allow(frozenset({"rdf_star", "generalized_statements", "version"}))
        for batch in batches:
            writer.add_batch(batch)
    return jelly.scan(out.getvalue()).batches()


def _patch(batches: list[Batch]) -> Iterator[Batch]:
    out = io.BytesIO()
    quads = 2 if batches[0].arity == 4 else 1
    with jelly.patch.PatchWriter(out, {"statement_type": quads}, frame_rows=3) as writer:
        for batch in batches:
            writer.add_batch(batch)
    return jelly.patch.PatchReader(out.getvalue()).batches()


def _operations(rows: list[tuple[Any, ...]], way: str) -> list[tuple[Any, ...]]:
    """Without the ends of patches, which some formats do not keep, nor the IRI of a namespace that is deleted."""
    kept = [row for row in rows if row[0] != 15]
    return kept if way == "jelly" else [(*row[:2], None, *row[3:]) if row[0] == 5 else row for row in kept]


def check_round_trip(batches: list[Batch], chance: random.Random) -> None:
    """Write the rows in a format by chance: it refuses them with a JellyError, or gives back the same rows."""
    batches = [batch for batch in batches if len(batch)]
    if not batches or len({batch.arity for batch in batches}) > 1 or batches[0].variables is not None:
        return
    patch = batches[0].op is not None
    way = chance.choice(("jelly", "jelly", "text", "thrift", "thrift", *(() if patch else ("protobuf", "protobuf"))))
    try:
        if way == "jelly":
            again = read_all((_patch if patch else _jelly)(batches))
        else:
            writer, reader = {
                "text": lambda: _text(batches[0].arity == 4, patch),
                "thrift": lambda: _binary("thrift", patch),
                "protobuf": lambda: _binary("protobuf", patch, shorten=False),
            }[way]()
            data = b"".join([*map(writer.encode, batches), writer.close()])
            again = read_all(drain(reader, [data]))
    except JellyError:
        return
    assert again.error is None, f"{way} cannot be read again: {again.error}"
    rows = [row for batch in batches for row in rows_of(batch)]
    if patch:
        rows, again.rows = (_operations(found, way) for found in (rows, again.rows))
    assert again.rows == rows, f"{way} gives other rows: {again.rows!r:.600} for {rows!r:.600}"


def chunked(
    data: bytes,
    chance: random.Random,
    open_reader: Callable[..., Any],
    *settings: dict[str, Any],
) -> Reading:
    """Read as a whole and in chunks, by a reader with ``push``, ``finish`` and ``pull``; they must be the same."""
    chosen = chance.choice(settings or ({},))
    reader = open_reader(**chosen)
    whole = read_all(drain(reader, [data]))
    rows = {"batch_rows": chance.choice((1, 2, 7, 1000) if len(whole.rows) <= MANY_ROWS else (1000,))}
    parts = read_all(drain(open_reader(**chosen, **rows), cut(data, chance)))
    if whole.error and parts.error and jelly.JellyLimitError in (whole.error[0], parts.error[0]):
        # A row that is wrong and above a limit is either, as far as it is there.
        whole.error = parts.error
    if whole.error and parts.error and in_columns(reader):
        # The rows of a Batch are read column by column: those before an error are there as far as the Batch before, and
        # which of several errors is the first depends on how many rows it has.
        fewer, more = sorted((whole, parts), key=lambda made: len(made.rows))
        assert fewer.rows == more.rows[: len(fewer.rows)]
        return whole
    same(whole, parts, f"in chunks, with {chosen}")
    return whole


def reads(name: str, content: Content) -> tuple[Content, str]:
    return content, name


def format_key(format: Format) -> tuple[Content, str]:
    return format.content, format.name
